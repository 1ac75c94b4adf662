//! A project on Vercel: which deployment serves, whether the newest for production failed and with which lines of its
//! build, what production logs, which variables were changed, when its domains end. Reads only, and never a value.

mod api;
mod build;
mod history;
mod program;
mod runtime;
mod shapes;
mod surroundings;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    context::{Blind, CacheEntry, Piece, Place, Session},
    deploys::{Deployment, Standing},
};
use crate::model::signal::OutcomeKind;
use api::{PAGE, Reader};
use shapes::{Listed, Project};

/// A project that never shows its live deployment on these pages has failed more often than is worth reading.
const MOST_PAGES: usize = 5;

/// What a look leaves for the next one.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Memory {
    /// Up to here production's logs are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    logs_until: Option<DateTime<Utc>>,
    /// Names of lines near that end, which the next answer shows again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    told: Vec<String>,
}

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>) -> Piece {
    let Some(project) = &place.target.vercel else {
        return place.piece(OutcomeKind::Skipped);
    };
    let reader = Reader { session, project };
    let mut piece = place.piece(OutcomeKind::Ok);
    let url = reader.url(&["v9", "projects", &project.project], &[]);
    let about: Project = match reader.get(&url, "project").await {
        Ok(about) => about,
        Err(blind) => {
            piece.settle(0, &[blind]);
            return piece;
        }
    };
    let facts = session.ctx.sources.get(&place.key());
    let known: Memory = facts
        .and_then(|facts| serde_json::from_str(facts.cursor.as_deref()?).ok())
        .unwrap_or_default();
    let mut look = Look {
        reader: &reader,
        place,
        about: &about,
        piece,
        blind: Vec::new(),
        read: 1,
    };
    let (list, logs, variables, domains) = tokio::join!(
        deployments(&reader, &about),
        runtime::read(&reader, &about, &known),
        surroundings::variables(&reader, &about),
        surroundings::domains(&reader, &about),
    );
    let list = look.deployments(list).await;
    let mut memory = Memory::default();
    look.logs(logs, &list, &known, &mut memory);
    look.variables(variables);
    look.domains(domains);
    let Look {
        mut piece, blind, read, ..
    } = look;
    piece.cursor = serde_json::to_string(&memory).ok();
    let also = std::mem::take(&mut piece.outcome.detail);
    piece.settle(read, &blind);
    if piece.outcome.detail.is_empty() {
        piece.outcome.detail = also;
    }
    piece
}

/// One look at one project, while it is put together.
struct Look<'a> {
    reader: &'a Reader<'a>,
    place: Place<'a>,
    about: &'a Project,
    piece: Piece,
    blind: Vec<Blind>,
    /// Entries that were read, the project among them.
    read: usize,
}

/// The reading of answers, for the fuzzer.
pub(super) fn fuzz(body: &[u8]) {
    let about = br#"{"id":"prj_x","targets":{"production":{"id":"dpl_a"}}}"#;
    drop(api::parse::<Project>(body, "project"));
    if let Ok(about) = api::parse::<Project>(about, "project")
        && let Ok(one) = api::parse::<Listed>(body, "deployment")
    {
        drop(one.read(&about));
    }
    drop(build::failing_lines(body));
    drop(runtime::lines(body));
    if let Ok(serde_json::Value::Array(rows)) = serde_json::from_slice(body) {
        drop(history::read_rows(&rows));
    }
}

/// The newest production deployments, up to the one that serves.
async fn deployments(reader: &Reader<'_>, about: &Project) -> Result<Vec<Listed>, Blind> {
    let query = [
        ("projectId", about.id.as_str()),
        ("target", "production"),
        ("limit", PAGE),
    ];
    let first = reader.url(&["v7", "deployments"], &query);
    let enough = |all: &[Listed]| match about.live() {
        Some(live) => all.iter().any(|one| one.uid == live),
        None => true,
    };
    reader.pages(first, MOST_PAGES, "deployments", enough).await
}

impl Look<'_> {
    /// What the deployments mean, with the build log of the newest one where it failed.
    async fn deployments(&mut self, list: Result<Vec<Listed>, Blind>) -> Vec<Deployment> {
        let session = self.reader.session;
        let listed = match list {
            Ok(listed) => listed,
            Err(blind) => {
                self.blind.push(blind);
                return Vec::new();
            }
        };
        // A deployment that a check or an alias refused was built well, and its log says nothing about that.
        let built: Vec<String> = listed
            .iter()
            .filter(|one| one.is_built())
            .map(|one| one.uid.clone())
            .collect();
        // The project names what serves; a list of another team's view is empty, and says nothing about this one.
        if let (true, Some(live)) = (listed.is_empty(), self.about.live()) {
            let why = format!(
                "the list of deployments is empty, though the project says that {} serves; check `team` and the scope of VERCEL_TOKEN",
                session.line(live, 80)
            );
            self.blind.push(Blind::new("empty", why));
            return Vec::new();
        }
        let mut list = Vec::new();
        let all = listed.len();
        for one in listed {
            match one.read(self.about) {
                Ok(one) => list.push(one),
                Err(blind) => {
                    let why = session.line(&blind.detail, 200);
                    self.blind.push(Blind::new(blind.cause, why));
                }
            }
        }
        self.read += list.len();
        // Of a list without the one that serves nobody can say when that began.
        let live = self.about.live();
        let whole = list.len() == all && live.is_none_or(|live| list.iter().any(|one| one.id == live));
        let standing = Standing::of(&list, session.ctx.now).whole(whole);
        let mut failing = String::new();
        if let Some(bad) = standing.failed().filter(|bad| !built.contains(&bad.id)) {
            match self.build_log(bad).await {
                Ok(lines) => failing = lines,
                Err(blind) => self.blind.push(blind),
            }
        }
        standing.tell(session, &self.place, &failing, &mut self.piece);
        list
    }

    /// A build that failed keeps its log: it is read once and kept, cleaned and redacted.
    async fn build_log(&self, bad: &Deployment) -> Result<String, Blind> {
        let session = self.reader.session;
        let query = [("builds", "1"), ("limit", "-1"), ("direction", "forward")];
        let url = self.reader.url(&["v3", "deployments", &bad.id, "events"], &query);
        let key = format!("log {url}");
        if let Some(known) = session.ctx.cache.get(&key) {
            return Ok(String::from_utf8_lossy(&known.body).into_owned());
        }
        let lines = build::failing_lines(&self.reader.body(&url).await?)?;
        let lines = session.text(&lines, 16 * 1024);
        let entry = CacheEntry {
            etag: bad.id.clone(),
            link: None,
            body: lines.clone().into_bytes(),
        };
        session.ctx.cache.put(&key, entry);
        Ok(lines)
    }
}

#[cfg(test)]
mod tests;
