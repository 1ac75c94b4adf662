//! Replies with every field that the published description requires. `shapes.json` holds one skeleton an object,
//! with markers (`@api/…`, `@now`, `@user`, `@repository`); the handlers fill in what they know.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::model::{Comment, Issue, Job, Model, Pull, Review, Stage, Status};
use crate::demo::clock::seconds;

static SHAPES: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("shapes.json")).expect("the shapes that are compiled in are JSON")
});

/// What a reply needs beside the object itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shapes<'a> {
    pub(super) api: &'a str,
    /// Base of the pages for people.
    pub(super) web: &'a str,
    pub(super) owner: &'a str,
    pub(super) name: &'a str,
    pub(super) branch: &'a str,
    pub(super) model: &'a Model,
    pub(super) now: DateTime<Utc>,
}

impl Shapes<'_> {
    /// A skeleton with its markers resolved and `fields` put over it.
    pub(super) fn fill(&self, shape: &str, fields: Value) -> Value {
        let mut object = self.expand(&SHAPES[shape]);
        if let (Value::Object(object), Value::Object(fields)) = (&mut object, fields) {
            object.extend(fields);
        }
        object
    }

    fn expand(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match text.as_str() {
                "@now" => json!(seconds(self.now)),
                "@user" => self.user(self.owner),
                "@repository" => self.repository(),
                text => match text.strip_prefix("@api") {
                    Some(rest) => json!(format!("{}{rest}", self.api)),
                    None => json!(text),
                },
            },
            Value::Object(map) => Value::Object(
                map.iter()
                    .map(|(k, v)| (k.clone(), self.expand(v)))
                    .collect::<Map<_, _>>(),
            ),
            other => other.clone(),
        }
    }

    pub(super) fn user(&self, login: &str) -> Value {
        let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
        let id: u64 = login.bytes().fold(7, |sum, b| sum * 31 % 1_000_003 + u64::from(b));
        self.fill(
            "user",
            json!({ "login": login, "id": id, "node_id": format!("U_{id}"), "type": kind, "html_url": format!("{}/{login}", self.web) }),
        )
    }

    pub(super) fn repository(&self) -> Value {
        let (owner, name, set) = (self.owner, self.name, &self.model.settings);
        self.fill(
            "repository",
            json!({
                "id": 1, "node_id": "R_1", "name": name, "full_name": format!("{owner}/{name}"),
                "private": set.private, "visibility": if set.private { "private" } else { "public" },
                "default_branch": self.branch, "has_issues": set.issues, "archived": set.archived,
                "allow_squash_merge": set.squash, "allow_merge_commit": false, "allow_rebase_merge": false,
                "html_url": format!("{}/{owner}/{name}", self.web), "url": self.url(""),
                "clone_url": format!("{}/{owner}/{name}.git", self.web),
                "permissions": { "admin": false, "maintain": false, "push": true, "triage": true, "pull": true },
            }),
        )
    }

    /// API address of something in the repository.
    pub(super) fn url(&self, rest: &str) -> String {
        format!("{}/repos/{}/{}{rest}", self.api, self.owner, self.name)
    }

    fn page(&self, rest: &str) -> String {
        format!("{}/{}/{}{rest}", self.web, self.owner, self.name)
    }

    pub(super) fn label(&self, name: &str) -> Value {
        let id = u64::try_from(name.len()).unwrap_or(0) + 1;
        self.fill(
            "label",
            json!({ "id": id, "node_id": format!("LA_{id}"), "name": name, "color": "ededed", "url": self.url(&format!("/labels/{name}")) }),
        )
    }

    fn labels(&self, names: &[String]) -> Vec<Value> {
        names.iter().map(|name| self.label(name)).collect()
    }

    pub(super) fn issue(&self, issue: &Issue) -> Value {
        let n = issue.number;
        self.fill(
            "issue",
            json!({
                "id": n, "node_id": format!("I_{n}"), "number": n, "title": issue.title, "state": if issue.open { "open" } else { "closed" },
                "labels": self.labels(&issue.labels), "user": self.user(&issue.author), "assignee": null, "comments": 0, "body": "",
                "url": self.url(&format!("/issues/{n}")), "html_url": self.page(&format!("/issues/{n}")),
                "created_at": seconds(issue.created), "updated_at": seconds(issue.created), "author_association": "MEMBER",
            }),
        )
    }

    pub(super) fn comment(&self, comment: &Comment) -> Value {
        let id = comment.id;
        self.fill(
            "comment",
            json!({
                "id": id, "node_id": format!("IC_{id}"), "body": comment.body, "user": self.user(&comment.author),
                "url": self.url(&format!("/issues/comments/{id}")), "issue_url": self.url(&format!("/issues/{}", comment.number)),
                "html_url": self.page(&format!("/pull/{}#issuecomment-{id}", comment.number)),
                "created_at": seconds(comment.created), "updated_at": seconds(comment.updated), "author_association": "NONE",
            }),
        )
    }

    /// `head` is the commit shown as the pull's head, which a fault may hold back.
    pub(super) fn pull(&self, shape: &str, pull: &Pull, head: &str, base: &str) -> Value {
        let n = pull.number;
        let side = |branch: &str, sha: &str| json!({ "label": format!("{}:{branch}", self.owner), "ref": branch, "sha": sha, "repo": self.repository(), "user": self.user(self.owner) });
        let reviewers: Vec<Value> = pull.reviewers.iter().map(|login| self.user(login)).collect();
        self.fill(
            shape,
            json!({
                "id": n, "node_id": pull.node_id(), "number": n, "title": pull.title, "body": pull.body,
                "state": if pull.open { "open" } else { "closed" }, "draft": pull.draft, "user": self.user(&pull.author), "assignee": null,
                "head": side(&pull.head, head), "base": side(&pull.base, base),
                "labels": self.labels(&pull.labels), "requested_reviewers": reviewers, "requested_teams": [],
                "merged_at": pull.merged_at.map(seconds), "merge_commit_sha": pull.merge_sha,
                "closed_at": (!pull.open).then(|| seconds(pull.updated)),
                "created_at": seconds(pull.created), "updated_at": seconds(pull.updated),
                "url": self.url(&format!("/pulls/{n}")), "html_url": self.page(&format!("/pull/{n}")),
            }),
        )
    }

    pub(super) fn review(&self, number: u64, review: &Review) -> Value {
        let id = review.id;
        self.fill(
            "review",
            json!({
                "id": id, "node_id": format!("PRR_{id}"), "user": self.user(&review.author), "body": review.body, "state": review.state,
                "commit_id": review.commit, "submitted_at": seconds(review.at), "pull_request_url": self.url(&format!("/pulls/{number}")),
            }),
        )
    }

    pub(super) fn check_run(&self, job: &Job) -> Value {
        let id = job.id;
        let page = self.page(&format!("/actions/runs/{}/job/{id}", job.run));
        self.fill(
            "check_run",
            json!({
                "id": id, "node_id": format!("CR_{id}"), "name": job.name, "head_sha": job.sha, "status": job.stage.word(),
                "conclusion": shown_conclusion(job), "started_at": job.started.map(seconds), "completed_at": job.completed.map(seconds),
                "url": self.url(&format!("/check-runs/{id}")), "details_url": page, "html_url": page,
                "check_suite": { "id": job.run }, "app": self.app(),
            }),
        )
    }

    fn app(&self) -> Value {
        self.fill("app", json!({ "id": 15368, "slug": "github-actions", "node_id": "A_15368", "name": "GitHub Actions", "events": [] }))
    }

    pub(super) fn commit_status(&self, status: &Status) -> Value {
        self.fill(
            "commit_status",
            json!({
                "id": status.id, "node_id": format!("SC_{}", status.id), "context": status.context, "state": status.state,
                "created_at": seconds(status.at), "updated_at": seconds(status.at),
            }),
        )
    }

    pub(super) fn job(&self, job: &Job) -> Value {
        let id = job.id;
        let started = seconds(job.started.unwrap_or(job.created));
        let conclusion = shown_conclusion(job);
        let begun = conclusion.map(|_| "success");
        let steps = [
            ("Set up job", begun),
            ("Run actions/checkout@v4", begun),
            (&format!("Run {}", job.command()), conclusion),
        ];
        let steps: Vec<Value> = steps
            .iter()
            .zip(1..)
            .map(|((name, end), number)| json!({ "name": name, "number": number, "status": job.stage.word(), "conclusion": end }))
            .collect();
        self.fill(
            "job",
            json!({
                "id": id, "node_id": format!("J_{id}"), "run_id": job.run, "run_attempt": job.attempt, "name": job.name, "head_sha": job.sha,
                "head_branch": job.branch, "workflow_name": job.workflow, "status": job.stage.word(), "conclusion": conclusion,
                "created_at": seconds(job.created), "started_at": started, "completed_at": job.completed.map(seconds), "steps": steps,
                "url": self.url(&format!("/actions/jobs/{id}")), "html_url": self.page(&format!("/actions/runs/{}/job/{id}", job.run)),
            }),
        )
    }

    /// A workflow run from its jobs: the last attempt is what it shows.
    pub(super) fn run(&self, all: &[&Job]) -> Value {
        let attempt = all.iter().map(|j| j.attempt).max().unwrap_or(1);
        let jobs: Vec<&Job> = all.iter().copied().filter(|j| j.attempt == attempt).collect();
        let (Some(first), Some(created)) = (jobs.first(), all.iter().map(|j| j.created).min()) else {
            return Value::Null;
        };
        let done = jobs.iter().all(|j| j.stage == Stage::Completed);
        let begun = jobs.iter().any(|j| j.stage != Stage::Queued);
        let status = match (done, begun) {
            (true, _) => "completed",
            (false, true) => "in_progress",
            (false, false) => "queued",
        };
        let worst = jobs.iter().find(|j| !j.is_green()).copied().unwrap_or(first);
        let updated = jobs.iter().filter_map(|j| j.completed).max().unwrap_or(first.created);
        let id = first.run;
        self.fill(
            "run",
            json!({
                "id": id, "node_id": format!("WR_{id}"), "name": first.workflow, "display_title": format!("push to {}", first.branch), "event": "push",
                "path": format!(".github/workflows/{}.yml", first.workflow.to_lowercase()), "workflow_id": workflow_id(&first.workflow),
                "run_number": id, "run_attempt": attempt, "status": status,
                "conclusion": if done { worst.conclusion.clone() } else { None }, "head_branch": first.branch, "head_sha": first.sha,
                "created_at": seconds(created), "run_started_at": seconds(first.created), "updated_at": seconds(updated),
                "url": self.url(&format!("/actions/runs/{id}")), "html_url": self.page(&format!("/actions/runs/{id}")),
                "jobs_url": self.url(&format!("/actions/runs/{id}/jobs")), "pull_requests": [],
                "actor": self.user(self.owner), "triggering_actor": self.user(self.owner),
            }),
        )
    }
}

fn workflow_id(name: &str) -> u64 {
    name.bytes().fold(1, |sum, byte| sum * 31 % 1_000_003 + u64::from(byte))
}

fn shown_conclusion(job: &Job) -> Option<&str> {
    job.conclusion.as_deref().filter(|_| job.stage == Stage::Completed)
}
