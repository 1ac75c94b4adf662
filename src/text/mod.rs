//! Text from outside: cleaning, redaction, fencing, signatures. Pure: no clock, file, network or process.
//!
//! Order of work at every boundary: bytes -> [`clean()`] -> [`Redactor::redact`] -> [`Untrusted`] or a stored string.

pub mod ci;
pub mod clean;
#[cfg(test)]
pub(crate) mod corpus_tests;
pub mod fence;
#[cfg(test)]
mod figures_tests;
pub mod inert;
pub mod jq;
pub mod json;
pub mod logs;
pub mod nagios;
pub mod own_places;
pub mod redact;
pub mod signature;
pub mod untrusted;
#[cfg(test)]
mod variants_tests;

use sha2::{Digest, Sha256};

pub use clean::clean;
pub use own_places::OwnPlaces;
pub use redact::Redactor;
pub use signature::{Signed, Signer, places, sign, signature};
pub use untrusted::Untrusted;

/// Lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|b| [b >> 4, b & 15])
        .map(|half| char::from(DIGITS[usize::from(half)]))
        .collect()
}

/// `1 probe`, `3 probes`.
pub fn count(n: u64, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{n} {noun}s")
    }
}

/// `once`, `3 times`.
pub fn times(n: u64) -> String {
    if n == 1 {
        "once".to_owned()
    } else {
        format!("{n} times")
    }
}

/// At most so many characters. What is longer ends with a whole word: a path is never cut in its middle, unless it alone
/// is longer than half of what fits.
pub fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head = text.char_indices().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
    let (head, rest) = text.split_at(head);
    let word = head.rfind(char::is_whitespace).filter(|at| *at >= head.len() / 2);
    let end = match word {
        Some(at) if !rest.starts_with(char::is_whitespace) => at,
        Some(_) | None => head.len(),
    };
    format!("{}…", head[..end].trim_end())
}

/// `1 was`, `19 were`: rounded, as it is shown.
pub fn were(n: f64) -> String {
    let n = format!("{n:.0}");
    let verb = if n == "1" { "was" } else { "were" };
    format!("{n} {verb}")
}

/// The name that somebody probably meant.
pub fn nearest<'a>(typed: &str, names: &[&'a str]) -> Option<&'a str> {
    similar::get_close_matches(typed, names, 1, 0.6).first().copied()
}

/// A signature of a name that we made ourselves: nothing of it is masked, `api-1` and `api-2` are two.
pub fn named(name: &str) -> crate::model::Signature {
    let digest = Sha256::digest(name);
    crate::model::Signature::parse(&hex(&digest[..8])).expect("eight bytes are sixteen digits")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn what_is_cut_ends_with_a_whole_word() {
        let check = |text: &str, most, want: &str| {
            assert_eq!(short(text, most), want);
            assert!(want.chars().count() <= most, "{want}");
        };
        check("in shop/price.py", 16, "in shop/price.py");
        check("cannot import it (shop/price.py)", 24, "cannot import it…");
        check("cannot import it: no", 18, "cannot import it:…");
        check("one two three", 8, "one two…");
        check("a/very/long/path/of/one/word", 10, "a/very/lo…");
        check("x a/very/long/path/of/one/word", 10, "x a/very/…");
        check("é é é é é é", 6, "é é é…");
        check("", 0, "");
    }
}
