//! The edge against servers that misbehave. Every case ends by the edge's own limits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{HeaderValue, header};

use super::{
    testing::{Reply, Server, json, path, reply},
    *,
};

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn client() -> Http {
    Http::new(Redactor::default(), Vec::new())
}

fn fetch(server: &Server, at: &str, change: impl FnOnce(&mut Request<'_>)) -> Result<Response, HttpError> {
    let url = server.url(at);
    let mut request = Request::get(&url);
    request.deadline = Duration::from_secs(5);
    change(&mut request);
    run(client().send(request))
}

fn cause(result: Result<Response, HttpError>) -> &'static str {
    result.map(|r| r.status.to_string()).expect_err("an error").cause()
}

#[test]
fn an_answer_of_any_status_is_an_answer() {
    let server = Server::start(|request| match path(request) {
        "/ok" => json("{}"),
        _ => reply(503, &[], "down"),
    });
    let ok = fetch(&server, "/ok", |_| {}).unwrap();
    assert_eq!((ok.status.as_u16(), &ok.body[..]), (200, b"{}".as_slice()));
    assert_eq!(fetch(&server, "/x", |_| {}).unwrap().status.as_u16(), 503);
    assert!(server.seen()[0].to_ascii_lowercase().contains("user-agent: tick/"));
}

#[test]
fn nothing_listening_is_refused() {
    let url = Url::parse("http://127.0.0.1:1/x?token=abc").unwrap();
    let error = run(client().send(Request::get(&url))).unwrap_err();
    assert_eq!(error.cause(), "refused");
    let text = error.to_string();
    assert!(text.contains("GET http://127.0.0.1") && !text.contains("abc"), "{text}");
}

#[test]
fn broken_answers_have_their_own_causes() {
    let server = Server::start(|request| match path(request) {
        "/short" => Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":".to_vec()),
        "/chunk" => Reply::Raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel".to_vec()),
        "/nothing" => Reply::Raw(Vec::new()),
        "/garbage" => Reply::Raw(b"220 mail.example ESMTP\r\n\r\n".to_vec()),
        "/endless" => Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'a'; 65536]),
        "/heads" => Reply::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"x-more: yes\r\n".repeat(500)),
        "/silent" => Reply::Silence(Vec::new()),
        "/drip" => Reply::Silence(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec()),
        other => panic!("{other}"),
    });
    let quick = |request: &mut Request<'_>| request.deadline = Duration::from_millis(300);
    assert_eq!(cause(fetch(&server, "/short", |_| {})), "truncated");
    assert_eq!(cause(fetch(&server, "/chunk", |_| {})), "truncated");
    assert_eq!(cause(fetch(&server, "/nothing", |_| {})), "reset");
    assert_eq!(cause(fetch(&server, "/garbage", |_| {})), "protocol");
    assert_eq!(cause(fetch(&server, "/endless", |_| {})), "too-large");
    assert_eq!(cause(fetch(&server, "/heads", |_| {})), "protocol");
    assert_eq!(cause(fetch(&server, "/silent", quick)), "timeout");
    assert_eq!(cause(fetch(&server, "/drip", quick)), "timeout");
}

#[test]
fn a_compressed_bomb_is_counted_after_unpacking() {
    let bomb = gzip_zeroes(64);
    assert!(bomb.len() < 500_000);
    let server = Server::start(move |_| {
        let mut answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            bomb.len()
        )
        .into_bytes();
        answer.extend_from_slice(&bomb);
        Reply::Raw(answer)
    });
    assert_eq!(cause(fetch(&server, "/", |request| request.cap = 100_000)), "too-large");
}

/// `megabytes` of zeroes in one fixed-Huffman deflate block: 258-byte matches at distance 1.
fn gzip_zeroes(megabytes: usize) -> Vec<u8> {
    struct Bits(Vec<u8>, u32, u32);
    impl Bits {
        fn put(&mut self, value: u32, count: u32) {
            self.1 |= value << self.2;
            self.2 += count;
            while self.2 >= 8 {
                self.0.push(self.1.to_le_bytes()[0]);
                self.1 >>= 8;
                self.2 -= 8;
            }
        }
    }
    let mut bits = Bits(vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], 0, 0);
    bits.put(1, 1);
    bits.put(1, 2);
    // Literal 0 has the code 00110000, sent from its first bit.
    bits.put(0b0000_1100, 8);
    for _ in 0..megabytes * (1 << 20) / 258 {
        // Length 258 is code 285 = 11000101; distance 1 is code 0 in five bits.
        bits.put(0b1010_0011, 8);
        bits.put(0, 5);
    }
    bits.put(0, 7);
    bits.put(0, 7);
    bits.0
}

#[test]
fn redirects_are_followed_only_where_they_were_meant() {
    let hits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&hits);
    let forbidden = Server::start(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        json("{}")
    });
    let port = forbidden.address.port();
    let server = Server::start(move |request| {
        let to = match path(request) {
            "/home" => return json(r#"{"at":"home"}"#),
            "/in" => "/home".to_owned(),
            "/loop" => "/loop".to_owned(),
            "/loopback" => format!("http://127.0.0.1:{port}/latest/meta-data/"),
            "/decimal" => format!("http://2130706433:{port}/"),
            "/mapped" => format!("http://[::ffff:7f00:1]:{port}/"),
            "/name" => format!("http://localhost:{port}/"),
            "/file" => "file:///etc/hostname".to_owned(),
            "/bad" => "http://[".to_owned(),
            other => panic!("{other}"),
        };
        reply(302, &[("location", &to)], "")
    });
    assert_eq!(&fetch(&server, "/in", |_| {}).unwrap().body[..], br#"{"at":"home"}"#);
    assert_eq!(cause(fetch(&server, "/loop", |_| {})), "redirect-loop");
    for at in ["/loopback", "/decimal", "/mapped", "/name", "/file", "/bad"] {
        assert_eq!(cause(fetch(&server, at, |_| {})), "redirect-denied", "{at}");
    }
    // Even where other hosts are allowed, another spelling of loopback is not reached.
    for at in ["/mapped", "/name"] {
        let result = fetch(&server, at, |request| request.redirects = Redirects::Elsewhere);
        assert_eq!(cause(result), "redirect-denied", "{at}");
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
    let answer = fetch(&server, "/loopback", |request| request.redirects = Redirects::None).unwrap();
    assert_eq!(answer.status.as_u16(), 302);
}

#[test]
fn secrets_stay_at_their_origin() {
    let storage = Server::start(|_| reply(200, &[], "log"));
    let to = storage.url("/log").to_string();
    let server = Server::start(move |_| reply(302, &[("location", &to)], ""));
    let answer = fetch(&server, "/jobs/1/logs", |request| {
        request.redirects = Redirects::Elsewhere;
        let mut own = HeaderValue::from_static("fake-key-not-real");
        own.set_sensitive(true);
        request.headers = vec![
            (
                header::AUTHORIZATION,
                HeaderValue::from_static("Bearer fake-token-not-real"),
            ),
            (HeaderName::from_static("x-key"), own),
            (header::ACCEPT, HeaderValue::from_static("text/plain")),
        ];
    })
    .unwrap();
    assert_eq!(&answer.body[..], b"log");
    assert!(server.seen()[0].contains("fake-token-not-real"));
    let second = &storage.seen()[0];
    assert!(
        second.contains("text/plain") && !second.contains("not-real"),
        "{second}"
    );
}

#[test]
fn safe_calls_are_tried_again_within_the_deadline() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let server = Server::start(
        move |request| match (path(request), counted.fetch_add(1, Ordering::SeqCst)) {
            ("/late", _) => reply(429, &[("retry-after", "1000000000")], ""),
            (_, 0) => reply(503, &[("retry-after", "0")], ""),
            (_, 1) => Reply::Raw(Vec::new()),
            _ => json("{}"),
        },
    );
    let policy = RetryPolicy {
        attempts: 3,
        first: Duration::from_millis(1),
        multiplier: 1.0,
        random_factor: 0.0,
        posts: false,
    };
    let ok = fetch(&server, "/", |request| request.retry = policy).unwrap();
    assert_eq!((ok.status.as_u16(), count.load(Ordering::SeqCst)), (200, 3));
    // A wait beyond the deadline is not begun.
    let late = fetch(&server, "/late", |request| request.retry = policy).unwrap();
    assert_eq!((late.status.as_u16(), count.load(Ordering::SeqCst)), (429, 4));
    // A write is never repeated.
    let once = fetch(&server, "/late", |request| {
        request.method = Method::POST;
        request.body = Some(Bytes::from_static(b"{}"));
        request.retry = policy;
    });
    assert_eq!((once.unwrap().status.as_u16(), count.load(Ordering::SeqCst)), (429, 5));
}

#[test]
fn an_error_says_why_each_try_failed() {
    let server = Server::start(|_| Reply::Raw(Vec::new()));
    let policy = RetryPolicy {
        attempts: 2,
        first: Duration::ZERO,
        multiplier: 1.0,
        random_factor: 0.0,
        posts: false,
    };
    let error = fetch(&server, "/", |request| request.retry = policy).unwrap_err();
    assert_eq!(error.earlier.len(), 1);
    assert!(error.to_string().contains("tries before"), "{error}");
}

#[test]
fn a_name_is_refused_when_it_does_not_resolve() {
    let url = Url::parse("http://no-such-host.invalid/").unwrap();
    assert_eq!(run(client().send(Request::get(&url))).unwrap_err().cause(), "dns");
}

#[test]
fn a_long_stream_is_handed_on_and_ends_at_the_cap() {
    let server = Server::start(|_| Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 4096]));
    let url = server.url("/log");
    let mut request = Request::get(&url);
    request.cap = 100_000;
    let mut seen = 0;
    let response = run(client().stream(request, &mut |piece| seen += piece.len())).unwrap();
    assert!(response.truncated && seen > 100_000 && seen < 1_000_000);
}
