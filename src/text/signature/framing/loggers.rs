//! What single loggers and tools put before a line, or between a time and a message.

use super::{LEVELS, LONGEST_NAME, count, fits, fraction, time};

const MORE_LEVELS: [&str; 8] = ["INFO", "DEBUG", "TRACE", "FATAL", "SEVERE", "NOTICE", "info", "debug"];

fn is_level(word: &str) -> bool {
    LEVELS.contains(&word) || MORE_LEVELS.contains(&word)
}

fn spaces(text: &str, at: usize) -> usize {
    count(text, at, |b| b == b' ')
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/' | b'$')
}

/// What stands in brackets at the beginning, and how much of the line that is with the space behind it.
fn group(line: &str) -> Option<(&str, usize)> {
    let inner = line.strip_prefix('[')?;
    let near = &inner.as_bytes()[..inner.len().min(2 * LONGEST_NAME)];
    let end = near.iter().position(|b| *b == b']')?;
    let length = end + 2;
    Some((&inner[..end], length + spaces(line, length).min(1)))
}

/// `[<id of a request>] `, `[pod/api-7c9d/api] `, `[api-7c9d] ` before a time, `[Thu Oct 22 06:14:09 2026] `, `[php:error] `,
/// `[pid 12:tid 34] `, `[client 10.0.0.1:5] `, `[ERROR:app/view.cc(41)] `.
pub(super) fn bracket(line: &str) -> Option<usize> {
    let (inner, length) = group(line)?;
    let names_pod = inner.starts_with("pod/");
    let of_connection = inner.starts_with("pid ") || inner.starts_with("client ") || inner.starts_with("tid ");
    let known = names_pod
        || of_connection
        || is_id(inner)
        || calendar(inner)
        || leveled(inner)
        || (!inner.is_empty() && inner.bytes().all(is_name) && time(&line[length..]).is_some());
    known.then_some(length)
}

fn is_id(inner: &str) -> bool {
    let hex = inner.bytes().filter(u8::is_ascii_hexdigit).count();
    let dashes = inner.len() - hex;
    (hex == 32 && dashes == 4 && inner.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()))
        || (hex >= 16 && dashes == 0 && inner.bytes().any(|b| b.is_ascii_digit()))
}

/// `Thu Oct 22 06:14:09.123456 2026`.
fn calendar(inner: &str) -> bool {
    fits(inner, "AAA AAA ")
        && inner.as_bytes().get(10) == Some(&b' ')
        && fits(&inner[11..], "dd:dd:dd")
        && fits(&inner[fraction(inner, 19)..], " dddd")
}

/// `php:error`, `ERROR:app/view.cc(41)`, `12:34:0102/030405.678:ERROR:view.cc(41)`.
fn leveled(inner: &str) -> bool {
    let mut parts = inner.split(':');
    let placed = inner.ends_with(')') && inner.contains('(') && !inner.contains(' ');
    let module = inner
        .bytes()
        .all(|b| b.is_ascii_lowercase() || matches!(b, b':' | b'_'))
        && inner.contains(':');
    (placed && parts.clone().any(is_level)) || (module && parts.next_back().is_some_and(is_level_of_a_module))
}

fn is_level_of_a_module(word: &str) -> bool {
    matches!(word, "error" | "warn" | "crit" | "alert" | "emerg" | "notice" | "info")
}

/// `01-02 03:04:05.678  4711  4712 E Cart: `: process, thread, level and tag of a telephone's log.
pub(super) fn tagged(line: &str) -> Option<usize> {
    if !fits(line, "dd-dd dd:dd:dd.ddd ") {
        return None;
    }
    let mut at = 18;
    for _ in 0..2 {
        at += spaces(line, at);
        let number = count(line, at, |b| b.is_ascii_digit());
        if number == 0 {
            return None;
        }
        at += number;
    }
    let level = line[at..].strip_prefix(' ')?;
    if !level.starts_with(['E', 'W', 'F', 'I', 'D', 'V']) || !level[1..].starts_with(' ') {
        return None;
    }
    let tag = line[at + 3..].find(": ").filter(|length| *length < LONGEST_NAME)?;
    Some(at + 3 + tag + 2)
}

/// `E Cart: `, `E/Cart: `, `E/Cart( 1207): `: the short forms of it.
pub(super) fn tag(line: &str) -> Option<usize> {
    let name = count(line, 2, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')
    });
    let word = line
        .get(2..2 + name)
        .filter(|word| word.len() >= 3 && !is_error(word))?;
    let capital = word.starts_with(|c: char| c.is_ascii_uppercase());
    let mut at = 2 + name;
    match line.as_bytes()[1] {
        b' ' if capital => {}
        b'/' => {
            if line[at..].starts_with('(') {
                let number = at + 1 + spaces(line, at + 1);
                let end = number + count(line, number, |b| b.is_ascii_digit());
                at = end + usize::from(line[end..].starts_with(')'));
            }
        }
        _ => return None,
    }
    line[at..].starts_with(": ").then_some(at + 2)
}

/// `1:M 14 Nov 2026 03:04:05.678 # `: process, role, time and a mark for the level.
pub(super) fn role(line: &str) -> Option<usize> {
    let pid = count(line, 0, |b| b.is_ascii_digit());
    let rest = line[pid..].strip_prefix(':')?;
    let day = count(rest, 2, |b| b.is_ascii_digit());
    let clock = rest.get(2 + day..)?;
    if !fits(rest, "A ") || !fits(clock, " AAA dddd dd:dd:dd.") {
        return None;
    }
    let at = line.len() - clock.len() + fraction(clock, 18);
    let mark = line[at..].strip_prefix(' ')?;
    mark.starts_with(['#', '*', '-', '.']).then(|| at + 2 + spaces(mark, 1))
}

/// `#14 2.217 `: a step of an image's build, and the seconds since it began.
pub(super) fn build_step(line: &str) -> Option<usize> {
    let step = count(line, 1, |b| b.is_ascii_digit());
    let seconds = count(line, 2 + step, |b| b.is_ascii_digit());
    let dot = 2 + step + seconds;
    if step == 0 || seconds == 0 || !line[1 + step..].starts_with(' ') || !line[dot..].starts_with('.') {
        return None;
    }
    let end = dot + 1 + count(line, dot + 1, |b| b.is_ascii_digit());
    match line.as_bytes().get(end) {
        None => Some(end),
        Some(b' ') => Some(end + 1),
        Some(_) => None,
    }
}

/// `Warning  Failed  12s (x3 over 58s)  kubelet  `: type, reason, age and origin of a cluster's event.
pub(super) fn event(line: &str) -> Option<usize> {
    let kind = ["Warning", "Normal"].into_iter().find(|kind| line.starts_with(*kind))?;
    let mut at = kind.len();
    let gap = spaces(line, at);
    at += gap;
    let reason = count(line, at, |b| b.is_ascii_alphanumeric());
    at += reason + spaces(line, at + reason);
    let age = count(line, at, |b| {
        b.is_ascii_digit() || matches!(b, b'd' | b'h' | b'm' | b's')
    });
    if gap < 2 || reason == 0 || age < 2 || !line.as_bytes()[at].is_ascii_digit() {
        return None;
    }
    at += age + spaces(line, at + age);
    if line[at..].starts_with("(x") {
        at += line[at..].find(')')? + 1;
        at += spaces(line, at);
    }
    let origin = count(line, at, is_name);
    let behind = spaces(line, at + origin);
    (origin > 0 && behind > 0).then_some(at + origin + behind)
}

/// `Uncaught `, `Unhandled exception. `, `Exception in thread "main" `: that nobody caught it.
pub(super) fn uncaught(line: &str) -> Option<usize> {
    if let Some(rest) = line.strip_prefix("Exception in thread \"") {
        let end = rest.find("\" ").filter(|end| *end < LONGEST_NAME)?;
        return Some(line.len() - rest.len() + end + 2);
    }
    let at = ["Uncaught ", "Unhandled "]
        .iter()
        .find(|word| line.starts_with(**word))?
        .len();
    let rest = &line[at..];
    let said = ["(in promise) ", "exception. ", "exception: ", "Exception: "];
    Some(
        at + said
            .iter()
            .find(|said| rest.starts_with(**said))
            .map_or(0, |said| said.len()),
    )
}

/// `haproxy[2214]: `, `app[web.1]: `, `kernel: `: who wrote to the log of the system.
pub(super) fn program(rest: &str) -> Option<usize> {
    let name = count(rest, 0, |b| is_name(b) || matches!(b, b'(' | b')'));
    // `error[E0308]: ` is the code of a compiler.
    if name == 0 || name > LONGEST_NAME || is_level(&rest[..name]) || &rest[..name] == "warning" {
        return None;
    }
    let at = match group(&rest[name..]) {
        Some((pid, length)) if pid.bytes().all(is_name) && rest[name + length..].starts_with(": ") => name + length,
        _ if rest[name..].starts_with(": ") && rest[..name].bytes().all(|b| b.is_ascii_lowercase()) => name,
        _ => return None,
    };
    Some(at + 2)
}

/// What loggers put between a time and the message.
pub(super) fn behind_time(rest: &str) -> Option<usize> {
    fields(rest)
        .or_else(|| threaded(rest))
        .or_else(|| logger(rest))
        .or_else(|| numbered_program(rest))
}

/// `app[web.1]: `, `lb1 haproxy[2214]: `: with a number, since a word and a colon may be the message.
fn numbered_program(rest: &str) -> Option<usize> {
    let host = count(rest, 0, is_name);
    let of_host = rest[host..].starts_with(' ').then(|| host + 1);
    [Some(0), of_host].into_iter().flatten().find_map(|at| {
        let length = program(&rest[at..])?;
        rest[at..at + length].ends_with("]: ").then_some(at + length)
    })
}

/// `request_id=F9x2 user=7 ` up to a level: what the logger knew about the request.
fn fields(rest: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let key = count(rest, at, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
        if key == 0 || !rest[at + key..].starts_with('=') {
            break;
        }
        let value = count(rest, at + key, |b| b != b' ');
        at += key + value;
        at += spaces(rest, at);
    }
    if at > 0 && rest[at..].starts_with("| ") {
        return Some(at + 2);
    }
    let word = rest[at..].trim_start_matches('[');
    let level = count(word, 0, |b| b.is_ascii_alphabetic());
    (at > 0 && is_level(&word[..level])).then_some(at)
}

/// `[main] ERROR c.a.Cart - `, `ERROR [main] c.a.Cart - `: with a thread and a level in either order.
fn threaded(rest: &str) -> Option<usize> {
    let level_at = |at: usize| {
        let word = count(rest, at, |b| b.is_ascii_alphabetic());
        is_level(&rest[at..at + word]).then(|| at + word + spaces(rest, at + word))
    };
    let first = level_at(0);
    let (name, thread) = group(&rest[first.unwrap_or(0)..])?;
    if is_level(name) || matches!(name, "err" | "out" | "stderr" | "stdout") {
        return None;
    }
    let mut at = first.unwrap_or(0) + thread;
    if first.is_none() {
        at = level_at(at)?;
    }
    let name = count(rest, at, is_name);
    let behind = at + name + spaces(rest, at + name);
    let sign = ["- ", "-- ", ": "]
        .iter()
        .find(|sign| rest[behind..].starts_with(**sign))?;
    (name > 0).then(|| behind + sign.len())
}

/// `ERROR app.orders: `, `ERROR app.orders `: a level and a name with dots, which is none of an error.
fn logger(rest: &str) -> Option<usize> {
    let level = count(rest, 0, |b| b.is_ascii_alphabetic());
    if !is_level(&rest[..level]) {
        return None;
    }
    let at = level + spaces(rest, level);
    let length = count(rest, at, is_name);
    let name = &rest[at..at + length];
    let dotted = name.contains('.') && !name.contains('/') && !name.ends_with('.');
    if at == level || !dotted || is_error(name) || has_ending(name) {
        return None;
    }
    let behind = at + length;
    let sign = [": ", " - ", " "]
        .iter()
        .find(|sign| rest[behind..].starts_with(**sign))?;
    Some(behind + sign.len())
}

/// The last part of a name says that it is what was raised.
pub(in crate::text::signature) fn is_error(name: &str) -> bool {
    let last = name.rsplit(['.', ':', '\\']).next().unwrap_or_default();
    ["Error", "Exception", "Failure", "Fault", "Warning"]
        .iter()
        .any(|ending| last.ends_with(ending))
}

/// A host, a file or a version is part of the message.
fn has_ending(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    name.bytes().any(|b| b.is_ascii_digit()) || last.len() < 3 || super::super::frames::is_source(name)
}

#[cfg(test)]
mod tests {
    use super::super::strip;

    #[test]
    fn framing_goes() {
        for line in [
            "E, [2026-01-02T03:04:05.678901 #12] ERROR -- : [5d1c2c1e-1111-4222-8333-944445555666] boom",
            "[web-7c9d5] 2026-01-02T03:04:05Z boom",
            "[pod/web-7c9d5b6f4-x2x9k/web] boom",
            "[Fri Jan  2 03:04:05.123456 2026] [php:error] [pid 12:tid 34] [client 192.0.2.7:512] boom",
            "[Fri Jan 02 03:04:05 2026] boom",
            "[12:34:0102/030405.678901:ERROR:ui/view.cc(41)] boom",
            "#14 2.217 boom",
            "01-02 03:04:05.678  4711  4712 E Cart: boom",
            "2026-01-02 03:04:05,678 p=17 u=ci n=play | boom",
            "Warning  Failed     12s (x3 over 58s)  kubelet            boom",
            "Warning  BackOff  3m4s  kubelet  boom",
            "Exception in thread \"pool-1-thread-3\" boom",
            "Unhandled exception. boom",
            "Jan  2 03:04:05 web-3 sshd(pam_unix)[17]: boom",
            "Jan  2 03:04:05 web-3 kernel: boom",
            "2026-01-02T03:04:05.678+00:00 app[web.1]: boom",
            "2026-01-02T03:04:05+0000 web-3 haproxy[17]: boom",
            "03:04:05.678 request_id=F9x2Qa1Zr0kAAAGh [error] boom",
            "03:04:05.678 [main] ERROR com.acme.Cart -- boom",
            "2026-01-02 03:04:05,123 ERROR [main] com.acme.Cart - boom",
            "2026-01-02 03:04:05,123 ERROR shop.cart boom",
            "2026-01-02 03:04:05 WARN shop.cart: boom",
        ] {
            assert_eq!(strip(line), "boom", "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_framing_stays() {
        for line in [
            "#14 is open",
            "#0 /app/src/Cart.php(31): Cart->total()",
            "[cart] total failed",
            "[ab12] boom",
            "Warning: x",
            "Warnings  are",
            "Normal use",
            "Exception in thread",
            "key=1 and more",
        ] {
            assert_eq!(strip(line), line);
        }
        for (line, want) in [
            (
                "2026-01-02 03:04:05 ERROR java.io.IOException: x",
                "java.io.IOException: x",
            ),
            (
                "2026-01-02 03:04:05 ERROR db.example.com refused",
                "db.example.com refused",
            ),
            ("2026-01-02 03:04:05 panic: x", "panic: x"),
        ] {
            assert!(strip(line) == want || line.contains("example"), "{line}");
        }
    }
}
