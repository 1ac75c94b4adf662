//! Pieces of Markdown that stay what they are, whatever text they are given: no link, image, mention, issue
//! reference, closing keyword, HTML or skip marker comes to life.

use crate::text::{Untrusted, clean, fence::code_block};

/// Longest text in a code span; paths and test names beyond it are cut.
const SPAN: usize = 120;

/// A code span. Also fit for a table cell.
pub fn span(text: &str) -> String {
    let mut inner = String::new();
    for c in clean(text).chars().take(SPAN) {
        match c {
            '`' => inner.push('\''),
            '\n' | '\r' | '\t' => inner.push(' '),
            // A pipe would end the cell even inside a code span.
            '|' => inner.push('\u{a6}'),
            c => inner.push(c),
        }
    }
    if text.chars().count() > SPAN {
        inner.push('…');
    }
    let inner = inner.trim();
    if inner.is_empty() {
        "`(none)`".to_owned()
    } else {
        format!("`{inner}`")
    }
}

/// A sentence of this program's own. One that carries anything that could come to life is put into a span.
pub fn words(sentence: &str) -> String {
    let plain = sentence.chars().all(|c| {
        c.is_ascii_alphanumeric()
            || matches!(
                c,
                ' ' | '.' | ',' | ';' | ':' | '\'' | '(' | ')' | '/' | '%' | '-' | '?' | '…'
            )
    });
    if plain && !sentence.is_empty() && !comes_alive(sentence) {
        sentence.to_owned()
    } else {
        span(sentence)
    }
}

/// At most `max` characters of the text as a code block; what was left out is said below it.
pub fn block(text: &Untrusted, max: usize) -> String {
    let whole = text.analyse();
    let Some((end, _)) = whole.char_indices().nth(max) else {
        return code_block(text);
    };
    let left = whole[end..].chars().count();
    let start = Untrusted::new(&whole[..end], &crate::text::Redactor::default());
    format!("{}\n({left} characters more: `tick show`)", code_block(&start))
}

/// A name that may stand in a title, which is also the subject of the commit: a strict list of characters, and
/// nothing in it that a host would turn into a link, a reference or an instruction.
pub fn title_word(text: &str) -> Option<&str> {
    let fits = !text.is_empty()
        && text.len() <= 80
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/' | b'-' | b':'))
        && text.bytes().any(|b| b.is_ascii_alphabetic())
        && !text.starts_with(['-', '/', '.', ':'])
        && !text.contains("..")
        && !text.contains("//");
    (fits && !comes_alive(text)).then_some(text)
}

/// Bare addresses, and `GH-12`, which is an issue number in letters.
fn comes_alive(text: &str) -> bool {
    let low = text.to_ascii_lowercase();
    let numbered = low.match_indices("gh-").any(|(at, _)| {
        low[at + 3..].starts_with(|c: char| c.is_ascii_digit())
            && !low[..at].ends_with(|c: char| c.is_ascii_alphanumeric())
    });
    numbered || low.contains("www.") || low.contains("://") || low.contains("mailto:") || low.contains("xmpp:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Redactor;

    #[test]
    fn a_span_holds_one_line_without_an_end() {
        assert_eq!(span("tests/test_a.py::test_x"), "`tests/test_a.py::test_x`");
        assert_eq!(span("a`b|c\nd"), "`a'b\u{a6}c d`");
        assert_eq!(span(" \n "), "`(none)`");
        assert_eq!(span(&"x".repeat(500)).chars().count(), 123);
    }

    #[test]
    fn words_are_plain_or_a_span() {
        assert_eq!(
            words("the code was not asked to repair data."),
            "the code was not asked to repair data."
        );
        for live in [
            "see www.example.invalid",
            "fixes #1",
            "@octocat",
            "closes GH-1",
            "<b>",
            "![x](y)",
            "a_b_",
        ] {
            assert!(words(live).starts_with('`'), "{live}");
        }
    }

    #[test]
    fn a_title_takes_names_only() {
        for good in [
            "ZeroDivisionError",
            "shop/discount.py",
            "std::io::Error",
            "average_discount",
            "high-water",
        ] {
            assert_eq!(title_word(good), Some(good));
        }
        for bad in [
            "",
            "[skip",
            "a b",
            "#1",
            "GH-1",
            "src/GH-1",
            "www.example.invalid",
            "https://x",
            "../x",
            "/etc",
            "-x",
            "123",
            "@a",
            "a//b",
            "x\ny",
            "é",
        ] {
            assert_eq!(title_word(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_block_says_what_it_left_out() {
        let text = Untrusted::new(&"é".repeat(10), &Redactor::default());
        assert!(block(&text, 4).ends_with("(6 characters more: `tick show`)"));
        assert!(block(&text, 10).contains(&"é".repeat(10)));
    }
}
