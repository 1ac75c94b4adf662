//! `tick look`: one look at pages and repositories without configuration, state or model.

use std::{
    collections::BTreeSet,
    fs::{DirBuilder, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use serde_json::{Value, json};
use url::Url;

use super::Global;
use crate::{
    adapters::{github::GitHub, http::Http},
    collect::{self, CollectContext, HttpCache},
    config::{
        Config, Home, Mode, REGISTRIES, Repo,
        env::Environment,
        load::{LoadError, Purpose, Sources, from_text, load_for},
    },
    decide,
    exit::{Exit, Fault},
    model::{
        RepoName, Slot,
        page::{Domain, SeenPage},
        pull::Rules,
    },
    render::look::{self as render, SeenRepo},
    steps::equipped,
    text::{Redactor, Untrusted, clean},
};

const GITHUB_API: &str = "https://api.github.com/";
/// Waits before what is down is asked again; somebody sits and waits for this.
const RESAMPLE: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];

#[derive(Debug, Args)]
pub struct LookArgs {
    /// Addresses of pages, and repositories (acme/shop)
    #[arg(required = true, value_name = "URL|OWNER/REPO")]
    what: Vec<String>,
    /// How far back the runs of a repository are read
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=90))]
    days: u32,
    /// Write the configuration for it; one that is there stays as it is
    #[arg(long)]
    save: bool,
    /// Print everything that was found as JSON
    #[arg(long)]
    json: bool,
    /// Base of GitHub's API
    #[arg(long, value_name = "URL", default_value = "https://api.github.com")]
    github_api: Url,
    /// List of the registries of domains (RDAP)
    #[arg(long, value_name = "URL", default_value = REGISTRIES)]
    registries: Url,
}

enum What {
    Page(Url),
    Repo(RepoName),
}

/// What was asked for, under the name that a configuration gives it.
struct Wanted {
    slot: String,
    what: What,
    /// The registered name that a page stands under, where its registry says when it ends.
    domain: Option<String>,
}

/// What was found, in the order in which it was asked for.
enum Found {
    Page(SeenPage),
    Repo(SeenRepo),
}

pub fn run(args: &LookArgs, global: &Global, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let mut wanted = named(args.what.iter().map(|text| parse(text)).collect::<Result<_, _>>()?);
    if args.save {
        // Before the look: it may take a while.
        place_for(global)?;
    }
    let config = config(args, &config_text(args, &wanted))?;
    let (found, now) = super::runtime()?.block_on(look(args, global, &config, &wanted))?;
    for (wanted, found) in wanted.iter_mut().zip(&found) {
        wanted.settle(found);
    }
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &as_json(&found))?;
        writeln!(out)?;
    } else {
        let text = |found: &Found| match found {
            Found::Page(seen) => render::page(seen, now),
            Found::Repo(seen) => render::repo(seen, now),
        };
        let texts: Vec<String> = found.iter().map(text).collect();
        out.write_all(texts.join("\n").as_bytes())?;
    }
    if args.save {
        let text = config_text(args, &wanted);
        self::config(args, &text)?;
        let file = save(&place_for(global)?, &text)?;
        if !args.json {
            out.write_all(render::saved(&file).as_bytes())?;
        }
    }
    Ok(exit(&found))
}

async fn look(
    args: &LookArgs,
    global: &Global,
    config: &Config,
    wanted: &[Wanted],
) -> anyhow::Result<(Vec<Found>, DateTime<Utc>)> {
    let redactor = Redactor::new(config.secrets.values.values());
    let http = Http::new(redactor.clone(), config.allow_private_hosts.clone());
    let (sources, cache) = (collect::Sources::new(), HttpCache::default());
    let mut ctx = CollectContext::new(config, &http, &redactor, global.clock(), &sources, &cache);
    ctx.resample = RESAMPLE;
    let mut pages = collect::pages(&ctx).await;
    let mut found = Vec::new();
    for wanted in wanted {
        let slot = Slot::parse(&wanted.slot)?;
        found.extend(match &wanted.what {
            What::Page(_) => pages.remove(&slot).map(Found::Page),
            What::Repo(name) => repo(&ctx, &slot, name, args.days).await.map(Found::Repo),
        });
    }
    Ok((found, ctx.now))
}

fn exit(found: &[Found]) -> Exit {
    let bad = |found: &Found| match found {
        Found::Page(page) => render::is_bad(page),
        Found::Repo(repo) => repo.is_red(),
    };
    let blind = |found: &Found| match found {
        Found::Page(page) => render::is_blind(page),
        Found::Repo(repo) => !repo.past.blind.is_empty(),
    };
    if found.iter().any(bad) {
        Exit::Unhealthy
    } else if found.iter().any(blind) {
        Exit::Blind
    } else {
        Exit::Ok
    }
}

fn as_json(found: &[Found]) -> Value {
    let mut json = json!({ "schema": 1, "pages": [], "repos": [] });
    for found in found {
        let (list, seen) = match found {
            Found::Page(seen) => ("pages", json!(seen)),
            Found::Repo(seen) => ("repos", json!(seen)),
        };
        json[list].as_array_mut().expect("it was made above").push(seen);
    }
    json
}

fn parse(text: &str) -> Result<What, Fault> {
    if let Ok(url) = Url::parse(text)
        && matches!(url.scheme(), "http" | "https")
        && url.has_host()
    {
        return Ok(What::Page(url));
    }
    RepoName::parse(text).map(What::Repo).map_err(|_| {
        let shown = clean(text).chars().take(80).collect::<String>();
        Fault::new(Exit::Usage, format!("{shown:?} is neither a page nor a repository"))
            .advise("for example https://acme.example or acme/shop")
    })
}

/// Each under a name of its own.
fn named(what: Vec<What>) -> Vec<Wanted> {
    let mut taken = BTreeSet::new();
    let mut wanted = Vec::new();
    for what in what {
        let name = slot(match &what {
            What::Page(url) => url.host_str().unwrap_or("page"),
            What::Repo(name) => name.name(),
        });
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let free = std::iter::once(name.clone())
            .chain(numbered)
            .find(|name| !taken.contains(name));
        let slot = free.expect("there is always another number");
        taken.insert(slot.clone());
        wanted.push(Wanted {
            slot,
            what,
            domain: None,
        });
    }
    wanted
}

impl Wanted {
    /// A probe goes to one host: what sends its visitors elsewhere is watched there. A domain is watched whose end is told.
    fn settle(&mut self, found: &Found) {
        let (What::Page(url), Found::Page(seen)) = (&mut self.what, found) else {
            return;
        };
        if let Some(to) = seen.sends_to.as_ref().and_then(|to| Url::parse(to).ok()) {
            *url = to;
        }
        if let Domain::Until { name, .. } = &seen.domain {
            self.domain = Some(name.clone());
        }
    }
}

/// The configuration for what is looked at: `--save` writes this very text.
fn config_text(args: &LookArgs, wanted: &[Wanted]) -> String {
    let repos: serde_json::Map<String, Value> = wanted
        .iter()
        .map(|wanted| {
            let mut repo = match &wanted.what {
                What::Page(url) => json!({ "health": [{ "url": url.as_str() }] }),
                What::Repo(name) => json!({ "github": name.to_string() }),
            };
            if let Some(domain) = &wanted.domain {
                repo["domains"] = json!([domain]);
            }
            (wanted.slot.clone(), repo)
        })
        .collect();
    let mut config = json!({ "mode": "observe", "repos": repos });
    if args.github_api.as_str() != GITHUB_API {
        config["github"] = json!({ "api": args.github_api.as_str() });
    }
    if args.registries.as_str() != REGISTRIES {
        config["network"] = json!({ "registries": args.registries.as_str() });
    }
    serde_json::to_string_pretty(&config).expect("plain values are JSON") + "\n"
}

/// The configuration that a text makes; nothing of a home is read for it.
fn config(args: &LookArgs, text: &str) -> Result<Config, Fault> {
    let home = Home::at(Path::new("/nonexistent"));
    from_text(text, &home, &Environment::of_process()).map_err(|problems| {
        let what = problems
            .first()
            .map_or_else(String::new, |problem| problem.what.clone());
        Fault::new(Exit::Usage, format!("look at {}: {what}", args.what.join(" ")))
    })
}

fn slot(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let slot: String = name.chars().map(plain).take(36).collect();
    let slot = slot.trim_matches('-');
    if slot.is_empty() {
        "repo".to_owned()
    } else {
        slot.to_owned()
    }
}

/// Where a configuration would be written, where none is.
fn place_for(global: &Global) -> anyhow::Result<PathBuf> {
    match load_for(Sources::of_process(global.home.as_deref())?, Purpose::Look) {
        Err(LoadError::Missing { file }) => Ok(file),
        Err(LoadError::Fault(fault)) => Err(fault.into()),
        Ok(Config { home, .. }) => Err(there(&home.config_file).into()),
        Err(LoadError::Wrong { file, .. }) => Err(there(&file).into()),
    }
}

fn save(file: &Path, text: &str) -> Result<String, Fault> {
    let could_not = |error: std::io::Error| {
        let shown = file.display();
        match error.kind() {
            ErrorKind::AlreadyExists => there(file),
            _ => Fault::new(Exit::CouldNot, format!("write {shown}: {error}")),
        }
    };
    if let Some(dir) = file.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(could_not)?;
    }
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(file);
    opened
        .and_then(|mut opened| opened.write_all(text.as_bytes()))
        .map_err(could_not)?;
    Ok(file.display().to_string())
}

fn there(file: &Path) -> Fault {
    let what = format!("{} is there already and stays as it is", file.display());
    Fault::new(Exit::Config, what).advise("add the repo to it by hand, or name another directory with --home")
}

async fn repo(ctx: &CollectContext<'_>, slot: &Slot, name: &RepoName, days: u32) -> Option<SeenRepo> {
    let repo = ctx.config.repo(slot)?;
    let since = ctx.now - TimeDelta::days(i64::from(days));
    let past = collect::past(ctx, repo, since).await?;
    // What could not even be found has no rules to ask for.
    let rules = if past.branch.is_empty() {
        Err("the repository could not be read".to_owned())
    } else {
        rules(ctx, name).await
    };
    let (rung, needs) = most(ctx.config, repo);
    Some(SeenRepo {
        name: name.to_string(),
        days,
        causes: decide::past::causes(&past),
        rules_unread: rules.as_ref().err().cloned(),
        rules: rules.ok(),
        past,
        rung,
        needs,
    })
}

/// What a repo like this could do at most, and what is missing for more: the same function that a tick asks.
fn most(config: &Config, repo: &Repo) -> (String, Vec<String>) {
    let most = Repo {
        mode: Mode::Active,
        ..repo.clone()
    };
    let (rung, needs) = equipped(config, &most);
    (rung.word().to_owned(), needs)
}

async fn rules(ctx: &CollectContext<'_>, name: &RepoName) -> Result<Rules, String> {
    let token = ctx.config.secrets.github().cloned();
    let api = ctx.config.github.api.clone();
    let github = GitHub::new(ctx.http.clone(), api, token, ctx.redactor.clone());
    let read = async {
        let info = github.repo(name).await?;
        let branch = info.default_branch.clone();
        github.rules(name, &info, &branch).await
    };
    read.await
        .map_err(|error| Untrusted::new(&error.to_string(), ctx.redactor).line(200))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::page::{Certificate, PageState};

    #[test]
    fn what_is_looked_at_is_a_page_or_a_repository() {
        assert!(matches!(parse("https://acme.example/health"), Ok(What::Page(_))));
        assert!(matches!(parse("acme/shop"), Ok(What::Repo(_))));
        for wrong in ["acme", "ftp://acme.example", "", "a/b/c", "file:///etc/passwd"] {
            let error = parse(wrong).err().unwrap();
            assert_eq!(error.exit, Exit::Usage, "{wrong}");
        }
    }

    #[test]
    fn names_of_slots_are_plain_and_apart() {
        assert_eq!(slot("Shop_API.v2"), "shop-api-v2");
        assert_eq!(slot("..."), "repo");
        let wanted = ["a/shop", "b/shop", "https://shop/?key=1"].map(|text| parse(text).unwrap());
        let mut wanted = named(wanted.into());
        let args = LookArgs {
            what: Vec::new(),
            days: 30,
            save: false,
            json: false,
            github_api: "https://forge.example/api".parse().unwrap(),
            registries: "https://iana.example/dns.json".parse().unwrap(),
        };
        let text = config_text(&args, &wanted);
        let value: Value = serde_json::from_str(&text).unwrap();
        let slots: Vec<&String> = value["repos"].as_object().unwrap().keys().collect();
        assert_eq!(slots, ["shop", "shop-2", "shop-3"]);
        assert_eq!(value["repos"]["shop-3"]["health"][0]["url"], "https://shop/?key=1");
        assert_eq!(value["github"]["api"], "https://forge.example/api");
        assert!(config(&args, &text).is_ok(), "{text}");
        let mut page = SeenPage {
            url: "https://shop/".to_owned(),
            sends_to: Some("https://www.shop/en".to_owned()),
            state: PageState::Up,
            status: Some(200),
            ms: Some(3),
            samples: 1,
            certificate: Certificate::Unknown,
            domain: Domain::Until {
                name: "shop.example".to_owned(),
                at: DateTime::UNIX_EPOCH,
            },
            signals: Vec::new(),
        };
        wanted[2].settle(&Found::Page(page.clone()));
        let value: Value = serde_json::from_str(&config_text(&args, &wanted)).unwrap();
        let page_of_shop = &value["repos"]["shop-3"];
        assert_eq!(page_of_shop["health"][0]["url"], "https://www.shop/en");
        assert_eq!(page_of_shop["domains"], json!(["shop.example"]));
        assert_eq!(value["network"]["registries"], "https://iana.example/dns.json");
        assert_eq!(exit(&[Found::Page(page.clone())]), Exit::Ok);
        page.state = PageState::Blind("HTTP 429".to_owned());
        assert_eq!(exit(&[Found::Page(page)]), Exit::Blind);
    }
}
