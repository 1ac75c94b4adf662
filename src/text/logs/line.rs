//! One line of a log: what tells its event at once, the rest when somebody asks. Of a line that is spelled as one before
//! it, that much is remembered, and it is taken apart only when its words are needed.

use std::{borrow::Cow, cell::OnceCell};

use chrono::{DateTime, Utc};

use super::{
    framed::{self, Framed},
    memo::Place,
    shape::Marks,
    time::{Looks, Times},
};

#[derive(Debug)]
pub(super) struct Line<'a> {
    /// As it stands in the log.
    pub(super) raw: &'a str,
    pub(super) marks: Marks,
    pub(super) time: Option<DateTime<Utc>>,
    /// Where it is remembered.
    pub(super) place: Option<Place>,
    now: DateTime<Utc>,
    framed: OnceCell<Framed<'a>>,
}

/// What is remembered of a line for all that are spelled alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    marks: Marks,
    looks: Looks,
}

impl<'a> Line<'a> {
    /// Takes a line apart. None of it is remembered where a line that is spelled alike may be another one.
    pub(super) fn read(raw: &'a str, now: DateTime<Utc>) -> (Self, Option<Read>) {
        let times = Times::new(raw, now);
        let framed = framed::read(raw, &times);
        let marks = Marks::of(&framed);
        let line = Self {
            raw,
            marks,
            time: framed.time,
            place: None,
            now,
            framed: OnceCell::from(framed),
        };
        let read = times.looks().map(|looks| Read { marks, looks });
        (line, read)
    }

    /// A line that is spelled as one that was read; None where it has to be read itself.
    pub(super) fn again(raw: &'a str, now: DateTime<Utc>, read: &Read) -> Option<Self> {
        Some(Self {
            raw,
            marks: read.marks,
            time: read.looks.again(raw, now)?,
            place: None,
            now,
            framed: OnceCell::new(),
        })
    }

    /// Whether nobody had to take it apart yet.
    #[cfg(test)]
    pub(super) fn is_remembered(&self) -> bool {
        self.framed.get().is_none()
    }

    fn framed(&self) -> &Framed<'a> {
        self.framed
            .get_or_init(|| framed::read(self.raw, &Times::new(self.raw, self.now)))
    }

    /// What it says, without framing; for a record its message, then its error.
    pub(super) fn text(&self) -> &str {
        &self.framed().text
    }

    /// Whether it ends with all that it says.
    pub(super) fn is_end_of_raw(&self) -> bool {
        let says = self.says();
        *says == *self.raw || is_end_of(&says, self.raw)
    }

    /// The same with the trace that a record carries.
    pub(super) fn says(&self) -> Cow<'_, str> {
        self.framed().says()
    }
}

/// Whether a text ends with another one that begins where a word may.
pub(super) fn is_end_of(end: &str, text: &str) -> bool {
    let before = text.strip_suffix(end).and_then(|rest| rest.bytes().next_back());
    before.is_some_and(|b| !b.is_ascii_alphanumeric() && b != b'_')
}
