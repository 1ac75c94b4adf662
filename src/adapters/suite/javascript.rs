//! jest, vitest and mocha: a reporter of ours goes along and writes the report.

use super::{Only, command::Detected};

pub(super) const SHARED_FILE: &str = "shared.cjs";
pub(super) const SHARED: &str = include_str!("shared.cjs");
pub(super) const INTACT: &str = include_str!("intact.cjs");
pub(super) const NODE: &str = include_str!("reporter.mjs");

/// Has every process of a run load a file first, also those that a runner starts for its tests. The owner's own
/// options stay.
pub(super) fn preloaded(file: &str, owner: &[(String, String)]) -> (String, String) {
    const NAME: &str = "NODE_OPTIONS";
    let own = owner.iter().rev().find(|(name, _)| name == NAME);
    let own = own.map(|(_, value)| format!("{value} ")).unwrap_or_default();
    let file = file.replace('\\', "\\\\").replace('"', "\\\"");
    (NAME.to_owned(), format!("{own}--require \"{file}\""))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Jest,
    Vitest,
    Mocha,
}

impl Runner {
    const ALL: [(&str, Self); 3] = [("jest", Self::Jest), ("vitest", Self::Vitest), ("mocha", Self::Mocha)];

    /// File name and text of its reporter.
    pub(super) const fn reporter(self) -> (&'static str, &'static str) {
        match self {
            Self::Jest => ("jest.cjs", include_str!("jest.cjs")),
            Self::Vitest => ("vitest.mjs", include_str!("vitest.mjs")),
            Self::Mocha => ("mocha.cjs", include_str!("mocha.cjs")),
        }
    }

    /// With these it runs no test, goes on for ever, or changes what it compares with.
    const fn muddled(self) -> &'static [&'static str] {
        match self {
            Self::Jest => &[
                "--watch",
                "--watchAll",
                "--listTests",
                "--showConfig",
                "--init",
                "--help",
                "-h",
                "--version",
                "-v",
                "-u",
                "--updateSnapshot",
            ],
            Self::Vitest => &[
                "--watch",
                "-w",
                "--help",
                "-h",
                "--version",
                "-v",
                "-u",
                "--update",
                "--ui",
                "--standalone",
            ],
            Self::Mocha => &[
                "--watch",
                "-w",
                "--help",
                "-h",
                "--version",
                "-V",
                "--list-interfaces",
                "--list-reporters",
                "--dry-run",
            ],
        }
    }

    /// What would end a run at its first failure, or report elsewhere; with the number of words that belong to it.
    fn dropped(self, word: &str) -> usize {
        let (name, has_value) = word.split_once('=').map_or((word, false), |(name, _)| (name, true));
        let reporter = match self {
            Self::Jest => name == "--reporters",
            Self::Vitest => name == "--reporter",
            Self::Mocha => matches!(
                name,
                "--reporter" | "-R" | "--reporter-option" | "--reporter-options" | "-O"
            ),
        };
        if reporter {
            return if has_value { 1 } else { 2 };
        }
        usize::from(matches!(name, "--bail" | "-b"))
    }
}

/// One of them, as it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) program: String,
    pub(super) runner: Runner,
    args: Vec<String>,
}

/// None for another program.
pub(super) fn detect(name: &str, program: &str, rest: &[String]) -> Option<Result<Detected, String>> {
    let (_, runner) = *Runner::ALL.iter().find(|(known, _)| *known == name)?;
    if let Some(word) = rest.iter().find(|word| runner.muddled().contains(&word.as_str())) {
        return Some(Err(format!("`{name}` cannot be read with {word}")));
    }
    let mut args = Vec::new();
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        match runner.dropped(word) {
            0 => {
                args.push(word.clone());
                at += 1;
            }
            words => at += words,
        }
    }
    if runner == Runner::Vitest {
        match args.first().map(String::as_str) {
            Some("run") => {}
            Some("watch" | "dev" | "bench" | "list" | "init" | "related" | "typecheck") => {
                return Some(Err("of vitest's commands only `vitest run` can be read".to_owned()));
            }
            // Without a terminal it would not watch either.
            Some(_) | None => args.insert(0, "run".to_owned()),
        }
    }
    Some(Ok(Detected::Script(Script {
        program: program.to_owned(),
        runner,
        args,
    })))
}

/// `npx jest`: the program that npx would find in the tree. It never fetches one.
pub(super) fn npx(rest: &[String]) -> Result<Detected, String> {
    let rest = match rest {
        [flag, rest @ ..] if flag == "--no-install" || flag == "--no" => rest,
        rest => rest,
    };
    rest.split_first()
        .and_then(|(name, rest)| detect(name, &in_tree(name), rest))
        .unwrap_or_else(|| Err("of what npx starts only jest, vitest and mocha can be read".to_owned()))
}

/// Where npm puts the programs of dependencies.
pub(super) fn in_tree(name: &str) -> String {
    format!("node_modules/.bin/{name}")
}

impl Script {
    /// Behind the own arguments stands what has to win, and an option that ends jest's list of reporters.
    pub(super) fn args(&self, reporter: &str, only: Option<&Only>) -> Vec<String> {
        let mut args = self.args.clone();
        let paths = args.iter().skip(usize::from(self.runner == Runner::Vitest));
        // Paths among the own arguments would be added to ours; what else such a word is cannot be known.
        let chosen = only.filter(|_| paths.clone().all(|word| word.starts_with('-')));
        let files = || chosen.map(files).unwrap_or_default();
        match self.runner {
            Runner::Jest => {
                if chosen.is_some() {
                    args.push("--runTestsByPath".to_owned());
                    args.extend(files());
                }
                args.extend([format!("--reporters={reporter}"), "--ci".to_owned()]);
            }
            Runner::Vitest => {
                args.extend(files().into_iter().map(|file| file.trim_start_matches("./").to_owned()));
                args.extend([format!("--reporter={reporter}"), "--bail=0".to_owned()]);
            }
            // Its own settings name files too, and those would run with ours: the tests are chosen by their titles.
            Runner::Mocha => {
                args.extend(only.and_then(|only| self.titles(only)));
                args.extend([
                    "--reporter".to_owned(),
                    reporter.to_owned(),
                    "--full-trace".to_owned(),
                    "--no-bail".to_owned(),
                ]);
            }
        }
        args
    }

    /// Whether single tests can be run: mocha chooses by title, and no title but the owner's where one is given.
    pub(super) fn selects(&self) -> bool {
        let chooses = |word: &String| {
            let name = word.split('=').next().unwrap_or_default();
            ["--grep", "-g", "--fgrep", "-f", "--invert", "-i"].contains(&name)
        };
        self.runner != Runner::Mocha || !self.args.iter().any(chooses)
    }

    /// mocha's option that keeps single tests.
    fn titles(&self, only: &Only) -> Option<String> {
        // Between the titles of a test's groups and its own mocha puts a space.
        let title = |id: &String| Some(regex::escape(id.split_once(" > ")?.1).replace(" > ", "(?: > | )"));
        let titles: Vec<String> = only.ids.iter().filter_map(title).collect();
        (!titles.is_empty() && self.selects()).then(|| format!("--grep=^(?:{})$", titles.join("|")))
    }
}

/// The files of single tests. An id starts with its file; `./` keeps a name that starts with a dash from being an option.
pub(super) fn files(only: &Only) -> Vec<String> {
    let of_ids = only.ids.iter().filter_map(|id| id.split(" > ").next());
    let mut files: Vec<&str> = match only.ids.as_slice() {
        [] => only.files.iter().map(String::as_str).collect(),
        _ => of_ids.collect(),
    };
    files.dedup();
    files.into_iter().map(|file| format!("./{file}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::command::detect, *};

    fn line(text: &str) -> Vec<String> {
        shell_words::split(text).unwrap()
    }

    #[test]
    fn what_is_started_is_what_the_owner_wrote_with_our_reporter() {
        let only = Only {
            files: Vec::new(),
            ids: vec!["test/a.test.js > one".to_owned(), "test/a.test.js > two".to_owned()],
        };
        for (text, program, whole, single) in [
            (
                "jest --bail --coverage",
                "jest",
                "--coverage --reporters=R --ci",
                "--coverage --runTestsByPath ./test/a.test.js --reporters=R --ci",
            ),
            (
                "npx --no-install jest test --reporters=default",
                "node_modules/.bin/jest",
                "test --reporters=R --ci",
                "test --reporters=R --ci",
            ),
            (
                "node_modules/.bin/vitest --reporter verbose --pool=forks",
                "node_modules/.bin/vitest",
                "run --pool=forks --reporter=R --bail=0",
                "run --pool=forks test/a.test.js --reporter=R --bail=0",
            ),
            (
                "mocha -R dot -b test",
                "mocha",
                "test --reporter R --full-trace --no-bail",
                "test --grep=^(?:one|two)$ --reporter R --full-trace --no-bail",
            ),
            (
                "mocha --fgrep=cart",
                "mocha",
                "--fgrep=cart --reporter R --full-trace --no-bail",
                "--fgrep=cart --reporter R --full-trace --no-bail",
            ),
        ] {
            let Ok(Detected::Script(script)) = detect(&line(text)) else {
                panic!("{text}");
            };
            assert_eq!(script.program, program);
            assert_eq!(script.args("R", None).join(" "), whole);
            assert_eq!(script.args("R", Some(&only)).join(" "), single);
        }
    }
}
