//! Letters. Each stands in the ledger, worded, before anybody tries to send it, and waits there until it is sent: a
//! mail server that is away, or a channel that is not configured, stops no incident and loses no message.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Ctx,
    effect::{EffectKind, Phase},
};
use crate::{
    adapters::mail::{self, Mail, MailOutcome, Mailer},
    config::MailBackend,
    model::IncidentId,
    render,
    store::{Claim, EffectRow},
};

/// Nobody is helped by what was true a week ago.
const OLDEST: TimeDelta = TimeDelta::days(7);
/// Letters that one process sends beside its own.
const MOST: usize = 50;
/// What stands where a letter is owed and nobody said how to send it.
pub(super) const NO_CHANNEL: &str = "no channel is configured (notify)";

/// The server took it and did not say so: sent once more, and no failure before that, unless the server is away.
const LOST: &str = "it may have arrived";

/// A message in its final words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Letter {
    pub(super) subject: String,
    pub(super) body: String,
    pub(super) at: DateTime<Utc>,
    /// Times that the server took it and did not confirm: it may have arrived.
    #[serde(default)]
    lost: u32,
}

impl Letter {
    pub(super) fn new(ctx: &Ctx, (subject, body): &(String, String)) -> Self {
        Self {
            subject: ctx.redactor.redact(subject),
            body: ctx.redactor.redact(body),
            at: ctx.now(),
            lost: 0,
        }
    }
}

/// The messages of an incident in their words, oldest first, with how each stands.
pub fn letters(ctx: &Ctx, incident: &IncidentId) -> Result<Vec<render::incidents::LetterView>> {
    let mut rows: Vec<EffectRow> = ctx.store().effects(incident)?.into_values().collect();
    rows.retain(EffectRow::is_posted);
    rows.sort_by_key(|row| row.intended_at);
    let mut letters = Vec::new();
    for row in rows {
        let stands = row.outcome.clone().unwrap_or_else(|| "not tried yet".to_owned());
        let Some(result) = row.result.filter(|_| row.kind == EffectKind::Mail.prefix()) else {
            continue;
        };
        let kept = result.get("letter").cloned().unwrap_or(result);
        if let Ok(Letter { subject, body, at, .. }) = serde_json::from_value(kept) {
            letters.push(render::incidents::LetterView {
                at,
                stands,
                subject,
                body,
            });
        }
    }
    Ok(letters)
}

/// What one process has tried so far.
#[derive(Debug, Default)]
pub(super) struct Tried {
    keys: BTreeSet<String>,
    /// Nobody answered, or not to the end, in these words: the next letter would wait as long for nothing.
    no_server: Option<String>,
}

/// Stores the letter and tries to send it. True when it went out in this call.
pub(super) async fn post(ctx: &Ctx, claim: &Claim, key: &str, letter: &Letter) -> Result<bool> {
    ctx.crash.at(key, Phase::BeforeIntent);
    let earlier = ctx
        .store()
        .effects(&claim.incident)?
        .into_values()
        .any(|row| row.key != key && row.waits());
    ctx.store().post(claim, key, &json!(letter), ctx.now())?;
    ctx.crash.at(key, Phase::AfterIntent);
    // What was said before is read before.
    if earlier {
        return Ok(false);
    }
    attempt(ctx, claim, key).await
}

/// Sends what waits, oldest first. A letter that cannot be sent is no error: it waits on, and `tick status` says so.
pub async fn deliver(ctx: &Ctx) -> Result<()> {
    let waiting = ctx.store().letters()?;
    for (incident, row) in waiting.into_iter().take(MOST) {
        if ctx.tried.borrow().keys.contains(&row.key) {
            continue;
        }
        // Another process is at it, and sends what it writes.
        let claim = ctx.store().claim(&incident)?;
        let Some(claim) = claim else { continue };
        if ctx.now() - row.intended_at > OLDEST {
            let why = format!("older than {} days", OLDEST.num_days());
            let letter = row.result.clone().unwrap_or_default();
            ctx.store()
                .letter_given_up(&claim, &row.key, &why, &letter, ctx.now())?;
            continue;
        }
        attempt(ctx, &claim, &row.key).await?;
    }
    let waiting = ctx.store().letters()?;
    let off = matches!(ctx.config.notify.mail, MailBackend::Off);
    let away = ctx.tried.borrow().no_server.is_some();
    ctx.report().unsent = waiting
        .iter()
        // One that nobody has tried yet is another process's at this moment, or the next tick's.
        .filter(|(_, row)| !off && row.outcome.is_some() && (away || !why_not(row).starts_with(LOST)))
        .map(|(incident, row)| format!("{}: {}", name(incident, row), why_not(row)))
        .collect();
    if !waiting.is_empty() {
        ctx.store().print_audit()?;
    }
    Ok(())
}

/// `needs-you of 7f3a91c0`, or the status alone where it is about no incident.
pub(super) fn name(incident: &IncidentId, row: &EffectRow) -> String {
    let status = row.key.rsplit(':').next().unwrap_or_default();
    format!("{status} of {}", incident.signature().short())
}

/// Why it is not sent, in a few words.
pub(super) fn why_not(row: &EffectRow) -> &str {
    row.outcome
        .as_deref()
        .map_or("not tried yet", |outcome| outcome.trim_start_matches("not sent: "))
}

async fn attempt(ctx: &Ctx, claim: &Claim, key: &str) -> Result<bool> {
    let row = ctx.store().effect(key)?.filter(EffectRow::waits);
    let Some(kept) = row.and_then(|row| row.result) else {
        return Ok(false);
    };
    let mut letter: Letter = serde_json::from_value(kept).with_context(|| format!("the letter {key}"))?;
    let away = ctx.tried.borrow().no_server.clone();
    let outcome = match away {
        Some(why) => MailOutcome::NoServer(why),
        None => send(ctx, key, &letter).await,
    };
    ctx.tried.borrow_mut().keys.insert(key.to_owned());
    ctx.crash.at(key, Phase::AfterEffect);
    let wait = |why: &str| waits(ctx, claim, key, why, &letter);
    match outcome {
        MailOutcome::Sent => {
            let sent = json!({ "message_id": mail::message_id(key), "letter": letter });
            ctx.store().effect_done(claim, key, &sent, ctx.now())?;
            ctx.crash.at(key, Phase::AfterRecord);
            return Ok(true);
        }
        MailOutcome::Off => wait(NO_CHANNEL)?,
        MailOutcome::Refused(why) => wait(&why)?,
        MailOutcome::NoServer(why) => {
            wait(&why)?;
            ctx.tried.borrow_mut().no_server = Some(why);
        }
        MailOutcome::Stalled(why) => {
            ctx.tried.borrow_mut().no_server = Some(why.clone());
            unconfirmed(ctx, claim, key, &mut letter, &why)?;
        }
        MailOutcome::Unknown(why) => unconfirmed(ctx, claim, key, &mut letter, &why)?,
    }
    Ok(false)
}

/// It cannot be asked for. Once more with the same id is one mail to its reader; more often is a nuisance.
fn unconfirmed(ctx: &Ctx, claim: &Claim, key: &str, letter: &mut Letter, why: &str) -> Result<()> {
    if letter.lost > 0 {
        let why = format!("sent twice, never confirmed: {why}");
        return Ok(ctx
            .store()
            .letter_given_up(claim, key, &why, &json!(letter), ctx.now())?);
    }
    letter.lost += 1;
    waits(ctx, claim, key, &format!("{LOST}: {why}"), letter)
}

fn waits(ctx: &Ctx, claim: &Claim, key: &str, why: &str, letter: &Letter) -> Result<()> {
    tracing::warn!(incident.id = %claim.incident, key, "a message is not sent: {why}");
    Ok(ctx.store().letter_waits(claim, key, why, &json!(letter), ctx.now())?)
}

async fn send(ctx: &Ctx, key: &str, letter: &Letter) -> MailOutcome {
    let notify = &ctx.config.notify;
    let mail = Mail {
        message_id: mail::message_id(key),
        in_reply_to: None,
        from: notify.from.clone(),
        to: notify.to.clone(),
        subject: letter.subject.clone(),
        body: letter.body.clone(),
        date: letter.at,
    };
    Mailer::new(notify.mail.clone(), ctx.redactor.clone()).send(&mail).await
}
