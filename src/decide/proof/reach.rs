//! Whether the new tests come to the place at which the incident was seen.

use super::{is_bad, undo::mark};
use crate::model::{
    evidence::{Proof, Suite},
    signal::Culprit,
};

/// What a run of the new tests with marks at the incident's places says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Reached,
    Not,
    Unknown,
}

/// Of a run that left no mark: it says something where each witness ran as it does without marks.
pub fn unreached(witness: &[String], suite: &Suite) -> Reach {
    let whole = suite.unreadable.is_none() && !suite.timed_out && suite.load_errors.is_empty();
    let ran = |id: &String| suite.tests.get(id).is_some_and(|results| results.iter().any(is_bad));
    if whole && witness.iter().all(ran) {
        Reach::Not
    } else {
        Reach::Unknown
    }
}

/// Marks a proof whose tests come to none of the marked places, the incident's own first.
pub fn reached(proof: &mut Proof, reach: Reach, places: &[String]) {
    let Some(first) = places.first() else { return };
    let more = match places.len() - 1 {
        0 => String::new(),
        n => format!(" or {n} of its callers"),
    };
    match reach {
        Reach::Reached => proof.reached = Some(first.clone()),
        Reach::Unknown => proof.not_proven.push(format!(
            "Whether the new tests come to the place that failed ({first}) is not known: no run with marks there could be read."
        )),
        Reach::Not => mark(
            proof,
            format!(
                "the new tests do not come to the place that failed ({first}{more}), so they may show another fault"
            ),
        ),
    }
}

/// Marks a proof whose change does nothing.
pub fn does_nothing(proof: &mut Proof) {
    mark(
        proof,
        "the change alters nothing that runs: comments, documentation, or the words of a log line".to_owned(),
    );
}

/// The file of the repository that production names so: the one that ends alike in the most parts, with at least its name. Where
/// two do, none.
pub fn file_of<'p>(place: &Culprit, paths: &[&'p str]) -> Option<&'p str> {
    let parts = |path: &str| path.split('/').rev().map(str::to_owned).collect::<Vec<_>>();
    let wanted = parts(&place.file);
    let alike = |path: &str| parts(path).iter().zip(&wanted).take_while(|(a, b)| a == b).count();
    let most = paths.iter().map(|path| alike(path)).max().filter(|most| *most > 0)?;
    let mut best = paths.iter().filter(|path| alike(path) == most);
    let only = best.next()?;
    best.next().is_none().then_some(*only)
}

pub fn shown_place(path: &str, place: &Culprit) -> String {
    match (place.line, place.function.as_deref()) {
        (Some(line), _) => format!("{path}:{line}"),
        (None, Some(function)) => format!("{path}, {function}"),
        (None, None) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::evidence::{TestResult, TestStatus};

    fn place(file: &str) -> Culprit {
        Culprit {
            file: file.to_owned(),
            line: Some(3),
            function: None,
        }
    }

    #[test]
    fn a_file_is_known_by_its_end() {
        let paths = ["shop/price.py", "admin/price.py", "shop/cart.py", "README.md"];
        let of = |file: &str| file_of(&place(file), &paths);
        assert_eq!(of("/srv/app/shop/price.py"), Some("shop/price.py"));
        assert_eq!(of("cart.py"), Some("shop/cart.py"));
        assert_eq!(of("price.py"), None, "two are as near");
        assert_eq!(of("/srv/app/other.py"), None);
    }

    #[test]
    fn no_mark_says_something_only_where_the_witness_ran() {
        let ids = vec!["new".to_owned()];
        let mut suite = Suite::default();
        assert_eq!(unreached(&ids, &suite), Reach::Unknown);
        suite
            .tests
            .insert("new".to_owned(), vec![TestResult::of(TestStatus::Fail)]);
        assert_eq!(unreached(&ids, &suite), Reach::Not);
        suite.load_errors.push("tests.test_new: SyntaxError".to_owned());
        assert_eq!(unreached(&ids, &suite), Reach::Unknown);
    }
}
