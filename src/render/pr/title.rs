//! Titles, and the words of the squash commit. They are made of our own template and of names in a strict form, since
//! a host reads commands out of a commit's subject.

use super::{PrWords, Readers};
use crate::{
    model::{IncidentId, PullNumber, Sha},
    render::inert::title_word,
};

/// From our own template and names of a strict form only: it becomes the subject of the commit.
pub fn pr_title(words: &PrWords<'_>) -> String {
    let kind = match words.takes_back {
        Some(commit) => format!("revert {}", commit.short()),
        None => "fix".to_owned(),
    };
    let source = words.change.paths.iter().find(|p| !looks_like_test(p));
    let changed = source.or(words.change.paths.first()).and_then(|p| place_word(p));
    let (error, file, function) = match words.readers {
        Readers::Strangers => (None, changed, None),
        Readers::Team => {
            let culprit = words.broke.culprit;
            (
                words.broke.error.and_then(title_word),
                culprit.and_then(|c| place_word(&c.file)).or(changed),
                culprit.and_then(|c| c.function.as_deref()).and_then(title_word),
            )
        }
    };
    let error = error.unwrap_or("a failure");
    match (file, function) {
        (None, _) => format!("{kind}: {error} seen in production"),
        (Some(file), Some(function)) if file.len() + function.len() <= 70 => {
            format!("{kind}: {error} in {file}, {function}")
        }
        (Some(file), _) => format!("{kind}: {error} in {file}"),
    }
}

/// The path, or its last part when the whole has odd characters.
fn place_word(path: &str) -> Option<&str> {
    title_word(path).or_else(|| title_word(path.rsplit('/').next()?))
}

fn looks_like_test(path: &str) -> bool {
    let low = path.to_ascii_lowercase();
    low.contains("test") || low.contains("spec")
}

/// Subject of the squash commit.
pub fn squash_title(title: &str, pull: PullNumber) -> String {
    format!("{title} ({pull})")
}

/// Body of the squash commit.
pub fn squash_message(incident: &IncidentId, head: &Sha, attempt: u32) -> String {
    format!(
        "Proven, audited and merged by tick at {head}.\nIncident {incident}, attempt {attempt}. \
         The pull request holds the proof."
    )
}
