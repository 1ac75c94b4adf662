//! Lines that are records: JSON objects and `key=value` pairs. Gives what they say, their level and their time.

use std::{borrow::Cow, fmt};

use chrono::{DateTime, Utc};
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{Level, time::Times};

/// What a record says.
#[derive(Debug, Default)]
pub(super) struct Record<'a> {
    pub(super) level: Option<Level>,
    pub(super) time: Option<DateTime<Utc>>,
    pub(super) message: Option<Cow<'a, str>>,
    /// An error's own words, where they are a field of their own.
    pub(super) error: Option<Cow<'a, str>>,
    pub(super) stack: Option<Cow<'a, str>>,
    /// The message is a line as a container wrote it: it has framing of its own.
    pub(super) wrapped: bool,
}

/// None where the line is no record.
pub(super) fn read<'a>(line: &'a str, times: &Times<'_>) -> Option<Record<'a>> {
    let line = line.trim();
    if line.starts_with('{') && line.ends_with('}') {
        let fields: Fields<'_> = serde_json::from_str(line).ok()?;
        return Some(fields.record(times));
    }
    pairs(line, times)
}

/// The fields of an object that say something about a cause. Of several of one kind the first counts.
#[derive(Default)]
struct Fields<'a> {
    level: Option<Value<'a>>,
    time: Option<Written<'a>>,
    message: Option<Cow<'a, str>>,
    /// Of an event log: the event's name, which is the message where there is no other.
    event: Option<Cow<'a, str>>,
    wrapped: bool,
    error: Option<Cow<'a, str>>,
    stack: Option<Cow<'a, str>>,
    /// Of an error: its type.
    kind: Option<Cow<'a, str>>,
}

enum Value<'a> {
    Text(Cow<'a, str>),
    Number(f64),
    Fields(Box<Fields<'a>>),
    Other,
}

/// A time as it stands in the record.
enum Written<'a> {
    Json(&'a RawValue),
    Text(Cow<'a, str>),
}

impl Written<'_> {
    fn read(&self, times: &Times<'_>) -> Option<DateTime<Utc>> {
        let raw = match self {
            Self::Text(text) => return times.text(text),
            Self::Json(raw) => raw.get(),
        };
        match raw.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(text) if !text.contains('\\') => times.text(text),
            Some(_) => times.text(&serde_json::from_str::<String>(raw).ok()?),
            None if raw.starts_with(['{', '[']) => None,
            None => times.text(raw),
        }
    }
}

impl<'a> Fields<'a> {
    fn level(&self) -> Option<Level> {
        match self.level.as_ref()? {
            Value::Text(text) => Level::parse(text).or_else(|| Level::of_number(text.parse().ok()?)),
            Value::Number(number) => Level::of_number(*number),
            Value::Fields(_) | Value::Other => None,
        }
    }

    fn record(self, times: &Times<'_>) -> Record<'a> {
        Record {
            level: self.level(),
            time: self.time.and_then(|time| time.read(times)),
            message: self.message.or(self.event),
            error: self.error,
            stack: self.stack,
            wrapped: self.wrapped,
        }
    }

    /// Of several values of one kind the first counts.
    fn put(&mut self, key: Key, value: Value<'a>) {
        match (key, value) {
            (Key::Level, value) => {
                self.level.get_or_insert(value);
            }
            (Key::Time, Value::Text(text)) => {
                self.time.get_or_insert(Written::Text(text));
            }
            (Key::Message, Value::Text(text)) => {
                self.message.get_or_insert(text);
            }
            (Key::Event, Value::Text(text)) => {
                self.event.get_or_insert(text);
            }
            (Key::Log, Value::Text(text)) => {
                self.message = Some(text);
                self.wrapped = true;
            }
            (Key::Error, value) => self.error(value),
            // The id of a trace is none.
            (Key::Stack, Value::Text(text)) if text.contains('\n') => {
                self.stack.get_or_insert(text);
            }
            (Key::Inner, Value::Fields(inner)) => {
                self.message = self.message.take().or(inner.message);
                self.error = self.error.take().or(inner.error);
                self.stack = self.stack.take().or(inner.stack);
            }
            (Key::Kind, Value::Text(text)) => {
                self.kind.get_or_insert(text);
            }
            (Key::Time | Key::Message | Key::Event | Key::Log | Key::Stack | Key::Inner | Key::Kind, _) => {}
        }
    }

    fn error(&mut self, value: Value<'a>) {
        match value {
            Value::Text(text) if text.contains('\n') && self.stack.is_none() => self.stack = Some(text),
            Value::Text(text) if !text.is_empty() => {
                self.error.get_or_insert(text);
            }
            Value::Fields(inner) => {
                let inner = *inner;
                self.stack = self.stack.take().or(inner.stack);
                let text = match (inner.kind, inner.message.or(inner.event).or(inner.error)) {
                    (Some(kind), Some(message)) if !message.contains(&*kind) => {
                        Some(format!("{kind}: {message}").into())
                    }
                    (_, Some(message)) => Some(message),
                    (kind, None) => kind,
                };
                self.error = self.error.take().or(text);
            }
            Value::Text(_) | Value::Number(_) | Value::Other => {}
        }
    }
}

/// What a field is about.
#[derive(Clone, Copy)]
enum Key {
    Level,
    Time,
    Message,
    Event,
    /// A whole line, as a container wrote it.
    Log,
    Error,
    Stack,
    /// An object with the fields proper.
    Inner,
    Kind,
}

impl Key {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "level" | "lvl" | "severity" | "loglevel" | "levelname" | "log.level" | "log_level" | "severity_text" => {
                Self::Level
            }
            "time" | "timestamp" | "ts" | "@timestamp" | "date" | "datetime" | "asctime" | "timestampInMs" => {
                Self::Time
            }
            "message" | "msg" | "textPayload" | "short_message" => Self::Message,
            "event" | "text" | "body" => Self::Event,
            "log" => Self::Log,
            "err" | "error" | "exception" | "exc" | "exc_info" | "error.message" | "cause" | "reason" => Self::Error,
            "stack" | "stacktrace" | "stack_trace" | "error.stack" | "error.stack_trace" | "traceback" | "trace" => {
                Self::Stack
            }
            "fields" | "jsonPayload" => Self::Inner,
            "type" | "name" | "kind" | "code" => Self::Kind,
            _ => return None,
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_map(Reader)? {
            Value::Fields(fields) => Ok(*fields),
            Value::Text(_) | Value::Number(_) | Value::Other => Err(D::Error::custom("no object")),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Value::Number(number))
    }

    #[expect(clippy::cast_precision_loss, reason = "times and levels fit")]
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Value::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Value::Other)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = map.next_key::<Value<'de>>()? {
            let key = match &name {
                Value::Text(name) => Key::of(name),
                Value::Number(_) | Value::Fields(_) | Value::Other => None,
            };
            match key {
                Some(Key::Time) => {
                    let time = Written::Json(map.next_value()?);
                    fields.time.get_or_insert(time);
                }
                Some(key) => fields.put(key, map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Value::Fields(Box::new(fields)))
    }
}

/// `level=error msg="…" err="…"`; a line without a level or message of this form is no record.
fn pairs<'a>(line: &'a str, times: &Times<'_>) -> Option<Record<'a>> {
    let keyed = |key: &&str| line.contains(*key);
    if !line.as_bytes().contains(&b'=') || !["level=", "lvl=", "severity=", "msg="].iter().any(keyed) {
        return None;
    }
    let mut fields = Fields::default();
    let mut rest = line;
    while let Some(equals) = rest.find('=') {
        let name = rest[..equals].rsplit([' ', '\t', ',']).next().unwrap_or_default();
        let (value, behind) = value(&rest[equals + 1..]);
        if let Some(key) = Key::of(name) {
            fields.put(key, Value::Text(value));
        }
        rest = behind;
    }
    let tells = fields.message.is_some() || fields.event.is_some() || fields.level().is_some();
    tells.then(|| fields.record(times))
}

/// The value at the start of a text, and what stands behind it.
fn value(text: &str) -> (Cow<'_, str>, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t']).unwrap_or(text.len());
        return (Cow::Borrowed(&text[..end]), &text[end..]);
    };
    let mut escaped = false;
    let end = quoted.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    let Some(end) = end else {
        return (Cow::Borrowed(quoted), "");
    };
    let (inner, behind) = (&quoted[..end], &quoted[end + 1..]);
    if inner.contains('\\') {
        let plain = inner.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
        return (Cow::Owned(plain), behind);
    }
    (Cow::Borrowed(inner), behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, level: Option<Level>, time: bool, message: &str, error: &str, stack: &str) {
        let now = "2026-11-29T12:00:00Z".parse().unwrap();
        let record = read(line, &Times::new(line, now)).unwrap();
        let text = |part: &Option<Cow<'_, str>>| part.clone().unwrap_or_default().into_owned();
        let found = (
            record.level,
            text(&record.message),
            text(&record.error),
            text(&record.stack),
        );
        assert_eq!(
            found,
            (level, message.to_owned(), error.to_owned(), stack.to_owned()),
            "{line}"
        );
        let want = time.then(|| "2026-11-29T03:00:00Z".parse().unwrap());
        assert_eq!(record.time, want, "{line}");
    }

    #[test]
    fn records_of_many_loggers_are_read() {
        let error = Some(Level::Error);
        check(
            r#"{"level":50,"time":1795921200000,"pid":7,"hostname":"h","err":{"type":"TypeError","message":"x","stack":"TypeError: x\n    at f (a.js:1:2)"},"msg":"checkout failed"}"#,
            error,
            true,
            "checkout failed",
            "TypeError: x",
            "TypeError: x\n    at f (a.js:1:2)",
        );
        check(
            r#"{"name":"api","hostname":"h","pid":7,"level":60,"msg":"boom","time":"2026-11-29T03:00:00.000Z","v":0}"#,
            Some(Level::Fatal),
            true,
            "boom",
            "",
            "",
        );
        check(
            r#"{"event":"boom","exception":"Traceback (most recent call last):\n  x","level":"error","timestamp":"2026-11-29T03:00:00Z"}"#,
            error,
            true,
            "boom",
            "",
            "Traceback (most recent call last):\n  x",
        );
        check(
            r#"{"timestamp":"2026-11-29T03:00:00Z","level":"ERROR","fields":{"message":"refresh failed","error":"dns"},"target":"api::feeds"}"#,
            error,
            true,
            "refresh failed",
            "dns",
            "",
        );
        check(
            r#"{"message":"boom","severity":"warning","timestampInMs":1795921200000}"#,
            Some(Level::Warn),
            true,
            "boom",
            "",
            "",
        );
        check(
            r#"{"log":"boom\n","stream":"stderr","time":"2026-11-29T03:00:00Z"}"#,
            None,
            true,
            "boom\n",
            "",
            "",
        );
        check(
            r#"{"level":"error","ts":1795921200.0,"msg":"a","msg":"b","error":"c","trace":"4f5e"}"#,
            error,
            true,
            "a",
            "c",
            "",
        );
        check(
            r#"time=2026-11-29T03:00:00Z level=error msg="it \"broke\"" err="no such host" n=3"#,
            error,
            true,
            "it \"broke\"",
            "no such host",
            "",
        );
        check(
            "ts=2026-11-29T03:00:00Z lvl=warn msg=short",
            Some(Level::Warn),
            true,
            "short",
            "",
            "",
        );
    }

    #[test]
    fn what_is_no_record_is_none() {
        let now = "2026-11-29T12:00:00Z".parse().unwrap();
        for line in [
            "",
            "{",
            "{}}",
            "{broken}",
            "a=b",
            "GET /x?level=3",
            "[1]",
            "levels = many",
            "level=high tide",
        ] {
            let record = read(line, &Times::new(line, now));
            let empty = record.as_ref().is_none_or(|r| r.level.is_none() && r.message.is_none());
            assert!(empty, "{line}: {record:?}");
        }
        // However deep, it costs no stack.
        let deep = format!(
            "{{\"a\":{}1{},\"msg\":\"x\"}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert!(read(&deep, &Times::new(&deep, now)).is_some());
        let deep = format!("{{\"err\":{}1{}}}", "{\"err\":".repeat(10_000), "}".repeat(10_000));
        assert!(read(&deep, &Times::new(&deep, now)).is_none());
    }
}
