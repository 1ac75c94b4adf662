use std::io::Write as _;

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::*;

const LOG: &str = "\u{feff}2026-11-29T15:17:30.1234567Z ##[group]Run actions/checkout@v4\r
2026-11-29T15:17:30.2234567Z ##[endgroup]\r
2026-11-29T15:17:30.3234567Z fetching\r
2026-11-29T15:17:31.1234567Z ##[group]Run python3 -m unittest\r
2026-11-29T15:17:31.2234567Z ##[endgroup]\r
2026-11-29T15:17:32.1234567Z FAIL: test_total (tests.test_cart.Cart)\r
2026-11-29T15:17:32.2234567Z AssertionError: 3 != 4\r
2026-11-29T15:17:32.3234567Z ##[error]Process completed with exit code 1.\r
2026-11-29T15:17:33.1234567Z ##[group]Run actions/upload@v4\r
2026-11-29T15:17:33.2234567Z uploaded\r
";
const SAID: &str = "FAIL: test_total (tests.test_cart.Cart)\nAssertionError: 3 != 4";

fn read(log: &[u8], piece: usize, step: Option<&str>) -> Result<Failed, String> {
    let mut intake = Intake::default();
    for piece in log.chunks(piece) {
        intake.push(piece);
    }
    intake.failed("test (20)", step)
}

#[test]
fn the_failing_step_is_kept_however_the_stream_is_cut() {
    for piece in [1, 7, 64, 100_000] {
        let failed = read(LOG.as_bytes(), piece, None).unwrap();
        assert_eq!((failed.text.as_str(), failed.excerpt.as_str()), (SAID, SAID), "{piece}");
    }
}

#[test]
fn the_step_that_the_job_names_comes_before_one_that_was_allowed_to_fail() {
    let log = "##[group]Run lint\nstyle\n##[error]Process completed with exit code 2.\n\
               ##[group]Run npm test\nred\n##[error]Process completed with exit code 1.\n";
    let text = |step| read(log.as_bytes(), 64, step).unwrap().text;
    assert_eq!(text(Some("Run npm test")), "red");
    assert_eq!(text(None), "style");
    assert_eq!(text(Some("Tests")), "style");
    // A mark in a step that went on is no end of it.
    let marked = log.replacen("##[error]Process completed with exit code 2.", "##[error]src/a.js", 1);
    assert_eq!(read(marked.as_bytes(), 64, None).unwrap().text, "red");
}

#[test]
fn without_a_mark_the_end_of_the_log_is_kept() {
    let log = (0..10_000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let text = read(log.as_bytes(), 4096, None).unwrap().excerpt;
    assert_eq!(text.lines().count(), BEFORE);
    assert!(text.ends_with("line 9999"));
    assert_eq!(read(b"no newline", 3, None).unwrap().text, "no newline");
    assert_eq!(read(b"", 3, None).unwrap(), Failed::default());
}

#[test]
fn memory_is_bounded_for_long_lines_and_long_steps() {
    let mut steps = Steps::default();
    for _ in 0..1000 {
        steps.push(&[b'x'; 4096]);
    }
    assert!(steps.partial.len() <= LONGEST);
    steps.push(b"\n");
    for line in 0..100_000 {
        steps.push(format!("{line} {}\n", "y".repeat(100)).as_bytes());
    }
    assert!(steps.current.bytes <= STEP_BYTES && steps.current.lines.len() <= STEP_LINES);
    steps.push(b"##[error]boom\n");
    let failed = steps.failed(None);
    assert!(failed.excerpt.ends_with("boom") && failed.text.len() <= STEP_BYTES + STEP_LINES);
}

#[test]
fn what_a_step_is_given_is_no_output_of_it() {
    let log = "T ##[group]Run make deploy\nT make deploy\nT shell: /usr/bin/bash -e {0}\nT env:\nT   SHA: 3484a3f\nT ##[endgroup]\n\
               T ##[group]Compile\nT cc a.c\nT ##[endgroup]\nT make: *** [deploy] Error 1\nT ##[error]Process completed with exit code 2.\n";
    let mut steps = Steps::default();
    steps.push(log.replace("T ", "2026-11-29T15:17:30.1234567Z ").as_bytes());
    assert_eq!(steps.failed(None).excerpt, "cc a.c\nmake: *** [deploy] Error 1");
}

fn archive(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, text) in entries {
        zip.start_file(*name, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn an_archive_is_read_in_memory_and_its_names_lead_nowhere() {
    let zip = archive(&[
        ("../../../../tmp/tick-escaped.txt", "##[error]outside"),
        ("/etc/tick-escaped.txt", "##[error]outside"),
        ("test (20)/2_Run tests.txt", "##[error]one step"),
        ("0_lint.txt", "##[error]lint"),
        ("1_TEST (20).txt", LOG),
    ]);
    for piece in [1, 3, 1000] {
        assert_eq!(read(&zip, piece, None).unwrap().text, SAID);
    }
    let one = archive(&[("0_other name.txt", LOG)]);
    assert_eq!(read(&one, 999, None).unwrap().text, SAID);
    let none = archive(&[("0_a.txt", "x"), ("1_b.txt", "y")]);
    assert!(read(&none, 999, None).unwrap_err().contains("no log of this job"));
    assert!(
        read(&zip[..zip.len() / 2], 999, None)
            .unwrap_err()
            .contains("cannot be read")
    );
}

/// One entry twice, and one that claims more than it has: changed in the finished bytes, since no writer makes them.
#[test]
fn an_archive_that_lies_is_refused_or_read_once() {
    let zip = archive(&[("0_testA20.txt", LOG), ("0_testB20.txt", "##[error]other")]);
    let mut twice = zip.clone();
    for at in 0..twice.len() - 5 {
        if &twice[at..at + 5] == b"testB" {
            twice[at + 4] = b'A';
        }
    }
    let read_twice = read(&twice, 999, None);
    assert!(read_twice.is_err() || read_twice.is_ok_and(|failed| !failed.text.is_empty()));
    let mut many = b"PK\x03\x04".to_vec();
    many.extend(b"PK\x01\x02".repeat(ARCHIVE_ENTRIES + 1));
    assert!(read(&many, 4096, None).unwrap_err().contains("entries"));
    let large = [b"PK\x03\x04".as_slice(), &vec![0; ARCHIVE_BYTES]].concat();
    assert!(read(&large, 1 << 16, None).unwrap_err().contains("larger than"));
}

/// Some megabytes that inflate to more than the cap: what is kept stays small, and the end comes soon.
#[test]
fn a_bomb_is_read_up_to_the_cap() {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file("0_test 20.txt", options).unwrap();
    let chunk = format!("{}\n", "x".repeat(1023)).repeat(64);
    for _ in 0..(UNPACKED_BYTES >> 16) + 64 {
        zip.write_all(chunk.as_bytes()).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    assert!(bytes.len() < 1 << 20);
    let failed = read(&bytes, 1 << 16, None).unwrap();
    assert!(failed.text.len() <= STEP_BYTES + STEP_LINES);
}
