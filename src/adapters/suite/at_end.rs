//! Test programs of Rust keep a list of the tests that ended, beside what they print. One that prints results and leaves, or
//! ends itself with success in the middle of a test, is seen by what the list lacks.

use std::{collections::BTreeMap, fs, path::Path};

use super::{
    Readout, SuiteOptions,
    cargo::harness_name,
    command::{Prepared, write},
    room,
};
use crate::model::evidence::TestStatus;

const FILE: &str = "at-end.sh";
const SCRIPT: &str = "program=$1\nshift\nexec \"$program\" \"$@\" \"--logfile=$0.$$\"\n";

/// A list that is longer is not read.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Has cargo start each test program with the script. Nothing where the repository has them started in its own way: cargo
/// takes one.
pub(super) fn keep_lists(
    prepared: &mut Prepared,
    dir: &Path,
    room: &room::Room,
    options: &SuiteOptions,
) -> Result<(), String> {
    if !is_the_owners(dir, options) {
        starts(prepared, &write(room, FILE, SCRIPT)?);
    }
    Ok(())
}

fn starts(prepared: &mut Prepared, script: &str) {
    let at = prepared.args.iter().position(|word| word == "--no-fail-fast");
    let at = at.map_or(prepared.args.len(), |at| at + 1);
    let place = serde_json::Value::from(script);
    let runner = format!("target.'cfg(all())'.runner=[\"/bin/sh\",{place}]");
    prepared.args.splice(at..at, ["--config".to_owned(), runner]);
    prepared.lists = true;
}

/// Whether the base, or the owner's environment, names what starts test programs.
fn is_the_owners(dir: &Path, options: &SuiteOptions) -> bool {
    let base = options.reference.as_deref().unwrap_or(dir);
    let files = [".cargo/config.toml", ".cargo/config"].map(|path| fs::read_to_string(base.join(path)));
    let named = files.into_iter().flatten().any(|text| text.contains("runner"));
    let mut env = options.env.iter().chain(&options.toolchain_env);
    named || env.any(|(name, _)| name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER"))
}

/// What cargo and its test programs wrote, without the programs' notice about the option, which lacks the end of its line.
pub(super) fn without_notice(stderr: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(stderr);
    text.replace("warning: `--logfile` is deprecated", "").into_bytes()
}

/// Whether each test that passed stands in a list of its program.
pub(super) fn agrees(readout: &Readout, dir: &Path) -> Result<(), String> {
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    for path in room::named(dir, &format!("{FILE}."))? {
        let size = fs::symlink_metadata(&path).map(|meta| (meta.is_file(), meta.len()));
        let text = match size {
            Ok((true, size)) if size <= LONGEST => fs::read(&path),
            Ok(_) | Err(_) => return Err("the list of a test program is no plain file".to_owned()),
        };
        let text = text.map_err(|error| format!("the list of a test program could not be read: {error}"))?;
        for name in String::from_utf8_lossy(&text)
            .lines()
            .filter_map(|line| line.strip_prefix("ok "))
        {
            *listed.entry(name.to_owned()).or_default() += 1;
        }
    }
    for (id, _) in readout
        .tests
        .iter()
        .filter(|(_, result)| result.status == TestStatus::Pass)
    {
        let Some(name) = harness_name(id) else {
            continue;
        };
        match listed.get_mut(&name).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => return Err(format!("a test program left before {id} had ended")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{adapters::suite::testing::options, model::evidence::TestResult};

    #[test]
    fn what_is_not_listed_did_not_end() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        file("at-end.sh", "");
        file("at-end.sh.1", "ok tests::a\nfailed tests::b\n");
        let passed = |ids: &[&str]| Readout {
            tests: ids
                .iter()
                .map(|id| ((*id).to_owned(), TestResult::of(TestStatus::Pass)))
                .collect(),
            ..Readout::default()
        };
        let agrees = |ids: &[&str]| agrees(&passed(ids), dir.path());
        assert_eq!(agrees(&["shop::tests::a", "doc src/lib.rs - a"]), Ok(()));
        let left = "a test program left before other::tests::a had ended".to_owned();
        assert_eq!(
            agrees(&["shop::tests::a", "other::tests::a"]),
            Err(left),
            "once is once"
        );
        file("at-end.sh.2", "ok tests::a\n");
        assert_eq!(agrees(&["shop::tests::a", "other::tests::a"]), Ok(()));
        assert!(agrees(&["shop::tests::b"]).is_err());
        std::os::unix::fs::symlink("at-end.sh.1", dir.path().join("at-end.sh.3")).unwrap();
        assert!(agrees(&["shop::tests::a"]).unwrap_err().contains("plain file"));
    }

    #[test]
    fn a_heading_behind_the_notice_is_one() {
        let stderr = b"     Running a (b)\nwarning: `--logfile` is deprecated     Running c (d)\n";
        assert_eq!(without_notice(stderr), b"     Running a (b)\n     Running c (d)\n");
    }

    #[test]
    fn a_runner_of_the_repository_stays() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = options(dir.path());
        assert!(!is_the_owners(dir.path(), &options));
        options.env = vec![("CARGO_TARGET_WASM32_WASIP1_RUNNER".to_owned(), "wasmtime".to_owned())];
        assert!(is_the_owners(dir.path(), &options));
        options.env.clear();
        fs::create_dir(dir.path().join(".cargo")).unwrap();
        fs::write(
            dir.path().join(".cargo/config.toml"),
            "[target.'cfg(unix)']\nrunner = 'sudo'\n",
        )
        .unwrap();
        assert!(is_the_owners(dir.path(), &options));
    }
}
