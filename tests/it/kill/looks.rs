//! What a look finds and no later one finds again is told all the same, and once: the process dies between the look's
//! commit and its message.

use tick::{
    demo::{Fault, Site, Which},
    steps::effect::Phase,
};

use super::{
    Story,
    rig::{Rig, store_of},
};

/// Looks without repair. `phase` ends the process at its first message.
fn look(rig: &Rig, phase: Option<Phase>) {
    rig.step(15);
    let mut args = vec!["--observe".to_owned()];
    if let Some(phase) = phase {
        args.extend(["--crash-at".to_owned(), format!("mail::{}", phase.as_str())]);
    }
    let out = rig.run(&rig.home, 1, &args).remove(0);
    let died = out.status.code().is_none();
    assert_eq!(died, phase.is_some(), "{}", crate::spine::shown(&out));
}

fn look_blind(rig: &Rig) {
    rig.step(15);
    let out = rig.run(&rig.home, 1, &["--observe".to_owned()]).remove(0);
    assert_eq!(out.status.code(), Some(3), "{}", crate::spine::shown(&out));
}

fn subjects(rig: &Rig) -> Vec<String> {
    let mails = rig.world.mail().take().unwrap();
    mails.into_iter().map(|mail| mail.subject).collect()
}

#[track_caller]
fn told(rig: &Rig, tags: &[&str]) {
    let subjects = subjects(rig);
    let all = tags.iter().zip(&subjects).all(|(tag, subject)| subject.contains(tag));
    assert!(all && subjects.len() == tags.len(), "{subjects:?} are not {tags:?}");
    assert!(store_of(&rig.home).open_effects().unwrap().is_empty());
}

fn blind(rig: &Rig) {
    let reads = Which::first("GET", "*").always().on(Site::Tracker);
    rig.world.fault(reads, Fault::Html);
}

#[test]
fn blindness_and_its_end_survive_a_kill() {
    let rig = Rig::new(Story::Plain);
    for phase in Phase::ALL {
        // A quiet day: what comes and goes within one is told less.
        rig.step(24 * 60);
        blind(&rig);
        look(&rig, None);
        told(&rig, &[]);
        // The second look in a row decides that it is told, and the third can read again.
        look(&rig, Some(phase));
        rig.world.town().calm();
        look(&rig, None);
        look(&rig, None);
        told(&rig, &["blind", "seen again"]);

        blind(&rig);
        look(&rig, None);
        look(&rig, None);
        told(&rig, &["blind"]);
        rig.world.town().calm();
        look(&rig, Some(phase));
        look(&rig, None);
        look(&rig, None);
        told(&rig, &["seen again"]);
    }
    rig.world.finish().unwrap();
}

#[test]
fn a_gate_fault_survives_a_kill() {
    let rig = Rig::new(Story::Plain);
    let gate = rig.home.join("collectors/gate.jq");
    std::fs::create_dir_all(gate.parent().unwrap()).unwrap();
    for phase in Phase::ALL {
        std::fs::write(&gate, format!("\"not a verdict, {}\"", phase.as_str())).unwrap();
        look(&rig, Some(phase));
        std::fs::remove_file(&gate).unwrap();
        look(&rig, None);
        told(&rig, &["gate fault"]);
        // The same fault is told once a day.
        std::fs::write(&gate, "\"still no verdict\"").unwrap();
        look_blind(&rig);
        look_blind(&rig);
        std::fs::remove_file(&gate).unwrap();
        look(&rig, None);
        told(&rig, &[]);
        rig.step(24 * 60);
    }
    rig.world.finish().unwrap();
}
