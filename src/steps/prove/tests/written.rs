//! Proofs that are written as files, `tests/proofs/RUNNER.txt`: one base, honest fixes and tricks, each through a whole
//! proof with the real runner. What is honest is proven with the right grade ([`honest`]), and no trick is.

use std::collections::BTreeMap;

use super::*;
use crate::adapters::suite::testing::installed;

mod honest;

type Tree = BTreeMap<String, String>;

/// One file: `word name: value` lines, then the files of each tree after `=== tree/path`.
struct Written {
    fields: Vec<(String, String)>,
    trees: BTreeMap<String, Tree>,
}

impl Written {
    fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/proofs/{name}.txt"));
        let text = fs::read_to_string(&path).unwrap();
        let mut parts = text.split("\n=== ");
        let fields = parts.next().unwrap_or_default().lines();
        let fields = fields.map(|line| line.split_once(": ").unwrap_or_else(|| panic!("{name}: {line}")));
        let fields = fields
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut trees: BTreeMap<String, Tree> = BTreeMap::new();
        for part in parts {
            let (head, body) = part.split_once('\n').unwrap_or((part, ""));
            let (tree, path) = head.split_once('/').unwrap_or_else(|| panic!("{name}: {head}"));
            let body = body.trim_end_matches('\n').to_owned() + "\n";
            trees.entry(tree.to_owned()).or_default().insert(path.to_owned(), body);
        }
        let written = Self { fields, trees };
        written.with_shared()
    }

    /// With the file of the base that others have, too.
    fn with_shared(mut self) -> Self {
        if let Some(path) = self.named("shared").map(str::to_owned) {
            let file = path.rsplit('/').next().unwrap();
            let file = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/repairs/shared")
                .join(file);
            let base = self.trees.get_mut("base").unwrap();
            base.insert(path, fs::read_to_string(file).unwrap());
        }
        self
    }

    fn named(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    fn starting(&self, word: &str) -> Vec<(&str, &str)> {
        let fields = self.fields.iter();
        fields
            .filter_map(|(name, value)| Some((name.strip_prefix(word)?, value.as_str())))
            .collect()
    }
}

fn is_test(path: &str) -> bool {
    path.contains("test")
}

/// The files of a tree of one kind; where it has none, those of the other.
fn part<'a>(tree: &'a Tree, other: &'a Tree, of: fn(&str) -> bool) -> Vec<(&'a str, &'a str)> {
    let files = |tree: &'a Tree| -> Vec<(&'a str, &'a str)> {
        let files = tree.iter().filter(|(path, _)| of(path));
        files.map(|(path, text)| (path.as_str(), text.as_str())).collect()
    };
    let own = files(tree);
    if own.is_empty() { files(other) } else { own }
}

fn files(tree: &Tree) -> Vec<(&str, &str)> {
    let files = tree.iter();
    files.map(|(path, text)| (path.as_str(), text.as_str())).collect()
}

/// A runner with what it needs to be started.
struct Started {
    command: String,
    env: Vec<(String, String)>,
    modules: Option<PathBuf>,
    junit: Option<String>,
    base: Option<Suite>,
    base_files: Tree,
}

impl Started {
    /// None where the runner is not installed.
    fn of(runner: &str, command: &str, room: &Path) -> Option<Self> {
        let (part, of_node) = match runner {
            "pytest" | "go" | "ruby" | "cargo" => (runner.to_owned(), false),
            other => (format!("node_modules/{other}"), true),
        };
        // Whoever runs this has cargo.
        let deps = installed(if part == "cargo" { "" } else { &part })?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let env = match runner {
            "pytest" => vec![("PYTHONPATH".to_owned(), text(&deps))],
            "go" => vec![("GOCACHE".to_owned(), text(&room.join("go-build")))],
            _ => Vec::new(),
        };
        Some(Self {
            command: command.to_owned(),
            env,
            modules: of_node.then(|| deps.join("node_modules")),
            junit: None,
            base: None,
            base_files: Tree::new(),
        })
    }

    async fn prove(&mut self, tests: Files<'_>, fix: Files<'_>, error: &str) -> Proven {
        let base = files(&self.base_files);
        let case = Case {
            command: &self.command,
            base: &base,
            tests,
            fix,
            exception: error.split_once(": ").unwrap_or((error, "")),
        };
        let Bench {
            dir,
            trees,
            mut request,
        } = case.lay();
        self.link_modules(&trees);
        self.equip(&mut request);
        request.base.clone_from(&self.base);
        let proven = prove(&plain, &kept, &trees, request).await.unwrap();
        assert!(!dir.path().join("work").exists(), "every tree is back");
        self.base.clone_from(&proven.runs.base);
        proven
    }

    fn link_modules(&self, trees: &ProofTrees) {
        if let Some(modules) = &self.modules {
            for tree in trees.all() {
                std::os::unix::fs::symlink(modules, tree.join("node_modules")).unwrap();
            }
        }
    }

    fn equip(&self, request: &mut ProveRequest) {
        request.options.toolchain_env.clone_from(&self.env);
        request.options.junit.clone_from(&self.junit);
    }
}

/// What is wrong with a grade, if anything. Where runners refuse in different words, `refused` is any of them.
fn differs(proven: &Proven, expected: &str) -> Option<String> {
    let grade = said(&proven.proof.grade);
    let right = if expected == "refused" {
        proven.proof.grade != ProofGrade::Proven
    } else {
        is_as(&grade, expected)
    };
    (!right).then(|| format!("{grade}; expected {expected}"))
}

async fn as_written(name: &str, runner: &str) {
    let written = Written::read(name);
    let error = written.starting("error")[0].1;
    let room = tempfile::tempdir().unwrap();
    let commands = written.starting("runner ");
    let (_, command) = commands.iter().find(|(name, _)| *name == runner).unwrap();
    let Some(mut started) = Started::of(runner, command, room.path()) else {
        return;
    };
    started.base_files.clone_from(&written.trees["base"]);
    started.junit = written.named("junit").map(str::to_owned);
    let mut wrong = Vec::new();
    for (name, grade) in written.starting("honest ") {
        let seen = honest::differs(&mut started, &written, (name, grade), error).await;
        wrong.extend(seen.map(|seen| format!("honest {name}: {seen}")));
    }
    let honest = &written.trees[&format!("honest {}", written.starting("honest ")[0].0)];
    // Where two runners share a file, the second tries what is its own matter.
    let few = written.starting("few ").into_iter().find(|(name, _)| *name == runner);
    let few: Option<Vec<&str>> = few.map(|(_, names)| names.split(", ").collect());
    for (name, expected) in written.starting("trick ") {
        if few.as_ref().is_some_and(|few| !few.contains(&name)) {
            continue;
        }
        let tree = &written.trees[name];
        let (tests, fix) = (part(tree, honest, is_test), part(tree, honest, |path| !is_test(path)));
        let proven = started.prove(&tests, &fix, error).await;
        assert!(!expected.starts_with("proven"), "{name}: a trick is never proven");
        wrong.extend(differs(&proven, expected).map(|seen| format!("trick {name}: {seen}")));
    }
    assert!(wrong.is_empty(), "{runner}:\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn pytest_as_written() {
    as_written("pytest", "pytest").await;
}

#[tokio::test]
async fn jest_as_written() {
    as_written("javascript", "jest").await;
}

#[tokio::test]
async fn mocha_as_written() {
    as_written("javascript", "mocha").await;
}

#[tokio::test]
async fn vitest_as_written() {
    as_written("vitest", "vitest").await;
}

#[tokio::test]
async fn go_as_written() {
    as_written("go", "go").await;
}

#[tokio::test]
async fn cargo_as_written() {
    as_written("rust", "cargo").await;
}

#[tokio::test]
async fn ruby_as_written() {
    as_written("ruby", "ruby").await;
}
