//! What landed on the default branch within the last day. Follows first parents: what a merge brought along is part of
//! it, and says nothing about when it landed.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use super::{
    super::{
        context::{Blind, Place, Session},
        github::Reader,
    },
    wire::parse,
};
use crate::model::{
    Sha,
    past::Landed,
    signal::{Change, ChangeKind},
};

/// As far back as an alert tells what changed before it.
const BACK: TimeDelta = TimeDelta::hours(24);
/// One page of a stable address: while nothing lands, the answer is "not modified".
const PAGE: &str = "50";

#[derive(Debug, Deserialize)]
struct Listed {
    sha: String,
    commit: Commit,
    #[serde(default)]
    html_url: Option<String>,
    #[serde(default)]
    parents: Vec<Parent>,
}

#[derive(Debug, Deserialize)]
struct Commit {
    #[serde(default)]
    message: String,
    #[serde(default)]
    committer: Option<Person>,
}

#[derive(Debug, Deserialize)]
struct Person {
    #[serde(default)]
    date: Option<DateTime<Utc>>,
}

#[derive(Debug, Deserialize)]
struct Parent {
    sha: String,
}

/// A token without the right to read the contents still sees whether CI is red; an empty repository has no commits.
/// None: they could not be read, which is not that nothing landed.
pub(super) async fn landed(
    session: &Session<'_>,
    place: &Place<'_>,
    reader: &Reader<'_>,
    branch: &str,
) -> Result<Option<Vec<Change>>, Blind> {
    let url = reader.url(&["commits"], &[("sha", branch), ("per_page", PAGE)]);
    let page = match reader.page(&url).await {
        Ok(page) => page,
        Err(blind) if matches!(blind.cause.as_str(), "http-403" | "http-404" | "http-409") => return Ok(None),
        Err(blind) => return Err(blind),
    };
    let listed: Vec<Listed> = parse(&page.body, "commits")?;
    let landed = first_parents(&listed)
        .filter_map(|commit| change(session, place, commit))
        .filter(|change| session.ctx.now - change.at <= BACK);
    Ok(Some(landed.collect()))
}

/// The newest commits of the branch along first parents, from some pages.
pub(super) async fn lately(
    session: &Session<'_>,
    reader: &Reader<'_>,
    branch: &str,
    pages: usize,
) -> Result<Vec<Landed>, Blind> {
    let mut listed: Vec<Listed> = Vec::new();
    let url = reader.url(&["commits"], &[("sha", branch), ("per_page", "100")]);
    reader
        .pages(url, pages, |body| {
            listed.extend(parse::<Vec<Listed>>(body, "commits")?);
            Ok(())
        })
        .await?;
    let landed = first_parents(&listed).filter_map(|commit| {
        Some(Landed {
            sha: Sha::parse(&commit.sha).ok()?,
            title: title(session, commit),
        })
    });
    Ok(landed.collect())
}

fn first_parents(listed: &[Listed]) -> impl Iterator<Item = &Listed> {
    let next = |commit: &&Listed| {
        let parent = commit.parents.first()?;
        listed.iter().find(|other| other.sha == parent.sha)
    };
    std::iter::successors(listed.first(), next).take(listed.len())
}

fn change(session: &Session<'_>, place: &Place<'_>, commit: &Listed) -> Option<Change> {
    let sha = Sha::parse(&commit.sha).ok()?;
    Some(Change {
        at: commit.commit.committer.as_ref()?.date?,
        repo: place.repo.slot.clone(),
        target: place.name.to_owned(),
        source: place.collector.to_owned(),
        kind: ChangeKind::Merge,
        key: sha.to_string(),
        what: title(session, commit),
        sha: Some(sha),
        url: commit.html_url.as_ref().map(|url| session.line(url, 300)),
    })
}

fn title(session: &Session<'_>, commit: &Listed) -> String {
    session.line(commit.commit.message.lines().next().unwrap_or_default(), 120)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_merge_brought_along_is_part_of_it() {
        let commit = |sha: &str, parents: &[&str]| Listed {
            sha: sha.to_owned(),
            commit: Commit {
                message: String::new(),
                committer: None,
            },
            html_url: None,
            parents: parents.iter().map(|sha| Parent { sha: (*sha).to_owned() }).collect(),
        };
        let listed = [
            commit("d", &["a", "c"]),
            commit("c", &["b"]),
            commit("b", &["a"]),
            commit("a", &["a"]),
        ];
        let found: Vec<&str> = first_parents(&listed).map(|commit| commit.sha.as_str()).collect();
        // A commit that names itself as its parent does not go on for ever.
        assert_eq!(found[..2], ["d", "a"]);
        assert!(found.len() <= listed.len());
    }
}
