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
pub mod redact;
pub mod signature;
pub mod untrusted;
#[cfg(test)]
mod variants_tests;

use sha2::{Digest, Sha256};

pub use clean::clean;
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
