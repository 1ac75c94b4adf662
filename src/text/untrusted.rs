//! Text that somebody outside could have written. It has no `Display`: it leaves only through the functions here
//! and in `fence.rs`.

use serde::{Deserialize, Serialize};

use super::{Redactor, clean, inert::console_inert, short};

/// Cleaned and redacted text from outside. Still hostile: never a path, flag, shell word or verdict.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl Untrusted {
    pub fn new(raw: &str, redactor: &Redactor) -> Self {
        Self(redactor.redact(&clean(raw)))
    }

    /// For a log field, a terminal line or a stored row: one line, controls visible, at most `max` characters, never
    /// a command of a CI host.
    pub fn line(&self, max: usize) -> String {
        short(&console_inert(&self.0.replace('\n', "\\n")), max)
    }

    /// The same within a sentence of ours, as a quotation that it cannot end; empty where nothing was said.
    pub fn quoted(&self, max: usize) -> String {
        match self.line(max).replace('"', "'") {
            line if line.is_empty() => line,
            line => format!("\"{line}\""),
        }
    }

    /// For pure code that analyses it (signatures, parsers); never for output.
    pub fn analyse(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Untrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Untrusted({} bytes)", self.0.len())
    }
}
