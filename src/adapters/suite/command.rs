//! Which runner a test command is, and how it is started so that its results can be read. Knows argument lists
//! only: no shell is ever involved, and a command that would need one is not readable.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Only, SuiteOptions};
use crate::config::CommandLine;

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

/// Directories of one child, outside the tree.
pub(super) struct Room {
    pub(super) dir: PathBuf,
    pub(super) home: PathBuf,
    pub(super) tmp: PathBuf,
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

/// Replaces `npm test` and `npm run X` by what the base's package.json says, where that is one plain
/// `node --test …`. Everything else stays as it is; `run_suite` then says that it cannot read it.
pub fn resolve(base: &Path, commands: &[CommandLine]) -> Vec<CommandLine> {
    let scripts = fs::read(base.join("package.json")).ok().and_then(|bytes| {
        let package: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        Some(package.get("scripts")?.clone())
    });
    let resolved = |command: &CommandLine| {
        let argv = npm_script(&command.argv, scripts.as_ref()?)?;
        Some(CommandLine {
            text: command.text.clone(),
            argv,
        })
    };
    commands
        .iter()
        .map(|command| resolved(command).unwrap_or_else(|| command.clone()))
        .collect()
}

fn npm_script(argv: &[String], scripts: &serde_json::Value) -> Option<Vec<String>> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let (name, rest) = match words.as_slice() {
        ["npm", "test" | "t", rest @ ..] => ("test", rest),
        ["npm", "run" | "run-script", name, rest @ ..] => (*name, rest),
        _ => return None,
    };
    let around = [format!("pre{name}"), format!("post{name}")];
    if around.iter().any(|script| scripts.get(script).is_some()) {
        return None;
    }
    let script = scripts.get(name)?.as_str()?;
    // npm hands the script to a shell. Only a text that a shell would leave as it is can be run without one.
    if script.contains(|c: char| "$&|;<>()*?[]{}`\\\n~#!".contains(c)) {
        return None;
    }
    let mut out = shell_words::split(script).ok()?;
    match rest {
        [] => {}
        ["--", more @ ..] => out.extend(more.iter().map(|&word| word.to_owned())),
        _ => return None,
    }
    matches!(detect(&out), Ok(Detected::Node { .. })).then_some(out)
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

impl Room {
    /// Empty directories for one child.
    pub(super) fn make(scratch: &Path, index: usize) -> Result<Self, String> {
        let dir = scratch.join(format!("run-{index}"));
        let failed = |error: std::io::Error| format!("could not make its directory {}: {error}", dir.display());
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let room = Self {
            home: dir.join("home"),
            tmp: dir.join("tmp"),
            dir: dir.clone(),
        };
        for path in [&room.home, &room.tmp] {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .map_err(failed)?;
        }
        Ok(room)
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
            prepared.program = locate(program, &options.path)?;
            prepared.args.clone_from(flags);
            prepared.args.push(write("driver.py", DRIVER)?);
            prepared.args.extend(args.iter().cloned());
            let files: Vec<PathBuf> = only
                .map(|o| o.files.iter().map(|f| dir.join(f)).collect())
                .unwrap_or_default();
            prepared.stdin = order(&json!({ "nonce": nonce, "report": report, "only": files }));
        }
        Detected::Node { program, args } => {
            prepared.program = locate(program, &options.path)?;
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
            prepared.program = locate(program, &options.path)?;
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

/// The options of a node run without its paths, then the new files.
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
    // `./` keeps a name that starts with a dash from being an option.
    out.extend(only.files.iter().map(|file| format!("./{file}")));
    out
}

/// The absolute path of a program: as named, or on the list of directories.
fn locate(program: &str, path: &[PathBuf]) -> Result<PathBuf, String> {
    let runs =
        |file: &Path| fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    let named = Path::new(program);
    if program.contains('/') {
        if !named.is_absolute() {
            return Err(format!(
                "name {program} by an absolute path, or by a name that is found on PATH"
            ));
        }
        return if runs(named) {
            Ok(named.to_owned())
        } else {
            Err(format!("{program} is not a program"))
        };
    }
    let found = path
        .iter()
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .find(|file| runs(file));
    found.ok_or_else(|| format!("{program} was not found on PATH"))
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
    fn npm_is_resolved_only_to_a_plain_node_test() {
        let scripts = json!({
            "test": "node --test test/", "shell": "node --test && echo x", "glob": "node --test test/*.js", "jest": "jest",
            "hooked": "node --test", "prehooked": "touch x",
        });
        let resolved = |text: &str| npm_script(&line(text), &scripts);
        assert_eq!(resolved("npm test"), Some(line("node --test test/")));
        assert_eq!(
            resolved("npm run test -- --test-timeout=5"),
            Some(line("node --test test/ --test-timeout=5"))
        );
        for text in [
            "npm run shell",
            "npm run glob",
            "npm run jest",
            "npm run hooked",
            "npm run missing",
            "npm ci",
            "node --test",
        ] {
            assert_eq!(resolved(text), None, "{text}");
        }
    }

    #[test]
    fn new_files_take_the_place_of_paths_in_a_node_run() {
        let only = Only {
            files: vec!["test/-new.test.js".to_owned()],
            ids: Vec::new(),
        };
        let args = node_only(&line("--test --import ./hook.mjs test/a.js test/b.js"), &only);
        assert_eq!(args, line("--test --import ./hook.mjs ./test/-new.test.js"));
    }

    #[test]
    fn a_program_inside_the_tree_is_not_started() {
        assert!(locate("./node", &[]).unwrap_err().contains("absolute"));
        assert!(locate("no-such-program", &[PathBuf::from("/usr/bin")]).is_err());
        assert!(
            locate("sh", &[PathBuf::from("/bin"), PathBuf::from("/usr/bin")])
                .unwrap()
                .is_absolute()
        );
    }
}
