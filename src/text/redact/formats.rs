//! Credentials that their own shape gives away: fixed prefixes, JWT, PEM, passwords in URLs. Checksums and entropy
//! decide nothing here.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::{Hit, MARK};

/// A prefix, the characters that may follow, how many must.
struct Format {
    prefix: &'static str,
    chars: Chars,
    least: usize,
    /// The prefix must not be the end of a longer word.
    word_start: bool,
}

#[derive(Clone, Copy)]
enum Chars {
    Alnum,
    Word,
    WordDash,
    /// With `.`, `+`, `/` and `=`.
    Token,
    Upper,
    /// Of small letters.
    Hex,
}

const fn format(prefix: &'static str, chars: Chars, least: usize, word_start: bool) -> Format {
    Format {
        prefix,
        chars,
        least,
        word_start,
    }
}

const FORMATS: [Format; 94] = {
    use Chars::{Alnum, Hex, Token, Upper, Word, WordDash};
    [
        format("ghp_", Word, 20, false),
        format("gho_", Word, 20, false),
        format("ghu_", Word, 20, false),
        format("ghs_", Word, 20, false),
        format("ghr_", Word, 20, false),
        format("github_pat_", Word, 20, false),
        format("glpat-", WordDash, 16, false),
        format("glrt-", WordDash, 16, true),
        format("gldt-", WordDash, 16, true),
        format("glptt-", WordDash, 16, true),
        format("glcbt-", WordDash, 16, true),
        format("glsoat-", WordDash, 16, true),
        format("sq0atp-", WordDash, 16, true),
        format("sq0csp-", WordDash, 16, true),
        format("HRKU-", WordDash, 24, true),
        format("rubygems_", Alnum, 24, true),
        format("ntn_", Alnum, 24, true),
        format("PMAK-", WordDash, 24, true),
        format("NRAK-", Upper, 20, true),
        format("glsa_", Word, 24, true),
        format("glc_", Token, 24, true),
        format("dapi", Hex, 32, true),
        format("hvs.", WordDash, 20, true),
        format("hvb.", WordDash, 20, true),
        format(".atlasv1.", WordDash, 24, false),
        format("dp.pt.", Alnum, 24, true),
        format("r8_", Alnum, 24, true),
        format("pplx-", Alnum, 24, true),
        format("figd_", WordDash, 24, true),
        format("fm2_", Token, 24, true),
        format("sl.", WordDash, 60, true),
        format("key-", Hex, 32, true),
        format("SK", Hex, 32, true),
        format("tskey-", WordDash, 16, true),
        format("rnd_", Alnum, 24, true),
        format("nvapi-", WordDash, 30, true),
        format("ATBB", Alnum, 24, true),
        format("ATCTT3", Token, 24, true),
        format("LTAI", Alnum, 12, true),
        format("squ_", Hex, 40, true),
        format("sqp_", Hex, 40, true),
        format("sqa_", Hex, 40, true),
        format("bkua_", Hex, 40, true),
        format("sgp_", Word, 40, true),
        format("CCIPAT_", Word, 40, true),
        format("pat-na1-", WordDash, 30, true),
        format("pat-eu1-", WordDash, 30, true),
        format("AKCp", Alnum, 60, true),
        format("cmVmdGtu", Alnum, 50, true),
        format("EAA", Alnum, 100, true),
        format("IGQ", WordDash, 100, true),
        format("sk-ant-", WordDash, 20, true),
        format("sk-proj-", WordDash, 20, true),
        format("sk-svcacct-", WordDash, 20, true),
        format("sk-admin-", WordDash, 20, true),
        format("sk-or-v1-", WordDash, 20, true),
        format("sk-", Alnum, 20, true),
        format("gsk_", Alnum, 20, true),
        format("xai-", Alnum, 30, true),
        format("hf_", Alnum, 24, true),
        format("AKIA", Upper, 16, true),
        format("ASIA", Upper, 16, true),
        format("AIza", WordDash, 30, true),
        format("ya29.", WordDash, 20, true),
        format("GOCSPX-", WordDash, 20, true),
        format("sk_live_", Alnum, 12, false),
        format("sk_test_", Alnum, 12, false),
        format("rk_live_", Alnum, 12, false),
        format("rk_test_", Alnum, 12, false),
        format("whsec_", Token, 16, false),
        format("xoxb-", WordDash, 16, false),
        format("xoxp-", WordDash, 16, false),
        format("xoxa-", WordDash, 16, false),
        format("xoxr-", WordDash, 16, false),
        format("xoxs-", WordDash, 16, false),
        format("xoxe-", WordDash, 16, false),
        format("xapp-", WordDash, 16, false),
        format("hooks.slack.com/services/", Token, 20, false),
        format("discord.com/api/webhooks/", Token, 20, false),
        format("npm_", Alnum, 30, true),
        format("pypi-", WordDash, 50, true),
        format("dckr_pat_", WordDash, 20, false),
        format("sntryu_", Alnum, 20, false),
        format("sntrys_", Token, 20, false),
        format("SG.", Token, 40, true),
        format("re_", Word, 24, true),
        format("shpat_", Alnum, 24, false),
        format("dop_v1_", Alnum, 24, false),
        format("sbp_", Alnum, 30, true),
        format("nfp_", Alnum, 24, true),
        format("lin_api_", Alnum, 24, false),
        format("xkeysib-", WordDash, 24, false),
        format("ATATT3", Token, 24, true),
        format("AGE-SECRET-KEY-1", Upper, 24, false),
    ]
};

/// So much of a text is looked at before a decision.
const LONGEST_JUDGED: usize = 256;

const PEM: &str = "-----BEGIN ";
const JWT: &str = "eyJ";
const URL: &str = "://";
/// Telegram bots: digits, a colon, `AA`.
const BOT: &str = ":AA";

/// What any of them begins with.
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|f| f.prefix).chain([PEM, JWT, URL, BOT])
}

static TRIGGERS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| super::finder(prefixes(), false));

pub(super) fn find(text: &str, hits: &mut Vec<Hit>) {
    let Some(triggers) = &*TRIGGERS else { return };
    let mut scan = Scan {
        text,
        no_pem_end_from: usize::MAX,
    };
    let mut done = 0;
    for found in triggers.find_overlapping_iter(text) {
        if found.start() < done {
            continue;
        }
        let (start, end) = (found.start(), found.end());
        let hit = match (FORMATS.get(found.pattern().as_usize()), &text[start..end]) {
            (Some(format), _) => scan.format(format, start, end),
            (None, PEM) => {
                done = scan.pem(start, end, hits).max(done);
                continue;
            }
            (None, JWT) => scan.jwt(start, end),
            (None, URL) => scan.url(end),
            (None, _) => scan.bot(start, end),
        };
        if let Some(hit) = hit {
            done = hit.end;
            hits.push(hit);
        }
    }
}

struct Scan<'a> {
    text: &'a str,
    /// Behind this point no END line of a private key follows (known from an earlier search).
    no_pem_end_from: usize,
}

impl Scan<'_> {
    fn run(&self, from: usize, most: usize, wanted: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text.as_bytes()[from..];
        from + rest.iter().take(most).take_while(|b| wanted(**b)).count()
    }

    fn before(&self, at: usize) -> u8 {
        at.checked_sub(1).map_or(b' ', |at| self.text.as_bytes()[at])
    }

    fn behind(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b' ')
    }

    fn format(&self, format: &Format, start: usize, from: usize) -> Option<Hit> {
        let before = self.before(start);
        if format.word_start && (before.is_ascii_alphanumeric() || before == b'_' || before == b'-') {
            return None;
        }
        let judged = self.run(from, LONGEST_JUDGED, |b| format.chars.contains(b));
        let body = &self.text[from..judged];
        let longer = matches!(format.chars, Chars::Hex) && self.behind(judged).is_ascii_alphanumeric();
        if body.len() < format.least || longer || (format.prefix == "re_" && !resend(body)) {
            return None;
        }
        // Words joined by dashes or underscores are a name; a credential mixes in digits or capitals.
        let mixed = body.bytes().any(|b| b.is_ascii_digit()) || body.bytes().any(|b| b.is_ascii_uppercase());
        let start = if format.prefix.contains('/') { from } else { start };
        mixed.then(|| Hit {
            start,
            end: self.run(judged, usize::MAX, |b| format.chars.contains(b)),
            kind: "token",
        })
    }

    /// Header, payload and signature; a long header and payload alone are enough (cut off by a log).
    fn jwt(&self, start: usize, from: usize) -> Option<Hit> {
        let part = |b: u8| Chars::WordDash.contains(b);
        if part(self.before(start)) {
            return None;
        }
        let mut end = self.run(from, usize::MAX, part);
        let mut dots = 0;
        while dots < 4 && self.text.as_bytes().get(end) == Some(&b'.') {
            let next = self.run(end + 1, usize::MAX, |b| part(b) || b == b'=');
            if next == end + 1 && dots != 0 {
                break;
            }
            dots += 1;
            end = next;
        }
        let long = end - start >= 40;
        (dots >= 1 && long).then_some(Hit {
            start,
            end,
            kind: "jwt",
        })
    }

    /// The body of a private key, line by line so that the number of lines stays.
    fn pem(&mut self, start: usize, from: usize, hits: &mut Vec<Hit>) -> usize {
        let label = self.run(from, usize::MAX, |b| {
            b.is_ascii_uppercase() || b == b' ' || b.is_ascii_digit()
        });
        let block = self.text[from..label].trim_end_matches(" BLOCK");
        if !block.ends_with("PRIVATE KEY") || !self.text[label..].starts_with("-----") {
            return start;
        }
        let body = label + 5;
        let end = self.pem_end(body).unwrap_or_else(|| {
            self.run(body, usize::MAX, |b| {
                b.is_ascii_alphanumeric() || b"+/=\\ \r\n\t:,".contains(&b)
            })
        });
        let mut at = body;
        for line in self.text[body..end].split('\n') {
            // A pair of literal backslash and n at either end belongs to the frame.
            let inner = line.trim().trim_start_matches("\\n").trim_end_matches("\\n");
            if inner.len() > 2 && !inner.starts_with(MARK) && !inner.starts_with('\\') {
                let offset = at + (inner.as_ptr() as usize - line.as_ptr() as usize);
                hits.push(Hit {
                    start: offset,
                    end: offset + inner.len(),
                    kind: "private-key",
                });
            }
            at += line.len() + 1;
        }
        end
    }

    fn pem_end(&mut self, body: usize) -> Option<usize> {
        if body >= self.no_pem_end_from {
            return None;
        }
        let found = self.text[body..].find("-----END ");
        if found.is_none() {
            self.no_pem_end_from = body;
        }
        found.map(|offset| body + offset)
    }

    /// `scheme://user:password@host` and `scheme://long-token@host`.
    fn url(&self, from: usize) -> Option<Hit> {
        let authority_end = self.run(from, LONGEST_JUDGED, |b| {
            !(b.is_ascii_whitespace() || b"/?#\"'<>`|\\,".contains(&b))
        });
        let authority = self.text.get(from..authority_end)?;
        let (user_info, _) = authority.rsplit_once('@')?;
        let (start, secret) = match user_info.split_once(':') {
            Some((user, password)) => (from + user.len() + 1, password),
            None => (from, user_info),
        };
        if user_info.contains(MARK) {
            return None;
        }
        let token = start > from || (secret.len() >= 20 && secret.bytes().any(|b| b.is_ascii_digit()));
        let placeholder = secret.is_empty()
            || secret.starts_with(['$', '<', '{', '['])
            || secret.bytes().all(|b| b == b'*' || b == b'x');
        (token && !placeholder).then(|| Hit {
            start,
            end: start + secret.len(),
            kind: "url-password",
        })
    }

    fn bot(&self, colon: usize, from: usize) -> Option<Hit> {
        let digits = self.text.as_bytes()[..colon]
            .iter()
            .rev()
            .take(13)
            .take_while(|b| b.is_ascii_digit())
            .count();
        let end = self.run(from, usize::MAX, |b| Chars::WordDash.contains(b));
        ((6..=12).contains(&digits) && end - from >= 26).then_some(Hit {
            start: colon + 1,
            end,
            kind: "token",
        })
    }
}

impl Chars {
    fn contains(self, b: u8) -> bool {
        match self {
            Self::Alnum => b.is_ascii_alphanumeric(),
            Self::Word => b.is_ascii_alphanumeric() || b == b'_',
            Self::WordDash => b.is_ascii_alphanumeric() || b == b'_' || b == b'-',
            Self::Token => b.is_ascii_alphanumeric() || b"_-.+/=".contains(&b),
            Self::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Self::Hex => matches!(b, b'0'..=b'9' | b'a'..=b'f'),
        }
    }
}

/// Two runs joined by one underscore, of letters in both cases and digits: no ordinary identifier.
fn resend(body: &str) -> bool {
    body.split_once('_')
        .is_some_and(|(id, rest)| id.len() >= 6 && rest.len() >= 12)
        && body.bytes().any(|b| b.is_ascii_digit())
        && body.bytes().any(|b| b.is_ascii_uppercase())
        && body.bytes().any(|b| b.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use crate::text::Redactor;

    fn redact(text: &str) -> String {
        Redactor::default().redact(text)
    }

    /// Put together at run time, so that no scanner takes this file for a leak.
    fn fake(prefix: &str, body: &str) -> String {
        [prefix, body].concat()
    }

    #[test]
    fn prefixed_tokens_go() {
        let body = "NotRealFake0NotRealFake0NotRealFake0";
        for prefix in [
            "ghp_",
            "github_pat_",
            "sk-ant-api03-",
            "sk-",
            "sk_live_",
            "xoxb-",
            "AIza",
            "npm_",
            "whsec_",
            "hf_",
        ] {
            let text = format!("bad value {} in step", fake(prefix, body));
            assert_eq!(redact(&text), "bad value [redacted:token] in step", "{prefix}");
        }
    }

    #[test]
    fn urls_lose_their_password_only() {
        for (text, want) in [
            (
                "to postgresql://app:fakePw@db.invalid:5432/app ok",
                "to postgresql://app:[redacted:url-password]@db.invalid:5432/app ok",
            ),
            ("redis://:fakePw@h:1", "redis://:[redacted:url-password]@h:1"),
            (
                "https://user@example.invalid/x.git",
                "https://user@example.invalid/x.git",
            ),
            (
                "https://example.invalid/@user/post",
                "https://example.invalid/@user/post",
            ),
            ("postgres://app:***@db/app", "postgres://app:***@db/app"),
            ("postgres://app:${PW}@db/app", "postgres://app:${PW}@db/app"),
        ] {
            assert_eq!(redact(text), want);
        }
    }

    #[test]
    fn private_keys_keep_their_frame_and_lines() {
        let key = "-----BEGIN EC PRIVATE KEY-----\nTk9UUkVBTA\nRkFLRQ==\n-----END EC PRIVATE KEY-----\nnext";
        assert_eq!(
            redact(key),
            "-----BEGIN EC PRIVATE KEY-----\n[redacted:private-key]\n[redacted:private-key]\n-----END EC PRIVATE KEY-----\nnext"
        );
        assert_eq!(
            redact("-----BEGIN PRIVATE KEY-----\nTk9UUkVBTA"),
            "-----BEGIN PRIVATE KEY-----\n[redacted:private-key]"
        );
        let public = "-----BEGIN PUBLIC KEY-----\nTk9UUkVBTA\n-----END PUBLIC KEY-----";
        assert_eq!(redact(public), public);
    }

    #[test]
    fn look_alikes_stay() {
        for text in [
            "task-runner-deploy-production-us-east-1-blue-green failed",
            "classic tokens begin with ghp_ and",
            "AKIA is a prefix",
            "base64 of {\" begins with eyJ",
            "re_export_all_the_things_from_here",
            "npm_config_registry=x",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn hostile_repetition_is_linear() {
        for piece in [
            "-----BEGIN PRIVATE KEY-----",
            "://",
            "eyJ.",
            "1:AA",
            "sk-",
            "ghp_",
            "xapp-",
        ] {
            assert!(!redact(&piece.repeat(5_000)).is_empty());
        }
    }
}
