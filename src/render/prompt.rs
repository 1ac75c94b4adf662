//! Prompts: a template a role, filled with facts. Whatever was written outside goes in through a fence with the nonce
//! of this prompt; nothing here decides, and no defence rests on what a prompt says.

mod blocks;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use chrono::{DateTime, Utc};
use minijinja::{Environment, UndefinedBehavior, context};
use serde_json::{Value, json};

use crate::{
    model::{IncidentId, Sha, Signature, Slot, incident::FailureType, signal::SignalKind},
    text::{Untrusted, fence::Nonce},
};
use blocks::{Fences, word};

/// Longest prompt, in bytes; what a role needs is a small part of it.
const MAX_PROMPT: usize = 1 << 20;
/// Longest diff that is put before an auditor whole. A longer one is not cut: nobody approves what was left out.
const MAX_DIFF: usize = 200_000;

struct Shipped {
    name: &'static str,
    text: &'static str,
    placeholders: &'static [&'static str],
}

const TRIAGE: Shipped = Shipped {
    name: "triage.md",
    text: include_str!("../../prompts/triage.md"),
    placeholders: &["nonce", "repo", "groups", "commits", "signatures"],
};

const FIX: Shipped = Shipped {
    name: "fix.md",
    text: include_str!("../../prompts/fix.md"),
    placeholders: &[
        "nonce",
        "repo",
        "incident",
        "attempt",
        "failure_type",
        "base",
        "cause",
        "samples",
        "earlier",
        "commands",
    ],
};

const AUDIT: Shipped = Shipped {
    name: "audit.md",
    text: include_str!("../../prompts/audit.md"),
    placeholders: &[
        "nonce", "repo", "incident", "head_sha", "cause", "samples", "diff", "proof", "findings",
    ],
};

/// What triage is asked: causes of one repo that nobody has judged yet.
#[derive(Debug, Clone)]
pub struct TriageContext {
    pub repo: Slot,
    pub groups: Vec<TriageGroup>,
    /// Latest commits of the default branch, newest first.
    pub commits: Vec<Untrusted>,
}

#[derive(Debug, Clone)]
pub struct TriageGroup {
    pub signature: Signature,
    pub kind: SignalKind,
    pub count: u64,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    pub template: Untrusted,
    pub culprit: Option<Untrusted>,
    pub samples: Vec<Untrusted>,
    /// What changed before it was first seen, similar past repairs, open pull requests that touch its files.
    pub before: Vec<Untrusted>,
}

/// What a fixer is asked.
#[derive(Debug, Clone)]
pub struct FixContext {
    pub repo: Slot,
    pub incident: IncidentId,
    pub attempt: u32,
    pub failure_type: FailureType,
    pub base: Sha,
    pub template: Untrusted,
    pub culprit: Option<Untrusted>,
    /// What triage took for the cause.
    pub guess: Option<Untrusted>,
    pub suspected_files: Vec<Untrusted>,
    pub samples: Vec<Untrusted>,
    pub earlier: Vec<Earlier>,
    /// The repo's own test commands, as the owner wrote them.
    pub commands: Vec<String>,
}

/// An attempt that did not hold, and why.
#[derive(Debug, Clone)]
pub struct Earlier {
    pub attempt: u32,
    pub why: Untrusted,
    pub findings: Vec<Untrusted>,
}

/// What an auditor is asked. The fixer's own story is not in it.
#[derive(Debug, Clone)]
pub struct AuditContext {
    pub repo: Slot,
    pub incident: IncidentId,
    pub head: Sha,
    pub template: Untrusted,
    pub samples: Vec<Untrusted>,
    pub diff: Untrusted,
    pub proof: Untrusted,
    pub findings: Vec<Untrusted>,
}

/// The templates of all roles, checked when they are loaded.
#[derive(Debug)]
pub struct PromptSet {
    templates: Environment<'static>,
}

impl PromptSet {
    /// The templates in this binary.
    pub fn shipped() -> anyhow::Result<Self> {
        Self::with(&BTreeMap::new())
    }

    /// The shipped ones, each replaced by the text of its name (`fix.md`), where there is one.
    pub fn with(replaced: &BTreeMap<String, String>) -> anyhow::Result<Self> {
        let mut templates = Environment::new();
        templates.set_undefined_behavior(UndefinedBehavior::Strict);
        for shipped in [&TRIAGE, &FIX, &AUDIT] {
            let text = replaced
                .get(shipped.name)
                .map_or(shipped.text, String::as_str)
                .to_owned();
            templates
                .add_template_owned(shipped.name, text)
                .with_context(|| format!("read the prompt {}", shipped.name))?;
            check(&templates, shipped)?;
        }
        Ok(Self { templates })
    }

    pub fn triage(&self, context: &TriageContext, nonce: &Nonce) -> anyhow::Result<String> {
        let fences = Fences(nonce);
        let signatures: Vec<String> = context
            .groups
            .iter()
            .map(|group| format!("`{}`", group.signature))
            .collect();
        self.render(
            &TRIAGE,
            context! {
                nonce => nonce.as_str(),
                repo => context.repo.as_str(),
                groups => fences.groups(&context.groups),
                commits => fences.list(&context.commits, "None are known."),
                signatures => signatures.join(", "),
            },
        )
    }

    pub fn fix(&self, context: &FixContext, nonce: &Nonce) -> anyhow::Result<String> {
        let fences = Fences(nonce);
        let commands: Vec<String> = context
            .commands
            .iter()
            .map(|command| format!("    {command}"))
            .collect();
        self.render(
            &FIX,
            context! {
                nonce => nonce.as_str(),
                repo => context.repo.as_str(),
                incident => context.incident.as_str(),
                attempt => context.attempt,
                failure_type => word(&context.failure_type),
                base => context.base.as_str(),
                cause => fences.cause(context),
                samples => fences.samples(&context.samples),
                earlier => fences.earlier(&context.earlier),
                commands => if commands.is_empty() { "    (none)".to_owned() } else { commands.join("\n") },
            },
        )
    }

    /// Fails when the diff is too long to be judged whole.
    pub fn audit(&self, context: &AuditContext, nonce: &Nonce) -> anyhow::Result<String> {
        let length = context.diff.analyse().len();
        if length > MAX_DIFF {
            bail!("cannot put a diff of {length} bytes before an auditor: at most {MAX_DIFF} are judged at once");
        }
        let fences = Fences(nonce);
        self.render(
            &AUDIT,
            context! {
                nonce => nonce.as_str(),
                repo => context.repo.as_str(),
                incident => context.incident.as_str(),
                head_sha => context.head.as_str(),
                cause => fences.short(&context.template),
                samples => fences.samples(&context.samples),
                diff => fences.whole(&context.diff),
                proof => fences.long(&context.proof),
                findings => fences.list(&context.findings, "The guards found nothing to say."),
            },
        )
    }

    fn render(&self, shipped: &Shipped, values: minijinja::Value) -> anyhow::Result<String> {
        let prompt = self
            .templates
            .get_template(shipped.name)
            .and_then(|template| template.render(values))
            .with_context(|| format!("fill the prompt {}", shipped.name))?;
        if prompt.len() > MAX_PROMPT {
            bail!(
                "the prompt {} has {} bytes; at most {MAX_PROMPT} are sent",
                shipped.name,
                prompt.len()
            );
        }
        Ok(prompt)
    }
}

/// A template uses each of its placeholders and nothing else, and can be filled.
fn check(templates: &Environment<'_>, shipped: &Shipped) -> anyhow::Result<()> {
    let template = templates.get_template(shipped.name)?;
    let used = template.undeclared_variables(false);
    let used: BTreeSet<&str> = used.iter().map(String::as_str).collect();
    let known: BTreeSet<&str> = shipped.placeholders.iter().copied().collect();
    let names = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    if used != known {
        bail!(
            "the prompt {} does not fit its role: not filled: [{}], not used: [{}]; its placeholders are {}",
            shipped.name,
            names(&used - &known),
            names(&known - &used),
            names(known),
        );
    }
    let example: BTreeMap<&str, &str> = known.into_iter().map(|name| (name, "x")).collect();
    template
        .render(example)
        .with_context(|| format!("fill the prompt {} with an example", shipped.name))?;
    Ok(())
}

/// What a `command` agent finds in its `TICK_INPUT` file.
impl TriageContext {
    pub fn input(&self) -> Value {
        let groups: Vec<Value> = self
            .groups
            .iter()
            .map(|group| {
                json!({
                    "signature": group.signature,
                    "repo": self.repo,
                    "kind": group.kind,
                    "count": group.count,
                    "first_seen": group.first_seen,
                    "last_seen": group.last_seen,
                    "template": group.template,
                    "culprit": group.culprit,
                    "samples": group.samples,
                    "before": group.before,
                })
            })
            .collect();
        json!({ "repo": self.repo, "groups": groups, "commits": self.commits })
    }
}

/// What a `command` agent finds in its `TICK_INPUT` file.
impl FixContext {
    pub fn input(&self) -> Value {
        let earlier: Vec<Value> = self
            .earlier
            .iter()
            .map(|one| json!({ "attempt": one.attempt, "why": one.why, "findings": one.findings }))
            .collect();
        json!({
            "incident": self.incident,
            "repo": self.repo,
            "attempt": self.attempt,
            "failure_type": self.failure_type,
            "base": self.base,
            "template": self.template,
            "culprit": self.culprit,
            "guess": self.guess,
            "suspected_files": self.suspected_files,
            "samples": self.samples,
            "earlier": earlier,
            "commands": self.commands,
        })
    }
}

/// What a `command` agent finds in its `TICK_INPUT` file.
impl AuditContext {
    pub fn input(&self) -> Value {
        json!({
            "incident": self.incident,
            "repo": self.repo,
            "head_sha": self.head,
            "template": self.template,
            "samples": self.samples,
            "diff": self.diff,
            "proof": self.proof,
            "findings": self.findings,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
