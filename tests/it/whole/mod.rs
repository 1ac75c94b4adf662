//! Every collector that ships, at once and through the built program, against the whole small world: all well, each with
//! something to tell, and each broken in turn.

mod broken;
mod ci;
mod held;

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::PathBuf};

use chrono::TimeDelta;
use serde_json::{Value, json};
use tick::demo::{
    Pace, RAILWAY_PROJECT_TOKEN, RAILWAY_SERVICE, SENTRY_ON_REQUEST, Setup, Site, VERCEL_TOKEN, World, WorldOptions,
    forge::{CiRun, JobRun},
    schema::Description,
    services::ProviderIncident,
    vercel::Build,
};

use crate::{
    spine::{Stage, at},
    support::{read, root, shared},
};

#[path = "../../../src/demo/schema/graphql.rs"]
mod graphql;

/// Seconds that a look has while a service says nothing.
const DEADLINE: u64 = 4;

/// The shop on both platforms, with everything that can be looked at of it. Five minutes in.
fn stage() -> Stage {
    let world = World::start(WorldOptions {
        pace: Pace::Assumed,
        ..WorldOptions::shop(at("2026-11-29T03:00:00Z"))
    })
    .unwrap();
    let secret = json!({ "token": "WORLD_TRACKER_TOKEN" });
    let services = world.services_url();
    let log = world.root().join("app.log");
    fs::write(&log, "2026-11-29T03:00:00Z INFO shop is up\n").unwrap();
    let config = json!({
        "vercel": { "api": world.vercel_url(), "web": world.vercel_url() },
        "railway": { "api": world.railway_api() },
        "network": { "registries": format!("{services}/rdap/dns.json") },
        "repos": { "shop": {
            "vercel": { "project": "shop", "team": "team_acme" },
            "railway": { "service": RAILWAY_SERVICE },
            "jsonrpc": [{ "name": "node", "url": format!("{services}/rpc"), "method": "eth_blockNumber", "jq": "startswith(\"0x\")",
                          "reference": format!("{services}/rpc/reference"), "max_lag": 20, "timeout_seconds": 30 }],
            "logs": [{ "path": log }],
            "domains": ["shop.example"],
            "exec": { "disk": { "program": "check_disk", "timeout_seconds": 5 } },
            "collectors": {
                "sentry": { "values": { "url": world.tracker_url(), "org": "acme" }, "secrets": secret },
                "alertmanager": { "values": { "url": services }, "secrets": secret },
                "statuspage": { "values": { "url": format!("{services}/status/acme/api/v2/summary.json") } },
            },
        } },
        "retry": { "attempts": 1, "seconds": 0 },
        // Too short for a probe that is down to be sampled again, which waits for seconds.
        "limits": { "collect_seconds": 19 },
    });
    let setup = Setup {
        mode: "observe",
        config,
        env: [("VERCEL_TOKEN", VERCEL_TOKEN), ("RAILWAY_TOKEN", RAILWAY_PROJECT_TOKEN)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..Setup::new(PathBuf::from(env!("CARGO_BIN_EXE_tick")))
    };
    let home = world.tick_home(&setup).unwrap();
    let stage = Stage { world, home };
    let mut config = stage.config();
    config["repos"]["shop"]["health"][0]["timeout_seconds"] = json!(30);
    stage.configure(&config);
    stage.plugin("echo 'DISK OK - 61% free'");
    stage.step(5);
    stage
}

impl Stage {
    /// The plugin does this from now on.
    fn plugin(&self, script: &str) {
        let dir = self.home.join("collectors");
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("check_disk");
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn config(&self) -> Value {
        serde_json::from_slice(&fs::read(self.home.join("config.json")).unwrap()).unwrap()
    }

    fn configure(&self, config: &Value) {
        fs::write(self.home.join("config.json"), config.to_string()).unwrap();
    }

    /// Every reply so far is one that the vendor's description allows. What no description covers is left out.
    fn hold_replies_against_the_descriptions(&self) {
        let packed = |name: &str| -> Value {
            let file = fs::File::open(root().join("tests/schemas").join(name)).unwrap();
            serde_json::from_reader(zstd::Decoder::new(file).unwrap()).unwrap()
        };
        let plain = |name: &str| serde_json::from_str(&read(&format!("tests/schemas/{name}"))).unwrap();
        let described = |vendor: &str| {
            let (openapi, additions) = (
                format!("{vendor}-openapi-subset.json.zst"),
                format!("{vendor}-additions.json"),
            );
            Description::new(&packed(&openapi), &plain(&additions))
        };
        let (forge, vercel, railway) = (described("github"), described("vercel"), graphql::Schema::railway());
        let sentry = shared("reference/schemas/sentry-openapi-subset.json")
            .map(|text| Description::new(&serde_json::from_str(&text).unwrap(), &Value::Null));
        let mut wrong = Vec::new();
        let mut sites: Vec<Site> = Vec::new();
        for reply in self.world.town().log.replies() {
            let check = |of: &Description| of.check(&reply.method, reply.template, reply.status, &reply.body);
            let checked = match reply.site {
                Site::Forge => check(&forge),
                Site::Vercel => check(&vercel),
                Site::Tracker => sentry.as_ref().map_or(Ok(()), |sentry| {
                    let mut wrong = check(sentry).err().unwrap_or_default();
                    let on_request = |why: &String| {
                        SENTRY_ON_REQUEST
                            .iter()
                            .any(|name| why.contains(&format!("\"{name}\" is a required")))
                    };
                    wrong.retain(|why| !on_request(why));
                    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
                }),
                Site::Railway => {
                    let text = reply.query.as_deref().unwrap();
                    railway
                        .check_query(text)
                        .and_then(|()| railway.check_reply(text, &reply.body["data"]))
                }
                Site::Services | Site::App => Ok(()),
            };
            wrong.extend(checked.err().unwrap_or_default());
            if !sites.contains(&reply.site) {
                sites.push(reply.site);
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert_eq!(sites.len(), 4, "each vendor was asked: {sites:?}");
    }
}

/// Names of all that ships, as the sources have them.
fn shipped() -> BTreeSet<String> {
    let table = read("src/collect/mod.rs");
    let built_in = table
        .lines()
        .filter_map(|line| line.strip_prefix("        name: \"")?.strip_suffix("\","));
    let declared = tick::collect::shipped().iter().map(|shipped| shipped.name);
    built_in.chain(declared).map(str::to_owned).collect()
}

/// Name and outcome of each collector; the cause where there is one.
fn outcomes(snapshot: &Value) -> Vec<(String, String)> {
    let list = snapshot["collectors"].as_array().unwrap();
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let said = |one: &Value| match text(&one["cause"]) {
        cause if cause.is_empty() => text(&one["outcome"]),
        cause => format!("{} {cause}", text(&one["outcome"])),
    };
    list.iter().map(|one| (text(&one["name"]), said(one))).collect()
}

/// Source, kind, severity, title of each signal, sorted.
fn told(snapshot: &Value) -> Vec<String> {
    let signals = snapshot["signals"].as_array().unwrap().iter();
    let word = |signal: &Value, key: &str| signal[key].as_str().unwrap().to_owned();
    let mut told: Vec<String> = signals
        .map(|signal| {
            ["source", "kind", "severity", "title"]
                .map(|key| word(signal, key))
                .join(" | ")
        })
        .collect();
    told.sort();
    told
}

#[test]
fn all_that_ships_is_read_at_once_and_is_well() {
    let stage = stage();
    let (code, snapshot, text) = stage.json(&["collect"]);
    assert_eq!(code, Some(0), "{text}");
    let seen = outcomes(&snapshot);
    assert!(seen.iter().all(|(_, outcome)| outcome == "ok"), "{seen:#?}");
    let names: BTreeSet<String> = seen.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, shipped(), "what ships is looked at here");
    assert_eq!((told(&snapshot), seen.len()), (Vec::new(), names.len()), "{text}");
    let head = json!(stage.world.main_head().unwrap());
    for of in ["health", "vercel", "railway", "exceptions"] {
        let one = snapshot["collectors"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == of);
        assert_eq!(one.unwrap()["release_sha"], head, "{of}");
    }
    stage.world.finish().unwrap();
}

#[test]
fn each_source_tells_what_is_wrong_with_it() {
    let stage = stage();
    let (world, now) = (&stage.world, stage.world.now());
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    stage.step(15);
    world.ship_bug().unwrap();
    world.traffic(60).unwrap();
    let town = world.town();
    town.services.fire("QueueTooLong", "critical", "17 orders wait", now);
    town.services.fire("PagesSlow", "warning", "a person knows", now);
    town.services.silence_alert("PagesSlow", "ada");
    town.services.incident(ProviderIncident {
        provider: "acme",
        id: "a1",
        name: "Payments are slow",
        impact: "major",
        component: "API",
        since: now,
    });
    town.services.node_stands(Some(now - TimeDelta::minutes(10)));
    town.services.domain_ends(now + TimeDelta::days(5));
    town.vercel.build(Build {
        state: "ERROR",
        production: true,
        sha: "b".repeat(40),
        at: world.now(),
        log: "src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.".to_owned(),
    });
    town.railway
        .line(world.now() - TimeDelta::minutes(1), "error", "panic: no money left");
    fs::write(
        world.root().join("app.log"),
        "2026-11-29T03:00:00Z INFO shop is up\n2026-11-29T03:16:00Z ERROR config file shop.toml is missing\n",
    )
    .unwrap();
    stage.plugin("echo 'DISK CRITICAL - 2% free'; exit 2");
    let output = "FAIL: test_total (tests.test_cart.Cart)\nTraceback (most recent call last):\n  File \"tests/test_cart.py\", line 9, in test_total\n    self.assertEqual(3, 4)\nAssertionError: 3 != 4\n";
    let output =
        format!("{}\n{output}", "=".repeat(70)).replacen("\nTraceback", &format!("\n{}\nTraceback", "-".repeat(70)), 1);
    let job = JobRun::new("unit", "python3 -m unittest", false, &output);
    world
        .ci_ran(&CiRun {
            workflow: "Nightly".to_owned(),
            sha: world.main_head().unwrap(),
            attempts: vec![vec![job]],
        })
        .unwrap();
    stage.step(3);
    let (code, snapshot, text) = stage.json(&["collect"]);
    assert_eq!(code, Some(0), "{text}");
    insta::assert_snapshot!(told(&snapshot).join("\n"), @r"
    actions | ci | error | CI is red: Nightly / unit: tests.test_cart.Cart.test_total
    alertmanager | alert | critical | QueueTooLong on shop
    domains | alert | error | the domain shop.example expires on 2026-12-04
    exceptions | exception | error | ZeroDivisionError: division by zero
    exec | probe | critical | disk: DISK CRITICAL - 2% free
    jsonrpc | probe | error | node: the node lags behind its reference
    logs | log | error | config file shop.toml is missing
    railway | log | critical | panic: no money left
    sentry | exception | error | ZeroDivisionError: division by zero
    statuspage | alert | error | acme: Payments are slow
    vercel | ci | error | the build fails: src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.
    vercel | deploy | error | the newest production deployment failed
    vercel | log | error | ZeroDivisionError: division by zero
    ");
    stage.hold_replies_against_the_descriptions();
    stage.world.finish().unwrap();
}
