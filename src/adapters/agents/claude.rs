//! Claude Code, headless. Its exit code and `subtype` do not say whether it worked (an API failure comes as
//! `subtype: success`), so the final object is read field by field, `is_error` first.

use std::ffi::OsString;

use serde_json::Value;

use super::{AgentOutcome, Invocation, Parsed, Request, Role, complaint};
use crate::{
    adapters::process::{RawRun, RunExit},
    config::Billing,
};

/// Tools of a fixer beside the repo's own commands.
const FIX_TOOLS: [&str; 5] = ["Read", "Edit", "Write", "Glob", "Grep"];

/// No updates, telemetry or error reports; retries and waits that fit a run of minutes.
const FIXED: [(&str, &str); 8] = [
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "3"),
    ("CLAUDE_STREAM_IDLE_TIMEOUT_MS", "60000"),
    ("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS", "60000"),
    ("API_TIMEOUT_MS", "120000"),
];

pub(super) fn command_line(request: &Request<'_>) -> Invocation {
    let agent = request.agent;
    let is_fix = request.role == Role::Fix;
    let mut args = Args::default();
    // A fixer that is killed has delivered its steps until then; the others say one thing at the end.
    if is_fix {
        args.add(&["-p", "--output-format", "stream-json", "--verbose"]);
    } else {
        args.add(&["-p", "--output-format", "json"]);
    }
    if let Some(model) = &agent.model {
        args.add(&["--model", model]);
    }
    args.add(&["--max-turns", &agent.turns.to_string()]);
    if let (Billing::Metered, Some(usd)) = (agent.billing, agent.usd_per_run) {
        args.add(&["--max-budget-usd", &usd.to_string()]);
    }
    // Nothing of the repository's own settings, hooks, tool servers or instructions is loaded.
    args.add(&["--setting-sources", "user", "--strict-mcp-config", "--no-chrome"]);
    args.add(&["--no-session-persistence", "--json-schema", request.schema]);
    if is_fix {
        args.add(&["--permission-mode", "acceptEdits", "--tools"]);
        args.add(&[&format!("{},Bash", FIX_TOOLS.join(","))]);
        args.add(&["--allowedTools"]).add(&FIX_TOOLS);
        for command in request.commands {
            args.add(&[&format!("Bash({})", command.text), &format!("Bash({} *)", command.text)]);
        }
        args.add(&["--disallowedTools", "Bash(git push *)", "WebFetch", "WebSearch"]);
    } else {
        args.add(&["--tools", ""]);
    }
    args.0.extend(agent.args.iter().map(Into::into));
    let fixed = FIXED.map(|(name, value)| (name, value.to_owned()));
    Invocation {
        args: args.0,
        env: request.env(&fixed),
        stdin: request.prompt.as_bytes().to_vec(),
        stdout_cap: if is_fix { 64 << 20 } else { 4 << 20 },
    }
}

#[derive(Default)]
struct Args(Vec<OsString>);

impl Args {
    fn add(&mut self, args: &[&str]) -> &mut Self {
        self.0.extend(args.iter().map(Into::into));
        self
    }
}

pub(super) fn parse(raw: &RawRun) -> Parsed {
    let Some(result) = last_result(&raw.stdout) else {
        return without_result(raw).into();
    };
    let usd = result.get("total_cost_usd").and_then(Value::as_f64);
    let turns = result.get("num_turns").and_then(Value::as_u64);
    Parsed {
        outcome: with_result(&result, raw),
        usd: usd.filter(|usd| usd.is_finite() && *usd >= 0.0),
        turns: turns.and_then(|turns| u32::try_from(turns).ok()),
    }
}

/// Both output forms end in one line that holds the final object.
fn last_result(stdout: &[u8]) -> Option<Value> {
    stdout
        .rsplit(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .find(|value| is_type(value, "result"))
}

fn is_type(value: &Value, name: &str) -> bool {
    value.get("type").and_then(Value::as_str) == Some(name)
}

/// No final object: what counts is whether the model had begun to work.
fn without_result(raw: &RawRun) -> AgentOutcome {
    let mut lines = raw.stdout.split(|byte| *byte == b'\n');
    let had_begun = lines.any(|line| serde_json::from_slice(line).is_ok_and(|value| is_type(&value, "assistant")));
    let why = || format!("{}{}", raw.exit, complaint(raw));
    match &raw.exit {
        RunExit::Stopped => AgentOutcome::Interrupted,
        RunExit::SpawnFailed(why) => AgentOutcome::Infrastructure(why.clone()),
        exit @ RunExit::Flooded(_) => AgentOutcome::Failed(format!("it {exit}")),
        RunExit::Code(_) | RunExit::Signal(_) if raw.truncated => {
            AgentOutcome::Failed("it wrote more than it may".to_owned())
        }
        RunExit::Code(_) | RunExit::Signal(_) | RunExit::TimedOut if had_begun => {
            AgentOutcome::Failed(format!("no result: {}", why()))
        }
        RunExit::Code(_) | RunExit::Signal(_) | RunExit::TimedOut => {
            AgentOutcome::Infrastructure(format!("it did nothing: {}", why()))
        }
    }
}

fn with_result(result: &Value, raw: &RawRun) -> AgentOutcome {
    if raw.exit == RunExit::Stopped {
        return AgentOutcome::Interrupted;
    }
    match result.get("is_error").and_then(Value::as_bool) {
        Some(true) => failure(result),
        Some(false) => success(result, raw),
        None => AgentOutcome::Failed("its result does not say whether it is an error".to_owned()),
    }
}

fn success(result: &Value, raw: &RawRun) -> AgentOutcome {
    // It may hang after its result; the result stands.
    if !matches!(raw.exit, RunExit::Code(0) | RunExit::TimedOut) {
        return AgentOutcome::Failed(format!("a good result, then {}{}", raw.exit, complaint(raw)));
    }
    match result.get("structured_output") {
        Some(reply @ Value::Object(_)) => AgentOutcome::Reply(reply.clone()),
        _ if said(result).trim().is_empty() => AgentOutcome::Infrastructure("its answer is empty".to_owned()),
        _ => AgentOutcome::Failed(format!("no structured reply, only text: {}", said(result))),
    }
}

fn failure(result: &Value) -> AgentOutcome {
    let word = |name: &str| result.get(name).and_then(Value::as_str).unwrap_or_default();
    let status = result.get("api_error_status").and_then(Value::as_u64);
    match (word("terminal_reason"), word("subtype")) {
        ("prompt_too_long", _) => AgentOutcome::Failed("the prompt is too long for the model".to_owned()),
        ("max_turns", _) | (_, "error_max_turns") => AgentOutcome::Failed("it reached its limit of turns".to_owned()),
        ("budget_exhausted", _) | (_, "error_max_budget_usd") => {
            AgentOutcome::Failed("it reached its limit of dollars".to_owned())
        }
        (_, "error_max_structured_output_retries") => {
            AgentOutcome::Failed("it gave no reply of the asked form in five tries".to_owned())
        }
        ("aborted_tools" | "aborted_streaming", _) => AgentOutcome::Interrupted,
        ("api_error", _) => AgentOutcome::Infrastructure(api_error(status, result)),
        _ if status.is_some() || !word("api_error").is_empty() => {
            AgentOutcome::Infrastructure(api_error(status, result))
        }
        (reason, _) => AgentOutcome::Failed(format!("an error ({reason}): {}", said(result))),
    }
}

fn api_error(status: Option<u64>, result: &Value) -> String {
    let status = status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
    format!("the model's service failed ({status}): {}", said(result))
}

fn said(result: &Value) -> &str {
    result.get("result").and_then(Value::as_str).unwrap_or_default()
}
