//! Guards: what a diff may not do, judged on the objects of two commits without model, clock or network. The hardest
//! finding is the verdict. Rules may only be added to by the configuration.

mod agents;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a tree of syntax has many kinds of nodes, and a rule names those that it is about"
)]
mod answer;
mod by_itself;
mod by_line;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a tree of syntax has many kinds of nodes, and a rule names those that it is about"
)]
mod code;
mod collect;
mod content;
mod data;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a tree of syntax has many kinds of nodes, and a rule names those that it is about"
)]
mod doubt;
mod executable;
mod golden;
mod grow;
mod hiding;
mod intro;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a tree of syntax has many kinds of nodes, and a rule names those that it is about"
)]
mod inventory;
mod items;
mod kind;
mod lex;
mod lines;
mod listed;
mod marks;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a tree of syntax has many kinds of nodes, and a rule names those that it is about"
)]
mod migrate;
pub mod patch;
mod path;
mod reached;
mod readonly;
mod secrets;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a tree of syntax has many kinds of nodes, and a rule names those that it is about"
)]
mod settings;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a tree of syntax has many kinds of nodes, and a rule names those that it is about"
)]
mod shadow;
mod split;
mod sql;
mod strings;
mod suite;
mod supply;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a tree of syntax has many kinds of nodes, and a rule names those that it is about"
)]
mod syntax;
mod view;
mod wanted;

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod data_tests;
#[cfg(test)]
mod figures_tests;
#[cfg(test)]
mod forms_tests;
#[cfg(test)]
mod marks_tests;
#[cfg(test)]
mod size_tests;
#[cfg(test)]
mod spelling_tests;
#[cfg(test)]
mod touched_tests;

pub use doubt::{answers_with_an_error, looks_at_source, only_adds};
pub use executable::{acts, check_nothing, is_executable};
pub use kind::{Kind, Kinds, Language};
pub use path::{BadGlob, PathSet, SENSITIVE, normal};
pub use reached::{Marked, called, marked};
pub use split::{Parts, split};
pub use wanted::{ROUNDS, Room, wanted};

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    model::evidence::{Finding, GuardReport, GuardVerdict},
    text::Redactor,
};
use content::visible;
use lines::Lines;

/// One changed path with both contents. A rename is a removal and an addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// As git holds it.
    pub path: Vec<u8>,
    pub old: Option<Side>,
    pub new: Option<Side>,
}

/// One side of a change. The bytes of a link are its target; a submodule has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    pub mode: u32,
    pub bytes: Vec<u8>,
}

impl FileChange {
    /// The path for people: one line, nothing hidden in it.
    pub fn shown(&self) -> String {
        visible(&String::from_utf8_lossy(&self.path))
    }
}

/// What is judged: the changed files, what stands around them, and what was asked for.
#[derive(Debug, Clone, Default)]
pub struct Diff {
    pub changes: Vec<FileChange>,
    /// Files whose change does not fit the base.
    pub unread: Vec<patch::Unread>,
    pub around: Around,
    pub ticket: Ticket,
}

impl Diff {
    /// Changes of which nothing else is known.
    pub fn of(changes: impl Into<Vec<FileChange>>) -> Self {
        Self {
            changes: changes.into(),
            ..Self::default()
        }
    }
}

/// The base beside the changed files, as far as the rules read it.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// Every path of the base, changed ones too.
    pub paths: BTreeSet<Vec<u8>>,
    /// Contents of those that [`wanted`] named.
    pub files: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// What the change was asked for. Without a word it is a bugfix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ticket {
    pub kind: TicketKind,
    /// Paths whose behaviour the ticket says will change.
    pub declared: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TicketKind {
    #[default]
    Bugfix,
    BehaviourChange,
}

#[derive(Debug, Clone)]
pub struct GuardPolicy {
    pub sensitive: PathSet,
    pub kinds: Kinds,
    /// Changed lines beyond which a person looks at the patch at all.
    pub diff_lines: u32,
    /// Changed lines beyond which nothing is merged unattended.
    pub diff_lines_merge: u32,
    pub max_files: u32,
    /// The diff is a fixer's: existing tests, snapshots, runner and CI configuration are read-only, and any change of
    /// a manifest is a person's.
    pub read_only_tests: bool,
    /// The diff is a person's, on a branch that they took over: nothing of it is refused, a person decides instead.
    persons: bool,
}

impl GuardPolicy {
    /// `sensitive` extends the built-in list.
    pub fn new<'a>(
        sensitive: impl IntoIterator<Item = &'a str>,
        diff_lines: u32,
        diff_lines_merge: u32,
    ) -> Result<Self, BadGlob> {
        Self::of_paths(PathSet::sensitive(sensitive)?, diff_lines, diff_lines_merge)
    }

    fn of_paths(sensitive: PathSet, diff_lines: u32, diff_lines_merge: u32) -> Result<Self, BadGlob> {
        Ok(Self {
            sensitive,
            kinds: Kinds::new([])?,
            diff_lines,
            diff_lines_merge,
            max_files: 25,
            read_only_tests: true,
            persons: false,
        })
    }

    /// For a person's own commits on a branch that was tick's.
    #[must_use]
    pub fn of_a_person(self) -> Self {
        Self { persons: true, ..self }
    }

    /// For a diff of anybody: what it weakens counts, and not who may touch what.
    pub fn anybody<'a>(sensitive: impl IntoIterator<Item = &'a str>) -> Result<Self, BadGlob> {
        Ok(Self {
            read_only_tests: false,
            ..Self::of_paths(PathSet::personal(sensitive)?, 400, 400)?
        })
    }
}

/// A finding before it knows its path.
#[derive(Debug, Clone)]
struct Hit {
    rule: &'static str,
    verdict: GuardVerdict,
    line: Option<u32>,
    was: String,
    is: String,
    why: String,
    /// What did it, in the words of the base and of the head, where that may stand in another line.
    by: [String; 2],
}

impl Hit {
    fn new(rule: &'static str, verdict: GuardVerdict, why: String) -> Self {
        Self {
            rule,
            verdict,
            line: None,
            was: String::new(),
            is: String::new(),
            why,
            by: [String::new(), String::new()],
        }
    }

    fn at(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    fn is(mut self, is: &str) -> Self {
        is.clone_into(&mut self.is);
        self
    }

    fn by(mut self, was: &str, is: &str) -> Self {
        self.by = [was.to_owned(), is.to_owned()];
        self
    }

    fn change(mut self, was: &str, is: &str) -> Self {
        was.clone_into(&mut self.was);
        self.is(is)
    }

    fn finding(self, path: &str) -> Finding {
        Finding {
            rule: self.rule.to_owned(),
            verdict: self.verdict,
            path: path.to_owned(),
            line: self.line,
            was: self.was,
            is: self.is,
            why: self.why,
        }
    }
}

/// Judges a diff. Quoted lines are redacted; findings are ordered by path.
pub fn judge(diff: &Diff, policy: &GuardPolicy, redactor: &Redactor) -> GuardReport {
    let changes = &diff.changes;
    let mut findings = Vec::new();
    let (mut added, mut removed) = (0_u32, 0_u32);
    let (mut counted_lines, mut counted_files) = (0_u32, 0_u32);
    let mut sorted: Vec<&FileChange> = changes.iter().collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    for change in &sorted {
        let normal = normal(&change.path);
        let kind = policy.kinds.of(&normal);
        let lines = Lines::of(change);
        let (more, less) = lines.counts();
        added = added.saturating_add(more);
        removed = removed.saturating_add(less);
        if kind != Kind::Lock {
            counted_lines = counted_lines.saturating_add(more).saturating_add(less);
            counted_files += 1;
        }
        let mut hits = Vec::new();
        if policy.read_only_tests {
            readonly::check(change, kind, &normal, &mut hits);
            by_itself::check(change, &normal, policy, &mut hits);
        }
        sensitive(&normal, kind, policy, &mut hits);
        content::check(change, &lines, redactor, &mut hits);
        let shown = redactor.redact(&change.shown());
        findings.extend(hits.into_iter().map(|hit| hit.finding(&shown)));
    }
    let read = if changes.len() > FILES {
        Vec::new()
    } else {
        layers(diff, policy)
    };
    for (at, hit) in read {
        let shown = redactor.redact(&changes[at].shown());
        findings.push(hit.finding(&shown));
    }
    findings.extend(diff.unread.iter().map(|unread| {
        let shown = redactor.redact(&visible(&String::from_utf8_lossy(&unread.path)));
        unreadable(&unread.error).finding(&shown)
    }));
    // By path; what stands for the diff as a whole comes last.
    findings.sort_by(|a: &Finding, b| a.path.cmp(&b.path));
    findings.dedup_by(|a, b| (&a.rule, &a.path, a.line) == (&b.rule, &b.path, b.line));
    findings.extend(
        size(counted_lines, counted_files, policy)
            .into_iter()
            .chain(too_many(changes.len()))
            .map(|hit| hit.finding("")),
    );
    for finding in &mut findings {
        if policy.persons {
            finding.verdict = finding.verdict.min(GuardVerdict::NeedsHuman);
        }
        finding.was = redactor.redact(&finding.was);
        finding.is = redactor.redact(&finding.is);
    }
    GuardReport {
        verdict: findings.iter().map(|f| f.verdict).max().unwrap_or(GuardVerdict::Accept),
        paths: sorted.iter().map(|c| redactor.redact(&c.shown())).collect(),
        findings,
        added,
        removed,
    }
}

/// Changed files that are held against each other; beyond, a person looks.
const FILES: usize = 5_000;

fn too_many(files: usize) -> Option<Hit> {
    let why = format!("{files} changed files, at most {FILES} are read as code; a person has to judge them");
    (files > FILES).then(|| Hit::new("too-large", GuardVerdict::NeedsHuman, why))
}

/// Findings of the layers that read what changed in a text, each with the index of its file.
fn layers(diff: &Diff, policy: &GuardPolicy) -> Vec<(usize, Hit)> {
    let files = view::files(diff, &policy.kinds);
    let trees = view::Trees::of(&files);
    let answers = answer::Answers::of(diff, &files, &trees);
    let mut hits = hiding::check(diff, &files);
    hits.extend(suite::check(diff, &policy.kinds, &files, &trees, &answers));
    hits.extend(golden::check(&files, &answers));
    hits.extend(settings::check(diff, &files));
    hits.extend(code::check(diff, &files, &trees));
    hits.extend(shadow::check(diff, &files, &trees));
    hits.extend(migrate::check(&files, &trees));
    hits.extend(supply::check(&files));
    hits.extend(agents::check(&files));
    hits
}

/// A patch that cannot be read, or a file that it does not fit, cannot be judged: a person looks at it.
fn unreadable(error: &patch::PatchError) -> Hit {
    Hit::new("unreadable", GuardVerdict::NeedsHuman, error.to_string())
}

/// The report on a text of which no change could be read.
pub fn unjudged(error: &patch::PatchError) -> GuardReport {
    let hit = unreadable(error);
    GuardReport {
        verdict: GuardVerdict::NeedsHuman,
        findings: vec![hit.finding("")],
        paths: Vec::new(),
        added: 0,
        removed: 0,
    }
}

fn sensitive(normal: &str, kind: Kind, policy: &GuardPolicy, hits: &mut Vec<Hit>) {
    if let Some(pattern) = policy.sensitive.hit(normal) {
        let why = format!("{} is on the list of sensitive paths", visible(pattern));
        hits.push(Hit::new("sensitive-path", GuardVerdict::NeedsHuman, why));
    }
    if !policy.read_only_tests {
        return;
    }
    let why = match kind {
        Kind::Manifest => "a manifest changes: what is installed, or how it is built",
        Kind::Lock => "a lock file changes: what is installed",
        Kind::Test(_) | Kind::Snapshot | Kind::Fixture | Kind::Runner | Kind::Ci | Kind::Source(_) => return,
    };
    hits.push(Hit::new("dependency-change", GuardVerdict::NeedsHuman, why.to_owned()));
}

fn size(lines: u32, files: u32, policy: &GuardPolicy) -> Vec<Hit> {
    let mut hits = Vec::new();
    if lines > policy.diff_lines {
        let why = format!(
            "{lines} changed lines, at most {} are judged unattended",
            policy.diff_lines
        );
        hits.push(Hit::new("diff-size", GuardVerdict::NeedsHuman, why));
    } else if lines > policy.diff_lines_merge {
        let why = format!(
            "{lines} changed lines, at most {} are merged unattended",
            policy.diff_lines_merge
        );
        hits.push(Hit::new("diff-size-merge", GuardVerdict::NeedsHuman, why));
    }
    if files > policy.max_files {
        let why = format!(
            "{files} changed files, at most {} are judged unattended",
            policy.max_files
        );
        hits.push(Hit::new("too-many-files", GuardVerdict::NeedsHuman, why));
    }
    hits
}
