//! What an expression is made of: the values in it and the names that it reaches, through the locals, helpers and
//! tables that it uses. Two tests that differ in form only have the same bags.

use std::collections::BTreeSet;

pub(super) use super::definitions::Scope;
use super::{compare::Names, vocabulary::is_vocabulary};
use crate::decide::guards::syntax::literal;

/// Elements that a bag holds at most.
pub(super) const MOST: usize = 2_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bag {
    /// Values, sorted; the same value may stand more than once.
    pub(super) values: Vec<String>,
    pub(super) names: BTreeSet<String>,
    /// Names that only helpers use: another way to the same result may do without them.
    pub(super) reach: BTreeSet<String>,
    /// Of a row of a table: its columns by name.
    pub(super) columns: BTreeSet<String>,
    /// A row of a table is among it: one kind of table writes as a number what another quotes.
    pub(super) table: bool,
    /// Titles of rows: nothing is lost with one, and another table may hold it as a value.
    pub(super) titles: Vec<String>,
}

impl Bag {
    pub(super) fn add(&mut self, other: &Self) {
        self.values.extend(other.values.iter().cloned());
        self.values.sort();
        self.values.truncate(MOST);
        self.names.extend(other.names.iter().cloned());
        self.reach.extend(other.reach.iter().cloned());
        self.columns.extend(other.columns.iter().cloned());
        self.table |= other.table;
        self.titles.extend(other.titles.iter().cloned());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.names.is_empty() && self.reach.is_empty()
    }

    pub(super) fn with(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    /// Every value of the other one, as often as there, and every name.
    pub(super) fn holds(&self, other: &Self) -> bool {
        self.knows(other) && self.missing(other).is_empty()
    }

    /// Every name of the other one; where only its helpers have names, one of those.
    pub(super) fn knows(&self, other: &Self) -> bool {
        let has = |n: &String| self.names.contains(n) || self.reach.contains(n);
        let some = !other.names.is_empty() || other.reach.is_empty() || other.reach.iter().any(has);
        other.names.iter().all(has) && some
    }

    /// Values of the other one that are not here.
    pub(super) fn missing(&self, other: &Self) -> Vec<String> {
        let mut rest = self.values.iter().peekable();
        let mut out = Vec::new();
        let mut left = Vec::new();
        for value in &other.values {
            while rest.peek().is_some_and(|r| *r < value) {
                left.extend(rest.next());
            }
            if rest.peek() == Some(&value) {
                rest.next();
            } else {
                out.push(value.clone());
            }
        }
        if !self.titles.is_empty() {
            out.retain(|value| !self.titles.contains(value));
        }
        if (self.table || other.table) && !out.is_empty() {
            left.extend(rest);
            out.retain(|value| {
                let found = left.iter().position(|have| quoted_alike(have, value));
                found.map(|at| left.swap_remove(at)).is_none()
            });
        }
        out
    }

    /// As the head would write it.
    pub(super) fn renamed(&self, names: &Names) -> Self {
        let renames = &names.renamed;
        let name = |n: &String| renames.get(n).unwrap_or(n).clone();
        // A new name may be a word that says nothing, and then it is in no bag of the head.
        let says = |n: &String| !renames.get(n).is_some_and(|new| is_vocabulary(new));
        let mut values: Vec<String> = self
            .values
            .iter()
            .map(|v| names.file(v).unwrap_or_else(|| v.clone()))
            .collect();
        values.sort();
        Self {
            values,
            names: self.names.iter().filter(|n| says(n)).map(name).collect(),
            reach: self.reach.iter().map(name).collect(),
            columns: self.columns.clone(),
            table: self.table,
            titles: self.titles.clone(),
        }
    }
}

/// One is the number that the other has in quotes.
fn quoted_alike(a: &str, b: &str) -> bool {
    let inner = |v: &str| v.strip_prefix('"').and_then(|v| v.strip_suffix('"')).map(str::to_owned);
    match (inner(a), inner(b)) {
        (Some(text), None) => text.parse::<f64>().is_ok() && literal::number(&text) == b,
        (None, Some(text)) => text.parse::<f64>().is_ok() && literal::number(&text) == a,
        _ => false,
    }
}
