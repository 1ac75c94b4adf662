//! What the fake does once something landed, and of a proof by CI.

use std::collections::BTreeSet;

use super::*;
use crate::decide::facts::{Culprit, REVERT};

impl Fake {
    pub(super) fn blame(&mut self, n: u32, base: &Sha, commit: &Sha) {
        let found = Culprit {
            commit: commit.clone(),
            ours: self.ours,
            brought: BTreeSet::new(),
            not: (!self.shown).then(|| "its parent is red, too".to_owned()),
        };
        self.facts.culprit = Some(found.clone());
        if self.shown {
            self.attempt(n, base);
            let attempt = self.newest();
            REVERT.clone_into(&mut attempt.attempt.agent);
            attempt.takes_back = Some(found);
        }
    }

    pub(super) fn by_ci(&mut self, action: &Action) {
        let now = self.now;
        if let Action::CiWitness { .. } = action {
            let commit = Some(self.sha());
            self.newest().ci.witness = Some(CiWitness { commit });
        } else if let Action::PushWitness { sha, .. } = action {
            let key = keys::push_witness(&self.newest().attempt.id, sha);
            let head = sha.clone();
            self.facts.witness = Some(Witnessed { key, head, at: now });
        } else if let Action::CiReport { sha, .. } = action {
            self.newest().ci.reports.insert(sha.clone());
        } else if let Action::CiGrade { head, .. } = action {
            let green = self.newest().ci.reports.contains(head);
            if green || self.made[0] == Made::NotRed {
                self.prove(head);
            } else {
                self.newest().ci.red = true;
            }
        } else if let Action::CiUnproven { head, why, .. } = action {
            self.prove(head);
            let proof = self.newest().proof.as_mut().unwrap();
            proof.grade = ProofGrade::Unproven(why.clone());
        } else if let Action::DropWitness { .. } = action {
            self.facts.witness = None;
        }
    }

    pub(super) fn after_merge(&mut self, action: &Action) {
        if let Action::Adopt { sha, by } = action {
            let head = self.pull.as_ref().unwrap().head_sha.clone();
            self.merged(sha.clone(), head, Some(by.clone().unwrap_or_default()));
        } else if let Action::Landed { .. } = action {
            let (tree, base) = (sha(900), self.facts.current().unwrap().attempt.base.clone());
            let (is, parent) = self.landed.clone().unwrap_or((tree.clone(), base.clone()));
            self.merge_facts().landed = Some(Landed {
                tree: is,
                parent,
                expected_tree: tree,
                tested_base: base,
            });
        } else if let Action::TestLanded { .. } = action {
            self.merge_facts().landed_tests = Some(self.landed_tests);
        } else if let Action::Live { .. } = action {
            self.merge_facts().live_at = Some(self.now);
        } else if let Action::Observed { verdict, .. } = action {
            self.merge_facts().observed = Some(verdict.clone());
        }
    }

    fn merge_facts(&mut self) -> &mut OurMerge {
        self.facts.merge.as_mut().unwrap()
    }

    pub(super) fn merged(&mut self, sha: Sha, head: Sha, by: Option<String>) {
        self.base = sha.clone();
        self.pull.as_mut().unwrap().state = PullState::Merged;
        self.facts.merge = Some(OurMerge {
            sha,
            head,
            at: self.now,
            by,
            landed: None,
            landed_tests: None,
            live_at: None,
            observed: None,
        });
    }

    pub(super) fn take_back(&mut self, action: &Action) {
        let head = self.sha();
        if let Action::Note { why } = action {
            self.facts.revert = Some(OurRevert {
                why: why.clone(),
                note: true,
                head: None,
                earlier: Vec::new(),
                base: None,
                tree: None,
                restores: Restores::No,
                gone: false,
                pushed: None,
                pull: None,
                merged: None,
            });
            return;
        }
        let key = format!("revert-tried:{}", self.facts.id());
        let revert = self.facts.revert.as_mut().unwrap();
        if let Action::MakeRevert { .. } = action {
            self.facts.done.insert(key);
            revert.gone = self.taken_back_by_hand;
            if !self.conflicts && !revert.gone {
                revert.earlier.extend(revert.head.replace(head));
                revert.pushed = None;
                revert.base = Some(self.base.clone());
                revert.tree = Some(sha(901));
                revert.restores = self.restores;
            }
        } else if let Action::PushRevert { .. } = action {
            revert.pushed = Some(self.now);
            if let (Some(pull), Some(head)) = (&mut self.revert, &revert.head) {
                pull.head_sha = head.clone();
            }
        } else if let Action::RevertBody { head } = action {
            let slot = format!("revert-{}", head.short());
            self.facts.done.insert(keys::body(self.facts.id(), &slot));
        } else if let Action::OpenRevert { head } = action {
            revert.pull = Some(PullNumber(32));
            self.revert = Some(pull(32, head.clone(), false));
        } else if let Action::MergeRevert(proof) = action {
            // The old code serves again.
            self.probe_down = 0;
            revert.merged = Some(proof.head().clone());
        }
    }
}
