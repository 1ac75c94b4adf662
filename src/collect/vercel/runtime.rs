//! What production logs, read from where the last look ended: by the history that Vercel's own program reads; where that
//! has changed, by the program itself if the config names it, else by listening to the documented stream for a moment.

use std::{collections::BTreeMap, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::{
    super::{
        context::Blind,
        deploys::{Deployment, Standing},
        log_scan::LogScan,
    },
    Look, Memory,
    api::Reader,
    history::{self, Entry, Logged, in_order, read_rows},
    program,
    shapes::Project,
};

/// Of a project that is seen for the first time so much is read; more with `--deep`, as far as the plan keeps it.
const FIRST_LOOK: TimeDelta = TimeDelta::minutes(20);
const FIRST_LOOK_DEEP: TimeDelta = TimeDelta::hours(24);
/// Lines come to the history some minutes late: each look begins that much before the end of the last one.
const OVERLAP: TimeDelta = TimeDelta::minutes(5);
/// Lines of the overlap that are remembered.
const MOST_TOLD: usize = 5000;
/// How long the stream is listened to.
const LISTEN: Duration = Duration::from_secs(8);

/// What came of the logs.
#[derive(Debug, Default)]
pub(super) struct Logs {
    entries: Vec<Entry>,
    blind: Vec<Blind>,
    /// For people: that another way than the usual one was taken.
    note: String,
    /// Up to here everything was read.
    until: Option<DateTime<Utc>>,
}

/// None: the config wants no logs.
pub(super) async fn read(reader: &Reader<'_>, about: &Project, known: &Memory) -> Option<Logs> {
    reader.project.logs.then_some(())?;
    let ctx = reader.session.ctx;
    let to = ctx.clock.now();
    let kept = TimeDelta::from_std(reader.project.log_retention).unwrap_or(TimeDelta::MAX);
    let mut logs = Logs::default();
    let from = match known.logs_until {
        Some(until) => {
            logs.blind.extend(gap(until, to, kept));
            until - OVERLAP
        }
        None if ctx.deep => to - FIRST_LOOK_DEEP,
        None => to - FIRST_LOOK,
    };
    let window = (from.max(to - kept), to);
    match history::read(reader, about, window).await {
        Ok(logged) => logs.take(logged, Some(to)),
        Err(why) if has_changed(&why) => otherwise(reader, about, window, why, &mut logs).await,
        Err(why) => logs.blind.push(why),
    }
    Some(logs)
}

/// What was logged after the last look and before what the plan still keeps.
fn gap(until: DateTime<Utc>, now: DateTime<Utc>, kept: TimeDelta) -> Option<Blind> {
    let oldest = now - kept;
    (until < oldest).then(|| {
        let time = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M UTC").to_string();
        let (from, to, hours) = (time(until), time(oldest), kept.num_hours());
        let why = format!(
            "nobody read what production logged from {from} to {to}, and the plan keeps {hours} h of it (log_hours)"
        );
        Blind::new("gap", why)
    })
}

/// The call is another one than it was, or gone: no matter of this token or of this moment.
fn has_changed(why: &Blind) -> bool {
    matches!(
        why.cause.as_str(),
        "shape" | "html" | "http-400" | "http-404" | "http-405" | "http-410" | "redirect-denied" | "redirect-loop"
    )
}

async fn otherwise(
    reader: &Reader<'_>,
    about: &Project,
    window: (DateTime<Utc>, DateTime<Utc>),
    why: Blind,
    logs: &mut Logs,
) {
    if reader.project.cli.is_some() {
        match program::read(reader, window).await {
            Ok(logged) => {
                logs.note = format!("the logs came from Vercel's own program, since: {}", why.detail);
                return logs.take(logged, Some(window.1));
            }
            Err(also) => logs.blind.push(also),
        }
    }
    logs.blind.insert(0, why);
    match listen(reader, about).await {
        Ok(logged) => logs.take(logged, None),
        Err(also) => logs.blind.push(also),
    }
}

/// A moment of the stream of the deployment that serves: better than nothing, and no history.
async fn listen(reader: &Reader<'_>, about: &Project) -> Result<Logged, Blind> {
    let Some(live) = about.live() else {
        return Ok(Logged::default());
    };
    let path = ["v1", "projects", &about.id, "deployments", live, "runtime-logs"];
    let url = reader.url(&path, &[("format", "lines")]);
    let mut text = Vec::new();
    let within = LISTEN.min(reader.session.ctx.config.limits.collect_deadline / 4);
    reader
        .listen(&url, within, &mut |piece| text.extend_from_slice(piece))
        .await?;
    let mut logged = lines(&text);
    for entry in &mut logged.entries {
        live.clone_into(&mut entry.deployment);
    }
    Ok(logged)
}

/// One JSON object a line; the last one may be cut, and one marks the end.
pub(super) fn lines(text: &[u8]) -> Logged {
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let text = String::from_utf8_lossy(&text[..whole]);
    let rows = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let rows: Vec<Value> = rows
        .map(|line| serde_json::from_str(line).unwrap_or(Value::Null))
        .collect();
    let marks_end = |row: &Value| row["source"] == "delimiter" && row["rowId"] == "";
    let mut logged = read_rows(rows.iter().filter(|row| !marks_end(row)));
    in_order(&mut logged.entries);
    logged
}

impl Logs {
    fn take(&mut self, logged: Logged, until: Option<DateTime<Utc>>) {
        self.entries = logged.entries;
        self.blind.extend(logged.unread);
        self.until = until;
    }
}

impl Look<'_> {
    /// Causes of what was logged since the last look, each with the release that logged it.
    pub(super) fn logs(&mut self, logs: Option<Logs>, list: &[Deployment], known: &Memory, memory: &mut Memory) {
        let Some(logs) = logs else { return };
        self.read += logs.entries.len();
        let mut by_deployment: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        for entry in logs.entries.iter().filter(|entry| !known.told.contains(&entry.name())) {
            by_deployment.entry(&entry.deployment).or_default().push(entry);
        }
        for (id, entries) in by_deployment {
            let serving = || Standing::of(list, self.reader.session.ctx.now).live();
            let named = list.iter().find(|one| one.id == id);
            let deployment = named.or_else(|| id.is_empty().then(serving).flatten());
            let mut scan = LogScan::new(self.reader.session, self.place)
                .released(deployment.and_then(|one| one.sha.clone()))
                .url(deployment.and_then(|one| one.url.as_deref()));
            for entry in entries {
                scan.entry(Some(entry.at), &entry.level, &entry.message);
            }
            let scanned = scan.finish();
            self.piece.signals.extend(scanned.signals);
            self.blind.extend(scanned.blind);
        }
        let session = self.reader.session;
        self.blind.extend(logs.blind.into_iter().map(|blind| {
            let detail = session.line(&blind.detail, 300);
            Blind::new(blind.cause, detail)
        }));
        self.piece.outcome.detail = session.line(&logs.note, 300);
        let Some(until) = logs.until else {
            memory.logs_until = known.logs_until;
            memory.told.clone_from(&known.told);
            return;
        };
        memory.logs_until = Some(until);
        let late = logs.entries.iter().rev().filter(|entry| entry.at >= until - OVERLAP);
        memory.told = late.take(MOST_TOLD).map(Entry::name).collect();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        "2026-11-29T03:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute)
    }

    #[test]
    fn what_the_plan_no_longer_keeps_is_a_gap() {
        let hour = TimeDelta::hours(1);
        assert_eq!(gap(at(-15), at(0), hour), None);
        assert_eq!(gap(at(-60), at(0), hour), None);
        let why = gap(at(-180), at(0), hour).unwrap();
        assert_eq!(
            (why.cause.as_str(), why.detail.as_str()),
            (
                "gap",
                "nobody read what production logged from 2026-11-29 00:00 UTC to 2026-11-29 02:00 UTC, and the plan keeps 1 h of it (log_hours)"
            )
        );
    }

    #[test]
    fn the_stream_ends_with_a_mark_that_is_no_error() {
        let line = |row: &str, source: &str, message: &str| {
            json!({ "domain": "shop.example", "level": "error", "message": message, "messageTruncated": false,
                    "requestMethod": "GET", "requestPath": "/", "responseStatusCode": 0, "rowId": row, "source": source,
                    "timestampInMs": 1_795_965_451_655_i64 })
            .to_string()
        };
        let text = [
            line("1", "serverless", "Error: a"),
            String::new(),
            line("", "delimiter", "Exceeded query duration limit of 5 minutes"),
            r#"{"level":"err"#.to_owned(),
        ];
        let logged = lines(text.join("\n").as_bytes());
        let messages: Vec<_> = logged.entries.iter().map(|entry| entry.message.as_str()).collect();
        assert_eq!(
            (messages.as_slice(), logged.unread.is_some()),
            (["Error: a"].as_slice(), false)
        );
        assert!(lines(b"<html>\n").unread.is_some());
    }
}
