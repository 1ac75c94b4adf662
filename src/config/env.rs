//! The environment of this process and the `.env` of the home: the only place that reads either. Values are secrets
//! until the config says otherwise; no message quotes one.

use std::{collections::BTreeMap, path::PathBuf};

use secrecy::SecretString;

/// Names and values; the real environment wins over `.env`.
#[derive(Clone, Default)]
pub struct Environment {
    values: BTreeMap<String, String>,
}

impl Environment {
    /// Of this process. Names and values that are not UTF-8 are left out.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Self {
        // `vars` panics on what is not UTF-8, so each one is asked for by itself.
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        Self {
            values: names
                .filter_map(|name| std::env::var(&name).ok().map(|value| (name, value)))
                .collect(),
        }
    }

    /// For tests and for the demo.
    pub fn new<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self {
            values: values.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
        }
    }

    /// An empty value counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|v| !v.is_empty())
    }

    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.get(name).map(|value| SecretString::from(value.to_owned()))
    }

    /// Adds what the environment does not have.
    pub fn fill_from(&mut self, dotenv: BTreeMap<String, String>) {
        for (name, value) in dotenv {
            self.values.entry(name).or_insert(value);
        }
    }

    /// The absolute directories of PATH, in order.
    pub fn path(&self) -> Vec<PathBuf> {
        self.get("PATH")
            .map(|path| std::env::split_paths(path).filter(|dir| dir.is_absolute()).collect())
            .unwrap_or_default()
    }

    pub fn dir(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|dir| dir.is_absolute())
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

/// A name that the environment can have: letters, digits, underscore, no digit first.
pub fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// As people write names of variables: upper case, digits only beside an underscore. Anything else in the place of a
/// name may be the secret itself.
pub fn is_usual_name(name: &str) -> bool {
    let upper = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let digits = name.bytes().any(|b| b.is_ascii_digit());
    is_name(name) && name.bytes().all(upper) && name.len() <= 60 && (!digits || name.contains('_'))
}

/// `NAME=VALUE` a line, `#` comments, single or double quotes; nothing is expanded. The error is one sentence a line
/// that cannot be read; it never quotes the line, which may hold a secret.
pub fn parse_dotenv(text: &str) -> Result<BTreeMap<String, String>, Vec<String>> {
    let mut values = BTreeMap::new();
    let mut wrong = Vec::new();
    for (n, line) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        match line
            .split_once('=')
            .map(|(name, value)| (name.trim(), parse_value(value.trim())))
        {
            Some((name, Some(value))) if is_name(name) => {
                values.insert(name.to_owned(), value);
            }
            Some((name, None)) if is_name(name) => {
                wrong.push(format!("line {}: the quotes of {name} are not closed", n + 1));
            }
            Some(_) | None => wrong.push(format!("line {} is not NAME=VALUE", n + 1)),
        }
    }
    if wrong.is_empty() { Ok(values) } else { Err(wrong) }
}

/// `None` where a quote is not closed or something follows it.
fn parse_value(text: &str) -> Option<String> {
    let after_is_comment = |rest: &str| rest.trim().is_empty() || rest.trim_start().starts_with('#');
    if let Some(inner) = text.strip_prefix('\'') {
        let (value, rest) = inner.split_once('\'')?;
        return after_is_comment(rest).then(|| value.to_owned());
    }
    if let Some(inner) = text.strip_prefix('"') {
        let mut value = String::new();
        let mut chars = inner.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return after_is_comment(&inner[at + 1..]).then_some(value),
                '\\' => match chars.next()?.1 {
                    'n' => value.push('\n'),
                    escaped @ ('"' | '\\') => value.push(escaped),
                    other => value.extend(['\\', other]),
                },
                other => value.push(other),
            }
        }
        return None;
    }
    let end = text.find(" #").unwrap_or(text.len());
    Some(text[..end].trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(line: &str) -> Option<String> {
        parse_dotenv(line).ok()?.into_values().next()
    }

    #[test]
    fn values_are_read_as_written() {
        for (line, expected) in [
            ("A=b", "b"),
            ("A = b ", "b"),
            ("export A=b", "b"),
            ("A=b # why", "b"),
            ("A=b#c", "b#c"),
            ("A='b # c'", "b # c"),
            ("A=\"b \\\"c\\\" \\n d\" # why", "b \"c\" \n d"),
            ("A=$HOME`id`", "$HOME`id`"),
            ("A=", ""),
            ("A=b=c", "b=c"),
        ] {
            assert_eq!(value_of(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told_by_number_only() {
        let wrong = parse_dotenv("A=b\nnot-a-real-secret\n1A=x\nB='open").unwrap_err();
        assert_eq!(
            wrong,
            [
                "line 2 is not NAME=VALUE",
                "line 3 is not NAME=VALUE",
                "line 4: the quotes of B are not closed"
            ]
        );
    }

    #[test]
    fn the_environment_of_the_process_is_read() {
        assert!(Environment::of_process().get("PATH").is_some());
    }

    #[test]
    fn the_real_environment_wins() {
        let mut env = Environment::new([("A", "real"), ("E", "")]);
        env.fill_from(parse_dotenv("A=file\nB=file").unwrap());
        assert_eq!(env.get("A"), Some("real"));
        assert_eq!(env.get("B"), Some("file"));
        assert_eq!(env.get("E"), None);
        assert_eq!(format!("{env:?}"), r#"{"A", "B", "E"}"#);
    }
}
