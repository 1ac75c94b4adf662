//! Credentials that no table knows: long random runs behind a short prefix, and passwords in the arguments of commands.
//! Hashes and ids stay: a run counts only with capitals, small letters and digits, and longer than ids are.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::{
    Hit,
    values::{is_placeholder, is_random},
};

/// Ids of services, which diagnosis needs, are shorter.
const LONG: usize = 32;
/// The prefix with what joins it to the run.
const LONGEST_PREFIX: usize = 20;
/// Three parts with points between: the longest first, a short second.
const BOT: std::ops::RangeInclusive<usize> = 30..=36;
/// So many of each kind of character: names of code have few digits.
const LEAST_OF_A_KIND: usize = 3;
/// What announces a password in a command, behind which an argument follows.
const COMMANDS: [&str; 22] = [
    "curl ",
    "wget ",
    "sshpass -p",
    "mysql ",
    "login ",
    "redis-cli ",
    "-passin pass:",
    "-passout pass:",
    ".pgpass: ",
    "\"auth\"",
    "ldapsearch ",
    "ldapadd ",
    "ldapmodify ",
    "authtoken ",
    "snyk auth ",
    "mongo ",
    "mongosh ",
    "mongodump ",
    "mongorestore ",
    "mongoexport ",
    "mongoimport ",
    " /user:",
];

static TRIGGERS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| super::finder(COMMANDS, false));

pub(super) fn find(text: &str, hits: &mut Vec<Hit>) {
    prefixed(text, hits);
    let Some(triggers) = &*TRIGGERS else { return };
    for found in triggers.find_iter(text) {
        let line = &text[found.end()..];
        let line = &line[..line.find('\n').unwrap_or(line.len())];
        let value = match &text[found.start()..found.end()] {
            "curl " | "wget " => user_option(line),
            "sshpass -p" => word(line, line.len() - line.trim_start().len()),
            "mysql " => joined_option(line),
            "login " => login(line).or_else(|| option(line, " -p ")).or_else(|| argument(line)),
            "redis-cli " => option(line, "-a "),
            "-passin pass:" | "-passout pass:" | "authtoken " | "snyk auth " => word(line, 0),
            ".pgpass: " => last_field(line),
            "ldapsearch " | "ldapadd " | "ldapmodify " => option(line, "-w "),
            command if command.starts_with("mongo") => option(line, " -p "),
            " /user:" => word(line, 0).and_then(|(_, end)| word(line, end)),
            _ => encoded(line),
        };
        if let Some((start, end)) = value {
            let value = &line[start..end];
            if value.len() >= 3 && !is_placeholder(value) && !value.starts_with(['$', '"', '\'']) {
                hits.push(Hit {
                    start: found.end() + start,
                    end: found.end() + end,
                    kind: "password",
                });
            }
        }
    }
}

/// `<prefix>_<run>`, `<prefix>-<run>`, `<prefix>.<run>`. Only every so many bytes have to be looked at.
fn prefixed(text: &str, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let run_of = |b: &u8| b.is_ascii_alphanumeric();
    let mut at = LONG - 1;
    while at < bytes.len() {
        if !run_of(&bytes[at]) {
            at += LONG;
            continue;
        }
        let start = bytes[..at]
            .iter()
            .rposition(|b| !run_of(b))
            .map_or(0, |before| before + 1);
        let end = bytes[at..]
            .iter()
            .position(|b| !run_of(b))
            .map_or(bytes.len(), |behind| at + behind);
        if end - start >= LONG
            && let Some(from) = announced(bytes, start, end)
        {
            hits.push(Hit {
                start: from,
                end,
                kind: "token",
            });
        }
        at = end + LONG;
    }
}

/// Where the prefix begins, if the run is a credential.
fn announced(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let joint = start
        .checked_sub(1)
        .filter(|at| matches!(bytes[*at], b'_' | b'-' | b'.'))?;
    let near = &bytes[joint.saturating_sub(*BOT.end() + 1)..joint];
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let length = near.iter().rev().take_while(|b| part(b)).count();
    let from = joint - length;
    let before = from.checked_sub(1).map_or(b' ', |at| bytes[at]);
    let prefix = &bytes[from..joint];
    let digest = prefix.starts_with(b"sha") || prefix.starts_with(b"md5");
    let bot = BOT.contains(&length) && bytes[joint] == b'.' && matches!(prefix[length - 7..], [b'.', ..]);
    if length == 0
        || (length > LONGEST_PREFIX && !bot)
        || part(&before)
        || matches!(before, b'/' | b'+' | b'=')
        || digest
    {
        return None;
    }
    let run = &bytes[start..end];
    let some = |kind: fn(&u8) -> bool| run.iter().filter(|b| kind(b)).count() >= LEAST_OF_A_KIND;
    let hex = run.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let mixed = some(u8::is_ascii_uppercase) && some(u8::is_ascii_lowercase) && some(u8::is_ascii_digit);
    // A personal token of an id, a point and a hash.
    let keyed = hex && bytes[joint] == b'.' && prefix.starts_with(b"pat") && length >= 12;
    (mixed || keyed).then_some(from)
}

/// The word that begins behind the spaces at this place.
fn word(line: &str, at: usize) -> Option<(usize, usize)> {
    let rest = line.get(at..)?;
    let start = at + rest.len() - rest.trim_start().len();
    let end = line[start..]
        .find(char::is_whitespace)
        .map_or(line.len(), |length| start + length);
    (end > start).then_some((start, end))
}

/// `-u name:password`, `--user name:password`.
fn user_option(line: &str) -> Option<(usize, usize)> {
    let option = ["-u ", "--user "]
        .iter()
        .find_map(|option| Some(line.find(option)? + option.len()))?;
    let (start, end) = word(line, option)?;
    let colon = line[start..end].find(':')?;
    Some((start + colon + 1, end))
}

/// `-phunter2`: without a space between option and value.
fn joined_option(line: &str) -> Option<(usize, usize)> {
    let option = line
        .find(" -p")
        .map(|at| at + 1)
        .or_else(|| line.starts_with("-p").then_some(0))?;
    let (start, end) = word(line, option)?;
    (end - start > 2 && !line[start..end].contains('=')).then_some((start + 2, end))
}

/// `-p hunter2`.
fn option(line: &str, option: &str) -> Option<(usize, usize)> {
    word(line, line.find(option)? + option.len())
}

/// `host:5432:shop:app:hunter2`.
fn last_field(line: &str) -> Option<(usize, usize)> {
    let (start, end) = word(line, 0)?;
    let colon = line[start..end].rfind(':')?;
    (line[start..end].matches(':').count() == 4).then_some((start + colon + 1, end))
}

/// `login bot password hunter2`.
fn login(line: &str) -> Option<(usize, usize)> {
    let (_, name_end) = word(line, 0)?;
    let (start, end) = word(line, name_end)?;
    let (from, to) = (&line[start..end] == "password").then(|| word(line, end))??;
    let prose = line[from..to].bytes().all(|b| b.is_ascii_lowercase());
    (!prose).then_some((from, to))
}

/// The first argument, where it can be nothing but a credential: no address, no id.
fn argument(line: &str) -> Option<(usize, usize)> {
    let (start, end) = word(line, 0)?;
    let value = &line[start..end];
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let joined = value.contains(['-', '/', '@', '.']);
    (is_random(value, 24) || (!joined && value.len() >= 32 && digits >= 2 && letters >= 4)).then_some((start, end))
}

/// `"auth": "<user and password in base64>"`.
fn encoded(line: &str) -> Option<(usize, usize)> {
    let rest = line.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let start = line.len() - rest.len();
    let end = start + rest.find('"')?;
    let base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    (end - start >= 16 && line[start..end].bytes().all(base64)).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use crate::text::Redactor;

    fn redact(text: &str) -> String {
        Redactor::default().redact(text)
    }

    #[test]
    fn what_no_table_knows_goes() {
        let body = "NotRealFake7Ab2NotRealFake9Cd4Ef6Gh8";
        for prefix in ["acme_", "acme-", "ac.", "acme_live_"] {
            let text = ["got ", prefix, body, " from upstream"].concat();
            assert_eq!(redact(&text), "got [redacted:token] from upstream");
        }
    }

    #[test]
    fn passwords_of_commands_go() {
        for (text, want) in [
            (
                "curl -s -u ci:fakePw1 https://x.invalid",
                "curl -s -u ci:[redacted:password] https://x.invalid",
            ),
            (
                "sshpass -p fakePw1 ssh ops@h",
                "sshpass -p [redacted:password] ssh ops@h",
            ),
            (
                "mysql -h db -uapp -pfakePw1 shop",
                "mysql -h db -uapp -p[redacted:password] shop",
            ),
            (
                "docker login -u ci -p fakePw1 r.invalid",
                "docker login -u ci -p [redacted:password] r.invalid",
            ),
            (
                "redis-cli -h c -a fakePw1 ping",
                "redis-cli -h c -a [redacted:password] ping",
            ),
            (
                "openssl x -passin pass:fakePw1 -nodes",
                "openssl x -passin pass:[redacted:password] -nodes",
            ),
            (
                "~/.pgpass: h:5432:shop:app:fakePw1",
                "~/.pgpass: h:5432:shop:app:[redacted:password]",
            ),
            (
                "machine h login bot password fakePw1",
                "machine h login bot password [redacted:password]",
            ),
            (
                "mongosh --host db -u app -p fakePw1 shop",
                "mongosh --host db -u app -p [redacted:password] shop",
            ),
            (
                "net use Z: \\\\nas\\share /user:svc fakePw1",
                "net use Z: \\\\nas\\share /user:svc [redacted:password]",
            ),
            (
                r#"{"auth":"ZmFrZTpmYWtlZmFrZQ=="}"#,
                r#"{"auth":"[redacted:password]"}"#,
            ),
        ] {
            assert_eq!(redact(text), want);
        }
    }

    #[test]
    fn look_alikes_stay() {
        for text in [
            "sha512-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3",
            "test_handleUnauthorizedRefreshTokenRotationConflict",
            "layer-0123456789abcdef0123456789abcdef0123456789abcdef",
            "curl -u \"$CI_USER:$CI_PASS\" https://x.invalid",
            "curl -u ci:$PASS https://x.invalid",
            "mysql -p shop",
            "login shell password prompt",
            "req_011CSHoEeqs5C35K2UUAqeHC failed",
        ] {
            assert_eq!(redact(text), text);
        }
    }
}
