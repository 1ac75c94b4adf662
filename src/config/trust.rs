//! Whether the files that can change what runs may be trusted: they belong to the user, nobody else can write them,
//! and no pull request can bring them along. git is not asked about a work tree (its own config could start programs);
//! remotes and ignore rules are read here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    Home,
    home::own_uid,
    problem::{JsonPath, Problem},
};

/// Largest file that can change what runs; nobody writes a longer one by hand.
const MAX_BYTES: u64 = 4 << 20;
/// Largest program in `collectors/`.
const MAX_PROGRAM_BYTES: u64 = 64 << 20;

/// Digests of the files that can change what runs, by path below the home, and what is wrong with them.
pub(super) fn examine(home: &Home, dotenv: &Path) -> (BTreeMap<String, String>, Vec<Problem>) {
    let mut files = vec![home.config_file.clone(), dotenv.to_owned()];
    let mut problems = Vec::new();
    problems.extend(check_owner(&home.root, false));
    for dir in [&home.collectors, &home.prompts] {
        if dir.exists() {
            problems.extend(check_owner(dir, false));
            files.extend(files_below(dir));
        }
    }
    let mut digests = BTreeMap::new();
    for file in files.iter().filter(|file| file.exists()) {
        problems.extend(check_owner(file, file == dotenv));
        problems.extend(check_link(file));
        let name = file.strip_prefix(&home.root).unwrap_or(file).display().to_string();
        if let Some(digest) = digest(file) {
            digests.insert(name, digest);
        } else {
            let what = format!("cannot be read, or is larger than {} MiB", most_bytes(file) >> 20);
            problems.push(Problem::new(JsonPath::default().key(&name), what));
        }
    }
    (digests, problems)
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

/// The text of a plain file. Opening a pipe would wait for its writer.
pub fn read_plain(file: &Path) -> std::io::Result<String> {
    if fs::metadata(file)?.is_file() {
        fs::read_to_string(file)
    } else {
        Err(std::io::Error::other("it is not a plain file"))
    }
}

/// Programs are made by compilers.
fn most_bytes(file: &Path) -> u64 {
    let program = fs::metadata(file).is_ok_and(|meta| meta.mode() & 0o111 != 0);
    if program { MAX_PROGRAM_BYTES } else { MAX_BYTES }
}

fn digest(file: &Path) -> Option<String> {
    if fs::metadata(file).ok()?.len() > most_bytes(file) {
        return None;
    }
    let digest = Sha256::digest(fs::read(file).ok()?);
    Some(digest.iter().fold(String::new(), |mut hex, byte| {
        hex.extend([byte >> 4, byte & 15].map(|nibble| char::from_digit(nibble.into(), 16).unwrap_or('0')));
        hex
    }))
}

/// Where a link leads nobody else may put another file in the place.
fn check_link(file: &Path) -> Vec<Problem> {
    let Ok(named) = fs::read_link(file) else {
        return Vec::new();
    };
    let named = file.parent().map(|dir| dir.join(named));
    let places: BTreeSet<PathBuf> = [named, file.canonicalize().ok()]
        .into_iter()
        .flatten()
        .filter_map(|to| to.parent()?.canonicalize().ok())
        .collect();
    places.iter().filter_map(|dir| check_owner(dir, false)).collect()
}

/// `private` also forbids others to read it.
fn check_owner(path: &Path, private: bool) -> Option<Problem> {
    let meta = fs::metadata(path).ok()?;
    let name = JsonPath::default().key(&path.display().to_string());
    if meta.uid() != own_uid() && meta.uid() != 0 {
        let what = format!(
            "belongs to another user (uid {}), who could change what tick runs",
            meta.uid()
        );
        return Some(Problem::new(name, what).example(format!("chown {} {}", own_uid(), path.display())));
    }
    let others = meta.mode() & 0o777;
    if others & 0o022 != 0 {
        let what = format!("may be written by others (mode {others:04o}), who could change what tick runs");
        return Some(Problem::new(name, what).example(format!("chmod go-w {}", path.display())));
    }
    if private && others & 0o077 != 0 {
        let what = format!("holds secrets and may be read by others (mode {others:04o})");
        return Some(Problem::new(name, what).example(format!("chmod 600 {}", path.display())));
    }
    None
}

/// Why the home may not be where it is, if it may not. `watched` are `owner/name`s and paths of clone URLs.
pub(super) fn check_place(home: &Home, watched: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in [&home.root, &home.state, &home.signals, &home.logs] {
        let Some(tree) = work_tree_of(dir) else { continue };
        let name = JsonPath::default().key(&dir.display().to_string());
        let problem = match remotes(&tree) {
            Err(what) => Some(format!(
                "is inside a git work tree ({}) of which {what}",
                tree.display()
            )),
            Ok(urls) => watched_remote(&urls, watched).map(|url| {
                format!("is inside a work tree of the watched repository {url}; a pull request could change what runs")
            }),
        };
        if let Some(what) = problem {
            problems.push(Problem::new(name, what).example("tick --home ~/.config/tick"));
            return problems;
        }
        problems.extend(not_ignored(home, dir, &tree).map(|file| {
            Problem::new(
                JsonPath::default().key(&file.display().to_string()),
                format!(
                    "would be written into the work tree {} and git does not ignore it",
                    tree.display()
                ),
            )
            .example(format!("a line in {}", tree.join(".gitignore").display()))
        }));
    }
    problems.dedup();
    problems
}

/// The nearest directory above (or at) `dir` that has a `.git`.
fn work_tree_of(dir: &Path) -> Option<PathBuf> {
    let real = dir.ancestors().find_map(|d| d.canonicalize().ok())?;
    real.ancestors()
        .find(|d| fs::symlink_metadata(d.join(".git")).is_ok())
        .map(Path::to_owned)
}

/// Remote URLs in the work tree's own configuration; the error says what could not be read.
fn remotes(tree: &Path) -> Result<Vec<String>, String> {
    let dot_git = tree.join(".git");
    let git_dir = if dot_git.is_dir() {
        dot_git
    } else {
        let text = fs::read_to_string(&dot_git).map_err(|e| format!("the .git file cannot be read ({e})"))?;
        let target = text
            .trim()
            .strip_prefix("gitdir:")
            .ok_or("the .git file names no directory")?;
        tree.join(target.trim())
    };
    let common = match fs::read_to_string(git_dir.join("commondir")) {
        Ok(text) => git_dir.join(text.trim()),
        Err(_) => git_dir,
    };
    match fs::read_to_string(common.join("config")) {
        Ok(text) => Ok(remote_urls(&text)),
        // A directory that merely is named `.git` is no repository; nothing can be pulled into it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("the configuration cannot be read ({error})")),
    }
}

/// Values of `url` and `pushurl` in the `remote` sections of a git configuration.
fn remote_urls(config: &str) -> Vec<String> {
    let mut in_remote = false;
    let mut urls = Vec::new();
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_remote = section.trim_start().to_ascii_lowercase().starts_with("remote");
        }
        // A key may follow its section on the same line.
        let assignment = line.rsplit_once(']').map_or(line, |(_, after)| after).trim();
        let assignment = if line.starts_with('[') { assignment } else { line };
        if let Some((key, value)) = assignment.split_once('=')
            && in_remote
            && matches!(key.trim().to_ascii_lowercase().as_str(), "url" | "pushurl")
        {
            urls.push(value.trim().trim_matches('"').to_owned());
        }
    }
    urls
}

/// Path of a clone URL, of whatever form: lower case, without scheme, user, host and `.git`.
pub(super) fn url_path(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = match (url.contains("://"), rest.split_once(['/', ':'])) {
        (true, _) => rest.split_once('/').map_or("", |(_, path)| path),
        (false, Some((host, path))) if rest.find(':') == Some(host.len()) => path,
        (false, _) => rest,
    };
    path.trim_matches('/')
        .trim_end_matches(".git")
        .trim_matches('/')
        .to_ascii_lowercase()
}

fn watched_remote(urls: &[String], watched: &[String]) -> Option<String> {
    urls.iter().map(|url| url_path(url)).find(|path| {
        watched
            .iter()
            .map(|w| w.to_ascii_lowercase())
            .any(|w| !w.is_empty() && (*path == w || path.ends_with(&format!("/{w}"))))
    })
}

/// The first file that tick would write or read below `tree` and that its ignore rules do not cover.
fn not_ignored(home: &Home, dir: &Path, tree: &Path) -> Option<PathBuf> {
    let samples = if dir == home.root {
        vec![
            home.config_file.clone(),
            home.root.join(".env"),
            home.root.join(super::home::MARKER),
        ]
    } else {
        vec![dir.join("a-file-of-tick")]
    };
    let real = dir
        .ancestors()
        .find_map(|d| d.canonicalize().ok().map(|real| (d.to_owned(), real)));
    let (given, real) = real?;
    samples.into_iter().find(|sample| {
        let inside = sample.strip_prefix(&given).map(|rest| real.join(rest));
        let relative = inside.ok().and_then(|p| p.strip_prefix(tree).map(Path::to_owned).ok());
        relative.is_some_and(|relative| !is_ignored(tree, &relative))
    })
}

/// Whether git's ignore files of `tree` cover a path: the file itself, or a directory above it.
fn is_ignored(tree: &Path, relative: &Path) -> bool {
    let parts: Vec<&std::ffi::OsStr> = relative.iter().collect();
    let mut rules = read_rules(&tree.join(".git/info/exclude"), Path::new(""));
    for depth in 0..parts.len() {
        let below: PathBuf = parts[..depth].iter().collect();
        rules.extend(read_rules(&tree.join(&below).join(".gitignore"), &below));
    }
    (1..=parts.len()).any(|n| {
        let path: PathBuf = parts[..n].iter().collect();
        let is_dir = n < parts.len();
        let last = rules.iter().rev().find(|rule| rule.matches(&path, is_dir));
        last.is_some_and(|rule| rule.ignores)
    })
}

struct Rule {
    glob: globset::GlobMatcher,
    ignores: bool,
    only_dirs: bool,
}

impl Rule {
    fn matches(&self, path: &Path, is_dir: bool) -> bool {
        (is_dir || !self.only_dirs) && self.glob.is_match(path)
    }
}

fn read_rules(file: &Path, below: &Path) -> Vec<Rule> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| rule(line, below)).collect()
}

/// One line of an ignore file, `None` for comments and for patterns that cannot be read (those ignore nothing).
fn rule(line: &str, below: &Path) -> Option<Rule> {
    let line = line.trim_end();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (ignores, pattern) = line.strip_prefix('!').map_or((true, line), |rest| (false, rest));
    let only_dirs = pattern.ends_with('/');
    let pattern = pattern.trim_end_matches('/');
    let anchored = pattern.contains('/');
    let pattern = pattern.trim_start_matches('/');
    let prefix = below.to_str()?;
    let prefix = if prefix.is_empty() {
        String::new()
    } else {
        format!("{}/", globset::escape(prefix))
    };
    let full = if anchored {
        format!("{prefix}{pattern}")
    } else {
        format!("{prefix}{{,**/}}{pattern}")
    };
    let glob = globset::GlobBuilder::new(&full)
        .literal_separator(true)
        .empty_alternates(true)
        .build()
        .ok()?;
    Some(Rule {
        glob: glob.compile_matcher(),
        ignores,
        only_dirs,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn clone_of(url: &str, ignore: &str) -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        let config = format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n");
        fs::write(dir.path().join(".git/config"), config).unwrap();
        fs::write(dir.path().join(".gitignore"), ignore).unwrap();
        let home = Home::at(dir.path());
        (dir, home)
    }

    const ALL: &str = "/state/*\n/signals/*\n/logs/*\n!/state/.gitkeep\n/config.json\n/.env\n/.tick-home\n";

    #[test]
    fn a_home_in_a_watched_work_tree_is_refused_in_every_spelling() {
        for url in [
            "https://github.com/acme/web.git",
            "git@github.com:Acme/Web.git",
            "git@github-work:acme/web",
            "ssh://git@github.com:22/acme/web/",
            "/srv/git/acme/web.git",
        ] {
            let (_dir, home) = clone_of(url, ALL);
            let problems = check_place(&home, &["acme/web".to_owned()]);
            assert_eq!(problems.len(), 1, "{url}");
            assert!(
                problems[0].what.contains("watched repository"),
                "{url}: {}",
                problems[0].what
            );
        }
    }

    #[test]
    fn a_home_in_another_work_tree_needs_everything_ignored() {
        let (_dir, home) = clone_of("https://github.com/acme/tick.git", ALL);
        assert_eq!(check_place(&home, &["acme/web".to_owned()]), []);

        let (_dir, home) = clone_of("https://github.com/acme/tick.git", &ALL.replace("/.env\n", ""));
        let problems = check_place(&home, &["acme/web".to_owned()]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].path.to_string().ends_with("/.env"));

        let (_dir, home) = clone_of("https://github.com/acme/tick.git", "state\n");
        assert!(check_place(&home, &[]).len() > 1);
    }

    #[test]
    fn a_linked_work_tree_leads_to_the_repository_it_belongs_to() {
        let (main, _) = clone_of("https://github.com/acme/web.git", "");
        let linked = tempfile::tempdir().unwrap();
        let git_dir = main.path().join(".git/worktrees/x");
        fs::create_dir_all(&git_dir).unwrap();
        fs::write(git_dir.join("commondir"), "../..\n").unwrap();
        fs::write(linked.path().join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
        let problems = check_place(&Home::at(&linked.path().join("deep/home")), &["acme/web".to_owned()]);
        assert_eq!(problems.len(), 1);
    }

    #[test]
    fn ignore_rules_are_those_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let check = |rules: &str, path: &str| {
            fs::write(dir.path().join(".gitignore"), rules).unwrap();
            is_ignored(dir.path(), Path::new(path))
        };
        for (rules, path, expected) in [
            ("state", "state/a", true),
            ("state/", "state/a", true),
            ("/state", "deep/state/a", false),
            ("state", "deep/state/a", true),
            ("state/*\n!state/a", "state/a", false),
            ("*.db", "state/tick.db", true),
            ("/*.db", "state/tick.db", false),
            ("**/state/**", "a/state/b", true),
            ("# state", "state/a", false),
            ("", "state/a", false),
            ("state/", "state", false),
        ] {
            assert_eq!(check(rules, path), expected, "{rules:?} {path}");
        }
    }

    #[test]
    fn a_file_that_others_can_write_is_told_with_the_mend() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let dotenv = dir.path().join(".env");
        fs::create_dir(&home.prompts).unwrap();
        let set = |path: &Path, mode: u32| {
            fs::write(path, "{}").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&home.config_file, 0o644);
        set(&dotenv, 0o600);
        set(&home.prompts.join("audit.md"), 0o644);
        let (digests, problems) = examine(&home, &dotenv);
        assert_eq!(problems, []);
        assert_eq!(
            digests.keys().collect::<Vec<_>>(),
            [".env", "config.json", "prompts/audit.md"]
        );

        set(&home.config_file, 0o664);
        set(&dotenv, 0o640);
        set(&home.prompts.join("audit.md"), 0o646);
        let (_, problems) = examine(&home, &dotenv);
        let mends: Vec<&str> = problems.iter().filter_map(|p| p.example.as_deref()).collect();
        assert_eq!(mends.len(), 3);
        assert!(
            mends[0].starts_with("chmod go-w") && mends[1].starts_with("chmod 600"),
            "{mends:?}"
        );
    }
}
