//! Folders that got another name as a whole: a setting that names one follows it, and says nothing new.

use std::collections::{BTreeMap, BTreeSet};

use super::read::Setting;
use crate::decide::guards::{Diff, answer::dir, path::normal, view::File};

/// Old folder to new folder.
#[derive(Debug, Default)]
pub(super) struct Moved {
    folders: BTreeMap<String, String>,
    /// Files that the base had.
    gone: BTreeSet<String>,
}

impl Moved {
    pub(super) fn of(diff: &Diff, files: &[File<'_>]) -> Self {
        let gone: Vec<&File<'_>> = files.iter().filter(|f| f.change.new.is_none()).collect();
        let come: Vec<&File<'_>> = files.iter().filter(|f| f.change.old.is_none()).collect();
        if gone.is_empty() || come.is_empty() {
            return Self::default();
        }
        let all_gone = gone.iter().map(|f| f.normal.clone()).collect();
        let left: BTreeSet<&str> = gone.iter().map(|f| f.normal.as_str()).collect();
        let base: Vec<String> = diff.around.paths.iter().map(|p| normal(p)).collect();
        let below = |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let mut out = BTreeMap::new();
        let folders: BTreeSet<(&str, &str)> = gone
            .iter()
            .flat_map(|old| {
                let same = come.iter().filter(|new| new.name() == old.name());
                same.map(|new| (dir(&old.normal), dir(&new.normal)))
            })
            .filter(|(from, to)| from != to && !from.is_empty() && !to.is_empty())
            .collect();
        for (from, to) in folders {
            let stays = base.iter().any(|p| below(p, from) && !left.contains(p.as_str()));
            let was_there = base.iter().any(|p| below(p, to));
            let all = gone.iter().filter(|f| below(&f.normal, from)).all(|f| {
                let rest = &f.normal[from.len()..];
                come.iter().any(|c| c.normal.strip_prefix(to) == Some(rest))
            });
            if all && !stays && !was_there {
                out.insert(from.to_owned(), to.to_owned());
            }
        }
        Self {
            folders: out,
            gone: all_gone,
        }
    }

    /// The setting names a file that is not there any more, by its path.
    pub(super) fn is_gone(&self, setting: &Setting) -> bool {
        let path = setting.value.trim_start_matches("./").to_lowercase();
        let named = setting.path.last().is_some_and(|k| k == "path") && !path.is_empty();
        named && self.gone.iter().any(|g| *g == path || g.ends_with(&format!("/{path}")))
    }

    /// The value as it reads after the move.
    pub(super) fn follow(&self, value: &mut String) {
        for (from, to) in &self.folders {
            let at = value.strip_prefix("./").map_or(0, |_| 2) + usize::from(value.starts_with('/'));
            let rest = value.get(at..).and_then(|v| v.strip_prefix(from.as_str()));
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                value.replace_range(at..at + from.len(), to);
                return;
            }
        }
    }
}
