//! Many processes on one home, and a second home beside the first: one effect of each kind, and nobody fails.

use std::{collections::BTreeSet, fs, path::Path};

use tick::{demo::forge::Author, steps::effect::Phase};

use super::{
    After, Story,
    rig::{Rig, ended_well, store_of},
    undisturbed,
};

#[test]
fn sixteen_at_once_have_one_effect_of_each_kind() {
    let mut rig = Rig::new(Story::Plain);
    let outputs = rig.run(&rig.home.clone(), 16, &[]);
    outputs.iter().for_each(ended_well);
    rig.step(15);
    rig.run(&rig.home.clone(), 16, &[]).iter().for_each(ended_well);
    rig.live_through(&BTreeSet::new(), Phase::BeforeIntent, After::RunAgain);
    let logs = rig.home.join("logs").read_dir().unwrap().flatten();
    let runs = logs
        .filter(|e| e.file_name().to_string_lossy().starts_with("run-"))
        .count();
    assert!(runs > 32, "each process has its own tick id and run log: {runs}");
    assert_eq!(&rig.finish(), undisturbed(Story::Plain));
}

/// Sixteen processes make the same new home.
#[test]
fn sixteen_first_ticks_make_one_ledger() {
    let rig = Rig::new(Story::Plain);
    let second = copy_of(&rig.home);
    rig.run(&second, 16, &[]).iter().for_each(ended_well);
    drop(store_of(&second));
    assert_eq!(rig.world.mail().take().unwrap().len(), 1, "one inventory");
    rig.world.finish().unwrap();
}

/// Another host has its own store. Names come from the cause, so the forge itself refuses the double.
#[test]
fn a_second_home_finds_what_the_first_did() {
    let mut rig = Rig::new(Story::Plain);
    let second = copy_of(&rig.home);
    fs::create_dir(second.join("state")).unwrap();
    // As old as the first: a home that looks for the first time takes what it sees as inventory.
    for part in ["tick.db", "tick.db-wal", "incidents.jsonl"] {
        let from = rig.home.join("state").join(part);
        if from.exists() {
            fs::copy(from, second.join("state").join(part)).unwrap();
        }
    }
    for _ in 0..3 {
        let one = rig.spawn(&rig.home, &[]);
        let two = rig.spawn(&second, &[]);
        for child in [one, two] {
            ended_well(&child.wait_with_output().unwrap());
        }
        rig.step(15);
    }
    for _ in 0..8 {
        rig.clean(&second.clone());
        rig.step(15);
    }
    rig.live_through(&BTreeSet::new(), Phase::BeforeIntent, After::RunAgain);
    let of_second = store_of(&second).recent_incidents(5).unwrap();
    let all_closed = of_second.iter().all(|i| i.closed_at.is_some());
    let state = rig.finish();
    let alone = undisturbed(Story::Plain);
    assert!(all_closed, "{of_second:?}");
    assert_eq!(
        (&state.branches, &state.main, &state.pulls, &state.comments),
        (&alone.branches, &alone.main, &alone.pulls, &alone.comments)
    );
    // The slower home may find the fix on its base and nothing left to do, and say so; what both say, they say once.
    assert!(alone.mails.iter().all(|mail| state.mails.contains(mail)), "{state:#?}");
    let ids: BTreeSet<_> = state.mails.iter().map(|mail| mail.split(' ').next()).collect();
    assert_eq!(ids.len(), state.mails.len(), "{state:#?}");
}

/// The branch of the cause is taken: nothing is forced, and nothing is tried for ever.
#[test]
fn a_branch_that_is_somebody_elses_makes_it_a_persons() {
    let rig = Rig::new(Story::Plain);
    let branch = undisturbed(Story::Plain).branches[0].split(' ').next().unwrap();
    let author = Author {
        name: "eve",
        at: rig.world.now(),
    };
    let file = ("notes/mine.md".to_owned(), Some(b"mine\n".to_vec()));
    let base = rig.world.main_head().unwrap();
    let theirs = rig
        .world
        .repo()
        .commit(branch, Some(&base), author, "mine", &[file])
        .unwrap();
    let out = rig.clean(&rig.home);
    assert_eq!(out.status.code(), Some(1), "{}", crate::spine::shown(&out));
    assert_eq!(rig.world.repo().head(branch).unwrap(), Some(theirs));
    rig.step(15);
    assert_eq!(rig.clean(&rig.home).status.code(), Some(0));
    assert_eq!(rig.world.forge().pulls.len(), 1, "the bug's alone");
    assert_eq!(rig.world.mail().take().unwrap().len(), 1);
    // It stays a person's, and its end is told when the error is over.
    assert_eq!(store_of(&rig.home).open_incidents().unwrap().len(), 1);
    rig.world.finish().unwrap();
}

/// Config and secrets, no state.
fn copy_of(home: &Path) -> std::path::PathBuf {
    let second = home.with_file_name("second-home");
    fs::create_dir(&second).unwrap();
    for file in ["config.json", ".env"] {
        fs::copy(home.join(file), second.join(file)).unwrap();
    }
    second
}

/// What stood there at first sight is told once, although only the first look finds it.
#[test]
fn a_killed_first_look_still_tells_its_inventory() {
    let rig = Rig::new(Story::Plain);
    for phase in Phase::ALL {
        let home = rig.home.with_file_name(phase.as_str());
        fs::create_dir(&home).unwrap();
        rig.step(1);
        for file in ["config.json", ".env"] {
            fs::copy(rig.home.join(file), home.join(file)).unwrap();
        }
        let crash = ["--crash-at".to_owned(), format!("mail::{}", phase.as_str())];
        let died = rig.run(&home, 1, &crash).remove(0);
        assert_eq!(died.status.code(), None, "{}", crate::spine::shown(&died));
        rig.clean(&home);
        rig.clean(&home);
        let mails = rig.world.mail().take().unwrap();
        assert_eq!(mails.len(), 1, "{phase:?}: {mails:?}");
        assert!(store_of(&home).open_effects().unwrap().is_empty());
    }
    rig.world.finish().unwrap();
}
