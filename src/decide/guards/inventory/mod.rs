//! The tests of a file: what each is called, whether it runs, what it checks, and with which values. Compared as a
//! whole between base and head, so that a test may move, be renamed, split or put into a table, and not be lost.

mod bag;
mod calls;
mod cases;
mod checks;
mod compare;
mod cover;
mod definitions;
mod fill;
mod find;
mod fixtures;
mod foreign;
mod generated;
mod hooks;
mod kotest;
mod made;
mod narrow;
mod operands;
mod order;
mod outcome;
mod outside;
mod range;
mod recognise;
mod rows;
mod runs;
mod sayings;
mod scope;
mod steps;
mod switch;
mod truth;
mod vocabulary;
mod words;

use std::collections::BTreeSet;

use super::syntax::{Ast, Id};

use bag::Bag;
pub(super) use compare::{Answer, Names, TestFile, compare};
pub(super) use find::inventory;
pub(super) use fixtures::{fewer_inputs, rewritten};
pub(super) use foreign::Foreign;
pub(super) use hooks::skipping_hooks;
use switch::Switch;
pub(super) use vocabulary::is_primitive;
use words::Strength;

/// One check of a test: it makes the test fail when something is not as it wants.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of the check, and all of them go together"
)]
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub(super) line: u32,
    pub(super) shown: String,
    strength: Strength,
    /// Why it cannot fail, or fails in some runs only.
    weak: Option<&'static str>,
    negated: bool,
    /// What is looked at, and what is wanted of it; which is which is no matter.
    sides: [Bag; 2],
    /// The same without what a row of a table gives to both, and that row.
    bare: [Bag; 2],
    row: Bag,
    /// How many of the base's checks it may stand for.
    room: usize,
    flat: String,
    /// The elements of the list that it wants, in their order.
    listed: Vec<String>,
    /// Keys and numbers by which it looks at a part.
    keys: Vec<String>,
    /// Fields of what it finds by them.
    fields: Vec<String>,
    /// The entries of the list or map that it wants as a whole.
    whole: Option<usize>,
    /// It wants an empty list or map.
    none: bool,
    /// The values that are written in it.
    own: Bag,
    /// Allowed distance, where there is one.
    tolerance: Option<f64>,
    /// The numbers that it lets pass.
    range: Option<range::Range>,
    /// It only counts elements.
    counts: bool,
    /// Numbers by which it looks at single elements.
    places: Vec<String>,
    /// How many columns of a row it reads.
    parts: usize,
    /// It wants an error with its message.
    raises: bool,
    /// It looks at a part of an error that was caught.
    of_error: bool,
    /// It looks at what a double was asked.
    asks_double: bool,
    /// Words by which both sides are made alike before they are compared: trimmed, in lower case, rounded.
    softened: Vec<String>,
}

impl Check {
    /// `x.is_empty()`
    fn says_empty(&self) -> bool {
        let says = |side: &Bag| side.names.iter().any(|name| cover::is_empty_word(name));
        !self.negated && self.strength >= Strength::Truthy && self.row.is_empty() && self.sides.iter().any(says)
    }

    /// `x == []`
    fn wants_empty(&self) -> bool {
        !self.negated && self.strength == Strength::Exact && self.none
    }

    /// What a row of a table that a macro reads is checked for, whatever the macro does with it.
    fn of_row(text: &str, line: u32, bag: Bag) -> Self {
        Self {
            line,
            shown: text.to_owned(),
            strength: Strength::Part,
            weak: None,
            negated: false,
            bare: [bag.clone(), Bag::default()],
            row: Bag::default(),
            sides: [bag, Bag::default()],
            room: 1,
            flat: text.to_owned(),
            listed: Vec::new(),
            keys: Vec::new(),
            fields: Vec::new(),
            whole: None,
            none: false,
            own: Bag::default(),
            tolerance: None,
            range: None,
            counts: false,
            places: Vec::new(),
            parts: 0,
            raises: false,
            of_error: false,
            asks_double: false,
            softened: Vec::new(),
        }
    }

    /// A mark that wants the test to end with an error; with a message or a class it says which.
    fn of_mark(ast: &Ast<'_>, mark: Id, bag: Bag) -> Self {
        let says = !bag.values.is_empty() || !bag.names.is_empty();
        Self {
            line: ast.line(mark),
            shown: ast.shown(mark),
            strength: match (bag.values.is_empty(), says) {
                (false, _) => Strength::Part,
                (true, true) => Strength::Type,
                (true, false) => Strength::Truthy,
            },
            weak: None,
            negated: false,
            bare: [bag.clone(), Bag::default()],
            row: Bag::default(),
            sides: [bag, Bag::default()],
            room: 1,
            flat: ast.flat(mark),
            listed: Vec::new(),
            keys: Vec::new(),
            fields: Vec::new(),
            whole: None,
            none: false,
            own: Bag::default(),
            tolerance: None,
            range: None,
            counts: false,
            places: Vec::new(),
            parts: 0,
            raises: says,
            of_error: false,
            asks_double: false,
            softened: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Test,
    /// A function or hook with checks that tests use.
    Helper,
}

#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) role: Role,
    /// Names of the suites around it, and its own.
    pub(super) name: Vec<String>,
    pub(super) line: u32,
    pub(super) shown: String,
    switch: Switch,
    checks: Vec<Check>,
    /// Everything in it and in what it uses.
    all: Bag,
    /// The values that are written in it.
    written: Bag,
    /// What its statements give to the locals that it works with.
    acted: Bag,
    /// Its statements, for what was put between them.
    statements: Vec<Statement>,
    /// Its tokens, without its name.
    body: String,
}

impl Case {
    pub(super) fn checks_anything(&self) -> bool {
        !self.checks.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Statement {
    flat: String,
    line: u32,
    /// The name that it gives a value, or whose part it changes.
    changes: Option<String>,
    /// Only a part of it.
    part: bool,
    /// What keeps a state between statements: the object of a call, or a function that is called for its effect.
    acts_on: Option<String>,
}

/// What stands in a file beside its cases.
#[derive(Debug, Clone, Default)]
pub(super) struct Inventory {
    pub(super) cases: Vec<Case>,
    /// Modules and packages that it names.
    pub(super) imports: Vec<String>,
    /// Names that come from the imports.
    pub(super) imported: BTreeSet<String>,
    pub(super) broken: bool,
    /// Everything beside the bodies of its tests.
    outside: Bag,
}

/// Names of the product that the checks of a file look at.
pub(super) fn subjects(inventory: &Inventory) -> BTreeSet<String> {
    let checks = inventory.cases.iter().flat_map(|c| &c.checks);
    checks
        .flat_map(|c| c.sides.iter().flat_map(|s| s.names.iter().cloned()))
        .collect()
}

/// Values that stand together in one small test.
pub(super) fn whole_examples(inventory: &Inventory) -> Vec<Vec<String>> {
    const MOST: usize = 12;
    let tests = inventory
        .cases
        .iter()
        .filter(|c| c.role == Role::Test && c.all.values.len() <= MOST);
    tests.map(|c| c.all.values.clone()).collect()
}

/// Values that stand together in one check, with everything that goes into it.
pub(super) fn examples(inventory: &Inventory) -> Vec<Vec<String>> {
    let checks = inventory.cases.iter().flat_map(|c| &c.checks);
    checks.map(|c| c.sides[0].clone().with(&c.sides[1]).values).collect()
}
