//! Parameters of addresses. Which parameter was given is diagnosis and stays; what a person typed or is, and what opens
//! a door for a moment, goes. Numbers of pages, sorts, states and ids stay.

use super::{Hit, names::words, values::is_placeholder};

/// Last words of names whose value tells who somebody is or where.
const PERSONAL: [&str; 33] = [
    "user",
    "username",
    "login",
    "firstname",
    "lastname",
    "fullname",
    "surname",
    "phone",
    "tel",
    "telephone",
    "mobile",
    "msisdn",
    "fax",
    "street",
    "city",
    "zip",
    "zipcode",
    "postcode",
    "birthday",
    "birthdate",
    "dob",
    "ssn",
    "passport",
    "lat",
    "lng",
    "lon",
    "latitude",
    "longitude",
    "otp",
    "pin",
    "iban",
    "mfa",
    "totp",
];
/// Words before `name` that make it one of a person.
const PERSONS: [&str; 11] = [
    "first", "last", "full", "user", "display", "given", "family", "middle", "customer", "contact", "real",
];
/// Whole names of what people type.
const TYPED: [&str; 16] = [
    "address", "q", "query", "search", "term", "terms", "keyword", "keywords", "text", "message", "msg", "comment",
    "subject", "name", "prompt", "note",
];
/// Last words of names whose value opens a door, where it looks like that.
const DOORS: [&str; 22] = [
    "code",
    "state",
    "nonce",
    "key",
    "auth",
    "session",
    "sess",
    "sid",
    "sso",
    "jwt",
    "ticket",
    "invite",
    "invitation",
    "reset",
    "access",
    "refresh",
    "verify",
    "verification",
    "confirm",
    "confirmation",
    "magic",
    "challenge",
];
const LONGEST_NAME: usize = 64;

/// Whether a value under this name tells who somebody is.
pub(super) fn is_personal(name: &str) -> bool {
    let words = parts(name);
    let Some(last) = words.last().map(String::as_str) else {
        return false;
    };
    let before = words.len().checked_sub(2).map_or("", |n| words[n].as_str());
    PERSONAL.contains(&last) || (last == "name" && PERSONS.contains(&before))
}

/// `user[first_name]`, `customer.phone`: the words of all parts.
fn parts(name: &str) -> Vec<String> {
    words(&name.replace(['.', '[', ']'], "_"))
}

pub(super) fn find(text: &str, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let mut done = 0;
    for (mark, _) in text.match_indices('?') {
        let before = mark.checked_sub(1).map_or(b' ', |at| bytes[at]);
        let of_address = before.is_ascii_alphanumeric() || b"/_-.~)]}*%:".contains(&before) || !before.is_ascii();
        if mark < done || !of_address {
            continue;
        }
        let mut at = mark + 1;
        loop {
            let name = run(bytes, at, |b| b.is_ascii_alphanumeric() || b"_-.[]%".contains(&b));
            if name == at || name - at > LONGEST_NAME || bytes.get(name) != Some(&b'=') {
                break;
            }
            let start = name + 1;
            let end = start + value(&text[start..]);
            if goes(&text[at..name], &text[start..end]) {
                hits.push(Hit {
                    start,
                    end,
                    kind: "query",
                });
            }
            done = end;
            // Go escapes the sign in JSON, HTML everywhere.
            let joint = ["&amp;", "&", "\\u0026", "%26"]
                .into_iter()
                .find(|joint| text[end..].starts_with(joint));
            match joint {
                Some(joint) => at = end + joint.len(),
                None => break,
            }
        }
    }
}

fn run(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool) -> usize {
    from + bytes[from..].iter().take_while(|b| wanted(**b)).count()
}

/// Bytes of the value that this begins with; marks of the sentence around it are none of it.
fn value(rest: &str) -> usize {
    let ends = |(at, c): (usize, char)| {
        c.is_whitespace() || c.is_control() || "&\"'`<>|\\#".contains(c) || rest[at..].starts_with("%26")
    };
    let end = rest
        .char_indices()
        .find(|found| ends(*found))
        .map_or(rest.len(), |(at, _)| at);
    rest[..end]
        .trim_end_matches(['.', ',', ';', ':', ')', ']', '}', '!', '?'])
        .len()
}

fn goes(name: &str, value: &str) -> bool {
    if value.is_empty()
        || is_placeholder(value) && value.len() > 1 && !is_one_time(name, value)
        || value.starts_with(['{', ':', '[', '$', '%']) && !encoded(value)
    {
        return false;
    }
    (is_personal(name) && !is_of_machines(name, value))
        || TYPED.iter().any(|typed| name.eq_ignore_ascii_case(typed))
        || (is_door(name) && opens(name, value))
}

/// Accounts that systems bring along; nobody is called so.
const SYSTEM: [&str; 20] = [
    "root",
    "daemon",
    "nobody",
    "www-data",
    "postgres",
    "mysql",
    "redis",
    "nginx",
    "apache",
    "httpd",
    "mongodb",
    "rabbitmq",
    "elasticsearch",
    "systemd-network",
    "systemd-resolve",
    "messagebus",
    "sshd",
    "caddy",
    "prometheus",
    "grafana",
];

/// It tells of a machine: an account that no person has, a pin of a board (`GPIO4`) and none that opens something.
pub(super) fn is_of_machines(name: &str, value: &str) -> bool {
    let words = parts(name);
    match words.last().map(String::as_str) {
        Some("user" | "username" | "login") => SYSTEM.contains(&value),
        Some("pin") => {
            let letters = value.bytes().take_while(u8::is_ascii_uppercase).count();
            (1..=5).contains(&letters) && value[letters..].bytes().all(|b| b.is_ascii_digit() || b == b'_')
        }
        _ => false,
    }
}

/// Names of what is typed in once: any digits may be one, also six of a kind.
const ONE_TIME: [&str; 6] = ["otp", "totp", "pin", "mfa", "code", "passcode"];

pub(super) fn is_one_time(name: &str, value: &str) -> bool {
    let digits = (4..=10).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_digit());
    digits && parts(name).last().is_some_and(|last| ONE_TIME.contains(&last.as_str()))
}

/// `%C3%BC…` is a text; `%s` is a place for one.
fn encoded(value: &str) -> bool {
    let hex = |at: usize| value.as_bytes().get(at).is_some_and(u8::is_ascii_hexdigit);
    value.starts_with('%') && hex(1) && hex(2)
}

fn is_door(name: &str) -> bool {
    let words = parts(name);
    words.last().is_some_and(|last| DOORS.contains(&last.as_str()))
}

/// Letters and digits mixed, or the six digits of a one-time code.
fn opens(name: &str, value: &str) -> bool {
    let some = |kind: fn(&u8) -> bool| value.bytes().any(|b| kind(&b));
    let mixed = some(u8::is_ascii_digit) && some(u8::is_ascii_alphabetic);
    let digits = value.bytes().all(|b| b.is_ascii_digit());
    let date = value.len() >= 10 && value.as_bytes()[4] == b'-' && value.as_bytes()[7] == b'-';
    (value.len() >= 6 && mixed && !date) || (digits && value.len() >= 6 && name.ends_with("code"))
}

#[cfg(test)]
mod tests {
    use crate::text::Redactor;

    fn redact(text: &str) -> String {
        Redactor::default().redact(text)
    }

    #[test]
    fn what_a_person_typed_or_is_goes_and_the_name_stays() {
        for (text, want) in [
            (
                "GET /search?q=Zebra77+illness&name=Bob+Smith&otp=482913 HTTP 500",
                "GET /search?q=[redacted:query]&name=[redacted:query]&otp=[redacted:query] HTTP 500",
            ),
            (
                "GET https://acme.example/cb?code=4f0AX4XfWhZebra77&state=Quark99 failed",
                "GET https://acme.example/cb?code=[redacted:query]&state=[redacted:query] failed",
            ),
            (
                r#"{"url":"/u?page=2\u0026first_name=Ada\u0026sort=desc"}"#,
                r#"{"url":"/u?page=2\u0026first_name=[redacted:query]\u0026sort=desc"}"#,
            ),
            (
                "<a href=\"/u?a=1&amp;user[phone]=0170%201\">",
                "<a href=\"/u?a=1&amp;user[phone]=[redacted:query]\">",
            ),
            (
                "(see /near?lat=48.137&lon=11.575).",
                "(see /near?lat=[redacted:query]&lon=[redacted:query]).",
            ),
            ("/s?q=%C3%BCber#top", "/s?q=[redacted:query]#top"),
            ("/s?q=Müller, retried", "/s?q=[redacted:query], retried"),
            ("/login?code=482913", "/login?code=[redacted:query]"),
            ("/login?otp=111111&page=2", "/login?otp=[redacted:query]&page=2"),
            ("/login?sms_code=000000", "/login?sms_code=[redacted:query]"),
        ] {
            assert_eq!(redact(text), want);
        }
    }

    #[test]
    fn what_diagnosis_needs_stays() {
        for text in [
            "GET /api/orders?status=pending&sort=created_at&limit=50&page=2 200",
            "https://example.invalid:8443/a?b=1",
            "/repos/acme/shop/pulls?state=open&per_page=100",
            "/errors?code=500&state=closed&key=price",
            "/v?commit=9f2b3c4d5e6f7a8b9c0d&v=1.2.3&dpl=dpl_8Hx2&id=42",
            "/report?from=2026-11-01&to=2026-11-29&state=2026-11-29",
            "SELECT * FROM t WHERE a=? AND q=1",
            "const x = ok ? q=1 : q=2;",
            "/s?q=&name=",
            "/users?name={name}&user=:user&q=%s&term=${term}",
            "/s?q=[redacted:query]&x=1",
            "user?.name=1",
            "/metrics?user=postgres&pin=GPIO4",
            "what? name=ada",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn hostile_repetition_is_linear() {
        for piece in ["a?", "a?q=", "a?q=1&", "/?name", "&q=", "a?q=%26"] {
            assert!(!redact(&piece.repeat(5_000)).is_empty());
        }
    }

    #[test]
    fn a_field_of_a_machine_is_told_from_one_of_a_person() {
        let field = |name: &str, value: &str| Redactor::default().redact_field(name, value);
        for (name, value) in [
            ("user", "postgres"),
            ("db.user", "root"),
            ("pin", "GPIO4"),
            ("pin", "A0"),
        ] {
            assert_eq!(field(name, value), value, "{name}");
        }
        for (name, value) in [
            ("user", "ada"),
            ("user", "postgres2"),
            ("pin", "4711"),
            ("pin", "x9Kd"),
            ("city", "Ulm"),
        ] {
            assert_eq!(field(name, value), "[redacted:user]", "{name}");
        }
    }
}
