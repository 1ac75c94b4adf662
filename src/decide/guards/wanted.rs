//! Which files of the base the rules read beside the changed ones. Asked again with what was read, until it names
//! nothing new.

use super::{
    Diff, Kind, Kinds,
    answer::{dir, is_named_after, names, rough_imports},
    collect::is_config,
    path::normal,
    syntax::Grammar,
};

/// What was read may name more to read, so often.
pub const ROUNDS: usize = 3;
/// Files that are read at most.
const MOST: usize = 400;
/// Of these, tests that did not change.
const TESTS: usize = 60;

pub fn wanted(diff: &Diff) -> Vec<Vec<u8>> {
    let around = &diff.around;
    let changed: Vec<String> = diff.changes.iter().map(|c| normal(&c.path)).collect();
    let mut out = Vec::new();
    for path in &around.paths {
        if around.files.contains_key(path) || out.len() + around.files.len() >= MOST {
            continue;
        }
        let plain = normal(path);
        let name = plain.rsplit('/').next().unwrap_or_default();
        let above = |other: &String| dir(&plain).is_empty() || other.starts_with(&format!("{}/", dir(&plain)));
        if is_config(name) && changed.iter().any(above) {
            out.push(path.clone());
        }
    }
    out.extend(tests_of(diff, &changed, &out));
    out.extend(imported(diff, &out));
    out
}

/// Tests that were not changed, for sources that were: those of its name, then those nearest by.
fn tests_of(diff: &Diff, changed: &[String], already: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let Ok(kinds) = Kinds::new([]) else { return Vec::new() };
    let sources: Vec<&String> = changed
        .iter()
        .filter(|p| Grammar::of(p).is_some() && matches!(kinds.of(p), Kind::Source(_)))
        .collect();
    if sources.is_empty() {
        return Vec::new();
    }
    let near = |test: &str| {
        let score = |source: &&String| {
            let common = test
                .split('/')
                .zip(source.split('/'))
                .take_while(|(a, b)| a == b)
                .count();
            common + if is_named_after(test, source) { 100 } else { 0 }
        };
        sources
            .iter()
            .filter(|s| Grammar::of(s) == Grammar::of(test) || both_script(s, test))
            .map(score)
            .max()
    };
    let mut found: Vec<(usize, &Vec<u8>)> = diff
        .around
        .paths
        .iter()
        .filter(|p| !diff.around.files.contains_key(*p) && !already.contains(p))
        .filter_map(|p| {
            let plain = normal(p);
            let test = Grammar::of(&plain).is_some() && matches!(kinds.of(&plain), Kind::Test(_));
            near(&plain).filter(|_| test).map(|score| (score, p))
        })
        .collect();
    found.sort_by_key(|(score, path)| (std::cmp::Reverse(*score), *path));
    let had = diff
        .around
        .files
        .keys()
        .filter(|p| matches!(kinds.of(&normal(p)), Kind::Test(_)))
        .count();
    found
        .into_iter()
        .take(TESTS.saturating_sub(had))
        .map(|(_, p)| p.clone())
        .collect()
}

fn both_script(a: &str, b: &str) -> bool {
    let script = |p: &str| Grammar::of(p).is_some_and(Grammar::is_script);
    script(a) && script(b)
}

/// What changed files and files that were read import.
fn imported(diff: &Diff, already: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let texts = diff
        .changes
        .iter()
        .filter_map(|c| c.new.as_ref().map(|s| (&c.path, &s.bytes)))
        .chain(&diff.around.files);
    let mut imports = Vec::new();
    for (path, bytes) in texts {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let from = normal(path);
            imports.extend(rough_imports(text).into_iter().map(|i| (from.clone(), i)));
        }
    }
    let room = MOST.saturating_sub(diff.around.files.len() + already.len());
    let fresh = diff
        .around
        .paths
        .iter()
        .filter(|p| !diff.around.files.contains_key(*p) && !already.contains(p));
    fresh
        .filter(|p| {
            let plain = normal(p);
            Grammar::of(&plain).is_some()
                && imports
                    .iter()
                    .any(|(from, i)| i.starts_with('.') && names(i, from, &plain))
        })
        .take(room)
        .cloned()
        .collect()
}
