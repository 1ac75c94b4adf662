//! What keeps a cause from being told for a while: a person's silence over its target, a deployment of it that is under
//! way. Nothing is lost meanwhile: it is collected, counted and shown, and what is still there when the hold ends is told
//! then.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::dedup::Standing;
use crate::model::{Slot, signal::SignalKind};

/// A person's word that a target is worked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    pub slot: Slot,
    /// One target of the repo; none = all of them.
    pub target: Option<String>,
    pub since: DateTime<Utc>,
    pub until: DateTime<Utc>,
    /// User and host.
    pub by: String,
    pub why: String,
}

impl Silence {
    /// As a person writes it: `shop`, or `shop/api`.
    pub fn name(&self) -> String {
        match &self.target {
            None => self.slot.to_string(),
            Some(target) => format!("{}/{target}", self.slot),
        }
    }

    pub fn holds(&self, now: DateTime<Utc>) -> bool {
        self.until > now
    }

    fn covers(&self, slot: &Slot, target: &str, now: DateTime<Utc>) -> bool {
        let of_target = self.target.as_ref().is_none_or(|one| one == target);
        self.holds(now) && of_target && self.slot == *slot
    }
}

/// The silence that holds longest over a target.
pub fn silence<'a>(silences: &'a [Silence], slot: &Slot, target: &str, now: DateTime<Utc>) -> Option<&'a Silence> {
    let over = silences.iter().filter(|silence| silence.covers(slot, target, now));
    over.max_by_key(|silence| silence.until)
}

/// What production says can be silenced. CI and agents' work go on while somebody works at production.
pub fn can_be_silenced(kind: SignalKind) -> bool {
    match kind {
        SignalKind::Health
        | SignalKind::Probe
        | SignalKind::Log
        | SignalKind::Exception
        | SignalKind::Deploy
        | SignalKind::Alert => true,
        SignalKind::Ci | SignalKind::Session | SignalKind::Task => false,
    }
}

/// A deployment of the target that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deploying {
    pub since: DateTime<Utc>,
    /// The owner's `deploy_grace_minutes`.
    pub grace: TimeDelta,
}

impl Deploying {
    /// A deployment that is stuck holds nothing any more.
    pub fn until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let until = self.since + self.grace;
        (until > now).then_some(until)
    }

    /// It may explain a page that has been down since then: not one that was down before it began.
    pub fn explains(&self, kind: SignalKind, down_since: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        is_probe(kind) && down_since >= self.since && self.until(now).is_some()
    }
}

/// Only what is asked of a page may fail because it is being replaced. What it logs is an error in either release.
pub fn is_probe(kind: SignalKind) -> bool {
    match kind {
        SignalKind::Health | SignalKind::Probe => true,
        SignalKind::Log
        | SignalKind::Exception
        | SignalKind::Ci
        | SignalKind::Deploy
        | SignalKind::Session
        | SignalKind::Task
        | SignalKind::Alert => false,
    }
}

/// Where a cause stands that is held: it opens nothing, joins nothing and is not told.
pub fn held(standing: Standing) -> Standing {
    match standing {
        Standing::Open { .. } | Standing::Worse { .. } | Standing::Symptom => Standing::Held,
        Standing::Inventory | Standing::Handled | Standing::Held | Standing::Mild => standing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::at;

    fn of(name: &str, until: i64) -> Silence {
        let (slot, target) = name.split_once('/').map_or((name, None), |(s, t)| (s, Some(t)));
        Silence {
            slot: Slot::parse(slot).unwrap(),
            target: target.map(str::to_owned),
            since: at(0),
            until: at(until),
            by: "ana@box".to_owned(),
            why: "new disk".to_owned(),
        }
    }

    #[test]
    fn it_covers_its_target_until_its_time_is_over() {
        let all = [of("shop/api", 60), of("shop", 30), of("web", 600)];
        let found = |slot: &str, target: &str, minute| {
            silence(&all, &Slot::parse(slot).unwrap(), target, at(minute)).map(Silence::name)
        };
        assert_eq!(found("shop", "api", 1).as_deref(), Some("shop/api"), "the longer one");
        assert_eq!(found("shop", "jobs", 1).as_deref(), Some("shop"));
        assert_eq!(found("shop", "jobs", 30), None, "over at its minute");
        assert_eq!(found("shop", "api", 59).as_deref(), Some("shop/api"));
        assert_eq!(found("other", "api", 1), None);
    }

    #[test]
    fn what_would_be_told_is_held_and_what_is_only_stored_is_not() {
        let open = Standing::Open {
            generation: 1,
            why: "new".to_owned(),
        };
        let worse = Standing::Worse { why: "more".to_owned() };
        for told in [open, worse, Standing::Symptom] {
            assert_eq!(held(told), Standing::Held);
        }
        for quiet in [Standing::Inventory, Standing::Handled, Standing::Mild] {
            assert_eq!(held(quiet.clone()), quiet);
        }
    }

    #[test]
    fn a_deployment_holds_what_goes_down_while_it_runs_and_no_longer_than_the_grace() {
        let deploying = Deploying {
            since: at(0),
            grace: TimeDelta::minutes(10),
        };
        let explains = |kind, down, now| deploying.explains(kind, at(down), at(now));
        assert!(explains(SignalKind::Health, 1, 9) && explains(SignalKind::Probe, 0, 1));
        assert!(!explains(SignalKind::Health, 1, 10), "it is stuck");
        assert!(!explains(SignalKind::Health, -1, 5), "it was down before");
        assert!(!explains(SignalKind::Exception, 1, 5));
        let none = Deploying {
            grace: TimeDelta::zero(),
            ..deploying
        };
        assert!(!none.explains(SignalKind::Health, at(0), at(0)));
    }

    #[test]
    fn nobody_silences_ci_by_working_at_production() {
        assert!(can_be_silenced(SignalKind::Health) && can_be_silenced(SignalKind::Alert));
        assert!(!can_be_silenced(SignalKind::Ci));
    }
}
