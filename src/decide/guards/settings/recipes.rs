//! Files whose commands stand in lines of their own: makefiles, justfiles, Dockerfiles, scripts, tasks of Ruby.

use std::collections::BTreeMap;

use super::{
    commands::script,
    judge::Judged,
    make::make,
    shell::{self, Command},
};
use crate::decide::guards::{
    kind::extension,
    syntax::{Ast, Grammar, Kind, literal, parse},
};

/// A target: what it needs, and its commands.
#[derive(Debug, Default)]
pub(super) struct Target {
    pub(super) needs: Vec<String>,
    pub(super) lines: Vec<Command>,
    pub(super) line: u32,
    /// It runs under a condition of its own.
    pub(super) conditional: bool,
}

pub(super) type Targets = BTreeMap<String, Target>;

pub(super) fn is_make(name: &str) -> bool {
    matches!(name, "makefile" | "gnumakefile") || extension(name) == "mk"
}

/// Compares the recipes of two files of this name; false when it has none.
pub(super) fn compare(name: &str, old: &str, new: &str, out: &mut Judged) -> bool {
    let read: fn(&str) -> Targets = match name {
        "makefile" | "gnumakefile" | "justfile" => make,
        "rakefile" => rake,
        _ if name.starts_with("jenkinsfile") || extension(name) == "jenkinsfile" => jenkins,
        _ if extension(name) == "mk" => make,
        _ if name.starts_with("dockerfile") || name.ends_with(".dockerfile") || name == "containerfile" => docker,
        _ => return false,
    };
    let (was, is) = (read(old), read(new));
    for (target, before) in &was {
        let empty = Target::default();
        let after = is.get(target).unwrap_or(&empty);
        let line = if after.line > 0 { after.line } else { before.line };
        for need in before.needs.iter().filter(|n| !after.needs.contains(n)) {
            out.weaker(format!("{target} no longer needs it"), line, need, "");
        }
        if after.conditional && !before.conditional {
            out.weaker(format!("{target} runs only where a condition holds"), line, "", "when");
        }
        if number_of(target, before, after, line, out) {
            continue;
        }
        script(target, &before.lines, &after.lines, line, out);
    }
    // A variable that programs read their options from, where there was none.
    let fresh = is.iter().filter(|(name, _)| !was.contains_key(*name));
    for (name, target) in fresh.filter(|(name, _)| name.starts_with("variable ") && shell::is_options(name)) {
        let none = shell::commands("options", shell::Default::Stops);
        script(name, &none, &target.lines, target.line, out);
    }
    true
}

/// A variable that is a number: the direction is in its name.
fn number_of(target: &str, before: &Target, after: &Target, line: u32, out: &mut Judged) -> bool {
    let Some(name) = target.strip_prefix("variable ") else {
        return false;
    };
    let value = |t: &Target| match t.lines.as_slice() {
        [only] => only
            .words
            .get(1)
            .filter(|_| only.words.len() == 2)
            .and_then(|w| w.parse::<f64>().ok()),
        _ => None,
    };
    let (Some(was), Some(is)) = (value(before), value(after)) else {
        return false;
    };
    let name = name.to_lowercase();
    let any = |words: &[&str]| words.iter().any(|w| name.contains(w));
    let weaker = if any(&["max", "timeout", "retr", "limit", "allow"]) {
        is > was
    } else if any(&["min", "cov", "bar", "threshold", "score"]) {
        is < was
    } else {
        return (was - is).abs() < f64::EPSILON;
    };
    if weaker {
        out.weaker(
            format!("{name} allows more than before"),
            line,
            &was.to_string(),
            &is.to_string(),
        );
    }
    true
}

/// Each stage of a pipeline is a target, with the lines that it gives to a shell.
fn jenkins(text: &str) -> Targets {
    let mut out = Targets::new();
    let mut stage = String::from("pipeline");
    let mut lenient = false;
    for (at, line) in text
        .lines()
        .enumerate()
        .flat_map(|(at, l)| blocks(l).into_iter().map(move |b| (at, b)))
    {
        let quoted = |l: &str| {
            l.split(['\'', '"'])
                .find(|p| p.trim_matches(['(', ' ']).len() > 1)
                .map(str::to_owned)
        };
        if let Some(rest) = line.strip_prefix("stage") {
            stage = quoted(rest).unwrap_or_default();
            lenient = false;
        }
        lenient |= ["catchError", "warnError", "try {", "try{"]
            .iter()
            .any(|w| line.starts_with(w));
        let target = out.entry(stage.clone()).or_default();
        target.conditional |= line.starts_with("when {") || line.starts_with("when{");
        let Some((word, rest)) = ["sh ", "sh(", "bat ", "bat(", "powershell ", "pwsh "]
            .iter()
            .find_map(|w| line.strip_prefix(w).map(|rest| (*w, rest)))
        else {
            continue;
        };
        let rest = rest.trim_start_matches("script:").trim();
        let body = rest.trim_matches(['(', ')', ' ']);
        let shown = body.find(['\'', '"']).map_or("", |from| {
            let mark = &body[from..=from];
            let inner = body[from..].trim_start_matches(mark);
            inner.split(mark).next().unwrap_or_default()
        });
        let excused = lenient || rest.contains("returnStatus") || rest.contains("catchError") || word.is_empty();
        target.line = u32::try_from(at + 1).unwrap_or(1);
        target.lines.extend(
            shell::commands(shown, shell::Default::Stops)
                .into_iter()
                .map(|c| Command {
                    counts: c.counts && !excused,
                    ..c
                }),
        );
    }
    out
}

/// The parts of a line, each with the brace that opens what follows: blocks may open and close within a line.
fn blocks(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut quote = None;
    let mut from = 0;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '{' | '}' | ';') => {
                let end = if c == '{' { at + 1 } else { at };
                out.push(line[from..end].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(line[from..].trim());
    out.retain(|part| !part.is_empty());
    out
}

/// Each stage is a target.
fn docker(text: &str) -> Targets {
    let mut out = Targets::new();
    let mut stage = String::from("image");
    for (at, line) in text.replace("\\\n", " ").lines().enumerate() {
        let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        match word.to_ascii_uppercase().as_str() {
            "FROM" => {
                let name = rest
                    .split_whitespace()
                    .last()
                    .filter(|_| rest.to_ascii_lowercase().contains(" as "));
                name.unwrap_or("image").clone_into(&mut stage);
            }
            "RUN" => {
                let target = out.entry(stage.clone()).or_default();
                target.line = u32::try_from(at + 1).unwrap_or(1);
                target.lines.extend(shell::commands(rest, shell::Default::Stops));
            }
            _ => {}
        }
    }
    out
}

/// `task name: [:a, :b] do sh "…" end`
fn rake(text: &str) -> Targets {
    let mut out = Targets::new();
    let Some(ast) = parse(text, Grammar::Ruby) else {
        return out;
    };
    for id in ast.walk(Ast::ROOT).collect::<Vec<_>>() {
        if ast.kind(id) != Kind::Call || ast.path(id) != "task" {
            continue;
        }
        let args = ast.kids(id)[1..].to_vec();
        let Some(first) = args.first().copied() else { continue };
        let name = match ast.kind(first) {
            Kind::Pair => literal::inner(ast.word(first)).to_owned(),
            _ => literal::inner(ast.source(first)).to_owned(),
        };
        let target = out.entry(name).or_default();
        target.line = ast.line(id);
        if ast.kind(first) == Kind::Pair
            && let Some(value) = ast.body(first)
        {
            let needs = ast.walk(value).filter(|n| ast.kind(*n) == Kind::Text);
            target
                .needs
                .extend(needs.map(|n| literal::inner(ast.source(n)).to_owned()));
        }
        for call in ast
            .walk(id)
            .filter(|n| ast.kind(*n) == Kind::Call && ast.path(*n) == "sh")
        {
            // A block takes the status in its hands.
            let excused = ast.kids(call).iter().any(|k| ast.kind(*k) == Kind::Lambda);
            if excused {
                continue;
            }
            if let Some(text) = ast.kids(call).get(1).filter(|t| ast.kind(**t) == Kind::Text) {
                target.lines.extend(shell::commands(
                    literal::inner(ast.source(*text)),
                    shell::Default::Stops,
                ));
            }
        }
    }
    out
}

/// `trap "exit 0" EXIT`
fn forgives(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ends = words.last().is_some_and(|w| matches!(*w, "EXIT" | "ERR" | "0"));
    words.first() == Some(&"trap") && ends && ["exit 0", "true'", "true\"", ":'"].iter().any(|w| line.contains(w))
}

/// What loops over words run through.
fn looped(text: &str) -> Vec<String> {
    let loops = text
        .lines()
        .filter_map(|l| l.trim().strip_prefix("for ")?.split_once(" in "));
    let words = loops.map(|(_, list)| list.split(';').next().unwrap_or_default());
    words
        .flat_map(str::split_whitespace)
        .filter(|w| !w.contains(['$', '*', '`']))
        .map(str::to_owned)
        .collect()
}

/// A shell script as a whole.
pub(super) fn shell_script(old: &str, new: &str, out: &mut Judged) {
    let read = |text: &str| shell::commands(text, shell::Default::GoesOn);
    let (was, is) = (read(old), read(new));
    let stops = |list: &[Command]| {
        list.iter().any(|c| {
            c.words.first().is_some_and(|w| w == "set")
                && c.words[1..].iter().any(|f| f.starts_with('-') && f.contains('e'))
        })
    };
    if stops(&was) && !stops(&is) {
        out.weaker("the script goes on after a failure", 1, "set -e", "");
    }
    let pipes = |text: &str| text.contains("pipefail");
    if pipes(old) && !pipes(new) {
        out.weaker("a failure within a pipe no longer counts", 1, "pipefail", "");
    }
    script("the script", &was, &is, 1, out);
    let known: Vec<&str> = old.lines().map(str::trim).collect();
    let trapped = new.lines().map(str::trim).find(|l| forgives(l) && !known.contains(l));
    if let Some(line) = trapped {
        out.weaker("the script takes every failure for success", 1, "", line);
    }
    let kept = looped(new);
    for word in looped(old).iter().filter(|w| !kept.contains(w)) {
        out.weaker("the script no longer runs through it", 1, word, "");
    }
    // What a script refuses by name.
    let refused = |text: &str| -> Vec<String> {
        let arms = text
            .lines()
            .filter_map(|l| l.split_once(')'))
            .filter(|(p, rest)| !p.contains('(') && rest.contains("exit"));
        arms.flat_map(|(p, _)| p.split('|').map(|w| w.trim().to_owned()).collect::<Vec<_>>())
            .collect()
    };
    let kept = refused(new);
    for pattern in refused(old).iter().filter(|p| !kept.contains(p)) {
        out.weaker("the script no longer refuses it", 1, pattern, "");
    }
}

#[cfg(test)]
mod tests {
    use super::{blocks, forgives};

    #[test]
    fn a_trap_that_forgives() {
        assert!(forgives("trap \"exit 0\" EXIT"));
        assert!(!forgives("trap 'rm -rf \"$tmp\"' EXIT"));
    }

    #[test]
    fn blocks_of_a_line() {
        assert_eq!(
            blocks("stage('a { b') { steps { sh 'npm test; true' } }"),
            ["stage('a { b') {", "steps {", "sh 'npm test; true'"]
        );
        assert_eq!(blocks("when { branch 'x' }"), ["when {", "branch 'x'"]);
    }
}
