//! The product's own client talks to the world's forge, through a whole life of a pull request and its refusals; every
//! reply is held against the published description.

use secrecy::SecretString;

use super::tests::github;
use crate::{
    adapters::{
        github::{GitHub, MergeOutcome, NewPull, OpenPullOutcome, Upsert},
        http::Http,
    },
    demo::{Act, FORGE_TOKEN, World, WorldOptions, ci::Pace, forge::Author},
    model::{
        PullNumber, RepoName, Sha,
        pull::{PullState, ReviewState, StopSigns},
    },
    text::Redactor,
};

const BRANCH: &str = "fix/auto-7f3a91c0";

struct Story {
    world: World,
    github: GitHub,
    repo: RepoName,
}

impl Story {
    fn new() -> Self {
        let now = "2026-11-29T03:00:00Z".parse().unwrap();
        let options = WorldOptions {
            pace: Pace::Assumed,
            app: false,
            ..WorldOptions::shop(now)
        };
        let world = World::start(options).unwrap();
        let http = Http::new(Redactor::default(), Vec::new());
        let api = world.forge_url().parse().unwrap();
        let github = GitHub::new(http, api, Some(SecretString::from(FORGE_TOKEN)), Redactor::default());
        let repo = RepoName::parse("acme/shop").unwrap();
        Self { world, github, repo }
    }

    /// Adds a commit to our branch, as a push would.
    fn push(&self, text: &str) -> Sha {
        let base = self.world.main_head().unwrap();
        let author = Author {
            name: "tick",
            at: self.world.now(),
        };
        let files = [("fix.txt".to_owned(), Some(text.as_bytes().to_vec()))];
        let head = self
            .world
            .repo()
            .commit(BRANCH, Some(&base), author, "fix", &files)
            .unwrap();
        Sha::parse(&head).unwrap()
    }

    async fn open(&self, draft: bool) -> OpenPullOutcome {
        let new = NewPull {
            title: "fix: a failure in fix.txt",
            body: "words",
            head: BRANCH,
            base: "main",
            draft,
        };
        self.github.open_pull(&self.repo, &new).await.unwrap()
    }

    async fn number(&self, draft: bool) -> PullNumber {
        match self.open(draft).await {
            OpenPullOutcome::Opened(pull) => pull.number,
            other => panic!("not opened: {other:?}"),
        }
    }

    async fn merge(&self, number: PullNumber, head: &Sha) -> MergeOutcome {
        self.github
            .merge(&self.repo, number, head, "fix: x", "why")
            .await
            .unwrap()
    }

    /// Every reply so far is one that the description allows, and each of these calls was made.
    fn hold_against_the_description(&self, calls: &[&str]) {
        let description = github();
        let replies = self.world.town().log.replies();
        let told: Vec<String> = replies
            .iter()
            .map(|r| {
                format!(
                    "{} {} {}",
                    r.method,
                    r.template.rsplit("{repo}").next().unwrap(),
                    r.status
                )
            })
            .collect();
        for call in calls {
            assert!(told.iter().any(|t| t == call), "{call} was not made: {told:#?}");
        }
        let problems: Vec<String> = replies
            .iter()
            .filter_map(|r| description.check(&r.method, r.template, r.status, &r.body).err())
            .flatten()
            .collect();
        assert!(problems.is_empty(), "{problems:#?}");
        assert_eq!(self.world.town().log.errors(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_pull_from_open_to_merged() {
    let story = Story::new();
    let (github, repo) = (&story.github, &story.repo);
    let info = github.repo(repo).await.unwrap();
    assert_eq!(info.default_branch, "main");
    let rules = github.rules(repo, &info, "main").await.unwrap();
    assert_eq!(rules.required_checks.len(), 2);
    assert_eq!(github.branch_head(repo, BRANCH).await.unwrap(), None);
    let head = story.push("one\n");
    assert_eq!(github.branch_head(repo, BRANCH).await.unwrap(), Some(head.clone()));
    assert_eq!(github.stop_signs(repo, None, info.has_issues).await, StopSigns::None);
    let number = story.number(true).await;
    assert_eq!(story.open(true).await, OpenPullOutcome::AlreadyExists);
    github
        .edit_pull(repo, number, Some("fix: another title"), Some("other words"))
        .await
        .unwrap();
    github.add_label(repo, number, "needs-human").await.unwrap();
    let marker = "<!-- tick:comment=x -->";
    let first = format!("{marker}\none");
    assert!(matches!(
        github.upsert_comment(repo, number, marker, &first).await.unwrap(),
        Upsert::Posted(_)
    ));
    let second = format!("{marker}\ntwo");
    assert!(matches!(
        github.upsert_comment(repo, number, marker, &second).await.unwrap(),
        Upsert::Edited(_)
    ));
    assert!(
        matches!(story.merge(number, &head).await, MergeOutcome::Blocked(_)),
        "it is a draft"
    );
    let pull = github.pull(repo, number).await.unwrap();
    github.ready(&pull.node_id).await.unwrap();
    assert_eq!(github.unresolved_threads(repo, number).await.unwrap(), 0);
    let checks = github.checks(repo, &head).await.unwrap();
    assert_eq!(checks.incomplete, None);
    story.world.act(Act::MoveHead);
    assert_eq!(story.merge(number, &head).await, MergeOutcome::HeadMoved);
    let moved = github.pull(repo, number).await.unwrap().head_sha;
    story.world.wait_for_ci(moved.as_str()).unwrap();
    assert_eq!(github.checks(repo, &moved).await.unwrap().checks.len(), 2);
    let MergeOutcome::Merged(landed) = story.merge(number, &moved).await else {
        panic!("nothing stands in the way")
    };
    assert_eq!(github.commit(repo, &landed).await.unwrap().sha, landed);
    assert_eq!(story.merge(number, &moved).await, MergeOutcome::AlreadyMerged);
    let ours = github.pulls_by_head(repo, BRANCH).await.unwrap();
    assert_eq!(
        (ours.len(), ours[0].state, &ours[0].merge_sha),
        (1, PullState::Merged, &Some(landed))
    );
    story.hold_against_the_description(&[
        "GET  200",
        "GET /rules/branches/{branch} 200",
        "GET /git/ref/{ref} 404",
        "GET /git/ref/{ref} 200",
        "GET /issues 200",
        "POST /pulls 201",
        "POST /pulls 422",
        "PATCH /pulls/{pull_number} 200",
        "POST /issues/{issue_number}/labels 200",
        "POST /issues/{issue_number}/comments 201",
        "PATCH /issues/comments/{comment_id} 200",
        "PUT /pulls/{pull_number}/merge 405",
        "PUT /pulls/{pull_number}/merge 409",
        "PUT /pulls/{pull_number}/merge 200",
        "GET /commits/{ref}/check-runs 200",
        "GET /commits/{ref}/status 200",
        "GET /commits/{ref} 200",
        "GET /pulls 200",
    ]);
}

#[tokio::test]
async fn what_people_do_is_read() {
    let story = Story::new();
    let (github, repo) = (&story.github, &story.repo);
    story.push("one\n");
    let number = story.number(false).await;
    let permission = |login: &str, level: &str| Act::Permission {
        login: login.to_owned(),
        level: level.to_owned(),
    };
    story.world.act(permission("ann", "write"));
    story.world.act(permission("bob", "read"));
    for login in ["ann", "bob"] {
        story.world.act(Act::Review {
            login: login.to_owned(),
            state: "APPROVED".to_owned(),
            body: "fine".to_owned(),
        });
    }
    story.world.act(Act::Label {
        name: "tick:stop".to_owned(),
    });
    story.world.act(Act::OpenIssue {
        label: "tick:pause".to_owned(),
    });
    let pull = github.pull(repo, number).await.unwrap();
    let seen: Vec<_> = pull
        .reviews
        .iter()
        .map(|r| (r.author.as_str(), r.state, r.author_may_write))
        .collect();
    assert_eq!(
        seen,
        [
            ("ann", ReviewState::Approved, true),
            ("bob", ReviewState::Approved, false)
        ]
    );
    let StopSigns::Stopped(signs) = github.stop_signs(repo, Some(number), true).await else {
        panic!("two signs stand")
    };
    assert_eq!(signs.len(), 2);
    assert!(signs.iter().all(|s| s.by.is_some() && s.since.is_some()), "{signs:?}");
    story.world.act(Act::ClosePull {
        login: "ann".to_owned(),
    });
    let closed = github.pull(repo, number).await.unwrap();
    assert_eq!(
        (closed.state, closed.closed_by.as_deref()),
        (PullState::Closed, Some("ann"))
    );
    story.world.act(Act::Issues { on: false });
    let signs = github.stop_signs(repo, None, true).await;
    assert_eq!(signs, StopSigns::None, "issues are switched off");
    story.hold_against_the_description(&[
        "GET /pulls/{pull_number}/reviews 200",
        "GET /collaborators/{username}/permission 200",
        "GET /issues/{issue_number}/events 200",
        "GET /issues/{issue_number} 200",
    ]);
}
