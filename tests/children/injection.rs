//! Hostile texts in a child: as an argument each arrives as it is, and as a program it does nothing outside its room.

use std::{ffi::OsString, fs, net::TcpListener, path::Path};

use serde_json::Value;
use tick::adapters::process::{Network, RunExit, Sandbox, run};

use crate::{
    confined::lacks,
    process::{python, sh, text},
};

const CANARY: &str = "canary-fake-Q7w8E9r0T1y2U3i4";
/// The public cases, where they lie beside the checkout or where the environment says.
#[expect(
    clippy::disallowed_methods,
    reason = "only tests look for the larger corpora, whose place may be given"
)]
fn public() -> String {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("TICK_SHARED").map_or(beside, std::path::PathBuf::from);
    fs::read_to_string(shared.join("bench/injection/payloads.jsonl")).unwrap_or_else(|_| {
        println!("skipped (optional): no bench/injection/payloads.jsonl");
        String::new()
    })
}

/// Cases that are arguments or programs: ours, and the public ones where they lie beside the checkout.
fn cases(wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = fs::read_to_string(root.join("tests/corpus/injection.jsonl")).unwrap();
    let public = public();
    let all = own
        .lines()
        .chain(public.lines())
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|case| case["payload"].is_string() && case["strength"] != "should" && wanted(case))
        .collect()
}

fn has(case: &Value, property: &str) -> bool {
    case["props"]
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one == property))
}

/// What a child must not touch: a directory, a secret in it, a service of the machine.
struct Outside {
    dir: tempfile::TempDir,
    service: TcpListener,
}

impl Outside {
    fn new() -> Self {
        // Below the home of who builds, which no child may read; `/tmp` is the room of other tests.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::write(dir.path().join("secret"), CANARY).unwrap();
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        service.set_nonblocking(true).unwrap();
        Self { dir, service }
    }

    fn filled(&self, text: &str) -> String {
        let port = self.service.local_addr().unwrap().port().to_string();
        let path = |name: &str| self.dir.path().join(name).display().to_string();
        let text = text.replace("{{SENTINEL}}", &path("sentinel"));
        text.replace("{{SECRET_FILE}}", &path("secret"))
            .replace("{{FORBIDDEN_PORT}}", &port)
    }

    fn assert_untouched(&self, id: &Value) {
        let names: Vec<OsString> = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["secret"], "{id}");
        assert!(
            self.service.accept().is_err(),
            "{id}: a service of the machine was called"
        );
    }
}

#[tokio::test]
async fn a_hostile_argument_arrives_as_it_is() {
    let outside = Outside::new();
    let cases = cases(|case| has(case, "argv_literal") || has(case, "no_option_injection"));
    let cases: Vec<_> = cases
        .iter()
        .filter(|case| !case["where"].as_str().unwrap().starts_with("repo_file:"))
        .collect();
    assert!(cases.len() >= 4);
    for case in cases {
        let payload = outside.filled(case["payload"].as_str().unwrap());
        let mut spec = python("argument", "import json, sys\nprint(json.dumps(sys.argv[1:]))");
        spec.args.push(OsString::from(&payload));
        let raw = run(spec).await;
        if payload.contains('\0') {
            // No argument can hold it: it is refused and not cut off there.
            assert!(
                matches!(raw.exit, RunExit::SpawnFailed(_)),
                "{}: {:?}",
                case["id"],
                raw.exit
            );
            continue;
        }
        assert_eq!(raw.exit, RunExit::Code(0), "{}: {}", case["id"], text(&raw.stderr));
        let said: Vec<String> = serde_json::from_slice(&raw.stdout).unwrap();
        assert_eq!(said, [payload], "{}", case["id"]);
        outside.assert_untouched(&case["id"]);
    }
}

#[tokio::test]
async fn a_hostile_program_does_nothing_outside_its_room() {
    let cases = cases(|case| {
        let payload = case["payload"].as_str().unwrap();
        case["where"] == "script" || has(case, "argv_literal") && payload.contains("touch ") && !payload.contains('\0')
    });
    assert!(cases.len() >= 6);
    for case in cases {
        let outside = Outside::new();
        let room = tempfile::tempdir().unwrap();
        let mut spec = sh("script", &outside.filled(case["payload"].as_str().unwrap()));
        spec.cwd = room.path().to_owned();
        spec.sandbox = Sandbox {
            write: vec![room.path().to_owned()],
            network: Network::Own,
            ..Sandbox::default()
        };
        let raw = run(spec).await;
        if lacks(&raw) || raw.sandbox.contains("its network is open") {
            println!("skipped (optional): {}", raw.sandbox);
            return;
        }
        outside.assert_untouched(&case["id"]);
        let said = text(&raw.stdout) + &text(&raw.stderr);
        assert!(!said.contains(CANARY), "{}: {said}", case["id"]);
        assert!(
            !matches!(raw.exit, RunExit::SpawnFailed(_)),
            "{}: {:?}",
            case["id"],
            raw.exit
        );
    }
    // What is refused here works where nothing refuses it.
    let outside = Outside::new();
    let plain = std::net::TcpStream::connect(outside.service.local_addr().unwrap());
    assert!(plain.is_ok() && fs::write(outside.dir.path().join("sentinel"), "").is_ok());
}
