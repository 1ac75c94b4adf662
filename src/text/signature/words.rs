//! Masks one run of a line word by word: ids of machines, counters in names, numbers. What is left is a name.

use std::cell::OnceCell;

use super::{
    bytes::{self, DIGIT, LOWER, UNDERSCORE, UPPER},
    numbers::{self, contains_word},
    output::Output,
    random,
};

/// Letters whose number is part of a name.
const NUMBERED: [&str; 28] = [
    "utf", "sha", "base", "http", "ipv", "python", "node", "int", "uint", "float", "crc", "aes", "rsa", "oauth", "web",
    "log", "ssh", "arm", "amd", "win", "latin", "iso", "tls", "java", "gpt", "sqlite", "psycopg", "neo",
];
/// What stands around the run in hand.
pub(super) struct Context<'a> {
    line: &'a str,
    failing: OnceCell<bool>,
    comparing: OnceCell<bool>,
    /// The two words before, empty where something masked or a mark stands there.
    pub(super) before: &'a str,
    pub(super) previous: &'a str,
    /// What follows the run.
    pub(super) tail: &'a str,
    /// So much of it was understood together with the run.
    pub(super) consumed: usize,
    /// A quote stands before the run: it is a name.
    pub(super) quoted: bool,
}

impl<'a> Context<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self {
            line,
            failing: OnceCell::new(),
            comparing: OnceCell::new(),
            before: "",
            previous: "",
            tail: "",
            consumed: 0,
            quoted: false,
        }
    }

    pub(super) fn forget(&mut self) {
        self.before = "";
        self.previous = "";
    }

    /// The word before may introduce a name or a character.
    pub(super) fn expects_a_value(&self) -> bool {
        let word = self.previous;
        matches!(word.len(), 3..=5)
            && ["user", "for", "token"]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(word))
    }

    fn push(&mut self, word: &'a str) {
        self.before = std::mem::replace(&mut self.previous, word);
    }

    /// What stands right before the run.
    fn opening(&self, run: &str) -> u8 {
        let at = self.line.len().wrapping_sub(self.tail.len() + run.len() + 1);
        self.line.as_bytes().get(at).copied().unwrap_or(b' ')
    }

    pub(super) fn next(&self) -> &'a str {
        let tail = self.tail.trim_start_matches([' ', '\'', '"', ')']);
        let end = tail.bytes().take(12).take_while(u8::is_ascii_alphabetic).count();
        &tail[..end]
    }

    /// The run is the last of its line.
    pub(super) fn is_last(&self) -> bool {
        self.tail
            .bytes()
            .all(|b| b.is_ascii_whitespace() || b"\"'`()<>[]{},;|=".contains(&b))
    }

    /// The line compares one status of a request with another: `assert 422 == 200`, `expected 500 to be 200`.
    pub(super) fn compares_statuses(&self) -> bool {
        *self.comparing.get_or_init(|| {
            let compared = ["assert", "expected", "want", "got"];
            let begins = compared
                .iter()
                .any(|word| contains_word(&self.line[..self.line.floor_char_boundary(16)], word));
            begins && numbers::are_two_statuses(self.line)
        })
    }

    /// The line speaks of a request or a failure, so that a number can be a status.
    pub(super) fn is_failing(&self) -> bool {
        *self.failing.get_or_init(|| {
            ["http", "status", "respon", "request", "fail", "error"]
                .iter()
                .any(|word| contains_word(self.line, word))
        })
    }
}

/// Masks word by word; everything between words stays.
pub(super) fn parts<'a>(run: &'a str, words: &mut Context<'a>, out: &mut Output) {
    let bytes = run.as_bytes();
    let test = OnceCell::new();
    let mut at = 0;
    while at < bytes.len() {
        let (end, has) = word_end(bytes, at);
        if end == at {
            at += joint(run, at, words, out);
            continue;
        }
        let word = Word {
            text: &run[at..end],
            has,
            run,
            at,
            end,
            test: &test,
        };
        if let Some((prefix, length)) = word.uuid() {
            out.push_str(prefix);
            out.mask("<uuid>");
            words.forget();
            at += prefix.len() + length;
        } else {
            word.push(words, out);
            words.push(word.text);
            at = end;
        }
    }
}

/// A word of small letters.
pub(super) fn plain<'a>(word: &'a str, words: &mut Context<'a>, out: &mut Output) {
    out.push_noun(word);
    words.push(word);
}

/// Something between words; gives how much of it was read.
fn joint(run: &str, at: usize, words: &mut Context<'_>, out: &mut Output) -> usize {
    let bytes = &run.as_bytes()[at..];
    if let [b'%', first, second, ..] = bytes
        && first.is_ascii_hexdigit()
        && second.is_ascii_hexdigit()
    {
        out.mask("<x>");
        words.forget();
        return 3;
    }
    let c = run[at..].chars().next().unwrap_or(' ');
    out.push(c);
    c.len_utf8()
}

/// Where the word ends that begins here, and of what it is. A decimal number is one word.
fn word_end(bytes: &[u8], at: usize) -> (usize, u8) {
    let (mut end, mut has) = (at, 0);
    while let Some(b) = bytes.get(end) {
        let kind = bytes::kind(*b);
        if kind & (LOWER | UPPER | DIGIT | UNDERSCORE) != 0 {
            has |= kind;
        } else if !(*b == b'.' && has == DIGIT && bytes.get(end + 1).is_some_and(u8::is_ascii_digit)) {
            break;
        }
        end += 1;
    }
    (end, has)
}

/// A word and where it stands in its run.
struct Word<'a, 'r> {
    text: &'a str,
    has: u8,
    run: &'a str,
    at: usize,
    end: usize,
    /// Whether the run names a test; found out once.
    test: &'r OnceCell<bool>,
}

impl<'a> Word<'a, '_> {
    /// What of the word stands before a UUID that begins in it, and how long that is.
    fn uuid(&self) -> Option<(&'a str, usize)> {
        let bytes = self.run.as_bytes();
        if bytes.get(self.end) != Some(&b'-') || self.text.len() < 8 {
            return None;
        }
        let start = self.end - 8;
        let prefix = &self.run[self.at..start];
        ((prefix.is_empty() || prefix.ends_with('_')) && is_uuid(&bytes[start..])).then_some((prefix, 36))
    }

    fn push(&self, words: &mut Context<'a>, out: &mut Output) {
        match self.mask(words, out) {
            Some("<n>") => out.push_number(),
            Some(mask) => out.mask(mask),
            None if self.has & (DIGIT | UNDERSCORE) == 0 || self.has == DIGIT || self.is_named(words) => {
                out.push_str(self.text);
            }
            None => segments(self.text, self.before() == b'@', out),
        }
    }

    fn mask(&self, words: &mut Context<'a>, out: &Output) -> Option<&'static str> {
        let bytes = self.text.as_bytes();
        if self.is_suffix(out) || self.is_called_id(words) || self.is_thread(words) {
            return Some("<n>");
        }
        if self.has & DIGIT == 0 {
            if bytes.len() <= 2 {
                return self.is_minified().then_some("<v>");
            }
            let capitals = self.has & UPPER != 0;
            let random = (capitals && self.is_bundle())
                || (bytes.len() >= 7 && (is_hex_letters(bytes) || (capitals && random::is_random(bytes))))
                || (capitals && self.is_component() && random::is_mixed(bytes));
            return random.then_some("<n>");
        }
        let place = numbers::Place {
            whole: self.has == DIGIT,
            starts: self.at == 0,
            ends: self.end == self.run.len(),
        };
        if bytes[0].is_ascii_digit()
            && let Some(mask) = numbers::mask(self.text, place, words)
        {
            return Some(mask);
        }
        if self.has == DIGIT {
            return None;
        }
        let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
        let many = digits >= 6 && self.has & UNDERSCORE == 0;
        if many || self.is_hex(digits, words) || random::is_random(bytes) || self.is_id_by_place(digits) {
            return Some("<n>");
        }
        (bytes.len() <= 2 && self.is_minified()).then_some("<v>")
    }

    /// `a.map is not a function`: names of one or two letters come from a minifier.
    fn is_minified(&self) -> bool {
        let behind = self.run.as_bytes().get(self.end..self.end + 2);
        self.at == 0
            && self.text != "_"
            && behind.is_some_and(|b| b[0] == b'.' && b[1].is_ascii_lowercase())
            && !matches!(self.text, "fs" | "os" | "db" | "io" | "go" | "ci" | "__")
    }

    /// Seven digits of a hash at least, fewer behind a mark that introduces the identity of an object.
    fn is_hex(&self, digits: usize, words: &Context<'_>) -> bool {
        let bytes = self.text.as_bytes();
        if bytes.len() < 4 || !bytes.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        let before = match self.at {
            0 => words.opening(self.run),
            at => self.run.as_bytes()[at - 1],
        };
        let least = match before {
            b'@' | b'#' | b'+' => 4,
            b':' | b'{' => 5,
            _ => 7,
        };
        bytes.len() >= least && (self.has & UPPER == 0 || (bytes.len() >= 7 && digits >= 2))
    }

    /// Short ids that only their place gives away: parts of the names of hosts, components of paths.
    fn is_id_by_place(&self, digits: usize) -> bool {
        let bytes = self.text.as_bytes();
        let hex = || bytes.len() >= 3 && digits < bytes.len() && bytes.iter().all(u8::is_ascii_hexdigit);
        (self.before() == b'-' && hex()) || (self.is_component() && random::is_mixed(bytes))
    }

    /// A whole component of a path.
    fn is_component(&self) -> bool {
        let behind = self.run.as_bytes().get(self.end).copied().unwrap_or(b'/');
        self.before() == b'/' && behind == b'/'
    }

    fn before(&self) -> u8 {
        self.at.checked_sub(1).map_or(b' ', |at| self.run.as_bytes()[at])
    }

    /// `connection id "Grbuok4FZOEVr"`.
    fn is_called_id(&self, words: &Context<'_>) -> bool {
        let odd = (self.has & DIGIT != 0 && self.has & (LOWER | UPPER) != 0)
            || (self.has & LOWER != 0 && self.has & UPPER != 0);
        odd && self.at == 0 && self.text.len() >= 6 && words.previous.eq_ignore_ascii_case("id")
    }

    /// `thread T5`.
    fn is_thread(&self, words: &Context<'_>) -> bool {
        let number = self.text.strip_prefix('T').unwrap_or_default();
        self.at == 0
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
            && words.previous.eq_ignore_ascii_case("thread")
    }

    /// `-7d9f8b6c5d-x2x9z`: what an orchestrator puts behind a name, without vowels so that no word comes out.
    fn is_suffix(&self, out: &Output) -> bool {
        let bytes = self.text.split('_').next().unwrap_or_default().as_bytes();
        let voiceless = |b: &u8| (b.is_ascii_lowercase() && !b"aeiouy".contains(b)) || b.is_ascii_digit();
        self.before() == b'-'
            && self.at > 0
            && self.has & UPPER == 0
            && ((bytes.len() == 5 && out.ends_in_number_and(b'-')) || (8..=10).contains(&bytes.len()))
            && bytes.iter().all(voiceless)
    }

    /// `Checkout-TwSoTrxV.js`: the hash that a bundler puts before the ending of a file.
    fn is_bundle(&self) -> bool {
        let behind = &self.run[self.end..];
        let capitals = self.text.bytes().filter(u8::is_ascii_uppercase).count();
        self.before() == b'-'
            && self.text.len() == 8
            && capitals >= 3
            && [".js", ".mjs", ".css"].iter().any(|ending| behind.starts_with(ending))
    }

    /// In quotes, and as the name of a test, a word keeps its number.
    fn is_named(&self, words: &Context<'_>) -> bool {
        let quoted = words.quoted && self.at == 0;
        let test = || {
            *self.test.get_or_init(|| {
                ["::", "test", "Test", ".spec", "_spec", "spec/", "spec_"]
                    .iter()
                    .any(|part| self.run.contains(part))
            })
        };
        let id = || self.text.split('_').skip(1).any(is_id);
        !is_made(self.text) && (test() || (quoted && !id()))
    }
}

/// A hash without a digit in it.
fn is_hex_letters(bytes: &[u8]) -> bool {
    let filled = bytes.len() >= 8 && bytes[0].is_ascii_hexdigit() && bytes.iter().all(|b| *b == bytes[0]);
    filled || bytes.iter().all(|b| (b'a'..=b'f').contains(b))
}

/// A name that no person wrote, in quotes or not: several numbers in it, or a long one.
fn is_made(word: &str) -> bool {
    let (mut groups, mut length, mut longest) = (0, 0, 0);
    for b in word.bytes() {
        length = if b.is_ascii_digit() { length + 1 } else { 0 };
        groups += usize::from(length == 1);
        longest = longest.max(length);
    }
    groups >= 3 || longest >= 5
}

/// `broadcast_9_piece0`, `storage234`, `req_4fZk29TbQxLm`, `rabbit@mq8`: counters and ids in the names that machines make.
fn segments(word: &str, of_host: bool, out: &mut Output) {
    let made = is_made(word);
    for (n, segment) in word.split('_').enumerate() {
        if n > 0 {
            out.push('_');
        }
        let letters = segment.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = segment.len() - letters.len();
        let small = letters.bytes().all(|b| b.is_ascii_lowercase());
        let counted = (small && (letters.len() >= 3 || digits >= 3) && !NUMBERED.contains(&letters))
            || made
            || (of_host && small && letters.len() >= 2);
        if n > 0 && is_id(segment) {
            out.push_number();
        } else if digits > 0 && (letters.is_empty() || counted) {
            out.push_str(letters);
            out.push_number();
        } else {
            out.push_str(segment);
        }
    }
}

fn is_id(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let digits = bytes.iter().any(u8::is_ascii_digit);
    let hex = || digits && bytes.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b));
    bytes.len() >= 7 && (hex() || random::is_random(bytes) || random::is_token(bytes))
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() >= 36
        && bytes[..36].iter().enumerate().all(|(n, b)| match n {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
        && !bytes.get(36).is_some_and(u8::is_ascii_alphanumeric)
}
