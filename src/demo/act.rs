//! What people do in the world, and what an owner sets: each a value, so that a test can put it between any two calls
//! and another process can ask for it.

use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{
    forge::{By, Issue, Job, Model, RUNNER_START, Review, Stage, Status},
    shop,
    town::Town,
};

/// Where a pull is not named, the newest open one is meant (else the newest).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// A person pushes one commit to the pull's branch.
    MoveHead,
    /// A person's commit lands on the default branch.
    MoveBase,
    /// The newest run of this check ends again with another conclusion.
    Check {
        name: String,
        conclusion: String,
    },
    /// A commit status from elsewhere.
    Status {
        context: String,
        state: String,
    },
    /// `state` as the host writes it: `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`.
    Review {
        login: String,
        state: String,
        body: String,
    },
    Label {
        name: String,
    },
    Unlabel {
        name: String,
    },
    /// An open issue with this label.
    OpenIssue {
        label: String,
    },
    CloseIssues,
    ClosePull {
        login: String,
    },
    /// A person merges, also a draft and whatever the checks say.
    MergePull {
        login: String,
    },
    /// A person takes back what landed last on the default branch.
    RevertLast,
    /// Review threads that wait for an answer.
    Threads {
        open: u32,
    },
    /// A person fixes the bug of the sample app on the default branch.
    FixOnMain,
    /// Settings of the repository.
    Issues {
        on: bool,
    },
    Drafts {
        on: bool,
    },
    Squash {
        on: bool,
    },
    Private {
        on: bool,
    },
    Archived {
        on: bool,
    },
    RequireChecks {
        names: Vec<String>,
    },
    RequireApprovals {
        count: u32,
    },
    Rule {
        rule: serde_json::Value,
    },
    Permission {
        login: String,
        level: String,
    },
    /// The bug of the sample app is merged by a person and goes live.
    ShipBug,
    /// The planted signal of a foreign repository begins.
    ShowSignal,
    Traffic {
        requests: u32,
    },
    Advance {
        seconds: u64,
    },
}

pub(super) fn perform(town: &Town, act: Act) -> Result<()> {
    let mut model = town.forge.model();
    let model = &mut *model;
    match act {
        Act::MoveHead => {
            let branch = newest(model)?.head.clone();
            town.person_commits(model, &branch, "a change by a person").map(drop)?;
        }
        Act::MoveBase => town
            .person_commits(model, &town.forge.branch, "another change by a person")
            .map(drop)?,
        Act::Check { name, conclusion } => recheck(town, model, &name, conclusion)?,
        Act::Status { context, state } => {
            let sha = newest(model)?.head_sha.clone();
            model.statuses.retain(|s| s.sha != sha || s.context != context);
            let (id, at) = (model.next_id(), town.clock.now());
            model.statuses.push(Status {
                id,
                sha,
                context,
                state,
                at,
            });
        }
        Act::Review { login, state, body } => {
            let (id, at) = (model.next_id(), town.clock.now());
            let pull = newest(model)?;
            let commit = pull.head_sha.clone();
            pull.reviewers.retain(|r| *r != login);
            pull.reviews.push(Review {
                id,
                author: login,
                state,
                body,
                commit,
                at,
            });
        }
        Act::Label { name } => {
            let number = newest(model)?.number;
            model.label(number, &name, "ada", town.clock.now());
        }
        Act::Unlabel { name } => newest(model)?.labels.retain(|l| *l != name),
        Act::OpenIssue { label } => {
            let (number, now) = (model.next_number(), town.clock.now());
            model.issues.push(Issue {
                number,
                title: format!("please: {label}"),
                author: "ada".to_owned(),
                labels: Vec::new(),
                open: true,
                created: now,
            });
            model.label(number, &label, "ada", now);
        }
        Act::CloseIssues => model.issues.iter_mut().for_each(|i| i.open = false),
        Act::ClosePull { login } => {
            let now = town.clock.now();
            let pull = newest(model)?;
            pull.open = false;
            pull.closed_by = Some(login);
            pull.updated = now;
        }
        Act::MergePull { login } => {
            let pull = newest(model)?;
            let (number, title) = (pull.number, format!("{} (#{})", pull.title, pull.number));
            super::forge::land(town, &town.forge, model, number, &login, &title, &[])?.context("the pull applies")?;
        }
        Act::RevertLast => revert_last(town, model)?,
        Act::Threads { open } => newest(model)?.open_threads = open,
        Act::FixOnMain => ship(town, model, "count only orders that have items", &shop::fix())?,
        Act::ShipBug => ship_bug(town, model)?,
        Act::ShowSignal => town.tracker.show(town.clock.now()),
        Act::Traffic { requests } => return shop::traffic(town, requests, Duration::ZERO),
        Act::Advance { seconds } => town.clock.advance(Duration::from_secs(seconds)),
        settings => set(model, settings),
    }
    Ok(())
}

/// The owner's settings; every other act is done by the caller.
fn set(model: &mut Model, act: Act) {
    let settings = &mut model.settings;
    match act {
        Act::Issues { on } => settings.issues = on,
        Act::Drafts { on } => settings.drafts = on,
        Act::Squash { on } => settings.squash = on,
        Act::Private { on } => settings.private = on,
        Act::Archived { on } => settings.archived = on,
        Act::RequireChecks { names } => settings.required_checks = names,
        Act::RequireApprovals { count } => settings.required_approvals = count,
        Act::Rule { rule } => settings.more_rules.push(rule),
        Act::Permission { login, level } => drop(settings.people.insert(login, level)),
        _ => {}
    }
}

fn newest(model: &mut Model) -> Result<&mut super::forge::Pull> {
    let number = match model.newest_open() {
        Some(pull) => pull.number,
        None => model.pulls.last().context("there is a pull")?.number,
    };
    model.pull(number).context("the pull is there")
}

/// The same check runs again on the same commit and ends at once.
fn recheck(town: &Town, model: &mut Model, name: &str, conclusion: String) -> Result<()> {
    let (now, id) = (town.clock.now() + RUNNER_START, model.next_id());
    let pull = newest(model)?;
    let (sha, branch) = (pull.head_sha.clone(), pull.head.clone());
    model.jobs.push(Job {
        stage: Stage::Completed,
        conclusion: Some(conclusion),
        shown: true,
        started: Some(now),
        completed: Some(now),
        ..Job::queued(id, id, name, &sha, &branch, now)
    });
    Ok(())
}

fn ship(town: &Town, model: &mut Model, message: &str, files: &[shop::NewFile]) -> Result<()> {
    let before = town.forge.repo.heads()?;
    let author = super::forge::Author {
        name: "ada",
        at: town.clock.now(),
    };
    town.forge
        .repo
        .commit(&town.forge.branch, None, author, message, files)?;
    town.pushed(model, &before, &town.forge.repo.heads()?, By::Person)
}

fn revert_last(town: &Town, model: &mut Model) -> Result<()> {
    let (repo, branch) = (&town.forge.repo, &town.forge.branch);
    let before = repo.heads()?;
    let (last, facts) = repo
        .facts(&town.main_head()?)?
        .context("the default branch has a commit")?;
    let parent = facts
        .parents
        .first()
        .context("there is something before the last commit")?;
    let (_, old) = repo.facts(parent)?.context("the parent is there")?;
    let title = facts.message.lines().next().unwrap_or_default();
    let message = format!("Revert \"{title}\"\n\nThis reverts commit {last}.");
    let author = super::forge::Author {
        name: "ada",
        at: town.clock.now(),
    };
    let sha = repo.commit_tree(&old.tree, &last, author, &message)?;
    repo.move_head(branch, &sha, &last)?;
    town.pushed(model, &before, &repo.heads()?, By::Person)
}

/// A pull of a person, merged: so the bug has a number and an author.
fn ship_bug(town: &Town, model: &mut Model) -> Result<()> {
    let now = town.clock.now();
    let (repo, branch) = (&town.forge.repo, "average-discount");
    let base = town.main_head()?;
    let author = super::forge::Author { name: "ada", at: now };
    let head = repo.commit(branch, Some(&base), author, shop::BUG_TITLE, &shop::bug())?;
    let number = model.next_number();
    model.pulls.push(super::forge::Pull {
        number,
        title: shop::BUG_TITLE.to_owned(),
        body: "Customers asked for it.".to_owned(),
        author: "ada".to_owned(),
        head: branch.to_owned(),
        head_before: head.clone(),
        head_sha: head,
        base: town.forge.branch.clone(),
        base_sha: base,
        draft: false,
        open: true,
        closed_by: None,
        merged_at: None,
        merge_sha: None,
        labels: Vec::new(),
        reviewers: Vec::new(),
        reviews: Vec::new(),
        open_threads: 0,
        created: now,
        updated: now,
    });
    let title = format!("{} (#{number})", shop::BUG_TITLE);
    super::forge::land(town, &town.forge, model, number, "ada", &title, &[])?.context("the bug applies")?;
    repo.git(&["update-ref", "-d", &format!("refs/heads/{branch}")], b"")
        .map(drop)
}
