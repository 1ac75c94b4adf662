//! The table of routes: everything the product asks a forge for, and how a path finds its handler.

use std::collections::BTreeMap;

use anyhow::Result;

use super::{Desk, actions, checks, graphql, issues, merge, pulls, repo};
use crate::demo::serve::{Call, Reply};

pub(super) type Args = BTreeMap<String, String>;
pub(super) type Handler = fn(&mut Desk<'_>) -> Result<Reply>;

/// Everything the product asks a forge for. The templates are those of the published description.
#[rustfmt::skip]
pub(super) const ROUTES: &[(&str, &str, Handler)] = &[
    ("GET", "/rate_limit", repo::rate_limit),
    ("POST", "/graphql", graphql::answer),
    ("GET", "/repos/{owner}/{repo}", repo::get),
    ("GET", "/repos/{owner}/{repo}/branches/{branch}/protection", repo::protection),
    ("GET", "/repos/{owner}/{repo}/branches/{branch}", repo::branch),
    ("GET", "/repos/{owner}/{repo}/git/ref/{ref}", repo::reference),
    ("GET", "/repos/{owner}/{repo}/rules/branches/{branch}", repo::rules),
    ("GET", "/repos/{owner}/{repo}/collaborators/{username}/permission", repo::permission),
    ("GET", "/repos/{owner}/{repo}/commits", repo::commits),
    ("GET", "/repos/{owner}/{repo}/commits/{ref}", repo::commit),
    ("GET", "/repos/{owner}/{repo}/commits/{ref}/check-runs", checks::check_runs),
    ("GET", "/repos/{owner}/{repo}/commits/{ref}/status", checks::status),
    ("GET", "/repos/{owner}/{repo}/actions/runs", actions::runs),
    ("GET", "/repos/{owner}/{repo}/actions/runs/{run_id}", actions::run),
    ("POST", "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs", actions::rerun),
    ("GET", "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs", actions::jobs),
    ("GET", "/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts", actions::artifacts),
    ("GET", "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}", actions::archive),
    ("GET", "/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs", actions::attempt_jobs),
    ("GET", "/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/logs", actions::attempt_logs),
    ("GET", "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs", actions::log),
    ("GET", "/repos/{owner}/{repo}/issues", issues::list),
    ("GET", "/repos/{owner}/{repo}/issues/{issue_number}", issues::get),
    ("GET", "/repos/{owner}/{repo}/issues/{issue_number}/labels", issues::labels),
    ("POST", "/repos/{owner}/{repo}/issues/{issue_number}/labels", issues::add_labels),
    ("DELETE", "/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}", issues::remove_label),
    ("GET", "/repos/{owner}/{repo}/issues/{issue_number}/events", issues::events),
    ("GET", "/repos/{owner}/{repo}/issues/{issue_number}/comments", issues::comments),
    ("POST", "/repos/{owner}/{repo}/issues/{issue_number}/comments", issues::add_comment),
    ("PATCH", "/repos/{owner}/{repo}/issues/comments/{comment_id}", issues::edit_comment),
    ("GET", "/repos/{owner}/{repo}/pulls", pulls::list),
    ("POST", "/repos/{owner}/{repo}/pulls", pulls::create),
    ("GET", "/repos/{owner}/{repo}/pulls/{pull_number}", pulls::get),
    ("PATCH", "/repos/{owner}/{repo}/pulls/{pull_number}", pulls::edit),
    ("GET", "/repos/{owner}/{repo}/pulls/{pull_number}/files", pulls::files),
    ("GET", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews", pulls::reviews),
    ("POST", "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", pulls::request_reviewers),
    ("PUT", "/repos/{owner}/{repo}/pulls/{pull_number}/merge", merge::merge),
];

pub(super) fn route(call: &Call) -> Option<(&'static str, Handler, Args)> {
    ROUTES.iter().find_map(|(method, template, handler)| {
        if *method != call.method {
            return None;
        }
        let wanted: Vec<&str> = template.trim_start_matches('/').split('/').collect();
        let given: Vec<&str> = call.path.trim_matches('/').split('/').collect();
        let mut args = Args::new();
        fits(&wanted, &given, &mut args).then_some((*template, *handler, args))
    })
}

/// Names of branches and refs may hold slashes; every other placeholder is one segment.
fn fits(wanted: &[&str], given: &[&str], args: &mut Args) -> bool {
    let Some((first, rest)) = wanted.split_first() else {
        return given.is_empty();
    };
    let Some(name) = first.strip_prefix('{').and_then(|f| f.strip_suffix('}')) else {
        return given.first() == Some(first) && fits(rest, &given[1..], args);
    };
    let longest = if name == "branch" || (name == "ref" && rest.is_empty() && given.first() == Some(&"heads")) {
        given.len()
    } else {
        1
    };
    (1..=longest.min(given.len())).any(|take| {
        let value = given[..take].join("/");
        fits(rest, &given[take..], args) && args.insert(name.to_owned(), decode(&value)).is_none()
    })
}

fn decode(text: &str) -> String {
    let pairs = format!("x={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(pairs.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}
