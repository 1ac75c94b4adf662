//! Values next to a name that says "secret": `*_TOKEN=…`, `"password": "…"`, `Authorization: Bearer …`, cookies,
//! `--token …`. Placeholders, code and prose stay. Hand-written scanning: one pass, no regular expression.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::{
    Hit,
    names::Name,
    values::{cookie_is_secret, is_chosen, is_mixed, is_placeholder, is_random, is_scheme, is_secret},
};

/// Parts of names that announce a secret, in small letters.
pub(super) const WORDS: [&str; 16] = [
    "token",
    "secret",
    "pass",
    "pw",
    "key",
    "credential",
    "authorization",
    "cookie",
    "sess",
    "sig",
    "bearer ",
    "mnemonic",
    "phrase",
    "_pat",
    "?code=",
    "&code=",
];

static TRIGGERS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| super::finder(WORDS, true));

/// So much of a value is judged; a longer one goes with it.
const LONGEST_JUDGED: usize = 256;

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
        if text.as_bytes()[found.end() - 1] == b'=' {
            done = scan.code(found.end(), hits).unwrap_or(done);
            continue;
        }
        let (start, end) = scan.name_around(found.start(), found.end(), done);
        done = end;
        let Some(name) = Name::of(&text[start..end]).or_else(|| scan.spoken_name(start, end)) else {
            continue;
        };
        let place = Place {
            flag: text[..start].ends_with("--") || text[start..end].starts_with("--"),
            line_start: scan.starts_line(start),
            before: start.checked_sub(1).map_or(b' ', |at| text.as_bytes()[at]),
        };
        let parameter = matches!(place.before, b'?' | b'&') || text[start..end].len() > "signature".len();
        if name == Name::Signature && !parameter {
            continue;
        }
        if let Some(reached) = scan.after_name(&name, end, &place, hits) {
            done = done.max(reached);
        }
    }
}

struct Scan<'a> {
    text: &'a str,
}

/// Where a name stands.
struct Place {
    /// Behind two dashes: an option of a command.
    flag: bool,
    /// Nothing but white space, dashes and opening marks before it on its line.
    line_start: bool,
    /// The character before it: of a parameter of a URL `?` or `&`, of an element of XML `<`.
    before: u8,
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
    fn after_name(&self, name: &Name, end: usize, place: &Place, hits: &mut Vec<Hit>) -> Option<usize> {
        let closed = self.skip(end, |b| matches!(b, b'\\' | b'"' | b'\'' | b'`' | b']'));
        let spaced = self.skip(closed, |b| b == b' ' || b == b'\t');
        let (after, tight) = match (self.at(spaced), self.at(spaced + 1)) {
            // An element of XML.
            (b'>', _) if place.before == b'<' && closed == end => (spaced + 1, true),
            (b':', b':') | (b'=', b'=' | b'~') => return None,
            // A part of a name with colons between its parts.
            (b':', _) if place.before == b':' => return None,
            (b':', b'=') | (b'=', b'>') => (spaced + 2, false),
            (b'=', _) => (spaced + 1, spaced == closed),
            (b'%', b'3') if matches!(self.at(spaced + 2), b'D' | b'd') && spaced == end => (spaced + 3, true),
            // In a settings file the value ends the line; in prose it does not begin it.
            (b':', _) => (spaced + 1, place.line_start && self.one_word_left(spaced + 1)),
            (b',', _) if place.flag && closed > end => (spaced + 1, true),
            // `setenv("API_TOKEN", "…")`.
            (b',', _) if closed > end && matches!(place.before, b'"' | b'\'') => {
                let quoted = self.value(spaced + 1).quoted;
                quoted.then_some((spaced + 1, false))?
            }
            _ if place.flag && spaced > closed && closed == end => (spaced, true),
            // `token 5fG8…`, `password Tr0ub4dor`: behind a word alone only what can be nothing else.
            _ if spaced > closed && matches!(name, Name::Other | Name::Password) => {
                let value = self.value(spaced);
                let text = &self.text[value.start..value.end];
                let mixed = || value.quoted && is_mixed(text);
                let chosen = || *name == Name::Password && (is_chosen(text) || mixed());
                let random = || is_random(text, 24) || (mixed() && text.len() >= 24);
                (random() || chosen()).then_some((spaced, true))?
            }
            _ => return None,
        };
        if *name == Name::Cookie {
            return self.cookies(after, hits);
        }
        self.value_from(name, after, tight, hits).or_else(|| {
            // `password: str = "…"`: behind a type stands the value.
            let kind = self.value(after);
            let next = self.skip(kind.end, |b| b == b' ');
            let typed = !kind.quoted && kind.end - kind.start < 24 && next > kind.end;
            let assigned = self.at(next) == b'=' && self.at(next + 1) == b' ';
            (typed && assigned).then(|| self.value_from(name, next + 1, false, hits))?
        })
    }

    fn value_from(&self, name: &Name, from: usize, tight: bool, hits: &mut Vec<Hit>) -> Option<usize> {
        let mut value = self.value(from);
        if *name == Name::Authorization
            && let Some(end) = self.proof(value.start, hits)
        {
            return Some(end);
        }
        let first = &self.text[value.start..value.end];
        if (first.len() <= 12 && is_scheme(first)) || (*name == Name::Authorization && self.is_rare_scheme(&value)) {
            let next = self.skip(value.end, |b| b == b' ');
            if next > value.end {
                let end = self.value_end(next);
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
        if !is_secret(text, value.quoted, tight, name) {
            return None;
        }
        // Behind an ampersand begins a parameter only with a name and a sign.
        while tight && !value.quoted && self.at(value.end) == b'&' {
            let next = self.value_end(value.end + 1);
            if self.text[value.end + 1..next].contains('=') {
                break;
            }
            value.end = next;
        }
        if *name == Name::Password && tight && !value.quoted {
            value.end = self.end_in_settings(value.end);
        }
        if value.end - value.start >= LONGEST_JUDGED - 4 {
            value.end = self.skip(value.end, |b| !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\''));
        }
        hits.push(Hit {
            start: value.start,
            end: value.end,
            kind: "key",
        });
        Some(value.end)
    }

    /// `Password=a b;Encrypt=true`: in the settings of a connection a value goes up to the semicolon before the next setting.
    fn end_in_settings(&self, end: usize) -> usize {
        let most = self.text.floor_char_boundary(end.saturating_add(64));
        let Some((rest, next)) = self.text[end..most].split_once(';') else {
            return end;
        };
        let setting = next.split('=').next().unwrap_or_default();
        let named = next.len() > setting.len()
            && !setting.trim().is_empty()
            && setting
                .bytes()
                .all(|b| b.is_ascii_alphabetic() || b == b' ' || b == b'_');
        let plain = rest.starts_with(' ') && !rest.contains(['=', '"', '\'', '\n', ',']);
        if named && plain { end + rest.len() } else { end }
    }

    /// `Splunk 5d1c…`: whatever the word, what follows it is the credential if it is long and no word.
    fn is_rare_scheme(&self, first: &Value) -> bool {
        let word = &self.text[first.start..first.end];
        let next = self.skip(first.end, |b| b == b' ');
        let credential = &self.text[next..self.value_end(next)];
        let plain = word.len() <= 24 && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
        !first.quoted
            && plain
            && next > first.end
            && credential.len() >= 16
            && credential.bytes().any(|b| b.is_ascii_digit())
    }

    /// `Digest …, response="…"` and `AWS4-HMAC-SHA256 …, Signature=…`: of the fields only the proof is secret.
    fn proof(&self, from: usize, hits: &mut Vec<Hit>) -> Option<usize> {
        const SCHEMES: [(&str, &str); 2] = [("Digest ", "response="), ("AWS4-HMAC-SHA256 ", "Signature=")];
        let rest = &self.text[from..];
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let (_, field) = SCHEMES.iter().find(|(scheme, _)| line.starts_with(scheme))?;
        let value = self.value(from + line.find(field)? + field.len());
        hits.push(Hit {
            start: value.start,
            end: value.end,
            kind: "key",
        });
        Some(value.end)
    }

    /// `private key: …`, `tls.key: …`: a name of two words with a space or point between.
    fn spoken_name(&self, start: usize, end: usize) -> Option<Name> {
        const SPOKEN: [&str; 10] = [
            "private key",
            "master key",
            "tls key",
            "secret key",
            "api key",
            "access key",
            "signing key",
            "encryption key",
            "seed phrase",
            "recovery phrase",
        ];
        let before = self
            .text
            .get(self.text.floor_char_boundary(start.saturating_sub(11))..end)?
            .replace('.', " ");
        let said = SPOKEN.iter().any(|name| {
            let at = before.len().checked_sub(name.len());
            at.and_then(|at| before.get(at..))
                .is_some_and(|tail| tail.eq_ignore_ascii_case(name))
        });
        said.then_some(Name::Other)
    }

    /// The code of a login in a URL, which is one secret for a moment.
    fn code(&self, from: usize, hits: &mut Vec<Hit>) -> Option<usize> {
        let end = self.value_end(from);
        is_random(&self.text[from..end], 32).then(|| {
            hits.push(Hit {
                start: from,
                end,
                kind: "key",
            });
            end
        })
    }

    fn starts_line(&self, start: usize) -> bool {
        let before = &self.bytes()[start.saturating_sub(40)..start];
        let mut marks = before.iter().rev().take_while(|b| **b != b'\n');
        marks.all(|b| matches!(b, b' ' | b'\t' | b'-' | b'"' | b'\'' | b'{' | b','))
    }

    fn one_word_left(&self, from: usize) -> bool {
        let start = self.skip(from, |b| b == b' ');
        let end = self.value_end(start);
        end > start && matches!(self.at(end), b'\n' | b'\r' | 0)
    }

    fn value(&self, from: usize) -> Value {
        let mut from = self.skip(from, |b| b == b' ' || b == b'\t');
        // `"tokens": ["…"]`: the first of a list.
        if self.at(from) == b'[' && matches!(self.at(from + 1), b'"' | b'\'') {
            from += 1;
        }
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
            end: self.value_end(from),
            quoted: false,
        }
    }

    /// End of a quoted value whose quotes stand behind `level` backslashes.
    fn quoted_end(&self, start: usize, quote: u8, level: usize) -> usize {
        let mut at = start;
        let mut backslashes = 0;
        while at < self.text.len().min(start + LONGEST_JUDGED) {
            match self.bytes()[at] {
                b'\n' => return at,
                b'\\' => backslashes += 1,
                // YAML and SQL write an apostrophe of the text twice.
                b'\'' if quote == b'\'' && level == 0 && at > start && self.at(at + 1) == b'\'' => at += 1,
                b if b == quote && (backslashes == level || (level > 0 && backslashes > 0)) => {
                    return at - backslashes;
                }
                b if b == quote && level == 0 && backslashes % 2 == 0 => return at,
                _ => backslashes = 0,
            }
            at += 1;
        }
        self.text.floor_char_boundary(at)
    }

    fn value_end(&self, start: usize) -> usize {
        let most = self.text.floor_char_boundary(start.saturating_add(LONGEST_JUDGED));
        let ends = |b: u8| b.is_ascii_whitespace() || b"\"'`&,;)<>|}\\".contains(&b);
        let length = self.bytes()[start..most].iter().take_while(|b| !ends(**b)).count();
        // A parameter inside a parameter.
        let inner = self.text[start..start + length].find("%26");
        start + inner.unwrap_or(length)
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
        let end = self.value_end(start);
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

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
