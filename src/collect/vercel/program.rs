//! Vercel's own program (`vercel logs --json`), for a day on which the history of logs is another one than it was. It is
//! a child like every other: its own environment, a deadline, capped output, nothing that outlives it.

use std::{fs, path::Path};

use chrono::{DateTime, SecondsFormat, Utc};

use super::{super::context::Blind, api::Reader, history::Logged, runtime::lines};
use crate::{
    adapters::process::{self, ChildSpec, Network, RunExit, Sandbox, base_env, own_path, random_nonce},
    model::RunId,
};

const CAP: usize = 16 << 20;
const MOST_LINES: &str = "5000";

/// What production logged from one time to another, as the program tells it.
pub(super) async fn read(reader: &Reader<'_>, (from, to): (DateTime<Utc>, DateTime<Utc>)) -> Result<Logged, Blind> {
    let Some(program) = &reader.project.cli else {
        return Ok(Logged::default());
    };
    let config = reader.session.ctx.config;
    let place = config.home.state.join("vercel-cli");
    let prepared = fs::create_dir_all(&place).map_err(|error| error.to_string());
    let run_id = random_nonce()
        .map_err(|error| error.to_string())
        .and_then(|nonce| RunId::parse(&format!("vercel-logs.{}", nonce.as_str())).map_err(|error| error.to_string()));
    let run_id = prepared.and(run_id).map_err(|why| unusable(program, &why))?;
    let mut env = base_env(&own_path(), &place, &place, "C.UTF-8");
    // Never as an argument: those are for all to see.
    env.extend(
        config
            .secrets
            .get("VERCEL_TOKEN")
            .map(|token| ("VERCEL_TOKEN".to_owned(), token.clone())),
    );
    env.push(("NO_COLOR".to_owned(), "1".into()));
    let done = process::run(ChildSpec {
        program: program.clone(),
        args: arguments(reader, from, to).into_iter().map(Into::into).collect(),
        env,
        cwd: place.clone(),
        stdin: Vec::new(),
        deadline: config.limits.collect_deadline / 2,
        stdout_cap: CAP,
        stderr_cap: 4096,
        run_id,
        sandbox: Sandbox {
            write: vec![place],
            read: own_files(program).into_iter().chain(config.readable.clone()).collect(),
            hide: Vec::new(),
            network: Network::Open,
        },
        stop: None,
    })
    .await;
    match done.exit {
        RunExit::Code(0) if !done.truncated => Ok(lines(&done.stdout)),
        RunExit::Code(0) => Err(unusable(program, "it said more than is read")),
        exit => {
            let said = String::from_utf8_lossy(&done.stderr);
            let last = said
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or_default();
            Err(unusable(
                program,
                &format!("{exit}; {}", reader.session.line(last, 200)),
            ))
        }
    }
}

fn unusable(program: &Path, why: &str) -> Blind {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    Blind::new("cli", format!("{name} logs gave nothing: {why}"))
}

fn arguments(reader: &Reader<'_>, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<String> {
    let time = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Millis, true);
    let project = reader.project;
    let mut arguments: Vec<String> = ["logs", "--json", "--environment", "production", "--limit", MOST_LINES]
        .map(str::to_owned)
        .into();
    for level in ["error", "fatal", "warning"] {
        arguments.extend(["--level".to_owned(), level.to_owned()]);
    }
    arguments.extend(["--since".to_owned(), time(from), "--until".to_owned(), time(to)]);
    arguments.extend(["--project".to_owned(), project.project.clone()]);
    if let Some(team) = &project.team {
        arguments.extend(["--scope".to_owned(), team.clone()]);
    }
    arguments
}

/// A package's program is a link into the package, whose files it needs.
fn own_files(program: &Path) -> Option<std::path::PathBuf> {
    let file = fs::canonicalize(program).ok()?;
    let package = file.ancestors().find(|dir| dir.join("package.json").is_file());
    package.or_else(|| file.parent()).map(Path::to_owned)
}
