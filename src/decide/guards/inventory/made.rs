//! Claims as checks: with what they reach, and how much of them is left where they stand.

use super::{
    Check, Statement,
    bag::Bag,
    checks::{NOT_AWAITED, SOMETIMES, Scan},
    range::range,
    truth::{Claim, is_length, loosened},
    words::{Strength, plain},
};
use crate::decide::guards::{
    listed::listed,
    syntax::{Ast, Grammar, Id, Kind, literal},
};

/// Options of a comparison by which it passes over differences.
const COMPARERS: &str = "\
    EquateApprox EquateApproxTime IgnoreFields IgnoreTypes IgnoreInterfaces IgnoreUnexported IgnoreSliceElements \
    IgnoreMapEntries FilterPath FilterValues ignoringFields ignoringCollectionOrder ignoringActualNullFields Excluding \
    isEqualToIgnoringCase isEqualToIgnoringWhitespace equalToIgnoringCase";

impl Scan<'_, '_> {
    pub(super) fn push(&mut self, id: Id, claims: Vec<Claim>) {
        for claim in claims {
            let instances = self.tables.last().cloned().unwrap_or_else(|| vec![Bag::default()]);
            let outer = self
                .tables
                .len()
                .checked_sub(1)
                .map(|n| self.tables[..n].to_vec())
                .unwrap_or_default();
            let mut shared = self.given.clone();
            outer.iter().flatten().for_each(|row| shared.add(row));
            let column = self.around.column;
            let asked = |row: &Bag| column.is_none_or(|c| row.columns.is_empty() || row.columns.contains(c));
            for row in instances.iter().filter(|row| asked(row)) {
                let check = self.check(id, &claim, &row.clone().with(&shared));
                self.found.checks.push(check);
            }
        }
    }

    pub(super) fn check(&self, id: Id, claim: &Claim, row: &Bag) -> Check {
        let ast = self.ast;
        let bag = |ids: &[Id]| {
            let mut bag = Bag::default();
            for id in ids {
                bag.add(&self.scope.bag(ast, *id));
            }
            bag
        };
        let compared = self.compared(claim);
        let claim = compared.as_ref().unwrap_or(claim);
        let rounded = rounded(ast, claim);
        let subject = rounded.as_ref().map_or(&claim.subject, |(inner, _)| inner);
        let mut bare = [bag(subject), bag(&claim.wanted)];
        if let Some(value) = claim.value {
            let mut more = Bag::default();
            more.values.push(value.to_owned());
            bare[1].add(&more);
        }
        if claim.raises {
            // The error and what it says are looked at as one.
            let both = bare[0].clone().with(&bare[1]);
            bare = [both.clone(), both];
        }
        // `matches!(x, Err(e) if e == "…")`: names in small letters are bound there.
        if ast.grammar == Grammar::Rust && ast.source(id).contains("matches!(") {
            bare[1].names.retain(|n| n.starts_with(char::is_uppercase));
        }
        let sides = [bare[0].clone().with(row), bare[1].clone().with(row)];
        let mut strength = loosened(ast, &claim.wanted, claim.strength);
        let mut weak = self.around.weak;
        if claim.promise && !self.around.awaited {
            weak = Some(NOT_AWAITED);
        }
        let nameless = sides[0].names.is_empty() && sides[1].names.is_empty();
        let constant = claim.subject.iter().chain(&claim.wanted).all(|i| {
            ast.walk(*i)
                .all(|n| !matches!(ast.kind(n), Kind::Call | Kind::Name | Kind::Member))
        });
        if nameless && constant && !claim.subject.is_empty() {
            strength = Strength::Nothing;
        }
        let leaves_out = sides.iter().flat_map(|s| &s.names).any(|n| listed(COMPARERS, n));
        if leaves_out {
            strength = strength.min(Strength::Part);
        }
        if weak.is_some_and(|w| w != SOMETIMES) {
            strength = Strength::Nothing;
        }
        let tolerance = claim
            .tolerance
            .or_else(|| nearness(ast, &claim.wanted))
            .or(rounded.map(|(_, distance)| distance));
        if tolerance.is_some() {
            strength = strength.min(Strength::Part);
        }
        Check {
            line: ast.line(id),
            shown: ast.shown(id),
            strength,
            weak,
            negated: claim.negated,
            room: room(ast, id, claim).max(self.given.values.len()),
            sides,
            bare,
            row: row.clone(),
            flat: ast.flat(id),
            listed: claim
                .wanted
                .iter()
                .chain(&claim.subject)
                .find_map(|w| elements(ast, *w))
                .unwrap_or_default(),
            keys: keys(ast, id),
            fields: fields(ast, id),
            whole: claim
                .wanted
                .iter()
                .chain(&claim.subject)
                .find_map(|w| whole(ast, *w))
                .or_else(|| is_called_with(ast, id).then_some(1))
                .or_else(|| named(ast, claim)),
            none: matches!(claim.wanted.as_slice(), [only] if is_empty(ast, *only)),
            own: self.scope.written(ast, id),
            tolerance,
            range: range(ast, id, claim, tolerance),
            counts: claim.counts || counts(ast, id, claim),
            places: places(ast, id),
            parts: self
                .scope
                .parts(ast, claim.subject.iter().chain(&claim.wanted).copied()),
            raises: claim.raises,
            of_error: ast
                .walk(id)
                .any(|n| ast.kind(n) == Kind::Member && self.scope.is_of_error(ast, n)),
            asks_double: asks_double(ast, id),
            softened: softened(ast, id),
        }
    }
}

impl Scan<'_, '_> {
    /// `cmp.Diff(want, got)` that has to be empty compares the two.
    fn compared(&self, claim: &Claim) -> Option<Claim> {
        let ast = self.ast;
        let empty = matches!(claim.wanted.as_slice(), [w] if ast.source(*w) == "\"\"");
        let [subject] = claim.subject.as_slice() else {
            return None;
        };
        let def = match (ast.kind(*subject), self.scope.definitions(ast.word(*subject))) {
            (Kind::Name, [only]) => *only,
            _ => *subject,
        };
        let last = ast.chain(def).pop().filter(|l| l.name == "Diff")?;
        match last.args.as_deref() {
            Some([a, b, ..]) if ast.grammar == Grammar::Go && empty && claim.strength == Strength::Exact => {
                let mut out = claim.clone();
                (out.subject, out.wanted) = (vec![*b], vec![*a]);
                out.wanted.extend(last.args.iter().flatten().skip(2));
                Some(out)
            }
            _ => None,
        }
    }
}

/// How many checks of parts a claim stands for.
fn room(ast: &Ast<'_>, id: Id, claim: &Claim) -> usize {
    let many = |ids: &[Id]| {
        let lists = ids.iter().filter(|i| matches!(ast.kind(**i), Kind::List | Kind::Map));
        lists.map(|i| ast.kids(*i).len()).max().unwrap_or(1).max(1)
    };
    many(&claim.wanted)
        .max(many(&claim.subject))
        .max(named(ast, claim).unwrap_or(0))
        .max(if lists_all(ast, id) { claim.wanted.len() } else { 1 })
        // An error that is wanted with its message stands for a look at each.
        .max(if claim.raises { 2 } else { 1 })
}

/// `have_attributes(a: 1, b: 2)`: how many, where all that is wanted has a name.
fn named(ast: &Ast<'_>, claim: &Claim) -> Option<usize> {
    let pairs = claim.wanted.iter().all(|w| ast.kind(*w) == Kind::Pair);
    Some(claim.wanted.len()).filter(|n| pairs && *n > 0)
}

/// `round(x, 2)`, `Math.round(x)`, `x.round(2)`: what is rounded, and how far off that may be.
fn rounded(ast: &Ast<'_>, claim: &Claim) -> Option<(Vec<Id>, f64)> {
    let [subject] = claim.subject.as_slice() else {
        return None;
    };
    let last = ast.chain(*subject).pop().filter(|l| plain(l.name) == "round")?;
    let args = last.args.as_ref()?;
    let object = ast.kids(*subject).first().and_then(|c| ast.kids(*c).first()).copied();
    let library = object.is_none_or(|o| matches!(ast.source(o), "Math" | "math" | "np" | "numpy"));
    let (inner, digits) = match args.as_slice() {
        [inner] if library => (*inner, None),
        [inner, digits] if library => (*inner, Some(*digits)),
        [] => (object?, None),
        [digits] => (object?, Some(*digits)),
        _ => return None,
    };
    let digits = digits.map_or(Some(0.0), |d| literal::value(ast.source(d)))?;
    let compares = claim.strength == Strength::Exact && !claim.negated;
    compares.then(|| (vec![inner], 0.5 * 10_f64.powf(-digits)))
}

/// What a list that is written out holds.
fn elements(ast: &Ast<'_>, id: Id) -> Option<Vec<String>> {
    let kids = match ast.kind(id) {
        Kind::List => ast.kids(id),
        Kind::Call if gathers(ast, id) => ast.kids(id).get(1..)?,
        _ => return None,
    };
    (!kids.is_empty()).then(|| kids.iter().map(|k| ast.flat(*k)).collect())
}

/// `List.of(a, b)`, `listOf(a, b)`
fn gathers(ast: &Ast<'_>, id: Id) -> bool {
    let last = ast.chain(id).last().map(|l| plain(l.name)).unwrap_or_default();
    matches!(last.as_str(), "of" | "aslist" | "listof" | "arrayof" | "vec")
}

/// `containsExactly(a, b)`: every argument is an element.
fn lists_all(ast: &Ast<'_>, id: Id) -> bool {
    let last = ast.chain(id).last().map(|l| plain(l.name)).unwrap_or_default();
    ["exactly", "inorder", "containsonly"].iter().any(|w| last.contains(w))
}

/// How many entries a list or a map that is written out has.
fn whole(ast: &Ast<'_>, id: Id) -> Option<usize> {
    let composite = |n: &Id| matches!(ast.kind(*n), Kind::List | Kind::Map) && !ast.kids(*n).is_empty();
    ast.walk(id).find(composite).map(|n| ast.kids(n).len())
}

/// `[]`, `vec![]`, `Vec::<i64>::new()`, `List.of()`, `[]string{}`, `dict()`
fn is_empty(ast: &Ast<'_>, id: Id) -> bool {
    let source: String = ast.source(id).split_whitespace().collect();
    let made = [
        "[]",
        "{}",
        "vec![]",
        "list()",
        "dict()",
        "set()",
        "tuple()",
        "listOf()",
        "mapOf()",
        "setOf()",
        "emptyList()",
        "emptyMap()",
        "emptySet()",
        "emptyArray()",
        "List.of()",
        "Map.of()",
        "Set.of()",
        "Collections.emptyList()",
        "Collections.emptyMap()",
        "Collections.emptySet()",
        "array()",
    ];
    let by_type = [
        "Vec::",
        "HashMap::",
        "HashSet::",
        "BTreeMap::",
        "BTreeSet::",
        "VecDeque::",
    ];
    made.contains(&source.trim_start_matches('&'))
        || by_type.iter().any(|t| source.starts_with(t)) && source.ends_with("::new()")
        || ast.grammar == Grammar::Go && source.starts_with(['[', 'm']) && source.ends_with("{}")
}

/// The arguments of a call are looked at as a whole.
fn is_called_with(ast: &Ast<'_>, id: Id) -> bool {
    let word = ast.chain(id).last().map(|l| plain(l.name)).unwrap_or_default();
    ast.kind(id) == Kind::Call && word.contains("called") && word.ends_with("with")
}

/// `rows[0].name`: the fields of what is found at a place.
fn fields(ast: &Ast<'_>, id: Id) -> Vec<String> {
    let members = ast.walk(id).filter(|n| ast.kind(*n) == Kind::Member);
    let placed = |n: &Id| ast.kids(*n).first().is_some_and(|o| ast.kind(*o) == Kind::Index);
    let called = |n: Id| {
        let up = ast.above(n).next();
        up.is_some_and(|up| ast.kind(up) == Kind::Call && ast.kids(up).first() == Some(&n))
    };
    let found = members.filter(placed).filter(|n| !called(*n));
    found.map(|n| ast.word(n).to_owned()).collect()
}

/// `answer["error"]`, `map.get("cow")`
fn keys(ast: &Ast<'_>, id: Id) -> Vec<String> {
    let given = |n: Id| match ast.kind(n) {
        Kind::Index => ast.kids(n).get(1).copied(),
        Kind::Call
            if ast
                .chain(n)
                .last()
                .is_some_and(|l| matches!(l.name, "get" | "dig" | "fetch" | "at")) =>
        {
            ast.kids(n).get(1).copied()
        }
        _ => None,
    };
    let literals = ast.walk(id).filter_map(given);
    literals
        .filter_map(|k| match ast.kind(k) {
            Kind::Text if ast.kids(k).is_empty() => Some(literal::text(ast.source(k))),
            Kind::Number => Some(literal::number(ast.source(k))),
            _ => None,
        })
        .collect()
}

/// `len(x) == 3`, `expect(x).toHaveLength(3)`, `assertThat(x).hasSize(3)`
fn counts(ast: &Ast<'_>, id: Id, claim: &Claim) -> bool {
    let word = ast.chain(id).last().map(|l| plain(l.name)).unwrap_or_default();
    let says = ["length", "size", "count", "len"].iter().any(|w| word.ends_with(w));
    let measured = claim.subject.iter().chain(&claim.wanted).any(|s| is_length(ast, *s));
    ast.kind(id) == Kind::Call && says || measured
}

/// `rows[0]`
fn places(ast: &Ast<'_>, id: Id) -> Vec<String> {
    let indices = ast.walk(id).filter(|n| ast.kind(*n) == Kind::Index);
    let numbers = indices.flat_map(|i| ast.kids(i).iter().skip(1).copied().collect::<Vec<_>>());
    numbers
        .filter(|n| ast.kind(*n) == Kind::Number)
        .map(|n| literal::number(ast.source(n)))
        .collect()
}

/// `verify(mock).send("a")`, `expect(spy).toHaveBeenCalledWith("a")`, `mock.assert_called_once_with("a")`
fn asks_double(ast: &Ast<'_>, id: Id) -> bool {
    let links = ast.chain(id);
    let word = |l: &super::super::syntax::Link<'_>| plain(l.name);
    links.iter().any(|l| {
        let w = word(l);
        ["verify", "coverify", "confirmverified"]
            .iter()
            .any(|v| w.starts_with(v))
            || w.contains("havebeencalled")
            || w.contains("calledwith")
            || w.contains("assertcalled")
            || w.contains("assertnotcalled")
            || matches!(w.as_str(), "received" | "didnotreceive" | "notcalled" | "calledonce")
    }) || ast
        .walk(id)
        .any(|n| ast.kind(n) == Kind::Name && matches!(ast.word(n), "have_received"))
}

/// Calls in an assertion that take differences away before it compares.
fn softened(ast: &Ast<'_>, id: Id) -> Vec<String> {
    let words = "\
        sorted sort sortby tosorted sortedby unique uniq toset hashset distinct \
        replaceall trim strip trimspace lower tolower tolowercase touppercase toupper upper downcase upcase casefold \
        round floor ceil squeeze replace trimstart trimend normalize";
    let last = |n: Id| ast.chain(n).last().map(|l| plain(l.name)).unwrap_or_default();
    let mut found: Vec<String> = ast
        .walk(id)
        .filter(|n| ast.kind(*n) == Kind::Call)
        .map(last)
        .filter(|w| listed(words, w))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// How far off a value may be, where what is wanted says so itself: `approx(1, abs=2)`, `closeTo(1, 2)`.
fn nearness(ast: &Ast<'_>, wanted: &[Id]) -> Option<f64> {
    let near = |id: &Id| {
        ast.kind(*id) == Kind::Call
            && ast.chain(*id).last().is_some_and(|l| {
                matches!(
                    plain(l.name).as_str(),
                    "approx" | "closeto" | "iscloseto" | "bewithin" | "within" | "plusorminus"
                )
            })
    };
    let calls: Vec<Id> = wanted.iter().flat_map(|w| ast.walk(*w)).filter(near).collect();
    if let Some(distance) = calls.iter().find_map(|c| relative(ast, *c)) {
        return Some(distance);
    }
    let numbers = calls.into_iter().flat_map(|c| {
        let args = ast.kids(c).get(1..).unwrap_or_default();
        let named = args
            .iter()
            .filter(|a| ast.kind(**a) == Kind::Pair)
            .filter_map(|p| ast.body(*p));
        let second = args.iter().filter(|a| ast.kind(**a) != Kind::Pair).skip(1).copied();
        named.chain(second).collect::<Vec<_>>()
    });
    numbers.filter_map(|n| literal::value(ast.source(n))).reduce(f64::max)
}

/// `approx(200)` is a millionth off at most, `approx(200, rel=0.1)` a tenth: a share of the number.
fn relative(ast: &Ast<'_>, call: Id) -> Option<f64> {
    let is_approx = ast.chain(call).last().is_some_and(|l| l.name == "approx");
    let [number, rest @ ..] = ast.kids(call).get(1..)? else {
        return None;
    };
    let named = |name: &str| {
        let pair = rest
            .iter()
            .find(|a| ast.kind(**a) == Kind::Pair && ast.word(**a) == name)?;
        ast.body(*pair).and_then(|v| literal::value(ast.source(v)))
    };
    let second = rest.iter().find(|a| ast.kind(**a) != Kind::Pair);
    if !is_approx || named("abs").is_some() {
        return None;
    }
    let share = named("rel").or_else(|| second.and_then(|s| literal::value(ast.source(*s))));
    let size = literal::value(ast.source(*number)).map_or(1.0, f64::abs);
    Some(share.unwrap_or(1e-6) * size)
}

/// The local object whose method is called, in an assertion too; or the function of a bare call.
fn acts_on(ast: &Ast<'_>, id: Id) -> Option<String> {
    let bare = ast.kind(id) == Kind::Call && ast.kids(id).first().is_some_and(|c| ast.kind(*c) == Kind::Name);
    let checks = super::operands::claims(ast, id).is_some();
    if bare && !checks {
        return Some(ast.word(ast.kids(id)[0]).to_owned());
    }
    let local = |call: Id| {
        let object = ast.kids(*ast.kids(call).first()?).first().copied()?;
        let name = (ast.kind(object) == Kind::Name).then(|| ast.word(object))?;
        let known = super::vocabulary::is_vocabulary(name) || name.starts_with(char::is_uppercase);
        (!known).then(|| name.to_owned())
    };
    ast.walk(id)
        .filter(|n| ast.kind(*n) == Kind::Call)
        .filter(|n| ast.kids(*n).first().is_some_and(|c| ast.kind(*c) == Kind::Member))
        .find_map(local)
}

/// The statements of a body, each with the name that it gives a value.
pub(super) fn statements(ast: &Ast<'_>, body: Id) -> Vec<Statement> {
    let changes = |id: Id| {
        let assigns = ast.kind(id) == Kind::Assign && ast.kids(id).len() > 1;
        let target = ast.kids(id).first().filter(|_| assigns)?;
        ast.chain(*target).first().map(|l| l.name.to_owned())
    };
    let all = ast.statements(body).into_iter();
    all.map(|id| Statement {
        flat: ast.flat(id),
        line: ast.line(id),
        changes: changes(id),
        acts_on: acts_on(ast, id),
        part: ast
            .kids(id)
            .first()
            .is_some_and(|t| matches!(ast.kind(*t), Kind::Member | Kind::Index)),
    })
    .collect()
}
