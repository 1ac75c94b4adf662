//! Where untrusted text may stand: inside a fence with a fresh nonce in a prompt, or inside a code block of a page.

use super::Untrusted;

/// At least 64 random bits, new for every prompt, made at the edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// From 8 or more random bytes.
    pub fn new(random: &[u8]) -> Self {
        Self(random.iter().map(|b| format!("{b:02x}")).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text between one begin and one end marker that carry the nonce; a marker inside the text is removed.
pub fn fence(text: &Untrusted, nonce: &Nonce) -> String {
    let inner = text.analyse().replace(nonce.as_str(), "");
    format!("<<<untrusted {0}\n{inner}\nuntrusted {0}>>>", nonce.as_str())
}

/// A Markdown code block whose fence is longer than any run of backticks in the text.
pub fn code_block(text: &Untrusted) -> String {
    let longest = text.analyse().split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest.max(2) + 1);
    format!("{ticks}text\n{}\n{ticks}", text.analyse())
}
