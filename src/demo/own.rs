//! What a rehearsal on somebody's own repository needs: a signal to begin with, from a file or from a test that fails
//! there, and a fingerprint of their copy, which is only read.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::world::World;
use crate::{
    adapters::{
        process::{self, ChildSpec, RunExit, Sandbox},
        suite::{self, SuiteChild, SuiteOptions, SuiteOutput},
    },
    config::{CommandLine, env::Environment, load::toolchain_env},
    model::{
        RunId,
        evidence::{Suite, TestResult, TestStatus},
    },
    text::{Redactor, signature},
};

/// Files beyond this size are told apart by size and times instead of their bytes.
const READ_WHOLE: u64 = 1 << 20;

/// The file as a signal with `signature` and `repo` filled in where they are missing. The error says what the file
/// has to be.
pub fn read_signal(text: &str, repo: &str) -> Result<Value, String> {
    let mut signal: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    let said = message_of(&signal).ok_or("it has neither a message nor a title")?;
    let Some(fields) = signal.as_object_mut() else {
        return Err("it is no JSON object".to_owned());
    };
    let sig = signature(&said).signature;
    fields.entry("signature").or_insert_with(|| json!(sig));
    fields.entry("repo").or_insert_with(|| json!(repo));
    Ok(signal)
}

/// The text by which the product knows the cause again.
fn message_of(signal: &Value) -> Option<String> {
    let places = ["/stack", "/evidence/stack", "/message", "/title"];
    let mut found = places.iter().filter_map(|place| signal.pointer(place)?.as_str());
    found.find(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// Why no signal could be had from the tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSignal {
    /// So many tests pass and none fails.
    AllPass(usize),
    Unreadable(String),
}

/// Runs the test command on the commit that is live and makes a signal of the first test that fails.
pub fn signal_of_tests(world: &World, test: &[String]) -> Result<Result<Value, NoSignal>> {
    let room = world.root().join("first-look");
    let tree = room.join("tree");
    world.repo().checkout(&world.main_head()?, &tree)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let suite = runtime.block_on(run_tests(&room, &tree, test))?;
    fs::remove_dir_all(&room).context("remove the tree of the first look")?;
    Ok(signal_of(&suite, &world.town().options.slot()).map(|signal| relative(signal, &tree)))
}

/// Production never saw the tree in which the tests ran.
fn relative(mut signal: Value, tree: &Path) -> Value {
    let tree = tree.display();
    for value in signal
        .as_object_mut()
        .into_iter()
        .flat_map(|fields| fields.values_mut())
    {
        if let Value::String(text) = value {
            *text = text
                .replace(&format!("file://{tree}/"), "")
                .replace(&format!("{tree}/"), "");
        }
    }
    signal
}

async fn run_tests(room: &Path, tree: &Path, test: &[String]) -> Result<Suite> {
    let command = CommandLine {
        text: shell_words::join(test),
        argv: test.to_vec(),
    };
    let options = SuiteOptions {
        timeout: Duration::from_mins(20),
        run_id: RunId::parse("demo-first-look").context("name the run")?,
        second_run: false,
        only: None,
        path: process::own_path().split(':').map(PathBuf::from).collect(),
        reference: None,
        toolchain_env: toolchain_env(&Environment::of_process()),
        services: Vec::new(),
        env: Vec::new(),
        home: None,
        scratch: room.join("scratch"),
        junit: None,
        redactor: Redactor::default(),
    };
    let runner = async |child: SuiteChild| run_child(child).await;
    let commands = suite::resolve(tree, &[command]);
    Ok(suite::run_suite(&runner, tree, &commands, &options).await?)
}

async fn run_child(child: SuiteChild) -> SuiteOutput {
    let done = process::run(ChildSpec {
        program: child.program,
        args: child.args.into_iter().map(Into::into).collect(),
        env: child
            .env
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect(),
        sandbox: Sandbox {
            write: child.writable.into_iter().chain([child.cwd.clone()]).collect(),
            read: Vec::new(),
            hide: Vec::new(),
            network: child.network,
        },
        cwd: child.cwd,
        stdin: child.stdin,
        deadline: child.deadline,
        stdout_cap: child.stdout_cap,
        stderr_cap: child.stderr_cap,
        run_id: child.run_id,
        stop: None,
    })
    .await;
    let note = match &done.exit {
        RunExit::Code(_) => String::new(),
        other => format!("it {other}"),
    };
    SuiteOutput {
        exit: match done.exit {
            RunExit::Code(code) => Some(code),
            _ => None,
        },
        not_run: matches!(done.exit, RunExit::Stopped | RunExit::SpawnFailed(_)),
        timed_out: done.exit == RunExit::TimedOut,
        truncated: done.truncated,
        stdout: done.stdout,
        stderr: done.stderr,
        note,
        sandbox: done.sandbox,
    }
}

fn signal_of(suite: &Suite, repo: &str) -> Result<Value, NoSignal> {
    if let Some(why) = &suite.unreadable {
        return Err(NoSignal::Unreadable(why.clone()));
    }
    if suite.timed_out {
        return Err(NoSignal::Unreadable("the tests ran out of time".to_owned()));
    }
    let bad = |result: &&TestResult| matches!(result.status, TestStatus::Fail | TestStatus::Error);
    let failing = suite
        .tests
        .iter()
        .find_map(|(id, results)| Some((id, results.iter().find(bad)?)));
    let Some((id, result)) = failing else {
        return Err(match suite.load_errors.first() {
            Some(error) => NoSignal::Unreadable(error.clone()),
            None => NoSignal::AllPass(suite.total()),
        });
    };
    let title = result.message.lines().next().unwrap_or_default();
    let stack = if result.trace.trim().is_empty() {
        &result.message
    } else {
        &result.trace
    };
    Ok(json!({
        "title": title, "message": result.message, "stack": stack, "repo": repo, "route": id,
        "signature": signature(stack).signature,
    }))
}

/// Every file below a directory, with what tells it from another: for small ones their bytes, and always kind, mode
/// and size.
pub fn fingerprint(dir: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("read {}", dir.display()))? {
            let path = entry?.path();
            let meta = fs::symlink_metadata(&path).with_context(|| format!("read {}", path.display()))?;
            let mark = if meta.is_dir() {
                open.push(path.clone());
                format!("directory {:o}", meta.mode())
            } else if meta.is_symlink() {
                format!("link {}", fs::read_link(&path)?.display())
            } else if meta.is_file() && meta.len() <= READ_WHOLE {
                let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
                format!("{:o} {:?}", meta.mode(), Sha256::digest(&bytes))
            } else {
                let (size, seconds, nanos) = (meta.len(), meta.ctime(), meta.ctime_nsec());
                format!("{:o} {size} {seconds}.{nanos}", meta.mode())
            };
            files.insert(path, mark);
        }
    }
    Ok(files)
}

/// Paths that are not the same in both.
pub fn differences(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = before.keys().chain(after.keys()).cloned().collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| before.get(path) != after.get(path));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_fields_of_a_signal_are_filled_in_and_present_ones_stay() {
        let signal = read_signal(r#"{"title": "TypeError: price is undefined"}"#, "cart").unwrap();
        assert_eq!(signal["repo"], "cart");
        assert_eq!(
            signal["signature"],
            json!(signature("TypeError: price is undefined").signature)
        );
        let own = read_signal(
            r#"{"title": "x", "repo": "web", "signature": "7f3a91c07f3a91c0"}"#,
            "cart",
        )
        .unwrap();
        assert_eq!(
            (&own["repo"], &own["signature"]),
            (&json!("web"), &json!("7f3a91c07f3a91c0"))
        );
        assert!(read_signal("[]", "cart").unwrap_err().contains("neither"));
        assert!(read_signal("{", "cart").unwrap_err().contains("no JSON"));
    }

    #[test]
    fn the_first_failing_test_becomes_the_signal() {
        let result = |status, message: &str| TestResult {
            status,
            by_assertion: true,
            inside: true,
            kind: "AssertionError".to_owned(),
            message: message.to_owned(),
            trace: String::new(),
        };
        let mut suite = Suite::default();
        suite.tests.insert("a".to_owned(), vec![result(TestStatus::Pass, "")]);
        assert_eq!(signal_of(&suite, "cart"), Err(NoSignal::AllPass(1)));
        suite.tests.insert(
            "b".to_owned(),
            vec![result(TestStatus::Fail, "AssertionError: 1 != 2\nmore")],
        );
        let signal = signal_of(&suite, "cart").unwrap();
        assert_eq!(
            (&signal["title"], &signal["route"]),
            (&json!("AssertionError: 1 != 2"), &json!("b"))
        );
        suite.unreadable = Some("no such runner".to_owned());
        assert_eq!(
            signal_of(&suite, "cart"),
            Err(NoSignal::Unreadable("no such runner".to_owned()))
        );
    }

    #[test]
    fn every_change_below_a_directory_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/one"), "1").unwrap();
        let before = fingerprint(dir.path()).unwrap();
        assert!(differences(&before, &fingerprint(dir.path()).unwrap()).is_empty());
        fs::write(dir.path().join("a/one"), "2").unwrap();
        fs::write(dir.path().join("two"), "").unwrap();
        let changed = differences(&before, &fingerprint(dir.path()).unwrap());
        assert_eq!(changed, [dir.path().join("a/one"), dir.path().join("two")]);
    }
}
