//! What production on Vercel stands on beside its code: variables by their names, domains by their ends.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::{
    super::{context::Blind, deploys::RECENT, domains},
    Look,
    api::{PAGE, Reader},
    shapes::{AccountDomain, Project, ProjectDomain, Variable},
};
use crate::model::signal::{Change, ChangeKind, Severity};

const MOST_PAGES: usize = 10;

/// A domain that production is reached by.
#[derive(Debug)]
pub(super) struct Domain {
    name: String,
    verified: bool,
    expires_at: Option<DateTime<Utc>>,
    renew: bool,
}

/// None: the config wants none.
pub(super) async fn variables(reader: &Reader<'_>, about: &Project) -> Option<Result<Vec<Variable>, Blind>> {
    reader.project.variables.then_some(())?;
    // Without `decrypt`, so that no value is sent that need not be.
    let url = reader.url(&["v10", "projects", &about.id, "env"], &[]);
    Some(reader.pages(url, MOST_PAGES, "variables", |_| false).await)
}

/// None: the config wants none.
pub(super) async fn domains(reader: &Reader<'_>, about: &Project) -> Option<Result<Vec<Domain>, Blind>> {
    reader.project.domains.then_some(())?;
    Some(read_domains(reader, about).await)
}

async fn read_domains(reader: &Reader<'_>, about: &Project) -> Result<Vec<Domain>, Blind> {
    let query = [("production", "true"), ("limit", PAGE)];
    let url = reader.url(&["v9", "projects", &about.id, "domains"], &query);
    let served: Vec<ProjectDomain> = reader.pages(url, MOST_PAGES, "domains", |_| false).await?;
    let own: BTreeSet<&str> = served.iter().map(|domain| domain.apex_name.as_str()).collect();
    let mut bought = BTreeMap::new();
    // What Vercel gives to every project is no domain of anybody's.
    if own.iter().any(|apex| *apex != "vercel.app") {
        let url = reader.url(&["v5", "domains"], &[("limit", PAGE)]);
        let all: Vec<AccountDomain> = reader
            .pages(url, MOST_PAGES, "domains of the account", |_| false)
            .await?;
        bought = all.into_iter().map(|domain| (domain.name.clone(), domain)).collect();
    }
    let known = |served: &ProjectDomain| {
        let account = bought.get(&served.apex_name);
        Domain {
            name: served.name.clone(),
            verified: served.verified != Some(false),
            expires_at: account.and_then(|account| account.expires_at),
            renew: account.is_some_and(|account| account.renew == Some(true)),
        }
    };
    Ok(served.iter().map(known).collect())
}

impl Look<'_> {
    /// Which variables production reads, by their names, and which of them were set or changed of late.
    pub(super) fn variables(&mut self, variables: Option<Result<Vec<Variable>, Blind>>) {
        let list = match variables {
            None => return,
            Some(Ok(list)) => list,
            Some(Err(blind)) => return self.blind.push(blind),
        };
        self.read += list.len();
        let now = self.reader.session.ctx.now;
        let mut names = BTreeSet::new();
        for variable in list.iter().filter(|variable| variable.is_of_production()) {
            let name = self.reader.session.line(&variable.key, 100);
            let at = variable.updated_at.or(variable.created_at);
            if let Some(at) = at.filter(|at| *at >= now - RECENT) {
                self.piece.changes.push(Change {
                    at,
                    repo: self.place.repo.slot.clone(),
                    target: self.place.name.to_owned(),
                    source: self.place.collector.to_owned(),
                    kind: ChangeKind::Variable,
                    key: name.clone(),
                    what: String::new(),
                    sha: None,
                    url: None,
                });
            }
            names.insert(name);
        }
        self.piece.outcome.told.insert(ChangeKind::Variable);
        self.piece.outcome.variables = Some(names);
    }

    /// Domains that end soon and are not renewed by themselves, or do not lead here any more.
    pub(super) fn domains(&mut self, domains: Option<Result<Vec<Domain>, Blind>>) {
        let list = match domains {
            None => return,
            Some(Ok(list)) => list,
            Some(Err(blind)) => return self.blind.push(blind),
        };
        self.read += list.len();
        let session = self.reader.session;
        let now = session.ctx.now;
        for domain in list {
            let name = session.line(&domain.name, 120);
            if !domain.verified {
                let title = format!("the domain {name} is not verified, so it does not lead to this project");
                let alert = domains::alert(&self.place, now, &name, "unverified", Severity::Error, title);
                self.piece.signals.push(alert);
            }
            if let Some(end) = domain.expires_at {
                domains::tell(&mut self.piece, &self.place, now, &name, end, domain.renew);
            }
        }
    }
}
