//! `tick redact`: standard input without secrets, personal data and terminal escapes.

use std::io::{BufRead, Write};

use anyhow::{Context, Result};
use clap::Args;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::lines;
use crate::text::{Redactor, Untrusted};

/// So many lines of a private key are held together; what goes on behind them is judged line by line.
const LONGEST_KEY: usize = 400;
const KEY_BEGINS: &str = "-----BEGIN PRIVATE KEY-----\n";

#[derive(Debug, Args)]
pub struct RedactArgs {
    /// Read and write JSON lines: {"id","text","known"} -> {"id","text"}
    #[arg(long)]
    pub jsonl: bool,
}

#[derive(Deserialize)]
struct Record {
    id: serde_json::Value,
    text: String,
    #[serde(default)]
    known: Known,
}

/// Values that the caller knows to be secret.
#[derive(Deserialize)]
#[serde(untagged)]
enum Known {
    One(String),
    Many(Vec<String>),
    None(()),
}

impl Default for Known {
    fn default() -> Self {
        Self::None(())
    }
}

#[derive(Serialize)]
struct Answer {
    id: serde_json::Value,
    text: String,
}

pub fn run(args: &RedactArgs, input: impl BufRead, output: &mut dyn Write) -> Result<()> {
    if args.jsonl {
        let shape = r#"{"id":"1","text":"…","known":["…"]}"#;
        return lines::each_json(input, output, shape, answer);
    }
    let redactor = Redactor::default();
    // Lines of a private key wait for its end: alone they look like nothing.
    let mut key: Vec<String> = Vec::new();
    let mut goes_on = false;
    lines::each_line(input, |_, line| {
        goes_on = goes_on && key.is_empty() && is_of_key(line);
        if goes_on {
            let text = clear(&[KEY_BEGINS, line].concat(), &redactor);
            let line = text.strip_prefix(KEY_BEGINS).unwrap_or(&text);
            return writeln!(output, "{line}").context("cannot write the redacted text");
        }
        if key.is_empty() && !begins_key(line) {
            return write_lines(output, &redactor, line);
        }
        let ends = line.contains("-----END ");
        key.push(line.to_owned());
        if ends || key.len() >= LONGEST_KEY {
            goes_on = !ends;
            return write_lines(output, &redactor, &std::mem::take(&mut key).join("\n"));
        }
        Ok(())
    })?;
    if key.is_empty() {
        return Ok(());
    }
    write_lines(output, &redactor, &key.join("\n"))
}

fn begins_key(line: &str) -> bool {
    line.split_once("-----BEGIN ")
        .is_some_and(|(_, rest)| rest.contains("PRIVATE KEY-----") && !rest.contains("-----END "))
}

/// Nothing but the letters of a key, as no sentence is.
fn is_of_key(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b))
}

fn write_lines(output: &mut dyn Write, redactor: &Redactor, text: &str) -> Result<()> {
    writeln!(output, "{}", clear(text, redactor)).context("cannot write the redacted text")
}

fn answer(record: Record) -> Answer {
    let known: Vec<SecretString> = match record.known {
        Known::One(value) => vec![value.into()],
        Known::Many(values) => values.into_iter().map(SecretString::from).collect(),
        Known::None(()) => Vec::new(),
    };
    Answer {
        id: record.id,
        text: clear(&record.text, &Redactor::new(&known)),
    }
}

fn clear(text: &str, redactor: &Redactor) -> String {
    Untrusted::new(text, redactor).analyse().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(jsonl: bool, input: &str) -> String {
        let mut out = Vec::new();
        run(&RedactArgs { jsonl }, input.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_line_out_for_one_line_in() {
        let text = "a\nKEY=-----BEGIN PRIVATE KEY-----\nTk9UUkVBTA\n-----END PRIVATE KEY-----\nAPI_TOKEN=fake0fake0\n";
        let want = "a\nKEY=-----BEGIN PRIVATE KEY-----\n[redacted:private-key]\n-----END PRIVATE KEY-----\nAPI_TOKEN=[redacted:key]\n";
        assert_eq!(filter(false, text), want);
        assert_eq!(
            filter(false, "-----BEGIN PRIVATE KEY-----\nTk9UUkVBTA"),
            "-----BEGIN PRIVATE KEY-----\n[redacted:private-key]\n"
        );
    }

    #[test]
    fn a_key_of_any_length_goes() {
        let body = "Tk9UUkVBTA\n".repeat(3 * LONGEST_KEY);
        let text = ["-----BEGIN PRIVATE KEY-----\n", &body, "and then?\nTk9UUkVBTA\n"].concat();
        let out = filter(false, &text);
        assert_eq!(out.lines().count(), 3 * LONGEST_KEY + 3);
        assert_eq!(out.matches("Tk9UUkVBTA").count(), 1);
        assert!(out.ends_with("[redacted:private-key]\nand then?\nTk9UUkVBTA\n"));
    }

    #[test]
    fn known_values_come_one_or_many() {
        for known in ["\"fake value\"", "[\"fake value\"]"] {
            let input = format!("{{\"id\":\"a\",\"text\":\"x fake value\\u001b[0m y\",\"known\":{known}}}\n");
            assert_eq!(
                filter(true, &input),
                "{\"id\":\"a\",\"text\":\"x [redacted:known] y\"}\n"
            );
        }
        assert_eq!(
            filter(
                true,
                "{\"id\":1,\"text\":\"plain\",\"known\":null}\n{\"id\":2,\"text\":\"b\"}"
            ),
            "{\"id\":1,\"text\":\"plain\"}\n{\"id\":2,\"text\":\"b\"}\n"
        );
    }
}
