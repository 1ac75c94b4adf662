//! Runs a program of the owner's that looks at something: as any child, with an empty directory of its own to write
//! in, the machine's network, and an environment that is exactly what it is given.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use secrecy::SecretString;

use super::process::{self, ChildSpec, Network, RawRun, Sandbox, base_env, own_path, random_nonce};
use crate::{config::Home, model::RunId};

/// Error output that is kept, for its first line.
const STDERR_CAP: usize = 16 << 10;

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
    match Room::make() {
        Ok(room) => process::run(child(plugin, &room)).await,
        Err(why) => RawRun::never_ran(why, Duration::ZERO),
    }
}

/// The directory of one run; removed with all that is in it when this is dropped.
struct Room {
    dir: PathBuf,
    run_id: RunId,
}

impl Room {
    fn make() -> Result<Self, String> {
        let fresh = random_nonce().map_err(|error| format!("{error:#}"))?;
        let run_id = RunId::parse(&format!("plugin.{}", fresh.as_str())).map_err(|error| error.to_string())?;
        let dir = std::env::temp_dir().join(format!("tick-{}", run_id.as_str()));
        let made = fs::DirBuilder::new().mode(0o700).create(&dir);
        made.map_err(|error| format!("cannot make its directory {}: {error}", dir.display()))?;
        Ok(Self { dir, run_id })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            tracing::warn!(path = %self.dir.display(), %error, "cannot remove the directory of a plugin run");
        }
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
