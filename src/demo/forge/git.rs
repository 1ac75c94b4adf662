//! The bare repository behind the forge, through real git: commits by fast-import, squashes by merge-tree, and
//! `http-backend` for whoever clones and pushes.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, bail};
use chrono::{DateTime, Utc};

use crate::demo::{
    children::Children,
    client,
    serve::{Call, Reply},
};

#[derive(Debug, Clone)]
pub struct BareRepo {
    /// `GIT_PROJECT_ROOT`.
    root: PathBuf,
    dir: PathBuf,
    children: Arc<Children>,
}

/// Who wrote a commit, and when by the world's calendar.
#[derive(Debug, Clone, Copy)]
pub struct Author<'a> {
    pub name: &'a str,
    pub at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFacts {
    pub tree: String,
    pub parents: Vec<String>,
    pub author: String,
    pub at: String,
    pub message: String,
}

/// A merge that was computed without touching a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    Tree(String),
    Conflict,
}

impl BareRepo {
    /// An empty repository at `root/NAME.git`, or a bare clone of `from`.
    pub fn make(children: &Arc<Children>, root: &Path, name: &str, branch: &str, from: Option<&Path>) -> Result<Self> {
        let dir = root.join(format!("{name}.git"));
        std::fs::create_dir_all(&dir)?;
        let repo = Self {
            root: root.to_owned(),
            dir: dir.clone(),
            children: Arc::clone(children),
        };
        let target = dir.to_str().context("the world's directory has a plain name")?;
        match from {
            // Without hard links the clone shares no file with the repository it comes from.
            Some(from) => {
                let from = from.to_str().context("the repository's path has to be UTF-8")?;
                repo.git(
                    &["clone", "--quiet", "--bare", "--no-hardlinks", "--", from, target],
                    b"",
                )?;
            }
            None => drop(repo.git(&["init", "--quiet", "--bare", "--initial-branch", branch, target], b"")?),
        }
        repo.git(&["config", "http.receivepack", "true"], b"")?;
        // Nothing of git goes on in the background after a push is answered.
        for (key, value) in [
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            ("receive.autogc", "false"),
        ] {
            repo.git(&["config", key, value], b"")?;
        }
        Ok(repo)
    }

    /// Runs git in the repository; stdout as text, an error when git fails.
    pub fn git(&self, args: &[&str], input: &[u8]) -> Result<String> {
        let (ok, out, err) = self.try_git(args, input)?;
        if !ok {
            bail!("git {} failed: {}", args.join(" "), err.trim());
        }
        Ok(out)
    }

    fn try_git(&self, args: &[&str], input: &[u8]) -> Result<(bool, String, String)> {
        let mut command = self.children.command("git", &self.dir);
        command.args(args);
        let done = self.children.output(command, input)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((done.status.success(), text(&done.stdout), text(&done.stderr)))
    }

    /// Branch names and their commits.
    pub fn heads(&self) -> Result<BTreeMap<String, String>> {
        let list = self.git(
            &[
                "for-each-ref",
                "--format=%(refname:lstrip=2) %(objectname)",
                "refs/heads",
            ],
            b"",
        )?;
        Ok(list
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, sha)| (name.to_owned(), sha.to_owned()))
            .collect())
    }

    pub fn head(&self, branch: &str) -> Result<Option<String>> {
        Ok(self.heads()?.remove(branch))
    }

    /// Adds one commit to a branch (made when it is new, on top of `from`). `None` as content deletes a file.
    pub fn commit(
        &self,
        branch: &str,
        from: Option<&str>,
        author: Author<'_>,
        message: &str,
        files: &[(String, Option<Vec<u8>>)],
    ) -> Result<String> {
        let seconds = author.at.timestamp();
        let who = format!("{0} <{0}@shop.example> {seconds} +0000", author.name);
        let mut stream = format!(
            "commit refs/heads/{branch}\ncommitter {who}\ndata {}\n{message}\n",
            message.len()
        )
        .into_bytes();
        let parent = match self.head(branch)? {
            Some(head) => Some(head),
            None => from.map(str::to_owned),
        };
        if let Some(parent) = parent {
            stream.extend(format!("from {parent}\n").bytes());
        }
        for (path, content) in files {
            match content {
                Some(content) => {
                    stream.extend(format!("M 100644 inline {path}\ndata {}\n", content.len()).bytes());
                    stream.extend(content);
                    stream.push(b'\n');
                }
                None => stream.extend(format!("D {path}\n").bytes()),
            }
        }
        self.git(&["fast-import", "--quiet", "--date-format=raw"], &stream)?;
        self.head(branch)?.context("fast-import made the branch")
    }

    /// A commit object from a tree, on no branch.
    pub fn commit_tree(&self, tree: &str, parent: &str, author: Author<'_>, message: &str) -> Result<String> {
        let at = format!("{} +0000", author.at.timestamp());
        let mut command = self.children.command("git", &self.dir);
        let mail = format!("{}@shop.example", author.name);
        command.args(["commit-tree", tree, "-p", parent]);
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), author.name)
                .env(format!("GIT_{role}_EMAIL"), &mail)
                .env(format!("GIT_{role}_DATE"), &at);
        }
        let done = self.children.output(command, message.as_bytes())?;
        let sha = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        if sha.is_empty() {
            bail!(
                "git commit-tree failed: {}",
                String::from_utf8_lossy(&done.stderr).trim()
            );
        }
        Ok(sha)
    }

    /// Moves a branch, but only from where it is known to be.
    pub fn move_head(&self, branch: &str, to: &str, from: &str) -> Result<()> {
        let name = format!("refs/heads/{branch}");
        self.git(&["update-ref", &name, to, from], b"").map(drop)
    }

    pub fn merge(&self, base: &str, head: &str) -> Result<Merged> {
        let (ok, out, _) = self.try_git(&["merge-tree", "--write-tree", base, head], b"")?;
        Ok(if ok {
            Merged::Tree(out.trim().to_owned())
        } else {
            Merged::Conflict
        })
    }

    pub fn is_ancestor(&self, old: &str, new: &str) -> Result<bool> {
        Ok(self.try_git(&["merge-base", "--is-ancestor", old, new], b"")?.0)
    }

    /// None when there is no such commit.
    pub fn facts(&self, rev: &str) -> Result<Option<(String, CommitFacts)>> {
        let spec = format!("{rev}^{{commit}}");
        let format = "--format=%H%n%T%n%P%n%an%n%aI%n%B";
        let (ok, out, _) = self.try_git(&["log", "-1", format, "--end-of-options", &spec], b"")?;
        let mut lines = out.splitn(6, '\n');
        let mut next = || lines.next().unwrap_or_default().to_owned();
        let (sha, tree, parents, author, at, message) = (next(), next(), next(), next(), next(), next());
        Ok(ok.then(|| {
            let facts = CommitFacts {
                tree,
                parents: parents.split_whitespace().map(str::to_owned).collect(),
                author,
                at,
                message: message.trim_end().to_owned(),
            };
            (sha, facts)
        }))
    }

    /// Status letter, added, removed and path of each file between two commits.
    pub fn changed(&self, base: &str, head: &str) -> Result<Vec<(char, u64, u64, String)>> {
        let range = format!("{base}...{head}");
        let letters = self.git(&["diff", "--no-renames", "--name-status", &range], b"")?;
        let numbers = self.git(&["diff", "--no-renames", "--numstat", &range], b"")?;
        Ok(letters
            .lines()
            .zip(numbers.lines())
            .map(|(letter, number)| {
                let mut parts = number.splitn(3, '\t');
                let mut count = || parts.next().and_then(|n| n.parse().ok()).unwrap_or(0);
                let (added, removed) = (count(), count());
                let path = parts.next().unwrap_or_default().to_owned();
                (letter.chars().next().unwrap_or('M'), added, removed, path)
            })
            .collect())
    }

    /// Plain files of a commit in a new directory.
    pub fn checkout(&self, commit: &str, dir: &Path) -> Result<()> {
        std::fs::create_dir_all(dir)?;
        let index = dir.with_extension("index");
        let mut command = self.children.command("git", &self.dir);
        command
            .arg("--work-tree")
            .arg(dir)
            .args(["checkout", "--quiet", "--force", commit, "--", "."])
            .env("GIT_INDEX_FILE", &index);
        let done = self.children.output(command, b"")?;
        drop(std::fs::remove_file(&index));
        if !done.status.success() {
            bail!("check out {commit}: {}", String::from_utf8_lossy(&done.stderr).trim());
        }
        Ok(())
    }

    /// One request of a git client, answered by `git http-backend`.
    pub fn serve(&self, call: &Call, path_info: &str) -> Result<Reply> {
        let mut command = self.children.command("git", &self.dir);
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REMOTE_USER", "tick")
            .env("PATH_INFO", path_info)
            .env("REQUEST_METHOD", &call.method)
            .env("QUERY_STRING", &call.query)
            .env("CONTENT_TYPE", call.header("content-type").unwrap_or_default())
            .env("CONTENT_LENGTH", call.body.len().to_string());
        for (header, variable) in [
            ("git-protocol", "GIT_PROTOCOL"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ] {
            if let Some(value) = call.header(header) {
                command.env(variable, value);
            }
        }
        let done = self.children.output(command, &call.body)?;
        let end = done.stdout.windows(4).position(|w| w == b"\r\n\r\n");
        let Some(end) = end else {
            bail!(
                "git http-backend said nothing: {}",
                String::from_utf8_lossy(&done.stderr)
            );
        };
        let mut headers = client::fields(&String::from_utf8_lossy(&done.stdout[..end]));
        let status = headers
            .iter()
            .position(|(name, _)| name.eq_ignore_ascii_case("status"))
            .and_then(|at| headers.remove(at).1.get(..3).and_then(|code| code.parse().ok()));
        Ok(Reply {
            status: status.unwrap_or(200),
            headers,
            body: done.stdout[end + 4..].to_vec(),
        })
    }
}
