//! One mail, through an SMTP server or into a file. It neither words nor decides anything, and it never sends one
//! Message-ID twice by itself: what the answer of a server leaves open is said so (`Unknown`).

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use chrono::{DateTime, Utc};
use lettre::{
    AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::{
        Mailbox,
        header::{ContentType, Header, HeaderName, HeaderValue},
    },
};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use crate::{
    config::MailBackend,
    text::{Redactor, Untrusted, clean},
};

/// Longest wait for a connection, and again for a mail to be taken, all commands and a server that drips together.
const PATIENCE: Duration = Duration::from_secs(15);
/// Longest subject; a longer one is cut, since programs fold it badly.
const SUBJECT_CHARS: usize = 78;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// From `message_id`: the same key, the same id.
    pub message_id: String,
    /// Id of the mail that this one continues.
    pub in_reply_to: Option<String>,
    pub from: String,
    pub to: Vec<String>,
    pub subject: String,
    pub body: String,
    pub date: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailOutcome {
    /// The server took it, or the file is there (also from an earlier try).
    Sent,
    /// Certainly not sent: this message cannot be, or a reply says no.
    Refused(String),
    /// Certainly not sent, and the next one would not be either: nobody answers.
    NoServer(String),
    /// The connection broke after the mail went out: it may have arrived.
    Unknown(String),
    /// As `Unknown`, and the server says nothing any more: the next one would wait as long for nothing.
    Stalled(String),
    /// No mail is configured.
    Off,
}

/// Stable id of a message: the same key gives the same id on every machine.
pub fn message_id(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    let hash = digest
        .iter()
        .take(8)
        .fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    let readable: String = key
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '.' })
        .take(80)
        .collect();
    format!("<{}.{hash:016x}@tick.invalid>", readable.trim_matches('.'))
}

#[derive(Clone)]
pub struct Mailer {
    backend: MailBackend,
    redactor: Redactor,
    patience: Duration,
}

impl Mailer {
    pub fn new(backend: MailBackend, redactor: Redactor) -> Self {
        Self {
            backend,
            redactor,
            patience: PATIENCE,
        }
    }

    pub async fn send(&self, mail: &Mail) -> MailOutcome {
        if matches!(self.backend, MailBackend::Off) {
            return MailOutcome::Off;
        }
        let built = match (&self.backend, mail.to.as_slice()) {
            // Whoever opens the directory is the reader.
            (MailBackend::File(_), []) => build(&Mail {
                to: vec![mail.from.clone()],
                ..mail.clone()
            }),
            _ => build(mail),
        };
        let message = match built {
            Ok(message) => message,
            Err(why) => return MailOutcome::Refused(why),
        };
        match &self.backend {
            MailBackend::Off => MailOutcome::Off,
            MailBackend::File(dir) => into_file(dir, &mail.message_id, &message.formatted()),
            MailBackend::Smtp(url) => self.through_smtp(url, message).await,
        }
    }

    async fn through_smtp(&self, url: &SecretString, message: Message) -> MailOutcome {
        let transport = match AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret()) {
            Ok(builder) => builder.timeout(Some(self.patience)).build(),
            // The error quotes the URL, which holds the password.
            Err(_) => return MailOutcome::Refused("SMTP_URL is not an address of a mail server".to_owned()),
        };
        // A first connection separates what failed before any mail could go out from what failed after.
        // The timeout of the library is one for a connection, not for answers.
        match timeout(self.patience, transport.test_connection()).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return MailOutcome::NoServer("the mail server does not answer".to_owned()),
            Ok(Err(error)) => return MailOutcome::NoServer(self.said("cannot connect to the mail server", &error)),
            Err(_) => return MailOutcome::NoServer(self.silent()),
        }
        match timeout(self.patience, transport.send(message)).await {
            Ok(Ok(_)) => MailOutcome::Sent,
            Ok(Err(error)) if error.status().is_some() || error.is_tls() => {
                MailOutcome::Refused(self.said("the mail server refused", &error))
            }
            Ok(Err(error)) if error.is_timeout() => MailOutcome::Stalled(self.silent()),
            Ok(Err(error)) => MailOutcome::Unknown(self.said("the mail server did not confirm", &error)),
            Err(_) => MailOutcome::Stalled(self.silent()),
        }
    }

    fn silent(&self) -> String {
        let seconds = self.patience.as_secs();
        format!("the mail server accepted the connection and was not done after {seconds} s")
    }

    /// The server's words are text from outside.
    fn said(&self, attempt: &str, error: &lettre::transport::smtp::Error) -> String {
        let words = Untrusted::new(&error.to_string(), &self.redactor).quoted(200);
        format!("{attempt}: {words}")
    }
}

/// A message of typed headers only: no part of it can add another.
fn build(mail: &Mail) -> Result<Message, String> {
    let address = |text: &str| {
        text.parse::<Mailbox>()
            .map_err(|_| format!("{text:?} is not a mail address"))
    };
    if !is_message_id(&mail.message_id) || !mail.in_reply_to.iter().all(|id| is_message_id(id)) {
        return Err("the message id is malformed".to_owned());
    }
    let mut builder = Message::builder()
        .from(address(&mail.from)?)
        .subject(subject_line(&mail.subject))
        .message_id(Some(mail.message_id.clone()))
        .date(SystemTime::from(mail.date))
        .header(AutoSubmitted)
        .header(ContentType::TEXT_PLAIN);
    if mail.to.is_empty() {
        return Err("no recipient is configured".to_owned());
    }
    for to in &mail.to {
        builder = builder.to(address(to)?);
    }
    if let Some(id) = &mail.in_reply_to {
        builder = builder.in_reply_to(id.clone()).references(id.clone());
    }
    builder
        .body(mail.body.clone())
        .map_err(|e| format!("cannot build the message: {e}"))
}

/// One line without controls, cut to what programs show.
fn subject_line(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = clean(&line.join(" "));
    if line.chars().count() <= SUBJECT_CHARS {
        return line;
    }
    let head: String = line.chars().take(SUBJECT_CHARS - 1).collect();
    format!("{}…", head.trim_end())
}

fn is_message_id(id: &str) -> bool {
    let inner = id.strip_prefix('<').and_then(|id| id.strip_suffix('>'));
    inner.is_some_and(|inner| {
        inner.len() <= 200
            && inner
                .split_once('@')
                .is_some_and(|(left, right)| !left.is_empty() && !right.is_empty())
            && inner
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'@'))
    })
}

/// Keeps vacation notices and mailing lists from answering.
#[derive(Debug, Clone, Copy)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

/// A file whose name is the message id. It appears as a whole or not at all, and never twice.
fn into_file(dir: &Path, message_id: &str, content: &[u8]) -> MailOutcome {
    let name: String = message_id.trim_matches(['<', '>']).chars().take(180).collect();
    match write_once(dir, &name, content) {
        Ok(()) => MailOutcome::Sent,
        Err(error) => MailOutcome::NoServer(format!("cannot write a message into {}: {error}", dir.display())),
    }
}

fn write_once(dir: &Path, name: &str, content: &[u8]) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let target = dir.join(format!("{name}.eml"));
    let temporary = temporary_beside(dir)?;
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        });
    // A link, unlike a rename, fails where the target exists.
    let linked = written.and_then(|()| match fs::hard_link(&temporary, &target) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    });
    let removed = fs::remove_file(&temporary);
    linked.and(removed)
}

fn temporary_beside(dir: &Path) -> std::io::Result<PathBuf> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    Ok(dir.join(format!(".{:016x}.tmp", u64::from_le_bytes(random))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail() -> Mail {
        Mail {
            message_id: message_id("mail/7f3a91c07f3a91c0-1/resolved"),
            in_reply_to: None,
            from: "tick <tick@acme.example>".into(),
            to: vec!["owner@acme.example".into()],
            subject: "[acme/web] fixed: ZeroDivisionError".into(),
            body: "All is well again.\n".into(),
            date: "2026-11-29T03:00:00Z".parse().unwrap(),
        }
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn a_server_that_says_nothing_or_drips_is_not_waited_for() {
        for drips in [false, true] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("smtp://{}", listener.local_addr().unwrap());
            drop(std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                // Until the other side goes away.
                while drips && stream.write_all(b"2").is_ok() {
                    std::thread::yield_now();
                }
                drop(stream.write_all(b""));
                let _closed = std::io::Read::read(&mut stream, &mut [0]);
            }));
            let mailer = Mailer {
                patience: Duration::from_millis(200),
                ..Mailer::new(MailBackend::Smtp(url.into()), Redactor::default())
            };
            let MailOutcome::NoServer(why) = run(mailer.send(&mail())) else {
                panic!("a silent server took it");
            };
            assert!(why.contains("was not done") || drips, "{why}");
        }
    }

    /// Takes a mail, and then says nothing, or hangs up.
    fn take_all_but_the_end(mut stream: std::net::TcpStream, stalls: bool) {
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stream.try_clone().unwrap()));
        let mut say = |words: &str| stream.write_all(format!("{words}\r\n").as_bytes()).is_ok();
        let mut going = say("220 hello");
        while let (true, Some(Ok(line))) = (going, lines.next()) {
            going = match line.as_str() {
                "DATA" => {
                    say("354 go on");
                    break;
                }
                "QUIT" => {
                    say("221 bye");
                    false
                }
                _ => say("250 go on"),
            };
        }
        if going {
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| stalls || line != "."))
            {}
        }
    }

    #[test]
    fn a_server_that_stalls_within_a_mail_is_told_from_one_that_hangs_up() {
        for stalls in [true, false] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("smtp://{}", listener.local_addr().unwrap());
            // The first connection only asks whether anybody is there.
            drop(std::thread::spawn(move || {
                for stream in listener.incoming() {
                    take_all_but_the_end(stream.unwrap(), stalls);
                }
            }));
            let mailer = Mailer {
                patience: Duration::from_secs(3),
                ..Mailer::new(MailBackend::Smtp(url.into()), Redactor::default())
            };
            let outcome = run(mailer.send(&mail()));
            assert_eq!(matches!(outcome, MailOutcome::Stalled(_)), stalls, "{outcome:?}");
            assert_eq!(matches!(outcome, MailOutcome::Unknown(_)), !stalls, "{outcome:?}");
        }
    }

    #[test]
    fn an_id_is_a_function_of_its_key() {
        assert_eq!(message_id("mail/a/b"), message_id("mail/a/b"));
        assert_ne!(message_id("mail/a/b"), message_id("mail/a.b"));
        for key in ["mail/7f3a91c07f3a91c0-1/resolved", "x\r\nBcc: y", "", "ü"] {
            assert!(is_message_id(&message_id(key)), "{key:?}: {}", message_id(key));
        }
    }

    #[test]
    fn a_file_appears_once_whatever_is_tried() {
        let dir = tempfile::tempdir().unwrap();
        let mailer = Mailer::new(MailBackend::File(dir.path().join("mail")), Redactor::default());
        for _ in 0..2 {
            assert_eq!(run(mailer.send(&mail())), MailOutcome::Sent);
        }
        let files: Vec<_> = fs::read_dir(dir.path().join("mail"))
            .unwrap()
            .map(|f| f.unwrap().path())
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let text = fs::read_to_string(&files[0]).unwrap();
        assert!(
            text.contains("Subject: [acme/web] fixed: ZeroDivisionError\r\n"),
            "{text}"
        );
        assert!(text.contains("Auto-Submitted: auto-generated\r\n"), "{text}");
        assert!(
            text.ends_with("All is well again.\r\n") || text.ends_with("All is well again.\n"),
            "{text}"
        );
    }

    #[test]
    fn a_file_needs_no_recipient() {
        let dir = tempfile::tempdir().unwrap();
        let mailer = Mailer::new(MailBackend::File(dir.path().to_owned()), Redactor::default());
        let nobody = Mail { to: vec![], ..mail() };
        assert_eq!(run(mailer.send(&nobody)), MailOutcome::Sent);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn no_text_can_add_a_header() {
        let mut hostile = mail();
        hostile.subject = "a\r\nBcc: evil@x.example\u{1b}[31m\u{202e}".into();
        let text = String::from_utf8(build(&hostile).unwrap().formatted()).unwrap();
        let head = text.split("\r\n\r\n").next().unwrap();
        assert!(
            !head.lines().any(|line| line.to_ascii_lowercase().starts_with("bcc:")),
            "{head}"
        );

        hostile.to = vec!["a@b.example\r\nBcc: evil@x.example".into()];
        assert!(build(&hostile).is_err());
        let mut hostile = mail();
        hostile.message_id = "<a@b>\r\nBcc: evil@x.example".into();
        assert!(build(&hostile).is_err());
    }

    #[test]
    fn a_long_subject_is_cut_and_a_text_of_any_language_survives() {
        let mut long = mail();
        long.subject = "ä".repeat(300);
        assert_eq!(subject_line(&long.subject).chars().count(), SUBJECT_CHARS);
        long.body = "Größe: 3 µs\n".into();
        let message = build(&long).unwrap();
        assert!(message.formatted().is_ascii(), "encoded for every server");
    }

    #[test]
    fn without_mail_nothing_is_sent() {
        assert_eq!(
            run(Mailer::new(MailBackend::Off, Redactor::default()).send(&mail())),
            MailOutcome::Off
        );
    }

    #[test]
    fn no_server_is_a_refusal_without_the_password() {
        let url = SecretString::from("smtp://user:not-a-real-password@127.0.0.1:1".to_owned());
        let outcome = run(Mailer::new(MailBackend::Smtp(url), Redactor::default()).send(&mail()));
        let MailOutcome::NoServer(why) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(why.starts_with("cannot connect to the mail server"), "{why}");
        assert!(!why.contains("not-a-real-password"), "{why}");
    }
}
