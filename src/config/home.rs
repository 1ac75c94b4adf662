//! Where the home is, and its directories. It is found, never guessed: a flag, a parent that is marked, or
//! the user's own configuration directory.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::{Home, env::Environment, raw};
use crate::exit::{Exit, Fault};

/// Name of the file that marks a home. It holds the absolute path of its directory, so that a marker which came with
/// a checkout of somebody else marks nothing.
pub const MARKER: &str = ".tick-home";

/// Root of the home and the directory below which the run-time directories are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub root: PathBuf,
    pub run_time: PathBuf,
}

/// `--home` or `TICK_HOME`, else the nearest marked parent of `cwd`, else the user's configuration directory.
pub(super) fn find(flag: Option<&Path>, cwd: &Path, env: &Environment) -> Result<Found, Fault> {
    if let Some(flag) = flag {
        let root = cwd.join(flag);
        return Ok(Found {
            run_time: root.clone(),
            root,
        });
    }
    if let Some(root) = cwd.ancestors().find(|dir| is_marked(dir)) {
        return Ok(Found {
            root: root.to_owned(),
            run_time: root.to_owned(),
        });
    }
    let user = |variable: &str, below: &str| {
        env.dir(variable)
            .or_else(|| env.dir("HOME").map(|home| home.join(below)))
            .map(|dir| dir.join("tick"))
    };
    match (
        user("XDG_CONFIG_HOME", ".config"),
        user("XDG_STATE_HOME", ".local/state"),
    ) {
        (Some(root), Some(run_time)) => Ok(Found { root, run_time }),
        _ => Err(
            Fault::new(Exit::Config, "cannot find a home for config and state: HOME is not set")
                .advise("name one: tick --home DIR"),
        ),
    }
}

fn is_marked(dir: &Path) -> bool {
    let file = dir.join(MARKER);
    let ours = fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file() && meta.uid() == own_uid());
    ours && fs::read_to_string(&file).is_ok_and(|text| Path::new(text.trim_end_matches('\n')) == dir)
}

pub(super) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The directories of a home; `dirs` of the config moves the run-time ones.
pub(super) fn layout(found: &Found, dirs: &raw::Dirs) -> Home {
    let moved = |set: Option<&String>, name: &str| match set {
        Some(dir) => found.root.join(dir),
        None => found.run_time.join(name),
    };
    Home {
        config_file: found.root.join("config.json"),
        state: moved(dirs.state.as_ref(), "state"),
        signals: moved(dirs.signals.as_ref(), "signals"),
        logs: moved(dirs.logs.as_ref(), "logs"),
        collectors: found.root.join("collectors"),
        prompts: found.root.join("prompts"),
        root: found.root.clone(),
    }
}

impl Home {
    /// A tick has worked here.
    pub fn has_ledger(&self) -> bool {
        self.state.join("tick.db").is_file()
    }

    /// A home with everything in one directory.
    pub fn at(root: &Path) -> Self {
        layout(
            &Found {
                root: root.to_owned(),
                run_time: root.to_owned(),
            },
            &raw::Dirs::default(),
        )
    }

    /// Makes the run-time directories, readable by the user only. A symbolic link in the place of one, or one that
    /// belongs to somebody else, is refused: whoever made it could read or replace what tick writes.
    pub fn prepare(&self) -> Result<(), Fault> {
        for dir in [&self.state, &self.signals, &self.logs] {
            prepare_dir(dir)?;
        }
        Ok(())
    }
}

/// Why the directories of this home cannot be what tick writes to, by key of `dirs`: they become private, and old files in
/// them are removed.
pub(super) fn misplaced(home: &Home) -> Vec<(&'static str, String)> {
    let dirs = [("state", &home.state), ("signals", &home.signals), ("logs", &home.logs)];
    let mut wrong = Vec::new();
    for (n, (key, dir)) in dirs.iter().enumerate() {
        let what = if home.root.starts_with(dir) {
            Some("holds the home itself".to_owned())
        } else if dirs[..n].iter().any(|(_, other)| other == dir) {
            Some("is used for something else already".to_owned())
        } else if holds_others(dir) {
            Some("holds files of something else".to_owned())
        } else {
            None
        };
        wrong.extend(what.map(|what| (*key, format!("{} {what}", dir.display()))));
    }
    wrong
}

/// An open directory that has something in it, and nothing that tick makes.
fn holds_others(dir: &Path) -> bool {
    let is_open = |meta: &fs::Metadata| meta.mode() & 0o077 != 0;
    if !fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir() && is_open(&meta)) {
        return false;
    }
    let ours = |name: &str| {
        matches!(name, ".gitkeep" | "tick.db" | "locks" | "latest.json" | "agents")
            || name.starts_with("run-")
            || name.ends_with(".json.zst")
    };
    let mut names = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    let mut any = false;
    let marked = names.any(|name| {
        any = true;
        name.to_str().is_some_and(ours)
    });
    any && !marked
}

fn prepare_dir(dir: &Path) -> Result<(), Fault> {
    match fs::symlink_metadata(dir) {
        Ok(meta) if meta.is_symlink() => Err(Fault::new(
            Exit::Config,
            format!("cannot use {}: it is a symbolic link", dir.display()),
        )
        .advise("make it a directory, or name its target in config.json, key dirs")),
        Ok(meta) if !meta.is_dir() => Err(Fault::new(
            Exit::Config,
            format!("cannot use {}: it is not a directory", dir.display()),
        )),
        Ok(meta) if meta.uid() != own_uid() => Err(Fault::new(
            Exit::Config,
            format!(
                "cannot use {}: it belongs to another user (uid {})",
                dir.display(),
                meta.uid()
            ),
        )
        .advise(format!(
            "chown it to the user that runs tick, or run tick as uid {}",
            meta.uid()
        ))),
        Ok(_) if holds_others(dir) => Err(Fault::new(
            Exit::Config,
            format!("cannot use {}: it holds files of something else", dir.display()),
        )
        .advise("name an empty directory in config.json, key dirs")),
        Ok(meta) if meta.mode() & 0o077 != 0 => {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(|e| could_not("restrict", dir, &e))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(|e| could_not("make", dir, &e)),
        Err(error) => Err(could_not("look at", dir, &error)),
    }
}

fn could_not(verb: &str, dir: &Path, error: &std::io::Error) -> Fault {
    Fault::new(Exit::CouldNot, format!("cannot {verb} {}: {error}", dir.display()))
        .advise("check that the disk is mounted, writable and not full")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_wins_over_a_marker_and_a_marker_over_the_users_directory() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let below = root.join("a/b");
        fs::create_dir_all(&below).unwrap();
        let env = Environment::new([("HOME", "/home/somebody")]);

        let found = find(None, &below, &env).unwrap();
        assert_eq!(found.root, Path::new("/home/somebody/.config/tick"));
        assert_eq!(found.run_time, Path::new("/home/somebody/.local/state/tick"));

        fs::write(root.join(MARKER), format!("{}\n", root.display())).unwrap();
        assert_eq!(find(None, &below, &env).unwrap().root, root);
        assert_eq!(find(Some(Path::new("x")), &below, &env).unwrap().root, below.join("x"));
        assert!(find(None, Path::new("/"), &Environment::default()).is_err());
    }

    #[test]
    fn a_marker_that_came_with_a_checkout_marks_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::write(root.join(MARKER), "/somewhere/else\n").unwrap();
        let found = find(None, &root, &Environment::new([("HOME", "/home/somebody")])).unwrap();
        assert_eq!(found.root, Path::new("/home/somebody/.config/tick"));
    }

    #[test]
    fn run_time_directories_are_private_and_never_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        fs::create_dir(&home.signals).unwrap();
        fs::set_permissions(&home.signals, fs::Permissions::from_mode(0o755)).unwrap();
        home.prepare().unwrap();
        for path in [&home.state, &home.signals, &home.logs] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o700, "{}", path.display());
        }

        fs::remove_dir(&home.state).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &home.state).unwrap();
        let fault = home.prepare().unwrap_err();
        assert_eq!(fault.exit, Exit::Config);
        assert!(fault.message.ends_with("it is a symbolic link"), "{}", fault.message);
    }
}
