//! When no probe to any outside host gets anywhere, the network that is gone is most likely our own. Pure.

use std::collections::BTreeSet;

use super::context::{Piece, Way};
use crate::model::signal::OutcomeKind;

/// The cause of an outcome that says so.
pub(super) const CAUSE: &str = "self-offline";

/// Turns the outages of a collection that reached nobody into blindness.
pub(super) fn judge(pieces: &mut [Piece]) {
    if !offline(pieces) {
        return;
    }
    for piece in pieces.iter_mut().filter(|piece| !piece.reached.is_empty()) {
        if piece.reached.iter().all(|reached| reached.way == Way::Open) {
            continue;
        }
        piece.signals.clear();
        piece.outcome.outcome = OutcomeKind::Failed;
        piece.outcome.items = 0;
        piece.outcome.blind_parts.clear();
        CAUSE.clone_into(&mut piece.outcome.cause);
        "no probe reached any host, so this machine is most likely offline; check its network and DNS"
            .clone_into(&mut piece.outcome.detail);
    }
}

/// Names that all fail to resolve say it at once; connections that fail say it only for two hosts or more.
fn offline(pieces: &[Piece]) -> bool {
    let mut names = BTreeSet::new();
    let mut only_dns = true;
    for reached in pieces.iter().flat_map(|piece| &piece.reached) {
        match reached.way {
            Way::Open if is_loopback(&reached.host) => continue,
            Way::Open => return false,
            Way::Unnamed => {}
            Way::Unreached => only_dns = false,
        }
        names.insert(reached.host.as_str());
    }
    names.len() >= 2 || (names.len() == 1 && only_dns)
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::{context::Reached, testing};

    fn verdict(ways: &[(&str, Way)]) -> bool {
        let config = testing::config(testing::target());
        let repo = config.repos.values().next().unwrap();
        let place = crate::collect::context::Place::new("health", repo, &repo.targets[0], "web");
        let mut piece = place.piece(OutcomeKind::Ok);
        piece.reached = ways
            .iter()
            .map(|(host, way)| Reached {
                host: (*host).to_owned(),
                way: *way,
            })
            .collect();
        let mut pieces = [piece];
        judge(&mut pieces);
        pieces[0].outcome.cause == "self-offline"
    }

    #[test]
    fn only_a_collection_that_reached_nobody_is_offline() {
        let (open, dns, no) = (Way::Open, Way::Unnamed, Way::Unreached);
        assert!(verdict(&[("a.example", dns)]));
        assert!(verdict(&[("a.example", dns), ("b.example", no)]));
        assert!(verdict(&[("a.example", no), ("b.example", no)]));
        assert!(verdict(&[("127.0.0.1", open), ("b.example", dns)]));
        assert!(!verdict(&[("a.example", no)]), "one host may simply be down");
        assert!(!verdict(&[("a.example", no), ("a.example", no)]));
        assert!(!verdict(&[("a.example", dns), ("b.example", open)]));
        assert!(!verdict(&[("127.0.0.1", open)]));
        assert!(!verdict(&[]));
    }
}
