//! Templates of texts that were seen just before but for what their usual spelling leaves out: programs in trouble repeat
//! themselves. Signing begins with that spelling, so what is remembered by it is what signing would give. Bounded, and
//! off where lines do not repeat.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::text::signature::{template, template_of_usual, usual, visible};

/// Bytes of all texts.
const MOST_BYTES: usize = 8 * 1024 * 1024;
const LONGEST_TEXT: usize = 2048;
/// Looks after which it is judged whether remembering pays, and the share of hits that pays: one in so many.
const TRIAL: u64 = 4096;
const ONE_IN: u64 = 16;

#[derive(Debug, Default)]
pub(super) struct Memo {
    templates: HashMap<Box<[u8]>, Arc<str>>,
    /// Each template once: many texts have one.
    distinct: HashSet<Arc<str>>,
    bytes: usize,
    key: Vec<u8>,
    looks: u64,
    hits: u64,
    off: bool,
}

impl Memo {
    /// The template of a text, worked out or remembered.
    pub(super) fn template(&mut self, text: &str) -> Arc<str> {
        if text.len() > LONGEST_TEXT || !self.pays() {
            return template(text).into();
        }
        self.key.clear();
        usual::write(&visible(text), &mut self.key);
        self.looks += 1;
        if let Some(known) = self.templates.get(self.key.as_slice()) {
            self.hits += 1;
            return known.clone();
        }
        let found = match std::str::from_utf8(&self.key) {
            Ok(usual) => template_of_usual(usual),
            Err(_) => template(text),
        };
        self.put(found)
    }

    fn put(&mut self, template: String) -> Arc<str> {
        if self.bytes + self.key.len() > MOST_BYTES {
            self.forget();
        }
        let template = match self.distinct.get(template.as_str()) {
            Some(known) => known.clone(),
            None => Arc::from(template),
        };
        self.distinct.insert(template.clone());
        self.bytes += self.key.len();
        self.templates.insert(self.key.as_slice().into(), template.clone());
        template
    }

    fn forget(&mut self) {
        self.templates = HashMap::new();
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
                assert_eq!(*memo.template(&text), *template(&text), "{text}");
            }
        }
        // Statuses and codes stay, and how many digits a number has.
        assert!(memo.templates.len() < 8000, "{}", memo.templates.len());
    }

    #[test]
    fn what_does_not_repeat_is_not_remembered() {
        let mut memo = Memo::default();
        let word = |n: u64| format!("{n:b}").replace('0', "ab").replace('1', "cd");
        for n in 0..=TRIAL {
            memo.template(&format!("no such thing as {}", word(n)));
        }
        assert!(memo.off && memo.templates.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut memo = Memo::default();
        for n in 0..40_u64 {
            memo.key = vec![b'x'; MOST_BYTES / 16];
            memo.key.extend(n.to_le_bytes());
            memo.put("x".to_owned());
            assert!(memo.bytes <= MOST_BYTES && memo.templates.len() <= 16);
        }
    }
}
