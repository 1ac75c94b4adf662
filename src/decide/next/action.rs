//! The one thing that is done next, as a value.

use serde::Serialize;

use crate::{
    decide::{
        facts::{RerunEnd, Status},
        merge::MergeProof,
    },
    model::{Sha, checks::RedRun},
};

/// One thing to do. Each variant is one arm of `perform`, and at most one outside write.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The failed jobs of a red run once more, on the same commit.
    Rerun {
        run: RedRun,
        why: String,
    },
    /// What came of that, or why it is not done.
    Reran {
        run: RedRun,
        end: RerunEnd,
    },
    /// Let an agent try on this base.
    Attempt {
        n: u32,
        base: Sha,
    },
    /// Run the tests before, at and after the suspected commit; where they show it to be the cause, take it back on this
    /// base.
    Blame {
        n: u32,
        base: Sha,
        commit: Sha,
    },
    Guards {
        n: u32,
        head: Sha,
    },
    Prove {
        n: u32,
        head: Sha,
    },
    /// Make the commit that CI has to see red: the base with the diff's tests.
    CiWitness {
        n: u32,
        head: Sha,
    },
    PushWitness {
        n: u32,
        sha: Sha,
    },
    /// Read what the runs of a commit kept.
    CiReport {
        n: u32,
        sha: Sha,
    },
    /// Judge what was read so far.
    CiGrade {
        n: u32,
        head: Sha,
    },
    CiUnproven {
        n: u32,
        head: Sha,
        why: String,
    },
    /// The witness's branch is not needed any more.
    DropWitness {
        /// Of the effect that pushed it.
        key: String,
        sha: Sha,
    },
    Push {
        n: u32,
        head: Sha,
    },
    OpenPull {
        n: u32,
        head: Sha,
        draft: bool,
    },
    Audit {
        n: u32,
        head: Sha,
    },
    /// The PR's body says what holds now; `slot` names the state it describes.
    Body {
        n: u32,
        slot: String,
    },
    Label {
        label: String,
    },
    RequestReview,
    Ready,
    /// Replay the patch onto the moved base.
    Rebase {
        n: u32,
        onto: Sha,
    },
    /// Blocking checks failed on the pushed head.
    CiFailed {
        n: u32,
        head: Sha,
        checks: Vec<String>,
    },
    Merge(MergeProof),
    /// A person merged our PR: observe it like our own.
    Adopt {
        sha: Sha,
        by: Option<String>,
    },
    Landed {
        sha: Sha,
    },
    /// Run the test commands on the landed commit.
    TestLanded {
        sha: Sha,
    },
    /// The host wrote another tree: no merges until a person resumes.
    Freeze {
        why: String,
    },
    Live {
        sha: Sha,
    },
    Observed {
        sha: Sha,
        verdict: String,
    },
    /// Incident note, before anything is taken back.
    Note {
        why: String,
    },
    MakeRevert {
        sha: Sha,
    },
    PushRevert {
        head: Sha,
    },
    OpenRevert {
        head: Sha,
    },
    /// The revert's PR says what holds of this head.
    RevertBody {
        head: Sha,
    },
    MergeRevert(MergeProof),
    /// The repo goes back to drafts.
    DropAutonomy {
        why: String,
    },
    Comment {
        slot: String,
        text: String,
    },
    ClosePull {
        why: String,
    },
    /// An effect of ours that was begun turned out to have happened: record it, send nothing.
    Settle {
        key: String,
        sha: Option<Sha>,
        head: Option<Sha>,
    },
    /// An effect that was begun is not wanted any more, whatever became of it.
    GiveUp {
        key: String,
    },
    Tell {
        status: Status,
        why: String,
    },
}
