//! What would be done next, for `--dry-run` and `show`.

use crate::decide::next::Next;

/// One line: the action, who moves next, or the end.
pub fn next(next: &Next) -> String {
    match next {
        Next::Act(action) => {
            let value = serde_json::to_value(action).unwrap_or_default();
            format!("would {}", words(&value))
        }
        Next::Wait { until, why } => format!("waits until {}: {why}", until.format("%Y-%m-%d %H:%M UTC")),
        Next::Done { outcome } => {
            let value = serde_json::to_value(outcome).unwrap_or_default();
            format!("would close it: {}", value.as_str().unwrap_or_default())
        }
    }
}

/// An action as it is written down, in words.
pub(super) fn words(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(name) => name.replace('_', " "),
        serde_json::Value::Object(map) => map
            .iter()
            .map(|(name, fields)| format!("{} {fields}", name.replace('_', " ")))
            .collect::<Vec<_>>()
            .join("; "),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::Array(_) => String::new(),
    }
}
