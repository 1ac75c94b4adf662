//! What a CMake file says of tests: which there are, what they run, and what counts as their failure.

use super::judge::Judged;
use crate::decide::guards::lines::number;

/// Commands without which fewer tests are known to the runner.
const TESTS: [&str; 6] = [
    "add_test",
    "enable_testing",
    "gtest_discover_tests",
    "gtest_add_tests",
    "catch_discover_tests",
    "doctest_discover_tests",
];

/// Properties by which a test does not run, or by which its failure is none.
const OFF: [&str; 6] = [
    "DISABLED",
    "WILL_FAIL",
    "SKIP_RETURN_CODE",
    "SKIP_REGULAR_EXPRESSION",
    "PASS_REGULAR_EXPRESSION",
    "REQUIRED_FILES",
];

struct Command {
    name: String,
    words: Vec<String>,
    line: u32,
}

impl Command {
    fn shown(&self) -> String {
        format!("{}({})", self.name, self.words.join(" "))
    }

    /// What it is about: the test, or the target.
    fn about(&self) -> Option<&str> {
        let named = self.words.iter().position(|w| w == "NAME").map_or(0, |at| at + 1);
        self.words.get(named).map(String::as_str)
    }
}

pub(super) fn compare(old: &str, new: &str, out: &mut Judged) {
    let (was, is) = (commands(old), commands(new));
    let stays = |c: &Command, list: &[Command]| list.iter().any(|o| o.name == c.name && o.words == c.words);
    for command in was
        .iter()
        .filter(|c| TESTS.contains(&c.name.as_str()) && !stays(c, &is))
    {
        let other = is
            .iter()
            .find(|o| o.name == command.name && o.about() == command.about());
        match other {
            Some(other) if does_nothing(other) && !does_nothing(command) => {
                out.weaker("the test runs nothing", other.line, &command.shown(), &other.shown());
            }
            Some(other) => out.unknown(
                "a test is run in another way",
                other.line,
                &command.shown(),
                &other.shown(),
            ),
            None => out.weaker(
                "the runner does not know this test any more",
                command.line,
                &command.shown(),
                "",
            ),
        }
    }
    let sets = |c: &&Command| matches!(c.name.as_str(), "set_tests_properties" | "set_property");
    for command in is.iter().filter(sets).filter(|c| !stays(c, &was)) {
        let off = command.words.iter().find(|w| OFF.contains(&w.as_str()));
        let values = command.words.iter().skip_while(|w| Some(*w) != off).nth(1);
        let none = values.is_some_and(|v| matches!(v.to_uppercase().as_str(), "FALSE" | "OFF" | "0" | "NO"));
        if let Some(property) = off.filter(|_| !none) {
            let why = format!("{property} keeps a test from running or from failing");
            out.weaker(why, command.line, "", &command.shown());
        } else if off.is_none() && command.name == "set_tests_properties" {
            out.unknown(
                "a test gets a property whose meaning is not known",
                command.line,
                "",
                &command.shown(),
            );
        }
    }
}

fn does_nothing(command: &Command) -> bool {
    let at = command.words.iter().position(|w| w == "COMMAND").map_or(1, |at| at + 1);
    command
        .words
        .get(at)
        .is_some_and(|w| matches!(w.as_str(), "true" | "echo" | ":" | "/bin/true"))
}

/// `name(word word)`, over any number of lines.
fn commands(text: &str) -> Vec<Command> {
    let mut out: Vec<Command> = Vec::new();
    let mut open = false;
    for (at, raw) in text.lines().enumerate() {
        let mut rest = raw.split('#').next().unwrap_or_default().trim();
        while !rest.is_empty() {
            if !open {
                let Some((name, after)) = rest.split_once('(') else {
                    break;
                };
                out.push(Command {
                    name: name.trim().to_lowercase(),
                    words: Vec::new(),
                    line: number(at),
                });
                rest = after;
            }
            let (inside, after) = rest.split_once(')').unwrap_or((rest, ""));
            open = !rest.contains(')');
            if let Some(command) = out.last_mut() {
                let words = inside.split_whitespace().map(|w| w.trim_matches('"').to_owned());
                command.words.extend(words);
            }
            rest = after.trim();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::evidence::GuardVerdict;

    #[test]
    fn tests_that_go_and_tests_that_stay() {
        let base = "enable_testing()\nadd_test(NAME a COMMAND a --fast)\n";
        let check = |new: &str, want: Option<GuardVerdict>| {
            let mut out = Judged::default();
            compare(base, new, &mut out);
            assert_eq!(out.hits.iter().map(|h| h.verdict).max(), want, "{new}");
        };
        check(base, None);
        check(
            "enable_testing()\nadd_test(\n  NAME a\n  COMMAND a --fast) # all\nadd_test(NAME b COMMAND b)\n",
            None,
        );
        check("enable_testing()\n", Some(GuardVerdict::Reject));
        check(
            "enable_testing()\nadd_test(NAME a COMMAND true)\n",
            Some(GuardVerdict::Reject),
        );
        check(
            "enable_testing()\nadd_test(NAME a COMMAND a)\n",
            Some(GuardVerdict::NeedsHuman),
        );
        let off = format!("{base}set_tests_properties(a PROPERTIES DISABLED TRUE)\n");
        check(&off, Some(GuardVerdict::Reject));
        check(&off.replace("TRUE", "FALSE"), None);
    }
}
