//! A small world whose incident stands right before its merge, and that can be put back there again and again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tick::demo::{
    Act, CiJob, Pace, Setup, Which, World, WorldOptions,
    agent::{Script, Step, demo_script},
    client,
    forge::{Model, Pull},
};

use crate::spine::{Stage, at, shown};

/// What a story wants of its world.
pub(crate) struct Wants {
    pub(crate) mode: &'static str,
    pub(crate) config: Value,
    pub(crate) script: fn(&mut Script),
    /// What the fixer does before it comes to the honest fix.
    pub(crate) fixes: Vec<Step>,
    pub(crate) world: fn(&World),
    /// CI runs this for real, instead of being green at once.
    pub(crate) ci: Option<CiJob>,
}

impl Default for Wants {
    fn default() -> Self {
        Self {
            mode: "active",
            config: Value::Null,
            script: |_| {},
            fixes: Vec::new(),
            world: |_| {},
            ci: None,
        }
    }
}

/// One run of the program.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) report: Value,
    /// What it asked of the forge, in order: `METHOD path`.
    pub(crate) requests: Vec<String>,
    pub(crate) text: String,
}

impl Run {
    /// The last merge call: one that was refused may stand before it.
    pub(crate) fn merge_at(&self) -> Option<usize> {
        self.requests
            .iter()
            .rposition(|r| r.starts_with("PUT ") && r.ends_with("/merge"))
    }

    pub(crate) fn waits(&self) -> String {
        let waiting = self.report["waiting"].as_array().into_iter().flatten();
        waiting.filter_map(|w| w["why"].as_str()).collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn waits_for(&self, word: &str) {
        assert!(self.waits().contains(word), "does not wait for {word:?}\n{}", self.text);
    }
}

pub(crate) struct Prepared {
    pub(crate) stage: Stage,
    saved: Option<Saved>,
}

struct Saved {
    model: Model,
    heads: BTreeMap<String, String>,
    home: PathBuf,
}

impl Prepared {
    /// A bug that serves and is felt.
    pub(crate) fn start(wants: &Wants) -> Self {
        let prepared = Self::calm(wants);
        prepared.world().ship_bug().unwrap();
        prepared.events(60, 10);
        prepared
    }

    /// A world without a running app and with CI that is green at once; the recorded fix is the honest one.
    pub(crate) fn calm(wants: &Wants) -> Self {
        let shop = WorldOptions::shop(at("2026-11-29T03:00:00Z"));
        let world = World::start(WorldOptions {
            pace: if wants.ci.is_some() { Pace::Free } else { Pace::Assumed },
            ci: wants.ci.clone().map_or_else(|| shop.ci.clone(), |job| vec![job]),
            app: false,
            ..shop
        })
        .unwrap();
        (wants.world)(&world);
        let mut script = demo_script(world.forge_url());
        let fixes = script.roles.get_mut("fix").unwrap();
        fixes.splice(..1, wants.fixes.iter().cloned());
        (wants.script)(&mut script);
        let setup = Setup {
            mode: wants.mode,
            script: Some(script),
            config: wants.config.clone(),
            ..Setup::new(PathBuf::from(env!("CARGO_BIN_EXE_tick")))
        };
        let home = world.tick_home(&setup).unwrap();
        let prepared = Self {
            stage: Stage { world, home },
            saved: None,
        };
        let first = prepared.tick();
        assert_eq!(first.code, Some(0), "{}", first.text);
        prepared.stage.step(15);
        prepared
    }

    /// Runs it up to a pull request that lacks nothing but one status, then lets that status say yes.
    pub(crate) fn before_merge(wants: &Wants) -> Self {
        let mut prepared = Self::start(wants);
        let hold = |state: &str| Act::Status {
            context: "hold".to_owned(),
            state: state.to_owned(),
        };
        prepared.world().after(Which::first("POST", "*/pulls"), hold("pending"));
        let run = prepared.tick();
        assert_eq!(run.code, Some(0), "{}", run.text);
        run.waits_for("hold");
        prepared.stage.step(15);
        prepared.world().act(hold("success"));
        prepared.save();
        prepared
    }

    pub(crate) fn world(&self) -> &World {
        &self.stage.world
    }

    /// Errors of production, spread over some minutes that pass.
    pub(crate) fn events(&self, count: u32, minutes: u64) {
        let world = self.world();
        let release = world.town().deployer.live();
        let stack = "Traceback (most recent call last):\n  File \"/srv/app/shop/views.py\", line 22, in respond\n    \
                     return page(*order_page(path))\n  File \"/srv/app/shop/discount.py\", line 11, in average_discount\n    \
                     return sum(percents) / len(percents)\nZeroDivisionError: division by zero";
        let event = json!({
            "type": "ZeroDivisionError", "message": "division by zero", "stack": stack, "route": "/orders/{id}",
            "release": release,
        });
        for _ in 0..count {
            world.advance(std::time::Duration::from_mins(minutes) / count);
            let answer = client::request(
                world.tracker_url(),
                "POST",
                "/api/events",
                &[],
                event.to_string().as_bytes(),
            );
            assert_eq!(answer.unwrap().status, 202);
        }
    }

    pub(crate) fn tick(&self) -> Run {
        self.run(&["--json"])
    }

    /// The second half alone: no source is read.
    pub(crate) fn repair(&self) -> Run {
        self.run(&["repair", "--json"])
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        let before = self.world().town().requests().len();
        let output = self.stage.tick(args);
        Run {
            code: output.status.code(),
            report: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            requests: self.world().town().requests().split_off(before),
            text: shown(&output),
        }
    }

    pub(crate) fn pull(&self) -> Pull {
        let model = self.world().forge();
        let bot = model.settings.bot.clone();
        let ours = model.pulls.iter().rev().find(|p| p.author == bot);
        ours.expect("a pull request of ours").clone()
    }

    pub(crate) fn pulls_of_ours(&self) -> usize {
        let model = self.world().forge();
        model.pulls.iter().filter(|p| p.author == model.settings.bot).count()
    }

    /// The commit that our merge call made, if it did.
    pub(crate) fn merged_by_us(&self) -> Option<String> {
        let pull = self.pull();
        let bot = self.world().forge().settings.bot.clone();
        pull.merge_sha.filter(|_| pull.closed_by == Some(bot))
    }

    pub(crate) fn subjects(&self) -> Vec<String> {
        let mails = self.world().mail().take().unwrap();
        mails.into_iter().map(|mail| mail.subject).collect()
    }

    /// First column of each row, as the ledger holds it now.
    pub(crate) fn ask(&self, sql: &str, of: &str) -> Vec<String> {
        self.stage.ask(sql, of)
    }

    /// Guards, proof and audit all say yes about this very head.
    pub(crate) fn assert_evidence(&self, head: &str, context: &str) {
        let found = self.ask("SELECT kind || '=' || verdict FROM evidence WHERE head = ?1", head);
        let has = |what: &str| found.iter().any(|f| f == what);
        let audited = has("audit=approve") || has("audit=carried: same patch-id");
        assert!(
            has("guards=accept") && has("proof=proven") && audited,
            "merged {head} with {found:?}\n{context}"
        );
    }

    /// What `restore` comes back to.
    pub(crate) fn save(&mut self) {
        let home = self.world().root().join("saved-home");
        copy(&self.stage.home, &home);
        let model = self.world().forge().clone();
        self.saved = Some(Saved {
            model,
            heads: self.world().repo().heads().unwrap(),
            home,
        });
    }

    /// Back to the moment before the merge, on the forge and in the product's home.
    pub(crate) fn restore(&self) {
        let saved = self.saved.as_ref().expect("it was prepared");
        let world = self.world();
        world.town().calm();
        let mut model = world.forge();
        for name in world.repo().heads().unwrap().into_keys() {
            if !saved.heads.contains_key(&name) {
                let name = format!("refs/heads/{name}");
                world.repo().git(&["update-ref", "-d", &name], b"").unwrap();
            }
        }
        for (name, sha) in &saved.heads {
            let name = format!("refs/heads/{name}");
            world.repo().git(&["update-ref", &name, sha], b"").unwrap();
        }
        model.clone_from(&saved.model);
        drop(model);
        std::fs::remove_dir_all(&self.stage.home).unwrap();
        copy(&saved.home, &self.stage.home);
        drop(world.mail().take().unwrap());
    }

    /// Takes the mail that the story did not ask about, and checks the world for what was left.
    pub(crate) fn finish(self) {
        drop(self.subjects());
        self.stage.world.finish().unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    let done = assert_cmd::Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", shown(&done));
}
