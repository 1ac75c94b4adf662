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

/// Findings of one refusal that are told after the first; all of them are in `tick show` and go to the next attempt.
const FURTHER: usize = 4;

/// The refusal of a diff: rule and place, what stood there and what would.
pub fn refusal(report: &GuardReport) -> Vec<String> {
    let mut refusing = report.findings.iter().filter(|f| f.verdict == GuardVerdict::Reject);
    let Some(finding) = refusing.next() else {
        return vec!["refused by the guards".to_owned()];
    };
    let mut lines = vec![format!("REFUSED  {}: {}", finding.why, finding.place())];
    if !finding.was.is_empty() {
        lines.push(format!("was    {}", finding.was.trim()));
    }
    if !finding.is.is_empty() {
        lines.push(format!("is     {}", finding.is.trim()));
    }
    let further: Vec<String> = refusing.map(|more| format!("and    {}", more.sentence())).collect();
    let untold = further.len().saturating_sub(FURTHER);
    lines.extend(further.into_iter().take(FURTHER));
    if untold > 0 {
        lines.push(format!("and    {untold} more"));
    }
    lines
}

/// What becomes of a refused patch.
pub const fn after_refusal(last: bool) -> &'static str {
    if last {
        "Nothing was pushed. It was the last attempt: a person is told."
    } else {
        "Nothing was pushed. The finding goes to the next attempt."
    }
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
                format!("with the fix      GREEN  in {} runs{}", proof.green_runs, again(proof)),
                format!("all tests         {} of {total} pass, {} skipped", head.pass, head.skip),
            ]
        }
        ProofGrade::Unproven(why) => vec![format!("proof    not proven: {why}")],
        ProofGrade::NotRed(why) => vec![format!("proof    REFUSED, not red without the fix: {why}")],
        ProofGrade::NotGreen(why) => vec![format!("proof    REFUSED, not green with the fix: {why}")],
    }
}

const fn again(proof: &Proof) -> &'static str {
    if proof.red_again {
        ", then without it RED again"
    } else {
        ""
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

/// Another tick is at it; who, in its own words.
pub fn busy(by: &str) -> String {
    format!("another tick has the lock ({by}); this one does not look")
}

/// How a process ended, in a line. One that did not look says nothing of how things are.
pub fn ended(report: &Report, exit: Exit) -> String {
    match (exit, &report.busy) {
        (Exit::Ok, Some(by)) => busy(by),
        (Exit::Ok, None) if !report.looked => "what was due is done".to_owned(),
        (_, Some(by)) => format!("{}; {}", how(report, exit), busy(by)),
        (_, None) => how(report, exit).to_owned(),
    }
}

/// How a tick that looked ended, in the words of what happened in it.
fn how(report: &Report, exit: Exit) -> &'static str {
    let taken_back = report.taken_back.len();
    match exit {
        Exit::Ok if report.unwell > 0 => "UNHEALTHY",
        Exit::Ok if report.events.is_empty() => "healthy",
        Exit::NeedsHuman if taken_back == 0 => "something newly needs a person",
        Exit::NeedsHuman if taken_back == report.to_person.len() => "something was rolled back",
        Exit::Ok
        | Exit::NeedsHuman
        | Exit::Budget
        | Exit::Blind
        | Exit::GuardNeedsHuman
        | Exit::Unhealthy
        | Exit::Usage
        | Exit::Bug
        | Exit::CouldNot
        | Exit::Config => exit.meaning(),
    }
}

/// What a look that repairs nothing leaves to who does: so many incidents that it opened.
pub fn untold(report: &Report) -> Option<String> {
    let opened = report.events.iter().filter(|event| event.what == "opened").count();
    (opened > 0).then(|| {
        let opened = count(opened as u64, "incident");
        format!("{opened} opened and told to nobody yet: tick repair takes it up, and so does the next plain tick\n")
    })
}

/// What a tick leaves to say at its end.
pub fn summary(report: &Report, exit: Exit) -> String {
    let mut text = String::new();
    let models = count(report.models_called.into(), "model call");
    let word = ended(report, exit);
    let _ = if report.looked {
        let (sources, signals) = (count(report.sources, "source"), count(report.signals, "event"));
        writeln!(
            text,
            "{word}: {sources} in {} ms, {signals}, {models}",
            report.collect_ms
        )
    } else {
        writeln!(text, "{}; {models}", console(&ended(report, exit)))
    };
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
    use crate::model::evidence::Finding;

    #[test]
    fn who_did_not_look_says_nothing_of_how_things_are() {
        let mut report = Report {
            unwell: 2,
            ..Report::default()
        };
        assert_eq!(summary(&report, Exit::Ok), "what was due is done; 0 model calls\n");
        report.busy = Some("pid 4121, since 03:00:02".to_owned());
        let said = "another tick has the lock (pid 4121, since 03:00:02); this one does not look";
        assert_eq!(summary(&report, Exit::Ok), format!("{said}; 0 model calls\n"));
        assert_eq!(ended(&report, Exit::Ok), said);
        let person = ended(&report, Exit::NeedsHuman);
        assert!(
            person.starts_with("something newly needs a person") && person.ends_with(said),
            "{person}"
        );
        report.looked = true;
        report.busy = None;
        assert!(summary(&report, Exit::Ok).starts_with("UNHEALTHY: 0 sources"));
        assert_eq!(ended(&report, Exit::Ok), "UNHEALTHY");
    }

    #[test]
    fn no_tick_that_leaves_something_broken_calls_itself_healthy() {
        let mut report = Report {
            looked: true,
            ..Report::default()
        };
        assert!(summary(&report, Exit::Ok).starts_with("healthy: "));
        // A page that failed once, or a cause that waits for a later tick.
        report.unwell = 1;
        assert!(summary(&report, Exit::Ok).starts_with("UNHEALTHY: "));
        assert!(!summary(&report, Exit::Budget).to_lowercase().contains("healthy"));
    }

    #[test]
    fn what_needs_a_person_is_not_called_rolled_back() {
        let id: fn(u32) -> crate::model::IncidentId = |n| crate::model::IncidentId::new(&crate::text::named("x"), n);
        let mut report = Report {
            to_person: vec![id(1)],
            ..Report::default()
        };
        assert_eq!(ended(&report, Exit::NeedsHuman), "something newly needs a person");
        report.taken_back.push(id(1));
        assert_eq!(ended(&report, Exit::NeedsHuman), "something was rolled back");
        report.to_person.push(id(2));
        assert_eq!(ended(&report, Exit::NeedsHuman), Exit::NeedsHuman.meaning());
    }

    #[test]
    fn a_refusal_tells_more_than_its_first_finding() {
        let finding = |n: u32, verdict| Finding {
            rule: "symlink".to_owned(),
            verdict,
            path: format!("link-{n}"),
            line: None,
            was: String::new(),
            is: String::new(),
            why: "it leads out of the tree".to_owned(),
        };
        let report = |n: u32| GuardReport {
            verdict: GuardVerdict::Reject,
            findings: (0..n)
                .map(|n| finding(n, GuardVerdict::Reject))
                .chain([finding(99, GuardVerdict::NeedsHuman)])
                .collect(),
            paths: Vec::new(),
            added: 0,
            removed: 0,
        };
        assert_eq!(
            refusal(&report(3)),
            [
                "REFUSED  it leads out of the tree: link-0",
                "and    link-1: it leads out of the tree",
                "and    link-2: it leads out of the tree",
            ]
        );
        let many = refusal(&report(9));
        assert_eq!((many.len(), many[5].as_str()), (6, "and    4 more"));
    }
}
