use serde_json::json;

use super::{id, pull_json};
use crate::{
    adapters::github::{
        GitHubErrorKind, MergeOutcome, NewPull, OpenPullOutcome, Upsert,
        testing::{Answer, Forge, answer, lost, message, repo, text},
    },
    model::PullNumber,
};

const MERGE: &str = "PUT pulls/3/merge";

async fn merge_with(forge: &Forge, first: Answer) -> Result<MergeOutcome, GitHubErrorKind> {
    forge.on(MERGE, first);
    let result = forge
        .client()
        .merge(&repo(), PullNumber(3), &id('a'), "fix: x", "why")
        .await;
    assert_eq!(forge.count("PUT"), 1, "a write is sent once");
    result.map_err(|e| e.kind)
}

#[tokio::test]
async fn each_answer_to_a_merge_is_its_own_outcome() {
    let open = answer(200, &pull_json(3, 'a', &json!({})));
    let check = async |first: Answer, expected: MergeOutcome| {
        let forge = Forge::start().await;
        forge.on("GET pulls/3", open.clone());
        assert_eq!(merge_with(&forge, first).await, Ok(expected));
    };
    let blocked = |text: &str| {
        (
            message(405, text),
            MergeOutcome::Blocked(format!("\"{}\"", text.replace('"', "'"))),
        )
    };
    let ok = json!({"sha": "d".repeat(40), "merged": true, "message": "Pull Request successfully merged"});
    check(answer(200, &ok), MergeOutcome::Merged(id('d'))).await;
    check(
        message(409, "Head branch was modified. Review and try the merge again."),
        MergeOutcome::HeadMoved,
    )
    .await;
    check(
        message(405, "Base branch was modified. Review and try the merge again."),
        MergeOutcome::BaseMoved,
    )
    .await;
    for text in [
        "Pull Request is not mergeable",
        "Required status check \"ci\" is expected.",
        "At least 1 approving review is required by reviewers with write access.",
        "Repository rule violations found",
        "Changes must be made through the merge queue",
    ] {
        let (first, expected) = blocked(text);
        check(first, expected).await;
    }
    let squash = "Squash merges are not allowed on this repository.";
    check(message(405, squash), MergeOutcome::Config(format!("\"{squash}\""))).await;
    check(
        message(422, "Validation Failed"),
        MergeOutcome::Config("\"Validation Failed\"".to_owned()),
    )
    .await;
    check(
        message(403, "Resource not accessible by personal access token"),
        MergeOutcome::Forbidden(r#"answered 403: "Resource not accessible by personal access token""#.to_owned()),
    )
    .await;
}

#[tokio::test]
async fn a_lost_or_odd_answer_to_a_merge_is_unknown_and_not_sent_again() {
    let merged_nowhere = json!({"sha": null, "merged": true, "message": "Pull Request successfully merged"});
    let not_merged = json!({"sha": "d".repeat(40), "merged": false});
    for first in [
        lost(),
        text(502, "<html>bad gateway</html>"),
        message(500, "oops"),
        text(200, "<html>fine</html>"),
        answer(200, &merged_nowhere),
        answer(200, &not_merged),
    ] {
        let forge = Forge::start().await;
        let outcome = merge_with(&forge, first).await;
        assert!(matches!(outcome, Ok(MergeOutcome::Unknown(_))), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_refused_merge_is_read_again_before_it_is_called_blocked() {
    let refused = || message(405, "Pull Request is not mergeable");
    let forge = Forge::start().await;
    forge.on(
        "GET pulls/3",
        answer(200, &pull_json(3, 'a', &json!({"merged": true, "state": "closed"}))),
    );
    assert_eq!(merge_with(&forge, refused()).await, Ok(MergeOutcome::AlreadyMerged));
    let forge = Forge::start().await;
    forge.on("GET pulls/3", answer(200, &pull_json(3, 'e', &json!({}))));
    assert_eq!(merge_with(&forge, refused()).await, Ok(MergeOutcome::HeadMoved));
    let forge = Forge::start().await;
    forge.on("GET pulls/3", message(404, "Not Found"));
    assert!(matches!(
        merge_with(&forge, refused()).await,
        Ok(MergeOutcome::Unknown(_))
    ));
}

#[tokio::test]
async fn a_merge_names_its_head_and_a_limit_is_an_error() {
    let forge = Forge::start().await;
    let limited = message(403, "You have exceeded a secondary rate limit.").header("retry-after", "60");
    let wait = std::time::Duration::from_mins(1);
    assert_eq!(
        merge_with(&forge, limited).await,
        Err(GitHubErrorKind::RateLimited { wait })
    );
    let sent = &forge.asked()[0];
    assert!(sent.token);
    assert_eq!(
        sent.body,
        json!({"merge_method": "squash", "sha": "a".repeat(40), "commit_title": "fix: x", "commit_message": "why"})
    );
    let forge = Forge::start().await;
    assert_eq!(
        merge_with(&forge, message(404, "Not Found")).await,
        Err(GitHubErrorKind::NotFound)
    );
    let forge = Forge::start().await;
    assert_eq!(
        merge_with(&forge, message(401, "Bad credentials")).await,
        Err(GitHubErrorKind::Auth)
    );
}

#[tokio::test]
async fn each_answer_to_opening_a_pull_is_its_own_outcome() {
    let new = NewPull {
        title: "fix: x",
        body: "b",
        head: "fix/auto-7f3a91c0",
        base: "main",
        draft: true,
    };
    let check = async |first: Answer| {
        let forge = Forge::start().await;
        forge.on("POST pulls", first);
        let outcome = forge.client().open_pull(&repo(), &new).await;
        assert_eq!(forge.count("POST"), 1, "a write is sent once");
        assert_eq!(forge.asked()[0].body["maintainer_can_modify"], false);
        outcome.map_err(|e| e.kind)
    };
    let refused = |text: &str| {
        answer(
            422,
            &json!({"message": "Validation Failed", "errors": [{"message": text}]}),
        )
    };
    let opened = check(answer(201, &pull_json(3, 'a', &json!({"draft": true})))).await;
    assert!(matches!(&opened, Ok(OpenPullOutcome::Opened(p)) if p.number == PullNumber(3) && p.draft));
    assert_eq!(
        check(refused("A pull request already exists for acme:fix/auto-7f3a91c0.")).await,
        Ok(OpenPullOutcome::AlreadyExists)
    );
    assert_eq!(
        check(refused("No commits between main and fix/auto-7f3a91c0")).await,
        Ok(OpenPullOutcome::NoCommits)
    );
    assert_eq!(
        check(message(
            422,
            "Draft pull requests are not supported in this repository."
        ))
        .await,
        Ok(OpenPullOutcome::DraftsUnsupported)
    );
    assert_eq!(
        check(refused("head sha can't be blank")).await,
        Ok(OpenPullOutcome::Refused(
            r#""Validation Failed; head sha can't be blank""#.to_owned()
        ))
    );
    assert!(matches!(check(lost()).await, Ok(OpenPullOutcome::Unknown(_))));
    assert!(matches!(check(message(502, "")).await, Ok(OpenPullOutcome::Unknown(_))));
    assert!(matches!(
        check(answer(201, &json!({}))).await,
        Ok(OpenPullOutcome::Unknown(_))
    ));
    assert_eq!(check(message(403, "no")).await, Err(GitHubErrorKind::Permission));
}

#[tokio::test]
async fn a_comment_is_edited_in_place_and_posted_once() {
    let marker = "<!-- tick:comment=7f3a91c07f3a91c0-1/state -->";
    let body = format!("{marker}\nnew words");
    let list = json!([
        {"id": 1, "user": {"login": "bob"}, "body": format!("> {marker}\n> old words\n\nI agree")},
        {"id": 2, "user": {"login": "tick-bot"}, "body": format!("{marker}\r\nold words")},
    ]);
    let forge = Forge::start().await;
    forge.on("GET issues/3/comments", answer(200, &list));
    forge.on("PATCH issues/comments/2", answer(200, &json!({"id": 2, "body": body})));
    let github = forge.client();
    let edited = github
        .upsert_comment(&repo(), PullNumber(3), marker, &body)
        .await
        .unwrap();
    assert_eq!(edited, Upsert::Edited(2));
    let same = format!("{marker}\nold words");
    let unchanged = github
        .upsert_comment(&repo(), PullNumber(3), marker, &same)
        .await
        .unwrap();
    assert_eq!(unchanged, Upsert::Unchanged(2));
    let found = github
        .comments_with_marker(&repo(), PullNumber(3), marker)
        .await
        .unwrap();
    assert_eq!(found.iter().map(|c| c.id).collect::<Vec<_>>(), [2]);
    assert_eq!(forge.count("POST"), 0);

    let forge = Forge::start().await;
    forge.on("GET issues/3/comments", answer(200, &list));
    forge.on("PATCH issues/comments/2", message(403, "not yours"));
    forge.on("POST issues/3/comments", answer(201, &json!({"id": 9, "body": body})));
    let posted = forge
        .client()
        .upsert_comment(&repo(), PullNumber(3), marker, &body)
        .await
        .unwrap();
    assert_eq!(posted, Upsert::Posted(9));
}

#[tokio::test]
async fn an_unread_list_of_comments_posts_nothing() {
    let forge = Forge::start().await;
    let next = format!("<{}repos/acme/shop/issues/3/comments>; rel=\"next\"", forge.base);
    forge.on("GET issues/3/comments", answer(200, &json!([])).header("link", next));
    let result = forge
        .client()
        .upsert_comment(&repo(), PullNumber(3), "<!-- tick:x -->", "<!-- tick:x -->")
        .await;
    assert!(result.is_err());
    assert_eq!(forge.count("POST"), 0);
}

#[tokio::test]
async fn ready_reads_the_errors_that_come_with_200() {
    let check = async |first: Answer| {
        let forge = Forge::start().await;
        forge.on("POST /graphql", first);
        forge.client().ready("PR_x").await.map_err(|e| e.kind)
    };
    let done = |draft: bool| json!({"data": {"markPullRequestReadyForReview": {"pullRequest": {"isDraft": draft}}}});
    let error = |kind: &str, text: &str| {
        answer(
            200,
            &json!({"data": {"markPullRequestReadyForReview": null}, "errors": [{"type": kind, "message": text}]}),
        )
    };
    assert_eq!(check(answer(200, &done(false))).await, Ok(()));
    assert_eq!(
        check(answer(200, &done(true))).await,
        Err(GitHubErrorKind::Refused(200))
    );
    assert_eq!(check(error("FORBIDDEN", "no")).await, Err(GitHubErrorKind::Permission));
    assert_eq!(check(error("NOT_FOUND", "no")).await, Err(GitHubErrorKind::NotFound));
    assert_eq!(
        check(error("UNPROCESSABLE", "Pull request is not a draft")).await,
        Ok(())
    );
    assert_eq!(
        check(answer(200, &json!({"data": null}))).await,
        Err(GitHubErrorKind::Shape)
    );
}

#[tokio::test]
async fn small_writes_report_what_the_host_said() {
    let forge = Forge::start().await;
    forge.on(
        "PATCH pulls/3",
        answer(200, &pull_json(3, 'a', &json!({"state": "closed"}))),
    );
    forge.on("POST issues/3/labels", answer(200, &json!([{"name": "needs-human"}])));
    forge.on(
        "POST pulls/3/requested_reviewers",
        message(422, "Reviews may only be requested from collaborators."),
    );
    let github = forge.client();
    github
        .edit_pull(&repo(), PullNumber(3), None, Some("new"))
        .await
        .unwrap();
    github.close_pull(&repo(), PullNumber(3)).await.unwrap();
    github.add_label(&repo(), PullNumber(3), "needs-human").await.unwrap();
    let people = ["ann".to_owned()];
    let refused = github
        .request_reviewers(&repo(), PullNumber(3), &people, &[])
        .await
        .unwrap_err();
    assert_eq!(refused.kind, GitHubErrorKind::Refused(422));
    let sent: Vec<_> = forge.asked().into_iter().map(|a| a.body).collect();
    assert_eq!(sent[0], json!({"body": "new"}));
    assert_eq!(sent[1], json!({"state": "closed"}));
    assert_eq!(sent[2], json!({"labels": ["needs-human"]}));
}
