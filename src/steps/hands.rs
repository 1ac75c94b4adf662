//! The adapters of one process, made when they are first needed: a healthy tick makes none of them.

use std::cell::OnceCell;

use anyhow::{Context, Result};

use super::Ctx;
use crate::{
    adapters::{
        git::{Git, Mirror},
        github::{GitHub, RepoInfo},
        http::Http,
        process,
    },
    config::{Config, Repo},
    decide::facts::Policy,
    exit::{Exit, Fault},
    model::{Mode, RepoName, Slot},
};

#[derive(Default)]
pub(super) struct Hands {
    github: OnceCell<GitHub>,
    git: OnceCell<Git>,
}

impl Ctx {
    pub(super) fn github(&self) -> &GitHub {
        self.hands.github.get_or_init(|| {
            GitHub::new(
                Http::new(self.redactor.clone(), self.config.allow_private_hosts.clone()),
                self.config.github.api.clone(),
                self.config.secrets.github().cloned(),
                self.redactor.clone(),
            )
        })
    }

    pub(super) fn git(&self) -> Result<&Git> {
        if let Some(git) = self.hands.git.get() {
            return Ok(git);
        }
        let program = which("git").ok_or_else(|| {
            Fault::new(Exit::Config, "git is not on the search path")
                .advise("install it, or name its directory in config.json, key path")
        })?;
        let made = Git::new(program)
            .search_path(process::own_path())
            .redactor(self.redactor.clone());
        Ok(self.hands.git.get_or_init(|| made))
    }

    /// Our bare mirror of a repo. Fetches nothing.
    pub(super) async fn mirror(&self, repo: &Repo) -> Result<Mirror> {
        let url = clone_url(self, repo)?;
        let dir = self.config.home.state.join("repos").join(format!("{}.git", repo.slot));
        let token = self.config.secrets.github();
        Ok(Mirror::open(self.git()?, &dir, &url, token).await?)
    }

    /// The repository's settings and its default branch.
    pub(super) async fn repo_info(&self, repo: &Repo) -> Result<(RepoInfo, String)> {
        let info = self.github().repo(github_name(repo)?).await?;
        let branch = repo.branch.clone().unwrap_or_else(|| info.default_branch.clone());
        Ok((info, branch))
    }

    /// The config lets a model be asked about what befalls this repo.
    pub(super) fn asks_models(&self, slot: &Slot) -> bool {
        let repo = self.config.repo(slot);
        repo.is_some_and(|repo| equipped(&self.config, repo).0 >= Mode::Diagnose)
    }

    /// Why no model is asked about a repo whose mode would ask one.
    pub(super) fn lacks_models(&self, slot: &Slot) -> Option<String> {
        let repo = self.config.repo(slot).filter(|repo| repo.mode >= Mode::Diagnose)?;
        let (rung, missing) = equipped(&self.config, repo);
        missing.into_iter().next_back().filter(|_| rung < Mode::Diagnose)
    }

    /// What the owner allows and the repo is equipped for.
    pub fn policy(&self, repo: &Repo) -> Result<Policy> {
        let config = &self.config;
        let (mut rung, mut missing) = equipped(config, repo);
        if let Some(why) = self.store().flag(&format!("autonomy:{}", repo.slot))?
            && rung > Mode::MonitorOnly
        {
            rung = Mode::MonitorOnly;
            missing.insert(0, why);
        }
        let limits = &config.limits;
        Ok(Policy {
            rung,
            missing,
            usd_per_incident: limits.usd_per_incident,
            usd_per_day: limits.usd_per_day,
            usd_per_month: limits.usd_per_month,
            usd_per_run: dearest_run(self),
            agent_runs_per_day: limits.agent_runs_per_day,
            retries_per_run: limits.retries_per_run,
            open_pulls_per_repo: limits.open_pulls_per_repo,
            rollback_own: repo.rollback_own,
            observe_min: chrono::TimeDelta::from_std(repo.observe_min).unwrap_or(chrono::TimeDelta::minutes(30)),
            may_skip: repo.may_skip.clone(),
            nonblocking: config.detection.ci_nonblocking.clone(),
            by_ci: repo.proof_by_ci,
            reruns: repo.ci_rerun,
            release_known: repo
                .targets
                .iter()
                .any(|t| t.health.iter().any(|h| h.release.is_some())),
        })
    }
}

/// The highest rung up to the configured one that the config equips a repo for, and what keeps it from more.
pub fn equipped(config: &Config, repo: &Repo) -> (Mode, Vec<String>) {
    let agents = &config.agents;
    let lacks = [
        (
            repo.github.is_none(),
            Mode::Diagnose,
            "no GitHub repository is configured for this repo",
        ),
        (
            config.secrets.github().is_none(),
            Mode::Diagnose,
            "GITHUB_TOKEN is not set",
        ),
        (
            repo.test.is_empty() && !repo.proof_by_ci,
            Mode::Diagnose,
            "no test command is configured",
        ),
        (
            agents.fix.is_empty() || agents.audit.is_empty(),
            Mode::Diagnose,
            "no agent is configured for fixing and auditing",
        ),
        // Landlock and seccomp hold files and calls, not the network: the whole sandbox is not built yet.
        (
            !agents.unsandboxed,
            Mode::Diagnose,
            "no sandbox holds the network of agents and tests here; agents.unsandboxed accepts that",
        ),
        (
            agents.triage.is_empty(),
            Mode::Observe,
            "no agent is configured for triage",
        ),
    ];
    let mut rung = repo.mode;
    let mut missing = Vec::new();
    for (_, to, why) in lacks.into_iter().filter(|(lacks, ..)| *lacks) {
        if rung > to {
            rung = to;
            missing.push(why.to_owned());
        }
    }
    (rung, missing)
}

/// `owner/name` of a repo.
pub(super) fn github_name(repo: &Repo) -> Result<&RepoName> {
    repo.github
        .as_ref()
        .with_context(|| format!("repo {} has no GitHub repository in the config", repo.slot))
}

/// Worst case of one run over the configured agents; agents on a flat plan cost runs and minutes, not dollars.
fn dearest_run(ctx: &Ctx) -> f64 {
    ctx.config
        .agents
        .defined
        .values()
        .filter(|agent| agent.billing == crate::config::Billing::Metered)
        .filter_map(|agent| agent.usd_per_run)
        .fold(0.0, f64::max)
}

fn clone_url(ctx: &Ctx, repo: &Repo) -> Result<String> {
    if let Some(url) = &repo.git_url {
        return Ok(url.clone());
    }
    let name = github_name(repo)?;
    let web = ctx.config.github.web.as_str().trim_end_matches('/');
    Ok(format!("{web}/{name}.git"))
}

/// Looks a program up in this process's search path.
pub(super) fn which(program: &str) -> Option<std::path::PathBuf> {
    process::own_path()
        .split(':')
        .map(|dir| std::path::Path::new(dir).join(program))
        .find(|path| path.is_file())
}
