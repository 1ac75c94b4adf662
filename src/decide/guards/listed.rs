//! Lists of words, each written as one text: names of keys, matchers, options.

/// The text has this word, between white space.
pub(super) fn listed(list: &str, word: &str) -> bool {
    let mut rest = list;
    while let Some(at) = rest.find(word).filter(|_| !word.is_empty()) {
        let (before, behind) = (&rest[..at], &rest[at + word.len()..]);
        if ends(before.bytes().next_back()) && ends(behind.bytes().next()) {
            return true;
        }
        // A blank is the next place at which a word may begin.
        let Some(blank) = behind.find(' ') else { return false };
        rest = &behind[blank..];
    }
    false
}

/// Any word of the text stands at the beginning.
pub(super) fn begins(list: &str, text: &str) -> bool {
    list.split_ascii_whitespace().any(|w| text.starts_with(w))
}

/// The words of the text.
pub(super) fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split_ascii_whitespace()
}

fn ends(byte: Option<u8>) -> bool {
    byte.is_none_or(|b| b.is_ascii_whitespace())
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
            assert_eq!(listed(list, word), word == "be equal", "{word}");
        }
        assert!(begins(list, "together") && !begins(list, "a"));
    }
}
