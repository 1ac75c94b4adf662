//! A hand-written server for tests: answers each request with raw bytes, so that broken answers can be sent too.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustls::{
    ServerConfig, ServerConnection, Stream,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use url::Url;

/// An authority that only tests trust, and certificates that it signed.
pub(crate) const CA: &[u8] = include_bytes!("../../../tests/fixtures/tls/ca.der");
const KEY: &[u8] = include_bytes!("../../../tests/fixtures/tls/leaf-key.der");
pub(crate) const GOOD: &[u8] = include_bytes!("../../../tests/fixtures/tls/good.der");
pub(crate) const EXPIRED: &[u8] = include_bytes!("../../../tests/fixtures/tls/expired.der");
pub(crate) const OTHER: &[u8] = include_bytes!("../../../tests/fixtures/tls/other.der");

pub(crate) enum Reply {
    /// These bytes, then the connection is closed.
    Raw(Vec<u8>),
    /// The bytes, then this piece for ever.
    Endless(Vec<u8>, Vec<u8>),
    /// The bytes, then silence until the client goes away.
    Silence(Vec<u8>),
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
}

impl Server {
    /// `answer` gets the head and body of each request as text.
    pub(crate) fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let answer = Arc::new(answer);
        let (log, ended) = (Arc::clone(&seen), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                std::thread::spawn(move || {
                    // A client that went away in the middle is part of the tests.
                    let _ignored = talk(stream, &*answer, &log);
                });
            }
        });
        Self { address, seen, stop }
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

fn talk(
    mut stream: TcpStream,
    answer: &(dyn Fn(&str) -> Reply + Send + Sync),
    log: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let n = stream.read(&mut piece)?;
        if n == 0 {
            return Ok(());
        }
        request.extend_from_slice(&piece[..n]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length:")
                        .map(|n| n.trim().parse::<usize>().unwrap())
                })
                .unwrap_or(0);
            if body.len() >= length {
                break;
            }
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    log.lock().unwrap().push(text.clone());
    match answer(&text) {
        Reply::Raw(bytes) => stream.write_all(&bytes),
        Reply::Endless(head, again) => {
            stream.write_all(&head)?;
            loop {
                stream.write_all(&again)?;
            }
        }
        Reply::Silence(head) => {
            stream.write_all(&head)?;
            // Ends when the client closes its side.
            stream.read(&mut piece).map(drop)
        }
    }
}

/// A complete answer with a length.
pub(crate) fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut text = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.push_str(body);
    Reply::Raw(text.into_bytes())
}

pub(crate) fn json(body: &str) -> Reply {
    reply(200, &[("content-type", "application/json")], body)
}

/// The path of a recorded request.
pub(crate) fn path(request: &str) -> &str {
    request.split(' ').nth(1).unwrap_or("")
}

/// Serves connections with this certificate, one after the other.
pub(crate) fn serve_tls(certificate: &'static [u8]) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(certificate)],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY)),
        )
        .unwrap();
    let config = Arc::new(config);
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = Stream::new(&mut connection, &mut socket);
            // A client that refuses the certificate goes away in the handshake.
            let _ignored = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
            let _ignored = stream.flush();
            let _ignored = stream.read(&mut [0; 1024]);
        }
    });
    url
}
