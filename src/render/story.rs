//! Sentences of the story that a tick tells on a terminal.

use std::{fmt::Write as _, time::Duration};

use super::page::count;
use crate::{
    decide::facts::Landing,
    exit::Exit,
    model::{
        evidence::{GuardReport, GuardVerdict, Proof, ProofGrade},
        report::{Event, Report},
    },
    text::{Redactor, Untrusted, inert},
};

/// What landed, against what was tested.
pub const fn landed(landing: Landing) -> &'static str {
    match landing {
        Landing::AsTested => "the landed tree is the tested tree",
        Landing::Raced => "something else landed first; the tree is as expected for it",
        Landing::WrongTree => "the landed tree is not the tested tree",
    }
}

/// The refusal of a diff: rule and place, what stood there and what would.
pub fn refusal(report: &GuardReport) -> Vec<String> {
    let Some(finding) = report.findings.iter().find(|f| f.verdict == GuardVerdict::Reject) else {
        return vec!["refused by the guards".to_owned()];
    };
    let mut lines = vec![format!("REFUSED  {}: {}", finding.why, finding.place())];
    if !finding.was.is_empty() {
        lines.push(format!("was    {}", finding.was.trim()));
    }
    if !finding.is.is_empty() {
        lines.push(format!("is     {}", finding.is.trim()));
    }
    lines
}

/// The proof in four lines.
pub fn proof(proof: &Proof) -> Vec<String> {
    match &proof.grade {
        ProofGrade::Proven => {
            let names: Vec<&str> = proof.witness_ids.iter().map(|id| last_part(id)).collect();
            let names = names.join(", ");
            let head = proof.head_counts;
            let total = head.pass + head.fail + head.error + head.skip;
            vec![
                format!("proof    {names}, run by tick, not by the agent"),
                format!(
                    "without the fix   RED    {}",
                    proof.red.lines().next().unwrap_or_default()
                ),
                format!("with the fix      GREEN  in {} runs", proof.green_runs),
                format!("all tests         {} of {total} pass, {} skipped", head.pass, head.skip),
            ]
        }
        ProofGrade::Unproven(why) => vec![format!("proof    not proven: {why}")],
        ProofGrade::NotRed(why) => vec![format!("proof    REFUSED, not red without the fix: {why}")],
        ProofGrade::NotGreen(why) => vec![format!("proof    REFUSED, not green with the fix: {why}")],
    }
}

/// A test's own name, without the module and class that `unittest` and `cargo test` put before it.
fn last_part(id: &str) -> &str {
    if id.contains(char::is_whitespace) {
        return id;
    }
    id.rsplit(['.', ':'])
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(id)
}

/// One event as lines of a terminal: seconds since the start, then what happened.
pub fn event(event: &Event) -> String {
    let seconds = Duration::from_millis(event.ms).as_secs_f64();
    let mut text = String::new();
    for (index, line) in event.lines.iter().enumerate() {
        let line = console(line);
        if index == 0 {
            let _ = writeln!(text, "{seconds:>5.1} s  {line}");
        } else {
            let _ = writeln!(text, "           {line}");
        }
    }
    text
}

/// What a tick leaves to say at its end.
pub fn summary(report: &Report, exit: Exit) -> String {
    let mut text = String::new();
    let word = match exit {
        Exit::Ok if report.unwell > 0 => "UNHEALTHY",
        Exit::Ok if report.events.is_empty() => "healthy",
        _ => exit.meaning(),
    };
    let _ = writeln!(
        text,
        "{word}: {} in {} ms, {}, {}",
        count(report.sources, "source"),
        report.collect_ms,
        count(report.signals, "event"),
        count(report.models_called.into(), "model call"),
    );
    for blind in &report.blind {
        let _ = writeln!(text, "blind  {}", console(blind));
    }
    if let Some(why) = &report.gate_fault {
        let _ = writeln!(text, "gate   {}", console(why));
    }
    for unsent in &report.unsent {
        let _ = writeln!(text, "unsent {}; the next tick tries again", console(unsent));
    }
    for waiting in &report.waiting {
        let short = waiting.incident.signature();
        let _ = writeln!(text, "{}  {}  {}", short.short(), waiting.repo, console(&waiting.title));
        let _ = writeln!(text, "          {}", console(&waiting.why));
    }
    text
}

/// A line as a terminal may show it: one line, no controls, no command of a CI host.
pub(super) fn console(line: &str) -> String {
    inert::console_line(&Untrusted::new(line, &Redactor::default()), 160)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tick_that_leaves_something_broken_calls_itself_healthy() {
        let mut report = Report::default();
        assert!(summary(&report, Exit::Ok).starts_with("healthy: "));
        // A page that failed once, or a cause that waits for a later tick.
        report.unwell = 1;
        assert!(summary(&report, Exit::Ok).starts_with("UNHEALTHY: "));
        assert!(!summary(&report, Exit::Budget).to_lowercase().contains("healthy"));
    }
}
