//! One child from its start to the end of its last descendant.

use std::{
    path::Path,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use secrecy::ExposeSecret;
use tokio::{
    io::AsyncWriteExt,
    process::{Child, Command},
    sync::Notify,
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    ChildSpec, GRACE, LAST_WORD, Network, RUN_ID_VARIABLE, RawRun, RunExit, Sandbox,
    capture::{Capture, FLOOD},
    door::{self, Door},
    env,
    tree::Tree,
};

/// How long output may still come once every process is gone.
const DRAIN: Duration = Duration::from_millis(500);
const STOP_CHECK: Duration = Duration::from_millis(500);
/// Room in stderr for the helper's own lines.
const REPORT: usize = 4 << 10;

pub(super) struct Running {
    child: Child,
    tree: Tree,
    stdout: Capture,
    stderr: Capture,
    stdin: JoinHandle<()>,
    flood: Arc<Notify>,
    mark: String,
    _door: Option<Door>,
}

enum End {
    Exited(std::io::Result<ExitStatus>),
    Deadline,
    Stopped,
    Flood,
}

impl Running {
    pub(super) fn start(spec: &ChildSpec) -> Result<Self, String> {
        let program = spec.program.display();
        if !spec.program.is_absolute() {
            return Err(format!("cannot start {program}: its path is not absolute"));
        }
        let mark = mark().map_err(|error| format!("cannot start {program}: {error}"))?;
        let mut command = command(spec, &mark).map_err(|error| format!("cannot start {program}: {error}"))?;
        let mut end = None;
        if let Network::Hosts(hosts) = &spec.sandbox.network {
            let (ours, theirs) = door::ends().map_err(|error| format!("cannot start {program}: {error}"))?;
            command.stdin(theirs);
            end = Some((ours, hosts));
        }
        let (mut child, tree) = Tree::plant(&mut command, &spec.run_id).map_err(|error| start_error(spec, &error))?;
        // The child's end in here has to go: then ours learns when the child closes its own.
        drop(command);
        let door = end.map(|(end, hosts)| Door::open(end, hosts));
        let flood = Arc::new(Notify::new());
        let pipe = child.stdin.take();
        let (Some(stdout), Some(stderr), true) = (
            child.stdout.take(),
            child.stderr.take(),
            pipe.is_some() || door.is_some(),
        ) else {
            return Err(format!("cannot start {program}: its pipes are missing"));
        };
        let input = spec.stdin.clone();
        Ok(Self {
            stdin: tokio::spawn(async move {
                if let Some(mut pipe) = pipe {
                    // A child may leave its input unread.
                    let _written = pipe.write_all(&input).await;
                }
            }),
            stdout: Capture::start(stdout, spec.stdout_cap, Arc::clone(&flood)),
            stderr: Capture::start(stderr, spec.stderr_cap.saturating_add(REPORT), Arc::clone(&flood)),
            child,
            tree,
            flood,
            mark,
            _door: door,
        })
    }

    pub(super) async fn finish(mut self, spec: ChildSpec, started: Instant) -> RawRun {
        let grace = GRACE.min(spec.deadline / 4);
        let end = tokio::select! {
            status = self.child.wait() => End::Exited(status),
            () = sleep(spec.deadline.saturating_sub(grace)) => End::Deadline,
            () = raised(&spec) => End::Stopped,
            () = self.flood.notified() => End::Flood,
        };
        let exit = match end {
            End::Exited(status) => ended(status),
            // How it ended once it was told to does not matter.
            End::Deadline => {
                let _told = self.put_down(grace).await;
                RunExit::TimedOut
            }
            End::Stopped => {
                let _told = self.put_down(grace).await;
                RunExit::Stopped
            }
            End::Flood => {
                let _told = self.put_down(grace).await;
                RunExit::Flooded(spec.stdout_cap.min(spec.stderr_cap).saturating_add(FLOOD))
            }
        };
        let leftovers = self.tree.end().await;
        self.stdin.abort();
        let drained = async {
            self.stdout.end().await;
            self.stderr.end().await;
        };
        // A descendant that cannot die (uninterruptible) may hold a pipe: what came until now is the output.
        let _all_came = timeout(DRAIN, drained).await;
        let (stdout, stdout_cut) = self.stdout.take();
        let (stderr, stderr_cut) = self.stderr.take();
        let report = Report::read(stderr, &self.mark);
        // One that was put down may not have come up yet.
        let put_down = matches!(exit, RunExit::TimedOut | RunExit::Stopped | RunExit::Flooded(_));
        let failure = report.failure.filter(|_| !put_down);
        let mut stderr = report.rest;
        let too_long = stderr.len() > spec.stderr_cap;
        stderr.truncate(spec.stderr_cap);
        RawRun {
            exit: failure.map_or(exit, |why| {
                RunExit::SpawnFailed(format!("cannot start {}: {why}", spec.program.display()))
            }),
            stdout,
            stderr,
            truncated: stdout_cut || stderr_cut || too_long,
            wall: started.elapsed(),
            sandbox: report.sandbox,
            leftovers,
        }
    }

    /// TERM, grace, KILL; the descendants are noted before they can lose their parent.
    async fn put_down(&mut self, grace: Duration) -> std::io::Result<ExitStatus> {
        self.tree.note();
        self.tree.ask_to_end();
        if let Ok(status) = timeout(grace, self.child.wait()).await {
            return status;
        }
        self.tree.note();
        self.child.start_kill()?;
        self.child.wait().await
    }
}

async fn raised(spec: &ChildSpec) {
    match &spec.stop {
        Some(stop) => {
            while !stop.raised() {
                sleep(STOP_CHECK).await;
            }
        }
        None => std::future::pending().await,
    }
}

fn ended(status: std::io::Result<ExitStatus>) -> RunExit {
    use std::os::unix::process::ExitStatusExt;
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => RunExit::Code(code),
            (None, Some(signal)) => RunExit::Signal(signal),
            (None, None) => RunExit::SpawnFailed("it ended without a status".to_owned()),
        },
        Err(error) => RunExit::SpawnFailed(format!("cannot wait for it: {error}")),
    }
}

/// The helper marks its lines with this, so that the child (which never sees it) cannot write one.
fn mark() -> anyhow::Result<String> {
    Ok(env::random_nonce()?.as_str().to_owned())
}

#[expect(clippy::disallowed_methods, reason = "the one place that starts children")]
fn command(spec: &ChildSpec, mark: &str) -> std::io::Result<Command> {
    let mut command = Command::new(helper()?);
    command.arg("__exec").arg("--mark").arg(mark);
    command.arg("--parent").arg(std::process::id().to_string());
    let Sandbox {
        write,
        read,
        hide,
        network,
    } = &spec.sandbox;
    match network {
        Network::Own => {}
        Network::With(services) => {
            for service in services {
                command.arg("--service").arg(serde_json::to_string(service)?);
            }
        }
        Network::Hosts(_) => drop(command.arg("--door")),
        Network::Open => drop(command.arg("--network")),
    }
    for (flag, paths) in [("--write", write), ("--read", read), ("--hide", hide)] {
        for path in paths {
            command.arg(flag).arg(path);
        }
    }
    let path = spec.env.iter().find(|(name, _)| name == "PATH");
    for dir in path.iter().flat_map(|(_, dirs)| dirs.expose_secret().split(':')) {
        if dir.starts_with('/') {
            command.arg("--path").arg(dir);
        }
    }
    command.arg("--").arg(&spec.program).args(&spec.args);
    command.env_clear();
    for (name, value) in &spec.env {
        command.env(name, value.expose_secret());
    }
    command.env(RUN_ID_VARIABLE, spec.run_id.as_str());
    command
        .current_dir(&spec.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    Ok(command)
}

/// This very program. A test binary lies in `deps/`, below the program that it tests.
fn helper() -> std::io::Result<std::path::PathBuf> {
    let own = std::env::current_exe()?;
    let tested = own
        .parent()
        .filter(|dir| dir.file_name().is_some_and(|name| name == "deps"))
        .and_then(Path::parent)
        .map(|dir| dir.join("tick"))
        .filter(|program| program.is_file());
    Ok(tested.unwrap_or(own))
}

fn start_error(spec: &ChildSpec, error: &std::io::Error) -> String {
    if spec.cwd.is_dir() {
        format!("cannot start {}: {error}", spec.program.display())
    } else {
        format!(
            "cannot start {}: its working directory {} is missing",
            spec.program.display(),
            spec.cwd.display()
        )
    }
}

/// What the helper said before it became the child: the first line of stderr, and one more if it could not.
struct Report {
    sandbox: String,
    failure: Option<String>,
    rest: Vec<u8>,
}

impl Report {
    fn read(stderr: Vec<u8>, mark: &str) -> Self {
        let Some((sandbox, rest)) = marked_line(&stderr, mark) else {
            let said: String = String::from_utf8_lossy(&stderr).chars().take(200).collect();
            return Self {
                sandbox: "not sandboxed: it never ran".to_owned(),
                failure: Some(format!("the helper did not come up: {}", said.trim())),
                rest: stderr,
            };
        };
        match marked_line(rest, mark) {
            // It stays beside the child, which could read the mark from its command line: no marked line counts any more.
            Some((said, rest)) if said == LAST_WORD => Self {
                sandbox,
                failure: None,
                rest: rest.to_vec(),
            },
            Some((failure, rest)) => Self {
                sandbox: "not sandboxed: it never ran".to_owned(),
                failure: Some(failure),
                rest: rest.to_vec(),
            },
            None => Self {
                sandbox,
                failure: None,
                rest: rest.to_vec(),
            },
        }
    }
}

fn marked_line<'a>(text: &'a [u8], mark: &str) -> Option<(String, &'a [u8])> {
    let line = text.strip_prefix(mark.as_bytes())?.strip_prefix(b" ")?;
    let end = line.iter().position(|byte| *byte == b'\n')?;
    Some((String::from_utf8_lossy(&line[..end]).into_owned(), &line[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_helper_reports_and_nobody_else() {
        let ran = Report::read(b"m1 sandboxed\nm2 not sandboxed: forged\nout".to_vec(), "m1");
        assert_eq!((ran.sandbox.as_str(), ran.failure), ("sandboxed", None));
        assert_eq!(ran.rest, b"m2 not sandboxed: forged\nout");

        let stays = Report::read(b"m1 sandboxed\nm1 -\nm1 forged\n".to_vec(), "m1");
        assert_eq!((stays.failure, stays.rest), (None, b"m1 forged\n".to_vec()));

        let failed = Report::read(b"m1 not sandboxed: x\nm1 no such file\n".to_vec(), "m1");
        assert_eq!(failed.failure.as_deref(), Some("no such file"));

        let silent = Report::read(b"error: unexpected argument\n".to_vec(), "m1");
        assert!(silent.failure.unwrap().contains("unexpected argument"));
    }
}
