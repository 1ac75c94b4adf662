//! Trees and git dirs that a hostile child left behind, against the real git.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use super::{
    GitErrorKind, Push, Replay, WalkLimits, Walked, WorktreePaths,
    fixture::{World, add, with_mode},
    sweep,
};
use crate::model::Sha;

pub(super) async fn changed(world: &World, base: &Sha, head: &Sha) -> Vec<String> {
    let changes = world.mirror.changes(base, head).await.unwrap();
    changes
        .iter()
        .map(|c| String::from_utf8_lossy(&c.path).into_owned())
        .collect()
}

pub(super) async fn walk(world: &World, base: &Sha, paths: &WorktreePaths) -> Walked {
    world.mirror.commit_walk(base, &paths.tree, &[], "a fix").await.unwrap()
}

pub(super) fn commit(walked: Walked) -> Sha {
    match walked {
        Walked::Commit { sha, .. } => sha,
        other => panic!("{other:?}"),
    }
}

pub(super) fn refused(walked: Walked) -> String {
    match walked {
        Walked::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

async fn attempt(files: &[super::FileEdit]) -> (World, Sha, WorktreePaths) {
    let (world, base) = World::with(files).await;
    let paths = world.mirror.worktree(&base, &world.path("worktrees/1")).await.unwrap();
    (world, base, paths)
}

#[tokio::test]
async fn same_tree_same_sha() {
    let (world, base, paths) = attempt(&[add("a", "1\n"), add("dir/b", "2\n")]).await;
    assert_eq!(walk(&world, &base, &paths).await, Walked::NoChange);
    fs::write(paths.tree.join("a"), "changed\n").unwrap();
    fs::remove_file(paths.tree.join("dir/b")).unwrap();
    fs::create_dir_all(paths.tree.join("new/deep")).unwrap();
    fs::write(paths.tree.join("new/deep/-rf"), "x").unwrap();
    let first = commit(walk(&world, &base, &paths).await);
    assert_eq!(first, commit(walk(&world, &base, &paths).await));
    assert_eq!(changed(&world, &base, &first).await, ["a", "dir/b", "new/deep/-rf"]);
    assert_eq!(world.mirror.parents(&first).await.unwrap(), std::slice::from_ref(&base));

    // On top of an earlier head: same tree, other parents.
    let Walked::Commit { sha, tree } = world
        .mirror
        .commit_walk(&base, &paths.tree, std::slice::from_ref(&first), "again")
        .await
        .unwrap()
    else {
        panic!("a commit was expected");
    };
    assert_eq!(world.mirror.tree_of(&first).await.unwrap(), tree);
    assert_eq!(world.mirror.parents(&sha).await.unwrap(), [first]);
    let refs = world
        .mirror
        .call(&["for-each-ref", "refs/tick/import"])
        .line()
        .await
        .unwrap();
    assert_eq!(refs, "");
    assert!(!world.path("worktrees/1/tree.rules").exists());
}

#[tokio::test]
async fn files_directories_links_and_modes_change_places() {
    let (world, base, paths) = attempt(&[
        add("a", "1\n"),
        add("d/x", "2\n"),
        add("run", "3\n"),
        with_mode("l", 0o120_000, "a"),
    ])
    .await;
    let tree = &paths.tree;
    fs::remove_file(tree.join("a")).unwrap();
    fs::create_dir(tree.join("a")).unwrap();
    fs::write(tree.join("a/inner"), "1\n").unwrap();
    fs::remove_dir_all(tree.join("d")).unwrap();
    fs::write(tree.join("d"), "now a file\n").unwrap();
    fs::set_permissions(tree.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(tree.join("l")).unwrap();
    symlink("/etc/hostname", tree.join("l")).unwrap();
    let head = commit(walk(&world, &base, &paths).await);
    let changes = world.mirror.changes(&base, &head).await.unwrap();
    let modes: Vec<_> = changes
        .iter()
        .map(|c| (String::from_utf8_lossy(&c.path).into_owned(), c.old_mode, c.new_mode))
        .collect();
    assert_eq!(
        modes,
        [
            ("a".to_owned(), 0o100_644, 0),
            ("a/inner".to_owned(), 0, 0o100_644),
            ("d".to_owned(), 0, 0o100_644),
            ("d/x".to_owned(), 0o100_644, 0),
            ("l".to_owned(), 0o120_000, 0o120_000),
            ("run".to_owned(), 0o100_644, 0o100_755),
        ]
    );
    // The text of the link, never what it points at.
    let link = changes.iter().find(|c| c.path == b"l").unwrap();
    assert_eq!(
        world.mirror.blob(link.new_blob.as_ref().unwrap()).await.unwrap(),
        b"/etc/hostname"
    );
}

#[tokio::test]
async fn only_the_rules_of_the_base_ignore() {
    let files = [
        add(".gitignore", "build/\n*.log\n"),
        add("sub/.gitignore", "gen\n"),
        add("kept.log", "old\n"),
    ];
    let (world, base, paths) = attempt(&files).await;
    let tree = &paths.tree;
    fs::create_dir_all(tree.join("build/x")).unwrap();
    fs::write(tree.join("build/x/y"), "ignored").unwrap();
    fs::create_dir_all(tree.join("build/nested/.git")).unwrap();
    fs::write(tree.join("new.log"), "ignored").unwrap();
    fs::write(tree.join("sub/gen"), "ignored").unwrap();
    fs::write(tree.join("kept.log"), "tracked, so it counts").unwrap();
    assert_eq!(
        changed(&world, &base, &commit(walk(&world, &base, &paths).await)).await,
        ["kept.log"]
    );

    // The child's own rules hide nothing.
    fs::write(tree.join(".gitignore"), "*\n").unwrap();
    fs::write(tree.join("hidden.py"), "x").unwrap();
    fs::write(tree.join("sub/.gitignore"), "").unwrap();
    let head = commit(walk(&world, &base, &paths).await);
    assert_eq!(
        changed(&world, &base, &head).await,
        [".gitignore", "hidden.py", "kept.log", "sub/.gitignore"]
    );
}

#[tokio::test]
async fn what_cannot_be_committed_is_refused_by_name() {
    let (world, base, paths) = attempt(&[add("a", "1\n")]).await;
    let tree = &paths.tree;
    for name in ["sub/.git", ".GIT", "sub/.Git", "git~1"] {
        fs::create_dir_all(tree.join(name)).unwrap();
        assert!(refused(walk(&world, &base, &paths).await).contains(name), "{name}");
        fs::remove_dir(tree.join(name)).unwrap();
    }
    fs::write(tree.join("sub/.git"), "gitdir: /elsewhere").unwrap();
    assert!(refused(walk(&world, &base, &paths).await).contains("sub/.git"));
    fs::remove_file(tree.join("sub/.git")).unwrap();

    run_plain("mkfifo", tree, &["pipe"]);
    assert!(refused(walk(&world, &base, &paths).await).contains("pipe is a named pipe"));
    fs::remove_file(tree.join("pipe")).unwrap();

    let socket = std::os::unix::net::UnixListener::bind(tree.join("s")).unwrap();
    assert!(refused(walk(&world, &base, &paths).await).contains("s is a socket"));
    drop(socket);
    fs::remove_file(tree.join("s")).unwrap();

    let small = WalkLimits {
        entries: 3,
        depth: 2,
        file: 10,
        total: 15,
        ..WalkLimits::default()
    };
    let within = async || {
        world
            .mirror
            .commit_walk_within(&base, tree, &[], "m", small)
            .await
            .unwrap()
    };
    fs::write(tree.join("big"), "12345678901").unwrap();
    assert!(refused(within().await).contains("big is larger than 10 bytes"));
    fs::write(tree.join("big"), "1234567890").unwrap();
    commit(within().await);
    fs::write(tree.join("more"), "1234567890").unwrap();
    assert!(refused(within().await).contains("15 bytes"));
    fs::write(tree.join("more"), "1").unwrap();
    fs::write(tree.join("fourth"), "1").unwrap();
    assert!(refused(within().await).contains("more than 3 files"));
    fs::remove_file(tree.join("fourth")).unwrap();
    fs::create_dir_all(tree.join("1/2/3")).unwrap();
    assert!(refused(within().await).contains("deeper than 2"));
}

/// Eight terabytes take hours to read: only a refusal by the size ends.
#[tokio::test]
async fn a_file_of_any_size_is_refused_unread() {
    let large = "x".repeat(100);
    let (world, base, paths) = attempt(&[add("kept.bin", &large), add("grown.bin", &large)]).await;
    let limits = WalkLimits {
        file: 10,
        ..WalkLimits::default()
    };
    let within = async || {
        let walked = world
            .mirror
            .commit_walk_within(&base, &paths.tree, &[], "m", limits)
            .await;
        walked.unwrap()
    };
    // Larger than what may change, and as it was.
    assert_eq!(within().await, Walked::NoChange);
    let sparse = |name: &str| {
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(paths.tree.join(name))
            .unwrap();
        file.set_len(1 << 43).unwrap();
    };
    sparse("new.bin");
    assert_eq!(refused(within().await), "new.bin is larger than 10 bytes");
    fs::remove_file(paths.tree.join("new.bin")).unwrap();
    sparse("grown.bin");
    assert_eq!(refused(within().await), "grown.bin is larger than 10 bytes");
    fs::write(paths.tree.join("grown.bin"), "y".repeat(100)).unwrap();
    assert_eq!(refused(within().await), "grown.bin is larger than 10 bytes");
}

#[tokio::test]
async fn many_files_and_a_long_walk_are_refused_with_the_number() {
    let (world, base, paths) = attempt(&[add("a", "1\n"), add("b", "2\n")]).await;
    let within = async |limits: WalkLimits| {
        let walked = world
            .mirror
            .commit_walk_within(&base, &paths.tree, &[], "m", limits)
            .await;
        walked.unwrap()
    };
    let usual = WalkLimits::default();
    let three = WalkLimits { changed: 3, ..usual };
    fs::write(paths.tree.join("a"), "changed\n").unwrap();
    fs::remove_file(paths.tree.join("b")).unwrap();
    fs::write(paths.tree.join("c"), "new\n").unwrap();
    commit(within(three).await);
    fs::write(paths.tree.join("d"), "new\n").unwrap();
    assert_eq!(refused(within(three).await), "more than 3 files are changed");
    // `.git` is a name as well.
    let names = WalkLimits { names: 3, ..usual };
    let why = "more than 3 files and directories in the tree";
    assert_eq!(refused(within(names).await), why);
    commit(within(WalkLimits { names: 4, ..usual }).await);
    let time = WalkLimits {
        time: std::time::Duration::ZERO,
        ..usual
    };
    let why = "its files cannot be read in the 0 minutes that were left of limits.attempt_minutes";
    assert_eq!(refused(within(time).await), why);
}

#[tokio::test]
async fn a_link_in_place_of_a_directory_leads_nowhere() {
    let (world, base, paths) = attempt(&[add("dir/secret", "in the repository\n")]).await;
    let outside = world.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "of the host").unwrap();
    fs::remove_dir_all(paths.tree.join("dir")).unwrap();
    symlink(&outside, paths.tree.join("dir")).unwrap();
    let head = commit(walk(&world, &base, &paths).await);
    let entries = world.mirror.list(&head).await.unwrap();
    assert_eq!((entries.len(), entries[0].mode), (1, 0o120_000));

    // The root itself exchanged for a link is an error, not a walk elsewhere.
    sweep(&paths.tree).unwrap();
    symlink(&outside, &paths.tree).unwrap();
    let error = world
        .mirror
        .commit_walk(&base, &paths.tree, &[], "m")
        .await
        .unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Io);
}

#[tokio::test]
async fn submodules_stay_as_they_are() {
    let (world, first) = World::with(&[
        add("a", "1\n"),
        add(".gitmodules", "[submodule \"x\"]\n\tpath = sub\n\turl = -u./payload\n"),
    ])
    .await;
    let index = world.path("index");
    let remote = &world.remote;
    remote
        .call(&["read-tree", first.as_str()])
        .env("GIT_INDEX_FILE", &index)
        .ok()
        .await
        .unwrap();
    remote
        .call(&["update-index", "--add", "--cacheinfo"])
        .arg(format!("160000,{first},sub"))
        .env("GIT_INDEX_FILE", &index)
        .ok()
        .await
        .unwrap();
    let tree = remote
        .call(&["write-tree"])
        .env("GIT_INDEX_FILE", &index)
        .line()
        .await
        .unwrap();
    let base = remote
        .commit_tree(&Sha::parse(&tree).unwrap(), std::slice::from_ref(&first), "m")
        .await
        .unwrap();
    world.point("main", &base).await;
    world.mirror.fetch().await.unwrap();
    let paths = world.mirror.worktree(&base, &world.path("worktrees/1")).await.unwrap();
    fs::create_dir_all(paths.tree.join("sub/.git")).unwrap();
    fs::write(paths.tree.join("sub/file"), "x").unwrap();
    assert_eq!(walk(&world, &base, &paths).await, Walked::NoChange);
    fs::remove_dir_all(paths.tree.join("sub")).unwrap();
    fs::write(paths.tree.join("a"), "2\n").unwrap();
    let head = commit(walk(&world, &base, &paths).await);
    assert_eq!(changed(&world, &base, &head).await, ["a"]);
    fs::write(paths.tree.join("sub"), "x").unwrap();
    assert!(refused(walk(&world, &base, &paths).await).contains("submodule sub"));
}

#[tokio::test]
async fn attributes_change_no_byte() {
    let files = [
        add(
            ".gitattributes",
            "* text=auto eol=crlf filter=x diff=x merge=x ident\n*.u text working-tree-encoding=UTF-16\n",
        ),
        add("a.txt", "one\n$Id$\n"),
        add("crlf.txt", "one\r\ntwo\r\n"),
        add("b.u", "one\n"),
    ];
    let (world, base, paths) = attempt(&files).await;
    assert_eq!(fs::read(paths.tree.join("a.txt")).unwrap(), b"one\n$Id$\n");
    assert_eq!(fs::read(paths.tree.join("b.u")).unwrap(), b"one\n");
    assert_eq!(walk(&world, &base, &paths).await, Walked::NoChange);
    let proof = world.path("worktrees/proof");
    world.mirror.checkout(&base, &proof).await.unwrap();
    assert_eq!(fs::read(proof.join("crlf.txt")).unwrap(), b"one\r\ntwo\r\n");
    assert!(!proof.join(".git").exists() && !world.path("worktrees/proof.index").exists());
    let mode = fs::metadata(&proof).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    assert!(
        world.mirror.checkout(&base, &proof).await.is_err(),
        "never into a directory that is there"
    );
}

/// The control: git as a careless program would run it.
fn careless_git(tree: &Path, args: &[&str]) {
    run_plain("git", tree, args);
}

#[expect(clippy::disallowed_methods, reason = "a program outside of the context under test")]
fn run_plain(program: &str, tree: &Path, args: &[&str]) {
    let status = std::process::Command::new(program)
        .args(args)
        .current_dir(tree)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    status.unwrap();
}

fn plant(paths: &WorktreePaths, sentinel: &Path) {
    let touch = format!("touch {}", sentinel.display());
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = {touch}\n\thooksPath = hooks\n\tsshCommand = {touch}\n\
         [filter \"x\"]\n\tclean = {touch}; cat\n\tsmudge = {touch}; cat\n[diff \"x\"]\n\ttextconv = {touch}; cat\n\tcommand = {touch}\n\
         [credential]\n\thelper = !{touch}\n[user]\n\tname = x\n\temail = x@example.invalid\n"
    );
    fs::write(paths.git_dir.join("config"), config).unwrap();
    fs::create_dir_all(paths.git_dir.join("hooks")).unwrap();
    for hook in [
        "pre-commit",
        "post-commit",
        "post-checkout",
        "pre-push",
        "post-index-change",
        "reference-transaction",
    ] {
        let path = paths.git_dir.join("hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\n{touch}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(paths.tree.join(".gitattributes"), "* filter=x diff=x merge=x\n").unwrap();
    fs::write(
        paths.tree.join(".gitmodules"),
        "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n\tupdate = !false\n",
    )
    .unwrap();
}

#[tokio::test]
async fn nothing_that_a_child_planted_runs() {
    let (world, base, paths) = attempt(&[add("a", "1\n"), add("b", "1\n")]).await;
    let sentinel = world.path("sentinel");
    plant(&paths, &sentinel);
    fs::write(paths.tree.join("a"), "2\n").unwrap();
    let head = commit(walk(&world, &base, &paths).await);
    let m = &world.mirror;
    assert_eq!(
        changed(&world, &base, &head).await,
        [".gitattributes", ".gitmodules", "a"]
    );
    assert!(m.diff_text(&base, &head, 1 << 20).await.unwrap().contains("+2"));
    m.patch_id(&base, &head).await.unwrap();
    m.checkout(&head, &world.path("worktrees/proof")).await.unwrap();
    assert!(matches!(
        m.replay(&base, &head, &base).await.unwrap(),
        Replay::Clean { .. }
    ));
    assert_eq!(m.push(&head, "fix/auto-1").await.unwrap(), Push::Done);

    // The `.git` file replaced by a link to a git dir of the child's making.
    fs::remove_file(paths.tree.join(".git")).unwrap();
    symlink(&paths.git_dir, paths.tree.join(".git")).unwrap();
    assert_eq!(commit(walk(&world, &base, &paths).await), head);
    assert!(!sentinel.exists());

    // Control: what was planted does run where git is pointed at that tree.
    careless_git(&paths.tree, &["status"]);
    careless_git(&paths.tree, &["commit", "-qam", "x"]);
    assert!(sentinel.exists(), "the plant is dead, so this test shows nothing");
}

#[tokio::test]
async fn the_child_has_a_working_repository_and_no_remote() {
    let (world, base, paths) = attempt(&[add("a", "1\n")]).await;
    careless_git(&paths.tree, &["commit", "--allow-empty", "-qm", "by the child"]);
    let head = fs::read_to_string(paths.git_dir.join("refs/heads/work")).unwrap();
    assert_ne!(head.trim(), base.as_str());
    assert_eq!(walk(&world, &base, &paths).await, Walked::NoChange);
    assert_eq!(
        world.mirror.resolve(head.trim()).await.unwrap(),
        None,
        "the mirror has no object of the child"
    );
    assert!(
        !fs::read_to_string(paths.git_dir.join("config"))
            .unwrap()
            .contains("remote")
    );
    // A second attempt at the same place starts clean.
    fs::write(paths.tree.join("left"), "x").unwrap();
    let again = world.mirror.worktree(&base, &paths.dir).await.unwrap();
    assert!(!again.tree.join("left").exists());
    assert_eq!(fs::metadata(&again.dir).unwrap().permissions().mode() & 0o777, 0o700);
}
