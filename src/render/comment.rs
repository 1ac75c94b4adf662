//! Comments on our own pull requests: one a slot, found by its marker and edited in place.

use super::inert::{span, words};
use crate::model::{IncidentId, PullNumber, Sha};

/// One thing to say. Each kind has its own slot, so saying it again replaces what stood there.
#[derive(Debug, Clone, Copy)]
pub enum CommentWords<'a> {
    /// The signal is gone without our fix; the pull request is closed with this.
    Gone {
        expected: u64,
    },
    /// A later attempt stands on the branch.
    NewAttempt {
        n: u32,
        head: &'a Sha,
        why: &'a str,
    },
    /// Somebody pushed: the branch is theirs.
    Theirs {
        head: &'a Sha,
    },
    /// A sign says stop: which, and who set it.
    Stopped {
        sign: &'a str,
        by: Option<&'a str>,
    },
    /// The repository asks for a person.
    WaitsForReview {
        have: u32,
        want: u32,
    },
    Resolved {
        merge: &'a Sha,
        expected: u64,
    },
    TakenBack {
        by: PullNumber,
        why: &'a str,
    },
}

impl CommentWords<'_> {
    /// Name of the slot, also part of the effect's key.
    pub fn slot(&self) -> &'static str {
        match self {
            Self::Gone { .. } => "gone",
            Self::NewAttempt { .. } => "attempt",
            Self::Theirs { .. } => "theirs",
            Self::Stopped { .. } => "stopped",
            Self::WaitsForReview { .. } => "review",
            Self::Resolved { .. } => "resolved",
            Self::TakenBack { .. } => "taken-back",
        }
    }
}

/// The hidden first line.
pub fn comment_marker(incident: &IncidentId, slot: &str) -> String {
    format!("<!-- tick:comment={incident}/{slot} -->")
}

/// The whole comment; begins with its marker.
pub fn comment_body(incident: &IncidentId, comment: &CommentWords<'_>) -> String {
    let text = match comment {
        CommentWords::Gone { expected } => format!(
            "Closed: the failure is gone without this patch. 0 seen, {expected} were to be expected. Nothing is left to do."
        ),
        CommentWords::NewAttempt { n, head, why } => format!(
            "Attempt {n} stands on this branch now, at {}. The one before was not good enough: {}",
            span(head.short()),
            words(why)
        ),
        CommentWords::Theirs { head } => format!(
            "Somebody pushed {}: the branch is yours. tick does not push to it again and does not merge it. \
             `tick retry {incident} --keep-branch` proves and audits your commit.",
            span(head.short())
        ),
        CommentWords::Stopped { sign, by } => {
            let by = by.map(|b| format!(", set by {}", span(b))).unwrap_or_default();
            format!(
                "Stopped by {}{by}. Remove it and tick goes on at its next look.",
                span(sign)
            )
        }
        CommentWords::WaitsForReview { have, want } => format!(
            "The proof is green and the audit approves. The repository asks for a review first: {have} of {want} so far. \
             tick merges after it; nothing else is missing."
        ),
        CommentWords::Resolved { merge, expected } => format!(
            "Resolved: since {} went live 0 were seen, {expected} were to be expected.",
            span(merge.short())
        ),
        CommentWords::TakenBack { by, why } => format!(
            "Taken back by {by}: {} tick does not try this cause again by itself.",
            words(why)
        ),
    };
    format!("{}\n{text}\n", comment_marker(incident, comment.slot()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_begins_with_the_marker_of_its_slot() {
        let incident = IncidentId::parse("7f3a91c07f3a91c0-1").unwrap();
        let sha = Sha::parse(&"a".repeat(40)).unwrap();
        let body = comment_body(
            &incident,
            &CommentWords::Stopped {
                sign: "issue #12 labelled tick:pause",
                by: Some("@ann"),
            },
        );
        assert_eq!(
            body,
            "<!-- tick:comment=7f3a91c07f3a91c0-1/stopped -->\nStopped by `issue #12 labelled tick:pause`, set by `@ann`. \
             Remove it and tick goes on at its next look.\n"
        );
        let kinds = [
            CommentWords::Gone { expected: 3 },
            CommentWords::NewAttempt {
                n: 2,
                head: &sha,
                why: "fixes #1 @all",
            },
            CommentWords::Theirs { head: &sha },
            CommentWords::WaitsForReview { have: 0, want: 1 },
            CommentWords::Resolved {
                merge: &sha,
                expected: 19,
            },
            CommentWords::TakenBack {
                by: PullNumber(9),
                why: "closes GH-1",
            },
        ];
        let mut slots: Vec<&str> = kinds.iter().map(CommentWords::slot).collect();
        for kind in &kinds {
            let body = comment_body(&incident, kind);
            assert!(body.starts_with(&comment_marker(&incident, kind.slot())));
            assert!(!body.contains("fixes #1 @all") || body.contains("`fixes #1 @all`"));
            assert!(!body.contains("closes GH-1") || body.contains("`closes GH-1`"));
        }
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), kinds.len(), "one slot a kind");
    }
}
