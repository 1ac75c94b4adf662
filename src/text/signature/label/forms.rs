//! Sentences that are told by their form and not by a phrase: something is not set, a tool does not know a setting. And what
//! is read in another way first: names in quotation marks, British spelling.

use std::ops::Range;

/// What is unset is a setting, unless it is what a program works with.
const SET: [&str; 6] = ["set", "configured", "specified", "given", "provided", "selected"];
const VERBS: [&str; 6] = ["is", "was", "are", "were", "been", "be"];
const DATA: [&str; 21] = [
    "value",
    "values",
    "row",
    "rows",
    "record",
    "records",
    "item",
    "items",
    "element",
    "elements",
    "argument",
    "arguments",
    "input",
    "data",
    "lock",
    "timer",
    "alarm",
    "handler",
    "callback",
    "object",
    "body",
];
/// Words between `no` and the verb.
const LONGEST: usize = 4;

const UNKNOWN: [&str; 6] = [
    "unknown",
    "unrecognized",
    "unsupported",
    "invalid",
    "duplicate",
    "misspelled",
];
const SETTING: [&str; 4] = ["directive", "directives", "setting", "settings"];

/// `no version is set`, `unrecognized directive`.
pub(super) fn speaks_of_settings(text: &str) -> bool {
    text.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().map(bare).collect();
        (0..words.len()).any(|at| is_unset(&words[at..]) || is_unknown(&words[at..]))
    })
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_ascii_alphanumeric())
}

fn is_one(word: &str, list: &[&str]) -> bool {
    list.iter().any(|one| one.eq_ignore_ascii_case(word))
}

fn is_unset(words: &[&str]) -> bool {
    if !words[0].eq_ignore_ascii_case("no") {
        return false;
    }
    let verb = words.iter().skip(2).take(LONGEST).position(|word| is_one(word, &VERBS));
    let Some(verb) = verb.map(|at| at + 2) else {
        return false;
    };
    let set = words.get(verb + 1).is_some_and(|word| is_one(word, &SET));
    set && !is_one(words[verb - 1], &DATA)
}

fn is_unknown(words: &[&str]) -> bool {
    is_one(words[0], &UNKNOWN) && words.get(1).is_some_and(|word| is_one(word, &SETTING))
}

/// What stands before the code of an error.
const CODES: [&str; 12] = [
    "error",
    "code",
    "type",
    "reason",
    "status",
    "kind",
    "cause",
    "err",
    "exception",
    "errorcode",
    "error_code",
    "message",
];
const QUOTES: [(char, char); 4] = [('"', '"'), ('\'', '\''), ('`', '`'), ('`', '\'')];

/// Where single words stand in quotation marks that are no code of an error.
pub(super) fn quoted_names(text: &str) -> Vec<Range<usize>> {
    let mut names = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find(['"', '\'', '`']).map(|at| at + from) {
        let quote = text.as_bytes()[open];
        let word = text[open + 1..]
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')))
            .map_or(text.len(), |end| open + 1 + end);
        let closes = |close: char| QUOTES.contains(&(char::from(quote), close));
        let closed = word > open + 1 && text[word..].starts_with(closes);
        if closed && !introduces_a_code(&text[..open]) {
            names.push(open + 1..word);
        }
        from = if closed { word + 1 } else { open + 1 };
    }
    names
}

fn introduces_a_code(before: &str) -> bool {
    let before = before.trim_end_matches([' ', ':', '=', '"', '\'', '`']);
    let word = before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next();
    is_one(word.unwrap_or_default(), &CODES)
}

/// Beginnings of words that are written with an `s` on one side of the ocean.
const BRITISH: [&str; 11] = [
    "uthoris",
    "ecognis",
    "nitialis",
    "erialis",
    "ynchronis",
    "ormalis",
    "rganis",
    "ptimis",
    "inalis",
    "ustomis",
    "irtualis",
];

pub(super) fn american(mut text: String) -> String {
    for stem in BRITISH {
        if text.contains(stem) {
            let other = format!("{}z", &stem[..stem.len() - 1]);
            text = text.replace(stem, &other);
        }
    }
    text
}
