//! The changed files as the layers see them: normalised path, kind, both texts, and what stands around them.

use std::collections::BTreeMap;

use super::{
    Diff, FileChange, Kind, Kinds, Side, content,
    path::normal,
    syntax::{Ast, Grammar, parse},
};

/// One changed file with its texts.
pub(super) struct File<'d> {
    pub(super) change: &'d FileChange,
    pub(super) normal: String,
    pub(super) kind: Kind,
    pub(super) grammar: Option<Grammar>,
    pub(super) old: Option<&'d str>,
    pub(super) new: Option<&'d str>,
}

impl File<'_> {
    pub(super) fn name(&self) -> &str {
        self.normal.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn is_source(&self) -> bool {
        matches!(self.kind, Kind::Source(_)) && !is_prose(self.name())
    }
}

/// Text that explains and does nothing.
pub(super) fn is_prose(name: &str) -> bool {
    matches!(
        super::kind::extension(name),
        "md" | "mdx" | "rst" | "txt" | "adoc" | "png" | "svg" | "jpg" | "gif" | "pdf"
    )
}

/// The changed files of a diff, in its order.
pub(super) fn files<'d>(diff: &'d Diff, kinds: &Kinds) -> Vec<File<'d>> {
    let text = |side: &'d Option<Side>| {
        let side = side
            .as_ref()
            .filter(|s| s.mode & 0o170_000 == 0o100_000 && !content::is_binary(s));
        side.and_then(|s| std::str::from_utf8(&s.bytes).ok())
    };
    let file = |change: &'d FileChange| {
        let normal = normal(&change.path);
        File {
            change,
            kind: kinds.of(&normal),
            grammar: Grammar::of(&normal),
            normal,
            old: text(&change.old),
            new: text(&change.new),
        }
    };
    diff.changes.iter().map(file).collect()
}

/// The texts of both sides by their paths: changed files, and those that stand around.
pub(super) struct Texts<'d> {
    old: BTreeMap<String, &'d str>,
    new: BTreeMap<String, &'d str>,
}

impl<'d> Texts<'d> {
    pub(super) fn of(diff: &'d Diff, files: &[File<'d>]) -> Self {
        let mut around = BTreeMap::new();
        for (path, bytes) in &diff.around.files {
            if let Ok(text) = std::str::from_utf8(bytes) {
                around.insert(normal(path), text);
            }
        }
        for file in files {
            around.remove(&file.normal);
        }
        let side = |text: fn(&File<'d>) -> Option<&'d str>| {
            let changed = files.iter().filter_map(|f| text(f).map(|t| (f.normal.clone(), t)));
            around.clone().into_iter().chain(changed).collect()
        };
        Self {
            old: side(|f| f.old),
            new: side(|f| f.new),
        }
    }

    pub(super) fn was(&self, path: &str) -> Option<&'d str> {
        self.old.get(path).copied()
    }

    pub(super) fn is(&self, path: &str) -> Option<&'d str> {
        self.new.get(path).copied()
    }
}

/// Bytes of text that become trees: a tree takes some forty times as much.
const TOTAL: usize = 3 << 20;

/// Trees of the texts that a grammar reads, by the index of the file.
pub(super) struct Trees<'d> {
    pub(super) old: BTreeMap<usize, Ast<'d>>,
    pub(super) new: BTreeMap<usize, Ast<'d>>,
}

impl<'d> Trees<'d> {
    pub(super) fn of(files: &[File<'d>]) -> Self {
        let mut trees = Self {
            old: BTreeMap::new(),
            new: BTreeMap::new(),
        };
        let mut room = TOTAL;
        for (at, file) in files.iter().enumerate() {
            let Some(grammar) = file.grammar else { continue };
            let mut read = |text: Option<&'d str>| {
                let text = text.filter(|t| t.len() <= room)?;
                room -= text.len();
                parse(text, grammar).map(|ast| (at, ast))
            };
            trees.old.extend(read(file.old));
            trees.new.extend(read(file.new));
        }
        trees
    }

    /// A text of this file is there and no tree of it: too large, or nested too deep.
    pub(super) fn lacks(&self, at: usize, file: &File<'_>) -> bool {
        let lacks = |text: Option<&str>, trees: &BTreeMap<usize, Ast<'_>>| text.is_some() && !trees.contains_key(&at);
        file.grammar.is_some() && (lacks(file.old, &self.old) || lacks(file.new, &self.new))
    }
}
