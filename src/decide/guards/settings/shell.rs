//! Lines of a shell as commands, and whether a failure of each is a failure of the whole.

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
    /// Its failure ends the whole.
    pub(super) counts: bool,
    pub(super) line: usize,
}

/// How a failure of one line is taken where no option says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Default {
    /// As with `set -e`: automation, make, just.
    Stops,
    /// A plain script: only the last status counts.
    GoesOn,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Op(&'static str),
    Line,
}

/// The last word of a command whose failure is success: `! pytest`.
pub(super) const TURNED: &str = "\u{0}!";

const OPS: [&str; 11] = ["&&", "||", ";;", "|&", ";", "|", "&", "(", ")", ">", "<"];

/// The commands of a script, in its order.
pub(super) fn commands(script: &str, default: Default) -> Vec<Command> {
    let tokens = tokens(script);
    let mut out: Vec<Command> = Vec::new();
    let mut state = State {
        stops: default == Default::Stops,
        pipefail: false,
        ended: false,
        pending: Vec::new(),
        fed: Vec::new(),
        tried: Vec::new(),
        grouped: false,
        excused: Vec::new(),
    };
    let mut words: Vec<String> = Vec::new();
    let mut line = 0;
    let mut at = 0;
    let mut redirect = false;
    while at <= tokens.len() {
        let token = tokens.get(at);
        match token {
            Some(Token::Word(_)) if redirect => redirect = false,
            Some(Token::Word(word)) => words.push(word.clone()),
            Some(Token::Op(">" | "<")) => redirect = true,
            other => {
                let op = match other {
                    Some(Token::Op(op)) => *op,
                    Some(Token::Line) => "\n",
                    _ => "",
                };
                state.end(std::mem::take(&mut words), op, line, &mut out);
                redirect = false;
                line += usize::from(op == "\n");
            }
        }
        at += 1;
    }
    let last = out.len().checked_sub(1);
    if !state.stops {
        // Without `set -e` the last status is the whole's.
        for (n, command) in out.iter_mut().enumerate() {
            let joined = command.counts && Some(n) == last;
            let exits = command.words.first().is_some_and(|w| w == "exit" || w == "return");
            command.counts = joined || exits || command.counts && is_joined(script, command);
        }
    }
    out
}

/// `a && b` at the end of a script fails when `a` does.
fn is_joined(script: &str, command: &Command) -> bool {
    let lines: Vec<&str> = script.lines().filter(|l| !l.trim().is_empty()).collect();
    let first = command.words.first().map_or("", String::as_str);
    lines
        .last()
        .is_some_and(|l| l.contains("&&") && l.contains(first) && !l.contains(';'))
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of the shell, and all of them go together"
)]
struct State {
    stops: bool,
    pipefail: bool,
    /// An unconditional `exit` was before.
    ended: bool,
    /// Commands of a pipe that is still open.
    pending: Vec<usize>,
    /// Commands that feed the last one.
    fed: Vec<usize>,
    /// Commands in whose place the last one runs.
    tried: Vec<usize>,
    /// A group in braces stands behind `||`.
    grouped: bool,
    /// Commands that the open group excuses, until it ends with a failure.
    excused: Vec<usize>,
}

impl State {
    fn end(&mut self, mut words: Vec<String>, op: &str, line: usize, out: &mut Vec<Command>) {
        let alternative = out
            .last()
            .is_some_and(|c| c.words.last().is_some_and(|w| w == "\u{0}||"));
        self.grouped = alternative && words.first().is_some_and(|w| w == "{");
        if words.first().is_some_and(|w| w == "}") {
            self.excused.clear();
        }
        let mut given = Vec::new();
        while words.first().is_some_and(|w| is_prefix(w)) {
            given.extend(options_of(&words.remove(0)));
        }
        let turned = words.first().is_some_and(|w| w == "!");
        if turned {
            words.remove(0);
            while words.first().is_some_and(|w| is_prefix(w)) {
                given.extend(options_of(&words.remove(0)));
            }
        }
        unwrap(&mut words);
        if words.is_empty() {
            return;
        }
        words.extend(given);
        if turned {
            words.push(TURNED.to_owned());
        }
        self.options(&words);
        let excuse = matches!(words[0].as_str(), "true" | ":" | "echo" | "printf")
            || words[0] == "exit" && words.get(1).is_none_or(|c| c == "0");
        // What stands before `||` may fail when what follows cannot.
        if excuse
            && let Some(before) = out
                .last_mut()
                .filter(|c| c.words.last().is_some_and(|w| w == "\u{0}||"))
        {
            before.words.pop();
            before.counts = false;
            // A pipe is one command, and its status is excused as a whole.
            let last = out.len() - 1;
            self.excused = self
                .fed
                .iter()
                .chain(&self.tried)
                .copied()
                .chain([last])
                .filter(|_| self.grouped)
                .collect();
            for piped in self.fed.iter().chain(&self.tried) {
                out[*piped].counts = false;
            }
        } else if let Some(before) = out.last_mut()
            && before.words.last().is_some_and(|w| w == "\u{0}||")
        {
            before.words.pop();
        }
        let ends = words[0] == "exit" || words[0] == "return";
        let fails = ends && words.get(1).is_some_and(|c| c != "0") || words[0] == "false";
        if fails {
            for command in std::mem::take(&mut self.excused) {
                out[command].counts = true;
            }
        }
        let mut counts = !self.ended && op != "&";
        if op == "|" || op == "|&" {
            self.pending.push(out.len());
        } else if !self.pending.is_empty() {
            self.fed = std::mem::take(&mut self.pending);
            for piped in &self.fed {
                out[*piped].counts &= self.pipefail;
            }
            counts &= !self.ended;
        } else {
            self.fed.clear();
        }
        if op == "||" {
            words.push("\u{0}||".to_owned());
            self.tried.push(out.len());
        } else {
            self.tried.clear();
        }
        out.push(Command { words, counts, line });
        if ends && matches!(op, ";" | "\n" | "") && out.len() > 1 && !nested(out) || ends && out.len() == 1 {
            self.ended = true;
        }
    }

    fn options(&mut self, words: &[String]) {
        let set = words[0] == "set" || words[0] == "bash" || words[0] == "shopt";
        if !set {
            return;
        }
        let mut rest = words[1..].iter().peekable();
        while let Some(word) = rest.next() {
            let on = word.starts_with('-');
            if !word.starts_with(['-', '+']) {
                break;
            }
            if word.contains('e') && !word.starts_with("--") {
                self.stops = on;
            }
            if word.ends_with('o') {
                let name = rest.next().map_or("", String::as_str);
                match name {
                    "pipefail" => self.pipefail = on,
                    "errexit" => self.stops = on,
                    _ => {}
                }
            }
        }
    }
}

/// An `exit` in the arm of a `case` or `if` ends nothing else.
fn nested(out: &[Command]) -> bool {
    let word = |w: &str| out.iter().filter(|c| c.words.first().is_some_and(|f| f == w)).count();
    word("if") + word("case") + word("while") + word("for") > word("fi") + word("esac") + word("done")
}

/// Runners of another program: what they run is what counts.
fn unwrap(words: &mut Vec<String>) {
    loop {
        let two: Vec<&str> = words.iter().take(2).map(String::as_str).collect();
        let count = match two.as_slice() {
            ["python" | "python3" | "py", "-m"] if words.len() > 2 => 2,
            ["bundle" | "pnpm" | "yarn", "exec"] | ["poetry" | "uv" | "pipenv" | "pdm" | "hatch", "run"] => 2,
            _ => return,
        };
        words.drain(..count);
    }
}

fn is_prefix(word: &str) -> bool {
    let assigns = word
        .split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    assigns
        || matches!(
            word,
            "then"
                | "else"
                | "do"
                | "{"
                | "}"
                | "time"
                | "sudo"
                | "exec"
                | "env"
                | "command"
                | "@"
                | "npx"
                | "cross-env"
        )
}

/// `PYTEST_ADDOPTS="-k fast" pytest`: the program reads the options as if they stood behind it.
fn options_of(word: &str) -> Vec<String> {
    let Some((name, value)) = word.split_once('=') else {
        return Vec::new();
    };
    let read = is_options(name) && value.trim_start().starts_with('-');
    let words = value.split_whitespace().filter(|_| read);
    words.map(str::to_owned).collect()
}

/// A variable of this name holds options of a program.
pub(super) fn is_options(name: &str) -> bool {
    ["ADDOPTS", "_OPTS", "FLAGS", "OPTIONS", "_ARGS"]
        .iter()
        .any(|e| name.ends_with(e))
}

/// A name alone in parentheses, in capitals as variables are.
fn is_variable(rest: impl Iterator<Item = char>) -> bool {
    let inside: String = rest.skip(1).take(60).take_while(|c| *c != ')').collect();
    !inside.is_empty()
        && inside
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn tokens(script: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut open = false;
    let joined = script.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut chars = joined.chars().peekable();
    let push = |out: &mut Vec<Token>, word: &mut String, open: &mut bool| {
        if *open || !word.is_empty() {
            out.push(Token::Word(std::mem::take(word)));
            *open = false;
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                open = true;
                while let Some(inner) = chars.next() {
                    if inner == c {
                        break;
                    }
                    if inner == '\\' && c == '"' {
                        word.extend(chars.next());
                    } else {
                        word.push(inner);
                    }
                }
            }
            '\\' => word.extend(chars.next()),
            '#' if word.is_empty() && !open => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            '\n' => {
                push(&mut out, &mut word, &mut open);
                out.push(Token::Line);
            }
            ' ' | '\t' | '\r' => push(&mut out, &mut word, &mut open),
            // `$(NAME)` of make is a word like any other.
            '$' if chars.peek() == Some(&'(') && is_variable(chars.clone()) => {
                word.push('$');
                word.extend(chars.by_ref().skip(1).take_while(|c| *c != ')'));
            }
            '$' if chars.peek() == Some(&'{') => {
                word.push('$');
                for inner in chars.by_ref() {
                    word.push(inner);
                    if inner == '}' {
                        break;
                    }
                }
            }
            '&' | '|' | ';' | '(' | ')' | '>' | '<' => {
                let two: String = [Some(c), chars.peek().copied()].into_iter().flatten().collect();
                let op = OPS
                    .iter()
                    .find(|o| **o == two)
                    .or_else(|| OPS.iter().find(|o| o.chars().eq([c])));
                // `2>&1`, `>&2`
                if c == '&' && matches!(out.last(), Some(Token::Op(">" | "<"))) && word.is_empty() {
                    word.push('&');
                    continue;
                }
                if matches!(c, '>' | '<') && word.chars().all(|c| c.is_ascii_digit()) {
                    word.clear();
                }
                push(&mut out, &mut word, &mut open);
                if let Some(op) = op {
                    if op.len() == 2 {
                        chars.next();
                    }
                    out.push(Token::Op(op));
                }
            }
            other => word.push(other),
        }
    }
    push(&mut out, &mut word, &mut open);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, default: Default, want: &str) {
        let found: Vec<String> = commands(script, default)
            .iter()
            .map(|c| format!("{}{}", c.words.join(" "), if c.counts { "" } else { "?" }))
            .collect();
        assert_eq!(found.join(", "), want, "{script}");
    }

    #[test]
    fn what_counts_and_what_does_not() {
        check("a && b", Default::Stops, "a, b");
        check("a || true", Default::Stops, "a?, true");
        check("a || echo no", Default::Stops, "a?, echo no");
        check("a || exit 1", Default::Stops, "a, exit 1");
        check("a || { echo no; exit 1; }", Default::Stops, "a, echo no, exit 1");
        check("a || { echo no; true; }", Default::Stops, "a?, echo no, true");
        check("a | tee x", Default::Stops, "a?, tee x");
        check(
            "set -o pipefail\na | tee x",
            Default::Stops,
            "set -o pipefail, a, tee x",
        );
        check("a ; b", Default::GoesOn, "a?, b");
        check("a && b", Default::GoesOn, "a, b");
        check("set -e\na\nb", Default::GoesOn, "set -e, a, b");
        check("a\nb", Default::GoesOn, "a?, b");
        check("a &\nb", Default::Stops, "a?, b");
        check("exit 0\na", Default::Stops, "exit 0, a?");
        check("A=1 npx a 'b c' > out 2>&1", Default::Stops, "a b c");
        check("a \\\n  --b # c", Default::Stops, "a --b");
        check("PYTEST_ADDOPTS='-k x' pytest -q", Default::Stops, "pytest -q -k x");
        check("MODE='-k x' pytest -q", Default::Stops, "pytest -q");
        check(
            "case \"$1\" in\n  x) echo no >&2; exit 2 ;;\nesac\na",
            Default::Stops,
            "case $1 in, x, echo no, exit 2, esac, a",
        );
    }
}
