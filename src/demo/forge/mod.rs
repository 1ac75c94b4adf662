//! A git forge on loopback that speaks the part of GitHub's API that the product uses, joined to a real bare
//! repository. One file a resource; a request that no route expects is a 501 and fails the story.
#![expect(
    clippy::unnecessary_wraps,
    reason = "every handler has the one shape that the table of routes wants"
)]

mod actions;
mod checks;
mod git;
mod graphql;
mod issues;
mod merge;
mod model;
mod pulls;
mod repo;
mod routes;
mod runs;
mod shapes;
mod storage;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(super) use self::runs::{again, enter};
pub use self::{
    git::{Author, BareRepo, CommitFacts, Merged},
    merge::land,
    model::{Comment, Issue, Job, Labelled, Model, Pull, RUNNER_START, Review, Settings, Stage, Status},
    runs::{CiRun, JobRun},
};
use self::{
    routes::{Args, Handler, route},
    shapes::Shapes,
};
use super::{
    faults::Fault,
    log::Recorded,
    serve::{Call, Reply},
    town::Town,
};

#[derive(Debug)]
pub struct Forge {
    pub owner: String,
    pub name: String,
    /// Default branch.
    pub branch: String,
    pub token: String,
    pub repo: BareRepo,
    /// Base of the API.
    pub api: String,
    /// Base of clone URLs and pages.
    pub web: String,
    pub(super) model: Mutex<Model>,
}

impl Forge {
    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    pub fn clone_url(&self) -> String {
        format!("{}/{}.git", self.web, self.full_name())
    }

    /// Answers one request; the model stays locked until it is done.
    pub fn answer(&self, town: &Town, call: &Call, faults: &[Fault]) -> Reply {
        if let Some(rest) = call.path.strip_prefix("/git/") {
            return self.answer_git(town, call, rest);
        }
        if let Some(id) = call.path.strip_prefix("/storage/kept/") {
            return actions::stored_archive(&self.model(), id);
        }
        if let Some(path) = call.path.strip_prefix("/storage/") {
            return storage::answer(&self.model(), path);
        }
        let Some((template, handler, args)) = route(call) else {
            let what = format!("no route for {} {}", call.method, call.path);
            town.log.error(town.clock.now(), "forge", what.clone());
            return Reply::json(501, &json!({ "message": what }));
        };
        let reply = self.handle(town, call, faults, handler, args);
        town.log.reply(Recorded::of(call, template, &reply));
        Self::with_headers(town, call, reply)
    }

    fn handle(&self, town: &Town, call: &Call, faults: &[Fault], handler: Handler, args: Args) -> Reply {
        let public = is_anonymous(call) && !self.model().settings.private;
        if !public && !self.bearer(call) {
            return refuse(401, "Bad credentials");
        }
        if call.header("user-agent").is_none() {
            return refuse(
                403,
                "Request forbidden by administrative rules. Send a User-Agent header.",
            );
        }
        let here = |name: &str, own: &str| args.get(name).is_none_or(|given| given.eq_ignore_ascii_case(own));
        if !here("owner", &self.owner) || !here("repo", &self.name) {
            return refuse(404, "Not Found");
        }
        let mut model = self.model();
        let mut desk = Desk {
            town,
            forge: self,
            model: &mut model,
            call,
            args,
            faults,
        };
        handler(&mut desk).unwrap_or_else(|error| {
            let what = format!("{} {}: {error:#}", call.method, call.path);
            town.log.error(town.clock.now(), "forge", what);
            refuse(500, "the world failed")
        })
    }

    /// Rate limit on every answer; an entity tag on what was read.
    fn with_headers(town: &Town, call: &Call, reply: Reply) -> Reply {
        let reset = town.clock.now().timestamp() + 3600;
        let reply = [("limit", 5000), ("remaining", 4900), ("used", 100), ("reset", reset)]
            .into_iter()
            .fold(reply, |r, (name, value)| {
                r.with(&format!("x-ratelimit-{name}"), value.to_string())
            })
            .with("x-ratelimit-resource", "core");
        if call.method != "GET" || reply.status != 200 {
            return reply;
        }
        let digest = Sha256::digest(&reply.body);
        let tag = digest
            .iter()
            .take(8)
            .fold(0_u64, |tag, byte| tag << 8 | u64::from(*byte));
        let tag = format!("W/\"{tag:016x}\"");
        if call.header("if-none-match") == Some(tag.as_str()) {
            return Reply::empty(304).with("etag", tag);
        }
        reply.with("etag", tag)
    }

    fn bearer(&self, call: &Call) -> bool {
        let given = call.header("authorization").unwrap_or_default();
        given.strip_prefix("Bearer ").or(given.strip_prefix("token ")) == Some(self.token.as_str())
    }

    fn answer_git(&self, town: &Town, call: &Call, rest: &str) -> Reply {
        let basic = call
            .header("authorization")
            .and_then(|given| given.strip_prefix("Basic "))
            .and_then(|given| base64::engine::general_purpose::STANDARD.decode(given).ok())
            .is_some_and(|given| given == format!("x-access-token:{}", self.token).as_bytes());
        if !basic && !self.bearer(call) {
            return Reply::text(401, "authentication needed").with("www-authenticate", "Basic realm=\"world\"");
        }
        let mut model = self.model();
        let served = (|| {
            let before = self.repo.heads()?;
            let reply = self.repo.serve(call, &format!("/{rest}"))?;
            let after = self.repo.heads()?;
            town.pushed(&mut model, &before, &after, By::Token)?;
            Ok::<_, anyhow::Error>(reply)
        })();
        served.unwrap_or_else(|error| {
            town.log
                .error(town.clock.now(), "git", format!("{} {rest}: {error:#}", call.method));
            Reply::text(500, "the world failed")
        })
    }
}

/// Who moved a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Whoever pushes with the token: the product.
    Token,
    /// The forge itself, by a merge that it allowed.
    Merge,
    Person,
}

/// What a handler works with.
struct Desk<'a> {
    town: &'a Town,
    forge: &'a Forge,
    model: &'a mut Model,
    call: &'a Call,
    args: Args,
    faults: &'a [Fault],
}

impl Desk<'_> {
    fn arg(&self, name: &str) -> &str {
        self.args.get(name).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> u64 {
        self.arg(name).parse().unwrap_or(0)
    }

    fn body(&self) -> Value {
        self.call.json()
    }

    fn shapes(&self) -> Shapes<'_> {
        Shapes {
            api: &self.forge.api,
            web: &self.forge.web,
            owner: &self.forge.owner,
            name: &self.forge.name,
            branch: &self.forge.branch,
            model: self.model,
            now: self.town.clock.now(),
        }
    }

    /// One page of a list, with a `Link` header while there is a next one. `envelope` names the list inside an object.
    fn page(&self, items: &[Value], envelope: Option<&str>) -> Reply {
        let param = |name: &str, default: usize| {
            self.call
                .param(name)
                .and_then(|n| n.parse::<usize>().ok())
                .filter(|n| *n > 0)
                .unwrap_or(default)
        };
        let (size, page) = (param("per_page", 30).min(100), param("page", 1));
        let shown: Vec<&Value> = items.iter().skip((page - 1) * size).take(size).collect();
        let reply = match envelope {
            Some(name) => Reply::json(200, &json!({ "total_count": items.len(), name: shown })),
            None => Reply::json(200, &json!(shown)),
        };
        if page * size >= items.len() {
            return reply;
        }
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (key, value) in url::form_urlencoded::parse(self.call.query.as_bytes()) {
            if key != "page" {
                query.append_pair(&key, &value);
            }
        }
        query.append_pair("page", &(page + 1).to_string());
        let next = format!(
            "<{}{}?{}>; rel=\"next\"",
            self.forge.api,
            self.call.path,
            query.finish()
        );
        reply.with("link", next)
    }
}

/// Whoever gives no token sees what is public.
fn is_anonymous(call: &Call) -> bool {
    call.method == "GET" && call.header("authorization").is_none()
}

fn refuse(status: u16, message: &str) -> Reply {
    let body =
        json!({ "message": message, "documentation_url": "https://docs.example/rest", "status": status.to_string() });
    Reply::json(status, &body)
}

/// 422 with one entry in `errors`.
fn invalid(resource: &str, code: &str, message: &str) -> Reply {
    let body = json!({
        "message": "Validation Failed", "documentation_url": "https://docs.example/rest", "status": "422",
        "errors": [{ "resource": resource, "code": code, "message": message }],
    });
    Reply::json(422, &body)
}
