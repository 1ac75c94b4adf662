//! Words of a Gradle build that are no settings: a condition of a task, what a check depends on, the runner of tests.

use super::judge::Judged;
use crate::decide::guards::lines::number;

const RUNNERS: [&str; 3] = ["useJUnitPlatform", "useTestNG", "useJUnit"];

pub(super) fn compare(old: &str, new: &str, out: &mut Judged) {
    let runner = |text: &str| RUNNERS.iter().any(|r| text.contains(r));
    if runner(old) && !runner(new) {
        out.weaker(
            "no runner is named any more, so the tests are not found",
            1,
            "useJUnitPlatform()",
            "",
        );
    }
    let known: Vec<&str> = old.lines().map(str::trim).collect();
    for (at, raw) in new.lines().enumerate() {
        let line = raw.trim();
        if known.contains(&line) || line.starts_with("//") {
            continue;
        }
        let why = if line.contains("onlyIf") {
            "the task runs only where a condition holds"
        } else if ["dependsOn.clear", "setDependsOn(", "dependsOn = ["]
            .iter()
            .any(|w| line.contains(w))
        {
            "the task no longer needs what it needed"
        } else {
            continue;
        };
        if is_check(new, at) {
            out.weaker(why, number(at), "", line);
        } else {
            out.unknown(why, number(at), "", line);
        }
    }
}

/// The line, or a block around it, is about tests or checks.
fn is_check(text: &str, at: usize) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |l: &str| l.len() - l.trim_start().len();
    let mut depth = indent(lines[at]);
    let mut heads = vec![lines[at]];
    for line in lines[..at].iter().rev().filter(|l| !l.trim().is_empty()) {
        if indent(line) < depth {
            depth = indent(line);
            heads.push(line);
        }
    }
    let words = [
        "test", "check", "jacoco", "kover", "detekt", "ktlint", "spotbugs", "pmd", "lint",
    ];
    let found = |l: &&str| words.iter().any(|w| l.to_lowercase().contains(w));
    heads.iter().any(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::evidence::GuardVerdict;

    #[test]
    fn tasks_that_run_less() {
        let base = "test {\n  useJUnitPlatform()\n}\n";
        let check = |new: &str, want: Option<GuardVerdict>| {
            let mut out = Judged::default();
            compare(base, new, &mut out);
            assert_eq!(out.hits.iter().map(|h| h.verdict).max(), want, "{new}");
        };
        check(
            "test {\n  useJUnitPlatform()\n  onlyIf { false }\n}\n",
            Some(GuardVerdict::Reject),
        );
        check("test {\n}\n", Some(GuardVerdict::Reject));
        check("test {\n  useTestNG()\n}\n", None);
        check(
            &format!("{base}tasks.named(\"check\") {{ dependsOn.clear() }}\n"),
            Some(GuardVerdict::Reject),
        );
        check(
            &format!("{base}publish {{\n  onlyIf {{ release }}\n}}\n"),
            Some(GuardVerdict::NeedsHuman),
        );
        check(&format!("{base}check.dependsOn(lint)\n"), None);
    }
}
