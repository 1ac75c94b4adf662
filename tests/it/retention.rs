//! What is old goes, what is young stays, and it is looked for once a day.

use std::{fs, path::Path, time::Duration};

use crate::spine::{Stage, shown};

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn plant(dir: &Path, name: &str, age_days: u64, stage: &Stage) {
    fs::create_dir_all(dir).unwrap();
    let file = fs::File::create(dir.join(name)).unwrap();
    let now: std::time::SystemTime = stage.world.now().into();
    file.set_modified(now - Duration::from_hours(24 * age_days)).unwrap();
}

fn look(stage: &Stage) {
    let out = stage.tick(&["--observe"]);
    assert_eq!(out.status.code(), Some(0), "{}", shown(&out));
}

#[test]
fn what_is_old_goes_once_a_day() {
    let stage = Stage::shop(|_| {});
    let (signals, logs) = (stage.home.join("signals"), stage.home.join("logs"));
    look(&stage);
    let old = ["run-20261101T000000Z-1.log", "run-20261128T000000Z-2.log", "mine.txt"];
    for name in old {
        plant(&logs, name, 20, &stage);
    }
    plant(&logs.join("agents"), "fix.old.log", 20, &stage);
    plant(&logs.join("agents"), "fix.young.log", 2, &stage);
    plant(&signals, "20261101T000000Z-1.json.zst", 20, &stage);
    plant(&signals, "20261128T000000Z-2.json.zst", 20, &stage);

    // A quarter of an hour later nobody looks for it.
    stage.step(15);
    look(&stage);
    assert_eq!(names(&logs.join("agents")), ["fix.old.log", "fix.young.log"]);
    stage.step(24 * 60);
    look(&stage);
    assert_eq!(names(&logs.join("agents")), ["fix.young.log"]);
    let kept = names(&logs);
    assert!(!kept.contains(&old[0].to_owned()), "{kept:?}");
    assert!(
        kept.contains(&old[1].to_owned()) && kept.contains(&old[2].to_owned()),
        "{kept:?}"
    );
    assert_eq!(names(&signals), ["20261128T000000Z-2.json.zst", "latest.json"]);

    // A clock that jumps a year ahead removes nothing until it has stood for a day.
    plant(&logs.join("agents"), "fix.now.log", 0, &stage);
    stage.step(365 * 24 * 60);
    look(&stage);
    assert_eq!(names(&logs.join("agents")), ["fix.now.log", "fix.young.log"]);
    stage.step(24 * 60);
    look(&stage);
    assert!(names(&logs.join("agents")).is_empty());
    stage.world.finish().unwrap();
}
