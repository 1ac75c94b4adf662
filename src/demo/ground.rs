//! What a world stands on: its directory and its repository, made before anything runs.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};

use super::{
    children::Children,
    faults::Site,
    forge::{Author, BareRepo, Forge, Model, Settings},
    serve::Bound,
    shop,
    world::{FORGE_TOKEN, WorldOptions},
};

pub(super) fn make_root(options: &WorldOptions) -> Result<PathBuf> {
    let root = if let Some(root) = &options.root {
        root.clone()
    } else {
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
        std::env::temp_dir().join(format!("tick-world-{:016x}", u64::from_le_bytes(random)))
    };
    let made = std::fs::DirBuilder::new().create(&root);
    made.with_context(|| format!("make the world's directory {}", root.display()))?;
    root.canonicalize().context("resolve the world's directory")
}

pub(super) fn make_forge(
    options: &WorldOptions,
    root: &Path,
    children: &Arc<Children>,
    bound: &Bound,
    now: DateTime<Utc>,
) -> Result<Forge> {
    let (owner, name) = (options.owner.clone(), options.name.clone());
    let git = root.join("git");
    let from = options.repo.as_ref().map(|own| own.path.canonicalize()).transpose()?;
    let repo = BareRepo::make(children, &git, &format!("{owner}/{name}"), "main", from.as_deref())?;
    if from.is_none() {
        let at = now - chrono::TimeDelta::days(3);
        repo.commit("main", None, Author { name: "ada", at }, "shop 3.1.0", &shop::base())?;
    }
    let branch = repo.git(&["symbolic-ref", "--short", "HEAD"], b"")?.trim().to_owned();
    anyhow::ensure!(
        repo.head(&branch)?.is_some(),
        "the repository has no commit on {branch}"
    );
    let api = bound.url(Site::Forge)?;
    let settings = Settings {
        private: true,
        archived: false,
        issues: true,
        drafts: true,
        squash: true,
        required_checks: options.ci.iter().map(|job| job.name.clone()).collect(),
        required_approvals: 0,
        code_owner_review: false,
        conversation_resolution: false,
        ci_starts: true,
        keeps_reports: true,
        reruns_green: true,
        more_rules: Vec::new(),
        people: [("ada", "admin"), ("bob", "write"), ("eve", "read")]
            .map(|(l, p)| (l.into(), p.into()))
            .into(),
        bot: "tick-bot".to_owned(),
    };
    Ok(Forge {
        web: format!("{api}/git"),
        api,
        owner,
        name,
        branch,
        token: FORGE_TOKEN.to_owned(),
        repo,
        model: Mutex::new(Model::new(settings)),
    })
}
