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
    let applied = apply(&parse(diff.as_bytes()).unwrap(), &base(files));
    assert_eq!(applied.unread, []);
    applied.changes
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
    let found = patches.map(|p| apply(&p, &BTreeMap::new()).changes);
    assert_eq!(found.unwrap()[0].new.as_ref().unwrap().bytes, [0, 1, 2, 3]);
    let unknown = "diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n";
    let found = changes(unknown, &[("b", "x")]);
    assert!(found[0].new.as_ref().unwrap().bytes.contains(&0));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let parse_error = |diff: &str| parse(diff.as_bytes()).unwrap_err().to_string();
    let apply_error = |diff: &str, files: &[(&str, &str)]| {
        let applied = apply(&parse(diff.as_bytes()).unwrap(), &base(files));
        assert_eq!(applied.changes, []);
        applied.unread[0].error.to_string()
    };
    let hunk = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    assert!(apply_error(hunk, &[("x", "z\n")]).contains("line 3"));
    assert!(apply_error(hunk, &[]).contains("not in the base"));
    assert!(parse_error("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n").contains("ends within"));
    assert!(parse_error("--- a/x\n+++ b/x\n@@ -x +1 @@\n").contains("range"));
    assert!(parse_error("@@ -1 +1 @@\n-a\n+b\n").contains("without a file"));
    assert!(parse_error("diff --git a/x b/x\nnew file mode 99\n").contains("no mode"));
    assert_eq!(parse(b"").unwrap(), []);
    assert_eq!(parse(b"\n").unwrap(), []);
}

#[test]
fn what_is_no_patch_is_never_an_empty_one() {
    let error = |diff: &[u8]| parse(diff).unwrap_err().to_string();
    let one = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    for text in [
        "only words\n",
        "fatal: ambiguous argument 'main...'\n",
        " x | 2 +-\n 1 file changed\n",
        "3c3\n< a\n> b\n",
    ] {
        assert!(error(text.as_bytes()).contains("--no-ext-diff"), "{text}");
        assert!(
            error(format!("{one}{text}").as_bytes()).contains("no part of a patch"),
            "{text}"
        );
    }
    let wide: Vec<u8> = one.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(error(&wide).contains("--no-ext-diff"));
    let coloured = one
        .replace("diff --git", "\u{1b}[1mdiff --git")
        .replace('\n', "\u{1b}[m\n");
    assert!(error(coloured.as_bytes()).contains("color.ui=never"));
    assert!(error(one.replace("a/x b/x", "x x").as_bytes()).contains("--src-prefix"));
    // A state in between that no base shows.
    assert!(error(format!("{one}{one}").as_bytes()).contains("second time"));
    let made = "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n";
    let found = apply(&parse(made.as_bytes()).unwrap(), &base(&[("x", "a\n")]));
    assert!(found.unread[0].error.to_string().contains("it is in the base"));
}

#[test]
fn one_file_that_does_not_fit_hides_no_other() {
    let part = |path: &str| format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n");
    let applied = apply(
        &parse((part("x") + &part("y") + &part("z")).as_bytes()).unwrap(),
        &base(&[("x", "a\n"), ("y", "of a filter\n"), ("z", "a\n")]),
    );
    let changed: Vec<String> = applied.changes.iter().map(FileChange::shown).collect();
    assert_eq!(changed, ["x", "z"]);
    assert_eq!(applied.unread.len(), 1);
    assert_eq!(applied.unread[0].path, b"y");
}

#[test]
fn a_checkout_may_have_other_line_ends_than_the_diff() {
    let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    let found = changes(diff, &[("x", "a\r\nb\r\nd\r\n")]);
    assert_eq!(shown(&found), one("x", FILE, "a\r\nc\r\nd\r\n"));
    let found = changes(&diff.replace("a\n-b\n+c\n", "a\r\n-b\r\n+c\r\n"), &[("x", "a\nb\n")]);
    assert_eq!(shown(&found), one("x", FILE, "a\nc\n"));
}

#[test]
fn messages_of_commits_are_no_changes() {
    let one = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    let show = format!("commit 0123456789abcdef\nAuthor: A <a@example.com>\n\n    a fix\n\n{one}");
    let mail = format!(
        "From 0123456789abcdef Mon Sep 17 00:00:00 2001\nSubject: a fix\n\n---\n x | 2 +-\n\n{one}-- \n2.43.0\n\n"
    );
    let other = format!("diff -ru a/x b/x\n{}", &one[one.find("---").unwrap()..]);
    let marked = format!("\u{feff}{one}");
    for diff in [show, mail, other, marked] {
        assert_eq!(
            shown(&changes(&diff, &[("x", "a\n")])),
            self::one("x", FILE, "b\n"),
            "{diff}"
        );
    }
}
