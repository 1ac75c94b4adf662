//! Finds the home, reads its files and the environment, and makes the one validated `Config` of this process.
//! It writes nothing and starts nothing.

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;

use super::{
    Config, Home,
    env::{Environment, parse_dotenv},
    home, parse,
    problem::{JsonPath, Problem},
    raw, schema, trust, validate,
};
use crate::exit::{Exit, Fault};

/// Declared collectors that are compiled into the binary (`collectors/` of the repository), with their request files.
pub const SHIPPED_COLLECTORS: &[(&str, &str)] = &[
    ("alertmanager", include_str!("../../collectors/alertmanager.json")),
    ("exceptions", include_str!("../../collectors/exceptions.json")),
    ("sentry", include_str!("../../collectors/sentry.json")),
    ("statuspage", include_str!("../../collectors/statuspage.json")),
];

/// A request file that is larger is not read.
const LARGEST_REQUEST: u64 = 64 * 1024;

/// What a config is made from.
#[derive(Debug, Clone)]
pub struct Sources {
    /// `--home` or `TICK_HOME`.
    pub home: Option<PathBuf>,
    pub cwd: PathBuf,
    pub env: Environment,
}

impl Sources {
    pub fn of_process(home: Option<&Path>) -> Result<Self, Fault> {
        let cwd = std::env::current_dir()
            .map_err(|e| Fault::new(Exit::Config, format!("cannot tell the current directory: {e}")))?;
        Ok(Self {
            home: home.map(Path::to_owned),
            cwd,
            env: Environment::of_process(),
        })
    }
}

/// What a verb is going to do with the config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Look at sources, send, repair: everything has to be right.
    Run,
    /// Read and write our own state: values that only this shell's environment lacks are not needed.
    Look,
    /// Stop or release: only where the state is has to be known.
    Stop,
}

/// Why there is no config. The words for people are made in `render/config.rs`.
#[derive(Debug)]
pub enum LoadError {
    /// No config file where it was looked for.
    Missing {
        file: PathBuf,
    },
    /// The file is there and wrong.
    Wrong {
        file: PathBuf,
        problems: Vec<Problem>,
    },
    Fault(Fault),
}

impl From<Fault> for LoadError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The config of a home, with everything checked that can be checked without asking anybody.
pub fn load(sources: Sources) -> Result<Config, LoadError> {
    load_for(sources, Purpose::Run)
}

/// The config for a purpose: what that does not need may be wrong.
pub fn load_for(sources: Sources, purpose: Purpose) -> Result<Config, LoadError> {
    let (config, problems) = load_with_problems(sources, purpose)?;
    if problems.is_empty() {
        return Ok(config);
    }
    let file = config.home.config_file;
    Err(LoadError::Wrong { file, problems })
}

/// The config as far as it can be read, and all that is wrong with it: for whoever looks for more that is.
pub fn load_with_problems(sources: Sources, purpose: Purpose) -> Result<(Config, Vec<Problem>), LoadError> {
    let Sources {
        home: flag,
        cwd,
        mut env,
    } = sources;
    let found = home::find(flag.as_deref(), &cwd, &env)?;
    let file = found.root.join("config.json");
    let stop = purpose == Purpose::Stop;
    let text = match read(&file) {
        Ok(Some(text)) => text,
        // Whatever keeps the file from being read keeps nobody from stopping: the ledger may be in its default place.
        Ok(None) | Err(_) if stop && home::layout(&found, &raw::Dirs::default()).has_ledger() => "{}".to_owned(),
        Ok(None) => return Err(LoadError::Missing { file }),
        Err(error) => return Err(error),
    };
    let mut problems = Vec::new();
    let dotenv = found.root.join(".env");
    let more = read(&dotenv);
    if let Some(text) = if stop { more.unwrap_or_default() } else { more? } {
        match parse_dotenv(&text) {
            Ok(values) => env.fill_from(values),
            Err(wrong) => problems.extend(
                wrong
                    .into_iter()
                    .map(|what| Problem::new(JsonPath::default().key(".env"), what).example("NAME='value'")),
            ),
        }
    }
    let layout = |dirs: &raw::Dirs| home::layout(&found, dirs);
    let (config, more) = from_value_text(&text, &env, &layout);
    problems.extend(more);
    // A file that is no JSON at all hides where its state is.
    let in_default_place = || {
        from_value_text("{}", &env, &layout)
            .0
            .filter(|c| stop && c.home.has_ledger())
    };
    let config = config.or_else(in_default_place);
    let Some(mut config) = config else {
        return Err(LoadError::Wrong { file, problems });
    };
    let dirs = JsonPath::default().key("dirs");
    problems.extend(
        home::misplaced(&config.home)
            .into_iter()
            .map(|(key, what)| Problem::new(dirs.key(key), what).example(format!("\"/var/lib/tick/{key}\""))),
    );
    let (digests, more) = trust::examine(&config.home, &dotenv);
    config.digests = digests;
    config.toolchain_env = toolchain_env(&env);
    problems.extend(more);
    problems.extend(trust::check_place(&config.home, &watched(&config)));
    problems.retain(|problem| match purpose {
        Purpose::Run => true,
        Purpose::Look => !problem.absent,
        Purpose::Stop => false,
    });
    Ok((config, problems))
}

/// Where tool chains are, which children with a private HOME would not find.
pub fn toolchain_env(env: &Environment) -> Vec<(String, String)> {
    let home = env.dir("HOME");
    [
        ("RUSTUP_HOME", ".rustup"),
        ("PYENV_ROOT", ".pyenv"),
        ("NVM_DIR", ".nvm"),
        ("GOMODCACHE", "go/pkg/mod"),
    ]
    .into_iter()
    .filter_map(|(name, below)| {
        let dir = env.dir(name).or_else(|| Some(home.as_ref()?.join(below)))?;
        dir.is_dir().then(|| (name.to_owned(), dir.display().to_string()))
    })
    .collect()
}

/// The config of a text, without looking at any file but the collectors of the home: for tests, and for worlds that
/// are made by the program itself.
pub fn from_text(text: &str, home: &Home, env: &Environment) -> Result<Config, Vec<Problem>> {
    match from_value_text(text, env, &|_| home.clone()) {
        (Some(config), problems) if problems.is_empty() => Ok(config),
        (_, problems) => Err(problems),
    }
}

/// The file as it stands, without any check; for `tick config explain`.
pub fn file_value(file: &Path) -> Option<Value> {
    parse::parse(&fs::read_to_string(file).ok()?)
        .ok()
        .map(|(value, _)| value)
}

/// All problems of the text; the config is there unless the text is no JSON at all.
fn from_value_text(
    text: &str,
    env: &Environment,
    layout: &dyn Fn(&raw::Dirs) -> Home,
) -> (Option<Config>, Vec<Problem>) {
    let (value, mut problems) = match parse::parse(text) {
        Ok(parsed) => parsed,
        Err(problem) => return (None, vec![problem]),
    };
    let (root, more, removed) = typed(&value);
    for problem in more {
        // Of a number that is out of range it says only that it is no number.
        match problems
            .iter_mut()
            .find(|p| p.path == problem.path && p.example.is_none())
        {
            Some(told) => told.example = problem.example,
            None => problems.push(problem),
        }
    }
    let Some(root) = root else {
        return (None, problems);
    };
    let home = layout(&root.dirs);
    let own = home.collectors.join("patterns.json");
    let patterns = match trust::read_plain(&own) {
        Ok(text) => Some(text),
        Err(error) => {
            if error.kind() != ErrorKind::NotFound {
                let path = JsonPath::default().key(validate::PATTERNS_FILE);
                problems.push(Problem::new(path, format!("cannot be read: {error}")));
            }
            None
        }
    };
    let context = validate::Context {
        env,
        home: &home,
        collectors: declared_collectors(&home),
        patterns,
    };
    let (config, more) = validate::validate(&root, &context);
    problems.extend(removed.in_the_file(more));
    (Some(config), problems)
}

/// The fast way is serde and the ranges. Only where one of them says no is the schema asked, which finds every
/// violation; what is left of the file without them is returned for the other checks.
fn typed(value: &Value) -> (Option<raw::Root>, Vec<Problem>, schema::Removed) {
    let error = match raw::Root::deserialize(value) {
        Ok(root) if schema::within_ranges(value) => return (Some(root), Vec::new(), schema::Removed::default()),
        Ok(_) => None,
        Err(error) => Some(error),
    };
    let (mut problems, rest, removed) = schema::violations(value);
    if problems.is_empty() {
        // The two disagree: say at least what serde says.
        let what = error.map_or_else(|| "holds a number that is out of range".to_owned(), |e| e.to_string());
        problems.push(Problem::new(JsonPath::default(), what));
    }
    (raw::Root::deserialize(&rest).ok(), problems, removed)
}

/// The declared collectors that exist, each with its request file; one that cannot be read says nothing here.
fn declared_collectors(home: &Home) -> BTreeMap<String, String> {
    let shipped = SHIPPED_COLLECTORS.iter();
    let mut all: BTreeMap<String, String> = shipped
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    let files = fs::read_dir(&home.collectors).into_iter().flatten().flatten();
    for entry in files {
        let name = entry.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(".json"));
        if let Some(name) = name.filter(|name| *name != "patterns") {
            let small = entry.metadata().is_ok_and(|meta| meta.len() <= LARGEST_REQUEST);
            let text = small.then(|| trust::read_plain(&entry.path()).ok()).flatten();
            all.insert(name.to_owned(), text.unwrap_or_default());
        }
    }
    all
}

/// What a remote of a work tree is compared with.
fn watched(config: &Config) -> Vec<String> {
    let names = config
        .repos
        .values()
        .filter_map(|repo| repo.github.as_ref().map(ToString::to_string));
    let urls = config
        .repos
        .values()
        .filter_map(|repo| repo.git_url.as_deref().map(trust::url_path));
    names.chain(urls).collect()
}

fn read(file: &Path) -> Result<Option<String>, LoadError> {
    match trust::read_plain(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(LoadError::Wrong {
            file: file.to_owned(),
            problems: vec![Problem::new(
                JsonPath::default(),
                format!("{} is not UTF-8", file.display()),
            )],
        }),
        Err(error) => Err(
            Fault::new(Exit::Config, format!("cannot read {}: {error}", file.display()))
                .advise("it must be readable by the user that runs tick")
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::config::Mode;

    fn load_at(root: &Path, env: Environment) -> Result<Config, LoadError> {
        load(Sources {
            home: Some(root.to_owned()),
            cwd: root.to_owned(),
            env,
        })
    }

    fn write(path: &Path, text: &str, mode: u32) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn an_empty_object_is_a_config() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("config.json"), "{}", 0o644);
        let config = load_at(dir.path(), Environment::default()).unwrap();
        assert!(config.repos.is_empty());
        assert_eq!(config.limits.diff_lines, 400);
        assert_eq!(config.digests.len(), 1);
    }

    #[test]
    fn the_example_loads_as_it_stands() {
        let text = include_str!("../../config.example.json");
        let env = Environment::new([("PATH", "/usr/bin")]);
        let config = from_text(text, &Home::at(Path::new("/nonexistent")), &env).unwrap();
        assert_eq!(config.repos.len(), 3);
        assert!(config.repos.values().all(|repo| repo.mode <= Mode::MonitorOnly));
    }

    #[test]
    fn the_example_of_the_environment_names_what_is_read() {
        let text = include_str!("../../.env.example");
        let uncommented: String = text
            .lines()
            .filter_map(|l| l.strip_prefix('#').filter(|l| !l.starts_with(' ')))
            .fold(String::new(), |all, line| all + line + "\n");
        let names: Vec<String> = parse_dotenv(&uncommented).unwrap().into_keys().collect();
        for name in [
            "GITHUB_TOKEN",
            "SMTP_URL",
            "HEARTBEAT_URL",
            "NOTIFY_EMAIL_FROM",
            "NOTIFY_EMAIL_TO",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "SENTRY_AUTH_TOKEN",
            "SENTRY_ORG",
            "SENTRY_PROJECT_API",
            "VERCEL_TOKEN",
            "TICK_HOME",
        ] {
            assert!(names.iter().any(|n| n == name), "{name} is not in .env.example");
        }
    }

    #[test]
    fn no_file_is_its_own_answer() {
        let dir = tempfile::tempdir().unwrap();
        let error = load_at(dir.path(), Environment::default()).unwrap_err();
        assert!(matches!(error, LoadError::Missing { file } if file.ends_with("config.json")));
    }

    #[test]
    fn secrets_come_from_the_dotenv_of_the_home() {
        let dir = tempfile::tempdir().unwrap();
        let config =
            r#"{"repos": {"web": {"health": [{"url": "https://a.example", "headers": {"X-Key": "WEB_KEY"}}]}}}"#;
        write(&dir.path().join("config.json"), config, 0o644);
        write(
            &dir.path().join(".env"),
            "WEB_KEY=not-a-real-key\nGITHUB_TOKEN='not-a-real-token'\n",
            0o600,
        );
        let config = load_at(dir.path(), Environment::default()).unwrap();
        assert!(config.secrets.get("WEB_KEY").is_some());
        assert!(config.secrets.github().is_some());
        assert!(!format!("{config:?}").contains("not-a-real"));
        let repo = config.repos.values().next().unwrap();
        assert_eq!(repo.mode, Mode::Diagnose, "without a repository");
    }

    #[test]
    fn all_problems_of_all_kinds_come_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let config = r#"{"mode": "auto", "limits": {"diff_lines": 0},
            "repos": {"web": {"github": "acme", "test": ["a | b"], "health": [{"url": "acme.example/health"}]}}}"#;
        write(&dir.path().join("config.json"), config, 0o666);
        write(&dir.path().join(".env"), "nonsense\n", 0o600);
        let Err(LoadError::Wrong { problems, .. }) = load_at(dir.path(), Environment::default()) else {
            panic!("it must not load");
        };
        let paths: Vec<String> = problems.iter().map(|p| p.path.to_string()).collect();
        for expected in [
            ".env",
            "mode",
            "limits.diff_lines",
            "repos.web.github",
            "repos.web.test[0]",
            "repos.web.health[0].url",
        ] {
            assert!(
                paths.iter().any(|p| p == expected),
                "{expected} is missing in {paths:?}"
            );
        }
        assert!(
            problems.iter().any(|p| p.what.contains("may be written by others")),
            "{problems:?}"
        );
    }

    #[test]
    fn what_is_taken_out_of_a_file_makes_no_further_problem_and_moves_none() {
        let dir = tempfile::tempdir().unwrap();
        let told = |config: &str| -> Vec<String> {
            write(&dir.path().join("config.json"), config, 0o644);
            let Err(LoadError::Wrong { problems, .. }) = load_at(dir.path(), Environment::default()) else {
                panic!("it must not load");
            };
            problems.iter().map(|p| format!("{} {}", p.path, p.what)).collect()
        };
        let expect = |status: &str| {
            format!(
                r#"{{"repos": {{"web": {{"health": [{{"url": "https://a.example", "expect": {{"status": {status}}}}}]}}}}}}"#
            )
        };
        assert_eq!(
            told(&expect("[700]")),
            ["repos.web.health[0].expect.status[0] 700 is above 599"]
        );
        assert_eq!(
            told(&expect("[]")),
            ["repos.web.health[0].expect.status is empty, so no answer is a good one"]
        );
        let health = |probes: &str| format!(r#"{{"repos": {{"web": {{"health": [{probes}]}}}}}}"#);
        assert_eq!(
            told(&health(
                r#"{"name": "x"}, {"url": "https://a.example"}, {"url": "b.example"}"#
            )),
            [
                "repos.web.health[0].url is missing",
                "repos.web.health[2].url \"b.example\" has no scheme",
            ]
        );
        assert_eq!(
            told(&health(
                r#"7, {"url": 8}, 9, {"url": "b.example"}, "c", {"url": "d.example"}"#
            )),
            [
                "repos.web.health[0] 7 is a number",
                "repos.web.health[1].url 8 is a number",
                "repos.web.health[2] 9 is a number",
                "repos.web.health[4] \"c\" is text",
                "repos.web.health[3].url \"b.example\" has no scheme",
                "repos.web.health[5].url \"d.example\" has no scheme",
            ]
        );
    }

    #[test]
    fn a_home_inside_a_watched_work_tree_does_not_load() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        let remote = "[remote \"origin\"]\n\turl = https://github.com/acme/web\n";
        fs::write(dir.path().join(".git/config"), remote).unwrap();
        fs::write(dir.path().join(".gitignore"), "*\n").unwrap();
        write(
            &dir.path().join("config.json"),
            r#"{"repos": {"web": {"github": "acme/web"}}}"#,
            0o644,
        );
        let Err(LoadError::Wrong { problems, .. }) = load_at(dir.path(), Environment::default()) else {
            panic!("it must not load");
        };
        assert!(problems[0].what.contains("watched repository"), "{problems:?}");
    }
}
