//! All that the program wrote: what it printed, its files, and what stands in the ledger, each text as its reader gets it.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::Path,
    process::Output,
};

use base64::Engine as _;
use serde_json::Value;

use super::{CANARY, below, hex};

/// Characters that show nothing or change what is shown.
const HIDDEN: [std::ops::RangeInclusive<char>; 8] = [
    '\u{ad}'..='\u{ad}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{180e}'..='\u{180e}',
    '\u{fff9}'..='\u{fffb}',
    '\u{e0000}'..='\u{e007f}',
];

pub(super) fn base64(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

/// Words by which a text is known again, whatever stands between them.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| word.len() >= 5)
}

#[derive(Default)]
pub(super) struct Sinks {
    /// Where it stands, and the text.
    texts: BTreeSet<(String, String)>,
    printed: Vec<String>,
}

impl Sinks {
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn said(&mut self, done: &Output) {
        for bytes in [&done.stdout, &done.stderr] {
            let text = String::from_utf8(bytes.clone()).expect("what is printed is text");
            self.keep("printed", &text);
            self.printed.push(text);
        }
    }

    /// The texts of the last look; the next one replaces it.
    pub(super) fn snapshot(&mut self, home: &Path) {
        let text = fs::read_to_string(home.join("signals/latest.json")).unwrap();
        self.keep("snapshot", &text);
    }

    /// Every file of a home but those of its owner.
    pub(super) fn files(&mut self, home: &Path) {
        for path in below(home) {
            let name = path
                .strip_prefix(home)
                .unwrap()
                .to_str()
                .expect("names are plain")
                .to_owned();
            assert!(
                name.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-@".contains(&b)) && !name.contains(".."),
                "{name:?}"
            );
            if path.is_dir() || matches!(name.as_str(), ".env" | "config.json") || name.starts_with("state/locks/") {
                continue;
            }
            if name == "state/tick.db" {
                self.ledger(&path);
            } else if !name.starts_with("state/tick.db") {
                let bytes = fs::read(&path).unwrap();
                let bytes = if Path::new(&name).extension().is_some_and(|end| end == "zst") {
                    zstd::decode_all(&bytes[..]).unwrap()
                } else {
                    bytes
                };
                let text = String::from_utf8(bytes).unwrap_or_else(|_| panic!("{name} is no text"));
                if name.starts_with("mail/") {
                    self.mail(&name, &text);
                } else {
                    self.records(&name, &text);
                }
            }
        }
    }

    fn ledger(&mut self, path: &Path) {
        let db = rusqlite::Connection::open(path).unwrap();
        let mut tables = db
            .prepare("select name from sqlite_master where type = 'table'")
            .unwrap();
        let names: Vec<String> = tables
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for name in names {
            let mut all = db.prepare(&format!("select * from \"{name}\"")).unwrap();
            let width = all.column_count();
            let mut rows = all.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                for n in 0..width {
                    if let Ok(text) = row.get::<_, String>(n) {
                        self.keep(&format!("ledger: {name}"), &text);
                    }
                }
            }
        }
    }

    /// One record a line: each is read back as it was written.
    fn records(&mut self, name: &str, text: &str) {
        let kind = Path::new(name).extension();
        if kind.is_some_and(|kind| kind == "jsonl" || kind == "log") {
            assert!(text.ends_with('\n') || text.is_empty(), "{name}");
            for line in text.split_terminator('\n') {
                let record: Result<Value, _> = serde_json::from_str(line);
                assert!(record.is_ok(), "{name}: {line:?}");
            }
        }
        for line in text.lines() {
            self.keep(name, line);
        }
    }

    /// Headers and body, whose lines end as those of mail do.
    fn mail(&mut self, name: &str, text: &str) {
        let text = text.replace("\r\n", "\n");
        let (head, _) = text.split_once("\n\n").expect("a message has a body");
        let known = [
            "Message-ID",
            "From",
            "To",
            "Subject",
            "Date",
            "MIME-Version",
            "Content-Type",
            "Content-Transfer-Encoding",
        ];
        for line in head.lines().filter(|line| !line.starts_with([' ', '\t'])) {
            assert!(line.len() <= 998, "{name}: {line}");
            let header = line.split(':').next().unwrap();
            assert!(
                known.contains(&header) || header.starts_with("Auto-") || header.starts_with("X-Tick"),
                "{name}: {line}"
            );
        }
        self.keep(name, &text);
        self.keep(name, &text.replace("=\n", ""));
    }

    /// A text; of JSON also the texts in it, as a reader of JSON gets them.
    fn keep(&mut self, place: &str, text: &str) {
        if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
            self.inside(place, &value);
        }
        self.texts.insert((place.to_owned(), text.to_owned()));
    }

    fn inside(&mut self, place: &str, value: &Value) {
        match value {
            Value::String(text) => self.keep(place, text),
            Value::Array(all) => all.iter().for_each(|value| self.inside(place, value)),
            Value::Object(all) => all.values().for_each(|value| self.inside(place, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Longer words of everything that was written.
    pub(super) fn words(&self) -> HashSet<&str> {
        self.texts.iter().flat_map(|(_, text)| words(text)).collect()
    }

    pub(super) fn assert_harmless(&self) {
        let url = base64::engine::general_purpose::URL_SAFE_NO_PAD;
        let shifted = |n: usize| url.encode(format!("{}{CANARY}", &"xx"[..n]))[4..].to_owned();
        let mut canaries = vec![
            CANARY.to_owned(),
            CANARY.chars().rev().collect(),
            CANARY[7..].to_owned(),
        ];
        canaries.push(hex(CANARY));
        canaries.extend((0..3).map(|n| {
            let all = shifted(n);
            all[..all.len() - 4].to_owned()
        }));
        for (place, text) in &self.texts {
            let shown = || text.chars().take(2000).collect::<String>();
            for canary in &canaries {
                assert!(!text.contains(canary), "{place} holds {canary}: {}", shown());
            }
            assert!(text.len() < 4 << 20, "{place} is {} bytes long", text.len());
            let control = |c: char| c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{2028}' | '\u{2029}');
            assert!(!text.contains(control), "{place}: {:?}", shown());
            if text.is_ascii() {
                continue;
            }
            let hidden = |c: char| HIDDEN.iter().any(|range| range.contains(&c));
            assert!(!text.contains(hidden), "{place}: {:?}", shown());
        }
        for text in &self.printed {
            let command = |line: &&str| {
                let line = line.trim_start();
                line.starts_with("::") || line.starts_with("##[") || line.starts_with("##vso[")
            };
            assert_eq!(text.lines().find(command), None);
        }
    }
}
