//! Who repairs in a rehearsal: the program that was asked for, and what it may see of the caller's environment.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    config::env::Environment,
    exit::{Exit, Fault},
};

/// What the agent's program may see of the caller's environment, where it is set.
const CLAUDE_ENV: [&str; 5] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "CLAUDE_CODE_OAUTH_TOKEN",
];

/// The agent as the config of the world's home defines it.
pub(super) struct Agent {
    pub(super) name: String,
    /// For people.
    pub(super) shown: String,
    pub(super) definition: Value,
    pub(super) env: Vec<(String, String)>,
}

pub(super) fn find(env: &Environment, program: &str) -> Option<PathBuf> {
    env.path()
        .iter()
        .map(|dir| dir.join(program))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

pub(super) fn agent(text: &str, env: &Environment) -> Result<Agent> {
    let usage = |message: String| Fault::new(Exit::Usage, message).advise("--agent claude, or --agent command:PATH");
    if let Some(path) = text.strip_prefix("command:") {
        let program = Path::new(path).canonicalize().ok().filter(|file| is_program(file));
        let Some(program) = program else {
            return Err(usage(format!("--agent: {path} is no program that can be run")).into());
        };
        return Ok(Agent {
            name: "own".to_owned(),
            shown: program.display().to_string(),
            definition: json!({ "kind": "command", "program": program, "billing": "plan" }),
            env: Vec::new(),
        });
    }
    let program = match text.strip_prefix("claude:") {
        Some(path) => Path::new(path).canonicalize().ok().filter(|file| is_program(file)),
        None if text == "claude" => find(env, "claude"),
        None => return Err(usage(format!("--agent: {text:?} is not known")).into()),
    };
    let Some(program) = program else {
        let fault = Fault::new(Exit::CouldNot, "--agent claude: PATH has no program claude");
        return Err(fault.advise("install Claude Code, or use --agent command:PATH").into());
    };
    let given: BTreeMap<&str, &str> = CLAUDE_ENV
        .iter()
        .filter_map(|name| Some((*name, env.get(name)?)))
        .collect();
    if !given
        .keys()
        .any(|name| name.ends_with("_KEY") || name.ends_with("_TOKEN"))
    {
        let fault = Fault::new(
            Exit::Config,
            "--agent claude: no key is set, and an agent sees no login of yours",
        );
        return Err(fault.advise("set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN").into());
    }
    let names: Vec<&&str> = given.keys().collect();
    Ok(Agent {
        name: "claude".to_owned(),
        shown: "claude".to_owned(),
        definition: json!({ "kind": "claude", "program": program, "env": names }),
        env: given
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_a_program_that_is_there() {
        let env = Environment::new([("PATH", "/nonexistent")]);
        let refused = |text: &str| match agent(text, &env) {
            Ok(_) => panic!("{text} is taken"),
            Err(error) => error.downcast::<Fault>().unwrap().exit,
        };
        assert_eq!(refused("codex"), Exit::Usage);
        assert_eq!(refused("command:/nonexistent/agent"), Exit::Usage);
        assert_eq!(refused("claude"), Exit::CouldNot);
        assert_eq!(refused("claude:/bin/sh"), Exit::Config);
        let shell = agent("command:/bin/sh", &env).unwrap();
        assert_eq!(shell.definition["kind"], "command");
        assert!(Path::new(shell.definition["program"].as_str().unwrap()).is_absolute());
    }
}
