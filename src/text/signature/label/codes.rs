//! Codes that a protocol or a tool defines: SQLSTATE, HTTP and SMTP statuses, Prisma, gRPC. In a template only those
//! numbers are left that are names.

use super::{AUTH, BUG, CONFIG, INFRASTRUCTURE, NOISE};

/// What the first code of a template says.
pub(super) fn label(template: &str) -> Option<&'static str> {
    // What a test found and wanted is no answer that somebody gave.
    let compares = |line: &&str| {
        line.starts_with("assert ")
            || line.contains(" - assert ")
            || (line.contains("expected ") && line.contains(" to "))
    };
    let mut words = template.lines().filter(|line| !compares(line)).flat_map(words);
    let mut before = [""; 2];
    words.find_map(|word| {
        let found = of(word, before).or_else(|| variable(word, before, template));
        before = [before[1], word];
        found
    })
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

fn of(word: &str, before: [&str; 2]) -> Option<&'static str> {
    let introduced = |words: &[&str]| {
        before
            .iter()
            .any(|word| words.iter().any(|known| known.eq_ignore_ascii_case(word)))
    };
    if is_unit_step(word) && matches!(before[1].len(), 3) && before[1].starts_with('2') {
        return Some(CONFIG);
    }
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    match (word.len(), digits) {
        (5, 4) if word.starts_with('P') => prisma(word),
        (5, 2..) if introduced(&["sqlstate", "code", "errcode"]) => sqlstate(word),
        (3, 3) if introduced(&["exit", "exited"]) => exit(word),
        (3, 3) => status(word.parse().ok()?),
        (1..=3, 1..) if before[0].eq_ignore_ascii_case("os") || before[1].eq_ignore_ascii_case("errno") => errno(word),
        (4, 4) if introduced(&["error", "mysql"]) => mysql(word.parse().ok()?),
        (_, 0) => grpc(word),
        _ => None,
    }
}

/// `Missing STRIPE_KEY`, `STRIPE_KEY is required`: the name of an environment variable, and that it is wanted.
fn variable(word: &str, before: [&str; 2], template: &str) -> Option<&'static str> {
    let capitals = word
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if word.len() < 6 || !capitals || !word[1..word.len() - 1].contains('_') {
        return None;
    }
    let missing = ["missing", "set", "keyerror"]
        .iter()
        .any(|word| before[1].eq_ignore_ascii_case(word));
    let (_, behind) = template.split_once(word)?;
    let behind = behind.trim_start_matches(['"', '\'', '`', ' ', ':']);
    let wanted = [
        "is required",
        "required",
        "is missing",
        "missing value",
        "is undefined",
        "not found",
        "was not found",
        "must be",
        "is empty",
    ];
    (missing || wanted.iter().any(|phrase| behind.starts_with(phrase))).then_some(CONFIG)
}

/// By the class of an SQL state, its first two characters.
fn sqlstate(code: &str) -> Option<&'static str> {
    let plain = code.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    match code.get(..2).filter(|_| plain)? {
        "08" if code == "08P01" => Some(BUG),
        "08" | "40" | "53" | "55" | "57" | "58" => Some(INFRASTRUCTURE),
        "28" => Some(AUTH),
        "3D" => Some(CONFIG),
        "42" if code == "42501" => Some(AUTH),
        "21" | "22" | "23" | "42" => Some(BUG),
        _ => None,
    }
}

fn prisma(code: &str) -> Option<&'static str> {
    match code {
        "P1000" | "P1010" => Some(AUTH),
        "P1003" | "P1012" | "P1013" | "P1014" => Some(CONFIG),
        "P1001" | "P1002" | "P1008" | "P1011" | "P1017" | "P2024" | "P2028" | "P2034" | "P2037" => Some(INFRASTRUCTURE),
        _ if code.starts_with("P2") || code.starts_with("P3") => Some(BUG),
        _ => None,
    }
}

fn status(code: u16) -> Option<&'static str> {
    match code {
        401 | 403 | 407 | 511 | 530 | 534 | 535 | 538 => Some(AUTH),
        408 | 421 | 425 | 429 | 450..=454 | 500 | 502..=504 | 507 | 508 | 520..=529 | 552 => Some(INFRASTRUCTURE),
        413 | 499 => Some(NOISE),
        400..=499 | 501 => Some(BUG),
        _ => None,
    }
}

/// Of a process that a shell reports: ended by a signal, not found, not to be run.
fn exit(code: &str) -> Option<&'static str> {
    match code {
        "137" | "143" => Some(INFRASTRUCTURE),
        "126" | "127" => Some(CONFIG),
        "132" | "134" | "136" | "139" => Some(BUG),
        _ => None,
    }
}

/// `status=203/EXEC`: what a service manager could not do before the service's own code ran.
fn is_unit_step(word: &str) -> bool {
    const STEPS: [&str; 14] = [
        "CHDIR",
        "EXEC",
        "LIMITS",
        "CHROOT",
        "GROUP",
        "USER",
        "CAPABILITIES",
        "NAMESPACE",
        "SECCOMP",
        "APPARMOR_PROFILE",
        "RUNTIME_DIRECTORY",
        "STATE_DIRECTORY",
        "LOGS_DIRECTORY",
        "CREDENTIALS",
    ];
    STEPS.contains(&word)
}

/// What a system's call came back with.
fn errno(code: &str) -> Option<&'static str> {
    match code {
        "1" | "13" => Some(AUTH),
        "98" => Some(CONFIG),
        "5" | "11" | "12" | "23" | "24" | "28" | "30" | "101" | "104" | "110" | "111" | "113" | "122" => {
            Some(INFRASTRUCTURE)
        }
        "32" => Some(NOISE),
        _ => None,
    }
}

fn mysql(code: u16) -> Option<&'static str> {
    match code {
        1044 | 1045 | 1142 | 1143 | 1698 => Some(AUTH),
        1049 => Some(CONFIG),
        1040 | 1203 | 1205 | 1213 | 2002 | 2003 | 2006 | 2013 => Some(INFRASTRUCTURE),
        1054 | 1062 | 1064 | 1146 | 1364 | 1366 | 1406 | 1451 | 1452 => Some(BUG),
        _ => None,
    }
}

fn grpc(code: &str) -> Option<&'static str> {
    match code {
        "UNAVAILABLE" | "DEADLINE_EXCEEDED" | "DeadlineExceeded" | "RESOURCE_EXHAUSTED" | "ResourceExhausted" => {
            Some(INFRASTRUCTURE)
        }
        "PERMISSION_DENIED" | "PermissionDenied" | "UNAUTHENTICATED" | "Unauthenticated" => Some(AUTH),
        "INVALID_ARGUMENT"
        | "InvalidArgument"
        | "UNIMPLEMENTED"
        | "Unimplemented"
        | "FAILED_PRECONDITION"
        | "OUT_OF_RANGE" => Some(BUG),
        "CANCELLED" => Some(NOISE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_say_their_kind() {
        for (template, want) in [
            ("ERROR: x (SQLSTATE 42703)", Some(BUG)),
            ("code: '28P01'", Some(AUTH)),
            ("code: '57014',", Some(INFRASTRUCTURE)),
            ("code: 'P2024'", Some(INFRASTRUCTURE)),
            ("Error code: P1012", Some(CONFIG)),
            ("status code 403", Some(AUTH)),
            ("responded with 429", Some(INFRASTRUCTURE)),
            ("rpc error: code = PermissionDenied desc = x", Some(AUTH)),
            ("ERROR 1045 (28000): x", Some(AUTH)),
            ("exit code 137", Some(INFRASTRUCTURE)),
            ("code=exited, status=203/EXEC", Some(CONFIG)),
            ("exit code 2", None),
            ("Io(Custom) (os error 28)", Some(INFRASTRUCTURE)),
            ("[Errno 13] x", Some(AUTH)),
            ("Error: Missing STRIPE_KEY", Some(CONFIG)),
            ("'STRIPE_KEY' is required", Some(CONFIG)),
            ("KeyError: 'STRIPE_KEY'", Some(CONFIG)),
            ("code: 'ERR_HTTP_HEADERS_SENT'", None),
            ("nothing", None),
        ] {
            assert_eq!(label(template), want, "{template}");
        }
    }
}
