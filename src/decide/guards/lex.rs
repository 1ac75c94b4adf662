//! Source text as tokens, so that comments, blank lines and formatting are nothing. A reader of four languages and of
//! plain configuration files; it never fails, and where it misreads it does so on both sides alike.

use super::{
    kind::Language,
    strings::{block_comment, plain_string, python_string, regex, rust_string, template},
};

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Code(Language),
    /// `#` comments, indentation matters: YAML, TOML, INI.
    Hash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Word,
    Text,
    Mark,
    /// A comment that a tool obeys.
    Pragma,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) class: Class,
    /// Of the first byte, counted from 1.
    pub(super) line: u32,
    pub(super) at: usize,
    /// First token of its line.
    pub(super) first: bool,
    /// Width of the white space before it, where it is the first of its line.
    pub(super) indent: usize,
}

impl Token<'_> {
    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.text == text && self.class != Class::Text
    }

    /// Equal in meaning: plain quotes of either kind are the same.
    pub(super) fn same(&self, other: &Token<'_>) -> bool {
        self.class == other.class
            && (self.text == other.text || (self.class == Class::Text && unquoted(self.text) == unquoted(other.text)))
    }
}

/// The inside of a plain string literal without escapes or quotes in it, else the whole.
fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote))
            && !inner.contains(['"', '\'', '\\', '`'])
        {
            return inner;
        }
    }
    text
}

const MARKS: &[&str] = &[
    "...", "===", "!==", "**=", "..=", "<<=", ">>=", "&&=", "||=", "??=", "==", "!=", "<=", ">=", "=>", "->", "::",
    "&&", "||", "++", "--", "**", "//", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", ":=", "?.", "??",
    "..", "<-",
];

/// Comments that change what runs or what is checked.
const PRAGMAS: &[&str] = &[
    "go:",
    "+build",
    "@jest-environment",
    "@vitest-environment",
    "@ts-",
    "eslint-",
    "biome-ignore",
    "istanbul ignore",
    "v8 ignore",
    "c8 ignore",
    "type: ignore",
    "noqa",
    "pylint:",
    "pragma:",
    "mypy:",
    "ruff:",
    "pyright:",
    "nolint",
    "@jsx",
    "-*-",
];

pub(super) fn lex(source: &str, syntax: Syntax) -> Vec<Token<'_>> {
    let mut lexer = Lexer {
        source,
        bytes: source.as_bytes(),
        syntax,
        at: 0,
        line: 1,
        first: true,
        line_start: 0,
        out: Vec::new(),
    };
    lexer.run();
    lexer.out
}

struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    syntax: Syntax,
    at: usize,
    line: u32,
    first: bool,
    line_start: usize,
    out: Vec<Token<'a>>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while self.at < self.bytes.len() {
            let b = self.bytes[self.at];
            if b == b'\n' {
                self.at += 1;
                self.new_line();
            } else if b == b'\\' && self.rest().starts_with("\\\n") {
                // A joined line: the next token does not begin one.
                self.at += 2;
                self.line += 1;
            } else if b.is_ascii_whitespace() {
                self.at += 1;
            } else if let Some(end) = self.comment() {
                let body = &self.source[self.at..end];
                let inner = body.trim_start_matches(['/', '*', '#', '!', ' ', '\t']);
                if PRAGMAS.iter().any(|p| inner.starts_with(p)) || body.starts_with("#!") {
                    self.push(end, Class::Pragma);
                } else {
                    self.skip(end);
                }
            } else if let Some(end) = self.string() {
                self.push(end, Class::Text);
            } else if is_word(self.rest()) {
                let len = self.rest().find(|c: char| !word_char(c)).unwrap_or(self.rest().len());
                self.push(self.at + len, Class::Word);
            } else {
                let mark = MARKS.iter().find(|m| self.rest().starts_with(**m));
                let len = mark.map_or_else(|| self.rest().chars().next().map_or(1, char::len_utf8), |m| m.len());
                self.push(self.at + len, Class::Mark);
            }
        }
    }

    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    fn new_line(&mut self) {
        self.line += 1;
        self.first = true;
        self.line_start = self.at;
    }

    fn push(&mut self, end: usize, class: Class) {
        let source = self.source;
        self.out.push(Token {
            text: &source[self.at..end],
            class,
            line: self.line,
            at: self.at,
            first: self.first,
            indent: if self.first { self.at - self.line_start } else { 0 },
        });
        self.first = false;
        self.skip(end);
    }

    fn skip(&mut self, end: usize) {
        let lines = self.source[self.at..end].matches('\n').count();
        self.line += u32::try_from(lines).unwrap_or(u32::MAX);
        self.at = end;
    }

    fn comment(&self) -> Option<usize> {
        let rest = self.rest();
        let line_end = || self.at + rest.find('\n').unwrap_or(rest.len());
        match self.syntax {
            Syntax::Hash | Syntax::Code(Language::Python) => rest.starts_with('#').then(line_end),
            Syntax::Code(language) => {
                if rest.starts_with("//") || (language == Language::Script && self.at == 0 && rest.starts_with("#!")) {
                    Some(line_end())
                } else if rest.starts_with("/*") {
                    Some(self.at + block_comment(rest, language == Language::Rust))
                } else {
                    None
                }
            }
        }
    }

    fn string(&self) -> Option<usize> {
        let rest = self.rest();
        let len = match self.syntax {
            Syntax::Hash => plain_string(rest, "\"'"),
            Syntax::Code(Language::Python) => python_string(rest),
            Syntax::Code(Language::Rust) => rust_string(rest),
            Syntax::Code(Language::Go) => {
                if let Some(inner) = rest.strip_prefix('`') {
                    Some(inner.find('`').map_or(rest.len(), |i| i + 2))
                } else {
                    plain_string(rest, "\"'")
                }
            }
            Syntax::Code(Language::Script) => {
                if rest.starts_with('`') {
                    Some(template(rest, 0))
                } else if rest.starts_with('/') && self.regex_may_start() {
                    regex(rest)
                } else {
                    plain_string(rest, "\"'")
                }
            }
        };
        len.map(|len| self.at + len)
    }

    fn regex_may_start(&self) -> bool {
        let Some(last) = self.out.last() else {
            return true;
        };
        match last.class {
            Class::Word => [
                "return", "typeof", "case", "in", "of", "void", "delete", "await", "yield",
            ]
            .contains(&last.text),
            Class::Mark => !matches!(last.text, ")" | "]" | "}"),
            Class::Text => false,
            Class::Pragma => true,
        }
    }
}

fn word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_word(rest: &str) -> bool {
    rest.chars().next().is_some_and(word_char)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: Language, source: &str, want: &str) {
        let got: Vec<&str> = lex(source, Syntax::Code(language)).iter().map(|t| t.text).collect();
        assert_eq!(got.join(" "), want, "{source:?}");
    }

    #[test]
    fn comments_go_and_strings_stay_whole() {
        check(Language::Python, "a = 'x # y'  # note\n", "a = 'x # y'");
        check(
            Language::Python,
            "a = f\"{b['c']}\" + rb'''x\n'y'''",
            "a = f\"{b['c']}\" + rb'''x\n'y'''",
        );
        check(Language::Script, "a // b\n/* c */ d", "a d");
        check(
            Language::Script,
            "x = `a ${b ? `c // d` : '}'} // e` + 1",
            "x = `a ${b ? `c // d` : '}'} // e` + 1",
        );
        check(
            Language::Script,
            "s.match(/[/'\"]+\\//g) / 2",
            "s . match ( /[/'\"]+\\//g ) / 2",
        );
        check(
            Language::Rust,
            "/* a /* b */ c */ d 'x' 'a: &'b r#\"// \"#",
            "d 'x' ' a : & ' b r#\"// \"#",
        );
        check(
            Language::Rust,
            "b'\\'' '\\n' \"a\\\"//\" // c",
            "b'\\'' '\\n' \"a\\\"//\"",
        );
        check(Language::Go, "a := `x // y` // z\nb == c", "a := `x // y` b == c");
    }

    #[test]
    fn comments_that_tools_obey_stay() {
        check(
            Language::Go,
            "//go:build ignore\npackage x",
            "//go:build ignore package x",
        );
        check(Language::Script, "// @ts-nocheck\n// plain\na", "// @ts-nocheck a");
        check(Language::Python, "a  # type: ignore", "a # type: ignore");
    }

    #[test]
    fn odd_input_ends() {
        for language in [Language::Python, Language::Script, Language::Rust, Language::Go] {
            for source in [
                "'",
                "\"\"\"",
                "`${",
                "/*",
                "r#\"",
                "\\",
                "'\\",
                "/[",
                "\u{e9}'\u{e9}",
                "b'",
                "''",
                "*/",
            ] {
                lex(source, Syntax::Code(language));
            }
            lex(&"`${".repeat(100_000), Syntax::Code(language));
        }
    }
}
