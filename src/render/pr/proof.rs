//! The table of what the harness computed, and what it does not show.

use super::{
    Audit, AuditVerdict, Counts, GuardVerdict, LISTED, Page, PrWords, Proof, ProofGrade, Readers, UndoOutcome, block,
    place, some_spans, span, untrusted, words,
};
use std::fmt::Write as _;

pub(super) fn add(page: &mut Page, pr: &PrWords<'_>, proof: &Proof) {
    page.add(table(pr, proof));
    page.add(findings(pr));
    page.add(not_proven(proof));
    if let Some((title, parts)) = repeat(pr, proof) {
        page.fold(&title, &parts);
    }
}

/// What was run, and the two commands that do it again: with the fix, and without it. Each stands in a block of its own, so
/// that it can be copied and pasted as it is.
fn repeat(pr: &PrWords<'_>, proof: &Proof) -> Option<(String, Vec<String>)> {
    if proof.commands.is_empty() {
        return None;
    }
    let test = proof.commands.join(" && ");
    let (branch, head) = (pr.incident.branch(), &proof.head);
    let mut commands = vec![(
        "With the fix:",
        format!("git fetch origin {branch} && git switch --detach {head} && {test}"),
    )];
    if proof.grade == ProofGrade::Proven && !proof.source.is_empty() {
        let paths: Vec<_> = proof.source.iter().map(|path| shell_words::quote(path)).collect();
        let undo = format!("git restore --source {} -- {} && {test}", proof.base, paths.join(" "));
        commands.push(("Then without it:", undo));
    }
    let title = match commands.len() {
        1 => "Proof output and how to repeat it (1 command)".to_owned(),
        n => format!("Proof output and how to repeat it ({n} commands)"),
    };
    let shown = |(when, command): &(&str, String)| [(*when).to_owned(), block(&untrusted(command), 6_000)];
    let mut parts: Vec<String> = commands.iter().flat_map(shown).collect();
    if !proof.digest.is_empty() {
        parts.push(format!("SHA-256 of what all runs wrote: {}", span(&proof.digest)));
    }
    Some((title, parts))
}

fn table(pr: &PrWords<'_>, proof: &Proof) -> String {
    let mut table = format!(
        "| proof, computed by tick at {} on base {} | without the fix | with the fix |\n|---|---|---|\n",
        span(proof.head.short()),
        span(proof.base.short())
    );
    let (without, with) = match &proof.grade {
        ProofGrade::Proven => (
            format!(
                "**fails** {}{}{}",
                if proof.is_by_assertion() {
                    "by assertion"
                } else {
                    "with the incident's error"
                },
                said_red(pr, proof),
                if proof.red_again {
                    ", and again after the fix ran"
                } else {
                    ""
                }
            ),
            format!("**passes**, {0} of {0}", proof.green_runs),
        ),
        ProofGrade::Unproven(why) => ("not computed".to_owned(), words(why)),
        ProofGrade::NotRed(why) => (words(why), "–".to_owned()),
        ProofGrade::NotGreen(why) => ("–".to_owned(), words(why)),
    };
    let test = if proof.witness_ids.is_empty() {
        "a test that shows the failure: none".to_owned()
    } else {
        format!("test {}", some_spans(proof.witness_ids.iter()))
    };
    let _ = writeln!(table, "| {test} | {without} | {with} |");
    if let Some(place) = &proof.reached {
        let _ = writeln!(
            table,
            "| what failed at {}, its callers and what they call | the test comes to one of them | – |",
            span(place)
        );
    }
    if !proof.undone.is_empty() {
        let _ = writeln!(table, "| each changed file undone alone | – | {} |", undone(proof));
    }
    let _ = writeln!(
        table,
        "| all tests | {} | {} |",
        counts(proof.base_counts),
        counts(proof.head_counts)
    );
    let _ = writeln!(table, "| guards (size, tests, paths, secrets) | – | {} |", guards(pr));
    let _ = write!(table, "{}", audit(pr));
    table
}

/// What the failing test says, where only the team reads it.
fn said_red(pr: &PrWords<'_>, proof: &Proof) -> String {
    let first = proof.red.lines().map(str::trim).find(|line| !line.is_empty());
    let first = first.map(|line| line.strip_prefix("assertion: ").unwrap_or(line));
    match (pr.readers, first) {
        (Readers::Team, Some(line)) => format!(": {}", span(line)),
        (Readers::Team, None) | (Readers::Strangers, _) => String::new(),
    }
}

/// How many of the changes some test needs, and which none does.
fn undone(proof: &Proof) -> String {
    let all = proof.undone.len();
    let fails = proof
        .undone
        .iter()
        .filter(|undone| matches!(undone.outcome, UndoOutcome::Fails(_)))
        .count();
    let needed: Vec<&String> = of(proof, |outcome| matches!(outcome, UndoOutcome::Needed(_)));
    let unseen: Vec<&String> = of(proof, |outcome| {
        matches!(outcome, UndoOutcome::Unseen | UndoOutcome::Unknown(_))
    });
    let mut text = format!("fails again, {fails} of {all}");
    for (paths, what) in [(needed, "the rest does not work without"), (unseen, "no test sees")] {
        if !paths.is_empty() {
            let _ = write!(text, "; {what} {}", some_spans(paths.into_iter()));
        }
    }
    text
}

fn of(proof: &Proof, is: impl Fn(&UndoOutcome) -> bool) -> Vec<&String> {
    let found = proof.undone.iter().filter(|undone| is(&undone.outcome));
    found.map(|undone| &undone.path).collect()
}

fn guards(pr: &PrWords<'_>) -> String {
    let verdict = match pr.change.verdict {
        GuardVerdict::Accept => "accept",
        GuardVerdict::NeedsHuman => "needs a person",
        GuardVerdict::Reject => "reject",
    };
    match pr.change.findings.len() {
        1 => format!("{verdict}, 1 finding"),
        n => format!("{verdict}, {n} findings"),
    }
}

fn audit(pr: &PrWords<'_>) -> String {
    let Some(Audit { verdict, agent, .. }) = pr.audit else {
        return "| audit | – | not yet |".to_owned();
    };
    let verdict = match verdict {
        AuditVerdict::Approve => "approve",
        AuditVerdict::Revise => "asks for a revision",
        AuditVerdict::Reject => "reject",
    };
    let author = match pr.takes_back {
        Some(_) => "no agent wrote it".to_owned(),
        None => format!("the author was {}", span(pr.author)),
    };
    format!("| audit by {}; {author} | – | {verdict} |", span(agent))
}

fn counts(counts: Counts) -> String {
    let mut text = format!("{} pass", counts.pass);
    for (n, word) in [(counts.fail, "fail"), (counts.error, "error"), (counts.skip, "skipped")] {
        if n > 0 {
            let _ = write!(text, ", {n} {word}");
        }
    }
    text
}

fn findings(pr: &PrWords<'_>) -> String {
    let found = &pr.change.findings;
    if found.is_empty() {
        return String::new();
    }
    let mut text = String::from("**What the guards saw.**\n");
    for finding in found.iter().take(LISTED) {
        let _ = write!(text, "\n- {}: {}", place(Some(finding)), words(&finding.why));
    }
    if found.len() > LISTED {
        let _ = write!(text, "\n- and {} more", found.len() - LISTED);
    }
    text
}

fn not_proven(proof: &Proof) -> String {
    if proof.not_proven.is_empty() {
        return "**Not proven.** Anything beyond these tests.".to_owned();
    }
    let sentences: Vec<String> = proof.not_proven.iter().take(LISTED).map(|s| words(s)).collect();
    format!("**Not proven.** {}", sentences.join(" "))
}
