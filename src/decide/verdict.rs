//! Replies of agents, read strictly. What a model says is data: a reply that is not exactly of its form is refused
//! with the reason, and nothing in it becomes a path, a flag or a verdict about itself.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{
    model::{
        Sha, Signature, Slot,
        evidence::{Audit, AuditVerdict},
        incident::{FailureType, Triage, TriageVerdict},
    },
    text::json::{self, ObjectFault, kind},
};

/// Longest free text in a reply, in characters.
const MAX_TEXT: usize = 8_000;
/// Longest list in a reply.
const MAX_ITEMS: usize = 100;
/// Longest path in a reply, in bytes.
const MAX_PATH: usize = 400;

/// Why a reply does not count. The text may quote the reply, so it is as untrusted as that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerdictError {
    #[error("the reply is not one JSON object: {0}")]
    Json(#[from] ObjectFault),
    #[error("{place} is {found}, not {expected}")]
    Kind {
        place: String,
        found: &'static str,
        expected: &'static str,
    },
    #[error("{0} is missing")]
    Missing(String),
    #[error("{0} is not a field of this reply")]
    Unknown(String),
    #[error("{place} is {value:?}, not {expected}")]
    Value {
        place: String,
        value: String,
        expected: String,
    },
    #[error("the reply names commit {found:?}, not the head {expected} that was judged")]
    OtherHead { found: String, expected: String },
    #[error("cause {0} is answered twice")]
    Twice(Signature),
    #[error("cause {0:?} was not asked about")]
    NotAsked(String),
}

/// What the fixer said it did. Whether it did is for the proof to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixReply {
    Fixed {
        root_cause: String,
        summary: String,
        tests: Vec<String>,
    },
    CannotFix {
        reason: String,
    },
}

/// Exactly one JSON object: nothing around it, no repeated key, bounded nesting.
pub fn parse_reply(bytes: &[u8]) -> Result<Value, VerdictError> {
    Ok(Value::Object(json::one_object(bytes)?))
}

/// Answers of triage for the signatures that were asked about. One that is left out stays unanswered.
pub fn parse_triage(reply: &Value, expected: &[Signature], repo: &Slot) -> Result<Vec<Triage>, VerdictError> {
    let mut fields = Fields::of(reply, "the reply")?;
    let incidents = fields.array("incidents")?;
    fields.end()?;
    let mut answered = BTreeSet::new();
    let mut answers = Vec::new();
    for (index, incident) in incidents.iter().enumerate() {
        let answer = triage_of(incident, &format!("incidents[{index}]"), expected, repo)?;
        if !answered.insert(answer.signature.clone()) {
            return Err(VerdictError::Twice(answer.signature));
        }
        answers.push(answer);
    }
    Ok(answers)
}

fn triage_of(incident: &Value, place: &str, expected: &[Signature], repo: &Slot) -> Result<Triage, VerdictError> {
    let mut fields = Fields::of(incident, place)?;
    let signature = signature_of(&fields, "signature")?;
    if !expected.contains(&signature) {
        return Err(VerdictError::NotAsked(signature.to_string()));
    }
    let answer = Triage {
        verdict: fields.word("verdict", TRIAGE_VERDICTS)?,
        failure_type: fields.word("failure_type", FAILURE_TYPES)?,
        repo: repo_of(&fields, repo)?,
        root_cause: fields.text("root_cause")?,
        suspected_files: fields.paths("suspected_files")?,
        confidence: confidence_of(&fields)?,
        same_as: match fields.map.get("same_as") {
            None | Some(Value::Null) => None,
            Some(_) => Some(signature_of(&fields, "same_as")?),
        },
        signature,
    };
    fields.used.extend(["signature", "repo", "confidence", "same_as"]);
    if answer.same_as.as_ref() == Some(&answer.signature) {
        return Err(fields.wrong("same_as", answer.signature.as_str(), "another cause"));
    }
    fields.end()?;
    Ok(answer)
}

/// The fixer's reply. `cannot-fix` needs a reason; `fixed` needs a root cause, a summary and the list of tests.
pub fn parse_fix(reply: &Value) -> Result<FixReply, VerdictError> {
    let mut fields = Fields::of(reply, "the reply")?;
    let reply = if fields.word("status", FIX_STATUSES)? {
        fields.optional_text("reason")?;
        FixReply::Fixed {
            root_cause: fields.text("root_cause")?,
            summary: fields.text("summary")?,
            tests: fields.texts("tests")?,
        }
    } else {
        fields.optional_text("root_cause")?;
        fields.optional_text("summary")?;
        if fields.map.contains_key("tests") {
            fields.texts("tests")?;
        }
        let reason = fields.text("reason")?;
        if reason.trim().is_empty() {
            return Err(fields.wrong("reason", "", "a reason"));
        }
        FixReply::CannotFix { reason }
    };
    fields.end()?;
    Ok(reply)
}

/// The auditor's reply, bound to the head that was judged. Every error here is a rejection.
pub fn parse_audit(reply: &Value, head: &Sha, agent: &str, sandbox: &str) -> Result<Audit, VerdictError> {
    let mut fields = Fields::of(reply, "the reply")?;
    let verdict = fields.word("verdict", AUDIT_VERDICTS)?;
    let named = fields.string("head_sha")?;
    if named != head.as_str() {
        return Err(VerdictError::OtherHead {
            found: excerpt(&named),
            expected: head.to_string(),
        });
    }
    let reasons = fields.texts("reasons")?;
    fields.end()?;
    Ok(Audit {
        verdict,
        head: head.clone(),
        agent: agent.to_owned(),
        reasons,
        sandbox: sandbox.to_owned(),
    })
}

const TRIAGE_VERDICTS: &[(&str, TriageVerdict)] = &[
    ("bug", TriageVerdict::Bug),
    ("noise", TriageVerdict::Noise),
    ("infrastructure", TriageVerdict::Infrastructure),
    ("auth", TriageVerdict::Auth),
    ("config", TriageVerdict::Config),
    ("needs-human", TriageVerdict::NeedsHuman),
];

const FAILURE_TYPES: &[(&str, FailureType)] = &[
    ("runtime", FailureType::Runtime),
    ("unit", FailureType::Unit),
    ("e2e", FailureType::E2e),
    ("build", FailureType::Build),
    ("deploy", FailureType::Deploy),
    ("migration", FailureType::Migration),
    ("visual", FailureType::Visual),
    ("health", FailureType::Health),
    ("agent-task", FailureType::AgentTask),
];

const AUDIT_VERDICTS: &[(&str, AuditVerdict)] = &[
    ("approve", AuditVerdict::Approve),
    ("revise", AuditVerdict::Revise),
    ("reject", AuditVerdict::Reject),
];

/// True for `fixed`.
const FIX_STATUSES: &[(&str, bool)] = &[("fixed", true), ("cannot-fix", false)];

/// The fields of one object. Derived deserializers also take arrays for structs and objects for enums, so the
/// fields are read by hand.
struct Fields<'a> {
    place: String,
    map: &'a Map<String, Value>,
    used: BTreeSet<&'static str>,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value, place: &str) -> Result<Self, VerdictError> {
        let Some(map) = value.as_object() else {
            return Err(VerdictError::Kind {
                place: place.to_owned(),
                found: kind(value),
                expected: "an object",
            });
        };
        Ok(Self {
            place: place.to_owned(),
            map,
            used: BTreeSet::new(),
        })
    }

    fn at(&self, name: &str) -> String {
        format!("`{name}` of {}", self.place)
    }

    fn wrong(&self, name: &str, value: &str, expected: impl Into<String>) -> VerdictError {
        VerdictError::Value {
            place: self.at(name),
            value: excerpt(value),
            expected: expected.into(),
        }
    }

    fn get(&self, name: &str) -> Result<&'a Value, VerdictError> {
        self.map.get(name).ok_or_else(|| VerdictError::Missing(self.at(name)))
    }

    fn not(&self, name: &str, found: &Value, expected: &'static str) -> VerdictError {
        VerdictError::Kind {
            place: self.at(name),
            found: kind(found),
            expected,
        }
    }

    fn peek(&self, name: &str) -> Result<&'a str, VerdictError> {
        let value = self.get(name)?;
        value.as_str().ok_or_else(|| self.not(name, value, "a string"))
    }

    fn string(&mut self, name: &'static str) -> Result<String, VerdictError> {
        self.used.insert(name);
        self.peek(name).map(str::to_owned)
    }

    fn text(&mut self, name: &'static str) -> Result<String, VerdictError> {
        let text = self.string(name)?;
        if text.chars().count() > MAX_TEXT {
            return Err(self.wrong(name, &text, format!("at most {MAX_TEXT} characters")));
        }
        Ok(text)
    }

    fn optional_text(&mut self, name: &'static str) -> Result<(), VerdictError> {
        if self.map.contains_key(name) {
            self.text(name)?;
        }
        Ok(())
    }

    fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Result<T, VerdictError> {
        let text = self.string(name)?;
        words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, value)| *value)
            .ok_or_else(|| {
                let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                self.wrong(name, &text, format!("one of {}", known.join(", ")))
            })
    }

    fn array(&mut self, name: &'static str) -> Result<&'a [Value], VerdictError> {
        self.used.insert(name);
        let value = self.get(name)?;
        let Some(items) = value.as_array() else {
            return Err(self.not(name, value, "an array"));
        };
        if items.len() > MAX_ITEMS {
            let found = format!("{} items", items.len());
            return Err(self.wrong(name, &found, format!("at most {MAX_ITEMS} items")));
        }
        Ok(items)
    }

    fn texts(&mut self, name: &'static str) -> Result<Vec<String>, VerdictError> {
        let mut texts = Vec::new();
        for item in self.array(name)? {
            let Some(text) = item.as_str() else {
                return Err(self.not(name, item, "an array of strings"));
            };
            if text.chars().count() > MAX_TEXT {
                return Err(self.wrong(name, text, format!("at most {MAX_TEXT} characters")));
            }
            texts.push(text.to_owned());
        }
        Ok(texts)
    }

    fn paths(&mut self, name: &'static str) -> Result<Vec<String>, VerdictError> {
        let paths = self.texts(name)?;
        match paths.iter().find(|path| !is_inner_path(path)) {
            Some(path) => Err(self.wrong(name, path, "a path inside the repository")),
            None => Ok(paths),
        }
    }

    /// Refuses what nobody read.
    fn end(self) -> Result<(), VerdictError> {
        match self.map.keys().find(|key| !self.used.contains(key.as_str())) {
            Some(key) => Err(VerdictError::Unknown(self.at(&excerpt(key)))),
            None => Ok(()),
        }
    }
}

fn signature_of(fields: &Fields<'_>, name: &str) -> Result<Signature, VerdictError> {
    let text = fields.peek(name)?;
    Signature::parse(text).map_err(|_| fields.wrong(name, text, "a signature (16 lower-case hex digits)"))
}

fn repo_of(fields: &Fields<'_>, repo: &Slot) -> Result<Slot, VerdictError> {
    let text = fields.peek("repo")?;
    if text == repo.as_str() {
        Ok(repo.clone())
    } else {
        Err(fields.wrong("repo", text, format!("the repo {repo}")))
    }
}

fn confidence_of(fields: &Fields<'_>) -> Result<f64, VerdictError> {
    let value = fields.get("confidence")?;
    let Some(confidence) = value.as_f64() else {
        return Err(fields.not("confidence", value, "a number"));
    };
    if (0.0..=1.0).contains(&confidence) {
        Ok(confidence)
    } else {
        Err(fields.wrong("confidence", &confidence.to_string(), "a number from 0 to 1"))
    }
}

/// Relative, plain and downwards only.
fn is_inner_path(path: &str) -> bool {
    !path.is_empty()
        && path.len() <= MAX_PATH
        && !path.contains(['\\', ':'])
        && !path.chars().any(char::is_control)
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && !path.starts_with('-')
        && !path.starts_with('~')
}

fn excerpt(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests;
