//! The world's own children: git, python, the tests that CI runs. Each is started here, in a process group of its own,
//! and ended by its id. The product's children are never touched.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::{
    adapters::{clock::instant, process::located},
    config::{env::Environment, load::toolchain_env},
};

/// Children that outlive the call that started them.
#[derive(Debug)]
pub struct Children {
    home: PathBuf,
    running: Mutex<Vec<(String, Child)>>,
    closing: AtomicBool,
}

impl Children {
    /// `home` is the `HOME` that every child sees.
    pub fn new(home: PathBuf) -> Self {
        Self {
            home,
            running: Mutex::new(Vec::new()),
            closing: AtomicBool::new(false),
        }
    }

    /// A command with nothing of the caller's environment but the search path and where its tool chains are.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the world starts a program; it needs the search path to find git and python3"
    )]
    pub fn command(&self, program: &str, dir: &Path) -> Command {
        use std::os::unix::process::CommandExt;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut command = Command::new(located(Path::new(program), &path));
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .current_dir(dir)
            .stdin(Stdio::null())
            .process_group(0);
        if !path.is_empty() {
            command.env("PATH", path);
        }
        command.envs(toolchain_env(&Environment::of_process()));
        command
    }

    /// Runs to the end with `input` on stdin and gives back all output.
    pub fn output(&self, mut command: Command, input: &[u8]) -> Result<Output> {
        let name = command.get_program().to_string_lossy().into_owned();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("start {name}"))?;
        let mut stdin = child.stdin.take().context("stdin is piped")?;
        thread::scope(|scope| {
            // A program may end before it has read everything; what it says then counts, not the broken pipe.
            scope.spawn(move || drop(stdin.write_all(input)));
            child.wait_with_output()
        })
        .with_context(|| format!("wait for {name}"))
    }

    /// Runs to the end or to the deadline, with stdout and stderr in one file; gives back whether it ended with 0.
    pub fn logged(&self, mut command: Command, log: &Path, deadline: Duration) -> Result<bool> {
        let out = File::create(log).with_context(|| format!("create {}", log.display()))?;
        command.stdout(out.try_clone()?).stderr(out);
        let mut child = command.spawn().context("start a CI job")?;
        let started = instant();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status.success());
            }
            if started.elapsed() > deadline || self.is_closing() {
                end(&mut child);
                return Ok(false);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a server and waits for the first line it prints.
    pub fn serve(&self, name: &str, mut command: Command) -> Result<String> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {name}"))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        if line.trim().is_empty() {
            let mut said = String::new();
            end(&mut child);
            if let Some(mut stderr) = child.stderr.take() {
                stderr.read_to_string(&mut said)?;
            }
            bail!("{name} did not start: {said}");
        }
        self.lock().push((name.to_owned(), child));
        Ok(line.trim().to_owned())
    }

    /// Runs to the end and hands on each line of stdout as it comes. Gives back how it ended and what it said on stderr.
    pub fn lines(
        &self,
        name: &str,
        mut command: Command,
        mut on_line: impl FnMut(&str),
    ) -> Result<(ExitStatus, String)> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {name}"))?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut stderr = child.stderr.take().context("stderr is piped")?;
        self.lock().push((name.to_owned(), child));
        let said = thread::scope(|scope| {
            let said = scope.spawn(move || {
                let mut said = Vec::new();
                let _cut = stderr.read_to_end(&mut said);
                String::from_utf8_lossy(&said).into_owned()
            });
            for line in BufReader::new(stdout).lines() {
                on_line(&line?);
            }
            said.join()
                .map_err(|_| anyhow::anyhow!("the reader of stderr panicked"))
        })
        .with_context(|| format!("read what {name} prints"))?;
        let mut running = self.lock();
        let at = running.iter().position(|(n, _)| n == name);
        let Some(at) = at else {
            bail!("{name} was ended from outside");
        };
        let (_, mut child) = running.remove(at);
        drop(running);
        Ok((child.wait().with_context(|| format!("wait for {name}"))?, said))
    }

    /// Ends one server by name.
    pub fn end(&self, name: &str) {
        let mut running = self.lock();
        for (_, child) in running.iter_mut().filter(|(n, _)| n == name) {
            end(child);
        }
        running.retain(|(n, _)| n != name);
    }

    /// From now on nothing is waited for: a CI job that runs is ended, one that waits is not begun.
    pub fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    pub fn end_all(&self) {
        for (_, mut child) in self.lock().drain(..) {
            end(&mut child);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(String, Child)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// The child was made leader of its group, so the group's id is its own. Returns when the whole group is gone, or is as
/// good as gone: a dead process that nobody waits for has no file open.
fn end(child: &mut Child) {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return;
    };
    // Already gone is as good.
    let _gone = kill_process_group(group, Signal::KILL);
    let _reaped = child.wait();
    for _ in 0..100 {
        if test_kill_process_group(group).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Ends what still works inside `root`, a directory that nobody but the world uses.
pub fn end_strays(root: &Path) {
    for (id, _) in working_in(root) {
        if let Some(pid) = Pid::from_raw(id) {
            // Already gone is as good.
            let _gone = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

/// Whether somebody works inside `root` whom the world did not start: each child of it has its home there.
pub fn in_use(root: &Path) -> bool {
    let home = |id: i32| std::fs::read(format!("/proc/{id}/environ"));
    let in_world = |environ: Vec<u8>| {
        let mut pairs = environ.split(|b| *b == 0);
        let found = pairs.find_map(|pair| pair.strip_prefix(b"HOME="));
        found.is_some_and(|home| Path::new(std::ffi::OsStr::from_bytes(home)).starts_with(root))
    };
    working_in(root)
        .into_iter()
        .any(|(id, _)| !home(id).is_ok_and(in_world))
}

/// Processes that still work inside `root`: what somebody started there and nobody ended. Linux only; elsewhere empty.
pub fn strays(root: &Path) -> Vec<String> {
    let mut found: Vec<String> = working_in(root)
        .into_iter()
        .map(|(id, line)| format!("{id} {line}"))
        .collect();
    found.sort();
    found
}

/// Id and command line.
fn working_in(root: &Path) -> Vec<(i32, String)> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    processes
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .filter(|(id, _)| *id != own)
        .filter(|(_, dir)| std::fs::read_link(dir.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root)))
        .filter_map(|(id, dir)| {
            let line = std::fs::read(dir.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            // Without a command line it has given up its memory already: it was ended, and is about to be gone.
            (!line.is_empty()).then_some((id, line))
        })
        .collect()
}
