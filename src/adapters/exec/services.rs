//! A child with services: this process stays as their parent, starts them in order, waits until each is there, runs the
//! child, and ends everything it started with it. It does the same when whoever started it is gone.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    os::unix::process::{ExitStatusExt as _, parent_id},
    path::{Path, PathBuf},
    process::{Child, ExitCode, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Plan, exec};
use crate::{
    adapters::{
        clock::instant,
        process::{NOT_UP, NOT_UP_EXIT, RUN_ID_VARIABLE, Ready, Service, end_descendants},
    },
    model::RunId,
};

/// Between two looks at what runs.
const LOOK: Duration = Duration::from_millis(20);
const CONNECT: Duration = Duration::from_millis(500);

/// Runs the program beside its services, and ends as it ended.
pub(super) fn stay(plan: &Plan) -> ExitCode {
    // From here on the end of the parent is looked for: killed at once, this process could end nothing.
    let _free = super::outlive_parent();
    let run_id = own_run_id();
    let ended = run(plan);
    if let Some(run_id) = run_id {
        end_descendants(&run_id);
    }
    match ended {
        Ok(status) => as_it_ended(status),
        Err(Stop::Orphaned) => ExitCode::from(NOT_UP_EXIT),
        Err(Stop::NotUp(why)) => {
            let _told = writeln!(io::stderr(), "{NOT_UP}{}", why.replace('\n', " "));
            ExitCode::from(NOT_UP_EXIT)
        }
    }
}

enum Stop {
    /// Whoever started this is gone.
    Orphaned,
    NotUp(String),
}

fn run(plan: &Plan) -> Result<ExitStatus, Stop> {
    for (n, service) in plan.services.iter().enumerate() {
        let log = std::env::temp_dir().join(format!("service-{n}.log"));
        start(plan, service, &log).map_err(|stop| match stop {
            Stop::Orphaned => Stop::Orphaned,
            Stop::NotUp(why) => Stop::NotUp(format!("`{}` {why}{}", service.name, last_words(&log))),
        })?;
    }
    let mut child = exec(&plan.program).args(&plan.args).spawn().map_err(|error| {
        let program = plan.program.display();
        Stop::NotUp(format!(
            "the command after them could not be started: {program}: {error}"
        ))
    })?;
    loop {
        if let Some(status) = ended(&mut child)? {
            return Ok(status);
        }
        rest(plan)?;
    }
}

/// Its commands in order; of the last one only that it is there is waited for.
fn start(plan: &Plan, service: &Service, log: &Path) -> Result<(), Stop> {
    let by = instant() + service.within;
    let Some((last, before)) = service.start.split_last() else {
        return Err(Stop::NotUp("has no command".to_owned()));
    };
    for command in before {
        let mut child = spawn(command, log)?;
        let status = wait(plan, &mut child, by)?;
        let status = status.ok_or_else(|| Stop::NotUp(format!("did not end within {:?}", service.within)))?;
        if !status.success() {
            return Err(Stop::NotUp(format!("ended with {status}")));
        }
    }
    let mut child = spawn(last, log)?;
    loop {
        if let Some(status) = ended(&mut child)? {
            return Err(Stop::NotUp(format!("ended with {status} before it was ready")));
        }
        if is_ready(plan, &service.ready, by)? {
            return Ok(());
        }
        if instant() >= by {
            return Err(Stop::NotUp(format!("was not ready within {:?}", service.within)));
        }
        rest(plan)?;
    }
}

fn is_ready(plan: &Plan, ready: &Ready, by: Instant) -> Result<bool, Stop> {
    match ready {
        Ready::Port(port) => Ok([Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            .into_iter()
            .any(|host| {
                TcpStream::connect_timeout(&SocketAddr::new(host, *port), CONNECT).is_ok_and(|it| !is_itself(&it))
            })),
        Ready::Command(program, args) => {
            let mut child = exec(program)
                .args(args)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|error| Stop::NotUp(format!("cannot be asked by {}: {error}", program.display())))?;
            let status = wait(plan, &mut child, by)?;
            if status.is_none() {
                let _ended = child.kill();
            }
            Ok(status.is_some_and(|status| status.success()))
        }
    }
}

/// A connection to a port from which connections are made can be given that very port, and is then answered by itself.
fn is_itself(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(own), Ok(peer)) if own == peer)
}

fn spawn((program, args): &(PathBuf, Vec<String>), log: &Path) -> Result<Child, Stop> {
    let open = || -> io::Result<(File, File)> {
        let file = File::options().create(true).append(true).open(log)?;
        Ok((file.try_clone()?, file))
    };
    let failed = |error: io::Error| Stop::NotUp(format!("could not be started: {}: {error}", program.display()));
    let (out, err) = open().map_err(failed)?;
    exec(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(failed)
}

/// None: not by then.
fn wait(plan: &Plan, child: &mut Child, by: Instant) -> Result<Option<ExitStatus>, Stop> {
    loop {
        if let Some(status) = ended(child)? {
            return Ok(Some(status));
        }
        if instant() >= by {
            return Ok(None);
        }
        rest(plan)?;
    }
}

fn ended(child: &mut Child) -> Result<Option<ExitStatus>, Stop> {
    child
        .try_wait()
        .map_err(|error| Stop::NotUp(format!("cannot be waited for: {error}")))
}

fn rest(plan: &Plan) -> Result<(), Stop> {
    if parent_id() != plan.parent {
        return Err(Stop::Orphaned);
    }
    sleep(LOOK);
    Ok(())
}

fn as_it_ended(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal().and_then(rustix::process::Signal::from_named_raw) {
        let _sent = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// The last line that a service wrote, for the person who has to mend it.
fn last_words(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.map_or_else(String::new, |line| {
        format!(": {}", line.trim().chars().take(300).collect::<String>())
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the mark of its own run, to find what it started"
)]
fn own_run_id() -> Option<RunId> {
    RunId::parse(&std::env::var(RUN_ID_VARIABLE).ok()?).ok()
}
