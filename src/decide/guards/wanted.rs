//! Which files of the base the rules read beside the changed ones. Asked again with what was read, until it names
//! nothing new.

use super::{
    Diff,
    answer::{dir, names, rough_imports},
    collect::is_config,
    path::normal,
};

/// Files that are read at most.
const MOST: usize = 400;

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
    out.extend(imported(diff, &out));
    out
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
    let fresh = diff.around.paths.iter().filter(|p| !diff.around.files.contains_key(*p) && !already.contains(p));
    fresh
        .filter(|p| {
            let plain = normal(p);
            super::syntax::Grammar::of(&plain).is_some() && imports.iter().any(|(from, i)| i.starts_with('.') && names(i, from, &plain))
        })
        .take(room)
        .cloned()
        .collect()
}
