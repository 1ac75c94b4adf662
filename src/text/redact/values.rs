//! Judges what stands where a secret could stand: placeholders, code and prose are none.

use super::{MARK, names::Name};

pub(super) fn is_scheme(word: &str) -> bool {
    const SCHEMES: [&str; 11] = [
        "bearer",
        "basic",
        "token",
        "digest",
        "apikey",
        "negotiate",
        "bot",
        "dpop",
        "ssws",
        "oauth",
        "key",
    ];
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

pub(super) fn cookie_is_secret(name: &str, value: &str) -> bool {
    const ATTRIBUTES: [&str; 8] = [
        "path", "max-age", "expires", "domain", "samesite", "priority", "version", "theme",
    ];
    const SESSIONS: [&str; 8] = ["sess", "sid", "auth", "token", "csrf", "xsrf", "jwt", "secret"];
    let name = name.to_ascii_lowercase();
    if ATTRIBUTES.contains(&name.as_str()) || is_placeholder(value) {
        return false;
    }
    (value.len() >= 4 && SESSIONS.iter().any(|s| name.contains(s))) || value.len() >= 12
}

pub(super) fn is_placeholder(value: &str) -> bool {
    const WORDS: [&str; 38] = [
        "incorrect",
        "wrong",
        "short",
        "blank",
        "failed",
        "mismatch",
        "valid",
        "unknown",
        "bool",
        "text",
        "str",
        "null",
        "none",
        "nil",
        "undefined",
        "true",
        "false",
        "required",
        "missing",
        "invalid",
        "expired",
        "string",
        "number",
        "changeme",
        "example",
        "placeholder",
        "redacted",
        "[redacted]",
        "<redacted>",
        "hidden",
        "empty",
        "unset",
        "password",
        "secret",
        "token",
        "object",
        "[object",
        "nan",
    ];
    /// Where secrets are kept: the name of one there is none.
    const KEPT: [&str; 9] = [
        "op://",
        "vault:",
        "ssm:",
        "arn:",
        "sm://",
        "keyvault:",
        "bao:",
        "projects/",
        "secretref:",
    ];
    let lower = value.trim_end_matches(['!', '?']).to_ascii_lowercase();
    let mut bytes = value.bytes();
    let same = bytes.next().is_none_or(|first| bytes.all(|b| b == first));
    same || WORDS.contains(&lower.as_str())
        || value.contains(MARK)
        || lower.starts_with("[redacted")
        || KEPT.iter().any(|place| lower.starts_with(place))
        || lower.starts_with("your")
        || lower.ends_with("xxx")
        || ["${", "$(", "{{", "<", "%(", "%s", "***", "...", "xxxx", "-----BEGIN"]
            .iter()
            .any(|p| value.starts_with(p))
        || (value.starts_with('$') && value[1..].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

/// Characters as chance mixes them: capitals, small letters and digits change so often that no name is like it.
pub(super) fn is_random(value: &str, least: usize) -> bool {
    let kind = |b: u8| match b {
        b'A'..=b'Z' => 0,
        b'a'..=b'z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let some = |wanted| value.bytes().filter(|b| kind(*b) == wanted).count() >= 3;
    let changes = value
        .as_bytes()
        .windows(2)
        .filter(|pair| kind(pair[0]) != kind(pair[1]));
    value.len() >= least && some(0) && some(1) && some(2) && changes.count() * 5 >= value.len() * 2
}

/// As people choose a password where they must: capitals, small letters and two digits.
pub(super) fn is_chosen(value: &str) -> bool {
    let some = |kind: fn(&u8) -> bool, least| value.bytes().filter(kind).count() >= least;
    value.len() >= 8
        && some(u8::is_ascii_uppercase, 1)
        && some(u8::is_ascii_lowercase, 2)
        && some(u8::is_ascii_digit, 2)
        && value.is_ascii()
        && !value.contains(['/', ':', '('])
}

/// Letters and digits in one run, as no word has them.
pub(super) fn is_mixed(value: &str) -> bool {
    let some = |kind: fn(&u8) -> bool| value.bytes().any(|b| kind(&b));
    value.len() >= 6 && some(u8::is_ascii_digit) && some(u8::is_ascii_alphabetic) && !value.contains([' ', '/'])
}

pub(super) fn is_secret(value: &str, quoted: bool, tight: bool, name: &Name) -> bool {
    let least = match name {
        Name::Password => 3,
        Name::Pass => 8,
        _ => 6,
    };
    if value.len() < least || is_placeholder(value) {
        return false;
    }
    // MySQL says with it whether a password was sent.
    if *name == Name::Password && !quoted && value == "YES" {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if *name == Name::Pass {
        let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
        return (quoted || tight) && digits > 0 && letters > 2 && !is_sentence(value) && !looks_like_code(value);
    }
    if digits == value.len() && digits < 10 && *name != Name::Password {
        return false;
    }
    if *name == Name::Password && value.starts_with('/') {
        return false;
    }
    if quoted {
        return !is_sentence(value);
    }
    if looks_like_code(value) || (digits == 0 && is_named(value)) || is_file(value) {
        return false;
    }
    let prose = value
        .bytes()
        .all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'\'' | b'.' | b':' | b'!' | b'?'))
        || (digits == 0 && value.bytes().skip(1).all(|b| b.is_ascii_lowercase()));
    !prose || (tight && value.bytes().all(|b| b.is_ascii_lowercase()))
}

/// `dbPassword`, `SecretString`: the name of a variable or a type.
fn is_named(value: &str) -> bool {
    const TYPES: [&str; 6] = ["String", "Str", "Bytes", "Secret", "Token", "Password"];
    let plain = value.bytes().all(|b| b.is_ascii_alphabetic());
    let humps = value.bytes().skip(1).filter(u8::is_ascii_uppercase).count();
    plain && humps == 1 && TYPES.iter().any(|kind| value.ends_with(kind))
}

/// `/etc/shop/tls.key`.
fn is_file(value: &str) -> bool {
    value.starts_with('/') && value.contains('.') && !value.contains(['+', '='])
}

/// A sentence about the value is not the value.
fn is_sentence(value: &str) -> bool {
    const TELLING: [&str; 18] = [
        "must",
        "should",
        "is",
        "are",
        "be",
        "required",
        "cannot",
        "can",
        "least",
        "characters",
        "not",
        "please",
        "wrong",
        "the",
        "too",
        "field",
        "enter",
        "your",
    ];
    let mut words = value.split(' ');
    value.matches(' ').count() >= 2 && words.any(|word| TELLING.contains(&word.to_ascii_lowercase().as_str()))
}

/// `os.environ["X"]`, `config.secret`, `&str`, `getToken(…)`.
fn looks_like_code(value: &str) -> bool {
    if value.contains('(') || value.ends_with('[') || value.starts_with(['&', '[', '{', '@', '(']) {
        return true;
    }
    let head = value.split(['[', '?', '!']).next().unwrap_or_default();
    let path = head.split(['.', ':']).filter(|s| !s.is_empty()).collect::<Vec<_>>();
    path.len() >= 2
        && path
            .iter()
            .all(|segment| segment.len() <= 24 && segment.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_'))
}
