//! The layer of configuration: what runners, checkers and automation are told, as data with a direction. Stricter is
//! not weaker.

mod beside;
mod cmake;
mod commands;
mod flags;
mod gradle;
mod groovy;
mod judge;
mod keyed;
mod keys;
mod known;
mod leak;
mod make;
mod moved;
mod read;
mod recipes;
mod rivals;
mod shell;
mod tools;

use super::{
    Diff, Hit, Kind,
    view::{File, Texts},
};
use crate::model::evidence::GuardVerdict;
use judge::Judged;
use moved::Moved;
use read::{Format, format, read};

pub(super) use beside::made_by;
pub(super) use read::Setting;
pub(super) use rivals::Rivals;

/// Findings, each with the index of its file.
pub(super) fn check(diff: &Diff, files: &[File<'_>]) -> Vec<(usize, Hit)> {
    let mut out = Vec::new();
    let texts = Texts::of(diff, files);
    let moved = Moved::of(diff, files);
    for (at, file) in files.iter().enumerate() {
        let mut judged = Judged::default();
        if is_script(file) && gates(diff, files, file) {
            script(file, &mut judged);
        } else if keys::is_gate(&file.normal)
            && !(file.change.old.is_none() && rivals::holds_for_nothing(diff, &file.normal))
        {
            gate(file, &texts, &moved, &mut judged);
        }
        if is_script(file) && judged.hits.is_empty() {
            judged.hits.extend(goes_on(file).or_else(|| excused(file)));
        }
        if is_script(file) || keys::is_gate(&file.normal) {
            judged
                .hits
                .extend(leak::check(file.old.unwrap_or_default(), file.new.unwrap_or_default()));
        }
        out.extend(judged.hits.into_iter().map(|hit| (at, hit)));
    }
    out.extend(rivals::check(diff, files, &texts));
    out.extend(beside::check(diff, files, &texts));
    out
}

/// All settings of a file of this name; none when no format reads it.
pub(super) fn read_settings(text: &str, name: &str) -> Option<Vec<Setting>> {
    let mut all = read(text, format(name)?)?;
    all.retain(|s| s.value != "[]" || s.is_element());
    Some(all)
}

fn gate(file: &File<'_>, texts: &Texts<'_>, moved: &Moved, out: &mut Judged) {
    let included;
    let (mut old, mut new) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    if recipes::is_make(file.name()) {
        let folder = super::answer::dir(&file.normal);
        included = (
            make::with_included(old, folder, |path| texts.was(path)),
            make::with_included(new, folder, |path| texts.is(path)),
        );
        (old, new) = (&included.0, &included.1);
    }
    if file.change.new.is_none() {
        let why = "what runs or checks the code is deleted";
        return out.weaker(why, 1, file.name(), "");
    }
    if recipes::compare(file.name(), old, new, out) && file.name() != "rakefile" {
        return;
    }
    if file.name() == "cmakelists.txt" {
        return cmake::compare(old, new, out);
    }
    if file.name().starts_with("build.gradle") {
        gradle::compare(old, new, out);
    }
    if matches!(file.name(), ".rspec" | ".rspec-local" | "maven.config") {
        return commands::program_options(old, new, out);
    }
    let Some(format) = format(file.name()) else {
        if file.change.old.is_some() {
            let hit = Hit::new(
                "gate-changed",
                GuardVerdict::NeedsHuman,
                "no rule reads this configuration".to_owned(),
            );
            out.hits.push(hit);
        }
        return;
    };
    // A file that was not there said nothing.
    let was = if file.change.old.is_none() {
        Some(Vec::new())
    } else {
        read(old, format)
    };
    let (Some(mut was), Some(mut is)) = (was, read(new, format)) else {
        let hit = Hit::new(
            "unreadable",
            GuardVerdict::NeedsHuman,
            "the configuration cannot be read".to_owned(),
        );
        out.hits.push(hit);
        return;
    };
    for setting in &mut was {
        moved.follow(&mut setting.value);
    }
    // The path of a target whose file is gone has to be another one.
    let gone: Vec<Vec<String>> = was
        .iter()
        .filter(|s| moved.is_gone(s))
        .map(|s| s.path.clone())
        .collect();
    was.retain(|s| !gone.contains(&s.path));
    is.retain(|s| !gone.contains(&s.path));
    let strict = !keys::is_manifest(&file.normal) && file.change.old.is_some() && file.name() != "rakefile";
    let place = judge::Place {
        name: file.name(),
        strict,
        stood: file.change.old.is_some(),
    };
    judge::settings(&was, &is, place, out);
    if let Format::Code(_) = format {
        let said = |all: &[Setting]| -> Vec<(Vec<String>, String)> {
            all.iter().map(|s| (s.path.clone(), s.value.clone())).collect()
        };
        code(old, new, file, strict, said(&was) == said(&is), out);
    }
}

/// A configuration that is a program may change where no setting stands.
fn code(old: &str, new: &str, file: &File<'_>, strict: bool, same: bool, out: &mut Judged) {
    let Some(grammar) = file.grammar else { return };
    let flat = |text: &str| {
        let ast = super::syntax::parse(text, grammar);
        ast.map(|a| a.flat(super::syntax::Ast::ROOT)).unwrap_or_default()
    };
    if strict && same && out.hits.is_empty() && flat(old) != flat(new) {
        let why = "the configuration changes where it is a program";
        out.hits
            .push(Hit::new("gate-changed", GuardVerdict::NeedsHuman, why.to_owned()));
    }
}

fn is_script(file: &File<'_>) -> bool {
    let shebang = |text: Option<&str>| {
        text.and_then(|t| t.lines().next())
            .is_some_and(|l| l.starts_with("#!") && (l.ends_with("sh") || l.contains("sh ")))
    };
    matches!(super::kind::extension(file.name()), "sh" | "bash" | "zsh")
        || shebang(file.old)
        || shebang(file.new)
        || in_hooks(file)
}

fn in_hooks(file: &File<'_>) -> bool {
    let dirs = [".husky/", ".githooks/", "githooks/", "git-hooks/", ".git/hooks/"];
    dirs.iter().any(|d| file.normal.contains(d))
}

/// Automation, hooks or agents start this script, or its name says that it checks something.
fn gates(diff: &Diff, files: &[File<'_>], file: &File<'_>) -> bool {
    let words = [
        "check",
        "guard",
        "lint",
        "test",
        "verify",
        "ci",
        "pre-commit",
        "pre-push",
        "hook",
        "protect",
        "validate",
        "gate",
        "audit",
        "coverage",
        "cover",
        "quality",
        "typecheck",
        "preflight",
        "enforce",
        "assert",
    ];
    let name = file.name();
    let named = name
        .split(|c: char| !c.is_alphanumeric())
        .any(|part| words.contains(&part) || words.iter().any(|w| part == format!("{w}s")));
    let started = || {
        let texts = diff.around.files.iter().filter_map(|(p, b)| {
            let path = super::path::normal(p);
            let starts = keys::is_gate(&path) || path.contains(".claude/") || path.contains(".husky/");
            starts.then(|| String::from_utf8_lossy(b).into_owned())
        });
        let changed = files
            .iter()
            .filter(|f| keys::is_gate(&f.normal))
            .filter_map(|f| f.old.map(str::to_owned));
        texts.chain(changed).any(|t| t.to_lowercase().contains(name))
    };
    in_hooks(file) || named || file.kind == Kind::Ci || started()
}

/// A script that stopped at the first failure, and no longer does.
fn goes_on(file: &File<'_>) -> Option<Hit> {
    let (old, new) = (file.old?, file.new?);
    let stops = |text: &str| {
        text.lines()
            .map(str::trim)
            .any(|l| l.starts_with("set -") && stop_flags(l))
    };
    let head = |text: &str| {
        text.lines()
            .next()
            .is_some_and(|l| l.starts_with("#!") && stop_flags(l))
    };
    let still = stops(new) || head(new) || new.contains("trap ");
    let line = old.lines().find(|l| l.trim().starts_with("set -")).unwrap_or_default();
    ((stops(old) || head(old)) && !still).then(|| {
        let why = "the script goes on after a failure".to_owned();
        Hit::new("swallowed-failure", GuardVerdict::Reject, why)
            .at(1)
            .change(line, "")
    })
}

/// A command that stood alone and may fail now: `tar … || true`. What clears away or looks whether something is there may.
fn excused(file: &File<'_>) -> Option<Hit> {
    let (old, new) = (file.old?, file.new?);
    let known: Vec<&str> = old.lines().map(str::trim).collect();
    let may = "\
        rm rmdir kill pkill docker podman umount grep egrep diff command which unset ls type mkdir true read pgrep \
        git id test [ [[ systemctl userdel groupdel ip iptables brew apt-get stty tput";
    new.lines().map(str::trim).enumerate().find_map(|(at, line)| {
        let command = ["|| true", "|| :", "|| exit 0"]
            .iter()
            .find_map(|e| line.strip_suffix(e))?
            .trim();
        let program = command.split_whitespace().find(|w| *w != "sudo")?;
        let excused = known.contains(&command) && !super::listed::listed(may, program);
        let why = "the failure of this command does not count any more".to_owned();
        excused.then(|| {
            Hit::new("swallowed-failure", GuardVerdict::Reject, why)
                .at(super::lines::number(at))
                .change(command, line)
        })
    })
}

/// `set -e`, `set -euo pipefail`, `set -o errexit`
fn stop_flags(line: &str) -> bool {
    let short = |w: &str| w.starts_with('-') && !w.starts_with("--") && w.contains('e');
    line.split_whitespace().any(|w| short(w) || w == "errexit")
}

fn script(file: &File<'_>, out: &mut Judged) {
    match (file.old, file.new, &file.change.new) {
        (Some(old), Some(new), _) => recipes::shell_script(old, new, out),
        (Some(_), None, None) => out.weaker("a script that checks something is deleted", 1, file.name(), ""),
        _ => {}
    }
    let own = in_hooks(file) || file.name().contains("guard") || file.name().contains("protect");
    if own {
        for hit in &mut out.hits {
            if hit.verdict == GuardVerdict::Reject {
                hit.rule = "self-tamper";
            }
        }
    }
}
