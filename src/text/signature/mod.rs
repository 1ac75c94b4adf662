//! `signature(text)`: stable identity of a cause. Deterministic, stateless, linear time; no source, kind or order
//! goes into it, so that a log line, a tracker's event and a CI trace of one exception are one cause.

mod access;
mod bytes;
mod calendar;
mod frames;
mod framing;
mod label;
mod lines;
mod mask;
mod numbers;
mod output;
mod pairs;
mod people;
mod random;
mod shapes;
pub(super) mod usual;
mod words;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::LazyLock,
};

use sha2::{Digest, Sha256};

use super::Redactor;
use crate::model::{Signature, signal::Culprit};
use frames::Frame;
use lines::{Line, Order};

/// Part of every hash of a text: a change of the rules is a change of this number, and the ledger signs anew what an
/// older one signed.
pub const VERSION: u32 = 3;
/// What comes later in a text repeats or elaborates.
const MOST_MESSAGES: usize = 12;
/// So many templates a stream is remembered by.
const MOST_TEMPLATES: usize = 10_000;

/// A text's signature with what it was computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Signed {
    pub signature: Signature,
    /// Readable form with the volatile parts masked.
    pub template: String,
    /// `bug`, `noise`, `infrastructure`, `auth` or `config`.
    pub label: &'static str,
    pub culprit: Option<Culprit>,
}

/// The signature of a text. It is cleaned and redacted first, so that a raw line and what was stored of it have one
/// signature, and nothing secret is in the template.
pub fn signature(text: &str) -> Signed {
    signed(template(text), text)
}

/// The places in the application's own files that a text's trace names, each once.
pub fn places(text: &str) -> Vec<Culprit> {
    let mut places = Vec::new();
    for line in text.lines() {
        if let Some(Frame::Own(place)) = frames::frame(line).map(|found| found.frame)
            && !places.contains(&place)
        {
            places.push(place);
        }
    }
    places
}

/// Stands before a name that is signed as it is. Text that was cleaned cannot hold it.
pub const EXACT: char = '\u{2}';

/// The signature of what a cause was signed by: a text, or, behind [`EXACT`], a name of which nothing is masked.
pub fn sign(signed: &str) -> Signed {
    match signed.strip_prefix(EXACT) {
        None => signature(signed),
        Some(name) => Signed {
            signature: super::named(name),
            template: name.replace(EXACT, ": "),
            label: signature(&name.replace(EXACT, " ")).label,
            culprit: None,
        },
    }
}

/// What stands for a name that is signed as it is; of a family of like ones that name begins with the family's.
pub fn exact(family: Option<&str>, name: &str) -> String {
    match family {
        Some(family) => format!("{EXACT}{family}{EXACT}{name}"),
        None => format!("{EXACT}{name}"),
    }
}

/// The family of what was signed by a name.
pub fn family(signed: &str) -> Option<&str> {
    let (family, _) = signed.strip_prefix(EXACT)?.split_once(EXACT)?;
    Some(family)
}

/// The template alone. Texts have one signature exactly when they have one template.
pub fn template(text: &str) -> String {
    let text = told(text);
    match said(&text) {
        Some(said) => of_said(said),
        None => of_told(&text),
    }
}

/// The text as its template is read from it: in its usual spelling, redacted.
pub(super) fn told(text: &str) -> String {
    let text = usual::spelled(&visible(text));
    match REDACTOR.redacted(&text) {
        Cow::Owned(redacted) => redacted,
        Cow::Borrowed(_) => text,
    }
}

/// What a text of one line says, without its framing: all that its template is made of.
pub(super) fn said(told: &str) -> Option<&str> {
    lines::only(told)
}

pub(super) fn of_said(said: &str) -> String {
    of_lines(&lines::of_only(said))
}

pub(super) fn of_told(told: &str) -> String {
    of_lines(&lines::read(told))
}

fn of_lines(lines: &[Line<'_>]) -> String {
    join(lines, top_frame(lines))
}

/// Signs the texts of a stream: what follows from a template is worked out once.
#[derive(Debug, Default)]
pub struct Signer {
    known: HashMap<String, Signed>,
}

impl Signer {
    /// The signature of a text; its culprit may be in another line of the same file.
    pub fn sign(&mut self, text: &str) -> &Signed {
        if self.known.len() >= MOST_TEMPLATES {
            self.known.clear();
        }
        match self.known.entry(template(text)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let signed = signed(new.key().clone(), text);
                new.insert(signed)
            }
        }
    }
}

/// The template is of the text in its usual spelling; where it happened is read from the text itself.
fn signed(template: String, text: &str) -> Signed {
    let text = harmless(text);
    let lines = lines::read(&text);
    let culprit = match top_frame(&lines) {
        Some(frame) => Some(frame.clone()),
        None => lines.iter().find_map(|line| match line {
            Line::Message(message) => frames::named(message),
            Line::Frame(..) => None,
        }),
    };
    Signed {
        signature: of_template(VERSION, &template),
        label: label::label(&template),
        template,
        culprit,
    }
}

/// What stops the attempts at one incident: the failing test, what it said, and which files the attempt changed.
pub fn failure_signature<P: AsRef<str>>(test: &str, message: &str, paths: &[P]) -> String {
    let message = join(&lines::read(&harmless(message)), None);
    let mut paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut parts = vec![test, message.as_str()];
    parts.extend(paths);
    hash(&format!("v{VERSION}:"), &parts).to_string()
}

fn of_template(version: u32, template: &str) -> Signature {
    hash(&format!("v{version}:"), &[template])
}

static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::default);

fn harmless(text: &str) -> Cow<'_, str> {
    let visible = visible(text);
    match REDACTOR.redacted(&visible) {
        Cow::Owned(redacted) => Cow::Owned(redacted),
        Cow::Borrowed(_) => visible,
    }
}

/// The text without what terminals make of it, and without what nobody sees.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    let cleaned = super::clean::cleaned(text);
    match without_shown(&cleaned) {
        Some(text) => Cow::Owned(text),
        None => cleaned,
    }
}

/// Without the characters that cleaning made visible: strewn in, they would split a cause.
fn without_shown(text: &str) -> Option<String> {
    if memchr::memchr(b'\\', text.as_bytes()).is_none() || !text.contains("\\u{") {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split("\\u{");
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        match piece.split_once('}') {
            Some((code, rest)) if code.len() <= 6 && code.bytes().all(|b| b.is_ascii_hexdigit()) => out.push_str(rest),
            _ => {
                out.push_str("\\u{");
                out.push_str(piece);
            }
        }
    }
    Some(out)
}

/// The first frame in the application's own code; Python prints the innermost call last.
fn top_frame<'a>(lines: &'a [Line<'_>]) -> Option<&'a Culprit> {
    let own = |line: &'a Line<'_>| match line {
        Line::Frame(Frame::Own(culprit), language) => Some((culprit, *language)),
        _ => None,
    };
    let first = lines.iter().find_map(own)?;
    match first.1 {
        Order::InnermostFirst => Some(first.0),
        Order::InnermostLast => lines.iter().rev().find_map(own).map(|(culprit, _)| culprit),
    }
}

fn join(lines: &[Line<'_>], top: Option<&Culprit>) -> String {
    if let [Line::Message(message)] = lines {
        return mask::mask(message);
    }
    let mut seen = HashSet::new();
    let mut parts: Vec<String> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Message(message) => Some(mask::mask(message)),
            Line::Frame(..) => None,
        })
        .filter(|message| seen.insert(message.clone()))
        .collect();
    if parts.len() > MOST_MESSAGES {
        // A long log begins with what went well.
        let first = parts.iter().position(|part| is_telling(part)).unwrap_or(0);
        parts.drain(..first);
        parts.truncate(MOST_MESSAGES);
    }
    if let Some(culprit) = top {
        let function = culprit
            .function
            .as_deref()
            .map(|name| format!(" in {name}"))
            .unwrap_or_default();
        parts.push(format!("at {}{function}", mask::mask(&culprit.file)));
    }
    parts.join("\n")
}

fn is_telling(message: &str) -> bool {
    const WORDS: [&str; 9] = [
        "error",
        "fail",
        "exception",
        "panic",
        "fatal",
        "assert",
        "denied",
        "cannot",
        "timed out",
    ];
    let message = message.to_ascii_lowercase();
    WORDS.iter().any(|word| message.contains(word))
}

fn hash(domain: &str, parts: &[&str]) -> Signature {
    let mut digest = Sha256::new();
    digest.update(domain);
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    Signature::parse(&super::hex(&digest.finalize()[..8])).expect("eight bytes are 16 hex digits")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sig(text: &str) -> String {
        signature(text).signature.to_string()
    }

    #[test]
    fn one_cause_in_three_places() {
        let log = "2026-01-02T03:04:05Z [err] TypeError: cart is undefined\n    at total (/app/src/cart.js:31:9)";
        let tracker = "TypeError: cart is undefined\n  at total (src/cart.js:35:2)\n  at next (node:internal/x:1:2)";
        let ci = "test\tRun npm test\t2026-01-02T03:04:05.1234567Z \u{1b}[31mTypeError\u{1b}[0m: cart is undefined\n\
                  test\tRun npm test\t2026-01-02T03:04:05.1234567Z     at total (/home/runner/work/shop/shop/src/cart.js:31:9)";
        assert_eq!(sig(log), sig(tracker));
        assert_eq!(sig(log), sig(ci));
        let signed = signature(log);
        assert_eq!(signed.template, "TypeError: cart is undefined\nat src/cart.js in total");
        assert_eq!(
            signed.culprit.map(|c| (c.file, c.line)),
            Some(("src/cart.js".into(), Some(31)))
        );
    }

    #[test]
    fn near_misses_stay_apart() {
        let texts = [
            "null value in column \"tax\" violates not-null constraint",
            "null value in column \"vat\" violates not-null constraint",
            "request failed with status 502",
            "request failed with status 503",
            "process exited with code 137",
            "process exited with code 139",
            "FAIL a.test.ts > adds twice",
            "FAIL a.test.ts > adds once",
        ];
        let all: HashSet<String> = texts.iter().map(|text| sig(text)).collect();
        assert_eq!(all.len(), texts.len());
    }

    #[test]
    fn the_innermost_python_frame_is_the_culprit() {
        let text = "Traceback (most recent call last):\n  File \"/app/run.py\", line 3, in main\n    go()\n  File \
                    \"/app/shop/cart.py\", line 9, in total\n    return a[0]\nIndexError: list index out of range";
        let signed = signature(text);
        assert_eq!(
            signed.template,
            "IndexError: list index out of range\nat shop/cart.py in total"
        );
        assert_eq!(signed.label, "bug");
    }

    #[test]
    fn attempts_are_told_apart_by_test_message_and_paths() {
        let base = failure_signature("t::adds", "left: 3 at 12:00:01", &["b.rs", "a.rs"]);
        assert_eq!(base.len(), 16);
        assert_eq!(
            base,
            failure_signature("t::adds", "left: 4 at 13:10:11", &["a.rs", "b.rs", "a.rs"])
        );
        assert_ne!(base, failure_signature("t::adds", "left: 3 at 12:00:01", &["a.rs"]));
        assert_ne!(
            base,
            failure_signature("t::subtracts", "left: 3 at 12:00:01", &["a.rs", "b.rs"])
        );
        assert_ne!(base, failure_signature("t::adds", "right: 3", &["a.rs", "b.rs"]));
    }

    #[test]
    fn versions_have_signatures_of_their_own() {
        let text = "TypeError: x is undefined";
        assert_eq!(signature(text).signature, of_template(VERSION, text));
        assert_ne!(of_template(VERSION, text), of_template(VERSION + 1, text));
    }

    #[test]
    fn a_stream_is_signed_as_its_texts_are() {
        let mut signer = Signer::default();
        for n in 0..30_000 {
            let text = format!(
                "job {n} of kind k{} failed",
                char::from(b'a' + u8::try_from(n % 26).unwrap())
            );
            if n % 1000 < 2 {
                assert_eq!(signer.sign(&text), &signature(&text));
            } else {
                signer.sign(&text);
            }
        }
        for n in 0..MOST_TEMPLATES + 5 {
            signer.sign(&format!("job \"q{n:b}\" failed").replace('0', "a").replace('1', "b"));
        }
        assert!(signer.known.len() <= MOST_TEMPLATES);
    }

    #[test]
    fn a_flood_is_bounded() {
        let flood: String = (0..20_000)
            .map(|n| ["E unique-", &n.to_string(), " failed\n"].concat())
            .collect();
        assert_eq!(signature(&flood).template, "E unique-<n> failed");
        assert!(signature(&"A b".repeat(400_000)).template.len() < 4000);
    }

    #[test]
    fn a_long_log_is_what_went_wrong_in_it() {
        let log = |steps: u8| {
            let steps: Vec<String> = (0..steps)
                .map(|n| format!("step {} done\n", char::from(b'a' + n)))
                .collect();
            let steps = steps.concat();
            signature(&[&steps, "Error: no such table: carts"].concat()).signature
        };
        assert_eq!(log(14), log(20));
    }

    #[test]
    fn nothing_at_all_has_a_signature() {
        assert_eq!(sig(""), sig("\n \n"));
    }

    const WORDS: [&str; 22] = [
        "failed",
        "404",
        "17",
        "0x7ffd",
        "5d1c2c1e-1111-4222-8333-944445555666",
        "12ms",
        "10.1.2.3:80",
        "code",
        "user",
        "of",
        "https://a.example:81/x/9?y=1",
        "\"tax_rate_2\"",
        "(handle)=(ann)",
        "src/cart.ts:31:9",
        "===",
        "H.map",
        "b5cbdb1cd78158a9",
        "/tmp/job_x1/a.log",
        "broadcast_9_piece0",
        "%C3%28",
        "jane@corp.example",
        "2026-01-02T03:04:05Z",
    ];

    proptest! {
        #[test]
        fn ids_times_and_counts_do_not_matter(
            (a, b) in ("[0-9a-f]{8}", "[0-9a-f]{8}"), (n, m) in (2_u32..9_000_000, 2_u32..9_000_000),
            (h, i) in (10_u32..24, 10_u32..24), port in 1024_u16..65_000,
        ) {
            let text = |id: &str, n: u32, hour: u32, port: u16| format!(
                "2026-01-02T{hour}:04:05Z worker: job {id}-1111-4222-8333-944445555666 of user {n} on 10.1.2.3:{port} \
                 failed after {n}ms: column \"price\" is missing"
            );
            prop_assert_eq!(sig(&text(&a, n, h, port)), sig(&text(&b, m, i, port ^ 1)));
        }

        #[test]
        fn any_text_has_one_and_escapes_do_not_matter(text in any::<String>()) {
            let signed = signature(&text);
            prop_assert_eq!(signed.signature.as_str().len(), 16);
            prop_assert_eq!(&signature(&text), &signed);
            let coloured = format!("\u{1b}[31m{text}\u{1b}[0m");
            prop_assert_eq!(&signature(&coloured).signature, &signed.signature);
        }

        #[test]
        fn what_is_stored_has_the_signature_of_what_came(text in "[a-zA-Z0-9@.:=/ +\"\n-]{0,120}") {
            let stored = Redactor::default().redact(&crate::text::clean(&text));
            prop_assert_eq!(sig(&stored), sig(&text));
        }

        #[test]
        fn masking_is_idempotent(words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..12)) {
            let once = mask::mask(&words.join(" "));
            prop_assert_eq!(mask::mask(&once), once);
        }
    }
}
