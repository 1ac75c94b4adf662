//! The adapter against the real git on local repositories.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use super::{
    GitErrorKind, Push, Replay, Walked,
    fixture::{World, add, remove, with_mode},
    hostile_tests::{changed, commit, walk},
};
use crate::model::{Sha, pull::PushRefusal};

#[tokio::test]
async fn fetch_resolve_and_read() {
    let (world, base) = World::with(&[
        add("a b.txt", "one\n"),
        with_mode("run", 0o100_755, "x"),
        with_mode("l", 0o120_000, "a b.txt"),
    ])
    .await;
    let m = &world.mirror;
    assert_eq!(m.resolve("main").await.unwrap(), Some(base.clone()));
    assert_eq!(m.resolve(base.as_str()).await.unwrap(), Some(base.clone()));
    assert_eq!(m.resolve(base.short()).await.unwrap(), Some(base.clone()));
    assert_eq!(m.resolve("nope").await.unwrap(), None);
    assert_eq!(m.resolve(&"0".repeat(40)).await.unwrap(), None);
    assert_eq!(m.resolve("--all").await.unwrap_err().kind, GitErrorKind::Input);

    let entries = m.list(&base).await.unwrap();
    let shown: Vec<_> = entries
        .iter()
        .map(|e| (String::from_utf8_lossy(&e.path).into_owned(), e.mode))
        .collect();
    assert_eq!(
        shown,
        [
            ("a b.txt".to_owned(), 0o100_644),
            ("l".to_owned(), 0o120_000),
            ("run".to_owned(), 0o100_755)
        ]
    );
    assert_eq!(m.blob(&entries[0].id).await.unwrap(), b"one\n");
    let ids = [&entries[1].id, &entries[0].id];
    assert_eq!(m.blobs(&ids).await.unwrap(), [b"a b.txt".to_vec(), b"one\n".to_vec()]);
    assert_eq!(m.blob(&base).await.unwrap_err().kind, GitErrorKind::NotFound);
    assert_eq!(m.parents(&base).await.unwrap().len(), 1);
    let log = m.log(None, &base, 10).await.unwrap();
    assert_eq!((log.len(), log[0].subject.line(40)), (2, "change".to_owned()));

    // A branch that is gone is gone after the next fetch; nothing of the remote's address or a token is stored.
    world.point("old", &base).await;
    m.fetch().await.unwrap();
    assert!(m.resolve("old").await.unwrap().is_some());
    world
        .remote
        .call(&["update-ref", "-d", "refs/heads/old"])
        .ok()
        .await
        .unwrap();
    m.fetch().await.unwrap();
    assert!(m.resolve("old").await.unwrap().is_none());
    assert!(!fs::read_to_string(m.dir().join("config")).unwrap().contains("remote"));
    assert!(!m.dir().join("hooks").exists());
}

#[tokio::test]
async fn an_unreachable_remote_is_a_network_error_and_the_mirror_stays() {
    let (world, base) = World::with(&[add("a", "1")]).await;
    let git = super::Git::default();
    let away = super::Mirror::open(&git, world.mirror.dir(), "http://127.0.0.1:1/x.git", None)
        .await
        .unwrap();
    assert_eq!(away.fetch().await.unwrap_err().kind, GitErrorKind::Network);
    assert_eq!(away.ls_remote("main").await.unwrap_err().kind, GitErrorKind::Network);
    let error = away.push(&base, "fix/auto-1").await.unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Network);
    assert_eq!(away.resolve("main").await.unwrap(), Some(base));
    fs::rename(world.remote.dir(), world.path("moved")).unwrap();
    assert_eq!(world.mirror.fetch().await.unwrap_err().kind, GitErrorKind::NotFound);
}

#[tokio::test]
async fn push_is_plain_and_only_to_our_branches() {
    let (world, base) = World::with(&[add("a", "1\n")]).await;
    let m = &world.mirror;
    let first = m.commit_edits(&base, &[add("a", "2\n")], "fix").await.unwrap();
    let second = m.commit_edits(&first, &[add("a", "3\n")], "fix").await.unwrap();
    let other = m.commit_edits(&base, &[add("a", "4\n")], "other").await.unwrap();
    assert_eq!(m.ls_remote("fix/auto-1").await.unwrap(), None);
    assert_eq!(m.push(&first, "fix/auto-1").await.unwrap(), Push::Done);
    assert_eq!(m.push(&first, "fix/auto-1").await.unwrap(), Push::Done);
    assert_eq!(m.push(&second, "fix/auto-1").await.unwrap(), Push::Done);
    assert_eq!(m.ls_remote("fix/auto-1").await.unwrap(), Some(second.clone()));
    for sha in [&other, &first] {
        assert!(matches!(
            m.push(sha, "fix/auto-1").await.unwrap(),
            Push::Refused(PushRefusal::Moved, _)
        ));
    }
    assert_eq!(m.ls_remote("fix/auto-1").await.unwrap(), Some(second));
    for branch in ["main", "refs/heads/main", "--delete", "fix/auto-../main", "feature"] {
        assert_eq!(
            m.push(&other, branch).await.unwrap_err().kind,
            GitErrorKind::Input,
            "{branch}"
        );
    }
    assert_eq!(m.ls_remote("main").await.unwrap(), Some(base));

    let hook = world.remote.dir().join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho 'no pushes today'\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let Push::Refused(PushRefusal::Rule, why) = m.push(&other, "fix/auto-2").await.unwrap() else {
        panic!("a hook of the remote has the last word");
    };
    assert!(why.contains("no pushes today") && !why.contains('\n'), "{why}");
}

#[tokio::test]
async fn replay_and_revert() {
    let (world, base) = World::with(&[add("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), add("b", "x\n")]).await;
    let m = &world.mirror;
    let fix = m
        .commit_edits(&base, &[add("a", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")], "fix")
        .await
        .unwrap();
    let moved = m
        .commit_edits(&base, &[add("a", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")], "moved")
        .await
        .unwrap();
    let clash = m
        .commit_edits(&base, &[add("a", "1\n2\n3\n4\n5\n6\n7\n8\nIX\n")], "clash")
        .await
        .unwrap();
    let Replay::Clean { tree } = m.replay(&base, &fix, &moved).await.unwrap() else {
        panic!("a clean replay was expected");
    };
    let replayed = m
        .commit_tree(&tree, std::slice::from_ref(&moved), "replayed")
        .await
        .unwrap();
    assert_eq!(
        m.patch_id(&base, &fix).await.unwrap(),
        m.patch_id(&moved, &replayed).await.unwrap()
    );
    assert_ne!(
        m.patch_id(&base, &fix).await.unwrap(),
        m.patch_id(&base, &clash).await.unwrap()
    );
    assert_eq!(
        m.replay(&base, &fix, &clash).await.unwrap(),
        Replay::Conflict(vec!["a".to_owned()])
    );

    // Later work stays, the fix goes.
    assert_eq!(
        m.revert(&replayed, &replayed).await.unwrap(),
        Replay::Clean {
            tree: m.tree_of(&moved).await.unwrap()
        }
    );
    let later = m.commit_edits(&replayed, &[remove("b")], "later").await.unwrap();
    let Replay::Clean { tree } = m.revert(&replayed, &later).await.unwrap() else {
        panic!("a clean revert was expected");
    };
    let reverted = m
        .commit_tree(&tree, std::slice::from_ref(&later), "revert")
        .await
        .unwrap();
    assert_eq!(changed(&world, &moved, &reverted).await, ["b"]);
    let cut = m.diff_text(&base, &fix, 40).await.unwrap();
    assert!(cut.contains("is cut"), "{cut}");
}

#[tokio::test]
async fn names_are_data() {
    let (world, base) = World::with(&[add("a", "1\n")]).await;
    let names = [
        "-rf",
        "--exec=touch x",
        "a.js\nb/.github/workflows/x.yml",
        "src/\u{202e}txt.sj",
        "$(touch x)",
        "a\"b\\c",
        ":(top)x",
    ];
    let edits: Vec<_> = names.iter().map(|n| add(n, "x\n")).collect();
    let head = world
        .mirror
        .commit_edits(&base, &edits, "--amend\n\nCo: $(x)")
        .await
        .unwrap();
    let mut want: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    want.sort();
    let mut got = changed(&world, &base, &head).await;
    got.sort();
    assert_eq!(got, want);
    world.mirror.checkout(&head, &world.path("out")).await.unwrap();
    assert!(world.path("out/-rf").exists());
    // And the same through a walk.
    let paths = world.mirror.worktree(&head, &world.path("worktrees/2")).await.unwrap();
    assert_eq!(walk(&world, &head, &paths).await, Walked::NoChange);
    for name in [":(exclude)y", ":!z", "*"] {
        fs::write(paths.tree.join(name), "x").unwrap();
    }
    let next = commit(walk(&world, &head, &paths).await);
    assert_eq!(changed(&world, &head, &next).await, ["*", ":!z", ":(exclude)y"]);
}

#[tokio::test]
async fn a_mirror_path_that_is_a_link_is_refused() {
    let world = World::new().await;
    let link = world.path("repos/link.git");
    symlink(world.remote.dir(), &link).unwrap();
    let git = super::Git::default();
    let error = super::Mirror::open(&git, &link, "/x", None).await.unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Input);
}

/// Answers every request with `reply` and hands back what it was asked. Ends when the port is asked for `/stop`.
fn server(reply: String) -> (String, std::thread::JoinHandle<Vec<String>>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let thread = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut chunk = [0; 1024];
            while !request.windows(4).any(|w| w == b"\r\n\r\n") {
                let n = stream.read(&mut chunk).unwrap();
                request.extend_from_slice(&chunk[..n]);
            }
            let request = String::from_utf8(request).unwrap();
            if request.starts_with("GET /stop") {
                break;
            }
            seen.push(request);
            stream.write_all(reply.as_bytes()).unwrap();
        }
        seen
    });
    (address, thread)
}

fn asked(address: &str, thread: std::thread::JoinHandle<Vec<String>>) -> Vec<String> {
    use std::io::Write as _;
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /stop HTTP/1.0\r\n\r\n").unwrap();
    thread.join().unwrap()
}

fn answer(status: &str, headers: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n")
}

async fn mirror_of(address: &str, home: &std::path::Path, token: &secrecy::SecretString) -> super::Mirror {
    let url = format!("http://{address}/acme/web.git");
    let dir = home.join(address.replace(':', "-"));
    super::Mirror::open(&super::Git::default(), &dir, &url, Some(token))
        .await
        .unwrap()
}

#[tokio::test]
async fn the_token_reaches_its_host_and_no_other() {
    let home = tempfile::tempdir().unwrap();
    let token = secrecy::SecretString::from("fake-token-for-tests");
    // base64 of x-access-token:fake-token-for-tests
    let header = "Basic eC1hY2Nlc3MtdG9rZW46ZmFrZS10b2tlbi1mb3ItdGVzdHM=";

    let (other, other_thread) = server(answer("404 Not Found", ""));
    let to = format!("Location: http://{other}/acme/web.git/info/refs?service=git-upload-pack\r\n");
    let (moved, moved_thread) = server(answer("301 Moved Permanently", &to));
    let error = mirror_of(&moved, home.path(), &token).await.fetch().await.unwrap_err();
    assert!(!error.to_string().contains("fake-token"), "{error}");
    let requests = asked(&moved, moved_thread);
    assert!(
        requests.iter().all(|r| r.contains(header)) && !requests.is_empty(),
        "{requests:?}"
    );
    assert_eq!(
        asked(&other, other_thread),
        Vec::<String>::new(),
        "a redirect is not followed"
    );

    let base = Sha::parse(&"1".repeat(40)).unwrap();
    for (status, kind) in [
        ("401 Unauthorized", GitErrorKind::Auth),
        ("403 Forbidden", GitErrorKind::Auth),
        ("404 Not Found", GitErrorKind::NotFound),
        ("503 Service Unavailable", GitErrorKind::Network),
    ] {
        let (address, thread) = server(answer(status, ""));
        let mirror = mirror_of(&address, home.path(), &token).await;
        assert_eq!(mirror.fetch().await.unwrap_err().kind, kind, "{status}");
        let pushed = mirror.push(&base, "fix/auto-1").await;
        let unknown = matches!(pushed, Ok(Push::Unknown(_)));
        let refused = matches!(pushed, Ok(Push::Refused(PushRefusal::Rights, _)));
        assert_eq!(
            (refused, unknown),
            (kind != GitErrorKind::Network, kind == GitErrorKind::Network),
            "{status}"
        );
        asked(&address, thread);
    }
}

#[tokio::test]
async fn commits_of_ours_are_kept_until_they_are_let_go() {
    let (world, base) = World::with(&[add("a", "1\n")]).await;
    let m = &world.mirror;
    let one = m.commit_edits(&base, &[add("a", "2\n")], "one").await.unwrap();
    let two = m.commit_edits(&base, &[add("a", "3\n")], "two").await.unwrap();
    let mut kept = m.kept().await.unwrap();
    kept.sort();
    let mut both = vec![one.clone(), two.clone()];
    both.sort();
    assert_eq!(kept, both);
    m.let_go(std::slice::from_ref(&one)).await.unwrap();
    m.let_go(&[]).await.unwrap();
    assert_eq!(m.kept().await.unwrap(), [two]);
    // Young objects stay: another process may be about to name them.
    assert_eq!(m.resolve(one.as_str()).await.unwrap(), Some(one));
}
