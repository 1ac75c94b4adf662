//! The forms of replies, as JSON Schemas, and the check that a reply has one.

use serde_json::Value;

use super::Role;

pub const fn schema(role: Role) -> &'static str {
    match role {
        Role::Triage => include_str!("../../../prompts/schemas/triage.json"),
        Role::Fix => include_str!("../../../prompts/schemas/fix.json"),
        Role::Audit => include_str!("../../../prompts/schemas/audit.json"),
    }
}

/// The first thing in which a reply does not fit. The text quotes the reply.
pub(super) fn check(schema: &str, reply: &Value) -> Result<(), String> {
    let schema: Value = serde_json::from_str(schema).map_err(|error| format!("the schema is not JSON: {error}"))?;
    let validator = jsonschema::validator_for(&schema).map_err(|error| format!("the schema is wrong: {error}"))?;
    validator.validate(reply).map_err(|error| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() {
            "the reply".to_owned()
        } else {
            place
        };
        format!("{place}: {error}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_has_a_form() {
        let good = [
            r#"{"incidents":[{"signature":"7f3a91c07f3a91c0","verdict":"bug","failure_type":"runtime","repo":"web",
                "root_cause":"x","suspected_files":["a.py"],"confidence":0.5}]}"#,
            r#"{"status":"fixed","root_cause":"a","summary":"b","tests":[]}"#,
            r#"{"verdict":"approve","head_sha":"3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201","reasons":[]}"#,
        ];
        for (role, text) in Role::ALL.into_iter().zip(good) {
            let reply: Value = serde_json::from_str(text).unwrap();
            assert_eq!(check(schema(role), &reply), Ok(()), "{role:?}");
            let mut more = reply;
            more["override"] = true.into();
            let why = check(schema(role), &more).unwrap_err();
            assert!(why.contains("override"), "{why}");
        }
        let wrong: Value = serde_json::from_str(r#"{"verdict":"approved!","head_sha":"x","reasons":[]}"#).unwrap();
        assert!(check(schema(Role::Audit), &wrong).is_err());
    }
}
