//! The mailbox: a directory with one file a message, as the product's file backend writes it, and a reader that
//! remembers what was taken.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::Result;
use base64::Engine as _;

#[derive(Debug)]
pub struct Mailbox {
    dir: PathBuf,
    taken: Mutex<BTreeSet<PathBuf>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    pub file: PathBuf,
    pub message_id: String,
    pub to: String,
    pub subject: String,
    pub body: String,
}

impl Mailbox {
    pub fn new(dir: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(&dir)?;
        Ok(Self {
            dir,
            taken: Mutex::default(),
        })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every message, oldest name first.
    pub fn all(&self) -> Result<Vec<Mail>> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.dir)?.flatten().map(|e| e.path()).collect();
        files.retain(|f| f.is_file());
        files.sort();
        files.into_iter().map(read).collect()
    }

    /// Messages that nobody took yet; they are taken now.
    pub fn take(&self) -> Result<Vec<Mail>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self
            .all()?
            .into_iter()
            .filter(|mail| taken.insert(mail.file.clone()))
            .collect())
    }

    pub fn unread(&self) -> Result<Vec<Mail>> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self
            .all()?
            .into_iter()
            .filter(|mail| !taken.contains(&mail.file))
            .collect())
    }
}

fn read(file: PathBuf) -> Result<Mail> {
    let text = String::from_utf8_lossy(&std::fs::read(&file)?).replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let head = head.replace("\n ", " ").replace("\n\t", " ");
    let field = |name: &str| {
        let found = head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let body = match field("Content-Transfer-Encoding").to_ascii_lowercase().as_str() {
        "quoted-printable" => quoted_printable(body),
        "base64" => decode_base64(body),
        _ => body.to_owned(),
    };
    Ok(Mail {
        message_id: field("Message-ID"),
        to: field("To"),
        subject: words(&field("Subject")),
        body,
        file,
    })
}

fn decode_base64(text: &str) -> String {
    let packed: String = text.split_whitespace().collect();
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(packed)
        .unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn quoted_printable(text: &str) -> String {
    let joined = text.replace("=\n", "");
    let mut bytes = Vec::new();
    let mut rest = joined.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after
            .get(..2)
            .and_then(|h| std::str::from_utf8(h).ok())
            .and_then(|h| u8::from_str_radix(h, 16).ok());
        if let (b'=', Some(byte)) = (first, hex) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Encoded words of a header (`=?utf-8?b?…?=`), joined.
fn words(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("=?") {
        let mut parts = after.splitn(3, '?');
        let (_, kind, tail) = (
            parts.next(),
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let Some((word, tail)) = tail.split_once("?=") else {
            break;
        };
        if !before.trim().is_empty() {
            shown.push_str(before);
        }
        if kind.eq_ignore_ascii_case("b") {
            shown.push_str(&decode_base64(word));
        } else {
            shown.push_str(&quoted_printable(&word.replace('_', " ")));
        }
        rest = tail;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_is_read_once_and_decoded() {
        let dir = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::new(dir.path().to_owned()).unwrap();
        let text = "Message-ID: <a@b>\r\nTo: ops@acme.example\r\nSubject: [shop] fixed:\r\n =?utf-8?b?w6Q=?=\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\na =C3=A4 b=\r\nc\r\n";
        std::fs::write(dir.path().join("1.eml"), text).unwrap();
        let taken = mailbox.take().unwrap();
        assert_eq!(taken[0].subject, "[shop] fixed: ä");
        assert_eq!(taken[0].body, "a ä bc\n");
        assert!(mailbox.unread().unwrap().is_empty());
        assert!(mailbox.take().unwrap().is_empty());
    }
}
