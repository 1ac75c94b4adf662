//! Services beside a child: on its loopback, there before it starts, gone when it ends or when its starter does.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use tick::adapters::process::{ChildSpec, NOT_UP, Network, RawRun, Ready, RunExit, Service, run};

use crate::process::{alive, python, text};

/// Answers each connection with one line.
const SERVER: &str = "
import socket, sys
server = socket.create_server(('127.0.0.1', int(sys.argv[1])))
while True:
    one, _ = server.accept()
    one.sendall(b'served\\n')
    one.close()
";
const CLIENT: &str = "
import socket, sys
print(socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5).makefile().readline().strip())
";

fn server(port: u16, ready: Ready, program: &Path) -> Service {
    Service {
        name: "test-server".to_owned(),
        start: vec![(
            program.to_owned(),
            vec!["-c".to_owned(), SERVER.to_owned(), port.to_string()],
        )],
        ready,
        within: Duration::from_secs(30),
    }
}

/// A child with a temporary directory of its own, in which the services write their logs.
fn with(name: &str, script: &str, services: impl FnOnce(&Path) -> Vec<Service>) -> (tempfile::TempDir, ChildSpec) {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = python(name, script);
    spec.env.retain(|(name, _)| name != "TMPDIR");
    spec.env
        .push(("TMPDIR".to_owned(), dir.path().display().to_string().into()));
    spec.sandbox.write = vec![dir.path().to_owned()];
    spec.sandbox.network = Network::With(services(&spec.program));
    (dir, spec)
}

/// Two runs at once would meet on a port where the network is not their own.
fn open_network(raw: &RawRun) -> bool {
    raw.sandbox.contains("its network is open")
}

#[tokio::test]
async fn a_child_reaches_its_services_and_nothing_outlives_it() {
    let (dir, mut spec) = with("served", CLIENT, |python| {
        let asks = vec!["-c".to_owned(), CLIENT.to_owned(), "47311".to_owned()];
        let mut second = server(47312, Ready::Port(47312), python);
        // What runs first runs to its end.
        let touch = "import os; open(os.environ['TMPDIR'] + '/made', 'w').close()".to_owned();
        second
            .start
            .insert(0, (python.to_owned(), vec!["-c".to_owned(), touch]));
        vec![server(47311, Ready::Command(python.to_owned(), asks), python), second]
    });
    spec.args.push("47312".into());
    let id = spec.run_id.clone();
    let raw = run(spec).await;
    if open_network(&raw) {
        println!("skipped (optional): {}", raw.sandbox);
    }
    assert_eq!(raw.exit, RunExit::Code(0), "{}", text(&raw.stderr));
    assert_eq!(text(&raw.stdout), "served\n");
    assert!(dir.path().join("made").exists());
    assert_eq!(alive(&id), [] as [&str; 0]);
}

#[tokio::test]
async fn the_child_ends_as_it_ended() {
    for (script, exit) in [
        ("import sys; print(sys.stdin.read()); sys.exit(7)", RunExit::Code(7)),
        ("import os; os.kill(os.getpid(), 9)", RunExit::Signal(9)),
    ] {
        let (_dir, mut spec) = with("ended", script, |python| {
            vec![server(47313, Ready::Port(47313), python)]
        });
        spec.stdin = b"given".to_vec();
        let raw = run(spec).await;
        assert_eq!(raw.exit, exit, "{}", text(&raw.stderr));
        assert!(exit != RunExit::Code(7) || text(&raw.stdout) == "given\n");
    }
}

#[tokio::test]
async fn a_service_that_does_not_come_up_is_named_with_its_last_words() {
    let ends = |script: &str, python: &Path| Service {
        start: vec![(python.to_owned(), vec!["-c".to_owned(), script.to_owned()])],
        ..server(47314, Ready::Port(47314), python)
    };
    let never = "import time; print('waiting', flush=True); time.sleep(600)";
    for (script, within, said) in [
        (
            "import sys; sys.exit('no licence')",
            30,
            "`test-server` ended with exit status: 1 before it was ready: no licence\n",
        ),
        (never, 2, "`test-server` was not ready within 2s: waiting\n"),
    ] {
        let (_dir, spec) = with("not-up", CLIENT, |python| {
            let mut service = ends(script, python);
            service.within = Duration::from_secs(within);
            vec![service]
        });
        let id = spec.run_id.clone();
        let raw = run(spec).await;
        assert_eq!(
            raw.exit,
            RunExit::Code(69),
            "{}{}",
            text(&raw.stdout),
            text(&raw.stderr)
        );
        assert_eq!(text(&raw.stderr), format!("{NOT_UP}{said}"));
        assert_eq!(alive(&id), [] as [&str; 0]);
    }
}

/// Starts the helper as the runner does, tells when the child runs, and waits to be killed.
const STARTER: &str = "
import os, subprocess, sys
helper, service, python = sys.argv[1:]
child = subprocess.Popen([helper, '__exec', '--mark', 'm', '--parent', str(os.getpid()), '--write', os.environ['TMPDIR'],
    '--service', service, '--', python, '-c', 'import time; print(\"up\", flush=True); time.sleep(600)'])
child.wait()
";

/// Nobody is left to end them when the program itself is killed.
#[test]
fn services_end_with_whoever_started_them() {
    let dir = tempfile::tempdir().unwrap();
    let spec = python("orphaned", "");
    let service = serde_json::to_string(&server(47315, Ready::Port(47315), &spec.program)).unwrap();
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_tick"));
    #[expect(clippy::disallowed_methods, reason = "stands for the program itself")]
    let mut starter = Command::new(&spec.program)
        .args(["-c", STARTER])
        .args([helper.as_os_str(), service.as_ref(), spec.program.as_os_str()])
        .env("TMPDIR", dir.path())
        .env("TICK_RUN_ID", spec.run_id.as_str())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = starter.stdout.take().unwrap();
    let mut up = [0; 3];
    out.read_exact(&mut up).unwrap();
    starter.kill().unwrap();
    starter.wait().unwrap();
    // Whoever has ended holds no end of the pipe any more.
    out.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(alive(&spec.run_id), [] as [&str; 0]);
}
