//! Who did it: the names of users that stand in a sentence without quotes.

use super::{shapes, words::Context};

/// Words before "user" that make the next word a name.
const INTRODUCING: [&str; 9] = ["for", "invalid", "illegal", "unknown", "by", "as", "of", "from", "to"];

/// Whether the run is the name of a user: `for user ann by (uid=0)`, `user ann from 10.1.2.3`, `for ann from 10.1.2.3`.
pub(super) fn is_person(run: &str, tail: &str, words: &Context<'_>) -> bool {
    let user = words.previous.eq_ignore_ascii_case("user");
    if !user && !words.previous.eq_ignore_ascii_case("for") {
        return false;
    }
    // Who asked is not named in "on user request".
    if run.contains('/') || run.ends_with(':') || matches!(run, "request" | "action" | "input" | "error") {
        return false;
    }
    let next = tail.trim_start();
    if let Some(place) = next.strip_prefix("from ") {
        return user || shapes::starts_with_place(place);
    }
    let ends = next.is_empty()
        || next.starts_with(['[', '(', ',', ';'])
        || ["by ", "at ", "on ", "via "].iter().any(|word| next.starts_with(word));
    user && ends && INTRODUCING.iter().any(|word| words.before.eq_ignore_ascii_case(word))
}
