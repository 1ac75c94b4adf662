//! Configuration of any format as a list of settings: a path of keys, and a value.

use quick_xml::{Reader, events::Event};
use saphyr::{LoadableYamlNode as _, MarkedYaml, ScalarOwned, YamlData};
use toml::de::{DeTable, DeValue};

use crate::decide::guards::{
    kind::extension,
    lines::number,
    syntax::{Ast, Grammar, Id, Kind, literal, parse},
};

/// Nested deeper a configuration is not read.
const DEEPEST: usize = 60;
const MOST: usize = 20_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::decide::guards) struct Setting {
    /// Keys from the outside in. Elements of a list stand below `[]`, or below what names them.
    pub(in crate::decide::guards) path: Vec<String>,
    pub(in crate::decide::guards) value: String,
    pub(in crate::decide::guards) line: u32,
}

impl Setting {
    pub(super) fn is_element(&self) -> bool {
        self.path.last().is_some_and(|p| p == "[]")
    }

    pub(in crate::decide::guards) fn shown(&self) -> String {
        format!("{} = {}", self.path.join("."), self.value)
    }
}

/// How a file's text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Yaml,
    Toml,
    Ini,
    Xml,
    /// Gradle's older language.
    Groovy,
    /// Elixir's and Scala's build files.
    Keyed,
    Code(Grammar),
}

pub(super) fn format(name: &str) -> Option<Format> {
    Some(match extension(name) {
        "json" | "jsonc" | "json5" | "eslintrc" | "babelrc" | "nycrc" | "mocharc" | "lintstagedrc" | "swcrc" => {
            Format::Json
        }
        "yml" | "yaml" | "clang-tidy" | "neon" => Format::Yaml,
        "toml" => Format::Toml,
        "ini" | "cfg" | "shellcheckrc" | "properties" | "flake8" | "coveragerc" | "pylintrc" | "editorconfig"
        | "conf" | "npmrc" => Format::Ini,
        "gradle" => Format::Groovy,
        "exs" | "sbt" => Format::Keyed,
        "xml" | "csproj" | "props" | "targets" | "dist" | "runsettings" => Format::Xml,
        _ => match Grammar::of(name) {
            Some(grammar) => Format::Code(grammar),
            None if matches!(name, "pipfile" | "pylintrc") => {
                if name == "pipfile" {
                    Format::Toml
                } else {
                    Format::Ini
                }
            }
            None => return None,
        },
    })
}

/// All settings of a text; none when it is not of the format.
pub(super) fn read(text: &str, format: Format) -> Option<Vec<Setting>> {
    let mut out = Out {
        settings: Vec::new(),
        path: Vec::new(),
    };
    match format {
        Format::Json => {
            let wrapped = format!("({text}\n)");
            let ast = parse(&wrapped, Grammar::Tsx).filter(|a| !a.broken)?;
            out.code(&ast, ast.kids(Ast::ROOT).first().copied()?);
        }
        Format::Code(grammar) => {
            let ast = parse(text, grammar).filter(|a| !a.broken)?;
            out.program(&ast, Ast::ROOT, 0);
        }
        Format::Yaml => {
            let docs = MarkedYaml::load_from_str(text).ok()?;
            for doc in &docs {
                out.yaml(doc);
            }
        }
        Format::Toml => {
            let table = DeTable::parse(text).ok()?;
            out.table(table.get_ref(), text);
        }
        Format::Groovy => out.groovy(text),
        Format::Keyed => out.keyed(text),
        Format::Ini => out.ini(text),
        Format::Xml => out.xml(text)?,
    }
    Some(out.settings)
}

pub(super) struct Out {
    settings: Vec<Setting>,
    pub(super) path: Vec<String>,
}

impl Out {
    pub(super) fn put(&mut self, value: impl Into<String>, line: u32) {
        if self.settings.len() < MOST {
            self.settings.push(Setting {
                path: self.path.clone(),
                value: value.into(),
                line,
            });
        }
    }

    pub(super) fn below(&mut self, key: impl Into<String>, go: impl FnOnce(&mut Self)) {
        if self.path.len() < DEEPEST {
            self.path.push(key.into());
            go(self);
            self.path.pop();
        }
    }

    /// Object literals of a program, below the keys around them.
    fn program(&mut self, ast: &Ast<'_>, id: Id, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        match ast.kind(id) {
            Kind::Map => self.code(ast, id),
            Kind::List if depth > 0 => self.code(ast, id),
            // `minimum_coverage 90`, `config.retries = 3`
            Kind::Call => {
                if ast.grammar == Grammar::Kotlin && ast.path(id) == "plugins" {
                    self.plugins(ast, id);
                }
                let links = ast.chain(id);
                // `allWarningsAsErrors.set(true)`
                let named = match links.as_slice() {
                    [.., property, set] if set.name == "set" && property.args.is_none() => property.name,
                    _ => links.last().map_or("", |l| l.name),
                };
                let name = named.to_owned();
                if ast.grammar == Grammar::Python && name == "run" {
                    self.session(ast, id);
                }
                let args = links.last().and_then(|l| l.args.clone()).unwrap_or_default();
                for arg in args {
                    match ast.kind(arg) {
                        Kind::Text if ast.grammar == Grammar::Python && name == "run" => {}
                        Kind::Number | Kind::Text | Kind::Constant => {
                            self.below(name.clone(), |s| s.put(scalar(ast, arg), ast.line(arg)));
                        }
                        Kind::Pair => self.below(name.clone(), |s| s.pair(ast, arg)),
                        // `dependsOn(tasks.lint)`
                        Kind::Name | Kind::Member if ast.grammar == Grammar::Kotlin => {
                            self.below(name.clone(), |s| s.below("[]", |s| s.put(ast.flat(arg), ast.line(arg))));
                        }
                        _ => self.program(ast, arg, depth + 1),
                    }
                }
                if let Some(callee) = ast.kids(id).first() {
                    self.program(ast, *callee, depth + 1);
                }
            }
            Kind::Assign if ast.kids(id).len() > 1 => {
                let (target, value) = (ast.kids(id)[0], ast.kids(id)[1]);
                let name = ast.path(target);
                let name = name.rsplit('.').next().unwrap_or_default().to_owned();
                if matches!(ast.kind(value), Kind::Call | Kind::Lambda) {
                    // `minimum = "0.75".toBigDecimal()`
                    let literal = ast
                        .kids(value)
                        .first()
                        .and_then(|c| ast.walk(*c).find(|n| matches!(ast.kind(*n), Kind::Number | Kind::Text)));
                    if let Some(literal) = literal {
                        self.below(name, |s| s.put(scalar(ast, literal), ast.line(literal)));
                    }
                    self.program(ast, value, depth + 1);
                } else {
                    self.below(name, |s| s.code(ast, value));
                }
            }
            _ => {
                for kid in ast.kids(id).to_vec() {
                    self.program(ast, kid, depth + 1);
                }
            }
        }
    }

    /// `session.run("pytest", "-q")` is one command.
    fn session(&mut self, ast: &Ast<'_>, id: Id) {
        let texts = ast.kids(id).iter().skip(1).filter(|a| ast.kind(**a) == Kind::Text);
        let quoted = |word: String| if word.contains(' ') { format!("'{word}'") } else { word };
        let words: Vec<String> = texts.map(|a| quoted(scalar(ast, *a))).collect();
        if !words.is_empty() {
            self.below("run", |s| s.put(words.join(" "), ast.line(id)));
        }
    }

    /// `plugins { java; checkstyle }`
    fn plugins(&mut self, ast: &Ast<'_>, id: Id) {
        let names = ast.walk(id).filter(|n| {
            let alone = ast.above(*n).next().is_some_and(|up| ast.kind(up) == Kind::Block);
            ast.kind(*n) == Kind::Name && alone
        });
        for name in names {
            self.below("plugins", |s| {
                s.below("[]", |s| s.put(ast.word(name), ast.line(name)));
            });
        }
    }

    fn code(&mut self, ast: &Ast<'_>, id: Id) {
        match ast.kind(id) {
            Kind::Map => {
                for kid in ast.kids(id).to_vec() {
                    match ast.kind(kid) {
                        Kind::Pair => self.pair(ast, kid),
                        Kind::Spread => self.below("...", |s| s.put(ast.flat(kid), ast.line(kid))),
                        _ => self.put(ast.flat(kid), ast.line(kid)),
                    }
                }
            }
            Kind::List if ast.kids(id).is_empty() => self.put("[]", ast.line(id)),
            Kind::List => {
                for kid in ast.kids(id).to_vec() {
                    let label = element(ast, kid);
                    self.below(label, |s| s.code(ast, kid));
                }
            }
            Kind::Text | Kind::Number | Kind::Constant => self.put(scalar(ast, id), ast.line(id)),
            _ => self.put(ast.flat(id), ast.line(id)),
        }
    }

    fn pair(&mut self, ast: &Ast<'_>, id: Id) {
        let key = literal::inner(ast.word(id)).to_owned();
        let value = ast.body(id).filter(|_| ast.kids(id).len() > 1);
        self.below(key, |s| match value {
            Some(value) => s.code(ast, value),
            None => s.put("", ast.line(id)),
        });
    }

    fn yaml(&mut self, node: &MarkedYaml<'_>) {
        let line = u32::try_from(node.span.start.line()).unwrap_or(1);
        match &node.data {
            YamlData::Mapping(map) => {
                for (key, value) in map {
                    let key = plain(&key.data);
                    self.below(key, |s| s.yaml(value));
                }
            }
            YamlData::Sequence(list) if list.is_empty() => self.put("[]", line.max(1)),
            YamlData::Sequence(list) => {
                for item in list {
                    self.below(name_of(item), |s| s.yaml(item));
                }
            }
            YamlData::Tagged(_, inner) => self.yaml(inner),
            other => self.put(plain(other), line.max(1)),
        }
    }

    fn table(&mut self, table: &DeTable<'_>, text: &str) {
        for (key, value) in table {
            let line = line_at(text, key.span().start);
            self.below(key.get_ref().to_string(), |s| s.toml(value.get_ref(), line, text));
        }
    }

    fn toml(&mut self, value: &DeValue<'_>, line: u32, text: &str) {
        match value {
            DeValue::Table(table) => self.table(table, text),
            DeValue::Array(list) if list.is_empty() => self.put("[]", line),
            DeValue::Array(list) => {
                for item in list {
                    let line = line_at(text, item.span().start);
                    self.below("[]", |s| s.toml(item.get_ref(), line, text));
                }
            }
            DeValue::String(value) => self.put(value.to_string(), line),
            DeValue::Integer(value) => self.put(value.as_str(), line),
            DeValue::Float(value) => self.put(value.as_str(), line),
            DeValue::Boolean(value) => self.put(value.to_string(), line),
            DeValue::Datetime(value) => self.put(value.to_string(), line),
        }
    }

    /// Sections, keys, and values that go on in indented lines.
    fn ini(&mut self, text: &str) {
        let mut section = String::new();
        let mut key = String::new();
        for (at, raw) in text.lines().enumerate() {
            let line = raw.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                name.clone_into(&mut section);
                key.clear();
                continue;
            }
            let indented = raw.starts_with([' ', '\t']);
            self.path = vec![section.clone()];
            if let Some((name, value)) = line.split_once(['=', ':']).filter(|_| !indented || key.is_empty()) {
                name.trim().clone_into(&mut key);
                self.set_env(&key, value, number(at));
                for part in value.split('\n').map(str::trim).filter(|p| !p.is_empty()) {
                    self.below(key.clone(), |s| s.put(part, number(at)));
                }
            } else {
                self.set_env(&key, line, number(at));
                self.below(key.clone(), |s| s.below("[]", |s| s.put(line, number(at))));
            }
        }
        self.path.clear();
    }

    /// `setenv = PYTEST_ADDOPTS=-k fast`
    fn set_env(&mut self, key: &str, line: &str, at: u32) {
        if !matches!(key, "setenv" | "set_env") {
            return;
        }
        if let Some((name, value)) = line.split_once('=') {
            self.below(name.trim(), |s| s.put(value.trim(), at));
        }
    }

    fn xml(&mut self, text: &str) -> Option<()> {
        let mut reader = Reader::from_str(text);
        let mut named: Vec<String> = Vec::new();
        loop {
            let at = usize::try_from(reader.buffer_position()).unwrap_or(0);
            let line = line_at(text, at);
            match reader.read_event().ok()? {
                Event::Start(tag) => {
                    named.push(element_name(&tag));
                    self.path.clone_from(&named);
                    self.attributes(&tag, line);
                }
                Event::Empty(tag) => {
                    named.push(element_name(&tag));
                    self.path.clone_from(&named);
                    // `<property name="…" value="…"/>` is one setting.
                    let value = attribute(&tag, "value").filter(|_| attribute(&tag, "name").is_some());
                    if value.is_none() {
                        self.attributes(&tag, line);
                    }
                    self.put(value.unwrap_or_default(), line);
                    named.pop();
                }
                Event::Text(value) => {
                    let value = value.trim().to_owned();
                    if !value.is_empty() {
                        self.path.clone_from(&named);
                        self.put(value, line);
                    }
                }
                Event::End(_) => {
                    named.pop();
                }
                Event::Eof => break,
                _ => {}
            }
            (named.len() <= DEEPEST).then_some(())?;
        }
        self.path.clear();
        Some(())
    }

    fn attributes(&mut self, tag: &quick_xml::events::BytesStart<'_>, line: u32) {
        for attribute in tag.attributes().flatten() {
            let key = format!("@{}", attribute.key.as_ref());
            let value = attribute.value.into_owned();
            self.below(key, |s| s.put(value, line));
        }
    }
}

fn attribute(tag: &quick_xml::events::BytesStart<'_>, key: &str) -> Option<String> {
    let found = tag.attributes().flatten().find(|a| a.key.as_ref() == key)?;
    Some(found.value.into_owned())
}

/// The checks and properties of checkers are known by the names in their attributes.
fn element_name(tag: &quick_xml::events::BytesStart<'_>) -> String {
    let name = tag.name().as_ref().to_owned();
    let by = |keys: &[&str]| keys.iter().find_map(|k| attribute(tag, k));
    match name.as_str() {
        "module" => by(&["name"]).map(|n| format!("module:{n}")).unwrap_or(name),
        "rule" => by(&["ref", "key", "name"]).map(|n| format!("rule:{n}")).unwrap_or(name),
        "property" => by(&["name"])
            .filter(|_| attribute(tag, "value").is_some())
            .unwrap_or(name),
        _ => name,
    }
}

fn line_at(text: &str, at: usize) -> u32 {
    let before = &text.as_bytes()[..at.min(text.len())];
    number(before.split(|b| *b == b'\n').count() - 1)
}

fn scalar(ast: &Ast<'_>, id: Id) -> String {
    match ast.kind(id) {
        Kind::Text => literal::inner(ast.source(id)).to_owned(),
        Kind::Number => literal::number(ast.source(id)),
        _ => ast.source(id).to_owned(),
    }
}

/// What an element of a list is known by.
fn element(ast: &Ast<'_>, id: Id) -> String {
    if ast.kind(id) != Kind::Map {
        return "[]".to_owned();
    }
    let names = ["name", "id", "files", "test", "repo"];
    let named = ast
        .kids_of(id, Kind::Pair)
        .find(|p| names.contains(&literal::inner(ast.word(*p))));
    named.map_or_else(
        || "[]".to_owned(),
        |p| format!("[{}]", ast.body(p).map(|b| ast.flat(b)).unwrap_or_default()),
    )
}

fn name_of(node: &MarkedYaml<'_>) -> String {
    let YamlData::Mapping(map) = &node.data else {
        return "[]".to_owned();
    };
    for name in ["id", "name", "repo", "uses", "run", "script", "task", "key"] {
        let found = map.iter().find(|(k, _)| plain(&k.data) == name);
        if let Some((_, value)) = found {
            let value = plain(&value.data);
            let first = value.lines().next().unwrap_or_default();
            // A version is no other thing.
            let bare = first.split('@').next().unwrap_or(first);
            return format!("[{name} {bare}]");
        }
    }
    let only = map.iter().next().map(|(k, _)| plain(&k.data)).unwrap_or_default();
    format!("[{only}]")
}

fn plain<'i>(data: &YamlData<'i, MarkedYaml<'i>>) -> String {
    match data {
        YamlData::Representation(text, _, _) => text.to_string(),
        YamlData::Value(value) => match value.clone().into_owned() {
            ScalarOwned::Null => "null".to_owned(),
            ScalarOwned::Boolean(b) => b.to_string(),
            ScalarOwned::Integer(i) => i.to_string(),
            ScalarOwned::FloatingPoint(f) => f.to_string(),
            ScalarOwned::String(s) => s,
        },
        YamlData::Tagged(_, inner) => plain(&inner.data),
        _ => String::new(),
    }
}
