//! Agents as real processes: scripts that keep or break the `command` contract, and the real Claude CLI against a
//! scripted model service.

use std::{
    collections::BTreeMap,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;
use tick::{
    adapters::{
        agents::{AgentCall, AgentOutcome, AgentRun, Role, run_agent, schema},
        process::StopFlag,
    },
    config::{Agent, AgentKind, Billing, CommandLine},
    model::RunId,
    text::Redactor,
};

const HEAD: &str = "3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201";
const AUDIT_REPLY: &str =
    r#"{"verdict":"approve","head_sha":"3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201","reasons":["ok"]}"#;

/// A directory with a tree, a place for runs and one for transcripts.
struct Room {
    dir: tempfile::TempDir,
}

impl Room {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tree")).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn script(&self, body: &str) -> Agent {
        let program = self.path("agent.sh");
        std::fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        agent(AgentKind::Command, program)
    }

    async fn run(&self, agent: &Agent, role: Role, prompt: &str, stop: Option<StopFlag>) -> AgentRun {
        let secret = "canary-not-a-real-secret".into();
        let commands = [CommandLine {
            text: "python3 -m unittest".to_owned(),
            argv: ["python3", "-m", "unittest"].map(str::to_owned).to_vec(),
        }];
        run_agent(AgentCall {
            role,
            agent,
            prompt: prompt.to_owned(),
            input: json!({"head_sha": HEAD}),
            schema: schema(role),
            cwd: &self.path("tree"),
            commands: &commands,
            toolchain_env: &[],
            scratch: &self.path("runs"),
            read: Vec::new(),
            hide: Vec::new(),
            run_id: run_id(role),
            deadline: Duration::from_mins(2),
            stop,
            transcript: self.path("logs/agents/run.log"),
            redactor: &Redactor::new([&secret]),
        })
        .await
    }

    fn transcript(&self) -> String {
        std::fs::read_to_string(self.path("logs/agents/run.log")).unwrap()
    }

    fn left(&self) -> usize {
        std::fs::read_dir(self.path("runs")).unwrap().count()
    }
}

fn run_id(role: Role) -> RunId {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let n = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    RunId::parse(&format!("agents-{}-{}-{n}", role.name(), std::process::id())).unwrap()
}

fn agent(kind: AgentKind, program: PathBuf) -> Agent {
    Agent {
        name: "one".to_owned(),
        kind,
        program,
        args: Vec::new(),
        model: None,
        turns: 20,
        wall: Duration::from_mins(5),
        usd_per_run: Some(5.0),
        billing: Billing::Metered,
        env: BTreeMap::new(),
    }
}

async fn outcome(script: &str) -> AgentOutcome {
    let room = Room::new();
    let agent = room.script(script);
    let run = room.run(&agent, Role::Audit, "judge", None).await;
    assert_eq!(room.left(), 0, "the run's own directory is gone");
    run.outcome
}

#[tokio::test]
async fn a_program_that_keeps_the_contract_is_heard() {
    let room = Room::new();
    let agent = room.script(
        r#"prompt=$(cat)
           [ "$prompt" = "judge this" ] && [ "$TICK_ROLE" = audit ] && [ "$TICK_DEADLINE" = 120 ] || exit 9
           grep -q head_sha "$TICK_SCHEMA" && grep -q 3f9c2b7d "$TICK_INPUT" || exit 8
           [ -d "$HOME" ] && [ -d "$TMPDIR" ] && [ -n "$TICK_RUN_ID" ] && [ "$(basename "$PWD")" = tree ] || exit 7
           touch "$TMPDIR/x" "$HOME/y"
           echo "canary-not-a-real-secret" >&2
           printf '{"verdict":"approve","head_sha":"%s","reasons":["canary-not-a-real-secret"]}' 3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201"#,
    );
    let run = room.run(&agent, Role::Audit, "judge this", None).await;
    let AgentOutcome::Reply(reply) = &run.outcome else {
        panic!("{run:?}");
    };
    assert_eq!(reply["head_sha"], HEAD);
    assert!(!reply.to_string().contains("canary-not-a-real"), "{reply}");
    assert!(run.sandbox == "sandboxed" || run.sandbox.starts_with("not sandboxed: "));
    assert_eq!(room.left(), 0);
    let transcript = room.transcript();
    assert!(
        transcript.contains("approve") && !transcript.contains("canary-not-a-real"),
        "{transcript}"
    );
    let mode = room
        .path("logs/agents/run.log")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn triage_works_in_an_empty_folder() {
    let room = Room::new();
    let agent = room.script(r#"[ -z "$(ls -A)" ] && [ "$TICK_ROLE" = triage ] && echo '{"incidents":[]}'"#);
    std::fs::write(room.path("tree/file"), "x").unwrap();
    let run = room.run(&agent, Role::Triage, "sort", None).await;
    assert_eq!(run.outcome, AgentOutcome::Reply(json!({"incidents": []})));
}

#[tokio::test]
async fn a_prompt_may_be_left_unread() {
    let room = Room::new();
    let agent = room.script(&format!("exec 0<&-; echo '{AUDIT_REPLY}'"));
    let run = room.run(&agent, Role::Audit, &"x".repeat(3_000_000), None).await;
    assert!(matches!(run.outcome, AgentOutcome::Reply(_)), "{run:?}");
}

#[tokio::test]
async fn a_program_that_breaks_the_contract_is_told_apart() {
    let infrastructure = |outcome: AgentOutcome, why: &str| match outcome {
        AgentOutcome::Infrastructure(said) => assert!(said.contains(why), "{said}"),
        other => panic!("{other:?}, expected {why}"),
    };
    let failed = |outcome: AgentOutcome, why: &str| match outcome {
        AgentOutcome::Failed(said) => assert!(said.contains(why), "{said}"),
        other => panic!("{other:?}, expected {why}"),
    };
    infrastructure(outcome("exit 0").await, "without having done anything");
    infrastructure(outcome("echo busy >&2; exit 75").await, "try later: busy");
    infrastructure(outcome("exec /nonexistent/program").await, "missing");
    failed(outcome("echo Looks good to me.").await, "not one JSON object");
    failed(
        outcome(&format!("echo 'ok {AUDIT_REPLY}'")).await,
        "not one JSON object",
    );
    failed(outcome(&format!("echo '{AUDIT_REPLY}'; exit 1")).await, "exit 1");
    failed(outcome("echo '{\"verdict\":\"approve\"}'").await, "does not fit");
    failed(outcome("exec yes '{'").await, "");

    let room = Room::new();
    let missing = agent(AgentKind::Command, room.path("nothing"));
    infrastructure(room.run(&missing, Role::Audit, "", None).await.outcome, "nothing");
    let mut hanging = room.script("exec sleep 900");
    hanging.wall = Duration::from_secs(4);
    infrastructure(
        room.run(&hanging, Role::Audit, "", None).await.outcome,
        "no output before the deadline",
    );
    let mut talking = room.script("echo '{'; exec sleep 900");
    talking.wall = Duration::from_secs(16);
    failed(
        room.run(&talking, Role::Audit, "", None).await.outcome,
        "ran out of time",
    );
    let stopped = room
        .run(
            &room.script("exec sleep 900"),
            Role::Fix,
            "",
            Some(StopFlag::new(|| true)),
        )
        .await;
    assert_eq!(stopped.outcome, AgentOutcome::Interrupted);
}

/// The CLI that `scripts/test` installs.
#[expect(
    clippy::disallowed_methods,
    reason = "only a test run may be without the CLI, and not everywhere"
)]
fn claude() -> Option<PathBuf> {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join(".test-deps/node_modules");
    let found = ["@anthropic-ai/claude-code-linux-x64/claude", ".bin/claude"]
        .map(|name| modules.join(name))
        .into_iter()
        .find(|program| program.is_file());
    let required = std::env::var_os("CI").is_some();
    assert!(
        found.is_some() || !required,
        "the Claude CLI is missing: run scripts/test"
    );
    found
}

/// A model service that follows a script; it ends with this.
struct Model {
    process: std::process::Child,
    url: String,
    log: PathBuf,
}

impl Model {
    #[expect(
        clippy::disallowed_methods,
        reason = "the scripted model service is a program of the tests"
    )]
    fn start(room: &Room, script: &serde_json::Value) -> Self {
        let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/model_stub.py");
        let (file, port, log) = (room.path("model.json"), room.path("port"), room.path("requests.jsonl"));
        std::fs::write(&file, script.to_string()).unwrap();
        let process = std::process::Command::new("python3")
            .arg(tool)
            .args(["--bodies", "--once-idle", "120", "--script"])
            .arg(file)
            .arg("--port-file")
            .arg(&port)
            .arg("--log")
            .arg(&log)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let started = tick::adapters::clock::instant();
        let number = loop {
            match std::fs::read_to_string(&port) {
                Ok(text) if !text.trim().is_empty() => break text.trim().to_owned(),
                _ => assert!(
                    started.elapsed() < Duration::from_mins(1),
                    "the model service did not start"
                ),
            }
            std::thread::yield_now();
        };
        Self {
            process,
            url: format!("http://127.0.0.1:{number}"),
            log,
        }
    }

    fn requests(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}

fn with_model(program: PathBuf, model: &Model) -> Agent {
    let mut agent = agent(AgentKind::Claude, program);
    agent.env = BTreeMap::from([
        ("ANTHROPIC_BASE_URL".to_owned(), model.url.clone().into()),
        ("ANTHROPIC_API_KEY".to_owned(), "not-a-real-key".into()),
    ]);
    agent
}

#[tokio::test]
async fn claude_does_triage_fix_and_audit() {
    let Some(program) = claude() else {
        println!("skipped: the Claude CLI is not installed");
        return;
    };
    let room = Room::new();
    std::fs::write(room.path("tree/cart.py"), "total = price\n").unwrap();
    // Settings of the repository must not be loaded: this one would leave a file.
    std::fs::create_dir(room.path("tree/.claude")).unwrap();
    let hook = json!({"hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": format!("touch {}", room.path("sentinel").display())}]}]}});
    std::fs::write(room.path("tree/.claude/settings.json"), hook.to_string()).unwrap();
    std::fs::write(room.path("tree/CLAUDE.md"), "PLANTED-INSTRUCTION").unwrap();

    let triage = json!({"incidents": [{"signature": "7f3a91c07f3a91c0", "verdict": "bug", "failure_type": "runtime",
        "repo": "web", "root_cause": "no price", "suspected_files": ["cart.py"], "confidence": 0.9}]});
    let fixed = json!({"status": "fixed", "root_cause": "no price", "summary": "asks for it", "tests": ["t"]});
    let audited = json!({"verdict": "approve", "head_sha": HEAD, "reasons": ["ok"]});
    let answer = |reply: &serde_json::Value| json!({"tools": [{"name": "StructuredOutput", "input": reply}]});
    let file = "${cwd}/cart.py";
    let model = Model::start(
        &room,
        &json!({"turns": [], "after": "error", "routes": [
            {"name": "triage", "when": "ROLE-TRIAGE", "turns": [answer(&triage), {"text": "done"}]},
            {"name": "fix", "when": "ROLE-FIX", "capture": {"cwd": "Primary working directory: (\\S+)"}, "turns": [
                {"tools": [{"name": "Read", "input": {"file_path": file}}]},
                {"tools": [{"name": "Edit", "input": {"file_path": file, "old_string": "price", "new_string": "price or 0"}}]},
                {"tools": [{"name": "Bash", "input": {"command": "git push origin main"}}]},
                {"tools": [{"name": "Bash", "input": {"command": "python3 -m unittest"}}]},
                answer(&fixed), {"text": "done"}]},
            {"name": "audit", "when": "ROLE-AUDIT", "turns": [answer(&audited), {"text": "done"}]},
        ]}),
    );
    let agent = with_model(program, &model);

    let run = room.run(&agent, Role::Triage, "ROLE-TRIAGE sort these", None).await;
    assert_eq!(run.outcome, AgentOutcome::Reply(triage));
    let run = room.run(&agent, Role::Fix, "ROLE-FIX mend this", None).await;
    assert_eq!(run.outcome, AgentOutcome::Reply(fixed), "{}", room.transcript());
    assert_eq!(
        std::fs::read_to_string(room.path("tree/cart.py")).unwrap(),
        "total = price or 0\n"
    );
    assert!(
        run.usd.is_some_and(|usd| usd > 0.0) && run.turns.is_some_and(|turns| turns > 3),
        "{run:?}"
    );
    let run = room.run(&agent, Role::Audit, "ROLE-AUDIT judge this", None).await;
    assert_eq!(run.outcome, AgentOutcome::Reply(audited));

    assert!(!room.path("sentinel").exists(), "a hook of the repository ran");
    let requests = model.requests();
    assert!(!requests.contains("PLANTED-INSTRUCTION"));
    assert!(
        requests.contains("Ran 0 tests") || requests.contains("NO TESTS RAN"),
        "the test command ran"
    );
    assert_eq!(room.left(), 0);
}

#[tokio::test]
async fn claude_that_cannot_work_is_not_the_incidents_fault() {
    let Some(program) = claude() else {
        println!("skipped: the Claude CLI is not installed");
        return;
    };
    let room = Room::new();
    let model = Model::start(
        &room,
        &json!({"turns": [], "main_without_tools": true, "routes": [
            {"name": "refused", "when": "CASE-403", "turns": [{"fault": {"status": 403}, "times": 0}]},
            {"name": "text", "when": "CASE-TEXT", "turns": [], "after": "text"},
        ]}),
    );
    let mut agent = with_model(program, &model);
    let run = room.run(&agent, Role::Audit, "CASE-403", None).await;
    assert!(
        matches!(&run.outcome, AgentOutcome::Infrastructure(why) if why.contains("403")),
        "{run:?}"
    );
    let run = room.run(&agent, Role::Audit, "CASE-TEXT", None).await;
    assert!(
        matches!(&run.outcome, AgentOutcome::Failed(why) if why.contains("no structured reply")),
        "{run:?}"
    );
    agent.env.remove("ANTHROPIC_API_KEY");
    let run = room.run(&agent, Role::Audit, "no key", None).await;
    assert!(
        matches!(&run.outcome, AgentOutcome::Infrastructure(why) if why.contains("ogged in")),
        "{run:?}"
    );
}
