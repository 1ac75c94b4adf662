//! Our bare mirror of one repository, and reading objects from it. It holds no remote and no credential; nothing a
//! child runs can write to it.

use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::{Change, CommitLine, Git, GitError, GitErrorKind, Result, TreeEntry, command::Call, parse, url::RemoteUrl};
use crate::model::Sha;

const BLOB_CAP: usize = 64 << 20;
const DIFF_CAP: usize = 64 << 20;

#[derive(Debug, Clone)]
pub struct Mirror {
    pub(super) git: Git,
    pub(super) dir: PathBuf,
    pub(super) url: RemoteUrl,
    pub(super) token: Option<SecretString>,
}

impl Mirror {
    /// Opens the mirror at `dir`, making an empty one where there is none. Does not talk to the remote.
    pub async fn open(git: &Git, dir: &Path, url: &str, token: Option<&SecretString>) -> Result<Self> {
        let attempted = || format!("open the mirror {}", dir.display());
        let url = RemoteUrl::parse(url)?;
        let (major, minor) = git.version().await?;
        if (major, minor) < (2, 41) {
            let detail = format!("git {major}.{minor} is too old, 2.41 is needed");
            return Err(GitError::new(GitErrorKind::Other, attempted(), detail));
        }
        let mirror = Self {
            git: git.clone(),
            dir: std::path::absolute(dir).map_err(|e| GitError::io(attempted(), &e))?,
            url,
            token: token.cloned(),
        };
        match std::fs::symlink_metadata(&mirror.dir) {
            Ok(found) if !found.is_dir() => {
                return Err(GitError::input(attempted(), "it is not a directory; move it aside"));
            }
            Ok(_) if mirror.dir.join("HEAD").is_file() => {}
            Ok(_) => mirror.init().await?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => mirror.init().await?,
            Err(e) => return Err(GitError::io(attempted(), &e)),
        }
        Ok(mirror)
    }

    async fn init(&self) -> Result<()> {
        super::work::private_dir(&self.dir)?;
        // No template: it would bring sample hooks and an exclude file.
        self.git
            .bare(&[
                "init",
                "--bare",
                "--quiet",
                "--template=",
                "--initial-branch=main",
                "--",
            ])
            .arg(&self.dir)
            .ok()
            .await?;
        Ok(())
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where objects are, for the alternates of a throwaway git dir and for a sandbox to bind.
    pub fn objects(&self) -> PathBuf {
        self.dir.join("objects")
    }

    pub(super) fn call(&self, args: &[&str]) -> Call<'_> {
        self.git.at(&self.dir, args)
    }

    /// A branch name, a full ref, or a commit id of seven digits or more.
    pub async fn resolve(&self, rev: &str) -> Result<Option<Sha>> {
        if !ref_name_ok(rev) {
            return Err(GitError::input(
                "resolve a revision",
                format!("{rev:?} is not a branch or commit id"),
            ));
        }
        let hex = (7..=64).contains(&rev.len()) && rev.bytes().all(|b| b.is_ascii_hexdigit());
        let mut names = Vec::new();
        if rev.starts_with("refs/") || (hex && rev.len() >= 40) {
            names.push(rev.to_owned());
        } else {
            names.push(format!("refs/heads/{rev}"));
            if hex {
                names.push(rev.to_owned());
            }
        }
        for name in names {
            if let Some(sha) = self.verify(&format!("{name}^{{commit}}")).await? {
                return Ok(Some(sha));
            }
        }
        Ok(None)
    }

    async fn verify(&self, expression: &str) -> Result<Option<Sha>> {
        let out = self
            .call(&["rev-parse", "--verify", "--quiet", "--end-of-options", expression])
            .run()
            .await?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        if out.code == Some(0) {
            return Ok(Sha::parse(&text).ok());
        }
        // Exit 1 without a word: no such object. Anything else is trouble with the mirror.
        if out.code == Some(1) || out.stderr_text().contains("ambiguous") {
            return Ok(None);
        }
        Err(super::command::failure(
            &self.git,
            format!("resolve {expression}"),
            &out,
        ))
    }

    async fn must(&self, expression: &str) -> Result<Sha> {
        self.verify(expression).await?.ok_or_else(|| {
            GitError::new(
                GitErrorKind::NotFound,
                format!("resolve {expression}"),
                "no such object",
            )
        })
    }

    pub async fn tree_of(&self, commit: &Sha) -> Result<Sha> {
        self.must(&format!("{commit}^{{tree}}")).await
    }

    pub async fn parents(&self, commit: &Sha) -> Result<Vec<Sha>> {
        let out = self
            .call(&[
                "rev-list",
                "--parents",
                "--max-count=1",
                "--end-of-options",
                commit.as_str(),
            ])
            .ok()
            .await?;
        let mut ids = parse::words(&out).ok_or_else(|| unread("rev-list"))?;
        if ids.is_empty() {
            return Err(unread("rev-list"));
        }
        ids.remove(0);
        Ok(ids)
    }

    /// `ancestor` is `commit` or in its history.
    pub async fn is_ancestor(&self, ancestor: &Sha, commit: &Sha) -> Result<bool> {
        let out = self
            .call(&["merge-base", "--is-ancestor", ancestor.as_str(), commit.as_str()])
            .run()
            .await?;
        match out.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(super::command::failure(
                &self.git,
                format!("compare {ancestor} with {commit}"),
                &out,
            )),
        }
    }

    /// Committer time in seconds, held within a range that every git accepts.
    pub(super) async fn commit_seconds(&self, commit: &Sha) -> Result<i64> {
        let text = self
            .call(&[
                "log",
                "-1",
                "--no-show-signature",
                "--format=%ct",
                "--end-of-options",
                commit.as_str(),
            ])
            .line()
            .await?;
        Ok(text.parse::<i64>().unwrap_or(0).clamp(0, 4_000_000_000))
    }

    pub async fn changes(&self, base: &Sha, head: &Sha) -> Result<Vec<Change>> {
        let out = self
            .call(&[
                "diff-tree",
                "-r",
                "--raw",
                "-z",
                "--no-renames",
                "--no-abbrev",
                "--ignore-submodules=none",
            ])
            .arg("--end-of-options")
            .arg(base.as_str())
            .arg(head.as_str())
            .ok()
            .await?;
        parse::changes(&out).ok_or_else(|| unread("diff-tree"))
    }

    pub async fn list(&self, commit: &Sha) -> Result<Vec<TreeEntry>> {
        let out = self
            .call(&["ls-tree", "-r", "-z", "-l", "--full-tree", commit.as_str()])
            .ok()
            .await?;
        parse::entries(&out).ok_or_else(|| unread("ls-tree"))
    }

    pub async fn blob(&self, id: &Sha) -> Result<Vec<u8>> {
        self.call(&["cat-file", "blob", id.as_str()]).cap(BLOB_CAP).ok().await
    }

    /// Contents in the order of `ids`; a missing object is an error.
    pub async fn blobs(&self, ids: &[&Sha]) -> Result<Vec<Vec<u8>>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut wanted: Vec<u8> = Vec::new();
        for id in ids {
            wanted.extend_from_slice(id.as_str().as_bytes());
            wanted.push(b'\n');
        }
        let out = self.call(&["cat-file", "--batch"]).stdin(wanted).ok().await?;
        let found = parse::batch(&out).ok_or_else(|| unread("cat-file"))?;
        let whole: Option<Vec<Vec<u8>>> = found.into_iter().collect();
        match whole {
            Some(whole) if whole.len() == ids.len() => Ok(whole),
            _ => Err(GitError::new(
                GitErrorKind::NotFound,
                "read blobs",
                "an object is missing; fetch again",
            )),
        }
    }

    /// The patch as text, cut at `cap` bytes. It is foreign text: clean, redact and fence it before use.
    pub async fn diff_text(&self, base: &Sha, head: &Sha, cap: usize) -> Result<String> {
        let out = self.patch_call(base, head).cut_at(cap).run().await?;
        if out.code != Some(0) {
            return Err(super::command::failure(&self.git, format!("diff {base} {head}"), &out));
        }
        let mut text = String::from_utf8_lossy(&out.stdout).into_owned();
        if out.truncated {
            text.push_str("\n[the rest of the diff is cut]\n");
        }
        Ok(text)
    }

    fn patch_call(&self, base: &Sha, head: &Sha) -> Call<'_> {
        self.call(&[
            "diff-tree",
            "-r",
            "-p",
            "--full-index",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
        ])
        .arg("--no-color")
        .arg("--end-of-options")
        .arg(base.as_str())
        .arg(head.as_str())
    }

    /// Identity of a patch, free of line numbers and white space. Two empty patches are equal.
    pub async fn patch_id(&self, base: &Sha, head: &Sha) -> Result<String> {
        let patch = self.patch_call(base, head).cap(DIFF_CAP).ok().await?;
        let text = self.git.bare(&["patch-id", "--stable"]).stdin(patch).line().await?;
        let id = text.split_whitespace().next().unwrap_or("empty");
        Ok(id.to_owned())
    }

    /// Newest first along first parents: what came to `to` since `from`.
    pub async fn log(&self, from: Option<&Sha>, to: &Sha, max: usize) -> Result<Vec<CommitLine>> {
        let range = from.map_or_else(|| to.to_string(), |from| format!("{from}..{to}"));
        let out = self
            .call(&[
                "log",
                "-z",
                "--first-parent",
                "--no-show-signature",
                "--no-mailmap",
                "--no-color",
                "--no-decorate",
            ])
            .arg("--format=%H%x00%P%x00%ct%x00%an%x00%s")
            .arg(format!("--max-count={max}"))
            .arg("--end-of-options")
            .arg(range)
            .ok()
            .await?;
        parse::log(&out, self.git.redactor_ref()).ok_or_else(|| unread("log"))
    }
}

pub(super) fn unread(command: &str) -> GitError {
    GitError::new(
        GitErrorKind::Other,
        format!("read the output of git {command}"),
        "its form is not known",
    )
}

/// Git's own rules for ref names, and nothing that git reads as an option or an expression.
pub(super) fn ref_name_ok(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 240
        && !name.starts_with(['-', '/', '.'])
        && !name.ends_with(['/', '.'])
        && !name.contains("..")
        && !name.contains("//")
        && !name.contains("@{")
        && name != "@"
        && !name
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c))
        && name
            .split('/')
            .all(|part| !part.starts_with('.') && !part.to_ascii_lowercase().ends_with(".lock"))
}

#[cfg(test)]
mod tests {
    use super::ref_name_ok;

    #[test]
    fn names_that_are_not_plain_refs_are_refused() {
        for good in [
            "main",
            "release/1.2",
            "fix/auto-7f3a91c0",
            "1234567",
            "refs/heads/main",
            "\u{e9}t\u{e9}",
        ] {
            assert!(ref_name_ok(good), "{good}");
        }
        for bad in [
            "",
            "-x",
            "--exec=touch x",
            "a..b",
            "a~1",
            "a^{}",
            "a:b",
            "a b",
            "a\nb",
            "a\0b",
            "@",
            "x@{-1}",
            "a.lock",
            "a/.b",
            "/a",
            "a/",
            "a//b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "x.LOCK",
        ] {
            assert!(!ref_name_ok(bad), "{bad:?}");
        }
    }
}
