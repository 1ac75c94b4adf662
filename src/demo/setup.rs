//! A ready home for the product: the config that points it at this world, its secrets, and the recorded agent's script.

use std::{
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{
    agent::{Script, demo_script},
    world::{FORGE_TOKEN, TRACKER_TOKEN, World},
};

/// What a story wants of the product's configuration.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The binary of the product, which also plays the recording.
    pub program: PathBuf,
    /// `active`, `monitor-only` …
    pub mode: &'static str,
    /// What the recorded agent does; none: the recording of the demo.
    pub script: Option<Script>,
    /// Name and definition of another agent in its place, as the config writes it.
    pub agent: Option<(String, Value)>,
    /// Put over the finished config, key by key (objects are merged).
    pub config: Value,
    /// More lines of `.env`.
    pub env: Vec<(String, String)>,
}

impl Setup {
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            mode: "active",
            script: None,
            agent: None,
            config: Value::Null,
            env: Vec::new(),
        }
    }
}

impl World {
    /// Writes a home into a new directory of the world's and gives back its path.
    pub fn tick_home(&self, setup: &Setup) -> Result<PathBuf> {
        let home = self.root().join("tick-home");
        std::fs::create_dir_all(&home)?;
        let script = setup.script.clone().unwrap_or_else(|| demo_script(self.forge_url()));
        // Outside the home, which no child of the product may read.
        let recording = self.root().join("recording.json");
        write(&recording, &serde_json::to_string_pretty(&script)?)?;
        let mut config = self.tick_config(setup, &recording);
        merge(&mut config, &setup.config);
        write(&home.join("config.json"), &serde_json::to_string_pretty(&config)?)?;
        let mut env = format!("GITHUB_TOKEN={FORGE_TOKEN}\nWORLD_TRACKER_TOKEN={TRACKER_TOKEN}\n");
        for (name, value) in &setup.env {
            env.extend([name, "=", value, "\n"]);
        }
        write(&home.join(".env"), &env)?;
        Ok(home)
    }

    /// The config as JSON.
    fn tick_config(&self, setup: &Setup, recording: &Path) -> Value {
        let (agent, definition) = setup.agent.clone().unwrap_or_else(|| {
            let args = json!(["__recorded-agent", recording]);
            let defined = json!({ "kind": "command", "program": setup.program, "args": args, "billing": "plan" });
            ("recording".to_owned(), defined)
        });
        let options = &self.town().options;
        let test: Vec<String> = match &options.repo {
            Some(own) => vec![shell_words::join(&own.test)],
            None => vec![super::shop::TEST.to_owned()],
        };
        let mut repo = json!({
            "github": self.town().forge.full_name(), "git_url": self.git_url(), "test": test,
            "collectors": { "exceptions": { "values": { "url": self.tracker_url() }, "secrets": { "token": "WORLD_TRACKER_TOKEN" } } },
        });
        if options.runs_app() {
            let url = format!("{}/health", self.app_url());
            repo["health"] = json!([{ "url": url, "expect": { "jq": ".ok == true" }, "release": ".release", "requests": ".requests" }]);
        }
        json!({
            "mode": setup.mode,
            "repos": { options.slot(): repo },
            "github": { "api": self.forge_url(), "web": self.town().forge.web },
            "agents": { "triage": [agent], "fix": [agent], "audit": [agent], "unsandboxed": true, "define": { agent.clone(): definition } },
            "readable": [recording],
            "retry": { "attempts": 2, "seconds": 0 },
            "notify": { "file": self.mail().dir(), "from": "tick <tick@shop.example>", "to": ["owner@shop.example"], "name": options.owner },
        })
    }
}

/// Objects key by key, everything else as a whole.
fn merge(into: &mut Value, over: &Value) {
    match (into, over) {
        (Value::Object(into), Value::Object(over)) => {
            for (key, value) in over {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (into, over) => *into = over.clone(),
    }
}

/// A file of the owner's alone: the product refuses what others may read or write.
fn write(path: &Path, text: &str) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("write {}", path.display()))?;
    Ok(file.write_all(text.as_bytes())?)
}
