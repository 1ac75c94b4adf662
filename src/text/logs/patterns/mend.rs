//! An entry of a file of patterns that does not fit, key by key: so that all that is wrong with it is told at once.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Check, Raw};

const ENTRY: &str = r#"{"id": "no-such-table", "regex": "no such table", "severity": "high", "kind": "runtime"}"#;
/// Keys without a default.
const NEEDED: [&str; 3] = ["id", "severity", "kind"];
/// Each key with a right value, and what it has to be.
const KEYS: [(&str, &str, &str); 10] = [
    ("id", "\"no-such-table\"", "a text"),
    ("alert", "\"A10\"", "a text"),
    ("regex", "\"no such table\"", "a text"),
    ("except", "\"no such table: tmp_\"", "a text"),
    ("severity", "\"high\"", "one of critical, high, medium, low"),
    ("kind", "\"runtime\"", "one of preflight, runtime, lifecycle, start"),
    ("priority", "50", "a whole number from 0 to 100"),
    (
        "window",
        "{\"within_seconds\": 60, \"of\": \"start\"}",
        "an object of within_seconds and of",
    ),
    ("level", "\"error\"", "one of trace, debug, info, warn, error, fatal"),
    ("expect_every_minutes", "1440", "a whole number of minutes"),
];

impl Check<'_> {
    /// Each key that does not fit is told, and stands as in the example, so that the others are looked at too.
    pub(super) fn mended(&mut self, entry: Value, error: &serde_json::Error) -> Option<Raw> {
        let Value::Object(mut fields) = entry else {
            self.fault("", format!("{} is no object", quoted(&entry)), ENTRY);
            return None;
        };
        let needed: Map<String, Value> = NEEDED
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), self.right(key)?)))
            .collect();
        for key in fields.keys().cloned().collect::<Vec<_>>() {
            let Some((_, example, fits)) = KEYS.iter().find(|(known, ..)| *known == key) else {
                let known = KEYS.map(|(known, ..)| known);
                let near = crate::text::nearest(&key, &known).map_or_else(|| known.join(", "), str::to_owned);
                self.fault(&key, "is not a key of a pattern".to_owned(), &near);
                fields.remove(&key);
                continue;
            };
            let mut alone = needed.clone();
            alone.insert(key.clone(), fields[&key].clone());
            if Raw::deserialize(Value::Object(alone)).is_err() {
                self.fault(&key, format!("{} is not {fits}", quoted(&fields[&key])), example);
                fields.remove(&key);
                fields.extend(self.right(&key).map(|value| (key, value)));
            }
        }
        for (key, value) in needed {
            if !fields.contains_key(&key) {
                let example = KEYS
                    .iter()
                    .find(|(known, ..)| *known == key)
                    .map_or("", |(_, text, _)| *text);
                self.fault(&key, "is missing".to_owned(), example);
                fields.insert(key, value);
            }
        }
        let mended = Raw::deserialize(Value::Object(fields)).ok();
        if mended.is_none() {
            self.fault("", error.to_string(), ENTRY);
        }
        mended
    }

    /// A value that fits. A name that stands for a wrong one is nobody else's.
    fn right(&self, key: &str) -> Option<Value> {
        if key == "id" {
            return Some(Value::from(format!("entry-{}", self.n)));
        }
        let (_, text, _) = KEYS.iter().find(|(known, ..)| *known == key)?;
        serde_json::from_str(text).ok()
    }
}

fn quoted(value: &Value) -> String {
    let text = value.to_string();
    let shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() { shown + "…" } else { shown }
}
