//! What a child cannot do: become more than it is, look into other processes, read what is the owner's, leave a
//! trace for the next run. Each refusal stands beside what has to go on working.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tick::adapters::process::{Network, RawRun, RunExit, Sandbox, run};

use crate::process::{python, sh, text};

/// The whole sandbox, or why this machine cannot show it.
pub(crate) fn lacks(raw: &RawRun) -> bool {
    let lacks = ["Landlock", "filter of system calls"];
    let lacks = lacks.iter().any(|part| raw.sandbox.contains(part));
    if lacks {
        println!("skipped (optional): {}", raw.sandbox);
    }
    lacks
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Lines `name value` of a child.
fn said(raw: &RawRun) -> String {
    assert_eq!(raw.exit, RunExit::Code(0), "{}{}", text(&raw.stdout), text(&raw.stderr));
    text(&raw.stdout)
}

#[tokio::test]
async fn a_child_has_no_capability_and_gets_none() {
    let raw = run(sh("caps", "grep -E '^(Cap|NoNewPrivs)' /proc/self/status")).await;
    let out = said(&raw);
    for line in out.lines() {
        let (name, value) = line.split_once(':').unwrap();
        let is_none = value.trim().chars().all(|c| c == '0');
        match name {
            "NoNewPrivs" => assert_eq!(value.trim(), "1"),
            // Without the right to change it, the bounding set stays; nothing can be taken from it then.
            "CapBnd" if !is_root() => {}
            _ => assert!(is_none, "{line}"),
        }
    }
    assert_eq!(out.lines().count(), 6, "{out}");
}

/// As compilers, package managers and git do it: written aside, then put into its place. And never out of what is its own.
#[tokio::test]
async fn a_file_moves_between_directories_of_the_child() {
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(outside.path().join("theirs"), "").unwrap();
    let script = format!(
        "
import os, tempfile
room = tempfile.mkdtemp()
for name in ('a', 'b'):
    os.mkdir(os.path.join(room, name))
here, there = os.path.join(room, 'a', 'x'), os.path.join(room, 'b', 'x')
open(here, 'w').close()
os.rename(here, there)
os.link(there, here)
print('moved and linked')
for act, path in ((os.rename, here), (os.link, there)):
    try:
        act(path, {outside:?} + '/x')
        print('out')
    except OSError:
        pass
try:
    os.rename({outside:?} + '/theirs', os.path.join(room, 'theirs'))
    print('in')
except OSError:
    pass
",
        outside = outside.path().display().to_string()
    );
    let raw = run(python("moves", &script)).await;
    if !lacks(&raw) {
        assert_eq!(said(&raw), "moved and linked\n");
    }
}

/// A process of the same user that keeps a secret in its environment and waits on stdin.
struct Keeper(Child);

impl Keeper {
    fn start(mut command: Command, canary: &str) -> Self {
        let child = command
            .env("CANARY_TOKEN", canary)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "stands for a process that is not a child of ours"
)]
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir("/");
    command
}

/// Prints what it can read of others: environments that hold the canary, and whether it can see processes at all.
const SPY: &str = "
seen=0
for dir in /proc/[0-9]*; do
    [ -e $dir/stat ] && seen=1
    if { tr '\\0' '\\n' < $dir/environ; } 2>/dev/null | grep -q CANARY_TOKEN=; then echo leak $dir; fi
    if { cat $dir/maps; } 2>/dev/null | grep -q . && [ ${dir##*/} = PID ]; then echo maps $dir; fi
    { readlink $dir/cwd; } >/dev/null 2>&1 && [ ${dir##*/} = PID ] && echo cwd $dir
done
echo seen $seen
";

#[tokio::test]
async fn the_environment_of_other_processes_stays_theirs() {
    let keeper = Keeper::start(command("/bin/cat"), "canary-not-a-real-token");
    let raw = run(sh("spy", &SPY.replace("PID", &keeper.0.id().to_string()))).await;
    if !lacks(&raw) {
        assert_eq!(said(&raw), "seen 1\n");
    }
}

/// Tick keeps its own environment from everybody of its own user, whatever confines them.
#[test]
fn ticks_own_environment_is_closed_to_its_user() {
    use std::os::unix::{fs::MetadataExt as _, process::CommandExt as _};
    if !is_root() {
        println!("skipped (optional): only root can start processes of another user");
        return;
    }
    // Where another user can reach it.
    let dir = tempfile::tempdir().unwrap();
    let tick = dir.path().join("tick");
    std::fs::copy(env!("CARGO_BIN_EXE_tick"), &tick).unwrap();
    for path in [dir.path(), &tick] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    }
    let as_nobody = |mut command: Command| {
        command.uid(65534).gid(65534);
        command
    };
    let mut own = command(&tick);
    own.arg("redact");
    let keeper = Keeper::start(as_nobody(own), "canary-not-a-real-token");
    let environ = |keeper: &Keeper| format!("/proc/{}/environ", keeper.0.id());
    // What nobody may look into belongs to root.
    let started = tick::adapters::clock::instant();
    while std::fs::metadata(environ(&keeper)).unwrap().uid() != 0 {
        assert!(started.elapsed().as_secs() < 60, "it stays open");
        std::thread::yield_now();
    }
    let read = |keeper: &Keeper| {
        let mut cat = command("/bin/cat");
        cat.arg(environ(keeper));
        as_nobody(cat).output().unwrap()
    };
    let plain = Keeper::start(as_nobody(command("/bin/cat")), "canary-not-a-real-token");
    let control = read(&plain);
    assert!(
        text(&control.stdout).contains("canary"),
        "the control shows what could be read"
    );
    let read = read(&keeper);
    assert!(!text(&read.stdout).contains("canary"), "{read:?}");
}

#[tokio::test]
async fn what_reaches_into_others_is_refused() {
    let script = "
import ctypes, os, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    ctypes.set_errno(0)
    return (libc.syscall(*args), ctypes.get_errno())
parent = os.getppid()
for name, number, args in [
    ('ptrace', 101, (16, parent, 0, 0)), ('process_vm_readv', 310, (parent, 0, 0, 0, 0, 0)),
    ('kcmp', 312, (parent, parent, 0, 0, 0)), ('pidfd_getfd', 438, (0, 0, 0)),
    ('shmget', 29, (7, 4096, 0o1600)), ('semget', 64, (7, 1, 0o1600)), ('msgget', 68, (7, 0o1600)),
    ('mq_open', 240, (b'x', 0o102, 0o600, None)),
    ('clone', 56, (0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)), ('clone3', 435, (0, 0)),
]:
    print(name, *call(number, *args))
print('chmod', *call(90, b'/', 0o4755), *call(91, 0, 0o2755), *call(268, -100, b'/', 0o6755))
try: os.kill(parent, 0); print('kill reached')
except PermissionError: print('kill refused')
try: socket.socket(socket.AF_UNIX); print('unix socket')
except OSError as error: print('no unix socket', error.errno)
socket.socketpair()
server = socket.create_server(('127.0.0.1', 0))
socket.create_connection(server.getsockname())
print('loopback')
";
    let raw = run(python("reach", script)).await;
    if lacks(&raw) || cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let kill = if raw.sandbox.contains("signals") {
        "kill reached"
    } else {
        "kill refused"
    };
    let refused = |name: &str| format!("{name} -1 1\n");
    let mut expected: String = [
        "ptrace",
        "process_vm_readv",
        "kcmp",
        "pidfd_getfd",
        "shmget",
        "semget",
        "msgget",
        "mq_open",
        "clone",
    ]
    .iter()
    .map(|name| refused(name))
    .collect();
    expected.push_str("clone3 -1 38\nchmod -1 1 -1 1 -1 1\n");
    expected.push_str(kill);
    expected.push_str("\nno unix socket 97\nloopback\n");
    assert_eq!(said(&raw), expected);
}

/// `read PATH` and `write PATH`, as a child finds them.
fn probe(paths: &[(&str, &Path)]) -> String {
    let tries = paths.iter().map(|(how, path)| {
        let path = path.display();
        let act = match *how {
            "read" => format!("cat '{path}'"),
            "list" => format!("ls '{path}'"),
            _ => format!("sh -c 'echo x > \"{path}\"'"),
        };
        format!("echo {how} {path} $(try {act})")
    });
    let tries: Vec<String> = tries.collect();
    format!(
        "try() {{ if \"$@\" >/dev/null 2>&1; then echo yes; else echo no; fi; }}\n{}",
        tries.join("\n")
    )
}

#[tokio::test]
async fn a_child_reads_the_system_and_its_own_and_nothing_of_the_owner() {
    let room = tempfile::tempdir().unwrap();
    let dir = |name: &str| {
        let dir = room.path().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("file"), "content").unwrap();
        dir
    };
    let (own, given, others, inside) = (dir("own"), dir("given"), dir("others"), dir("given/secret"));
    let mut spec = sh("files", "");
    spec.cwd.clone_from(&own);
    spec.sandbox = Sandbox {
        write: vec![own.clone()],
        read: vec![given.clone()],
        hide: vec![inside.clone()],
        network: Network::Own,
    };
    let yes = [
        ("read", own.join("file")),
        ("write", own.join("new")),
        ("read", given.join("file")),
        ("read", PathBuf::from("/etc/passwd")),
        ("list", PathBuf::from("/usr/bin")),
        ("list", PathBuf::from("/proc/self")),
        ("read", PathBuf::from("/dev/null")),
        ("write", PathBuf::from("/dev/null")),
        ("list", PathBuf::from("/etc/ssl/certs")),
    ];
    let no = [
        ("write", given.join("new")),
        ("read", inside.join("file")),
        ("read", others.join("file")),
        ("list", room.path().to_owned()),
        ("list", PathBuf::from("/root")),
        ("list", PathBuf::from("/home")),
        ("list", PathBuf::from("/tmp")),
        ("list", PathBuf::from("/var")),
        ("list", PathBuf::from("/run")),
        ("list", PathBuf::from("/srv")),
        ("read", PathBuf::from("/etc/shadow")),
        ("list", PathBuf::from("/dev")),
        ("list", PathBuf::from("/dev/shm")),
        ("list", PathBuf::from("/dev/pts")),
        (
            "write",
            PathBuf::from(format!("/dev/shm/tick-test-{}", std::process::id())),
        ),
        ("write", PathBuf::from(format!("/tmp/tick-test-{}", std::process::id()))),
        ("write", PathBuf::from("/etc/tick-test")),
        ("write", PathBuf::from("/proc/sys/kernel/hostname")),
    ];
    let all: Vec<_> = yes
        .iter()
        .chain(&no)
        .map(|(how, path)| (*how, path.as_path()))
        .collect();
    spec.args = vec!["-c".into(), probe(&all).into()];
    let raw = run(spec).await;
    if lacks(&raw) {
        return;
    }
    let line = |(how, path): &(&str, PathBuf), answer| format!("{how} {} {answer}\n", path.display());
    let yes: String = yes
        .iter()
        .filter(|(_, path)| path.exists() || path.ends_with("new"))
        .map(|one| line(one, "yes"))
        .collect();
    let no: String = no.iter().map(|one| line(one, "no")).collect();
    let out: String = said(&raw)
        .lines()
        .filter(|line| !line.ends_with("certs no") || Path::new("/etc/ssl/certs").exists())
        .fold(String::new(), |all, line| all + line + "\n");
    assert_eq!(out, yes + &no);
}

#[tokio::test]
async fn tools_are_found_where_the_path_leads() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let room = tempfile::tempdir().unwrap();
    let put = |path: &str, body: &str| {
        let file = room.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, body).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file
    };
    put("kit/lib/part", "the kit's part\n");
    put("kit/credentials", "secret\n");
    put("kit/bin/tool", "#!/bin/sh\ncat \"$(dirname \"$0\")/../lib/part\"\n");
    put(
        "far/bin/linked",
        "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/../lib/part\"\n",
    );
    put("far/lib/part", "the far part\n");
    symlink(room.path().join("far/bin/linked"), room.path().join("kit/bin/linked")).unwrap();
    let kit = room.path().join("kit");
    let mut spec = sh(
        "tools",
        &format!("tool; linked; cat {0}/credentials || echo closed", kit.display()),
    );
    spec.sandbox.write = Vec::new();
    spec.cwd = PathBuf::from("/usr");
    let path = format!("{}/bin:/usr/bin:/bin", kit.display());
    for (name, value) in &mut spec.env {
        if name == "PATH" {
            *value = path.clone().into();
        }
    }
    let raw = run(spec).await;
    if !lacks(&raw) {
        assert_eq!(said(&raw), "the kit's part\nthe far part\nclosed\n");
    }
}

/// Nothing that one run leaves may be there for the next: a test could count its runs by it.
#[tokio::test]
async fn two_runs_share_nothing_that_they_can_write() {
    let script = "
import os, sys
for place in ['/dev/shm', '/dev/mqueue', '/tmp', '/var/tmp', '/run', '/run/lock']:
    try:
        open(place + '/tick-two-runs', 'w').close(); print('left a trace in', place)
    except OSError: pass
try:
    import multiprocessing.shared_memory as shm
    shm.SharedMemory('tick-two-runs', create=True, size=16); print('shared memory')
except OSError: pass
print('done')
";
    let mut spec = python("traces", script);
    spec.sandbox.write = Vec::new();
    spec.cwd = PathBuf::from("/usr");
    let raw = run(spec).await;
    if !lacks(&raw) {
        assert_eq!(said(&raw), "done\n");
    }
}

#[tokio::test]
async fn the_words_say_that_the_network_is_open() {
    let raw = run(sh("words", "true")).await;
    assert!(raw.sandbox.starts_with("not sandboxed: "), "{}", raw.sandbox);
    assert!(raw.sandbox.ends_with("its network is open"), "{}", raw.sandbox);
    assert_eq!(raw.sandbox.contains("as root"), is_root(), "{}", raw.sandbox);
}

/// Connects to the port of the machine, then to one of its own.
const KNOCK: &str = "
import socket
def reach(address):
    try: socket.create_connection(address, 5).close(); return 'reached'
    except OSError as error: return 'not reached'
print('outside', reach(('127.0.0.1', PORT)))
for family, own in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')]:
    server = socket.create_server((own, 0), family=family)
    print('inside', reach(server.getsockname()[:2]))
";

#[tokio::test]
async fn a_network_of_its_own_is_a_loopback_and_nothing_else() {
    let service = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let knock = KNOCK.replace("PORT", &service.local_addr().unwrap().port().to_string());
    let raw = run(python("open", &knock)).await;
    assert_eq!(said(&raw).lines().next(), Some("outside reached"), "the control");
    let mut spec = python("own", &knock);
    spec.sandbox.network = Network::Own;
    let raw = run(spec).await;
    if raw.sandbox.contains("its network is open") {
        println!("skipped (optional): {}", raw.sandbox);
        return;
    }
    assert_eq!(said(&raw), "outside not reached\ninside reached\ninside reached\n");
}

/// Others than root need a namespace of users for it, in which they are who they were.
#[test]
fn other_users_have_a_network_of_their_own_too() {
    use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};
    if !is_root() {
        println!("skipped (optional): only root can start processes of another user");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let tick = dir.path().join("tick");
    std::fs::copy(env!("CARGO_BIN_EXE_tick"), &tick).unwrap();
    for path in [dir.path(), &tick] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let service = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let knock = KNOCK.replace("PORT", &service.local_addr().unwrap().port().to_string());
    let script =
        format!("{knock}\nimport os\nprint(os.getuid(), os.getgid())\nprint(open('/proc/self/status').read())");
    let mut child = command(&tick);
    child.args([
        "__exec",
        "--mark",
        "m",
        "--parent",
        &std::process::id().to_string(),
        "--path",
        "/usr/bin",
    ]);
    child.args(["--", "/usr/bin/python3", "-c", &script]);
    let out = child.uid(65534).gid(65534).output().unwrap();
    let (out, err) = (text(&out.stdout), text(&out.stderr));
    if err.contains("its network is open") {
        println!("skipped (optional): {err}");
        return;
    }
    assert!(
        out.starts_with("outside not reached\ninside reached\ninside reached\n65534 65534\n"),
        "{out}{err}"
    );
    assert!(out.contains("CapEff:\t0000000000000000"), "{out}");
}
