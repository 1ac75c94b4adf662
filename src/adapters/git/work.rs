//! Files on disk from commits: the worktree of an attempt with its throwaway git dir, and plain checkouts for proofs.
//! Attributes, filters and encodings do nothing here: a file has exactly the bytes of its blob.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::{GitError, Mirror, Result, WorktreePaths, sweep};
use crate::model::Sha;

/// A new directory for this user only, with its parents. An existing one is taken when it is a real directory.
pub(super) fn private_dir(dir: &Path) -> Result<()> {
    let attempted = || format!("make the directory {}", dir.display());
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|e| GitError::io(attempted(), &e))?;
    let found = fs::symlink_metadata(dir).map_err(|e| GitError::io(attempted(), &e))?;
    if found.is_dir() {
        Ok(())
    } else {
        Err(GitError::input(attempted(), "a link or file stands there; remove it"))
    }
}

/// A directory that must not exist yet.
fn new_dir(dir: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .mode(0o700)
        .create(dir)
        .map_err(|e| GitError::io(format!("make the directory {}", dir.display()), &e))
}

/// A file that must not exist yet.
pub(super) fn new_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let attempted = || format!("write {}", path.display());
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(|e| GitError::io(attempted(), &e))
}

impl Mirror {
    /// Makes `dir/tree` with the files of `base` and `dir/agent.git` for the child. What a crashed run left at `dir`
    /// is removed first, so the caller holds the attempt.
    pub async fn worktree(&self, base: &Sha, dir: &Path) -> Result<WorktreePaths> {
        let dir = absolute(dir)?;
        sweep(&dir)?;
        if let Some(parent) = dir.parent() {
            private_dir(parent)?;
        }
        new_dir(&dir)?;
        let paths = WorktreePaths {
            tree: dir.join("tree"),
            git_dir: dir.join("agent.git"),
            dir,
        };
        self.throwaway_git_dir(base, &paths)?;
        new_dir(&paths.tree)?;
        self.fill(base, &paths.tree, &paths.git_dir.join("index")).await?;
        // Relative, so that it also holds where a sandbox mounts the attempt elsewhere. A repository cannot have an
        // entry of this name.
        new_file(&paths.tree.join(".git"), b"gitdir: ../agent.git\n")?;
        Ok(paths)
    }

    /// By hand and not by `git init`: it needs no objects of its own, no remote, no hook, and no other setting.
    fn throwaway_git_dir(&self, base: &Sha, paths: &WorktreePaths) -> Result<()> {
        let git_dir = &paths.git_dir;
        new_dir(git_dir)?;
        for dir in ["objects", "objects/info", "objects/pack", "refs", "refs/heads"] {
            new_dir(&git_dir.join(dir))?;
        }
        let alternates = format!("{}\n", self.objects().display());
        let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = false\n\
                      [user]\n\tname = worker\n\temail = worker@localhost\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";
        for (name, text) in [
            ("HEAD", "ref: refs/heads/work\n"),
            ("config", config),
            ("objects/info/alternates", alternates.as_str()),
            ("refs/heads/work", &format!("{base}\n")),
        ] {
            new_file(&git_dir.join(name), text.as_bytes())?;
        }
        Ok(())
    }

    /// Makes `dir` with the plain files of a commit, without `.git`.
    pub async fn checkout(&self, commit: &Sha, dir: &Path) -> Result<()> {
        let dir = absolute(dir)?;
        if let Some(parent) = dir.parent() {
            private_dir(parent)?;
        }
        new_dir(&dir)?;
        let index = beside(&dir, "index");
        let done = self.fill(commit, &dir, &index).await;
        let removed = fs::remove_file(&index);
        done?;
        removed.map_err(|e| GitError::io(format!("remove {}", index.display()), &e))
    }

    async fn fill(&self, commit: &Sha, tree: &Path, index: &Path) -> Result<()> {
        let call = |args: &[&str]| {
            self.call(args)
                .env("GIT_WORK_TREE", tree)
                .env("GIT_INDEX_FILE", index)
                .in_dir(tree)
        };
        call(&["read-tree", "--no-recurse-submodules", commit.as_str()])
            .ok()
            .await?;
        call(&["checkout-index", "--all", "--index", "--quiet"]).ok().await?;
        Ok(())
    }
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| GitError::io(format!("use the path {}", path.display()), &e))
}

/// `…/NAME` -> `…/NAME.WHAT`.
pub(super) fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(what);
    path.with_file_name(name)
}
