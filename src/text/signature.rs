//! `signature(text)`: stable identity of a cause. Deterministic, stateless, linear time.

use crate::model::{Signature, signal::Culprit};

/// A text's signature with what it was computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Signed {
    pub signature: Signature,
    /// Readable form with the volatile parts masked.
    pub template: String,
    /// `bug`, `noise`, `infrastructure`, `auth` or `config`.
    pub label: &'static str,
    pub culprit: Option<Culprit>,
}

/// The signature of cleaned text.
pub fn signature(text: &str) -> Signed {
    use sha2::{Digest, Sha256};
    let template: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let digest = Sha256::digest(template.as_bytes());
    let hex: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
    Signed {
        signature: Signature::parse(&hex).expect("16 hex digits"),
        template,
        label: "bug",
        culprit: None,
    }
}
