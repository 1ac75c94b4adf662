//! What a world stands on: its directory and its repository, made before anything runs.

use std::{
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};

use super::{
    children::Children,
    faults::Site,
    forge::{Author, BareRepo, Forge, Model, Settings},
    left::{self, Held},
    serve::Bound,
    shop,
    world::{FORGE_TOKEN, WorldOptions},
};
use crate::exit::{Exit, Fault};

/// The world's directory, and its mark where a later demo may remove what is left of it.
pub(super) fn make_root(options: &WorldOptions) -> Result<(PathBuf, Option<Held>)> {
    let root = if let Some(root) = &options.root {
        root.clone()
    } else {
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
        std::env::temp_dir().join(format!("{}{:016x}", left::NAME, u64::from_le_bytes(random)))
    };
    let made = std::fs::DirBuilder::new().mode(0o700).create(&root);
    made.with_context(|| format!("make the world's directory {}", root.display()))?;
    let root = root.canonicalize().context("resolve the world's directory")?;
    let may_go = options.root.is_none() && !options.keep;
    let held = may_go.then(|| left::hold(&root)).transpose()?;
    Ok((root, held))
}

/// A work tree's top, or a bare repository. Read from its files: git itself looks in the folders above, too.
fn is_repository(path: &Path) -> bool {
    path.join(".git").exists() || path.join("HEAD").is_file() && path.join("objects").is_dir()
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
    if let Some(path) = from.as_deref().filter(|path| !is_repository(path)) {
        let fault = Fault::new(
            Exit::Usage,
            format!("rehearse on {}: it is no git repository", path.display()),
        );
        return Err(fault
            .advise("--repo takes the top folder of a repository, the one that holds .git")
            .into());
    }
    let repo = BareRepo::make(children, &git, &format!("{owner}/{name}"), "main", from.as_deref())?;
    if from.is_none() {
        let at = now - chrono::TimeDelta::days(3);
        repo.commit("main", None, Author { name: "ada", at }, "shop 3.1.0", &shop::base())?;
    }
    let branch = repo.git(&["symbolic-ref", "--short", "HEAD"], b"")?.trim().to_owned();
    if repo.head(&branch)?.is_none() {
        let path = from.as_deref().unwrap_or(root).display();
        let fault = Fault::new(Exit::Usage, format!("rehearse on {path}: it has no commit on {branch}"));
        return Err(fault
            .advise("only what is committed is rehearsed: commit your files, or check out a branch that has commits")
            .into());
    }
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
