//! What goes wrong on purpose, and what people do between two calls. Settings of the world, matched by site, method,
//! path and count; nothing here is random.

use globset::GlobBuilder;
use serde::{Deserialize, Serialize};

/// Which server of the world a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Site {
    Forge,
    Tracker,
    Railway,
    Vercel,
    Services,
    App,
}

/// One way to spoil an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// This status instead of the answer; `performed` says whether the call did its work before.
    Status {
        code: u16,
        performed: bool,
    },
    /// The call does its work and the connection ends without a byte.
    LostAnswer,
    /// The answer waits this long.
    Slow {
        ms: u64,
    },
    /// Too many calls: 429, and how long to wait.
    Limited {
        seconds: u64,
    },
    /// JSON of another shape than anybody expects.
    OtherShape,
    /// Status 200 without a byte.
    NoBody,
    /// The connection ends in the middle of the answer.
    Cut,
    /// Half of the JSON, with a whole answer's status and length.
    TruncatedJson,
    /// JSON in which a key of the first object stands twice.
    DuplicateKeys,
    /// A page of HTML with status 200.
    Html,
    /// 302 to itself.
    RedirectLoop,
    RedirectTo {
        url: String,
    },
    /// JSON that never ends.
    EndlessBody,
    /// A pull is shown with the head it had before.
    StaleHead,
    /// The squash lands another tree than the branch had.
    WrongTree,
    /// Somebody else's commit lands right before the squash.
    WrongParent,
    /// "merged" without any commit.
    MergedWithoutCommit,
}

/// Which requests are meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Which {
    /// None: any site but the sample app.
    pub site: Option<Site>,
    pub method: Option<String>,
    /// Glob over the path without its query; `*` also matches slashes.
    pub path: String,
    /// The first matching request that counts, from 1.
    pub nth: u32,
    /// How many from there on; 0 = every one.
    pub times: u32,
}

impl Default for Which {
    fn default() -> Self {
        Self {
            site: None,
            method: None,
            path: "*".to_owned(),
            nth: 1,
            times: 1,
        }
    }
}

impl Which {
    /// The first request with this method and path.
    pub fn first(method: &str, path: &str) -> Self {
        Self {
            method: Some(method.to_owned()),
            path: path.to_owned(),
            ..Self::default()
        }
    }

    /// The n-th request of any kind, from 1.
    pub fn any(nth: u32) -> Self {
        Self { nth, ..Self::default() }
    }

    #[must_use]
    pub fn nth(mut self, nth: u32) -> Self {
        self.nth = nth;
        self
    }

    #[must_use]
    pub fn always(mut self) -> Self {
        self.times = 0;
        self
    }

    #[must_use]
    pub fn on(mut self, site: Site) -> Self {
        self.site = Some(site);
        self
    }

    fn fits(&self, site: Site, method: &str, path: &str) -> bool {
        self.site.map_or(site != Site::App, |s| s == site)
            && self.method.as_ref().is_none_or(|m| m.eq_ignore_ascii_case(method))
            && GlobBuilder::new(&self.path)
                .build()
                .is_ok_and(|glob| glob.compile_matcher().is_match(path))
    }
}

/// Settings with a count each. `T` is a fault, or an act that follows the request.
#[derive(Debug)]
pub struct Rules<T> {
    rules: Vec<Rule<T>>,
}

#[derive(Debug)]
struct Rule<T> {
    which: Which,
    seen: u32,
    value: T,
}

impl<T> Default for Rules<T> {
    fn default() -> Self {
        Self { rules: Vec::new() }
    }
}

impl<T: Clone> Rules<T> {
    pub fn add(&mut self, which: Which, value: T) {
        self.rules.push(Rule { which, seen: 0, value });
    }

    pub fn clear(&mut self) {
        self.rules.clear();
    }

    /// Counts this request in every rule that it fits and gives back what is due now.
    pub fn due(&mut self, site: Site, method: &str, path: &str) -> Vec<T> {
        let mut due = Vec::new();
        for rule in &mut self.rules {
            if rule.which.fits(site, method, path) {
                rule.seen += 1;
                let past_first = rule.seen >= rule.which.nth;
                let before_last = rule.which.times == 0 || rule.seen < rule.which.nth + rule.which.times;
                if past_first && before_last {
                    due.push(rule.value.clone());
                }
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(which: Which, calls: &[(&str, &str)]) -> Vec<bool> {
        let mut rules = Rules::default();
        rules.add(which, ());
        calls
            .iter()
            .map(|(method, path)| !rules.due(Site::Forge, method, path).is_empty())
            .collect()
    }

    #[test]
    fn a_rule_counts_only_what_fits() {
        let merges = Which::first("PUT", "*/merge");
        let calls = [
            ("GET", "/r/pulls/1"),
            ("PUT", "/r/pulls/1/merge"),
            ("PUT", "/r/pulls/1/merge"),
        ];
        assert_eq!(hits(merges.clone(), &calls), [false, true, false]);
        assert_eq!(hits(merges.clone().nth(2), &calls), [false, false, true]);
        assert_eq!(hits(merges.always(), &calls), [false, true, true]);
        assert_eq!(hits(Which::any(2), &calls), [false, true, false]);
        assert_eq!(hits(Which::any(1).on(Site::Tracker), &calls), [false, false, false]);
    }
}
