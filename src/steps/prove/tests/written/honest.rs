//! Honest fixes: at least twenty over six languages, each through guards, a whole proof and the undoing of each changed
//! file, from objects of a mirror as in a repair. The grade of each stands in its file: `assertion` or `error`, the kind
//! of the witness where it is not a new test, and why it is a person's: a file of which no test sees the change, a test
//! that checks nothing.

use super::*;
use crate::{
    adapters::git::fixture::{World, add},
    decide::guards::{self, GuardPolicy},
    model::evidence::{GuardReport, GuardVerdict},
    steps::{
        diff::{file_changes, with_surroundings},
        doubts::{self, Product},
        undo::Undoing,
    },
    text::Redactor,
};

/// What a fix is written to be.
struct Grade<'a> {
    by_assertion: bool,
    /// The error of the incident, where it is another one than the file's.
    error: Option<&'a str>,
    witness: Witness,
    unseen: Vec<&'a str>,
    checks_nothing: bool,
}

impl<'a> Grade<'a> {
    fn read(text: &'a str) -> Self {
        let mut parts = text.split("; ");
        let first = parts.next().unwrap_or_default();
        let mut grade = Self {
            by_assertion: first == "assertion",
            error: first.strip_prefix("error "),
            witness: Witness::B,
            unseen: Vec::new(),
            checks_nothing: false,
        };
        assert!(
            grade.by_assertion || first.starts_with("error"),
            "{text}: assertion or error"
        );
        for part in parts {
            match part.split_once(' ') {
                Some(("witness", "a")) => grade.witness = Witness::A,
                Some(("unseen", path)) => grade.unseen.push(path),
                Some(("checks", "nothing")) => grade.checks_nothing = true,
                _ => panic!("{text}: `witness a`, `unseen PATH` or `checks nothing`"),
            }
        }
        grade
    }
}

/// What is wrong with the evidence for an honest fix, if anything.
pub(super) async fn differs(
    started: &mut Started,
    written: &Written,
    (name, grade): (&str, &str),
    error: &str,
) -> Option<String> {
    let grade = Grade::read(grade);
    let error = grade.error.unwrap_or(error);
    let mut base = started.base_files.clone();
    let before = written.trees.get(&format!("before {name}"));
    base.extend(before.cloned().unwrap_or_default());
    let fix = &written.trees[&format!("honest {name}")];
    let judged = judged(started, &base, before.is_some(), fix, error).await;
    let proof = &judged.proven.proof;
    if let Some(seen) = super::differs(&judged.proven, "proven") {
        return Some(seen);
    }
    let mut wrong = Vec::new();
    let mut check = |is_right: bool, said: String| {
        if !is_right {
            wrong.push(said);
        }
    };
    check(proof.witness == grade.witness, format!("{:?}", proof.witness));
    let by_assertion = proof.red.starts_with("assertion: ");
    check(by_assertion == grade.by_assertion, format!("red by {}", proof.red));
    check(proof.green_runs == 2, format!("{} green runs", proof.green_runs));
    check(proof.red_again, "not red again".to_owned());
    let mut unseen = proof.undone.iter().filter(|undone| !undone.is_seen());
    let named: Vec<&str> = unseen.by_ref().map(|undone| undone.path.as_str()).collect();
    check(named == grade.unseen, format!("{:?}", proof.undone));
    check(
        proof.undone.len() == judged.sources,
        format!("{} files undone", proof.undone.len()),
    );
    let why = match (grade.checks_nothing, grade.unseen.as_slice()) {
        (true, _) => "the new tests check nothing",
        (false, []) => "",
        (false, [path, ..]) => &format!("no test fails when the change of {path} alone is undone"),
    };
    let for_person = proof.for_person.as_deref().unwrap_or_default();
    check(
        for_person.starts_with(why) && for_person.is_empty() == why.is_empty(),
        format!("for a person: {for_person}"),
    );
    check(
        judged.guards.verdict == GuardVerdict::Accept,
        format!("{:?}", judged.guards.findings),
    );
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

struct Judged {
    guards: GuardReport,
    proven: Proven,
    /// Changed files that are no tests.
    sources: usize,
}

/// All that is made for an attempt, on commits in a mirror.
async fn judged(started: &mut Started, base: &Tree, own_base: bool, fix: &Tree, error: &str) -> Judged {
    let world = World::new().await;
    let mirror = &world.remote;
    let edits = |tree: &Tree| -> Vec<_> { tree.iter().map(|(path, text)| add(path, text)).collect() };
    let base_sha = world.root(&edits(base)).await;
    let head = world.commit("fix", &base_sha, &edits(fix)).await;
    let changes = file_changes(mirror, &base_sha, &head).await.unwrap();
    let policy = GuardPolicy::new([], 400, 120).unwrap();
    let diff = guards::Diff::of(changes.clone());
    let diff = with_surroundings(mirror, &base_sha, diff).await.unwrap();
    let guards = guards::judge(&diff, &policy, &Redactor::default());
    let parts = guards::split(&changes, &policy.kinds);
    let text = |change: &guards::FileChange| {
        let new = change.new.as_ref().unwrap();
        (change.shown(), String::from_utf8(new.bytes.clone()).unwrap())
    };
    let tests: Tree = parts.test_part.iter().map(text).collect();
    let source: Tree = parts.source_part.iter().map(text).collect();
    let case = Case {
        command: &started.command,
        base: &files(base),
        tests: &files(&tests),
        fix: &files(&source),
        exception: error.split_once(": ").unwrap_or((error, "")),
    };
    let Bench {
        dir,
        trees,
        mut request,
    } = case.lay();
    started.link_modules(&trees);
    started.equip(&mut request);
    request.facts.head = head;
    request.base = started.base.clone().filter(|_| !own_base);
    let (facts, options) = (request.facts.clone(), request.options.clone());
    let commands = suite::resolve(&trees.base, &request.commands);
    let mut proven = prove(&plain, &kept, &trees, request).await.unwrap();
    if !own_base {
        started.base.clone_from(&proven.runs.base);
    }
    let undoing = Undoing {
        facts: &facts,
        parts: &parts,
        kinds: &policy.kinds,
        mirror,
        ground: None,
        commands: &commands,
        options: &options,
        dir: dir.path(),
        work: &dir.path().join("work"),
        reference: &trees.base,
    };
    undoing.each(&plain, &mut proven).await.unwrap();
    let product = Product {
        mirror,
        head: &facts.head,
    };
    let found = &mut proven.proof;
    doubts::of(&product, &facts.incident, &parts, found).await.unwrap();
    Judged {
        guards,
        proven,
        sources: parts.source_part.len(),
    }
}

/// Each file is a test above, and together they are enough.
#[test]
fn at_least_twenty_honest_fixes_over_six_languages() {
    let languages = [
        ("go", &["go"][..]),
        ("javascript", &["jest", "mocha"]),
        ("pytest", &["pytest"]),
        ("ruby", &["ruby"]),
        ("rust", &["cargo"]),
        ("vitest", &["vitest"]),
    ];
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proofs");
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .filter_map(|file| Some(file.ok()?.file_name().to_str()?.strip_suffix(".txt")?.to_owned()))
        .collect();
    names.sort();
    assert_eq!(names, languages.map(|(name, _)| name));
    let mut fixes = 0;
    for (name, runners) in languages {
        let written = Written::read(name);
        let named: Vec<&str> = written
            .starting("runner ")
            .into_iter()
            .map(|(runner, _)| runner)
            .collect();
        assert_eq!(named, runners, "{name}");
        let honest = written.starting("honest ").len();
        assert!(honest >= 3, "{name}: {honest}");
        fixes += honest;
    }
    assert!(fixes >= 20, "{fixes}");
}
