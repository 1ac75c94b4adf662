//! `tick __recorded-agent`: the agent of the demo and of the tests, which follows a script. See `demo/agent.rs`.

use std::{io::Write, path::Path, process::ExitCode};

use crate::{
    demo::agent::{Given, play},
    exit::Exit,
};

pub(super) fn run(script: &Path) -> ExitCode {
    match play(
        script,
        &given(),
        &mut std::io::stdin().lock(),
        &mut std::io::stdout().lock(),
    ) {
        Ok(code) => code.into(),
        Err(error) => {
            // Nobody reads it when even stderr is gone.
            let _unread = writeln!(std::io::stderr().lock(), "recorded agent: {error:#}");
            Exit::Bug.into()
        }
    }
}

/// An agent's contract is in its environment, and a recording shows what it was given.
fn given() -> Given {
    let text = |word: std::ffi::OsString| word.to_string_lossy().into_owned();
    Given {
        argv: std::env::args_os().map(text).collect(),
        env: std::env::vars_os()
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
        cwd: std::env::current_dir().unwrap_or_default(),
    }
}
