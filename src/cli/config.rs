//! `tick config schema | check | explain PATH`.

use std::io::Write;

use clap::Subcommand;

use super::Global;
use crate::{
    config::{
        Config, Target,
        load::{LoadError, Purpose, Sources, load, load_with_problems},
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
            let sources = Sources::of_process(global.home.as_deref())?;
            let (config, problems) = load_with_problems(sources, Purpose::Run).map_err(Fault::from)?;
            let files = check::beside(&problems, check::files(&config, global.clock().now()));
            if !problems.is_empty() {
                let (file, problems) = (config.home.config_file, [problems, files].concat());
                return Err(Fault::from(LoadError::Wrong { file, problems }).into());
            }
            if !files.is_empty() {
                let file = config.home.config_file.display().to_string();
                return Err(Fault::new(Exit::Blind, render::config::blind_with(&file, &files)).into());
            }
            out.write_all(render::config::checked(&summary(&config)).as_bytes())?;
        }
        ConfigVerb::Explain { path } => {
            let unknown = || {
                let fault = Fault::new(Exit::Usage, format!("no key {path:?}"));
                fault.advise(render::config::keys_near(schema::near(path).as_ref()))
            };
            // As the README spells keys: `*` for any name, `[]` for any element.
            let pattern = path.contains('*') || path.contains("[]");
            let parsed = JsonPath::parse(&path.replace("[]", "[0]")).ok_or_else(unknown)?;
            let explained = schema::explain(&parsed).ok_or_else(unknown)?;
            let current = if pattern {
                render::config::Current::Many
            } else {
                let default = explained.default.clone().filter(|value| !value.is_null());
                let default = default.map_or(render::config::Current::NotSet, render::config::Current::Default);
                current_value(&parsed, global).map_or(default, render::config::Current::Set)
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
                let all = |n: &dyn Fn(&Target) -> usize| repo.targets.iter().map(n).sum();
                let sources = vec![
                    ("github", usize::from(repo.github.is_some())),
                    ("health", all(&|t| t.health.len())),
                    ("jsonrpc", all(&|t| t.jsonrpc.len())),
                    ("logs", all(&|t| t.logs.len())),
                    ("exec", all(&|t| t.exec.len())),
                    ("collectors", all(&|t| t.declared.len())),
                    ("vercel", all(&|t| usize::from(t.vercel.is_some()))),
                    ("railway", all(&|t| usize::from(t.railway.is_some()))),
                    ("domains", all(&|t| t.domains.len())),
                ];
                let (rung, missing) = equipped(config, repo);
                let lacks = missing.first().filter(|_| rung < repo.mode);
                let lacks = lacks.map(|why| format!("works as {}: {why}", rung.word()));
                (repo.slot.to_string(), repo.mode.word().to_owned(), sources, lacks)
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
