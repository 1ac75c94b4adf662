//! Commits that the harness made stand under a reference of their own, or a fetch's pruning could take them. Here they
//! are listed and let go.

use super::{Mirror, Result, mirror::unread};
use crate::model::Sha;

const KEEP: &str = "refs/tick/keep/";

pub(super) fn reference(sha: &Sha) -> String {
    format!("{KEEP}{sha}")
}

impl Mirror {
    /// Commits of ours that the mirror keeps.
    pub async fn kept(&self) -> Result<Vec<Sha>> {
        let out = self
            .call(&["for-each-ref", "--format=%(objectname)", KEEP])
            .ok()
            .await?;
        let text = String::from_utf8_lossy(&out);
        let ids = text.lines().map(Sha::parse);
        ids.collect::<std::result::Result<_, _>>()
            .map_err(|_| unread("for-each-ref"))
    }

    /// Lets commits go that nobody needs, and packs the mirror when there is much loose in it. What is younger than two
    /// weeks stays in any case: another process may be at it.
    pub async fn let_go(&self, commits: &[Sha]) -> Result<()> {
        if commits.is_empty() {
            return Ok(());
        }
        let lines: Vec<_> = commits
            .iter()
            .map(|sha| format!("delete {} {sha}\n", reference(sha)))
            .collect();
        self.call(&["update-ref", "--stdin"])
            .stdin(lines.concat().into_bytes())
            .ok()
            .await?;
        self.call(&["gc", "--auto", "--quiet", "--prune=2.weeks.ago"])
            .setting("gc.auto", "5000")
            .setting("gc.autoPackLimit", "50")
            .setting("gc.autoDetach", "false")
            .ok()
            .await?;
        Ok(())
    }
}
