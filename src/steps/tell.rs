//! One message per cause and status. The Message-ID comes from the effect's key, so that a mail which is sent twice
//! after a lost answer is one mail to the reader.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{
    Ctx,
    attempt::signature_row,
    outbox::{self, Letter},
};
use crate::{
    collect::CI_IS_RED,
    decide::{
        facts::{Facts, Seen, Status, keys},
        next::OVER,
    },
    model::{IncidentId, PullNumber, incident::Incident, signal::SignalKind},
    render::mail::{Guess, MailWords, PullLine, broken, mail as render_mail},
    store::{Claim, SignatureRow},
    text::{Untrusted, named},
};

pub(super) async fn tell(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    _seen: &Seen,
    status: Status,
    why: &str,
) -> Result<()> {
    let words = words(ctx, facts, status, why)?;
    let letter = Letter::new(ctx, &render_mail(&words));
    let sent = outbox::post(ctx, claim, &keys::mail(facts.id(), status), &letter).await?;
    // The exit code says it also where no mail is configured.
    super::report::told(&mut ctx.report(), facts.id(), status);
    said(ctx, Some(facts.id()), sent, &letter);
    Ok(())
}

/// A message that belongs to no incident: its key is a signature of what it is about. True when it is told, now or
/// before.
pub(super) async fn tell_about(ctx: &Ctx, about: &str, words: &MailWords) -> Result<bool> {
    let id = about_id(about);
    let key = keys::mail(&id, words.status);
    if ctx.store().effect(&key)?.is_some_and(|row| row.is_posted()) {
        return Ok(true);
    }
    let claim = ctx.store().claim(&id)?;
    let Some(claim) = claim else {
        return Ok(false);
    };
    let letter = Letter::new(ctx, &render_mail(words));
    let sent = outbox::post(ctx, &claim, &key, &letter).await?;
    said(ctx, None, sent, &letter);
    Ok(true)
}

fn said(ctx: &Ctx, incident: Option<&IncidentId>, sent: bool, letter: &Letter) {
    let word = if sent { "1 sent" } else { "1 waits" };
    ctx.say(incident, "mail", [format!("mail     {word}: \"{}\"", letter.subject)]);
}

/// The id under which such a message is claimed: a hash, so that other words are another message.
pub(super) fn about_id(about: &str) -> IncidentId {
    IncidentId::new(&named(about), 1)
}

fn words(ctx: &Ctx, facts: &Facts, status: Status, why: &str) -> Result<MailWords> {
    let row = signature_row(ctx, facts)?;
    let cause = &facts.cause;
    let title = super::title_line(ctx, &row);
    let mut words = MailWords::new(status, facts.incident.repo.as_str(), &title, ctx.now());
    words.name.clone_from(&ctx.config.notify.name);
    words.incident = Some(facts.id().clone());
    let (since, count) = of_this_life(ctx, &facts.incident, &row)?;
    words.since = Some(since);
    words.last = Some(cause.last_seen);
    words.count = count;
    words.flaps = cause.flaps();
    let felt = felt(ctx, &facts.incident, &row)?;
    (words.broken, words.shown) = (felt.broken, felt.shown);
    let mut also = felt.also;
    if status == Status::Resolved {
        for came_with in came_with(ctx, &facts.incident)? {
            words.last = words.last.max(Some(came_with.last_seen));
            also.push(super::title_line(ctx, &came_with));
        }
    }
    words
        .measured
        .extend(also.into_iter().map(|title| ("also".to_owned(), title)));
    why.clone_into(&mut words.why);
    words.before = super::before::sentences(ctx, &row, Some(facts.id()), since)?;
    words.sample = row.samples.first().map(|s| Untrusted::new(s, &ctx.redactor));
    words.guess = guess(ctx, facts, status);
    words.pull = facts.pull.as_ref().map(|p| PullLine {
        number: p.number,
        url: p.url.clone(),
    });
    if let (Status::TakenBack, Some(ours), Some(number)) =
        (status, &mut words.pull, facts.revert.as_ref().and_then(|r| r.pull))
    {
        ours.url = sibling(&ours.url, number);
        ours.number = number;
    }
    words.release.clone_from(&cause.release);
    let merge = facts.merge.as_ref().filter(|_| why != OVER);
    if let Some(merge) = merge {
        words.merge = Some(merge.sha.clone());
        if let (Some(watch), Some(live)) = (&facts.watch, merge.live_at) {
            words.seen = watch.seen;
            words.requests = watch.requests;
            let hours = (watch.looked_until - live).num_seconds().max(0);
            #[expect(clippy::cast_precision_loss, reason = "seconds of at most a week")]
            let hours = hours as f64 / 3600.0;
            words.expected = Some(watch.rate_before * hours);
        }
    }
    words.did = facts
        .attempts
        .iter()
        .filter_map(|a| {
            let failure = a.failure()?;
            Some(format!("attempt {} was refused: {}", a.attempt.n, failure.sentence()))
        })
        .collect();
    Ok(words)
}

/// What a model made of the cause. Where no patch came of an attempt, its diagnosis is what is left of it.
fn guess(ctx: &Ctx, facts: &Facts, status: Status) -> Option<Guess> {
    let of = |by: &str, text: &str| Guess {
        by: by.to_owned(),
        text: Untrusted::new(text, &ctx.redactor),
    };
    let handed_over = status == Status::NeedsYou && facts.pull.is_none();
    let mut attempts = facts.attempts.iter().rev().filter(|_| handed_over);
    let said = attempts.find(|a| !a.attempt.said.trim().is_empty());
    let triage = || facts.triage.as_ref().filter(|t| !t.root_cause.is_empty());
    said.map(|a| of(&a.attempt.agent, &a.attempt.said))
        .or_else(|| triage().map(|t| of("triage", &t.root_cause)))
}

/// The page of another pull request of the same repository.
fn sibling(url: &str, number: PullNumber) -> String {
    url.rsplit_once('/')
        .map_or_else(String::new, |(pulls, _)| format!("{pulls}/{}", number.0))
}

/// Since when and how often, without what was before the cause was over last time.
pub(super) fn of_this_life(ctx: &Ctx, incident: &Incident, row: &SignatureRow) -> Result<(DateTime<Utc>, u64)> {
    let before = match incident.id.generation() {
        0 | 1 => None,
        n => ctx
            .store()
            .incident(&IncidentId::new(&incident.id.signature(), n - 1))?,
    };
    let Some(over) = before.and_then(|before| before.closed_at) else {
        return Ok((row.first_seen, row.count));
    };
    let seen = ctx.store().sightings(&row.sig, over)?;
    let since = seen.first().map_or(row.first_seen, |s| s.from.max(over));
    Ok((since, seen.iter().fold(0, |all, s| all.saturating_add(s.count))))
}

/// What users have of an incident, before what caused it.
pub(super) struct Felt {
    /// `shop is down`.
    broken: String,
    /// `home: HTTP 500; ValueError in cart.py:3`.
    pub(super) shown: String,
    /// What came with it and is no worse.
    also: Vec<String>,
}

/// A build that a platform makes is part of a deployment; nobody looked at the default branch.
fn of_kind(row: &SignatureRow) -> SignalKind {
    match row.kind {
        SignalKind::Ci if row.source != "actions" => SignalKind::Deploy,
        kind => kind,
    }
}

/// A page that is down comes before the error that came with it.
pub(super) fn felt(ctx: &Ctx, incident: &Incident, row: &SignatureRow) -> Result<Felt> {
    let slot = incident.repo.as_str();
    let title = super::title_line(ctx, row);
    let mut felt = Felt {
        broken: broken(slot, of_kind(row), row.severity),
        shown: title.trim_start_matches(CI_IS_RED).to_owned(),
        also: Vec::new(),
    };
    let symptoms = ctx.store().symptoms(&incident.id)?;
    let mut down = Vec::new();
    let mut still = None;
    for sig in symptoms {
        let symptom = ctx.store().signature(&sig)?.filter(|symptom| symptom.bad_ticks > 0);
        let Some(symptom) = symptom else { continue };
        let title = super::title_line(ctx, &symptom);
        if symptom.severity > row.severity {
            felt.broken = broken(symptom.repo.as_str(), of_kind(&symptom), symptom.severity);
            down.push(title);
        } else {
            felt.also.push(title);
        }
        still = still.or(Some(symptom));
    }
    // A page that is well again is not what is broken, where another one still is.
    let is_over = row.kind.is_symptom() && row.bad_ticks == 0;
    if is_over && let Some(now) = &still {
        if down.is_empty() {
            down = std::mem::take(&mut felt.also);
        }
        felt.broken = broken(now.repo.as_str(), now.kind, now.severity);
    } else {
        down.push(std::mem::take(&mut felt.shown));
    }
    felt.shown = down.join("; ");
    Ok(felt)
}

/// What joined an incident and was seen while it was open.
fn came_with(ctx: &Ctx, incident: &Incident) -> Result<Vec<SignatureRow>> {
    let joined = ctx.store().symptoms(&incident.id)?;
    let mut rows = Vec::new();
    for sig in joined {
        let row = ctx.store().signature(&sig)?;
        rows.extend(row.filter(|row| row.last_seen >= incident.opened_at));
    }
    Ok(rows)
}
