//! The servers of the world: one listener a site on loopback, one thread with its own runtime, and the faults around every
//! answer. What an answer says is decided elsewhere, in plain blocking code.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    task::{Context as Task, Poll},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, Request, connect_info::Connected},
    response::Response,
    serve::IncomingStream,
};
use futures_util::StreamExt as _;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

use super::{
    faults::{Fault, Site},
    town::Town,
};

/// One request, read completely.
#[derive(Debug, Clone)]
pub struct Call {
    pub site: Site,
    pub method: String,
    /// As sent, without the query.
    pub path: String,
    pub query: String,
    pub headers: http::HeaderMap,
    pub body: Bytes,
}

impl Call {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }

    /// First value of a query parameter, decoded.
    pub fn param(&self, name: &str) -> Option<String> {
        url::form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or(serde_json::Value::Null)
    }
}

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), "application/json; charset=utf-8".into())],
            body: body.to_string().into_bytes(),
        }
    }

    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), "text/plain; charset=utf-8".into())],
            body: body.into().into_bytes(),
        }
    }

    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// Running servers. Dropping it ends them and every open connection.
pub struct Servers {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Addresses bound before anything is served, so that the parts of the world can name each other.
pub struct Bound {
    listeners: Vec<(Site, std::net::TcpListener)>,
}

impl Bound {
    pub fn new() -> Result<Self> {
        let listeners = [
            Site::Forge,
            Site::Tracker,
            Site::Railway,
            Site::Vercel,
            Site::Services,
            Site::App,
        ]
        .into_iter()
        .map(|site| {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").context("listen on loopback")?;
            listener.set_nonblocking(true)?;
            Ok((site, listener))
        })
        .collect::<Result<_>>()?;
        Ok(Self { listeners })
    }

    /// `http://127.0.0.1:PORT` of one site.
    pub fn url(&self, site: Site) -> Result<String> {
        let (_, listener) = self
            .listeners
            .iter()
            .find(|(s, _)| *s == site)
            .context("every site is bound")?;
        Ok(format!("http://{}", listener.local_addr()?))
    }
}

impl Servers {
    pub fn start(bound: Bound, town: &Arc<Town>) -> Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = mpsc::channel();
        let town = Arc::clone(town);
        let thread = thread::Builder::new().name("world".into()).spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            runtime.block_on(async {
                let begun = listen(bound, &town);
                let failed = begun.is_err();
                drop(ready.send(begun));
                if !failed {
                    // Ends on a message and also when the sender is gone.
                    let _either = stopped.await;
                }
            });
            runtime.shutdown_background();
        })?;
        is_ready.recv().context("the world's servers did not start")??;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

fn listen(bound: Bound, town: &Arc<Town>) -> io::Result<()> {
    for (site, listener) in bound.listeners {
        let town = Arc::clone(town);
        let wires = Wires(TcpListener::from_std(listener)?);
        let app = Router::new().fallback(move |request: Request| answer(site, Arc::clone(&town), request));
        drop(tokio::spawn(async move {
            axum::serve(wires, app.into_make_service_with_connect_info::<Cut>()).await
        }));
    }
    Ok(())
}

async fn answer(site: Site, town: Arc<Town>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let cut = parts.extensions.get::<ConnectInfo<Cut>>().map(|info| info.0.clone());
    let call = Call {
        site,
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body: axum::body::to_bytes(body, 64 << 20).await.unwrap_or_default(),
    };
    let faults = town.faults_for(&call);
    for fault in &faults {
        match fault {
            Fault::Slow { ms } => tokio::time::sleep(Duration::from_millis(*ms)).await,
            Fault::EndlessBody => return endless(),
            _ => {}
        }
    }
    let lost = faults.contains(&Fault::LostAnswer);
    let half = faults.contains(&Fault::Cut);
    let worked = tokio::task::spawn_blocking(move || town.answer(&call, &faults)).await;
    if lost && let Some(cut) = cut {
        cut.0.store(true, Ordering::SeqCst);
    }
    let reply = worked.unwrap_or_else(|_| Reply::text(500, "the world panicked"));
    if half { halved(reply) } else { finish(reply) }
}

fn finish(reply: Reply) -> Response {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response
        .body(Body::from(reply.body))
        .unwrap_or_else(|_| Response::new(Body::from("the world made an impossible answer")))
}

/// The head promises the whole; after half of it the connection ends.
fn halved(reply: Reply) -> Response {
    let half = reply.body[..reply.body.len() / 2].to_vec();
    let length = reply.body.len().to_string();
    let mut response = finish(reply.with("content-length", length));
    // What was not sent when a body fails is thrown away: the half goes out first.
    let end = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Err(io::Error::from(io::ErrorKind::ConnectionReset))
    };
    let half = futures_util::stream::iter([Ok(Bytes::from(half))]);
    *response.body_mut() = Body::from_stream(half.chain(futures_util::stream::once(end)));
    response
}

fn endless() -> Response {
    let chunk = Bytes::from_static(&[b' '; 16 * 1024]);
    let stream = futures_util::stream::repeat_with(move || Ok::<_, io::Error>(chunk.clone()));
    let mut response = Response::new(Body::from_stream(stream));
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}

/// Spoils an answer that was computed already; the faults that act earlier are not seen here.
pub fn spoil(reply: Reply, call: &Call, faults: &[Fault]) -> Reply {
    faults.iter().fold(reply, |reply, fault| match fault {
        Fault::Status { code, .. } => Reply::json(
            *code,
            &serde_json::json!({ "message": "Server Error", "documentation_url": "https://docs.example/rest", "status": code.to_string() }),
        ),
        Fault::Limited { seconds } => {
            let body = serde_json::json!({ "message": "too many calls" });
            Reply::json(429, &body).with("retry-after", seconds.to_string())
        }
        Fault::OtherShape => Reply::json(200, &serde_json::json!({ "unexpected": { "shape": [1, 2, 3] } })),
        Fault::NoBody => Reply {
            status: 200,
            body: Vec::new(),
            ..reply
        },
        Fault::Html => Reply {
            status: 200,
            headers: vec![("content-type".into(), "text/html".into())],
            body: b"<!doctype html><title>Sign in</title><p>Please sign in.".to_vec(),
        },
        Fault::TruncatedJson => Reply {
            body: reply.body[..reply.body.len() / 2].to_vec(),
            ..reply
        },
        Fault::DuplicateKeys => Reply {
            body: String::from_utf8_lossy(&reply.body)
                .replacen('{', r#"{"twice":1,"twice":2,"#, 1)
                .into_bytes(),
            ..reply
        },
        Fault::RedirectLoop => Reply::empty(302).with("location", call.path.clone()),
        Fault::RedirectTo { url } => Reply::empty(302).with("location", url.clone()),
        Fault::LostAnswer
        | Fault::Cut
        | Fault::Slow { .. }
        | Fault::EndlessBody
        | Fault::StaleHead
        | Fault::WrongTree
        | Fault::WrongParent
        | Fault::MergedWithoutCommit => reply,
    })
}

/// Set: the next write to this connection fails, so that the client gets nothing at all.
#[derive(Debug, Clone, Default)]
struct Cut(Arc<AtomicBool>);

impl Connected<IncomingStream<'_, Wires>> for Cut {
    fn connect_info(stream: IncomingStream<'_, Wires>) -> Self {
        stream.io().cut.clone()
    }
}

struct Wires(TcpListener);

impl axum::serve::Listener for Wires {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        let (stream, from) = axum::serve::Listener::accept(&mut self.0).await;
        let cut = Cut::default();
        (Wire { stream, cut }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

struct Wire {
    stream: TcpStream,
    cut: Cut,
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Task<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(task, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Task<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.cut.0.load(Ordering::SeqCst) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(task, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}
