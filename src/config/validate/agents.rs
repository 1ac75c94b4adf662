//! The agents: which exist, where their programs are, which of them does what.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::{Agents, Checks, minutes};
use crate::config::{
    Agent, AgentKind, Billing,
    env::is_name,
    problem::{JsonPath, quote_str},
    raw,
};

/// The agent that is known without being defined.
const CLAUDE: &str = "claude";
/// What `claude` gets beside the fixed allow-list.
const CLAUDE_ENV: [&str; 2] = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"];

impl Checks<'_> {
    pub(super) fn agents(&mut self, raw: &raw::Agents) -> Agents {
        let at = JsonPath::default().key("agents");
        let roles = [("triage", &raw.triage), ("fix", &raw.fix), ("audit", &raw.audit)];
        let named: BTreeSet<&str> = roles
            .iter()
            .filter_map(|(_, list)| list.as_ref())
            .flatten()
            .map(String::as_str)
            .collect();
        let mut defined = BTreeMap::new();
        for (name, agent) in &raw.define {
            let here = at.key("define").key(name);
            if let Some(agent) = self.agent(name, agent, &here) {
                defined.insert(name.clone(), agent);
            }
        }
        let installed = self.find_program(CLAUDE);
        if !raw.define.contains_key(CLAUDE) && (installed.is_some() || named.contains(CLAUDE)) {
            let program = installed.unwrap_or_else(|| self.not_found(CLAUDE, CLAUDE));
            let env = CLAUDE_ENV
                .iter()
                .filter_map(|name| self.context.env.secret(name).map(|value| ((*name).to_owned(), value)))
                .collect();
            defined.insert(CLAUDE.to_owned(), built_in(program, env));
        }
        for agent in defined.values() {
            self.secrets.values.extend(agent.env.clone());
        }
        let mut lists = roles.map(|(role, list)| match list {
            Some(list) => self.known(list, raw, &at.key(role)),
            None => defined.keys().filter(|name| *name == CLAUDE).cloned().collect(),
        });
        Agents {
            triage: std::mem::take(&mut lists[0]),
            fix: std::mem::take(&mut lists[1]),
            audit: std::mem::take(&mut lists[2]),
            defined,
            unsandboxed: raw.unsandboxed,
        }
    }

    fn known(&mut self, list: &[String], raw: &raw::Agents, at: &JsonPath) -> Vec<String> {
        for (n, name) in list.iter().enumerate() {
            if name != CLAUDE && !raw.define.contains_key(name) {
                let what = format!("{} is not an agent that agents.define names", quote_str(name));
                self.problem(at.index(n), what, "\"claude\"");
            }
        }
        list.to_vec()
    }

    fn agent(&mut self, name: &str, raw: &raw::Agent, at: &JsonPath) -> Option<Agent> {
        if name.is_empty()
            || !name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        {
            let what = format!(
                "{} is not an agent's name (lower-case letters, digits and -)",
                quote_str(name)
            );
            self.problem(at.clone(), what, "mine");
        }
        let wanted = match (&raw.program, raw.kind) {
            (Some(program), _) => program.as_str(),
            (None, AgentKind::Claude) => CLAUDE,
            (None, AgentKind::Command) => {
                self.problem(at.key("program"), "is missing", "\"/usr/local/bin/my-agent\"");
                return None;
            }
        };
        if wanted.is_empty() || (wanted.contains('/') && !Path::new(wanted).is_absolute()) {
            let what = format!("{} is neither an absolute path nor a plain name", quote_str(wanted));
            self.problem(at.key("program"), what, "\"/usr/local/bin/my-agent\"");
            return None;
        }
        let program = if Path::new(wanted).is_absolute() {
            PathBuf::from(wanted)
        } else {
            self.find_program(wanted)
                .unwrap_or_else(|| self.not_found(name, wanted))
        };
        let mut env = BTreeMap::new();
        let at_env = at.key("env");
        match &raw.env {
            Some(names) => {
                for (n, variable) in names.iter().enumerate() {
                    if reserved(variable) {
                        let what = format!("{} is set by tick for every child", quote_str(variable));
                        self.problem(at_env.index(n), what, "\"ANTHROPIC_API_KEY\"");
                    } else if let Some(value) = self.secret(variable, at_env.index(n)) {
                        env.insert(variable.clone(), value);
                    }
                }
            }
            None if raw.kind == AgentKind::Claude => {
                for variable in CLAUDE_ENV {
                    env.extend(
                        self.context
                            .env
                            .secret(variable)
                            .map(|value| (variable.to_owned(), value)),
                    );
                }
            }
            None => {}
        }
        Some(Agent {
            name: name.to_owned(),
            kind: raw.kind,
            program,
            args: raw.args.clone(),
            model: raw.model.clone(),
            turns: raw.turns,
            wall: minutes(raw.minutes),
            usd_per_run: raw.usd,
            billing: raw.billing,
            env,
        })
    }

    pub(super) fn find_program(&self, name: &str) -> Option<PathBuf> {
        let runs = |file: &PathBuf| {
            file.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        };
        self.path.iter().map(|dir| dir.join(name)).find(runs)
    }

    /// Not installed is an outcome of the agent's run (the next one in the list is tried), not a wrong config: looking
    /// at production must go on.
    fn not_found(&mut self, agent: &str, program: &str) -> PathBuf {
        let looked: Vec<String> = self.path.iter().map(|dir| dir.display().to_string()).collect();
        self.warnings
            .push(format!("agent {agent}: no program {program} in {}", looked.join(", ")));
        self.path
            .first()
            .map_or_else(|| Path::new("/nonexistent").join(program), |dir| dir.join(program))
    }
}

fn built_in(program: PathBuf, env: BTreeMap<String, secrecy::SecretString>) -> Agent {
    Agent {
        name: CLAUDE.to_owned(),
        kind: AgentKind::Claude,
        program,
        args: Vec::new(),
        model: None,
        turns: raw::agent_turns(),
        wall: minutes(raw::agent_minutes()),
        usd_per_run: None,
        billing: Billing::Metered,
        env,
    }
}

/// Variables that would change how the harness runs a child, or hand it a key of the harness.
fn reserved(variable: &str) -> bool {
    is_name(variable)
        && (variable.starts_with("TICK_")
            || variable.starts_with("LD_")
            || variable.starts_with("GIT_")
            || variable.starts_with("DYLD_")
            || matches!(
                variable,
                "PATH" | "HOME" | "GITHUB_TOKEN" | "SMTP_URL" | "HEARTBEAT_URL"
            ))
}
