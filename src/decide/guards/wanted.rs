//! Which files of the base the rules read beside the changed ones. Asked again with what was read, until it names
//! nothing new.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashSet},
};

use foldhash::fast::RandomState;

use super::{
    Around, Diff, Kind, Kinds,
    answer::{dir, path_meant, paths_of, rough_imports, stem, tested_by},
    collect::is_config,
    path::{normal, spelled},
    settings::{Rivals, made_by},
    shadow::parents,
    syntax::Grammar,
};

/// What was read may name more to read, so often.
pub const ROUNDS: usize = 3;
/// Files that are read at most.
const MOST: usize = 400;
/// Of these, tests that did not change.
const TESTS: usize = 60;
/// Bytes of one file, and of all of them, that are read at most.
const LARGEST: u64 = 512 << 10;
const TOTAL: u64 = 8 << 20;

/// Bytes that may still be read. What there is no room for counts as empty.
#[derive(Debug)]
pub struct Room(u64);

impl Room {
    pub fn beside(around: &Around) -> Self {
        let held: usize = around.files.values().map(Vec::len).sum();
        Self(TOTAL.saturating_sub(u64::try_from(held).unwrap_or(u64::MAX)))
    }

    /// Whether a file of this size is read.
    pub fn takes(&mut self, size: u64) -> bool {
        let fits = size <= LARGEST.min(self.0);
        if fits {
            self.0 -= size;
        }
        fits
    }
}

/// A path of the base that was not read yet.
struct Candidate<'d> {
    path: &'d Vec<u8>,
    normal: Cow<'d, str>,
}

fn candidates(around: &Around) -> impl Iterator<Item = Candidate<'_>> {
    let fresh = around.paths.iter().filter(|p| !around.files.contains_key(*p));
    fresh.map(|path| Candidate {
        path,
        normal: spelled(path),
    })
}

/// Paths of the base, in the order in which they are to be read.
pub fn wanted(diff: &Diff) -> Vec<Vec<u8>> {
    let around = &diff.around;
    let mut out = Vec::new();
    // These follow from the changed paths alone, so the first round has them all.
    if around.files.is_empty() {
        let changed: Vec<String> = diff.changes.iter().map(|c| normal(&c.path)).collect();
        let candidates: Vec<Candidate<'_>> = candidates(around).collect();
        out.extend(configs(&candidates, &changed));
        out.extend(tests_of(&candidates, &changed));
        out.extend(beside(diff, &candidates));
    }
    out.extend(imported(diff));
    let mut seen = BTreeSet::new();
    out.retain(|path| seen.insert(*path));
    out.truncate(MOST.saturating_sub(around.files.len()));
    out.into_iter().cloned().collect()
}

/// Settings of runners in the folders above what changed.
fn configs<'d>(candidates: &[Candidate<'d>], changed: &[String]) -> Vec<&'d Vec<u8>> {
    let mut above: BTreeSet<&str> = BTreeSet::from([""]);
    for path in changed {
        above.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
    }
    let (rivals, makes) = (Rivals::of(changed), made_by(changed));
    let is_one = |c: &&Candidate<'d>| {
        let name = c.normal.rsplit('/').next().unwrap_or_default();
        (is_config(name) || rivals.has(&c.normal) || makes(&c.normal)) && above.contains(dir(&c.normal))
    };
    candidates.iter().filter(is_one).map(|c| c.path).collect()
}

/// Tests that were not changed, for sources that were: those of its name, then those nearest by.
fn tests_of<'d>(candidates: &[Candidate<'d>], changed: &[String]) -> Vec<&'d Vec<u8>> {
    let Ok(kinds) = Kinds::new([]) else { return Vec::new() };
    let mut sources: BTreeMap<Grammar, Vec<(&str, &str)>> = BTreeMap::new();
    for path in changed {
        if let Some(family) = family(path)
            && matches!(kinds.of(path), Kind::Source(_))
        {
            sources.entry(family).or_default().push((path, stem(path)));
        }
    }
    let mut found: Vec<(Reverse<usize>, &Candidate<'d>)> = Vec::new();
    for candidate in candidates {
        let test = &*candidate.normal;
        if let Some(sources) = family(test).and_then(|f| sources.get(&f)) {
            let tested = tested_by(test);
            let score =
                |(path, stem): &(&str, &str)| parts_in_common(test, path) + if tested == *stem { 100 } else { 0 };
            let best = sources.iter().map(score).max();
            found.push((Reverse(best.unwrap_or_default()), candidate));
        }
    }
    // Of many files few are looked at so closely, and put in order for it.
    let mut tests = Vec::new();
    let mut rest = found.as_mut_slice();
    while !rest.is_empty() && tests.len() < TESTS {
        let order = |a: &(Reverse<usize>, &Candidate<'_>), b: &(Reverse<usize>, &Candidate<'_>)| {
            (a.0, a.1.path).cmp(&(b.0, b.1.path))
        };
        let near = rest.len().min(4 * TESTS);
        if near < rest.len() {
            rest.select_nth_unstable_by(near, order);
        }
        let (next, others) = rest.split_at_mut(near);
        next.sort_unstable_by(order);
        let is_test = |c: &&Candidate<'d>| matches!(kinds.of(&c.normal), Kind::Test(_));
        tests.extend(next.iter().map(|(_, c)| *c).filter(is_test).map(|c| c.path));
        rest = others;
    }
    tests.truncate(TESTS);
    tests
}

/// How many folders two paths have in common, from the top; the name counts as one.
fn parts_in_common(a: &str, b: &str) -> usize {
    a.split('/').zip(b.split('/')).take_while(|(a, b)| a == b).count()
}

/// What a new file may be taken for, and what may name it.
fn beside<'d>(diff: &Diff, candidates: &[Candidate<'d>]) -> Vec<&'d Vec<u8>> {
    let mut meant = HashSet::new();
    for change in diff.changes.iter().filter(|c| c.old.is_none()) {
        let path = normal(&change.path);
        meant.extend(parents(&path).into_iter().flatten());
        let bare = path_meant(&path).to_owned();
        let mut rest = bare.as_str();
        while let Some((_, below)) = rest.split_once('/') {
            rest = below;
            meant.extend([format!("{rest}.py"), format!("src/{rest}.py")]);
        }
        for end in ["py", "ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts"] {
            meant.insert(format!("{bare}.{end}"));
        }
        meant.extend(path.strip_suffix("/__init__.py").map(|package| format!("{package}.py")));
        meant.remove(&path);
    }
    candidates
        .iter()
        .filter(|c| meant.contains(c.normal.as_ref()))
        .map(|c| c.path)
        .collect()
}

/// Files of one family import each other.
fn family(path: &str) -> Option<Grammar> {
    let grammar = Grammar::of(path)?;
    Some(if grammar.is_script() { Grammar::Tsx } else { grammar })
}

/// What changed files and files that were read import by its place.
fn imported(diff: &Diff) -> Vec<&Vec<u8>> {
    let changed = diff.changes.iter();
    let texts = changed
        .flat_map(|c| [&c.old, &c.new].into_iter().flatten().map(|s| (&c.path, &s.bytes)))
        .chain(&diff.around.files);
    let mut meant: HashSet<String, RandomState> = HashSet::default();
    for (path, bytes) in texts {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let from = normal(path);
            for import in rough_imports(text) {
                meant.extend(paths_of(&import, &from).into_iter().flatten());
            }
        }
    }
    if meant.is_empty() {
        return Vec::new();
    }
    let is_meant = |c: &Candidate<'_>| meant.contains(path_meant(&c.normal)) && Grammar::of(&c.normal).is_some();
    candidates(&diff.around).filter(is_meant).map(|c| c.path).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{FileChange, Side},
        *,
    };

    fn diff(changed: &[(&str, &str)], paths: &[&str]) -> Diff {
        let side = |text: &str| Side {
            mode: 0o100_644,
            bytes: text.as_bytes().to_vec(),
        };
        let change = |(path, text): &(&str, &str)| FileChange {
            path: path.as_bytes().to_vec(),
            old: None,
            new: Some(side(text)),
        };
        let mut diff = Diff::of(changed.iter().map(change).collect::<Vec<_>>());
        diff.around.paths = paths.iter().map(|p| p.as_bytes().to_vec()).collect();
        diff
    }

    fn names(diff: &Diff) -> Vec<String> {
        wanted(diff)
            .into_iter()
            .map(|p| String::from_utf8(p).unwrap())
            .collect()
    }

    #[test]
    fn settings_above_tests_near_and_what_is_imported() {
        let paths = [
            "package.json",
            "web/package.json",
            "other/package.json",
            "web/src/cart.ts",
            "web/src/money/index.ts",
            "web/src/tax.ts",
            "web/test/cart.test.ts",
            "web/test/tax.test.ts",
            "api/test_cart.py",
        ];
        let text = "import { sum } from './money';\nimport x from \"./tax.js\";\nimport y from 'cart';\n";
        let mut diff = diff(&[("web/src/cart.ts", text)], &paths);
        assert_eq!(
            names(&diff),
            [
                "package.json",
                "web/package.json",
                "web/test/cart.test.ts",
                "web/test/tax.test.ts",
                "web/src/money/index.ts",
                "web/src/tax.ts",
            ]
        );
        for path in wanted(&diff) {
            diff.around.files.insert(path, b"import '../src/cart';\n".to_vec());
        }
        assert_eq!(names(&diff), ["web/src/cart.ts"]);
    }

    #[test]
    fn there_is_room_for_so_much() {
        let mut around = Around::default();
        around.files.insert(b"a".to_vec(), vec![b'x'; 1 << 20]);
        let mut room = Room::beside(&around);
        assert!(!room.takes(LARGEST + 1));
        let taken = std::iter::repeat_with(|| room.takes(LARGEST))
            .take_while(|t| *t)
            .count();
        assert_eq!(u64::try_from(taken).unwrap(), (TOTAL - (1 << 20)) / LARGEST);
    }
}
