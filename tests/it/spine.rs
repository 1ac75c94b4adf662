//! The whole loop on the small world: a bug in production, to a squash merge and a healthy service again.

use std::{path::PathBuf, process::Output, time::Duration};

use tick::{
    config::{env::Environment, load::toolchain_env},
    demo::{Pace, Setup, World, WorldOptions},
};

/// A world with a home of the product in it.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) home: PathBuf,
}

pub(crate) fn at(text: &str) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::parse_from_rfc3339(text).unwrap().to_utc()
}

impl Stage {
    pub(crate) fn shop(change: impl FnOnce(&mut Setup)) -> Self {
        let world = World::start(WorldOptions::shop(at("2026-11-29T03:00:00Z"))).unwrap();
        let mut setup = Setup::new(PathBuf::from(env!("CARGO_BIN_EXE_tick")));
        change(&mut setup);
        let home = world.tick_home(&setup).unwrap();
        Self { world, home }
    }

    /// A home that only looks, at the world's platforms; nothing of the shop runs. Five minutes in.
    pub(crate) fn platform(secret: (&str, &str), config: impl FnOnce(&World) -> serde_json::Value) -> Self {
        let options = WorldOptions {
            pace: Pace::Assumed,
            app: false,
            ..WorldOptions::shop(at("2026-11-29T03:00:00Z"))
        };
        let world = World::start(options).unwrap();
        let setup = Setup {
            mode: "observe",
            config: config(&world),
            env: vec![(secret.0.to_owned(), secret.1.to_owned())],
            ..Setup::new(PathBuf::from(env!("CARGO_BIN_EXE_tick")))
        };
        let home = world.tick_home(&setup).unwrap();
        let stage = Self { world, home };
        stage.step(5);
        stage
    }

    /// Exit code, the JSON on standard output where it is JSON, and everything that was printed.
    pub(crate) fn json(&self, args: &[&str]) -> (Option<i32>, serde_json::Value, String) {
        let output = self.tick(args);
        let said = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code(), said, shown(&output))
    }

    /// Runs the product at the world's time.
    pub(crate) fn tick(&self, args: &[&str]) -> Output {
        self.tick_with(args, &[])
    }

    /// The same with more in its environment.
    pub(crate) fn tick_with(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        let now = self.world.now().to_rfc3339();
        assert_cmd::Command::cargo_bin("tick")
            .unwrap()
            .env_clear()
            .env("PATH", tick::adapters::process::own_path())
            .env("HOME", self.world.root())
            .envs(toolchain_env(&Environment::of_process()))
            .envs(env.iter().copied())
            .arg("--home")
            .arg(&self.home)
            .args(["--now", &now])
            .args(args)
            .output()
            .unwrap()
    }

    /// First column of each row, as the ledger holds it now.
    pub(crate) fn ask(&self, sql: &str, of: &str) -> Vec<String> {
        let db = rusqlite::Connection::open(self.home.join("state/tick.db")).unwrap();
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([of], |row| row.get::<_, String>(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    pub(crate) fn step(&self, minutes: u64) {
        self.world.advance(Duration::from_mins(minutes));
    }
}

pub(crate) fn shown(output: &Output) -> String {
    format!(
        "exit {:?}\n{}{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn a_bug_in_production_becomes_a_merged_fix_and_one_mail() {
    let stage = Stage::shop(|_| {});
    let world = &stage.world;
    world.traffic(24).unwrap();
    for _ in 0..2 {
        let out = stage.tick(&["--json"]);
        assert_eq!(out.status.code(), Some(0), "{}", shown(&out));
        stage.step(15);
        world.traffic(24).unwrap();
    }
    world.ship_bug().unwrap();
    world.traffic_over(120, Duration::from_mins(10)).unwrap();
    for tick in 0..8 {
        let out = stage.tick(&["--json"]);
        eprintln!("=== tick {tick} at {}\n{}", world.now(), shown(&out));
        assert_eq!(out.status.code(), Some(0));
        if world.mail().dir().read_dir().unwrap().next().is_some() {
            break;
        }
        // A statement of its own: the world cannot answer while its model is locked here.
        let head = world.forge().pulls.last().map(|p| p.head_sha.clone());
        if let Some(head) = head {
            world.wait_for_ci(&head).unwrap();
        }
        world.wait_deployed().unwrap();
        stage.step(15);
        world.traffic_over(120, Duration::from_mins(5)).unwrap();
    }
    let mails = world.mail().take().unwrap();
    assert_eq!(mails.len(), 1, "{mails:?}");
    // Every tick that woke decides the same when it is judged again, turn by turn.
    let mut turns = 0;
    for file in std::fs::read_dir(stage.home.join("signals")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some(id) = name.strip_suffix(".json.zst") else {
            continue;
        };
        let out = stage.tick(&["replay", id, "--json"]);
        let text = shown(&out);
        let replay: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{text}"));
        for part in ["signatures", "causes", "turns"] {
            assert_eq!(replay[part]["differ"], serde_json::json!([]), "{text}");
            assert_eq!(replay[part]["unreadable"], 0, "{text}");
        }
        assert_eq!(
            (&replay["gate"], &replay["genuine"]),
            (&serde_json::json!(null), &serde_json::json!(true)),
            "{text}"
        );
        turns += replay["turns"]["same"].as_u64().unwrap();
    }
    assert!(turns > 5, "{turns} turns");
    stage.world.finish().unwrap();
}
