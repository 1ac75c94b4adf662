//! Which runner a test command is, and how it is started so that its results can be read. Knows argument lists
//! only: no shell is ever involved, and a command that would need one is not readable.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    Only, SuiteOptions, at_end,
    check::{self, Check},
    go,
    javascript::{self, Script},
    nextest, python,
    room::{Room, locate},
};

const DRIVER: &str = concat!(include_str!("intact.py"), include_str!("driver.py"));

/// A command whose results can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Detected {
    /// `python3 [flags] -m unittest [args]`
    Unittest {
        program: String,
        flags: Vec<String>,
        args: Vec<String>,
    },
    /// `pytest [args]` or `python3 [flags] -m pytest [args]`
    Pytest {
        program: String,
        /// What stands before pytest's own arguments.
        before: Vec<String>,
        args: Vec<String>,
    },
    /// `node [options] --test [options and paths]`
    Node { program: String, args: Vec<String> },
    /// jest, vitest or mocha.
    Script(Script),
    /// `cargo [+toolchain] test [options] [-- options of the harness]`
    Cargo {
        program: String,
        args: Vec<String>,
        harness: Vec<String>,
    },
    /// `cargo [+toolchain] nextest run [options]`
    Nextest { program: String, args: Vec<String> },
    /// `go test [options and packages]`
    Go { program: String, command: go::Command },
    /// A compiler, a type checker or a linter.
    Check(Check),
    /// Anything else, which writes reports in JUnit's format.
    Other { program: String, args: Vec<String> },
}

/// A child as far as its command line decides it.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) stdin: Vec<u8>,
    /// Empty for a runner that writes none.
    pub(super) report: PathBuf,
    pub(super) nonce: String,
    /// Its test programs keep lists of what ended.
    pub(super) lists: bool,
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
    if let Some(check) = check::detect(&name, program, rest) {
        return check.map(Detected::Check);
    }
    match name.as_str() {
        "node" => node(program, rest),
        "cargo" => cargo(program, rest),
        "go" => Ok(Detected::Go {
            program: program.to_owned(),
            command: go::Command::read(rest)?,
        }),
        "pytest" | "py.test" => python::pytest(program, Vec::new(), rest),
        "npx" => match check::npx(rest) {
            Some(check) => check.map(Detected::Check),
            None => javascript::npx(rest),
        },
        _ if is_python(&name) => of_python(program, rest),
        _ => javascript::detect(&name, program, rest).unwrap_or_else(|| {
            Err(
                "not a runner whose results can be read (pytest, python -m unittest, jest, vitest, mocha, node --test, \
                 cargo test, cargo nextest run, go test), nor a checker (tsc, eslint, mypy, ruff check, cargo clippy, check \
                 or build, go vet or build)"
                    .to_owned(),
            )
        }),
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

fn of_python(program: &str, rest: &[String]) -> Result<Detected, String> {
    let mut flags = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-m" => {
                let module = words.next().map_or("", String::as_str);
                let args: Vec<String> = words.cloned().collect();
                return match module {
                    "unittest" => Ok(Detected::Unittest {
                        program: program.to_owned(),
                        flags,
                        args,
                    }),
                    "mypy" | "ruff" => {
                        flags.extend([word.clone(), module.to_owned()]);
                        checker(program, &flags, module, &args)
                    }
                    "pytest" => {
                        flags.extend([word.clone(), module.to_owned()]);
                        python::pytest(program, flags, &args)
                    }
                    _ => break,
                };
            }
            "-B" | "-b" | "-bb" | "-d" | "-s" | "-S" | "-u" | "-P" => flags.push(word.clone()),
            "-W" | "-X" => {
                let value = words.next().ok_or_else(|| format!("`{word}` lacks its value"))?;
                flags.extend([word.clone(), value.clone()]);
            }
            _ => break,
        }
    }
    Err("of Python's runners only `-m unittest` and `-m pytest` can be read".to_owned())
}

/// A checker that is a module of Python.
fn checker(program: &str, before: &[String], module: &str, args: &[String]) -> Result<Detected, String> {
    let check = check::detect(module, program, args)
        .unwrap_or_else(|| Err(format!("of {module}'s commands only `{module} check` can be read")))?;
    Ok(Detected::Check(Check {
        args: [before, args].concat(),
        ..check
    }))
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
    if let Some(at) = at
        && rest[at] == "nextest"
        && rest
            .get(at + 1)
            .is_some_and(|word| matches!(word.as_str(), "run" | "r"))
    {
        return Ok(Detected::Nextest {
            program: program.to_owned(),
            args: nextest::args(&rest[..at], &rest[at + 2..])?,
        });
    }
    let at = at.filter(|&at| matches!(rest[at].as_str(), "test" | "t"));
    let at = at.ok_or("of cargo's commands only `cargo test` and `cargo nextest run` can be read")?;
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

/// Whether the command's runner can be told to run single tests.
pub(super) fn selects(argv: &[String]) -> bool {
    match detect(argv) {
        Ok(Detected::Script(script)) => script.selects(),
        Ok(
            Detected::Unittest { .. }
            | Detected::Pytest { .. }
            | Detected::Node { .. }
            | Detected::Cargo { .. }
            | Detected::Nextest { .. }
            | Detected::Go { .. }
            | Detected::Check(_),
        ) => true,
        Ok(Detected::Other { .. }) | Err(_) => false,
    }
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
    let write = |name: &str, text: &str| write(room, name, text);
    let mut prepared = Prepared {
        program: PathBuf::new(),
        args: Vec::new(),
        env: Vec::new(),
        stdin: Vec::new(),
        report: report.clone(),
        nonce: nonce.clone(),
        lists: false,
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
        Detected::Pytest { program, before, args } => {
            prepared.program = locate(program, dir, options)?;
            prepared.args = [before.as_slice(), args, &python::ARGS.map(str::to_owned)].concat();
            let plugin = write(python::PLUGIN_FILE, python::PLUGIN)?;
            prepared.env = vec![("PYTHONPATH".to_owned(), python::path(&plugin, options))];
            let (files, ids) = only.map_or_else(Default::default, |only| python::chosen(dir, only));
            prepared.stdin = order(&json!({ "nonce": nonce, "report": report, "only": files, "ids": ids }));
        }
        Detected::Node { program, args } => {
            prepared.program = locate(program, dir, options)?;
            write(javascript::SHARED_FILE, javascript::SHARED)?;
            let reporter = write("reporter.mjs", javascript::NODE)?;
            let intact = write("intact.cjs", javascript::INTACT)?;
            // What comes through its own channel is thrown away: the reporter writes the report itself.
            prepared.args = vec![
                format!("--require={intact}"),
                format!("--test-reporter={reporter}"),
                "--test-reporter-destination=/dev/null".to_owned(),
            ];
            prepared
                .args
                .extend(only.map_or_else(|| args.clone(), |only| node_only(args, only)));
            prepared.stdin = order(&json!({ "nonce": nonce, "report": report }));
        }
        Detected::Script(script) => {
            prepared.program = locate(&script.program, dir, options)?;
            write(javascript::SHARED_FILE, javascript::SHARED)?;
            let intact = write("intact.cjs", javascript::INTACT)?;
            prepared.env = vec![javascript::preloaded(&intact, &options.env)];
            let (name, text) = script.runner.reporter();
            prepared.args = script.args(&write(name, text)?, only);
            prepared.stdin = order(&json!({ "nonce": nonce, "report": report }));
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
            prepared.env = owned(&super::cargo::ENV);
            at_end::keep_lists(&mut prepared, dir, room, options)?;
        }
        Detected::Nextest { program, args } => {
            prepared.program = locate(program, dir, options)?;
            let single = only.map(|only| nextest::only(args, &only.ids)).unwrap_or_default();
            prepared.args = [args.as_slice(), &nextest::FORMAT.map(str::to_owned), &single].concat();
            prepared.env = owned(&nextest::ENV);
            at_end::keep_lists(&mut prepared, dir, room, options)?;
        }
        Detected::Go { program, command } => {
            prepared.program = locate(program, dir, options)?;
            prepared.args = command.args(&go::quoted(&write(go::AT_END_FILE, go::AT_END)?)?, only);
            prepared.env = owned(&go::ENV);
        }
        Detected::Check(Check { program, args, .. }) => {
            prepared.program = locate(program, dir, options)?;
            prepared.args.clone_from(args);
            prepared.env = owned(&check::ENV);
        }
        Detected::Other { program, args } => {
            prepared.program = locate(program, dir, options)?;
            prepared.args.clone_from(args);
        }
    }
    Ok(prepared)
}

fn owned(env: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    env.iter().map(owned).collect()
}

/// Puts a file of ours into the room of a run, and names it.
pub(super) fn write(room: &Room, name: &str, text: &str) -> Result<String, String> {
    let path = room.dir.join(name);
    fs::write(&path, text).map_err(|error| format!("could not write {}: {error}", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
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
    out.extend(javascript::files(only));
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
            "python3 -m tox",
            "pytest --collect-only",
            "jest --watch",
            "vitest watch",
            "python2 -m unittest",
            "python3 run.py",
            "node test.js",
            "node --test --watch",
            "cargo nextest list",
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
