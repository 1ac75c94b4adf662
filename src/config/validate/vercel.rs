//! Projects on Vercel.

use std::{path::PathBuf, time::Duration};

use super::Checks;
use crate::config::{
    VercelProject, VercelService,
    problem::{JsonPath, quote_str},
    raw,
};

const TOKEN: &str = "VERCEL_TOKEN";

impl Checks<'_> {
    pub(super) fn vercel_service(&mut self, raw: &raw::vercel::Service) -> VercelService {
        let at = JsonPath::default().key("vercel");
        VercelService {
            api: self.base(&raw.api, at.key("api"), "https://api.vercel.com"),
            web: self.base(&raw.web, at.key("web"), "https://vercel.com"),
        }
    }

    pub(super) fn vercel(&mut self, raw: &raw::vercel::Hosted, at: &JsonPath) -> VercelProject {
        let team = raw.team.as_ref();
        for (key, name, example) in [("project", Some(&raw.project), "\"web\""), ("team", team, "\"acme\"")] {
            if let Some(name) = name
                && !is_name(name)
            {
                let what = format!("{} is neither an id nor a name of Vercel's", quote_str(name));
                self.problem(at.key(key), what, example);
            }
        }
        self.secret(TOKEN, at.clone());
        VercelProject {
            project: raw.project.clone(),
            team: raw.team.clone(),
            logs: raw.logs,
            log_retention: Duration::from_secs(u64::from(raw.log_hours) * 3600),
            cli: raw.cli.as_ref().and_then(|name| self.cli(name, at.key("cli"))),
            variables: raw.variables,
            domains: raw.domains,
        }
    }

    /// One that is not there is missed only once the API gives no logs.
    fn cli(&mut self, name: &str, at: JsonPath) -> Option<PathBuf> {
        let path = PathBuf::from(name);
        if path.is_absolute() {
            return Some(path);
        }
        if name.is_empty() || name.contains('/') {
            let what = format!("{} is neither an absolute path nor a plain name", quote_str(name));
            self.problem(at, what, "\"vercel\"");
            return None;
        }
        let found = self.find_program(name);
        if found.is_none() {
            let what = format!("{at}: no program {name} in the search path, so the API alone is asked for logs");
            self.warnings.push(what);
        }
        found
    }
}

/// Letters, digits, and what else stands in ids, names and slugs.
fn is_name(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && !text.starts_with(['.', '-'])
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}
