//! Values next to a name that says "secret": `*_TOKEN=…`, `"password": "…"`, `Authorization: Bearer …`, cookies,
//! `--token …`. Placeholders, code and prose stay. Hand-written scanning: one pass, no regular expression.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::{Hit, MARK};

static TRIGGERS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build([
            "token",
            "secret",
            "passw",
            "passphrase",
            "pwd",
            "key",
            "credential",
            "authorization",
            "cookie",
            "sess",
            "bearer ",
        ])
        .ok()
});

/// Names before `key` that make it no secret.
const HARMLESS_KEYS: [&str; 28] = [
    "primary",
    "foreign",
    "unique",
    "cache",
    "partition",
    "sort",
    "public",
    "pub",
    "idempotency",
    "routing",
    "group",
    "object",
    "dedup",
    "restore",
    "shard",
    "hash",
    "range",
    "composite",
    "map",
    "index",
    "translation",
    "row",
    "storage",
    "i18n",
    "event",
    "duplicate",
    "lock",
    "s3",
];
/// Names before `key` that make it a secret in any spelling.
const SECRET_KEYS: [&str; 17] = [
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "signing",
    "encryption",
    "master",
    "license",
    "service",
    "app",
    "client",
    "deploy",
    "webhook",
    "account",
    "admin",
    "role",
];

pub(super) fn find(text: &str, hits: &mut Vec<Hit>) {
    let Some(triggers) = &*TRIGGERS else { return };
    let mut done = 0;
    for found in triggers.find_iter(text) {
        if found.start() < done {
            continue;
        }
        let scan = Scan { text };
        if text.as_bytes()[found.end() - 1] == b' ' {
            done = scan.bearer(found.end(), hits).unwrap_or(done);
            continue;
        }
        let (start, end) = scan.name_around(found.start(), found.end(), done);
        done = end;
        let Some(name) = Name::of(&text[start..end]) else {
            continue;
        };
        let flag = text[..start].ends_with("--") || text[start..end].starts_with("--");
        if let Some(reached) = scan.after_name(&name, end, flag, hits) {
            done = done.max(reached);
        }
    }
}

/// What kind of value a name announces.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    Authorization,
    Cookie,
    Password,
    Other,
}

impl Name {
    fn of(identifier: &str) -> Option<Self> {
        let words = words(identifier);
        let last = words.last()?.as_str();
        let before = words.len().checked_sub(2).map_or("", |n| words[n].as_str());
        let ends = |ends: &[&str]| ends.iter().any(|end| last.ends_with(end));
        if last == "authorization" {
            Some(Self::Authorization)
        } else if ends(&["cookie"]) {
            Some(Self::Cookie)
        } else if ends(&["password", "passwd", "passwort", "passphrase", "pwd"]) {
            Some(Self::Password)
        } else if ends(&[
            "token",
            "secret",
            "apikey",
            "secretkey",
            "accesskey",
            "privatekey",
            "credential",
            "credentials",
        ]) || ends(&["sessid", "sessionid"])
            || (last == "id" && before == "session")
            || (last == "key" && secret_key(identifier, before))
        {
            Some(Self::Other)
        } else {
            None
        }
    }
}

fn secret_key(identifier: &str, before: &str) -> bool {
    let constant = identifier.contains('_') && !identifier.bytes().any(|b| b.is_ascii_lowercase());
    SECRET_KEYS.contains(&before) || (constant && !HARMLESS_KEYS.contains(&before))
}

/// Lower-case words of `API_KEY_2`, `secretAccessKey`, `x-api-key`; a number at the end does not count.
fn words(identifier: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = '_';
    for c in identifier.chars() {
        if c == '_' || c == '-' {
            previous = c;
            continue;
        }
        let begins = matches!(previous, '_' | '-') || (previous.is_ascii_lowercase() && c.is_ascii_uppercase());
        if begins || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
        previous = c;
    }
    while words.last().is_some_and(|w| w.bytes().all(|b| b.is_ascii_digit())) {
        words.pop();
    }
    words
}

struct Scan<'a> {
    text: &'a str,
}

/// A value as it stands in the text.
struct Value {
    start: usize,
    end: usize,
    quoted: bool,
}

impl Scan<'_> {
    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    fn at(&self, at: usize) -> u8 {
        self.bytes().get(at).copied().unwrap_or(0)
    }

    fn skip(&self, mut at: usize, wanted: impl Fn(u8) -> bool) -> usize {
        while at < self.text.len() && wanted(self.bytes()[at]) {
            at += 1;
        }
        at
    }

    fn name_around(&self, mut start: usize, end: usize, floor: usize) -> (usize, usize) {
        let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        while start > floor && part(self.bytes()[start - 1]) {
            start -= 1;
        }
        (start, self.skip(end, part))
    }

    /// From behind the name to its value; gives where scanning goes on when a value was taken.
    fn after_name(&self, name: &Name, end: usize, flag: bool, hits: &mut Vec<Hit>) -> Option<usize> {
        let closed = self.skip(end, |b| matches!(b, b'\\' | b'"' | b'\'' | b'`' | b']'));
        let spaced = self.skip(closed, |b| b == b' ' || b == b'\t');
        let (after, tight) = match (self.at(spaced), self.at(spaced + 1)) {
            (b':', b':') | (b'=', b'=' | b'~') => return None,
            (b':', b'=') | (b'=', b'>') => (spaced + 2, false),
            (b'=', _) => (spaced + 1, spaced == closed),
            (b':', _) => (spaced + 1, false),
            (b',', _) if flag && closed > end => (spaced + 1, true),
            _ if flag && spaced > closed && closed == end => (spaced, true),
            _ => return None,
        };
        if *name == Name::Cookie {
            return self.cookies(after, hits);
        }
        self.value_from(name, after, tight, hits)
    }

    fn value_from(&self, name: &Name, from: usize, tight: bool, hits: &mut Vec<Hit>) -> Option<usize> {
        let mut value = self.value(from);
        if self.text[value.start..value.end].len() <= 12 && is_scheme(&self.text[value.start..value.end]) {
            let next = self.skip(value.end, |b| b == b' ');
            if next > value.end {
                let end = self.value_end(next, value.quoted);
                value = Value {
                    start: next,
                    end,
                    quoted: true,
                };
            }
        } else if value.quoted && *name == Name::Authorization {
            // `"Authorization": "Bearer abc"`: the scheme stays, it is no secret.
            let text = &self.text[value.start..value.end];
            if let Some((scheme, _)) = text.split_once(' ').filter(|(s, _)| is_scheme(s)) {
                value.start = self.skip(value.start + scheme.len(), |b| b == b' ');
            }
        }
        let text = &self.text[value.start..value.end];
        if is_secret(text, value.quoted, tight, name) {
            hits.push(Hit {
                start: value.start,
                end: value.end,
                kind: "key",
            });
            return Some(value.end);
        }
        // `password: str = "…"`: behind a type stands the value.
        let next = self.skip(value.end, |b| b == b' ');
        if !value.quoted && text.len() < 24 && next > value.end && self.at(next) == b'=' && self.at(next + 1) == b' ' {
            return self.value_from(name, next + 1, false, hits);
        }
        None
    }

    fn value(&self, from: usize) -> Value {
        let from = self.skip(from, |b| b == b' ' || b == b'\t');
        let prefix =
            usize::from(matches!(self.at(from), b'b' | b'u' | b'r') && matches!(self.at(from + 1), b'"' | b'\''));
        let escaped = self.skip(from + prefix, |b| b == b'\\');
        let quote = self.at(escaped);
        if matches!(quote, b'"' | b'\'' | b'`') {
            let start = escaped + 1;
            let level = escaped - from - prefix;
            return Value {
                start,
                end: self.quoted_end(start, quote, level),
                quoted: true,
            };
        }
        Value {
            start: from,
            end: self.value_end(from, false),
            quoted: false,
        }
    }

    /// End of a quoted value whose quotes stand behind `level` backslashes.
    fn quoted_end(&self, start: usize, quote: u8, level: usize) -> usize {
        let mut at = start;
        let mut backslashes = 0;
        while at < self.text.len() {
            match self.bytes()[at] {
                b'\n' => return at,
                b'\\' => backslashes += 1,
                b if b == quote && (backslashes == level || (level > 0 && backslashes > 0)) => {
                    return at - backslashes;
                }
                b if b == quote && level == 0 && backslashes % 2 == 0 => return at,
                _ => backslashes = 0,
            }
            at += 1;
        }
        at
    }

    fn value_end(&self, start: usize, spaces_end: bool) -> usize {
        let _ = spaces_end;
        self.skip(start, |b| {
            !(b.is_ascii_whitespace()
                || matches!(
                    b,
                    b'"' | b'\'' | b'`' | b'&' | b',' | b';' | b')' | b'<' | b'>' | b'|' | b'}' | b'\\'
                ))
        })
    }

    /// `a=1; session=…; Path=/`: values that can carry a session go, names and attributes stay.
    fn cookies(&self, from: usize, hits: &mut Vec<Hit>) -> Option<usize> {
        let mut at = self.skip(from, |b| matches!(b, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b'['));
        let mut reached = None;
        loop {
            let start = at;
            at = self.skip(at, |b| b.is_ascii_alphanumeric() || b"_-.%$*~!".contains(&b));
            if at == start || self.at(at) != b'=' {
                return reached;
            }
            let name = &self.text[start..at];
            let value = at + 1;
            at = self.skip(value, |b| {
                !(b.is_ascii_whitespace() || matches!(b, b';' | b'"' | b'\'' | b'\\' | b','))
            });
            if cookie_is_secret(name, &self.text[value..at]) {
                hits.push(Hit {
                    start: value,
                    end: at,
                    kind: "cookie",
                });
            }
            reached = Some(at);
            if self.at(at) != b';' {
                return reached;
            }
            at = self.skip(at + 1, |b| b == b' ');
        }
    }

    /// `Bearer …` without a name before it.
    fn bearer(&self, from: usize, hits: &mut Vec<Hit>) -> Option<usize> {
        let start = self.skip(from, |b| b == b' ');
        let end = self.value_end(start, true);
        let value = &self.text[start..end];
        let opaque = value.len() >= 16 && value.bytes().any(|b| b.is_ascii_digit());
        if opaque && !is_placeholder(value) {
            hits.push(Hit {
                start,
                end,
                kind: "bearer",
            });
            return Some(end);
        }
        None
    }
}

fn is_scheme(word: &str) -> bool {
    const SCHEMES: [&str; 9] = [
        "bearer",
        "basic",
        "token",
        "digest",
        "apikey",
        "negotiate",
        "bot",
        "dpop",
        "key",
    ];
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn cookie_is_secret(name: &str, value: &str) -> bool {
    const ATTRIBUTES: [&str; 8] = [
        "path", "max-age", "expires", "domain", "samesite", "priority", "version", "theme",
    ];
    const SESSIONS: [&str; 8] = ["sess", "sid", "auth", "token", "csrf", "xsrf", "jwt", "secret"];
    let name = name.to_ascii_lowercase();
    if ATTRIBUTES.contains(&name.as_str()) || is_placeholder(value) {
        return false;
    }
    (value.len() >= 4 && SESSIONS.iter().any(|s| name.contains(s))) || value.len() >= 12
}

fn is_placeholder(value: &str) -> bool {
    const WORDS: [&str; 27] = [
        "null",
        "none",
        "nil",
        "undefined",
        "true",
        "false",
        "required",
        "missing",
        "invalid",
        "expired",
        "string",
        "number",
        "changeme",
        "example",
        "placeholder",
        "redacted",
        "[redacted]",
        "<redacted>",
        "hidden",
        "empty",
        "unset",
        "password",
        "secret",
        "token",
        "object",
        "[object",
        "nan",
    ];
    let lower = value.to_ascii_lowercase();
    let mut bytes = value.bytes();
    let same = bytes.next().is_none_or(|first| bytes.all(|b| b == first));
    same || WORDS.contains(&lower.as_str())
        || value.contains(MARK)
        || lower.starts_with("[redacted")
        || lower.starts_with("your")
        || ["${", "$(", "{{", "<", "%(", "%s", "***", "...", "xxxx", "-----BEGIN"]
            .iter()
            .any(|p| value.starts_with(p))
        || (value.starts_with('$') && value[1..].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

fn is_secret(value: &str, quoted: bool, tight: bool, name: &Name) -> bool {
    let least = if *name == Name::Password { 3 } else { 6 };
    if value.len() < least || is_placeholder(value) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if digits == value.len() && digits < 10 && *name != Name::Password {
        return false;
    }
    if *name == Name::Password && value.starts_with('/') {
        return false;
    }
    if quoted {
        // A sentence about the value is not the value.
        return value.matches(' ').count() < 2 || digits * 4 > value.len();
    }
    if looks_like_code(value) {
        return false;
    }
    let prose = value
        .bytes()
        .all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'\'' | b'.' | b':' | b'!' | b'?'))
        || (digits == 0 && value.bytes().skip(1).all(|b| b.is_ascii_lowercase()));
    !prose || (tight && value.bytes().all(|b| b.is_ascii_lowercase()))
}

/// `os.environ["X"]`, `config.secret`, `&str`, `getToken(…)`.
fn looks_like_code(value: &str) -> bool {
    if value.contains('(') || value.starts_with(['&', '[', '{', '@', '(']) {
        return true;
    }
    let head = value.split(['[', '?', '!']).next().unwrap_or_default();
    let path = head.split(['.', ':']).filter(|s| !s.is_empty()).collect::<Vec<_>>();
    path.len() >= 2
        && path
            .iter()
            .all(|segment| segment.len() <= 24 && segment.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Redactor;

    fn redact(text: &str) -> String {
        Redactor::default().redact(text)
    }

    #[test]
    fn names_are_read_by_their_last_word() {
        for (name, secret) in [
            ("API_KEY", true),
            ("secretAccessKey", true),
            ("x-api-key", true),
            ("TOKEN_2", true),
            ("dbPassword", true),
            ("sentryAuthToken", true),
            ("PGPASSWORD", true),
            ("primary_key", false),
            ("PRIMARY_KEY", false),
            ("max_tokens", false),
            ("token_type", false),
            ("private_key_id", false),
            ("key", false),
            ("cacheKey", false),
            ("STRIPE_KEY", true),
            ("monkey", false),
        ] {
            assert_eq!(Name::of(name).is_some(), secret, "{name}");
        }
    }

    #[test]
    fn values_go_and_their_surroundings_stay() {
        for (text, want) in [
            ("DB_PASSWORD=hunter2&retry=1", "DB_PASSWORD=[redacted:key]&retry=1"),
            (
                r#"{"api_key":"fake0fake","n":1}"#,
                r#"{"api_key":"[redacted:key]","n":1}"#,
            ),
            (
                r#"msg=\"authToken\\":\\"fake0fake0\\"\" end"#,
                r#"msg=\"authToken\\":\\"[redacted:key]\\"\" end"#,
            ),
            (
                "Authorization: Bearer fake0fake0 done",
                "Authorization: Bearer [redacted:key] done",
            ),
            (
                r#""authorization":"Basic ZmFrZTpmYWtl""#,
                r#""authorization":"Basic [redacted:key]""#,
            ),
            (
                "cookie: theme=dark; session=fake0fake; Path=/",
                "cookie: theme=dark; session=[redacted:cookie]; Path=/",
            ),
            ("run --token fake0fake0 -v", "run --token [redacted:key] -v"),
            (r#"["--password","fake pw"]"#, r#"["--password","[redacted:key]"]"#),
            ("password: str = \"fake0fake\"", "password: str = \"[redacted:key]\""),
            ("sent bearer fake0fake0fake0fake0", "sent bearer [redacted:bearer]"),
        ] {
            assert_eq!(redact(text), want);
        }
    }

    #[test]
    fn placeholders_code_and_prose_stay() {
        for text in [
            "password = os.environ[\"DB_PASSWORD\"]",
            "let secret: &str = config.secret.as_deref().unwrap_or_default();",
            "token: ${{ secrets.DEPLOY_TOKEN }}",
            "API_KEY=${API_KEY}",
            "password=[REDACTED]",
            "{\"password\":null,\"token\":\"\"}",
            "the secret of a good password: length",
            "Unexpected token: export",
            "max_tokens=4096",
            "Authorization: Bearer ***",
            "error: api_key is missing",
            "PWD=/home/app",
            "{\"password\": \"must be at least eight characters\"}",
            "std::token::Secret",
            "token == other_token0",
            "csrf_token=undefined",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn hostile_repetition_is_linear() {
        for piece in [
            "token=",
            "cookie: a=b;",
            "\"token\":\"",
            "bearer ",
            "tokentoken",
            "password:\\\\\\\"",
        ] {
            let text = piece.repeat(60_000);
            assert!(!redact(&text).is_empty());
        }
    }
}
