//! Each collector broken in turn, in every way: it is the one that is named, with what is wrong, within its time; the others
//! are read as before, and nothing is called well.

use std::{
    collections::VecDeque,
    fs,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tick::{
    adapters::clock::instant,
    demo::{Fault, Site, Which},
};

use super::{DEADLINE, outcomes, stage};
use crate::{spine::Stage, support::nowhere};

/// A busy machine may be that late.
const LATE: Duration = Duration::from_secs(30);
/// Worlds that are broken at the same time.
const AT_ONCE: usize = 4;

/// One way to break the answers of a service.
#[derive(Debug, Clone, Copy)]
enum Way {
    Refused,
    Lost,
    Status(u16),
    Limited,
    Html,
    NoBody,
    OtherShape,
    Half,
    Cut,
    Silent,
}

use Way::{Cut, Half, Html, Limited, Lost, NoBody, OtherShape, Refused, Silent, Status};

impl Way {
    /// None: it is no matter of an answer.
    fn fault(self) -> Option<Fault> {
        Some(match self {
            Refused => return None,
            Lost => Fault::LostAnswer,
            Status(code) => Fault::Status { code, performed: false },
            Limited => Fault::Limited { seconds: 60 },
            Html => Fault::Html,
            NoBody => Fault::NoBody,
            OtherShape => Fault::OtherShape,
            Half => Fault::TruncatedJson,
            Cut => Fault::Cut,
            Silent => Fault::Slow { ms: 60_000 },
        })
    }
}

/// A service that is asked over the network.
struct Asked {
    collector: &'static str,
    site: Site,
    path: &'static str,
    /// Where the config says how it is reached, and what follows the address there.
    address: (&'static str, &'static str),
    /// Words that differ from the usual ones. A probe that is down is sampled again for seconds, so that not every way to be
    /// down is looked at: `-`.
    words: &'static [(&'static str, &'static str)],
}

/// Shipped as a request and a program.
const DECLARED: &[(&str, &str)] = &[("429", "failed http-429"), ("shape", "failed jq")];

const ASKED: [Asked; 11] = [
    Asked {
        collector: "health",
        site: Site::App,
        path: "/health",
        address: ("/repos/shop/health/0/url", "/health"),
        words: &[
            ("refused", "down"),
            ("reset", "-"),
            ("500", "down"),
            ("shape", "-"),
            ("silent", "down"),
        ],
    },
    Asked {
        collector: "jsonrpc",
        site: Site::Services,
        path: "/rpc",
        address: ("/repos/shop/jsonrpc/0/url", "/rpc"),
        words: &[
            ("refused", "down"),
            ("reset", "-"),
            ("429", "failed quota"),
            ("500", "down"),
            ("shape", "failed wrong-id"),
            ("silent", "down"),
        ],
    },
    Asked {
        collector: "domains",
        site: Site::Services,
        path: "/rdap/*",
        address: ("/network/registries", "/rdap/dns.json"),
        words: &[],
    },
    Asked {
        collector: "vercel",
        site: Site::Vercel,
        path: "*",
        address: ("/vercel/api", ""),
        words: &[],
    },
    Asked {
        collector: "railway",
        site: Site::Railway,
        path: "*",
        address: ("/railway/api", "/graphql/v2"),
        words: &[],
    },
    Asked {
        collector: "actions",
        site: Site::Forge,
        path: "*/actions/*",
        address: ("", ""),
        words: &[],
    },
    Asked {
        collector: "pulls",
        site: Site::Forge,
        path: "*/pulls",
        address: ("", ""),
        words: &[],
    },
    Asked {
        collector: "exceptions",
        site: Site::Tracker,
        path: "/api/exceptions",
        address: ("/repos/shop/collectors/exceptions/values/url", ""),
        words: DECLARED,
    },
    Asked {
        collector: "sentry",
        site: Site::Tracker,
        path: "/api/0/*",
        address: ("/repos/shop/collectors/sentry/values/url", ""),
        words: &[("429", "failed http-429")],
    },
    Asked {
        collector: "alertmanager",
        site: Site::Services,
        path: "/api/v2/alerts",
        address: ("/repos/shop/collectors/alertmanager/values/url", ""),
        words: DECLARED,
    },
    Asked {
        collector: "statuspage",
        site: Site::Services,
        path: "/status/*",
        address: ("/repos/shop/collectors/statuspage/values/url", "/summary.json"),
        words: DECLARED,
    },
];

/// What a collector says of each way, where nothing else is known of it.
const WAYS: [(Way, &str, &str); 11] = [
    (Refused, "refused", "failed refused"),
    (Lost, "reset", "failed reset"),
    (Status(401), "401", "failed http-401"),
    (Limited, "429", "failed rate-limited"),
    (Status(500), "500", "failed http-500"),
    (Html, "html", "failed html"),
    (NoBody, "empty", "failed empty"),
    (OtherShape, "shape", "failed shape"),
    (Half, "half", "failed truncated"),
    (Cut, "cut", "failed truncated"),
    (Silent, "silent", "failed timeout"),
];

impl Asked {
    fn word(&self, way: &str, usual: &'static str) -> &'static str {
        self.words
            .iter()
            .find(|(name, _)| *name == way)
            .map_or(usual, |(_, word)| word)
    }
}

/// Breaks it, looks, and mends it.
fn broken(stage: &Stage, asked: &Asked, way: Way, look: impl FnOnce()) {
    let whole = stage.config();
    let mut config = whole.clone();
    if matches!(way, Silent) {
        config["limits"]["collect_seconds"] = json!(DEADLINE);
    }
    if let Some(fault) = way.fault() {
        let which = Which {
            path: asked.path.to_owned(),
            ..Which::default()
        };
        stage.world.fault(which.on(asked.site).always(), fault);
    } else {
        let (place, rest) = asked.address;
        *config.pointer_mut(place).unwrap() = json!(format!("{}{rest}", nowhere()));
    }
    stage.configure(&config);
    look();
    stage.world.town().calm();
    stage.configure(&whole);
}

/// What is wrong with a look in which only `collector` is broken and says `word`.
fn judge(collector: &str, word: &str, code: Option<i32>, snapshot: &Value) -> Option<String> {
    let mut seen = outcomes(snapshot);
    let down = word == "down";
    let signals = snapshot["signals"].as_array().map_or(0, Vec::len);
    let place = seen.iter().position(|(name, _)| name == collector)?;
    let (_, own) = seen.remove(place);
    let own_is = if down {
        own == "ok" && signals == 1 && snapshot["signals"][0]["source"] == collector
    } else {
        own == word && signals == 0
    };
    let others = seen.iter().all(|(_, outcome)| outcome == "ok");
    let exit = Some(if down { 0 } else { 3 });
    let in_time = snapshot["collectors"]
        .as_array()
        .into_iter()
        .flatten()
        .all(|one| one["ms"].as_u64() < Some(60_000));
    (!(own_is && others && exit == code && in_time))
        .then(|| format!("exit {code:?}, {own}, {signals} signals, others: {seen:?}"))
}

#[test]
fn each_that_is_asked_is_named_alone_whatever_breaks() {
    let all = ASKED.iter().flat_map(|asked| WAYS.iter().map(move |way| (asked, way)));
    let cases = all.filter(|(asked, (way, name, usual))| {
        let reached = !matches!(way, Refused) || !asked.address.0.is_empty();
        reached && asked.word(name, usual) != "-"
    });
    let cases: VecDeque<_> = cases.collect();
    assert!(cases.len() > 100, "{} cases", cases.len());
    let cases = Mutex::new(cases);
    let wrong = Mutex::new(Vec::new());
    let next = || cases.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let stage = stage();
                while let Some((asked, (way, name, usual))) = next() {
                    let word = asked.word(name, usual);
                    broken(&stage, asked, *way, || {
                        let started = instant();
                        let (code, snapshot, text) = stage.json(&["collect"]);
                        let took = started.elapsed();
                        let mut why = judge(asked.collector, word, code, &snapshot);
                        if took > Duration::from_secs(DEADLINE) + LATE {
                            why = Some(format!("it took {took:?}"));
                        }
                        if text.to_lowercase().contains("healthy") {
                            why = Some("it is called healthy".to_owned());
                        }
                        if let Some(why) = why {
                            wrong
                                .lock()
                                .unwrap()
                                .push(format!("{} {name}: {why} instead of {word}", asked.collector));
                        }
                    });
                }
                stage.world.finish().unwrap();
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is read on this machine: files and programs.
#[test]
fn a_file_or_a_program_that_cannot_be_read_is_named_alone() {
    let stage = stage();
    let log = stage.world.root().join("app.log");
    let check = |collector: &str, word: &str| {
        let (code, snapshot, text) = stage.json(&["collect"]);
        assert_eq!(
            judge(collector, word, code, &snapshot),
            None,
            "{collector} {word}\n{text}"
        );
    };
    let kept = fs::read(&log).unwrap();
    fs::remove_file(&log).unwrap();
    check("logs", "failed not-found");
    fs::create_dir(&log).unwrap();
    check("logs", "failed not-a-file");
    fs::remove_dir(&log).unwrap();
    // Nobody writes to it: to open it would take for ever.
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &log,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    check("logs", "failed not-a-file");
    fs::remove_file(&log).unwrap();
    fs::write(&log, kept).unwrap();

    let plugin = stage.home.join("collectors/check_disk");
    for (script, word) in [
        ("echo 'UNKNOWN: no such disk'; exit 3", "failed unknown"),
        ("exit 0", "failed no-output"),
        ("kill -SEGV $$", "failed ended"),
        ("sleep 300", "failed timeout"),
    ] {
        stage.plugin(script);
        check("exec", word);
    }
    fs::remove_file(plugin).unwrap();
    check("exec", "failed not-started");
    let mut config = stage.config();
    config["repos"]["shop"]["exec"]["disk"]["output"] = json!("signals");
    stage.configure(&config);
    for (script, word) in [
        ("echo '<html>'", "failed html"),
        ("echo '{\"unexpected\": [1, 2, 3]}'", "failed shape"),
        ("printf '{\"signals\": [{\"ti'", "failed truncated"),
    ] {
        stage.plugin(script);
        check("exec", word);
    }
    stage.world.finish().unwrap();
}

/// A whole tick, of those that no other story breaks: it is blind, and neither the tick nor the status says healthy.
#[test]
fn a_tick_that_cannot_read_one_source_is_blind_and_says_so() {
    let stage = stage();
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    stage.step(15);
    let named = |collector: &str| {
        let (code, report, text) = stage.json(&["--json"]);
        let blind: Vec<&str> = report["blind"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert!(
            code == Some(3) && blind.len() == 1 && blind[0].starts_with(&format!("{collector}/shop")),
            "{collector}\n{text}"
        );
        let (_, _, status) = stage.json(&["status"]);
        for said in [&text, &status] {
            assert!(!said.to_lowercase().contains("healthy"), "{collector}\n{said}");
        }
        let source = format!("{collector}/shop");
        assert!(
            status.contains("BLIND") && status.contains(&source),
            "{collector}\n{status}"
        );
    };
    for collector in ["health", "jsonrpc", "statuspage"] {
        let asked = ASKED.iter().find(|asked| asked.collector == collector).unwrap();
        broken(&stage, asked, Html, || named(collector));
        stage.step(15);
        let (code, _, text) = stage.json(&["--json"]);
        assert_eq!(code, Some(0), "{collector}\n{text}");
        stage.step(15);
    }
    stage.plugin("exit 3");
    named("exec");
    stage.plugin("echo OK");
    stage.step(15);
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    fs::remove_file(stage.world.root().join("app.log")).unwrap();
    stage.step(15);
    named("logs");
    stage.world.finish().unwrap();
}
