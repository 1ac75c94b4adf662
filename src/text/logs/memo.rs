//! Templates of texts that were seen just before but for what their usual spelling leaves out: programs in trouble repeat
//! themselves. Signing begins with that spelling, so what is remembered by it is what signing would give. Bounded, and
//! off where lines do not repeat.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::Level;
use crate::text::signature::{template, template_of_usual, usual, visible};

/// Bytes of all texts.
const MOST_BYTES: usize = 8 * 1024 * 1024;
const LONGEST_TEXT: usize = 2048;
/// Looks after which it is judged whether remembering pays, and the share of hits that pays: one in so many.
const TRIAL: u64 = 4096;
const ONE_IN: u64 = 16;

/// What is remembered of all texts of one spelling.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) template: Option<Arc<str>>,
    pub(super) named: Named,
}

/// The pattern that names an event, away from a start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Named {
    /// Nobody asked yet.
    #[default]
    Unasked,
    /// It depends on more than the spelling.
    Each,
    /// One and the same for all of them that have this level, or none.
    Same(Option<Level>, Option<usize>),
}

#[derive(Debug, Default)]
pub(super) struct Memo {
    known: HashMap<Box<[u8]>, Known>,
    /// Each template once: many texts have one.
    distinct: HashSet<Arc<str>>,
    bytes: usize,
    key: Vec<u8>,
    looks: u64,
    hits: u64,
    off: bool,
}

impl Memo {
    /// What is known of a text, which is the one that is spoken of from here on. None where it is not remembered.
    pub(super) fn recall(&mut self, text: &str) -> Option<Known> {
        if text.len() > LONGEST_TEXT || !self.pays() {
            return None;
        }
        self.key.clear();
        usual::write(&visible(text), &mut self.key);
        self.looks += 1;
        if let Some(known) = self.known.get(self.key.as_slice()) {
            self.hits += 1;
            return Some(known.clone());
        }
        self.put(Known::default());
        Some(Known::default())
    }

    /// The template of the text that was recalled.
    pub(super) fn template(&mut self, known: &mut Known, text: &str) -> Arc<str> {
        if let Some(template) = &known.template {
            return template.clone();
        }
        let found = match std::str::from_utf8(&self.key) {
            Ok(usual) => template_of_usual(usual),
            Err(_) => template(text),
        };
        let template = match self.distinct.get(found.as_str()) {
            Some(same) => same.clone(),
            None => Arc::from(found),
        };
        self.distinct.insert(template.clone());
        known.template = Some(template.clone());
        self.put(known.clone());
        template
    }

    pub(super) fn name(&mut self, known: &mut Known, named: Named) {
        known.named = named;
        self.put(known.clone());
    }

    fn put(&mut self, known: Known) {
        if let Some(place) = self.known.get_mut(self.key.as_slice()) {
            *place = known;
            return;
        }
        if self.bytes + self.key.len() > MOST_BYTES {
            self.forget();
        }
        self.bytes += self.key.len();
        self.known.insert(self.key.as_slice().into(), known);
    }

    fn forget(&mut self) {
        self.known = HashMap::new();
        self.distinct = HashSet::new();
        self.bytes = 0;
    }

    fn pays(&mut self) -> bool {
        if self.looks == TRIAL {
            self.off = self.hits < TRIAL / ONE_IN;
            if self.off {
                self.forget();
            }
            (self.looks, self.hits) = (0, 0);
        }
        !self.off
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remembered(memo: &mut Memo, text: &str) -> Arc<str> {
        match memo.recall(text) {
            Some(mut known) => memo.template(&mut known, text),
            None => template(text).into(),
        }
    }

    #[test]
    fn a_remembered_template_is_that_of_the_text() {
        let mut memo = Memo::default();
        for n in 0..3000_u32 {
            for text in [
                format!("2026-01-02T03:04:05.{:03}Z ERROR job {n} took {n}ms", n % 1000),
                format!(
                    "request {:08x}-1111-4222-8333-{n:012x} to 10.0.{}.7 failed",
                    n * 77,
                    n % 256
                ),
                format!("upstream answered {} to order {n}", 400 + n % 200),
                format!("exited with code {}: \u{1b}[31m{n}", n % 300),
            ] {
                assert_eq!(*remembered(&mut memo, &text), *template(&text), "{text}");
            }
        }
        // Statuses and codes stay, and how many digits a number has.
        assert!(memo.known.len() < 8000, "{}", memo.known.len());
    }

    #[test]
    fn what_does_not_repeat_is_not_remembered() {
        let mut memo = Memo::default();
        let word = |n: u64| format!("{n:b}").replace('0', "ab").replace('1', "cd");
        for n in 0..=TRIAL {
            remembered(&mut memo, &format!("no such thing as {}", word(n)));
        }
        assert!(memo.off && memo.known.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut memo = Memo::default();
        for n in 0..40_u64 {
            memo.key = vec![b'x'; MOST_BYTES / 16];
            memo.key.extend(n.to_le_bytes());
            memo.put(Known::default());
            assert!(memo.bytes <= MOST_BYTES && memo.known.len() <= 16);
        }
    }
}
