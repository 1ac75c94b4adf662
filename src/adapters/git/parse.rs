//! Readers of git's machine output. Pure; every shape that is not understood is `None`, never a guess.

use chrono::DateTime;

use super::{Change, CommitLine, TreeEntry};
use crate::{
    model::Sha,
    text::{Redactor, Untrusted},
};

/// `git version 2.47.3`, with what vendors append.
pub(super) fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix("git version ")?.split(['.', ' ', '\n', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn sha(bytes: &[u8]) -> Option<Sha> {
    Sha::parse(std::str::from_utf8(bytes).ok()?).ok()
}

fn mode(bytes: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(bytes).ok()?, 8).ok()
}

fn records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let body = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let empty = body.is_empty();
    body.split(|b| *b == 0).filter(move |_| !empty)
}

/// `diff-tree -r --raw -z --no-renames --no-abbrev`.
pub(super) fn changes(bytes: &[u8]) -> Option<Vec<Change>> {
    let mut fields = records(bytes);
    let mut out = Vec::new();
    while let Some(head) = fields.next() {
        let mut parts = head.strip_prefix(b":")?.split(|b| *b == b' ');
        let old_mode = mode(parts.next()?)?;
        let new_mode = mode(parts.next()?)?;
        let old = sha(parts.next()?)?;
        let new = sha(parts.next()?)?;
        let status = parts.next()?;
        if !matches!(status, b"A" | b"M" | b"D" | b"T") || parts.next().is_some() {
            return None;
        }
        out.push(Change {
            path: fields.next()?.to_vec(),
            old_mode,
            new_mode,
            old_blob: (old_mode != 0).then_some(old),
            new_blob: (new_mode != 0).then_some(new),
        });
    }
    Some(out)
}

/// `ls-tree -r -z -l --full-tree`.
pub(super) fn entries(bytes: &[u8]) -> Option<Vec<TreeEntry>> {
    records(bytes)
        .map(|record| {
            let tab = record.iter().position(|b| *b == b'\t')?;
            let mut parts = record[..tab].split(|b| *b == b' ').filter(|p| !p.is_empty());
            let mode = mode(parts.next()?)?;
            parts.next()?;
            let id = sha(parts.next()?)?;
            let size = std::str::from_utf8(parts.next()?).ok()?;
            Some(TreeEntry {
                path: record[tab + 1..].to_vec(),
                mode,
                id,
                size: size.parse().ok(),
            })
        })
        .collect()
}

/// `log -z --format=%H%x00%P%x00%ct%x00%an%x00%s`.
pub(super) fn log(bytes: &[u8], redactor: &Redactor) -> Option<Vec<CommitLine>> {
    let fields: Vec<&[u8]> = records(bytes).collect();
    let text = |bytes: &[u8]| Untrusted::new(&String::from_utf8_lossy(bytes), redactor);
    fields
        .chunks(5)
        .map(|chunk| {
            let [id, parents, at, author, subject] = chunk else {
                return None;
            };
            let seconds: Option<i64> = std::str::from_utf8(at).ok()?.parse().ok();
            Some(CommitLine {
                sha: sha(id)?,
                parents: words(parents)?,
                at: seconds.and_then(|s| DateTime::from_timestamp(s, 0)),
                author: text(author),
                subject: text(subject),
            })
        })
        .collect()
}

/// Object ids separated by spaces.
pub(super) fn words(bytes: &[u8]) -> Option<Vec<Sha>> {
    bytes
        .split(|b| *b == b' ' || *b == b'\n')
        .filter(|w| !w.is_empty())
        .map(sha)
        .collect()
}

/// `cat-file --batch`: contents in the order they were asked for; `None` in the list for a missing object.
pub(super) fn batch(mut bytes: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.iter().position(|b| *b == b'\n')?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?;
        bytes = &bytes[end + 1..];
        if head.ends_with(" missing") {
            out.push(None);
            continue;
        }
        let size: usize = head.rsplit(' ').next()?.parse().ok()?;
        out.push(Some(bytes.get(..size)?.to_vec()));
        bytes = bytes.get(size..)?.strip_prefix(b"\n")?;
    }
    Some(out)
}

/// `merge-tree --write-tree -z --name-only --no-messages`: the tree, then the paths in conflict.
pub(super) fn merge_tree(bytes: &[u8]) -> Option<(Sha, Vec<Vec<u8>>)> {
    let mut fields = records(bytes);
    let tree = sha(fields.next()?)?;
    let mut paths: Vec<Vec<u8>> = fields.filter(|f| !f.is_empty()).map(<[u8]>::to_vec).collect();
    paths.dedup();
    Some((tree, paths))
}

/// `ls-remote`: the id of exactly this ref.
pub(super) fn remote_ref(text: &str, name: &str) -> Option<Sha> {
    text.lines()
        .filter_map(|line| line.split_once('\t'))
        .find(|(_, found)| *found == name)
        .and_then(|(id, _)| Sha::parse(id).ok())
}

/// What `push --porcelain` says of the one ref that was pushed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PushLine {
    Done,
    Refused(String),
    Silent,
}

pub(super) fn push(text: &str, target: &str) -> PushLine {
    for line in text.lines() {
        let mut fields = line.splitn(3, '\t');
        let (Some(flag), Some(refs), Some(summary)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        if refs.rsplit(':').next() != Some(target) {
            continue;
        }
        return match flag {
            " " | "*" | "=" | "-" => PushLine::Done,
            _ => PushLine::Refused(summary.to_owned()),
        };
    }
    PushLine::Silent
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";
    const ZERO: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn versions_of_vendors() {
        assert_eq!(version("git version 2.47.3\n"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("git version 2.50.0-rc1"), Some((2, 50)));
        assert_eq!(version("hg 5"), None);
    }

    #[test]
    fn raw_changes_keep_bytes_and_modes() {
        let text = format!(
            ":100644 100755 {A} {B} M\0a\nb\0:000000 120000 {ZERO} {B} A\0\u{e9}\0:160000 000000 {A} {ZERO} D\0-rf\0"
        );
        let found = changes(text.as_bytes()).unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(
            (found[0].path.as_slice(), found[0].new_mode),
            (b"a\nb".as_slice(), 0o100_755)
        );
        assert_eq!((found[1].old_blob.as_ref(), found[1].new_mode), (None, 0o120_000));
        assert_eq!((found[2].old_mode, found[2].new_blob.as_ref()), (0o160_000, None));
        assert_eq!(changes(b""), Some(Vec::new()));
        for bad in [
            ":100644 100644 x y M\0a\0",
            "100644\0a\0",
            &format!(":100644 100644 {A} {B} R100\0a\0b\0"),
        ] {
            assert_eq!(changes(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn tree_entries_with_sizes_and_submodules() {
        let text = format!("100644 blob {A}      12\tdir/a b\0160000 commit {B}       -\tsub\0");
        let found = entries(text.as_bytes()).unwrap();
        assert_eq!(
            (found[0].path.as_slice(), found[0].size),
            (b"dir/a b".as_slice(), Some(12))
        );
        assert_eq!((found[1].mode, found[1].size), (0o160_000, None));
        assert_eq!(entries(b"garbage\0"), None);
    }

    #[test]
    fn batches_hold_newlines_and_missing_objects() {
        let text = format!("{A} blob 4\na\nb\n\n{B} missing\n{A} blob 0\n\n");
        assert_eq!(
            batch(text.as_bytes()),
            Some(vec![Some(b"a\nb\n".to_vec()), None, Some(Vec::new())])
        );
        assert_eq!(batch(format!("{A} blob 9\nshort\n").as_bytes()), None);
    }

    #[test]
    fn merge_results() {
        assert_eq!(
            merge_tree(format!("{A}\0").as_bytes()),
            Some((Sha::parse(A).unwrap(), vec![]))
        );
        let (_, paths) = merge_tree(format!("{A}\0a\0b c\0").as_bytes()).unwrap();
        assert_eq!(paths, [b"a".to_vec(), b"b c".to_vec()]);
    }

    #[test]
    fn a_remote_ref_is_matched_whole() {
        let text = format!("{A}\trefs/heads/x/fix/auto-1\n{B}\trefs/heads/fix/auto-1\n");
        assert_eq!(remote_ref(&text, "refs/heads/fix/auto-1"), Sha::parse(B).ok());
        assert_eq!(remote_ref(&text, "refs/heads/auto-1"), None);
    }

    #[test]
    fn push_lines() {
        let target = "refs/heads/fix/auto-1";
        let line = |flag: &str, summary: &str| format!("To /srv/a.git\n{flag}\t{A}:{target}\t{summary}\nDone\n");
        assert_eq!(push(&line("*", "[new branch]"), target), PushLine::Done);
        assert_eq!(push(&line(" ", "1..2"), target), PushLine::Done);
        assert_eq!(push(&line("=", "[up to date]"), target), PushLine::Done);
        assert_eq!(
            push(&line("!", "[rejected] (fetch first)"), target),
            PushLine::Refused("[rejected] (fetch first)".to_owned())
        );
        // A forced update is never what was asked for.
        assert!(matches!(push(&line("+", "x"), target), PushLine::Refused(_)));
        assert_eq!(push("fatal: x\n", target), PushLine::Silent);
    }

    #[test]
    fn log_lines() {
        let text = format!("{A}\0{B} {B}\01700000000\0Ann\0a subject\0{B}\0\0x\0\0\0");
        let found = log(text.as_bytes(), &Redactor::default()).unwrap();
        assert_eq!(
            (found[0].parents.len(), found[0].subject.line(80).as_str()),
            (2, "a subject")
        );
        assert_eq!((found[1].parents.len(), found[1].at), (0, None));
    }
}
