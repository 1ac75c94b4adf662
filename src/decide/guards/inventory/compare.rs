//! The tests of the base against those of the head. Each check of the base has to stand somewhere in the head, at least
//! as strong, about the same things, in a test that runs.

mod pair;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Case, Inventory, Role,
    bag::Bag,
    cover::{Cover, counts_itself, covers, covers_in_another_form, stands_in_exact, stands_in_whole, weaker},
    outside::{Beside, checked, follows, told_apart, told_by_record},
    switch::Runs,
    words::Strength,
};
use crate::{decide::guards::Hit, model::evidence::GuardVerdict};

/// What the source side of a diff has to do with a test file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decide::guards) enum Answer {
    /// Nothing that runs changed in what the file tests.
    None,
    /// It did, so that a new expectation may be right.
    Changed,
    /// It did, and the ticket asked for it in both files.
    Declared,
}

/// One file with tests on both sides.
#[derive(Debug, Clone)]
pub(in crate::decide::guards) struct TestFile {
    pub(in crate::decide::guards) old: Option<Inventory>,
    pub(in crate::decide::guards) new: Option<Inventory>,
    /// The runner finds files of this name.
    pub(in crate::decide::guards) collected: bool,
    pub(in crate::decide::guards) answer: Answer,
}

/// Lost checks of one test that are explained.
const EXPLAINED: usize = 100;

/// What the source side does to names.
#[derive(Debug, Clone, Default)]
pub(in crate::decide::guards) struct Names {
    /// Old name to new name.
    pub(in crate::decide::guards) renamed: BTreeMap<String, String>,
    /// Defined in the base's source and no more.
    pub(in crate::decide::guards) gone: BTreeSet<String>,
    /// Names of files that only got another one: old to new.
    pub(in crate::decide::guards) files: BTreeMap<String, String>,
}

impl Names {
    /// The new text for one that names a file, as `"data/plain.golden"` does.
    pub(super) fn file(&self, value: &str) -> Option<String> {
        if self.files.is_empty() {
            return None;
        }
        let inner = value.strip_prefix('"')?.strip_suffix('"')?;
        let (folder, name) = inner
            .rsplit_once('/')
            .map_or(("", inner), |(f, n)| (&inner[..=f.len()], n));
        Some(format!("\"{folder}{}\"", self.files.get(name)?))
    }
}

/// Findings, each with the index of its file.
pub(in crate::decide::guards) fn compare(files: &[TestFile], names: &Names) -> Vec<(usize, Hit)> {
    let beside = |side: fn(&TestFile) -> &Option<Inventory>| {
        let all = files.iter().filter_map(|f| side(f).as_ref());
        all.fold(Bag::default(), |sum, i| sum.with(&i.outside))
    };
    let mut compare = Compare {
        files,
        names,
        beside: Beside::of(&beside(|f| &f.old).renamed(names), &beside(|f| &f.new)),
        old: Vec::new(),
        new: Vec::new(),
        hits: Vec::new(),
    };
    for (at, file) in files.iter().enumerate() {
        let cases =
            |inventory: &'_ Option<Inventory>| inventory.iter().flat_map(|i| i.cases.clone()).collect::<Vec<_>>();
        compare.old.extend(cases(&file.old).into_iter().map(|case| Old {
            file: at,
            case: renamed(case, names),
            pair: None,
            stands: Vec::new(),
        }));
        compare.new.extend(cases(&file.new).into_iter().map(|case| New {
            file: at,
            room: case.checks.iter().map(|c| c.room).collect(),
            case,
            paired: false,
        }));
    }
    compare.pair();
    if !compare.assign() {
        let why = "more checks change at once than can be held against each other; a person has to read them";
        return vec![(0, Hit::new("too-large", GuardVerdict::NeedsHuman, why.to_owned()))];
    }
    compare.judge();
    compare.hits
}

fn renamed(mut case: Case, names: &Names) -> Case {
    for check in &mut case.checks {
        check.sides = [check.sides[0].renamed(names), check.sides[1].renamed(names)];
        check.bare = [check.bare[0].renamed(names), check.bare[1].renamed(names)];
        check.row = check.row.renamed(names);
    }
    case.all = case.all.renamed(names);
    case.written = case.written.renamed(names);
    if !names.files.is_empty() {
        let words = case.body.split(' ');
        let words: Vec<String> = words.map(|w| names.file(w).unwrap_or_else(|| w.to_owned())).collect();
        case.body = words.join(" ");
    }
    case
}

struct Old {
    file: usize,
    case: Case,
    pair: Option<usize>,
    /// Where each check stands in the head: case and check.
    stands: Vec<Option<(usize, usize)>>,
}

struct New {
    file: usize,
    case: Case,
    /// How many more checks of the base each one may stand for.
    room: Vec<usize>,
    paired: bool,
}

struct Compare<'x> {
    files: &'x [TestFile],
    names: &'x Names,
    beside: Beside,
    old: Vec<Old>,
    new: Vec<New>,
    hits: Vec<(usize, Hit)>,
}

impl Compare<'_> {
    fn hit(&mut self, file: usize, hit: Hit) {
        self.hits.push((file, hit));
    }

    /// Finds a place for each check of the base: word by word in its pair, then in its pair, then anywhere.
    /// False where that is too much to be worked out.
    fn assign(&mut self) -> bool {
        for old in &mut self.old {
            old.stands = vec![None; old.case.checks.len()];
        }
        for o in 0..self.old.len() {
            if let Some(n) = self.old[o].pair {
                self.place_exactly(o, n);
            }
        }
        if self.is_too_much() {
            return false;
        }
        for o in 0..self.old.len() {
            if let Some(n) = self.old[o].pair {
                self.place(o, &[n]);
            }
        }
        for o in 0..self.old.len() {
            if self.unplaced(o) > 0 {
                let others: Vec<usize> = (0..self.new.len()).filter(|n| self.may_stand_in(o, *n)).collect();
                self.place(o, &others);
            }
        }
        for o in (0..self.old.len())
            .filter(|o| self.unplaced(*o) > 0)
            .collect::<Vec<_>>()
        {
            let pair = self.old[o].pair;
            let others = || (0..self.new.len()).filter(|n| self.may_stand_in(o, *n)).collect();
            let cases: Vec<usize> = pair.map_or_else(others, |n| vec![n]);
            self.place_by_another_way(o, &cases);
        }
        true
    }

    /// What a check had written in its test may stand beside the tests now.
    fn place_by_another_way(&mut self, o: usize, cases: &[usize]) {
        for at in 0..self.old[o].case.checks.len() {
            let old = &self.old[o];
            let check = &old.case.checks[at];
            if old.stands[at].is_some() || check.strength == Strength::Nothing {
                continue;
            }
            let found = cases.iter().find_map(|n| {
                let new = &self.new[*n];
                let fits = |i: &usize| {
                    let other = &new.case.checks[*i];
                    let free = new.room[*i] == other.room;
                    free && (self.beside.covers(&old.case, check, &new.case, other)
                        || covers_in_another_form(check, other, &new.case.all))
                };
                (0..new.case.checks.len()).find(fits).map(|i| (*n, i))
            });
            // What has its place beside others takes none from them.
            let apart = || {
                let n = old.pair?;
                let new = &self.new[n].case;
                let whole = new
                    .checks
                    .iter()
                    .any(|c| stands_in_whole(check, c, &new.all) || stands_in_exact(check, c, &new.all));
                (whole || told_apart(check, new) || told_by_record(check, &old.case, new)).then_some((n, 0))
            };
            match found {
                Some((n, i)) => {
                    self.new[n].room[i] -= 1;
                    self.old[o].stands[at] = Some((n, i));
                }
                None => self.old[o].stands[at] = apart(),
            }
        }
    }

    /// A test of the head that runs at least as often.
    fn may_stand_in(&self, o: usize, n: usize) -> bool {
        let (old, new) = (&self.old[o], &self.new[n]);
        old.pair != Some(n)
            && new.case.role == old.case.role
            && new.case.switch.runs <= old.case.switch.runs
            && (self.files[new.file].collected || !self.files[old.file].collected)
    }

    fn place(&mut self, o: usize, cases: &[usize]) {
        for at in 0..self.old[o].case.checks.len() {
            let check = &self.old[o].case.checks[at];
            // What cannot fail needs no place, and takes none from another.
            if self.old[o].stands[at].is_some() || check.strength == Strength::Nothing {
                continue;
            }
            let found = cases.iter().find_map(|n| {
                let new = &self.new[*n];
                let fits = |i: &usize| {
                    let other = &new.case.checks[*i];
                    new.room[*i] > 0 && covers(check, other, &new.case.all) == Cover::Same
                };
                (0..new.case.checks.len()).find(fits).map(|i| (*n, i))
            });
            if let Some((n, i)) = found {
                // A list stands for its elements, or for one list.
                let taken = check.listed.len().max(1);
                self.new[n].room[i] = self.new[n].room[i].saturating_sub(taken);
                self.old[o].stands[at] = Some((n, i));
            } else if check.room > 1 {
                self.place_in_parts(o, at, cases);
            }
        }
    }

    /// A check of a list may have become one check for each element.
    fn place_in_parts(&mut self, o: usize, at: usize, cases: &[usize]) {
        let check = &self.old[o].case.checks[at];
        let wanted = check.sides[0].clone().with(&check.sides[1]);
        let mut parts = Vec::new();
        let mut have = Bag::default();
        for n in cases {
            let new = &self.new[*n];
            for (i, other) in new.case.checks.iter().enumerate() {
                if new.room[i] > 0 && super::cover::is_part(check, other, &wanted) {
                    have.add(&other.sides[0]);
                    have.add(&other.sides[1]);
                    parts.push((*n, i));
                }
            }
        }
        if parts.len() > 1 && have.holds(&wanted) {
            for (n, i) in &parts {
                self.new[*n].room[*i] -= 1;
            }
            self.old[o].stands[at] = Some(parts[0]);
        }
    }

    fn judge(&mut self) {
        self.focus();
        for o in 0..self.old.len() {
            let never = self.old[o].case.switch.runs == Runs::Never;
            match (self.old[o].pair, never) {
                (Some(_), true) => {}
                (Some(n), false) => self.paired(o, n),
                (None, _) => self.lost(o, never),
            }
        }
        self.fresh();
    }

    /// A focused test silences the others, whether it is old or new.
    fn focus(&mut self) {
        let focused = self.old.iter().filter(|o| o.case.switch.focused);
        let before: BTreeSet<usize> = focused.filter_map(|o| o.pair).collect();
        for n in 0..self.new.len() {
            if self.new[n].case.switch.focused && !before.contains(&n) {
                let why = "only this test would run; the others of its file are silently left out";
                let hit = reject("focus-added", why, &self.new[n].case);
                let file = self.new[n].file;
                self.hit(file, hit);
            }
        }
    }

    fn paired(&mut self, o: usize, n: usize) {
        let file = self.new[n].file;
        let found = |at: usize| self.files[at].collected;
        if !found(file) && found(self.old[o].file) && self.old[o].case.role == Role::Test {
            let hit = reject(
                "test-uncollected",
                "the runner does not find this file, so the test no longer runs",
                &self.new[n].case,
            );
            return self.hit(file, hit);
        }
        if let Some((line, text)) = super::runs::writes_golden(&self.old[o].case, &self.new[n].case) {
            let why = "the test writes what it compares with";
            let hit = Hit::new("snapshot-rewritten", GuardVerdict::Reject, why.to_owned());
            self.hit(file, hit.at(line).is(&text));
        }
        let found = super::runs::weaker(&self.old[o].case, &self.new[n].case);
        let stopped = found.iter().any(|h| h.rule == "skip-added");
        for hit in found {
            self.hit(file, hit);
        }
        if stopped {
            return;
        }
        let missing: Vec<usize> = (0..self.old[o].stands.len())
            .filter(|at| self.old[o].stands[*at].is_none() && self.old[o].case.checks[*at].strength > Strength::Nothing)
            .collect();
        if missing.is_empty() {
            return self.inputs(o, n);
        }
        let mut told: Vec<&'static str> = Vec::new();
        for (nth, at) in missing.into_iter().enumerate() {
            // Each is held against all checks of the head: what the first of them say is enough.
            if nth >= EXPLAINED && !told.is_empty() {
                break;
            }
            if counts_itself(&self.old[o].case.checks[at], &self.new[n].case) {
                continue;
            }
            let hit = self.explain(o, n, at);
            // One finding of a kind says it; the table of a test would repeat it for every row.
            if let Some(hit) = hit.filter(|h| !told.contains(&h.rule)) {
                told.push(hit.rule);
                self.hit(file, hit);
            }
        }
    }

    /// What became of a check that has no place in the head.
    fn explain(&self, o: usize, n: usize, at: usize) -> Option<Hit> {
        let check = &self.old[o].case.checks[at];
        let new = &self.new[n];
        let candidate = super::cover::nearest(check, &new.case.checks, &new.room);
        let Some(other) = candidate else {
            let gone = self.is_gone(&check.sides[0].names) || self.is_gone(&check.sides[1].names);
            let verdict = if gone {
                GuardVerdict::NeedsHuman
            } else {
                GuardVerdict::Reject
            };
            let why = "a check of this test is gone";
            return Some(
                Hit::new("assertion-removed", verdict, why.to_owned())
                    .at(new.case.line)
                    .change(&check.shown, ""),
            );
        };
        let (rule, why) = weaker(check, other);
        if rule == "expectation-rewritten" {
            return self.rewritten(new.file, why, other.line, &check.shown, &other.shown);
        }
        let hit = Hit::new(rule, GuardVerdict::Reject, why.to_owned());
        Some(hit.at(other.line).change(&check.shown, &other.shown))
    }

    fn rewritten(&self, file: usize, why: &str, line: u32, was: &str, is: &str) -> Option<Hit> {
        let (verdict, tail) = match self.files[file].answer {
            Answer::None => (GuardVerdict::Reject, "and nothing that it tests changes"),
            Answer::Changed => (GuardVerdict::NeedsHuman, "together with what it tests"),
            Answer::Declared => return None,
        };
        let why = format!("{why}, {tail}");
        Some(Hit::new("expectation-rewritten", verdict, why).at(line).change(was, is))
    }

    fn is_gone(&self, names: &BTreeSet<String>) -> bool {
        names.iter().any(|n| self.names.gone.contains(n))
    }

    /// All checks stand; what goes into them must stand as well.
    fn inputs(&mut self, o: usize, n: usize) {
        let (old, new) = (&self.old[o], &self.new[n]);
        let mut everything = new.case.all.clone();
        for (other, _) in old.stands.iter().flatten() {
            if *other != n {
                everything.add(&self.new[*other].case.all);
            }
        }
        everything.add(self.beside.grown());
        // What a check looks at and wants has its place already.
        let mut had = old.case.written.clone();
        had.values = checked(&old.case.checks).missing(&had);
        let mut missing = everything.missing(&had);
        // `-250` may be written `-cents` for a row that has 250.
        let turns = super::runs::turns_a_number(&new.case.body);
        missing.retain(|v| {
            !(turns
                && v.strip_prefix('-')
                    .is_some_and(|n| everything.values.iter().any(|h| h == n)))
        });
        // A text may have become the pattern that it alone fits.
        missing.retain(|v| !everything.values.contains(&format!("\"^{}$\"", v.trim_matches('"'))));
        let file = new.file;
        let put = super::runs::put_between(&old.case, &new.case);
        let hit = if let Some(value) = missing.first() {
            let why = "a value that the test works with is another one";
            self.rewritten(file, why, new.case.line, value, "")
        } else if let Some((line, text)) = super::order::turned(&old.case, &new.case) {
            let why = "what the test does stands in another order";
            self.rewritten(file, why, line, "", &text)
        } else {
            put.and_then(|(line, text)| {
                let why = "a statement that changes what is tested is put into the test";
                self.rewritten(file, why, line, "", &text)
            })
        };
        if let Some(hit) = hit {
            self.hit(file, hit);
        }
    }

    /// A test of the base that has no counterpart.
    fn lost(&mut self, o: usize, never: bool) {
        let old = &self.old[o];
        if old.case.role == Role::Helper {
            return;
        }
        let failing = |at: &usize| old.case.checks[*at].strength > Strength::Nothing;
        let mut counted = (0..old.stands.len()).filter(failing).peekable();
        let all_stand = counted.peek().is_some() && counted.all(|at| old.stands[at].is_some());
        if all_stand {
            return;
        }
        let file = old.file;
        let names = &old.case.all.names;
        let gone = self.is_gone(names);
        let follows = self.files[file].answer != Answer::None && self.has_follower(o);
        let (verdict, why) = match (never, gone) {
            (false, false) if follows => (
                GuardVerdict::NeedsHuman,
                "another test takes the place of this one, together with what it tests",
            ),
            (true, _) => (GuardVerdict::NeedsHuman, "a test that was switched off is deleted"),
            (false, true) => (GuardVerdict::NeedsHuman, "a test goes away together with what it tests"),
            (false, false) => (GuardVerdict::Reject, "this test stands nowhere in the head"),
        };
        let rule = if self.stays_uncollected(o) {
            "test-uncollected"
        } else {
            "test-deleted"
        };
        let hit = Hit::new(rule, verdict, why.to_owned())
            .at(self.old[o].case.line)
            .change(&self.old[o].case.shown, "");
        self.hit(file, hit);
    }

    /// A new test of the file checks the same with most of its values.
    fn has_follower(&self, o: usize) -> bool {
        let old = &self.old[o];
        let fresh = self.new.iter().filter(|n| !n.paired && n.file == old.file);
        fresh.into_iter().any(|n| follows(&old.case, &n.case))
    }

    /// Its body stands under a name that is no test's.
    fn stays_uncollected(&self, o: usize) -> bool {
        let body = &self.old[o].case.body;
        self.new
            .iter()
            .any(|n| n.case.role == Role::Helper && n.case.body == *body)
    }

    /// A new test that does not run says more than it does.
    fn fresh(&mut self) {
        for n in 0..self.new.len() {
            let new = &self.new[n];
            let off = matches!(new.case.switch.runs, Runs::Never | Runs::MayFail)
                || new.case.switch.runs == Runs::Sometimes && !new.case.switch.platform;
            let known = new.paired || self.files[new.file].old.as_ref().is_some_and(|_| false);
            if off && !known && new.case.role == Role::Test {
                let why = "a new test is switched off";
                let hit = reject("skip-added", why, &new.case).by("", &new.case.switch.by);
                let file = new.file;
                self.hit(file, hit);
            }
        }
    }
}

fn reject(rule: &'static str, why: &str, case: &Case) -> Hit {
    Hit::new(rule, GuardVerdict::Reject, why.to_owned())
        .at(case.line)
        .is(&case.shown)
}
