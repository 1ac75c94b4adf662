//! A page that is down only since the release that carries our merge: the merge is taken back.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use serde_json::{Value, json};
use tick::demo::forge::Pull;

use super::prepared::{Prepared, Wants};

/// Answers each request with 200 while it is up, else with 503.
struct Page {
    url: String,
    up: Arc<AtomicBool>,
}

impl Page {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/health", listener.local_addr().unwrap());
        let up = Arc::new(AtomicBool::new(true));
        let is_up = Arc::clone(&up);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let status = if is_up.load(Ordering::SeqCst) {
                    "200 OK"
                } else {
                    "503 Service Unavailable"
                };
                // Whoever hung up hears nothing.
                let mut request = [0; 4096];
                let _asked = stream.read(&mut request);
                let _told = stream.write_all(
                    format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").as_bytes(),
                );
            }
        });
        Self { url, up }
    }

    /// From now on it is one of the shop's pages.
    fn watched(&self, prepared: &Prepared) {
        let path = prepared.stage.home.join("config.json");
        let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        config["repos"]["shop"]["health"] = json!([{ "url": self.url }]);
        std::fs::write(&path, config.to_string()).unwrap();
    }
}

#[test]
fn a_merge_that_takes_the_page_down_is_taken_back() {
    let prepared = Prepared::before_merge(&Wants::default());
    let page = Page::open();
    page.watched(&prepared);
    let run = prepared.tick();
    let merged = prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    prepared.world().wait_deployed().unwrap();
    prepared.stage.step(15);
    prepared.tick();
    page.up.store(false, Ordering::SeqCst);
    let revert = || {
        let model = prepared.world().forge();
        let mut pulls = model.pulls.iter();
        pulls
            .find(|p| p.head.ends_with("-revert") && p.merge_sha.is_some())
            .cloned()
    };
    let mut said = String::new();
    for _ in 0..4 {
        said += &prepared.tick().text;
        if revert().is_some() {
            break;
        }
        prepared.stage.step(15);
    }
    let revert = revert().unwrap_or_else(|| panic!("{said}"));
    assert!(
        revert.body.contains("a probe that was up before the merge is down"),
        "{}",
        revert.body
    );
    let repo = prepared.world().repo();
    assert_ne!(prepared.world().main_head().unwrap(), merged);
    let fixed = repo.git(&["show", "main:shop/discount.py"], b"").unwrap();
    assert!(!fixed.contains("if not percents"), "the change is gone");
    let notes = prepared.stage.home.join("state/incidents");
    assert_eq!(notes.read_dir().unwrap().count(), 1, "one note");
    let autonomy = prepared.ask("SELECT value FROM flag WHERE name = ?1", "autonomy:shop");
    assert_eq!(autonomy.len(), 1, "the repo is back on drafts");
    // Down while our release served is no cause to repair: there are the fix and its revert, and never another fix.
    page.up.store(true, Ordering::SeqCst);
    prepared.world().wait_deployed().unwrap();
    prepared.stage.step(15);
    said += &prepared.tick().text;
    let ours = |pull: &&Pull| pull.head.starts_with("fix/");
    assert_eq!(prepared.world().forge().pulls.iter().filter(ours).count(), 2, "{said}");
    let tried = prepared.ask("SELECT DISTINCT incident FROM attempt WHERE incident <> ?1", "");
    assert_eq!(tried.len(), 1, "{tried:?}\n{said}");
    drop(prepared.world().mail().take().unwrap());
    prepared.finish();
}
