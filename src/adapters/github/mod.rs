//! The GitHub client: one method is one outside read or write, with domain types in and out. Answers on which a
//! caller branches are variants; everything else is a [`GitHubError`]. It decides nothing and repeats no write.
//!
//! Every text in a returned value (titles, bodies, names, messages) is cleaned and redacted, and still hostile.

mod artifacts;
mod checks;
mod comments;
mod edge;
mod error;
mod merge;
mod paging;
mod pulls;
mod repo;
mod reviews;
mod rules;
mod runs;
mod stop;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod wire;
mod writes;

pub use comments::{Comment, Upsert};
pub use error::{GitHubError, GitHubErrorKind};
pub use merge::MergeOutcome;
pub use repo::RepoInfo;
pub use runs::RerunOutcome;
pub use stop::{PAUSE_LABEL, STOP_LABEL};
pub use writes::{NewPull, OpenPullOutcome};

use secrecy::SecretString;
use url::Url;

use crate::{
    adapters::http::Http,
    model::{RepoName, Sha},
    text::Redactor,
};
use edge::Edge;

/// Pages of one list that are read at most; with 100 a page this is far beyond every list that is judged.
const PAGES: usize = 20;

pub struct GitHub {
    edge: Edge,
}

impl GitHub {
    /// `api` is the base of the REST API, such as `https://api.github.com` or `https://HOST/api/v3`.
    pub fn new(http: Http, api: Url, token: Option<SecretString>, redactor: Redactor) -> Self {
        Self {
            edge: Edge::new(http, api, token, redactor),
        }
    }

    fn repo_url(&self, repo: &RepoName, rest: &[&str], query: &[(&str, &str)]) -> Url {
        let mut segments = vec!["repos", repo.owner(), repo.name()];
        segments.extend(rest);
        self.edge.url(&segments, query)
    }
}

/// An object id from an answer.
fn sha(attempt: &str, text: &str) -> Result<Sha, GitHubError> {
    Sha::parse(text).map_err(|e| GitHubError::shape(attempt, e.to_string()))
}
