//! Values that this process holds, found in clear, encoded, cut short, and broken up by spaces, line ends or
//! terminal escapes. Compares on a squeezed lower-case copy; it must not guess at values it was not told.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};

use super::Hit;

/// Shorter values are words, not secrets.
const SHORTEST: usize = 6;
/// From this length on, a fragment of a value counts as the value.
const FRAGMENTS_FROM: usize = 12;

pub(super) struct Known {
    patterns: Vec<Pattern>,
    /// Pattern and offset of each block that the automaton looks for.
    blocks: Vec<(usize, usize)>,
    automaton: Option<AhoCorasick>,
}

/// One encoded form of one value, squeezed.
struct Pattern {
    bytes: Vec<u8>,
    /// So many characters in a row are enough.
    window: usize,
}

impl Known {
    pub(super) fn new<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut forms = BTreeSet::new();
        for value in values {
            for (part, whole) in parts(value) {
                for form in encodings(&part) {
                    forms.insert((squeeze(&form).bytes, whole));
                }
            }
        }
        let mut known = Self {
            patterns: Vec::new(),
            blocks: Vec::new(),
            automaton: None,
        };
        let mut needles: Vec<Vec<u8>> = Vec::new();
        for (bytes, whole) in forms {
            if bytes.len() < SHORTEST {
                continue;
            }
            let window = window(bytes.len(), whole);
            // Every run of `window` characters contains one whole block.
            let block = if window == bytes.len() {
                window
            } else {
                window.div_ceil(2)
            };
            for offset in (0..=bytes.len() - block).step_by(block) {
                known.blocks.push((known.patterns.len(), offset));
                needles.push(bytes[offset..offset + block].to_vec());
            }
            known.patterns.push(Pattern { bytes, window });
        }
        known.automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&needles)
            .ok();
        known
    }

    pub(super) fn find(&self, text: &str) -> Vec<Hit> {
        let squeezed = squeeze(text);
        let mut hits: Vec<Hit> = Vec::new();
        let Some(automaton) = &self.automaton else {
            return hits;
        };
        let mut covered = 0;
        for found in automaton.find_overlapping_iter(&squeezed.bytes) {
            if found.end() <= covered {
                continue;
            }
            let (pattern, offset) = self.blocks[found.pattern().as_usize()];
            let pattern = &self.patterns[pattern];
            let (start, end) = extend(&pattern.bytes, offset, found.len(), &squeezed.bytes, found.start());
            if end - start >= pattern.window {
                covered = end;
                hits.push(Hit {
                    start: squeezed.origin[start],
                    end: squeezed.origin[end - 1] + 1,
                    kind: "known",
                });
            }
        }
        hits
    }
}

fn window(length: usize, whole: bool) -> usize {
    if whole || length < FRAGMENTS_FROM {
        length
    } else {
        (length / 2).clamp(8, 96)
    }
}

/// The largest stretch around a found block on which pattern and text agree.
fn extend(pattern: &[u8], offset: usize, block: usize, text: &[u8], at: usize) -> (usize, usize) {
    let left = pattern[..offset]
        .iter()
        .rev()
        .zip(text[..at].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let right = pattern[offset + block..]
        .iter()
        .zip(&text[at + block..])
        .take_while(|(a, b)| a == b)
        .count();
    (at - left, at + block + right)
}

/// What of a value has to vanish; `true` = only as a whole (a URL's host is no secret, its password is).
fn parts(value: &str) -> Vec<(String, bool)> {
    let value = value.trim();
    let password = value
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('@'))
        .and_then(|(user, _)| user.split_once(':'))
        .map(|(_, password)| password.to_owned());
    let mut all = Vec::new();
    match password {
        Some(password) => {
            all.push((value.to_owned(), true));
            all.push((percent_decode(&password), false));
            all.push((password, false));
        }
        None => all.push((value.to_owned(), false)),
    }
    if value.contains('\n') {
        // Of a key file any line gives much of it away.
        let lines = value
            .lines()
            .map(str::trim)
            .filter(|l| l.len() >= 16 && !l.starts_with("-----"));
        all.extend(lines.map(|line| (line.to_owned(), false)));
    }
    all.retain(|(part, _)| part.len() >= SHORTEST);
    all
}

fn percent_decode(text: &str) -> String {
    url::form_urlencoded::parse(format!("k={}", text.replace('+', "%2B")).as_bytes())
        .map(|(_, value)| value.into_owned())
        .next()
        .unwrap_or_default()
}

/// Every form in which the value may travel. Letter case is of no matter: texts are compared in lower case.
fn encodings(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    let percent = |b: u8| match b {
        b if unreserved(b) => char::from(b).to_string(),
        b => format!("%{b:02x}"),
    };
    let html = value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;");
    let json = value.replace('\\', "\\\\").replace('"', "\\\"");
    let mut all = vec![
        value.to_owned(),
        value.chars().rev().collect(),
        value.chars().map(rot13).collect(),
        html,
        json.replace('/', "\\/"),
        json,
        joined(bytes, "", |b| format!("{b:02x}")),
        joined(bytes, "", |b| format!("\\x{b:02x}")),
        joined(bytes, "", |b| format!("%{b:02x}")),
        joined(bytes, "", |b| percent(*b)),
        joined(bytes, " ", u8::to_string),
        joined(bytes, ",", u8::to_string),
    ];
    let units: Vec<u16> = value.encode_utf16().collect();
    let chars: Vec<u32> = value.chars().map(u32::from).collect();
    all.push(joined(&units, "", |u| format!("\\u{u:04x}")));
    all.push(joined(&chars, "", |c| format!("&#{c};")));
    all.push(joined(&chars, "", |c| format!("&#x{c:x};")));
    for before in 0..3 {
        all.push(base64_core(bytes, before, false));
        all.push(base64_core(bytes, before, true));
    }
    all
}

fn joined<T>(items: &[T], separator: &str, form: impl Fn(&T) -> String) -> String {
    items.iter().map(form).collect::<Vec<_>>().join(separator)
}

/// The characters of the Base64 text that depend on the value alone, when `before` other bytes precede it.
fn base64_core(bytes: &[u8], before: usize, url_safe: bool) -> String {
    let mut padded = vec![b'x'; before];
    padded.extend_from_slice(bytes);
    let encoded = if url_safe {
        URL_SAFE_NO_PAD.encode(&padded)
    } else {
        STANDARD_NO_PAD.encode(&padded)
    };
    let first = (before * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    encoded.get(first..last).unwrap_or_default().to_owned()
}

fn rot13(c: char) -> char {
    let turn = |base: u8, c: char| char::from(base + (c as u8 - base + 13) % 26);
    match c {
        'a'..='z' => turn(b'a', c),
        'A'..='Z' => turn(b'A', c),
        _ => c,
    }
}

/// A text without what may be strewn into a value, in lower case, with the origin of each byte.
struct Squeezed {
    bytes: Vec<u8>,
    origin: Vec<usize>,
}

fn squeeze(text: &str) -> Squeezed {
    let bytes = text.as_bytes();
    let mut out = Squeezed {
        bytes: Vec::with_capacity(bytes.len()),
        origin: Vec::with_capacity(bytes.len()),
    };
    let mut at = 0;
    while at < bytes.len() {
        let skip = filler(&bytes[at..]);
        if skip > 0 {
            at += skip;
            continue;
        }
        out.bytes.push(bytes[at].to_ascii_lowercase());
        out.origin.push(at);
        at += 1;
    }
    out
}

/// How many bytes of filler the rest starts with: white space (also written `\n`), a colour sequence, an invisible
/// character raw or made visible.
fn filler(rest: &[u8]) -> usize {
    match rest[0] {
        b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => 1,
        b'\\' => match rest.get(1) {
            Some(b'n' | b'r' | b't') => 2,
            Some(b'u') if rest.get(2) == Some(&b'{') => {
                let digits = rest[3..].iter().take(6).take_while(|b| b.is_ascii_hexdigit()).count();
                if rest.get(3 + digits) == Some(&b'}') {
                    digits + 4
                } else {
                    0
                }
            }
            _ => 0,
        },
        0x1b if rest.get(1) == Some(&b'[') => {
            let parameters = rest[2..]
                .iter()
                .take(32)
                .take_while(|b| (0x20..=0x3f).contains(*b))
                .count();
            (parameters + 3).min(rest.len())
        }
        0xc2 if rest.get(1) == Some(&0xad) => 2,
        0xe2 if matches!(
            rest.get(1..3),
            Some([0x80, 0x8b..=0x8f | 0xa8..=0xae] | [0x81, 0xa0..=0xaf])
        ) =>
        {
            3
        }
        0xef if matches!(rest.get(1..3), Some([0xbb, 0xbf])) => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use crate::text::Redactor;

    const VALUE: &str = "Fake-Pa55/word=NotReal+12";

    fn redact(text: &str) -> String {
        Redactor::new(&[SecretString::from(VALUE)]).redact(text)
    }

    #[test]
    fn every_form_vanishes() {
        let mut forms = super::encodings(VALUE);
        forms.push(VALUE.to_uppercase());
        forms.push(VALUE[7..].to_owned());
        forms.push(VALUE[..VALUE.len() - 4].to_owned());
        let letters: Vec<&str> = VALUE.split("").filter(|letter| !letter.is_empty()).collect();
        forms.push(letters.join("\u{1b}[1;31m"));
        forms.push(letters.join("\\u{200b}\n"));
        for form in forms {
            let out = redact(&format!("got <{form}> here"));
            assert!(
                out.starts_with("got <[redacted:known]") && out.ends_with("> here"),
                "{form}: {out}"
            );
        }
    }

    #[test]
    fn base64_at_every_alignment_vanishes() {
        for before in 0..3 {
            let core = super::base64_core(VALUE.as_bytes(), before, false);
            let out = redact(&format!("a {core}zz"));
            assert!(!out.contains(&core[..10]), "{out}");
        }
    }

    #[test]
    fn short_and_foreign_values_stay() {
        let redactor = Redactor::new(&[SecretString::from("prod"), SecretString::from(VALUE)]);
        let text = "deployed to prod: NotReal is a word, pa55 too";
        assert_eq!(redactor.redact(text), text);
    }

    #[test]
    fn of_a_url_only_the_password_and_the_whole_vanish() {
        let redactor = Redactor::new(&[SecretString::from("smtps://me:f%40ke-f4ke-f4ke@mail.example.org:465")]);
        assert_eq!(
            redactor.redact("no route to mail.example.org:465"),
            "no route to mail.example.org:465"
        );
        assert_eq!(
            redactor.redact("login f@ke-f4ke-f4ke refused"),
            "login [redacted:known] refused"
        );
    }

    #[test]
    fn hostile_repetition_is_linear() {
        let redactor = Redactor::new(&[SecretString::from("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")]);
        assert!(redactor.redact(&"a".repeat(300_000)).len() < 300_000);
    }
}
