//! What settings run: options of a program and lines of a shell, held against each other word by word.

use std::collections::BTreeMap;

use super::{
    flags::{self, Change},
    judge::{Judged, key_of},
    keys::{Trend, trend},
    read::Setting,
    shell::{self, Command},
};

/// A string of options on both sides.
pub(super) fn options(name: &str, before: &[&Setting], after: &[&Setting], out: &mut Judged) {
    let join = |list: &[&Setting]| list.iter().map(|s| s.value.as_str()).collect::<Vec<_>>().join(" ");
    let (was, is) = (join(before), join(after));
    let command = |text: &str| {
        let found = shell::commands(&format!("options {text}"), shell::Default::Stops);
        found.into_iter().next()
    };
    let (Some(a), Some(b)) = (command(&was), command(&is)) else {
        return;
    };
    let line = after.first().or(before.first()).map_or(1, |s| s.line);
    match flags::compare(&a, &b) {
        Change::Weaker(why) => out.weaker(format!("{name}: {why}"), line, &was, &is),
        Change::Other => out.unknown("options change whose meaning is not known", line, &was, &is),
        Change::Same | Change::Stricter => {}
    }
}

/// A file that is nothing but options of its program.
pub(super) fn program_options(old: &str, new: &str, out: &mut Judged) {
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let command = |text: &str| {
        let found = shell::commands(&format!("options {}", joined(text)), shell::Default::Stops);
        found.into_iter().next()
    };
    let (Some(was), Some(is)) = (command(old), command(new)) else {
        return;
    };
    match flags::compare(&was, &is) {
        Change::Weaker(why) => out.weaker(why, 1, &joined(old), &joined(new)),
        Change::Other => out.unknown(
            "options change whose meaning is not known",
            1,
            &joined(old),
            &joined(new),
        ),
        Change::Same | Change::Stricter => {}
    }
}

/// Scripts in settings, by the job or task that they belong to.
pub(super) fn commands(old: &[Setting], new: &[Setting], out: &mut Judged) {
    let scripts = |settings: &[Setting]| {
        let mut jobs: BTreeMap<Vec<String>, Vec<Setting>> = BTreeMap::new();
        for setting in settings {
            if trend(&setting.path, &setting.value) == Trend::Command {
                jobs.entry(owner(&setting.path)).or_default().push(setting.clone());
            }
        }
        jobs
    };
    let (was, is) = (scripts(old), scripts(new));
    for (job, before) in &was {
        let empty = Vec::new();
        let after = is.get(job).unwrap_or(&empty);
        let text = |list: &[Setting]| list.iter().map(|s| s.value.as_str()).collect::<Vec<_>>().join("\n");
        if text(before) == text(after) {
            continue;
        }
        let line = after.first().or(before.first()).map_or(1, |s| s.line);
        script(&key_of(job), &parsed(job, before), &parsed(job, after), line, out);
    }
}

fn parsed(job: &[String], settings: &[Setting]) -> Vec<Command> {
    let default = if job.iter().any(|k| k == "scripts") {
        shell::Default::GoesOn
    } else {
        shell::Default::Stops
    };
    let one = |s: &Setting| {
        // tox: a dash before a command lets it fail.
        let lenient = s.value.trim_start().starts_with("- ");
        let text = s.value.trim_start().trim_start_matches("- ");
        shell::commands(text, default).into_iter().map(move |c| Command {
            counts: c.counts && !lenient,
            ..c
        })
    };
    settings.iter().flat_map(one).collect()
}

/// A job, a task, a hook: all commands below it run in turn.
fn owner(path: &[String]) -> Vec<String> {
    let at = path.iter().position(|p| {
        matches!(
            p.as_str(),
            "steps" | "script" | "run" | "commands" | "cmds" | "before_script" | "after_script" | "scripts"
        )
    });
    match at {
        Some(at) if path[at] == "scripts" => path.iter().take(at + 2).cloned().collect(),
        Some(at) => path[..at].to_vec(),
        None => path.iter().take(path.len().saturating_sub(1)).cloned().collect(),
    }
}

/// The checks of a script have to stand in the head's, at least as strict.
pub(super) fn script(name: &str, old: &[Command], new: &[Command], line: u32, out: &mut Judged) {
    let checks = |list: &[Command]| -> Vec<Command> { list.iter().filter(|c| flags::is_check(c)).cloned().collect() };
    let was = checks(old);
    let mut rest = checks(new);
    let mut left = Vec::new();
    // Those that stay as they are first, so that one is not taken for another.
    for command in was {
        match rest
            .iter()
            .position(|r| r.words == command.words && r.counts >= command.counts)
        {
            Some(at) => {
                rest.remove(at);
            }
            None => left.push(command),
        }
    }
    for command in left {
        let shown = command.words.join(" ").replace('\u{0}', "");
        if !command.counts {
            continue;
        }
        let best = (0..rest.len()).max_by_key(|n| flags::likeness(&command, &rest[*n]));
        let best = best.filter(|n| flags::likeness(&command, &rest[*n]) > 0);
        let Some(at) = best else {
            out.weaker(format!("{name} no longer runs it"), line, &shown, "");
            continue;
        };
        let other = rest.remove(at);
        let is = other.words.join(" ").replace('\u{0}', "");
        let turned = |c: &Command| c.words.iter().any(|w| w == shell::TURNED);
        if turned(&other) && !turned(&command) {
            out.weaker(format!("{name} takes a failure for success"), line, &shown, &is);
            continue;
        }
        match flags::compare(&command, &other) {
            Change::Weaker(why) => out.weaker(format!("{name}: {why}"), line, &shown, &is),
            Change::Other => out.unknown("a command changes in a way that is not known", line, &shown, &is),
            Change::Same | Change::Stricter => {}
        }
    }
}
