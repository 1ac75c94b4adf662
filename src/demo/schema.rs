//! Holds replies of the world's forge against the published description of the real one. Takes the description as a
//! value: tests load it from `tests/schemas`. It knows OpenAPI 3.0, and nothing about the world.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// More problems than this are not listed for one reply.
const LISTED: usize = 20;

/// A description whose schemas are plain JSON Schema.
pub struct Description {
    paths: Value,
    components: Value,
    /// Compiled once for each place in the description.
    ready: Mutex<BTreeMap<String, Arc<Validator>>>,
}

impl Description {
    /// `additions` holds further paths in the same form; it may not replace what is published.
    pub fn new(openapi: &Value, additions: &Value) -> Self {
        let mut paths = as_json_schema(&openapi["paths"]);
        if let (Value::Object(paths), Value::Object(more)) = (&mut paths, as_json_schema(&additions["paths"])) {
            for (path, operations) in more {
                paths.entry(path).or_insert(operations);
            }
        }
        Self {
            paths,
            components: as_json_schema(&openapi["components"]),
            ready: Mutex::new(BTreeMap::new()),
        }
    }

    /// Whether this reply is one that the description allows; else every difference, each with its place.
    pub fn check(&self, method: &str, template: &str, status: u16, body: &Value) -> Result<(), Vec<String>> {
        let at = format!("{method} {template} {status}");
        let operation = &self.paths[template][method.to_ascii_lowercase()];
        if operation.is_null() {
            return Err(vec![format!("{at}: the description has no such call")]);
        }
        let response = self
            .response(operation, status)
            .ok_or_else(|| vec![format!("{at}: status is not described")])?;
        let Some(schema) = response["content"].get("application/json").map(|c| &c["schema"]) else {
            return if body.is_null() {
                Ok(())
            } else {
                Err(vec![format!("{at}: a body where none is described")])
            };
        };
        let validator = self.validator(&at, schema).map_err(|e| vec![format!("{at}: {e}")])?;
        let problems: Vec<String> = validator
            .iter_errors(body)
            .take(LISTED)
            .map(|e| format!("{at}: {}: {}", e.instance_path(), shortened(&e.to_string())))
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Refusals that any call may meet are described by the general error.
    fn response(&self, operation: &Value, status: u16) -> Option<Value> {
        let described = &operation["responses"][status.to_string()];
        if let Some(reference) = described["$ref"].as_str() {
            let name = reference.strip_prefix("#/components/responses/")?;
            return Some(self.components["responses"][name].clone()).filter(|r| !r.is_null());
        }
        if described.is_object() {
            return Some(described.clone());
        }
        let general = matches!(status, 401 | 403 | 404 | 410 | 429 | 500..=599);
        general
            .then(|| json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/basic-error"}}}}))
    }

    fn validator(&self, at: &str, schema: &Value) -> Result<Arc<Validator>, String> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(validator) = ready.get(at) {
            return Ok(Arc::clone(validator));
        }
        let whole = json!({"allOf": [schema], "components": self.components});
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true)
            .build(&whole)
            .map_err(|e| format!("the description can not be used: {e}"))?;
        let validator = Arc::new(validator);
        ready.insert(at.to_owned(), Arc::clone(&validator));
        Ok(validator)
    }
}

/// OpenAPI 3.0 differs from JSON Schema in how it says that null is allowed.
fn as_json_schema(value: &Value) -> Value {
    match value {
        Value::Object(map) => object_as_json_schema(map),
        Value::Array(items) => items.iter().map(as_json_schema).collect(),
        other => other.clone(),
    }
}

fn object_as_json_schema(map: &Map<String, Value>) -> Value {
    let mut out = Map::new();
    for (key, value) in map {
        let converted = match (key.as_str(), value) {
            ("nullable", Value::Bool(_)) => continue,
            // Data, not schemas.
            ("enum" | "default" | "required", _) => value.clone(),
            // Names of properties are no keywords.
            ("properties", Value::Object(properties)) => properties
                .iter()
                .map(|(name, p)| (name.clone(), as_json_schema(p)))
                .collect(),
            _ => as_json_schema(value),
        };
        out.insert(key.clone(), converted);
    }
    if map.get("nullable") == Some(&Value::Bool(true)) {
        json!({"anyOf": [{"type": "null"}, out]})
    } else {
        Value::Object(out)
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(300).collect();
    if text.chars().count() > 300 {
        short.push('…');
    }
    short
}

#[cfg(test)]
pub(crate) mod graphql;
#[cfg(test)]
mod railway;
#[cfg(test)]
mod sentry;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod vercel;
#[cfg(test)]
mod world;
