//! Replaces the volatile parts of one line by their kind. What tells causes apart stays: names, codes, statuses.
//! Hand-written and linear; it knows shapes and no products.

use std::{
    borrow::Cow,
    net::{Ipv4Addr, Ipv6Addr},
};

use super::words::{Context, contains_word, parts};

/// The line with its volatile parts masked and its white space made single.
pub(super) fn mask(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut words = Context {
        failing: ["http", "status", "respon", "request", "fail", "error"]
            .iter()
            .any(|word| contains_word(line, word)),
        ..Context::default()
    };
    // A parser names the character that it stumbled over.
    let line = &without_character(line);
    let mut rest = line.trim().trim_end_matches(['.', ' ']);
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("[redacted:") {
            let end = rest.find(']').map_or(rest.len(), |end| end + 1);
            out.push_str(redacted_as(&rest[..end]));
            rest = &rest[end..];
        } else if let Some(value) = rest.strip_prefix(")=(") {
            // A database names the column and shows the row's value.
            out.push_str(")=(<v>");
            rest = value.find(')').map_or("", |end| &value[end..]);
        } else if c.is_whitespace() || is_ruling(rest, c, &out) {
            if !out.ends_with(' ') && !out.is_empty() {
                out.push(' ');
            }
            rest = rest.trim_start_matches(c);
        } else if is_delimiter(c) {
            out.push(c);
            words.quoted = matches!(c, '"' | '\'' | '`');
            rest = &rest[c.len_utf8()..];
        } else {
            let mut end = run_end(rest, is_delimiter);
            if rest[..end].contains("://") {
                end = run_end(rest, |c| is_delimiter(c) && c != '=');
            }
            let (run, tail) = rest.split_at(end);
            words.next = next_word(tail);
            words.last = tail.chars().all(|c| c.is_whitespace() || is_delimiter(c));
            mask_run(run, &mut words, &mut out);
            words.quoted = false;
            rest = tail;
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn without_character(line: &str) -> Cow<'_, str> {
    let Some((before, after)) = line.split_once("nexpected token ") else {
        return Cow::Borrowed(line);
    };
    let mut chars = after.chars();
    match (chars.next(), chars.next()) {
        (Some(_), None | Some(' ' | ',')) => Cow::Owned(format!(
            "{before}nexpected token <v>{}",
            &after[after.ceil_char_boundary(1)..]
        )),
        _ => Cow::Borrowed(line),
    }
}

/// A line drawn with characters, of whatever length.
fn is_ruling(rest: &str, c: char, out: &str) -> bool {
    let drawn = matches!(c, '─' | '⎯' | '━' | '═');
    let repeated =
        matches!(c, '=' | '-' | '_' | '~' | '*' | '#') && rest.len() > 2 && rest.bytes().take(3).all(|b| b == c as u8);
    drawn || (repeated && (out.is_empty() || out.ends_with(' ')))
}

fn run_end(rest: &str, delimiter: impl Fn(char) -> bool) -> usize {
    rest.find(|c: char| c.is_whitespace() || delimiter(c))
        .unwrap_or(rest.len())
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

fn next_word(tail: &str) -> String {
    let tail = tail.trim_start_matches([' ', '\'', '"', ')']);
    tail.chars().take_while(char::is_ascii_alphabetic).take(12).collect()
}

fn mask_run(run: &str, words: &mut Context, out: &mut String) {
    let core = run.trim_end_matches(['.', ':', '!', '?']);
    let tail = &run[core.len()..];
    if core.contains("://") {
        out.push_str(&url(core));
        words.previous.clear();
    } else if let Some(masked) = whole(core) {
        out.push_str(masked);
        words.previous.clear();
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
    if run.contains("***") {
        return Some("<secret>");
    }
    if is_time(run) {
        return Some("<time>");
    }
    if run.matches(':').count() >= 4
        && run
            .split(':')
            .all(|pair| pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit()))
    {
        return Some("<hex>");
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
