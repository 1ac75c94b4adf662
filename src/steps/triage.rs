//! Asks an agent about causes that nobody has judged yet: one call a repo, under the triage lock. A reply is parsed
//! strictly; what it says is a guess about the cause, and a verdict that routes, never one that merges.

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    Ctx, advance,
    agents::{Question, ask, nonce, prompts},
    before,
    evidence::{self, kind},
    felt, gather,
};
use crate::{
    adapters::agents::{AgentOutcome, Role},
    config::Repo,
    decide::{budget, facts::Facts, next, verdict},
    model::{Mode, Signature, Slot, incident::Incident, incident::Triage},
    render::prompt::{TriageContext, TriageGroup},
    store::{SignatureRow, TriageLock, locks::Tried},
    text::{Redactor, Untrusted, short},
};

/// Causes put before triage in one call: all that one look may open.
const GROUPS: usize = crate::decide::caps::PER_TICK as usize;
/// Text of all causes of one call, and of one of them; what they say first says most. With the frame around it a call
/// stays below 24 KB however much stood in the logs.
const TEXT: usize = 10 * 1024;
const LONGEST: usize = 5 * 1024;

/// Triages every open incident that is due and has no verdict yet.
pub async fn triage(ctx: &Ctx) -> Result<()> {
    if untriaged(ctx)?.is_empty() {
        return Ok(());
    }
    let note = format!("pid {}, since {}", std::process::id(), ctx.now().format("%H:%M:%S"));
    let state = ctx.state();
    let _lock = match TriageLock::try_take(&state, &note).context("take the triage lock")? {
        Tried::Held(lock) => lock,
        Tried::Busy(by) => {
            tracing::info!("another process triages ({by})");
            return Ok(());
        }
    };
    // Once more under the lock: another process may have asked about the same causes a moment ago.
    let todo = untriaged(ctx)?;
    for repo in ctx.config.repos.values() {
        let of_repo: Vec<_> = todo.iter().filter(|(incident, _)| incident.repo == repo.slot).collect();
        let policy = ctx.policy(repo)?;
        if policy.rung < Mode::Diagnose {
            continue;
        }
        for batch in of_repo.chunks(GROUPS) {
            if batch[0].1.paused.is_some() {
                continue;
            }
            // Read afresh: the call before this one was a run too.
            let spent = ctx.store().spent(&batch[0].0.id, ctx.now())?;
            if let Some(why) = budget::used_up(gather::spend(spent), &policy) {
                tracing::warn!(repo = %repo.slot, "no triage: {why}");
                continue;
            }
            ask_about(ctx, repo, batch).await?;
        }
    }
    Ok(())
}

fn untriaged(ctx: &Ctx) -> Result<Vec<(Incident, Facts)>> {
    let due = ctx.store().due_incidents(ctx.now())?;
    let mut todo = Vec::new();
    for incident in due {
        let facts = gather::facts(ctx, &incident)?;
        let later = facts.triage_unavailable.again_at().is_some_and(|at| at > ctx.now());
        // A flake costs no model.
        let later = later || rerun_goes_first(ctx, &facts)?;
        if facts.triage.is_none() && facts.triage_failures < 3 && !later && !facts.triage_unavailable.is_final() {
            todo.push((incident, facts));
        }
    }
    Ok(todo)
}

fn rerun_goes_first(ctx: &Ctx, facts: &Facts) -> Result<bool> {
    let Some(repo) = ctx.config.repo(&facts.incident.repo) else {
        return Ok(false);
    };
    Ok(next::rerun_comes_first(facts, &ctx.policy(repo)?))
}

async fn ask_about(ctx: &Ctx, repo: &Repo, batch: &[&(Incident, Facts)]) -> Result<()> {
    let mut rows = Vec::new();
    for (incident, _) in batch {
        let sig = incident.id.signature();
        let row = ctx.store().signature(&sig)?;
        rows.push(row.with_context(|| format!("signature {sig} is gone from the store"))?);
    }
    shorten(&mut rows);
    // Its claim carries the run while the agent runs, so that whoever comes after a kill can end it.
    let Some(claim) = ctx.store().claim(&batch[0].0.id)? else {
        return Ok(());
    };
    advance::recover(ctx, &claim)?;
    let commits = commits(ctx, repo).await;
    let mut groups = Vec::new();
    for ((incident, _), row) in batch.iter().zip(&rows) {
        let other = incident.id != claim.incident;
        let own = other.then(|| ctx.store().claim(&incident.id)).transpose()?;
        if let Some(claim) = own.as_ref().map_or(Some(&claim), Option::as_ref) {
            before::find_unset(ctx, repo, claim, row).await;
        }
        let began = felt::life(ctx, incident, row)?.since;
        let before = before::sentences(ctx, row, Some(&incident.id), began)?;
        groups.push(group(&ctx.redactor, row, &before));
    }
    let context = TriageContext {
        repo: repo.slot.clone(),
        groups,
        commits,
    };
    let prompt = prompts(ctx)?.triage(&context, &nonce()?)?;
    let dir = ctx.config.home.state.join("triage");
    super::private_dir(&dir)?;
    let answer = ask(
        ctx,
        Question {
            role: Role::Triage,
            incident: &batch[0].0.id,
            claim: Some(&claim),
            prompt,
            input: input(&repo.slot, &rows),
            cwd: &dir,
            read: Vec::new(),
            commands: &[],
            name: format!("triage.{}.{}", batch[0].0.id, ctx.tick),
            deadline: ctx.config.limits.attempt_wall.min(std::time::Duration::from_mins(10)),
        },
    )
    .await?;
    drop(claim);
    let asked: Vec<Signature> = rows.iter().map(|row| row.sig.clone()).collect();
    let verdicts = match answer.outcome {
        AgentOutcome::Reply(reply) => {
            verdict::parse_triage(&reply, &asked, &repo.slot).map_err(|e| ("failed", e.to_string()))
        }
        AgentOutcome::Failed(why) => Err(("failed", why)),
        AgentOutcome::Infrastructure(why) => Err((kind::UNAVAILABLE, why)),
        // A stop sign ended it, which says nothing about the causes.
        AgentOutcome::Interrupted => return Ok(()),
    };
    store(ctx, batch, &verdicts)
}

/// The verdict of the evidence row that says so, and why there is none.
type NoVerdict = (&'static str, String);

fn store(ctx: &Ctx, batch: &[&(Incident, Facts)], verdicts: &Result<Vec<Triage>, NoVerdict>) -> Result<()> {
    for (incident, _) in batch {
        let Some(claim) = ctx.store().claim(&incident.id)? else {
            continue;
        };
        let own = verdicts
            .as_ref()
            .map(|all| all.iter().find(|t| t.signature == incident.id.signature()));
        let row = match own {
            Ok(Some(triage)) => {
                let word = serde_json::to_value(triage.verdict)?;
                let word = word.as_str().unwrap_or_default().to_owned();
                ctx.say(
                    Some(&incident.id),
                    "triage",
                    [format!(
                        "triage   {word} in {}: {}",
                        incident.repo,
                        first_line(&triage.root_cause)
                    )],
                );
                evidence::row(ctx, None, kind::TRIAGE, &word, triage)?
            }
            Ok(None) => evidence::row(
                ctx,
                None,
                kind::TRIAGE_FAILED,
                "left out",
                &"it was left out of the reply",
            )?,
            Err((word, why)) => {
                ctx.say(Some(&incident.id), "triage", [format!("triage   no verdict: {why}")]);
                evidence::row(ctx, None, kind::TRIAGE_FAILED, word, why)?
            }
        };
        ctx.store().add_evidence(&claim, &row)?;
    }
    Ok(())
}

fn first_line(text: &str) -> String {
    short(text.lines().next().unwrap_or_default(), 100)
}

/// What an agent that reads no prompt gets.
fn input(slot: &Slot, rows: &[SignatureRow]) -> serde_json::Value {
    let groups = rows.iter().map(|row| {
        json!({ "signature": row.sig, "repo": row.repo, "title": row.title, "count": row.count, "samples": row.samples })
    });
    json!({ "repo": slot, "groups": groups.collect::<Vec<_>>() })
}

/// Cuts the texts of causes so that together they fit one call: half of a cause's share for its first sample, a
/// quarter for its second, a quarter for the template.
fn shorten(rows: &mut [SignatureRow]) {
    let share = (TEXT / rows.len().max(1)).min(LONGEST);
    for row in rows {
        row.samples.truncate(2);
        for (sample, most) in row.samples.iter_mut().zip([share / 2, share / 4]) {
            cut(sample, most);
        }
        cut(&mut row.template, share / 4);
    }
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

/// Bytes about what changed before one cause, newest first; a person finds the rest in `tick show`.
const BEFORE: usize = 170;

fn fitting(before: &[String]) -> impl Iterator<Item = &String> {
    let mut left = BEFORE;
    before.iter().take_while(move |text| {
        let fits = text.len() <= left;
        left = left.saturating_sub(text.len());
        fits
    })
}

fn group(redactor: &Redactor, row: &SignatureRow, before: &[String]) -> TriageGroup {
    let untrusted = |text: &str| Untrusted::new(text, redactor);
    TriageGroup {
        signature: row.sig.clone(),
        kind: row.kind,
        count: row.count,
        first_seen: row.first_seen,
        last_seen: row.last_seen,
        template: untrusted(&row.template),
        culprit: row.culprit.as_ref().map(|c| untrusted(&super::place_line(c))),
        samples: row.samples.iter().map(|s| untrusted(s)).collect(),
        before: fitting(before).map(|text| untrusted(text)).collect(),
    }
}

/// Latest commits of the default branch; a repository that cannot be read leaves the list empty.
async fn commits(ctx: &Ctx, repo: &Repo) -> Vec<Untrusted> {
    let read = async || -> Result<Vec<Untrusted>> {
        let (_, branch) = ctx.repo_info(repo).await?;
        let mirror = ctx.mirror(repo).await?;
        mirror.fetch().await?;
        let Some(head) = mirror.resolve(&format!("refs/heads/{branch}")).await? else {
            return Ok(Vec::new());
        };
        let log = mirror.log(None, &head, 10).await?;
        Ok(log
            .iter()
            .map(|c| Untrusted::new(&format!("{} {}", c.sha.short(), c.subject.line(120)), &ctx.redactor))
            .collect())
    };
    if repo.github.is_none() {
        return Vec::new();
    }
    read().await.unwrap_or_else(|error| {
        tracing::warn!(repo = %repo.slot, "the latest commits could not be read: {error:#}");
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::{
        model::signal::SignalKind,
        render::prompt::PromptSet,
        text::{
            fence::Nonce,
            logs::{Cause, Patterns, Reading},
        },
    };

    /// A word for a number, since numbers do not tell causes apart.
    fn word(n: usize) -> String {
        let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap());
        ["part", &String::from_iter([letter(n), letter(n / 26)])].concat()
    }

    fn row(slot: &Slot, cause: Cause) -> SignatureRow {
        SignatureRow {
            sig: cause.signature,
            text_sig: None,
            repo: slot.clone(),
            target: slot.to_string(),
            source: "logs".to_owned(),
            template: cause.template,
            label: cause.label.to_owned(),
            kind: SignalKind::Log,
            severity: cause.severity,
            title: cause.title,
            culprit: cause.culprit,
            samples: cause.samples,
            signed_text: None,
            first_seen: cause.first_seen,
            last_seen: cause.last_seen,
            count: cause.count,
            releases: Vec::new(),
            inventory: false,
            bad_ticks: 1,
            quiet_looks: 0,
            ignored_until: None,
            ignored_why: None,
            fire_after: None,
            clear_after: None,
            waits_since: None,
            part: None,
            red_run: None,
        }
    }

    #[test]
    fn a_hundred_thousand_error_lines_fit_one_small_call() {
        let now: DateTime<Utc> = "2026-11-29T04:00:00Z".parse().unwrap();
        let redactor = Redactor::default();
        let mut reading = Reading::new(&Patterns::shipped(None), &redactor, now);
        let mut raw = 0;
        for n in 0..100_000 {
            let line = format!(
                "2026-11-29T03:{:02}:{:02}Z ERROR {} of order {} went wrong, and nobody was there to see to it\n",
                n / 60 % 60,
                n % 60,
                word(n % 500),
                n % 1500
            );
            raw += line.len();
            reading.push(line.as_bytes());
        }
        let found = reading.finish();
        assert_eq!((found.events, found.overflow.events), (100_000, 0));
        assert!(raw > 8 << 20);
        let slot = Slot::parse("web").unwrap();
        let mut rows: Vec<SignatureRow> = found.causes.into_iter().map(|cause| row(&slot, cause)).collect();
        assert!(rows.len() >= 500, "{} causes", rows.len());
        rows.truncate(GROUPS);
        for row in &mut rows {
            row.samples.push("x y ".repeat(4000));
        }
        shorten(&mut rows);
        let before = vec!["2026-11-28 05:07  release 4c1e9ad went live (vercel), and a good deal more".to_owned(); 8];
        let context = TriageContext {
            repo: slot.clone(),
            groups: rows.iter().map(|row| group(&redactor, row, &before)).collect(),
            commits: vec![Untrusted::new(&"c".repeat(100), &redactor); 10],
        };
        let prompt = PromptSet::shipped()
            .unwrap()
            .triage(&context, &Nonce::new(&[7; 16]))
            .unwrap();
        for (what, size) in [
            ("prompt", prompt.len()),
            ("input", input(&slot, &rows).to_string().len()),
        ] {
            assert!(size <= 24 * 1024, "the {what} has {size} bytes");
        }
    }

    #[test]
    fn one_cause_alone_is_shown_at_length() {
        let mut text = "x".repeat(10_000);
        cut(&mut text, LONGEST / 2);
        assert_eq!(text.chars().count(), LONGEST / 2 + 1);
    }
}
