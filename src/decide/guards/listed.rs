//! Lists of words, each written as one text: names of keys, matchers, options.

/// The text has this word, between white space.
pub(super) fn listed(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split_ascii_whitespace().any(|w| w == word)
}

/// Any word of the text stands at the beginning.
pub(super) fn begins(list: &str, text: &str) -> bool {
    list.split_ascii_whitespace().any(|w| text.starts_with(w))
}

/// The words of the text.
pub(super) fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split_ascii_whitespace()
}
