//! The whole loop once, as child processes of the real binary on the small world: healthy, broken, a weak fix refused,
//! an honest one proven, audited, merged and watched until the cause is gone.

use std::{path::PathBuf, process::Output, time::Duration};

use chrono::DateTime;
use tick::demo::{Setup, World, WorldOptions, clock::millis};

struct Story {
    world: World,
    home: PathBuf,
}

impl Story {
    fn begin() -> Self {
        let now = DateTime::parse_from_rfc3339("2026-11-29T03:00:00Z").unwrap().to_utc();
        let world = World::start(WorldOptions::shop(now)).unwrap();
        let home = world.tick_home(&Setup::new(env!("CARGO_BIN_EXE_tick").into())).unwrap();
        Self { world, home }
    }

    /// One tick at the world's present time; exit 0 is demanded.
    fn tick(&self) -> Output {
        let children = &self.world.town().children;
        let mut command = children.command(env!("CARGO_BIN_EXE_tick"), self.world.root());
        command.arg("--home").arg(&self.home);
        command.arg("--now").arg(millis(self.world.now()));
        let output = children.output(command, b"").unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}\n{}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
            self.world.town().log.print()
        );
        output
    }

    fn model_calls(&self) -> usize {
        self.world.town().records.all().len()
    }
}

#[test]
fn a_bug_in_production_ends_as_a_merged_fix_and_one_mail() {
    let story = Story::begin();
    let world = &story.world;
    for _ in 0..2 {
        world.traffic_over(48, Duration::from_mins(15)).unwrap();
        assert!(
            story.tick().stdout.is_empty(),
            "a healthy tick without a terminal writes no byte"
        );
    }
    assert_eq!(story.model_calls(), 0);

    world.ship_bug().unwrap();
    let buggy = world.main_head().unwrap();
    world.traffic_over(60, Duration::from_mins(15)).unwrap();
    story.tick();
    let roles: Vec<String> = world
        .town()
        .records
        .all()
        .iter()
        .map(|r| r["role"].to_string())
        .collect();
    assert_eq!(roles, ["\"triage\"", "\"fix\"", "\"fix\"", "\"audit\""]);
    assert_eq!(world.main_head().unwrap(), buggy, "CI has not spoken yet");
    let (branch, head) = {
        let forge = world.forge();
        let pull = forge.newest_open().unwrap();
        assert!(pull.body.contains("fixer-touched-tests"), "{}", pull.body);
        assert!(pull.body.contains("test_order_without_items"), "{}", pull.body);
        (pull.head.clone(), pull.head_sha.clone())
    };
    assert!(branch.starts_with("fix/auto-"));

    world.wait_for_ci(&head).unwrap();
    world.traffic_over(60, Duration::from_mins(15)).unwrap();
    story.tick();
    let fixed = world.main_head().unwrap();
    let tree = |sha: &str| world.repo().facts(sha).unwrap().unwrap().1;
    assert_eq!(tree(&fixed).parents, [buggy]);
    assert_eq!(
        tree(&fixed).tree,
        tree(&head).tree,
        "the landed tree is the tested tree"
    );
    world.wait_deployed().unwrap();
    assert!(world.mail().all().unwrap().is_empty(), "merged is not resolved");

    for _ in 0..6 {
        world.traffic_over(240, Duration::from_mins(15)).unwrap();
        story.tick();
    }
    let mail = world.mail().take().unwrap();
    let subjects: Vec<&str> = mail.iter().map(|m| m.subject.as_str()).collect();
    assert_eq!(subjects.len(), 1, "{subjects:?}");
    assert!(subjects[0].contains("fixed: ZeroDivisionError"), "{subjects:?}");
    assert_eq!(story.model_calls(), 4);
    story.world.finish().unwrap();
}
