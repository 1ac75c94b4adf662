//! Command lines, and the reading of what agents were seen to write.

use std::collections::BTreeMap;

use secrecy::ExposeSecret;

use super::*;
use crate::adapters::process::{RawRun, RunExit};

fn agent(kind: AgentKind) -> Agent {
    Agent {
        name: "one".to_owned(),
        kind,
        program: PathBuf::from("/opt/agent"),
        args: vec!["--extra".to_owned()],
        model: Some("big".to_owned()),
        turns: 20,
        wall: Duration::from_mins(10),
        usd_per_run: Some(1.5),
        billing: Billing::Metered,
        env: BTreeMap::from([
            ("ANTHROPIC_API_KEY".to_owned(), "not-a-real-key".into()),
            ("LANG".to_owned(), "de_DE.UTF-8".into()),
        ]),
    }
}

fn invocation(role: Role, agent: &Agent) -> (Vec<String>, Env, Vec<u8>) {
    let root = PathBuf::from("/nonexistent/run");
    let files = files::Files {
        home: root.join("home"),
        tmp: root.join("tmp"),
        empty: root.join("empty"),
        schema: root.join("schema.json"),
        input: root.join("input.json"),
        root,
    };
    let commands = [CommandLine {
        text: "python3 -m unittest".to_owned(),
        argv: ["python3", "-m", "unittest"].map(str::to_owned).to_vec(),
    }];
    let request = Request {
        role,
        agent,
        prompt: "mend it",
        schema: schema(role),
        commands: &commands,
        toolchain_env: &[("RUSTUP_HOME".to_owned(), "/opt/rustup".to_owned())],
        files: &files,
        path: "/bin",
        deadline: Duration::from_mins(1),
        run_id: &RunId::parse("r1").unwrap(),
    };
    let made = match agent.kind {
        AgentKind::Claude => claude::command_line(&request),
        AgentKind::Command => command::command_line(&request),
    };
    // The directory never existed; there is nothing to remove.
    std::mem::forget(files);
    let args = made.args.iter().map(|arg| arg.to_str().unwrap().to_owned()).collect();
    (args, made.env, made.stdin)
}

fn value_of(env: &Env, name: &str) -> Option<String> {
    let (_, value) = env.iter().find(|(known, _)| known == name)?;
    Some(value.expose_secret().to_owned())
}

fn has(args: &[String], wanted: &[&str]) -> bool {
    args.windows(wanted.len()).any(|window| window == wanted)
}

#[test]
fn claude_is_kept_from_the_repository_and_from_the_shell() {
    let (args, env, stdin) = invocation(Role::Fix, &agent(AgentKind::Claude));
    for wanted in [
        &["-p", "--output-format", "stream-json", "--verbose"][..],
        &["--setting-sources", "user", "--strict-mcp-config"],
        &["--max-turns", "20", "--max-budget-usd", "1.5"],
        &["--model", "big"],
        &["--permission-mode", "acceptEdits"],
        &["--tools", "Read,Edit,Write,Glob,Grep,Bash"],
        &["Bash(python3 -m unittest)", "Bash(python3 -m unittest *)"],
        &["--disallowedTools", "Bash(git push *)"],
        &["--json-schema", schema(Role::Fix)],
        &["--extra"],
    ] {
        assert!(has(&args, wanted), "{wanted:?} in {args:?}");
    }
    assert!(
        !args
            .iter()
            .any(|arg| arg.contains("not-a-real-key") || arg.contains("mend it"))
    );
    assert_eq!(stdin, b"mend it");
    assert_eq!(value_of(&env, "ANTHROPIC_API_KEY").as_deref(), Some("not-a-real-key"));
    assert_eq!(value_of(&env, "RUSTUP_HOME").as_deref(), Some("/opt/rustup"));
    assert_eq!(value_of(&env, "HOME").as_deref(), Some("/nonexistent/run/home"));
    assert_eq!(value_of(&env, "LANG").as_deref(), Some("de_DE.UTF-8"));
    assert_eq!(env.iter().filter(|(name, _)| name == "LANG").count(), 1);

    for role in [Role::Triage, Role::Audit] {
        let (args, ..) = invocation(role, &agent(AgentKind::Claude));
        assert!(
            has(&args, &["--tools", ""]) && has(&args, &["--output-format", "json"]),
            "{args:?}"
        );
        assert!(
            !args.iter().any(|arg| arg.contains("Bash") || arg == "acceptEdits"),
            "{args:?}"
        );
    }
    let mut plan = agent(AgentKind::Claude);
    plan.billing = Billing::Plan;
    assert!(!has(&invocation(Role::Fix, &plan).0, &["--max-budget-usd"]));
}

#[test]
fn a_command_gets_its_contract_in_the_environment() {
    let (args, env, stdin) = invocation(Role::Audit, &agent(AgentKind::Command));
    assert_eq!(args, ["--extra"]);
    assert_eq!(stdin, b"mend it");
    for (name, value) in [
        ("TICK_ROLE", "audit"),
        ("TICK_SCHEMA", "/nonexistent/run/schema.json"),
        ("TICK_INPUT", "/nonexistent/run/input.json"),
        ("TICK_DEADLINE", "60"),
        ("TICK_RUN_ID", "r1"),
    ] {
        assert_eq!(value_of(&env, name).as_deref(), Some(value), "{name}");
    }
}

fn raw(exit: RunExit, stdout: &str, stderr: &str) -> RawRun {
    RawRun {
        exit,
        stdout: stdout.as_bytes().to_vec(),
        stderr: stderr.as_bytes().to_vec(),
        truncated: false,
        wall: Duration::from_secs(1),
        sandbox: "sandboxed".to_owned(),
        leftovers: 0,
    }
}

/// `reply`, `infrastructure …`, `failed …` or `interrupted`.
fn word(outcome: &AgentOutcome) -> String {
    match outcome {
        AgentOutcome::Reply(value) => format!("reply {value}"),
        AgentOutcome::Infrastructure(why) => format!("infrastructure {why}"),
        AgentOutcome::Failed(why) => format!("failed {why}"),
        AgentOutcome::Interrupted => "interrupted".to_owned(),
    }
}

#[track_caller]
fn check(outcome: &AgentOutcome, expected: &str) {
    let found = word(outcome);
    assert!(found.starts_with(expected), "{found}\nexpected {expected}");
}

#[test]
fn a_command_is_judged_by_its_contract() {
    let case = |exit: RunExit, stdout: &str, expected: &str| {
        check(
            &command::parse(&raw(exit, stdout, "first\nlast words\n")).outcome,
            expected,
        );
    };
    case(RunExit::Code(0), " {\"a\":1}\n", "reply {\"a\":1}");
    case(
        RunExit::Code(0),
        "",
        "infrastructure exit 0 without having done anything: last words",
    );
    case(
        RunExit::Code(0),
        "Done. {\"a\":1}",
        "failed its reply is not one JSON object",
    );
    case(
        RunExit::Code(0),
        "{\"a\":1,\"a\":2}",
        "failed its reply is not one JSON object",
    );
    case(
        RunExit::Code(75),
        "{\"a\":1}",
        "infrastructure it asks to try later: last words",
    );
    case(RunExit::Code(1), "{\"a\":1}", "failed exit 1: last words");
    case(RunExit::Code(127), "", "infrastructure its program is missing");
    case(RunExit::Code(127), "{", "failed exit 127");
    case(RunExit::Signal(11), "{\"a\":1}", "failed ended by signal 11");
    case(
        RunExit::Flooded(68 << 20),
        "{",
        "failed it wrote more than 68 MiB and was ended",
    );
    case(RunExit::TimedOut, "\n", "infrastructure no output before the deadline");
    case(RunExit::TimedOut, "{\"a\":1}", "failed ran out of time");
    case(RunExit::Stopped, "{\"a\":1}", "interrupted");
    case(
        RunExit::SpawnFailed("no such file".into()),
        "",
        "infrastructure no such file",
    );
    let mut cut = raw(RunExit::Code(0), "{\"a\":1}", "");
    cut.truncated = true;
    check(&command::parse(&cut).outcome, "failed it wrote more than it may");
}

const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/work","session_id":"s"}"#;
const STEP: &str = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read"}]}}"#;

fn result(fields: &str) -> String {
    format!(r#"{{"type":"result","num_turns":3,"total_cost_usd":0.25,"session_id":"s",{fields}}}"#)
}

#[test]
fn claude_is_judged_by_its_final_object() {
    let case = |exit: RunExit, fields: &str, expected: &str| {
        let parsed = claude::parse(&raw(exit, &format!("{INIT}\n{STEP}\n{}\n", result(fields)), ""));
        check(&parsed.outcome, expected);
        assert_eq!((parsed.usd, parsed.turns), (Some(0.25), Some(3)));
    };
    let good = r#""subtype":"success","is_error":false,"terminal_reason":"completed","api_error_status":null,
        "result":"{\"a\":1}","structured_output":{"a":1}"#
        .replace('\n', " ");
    case(RunExit::Code(0), &good, "reply {\"a\":1}");
    case(RunExit::TimedOut, &good, "reply {\"a\":1}");
    case(RunExit::Code(1), &good, "failed a good result, then exit 1");
    case(RunExit::Stopped, &good, "interrupted");

    // An API failure calls itself a success.
    let failed = |status: &str, text: &str| {
        format!(
            r#""subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":{status},"result":"{text}""#
        )
    };
    for status in ["529", "500", "429", "401", "403", "404"] {
        let expected = format!("infrastructure the model's service failed (status {status}): API error");
        case(RunExit::Code(1), &failed(status, "API error"), &expected);
    }
    case(
        RunExit::Code(1),
        &failed("400", "Credit balance is too low"),
        "infrastructure the model's service",
    );
    case(
        RunExit::Code(1),
        &failed("null", "Not logged in"),
        "infrastructure the model's service failed (no answer)",
    );
    case(
        RunExit::Code(1),
        r#""subtype":"success","is_error":true,"api_error":"connection_failed","api_error_status":null,"result":"""#,
        "infrastructure the model's service",
    );
    let error = |subtype: &str, reason: &str| {
        format!(r#""subtype":"{subtype}","is_error":true,"terminal_reason":"{reason}","errors":["x"]"#)
    };
    case(
        RunExit::Code(1),
        &error("success", "prompt_too_long"),
        "failed the prompt is too long",
    );
    case(
        RunExit::Code(1),
        &error("error_max_turns", "max_turns"),
        "failed it reached its limit of turns",
    );
    case(
        RunExit::Code(1),
        &error("error_max_budget_usd", "budget_exhausted"),
        "failed it reached its limit of dollars",
    );
    case(
        RunExit::Code(1),
        &error("error_max_structured_output_retries", ""),
        "failed it gave no reply of the asked form",
    );
    case(
        RunExit::Code(0),
        &error("error_during_execution", "aborted_tools"),
        "interrupted",
    );
    case(
        RunExit::Code(1),
        &error("error_during_execution", "odd"),
        "failed an error (odd)",
    );

    let done = |fields: &str| format!(r#""subtype":"success","is_error":false,"terminal_reason":"completed",{fields}"#);
    case(
        RunExit::Code(0),
        &done(r#""result":"all done""#),
        "failed no structured reply, only text: all done",
    );
    case(
        RunExit::Code(0),
        &done(r#""result":"{\"a\":1}""#),
        "failed no structured reply",
    );
    case(
        RunExit::Code(0),
        &done(r#""result":"""#),
        "infrastructure its answer is empty",
    );
    case(
        RunExit::Code(0),
        &done(r#""result":"x","structured_output":"y""#),
        "failed no structured reply",
    );
    case(
        RunExit::Code(0),
        r#""subtype":"success","structured_output":{}"#,
        "failed its result does not say",
    );
}

#[test]
fn claude_without_a_final_object_did_nothing_or_failed() {
    let case = |exit: RunExit, stdout: &str, stderr: &str, expected: &str| {
        check(&claude::parse(&raw(exit, stdout, stderr)).outcome, expected);
    };
    let begun = format!("{INIT}\n{STEP}\n");
    case(
        RunExit::Code(1),
        "",
        "error: unknown option",
        "infrastructure it did nothing: exit 1: error: unknown option",
    );
    case(RunExit::Code(0), "", "", "infrastructure it did nothing: exit 0");
    case(
        RunExit::TimedOut,
        INIT,
        "",
        "infrastructure it did nothing: ran out of time",
    );
    case(RunExit::TimedOut, &begun, "", "failed no result: ran out of time");
    case(RunExit::Code(143), &begun, "", "failed no result: exit 143");
    case(RunExit::Signal(9), &begun, "", "failed no result: ended by signal 9");
    case(RunExit::Stopped, &begun, "", "interrupted");
    case(
        RunExit::Flooded(68 << 20),
        &begun,
        "x",
        "failed it wrote more than 68 MiB and was ended",
    );
    case(
        RunExit::SpawnFailed("not there".into()),
        "",
        "",
        "infrastructure not there",
    );
    case(RunExit::Code(0), "<html>", "", "infrastructure it did nothing");
    let mut cut = raw(RunExit::Signal(15), &begun, "");
    cut.truncated = true;
    check(&claude::parse(&cut).outcome, "failed it wrote more than it may");
}

#[test]
fn what_leaves_fits_the_schema_and_is_redacted() {
    let canary = "canary-not-a-real-secret".into();
    let redactor = Redactor::new([&canary]);
    let reply: Value = serde_json::from_str(
        r#"{"verdict":"reject","head_sha":"3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201",
            "reasons":["my token is canary-not-a-real-secret\u001b[31m"]}"#,
    )
    .unwrap();
    let AgentOutcome::Reply(kept) = judge(
        AgentOutcome::Reply(reply.clone()),
        Role::Audit,
        schema(Role::Audit),
        &redactor,
    ) else {
        panic!("it fits");
    };
    assert_eq!(kept["head_sha"], reply["head_sha"]);
    let reason = kept["reasons"][0].as_str().unwrap();
    assert!(
        !reason.contains("canary-not-a-real") && !reason.contains('\u{1b}'),
        "{reason}"
    );

    let wrong = serde_json::json!({"verdict": "approve", "sha": "canary-not-a-real-secret"});
    let outcome = judge(AgentOutcome::Reply(wrong), Role::Audit, schema(Role::Audit), &redactor);
    check(&outcome, "failed its reply does not fit");
    assert!(!word(&outcome).contains("canary-not-a-real"), "{outcome:?}");
    let outcome = judge(
        AgentOutcome::Failed("canary-not-a-real-secret\nx".into()),
        Role::Audit,
        "",
        &redactor,
    );
    assert!(!word(&outcome).contains("canary-not-a-real") && !word(&outcome).contains('\n'));
}
