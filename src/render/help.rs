//! The groups of `tick --help`. A test holds that each verb stands in exactly one of them.

use std::fmt::Write as _;

use crate::exit::Exit;

/// Heading, and the verbs below it in the order in which a newcomer meets them.
pub const GROUPS: [(&str, &[&str]); 4] = [
    ("Start", &["demo", "look", "config"]),
    (
        "Every day",
        &["repair", "status", "incidents", "show", "logs", "replay"],
    ),
    (
        "Answer",
        &["approve", "retry", "adopt", "ignore", "silence", "pause", "resume"],
    ),
    (
        "For scripts",
        &["guard", "collect", "gate", "signature", "redact", "audit", "ledger"],
    ),
];

/// The template of clap's help with the verbs in groups; `about` gives a verb's line.
pub fn template(about: impl Fn(&str) -> String) -> String {
    let mut text =
        String::from("{about}\n\n{usage-heading} {usage}\n\nAlone, tick looks once and repairs what is due.\n");
    for (heading, verbs) in GROUPS {
        let _ = write!(text, "\n{heading}:\n");
        for verb in verbs {
            let _ = writeln!(text, "  {verb:<10} {}", about(verb));
        }
    }
    text.push_str("\nOptions:\n{options}\n\nExit codes:\n");
    for exit in Exit::ALL {
        let _ = writeln!(text, "  {:>3}  {}", exit.code(), exit.meaning());
    }
    text
}
