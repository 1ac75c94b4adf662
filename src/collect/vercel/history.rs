//! Runtime logs as Vercel's own program reads them. The call is not documented and may change without a word, so all that
//! is known of it stands here, and an answer of another shape is blindness, never calm.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    super::context::Blind,
    api::{Reader, below},
    shapes::Project,
};
use crate::text::hex;

const MOST_PAGES: usize = 30;
/// What is asked for: lines of these levels, and requests that failed whatever they logged.
const QUESTIONS: [(&str, &str); 2] = [("level", "error,fatal,warning"), ("statusCode", "5xx")];

/// One line that production logged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) at: DateTime<Utc>,
    pub(super) deployment: String,
    pub(super) level: String,
    pub(super) message: String,
    /// The request that it belongs to.
    request: String,
}

impl Entry {
    /// The same line has the same name in every answer.
    pub(super) fn name(&self) -> String {
        let mut hash = Sha256::new();
        for part in [&self.request, &self.at.to_rfc3339(), &self.message] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        hex(&hash.finalize()[..8])
    }
}

/// What was logged, in the order of its time, and what of the answer could not be read.
#[derive(Debug, Default)]
pub(super) struct Logged {
    pub(super) entries: Vec<Entry>,
    pub(super) unread: Option<Blind>,
}

/// What production logged from one time to another.
pub(super) async fn read(
    reader: &Reader<'_>,
    project: &Project,
    (from, to): (DateTime<Utc>, DateTime<Utc>),
) -> Result<Logged, Blind> {
    let mut logged = Logged::default();
    for (name, wanted) in QUESTIONS {
        let mut last = Vec::new();
        for page in 0..=MOST_PAGES {
            if page == MOST_PAGES {
                let why = format!("there is more than {MOST_PAGES} pages of logs, the newest of which are read");
                logged.unread.get_or_insert(Blind::new("too-many", why));
                break;
            }
            let mut url = below(&reader.session.ctx.config.vercel.web, &["api", "logs", "request-logs"]);
            url.query_pairs_mut().extend_pairs([
                ("projectId", project.id.as_str()),
                ("ownerId", &project.account_id),
                ("environment", "production"),
                ("startDate", &from.timestamp_millis().to_string()),
                ("endDate", &to.timestamp_millis().to_string()),
                ("page", &page.to_string()),
                (name, wanted),
            ]);
            let body = reader.body(&url).await?;
            let (rows, more) = page_of(&body)?;
            if more && page > 0 && rows.entries == last {
                let why = "the pages of the logs repeat themselves".to_owned();
                return Err(Blind::new("pages", why));
            }
            last.clone_from(&rows.entries);
            logged.entries.extend(rows.entries);
            logged.unread = logged.unread.take().or(rows.unread);
            if !more {
                break;
            }
        }
    }
    logged.entries.retain(|entry| entry.at <= to);
    in_order(&mut logged.entries);
    Ok(logged)
}

/// By time, each line once; what failed and logged nothing worth reading is told by its status.
pub(super) fn in_order(entries: &mut Vec<Entry>) {
    entries.sort();
    entries.dedup();
}

/// One page, and whether another one follows.
fn page_of(body: &[u8]) -> Result<(Logged, bool), Blind> {
    let shape = |what: &str| {
        Blind::new(
            "shape",
            format!("the history of logs has another shape than it had: {what}"),
        )
    };
    let answer: Value = serde_json::from_slice(body).map_err(|error| shape(&error.to_string()))?;
    let rows = answer.get("rows").and_then(Value::as_array);
    let rows = rows.ok_or_else(|| shape("there is no list `rows`"))?;
    let more = answer.get("hasMoreRows").and_then(Value::as_bool);
    let more = more.ok_or_else(|| shape("`hasMoreRows` is not true or false"))?;
    Ok((read_rows(rows), more))
}

/// Lines of rows; a row of another shape is said once.
pub(super) fn read_rows<'r>(rows: impl IntoIterator<Item = &'r Value>) -> Logged {
    let mut logged = Logged::default();
    let mut unknown = 0_usize;
    for row in rows {
        match Row::deserialize(row).ok().and_then(Row::lines) {
            Some(lines) => logged.entries.extend(lines),
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        let why = format!("the history of logs has another shape than it had: {unknown} rows cannot be read");
        logged.unread = Some(Blind::new("shape", why));
    }
    logged
}

/// A request with what it logged; or one line with its request, as the stream and Vercel's own program tell it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(default)]
    request_id: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default, rename = "rowId")]
    line: Option<String>,
    #[serde(default)]
    timestamp: Option<Time>,
    #[serde(default)]
    timestamp_in_ms: Option<Time>,
    #[serde(default)]
    deployment_id: Option<String>,
    #[serde(default)]
    request_method: Option<String>,
    #[serde(default)]
    request_path: Option<String>,
    #[serde(default)]
    status_code: Option<i64>,
    #[serde(default)]
    response_status_code: Option<i64>,
    #[serde(default)]
    logs: Option<Vec<Line>>,
    #[serde(default)]
    level: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default)]
    level: Option<String>,
    message: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Time {
    Text(DateTime<Utc>),
    Millis(i64),
}

impl Row {
    /// None: nothing says what was logged.
    fn lines(self) -> Option<Vec<Entry>> {
        let status = self.status_code.or(self.response_status_code);
        let at = match self.timestamp.or(self.timestamp_in_ms)? {
            Time::Text(at) => at,
            Time::Millis(millis) => DateTime::from_timestamp_millis(millis)?,
        };
        let mut lines = match (self.logs, self.message) {
            (Some(lines), _) => lines,
            (None, Some(message)) => vec![Line {
                level: self.level,
                message,
            }],
            (None, None) if status.is_some() => Vec::new(),
            (None, None) => return None,
        };
        lines.retain(|line| !line.message.trim().is_empty());
        let failed = status.filter(|code| (500..=599).contains(code));
        if let Some(code) = failed
            && !lines.iter().any(|line| is_bad(line.level.as_deref()))
        {
            let method = self.request_method.unwrap_or_default();
            let path = self.request_path.unwrap_or_default();
            let path = path.split(['?', '#']).next().unwrap_or_default();
            lines.push(Line {
                level: Some("error".to_owned()),
                message: format!("{method} {path} was answered with HTTP {code}, and nothing was logged about it"),
            });
        }
        let (deployment, request) = (
            self.deployment_id.unwrap_or_default(),
            self.request_id.or(self.line).or(self.id).unwrap_or_default(),
        );
        let entry = |line: Line| Entry {
            at,
            deployment: deployment.clone(),
            level: line.level.unwrap_or_default(),
            message: line.message,
            request: request.clone(),
        };
        Some(lines.into_iter().map(entry).collect())
    }
}

fn is_bad(level: Option<&str>) -> bool {
    matches!(level, Some("error" | "fatal"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(logs: &Value, status: u16) -> Value {
        json!({ "requestId": "fra1::abc", "timestamp": "2026-11-29T02:59:31.655Z", "deploymentId": "dpl_a",
                "requestMethod": "GET", "requestPath": "/api/orders?mail=a", "statusCode": status, "environment": "production",
                "branch": "main", "cache": "MISS", "domain": "shop.example", "traceId": null, "logs": logs,
                "events": [{ "source": "serverless" }] })
    }

    fn check(rows: &Value, expected: &[(&str, &str)], unread: bool) {
        let (logged, more) = page_of(json!({ "rows": rows, "hasMoreRows": false }).to_string().as_bytes()).unwrap();
        let lines: Vec<_> = logged
            .entries
            .iter()
            .map(|e| (e.level.as_str(), e.message.as_str()))
            .collect();
        assert_eq!(
            (lines.as_slice(), logged.unread.is_some(), more),
            (expected, unread, false),
            "{rows}"
        );
    }

    const REFUSED: &str = "Error: connect ECONNREFUSED 10.0.0.5:5432";
    const SILENT: &str = "GET /api/orders was answered with HTTP 500, and nothing was logged about it";

    #[test]
    fn a_row_is_a_request_with_its_lines() {
        let line = json!({ "level": "error", "message": REFUSED, "messageTruncated": false });
        check(&json!([]), &[], false);
        check(&json!([row(&json!([line]), 500)]), &[("error", REFUSED)], false);
        let info = json!({ "level": "info", "message": "began" });
        check(&json!([row(&json!([info]), 200)]), &[("info", "began")], false);
        check(&json!([row(&json!([]), 500)]), &[("error", SILENT)], false);
        check(
            &json!([row(&json!([info]), 500)]),
            &[("info", "began"), ("error", SILENT)],
            false,
        );
        // As the program prints it.
        let printed = json!({ "id": "log_1", "timestamp": 1_795_920_000_000_i64, "level": "fatal", "message": REFUSED, "responseStatusCode": 500 });
        check(&json!([printed]), &[("fatal", REFUSED)], false);
    }

    #[test]
    fn another_shape_is_blindness() {
        check(&json!([{ "time": 1 }]), &[], true);
        check(&json!(["x"]), &[], true);
        check(&json!([{ "timestamp": "2026-11-29T02:59:31.655Z" }]), &[], true);
        let line = json!({ "level": "error", "message": REFUSED });
        check(
            &json!([{ "ts": 1 }, row(&json!([line]), 500)]),
            &[("error", REFUSED)],
            true,
        );
        for answer in [
            json!([]),
            json!({}),
            json!({ "rows": [] }),
            json!({ "rows": {}, "hasMoreRows": false }),
            json!({ "logs": [], "pagination": { "hasMore": false } }),
            json!({ "error": { "code": "forbidden" } }),
        ] {
            assert_eq!(
                page_of(answer.to_string().as_bytes()).unwrap_err().cause,
                "shape",
                "{answer}"
            );
        }
    }

    #[test]
    fn a_line_has_one_name_in_every_answer() {
        let line = |text: &str| row(&json!([{ "level": "error", "message": text }]), 500);
        let rows = [line("a"), line("a"), line("b")];
        let mut entries = read_rows(&rows).entries;
        assert_eq!(entries[0].name(), entries[1].name());
        assert_ne!(entries[0].name(), entries[2].name());
        in_order(&mut entries);
        assert_eq!(entries.len(), 2);
    }
}
