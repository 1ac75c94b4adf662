//! Replaces the volatile parts of one line by their kind. What tells causes apart stays: names, codes, statuses.
//! Hand-written and linear; it knows shapes and no products.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Words after which a short number is a name and not a measure (exit code, status, SQLSTATE …).
const NAMING: [&str; 19] = [
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
    "failed",
    "fault",
    "with",
    "level",
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

/// The line with its volatile parts masked and its white space made single.
pub(super) fn mask(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut words = Context::default();
    let mut rest = line.trim();
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("[redacted:") {
            let end = rest.find(']').map_or(rest.len(), |end| end + 1);
            out.push_str(redacted_as(&rest[..end]));
            rest = &rest[end..];
        } else if c.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
            rest = &rest[c.len_utf8()..];
        } else if is_delimiter(c) {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            let end = rest
                .find(|c: char| c.is_whitespace() || is_delimiter(c))
                .unwrap_or(rest.len());
            let (run, tail) = rest.split_at(end);
            words.next = next_word(tail);
            mask_run(run, &mut words, &mut out);
            rest = tail;
        }
    }
    out
}

fn is_delimiter(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '`'
            | '('
            | ')'
            | '<'
            | '>'
            | '['
            | ']'
            | '{'
            | '}'
            | ','
            | ';'
            | '|'
            | '='
            | '‘'
            | '’'
            | '“'
            | '”'
    )
}

/// A redacted value counts as the mask that the value itself would have got.
fn redacted_as(mark: &str) -> &'static str {
    match mark {
        "[redacted:mail]" => "<mail>",
        "[redacted:ip]" => "<ip>",
        "[redacted:phone]" | "[redacted:card]" => "<n>",
        _ => "<secret>",
    }
}

#[derive(Default)]
struct Context {
    previous: String,
    next: String,
}

fn next_word(tail: &str) -> String {
    let tail = tail.trim_start_matches([' ', '\'', '"', ')']);
    tail.chars()
        .take_while(char::is_ascii_alphabetic)
        .take(12)
        .collect::<String>()
        .to_ascii_lowercase()
}

fn mask_run(run: &str, words: &mut Context, out: &mut String) {
    let core = run.trim_end_matches(['.', ':', '!', '?']);
    let tail = &run[core.len()..];
    if core.contains("://") {
        out.push_str(&url(core));
    } else if let Some(masked) = whole(core) {
        out.push_str(masked);
    } else if let Some(path) = temporary(core) {
        out.push_str("<tmp>");
        parts(path, words, out);
    } else {
        parts(core, words, out);
    }
    out.push_str(tail);
}

/// A run that is one volatile thing as a whole.
fn whole(run: &str) -> Option<&'static str> {
    if is_address(run) {
        return Some("<ip>");
    }
    if is_time(run) {
        return Some("<time>");
    }
    let (local, domain) = run.split_once('@')?;
    let mail = !local.is_empty()
        && domain.contains('.')
        && domain.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    (mail && !domain.starts_with(|c: char| c.is_ascii_digit())).then_some("<mail>")
}

fn is_address(run: &str) -> bool {
    let run = run.trim_start_matches('/');
    if let Some(port) = run.strip_prefix(":::") {
        return port.bytes().all(|b| b.is_ascii_digit());
    }
    let host = match run.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => run,
    };
    let v6 =
        run.matches(':').count() >= 2 && run.bytes().any(|b| b.is_ascii_digit()) && run.parse::<Ipv6Addr>().is_ok();
    host.parse::<Ipv4Addr>().is_ok() || v6
}

/// Dates, times of day and their combinations.
fn is_time(run: &str) -> bool {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    let allowed = run.bytes().all(|b| b.is_ascii_digit() || b":.-/+TZ,".contains(&b));
    let clock = run.matches(':').count() >= 1 && digits >= 3;
    let date = (run.matches('-').count() == 2 || run.matches('/').count() == 2) && (6..=8).contains(&digits);
    allowed && run.starts_with(|c: char| c.is_ascii_digit()) && (clock || date)
}

/// What follows the one volatile component of a path in a temporary directory.
fn temporary(run: &str) -> Option<&str> {
    const ROOTS: [&str; 5] = ["/tmp/", "/var/tmp/", "/private/tmp/", "/dev/shm/", "/var/folders/"];
    let root = ROOTS.iter().find(|root| run.starts_with(**root))?;
    let rest = &run[root.len()..];
    Some(rest.find('/').map_or("", |slash| &rest[slash..]))
}

/// Scheme and host stay, so do the words of the path; queries, ports and ids go.
fn url(run: &str) -> String {
    let run = run.split(['?', '#']).next().unwrap_or_default();
    let mut out = String::new();
    let (scheme, rest) = run.split_once("://").unwrap_or(("", run));
    out.push_str(scheme);
    out.push_str("://");
    let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let host = authority.split(':').next().unwrap_or_default();
    if is_address(authority) {
        out.push_str("<ip>");
    } else {
        parts(host, &mut Context::default(), &mut out);
    }
    parts(path, &mut Context::default(), &mut out);
    out
}

/// Masks word by word; everything between words stays.
fn parts(run: &str, words: &mut Context, out: &mut String) {
    let bytes = run.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            let c = run[at..].chars().next().unwrap_or(' ');
            out.push(c);
            at += c.len_utf8();
            continue;
        }
        if is_uuid(&bytes[at..]) {
            out.push_str("<uuid>");
            at += 36;
            continue;
        }
        let mut end = at;
        while end < bytes.len() && is_word(bytes[end]) {
            end += 1;
        }
        // A decimal number is one word.
        while run[at..end].bytes().all(|b| b.is_ascii_digit())
            && bytes.get(end) == Some(&b'.')
            && bytes.get(end + 1).is_some_and(u8::is_ascii_digit)
        {
            end += 1;
            while end < bytes.len() && is_word(bytes[end]) {
                end += 1;
            }
        }
        let short = at == 0 && bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_lowercase);
        word(&run[at..end], short, words, out);
        at = end;
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
        && !bytes.get(36).is_some_and(|b| is_word(*b))
}

fn word(word: &str, owner: bool, words: &mut Context, out: &mut String) {
    let masked = masked_word(word, owner, words);
    match masked {
        Some(mask) => out.push_str(mask),
        None => out.push_str(word),
    }
    word.to_ascii_lowercase().clone_into(&mut words.previous);
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
    let hex = bytes.iter().all(|b| b.is_ascii_hexdigit());
    if hex && bytes.len() >= 7 {
        return Some("<hex>");
    }
    if is_random(bytes) {
        return Some("<id>");
    }
    if owner && bytes.len() <= 2 {
        return Some("<v>");
    }
    None
}

fn number(word: &str, digits: usize, words: &Context) -> Option<&'static str> {
    let bytes = word.as_bytes();
    if digits == bytes.len() {
        let naming = NAMING.contains(&words.previous.as_str()) && digits <= 5;
        let status = digits == 3 && (b'4'..=b'5').contains(&bytes[0]);
        let measured = MEASURING.contains(&words.next.as_str()) || MEASURING.contains(&words.previous.as_str());
        return if !measured && (naming || status) {
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
    const UNITS: [&str; 12] = [
        "kb", "mb", "gb", "kib", "mib", "gib", "b", "k", "x", "px", "rpm", "tokens",
    ];
    UNITS.contains(&unit.to_ascii_lowercase().as_str()).then_some("<n>")
}

/// Letters of both cases and digits in an order that no name has.
fn is_random(bytes: &[u8]) -> bool {
    if bytes.len() < 8 {
        return false;
    }
    let class = |b: u8| match b {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let mut changes = 0;
    let mut odd = false;
    for pair in bytes.windows(2) {
        let (a, b) = (class(pair[0]), class(pair[1]));
        if a == 3 || b == 3 {
            return false;
        }
        // A capital before a small letter begins a word; every other change is unusual.
        changes += usize::from(a != b && !(a == 1 && b == 0));
        odd |= a == 2 && b != 2;
    }
    odd |= bytes
        .windows(3)
        .any(|w| class(w[0]) == 1 && class(w[1]) == 1 && class(w[2]) == 0);
    odd && changes * 4 >= bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volatile_parts_go() {
        for (line, want) in [
            ("user 17 not found", "user <n> not found"),
            (
                "req 5d1c2c1e-1111-4222-8333-944445555666 took 12ms",
                "req <uuid> took <time>",
            ),
            ("connect ECONNREFUSED 10.56.56.155:8080", "connect ECONNREFUSED <ip>"),
            ("at 2026-01-02T03:04:05.678Z: boom", "at <time>: boom"),
            ("for jane@corp.example.org", "for <mail>"),
            ("for [redacted:mail]", "for <mail>"),
            ("commit b5cbdb1cd78158a9 of 0xdeadBEEF", "commit <hex> of <hex>"),
            ("open /tmp/job_vbvcmwzh/package.tgz", "open <tmp>/package.tgz"),
            (
                "GET https://feed.example.com:81/v2/quotes?nonce=fb52",
                "GET https://feed.example.com/v2/quotes",
            ),
            ("H.map is not a function", "<v>.map is not a function"),
            ("of `lhImKBeQdwkT`", "of `<id>`"),
            ("listen :::44347", "listen <ip>"),
            ("6.35s   left", "<time> left"),
            ("E unique-381 failed", "E unique-<n> failed"),
        ] {
            assert_eq!(mask(line), want, "{line}");
        }
    }

    #[test]
    fn what_tells_causes_apart_stays() {
        for line in [
            "null value in column \"tax_rate_2\" of relation \"invoices\"",
            "exited with exit code 137",
            "code: '23505'",
            "response failed 403",
            "HTTP 502 Bad Gateway",
            "error TS2307: Cannot find module",
            "Error code: P1012",
            "Minified React error #418",
            "signal 9",
            "\"code\": -32000",
            "getTodoById of HTTPServerError",
            "utf8 sha256 base64",
        ] {
            assert_eq!(mask(line), line);
        }
    }
}
