//! A test file as items: imports, functions, classes, blocks of cases. Only containers (a class, a `describe`, a
//! `mod`) may grow; every other item is one piece.

use std::ops::Range;

use super::{
    kind::Language,
    lex::{Class, Syntax, Token, lex},
};

pub(super) struct Source<'a> {
    pub(super) language: Language,
    pub(super) tokens: Vec<Token<'a>>,
    /// Index of the matching bracket; itself where there is none.
    pairs: Vec<usize>,
    /// Stands inside brackets.
    inside: Vec<bool>,
    /// Its brackets match, and not too deep for a reader.
    pub(super) readable: bool,
}

/// Ranges are token indices.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) all: Range<usize>,
    /// What may grow.
    pub(super) body: Option<Range<usize>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, language: Language) -> Self {
        let mut tokens = lex(text, Syntax::Code(language));
        let (pairs, _, readable) = match_brackets(&tokens);
        let keep = kept(&tokens, &pairs);
        let mut index = 0;
        tokens.retain(|_| {
            index += 1;
            keep[index - 1]
        });
        let (pairs, inside, _) = match_brackets(&tokens);
        Self {
            language,
            tokens,
            pairs,
            inside,
            readable,
        }
    }

    pub(super) fn same(&self, range: &Range<usize>, other: &Source<'_>, range2: &Range<usize>) -> bool {
        range.len() == range2.len()
            && range
                .clone()
                .zip(range2.clone())
                .all(|(a, b)| self.same_at(a, range, other, b, range2))
    }

    /// Two tokens of two items are the same.
    pub(super) fn same_at(
        &self,
        a: usize,
        item: &Range<usize>,
        other: &Source<'_>,
        b: usize,
        item2: &Range<usize>,
    ) -> bool {
        self.tokens[a].same(&other.tokens[b])
            && (self.language != Language::Python || self.line_shape(a, item) == other.line_shape(b, item2))
    }

    /// Equal for two items that are the same; others may share it.
    pub(super) fn fingerprint(&self, item: &Range<usize>) -> String {
        let mut out = String::new();
        for at in item.clone() {
            if self.language == Language::Python
                && let Some(depth) = self.line_shape(at, item)
            {
                out.push('\n');
                out.push_str(&depth.to_string());
            }
            out.push(' ');
            out.push_str(self.tokens[at].text);
        }
        out
    }

    /// In Python a line's beginning and depth matter, except inside brackets. Depth counts from the item.
    fn line_shape(&self, at: usize, range: &Range<usize>) -> Option<isize> {
        let token = &self.tokens[at];
        if !token.first || self.inside[at] {
            return None;
        }
        let base = self.tokens[range.start..=at]
            .iter()
            .find(|t| t.first)
            .map_or(0, |t| t.indent);
        Some(token.indent.cast_signed() - base.cast_signed())
    }

    pub(super) fn pair(&self, at: usize) -> Option<usize> {
        (self.pairs[at] != at).then_some(self.pairs[at])
    }

    pub(super) fn top(&self) -> Vec<Item> {
        self.items(0..self.tokens.len())
    }

    pub(super) fn items(&self, range: Range<usize>) -> Vec<Item> {
        match self.language {
            Language::Python => self.python_items(range),
            Language::Script | Language::Rust | Language::Go => self.brace_items(range),
        }
    }

    fn python_items(&self, range: Range<usize>) -> Vec<Item> {
        let mut starts = Vec::new();
        let mut level = None;
        let mut i = range.start;
        let mut decorated = false;
        while i < range.end {
            let token = &self.tokens[i];
            let indent = if token.first { Some(token.indent) } else { None };
            let at_level = indent.is_some_and(|indent| indent <= *level.get_or_insert(indent));
            let continues = ["else", "elif", "except", "finally"].iter().any(|w| token.is(w));
            if (at_level || i == range.start) && !continues {
                if !decorated {
                    starts.push(i);
                }
                decorated = token.is("@");
            }
            i = self.past(i);
        }
        let mut items = Vec::new();
        for (n, start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(range.end);
            items.push(Item {
                all: *start..end,
                body: self.python_body(*start..end),
            });
        }
        items
    }

    /// The lines of a class below its head.
    fn python_body(&self, item: Range<usize>) -> Option<Range<usize>> {
        let mut i = item.start;
        while i < item.end && self.tokens[i].is("@") {
            i = self.past(i);
            while i < item.end && !self.tokens[i].first {
                i = self.past(i);
            }
        }
        if i >= item.end || !self.tokens[i].is("class") {
            return None;
        }
        while i < item.end && !self.tokens[i].is(":") {
            i = self.past(i);
        }
        let body = i + 1..item.end;
        (body.start < body.end && self.tokens[body.start].first).then_some(body)
    }

    /// The index after this token, or after the group that it opens.
    pub(super) fn past(&self, at: usize) -> usize {
        if is_open(&self.tokens[at]) {
            self.pair(at).map_or(at + 1, |close| close + 1)
        } else {
            at + 1
        }
    }

    fn brace_items(&self, range: Range<usize>) -> Vec<Item> {
        let mut items = Vec::new();
        let mut start = range.start;
        let mut i = range.start;
        while i < range.end {
            let last = i;
            i = self.past(i);
            let done = i >= range.end
                || match self.language {
                    Language::Rust => self.inner_attribute(start, last) || self.rust_ends(start, last, i),
                    Language::Go => self.tokens[last].is(";") || (self.tokens[i].first && self.go_ends(last, i)),
                    Language::Script | Language::Python => {
                        self.tokens[last].is(";") && !self.tokens[i].is(";")
                            || (self.tokens[i].first && self.script_ends(i))
                    }
                };
            if done {
                let all = start..i;
                items.push(Item {
                    body: self.brace_body(&all),
                    all,
                });
                start = i;
            }
        }
        items
    }

    /// `#![…]` is of the whole file, not of the item behind it.
    fn inner_attribute(&self, start: usize, last: usize) -> bool {
        last == start + 2 && self.tokens[start].is("#") && self.tokens[start + 1].is("!")
    }

    fn rust_ends(&self, start: usize, last: usize, next: usize) -> bool {
        if self.tokens[last].is(";") {
            return true;
        }
        let group = self.tokens[last].is("{");
        let words = &self.tokens[start..last];
        let assigned = (start..last).any(|i| self.tokens[i].is("=") && !self.nested(start, i));
        let import = words
            .iter()
            .find(|t| t.class == Class::Word && !matches!(t.text, "pub" | "crate"))
            .is_some_and(|t| t.is("use"));
        group && !assigned && !import && !self.tokens[next].is(";") && !self.tokens[next].is("else")
    }

    /// `at` lies within a group that began at or after `start`.
    fn nested(&self, start: usize, at: usize) -> bool {
        let mut i = start;
        while i < at {
            let next = self.past(i);
            if next > at {
                return true;
            }
            i = next;
        }
        false
    }

    fn go_ends(&self, last: usize, next: usize) -> bool {
        let closed = &self.tokens[next - 1];
        let token = &self.tokens[last];
        match closed.class {
            Class::Word | Class::Text | Class::Pragma => true,
            Class::Mark => {
                matches!(closed.text, ")" | "]" | "}" | "++" | "--") || matches!(token.text, ")" | "]" | "}")
            }
        }
    }

    fn script_ends(&self, next: usize) -> bool {
        let closed = &self.tokens[next - 1];
        let open_end = match closed.class {
            Class::Mark => !matches!(closed.text, ")" | "]" | "}" | ";" | "++" | "--"),
            Class::Word => [
                "export", "default", "async", "const", "let", "var", "import", "from", "as", "new", "await", "return",
                "typeof",
            ]
            .contains(&closed.text),
            Class::Text | Class::Pragma => false,
        };
        let next = &self.tokens[next];
        let goes_on = match next.class {
            Class::Mark => !matches!(next.text, "@" | "++" | "--" | "!" | "{" | "}"),
            Class::Word => ["else", "catch", "finally", "instanceof", "in", "of", "as", "from"].contains(&next.text),
            Class::Text | Class::Pragma => false,
        };
        !open_end && !goes_on
    }

    fn brace_body(&self, item: &Range<usize>) -> Option<Range<usize>> {
        match self.language {
            Language::Rust => self.rust_body(item),
            Language::Script => self.script_body(item),
            Language::Go | Language::Python => None,
        }
    }

    /// What stands in the braces of a `mod` or an `impl`.
    fn rust_body(&self, item: &Range<usize>) -> Option<Range<usize>> {
        let open = self.after_attributes(item);
        let head = self.words_from(open, item.end);
        if !(head.first() == Some(&"mod") || head.first() == Some(&"impl")) {
            return None;
        }
        self.last_braces(item)
    }

    /// Rust: the index after attributes and `pub`.
    pub(super) fn after_attributes(&self, item: &Range<usize>) -> usize {
        let mut i = item.start;
        while i < item.end {
            if self.tokens[i].is("#")
                || self.tokens[i].is("!")
                || self.tokens[i].is("[")
                || self.tokens[i].is("(")
                || self.tokens[i].is("pub")
            {
                i = self.past(i);
            } else {
                break;
            }
        }
        i
    }

    fn words_from(&self, from: usize, to: usize) -> Vec<&'a str> {
        self.tokens[from..to]
            .iter()
            .filter(|t| t.class == Class::Word)
            .take(2)
            .map(|t| t.text)
            .collect()
    }

    fn last_braces(&self, item: &Range<usize>) -> Option<Range<usize>> {
        let close = (item.start..item.end).rev().find(|i| self.tokens[*i].is("}"))?;
        let open = self.pair(close)?;
        (open >= item.start).then_some(open + 1..close)
    }

    /// The callback's braces of `describe("…", () => { … })`.
    fn script_body(&self, item: &Range<usize>) -> Option<Range<usize>> {
        const BLOCKS: &[&str] = &["describe", "suite", "context"];
        if !BLOCKS.contains(&self.tokens[item.start].text) {
            return None;
        }
        let close = (item.start..item.end).rev().find(|i| self.tokens[*i].is(")"))?;
        let braces = self.tokens[..close].iter().rposition(|t| t.is("}"))?;
        (braces + 1 == close || self.tokens[braces + 1].is(",")).then_some(())?;
        let open = self.pair(braces)?;
        (open > item.start).then_some(open + 1..braces)
    }
}

pub(super) fn is_open(token: &Token<'_>) -> bool {
    token.class == Class::Mark && matches!(token.text, "(" | "[" | "{")
}

fn is_close(token: &Token<'_>) -> bool {
    token.class == Class::Mark && matches!(token.text, ")" | "]" | "}")
}

/// Partners, what stands inside, and whether all of it fits.
fn match_brackets(tokens: &[Token<'_>]) -> (Vec<usize>, Vec<bool>, bool) {
    const DEEPEST: usize = 100;
    let mut pairs: Vec<usize> = (0..tokens.len()).collect();
    let mut inside = vec![false; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut fits = true;
    for (i, token) in tokens.iter().enumerate() {
        inside[i] = !open.is_empty();
        if is_open(token) {
            open.push(i);
            fits &= open.len() <= DEEPEST;
        } else if is_close(token) {
            let partner =
                open.pop_if(|o| matches!((tokens[*o].text, token.text), ("(", ")") | ("[", "]") | ("{", "}")));
            if let Some(o) = partner {
                pairs[o] = i;
                pairs[i] = o;
            } else {
                fits = false;
            }
        }
    }
    (pairs, inside, fits && open.is_empty())
}

/// A comma before a closing bracket is formatting, except where it makes a tuple of one.
fn kept(tokens: &[Token<'_>], pairs: &[usize]) -> Vec<bool> {
    const NOT_CALLED: &[&str] = &[
        "return", "in", "is", "not", "and", "or", "if", "else", "yield", "assert", "await", "for", "lambda",
    ];
    let mut keep = vec![true; tokens.len()];
    for (i, token) in tokens.iter().enumerate() {
        let Some(close) = tokens.get(i + 1).filter(|t| is_close(t)) else {
            continue;
        };
        let open = pairs[i + 1];
        if !token.is(",") || open > i {
            continue;
        }
        let others = (open + 1..i).any(|k| tokens[k].is(","));
        let called = open
            .checked_sub(1)
            .map(|b| &tokens[b])
            .is_some_and(|before| match before.class {
                Class::Word => !NOT_CALLED.contains(&before.text),
                Class::Mark => matches!(before.text, ")" | "]"),
                Class::Text | Class::Pragma => false,
            });
        keep[i] = !(close.text != ")" || others || called);
    }
    keep
}
