//! What the request file of a declared collector asks the config for.

use std::collections::{BTreeMap, BTreeSet};

use super::Checks;
use crate::config::problem::JsonPath;

/// Placeholders that tick fills itself.
const OURS: [&str; 2] = ["since", "now"];

impl Checks<'_> {
    /// Each placeholder that has to be filled has a value, or a variable where it is a secret.
    pub(super) fn placeholders(
        &mut self,
        name: &str,
        at: &JsonPath,
        values: &BTreeMap<String, String>,
        secrets: &BTreeMap<String, String>,
    ) {
        let Some(request) = self.context.collectors.get(name) else {
            return;
        };
        let asked = asked(request);
        for value in asked.values.iter().filter(|value| !values.contains_key(**value)) {
            let here = at.key("values").key(value);
            // One that a variable may stand for is told with that variable.
            if !self.problems.iter().any(|problem| problem.path == here) {
                let what = format!("is not given, and collectors/{name}.json asks for it");
                self.problem(here, what, example(name, value));
            }
        }
        for secret in asked.secrets.iter().filter(|secret| !secrets.contains_key(**secret)) {
            let what = format!("is not named, and collectors/{name}.json asks for it");
            self.problem(
                at.key("secrets").key(secret),
                what,
                "\"SHOP_TOKEN\", and SHOP_TOKEN=… in .env",
            );
        }
    }
}

fn example(collector: &str, value: &str) -> &'static str {
    match (collector, value) {
        ("statuspage", "url") => "\"https://www.githubstatus.com/api/v2/summary.json\"",
        ("alertmanager", "url") => "\"http://alertmanager:9093\"",
        (_, "url") => "\"https://errors.acme.example\"",
        _ => "\"acme\"",
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Asked<'t> {
    values: BTreeSet<&'t str>,
    secrets: BTreeSet<&'t str>,
}

/// The placeholders of a request file that are neither optional nor have a default. What is no JSON asks for nothing:
/// its own check tells what is wrong with it.
fn asked(request: &str) -> Asked<'_> {
    let mut asked = Asked::default();
    for piece in request.split('{').skip(1) {
        let Some((inner, _)) = piece.split_once('}') else {
            continue;
        };
        let plain =
            |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        match inner.split_once(':') {
            Some(("secret", name)) if plain(name) => _ = asked.secrets.insert(name),
            None if plain(inner) && !OURS.contains(&inner) => _ = asked.values.insert(inner),
            Some(_) | None => {}
        }
    }
    if asked != Asked::default() {
        let options = (
            jsonc_parser::CollectOptions::default(),
            jsonc_parser::ParseOptions::default(),
        );
        let parsed = jsonc_parser::parse_to_ast(request, &options.0, &options.1).ok();
        let Some(value) = parsed.and_then(|parsed| parsed.value) else {
            return Asked::default();
        };
        let value: serde_json::Value = value.into();
        let text = value.to_string();
        // A comment asks for nothing.
        asked.values.retain(|name| text.contains(&format!("{{{name}}}")));
        asked
            .secrets
            .retain(|name| text.contains(&format!("{{secret:{name}}}")));
        let given = value.get("defaults").and_then(serde_json::Value::as_object);
        asked
            .values
            .retain(|name| given.is_none_or(|given| !given.contains_key(*name)));
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::SHIPPED_COLLECTORS;

    #[test]
    fn what_has_to_be_given_is_what_is_neither_optional_nor_has_a_default() {
        let names = |set: &BTreeSet<&str>| set.iter().copied().collect::<Vec<_>>().join(" ");
        for (request, values, secrets) in [
            (
                r#"{"request": {"url": "{url}/api/{org}", "query": {"a": "{project?}", "since": "{since}"}}}"#,
                "org url",
                "",
            ),
            (
                r#"{"request": {"url": "{url}", "headers": {"a": "Bearer {secret:token}"}}, "defaults": {"url": "x"}}"#,
                "",
                "token",
            ),
            ("{\"request\": {\"url\": \"https://a.example\"}} // {org}", "", ""),
            (r#"{"detail": {"url": "{url}/{item:id}"}}"#, "url", ""),
            ("{url} is no JSON", "", ""),
        ] {
            let asked = asked(request);
            assert_eq!(
                (names(&asked.values).as_str(), names(&asked.secrets).as_str()),
                (values, secrets),
                "{request}"
            );
        }
    }

    #[test]
    fn the_shipped_ones_ask_for_what_the_readme_says() {
        let of = |name: &str| {
            let (_, text) = SHIPPED_COLLECTORS.iter().find(|(shipped, _)| *shipped == name).unwrap();
            asked(text)
        };
        assert_eq!(of("statuspage").values, BTreeSet::from(["url"]));
        assert_eq!(of("alertmanager").values, BTreeSet::from(["url"]));
        assert!(
            of("sentry").values.is_subset(&BTreeSet::from(["org"])),
            "{:?}",
            of("sentry")
        );
    }
}
