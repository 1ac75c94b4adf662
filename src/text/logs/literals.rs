//! Words that stand in every match of a pattern. They are looked for first, in any case of letters, so that most of a
//! log is passed over without being taken apart.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Shorter ones stand everywhere.
const SHORTEST: usize = 3;
/// Ways in which one run of characters may go on.
const MOST: usize = 64;
/// Words that one pattern may need.
const MOST_WORDS: usize = 256;
/// Characters that one place may hold for the words around it to be spelled out.
const MOST_IN_CLASS: usize = 4;
/// Words that many healthy lines hold as well: chosen only where there is nothing else.
const COMMON: [&str; 43] = [
    "after",
    "agent",
    "allowed",
    "attempts",
    "code",
    "config",
    "connection",
    "context",
    "count",
    "error",
    "expected",
    "fail",
    "failed",
    "field",
    "file",
    "http",
    "key",
    "limit",
    "load",
    "message",
    "open",
    "option",
    "path",
    "prompt",
    "protocol",
    "read",
    "request",
    "required",
    "requested",
    "response",
    "role",
    "server",
    "session",
    "setting",
    "settings",
    "status",
    "task",
    "template",
    "token",
    "tool",
    "tries",
    "user",
    "worker",
];

/// Lower-case words of which at least one stands in every match; None where there are none.
pub(super) fn required(hir: &Hir) -> Option<Vec<String>> {
    walk(hir).map(least)
}

/// Words without those that hold another one of them: finding the shorter one is enough.
pub(super) fn least(mut words: Vec<String>) -> Vec<String> {
    words.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    let mut kept: Vec<String> = Vec::new();
    for word in words {
        if !kept.iter().any(|known| word.contains(known.as_str())) {
            kept.push(word);
        }
    }
    kept
}

fn walk(hir: &Hir) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Literal(_) | HirKind::Class(_) => best(pieces(std::slice::from_ref(hir))),
        HirKind::Repetition(repeated) if repeated.min > 0 => walk(&repeated.sub),
        HirKind::Repetition(_) | HirKind::Empty | HirKind::Look(_) => None,
        HirKind::Capture(group) => walk(&group.sub),
        HirKind::Concat(parts) => {
            let inner = parts.iter().filter_map(|part| match part.kind() {
                HirKind::Literal(_) | HirKind::Class(_) => None,
                _ => walk(part),
            });
            best(pieces(parts).into_iter().chain(inner))
        }
        HirKind::Alternation(ways) => {
            let mut all = Vec::new();
            for way in ways {
                all.extend(walk(way)?);
            }
            (all.len() <= MOST_WORDS).then_some(all)
        }
    }
}

/// The runs of characters that stand fixed in a sequence, each as a choice of a few.
fn pieces(parts: &[Hir]) -> Vec<Vec<String>> {
    let mut runs = Vec::new();
    let mut open = vec![String::new()];
    let mut close = |open: &mut Vec<String>| runs.push(std::mem::replace(open, vec![String::new()]));
    for part in parts {
        match part.kind() {
            // A character that is no part of a word ends the word, and the next one may begin behind it.
            HirKind::Literal(literal) => {
                for byte in &literal.0 {
                    match plain(*byte) {
                        Some(c) => open.iter_mut().for_each(|word| word.push(c)),
                        None => close(&mut open),
                    }
                }
            }
            // The last of several characters stands before what follows, the first behind what went before.
            HirKind::Repetition(repeated) if repeated.min > 0 && repeated.max != Some(1) => {
                if let Some(ways) = exact(&repeated.sub).filter(|ways| ways.iter().all(|way| way.len() == 1)) {
                    if ways.len() * open.len() <= MOST {
                        open = joined(&open, &ways);
                    }
                    close(&mut open);
                    open = ways;
                } else {
                    close(&mut open);
                }
            }
            _ => match exact(part) {
                Some(ways) if ways.len() * open.len() <= MOST => open = joined(&open, &ways),
                Some(ways) => {
                    close(&mut open);
                    open = ways;
                }
                None => close(&mut open),
            },
        }
    }
    close(&mut open);
    runs
}

/// All that an expression matches, where that is a few words.
fn exact(hir: &Hir) -> Option<Vec<String>> {
    let ways = match hir.kind() {
        HirKind::Empty => vec![String::new()],
        HirKind::Literal(literal) => vec![literal.0.iter().map(|byte| plain(*byte)).collect::<Option<String>>()?],
        HirKind::Class(class) => few(class)?,
        HirKind::Capture(group) => exact(&group.sub)?,
        HirKind::Concat(parts) => {
            let mut all = vec![String::new()];
            for part in parts {
                all = joined(&all, &exact(part)?);
                if all.len() > MOST {
                    return None;
                }
            }
            all
        }
        HirKind::Alternation(parts) => {
            let ways: Option<Vec<Vec<String>>> = parts.iter().map(exact).collect();
            ways?.concat()
        }
        HirKind::Repetition(repeated) if repeated.min == 0 && repeated.max == Some(1) => {
            let mut ways = exact(&repeated.sub)?;
            ways.push(String::new());
            ways
        }
        HirKind::Repetition(_) | HirKind::Look(_) => return None,
    };
    (ways.len() <= MOST).then_some(ways)
}

fn joined(before: &[String], behind: &[String]) -> Vec<String> {
    let both = |a: &String| behind.iter().map(|b| [a.as_str(), b].concat()).collect::<Vec<_>>();
    before.iter().flat_map(both).collect()
}

/// A character that every way of writing a log leaves as it is: no escape of JSON touches it.
fn plain(byte: u8) -> Option<char> {
    let fits = byte.is_ascii_alphanumeric() || b" -_.:=()[]".contains(&byte);
    fits.then(|| char::from(byte.to_ascii_lowercase()))
}

/// The characters of a small class, in lower case.
fn few(class: &Class) -> Option<Vec<String>> {
    let mut found: Vec<u8> = Vec::new();
    let ranges: Vec<(u8, u8)> = match class {
        Class::Bytes(class) => class
            .ranges()
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        Class::Unicode(class) => {
            let ascii = |range: &regex_syntax::hir::ClassUnicodeRange| {
                Some((u8::try_from(range.start()).ok()?, u8::try_from(range.end()).ok()?))
            };
            class.ranges().iter().map(ascii).collect::<Option<_>>()?
        }
    };
    for byte in ranges.into_iter().flat_map(|(start, end)| start..=end) {
        let byte = byte.to_ascii_lowercase();
        if !found.contains(&byte) {
            found.push(byte);
        }
        if found.len() > MOST_IN_CLASS {
            return None;
        }
    }
    found.into_iter().map(|byte| plain(byte).map(String::from)).collect()
}

/// The choice that is rarest in healthy logs: none of the common words, and its shortest one is longest.
fn best(choices: impl IntoIterator<Item = Vec<String>>) -> Option<Vec<String>> {
    let score = |words: &[String]| {
        let bare = |word: &str| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
        let common = words.iter().any(|word| COMMON.contains(&bare(word).as_str()));
        let shortest = words.iter().map(|word| bare(word).len()).min().unwrap_or(0);
        let whole = words.iter().map(String::len).min();
        // Of short words those are rarer that stand with what is around them.
        let around = whole.map(|length| length.min(8));
        let few = std::cmp::Reverse(words.len());
        (shortest >= SHORTEST).then_some((!common, shortest.min(8), around, few, whole))
    };
    choices
        .into_iter()
        .filter_map(|words| Some((score(&words)?, words)))
        .max_by_key(|(score, _)| *score)
        .map(|(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pattern: &str) -> Option<Vec<String>> {
        let hir = regex_syntax::ParserBuilder::new()
            .unicode(false)
            .utf8(false)
            .build()
            .parse(pattern)
            .unwrap();
        required(&hir)
    }

    fn check(pattern: &str, want: &[&str]) {
        assert_eq!(of(pattern).unwrap(), want, "{pattern}");
    }

    #[test]
    fn the_words_of_a_pattern_are_found() {
        check("timed out", &["timed out"]);
        check("(?i)Timed Out", &["timed out"]);
        check(
            r"(?i)\bconnection (?:refused|reset)\b",
            &["connection reset", "connection refused"],
        );
        check(
            r"(?i)\b[a-z]+ions? (?:refused|reset)\b",
            &["ion reset", "ions reset", "ion refused", "ions refused"],
        );
        check(r"^panic: .*index", &["panic: "]);
        check(r"(?:a{0,3}exhausted)+", &["exhausted"]);
        check(r"E(?:CONN|TIME)[A-Z]+", &["econn", "etime"]);
        check(r"(?i)error.*violates", &["violates"]);
        check(r#"file "[a-z]+" not found"#, &[" not found"]);
        check("error: ", &["error: "]);
        check(
            r"status[ :=]+50[24]\b",
            &[" 502", " 504", ":502", ":504", "=502", "=504"],
        );
    }

    #[test]
    fn a_pattern_without_one_has_none() {
        for pattern in [
            r"\d+ [A-Z]+",
            "ab",
            "(?:refused|no)",
            "(?:timeout)?",
            ".*",
            "é",
            r"[a-z]+@[a-z]+",
            r"\bat\b",
        ] {
            assert_eq!(of(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn the_shorter_word_is_enough() {
        let words = ["refused", "connection refused", "fatal", "use"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(least(words), ["use", "fatal"]);
    }
}
