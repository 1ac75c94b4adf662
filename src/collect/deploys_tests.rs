use super::*;
use crate::{
    adapters::{clock::Clock, http::Http},
    collect::{CollectContext, HttpCache, Sources, context::Session, testing},
    model::signal::OutcomeKind,
    text::Redactor,
};

fn at(minute: i64) -> DateTime<Utc> {
    testing::NOW.parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute)
}

/// `id` also numbers the commit.
fn deployment(id: u8, state: State, created: i64) -> Deployment {
    Deployment {
        id: format!("dpl_{id}"),
        state,
        production: true,
        sha: Sha::parse(&format!("{id:040}")).ok(),
        subject: "Add a basket\n\nlonger".to_owned(),
        created: at(created),
        ended: (state != State::UnderWay).then(|| at(created + 1)),
        live_since: (state == State::Ready).then(|| at(created + 1)),
        url: None,
        code: String::new(),
        why: String::new(),
    }
}

fn told(list: &[Deployment], failing: &str) -> Piece {
    let config = testing::config(testing::target());
    let redactor = Redactor::new([]);
    let http = Http::new(redactor.clone(), Vec::new());
    let (sources, cache) = (Sources::new(), HttpCache::default());
    let clock = Clock::start(Some(at(0)));
    let ctx = CollectContext::new(&config, &http, &redactor, clock, &sources, &cache);
    let session = Session::new(&ctx);
    let repo = config.repos.values().next().unwrap();
    let place = Place::new("vercel", repo, &repo.targets[0], "web");
    let mut piece = place.piece(OutcomeKind::Ok);
    Standing::of(list, at(0)).tell(&session, &place, failing, &mut piece);
    piece
}

/// Severity and title of each signal, the commit that serves, since when another one is under way.
fn check(list: &[Deployment], signals: &[(Severity, &str)], live: Option<u8>, deploying: Option<i64>) {
    let piece = told(list, "");
    let seen: Vec<_> = piece.signals.iter().map(|s| (s.severity, s.title.as_str())).collect();
    assert_eq!(seen, signals, "{list:?}");
    let serves = piece.outcome.release_sha.map(|sha| sha.as_str().parse::<u8>().unwrap());
    assert_eq!(serves, live, "{list:?}");
    assert_eq!(piece.outcome.deploying_since, deploying.map(at), "{list:?}");
}

const FAILED: &str = "the newest production deployment failed";

#[test]
fn the_newest_production_deployment_that_came_to_an_end_decides() {
    let good = |id, created| deployment(id, State::Ready, created);
    let bad = |id, created| deployment(id, State::Failed, created);
    check(&[], &[], None, None);
    check(&[good(1, -90)], &[], Some(1), None);
    check(
        &[bad(2, -30), good(1, -90)],
        &[(Severity::Error, FAILED)],
        Some(1),
        None,
    );
    check(
        &[good(1, -90), bad(2, -30)],
        &[(Severity::Error, FAILED)],
        Some(1),
        None,
    );
    check(&[bad(2, -30)], &[(Severity::Critical, FAILED)], None, None);
    check(&[good(3, -10), bad(2, -30), good(1, -90)], &[], Some(3), None);
    // One that was called off does not hide the failure before it.
    let off = deployment(4, State::Over, -5);
    check(
        &[off, bad(2, -30), good(1, -90)],
        &[(Severity::Error, FAILED)],
        Some(1),
        None,
    );
}

#[test]
fn a_preview_says_nothing() {
    let mut preview = deployment(2, State::Failed, -5);
    preview.production = false;
    let mut building = deployment(3, State::UnderWay, -5);
    building.production = false;
    check(
        &[preview, building, deployment(1, State::Ready, -90)],
        &[],
        Some(1),
        None,
    );
}

#[test]
fn one_under_way_is_told_and_holds_no_alarm_once_it_is_stuck() {
    let live = || deployment(1, State::Ready, -90);
    let under_way = |id, created| deployment(id, State::UnderWay, created);
    check(&[under_way(3, -2), under_way(2, -5), live()], &[], Some(1), Some(-5));
    let stuck = (Severity::Error, "a production deployment does not come to an end");
    check(&[under_way(3, -2), under_way(2, -61), live()], &[stuck], Some(1), None);
    check(&[under_way(2, -100), live()], &[], Some(1), None);
}

#[test]
fn what_crashed_serves_nobody() {
    let mut crashed = deployment(2, State::Crashed, -30);
    crashed.live_since = Some(at(-29));
    let expected = (Severity::Critical, "the production deployment crashed");
    check(&[crashed, deployment(1, State::Over, -90)], &[expected], None, None);
}

#[test]
fn where_all_that_served_is_removed_nothing_serves() {
    let gone = (Severity::Critical, "no deployment serves production any more");
    let removed = |id, created| deployment(id, State::Removed, created);
    check(&[removed(2, -30), removed(1, -90)], &[gone], None, None);
    check(&[deployment(2, State::Over, -30), removed(1, -90)], &[gone], None, None);
    let mut replaced = deployment(1, State::Over, -90);
    replaced.live_since = Some(at(-89));
    check(&[replaced], &[gone], None, None);
    check(&[deployment(2, State::Ready, -30), removed(1, -90)], &[], Some(2), None);
    check(
        &[deployment(2, State::UnderWay, -3), removed(1, -90)],
        &[],
        None,
        Some(-3),
    );
    check(&[deployment(1, State::Over, -90)], &[], None, None);
    let failed = [deployment(2, State::Failed, -30), removed(1, -90)];
    check(&failed, &[(Severity::Critical, FAILED)], None, None);
}

#[test]
fn after_a_way_back_the_older_one_serves_and_that_is_a_change() {
    let mut first = deployment(1, State::Ready, -90);
    let second = deployment(2, State::Ready, -30);
    let before: Vec<_> = told(&[first.clone(), second.clone()], "").changes;
    first.live_since = Some(at(-10));
    let list = [first, second];
    check(&list, &[], Some(1), None);
    let after: Vec<_> = told(&list, "").changes;
    assert_eq!(before[1], after[1]);
    assert!(before[0].key == after[0].key && after[0].at == at(-10));
    assert_eq!(after[0].what, "a deployment went live (0000000, Add a basket)");
}

#[test]
fn the_failing_lines_are_a_cause_beside_the_symptom() {
    let mut bad = deployment(2, State::Failed, -30);
    "BUILD_FAILED".clone_into(&mut bad.code);
    "Command \"npm run build\" exited with 1".clone_into(&mut bad.why);
    let lines = "\u{1b}[31msrc/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\u{1b}[0m\n";
    let piece = told(&[bad, deployment(1, State::Ready, -90)], lines);
    let [symptom, cause] = piece.signals.as_slice() else {
        panic!("{:?}", piece.signals)
    };
    assert!(symptom.kind.is_symptom() && !cause.kind.is_symptom());
    assert_eq!(
        symptom.message,
        format!("{FAILED} (0000000, Add a basket): Command \"npm run build\" exited with 1; 0000000 serves")
    );
    assert_eq!(symptom.last_seen, at(-29));
    let same = "src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.";
    assert_eq!(cause.signature, signature(same).signature);
    assert_eq!(cause.culprit.as_ref().unwrap().file, "src/app.ts");
}
