//! What a killed process leaves: no lock, no agent, and an attempt that is not charged.

use std::{
    collections::BTreeSet,
    os::unix::fs::PermissionsExt as _,
    time::{Duration, Instant},
};

use tick::{
    demo::agent::{Script, Step, demo_script},
    model::{IncidentId, incident::AttemptOutcome},
    steps::effect::Phase,
    store::{TickLock, TriageLock, locks::Tried},
};

use super::{
    After, Story,
    rig::{Rig, store_of},
};
use crate::merges::prepared::{Prepared, Wants};

#[test]
fn a_killed_repair_leaves_no_lock_and_its_agent_is_ended_by_the_next_run() {
    let (rig, incident) = killed_while_asking("fix");
    let attempts = store_of(&rig.home).attempts(&incident).unwrap();
    assert_eq!(attempts.len(), 2, "{attempts:?}");
    let first = &attempts[0];
    assert!(
        matches!(first.outcome, Some(AttemptOutcome::Interrupted(_))),
        "{first:?}"
    );
    assert!(!first.charged);
    // Fails when the hanging agent still runs.
    rig.finish();
}

#[test]
fn a_killed_triage_leaves_no_lock_and_its_agent_is_ended_by_the_next_run() {
    let (rig, _) = killed_while_asking("triage");
    rig.finish();
}

/// The agent of that role hangs at its first call, and its process is killed; then the story goes on to its end.
fn killed_while_asking(role: &str) -> (Rig, IncidentId) {
    let mut rig = Rig::new(Story::Plain);
    let mut script: Script = demo_script(rig.world.forge_url());
    script.roles.get_mut("fix").unwrap().remove(0);
    let hangs = Step {
        hang: true,
        ..Step::default()
    };
    script.roles.get_mut(role).unwrap().insert(0, hangs);
    let recording = rig.world.root().join("recording.json");
    std::fs::write(&recording, serde_json::to_string(&script).unwrap()).unwrap();
    let mut child = rig.spawn(&rig.home, &[]);
    until(|| rig.world.town().records.all().iter().any(|call| call["role"] == role));
    let incident = store_of(&rig.home).open_incidents().unwrap().remove(0).id;
    child.kill().unwrap();
    child.wait().unwrap();
    let since = now();
    let state = rig.home.join("state");
    let tick = TickLock::try_take(&state, "test").unwrap();
    let triage = TriageLock::try_take(&state, "test").unwrap();
    assert!(matches!((&tick, &triage), (Tried::Held(_), Tried::Held(_))));
    let claim = store_of(&rig.home).claim(&incident).unwrap();
    assert!(claim.is_some(), "the claim died with its process");
    assert!(since.elapsed() < Duration::from_secs(1));
    drop((tick, triage, claim));
    let left = || {
        ["worktrees", "runs", "proofs", "audits"]
            .iter()
            .flat_map(|place| std::fs::read_dir(state.join(place)).into_iter().flatten().flatten())
            .map(|entry| entry.path())
            .collect::<Vec<_>>()
    };
    assert!(!left().is_empty(), "the killed run leaves its directories");
    rig.live_through(&BTreeSet::new(), Phase::BeforeIntent, After::RunAgain);
    assert_eq!(left(), Vec::<std::path::PathBuf>::new());
    (rig, incident)
}

/// What a killed process left of its runs goes with the next repair, unless somebody still works in it.
#[test]
fn what_killed_runs_left_is_removed() {
    let prepared = Prepared::start(&Wants::default());
    let state = prepared.stage.home.join("state");
    let (gone, busy) = ("00112233aabbccdd-1", "99887766aabbccdd-1");
    let dirs = |of: &str| {
        [
            "worktrees/ID.1",
            "proofs/ID.1",
            "proofs/ID.landed.abc",
            "audits/ID.1",
            "runs/fix.ID.1.7.nonce",
            "runs/triage.ID.t.8.nonce",
        ]
        .map(|dir| state.join(dir.replace("ID", of)))
    };
    for dir in dirs(gone).iter().chain(&dirs(busy)) {
        std::fs::create_dir_all(dir.join("tree/deep")).unwrap();
        std::fs::write(dir.join("tree/deep/file"), "left").unwrap();
        std::fs::set_permissions(dir.join("tree/deep"), std::fs::Permissions::from_mode(0o500)).unwrap();
    }
    let lock = std::fs::File::create(state.join(format!("locks/incident-{busy}"))).unwrap();
    fs2::FileExt::try_lock_exclusive(&lock).unwrap();
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    for dir in dirs(gone) {
        assert!(!dir.exists(), "{} stays", dir.display());
    }
    for dir in dirs(busy) {
        assert!(dir.exists(), "{} was somebody's", dir.display());
    }
    drop(lock);
    prepared.finish();
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a lock outlives its holder is real time"
)]
fn now() -> Instant {
    Instant::now()
}

fn until(holds: impl Fn() -> bool) {
    let since = now();
    while !holds() {
        assert!(
            since.elapsed() < Duration::from_mins(2),
            "it did not happen within two minutes"
        );
        std::thread::yield_now();
    }
}
