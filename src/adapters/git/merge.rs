//! A patch on another base, computed on objects with `git merge-tree`: no worktree, no attribute, no merge driver.

use super::{GitError, GitErrorKind, Mirror, Replay, Result, mirror::unread, parse, shown_path};
use crate::model::Sha;

impl Mirror {
    /// The change `base..head` put onto `onto`.
    pub async fn replay(&self, base: &Sha, head: &Sha, onto: &Sha) -> Result<Replay> {
        let out = self
            .call(&["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"])
            .arg(format!("--merge-base={base}"))
            .arg(onto.as_str())
            .arg(head.as_str())
            .run()
            .await?;
        let read = || parse::merge_tree(&out.stdout).ok_or_else(|| unread("merge-tree"));
        match out.code {
            Some(0) => Ok(Replay::Clean { tree: read()?.0 }),
            Some(1) => Ok(Replay::Conflict(read()?.1.iter().map(|p| shown_path(p)).collect())),
            _ => {
                let attempted = format!("replay {base}..{head} onto {onto}");
                Err(super::command::failure(&self.git, attempted, &out))
            }
        }
    }

    /// `commit` (against its first parent) taken back on top of `onto`.
    pub async fn revert(&self, commit: &Sha, onto: &Sha) -> Result<Replay> {
        let parents = self.parents(commit).await?;
        let Some(before) = parents.first() else {
            let attempted = format!("revert {commit}");
            return Err(GitError::new(
                GitErrorKind::Input,
                attempted,
                "it is the first commit of its history",
            ));
        };
        self.replay(commit, before, onto).await
    }
}
