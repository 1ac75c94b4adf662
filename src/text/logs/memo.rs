//! Templates of events that were seen just before, word for word but for their time: programs in trouble repeat
//! themselves. Bounded, and off where lines do not repeat.

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
    looks: u64,
    hits: u64,
    off: bool,
}

impl Memo {
    /// What is remembered of an event: the text behind the time that it starts with. None for what is not worth it.
    pub(super) fn key<'a>(&mut self, text: &'a str, now: DateTime<Utc>) -> Option<&'a str> {
        if self.off || text.len() > LONGEST_TEXT {
            return None;
        }
        if self.looks == TRIAL {
            self.off = self.hits < TRIAL / ONE_IN;
            if self.off {
                self.texts = HashMap::new();
            }
            (self.looks, self.hits) = (0, 0);
        }
        let behind = time::at_start(text.as_bytes(), now).map_or(0, |found| found.len);
        Some(&text[behind..])
    }

    pub(super) fn get(&mut self, key: &str) -> Option<&Arc<str>> {
        self.looks += 1;
        let found = self.texts.get(key);
        self.hits += u64::from(found.is_some());
        found
    }

    pub(super) fn put(&mut self, key: &str, template: &Arc<str>) {
        if self.texts.len() == MOST_TEXTS {
            self.texts.clear();
        }
        self.texts.insert(key.into(), template.clone());
    }
}
