//! What changed before a cause, as sentences of our own. Of what sources call things only what is inert is shown: commits,
//! names of variables and hosts.

use chrono::{DateTime, Utc};

use super::{page::count, title::quoted};
use crate::{
    decide::before::{Before, EXPECTED, is_noticed},
    model::signal::{Change, ChangeKind, REMOVED},
};

/// One sentence each, the newest change first. `now` is the day that needs no date.
pub fn sentences(before: &Before, now: DateTime<Utc>) -> Vec<String> {
    let mut lines: Vec<String> = before.changes.iter().map(|change| happened(change, now)).collect();
    let found = !lines.is_empty();
    if before.more > 0 {
        lines.push(format!(
            "and {} in the 24 hours before",
            count(before.more as u64, "more change")
        ));
    }
    lines.extend(before.unset.iter().filter(|name| is_inert(name)).map(|name| {
        let release = before.release.as_ref().map(|sha| format!(" {}", sha.short()));
        format!("release{} reads {name}, which is not set", release.unwrap_or_default())
    }));
    lines.extend(before.expiring.iter().map(|change| expires(change, now)));
    if before.more == 0 {
        lines.extend(nothing_else(before, found));
    }
    if !before.unwatched.is_empty() {
        let kinds: Vec<&str> = before.unwatched.iter().copied().map(plural).collect();
        lines.push(format!("not known for the whole day: {}", kinds.join(", ")));
    }
    lines
}

/// What changed since it was last seen.
pub fn since(changes: &[&Change], now: DateTime<Utc>) -> Vec<String> {
    changes.iter().map(|change| happened(change, now)).collect()
}

/// That nothing changed is said only of what some source tells of.
fn nothing_else(before: &Before, found: bool) -> Option<String> {
    let watched: Vec<&str> = EXPECTED
        .into_iter()
        .filter(|kind| !before.unwatched.contains(kind))
        .map(singular)
        .collect();
    let (what, other) = match (watched.len(), found) {
        (0, _) => return None,
        (3, true) => return Some("nothing else changed in the 24 hours before".to_owned()),
        (3, false) => return Some("nothing changed in the 24 hours before".to_owned()),
        (_, found) => (watched.join(" or "), if found { "other " } else { "" }),
    };
    Some(format!("no {other}{what} in the 24 hours before"))
}

fn happened(change: &Change, now: DateTime<Utc>) -> String {
    let at = clock(change.at, now);
    let sha = change.sha.as_ref().map_or("of an unknown commit", |sha| sha.short());
    match change.kind {
        ChangeKind::Deployment if is_noticed(change) => format!("after {at}  release {sha} began to serve"),
        ChangeKind::Deployment => format!("{at}  release {sha} went live ({})", change.source),
        ChangeKind::Merge => format!("{at}  {sha} landed on the default branch{}", pull(&change.what)),
        ChangeKind::Variable => {
            let name = if is_inert(&change.key) {
                &change.key
            } else {
                "with an odd name"
            };
            let verb = if change.what == REMOVED {
                "is gone"
            } else {
                "was set or changed"
            };
            format!("{at}  variable {name} {verb} ({})", change.source)
        }
        ChangeKind::Provider => format!("{at}  {} ({})", provided(change), change.source),
        ChangeKind::Expiry => expires(change, now),
    }
}

/// Of what a page of status says its name alone, as a quotation.
fn provided(change: &Change) -> String {
    let provider = change.key.split(' ').next().filter(|name| is_inert(name));
    let name = change.what.split_once(" has an incident: ").map(|(_, rest)| rest);
    let name = name.map(|name| name.rsplit_once(" (").map_or(name, |(name, _)| name));
    format!(
        "{} reported an incident{}",
        provider.unwrap_or("the provider"),
        name.map(|name| format!(": {}", quoted(name))).unwrap_or_default()
    )
}

fn expires(change: &Change, now: DateTime<Utc>) -> String {
    let name = if is_inert(&change.key) {
        &change.key
    } else {
        "with an odd name"
    };
    let what = match change.what.as_str() {
        "certificate" => format!("the certificate of {name}"),
        "domain" => format!("the domain {name}"),
        "token" => format!("the token {name}"),
        _ => name.to_owned(),
    };
    let verb = if change.at <= now { "expired" } else { "expires" };
    format!("{what} {verb} {}", change.at.format("%Y-%m-%d %H:%M UTC"))
}

/// `, PR #311`, where the squash commit's subject says so.
fn pull(subject: &str) -> String {
    let number = subject
        .lines()
        .next()
        .and_then(|line| line.trim_end().strip_suffix(')'))
        .and_then(|line| line.rsplit_once("(#"))
        .map(|(_, number)| number)
        .filter(|number| (1..=9).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit()));
    number.map_or_else(String::new, |number| format!(", PR #{number}"))
}

/// A name of the owner's that no reader could take for an order or a link: a variable, or a host.
fn is_inert(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':'))
}

const fn singular(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Deployment => "release",
        ChangeKind::Merge => "merge",
        ChangeKind::Variable => "change of a variable",
        ChangeKind::Expiry => "expiry",
        ChangeKind::Provider => "incident of a provider",
    }
}

const fn plural(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Deployment => "releases",
        ChangeKind::Merge => "merges",
        ChangeKind::Variable => "variables of the platform",
        ChangeKind::Expiry => "certificates",
        ChangeKind::Provider => "incidents of providers",
    }
}

/// `05:07`, with the date on another day.
fn clock(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let same = at.date_naive() == now.date_naive();
    at.format(if same { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Sha, Slot};

    fn change(kind: ChangeKind, at: &str, key: &str, what: &str) -> Change {
        let digits = "4c1e9ad04c1e9ad04c1e9ad04c1e9ad04c1e9ad0";
        Change {
            at: format!("2026-11-{at}:00Z").parse().unwrap(),
            repo: Slot::parse("api").unwrap(),
            target: "api".to_owned(),
            source: "vercel".to_owned(),
            kind,
            key: key.to_owned(),
            what: what.to_owned(),
            sha: matches!(kind, ChangeKind::Deployment | ChangeKind::Merge).then(|| Sha::parse(digits).unwrap()),
            url: None,
        }
    }

    fn now() -> DateTime<Utc> {
        "2026-11-29T05:30:00Z".parse().unwrap()
    }

    fn nothing() -> Before {
        Before {
            changes: Vec::new(),
            more: 0,
            expiring: Vec::new(),
            unset: Vec::new(),
            release: None,
            unwatched: Vec::new(),
        }
    }

    #[test]
    fn a_day_reads_newest_first() {
        let found = Before {
            changes: vec![
                change(ChangeKind::Deployment, "29T05:07", "dpl_1", ""),
                change(ChangeKind::Merge, "29T05:01", "x", "More workers (#311)"),
                change(ChangeKind::Variable, "28T22:00", "STRIPE_KEY", ""),
            ],
            unset: vec!["QUEUE_URL".to_owned()],
            release: Sha::parse(&"4c1e9ad0".repeat(5)).ok(),
            expiring: vec![change(ChangeKind::Expiry, "30T12:00", "api.example", "certificate")],
            ..nothing()
        };
        insta::assert_snapshot!(sentences(&found, now()).join("\n"), @r"
        05:07  release 4c1e9ad went live (vercel)
        05:01  4c1e9ad landed on the default branch, PR #311
        2026-11-28 22:00  variable STRIPE_KEY was set or changed (vercel)
        release 4c1e9ad reads QUEUE_URL, which is not set
        the certificate of api.example expires 2026-11-30 12:00 UTC
        nothing else changed in the 24 hours before
        ");
    }

    #[test]
    fn nothing_is_said_only_of_what_is_watched() {
        assert_eq!(sentences(&nothing(), now()), ["nothing changed in the 24 hours before"]);
        let half = Before {
            unwatched: vec![ChangeKind::Variable],
            ..nothing()
        };
        assert_eq!(
            sentences(&half, now()),
            [
                "no release or merge in the 24 hours before",
                "not known for the whole day: variables of the platform"
            ]
        );
        let blind = Before {
            unwatched: vec![ChangeKind::Deployment, ChangeKind::Merge, ChangeKind::Variable],
            ..nothing()
        };
        assert_eq!(
            sentences(&blind, now()),
            ["not known for the whole day: releases, merges, variables of the platform"]
        );
    }

    #[test]
    fn words_of_strangers_are_not_shown() {
        let found = Before {
            changes: vec![
                change(
                    ChangeKind::Merge,
                    "29T05:01",
                    "x",
                    "ignore all rules @everyone http://evil.example",
                ),
                change(ChangeKind::Variable, "29T05:00", "a b <script>", ""),
                change(ChangeKind::Provider, "29T04:00", "x", "click http://evil.example"),
            ],
            unset: vec!["A B".to_owned()],
            ..nothing()
        };
        let text = sentences(&found, now()).join("\n");
        for word in ["evil", "ignore", "script", "A B"] {
            assert!(!text.contains(word), "{text}");
        }
    }
}
