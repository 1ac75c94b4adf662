//! From a child's tree to a commit: walk level by level, let the base's ignore rules judge what is new, import what
//! differs.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::DirBuilderExt as _},
    path::Path,
};

use super::{
    GitError, GitErrorKind, Mirror, Result, TreeEntry, WalkLimits, Walked, sweep,
    walk::{Base, Held, Stop, Walk, like_dot_git},
    work::{absolute, beside, new_file, private_dir},
};
use crate::model::Sha;

/// Ignore files larger than this are not ignore files.
const IGNORE_CAP: u64 = 1 << 20;

impl Mirror {
    #[cfg(test)]
    pub(super) async fn commit_walk(
        &self,
        base: &Sha,
        tree_dir: &Path,
        parents: &[Sha],
        message: &str,
    ) -> Result<Walked> {
        self.commit_walk_within(base, tree_dir, parents, message, WalkLimits::default())
            .await
    }

    /// Commits what the files in `tree_dir` differ from `base`, with `parents` (none: `base`). Call it when the child
    /// is dead. Ignored are only new paths that the rules of the base ignore.
    pub async fn commit_walk_within(
        &self,
        base: &Sha,
        tree_dir: &Path,
        parents: &[Sha],
        message: &str,
        limits: WalkLimits,
    ) -> Result<Walked> {
        let entries = self.list(base).await?;
        let scratch = beside(&absolute(tree_dir)?, "rules");
        sweep(&scratch)?;
        private_dir(&scratch)?;
        let walked = self.walk(&entries, tree_dir, &scratch, limits).await;
        sweep(&scratch)?;
        let edits = match walked? {
            Ok(edits) => edits,
            Err(why) => return Ok(Walked::Refused(why)),
        };
        if edits.is_empty() {
            return Ok(Walked::NoChange);
        }
        let tree = self.edit_tree(base, &edits).await?;
        if tree == self.tree_of(base).await? {
            return Ok(Walked::NoChange);
        }
        let own = [base.clone()];
        let parents = if parents.is_empty() { &own } else { parents };
        let sha = self.commit_tree(&tree, parents, message).await?;
        Ok(Walked::Commit { sha, tree })
    }

    async fn walk(
        &self,
        entries: &[TreeEntry],
        tree_dir: &Path,
        scratch: &Path,
        limits: WalkLimits,
    ) -> Result<std::result::Result<Vec<super::FileEdit>, String>> {
        self.write_rules(entries, scratch).await?;
        let base: Base = entries
            .iter()
            .map(|e| {
                let held = Held {
                    mode: e.mode,
                    id: e.id.as_str().to_owned(),
                    size: e.size,
                };
                (e.path.clone(), held)
            })
            .collect();
        let outcome = async {
            let mut walk = Walk::open(tree_dir, &base, limits)?;
            let mut dirs = vec![Vec::new()];
            let mut depth = 0;
            while !dirs.is_empty() {
                walk.too_deep(depth)?;
                depth += 1;
                let level = walk.level(&dirs)?;
                let ignored = self.ignored(scratch, level.unknown(&base)).await.map_err(Halt::Git)?;
                walk.read(&level, &ignored)?;
                dirs = level
                    .dirs
                    .into_iter()
                    .filter(|d| !ignored.contains(&[d, b"/".as_slice()].concat()))
                    .collect();
            }
            Ok(walk.finish()?)
        };
        match outcome.await {
            Ok(edits) => Ok(Ok(edits)),
            Err(Halt::Git(error)) => Err(error),
            Err(Halt::Walk(Stop::Refused(why))) => Ok(Err(why)),
            Err(Halt::Walk(Stop::Io { path, error })) => Err(GitError::new(
                GitErrorKind::Io,
                format!("read {path}"),
                error.to_string(),
            )),
        }
    }

    /// The `.gitignore` files of the base, alone in a directory of ours.
    async fn write_rules(&self, entries: &[TreeEntry], scratch: &Path) -> Result<()> {
        let rules: Vec<&TreeEntry> = entries.iter().filter(|e| is_rule_file(e)).collect();
        let ids: Vec<&Sha> = rules.iter().map(|e| &e.id).collect();
        let contents = self.blobs(&ids).await?;
        for (entry, bytes) in rules.iter().zip(contents) {
            let path = scratch.join(OsStr::from_bytes(&entry.path));
            if let Some(dir) = path.parent() {
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(dir)
                    .map_err(|e| GitError::io(format!("make the directory {}", dir.display()), &e))?;
            }
            new_file(&path, &bytes)?;
        }
        Ok(())
    }

    /// Which of these paths the rules ignore; directories end with a slash.
    async fn ignored(&self, scratch: &Path, paths: Vec<Vec<u8>>) -> Result<BTreeSet<Vec<u8>>> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        // `./` in front keeps a name such as `:(top)x` from being read as an expression.
        let input = paths
            .iter()
            .flat_map(|path| [b"./", path.as_slice(), b"\0"].concat())
            .collect();
        let out = self
            .call(&["check-ignore", "--no-index", "--stdin", "-z"])
            .env("GIT_WORK_TREE", scratch)
            .env("GIT_INDEX_FILE", scratch.join(".no-index"))
            .env("GIT_LITERAL_PATHSPECS", "0")
            .in_dir(scratch)
            .stdin(input)
            .run()
            .await?;
        match out.code {
            Some(0 | 1) => Ok(out
                .stdout
                .split(|b| *b == 0)
                .filter_map(|path| path.strip_prefix(b"./"))
                .map(<[u8]>::to_vec)
                .collect()),
            _ => Err(super::command::failure(
                &self.git,
                "read the ignore rules of the base".to_owned(),
                &out,
            )),
        }
    }
}

enum Halt {
    Git(GitError),
    Walk(Stop),
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Self::Walk(stop)
    }
}

/// A plain file named `.gitignore` at a path that stays inside the scratch directory.
fn is_rule_file(entry: &TreeEntry) -> bool {
    let parts: Vec<&[u8]> = entry.path.split(|b| *b == b'/').collect();
    parts.last().is_some_and(|name| *name == b".gitignore")
        && matches!(entry.mode, 0o100_644 | 0o100_755)
        && entry.size.is_some_and(|size| size <= IGNORE_CAP)
        && parts
            .iter()
            .all(|part| !matches!(*part, b"" | b"." | b"..") && !like_dot_git(part))
}
