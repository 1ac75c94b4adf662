//! `tick signature`: one signature for each line of standard input.

use std::io::{BufRead, Write};

use anyhow::{Context, Result};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::lines;
use crate::text;

#[derive(Debug, Args)]
pub struct SignatureArgs {
    /// Read and write JSON lines: {"id","text"} -> {"id","signature","template","label","culprit"}
    #[arg(long)]
    pub jsonl: bool,
}

#[derive(Deserialize)]
struct Record {
    id: serde_json::Value,
    text: String,
}

#[derive(Serialize)]
struct Answer {
    id: serde_json::Value,
    signature: String,
    template: String,
    label: &'static str,
    culprit: Option<String>,
}

pub fn run(args: &SignatureArgs, input: impl BufRead, output: &mut dyn Write) -> Result<()> {
    if args.jsonl {
        return lines::each_json(input, output, r#"{"id":"1","text":"…"}"#, answer);
    }
    let mut signer = text::Signer::default();
    lines::each_line(input, |_, line| {
        writeln!(output, "{}", signer.sign(line).signature).context("cannot write the signature")
    })
}

fn answer(record: Record) -> Answer {
    let signed = text::signature(&record.text);
    Answer {
        id: record.id,
        signature: signed.signature.to_string(),
        template: signed.template,
        label: signed.label,
        culprit: signed.culprit.map(|culprit| culprit.file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(jsonl: bool, input: &str) -> String {
        let mut out = Vec::new();
        run(&SignatureArgs { jsonl }, input.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_signature_a_line() {
        let out = filter(false, "user 17 not found\nuser 18 not found\ndisk full\n");
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], lines[1]);
        assert_ne!(lines[0], lines[2]);
    }

    #[test]
    fn both_modes_agree() {
        let plain = filter(false, "TypeError: x is not a function\n");
        let json = filter(true, "{\"id\":7,\"text\":\"TypeError: x is not a function\"}\n");
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["id"], 7);
        assert_eq!(value["signature"], plain.trim());
        assert_eq!(value["label"], "bug");
    }
}
