//! Every entry over its seeds and two thousand mutations of them, which are the same at every run.

use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed},
};

use super::{TARGETS, target};

const MUTATIONS: u32 = 2_000;
const LONGEST: usize = 64 * 1024;

/// Pieces at which readers change their mind.
const TOKENS: [&str; 36] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "'",
    "`",
    "|",
    "=",
    ";",
    ":",
    ",",
    "<",
    ">",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u{1b}[31m",
    "\u{202e}",
    "\u{feff}",
    "\\u0000",
    "\\ud800",
    "-1",
    "0",
    "18446744073709551616",
    "1e999",
    "null",
    "true",
    "@@ -1,0 +1 @@\n",
    "<![CDATA[",
    "]]>",
    "untrusted",
    "2026-11-29T03:00:00Z",
    "error: ",
];

#[derive(Debug, Clone)]
enum Edit {
    Set(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Token(prop::sample::Index, usize),
    Delete(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize, usize),
    Cut(prop::sample::Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        (at(), prop::collection::vec(any::<u8>(), 1..8)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (at(), 0..TOKENS.len()).prop_map(|(at, token)| Edit::Token(at, token)),
        (at(), 1..40_usize).prop_map(|(at, n)| Edit::Delete(at, n)),
        (at(), 1..30_usize, 2..40_usize).prop_map(|(at, n, times)| Edit::Repeat(at, n, times)),
        at().prop_map(Edit::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, edit: &Edit) {
    let place = |at: &prop::sample::Index, bytes: &[u8]| at.index(bytes.len() + 1);
    let end = |from: usize, n: usize, bytes: &[u8]| (from + n).min(bytes.len());
    match edit {
        Edit::Set(at, byte) => {
            let at = place(at, bytes);
            if let Some(old) = bytes.get_mut(at) {
                *old = *byte;
            }
        }
        Edit::Insert(at, piece) => {
            let at = place(at, bytes);
            bytes.splice(at..at, piece.iter().copied());
        }
        Edit::Token(at, token) => {
            let at = place(at, bytes);
            bytes.splice(at..at, TOKENS[*token].bytes());
        }
        Edit::Delete(at, n) => {
            let at = place(at, bytes);
            bytes.drain(at..end(at, *n, bytes));
        }
        Edit::Repeat(at, n, times) => {
            let at = place(at, bytes);
            let piece = bytes[at..end(at, *n, bytes)].repeat(*times);
            bytes.splice(at..at, piece);
        }
        Edit::Cut(at) => bytes.truncate(place(at, bytes)),
    }
    bytes.truncate(LONGEST);
}

/// Runs a target over its seeds, and over as many mutations as are demanded.
pub(super) fn mutate(name: &str) {
    let target = target(name).unwrap();
    for seed in target.seeds {
        (target.run)(seed.as_bytes());
    }
    (target.run)(b"");
    // `PROPTEST_CASES` asks for more, and for others.
    let asked = Config::default();
    let more = asked.cases > MUTATIONS;
    let config = Config {
        cases: asked.cases.max(MUTATIONS),
        rng_seed: if more { asked.rng_seed } else { RngSeed::Fixed(1) },
        failure_persistence: None,
        max_shrink_iters: 200,
        ..asked
    };
    let edits = prop::collection::vec(edit(), 1..6);
    proptest!(config, |(seed in 0..target.seeds.len(), edits in edits)| {
        let mut bytes = target.seeds[seed].as_bytes().to_vec();
        for edit in &edits {
            apply(&mut bytes, edit);
        }
        (target.run)(&bytes);
    });
}

#[test]
fn the_list_in_the_papers_is_the_list_of_targets() {
    let papers = include_str!("../../docs/FUZZING.md");
    for target in TARGETS {
        assert!(
            papers.contains(&format!("| `{}` |", target.name)),
            "{} is not listed",
            target.name
        );
    }
    assert!(TARGETS.len() >= 16);
}
