//! Filters over standard input, a line or a JSON object at a time: constant memory, order kept, and everything
//! before a bad line is already written when the error comes.

use std::io::{BufRead, Read, Write};

use anyhow::{Context, Result};
use serde::{Serialize, de::DeserializeOwned};

use crate::exit::{Exit, Fault};

/// A longer line is not a record any more.
const LONGEST_LINE: u64 = 16 * 1024 * 1024;

/// Calls `each` with every line (without its end), lossily decoded.
pub fn each_line(input: impl BufRead, mut each: impl FnMut(u64, &str) -> Result<()>) -> Result<()> {
    let mut input = input;
    let mut buffer = Vec::new();
    let mut number = 0;
    loop {
        buffer.clear();
        number += 1;
        let read = input
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut buffer)
            .context("cannot read standard input")?;
        if read == 0 {
            return Ok(());
        }
        let ended = buffer.pop_if(|last| *last == b'\n').is_some();
        if !ended && read as u64 == LONGEST_LINE {
            let what = format!("line {number}: longer than {} MiB", LONGEST_LINE >> 20);
            return Err(Fault::new(Exit::Usage, what)
                .advise("Split the input into shorter lines.")
                .into());
        }
        if ended {
            buffer.pop_if(|last| *last == b'\r');
        }
        each(number, &String::from_utf8_lossy(&buffer))?;
    }
}

/// Reads one JSON object a line and writes the answer to each; an empty line is skipped.
pub fn each_json<I: DeserializeOwned, O: Serialize>(
    input: impl BufRead,
    output: &mut dyn Write,
    shape: &str,
    answer: impl Fn(I) -> O,
) -> Result<()> {
    each_line(input, |number, line| {
        if line.trim().is_empty() {
            return Ok(());
        }
        let record = serde_json::from_str(line).map_err(|error| {
            Fault::new(
                Exit::Usage,
                format!("line {number}: not a record of this verb: {error}"),
            )
            .advise(format!("Each line is one JSON object such as {shape}"))
        })?;
        serde_json::to_writer(&mut *output, &answer(record)).context("cannot write the answer")?;
        output.write_all(b"\n").context("cannot write the answer")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_order_with_their_number() {
        let mut seen = Vec::new();
        each_line(&b"a\r\n\nc\xff"[..], |number, line| {
            seen.push((number, line.to_owned()));
            Ok(())
        })
        .unwrap();
        let want = [(1, "a"), (2, ""), (3, "c\u{fffd}")].map(|(n, l)| (n, l.to_owned()));
        assert_eq!(seen, want);
    }

    #[test]
    fn a_bad_record_names_its_line_and_loses_nothing_before() {
        let mut out = Vec::new();
        let error = each_json(&b"1\n2\nx\n4\n"[..], &mut out, "1", |n: u32| n + 1).unwrap_err();
        assert_eq!(String::from_utf8(out).unwrap(), "2\n3\n");
        let fault = error.downcast::<Fault>().unwrap();
        assert_eq!(fault.exit, Exit::Usage);
        assert!(fault.message.starts_with("line 3: "), "{fault}");
    }
}
