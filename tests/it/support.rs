//! What the modules share: paths, the built program, programs that a machine may lack.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU16, Ordering},
};

/// Nothing listens there. It is no port that the kernel gives to a listener that asks for any: another test's server could
/// get that one as soon as it is free.
pub(crate) const CLOSED_PORT: u16 = 1;

pub(crate) fn nowhere() -> String {
    format!("http://127.0.0.1:{CLOSED_PORT}")
}

/// A port for a server that is told where to listen. It is below those that the kernel gives away.
pub(crate) fn free_port() -> u16 {
    const FIRST: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let from = FIRST + u16::try_from(std::process::id() % 15_000).unwrap();
    loop {
        let port = from + NEXT.fetch_add(1, Ordering::SeqCst);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(path: &str) -> String {
    let file = root().join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()))
}

/// The built program in an empty home, with nothing of this machine's environment but PATH.
pub(crate) fn tick(home: &Path) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_tick"));
    command
        .env_clear()
        .env("PATH", path_variable())
        .env("HOME", home)
        .current_dir(home);
    command
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test looks at the environment that it runs in"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

pub(crate) fn path_variable() -> String {
    variable("PATH").unwrap_or_default()
}

/// Where `scripts/test` puts what the tests need beside the system's packages.
pub(crate) fn test_deps() -> PathBuf {
    root().join(".test-deps")
}

/// A file that lies beside the checkout, where it does; else the test says so.
pub(crate) fn shared(path: &str) -> Option<String> {
    let beside = variable("TICK_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let found = std::fs::read_to_string(beside.join(path)).ok();
    if found.is_none() {
        println!("skipped (optional): no {path}");
    }
    found
}

/// A part that this machine lacks. With `CI` set (`scripts/test` sets it where it installs everything) that fails; else the test says
/// that it was skipped, and `scripts/test` counts these lines. Some parts exist on Linux only.
pub(crate) fn lacks(part: &str) {
    let all = cfg!(target_os = "linux") && variable("CI").is_some();
    assert!(!all, "{part} is missing; scripts/test installs it");
    println!("skipped: {part} is missing");
}

/// The program's path, where the machine has it.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&path_variable())
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}
