//! One world and one home of the product, driven through a story by short processes that may die.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tick::{
    demo::{
        Act, Fault, Pace, Setup, Site, Which, World, WorldOptions,
        agent::demo_script,
        client,
        forge::{CiRun, JobRun},
        shop,
    },
    steps::effect::{EffectKind, Phase},
    store::{Store, Verified},
};

use super::{After, Story};
use crate::{spine::at, support::path_variable};

const STACK: &str = "Traceback (most recent call last):
  File \"shop/views.py\", line 20, in respond
  File \"shop/discount.py\", line 11, in average_discount
    return sum(percents) / len(percents)
ZeroDivisionError: division by zero
";

/// Processes that one story may take. Undisturbed ones need about ten.
const PROCESSES: u32 = 90;

pub(super) struct Rig {
    pub(super) world: World,
    pub(super) home: PathBuf,
    story: Story,
    reviews: usize,
    moved: bool,
}

/// Where a story ended. Commit ids, times and counts of the mail texts are left out: they tell of the time it took.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) branches: Vec<String>,
    pub(super) main: Vec<String>,
    pub(super) pulls: Vec<String>,
    pub(super) comments: Vec<String>,
    pub(super) mails: Vec<String>,
    pub(super) notes: usize,
    pub(super) outcomes: Vec<String>,
    pub(super) effects: Vec<String>,
    pub(super) agents: Vec<String>,
}

impl Rig {
    /// The bug serves and its first errors are reported; the product has looked once before that.
    pub(super) fn new(story: Story) -> Self {
        let by_ci = story == Story::ByCi;
        let shop = WorldOptions::shop(at("2026-11-29T03:00:00Z"));
        let world = World::start(WorldOptions {
            app: false,
            pace: if by_ci { Pace::Free } else { Pace::Assumed },
            ci: if by_ci {
                vec![shop::reporting_job()]
            } else {
                shop.ci.clone()
            },
            ..shop
        })
        .unwrap();
        if by_ci {
            shop::report_in_ci(&world).unwrap();
        }
        let mut script = demo_script(world.forge_url());
        // Only the honest fix.
        script.roles.get_mut("fix").unwrap().remove(0);
        let mut setup = Setup::new(PathBuf::from(env!("CARGO_BIN_EXE_tick")));
        setup.script = Some(script);
        match story {
            Story::TakenBack => {
                setup.config = json!({ "sensitivePaths": ["shop/discount.py"] });
                world.act(Act::RequireApprovals { count: 2 });
            }
            Story::Mended => setup.mode = "monitor-only",
            Story::ByCi => setup.config = json!({ "repos": { "shop": { "proof": "ci", "test": [] } } }),
            Story::Plain | Story::Flake => {}
        }
        let home = world.tick_home(&setup).unwrap();
        let rig = Self {
            world,
            home,
            story,
            reviews: 0,
            moved: false,
        };
        rig.clean(&rig.home.clone());
        if story == Story::Flake {
            rig.red_run();
            return rig;
        }
        rig.world.act(Act::ShipBug);
        rig.world.wait_deployed().unwrap();
        rig.step(15);
        rig.errors(20);
        rig
    }

    /// Of the commit that the default branch is at; it prints nothing that points at the code.
    fn red_run(&self) {
        self.step(15);
        let output = "npm error code ECONNRESET\nnpm error network read ECONNRESET\n";
        let run = CiRun {
            workflow: "Nightly".to_owned(),
            sha: self.world.main_head().unwrap(),
            attempts: vec![vec![JobRun::new("install", "npm ci", false, output)]],
        };
        self.world.ci_ran(&run).unwrap();
    }

    pub(super) fn step(&self, minutes: u64) {
        self.world.advance(Duration::from_mins(minutes));
    }

    /// That many customers meet the bug now, in the release that serves.
    pub(super) fn errors(&self, count: u32) {
        let release = self.world.main_head().unwrap();
        let event = json!({
            "type": "ZeroDivisionError", "message": "division by zero", "stack": STACK,
            "route": "/orders/4", "release": release,
        });
        for _ in 0..count {
            let headers = [("X-World", "a customer")];
            let body = event.to_string();
            client::request(
                self.world.tracker_url(),
                "POST",
                "/api/events",
                &headers,
                body.as_bytes(),
            )
            .unwrap();
        }
    }

    /// The answer to every write on the forge gets lost, after the write was performed.
    pub(super) fn lose_answers(&self) {
        let writes = [
            ("POST", "*/git-receive-pack"),
            ("POST", "/repos/*/pulls"),
            ("POST", "/repos/*/labels"),
            ("POST", "/repos/*/comments"),
            ("PATCH", "/repos/*"),
            ("PUT", "/repos/*/merge"),
            ("POST", "/graphql"),
            ("POST", "*/rerun-failed-jobs"),
        ];
        for (method, path) in writes {
            self.world
                .fault(Which::first(method, path).always().on(Site::Forge), Fault::LostAnswer);
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the product as a process that can be killed")]
    pub(super) fn spawn(&self, home: &Path, args: &[String]) -> Child {
        std::process::Command::new(env!("CARGO_BIN_EXE_tick"))
            .env_clear()
            .env("PATH", path_variable())
            .env("HOME", self.world.root())
            .arg("--home")
            .arg(home)
            .args(["--now", &self.world.now().to_rfc3339()])
            .args(args)
            .arg("--json")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// `n` processes at once.
    pub(super) fn run(&self, home: &Path, n: usize, args: &[String]) -> Vec<Output> {
        let children: Vec<Child> = (0..n).map(|_| self.spawn(home, args)).collect();
        let ended = children.into_iter().map(|child| child.wait_with_output().unwrap());
        ended.collect()
    }

    /// One process that ends well.
    pub(super) fn clean(&self, home: &Path) -> Output {
        let out = self.run(home, 1, &[]).remove(0);
        ended_well(&out);
        out
    }

    /// Until the incident is closed. Each of `kinds` ends one process in `phase`.
    pub(super) fn live_through(&mut self, kinds: &BTreeSet<EffectKind>, phase: Phase, after: After) {
        let mut died = false;
        for _ in 0..PROCESSES {
            let killed = self.killed();
            let args: Vec<String> = kinds
                .difference(&killed)
                .flat_map(|kind| {
                    [
                        "--crash-at".to_owned(),
                        format!("{}::{}", kind.prefix(), phase.as_str()),
                    ]
                })
                .collect();
            let n = if died && after == After::TwoAtOnce { 2 } else { 1 };
            let outputs = self.run(&self.home, n, &args);
            for out in &outputs {
                if out.status.signal() != Some(9) {
                    ended_well(out);
                }
            }
            died = outputs.iter().any(|out| out.status.signal() == Some(9));
            if died {
                continue;
            }
            if self.is_over() {
                assert_eq!(
                    self.killed(),
                    *kinds,
                    "a kind was never reached\n{}",
                    self.world.town().log.print()
                );
                return;
            }
            self.people_act();
            self.step(15);
        }
        panic!(
            "no end after {PROCESSES} processes; killed so far: {:?}\n{}\n{}",
            self.killed(),
            self.world.town().log.print(),
            crate::spine::shown(&self.run(&self.home, 1, &[]).remove(0)),
        );
    }

    /// Kinds over which a process has died, as the run logs say.
    fn killed(&self) -> BTreeSet<EffectKind> {
        let mut killed = BTreeSet::new();
        for entry in self.home.join("logs").read_dir().unwrap().flatten() {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            for line in text.lines().filter(|line| line.contains("ends itself here")) {
                let found = EffectKind::ALL
                    .into_iter()
                    .filter(|kind| line.contains(&format!("\"{}:", kind.prefix())));
                killed.extend(found);
            }
        }
        killed
    }

    fn is_over(&self) -> bool {
        let incidents = store_of(&self.home).recent_incidents(10).unwrap();
        !incidents.is_empty() && incidents.iter().all(|i| i.closed_at.is_some())
    }

    /// What people do while the product waits.
    fn people_act(&mut self) {
        if self.story == Story::ByCi {
            let heads = self.world.repo().heads().unwrap().into_iter();
            for (_, head) in heads.filter(|(name, _)| name == "main" || name.starts_with("fix/auto-")) {
                self.world.wait_for_ci(&head).unwrap();
            }
        }
        let mails = self.world.mail().all().unwrap().len();
        let (ours, comments, reverted) = {
            let model = self.world.forge();
            let ours = model.pulls.iter().find(|p| p.head.starts_with("fix/auto-")).cloned();
            let mut reverts = model.pulls.iter().filter(|p| p.head.ends_with("-revert"));
            (ours, model.comments.len(), reverts.any(|p| p.merged_at.is_some()))
        };
        let Some(ours) = ours else { return };
        match self.story {
            // The old error ends by itself.
            Story::TakenBack if reverted => self.world.wait_deployed().unwrap(),
            Story::TakenBack if ours.merged_at.is_some() => {
                self.world.act(Act::RequireApprovals { count: 0 });
                self.world.wait_deployed().unwrap();
                self.errors(150);
            }
            Story::TakenBack => {
                let asked = [mails > 0, comments > 0].iter().filter(|asked| **asked).count();
                if asked > self.reviews {
                    let login = ["ada", "bob"][self.reviews].to_owned();
                    self.reviews += 1;
                    self.world.act(Act::Review {
                        login,
                        state: "APPROVED".to_owned(),
                        body: String::new(),
                    });
                }
            }
            Story::Mended if mails > 0 && !self.moved => {
                self.moved = true;
                self.world.act(Act::MoveBase);
                self.world.wait_deployed().unwrap();
            }
            Story::Mended | Story::Flake => {}
            Story::Plain | Story::ByCi => self.world.wait_deployed().unwrap(),
        }
    }

    /// The end of the world, after it was looked at.
    pub(super) fn finish(self) -> State {
        let state = self.state();
        let _read = self.world.mail().take().unwrap();
        self.world.finish().unwrap();
        state
    }

    fn state(&self) -> State {
        let store = store_of(&self.home);
        let open = store.open_effects().unwrap();
        assert!(open.is_empty(), "effects nobody settled: {open:?}");
        assert!(matches!(store.verify_audit().unwrap(), Verified::Intact { .. }));
        let incidents = store.recent_incidents(10).unwrap();
        let mut effects = Vec::new();
        for incident in &incidents {
            let rows = store.effects(&incident.id).unwrap();
            effects.extend(
                rows.values()
                    .map(|row| format!("{} {:?}", plain(&row.key), row.outcome)),
            );
        }
        effects.sort();
        let notes = self.home.join("state/incidents").read_dir();
        let model = self.world.forge();
        State {
            branches: self.branches(),
            main: self
                .world
                .repo()
                .git(&["log", "--format=%s %T", "main"], b"")
                .unwrap()
                .lines()
                .map(plain)
                .collect(),
            pulls: model.pulls.iter().map(pull).collect(),
            comments: model
                .comments
                .iter()
                .map(|c| format!("#{} {}", c.number, plain(&c.body)))
                .collect(),
            mails: self.mails(),
            notes: notes.map_or(0, Iterator::count),
            outcomes: incidents.iter().map(|i| format!("{} {:?}", i.id, i.outcome)).collect(),
            effects,
            agents: self
                .world
                .town()
                .records
                .all()
                .iter()
                .map(|call| call["role"].to_string())
                .collect(),
        }
    }

    fn branches(&self) -> Vec<String> {
        let repo = self.world.repo();
        let heads: BTreeMap<String, String> = repo.heads().unwrap();
        heads
            .into_iter()
            .map(|(name, sha)| format!("{name} {}", repo.facts(&sha).unwrap().unwrap().1.tree))
            .collect()
    }

    fn mails(&self) -> Vec<String> {
        let mut mails: Vec<String> = self
            .world
            .mail()
            .all()
            .unwrap()
            .iter()
            .map(|mail| format!("{} {}", mail.message_id, mail.subject))
            .collect();
        mails.sort();
        mails
    }
}

fn pull(pull: &tick::demo::forge::Pull) -> String {
    format!(
        "#{} {} {:?} draft {} open {} merged {} by {:?} labels {:?} reviews {}\n{}",
        pull.number,
        pull.head,
        plain(&pull.title),
        pull.draft,
        pull.open,
        pull.merged_at.is_some(),
        pull.closed_by,
        pull.labels,
        pull.reviews.len(),
        plain(&pull.body),
    )
}

/// The ledger of a home.
pub(super) fn store_of(home: &Path) -> Store {
    Store::open(&home.join("state")).unwrap()
}

/// Exit 1 says that something became a person's, which is part of these stories.
pub(super) fn ended_well(out: &Output) {
    let code = out.status.code();
    assert!(matches!(code, Some(0 | 1)), "{}", crate::spine::shown(out));
    let report: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
    assert!(report.is_object(), "{}", crate::spine::shown(out));
}

/// Commit ids become `H`, numbers `N`.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() {
            word.push(c);
            continue;
        }
        let hex = word.len() >= 7 && word.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let number = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        out.push_str(match (hex, number) {
            (true, _) => "H",
            (false, true) => "N",
            (false, false) => &word,
        });
        word.clear();
        out.push(c);
    }
    out
}
