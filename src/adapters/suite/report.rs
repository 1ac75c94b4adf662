//! Reads the report file that our driver, plugin and reporters write: one JSON object a line, closed by a line that counts
//! what was written and seals it with a word of this run. The word stands nowhere in it: who finds the file, while it is
//! written or after, cannot write another one. Pure but for `read`.

use std::{fs, path::Path};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::Readout;
use crate::model::evidence::{TestResult, TestStatus};

const REPORT_CAP: u64 = 64 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Line {
    start: Option<String>,
    id: Option<String>,
    status: Option<TestStatus>,
    inside: bool,
    assertion: bool,
    kind: String,
    message: String,
    trace: String,
    load: Option<String>,
    end: Option<usize>,
    seal: String,
}

/// The bytes of the report; a child that wrote none leaves an empty one.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => Err("its report is not a plain file".to_owned()),
        Ok(meta) if meta.len() > REPORT_CAP => Err("its report is too long to be read".to_owned()),
        Ok(_) => fs::read(path).map_err(|error| format!("its report could not be read: {error}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("its report could not be read: {error}")),
    }
}

/// `ending` says how the child ended, for a report that does not.
pub(super) fn parse(bytes: &[u8], nonce: &str, ending: &str) -> Result<Readout, String> {
    let mut readout = Readout::default();
    let mut running = String::new();
    let mut closed = false;
    let mut before = 0;
    for raw in bytes.split_inclusive(|byte| *byte == b'\n') {
        if closed {
            return Err("its report goes on after the end mark".to_owned());
        }
        let line: Line = serde_json::from_str(String::from_utf8_lossy(raw).trim_end())
            .map_err(|_| "its report holds a line that is no record".to_owned())?;
        let written = &bytes[..before];
        before += raw.len();
        if let Some(count) = line.end {
            if line.seal != seal(nonce, written) {
                return Err("its report is not the one that was written: its seal is another's".to_owned());
            }
            let held = readout.tests.len() + readout.load_errors.len();
            if count != held {
                return Err(format!("its report counts {count} results but holds {held}"));
            }
            closed = true;
        } else if let Some(id) = line.start {
            running = id;
        } else if let Some(name) = line.load {
            readout.load_errors.push(format!("{name}: {}", line.message));
        } else if let (Some(id), Some(status)) = (line.id, line.status) {
            readout.tests.push((
                id,
                result(status, line.inside, line.assertion, line.kind, line.message, line.trace),
            ));
        } else {
            return Err("its report holds a line that is no record".to_owned());
        }
    }
    if closed {
        return Ok(readout);
    }
    let place = if running.is_empty() {
        String::new()
    } else {
        format!(" in or after {running}")
    };
    Err(format!("it ended before its report was complete{place} ({ending})"))
}

/// As our reporters compute it: twice, so that nothing can be added behind.
fn seal(nonce: &str, written: &[u8]) -> String {
    let of = |text: &[u8]| super::hex(&Sha256::new().chain_update(nonce).chain_update(text).finalize());
    of(of(written).as_bytes())
}

fn result(
    status: TestStatus,
    inside: bool,
    by_assertion: bool,
    kind: String,
    text: String,
    trace: String,
) -> TestResult {
    let message = match (kind.is_empty(), text.is_empty()) {
        (true, _) => text,
        (false, true) => kind.clone(),
        (false, false) => format!("{kind}: {text}"),
    };
    TestResult {
        status,
        by_assertion,
        inside,
        kind,
        message,
        trace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"start":"t"}
{"id":"t","status":"fail","inside":true,"assertion":true,"kind":"AssertionError","message":"1 != 2","trace":"x"}
{"load":"tests.test_b","message":"ImportError: no"}
"#;

    fn sealed(text: &str, count: usize) -> String {
        let seal = seal("n1", text.as_bytes());
        format!("{text}{{\"end\":{count},\"seal\":\"{seal}\"}}\n")
    }

    #[test]
    fn a_complete_report_is_read() {
        let readout = parse(sealed(GOOD, 2).as_bytes(), "n1", "").unwrap();
        assert_eq!(readout.tests.len(), 1);
        assert_eq!(readout.tests[0].1.message, "AssertionError: 1 != 2");
        assert_eq!(readout.load_errors, ["tests.test_b: ImportError: no"]);
    }

    #[test]
    fn whatever_is_not_surely_ours_is_refused() {
        let good = sealed(GOOD, 2);
        let more = "{\"id\":\"u\",\"status\":\"pass\"}\n";
        let cases = [
            (good.replace("\"fail\"", "\"pass\""), "not the one that was written"),
            (
                format!("{more}{}", good.replace("\"end\":2", "\"end\":3")),
                "not the one that was written",
            ),
            (
                format!("{GOOD}{{\"end\":2,\"seal\":\"n1\"}}\n"),
                "not the one that was written",
            ),
            (GOOD.to_owned(), "in or after t"),
            (sealed(GOOD, 3), "counts 3 results but holds 2"),
            (format!("{good}{more}"), "goes on after"),
            (sealed(&format!("noise\n{GOOD}"), 2), "no record"),
            (sealed(&format!("{{\"other\":1}}\n{GOOD}"), 2), "no record"),
            (String::new(), "before its report was complete"),
        ];
        for (text, expected) in cases {
            let error = parse(text.as_bytes(), "n1", "exit 1").unwrap_err();
            assert!(error.contains(expected), "{error} / {expected}");
        }
    }
}
