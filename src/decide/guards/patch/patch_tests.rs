//! Patches against their bases, by cases.

use std::collections::BTreeMap;

use super::{apply, base_paths, parse};
use crate::decide::guards::{FileChange, Side};

const FILE: u32 = 0o100_644;

fn base(files: &[(&str, &str)]) -> BTreeMap<Vec<u8>, Side> {
    let side = |text: &str| Side {
        mode: FILE,
        bytes: text.as_bytes().to_vec(),
    };
    files
        .iter()
        .map(|(path, text)| (path.as_bytes().to_vec(), side(text)))
        .collect()
}

fn changes(diff: &str, files: &[(&str, &str)]) -> Vec<FileChange> {
    apply(&parse(diff.as_bytes()).unwrap(), &base(files)).unwrap()
}

/// Path, mode and text of the new side.
fn shown(changes: &[FileChange]) -> Vec<(String, Option<(u32, String)>)> {
    let new = |c: &FileChange| {
        let side = c.new.as_ref()?;
        Some((side.mode, String::from_utf8_lossy(&side.bytes).into_owned()))
    };
    changes.iter().map(|c| (c.shown(), new(c))).collect()
}

fn one(path: &str, mode: u32, text: &str) -> Vec<(String, Option<(u32, String)>)> {
    vec![(path.to_owned(), Some((mode, text.to_owned())))]
}

#[test]
fn hunks_change_add_and_remove_lines() {
    let diff = "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -5 +5,2 @@ def f\n e\n+f\n";
    let found = changes(diff, &[("x.py", "a\nb\nc\nd\ne\n")]);
    assert_eq!(shown(&found), one("x.py", FILE, "a\nB\nc\nd\ne\nf\n"));
    // Without git's own headers, and with a date behind the name.
    let plain = "--- a/x.py\t2030-01-01\n+++ b/x.py\t2030-01-02\n@@ -2,0 +3 @@\n+c\n";
    assert_eq!(
        shown(&changes(plain, &[("x.py", "a\nb\n")])),
        one("x.py", FILE, "a\nb\nc\n")
    );
    // A few lines off, as git allows.
    let off = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n c\n-d\n+D\n";
    assert_eq!(
        shown(&changes(off, &[("x.py", "a\nb\nc\nd\n")])),
        one("x.py", FILE, "a\nb\nc\nD\n")
    );
}

#[test]
fn ends_of_files() {
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
    assert_eq!(shown(&changes(diff, &[("x", "a")])), one("x", FILE, "b"));
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
    assert_eq!(shown(&changes(diff, &[("x", "a")])), one("x", FILE, "a\n"));
}

#[test]
fn new_deleted_renamed_copied_and_linked() {
    let diff = "diff --git a/n b/n\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(shown(&changes(diff, &[])), one("n", 0o100_755, "x\n"));
    let diff = "diff --git a/o b/o\ndeleted file mode 100644\nindex 1..0\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    assert_eq!(shown(&changes(diff, &[("o", "x\n")])), [("o".to_owned(), None)]);
    let diff = "diff --git a/o b/d/n\nsimilarity index 50%\nrename from o\nrename to d/n\nindex 1..2 100644\n--- a/o\n+++ b/d/n\n@@ -1 +1,2 @@\n x\n+y\n";
    let found = changes(diff, &[("o", "x\n")]);
    assert_eq!(
        shown(&found),
        [
            ("d/n".to_owned(), Some((FILE, "x\ny\n".to_owned()))),
            ("o".to_owned(), None)
        ]
    );
    let diff = "diff --git a/o b/n\nsimilarity index 100%\ncopy from o\ncopy to n\n";
    assert_eq!(shown(&changes(diff, &[("o", "x\n")])), one("n", FILE, "x\n"));
    // A file becomes a link: gone and there again.
    let diff = "diff --git a/o b/o\ndeleted file mode 100644\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git a/o b/o\nnew file mode 120000\n--- /dev/null\n+++ b/o\n@@ -0,0 +1 @@\n+../out\n\\ No newline at end of file\n";
    let found = changes(diff, &[("o", "x\n")]);
    assert_eq!(shown(&found), one("o", 0o120_000, "../out"));
    assert!(found[0].old.is_some());
}

#[test]
fn modes_alone_and_empty_files() {
    let diff = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n";
    assert_eq!(shown(&changes(diff, &[("x", "a\n")])), one("x", 0o100_755, "a\n"));
    let diff = "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n";
    assert_eq!(shown(&changes(diff, &[])), one("e", FILE, ""));
}

#[test]
fn names_with_quotes_and_blanks() {
    let diff = "diff --git \"a/s\\303\\251 \\\"q\\\".py\" \"b/s\\303\\251 \\\"q\\\".py\"\nindex 1..2 100644\n--- \"a/s\\303\\251 \\\"q\\\".py\"\n+++ \"b/s\\303\\251 \\\"q\\\".py\"\n@@ -1 +1 @@\n-a\n+b\n";
    let path = "s\u{e9} \"q\".py";
    assert_eq!(shown(&changes(diff, &[(path, "a\n")])), one(path, FILE, "b\n"));
    let diff = "diff --git a/a b/c.txt b/a b/c.txt\nold mode 100644\nnew mode 100755\n";
    assert_eq!(base_paths(&parse(diff.as_bytes()).unwrap()), [b"a b/c.txt".to_vec()]);
}

#[test]
fn binary_blocks() {
    // 0x00 0x01 0x02 0x03 as a literal, and the way back to nothing.
    let diff = "diff --git a/b.bin b/b.bin\nnew file mode 100644\nindex 0..1\nGIT binary patch\nliteral 4\nLc${NkWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n";
    let patches = parse(diff.as_bytes());
    let found = patches.map(|p| apply(&p, &BTreeMap::new()).unwrap());
    assert_eq!(found.unwrap()[0].new.as_ref().unwrap().bytes, [0, 1, 2, 3]);
    let unknown = "diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n";
    let found = changes(unknown, &[("b", "x")]);
    assert!(found[0].new.as_ref().unwrap().bytes.contains(&0));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let parse_error = |diff: &str| parse(diff.as_bytes()).unwrap_err().to_string();
    let apply_error = |diff: &str, files: &[(&str, &str)]| {
        apply(&parse(diff.as_bytes()).unwrap(), &base(files))
            .unwrap_err()
            .to_string()
    };
    let hunk = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    assert!(apply_error(hunk, &[("x", "z\n")]).contains("line 3"));
    assert!(apply_error(hunk, &[]).contains("not in the base"));
    assert!(parse_error("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n").contains("ends within"));
    assert!(parse_error("--- a/x\n+++ b/x\n@@ -x +1 @@\n").contains("range"));
    assert!(parse_error("@@ -1 +1 @@\n-a\n+b\n").contains("without a file"));
    assert!(parse_error("diff --git a/x b/x\nnew file mode 99\n").contains("no mode"));
    assert_eq!(parse(b"").unwrap(), []);
    assert_eq!(parse(b"only words\n").unwrap(), []);
}
