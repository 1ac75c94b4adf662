//! What the tests of a repo stand on: the result of its setup, made once for what the base locks and copied into every
//! tree. A setup runs on the base alone, so before any code of an agent; whatever it cannot do is told, not guessed.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{
    Ctx,
    agents::{nonce, paused_flag},
    evidence::digest_of,
    judge::{run_child, suite_options},
};
use crate::{
    adapters::{
        clock::instant,
        git::{self, Mirror},
        suite::{self, SuiteChild, SuiteOptions, SuiteOutput},
        template,
    },
    config::Repo,
    model::{RunId, Sha},
    store::{Claim, SetupLock, Tried},
};

/// Results of setups that are kept for a repo.
const KEPT: usize = 3;
const LOOK: Duration = Duration::from_millis(500);

/// The tests cannot be made to run now. Nothing is concluded from it; a person is told when it stays.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotReady(pub(super) String);

/// What is known of a finished setup.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    /// Nothing in it names the path where it was made.
    portable: bool,
    /// Paths of the base it was made on: a tree has its own.
    tracked: BTreeSet<String>,
}

/// The setup of one base, while its place is ours alone.
pub(super) struct Ground {
    dir: PathBuf,
    made: PathBuf,
    pub(super) portable: bool,
    tracked: BTreeSet<Vec<u8>>,
    _lock: SetupLock,
}

impl Ground {
    /// None: the repo has no setup.
    pub(super) async fn lay(
        ctx: &Ctx,
        claim: &Claim,
        repo: &Repo,
        mirror: &Mirror,
        base: &Sha,
    ) -> Result<Option<Self>> {
        if repo.setup.is_empty() {
            return Ok(None);
        }
        let lock = lock(ctx, repo).await?;
        let dir = ctx.config.home.state.join("setups").join(repo.slot.as_str());
        super::private_dir(&dir)?;
        let made = dir.join(key(repo, mirror, base).await?);
        if !made.join("made").is_file() {
            prune(&dir)?;
            make(ctx, claim, repo, mirror, base, &dir, &made).await?;
        }
        let text = fs::read(made.join("made")).with_context(|| format!("read {}", made.display()))?;
        let known: Made = serde_json::from_slice(&text).with_context(|| format!("read {}", made.display()))?;
        let ground = Self {
            portable: known.portable,
            tracked: known.tracked.iter().filter_map(|path| unhex(path)).collect(),
            dir,
            made,
            _lock: lock,
        };
        // What a killed run left where the next one works.
        git::sweep(&ground.work())?;
        Ok(Some(ground))
    }

    /// Where a tree has to stand while its tests run.
    pub(super) fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// Puts what the setup made into a fresh checkout.
    pub(super) fn fill(&self, tree: &Path) -> Result<()> {
        template::spread(&self.made.join("tree"), tree, &self.tracked)
    }

    /// The home as the setup left it.
    pub(super) fn renew_home(&self) -> Result<()> {
        let home = self.home();
        git::sweep(&home)?;
        super::private_dir(&home)?;
        template::spread(&self.made.join("home"), &home, &BTreeSet::new())
    }
}

/// Waits for others that run tests of the same repo.
async fn lock(ctx: &Ctx, repo: &Repo) -> Result<SetupLock> {
    let by = instant() + repo.test_timeout * 4 + repo.setup_timeout;
    let stop = paused_flag(ctx, Some(&repo.slot));
    loop {
        match SetupLock::try_take(&ctx.config.home.state, &repo.slot, &ctx.holder()).context("take the setup's lock")? {
            Tried::Held(lock) => return Ok(lock),
            Tried::Busy(holder) if instant() >= by || stop.raised() => {
                let why = format!("the tests of {} are run by another process ({holder})", repo.slot);
                return Err(NotReady(why).into());
            }
            Tried::Busy(_) => tokio::time::sleep(LOOK).await,
        }
    }
}

/// Equal keys mean that the setup would make the same.
async fn key(repo: &Repo, mirror: &Mirror, base: &Sha) -> Result<String> {
    let named: BTreeSet<&str> = repo
        .setup
        .iter()
        .flat_map(|command| command.argv.iter().map(|word| word.trim_start_matches("./")))
        .collect();
    let entries = mirror.list(base).await?;
    let read: Vec<(String, &Sha)> = entries
        .iter()
        .map(|entry| (String::from_utf8_lossy(&entry.path).into_owned(), &entry.id))
        .filter(|(path, _)| decides(path) || named.contains(path.as_str()))
        .collect();
    // Without a lock file anything may count.
    let whole = if read.iter().any(|(path, _)| locks(path)) {
        None
    } else {
        Some(mirror.tree_of(base).await?)
    };
    let commands: Vec<&str> = repo.setup.iter().map(|command| command.text.as_str()).collect();
    Ok(digest_of(&(commands, &repo.test_env, read, whole))?[..24].to_owned())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Files that say exactly what is installed.
fn locks(path: &str) -> bool {
    matches!(
        file_name(path),
        "package-lock.json"
            | "npm-shrinkwrap.json"
            | "yarn.lock"
            | "pnpm-lock.yaml"
            | "bun.lock"
            | "Cargo.lock"
            | "poetry.lock"
            | "uv.lock"
            | "pdm.lock"
            | "Pipfile.lock"
            | "go.sum"
            | "Gemfile.lock"
            | "composer.lock"
            | "mix.lock"
            | "gradle.lockfile"
            | "packages.lock.json"
    ) || is_requirements(path)
}

fn is_requirements(path: &str) -> bool {
    let name = file_name(path);
    name.starts_with("requirements") && matches!(name.rsplit('.').next(), Some("txt" | "in"))
}

/// Files that a setup of the common kinds reads.
fn decides(path: &str) -> bool {
    locks(path)
        || matches!(
            file_name(path),
            "package.json"
                | ".npmrc"
                | ".yarnrc"
                | ".yarnrc.yml"
                | "pnpm-workspace.yaml"
                | "Cargo.toml"
                | "rust-toolchain"
                | "rust-toolchain.toml"
                | "pyproject.toml"
                | "setup.py"
                | "setup.cfg"
                | "Pipfile"
                | "go.mod"
                | "Gemfile"
                | "pom.xml"
                | "build.gradle"
                | "build.gradle.kts"
                | "settings.gradle"
                | "composer.json"
                | "mix.exs"
                | "Makefile"
                | ".tool-versions"
                | ".nvmrc"
                | ".python-version"
                | ".ruby-version"
        )
}

/// The oldest go, so that the disk is not filled by old lock files.
fn prune(dir: &Path) -> Result<()> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("list {}", dir.display()))? {
        let entry = entry?;
        if let Ok(meta) = fs::metadata(entry.path().join("made")) {
            found.push((meta.modified()?, entry.path()));
        }
    }
    found.sort();
    for (_, old) in found.iter().rev().skip(KEPT - 1) {
        git::sweep(old)?;
    }
    Ok(())
}

async fn make(
    ctx: &Ctx,
    claim: &Claim,
    repo: &Repo,
    mirror: &Mirror,
    base: &Sha,
    dir: &Path,
    made: &Path,
) -> Result<()> {
    let (work, home, scratch) = (dir.join("work"), dir.join("home"), dir.join("scratch"));
    for place in [&work, &home, &scratch, &made.to_owned()] {
        git::sweep(place)?;
    }
    super::private_dir(&home)?;
    mirror.checkout(base, &work).await?;
    let run_id = RunId::parse(&format!("setup.{}.{}", repo.slot, nonce()?.as_str())).context("name a run")?;
    ctx.say(
        Some(&claim.incident),
        "setup",
        [format!("setup    of {} at {}", repo.slot, base.short())],
    );
    ctx.store().set_running(claim, Some(&run_id))?;
    let options = SuiteOptions {
        reference: Some(work.clone()),
        home: Some(home.clone()),
        scratch: scratch.clone(),
        ..suite_options(ctx, repo, dir, &run_id)
    };
    let runner = async |child: SuiteChild| run_child(ctx, &repo.slot, child).await;
    let ran = commands(&runner, repo, &work, &options).await;
    ctx.store().set_running(claim, None)?;
    git::sweep(&scratch)?;
    ran?;
    let entries = mirror.list(base).await?;
    let tracked: BTreeSet<Vec<u8>> = entries.into_iter().map(|entry| entry.path).collect();
    let portable = !template::mentions(&work, dir, &tracked)?;
    super::private_dir(made)?;
    fs::rename(&work, made.join("tree")).with_context(|| format!("keep {}", work.display()))?;
    fs::rename(&home, made.join("home")).with_context(|| format!("keep {}", home.display()))?;
    let known = Made {
        portable,
        tracked: tracked.iter().map(|path| crate::text::hex(path)).collect(),
    };
    // Written last and whole: without it the rest counts for nothing.
    let (fresh, done) = (made.join("made.new"), made.join("made"));
    fs::write(&fresh, serde_json::to_vec(&known)?).with_context(|| format!("write {}", fresh.display()))?;
    fs::rename(&fresh, &done).with_context(|| format!("write {}", done.display()))
}

async fn commands(
    runner: &impl AsyncFn(SuiteChild) -> SuiteOutput,
    repo: &Repo,
    work: &Path,
    options: &SuiteOptions,
) -> Result<()> {
    let started = instant();
    for command in &repo.setup {
        super::private_dir(&options.scratch)?;
        let left = repo.setup_timeout.saturating_sub(started.elapsed());
        let home = options.home.as_deref().unwrap_or(work);
        let failed = |why: &str| {
            let why = format!(
                "the setup `{}` of {} failed on the base: {why}; run it in a fresh checkout, then mend repos.{}.setup",
                command.text, repo.slot, repo.slot
            );
            NotReady(options.redactor.redact(&crate::text::clean(&why)))
        };
        let child =
            suite::setup_child(command, work, home, &repo.setup_hosts, left, options).map_err(|e| failed(&e))?;
        let output = runner(child).await;
        if output.exit != Some(0) {
            let note = if output.note.is_empty() {
                suite::last_words(&output)
            } else {
                output.note
            };
            return Err(failed(&note).into());
        }
    }
    Ok(())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_a_setup_is_known_by_its_name() {
        for path in [
            "package-lock.json",
            "apps/web/yarn.lock",
            "requirements-dev.txt",
            "Cargo.lock",
        ] {
            assert!(locks(path) && decides(path), "{path}");
        }
        for path in ["package.json", "pyproject.toml", "sub/go.mod"] {
            assert!(!locks(path) && decides(path), "{path}");
        }
        for path in ["src/lock.rs", "requirements.py", "package.json.md", "docs/Makefile.txt"] {
            assert!(!decides(path), "{path}");
        }
    }

    #[test]
    fn paths_survive_as_digits() {
        assert_eq!(unhex(&crate::text::hex(b"a/\xff b")).unwrap(), b"a/\xff b");
        assert_eq!(unhex("zz"), None);
    }
}
