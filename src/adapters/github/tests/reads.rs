use serde_json::{Value, json};

use super::{id, pull_json};
use crate::{
    adapters::github::{
        GitHubErrorKind, RepoInfo,
        testing::{Forge, answer, lost, message, repo, text},
    },
    model::{
        PullNumber,
        checks::CheckState,
        pull::{PullState, ReviewState, StopSigns},
    },
};

fn info() -> RepoInfo {
    RepoInfo {
        name: repo(),
        default_branch: "main".to_owned(),
        private: false,
        public: true,
        has_issues: true,
        squash_allowed: true,
        archived: false,
    }
}

#[tokio::test]
async fn a_read_is_repeated_and_the_token_stays_on_its_host() {
    let forge = Forge::start().await;
    let whole =
        json!({"full_name": "acme/shop", "default_branch": "main", "visibility": "internal", "has_issues": false});
    forge
        .on("GET ", text(502, "bad"))
        .on("GET ", lost())
        .on("GET ", answer(200, &whole));
    let info = forge.client().repo(&repo()).await.unwrap();
    assert!(!info.public && !info.has_issues && info.squash_allowed);
    assert_eq!(forge.count("GET"), 3);
    assert!(forge.asked().iter().all(|a| a.token));

    let forge = Forge::start().await;
    forge.on("GET ", message(500, "still"));
    let error = forge.client().repo(&repo()).await.unwrap_err();
    assert_eq!(error.kind, GitHubErrorKind::Server(500));
    assert_eq!(forge.count("GET"), 3, "bounded");
}

#[tokio::test]
async fn a_long_limit_is_not_waited_for() {
    let forge = Forge::start().await;
    forge.on("GET ", message(429, "slow down").header("retry-after", "600"));
    let error = forge.client().repo(&repo()).await.unwrap_err();
    assert!(matches!(error.kind, GitHubErrorKind::RateLimited { wait } if wait.as_secs() == 600));
    assert_eq!(forge.count("GET"), 1);
}

#[tokio::test]
async fn a_renamed_repository_is_followed_on_its_own_host_only() {
    let forge = Forge::start().await;
    let whole = json!({"full_name": "acme/store", "default_branch": "main", "private": true});
    forge.on(
        "GET ",
        text(301, "{}").header("location", format!("{}repositories/7", forge.base)),
    );
    forge.on("GET /repositories/7", answer(200, &whole));
    assert_eq!(
        forge.client().repo(&repo()).await.unwrap().name.to_string(),
        "acme/store"
    );
    let other = Forge::start().await;
    let forge = Forge::start().await;
    forge.on(
        "GET ",
        text(301, "{}").header("location", format!("{}repositories/7", other.base)),
    );
    assert!(forge.client().repo(&repo()).await.is_err());
    assert!(other.asked().is_empty());
    let forge = Forge::start().await;
    forge.on("GET ", text(302, "{}").header("location", "/repos/acme/shop"));
    assert_eq!(
        forge.client().repo(&repo()).await.unwrap_err().kind,
        GitHubErrorKind::Shape
    );
}

#[tokio::test]
async fn branches_and_commits_are_read() {
    let forge = Forge::start().await;
    forge.on(
        "GET git/ref/heads/fix/auto-7f3a91c0",
        answer(200, &json!({"object": {"sha": "a".repeat(40)}})),
    );
    forge.on("GET git/ref/heads/none", message(404, "Not Found"));
    let sha = "a".repeat(40);
    let body = json!({"sha": sha, "commit": {"tree": {"sha": "d".repeat(40)}, "message": "m"},
        "parents": [{"sha": "b".repeat(40)}]});
    forge.on(&format!("GET commits/{sha}"), answer(200, &body));
    let mut other = body.clone();
    other["sha"] = json!("f".repeat(40));
    forge.on(&format!("GET commits/{}", "e".repeat(40)), answer(200, &other));
    let github = forge.client();
    assert_eq!(
        github.branch_head(&repo(), "fix/auto-7f3a91c0").await.unwrap(),
        Some(id('a'))
    );
    assert_eq!(github.branch_head(&repo(), "none").await.unwrap(), None);
    let commit = github.commit(&repo(), &id('a')).await.unwrap();
    assert_eq!((commit.tree, commit.parents), (id('d'), vec![id('b')]));
    assert_eq!(
        github.commit(&repo(), &id('e')).await.unwrap_err().kind,
        GitHubErrorKind::Shape
    );
}

#[tokio::test]
async fn lists_follow_link_and_never_in_a_circle() {
    let forge = Forge::start().await;
    let path = "repos/acme/shop/pulls";
    let next = format!("<{}repositories/7/pulls?page=2>; rel=\"next\"", forge.base);
    forge.on(
        "GET pulls",
        answer(200, &json!([pull_json(1, 'a', &json!({}))])).header("link", next),
    );
    forge.on(
        "GET /repositories/7/pulls",
        answer(200, &json!([pull_json(2, 'a', &json!({}))])),
    );
    let pulls = forge
        .client()
        .pulls_by_head(&repo(), "fix/auto-7f3a91c0")
        .await
        .unwrap();
    assert_eq!(pulls.iter().map(|p| p.number.0).collect::<Vec<_>>(), [2, 1]);
    assert!(
        forge.asked()[0]
            .query
            .contains("state=all&head=acme%3Afix%2Fauto-7f3a91c0")
    );

    let forge = Forge::start().await;
    let same = format!("<{}{path}?page=1>; rel=\"next\"", forge.base);
    forge.on("GET pulls", answer(200, &json!([])).header("link", same));
    let error = forge.client().pulls_by_head(&repo(), "x").await.unwrap_err();
    assert_eq!(error.kind, GitHubErrorKind::Shape);
    assert_eq!(forge.count("GET"), 2);

    let other = Forge::start().await;
    let forge = Forge::start().await;
    let away = format!("<{}{path}?page=2>; rel=\"next\"", other.base);
    forge.on("GET pulls", answer(200, &json!([])).header("link", away));
    assert!(forge.client().pulls_by_head(&repo(), "x").await.is_err());
    assert!(other.asked().is_empty(), "the token never leaves its host");
}

#[tokio::test]
async fn only_pulls_of_our_own_branch_are_ours() {
    let forge = Forge::start().await;
    let fork =
        json!({"head": {"ref": "fix/auto-7f3a91c0", "sha": "a".repeat(40), "repo": {"full_name": "mallory/shop"}}});
    let gone = json!({"head": {"ref": "fix/auto-7f3a91c0", "sha": "a".repeat(40), "repo": null}});
    let other =
        json!({"head": {"ref": "fix/auto-00000000", "sha": "a".repeat(40), "repo": {"full_name": "acme/shop"}}});
    let list = json!([
        pull_json(1, 'a', &fork),
        pull_json(2, 'a', &gone),
        pull_json(3, 'a', &other)
    ]);
    forge.on("GET pulls", answer(200, &list));
    assert_eq!(
        forge
            .client()
            .pulls_by_head(&repo(), "fix/auto-7f3a91c0")
            .await
            .unwrap(),
        []
    );
}

#[tokio::test]
async fn a_pull_comes_with_its_newest_reviews_and_checked_rights() {
    let review = |login: &str, state: &str, minute: u32| {
        json!({"user": {"login": login}, "state": state, "body": "b", "commit_id": "a".repeat(40),
            "submitted_at": format!("2026-11-29T03:{minute:02}:00Z"), "author_association": "OWNER"})
    };
    let forge = Forge::start().await;
    let body = "<!-- tick:incident=7f3a91c07f3a91c0-1 head=aaaa -->\r\nwords";
    forge.on("GET pulls/3", answer(200, &pull_json(3, 'a', &json!({"body": body}))));
    forge.on(
        "GET pulls/3/reviews",
        answer(
            200,
            &json!([
                review("ann", "APPROVED", 1),
                review("ann", "CHANGES_REQUESTED", 2),
                review("ann", "COMMENTED", 3),
                review("bob", "APPROVED", 4),
                review("eve", "COMMENTED", 5),
                review("eve", "SOMETHING_NEW", 6),
            ]),
        ),
    );
    forge.on(
        "GET collaborators/ann/permission",
        answer(200, &json!({"permission": "write"})),
    );
    forge.on(
        "GET collaborators/bob/permission",
        answer(200, &json!({"permission": "read"})),
    );
    let pull = forge.client().pull(&repo(), PullNumber(3)).await.unwrap();
    let seen: Vec<_> = pull
        .reviews
        .iter()
        .map(|r| (r.author.as_str(), r.state, r.author_may_write))
        .collect();
    assert_eq!(
        seen,
        [
            ("ann", ReviewState::ChangesRequested, true),
            ("bob", ReviewState::Approved, false),
            ("eve", ReviewState::Commented, false),
        ]
    );
    assert_eq!(pull.state, PullState::Open);
    assert_eq!(pull.merge_sha, None, "before the merge it names a test merge");
    assert!(
        pull.body
            .starts_with("<!-- tick:incident=7f3a91c07f3a91c0-1 head=aaaa -->\nwords")
    );
}

#[tokio::test]
async fn rights_that_can_not_be_read_fail_the_read() {
    let forge = Forge::start().await;
    forge.on("GET collaborators/ann/permission", message(500, "no"));
    forge.on("GET collaborators/bob/permission", message(404, "Not Found"));
    let github = forge.client();
    assert!(github.may_write(&repo(), "ann").await.is_err());
    assert!(!github.may_write(&repo(), "bob").await.unwrap());
}

#[tokio::test]
async fn a_merged_and_a_closed_pull_are_told_apart() {
    let forge = Forge::start().await;
    forge.on(
        "GET pulls/3",
        answer(200, &pull_json(3, 'a', &json!({"state": "closed", "merged": true}))),
    );
    forge.on(
        "GET pulls/4",
        answer(200, &pull_json(4, 'a', &json!({"state": "closed"}))),
    );
    forge.on(
        "GET pulls/5",
        answer(200, &pull_json(5, 'a', &json!({"state": "limbo"}))),
    );
    forge.on(
        "GET issues/4",
        answer(200, &json!({"number": 4, "closed_by": {"login": "ann"}})),
    );
    for n in [3, 4] {
        forge.on(&format!("GET pulls/{n}/reviews"), answer(200, &json!([])));
    }
    let github = forge.client();
    let merged = github.pull(&repo(), PullNumber(3)).await.unwrap();
    assert_eq!((merged.state, merged.merge_sha), (PullState::Merged, Some(id('c'))));
    let closed = github.pull(&repo(), PullNumber(4)).await.unwrap();
    assert_eq!(
        (closed.state, closed.closed_by.as_deref()),
        (PullState::Closed, Some("ann"))
    );
    assert_eq!(
        github.pull(&repo(), PullNumber(5)).await.unwrap_err().kind,
        GitHubErrorKind::Shape
    );
}

#[tokio::test]
async fn check_runs_and_statuses_are_one_list() {
    let head = "a".repeat(40);
    let run = |name: &str, status: &str, conclusion: Value| {
        json!({"id": 1, "name": name, "head_sha": head, "status": status, "conclusion": conclusion,
            "started_at": "2026-11-29T03:00:00Z", "app": {"id": 15368}})
    };
    let forge = Forge::start().await;
    let runs = json!({"total_count": 2, "check_runs": [
        run("test", "completed", json!("success")), run("lint", "in_progress", Value::Null)]});
    let statuses = json!({"state": "pending", "total_count": 1, "statuses": [
        {"context": "ci/old", "state": "error", "created_at": "2026-11-29T03:01:00Z"}]});
    forge.on(&format!("GET commits/{head}/check-runs"), answer(200, &runs));
    forge.on(&format!("GET commits/{head}/status"), answer(200, &statuses));
    let checks = forge.client().checks(&repo(), &id('a')).await.unwrap();
    let seen: Vec<_> = checks
        .checks
        .iter()
        .map(|c| (c.name.as_str(), c.app_id, c.state))
        .collect();
    assert_eq!(
        seen,
        [
            ("test", Some(15368), CheckState::Success),
            ("lint", Some(15368), CheckState::InProgress),
            ("ci/old", None, CheckState::Failure),
        ]
    );
    assert_eq!(checks.incomplete, None);
    assert!(forge.asked()[0].query.contains("filter=latest"));
}

#[tokio::test]
async fn unreadable_check_runs_fall_back_to_jobs_and_say_so() {
    let head = "a".repeat(40);
    let forge = Forge::start().await;
    forge.on(
        &format!("GET commits/{head}/check-runs"),
        message(403, "Resource not accessible"),
    );
    forge.on(
        &format!("GET commits/{head}/status"),
        answer(200, &json!({"state": "pending", "statuses": []})),
    );
    let runs = json!({"total_count": 1, "workflow_runs": [{"id": 7, "head_sha": head, "event": "push"}]});
    let jobs = json!({"jobs": [{"id": 1, "name": "test", "status": "completed", "conclusion": "success"}]});
    forge.on("GET actions/runs", answer(200, &runs));
    forge.on("GET actions/runs/7/jobs", answer(200, &jobs));
    let checks = forge.client().checks(&repo(), &id('a')).await.unwrap();
    assert_eq!(checks.checks.len(), 1);
    assert!(checks.incomplete.is_some());
    assert!(
        forge
            .asked()
            .iter()
            .any(|a| a.query.contains(&format!("head_sha={head}")))
    );
}

#[tokio::test]
async fn an_answer_without_the_list_is_no_empty_list() {
    let head = "a".repeat(40);
    let forge = Forge::start().await;
    forge.on(
        &format!("GET commits/{head}/check-runs"),
        answer(200, &json!({"total_count": 0})),
    );
    let error = forge.client().checks(&repo(), &id('a')).await.unwrap_err();
    assert_eq!(error.kind, GitHubErrorKind::Shape);
}

#[tokio::test]
async fn rulesets_and_classic_protection_add_up() {
    let forge = Forge::start().await;
    let rulesets = json!([
        {"type": "required_status_checks", "parameters": {"required_status_checks": [
            {"context": "test", "integration_id": 15368}, {"context": "lint"}]}},
        {"type": "pull_request", "parameters": {"required_approving_review_count": 1,
            "require_code_owner_review": true, "required_review_thread_resolution": true,
            "allowed_merge_methods": ["merge", "rebase"]}},
        {"type": "merge_queue"}, {"type": "required_signatures"}, {"type": "something_new"},
        {"type": "required_deployments", "parameters": {"required_deployment_environments": ["staging"]}},
    ]);
    let classic = json!({
        "required_status_checks": {"strict": true, "contexts": ["test", "old"], "checks": [{"context": "test", "app_id": -1}]},
        "required_pull_request_reviews": {"required_approving_review_count": 2, "require_code_owner_reviews": false},
        "required_linear_history": {"enabled": true}});
    forge.on("GET rules/branches/main", answer(200, &rulesets));
    forge.on("GET branches/main/protection", answer(200, &classic));
    let rules = forge.client().rules(&repo(), &info(), "main").await.unwrap();
    let names: Vec<_> = rules
        .required_checks
        .iter()
        .map(|c| (c.name.as_str(), c.app_id))
        .collect();
    assert_eq!(
        names,
        [("lint", None), ("old", None), ("test", None), ("test", Some(15368))]
    );
    assert_eq!(rules.required_approvals, 2);
    assert!(rules.code_owner_review && rules.conversation_resolution && rules.merge_queue && rules.signed_commits);
    assert!(rules.linear_history && !rules.squash_allowed && rules.public);
    assert_eq!(rules.required_deployments, ["staging"]);
    assert_eq!(rules.unread, None);
}

#[tokio::test]
async fn protection_that_can_not_be_read_is_not_no_protection() {
    let check = async |protection, branch: Value| {
        let forge = Forge::start().await;
        forge.on("GET rules/branches/main", answer(200, &json!([])));
        forge.on("GET branches/main/protection", protection);
        forge.on("GET branches/main", answer(200, &branch));
        let rules = forge.client().rules(&repo(), &info(), "main").await.unwrap();
        (rules.required_checks.len(), rules.unread.is_some())
    };
    let on = || {
        json!({"protected": true, "protection": {"enabled": true, "required_status_checks":
        {"enforcement_level": "non_admins", "contexts": ["test"], "checks": [{"context": "test", "app_id": null}]}}})
    };
    let off = || json!({"protected": false, "protection": {"enabled": false}});
    let denied = || message(403, "Resource not accessible by personal access token");
    assert_eq!(check(message(404, "Branch not protected"), json!({})).await, (0, false));
    assert_eq!(check(message(404, "Not Found"), on()).await, (1, true));
    assert_eq!(check(denied(), on()).await, (1, true));
    assert_eq!(check(denied(), off()).await, (0, false));
    let plan = "Upgrade to GitHub Pro or make this repository public to enable this feature.";
    assert_eq!(check(message(403, plan), on()).await, (0, false));
    let forge = Forge::start().await;
    forge.on("GET rules/branches/main", message(403, "Resource not accessible"));
    forge.on("GET branches/main/protection", message(404, "Branch not protected"));
    assert!(forge.client().rules(&repo(), &info(), "main").await.is_err());
}

#[tokio::test]
async fn stop_signs_are_read_and_unreadable_is_stopped() {
    let issues = json!([{"number": 12, "user": {"login": "ann"}, "labels": [{"name": "Tick:Pause"}],
        "created_at": "2026-11-29T01:00:00Z"}, {"number": 13, "labels": ["other"]}]);
    let events = json!([
        {"event": "labeled", "actor": {"login": "bob"}, "created_at": "2026-11-29T02:00:00Z", "label": {"name": "tick:pause"}},
        {"event": "closed", "actor": {"login": "eve"}}]);
    let forge = Forge::start().await;
    forge.on("GET issues", answer(200, &issues));
    forge.on("GET issues/12/events", answer(200, &events));
    let StopSigns::Stopped(signs) = forge.client().stop_signs(&repo(), None, true).await else {
        panic!("one sign stands")
    };
    assert_eq!(signs.len(), 1);
    assert_eq!(
        (signs[0].what.as_str(), signs[0].by.as_deref()),
        ("issue #12 labelled tick:pause", Some("bob"))
    );

    let stop = pull_json(3, 'a', &json!({"labels": [{"name": "tick:stop"}]}));
    let forge = Forge::start().await;
    forge.on(
        "GET issues",
        message(410, "Issues has been disabled in this repository."),
    );
    forge.on("GET pulls/3", answer(200, &stop));
    let signs = forge.client().stop_signs(&repo(), Some(PullNumber(3)), true).await;
    assert!(
        matches!(&signs, StopSigns::Stopped(s) if s[0].what == "label tick:stop on #3"),
        "{signs:?}"
    );

    let clear = answer(200, &pull_json(3, 'a', &json!({})));
    let forge = Forge::start().await;
    forge.on("GET pulls/3", clear.clone());
    assert_eq!(
        forge.client().stop_signs(&repo(), Some(PullNumber(3)), false).await,
        StopSigns::None
    );
    for refusal in [
        message(403, "no"),
        message(500, "no"),
        message(401, "no"),
        text(200, "<html>"),
        lost(),
    ] {
        let forge = Forge::start().await;
        forge.on("GET issues", refusal).on("GET pulls/3", clear.clone());
        let signs = forge.client().stop_signs(&repo(), Some(PullNumber(3)), true).await;
        assert!(matches!(signs, StopSigns::Unreadable(_)), "{signs:?}");
    }
}

#[tokio::test]
async fn open_threads_are_counted_over_pages() {
    let page = |nodes: Value, more: bool, cursor: Value| {
        answer(
            200,
            &json!({"data": {"repository": {"pullRequest": {"reviewThreads": {
            "nodes": nodes, "pageInfo": {"hasNextPage": more, "endCursor": cursor}}}}}}),
        )
    };
    let forge = Forge::start().await;
    forge.on(
        "POST /graphql",
        page(json!([{"isResolved": false}, {"isResolved": true}]), true, json!("x")),
    );
    forge.on("POST /graphql", page(json!([{"isResolved": null}]), false, Value::Null));
    assert_eq!(
        forge.client().unresolved_threads(&repo(), PullNumber(3)).await.unwrap(),
        2
    );
    let forge = Forge::start().await;
    forge.on("POST /graphql", page(json!([]), true, json!("x")));
    assert!(forge.client().unresolved_threads(&repo(), PullNumber(3)).await.is_err());
    assert_eq!(forge.count("POST"), 2, "a cursor that stands still ends the read");
}
