//! Words that begin with a digit: what a number is, its context decides.

use super::{random, words::Context};

/// Words after which a short number is a name and not a measure (exit code, status, SQLSTATE …).
const NAMING: [&str; 15] = [
    "code",
    "status",
    "statuscode",
    "exit",
    "exited",
    "signal",
    "errno",
    "error",
    "http",
    "sqlstate",
    "errcode",
    "responsecode",
    "returned",
    "responded",
    "rule",
];
/// From the shortest to the longest of them.
const NAMING_LENGTHS: std::ops::RangeInclusive<usize> = 4..=12;
/// What they begin with, in either case of letters: every number asks, and most words before one begin otherwise.
const NAMING_FIRST: [bool; 256] = {
    let mut first = [false; 256];
    let mut n = 0;
    while n < NAMING.len() {
        let letter = NAMING[n].as_bytes()[0];
        first[letter as usize] = true;
        first[letter.to_ascii_uppercase() as usize] = true;
        n += 1;
    }
    first
};
/// Words before or behind a number that make it a measure whatever its size.
const MEASURING: [&str; 27] = [
    "in",
    "of",
    "took",
    "after",
    "limit",
    "used",
    "requested",
    "line",
    "pid",
    "port",
    "attempt",
    "size",
    "length",
    "count",
    "ms",
    "s",
    "seconds",
    "bytes",
    "rows",
    "times",
    "items",
    "id",
    "user",
    "order",
    "for",
    "than",
    "bits",
];

/// Units behind a count.
const UNITS: [&str; 12] = [
    "k", "x", "px", "rpm", "tokens", "th", "st", "nd", "rd", "bit", "hz", "mhz",
];
const SIZES: [&str; 17] = [
    "ki", "mi", "gi", "ti", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "byte", "bytes", "kbyte", "kbytes",
];
const TIMES: [&str; 22] = [
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "msec",
    "msecs",
    "millis",
    "millisecond",
    "milliseconds",
    "us",
    "ns",
    "min",
    "mins",
    "minute",
    "minutes",
    "hour",
    "hours",
    "hrs",
    "day",
    "days",
];

/// Whether a short number behind the word may be a name.
pub(super) fn names_a_code(word: &[u8]) -> bool {
    let may_be_one = NAMING_LENGTHS.contains(&word.len()) && NAMING_FIRST[usize::from(word[0])];
    may_be_one && NAMING.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// What a number is made of and where it stands in its run.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Digits and dots only.
    pub(super) whole: bool,
    pub(super) starts: bool,
    pub(super) ends: bool,
}

/// What the number becomes; none if it is a name.
pub(super) fn mask(word: &str, at: Place, words: &mut Context<'_>) -> Option<&'static str> {
    let Place { whole, starts, ends } = at;
    if whole {
        return if ends && let Some((mask, length)) = measure(words.tail) {
            words.consumed = length;
            Some(mask)
        } else {
            (!is_name(word, starts, words)).then_some("<n>")
        };
    }
    if word.starts_with("0x") {
        // A short one behind a word that says so is a code.
        let code = word.len() <= 10 && is_one_of(words.previous, &["error", "code", "hresult", "exitcode"]);
        return (!code).then_some("<n>");
    }
    let bytes = word.as_bytes();
    if is_duration(bytes) {
        return Some("<time>");
    }
    if (bytes.len() >= 7 && bytes.iter().all(u8::is_ascii_hexdigit)) || random::is_random(bytes) {
        return Some("<n>");
    }
    let behind = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    unit(behind).or_else(|| is_one_of(behind, &UNITS).then_some("<n>"))
}

/// A code or a status: short, and behind a word that says so, or at the end of a line that speaks of a failure.
fn is_name(word: &str, starts: bool, words: &Context<'_>) -> bool {
    if word.len() > 5 || word.contains('.') {
        return false;
    }
    if is_one_of(words.previous, &NAMING) {
        // What came back is a status or a count.
        return word.len() == 3 || !is_one_of(words.previous, &["returned", "responded"]);
    }
    let status = starts && word.len() == 3 && matches!(word.as_bytes()[0], b'4' | b'5');
    if !status {
        return false;
    }
    if words.compares_statuses() {
        return true;
    }
    let next = words.next();
    let named_next = next.len() > 1 && next.starts_with(|c: char| c.is_ascii_uppercase());
    let measured = is_one_of(next, &MEASURING) || is_one_of(words.previous, &MEASURING);
    (named_next || words.is_last()) && !measured && words.is_failing()
}

/// Whether the only numbers are two that a server answers with, at least one of them for a failure.
pub(super) fn are_two_statuses(line: &str) -> bool {
    const FAILURES: [&str; 13] = [
        "400", "401", "403", "404", "405", "409", "410", "415", "422", "429", "500", "501", "503",
    ];
    let mut numbers = line
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let (Some(one), Some(other), None) = (numbers.next(), numbers.next(), numbers.next()) else {
        return false;
    };
    let answer = |word: &str| word.len() == 3 && word.starts_with(['2', '3']);
    let failure = |word: &str| FAILURES.contains(&word);
    (failure(one) && (failure(other) || answer(other))) || (answer(one) && failure(other))
}

/// The unit that stands behind one space as a word of its own, and the length of both.
fn measure(tail: &str) -> Option<(&'static str, usize)> {
    let rest = tail.strip_prefix(' ')?;
    let length = rest.bytes().take(13).take_while(u8::is_ascii_alphabetic).count();
    let mask = unit(&rest[..length])?;
    let joined = matches!(rest.as_bytes().get(length), Some(b'0'..=b'9' | b'_' | b'-' | b'/'));
    (!joined).then_some((mask, length + 1))
}

/// `12ms`, `1h2m`, `0.3s`.
fn is_duration(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| b.is_ascii_digit() || b"dhmsun.".contains(b))
        && bytes.last().is_some_and(u8::is_ascii_lowercase)
        && !(bytes.starts_with(b"00"))
}

fn unit(word: &str) -> Option<&'static str> {
    if word.is_empty() || word.len() > 12 {
        None
    } else if is_one_of(word, &SIZES) {
        Some("<size>")
    } else {
        is_one_of(word, &TIMES).then_some("<time>")
    }
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Without regard to letter case.
pub(super) fn contains_word(line: &str, word: &str) -> bool {
    line.as_bytes()
        .windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}
