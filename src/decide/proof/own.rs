//! The base's own tests on the head's source. A diff that adds to a test file of the base could change what the tests
//! around the addition say; as the base has them they have to pass as well.

use super::{Facts, Next, Run, Runs, green::kept, new_load_error, unusable};
use crate::model::evidence::{ProofGrade, Suite};

/// The run that is still to be made, none where the diff touches no test file or all is well; or why it is not.
pub(super) fn plan(facts: &Facts, runs: &Runs, base: &Suite) -> Result<Option<Next>, ProofGrade> {
    let ids = of_touched(base, &facts.touched);
    if ids.is_empty() {
        return Ok(None);
    }
    let Some(own) = &runs.own else {
        return Ok(Some(Next::Run(Run::OwnTests, ids)));
    };
    judge(facts, base, own, &ids).map(|()| None)
}

fn judge(facts: &Facts, base: &Suite, own: &Suite, ids: &[String]) -> Result<(), ProofGrade> {
    let of = "the base's own tests, on the head's source,";
    if let Some(why) = &own.unreadable {
        return Err(ProofGrade::Unproven(format!("{of} could not be read: {why}")));
    }
    let not = |why: String| ProofGrade::NotGreen(format!("{of} do not hold: {why}"));
    if let Some(why) = unusable(own, of) {
        return Err(ProofGrade::NotGreen(why));
    }
    if let Some(error) = new_load_error(base, own) {
        return Err(not(format!("something cannot be loaded any more: {error}")));
    }
    for id in ids.iter().filter(|id| !facts.flakes.contains(*id)) {
        let (old, now) = (base.tests.get(id), own.tests.get(id));
        let (old, now) = (old.map_or(&[][..], Vec::as_slice), now.map_or(&[][..], Vec::as_slice));
        kept(id, old, now).map_err(|grade| match grade {
            ProofGrade::NotGreen(why) => not(why),
            ProofGrade::Proven | ProofGrade::Unproven(_) | ProofGrade::NotRed(_) => grade,
        })?;
    }
    Ok(())
}

/// The tests of these files as the runner names them; where the names do not tell files, all of them.
fn of_touched(base: &Suite, files: &[String]) -> Vec<String> {
    let of_files = ids_of(base, files);
    if of_files.is_empty() && !files.is_empty() {
        return base.tests.keys().cloned().collect();
    }
    of_files
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
