//! Masks one run of a line word by word: numbers, hex, ids of machines. Context decides what a number is.

/// Words after which a short number is a name and not a measure (exit code, status, SQLSTATE …).
const NAMING: [&str; 15] = [
    "code",
    "status",
    "statuscode",
    "exit",
    "exited",
    "signal",
    "errno",
    "error",
    "http",
    "sqlstate",
    "errcode",
    "responsecode",
    "returned",
    "responded",
    "rule",
];
/// Words before or behind a number that make it a measure whatever its size.
const MEASURING: [&str; 27] = [
    "in",
    "of",
    "took",
    "after",
    "limit",
    "used",
    "requested",
    "line",
    "pid",
    "port",
    "attempt",
    "size",
    "length",
    "count",
    "ms",
    "s",
    "seconds",
    "bytes",
    "rows",
    "times",
    "items",
    "id",
    "user",
    "order",
    "for",
    "than",
    "bits",
];

/// Letters whose number is part of a name.
const NUMBERED: [&str; 28] = [
    "utf", "sha", "base", "http", "ipv", "python", "node", "int", "uint", "float", "crc", "aes", "rsa", "oauth", "web",
    "log", "ssh", "arm", "amd", "win", "latin", "iso", "tls", "java", "gpt", "sqlite", "psycopg", "neo",
];
/// What stands around the run in hand.
#[derive(Default)]
pub(super) struct Context {
    pub(super) previous: String,
    pub(super) next: String,
    /// The run is the last of its line.
    pub(super) last: bool,
    /// A quote stands before the run: it is a name.
    pub(super) quoted: bool,
    /// The line speaks of a request or a failure, so that a number can be a status.
    pub(super) failing: bool,
}

/// Masks word by word; everything between words stays.
pub(super) fn parts(run: &str, words: &mut Context, out: &mut String) {
    let bytes = run.as_bytes();
    let test = run.contains("::") || contains_word(run, "test") || contains_word(run, "spec");
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) || (bytes[at] == b'_' && is_uuid(&bytes[at + 1..])) {
            let c = run[at..].chars().next().unwrap_or(' ');
            if c == '%' && bytes.len() > at + 2 && bytes[at + 1..at + 3].iter().all(u8::is_ascii_hexdigit) {
                out.push_str("<x>");
                words.previous.clear();
                at += 3;
            } else {
                out.push(c);
                at += c.len_utf8();
            }
            continue;
        }
        if is_uuid(&bytes[at..]) {
            out.push_str("<uuid>");
            words.previous.clear();
            at += 36;
            continue;
        }
        let end = word_end(bytes, at);
        let owner = at == 0
            && bytes[0] != b'_'
            && bytes.get(end) == Some(&b'.')
            && bytes.get(end + 1).is_some_and(u8::is_ascii_lowercase);
        let text = &run[at..end];
        let around = (
            at.checked_sub(1).map_or(b' ', |at| bytes[at]),
            bytes.get(end).copied().unwrap_or(b'/'),
        );
        match masked_word(text, owner, words).or_else(|| masked_there(text.as_bytes(), around)) {
            Some(mask) => push_masked(mask, out),
            None if (words.quoted && at == 0) || test || text.bytes().all(|b| b.is_ascii_digit()) => out.push_str(text),
            None => segments(text, out),
        }
        text.to_ascii_lowercase().clone_into(&mut words.previous);
        at = end;
    }
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    let run = |from: usize| from + bytes[from..].iter().take_while(|b| is_word(**b)).count();
    let mut end = run(at);
    // A decimal number is one word.
    while bytes[at..end].iter().all(|b| b.is_ascii_digit() || *b == b'.')
        && bytes.get(end) == Some(&b'.')
        && bytes.get(end + 1).is_some_and(u8::is_ascii_digit)
    {
        end = run(end + 1);
    }
    end
}

/// A sign belongs to its number.
fn push_masked(mask: &str, out: &mut String) {
    if mask == "<n>" && out.ends_with('-') {
        let before = out[..out.len() - 1].chars().next_back().unwrap_or(' ');
        if !before.is_ascii_alphanumeric() && before != '>' {
            out.pop();
        }
    }
    out.push_str(mask);
}

/// `broadcast_9_piece0`, `storage234`: counters in machine-made names.
fn segments(word: &str, out: &mut String) {
    for (n, segment) in word.split('_').enumerate() {
        if n > 0 {
            out.push('_');
        }
        let letters = segment.trim_end_matches(|c: char| c.is_ascii_digit());
        let counted =
            letters.len() >= 3 && letters.bytes().all(|b| b.is_ascii_lowercase()) && !NUMBERED.contains(&letters);
        if letters.len() < segment.len() && (letters.is_empty() || counted) {
            out.push_str(letters);
            push_masked("<n>", out);
        } else {
            out.push_str(segment);
        }
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$'
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() >= 36
        && bytes[..36].iter().enumerate().all(|(n, b)| match n {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
        && !bytes.get(36).is_some_and(u8::is_ascii_alphanumeric)
}

fn masked_word(word: &str, owner: bool, words: &Context) -> Option<&'static str> {
    let bytes = word.as_bytes();
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    if digits == 0 {
        // `a.map is not a function`: names of one or two letters come from a minifier.
        let minified = owner && bytes.len() <= 2 && word != "fs" && word != "os" && word != "db";
        return if minified {
            Some("<v>")
        } else {
            is_random(bytes).then_some("<id>")
        };
    }
    if bytes[0].is_ascii_digit() {
        return number(word, digits, words);
    }
    let hex = bytes.iter().all(u8::is_ascii_hexdigit);
    if hex && bytes.len() >= 7 {
        return Some("<hex>");
    }
    if is_random(bytes) || (digits >= 6 && !word.contains('_')) {
        return Some("<id>");
    }
    if owner && bytes.len() <= 2 {
        return Some("<v>");
    }
    None
}

/// Short ids that only their place gives away: parts of host names, components of paths.
fn masked_there(bytes: &[u8], around: (u8, u8)) -> Option<&'static str> {
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    let hex = bytes.iter().all(u8::is_ascii_hexdigit);
    if around.0 == b'-' && hex && bytes.len() >= 3 && digits >= 1 && digits < bytes.len() {
        return Some("<hex>");
    }
    (around == (b'/', b'/') && changes(bytes).is_some_and(|(odd, changes)| odd && changes >= 2)).then_some("<id>")
}

/// Units behind a count.
const UNITS: [&str; 12] = [
    "kb", "mb", "gb", "kib", "mib", "gib", "b", "k", "x", "px", "rpm", "tokens",
];

fn number(word: &str, digits: usize, words: &Context) -> Option<&'static str> {
    let bytes = word.as_bytes();
    if digits == bytes.len() {
        let naming = NAMING.contains(&words.previous.as_str()) && digits <= 5;
        let named_next = words.next.len() > 1 && words.next.starts_with(|c: char| c.is_ascii_uppercase());
        let status = digits == 3 && (b'4'..=b'5').contains(&bytes[0]) && words.failing && (words.last || named_next);
        let measured = MEASURING.contains(&words.next.to_ascii_lowercase().as_str())
            || MEASURING.contains(&words.previous.as_str());
        return if naming || (status && !measured) {
            None
        } else {
            Some("<n>")
        };
    }
    if word.starts_with("0x") {
        return Some("<hex>");
    }
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if unit.is_empty() {
        return Some("<n>");
    }
    let only = |set: &[u8]| bytes.iter().all(|b| b.is_ascii_digit() || set.contains(b));
    if only(b"dhmsun.") {
        return Some("<time>");
    }
    if bytes.len() >= 7 && bytes.iter().all(u8::is_ascii_hexdigit) {
        return Some("<hex>");
    }
    if is_random(bytes) {
        return Some("<id>");
    }
    UNITS.contains(&unit.to_ascii_lowercase().as_str()).then_some("<n>")
}

/// Letters of both cases and digits in an order that no name has.
fn is_random(bytes: &[u8]) -> bool {
    bytes.len() >= 8 && changes(bytes).is_some_and(|(odd, changes)| odd && changes * 4 >= bytes.len())
}

/// Whether a word changes its kind of letter as no name does, and how often it changes; none for joined words.
fn changes(bytes: &[u8]) -> Option<(bool, usize)> {
    let class = |b: u8| match b {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    if bytes.iter().any(|b| class(*b) == 3) {
        return None;
    }
    let pairs = || bytes.windows(2).map(|pair| (class(pair[0]), class(pair[1])));
    // A capital before a small letter begins a word; every other change is unusual.
    let changes = pairs().filter(|(a, b)| a != b && (*a, *b) != (1, 0)).count();
    let odd = pairs().any(|(a, b)| a == 2 && b != 2)
        || bytes
            .windows(3)
            .any(|w| (class(w[0]), class(w[1]), class(w[2])) == (1, 1, 0));
    Some((odd, changes))
}

/// Without regard to letter case.
pub(super) fn contains_word(line: &str, word: &str) -> bool {
    line.as_bytes()
        .windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}
