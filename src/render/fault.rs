//! How an error reads: what failed, why, how to mend it, what the exit code means.

use crate::exit::Exit;

/// `chain` are the causes, outermost first, without the heading itself.
pub fn fault(heading: &str, chain: &[String], advice: &[String], exit: Exit) -> String {
    let mut lines = Vec::new();
    if exit == Exit::Bug {
        lines.push("This is a bug in tick. Nothing was lost; the next tick carries on.".to_owned());
    }
    lines.push(heading.trim_end().to_owned());
    lines.extend(
        chain
            .iter()
            .filter(|cause| !heading.contains(cause.as_str()))
            .map(|cause| format!("  because {cause}")),
    );
    lines.extend(advice.iter().map(|hint| format!("  {hint}")));
    if let Some(meaning) = exit_meaning(exit) {
        lines.push(meaning);
    }
    lines.join("\n") + "\n"
}

/// What is shown is read from a ledger that cannot be written now; `whole`: all of it.
pub fn only_read(why: &str, whole: bool) -> String {
    let missing = if whole {
        ""
    } else {
        "; what a tick that was killed wrote last is not in it"
    };
    format!("nothing can be written here now ({why}), so no tick can run; the ledger is only read{missing}")
}

/// The last line of a run that did not end with 0.
pub fn exit_meaning(exit: Exit) -> Option<String> {
    (exit != Exit::Ok).then(|| format!("exit {}: {}", exit.code(), exit.meaning()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_causes_hints_and_meaning_in_this_order() {
        let text = fault(
            "cannot open state/tick.db",
            &["disk I/O error".to_owned()],
            &["check that the disk is not full".to_owned()],
            Exit::CouldNot,
        );
        insta::assert_snapshot!(text, @r"
        cannot open state/tick.db
          because disk I/O error
          check that the disk is not full
        exit 75: could not now (disk, state, mail)
        ");
        assert!(exit_meaning(Exit::Ok).is_none());
        assert!(fault("x", &[], &[], Exit::Bug).starts_with("This is a bug in tick."));
    }
}
