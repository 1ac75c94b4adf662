//! Every read API under every fault, as one table: what a look makes of it. A cell is a word of the table; each one has to
//! be named so, within its deadline, with bounded memory, without a call to where nobody may be led, and without a
//! secret in what is told.
//!
//! `well`: read, if need be at a second try. `down`: a signal about the owner's service. `-`: makes no sense here,
//! or is met in another column of the same reader. Everything else is the cause of a look that was blind, or blind in part.

mod apis;
mod faults;
mod railway;
mod server;
mod table;
mod vercel;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use apis::{Api, TOKEN};
use faults::Asked;
use server::Server;
use url::Url;

use super::{Collected, HttpCache, Sources, testing};
use crate::adapters::{clock::instant, http::Http};

const CA: &[u8] = include_bytes!("../../../tests/fixtures/tls/ca.der");
/// Cells that run at once; most of them wait.
const AT_ONCE: usize = 12;
/// What the kernel's buffers take beyond what was read.
const IN_FLIGHT: usize = 12 << 20;
const DEADLINE: Duration = Duration::from_secs(20);
/// For what takes as long as it is let.
const SHORT: Duration = Duration::from_millis(800);
/// A busy machine may be that late.
const LATE: Duration = Duration::from_secs(20);

/// What became of one cell.
struct Met {
    word: String,
    /// What else is wrong, if anything is.
    wrong: Vec<String>,
}

fn meet(api: &Api, fault: &'static str) -> Met {
    let elsewhere = Server::start(server::Front::Plain, |_| server::Act::Send(Vec::new()));
    let times = Arc::new(AtomicUsize::new(0));
    let server = serve(api, fault, elsewhere.port, times.clone());
    let port = if fault == "refused" { CLOSED_PORT } else { server.port };
    let scheme = if faults::tls(fault).is_some() { "https" } else { "http" };
    let base = Url::parse(&format!("{scheme}://127.0.0.1:{port}/")).unwrap();
    let stalls = faults::stalls(fault);
    let deadline = if stalls { SHORT } else { DEADLINE };
    let mut config = (api.config)(&base, if stalls { SHORT / 5 } else { DEADLINE / 4 });
    config.limits.collect_deadline = deadline;
    config.retry.attempts = 5;
    let roots: &[&'static [u8]] = if faults::tls(fault) == Some(true) { &[CA] } else { &[] };
    let started = instant();
    let collected = testing::run_over(
        &config,
        &Sources::new(),
        &HttpCache::default(),
        Some(api.collector),
        |redactor| Http::trusting(redactor, roots),
    );
    let took = started.elapsed();
    let word = word(api, &collected);
    let mut wrong = Vec::new();
    let mut demand = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    demand(took < deadline + LATE, format!("it took {took:?}"));
    let sent = server.sent.load(Ordering::SeqCst);
    // Each try may read that much.
    let tries = if api.probe { 3 } else { 5 };
    demand(sent <= (api.cap + IN_FLIGHT) * tries, format!("it took {sent} bytes"));
    demand(
        elsewhere.accepted.load(Ordering::SeqCst) == 0,
        "it went where nobody may be led".to_owned(),
    );
    let told = format!("{collected:?}");
    demand(!told.contains(TOKEN), "the token is in what is told".to_owned());
    let outcome = &collected.collectors[0];
    demand(
        !outcome.is_blind() || !outcome.detail.is_empty() && !outcome.cause.is_empty(),
        "a blind look says nothing".to_owned(),
    );
    let asked = times.load(Ordering::SeqCst);
    demand(
        api.probe || retried(fault) || asked <= most_calls(fault),
        format!("it asked {asked} times"),
    );
    Met { word, wrong }
}

/// The server of the API, which spoils one of its answers. `times` counts how often that one is asked for.
fn serve(api: &Api, fault: &'static str, elsewhere: u16, times: Arc<AtomicUsize>) -> Server {
    let (spoiled, good) = (api.spoiled, api.good);
    Server::start(faults::front(fault), move |request| {
        let path = request.split(' ').nth(1).unwrap_or("").to_owned();
        // Where every query goes to one address, its name tells what is asked.
        let place = match railway::operation(request) {
            Some(name) => format!("{path} {name} "),
            None => path.clone(),
        };
        let good = good(&place);
        let host = request
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned));
        let whole = good.whole();
        if !place.contains(spoiled) {
            return server::Act::Send(whole);
        }
        let asked = Asked {
            good: &good,
            before: times.fetch_add(1, Ordering::SeqCst),
            path: &path,
            here: &format!("http://{}", host.unwrap_or_default()),
            elsewhere,
        };
        faults::act(fault, &asked).unwrap_or(server::Act::Send(whole))
    })
}

/// Faults that another try may not meet.
fn retried(fault: &str) -> bool {
    [
        "5",
        "429",
        "403-",
        "reset",
        "lost",
        "truncated",
        "chunk",
        "drip",
        "silence",
        "no-http",
        "gzip-broken",
    ]
    .iter()
    .any(|start| fault.starts_with(start))
}

/// Calls that one look may make where no second try can help.
fn most_calls(fault: &str) -> usize {
    match fault {
        "redirect-loop" => 4,
        // A log that is gone alone may still be in the archive of its run; the history of logs is asked two questions.
        "404" | "wrong-kind" | "long-line" => 2,
        "page-repeated" | "page-circle" | "page-itself" | "page-missing" => 20,
        "cursor-itself" | "cursor-circle" | "cursor-on" | "cursor-missing" => 5,
        _ => 1,
    }
}

fn word(api: &Api, collected: &Collected) -> String {
    let [outcome] = collected.collectors.as_slice() else {
        panic!("{}: {collected:?}", api.name);
    };
    if outcome.is_blind() {
        outcome.cause.clone()
    } else if api.probe && !collected.signals.is_empty() {
        "down".to_owned()
    } else {
        "well".to_owned()
    }
}

/// Nothing listens there. It is none that the kernel gives away: another server could get that one at once.
const CLOSED_PORT: u16 = 1;

/// One field of a table.
struct Cell {
    fault: &'static str,
    api: &'static Api,
    /// The words that may be found.
    word: &'static str,
}

/// The cells that make sense.
fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (table, apis) in table::TABLES {
        let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let head = rows.next().unwrap();
        let names: Vec<&str> = apis.iter().map(|api| api.name).collect();
        assert_eq!(head[1..], names, "the columns are the APIs");
        for row in rows {
            assert_eq!(row.len(), head.len(), "{row:?}");
            let fields = apis.iter().zip(&row[1..]).filter(|(_, word)| **word != "-");
            cells.extend(fields.map(|(api, word)| Cell {
                fault: row[0],
                api,
                word,
            }));
        }
    }
    cells
}

#[test]
fn every_fault_of_every_read_api_is_named_in_time_and_bounded() {
    let cells = cells();
    assert!(cells.len() >= 200, "{} cells", cells.len());
    let next = AtomicUsize::new(0);
    let met: Mutex<BTreeMap<usize, Met>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::SeqCst);
                    let Some(cell) = cells.get(n) else { return };
                    let result = meet(cell.api, cell.fault);
                    met.lock().unwrap().insert(n, result);
                }
            });
        }
    });
    let met = met.into_inner().unwrap();
    let mut wrong = Vec::new();
    for (cell, found) in cells.iter().zip(met.values()) {
        let Cell { fault, api, word } = cell;
        let name = api.name;
        if word.split('|').all(|word| word != found.word) {
            wrong.push(format!("{name} {fault}: {} instead of {word}", found.word));
        }
        wrong.extend(found.wrong.iter().map(|what| format!("{name} {fault}: {what}")));
    }
    assert!(
        wrong.is_empty(),
        "{} of {} cells:\n{}",
        wrong.len(),
        cells.len(),
        wrong.join("\n")
    );
    let faults: BTreeSet<&str> = cells.iter().map(|cell| cell.fault).collect();
    let apis: usize = table::TABLES.iter().map(|(_, apis)| apis.len()).sum();
    println!("{} cells of {} faults and {apis} APIs", cells.len(), faults.len());
}
