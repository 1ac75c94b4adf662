//! The way out of a child that may reach some hosts only: it asks on a port of its own loopback, whose listening end it
//! handed to us, and nothing but connections to those hosts is made. What goes through is not looked at.

use std::{
    collections::BTreeSet,
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    net::TcpListener,
    os::fd::OwnedFd,
    time::Duration,
};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg, socketpair,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::{JoinHandle, JoinSet},
    time::timeout,
};

/// Longest head of a request.
const HEAD: usize = 16 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves until it is dropped.
pub(super) struct Door(JoinHandle<()>);

impl Drop for Door {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The two ends over which a child hands out its listener.
pub(super) fn ends() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

impl Door {
    /// Waits for the child's listener at our end, then serves it.
    pub(super) fn open(end: OwnedFd, hosts: &BTreeSet<String>) -> Self {
        let hosts = hosts.clone();
        Self(tokio::spawn(async move {
            let listener = tokio::task::spawn_blocking(move || receive(&end)).await;
            if let Ok(Some(listener)) = listener
                && let Err(error) = serve(listener, hosts).await
            {
                tracing::warn!("the way out of a child is closed: {error}");
            }
        }))
    }
}

/// Blocks until the child sent it, or closed its end.
fn receive(end: &OwnedFd) -> Option<TcpListener> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(
        end,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )
    .ok()?;
    let mut found = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            found = fds.into_iter().next();
        }
    }
    found.map(TcpListener::from)
}

async fn serve(listener: TcpListener, hosts: BTreeSet<String>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    // Dropped with this future, and every connection with it.
    let mut open = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await?;
        let hosts = hosts.clone();
        open.spawn(async move {
            // Either side may go away at any time.
            let _gone = pass(client, &hosts).await;
        });
        while open.try_join_next().is_some() {}
    }
}

/// What one client asks for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    host: String,
    port: u16,
    /// What the host is sent first; none: the client is told that it is connected.
    head: Option<String>,
}

async fn pass(mut client: TcpStream, hosts: &BTreeSet<String>) -> io::Result<()> {
    let (head, rest) = match timeout(PATIENCE, read_head(&mut client)).await {
        Ok(head) => head?,
        Err(_) => return Ok(()),
    };
    let Some(wanted) = wanted(&head) else {
        return refuse(&mut client, "400 Bad Request", "this is no request for a proxy").await;
    };
    if !is_listed(&wanted, hosts) {
        tracing::warn!(host = wanted.host, "a setup asked for a host that is not listed");
        let why = format!(
            "{} is not listed: add it to setup_hosts in tick's configuration",
            address(&wanted)
        );
        return refuse(&mut client, "403 Forbidden", &why).await;
    }
    let connected = timeout(PATIENCE, TcpStream::connect((wanted.host.as_str(), wanted.port))).await;
    let mut host = match connected {
        Ok(Ok(host)) => host,
        Ok(Err(error)) => return refuse(&mut client, "502 Bad Gateway", &error.to_string()).await,
        Err(_) => return refuse(&mut client, "504 Gateway Timeout", "no answer").await,
    };
    match &wanted.head {
        Some(head) => host.write_all(head.as_bytes()).await?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
    }
    host.write_all(&rest).await?;
    tokio::io::copy_bidirectional(&mut client, &mut host).await?;
    Ok(())
}

/// The head of a request, and what came after it.
async fn read_head(client: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut read = Vec::new();
    let mut some = [0; 4096];
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            return Ok((String::from_utf8_lossy(&read).into_owned(), rest));
        }
        let n = client.read(&mut some).await?;
        if n == 0 || read.len() > HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        read.extend_from_slice(&some[..n]);
    }
}

async fn refuse(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let length = why.len() + 1;
    let reply = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n");
    client.write_all(reply.as_bytes()).await
}

fn wanted(head: &str) -> Option<Wanted> {
    let (line, fields) = head.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if method == "CONNECT" {
        let (host, port) = target.rsplit_once(':')?;
        return Some(Wanted {
            host: host.trim_matches(['[', ']']).to_ascii_lowercase(),
            port: port.parse().ok()?,
            head: None,
        });
    }
    let url = url::Url::parse(target).ok().filter(|url| url.scheme() == "http")?;
    let mut path = url.path().to_owned();
    if let Some(query) = url.query() {
        path = format!("{path}?{query}");
    }
    // One request a connection: the next one may be for another host.
    let kept = fields.split("\r\n").filter(|field| {
        let name = field.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !field.is_empty() && !matches!(name.as_str(), "connection" | "proxy-connection" | "proxy-authorization")
    });
    let fields: Vec<&str> = kept.chain(["Connection: close"]).collect();
    Some(Wanted {
        host: url.host_str()?.to_ascii_lowercase(),
        port: url.port_or_known_default()?,
        head: Some(format!("{method} {path} {version}\r\n{}\r\n\r\n", fields.join("\r\n"))),
    })
}

/// A host without a port is meant at the two usual ones.
fn is_listed(wanted: &Wanted, hosts: &BTreeSet<String>) -> bool {
    let usual = matches!(wanted.port, 80 | 443) && hosts.contains(&wanted.host);
    usual || hosts.contains(&address(wanted))
}

fn address(wanted: &Wanted) -> String {
    format!("{}:{}", wanted.host, wanted.port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_only_listed_hosts_are_reached() {
        let hosts = ["registry.npmjs.org", "127.0.0.1:8080"].map(str::to_owned).into();
        for (line, listed) in [
            ("CONNECT registry.npmjs.org:443 HTTP/1.1", Some(true)),
            ("CONNECT Registry.NPMJS.org:443 HTTP/1.1", Some(true)),
            ("CONNECT registry.npmjs.org:22 HTTP/1.1", Some(false)),
            ("CONNECT registry.npmjs.org.evil.example:443 HTTP/1.1", Some(false)),
            ("CONNECT evil.example:443 HTTP/1.1", Some(false)),
            ("CONNECT 127.0.0.1:8080 HTTP/1.1", Some(true)),
            ("CONNECT 127.0.0.1:22 HTTP/1.1", Some(false)),
            ("GET http://127.0.0.1:8080/a?b=c HTTP/1.1", Some(true)),
            ("GET http://registry.npmjs.org@evil.example/ HTTP/1.1", Some(false)),
            ("GET /a HTTP/1.1", None),
            ("GET ftp://registry.npmjs.org/ HTTP/1.1", None),
            ("CONNECT nothing HTTP/1.1", None),
        ] {
            let wanted = wanted(&format!("{line}\r\nHost: x\r\n\r\n"));
            assert_eq!(wanted.map(|wanted| is_listed(&wanted, &hosts)), listed, "{line}");
        }
    }

    #[test]
    fn a_plain_request_is_passed_on_as_the_host_wants_it() {
        let head = "GET http://a.example:8080/x?y HTTP/1.1\r\nHost: a.example\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive\r\n\r\n";
        assert_eq!(
            wanted(head),
            Some(Wanted {
                host: "a.example".to_owned(),
                port: 8080,
                head: Some("GET /x?y HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n".to_owned()),
            })
        );
    }
}
