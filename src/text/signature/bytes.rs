//! Kinds of bytes, so that a line is cut into runs with one look at each byte.

pub(super) const LOWER: u8 = 1;
pub(super) const UPPER: u8 = 2;
pub(super) const DIGIT: u8 = 4;
/// Stands within a run, between its words.
pub(super) const JOINT: u8 = 8;
/// Ends a run, as does a space.
pub(super) const MARK: u8 = 16;
pub(super) const SPACE: u8 = 32;
/// Part of a word, beside letters and digits.
pub(super) const UNDERSCORE: u8 = 128;
/// Part of a character outside ASCII: mostly a letter.
pub(super) const FOREIGN: u8 = 64;

const KINDS: [u8; 256] = {
    let mut kinds = [JOINT; 256];
    let mut b = 0_u8;
    loop {
        kinds[b as usize] = match b {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' | b'$' => UNDERSCORE,
            b'"' | b'\'' | b'`' | b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b',' | b';' | b'|' | b'=' => {
                MARK
            }
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => SPACE,
            0x80.. => FOREIGN,
            _ => JOINT,
        };
        if b == u8::MAX {
            break kinds;
        }
        b += 1;
    }
};

pub(super) fn kind(b: u8) -> u8 {
    KINDS[usize::from(b)]
}

/// The length of the run that the text begins with, and the kinds of bytes in it. In an address of the web `=` does
/// not end it.
pub(super) fn run(text: &str, address: bool) -> (usize, u8) {
    let bytes = text.as_bytes();
    let (mut at, mut has) = (0, 0);
    while let Some(b) = bytes.get(at) {
        let kind = kind(*b);
        if kind & (MARK | SPACE | FOREIGN) == 0 || (address && *b == b'=') {
            at += 1;
        } else if kind == FOREIGN {
            let c = text[at..].chars().next().unwrap_or(' ');
            if c.is_whitespace() || is_quote(c) {
                break;
            }
            at += c.len_utf8();
        } else {
            break;
        }
        has |= kind;
    }
    (at, has)
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '‘' | '’' | '“' | '”')
}
