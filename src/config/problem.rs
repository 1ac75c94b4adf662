//! One thing that is wrong with the configuration: where, what was found, and what would be right.
//! The words around a list of them are made in `render/config.rs`.

use std::fmt::{self, Write as _};

use crate::text::logs::PatternFault;

/// Steps from the root of the file to a value, printed as `repos.web.health[0].url`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct JsonPath(pub Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Key(String),
    Index(usize),
}

impl JsonPath {
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Key(key.to_owned()));
        Self(steps)
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Index(index));
        Self(steps)
    }

    /// The opposite of `Display`; `None` where the text is no path.
    pub fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        for part in text.split('.').filter(|_| !text.is_empty()) {
            let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            if name.is_empty() {
                return None;
            }
            steps.push(Step::Key(name.to_owned()));
            while !rest.is_empty() {
                let (index, more) = rest.strip_prefix('[')?.split_once(']')?;
                steps.push(Step::Index(index.parse().ok()?));
                rest = more;
            }
        }
        Some(Self(steps))
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) => {
                    f.write_str(if n == 0 { "" } else { "." })?;
                    // A name of the owner's may hold anything.
                    for c in key.chars() {
                        if c.is_control() {
                            write!(f, "{}", c.escape_default())?;
                        } else {
                            f.write_char(c)?;
                        }
                    }
                }
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// `what` is a sentence without a full stop that quotes the value found; `example` is a right value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub path: JsonPath,
    pub what: String,
    pub example: Option<String>,
    /// Only a value of this process's environment is missing: verbs that send nothing can do without.
    pub absent: bool,
}

impl Problem {
    pub fn new(path: JsonPath, what: impl Into<String>) -> Self {
        Self {
            path,
            what: what.into(),
            example: None,
            absent: false,
        }
    }

    /// Of a file of patterns, under the file's name.
    pub fn of_pattern(file: &str, fault: PatternFault) -> Self {
        let mut path = vec![Step::Key(file.to_owned())];
        path.extend(JsonPath::parse(&fault.at).unwrap_or_default().0);
        Self::new(JsonPath(path), fault.what).example(fault.example)
    }

    /// A value that this process's environment lacks.
    #[must_use]
    pub fn absent(mut self) -> Self {
        self.absent = true;
        self
    }

    #[must_use]
    pub fn example(mut self, example: impl Into<String>) -> Self {
        self.example = Some(example.into());
        self
    }
}

/// A value as a message quotes it: JSON, cut to what a line can hold.
pub fn quote(value: &serde_json::Value) -> String {
    quote_text(&value.to_string())
}

/// A part of the file as it stands there, cut the same.
pub fn quote_raw(text: &str) -> String {
    quote_text(text)
}

fn quote_text(text: &str) -> String {
    if text.chars().count() > 60 {
        let head: String = text.chars().take(59).collect();
        format!("{head}…")
    } else {
        text.to_owned()
    }
}

/// Text as a message quotes it.
pub fn quote_str(text: &str) -> String {
    quote_text(&serde_json::Value::from(text).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_it_prints() {
        for text in ["mode", "repos.web.health[0].url", "agents.define.mine.args[2]", ""] {
            assert_eq!(JsonPath::parse(text).unwrap().to_string(), text);
        }
        for text in ["a..b", "a[", "a[x]", "[0]"] {
            assert_eq!(JsonPath::parse(text), None, "{text}");
        }
    }
}
