//! Runs the new tests of a proven head once more on the base, with a mark in each function of the incident's trace. A test that
//! comes to none of them shows another fault than the one that is told to be mended.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context, Result};

use super::{
    agents::nonce,
    judge::edit,
    prove::{Proven, with_tree_at},
    undo::Undoing,
};
use crate::{
    adapters::{
        git::FileEdit,
        suite::{self, NotRun, Only, SuiteChild, SuiteOptions, SuiteOutput},
    },
    decide::{
        guards::{self, FileChange, Kind, Marked},
        proof::{self, Reach},
    },
    model::{
        evidence::{ProofGrade, Suite, Witness},
        signal::Culprit,
    },
};

/// A trace that is longer is of the outer callers.
const PLACES: usize = 12;
/// A larger file is not marked.
const LARGEST: u64 = 1 << 20;

/// `places` are those of the incident's trace, as production names them.
pub(super) async fn reach(
    room: &Undoing<'_>,
    runner: &impl AsyncFn(SuiteChild) -> SuiteOutput,
    proven: &mut Proven,
    places: &[Culprit],
) -> Result<()> {
    let is_new = proven.proof.grade == ProofGrade::Proven && proven.proof.witness == Witness::B;
    if !is_new || !suite::selects(room.commands) {
        return Ok(());
    }
    let made = format!(".{}", nonce()?.as_str());
    let (edits, shown) = marks(room, places, &room.work.join(&made)).await?;
    if shown.is_empty() {
        return Ok(());
    }
    let mut all: BTreeMap<Vec<u8>, FileEdit> = BTreeMap::new();
    for edit in room.parts.test_part.iter().map(edit).chain(edits) {
        all.insert(edit.path.clone(), edit);
    }
    let edits: Vec<FileEdit> = all.into_values().collect();
    let commit = room
        .mirror
        .commit_edits(&room.facts.base, &edits, "Marks where it failed")
        .await?;
    let tree = room.dir.join("reach");
    room.mirror.checkout(&commit, &tree).await?;
    if let Some(ground) = room.ground {
        ground.fill(&tree)?;
        ground.renew_home()?;
    }
    let ids = proven.proof.witness_ids.clone();
    let files = room
        .parts
        .test_part
        .iter()
        .filter(|c| c.new.is_some())
        .map(FileChange::shown);
    let options = SuiteOptions {
        second_run: false,
        only: Some(Only {
            files: files.collect(),
            ids,
        }),
        reference: Some(room.reference.to_owned()),
        scratch: room.options.scratch.join("reach"),
        ..room.options.clone()
    };
    let run =
        async |dir: &Path| -> Result<Suite, NotRun> { suite::run_suite(runner, dir, room.commands, &options).await };
    let suite = with_tree_at(room.work, &tree, run).await??;
    let reach = if tree.join(&made).exists() {
        Reach::Reached
    } else {
        proof::unreached(&proven.proof.witness_ids, &suite)
    };
    proof::reached(&mut proven.proof, reach, &shown);
    Ok(())
}

/// Files of the base with marks in them, and the marked places as the base names them.
async fn marks(room: &Undoing<'_>, places: &[Culprit], made: &Path) -> Result<(Vec<FileEdit>, Vec<String>)> {
    let entries = room.mirror.list(&room.facts.base).await?;
    let is_source = |path: &[u8]| matches!(room.kinds.of(&guards::normal(path)), Kind::Source(_));
    let sources: Vec<_> = entries
        .iter()
        .filter(|entry| entry.size.is_some_and(|size| size <= LARGEST) && is_source(&entry.path))
        .filter_map(|entry| Some((std::str::from_utf8(&entry.path).ok()?, entry)))
        .collect();
    let paths: Vec<&str> = sources.iter().map(|(path, _)| *path).collect();
    let changed = room.parts.source_part.iter().filter(|change| change.old.is_some());
    let changed: BTreeSet<Vec<u8>> = changed.map(|change| change.path.clone()).collect();
    let mut by_file: BTreeMap<&str, Vec<&Culprit>> = BTreeMap::new();
    for place in places.iter().take(PLACES) {
        if let Some(path) = proof::file_of(place, &paths) {
            by_file.entry(path).or_default().push(place);
        }
    }
    if by_file.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    // What the fix changes may be what made the value that failed elsewhere.
    for (path, entry) in &sources {
        if changed.contains(&entry.path) {
            by_file.entry(path).or_default();
        }
    }
    let (mut texts, mut names) = (Vec::new(), BTreeSet::new());
    for (path, places) in by_file {
        let Some((_, entry)) = sources.iter().find(|(own, _)| *own == path) else {
            continue;
        };
        // New tests may stand in the same file.
        let added = room.parts.test_part.iter().find(|change| change.path == entry.path);
        let text = match added.and_then(|change| change.new.as_ref()) {
            Some(side) => side.bytes.clone(),
            None => room.mirror.blob(&entry.id).await?,
        };
        let Ok(text) = String::from_utf8(text) else { continue };
        names.extend(guards::called(path, &text, &places));
        texts.push((path, entry, places, text));
    }
    let (mut edits, mut shown) = (Vec::new(), Vec::new());
    let made = made.to_str().context("a path of tick's own that is no text")?;
    for (path, entry, places, text) in texts {
        let Some(Marked { text, beside }) = guards::marked(path, &text, &places, &names, made) else {
            continue;
        };
        shown.extend(places.iter().map(|place| proof::shown_place(path, place)));
        let folder = path
            .rsplit_once('/')
            .map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let mut put = |path: Vec<u8>, mode: u32, text: String| {
            let new = Some((mode, text.into_bytes()));
            edits.push(FileEdit { path, new });
        };
        put(entry.path.clone(), entry.mode, text);
        if let Some((name, text)) = beside {
            put(format!("{folder}{name}").into_bytes(), 0o100_644, text);
        }
    }
    Ok((edits, shown))
}
