//! Hostile texts on their way through everything that is written for people, models and programs. Cases of our own always,
//! larger public ones where they lie beside the checkout.

use std::panic::{AssertUnwindSafe, catch_unwind};

use secrecy::SecretString;
use serde_json::Value;

use super::{
    comment::{CommentWords, comment_body},
    mail, pr,
    pr::Readers,
    prompt,
};
use crate::{
    decide::{
        guards::{self, Diff, FileChange, GuardPolicy, Side},
        verdict::{parse_audit, parse_reply, parse_triage},
    },
    model::{
        IncidentId, Sha, Signature, Slot,
        evidence::{AuditVerdict, GuardVerdict},
    },
    text::{
        Redactor, Untrusted, clean,
        corpus_tests::repeated,
        corpus_tests::{own, published, shared},
        fence::Nonce,
        hex, inert, signature,
    },
};

const CANARY: &str = "canary-fake-Q7w8E9r0T1y2U3i4";
const HEAD: &str = "3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201";
const OTHER: &str = "0000000000000000000000000000000000000000";

fn redactor() -> Redactor {
    Redactor::new(&[SecretString::from(CANARY)])
}

/// Canary in the encodings that a log may show it in.
fn encoded() -> [(&'static str, String); 4] {
    use base64::Engine as _;
    [
        ("{{CANARY}}", CANARY.to_owned()),
        (
            "{{CANARY_B64}}",
            base64::engine::general_purpose::STANDARD.encode(CANARY),
        ),
        ("{{CANARY_HEX}}", hex(CANARY.as_bytes())),
        ("{{CANARY_REVERSED}}", CANARY.chars().rev().collect()),
    ]
}

/// The case with its placeholders filled.
fn filled(text: &str, nonce: &Nonce) -> String {
    let mut text = text
        .replace("{{FENCE_BEGIN}}", "<<<untrusted 0011223344556677")
        .replace("{{FENCE_END}}", "untrusted 0011223344556677>>>")
        .replace(
            "{{PREV_FENCE_END}}",
            &format!("untrusted {}>>>", Nonce::new(&[1; 16]).as_str()),
        )
        .replace("{{HEAD_SHA}}", HEAD)
        .replace("{{HEAD_SHA_SHORT}}", &HEAD[..8])
        .replace("{{OTHER_SHA}}", OTHER);
    assert!(!text.contains(nonce.as_str()));
    for (name, value) in encoded() {
        text = text.replace(name, &value);
    }
    repeated(text)
}

/// What one text from outside becomes wherever it is written.
fn sinks(text: &Untrusted, nonce: &Nonce) -> Vec<String> {
    let said = text.analyse();
    let mut all: Vec<String> = prompt::tests::filled(text, nonce).into();
    for readers in [Readers::Team, Readers::Strangers] {
        let (title, body) = pr::tests::inert::page(said, readers);
        all.extend([title, body]);
    }
    let (subject, body) = mail::tests::filled(said);
    assert!(!subject.contains('\n') && subject.len() <= 900, "{subject}");
    all.extend([subject, body]);
    all.push(inert::console_line(text, 500));
    all.push(serde_json::to_string(text).unwrap());
    all.push(signature(said).template);
    all
}

fn assert_harmless(payload: &str) {
    let nonce = Nonce::new(&[0xc5; 16]);
    let text = Untrusted::new(payload, &redactor());
    let plain = Untrusted::new("boom", &redactor());
    // Outside the fences nothing depends on what stands in them.
    let outside = |text: &Untrusted| prompt::tests::filled(text, &nonce).map(|p| prompt::tests::outside(&p, &nonce));
    if text.analyse().len() < 500 && !text.analyse().trim().is_empty() {
        assert_eq!(outside(&text), outside(&plain));
    }
    for sink in sinks(&text, &nonce) {
        let control = |c: char| c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{2028}' | '\u{2029}');
        assert!(!sink.contains(control), "{sink:?}");
        let selector = |c: char| c == '\u{fe0e}' || c == '\u{fe0f}';
        assert!(
            !sink.contains(|c: char| clean::is_invisible(c) && !selector(c)),
            "{sink:?}"
        );
        for (_, canary) in encoded() {
            assert!(!sink.contains(&canary), "{sink}");
        }
        assert!(sink.len() < 1 << 20);
    }
    pr::tests::inert::assert_all_inert(text.analyse());
    let line = inert::console_line(&text, 500);
    let start = line.trim_start();
    assert!(
        !start.starts_with("::") && !line.contains("##[") && !line.contains("##vso["),
        "{line}"
    );
    let record = serde_json::to_string(&text).unwrap();
    assert!(!record.contains('\n'));
    assert_eq!(serde_json::from_str::<Untrusted>(&record).unwrap(), text);
    let branch = IncidentId::new(&signature(payload).signature, 2).branch();
    let tail = branch.strip_prefix("fix/auto-").unwrap();
    assert!(
        tail.len() <= 80
            && tail
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    );
}

/// A reply counts only as one object of the schema, about the head that was judged.
fn assert_refused(role: &str, reply: &str) {
    let Ok(reply) = parse_reply(reply.as_bytes()) else {
        return;
    };
    if role == "triage" {
        let expected = [Signature::parse("7f3a91c07f3a91c0").unwrap()];
        assert!(
            parse_triage(&reply, &expected, &Slot::parse("web").unwrap()).is_err(),
            "{reply}"
        );
    } else if let Ok(audit) = parse_audit(&reply, &Sha::parse(HEAD).unwrap(), "codex", "sandboxed") {
        assert_ne!(audit.verdict, AuditVerdict::Approve, "{reply}");
    }
}

/// A change of this path is never merged without a person.
fn assert_routed(path: &str) {
    let side = |text: &str| Side {
        mode: 0o100_644,
        bytes: text.as_bytes().to_vec(),
    };
    for (old, new) in [(None, Some("b\n")), (Some("a\n"), Some("b\n")), (Some("a\n"), None)] {
        let change = FileChange {
            path: path.as_bytes().to_vec(),
            old: old.map(side),
            new: new.map(side),
        };
        let policy = GuardPolicy::new([], 400, 120).unwrap();
        let report = guards::judge(&Diff::of([change]), &policy, &redactor());
        assert_ne!(report.verdict, GuardVerdict::Accept, "{path:?}: {report:?}");
    }
}

fn check(case: &Value) {
    let nonce = Nonce::new(&[0xc5; 16]);
    let payload = filled(case["payload"].as_str().unwrap(), &nonce);
    let place = case["where"].as_str().unwrap();
    if let Some(role) = place.strip_prefix("agent_output:") {
        assert_refused(role, &payload);
    }
    assert_harmless(&payload);
    if let Some(path) = case["diff_path"].as_str() {
        assert_routed(path);
    }
    let stable = place == "stable"
        || case["props"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|p| p == "dedup_stable");
    if let (true, Some(control)) = (stable, case["control"].as_str()) {
        assert_eq!(
            signature(&payload).signature,
            signature(&filled(control, &nonce)).signature
        );
    }
}

/// Those that do not hold.
fn broken(cases: &[Value]) -> Vec<String> {
    let holds = |case: &&Value| catch_unwind(AssertUnwindSafe(|| check(case))).is_err();
    cases.iter().filter(holds).map(|case| case["id"].to_string()).collect()
}

#[test]
fn own_cases_do_nothing() {
    let cases = own("injection.jsonl");
    assert!(cases.len() >= 60);
    let broken = broken(&cases);
    published(&format!(
        "| injection | {} of {} hostile texts stay text in prompts, pull requests, mails, consoles, records and branches |",
        cases.len() - broken.len(),
        cases.len()
    ));
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn public_cases_do_nothing() {
    let Some(payloads) = shared("bench/injection/payloads.jsonl") else {
        return;
    };
    let cases: Vec<Value> = payloads
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let due = |case: &Value| {
        let place = case["where"].as_str().unwrap();
        case["strength"] == "must"
            && case["payload"].is_string()
            && !place.starts_with("repo_file:")
            && place != "session_jsonl"
    };
    let cases: Vec<Value> = cases.into_iter().filter(due).collect();
    assert!(cases.len() > 60);
    let broken = broken(&cases);
    assert!(broken.is_empty(), "{broken:?}");
}

/// Where strangers can read, nothing from production appears, whatever kind of personal data it is.
#[test]
fn no_personal_data_goes_where_strangers_read() {
    let head = Sha::parse(HEAD).unwrap();
    let incident = IncidentId::parse("7f3a91c07f3a91c0-1").unwrap();
    for canary in [
        "jane.canary@corp.example.org",
        "93.184.216.34",
        "2a00:1450:4001:81b::200e",
        "+49 170 1234567",
        "4111 1111 1111 1111",
        "DE89 3704 0044 0532 0130 00",
        "Zaphodia Canaryman",
        "order-of-zaphodia-8812",
        "session=Zaphodia0canary0Q7w8",
        CANARY,
    ] {
        let text = format!("order of {canary} failed");
        let (title, body) = pr::tests::inert::page_of_production(&text, Readers::Strangers);
        let words = CommentWords::NewAttempt {
            n: 2,
            head: &head,
            why: "the proof was not green",
        };
        let branch = IncidentId::new(&signature(&text).signature, 1).branch();
        let commit = pr::squash_message(&incident, &head, 1);
        for sink in [title, body, comment_body(&incident, &words), branch, commit] {
            assert!(!sink.contains(canary), "{canary} in:\n{sink}");
        }
    }
}
