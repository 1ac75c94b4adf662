//! Runs a program of the owner's that looks at something: as any child, with an empty directory of its own to write
//! in, the machine's network, and an environment that is exactly what it is given.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::OFlags;
use secrecy::SecretString;

use super::process::{self, ChildSpec, Network, RawRun, Sandbox, base_env, own_path, random_nonce};
use crate::{config::Home, model::RunId};

/// Error output that is kept, for its first line.
const STDERR_CAP: usize = 16 << 10;
/// How the directory of a run is called, with its nonce.
const NAME: &str = "tick-plugin.";

#[derive(Debug)]
pub struct Plugin<'a> {
    /// A file of the home's `collectors`.
    pub program: &'a Path,
    pub args: &'a [String],
    /// Beside what every child gets.
    pub env: &'a [(String, SecretString)],
    /// Directories in which it finds programs; those of this process where there is none.
    pub path: &'a [PathBuf],
    /// What it may read beside the system's own.
    pub read: Vec<PathBuf>,
    pub home: &'a Home,
    pub deadline: Duration,
    pub stdout_cap: usize,
}

/// Runs it to its end; no process of it is left then, and nothing that it wrote.
pub async fn run(plugin: Plugin<'_>) -> RawRun {
    let temp = std::env::temp_dir();
    // Between its making and its holding another process may take it for left.
    match Room::make_in(&temp).or_else(|_| Room::make_in(&temp)) {
        Ok(room) => process::run(child(plugin, &room)).await,
        Err(why) => RawRun::never_ran(why, Duration::ZERO),
    }
}

/// Removes the directories of runs whose process was killed.
pub fn sweep() {
    sweep_in(&std::env::temp_dir());
}

fn sweep_in(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME)) {
        let dir = entry.path();
        // Somebody else's, or somebody is at work in it: his.
        if is_own(&dir) && hold(&dir).is_ok() {
            remove(&dir);
        }
    }
}

fn is_own(dir: &Path) -> bool {
    let uid = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(dir).is_ok_and(|about| about.is_dir() && about.uid() == uid)
}

/// Says to others that somebody is at work in it, as long as the file is open.
fn hold(dir: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::DIRECTORY).bits().cast_signed())
        .open(dir)?;
    // By full path: std has an inherent method of the same name with another error type.
    fs2::FileExt::try_lock_exclusive(&file)?;
    Ok(file)
}

fn remove(dir: &Path) {
    if let Err(error) = fs::remove_dir_all(dir) {
        tracing::warn!(path = %dir.display(), %error, "cannot remove the directory of a plugin run");
    }
}

/// The directory of one run; removed with all that is in it when this is dropped.
struct Room {
    dir: PathBuf,
    run_id: RunId,
    /// Gone with this process, however it ends.
    _held: File,
}

impl Room {
    fn make_in(parent: &Path) -> Result<Self, String> {
        let fresh = random_nonce().map_err(|error| format!("{error:#}"))?;
        let run_id = RunId::parse(&format!("plugin.{}", fresh.as_str())).map_err(|error| error.to_string())?;
        let dir = parent.join(format!("{NAME}{}", fresh.as_str()));
        let made = fs::DirBuilder::new().mode(0o700).create(&dir).and_then(|()| hold(&dir));
        match made {
            Ok(held) => Ok(Self {
                dir,
                run_id,
                _held: held,
            }),
            Err(error) => Err(format!("cannot make its directory {}: {error}", dir.display())),
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        remove(&self.dir);
    }
}

fn child(plugin: Plugin<'_>, room: &Room) -> ChildSpec {
    let path = if plugin.path.is_empty() {
        own_path()
    } else {
        let dirs: Vec<String> = plugin.path.iter().map(|dir| dir.display().to_string()).collect();
        dirs.join(":")
    };
    let mut env = base_env(&path, &room.dir, &room.dir, "C.UTF-8");
    env.extend(plugin.env.iter().cloned());
    let home = plugin.home;
    // Its own directory stays readable: scripts bring files of their own along.
    let read = plugin.read.into_iter().chain([home.collectors.clone()]).collect();
    ChildSpec {
        program: plugin.program.to_owned(),
        args: plugin.args.iter().map(OsString::from).collect(),
        env,
        cwd: room.dir.clone(),
        stdin: Vec::new(),
        deadline: plugin.deadline,
        stdout_cap: plugin.stdout_cap,
        stderr_cap: STDERR_CAP,
        run_id: room.run_id.clone(),
        sandbox: Sandbox {
            write: vec![room.dir.clone()],
            read,
            hide: vec![
                home.config_file.clone(),
                home.root.join(".env"),
                home.prompts.clone(),
                home.state.clone(),
                home.signals.clone(),
                home.logs.clone(),
            ],
            network: Network::Open,
        },
        stop: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_works_in_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let room = Room::make_in(parent.path()).unwrap();
        let left = parent.path().join(format!("{NAME}0011223344556677"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("file"), "").unwrap();
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, parent.path().join(format!("{NAME}link"))).unwrap();
        sweep_in(parent.path());
        assert!(room.dir.is_dir() && outside.is_dir());
        assert!(!left.exists());
        let dir = room.dir.clone();
        drop(room);
        assert!(!dir.exists());
    }
}
