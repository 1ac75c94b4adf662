//! Which runner a test command is, and how it is started so that its results can be read. Knows argument lists
//! only: no shell is ever involved, and a command that would need one is not readable.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    Only, SuiteOptions,
    room::{Room, locate},
};

const DRIVER: &str = include_str!("driver.py");
const REPORTER: &str = include_str!("reporter.mjs");

/// A command whose results can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Detected {
    /// `python3 [flags] -m unittest [args]`
    Unittest {
        program: String,
        flags: Vec<String>,
        args: Vec<String>,
    },
    /// `node [options] --test [options and paths]`
    Node { program: String, args: Vec<String> },
    /// `cargo [+toolchain] test [options] [-- options of the harness]`
    Cargo {
        program: String,
        args: Vec<String>,
        harness: Vec<String>,
    },
}

/// A child as far as its command line decides it.
pub(super) struct Prepared {
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) stdin: Vec<u8>,
    /// Empty for a runner that writes none.
    pub(super) report: PathBuf,
    pub(super) nonce: String,
}

/// The runner of a command, or why its results cannot be read.
pub(super) fn detect(argv: &[String]) -> Result<Detected, String> {
    let Some((program, rest)) = argv.split_first() else {
        return Err("the command is empty".to_owned());
    };
    let name = Path::new(program)
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    match name.as_str() {
        "node" => node(program, rest),
        "cargo" => cargo(program, rest),
        _ if is_python(&name) => unittest(program, rest),
        _ => Err("not a runner whose results can be read (python -m unittest, node --test, cargo test)".to_owned()),
    }
}

fn is_python(name: &str) -> bool {
    let version = name.strip_prefix("python").unwrap_or("-");
    version.is_empty()
        || version == "3"
        || version
            .strip_prefix("3.")
            .is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|b| b.is_ascii_digit()))
}

fn unittest(program: &str, rest: &[String]) -> Result<Detected, String> {
    let mut flags = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-m" if words.next().is_some_and(|module| module == "unittest") => {
                return Ok(Detected::Unittest {
                    program: program.to_owned(),
                    flags,
                    args: words.cloned().collect(),
                });
            }
            "-B" | "-b" | "-bb" | "-d" | "-s" | "-S" | "-u" | "-P" => flags.push(word.clone()),
            "-W" | "-X" => {
                let value = words.next().ok_or_else(|| format!("`{word}` lacks its value"))?;
                flags.extend([word.clone(), value.clone()]);
            }
            _ => break,
        }
    }
    Err("of Python's runners only `-m unittest` can be read".to_owned())
}

fn node(program: &str, rest: &[String]) -> Result<Detected, String> {
    if !rest.iter().any(|word| word == "--test") {
        return Err("of node's runs only `node --test` can be read".to_owned());
    }
    if rest
        .iter()
        .any(|word| word.starts_with("--watch") || word == "--test-isolation=none")
    {
        return Err("`node --test` cannot be read with --watch or without isolation".to_owned());
    }
    // Our reporter takes the place of others: each would need a destination of its own.
    let mut args = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--test-reporter" | "--test-reporter-destination" => {
                words.next();
            }
            _ if word.starts_with("--test-reporter=") || word.starts_with("--test-reporter-destination=") => {}
            _ => args.push(word.clone()),
        }
    }
    Ok(Detected::Node {
        program: program.to_owned(),
        args,
    })
}

fn cargo(program: &str, rest: &[String]) -> Result<Detected, String> {
    let at = rest
        .iter()
        .position(|word| !word.starts_with('+') && !matches!(word.as_str(), "--locked" | "--offline" | "--frozen"));
    let at = at.filter(|&at| matches!(rest[at].as_str(), "test" | "t"));
    let at = at.ok_or("of cargo's commands only `cargo test` can be read")?;
    let (own, harness) = match rest.iter().position(|word| word == "--") {
        Some(split) => (&rest[..split], &rest[split + 1..]),
        None => (rest, &[][..]),
    };
    let muddled = |word: &&String| {
        [
            "--nocapture",
            "--no-capture",
            "--show-output",
            "--list",
            "--format",
            "--logfile",
            "-Z",
            "--no-run",
            "--message-format",
            "--bench",
            "-q",
            "--quiet",
        ]
        .iter()
        .any(|flag| word == flag || word.starts_with(&format!("{flag}=")))
    };
    if let Some(word) = own.iter().chain(harness).find(muddled) {
        return Err(format!("`cargo test` cannot be read with {word}"));
    }
    let mut args: Vec<String> = own.to_vec();
    if !args.iter().any(|word| word == "--no-fail-fast") {
        args.insert(at + 1, "--no-fail-fast".to_owned());
    }
    Ok(Detected::Cargo {
        program: program.to_owned(),
        args,
        harness: harness.to_vec(),
    })
}

/// The child for a detected command.
pub(super) fn prepare(
    detected: &Detected,
    dir: &Path,
    room: &Room,
    options: &SuiteOptions,
) -> Result<Prepared, String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random bytes: {error}"))?;
    let nonce = super::hex(&bytes);
    let report = room.dir.join("report");
    let only = options.only.as_ref();
    let write = |name: &str, text: &str| {
        let path = room.dir.join(name);
        fs::write(&path, text).map_err(|error| format!("could not write {}: {error}", path.display()))?;
        Ok::<String, String>(path.to_string_lossy().into_owned())
    };
    let mut prepared = Prepared {
        program: PathBuf::new(),
        args: Vec::new(),
        env: Vec::new(),
        stdin: Vec::new(),
        report: report.clone(),
        nonce: nonce.clone(),
    };
    match detected {
        Detected::Unittest { program, flags, args } => {
            prepared.program = locate(program, dir, options)?;
            prepared.args.clone_from(flags);
            prepared.args.push(write("driver.py", DRIVER)?);
            prepared.args.extend(args.iter().cloned());
            let files: Vec<PathBuf> = only
                .map(|o| o.files.iter().map(|f| dir.join(f)).collect())
                .unwrap_or_default();
            let ids = only.filter(|o| o.files.is_empty()).map_or(&[][..], |o| &o.ids);
            prepared.stdin = order(&json!({ "nonce": nonce, "report": report, "only": files, "ids": ids }));
        }
        Detected::Node { program, args } => {
            prepared.program = locate(program, dir, options)?;
            let reporter = write("reporter.mjs", REPORTER)?;
            prepared.args = vec![
                format!("--test-reporter={reporter}"),
                format!("--test-reporter-destination={}", report.display()),
            ];
            prepared
                .args
                .extend(only.map_or_else(|| args.clone(), |only| node_only(args, only)));
            prepared.stdin = order(&json!({ "nonce": nonce }));
        }
        Detected::Cargo { program, args, harness } => {
            prepared.program = locate(program, dir, options)?;
            prepared.args.clone_from(args);
            prepared.args.push("--".to_owned());
            prepared.args.extend(harness.iter().cloned());
            if let Some(only) = only {
                prepared.args.push("--exact".to_owned());
                prepared
                    .args
                    .extend(only.ids.iter().filter_map(|id| super::cargo::harness_name(id)));
            }
            prepared.env = vec![
                ("CARGO_NET_OFFLINE".to_owned(), "true".to_owned()),
                ("CARGO_TERM_COLOR".to_owned(), "never".to_owned()),
            ];
        }
    }
    Ok(prepared)
}

fn order(value: &serde_json::Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The options of a node run without its paths, then the files of the new tests.
fn node_only(args: &[String], only: &Only) -> Vec<String> {
    const VALUED: [&str; 12] = [
        "-r",
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
        "-C",
        "--conditions",
        "--env-file",
        "--test-name-pattern",
        "--test-concurrency",
        "--test-timeout",
        "--test-shard",
    ];
    let mut out = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            continue;
        }
        out.push(word.clone());
        if VALUED.contains(&word.as_str()) {
            out.extend(words.next().cloned());
        }
    }
    // An id of node starts with its file. `./` keeps a name that starts with a dash from being an option.
    let of_ids = only.ids.iter().filter_map(|id| id.split(" > ").next());
    let mut files: Vec<&str> = match only.ids.as_slice() {
        [] => only.files.iter().map(String::as_str).collect(),
        _ => of_ids.collect(),
    };
    files.dedup();
    out.extend(files.into_iter().map(|file| format!("./{file}")));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Vec<String> {
        shell_words::split(text).unwrap()
    }

    #[test]
    fn known_runners_are_detected() {
        for text in [
            "python -m unittest",
            "python3 -m unittest discover -s tests",
            "/usr/bin/python3.12 -W error -m unittest -v a.b",
        ] {
            assert!(matches!(detect(&line(text)), Ok(Detected::Unittest { .. })), "{text}");
        }
        for text in ["node --test", "node --enable-source-maps --test test/a.js"] {
            assert!(matches!(detect(&line(text)), Ok(Detected::Node { .. })), "{text}");
        }
        for text in [
            "cargo test",
            "cargo +1.95 --locked test --workspace -- --test-threads=1",
        ] {
            assert!(matches!(detect(&line(text)), Ok(Detected::Cargo { .. })), "{text}");
        }
    }

    #[test]
    fn everything_else_is_unreadable() {
        for text in [
            "",
            "make test",
            "sh -c 'node --test'",
            "python3 -m pytest",
            "python2 -m unittest",
            "python3 run.py",
            "node test.js",
            "node --test --watch",
            "cargo nextest run",
            "cargo build",
            "cargo test -- --nocapture",
            "cargo test -q",
            "npm test",
        ] {
            assert!(detect(&line(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn cargo_goes_on_after_a_failure() {
        let Ok(Detected::Cargo { args, harness, .. }) = detect(&line("cargo test --lib -- --test-threads=1")) else {
            panic!("not detected");
        };
        assert_eq!(args, ["test", "--no-fail-fast", "--lib"]);
        assert_eq!(harness, ["--test-threads=1"]);
    }

    #[test]
    fn new_files_take_the_place_of_paths_in_a_node_run() {
        let only = Only {
            files: vec!["test/-new.test.js".to_owned()],
            ids: Vec::new(),
        };
        let args = node_only(&line("--test --import ./hook.mjs test/a.js test/b.js"), &only);
        assert_eq!(args, line("--test --import ./hook.mjs ./test/-new.test.js"));
        let only = Only {
            files: vec!["test/fixture.json".to_owned(), "test/b.js".to_owned()],
            ids: vec!["test/b.js > one".to_owned(), "test/b.js > two".to_owned()],
        };
        assert_eq!(node_only(&line("--test"), &only), line("--test ./test/b.js"));
    }
}
