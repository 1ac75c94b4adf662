//! The switch outside: it is told of each tick that went through, and of no other.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
};

use serde_json::json;

use crate::{
    spine::shown,
    street::{Street, tracked},
};

/// Answers everything well, and keeps the request lines.
fn switch() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/ping/fake0fake0fake0", listener.local_addr().unwrap());
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&asked);
    drop(std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let n = stream.read(&mut request).unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..n]).into_owned();
            heard
                .lock()
                .unwrap()
                .push(text.lines().next().unwrap_or_default().to_owned());
            let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nOK");
        }
    }));
    (address, asked)
}

#[test]
fn a_tick_that_went_through_is_a_beat_whatever_it_found() {
    let mut street = Street::new(
        |url| json!({ "mode": "observe", "repos": { "shop": tracked(url, "/shop") }, "notify": { "file": "mail" } }),
    );
    let (address, asked) = switch();
    street.env(&format!("HEARTBEAT_URL={address}\n"));
    let beats = || std::mem::take(&mut *asked.lock().unwrap());
    street.errors("/shop", &[]);
    assert_eq!(street.run(&[]).0, 0);
    assert_eq!(beats(), ["GET /ping/fake0fake0fake0 HTTP/1.1"]);
    street.step(15);
    street.errors("/shop", &[("boom", 30, 1)]);
    assert_eq!(street.run(&[]).0, 1, "it needs a person");
    street.step(15);
    street.answer("/shop/api/exceptions", 500, &"");
    assert_eq!(street.run(&[]).0, 3, "it is blind");
    assert_eq!(beats().len(), 2);
    for verb in [&["status"][..], &["collect"], &["incidents"]] {
        street.run(verb);
    }
    assert_eq!(beats().len(), 0, "only a tick is a beat");
    street.configure(&json!({ "mode": "nothing" }));
    assert_eq!(street.run(&[]).0, 78);
    assert_eq!(beats().len(), 0, "one that was not run is none");
}

#[test]
fn a_switch_that_is_gone_changes_nothing_and_its_address_is_shown_nowhere() {
    let street = Street::new(|url| json!({ "mode": "observe", "repos": { "shop": tracked(url, "/shop") } }));
    street.errors("/shop", &[]);
    street.env("HEARTBEAT_URL=http://127.0.0.1:1/ping/fake0fake0fake0\n");
    let output = street.tick(&[]);
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("the heartbeat did not arrive"), "{text}");
    assert!(!text.contains("fake0fake0"), "{text}");
    street.env("HEARTBEAT_URL=ping-fake0fake0fake0\n");
    let (code, text) = street.run(&[]);
    assert_eq!(code, 78, "{text}");
    assert!(
        text.contains("HEARTBEAT_URL is not an http or https URL") && !text.contains("fake0fake0"),
        "{text}"
    );
}

#[test]
fn a_tick_that_finds_another_at_work_says_so_and_is_no_beat() {
    let mut street = Street::new(|url| json!({ "mode": "observe", "repos": { "shop": tracked(url, "/shop") } }));
    let (address, asked) = switch();
    street.env(&format!("HEARTBEAT_URL={address}\n"));
    street.errors("/shop", &[]);
    assert_eq!(street.run(&[]).0, 0);
    asked.lock().unwrap().clear();
    let lock = std::fs::OpenOptions::new()
        .write(true)
        .open(street.home().join("state/locks/tick"))
        .unwrap();
    std::fs::write(street.home().join("state/locks/tick"), "pid 4121, since 03:00:02").unwrap();
    fs2::FileExt::try_lock_exclusive(&lock).unwrap();
    street.step(15);
    let output = street.tick(&[]);
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let said = "another tick has the lock (pid 4121, since 03:00:02); this one does not look";
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!("{said}; 0 model calls\n")
    );
    let logs = std::fs::read_dir(street.home().join("logs"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let newest = logs
        .filter(|path| path.extension().is_some_and(|end| end == "log"))
        .max()
        .unwrap();
    let log = std::fs::read_to_string(&newest).unwrap();
    assert!(log.contains(said) && !log.to_lowercase().contains("healthy"), "{log}");
    assert_eq!(asked.lock().unwrap().len(), 0);
}
