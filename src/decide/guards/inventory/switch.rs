//! Whether a test runs: marks, modifiers, options and calls that switch it off, focus it, repeat it, or turn its
//! failure into success.

use super::words::plain;
use crate::decide::guards::syntax::{Ast, Id, Kind, Link, literal};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Runs {
    #[default]
    Always,
    /// Only where a condition holds.
    Sometimes,
    /// A failure counts as success.
    MayFail,
    Never,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Switch {
    pub(super) runs: Runs,
    /// The condition, or the word that switches it off.
    pub(super) by: String,
    /// Only the platform decides.
    pub(super) platform: bool,
    pub(super) focused: bool,
    pub(super) retries: f64,
    pub(super) timeout: Option<f64>,
    /// Marks that a runner may choose by.
    pub(super) tags: Vec<String>,
}

impl Switch {
    fn set(&mut self, runs: Runs, by: &str) {
        if runs > self.runs {
            self.runs = runs;
            by.clone_into(&mut self.by);
        }
    }

    /// What holds for a suite holds for its cases.
    pub(super) fn within(mut self, outer: &Self) -> Self {
        if outer.runs > self.runs {
            self.runs = outer.runs;
            self.by.clone_from(&outer.by);
            self.platform = outer.platform;
        }
        self.focused |= outer.focused;
        self.retries = self.retries.max(outer.retries);
        self.tags.extend(outer.tags.iter().cloned());
        self.tags.sort();
        self.tags.dedup();
        self
    }

    /// A word of a chain such as `it.skip`, or of a mark such as `@Disabled`.
    pub(super) fn word(&mut self, name: &str, condition: Option<&str>) {
        let word = plain(name);
        let by = condition.unwrap_or(name);
        match word.as_str() {
            "skip" | "ignore" | "disabled" | "todo" | "fixme" | "pending" | "explicit" | "quarantine" | "disable"
            | "skiptest" => self.set(Runs::Never, name),
            "xfail" | "expectedfailure" | "fails" | "failing" | "shouldfail" | "knownfailure" => {
                self.set(Runs::MayFail, name);
            }
            "only" | "focus" | "focused" | "solo" => self.focused = true,
            "skipif" | "skipunless" | "runif" | "ignoreif" | "importorskip" | "requires" => self.sometimes(by),
            _ if word.starts_with("enabled")
                || word.starts_with("requires")
                || word.starts_with("disabledo")
                || word.starts_with("disabledi") =>
            {
                self.sometimes(by);
            }
            _ => {}
        }
    }

    fn sometimes(&mut self, by: &str) {
        self.platform = is_platform(by);
        self.set(Runs::Sometimes, by);
    }

    pub(super) fn conditional(&mut self, by: &str) {
        self.sometimes(by);
    }

    /// Kotest's marks at the beginning of a title; the title without them.
    pub(super) fn kotest(&mut self, title: &str) -> String {
        let inner = title.trim_start_matches('"');
        if inner.starts_with('!') {
            self.word("skip", None);
        }
        self.focused |= inner.starts_with("f:");
        format!("\"{}", inner.trim_start_matches("f:").trim_start_matches('!'))
    }

    /// The first letters of Ruby's and JavaScript's old spellings.
    pub(super) fn prefix(&mut self, name: &str) {
        match name.chars().next() {
            Some('x') => self.set(Runs::Never, name),
            Some('f') => self.focused = true,
            _ => {}
        }
    }

    /// The links of `it.skip.each(…)` behind the first.
    pub(super) fn links(&mut self, ast: &Ast<'_>, links: &[Link<'_>]) {
        for link in links {
            let condition = link.arg(0).map(|c| ast.flat(c));
            self.word(link.name, condition.as_deref());
            let number = link.arg(0).and_then(|c| number(ast, c));
            match plain(link.name).as_str() {
                "retries" | "retry" | "flaky" => self.retries = self.retries.max(number.unwrap_or(1.0)),
                "timeout" | "settimeout" => self.timeout = number.or(self.timeout),
                _ => {}
            }
        }
    }

    /// Options beside the title: `{ skip: true }`, `:focus`, a timeout.
    pub(super) fn options(&mut self, ast: &Ast<'_>, args: &[Id]) {
        for arg in args {
            match ast.kind(*arg) {
                Kind::Map => self.options(ast, ast.kids(*arg)),
                Kind::Pair => self.option(ast, *arg),
                Kind::Text if ast.source(*arg).starts_with(':') => {
                    let word = literal::inner(ast.source(*arg));
                    self.word(word, None);
                    self.tags.push(word.to_owned());
                }
                Kind::Number => self.timeout = literal::value(ast.source(*arg)).or(self.timeout),
                _ => {}
            }
        }
    }

    fn option(&mut self, ast: &Ast<'_>, pair: Id) {
        let (key, value) = (literal::inner(ast.word(pair)), ast.body(pair));
        let source = value.map_or("", |v| ast.source(v));
        let off = matches!(source, "false" | "null" | "nil" | "undefined" | "False");
        let number = value.and_then(|v| number(ast, v));
        match plain(key).as_str() {
            "retry" | "retries" | "reruns" | "attempts" => self.retries = self.retries.max(number.unwrap_or(1.0)),
            "timeout" => self.timeout = number.or(self.timeout),
            "enabled" if source == "false" => self.set(Runs::Never, "enabled = false"),
            "enabled" if source == "true" => {}
            "enabled" | "if" | "unless" => self.sometimes(source),
            _ if off => {}
            _ if value.is_some_and(|v| !matches!(ast.kind(v), Kind::Constant | Kind::Text | Kind::Number)) => {
                let word = plain(key);
                if matches!(word.as_str(), "skip" | "todo" | "ignore") {
                    self.sometimes(source);
                }
            }
            _ => {
                self.word(key, None);
                self.tags.push(key.to_owned());
            }
        }
    }

    /// A decorator, annotation or attribute.
    pub(super) fn mark(&mut self, ast: &Ast<'_>, mark: Id) {
        let call = ast.kids(mark).first().copied();
        let links = call.map(|c| ast.chain(c)).unwrap_or_default();
        let path: Vec<&str> = links.iter().map(|l| l.name).collect();
        let Some(last) = links.last() else { return };
        let inside = ast.flat(mark);
        let word = plain(last.name);
        let number = ast.walk(mark).find_map(|n| number(ast, n));
        match word.as_str() {
            "cfg" if !is_test_cfg(&inside) => self.sometimes(&inside),
            "cfgattr" if inside.contains("ignore") => self.sometimes(&inside),
            "flaky" | "retry" | "retries" | "retryingtest" | "rerun" => {
                self.retries = self.retries.max(number.unwrap_or(1.0));
            }
            "timeout" => self.timeout = number.or(self.timeout),
            "tag" | "category" | "group" | "groups" | "trait" => {
                let values = ast.walk(mark).filter(|n| ast.kind(*n) == Kind::Text);
                self.tags
                    .extend(values.map(|v| literal::inner(ast.source(v)).to_owned()));
            }
            _ => {
                let condition = last.arg(0).map(|c| ast.flat(c)).unwrap_or(inside);
                self.word(last.name, Some(&condition));
                let pairs: Vec<Id> = ast.walk(mark).filter(|n| ast.kind(*n) == Kind::Pair).collect();
                for pair in pairs {
                    if matches!(ast.word(pair), "enabled" | "run" | "reruns" | "Skip") {
                        self.pair_of_mark(ast, pair);
                    }
                }
                if path.len() > 1 && path.contains(&"mark") {
                    self.tags.push(last.name.to_owned());
                }
            }
        }
    }

    fn pair_of_mark(&mut self, ast: &Ast<'_>, pair: Id) {
        let source = ast.body(pair).map_or("", |v| ast.source(v));
        match (ast.word(pair), source) {
            ("enabled" | "run", "false" | "False") => self.set(Runs::Never, ast.source(pair)),
            ("Skip", _) => self.set(Runs::Never, "Skip"),
            ("reruns", _) => self.retries = self.retries.max(literal::value(source).unwrap_or(1.0)),
            _ => {}
        }
    }
}

/// A condition that leaves tests on where tests run.
fn is_test_cfg(inside: &str) -> bool {
    let words: Vec<&str> = inside
        .split(' ')
        .filter(|w| w.chars().all(char::is_alphanumeric))
        .collect();
    words == ["cfg", "test"]
}

fn number(ast: &Ast<'_>, id: Id) -> Option<f64> {
    (ast.kind(id) == Kind::Number)
        .then(|| literal::value(ast.source(id)))
        .flatten()
}

/// Says on which system or version something runs.
pub(super) fn is_platform(condition: &str) -> bool {
    let lower = condition.to_lowercase();
    let words = [
        "platform",
        "os_name",
        "os.name",
        "os . name",
        "goos",
        "windows",
        "win32",
        "darwin",
        "linux",
        "unix",
        "version_info",
        "version",
        "target_os",
        "target_family",
        "target_arch",
        "target_pointer",
        "macos",
        "jre",
        "onos",
        "ruby_engine",
        "goarch",
        "implementation_name",
    ];
    let elsewhere = ["env", "getenv", "ci", "random", "short", "true", "false", "any ( )"];
    let parts: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    words.iter().any(|w| lower.contains(w)) && !elsewhere.iter().any(|w| parts.contains(w))
}
