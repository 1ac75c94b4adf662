//! Whether a failure in a test is the incident's own error: a crash has no other red than the crash itself.

use std::sync::LazyLock;

use regex::Regex;

use super::is_bad;
use crate::{
    model::{Signature, evidence::TestResult},
    text::signature,
};

static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:Uncaught |Unhandled |Caused by: )?((?:\w+(?:\.|::))*\w*(?:Error|Exception)\w*)(?: \[\w+\])?(?:: (.*))?$",
    )
    .expect("a constant pattern")
});
/// Go prints a panic so, and net/http the panic of a request.
static PANIC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:.*\bhttp: panic serving \S+: |panic: )(.+?)(?:\s*\[recovered[^\]]*\])?$")
        .expect("a constant pattern")
});
static TRACED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^((?:\w+\.)*[A-Za-z_]\w*)(?:: (.*))?$").expect("a constant pattern"));

/// What is known of the incident that the fix is for.
#[derive(Debug, Clone)]
pub struct IncidentFacts {
    pub signature: Signature,
    /// Type and message of its exception, where the source tells them.
    pub exception: Option<(String, String)>,
    pub title: String,
}

impl IncidentFacts {
    /// The facts of a signal: its exception is read from the message, or else from the title.
    pub fn of(signature: Signature, title: &str, message: &str) -> Self {
        Self {
            signature,
            exception: exception_in(message).or_else(|| exception_in(title)),
            title: title.to_owned(),
        }
    }
}

impl IncidentFacts {
    /// Type of its error, as short as sources agree on.
    pub(super) fn error(&self) -> Option<&str> {
        self.exception.as_ref().map(|(kind, _)| short(kind))
    }

    /// The failure says the incident's error somewhere: by itself, or through the check that met it.
    pub(super) fn is_told_by(&self, result: &TestResult) -> bool {
        let Some((kind, said)) = &self.exception else {
            return true;
        };
        let kind = short(kind);
        let first = said.lines().next().unwrap_or_default().trim();
        let says = |text: &String| {
            let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            words.into_iter().any(|word| word == kind) || first.len() > 8 && text.contains(first)
        };
        is_incident(result, self) || [&result.message, &result.trace, &result.kind].into_iter().any(says)
    }
}

/// Type and message of the exception that a text reports, as its language prints it.
fn exception_in(text: &str) -> Option<(String, String)> {
    let pair = |found: regex::Captures<'_>| {
        let said = found.get(2).map_or("", |said| said.as_str().trim());
        (found[1].to_owned(), said.to_owned())
    };
    // Python prints the error below its traceback; of a chain the last one left the program.
    if let Some((_, tail)) = text.rsplit_once("Traceback (most recent call last)") {
        let lines = tail
            .lines()
            .skip(1)
            .filter(|line| !line.starts_with(char::is_whitespace));
        return lines
            .filter_map(|line| TRACED.captures(line.trim_end()))
            .map(pair)
            .next();
    }
    // Rust names the place first and says the message on the next lines.
    if let Some((_, tail)) = text.split_once(" panicked at ") {
        let said: Vec<&str> = tail
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with("note: ") && *line != "stack backtrace:")
            .collect();
        return Some(("panic".to_owned(), said.join("\n").trim().to_owned()));
    }
    let panic = |line: &str| Some(("panic".to_owned(), PANIC.captures(line)?[1].to_owned()));
    text.lines()
        .map(str::trim)
        .find_map(|line| NAMED.captures(line).map(pair).or_else(|| panic(line)))
}

/// Whether a result shows the incident's own error, raised inside the test. Set-up errors and deadlines never do.
pub(super) fn is_incident(result: &TestResult, incident: &IncidentFacts) -> bool {
    if !is_bad(result) || !result.inside {
        return false;
    }
    let texts = [&result.trace, &result.message];
    let signed = texts.into_iter().filter(|text| !text.is_empty());
    if signed
        .into_iter()
        .any(|text| signature(text).signature == incident.signature)
    {
        return true;
    }
    let template = |text: &str| signature(text).template;
    let message = result
        .message
        .strip_prefix(result.kind.as_str())
        .unwrap_or(&result.message);
    let message = message.trim_start_matches(':').trim();
    // Below its first line a message may quote the source, which production writes in another way or not at all.
    let first = message.lines().next().unwrap_or_default().trim();
    match &incident.exception {
        Some((kind, said)) => {
            let said = said.trim();
            short(kind) == short(&result.kind)
                && (template(said) == template(message) || (!said.contains('\n') && template(said) == template(first)))
        }
        None => {
            !result.kind.is_empty()
                && template(incident.title.trim()) == template(&format!("{}: {message}", short(&result.kind)))
        }
    }
}

/// `shop.errors.NoCoupon` and `NoCoupon` are the same type: sources differ in how much they write.
fn short(kind: &str) -> &str {
    kind.rsplit(['.', ':']).next().unwrap_or(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ruby 3.1 puts the source and a marker below the message.
    #[test]
    fn the_first_line_of_a_message_is_enough() {
        let incident = IncidentFacts::of(
            Signature::parse("7f3a91c07f3a91c0").unwrap(),
            "NoMethodError: undefined method `name' for nil:NilClass",
            "NoMethodError: undefined method `name' for nil:NilClass",
        );
        let raised = |message: &str| TestResult {
            inside: true,
            kind: "NoMethodError".to_owned(),
            message: format!("NoMethodError: {message}"),
            ..TestResult::of(crate::model::evidence::TestStatus::Error)
        };
        let marked = "undefined method `name' for nil:NilClass\n\n  user.profile.name\n              ^^^^^";
        assert!(is_incident(&raised(marked), &incident));
        assert!(!is_incident(
            &raised("undefined method `age' for nil:NilClass"),
            &incident
        ));
    }

    #[test]
    fn exceptions_are_read_as_languages_print_them() {
        let cases = [
            (
                "ZeroDivisionError: division by zero",
                "ZeroDivisionError",
                "division by zero",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    x: int = g()\nKeyError: 'id'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 9, in h\n    f()\nshop.errors.NoCoupon: order 7\n",
                "shop.errors.NoCoupon",
                "order 7",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyboardInterrupt",
                "KeyboardInterrupt",
                "",
            ),
            (
                "Uncaught TypeError: x is not a function\n    at f (/srv/a.js:1:2)",
                "TypeError",
                "x is not a function",
            ),
            ("AssertionError [ERR_ASSERTION]: no", "AssertionError", "no"),
            (
                "thread 'main' (7) panicked at src/lib.rs:5:17:\nindex out of bounds\nnote: run with",
                "panic",
                "index out of bounds",
            ),
        ];
        for (text, kind, said) in cases {
            assert_eq!(exception_in(text), Some((kind.to_owned(), said.to_owned())), "{text}");
        }
        assert_eq!(exception_in("GET /orders answers 500"), None);
    }
}
