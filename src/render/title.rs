//! What a cause is called in a line of ours, from the title that came from outside: the class of the error where it
//! begins with one, else its words in quotation marks, so that nobody takes them for ours.

use crate::text::{clean, short};

const LONGEST: usize = 80;

/// The class of the error that a title begins with: `ZeroDivisionError`, `sqlite3.OperationalError`, `ECONNRESET`.
pub fn class(title: &str) -> Option<String> {
    let word: String = title
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
        .collect();
    let fits = (3..=60).contains(&word.len()) && names_an_error(&word, &title[word.len()..]);
    fits.then_some(word)
}

fn names_an_error(word: &str, rest: &str) -> bool {
    let low = word.to_lowercase();
    if matches!(low.as_str(), "error" | "err" | "errors" | "exception" | "default") {
        return false;
    }
    let upper = word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    if upper {
        let errno = word.len() > 4 && word.starts_with('E') && word != "ERROR";
        return errno || word.starts_with("SIG") && word.len() > 5;
    }
    let speaks = [
        "error",
        "exception",
        "panic",
        "fault",
        "abort",
        "violation",
        "interrupt",
    ];
    if speaks.iter().any(|part| low.contains(part)) {
        // A word of a sentence begins in lower case and goes on: `errors were found`, `fault tolerance is off`.
        let goes_on = rest.starts_with(' ') && !rest.starts_with(" (") && !rest.starts_with(" at ");
        return !goes_on || word.chars().any(char::is_uppercase) && low != word[..1].to_lowercase() + &word[1..];
    }
    // `StopIteration: …`, `ERR_MODULE_NOT_FOUND: …`, `ActiveRecord::RecordNotFound (…`
    let composed = word.contains('_') || word.chars().skip(1).any(char::is_uppercase);
    composed && (rest.is_empty() || rest.starts_with(':') || rest.starts_with(" ("))
}

/// The title in one line: its class, or some of its words as a quotation.
pub fn called(title: &str) -> String {
    class(title).unwrap_or_else(|| quoted(title))
}

/// The title as a quotation.
pub fn quoted(title: &str) -> String {
    said(title, LONGEST)
}

/// Said of a path that production names and the repository does not have.
pub const NOT_THERE: &str = "no such file in the repository";

/// Said of a path that several files of the repository end with.
pub fn one_of(files: usize) -> String {
    format!("{files} files of the repository could be it")
}

/// Words from outside as a quotation of at most so many letters, in one line.
pub fn said(text: &str, most: usize) -> String {
    let words = clean(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('"', "'");
    if words.is_empty() {
        return "an error".to_owned();
    }
    format!("\"{}\"", short(&words, most + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_told_from_the_first_word_of_a_sentence() {
        for title in [
            "ZeroDivisionError: division by zero",
            "sqlite3.OperationalError: near \"x\"",
            "java.lang.NullPointerException",
            "TypeError",
            "EtaError (365 events)",
            "ECONNRESET: read",
            "SIGSEGV in worker",
            "StopIteration: no more",
            "ERR_MODULE_NOT_FOUND: cannot find package",
            "panicked at src/lib.rs:5:10",
            "PaymentError the ledger lost 4 rows",
        ] {
            let word: String = title.chars().take_while(|c| !" :".contains(*c)).collect();
            assert_eq!(class(title).as_deref(), Some(word.as_str()), "{title}");
        }
        for title in [
            "the domain acme.example expires in 2 days",
            "GET /api/orders was answered with HTTP 502",
            "job worker: cannot find the queue",
            "ERROR db: connection refused",
            "errors were found in 3 files",
            "fault tolerance is off",
            "GitHub did not answer",
            "crit",
            "",
            "é",
        ] {
            assert_eq!(class(title), None, "{title}");
        }
    }

    #[test]
    fn words_from_outside_are_a_quotation() {
        assert_eq!(called("TypeError: x is undefined"), "TypeError");
        assert_eq!(called("queue \"mail\"\n is long"), "\"queue 'mail' is long\"");
        assert_eq!(called(" \n"), "an error");
        assert_eq!(
            said("550 \u{1b}[2Jno \"such\"\nuser\u{202e}", 40),
            "\"550 no 'such' user\\u{202e}\""
        );
        let long = called(&"é".repeat(200));
        assert_eq!(long.chars().count(), LONGEST + 3);
    }
}
