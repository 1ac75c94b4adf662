//! State that cannot be used: a clear sentence and an exit code, nothing lost, nothing made anew in its place.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::{
    spine::shown,
    support::{program, tick},
};

/// A home on which one healthy tick was run.
fn used(home: &Path) -> PathBuf {
    fs::write(home.join("config.json"), "{}").unwrap();
    fs::set_permissions(home.join("config.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let (code, text) = run(home, &[]);
    assert_eq!(code, 0, "{text}");
    home.join("state/tick.db")
}

fn run(home: &Path, args: &[&str]) -> (i32, String) {
    let output = tick(home).arg("--home").arg(home).args(args).output().unwrap();
    (output.status.code().unwrap_or(-1), shown(&output))
}

fn ticks(db: &Path) -> u32 {
    let db = rusqlite::Connection::open(db).unwrap();
    db.query_row("SELECT count(*) FROM tick", [], |row| row.get(0)).unwrap()
}

/// Every verb that opens the ledger ends with this code, names the file and this word, and leaves the file as it is.
fn refused(home: &Path, db: &Path, code: i32, word: &str) {
    let before = fs::read(db).ok();
    for args in [&[][..], &["repair"], &["status"], &["incidents"], &["pause"]] {
        let (is, text) = run(home, args);
        assert_eq!(is, code, "tick {args:?}\n{text}");
        assert!(text.contains(word), "{word:?} is not said by tick {args:?}\n{text}");
        assert!(text.contains(&format!("exit {code}:")), "{text}");
        assert_eq!(fs::read(db).ok(), before, "tick {args:?} changed the file");
    }
}

#[test]
fn every_problem_of_a_bad_configuration_is_told_and_no_state_is_made() {
    let home = tempfile::tempdir().unwrap();
    let config =
        r#"{ "mode": "brave", "repos": { "web": { "github": "no slash" } }, "limits": { "usd_per_day": "20" } }"#;
    fs::write(home.path().join("config.json"), config).unwrap();
    for args in [&[][..], &["status"], &["repair"]] {
        let (code, text) = run(home.path(), args);
        assert_eq!(code, 78, "{text}");
        for problem in ["mode", "repos.web.github", "limits.usd_per_day"] {
            assert!(text.contains(problem), "{problem} is not named\n{text}");
        }
    }
    assert!(!home.path().join("state").exists());
}

#[test]
fn state_of_a_newer_tick_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let db = used(home.path());
    let open = rusqlite::Connection::open(&db).unwrap();
    open.pragma_update(None, "user_version", 999).unwrap();
    drop(open);
    refused(home.path(), &db, 78, "schema 999");
}

#[test]
fn damaged_state_is_left_alone() {
    for page in [0, 1] {
        let home = tempfile::tempdir().unwrap();
        let db = used(home.path());
        let mut bytes = fs::read(&db).unwrap();
        let from = page * 4096;
        bytes[from..from + 4096].fill(0x5a);
        fs::write(&db, &bytes).unwrap();
        if page == 0 {
            refused(home.path(), &db, 75, "is damaged");
        } else {
            let (code, text) = run(home.path(), &[]);
            assert_eq!(code, 75, "{text}");
            assert!(text.contains("is damaged"), "{text}");
        }
    }
    let home = tempfile::tempdir().unwrap();
    let db = used(home.path());
    fs::write(&db, b"").unwrap();
    fs::write(home.path().join("state/incidents.jsonl"), "{}\n").unwrap();
    refused(home.path(), &db, 75, "damaged");
}

#[test]
fn missing_state_beside_its_log_is_a_loss_and_not_a_fresh_start() {
    let home = tempfile::tempdir().unwrap();
    let db = used(home.path());
    fs::write(home.path().join("state/incidents.jsonl"), "{}\n").unwrap();
    fs::remove_file(&db).unwrap();
    refused(home.path(), &db, 75, "missing");
    assert!(!db.exists());
}

#[test]
fn state_that_cannot_be_opened_is_not_replaced() {
    let home = tempfile::tempdir().unwrap();
    let db = used(home.path());
    fs::remove_file(&db).unwrap();
    fs::create_dir(&db).unwrap();
    refused(home.path(), &db, 75, "tick.db");
    assert!(db.is_dir());
}

/// A small disk of its own, where this user may mount one.
struct Disk {
    at: tempfile::TempDir,
}

impl Disk {
    fn mount() -> Option<Self> {
        let at = tempfile::tempdir().unwrap();
        let mounted = program("mount").is_some_and(|mount| {
            let mut command = assert_cmd::Command::new(mount);
            command
                .args(["-t", "tmpfs", "-o", "size=1m,mode=0700", "none"])
                .arg(at.path());
            command.output().unwrap().status.success()
        });
        if !mounted {
            println!("skipped: this user may not mount a small disk");
        }
        mounted.then_some(Self { at })
    }

    fn home(&self) -> &Path {
        self.at.path()
    }

    fn remount(&self, how: &str) {
        let options = format!("remount,{how}");
        let done = assert_cmd::Command::new("mount")
            .args(["-o", &options])
            .arg(self.home())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", shown(&done));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(assert_cmd::Command::new("umount").arg(self.home()).output());
    }
}

#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    let Some(disk) = Disk::mount() else { return };
    let db = used(disk.home());
    let before = ticks(&db);
    let ballast = disk.home().join("ballast");
    let mut size = 1 << 20;
    while size > 0 {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&ballast).unwrap();
        if std::io::Write::write_all(&mut file, &vec![0; size]).is_err() {
            size /= 2;
        }
    }
    let (code, text) = run(disk.home(), &[]);
    assert_eq!(code, 75, "{text}");
    let said = text.to_lowercase();
    assert!(said.contains("full") || said.contains("no space"), "{text}");
    fs::remove_file(&ballast).unwrap();
    assert_eq!(ticks(&db), before, "nothing lost, nothing half written");
    let (code, text) = run(disk.home(), &[]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(ticks(&db), before + 1);
}

#[test]
fn a_read_only_disk_ends_the_run_and_loses_nothing() {
    let Some(disk) = Disk::mount() else { return };
    let db = used(disk.home());
    let before = ticks(&db);
    disk.remount("ro");
    let (code, text) = run(disk.home(), &[]);
    assert_eq!(code, 75, "{text}");
    assert!(text.to_lowercase().contains("read-only"), "{text}");
    disk.remount("rw");
    assert_eq!(ticks(&db), before);
    let (code, text) = run(disk.home(), &[]);
    assert_eq!(code, 0, "{text}");
}
