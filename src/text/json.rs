//! Strict look at JSON from outside, before any parser sees it: one value, depth at most 128, no key twice.
//! It only judges; the text is then read by whoever needs it, and no two readers can disagree about it. Of what a model
//! says, exactly one object is taken.

use std::{borrow::Cow, collections::HashSet};

use serde_json::{Map, Value};

/// Deeper nesting than this is refused; recursive readers further on rely on it.
pub const MAX_DEPTH: usize = 128;

/// Why a body is not JSON that can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    #[error("the body is empty")]
    Empty,
    #[error("the body is a page, not JSON")]
    Html,
    #[error("the JSON ends in the middle")]
    Truncated,
    #[error("the body is not JSON")]
    Invalid,
    #[error("something stands after the JSON")]
    Trailing,
    #[error("a key stands twice in one object")]
    DuplicateKey,
    #[error("the JSON is nested deeper than 128")]
    TooDeep,
}

impl JsonFault {
    /// Stable short word for outcomes and signatures.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Html => "html",
            Self::Truncated => "truncated",
            Self::Invalid | Self::Trailing => "bad-json",
            Self::DuplicateKey => "duplicate-keys",
            Self::TooDeep => "too-deep",
        }
    }
}

/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// What comes after a byte order mark.
pub fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(MARK).unwrap_or(body)
}

/// Accepts exactly one JSON value. A byte order mark at the start is passed over.
pub fn check(body: &[u8]) -> Result<&str, JsonFault> {
    let body = without_mark(body);
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => return Err(JsonFault::Truncated),
        Err(_) => return Err(JsonFault::Invalid),
    };
    let mut scan = Scan { text, at: 0 };
    scan.space();
    match scan.peek() {
        None => return Err(JsonFault::Empty),
        Some(b'<') => return Err(JsonFault::Html),
        Some(_) => {}
    }
    scan.value(0)?;
    scan.space();
    if scan.peek().is_some() {
        return Err(JsonFault::Trailing);
    }
    Ok(text)
}

/// Checks, then reads into a value.
pub fn parse(body: &[u8]) -> Result<Value, JsonFault> {
    let text = check(body)?;
    serde_json::from_str(text).map_err(|_| JsonFault::Invalid)
}

/// Why a text is not the one JSON object that it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ObjectFault {
    #[error(transparent)]
    Json(#[from] JsonFault),
    #[error("a number is out of range")]
    Number,
    #[error("the JSON value is {0}, not an object")]
    NotObject(&'static str),
}

/// The one object that the bytes are, apart from white space at both ends: for text whose writer may want two readers to
/// see two things.
pub fn one_object(body: &[u8]) -> Result<Map<String, Value>, ObjectFault> {
    if body.starts_with(MARK) {
        return Err(JsonFault::Invalid.into());
    }
    match serde_json::from_str(check(body)?) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(ObjectFault::NotObject(kind(&other))),
        // All that the check lets through and the parser does not.
        Err(_) => Err(ObjectFault::Number),
    }
}

/// What a value is, in words.
pub const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, JsonFault> {
        let byte = self.peek().ok_or(JsonFault::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), JsonFault> {
        match self.peek().ok_or(JsonFault::Truncated)? {
            b'{' | b'[' if depth >= MAX_DEPTH => Err(JsonFault::TooDeep),
            b'{' => self.object(depth + 1),
            b'[' => self.array(depth + 1),
            b'"' => self.string().map(drop),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(JsonFault::Invalid),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), JsonFault> {
        self.at += 1;
        let mut keys: HashSet<Cow<'a, str>> = HashSet::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            if self.peek().ok_or(JsonFault::Truncated)? != b'"' {
                return Err(JsonFault::Invalid);
            }
            if !keys.insert(self.string()?) {
                return Err(JsonFault::DuplicateKey);
            }
            self.space();
            if self.next()? != b':' {
                return Err(JsonFault::Invalid);
            }
            self.space();
            self.value(depth)?;
            self.space();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(()),
                _ => return Err(JsonFault::Invalid),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), JsonFault> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            self.value(depth)?;
            self.space();
            match self.next()? {
                b',' => {}
                b']' => return Ok(()),
                _ => return Err(JsonFault::Invalid),
            }
        }
    }

    /// The decoded string; borrowed where nothing is escaped.
    fn string(&mut self) -> Result<Cow<'a, str>, JsonFault> {
        let open = self.at;
        self.at += 1;
        let mut escaped = false;
        loop {
            match self.next()? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.next()?;
                }
                0..=0x1f => return Err(JsonFault::Invalid),
                _ => {}
            }
        }
        if escaped {
            let quoted = &self.text[open..self.at];
            serde_json::from_str(quoted)
                .map(Cow::Owned)
                .map_err(|_| JsonFault::Invalid)
        } else {
            Ok(Cow::Borrowed(&self.text[open + 1..self.at - 1]))
        }
    }

    fn word(&mut self, word: &str) -> Result<(), JsonFault> {
        let rest = &self.text[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(())
        } else if word.starts_with(rest) {
            Err(JsonFault::Truncated)
        } else {
            Err(JsonFault::Invalid)
        }
    }

    fn number(&mut self) -> Result<(), JsonFault> {
        let open = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.at += 1;
        }
        if is_number(&self.text.as_bytes()[open..self.at]) {
            Ok(())
        } else if self.peek().is_none() {
            Err(JsonFault::Truncated)
        } else {
            Err(JsonFault::Invalid)
        }
    }
}

/// The number grammar of JSON, whatever the size.
fn is_number(text: &[u8]) -> bool {
    fn digits(text: &[u8]) -> (&[u8], bool) {
        let n = text.iter().take_while(|b| b.is_ascii_digit()).count();
        (&text[n..], n > 0)
    }
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let leading_zero = text.len() > 1 && text[0] == b'0' && text[1].is_ascii_digit();
    let (mut rest, whole) = digits(text);
    if !whole || leading_zero {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let (after, some) = digits(fraction);
        if !some {
            return false;
        }
        rest = after;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', after @ ..] => after,
            _ => exponent,
        };
        let (after, some) = digits(exponent);
        return some && after.is_empty();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_judged_before_they_are_read() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let at_limit = format!("{}{}", "[".repeat(128), "]".repeat(128));
        let cases: [(&str, Result<(), JsonFault>); 23] = [
            (r#"{"status":"ok"}"#, Ok(())),
            (" [1, -2.5e+3, true, null] \n", Ok(())),
            (r#"{"n":1e999999999,"m":123456789012345678901234567890}"#, Ok(())),
            (&at_limit, Ok(())),
            ("", Err(JsonFault::Empty)),
            (" \n", Err(JsonFault::Empty)),
            ("<!doctype html><title>ok</title>", Err(JsonFault::Html)),
            (r#"{"status":"down","status":"ok"}"#, Err(JsonFault::DuplicateKey)),
            (r#"{"a":1,"\u0061":2}"#, Err(JsonFault::DuplicateKey)),
            (r#"{"a":{"x":1,"x":2}}"#, Err(JsonFault::DuplicateKey)),
            (&deep, Err(JsonFault::TooDeep)),
            (r#"{"status":"o"#, Err(JsonFault::Truncated)),
            (r#"{"status":"ok""#, Err(JsonFault::Truncated)),
            ("[1,", Err(JsonFault::Truncated)),
            ("[tr", Err(JsonFault::Truncated)),
            ("[1] x", Err(JsonFault::Trailing)),
            ("{} {}", Err(JsonFault::Trailing)),
            ("{'a':1}", Err(JsonFault::Invalid)),
            ("[01]", Err(JsonFault::Invalid)),
            ("[1.]", Err(JsonFault::Invalid)),
            ("[NaN]", Err(JsonFault::Invalid)),
            ("healthy", Err(JsonFault::Invalid)),
            ("\"a\u{1}b\"", Err(JsonFault::Invalid)),
        ];
        for (body, expected) in cases {
            let name: String = body.chars().take(40).collect();
            assert_eq!(check(body.as_bytes()).map(drop), expected, "{name}");
        }
        assert_eq!(check(b"[\"\xff\"]"), Err(JsonFault::Invalid));
        assert!(check(b"\xef\xbb\xbf{}").is_ok());
    }

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
        refused("{} {}", "after the JSON");
        refused("{}x", "after the JSON");
        refused("here: {}", "not JSON");
        refused("```json\n{}\n```", "not JSON");
        refused("\u{feff}{}", "not JSON");
        refused("{\"a\":1,\"a\":1}", "twice");
        refused("{\"a\":1,\"\\u0061\":2}", "twice");
        refused("{\"x\":{\"a\":1,\"a\":2}}", "twice");
        refused("{\"a\":1e999}", "out of range");
        refused("{\"a\":NaN}", "not JSON");
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
