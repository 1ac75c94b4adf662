//! Identifiers. Each is normalised and checked when it is made, so that no other part sees a malformed one.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// What was wrong with the text of an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {expected}")]
pub struct InvalidId {
    pub value: String,
    pub expected: &'static str,
}

fn invalid(value: &str, expected: &'static str) -> InvalidId {
    InvalidId {
        value: value.chars().take(80).collect(),
        expected,
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::parse(text)
            }
        }
    };
}

text_id! {
    /// Stable identity of a cause: 16 lower-case hex digits.
    Signature
}
text_id! {
    /// A git object id: 40 (or, for SHA-256 repositories, 64) lower-case hex digits.
    Sha
}
text_id! {
    /// The owner's name for a repository in the config.
    Slot
}
text_id! {
    /// `<signature>-<generation>`: one life of a cause.
    IncidentId
}
text_id! {
    /// `<incident>/<n>`: one try at repairing an incident; n counts from 1.
    AttemptId
}
text_id! {
    /// UTC second and a counter from the store, such as `20261129T030000Z-17`.
    TickId
}
text_id! {
    /// Marks every process that one agent or test run started (`TICK_RUN_ID` in its environment).
    RunId
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

impl Signature {
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        if text.len() == 16 && is_lower_hex(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(invalid(text, "a signature (16 lower-case hex digits)"))
        }
    }

    /// What people see: the first eight digits.
    pub fn short(&self) -> &str {
        &self.0[..8]
    }
}

impl Sha {
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let text = text.trim().to_ascii_lowercase();
        if (text.len() == 40 || text.len() == 64) && is_lower_hex(&text) {
            Ok(Self(text))
        } else {
            Err(invalid(&text, "a git object id (40 or 64 hex digits)"))
        }
    }

    /// The first seven digits, as people quote a commit.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl Slot {
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let fits = !text.is_empty()
            && text.len() <= 40
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
            && !text.starts_with('-');
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(invalid(
                text,
                "a repo slot (lower-case letters, digits, - and _, at most 40)",
            ))
        }
    }
}

impl IncidentId {
    pub fn new(signature: &Signature, generation: u32) -> Self {
        Self(format!("{signature}-{generation}"))
    }

    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let ok = text.split_once('-').is_some_and(|(sig, generation)| {
            Signature::parse(sig).is_ok() && generation.parse::<u32>().is_ok_and(|g| g >= 1)
        });
        if ok {
            Ok(Self(text.to_owned()))
        } else {
            Err(invalid(text, "an incident id (<signature>-<generation>)"))
        }
    }

    pub fn signature(&self) -> Signature {
        Signature(self.0[..16].to_owned())
    }

    pub fn generation(&self) -> u32 {
        self.0[17..].parse().unwrap_or(1)
    }

    /// One branch an incident: `fix/auto-<first 8 of sig>`, with `-2` from the second generation on.
    pub fn branch(&self) -> String {
        let generation = self.generation();
        let suffix = if generation > 1 {
            format!("-{generation}")
        } else {
            String::new()
        };
        format!("fix/auto-{}{suffix}", &self.0[..8])
    }

    /// The branch on which CI runs the tests of a fix without the fix.
    pub fn witness_branch(&self) -> String {
        format!("{}-witness", self.branch())
    }

    /// The branch on which our own merge of this incident is taken back.
    pub fn revert_branch(&self) -> String {
        format!("{}-revert", self.branch())
    }
}

impl AttemptId {
    pub fn new(incident: &IncidentId, n: u32) -> Self {
        Self(format!("{incident}/{n}"))
    }

    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let ok = text
            .split_once('/')
            .is_some_and(|(incident, n)| IncidentId::parse(incident).is_ok() && n.parse::<u32>().is_ok_and(|n| n >= 1));
        if ok {
            Ok(Self(text.to_owned()))
        } else {
            Err(invalid(text, "an attempt id (<incident>/<n>)"))
        }
    }

    /// Safe as one component of a path: the slash becomes a dot.
    pub fn file_name(&self) -> String {
        self.0.replace('/', ".")
    }
}

impl TickId {
    pub fn new(second: &str, counter: u64) -> Self {
        Self(format!("{second}-{counter}"))
    }

    /// The id with the next counter.
    #[must_use]
    pub fn following(&self) -> Self {
        let (second, counter) = self.0.rsplit_once('-').unwrap_or((&self.0, "0"));
        Self::new(second, counter.parse().unwrap_or(0_u64).saturating_add(1))
    }

    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let fits = !text.is_empty() && text.len() <= 48 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(invalid(text, "a tick id (such as 20261129T030000Z-17)"))
        }
    }
}

impl RunId {
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let fits = !text.is_empty()
            && text.len() <= 120
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'));
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(invalid(text, "a run id"))
        }
    }
}

/// `owner/name` of a repository on the forge; compared without case, as the forge does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct RepoName {
    owner: String,
    name: String,
}

impl RepoName {
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let part = |p: &str| {
            !p.is_empty()
                && p.len() <= 100
                && p != "."
                && p != ".."
                && !p.starts_with('-')
                && p.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        match text.split_once('/') {
            Some((owner, name)) if part(owner) && part(name) => Ok(Self {
                owner: owner.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(invalid(text, "a repository name (owner/name)")),
        }
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl From<RepoName> for String {
    fn from(repo: RepoName) -> Self {
        repo.to_string()
    }
}

impl<'de> Deserialize<'de> for RepoName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PullNumber(pub u64);

impl fmt::Display for PullNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_checked_when_made() {
        assert!(Signature::parse("7f3a91c07f3a91c0").is_ok());
        assert!(Signature::parse("../../state/seen").is_err());
        assert!(Sha::parse("ABCDEF0123456789abcdef0123456789abcdef01").is_ok());
        assert!(Sha::parse("--upload-pack=x").is_err());
        assert!(RepoName::parse("acme/web").is_ok());
        assert!(RepoName::parse("acme/..").is_err());
        assert!(RepoName::parse("-u/x").is_err());
        assert!(Slot::parse("web").is_ok());
        assert!(Slot::parse("../web").is_err());
    }

    #[test]
    fn an_incident_names_its_branch() {
        let sig = Signature::parse("7f3a91c07f3a91c0").unwrap();
        assert_eq!(IncidentId::new(&sig, 1).branch(), "fix/auto-7f3a91c0");
        let second = IncidentId::new(&sig, 2);
        assert_eq!(second.branch(), "fix/auto-7f3a91c0-2");
        assert_eq!(IncidentId::parse(second.as_str()).unwrap().generation(), 2);
        assert!(AttemptId::parse("7f3a91c07f3a91c0-1/2").is_ok());
    }
}
