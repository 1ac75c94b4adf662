//! Reads reports in JUnit's format, which most runners can write and none writes alike. It does not say where an error was
//! raised, so less counts as a red here than with a reader of ours: an assertion by its type or its last line, an error only
//! where the trace names the test itself.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use globset::{GlobBuilder, GlobMatcher};
use quick_xml::{
    Reader,
    escape::unescape,
    events::{BytesStart, Event},
};
use regex::Regex;

use super::{Readout, report};
use crate::model::evidence::{TestResult, TestStatus};

/// Reports of one run, at most.
const FILES: usize = 10_000;
const DEEPEST: usize = 64;

static ASSERTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[.:\\$])(?:\w*Assert\w*(?:Error|Failed\w*|Exception)|Assertion|ComparisonFailure|Expectation\w*(?:Error|Exception))$")
        .expect("a constant pattern")
});
/// `AssertionError: 1 != 2`, `E   ValueError: x`, `tests/a.py:4: AssertionError`, `AssertionError [CODE]: x`.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:E +|\S+:\d+: )?((?:\w+[.:\\$]+)*\w+(?:Error|Exception|Failure|Failed))(?: \[\w+\])?(?::|$)")
        .expect("a constant pattern")
});

/// Where a repository's own runner puts its reports: a glob below the tree.
#[derive(Debug, Clone)]
pub(super) struct Place(GlobMatcher);

impl Place {
    pub(super) fn new(glob: &str) -> Result<Self, String> {
        let built = GlobBuilder::new(glob.trim_start_matches("./"))
            .literal_separator(true)
            .build();
        built
            .map(|glob| Self(glob.compile_matcher()))
            .map_err(|error| format!("the place of its reports is no pattern: {error}"))
    }

    /// Removes what lies there before a run: a report that came along with the commit says nothing.
    pub(super) fn clear(&self, tree: &Path) -> Result<(), String> {
        for path in self.files(tree)? {
            fs::remove_file(&path).map_err(|error| format!("an old report, {}, stays: {error}", path.display()))?;
        }
        Ok(())
    }

    fn files(&self, tree: &Path) -> Result<Vec<PathBuf>, String> {
        let mut found = Vec::new();
        let mut dirs = vec![(tree.to_owned(), 0)];
        while let Some((dir, depth)) = dirs.pop() {
            let entries = fs::read_dir(&dir).map_err(|error| format!("{} cannot be read: {error}", dir.display()))?;
            for entry in entries {
                let entry = entry.map_err(|error| format!("{} cannot be read: {error}", dir.display()))?;
                let (path, kind) = (entry.path(), entry.file_type());
                let Ok(kind) = kind else { continue };
                if kind.is_dir()
                    && depth < DEEPEST
                    && entry.file_name() != "node_modules"
                    && entry.file_name() != ".git"
                {
                    dirs.push((path, depth + 1));
                } else if kind.is_file() && path.strip_prefix(tree).is_ok_and(|below| self.0.is_match(below)) {
                    found.push(path);
                }
            }
            if found.len() > FILES {
                return Err(format!("there are more than {FILES} reports"));
            }
        }
        found.sort();
        Ok(found)
    }

    /// The bytes of all reports, in the order of their names.
    pub(super) fn read(&self, tree: &Path) -> Result<Vec<Vec<u8>>, String> {
        let files = self.files(tree)?;
        if files.is_empty() {
            return Err("it wrote no report where `report.junit` says".to_owned());
        }
        files.iter().map(|path| report::read(path)).collect()
    }
}

/// All reports of one run.
pub(super) fn parse(reports: &[Vec<u8>]) -> Result<Readout, String> {
    let mut readout = Readout::default();
    for bytes in reports {
        let text = std::str::from_utf8(bytes).map_err(|_| "a report is not UTF-8".to_owned())?;
        let mut case = None;
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_end_names = true;
        let (mut depth, mut suites) = (0_usize, 0_usize);
        loop {
            match reader
                .read_event()
                .map_err(|error| format!("a report is not XML: {error}"))?
            {
                Event::Start(tag) => {
                    depth += 1;
                    suites += usize::from(tag.name().as_ref().starts_with("testsuite"));
                    open(&tag, &mut case)?;
                }
                Event::Empty(tag) => {
                    suites += usize::from(tag.name().as_ref().starts_with("testsuite"));
                    open(&tag, &mut case)?;
                    close(tag.name().as_ref(), &mut case, &mut readout);
                }
                Event::End(tag) => {
                    depth = depth.saturating_sub(1);
                    close(tag.name().as_ref(), &mut case, &mut readout);
                }
                Event::Text(text) => add(&mut case, &text),
                Event::CData(text) => add(&mut case, &text),
                Event::GeneralRef(name) => {
                    let name = format!("&{};", &*name);
                    add(
                        &mut case,
                        &unescape(&name).map_err(|error| format!("a report is not XML: {error}"))?,
                    );
                }
                Event::Eof => break,
                Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Comment(_) => {}
            }
        }
        if depth > 0 || suites == 0 {
            return Err("a report is cut, or is not JUnit's".to_owned());
        }
    }
    Ok(readout)
}

/// A test while it is read.
#[derive(Default)]
struct Case {
    class: String,
    name: String,
    outcome: Option<Outcome>,
    /// The text that comes belongs to the outcome.
    listens: bool,
}

#[derive(Default)]
struct Outcome {
    status: Option<TestStatus>,
    kind: String,
    message: String,
    text: String,
}

fn open(tag: &BytesStart<'_>, case: &mut Option<Case>) -> Result<(), String> {
    let name = tag.name();
    if name.as_ref() == "testcase" {
        *case = Some(Case {
            class: attribute(tag, "classname")?,
            name: attribute(tag, "name")?,
            ..Case::default()
        });
        return Ok(());
    }
    let Some(case) = case else { return Ok(()) };
    let status = match name.as_ref() {
        "failure" => TestStatus::Fail,
        "error" => TestStatus::Error,
        "skipped" => TestStatus::Skip,
        // Output, properties, and what a rerun failed by before it passed.
        _ => return Ok(()),
    };
    case.listens = true;
    // The first one says what happened.
    if case.outcome.is_none() {
        case.outcome = Some(Outcome {
            status: Some(status),
            kind: attribute(tag, "type")?,
            message: attribute(tag, "message")?,
            text: String::new(),
        });
    }
    Ok(())
}

fn add(case: &mut Option<Case>, text: &str) {
    if let Some(case) = case
        && case.listens
        && let Some(outcome) = &mut case.outcome
    {
        outcome.text.push_str(text);
    }
}

fn close(name: &str, case: &mut Option<Case>, readout: &mut Readout) {
    match name {
        "testcase" => {
            if let Some(case) = case.take() {
                readout.tests.push(case.result());
            }
        }
        "failure" | "error" | "skipped" => {
            if let Some(case) = case {
                case.listens = false;
            }
        }
        _ => {}
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<String, String> {
    let found = tag
        .try_get_attribute(name)
        .map_err(|error| format!("a report is not XML: {error}"))?;
    let Some(found) = found else {
        return Ok(String::new());
    };
    let value = unescape(&found.value).map_err(|error| format!("a report is not XML: {error}"))?;
    Ok(value.into_owned())
}

impl Case {
    fn result(self) -> (String, TestResult) {
        let id = match self.class.as_str() {
            "" => self.name.clone(),
            class => format!("{class} > {}", self.name),
        };
        let Some(outcome) = self.outcome else {
            return (id, TestResult::of(TestStatus::Pass));
        };
        let status = outcome.status.unwrap_or(TestStatus::Error);
        if status == TestStatus::Skip {
            let message = outcome.message;
            return (
                id,
                TestResult {
                    message,
                    ..TestResult::of(status)
                },
            );
        }
        let kind = outcome.kind();
        let by_assertion = status == TestStatus::Fail && ASSERTION.is_match(&kind);
        let own = self.name.split(['(', '[', ' ']).next().unwrap_or_default();
        // Python and Java; then Ruby, whose frames end with the quoted name: of the method, of its class and of it.
        let frames = [
            format!(".{own}("),
            format!("in {own}"),
            format!(" {own}("),
            format!("`{own}'"),
            format!(" in {own}'"),
            format!("#{own}'"),
        ];
        let traced = !own.is_empty() && frames.iter().any(|at| outcome.text.contains(at));
        let message = outcome.said(&kind);
        let result = TestResult {
            status: if by_assertion {
                TestStatus::Fail
            } else {
                TestStatus::Error
            },
            by_assertion,
            inside: status == TestStatus::Fail || traced,
            message: match (kind.is_empty(), message.is_empty()) {
                (true, _) => message,
                (false, true) => kind.clone(),
                (false, false) => format!("{kind}: {message}"),
            },
            kind,
            trace: outcome.text,
        };
        (id, result)
    }
}

impl Outcome {
    /// The error's type: as said, or as the text says it.
    fn kind(&self) -> String {
        let named = |line: &str| NAMED.captures(line.trim()).map(|found| found[1].to_owned());
        if NAMED.is_match(&self.kind) || ASSERTION.is_match(&self.kind) {
            return self.kind.clone();
        }
        named(&self.message)
            .or_else(|| self.text.lines().find_map(named))
            .unwrap_or_default()
    }

    fn said(&self, kind: &str) -> String {
        let first = || {
            self.text
                .lines()
                .find(|line| !line.trim().is_empty())
                .unwrap_or_default()
                .to_owned()
        };
        let said = if self.message.is_empty() {
            first()
        } else {
            self.message.clone()
        };
        let rest = said.strip_prefix(kind).filter(|_| !kind.is_empty());
        rest.map_or(said.as_str(), |rest| rest.trim_start_matches(':'))
            .trim()
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(report: &str) -> Result<Vec<String>, String> {
        let readout = parse(&[report.as_bytes().to_vec()])?;
        let line = |(id, r): &(String, TestResult)| {
            let mark = match (r.by_assertion, r.inside) {
                (true, _) => "!",
                (false, true) => " inside",
                (false, false) => "",
            };
            format!("{id} {:?}{mark} {}", r.status, r.message)
        };
        Ok(readout.tests.iter().map(line).collect())
    }

    /// Cut from what pytest 8.4, vitest 3.2 and mocha 11.7 wrote.
    #[test]
    fn runners_write_it_each_in_its_own_way() {
        let pytest = r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="2" failures="2" skipped="1" tests="6"><testcase classname="" name="tests.test_load" time="0.000"><error message="collection failure">ImportError while importing
E   ModuleNotFoundError: No module named 'nothing_there'</error></testcase><testcase classname="tests.test_a" name="test_pass" time="0.000" /><testcase classname="tests.test_a" name="test_assert" time="0.017"><failure message="assert 3.0 == 4&#10; +  where 3.0 = average([2, 4])">&gt;   def test_assert(): assert average([2, 4]) == 4
E   assert 3.0 == 4

tests/test_a.py:4: AssertionError</failure></testcase><testcase classname="tests.test_a" name="test_crash" time="0.000"><failure message="ZeroDivisionError: division by zero">E       ZeroDivisionError: division by zero

shop.py:2: ZeroDivisionError</failure></testcase><testcase classname="tests.test_a" name="test_skip" time="0.000"><skipped type="pytest.skip" message="later">/tmp/test_a.py:7: later</skipped></testcase><testcase classname="tests.test_a" name="test_fixture" time="0.000"><error message="failed on setup with &quot;ZeroDivisionError: division by zero&quot;">E       ZeroDivisionError: division by zero</error></testcase></testsuite></testsuites>"#;
        assert_eq!(
            told(pytest).unwrap(),
            [
                "tests.test_load Error ModuleNotFoundError: collection failure",
                "tests.test_a > test_pass Pass ",
                "tests.test_a > test_assert Fail! AssertionError: assert 3.0 == 4\n +  where 3.0 = average([2, 4])",
                "tests.test_a > test_crash Error inside ZeroDivisionError: division by zero",
                "tests.test_a > test_skip Skip later",
                "tests.test_a > test_fixture Error ZeroDivisionError: failed on setup with \"ZeroDivisionError: division by zero\"",
            ]
        );
        let vitest = "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<testsuites name=\"vitest tests\" tests=\"2\"><testsuite name=\"vt/a.test.mjs\" tests=\"2\">\
             <testcase classname=\"vt/a.test.mjs\" name=\"group &gt; asserts\"><failure message=\"expected 6 to be 7\" type=\"AssertionError\">\nAssertionError: expected 6 to be 7\n</failure></testcase>\
             <testcase classname=\"vt/a.test.mjs\" name=\"group &gt; crash\"><failure message=\"x is not a function\" type=\"TypeError\">\nTypeError: x is not a function\n</failure></testcase></testsuite></testsuites>";
        assert_eq!(
            told(vitest).unwrap(),
            [
                "vt/a.test.mjs > group > asserts Fail! AssertionError: expected 6 to be 7",
                "vt/a.test.mjs > group > crash Error inside TypeError: x is not a function",
            ]
        );
        let mocha = "<testsuite name=\"Mocha Tests\" tests=\"2\"><testcase classname=\"group\" name=\"node assert\" file=\"/tmp/a.js\"><failure>Expected values to be strictly equal:\n\n6 !== 8\n\n\
             AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n    at Context.&#x3C;anonymous&#x3E; (mt/a.js:5:36)</failure></testcase>\
             <testcase classname=\"group\" name=\"ok\"/></testsuite>";
        assert_eq!(
            told(mocha).unwrap(),
            [
                "group > node assert Fail! AssertionError: Expected values to be strictly equal:",
                "group > ok Pass ",
            ]
        );
    }

    /// As the documentation of Maven's Surefire describes it.
    #[test]
    fn an_error_counts_where_its_trace_names_the_test() {
        let report = "<testsuite name=\"a.ShopTest\" tests=\"3\"><testcase classname=\"a.ShopTest\" name=\"empty\"><error message=\"/ by zero\" type=\"java.lang.ArithmeticException\"><![CDATA[java.lang.ArithmeticException: / by zero\n\tat a.Shop.average(Shop.java:3)\n\tat a.ShopTest.empty(ShopTest.java:9)\n]]></error><system-out>at a.ShopTest.later(</system-out></testcase>\
             <testcase classname=\"a.ShopTest\" name=\"later\"><error type=\"java.io.IOException\">java.io.IOException\n\tat a.ShopTest.setUp(ShopTest.java:4)</error></testcase>\
             <testcase classname=\"a.ShopTest\" name=\"equal\"><failure message=\"expected: &lt;1&gt; but was: &lt;2&gt;\" type=\"org.opentest4j.AssertionFailedError\">x</failure></testcase></testsuite>";
        assert_eq!(
            told(report).unwrap(),
            [
                "a.ShopTest > empty Error inside java.lang.ArithmeticException: / by zero",
                "a.ShopTest > later Error java.io.IOException",
                "a.ShopTest > equal Fail! org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
            ]
        );
    }

    /// As Ruby 3.1 and 3.4 write a backtrace.
    #[test]
    fn a_frame_of_ruby_names_the_test() {
        let report = "<testsuite name=\"all\"><testcase classname=\"RateTest\" name=\"test_none\"><error type=\"ZeroDivisionError\" message=\"divided by 0\">divided by 0\nlib/rate.rb:6:in `/'\nlib/rate.rb:6:in `percent'\ntest/rate_test.rb:6:in `test_none'</error></testcase>\
             <testcase classname=\"RateTest\" name=\"test_few\"><error type=\"ZeroDivisionError\" message=\"divided by 0\">divided by 0\nlib/rate.rb:6:in 'Rate.percent'\ntest/rate_test.rb:9:in 'block in RateTest#test_few'</error></testcase>\
             <testcase classname=\"RateTest\" name=\"test_set_up\"><error type=\"ZeroDivisionError\" message=\"divided by 0\">divided by 0\nlib/rate.rb:6:in `percent'\ntest/rate_test.rb:3:in `setup'</error></testcase>\
             <testcase classname=\"RateTest\" name=\"test_half\"><failure type=\"Minitest::Assertion\" message=\"Expected: 50&#10;  Actual: 49\">Expected: 50</failure></testcase></testsuite>";
        assert_eq!(
            told(report).unwrap(),
            [
                "RateTest > test_none Error inside ZeroDivisionError: divided by 0",
                "RateTest > test_few Error inside ZeroDivisionError: divided by 0",
                "RateTest > test_set_up Error ZeroDivisionError: divided by 0",
                "RateTest > test_half Fail! Minitest::Assertion: Expected: 50\n  Actual: 49",
            ]
        );
    }

    #[test]
    fn what_is_no_report_is_unreadable() {
        for (text, why) in [
            ("", "not JUnit's"),
            ("<html></html>", "not JUnit's"),
            ("<testsuite><testcase name=\"a\"/>", "cut"),
            ("<testsuite><testcase name=\"a\"></testsuite>", "not XML"),
            ("<testsuite><testcase name=\"&nope;\"/></testsuite>", "not XML"),
        ] {
            let error = told(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn reports_are_looked_for_below_the_tree_and_old_ones_go() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "<testsuite/>").unwrap();
        };
        put("a/build/TEST-a.xml");
        put("b/build/TEST-b.xml");
        put("b/build/deep/TEST-c.xml");
        let place = Place::new("./**/build/*.xml").unwrap();
        assert_eq!(place.read(dir.path()).unwrap().len(), 2);
        place.clear(dir.path()).unwrap();
        assert!(place.read(dir.path()).unwrap_err().contains("no report"));
        assert!(dir.path().join("b/build/deep/TEST-c.xml").exists());
        assert!(Place::new("a[").is_err());
    }
}
