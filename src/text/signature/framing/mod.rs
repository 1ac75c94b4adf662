//! What platforms and loggers put before a line: times, levels, containers, jobs, process ids. Each reader gives the
//! length of what it recognises at the beginning; they are tried again on the rest until none fits.

mod loggers;

pub(super) use loggers::is_error;

/// So many layers of framing are taken off.
const MOST_LAYERS: usize = 6;
/// The longest name of a job, step or container.
const LONGEST_NAME: usize = 80;

/// The line without its framing.
pub(super) fn strip(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..MOST_LAYERS {
        match layer(rest) {
            Some(length) if length > 0 => rest = &rest[length..],
            _ => break,
        }
    }
    rest
}

fn layer(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    match bytes.first()? {
        b'0'..=b'9' => job(line)
            .or_else(|| timed(line))
            .or_else(|| clock(line))
            .or_else(|| loggers::tagged(line))
            .or_else(|| loggers::role(line)),
        b'[' => job(line)
            .or_else(|| timed(line))
            .or_else(|| bracketed(line))
            .or_else(|| loggers::bracket(line))
            .or_else(|| clock(line))
            .or_else(|| level(line)),
        b' ' | 0x80.. => bullet(line).or_else(|| boxed(line)).or_else(|| indented(line)),
        b'#' if line.starts_with("##[error]") => Some(9),
        b'#' => loggers::build_step(line),
        b'a'..=b'z' | b'A'..=b'Z' => job(line)
            .or_else(|| container(line))
            .or_else(|| level(line))
            .or_else(|| lettered(line))
            .or_else(|| syslog(line))
            .or_else(|| loggers::event(line))
            .or_else(|| loggers::uncaught(line)),
        _ => job(line),
    }
}

/// Reads `d` as a digit, `-` as a dash or slash, `T` as a `T` or space, `A` as a letter; the rest as it stands.
fn fits(text: &str, pattern: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= pattern.len()
        && pattern.bytes().zip(bytes).all(|(wanted, b)| match wanted {
            b'd' => b.is_ascii_digit(),
            b'-' => matches!(b, b'-' | b'/'),
            b'T' => matches!(b, b'T' | b' '),
            b'A' => b.is_ascii_alphabetic(),
            _ => wanted == *b,
        })
}

fn count(text: &str, from: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    rest.iter().take_while(|b| wanted(**b)).count()
}

/// Date and time of day with fraction and zone, with an opening bracket or without.
fn time(text: &str) -> Option<usize> {
    let start = usize::from(text.starts_with('['));
    let body = &text[start..];
    let mut at = start
        + if fits(body, "dddd-dd-ddTdd:dd:dd") {
            19
        } else if fits(body, "dd-AAA-ddddTdd:dd:dd") {
            20
        } else {
            return None;
        };
    at = fraction(text, at);
    let rest = &text[at..];
    let zone = rest.strip_prefix(' ').unwrap_or(rest);
    let length = if zone.starts_with('Z') {
        1
    } else if zone.starts_with("UTC") {
        3
    } else if zone.starts_with(['+', '-']) && fits(&zone[1..], "dd:dd") {
        6
    } else if zone.starts_with(['+', '-']) && fits(&zone[1..], "dddd") {
        5
    } else {
        return Some(at);
    };
    Some(at + rest.len() - zone.len() + length)
}

fn fraction(text: &str, at: usize) -> usize {
    if !text[at..].starts_with(['.', ',']) {
        return at;
    }
    match count(text, at + 1, |b| b.is_ascii_digit()) {
        0 => at,
        digits => at + 1 + digits,
    }
}

/// `job<TAB>step<TAB>time`.
fn job(line: &str) -> Option<usize> {
    let near = &line.as_bytes()[..line.len().min(2 * LONGEST_NAME + 2)];
    if !near.contains(&b'\t') {
        return None;
    }
    let first = near.iter().position(|b| *b == b'\t')?;
    let second = first + 1 + near[first + 1..].iter().position(|b| *b == b'\t')?;
    if first == 0 || second == first + 1 {
        return None;
    }
    let end = second + 1 + time(&line[second + 1..])?;
    Some(end + usize::from(line[end..].starts_with(' ')))
}

/// A time, and what some loggers put behind it: a request and level, a worker, a process and thread.
fn timed(line: &str) -> Option<usize> {
    let end = time(line)?;
    let rest = &line[end..];
    if let Some(worker) = worker(rest) {
        return Some(end + worker);
    }
    let end = end + count(rest, 0, |b| b == b']').min(1);
    let end = end + count(&line[end..], 0, |b| b == b':').min(1);
    let gap = count(line, end, |b| b == b' ' || b == b'\t');
    let rest = &line[end + gap..];
    let logger = request(rest)
        .or_else(|| stream(rest))
        .or_else(|| thread(rest))
        .or_else(|| named_logger(rest))
        .or_else(|| loggers::behind_time(rest));
    // What is indented further has its place in what was printed.
    let indented = gap > 2 && logger.is_none() && !rest.starts_with(|c: char| c.is_ascii_uppercase());
    Some(end + if indented { 1 } else { gap + logger.unwrap_or(0) })
}

/// `: ERROR/ForkPoolWorker-7] `.
fn worker(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix(": ")?;
    let (name, _) = inner.split_once("] ")?;
    let (level, worker) = name.split_once('/')?;
    let letters = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_alphabetic() || b == b'-' || b.is_ascii_digit())
    };
    (letters(level) && letters(worker)).then(|| 2 + name.len() + 2)
}

/// The request that a function serves: an id between tabs, and a level.
fn request(rest: &str) -> Option<usize> {
    let id = count(rest, 0, |b| b.is_ascii_hexdigit() || b == b'-');
    if id != 36 || !rest[id..].starts_with('\t') {
        return None;
    }
    let level = count(rest, 37, |b| b.is_ascii_uppercase());
    Some(
        37 + if level > 0 && rest[37 + level..].starts_with('\t') {
            level + 1
        } else {
            0
        },
    )
}

/// `stderr F `: the stream that a container wrote to.
fn stream(rest: &str) -> Option<usize> {
    ["stderr F ", "stdout F ", "stderr P ", "stdout P "]
        .iter()
        .find(|stream| rest.starts_with(**stream))
        .map(|stream| stream.len())
}

/// `ERROR 12 --- [exec-1] a.b.C : `.
fn thread(rest: &str) -> Option<usize> {
    let word = count(rest, 0, |b| b.is_ascii_uppercase());
    let spaces = count(rest, word, |b| b == b' ');
    let pid = count(rest, word + spaces, |b| b.is_ascii_digit());
    let at = word + spaces + pid;
    if word == 0 || spaces == 0 || pid == 0 || !rest[at..].starts_with(" --- [") {
        return None;
    }
    let behind = at + rest[at..].find(" : ")? + 3;
    Some(behind)
}

/// `- app.worker - ERROR - `.
fn named_logger(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix("- ")?;
    let (name, inner) = inner.split_once(" - ")?;
    let level = count(inner, 0, |b| b.is_ascii_uppercase());
    let named = !name.contains(' ') && level >= 4 && inner[level..].starts_with(" - ");
    named.then(|| 2 + name.len() + 3 + level + 3)
}

/// `03:04:05.678 | `.
fn clock(line: &str) -> Option<usize> {
    let start = usize::from(line.starts_with('['));
    if !fits(&line[start..], "dd:dd:dd") {
        return None;
    }
    let mut at = fraction(line, start + 8);
    at += usize::from(line[at..].starts_with(']'));
    if line[at..].starts_with(" |") {
        at += 2;
    }
    at += usize::from(line[at..].starts_with(' '));
    Some(at + loggers::behind_time(&line[at..]).unwrap_or(0))
}

/// `api-1  | `.
fn container(line: &str) -> Option<usize> {
    let name = count(line, 0, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')
    });
    if name > LONGEST_NAME {
        return None;
    }
    let spaces = count(line, name, |b| b == b' ');
    if spaces == 0 || !line[name + spaces..].starts_with('|') {
        return None;
    }
    let numbered = line[..name].trim_end_matches(|c: char| c.is_ascii_digit());
    if numbered.len() == name || !numbered.ends_with(['-', '_']) {
        return None;
    }
    let end = name + spaces + 1;
    Some(end + usize::from(line[end..].starts_with(' ')))
}

const LEVELS: [&str; 6] = ["ERROR", "WARN", "WARNING", "CRITICAL", "error", "warn"];
/// Those that are a word of the message unless they stand in brackets.
const BRACKETED_LEVELS: [&str; 8] = [
    "crit", "alert", "emerg", "fatal", "critical", "warning", "FATAL", "SEVERE",
];

/// `[error] `, `WARN: `; and behind it the ids of a process and connection (`12#12: *34 `).
fn level(line: &str) -> Option<usize> {
    let open = usize::from(line.starts_with('['));
    let length = count(line, open, |b| b.is_ascii_alphabetic());
    let word = &line[open..open + length];
    let known = LEVELS.contains(&word) || (open == 1 && BRACKETED_LEVELS.contains(&word));
    if !known {
        return None;
    }
    let mut at = open + length;
    let closed = line[at..].starts_with(']');
    at += usize::from(closed);
    if !line[at..].starts_with([':', ' ', '\t']) {
        return (closed && at == line.len()).then_some(at);
    }
    at += 1;
    at += count(line, at, |b| b == b' ' || b == b'\t');
    Some(at + connection(&line[at..]).unwrap_or(0))
}

/// `ERROR: ` before what is indented as well.
pub(super) fn without_level(content: &str) -> &str {
    match content.split_once(": ") {
        Some((word, rest)) if LEVELS.contains(&word) && !rest.trim().is_empty() => rest,
        _ => content,
    }
}

fn connection(rest: &str) -> Option<usize> {
    let pid = count(rest, 0, |b| b.is_ascii_digit());
    let tid = count(rest, pid + usize::from(rest[pid..].starts_with('#')), |b| {
        b.is_ascii_digit()
    });
    let at = pid + 1 + tid;
    if pid == 0 || tid == 0 || !rest.get(pid..)?.starts_with('#') || !rest.get(at..)?.starts_with(": ") {
        return None;
    }
    let number = rest[at + 2..]
        .strip_prefix('*')
        .map_or(0, |rest| 1 + count(rest, 0, |b| b.is_ascii_digit()));
    let end = at + 2 + number;
    Some(end + usize::from(number > 0 && rest[end..].starts_with(' ')))
}

/// `E0102 03:04:05.678901       1 cart.go:12] ` and `E, [2026-01-02T03:04:05.678 #12] ERROR -- : `.
fn lettered(line: &str) -> Option<usize> {
    if !matches!(line.as_bytes()[0], b'E' | b'W' | b'F' | b'I' | b'D') {
        return None;
    }
    if fits(&line[1..], "dddd dd:dd:dd.") {
        let end = line.find("] ")?;
        return (end < LONGEST_NAME).then_some(end + 2);
    }
    if line[1..].starts_with(", [") && fits(&line[4..], "dddd-dd-ddTdd:dd:dd") {
        let end = line.find(" -- ")? + 4;
        let name = line[end..].find(": ")?;
        return (end + name < LONGEST_NAME).then_some(end + name + 2);
    }
    if let Some(tag) = loggers::tag(line) {
        return Some(tag);
    }
    let spaces = count(line, 1, |b| b == b' ');
    // A test runner marks the lines of an error.
    (line.starts_with('E') && spaces >= 2).then_some(1 + spaces)
}

/// `Jun 19 03:04:05 host `.
fn syslog(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    if !fits(line, "AAA ") || !bytes[0].is_ascii_uppercase() || !bytes[1..3].iter().all(u8::is_ascii_lowercase) {
        return None;
    }
    let spaces = count(line, 3, |b| b == b' ');
    let day = count(line, 3 + spaces, |b| b.is_ascii_digit());
    let at = 3 + spaces + day;
    if !(1..=2).contains(&day) || !fits(&line[at..], " dd:dd:dd ") {
        return None;
    }
    let host = count(line, at + 10, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')
    });
    let end = at + 10 + host;
    (host > 0 && line[end..].starts_with(' ')).then(|| end + 1 + loggers::program(&line[end + 1..]).unwrap_or(0))
}

/// `[err] `, `[123] `.
fn bracketed(line: &str) -> Option<usize> {
    let inner = count(line, 1, |b| b.is_ascii_alphanumeric());
    let word = &line[1..=inner];
    let known =
        matches!(word, "err" | "out" | "stderr" | "stdout") || (inner > 0 && word.bytes().all(|b| b.is_ascii_digit()));
    if !known || !line[1 + inner..].starts_with(']') {
        return None;
    }
    let end = inner + 2;
    Some(end + usize::from(line[end..].starts_with(' ')))
}

/// `│ `: a message in a box. Source code that a compiler shows has the number of its line before that.
fn boxed(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("│ ")?;
    rest.starts_with(|c: char| c != ' ' && c != '│')
        .then(|| line.len() - rest.len())
        .or_else(|| {
            let inner = rest.trim_start();
            (rest.len() - inner.len() <= 4 && inner.starts_with(|c: char| c.is_ascii_alphabetic()))
                .then(|| line.len() - inner.len())
        })
}

/// `  [28] `: as without the spaces, which a time before them takes along.
fn indented(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches(' ');
    let digits = count(rest, 1, |b| b.is_ascii_digit());
    let numbered = rest.starts_with('[') && digits > 0 && rest[1 + digits..].starts_with("] ");
    numbered.then(|| line.len() - rest.len() + digits + 3)
}

fn bullet(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches(' ');
    let mark = rest
        .chars()
        .next()
        .filter(|c| matches!(c, '⨯' | '✖' | '×' | '●' | '✗' | '✘'))?;
    let at = line.len() - rest.len() + mark.len_utf8();
    match count(line, at, |b| b == b' ') {
        0 => None,
        spaces => Some(at + spaces),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_goes() {
        for line in [
            "boom",
            "2026-02-24T09:19:53.843Z boom",
            "[02:14:49.355] boom",
            "api-1     | boom",
            "17:21:35.873 | boom",
            "test (20.x)\tRun pnpm test\t2025-10-09T09:16:54.3312120Z boom",
            "2025-07-06T19:20:51.894723Z [err] 2025-07-06T19:20:51.886708Z  WARN boom",
            "2026-07-21T23:38:54.651Z\t9cf83894-6d6f-4b52-a197-96b17557b940\tERROR\tboom",
            " ⨯ boom",
            "worker-1  | [2025-02-05 18:07:55.346 UTC] [3171] [ERROR] boom",
            "[2026-01-02 03:04:05,123: ERROR/ForkPoolWorker-7] boom",
            "2026-01-02T03:04:05.123456789Z stderr F boom",
            "2026/01/02 03:04:05 [error] 31#31: *1207 boom",
            "2026-01-02 03:04:05.123 ERROR 4711 --- [nio-8080-exec-3] c.e.shop.Cart : boom",
            "2026-01-02 03:04:05,123 - shop.cart - ERROR - boom",
            "E0102 03:04:05.678901       1 cart.go:12] boom",
            "E, [2026-01-02T03:04:05.678901 #12] ERROR -- : boom",
            "[02-Jan-2026 03:04:05 UTC] boom",
            "Jan  2 03:04:05 web-3 boom",
            "03:04:05.678 [error] boom",
            "##[error]boom",
            "E   boom",
            "E Cart: boom",
            "E/Cart: boom",
            "E/Cart( 1207): boom",
            "Uncaught (in promise) boom",
            "1:M 14 Nov 2026 03:04:05.678 # boom",
            "│ boom",
            "│   boom",
            "   [28] boom",
        ] {
            assert_eq!(strip(line), "boom", "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_framing_stays() {
        for line in [
            "error",
            "Error: x",
            "May be",
            "web | x",
            "errors: 3",
            "2026-01",
            "12:30",
            "[redacted:key] x",
            "FATAL: x",
            "E11000 duplicate key",
            "  │ boom",
            "error[E0308]: x",
            "1:M boom",
            "E",
        ] {
            assert_eq!(strip(line), line);
        }
    }

    #[test]
    fn any_beginning_is_survived() {
        for line in [
            "[",
            "[é",
            "E, [",
            "1#",
            "[error]",
            "a\t",
            "\té",
            "Jan é",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04:05.",
            "E0102 03:04:05.",
            " ●",
            "error",
            "[12",
        ] {
            assert!(line.ends_with(strip(line)));
        }
    }
}
