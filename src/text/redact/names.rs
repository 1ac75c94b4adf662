//! Names that announce a secret. Only the last words of a name count: `token_type` is no token.

/// Names before `key` that make it no secret.
const HARMLESS_KEYS: [&str; 28] = [
    "primary",
    "foreign",
    "unique",
    "cache",
    "partition",
    "sort",
    "public",
    "pub",
    "idempotency",
    "routing",
    "group",
    "object",
    "dedup",
    "restore",
    "shard",
    "hash",
    "range",
    "composite",
    "map",
    "index",
    "translation",
    "row",
    "storage",
    "i18n",
    "event",
    "duplicate",
    "lock",
    "s3",
];
/// Names before `key` that make it a secret in any spelling.
const SECRET_KEYS: [&str; 19] = [
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "signing",
    "encryption",
    "master",
    "license",
    "service",
    "app",
    "client",
    "deploy",
    "webhook",
    "account",
    "admin",
    "role",
    "functions",
    "subscription",
];
/// Words behind a name that say in which form it comes.
const FORMS: [&str; 5] = ["base", "data", "b64", "base64", "pem"];
/// Words before `token` that make it a place in a list.
const LIST_TOKENS: [&str; 8] = [
    "page",
    "next",
    "continuation",
    "pagination",
    "cursor",
    "resume",
    "sync",
    "scroll",
];
/// Words that end with `pass` and are no password.
const HARMLESS_PASSES: [&str; 7] = [
    "pass",
    "pgpass",
    "bypass",
    "compass",
    "encompass",
    "surpass",
    "trespass",
];

/// What kind of value a name announces.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Name {
    Authorization,
    Cookie,
    Password,
    /// `pass` alone, which also counts tests that did.
    Pass,
    /// Only as a parameter of a URL.
    Signature,
    Other,
}

impl Name {
    pub(super) fn of(identifier: &str) -> Option<Self> {
        let mut words = words(identifier);
        if words.len() > 2 && words.last().is_some_and(|word| FORMS.contains(&word.as_str())) {
            words.pop();
        }
        let last = words.last()?.as_str();
        let before = words.len().checked_sub(2).map_or("", |n| words[n].as_str());
        let ends = |ends: &[&str]| ends.iter().any(|end| last.ends_with(end));
        if last == "authorization" {
            Some(Self::Authorization)
        } else if last == "sig" || last == "signature" {
            Some(Self::Signature)
        } else if ends(&["cookie"]) {
            Some(Self::Cookie)
        } else if ends(&["password", "passwd", "passwort", "passphrase", "pwd"]) || short_password(last, words.len()) {
            Some(Self::Password)
        } else if identifier.eq_ignore_ascii_case("pass") {
            Some(Self::Pass)
        } else if last == "token" && LIST_TOKENS.contains(&before) {
            None
        } else if ends(&[
            "token",
            "secret",
            "apikey",
            "secretkey",
            "accesskey",
            "privatekey",
            "credential",
            "credentials",
        ]) || ends(&["sessid", "sessionid"])
            || (last == "id" && before == "session")
            || (last == "phrase" && matches!(before, "seed" | "recovery"))
            || last == "mnemonic"
            || (last == "pat" && words.len() > 1)
            || (last == "key" && secret_key(identifier, before))
        {
            Some(Self::Other)
        } else {
            None
        }
    }
}

/// `DB_PASS`, `smtppass`, `bindpw`; a word alone that says `pass` tells of tests.
fn short_password(last: &str, words: usize) -> bool {
    let several = words > 1;
    (several && (last == "pass" || last == "pw"))
        || (last.ends_with("pass") && !HARMLESS_PASSES.contains(&last))
        || matches!(last, "bindpw" | "rootpw" | "dbpw" | "userpw")
}

fn secret_key(identifier: &str, before: &str) -> bool {
    let constant = identifier.contains('_') && !identifier.bytes().any(|b| b.is_ascii_lowercase());
    SECRET_KEYS.contains(&before) || (constant && !HARMLESS_KEYS.contains(&before))
}

/// Lower-case words of `API_KEY_2`, `secretAccessKey`, `x-api-key`; a number at the end does not count.
pub(super) fn words(identifier: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = '_';
    for c in identifier.chars() {
        if c == '_' || c == '-' {
            previous = c;
            continue;
        }
        let begins = matches!(previous, '_' | '-') || (previous.is_ascii_lowercase() && c.is_ascii_uppercase());
        if begins || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
        previous = c;
    }
    while words.last().is_some_and(|w| w.bytes().all(|b| b.is_ascii_digit())) {
        words.pop();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_by_their_last_word() {
        for (name, secret) in [
            ("API_KEY", true),
            ("secretAccessKey", true),
            ("x-api-key", true),
            ("TOKEN_2", true),
            ("dbPassword", true),
            ("sentryAuthToken", true),
            ("PGPASSWORD", true),
            ("primary_key", false),
            ("PRIMARY_KEY", false),
            ("max_tokens", false),
            ("token_type", false),
            ("private_key_id", false),
            ("key", false),
            ("cacheKey", false),
            ("STRIPE_KEY", true),
            ("monkey", false),
            ("DB_PASS", true),
            ("smtpPass", true),
            ("bindpw", true),
            ("bypass", false),
            ("nextPageToken", false),
            ("GITHUB_PAT", true),
            ("secret_key_base", true),
            ("client-key-data", true),
            ("certificate-authority-data", false),
            ("SEED_PHRASE", true),
        ] {
            assert_eq!(Name::of(name).is_some(), secret, "{name}");
        }
    }
}
