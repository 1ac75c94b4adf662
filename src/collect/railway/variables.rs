//! Variables of a service by name: which are set, and when each last changed. Values are never asked for. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::shapes::Variable;

/// Changes that are older are no news to anybody.
const NEWS: TimeDelta = TimeDelta::days(7);

/// Names that count for a service, with the time of the last change of each.
pub(super) fn of_service(all: Vec<Variable>, service: &str) -> Vec<Variable> {
    let mut own: BTreeMap<String, Variable> = BTreeMap::new();
    for one in all {
        if one.service_id.as_deref().is_some_and(|id| id != service) {
            continue;
        }
        // A variable of the service stands before a shared one of the same name.
        let stands = own.get(&one.name).is_some_and(|other| other.service_id.is_some());
        if !stands {
            own.insert(one.name.clone(), one);
        }
    }
    own.into_values().collect()
}

/// Those that were set or changed lately, and when. What is gone is noticed by who keeps the names.
pub(super) fn lately(there: &[Variable], now: DateTime<Utc>) -> impl Iterator<Item = (&str, DateTime<Utc>)> {
    let news = there.iter().filter(move |one| now - one.updated_at <= NEWS);
    news.map(move |one| (one.name.as_str(), one.updated_at.min(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        "2026-11-29T03:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute)
    }

    fn variable(name: &str, service: Option<&str>, updated: i64) -> Variable {
        Variable {
            name: name.to_owned(),
            service_id: service.map(str::to_owned),
            updated_at: at(updated),
        }
    }

    #[test]
    fn what_was_changed_lately_has_its_own_time() {
        let old = -60 * 24 * 30;
        let there = [
            variable("OLD", None, old),
            variable("NEW", None, -5),
            variable("AHEAD", None, 3),
        ];
        let told: Vec<_> = lately(&there, at(0)).collect();
        assert_eq!(told, [("NEW", at(-5)), ("AHEAD", at(0))]);
    }

    #[test]
    fn shared_variables_count_and_those_of_others_do_not() {
        let all = vec![
            variable("A", Some("api"), 1),
            variable("A", None, 2),
            variable("B", Some("web"), 3),
            variable("C", None, 4),
        ];
        let own: Vec<_> = of_service(all, "api")
            .into_iter()
            .map(|one| (one.name, one.updated_at))
            .collect();
        assert_eq!(own, [("A".to_owned(), at(1)), ("C".to_owned(), at(4))]);
    }
}
