//! Personal data: mail addresses, public IP addresses, phone, card and bank account numbers (IBAN). Role mailboxes, private and
//! documentation addresses stay, since they name machines and not people.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Hit, MAIL};

pub(super) fn find(text: &str, hits: &mut Vec<Hit>) {
    mails(text, hits);
    if may_hold_numbers(text.as_bytes()) {
        numbers(text, hits);
    }
}

/// An address has dots or colons, a phone number a plus, a card or an account many digits.
fn may_hold_numbers(bytes: &[u8]) -> bool {
    let count = |wanted: fn(u8) -> bool| bytes.iter().filter(|b| wanted(**b)).count();
    count(|b| b == b'.') >= 3
        || count(|b| b == b':') >= 2
        || count(|b| b == b'+') >= 1
        || count(|b| b.is_ascii_digit()) >= FEWEST_DIGITS
}

/// Digits of the shortest number that is dialled.
const FEWEST_DIGITS: usize = 7;
const LONGEST_ACCOUNT: usize = 34;

const ROLES: [&str; 18] = [
    "ops",
    "git",
    "root",
    "admin",
    "support",
    "info",
    "noreply",
    "no-reply",
    "postmaster",
    "security",
    "abuse",
    "hello",
    "team",
    "contact",
    "bot",
    "actions",
    "notifications",
    "mailer-daemon",
];
/// Endings that follow an `@` in texts that are not mail.
const NOT_DOMAINS: [&str; 14] = [
    "service", "socket", "timer", "mount", "target", "slice", "scope", "js", "mjs", "ts", "tgz", "json", "git", "lock",
];

/// The sign itself, and as URLs, JSON and HTML write it.
const SIGNS: [&str; 5] = ["@", "%40", "%2540", "\\u0040", "&#64;"];

fn mails(text: &str, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let begins_one = |b: &u8| matches!(b, b'@' | b'%' | b'\\' | b'&');
    // In pieces, since within a piece nothing stops a wide comparison; most texts have none.
    let none = |piece: &[u8]| piece.iter().fold(true, |none, b| none & !begins_one(b));
    if bytes.chunks(32).all(none) {
        return;
    }
    for (at, _) in bytes.iter().enumerate().filter(|(_, b)| begins_one(b)) {
        let Some(sign) = SIGNS.iter().find(|sign| bytes[at..].starts_with(sign.as_bytes())) else {
            continue;
        };
        let local = text[..at].chars().rev().take(64).take_while(|c| is_local(*c));
        let start = at - local.map(char::len_utf8).sum::<usize>();
        let after = at + sign.len();
        let host = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || is_latin(c);
        let host = text[after..].chars().take(253).take_while(|c| host(*c));
        let length: usize = host.map(char::len_utf8).sum();
        let domain = text[after..after + length].trim_end_matches(['.', '-']);
        let name = text[start..at].trim_start_matches(['.', '-', '+', '\'', '%']);
        if !name.is_empty() && is_domain(domain) && !is_role(name) && !text[..start].ends_with("//") {
            hits.push(Hit {
                start: at - name.len(),
                end: after + domain.len(),
                kind: MAIL,
            });
        }
    }
}

fn is_local(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._%+-'".contains(c) || is_latin(c)
}

/// Letters with marks, as in names of people and towns.
fn is_latin(c: char) -> bool {
    ('\u{c0}'..'\u{250}').contains(&c) && c.is_alphabetic()
}

fn is_role(name: &str) -> bool {
    ROLES.iter().any(|role| name.eq_ignore_ascii_case(role))
}

fn is_domain(domain: &str) -> bool {
    let Some((rest, ending)) = domain.rsplit_once('.') else {
        return false;
    };
    let alphabetic = (2..=24).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphabetic());
    let labels = rest
        .split('.')
        .all(|label| !label.is_empty() && !label.starts_with('-'));
    alphabetic && labels && !NOT_DOMAINS.contains(&ending)
}

/// Everything that begins with a digit, `+` or a colon: one look at each run of such characters.
fn numbers(text: &str, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        // The whole token that the digit stands in decides; part of a word is no number.
        let mut start = at;
        let end = run(bytes, at, |b| b.is_ascii_hexdigit() || matches!(b, b'.' | b':'));
        while start > 0 && (bytes[start - 1].is_ascii_hexdigit() || bytes[start - 1] == b':') && at - start < 4 {
            start -= 1;
        }
        let before = |at: usize| at.checked_sub(1).map_or(b' ', |at| bytes[at]);
        let after = bytes.get(end).copied().unwrap_or(b' ');
        let mut next = account(bytes, at);
        if next.is_none() && !joined(before(start)) {
            next = address(text, start, end, after);
        }
        if next.is_none() && !joined(before(at)) {
            // `client:93.184.216.34`: the colon belongs to the word before it.
            next = address(text, at, end, after)
                .or_else(|| card(bytes, at, before(at)))
                .or_else(|| phone(bytes, at, before(at)))
                .or_else(|| local_phone(text, at));
        }
        match next {
            Some(hit) => {
                at = hit.end;
                hits.push(hit);
            }
            None => at = run(bytes, at, |b| b.is_ascii_alphanumeric()).max(at + 1),
        }
    }
}

fn joined(before: u8) -> bool {
    before.is_ascii_alphanumeric() || matches!(before, b'_' | b'.' | b'-')
}

fn run(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool) -> usize {
    from + bytes[from..].iter().take(64).take_while(|b| wanted(**b)).count()
}

fn address(text: &str, start: usize, end: usize, after: u8) -> Option<Hit> {
    let joined = after.is_ascii_alphanumeric() || matches!(after, b'_' | b'-');
    if joined {
        return None;
    }
    let marks = |token: &str, mark: u8| token.bytes().filter(|b| *b == mark).count();
    let token = text.get(start..end)?;
    if marks(token, b'.') < 3 && marks(token, b':') < 2 {
        return None;
    }
    let token = token.trim_end_matches(['.', ':']);
    let colons = marks(token, b':');
    if colons >= 2 {
        // Unless some are left out, it has eight parts, of which the last two may be written as an older address.
        if colons < 6 && !token.contains("::") {
            return None;
        }
        let address: Ipv6Addr = token.parse().ok()?;
        let first = address.segments()[0];
        let public = (0x2000..0x4000).contains(&first) && address.segments()[..2] != [0x2001, 0xdb8];
        return public.then_some(Hit {
            start,
            end: start + token.len(),
            kind: "ip",
        });
    }
    let host = token.split(':').next().unwrap_or_default();
    let address: Ipv4Addr = host.parse().ok()?;
    (is_public(address) && !is_version(&text[..start])).then_some(Hit {
        start,
        end: start + host.len(),
        kind: "ip",
    })
}

/// `Agent/1.2.3.4`, `version 1.2.3.4`.
fn is_version(before: &str) -> bool {
    let product = before
        .strip_suffix('/')
        .is_some_and(|name| name.ends_with(|c: char| c.is_ascii_alphanumeric()));
    product || before.ends_with("ersion ") || before.ends_with("ersion: ")
}

fn is_public(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let special =
        address.is_private() || address.is_loopback() || address.is_link_local() || address.is_documentation();
    // `120.0.0.0` is the version of a browser.
    let round = address.octets()[1..] == [0, 0, 0];
    !(shared || special || round || a == 0 || a >= 224)
}

/// Two letters of a country, two check digits that are right, and up to 30 more, in one run or in groups of four.
fn account(bytes: &[u8], digits_at: usize) -> Option<Hit> {
    let start = digits_at.checked_sub(2)?;
    let country = bytes[start..digits_at].iter().all(u8::is_ascii_uppercase);
    if !country || start.checked_sub(1).is_some_and(|at| joined(bytes[at])) {
        return None;
    }
    let part = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    let (mut account, mut end, mut found) = (Vec::new(), start, None);
    while account.len() < LONGEST_ACCOUNT && bytes.get(end).is_some_and(part) {
        let group = run(bytes, end, |b| part(&b)).min(end + LONGEST_ACCOUNT - account.len());
        account.extend_from_slice(&bytes[end..group]);
        end = group;
        let digits = account.iter().filter(|b| b.is_ascii_digit()).count();
        let word = bytes.get(end).is_some_and(|b| joined(*b) && *b != b'.');
        if digits >= FEWEST_DIGITS && account.len() >= 15 && !word && remainder(&account) == 1 {
            found = Some(end);
        }
        if bytes.get(end) != Some(&b' ') || account.len() % 4 != 0 {
            break;
        }
        end += 1;
    }
    found.map(|end| Hit {
        start,
        end,
        kind: "account",
    })
}

/// Of the number that an account stands for, by 97: the first four stand last, a letter counts from ten on.
fn remainder(account: &[u8]) -> u32 {
    let (country, rest) = account.split_at(4);
    rest.iter().chain(country).fold(0, |left, b| match b {
        b'0'..=b'9' => (left * 10 + u32::from(b - b'0')) % 97,
        letter => (left * 100 + u32::from(letter - b'A') + 10) % 97,
    })
}

/// 13 to 19 digits in one run, or in the groups printed on cards, with an issuer's first digits and a right check
/// digit.
fn card(bytes: &[u8], start: usize, before: u8) -> Option<Hit> {
    if before == b'+' || before == b'/' {
        return None;
    }
    let end = card_end(bytes, start)?;
    let digits: Vec<u8> = bytes[start..end]
        .iter()
        .filter(|b| b.is_ascii_digit())
        .map(|b| b - b'0')
        .collect();
    let number = digits.iter().take(4).fold(0_u32, |n, d| n * 10 + u32::from(*d));
    let issuer = match digits.len() {
        13 | 19 => number / 1000 == 4,
        14 => matches!(number / 100, 30 | 36 | 38),
        15 => matches!(number / 100, 34 | 37),
        16 => {
            matches!(number / 1000, 4)
                || matches!(number / 100, 51..=55 | 65 | 35)
                || matches!(number, 2221..=2720 | 6011)
        }
        _ => false,
    };
    let word = bytes
        .get(end)
        .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    (issuer && !word && luhn(&digits)).then_some(Hit {
        start,
        end,
        kind: "card",
    })
}

fn card_end(bytes: &[u8], start: usize) -> Option<usize> {
    const GROUPS: [&[usize]; 3] = [&[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4]];
    let first = run(bytes, start, |b| b.is_ascii_digit());
    if first - start >= 13 {
        return Some(first);
    }
    GROUPS.iter().find_map(|groups| {
        let mut at = start;
        for (n, group) in groups.iter().enumerate() {
            if n > 0 {
                if !matches!(bytes.get(at), Some(b' ' | b'-')) {
                    return None;
                }
                at += 1;
            }
            if run(bytes, at, |b| b.is_ascii_digit()) - at != *group {
                return None;
            }
            at += group;
        }
        Some(at)
    })
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(n, d)| {
            let d = u32::from(*d);
            match (n % 2, d * 2) {
                (0, _) => d,
                (_, twice) if twice > 9 => twice - 9,
                (_, twice) => twice,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// International form only: `+`, country, 8 to 15 digits.
fn phone(bytes: &[u8], start: usize, before: u8) -> Option<Hit> {
    let two_before = start.checked_sub(2).map_or(b' ', |at| bytes[at]);
    if before != b'+' || joined(two_before) || matches!(two_before, b')' | b']') || bytes[start] == b'0' {
        return None;
    }
    let (mut end, mut digits) = (start, 0);
    loop {
        let group_start = run(bytes, end, |b| matches!(b, b' ' | b'-' | b'(' | b')'));
        let group_end = run(bytes, group_start, |b| b.is_ascii_digit());
        let dotted = bytes.get(group_end) == Some(&b'.') && bytes.get(group_end + 1).is_some_and(u8::is_ascii_digit);
        let word = bytes
            .get(group_end)
            .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':'));
        let group = group_end - group_start;
        // The next number in the text is not part of this one.
        if group == 0 || digits + group > 15 || group_start > end + 2 || dotted || word {
            break;
        }
        digits += group;
        end = group_end;
    }
    (digits >= 8).then_some(Hit {
        start: start - 1,
        end,
        kind: "phone",
    })
}

/// As it is dialled at home: behind a name that says so, or with its area in brackets (North America).
fn local_phone(text: &str, start: usize) -> Option<Hit> {
    const NAMES: [&str; 7] = ["phone", "tel", "mobile", "fax", "msisdn", "phone_number", "phonenumber"];
    let bytes = text.as_bytes();
    let before = &text[text.floor_char_boundary(start.saturating_sub(20))..start];
    let name = before.trim_end_matches([' ', '"', '\'', ':', '=', '(']);
    let assigned = before[name.len()..].contains([':', '=']);
    let named = assigned && NAMES.iter().any(|word| ends_with(name, word));
    let end = if named {
        let end = run(bytes, start, |b| b.is_ascii_digit() || b" -/()".contains(&b));
        start + text[start..end].trim_end_matches(|c: char| !c.is_ascii_digit()).len()
    } else if before.ends_with('(') && dialled(&bytes[start..]) {
        start + text[start..].find('-')? + "-0000".len()
    } else {
        return None;
    };
    let digits = bytes[start..end].iter().filter(|b| b.is_ascii_digit()).count();
    let word = bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    ((FEWEST_DIGITS..=15).contains(&digits) && !word).then_some(Hit {
        start,
        end,
        kind: "phone",
    })
}

fn ends_with(text: &str, word: &str) -> bool {
    let at = text.len().checked_sub(word.len());
    at.and_then(|at| text.get(at..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(word))
}

/// `415) 867-5309`
fn dialled(bytes: &[u8]) -> bool {
    let shape = b"000) 000-0000";
    let fits = |shape: &[u8]| {
        bytes.len() >= shape.len()
            && shape
                .iter()
                .zip(bytes)
                .all(|(s, b)| if *s == b'0' { b.is_ascii_digit() } else { s == b })
    };
    fits(shape) || fits(b"000)000-0000")
}

#[cfg(test)]
mod tests {
    use crate::text::Redactor;

    fn redact(text: &str) -> String {
        Redactor::default().redact(text)
    }

    #[test]
    fn personal_data_goes() {
        for (text, want) in [
            ("mail to jane.doe+x@corp.example.org, ok", "mail to [redacted:mail], ok"),
            ("/u?email=jane%40corp.example.org&x=1", "/u?email=[redacted:mail]&x=1"),
            ("from 93.184.216.34:443 refused", "from [redacted:ip]:443 refused"),
            ("(/5.9.1.2)", "(/[redacted:ip])"),
            ("peer 2a00:1450:4001::200e.", "peer [redacted:ip]."),
            ("peer 2a00:1:2:3:4:5:6:7 left", "peer [redacted:ip] left"),
            ("peer 2a00:1:2:3:4:5:93.184.216.34 left", "peer [redacted:ip] left"),
            (
                "call +49 170 1234567 93.184.216.34",
                "call [redacted:phone] [redacted:ip]",
            ),
            ("phone=+14155550123", "phone=[redacted:phone]"),
            ("client:93.184.216.34:443", "client:[redacted:ip]:443"),
            ("card 4111 1111 1111 1111 declined", "card [redacted:card] declined"),
            ("pan=4111111111111111", "pan=[redacted:card]"),
            ("from DE89370400440532013000.", "from [redacted:account]."),
            ("GB29 NWBK 6016 1331 9268 19 refused", "[redacted:account] refused"),
            ("iban=NL91ABNA0417164300", "iban=[redacted:account]"),
            (r"user jane\u0040corp.example.org", "user [redacted:mail]"),
            ("jane&#64;corp.example.org", "[redacted:mail]"),
            ("u=jane%2540corp.example.org", "u=[redacted:mail]"),
            ("an büro@müller.example.org!", "an [redacted:mail]!"),
            ("call (415) 867-5309 now", "call ([redacted:phone] now"),
            ("phone: 4158675309", "phone: [redacted:phone]"),
            ("tel=0170 1234567, x", "tel=[redacted:phone], x"),
            (r#"{"phone":"4158675309"}"#, r#"{"phone":"[redacted:phone]"}"#),
        ] {
            assert_eq!(redact(text), want);
        }
    }

    #[test]
    fn machines_and_numbers_stay() {
        for text in [
            "contact ops@example.invalid",
            "git@github.com:example/repo.git",
            "installing @scope/pkg@2.0.1",
            "x@host",
            "10.0.0.7 192.168.1.1 127.0.0.1:3000 203.0.113.9 198.51.100.4",
            "peer 2001:db8::8a2e:370:7334",
            "v1.2.3.4",
            "Chrome/120.0.6099.71",
            "Mobile/1.2.3.4 of version 5.6.7.8",
            "120.0.0.0",
            "user@1000.service",
            "ts=1767520800123456789",
            "id=911710876610414611",
            "02:42:ac:11:00:02",
            "12:30:45.123",
            "2026-01-04T10:00:01+02:00",
            "4111111111111112",
            "main.go:63 +0x742",
            "DE88370400440532013000",
            "XDE89370400440532013000",
            "order AB12345678901234",
            "std::fe::bad",
            "1 + 2000000000 rows",
            "listen :::44347",
            "job aaaa2328-1111-4222-8333-944445555666",
            "order: 4158675309",
            "f(415) 867",
            "tel: 12",
            "phone: 41586753a09",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn hostile_repetition_is_linear() {
        for piece in ["a@", "1:", "4111 ", "AB12 ", "DE89", "+1", "1.1.1.", "f:"] {
            assert!(!redact(&piece.repeat(5_000)).is_empty());
        }
    }
}
