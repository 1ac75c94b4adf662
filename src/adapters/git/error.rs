//! Why a git command did not do what it was asked: kinds that callers tell apart, and the sorting of git's own words.

use crate::model::pull::PushRefusal;

/// What a caller can branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GitErrorKind {
    /// The remote could not be reached, or the connection broke.
    Network,
    /// The remote wants other credentials, or hides the repository from these.
    Auth,
    /// The object or repository does not exist.
    NotFound,
    /// The command overran its deadline and was killed.
    Deadline,
    /// More output than the caller takes.
    TooLarge,
    /// A name or path that is not given to git.
    Input,
    /// A file of ours could not be read or written, or git could not be started.
    Io,
    Other,
}

/// Reads after "failed to".
#[derive(Debug, Clone, thiserror::Error)]
#[error("{attempted}: {detail}")]
pub struct GitError {
    pub kind: GitErrorKind,
    /// It is the remote that could not be reached or said no, not our own mirror.
    pub remote: bool,
    /// What was attempted on which object, such as `fetch https://…`.
    pub attempted: String,
    /// Cleaned and redacted, with what to do where that is known.
    pub detail: String,
}

impl GitError {
    pub(super) fn new(kind: GitErrorKind, attempted: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            kind,
            remote: false,
            attempted: attempted.into(),
            detail: detail.into(),
        }
    }

    pub(super) fn of_remote(self) -> Self {
        Self { remote: true, ..self }
    }

    pub(super) fn input(attempted: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(GitErrorKind::Input, attempted, detail)
    }

    pub(super) fn io(attempted: impl Into<String>, error: &std::io::Error) -> Self {
        Self::new(GitErrorKind::Io, attempted, error.to_string())
    }
}

/// Sorts git's stderr (C locale). Order matters: a 403 also ends in "unable to access".
pub(super) fn classify(stderr: &str) -> GitErrorKind {
    const AUTH: &[&str] = &[
        "error: 401",
        "error: 403",
        "authentication failed",
        "could not read username",
        "could not read password",
        "invalid username or token",
        "permission denied",
        "terminal prompts disabled",
        "write access to repository not granted",
    ];
    const MISSING: &[&str] = &[
        "repository not found",
        "error: 404",
        "' not found",
        // Moved; the token is not carried to another address.
        "error: 301",
        "error: 302",
        "error: 307",
        "error: 308",
        "does not appear to be a git repository",
        "not a git repository",
        "not a valid object name",
        "bad object",
        ": bad file",
        "unknown revision",
    ];
    const NETWORK: &[&str] = &[
        "could not resolve host",
        "couldn't connect",
        "failed to connect",
        "could not connect",
        "connection refused",
        "connection reset",
        "connection timed out",
        "timed out",
        "operation too slow",
        "empty reply from server",
        "hung up unexpectedly",
        "unexpected disconnect",
        "early eof",
        "rpc failed",
        "recv failure",
        "send failure",
        "ssl",
        "gnutls",
        "error: 429",
        "error: 500",
        "error: 502",
        "error: 503",
        "error: 504",
        "unable to access",
    ];
    let text = stderr.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| text.contains(w));
    if has(AUTH) {
        GitErrorKind::Auth
    } else if has(MISSING) {
        GitErrorKind::NotFound
    } else if has(NETWORK) {
        GitErrorKind::Network
    } else {
        GitErrorKind::Other
    }
}

/// Sorts what a host says about a push that it did not take.
pub(super) fn refusal(said: &str) -> PushRefusal {
    const RIGHTS: &[&str] = &[
        "without `workflow` scope",
        "without `workflows` permission",
        "permission",
        "not authorized",
        "access denied",
    ];
    const RULE: &[&str] = &[
        "protected branch",
        "rule violations",
        "gh006",
        "gh013",
        "hook declined",
        "hidden ref",
        "push declined",
        "not allowed to push",
    ];
    const MOVED: &[&str] = &[
        "non-fast-forward",
        "fetch first",
        "stale info",
        "cannot lock ref",
        "failed to update ref",
    ];
    let text = said.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| text.contains(w));
    if has(MOVED) {
        PushRefusal::Moved
    } else if has(RIGHTS) {
        PushRefusal::Rights
    } else if has(RULE) {
        PushRefusal::Rule
    } else {
        PushRefusal::Other
    }
}

/// The failure happened before anything could have been sent.
pub(super) fn never_reached(stderr: &str) -> bool {
    let text = stderr.to_ascii_lowercase();
    [
        "could not resolve host",
        "failed to connect",
        "couldn't connect",
        "connection refused",
        "does not appear to be a git repository",
        "repository not found",
        "error: 404",
        "' not found",
        "error: 30",
    ]
    .iter()
    .any(|w| text.contains(w))
}

#[cfg(test)]
mod tests {
    use super::{GitErrorKind, PushRefusal, classify, refusal};

    fn check(stderr: &str, kind: GitErrorKind) {
        assert_eq!(classify(stderr), kind, "{stderr}");
    }

    #[test]
    fn real_words_of_git_are_sorted() {
        check(
            "fatal: unable to access 'https://x.example/a.git/': Could not resolve host: x.example",
            GitErrorKind::Network,
        );
        check(
            "fatal: unable to access 'http://127.0.0.1:1/': Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server",
            GitErrorKind::Network,
        );
        check(
            "fatal: unable to access 'https://x/': The requested URL returned error: 403",
            GitErrorKind::Auth,
        );
        check(
            "fatal: could not read Username for 'https://x': terminal prompts disabled",
            GitErrorKind::Auth,
        );
        check(
            "remote: Repository not found.\nfatal: repository 'https://x/' not found",
            GitErrorKind::NotFound,
        );
        check("fatal: Not a valid object name 1234", GitErrorKind::NotFound);
        check(
            "send-pack: unexpected disconnect while reading sideband packet",
            GitErrorKind::Network,
        );
        check("fatal: something else", GitErrorKind::Other);
    }

    #[test]
    fn refusals_of_a_push_are_sorted() {
        for (said, expected) in [
            ("[rejected] (non-fast-forward)", PushRefusal::Moved),
            ("[rejected] (fetch first)", PushRefusal::Moved),
            (
                "[remote rejected] (protected branch hook declined): remote: error: GH006: Protected branch update failed for refs/heads/fix/auto-1.",
                PushRefusal::Rule,
            ),
            (
                "[remote rejected] (push declined due to repository rule violations): remote: error: GH013: Repository rule violations found",
                PushRefusal::Rule,
            ),
            ("[remote rejected] (pre-receive hook declined)", PushRefusal::Rule),
            ("[remote rejected] (deny updating a hidden ref)", PushRefusal::Rule),
            (
                "[remote rejected] (refusing to allow a Personal Access Token to create or update workflow `.github/workflows/a.yml` without `workflow` scope)",
                PushRefusal::Rights,
            ),
            ("[remote rejected] (unpacker error)", PushRefusal::Other),
        ] {
            assert_eq!(refusal(said), expected, "{said}");
        }
    }
}
