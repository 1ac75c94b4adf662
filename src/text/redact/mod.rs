//! One redactor: known values in clear and encoded, values next to secret key names, formats with a fixed prefix,
//! personal data. It must leave everything else byte for byte, since hashes and ids are what diagnosis needs.

mod formats;
mod keys;
mod known;
mod names;
mod personal;
mod query;
mod shapes;
mod values;
mod vendors;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, LazyLock, OnceLock},
};

use secrecy::{ExposeSecret, SecretString};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use known::Known;

use super::OwnPlaces;

/// Bytes of a text to be replaced, and what stood there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hit {
    start: usize,
    end: usize,
    kind: &'static str,
}

/// What every replacement starts with; such a value is never replaced again.
const MARK: &str = "[redacted:";

const MAIL: &str = "mail";

/// Finds any of the words. Every line of every log goes through these tables, so they are of the fastest kind.
fn finder<'a>(words: impl IntoIterator<Item = &'a str>, ignore_case: bool) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .ascii_case_insensitive(ignore_case)
        .build(words)
        .ok()
}

/// What keys and formats begin with, in one table: most lines have none of it and are read once.
static TRIGGERS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| finder(keys::WORDS.into_iter().chain(formats::prefixes()), true));

/// Two are the rule; the bound keeps the work linear.
const MOST_PASSES: usize = 6;

/// Knows the secrets that this process holds. Cheap to clone; its tables are built on first use.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Arc<KnownValues>,
    own: OwnPlaces,
}

/// Whether the name of a key or the format of a token shows a secret. Personal data is none.
pub fn holds_secret(text: &str) -> bool {
    let mut hits = Vec::new();
    keys::find(text, &mut hits);
    formats::find(text, &mut hits);
    !hits.is_empty()
}

#[derive(Default)]
struct KnownValues {
    values: Vec<SecretString>,
    finder: OnceLock<Known>,
}

impl Redactor {
    pub fn new<'a>(known: impl IntoIterator<Item = &'a SecretString>) -> Self {
        Self {
            known: Arc::new(KnownValues {
                values: known.into_iter().cloned().collect(),
                finder: OnceLock::new(),
            }),
            own: OwnPlaces::default(),
        }
    }

    /// The same, which also names what lies in our own folders as people know it.
    #[must_use]
    pub fn with_own(mut self, own: OwnPlaces) -> Self {
        self.own = own;
        self
    }

    /// The same without that: what it replaces is a secret or personal.
    #[must_use]
    pub fn of_secrets(&self) -> Self {
        self.clone().with_own(OwnPlaces::default())
    }

    /// The text with secrets and personal data replaced by `[redacted:KIND]`.
    pub fn redact(&self, text: &str) -> String {
        self.redacted(text).into_owned()
    }

    /// The same without a copy where there is nothing to replace, which is the rule.
    pub fn redacted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = match self.own.shown(text) {
            Cow::Borrowed(text) => self.without_known(text),
            Cow::Owned(text) => Cow::Owned(self.without_known(&text).into_owned()),
        };
        // What a replacement uncovers is looked at again, so that redacting twice changes nothing.
        for _ in 0..MOST_PASSES {
            let mut hits = Vec::new();
            if TRIGGERS.as_ref().is_none_or(|triggers| triggers.is_match(&*text)) {
                keys::find(&text, &mut hits);
                formats::find(&text, &mut hits);
            }
            shapes::find(&text, &mut hits);
            personal::find(&text, &mut hits);
            query::find(&text, &mut hits);
            match replace(&text, hits) {
                Some(redacted) => text = Cow::Owned(redacted),
                None => break,
            }
        }
        text
    }

    /// The value of a field, whose name may say what it is: a password, a cookie, who somebody is.
    pub fn redact_field(&self, name: &str, value: &str) -> String {
        if query::is_personal(name) && !value.is_empty() && !query::is_of_machines(name, value) {
            return format!("{MARK}user]");
        }
        let pair = serde_json::json!({ name: value }).to_string();
        let redacted = self.redact(&pair);
        let read: Option<BTreeMap<String, String>> = serde_json::from_str(&redacted).ok();
        read.and_then(|mut pair| pair.pop_first())
            .map_or_else(|| format!("{MARK}key]"), |(_, value)| value)
    }

    /// The text without the values that this process holds; other secrets stay. For what is redacted further on.
    pub fn without_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replace_known(text).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    fn replace_known(&self, text: &str) -> Option<String> {
        if self.known.values.is_empty() {
            return None;
        }
        let finder = self
            .known
            .finder
            .get_or_init(|| Known::new(self.known.values.iter().map(SecretString::expose_secret)));
        replace(text, finder.find(text))
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} known values)", self.known.values.len())
    }
}

/// Replaces all hits; those that overlap become one, named after the first. None when there is nothing to do.
fn replace(text: &str, mut hits: Vec<Hit>) -> Option<String> {
    hits.retain(|hit| hit.start < hit.end);
    if hits.is_empty() {
        return None;
    }
    hits.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end)));
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let mut pending: Option<Hit> = None;
    for hit in hits {
        match &mut pending {
            Some(open) if hit.start < open.end => match (open.kind, hit.kind) {
                // A password before an `@` is no mail address: the host behind it stays.
                (MAIL, other) if other != MAIL => *open = hit,
                (other, MAIL) if other != MAIL => {}
                _ => open.end = open.end.max(hit.end),
            },
            _ => {
                if let Some(done) = pending.replace(hit) {
                    write_hit(text, done, &mut from, &mut out);
                }
            }
        }
    }
    if let Some(done) = pending {
        write_hit(text, done, &mut from, &mut out);
    }
    out.push_str(&text[from..]);
    Some(out)
}

fn write_hit(text: &str, hit: Hit, from: &mut usize, out: &mut String) {
    let (start, end) = (text.floor_char_boundary(hit.start), text.ceil_char_boundary(hit.end));
    out.push_str(&text[*from..start]);
    out.push_str(MARK);
    out.push_str(hit.kind);
    out.push(']');
    *from = end;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(text: &str) -> String {
        Redactor::default().redact(text)
    }

    #[test]
    fn overlapping_hits_become_one() {
        let hit = |start, end, kind| Hit { start, end, kind };
        let hits = vec![hit(2, 4, "b"), hit(1, 3, "a"), hit(6, 7, "c"), hit(5, 5, "d")];
        assert_eq!(replace("01234567", hits).unwrap(), "0[redacted:a]45[redacted:c]7");
    }

    #[test]
    fn debug_shows_no_value() {
        let redactor = Redactor::new(&[SecretString::from("fake-fake-fake")]);
        assert_eq!(format!("{redactor:?}"), "Redactor(1 known values)");
    }

    #[test]
    fn text_without_secrets_is_unchanged() {
        let text = "GET /api/health 200 in 12ms\nTypeError: x is not a function\n    at f (src/a.ts:1:2)";
        assert_eq!(plain(text), text);
    }

    #[test]
    fn the_name_of_a_field_says_what_its_value_is() {
        let redactor = Redactor::default();
        for (name, value, want) in [
            ("password", "Fake0 \"Fake1\"\\ x", "[redacted:key]"),
            ("DB_PASS", "Fake0Fake1", "[redacted:key]"),
            ("cookie", "sid=fake0fake", "sid=[redacted:cookie]"),
            ("user.phone", "0170", "[redacted:user]"),
            ("userName", "ada", "[redacted:user]"),
            ("release", "shop@1.2.3 \"x\"", "shop@1.2.3 \"x\""),
            ("note", "mail to jane@corp.example.org", "mail to [redacted:mail]"),
            ("user", "", ""),
            ("query", "SELECT 1", "SELECT 1"),
        ] {
            assert_eq!(redactor.redact_field(name, value), want, "{name}");
        }
    }

    #[test]
    fn kinds_work_together() {
        assert_eq!(
            plain("retry of jane@corp.example.org with API_TOKEN=fake0Fake0Fake from 93.184.216.34"),
            "retry of [redacted:mail] with API_TOKEN=[redacted:key] from [redacted:ip]"
        );
    }

    fn material() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "token",
            "password",
            "secret",
            "API_KEY",
            "cookie",
            "Authorization",
            "Bearer ",
            "=",
            ": ",
            "\"",
            "'",
            "\\",
            " ",
            "\n",
            "ghp_",
            "abcDEF123456abcDEF123456",
            "eyJ",
            ".",
            "@",
            "jane",
            "corp.org",
            "http",
            "://",
            ":",
            "/",
            "93.184.216.34",
            "2a00::1",
            "+49 170 1234567",
            "4111111111111111",
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "[redacted:key]",
            "é",
            ",",
            "&",
            "(",
            ")",
            "-",
            "--",
            "hunter2",
            "sk-",
            "re_",
            "Set-",
            ";",
            "%40",
            "0",
            "F4k3F4k3-v4lu3",
            "/a?q=",
            "&user=",
            "phone",
            "%2540",
            "''",
            "[",
        ]);
        prop::collection::vec(pieces, 0..24).prop_map(|v| v.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn redaction_is_idempotent(text in material()) {
            let redactor = Redactor::new(&[SecretString::from("F4k3F4k3-v4lu3")]);
            let once = redactor.redact(&text);
            prop_assert_eq!(redactor.redact(&once), once);
        }

        #[test]
        fn a_known_value_never_survives(before in material(), after in material()) {
            let redactor = Redactor::new(&[SecretString::from("F4k3F4k3-v4lu3")]);
            let out = redactor.redact(&format!("{before}F4k3F4k3-v4lu3{after}"));
            prop_assert!(!out.contains("F4k3F4k3"), "{}", out);
        }
    }
}
