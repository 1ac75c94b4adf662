//! What a killed process leaves: no lock, no agent, and an attempt that is not charged.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use tick::{
    demo::agent::{Script, Step, demo_script},
    model::incident::AttemptOutcome,
    steps::effect::Phase,
    store::{TickLock, locks::Tried},
};

use super::{After, Story, rig::Rig};

#[test]
fn after_a_kill_the_locks_are_free_and_the_agent_is_ended_by_the_next_run() {
    let mut rig = Rig::new(Story::Plain);
    let mut script: Script = demo_script(rig.world.forge_url());
    script.roles.get_mut("fix").unwrap()[0] = Step {
        hang: true,
        ..Step::default()
    };
    let recording = rig.world.root().join("recording.json");
    std::fs::write(&recording, serde_json::to_string(&script).unwrap()).unwrap();
    let mut child = rig.spawn(&rig.home, &[]);
    until(|| rig.world.town().records.all().iter().any(|call| call["role"] == "fix"));
    let incident = rig.store(&rig.home).open_incidents().unwrap().remove(0).id;
    child.kill().unwrap();
    child.wait().unwrap();
    let since = now();
    let state = rig.home.join("state");
    assert!(matches!(TickLock::try_take(&state, "test").unwrap(), Tried::Held(_)));
    let claim = rig.store(&rig.home).claim(&incident).unwrap();
    assert!(claim.is_some(), "the claim died with its process");
    assert!(since.elapsed() < Duration::from_secs(1));
    drop(claim);
    rig.live_through(&BTreeSet::new(), Phase::BeforeIntent, After::RunAgain);
    let attempts = rig.store(&rig.home).attempts(&incident).unwrap();
    assert_eq!(attempts.len(), 2, "{attempts:?}");
    assert!(
        matches!(attempts[0].outcome, Some(AttemptOutcome::Interrupted(_))),
        "{attempts:?}"
    );
    assert!(!attempts[0].charged);
    // Fails when the hanging agent still runs.
    rig.finish();
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
