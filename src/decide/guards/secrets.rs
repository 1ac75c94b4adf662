//! Secrets in what a diff adds. The redactor finds them; since it would rather hide too much, what it hides by the
//! name in front of it is weighed again here: code is full of names such as `token` that hold no secret.

use super::{Hit, lines::Lines};
use crate::{model::evidence::GuardVerdict, text::Redactor};

/// Kinds that say that something is a secret whatever stands before it.
const CERTAIN: &[&str] = &["known", "token", "jwt", "private-key", "url-password"];
/// Kinds of personal data: no reason to block a patch.
const PERSONAL: &[&str] = &[
    "email", "mail", "phone", "ip", "card", "iban", "name", "person", "user", "path", "home", "address",
];
const MARK: &str = "[redacted:";

/// Findings never repeat the line.
pub(super) fn check(lines: &Lines<'_>, redactor: &Redactor, hits: &mut Vec<Hit>) {
    let before = hits.len();
    for (line, text) in lines.added() {
        match weigh(text, &redactor.redact(text)) {
            GuardVerdict::Accept => {}
            GuardVerdict::NeedsHuman => {
                let why = "the line may hold a secret".to_owned();
                hits.push(Hit::new("secret", GuardVerdict::NeedsHuman, why).at(line));
            }
            GuardVerdict::Reject => {
                let why = "the line holds a secret; take it out and change it where it is used".to_owned();
                hits.push(Hit::new("secret", GuardVerdict::Reject, why).at(line));
            }
        }
    }
    // Spread over lines, such as a key block.
    let whole: String = lines.added().map(|(_, text)| text).collect::<Vec<_>>().join("\n");
    if hits.len() == before && weigh(&whole, &redactor.redact(&whole)) == GuardVerdict::Reject {
        let why = "the added lines together hold a secret".to_owned();
        hits.push(Hit::new("secret", GuardVerdict::Reject, why));
    }
}

/// How sure it is that a text which the redactor turned into this one held a secret.
pub(super) fn weigh(text: &str, redacted: &str) -> GuardVerdict {
    if text == redacted {
        return GuardVerdict::Accept;
    }
    let Some(hidden) = hidden(text, redacted) else {
        return GuardVerdict::Reject;
    };
    hidden.iter().map(Hidden::weigh).max().unwrap_or(GuardVerdict::Accept)
}

struct Hidden<'a> {
    kind: &'a str,
    value: &'a str,
    quoted: bool,
}

/// What each mark stands for, by what stands around it. None where the two texts do not fit.
fn hidden<'a>(text: &'a str, redacted: &'a str) -> Option<Vec<Hidden<'a>>> {
    let mut out = Vec::new();
    let mut at = 0;
    let mut rest = redacted;
    let mut kind = None;
    loop {
        let next = rest.find(MARK);
        let piece = &rest[..next.unwrap_or(rest.len())];
        let start = at;
        // The last piece stands at the end; the others at their first place.
        let found = match (next, kind) {
            (_, None) => text.starts_with(piece).then_some(0),
            (None, Some(_)) => text[at..].ends_with(piece).then(|| text.len() - piece.len()),
            (Some(_), Some(_)) => text[at..].find(piece).map(|i| at + i),
        }?;
        if let Some(kind) = kind {
            let before = text[..start].chars().next_back();
            out.push(Hidden {
                kind,
                value: &text[start..found],
                quoted: before.is_some_and(|c| matches!(c, '"' | '\'' | '`')),
            });
        }
        at = found + piece.len();
        let Some(next) = next else {
            return (at == text.len()).then_some(out);
        };
        let mark = &rest[next + MARK.len()..];
        let end = mark.find(']')?;
        kind = Some(&mark[..end]);
        rest = &mark[end + 1..];
    }
}

impl Hidden<'_> {
    fn weigh(&self) -> GuardVerdict {
        let kind = self.kind.split([':', ' ']).next().unwrap_or_default();
        if PERSONAL.contains(&kind) || self.value.starts_with(MARK) || self.is_placeholder() {
            GuardVerdict::Accept
        } else if CERTAIN.contains(&kind) {
            GuardVerdict::Reject
        } else {
            self.weigh_by_look()
        }
    }

    /// Filled in later, or the word for the thing itself.
    fn is_placeholder(&self) -> bool {
        const WORDS: &[&str] = &[
            "password", "passwd", "pass", "pw", "word", "secret", "token", "key", "xxx", "changeme", "example",
        ];
        let value = self.value.trim_matches(['"', '\'', '`', '*', '.']).to_ascii_lowercase();
        self.kind != "known"
            && (value.len() < 3
                || WORDS.contains(&value.as_str())
                || value.starts_with(['<', '{', '$', '%'])
                || value.contains("${"))
    }

    fn weigh_by_look(&self) -> GuardVerdict {
        let letters = self.value.chars().filter(char::is_ascii_alphabetic).count();
        let digits = self.value.chars().filter(char::is_ascii_digit).count();
        let plain = self
            .value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-+/=.~".contains(c));
        let random = plain && letters >= 3 && digits >= 2 && self.value.len() >= 12;
        if self.quoted && random || plain && digits >= 4 && letters >= 4 && self.value.len() >= 16 {
            GuardVerdict::Reject
        } else if self.quoted && self.value.len() >= 6 && !self.value.contains(' ') {
            GuardVerdict::NeedsHuman
        } else {
            GuardVerdict::Accept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: GuardVerdict) {
        assert_eq!(weigh(text, &Redactor::default().redact(text)), want, "{text}");
    }

    #[test]
    fn secrets_and_their_look_alikes() {
        use GuardVerdict::{Accept, NeedsHuman, Reject};
        check("const KEY = 'ghp_fakeFakeFakeFakeFakeFakeFakeFakeFake';", Reject);
        check("API_KEY = \"fake0Fake1Fake2Fake3\"", Reject);
        check("url = 'postgres://app:fakeFake1@db.invalid/app'", Reject);
        check("password = 'correct-horse-battery'", NeedsHuman);
        check("    token: CachedToken,", Accept);
        check("    private_key: DkimSigningKey,", Accept);
        check("const token = await readToken(request);", Accept);
        check("# scheme://user:password@host", Accept);
        check("url = f'postgres://app:{password}@db/app'", Accept);
        check("Authorization: `Bearer ${token}`", Accept);
        check("    password = models.CharField(max_length=128)", Accept);
        check("mail someone@shop.example from 192.0.2.17", Accept);
        check("API_KEY = '[redacted:key]'", Accept);
    }

    #[test]
    fn texts_that_do_not_fit_are_secrets() {
        assert_eq!(weigh("abc", "abd"), GuardVerdict::Reject);
        assert_eq!(weigh("a b", "[redacted:key"), GuardVerdict::Reject);
    }
}
