//! One message per cause and status. The Message-ID comes from the effect's key, so that a mail which is sent twice
//! after a lost answer is one mail to the reader.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Ctx,
    attempt::signature_row,
    effect::{Acted, Effect, EffectKind, effect},
};
use crate::{
    adapters::mail::{self, Mail, MailOutcome, Mailer},
    config::MailBackend,
    decide::facts::{Facts, Seen, Status, keys},
    exit::{Exit, Fault},
    model::{IncidentId, Signature},
    render::mail::{Guess, MailWords, PullLine, mail as render_mail},
    store::Claim,
    text::{Untrusted, signature},
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
    let key = keys::mail(facts.id(), status);
    let sent = send(ctx, claim, &key, &words).await?;
    // The exit code says it also where no mail is configured.
    super::report::told(&mut ctx.report(), facts.id(), status);
    if sent {
        let (subject, _) = render_mail(&words);
        ctx.say(Some(facts.id()), "mail", [format!("mail     1 sent: \"{subject}\"")]);
    }
    Ok(())
}

/// A message that belongs to no incident: its key is a signature of what it is about. True when it is told, now or
/// before.
pub(super) async fn tell_about(ctx: &Ctx, about: &str, words: &MailWords) -> Result<bool> {
    let id = IncidentId::new(&about_signature(about), 1);
    let key = keys::mail(&id, words.status);
    if ctx.store().effect(&key)?.is_some_and(|row| row.is_done()) {
        return Ok(true);
    }
    let claim = ctx.store().claim(&id)?;
    let Some(claim) = claim else {
        return Ok(false);
    };
    if send(ctx, &claim, &key, words).await? {
        let (subject, _) = render_mail(words);
        ctx.say(None, "mail", [format!("mail     1 sent: \"{subject}\"")]);
    }
    Ok(true)
}

pub(super) fn about_signature(about: &str) -> Signature {
    signature(about).signature
}

/// True when the mail went out in this call.
async fn send(ctx: &Ctx, claim: &Claim, key: &str, words: &MailWords) -> Result<bool> {
    let notify = &ctx.config.notify;
    let (subject, body) = render_mail(words);
    let message_id = mail::message_id(key);
    let letter = Mail {
        message_id: message_id.clone(),
        in_reply_to: None,
        from: notify.from.clone(),
        to: notify.to.clone(),
        subject: ctx.redactor.redact(&subject),
        body: ctx.redactor.redact(&body),
        date: ctx.now(),
    };
    let mailer = Mailer::new(notify.mail.clone(), ctx.redactor.clone());
    let off = matches!(notify.mail, MailBackend::Off);
    let sent = json!({ "message_id": message_id, "off": off });
    // A mail cannot be asked for: an unknown outcome is sent once more with the same id.
    let find = async || -> Result<Option<Value>> { Ok(None) };
    let act = async || match mailer.send(&letter).await {
        MailOutcome::Sent | MailOutcome::Off => Acted::Done(sent.clone()),
        MailOutcome::Refused(why) => Acted::Refused(why),
        MailOutcome::Unknown(why) => Acted::Unknown(why),
    };
    let args = json!({ "subject": letter.subject });
    let ended = effect(ctx, claim, EffectKind::Mail, key, &args, find, act).await?;
    if let Effect::Refused(why) = &ended {
        // Nobody can be told by mail that no mail goes out: the exit code says it.
        let fault = Fault::new(Exit::CouldNot, format!("send the mail {message_id}: {why}"));
        return Err(fault
            .advise("mend notify in the config; the next tick tries again")
            .into());
    }
    ended.done(&format!("send the mail {message_id}"))?;
    Ok(!off)
}

fn words(ctx: &Ctx, facts: &Facts, status: Status, why: &str) -> Result<MailWords> {
    let row = signature_row(ctx, facts)?;
    let cause = &facts.cause;
    let title = super::title_line(ctx, &row);
    let mut words = MailWords::new(status, facts.incident.repo.as_str(), &title, ctx.now());
    words.name.clone_from(&ctx.config.notify.name);
    words.incident = Some(facts.id().clone());
    words.since = Some(cause.first_seen);
    words.count = cause.count;
    why.clone_into(&mut words.why);
    words.before = row
        .releases
        .last()
        .map(|sha| format!("release {} was live", sha.short()))
        .into_iter()
        .collect();
    words.sample = row.samples.first().map(|s| Untrusted::new(s, &ctx.redactor));
    words.guess = facts
        .triage
        .as_ref()
        .filter(|t| !t.root_cause.is_empty())
        .map(|t| Guess {
            by: "triage".to_owned(),
            text: Untrusted::new(&t.root_cause, &ctx.redactor),
        });
    words.pull = facts.pull.as_ref().map(|p| PullLine {
        number: p.number,
        url: p.url.clone(),
    });
    words.release.clone_from(&cause.release);
    if let Some(merge) = &facts.merge {
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
