//! What a run of characters is as a whole: an address, a host, a time, a mail address, a path.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::frames;

/// What a run is made of.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Shape {
    pub(super) digits: usize,
    pub(super) colons: usize,
    pub(super) dots: usize,
    pub(super) dashes: usize,
    pub(super) slashes: usize,
    pub(super) ats: usize,
    pub(super) stars: usize,
    letters: usize,
    others: usize,
}

impl Shape {
    pub(super) fn of(run: &str) -> Self {
        let mut shape = Self::default();
        for b in run.bytes() {
            *match b {
                b'0'..=b'9' => &mut shape.digits,
                b':' => &mut shape.colons,
                b'.' => &mut shape.dots,
                b'-' => &mut shape.dashes,
                b'/' | b'\\' => &mut shape.slashes,
                b'@' => &mut shape.ats,
                b'*' => &mut shape.stars,
                b'a'..=b'z' | b'A'..=b'Z' => &mut shape.letters,
                _ => &mut shape.others,
            } += 1;
        }
        shape
    }

    pub(super) fn is_host(&self) -> bool {
        self.dots >= 1 && self.letters >= 2 && self.colons + self.slashes + self.ats + self.stars + self.others == 0
    }
}

/// A run that is one volatile thing as a whole.
pub(super) fn whole(run: &str, shape: &Shape, tail: &str) -> Option<&'static str> {
    if shape.stars >= 3 && run.contains("***") {
        return Some("<secret>");
    }
    if shape.digits > 0 {
        if shape.digits >= 13 && shape.dashes >= 2 && is_stamped(run) {
            return Some("<n>");
        }
        if (shape.dots >= 3 || shape.colons >= 2) && is_address(run) {
            return Some("<host>");
        }
        if shape.colons + shape.dashes + shape.slashes > 0 && is_time(run, shape) {
            return Some("<time>");
        }
        if shape.is_host() && is_numbered_host(run) {
            return Some("<host>");
        }
        if is_location(run, shape) {
            return Some("<n>");
        }
    }
    if shape.colons >= 4
        && run
            .split(':')
            .all(|pair| pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit()))
    {
        return Some("<n>");
    }
    if shape.is_host() && shape.dots >= 1 && has_address_behind(tail) {
        return Some("<host>");
    }
    if shape.ats != 1 {
        return None;
    }
    let (local, domain) = run.split_once('@')?;
    let mail = !local.is_empty()
        && domain.contains('.')
        && domain.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    (mail && !domain.starts_with(|c: char| c.is_ascii_digit())).then_some("<mail>")
}

/// `fra1::x2x9z-1767520800123-7b2ea3346633`: an id with the time of its making in it.
fn is_stamped(run: &str) -> bool {
    let mut parts = run.rsplit('-');
    let random = |part: &str| part.len() >= 8 && part.bytes().all(|b| b.is_ascii_hexdigit());
    let time = |part: &str| part.len() == 13 && part.bytes().all(|b| b.is_ascii_digit());
    parts.next().is_some_and(random) && parts.next().is_some_and(time)
}

pub(super) fn is_address(run: &str) -> bool {
    let run = run.trim_start_matches('/');
    if let Some(port) = run.strip_prefix(":::") {
        return port.bytes().all(|b| b.is_ascii_digit());
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let host = match run.rsplit_once([':', '/', '#']) {
        Some((host, port)) if !host.contains(':') && digits(port) => host,
        _ => run,
    };
    let v6 = run.bytes().filter(|b| *b == b':').count() >= 2
        && run.bytes().any(|b| b.is_ascii_digit())
        && run.parse::<Ipv6Addr>().is_ok();
    host.parse::<Ipv4Addr>().is_ok() || v6
}

/// `host-192-0-2-7.example.net`: a name made from an address.
pub(super) fn is_numbered_host(host: &str) -> bool {
    let Some((_, ending)) = host.rsplit_once('.') else {
        return false;
    };
    let groups = host
        .split(['-', '.'])
        .filter(|part| (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()))
        .count();
    groups >= 4 && ending.len() >= 2 && ending.bytes().all(|b| b.is_ascii_lowercase())
}

/// Whether the text begins with an address or the name of a host.
pub(super) fn starts_with_place(text: &str) -> bool {
    let end = text
        .find(|c: char| c.is_whitespace() || matches!(c, ',' | ')' | ']'))
        .unwrap_or(text.len());
    let place = text[..end].trim_end_matches([':', '.']);
    let shape = Shape::of(place);
    place.starts_with("<host>")
        || is_address(place)
        || place.starts_with("[redacted:ip")
        || (shape.is_host() && shape.dots >= 1)
}

/// A host whose address follows in brackets.
fn has_address_behind(tail: &str) -> bool {
    let Some(inner) = tail.trim_start().strip_prefix(['[', '(']) else {
        return false;
    };
    inner.starts_with("<host>") || inner.trim_start_matches('[').starts_with("redacted:ip]") || {
        let near = &inner[..inner.floor_char_boundary(64)];
        let end = near.find([']', ')']).unwrap_or(0);
        end > 0 && is_address(&inner[..end])
    }
}

/// Dates, times of day and their combinations.
fn is_time(run: &str, shape: &Shape) -> bool {
    if !run.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    if shape.letters == 3 && (shape.slashes == 2 || shape.dashes == 2) {
        // `19/Jun/2005:03:40:11`
        let mut parts = run.split(['/', '-']);
        let day = parts.next().is_some_and(|day| day.len() <= 2);
        return day
            && parts
                .next()
                .is_some_and(|month| month.len() == 3 && month.bytes().all(|b| b.is_ascii_alphabetic()));
    }
    let allowed = run.bytes().all(|b| b.is_ascii_digit() || b":.-/+TZ,".contains(&b));
    let before = run.split(':').next().unwrap_or_default();
    let hours = before.bytes().rev().take_while(u8::is_ascii_digit).count();
    let clock = shape.colons >= 1 && shape.digits >= 3 && hours <= 2 && !(shape.colons == 1 && shape.dots >= 2);
    let separators = run.bytes().filter(|b| *b == b'-').count() == 2 || run.bytes().filter(|b| *b == b'/').count() == 2;
    let dotted = shape.dashes == 3 && shape.dots >= 2 && shape.digits >= 14;
    let date = separators && (6..=8).contains(&shape.digits);
    allowed && (clock || date || dotted)
}

/// `R02-M1-N0-C:J12-U11`: the place of a machine, each part a letter or two and a number.
fn is_location(run: &str, shape: &Shape) -> bool {
    let is_part = |part: &str| {
        let number = part.trim_start_matches(|c: char| c.is_ascii_uppercase());
        part.len() - number.len() <= 3
            && !part.is_empty()
            && number.len() <= 4
            && number.bytes().all(|b| b.is_ascii_digit())
    };
    let numbered =
        |part: &str| part.starts_with(|c: char| c.is_ascii_uppercase()) && part.ends_with(|c: char| c.is_ascii_digit());
    shape.dashes + shape.colons >= 1
        && shape.dots + shape.slashes + shape.others + shape.ats == 0
        && run.split(['-', ':']).all(is_part)
        && run.split(['-', ':']).filter(|part| numbered(part)).count() >= 2
}

/// What follows the one volatile component of a path in a temporary directory.
pub(super) fn temporary(run: &str) -> Option<&str> {
    const ROOTS: [&str; 5] = ["/tmp/", "/var/tmp/", "/private/tmp/", "/dev/shm/", "/var/folders/"];
    if !run.starts_with('/') {
        return None;
    }
    let root = ROOTS.iter().find(|root| run.starts_with(**root))?;
    let rest = &run[root.len()..];
    Some(rest.find('/').map_or("", |slash| &rest[slash..]))
}

/// A path from the root of a file system. Routes of an API and source files are names.
pub(super) fn is_path(run: &str) -> bool {
    let rooted = run.starts_with('/') || run.starts_with("\\\\") || is_drive(run);
    let route = run.split('/').take(4).any(|part| {
        part == "api"
            || ((2..=3).contains(&part.len()) && part.starts_with('v') && part.ends_with(|c: char| c.is_ascii_digit()))
    });
    rooted && !route && !frames::is_source(run)
}

/// A path that begins where machines keep what is theirs or their users'.
pub(super) fn is_of_machine(run: &str) -> bool {
    const ROOTS: [&str; 17] = [
        "/home/", "/Users/", "/mnt/", "/media/", "/opt/", "/srv/", "/var/", "/usr/", "/etc/", "/proc/", "/sys/",
        "/dev/", "/lib/", "/root/", "/data/", "/run/", "/boot/",
    ];
    is_drive(run) || ROOTS.iter().any(|root| run.starts_with(root))
}

fn is_drive(run: &str) -> bool {
    matches!(run.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic())
}
