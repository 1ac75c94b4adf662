//! The smallest HTTP client that talks to loopback: the world's customers, its reverse proxy, and tests. One request a
//! connection, blocking.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context, Result};

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or(serde_json::Value::Null)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// `base` is `http://127.0.0.1:PORT`; `target` is path and query.
pub fn request(base: &str, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer> {
    let host = base.strip_prefix("http://").context("only http on loopback")?;
    let at: SocketAddr = host.parse().with_context(|| format!("parse the address {host}"))?;
    let mut stream =
        TcpStream::connect_timeout(&at, Duration::from_secs(5)).with_context(|| format!("connect {at}"))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut head = format!(
        "{method} {target} HTTP/1.0\r\nHost: {host}\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.extend([*name, ": ", *value, "\r\n"]);
    }
    head.push_str("\r\n");
    stream.write_all(&[head.as_bytes(), body].concat())?;
    let mut raw = Vec::new();
    stream.read_to_end(&mut raw)?;
    parse(&raw).with_context(|| format!("read the answer to {method} {target}"))
}

/// `GET` without any header.
pub fn get(base: &str, target: &str) -> Result<Answer> {
    request(base, "GET", target, &[], b"")
}

/// Head and body of an HTTP/1.0 answer, or of what a CGI program prints when `Status:` stands for the first line.
fn parse(raw: &[u8]) -> Result<Answer> {
    let end = raw
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .context("no end of the head")?;
    let head = std::str::from_utf8(&raw[..end])?;
    let (first, rest) = head.split_once("\r\n").unwrap_or((head, ""));
    let status = first
        .split(' ')
        .nth(1)
        .and_then(|s| s.parse().ok())
        .context("no status")?;
    Ok(Answer {
        status,
        headers: fields(rest),
        body: raw[end + 4..].to_vec(),
    })
}

/// Header lines as pairs.
pub fn fields(lines: &str) -> Vec<(String, String)> {
    lines
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect()
}
