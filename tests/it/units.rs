//! The scheduler files, read by the programs that will read them: plistutil, systemd-analyze, crontab.

use std::{collections::BTreeSet, fs, path::Path};

use assert_cmd::Command;

use crate::support::{lacks, program, read, root};

/// Units, plists and the crontab lines all have to set these.
const ENVIRONMENT: [&str; 4] = ["PATH", "HOME", "USER", "LOGNAME"];

fn files(extension: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root().join("launchd"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|e| e == extension))
        .collect();
    names.sort();
    assert!(!names.is_empty(), "launchd/ has no .{extension}");
    names
}

/// What a reader says about a text: exit code 0 and nothing on stderr, or not.
fn verdict(reader: &str, arguments: &[&str], file: &Path) -> Result<Vec<u8>, String> {
    let output = Command::new(reader).args(arguments).arg(file).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() && complaint.trim().is_empty() {
        Ok(output.stdout)
    } else {
        Err(format!("{} {complaint}", output.status))
    }
}

#[test]
fn launchd_reads_the_plists() {
    if program("plistutil").is_none() {
        return lacks("plistutil (package libplist-utils)");
    }
    // plistutil ends with 0 whatever it read; only its output tells.
    let binary = |file: &Path| {
        let output = verdict("plistutil", &["-f", "bin", "-o", "-", "-i"], file).unwrap_or_default();
        output.starts_with(b"bplist00").then_some(output)
    };
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("broken.plist");
    fs::write(&broken, read("launchd/tick.plist").replace("</array>", "")).unwrap();
    assert!(binary(&broken).is_none(), "the reader must see a broken file");

    for name in files("plist") {
        let binary = binary(&root().join("launchd").join(&name)).unwrap_or_else(|| panic!("{name} cannot be read"));
        let value = plist::Value::from_reader(std::io::Cursor::new(binary)).unwrap();
        let dict = value.as_dictionary().unwrap();
        let label = dict["Label"].as_string().unwrap();
        assert!(label.starts_with("dev.tick"), "{name}: {label}");
        assert!(
            dict["ProgramArguments"].as_array().unwrap()[0]
                .as_string()
                .unwrap()
                .starts_with('/')
        );
        let environment = dict["EnvironmentVariables"].as_dictionary().unwrap();
        for variable in ENVIRONMENT {
            assert!(environment.contains_key(variable), "{name} does not set {variable}");
        }
        assert!(!dict.contains_key("KeepAlive"), "{name}: a tick ends");
        let times = dict["StartCalendarInterval"].as_array().unwrap();
        let minutes: BTreeSet<i64> = times
            .iter()
            .map(|t| t.as_dictionary().unwrap()["Minute"].as_signed_integer().unwrap())
            .collect();
        let expected = if name.contains("deep") { 1 } else { 4 };
        assert_eq!(minutes.len(), expected, "{name}: {minutes:?}");
    }
}

#[test]
fn systemd_reads_the_units() {
    if program("systemd-analyze").is_none() {
        return lacks("systemd-analyze (package systemd)");
    }
    let dir = tempfile::tempdir().unwrap();
    for name in files("service").into_iter().chain(files("timer")) {
        let text = read(&format!("launchd/{name}")).replace("/usr/local/bin/tick", env!("CARGO_BIN_EXE_tick"));
        fs::write(dir.path().join(&name), text).unwrap();
    }
    for name in files("service").into_iter().chain(files("timer")) {
        verdict("systemd-analyze", &["verify"], &dir.path().join(&name))
            .unwrap_or_else(|said| panic!("{name}: {said}"));
    }
    let broken = dir.path().join("tick.service");
    let text = fs::read_to_string(&broken)
        .unwrap()
        .replace("TimeoutStartSec=", "TimeoutStartSeconds=");
    fs::write(&broken, text).unwrap();
    assert!(
        verdict("systemd-analyze", &["verify"], &broken).is_err(),
        "the reader must see an unknown key"
    );
}

#[test]
fn systemd_units_bound_their_run_and_know_which_codes_are_answers() {
    for name in files("service") {
        let text = read(&format!("launchd/{name}"));
        assert!(text.contains("\nTimeoutStartSec="), "{name} has no start timeout");
        assert!(text.contains("\nSuccessExitStatus=1 2 3\n"), "{name}");
        for variable in ENVIRONMENT {
            assert!(
                text.contains(&format!("\nEnvironment={variable}=")),
                "{name} does not set {variable}"
            );
        }
    }
    let row = read("README.md")
        .lines()
        .find(|line| line.contains("SuccessExitStatus"))
        .map(str::to_owned);
    assert!(
        row.is_some_and(|row| row.contains("0, 1, 2 and 3")),
        "the README says which codes the unit takes as success"
    );
}

#[test]
fn timers_elapse_every_quarter_of_an_hour_and_every_hour() {
    if program("systemd-analyze").is_none() {
        return lacks("systemd-analyze (package systemd)");
    }
    for name in files("timer") {
        let text = read(&format!("launchd/{name}"));
        let calendar = text
            .lines()
            .find_map(|line| line.strip_prefix("OnCalendar="))
            .unwrap()
            .to_owned();
        let output = Command::new("systemd-analyze")
            .args([
                "calendar",
                "--iterations=3",
                "--base-time=2026-11-29 03:20:00 UTC",
                &calendar,
            ])
            .env("TZ", "UTC")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let times: Vec<&str> = said
            .lines()
            .filter_map(|line| line.split_whitespace().find(|w| w.matches(':').count() == 2))
            .collect();
        let times: Vec<&str> = times.into_iter().filter(|time| time.len() == 8).collect();
        let expected: &[&str] = match name.as_str() {
            "tick.timer" => &["03:30:00", "03:45:00", "04:00:00"],
            "tick-repair.timer" => &["03:32:00", "03:47:00", "04:02:00"],
            "tick-deep.timer" => &["04:07:00", "05:07:00", "06:07:00"],
            other => panic!("{other}: say when it elapses"),
        };
        assert_eq!(times, expected, "{name}: {said}");
        assert!(text.contains("\nPersistent=true\n"), "{name}");
    }
}

#[test]
fn cron_reads_the_crontab() {
    let text = read("launchd/tick.crontab");
    let jobs: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit() || c == '*'))
        .collect();
    assert_eq!(jobs.len(), 2);
    assert!(
        jobs[0].starts_with("*/15 * * * * timeout ") && jobs[1].starts_with("7 * * * * timeout "),
        "{jobs:?}"
    );
    assert!(
        jobs.iter().all(|job| !job.contains('%')),
        "a percent sign ends the command"
    );
    assert!(text.ends_with('\n'), "cron ignores a last line without an end");
    for variable in ENVIRONMENT {
        assert!(
            text.lines().any(|line| line.starts_with(&format!("{variable}="))),
            "{variable} is not set"
        );
    }
    // Debian's crontab checks a file with -n; others know that letter as something else.
    let checks = program("crontab").is_some_and(|_| {
        let output = Command::new("crontab").arg("-h").output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).contains("dry run")
    });
    if !checks {
        return lacks("a crontab that can check a file (package cron)");
    }
    let accepts = |text: &str| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("crontab");
        fs::write(&file, text).unwrap();
        Command::new("crontab")
            .arg("-n")
            .arg(&file)
            .output()
            .unwrap()
            .status
            .success()
    };
    assert!(accepts(&text));
    assert!(
        !accepts(&text.replace("*/15 * * * *", "*/15 * * 13 *")),
        "the reader must see a wrong field"
    );
}
