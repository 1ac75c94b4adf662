//! A first guess at what kind of cause a text shows, by phrases and by the codes that protocols define. Triage and
//! people correct it; in doubt it is a bug, since a real error must not be dropped as noise.

mod codes;
mod forms;
mod phrases;

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

pub(super) const BUG: &str = "bug";
pub(super) const NOISE: &str = "noise";
pub(super) const INFRASTRUCTURE: &str = "infrastructure";
pub(super) const AUTH: &str = "auth";
pub(super) const CONFIG: &str = "config";

/// Tried in order; the first list of which a phrase occurs decides. Codes stand between what is said in so many words
/// and what is only hinted at.
const RULES: [(&str, &str); 12] = [
    (INFRASTRUCTURE, phrases::PASSING),
    (NOISE, phrases::NOISE),
    (BUG, phrases::SURE_BUGS),
    (CONFIG, phrases::CONFIG),
    (AUTH, phrases::AUTH),
    (INFRASTRUCTURE, phrases::NETWORK),
    (BUG, phrases::BUG),
    (INFRASTRUCTURE, phrases::CAPACITY),
    (AUTH, phrases::AUTH_HINTS),
    (CONFIG, phrases::CONFIG_HINTS),
    (INFRASTRUCTURE, phrases::INFRASTRUCTURE_HINTS),
    (NOISE, phrases::NOISE_HINTS),
];
/// What is unset or unknown to a tool is told in forms, which decide as this list does.
const FORMS_AS: usize = 3;
/// A code decides before this rule.
const CODES_BEFORE: usize = 6;

/// All phrases in one table, so that a text is read once; and for each phrase the place of its list.
static FINDER: LazyLock<Option<(AhoCorasick, Vec<usize>)>> = LazyLock::new(|| {
    let phrases = || {
        let lists = RULES.iter().enumerate();
        lists.flat_map(|(rule, (_, list))| phrases::split(list).map(move |phrase| (rule, phrase)))
    };
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(phrases().map(|(_, phrase)| phrase))
        .ok()
        .map(|finder| (finder, phrases().map(|(rule, _)| rule).collect()))
});

pub(super) fn label(template: &str) -> &'static str {
    let Some((finder, rules)) = &*FINDER else { return BUG };
    let text = said(template);
    // `und_err` is not said in `not_found_error`.
    let begins = |at: usize| {
        let letter = |at: usize| text.as_bytes()[at].is_ascii_alphabetic();
        at == 0 || !letter(at) || !letter(at - 1)
    };
    let found = finder
        .find_overlapping_iter(&text)
        .filter(|found| begins(found.start()));
    let forms = forms::speaks_of_settings(&text).then_some(FORMS_AS);
    let rule = found.map(|found| rules[found.pattern().as_usize()]).chain(forms).min();
    match rule {
        Some(rule) if rule < CODES_BEFORE => RULES[rule].0,
        rule => codes::label(template).unwrap_or_else(|| rule.map_or(BUG, |rule| RULES[rule].0)),
    }
}

/// The template without the place of the error, whose names say what the code is about and not what happened; and once
/// more with the words of its names apart: `PoolTimedOut`, `INVALID_GRANT`. What is quoted as the name of something (a column
/// `"price_id"`) is no sentence, unless it is the code of an error. British spelling is read as American.
fn said(template: &str) -> String {
    let place = template.rfind("\nat ").filter(|at| !template[at + 1..].contains('\n'));
    let template = &template[..place.unwrap_or(template.len())];
    let mut text = String::with_capacity(2 * template.len() + 32);
    text.push_str(template);
    text.push('\n');
    let mut before = ' ';
    let names = forms::quoted_names(template);
    let mut letters = template.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        if names.iter().any(|name| name.contains(&at)) {
            text.push(c);
            before = c;
            continue;
        }
        let begins = c.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || (before.is_ascii_uppercase() && letters.peek().is_some_and(|(_, next)| next.is_ascii_lowercase())));
        if begins {
            text.push(' ');
        }
        text.push(if c == '_' { ' ' } else { c });
        before = c;
    }
    forms::american(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_decides() {
        for (text, want) in [
            ("TypeError: <v>.map is not a function", "bug"),
            ("http: TLS handshake error from <host>: EOF", "noise"),
            ("FATAL: password authentication failed for user \"app\"", "auth"),
            ("Environment variable not found: DATABASE_URL", "config"),
            ("connect ECONNREFUSED <host>", "infrastructure"),
            ("Request failed with status code 503", "infrastructure"),
            ("Request failed with status code 404", "bug"),
            ("insert failed error=PoolTimedOut", "infrastructure"),
            ("type: not_found_error", "bug"),
            (
                "io error: Os { code: 1, kind: HTTPConnectionRefused }",
                "infrastructure",
            ),
            ("boom\nat src/oauth/password.ts in login", "bug"),
            ("something else", "bug"),
            ("column \"price_id\" does not exist", "bug"),
            ("KeyError: 'price_id'", "bug"),
            ("fehlt für è'price_id' ’\"x\"", "bug"),
            ("Unknown column 'env_var' in 'field list'", "bug"),
            ("undefined method `project_settings' for nil", "bug"),
            ("No such price: price_id <v> is not set", "config"),
            ("{\"error\":\"invalid_grant\"}", "auth"),
            ("error: 'invalid_client'", "auth"),
            ("request failed, code 'ConnectionRefused'", "infrastructure"),
            ("no version is set for provider aws", "config"),
            ("Error: no default branch is set", "config"),
            ("no project is specified; run init first", "config"),
            ("no region was given", "config"),
            ("no value is set for total", "bug"),
            ("no handler is defined", "bug"),
            ("TypeError: no row is given", "bug"),
            ("unrecognized directive \"proxy_pas\" in <path>", "config"),
            ("unrecognised directive 'Lisen'", "config"),
            ("duplicate setting: colour", "config"),
            ("unrecognized token: \"#\"", "bug"),
            ("Invalid flags supplied to RegExp constructor 'gg'", "bug"),
            ("User is not authorised to perform this action", "auth"),
            ("unauthorised: token has no scope", "auth"),
            ("Authorisation failed for client <n>", "auth"),
            ("you are not permitted to read this", "auth"),
            ("negative amounts are not permitted", "bug"),
            ("null is not permitted here", "bug"),
            ("cannot serialise type Order", "bug"),
        ] {
            assert_eq!(label(text), want, "{text}");
        }
    }

    #[test]
    fn phrases_are_small_and_distinct() {
        for (_, list) in RULES {
            let phrases: Vec<&str> = phrases::split(list).collect();
            assert!(phrases.len() > 5);
            for phrase in phrases {
                assert!(
                    phrase.len() >= 3 && !phrase.bytes().any(|b| b.is_ascii_uppercase()),
                    "{phrase:?}"
                );
            }
        }
    }
}
