//! The tracker as Sentry shows it: issues of an organisation in a time, their latest event, pages by `Link`. What it says is
//! made of what the sample app reported; tests hold it against the published description.

use chrono::{DateTime, NaiveDateTime, Utc};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    clock::millis,
    log::Recorded,
    serve::{Call, Reply},
    town::Town,
    tracker::{Exception, Group},
};

/// Issues on one page; the real service has 100.
const PAGE: usize = 2;
pub(super) const ORGANISATION: &str = "acme";
/// The description demands what is only there when `expand` or a search asks for it, and what newer products add.
pub const ON_REQUEST: [&str; 10] = [
    "inbox",
    "owners",
    "integrationIssues",
    "sentryAppIssues",
    "latestEventHasAttachments",
    "sessionCount",
    "filtered",
    "matchingEventId",
    "matchingEventEnvironment",
    "derivedData",
];
/// As the description has them.
const LIST: &str = "/api/0/organizations/{organization_id_or_slug}/issues/";
const EVENT: &str = "/api/0/organizations/{organization_id_or_slug}/issues/{issue_id}/events/{event_id}/";

/// None: no route of Sentry's.
pub(super) fn answer(town: &Town, token: &str, call: &Call) -> Option<Reply> {
    let path = call
        .path
        .strip_prefix("/api/0/organizations/")?
        .strip_prefix(ORGANISATION)?;
    if call.header("authorization") != Some(&format!("Bearer {token}")) {
        return Some(Reply::json(401, &json!({ "detail": "Invalid token" })));
    }
    let (template, reply) = if path == "/issues/" {
        (LIST, list(town, call))
    } else {
        let id = path.strip_prefix("/issues/")?.strip_suffix("/events/latest/")?;
        (EVENT, latest(town, id))
    };
    town.log.reply(Recorded::of(call, template, &reply));
    Some(reply.with("x-sentry-rate-limit-limit", "40"))
}

fn list(town: &Town, call: &Call) -> Reply {
    let (Some(start), Some(end)) = (time(call, "start"), time(call, "end")) else {
        return Reply::json(400, &json!({ "detail": "Invalid date range" }));
    };
    let issues = town.tracker.groups(town, |at| start <= at && at < end);
    let from: usize = call
        .param("cursor")
        .and_then(|cursor| cursor.split(':').nth(1)?.parse().ok())
        .unwrap_or(0);
    let shown: Vec<Value> = issues
        .iter()
        .skip(from)
        .take(PAGE)
        .map(|group| issue(town, group))
        .collect();
    let more = issues.len() > from + PAGE;
    let link = |rel: &str, at: usize, results: bool, back: u8| {
        let query = format!("{}&cursor=0:{at}:{back}", call.query);
        let url = format!("{}{}?{query}", town.tracker_url, call.path);
        format!("<{url}>; rel=\"{rel}\"; results=\"{results}\"; cursor=\"0:{at}:{back}\"")
    };
    let links = [
        link("previous", from.saturating_sub(PAGE), from > 0, 1),
        link("next", from + PAGE, more, 0),
    ];
    Reply::json(200, &json!(shown)).with("link", links.join(", "))
}

/// ISO 8601, with or without a zone.
fn time(call: &Call, name: &str) -> Option<DateTime<Utc>> {
    let text = call.param(name)?;
    let naive: NaiveDateTime = text.trim_end_matches('Z').parse().ok()?;
    Some(naive.and_utc())
}

fn latest(town: &Town, id: &str) -> Reply {
    let groups = town.tracker.groups(town, |_| true);
    match groups.iter().find(|group| number(&group.what) == id) {
        Some(group) => Reply::json(200, &event(id, group)),
        None => Reply::json(404, &json!({ "detail": "The requested resource does not exist" })),
    }
}

/// Digits only, as the service has them.
fn number(what: &Exception) -> String {
    let digest = Sha256::digest(format!("{what:?}"));
    u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]).to_string()
}

fn issue(town: &Town, group: &Group) -> Value {
    let what = &group.what;
    let id = number(what);
    let (first, last) = group.ends();
    json!({
        "id": id, "shareId": null, "shortId": format!("SHOP-{}", &id[..2]), "title": format!("{}: {}", what.kind, what.message),
        "culprit": what.route, "permalink": format!("{}/organizations/{ORGANISATION}/issues/{id}/", town.tracker_url),
        "logger": null, "level": "error", "status": "unresolved", "statusDetails": {}, "substatus": "new", "isPublic": false,
        "platform": "python", "priority": "high", "priorityLockedAt": null, "seerFixabilityScore": null, "seerAutofixLastTriggered": null,
        "seerExplorerAutofixLastTriggered": null,
        "project": { "id": "1", "name": "shop", "slug": "shop", "platform": "python" },
        "type": "error", "issueType": "error", "issueCategory": "error",
        "metadata": { "type": what.kind, "value": what.message },
        "numComments": 0, "assignedTo": null, "isBookmarked": false, "isSubscribed": false, "subscriptionDetails": null,
        "hasSeen": false, "annotations": [], "isUnhandled": true,
        "stats": {}, "lifetime": {},
        "count": group.times.len().to_string(), "userCount": 1, "firstSeen": millis(first), "lastSeen": millis(last),
    })
}

fn event(id: &str, group: &Group) -> Value {
    let what = &group.what;
    let last = millis(group.ends().1);
    let event = format!("{id:0>32}");
    let frames: Vec<Value> = what.stack.lines().filter_map(frame).collect();
    let value = json!({
        "type": what.kind, "value": what.message, "module": null, "threadId": null, "rawStacktrace": null,
        "mechanism": { "type": "generic", "handled": false },
        "stacktrace": { "frames": frames, "framesOmitted": null, "registers": null, "hasSystemFrames": false },
    });
    let release = what
        .release
        .as_ref()
        .map(|version| json!({ "id": 1, "version": format!("shop@{version}") }));
    json!({
        "id": event, "eventID": event, "groupID": id, "projectID": "1", "dist": null, "userReport": null, "previousEventID": null,
        "message": "", "title": format!("{}: {}", what.kind, what.message), "size": 1000, "errors": [],
        "location": null, "culprit": what.route, "platform": "python", "type": "error",
        "metadata": { "type": what.kind, "value": what.message }, "tags": [{ "key": "environment", "value": "production" }],
        "dateCreated": last, "dateReceived": last, "user": { "id": "17", "email": "customer@example.com" },
        "entries": [
            { "type": "exception", "data": { "values": [value], "hasSystemFrames": false, "excOmitted": null } },
            { "type": "request", "data": { "method": "GET", "url": what.route, "cookies": [["session", "fake-cookie-not-real"]] } },
        ],
        "packages": {}, "sdk": { "name": "sentry.python", "version": "2.0.0" }, "contexts": {}, "context": {},
        "fingerprints": [id], "crashFile": null, "groupingConfig": { "id": "newstyle:2023-01-11", "enhancements": "" },
        "release": release, "sdkUpdates": [], "resolvedWith": [], "nextEventID": null, "_meta": {}, "occurrence": null,
    })
}

/// A frame of a Python trace.
fn frame(line: &str) -> Option<Value> {
    let (file, rest) = line.trim().strip_prefix("File \"")?.split_once("\", line ")?;
    let (number, function) = rest.split_once(", in ")?;
    Some(json!({
        "filename": file, "absPath": file, "module": null, "package": null, "platform": null, "instructionAddr": null,
        "symbolAddr": null, "function": function, "rawFunction": null, "symbol": null, "context": [],
        "lineNo": number.parse::<u64>().ok()?, "colNo": null, "inApp": true, "trust": null, "errors": null, "lock": null,
        "sourceLink": null, "vars": { "card": "fake-variable-not-real" },
    }))
}
