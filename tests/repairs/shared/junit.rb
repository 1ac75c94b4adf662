# Writes what ran to tmp/junit.xml, for machines.
require "cgi"
require "fileutils"
require "minitest/autorun"

module Minitest
  class JUnit < AbstractReporter
    def initialize
      super
      @results = []
    end

    def record(result)
      @results << result
    end

    def report
      FileUtils.mkdir_p("tmp")
      cases = @results.map { |result| testcase(result) }
      File.write("tmp/junit.xml", "<testsuites><testsuite name=\"all\" tests=\"#{cases.size}\">\n#{cases.join}</testsuite></testsuites>\n")
    end

    private

    def testcase(result)
      file = result.source_location.first.delete_prefix("#{Dir.pwd}/")
      "<testcase classname=\"#{result.klass}\" name=\"#{result.name}\" file=\"#{file}\">#{outcome(result)}</testcase>\n"
    end

    def outcome(result)
      failure = result.failure
      return "" if failure.nil?
      return "<skipped/>" if result.skipped?

      error = failure.is_a?(UnexpectedError) ? failure.error : failure
      tag = failure.is_a?(UnexpectedError) ? "error" : "failure"
      message = CGI.escapeHTML(error.message.scrub)
      trace = CGI.escapeHTML([error.message, *error.backtrace].join("\n").scrub)
      "<#{tag} type=\"#{error.class}\" message=\"#{message}\">#{trace}</#{tag}>"
    end
  end

  def self.plugin_junit_init(_options)
    reporter << JUnit.new
  end
end

Minitest.extensions << "junit"
