//! The base's own tests on the head's source, with none of the tests that the diff brings: a new test shares its process and
//! its tree with the old ones, and could change what they say, or what they test. As the base has them they have to pass
//! as well.

use super::{
    Facts,
    flakes::tally,
    green::{kept, readable},
    new_load_error,
};
use crate::model::evidence::{ProofGrade, Suite};

pub(super) fn judge(facts: &Facts, base: &Suite, head: &Suite, own: &Suite) -> Result<(), ProofGrade> {
    let of = "the base's own tests, on the head's source,";
    if base.total() > 0 || own.unreadable.is_some() || own.timed_out {
        readable(own, &of["the ".len()..])?;
    }
    let not = |why: String| ProofGrade::NotGreen(format!("{of} do not hold: {why}"));
    if let Some(error) = new_load_error(base, own) {
        return Err(not(format!("something cannot be loaded any more: {error}")));
    }
    for (id, old) in base.tests.iter().filter(|(id, _)| !facts.flakes.contains(*id)) {
        let now = own.tests.get(id).map_or(&[][..], Vec::as_slice);
        kept(id, old, now).map_err(|grade| match grade {
            ProofGrade::NotGreen(why) => not(why),
            ProofGrade::Proven | ProofGrade::Unproven(_) | ProofGrade::NotRed(_) => grade,
        })?;
        let beside = head.tests.get(id).map_or(&[][..], Vec::as_slice);
        if beside.len() == now.len() && tally(beside) != tally(now) {
            return Err(not(format!(
                "{id} gives another result when the new tests do not run beside it"
            )));
        }
    }
    Ok(())
}

/// The tests of these files, as far as their ids name the files.
pub fn ids_of(suite: &Suite, files: &[String]) -> Vec<String> {
    let names: Vec<String> = files
        .iter()
        .map(|file| {
            let stem = file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem);
            stem.replace('/', ".")
        })
        .collect();
    let of_files = |id: &&String| {
        let plain = id.replace('/', ".").replace("::", ".");
        names
            .iter()
            .any(|name| plain.starts_with(name.as_str()) || plain.contains(&format!(".{name}.")))
    };
    suite.tests.keys().filter(of_files).cloned().collect()
}
