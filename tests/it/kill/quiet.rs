//! What a healthy tick writes, seen from outside by strace: the snapshot, one transaction, one line of its run log, and
//! all of it from the main thread.

use std::{collections::BTreeSet, path::Path};

use super::{Story, rig::Rig};
use crate::support::{lacks, path_variable, program};

#[test]
fn a_healthy_tick_writes_three_things_from_its_main_thread() {
    let Some(strace) = program("strace") else {
        return lacks("strace");
    };
    let rig = Rig::new(Story::Plain);
    // A home of its own, whose first look (which takes the errors as inventory) is over.
    let home = rig.world.root().join("quiet-home");
    std::fs::create_dir(&home).unwrap();
    for file in ["config.json", ".env"] {
        std::fs::copy(rig.home.join(file), home.join(file)).unwrap();
    }
    rig.clean(&home);
    rig.step(15);
    let trace = rig.world.root().join("trace");
    let out = assert_cmd::Command::new(strace)
        .env_clear()
        .env("PATH", path_variable())
        .env("HOME", rig.world.root())
        .args(["-f", "-y", "-qq", "-s", "0", "-e", CALLS, "-o"])
        .arg(&trace)
        .arg(env!("CARGO_BIN_EXE_tick"))
        .arg("--home")
        .arg(&home)
        .args(["--now", &rig.world.now().to_rfc3339()])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", crate::spine::shown(&out));
    assert!(out.stdout.is_empty(), "a healthy tick is silent");
    let text = std::fs::read_to_string(&trace).unwrap();
    let writes = writes_below(&text, &home);
    let main = text.split_whitespace().next().unwrap();
    let threads: BTreeSet<&str> = writes.iter().map(|w| w.thread.as_str()).collect();
    assert_eq!(threads, BTreeSet::from([main]), "{writes:#?}");
    let files: BTreeSet<&str> = writes.iter().map(|w| w.file.as_str()).collect();
    let expected = ["logs/run", "signals/latest.json", "state/locks/tick", "state/tick.db"];
    assert_eq!(files, BTreeSet::from(expected), "{text}");
    let log = writes
        .iter()
        .filter(|w| w.file == "logs/run" && w.call == "write")
        .count();
    assert_eq!(log, 1, "one line of the run log\n{text}");
    // The fresh log's head, the one commit, and its way into the database when the last connection closes.
    let syncs = text
        .lines()
        .filter(|l| l.contains("sync(") && l.contains("tick.db-wal>"));
    assert_eq!(syncs.count(), 3, "one transaction\n{text}");
    let _read = rig.world.mail().take().unwrap();
    rig.world.finish().unwrap();
}

const CALLS: &str = "trace=write,pwrite64,writev,pwritev,ftruncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,fsync,fdatasync,mkdir,mkdirat";

#[derive(Debug)]
struct Write {
    thread: String,
    call: String,
    file: String,
}

/// Calls that change something below a directory, with the names of files that differ from run to run made plain.
fn writes_below(trace: &str, home: &Path) -> Vec<Write> {
    let below = format!("{}/", home.display());
    trace
        .lines()
        .filter(|line| !line.contains(" = -1 "))
        .filter_map(|line| {
            let (thread, rest) = line.split_once(char::is_whitespace)?;
            let (call, args) = rest.trim_start().split_once('(')?;
            let name = args.split(below.as_str()).nth(1)?;
            let name: String = name.chars().take_while(|c| !matches!(c, '>' | '"')).collect();
            let file = match name.as_str() {
                // The sync of a folder after a rename or a new file in it.
                "signals" | "state" => return None,
                name if name.starts_with("state/tick.db") => "state/tick.db".to_owned(),
                name if name.starts_with("logs/run-") => "logs/run".to_owned(),
                name if name.starts_with("signals/") => "signals/latest.json".to_owned(),
                name => name.to_owned(),
            };
            Some(Write {
                thread: thread.to_owned(),
                call: call.to_owned(),
                file,
            })
        })
        .collect()
}
