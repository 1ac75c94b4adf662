//! Files that configure one tool, in the order in which the tool takes them. Where another file wins than before, what
//! the old winner said has to be said by the new one.

use std::collections::BTreeSet;

use super::{
    judge::{self, Judged},
    keys::{Trend, plain, trend},
    read::{Setting, format, read},
    recipes,
    tools::{TOOLS, Tool},
};
use crate::decide::guards::{
    Diff, Hit,
    answer::dir,
    path::normal,
    view::{File, Texts},
};

/// A place of a tool: the file, its table, and whether the file wins without it.
fn split(place: &'static str) -> (&'static str, &'static str, bool) {
    let (file, table) = place.split_once('@').unwrap_or((place, ""));
    match table.strip_prefix('!') {
        Some(rest) => (file, rest, true),
        None => (file, table, false),
    }
}

/// The folder that a place of this path would be in.
fn folder_of<'p>(path: &'p str, file: &str) -> Option<&'p str> {
    let rest = path.strip_suffix(file)?;
    (rest.is_empty() || rest.ends_with('/')).then(|| rest.trim_end_matches('/'))
}

/// The tools that changed files configure, each with the folder of the file.
pub(in crate::decide::guards) struct Rivals(Vec<(&'static Tool, String)>);

impl Rivals {
    pub(in crate::decide::guards) fn of(changed: &[String]) -> Self {
        let places = |path: &String| -> Vec<(&'static Tool, String)> {
            let own = TOOLS
                .iter()
                .filter_map(|tool| Some((tool, tool.folder(path)?.to_owned())));
            own.collect()
        };
        Self(changed.iter().flat_map(places).collect())
    }

    /// A file that configures one of them, in its folder or above it.
    pub(in crate::decide::guards) fn has(&self, path: &str) -> bool {
        self.0.iter().any(|(tool, folder)| {
            let own = tool.folder(path);
            own.is_some_and(|own| own == folder || tool.nested && is_above(own, folder))
        })
    }
}

impl Tool {
    /// The folder of a file that configures the tool.
    fn folder<'p>(&self, path: &'p str) -> Option<&'p str> {
        self.places.iter().find_map(|place| folder_of(path, split(place).0))
    }
}

fn is_above(own: &str, folder: &str) -> bool {
    own.is_empty() || folder.starts_with(&format!("{own}/"))
}

/// New settings of a folder in which nothing of the base stands: they hold for what is new.
pub(super) fn holds_for_nothing(diff: &Diff, path: &str) -> bool {
    let folder = TOOLS.iter().filter(|t| t.nested).find_map(|tool| tool.folder(path));
    folder.is_some_and(|folder| {
        let start = format!("{folder}/");
        !folder.is_empty() && !diff.around.paths.iter().any(|p| normal(p).starts_with(&start))
    })
}

/// A file that a tool takes its settings from, on one side.
struct Winner {
    path: String,
    settings: Vec<Setting>,
    text: String,
}

/// Findings, each with the index of the file that wins.
pub(super) fn check(diff: &Diff, files: &[File<'_>], texts: &Texts<'_>) -> Vec<(usize, Hit)> {
    let mut out = Vec::new();
    for tool in TOOLS {
        let mut folders = BTreeSet::new();
        for file in files.iter().filter(|f| f.old != f.new) {
            folders.extend(tool.folder(&file.normal).map(str::to_owned));
        }
        for folder in folders {
            let old = winner(tool, &folder, |path| texts.was(path));
            let old = old.or_else(|| inherited(diff, tool, &folder, texts));
            let new = winner(tool, &folder, |path| texts.is(path));
            let (Some(old), Some(new)) = (old, new) else { continue };
            let Some(at) = files.iter().position(|f| f.normal == new.path && f.old != f.new) else {
                continue;
            };
            if old.path != new.path {
                out.extend(compared(tool, &old, &new).into_iter().map(|hit| (at, hit)));
            }
        }
    }
    out
}

fn winner<'t>(tool: &Tool, folder: &str, text: impl Fn(&str) -> Option<&'t str>) -> Option<Winner> {
    tool.places.iter().find_map(|place| {
        let (file, table, always) = split(place);
        let path = if folder.is_empty() {
            file.to_owned()
        } else {
            format!("{folder}/{file}")
        };
        let text = text(&path)?;
        let all = settings(text, &path);
        let own = below(all.unwrap_or_default(), table);
        (always || !own.is_empty()).then(|| Winner {
            path,
            settings: own,
            text: text.to_owned(),
        })
    })
}

/// What held for the files of this folder from above.
fn inherited(diff: &Diff, tool: &Tool, folder: &str, texts: &Texts<'_>) -> Option<Winner> {
    let within = |p: &Vec<u8>| {
        let path = normal(p);
        path.starts_with(&format!("{folder}/")) && !tool.places.iter().any(|place| path.ends_with(split(place).0))
    };
    if !tool.nested || folder.is_empty() || !diff.around.paths.iter().any(within) {
        return None;
    }
    let mut up = folder;
    while !up.is_empty() {
        up = dir(up);
        if let Some(found) = winner(tool, up, |path| texts.was(path)) {
            return Some(found);
        }
    }
    None
}

fn settings(text: &str, path: &str) -> Option<Vec<Setting>> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = if name == "config" {
        "config.toml"
    } else {
        name.trim_end_matches(".dist")
    };
    let empty = |s: &Setting| s.value == "[]" && !s.is_element();
    let mut all = read(text, format(name)?)?;
    all.retain(|s| !empty(s));
    Some(all)
}

/// Settings of a table, with their path below it and with lists of one shape whatever the format is.
fn below(all: Vec<Setting>, table: &str) -> Vec<Setting> {
    let mut out = Vec::new();
    for setting in all {
        let path = match table.strip_suffix('*') {
            _ if table.is_empty() => setting.path.clone(),
            Some(start) => match setting.path.first().and_then(|first| first.strip_prefix(start)) {
                Some(rest) => [vec![rest.to_owned()], setting.path[1..].to_vec()].concat(),
                None => continue,
            },
            None => {
                // The name of a section may hold dots itself.
                let parts: Vec<&str> = table.split('.').collect();
                let whole = setting.path.first().is_some_and(|first| first == table);
                let through = setting.path.len() > parts.len() && setting.path.iter().zip(&parts).all(|(a, b)| a == b);
                match (whole, through) {
                    (true, _) => setting.path[1..].to_vec(),
                    (false, true) => setting.path[parts.len()..].to_vec(),
                    (false, false) => continue,
                }
            }
        };
        out.extend(in_elements(path, &setting));
    }
    out
}

fn in_elements(path: Vec<String>, setting: &Setting) -> Vec<Setting> {
    let path: Vec<String> = path
        .into_iter()
        .map(|key| if key.starts_with('[') { key } else { plain(&key) })
        .collect();
    let listed = matches!(trend(&path, &setting.value), Trend::TakenIn | Trend::LeftOut);
    if setting.is_element() || !listed {
        let one = Setting {
            path,
            ..setting.clone()
        };
        return vec![one];
    }
    let path = [path, vec!["[]".to_owned()]].concat();
    let parts = setting.value.split([' ', ',', '\t', '\n']).filter(|p| !p.is_empty());
    let part = |value: &str| Setting {
        path: path.clone(),
        value: value.to_owned(),
        line: setting.line,
    };
    parts.map(part).collect()
}

/// Keys by which a file takes over what another one says.
fn takes_over(settings: &[Setting]) -> bool {
    let named = |s: &Setting| {
        let key = s.path.iter().rev().find(|k| *k != "[]").map(|k| plain(k));
        matches!(
            key.as_deref(),
            Some("extend" | "extends" | "inheritfrom" | "includes" | "importproject")
        )
    };
    settings.iter().any(named)
}

fn compared(tool: &Tool, old: &Winner, new: &Winner) -> Vec<Hit> {
    let mut judged = Judged::default();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    if !recipes::compare(&name(&new.path), &old.text, &new.text, &mut judged) {
        let mut is = new.settings.clone();
        let imports = [
            "<Import ",
            "from \"./",
            "from \"../",
            "from './",
            "from '../",
            "require(\"./",
            "require(\"../",
        ]
        .iter()
        .any(|w| new.text.contains(w));
        let added = takes_over(&is) || imports;
        if added {
            let said: BTreeSet<Vec<String>> = is.iter().map(|s| s.path.clone()).collect();
            is.extend(old.settings.iter().filter(|s| !said.contains(&s.path)).cloned());
        }
        let place = judge::Place {
            name: &name(&new.path),
            strict: !added,
            stood: false,
        };
        judge::settings(&old.settings, &is, place, &mut judged);
    }
    for hit in &mut judged.hits {
        hit.why = format!("this file takes the place of {}: {}", old.path, hit.why);
        hit.verdict = hit.verdict.min(tool.worst);
    }
    judged.hits
}
