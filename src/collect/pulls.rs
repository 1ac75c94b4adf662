//! Open pull requests, so that work of people is not done twice. Reads the list only.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::{
    context::{Blind, Piece, Place, Session},
    github::Reader,
};
use crate::model::{
    PullNumber,
    signal::{OpenPull, OutcomeKind},
};

const MOST_PAGES: usize = 5;
/// Branches of ours start with this; their pull requests are known better from the ledger.
const OURS: &str = "fix/auto-";

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>) -> Piece {
    let Some(reader) = Reader::new(session, place.repo) else {
        return place.piece(OutcomeKind::Skipped);
    };
    let query = [
        ("state", "open"),
        ("sort", "updated"),
        ("direction", "desc"),
        ("per_page", "100"),
    ];
    let mut pulls = Vec::new();
    let read = reader
        .pages(reader.url(&["pulls"], &query), MOST_PAGES, |body| {
            pulls.extend(parse(body)?);
            Ok(())
        })
        .await;
    let mut piece = place.piece(OutcomeKind::Ok);
    let blind: Vec<Blind> = read.err().into_iter().collect();
    piece.settle(pulls.len(), &blind);
    let ends = reader.token_ends();
    piece.changes = ends
        .map(|at| place.expiry("token", "GITHUB_TOKEN", at))
        .into_iter()
        .collect();
    let own = reader.repo.to_string();
    piece.open_pulls = pulls
        .into_iter()
        .filter(|pull| !(pull.head.name.starts_with(OURS) && pull.head.is_in(&own)))
        .map(|pull| pull.into_open(session, &place))
        .collect();
    piece
}

fn parse(body: &[u8]) -> Result<Vec<Listed>, Blind> {
    serde_json::from_slice(body).map_err(|error| Blind::new("shape", format!("the list of pull requests: {error}")))
}

/// The reading of a list, for the fuzzer.
pub(super) fn fuzz(body: &[u8]) {
    drop(parse(body));
}

/// The fields that are needed; everything else may come and go.
#[derive(Debug, Deserialize)]
struct Listed {
    number: u64,
    #[serde(default)]
    title: String,
    #[serde(default)]
    draft: bool,
    user: Option<User>,
    head: Head,
    updated_at: DateTime<Utc>,
}

#[derive(Debug, Deserialize)]
struct User {
    login: String,
    #[serde(default, rename = "type")]
    kind: String,
}

#[derive(Debug, Deserialize)]
struct Head {
    #[serde(rename = "ref")]
    name: String,
    /// Gone with a deleted fork.
    repo: Option<HeadRepo>,
}

#[derive(Debug, Deserialize)]
struct HeadRepo {
    full_name: String,
}

impl Head {
    fn is_in(&self, repo: &str) -> bool {
        self.repo
            .as_ref()
            .is_some_and(|head| head.full_name.eq_ignore_ascii_case(repo))
    }
}

impl Listed {
    fn into_open(self, session: &Session<'_>, place: &Place<'_>) -> OpenPull {
        let (login, kind) = match self.user {
            Some(user) => (user.login, user.kind),
            None => ("ghost".to_owned(), String::new()),
        };
        OpenPull {
            repo: place.repo.slot.clone(),
            number: PullNumber(self.number),
            title: session.line(&self.title, 200),
            bot: kind == "Bot" || login.ends_with("[bot]"),
            author: session.line(&login, 60),
            draft: self.draft,
            head_ref: session.line(&self.head.name, 120),
            updated_at: self.updated_at,
        }
    }
}
