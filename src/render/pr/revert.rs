//! The pull request that takes our own merge back.

use super::{IncidentId, Marker, Page, PullNumber, Sha, span, words};

#[derive(Debug, Clone, Copy)]
pub struct RevertWords<'a> {
    pub incident: &'a IncidentId,
    /// The head of the revert.
    pub head: &'a Sha,
    /// The commit that is taken back, and the pull request it came from.
    pub merge: &'a Sha,
    pub pull: PullNumber,
    /// What got worse, in this program's words, with its numbers.
    pub why: &'a str,
    /// The tree is the one from before the merge; else later commits stand and the revert applied cleanly.
    pub same_tree: bool,
    /// Merged by tick on green checks; else a person does it.
    pub merges: bool,
}

pub fn revert_title(revert: &RevertWords<'_>) -> String {
    format!("revert: {} ({}) made it worse", revert.merge.short(), revert.pull)
}

pub fn revert_body(revert: &RevertWords<'_>) -> String {
    let mut page = Page::new(&Marker::revert(revert.incident, revert.head, revert.merge));
    page.add(format!(
        "**What this takes back.** {} of {}, merged by tick for incident {}.",
        span(revert.merge.short()),
        revert.pull,
        span(revert.incident.as_str())
    ));
    page.add(format!("**Why.** {}", words(revert.why)));
    page.add(if revert.same_tree {
        "**Evidence.** The tree is exactly the one from before that merge.".to_owned()
    } else {
        "**Evidence.** Later commits stay. The revert applied without a conflict and the test commands pass.".to_owned()
    });
    page.add(if revert.merges {
        "**What happens next.** When the checks are green it is squash-merged. tick does not try to repair this cause \
         again by itself; it is yours now."
            .to_owned()
    } else {
        "**What happens next.** Nothing, until you merge or close it. tick does not try to repair this cause again by \
         itself."
            .to_owned()
    });
    page.add("Made by tick, an unattended maintainer; no agent took part.".to_owned());
    page.finish()
}
