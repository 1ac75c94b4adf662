//! `tick guard`: what a diff weakens, by anybody. Needs no configuration, no state and no network.

use std::{io::Write, path::PathBuf};

use anyhow::Result;
use clap::{ArgGroup, Args};
use serde::Deserialize;

use crate::{
    decide::guards::{self, GuardPolicy, Ticket, TicketKind},
    exit::{Exit, Fault},
    model::evidence::{GuardReport, GuardVerdict},
    render,
    steps::guard::{Head, read},
    text::Redactor,
};

#[derive(Debug, Args)]
#[command(after_help = "Ends with 0 (accept), 1 (reject) or 4 (a person has to look).")]
#[command(group = ArgGroup::new("new").required(true).args(["diff", "head"]))]
pub struct GuardArgs {
    /// Folder with the tree before the change
    #[arg(long, value_name = "DIR")]
    base: PathBuf,
    /// The change, as `git diff --binary` prints it
    #[arg(long, value_name = "FILE")]
    diff: Option<PathBuf>,
    /// Folder with the tree after the change, instead of a diff. In both folders what was installed or built is left out
    /// (node_modules, target, .venv, __pycache__): where it is committed, a diff says more
    #[arg(long, value_name = "DIR")]
    head: Option<PathBuf>,
    /// JSON: {"kind": "bugfix" | "behaviour-change", "declared_paths": [...]}; a behaviour change may rewrite what a test
    /// expects where both the source and that test are declared, each by its exact path (a folder or a pattern is none)
    #[arg(long, value_name = "FILE")]
    task: Option<PathBuf>,
    /// More paths that a person has to look at, as a pattern (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    sensitive: Vec<String>,
    /// Print SARIF 2.1.0 instead of the verdict
    #[arg(long)]
    sarif: bool,
}

/// What a ticket file may say. A title and the like are left alone, what looks like one of these keys is not.
#[derive(Debug, Deserialize)]
struct Task {
    #[serde(default)]
    kind: TaskKind,
    #[serde(default)]
    declared_paths: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TaskKind {
    #[default]
    Bugfix,
    BehaviourChange,
}

/// Prints one JSON object: 0 accept, 1 reject, 4 a person has to look.
pub fn run(args: &GuardArgs, out: &mut dyn Write) -> Result<Exit> {
    let head = match (&args.diff, &args.head) {
        (Some(diff), _) => Head::Patch(diff.clone()),
        (None, Some(head)) => Head::Folder(head.clone()),
        (None, None) => return Err(Fault::new(Exit::Usage, "neither --diff nor --head was given").into()),
    };
    let policy = GuardPolicy::anybody(args.sensitive.iter().map(String::as_str))
        .map_err(|error| Fault::new(Exit::Usage, error.to_string()))?;
    let report = match read(&args.base, &head, ticket(args)?)? {
        Ok(diff) => guards::judge(&diff, &policy, &Redactor::default()),
        Err(error) => guards::unjudged(&error),
    };
    if args.sarif {
        writeln!(out, "{}", render::sarif::log(&report))?;
    } else {
        writeln!(out, "{}", render::guard::verdict(&report))?;
    }
    Ok(exit(&report))
}

fn exit(report: &GuardReport) -> Exit {
    match report.verdict {
        GuardVerdict::Accept => Exit::Ok,
        GuardVerdict::Reject => Exit::NeedsHuman,
        GuardVerdict::NeedsHuman => Exit::GuardNeedsHuman,
    }
}

fn ticket(args: &GuardArgs) -> Result<Ticket> {
    let Some(file) = &args.task else {
        return Ok(Ticket::default());
    };
    let wrong = |why: String| {
        Fault::new(Exit::Usage, format!("read the ticket {}: {why}", file.display()))
            .advise(r#"a ticket is {"kind": "bugfix"} or {"kind": "behaviour-change", "declared_paths": ["src/a.py"]}"#)
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let keys: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if let Some(key) = keys.keys().find(|key| is_meant(key)) {
        return Err(wrong(format!("{key:?} is no key of a ticket")).into());
    }
    let task: Task = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(Ticket {
        kind: match task.kind {
            TaskKind::Bugfix => TicketKind::Bugfix,
            TaskKind::BehaviourChange => TicketKind::BehaviourChange,
        },
        declared: task.declared_paths,
    })
}

/// Another spelling of a key that counts: taken in silence, it would count for nothing.
fn is_meant(key: &str) -> bool {
    let bare: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    let bare = bare.to_lowercase();
    !matches!(key, "kind" | "declared_paths") && (bare == "kind" || bare.contains("declar") || bare == "paths")
}

#[cfg(test)]
mod tests {
    use super::is_meant;

    #[test]
    fn another_spelling_of_a_key_is_named() {
        for key in [
            "declaredpaths",
            "declaredPaths",
            "Declared_Paths",
            "declared",
            "paths",
            "Kind",
        ] {
            assert!(is_meant(key), "{key}");
        }
        for key in ["kind", "declared_paths", "title", "id", "why", "path_of_the_report"] {
            assert!(!is_meant(key), "{key}");
        }
    }
}
