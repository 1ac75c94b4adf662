//! `key=value`: which values vary. In a line that is mostly such pairs every value does, except where the key names a
//! cause; elsewhere only those whose key says who, where or how much.

/// From so many pairs on a line is a record.
const RECORD: usize = 3;
/// So far a value is read.
const LONGEST_VALUE: usize = 512;

/// Keys whose value tells causes apart; sorted.
const NAMING: [&str; 51] = [
    "action",
    "cause",
    "class",
    "cmd",
    "code",
    "column",
    "command",
    "component",
    "constraint",
    "detail",
    "endpoint",
    "err",
    "errno",
    "error",
    "errors",
    "event",
    "exception",
    "exit",
    "field",
    "func",
    "function",
    "hint",
    "info",
    "job",
    "kind",
    "logger",
    "message",
    "method",
    "module",
    "msg",
    "op",
    "operation",
    "path",
    "queue",
    "reason",
    "relation",
    "result",
    "route",
    "rule",
    "service",
    "severity",
    "signal",
    "sqlstate",
    "state",
    "status",
    "table",
    "test",
    "topic",
    "type",
    "uri",
    "url",
];
/// Keys whose value varies wherever they stand; sorted.
const VARYING: [&str; 34] = [
    "addr",
    "address",
    "attempt",
    "client",
    "container",
    "date",
    "dst",
    "duration",
    "elapsed",
    "euid",
    "gid",
    "host",
    "hostname",
    "id",
    "instance",
    "ip",
    "login",
    "logname",
    "node",
    "peer",
    "pid",
    "pod",
    "remote",
    "rhost",
    "ruser",
    "size",
    "src",
    "thread",
    "tid",
    "time",
    "ts",
    "uid",
    "user",
    "username",
];

/// Whether the line is a list of pairs.
pub(super) fn is_record(line: &str) -> bool {
    let bytes = line.as_bytes();
    if !bytes.contains(&b'=') {
        return false;
    }
    let mut pairs = 0;
    for (at, _) in bytes.iter().enumerate().filter(|(_, b)| **b == b'=') {
        let compared = matches!(bytes.get(at + 1), Some(b'=' | b'>' | b'~'));
        let named = at.checked_sub(1).is_some_and(|at| is_key(bytes[at]));
        pairs += usize::from(named && !compared);
    }
    pairs >= RECORD
}

/// The length of the value behind `key=`, if it is one that varies.
pub(super) fn varying_value(key: &str, value: &str, record: bool) -> Option<usize> {
    let start = key.len() - key.bytes().rev().take_while(|b| is_key(*b)).count();
    let key = &key[start..];
    if !key.starts_with(|c: char| c.is_ascii_alphabetic()) || value.starts_with(['=', '>', '~']) {
        return None;
    }
    let mut buffer = [0; 10];
    let word = last_word(key, &mut buffer).unwrap_or_default();
    let varying = VARYING.binary_search(&word).is_ok() || (record && NAMING.binary_search(&word).is_err());
    if !varying {
        return None;
    }
    let length = length(value);
    let named = is_answer(&value[..length]) || is_account(&value[..length]);
    (length > 0 && !named).then_some(length)
}

/// Accounts that come with a system are no persons: whether one of them is meant tells cases apart.
fn is_account(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'', '`']);
    ["root", "admin", "administrator", "guest", "nobody", "daemon"].contains(&value)
}

/// Yes and no tell cases apart.
fn is_answer(value: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}

fn is_key(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || b == b'.'
}

/// The last word of a key in small letters: `exitCode`, `http.status`, `error_message`. None if it is longer than any
/// that is known.
fn last_word<'b>(key: &str, buffer: &'b mut [u8; 10]) -> Option<&'b str> {
    let bytes = key.as_bytes();
    let mut start = bytes.len();
    while start > 0 && bytes[start - 1].is_ascii_alphanumeric() {
        start -= 1;
        if bytes[start].is_ascii_uppercase() && start > 0 && bytes[start - 1].is_ascii_lowercase() {
            break;
        }
    }
    let word = buffer.get_mut(..bytes.len() - start)?;
    word.copy_from_slice(&bytes[start..]);
    word.make_ascii_lowercase();
    std::str::from_utf8(word).ok()
}

fn length(value: &str) -> usize {
    let bytes = &value.as_bytes()[..value.len().min(LONGEST_VALUE)];
    let word = || bytes.iter().take_while(|b| !b.is_ascii_whitespace()).count();
    let length = match bytes.first() {
        Some(quote @ (b'"' | b'\'' | b'`')) => match bytes[1..].iter().position(|b| b == quote) {
            Some(end) => end + 2,
            None => word(),
        },
        _ => bracketed(bytes).unwrap_or_else(word),
    };
    value.ceil_char_boundary(length)
}

/// Up to a space or comma that stands in no bracket of this value.
fn bracketed(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, b) in bytes.iter().enumerate() {
        match b {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return Some(at),
            },
            b',' | b';' if depth == 0 => return Some(at),
            b if b.is_ascii_whitespace() && depth == 0 => return Some(at),
            _ => {}
        }
    }
    (depth == 0).then_some(bytes.len())
}
