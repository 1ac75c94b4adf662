//! Commits made from bytes through `git fast-import`: no index, no attribute, no filter and no hook is in the path.
//! Same tree, parents and message: same commit.

use super::{FileEdit, Git, GitError, GitErrorKind, Mirror, Result, mirror::unread, parse};
use crate::model::Sha;

impl Mirror {
    /// The tree of `base` with these edits. Removals are applied first.
    pub async fn edit_tree(&self, base: &Sha, edits: &[FileEdit]) -> Result<Sha> {
        let reference = format!("refs/tick/import/{}", random_name()?);
        let stream = import_stream(&reference, base, edits)?;
        let out = self
            .call(&["fast-import", "--quiet", "--done", "--date-format=raw", "--force"])
            .stdin(stream)
            .ok()
            .await?;
        let commit = parse::words(&out).and_then(|ids| ids.into_iter().next());
        let commit = commit.ok_or_else(|| unread("fast-import"))?;
        let tree = self.tree_of(&commit).await;
        // The tree is held by the commit that is made of it; this name was for the import only.
        self.call(&["update-ref", "-d", &reference]).ok().await?;
        tree
    }

    /// A commit with our fixed identity and a date computed from its parents, kept by a ref of ours.
    pub async fn commit_tree(&self, tree: &Sha, parents: &[Sha], message: &str) -> Result<Sha> {
        let mut seconds = 0;
        for parent in parents {
            seconds = seconds.max(self.commit_seconds(parent).await?);
        }
        let date = format!("@{} +0000", seconds + 1);
        let Git { name, email, .. } = &self.git;
        let mut call = self
            .call(&["commit-tree", "--no-gpg-sign", "-F", "-"])
            .env("GIT_AUTHOR_NAME", name)
            .env("GIT_AUTHOR_EMAIL", email)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email)
            .env("GIT_COMMITTER_DATE", &date);
        for parent in parents {
            call = call.arg("-p").arg(parent.as_str());
        }
        let mut text = message.replace('\0', "");
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let line = call.arg(tree.as_str()).stdin(text.into_bytes()).line().await?;
        let sha = Sha::parse(&line).map_err(|_| unread("commit-tree"))?;
        self.call(&["update-ref", &super::keep::reference(&sha), sha.as_str()])
            .ok()
            .await?;
        Ok(sha)
    }

    /// `base` with these edits, committed on top of it.
    pub async fn commit_edits(&self, base: &Sha, edits: &[FileEdit], message: &str) -> Result<Sha> {
        let tree = self.edit_tree(base, edits).await?;
        self.commit_tree(&tree, std::slice::from_ref(base), message).await
    }
}

fn random_name() -> Result<String> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(|e| GitError::new(GitErrorKind::Io, "draw a random name", e.to_string()))?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}

/// The stream for `git fast-import`; it answers with the id of the commit.
fn import_stream(reference: &str, base: &Sha, edits: &[FileEdit]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    out.extend_from_slice(
        format!(
            "feature done\ncommit {reference}\nmark :1\ncommitter tick <tick@localhost> 0 +0000\ndata 0\nfrom {base}\n"
        )
        .as_bytes(),
    );
    let (gone, kept): (Vec<_>, Vec<_>) = edits.iter().partition(|e| e.new.is_none());
    for edit in gone.into_iter().chain(kept) {
        let path = quoted(&edit.path)?;
        match &edit.new {
            None => {
                out.extend_from_slice(b"D ");
                out.extend_from_slice(&path);
            }
            Some((mode, bytes)) => {
                out.extend_from_slice(format!("M {mode:o} inline ").as_bytes());
                out.extend_from_slice(&path);
                out.extend_from_slice(format!("\ndata {}\n", bytes.len()).as_bytes());
                out.extend_from_slice(bytes);
            }
        }
        out.push(b'\n');
    }
    out.extend_from_slice(b"\nget-mark :1\ndone\n");
    Ok(out)
}

/// A path in double quotes as fast-import reads it: every byte that is not plain is an octal escape.
fn quoted(path: &[u8]) -> Result<Vec<u8>> {
    let safe = !path.is_empty()
        && !path.contains(&0)
        && path
            .split(|b| *b == b'/')
            .all(|part| !matches!(part, b"" | b"." | b"..") && !super::walk::like_dot_git(part));
    if !safe {
        return Err(GitError::input(
            "commit a path",
            format!("{} is not a path", super::shown_path(path)),
        ));
    }
    let mut out = vec![b'"'];
    for byte in path {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => out.push(*byte),
            other => out.extend_from_slice(format!("\\{other:03o}").as_bytes()),
        }
    }
    out.push(b'"');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_byte_by_byte() {
        assert_eq!(quoted(b"a/b.rs").unwrap(), b"\"a/b.rs\"");
        assert_eq!(quoted(b"a\n\" \xe9").unwrap(), b"\"a\\012\\042\\040\\351\"");
        assert_eq!(quoted(b"-rf").unwrap(), b"\"-rf\"");
        for bad in [
            &b""[..],
            b"/a",
            b"a//b",
            b"../a",
            b"a/./b",
            b"a/.GIT/config",
            b".git/config",
            b"a\0b",
            b"a/",
        ] {
            assert!(quoted(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn removals_come_first() {
        let base = Sha::parse(&"1".repeat(40)).unwrap();
        let edits = [
            FileEdit {
                path: b"a/b".to_vec(),
                new: Some((0o100_644, b"x\n".to_vec())),
            },
            FileEdit {
                path: b"a".to_vec(),
                new: None,
            },
        ];
        let stream = String::from_utf8(import_stream("refs/tick/import/x", &base, &edits).unwrap()).unwrap();
        let removal = stream.find("D \"a\"\n").unwrap();
        let addition = stream.find("M 100644 inline \"a/b\"\ndata 2\nx\n\n").unwrap();
        assert!(
            removal < addition && stream.ends_with("get-mark :1\ndone\n"),
            "{stream}"
        );
    }
}
