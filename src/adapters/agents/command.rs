//! Any program as an agent: the prompt on stdin, one JSON object on stdout, exit 75 for "try later".

use super::{AgentOutcome, Invocation, Parsed, Request, complaint};
use crate::{
    adapters::process::{RawRun, RunExit},
    text::json::{JsonFault, ObjectFault, one_object},
};

/// A program's way to say that it could not work now.
const TRY_LATER: i32 = 75;
/// Exit codes of launchers whose program is missing or may not run.
const NOT_THERE: [i32; 2] = [126, 127];

pub(super) fn command_line(request: &Request<'_>) -> Invocation {
    let files = request.files;
    Invocation {
        args: request.agent.args.iter().map(Into::into).collect(),
        env: request.env(&[
            ("TICK_ROLE", request.role.name().to_owned()),
            ("TICK_SCHEMA", files.schema.display().to_string()),
            ("TICK_INPUT", files.input.display().to_string()),
            // Seconds from the start: a point in time would follow another clock than the deadline does.
            ("TICK_DEADLINE", request.deadline.as_secs().to_string()),
            ("TICK_RUN_ID", request.run_id.to_string()),
        ]),
        stdin: request.prompt.as_bytes().to_vec(),
        stdout_cap: 4 << 20,
    }
}

pub(super) fn parse(raw: &RawRun) -> Parsed {
    outcome(raw).into()
}

fn outcome(raw: &RawRun) -> AgentOutcome {
    let silent = raw.stdout.iter().all(u8::is_ascii_whitespace);
    match &raw.exit {
        RunExit::SpawnFailed(why) => AgentOutcome::Infrastructure(why.clone()),
        RunExit::Stopped => AgentOutcome::Interrupted,
        RunExit::TimedOut if silent => {
            AgentOutcome::Infrastructure(format!("no output before the deadline{}", complaint(raw)))
        }
        RunExit::Code(TRY_LATER) => AgentOutcome::Infrastructure(format!("it asks to try later{}", complaint(raw))),
        RunExit::Code(code) if silent && NOT_THERE.contains(code) => {
            AgentOutcome::Infrastructure(format!("its program is missing (exit {code}){}", complaint(raw)))
        }
        RunExit::Code(0) if raw.truncated => AgentOutcome::Failed("it wrote more than it may".to_owned()),
        RunExit::Code(0) => match one_object(&raw.stdout) {
            Ok(map) => AgentOutcome::Reply(map.into()),
            Err(ObjectFault::Json(JsonFault::Empty)) => {
                AgentOutcome::Infrastructure(format!("exit 0 without having done anything{}", complaint(raw)))
            }
            Err(error) => AgentOutcome::Failed(format!("its reply is not one JSON object: {error}")),
        },
        // What it wrote last is noise.
        exit @ RunExit::Flooded(_) => AgentOutcome::Failed(format!("it {exit}")),
        exit @ (RunExit::TimedOut | RunExit::Code(_) | RunExit::Signal(_)) => {
            AgentOutcome::Failed(format!("{exit}{}", complaint(raw)))
        }
    }
}
