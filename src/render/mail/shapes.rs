//! What each status says in its own words: the lead, what tick did, what the owner can do, what happens next.

use chrono::TimeDelta;

use super::{MailWords, Shape, clock, duration, sentence, since_words};
use crate::{decide::facts::Failure, render::page::count};

pub(super) fn inventory(words: &MailWords) -> Shape {
    Shape {
        tag: "first look",
        lead: if words.entries.is_empty() {
            format!("{} is looked at from now on. Nothing is wrong there.", words.slot)
        } else {
            format!(
                "{}{} is looked at from now on. {} there already and {} stored as known.",
                match sentence(&words.why) {
                    red if red.is_empty() => red,
                    red => format!("{red} "),
                },
                words.slot,
                match words.entries.len() {
                    1 => "1 cause stands".to_owned(),
                    n => format!("{n} causes stand"),
                },
                if words.entries.len() == 1 { "is" } else { "are" }
            )
        },
        did: "wrote this list. No model was called and no pull request is opened for what stood before.".to_owned(),
        can: if words.entries.is_empty() {
            String::new()
        } else {
            let first = words.entries.first().map_or("ID", |entry| entry.short.as_str());
            format!("tick show {first} says more, tick adopt {first} hands it to repair.")
        },
        next: "a message when something new breaks, or when one of these gets worse.".to_owned(),
    }
}

/// What became of attempts that came to nothing. What is said of several is said once.
pub fn attempts(failed: &[(u32, Failure)]) -> Vec<String> {
    let mut told: Vec<(Vec<u32>, &Failure)> = Vec::new();
    for (n, failure) in failed {
        match told.last_mut() {
            Some((numbers, last)) if *last == failure => numbers.push(*n),
            Some(_) | None => told.push((vec![*n], failure)),
        }
    }
    told.iter()
        .map(|(numbers, failure)| attempt(numbers, failure))
        .collect()
}

fn attempt(numbers: &[u32], failure: &Failure) -> String {
    let (last, earlier) = numbers.split_last().unwrap_or((&0, &[]));
    let (named, were) = if earlier.is_empty() {
        (format!("attempt {last}"), "was")
    } else {
        let earlier: Vec<String> = earlier.iter().map(u32::to_string).collect();
        (format!("attempts {} and {last}", earlier.join(", ")), "were")
    };
    let what = match failure {
        Failure::NoHead(_) => "came to nothing".to_owned(),
        Failure::Guards(_) | Failure::Proof(_) => format!("{were} refused"),
        Failure::Audit(_) => format!("{were} refused by the auditor"),
        Failure::Revise(_) => format!("{were} sent back by the auditor"),
        Failure::Ci(_) => format!("{were} refused by CI"),
    };
    format!("{named} {what}: {}", failure.sentence())
}

/// Nothing is broken yet; the title says what will be, or what is not as usual.
pub(super) fn warning(words: &MailWords) -> Shape {
    Shape {
        tag: "warning",
        lead: format!(
            "{} works, and something is not as it should be: {}",
            words.slot,
            sentence(&words.title)
        ),
        did: "nothing, and asked no model: a warning is not repaired.".to_owned(),
        can: "see to it before it breaks; tick status shows it while it lasts.".to_owned(),
        next: "a message when it breaks. This is said once.".to_owned(),
    }
}

/// `1 more cause waits`, `7 more causes wait`.
pub fn waiting(n: u64) -> String {
    format!("{} wait{}", count(n, "more cause"), if n == 1 { "s" } else { "" })
}

/// `why` says which cap it is; the entries are the worst of those that wait.
pub(super) fn overflow(words: &MailWords) -> Shape {
    let more = usize::try_from(words.count)
        .unwrap_or(usize::MAX)
        .saturating_sub(words.entries.len());
    let be = if more == 1 { "is" } else { "are" };
    let listed = match more {
        0 => "listed here, the worst first".to_owned(),
        n => format!(
            "the worst {} listed here, {n} more {be} in the ledger",
            words.entries.len()
        ),
    };
    Shape {
        tag: "storm",
        lead: format!(
            "More broke than is told one by one: {}, {listed}. {}",
            waiting(words.count),
            sentence(&words.why)
        ),
        did: "opened the worst ones up to the cap, and called no model about the rest.".to_owned(),
        can: "look for what they have in common; tick status lists what waits, limits.new_incidents_per_hour raises the cap."
            .to_owned(),
        next: "those that are still there open as the cap allows, the worst first. No second message like this within a day."
            .to_owned(),
    }
}

/// `api is down since 05:10 UTC: home: HTTP 503.`
fn what_is_broken(words: &MailWords) -> String {
    let shown = sentence(&words.shown);
    format!("{}{}: {shown}", words.broken, since_words(words))
}

pub(super) fn needs_you(words: &MailWords) -> Shape {
    let pull = words.pull.is_some();
    let merged = words.merge.is_some();
    Shape {
        tag: if words.flaps.is_some() { "flaps" } else { "needs you" },
        lead: match words.flaps {
            Some(times) => format!(
                "{} It comes and goes: this is time {times} within a day. It needs you: {}",
                what_is_broken(words),
                sentence(&words.why)
            ),
            None if words.provider.is_some() => what_is_broken(words),
            None => format!("{} It needs you: {}", what_is_broken(words), sentence(&words.why)),
        },
        did: if merged {
            format!("merged {}.", words.landed_words())
        } else if pull {
            format!(
                "opened {} with what it has; it will not merge it by itself.",
                words.pull_words()
            )
        } else if words.did.is_empty() {
            "nothing to the code.".to_owned()
        } else {
            "no code was changed.".to_owned()
        },
        can: match (pull, words.short()) {
            _ if let Some(provider) = &words.provider => {
                format!("see what {provider} says on its status page; there is nothing to mend in the code.")
            }
            _ if merged => "mend it yourself, or revert the merge.".to_owned(),
            (true, Some(short)) => format!(
                "merge or close {}, push to its branch (it is then yours), or let tick merge it once CI is green: tick approve {short}",
                words.pull_words()
            ),
            (false, Some(_)) if let Some(lacks) = &words.lacks => format!(
                "mend it yourself: for this repo tick only looks, since {lacks}. With that mended it looks for the cause, too."
            ),
            (false, Some(_)) if !words.asks => {
                "mend it yourself: for this repo tick looks only. With \"mode\": \"diagnose\" it looks for the cause, too.".to_owned()
            }
            (false, Some(short)) => format!("mend it yourself, or let tick try again: tick retry {short}"),
            (_, None) => "look at it; tick status says where it stands.".to_owned(),
        },
        next: match words.flaps {
            Some(_) => {
                "you move. tick says nothing more of it until it was quiet for a day; tick status shows how it stands."
                    .to_owned()
            }
            None if let Some(provider) = &words.provider => format!(
                "{provider} moves. tick looks again {} and says so when it is over.",
                words.look_words()
            ),
            None => format!(
                "you move. tick looks again {} and says so when it is over.",
                words.look_words()
            ),
        },
    }
}

pub(super) fn draft_ready(words: &MailWords) -> Shape {
    Shape {
        tag: "draft ready",
        lead: format!(
            "{} A fix waits for you: {} ({}).",
            what_is_broken(words),
            words.pull_words(),
            words.why
        ),
        did: "wrote, proved and audited it; it does not merge it by itself.".to_owned(),
        can: format!(
            "merge or close {}; closing means that there is no second one for this cause.",
            words.pull_words()
        ),
        next: "nothing, until you merge or close it.".to_owned(),
    }
}

pub(super) fn merged(words: &MailWords) -> Shape {
    Shape {
        tag: "merged",
        lead: format!(
            "A fix for {} is merged ({}, {}): {}.",
            words.slot,
            words.pull_words(),
            words.merge_words(),
            words.why
        ),
        did: "merged exactly the commit that was proven and audited.".to_owned(),
        can: "see that the release goes out, or revert the merge; that counts as your no.".to_owned(),
        next: format!(
            "the watch begins when it serves traffic; tick looks again {}.",
            words.look_words()
        ),
    }
}

pub(super) fn resolved(words: &MailWords) -> Shape {
    let by_us = words.merge.is_some();
    let lasted = words
        .since
        .map(|at| format!(", after {}", duration(words.now - at)))
        .unwrap_or_default();
    Shape {
        tag: if by_us { "fixed" } else { "over" },
        lead: if by_us {
            format!("{} is well again{lasted}: {}.", words.slot, words.outcome_words())
        } else {
            format!(
                "{}: {} is over.{} The full looks since did not see it.",
                words.slot,
                words.shown,
                seen_words(words)
            )
        },
        did: if by_us {
            format!("merged {} and watched the release.", words.landed_words())
        } else {
            format!("nothing to the code: {}.", words.why)
        },
        can: String::new(),
        next: "nothing is left to do.".to_owned(),
    }
}

/// ` It was seen from 08:30 to 09:15 UTC, for 45 minutes.`
fn seen_words(words: &MailWords) -> String {
    let (Some(since), Some(last)) = (words.since, words.last) else {
        return String::new();
    };
    let (from, to) = (clock(since, words.now), clock(last, words.now));
    if last - since < TimeDelta::minutes(1) {
        return format!(" It was seen at {to}.");
    }
    let from = if since.date_naive() == last.date_naive() {
        from.trim_end_matches(" UTC")
    } else {
        &from
    };
    format!(" It was seen from {from} to {to}, for {}.", duration(last - since))
}

pub(super) fn unconfirmed(words: &MailWords) -> Shape {
    Shape {
        tag: "unconfirmed",
        lead: format!(
            "The fix in {} stands, but nothing shows that it works: {}.",
            words.slot,
            words.outcome_words()
        ),
        did: format!("merged {}. {}", words.landed_words(), sentence(&words.why)),
        can: "try the case that failed by hand.".to_owned(),
        next: "this is not counted as a success; if the error comes back it is a new incident.".to_owned(),
    }
}

pub(super) fn taken_back(words: &MailWords) -> Shape {
    Shape {
        tag: "taken back",
        lead: format!("tick took its own change of {} back: {}.", words.slot, words.why),
        did: format!(
            "reverted {} through {}. The repo falls back to drafts.",
            words.merge_words(),
            words.pull_words()
        ),
        can: match words.short() {
            Some(short) => {
                format!("look at both proofs: tick show {short}. There is no second automatic merge for this cause.")
            }
            None => "look at both proofs.".to_owned(),
        },
        next: "you move; the first error stands again and needs a person.".to_owned(),
    }
}

pub(super) fn declined(words: &MailWords) -> Shape {
    Shape {
        tag: "declined",
        lead: format!("Your no is noted for {}: {}.", words.slot, words.why),
        did: "closed this incident. There is no second pull request for this cause.".to_owned(),
        can: words
            .short()
            .map_or_else(String::new, |short| format!("change your mind: tick retry {short}")),
        next: "a message only if it gets significantly worse.".to_owned(),
    }
}

/// `why` says what is not looked at any more.
pub(super) fn unwatched(words: &MailWords) -> Shape {
    Shape {
        tag: "no longer watched",
        lead: format!(
            "{}: {} is closed, because {}. Whether it is well again is not known.{}",
            words.slot,
            words.shown,
            words.why,
            seen_words(words)
        ),
        did: "nothing to the code.".to_owned(),
        can: "put it back into the config to have it looked at again.".to_owned(),
        next: "nothing, unless it is in the config again and still fails.".to_owned(),
    }
}

pub(super) fn budget(words: &MailWords) -> Shape {
    Shape {
        tag: "budget",
        lead: format!("{} Work on it stopped: {}", what_is_broken(words), sentence(&words.why)),
        did: "spent nothing beyond the limit; what was reached is kept.".to_owned(),
        can: "raise the limit in config.json (tick config explain limits), or mend it yourself.".to_owned(),
        next: format!("tick goes on {}, when the limit allows it.", words.look_words()),
    }
}

pub(super) fn blind(words: &MailWords) -> Shape {
    Shape {
        tag: "blind",
        lead: format!(
            "{} {}{}. That is not counted as healthy.",
            words.slot,
            words.title.trim_start_matches("it "),
            since_words(words)
        ),
        did: "called no model for it: what cannot be read is no error of the code.".to_owned(),
        can: "mend the access, then: tick collect".to_owned(),
        next: "every tick tries again; one message when it is seen again.".to_owned(),
    }
}

pub(super) fn seeing_again(words: &MailWords) -> Shape {
    let lasted = words
        .since
        .map(|at| format!(" after {}", duration(words.now - at)))
        .unwrap_or_default();
    Shape {
        tag: "seen again",
        lead: format!("{} is read again{lasted}.", words.slot),
        did: String::new(),
        can: String::new(),
        next: "what happened in between is looked at as far back as the source keeps it.".to_owned(),
    }
}

pub(super) fn gate_fault() -> Shape {
    Shape {
        tag: "gate fault",
        lead: "The gate could not decide. Until it can, no tick counts as healthy.".to_owned(),
        did: "kept the snapshot; nothing new is triaged, what is open goes on.".to_owned(),
        can: "mend collectors/gate.jq, or remove it to use the one in the program; then: tick gate".to_owned(),
        next: "every tick tries again.".to_owned(),
    }
}

pub(super) fn frozen(words: &MailWords) -> Shape {
    Shape {
        tag: "merges frozen",
        lead: format!("What landed in {} is not what was tested: {}.", words.slot, words.why),
        did: "froze all merges. It reverts nothing until you have looked.".to_owned(),
        can: "compare the landed commit with the tested one, then: tick resume".to_owned(),
        next: "you move; tick keeps watching and merges nothing.".to_owned(),
    }
}
