//! The faults: what each does to a good answer. A fault knows no API; it gets the request and the answer that would
//! have been right.

use std::sync::LazyLock;

use flate2::Compression;

use super::{
    railway,
    server::{Act, Front},
};

const GOOD: &[u8] = include_bytes!("../../../tests/fixtures/tls/good.der");
const EXPIRED: &[u8] = include_bytes!("../../../tests/fixtures/tls/expired.der");
const OTHER: &[u8] = include_bytes!("../../../tests/fixtures/tls/other.der");

/// A good answer.
#[derive(Clone)]
pub(super) struct Good {
    pub(super) kind: &'static str,
    pub(super) body: String,
}

impl Good {
    pub(super) fn json(body: impl Into<String>) -> Self {
        Self {
            kind: "application/json",
            body: body.into(),
        }
    }

    pub(super) fn whole(&self) -> Vec<u8> {
        answer(200, &[("content-type", self.kind)], self.body.as_bytes())
    }
}

/// What a fault may need to know.
pub(super) struct Asked<'a> {
    pub(super) good: &'a Good,
    /// How often this place was asked before.
    pub(super) before: usize,
    /// Path and query of the request.
    pub(super) path: &'a str,
    /// `http://127.0.0.1:PORT` of this server.
    pub(super) here: &'a str,
    /// The port of another server, to which nobody may be led.
    pub(super) elsewhere: u16,
}

/// What is in front of the answers.
pub(super) fn front(fault: &str) -> Front {
    match fault {
        "tls-good" | "tls-unknown-issuer" => Front::Tls(GOOD),
        "tls-expired" => Front::Tls(EXPIRED),
        "tls-wrong-host" => Front::Tls(OTHER),
        "tls-stall" => Front::Stall,
        "reset-before-send" => Front::Slam,
        _ => Front::Plain,
    }
}

/// Whether it is met over TLS, and whether the authority of the certificates is trusted.
pub(super) fn tls(fault: &str) -> Option<bool> {
    fault.starts_with("tls-").then_some(fault != "tls-unknown-issuer")
}

/// Whether it takes as long as it is let.
pub(super) fn stalls(fault: &str) -> bool {
    ["drip", "silence", "stall", "endless"]
        .iter()
        .any(|word| fault.contains(word))
}

/// `None` where the fault has nothing to say about this request: the good answer stands.
pub(super) fn act(fault: &str, asked: &Asked<'_>) -> Option<Act> {
    let good = asked.good;
    if let Some((name, times)) = fault.rsplit_once('x')
        && let Ok(times) = times.parse::<usize>()
    {
        return (asked.before < times).then(|| refused(name, true));
    }
    if let Some(spoiled) = railway::spoil(fault, good, asked.before) {
        return Some(Act::Send(spoiled.whole()));
    }
    if let Some(act) = led(fault, asked) {
        return Some(act);
    }
    Some(match fault {
        // The answer is good, and the last one of this hour.
        "hour-spent" => Act::Send(answer(
            200,
            &[
                ("content-type", good.kind),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "600"),
            ],
            good.body.as_bytes(),
        )),
        "lost-answer" => Act::Send(Vec::new()),
        "reset-after-send" => Act::Reset(Vec::new()),
        "reset-in-head" => Act::Reset(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()),
        "reset-in-body" => Act::Reset(part(&good.whole(), 2)),
        "no-http" => Act::Send(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
        "html" => page(200, "text/html", "<!doctype html><title>Sign in</title>"),
        "words" => page(200, "text/plain", "upstream is fine, thank you"),
        "picture" => Act::Send(answer(
            200,
            &[("content-type", "image/png")],
            b"\x89PNG\r\n\x1a\n\0\0\xff\xfe",
        )),
        "wrong-kind" => Act::Send(answer(200, &[("content-type", "text/html")], good.body.as_bytes())),
        "empty" => page(200, good.kind, ""),
        "no-content" => Act::Send(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_vec()),
        "truncated" => Act::Send(part(&good.whole(), 2)),
        "chunk-cut" => Act::Send(chunked(&good.body, false)),
        "chunk-lies" => Act::Send(
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n",
                good.kind, good.body
            )
            .into_bytes(),
        ),
        "json-cut" => page(200, good.kind, &good.body[..good.body.len() - 1]),
        "json-broken" => page(200, good.kind, "{\"a\": tru, ]"),
        "json-trailing" => page(200, good.kind, &format!("{} {}", good.body, good.body)),
        "json-deep" => page(200, good.kind, &"[".repeat(100_000)),
        "json-other" => page(200, good.kind, r#"{"unexpected":{"shape":[1,2,3]}}"#),
        "json-null" => page(200, good.kind, "null"),
        "json-number" => page(200, good.kind, "-1e999"),
        "not-utf8" => Act::Send(answer(200, &[("content-type", good.kind)], b"{\"a\":\"\xff\xfe\"}")),
        "duplicate-keys" => page(200, good.kind, &duplicated(&good.body)),
        "huge" => Act::Repeat(
            head(200, &[("content-type", good.kind), ("content-length", "3000000000")]),
            vec![b' '; 1 << 16],
        ),
        "endless-body" => Act::Repeat(head(200, &[("content-type", good.kind)]), vec![b' '; 1 << 16]),
        "endless-head" => Act::Repeat(
            b"HTTP/1.1 200 OK\r\n".to_vec(),
            b"x-more: and more and more and more\r\n".repeat(512),
        ),
        "long-line" => page(200, good.kind, &format!("{}{}", " ".repeat(1 << 20), good.body)),
        "gzip-1000" => Act::Send(answer(
            200,
            &[("content-type", good.kind), ("content-encoding", "gzip")],
            &BOMB,
        )),
        "gzip-10gb" => Act::Repeat(
            [
                head(200, &[("content-type", good.kind), ("content-encoding", "gzip")]),
                GZIP_HEAD.to_vec(),
            ]
            .concat(),
            BLOCK.clone(),
        ),
        "gzip-broken" => Act::Send(answer(
            200,
            &[("content-type", good.kind), ("content-encoding", "gzip")],
            good.body.as_bytes(),
        )),
        "drip-head" => Act::Drip(Vec::new(), good.whole()),
        "drip-body" => {
            let whole = good.whole();
            let body = whole.len() - good.body.len();
            Act::Drip(
                whole[..body].to_vec(),
                [whole[body..].to_vec(), vec![b' '; 1000]].concat(),
            )
        }
        "silence" => Act::Silence,
        "tls-good" | "tls-expired" | "tls-wrong-host" | "tls-unknown-issuer" | "tls-stall" | "tls-plain" => {
            return None;
        }
        "reset-before-send" | "refused" => return None,
        other => refused(other, false),
    })
}

/// Answers that lead to another place. `None`: no fault of this kind.
fn led(fault: &str, asked: &Asked<'_>) -> Option<Act> {
    let good = asked.good;
    Some(match fault {
        "redirect-loop" => redirect(asked.path),
        "redirect-loopback" => redirect(&format!("http://localhost:{}/latest", asked.elsewhere)),
        "redirect-scheme" => redirect("file:///etc/hostname"),
        "redirect-credentials" => redirect(&format!("http://user:pass@localhost:{}/", asked.elsewhere)),
        "redirect-nowhere" => Act::Send(answer(302, &[], b"")),
        "page-itself" => linked(good, &format!("{}{}", asked.here, asked.path)),
        "page-circle" => linked(
            good,
            &format!("{}/circle{}?at={}", asked.here, bare(asked.path), asked.before % 2),
        ),
        "page-repeated" => linked(good, &format!("{}{}?n={}", asked.here, bare(asked.path), asked.before)),
        "page-missing" if asked.before == 0 => linked(good, &format!("{}{}?n=2", asked.here, bare(asked.path))),
        "page-missing" => page(404, "application/json", "{}"),
        "page-elsewhere" => linked(good, &format!("http://localhost:{}/more", asked.elsewhere)),
        _ => return None,
    })
}

/// `429-seconds`, `403-date`, `503`: a status, and how long to wait.
fn refused(name: &str, soon: bool) -> Act {
    let (status, wait) = name.split_once('-').unwrap_or((name, "absent"));
    let status: u16 = status.parse().unwrap_or_else(|_| panic!("no such fault: {name}"));
    let date = [
        ("date", "Sun, 29 Nov 2026 03:00:00 GMT"),
        ("retry-after", "Sun, 29 Nov 2026 03:00:00 GMT"),
    ];
    let headers: &[(&str, &str)] = match wait {
        "absent" => &[],
        "seconds" if soon => &[("retry-after", "0")],
        "seconds" => &[("retry-after", "60")],
        "date" => &date,
        "1e9" => &[("retry-after", "1000000000")],
        "negative" => &[("retry-after", "-5")],
        _ => panic!("no such fault: {name}"),
    };
    Act::Send(answer(status, headers, b"{\"message\":\"no\"}"))
}

fn bare(path: &str) -> &str {
    path.split('?').next().unwrap_or(path).trim_start_matches("/circle")
}

fn linked(good: &Good, next: &str) -> Act {
    let link = format!("<{next}>; rel=\"next\"");
    Act::Send(answer(
        200,
        &[("content-type", good.kind), ("link", &link)],
        good.body.as_bytes(),
    ))
}

fn redirect(to: &str) -> Act {
    Act::Send(answer(302, &[("location", to)], b""))
}

fn page(status: u16, kind: &str, body: &str) -> Act {
    Act::Send(answer(status, &[("content-type", kind)], body.as_bytes()))
}

fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let length = body.len().to_string();
    let mut bytes = head(status, &[headers, &[("content-length", length.as_str())]].concat());
    bytes.extend_from_slice(body);
    bytes
}

fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{}\r\n", lines.concat()).into_bytes()
}

fn part(whole: &[u8], of: usize) -> Vec<u8> {
    let body = whole.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    whole[..body + (whole.len() - body) / of].to_vec()
}

fn chunked(body: &str, ends: bool) -> Vec<u8> {
    let end = if ends { "0\r\n\r\n" } else { "" };
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n{end}",
        body.len()
    )
    .into_bytes()
}

/// The first object of a JSON text with a key twice.
fn duplicated(body: &str) -> String {
    match body.split_once('{') {
        Some((before, after)) => format!("{before}{{\"twice\":1,\"twice\":2,{after}"),
        None => "{\"twice\":1,\"twice\":2}".to_owned(),
    }
}

/// 64 MiB of blanks, with a checksum that is not theirs.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let end = [3, 0, 1, 2, 3, 4, 0, 0, 0, 4];
    [&GZIP_HEAD[..], &BLOCK.repeat(64), &end].concat()
});

const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// A piece of a gzip stream that stands for a mebibyte of blanks and may be repeated: sent again and again it is ten
/// gigabytes after ten megabytes.
static BLOCK: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut deflate = flate2::Compress::new(Compression::best(), false);
    let mut block = Vec::with_capacity(1 << 16);
    let blanks = vec![b' '; 1 << 20];
    deflate
        .compress_vec(&blanks, &mut block, flate2::FlushCompress::Full)
        .unwrap();
    block
});
