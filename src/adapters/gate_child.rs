//! Runs a jq program of the owner's in a child copy of this binary: empty environment, limits on time and memory,
//! killed at its deadline. Whatever ends it other than its results is a fault, in words for people.

use std::{io::Read, process::Stdio, time::Duration};

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::text::jq;

/// The hidden verb of the child.
pub const VERB: &str = "__gate";

/// Memory of the child, code included.
const MEMORY: u64 = 512 << 20;
/// Most bytes of results that are read.
const RESULTS_CAP: usize = 8 << 20;

/// The results of `program` over `input`, or why there are none.
pub async fn run(program: &str, input: &[u8], deadline: Duration) -> Result<Vec<serde_json::Value>, String> {
    let helper = std::env::current_exe().map_err(|error| format!("cannot find this program's own file: {error}"))?;
    run_with(&helper, program, input, deadline).await
}

/// As [`run`], with the binary named: in tests this process is not the product.
#[expect(
    clippy::disallowed_methods,
    reason = "the one child beside agents and git: a copy of this binary without environment"
)]
pub async fn run_with(
    helper: &std::path::Path,
    program: &str,
    input: &[u8],
    deadline: Duration,
) -> Result<Vec<serde_json::Value>, String> {
    let mut child = tokio::process::Command::new(helper)
        .arg(VERB)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("the child that runs the program cannot be started: {error}"))?;
    let mut stdin = child.stdin.take().ok_or("the child has no input")?;
    let mut stdout = child.stdout.take().ok_or("the child has no output")?;
    let mut message = format!("{} {}\n", program.len(), deadline.as_millis()).into_bytes();
    message.extend_from_slice(program.as_bytes());
    message.extend_from_slice(input);
    let talk = async {
        let write = async move {
            // A child that ends early does not read all of it; its results tell why.
            let _ignored = stdin.write_all(&message).await;
        };
        let read = async {
            let mut results = Vec::new();
            let limit = u64::try_from(RESULTS_CAP).unwrap_or(u64::MAX) + 1;
            (&mut stdout)
                .take(limit)
                .read_to_end(&mut results)
                .await
                .map(|_| results)
        };
        let ((), results) = tokio::join!(write, read);
        results
    };
    let read = tokio::time::timeout(deadline, talk).await;
    let overran = read.is_err();
    // Ended and reaped in every case; it has no children of its own.
    let _ignored = child.start_kill();
    let status = child
        .wait()
        .await
        .map_err(|error| format!("the child was lost: {error}"))?;
    if overran {
        return Err(format!("the program was not done after {} ms", deadline.as_millis()));
    }
    let results = read
        .map_err(|error| error.to_string())?
        .map_err(|error| format!("the child's results cannot be read: {error}"))?;
    if results.len() > RESULTS_CAP {
        return Err("the program gives more than 8 MiB".to_owned());
    }
    parse(&results).ok_or_else(|| {
        use std::os::unix::process::ExitStatusExt;
        match status.signal() {
            Some(signal) => format!("the program ran out of its time, memory or stack (signal {signal})"),
            None => "the program ended without results".to_owned(),
        }
    })?
}

/// `{"results": […]}` or `{"fault": "…"}`; anything else is none.
fn parse(text: &[u8]) -> Option<Result<Vec<serde_json::Value>, String>> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "lowercase")]
    enum Reply {
        Results(Vec<serde_json::Value>),
        Fault(String),
    }
    match serde_json::from_slice(text).ok()? {
        Reply::Results(results) => Some(Ok(results)),
        Reply::Fault(why) => Some(Err(why)),
    }
}

/// The child: limits itself, reads program and input, answers. Returns what to write to standard output.
pub fn serve(mut stdin: impl Read) -> Vec<u8> {
    let mut message = Vec::new();
    let reply = match stdin.read_to_end(&mut message) {
        Ok(_) => answer(&message),
        Err(error) => Err(format!("the input cannot be read: {error}")),
    };
    let reply = match reply {
        Ok(results) => serde_json::json!({ "results": results }),
        Err(why) => serde_json::json!({ "fault": why }),
    };
    reply.to_string().into_bytes()
}

fn answer(message: &[u8]) -> Result<Vec<serde_json::Value>, String> {
    let malformed = || "the message to the child is malformed".to_owned();
    let line = message.iter().position(|b| *b == b'\n').ok_or_else(malformed)?;
    let head = std::str::from_utf8(&message[..line]).map_err(|_| malformed())?;
    let (length, millis) = head.split_once(' ').ok_or_else(malformed)?;
    let length: usize = length.parse().map_err(|_| malformed())?;
    let millis: u64 = millis.parse().map_err(|_| malformed())?;
    let rest = &message[line + 1..];
    if length > rest.len() {
        return Err(malformed());
    }
    let (program, input) = rest.split_at(length);
    let program = std::str::from_utf8(program).map_err(|_| "the program is not UTF-8".to_owned())?;
    limit(millis).map_err(|error| format!("the limits of the child cannot be set: {error}"))?;
    jq::Program::compile(program)
        .and_then(|program| program.run(input))
        .map_err(|fault| fault.to_string())
}

fn limit(millis: u64) -> rustix::io::Result<()> {
    let set = |resource, value| {
        setrlimit(
            resource,
            Rlimit {
                current: Some(value),
                maximum: Some(value),
            },
        )
    };
    set(Resource::Core, 0)?;
    set(Resource::Cpu, millis.div_ceil(1000).max(1))?;
    set(Resource::As, MEMORY)?;
    set(Resource::Fsize, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_shapes_are_a_reply() {
        assert_eq!(parse(br#"{"results":[1]}"#), Some(Ok(vec![1.into()])));
        assert_eq!(parse(br#"{"fault":"x"}"#), Some(Err("x".to_owned())));
        for text in ["", "{}", "[]", r#"{"results":[1],"fault":"x"}"#, r#"{"results":[1]} x"#] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_malformed_message_is_refused() {
        for message in ["", "1", "x 5\n.", "9 5\n.", "-1 5\n."] {
            assert!(answer(message.as_bytes()).is_err(), "{message:?}");
        }
    }
}
