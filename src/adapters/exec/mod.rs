//! What the hidden verb `tick __exec` does between fork and exec: its own session, limits, confinement, one report
//! line, then it becomes the program. It decides nothing, and after the exec nothing of it is left.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod door;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod readable;
#[cfg(target_os = "linux")]
mod rights;
mod services;

use std::{
    ffi::OsString,
    io::Write as _,
    os::unix::process::{CommandExt as _, parent_id},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use rustix::process::{Resource, Rlimit};

use crate::adapters::process::{LAST_WORD, Service};

/// Largest file that a child may write.
const FILE_SIZE: u64 = 4 << 30;

#[derive(Debug, Clone)]
pub struct Plan {
    /// Stands before each report line; only the runner knows it.
    pub mark: String,
    /// Process that has to be alive; this one dies with it.
    pub parent: u32,
    pub write: Vec<PathBuf>,
    /// What may be read beside the system and the tools of `path`.
    pub read: Vec<PathBuf>,
    /// What may not be read, wherever it lies; `write` and the working directory are stronger.
    pub hide: Vec<PathBuf>,
    /// It needs the machine's network.
    pub network: bool,
    /// It needs a way to some hosts, which whoever started it minds; stdin is the line to that.
    pub door: bool,
    /// What it needs on its loopback.
    pub services: Vec<Service>,
    /// Where programs are looked for.
    pub path: Vec<PathBuf>,
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// Becomes the program. Returns only when it could not.
pub fn become_program(plan: &Plan) -> ExitCode {
    let why = match prepare(plan) {
        Ok(_) if !plan.services.is_empty() => {
            report(&plan.mark, LAST_WORD);
            return services::stay(plan);
        }
        Ok(variables) => {
            let mut program = exec(&plan.program);
            if plan.door {
                program.stdin(Stdio::null());
            }
            program.args(&plan.args).envs(variables).exec().to_string()
        }
        Err(why) => why,
    };
    report(&plan.mark, &why);
    ExitCode::from(127)
}

/// Confined. What the program has to be told is in the variables.
fn prepare(plan: &Plan) -> Result<Vec<(&'static str, String)>, String> {
    rustix::process::setsid().map_err(|error| format!("cannot make a session of its own: {error}"))?;
    die_with_parent()?;
    if parent_id() != plan.parent {
        return Err("the process that started it is gone".to_owned());
    }
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, FILE_SIZE)?;
    let (held, variables) = confine(plan);
    report(&plan.mark, &held);
    Ok(variables)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this process becomes the program, or stays as the parent of its services: it is confined by then"
)]
fn exec(program: &Path) -> Command {
    Command::new(program)
}

/// One line for the runner, on stderr. Where that is closed there is no runner to tell.
fn report(mark: &str, text: &str) {
    let line = text.replace('\n', " ");
    let _written = writeln!(std::io::stderr().lock(), "{mark} {line}");
}

fn limit(resource: Resource, most: u64) -> Result<(), String> {
    let lower = |now: Option<u64>| Some(now.map_or(most, |now| now.min(most)));
    let now = rustix::process::getrlimit(resource);
    let limit = Rlimit {
        current: lower(now.current),
        maximum: lower(now.maximum),
    };
    rustix::process::setrlimit(resource, limit).map_err(|error| format!("cannot set a limit: {error}"))
}

#[cfg(target_os = "linux")]
fn die_with_parent() -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|error| format!("cannot bind its life to its parent's: {error}"))
}

#[cfg(target_os = "linux")]
fn outlive_parent() -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(None).map_err(|error| error.to_string())
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the other form can fail")]
fn outlive_parent() -> Result<(), String> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the other form can fail")]
fn die_with_parent() -> Result<(), String> {
    Ok(())
}

/// Applies what the kernel has, and says what it does not hold.
#[cfg(target_os = "linux")]
fn confine(plan: &Plan) -> (String, Vec<(&'static str, String)>) {
    // The network while there are rights to leave it, then the files: opening their rules is what the others may forbid
    // later. No part waits for another to hold.
    let network = if plan.network {
        Err("its network is open".to_owned())
    } else {
        network::leave()
    };
    let mut variables = Vec::new();
    let way = match (plan.door, &network) {
        (true, Ok(())) => door::open().map(|port| variables = door::variables(port)),
        // Where its network is open it needs none.
        (true, Err(_)) | (false, _) => Ok(()),
    };
    let mut parts = vec![files::confine(plan), rights::drop_all(), calls::confine()];
    if rustix::process::geteuid().is_root() {
        parts.push(Err("it runs as root".to_owned()));
    }
    parts.push(network);
    parts.push(way);
    let held = match parts.into_iter().filter_map(Result::err).collect::<Vec<_>>() {
        open if open.is_empty() => "sandboxed".to_owned(),
        open => format!("not sandboxed: {}", open.join(", ")),
    };
    (held, variables)
}

#[cfg(not(target_os = "linux"))]
fn confine(plan: &Plan) -> (String, Vec<(&'static str, String)>) {
    let _unused = (&plan.write, &plan.read, &plan.hide, &plan.path, plan.network);
    let held = "not sandboxed: this system has neither Landlock nor seccomp, its network is open";
    (held.to_owned(), Vec::new())
}
