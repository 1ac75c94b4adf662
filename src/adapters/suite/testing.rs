//! What tests of real runs share: a plain process runner and small trees. Never part of a build.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::io::AsyncWriteExt;

use super::{SuiteChild, SuiteOptions, SuiteOutput};
use crate::{config::CommandLine, model::RunId, text::Redactor};

/// Where `scripts/test` puts what tests need, or nothing where this part is not there.
#[expect(
    clippy::disallowed_methods,
    reason = "only a test run may be without the runners, and not everywhere"
)]
pub(crate) fn installed(part: &str) -> Option<PathBuf> {
    let deps = Path::new(env!("CARGO_MANIFEST_DIR")).join(".test-deps");
    let program = Path::new("/usr/bin").join(part);
    if program.exists() || deps.join(part).exists() {
        return Some(deps);
    }
    assert!(std::env::var_os("CI").is_none(), "{part} is missing: run scripts/test");
    println!("skipped: {part} is missing");
    None
}

/// Starts the child with exactly its environment and ends it at its deadline.
pub(crate) async fn plain(child: SuiteChild) -> SuiteOutput {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests have no need of the sandbox of adapters/process"
    )]
    let mut command = tokio::process::Command::new(&child.program);
    command
        .args(&child.args)
        .env_clear()
        .envs(child.env)
        .current_dir(&child.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let run = async {
        let mut started = command.spawn().unwrap();
        let mut stdin = started.stdin.take().unwrap();
        // A child that does not read it has ended already; its exit tells why.
        let _ended = stdin.write_all(&child.stdin).await;
        drop(stdin);
        started.wait_with_output().await.unwrap()
    };
    let sandbox = "not sandboxed: a test".to_owned();
    match tokio::time::timeout(child.deadline, run).await {
        Ok(output) => SuiteOutput {
            exit: output.status.code(),
            stdout: output.stdout,
            stderr: output.stderr,
            note: output.status.to_string(),
            sandbox,
            ..SuiteOutput::default()
        },
        Err(_) => SuiteOutput {
            timed_out: true,
            sandbox,
            ..SuiteOutput::default()
        },
    }
}

pub(crate) fn options(scratch: &Path) -> SuiteOptions {
    let toolchain = Path::new(env!("CARGO")).parent().unwrap();
    let path = [
        toolchain,
        Path::new("/usr/local/bin"),
        Path::new("/usr/bin"),
        Path::new("/bin"),
    ];
    SuiteOptions {
        timeout: Duration::from_mins(2),
        run_id: RunId::parse("test").unwrap(),
        second_run: false,
        only: None,
        path: path.map(Path::to_owned).to_vec(),
        reference: None,
        toolchain_env: Vec::new(),
        services: Vec::new(),
        env: Vec::new(),
        home: None,
        scratch: scratch.to_owned(),
        junit: None,
        redactor: Redactor::default(),
    }
}

pub(crate) fn command(text: &str) -> CommandLine {
    CommandLine {
        text: text.to_owned(),
        argv: shell_words::split(text).unwrap(),
    }
}

/// Writes the files below `dir`.
pub(crate) fn plant(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}
