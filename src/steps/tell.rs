//! One message per cause and status. The Message-ID comes from the effect's key, so that a mail which is sent twice
//! after a lost answer is one mail to the reader.

use super::{
    Ctx,
    attempt::signature_row,
    before,
    felt::{felt, place},
    look,
    outbox::{self, Letter},
};
use crate::{
    decide::{
        dedup,
        facts::{Facts, Failure, Seen, Status, keys},
        next::OVER,
    },
    model::{IncidentId, PullNumber},
    render::mail::{Guess, MailWords, PullLine, attempts, mail as render_mail},
    store::Claim,
    text::{Untrusted, named},
};
use anyhow::Result;

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
    let felt = felt(ctx, &facts.incident, &row, status == Status::Resolved)?;
    words.slot = place(&row);
    words.since = Some(felt.since);
    words.last = Some(felt.last);
    words.flaps = cause.flaps();
    words.asks = ctx.asks_models(&facts.incident.repo);
    words.lacks = ctx.lacks_models(&facts.incident.repo);
    words.provider = look::provider(&row).map(str::to_owned);
    (words.broken, words.shown) = (felt.broken, felt.shown);
    (words.lines, words.more) = (felt.lines, felt.more);
    why.clone_into(&mut words.why);
    words.before = before::sentences(ctx, &row, Some(facts.id()), felt.since)?;
    if status == Status::Resolved {
        words.then = before::since(ctx, &row, felt.last)?;
    }
    let samples = felt.samples.join("\n\n");
    words.sample = (!samples.is_empty()).then(|| Untrusted::new(&samples, &ctx.redactor));
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
    if matches!(status, Status::NeedsYou | Status::DraftReady | Status::Budget) {
        let opened = ctx.store().why_opened(facts.id())?;
        if dedup::says_more(&opened) {
            words.measured.push(("opened".to_owned(), opened));
        }
    }
    words.release = before::serving(ctx, &row, felt.since)?;
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
    let failed = facts.attempts.iter();
    let failed: Vec<(u32, Failure)> = failed.filter_map(|a| Some((a.attempt.n, a.failure()?))).collect();
    words.did = attempts(&failed);
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
    let said = attempts.find(|a| !a.attempt.said_cause().is_empty());
    let triage = || facts.triage.as_ref().filter(|t| !t.root_cause.is_empty());
    said.map(|a| of(&a.attempt.agent, a.attempt.said_cause()))
        .or_else(|| triage().map(|t| of("triage", &t.root_cause)))
}

/// The page of another pull request of the same repository.
fn sibling(url: &str, number: PullNumber) -> String {
    url.rsplit_once('/')
        .map_or_else(String::new, |(pulls, _)| format!("{pulls}/{}", number.0))
}
