//! Words about the configuration: its problems, what a key means, what to do without one.

use super::page::{Page, count, widest};
use crate::config::{problem::Problem, schema::Explained};

/// A path that is wider stands on a line of its own.
const WIDEST_PATH: usize = 32;

/// The problems of a file, one paragraph each, with the path in a column of its own.
pub fn problems(file: &str, list: &[Problem]) -> String {
    listed(
        &format!("{file} has {}; nothing was run", count(list.len() as u64, "problem")),
        list,
    )
}

/// What a tick runs with all the same, without what they stand for.
pub fn blind_with(file: &str, list: &[Problem]) -> String {
    let problems = count(list.len() as u64, "problem");
    listed(
        &format!("{file} can be run; with {problems} a tick runs too, and is blind or stuck there"),
        list,
    )
}

fn listed(heading: &str, list: &[Problem]) -> String {
    let mut page = Page::default();
    page.paragraph(heading);
    let paths: Vec<String> = list.iter().map(|p| p.path.to_string()).collect();
    let short = paths
        .iter()
        .map(String::as_str)
        .filter(|p| p.chars().count() <= WIDEST_PATH);
    let column = match widest(short) {
        0 => 2,
        width => width + 4,
    };
    for (problem, path) in list.iter().zip(&paths) {
        let mut text = problem.what.clone();
        if let Some(example) = &problem.example {
            text = format!("{text}; for example {example}");
        }
        if path.chars().count() > WIDEST_PATH {
            page.line(format!("  {path}"));
            page.hanging("", column, &text);
        } else {
            page.hanging(&format!("  {path}"), column, &text);
        }
    }
    page.finish()
}

/// What a key is in the file now.
#[derive(Debug, Clone, PartialEq)]
pub enum Current {
    Set(serde_json::Value),
    NotSet,
    /// Not set, so that this holds.
    Default(serde_json::Value),
    /// A pattern that stands for several keys.
    Many,
}

/// What a key means, its type, default, an example, and the value that holds now.
pub fn explain(path: &str, explained: &Explained, current: &Current) -> String {
    let mut page = Page::default();
    page.line(if path.is_empty() { "config.json" } else { path });
    let mut row = |name: &str, text: &str| page.hanging(&format!("  {name}"), 12, text);
    row("meaning", &explained.description);
    row("type", &explained.kind);
    if let Some(default) = &explained.default {
        row("default", &default.to_string());
    }
    if let Some(example) = &explained.example {
        row("example", &example.to_string());
    }
    if !explained.keys.is_empty() {
        row("keys", &explained.keys.join(", "));
    }
    match current {
        Current::Set(value) => row("now", &value.to_string()),
        Current::NotSet => row("now", "not set"),
        Current::Default(value) => row("now", &format!("{value} (not set, so the default holds)")),
        Current::Many => {}
    }
    page.finish()
}

/// The keys to choose from where somebody named one that is not there: the key as far as it is known, and the next ones.
pub fn keys_near(near: Option<&(String, Vec<String>)>) -> String {
    match near {
        Some((known, keys)) if known.is_empty() => format!("there is: {}", keys.join(", ")),
        Some((known, keys)) => format!("below {known} there is: {}", keys.join(", ")),
        None => "tick config schema lists all keys".to_owned(),
    }
}

/// How many things are looked at, by the key that names them.
pub type Watched = Vec<(&'static str, usize)>;

/// What `tick config check` says of a config without problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub file: String,
    /// Slot, mode, how many things are looked at by the key that names them, and what keeps it from that mode.
    pub repos: Vec<(String, String, Watched, Option<String>)>,
    pub warnings: Vec<String>,
}

pub fn checked(checked: &Checked) -> String {
    let mut page = Page::default();
    page.line(format!("{} is right", checked.file));
    if checked.repos.is_empty() {
        page.line("  it names no repos yet, so a tick looks at nothing");
    }
    let width = widest(checked.repos.iter().map(|(slot, ..)| slot.as_str()));
    for (slot, mode, sources, lacks) in &checked.repos {
        let some = sources.iter().filter(|(_, n)| *n > 0);
        let some: Vec<String> = some.map(|(key, n)| format!("{key} {n}")).collect();
        let watched = match some.as_slice() {
            [] => "no source".to_owned(),
            some => some.join(", "),
        };
        page.line(format!("  {slot:width$}  {mode:12}  {watched}"));
        if let Some(lacks) = lacks {
            page.hanging("", width + 4, lacks);
        }
    }
    for warning in &checked.warnings {
        page.hanging("  warn", 8, warning);
    }
    page.finish()
}

/// Bare `tick` without a configuration.
pub fn no_config_text(file: &str) -> String {
    format!(
        "tick looks at your production every fifteen minutes, repairs what broke,\n\
         proves the repair, and tells you once. While all is well it calls no model.\n\
         \n\
         There is no configuration yet: {file}\n\
         \x20 tick demo            the whole loop on a small world inside this machine\n\
         \x20 tick look URL        what is wrong with a page or OWNER/REPO, --save keeps it\n\
         \x20 tick config schema   what a configuration may say; {{}} is one already\n\
         \x20 tick --help          everything else\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::problem::JsonPath;

    fn problem(path: &str, what: &str, example: &str) -> Problem {
        Problem::new(JsonPath::parse(path).unwrap(), what).example(example)
    }

    #[test]
    fn problems_stand_in_two_columns() {
        let list = [
            problem(
                "repos.web.health[0]",
                "\"acme.example/health\" has no scheme",
                "\"https://acme.example/health\"",
            ),
            problem("limits.usd_per_day", "\"20\" is text", "20"),
            problem(
                "repos.a-rather-long-slot-name.targets.web.health[0].url",
                "is missing",
                "\"https://a.example\"",
            ),
        ];
        insta::assert_snapshot!(problems("config.json", &list), @r#"
        config.json has 3 problems; nothing was run
          repos.web.health[0]  "acme.example/health" has no scheme; for example
                               "https://acme.example/health"
          limits.usd_per_day   "20" is text; for example 20
          repos.a-rather-long-slot-name.targets.web.health[0].url
                               is missing; for example "https://a.example"
        "#);
    }

    #[test]
    fn without_a_configuration_there_are_eight_lines() {
        let text = no_config_text("/home/you/.config/tick/config.json");
        assert_eq!(text.lines().count(), 8);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
