//! Tests in languages that no grammar here reads: a person looks at every change of them. What can be told from the lines
//! alone is refused: fewer tests, fewer or weaker checks, marks that switch a test off.

use std::collections::BTreeMap;

use super::{
    Hit,
    kind::{extension, is_by_lines},
    lines::number,
    listed::{begins, listed},
    view::File,
};
use crate::model::evidence::GuardVerdict;

/// Words that leave a test out, or all others.
const OFF: &str = "\
    skip skipped xctskip xctskipif xctskipunless xctexpectfailure pending ignore ignored disabled \
    pendinguntilfixed todo only solo focus focused moduletag describetag xit xdescribe fit fdescribe xtest \
    gtest_skip marktestskipped knownissue withknownissue bail";

/// Words with which a line that checks something begins.
const CHECKS: &str = "assert refute expect xctassert xctunwrap should verify require check flunk fail";

/// Of these, what wants one value.
const EXACT: &str = "== === equal equals eq shouldbe tobe is is_deeply";

/// What lines are counted for, the rule that fewer of them break, and why.
type Rule = (fn(&Line<'_>) -> bool, &'static str, &'static str);

/// What the perl of tests and its like check with, as whole words.
const NAMED: &str = "\
    is isnt is_deeply ok like unlike cmp_ok isa_ok can_ok throws_ok dies_ok lives_ok";

/// Its lines are all that is judged of this file.
pub(super) fn reads(file: &File<'_>) -> bool {
    file.grammar.is_none() || is_by_lines(&file.normal)
}

/// Findings of one changed test file.
pub(super) fn check(file: &File<'_>, source_changes: bool) -> Vec<Hit> {
    let (Some(old), Some(new)) = (file.old, file.new) else {
        return Vec::new();
    };
    let (was, is) = (Text::of(old, file.name()), Text::of(new, file.name()));
    let reject = |rule, why: &str| Hit::new(rule, GuardVerdict::Reject, why.to_owned());
    let mut hits = Vec::new();
    for line in is.fresh(&was) {
        if line.switches_off() {
            let hit = reject("skip-added", "a word by which a test does not run is put into it");
            hits.push(hit.at(line.number).is(line.text));
        }
        if line.passes_anyway() && line.is_check() {
            let hit = reject("assertion-loosened", "the failure of a check does not count any more");
            hits.push(hit.at(line.number).is(line.text));
        }
    }
    let count = |text: &Text<'_>, what: fn(&Line<'_>) -> bool| text.lines.iter().filter(|l| what(l)).count();
    let first_lost = |what: fn(&Line<'_>) -> bool| {
        let lost = was.fresh(&is).into_iter().find(|l| what(l));
        lost.map_or(String::new(), |l| l.text.to_owned())
    };
    let rules: [Rule; 3] = [
        (|l| l.begins_test(), "test-deleted", "there are fewer tests than before"),
        (
            |l| l.is_check(),
            "assertion-removed",
            "there are fewer checks than before",
        ),
        (
            |l| l.is_exact(),
            "assertion-loosened",
            "fewer checks want one value than before",
        ),
    ];
    for (what, rule, why) in rules {
        if count(&is, what) < count(&was, what) && hits.is_empty() {
            hits.push(reject(rule, why).change(&first_lost(what), ""));
        }
    }
    if hits.is_empty() && !source_changes {
        hits.extend(rewritten(&was, &is));
    }
    hits
}

/// Everything that the file checked stands in it still: as many tests and checks, none switched off, and what its lost
/// lines held is held by the new ones. Where nothing is lost, what comes is tests of its own or checks.
pub(super) fn keeps_all(file: &File<'_>) -> bool {
    let (Some(old), Some(new)) = (file.old, file.new) else {
        return false;
    };
    let (was, is) = (Text::of(old, file.name()), Text::of(new, file.name()));
    let (lost, gained) = (was.fresh(&is), is.fresh(&was));
    let off = |l: &&Line<'_>| l.switches_off() || l.passes_anyway() || l.leaves();
    if gained.iter().any(off) {
        return false;
    }
    let count = |text: &Text<'_>, what: fn(&Line<'_>) -> bool| text.lines.iter().filter(|l| what(l)).count();
    let counts: [fn(&Line<'_>) -> bool; 3] = [|l| l.begins_test(), |l| l.is_check(), |l| l.is_exact()];
    let untested = !is.lines.iter().any(Line::begins_test);
    if untested || counts.iter().any(|what| count(&is, *what) < count(&was, *what)) {
        return false;
    }
    if lost.is_empty() {
        return gained.first().is_some_and(|l| l.begins_test()) || gained.iter().all(|l| l.is_check());
    }
    // The same line with another value is another expectation, wherever that value stood before.
    let same_frame = |l: &Line<'_>| gained.iter().any(|g| g.frame == l.frame);
    if lost.iter().any(|l| same_frame(l)) {
        return false;
    }
    let mut values: Vec<&str> = gained.iter().flat_map(|l| l.values()).collect();
    let words: Vec<String> = gained.iter().flat_map(|l| l.words().map(|(_, w)| w)).collect();
    lost.iter().filter(|l| !l.is_narrowed(&gained)).all(|l| {
        let kept = l.values().into_iter().all(|v| {
            let at = values.iter().position(|have| *have == v);
            at.map(|at| values.swap_remove(at)).is_some()
        });
        kept && l.words().all(|(_, w)| words.contains(&w))
    })
}

/// The file goes on under a name that its runner does not look for.
pub(super) fn uncollected(files: &[File<'_>], at: usize) -> Option<Hit> {
    let file = &files[at];
    let old = file.old.filter(|_| file.change.new.is_none())?;
    let ending = [
        "_test.exs",
        ".bats",
        "tests.swift",
        "test.swift",
        "_test.dart",
        "test.scala",
        "spec.scala",
        ".t",
    ]
    .into_iter()
    .find(|e| file.name().ends_with(e))?;
    let known: Vec<&str> = old.lines().map(str::trim).filter(|l| l.len() > 3).collect();
    let goes_on = files.iter().find(|f| {
        let text = f.new.filter(|_| f.change.old.is_none()).unwrap_or_default();
        let kept = known.iter().filter(|l| text.contains(**l)).count();
        extension(f.name()) == extension(file.name()) && 2 * kept > known.len()
    })?;
    let why = "the runner does not find the file under its new name";
    (!goes_on.name().ends_with(ending))
        .then(|| Hit::new("test-uncollected", GuardVerdict::Reject, why.to_owned()).change(file.name(), goes_on.name()))
}

/// A check that is the same but for the values in it, while nothing that it tests changes.
fn rewritten(was: &Text<'_>, is: &Text<'_>) -> Option<Hit> {
    let lost = was.fresh(is);
    let gained = is.fresh(was);
    let pair = lost.iter().zip(&gained).find(|(a, b)| {
        let values = a.frame != b.frame || a.text != b.text;
        values && a.frame == b.frame && (a.is_check() || a.frame.contains("\"\""))
    });
    let why = "a value that the test works with is another one, and nothing that it tests changes";
    pair.filter(|_| lost.len() == gained.len()).map(|(a, b)| {
        Hit::new("expectation-rewritten", GuardVerdict::Reject, why.to_owned())
            .at(b.number)
            .change(a.text, b.text)
    })
}

struct Line<'t> {
    number: u32,
    text: &'t str,
    /// Without what stands in quotes, and without numbers.
    frame: String,
    shell: bool,
}

struct Text<'t> {
    lines: Vec<Line<'t>>,
}

impl<'t> Text<'t> {
    fn of(text: &'t str, name: &str) -> Self {
        let shell = matches!(extension(name), "bats" | "sh" | "bash");
        let lines = text.lines().enumerate().map(|(at, line)| Line {
            number: number(at),
            text: line.trim(),
            frame: frame(line.trim()),
            shell,
        });
        let comment = |l: &Line<'_>| l.text.is_empty() || begins_comment(l.text);
        Self {
            lines: lines.filter(|l| !comment(l)).collect(),
        }
    }

    /// Lines of this text that the other one has less often.
    fn fresh(&self, other: &Self) -> Vec<&Line<'t>> {
        let mut had: BTreeMap<&str, usize> = BTreeMap::new();
        for line in &other.lines {
            *had.entry(line.text).or_default() += 1;
        }
        let new = |line: &&Line<'_>| match had.get_mut(line.text).filter(|n| **n > 0) {
            Some(n) => {
                *n -= 1;
                false
            }
            None => true,
        };
        self.lines.iter().filter(new).collect()
    }
}

/// Numbers of a text without quotes.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_')));
    parts
        .map(|w| w.trim_matches('.'))
        .filter(|w| w.starts_with(|c: char| c.is_ascii_digit()))
}

fn begins_comment(line: &str) -> bool {
    ["//", "# ", "#!", "--", "/*", "* ", ";;"]
        .iter()
        .any(|c| line.starts_with(c))
}

/// The line without texts and numbers.
fn frame(line: &str) -> String {
    let mut out = String::new();
    let mut quote: Option<char> = None;
    for c in line.chars() {
        match quote {
            Some(q) if c == q => {
                quote = None;
                out.push(c);
            }
            Some(_) => {}
            None if matches!(c, '"' | '\'') => {
                quote = Some(c);
                out.push(c);
            }
            None if c.is_ascii_digit() => out.push('0'),
            None => out.push(c),
        }
    }
    while out.contains("00") {
        out = out.replace("00", "0");
    }
    out
}

impl Line<'_> {
    /// Words outside of texts, with what stands before each.
    fn words(&self) -> impl Iterator<Item = (Option<char>, String)> + '_ {
        let frame = &self.frame;
        frame
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|w| !w.is_empty())
            .map(move |w| {
                let at = w.as_ptr().addr() - frame.as_ptr().addr();
                (frame[..at].chars().next_back(), w.to_lowercase())
            })
    }

    fn switches_off(&self) -> bool {
        let off = |(before, word): (Option<char>, String)| match before {
            // A method of the product may have any name; a trait of a test stands in parentheses.
            Some('.') => word == "disabled" && self.frame.contains("(.disabled"),
            // googletest leaves out what has a name like this.
            _ => listed(OFF, &word) || word.starts_with("disabled_") && self.begins_test(),
        };
        self.words().any(off) && !self.is_check()
    }

    /// It ends the test or what stands around it.
    fn leaves(&self) -> bool {
        self.words().any(|(before, w)| {
            before != Some('.') && matches!(w.as_str(), "return" | "exit" | "throw" | "stub" | "mock")
        }) || self.frame.contains("set +e")
    }

    /// What stands in quotes, and numbers.
    fn values(&self) -> Vec<&str> {
        let mut out = Vec::new();
        let mut rest = self.text;
        while let Some(from) = rest.find(['"', '\'']) {
            let quote = &rest[from..=from];
            let inner = &rest[from + 1..];
            out.extend(numbers(&rest[..from]));
            let Some(to) = inner.find(quote) else { break };
            out.push(&inner[..to]);
            rest = &inner[to + 1..];
        }
        out.extend(numbers(rest));
        out
    }

    /// A shell's "not this" became "that": `[ "$status" -ne 0 ]`, then `[ "$status" -eq 66 ]`.
    fn is_narrowed(&self, gained: &[&Self]) -> bool {
        let halves = |l: &str, ops: &[&str]| ops.iter().find_map(|o| l.split_once(o)).map(|(a, _)| a.to_owned());
        let not = halves(self.text, &[" -ne ", " != "]).filter(|_| self.shell);
        let is = |l: &&Self| halves(l.text, &[" -eq ", " = ", " == "]);
        not.is_some_and(|n| gained.iter().filter_map(is).any(|g| g == n))
    }

    fn passes_anyway(&self) -> bool {
        ["|| true", "|| :", "try?"].iter().any(|w| self.frame.contains(w))
    }

    fn is_check(&self) -> bool {
        let first = self.words().next().map_or(String::new(), |(_, w)| w);
        let looks = ["[ ", "[[ ", "test ", "diff ", "cmp "];
        let searches = || self.text.contains("grep -") && !self.text.contains("$(");
        let tests = self.shell && (looks.iter().any(|w| self.text.starts_with(w)) || searches());
        tests || begins(CHECKS, &first) || listed(NAMED, &first) || self.frame.contains(" should ")
    }

    fn is_exact(&self) -> bool {
        let first = self.words().next().map_or(String::new(), |(_, w)| w);
        let equal = [" == ", " === ", " = ", " eq ", " -eq "]
            .iter()
            .any(|w| self.frame.contains(w));
        let named = first.contains("equal") || first.ends_with("_eq") || self.words().any(|(_, w)| listed(EXACT, &w));
        self.is_check() && (equal || named)
    }

    fn begins_test(&self) -> bool {
        let starts = [
            "test ",
            "test(",
            "@test ",
            "it ",
            "it(",
            "func test",
            "TEST(",
            "TEST_F(",
            "TEST_P(",
            "testWidgets(",
            "property ",
            "@Test",
            "TEST_CASE(",
            "specify ",
        ];
        starts.iter().any(|s| self.text.starts_with(s)) || self.text.contains(" in {")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'t>(old: &'t str, new: &'t str) -> (Text<'t>, Text<'t>) {
        (Text::of(old, "a_test.exs"), Text::of(new, "a_test.exs"))
    }

    #[test]
    fn a_mark_switches_off_and_a_method_of_that_name_does_not() {
        let (was, is) = texts(
            "  test \"a\" do",
            "  @tag :skip\n  test \"a\" do\n  list.skip(2)\n  \"skip\"",
        );
        let off: Vec<&str> = is
            .fresh(&was)
            .iter()
            .filter(|l| l.switches_off())
            .map(|l| l.text)
            .collect();
        assert_eq!(off, ["@tag :skip"]);
    }

    #[test]
    fn checks_and_marks_of_other_runners() {
        let (was, is) = texts("is(f(1), 2);\nTEST(A, B) {", "ok(1);\nTEST(A, DISABLED_B) {");
        assert!(was.lines[0].is_exact() && is.lines[0].is_check() && !is.lines[0].is_exact());
        assert!(is.lines[1].switches_off() && !was.lines[1].switches_off());
        let (_, is) = texts("", "island = disabled_rows(2)");
        assert!(!is.lines[0].is_check() && !is.lines[0].switches_off());
    }

    #[test]
    fn values_are_no_part_of_the_frame() {
        assert_eq!(frame("assert total(\"a b\") == 2400"), "assert total(\"\") == 0");
        let (was, is) = texts("assert total == 24", "assert total == 25");
        assert!(rewritten(&was, &is).is_some());
    }
}
