//! The process runner against real children: what arrives in them, how they end, and that nothing is left.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tick::{
    adapters::process::{ChildSpec, Network, RunExit, Sandbox, StopFlag, base_env, end_leftovers, own_path, run},
    model::RunId,
};

const LONG: Duration = Duration::from_mins(2);

/// A run id that no other test and no other run of the tests has.
fn run_id(name: &str) -> RunId {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    RunId::parse(&format!("test-{name}-{}-{n}", std::process::id())).unwrap()
}

fn spec(name: &str, program: &str, args: &[&str]) -> ChildSpec {
    let dir = std::env::temp_dir();
    ChildSpec {
        program: PathBuf::from(program),
        args: args.iter().map(Into::into).collect(),
        env: base_env(&own_path(), Path::new("/nonexistent"), &dir, "C.UTF-8"),
        cwd: dir.clone(),
        stdin: Vec::new(),
        deadline: LONG,
        stdout_cap: 1 << 20,
        stderr_cap: 1 << 16,
        run_id: run_id(name),
        sandbox: Sandbox {
            write: vec![dir],
            read: Vec::new(),
            hide: Vec::new(),
            network: Network::Open,
        },
        stop: None,
    }
}

pub(crate) fn sh(name: &str, script: &str) -> ChildSpec {
    spec(name, "/bin/sh", &["-c", script])
}

pub(crate) fn python(name: &str, script: &str) -> ChildSpec {
    let python = own_path()
        .split(':')
        .map(|dir| Path::new(dir).join("python3"))
        .find(|program| program.is_file())
        .expect("python3 is needed by these tests");
    spec(name, python.to_str().unwrap(), &["-c", script])
}

/// Processes that carry the marker of a run.
pub(crate) fn alive(run_id: &RunId) -> Vec<String> {
    let marker = format!("TICK_RUN_ID={run_id}");
    with_text("environ", &marker)
}

/// Processes of which a file in `/proc` holds a text.
fn with_text(file: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(content) = std::fs::read(entry.path().join(file)) else {
            continue;
        };
        if String::from_utf8_lossy(&content).contains(text) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn only_the_given_environment_arrives() {
    let mut spec = spec("env", "/usr/bin/env", &[]);
    spec.env.push(("MODEL_KEY".to_owned(), "not-a-real-key".into()));
    let id = spec.run_id.clone();
    let raw = run(spec).await;
    assert_eq!(raw.exit, RunExit::Code(0), "{}", text(&raw.stderr));
    let out = text(&raw.stdout);
    let names: BTreeSet<&str> = out.lines().filter_map(|line| line.split('=').next()).collect();
    assert_eq!(
        names,
        BTreeSet::from([
            "HOME",
            "LANG",
            "MODEL_KEY",
            "PATH",
            "TERM",
            "TICK_RUN_ID",
            "TMPDIR",
            "TZ"
        ])
    );
    assert!(out.contains(&format!("TICK_RUN_ID={id}\n")));
    // The tests themselves run with more than that.
    let own = std::fs::read("/proc/self/environ").unwrap();
    assert!(own.split(|byte| *byte == 0).count() > names.len() + 1);
}

#[tokio::test]
async fn arguments_arrive_as_they_are_and_carry_no_secret() {
    let script = "tr '\\0' '\\n' < /proc/$$/cmdline";
    let mut spec = spec(
        "argv",
        "/bin/sh",
        &["-c", script, "sh", "$(touch x); --help `id`", "a\nb"],
    );
    spec.env.push(("MODEL_KEY".to_owned(), "not-a-real-key".into()));
    let raw = run(spec).await;
    let out = text(&raw.stdout);
    assert!(out.ends_with("sh\n$(touch x); --help `id`\na\nb\n"), "{out}");
    assert!(!out.contains("not-a-real-key") && !out.contains("__exec"), "{out}");
}

#[tokio::test]
async fn a_child_has_a_session_no_core_and_none_of_our_files() {
    let open = tempfile::Builder::new().prefix("tick-held-open").tempfile().unwrap();
    let raw = run(sh("limits", "cat /proc/$$/stat; ulimit -c; ls -l /proc/$$/fd")).await;
    let out = text(&raw.stdout);
    let mut lines = out.lines();
    let stat: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(stat[0], stat[5], "its own session: {out}");
    assert_eq!(lines.next(), Some("0"));
    assert!(out.contains("pipe:") && !out.contains("tick-held-open"), "{out}");
    drop(open);
}

#[tokio::test]
async fn the_end_of_a_child_is_told_apart() {
    assert_eq!(run(sh("code", "exit 75")).await.exit, RunExit::Code(75));
    assert_eq!(run(sh("signal", "kill -9 $$")).await.exit, RunExit::Signal(9));
    for (program, why) in [
        ("/nonexistent/agent", "No such file"),
        ("/etc/passwd", "ermission"),
        ("agent", "not absolute"),
    ] {
        let raw = run(spec("missing", program, &[])).await;
        let RunExit::SpawnFailed(said) = &raw.exit else {
            panic!("{program}: {:?}", raw.exit);
        };
        assert!(said.contains(why) && said.contains(program), "{said}");
    }
    let mut lost = sh("cwd", "true");
    lost.cwd = PathBuf::from("/nonexistent/dir");
    assert!(matches!(run(lost).await.exit, RunExit::SpawnFailed(why) if why.contains("working directory")));
}

#[tokio::test]
async fn a_child_cannot_claim_a_sandbox_or_a_failed_start() {
    let raw = run(sh("forge", "echo 'x sandboxed' >&2; echo ' cannot exec' >&2; exit 127")).await;
    assert_eq!(raw.exit, RunExit::Code(127));
    assert_eq!(text(&raw.stderr), "x sandboxed\n cannot exec\n");
    assert!(
        raw.sandbox == "sandboxed" || raw.sandbox.starts_with("not sandboxed: "),
        "{}",
        raw.sandbox
    );
}

#[tokio::test]
async fn input_may_be_read_or_left() {
    let input: Vec<u8> = (0..3_000_000_u32).map(|n| b'a' + (n % 26) as u8).collect();
    let mut whole = spec("stdin", "/bin/cat", &[]);
    whole.stdin.clone_from(&input);
    whole.stdout_cap = 4 << 20;
    let raw = run(whole).await;
    assert_eq!(raw.stdout, input);
    assert!(!raw.truncated);

    let mut unread = sh("unread", "exec 0<&-; echo done");
    unread.stdin = input;
    let raw = run(unread).await;
    assert_eq!(
        (raw.exit, raw.stdout.as_slice()),
        (RunExit::Code(0), b"done\n".as_slice())
    );
}

#[tokio::test]
async fn output_is_capped_and_a_flood_ended() {
    let mut spec = sh("flood", "yes 0123456789 & exec yes 0123456789 >&2");
    spec.stdout_cap = 1000;
    spec.stderr_cap = 10;
    let id = spec.run_id.clone();
    let raw = run(spec).await;
    assert!(raw.truncated);
    assert_eq!(
        (raw.stdout.len(), raw.stderr.as_slice()),
        (1000, b"0123456789".as_slice())
    );
    assert!(
        matches!(raw.exit, RunExit::Flooded(bytes) if bytes > 64 << 20),
        "{:?}",
        raw.exit
    );
    assert_eq!(raw.exit.to_string(), "wrote more than 64 MiB and was ended");
    assert!(raw.wall < LONG);
    assert_eq!(alive(&id), Vec::<String>::new());
}

/// Forks through a session of its own, drops its environment, ignores TERM and holds the pipes.
const STUBBORN: &str = r"
import os, signal, sys, time
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, '-c', 'import time,signal; signal.signal(15, signal.SIG_IGN); time.sleep(900)', TOKEN], {})
    time.sleep(900)
print('up', flush=True)
END
";

fn stubborn(name: &str, end: &str) -> (ChildSpec, String) {
    let token = format!("token-{}", run_id(name));
    let script = STUBBORN.replace("TOKEN", &format!("'{token}'")).replace("END", end);
    (python(name, &script), token)
}

#[tokio::test]
async fn nothing_survives_a_deadline() {
    let (mut spec, token) = stubborn("deadline", "time.sleep(900)");
    spec.deadline = Duration::from_secs(16);
    let id = spec.run_id.clone();
    let raw = run(spec).await;
    assert_eq!(raw.exit, RunExit::TimedOut);
    assert_eq!(text(&raw.stdout), "up\n");
    assert_eq!(alive(&id), Vec::<String>::new());
    assert_eq!(with_text("cmdline", &token), Vec::<String>::new());
    assert!(raw.leftovers >= 1, "{raw:?}");
    assert!(raw.wall < Duration::from_mins(1));
}

#[tokio::test]
async fn nothing_survives_a_good_end() {
    let (spec, token) = stubborn("good", "os._exit(0)");
    let id = spec.run_id.clone();
    let raw = run(spec).await;
    assert_eq!(raw.exit, RunExit::Code(0), "{}", text(&raw.stderr));
    assert_eq!(alive(&id), Vec::<String>::new());
    assert_eq!(with_text("cmdline", &token), Vec::<String>::new());
    assert!(raw.leftovers >= 1, "{raw:?}");
    assert!(raw.wall < LONG);
}

#[tokio::test]
async fn a_child_that_ends_when_asked_is_not_killed() {
    let mut spec = sh(
        "polite",
        "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done",
    );
    spec.deadline = Duration::from_secs(16);
    let raw = run(spec).await;
    assert_eq!(raw.exit, RunExit::TimedOut);
    assert_eq!(text(&raw.stdout), "up\nbye\n");
}

#[tokio::test]
async fn a_stop_sign_ends_a_run() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let mut spec = sh("stop", "sleep 900");
    spec.stop = Some(StopFlag::new(move || count.fetch_add(1, Ordering::Relaxed) >= 2));
    let id = spec.run_id.clone();
    let raw = run(spec).await;
    assert_eq!(raw.exit, RunExit::Stopped);
    assert!(asked.load(Ordering::Relaxed) >= 3);
    assert_eq!(alive(&id), Vec::<String>::new());
}

#[tokio::test]
async fn a_dropped_run_leaves_nothing() {
    let (spec, token) = stubborn("drop", "time.sleep(900)");
    let id = spec.run_id.clone();
    {
        let run = run(spec);
        let up = async {
            while with_text("cmdline", &token).len() < 2 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            raw = run => panic!("it ended: {raw:?}"),
            () = up => {}
        }
    }
    assert_eq!(with_text("cmdline", &token), Vec::<String>::new());
    // The leader was told to die; a dead process has no environment.
    let gone = async {
        while !alive(&id).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, gone).await.unwrap();
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "stands for a child of a tick that was killed")]
async fn recovery_ends_what_a_dead_tick_left() {
    let id = run_id("recovery");
    let mut child = std::process::Command::new("/bin/sh")
        .args(["-c", "sleep 900 & wait"])
        .env("TICK_RUN_ID", id.as_str())
        .spawn()
        .unwrap();
    let other = run_id("other");
    assert_eq!(end_leftovers(&other), 0);
    assert!(end_leftovers(&id) >= 1);
    child.wait().unwrap();
    assert_eq!(alive(&id), Vec::<String>::new());
}

#[test]
fn an_orphan_does_not_start() {
    // Not a process that could have started it.
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_tick"))
        .args(["__exec", "--mark", "m", "--parent", "1", "--", "/bin/echo", "ran"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(text(&output.stderr), "m the process that started it is gone\n");
}

/// The kill of a tick cannot be caught; its child's death is arranged beforehand.
#[test]
#[expect(clippy::disallowed_methods, reason = "the shell stands for a tick that is killed")]
fn a_child_dies_with_the_process_that_started_it() {
    let id = run_id("orphan");
    let script = "\"$0\" __exec --mark m --parent $$ -- /bin/sleep 900 & echo started; wait";
    let mut starter = std::process::Command::new("/bin/sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_tick")])
        .env("TICK_RUN_ID", id.as_str())
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let started = tick::adapters::clock::instant();
    let wait_for = |what: &dyn Fn() -> bool| {
        while !what() {
            assert!(started.elapsed() < LONG, "it takes too long");
            std::thread::yield_now();
        }
    };
    let marker = format!("TICK_RUN_ID={id}");
    let sleeps = || {
        let in_run = with_text("environ", &marker);
        with_text("cmdline", "/bin/sleep\u{0}900")
            .into_iter()
            .any(|pid| in_run.contains(&pid))
    };
    wait_for(&sleeps);
    starter.kill().unwrap();
    starter.wait().unwrap();
    wait_for(&|| alive(&id).is_empty());
}
