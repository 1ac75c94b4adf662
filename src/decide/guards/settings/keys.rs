//! What a key of a checker's, runner's or automation's configuration means for the strength of the gate. Keys are
//! compared without case and marks, so `fail_under`, `failUnder` and `fail-under` are one key.

use crate::decide::guards::listed::{begins, listed};

/// In which direction a value makes the gate weaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trend {
    /// A bar: less is weaker.
    Bar,
    /// Repetitions: any is weaker than none, more is weaker.
    Repeats,
    /// A limit of time, of findings, of a distance: more is weaker.
    Limit,
    /// On is the strict side.
    On,
    /// Off is the strict side.
    Off,
    /// error, warn, off.
    Severity,
    /// The weight from which on a finding counts: more is weaker.
    Weight,
    /// What is left out: an element more is weaker.
    LeftOut,
    /// What is taken in: an element less is weaker.
    TakenIn,
    /// A condition that something runs under.
    Condition,
    /// Lines of a shell.
    Command,
    /// Options of a program.
    Options,
    /// The program that reads lines, and whether it stops at a failure.
    Shell,
    /// A check of a checker, by its name.
    Check,
    /// What a run is made with beside the tests themselves.
    SetUp,
    Unknown,
}

pub(super) fn plain(key: &str) -> String {
    key.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

const BARS: &str = "\
    failunder covfailunder minimumcoverage minimumcoveragebyfile minimum mincoverage lines branches functions \
    statements line branch target break minscore score mutationscore level warninglevel numruns maxexamples \
    mincoveredmsi minmsi cases coverageminimum minimumtokens instruction";

const REPEATS: &str = "\
    retry retries rerun reruns retrytimes maxretries rerunfailingtestscount flakyretries testretries attempts \
    maxattempts retrycount repeatuntilpass rerunfailures";

const LIMITS: &str = "\
    timeout testtimeout hooktimeout timeoutminutes timeoutinminutes teardowntimeout slowtestthreshold \
    globaltimeout defaultcommandtimeout slow maxwarnings max maxcomplexity complexity maxlinelength maxlines \
    maxfailures threshold maximumcoveragedrop maximumdrop tolerance allowedfailures maxdiffpixels \
    maxdiffpixelratio maxsameissues maxissuesperlinter maxerrors faillimit maxallowedviolations slowtimeout \
    terminateafter mincomplexity minconfidence minoccurrences";

const ON: &str = "\
    active failskips \
    strict checkjs alwaysstrict exactoptionalpropertytypes useunknownincatchvariables noemitonerror \
    nouncheckedindexedaccess nopropertyaccessfromindexsignature xfailstrict enabled enable all perfile \
    forceconsistentcasinginfilenames workspace test autotests doctest harness bench overflowchecks \
    treatwarningsaserrors allwarningsaserrors ci required noimplicitoptional localpartialtypes verify warningsaserrors \
    tests forbidonly forbidpending failtaskonfailedtests checkleaks failzero debugassertions \
    enforceonminorreleases failfast haltonfailure stoponfailure errorsummary codeanalysistreatwarningsaserrors \
    nullable";

const ON_STARTS: &str = "\
    failon coveragefailon failif failwhen disallow warn strict nofallthrough nounused noimplicit forbid require enforce check \
    bestrict deny report erroron dieon";

const OFF: &str = "\
    skiplibcheck passwithnotests continueonerror testfailureignore dangerouslyignoreunhandlederrors \
    informational softfail exitzero warnonly nocheck updatesnapshots noresolve optional quiet \
    noerroronunmatchedpattern maventestskip nocoverage onlychanged invert";

const OFF_STARTS: &str = "\
    allow ignore skip disable permit suppress continueon nofail passwith exclude";

const LEFT_OUT: &str = "\
    successcodes allowedexitcodes partialbranches \
    ignore extendignore perfileignores exclude extendexclude omit excludelines testpathignorepatterns \
    coveragepathignorepatterns modulepathignorepatterns norecursedirs disable disabled deselect skip \
    excluderules excludedirs excludefiles excludes excludedgroups excludetags ignorepatterns ignorepaths \
    ignorefiles pathsignore branchesignore except nowarn testignore skipfiles allowlist excludefrom \
    excludespecpattern disabledrules disabledchecks ignoreerrors suppressions collectignore collectignoreglob \
    excludearch excludepattern skippaths tagsignore excludeannotation disabledruleids exclusions excluded \
    excludetestsmatching excludetest excludeclassnamepatterns excludeengines excludealso";

const TAKEN_IN: &str = "\
    pattern testglobs testfilepattern filelist \
    select extendselect enable enabled include files testmatch testregex testpaths spec specs roots source \
    sources collectcoveragefrom linters plugins extends presets needs types envlist members directory \
    filterwarnings dependson on stages pythonfiles pythonfunctions pythonclasses testdir specpattern requires \
    onlyrules optinrules analyzerrules testsuite file testsourcedirectory projects paths depends testfiles \
    event requiredplugins packages enabledrules rulesdir events jobs workspaces";

const CONDITIONS: &str = "\
    if when only rules condition runif skipif defaultfilter changes requiredfeatures";

const COMMANDS: &str = "\
    run script scripts beforescript afterscript command commands entry cmd cmds exec bash sh pwsh powershell \
    steps install beforeinstall argv precommit prepush testcommand buildcommand task commandspre commandspost";

const OPTIONS: &str = "\
    addopts scalacoptions javacoptions arg compilerarg args rustflags goflags argline clippyargs pytestargs opts flags compilerargs buildflags testargs \
    arguments pytestaddopts mavenopts mavenargs makeflags";

const SET_UP: &str = "\
    setupfiles setupfilesafterenv globalsetup globalteardown testrunner runner environment testenvironment alias \
    modulenamemapper automock modulepaths resolver reporters require bootstrap supportfile transform pythonpath \
    p moduledirectories import loader executionorder mainclass";

const SEVERITY: &str = "\
    error errors warn warning off deny forbid allow info none hint suggestion ignore err silent refactoring";

/// Keys above rules that each have a severity.
const RULES: [&str; 11] = [
    "rules",
    "lints",
    "clippy",
    "rust",
    "rustdoc",
    "lint",
    "overrides",
    "linter",
    "advisories",
    "bans",
    "sources",
];

fn is_flag(value: &str) -> bool {
    matches!(
        value.to_lowercase().as_str(),
        "true" | "false" | "yes" | "no" | "1" | "0" | "on" | "off"
    )
}

/// The key with what stands around it; the innermost key that is known counts.
pub(super) fn trend(path: &[String], value: &str) -> Trend {
    let keys: Vec<String> = path.iter().filter(|p| !p.starts_with('[')).map(|p| plain(p)).collect();
    let Some(last) = keys.last() else {
        return Trend::Unknown;
    };
    let element = path.last().is_some_and(|p| p.starts_with('['));
    let within = |words: &[&str]| keys.iter().rev().skip(1).any(|k| words.contains(&k.as_str()));
    let number = value.trim_end_matches(['%', 's', 'm']).parse::<f64>().is_ok();
    let is = |list: &'static str| listed(list, last);
    let starts = |list: &str| begins(list, last);
    let flag = !element && is_flag(value);
    let by_place = || by_place(path, &keys, element);
    if let Some(known) = by_place().or_else(|| by_one_key(last, value, within(&["hooks"]))) {
        return known;
    }
    let rules = within(&RULES)
        || matches!(last.as_str(), "level" | "severity")
        || last.starts_with("dotnet") && last.ends_with("severity");
    if rules && severity(value).is_some() {
        return Trend::Severity;
    }
    // What stands below an exception belongs to it.
    if within(&["allowfailure", "excluderules", "exclusions", "suppressions"]) {
        return Trend::LeftOut;
    }
    if is(OPTIONS) && element {
        return Trend::Options;
    }
    let templated = !element && value.contains("${{") && (is(OFF) || starts(OFF_STARTS));
    let plain = flag && !within(&["scripts"]) || !element && is_computed(value);
    if templated || plain && lets_pass(last) {
        return Trend::Off;
    }
    if within(&["scripts", "tasks", "lintstaged"]) || is(COMMANDS) {
        return Trend::Command;
    }
    if is(OPTIONS) {
        return Trend::Options;
    }
    if is(REPEATS) || number && within(&["retries", "retry"]) && last.ends_with("mode") {
        return Trend::Repeats;
    }
    if number && !element {
        // MSBuild's bar for coverage has the name that others give to limits.
        let bar = last == "threshold" && within(&["propertygroup", "testcoverage"]);
        if bar
            || is(BARS)
            || last.starts_with("minimum")
            || last.starts_with("mincov")
            || last.starts_with("coverageminimum")
        {
            return Trend::Bar;
        }
        if is(LIMITS)
            || is_lint_limit(last)
            || last.ends_with("timeout")
            || last.starts_with("max") && !last.starts_with("maxworkers") && !last.starts_with("maxparallel")
        {
            return Trend::Limit;
        }
    }
    // What code goes through before it runs, where it is a program of this tree.
    let local = within(&["transform"]) || matches!(last.as_str(), "plugins" | "presets") && element;
    let from_here = value.starts_with("./") || value.starts_with("../") || value.starts_with("<rootDir>");
    if is(SET_UP) || within(&["alias", "modulenamemapper"]) || local && from_here {
        return Trend::SetUp;
    }
    if is(CONDITIONS) && !flag {
        return Trend::Condition;
    }
    if within(&["matrix"]) && element {
        let excluded = keys.iter().any(|k| k == "exclude");
        return if excluded { Trend::LeftOut } else { Trend::TakenIn };
    }
    let leaves = element && begins("exclude ignore omit skip disable suppress norecurse blacklist", last);
    let excluded = last.ends_with("exclusions") || within(&["exclude", "excludes", "excluded"]) && !number;
    if (is(LEFT_OUT) || leaves || excluded) && !flag || within(&["perfileignores", "pathsignore"]) {
        return Trend::LeftOut;
    }
    if is(TAKEN_IN) && !flag {
        return Trend::TakenIn;
    }
    if flag {
        if is(OFF) || starts(OFF_STARTS) {
            return Trend::Off;
        }
        if is(ON) || starts(ON_STARTS) {
            return Trend::On;
        }
    }
    // Elements of a list below a trigger: branches, paths.
    if element && matches!(last.as_str(), "branches" | "tags") {
        return Trend::TakenIn;
    }
    Trend::Unknown
}

/// What stands in a place that says it all.
fn by_place(path: &[String], keys: &[String], element: bool) -> Option<Trend> {
    // An event that starts a run.
    if keys.first().is_some_and(|k| k == "on") && keys.len() == 2 && !element {
        return Some(Trend::TakenIn);
    }
    if keys.len() > 1 && keys.last().is_some_and(|k| k == "shell") {
        return Some(Trend::Shell);
    }
    let named = |p: &String| p.starts_with("module:") || p.starts_with("rule:");
    path.last().is_some_and(named).then_some(Trend::Check)
}

fn lets_pass(key: &str) -> bool {
    listed(OFF, key) || begins("ignorefail ignoreerror continueon allowfail", key)
}

/// An expression of a build script, which is not the same in every run.
pub(super) fn is_computed(value: &str) -> bool {
    let called = value.contains('(') && !value.starts_with(['\'', '"']);
    called
        || [" == ", " != ", " && ", " || ", " ? ", " ?: "]
            .iter()
            .any(|w| value.contains(w))
}

/// Keys of one product each.
fn by_one_key(key: &str, value: &str, hooks: bool) -> Option<Trend> {
    match key {
        // A hook of pre-commit.
        "id" if hooks => Some(Trend::Check),
        // What Python says of warnings.
        "pythonwarnings" if severity(value).is_some() => Some(Trend::Severity),
        // From which weight on a finding is told.
        "threshold" | "failthreshold" | "typecheckingmode" if weight(value).is_some() => Some(Trend::Weight),
        _ => None,
    }
}

/// `too-many-lines-threshold`
fn is_lint_limit(key: &str) -> bool {
    key.ends_with("threshold") && ["too", "complexity", "size", "bools"].iter().any(|w| key.contains(w))
}

/// error 3, warn 2, info 1, off 0.
pub(super) fn severity(value: &str) -> Option<u8> {
    let word = value.trim_matches(['"', '\'']).to_lowercase();
    if word.len() == 1 {
        return match word.as_str() {
            "0" => Some(0),
            "1" => Some(2),
            "2" => Some(3),
            _ => None,
        };
    }
    if !listed(SEVERITY, &word) {
        return None;
    }
    Some(match word.as_str() {
        "forbid" => 4,
        "error" | "errors" | "deny" | "err" => 3,
        "warn" | "warning" => 2,
        "info" | "hint" | "suggestion" | "refactoring" => 1,
        _ => 0,
    })
}

/// low, medium, high; strict, standard, basic, off.
pub(super) fn weight(value: &str) -> Option<u8> {
    Some(match value.to_lowercase().as_str() {
        "low" | "ignore" | "strict" => 1,
        "default" | "medium" | "moderate" | "standard" | "recommended" => 2,
        "high" | "max" | "critical" | "basic" => 3,
        "off" => 4,
        _ => return None,
    })
}

/// The file decides which tests and checks run, and how hard they are.
pub(super) fn is_gate(normal: &str) -> bool {
    let name = normal.rsplit('/').next().unwrap_or_default();
    let starts = "\
        tsconfig jsconfig babel.config jest.config vitest. vite.config playwright.config cypress.config .mocharc .nycrc .c8rc \
        stryker. ava.config karma.conf wdio.conf eslint.config .eslintrc biome.json .stylelintrc \
        stylelint.config codecov. .codecov. .golangci. phpunit.xml phpstan psalm.xml checkstyle spotbugs detekt \
        .pre-commit-config lefthook. .lintstagedrc .rubocop next.config taskfile justfile makefile gnumakefile \
        dockerfile jenkinsfile nx.json turbo.json .taprc deno.json commitlint.config azure-pipelines docker-compose compose. \
        build.gradle build.sbt settings.gradle jest.setup .ruff bitbucket-pipelines cloudbuild.";
    let names = "\
        package.json pyproject.toml setup.cfg tox.ini pytest.ini .pytest.ini .coveragerc mypy.ini .mypy.ini \
        ruff.toml .flake8 .pylintrc pylintrc pyrightconfig.json noxfile.py cargo.toml clippy.toml .clippy.toml \
        deny.toml nextest.toml rustfmt.toml pom.xml composer.json rakefile .rspec mix.exs .credo.exs \
        .swiftlint.yml sonar-project.properties .codeclimate.yml coveralls.json .coveralls.yml \
        directory.build.props .editorconfig lerna.json guardfile phpcs.xml .travis.yml .drone.yml appveyor.yml \
        .gitlab-ci.yml .simplecov infection.json infection.json5 hadolint.yaml .hadolint.yaml .shellcheckrc .standard.yml .erb-lint.yml .reek.yml \
        .woodpecker.yml .woodpecker.yaml .drone.yaml .cirrus.yml wercker.yml codefresh.yml buildspec.yml buildspec.yaml \
        .onedev-buildspec.yml semaphore.yml .semaphore.yml .pipelines.yml bunfig.toml \
        .oxlintrc.json oxlint.json .markdownlint.json .yamllint .yamllint.yml .ansible-lint .sqlfluff \
        .jshintrc .pa11yci lighthouserc.json .lighthouserc.json .size-limit.json bundlesize.config.json \
        pytest.toml .bandit bandit.yaml .semgrep.yml .gitleaks.toml .trivyignore .hadolint.yml \
        .testcoverage.yml .octocov.yml tslint.json cmakelists.txt cmakepresets.json \
        analysis_options.yaml buildkite.yml .babelrc lefthook-local.yml .rspec-local simplecov.rb gradle.properties maven.config .swcrc";
    let dirs = [
        "/.github/workflows/",
        "/.github/actions/",
        "/.circleci/",
        "/.gitlab/",
        "/.buildkite/",
        "/.woodpecker/",
        "/.forgejo/workflows/",
        "/.gitea/workflows/",
        "/.builds/",
        "/.tekton/",
        "/.semaphore/",
        "/.azuredevops/",
        "/.harness/",
        "/.ci/",
        "/.config/nextest",
        "/.cargo/",
        "/.mvn/",
    ];
    let slashed = format!("/{normal}");
    let heads = |s: &str| {
        let rest = name.strip_prefix(s);
        rest.is_some_and(|rest| s.ends_with('.') || rest.is_empty() || rest.starts_with('.'))
    };
    let is_code = matches!(
        crate::decide::guards::kind::extension(name),
        "rs" | "go" | "java" | "kt"
    );
    !is_code && super::super::listed::words(starts).any(heads)
        || listed(names, name)
        || dirs.iter().any(|d| slashed.contains(d))
        || name.ends_with(".csproj")
        || name.ends_with(".runsettings")
        || name.ends_with(".ruleset")
}

/// A checker's own file in YAML: its keys are no jobs.
pub(super) fn is_checker(name: &str) -> bool {
    let words = [
        "lint",
        "detekt",
        "rubocop",
        "phpstan",
        "codeclimate",
        "hadolint",
        "semgrep",
        "bandit",
        "analysis",
        "coverall",
        "credo",
        "reek",
        "standard",
        "golangci",
        "cov",
    ];
    words.iter().any(|w| name.contains(w))
}

/// Names dependencies and much else; only what runs or bars something counts there.
pub(super) fn is_manifest(normal: &str) -> bool {
    let name = normal.rsplit('/').next().unwrap_or_default();
    matches!(
        name,
        "package.json"
            | "pyproject.toml"
            | "setup.cfg"
            | "cargo.toml"
            | "pom.xml"
            | "composer.json"
            | "mix.exs"
            | "build.sbt"
            | "deno.json"
            | "settings.gradle"
            | "docker-compose.yml"
            | "docker-compose.yaml"
            | "compose.yaml"
            | "compose.yml"
            | "next.config.js"
            | "next.config.mjs"
            | "next.config.ts"
            | "vite.config.ts"
            | "vite.config.js"
            | "vite.config.mts"
            | "gradle.properties"
            | ".editorconfig"
    ) || name.ends_with(".csproj")
        || name.starts_with("build.gradle")
        || name.starts_with("dockerfile")
}
