//! Whether a test still runs as it did, and what was put between its statements.

use super::{Case, switch::Runs};
use crate::{decide::guards::Hit, model::evidence::GuardVerdict};

/// Marks, options and calls by which a test of the head runs less, or may fail more often.
pub(super) fn weaker(old: &Case, new: &Case) -> Vec<Hit> {
    let (was, is) = (&old.switch, &new.switch);
    let mut hits = Vec::new();
    let mut hit = |rule, verdict, why: &str, by: [&str; 2]| {
        hits.push(
            Hit::new(rule, verdict, why.to_owned())
                .at(new.line)
                .change(&old.shown, &new.shown)
                .by(by[0], by[1]),
        );
    };
    let by = [was.by.as_str(), is.by.as_str()];
    if is.runs > was.runs {
        let why = match is.runs {
            Runs::Never => "the test is switched off",
            Runs::MayFail => "a failure of the test counts as success",
            Runs::Sometimes | Runs::Always => "the test runs only where a condition holds",
        };
        hit("skip-added", GuardVerdict::Reject, why, by);
    } else if is.runs == Runs::Sometimes && condition(&is.by) != condition(&was.by) {
        hit(
            "skip-added",
            GuardVerdict::Reject,
            "the test is switched off under another condition",
            by,
        );
    }
    if is.retries > was.retries {
        hit(
            "gate-weakened",
            GuardVerdict::Reject,
            "the test is repeated until it passes",
            ["", "retry retries flaky rerun repeat"],
        );
    }
    if let Some(limit) = is.timeout
        && was.timeout.is_some_and(|w| w < limit)
    {
        hit(
            "gate-weakened",
            GuardVerdict::Reject,
            "the test may take longer than before",
            ["timeout", "timeout"],
        );
    }
    let harmless = [
        "parametrize",
        "usefixtures",
        "asyncio",
        "anyio",
        "django_db",
        "filterwarnings",
        "aggregate_failures",
    ];
    let fresh = |t: &&String| !was.tags.contains(t) && !harmless.contains(&t.as_str());
    let tagged = is.tags.iter().find(fresh).filter(|_| is.runs == was.runs);
    if let Some(tag) = tagged {
        hit(
            "test-tagged",
            GuardVerdict::NeedsHuman,
            "the test gets a mark by which a runner may leave it out",
            ["", tag],
        );
    }
    hits
}

/// A condition without its reason.
fn condition(text: &str) -> &str {
    text.split(", reason").next().unwrap_or(text).trim()
}

/// A statement of the head alone by which the test writes what it compares with.
pub(super) fn writes_golden(old: &Case, new: &Case) -> Option<(u32, String)> {
    let words = "\
        write_text write_bytes writefilesync writefile outputfile fs.writefile os.writefile ioutil.writefile \
        file.write file.writealltext files.writestring files.write fs.write";
    // It may have stood within another statement before.
    let fresh = |s: &&super::Statement| !old.body.contains(s.flat.as_str());
    new.statements.iter().filter(fresh).find_map(|s| {
        let parts: Vec<&str> = s.flat.split(' ').collect();
        let joined = parts.concat().to_lowercase().replace("::", ".");
        let writes = crate::decide::guards::listed::words(words).any(|w| joined.contains(&format!("{w}(")));
        let shared = parts.iter().any(|p| {
            let name = p.len() > 2 && p.chars().all(|c| c.is_alphanumeric() || c == '_');
            let text = p.len() > 4 && p.starts_with(['"', '\'']) && p.contains('.');
            (name || text)
                && !writes_word(p)
                && new
                    .checks
                    .iter()
                    .any(|c| c.line > s.line && c.flat.split(' ').any(|w| w == *p))
        });
        let golden = shared && !writes_literal(&parts) && subject_of_write(&parts, new, s.line)
            || answers_in_file(&parts, new, s.line);
        (writes && golden).then(|| (s.line, s.flat.clone()))
    })
}

/// What is written stands in the call itself: an input that the test makes, and no answer.
fn writes_literal(parts: &[&str]) -> bool {
    let Some(at) = parts.iter().position(|p| writes_word(p)) else {
        return false;
    };
    let mut depth = 0;
    let within = parts[at + 1..].iter().take_while(|p| {
        depth += i32::from(**p == "(") - i32::from(**p == ")");
        depth > 0
    });
    let manner = "encoding newline mode flag byte bytes str as_bytes into Buffer from Path StandardCharsets UTF_8";
    let name = |p: &&&str| p.starts_with(|c: char| c.is_alphabetic() || c == '_');
    // A function of a module names the file first.
    let module = at > 1 && matches!(parts[at - 2], "fs" | "os" | "ioutil" | "Files" | "File");
    let names = within
        .filter(name)
        .filter(|p| !crate::decide::guards::listed::listed(manner, p));
    names.count() <= usize::from(module)
}

/// What the product gives is written to a file of a written-out name, which a later statement reads.
fn answers_in_file(parts: &[&str], new: &Case, line: u32) -> bool {
    let file = |p: &&&str| p.len() > 4 && p.starts_with(['"', '\'', '`']) && p.contains('.');
    let later = |p: &&str| new.statements.iter().any(|s| s.line > line && s.flat.contains(*p));
    let product = |p: &&str| {
        let sides = new.checks.iter().filter(|c| c.line > line).flat_map(|c| &c.sides);
        p.len() > 2 && sides.into_iter().any(|s| s.names.contains(*p))
    };
    parts.iter().filter(file).any(later) && parts.iter().any(product)
}

fn writes_word(word: &str) -> bool {
    word.to_lowercase().contains("write")
}

/// What is written to is read by a check behind it: the object before the call, or its first argument.
fn subject_of_write(parts: &[&str], new: &Case, line: u32) -> bool {
    let Some(at) = parts.iter().position(|p| writes_word(p)) else {
        return false;
    };
    let object = at.checked_sub(2).and_then(|n| parts.get(n));
    let first = parts.get(at + 2);
    [object, first].into_iter().flatten().any(|p| {
        let known = matches!(*p, "fs" | "os" | "File" | "Files" | "ioutil" | "std" | "::" | "." | "(");
        !known
            && p.len() > 2
            && new
                .checks
                .iter()
                .any(|c| c.line > line && c.flat.split(' ').any(|w| w == *p))
    })
}

/// `-cents`: a minus before a name, in the words of a body.
pub(super) fn turns_a_number(body: &str) -> bool {
    let words: Vec<&str> = body.split(' ').collect();
    words.windows(3).any(|three| {
        let [before, minus, name] = three else { return false };
        *minus == "-"
            && matches!(*before, "(" | "[" | "{" | "," | "=" | ":" | "return" | "*" | "+")
            && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
    })
}

/// A statement of the head alone that gives another value to something the base's test used.
pub(super) fn put_between(old: &Case, new: &Case) -> Option<(u32, String)> {
    let words: Vec<&str> = old.body.split(' ').collect();
    let count = |case: &Case, name: &str| {
        case.statements
            .iter()
            .filter(|s| s.changes.as_deref() == Some(name))
            .count()
    };
    new.statements.iter().find_map(|s| {
        let name = s.changes.as_deref()?;
        let fresh = !old.statements.iter().any(|o| o.flat == s.flat);
        // What the base's test gives it behind that is what its checks see.
        let given_again = |line: u32| {
            let whole = |r: &&super::Statement| {
                !r.part && r.changes.as_deref() == Some(name) && r.line > s.line && r.line < line
            };
            let mut later = new.statements.iter().filter(whole);
            later.any(|r| old.statements.iter().any(|o| o.flat == r.flat))
        };
        let before = new
            .checks
            .iter()
            .any(|c| c.line > s.line && !given_again(c.line) && old.checks.iter().any(|o| o.flat == c.flat));
        // A part of it, or a further value; a first one is its definition.
        let again = s.part || count(old, name) > 0;
        let more = count(new, name) > count(old, name) && words.contains(&name) && again;
        (fresh && before && more).then(|| (s.line, s.flat.clone()))
    })
}
