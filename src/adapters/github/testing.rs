//! A scripted forge on loopback for the tests of this client: answers by method and path, and what was asked.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, Response, Uri},
};
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use super::GitHub;
use crate::{adapters::http::Http, model::RepoName, text::Redactor};

pub(super) const TOKEN: &str = "ghp_fakeFakeFakeFakeFakeFakeFakeFakeFake";

#[derive(Clone)]
pub(super) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Option<String>,
}

pub(super) fn answer(status: u16, body: &Value) -> Answer {
    Answer {
        status,
        headers: Vec::new(),
        body: Some(body.to_string()),
    }
}

pub(super) fn message(status: u16, message: &str) -> Answer {
    answer(
        status,
        &serde_json::json!({"message": message, "status": status.to_string()}),
    )
}

pub(super) fn text(status: u16, body: &str) -> Answer {
    Answer {
        status,
        headers: Vec::new(),
        body: Some(body.to_owned()),
    }
}

/// The connection breaks after the headers: whether the effect stands is unknown.
pub(super) fn lost() -> Answer {
    Answer {
        status: 200,
        headers: Vec::new(),
        body: None,
    }
}

impl Answer {
    pub(super) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) line: String,
    pub(super) query: String,
    pub(super) token: bool,
    pub(super) body: Value,
}

#[derive(Default)]
struct Script {
    answers: BTreeMap<String, Vec<Answer>>,
    asked: Vec<Asked>,
}

#[derive(Clone)]
pub(super) struct Forge {
    script: Arc<Mutex<Script>>,
    pub(super) base: Url,
}

impl Forge {
    pub(super) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let script = Arc::new(Mutex::new(Script::default()));
        let router = Router::new().fallback(respond).with_state(Arc::clone(&script));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { script, base }
    }

    /// `line` is a method and a path below the repository, such as `GET pulls/3`, or an absolute one. Answers are
    /// given in order, the last one again and again.
    pub(super) fn on(&self, line: &str, answer: Answer) -> &Self {
        let (method, path) = line.split_once(' ').unwrap();
        let path = match path.strip_prefix('/') {
            Some(absolute) => format!("/{absolute}"),
            None if path.is_empty() => "/repos/acme/shop".to_owned(),
            None => format!("/repos/acme/shop/{path}"),
        };
        let key = format!("{method} {path}");
        self.script.lock().unwrap().answers.entry(key).or_default().push(answer);
        self
    }

    pub(super) fn client(&self) -> GitHub {
        let http = Http::new(Redactor::default(), Vec::new());
        let token = Some(SecretString::from(TOKEN));
        let mut github = GitHub::new(http, self.base.clone(), token, Redactor::default());
        github.edge.retry.first = std::time::Duration::ZERO;
        github
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.script.lock().unwrap().asked.clone()
    }

    pub(super) fn count(&self, line_start: &str) -> usize {
        self.asked().iter().filter(|a| a.line.starts_with(line_start)).count()
    }
}

async fn respond(
    State(script): State<Arc<Mutex<Script>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let line = format!("{method} {}", uri.path());
    let mut script = script.lock().unwrap();
    script.asked.push(Asked {
        line: line.clone(),
        query: uri.query().unwrap_or_default().to_owned(),
        token: headers
            .get("authorization")
            .is_some_and(|h| h == &format!("Bearer {TOKEN}")),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    });
    let Some(answers) = script.answers.get_mut(&line) else {
        return Response::builder()
            .status(501)
            .body(Body::from(format!("{{\"message\": \"no answer for {line}\"}}")))
            .unwrap();
    };
    let answer = if answers.len() > 1 {
        answers.remove(0)
    } else {
        answers[0].clone()
    };
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    let body = match answer.body {
        Some(text) => Body::from(text),
        None => Body::from_stream(futures_util::stream::iter([
            Ok(Bytes::from_static(b"{\"mer")),
            Err(std::io::Error::other("cut")),
        ])),
    };
    response.body(body).unwrap()
}

pub(super) fn repo() -> RepoName {
    RepoName::parse("acme/shop").unwrap()
}
