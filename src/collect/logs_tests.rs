use std::{
    io::Write,
    time::{Duration, SystemTime},
};

use super::*;
use crate::{
    collect::{
        Collected, HttpCache, SourceFacts, SourceKey, Sources,
        testing::{config, run_with, target},
    },
    config::Config,
};

/// A file that is followed over several looks.
struct Following {
    dir: tempfile::TempDir,
    config: Config,
    sources: Sources,
}

impl Following {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut target = target();
        target.logs = vec![dir.path().join("app.log")];
        Self {
            dir,
            config: config(target),
            sources: Sources::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn append(&self, name: &str, text: &str) {
        let mut file = File::options().append(true).create(true).open(self.path(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn written(&self, name: &str, minute: u64) {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(60 * minute);
        let file = File::options().append(true).open(self.path(name)).unwrap();
        file.set_modified(at).unwrap();
    }

    fn look(&mut self) -> Collected {
        let collected = run_with(&self.config, &self.sources, &HttpCache::default());
        for (key, cursor) in &collected.cursors {
            let facts = SourceFacts {
                last_ok_at: None,
                cursor: Some(cursor.clone()),
            };
            self.sources.insert(
                SourceKey {
                    repo: key.repo.clone(),
                    target: key.target.clone(),
                    collector: key.collector.clone(),
                },
                facts,
            );
        }
        collected
    }

    /// Title and count of what a look found, and the cause of a look that was not good.
    fn found(&mut self) -> (Vec<(String, u64)>, String) {
        let collected = self.look();
        let mut titles: Vec<(String, u64)> = collected.signals.into_iter().map(|s| (s.title, s.count)).collect();
        titles.sort();
        (titles, collected.collectors[0].cause.clone())
    }
}

fn lines(list: &[(&str, u64)], cause: &str) -> (Vec<(String, u64)>, String) {
    let list = list.iter().map(|(title, count)| ((*title).to_owned(), *count));
    (list.collect(), cause.to_owned())
}

const BOOM: &str = "2026-11-29T02:59:00Z ERROR boom went the cart\n";
const BANG: &str = "2026-11-29T02:59:30Z ERROR bang went the till\n";
const CRASH: &str = "2026-11-29T02:59:40Z ERROR crash went the shelf\n";
const ALL: [(&str, u64); 3] = [
    ("bang went the till", 1),
    ("boom went the cart", 2),
    ("crash went the shelf", 1),
];

#[test]
fn each_line_is_read_once() {
    let mut log = Following::new();
    log.append("app.log", &BOOM.repeat(3));
    assert_eq!(log.found(), lines(&[("boom went the cart", 3)], ""));
    assert_eq!(log.found(), lines(&[], ""));
    log.append("app.log", BANG);
    assert_eq!(log.found(), lines(&[("bang went the till", 1)], ""));
    assert_eq!(log.found(), lines(&[], ""));
}

#[test]
fn what_was_written_before_a_rotation_is_read_too() {
    let mut log = Following::new();
    log.append("app.log", "started\n");
    log.found();
    log.append("app.log", BOOM);
    fs::rename(log.path("app.log"), log.path("app.log.1")).unwrap();
    log.append("app.log", BANG);
    assert_eq!(
        log.found(),
        lines(&[("bang went the till", 1), ("boom went the cart", 1)], "")
    );
    assert_eq!(log.found(), lines(&[], ""));
}

#[test]
fn a_file_that_was_rotated_away_is_read_to_its_end() {
    let mut log = Following::new();
    log.append("app.log", "started\n");
    log.found();
    log.append("app.log", BOOM);
    fs::rename(log.path("app.log"), log.path("app.log.1")).unwrap();
    assert_eq!(log.found(), lines(&[("boom went the cart", 1)], ""));
    log.append("app.log.1", BOOM);
    log.append("app.log", BANG);
    assert_eq!(
        log.found(),
        lines(&[("bang went the till", 1), ("boom went the cart", 1)], "")
    );
}

#[test]
fn a_file_that_was_cut_is_read_from_its_beginning() {
    let mut log = Following::new();
    log.append("app.log", &BOOM.repeat(5));
    log.found();
    // Nobody knows what stood between the last look and the cut.
    fs::write(log.path("app.log"), BANG).unwrap();
    assert_eq!(log.found(), lines(&[("bang went the till", 1)], "gap"));
    // Cut, and longer than before when it is looked at again.
    fs::write(log.path("app.log"), BOOM.repeat(2)).unwrap();
    assert_eq!(log.found(), lines(&[("boom went the cart", 2)], "gap"));
}

#[test]
fn a_log_that_is_copied_and_cut_loses_nothing() {
    let mut log = Following::new();
    log.append("app.log", "started\n");
    log.found();
    log.append("app.log", BOOM);
    fs::copy(log.path("app.log"), log.path("app.log.1")).unwrap();
    fs::write(log.path("app.log"), BANG).unwrap();
    assert_eq!(
        log.found(),
        lines(&[("bang went the till", 1), ("boom went the cart", 1)], "")
    );
}

#[test]
fn a_log_that_was_packed_away_is_a_gap_also_when_its_number_is_given_anew() {
    let mut log = Following::new();
    log.append("app.log", "started\n");
    log.found();
    log.append("app.log", BOOM);
    fs::remove_file(log.path("app.log")).unwrap();
    fs::write(log.path("app.log.1.gz"), "packed").unwrap();
    // Most file systems hand the number of the old file out again at once; where one does not, it is a gap all the same.
    log.append("app.log", BANG);
    assert_eq!(log.found(), lines(&[("bang went the till", 1)], "gap"));
}

#[test]
fn a_log_that_was_rotated_twice_is_read_whole_or_is_a_gap() {
    let mut log = Following::new();
    log.append("app.log", "started\n");
    log.found();
    log.append("app.log", BOOM);
    fs::rename(log.path("app.log"), log.path("app.log.2")).unwrap();
    log.append("app.log", BANG);
    fs::rename(log.path("app.log"), log.path("app.log.1")).unwrap();
    log.append("app.log", BOOM);
    log.written("app.log.2", 1);
    log.written("app.log.1", 2);
    assert_eq!(
        log.found(),
        lines(&[("bang went the till", 1), ("boom went the cart", 2)], "")
    );
}

#[test]
fn rotations_within_one_tick_of_the_clock_are_read_in_their_order() {
    for names in [
        ["app.log.3", "app.log.2", "app.log.1"],
        ["app.log-20261127", "app.log-20261128", "app.log-20261129"],
    ] {
        let mut log = Following::new();
        log.append("app.log", "started\n");
        log.found();
        for (name, line) in names.iter().zip([BOOM, BANG, CRASH]) {
            log.append("app.log", line);
            fs::rename(log.path("app.log"), log.path(name)).unwrap();
        }
        log.append("app.log", BOOM);
        for name in names {
            log.written(name, 1);
        }
        assert_eq!(log.found(), lines(&ALL, ""), "{names:?}");
        assert_eq!(log.found(), lines(&[], ""));
    }
}

#[test]
fn all_that_a_log_was_rotated_to_is_read_before_it_is_there_again() {
    let mut log = Following::new();
    log.append("app.log", "started\n");
    log.found();
    log.append("app.log", BOOM);
    fs::rename(log.path("app.log"), log.path("app.log.2")).unwrap();
    log.append("app.log", BANG);
    fs::rename(log.path("app.log"), log.path("app.log.1")).unwrap();
    assert_eq!(
        log.found(),
        lines(&[("bang went the till", 1), ("boom went the cart", 1)], "")
    );
    log.append("app.log", CRASH);
    assert_eq!(log.found(), lines(&[("crash went the shelf", 1)], ""));
}

#[test]
fn what_is_packed_is_named_and_the_plain_files_around_it_are_read() {
    // The one of the last look, or one after it.
    for (packed, found) in [("app.log.3", [BANG, CRASH]), ("app.log.2", [BOOM, CRASH])] {
        let mut log = Following::new();
        log.append("app.log", "started\n");
        log.written("app.log", 1);
        log.found();
        log.append("app.log.0.other", "");
        for (minute, (name, line)) in [("app.log.3", BOOM), ("app.log.2", BANG), ("app.log.1", CRASH)]
            .into_iter()
            .enumerate()
        {
            log.append("app.log", line);
            fs::rename(log.path("app.log"), log.path(name)).unwrap();
            log.written(name, 2 + minute as u64);
        }
        log.append("app.log", "more\n");
        fs::write(log.path(&format!("{packed}.gz")), "packed").unwrap();
        fs::remove_file(log.path(packed)).unwrap();
        let collected = log.look();
        let titles: Vec<&str> = collected.signals.iter().map(|s| s.title.as_str()).collect();
        assert_eq!(titles.len(), 2, "{packed}: {titles:?}");
        for line in found {
            assert!(titles.iter().any(|title| line.contains(title)), "{packed}: {titles:?}");
        }
        assert_eq!(collected.collectors[0].cause, "gap");
    }
}

#[test]
fn what_cannot_be_followed_is_said() {
    let mut log = Following::new();
    assert_eq!(log.found(), lines(&[], "not-found"));
    fs::create_dir(log.path("app.log")).unwrap();
    assert_eq!(log.found(), lines(&[], "not-a-file"));
    fs::remove_dir(log.path("app.log")).unwrap();
    log.append("app.log", BOOM);
    log.found();
    fs::remove_file(log.path("app.log")).unwrap();
    assert_eq!(log.found(), lines(&[], "not-found"));
    // Another file may get the number of the one that is gone: what is in it counts.
    log.append("other", "x");
    log.append("app.log", BANG);
    let (titles, _) = log.found();
    assert_eq!(titles, [("bang went the till".to_owned(), 1)]);
}

#[test]
fn at_first_sight_only_the_end_is_read() {
    let mut log = Following::new();
    log.append("app.log", BOOM);
    let filler = format!("{}\n", "x".repeat(1023)).repeat(1024);
    for _ in 0..5 {
        log.append("app.log", &filler);
    }
    log.append("app.log", BANG);
    assert_eq!(log.found(), lines(&[("bang went the till", 1)], ""));
}

#[test]
fn an_event_that_is_still_being_written_is_left_for_the_next_look() {
    let mut log = Following::new();
    log.append("app.log", "started\n");
    log.found();
    let path = log.path("app.log");
    let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    let touch = |when: DateTime<Utc>| {
        let file = File::options().append(true).open(&path).unwrap();
        file.set_modified(when.into()).unwrap();
    };
    log.append(
        "app.log",
        &format!("{BOOM}ready\nTypeError: x is undefined\n    at total (/app/cart.js:3:1)\n    at pa"),
    );
    touch(at(crate::collect::testing::NOW));
    assert_eq!(log.found(), lines(&[("boom went the cart", 1)], ""));
    log.append("app.log", "y (/app/pay.js:7:1)\n");
    touch(at(crate::collect::testing::NOW) - TimeDelta::minutes(1));
    assert_eq!(log.found(), lines(&[("TypeError: x is undefined", 1)], ""));
}
