//! Rule `self-tamper`: files by which agents are told what they may do. A person sees every change of them; what frees
//! an agent is refused.

use super::{
    Hit,
    lines::number,
    settings::{Setting, read_settings},
    view::File,
};
use crate::model::evidence::GuardVerdict;

const RULE: &str = "self-tamper";

/// Findings, each with the index of its file.
pub(super) fn check(files: &[File<'_>]) -> Vec<(usize, Hit)> {
    let mut out = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let hits = if is_instruction(&file.normal) {
            instructions(file)
        } else if is_permission(&file.normal) {
            permissions(file)
        } else {
            Vec::new()
        };
        out.extend(hits.into_iter().map(|hit| (at, hit)));
    }
    out
}

fn reject(why: &str) -> Hit {
    Hit::new(RULE, GuardVerdict::Reject, why.to_owned())
}

fn is_instruction(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let rules = [
        ".cursor/rules/",
        ".claude/",
        ".windsurf/",
        ".clinerules",
        ".roo/",
        ".continue/",
        ".kiro/",
    ];
    let names = [
        "agents.md",
        "agents.override.md",
        "claude.md",
        "claude.local.md",
        "gemini.md",
        "copilot-instructions.md",
        ".cursorrules",
        ".windsurfrules",
        ".clinerules",
        "conventions.md",
    ];
    let text = matches!(super::kind::extension(name), "md" | "mdc" | "txt");
    names.contains(&name) || text && rules.iter().any(|r| path.contains(r))
}

fn is_permission(path: &str) -> bool {
    let dirs = [
        ".claude/",
        ".cursor/",
        ".codex/",
        ".gemini/",
        ".opencode/",
        ".windsurf/",
        ".roo/",
        ".kiro/",
        ".continue/",
    ];
    let name = path.rsplit('/').next().unwrap_or_default();
    dirs.iter().any(|d| path.contains(d))
        || name.starts_with("opencode.json")
        || matches!(name, ".mcp.json" | "mcp.json" | ".aider.conf.yml")
}

/// Words that hold somebody back.
const RULES: &[&str] = &[
    "never",
    "must",
    "do not",
    "don't",
    "always",
    "only",
    "required",
    "may not",
    "not allowed",
    "forbidden",
    "ask ",
    "cannot",
    "before",
    "no ",
    "without",
    "stop",
    "refuse",
    "review",
    "approval",
    "should",
    "mandatory",
    "shall",
    "prohibited",
];

/// Words that let somebody go, and what they are about.
const FREE: &[&str] = &[
    "may ",
    "can ",
    "allowed",
    "free to",
    "feel free",
    "no need",
    "not necessary",
    "need not",
    "not need",
    "optional",
    "it is fine",
    "it is ok",
    "it's ok",
    "it's fine",
    "okay to",
    "ok to",
    "skip",
    "ignore",
    "disable",
    "bypass",
    "without asking",
    "without review",
    "without approval",
    "--no-verify",
    "force push",
    "force-push",
    "auto-approve",
    "auto approve",
    "instead of fixing",
    "not required",
    "not have to",
    "permitted",
    "commit directly",
    "push directly",
    "delete",
    "weaken",
    "relax",
    "unless",
    "--force",
    "auto-merge",
];
const ABOUT: &[&str] = &[
    "test",
    "check",
    "lint",
    "review",
    "hook",
    "guard",
    "approv",
    "ci",
    "verif",
    "permission",
    "person",
    "human",
    "commit",
    "push",
    "rule",
    "ask",
    "polic",
    "sandbox",
    "command",
    "merge",
    "coverage",
    "type",
    "protected",
    "secret",
    "limit",
];

fn restrains(line: &str) -> bool {
    let lower = format!(" {} ", line.to_lowercase());
    RULES.iter().any(|w| lower.contains(w))
}

fn frees(line: &str) -> bool {
    let lower = format!(" {} ", line.to_lowercase());
    let holds = [
        "never",
        "must not",
        "do not",
        "don't",
        "may not",
        "cannot",
        "not allowed",
        "forbidden",
        "no one",
        "nobody",
        "nothing may",
    ];
    FREE.iter().any(|w| lower.contains(w))
        && ABOUT.iter().any(|w| lower.contains(w))
        && !holds.iter().any(|w| lower.contains(w))
}

fn instructions(file: &File<'_>) -> Vec<Hit> {
    let (old, new) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    let mut hits = Vec::new();
    let (kept, had) = (sentences(new), sentences(old));
    let fresh: Vec<&String> = kept
        .iter()
        .map(|(_, l)| l)
        .filter(|l| !had.iter().any(|(_, h)| h == *l))
        .collect();
    for (at, line) in &had {
        let gone = !kept.iter().any(|(_, l)| l == line);
        // The same rule in other words.
        let again = fresh.iter().any(|l| {
            let longer = l.starts_with(line.trim_end_matches(['.', ';', ',']));
            restrains(l) && !frees(l) && (longer || likeness(line, l) >= 0.5)
        });
        if gone && restrains(line) && !again {
            hits.push(reject("a rule for agents is gone").at(number(*at)).change(line, ""));
        }
    }
    for (at, line) in &kept {
        if fresh.contains(&line) && frees(line) {
            hits.push(reject("agents are freed from a rule").at(number(*at)).is(line));
        }
    }
    hits
}

/// What is said, each with its line: several rules may stand in one.
fn sentences(text: &str) -> Vec<(usize, String)> {
    let plain = |s: &str| s.trim().trim_start_matches(['-', '*', '#', ' ', '>']).to_owned();
    let lines = text.lines().enumerate();
    let all = lines.flat_map(|(at, line)| line.split_inclusive(". ").map(move |s| (at, plain(s))));
    all.filter(|(_, s)| !s.is_empty()).collect()
}

/// Share of common words.
fn likeness(a: &str, b: &str) -> f64 {
    let words = |t: &str| -> Vec<String> { t.split_whitespace().map(str::to_lowercase).collect() };
    let (a, b) = (words(a), words(b));
    let common = a.iter().filter(|w| b.contains(w)).count();
    let most = a.len().max(b.len()).max(1);
    f64::from(u32::try_from(common).unwrap_or(0)) / f64::from(u32::try_from(most).unwrap_or(1))
}

fn permissions(file: &File<'_>) -> Vec<Hit> {
    let name = file.name();
    let was = read_settings(file.old.unwrap_or("{}"), name).unwrap_or_default();
    let Some(is) = read_settings(file.new.unwrap_or("{}"), name) else {
        return vec![reject("the agent's settings cannot be read")];
    };
    let mut hits = Vec::new();
    for setting in &was {
        if holds(setting) && !is.iter().any(|s| s.path == setting.path && s.value == setting.value) {
            hits.push(
                reject("what holds an agent back is gone")
                    .at(setting.line)
                    .change(&setting.shown(), ""),
            );
        }
    }
    for setting in &is {
        if lets(setting) && !was.iter().any(|s| s.path == setting.path && s.value == setting.value) {
            hits.push(
                reject("an agent may do more than before")
                    .at(setting.line)
                    .is(&setting.shown()),
            );
        }
    }
    hits
}

fn keys(setting: &Setting) -> String {
    setting.path.join(".").to_lowercase()
}

fn holds(setting: &Setting) -> bool {
    let path = keys(setting);
    let words = [
        "deny", "hooks", "ask", "disallow", "block", "forbid", "exclude", "ignore", "require", "approval", "sandbox",
    ];
    let off = matches!(setting.value.as_str(), "false" | "null" | "");
    words.iter().any(|w| path.contains(w)) && !off
}

fn lets(setting: &Setting) -> bool {
    let path = keys(setting);
    let value = setting.value.to_lowercase();
    let list = [
        "allow",
        "autoapprove",
        "auto_approve",
        "alwaysallow",
        "trusted",
        "allowedtools",
        "additionaldirectories",
    ];
    let modes = [
        "bypasspermissions",
        "acceptedits",
        "dontask",
        "danger-full-access",
        "never",
        "yolo",
        "full-auto",
        "full-access",
        "auto",
    ];
    let allows = list.iter().any(|w| path.contains(w)) && !matches!(value.as_str(), "false" | "");
    let mode = ["mode", "approval", "sandbox", "permission"]
        .iter()
        .any(|w| path.contains(w))
        && modes.contains(&value.as_str());
    let all = value == "true" && ["enableall", "skip", "disable"].iter().any(|w| path.contains(w));
    (allows && !path.contains("disallow")) || mode || all
}
