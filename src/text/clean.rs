//! One cleaner for all text from outside: terminal escapes go, every other control or invisible character becomes
//! a visible escape. Linear and idempotent; it must not drop text that a person needs to see.

use std::{borrow::Cow, fmt::Write as _};

/// Text without terminal escapes; every other control or invisible character is made visible (`\u{202e}`).
/// Newline and tab stay, `\r\n` becomes `\n`.
pub fn clean(text: &str) -> String {
    cleaned(text).into_owned()
}

/// The same without a copy where nothing has to be done, which is the rule.
pub fn cleaned(text: &str) -> Cow<'_, str> {
    // In pieces, since within a piece nothing stops a wide comparison.
    if text
        .as_bytes()
        .chunks(32)
        .all(|piece| piece.iter().fold(true, |plain, b| plain & is_plain(*b)))
    {
        return Cow::Borrowed(text);
    }
    let Some(first) = text.find(needs_work) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    let mut cursor = Cursor {
        text,
        at: first,
        string_end: None,
    };
    while let Some(c) = cursor.peek() {
        if needs_work(c) {
            cursor.handle(c, &mut out);
        } else {
            out.push(c);
            cursor.at += c.len_utf8();
        }
    }
    Cow::Owned(out)
}

fn is_plain(b: u8) -> bool {
    matches!(b, b' '..=b'~' | b'\n' | b'\t')
}

fn needs_work(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || (!c.is_ascii() && is_invisible(c))
}

/// Characters that a reader cannot see, or that reorder what the reader sees.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// What ends (or breaks off) a control string such as a window title.
#[derive(Clone, Copy)]
struct StringEnd {
    at: usize,
    /// Bytes of a proper terminator; 0 where the string is broken off by something else.
    terminator: usize,
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// The next end of a control string, remembered so that many openings are searched only once.
    string_end: Option<StringEnd>,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn handle(&mut self, c: char, out: &mut String) {
        self.at += c.len_utf8();
        match c {
            '\u{1b}' => self.escape(out),
            '\u{9b}' => self.control_sequence(),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.control_string(),
            '\r' if self.peek() == Some('\n') => {}
            // The presentation selector behind a symbol is part of ordinary emoji.
            '\u{fe0e}' | '\u{fe0f}' if out.chars().next_back().is_some_and(is_symbol) => out.push(c),
            _ => show(c, out),
        }
    }

    fn escape(&mut self, out: &mut String) {
        let Some(next) = self.peek() else {
            return show('\u{1b}', out);
        };
        match next {
            '[' => {
                self.at += 1;
                self.control_sequence();
            }
            ']' | 'P' | 'X' | '^' | '_' => {
                self.at += 1;
                self.control_string();
            }
            ' '..='~' => {
                self.skip(' '..='/');
                if self.peek().is_some_and(|c| ('0'..='~').contains(&c)) {
                    self.at += 1;
                }
            }
            _ => show('\u{1b}', out),
        }
    }

    /// Behind the introducer: parameters, intermediates, one final byte. A broken one ends where it breaks.
    fn control_sequence(&mut self) {
        self.skip('0'..='?');
        self.skip(' '..='/');
        if self.peek().is_some_and(|c| ('@'..='~').contains(&c)) {
            self.at += 1;
        }
    }

    /// Behind the introducer of a string (title, link, clipboard): gone with its text if it is terminated on its
    /// line, else only the introducer goes, so that nobody can swallow the rest of a log.
    fn control_string(&mut self) {
        let end = match self.string_end {
            Some(end) if end.at >= self.at => end,
            _ => {
                let end = self.find_string_end();
                self.string_end = Some(end);
                end
            }
        };
        if end.terminator > 0 {
            self.at = end.at + end.terminator;
        }
    }

    fn find_string_end(&self) -> StringEnd {
        let rest = &self.text[self.at..];
        let ends = ['\u{7}', '\u{1b}', '\u{9c}', '\n', '\u{18}', '\u{1a}'];
        let Some(offset) = rest.find(ends) else {
            return StringEnd {
                at: self.text.len(),
                terminator: 0,
            };
        };
        let terminator = match &rest[offset..] {
            t if t.starts_with('\u{7}') => 1,
            t if t.starts_with("\u{1b}\\") || t.starts_with('\u{9c}') => 2,
            _ => 0,
        };
        StringEnd {
            at: self.at + offset,
            terminator,
        }
    }

    fn skip(&mut self, range: std::ops::RangeInclusive<char>) {
        while self.peek().is_some_and(|c| range.contains(&c)) {
            self.at += 1;
        }
    }
}

fn is_symbol(c: char) -> bool {
    !c.is_ascii() && !is_invisible(c)
}

fn show(c: char, out: &mut String) {
    // Writing to a String cannot fail.
    let _ok = write!(out, "\\u{{{:x}}}", c as u32);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn terminal_escapes_go_and_the_text_stays() {
        for (raw, want) in [
            ("plain", "plain"),
            ("\u{1b}[2J\u{1b}[H\u{1b}[32mok\u{1b}[0m", "ok"),
            ("\u{1b}]0;title\u{7}\u{1b}]52;c;aGk=\u{7}ERROR", "ERROR"),
            ("\u{1b}]8;;https://a.invalid\u{1b}\\click\u{1b}]8;;\u{1b}\\", "click"),
            ("\u{9b}31mERROR\u{9b}0m", "ERROR"),
            ("\u{90}q payload \u{9c}x", "x"),
            ("\u{1b}(Bx\u{1b}7y\u{1b}#8z", "xyz"),
            ("a\r\nb", "a\nb"),
            ("a\rb", "a\\u{d}b"),
            ("\u{1b}", "\\u{1b}"),
            ("\u{1b}é", "\\u{1b}é"),
            ("a\u{0}b\u{7f}", "a\\u{0}b\\u{7f}"),
            ("x\u{85}y\u{2028}z\u{2029}", "x\\u{85}y\\u{2028}z\\u{2029}"),
            (
                "\u{202e}txt\u{200b}\u{e0041}\u{2063}",
                "\\u{202e}txt\\u{200b}\\u{e0041}\\u{2063}",
            ),
            ("✔\u{fe0f} done", "✔\u{fe0f} done"),
            ("a\u{fe0f}", "a\\u{fe0f}"),
        ] {
            assert_eq!(clean(raw), want, "{raw:?}");
        }
    }

    #[test]
    fn an_unterminated_string_swallows_nothing() {
        assert_eq!(clean("\u{1b}]0;title\nERROR disk"), "0;title\nERROR disk");
        assert_eq!(clean("\u{1b}PERROR disk"), "ERROR disk");
    }

    #[test]
    fn many_openings_are_linear() {
        let hostile = "\u{1b}]".repeat(400_000);
        assert_eq!(clean(&hostile), "");
    }

    fn nasty() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "\u{1b}",
            "[",
            "]",
            "0;",
            "m",
            "\u{7}",
            "\\",
            "\r",
            "\n",
            "\u{9b}",
            "\u{9c}",
            "\u{9d}",
            "P",
            "a",
            "é",
            "\u{200b}",
            "\u{fe0f}",
            "✔",
            "\u{e0020}",
            " ",
            "(",
        ]);
        prop::collection::vec(pieces, 0..40).prop_map(|v| v.concat())
    }

    proptest! {
        #[test]
        fn leaves_no_control_and_is_idempotent(raw in prop_oneof![nasty(), any::<String>()]) {
            let once = clean(&raw);
            prop_assert!(!once.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            let selectors = ['\u{fe0e}', '\u{fe0f}'];
            let hidden = once.chars().filter(|c| is_invisible(*c) && !selectors.contains(c)).count();
            prop_assert_eq!(hidden, 0);
            prop_assert_eq!(clean(&once), once);
        }
    }
}
