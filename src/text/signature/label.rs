//! A first guess at what kind of cause a text shows, by rules over words. Triage and people correct it; in doubt
//! it is a bug, since a real error must not be dropped as noise.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Tried in order; the first list with a word that occurs decides.
const RULES: [(&str, &[&str]); 10] = [
    ("noise", NOISE),
    ("config", CONFIG),
    ("auth", AUTH),
    ("infrastructure", NETWORK),
    ("bug", BUG),
    ("infrastructure", INFRASTRUCTURE),
    ("noise", NOISE_WEAK),
    ("auth", AUTH_WEAK),
    ("config", CONFIG_WEAK),
    ("infrastructure", INFRASTRUCTURE_WEAK),
];

const NOISE: &[&str] = &[
    "responseaborted",
    "premature_close",
    "closed early",
    "next_redirect",
    "next_not_found",
    "client disconnected",
    "request aborted",
    "deprecationwarning",
    "maxlistenersexceeded",
    "tls handshake error",
    "failed to find server action",
    "chunkloaderror",
    "card_declined",
    "card was declined",
    "npm warn",
    "experimentalwarning",
    "write epipe",
    "broken pipe",
    "decode_failed",
    "failed to decode param",
    "isn't a valid image",
    "context canceled",
    "aborterror",
    "superseded",
    "entity.too.large",
    "error: aborted",
    "entity.parse.failed",
    "user unknown",
    "page mismatch",
    "operation was canceled",
    "deserialize the json body",
];
const AUTH: &[&str] = &[
    "password authentication failed",
    "permission denied for",
    "unauthorized",
    "forbidden",
    "jwt expired",
    "invalid token",
    "tokenexpired",
    "invalid api key",
    "incorrect api key",
    "authentication failed",
    "access denied",
    "accessdenied",
    "bad credentials",
    "not authorized",
    "resource not accessible",
    "eacces",
    "wrongpass",
    "noauth",
    "jwt_session_error",
    "invalid_grant",
    "expiredtoken",
    "signature verification failed",
    "invalid login",
    "e401",
    "e403",
    "eneedauth",
    "permission_denied",
    "insufficient_scope",
    "signaturedoesnotmatch",
    "invalid_client",
];
const CONFIG: &[&str] = &[
    "environment variable",
    "missing env",
    "is not set",
    "no pg_hba",
    "enotfound",
    "eaddrinuse",
    "address already in use",
    "frozen-lockfile",
    "lockfile",
    "eresolve",
    "missing script",
    "unsupported engine",
    "ebadengine",
    "does not exist: database",
    "role \"",
    "unknown project",
    "jest encountered an unexpected token",
    "name or service not known",
    "invalid url",
    "could not find a production build",
    "project not found",
    "secretoptionerror",
    "no such host",
    "unsupported protocol",
    "nosuchbucket",
    "missing required",
    "eusage",
    "are in sync",
    "could not determine how to build",
    "executable",
    "no test files found",
    "fatal: database \"",
    "-32601",
    "dockerfile",
    "missing trie node",
    "please define a",
    "listen eacces",
    "code e404",
];
/// An error of the network is none of the code that met it.
const NETWORK: &[&str] = &[
    "econnrefused",
    "econnreset",
    "etimedout",
    "und_err",
    "connecttimeout",
    "cert_has_expired",
    "eai_again",
    "name resolution",
    "fetch failed",
    "misconf redis",
];
const BUG: &[&str] = &[
    "all goroutines are asleep",
    "typeerror",
    "referenceerror",
    "rangeerror",
    "panicked at",
    "nil pointer",
    "keyerror",
    "valueerror",
    "attributeerror",
    "violates",
    "assertionerror",
    "expect(",
    "assertion",
    "does not exist",
    "syntax error",
    "cannot find module",
    "module not found",
    "divide by zero",
    "minified react error",
    "index out of range",
    "error ts",
    "failed to compile",
    "fatal error: concurrent",
    "nullpointerexception",
];
const INFRASTRUCTURE: &[&str] = &[
    "econnrefused",
    "econnreset",
    "etimedout",
    "fetch failed",
    "socket hang up",
    "rate limit",
    "ratelimit",
    "too many requests",
    "timed out",
    "timeout",
    "connection refused",
    "connection reset",
    "no space left",
    "enospc",
    "out of memory",
    "heap limit",
    "oom",
    "sigkill",
    "starting up",
    "shutting down",
    "too many clients",
    "remaining connection slots",
    "eai_again",
    "connection closed",
    "closed the connection",
    "connection terminated",
    "unavailable",
    "bad gateway",
    "overloaded",
    "lost communication",
    "runner",
    "network",
    "loading the dataset",
    "connection has been closed",
    "could not connect",
    "can't reach database",
    "deadlock",
    "too many open files",
    "emfile",
    "backendgone",
    "certificate",
    "storage",
    "readonly",
    "server misbehaving",
    "limit exceeded",
    "header not found",
    "internal error",
    "terminating connection",
    "max number of clients",
    "in recovery mode",
];
const NOISE_WEAK: &[&str] = &["warning:", "[warn", "cache"];
const AUTH_WEAK: &[&str] = &[" 401", " 403", "unauthenticated", "credentials"];
const CONFIG_WEAK: &[&str] = &["configuration", "config", "unknown option", "invalid option"];
const INFRASTRUCTURE_WEAK: &[&str] = &[
    " 502",
    " 503",
    " 504",
    " 429",
    " 500",
    "exit code 137",
    "refused",
    "exit code 143",
];

/// All words in one table, so that a text is read once; and for each word the place of its list.
static FINDER: LazyLock<Option<(AhoCorasick, Vec<usize>)>> = LazyLock::new(|| {
    let words = || {
        RULES
            .iter()
            .enumerate()
            .flat_map(|(rule, (_, words))| words.iter().map(move |word| (rule, word)))
    };
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(words().map(|(_, word)| word))
        .ok()
        .map(|finder| (finder, words().map(|(rule, _)| rule).collect()))
});

pub(super) fn label(template: &str) -> &'static str {
    let Some((finder, rules)) = &*FINDER else { return "bug" };
    let first = finder
        .find_overlapping_iter(template)
        .map(|found| rules[found.pattern().as_usize()])
        .min();
    first.map_or("bug", |rule| RULES[rule].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_decides() {
        for (text, want) in [
            ("TypeError: <v>.map is not a function", "bug"),
            ("http: TLS handshake error from <ip>: EOF", "noise"),
            ("FATAL: password authentication failed for user \"app\"", "auth"),
            ("Environment variable not found: DATABASE_URL", "config"),
            ("connect ECONNREFUSED <ip>", "infrastructure"),
            ("something else", "bug"),
        ] {
            assert_eq!(label(text), want, "{text}");
        }
    }
}
