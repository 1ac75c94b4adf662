//! Evidence about one head: guards on git objects, red and green on fresh checkouts, the auditor's verdict.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{
    Ctx,
    agents::{nonce, paused_flag},
    attempt::signature_row,
    diff::{file_changes, with_surroundings},
    doubts::{self, Product},
    evidence::kind,
    flakes,
    ground::Ground,
    prove::{ProofTrees, ProveRequest, prove as run_proof, with_tree_at},
    reach::reach,
    undo::Undoing,
};
use crate::{
    adapters::{
        git::{self, FileEdit, Mirror},
        process::{self, ChildSpec, RunExit, Sandbox},
        suite::{self, SuiteChild, SuiteOptions, SuiteOutput},
    },
    config::Repo,
    decide::{
        budget, culprit,
        facts::{AttemptFacts, Facts},
        guards::{self, Diff, FileChange, GuardPolicy, Parts},
        proof::{self, IncidentFacts},
    },
    model::{
        RunId, Sha, Slot,
        evidence::{GuardReport, GuardVerdict, Proof, ProofGrade, Suite},
        signal::Culprit,
    },
    render,
    store::{Claim, SignatureRow},
    text::{places, signature},
};

pub(super) fn attempt_of(facts: &Facts, n: u32) -> Result<&AttemptFacts> {
    facts
        .attempts
        .iter()
        .find(|a| a.attempt.n == n)
        .with_context(|| format!("attempt {n} of {} is not in the store", facts.id()))
}

/// Judges the diff of an attempt, from objects of our own mirror.
pub(super) async fn guards(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, head: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let attempt = attempt_of(facts, n)?;
    let mirror = ctx.mirror(repo).await?;
    let changes = file_changes(&mirror, &attempt.attempt.base, head).await?;
    let limits = &ctx.config.limits;
    let sensitive = ctx.config.sensitive.iter().map(String::as_str);
    let policy = GuardPolicy::new(sensitive, limits.diff_lines, limits.diff_lines_merge)?;
    let policy = if attempt.is_a_persons() {
        policy.of_a_person()
    } else {
        policy
    };
    let diff = with_surroundings(&mirror, &attempt.attempt.base, Diff::of(changes)).await?;
    let mut report = guards::judge(&diff, &policy, &ctx.redactor.of_secrets());
    if attempt.is_a_revert() {
        culprit::ask_a_person(&mut report);
    }
    let word = match report.verdict {
        GuardVerdict::Accept => "accept",
        GuardVerdict::NeedsHuman => "needs-human",
        GuardVerdict::Reject => "reject",
    };
    ctx.record(claim, Some(head), kind::GUARDS, word, &report)?;
    match report.verdict {
        GuardVerdict::Reject => {
            let message = report
                .findings
                .iter()
                .map(|f| f.rule.clone())
                .collect::<Vec<_>>()
                .join(",");
            remember_failure_of(ctx, claim, attempt, "guards", &message, &report)?;
            let mut lines = render::story::refusal(&report);
            lines.push(render::story::after_refusal(budget::is_last(facts, n)).to_owned());
            ctx.say(Some(facts.id()), "guards", lines);
        }
        GuardVerdict::NeedsHuman => {
            let first = report.findings.iter().find(|f| f.verdict == GuardVerdict::NeedsHuman);
            let line = first.map(|f| format!("guards   needs-human: {}", f.sentence()));
            ctx.say(Some(facts.id()), "guards", line);
        }
        GuardVerdict::Accept => {
            ctx.say(Some(facts.id()), "guards", ["guards   accept, 0 findings".to_owned()]);
        }
    }
    Ok(())
}

/// Red without the change, green with it, nothing lost; on fresh checkouts of commits, never on the child's tree.
pub(super) async fn prove(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, head: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let attempt = attempt_of(facts, n)?;
    let base = &attempt.attempt.base;
    let mirror = ctx.mirror(repo).await?;
    let changes = file_changes(&mirror, base, head).await?;
    let policy = GuardPolicy::new(std::iter::empty(), 0, 0)?;
    let mut parts = guards::split(&changes, &policy.kinds);
    if attempt.is_a_revert() {
        // A test that goes shows nothing about the others.
        parts.test_part.retain(|change| change.new.is_some());
    }
    let test_files: Vec<String> = parts
        .test_part
        .iter()
        .filter(|c| c.new.is_some())
        .map(FileChange::shown)
        .collect();
    let dir = super::fresh_dir(ctx, "proofs", &attempt.attempt.id.file_name())?;
    let ground = Ground::lay(ctx, claim, repo, &mirror, base).await?;
    let trees = lay_trees(&mirror, &dir, &parts, (base, head), ground.as_ref()).await?;
    let run_id = run_id("proof", &attempt.attempt.id.file_name())?;
    ctx.store().set_running(claim, Some(&run_id))?;
    let request = ProveRequest {
        facts: proof_facts(ctx, facts, repo, attempt, head, &parts)?,
        commands: repo.test.clone(),
        test_files,
        options: SuiteOptions {
            home: ground.as_ref().map(Ground::home),
            ..suite_options(ctx, repo, &dir, &run_id)
        },
        work: Some(ground.as_ref().map_or_else(|| dir.join("work"), Ground::work)),
        files: files_of(&mirror, head).await?,
        moves: ground.as_ref().is_none_or(|ground| ground.portable),
        base: base_of(cached_base(ctx, facts, repo, base)?, attempt),
    };
    let runner = async |child: SuiteChild| run_child(ctx, &repo.slot, child).await;
    let fresh = || ground.as_ref().map_or(Ok(()), Ground::renew_home);
    let options = request.options.clone();
    let (mut known, work) = (
        request.facts.clone(),
        request.work.clone().unwrap_or_else(|| dir.join("work")),
    );
    let mut proven = run_proof(&runner, &fresh, &trees, request).await;
    if let Ok(proven) = &mut proven {
        known.flakes.extend(proof::flakes_seen(&proven.runs));
        let undoing = Undoing {
            facts: &known,
            parts: &parts,
            kinds: &policy.kinds,
            mirror: &mirror,
            ground: ground.as_ref(),
            commands: &suite::resolve(&trees.base, &repo.test),
            options: &options,
            dir: &dir,
            work: &work,
            reference: &trees.base,
        };
        undoing.each(&runner, proven).await?;
        reach(&undoing, &runner, proven, &places_of(&signature_row(ctx, facts)?)).await?;
        let product = Product { mirror: &mirror, head };
        doubts::of(&product, &known.incident, &parts, &mut proven.proof).await?;
        takes_back(&mut proven.proof, attempt);
    }
    ctx.store().set_running(claim, None)?;
    git::sweep(&dir).context("remove the trees of a proof")?;
    let proven = proven?;
    if let Some(suite) = proven.runs.base.as_ref().filter(|_| !attempt.is_a_revert()) {
        ctx.record(claim, Some(base), kind::BASE_SUITE, &flakes::input(repo)?, suite)?;
    }
    flakes::remember(ctx, claim, base, &proven.runs)?;
    conclude(ctx, claim, facts, attempt, &proven.proof)
}

/// What a commit holds. A path that is no text is left out.
async fn files_of(mirror: &Mirror, commit: &Sha) -> Result<Vec<PathBuf>> {
    let entries = mirror.list(commit).await?;
    let path = |entry: &git::TreeEntry| Some(PathBuf::from(std::str::from_utf8(&entry.path).ok()?));
    Ok(entries.iter().filter_map(path).collect())
}

/// What came with a commit goes with it.
fn base_of(base: Option<Suite>, attempt: &AttemptFacts) -> Option<Suite> {
    match &attempt.takes_back {
        Some(culprit) => base.map(|base| proof::without(base, &culprit.brought)),
        None => base,
    }
}

/// Says which tests are not there any more.
fn takes_back(found: &mut Proof, attempt: &AttemptFacts) {
    let culprit = attempt.takes_back.as_ref();
    if let Some(culprit) = culprit.filter(|culprit| !culprit.brought.is_empty()) {
        let gone: Vec<&str> = culprit.brought.iter().take(5).map(String::as_str).collect();
        let n = culprit.brought.len();
        let said = format!(
            "Tests that came with the commit go with it, {n} in all: {}.",
            gone.join(", ")
        );
        found.not_proven.push(said);
    }
}

/// What a proof is computed from beside its runs.
pub(super) fn proof_facts(
    ctx: &Ctx,
    facts: &Facts,
    repo: &Repo,
    attempt: &AttemptFacts,
    head: &Sha,
    parts: &Parts,
) -> Result<proof::Facts> {
    let row = signature_row(ctx, facts)?;
    let old = parts.source_part.iter().filter(|c| c.old.is_some());
    Ok(proof::Facts {
        base: attempt.attempt.base.clone(),
        head: head.clone(),
        incident: incident_facts(&row),
        has_test_part: !parts.test_part.is_empty(),
        selects: false,
        flakes: flakes::known(ctx, repo)?,
        commands: repo.test.iter().map(|c| c.text.clone()).collect(),
        source: old.map(FileChange::shown).collect(),
        alone_runs: 3,
        red_again: dice()?,
    })
}

/// Where the incident was seen, as production names the places.
fn places_of(row: &SignatureRow) -> Vec<Culprit> {
    let texts = row.signed_text.iter().chain(&row.samples);
    let mut places: Vec<Culprit> = row
        .culprit
        .iter()
        .cloned()
        .chain(texts.flat_map(|text| places(text)))
        .collect();
    let mut seen = BTreeSet::new();
    places.retain(|place| seen.insert((place.file.clone(), place.line, place.function.clone())));
    places
}

pub(super) fn incident_facts(row: &SignatureRow) -> IncidentFacts {
    IncidentFacts::of(
        row.text_signature().clone(),
        &row.title,
        row.samples.first().map_or("", String::as_str),
    )
}

/// Keeps a proof, and what the attempt failed by where it failed.
pub(super) fn conclude(ctx: &Ctx, claim: &Claim, facts: &Facts, attempt: &AttemptFacts, proof: &Proof) -> Result<()> {
    let word = match &proof.grade {
        ProofGrade::Proven => "proven",
        ProofGrade::Unproven(_) => "unproven",
        ProofGrade::NotRed(_) => "not-red",
        ProofGrade::NotGreen(_) => "not-green",
    };
    ctx.record(claim, Some(&proof.head), kind::PROOF, word, proof)?;
    if let ProofGrade::NotRed(why) | ProofGrade::NotGreen(why) = &proof.grade {
        remember_failure(ctx, claim, attempt, word, why)?;
    }
    ctx.say(Some(facts.id()), "proof", render::story::proof(proof));
    Ok(())
}

/// Fresh checkouts, each with what the setup made.
async fn lay_trees(
    mirror: &Mirror,
    dir: &Path,
    parts: &Parts,
    (base, head): (&Sha, &Sha),
    ground: Option<&Ground>,
) -> Result<ProofTrees> {
    let trees = ProofTrees {
        base: dir.join("base"),
        red: dir.join("red"),
        head: dir.join("head"),
        head_again: dir.join("again").join("head"),
        red_fresh: dir.join("fresh"),
        own: dir.join("own"),
    };
    super::private_dir(&dir.join("again"))?;
    mirror.checkout(base, &trees.base).await?;
    mirror.checkout(head, &trees.head).await?;
    mirror.checkout(head, &trees.head_again).await?;
    let mut without_fix = base.clone();
    if !parts.test_part.is_empty() {
        let edits: Vec<FileEdit> = parts.test_part.iter().map(edit).collect();
        without_fix = mirror.commit_edits(base, &edits, "The test part alone").await?;
        mirror.checkout(&without_fix, &trees.red).await?;
    }
    mirror.checkout(&without_fix, &trees.red_fresh).await?;
    if !parts.test_part.is_empty() {
        let edits: Vec<FileEdit> = parts.source_part.iter().map(edit).collect();
        let source = mirror.commit_edits(base, &edits, "The source part alone").await?;
        mirror.checkout(&source, &trees.own).await?;
    }
    if let Some(ground) = ground {
        for tree in trees.all().into_iter().filter(|tree| tree.exists()) {
            ground.fill(tree)?;
        }
    }
    Ok(trees)
}

fn dice() -> Result<proof::RedAgain> {
    let thrown = nonce()?;
    let sum: usize = thrown.as_str().bytes().map(usize::from).sum();
    let all = proof::RedAgain::ALL;
    Ok(all[sum % all.len()])
}

pub(super) fn edit(change: &FileChange) -> FileEdit {
    FileEdit {
        path: change.path.clone(),
        new: change.new.as_ref().map(|side| (side.mode, side.bytes.clone())),
    }
}

/// The base's results of an earlier attempt on the same base, by the same commands.
fn cached_base(ctx: &Ctx, facts: &Facts, repo: &Repo, base: &Sha) -> Result<Option<Suite>> {
    let rows = ctx.store().evidence(facts.id())?;
    let input = flakes::input(repo)?;
    rows.into_iter()
        .rev()
        .find(|row| row.kind == kind::BASE_SUITE && row.head == base.as_str() && row.verdict == input)
        .map(|row| serde_json::from_value(row.detail).context("read the base's results"))
        .transpose()
}

fn run_id(what: &str, name: &str) -> Result<RunId> {
    let fresh = nonce()?;
    RunId::parse(&format!("{what}.{name}.{}", fresh.as_str())).context("name a run")
}

pub(super) fn suite_options(ctx: &Ctx, repo: &Repo, dir: &Path, run_id: &RunId) -> SuiteOptions {
    SuiteOptions {
        timeout: repo.test_timeout,
        run_id: run_id.clone(),
        second_run: false,
        only: None,
        reference: None,
        path: process::own_path().split(':').map(PathBuf::from).collect(),
        toolchain_env: ctx.config.toolchain_env.clone(),
        services: repo.services.clone(),
        env: repo.test_env.clone(),
        home: None,
        scratch: dir.join("scratch"),
        junit: repo.junit.clone(),
        redactor: ctx.redactor.clone(),
    }
}

/// Starts one test command through the process runner.
pub(super) async fn run_child(ctx: &Ctx, slot: &Slot, child: SuiteChild) -> SuiteOutput {
    let done = process::run(ChildSpec {
        program: child.program,
        args: child.args.into_iter().map(Into::into).collect(),
        env: child
            .env
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect(),
        sandbox: Sandbox {
            write: child.writable.into_iter().chain([child.cwd.clone()]).collect(),
            read: ctx.tools(),
            hide: ctx.own_places(),
            network: child.network,
        },
        cwd: child.cwd,
        stdin: child.stdin,
        deadline: child.deadline,
        stdout_cap: child.stdout_cap,
        stderr_cap: child.stderr_cap,
        run_id: child.run_id,
        stop: Some(paused_flag(ctx, Some(slot))),
    })
    .await;
    let timed_out = done.exit == RunExit::TimedOut;
    let not_run = matches!(done.exit, RunExit::Stopped | RunExit::SpawnFailed(_));
    let (exit, note) = match done.exit {
        RunExit::Code(code) => (Some(code), String::new()),
        other => (None, format!("it {other}")),
    };
    SuiteOutput {
        timed_out,
        not_run,
        exit,
        truncated: done.truncated,
        stdout: done.stdout,
        stderr: done.stderr,
        note,
        sandbox: done.sandbox,
    }
}

/// Runs the repo's test commands on one commit, and compares with the run before our change.
pub(super) async fn tests_pass(ctx: &Ctx, claim: &Claim, facts: &Facts, commit: &Sha) -> Result<(bool, String)> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let suite = suite_at(ctx, claim, facts, commit, "landed").await?;
    let before = match facts.current() {
        Some(attempt) => cached_base(ctx, facts, repo, &attempt.attempt.base)?,
        None => None,
    };
    let known = flakes::known(ctx, repo)?;
    Ok(proof::as_good_as(&before.unwrap_or_default(), &suite, &known))
}

/// What the repo's test commands say of one commit.
pub(super) async fn suite_at(ctx: &Ctx, claim: &Claim, facts: &Facts, commit: &Sha, what: &str) -> Result<Suite> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let mirror = ctx.mirror(repo).await?;
    let name = format!("{}.{what}.{}", facts.id(), commit.short());
    let dir = super::fresh_dir(ctx, "proofs", &name)?;
    let tree = dir.join("tree");
    mirror.checkout(commit, &tree).await?;
    // What the commands mean, and which programs of the repository they may start, is the parent's word.
    let reference = dir.join("parent");
    let parent = mirror.parents(commit).await?.into_iter().next();
    mirror.checkout(parent.as_ref().unwrap_or(commit), &reference).await?;
    let ground = Ground::lay(ctx, claim, repo, &mirror, parent.as_ref().unwrap_or(commit)).await?;
    if let Some(ground) = &ground {
        for tree in [&tree, &reference] {
            ground.fill(tree)?;
        }
        ground.renew_home()?;
    }
    let run_id = run_id(what, commit.short())?;
    ctx.store().set_running(claim, Some(&run_id))?;
    let runner = async |child: SuiteChild| run_child(ctx, &repo.slot, child).await;
    let commands = suite::resolve(&reference, &repo.test);
    let options = SuiteOptions {
        reference: Some(reference),
        home: ground.as_ref().map(Ground::home),
        ..suite_options(ctx, repo, &dir, &run_id)
    };
    let work = ground.as_ref().map_or_else(|| dir.join("work"), Ground::work);
    let run = async |dir: &Path| suite::run_suite(&runner, dir, &commands, &options).await;
    let suite = with_tree_at(&work, &tree, run).await?;
    ctx.store().set_running(claim, None)?;
    git::sweep(&dir)?;
    Ok(suite?)
}

/// Stores what an attempt failed by, so that the same failure again stops the loop.
pub(super) fn remember_failure(
    ctx: &Ctx,
    claim: &Claim,
    attempt: &AttemptFacts,
    test: &str,
    message: &str,
) -> Result<()> {
    let none = GuardReport {
        verdict: GuardVerdict::Accept,
        findings: Vec::new(),
        paths: Vec::new(),
        added: 0,
        removed: 0,
    };
    let report = attempt.guards.as_ref().unwrap_or(&none);
    remember_failure_of(ctx, claim, attempt, test, message, report)
}

fn remember_failure_of(
    ctx: &Ctx,
    claim: &Claim,
    attempt: &AttemptFacts,
    test: &str,
    message: &str,
    report: &GuardReport,
) -> Result<()> {
    let paths: Vec<&str> = report.paths.iter().map(String::as_str).collect();
    let short = signature::failure_signature::<&str>(test, message, &[]);
    let full = signature::failure_signature(test, message, &paths);
    let mut row = attempt.attempt.clone();
    row.failure_sig = Some(format!("{short}-{full}"));
    ctx.store().put_attempt(claim, &row, ctx.now())?;
    Ok(())
}
