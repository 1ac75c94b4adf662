//! A first guess at what kind of cause a text shows, by phrases and by the codes that protocols define. Triage and
//! people correct it; in doubt it is a bug, since a real error must not be dropped as noise.

mod codes;
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
    (BUG, phrases::SLOW_TESTS),
    (CONFIG, phrases::CONFIG),
    (AUTH, phrases::AUTH),
    (INFRASTRUCTURE, phrases::NETWORK),
    (BUG, phrases::BUG),
    (INFRASTRUCTURE, phrases::CAPACITY),
    (NOISE, phrases::NOISE_HINTS),
    (AUTH, phrases::AUTH_HINTS),
    (CONFIG, phrases::CONFIG_HINTS),
    (INFRASTRUCTURE, phrases::INFRASTRUCTURE_HINTS),
];
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
    let found = finder.find_overlapping_iter(template);
    let rule = found.map(|found| rules[found.pattern().as_usize()]).min();
    match rule {
        Some(rule) if rule < CODES_BEFORE => RULES[rule].0,
        rule => codes::label(template).unwrap_or_else(|| rule.map_or(BUG, |rule| RULES[rule].0)),
    }
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
            ("something else", "bug"),
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
