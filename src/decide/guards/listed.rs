//! Lists of words, each written as one text: names of keys, matchers, options.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use foldhash::fast::RandomState;

/// A list as a set, made once: a verdict asks some of them a million times. What stands in them is ours, so the quickest
/// hash serves.
type Set = HashSet<&'static str, RandomState>;

thread_local! {
    static SETS: RefCell<HashMap<(*const u8, usize), Set, RandomState>> = RefCell::default();
}

/// The text has this word, between white space.
pub(super) fn listed(list: &'static str, word: &str) -> bool {
    SETS.with_borrow_mut(|sets| {
        let set = sets
            .entry((list.as_ptr(), list.len()))
            .or_insert_with(|| words(list).collect());
        set.contains(word)
    })
}

/// Any word of the text stands at the beginning.
pub(super) fn begins(list: &str, text: &str) -> bool {
    list.split_ascii_whitespace().any(|w| text.starts_with(w))
}

/// The words of the text.
pub(super) fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_only() {
        let list = "be equal equals \
            to";
        for word in ["be", "equal", "equals", "to"] {
            assert!(listed(list, word), "{word}");
        }
        for word in ["", "e", "qual", "equa", "t", "be equal", "o"] {
            assert!(!listed(list, word), "{word}");
        }
        assert!(begins(list, "together") && !begins(list, "a"));
    }
}
