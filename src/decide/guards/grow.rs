//! Whether a test file only grew: every old item is still there, token by token and in order, and what is new are
//! whole items that cannot change what the old ones do.

use std::{collections::BTreeSet, ops::Range};

use super::{
    intro::{Intro, Role, intro, reserved, switched_off},
    items::{Item, Source},
    kind::Language,
    lex::{Class, Token},
};

/// One place where the file did not only grow. Ranges are tokens of the old and the new file.
#[derive(Debug, Clone)]
pub(super) struct Break {
    pub(super) old: Option<Range<usize>>,
    pub(super) new: Option<Range<usize>>,
    pub(super) why: String,
}

/// An old item and what it became, or a new item.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) old: Option<Range<usize>>,
    pub(super) new: Range<usize>,
}

pub(super) struct Growth<'a> {
    old: &'a Source<'a>,
    new: &'a Source<'a>,
    /// Every word of the old file: a new name among them would take over what old tests mean.
    words: std::rc::Rc<BTreeSet<&'a str>>,
    depth: usize,
    pub(super) breaks: Vec<Break>,
}

/// Classes within classes and blocks within blocks; what is deeper is one piece.
const DEEPEST: usize = 30;
/// Tokens of a file that is still compared.
const LARGEST: usize = 300_000;

impl<'a> Growth<'a> {
    pub(super) fn new(old: &'a Source<'a>, new: &'a Source<'a>) -> Self {
        let words: BTreeSet<&str> = old
            .tokens
            .iter()
            .filter(|t| t.class == Class::Word)
            .map(|t| t.text)
            .collect();
        Self {
            old,
            new,
            words: words.into(),
            depth: 0,
            breaks: Vec::new(),
        }
    }

    fn unreadable(&self) -> bool {
        let large = self.old.tokens.len().max(self.new.tokens.len()) > LARGEST;
        large || !self.old.readable || !self.new.readable
    }

    /// Compares whole files.
    pub(super) fn files(mut self) -> Vec<Break> {
        let (o, n) = (0..self.old.tokens.len(), 0..self.new.tokens.len());
        if self.old.same(&o, self.new, &n) {
            return Vec::new();
        }
        if self.unreadable() {
            self.breaks.push(Break {
                old: Some(o),
                new: Some(n),
                why: "the file cannot be read as code, so no change of it can be judged".to_owned(),
            });
            return self.breaks;
        }
        let (old, new) = (self.old.top(), self.new.top());
        self.lists(&old, &new, false);
        self.breaks
    }

    /// Compares two lists of items of one container. Returns the pairs in the order of the new list.
    pub(super) fn lists(&mut self, old: &[Item], new: &[Item], in_class: bool) -> Vec<Pair> {
        // A new item that equals some old one does not stand for another.
        let kept: Vec<bool> = {
            let keys: BTreeSet<String> = old.iter().map(|o| self.old.fingerprint(&o.all)).collect();
            new.iter()
                .map(|n| keys.contains(&self.new.fingerprint(&n.all)))
                .collect()
        };
        let mut taken = vec![None; new.len()];
        let mut from = 0;
        for (n, item) in old.iter().enumerate() {
            let mut second = None;
            let whole = (from..new.len()).find(|at| match self.relation(item, &new[*at], kept[*at]) {
                Some(breaks) if breaks.is_empty() => true,
                Some(breaks) => {
                    second.get_or_insert((*at, breaks));
                    false
                }
                None => false,
            });
            if let Some(at) = whole {
                taken[at] = Some(n);
                from = at + 1;
            } else if let Some((at, breaks)) = second {
                taken[at] = Some(n);
                from = at + 1;
                self.breaks.extend(breaks);
            } else {
                self.breaks.push(Break {
                    old: Some(item.all.clone()),
                    new: None,
                    why: "it is gone".to_owned(),
                });
            }
        }
        let mut pairs = Vec::new();
        for (at, item) in new.iter().enumerate() {
            pairs.push(Pair {
                old: taken[at].map(|n| old[n].all.clone()),
                new: item.all.clone(),
            });
            if taken[at].is_none() {
                self.inserted(item, old, in_class);
            }
        }
        pairs
    }

    /// None: the new item is another one. Empty: the old item is there, as it was or grown in a way that keeps all of
    /// it. Else what is wrong with the new item that stands for it.
    fn relation(&self, old: &Item, new: &Item, new_is_kept: bool) -> Option<Vec<Break>> {
        if self.old.same(&old.all, self.new, &new.all) {
            return Some(Vec::new());
        }
        if new_is_kept {
            return None;
        }
        if let Some(breaks) = self.grown_container(old, new) {
            return Some(breaks);
        }
        let alike = self.old.tokens[old.all.start].same(&self.new.tokens[new.all.start]);
        if alike
            && (self.grown_import(old, new) || self.grown_table(&old.all, &new.all, old.all.clone(), new.all.clone()))
        {
            return Some(Vec::new());
        }
        self.counterpart(old, new).then(|| {
            vec![Break {
                old: Some(old.all.clone()),
                new: Some(new.all.clone()),
                why: "an existing test is changed".to_owned(),
            }]
        })
    }

    /// Breaks inside a container whose head and tail are as they were.
    fn grown_container(&self, old: &Item, new: &Item) -> Option<Vec<Break>> {
        let (o, n) = (old.body.clone()?, new.body.clone()?);
        let head = self
            .old
            .same(&(old.all.start..o.start), self.new, &(new.all.start..n.start));
        let tail = self.old.same(&(o.end..old.all.end), self.new, &(n.end..new.all.end));
        if !head || !tail || self.depth >= DEEPEST {
            return None;
        }
        let mut inner = Growth {
            old: self.old,
            new: self.new,
            words: self.words.clone(),
            depth: self.depth + 1,
            breaks: Vec::new(),
        };
        inner.lists(
            &self.old.items(o),
            &self.new.items(n),
            self.old.language == Language::Python,
        );
        Some(inner.breaks)
    }

    /// The new item stands for the old one, since it has its name.
    fn counterpart(&self, old: &Item, new: &Item) -> bool {
        let (a, b) = (intro(self.old, &old.all), intro(self.new, &new.all));
        !a.names.is_empty() && a.names == b.names && (a.role == b.role || b.role == Role::Other)
    }

    /// Names were added to an import, none was renamed and no module exchanged.
    fn grown_import(&self, old: &Item, new: &Item) -> bool {
        let is_import = |source: &Source<'_>, item: &Item| intro(source, &item.all).role == Role::Import;
        if !is_import(self.old, old) || !is_import(self.new, new) {
            return false;
        }
        let mut rest = old.all.clone();
        for at in new.all.clone() {
            let token = &self.new.tokens[at];
            if rest.start < rest.end && self.old.tokens[rest.start].same(token) {
                rest.start += 1;
            } else if !self.may_join_import(token) {
                return false;
            }
        }
        rest.is_empty()
    }

    fn may_join_import(&self, token: &Token<'_>) -> bool {
        match token.class {
            Class::Word => token.text != "as" && !self.words.contains(token.text),
            Class::Mark => matches!(token.text, "," | "(" | ")" | "{" | "}"),
            // A further package in the brackets of a Go import.
            Class::Text => self.old.language == Language::Go,
            Class::Pragma => false,
        }
    }

    /// Equal but for further rows in tables. `left` and `right` are what is still to be compared of the two items.
    fn grown_table(&self, old: &Range<usize>, new: &Range<usize>, left: Range<usize>, right: Range<usize>) -> bool {
        let (mut at, mut to) = (left.start, right.start);
        while at < left.end && to < right.end {
            if !self.old.same_at(at, old, self.new, to, new) {
                return false;
            }
            let (one, two) = (at..self.old.past(at), to..self.new.past(to));
            (at, to) = (one.end, two.end);
            if one.len() == 1 || two.len() == 1 {
                if one.len() != two.len() {
                    return false;
                }
                continue;
            }
            let (one, two) = (one.start + 1..one.end - 1, two.start + 1..two.end - 1);
            if !self.more_rows(one.clone(), two.clone()) && !self.grown_table(old, new, one, two) {
                return false;
            }
        }
        at == left.end && to == right.end
    }

    /// All old rows in order, and new ones made of the same words.
    fn more_rows(&self, old: Range<usize>, new: Range<usize>) -> bool {
        let braces = self.old.tokens[old.start - 1].is("{");
        let rows = split_rows(self.old, old);
        let words: BTreeSet<&str> = rows
            .iter()
            .flat_map(|r| &self.old.tokens[r.clone()])
            .filter(|t| t.class == Class::Word)
            .map(|t| t.text)
            .collect();
        let known = |text: &str| {
            words.contains(text)
                || text.bytes().next().is_some_and(|b| b.is_ascii_digit())
                || ["true", "false", "True", "False", "None", "null", "nil", "undefined"].contains(&text)
        };
        if rows.is_empty() || !rows.iter().all(|r| is_row(self.old, r, braces)) {
            return false;
        }
        let mut from = 0;
        for row in split_rows(self.new, new) {
            if rows.get(from).is_some_and(|r| self.old.same(r, self.new, &row)) {
                from += 1;
                continue;
            }
            let plain = self.new.tokens[row.clone()]
                .iter()
                .all(|t| t.class != Class::Word || known(t.text));
            if !plain || !is_row(self.new, &row, braces) {
                return false;
            }
        }
        from == rows.len()
    }

    fn inserted(&mut self, item: &Item, old: &[Item], in_class: bool) {
        let found = intro(self.new, &item.all);
        if let Some(why) = self.objection(&found, item, old, in_class) {
            self.breaks.push(Break {
                old: None,
                new: Some(item.all.clone()),
                why,
            });
        }
    }

    fn objection(&self, found: &Intro<'_>, item: &Item, old: &[Item], in_class: bool) -> Option<String> {
        if let Some(word) = switched_off(&self.new.tokens[item.all.clone()]) {
            return Some(format!("new test code must run and must not choose what runs ({word})"));
        }
        if let Role::Other = found.role {
            return Some(
                "only whole tests, imports, helpers and fixtures may be added to an existing test file".to_owned(),
            );
        }
        if in_class && found.role == Role::Value {
            return Some("a value added to an existing test class may change its tests".to_owned());
        }
        if let Some(name) = found.names.iter().find(|n| reserved(n)) {
            return Some(format!("{name} changes how existing tests run"));
        }
        if found.role == Role::Test {
            let taken = old
                .iter()
                .map(|o| intro(self.old, &o.all))
                .any(|o| o.names == found.names);
            // A second case of the same title is only a second case; a function would take the place of the first.
            return (taken && self.old.language != Language::Script)
                .then(|| "an existing test has this name".to_owned());
        }
        let name = found.names.iter().find(|n| self.words.contains(**n))?;
        Some(format!("existing tests use the name {name}; take another one"))
    }
}

/// Elements between commas at the top of a group.
fn split_rows(source: &Source<'_>, range: Range<usize>) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut start = range.start;
    let mut i = range.start;
    while i < range.end {
        if source.tokens[i].is(",") {
            rows.push(start..i);
            start = i + 1;
        }
        i = source.past(i);
    }
    if start < range.end {
        rows.push(start..range.end);
    }
    rows
}

/// A bracketed record; outside braces also one with a name before it, such as `Case{…}`.
fn is_row(source: &Source<'_>, row: &Range<usize>, braces: bool) -> bool {
    let mut at = row.start;
    while !braces && at < row.end && (source.tokens[at].class == Class::Word || source.tokens[at].is(".")) {
        at += 1;
    }
    at < row.end && source.past(at) == row.end && source.past(at) > at + 1
}
