//! What the source side of a diff answers for: whether something that runs changed in what a test file tests, and which
//! names were renamed or went away.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Diff, TicketKind,
    inventory::{Answer, Names},
    path::normal,
    syntax::{Ast, Grammar, Id, Kind},
    view::{File, Trees},
};

/// A changed source file.
#[derive(Debug)]
struct Source {
    normal: String,
    called: Called,
    /// Something that runs is another.
    runs: bool,
    declared: bool,
}

pub(super) struct Answers {
    sources: Vec<Source>,
    around: Vec<Unchanged>,
    declared: BTreeSet<String>,
}

/// A file that the diff leaves as it is, with what it imports.
struct Unchanged {
    normal: String,
    called: Called,
    imports: Vec<Import>,
}

impl Answers {
    pub(super) fn of(diff: &Diff, files: &[File<'_>], trees: &Trees<'_>) -> Self {
        let asked = diff.ticket.kind == TicketKind::BehaviourChange;
        let declared: BTreeSet<String> = diff
            .ticket
            .declared
            .iter()
            .filter(|_| asked)
            .map(|p| normal(p.as_bytes()))
            .collect();
        let sources = files
            .iter()
            .enumerate()
            .filter(|(_, f)| f.is_source())
            .map(|(at, f)| Source {
                normal: f.normal.clone(),
                called: Called::of(&f.normal),
                runs: runs_differently(f, trees.old.get(&at), trees.new.get(&at)),
                declared: declared.contains(&f.normal),
            })
            .collect();
        let unchanged = |(path, bytes): (&Vec<u8>, &Vec<u8>)| {
            let normal = normal(path);
            let text = String::from_utf8_lossy(bytes);
            let imports = rough_imports(&text).iter().map(|i| Import::of(i, &normal)).collect();
            Unchanged {
                called: Called::of(&normal),
                normal,
                imports,
            }
        };
        Self {
            sources,
            around: diff.around.files.iter().map(unchanged).collect(),
            declared,
        }
    }

    /// For a test file with these imports.
    pub(super) fn to(&self, path: &str, imports: &[String]) -> Answer {
        let related: Vec<&Source> = self
            .sources
            .iter()
            .filter(|s| s.runs && self.is_related(path, imports, s))
            .collect();
        let asked = self.declared.contains(path);
        match related.as_slice() {
            [] => Answer::None,
            some if asked && some.iter().any(|s| s.declared) => Answer::Declared,
            _ => Answer::Changed,
        }
    }

    /// For data that tests compare with, which names no source: any change of what runs in its project.
    pub(super) fn to_data(&self, path: &str) -> Answer {
        let runs: Vec<&Source> = self.sources.iter().filter(|s| s.runs).collect();
        let asked = self.declared.contains(path);
        match runs.as_slice() {
            [] => Answer::None,
            some if asked && some.iter().any(|s| s.declared) => Answer::Declared,
            _ => Answer::Changed,
        }
    }

    fn is_related(&self, test: &str, imports: &[String], source: &Source) -> bool {
        let path = source.normal.as_str();
        if test == path || is_named_after(test, path) {
            return true;
        }
        match Grammar::of(test) {
            // One package is one piece.
            Some(Grammar::Go) => dir(test) == dir(path) || imports.iter().any(|i| ends_with_dir(i, dir(path))),
            Some(Grammar::Rust) => {
                crate_of(test) == crate_of(path) || imports.iter().any(|i| i.contains(&*crate_name(path)))
            }
            _ => {
                let imports: Vec<Import> = imports.iter().map(|i| Import::of(i, test)).collect();
                self.reaches(test, &imports, &source.called, 3)
            }
        }
    }

    /// Through imports, also of files that did not change.
    fn reaches(&self, from: &str, imports: &[Import], source: &Called, depth: usize) -> bool {
        let names = |file: &Called| imports.iter().any(|i| i.names(file));
        names(source)
            || depth > 0
                && self.around.iter().any(|file| {
                    names(&file.called)
                        && file.normal != from
                        && self.reaches(&file.normal, &file.imports, source, depth - 1)
                })
    }
}

/// What imports call a file: worked out once, since every import is held against every file.
#[derive(Debug)]
struct Called {
    by_place: String,
    by_word: String,
}

impl Called {
    fn of(path: &str) -> Self {
        Self {
            by_place: path_meant(path).to_owned(),
            by_word: stem(path).to_owned(),
        }
    }
}

/// Import lines of a text that is not worth a tree.
pub(super) fn rough_imports(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in text.lines().take(400) {
        let line = line.trim();
        let import = ["import ", "from ", "export ", "require", "use ", "const ", "} from "]
            .iter()
            .any(|w| line.starts_with(w));
        if !import {
            continue;
        }
        let quoted = line.split(['"', '\'']).nth(1).filter(|_| line.contains(['"', '\'']));
        out.push(quoted.unwrap_or(line).to_owned());
    }
    out
}

/// What an import of a file may mean.
#[derive(Debug)]
enum Import {
    Place([String; 2]),
    /// A module path in dots, slashes or colons; one of its words is the file's.
    Words(Vec<String>),
}

impl Import {
    fn of(import: &str, from: &str) -> Self {
        let words = import
            .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
            .filter(|w| !w.is_empty());
        paths_of(import, from).map_or_else(|| Self::Words(words.map(str::to_lowercase).collect()), Self::Place)
    }

    fn names(&self, file: &Called) -> bool {
        match self {
            Self::Place(paths) => paths.contains(&file.by_place),
            Self::Words(words) => words.contains(&file.by_word),
        }
    }
}

/// Of an import by its place: the paths that it may mean, as [`path_meant`] writes them.
pub(super) fn paths_of(import: &str, from: &str) -> Option<[String; 2]> {
    let by_place = import.starts_with('.') && import.contains('/');
    by_place.then(|| {
        let joined = normal(format!("{}/{import}", dir(from)).as_bytes());
        let bare = |p: &str| p.trim_end_matches("/index").to_owned();
        [bare(&joined), bare(strip_extension(&joined))]
    })
}

/// A source file as an import by its place writes it.
pub(super) fn path_meant(source: &str) -> &str {
    strip_extension(source).trim_end_matches("/index")
}

/// `price.test.ts`, `test_price.py`, `PriceTest.java`, `price_spec.rb` stand for `price`.
pub(super) fn is_named_after(test: &str, source: &str) -> bool {
    tested_by(test) == stem(source)
}

/// What a test stands for by its name.
pub(super) fn tested_by(test: &str) -> &str {
    let name = test.rsplit('/').next().unwrap_or_default();
    let first = name.split('.').next().unwrap_or_default();
    let bare = first.trim_start_matches("test_");
    let bare = ["_test", "_tests", "_spec", "-test", "-spec", "test", "tests", "spec"]
        .iter()
        .find_map(|s| bare.strip_suffix(s).filter(|b| !b.is_empty()))
        .unwrap_or(bare);
    bare.trim_end_matches(['_', '-'])
}

pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or(name);
    if matches!(stem, "index" | "__init__" | "mod" | "main" | "lib") {
        dir(path).rsplit('/').next().unwrap_or(stem)
    } else {
        stem
    }
}

fn strip_extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rfind('.')
        .filter(|at| *at > 0)
        .map_or(path, |at| &path[..path.len() - name.len() + at])
}

pub(super) fn dir(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(d, _)| d)
}

fn ends_with_dir(import: &str, dir: &str) -> bool {
    !dir.is_empty() && (import.to_lowercase().ends_with(dir) || import.to_lowercase().ends_with(&format!("/{dir}")))
}

/// The folder that holds `src` or `tests`.
fn crate_of(path: &str) -> &str {
    let ends = ["/src/", "/tests/", "/benches/", "/examples/"];
    let at = ends.iter().filter_map(|e| path.find(e)).min();
    let top = ["src/", "tests/"].iter().any(|e| path.starts_with(e));
    match at {
        Some(at) if !top => &path[..at],
        _ => "",
    }
}

fn crate_name(path: &str) -> String {
    crate_of(path).rsplit('/').next().unwrap_or_default().replace('-', "_")
}

/// Comments, texts that document, imports and formatting aside: another program.
fn runs_differently(file: &File<'_>, old: Option<&Ast<'_>>, new: Option<&Ast<'_>>) -> bool {
    if let (Some(old), Some(new)) = (old, new) {
        return program(old) != program(new);
    }
    let bytes = |side: &Option<super::Side>| side.as_ref().map(|s| s.bytes.clone());
    let (Some(a), Some(b)) = (file.old, file.new) else {
        return bytes(&file.change.old) != bytes(&file.change.new);
    };
    if file.grammar.is_some() {
        return a != b;
    }
    let lines = |text: &str| -> Vec<String> {
        let marks = ["//", "#", "--", "/*", "*", "<!--", ";"];
        let kept = text.lines().map(str::trim).filter(|l| !l.is_empty());
        kept.filter(|l| !marks.iter().any(|m| l.starts_with(m)))
            .map(str::to_owned)
            .collect()
    };
    lines(a) != lines(b)
}

/// The tokens of what runs: no imports, no texts that stand alone, no tests beside the source.
fn program(ast: &Ast<'_>) -> Vec<String> {
    let mut out = Vec::new();
    statements(ast, Ast::ROOT, &mut out);
    out
}

fn statements(ast: &Ast<'_>, id: Id, out: &mut Vec<String>) {
    for kid in ast.kids(id) {
        match ast.kind(*kid) {
            Kind::Import | Kind::Text | Kind::Mark => {}
            Kind::Class | Kind::Function if is_test(ast, *kid) => {}
            Kind::Class => {
                out.push(format!("class {}", ast.word(*kid)));
                if let Some(body) = ast.body(*kid) {
                    statements(ast, body, out);
                }
            }
            Kind::Block => statements(ast, *kid, out),
            _ => out.push(without_prose(ast, *kid)),
        }
    }
}

/// A text that stands as the first statement of a body documents it.
fn without_prose(ast: &Ast<'_>, id: Id) -> String {
    let flat = ast.flat(id);
    let prose = ast
        .body(id)
        .filter(|b| ast.kind(*b) == Kind::Block)
        .and_then(|b| ast.kids(b).first().copied())
        .filter(|t| ast.kind(*t) == Kind::Text);
    match prose {
        Some(text) => flat.replacen(&ast.flat(text), "", 1),
        None => flat,
    }
}

pub(super) fn is_test(ast: &Ast<'_>, id: Id) -> bool {
    ast.grammar == Grammar::Rust
        && ast.kids_of(id, Kind::Mark).any(|m| {
            let flat = ast.flat(m);
            flat.split(' ').any(|w| w == "test") && !flat.contains("not (")
        })
}

/// Definitions of the source that got another name, or none.
pub(super) fn renames(files: &[File<'_>], trees: &Trees<'_>) -> Names {
    let mut old = BTreeMap::new();
    let mut new = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        if !file.is_source() {
            continue;
        }
        if let Some(ast) = trees.old.get(&at) {
            definitions(ast, &mut old);
        }
        if let Some(ast) = trees.new.get(&at) {
            definitions(ast, &mut new);
        }
    }
    let mut names = Names::default();
    let fresh: Vec<(&String, &String)> = new.iter().filter(|(n, _)| !old.contains_key(*n)).collect();
    for (name, body) in old.iter().filter(|(n, _)| !new.contains_key(*n)) {
        match fresh.iter().find(|(_, other)| *other == body) {
            Some((other, _)) => {
                names.renamed.insert(name.clone(), (*other).clone());
            }
            None => {
                names.gone.insert(name.clone());
            }
        }
    }
    names.files = renamed_files(files);
    names
}

/// Files that keep their content under another name. One name that two of them had, or get, says nothing.
fn renamed_files(files: &[File<'_>]) -> BTreeMap<String, String> {
    let name = |file: &File<'_>| {
        let path = String::from_utf8_lossy(&file.change.path).into_owned();
        path.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let come: Vec<&File<'_>> = files.iter().filter(|f| f.change.old.is_none()).collect();
    let mut out: BTreeMap<String, String> = BTreeMap::new();
    let mut unclear = BTreeSet::new();
    for file in files.iter().filter(|f| f.change.new.is_none()) {
        let was = file.change.old.as_ref().map(|s| &s.bytes);
        let mut same = come.iter().filter(|c| c.change.new.as_ref().map(|s| &s.bytes) == was);
        if let (Some(other), None) = (same.next(), same.next())
            && out
                .insert(name(file), name(other))
                .is_some_and(|before| before != name(other))
        {
            unclear.insert(name(file));
        }
    }
    out.retain(|old, new| old != new && !unclear.contains(old));
    out
}

/// Names with their bodies, in which the name itself is a blank.
fn definitions(ast: &Ast<'_>, out: &mut BTreeMap<String, String>) {
    for id in ast.walk(Ast::ROOT) {
        if !matches!(ast.kind(id), Kind::Function | Kind::Class) || ast.word(id).is_empty() {
            continue;
        }
        if is_test(ast, id) || ast.above(id).any(|up| is_test(ast, up)) {
            continue;
        }
        let name = ast.word(id);
        let body: Vec<String> = ast
            .flat(id)
            .split(' ')
            .map(|w| if w == name { "_".to_owned() } else { w.to_owned() })
            .collect();
        out.insert(name.to_owned(), body.join(" "));
    }
}
