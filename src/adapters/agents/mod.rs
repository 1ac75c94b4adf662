//! Headless coding agents: one call in, one outcome out. For each kind two pure functions (command line, reading of
//! what came) and one runner for all. What an agent says is handed on as data and never acted upon here.

mod claude;
mod command;
mod files;
pub mod schema;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use crate::{
    adapters::{
        clock::instant,
        process::{ChildSpec, Env, Network, RawRun, RunExit, Sandbox, StopFlag, base_env, own_path, run},
    },
    config::{Agent, AgentKind, Billing, CommandLine},
    model::RunId,
    text::{Redactor, Untrusted},
};

pub use files::prompt_overrides;
pub use schema::schema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    Triage,
    Fix,
    Audit,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Triage, Self::Fix, Self::Audit];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Triage => "triage",
            Self::Fix => "fix",
            Self::Audit => "audit",
        }
    }
}

pub struct AgentCall<'a> {
    pub role: Role,
    pub agent: &'a Agent,
    pub prompt: String,
    /// The role's input as JSON, redacted; a file for `command` agents.
    pub input: Value,
    /// JSON Schema of the reply.
    pub schema: &'static str,
    /// The worktree (fix) or a tree without `.git` (audit). Triage works in an empty folder of its own.
    pub cwd: &'a Path,
    /// Commands that the fixer may run: the repo's own tests.
    pub commands: &'a [CommandLine],
    /// Where tool chains are, which would not be found under another home; no secrets.
    pub toolchain_env: &'a [(String, String)],
    /// Directory under which this run gets a private one (home, temporary files), gone when it ends.
    pub scratch: &'a Path,
    /// What it may read beside the system, its tools and its tree.
    pub read: Vec<PathBuf>,
    /// What it may not read even there: all that is tick's own.
    pub hide: Vec<PathBuf>,
    pub run_id: RunId,
    /// At most the agent's own `wall` counts.
    pub deadline: Duration,
    pub stop: Option<StopFlag>,
    /// Where what the agent wrote is kept, redacted.
    pub transcript: PathBuf,
    pub redactor: &'a Redactor,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AgentRun {
    pub outcome: AgentOutcome,
    /// As the agent reports it; none = unknown, or a flat plan.
    pub usd: Option<f64>,
    pub turns: Option<u32>,
    pub wall: Duration,
    /// `not sandboxed: ` and what nothing holds; `sandboxed` would be one that nothing is open to.
    pub sandbox: String,
}

/// Texts in here are cleaned, redacted and one line; they may quote the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentOutcome {
    /// Fits the schema. Its strings are cleaned and redacted, and still a model's.
    Reply(Value),
    /// The agent could not work: not installed, no login, overload, quota, hang. Costs the incident no attempt.
    Infrastructure(String),
    /// The agent broke its contract: bad reply, limits, crash. Costs an attempt.
    Failed(String),
    /// Ended by a stop sign.
    Interrupted,
}

/// What the pure half of an adapter needs to write a command line.
struct Request<'a> {
    role: Role,
    agent: &'a Agent,
    prompt: &'a str,
    schema: &'a str,
    commands: &'a [CommandLine],
    toolchain_env: &'a [(String, String)],
    files: &'a files::Files,
    path: &'a str,
    deadline: Duration,
    run_id: &'a RunId,
}

impl Request<'_> {
    /// The fixed allow-list, then the adapter's own values, then what the owner gave this agent.
    fn env(&self, own: &[(&str, String)]) -> Env {
        let mut env = base_env(self.path, &self.files.home, &self.files.tmp, "C.UTF-8");
        let tools = self.toolchain_env.iter();
        env.extend(tools.map(|(name, value)| (name.clone(), value.clone().into())));
        env.extend(
            own.iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone().into())),
        );
        for (name, value) in &self.agent.env {
            env.retain(|(taken, _)| taken != name);
            env.push((name.clone(), value.clone()));
        }
        env
    }
}

struct Invocation {
    args: Vec<OsString>,
    env: Env,
    stdin: Vec<u8>,
    stdout_cap: usize,
}

/// What the pure half of an adapter makes of a run.
#[derive(Debug, Clone, PartialEq)]
struct Parsed {
    outcome: AgentOutcome,
    usd: Option<f64>,
    turns: Option<u32>,
}

impl From<AgentOutcome> for Parsed {
    fn from(outcome: AgentOutcome) -> Self {
        Self {
            outcome,
            usd: None,
            turns: None,
        }
    }
}

/// Runs one agent once. Every way in which it can go wrong is an outcome.
pub async fn run_agent(call: AgentCall<'_>) -> AgentRun {
    let started = instant();
    let files = match files::Files::make(&call) {
        Ok(files) => files,
        Err(error) => {
            let why = format!("cannot prepare a run of agent {}: {error:#}", call.agent.name);
            return AgentRun {
                outcome: AgentOutcome::Infrastructure(line(&why, call.redactor)),
                usd: None,
                turns: None,
                wall: started.elapsed(),
                sandbox: "not sandboxed: it never ran".to_owned(),
            };
        }
    };
    let raw = run(child(&call, &files)).await;
    let kept = files::keep_transcript(&call.transcript, &raw, call.redactor);
    let parsed = match call.agent.kind {
        AgentKind::Claude => claude::parse(&raw),
        AgentKind::Command => command::parse(&raw),
    };
    let outcome = match kept {
        Ok(()) => judge(parsed.outcome, call.role, call.schema, call.redactor),
        // A run that nobody can look at later does not count, and a full disk is not the agent's fault.
        Err(error) => AgentOutcome::Infrastructure(line(&format!("{error:#}"), call.redactor)),
    };
    AgentRun {
        outcome,
        usd: parsed.usd.filter(|_| call.agent.billing == Billing::Metered),
        turns: parsed.turns,
        wall: raw.wall,
        sandbox: raw.sandbox,
    }
}

fn child(call: &AgentCall<'_>, files: &files::Files) -> ChildSpec {
    let deadline = call.deadline.min(call.agent.wall);
    let path = own_path();
    let request = Request {
        role: call.role,
        agent: call.agent,
        prompt: &call.prompt,
        schema: call.schema,
        commands: call.commands,
        toolchain_env: call.toolchain_env,
        files,
        path: &path,
        deadline,
        run_id: &call.run_id,
    };
    let invocation = match call.agent.kind {
        AgentKind::Claude => claude::command_line(&request),
        AgentKind::Command => command::command_line(&request),
    };
    let (cwd, write) = match call.role {
        Role::Triage => (files.empty.clone(), Vec::new()),
        Role::Audit => (call.cwd.to_owned(), Vec::new()),
        // The fixer's throwaway git directory lies beside its tree.
        Role::Fix => (
            call.cwd.to_owned(),
            vec![call.cwd.to_owned(), call.cwd.with_file_name("agent.git")],
        ),
    };
    ChildSpec {
        program: call.agent.program.clone(),
        args: invocation.args,
        env: invocation.env,
        cwd,
        stdin: invocation.stdin,
        deadline,
        stdout_cap: invocation.stdout_cap,
        stderr_cap: 256 << 10,
        run_id: call.run_id.clone(),
        sandbox: Sandbox {
            write: write.into_iter().chain([files.root.clone()]).collect(),
            read: call.read.clone(),
            hide: call.hide.clone(),
            // Its model is a service.
            network: Network::Open,
        },
        stop: call.stop.clone(),
    }
}

/// The reading of what a program printed, for the fuzzer.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    for exit in [RunExit::Code(0), RunExit::Code(1), RunExit::TimedOut] {
        let raw = RawRun {
            exit,
            stdout: bytes.to_vec(),
            ..RawRun::never_ran(String::new(), Duration::ZERO)
        };
        drop(claude::parse(&raw));
        drop(command::parse(&raw));
    }
}

/// A reply counts when it fits the schema; every text that leaves is cleaned and redacted.
fn judge(outcome: AgentOutcome, role: Role, schema: &str, redactor: &Redactor) -> AgentOutcome {
    match outcome {
        AgentOutcome::Reply(reply) => match schema::check(schema, &reply) {
            Ok(()) => AgentOutcome::Reply(redacted(reply, redactor)),
            Err(why) => {
                let form = format!("prompts/schemas/{}.json", role.name());
                AgentOutcome::Failed(line(&format!("its reply does not fit {form}: {why}"), redactor))
            }
        },
        AgentOutcome::Infrastructure(why) => AgentOutcome::Infrastructure(line(&why, redactor)),
        AgentOutcome::Failed(why) => AgentOutcome::Failed(line(&why, redactor)),
        AgentOutcome::Interrupted => AgentOutcome::Interrupted,
    }
}

/// Fields whose form the schema fixes: there is nothing to hide in them, and a changed one would not be recognised.
const FIXED_FORM: [&str; 6] = ["signature", "same_as", "head_sha", "verdict", "status", "failure_type"];

fn redacted(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(Untrusted::new(&text, redactor).analyse().to_owned()),
        Value::Array(items) => items.into_iter().map(|item| redacted(item, redactor)).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| {
                let is_fixed = value.is_string() && FIXED_FORM.contains(&key.as_str());
                let value = if is_fixed { value } else { redacted(value, redactor) };
                (key, value)
            })
            .collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

fn line(text: &str, redactor: &Redactor) -> String {
    Untrusted::new(text, redactor).line(400)
}

/// The end of what an agent wrote to stderr, for a sentence.
fn complaint(raw: &RawRun) -> String {
    let text = String::from_utf8_lossy(&raw.stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.last() {
        Some(last) => format!(": {last}"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
