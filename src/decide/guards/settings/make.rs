//! Makefiles as targets with their commands, as make reads them: what stands later wins, and a few words change what a
//! failure is.

use super::{
    recipes::Targets,
    shell::{self, Command},
};
use crate::decide::guards::listed::listed;

/// Targets of make's own that say how others are made.
const SPECIAL: &str = "\
    .PHONY .SUFFIXES .DEFAULT .PRECIOUS .INTERMEDIATE .SECONDARY .SECONDEXPANSION .DELETE_ON_ERROR .IGNORE .SILENT \
    .EXPORT_ALL_VARIABLES .NOTPARALLEL .ONESHELL .POSIX .LOW_RESOLUTION_TIME .NOTINTERMEDIATE .WAIT";

/// Programs that run the lines which they are given.
const SHELLS: &str = "\
    sh bash zsh dash ash ksh fish busybox env pwsh powershell cmd cmd.exe bash.exe sh.exe pwsh.exe python python3 node \
    nu tcsh csh";

/// The rule that is being read.
#[derive(Default)]
struct Open {
    targets: Vec<String>,
    /// A line of its recipe was read.
    begun: bool,
    /// `::` rules stand beside each other.
    adds: bool,
}

/// Variables count as commands of their name: `FLAGS ?= -race`.
pub(super) fn make(text: &str) -> Targets {
    let mut out = Targets::new();
    let mut open = Open::default();
    let joined = text.replace("\\\n", " ");
    // make gives each line to a shell of its own, in which the last command alone counts.
    let stops = joined
        .lines()
        .any(|l| l.trim_start().starts_with(".SHELLFLAGS") && l.split_whitespace().any(is_stop_flag));
    let default = if stops {
        shell::Default::Stops
    } else {
        shell::Default::GoesOn
    };
    let mut lenient = Vec::new();
    let mut powerless = false;
    let mut conditions = 0_usize;
    for (at, raw) in joined.lines().enumerate() {
        let line = raw.trim_end();
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let word = line.split_whitespace().next().unwrap_or_default();
        match word {
            "ifdef" | "ifndef" | "ifeq" | "ifneq" => {
                conditions += 1;
                continue;
            }
            "endif" => {
                conditions = conditions.saturating_sub(1);
                continue;
            }
            _ => {}
        }
        if line.starts_with(['\t', ' ']) {
            recipe(&mut out, &mut open, line, default);
            for name in open.targets.iter().filter(|_| conditions > 0) {
                out.entry(name.clone()).or_default().conditional = true;
            }
            continue;
        }
        let number = u32::try_from(at + 1).unwrap_or(1);
        let assigned = ["?=", ":=", "+=", "="].iter().find_map(|op| line.split_once(op));
        if let Some((name, value)) = assigned.filter(|(name, _)| !name.contains(':') || line.contains(":=")) {
            let name = name.trim().trim_end_matches(':');
            powerless |= takes_power(name.trim_start_matches("export ").trim(), value);
            let target = out.entry(format!("variable {name}")).or_default();
            target.line = number;
            target
                .lines
                .extend(shell::commands(&format!("options {value}"), shell::Default::Stops));
        } else if let Some((names, needs)) = line.split_once(':') {
            let needs = needs.split('#').next().unwrap_or_default();
            rule(&mut out, &mut open, names, needs, number);
            if names.trim() == ".IGNORE" {
                let own: Vec<String> = needs.split_whitespace().map(str::to_owned).collect();
                powerless |= own.is_empty();
                lenient.extend(own);
            }
        }
    }
    out.retain(|name, _| !listed(SPECIAL, name));
    for (name, target) in &mut out {
        if !name.starts_with("variable ") && (powerless || lenient.contains(name)) {
            for line in &mut target.lines {
                line.counts = false;
            }
        }
    }
    out
}

fn recipe(out: &mut Targets, open: &mut Open, line: &str, default: shell::Default) {
    let body = line.trim_start();
    let marks: String = body.chars().take_while(|c| matches!(c, '-' | '@' | '+')).collect();
    let lenient = marks.contains('-');
    let found: Vec<Command> = shell::commands(&body[marks.len()..], default)
        .into_iter()
        .map(|c| Command {
            counts: c.counts && !lenient,
            ..c
        })
        .collect();
    for name in &open.targets {
        let target = out.entry(name.clone()).or_default();
        // The last recipe of a target is the one that is run.
        if !open.begun && !open.adds {
            target.lines.clear();
        }
        target.lines.extend(found.iter().cloned());
    }
    open.begun = true;
}

fn rule(out: &mut Targets, open: &mut Open, names: &str, needs: &str, line: u32) {
    open.adds = needs.starts_with(':');
    open.begun = false;
    let (needs, own) = needs
        .trim_start_matches(':')
        .split_once(';')
        .unwrap_or((needs.trim_start_matches(':'), ""));
    open.targets = names.split_whitespace().map(str::to_owned).collect();
    for name in &open.targets {
        let target = out.entry(name.clone()).or_default();
        target.line = line;
        target.needs.extend(needs.split_whitespace().map(str::to_owned));
    }
    if !own.trim().is_empty() {
        recipe(out, open, own, shell::Default::GoesOn);
    }
}

/// A value of one of make's own variables by which no line can fail any more.
fn takes_power(name: &str, value: &str) -> bool {
    let value = value.split('#').next().unwrap_or_default();
    let mut words = value.split_whitespace();
    match name {
        "SHELL" | "override SHELL" => {
            let program = words.next().unwrap_or_default();
            let base = program.rsplit('/').next().unwrap_or_default();
            let made = base.is_empty() || base.contains(['$', '(', ')']);
            !made && !listed(SHELLS, base)
        }
        "MAKEFLAGS" | "GNUMAKEFLAGS" | "override MAKEFLAGS" => words.enumerate().any(|(at, w)| {
            let long = [
                "--ignore-errors",
                "--just-print",
                "--dry-run",
                "--recon",
                "--touch",
                "--question",
            ];
            let letters = match w.strip_prefix('-') {
                Some(short) => !short.starts_with('-') && short.chars().all(|c| c.is_ascii_alphabetic()),
                None => at == 0 && w.chars().all(|c| c.is_ascii_lowercase()) && w.len() < 5,
            };
            long.contains(&w) || letters && w.trim_start_matches('-').contains(['i', 'n', 't', 'q'])
        }),
        _ => false,
    }
}

/// Targets that stand for no file.
pub(super) fn phony(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lists = joined
        .lines()
        .filter_map(|l| l.strip_prefix(".PHONY")?.trim_start().strip_prefix(':'));
    lists
        .flat_map(|l| {
            l.split('#')
                .next()
                .unwrap_or_default()
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// `-e`, `-ec`, `-euo`
fn is_stop_flag(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|flags| flags.contains('e') && flags.chars().all(|c| c.is_ascii_alphabetic()))
}

/// The text with the files that it includes, as far as they are known.
pub(super) fn with_included<'t>(text: &str, folder: &str, known: impl Fn(&str) -> Option<&'t str>) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let includes = matches!(words.first(), Some(&("include" | "-include" | "sinclude"))) && !line.starts_with('\t');
        let found: Vec<&str> = words[usize::from(includes)..]
            .iter()
            .filter(|_| includes)
            .filter_map(|w| {
                let path = if folder.is_empty() {
                    w.trim_start_matches("./").to_lowercase()
                } else {
                    format!("{folder}/{}", w.trim_start_matches("./").to_lowercase())
                };
                known(&path)
            })
            .collect();
        if found.is_empty() {
            out.push_str(line);
        } else {
            out.push_str(&found.join("\n"));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target's lines, those whose failure is none with a question mark.
    fn check(text: &str, target: &str, want: &str) {
        let found = make(text);
        let lines = found.get(target).map(|t| t.lines.as_slice()).unwrap_or_default();
        let shown: Vec<String> = lines
            .iter()
            .map(|c| {
                format!(
                    "{}{}",
                    c.words.join(" ").replace('\u{0}', ""),
                    if c.counts { "" } else { "?" }
                )
            })
            .collect();
        assert_eq!(shown.join(", "), want, "{text}");
    }

    #[test]
    fn the_last_recipe_counts_and_some_words_take_all_power() {
        check("test:\n\tpytest\n", "test", "pytest");
        check("test:\n\tpytest\ntest:\n\t@true\n", "test", "true");
        check("test:\n\tpytest\ntest: lint\n", "test", "pytest");
        check("test::\n\tpytest\ntest::\n\tmypy\n", "test", "pytest, mypy");
        check("SHELL = /bin/true\ntest:\n\tpytest\n", "test", "pytest?");
        check("SHELL := /bin/bash\ntest:\n\tpytest\n", "test", "pytest");
        check("SHELL := $(shell which bash)\ntest:\n\tpytest\n", "test", "pytest");
        check("MAKEFLAGS += -i\ntest:\n\tpytest\n", "test", "pytest?");
        check(
            "MAKEFLAGS += --no-print-directory -j4\ntest:\n\tpytest\n",
            "test",
            "pytest",
        );
        check(".IGNORE:\ntest:\n\tpytest\n", "test", "pytest?");
        check(".IGNORE: clean\ntest:\n\tpytest\n", "test", "pytest");
        check("test:\n\t! pytest\n", "test", "pytest !");
        check("lint test:\n\trun $@\n", "test", "run $@");
        check("test: ; pytest\n", "test", "pytest");
    }

    #[test]
    fn a_recipe_under_a_condition() {
        let conditional = |text: &str| make(text).get("test").is_some_and(|t| t.conditional);
        assert!(conditional("test:\nifdef FULL\n\tpytest\nendif\n"));
        assert!(!conditional("ifdef FULL\nARGS = -v\nendif\ntest:\n\tpytest\n"));
    }

    #[test]
    fn included_files_stand_where_they_are_named() {
        let known = |path: &str| (path == "sub/local.mk").then_some("test:\n\ttrue\n");
        let text = with_included("test:\n\tpytest\n-include local.mk\n", "sub", known);
        check(&text, "test", "true");
        let text = with_included("test:\n\tpytest\n-include .env\n", "sub", known);
        check(&text, "test", "pytest");
    }
}
