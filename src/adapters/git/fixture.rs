//! For tests: a bare remote with commits made from bytes, and a mirror of it.

use std::path::PathBuf;

use super::{FileEdit, Git, Mirror};
use crate::model::Sha;

pub(crate) struct World {
    pub(super) home: tempfile::TempDir,
    /// The remote, opened as if it were ours: commits are made in it directly.
    pub(crate) remote: Mirror,
    pub(super) mirror: Mirror,
}

pub(crate) fn add(path: &str, text: &str) -> FileEdit {
    with_mode(path, 0o100_644, text)
}

pub(super) fn with_mode(path: &str, mode: u32, text: &str) -> FileEdit {
    FileEdit {
        path: path.as_bytes().to_vec(),
        new: Some((mode, text.as_bytes().to_vec())),
    }
}

pub(crate) fn remove(path: &str) -> FileEdit {
    FileEdit {
        path: path.as_bytes().to_vec(),
        new: None,
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let git = Git::default();
        let remote_dir = home.path().join("remote.git");
        let url = remote_dir.to_str().unwrap().to_owned();
        let remote = Mirror::open(&git, &remote_dir, "http://127.0.0.1:1/unused", None)
            .await
            .unwrap();
        let mirror = Mirror::open(&git, &home.path().join("repos/web.git"), &url, None)
            .await
            .unwrap();
        Self { home, remote, mirror }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The first commit of `main`.
    pub(crate) async fn root(&self, files: &[FileEdit]) -> Sha {
        let empty = self
            .remote
            .call(&["hash-object", "-t", "tree", "-w", "/dev/null"])
            .line()
            .await
            .unwrap();
        let first = self
            .remote
            .commit_tree(&Sha::parse(&empty).unwrap(), &[], "start")
            .await
            .unwrap();
        self.commit("main", &first, files).await
    }

    pub(crate) async fn commit(&self, branch: &str, parent: &Sha, files: &[FileEdit]) -> Sha {
        let sha = self.remote.commit_edits(parent, files, "change\n\nbody").await.unwrap();
        self.point(branch, &sha).await;
        sha
    }

    pub(super) async fn point(&self, branch: &str, sha: &Sha) {
        self.remote
            .call(&["update-ref", &format!("refs/heads/{branch}"), sha.as_str()])
            .ok()
            .await
            .unwrap();
    }

    /// A world with `main` at these files, fetched.
    pub(super) async fn with(files: &[FileEdit]) -> (Self, Sha) {
        let world = Self::new().await;
        let base = world.root(files).await;
        world.mirror.fetch().await.unwrap();
        (world, base)
    }
}
