//! What a shop leans on beside its platforms: an Alertmanager, the status pages of providers in both shapes that are in
//! use, a node that answers JSON-RPC, and the registry of its domain. All of it is well until the story says otherwise.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::{
    clock::millis,
    serve::{Call, Reply},
    town::Town,
    world::TRACKER_TOKEN,
};

/// One block of the node's chain.
const BLOCK: TimeDelta = TimeDelta::seconds(12);

#[derive(Debug, Default)]
pub struct Services {
    inner: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    alerts: BTreeMap<String, Alert>,
    incidents: Vec<ProviderIncident>,
    /// Since when the node has got no block.
    stands_since: Option<DateTime<Utc>>,
    /// When the domain of the shop ends; none: in a year.
    domain_ends: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone)]
struct Alert {
    severity: String,
    summary: String,
    since: DateTime<Utc>,
    /// Login of whoever silenced it.
    silenced_by: Option<String>,
}

/// What a provider says on its status page.
#[derive(Debug, Clone)]
pub struct ProviderIncident {
    /// The page that it stands on.
    pub provider: &'static str,
    pub id: &'static str,
    pub name: &'static str,
    /// `minor`, `major`, `critical`.
    pub impact: &'static str,
    pub component: &'static str,
    pub since: DateTime<Utc>,
}

impl Services {
    /// An alert begins to fire.
    pub fn fire(&self, name: &str, severity: &str, summary: &str, since: DateTime<Utc>) {
        let alert = Alert {
            severity: severity.to_owned(),
            summary: summary.to_owned(),
            since,
            silenced_by: None,
        };
        self.lock().alerts.insert(name.to_owned(), alert);
    }

    pub fn silence_alert(&self, name: &str, by: &str) {
        if let Some(alert) = self.lock().alerts.get_mut(name) {
            alert.silenced_by = Some(by.to_owned());
        }
    }

    pub fn resolve(&self, name: &str) {
        self.lock().alerts.remove(name);
    }

    pub fn incident(&self, incident: ProviderIncident) {
        self.lock().incidents.push(incident);
    }

    /// Nothing of this provider's is wrong any more.
    pub fn provider_is_well(&self, provider: &str) {
        self.lock().incidents.retain(|incident| incident.provider != provider);
    }

    /// The node gets no block from then on; none: it has caught up.
    pub fn node_stands(&self, since: Option<DateTime<Utc>>) {
        self.lock().stands_since = since;
    }

    /// The registration of the shop's domain ends then.
    pub fn domain_ends(&self, at: DateTime<Utc>) {
        self.lock().domain_ends = Some(at);
    }

    pub(super) fn answer(&self, town: &Town, call: &Call) -> Reply {
        let parts: Vec<&str> = call.path.trim_matches('/').split('/').collect();
        match (call.method.as_str(), parts.as_slice()) {
            ("GET", ["api", "v2", "alerts"]) => {
                if call.header("authorization") != Some(&format!("Bearer {TRACKER_TOKEN}")) {
                    return Reply::text(401, "Unauthorized\n");
                }
                Reply::json(200, &self.alerts(town, call))
            }
            ("GET", ["status", provider, "api", "v2", "summary.json"]) => {
                Reply::json(200, &self.summary(town, provider))
            }
            ("GET", ["status", provider, "summary.json"]) => Reply::json(200, &self.short_summary(provider)),
            ("GET", ["rdap", "dns.json"]) => {
                let base = format!("http://{}/rdap/", call.header("host").unwrap_or_default());
                let services = json!([[["example"], [base]]]);
                Reply::json(
                    200,
                    &json!({ "version": "1.0", "publication": millis(town.clock.now()), "services": services }),
                )
            }
            ("GET", ["rdap", "domain", "shop.example"]) => {
                let end = self.lock().domain_ends;
                let end = end.unwrap_or(town.clock.now() + TimeDelta::days(365));
                let event = json!({ "eventAction": "expiration", "eventDate": end.to_rfc3339() });
                Reply::json(
                    200,
                    &json!({ "objectClassName": "domain", "ldhName": "shop.example", "events": [event] }),
                )
            }
            ("POST", ["rpc"]) => self.rpc(call, |kept| kept.stands_since.unwrap_or(town.clock.now())),
            ("POST", ["rpc", "reference"]) => self.rpc(call, |_| town.clock.now()),
            (method, _) => {
                let what = format!("no route for {method} {}", call.path);
                town.log.error(town.clock.now(), "services", what.clone());
                Reply::text(501, what)
            }
        }
    }

    /// Beside what fires stands one alert that has just come in, which nobody is to be woken for.
    fn alerts(&self, town: &Town, call: &Call) -> Value {
        let now = town.clock.now();
        let shows = |what: &str| call.param(what).as_deref() != Some("false");
        let kept = self.lock();
        let firing = kept.alerts.iter().map(|(name, alert)| {
            let silenced: Vec<&String> = alert.silenced_by.iter().collect();
            let state = if silenced.is_empty() { "active" } else { "suppressed" };
            let notes = json!({ "summary": alert.summary });
            (
                state,
                alert_of(name, &alert.severity, &notes, alert.since, now, state, &json!(silenced)),
            )
        });
        let arriving = alert_of(
            "DiskFillsUp",
            "warning",
            &json!({}),
            now,
            now,
            "unprocessed",
            &json!([]),
        );
        let all = firing.chain([("unprocessed", arriving)]);
        all.filter(|(state, _)| match *state {
            "active" => shows("active"),
            "suppressed" => shows("silenced"),
            _ => shows("unprocessed"),
        })
        .map(|(_, alert)| alert)
        .collect()
    }

    /// In the shape of Atlassian's pages.
    fn summary(&self, town: &Town, provider: &str) -> Value {
        let now = millis(town.clock.now());
        let kept = self.lock();
        let incidents = kept.incidents.iter().filter(|one| one.provider == provider);
        let shown: Vec<Value> = incidents
            .map(|one| {
                let at = millis(one.since);
                let component = json!({ "id": "c1", "name": one.component, "status": "major_outage" });
                let update = json!({ "id": "u1", "status": "investigating", "body": "We are looking into it.",
                    "incident_id": one.id, "created_at": at, "updated_at": at, "display_at": at });
                json!({ "id": one.id, "name": one.name, "status": "investigating", "impact": one.impact, "page_id": provider,
                    "created_at": at, "started_at": at, "updated_at": at, "monitoring_at": null, "resolved_at": null,
                    "shortlink": format!("https://stspg.example/{}", one.id), "components": [component],
                    "incident_updates": [update] })
            })
            .collect();
        let indicator = if shown.is_empty() { "none" } else { "major" };
        json!({
            "page": { "id": provider, "name": provider, "url": format!("https://status.{provider}.example"),
                      "time_zone": "Etc/UTC", "updated_at": now },
            "components": [{ "id": "c1", "name": "API", "status": "operational", "position": 1, "page_id": provider }],
            "incidents": shown, "scheduled_maintenances": [],
            "status": { "indicator": indicator, "description": "as it says" },
        })
    }

    /// In the shape of Instatus, and of Railway's page.
    fn short_summary(&self, provider: &str) -> Value {
        let impact = |word: &str| match word {
            "critical" => "MAJOROUTAGE",
            "major" => "PARTIALOUTAGE",
            _ => "DEGRADEDPERFORMANCE",
        };
        let kept = self.lock();
        let incidents = kept.incidents.iter().filter(|one| one.provider == provider);
        let shown: Vec<Value> = incidents
            .map(|one| {
                json!({ "id": one.id, "name": one.name, "started": millis(one.since), "status": "INVESTIGATING",
                    "impact": impact(one.impact), "url": format!("https://status.{provider}.example/{}", one.id) })
            })
            .collect();
        let status = if shown.is_empty() { "UP" } else { "HASISSUES" };
        let page = json!({ "name": provider, "url": format!("https://status.{provider}.example"), "status": status });
        if shown.is_empty() {
            return json!({ "page": page });
        }
        json!({ "page": page, "activeIncidents": shown })
    }

    /// One call; the newest block is that of the time that `seen` gives.
    fn rpc(&self, call: &Call, seen: impl Fn(&Kept) -> DateTime<Utc>) -> Reply {
        let asked = call.json();
        let at = seen(&self.lock());
        let reply = match asked["method"].as_str().unwrap_or_default() {
            "eth_blockNumber" => json!({ "result": format!("0x{:x}", at.timestamp() / BLOCK.num_seconds()) }),
            "getHealth" => json!({ "result": "ok" }),
            other => json!({ "error": { "code": -32601, "message": format!("the method {other} does not exist") } }),
        };
        let mut whole = json!({ "jsonrpc": "2.0", "id": asked["id"] });
        if let (Value::Object(whole), Value::Object(reply)) = (&mut whole, reply) {
            whole.extend(reply);
        }
        Reply::json(200, &whole)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn alert_of(
    name: &str,
    severity: &str,
    notes: &Value,
    since: DateTime<Utc>,
    now: DateTime<Utc>,
    state: &str,
    silenced_by: &Value,
) -> Value {
    json!({
        "labels": { "alertname": name, "severity": severity, "job": "shop" }, "annotations": notes,
        "startsAt": millis(since), "updatedAt": millis(now), "endsAt": millis(now + TimeDelta::minutes(4)),
        "fingerprint": format!("{:016x}", name.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte))),
        "receivers": [{ "name": "nobody" }], "generatorURL": "http://prometheus.shop.example/graph",
        "status": { "state": state, "silencedBy": silenced_by, "inhibitedBy": [], "mutedBy": [] },
    })
}
