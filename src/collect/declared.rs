//! Declared collectors: a request file and a jq program that turns the raw answer into signals. Two files, no compiler.
//! The program's results are checked field by field; what does not fit the shape is a failure of the collector.

use std::{borrow::Cow, collections::BTreeSet, fs, io, path::Path};

use chrono::{DateTime, Utc};

use super::{
    context::{Blind, Piece, Place, Session},
    declared_fetch::List,
    declared_spec::{Asked, Spec},
    memory::is_due,
    report::{Reading, Report},
};
use crate::{
    config::{DeclaredUse, read_plain},
    model::signal::OutcomeKind,
    text::{jq::Program, nearest},
};

/// A collector that is compiled in.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    pub name: &'static str,
    pub request: &'static str,
    pub program: &'static str,
}

const SHIPPED: [Shipped; 4] = [
    Shipped {
        name: "alertmanager",
        request: include_str!("../../collectors/alertmanager.json"),
        program: include_str!("../../collectors/alertmanager.jq"),
    },
    Shipped {
        name: "exceptions",
        request: include_str!("../../collectors/exceptions.json"),
        program: include_str!("../../collectors/exceptions.jq"),
    },
    Shipped {
        name: "sentry",
        request: include_str!("../../collectors/sentry.json"),
        program: include_str!("../../collectors/sentry.jq"),
    },
    Shipped {
        name: "statuspage",
        request: include_str!("../../collectors/statuspage.json"),
        program: include_str!("../../collectors/statuspage.jq"),
    },
];

/// The collectors in the binary.
pub fn shipped() -> &'static [Shipped] {
    &SHIPPED
}

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>, used: &DeclaredUse) -> Piece {
    let facts = session.ctx.sources.get(&place.key());
    let last = facts.and_then(|facts| facts.last_ok_at);
    if !is_due(used.every, last, session.ctx.now) {
        return place.piece(OutcomeKind::Skipped);
    }
    let cursor = facts.and_then(|facts| facts.cursor.as_deref());
    let since = cursor.and_then(|cursor| cursor.parse().ok()).or(last);
    match look(session, &place, used, since).await {
        Ok(piece) => piece,
        Err(blind) => place.failed(&blind.cause, &session.line(&blind.detail, 400)),
    }
}

/// Something in which a collector does not fit: a sentence, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    pub what: String,
    pub example: String,
}

/// Every way in which the two files of a collector do not fit each other and what the config gives them.
pub fn check(collectors: &Path, used: &DeclaredUse, now: DateTime<Utc>) -> Vec<Misfit> {
    let name = &used.collector;
    let misfit = |what: String, example: &str| Misfit {
        what,
        example: example.to_owned(),
    };
    let files = match Files::find(collectors, name) {
        Ok(files) => files,
        Err(blind) => {
            let example = format!("collectors/{name}.json and collectors/{name}.jq, each readable and below 64 KiB");
            return vec![misfit(blind.detail, &example)];
        }
    };
    let asked = Asked {
        used,
        since: now,
        until: now,
        deep: false,
    };
    let request = match Spec::parse(&files.request) {
        Ok(spec) => spec.prepare(&asked).err().map(|why| misfit(why, ADDRESS)),
        Err(why) => Some(misfit(format!("collectors/{name}.json: {why}"), REQUEST)),
    };
    let program = Program::compile(&files.program).err();
    let program = program.map(|fault| misfit(format!("collectors/{name}.jq: {fault}"), PROGRAM));
    let unused = unused(&files, used).err();
    request.into_iter().chain(program).chain(unused).collect()
}

const ADDRESS: &str = r#""values": {"url": "https://errors.acme.example"}"#;
const REQUEST: &str = r#"{"request": {"url": "{url}/api/errors"}, "kind": "error", "severity": "error"}"#;
const PROGRAM: &str = "{signals: [.[] | {title: .title, message: .message}]}";

/// A value that neither file asks for was meant for another name.
fn unused(files: &Files, used: &DeclaredUse) -> Result<(), Misfit> {
    let (request, program) = (files.request.as_ref(), files.program.as_ref());
    let mut known: BTreeSet<&str> = names(request, "{").collect();
    // Names with a default, and those that the program reads.
    known.extend(names(request, "\"").filter(|name| request.contains(&format!("\"{name}\":"))));
    known.extend(names(program, "values."));
    if program.contains("values[") || program.contains("values |") {
        return Ok(());
    }
    let Some(odd) = used.values.keys().find(|name| !known.contains(name.as_str())) else {
        return Ok(());
    };
    let known: Vec<&str> = names(request, "{").chain(names(program, "values.")).collect();
    let near = nearest(odd, &known);
    let example = near.or_else(|| known.first().copied());
    Err(Misfit {
        what: format!("value {odd:?} is asked for by neither file of the collector"),
        example: example.map_or_else(|| "no value of that name".to_owned(), |name| format!("{name:?}")),
    })
}

/// The names that stand behind a mark.
fn names<'t>(text: &'t str, mark: &'t str) -> impl Iterator<Item = &'t str> {
    let name = |rest: &'t str| {
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        &rest[..end]
    };
    text.split(mark).skip(1).map(name).filter(|name| !name.is_empty())
}

async fn look(
    session: &Session<'_>,
    place: &Place<'_>,
    used: &DeclaredUse,
    since: Option<DateTime<Utc>>,
) -> Result<Piece, Blind> {
    let files = Files::find(&session.ctx.config.home.collectors, &used.collector)?;
    let config = |why: String| Blind::new("collector-config", format!("collector {}: {why}", used.collector));
    let spec = Spec::parse(&files.request).map_err(config)?;
    let until = session.ctx.clock.now() - spec.settle();
    let asked = Asked {
        used,
        since: since.unwrap_or(session.ctx.now - spec.first_look()),
        until,
        deep: session.ctx.deep,
    };
    if spec.windowed && asked.since >= until {
        return Ok(place.piece(OutcomeKind::Skipped));
    }
    let list = List {
        session,
        spec: &spec,
        asked,
        prepared: spec.prepare(&asked).map_err(config)?,
    };
    let judge = async |body: Vec<u8>| files.report(session, &used.collector, &body).await;
    let body = spec.with_values(list.read().await?, used);
    let (reports, missed) = match &spec.detail {
        None => (vec![judge(body).await?], Vec::new()),
        Some(detail) => list.each(&body, detail, judge).await?,
    };
    let mut piece = place.piece(OutcomeKind::Ok);
    let reading = Reading {
        session,
        place,
        kind: spec.kind,
        severity: spec.severity,
        window: spec.windowed.then_some((asked.since, until)),
    };
    reading.fill(&mut piece, reports, &missed, 0);
    if piece.outcome.outcome != OutcomeKind::Failed {
        piece.cursor = Some(until.to_rfc3339());
    }
    Ok(piece)
}

/// The two files of a collector: from the home where they stand, else from the binary.
struct Files {
    request: Cow<'static, str>,
    program: Cow<'static, str>,
    /// Known text may run in this process.
    program_shipped: bool,
}

impl Files {
    fn find(dir: &Path, name: &str) -> Result<Self, Blind> {
        let fits = !name.is_empty()
            && name.len() <= 40
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if !fits {
            return Err(Blind::new(
                "collector-config",
                format!("{name:?} is not the name of a collector"),
            ));
        }
        let known = SHIPPED.iter().find(|shipped| shipped.name == name);
        let pick = |end: &str, text: Option<&'static str>| match read(&dir.join(format!("{name}.{end}"))) {
            Ok(own) => Ok(Cow::Owned(own)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => text.map(Cow::Borrowed).ok_or_else(|| {
                let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
                let why = format!(
                    "collectors/{name}.{end} does not exist; shipped are {}",
                    names.join(", ")
                );
                Blind::new("collector-config", why)
            }),
            Err(error) => Err(Blind::new(
                "collector-config",
                format!("collectors/{name}.{end} cannot be read: {error}"),
            )),
        };
        let request = pick("json", known.map(|k| k.request))?;
        let program = pick("jq", known.map(|k| k.program))?;
        Ok(Self {
            program_shipped: known.is_some_and(|k| k.program == program),
            request,
            program,
        })
    }

    /// What the program makes of an answer.
    async fn report(&self, session: &Session<'_>, name: &str, body: &[u8]) -> Result<Report, Blind> {
        let results = session
            .jq(&self.program, self.program_shipped, body)
            .await
            .map_err(|why| Blind::new("jq", format!("{name}.jq: {why}")))?;
        let why = |why: String| Blind::new("shape", format!("{name}.jq: {why}"));
        let n = results.len();
        match <[_; 1]>::try_from(results) {
            Ok([result]) => Report::read(result).map_err(why),
            Err(_) => Err(why(format!("the program must give one result and gives {n}"))),
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > 64 * 1024 {
        return Err(io::Error::other("it is larger than 64 KiB"));
    }
    read_plain(path)
}

#[cfg(test)]
#[path = "declared_tests.rs"]
mod tests;
