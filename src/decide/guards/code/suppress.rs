//! Rule `suppression-added`: comments and marks by which a checker is told to be silent. What only moves is no new one.

use std::collections::BTreeMap;

use super::super::{
    Diff, Hit, Kind as FileKind,
    lines::number,
    path::normal,
    syntax::{Ast, Grammar, Kind},
    view::{File, Trees},
};
use crate::model::evidence::GuardVerdict;

const RULE: &str = "suppression-added";

/// How much a suppression hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// One rule at one place.
    One,
    /// All rules, a whole file, or several rules.
    Blanket,
}

#[derive(Debug, Clone)]
struct Suppression {
    /// To count the same ones on both sides.
    key: String,
    line: u32,
    shown: String,
    reach: Reach,
    reason: bool,
}

pub(super) fn check(diff: &Diff, files: &[File<'_>], trees: &Trees<'_>) -> Vec<(usize, Hit)> {
    let mut had: BTreeMap<String, usize> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        for found in suppressions(file, file.old, trees.old.get(&at)) {
            *had.entry(found.key).or_default() += 1;
        }
    }
    let denied = denied(diff, files);
    let mut fresh = Vec::new();
    for (at, file) in files.iter().enumerate() {
        for found in suppressions(file, file.new, trees.new.get(&at)) {
            match had.get_mut(&found.key).filter(|n| **n > 0) {
                Some(n) => *n -= 1,
                None => fresh.push((at, found)),
            }
        }
    }
    let many = fresh.len() > 1;
    let judge = |(at, found): (usize, Suppression)| {
        let test = matches!(files[at].kind, FileKind::Test(_));
        if test && found.reason && found.key.contains("@ts-expect-error") {
            return None;
        }
        let lint = denied.iter().any(|lint| found.key.contains(lint.as_str()));
        let (verdict, why) = if found.reach == Reach::Blanket {
            (
                GuardVerdict::Reject,
                "a checker is silenced for more than one rule at one place",
            )
        } else if lint {
            (GuardVerdict::Reject, "a lint that the project denies is allowed")
        } else if many && !found.reason {
            (
                GuardVerdict::Reject,
                "checkers are silenced at several places without a reason",
            )
        } else {
            (
                GuardVerdict::NeedsHuman,
                "a checker is silenced for one rule at one place",
            )
        };
        Some((
            at,
            Hit::new(RULE, verdict, why.to_owned()).at(found.line).is(&found.shown),
        ))
    };
    fresh.into_iter().filter_map(judge).collect()
}

/// Lints that a manifest or a file denies.
fn denied(diff: &Diff, files: &[File<'_>]) -> Vec<String> {
    let around = diff
        .around
        .files
        .iter()
        .filter(|(p, _)| normal(p).ends_with("cargo.toml"));
    let mut texts: Vec<String> = around.map(|(_, b)| String::from_utf8_lossy(b).into_owned()).collect();
    texts.extend(
        files
            .iter()
            .filter(|f| f.name() == "cargo.toml")
            .filter_map(|f| f.old.map(str::to_owned)),
    );
    let mut out = Vec::new();
    for text in texts {
        for line in text.lines() {
            let Some((name, value)) = line.split_once('=') else {
                continue;
            };
            if value.contains("\"deny\"") || value.contains("\"forbid\"") {
                out.push(name.trim().to_owned());
            }
        }
    }
    for file in files {
        for line in file.old.unwrap_or_default().lines() {
            let inner = line
                .trim()
                .strip_prefix("#![deny(")
                .or(line.trim().strip_prefix("#![forbid("));
            if let Some(list) = inner.and_then(|l| l.split(')').next()) {
                out.extend(
                    list.split(',')
                        .map(|l| l.trim().trim_start_matches("clippy::").to_owned()),
                );
            }
        }
    }
    out
}

fn suppressions(file: &File<'_>, text: Option<&str>, ast: Option<&Ast<'_>>) -> Vec<Suppression> {
    let Some(text) = text else { return Vec::new() };
    let mut out = Vec::new();
    if let Some(ast) = ast {
        for id in ast.comments() {
            let start = ast.line(*id);
            for (n, line) in ast.source(*id).lines().enumerate() {
                let own = is_own_line(ast, *id);
                out.extend(comment(line, start + u32::try_from(n).unwrap_or(0), own));
            }
        }
        for id in ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Mark) {
            out.extend(mark(ast, id));
        }
        if ast.grammar == Grammar::Kotlin {
            out.extend(of_file(text));
        }
    } else if file.is_source() || matches!(file.kind, FileKind::Test(_)) {
        for (at, line) in text.lines().enumerate() {
            let begins = ["//", "#", "--", "/*", "<!--", "%", ";"];
            let place = begins.iter().filter_map(|b| line.find(b)).min();
            if let Some(place) = place {
                out.extend(comment(&line[place..], number(at), line[..place].trim().is_empty()));
            }
        }
    }
    out
}

/// Kotlin: `@file:Suppress("…")`
fn of_file(text: &str) -> Vec<Suppression> {
    let lines = text.lines().enumerate();
    let found = lines.filter(|(_, l)| l.trim_start().starts_with("@file:Suppress("));
    found
        .map(|(at, line)| Suppression {
            key: line.split_whitespace().collect(),
            line: number(at),
            shown: super::super::content::visible(line),
            reach: Reach::Blanket,
            reason: false,
        })
        .collect()
}

/// Nothing else stands on its line.
fn is_own_line(ast: &Ast<'_>, id: usize) -> bool {
    let start = ast.node(id).start;
    let before = ast.text[..start].rsplit('\n').next().unwrap_or_default();
    before.trim().is_empty()
}

/// Words of checkers, with the reach that they have without and with a rule behind them.
const WORDS: &[(&str, Option<Reach>, Option<Reach>)] = &[
    ("@ts-nocheck", Some(Reach::Blanket), None),
    ("@ts-ignore", Some(Reach::Blanket), None),
    ("@ts-expect-error", Some(Reach::One), None),
    ("eslint-disable-next-line", Some(Reach::Blanket), Some(Reach::One)),
    ("eslint-disable-line", Some(Reach::Blanket), Some(Reach::One)),
    ("eslint-disable", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("tslint:disable", Some(Reach::Blanket), Some(Reach::One)),
    ("stylelint-disable", Some(Reach::Blanket), Some(Reach::One)),
    ("biome-ignore-all", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("biome-ignore-start", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("biome-ignore", Some(Reach::Blanket), Some(Reach::One)),
    ("deno-lint-ignore-file", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("deno-lint-ignore", Some(Reach::Blanket), Some(Reach::One)),
    ("istanbul ignore", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("c8 ignore", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("v8 ignore", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("pragma: no cover", Some(Reach::Blanket), Some(Reach::Blanket)),
    (":nocov:", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("type: ignore", Some(Reach::Blanket), Some(Reach::One)),
    ("mypy: ignore-errors", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("mypy: disable-error-code", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("mypy: allow-", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("pyright: ignore", Some(Reach::Blanket), Some(Reach::One)),
    ("pyright: basic", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("ruff: noqa", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("flake8: noqa", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("noqa", Some(Reach::Blanket), Some(Reach::One)),
    ("pylint: disable=all", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("pylint: skip-file", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("pylint: disable", Some(Reach::Blanket), Some(Reach::One)),
    ("nosec", Some(Reach::Blanket), Some(Reach::One)),
    ("nosemgrep", Some(Reach::Blanket), Some(Reach::One)),
    ("nosonar", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("nolint:all", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("nolint", Some(Reach::Blanket), Some(Reach::One)),
    ("lint:file-ignore", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("lint:ignore", Some(Reach::Blanket), Some(Reach::One)),
    ("rubocop:disable all", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("rubocop:disable", Some(Reach::Blanket), Some(Reach::One)),
    ("rubocop:todo", Some(Reach::Blanket), Some(Reach::One)),
    ("phpcs:ignorefile", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("phpcs:disable", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("phpcs:ignore", Some(Reach::Blanket), Some(Reach::One)),
    ("@phpstan-ignore-line", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("@phpstan-ignore-next-line", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("@phpstan-ignore", Some(Reach::Blanket), Some(Reach::One)),
    ("@psalm-suppress", Some(Reach::Blanket), Some(Reach::One)),
    ("@codecoverageignore", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("swiftlint:disable all", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("swiftlint:disable", Some(Reach::Blanket), Some(Reach::One)),
    ("ktlint-disable", Some(Reach::Blanket), Some(Reach::One)),
    ("noinspection", Some(Reach::Blanket), Some(Reach::One)),
    ("checkstyle:off", Some(Reach::Blanket), Some(Reach::Blanket)),
    (
        "credo:disable-for-this-file",
        Some(Reach::Blanket),
        Some(Reach::Blanket),
    ),
    ("credo:disable-for", Some(Reach::Blanket), Some(Reach::One)),
    ("shellcheck disable", Some(Reach::Blanket), Some(Reach::One)),
    ("hadolint ignore", Some(Reach::Blanket), Some(Reach::One)),
    ("pragma warning disable", Some(Reach::Blanket), Some(Reach::One)),
    ("jshint ignore", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("@flow strict-local_", None, None),
    ("$flowfixme", Some(Reach::Blanket), Some(Reach::One)),
    ("sorbet: ignore", Some(Reach::Blanket), Some(Reach::Blanket)),
    ("typed: false", Some(Reach::Blanket), Some(Reach::Blanket)),
];

fn comment(line: &str, at: u32, own: bool) -> Option<Suppression> {
    let body = line
        .trim()
        .trim_start_matches(['/', '*', '#', '-', '!', '<', '%', ';', ' ', '\t'])
        .trim_end_matches("*/")
        .trim();
    let lower = body.to_lowercase();
    let (word, bare, named) = WORDS.iter().find(|(w, ..)| lower.starts_with(w))?;
    let rest = body.get(word.len()..).unwrap_or_default();
    let (rules, reason) = rules(word, rest);
    let all = rest
        .trim_start_matches([':', '=', '(', ' '])
        .split([' ', ',', ')'])
        .next()
        .is_some_and(|w| matches!(w.to_lowercase().as_str(), "all" | "*"));
    let reach = match rules {
        _ if all || *word == "biome-ignore" && !rest.contains('/') => Some(Reach::Blanket),
        0 => *bare,
        1 => *named,
        _ => Some(Reach::Blanket),
    };
    // Coverage that is left out at one place with a reason is a person's question.
    let cover = word.contains("ignore")
        && (word.starts_with("istanbul") || word.starts_with("c8") || word.starts_with("v8"))
        || word.contains("no cover");
    let reach = if cover && reason { Some(Reach::One) } else { reach };
    // In a line of its own the word of a file's checker holds to its end.
    let reach = if own && *word == "noqa" && rules == 0 {
        Some(Reach::Blanket)
    } else {
        reach
    };
    Some(Suppression {
        key: lower.split_whitespace().collect::<Vec<_>>().join(" "),
        line: at,
        shown: super::super::content::visible(line),
        reach: reach?,
        reason,
    })
}

/// How many rules are named, and whether a reason stands behind them.
fn rules(word: &str, rest: &str) -> (usize, bool) {
    let says = |text: &str| {
        text.split_whitespace()
            .filter(|w| w.chars().any(char::is_alphabetic))
            .count()
            >= 2
    };
    if word == "@ts-expect-error" || word == "@ts-ignore" || word == "@ts-nocheck" {
        return (0, says(rest));
    }
    if let Some(list) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        return (list.0.split(',').count(), says(list.1));
    }
    let (list, reason) = ["--", "//", "#", " - "]
        .iter()
        .find_map(|mark| rest.split_once(mark))
        .unwrap_or((rest, ""));
    let list = list.trim_start_matches([':', '=', '(']).trim().trim_end_matches(')');
    let is_rule =
        |w: &&str| w.chars().all(|c| c.is_alphanumeric() || "-_/@.:".contains(c)) && w.chars().any(char::is_alphabetic);
    let names: Vec<&str> = list
        .split([',', ' '])
        .map(str::trim)
        .filter(|w| !w.is_empty())
        .collect();
    // A colon ends the rule where the reason stands behind it.
    if let Some((rule, reason)) = list.split_once(": ") {
        return (rule.split(',').count(), says(reason));
    }
    let by_comma = list.split(',').count();
    let words_behind = names.len() > by_comma && says(list);
    if words_behind && list.split_once(' ').is_some() {
        let first = list.split(' ').next().unwrap_or_default();
        let count = first.split(',').filter(|w| is_rule(w)).count();
        return (count, says(list.split_once(' ').map_or("", |(_, r)| r)));
    }
    (names.iter().filter(|w| is_rule(w)).count(), says(reason))
}

/// `#[allow(…)]`, `@SuppressWarnings(…)`, `@no_type_check`
fn mark(ast: &Ast<'_>, id: usize) -> Option<Suppression> {
    let flat = ast.flat(id).replace(' ', "");
    let known = [
        "allow(",
        "expect(",
        "SuppressWarnings",
        "Suppress(",
        "no_type_check",
        "SuppressFBWarnings",
        "ExcludeFromCodeCoverage",
        "SuppressMessage",
        "Generated",
    ];
    let word = known.iter().find(|w| flat.contains(**w))?;
    let rust = ast.grammar == Grammar::Rust;
    if (*word == "allow(" || *word == "expect(") && !rust || *word == "Generated" && !flat.starts_with("@Generated") {
        return None;
    }
    let list = flat.split_once('(').map_or("", |(_, l)| l.trim_end_matches([')', ']']));
    let names: Vec<&str> = list
        .split(',')
        .filter(|n| !n.is_empty() && !n.starts_with("reason="))
        .collect();
    let all = [
        "warnings",
        "clippy::all",
        "unused",
        "\"all\"",
        "clippy::pedantic",
        "clippy::nursery",
        "clippy::restriction",
    ];
    let whole = names.iter().any(|n| all.contains(n))
        || flat.starts_with("#![")
        || names.len() > 1
        || *word == "no_type_check"
        || *word == "ExcludeFromCodeCoverage"
        || *word == "Generated";
    Some(Suppression {
        reason: flat.contains("reason="),
        reach: if whole { Reach::Blanket } else { Reach::One },
        key: flat,
        line: ast.line(id),
        shown: ast.shown(id),
    })
}
