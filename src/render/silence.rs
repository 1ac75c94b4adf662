//! Words about silences: one line each, in `tick status` and `tick silence --list`.

use chrono::{DateTime, Utc};

use super::{page::Page, status::time};
use crate::decide::hold::Silence;

/// `silenced until 05:00 UTC by ana@box (new disk)`.
pub fn words(silence: &Silence, now: DateTime<Utc>) -> String {
    format!(
        "silenced until {} by {} ({})",
        time(silence.until, now),
        silence.by,
        silence.why
    )
}

/// The same with the name of what is silenced.
pub fn line(silence: &Silence, now: DateTime<Utc>) -> String {
    format!("{}: {}", silence.name(), words(silence, now))
}

pub fn list(silences: &[Silence], now: DateTime<Utc>) -> String {
    let mut page = Page::default();
    if silences.is_empty() {
        page.line("Nothing is silenced.");
    }
    for silence in silences {
        page.paragraph(&line(silence, now));
    }
    page.finish()
}
