//! Playwright's end-to-end tests. What passed on a retry did not fail the run.

use std::{collections::HashSet, sync::LazyLock};

use regex::Regex;

use super::{Class, Failure, blocks, re, said};

static HEAD: LazyLock<Regex> = LazyLock::new(|| re(r"^\s*\d+\) ((?:\[[^\]]+\] › )?(\S+?):\d+:\d+ › (.+?))(?: ─*)?$"));
static TOTAL: LazyLock<Regex> =
    LazyLock::new(|| re(r"^  \d+ (failed|flaky|passed|skipped|interrupted|did not run|errors? .*)(?: \(.*\))?$"));
static LISTED: LazyLock<Regex> = LazyLock::new(|| re(r"^    ((?:\[[^\]]+\] › )?\S+?:\d+:\d+ › .+?)(?: ─*)?$"));

pub(super) fn read(lines: &[&str]) -> Vec<Failure> {
    let flaky = flaky(lines);
    let start = |line| {
        let found = HEAD.captures(line)?;
        let whole = found.get(1)?.as_str();
        Some((whole, format!("{} › {}", &found[2], &found[3])))
    };
    blocks(lines, start, |line| TOTAL.is_match(line))
        .into_iter()
        .filter(|((whole, _), _)| !flaky.contains(whole))
        .map(|((_, test), block)| {
            // A retry says the same again.
            let first = block.iter().position(|line| line.trim_start().starts_with("Retry #"));
            let block = &block[..first.unwrap_or(block.len())];
            let message = said(block.iter().copied());
            Failure::new("playwright", Class::E2e, test, message, block)
        })
        .collect()
}

fn flaky<'a>(lines: &[&'a str]) -> HashSet<&'a str> {
    let mut out = HashSet::new();
    let mut listing = false;
    for line in lines {
        if let Some(total) = TOTAL.captures(line) {
            listing = &total[1] == "flaky";
        } else if listing {
            out.extend(LISTED.captures(line).and_then(|c| c.get(1)).map(|name| name.as_str()));
        }
    }
    out
}
