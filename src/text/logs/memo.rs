//! Templates of events that were seen just before, word for word but for the digits of their time: programs in trouble
//! repeat themselves. Bounded, and off where lines do not repeat.

use std::{collections::HashMap, sync::Arc};

use chrono::{DateTime, Utc};

use super::time;

const MOST_TEXTS: usize = 2048;
const LONGEST_TEXT: usize = 512;
/// Looks after which it is judged whether remembering pays, and the share of hits that pays: one in so many.
const TRIAL: u64 = 4096;
const ONE_IN: u64 = 16;

#[derive(Debug, Default)]
pub(super) struct Memo {
    texts: HashMap<Box<str>, Arc<str>>,
    key: String,
    looks: u64,
    hits: u64,
    off: bool,
}

impl Memo {
    /// The template of an event, remembered or worked out.
    pub(super) fn template(&mut self, text: &str, now: DateTime<Utc>, work: impl Fn() -> String) -> Arc<str> {
        if !self.pays() || text.len() > LONGEST_TEXT {
            return work().into();
        }
        self.write_key(text, now);
        self.looks += 1;
        if let Some(known) = self.texts.get(self.key.as_str()) {
            self.hits += 1;
            return known.clone();
        }
        if self.texts.len() == MOST_TEXTS {
            self.texts.clear();
        }
        let template: Arc<str> = work().into();
        self.texts.insert(self.key.as_str().into(), template.clone());
        template
    }

    fn pays(&mut self) -> bool {
        if self.looks == TRIAL {
            self.off = self.hits < TRIAL / ONE_IN;
            if self.off {
                self.texts = HashMap::new();
            }
            (self.looks, self.hits) = (0, 0);
        }
        !self.off
    }

    /// The text; of a time that it starts with the form alone. One that cannot be is no time for everybody.
    fn write_key(&mut self, text: &str, now: DateTime<Utc>) {
        self.key.clear();
        let time = time::at_start(text.as_bytes(), now).filter(|found| found.at.is_some());
        let behind = time.map_or(0, |found| found.len);
        let form = |c: char| if c.is_ascii_digit() { '0' } else { c };
        self.key.extend(text[..behind].chars().map(form));
        self.key.push_str(&text[behind..]);
    }
}
