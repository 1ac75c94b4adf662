//! Mail through a real SMTP server, written by others: aiosmtpd. It prints each message that it took.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Stdio},
};

use secrecy::SecretString;
use tick::{
    adapters::mail::{Mail, MailOutcome, Mailer, message_id},
    config::MailBackend,
    text::Redactor,
};

use crate::support::{free_port, lacks, path_variable, program, test_deps};

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// `refuse` makes it answer 550 to every recipient.
    #[expect(clippy::disallowed_methods, reason = "a server that the product does not start")]
    fn start(refuse: bool) -> Option<Self> {
        let python = program("python3")?;
        if !test_deps().join("aiosmtpd").is_dir() {
            return None;
        }
        let port = free_port();
        let mut child = std::process::Command::new(python)
            .arg("-c")
            .arg(SERVER)
            .arg(port.to_string())
            .arg(if refuse { "refuse" } else { "take" })
            .env_clear()
            .env("PATH", path_variable())
            .env("PYTHONPATH", test_deps())
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        child.stdout = Some(out.into_inner());
        Some(Self { child, port })
    }

    fn url(&self) -> SecretString {
        SecretString::from(format!("smtp://127.0.0.1:{}", self.port))
    }

    /// Ends it and returns what it took.
    fn finish(mut self) -> String {
        let _ignored = self.child.kill();
        let mut text = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        self.child.wait().unwrap();
        text
    }
}

const SERVER: &str = r#"
import sys, time
from aiosmtpd.controller import Controller

class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if sys.argv[2] == "refuse":
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        print("to", ",".join(envelope.rcpt_tos))
        print(envelope.content.decode(), flush=True)
        return "250 taken"

Controller(Handler(), hostname="127.0.0.1", port=int(sys.argv[1])).start()
print("ready", flush=True)
while True:
    time.sleep(60)
"#;

fn mail() -> Mail {
    Mail {
        message_id: message_id("mail/7f3a91c07f3a91c0-1/resolved"),
        in_reply_to: Some(message_id("mail/7f3a91c07f3a91c0-1/needs-you")),
        from: "tick <tick@acme.example>".into(),
        to: vec!["a@acme.example".into(), "b@acme.example".into()],
        subject: "[acme/web] fixed: Größe\r\nBcc: evil@x.example".into(),
        body: "web is well again: 0 seen, 19 were to be expected.\n".into(),
        date: "2026-11-29T03:00:00Z".parse().unwrap(),
    }
}

fn send(server: &Server) -> MailOutcome {
    let mailer = Mailer::new(MailBackend::Smtp(server.url()), Redactor::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(mailer.send(&mail()))
}

#[test]
fn a_server_takes_the_mail_as_one_message_to_all() {
    let Some(server) = Server::start(false) else {
        return lacks("aiosmtpd (Python)");
    };
    assert_eq!(send(&server), MailOutcome::Sent);
    let taken = server.finish();
    assert!(taken.contains("to a@acme.example,b@acme.example"), "{taken}");
    assert!(taken.contains(&format!("Message-ID: {}", mail().message_id)), "{taken}");
    assert!(taken.contains("In-Reply-To: <"), "{taken}");
    assert!(!taken.lines().any(|line| line.starts_with("Bcc:")), "{taken}");
    assert!(taken.contains("0 seen, 19 were to be expected."), "{taken}");
}

#[test]
fn a_server_that_says_no_is_a_refusal_with_its_words() {
    let Some(server) = Server::start(true) else {
        return lacks("aiosmtpd (Python)");
    };
    let outcome = send(&server);
    server.finish();
    assert!(
        matches!(&outcome, MailOutcome::Refused(why) if why.contains("550")),
        "{outcome:?}"
    );
}
