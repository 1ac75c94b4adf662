//! The JSON Schema of the config file, and what it is used for beside editors: to find every problem of a file in
//! one pass, to give a right example for each, and to explain a key.

use std::sync::OnceLock;

use jsonschema::{ValidationError, error::ValidationErrorKind};
use serde_json::Value;

use super::{
    problem::{JsonPath, Problem, Step, quote},
    raw,
};

/// Keys that a later version will know; a config that has them is told so instead of "unknown".
const LATER: &[&str] = &[
    "railway",
    "sentry",
    "loki",
    "kubernetes",
    "services",
    "env",
    "merge",
    "policy",
    "patterns",
    "proof",
    "deploy",
    "publish",
    "telegram",
    "exec",
    "sessions",
    "serve",
    "digest",
    "heartbeat",
    "tasks",
];

/// The schema as one JSON document.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(raw::Root).to_value();
        schema["title"] = Value::from("tick configuration");
        schema
    })
}

/// What the schema says about one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    pub description: String,
    pub kind: String,
    pub default: Option<Value>,
    pub example: Option<Value>,
    /// Keys of an object, in order; empty for everything else.
    pub keys: Vec<String>,
}

/// The schema's words about a path, `None` where no such key exists. A name stands for any name of a map.
pub fn explain(path: &JsonPath) -> Option<Explained> {
    let node = lookup(path)?;
    let target = resolve(node);
    let text = |value: &Value| {
        value
            .as_str()
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    Some(Explained {
        description: text(
            node.get("description")
                .or_else(|| target.get("description"))
                .unwrap_or(&Value::Null),
        ),
        kind: kind_of(node),
        default: node.get("default").cloned(),
        example: example_of(node),
        keys: target
            .get("properties")
            .and_then(Value::as_object)
            .map(|p| p.keys().cloned().collect())
            .unwrap_or_default(),
    })
}

/// The longest known beginning of a path that is no key, and what may stand next: the one that was meant, or all.
pub fn near(path: &str) -> Option<(String, Vec<String>)> {
    let steps = JsonPath::parse(&path.replace("[]", "[0]"))?.0;
    let known = (0..steps.len())
        .rev()
        .find(|n| lookup(&JsonPath(steps[..*n].to_vec())).is_some())?;
    let parent = JsonPath(steps[..known].to_vec());
    let keys: Vec<&str> = resolve(lookup(&parent)?)
        .get("properties")
        .and_then(Value::as_object)
        .map(|p| p.keys().map(String::as_str).collect())?;
    let meant = match &steps[known] {
        Step::Key(key) => crate::text::nearest(key, &keys),
        Step::Index(_) => None,
    };
    let keys = meant.map_or(keys, |key| vec![key]);
    Some((parent.to_string(), keys.into_iter().map(str::to_owned).collect()))
}

/// Every key of the schema as a path, `*` for the names of maps and `[]` for the elements of lists.
pub fn all_keys() -> Vec<String> {
    fn walk(node: &Value, at: &str, out: &mut Vec<String>) {
        let node = resolve(node);
        if let Some(properties) = node.get("properties").and_then(Value::as_object) {
            for (key, child) in properties {
                let here = if at.is_empty() {
                    key.clone()
                } else {
                    format!("{at}.{key}")
                };
                out.push(here.clone());
                walk(child, &here, out);
            }
        }
        if let Some(child) = node.get("additionalProperties").filter(|v| v.is_object()) {
            walk(child, &format!("{at}.*"), out);
        }
        if let Some(child) = node.get("items") {
            walk(child, &format!("{at}[]"), out);
        }
    }
    let mut out = Vec::new();
    walk(schema(), "", &mut out);
    out
}

/// Whether every number is within the range that its schema names, and no list stands for an object. Cheap: the fast way of a config that is right.
pub(super) fn within_ranges(value: &Value) -> bool {
    fn walk(value: &Value, node: &Value) -> bool {
        let bound = |name: &str| node.get(name).and_then(Value::as_f64);
        match value {
            Value::Number(number) => {
                let n = number.as_f64().unwrap_or(f64::NAN);
                bound("minimum").is_none_or(|min| n >= min) && bound("maximum").is_none_or(|max| n <= max)
            }
            // A list in the place of an object would fill its keys by position.
            Value::Array(list) => {
                let node = resolve(node);
                node.get("properties").is_none()
                    && node
                        .get("items")
                        .is_none_or(|items| list.iter().all(|value| walk(value, items)))
            }
            Value::Object(map) => map.iter().all(|(key, value)| {
                let node = resolve(node);
                let child = node.get("properties").and_then(|p| p.get(key));
                let child = child.or_else(|| node.get("additionalProperties"));
                child.is_none_or(|child| walk(value, child))
            }),
            Value::Null | Value::Bool(_) | Value::String(_) => true,
        }
    }
    walk(value, schema())
}

/// What [`violations`] took out of a file, in the order in which it went.
#[derive(Debug, Clone, Default)]
pub(super) struct Removed(Vec<JsonPath>);

impl Removed {
    /// The problems of what is left, as they are in the file itself: at their own places, and without what is only there
    /// because something is gone.
    pub(super) fn in_the_file(&self, problems: Vec<Problem>) -> Vec<Problem> {
        problems
            .into_iter()
            .filter_map(|problem| self.placed(problem))
            .collect()
    }

    fn placed(&self, mut problem: Problem) -> Option<Problem> {
        for gone in self.0.iter().rev() {
            let (last, parent) = gone.0.split_last()?;
            match last {
                Step::Key(_) if problem.path == *gone => return None,
                Step::Index(_) if problem.path.0 == parent => return None,
                Step::Index(at) if problem.path.0.starts_with(parent) => {
                    if let Some(Step::Index(n)) = problem.path.0.get_mut(parent.len())
                        && *n >= *at
                    {
                        *n += 1;
                    }
                }
                Step::Key(_) | Step::Index(_) => {}
            }
        }
        Some(problem)
    }
}

/// Every violation of the schema, and the value without the parts that violate it (so that the rest is checked too).
pub(super) fn violations(value: &Value) -> (Vec<Problem>, Value, Removed) {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| jsonschema::validator_for(schema()).expect("our own schema is valid"));
    let mut problems = Vec::new();
    let mut rest = value.clone();
    let mut removed = Removed::default();
    // Removing a part can leave another violation behind (a probe without its url), so look until none is left; only
    // the first look tells, since the others see what was removed.
    for look in 0_u32.. {
        let mut doomed = Vec::new();
        let mut told = Vec::new();
        for error in validator.iter_errors(&rest) {
            describe(&error, &rest, &mut told, &mut doomed);
        }
        if look == 0 {
            problems = told;
        }
        // Later list elements first, so that indices stay true.
        doomed.sort();
        doomed.dedup();
        if doomed.is_empty() {
            break;
        }
        let before = rest.clone();
        for path in doomed.into_iter().rev() {
            remove(&mut rest, &path);
            removed.0.push(path);
        }
        if rest == before {
            break;
        }
    }
    problems.sort();
    problems.dedup();
    (problems, rest, removed)
}

fn describe(error: &ValidationError<'_>, root: &Value, problems: &mut Vec<Problem>, doomed: &mut Vec<JsonPath>) {
    let path = instance_path(error.instance_path().as_str(), root);
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            for key in unexpected {
                problems.push(unknown_key(&path, key));
                doomed.push(path.key(key));
            }
            return;
        }
        ValidationErrorKind::Required { property } => {
            let key = property.as_str().unwrap_or_default();
            problems.push(with_example(Problem::new(path.key(key), "is missing")));
        }
        ValidationErrorKind::Type { .. } => problems.push(with_example(Problem::new(
            path.clone(),
            format!("{} is {}", quote(error.instance()), type_word(error.instance())),
        ))),
        ValidationErrorKind::Minimum { limit } => problems.push(with_example(Problem::new(
            path.clone(),
            format!("{} is below {limit}", quote(error.instance())),
        ))),
        ValidationErrorKind::Maximum { limit } => problems.push(with_example(Problem::new(
            path.clone(),
            format!("{} is above {limit}", quote(error.instance())),
        ))),
        _ => {
            let words = lookup(&path).map(choices).unwrap_or_default();
            let what = if words.is_empty() {
                error.to_string()
            } else {
                format!("{} is not one of {}", quote(error.instance()), words.join(", "))
            };
            problems.push(with_example(Problem::new(path.clone(), what)));
        }
    }
    doomed.push(path);
}

fn unknown_key(parent: &JsonPath, key: &str) -> Problem {
    let path = parent.key(key);
    let known: Vec<&str> = lookup(parent)
        .and_then(|node| resolve(node).get("properties"))
        .and_then(Value::as_object)
        .map(|p| p.keys().map(String::as_str).collect())
        .unwrap_or_default();
    if let Some(near) = crate::text::nearest(key, &known) {
        return Problem::new(path, "is not a key that tick knows").example(near);
    }
    match elsewhere(key) {
        Some(place) => Problem::new(path, "is not a key that tick knows here").example(place),
        None if LATER.contains(&key) => Problem::new(
            path,
            "belongs to a part of tick that this version does not have; remove it",
        ),
        None => Problem::new(path, "is not a key that tick knows"),
    }
}

/// A key that is written in another place: `sensitivePaths at the top of the file`.
fn elsewhere(key: &str) -> Option<String> {
    let all = all_keys();
    let mut places: Vec<(&str, &str)> = all
        .iter()
        .map(|path| path.rsplit_once('.').unwrap_or(("", path)))
        .collect();
    // Where several have one, the outermost.
    places.sort_by_key(|(place, _)| place.matches(['.', '[']).count());
    let names: Vec<&str> = places.iter().map(|(_, name)| name.trim_end_matches("[]")).collect();
    let name = similar::get_close_matches(key, &names, 1, 0.8).first().copied()?;
    let (place, _) = places.iter().find(|(_, n)| n.trim_end_matches("[]") == name)?;
    Some(match *place {
        "" => format!("{name} at the top of the file"),
        place => format!("{name} in {}", place.replace('*', "NAME")),
    })
}

fn with_example(problem: Problem) -> Problem {
    match lookup(&problem.path).and_then(|node| right_one(node, 0)) {
        Some(example) => problem.example(example.to_string()),
        None => problem,
    }
}

fn type_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn kind_of(node: &Value) -> String {
    let target = resolve(node);
    let words = choices(target);
    if !words.is_empty() {
        return words.join(" | ");
    }
    match target.get("type").and_then(Value::as_str) {
        Some("string") => "text".to_owned(),
        Some("integer") => "whole number".to_owned(),
        Some("number") => "number".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("array") => format!(
            "list of {}",
            target.get("items").map_or_else(|| "values".to_owned(), kind_of)
        ),
        Some("object") if target.get("properties").is_none() => "object of your own names".to_owned(),
        Some("object") => "object".to_owned(),
        _ => "any JSON value".to_owned(),
    }
}

/// The words of an enumeration.
fn choices(node: &Value) -> Vec<String> {
    let node = resolve(node);
    let one = |v: &Value| v.as_str().map(str::to_owned);
    let listed = |v: &Value| {
        v.get("enum")
            .and_then(Value::as_array)
            .map(|l| l.iter().filter_map(one).collect())
    };
    if let Some(words) = listed(node) {
        return words;
    }
    let alternatives = node.get("oneOf").and_then(Value::as_array);
    alternatives
        .into_iter()
        .flatten()
        .flat_map(|alternative| {
            listed(alternative).unwrap_or_else(|| alternative.get("const").and_then(one).into_iter().collect())
        })
        .collect()
}

fn example_of(node: &Value) -> Option<Value> {
    let first = |n: &Value| n.get("examples").and_then(|e| e.get(0)).cloned();
    first(node)
        .or_else(|| first(resolve(node)))
        .or_else(|| node.get("default").cloned())
}

/// A right value: the one that the schema names, or one that is made of what it says of its parts.
fn right_one(node: &Value, depth: usize) -> Option<Value> {
    if let Some(named) = example_of(node).filter(|named| named.as_object().is_none_or(|map| !map.is_empty())) {
        return Some(named);
    }
    let target = resolve(node);
    if depth > 4 {
        return None;
    }
    if let Some(properties) = target.get("properties").and_then(Value::as_object) {
        let required = target.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        let part = |name: &str| Some((name.to_owned(), right_one(properties.get(name)?, depth + 1)?));
        let told = |value: &Value| !value.is_null() && value.as_object().is_none_or(|map| !map.is_empty());
        let parts: serde_json::Map<String, Value> = if required.is_empty() {
            let mut all = properties.keys().filter_map(|name| part(name));
            all.find(|(_, value)| told(value)).into_iter().collect()
        } else {
            required.into_iter().filter_map(part).collect()
        };
        return Some(Value::Object(parts));
    }
    if let Some(value) = target.get("additionalProperties").filter(|v| v.is_object()) {
        return Some(serde_json::json!({ "name": right_one(value, depth + 1)? }));
    }
    let items = target.get("items")?;
    Some(Value::Array(vec![right_one(items, depth + 1)?]))
}

/// The schema of a path: properties, names of maps, elements of lists, references followed.
fn lookup(path: &JsonPath) -> Option<&'static Value> {
    let mut node = schema();
    for step in &path.0 {
        let target = resolve(node);
        node = match step {
            Step::Key(key) => target
                .get("properties")
                .and_then(|p| p.get(key))
                .or_else(|| target.get("additionalProperties").filter(|v| v.is_object()))?,
            Step::Index(_) => target.get("items")?,
        };
    }
    Some(node)
}

fn resolve(node: &Value) -> &Value {
    let name = node
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|r| r.strip_prefix("#/$defs/"));
    let definition = |name| schema().get("$defs").and_then(|defs| defs.get(name));
    name.and_then(definition).unwrap_or(node)
}

/// A JSON pointer as a path; whether a step is an index is read off the value itself.
fn instance_path(pointer: &str, root: &Value) -> JsonPath {
    let mut path = JsonPath::default();
    let mut at = Some(root);
    for raw in pointer.split('/').skip(1) {
        let name = raw.replace("~1", "/").replace("~0", "~");
        path = match (at, name.parse::<usize>()) {
            (Some(Value::Array(list)), Ok(index)) => {
                at = list.get(index);
                path.index(index)
            }
            (Some(value), _) => {
                at = value.get(&name);
                path.key(&name)
            }
            (None, _) => path.key(&name),
        };
    }
    path
}

fn remove(value: &mut Value, path: &JsonPath) {
    let Some((last, parents)) = path.0.split_last() else {
        *value = Value::Object(serde_json::Map::new());
        return;
    };
    let mut at = value;
    for step in parents {
        let next = match step {
            Step::Key(key) => at.get_mut(key),
            Step::Index(index) => at.get_mut(*index),
        };
        match next {
            Some(next) => at = next,
            None => return,
        }
    }
    match (at, last) {
        (Value::Object(map), Step::Key(key)) => {
            map.remove(key);
        }
        (Value::Array(list), Step::Index(index)) if *index < list.len() => {
            list.remove(*index);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(value: &Value) -> Vec<String> {
        violations(value)
            .0
            .iter()
            .map(|p| format!("{} {} | {}", p.path, p.what, p.example.as_deref().unwrap_or("-")))
            .collect()
    }

    #[test]
    fn every_violation_is_told_in_one_pass() {
        let value = json!({
            "mode": "auto",
            "repo": {},
            "limits": {"usd_per_day": "20", "diff_lines": 0},
            "repos": {"web": {"health": [{"url": 5}, {"nmae": "x"}], "loki": {}}},
        });
        assert_eq!(
            told(&value),
            [
                "limits.diff_lines 0 is below 1 | 400",
                "limits.usd_per_day \"20\" is text | 20",
                "mode \"auto\" is not one of observe, diagnose, monitor-only, active | \"monitor-only\"",
                "repo is not a key that tick knows | repos",
                "repos.web.health[0].url 5 is a number | \"https://acme.example/health\"",
                "repos.web.health[1].nmae is not a key that tick knows | name",
                "repos.web.health[1].url is missing | \"https://acme.example/health\"",
                "repos.web.loki belongs to a part of tick that this version does not have; remove it | -",
            ]
        );
    }

    #[test]
    fn each_object_has_an_example_that_is_right() {
        for key in std::iter::once(String::new()).chain(all_keys()) {
            let path = JsonPath::parse(&key.replace("[]", "[0]")).unwrap();
            assert!(right_one(lookup(&path).unwrap(), 0).is_some(), "{key} has no example");
        }
        let root = right_one(schema(), 0).unwrap();
        assert_eq!(violations(&root).0, []);
        let value = json!({"limits": [], "repos": {"web": [], "api": {"health": [[]]}}});
        for problem in violations(&value).0 {
            let example: Value = serde_json::from_str(&problem.example.unwrap()).unwrap();
            assert!(
                example.as_object().is_some_and(|map| !map.is_empty()),
                "{}",
                problem.path
            );
        }
    }

    #[test]
    fn a_key_of_another_place_is_told_where_it_stands() {
        let value = json!({
            "diff_lines": 3,
            "repos": {"web": {"sensitivePath": [], "usd_per_day": 1, "health": [{"url": "https://a.example", "sensitivePaths": []}]}},
        });
        assert_eq!(
            told(&value),
            [
                "diff_lines is not a key that tick knows here | diff_lines in limits",
                "repos.web.health[0].sensitivePaths is not a key that tick knows here | sensitivePaths at the top of the file",
                "repos.web.sensitivePath is not a key that tick knows here | sensitivePaths at the top of the file",
                "repos.web.usd_per_day is not a key that tick knows here | usd_per_day in limits",
            ]
        );
    }

    #[test]
    fn what_is_left_after_the_violations_is_a_config() {
        let value = json!({"mode": 7, "repos": {"web": {"health": [{"url": 5}], "branch": "main"}}});
        let (_, rest, _) = violations(&value);
        let root: raw::Root = serde_json::from_value(rest).unwrap();
        assert_eq!(root.repos["web"].branch.as_deref(), Some("main"));
    }

    #[test]
    fn every_key_has_a_description_and_every_leaf_an_example() {
        for key in all_keys() {
            let path = JsonPath::parse(&key.replace("[]", "[0]")).unwrap();
            let explained = explain(&path).unwrap_or_else(|| panic!("{key} has no schema"));
            assert!(!explained.description.is_empty(), "{key} has no description");
            if explained.keys.is_empty() {
                assert!(explained.example.is_some(), "{key} has no example");
            }
        }
    }

    #[test]
    fn a_key_is_explained_with_its_default() {
        let path = JsonPath::parse("limits.usd_per_day").unwrap();
        let explained = explain(&path).unwrap();
        assert_eq!(explained.description, "Dollars in one day (UTC). Default: 5.");
        assert_eq!(explained.default, Some(json!(5.0)));
        assert_eq!(explain(&JsonPath::parse("limits.nothing").unwrap()), None);
    }
}
