//! Bugs as they happen, each in a small repository of its own under `tests/repairs`: through the built program the honest
//! patch is merged on its evidence, the cheat is not, and what becomes of a plausible wrong patch is on record. No model
//! is asked; the recorded auditor says yes to everything, so that the evidence alone decides.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tick::demo::{
    Act, OwnRepo, Pace, Setup, World, WorldOptions,
    agent::{Script, Step, demo_script},
};

use crate::{
    spine::{Stage, at, shown},
    support::{lacks, program, read, root},
};

/// What became of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Nobody outside has heard of it.
    Refused,
    /// A draft that says that it needs a person.
    Person,
    Merged,
}

impl Outcome {
    fn named(word: &str) -> Self {
        match word {
            "refused" => Self::Refused,
            "person" => Self::Person,
            "merged" => Self::Merged,
            _ => panic!("{word:?} is no outcome: refused, person or merged"),
        }
    }
}

/// One file of `tests/repairs`: `name: value` lines, then the files of each tree after `=== tree/path`.
struct Case {
    name: String,
    fields: BTreeMap<String, String>,
    trees: BTreeMap<String, BTreeMap<String, String>>,
}

impl Case {
    fn read(name: &str) -> Self {
        let text = read(&format!("tests/repairs/{name}.txt"));
        let mut parts = text.split("\n=== ");
        let fields = parts.next().unwrap_or_default().lines();
        let fields = fields.filter_map(|line| line.split_once(": "));
        let mut trees: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for part in parts {
            let (head, body) = part.split_once('\n').unwrap_or((part, ""));
            let (tree, path) = head.split_once('/').unwrap_or_else(|| panic!("{name}: {head:?}"));
            let body = body.trim_end_matches('\n').to_owned() + "\n";
            trees.entry(tree.to_owned()).or_default().insert(path.to_owned(), body);
        }
        let fields: BTreeMap<_, _> = fields.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        if let Some(path) = fields.get("shared") {
            let name = path.rsplit('/').next().unwrap_or_default();
            let text = read(&format!("tests/repairs/shared/{name}"));
            trees.get_mut("base").unwrap().insert(path.clone(), text);
        }
        Self {
            name: name.to_owned(),
            fields,
            trees,
        }
    }

    fn field(&self, name: &str) -> &str {
        self.fields
            .get(name)
            .unwrap_or_else(|| panic!("{}: no field {name}", self.name))
    }

    fn signal(&self) -> Value {
        let error = self.field("error");
        let stack = self.fields.get("stack").map(|s| s.replace("\\n", "\n"));
        json!({ "title": error, "message": error, "stack": stack.unwrap_or_else(|| error.to_owned()) })
    }

    /// A repository of its own, with one commit.
    #[expect(clippy::disallowed_methods, reason = "a test makes a repository as a person does")]
    fn repository(&self, room: &Path) -> PathBuf {
        let repo = room.join(&self.name);
        for (path, text) in &self.trees["base"] {
            let file = repo.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=ada", "-c", "user.email=ada@shop.example"]);
            let done = command.arg("-C").arg(&repo).args(args).output().unwrap();
            assert!(done.status.success(), "{args:?}: {done:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "the service as it runs"]);
        repo
    }

    /// The patch as a fixer brings it.
    fn step(&self, tree: &str) -> Step {
        let (deleted, written) = self.trees[tree]
            .iter()
            .map(|(path, text)| (path.clone(), text.clone()))
            .partition::<Vec<_>, _>(|(path, _)| path.ends_with(" (deleted)"));
        let deleted = deleted.into_iter().map(|(path, _)| path.replace(" (deleted)", ""));
        Step {
            write: written.into_iter().collect(),
            delete: deleted.collect(),
            reply: json!({ "status": "fixed", "root_cause": self.field("bug"), "summary": self.field("bug"), "tests": [] }),
            ..Step::default()
        }
    }

    fn script(&self, world: &World, trees: &[&str]) -> Script {
        let mut script = demo_script(world.forge_url());
        script
            .roles
            .insert("fix".to_owned(), trees.iter().map(|tree| self.step(tree)).collect());
        script
    }

    /// The world a few ticks later, in which these patches were all that the fixer had, one an attempt; what became of
    /// the cause, which of them was merged, and what was said.
    fn outcome(&self, trees: &[&str]) -> (Outcome, Option<String>, String) {
        let room = tempfile::tempdir().unwrap();
        let own = OwnRepo {
            path: self.repository(room.path()),
            test: shell_words::split(self.field("test")).unwrap(),
            signal: None,
        };
        let options = WorldOptions::own(at("2026-11-29T03:00:00Z"), own);
        let slot = options.slot();
        let world = World::start(WorldOptions {
            pace: Pace::Assumed,
            ..options
        })
        .unwrap();
        let mut signal = self.signal();
        signal["repo"] = json!(slot);
        signal["signature"] = json!(tick::text::signature(signal["stack"].as_str().unwrap()).signature);
        world.plant(&signal).unwrap();
        let report = self
            .fields
            .get("junit")
            .map_or(json!({}), |glob| json!({ "report": { "junit": glob } }));
        let setup = Setup {
            script: Some(self.script(&world, trees)),
            config: json!({ "repos": { slot: report } }),
            ..Setup::new(PathBuf::from(env!("CARGO_BIN_EXE_tick")))
        };
        let home = world.tick_home(&setup).unwrap();
        let stage = Stage { world, home };
        let text = run(&stage);
        let outcome = outcome_in(&stage);
        let merged = (outcome == Outcome::Merged).then(|| self.merged_in(&stage, trees));
        drop(stage.world.mail().take().unwrap());
        stage.world.finish().unwrap();
        (outcome, merged, text)
    }

    /// Whose files stand on the default branch.
    fn merged_in(&self, stage: &Stage, trees: &[&str]) -> String {
        let repo = stage.world.repo();
        let stands = |(path, text): (&String, &String)| {
            let found = repo.git(&["show", &format!("main:{path}")], b"");
            found.is_ok_and(|found| String::from_utf8_lossy(found.as_ref()) == *text)
        };
        let whole = |tree: &&&str| self.trees[**tree].iter().all(stands);
        let found = trees.iter().find(whole).map(|tree| (*tree).to_owned());
        found.unwrap_or_else(|| panic!("{}: what was merged is none of the patches", self.name))
    }
}

/// Ticks until the patch has had every chance, and what they and the ledger say.
fn run(stage: &Stage) -> String {
    let mut said = String::new();
    let mut tick = |args: &[&str]| {
        let output = stage.tick(args);
        said += &shown(&output);
        // 1: a person moves next.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    };
    tick(&["--json"]);
    stage.step(15);
    stage.world.act(Act::ShowSignal);
    stage.step(10);
    for _ in 0..4 {
        tick(&["--json"]);
        let head = stage.world.forge().pulls.last().map(|p| p.head_sha.clone());
        if let Some(head) = head {
            stage.world.wait_for_ci(&head).unwrap();
        }
        stage.step(15);
        if outcome_in(stage) == Outcome::Merged {
            break;
        }
    }
    for id in stage.ask("SELECT id FROM incident WHERE repo <> ?1", "") {
        tick(&["show", &id]);
    }
    let evidence =
        "SELECT kind || ' ' || verdict || ' ' || substr(CAST(detail AS TEXT), 1, 2000) FROM evidence WHERE kind <> ?1";
    said + &stage.ask(evidence, "").join("\n")
}

fn outcome_in(stage: &Stage) -> Outcome {
    let model = stage.world.forge();
    let ours: Vec<_> = model.pulls.iter().filter(|p| p.author == model.settings.bot).collect();
    match ours.as_slice() {
        [] => Outcome::Refused,
        [pull] if pull.merge_sha.is_some() => Outcome::Merged,
        [pull] => {
            assert!(pull.draft && pull.body.contains("**Needs you: "), "{}", pull.body);
            Outcome::Person
        }
        more => panic!("{} pull requests for one cause", more.len()),
    }
}

fn repaired(name: &str) {
    let case = Case::read(name);
    let needs = case.field("needs");
    if program(needs).is_none() {
        return lacks(needs);
    }
    let (outcome, merged, text) = case.outcome(&["wrong"]);
    assert_eq!(
        outcome,
        Outcome::named(case.field("wrong")),
        "{name}: the wrong patch {merged:?}\n{text}"
    );
    for (more, word) in case.fields.iter().filter(|(field, _)| field.starts_with("cheat-")) {
        let (outcome, merged, text) = case.outcome(&[more]);
        assert_eq!(
            (outcome, merged),
            (Outcome::named(word), None),
            "{name}: {more}\n{text}"
        );
    }
    let cheat = Outcome::named(case.field("cheat"));
    // A refused cheat leaves the second attempt to the honest patch.
    if cheat != Outcome::Refused {
        let (outcome, merged, text) = case.outcome(&["cheat"]);
        assert_eq!((outcome, merged), (Outcome::Person, None), "{name}: the cheat\n{text}");
    }
    let refused: &[_] = if cheat == Outcome::Refused { &["cheat"] } else { &[] };
    let (_, merged, text) = case.outcome(&[refused, &["honest"]].concat());
    assert_eq!(merged.as_deref(), Some("honest"), "{name}\n{text}");
}

macro_rules! repairs {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            repaired(stringify!($name));
        })+

        /// Every file is a test, and every test has its file.
        #[test]
        fn every_case_is_run() {
            let mut files: Vec<_> = std::fs::read_dir(root().join("tests/repairs"))
                .unwrap()
                .filter_map(|file| Some(file.ok()?.file_name().to_str()?.strip_suffix(".txt")?.to_owned()))
                .collect();
            files.sort();
            assert_eq!(files, [$(stringify!($name)),+]);
            let merged = files.iter().filter(|name| Case::read(name).field("wrong") == "merged").count();
            let all = files.len();
            let figures = format!(
                "the honest patch is merged in {all} of {all}, the cheat in 0 of {all}, and a wrong patch that mends what was \
                 reported and breaks something else in {merged} of {all}: the other {} fall to tests of the base.",
                all - merged
            );
            let readme = read("README.md").split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(readme.contains(&figures), "README does not say: {figures}");
        }
    };
}

repairs! {
    go_no_items
    go_shared_page
    javascript_big_numbers
    javascript_cache_key
    javascript_end_of_month
    javascript_lexical_order
    javascript_missing_price
    javascript_next_page
    javascript_not_awaited
    javascript_percent_sign
    javascript_second_coupon
    python_broken_types
    python_decimal_comma
    python_last_page
    python_last_retry
    python_latin_names
    python_mixed_time_zones
    python_no_email
    python_plus_in_address
    python_quote_in_sql
    python_unbalanced_cents
    python_unsubscribe_while_told
    ruby_frozen_name
    ruby_no_priority
    ruby_no_profile
    ruby_nobody_saw_it
    ruby_older_windows
    rust_cut_letter
    rust_empty_shelf
    rust_last_batch
    rust_nothing_measured
    rust_sent_meanwhile
    rust_unit_of_interval
}
