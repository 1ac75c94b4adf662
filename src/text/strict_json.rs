//! One JSON object and nothing around it: no second value, no repeated key, no deep nesting. For text whose writer
//! may want two readers to see two things; a lenient parser is the attack.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Deepest nesting that is read.
pub const MAX_DEPTH: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("the text is empty")]
    Empty,
    #[error("the text is not one JSON value: {0}")]
    Syntax(String),
    #[error("the JSON value is {0}, not an object")]
    NotObject(&'static str),
}

/// The one object that the bytes are, apart from white space at both ends.
pub fn one_object(bytes: &[u8]) -> Result<Map<String, Value>, JsonError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(JsonError::Empty);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { depth: 0 }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| JsonError::Syntax(error.to_string()))?;
    match value {
        Value::Object(map) => Ok(map),
        other => Err(JsonError::NotObject(kind(&other))),
    }
}

/// What a value is, in words.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH}")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let value = access.next_value_seed(inner)?;
            if map.contains_key(&key) {
                let shown: String = key.chars().take(40).collect();
                return Err(A::Error::custom(format_args!("the key {shown:?} stands twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, why: &str) {
        let error = one_object(text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(why), "{text}: {error}");
    }

    #[test]
    fn an_object_is_read_as_it_stands() {
        let text = " {\"a\": [1, -2, 0.5, null, true, \"x\\u0041\"], \"b\": {\"c\": {}}}\n";
        let ours = Value::Object(one_object(text.as_bytes()).unwrap());
        assert_eq!(ours, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn anything_else_is_refused() {
        refused("", "empty");
        refused(" \n", "empty");
        refused("[{}]", "an array");
        refused("\"{}\"", "a string");
        refused("{} {}", "trailing");
        refused("{}x", "trailing");
        refused("here: {}", "not one JSON value");
        refused("```json\n{}\n```", "not one JSON value");
        refused("\u{feff}{}", "not one JSON value");
        refused("{\"a\":1,\"a\":1}", "twice");
        refused("{\"a\":1,\"\\u0061\":2}", "twice");
        refused("{\"x\":{\"a\":1,\"a\":2}}", "twice");
        refused("{\"a\":1e999}", "out of range");
        refused("{\"a\":NaN}", "not one JSON value");
        assert!(one_object(b"{\"a\":\"\xff\"}").is_err());
        assert!(one_object(b"{}\0").is_err());
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
        assert!(one_object(nested(100).as_bytes()).is_ok());
        assert!(one_object(nested(MAX_DEPTH).as_bytes()).is_err());
        assert!(one_object(nested(200_000).as_bytes()).is_err());
    }
}
