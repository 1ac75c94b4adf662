//! One server for every fault: it reads a request and does to the answer what it is told, on plain or TLS connections.
//! It counts bytes and connections.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};

const KEY: &[u8] = include_bytes!("../../../tests/fixtures/tls/leaf-key.der");
/// A client that has gone away is noticed by then.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two bytes of a slow answer.
const DRIP: Duration = Duration::from_millis(40);

/// What is done to one connection once its request is read.
pub(super) enum Act {
    /// These bytes, then the end.
    Send(Vec<u8>),
    /// The first bytes, then the second ones for ever.
    Repeat(Vec<u8>, Vec<u8>),
    /// The first bytes at once, then the rest one at a time.
    Drip(Vec<u8>, Vec<u8>),
    /// The bytes, then a reset.
    Reset(Vec<u8>),
    Silence,
}

/// What is done before a request is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Front {
    Plain,
    Tls(&'static [u8]),
    /// Takes the connection and says nothing.
    Stall,
    /// Ends the connection as soon as it is there.
    Slam,
}

pub(super) struct Server {
    pub(super) port: u16,
    /// Bytes that were taken from it.
    pub(super) sent: Arc<AtomicUsize>,
    /// Connections that were made to it.
    pub(super) accepted: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

type Answer = dyn Fn(&str) -> Act + Send + Sync;

impl Server {
    pub(super) fn start(front: Front, answer: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            sent: Arc::default(),
            accepted: Arc::default(),
            stop: Arc::default(),
        };
        let (sent, stop) = (server.sent.clone(), server.stop.clone());
        let accepted = server.accepted.clone();
        let answer: Arc<Answer> = Arc::new(answer);
        let tls = match front {
            Front::Tls(certificate) => Some(tls(certificate)),
            Front::Plain | Front::Stall | Front::Slam => None,
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                accepted.fetch_add(1, Ordering::SeqCst);
                let (sent, answer) = (sent.clone(), answer.clone());
                let tls = tls.clone();
                std::thread::spawn(move || {
                    // A client that goes away in the middle is what most faults lead to.
                    let _ignored = serve(stream, front, tls, &*answer, &sent);
                });
            }
        });
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn tls(certificate: &'static [u8]) -> Arc<ServerConfig> {
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(certificate)],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY)),
        );
    Arc::new(config.unwrap())
}

fn serve(
    stream: TcpStream,
    front: Front,
    tls: Option<Arc<ServerConfig>>,
    answer: &Answer,
    sent: &AtomicUsize,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    match (front, tls) {
        (Front::Slam, _) => reset(&stream),
        (Front::Stall, _) => (&stream)
            .read(&mut [0; 4096])
            .and_then(|_| (&stream).read(&mut [0; 1]))
            .map(drop),
        (Front::Tls(_), Some(config)) => {
            let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
            let mut whole = StreamOwned::new(connection, stream);
            let request = request(&mut whole)?;
            act(answer(&request), &mut whole, sent)?;
            whole.conn.send_close_notify();
            whole.flush()
        }
        (Front::Plain | Front::Tls(_), _) => {
            let mut plain = &stream;
            let request = request(&mut plain)?;
            match answer(&request) {
                Act::Reset(bytes) => {
                    plain.write_all(&bytes)?;
                    reset(&stream)
                }
                other => act(other, &mut plain, sent),
            }
        }
    }
}

/// Head and body of a request.
fn request(stream: &mut impl Read) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let n = stream.read(&mut piece)?;
        if n == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..n]);
        // The first byte of a client that speaks TLS.
        if bytes[0] == 22 {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")?
                .trim()
                .parse::<usize>()
                .ok()
        });
        if body.len() >= length.unwrap_or(0) {
            return Ok(text);
        }
    }
}

fn act(act: Act, stream: &mut (impl Read + Write), sent: &AtomicUsize) -> std::io::Result<()> {
    let send = |stream: &mut dyn Write, bytes: &[u8]| {
        stream.write_all(bytes)?;
        stream.flush()?;
        sent.fetch_add(bytes.len(), Ordering::SeqCst);
        Ok::<(), std::io::Error>(())
    };
    match act {
        Act::Send(bytes) | Act::Reset(bytes) => send(stream, &bytes),
        Act::Repeat(first, again) => {
            send(stream, &first)?;
            loop {
                send(stream, &again)?;
            }
        }
        Act::Drip(first, rest) => {
            send(stream, &first)?;
            for byte in rest {
                std::thread::sleep(DRIP);
                send(stream, &[byte])?;
            }
            Ok(())
        }
        // Until the client closes its side.
        Act::Silence => stream.read(&mut [0; 1]).map(drop),
    }
}

/// Ends a connection without an orderly close: what was read or sent is void.
fn reset(stream: &TcpStream) -> std::io::Result<()> {
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).map_err(std::io::Error::from)?;
    stream.shutdown(Shutdown::Read)
}
