//! Railway's GraphQL API: one query a call, with the token in its header, a deadline, a cap, and every refusal by its own
//! cause. Errors of the API come with HTTP 200 as a rule; a part that is missing is said, not guessed.
//!
//! Only queries are sent. Each is a POST that reads, so it may be tried again like a GET.

use std::cell::{Cell, RefCell};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::limit::Limit;
use crate::{
    adapters::http::{Redirects, Request, Response, RetryPolicy, secret_value},
    collect::{
        context::{Blind, Session},
        probe::check_json,
    },
    config::RailwayToken,
};

/// Most bytes of one answer.
const CAP: usize = 16 << 20;

/// The cause of a refusal that waiting mends.
pub(super) const LIMITED: &str = "rate-limited";

/// A query in a file of its own, named as in the file.
pub(in crate::collect) struct Query {
    pub(in crate::collect) name: &'static str,
    pub(in crate::collect) text: &'static str,
}

macro_rules! queries {
    ($($id:ident = $name:literal in $file:literal;)*) => {
        $(pub(super) const $id: Query = Query { name: $name, text: include_str!($file) };)*
        /// Every query that is ever sent; tests hold them against the published schema.
        #[cfg(test)]
        pub(crate) const ALL: &[&Query] = &[$(&$id),*];
    };
}

queries! {
    TOKEN = "Token" in "token.graphql";
    ENVIRONMENTS = "Environments" in "environments.graphql";
    SERVICES = "Services" in "services.graphql";
    SERVICE = "Service" in "service.graphql";
    EVENTS = "Events" in "events.graphql";
    BUILD_LOGS = "BuildLogs" in "build_logs.graphql";
    DEPLOYMENT_LOGS = "DeploymentLogs" in "deployment_logs.graphql";
    RUNTIME_LOGS = "RuntimeLogs" in "runtime_logs.graphql";
    HTTP_LOGS = "HttpLogs" in "http_logs.graphql";
    VARIABLES = "Variables" in "variables.graphql";
}

/// What one look asks with.
pub(super) struct Api<'a> {
    session: &'a Session<'a>,
    token: &'a RailwayToken,
    limit: Cell<Limit>,
    /// What was missing from answers that came.
    missing: RefCell<Vec<Blind>>,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    data: Option<Value>,
    #[serde(default)]
    errors: Vec<ApiError>,
}

#[derive(Deserialize)]
struct ApiError {
    #[serde(default)]
    message: String,
    #[serde(default)]
    extensions: Option<Extensions>,
}

#[derive(Deserialize)]
struct Extensions {
    #[serde(default)]
    code: Option<Value>,
}

impl<'a> Api<'a> {
    pub(super) fn new(session: &'a Session<'a>, token: &'a RailwayToken, limit: Limit) -> Self {
        Self {
            session,
            token,
            limit: Cell::new(limit),
            missing: RefCell::default(),
        }
    }

    /// What the service last said about its limit.
    pub(super) fn limit(&self) -> Limit {
        self.limit.get()
    }

    pub(super) fn take_missing(&self) -> Vec<Blind> {
        self.missing.take()
    }

    pub(super) fn of_project(&self) -> bool {
        matches!(self.token, RailwayToken::Project { .. })
    }

    /// The variable that holds the token.
    pub(super) fn variable(&self) -> &str {
        self.token.variable()
    }

    /// Asks one query. What comes with errors beside it is given, and the errors are kept.
    pub(super) async fn ask<T: DeserializeOwned>(&self, query: &Query, variables: Value) -> Result<T, Blind> {
        if let Some(blind) = self.limit.get().spent(self.session.ctx.now) {
            return Err(blind);
        }
        let response = self.send(query, &variables).await?;
        let limit = self.limit.get().after(&response, self.session.ctx.now);
        self.limit.set(limit);
        let failed = |blind: Blind| Blind::new(blind.cause, format!("{}: {}", query.name, blind.detail));
        let envelope = read(&response, self.variable()).map_err(failed)?;
        let wrong = envelope.errors.first().map(|error| failed(self.judge(error)));
        if wrong.as_ref().is_some_and(|wrong| wrong.cause == LIMITED) {
            self.limit.set(limit.refused(self.session.ctx.now));
        }
        match (envelope.data, wrong) {
            (Some(data), wrong) if !data.is_null() => {
                let data = serde_json::from_value(data)
                    .map_err(|error| failed(wrong.clone().unwrap_or_else(|| Blind::new("shape", error.to_string()))))?;
                self.missing.borrow_mut().extend(wrong);
                Ok(data)
            }
            (_, Some(wrong)) => Err(wrong),
            (_, None) => Err(failed(Blind::new("shape", "an answer without data and without errors"))),
        }
    }

    fn judge(&self, error: &ApiError) -> Blind {
        let code = error.extensions.as_ref().and_then(|ext| ext.code.as_ref());
        let code = code.and_then(Value::as_str).unwrap_or_default();
        let (cause, advice) = cause(&error.message, code);
        let said = self.session.line(&error.message, 200);
        let advice = advice.replace("{token}", self.variable());
        Blind::new(cause, format!("the API says \"{said}\"; {advice}"))
    }

    async fn send(&self, query: &Query, variables: &Value) -> Result<Response, Blind> {
        let config = self.session.ctx.config;
        let body = json!({ "query": query.text, "operationName": query.name, "variables": variables });
        // One kind of header each: the service refuses a token in the other's.
        let (name, prefix, value) = match self.token {
            RailwayToken::Project { value, .. } => (HeaderName::from_static("project-access-token"), "", value),
            RailwayToken::Account { value, .. } => (header::AUTHORIZATION, "Bearer ", value),
        };
        let token = secret_value(prefix, value).ok_or_else(|| {
            let what = format!("{} holds characters that no token has", self.variable());
            Blind::new("bad-token", what)
        })?;
        let request = Request {
            method: Method::POST,
            url: &config.railway_api,
            headers: vec![
                (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
                (name, token),
            ],
            body: Some(Bytes::from(body.to_string())),
            // A slow part leaves time for the others.
            deadline: config.limits.collect_deadline / 4,
            cap: CAP,
            redirects: Redirects::None,
            retry: RetryPolicy::from_config(&config.retry).of_reads_by_post(),
        };
        let _permit = self.session.permit().await;
        let sent = self.session.ctx.http.send(request).await;
        sent.map_err(|error| {
            Blind::new(
                error.cause(),
                self.session.line(&format!("{}: {error}", query.name), 300),
            )
        })
    }
}

/// The envelope of an answer, whatever its status: some refusals come with errors and another status than 200.
fn read(response: &Response, token: &str) -> Result<Envelope, Blind> {
    let code = response.status.as_u16();
    let refused = || match code {
        429 => Blind::new(
            LIMITED,
            "HTTP 429: the limit of the token is spent; it comes back by itself",
        ),
        401 | 403 => Blind::new(format!("http-{code}"), format!("HTTP {code}: check {token}")),
        300..=399 => Blind::new(format!("http-{code}"), format!("HTTP {code}: check railway.api")),
        _ => Blind::new(
            format!("http-{code}"),
            format!("HTTP {code}: Railway has a problem of its own"),
        ),
    };
    if code == 429 {
        return Err(refused());
    }
    let envelope = check_json(response).and_then(|()| {
        serde_json::from_slice::<Envelope>(&response.body).map_err(|error| Blind::new("shape", error.to_string()))
    });
    match envelope {
        Ok(envelope) if response.status.is_success() || !envelope.errors.is_empty() => Ok(envelope),
        Err(blind) if response.status.is_success() => Err(blind),
        Ok(_) | Err(_) => Err(refused()),
    }
}

/// What an error of the API means. It tells most of them apart only by their text.
fn cause(message: &str, code: &str) -> (&'static str, &'static str) {
    let text = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&["rate limit", "too many requests", "ratelimit"]) || matches!(code, "RATE_LIMITED" | "TOO_MANY_REQUESTS") {
        (LIMITED, "the limit of the token is spent; it comes back by itself")
    } else if says(&["project token not found"]) {
        (
            "bad-token",
            "{token} is no token of a project, or was removed; make a new one",
        )
    } else if says(&["two factor authentication"]) {
        (
            "two-factor",
            "the workspace wants two-factor authentication of the owner of {token}",
        )
    } else if says(&["not authorized", "unauthorized"]) || matches!(code, "UNAUTHENTICATED" | "FORBIDDEN") {
        // A wrong token and a missing right have the same text.
        (
            "not-authorised",
            "{token} is wrong, or may not read this; check it, and project and environment in the config",
        )
    } else if says(&[
        "cannot query field",
        "unknown argument",
        "unknown type",
        "must have a selection",
    ]) || matches!(code, "GRAPHQL_VALIDATION_FAILED" | "GRAPHQL_PARSE_FAILED")
    {
        ("unknown-field", "the API has changed; a newer tick may know it")
    } else if says(&["not found"]) {
        ("not-found", "check project, environment and service in the config")
    } else {
        ("graphql", "Railway has a problem of its own")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_the_api_has_its_cause() {
        for (message, code, expected) in [
            ("Not Authorized", "", "not-authorised"),
            (
                "not authorized to read deployment",
                "INTERNAL_SERVER_ERROR",
                "not-authorised",
            ),
            ("Project Token not found", "", "bad-token"),
            ("Two Factor Authentication Required", "", "two-factor"),
            ("Deployment not found", "", "not-found"),
            ("You have been rate limited", "", "rate-limited"),
            ("slow down", "RATE_LIMITED", "rate-limited"),
            ("Cannot query field \"x\" on type \"Deployment\".", "", "unknown-field"),
            ("bad", "GRAPHQL_VALIDATION_FAILED", "unknown-field"),
            ("Problem processing request", "INTERNAL_SERVER_ERROR", "graphql"),
        ] {
            assert_eq!(cause(message, code).0, expected, "{message} {code}");
        }
    }

    #[test]
    fn the_published_schema_takes_every_query() {
        let schema = crate::demo::schema::graphql::Schema::railway();
        for query in ALL {
            assert_eq!(schema.check_query(query.text), Ok(()), "{}", query.name);
        }
        let misspelt = SERVICE.text.replacen("canRollback", "canRollBack", 1);
        let wrong = schema.check_query(&misspelt).unwrap_err();
        assert_eq!(
            wrong,
            ["deployments.edges.node.canRollBack: Deployment has no such field"]
        );
    }

    #[test]
    fn each_query_is_called_as_in_its_file() {
        for query in ALL {
            let head = format!("\nquery {}", query.name);
            assert_eq!(query.text.matches(&head).count(), 1, "{}", query.name);
            assert!(query.text.starts_with("# "), "{} says what it is for", query.name);
        }
    }
}
