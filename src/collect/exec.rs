//! Programs of the owner's that look at something: the plugin convention of Nagios, or JSON signals. What a program
//! could not tell, in whichever way, is blindness; only what it says itself is a signal.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};

use super::{
    context::{Blind, Piece, Place, Session},
    health_rules::Down,
    memory::Memory,
    probe::{self, named},
    report::{Reading, Report},
};
use crate::{
    adapters::{
        clock::instant,
        plugin::{self, Plugin},
        process::{RawRun, RunExit},
    },
    config::{ExecCheck, ExecOutput, Patience},
    model::signal::{Measure, MeasureKind, OutcomeKind, Severity, Signal, SignalKind},
    text::{
        json as strict,
        nagios::{self, Said},
    },
};

/// Programs that run at once.
const AT_ONCE: usize = 4;
const LINES_CAP: usize = 64 << 10;
const SIGNALS_CAP: usize = 4 << 20;
/// What is left of the collection when the last program has to be done.
const MARGIN: Duration = Duration::from_millis(500);
/// Metrics that are shown of one check.
const METRICS_SHOWN: usize = 16;

/// What one check brought.
enum Seen {
    Fine(Said),
    Bad(Severity, Said),
    Reported(Report),
    Blind(Blind),
}

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>) -> Piece {
    let started = instant();
    let mut memory = Memory::recall(session, &place);
    let now = session.ctx.now;
    let due: Vec<&ExecCheck> = place
        .target
        .exec
        .iter()
        .filter(|check| memory.due(&check.name, check.every, now))
        .collect();
    if due.is_empty() {
        return place.piece(OutcomeKind::Skipped);
    }
    plugin::sweep();
    let runs = due
        .into_iter()
        .map(async |check| (check, look(session, check, started).await));
    let seen: Vec<(&ExecCheck, Seen)> = stream::iter(runs).buffered(AT_ONCE).collect().await;
    let mut piece = place.piece(OutcomeKind::Ok);
    let (mut bad, mut reports, mut blind) = (Vec::new(), Vec::new(), Vec::new());
    let mut read = 0;
    for (check, seen) in seen {
        // A look that read nothing is no look: such a check stays due.
        if check.every.is_some() && !matches!(seen, Seen::Blind(_)) {
            memory.note(
                &check.name,
                now,
                matches!(seen, Seen::Bad(..)).then_some(Patience::USUAL),
                None,
            );
        }
        read += 1;
        if let Seen::Fine(said) | Seen::Bad(_, said) = &seen {
            piece.measures.extend(levels(session, check, said));
        }
        match seen {
            Seen::Fine(_) => {}
            Seen::Bad(severity, said) => bad.push(signal(session, &place, &memory, check, severity, &said)),
            Seen::Reported(mut report) => {
                report.mark("check", &check.name);
                report.mark(Signal::PART, &probe::part(session, &check.name));
                reports.push(report);
            }
            Seen::Blind(why) => {
                read -= 1;
                blind.push(named(session, &check.name, &why));
            }
        }
    }
    let reading = Reading {
        session,
        place: &place,
        kind: SignalKind::Alert,
        severity: Severity::Error,
        window: None,
    };
    reading.fill(&mut piece, reports, &blind, read);
    piece.signals.append(&mut bad);
    piece.cursor = memory.write();
    piece
}

async fn look(session: &Session<'_>, check: &ExecCheck, started: Instant) -> Seen {
    let config = session.ctx.config;
    let left = config.limits.collect_deadline.saturating_sub(started.elapsed());
    let left = left.saturating_sub(MARGIN);
    if left.is_zero() {
        return Seen::Blind(Blind::new("timeout", "the collection had no time left to start it"));
    }
    let done = plugin::run(Plugin {
        program: &check.program,
        args: &check.args,
        env: &check.env,
        path: &config.path,
        read: check.read.iter().chain(&config.readable).cloned().collect(),
        home: &config.home,
        deadline: check.timeout.min(left),
        stdout_cap: match check.output {
            ExecOutput::Nagios => LINES_CAP,
            ExecOutput::Signals => SIGNALS_CAP,
        },
    })
    .await;
    judge(check, &done)
}

/// What a run says.
fn judge(check: &ExecCheck, done: &RawRun) -> Seen {
    let blind = |cause: &str, what: String| Seen::Blind(Blind::new(cause, what));
    let code = match &done.exit {
        RunExit::Code(code) => *code,
        RunExit::TimedOut => {
            let what = format!("it was not done after {} s and was ended", done.wall.as_secs());
            return blind("timeout", what);
        }
        RunExit::Flooded(_) => return blind("too-large", format!("it {}", done.exit)),
        RunExit::SpawnFailed(why) => return blind("not-started", why.clone()),
        RunExit::Signal(_) | RunExit::Stopped => return blind("ended", format!("it was {}", done.exit)),
    };
    match check.output {
        ExecOutput::Nagios => judge_lines(code, done),
        ExecOutput::Signals => judge_signals(code, done),
    }
}

fn judge_lines(code: i32, done: &RawRun) -> Seen {
    let said = nagios::read(&done.stdout);
    // An interpreter that dies of an error ends with 1 too; its words are on the other stream.
    if said.line.is_empty() {
        let what = format!("it ended with exit {code} and printed nothing{}", complaint(done));
        return Seen::Blind(Blind::new("no-output", what));
    }
    match code {
        0 => Seen::Fine(said),
        1 => Seen::Bad(Severity::Warning, said),
        2 => Seen::Bad(Severity::Critical, said),
        3 => Seen::Blind(Blind::new("unknown", said.line)),
        _ => {
            let what = format!("exit {code} is no state of a plugin: {}", said.line);
            Seen::Blind(Blind::new("unknown", what))
        }
    }
}

fn judge_signals(code: i32, done: &RawRun) -> Seen {
    if code != 0 {
        let what = format!("it ended with exit {code}{}", complaint(done));
        return Seen::Blind(Blind::new("exit", what));
    }
    if done.stdout.len() >= SIGNALS_CAP {
        let what = format!("it printed more than {} MiB", SIGNALS_CAP >> 20);
        return Seen::Blind(Blind::new("too-large", what));
    }
    let parsed = strict::parse(&done.stdout).map_err(|fault| Blind::new(fault.cause(), fault.to_string()));
    match parsed.and_then(|value| Report::read(value).map_err(|why| Blind::new("shape", why))) {
        Ok(report) => Seen::Reported(report),
        Err(blind) => Seen::Blind(blind),
    }
}

/// The last line of the error output: interpreters say there what went wrong.
fn complaint(done: &RawRun) -> String {
    let text = String::from_utf8_lossy(&done.stderr);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map(|line| format!(": {line}")).unwrap_or_default()
}

/// How full is what the performance data of a check tells of.
fn levels(session: &Session<'_>, check: &ExecCheck, said: &Said) -> Vec<Measure> {
    let level = |metric: &nagios::Metric| {
        let (value, full) = metric.level()?;
        Some(Measure {
            name: session.line(&format!("{} {}", check.name, metric.label), 120),
            kind: MeasureKind::Level { full },
            value,
        })
    };
    said.metrics.iter().take(METRICS_SHOWN).filter_map(level).collect()
}

fn signal(
    session: &Session<'_>,
    place: &Place<'_>,
    memory: &Memory,
    check: &ExecCheck,
    severity: Severity,
    said: &Said,
) -> Signal {
    let state = match severity {
        Severity::Critical => "critical",
        Severity::Info | Severity::Warning | Severity::Error => "warning",
    };
    let metrics = said.metrics.iter().take(METRICS_SHOWN).map(|metric| {
        let value = metric
            .value
            .map_or_else(|| "unknown".to_owned(), |value| value.to_string());
        let unit = &metric.unit;
        (
            session.line(&metric.label, 60),
            session.line(&format!("{value}{unit}"), 40).into(),
        )
    });
    let metrics: Map<String, Value> = metrics.collect();
    let down = Down::degraded(state, said.line.clone());
    let evidence = json!({ "check": check.name, "state": state, "metrics": metrics });
    let asked = (check.name.as_str(), memory.known_as(&check.name), check.name.as_str());
    let mut signal = probe::signal(session, place, SignalKind::Probe, asked, &down, evidence);
    signal.severity = severity;
    if !said.more.is_empty() {
        signal.message = session.text(&format!("{}\n{}", said.line, said.more), 4000);
    }
    signal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(exit: RunExit, stdout: &str, stderr: &str) -> RawRun {
        RawRun {
            exit,
            stdout: stdout.into(),
            stderr: stderr.into(),
            ..RawRun::never_ran(String::new(), Duration::from_secs(3))
        }
    }

    fn check(output: ExecOutput, done: &RawRun, expected: &str) {
        let check = ExecCheck {
            name: "disk".to_owned(),
            program: "/x".into(),
            args: Vec::new(),
            output,
            every: None,
            timeout: Duration::from_secs(1),
            env: Vec::new(),
            read: Vec::new(),
        };
        let told = match judge(&check, done) {
            Seen::Fine(_) => "fine".to_owned(),
            Seen::Bad(severity, said) => format!("{severity:?} {}", said.line),
            Seen::Reported(_) => "reported".to_owned(),
            Seen::Blind(blind) => format!("blind {}: {}", blind.cause, blind.detail),
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn states_of_a_plugin() {
        let lines = |code, out: &str, err: &str, expected: &str| {
            check(ExecOutput::Nagios, &run(RunExit::Code(code), out, err), expected);
        };
        lines(0, "DISK OK | /=1MB", "", "fine");
        lines(1, "DISK WARNING - 8% | /=1MB", "", "Warning DISK WARNING - 8%");
        lines(2, "DISK CRITICAL - 1%", "x", "Critical DISK CRITICAL - 1%");
        lines(
            3,
            "DISK UNKNOWN - no such path",
            "",
            "blind unknown: DISK UNKNOWN - no such path",
        );
        lines(127, "odd", "", "blind unknown: exit 127 is no state of a plugin: odd");
        lines(0, "", "", "blind no-output: it ended with exit 0 and printed nothing");
        let trace = "Traceback (most recent call last):\nKeyError: 'x'\n";
        lines(
            1,
            "\n",
            trace,
            "blind no-output: it ended with exit 1 and printed nothing: KeyError: 'x'",
        );
    }

    #[test]
    fn what_did_not_end_by_itself_is_blind() {
        let ended = |exit, expected: &str| check(ExecOutput::Nagios, &run(exit, "OK", ""), expected);
        ended(
            RunExit::TimedOut,
            "blind timeout: it was not done after 3 s and was ended",
        );
        ended(RunExit::Signal(11), "blind ended: it was ended by signal 11");
        ended(
            RunExit::SpawnFailed("cannot start x".to_owned()),
            "blind not-started: cannot start x",
        );
        ended(
            RunExit::Flooded(64 << 20),
            "blind too-large: it wrote more than 64 MiB and was ended",
        );
    }

    #[test]
    fn signals_are_read_strictly() {
        let signals = |code, out: &str, expected: &str| {
            check(
                ExecOutput::Signals,
                &run(RunExit::Code(code), out, "no route\n"),
                expected,
            );
        };
        signals(0, "[]", "reported");
        signals(
            0,
            r#"{"signals": [{"title": "a", "message": "b"}], "changes": []}"#,
            "reported",
        );
        signals(2, "[]", "blind exit: it ended with exit 2: no route");
        signals(0, "", "blind empty: the body is empty");
        signals(
            0,
            r#"[{"title": "a", "title": "b", "message": ""}]"#,
            "blind duplicate-keys: a key stands twice in one object",
        );
        signals(0, "[{", "blind truncated: the JSON ends in the middle");
        let unknown = r#"[{"title": "a", "message": "b", "repo": "c"}]"#;
        let why = "unknown field `repo`, expected one of `title`, `message`, `kind`, `severity`, `count`, `first_seen`, \
                   `last_seen`, `release_sha`, `url`, `signature_text`, `identity`, `family`, \
                   `evidence`";
        signals(0, unknown, &format!("blind shape: {why}"));
    }
}
