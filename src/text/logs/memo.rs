//! What is known of lines and texts that were seen just before but for what their usual spelling leaves out: programs in
//! trouble repeat themselves. Signing begins with that spelling, so what is remembered by it is what signing would give.
//! Bounded, and off where lines do not repeat.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use chrono::{DateTime, Utc};
use foldhash::fast::RandomState;

use super::{
    Level,
    line::{Line, Read},
};
use crate::text::signature::{of_said, of_told, said, told, usual, visible};

/// Bytes of all texts with what is known of them.
const MOST_BYTES: usize = 16 * 1024 * 1024;
const LONGEST_TEXT: usize = 2048;
/// Looks after which it is judged whether remembering pays, and the share of hits that pays: one in so many.
const TRIAL: u64 = 4096;
const ONE_IN: u64 = 16;

/// What is remembered of all texts of one spelling.
#[derive(Debug, Default)]
struct Known {
    template: Option<Arc<str>>,
    /// Where its cause stood when it was last seen.
    cause: Option<usize>,
    named: Named,
    /// Of a text that is one line.
    read: Option<Read>,
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

/// Where a text is remembered, as long as nothing is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    number: usize,
    age: u64,
    /// The text is spelled with all of its characters: what nobody sees is left out of the spelling, and patterns and
    /// framing are read with it.
    pub(super) whole: bool,
}

#[derive(Debug, Default)]
pub(super) struct Memo {
    /// Keyed anew in each process, so that nobody can write a log whose lines fall together.
    numbers: HashMap<Box<[u8]>, usize, RandomState>,
    known: Vec<Known>,
    /// Each template once: many texts have one.
    distinct: HashSet<Arc<str>, RandomState>,
    /// Templates by what lines say: the same is said behind many kinds of framing.
    said: HashMap<Box<str>, Arc<str>, RandomState>,
    bytes: usize,
    key: Vec<u8>,
    /// How often everything was forgotten.
    age: u64,
    looks: u64,
    hits: u64,
    off: bool,
}

impl Memo {
    /// A line, taken apart or remembered.
    pub(super) fn line<'a>(&mut self, raw: &'a str, now: DateTime<Utc>) -> Line<'a> {
        let Some(place) = self.recall(raw) else {
            return Line::read(raw, now).0;
        };
        let known = &mut self.known[place.number];
        let again = known
            .read
            .filter(|_| place.whole)
            .and_then(|read| Line::again(raw, now, &read));
        let mut line = again.unwrap_or_else(|| {
            let (line, read) = Line::read(raw, now);
            known.read = known.read.or(read.filter(|_| place.whole));
            line
        });
        line.place = Some(place);
        line
    }

    /// Where a text is remembered. None where it is not.
    pub(super) fn recall(&mut self, text: &str) -> Option<Place> {
        if text.len() > LONGEST_TEXT || !self.pays() {
            return None;
        }
        self.key.clear();
        usual::write(&visible(text), &mut self.key);
        self.looks += 1;
        let number = match self.numbers.get(self.key.as_slice()) {
            Some(number) => {
                self.hits += 1;
                *number
            }
            None => self.put(),
        };
        Some(Place {
            number,
            age: self.age,
            whole: self.key.len() == text.len(),
        })
    }

    /// The template of the text that is remembered at this place.
    pub(super) fn template(&mut self, place: Place, text: &str) -> Arc<str> {
        if let Some(template) = self.at(place).and_then(|known| known.template.clone()) {
            return template;
        }
        let told = told(text);
        let template = match said(&told) {
            Some(said) => self.of_said(said),
            None => self.same(of_told(&told)),
        };
        if let Some(known) = self.at(place) {
            known.template = Some(template.clone());
        }
        template
    }

    /// The template of a text of one line, by what it says: whatever stands before that, is left out.
    fn of_said(&mut self, said: &str) -> Arc<str> {
        if let Some(template) = self.said.get(said) {
            return template.clone();
        }
        let template = self.same(of_said(said));
        let more = said.len() + size_of::<(Box<str>, Arc<str>)>();
        if self.bytes + more <= MOST_BYTES {
            self.bytes += more;
            self.said.insert(said.into(), template.clone());
        }
        template
    }

    fn same(&mut self, template: String) -> Arc<str> {
        if let Some(same) = self.distinct.get(template.as_str()) {
            return same.clone();
        }
        let template = Arc::from(template);
        self.distinct.insert(Arc::clone(&template));
        template
    }

    /// The template, and where its cause was found.
    pub(super) fn cause(&self, place: Place) -> Option<(&Arc<str>, usize)> {
        let known = self.known.get(place.number).filter(|_| place.age == self.age)?;
        Some((known.template.as_ref()?, known.cause?))
    }

    pub(super) fn found(&mut self, place: Place, cause: usize) {
        if let Some(known) = self.at(place) {
            known.cause = Some(cause);
        }
    }

    pub(super) fn named(&mut self, place: Place) -> Named {
        self.at(place).map_or(Named::Each, |known| known.named)
    }

    pub(super) fn name(&mut self, place: Place, named: Named) {
        if let Some(known) = self.at(place) {
            known.named = named;
        }
    }

    /// Whether an event of this spelling came before.
    pub(super) fn is_signed(&mut self, place: Place) -> bool {
        self.at(place).is_some_and(|known| known.template.is_some())
    }

    fn at(&mut self, place: Place) -> Option<&mut Known> {
        self.known.get_mut(place.number).filter(|_| place.age == self.age)
    }

    /// A new place for the text that is looked for.
    fn put(&mut self) -> usize {
        let more = self.key.len() + size_of::<(Box<[u8]>, usize, Known)>();
        if self.bytes + more > MOST_BYTES {
            self.forget();
        }
        self.bytes += more;
        let number = self.known.len();
        self.numbers.insert(self.key.as_slice().into(), number);
        self.known.push(Known::default());
        number
    }

    fn forget(&mut self) {
        self.numbers = HashMap::default();
        self.known = Vec::new();
        self.distinct = HashSet::default();
        self.said = HashMap::default();
        self.bytes = 0;
        self.age += 1;
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
    use crate::text::signature::template;

    fn remembered(memo: &mut Memo, text: &str) -> Arc<str> {
        match memo.recall(text) {
            Some(place) => memo.template(place, text),
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
    fn a_text_with_what_nobody_sees_shares_a_template_and_nothing_else() {
        let mut memo = Memo::default();
        let seen = memo.recall("connect ECONNREFUSED 10.0.3.7:8123").unwrap();
        let hidden = memo.recall("connect ECONNREF\u{200b}USED 10.0.3.7:8123").unwrap();
        assert_eq!(seen.number, hidden.number);
        assert!(seen.whole && !hidden.whole);
    }

    #[test]
    fn memory_is_bounded() {
        let mut memo = Memo::default();
        for n in 0..40_u64 {
            memo.key = vec![b'x'; MOST_BYTES / 16];
            memo.key.extend(n.to_le_bytes());
            memo.put();
            assert!(memo.bytes <= MOST_BYTES && memo.known.len() <= 16);
        }
    }
}
