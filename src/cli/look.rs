//! `tick look`: one look at pages and repositories without configuration, state or model.

use std::{
    collections::BTreeMap,
    io::Write,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::Global;
use crate::{
    adapters::{
        github::GitHub,
        http::{Http, Redirects, Request},
    },
    collect::{self, CollectContext, HttpCache},
    config::{
        Config, Home, Repo,
        env::Environment,
        load::{LoadError, Purpose, Sources, from_text, load_for},
    },
    decide,
    exit::{Exit, Fault},
    model::RepoName,
    render::look::{self, SeenPage, SeenRepo},
    steps::equipped,
    text::{Redactor, Untrusted},
};

const DEADLINE: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
pub struct LookArgs {
    /// Pages (https://acme.example) and repositories (acme/shop)
    #[arg(required = true, value_name = "URL|OWNER/REPO")]
    what: Vec<String>,
    /// How far back the runs of a repository are read
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=90))]
    days: u32,
    /// Write the configuration for it; never overwrites one
    #[arg(long)]
    save: bool,
    #[arg(long)]
    json: bool,
    /// Base of GitHub's API
    #[arg(long, value_name = "URL", default_value = "https://api.github.com")]
    github_api: Url,
    /// Registry of domains (RDAP)
    #[arg(long, value_name = "URL", default_value = "https://rdap.org/")]
    rdap: Url,
}

enum What {
    Page(Url),
    Repo(RepoName),
}

pub fn run(args: &LookArgs, global: &Global, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let wanted: Vec<What> = args.what.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
    let file = config_text(args, &wanted);
    let env = Environment::of_process();
    let config = from_text(&file, &Home::at(Path::new("/nonexistent")), &env).map_err(|problems| {
        let what = problems
            .first()
            .map_or_else(String::new, |problem| problem.what.clone());
        Fault::new(Exit::Usage, format!("look at {}: {what}", args.what.join(" ")))
    })?;
    let redactor = Redactor::new(config.secrets.values.values());
    let http = Http::new(redactor.clone(), config.allow_private_hosts.clone());
    let (sources, cache) = (collect::Sources::new(), HttpCache::default());
    let ctx = CollectContext::new(&config, &http, &redactor, global.clock(), &sources, &cache);
    let mut pages = Vec::new();
    let mut repos = Vec::new();
    super::runtime()?.block_on(async {
        for what in &wanted {
            match what {
                What::Page(url) => pages.push(page(&ctx, url, &args.rdap).await),
                What::Repo(name) => repos.extend(repo(&ctx, name, args.days).await),
            }
        }
    });
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &json!({ "pages": pages, "repos": repos }))?;
        writeln!(out)?;
    } else {
        let mut texts: Vec<String> = pages.iter().map(|seen| look::page(seen, ctx.now)).collect();
        texts.extend(repos.iter().map(|seen| look::repo(seen, ctx.now)));
        out.write_all(texts.join("\n").as_bytes())?;
    }
    if args.save {
        let path = save(global, &file)?;
        if !args.json {
            out.write_all(look::saved(&path).as_bytes())?;
        }
    }
    let blind = repos.iter().any(|seen| !seen.past.blind.is_empty());
    let bad = pages.iter().any(SeenPage::is_bad) || repos.iter().any(SeenRepo::is_red);
    Ok(match (bad, blind) {
        (true, _) => Exit::Unhealthy,
        (false, true) => Exit::Blind,
        (false, false) => Exit::Ok,
    })
}

fn parse(text: &str) -> Result<What, Fault> {
    if let Ok(url) = Url::parse(text)
        && matches!(url.scheme(), "http" | "https")
        && url.has_host()
    {
        return Ok(What::Page(url));
    }
    RepoName::parse(text).map(What::Repo).map_err(|_| {
        Fault::new(Exit::Usage, format!("{text:?} is neither a page nor a repository"))
            .advise("for example https://acme.example or acme/shop")
    })
}

/// The configuration for what is looked at: `--save` writes this very text.
fn config_text(args: &LookArgs, wanted: &[What]) -> String {
    let mut repos = BTreeMap::new();
    for what in wanted {
        let (name, value) = match what {
            What::Page(url) => (
                url.host_str().unwrap_or("page"),
                json!({ "health": [{ "url": url.as_str() }] }),
            ),
            What::Repo(name) => (name.name(), json!({ "github": name.to_string() })),
        };
        let slot = slot(name);
        let mut key = slot.clone();
        let mut number = 2;
        while repos.contains_key(&key) {
            key = format!("{slot}-{number}");
            number += 1;
        }
        repos.insert(key, value);
    }
    let mut config = json!({ "mode": "observe", "repos": repos });
    if args.github_api.as_str() != "https://api.github.com/" {
        config["github"] = json!({ "api": args.github_api.as_str() });
    }
    serde_json::to_string_pretty(&config).expect("plain values are JSON")
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

fn save(global: &Global, text: &str) -> anyhow::Result<String> {
    let file = match load_for(Sources::of_process(global.home.as_deref())?, Purpose::Look) {
        Err(LoadError::Missing { file }) => file,
        Err(LoadError::Fault(fault)) => return Err(fault.into()),
        Ok(Config { home, .. }) => return Err(there(&home.config_file)),
        Err(LoadError::Wrong { file, .. }) => return Err(there(&file)),
    };
    let could_not = |error: std::io::Error| Fault::new(Exit::CouldNot, format!("write {}: {error}", file.display()));
    if let Some(dir) = file.parent() {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(could_not)?;
    }
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file);
    let mut opened = opened.map_err(could_not)?;
    opened.write_all(text.as_bytes()).map_err(could_not)?;
    opened.write_all(b"\n").map_err(could_not)?;
    Ok(file.display().to_string())
}

fn there(file: &Path) -> anyhow::Error {
    let fault = Fault::new(
        Exit::Config,
        format!("{} is there already and stays as it is", file.display()),
    );
    fault
        .advise("add the repo to it by hand, or name another directory with --home")
        .into()
}

async fn page(ctx: &CollectContext<'_>, url: &Url, rdap: &Url) -> SeenPage {
    let line = |text: &str| Untrusted::new(text, ctx.redactor).line(200);
    let mut request = Request::get(url);
    request.deadline = DEADLINE;
    request.redirects = Redirects::None;
    let answer = ctx.http.send(request).await;
    let mut seen = SeenPage {
        url: line(url.as_str()),
        status: None,
        why: String::new(),
        ms: 0,
        redirects_to: None,
        certificate_until: None,
        domain_until: domain_until(ctx, url, rdap).await,
    };
    match answer {
        Ok(answer) => {
            seen.status = Some(answer.status.as_u16());
            seen.ms = u64::try_from(answer.elapsed.as_millis()).unwrap_or(u64::MAX);
            let to = answer.header("location").filter(|_| answer.status.is_redirection());
            seen.redirects_to = to.map(line);
            seen.certificate_until = answer.not_after;
        }
        Err(error) => seen.why = line(&error.to_string()),
    }
    seen
}

/// When the registration of the domain ends. Of a longer name the registered one is tried by leaving labels away.
async fn domain_until(ctx: &CollectContext<'_>, url: &Url, rdap: &Url) -> Option<DateTime<Utc>> {
    #[derive(Deserialize)]
    struct Domain {
        #[serde(default)]
        events: Vec<Event>,
    }
    #[derive(Deserialize)]
    struct Event {
        #[serde(rename = "eventAction")]
        action: String,
        #[serde(rename = "eventDate")]
        date: DateTime<Utc>,
    }
    let host = url.domain()?.trim_end_matches('.');
    let labels: Vec<&str> = host.split('.').collect();
    if labels.len() < 2 {
        return None;
    }
    for from in (0..=labels.len() - 2).rev().take(2) {
        let asked = rdap.join(&format!("domain/{}", labels[from..].join("."))).ok()?;
        let mut request = Request::get(&asked);
        request.deadline = DEADLINE;
        request.redirects = Redirects::Elsewhere;
        let answer = ctx.http.send(request).await.ok()?;
        if !answer.status.is_success() {
            continue;
        }
        let domain: Domain = serde_json::from_slice(&answer.body).ok()?;
        let ends = domain.events.into_iter().find(|event| event.action == "expiration");
        return ends.map(|event| event.date);
    }
    None
}

async fn repo(ctx: &CollectContext<'_>, name: &RepoName, days: u32) -> Option<SeenRepo> {
    let repo = ctx
        .config
        .repos
        .values()
        .find(|repo| repo.github.as_ref() == Some(name))?;
    let since = ctx.now - TimeDelta::days(i64::from(days));
    let past = collect::past(ctx, repo, since).await?;
    let causes = decide::past::causes(&past);
    let (rung, needs) = wanted_rung(ctx.config, repo);
    Some(SeenRepo {
        name: name.to_string(),
        days,
        causes,
        rules: rules(ctx, name).await,
        past,
        rung,
        needs,
    })
}

/// What a repo like this could do at most, and what is missing for more: the same function that a tick asks.
fn wanted_rung(config: &Config, repo: &Repo) -> (String, Vec<String>) {
    let most = Repo {
        mode: crate::config::Mode::Active,
        ..repo.clone()
    };
    let (rung, needs) = equipped(config, &most);
    (rung.word().to_owned(), needs)
}

async fn rules(ctx: &CollectContext<'_>, name: &RepoName) -> Result<crate::model::pull::Rules, String> {
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
    use serde_json::Value;

    use super::*;

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
        let wanted = ["a/shop", "b/shop", "https://shop/"].map(|text| parse(text).unwrap());
        let args = LookArgs {
            what: Vec::new(),
            days: 30,
            save: false,
            json: false,
            github_api: "https://api.github.com".parse().unwrap(),
            rdap: "https://rdap.org/".parse().unwrap(),
        };
        let text = config_text(&args, &wanted);
        let value: Value = serde_json::from_str(&text).unwrap();
        let slots: Vec<&String> = value["repos"].as_object().unwrap().keys().collect();
        assert_eq!(slots, ["shop", "shop-2", "shop-3"]);
        let home = Home::at(Path::new("/nonexistent"));
        assert!(from_text(&text, &home, &Environment::default()).is_ok(), "{text}");
    }
}
