//! The recorded agent: a hidden verb of the binary, run as a `command` agent. It follows a script instead of thinking,
//! and tells the world what it was given. It says that it is a recording.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{children::Children, client};

/// What to do at each call, by role (`triage`, `fix`, `audit`). The last step repeats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    pub roles: BTreeMap<String, Vec<Step>>,
    /// Address of the world that counts the calls and keeps what each was given.
    pub world: Option<String>,
}

/// One call, in this order: files, flood, child, hang, reply, exit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// Whole files, by path in the working directory.
    pub write: BTreeMap<String, String>,
    pub replace: Vec<Replace>,
    pub delete: Vec<String>,
    /// Symbolic links in the place of files: path and target.
    pub link: BTreeMap<String, String>,
    /// Bytes of noise on stdout before anything else.
    pub flood: usize,
    /// Leaves a sleeping child behind, in a session of its own.
    pub child: bool,
    pub ignore_term: bool,
    /// Never ends by itself.
    pub hang: bool,
    /// What to print, with `{signature}`, `{repo}`, `{head_sha}` filled in from the input. Null prints nothing.
    pub reply: Value,
    /// Printed as it stands instead of the reply.
    pub raw: Option<String>,
    pub exit: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replace {
    pub path: String,
    pub from: String,
    pub to: String,
}

/// What the agents were given, call by call.
#[derive(Debug, Default)]
pub struct Records {
    inner: Mutex<Vec<Value>>,
}

impl Records {
    /// Keeps one call and gives back its number within its role, from 1.
    pub fn add(&self, call: Value) -> usize {
        let mut calls = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(call);
        let role = calls.last().map(|c| c["role"].clone()).unwrap_or_default();
        calls.iter().filter(|c| c["role"] == role).count()
    }

    pub fn all(&self) -> Vec<Value> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the process was started with; read by the caller, which may read the environment.
#[derive(Debug, Clone)]
pub struct Given {
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub cwd: PathBuf,
}

/// Plays one call of the script and gives back the exit code.
pub fn play(script: &Path, given: &Given, stdin: &mut dyn Read, stdout: &mut dyn Write) -> Result<u8> {
    let text = std::fs::read_to_string(script).with_context(|| format!("read the script {}", script.display()))?;
    let script: Script = serde_json::from_str(&text).context("parse the script")?;
    let mut prompt = String::new();
    stdin.read_to_string(&mut prompt)?;
    let role = given
        .env
        .get("TICK_ROLE")
        .context("TICK_ROLE is not set: this verb is for the demo only")?;
    let input: Value = match given.env.get("TICK_INPUT") {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path)?).context("parse TICK_INPUT")?,
        None => Value::Null,
    };
    let call = call_number(&script, given, role, &prompt, &input);
    let steps = script
        .roles
        .get(role)
        .with_context(|| format!("the script has no role {role}"))?;
    let step = steps.get(call - 1).or(steps.last()).context("the role has a step")?;
    edit(step, &given.cwd)?;
    misbehave(step, &given.cwd, stdout)?;
    match &step.raw {
        Some(raw) => stdout.write_all(raw.as_bytes())?,
        None if step.reply.is_null() => {}
        None => writeln!(stdout, "{}", fill(&step.reply, role, &input))?,
    }
    stdout.flush()?;
    Ok(step.exit)
}

/// The world counts; without one, the attempt in the input does.
fn call_number(script: &Script, given: &Given, role: &str, prompt: &str, input: &Value) -> usize {
    let names: Vec<&String> = given.env.keys().collect();
    let record = json!({
        "role": role, "argv": given.argv, "env": names, "cwd": given.cwd, "stdin_bytes": prompt.len(), "prompt": prompt, "input": input,
    });
    let counted = script.world.as_ref().and_then(|world| {
        let body = record.to_string();
        let answer = client::request(world, "POST", "/__world/agent", &[], body.as_bytes()).ok()?;
        answer.json()["call"].as_u64()
    });
    let number = counted.or(input["attempt"].as_u64()).unwrap_or(1);
    usize::try_from(number).unwrap_or(1).max(1)
}

fn edit(step: &Step, cwd: &Path) -> Result<()> {
    for (path, content) in &step.write {
        let file = cwd.join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&file, content).with_context(|| format!("write {path}"))?;
    }
    for Replace { path, from, to } in &step.replace {
        let file = cwd.join(path);
        let text = std::fs::read_to_string(&file).with_context(|| format!("read {path}"))?;
        ensure!(text.contains(from.as_str()), "{path} does not contain {from:?}");
        std::fs::write(&file, text.replacen(from, to, 1))?;
    }
    for path in &step.delete {
        std::fs::remove_file(cwd.join(path)).with_context(|| format!("delete {path}"))?;
    }
    for (path, target) in &step.link {
        let file = cwd.join(path);
        if file.exists() {
            std::fs::remove_file(&file).with_context(|| format!("delete {path}"))?;
        }
        std::os::unix::fs::symlink(target, &file).with_context(|| format!("link {path}"))?;
    }
    Ok(())
}

fn misbehave(step: &Step, cwd: &Path, stdout: &mut dyn Write) -> Result<()> {
    let noise = [b'x'; 4096];
    let mut left = step.flood;
    while left > 0 {
        let some = left.min(noise.len());
        stdout.write_all(&noise[..some])?;
        left -= some;
    }
    if step.child {
        let mut command = Children::new(cwd.to_owned()).command("setsid", cwd);
        command
            .args(["sleep", "600"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        drop(command.spawn().context("start a child that stays")?);
    }
    if step.hang || step.ignore_term {
        wait(step)?;
    }
    Ok(())
}

/// Hangs until it is killed; with `ignore_term`, TERM does nothing.
fn wait(step: &Step) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // A listener takes the signal away from its default, which would end the process.
        let _held = if step.ignore_term {
            Some(tokio::signal::unix::signal(
                tokio::signal::unix::SignalKind::terminate(),
            )?)
        } else {
            None
        };
        if step.hang {
            tokio::time::sleep(Duration::from_hours(1)).await;
        }
        Ok(())
    })
}

/// The reply with its placeholders filled in. For triage, the one entry of `incidents` is repeated for every group.
fn fill(reply: &Value, role: &str, input: &Value) -> Value {
    let groups = input["groups"].as_array().cloned().unwrap_or_default();
    if role == "triage"
        && let Some([one]) = reply["incidents"].as_array().map(Vec::as_slice)
    {
        let mut whole = reply.clone();
        whole["incidents"] = groups.iter().map(|group| put(one, group, input)).collect();
        return whole;
    }
    put(reply, input, input)
}

fn put(value: &Value, near: &Value, far: &Value) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for name in ["signature", "repo", "head_sha"] {
                let known = near[name].as_str().or(far[name].as_str());
                if let Some(known) = known {
                    text = text.replace(&format!("{{{name}}}"), known);
                }
            }
            Value::String(text)
        }
        Value::Array(list) => list.iter().map(|v| put(v, near, far)).collect(),
        Value::Object(map) => Value::Object(map.iter().map(|(k, v)| (k.clone(), put(v, near, far))).collect()),
        other => other.clone(),
    }
}

/// The recording of `tick demo`: triage, a weak fix, an honest one, an approval.
pub fn demo_script(world: &str) -> Script {
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
    let files =
        |list: Vec<super::shop::NewFile>| list.into_iter().map(|(path, content)| (path, text(content))).collect();
    let fixed = |summary: &str, tests: &[&str]| {
        json!({
            "status": "fixed", "root_cause": "average_discount divides by the number of items, and an order may have none",
            "summary": summary, "tests": tests,
        })
    };
    let triage = json!({ "incidents": [{
        "signature": "{signature}", "verdict": "bug", "failure_type": "runtime", "repo": "{repo}",
        "root_cause": "an order without items", "suspected_files": ["shop/discount.py"], "confidence": 0.9,
    }] });
    let audit = json!({
        "verdict": "approve", "head_sha": "{head_sha}",
        "reasons": ["the empty case is handled where it arises", "the new test fails without the change"],
    });
    let step = |reply: Value| Step {
        reply,
        ..Step::default()
    };
    let weak = Step {
        write: files(super::shop::weak()),
        ..step(fixed("catch the division by zero", &[]))
    };
    let honest = Step {
        write: files(super::shop::honest()),
        ..step(fixed(
            "an order without items has no discount",
            &["test_order_without_items"],
        ))
    };
    Script {
        world: Some(world.to_owned()),
        roles: BTreeMap::from([
            ("triage".to_owned(), vec![step(triage)]),
            ("fix".to_owned(), vec![weak, honest]),
            ("audit".to_owned(), vec![step(audit)]),
        ]),
    }
}
