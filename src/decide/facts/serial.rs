//! How spans of time and patterns are written down with a decision, so that a replay reads them back.

/// A span of time as whole seconds.
pub(in crate::decide) mod seconds {
    use chrono::TimeDelta;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in crate::decide) fn serialize<S: Serializer>(delta: &TimeDelta, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(delta.num_seconds())
    }

    pub(in crate::decide) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TimeDelta, D::Error> {
        let seconds = i64::deserialize(deserializer)?;
        TimeDelta::try_seconds(seconds).ok_or_else(|| D::Error::custom("too many seconds"))
    }
}

/// A pattern as its text.
pub(in crate::decide) mod pattern {
    use regex::Regex;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[expect(clippy::ref_option, reason = "serde's signature")]
    pub(in crate::decide) fn serialize<S: Serializer>(regex: &Option<Regex>, serializer: S) -> Result<S::Ok, S::Error> {
        regex.as_ref().map(Regex::as_str).serialize(serializer)
    }

    pub(in crate::decide) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Regex>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| Regex::new(&text).map_err(D::Error::custom)).transpose()
    }
}
