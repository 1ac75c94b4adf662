//! `npm test` as far as it needs neither npm nor a shell: what is behind it is started itself.

use std::{fs, path::Path};

use super::{
    command::{Detected, detect},
    javascript,
};
use crate::config::CommandLine;

/// Replaces `npm test` and `npm run X` by what the base's package.json says, where that is one plain command of a
/// runner of JavaScript. Everything else stays as it is; `run_suite` then says that it cannot read it.
pub fn resolve(base: &Path, commands: &[CommandLine]) -> Vec<CommandLine> {
    let scripts = fs::read(base.join("package.json")).ok().and_then(|bytes| {
        let package: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        Some(package.get("scripts")?.clone())
    });
    let resolved = |command: &CommandLine| {
        let mut argv = npm_script(&command.argv, scripts.as_ref()?)?;
        // npm looks there first.
        let dependency = javascript::in_tree(&argv[0]);
        if base.join(&dependency).exists() {
            argv[0] = dependency;
        }
        Some(CommandLine {
            text: command.text.clone(),
            argv,
        })
    };
    commands
        .iter()
        .map(|command| resolved(command).unwrap_or_else(|| command.clone()))
        .collect()
}

fn npm_script(argv: &[String], scripts: &serde_json::Value) -> Option<Vec<String>> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let (name, rest) = match words.as_slice() {
        ["npm" | "yarn" | "pnpm", "test" | "t", rest @ ..] => ("test", rest),
        ["npm" | "yarn" | "pnpm", "run" | "run-script", name, rest @ ..] => (*name, rest),
        _ => return None,
    };
    let around = [format!("pre{name}"), format!("post{name}")];
    if around.iter().any(|script| scripts.get(script).is_some()) {
        return None;
    }
    let script = scripts.get(name)?.as_str()?;
    // npm hands the script to a shell. Only a text that a shell would leave as it is can be run without one.
    if script.contains(|c: char| "$&|;<>()*?[]{}`\\\n~#!".contains(c)) {
        return None;
    }
    let mut out = shell_words::split(script).ok()?;
    match rest {
        [] => {}
        ["--", more @ ..] => out.extend(more.iter().map(|&word| word.to_owned())),
        _ => return None,
    }
    matches!(
        detect(&out),
        Ok(Detected::Node { .. } | Detected::Script(_) | Detected::Check(_))
    )
    .then_some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(text: &str) -> Vec<String> {
        shell_words::split(text).unwrap()
    }

    #[test]
    fn npm_is_resolved_only_to_a_plain_command() {
        let scripts = json!({
            "test": "node --test test/", "shell": "node --test && echo x", "glob": "node --test test/*.js", "jest": "jest --ci",
            "lint": "eslint .",
            "hooked": "node --test", "prehooked": "touch x",
        });
        let resolved = |text: &str| npm_script(&line(text), &scripts);
        assert_eq!(resolved("npm test"), Some(line("node --test test/")));
        assert_eq!(
            resolved("npm run test -- --test-timeout=5"),
            Some(line("node --test test/ --test-timeout=5"))
        );
        assert_eq!(resolved("npm run jest"), Some(line("jest --ci")));
        assert_eq!(resolved("npm run lint"), Some(line("eslint .")));
        for text in [
            "npm run shell",
            "npm run glob",
            "npm run hooked",
            "npm run missing",
            "npm ci",
            "node --test",
        ] {
            assert_eq!(resolved(text), None, "{text}");
        }
    }
}
