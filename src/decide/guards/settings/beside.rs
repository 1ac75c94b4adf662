//! What weakens a gate from beside its settings: lists of what a checker leaves out, a file of a target's name, a command
//! of a gate that takes tracked files away, a list of projects that is empty.

use globset::GlobBuilder;

use super::{judge::RULE, keys, make};
use crate::decide::guards::{
    Diff, Hit,
    answer::dir,
    lines::number,
    listed::listed,
    path::normal,
    syntax::{Ast, Kind, parse},
    view::{File, Texts},
};
use crate::model::evidence::GuardVerdict;

/// Files of checkers with one pattern a line.
const IGNORING: &str = "\
    .eslintignore .stylelintignore .semgrepignore .gitleaksignore .trivyignore .snyk .jshintignore .tslintignore \
    .flake8ignore .coverageignore .nycignore .c8ignore .rubocop_ignore .mypyignore .pylintignore .testignore \
    .mochaignore .jestignore .vitestignore .biomeignore .oxlintignore .swiftlintignore .golangciignore";

pub(super) fn check(diff: &Diff, files: &[File<'_>], texts: &Texts<'_>) -> Vec<(usize, Hit)> {
    let mut out = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let hits = [
            left_out(diff, file),
            taken_for_made(file, texts),
            taken_away(diff, file),
            no_projects(diff, file),
        ];
        out.extend(hits.into_iter().flatten().map(|hit| (at, hit)));
    }
    out
}

fn reject(why: String, line: usize, is: &str) -> Hit {
    Hit::new(RULE, GuardVerdict::Reject, why).at(number(line)).is(is)
}

/// A new pattern of a list of exceptions that fits a file of the base.
fn left_out(diff: &Diff, file: &File<'_>) -> Option<Hit> {
    if !listed(IGNORING, file.name()) {
        return None;
    }
    let old: Vec<&str> = file.old.unwrap_or_default().lines().map(str::trim).collect();
    let folder = dir(&file.normal);
    let (at, line) = file.new?.lines().map(str::trim).enumerate().find(|(_, line)| {
        let pattern = line.split('#').next().unwrap_or_default().trim();
        !pattern.is_empty() && !old.contains(line) && fits_base(diff, folder, pattern)
    })?;
    Some(reject(
        "a checker leaves out a file that it looked at".to_owned(),
        at,
        line,
    ))
}

/// Whether a pattern of a list of exceptions, or an argument of a command, means a file of the base.
fn fits_base(diff: &Diff, folder: &str, pattern: &str) -> bool {
    let bare = pattern.trim_start_matches("./").trim_end_matches('/').to_lowercase();
    let bare = bare
        .trim_start_matches('/')
        .trim_end_matches("/**")
        .trim_end_matches("/*");
    if bare.is_empty() || pattern.starts_with('!') {
        return false;
    }
    let anchored = bare.contains('/') || pattern.starts_with('/');
    let glob = GlobBuilder::new(bare).literal_separator(true).build().ok();
    let glob = glob.map(|g| g.compile_matcher());
    diff.around.paths.iter().any(|path| {
        let path = normal(path);
        let Some(rest) = within(&path, folder) else {
            return false;
        };
        let starts: Vec<usize> = rest.match_indices('/').map(|(at, _)| at).chain([rest.len()]).collect();
        starts.iter().any(|end| {
            let whole = &rest[..*end];
            let last = whole.rsplit('/').next().unwrap_or_default();
            let fits = |text: &str| text == bare || glob.as_ref().is_some_and(|g| g.is_match(text));
            fits(whole) || !anchored && fits(last)
        })
    })
}

fn within<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    if folder.is_empty() {
        return Some(path);
    }
    path.strip_prefix(folder)?.strip_prefix('/')
}

/// A new file with the name of a target: make takes the target for made already.
fn taken_for_made(file: &File<'_>, texts: &Texts<'_>) -> Option<Hit> {
    if file.change.old.is_some() || file.change.new.is_none() || file.name().contains('.') {
        return None;
    }
    let folder = dir(&file.normal);
    let makefile = ["gnumakefile", "makefile"].iter().find_map(|name| {
        let path = if folder.is_empty() {
            (*name).to_owned()
        } else {
            format!("{folder}/{name}")
        };
        texts.is(&path)
    })?;
    let name = file.name();
    let targets = make::make(makefile);
    let made = targets
        .get(name)
        .is_some_and(|t| t.needs.is_empty() && t.lines.iter().any(super::flags::is_check));
    let why = format!("make takes the target {name} for made, because a file has its name");
    (made && !make::phony(makefile).iter().any(|p| p == name)).then(|| reject(why, 0, name))
}

/// Commands that take a file away or write another one over it.
const TAKING: &str = "rm rimraf del del-cli mv unlink shred truncate git-rm rmdir";

/// A new command of a gate that takes tracked files away before it checks.
fn taken_away(diff: &Diff, file: &File<'_>) -> Option<Hit> {
    if !keys::is_gate(&file.normal) {
        return None;
    }
    let (old, new) = (file.old.unwrap_or_default(), file.new?);
    let folder = dir(&file.normal);
    new.lines().enumerate().find_map(|(at, line)| {
        if old.contains(line.trim().trim_end_matches(',')) {
            return None;
        }
        let words: Vec<&str> = line
            .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|' | '(' | ')' | ','))
            .filter(|w| !w.is_empty())
            .collect();
        let from = words.iter().position(|w| {
            let program = w.trim_start_matches(['@', '-']).rsplit('/').next().unwrap_or_default();
            listed(TAKING, program)
        })?;
        let taken = words[from + 1..]
            .iter()
            .filter(|w| !w.starts_with(['-', '$', '<', '>']) && **w != "*" && **w != ".")
            .any(|w| fits_base(diff, folder, w) && fits_whole(w));
        taken.then(|| {
            reject(
                "a command of the gate takes away a tracked file".to_owned(),
                at,
                line.trim(),
            )
        })
    })
}

/// A path or a pattern, and no bare word that happens to be a folder's name.
fn fits_whole(word: &str) -> bool {
    word.contains(['/', '.'])
}

/// A list of projects that has none: nothing of the tree is run.
fn no_projects(diff: &Diff, file: &File<'_>) -> Option<Hit> {
    let named = file.name().starts_with("vitest.workspace") || file.name().starts_with("vitest.projects");
    if !named || file.old == file.new || diff.around.paths.is_empty() {
        return None;
    }
    let ast = parse(file.new?, file.grammar?)?;
    let list = ast.walk(Ast::ROOT).find(|n| ast.kind(*n) == Kind::List)?;
    let why = "the list of projects is empty, so no test runs".to_owned();
    ast.kids(list).is_empty().then(|| reject(why, 0, &ast.shown(list)))
}

/// The makefile of a folder is read where a new file may stand for one of its targets.
pub(in crate::decide::guards) fn made_by(changed: &[String]) -> impl Fn(&str) -> bool {
    move |path| {
        let name = path.rsplit('/').next().unwrap_or_default();
        matches!(name, "makefile" | "gnumakefile")
            && changed
                .iter()
                .any(|c| dir(c) == dir(path) && !c.rsplit('/').next().unwrap_or_default().contains('.'))
    }
}
