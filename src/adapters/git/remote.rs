//! Talking to the remote: fetch, ls-remote, push. The only commands that see a token.

use super::{
    GitError, GitErrorKind, Mirror, Push, Result,
    command::{Call, Output, failure},
    error::{never_reached, refusal},
    mirror::ref_name_ok,
    parse::{self, PushLine},
};
use crate::model::{Sha, pull::PushRefusal};

/// The only branches that tick pushes to: `fix/auto-` and up to 80 lower-case letters, digits and dashes.
pub fn branch_is_ours(branch: &str) -> bool {
    let Some(rest) = branch.strip_prefix("fix/auto-") else {
        return false;
    };
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=80).contains(&rest.len())
        && rest.bytes().all(|b| plain(b) || b == b'-')
        && rest.bytes().next().is_some_and(plain)
        && ref_name_ok(branch)
}

impl Mirror {
    fn remote_call(&self, args: &[&str]) -> Call<'_> {
        self.call(args).remote(&self.url, self.token.as_ref())
    }

    /// All branches, and none that is gone. No tags, no submodules, no maintenance.
    pub async fn fetch(&self) -> Result<()> {
        let mut out = self.fetch_once().await?;
        // Another process of ours moved the same branch at the same time: what it fetched is what we want.
        for _ in 0..3 {
            if out.code == Some(0) || !out.stderr_text().contains("cannot lock ref") {
                break;
            }
            out = self.fetch_once().await?;
        }
        if out.code == Some(0) {
            return Ok(());
        }
        Err(failure(&self.git, format!("fetch {}", self.url.text), &out).of_remote())
    }

    async fn fetch_once(&self) -> Result<Output> {
        self.remote_call(&[
            "fetch",
            "--quiet",
            "--force",
            "--prune",
            "--no-tags",
            "--no-recurse-submodules",
        ])
        .arg("--no-auto-maintenance")
        .arg("--no-write-fetch-head")
        .arg("--no-show-forced-updates")
        .arg("--end-of-options")
        .arg(&self.url.text)
        .arg("+refs/heads/*:refs/heads/*")
        .run()
        .await
        .map_err(GitError::of_remote)
    }

    /// Where the remote's branch is now.
    pub async fn ls_remote(&self, branch: &str) -> Result<Option<Sha>> {
        if !ref_name_ok(branch) {
            return Err(GitError::input(
                "look up a branch",
                format!("{branch:?} is not a branch name"),
            ));
        }
        let name = format!("refs/heads/{branch}");
        let out = self
            .remote_call(&["ls-remote", "--quiet", "--refs", "--end-of-options"])
            .arg(&self.url.text)
            .arg(&name)
            .run()
            .await
            .map_err(GitError::of_remote)?;
        if out.code == Some(0) {
            return Ok(parse::remote_ref(&String::from_utf8_lossy(&out.stdout), &name));
        }
        Err(failure(&self.git, format!("look up {branch} at {}", self.url.text), &out).of_remote())
    }

    /// A plain push of one commit to one branch of ours: a new branch or a fast-forward, nothing else.
    pub async fn push(&self, sha: &Sha, branch: &str) -> Result<Push> {
        let attempted = || format!("push {} to {branch:?}", sha.short());
        if !branch_is_ours(branch) {
            return Err(GitError::input(
                attempted(),
                "only branches named fix/auto-… are pushed to",
            ));
        }
        self.git.bare(&["check-ref-format", "--branch", branch]).ok().await?;
        let target = format!("refs/heads/{branch}");
        let what = format!("{sha}:{target}");
        self.send("--no-force", &what, &target, &attempted()).await
    }

    /// Deletes the branch of a witness that is still where we left it: of all branches only these are ever deleted.
    pub async fn delete_witness(&self, branch: &str, at: &Sha) -> Result<Push> {
        let attempted = format!("delete {branch:?} at {}", at.short());
        if !branch_is_ours(branch) || !branch.ends_with("-witness") {
            return Err(GitError::input(
                attempted,
                "only branches named fix/auto-…-witness are deleted",
            ));
        }
        let target = format!("refs/heads/{branch}");
        let lease = format!("--force-with-lease={target}:{at}");
        self.send(&lease, &format!(":{target}"), &target, &attempted).await
    }

    async fn send(&self, how: &str, what: &str, target: &str, attempted: &str) -> Result<Push> {
        let sent = self
            .remote_call(&["push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags"])
            .arg("--recurse-submodules=no")
            .arg(how)
            .arg("--end-of-options")
            .arg(&self.url.text)
            .arg(what)
            .run()
            .await;
        let out = match sent {
            Ok(out) => out,
            Err(error) if error.kind == GitErrorKind::Deadline => return Ok(Push::Unknown(error.detail)),
            Err(error) => return Err(error),
        };
        let said = parse::push(&String::from_utf8_lossy(&out.stdout), target);
        match (out.code, said) {
            (Some(0), PushLine::Done) => Ok(Push::Done),
            (_, PushLine::Refused(why)) => {
                let remote = self.git.said(&out.stderr);
                let why = self.git.said(why.as_bytes());
                let said = if remote.is_empty() {
                    why
                } else {
                    format!("{why}: {remote}")
                };
                Ok(Push::Refused(refusal(&said), said))
            }
            _ => {
                let error = failure(&self.git, attempted.to_owned(), &out).of_remote();
                // These are answered before the objects go out; everything later may have arrived.
                if matches!(error.kind, GitErrorKind::Auth | GitErrorKind::NotFound) {
                    Ok(Push::Refused(PushRefusal::Rights, error.detail))
                } else if never_reached(&out.stderr_text()) {
                    Err(error)
                } else {
                    Ok(Push::Unknown(error.detail))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::branch_is_ours;

    #[test]
    fn only_plain_names_of_ours() {
        for good in [
            "fix/auto-7f3a91c0",
            "fix/auto-7f3a91c0-2",
            "fix/auto-7f3a91c0-2-revert",
            "fix/auto-0",
        ] {
            assert!(branch_is_ours(good), "{good}");
        }
        let long = format!("fix/auto-{}", "x".repeat(81));
        for bad in [
            "main",
            "refs/heads/main",
            "fix/auto-",
            "fix/auto--x",
            "fix/auto-$(touch${IFS}x)",
            "--exec=touch x",
            "fix/auto-../../../main",
            "fix/auto-a..b~1^{}:c?*[\\ @{-1}.lock",
            "fix/auto-m\u{430}in",
            "fix/auto-X",
            "fix/auto-a\n",
            "fix/auto-a.lock",
            long.as_str(),
        ] {
            assert!(!branch_is_ours(bad), "{bad:?}");
        }
    }
}
