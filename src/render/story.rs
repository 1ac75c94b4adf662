//! Sentences of the story that a tick tells on a terminal.

use crate::{
    decide::facts::Landing,
    model::evidence::{Finding, GuardReport, GuardVerdict, Proof, ProofGrade},
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
    let mut lines = vec![format!("REFUSED  {}: {}", finding.why, place(finding))];
    if !finding.was.is_empty() {
        lines.push(format!("was    {}", finding.was.trim()));
    }
    if !finding.is.is_empty() {
        lines.push(format!("is     {}", finding.is.trim()));
    }
    lines
}

fn place(finding: &Finding) -> String {
    finding.line.map_or_else(
        || finding.path.clone(),
        |line| format!("{}:{line}", finding.path),
    )
}

/// The proof in four lines.
pub fn proof(proof: &Proof) -> Vec<String> {
    match &proof.grade {
        ProofGrade::Proven => {
            let names = proof.witness_ids.join(", ");
            let head = proof.head_counts;
            let total = head.pass + head.fail + head.error + head.skip;
            vec![
                format!("proof    {names}, run by tick, not by the agent"),
                format!("without the fix   RED    {}", proof.red.lines().next().unwrap_or_default()),
                format!("with the fix      GREEN  in {} runs", proof.green_runs),
                format!("all tests         {} of {total} pass, {} skipped", head.pass, head.skip),
            ]
        }
        ProofGrade::Unproven(why) => vec![format!("proof    not proven: {why}")],
        ProofGrade::NotRed(why) => vec![format!("proof    REFUSED, not red without the fix: {why}")],
        ProofGrade::NotGreen(why) => vec![format!("proof    REFUSED, not green with the fix: {why}")],
    }
}
