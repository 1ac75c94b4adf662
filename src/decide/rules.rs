//! What the rules of a repository leave to tick, and what they ask of people.

use crate::model::pull::Rules;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leave {
    /// It may merge by itself, behind its proof and CI.
    Merges,
    /// It merges once people gave this.
    Asks(Vec<String>),
    /// A person merges, because of this.
    Person(String),
}

/// The same order in which a merge is judged.
pub fn leave(rules: &Rules) -> Leave {
    if !rules.squash_allowed {
        return Leave::Person("squash merges are off there".to_owned());
    }
    if let Some(part) = &rules.unread {
        return Leave::Person(format!("{part} cannot be read"));
    }
    if rules.merge_queue {
        return Leave::Person("it merges through a queue".to_owned());
    }
    if !rules.required_deployments.is_empty() {
        let names = rules.required_deployments.join(", ");
        return Leave::Person(format!("a deployment comes first ({names})"));
    }
    let asks = asks(rules);
    if asks.is_empty() {
        Leave::Merges
    } else {
        Leave::Asks(asks)
    }
}

/// What people have to give before a merge.
pub fn asks(rules: &Rules) -> Vec<String> {
    let mut asks = Vec::new();
    if rules.code_owner_review {
        asks.push("a review of a code owner".to_owned());
    } else if rules.required_approvals == 1 {
        asks.push("an approving review".to_owned());
    } else if rules.required_approvals > 1 {
        asks.push(format!("{} approving reviews", rules.required_approvals));
    }
    if rules.conversation_resolution {
        asks.push("resolved review threads".to_owned());
    }
    asks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut Rules), expected: &Leave) {
        let mut rules = Rules {
            squash_allowed: true,
            ..Rules::default()
        };
        change(&mut rules);
        assert_eq!(leave(&rules), *expected);
    }

    fn asking(what: &[&str]) -> Leave {
        Leave::Asks(what.iter().map(|what| (*what).to_owned()).collect())
    }

    #[test]
    fn people_come_first_where_the_rules_say_so() {
        check(|_| {}, &Leave::Merges);
        check(|rules| rules.signed_commits = true, &Leave::Merges);
        check(|rules| rules.required_approvals = 1, &asking(&["an approving review"]));
        check(|rules| rules.required_approvals = 2, &asking(&["2 approving reviews"]));
        check(
            |rules| {
                rules.required_approvals = 2;
                rules.code_owner_review = true;
                rules.conversation_resolution = true;
            },
            &asking(&["a review of a code owner", "resolved review threads"]),
        );
        let person = |why: &str| Leave::Person(why.to_owned());
        check(
            |rules| rules.squash_allowed = false,
            &person("squash merges are off there"),
        );
        check(|rules| rules.merge_queue = true, &person("it merges through a queue"));
        check(
            |rules| rules.unread = Some("the protection of main".to_owned()),
            &person("the protection of main cannot be read"),
        );
        check(
            |rules| rules.required_deployments = vec!["staging".to_owned()],
            &person("a deployment comes first (staging)"),
        );
    }
}
