//! Times as logs write them. What stands there was written by strangers: a time that cannot be is no time.

use std::cell::RefCell;

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};

/// A time at the start of a text.
pub(super) struct Found {
    /// None for a time that says too little, or cannot be.
    pub(super) at: Option<DateTime<Utc>>,
    pub(super) len: usize,
}

/// Looks for times in one line that are remembered.
const MOST_LOOKS: usize = 8;

/// The times of one line, with where they were looked for.
pub(super) struct Times<'a> {
    line: &'a str,
    now: DateTime<Utc>,
    looks: RefCell<Option<Looks>>,
}

/// Where times were looked for in a line, and what stood there. A line that is spelled alike is framed alike if at these
/// places stand times of the same length, or none: how that differs is all that values of digits decide of framing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Looks {
    list: [Look; MOST_LOOKS],
    count: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct Look {
    start: u16,
    end: u16,
    how: How,
}

#[derive(Debug, Clone, Copy, Default)]
enum How {
    /// All of a text: it decides nothing but the time.
    #[default]
    Text,
    /// At the start of a text, where a time of this length was taken off.
    Start(Option<u16>),
    /// The same, and nothing was taken off.
    Ahead(Option<u16>),
}

impl<'a> Times<'a> {
    pub(super) fn new(line: &'a str, now: DateTime<Utc>) -> Self {
        Self {
            line,
            now,
            looks: RefCell::new(Some(Looks::default())),
        }
    }

    /// None where a line that is spelled alike has to be read as if it were another one.
    pub(super) fn looks(self) -> Option<Looks> {
        self.looks.into_inner()
    }

    /// The time that a text starts with.
    pub(super) fn at_start(&self, text: &[u8]) -> Option<Found> {
        let found = at_start(text, self.now);
        self.note(text, How::Start, found.as_ref());
        found
    }

    /// Whether a text starts with a time.
    pub(super) fn is_at_start(&self, text: &[u8]) -> bool {
        let found = at_start(text, self.now);
        self.note(text, How::Ahead, found.as_ref());
        found.is_some()
    }

    /// The time that a text is.
    pub(super) fn text(&self, whole: &str) -> Option<DateTime<Utc>> {
        self.note(whole.as_bytes(), |_| How::Text, None);
        text(whole, self.now)
    }

    fn note(&self, text: &[u8], how: impl Fn(Option<u16>) -> How, found: Option<&Found>) {
        let mut looks = self.looks.borrow_mut();
        *looks = looks.take().and_then(|mut looks| {
            // A text that is no part of the line cannot be found in another one.
            let start = text.as_ptr().addr().checked_sub(self.line.as_ptr().addr())?;
            let end = start + text.len();
            let place = looks.list.get_mut(usize::from(looks.count))?;
            *place = Look {
                start: u16::try_from(start).ok()?,
                end: u16::try_from(end).ok().filter(|_| end <= self.line.len())?,
                how: how(found.map(|found| u16::try_from(found.len)).transpose().ok()?),
            };
            looks.count += 1;
            Some(looks)
        });
    }
}

impl Looks {
    /// The time of another line of the same spelling; None where that line has to be read.
    #[expect(clippy::option_option, reason = "a line without a time is known, too")]
    pub(super) fn again(&self, line: &str, now: DateTime<Utc>) -> Option<Option<DateTime<Utc>>> {
        let mut time = None;
        for look in &self.list[..usize::from(self.count)] {
            let part = line.get(look.start.into()..look.end.into())?;
            match look.how {
                How::Text => time = time.or_else(|| text(part, now)),
                How::Start(length) | How::Ahead(length) => {
                    let found = at_start(part.as_bytes(), now);
                    if found.as_ref().map(|found| found.len) != length.map(usize::from) {
                        return None;
                    }
                    if matches!(look.how, How::Start(_)) {
                        time = time.or(found.and_then(|found| found.at));
                    }
                }
            }
        }
        Some(time)
    }
}

/// The time that a text starts with. `now` completes what has no year or no date.
fn at_start(text: &[u8], now: DateTime<Utc>) -> Option<Found> {
    match text.first()? {
        b'0'..=b'9' => dated(text, now).or_else(|| clock_only(text, now)),
        b'A'..=b'Z' => syslog(text, now).or_else(|| weekday(text, now)),
        _ => None,
    }
}

/// A number of a structured line: seconds, milliseconds, microseconds or nanoseconds since 1970, by its size.
fn epoch(number: f64, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let millis = match number {
        n if !n.is_finite() || n < 1e8 => return None,
        n if n < 1e11 => n * 1e3,
        n if n < 1e14 => n,
        n if n < 1e17 => n / 1e3,
        n => n / 1e6,
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below 1e14 by the branches above, or judged below"
    )]
    let at = DateTime::from_timestamp_millis(millis as i64)?;
    plausible(at, now)
}

/// A text of a structured line.
fn text(text: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) => epoch(number, now),
        Err(_) => at_start(text.as_bytes(), now)?.at,
    }
}

/// Neither before there were such logs nor in the future.
fn plausible(at: DateTime<Utc>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (at.year() >= 2000 && at <= now + TimeDelta::days(1)).then_some(at)
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let (mut number, mut found) = (0_u32, 0);
        while found < most
            && let Some(b @ b'0'..=b'9') = self.text.get(self.at + found)
        {
            number = number * 10 + u32::from(b - b'0');
            found += 1;
        }
        if found < least {
            return None;
        }
        self.at += found;
        Some(number)
    }

    fn one_of(&mut self, wanted: &[u8]) -> Option<u8> {
        let next = self.peek();
        wanted.contains(&next).then(|| {
            self.at += 1;
            next
        })
    }

    /// `HH:MM:SS` with a fraction of any length.
    fn clock(&mut self) -> Option<NaiveTime> {
        let hour = self.digits(1, 2)?;
        self.one_of(b":")?;
        let minute = self.digits(2, 2)?;
        self.one_of(b":")?;
        let second = self.digits(2, 2)?;
        let mut nanos = 0;
        let fraction = self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit);
        if fraction && self.one_of(b".,").is_some() {
            let from = self.at;
            nanos = self.digits(1, 9)?;
            for _ in self.at - from..9 {
                nanos *= 10;
            }
            while self.peek().is_ascii_digit() {
                self.at += 1;
            }
        }
        // A leap second is the one before it.
        NaiveTime::from_hms_nano_opt(hour, minute, second.min(59), nanos)
    }

    /// `Z`, `UTC`, `+01:00`; nothing is UTC.
    fn offset(&mut self) -> TimeDelta {
        let from = self.at;
        let _space = self.one_of(b" ");
        if self.one_of(b"Z").is_some() {
            return TimeDelta::zero();
        }
        for name in [&b"UTC"[..], b"GMT"] {
            if self.text[self.at..].starts_with(name) {
                self.at += 3;
                return TimeDelta::zero();
            }
        }
        if let Some(sign) = self.one_of(b"+-")
            && let Some(hours) = self.digits(2, 2)
        {
            let _colon = self.one_of(b":");
            let minutes = self.digits(2, 2).unwrap_or(0);
            let offset = TimeDelta::minutes(i64::from(hours * 60 + minutes));
            return if sign == b'-' { -offset } else { offset };
        }
        self.at = from;
        TimeDelta::zero()
    }

    fn month(&mut self) -> Option<u32> {
        const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
        let name = self.text.get(self.at..self.at + 3)?;
        let index = MONTHS.chunks(3).position(|month| month == name)?;
        self.at += 3;
        u32::try_from(index + 1).ok()
    }
}

/// `2026-11-29T03:00:00.123Z` and its cousins, `29/Nov/2026:03:00:00 +0000`.
fn dated(text: &[u8], now: DateTime<Utc>) -> Option<Found> {
    let mut scan = Scan { text, at: 0 };
    let first = scan.digits(1, 4)?;
    let separator = scan.one_of(b"-/.")?;
    let date = if separator == b'/' && scan.peek().is_ascii_alphabetic() {
        let month = scan.month()?;
        scan.one_of(b"/")?;
        NaiveDate::from_ymd_opt(i32::try_from(scan.digits(4, 4)?).ok()?, month, first)
    } else if scan.at == 5 {
        let month = scan.digits(2, 2)?;
        scan.one_of(&[separator])?;
        let day = scan.digits(2, 2)?;
        NaiveDate::from_ymd_opt(i32::try_from(first).ok()?, month, day)
    } else {
        return None;
    };
    scan.one_of(b"T :_")?;
    let clock = scan.clock()?;
    let offset = scan.offset();
    let at = date.and_then(|date| NaiveDateTime::new(date, clock).and_utc().checked_sub_signed(offset));
    Some(Found {
        at: at.and_then(|at| plausible(at, now)),
        len: scan.at,
    })
}

/// `03:00:00.123`: today, or yesterday when that would be in the future.
fn clock_only(text: &[u8], now: DateTime<Utc>) -> Option<Found> {
    let mut scan = Scan { text, at: 0 };
    let clock = scan.clock()?;
    let today = now.date_naive().and_time(clock).and_utc();
    let at = if today > now + TimeDelta::minutes(5) {
        today.checked_sub_days(Days::new(1))
    } else {
        Some(today)
    };
    Some(Found { at, len: scan.at })
}

/// `Nov 29 03:00:00`: of the year that puts it into the past.
fn syslog(text: &[u8], now: DateTime<Utc>) -> Option<Found> {
    let mut scan = Scan { text, at: 0 };
    let month = scan.month()?;
    scan.one_of(b" ")?;
    let _padding = scan.one_of(b" ");
    let day = scan.digits(1, 2)?;
    scan.one_of(b" ")?;
    let clock = scan.clock()?;
    let of = |year| NaiveDate::from_ymd_opt(year, month, day).map(|date| date.and_time(clock).and_utc());
    let this_year = of(now.year()).filter(|at| *at <= now + TimeDelta::days(1));
    Some(Found {
        at: this_year.or_else(|| of(now.year() - 1)),
        len: scan.at,
    })
}

/// `Sun Nov 29 03:00:00.123 2026`.
fn weekday(text: &[u8], now: DateTime<Utc>) -> Option<Found> {
    let named = [&b"Mon "[..], b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat ", b"Sun "];
    if !named.iter().any(|day| text.starts_with(day)) {
        return None;
    }
    let mut found = syslog(&text[4..], now)?;
    found.len += 4;
    let mut scan = Scan { text, at: found.len };
    if scan.one_of(b" ").is_some()
        && let Some(year) = scan.digits(4, 4)
    {
        let year = i32::try_from(year).ok()?;
        found.at = found.at.and_then(|at| plausible(at.with_year(year)?, now));
        found.len = scan.at;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        "2026-11-29T12:00:00Z".parse().unwrap()
    }

    fn check(text: &str, want: &str, rest: &str) {
        let found = at_start(text.as_bytes(), now()).unwrap();
        assert_eq!(found.at.map(|at| at.to_rfc3339()).unwrap_or_default(), want, "{text}");
        assert_eq!(&text[found.len..], rest, "{text}");
    }

    #[test]
    fn the_usual_forms_are_read() {
        check("2026-11-29T03:00:00.5Z x", "2026-11-29T03:00:00.500+00:00", " x");
        check(
            "2026-11-29 03:00:00,123 - app",
            "2026-11-29T03:00:00.123+00:00",
            " - app",
        );
        check("2026-11-29T03:00:00+01:00 x", "2026-11-29T02:00:00+00:00", " x");
        check(
            "2026-11-29 03:00:00.1 UTC [7] x",
            "2026-11-29T03:00:00.100+00:00",
            " [7] x",
        );
        check(
            "2026/11/29 03:00:00 [error] x",
            "2026-11-29T03:00:00+00:00",
            " [error] x",
        );
        check("29/Nov/2026:03:00:00 +0000] x", "2026-11-29T03:00:00+00:00", "] x");
        check("Nov 29 03:00:00 host x", "2026-11-29T03:00:00+00:00", " host x");
        check("Dec  1 03:00:00 host x", "2025-12-01T03:00:00+00:00", " host x");
        check("Sun Nov 29 03:00:00.5 2026] x", "2026-11-29T03:00:00.500+00:00", "] x");
        check("11:59:58.250 | x", "2026-11-29T11:59:58.250+00:00", " | x");
        check("23:00:00 x", "2026-11-28T23:00:00+00:00", " x");
        check(
            "2026-11-29T03:00:00.123456789123Z",
            "2026-11-29T03:00:00.123456789+00:00",
            "",
        );
    }

    #[test]
    fn what_cannot_be_is_no_time() {
        check("2026-13-45T03:00:00Z x", "", " x");
        check("9999-01-01T00:00:00Z x", "", " x");
        check("1971-01-01T00:00:00Z x", "", " x");
        for text in [
            "",
            "1.2.3",
            "10.0.0.1:80",
            "404 x",
            "Nova",
            "2026-11-29",
            "12:30",
            "Mon",
            "99999999999999999999",
        ] {
            assert!(at_start(text.as_bytes(), now()).is_none(), "{text}");
        }
    }

    #[test]
    fn numbers_are_read_by_their_size() {
        let want = Some("2026-11-29T03:00:00Z".parse().unwrap());
        for number in [1_795_921_200.0, 1_795_921_200e3, 1_795_921_200e6, 1_795_921_200e9] {
            assert_eq!(epoch(number, now()), want, "{number}");
        }
        assert_eq!(text(" 1795921200 ", now()), want);
        assert_eq!(text("2026-11-29T03:00:00Z", now()), want);
        for number in [0.0, 17.0, -1e12, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(epoch(number, now()), None, "{number}");
        }
        assert_eq!(text("yesterday", now()), None);
    }
}
