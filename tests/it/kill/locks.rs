//! What a killed process leaves: no lock, no agent, and an attempt that is not charged.

use std::{
    collections::BTreeSet,
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
    rig.live_through(&BTreeSet::new(), Phase::BeforeIntent, After::RunAgain);
    (rig, incident)
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
