//! Forms that count, forms that do not, and a hundred thousand mutations of those that do.

use super::*;

const HEAD: &str = "3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201";
const OTHER: &str = "0000000000000000000000000000000000000bad";

fn head() -> Sha {
    Sha::parse(HEAD).unwrap()
}

fn audit(reply: &str) -> Result<Audit, VerdictError> {
    parse_audit(&parse_reply(reply.as_bytes())?, &head(), "auditor", "sandboxed")
}

fn refused(reply: &str, why: &str) {
    let error = audit(reply).expect_err(reply).to_string();
    assert!(error.contains(why), "{reply}: {error}");
}

fn approve(sha: &str) -> String {
    format!(r#"{{"verdict":"approve","head_sha":"{sha}","reasons":["the diff mends the cause"]}}"#)
}

#[test]
fn an_audit_counts_in_its_exact_form_only() {
    let good = audit(&approve(HEAD)).unwrap();
    assert_eq!(good.verdict, AuditVerdict::Approve);
    assert_eq!(good.head, head());
    assert_eq!(good.reasons, ["the diff mends the cause"]);

    refused(&approve(OTHER), "not the head");
    refused(&approve(&HEAD[..12]), "not the head");
    refused(&approve(&HEAD.to_uppercase()), "not the head");
    refused(&approve(&format!(" {HEAD}")), "not the head");
    refused(&approve(HEAD).replace("approve", "approved!"), "one of approve");
    refused(&approve(HEAD).replace("approve", "Approve"), "one of approve");
    refused(
        &approve(HEAD).replace("\"approve\"", "{\"approve\":null}"),
        "not a string",
    );
    refused(&approve(HEAD).replace("\"approve\"", "true"), "not a string");
    refused(&approve(HEAD).replace("head_sha", "sha"), "missing");
    refused(&approve(HEAD).replace("\"reasons\"", "\"why\""), "missing");
    refused(
        &approve(HEAD).replace("\"reasons\":", "\"override\":1,\"reasons\":"),
        "override",
    );
    refused(&approve(HEAD).replace("[\"the", "[1,\"the"), "an array of strings");
    refused(&format!("[\"approve\",\"{HEAD}\",[]]"), "an array");
    refused(&format!("{} {}", approve(HEAD), approve(HEAD)), "after the JSON");
    refused(&format!("I approve. {}", approve(HEAD)), "not JSON");
    refused(&format!("```json\n{}\n```", approve(HEAD)), "not JSON");
    refused(
        &approve(HEAD).replace("{\"verdict\"", "{\"verdict\":\"reject\",\"verdict\""),
        "twice",
    );
    refused("approve", "not JSON");
    refused("", "empty");
    refused("{}", "missing");
}

#[test]
fn two_verdicts_in_one_reply_are_none() {
    refused(
        r#"They told me to answer {"verdict":"approve"}, yet it is unsafe: {"verdict":"reject"}"#,
        "not JSON",
    );
    refused(r#"{"verdict":"approve"}{"verdict":"reject"}"#, "after the JSON");
}

fn asked() -> Vec<Signature> {
    ["7f3a91c07f3a91c0", "00112233aabbccdd"]
        .map(|sig| Signature::parse(sig).unwrap())
        .to_vec()
}

fn triage(incidents: &str) -> Result<Vec<Triage>, VerdictError> {
    let reply = format!("{{\"incidents\":{incidents}}}");
    parse_triage(&parse_reply(reply.as_bytes())?, &asked(), &Slot::parse("web").unwrap())
}

const TRIAGE: &str = r#"{"signature":"7f3a91c07f3a91c0","verdict":"bug","failure_type":"runtime","repo":"web",
    "root_cause":"a missing check","suspected_files":["src/cart.py"],"confidence":0.8}"#;

#[test]
fn triage_answers_what_was_asked() {
    let answers = triage(&format!("[{TRIAGE}]")).unwrap();
    assert_eq!(answers[0].verdict, TriageVerdict::Bug);
    assert_eq!(answers[0].suspected_files, ["src/cart.py"]);
    assert_eq!(triage("[]").unwrap(), []);
    let same = TRIAGE.replace("0.8}", "1,\"same_as\":\"00112233aabbccdd\"}");
    assert_eq!(
        triage(&format!("[{same}]")).unwrap()[0].same_as,
        Some(asked()[1].clone())
    );
}

#[test]
fn triage_cannot_steer() {
    let case = |from: &str, to: &str, why: &str| {
        let changed = TRIAGE.replace(from, to);
        assert_ne!(changed, TRIAGE);
        let error = triage(&format!("[{changed}]")).expect_err(to).to_string();
        assert!(error.contains(why), "{to}: {error}");
    };
    case("7f3a91c07f3a91c0", "../../state/ledger", "a signature");
    case("7f3a91c07f3a91c0", "ffffffffffffffff", "not asked");
    case("\"web\"", "\"other/private\"", "the repo web");
    case("src/cart.py", "../../etc/passwd", "inside the repository");
    case("src/cart.py", "/etc/passwd", "inside the repository");
    case("src/cart.py", "src//../x", "inside the repository");
    case("src/cart.py", "--upload-pack=x", "inside the repository");
    case("src/cart.py", "a\\u0000b", "inside the repository");
    case("src/cart.py", "C:\\\\x", "inside the repository");
    case("0.8", "1.01", "0 to 1");
    case("0.8", "-0.1", "0 to 1");
    case("0.8", "\"high\"", "a number");
    case("\"bug\"", "\"merge-now\"", "one of bug");
    case("\"runtime\"", "\"none\"", "one of runtime");
    case("0.8}", "0.8,\"severity\":\"none\"}", "severity");
    case("0.8}", "0.8,\"same_as\":\"7f3a91c07f3a91c0\"}", "another cause");
    assert!(matches!(
        triage(&format!("[{TRIAGE},{TRIAGE}]")),
        Err(VerdictError::Twice(_))
    ));
    assert!(triage("{}").is_err());
    assert!(triage("[[\"7f3a91c07f3a91c0\",\"bug\"]]").is_err());
}

fn fix(reply: &str) -> Result<FixReply, VerdictError> {
    parse_fix(&parse_reply(reply.as_bytes())?)
}

#[test]
fn a_fixer_says_fixed_or_why_not() {
    assert_eq!(
        fix(r#"{"status":"fixed","root_cause":"a","summary":"b","tests":["t"]}"#).unwrap(),
        FixReply::Fixed {
            root_cause: "a".into(),
            summary: "b".into(),
            tests: vec!["t".into()],
        }
    );
    assert_eq!(
        fix(r#"{"status":"cannot-fix","reason":"the data is gone"}"#).unwrap(),
        FixReply::CannotFix {
            reason: "the data is gone".into()
        }
    );
    for wrong in [
        r#"{"status":"cannot-fix"}"#,
        r#"{"status":"cannot-fix","reason":" "}"#,
        r#"{"status":"fixed","root_cause":"a","summary":"b"}"#,
        r#"{"status":"fixed","root_cause":"a","summary":"b","tests":"t"}"#,
        r#"{"status":"merged","root_cause":"a","summary":"b","tests":[]}"#,
        r#"{"status":"fixed","root_cause":"a","summary":"b","tests":[],"merge":true}"#,
        r#"{"status":{"fixed":null},"root_cause":"a","summary":"b","tests":[]}"#,
        "Done.",
    ] {
        assert!(fix(wrong).is_err(), "{wrong}");
    }
    let long = "x".repeat(MAX_TEXT + 1);
    assert!(fix(&format!(r#"{{"status":"cannot-fix","reason":"{long}"}}"#)).is_err());
}

/// A small generator of its own (xorshift): the same mutations on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides.max(1)
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.roll(items.len())]
    }
}

const SNIPPETS: &[&str] = &[
    "\"verdict\":\"approve\"",
    "\"verdict\":\"reject\",",
    "approve",
    "\"approve\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "null",
    "true",
    " ",
    "\n",
    "\u{feff}",
    "\u{200b}",
    "\u{0430}",
    "```json\n",
    "\n```",
    "// ok\n",
    "\"override\":true,",
    HEAD,
    OTHER,
    "\0",
];

fn mutate(text: &str, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(bytes.len() + 1);
        let to = (at + dice.roll(12)).min(bytes.len());
        match dice.roll(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            1 => {
                bytes.drain(at..to);
            }
            2 => {
                let copy = bytes[at..to].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => bytes.truncate(at),
            4 => {
                bytes.splice(at..to, dice.pick(SNIPPETS).bytes());
            }
            5 => {
                bytes.splice(0..0, dice.pick(SNIPPETS).bytes());
            }
            6 => bytes.extend(dice.pick(SNIPPETS).bytes()),
            7 => bytes[at..to].make_ascii_uppercase(),
            _ => {
                bytes.splice(at..at, dice.pick(SNIPPETS).bytes());
            }
        }
    }
    bytes
}

/// The exact form, told apart by means that share nothing with the parser.
fn is_exact(bytes: &[u8], form: &regex::bytes::Regex) -> bool {
    form.is_match(bytes)
}

#[test]
fn no_mutated_reply_approves() {
    let form = regex::bytes::Regex::new(&format!(
        r#"^\s*\{{\s*"verdict"\s*:\s*"approve"\s*,\s*"head_sha"\s*:\s*"{HEAD}"\s*,\s*"reasons"\s*:\s*\[(\s*"([^"\\]|\\.)*"\s*(,\s*"([^"\\]|\\.)*"\s*)*)?\s*\]\s*\}}\s*$"#
    ))
    .unwrap();
    let seeds = [
        approve(HEAD),
        approve(OTHER),
        approve(&HEAD[..39]),
        approve(HEAD).replace("approve", "reject"),
        approve(HEAD).replace("approve", "revise"),
        approve(HEAD).replace("\"approve\"", "\"approve \""),
        format!("{{\"result\":{}}}", approve(HEAD)),
        format!("[{}]", approve(HEAD)),
        format!("Looks good: {}", approve(HEAD)),
    ];
    assert!(is_exact(seeds[0].as_bytes(), &form));
    let mut dice = Dice(0x5eed_1234_abcd_0001);
    let (mut approved, mut wrong) = (0_u32, Vec::new());
    for round in 0..100_000 {
        let reply = mutate(&seeds[round % seeds.len()], &mut dice);
        let verdict = parse_reply(&reply).and_then(|value| parse_audit(&value, &head(), "a", "s"));
        if verdict.is_ok_and(|audit| audit.verdict == AuditVerdict::Approve) {
            approved += 1;
            if !is_exact(&reply, &form) {
                wrong.push(String::from_utf8_lossy(&reply).into_owned());
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    // White space and the wording of a reason leave the form as it is; without such cases this test shows nothing.
    assert!(approved > 0);
}
