//! Rows of a table that a panic in one of them kept from running. Their names are not listed anywhere, so the test runs
//! again without the rows that are known: go's expressions have no "but", so the pattern says what differs from each.

use std::collections::{BTreeMap, BTreeSet};

use super::Ended;
use crate::{adapters::suite::Readout, model::evidence::TestStatus};

/// A longer pattern is not made: what it would find stays unknown.
const LONGEST: usize = 60_000;

impl Ended {
    /// Where rows may be left: the tests around each row that crashed, below the one that this run was about.
    pub(in super::super) fn tables(&self, about: Option<&str>) -> BTreeSet<String> {
        let around = self.crashed.iter().flat_map(|test| {
            let ends = test.match_indices('/').map(|(at, _)| at);
            ends.map(|at| test[..at].to_owned()).collect::<Vec<_>>()
        });
        let below = |table: &String| {
            about.is_none_or(|about| {
                let rest = table.strip_prefix(about);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        around.filter(below).collect()
    }

    /// The pattern of the rows of a table that have not run; none where it would be too long.
    pub(super) fn rows_left(&self, table: &str) -> Option<String> {
        let row = |test: &String| Some(test.strip_prefix(table)?.strip_prefix('/')?.to_owned());
        // A row whose name has a slash is known by its first part only when it is what crashed.
        let ran = self.ran.iter().filter_map(row).filter(|row| !row.contains('/'));
        let crashed = self.gone.iter().filter_map(row);
        let crashed = crashed.filter_map(|row| Some(row.split('/').next()?.to_owned()));
        let known: BTreeSet<String> = ran.chain(crashed).collect();
        let around = table.split('/').map(|part| format!("^{}$", regex::escape(part)));
        let pattern = around.chain([other_than(&known)]).collect::<Vec<_>>().join("/");
        (pattern.len() <= LONGEST).then_some(pattern)
    }
}

/// Matches every name but these.
fn other_than(names: &BTreeSet<String>) -> String {
    let mut next: BTreeMap<&str, BTreeSet<char>> = BTreeMap::from([("", BTreeSet::new())]);
    for name in names {
        for (at, letter) in name.char_indices() {
            next.entry(&name[..at]).or_default().insert(letter);
        }
        next.entry(name).or_default();
    }
    let mut ways = Vec::new();
    for (start, letters) in &next {
        let begun = regex::escape(start);
        let class: String = letters.iter().map(|letter| in_class(*letter)).collect();
        ways.push(match class.as_str() {
            "" => format!("{begun}.+"),
            class => format!("{begun}[^{class}].*"),
        });
        if !names.contains(*start) {
            ways.push(begun);
        }
    }
    format!("^(?:{})$", ways.join("|"))
}

fn in_class(letter: char) -> String {
    if matches!(letter, '\\' | ']' | '[' | '^' | '-' | '&' | '~') {
        format!("\\{letter}")
    } else {
        letter.to_string()
    }
}

/// Takes in what a run of rows said. The tests around them ran again for them: of what is known already only what is worse
/// counts.
pub(in super::super) fn add(known: &mut Readout, rows: Readout) {
    let is_bad = |status| matches!(status, TestStatus::Fail | TestStatus::Error);
    let (again, new): (Vec<_>, Vec<_>) = {
        let had: BTreeSet<&str> = known.tests.iter().map(|(id, _)| id.as_str()).collect();
        rows.tests.into_iter().partition(|(id, _)| had.contains(id.as_str()))
    };
    for (id, result) in again.into_iter().filter(|(_, result)| is_bad(result.status)) {
        let mut olds = known.tests.iter_mut().filter(|(other, _)| *other == id);
        if let Some((_, old)) = olds.find(|(_, old)| !is_bad(old.status)) {
            *old = result;
        }
    }
    known.tests.extend(new);
    known.load_errors.extend(rows.load_errors);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_matches_all_names_but_the_known_ones() {
        let known: BTreeSet<String> = ["none", "no", "a-b", "caf\u{e9}", "x[1]", "#00", "n"]
            .map(str::to_owned)
            .into();
        let pattern = regex::Regex::new(&other_than(&known)).unwrap();
        for name in &known {
            assert!(!pattern.is_match(name), "{name}");
        }
        for other in [
            "", "non", "nones", "nope", "a", "a-", "a-c", "caf", "cafe", "x[1", "x[2]", "#01", "m", "\u{e9}", "no_more",
        ] {
            assert!(pattern.is_match(other), "{other}");
        }
        let all = regex::Regex::new(&other_than(&BTreeSet::new())).unwrap();
        assert!(all.is_match("") && all.is_match("row"));
    }

    #[test]
    fn rows_are_left_around_what_crashed() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let ended = Ended {
            package: "acme/shop".to_owned(),
            ran: names(&["TestA", "TestA/one", "TestA/two", "TestA/two/deep", "TestB"]),
            crashed: names(&["TestA/two/deep"]),
            gone: names(&["TestA/two/deep"]),
        };
        assert_eq!(ended.tables(None), names(&["TestA", "TestA/two"]));
        assert_eq!(ended.tables(Some("TestA/two")), names(&["TestA/two"]));
        assert_eq!(ended.tables(Some("TestA/t")), names(&[]));
        let left = ended.rows_left("TestA/two").unwrap();
        assert!(left.starts_with("^TestA$/^two$/^(?:"), "{left}");
        let of_a = ended.rows_left("TestA").unwrap();
        let last = regex::Regex::new(of_a.rsplit('/').next().unwrap()).unwrap();
        assert!(last.is_match("three") && !last.is_match("two") && !last.is_match("one"));
        let top = Ended {
            crashed: names(&["TestA"]),
            ..ended
        };
        assert_eq!(top.tables(None), names(&[]));
    }
}
