//! One spelling for what varies: the digits of numbers, times, private addresses and ids become the same ones, so that
//! texts which differ in nothing else are one text from here on, and what follows from one of them follows from all.
//! Signing begins with it. What a rule judges by its value keeps it: statuses, codes, first digits, public addresses,
//! what may be a card, a telephone or an account. Each character stays in its place: a digit becomes a digit, a
//! character of a hexadecimal id another one.

use super::numbers;

/// Longer numbers keep their digits.
const LONGEST_NUMBER: usize = 19;
/// The longest number that may be a code, as [`numbers`] has it.
const LONGEST_CODE: usize = 5;
const SHORTEST_ID: usize = 8;
const LONGEST_UNIT: usize = 2;
/// Words before a number among which one may say that it is a code.
const NEAR_WORDS: usize = 2;
/// And so far away they are looked for.
const NEAR: usize = 48;

const WORD: u8 = 1;
const NUMERAL: u8 = 2;
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut b = 0_u8;
    loop {
        kinds[b as usize] = match b {
            b'0'..=b'9' => WORD | NUMERAL,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => WORD,
            _ => 0,
        };
        if b == u8::MAX {
            break kinds;
        }
        b += 1;
    }
};

/// Appends the text in its usual spelling.
pub(in crate::text) fn write(text: &str, out: &mut Vec<u8>) {
    let from = out.len();
    out.extend_from_slice(text.as_bytes());
    let (bytes, out) = (text.as_bytes(), &mut out[from..]);
    let mut done = 0;
    while let Some(digit) = next_digit(bytes, done) {
        let mut start = digit;
        while start > done && is_word(bytes[start - 1]) {
            start -= 1;
        }
        let (mut end, mut digits) = (digit, 0);
        while let Some(b) = bytes.get(end)
            && is_word(*b)
        {
            digits += usize::from(KINDS[usize::from(*b)] & NUMERAL) / usize::from(NUMERAL);
            end += 1;
        }
        let place = Place {
            bytes,
            start,
            end,
            digits,
        };
        done = place.spell(out);
    }
}

/// Where the next digit stands. In pieces, since within a piece nothing stops a wide comparison.
fn next_digit(bytes: &[u8], from: usize) -> Option<usize> {
    const PIECE: usize = 16;
    let mut at = from;
    let mut pieces = bytes.get(from..)?.chunks_exact(PIECE);
    for piece in &mut pieces {
        if piece.iter().fold(false, |any, b| any | b.is_ascii_digit()) {
            return piece.iter().position(u8::is_ascii_digit).map(|n| at + n);
        }
        at += PIECE;
    }
    pieces.remainder().iter().position(u8::is_ascii_digit).map(|n| at + n)
}

/// The text in its usual spelling.
pub(in crate::text) fn spelled(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    write(text, &mut out);
    // Only ASCII takes the place of ASCII.
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

fn is_word(b: u8) -> bool {
    KINDS[usize::from(b)] & WORD != 0
}

fn is_hex(b: u8) -> bool {
    matches!(b, b'0'..=b'9' | b'a'..=b'f')
}

/// Digits in turn, so that no number looks made up of one.
fn fill(out: &mut [u8]) {
    for (n, b) in out.iter_mut().enumerate() {
        *b = b"71"[n % 2];
    }
}

/// The first stays a digit or a letter.
fn fill_id(out: &mut [u8]) {
    let letter_first = usize::from(!out[0].is_ascii_digit());
    for (n, b) in out.iter_mut().enumerate() {
        *b = b"7b1f7c1a"[(n + letter_first) % 8];
    }
}

/// A word with digits in it, and where it stands.
struct Place<'a> {
    bytes: &'a [u8],
    start: usize,
    end: usize,
    digits: usize,
}

impl Place<'_> {
    fn word(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn before(&self) -> u8 {
        self.start.checked_sub(1).map_or(b' ', |at| self.bytes[at])
    }

    fn at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(b' ')
    }

    fn count(&self, from: usize) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|b| b.is_ascii_digit()).count()
    }

    /// Spells the word, or more that begins with it; gives how far that reaches.
    fn spell(&self, out: &mut [u8]) -> usize {
        let word = self.word();
        if word.len() == 8
            && let Some(end) = self.uuid(out)
        {
            return end;
        }
        if self.digits == word.len() {
            let whole = self.time(out).or_else(|| self.clock(out)).or_else(|| self.address(out));
            return whole.unwrap_or_else(|| {
                fill(&mut out[self.start + self.kept()..self.end]);
                self.end
            });
        }
        if self.is_measure() {
            fill(&mut out[self.start..self.start + self.digits]);
        } else if self.is_id() {
            fill_id(&mut out[self.start..self.end]);
        } else if let Some(length) = self.temporary() {
            fill_id(&mut out[self.end - length..self.end]);
        }
        self.end
    }

    /// So many digits of a number keep their value. One is told from many; the first digit of three is the kind of a
    /// status, that of more whose card it is.
    fn kept(&self) -> usize {
        let word = self.word();
        let first = word[0];
        let kept = match word.len() {
            1 => usize::from(matches!(first, b'0' | b'1')),
            3 if matches!(first, b'4' | b'5') => 3,
            12.. if word.len() > LONGEST_NUMBER || matches!(first, b'2'..=b'6') => word.len(),
            2 | 3 | 10 | 12.. => 1,
            _ => 0,
        };
        // What begins with one zero is a number as others are, with two it is no time.
        let kept = if first == b'0' {
            kept.max(word.len().min(2))
        } else {
            kept
        };
        let marked = matches!(self.before(), b'+' | b'%' | b'\\' | b'<') || self.is_level();
        if kept == word.len() || marked || self.is_of_address() || self.is_of_groups() || self.is_code() {
            word.len()
        } else {
            kept
        }
    }

    /// As loggers for Node write it.
    fn is_level(&self) -> bool {
        let before = self.bytes[..self.start].trim_ascii_end();
        before.strip_suffix(b":").is_some_and(|key| key.ends_with(b"level\""))
    }

    /// A word not far before it says that a short number is a code.
    fn is_code(&self) -> bool {
        if self.end - self.start > LONGEST_CODE {
            return false;
        }
        let mut near = &self.bytes[self.start.saturating_sub(NEAR)..self.start];
        // Byte by byte, since a chain of iterators takes three times as long here, and every number is asked.
        for _ in 0..NEAR_WORDS {
            while let [rest @ .., b] = near
                && !is_word(*b)
            {
                near = rest;
            }
            let whole = near;
            while let [rest @ .., b] = near
                && is_word(*b)
            {
                near = rest;
            }
            if numbers::names_a_code(&whole[near.len()..]) {
                return true;
            }
        }
        false
    }

    /// One of several groups of digits, as cards and accounts are printed.
    fn is_of_groups(&self) -> bool {
        let joint = |b: u8| matches!(b, b' ' | b'-');
        let before = self.bytes[..self.start].split_last().is_some_and(|(mark, rest)| {
            joint(*mark) && rest.iter().rev().take_while(|b| b.is_ascii_digit()).count() == 4
        });
        let behind = || self.end - self.start == 4 && joint(self.at(self.end)) && self.count(self.end + 1) >= 2;
        before || behind()
    }

    /// Whether an address may be what the number stands in: which one, tells people from machines.
    fn is_of_address(&self) -> bool {
        let joined = |mark: u8| self.before() == mark || self.at(self.end) == mark;
        let around = |part: fn(u8) -> bool, mark: u8| {
            let before = self.bytes[..self.start].iter().rev().take_while(|b| part(**b));
            let behind = self.bytes[self.end..].iter().take_while(|b| part(**b));
            before.chain(behind).filter(|b| **b == mark).count()
        };
        let short = || self.bytes[..self.start].ends_with(b"::") || self.bytes[self.end..].starts_with(b"::");
        (joined(b'.') && around(|b| b.is_ascii_digit() || b == b'.', b'.') >= 3)
            || (joined(b':') && (short() || around(|b| b.is_ascii_hexdigit() || b == b':', b':') >= 4))
    }

    /// `2026-01-02T03:04:05.678Z` and its cousins, if there is such a time.
    fn time(&self, out: &mut [u8]) -> Option<usize> {
        const USUAL: &[u8] = b"2021-11-11T11:11:11";
        if self.digits != 4 || !matches!(self.at(self.end), b'-' | b'/') {
            return None;
        }
        let text = self.bytes.get(self.start..self.start + USUAL.len())?;
        let fits = USUAL.iter().zip(text).all(|(wanted, b)| match wanted {
            b'-' => matches!(b, b'-' | b'/'),
            b'T' => matches!(b, b'T' | b' '),
            b':' => *b == b':',
            _ => b.is_ascii_digit(),
        });
        if !fits || !text.starts_with(b"20") || matches!(self.before(), b'+' | b'%' | b'.' | b'-' | b'\\') {
            return None;
        }
        let (month, day) = (&text[5..7], &text[8..10]);
        let exists = within(month, *b"01", *b"12") && within(day, *b"01", *b"31");
        if !exists || !within(&text[11..13], *b"00", *b"23") || text[14] >= b'6' || text[17] >= b'6' {
            return None;
        }
        let end = self.behind_time(self.start + USUAL.len())?;
        for (n, wanted) in USUAL.iter().enumerate().filter(|(_, wanted)| wanted.is_ascii_digit()) {
            out[self.start + n] = *wanted;
        }
        fill_time(&mut out[self.start + USUAL.len()..end]);
        Some(end)
    }

    /// `03:04:05.678`, also behind `02/Jan/2026:`. What only looks like one keeps its digits: whether it is a time, they
    /// tell.
    fn clock(&self, out: &mut [u8]) -> Option<usize> {
        const REST: usize = 6;
        if self.at(self.end) != b':' {
            return None;
        }
        let rest = self.bytes.get(self.end..self.end + REST)?;
        let pair = |at: usize| rest[at] == b':' && rest[at + 1].is_ascii_digit() && rest[at + 2].is_ascii_digit();
        if self.digits > 2 || !pair(0) || !pair(3) {
            return None;
        }
        let seconds = self.end + REST;
        let hour = self.word();
        let exists = (hour.len() == 1 || within(hour, *b"00", *b"23")) && rest[1] < b'6' && rest[4] < b'6';
        let joined = match self.before() {
            b':' => !self.is_behind_a_date(),
            before => matches!(before, b'+' | b'%' | b'.' | b'-' | b'\\'),
        };
        match self.behind_time(seconds) {
            Some(end) if exists && !joined && self.at(end) != b':' => {
                fill_time(&mut out[self.start..end]);
                Some(end)
            }
            _ => Some(seconds),
        }
    }

    /// A year with a slash before it, and a colon.
    fn is_behind_a_date(&self) -> bool {
        let date = self.start.checked_sub(6).map(|from| &self.bytes[from..self.start]);
        matches!(date, Some([b'/', year @ .., b':']) if year.iter().all(u8::is_ascii_digit))
    }

    /// Behind a fraction and the sign of UTC; None where more is joined to it.
    fn behind_time(&self, at: usize) -> Option<usize> {
        let mut end = at;
        if matches!(self.at(end), b'.' | b',') {
            end += 1 + self.count(end + 1);
        }
        end += usize::from(self.at(end) == b'Z');
        let goes_on = matches!(self.at(end), b'.' | b',' | b'-' | b':' | b'/') && self.at(end + 1).is_ascii_digit();
        (!is_word(self.at(end)) && !goes_on).then_some(end)
    }

    /// An address of a private network; others stay, since it tells people from machines.
    fn address(&self, out: &mut [u8]) -> Option<usize> {
        // How long a value is, tells whether it is secret.
        if self.word() != b"10" || matches!(self.before(), b'.' | b'-' | b'+' | b'%' | b'=' | b'\\' | 0x80..) {
            return None;
        }
        let mut end = self.end;
        for _ in 0..3 {
            let from = end + 1;
            let length = self.count(from);
            let digits = self.bytes.get(from..from + length)?;
            let value = digits.iter().take(4).fold(0_u32, |n, b| n * 10 + u32::from(b - b'0'));
            if self.at(end) != b'.' || !(1..=3).contains(&length) || value > 255 || (length > 1 && digits[0] == b'0') {
                return None;
            }
            end = from + length;
        }
        if is_word(self.at(end)) || matches!(self.at(end), b'.' | b'-' | 0x80..) {
            return None;
        }
        let port = self.at(end) == b':';
        let behind = end + 1 + self.count(end + 1);
        let odd = port
            && (behind == end + 1 && is_word(self.at(behind))
                || matches!(self.at(behind), b':' | b'.')
                || self.at(end + 1) == b':');
        if odd || self.bytes[..self.start].ends_with(b"::") {
            return None;
        }
        for b in out[self.end..end].iter_mut().filter(|b| b.is_ascii_digit()) {
            *b = b'1';
        }
        Some(end)
    }

    fn uuid(&self, out: &mut [u8]) -> Option<usize> {
        let text = self
            .bytes
            .get(self.start..self.start + 36)
            .filter(|text| text[8] == b'-')?;
        let whole = text.iter().enumerate().all(|(n, b)| match n {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => is_hex(*b),
        });
        let end = self.start + 36;
        // Before a bar it may be the name of a container.
        let bar = || self.bytes[end..].iter().find(|b| **b != b' ') == Some(&b'|');
        if !whole || bar() || self.is_joined(end) || !text.iter().any(u8::is_ascii_lowercase) {
            return None;
        }
        let usual = b"7b1f7c1a-7b1f-4c1a-8b1f-7c1a7b1f7c1a";
        let letter = !text[0].is_ascii_digit();
        out[self.start..end].copy_from_slice(usual);
        if letter {
            out[self.start] = b'b';
        }
        Some(end)
    }

    /// What joins a run to more, and makes it a part of a name, an escape or a time.
    fn is_joined(&self, end: usize) -> bool {
        let joins = |b: u8| is_word(b) || matches!(b, b'.' | b'-' | b'+' | b'%' | b'\\' | 0x80..);
        let links = |b: u8| matches!(b, b':' | b'/' | b',');
        let before = self.bytes[..self.start]
            .iter()
            .rev()
            .nth(1)
            .is_some_and(u8::is_ascii_digit);
        joins(self.before())
            || joins(self.at(end))
            || (links(self.before()) && before)
            || (links(self.at(end)) && self.at(end + 1).is_ascii_digit())
    }

    /// `12ms`.
    fn is_measure(&self) -> bool {
        let word = self.word();
        let unit = word.len() - self.digits;
        unit <= LONGEST_UNIT
            && word[0] != b'0'
            && word[self.digits..].iter().all(u8::is_ascii_lowercase)
            && !matches!(self.before(), b'+' | b'%' | b'.' | b'\\')
            && !matches!(self.at(self.end), b'.' | 0x80..)
    }

    /// A hexadecimal id. With `d` alone it may be a time, with one `e` a number.
    fn is_id(&self) -> bool {
        let word = self.word();
        let telling = |b: &u8| matches!(b, b'a' | b'b' | b'c' | b'f');
        let e = |b: &u8| *b == b'e';
        word.len() >= SHORTEST_ID
            && word.iter().all(|b| is_hex(*b))
            && (word.iter().any(telling) || word.iter().position(e) != word.iter().rposition(e))
            && !self.is_joined(self.end)
    }

    /// The length of the id at the end of the name of a temporary directory.
    fn temporary(&self) -> Option<usize> {
        let word = self.word();
        let length = word.iter().rev().take_while(|b| is_hex(**b)).count();
        let name = &word[..word.len() - length];
        let known = (SHORTEST_ID..2 * SHORTEST_ID).contains(&length)
            && name.ends_with(b"_")
            && !name.iter().any(u8::is_ascii_digit)
            && self.bytes[..self.start].ends_with(b" /tmp/")
            && self.at(self.end) == b'/';
        known.then_some(length)
    }
}

/// Numbers of two digits.
fn within(number: &[u8], least: [u8; 2], most: [u8; 2]) -> bool {
    let value = u16::from_be_bytes;
    matches!(number, [a, b] if (value(least)..=value(most)).contains(&value([*a, *b])))
}

fn fill_time(out: &mut [u8]) {
    for b in out.iter_mut().filter(|b| b.is_ascii_digit()) {
        *b = b'1';
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::spelled;

    #[test]
    fn what_varies_has_one_spelling() {
        for (a, b) in [
            (
                "2026-01-02T03:04:05.678Z job 17 failed after 120ms",
                "2025-12-31T23:59:00.001Z job 18 failed after 199ms",
            ),
            ("user 12345 on 10.1.22.133:8080", "user 99887 on 10.9.87.255:1234"),
            (
                "5d1c2c1e-1111-4222-8333-944445555666 and a0b1c2d3e4",
                "00000000-abcd-4222-8333-ffffffffffff and c0f0f0f0fa",
            ),
            ("open /tmp/job_00000000/a", "open /tmp/job_0ffffff0/a"),
            ("at 23:59:59,123 [7]", "at 00:00:00,999 [3]"),
            ("[29/Nov/2026:03:00:00 +0000]", "[27/Nov/2025:23:59:59 +0000]"),
        ] {
            assert_eq!(spelled(a), spelled(b));
        }
    }

    #[test]
    fn what_is_judged_by_its_value_keeps_it() {
        for text in [
            "failed with 502",
            "exit code 137",
            "exit code: [17]",
            "errno=13",
            "error #318",
            "0 of 1",
            "from 93.184.216.34 and 2a00:1450::8",
            "card 4111111111111111 or 4111 1111 1111 1111",
            "GB29 NWBK 6016 1331 9268 19",
            "at 10.0.0.300",
            "+49",
            "%40corp",
            "\\12",
            "<34>",
            "25:59:59 x",
            "at x.12:34:56",
            "12:34:56:deadbeef0",
            "0,5d1c2c1eab",
            "code E401",
            "0",
        ] {
            assert_eq!(spelled(text), text);
        }
        for (a, b) in [
            ("{\"level\":50}", "{\"level\":40}"),
            ("{\"n\":0123}", "{\"n\":1123}"),
            ("took 12ms", "took 02ms"),
            ("1 block", "2 blocks"),
            ("2026-13-45T03:00:00Z", "2026-11-12T03:00:00Z"),
        ] {
            assert_ne!(spelled(a), spelled(b));
        }
    }

    proptest! {
        #[test]
        fn spelling_keeps_places_and_is_idempotent(text in "[0-9a-f:./ T_+%é\\\\-]{0,60}|.{0,60}") {
            let once = spelled(&text);
            prop_assert_eq!(spelled(&once), once.clone());
            prop_assert_eq!(once.len(), text.len());
            for (a, b) in text.bytes().zip(once.bytes()) {
                prop_assert!(a == b || (a.is_ascii_hexdigit() && b.is_ascii_hexdigit()));
            }
        }
    }
}
