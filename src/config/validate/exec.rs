//! Programs of the owner's: which file of `collectors/` it is, what it is given, what it may read.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration};

use secrecy::SecretString;

use super::{Checks, minutes};
use crate::{
    config::{
        ExecCheck,
        env::is_name,
        problem::{JsonPath, quote_str},
        raw,
    },
    model::Slot,
};

/// What every child gets from tick itself.
pub(super) const OURS: [&str; 7] = ["PATH", "HOME", "TMPDIR", "LANG", "TZ", "TERM", "TICK_RUN_ID"];

impl Checks<'_> {
    pub(super) fn exec(&mut self, raw: &BTreeMap<String, raw::Exec>, at: &JsonPath) -> Vec<ExecCheck> {
        let mut checks = Vec::new();
        for (name, raw) in raw {
            let here = at.key(name);
            if Slot::parse(name).is_err() {
                let what = format!(
                    "{} is not a name (lower-case letters, digits, - and _)",
                    quote_str(name)
                );
                self.problem(here.clone(), what, "disk");
            }
            let env = self.exec_env(&raw.env, &here.key("env"));
            let read = self.exec_read(&raw.read, &here.key("read"));
            let Some(program) = self.exec_program(&raw.program, here.key("program")) else {
                continue;
            };
            checks.push(ExecCheck {
                name: name.clone(),
                program,
                args: raw.args.clone(),
                output: raw.output,
                every: raw.every_minutes.map(minutes),
                timeout: Duration::from_secs(raw.timeout_seconds.into()),
                env,
                read,
            });
        }
        checks
    }

    fn exec_program(&mut self, name: &str, at: JsonPath) -> Option<PathBuf> {
        let example = "\"check_disk\", a file or link in collectors/ of the home";
        if name.is_empty() || name.contains(['/', '\0']) || name.starts_with('.') {
            let what = format!("{} is not the name of a file in collectors/", quote_str(name));
            self.problem(at, what, example);
            return None;
        }
        let file = self.context.home.collectors.join(name);
        // A package that was removed or upgraded makes this one check blind, not tick: the rest must go on.
        let missing = match std::fs::metadata(&file) {
            Err(error) => Some(format!("cannot be read: {error}")),
            Ok(meta) if !meta.is_file() => Some("is no file".to_owned()),
            Ok(meta) if meta.permissions().mode() & 0o111 == 0 => {
                Some(format!("is not executable: chmod u+x {}", file.display()))
            }
            Ok(_) => None,
        };
        if let Some(why) = missing {
            self.warnings.push(format!("{at}: collectors/{name} {why}"));
        }
        // Started as what the link names: plugins look for their parts beside themselves, or go by their own name.
        let named = std::fs::read_link(&file).map(|to| self.context.home.collectors.join(to));
        Some(named.unwrap_or(file))
    }

    fn exec_env(&mut self, raw: &BTreeMap<String, String>, at: &JsonPath) -> Vec<(String, SecretString)> {
        let mut env = Vec::new();
        for (name, variable) in raw {
            if !is_name(name) || OURS.contains(&name.as_str()) {
                let what = format!("{} is not a variable that a program can be given", quote_str(name));
                self.problem(at.key(name), what, "PGPASSWORD");
            }
            if let Some(value) = self.secret(variable, at.key(name)) {
                env.push((name.clone(), value));
            }
        }
        env
    }

    fn exec_read(&mut self, raw: &[String], at: &JsonPath) -> Vec<PathBuf> {
        let mut read = Vec::new();
        for (n, path) in raw.iter().enumerate() {
            let place = PathBuf::from(path);
            if !place.is_absolute() {
                let what = format!("{} is not an absolute path", quote_str(path));
                self.problem(at.index(n), what, "\"/var/lib/shop\"");
            }
            read.push(place);
        }
        read
    }
}
