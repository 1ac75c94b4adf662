//! Bytes to text: characters and escapes that are cut between two pieces are put together, colours go, `\r\n` and a
//! lone `\r` become `\n`, bytes that are no text become U+FFFD, and a line without end is cut.

use super::framed::LONGEST_LINE;

/// Text that is looked at in one go.
const PIECE: usize = 64 * 1024;
/// Bytes at the end of a piece that may be the start of something: a character, an escape, a line's end.
const LONGEST_TORN: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Input {
    text: String,
    torn: Vec<u8>,
    /// Within a line of which enough was taken.
    skipping: bool,
    pub(super) bytes: u64,
    pub(super) lines: u64,
}

impl Input {
    /// Takes a piece of the bytes; gives the rest.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let most = if self.torn.is_empty() { PIECE } else { 4 * LONGEST_TORN };
        let (piece, rest) = bytes.split_at(bytes.len().min(most));
        self.bytes += piece.len() as u64;
        if self.torn.is_empty() {
            self.add(piece, false);
        } else {
            let mut whole = std::mem::take(&mut self.torn);
            whole.extend_from_slice(piece);
            self.add(&whole, false);
        }
        rest
    }

    /// Nothing comes any more.
    pub(super) fn close(&mut self) {
        let torn = std::mem::take(&mut self.torn);
        self.add(&torn, true);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.lines += 1;
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Up to where there are whole lines.
    pub(super) fn complete(&self) -> usize {
        memchr::memrchr(b'\n', self.text.as_bytes()).map_or(0, |newline| newline + 1)
    }

    /// Drops text from the front.
    pub(super) fn forget(&mut self, to: usize) {
        self.text.drain(..to);
    }

    pub(super) fn forget_all(&mut self) {
        self.text.clear();
        self.skipping = false;
    }

    fn add(&mut self, bytes: &[u8], last: bool) {
        let from = self.text.len();
        let mut rest = bytes;
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.add_text(text, last);
                    break;
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    // What was checked is text.
                    self.add_text(
                        std::str::from_utf8(good).unwrap_or_default(),
                        last || error.error_len().is_some(),
                    );
                    let Some(length) = error.error_len() else {
                        if last {
                            self.text.push('\u{fffd}');
                        } else {
                            self.torn.extend_from_slice(bad);
                        }
                        break;
                    };
                    self.text.push('\u{fffd}');
                    rest = &bad[length..];
                }
            }
        }
        self.cut(from);
        let added = &self.text.as_bytes()[from.min(self.text.len())..];
        self.lines += memchr::memchr_iter(b'\n', added).count() as u64;
    }

    fn add_text(&mut self, text: &str, last: bool) {
        let mut rest = text;
        while let Some(at) = memchr::memchr2(0x1b, b'\r', rest.as_bytes()) {
            self.text.push_str(&rest[..at]);
            let found = &rest[at..];
            let behind = if found.starts_with('\r') {
                after_return(found)
            } else {
                after_escape(found)
            };
            let Some(behind) = behind else {
                if !last && found.len() <= LONGEST_TORN {
                    self.torn.extend_from_slice(found.as_bytes());
                    return;
                }
                // An escape that never ends is left for the cleaner to show.
                self.text.push_str(&found[..1]);
                rest = &found[1..];
                continue;
            };
            if found.starts_with('\r') {
                self.text.push('\n');
            }
            rest = behind;
        }
        self.text.push_str(rest);
    }

    /// Of a line without end only the beginning is kept.
    fn cut(&mut self, from: usize) {
        if self.skipping {
            let added = &self.text.as_bytes()[from..];
            let Some(newline) = memchr::memchr(b'\n', added) else {
                self.text.truncate(from);
                return;
            };
            self.text.drain(from..=from + newline);
            self.skipping = false;
        }
        let open = self.complete();
        if self.text.len() - open > LONGEST_LINE {
            let end = self.text.floor_char_boundary(open + LONGEST_LINE);
            self.text.truncate(end);
            self.text.push('\n');
            self.skipping = true;
        }
    }
}

/// Behind `\r` or `\r\n`; None where only the next piece can tell.
fn after_return(text: &str) -> Option<&str> {
    match text.as_bytes().get(1)? {
        b'\n' => Some(&text[2..]),
        _ => Some(&text[1..]),
    }
}

/// Behind a colour or another control sequence; None where it does not end. Escapes of other kinds are left to the
/// cleaner.
fn after_escape(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    if *bytes.get(1)? != b'[' {
        return None;
    }
    let parameters = bytes[2..].iter().take_while(|b| (0x20..=0x3f).contains(*b)).count();
    let end = 2 + parameters;
    (0x40..=0x7e).contains(bytes.get(end)?).then(|| &text[end + 1..])
}
