//! One error stays one whatever its ids, times, addresses and places are: each text of the corpus is written anew many
//! times, from a fixed seed. `TICK_VARIANTS=10000` asks for more than a test has time for (`scripts/bench
//! signature-variants`).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{corpus_tests::own, signature};

const SEED: u64 = 20_260_102;
const VARIANTS: u64 = 40;

/// SplitMix64: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    fn of(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        let pick = |dice: &mut Self| char::from(letters[usize::try_from(dice.below(letters.len() as u64)).unwrap()]);
        (0..length).map(|_| pick(self)).collect()
    }
}

const HEX: &str = "0123456789abcdef";
const ALNUM: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SMALL: &str = "0123456789abcdefghijklmnopqrstuvwxyz";
/// Without vowels, as orchestrators name what they start.
const VOICELESS: &str = "bcdfghjklmnpqrstvwxz2456789";

/// The text with a new value for each `{{kind}}`.
fn filled(text: &str, dice: &mut Dice) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (kind, behind) = behind.split_once("}}").unwrap();
        out.push_str(before);
        out.push_str(&value(kind, dice));
        rest = behind;
    }
    out + rest
}

fn value(kind: &str, dice: &mut Dice) -> String {
    let letters = kind.trim_end_matches(|c: char| c.is_ascii_digit());
    match (letters, kind[letters.len()..].parse().unwrap_or(0)) {
        // A number that is no status.
        ("n", _) => match dice.below(3) {
            0 => dice.between(2, 99),
            1 => dice.between(100, 399),
            _ => dice.between(600, 99_999),
        }
        .to_string(),
        ("line", _) => dice.between(2, 399).to_string(),
        ("big", _) => dice.between(1_000_000, 4_000_000_000).to_string(),
        ("pid", _) => dice.between(2, 60_000).to_string(),
        ("port", _) => dice.between(20_000, 60_000).to_string(),
        ("ms", _) => match dice.below(3) {
            0 => format!("{}ms", dice.between(1, 9000)),
            1 => format!("{}.{}s", dice.below(90), dice.between(1, 999)),
            _ => format!("{}µs", dice.between(1, 999)),
        },
        ("ip", _) => format!("10.{}.{}.{}", dice.below(256), dice.below(256), dice.between(1, 254)),
        ("uuid", _) => {
            let h = dice.of(HEX, 32);
            [&h[..8], &h[8..12], &h[12..16], &h[16..20], &h[20..]].join("-")
        }
        ("mail", _) => format!("{}@{}.example.com", dice.of(SMALL, 7), dice.of("abcdefgh", 3)),
        ("time", _) => format!("{}Z", time(dice)),
        ("pod", _) => format!("{}-{}", dice.of(VOICELESS, 10), dice.of(VOICELESS, 5)),
        ("req", _) => format!("req_{}", dice.of(ALNUM, 18)),
        ("acct", _) => dice.of("0123456789", 12),
        ("hex", length) => dice.of(HEX, length),
        ("id", length) => dice.of(ALNUM, length),
        other => panic!("no such kind: {other:?}"),
    }
}

fn time(dice: &mut Dice) -> String {
    let (month, day) = (dice.between(1, 12), dice.between(1, 28));
    let (hour, minute, second) = (dice.below(24), dice.below(60), dice.below(60));
    format!(
        "2026-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}",
        dice.below(1000)
    )
}

/// The lines as one of several platforms prints them.
fn framed(text: &str, dice: &mut Dice) -> String {
    let kind = dice.below(6);
    let mut out = String::new();
    for line in text.lines() {
        let time = time(dice);
        let written = match kind {
            0 => writeln!(out, "{time}Z [err] {line}"),
            1 => writeln!(out, "test (22.x)\tRun the tests\t{time}4711Z {line}"),
            2 => writeln!(out, "app-{}  | {line}", dice.between(1, 9)),
            3 => writeln!(out, "[{}] {line}", &time[11..]),
            4 => writeln!(out, "{time}123456Z stderr F {line}"),
            _ => writeln!(out, "{line}"),
        };
        written.unwrap();
    }
    out
}

#[expect(
    clippy::disallowed_methods,
    reason = "only a measurement asks for more variants than a test has time for"
)]
fn variants() -> u64 {
    let asked = std::env::var("TICK_VARIANTS").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(VARIANTS)
}

#[test]
fn an_error_is_one_in_all_its_variants() {
    let mut holders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut causes, mut written) = (0, 0);
    for row in own("variants.jsonl") {
        let (cause, text) = (row["cause"].as_str().unwrap(), row["text"].as_str().unwrap());
        let mut dice = Dice(SEED + causes);
        let mut templates: BTreeMap<String, String> = BTreeMap::new();
        for _ in 0..variants() {
            let text = filled(text, &mut dice);
            let text = framed(&text, &mut dice);
            let signed = signature(&text);
            assert_eq!(signed.label, row["label"].as_str().unwrap(), "{text}");
            let culprit = signed.culprit.map(|culprit| culprit.file);
            assert_eq!(culprit.as_deref(), row["culprit"].as_str(), "{text}");
            templates.entry(signed.template).or_insert(text);
            written += 1;
        }
        let first: Vec<_> = templates.keys().take(3).collect();
        assert_eq!(templates.len(), 1, "{cause}: {first:#?}");
        holders
            .entry(templates.into_keys().next().unwrap())
            .or_default()
            .insert(cause.to_owned());
        causes += 1;
    }
    println!(
        "{written} variants of {causes} errors have {} signatures",
        holders.len()
    );
    let mixed: Vec<_> = holders.iter().filter(|(_, causes)| causes.len() > 1).collect();
    assert!(mixed.is_empty(), "{mixed:#?}");
    assert!(causes >= 50);
}
