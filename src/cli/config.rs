//! `tick config schema | check | explain PATH`.

use std::io::Write;

use clap::Subcommand;

use super::Global;
use crate::{
    config::{
        Config,
        load::{LoadError, Sources, load},
        problem::{JsonPath, Step},
        schema,
    },
    exit::{Exit, Fault},
    render,
    steps::{check, equipped},
};

#[derive(Debug, Clone, Subcommand)]
pub enum ConfigVerb {
    /// Print the JSON Schema of config.json
    Schema,
    /// Check config.json, .env and their owners; tells all problems at once
    Check,
    /// Say what a key means, its default, and what it is now
    Explain {
        /// Such as `limits.usd_per_day` or `repos.web.health[0].url`
        #[arg(value_name = "PATH")]
        path: String,
    },
}

pub fn run(verb: &ConfigVerb, global: &Global, out: &mut dyn Write) -> anyhow::Result<Exit> {
    match verb {
        ConfigVerb::Schema => writeln!(out, "{}", serde_json::to_string_pretty(schema::schema())?)?,
        ConfigVerb::Check => {
            let config = load_config(global)?;
            let problems = check::files(&config, global.clock().now());
            if !problems.is_empty() {
                let file = config.home.config_file.clone();
                return Err(Fault::from(LoadError::Wrong { file, problems }).into());
            }
            out.write_all(render::config::checked(&summary(&config)).as_bytes())?;
        }
        ConfigVerb::Explain { path } => {
            let unknown =
                || Fault::new(Exit::Usage, format!("no key {path:?}")).advise("tick config schema lists all keys");
            // As the README spells keys: `*` for any name, `[]` for any element.
            let pattern = path.contains('*') || path.contains("[]");
            let parsed = JsonPath::parse(&path.replace("[]", "[0]")).ok_or_else(unknown)?;
            let explained = schema::explain(&parsed).ok_or_else(unknown)?;
            let current = if pattern {
                render::config::Current::Many
            } else {
                current_value(&parsed, global).map_or(render::config::Current::NotSet, render::config::Current::Set)
            };
            out.write_all(render::config::explain(path, &explained, &current).as_bytes())?;
        }
    }
    Ok(Exit::Ok)
}

/// The config of this process's home, as every verb loads it.
pub fn load_config(global: &Global) -> Result<Config, Fault> {
    Ok(load(Sources::of_process(global.home.as_deref())?)?)
}

fn summary(config: &Config) -> render::config::Checked {
    render::config::Checked {
        file: config.home.config_file.display().to_string(),
        repos: config
            .repos
            .values()
            .map(|repo| {
                let probes: usize = repo
                    .targets
                    .iter()
                    .map(|t| {
                        let platforms = usize::from(t.vercel.is_some()) + usize::from(t.railway.is_some());
                        t.health.len() + t.jsonrpc.len() + t.declared.len() + t.logs.len() + t.exec.len() + platforms
                    })
                    .sum();
                let (rung, missing) = equipped(config, repo);
                let lacks = missing.first().filter(|_| rung < repo.mode);
                let lacks = lacks.map(|why| format!("works as {}: {why}", rung.word()));
                (repo.slot.to_string(), repo.mode.word().to_owned(), probes, lacks)
            })
            .collect(),
        warnings: config.warnings.clone(),
    }
}

/// What the file says now; `None` where there is no file or no such key. The file holds no secrets.
fn current_value(path: &JsonPath, global: &Global) -> Option<serde_json::Value> {
    let file = load_config(global).ok()?.home.config_file;
    let value = crate::config::load::file_value(&file)?;
    path.0
        .iter()
        .try_fold(&value, |at, step| match step {
            Step::Key(key) => at.get(key),
            Step::Index(index) => at.get(index),
        })
        .cloned()
}
