//! What the tests of a diff cannot show, though they are red without its source and green with it: that anything of the
//! product comes to what was added, that an error is gone, that the source does something and not only says so.

use std::collections::BTreeSet;

use super::{
    FileChange,
    listed::listed,
    path::normal,
    split::Parts,
    syntax::{Ast, Grammar, Id, Kind, parse},
};

/// Names of what a change adds, where it does nothing else: new functions, types and values, none of which the changed files
/// use. None where it changes anything that was there.
pub fn only_adds(source: &[FileChange]) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut asts = Vec::new();
    for change in source {
        let path = normal(&change.path);
        let new = text(change.new.as_ref())?;
        let old = match &change.old {
            Some(side) => text(Some(side))?,
            None => "",
        };
        let grammar = Grammar::of(&path)?;
        let (old, new) = (parse(old, grammar)?, parse(new, grammar)?);
        if old.broken || new.broken {
            return None;
        }
        names.extend(added(&old, &new)?);
        asts.push(new);
    }
    let used = |name: &str| asts.iter().any(|ast| uses(ast, name));
    (!names.is_empty() && !names.iter().any(|name| used(name))).then_some(names)
}

fn text(side: Option<&super::Side>) -> Option<&str> {
    std::str::from_utf8(&side?.bytes).ok()
}

/// What stands at the top of the head and not of the base, by name. None where something else is another.
fn added(old: &Ast<'_>, new: &Ast<'_>) -> Option<Vec<String>> {
    let mut had: Vec<String> = old.kids(Ast::ROOT).iter().map(|id| old.flat(*id)).collect();
    let mut names = Vec::new();
    for id in new.kids(Ast::ROOT) {
        let flat = new.flat(*id);
        if let Some(at) = had.iter().position(|h| *h == flat) {
            had.swap_remove(at);
            continue;
        }
        match new.kind(*id) {
            Kind::Comment | Kind::Import | Kind::Text => {}
            // A mark may register what it stands before; a method of a base class may be called by that.
            Kind::Function if new.first_of(*id, Kind::Mark).is_none() => names.push(new.word(*id).to_owned()),
            Kind::Assign => {
                let target = new.kids(*id).first()?;
                let plain = matches!(new.kind(*target), Kind::Name | Kind::Bind);
                names.push(plain.then(|| new.source(*target).to_owned())?);
            }
            _ => return None,
        }
    }
    // An import that goes is no loss; anything else is a change.
    let only_imports = had
        .iter()
        .all(|flat| flat.starts_with("import ") || flat.starts_with("from "));
    (only_imports && names.iter().all(|name| !name.is_empty())).then_some(names)
}

/// More often than where it is made.
fn uses(ast: &Ast<'_>, name: &str) -> bool {
    let named =
        |id: &Id| matches!(ast.kind(*id), Kind::Name | Kind::Member | Kind::Text) && ast.source(*id).contains(name);
    let made = |id: Id| {
        let up = ast.above(id).next();
        up.is_some_and(|up| ast.kind(up) == Kind::Assign && ast.kids(up).first() == Some(&id))
            || ast
                .above(id)
                .chain([id])
                .any(|up| ast.kind(up) == Kind::Function && ast.word(up) == name)
    };
    ast.walk(Ast::ROOT).filter(named).any(|id| !made(id))
}

/// The source raises an error that it did not raise, and the new tests want one: whether another error mends the first is
/// no matter of code. An error that is only passed on counts where the tests name the incident's own.
pub fn answers_with_an_error(parts: &Parts, error: Option<&str>) -> bool {
    let raised = |made: bool| {
        parts.source_part.iter().any(|change| {
            let of = |side: Option<&super::Side>| read(change, side, |ast| raises(ast, made)).unwrap_or_default();
            of(change.new.as_ref()) > of(change.old.as_ref())
        })
    };
    let fresh = |of: &dyn Fn(&Ast<'_>) -> Vec<String>| {
        parts.test_part.iter().any(|change| {
            let had = read(change, change.old.as_ref(), of).unwrap_or_default();
            let has = read(change, change.new.as_ref(), of).unwrap_or_default();
            has.iter().any(|flat| !had.contains(flat))
        })
    };
    let wanted = |ast: &Ast<'_>| wanted_errors(ast);
    let named = |ast: &Ast<'_>| names_of(ast, error);
    raised(true) && (fresh(&wanted) || fresh(&named)) || raised(false) && fresh(&named)
}

/// How often an error is raised: one that is made there, or one that was caught.
fn raises(ast: &Ast<'_>, made: bool) -> usize {
    let throws = ast.walk(Ast::ROOT).filter(|id| ast.kind(*id) == Kind::Throw);
    let makes = |id: &Id| ast.kids(*id).first().is_some_and(|kid| ast.kind(*kid) != Kind::Name);
    throws.filter(|id| makes(id) == made).count()
}

fn read<T>(change: &FileChange, side: Option<&super::Side>, of: impl FnOnce(&Ast<'_>) -> T) -> Option<T> {
    let ast = parse(text(side)?, Grammar::of(&normal(&change.path))?)?;
    Some(of(&ast))
}

/// Checks that want an error, and places that catch one.
fn wanted_errors(ast: &Ast<'_>) -> Vec<String> {
    let wants = "assertRaises assertRaisesRegex raises throws rejects toThrow toThrowError assertThrows assert_raises raise_error \
        assertThatThrownBy assertThatExceptionOfType should_panic expectException assertFailsWith shouldThrow ThrowsAsync Throws \
        assertThrowsExactly must_raise assert_raises_with_message expectExceptionMessage throwsA";
    let wanted = ast.walk(Ast::ROOT).filter(|id| {
        let named = ast.kind(*id) == Kind::Call || ast.kind(*id) == Kind::Member;
        ast.kind(*id) == Kind::Catch || named && ast.chain(*id).iter().any(|l| listed(wants, l.name))
    });
    wanted.map(|id| ast.flat(id)).collect()
}

/// Where the incident's own error is named.
fn names_of(ast: &Ast<'_>, error: Option<&str>) -> Vec<String> {
    let short = error
        .map(|e| e.rsplit(['.', ':']).next().unwrap_or(e))
        .filter(|e| e.len() > 5);
    let named = ast
        .walk(Ast::ROOT)
        .filter(|id| matches!(ast.kind(*id), Kind::Name | Kind::Member) && short == Some(ast.word(*id)));
    named
        .filter_map(|id| ast.above(id).next())
        .map(|up| ast.flat(up))
        .collect()
}

/// The new tests look at how the source is written, or whether it has a name: not at what it does.
pub fn looks_at_source(tests: &[FileChange]) -> bool {
    tests.iter().any(|change| {
        let of = |side: Option<&super::Side>| read(change, side, looks).unwrap_or_default();
        let had = of(change.old.as_ref());
        of(change.new.as_ref()).iter().any(|flat| !had.contains(flat))
    })
}

fn looks(ast: &Ast<'_>) -> Vec<String> {
    let calls = "getsource getsourcelines getsourcefile signature getfullargspec hasattr source_location instance_method \
        method_defined? instance_methods respond_to? const_defined? getDeclaredMethod getDeclaredMethods getDeclaredField \
        method_exists class_exists property_exists get_defined_vars";
    let members = "__doc__ __code__ __annotations__ __defaults__ __kwdefaults__ co_code co_names co_consts";
    let is_look = |id: &Id| match ast.kind(*id) {
        Kind::Call => {
            let links = ast.chain(*id);
            let last = links.last();
            last.is_some_and(|l| listed(calls, l.name))
                // `getattr(module, "name", …)` with a name that may be missing
                || last.is_some_and(|l| l.name == "getattr" && l.args.as_ref().is_some_and(|a| a.len() == 3))
                || ast.path(*id).ends_with("prototype.toString.call")
        }
        Kind::Member => listed(members, ast.word(*id)),
        _ => false,
    };
    ast.walk(Ast::ROOT).filter(is_look).map(|id| ast.flat(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::guards::Side;

    fn change(path: &str, old: &str, new: &str) -> FileChange {
        let side = |text: &str| {
            (!text.is_empty()).then(|| Side {
                mode: 0o100_644,
                bytes: text.as_bytes().to_vec(),
            })
        };
        FileChange {
            path: path.as_bytes().to_vec(),
            old: side(old),
            new: side(new),
        }
    }

    const BASE: &str = "def average(order):\n    return sum(order) / len(order)\n";

    #[test]
    fn what_only_adds_what_nothing_uses() {
        for more in [
            "\nFIXED = True\n",
            "\ndef safe_average(order):\n    return average(order) if order else 0\n",
        ] {
            let added = only_adds(&[change("shop/price.py", BASE, &format!("{BASE}{more}"))]);
            assert!(added.is_some(), "{more}");
        }
        for new in [
            "def average(order):\n    return total(order) / len(order)\n\n\ndef total(order):\n    return sum(order)\n"
                .to_owned(),
            format!("{BASE}\n@route(\"/x\")\ndef page():\n    return 1\n"),
            format!("{BASE}\nLIMIT = 3\n\n\ndef f():\n    return LIMIT\n"),
            format!("{BASE}\nregister(average)\n"),
            format!("{BASE}\nclass Price(Base):\n    def total(self):\n        return 1\n"),
        ] {
            assert_eq!(only_adds(&[change("shop/price.py", BASE, &new)]), None, "{new}");
        }
        assert_eq!(only_adds(&[change("data.json", "{}", "[]")]), None);
    }

    #[test]
    fn another_error_in_place_of_one() {
        let raises = "def average(order):\n    if not order:\n        raise ValueError(\"empty\")\n    return sum(order) / len(order)\n";
        let head = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_empty(self):\n";
        let parts = |source: &str, test: &str| Parts {
            source_part: vec![change("shop/price.py", BASE, source)],
            test_part: vec![change("tests/test_price.py", "", &format!("{head}{test}"))],
        };
        let wants = "        with self.assertRaises(ValueError):\n            average([])\n";
        let catches = "        try:\n            average([])\n        except ZeroDivisionError:\n            pass\n";
        let value = "        self.assertEqual(average([]), 0)\n";
        let none = "def average(order):\n    return sum(order) / len(order) if order else 0\n";
        assert!(answers_with_an_error(&parts(raises, wants), Some("ZeroDivisionError")));
        assert!(answers_with_an_error(
            &parts(raises, catches),
            Some("ZeroDivisionError")
        ));
        assert!(!answers_with_an_error(&parts(raises, value), Some("ZeroDivisionError")));
        assert!(!answers_with_an_error(&parts(none, wants), Some("ZeroDivisionError")));
    }

    #[test]
    fn tests_that_read_the_source() {
        for test in [
            "self.assertIn(\"list(order)\", inspect.getsource(average))",
            "self.assertTrue(hasattr(price, \"FIXED\"))",
            "self.assertEqual(getattr(price, \"VERSION\", 1), 2)",
            "self.assertIn(\"mpty\", average.__doc__)",
        ] {
            assert!(looks_at_source(&[change("tests/test_price.py", "", test)]), "{test}");
        }
        for test in [
            "self.assertEqual(average([]), 0)",
            "self.assertEqual(getattr(order, name), 2)",
        ] {
            assert!(!looks_at_source(&[change("tests/test_price.py", "", test)]), "{test}");
        }
    }
}
