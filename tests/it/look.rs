//! `tick look` through the built program: pages on loopback, and the world's repository with a history of runs.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::PathBuf,
    process::Output,
};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use tick::demo::{
    Act, FORGE_TOKEN, Fault, Pace, Site, Which, World, WorldOptions,
    forge::{Job, Stage},
};

use crate::spine::{at, shown};

/// A site on loopback and a registry of domains, both in one server.
fn site() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match path {
                "/" => (200, "<html>hello</html>".to_owned()),
                "/dns.json" => (
                    200,
                    format!(r#"{{ "services": [[["localhost"], ["http://127.0.0.1:{port}/rdap/"]]] }}"#),
                ),
                "/rdap/domain/shop.localhost" => (
                    200,
                    r#"{ "events": [{ "eventAction": "expiration", "eventDate": "2026-12-11T00:00:00Z" }] }"#
                        .to_owned(),
                ),
                "/limited" => (429, String::new()),
                "/gone" => (404, String::new()),
                _ => (503, String::new()),
            };
            let length = body.len();
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            // A client that does not like the port goes away early.
            let _ignored = stream.write_all(answer.as_bytes());
        }
    });
    port
}

struct Desk {
    home: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn look_at(&self, now: DateTime<Utc>, env: &[(&str, &str)], args: &[&str]) -> Output {
        crate::support::tick(self.home.path())
            .envs(env.iter().copied())
            .args(["--home", self.config().parent().unwrap().to_str().unwrap()])
            .args(["--now", &now.to_rfc3339(), "look"])
            .args(args)
            .output()
            .unwrap()
    }

    fn pages(&self, args: &[&str]) -> Output {
        self.look_at(at("2026-11-29T03:00:00Z"), &[], args)
    }

    fn config(&self) -> PathBuf {
        self.home.path().join("home/config.json")
    }

    fn check(&self) -> Output {
        crate::support::tick(self.home.path())
            .args([
                "--home",
                self.config().parent().unwrap().to_str().unwrap(),
                "config",
                "check",
            ])
            .output()
            .unwrap()
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The same without the breaks of its lines.
fn words(output: &Output) -> String {
    text(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn pages_say_what_their_users_feel() {
    let (desk, port) = (Desk::new(), site());
    let registries = format!("http://127.0.0.1:{port}/dns.json");
    let page = |host: &str, path: &str| format!("http://{host}:{port}{path}");
    let cases = [
        (page("shop.localhost", "/"), Some(0), " answers 200 in "),
        (
            page("127.0.0.1", "/health"),
            Some(10),
            " is down: HTTP 503 (3 of 3 samples).",
        ),
        (page("127.0.0.1", "/gone"), Some(10), " is down: HTTP 404"),
        (page("127.0.0.1", "/limited"), Some(3), " cannot be judged: HTTP 429"),
        (
            "http://127.0.0.1:1/".to_owned(),
            Some(10),
            "is down: nothing listens there",
        ),
        (format!("https://127.0.0.1:{port}/"), Some(10), "is down: TLS: "),
        ("http://shop.invalid/".to_owned(), Some(3), "the name does not resolve"),
    ];
    for (url, code, says) in &cases {
        let done = desk.pages(&[url, "--registries", &registries]);
        println!("{}", text(&done));
        assert_eq!(done.status.code(), *code, "{}", shown(&done));
        assert!(words(&done).contains(says), "{says}\n{}", shown(&done));
    }
    let all: Vec<&str> = cases.iter().map(|(url, ..)| url.as_str()).collect();
    let all = [all.as_slice(), &["--registries", &registries]].concat();
    let done = desk.pages(&all);
    println!("{}", shown(&done));
    assert_eq!(done.status.code(), Some(10));
    let text = text(&done);
    let domain = "  domain       shop.localhost, ends soon: 2026-12-11, in 11 days\n";
    assert!(
        text.contains(domain) && text.contains("none: it is served without TLS"),
        "{text}"
    );
    assert!(
        text.lines()
            .all(|line| line.chars().count() <= 80 || line.contains("http")),
        "{text}"
    );
}

/// The sample shop's repository; its checks end as they are told to.
struct History {
    world: World,
    desk: Desk,
}

fn log(test: &str, wanted: u32) -> String {
    format!(
        "======================================================================\n\
         FAIL: {test} (tests.test_cart.Cart.{test})\n\
         ----------------------------------------------------------------------\n\
         Traceback (most recent call last):\n  \
           File \"/home/runner/work/shop/shop/tests/test_cart.py\", line 12, in {test}\n    \
             self.assertEqual(total(cart), {wanted})\n\
         AssertionError: 1 != {wanted}\n\n\
         ----------------------------------------------------------------------\n\
         Ran 4 tests in 0.010s\n\nFAILED (failures=1)\n"
    )
}

impl History {
    fn new() -> Self {
        let options = WorldOptions {
            pace: Pace::Assumed,
            app: false,
            ..WorldOptions::shop(at("2026-11-20T03:00:00Z"))
        };
        let world = World::start(options).unwrap();
        Self {
            world,
            desk: Desk::new(),
        }
    }

    fn step(&self, minutes: u64) {
        self.world.advance(std::time::Duration::from_mins(minutes));
    }

    /// A change lands; its job `test` is green, or red with this log.
    fn land(&self, red: Option<&str>) -> String {
        self.world.act(Act::MoveBase);
        let sha = self.world.main_head().unwrap();
        if let Some(log) = red {
            let file = self.log(log);
            let mut forge = self.world.forge();
            for job in forge.jobs.iter_mut().filter(|job| job.sha == sha && job.name == "test") {
                job.conclusion = Some("failure".to_owned());
                job.log = Some(file.clone());
            }
        }
        sha
    }

    /// The workflow runs once more on that commit.
    fn again(&self, sha: &str, red: Option<&str>) {
        let log = red.map(|log| self.log(log));
        let now = self.world.now();
        let mut forge = self.world.forge();
        let id = forge.next_id();
        forge.jobs.push(Job {
            stage: Stage::Completed,
            conclusion: Some(if red.is_some() { "failure" } else { "success" }.to_owned()),
            log,
            shown: true,
            started: Some(now),
            completed: Some(now + TimeDelta::minutes(1)),
            ..Job::queued(id, id, "test", sha, "main", now)
        });
    }

    fn log(&self, text: &str) -> PathBuf {
        let name = format!("{}.log", self.world.forge().next_id());
        let file = self.world.root().join("ci").join(name);
        fs::write(&file, text).unwrap();
        file
    }

    fn look(&self, token: bool, args: &[&str]) -> Output {
        let env: &[(&str, &str)] = if token { &[("GITHUB_TOKEN", FORGE_TOKEN)] } else { &[] };
        let name = self.world.full_name();
        let all = [&[name.as_str(), "--github-api", self.world.forge_url()], args].concat();
        let done = self.desk.look_at(self.world.now(), env, &all);
        println!("{}", shown(&done));
        done
    }
}

/// Some days: a commit breaks a test and is repaired, another test fails once on a good commit, a third breaks it again.
fn some_days() -> (History, Vec<String>) {
    let history = History::new();
    let mut shas = vec![history.world.main_head().unwrap()];
    history.step(600);
    shas.push(history.land(Some(&log("test_total", 0))));
    history.step(40);
    shas.push(history.land(Some(&log("test_total", 0))));
    history.step(40);
    shas.push(history.land(None));
    history.step(2000);
    history.again(&shas[3], Some(&log("test_clock", 5)));
    history.step(3);
    history.again(&shas[3], None);
    history.step(4000);
    shas.push(history.land(Some(&log("test_discount", 7))));
    history.step(30);
    (history, shas)
}

#[test]
fn a_repository_tells_its_causes_and_what_follows() {
    let (history, shas) = some_days();
    let done = history.look(true, &[]);
    assert_eq!(done.status.code(), Some(10));
    let said = text(&done);
    let short: Vec<&str> = shas.iter().map(|sha| &sha[..7]).collect();
    for wanted in [
        "acme/shop: main is red since ".to_owned(),
        "4 of 7 runs in 30 days were red, by 3 causes.".to_owned(),
        "test_discount".to_owned(),
        format!("green at {}, red at the next commit, {}", short[3], short[4]),
        format!("guess: taking back {} alone would mend it", short[4]),
        format!("green at {}, red at the next commit, {}", short[0], short[1]),
        format!("guess: taking back {} alone would have mended it", short[1]),
        format!("green again at {}", short[3]),
        format!("flaky: red and green at {}", short[3]),
        "would have been asked 2 times in 30 days".to_owned(),
        "required: lint, test".to_owned(),
    ] {
        assert!(words(&done).contains(&wanted), "{wanted}\n{said}");
    }
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    history.world.finish().unwrap();
}

#[test]
fn what_is_public_needs_no_token() {
    let (history, _) = some_days();
    history.world.act(Act::Private { on: false });
    let done = history.look(false, &[]);
    assert_eq!(done.status.code(), Some(10));
    let said = words(&done);
    assert!(
        said.contains("CI / test / Run test") && said.contains("without GITHUB_TOKEN"),
        "{said}"
    );
    assert!(said.contains("a person merges: the protection of main"), "{said}");
    let asked = history.world.town().requests();
    assert!(asked.len() < 30, "{} of the sixty calls of an hour", asked.len());
    history.world.finish().unwrap();
}

#[test]
fn what_cannot_be_read_is_said_as_such() {
    let history = History::new();
    history.world.act(Act::Private { on: false });
    let api = history.world.forge_url().to_owned();
    let now = history.world.now();
    let done = history.desk.look_at(now, &[], &["acme/nosuch", "--github-api", &api]);
    println!("{}", shown(&done));
    assert_eq!(done.status.code(), Some(3));
    assert!(
        words(&done).contains("no public repository has this name"),
        "{}",
        shown(&done)
    );
    let runs = Which::first("GET", "/repos/acme/shop/actions/runs")
        .on(Site::Forge)
        .always();
    history.world.fault(
        runs,
        Fault::Status {
            code: 429,
            performed: false,
        },
    );
    let done = history.look(false, &[]);
    assert_eq!(done.status.code(), Some(3));
    assert!(
        words(&done).contains("rate limit of calls without a token"),
        "{}",
        shown(&done)
    );
    history.world.finish().unwrap();
}

#[test]
fn a_saved_configuration_is_sound_and_never_written_over() {
    let (desk, history) = (Desk::new(), History::new());
    let page = format!("http://127.0.0.1:{}/", site());
    let api = history.world.forge_url();
    let args = [page.as_str(), "acme/shop", "--github-api", api, "--save"];
    let env = [("GITHUB_TOKEN", FORGE_TOKEN)];
    let done = desk.look_at(history.world.now(), &env, &args);
    println!("{}", shown(&done));
    assert_eq!(done.status.code(), Some(0));
    assert!(
        text(&done).contains("main is green") && text(&done).contains("config.json"),
        "{}",
        shown(&done)
    );
    let check = desk.check();
    assert_eq!(check.status.code(), Some(0), "{}", shown(&check));
    let written = fs::read_to_string(desk.config()).unwrap();
    let config: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        (&config["mode"], &config["repos"]["shop"]["github"]),
        (&"observe".into(), &"acme/shop".into())
    );
    let again = desk.look_at(history.world.now(), &env, &args);
    assert_eq!(again.status.code(), Some(78), "{}", shown(&again));
    assert!(shown(&again).contains("stays as it is"), "{}", shown(&again));
    assert_eq!(fs::read_to_string(desk.config()).unwrap(), written);
    history.world.finish().unwrap();
}

#[test]
fn wrong_arguments_are_a_wrong_command_line() {
    let desk = Desk::new();
    for args in [
        &[][..],
        &["shop"],
        &["ftp://shop.example/"],
        &["acme/shop", "--days", "0"],
        &["acme/shop", "--days", "91"],
        &["acme/shop", "--github-api", "nowhere"],
    ] {
        let done = desk.pages(args);
        assert_eq!(done.status.code(), Some(64), "{args:?}: {}", shown(&done));
    }
    assert!(!desk.config().exists());
}
