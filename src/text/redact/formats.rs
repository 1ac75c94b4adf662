//! Credentials that their own shape gives away: fixed prefixes, JWT, PEM, passwords in URLs. Checksums and entropy
//! decide nothing here.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::{
    Hit, MARK,
    vendors::{Chars, FORMATS, Format},
};

/// So much of a text is looked at before a decision.
const LONGEST_JUDGED: usize = 256;

const PEM: &str = "-----BEGIN ";
const JWT: &str = "eyJ";
const URL: &str = "://";
/// Mailchimp: 32 digits of hex, then this and the number of a data center.
const REGION: &str = "-us";
/// Telegram bots: digits, a colon, `AA`.
const BOT: &str = ":AA";

/// What any of them begins with.
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|f| f.prefix).chain([PEM, JWT, URL, REGION, BOT])
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
            (None, REGION) => scan.regional(start, end),
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
        let longer = format.chars.of_hex() && self.behind(judged).is_ascii_alphanumeric();
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
        self.password_of_url(from).or_else(|| self.key_of_node(from))
    }

    /// `https://rpc.example/eth/<key>`: providers of blockchain nodes take the key as a part of the path.
    fn key_of_node(&self, from: usize) -> Option<Hit> {
        let host = self.run(from, LONGEST_JUDGED, |b| {
            b.is_ascii_alphanumeric() || b".-:".contains(&b)
        });
        let named = |part: &str| matches!(part, "rpc" | "mainnet" | "testnet" | "sepolia" | "holesky");
        if !self.text[from..host].split(['.', '-']).any(named) || self.behind(host) != b'/' {
            return None;
        }
        let mut start = host + 1;
        loop {
            let end = self.run(start, LONGEST_JUDGED, |b| Chars::WordDash.contains(b));
            let part = &self.text[start..end];
            let digits = part.bytes().filter(u8::is_ascii_digit).count();
            // Hashes and addresses of the chain are no keys.
            if part.len() >= 24 && digits >= 3 && !part.starts_with("0x") {
                return Some(Hit {
                    start,
                    end,
                    kind: "token",
                });
            }
            if self.behind(end) != b'/' {
                return None;
            }
            start = end + 1;
        }
    }

    fn password_of_url(&self, from: usize) -> Option<Hit> {
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
            || secret.bytes().all(|b| b == b'*' || b == b'x')
            || (secret.len() > 3 && secret.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'));
        (token && !placeholder).then(|| Hit {
            start,
            end: start + secret.len(),
            kind: "url-password",
        })
    }

    fn regional(&self, joint: usize, from: usize) -> Option<Hit> {
        let start = joint.checked_sub(32)?;
        let hex = self.text.as_bytes()[start..joint]
            .iter()
            .all(|b| Chars::Hex.contains(*b));
        let end = self.run(from, 3, |b| b.is_ascii_digit());
        let alone = !self.before(start).is_ascii_alphanumeric() && !self.behind(end).is_ascii_alphanumeric();
        (hex && alone && (1..=2).contains(&(end - from))).then_some(Hit {
            start,
            end,
            kind: "token",
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
    fn addresses_of_nodes_lose_their_key_only() {
        for (text, want) in [
            (
                "https://rpc.node.invalid/eth/0a1b2c3d4e5f60718293a4b5c6d7e8f9 failed",
                "https://rpc.node.invalid/eth/[redacted:token] failed",
            ),
            ("https://rpc.node.invalid/eth", "https://rpc.node.invalid/eth"),
            (
                "https://mainnet.invalid/tx/0x0a1b2c3d4e5f60718293a4b5c6d7e8f9",
                "https://mainnet.invalid/tx/0x0a1b2c3d4e5f60718293a4b5c6d7e8f9",
            ),
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
