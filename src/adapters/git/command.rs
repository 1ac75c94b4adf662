//! The one context that builds every git command. Nothing of the machine's or the user's git configuration, no
//! hook, filter, prompt, pager, editor or proxy reaches it; the environment is exactly what stands here.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use base64::Engine as _;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
};

use super::{GitError, GitErrorKind, Result, error::classify, url::RemoteUrl};
use crate::{
    adapters::process::located,
    text::{Redactor, Untrusted, clean},
};

/// Git's id of the tree without entries, known to every git: as the source of attributes it means "no attributes".
pub(super) const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

const LOCAL_DEADLINE: Duration = Duration::from_mins(2);
const NETWORK_DEADLINE: Duration = Duration::from_mins(5);
const STDOUT_CAP: usize = 256 << 20;
const STDERR_CAP: usize = 64 << 10;

/// Settings of every command. They go through the environment, so that argv stays readable.
const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.filesRefLockTimeout", "5000"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.autocrlf", "false"),
    ("core.eol", "lf"),
    ("core.symlinks", "true"),
    ("core.fileMode", "true"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("core.quotePath", "true"),
    ("core.pager", "cat"),
    ("core.askPass", ""),
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("diff.ignoreSubmodules", "all"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "no"),
    ("fetch.writeCommitGraph", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("push.followTags", "false"),
    ("push.gpgSign", "false"),
    ("commit.gpgSign", "false"),
    ("http.followRedirects", "false"),
    ("http.lowSpeedLimit", "100"),
    ("http.lowSpeedTime", "60"),
    ("advice.detachedHead", "false"),
];

/// How git is run. Cheap to clone.
#[derive(Clone)]
pub struct Git {
    program: PathBuf,
    search_path: OsString,
    local_deadline: Duration,
    network_deadline: Duration,
    redactor: Redactor,
    /// Author and committer of every commit that tick makes.
    pub(super) name: String,
    pub(super) email: String,
}

impl Default for Git {
    fn default() -> Self {
        Self::new("git")
    }
}

impl std::fmt::Debug for Git {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Git")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

impl Git {
    /// `program` is a path, or a name that is looked up in the search path.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            search_path: "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin".into(),
            local_deadline: LOCAL_DEADLINE,
            network_deadline: NETWORK_DEADLINE,
            redactor: Redactor::default(),
            name: "tick".to_owned(),
            email: "tick@localhost".to_owned(),
        }
    }

    /// `PATH` of every git command.
    #[must_use]
    pub fn search_path(mut self, path: impl Into<OsString>) -> Self {
        self.search_path = path.into();
        self
    }

    /// Takes secrets out of git's own words before they reach an error or an outcome.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    #[must_use]
    pub fn deadlines(mut self, local: Duration, network: Duration) -> Self {
        self.local_deadline = local;
        self.network_deadline = network;
        self
    }

    #[must_use]
    pub fn identity(mut self, name: impl Into<String>, email: impl Into<String>) -> Self {
        self.name = name.into();
        self.email = email.into();
        self
    }

    pub(super) fn redactor_ref(&self) -> &Redactor {
        &self.redactor
    }

    /// A command without a repository.
    pub(super) fn bare(&self, args: &[&str]) -> Call<'_> {
        Call {
            git: self,
            args: args.iter().map(OsString::from).collect(),
            env: Vec::new(),
            settings: Vec::new(),
            stdin: Vec::new(),
            deadline: self.local_deadline,
            cap: STDOUT_CAP,
            cut: false,
            dir: "/".into(),
        }
    }

    pub(super) fn at(&self, git_dir: &Path, args: &[&str]) -> Call<'_> {
        self.bare(args).env("GIT_DIR", git_dir)
    }

    /// The version as (major, minor). Attributes cannot be switched off before 2.41.
    pub async fn version(&self) -> Result<(u32, u32)> {
        let out = self.bare(&["version"]).ok().await?;
        let text = String::from_utf8_lossy(&out);
        super::parse::version(&text)
            .ok_or_else(|| GitError::new(GitErrorKind::Other, "read the version of git", self.said(&out)))
    }

    /// What git or the remote said, as a quotation in one paragraph; empty where it said nothing.
    pub(super) fn said(&self, stderr: &[u8]) -> String {
        let text = clean(&String::from_utf8_lossy(stderr));
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Untrusted::new(&lines.join("; "), &self.redactor).quoted(400)
    }
}

/// One command under construction.
pub(super) struct Call<'a> {
    git: &'a Git,
    args: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    settings: Vec<(String, String)>,
    stdin: Vec<u8>,
    deadline: Duration,
    cap: usize,
    cut: bool,
    dir: PathBuf,
}

/// What came back.
pub(super) struct Output {
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// Stdout reached the cap of a command whose output may be cut.
    pub(super) truncated: bool,
}

impl Output {
    pub(super) fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl Call<'_> {
    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    /// Over the settings that every command has.
    pub(super) fn setting(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn in_dir(mut self, dir: &Path) -> Self {
        dir.clone_into(&mut self.dir);
        self
    }

    pub(super) fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = bytes;
        self
    }

    /// Output beyond `cap` bytes is cut, not an error.
    pub(super) fn cut_at(mut self, cap: usize) -> Self {
        self.cap = cap;
        self.cut = true;
        self
    }

    pub(super) fn cap(mut self, cap: usize) -> Self {
        self.cap = cap;
        self
    }

    /// May talk to `url`: its protocol is let through, the token stands in the environment for this host only.
    pub(super) fn remote(mut self, url: &RemoteUrl, token: Option<&SecretString>) -> Self {
        self.deadline = self.git.network_deadline;
        self.env.push(("GIT_ALLOW_PROTOCOL", url.protocol.into()));
        if let (Some(base), Some(token)) = (&url.http_base, token) {
            let pair = format!("x-access-token:{}", token.expose_secret());
            let basic = base64::engine::general_purpose::STANDARD.encode(pair);
            self.settings.push((
                format!("http.{base}.extraHeader"),
                format!("Authorization: Basic {basic}"),
            ));
        }
        self
    }

    /// What is attempted, for an error: the subcommand only, since arguments may be long or foreign.
    fn attempted(&self) -> String {
        let name = self.args.first().map(|a| a.to_string_lossy().into_owned());
        format!("run git {}", name.unwrap_or_default())
    }

    /// Stdout of a command that has to succeed.
    pub(super) async fn ok(self) -> Result<Vec<u8>> {
        let attempted = self.attempted();
        let git = self.git;
        let out = self.run().await?;
        if out.code == Some(0) {
            Ok(out.stdout)
        } else {
            Err(failure(git, attempted, &out))
        }
    }

    /// One trimmed line of stdout.
    pub(super) async fn line(self) -> Result<String> {
        let out = self.ok().await?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    pub(super) async fn run(self) -> Result<Output> {
        let attempted = self.attempted();
        let mut command = self.command();
        let mut child = command.spawn().map_err(|e| {
            GitError::new(
                GitErrorKind::Io,
                &attempted,
                format!("{e} ({})", self.git.program.display()),
            )
        })?;
        let group = child.id();
        let mut input = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let work = async {
            let feed = async {
                if let Some(pipe) = input.as_mut() {
                    // A command that ends early closes the pipe; its exit code tells.
                    drop(pipe.write_all(&self.stdin).await);
                }
                drop(input.take());
            };
            let ((), (stdout, full), (stderr, _)) = tokio::join!(
                feed,
                read_capped(stdout, self.cap, true),
                read_capped(stderr, STDERR_CAP, false)
            );
            if full {
                end_group(group);
            }
            let status = child.wait().await;
            (status, stdout, stderr, full)
        };
        let done = tokio::time::timeout(self.deadline, work).await;
        let Ok((status, stdout, stderr, full)) = done else {
            end_group(group);
            drop(child.wait().await);
            let detail = format!("not done after {} s, killed", self.deadline.as_secs());
            return Err(GitError::new(GitErrorKind::Deadline, attempted, detail));
        };
        let status = status.map_err(|e| GitError::io(&attempted, &e))?;
        if full && !self.cut {
            let detail = format!("more than {} bytes of output", self.cap);
            return Err(GitError::new(GitErrorKind::TooLarge, attempted, detail));
        }
        Ok(Output {
            code: if full { Some(0) } else { status.code() },
            stdout,
            stderr,
            truncated: full,
        })
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
    fn command(&self) -> Command {
        let mut command = Command::new(located(&self.git.program, &self.git.search_path));
        command
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .env("PATH", &self.git.search_path)
            .env("HOME", "/dev/null")
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_ATTR_SOURCE", EMPTY_TREE)
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .process_group(0)
            .kill_on_drop(true)
            .stdin(if self.stdin.is_empty() {
                Stdio::null()
            } else {
                Stdio::piped()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in &self.env {
            command.env(name, value);
        }
        let all = SETTINGS.iter().map(|(k, v)| (*k, *v));
        let own = self.settings.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let mut count = 0;
        for (key, value) in all.chain(own) {
            command.env(format!("GIT_CONFIG_KEY_{count}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        command
    }
}

pub(super) fn failure(git: &Git, attempted: String, out: &Output) -> GitError {
    let said = git.said(&out.stderr);
    let detail = if said.is_empty() {
        format!(
            "exit code {}",
            out.code.map_or_else(|| "none".to_owned(), |c| c.to_string())
        )
    } else {
        said
    };
    GitError::new(classify(&out.stderr_text()), attempted, detail)
}

/// git starts helpers (remote-https, index-pack); they are in its group.
fn end_group(pid: Option<u32>) {
    let pid = pid
        .and_then(|p| i32::try_from(p).ok())
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // Already gone is as good as killed.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// Up to `cap` bytes, and whether more was there. `stop`: return at the cap; else read on and drop the rest.
async fn read_capped(pipe: Option<impl AsyncRead + Unpin>, cap: usize, stop: bool) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let Some(mut pipe) = pipe else {
        return (kept, false);
    };
    let mut chunk = vec![0; 64 << 10];
    let mut full = false;
    while let Ok(n) = pipe.read(&mut chunk).await {
        if n == 0 {
            break;
        }
        let room = cap - kept.len();
        kept.extend_from_slice(&chunk[..n.min(room)]);
        if n > room {
            full = true;
            if stop {
                break;
            }
        }
    }
    (kept, full)
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
