//! Rules `dependency-change` and `dependency-tamper`: what is installed, from where, and what runs while it is.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Hit, Kind,
    answer::dir,
    lines::number,
    listed::words,
    settings::{Setting, read_settings},
    view::File,
};
use crate::model::evidence::GuardVerdict;

const CHANGE: &str = "dependency-change";
const TAMPER: &str = "dependency-tamper";

fn change(why: &str) -> Hit {
    Hit::new(CHANGE, GuardVerdict::NeedsHuman, why.to_owned())
}

fn tamper(why: &str) -> Hit {
    Hit::new(TAMPER, GuardVerdict::Reject, why.to_owned())
}

/// Findings, each with the index of its file.
pub(super) fn check(files: &[File<'_>]) -> Vec<(usize, Hit)> {
    let mut out = Vec::new();
    let mut manifests = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let hits = manifest(file);
        if hits.iter().any(|h| h.rule == CHANGE) {
            manifests.push(dir(&file.normal).to_owned());
        }
        out.extend(
            hits.into_iter()
                .chain(sources(file))
                .chain(wrapper(file))
                .chain(patched(file))
                .map(|hit| (at, hit)),
        );
    }
    for (at, file) in files.iter().enumerate() {
        if file.kind == Kind::Lock {
            out.extend(lock(file, &manifests).into_iter().map(|hit| (at, hit)));
        }
    }
    out
}

/// Frameworks whose replacement replaces the meaning of every test.
const FRAMEWORKS: &str = "\
    jest vitest mocha chai ava tap jasmine karma cypress playwright pytest unittest nose hypothesis junit \
    assertj hamcrest mockito testng spock rspec minitest testify gomega ginkgo go-cmp insta rstest proptest \
    quickcheck phpunit pest xunit nunit fluentassertions exunit kotest eslint typescript mypy ruff coverage \
    pytest-cov simplecov expect sinon";

fn is_framework(name: &str) -> bool {
    let lower = name.to_lowercase();
    let parts: Vec<&str> = lower.split(['/', '@', '-', '_', '+', '.', ':', ' ']).collect();
    words(FRAMEWORKS).any(|f| parts.contains(&f))
}

fn is_dependencies(key: &str) -> bool {
    let plain: String = key
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    plain.ends_with("dependencies")
        || plain.ends_with("dependency")
        || matches!(
            plain.as_str(),
            "overrides"
                | "resolutions"
                | "require"
                | "requiredev"
                | "requires"
                | "packages"
                | "devpackages"
                | "packagereference"
                | "replace"
                | "patch"
                | "pluginmanagement"
                | "catalog"
                | "plugin"
                | "parent"
                | "installrequires"
                | "extrasrequire"
                | "testsrequire"
                | "setuprequires"
                | "patcheddependencies"
        )
}

fn manifest(file: &File<'_>) -> Vec<Hit> {
    let name = file.name();
    if file.change.old.is_none() && file.kind != Kind::Manifest || file.kind == Kind::Lock {
        return Vec::new();
    }
    let (old, new) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    let lines = name == "gemfile"
        || name == "go.mod"
        || name == "go.work"
        || name.starts_with("requirements")
        || name.starts_with("constraints")
        || name.starts_with("build.gradle")
        || name == "mix.exs"
        || name.ends_with(".gemspec")
        || name == "setup.py"
        || name == "podfile"
        || name == "package.swift"
        || name == "cargo.toml.orig"
        || name.ends_with("versions.toml");
    if lines {
        return manifest_lines(name, old, new);
    }
    if file.kind != Kind::Manifest
        && !name.ends_with(".csproj")
        && name != "deno.json"
        && name != "pubspec.yaml"
        && name != "directory.packages.props"
    {
        return Vec::new();
    }
    let (was, is) = (
        read_settings(old, name).unwrap_or_default(),
        read_settings(new, name).unwrap_or_default(),
    );
    let mut hits = scripts(&was, &is);
    let of = |list: &[Setting]| -> Vec<Setting> {
        list.iter()
            .filter(|s| {
                let named = name == "pom.xml" && s.path.iter().any(|k| k == "properties") && is_version(s);
                // A checker's settings in a manifest may have a key of that name.
                let tool = s.path.iter().any(|k| k == "tool") && s.path.iter().any(|k| k == "overrides");
                (named || s.path.iter().any(|k| is_dependencies(k)) && !tool)
                    && !s.path.iter().any(|k| k == "configuration" || k == "executions")
            })
            .cloned()
            .collect()
    };
    let (was, is) = (of(&was), of(&is));
    let same = |a: &Setting, b: &Setting| a.path == b.path && a.value == b.value;
    for setting in is.iter().filter(|s| !was.iter().any(|w| same(w, s))) {
        hits.push(dependency(setting));
    }
    if hits.iter().all(|h| h.rule != CHANGE) && was.iter().any(|w| !is.iter().any(|s| same(w, s))) {
        hits.push(change("a dependency goes away"));
    }
    hits
}

/// A property of Maven that holds the version of something.
fn is_version(setting: &Setting) -> bool {
    let key = setting.path.last().map(|k| k.to_lowercase()).unwrap_or_default();
    let of_language = ["java.version", "maven.compiler", "project."]
        .iter()
        .any(|w| key.contains(w));
    key.contains("version") && !of_language && setting.value.contains('.')
}

fn dependency(setting: &Setting) -> Hit {
    let value = setting.value.to_lowercase();
    let elsewhere = [
        "file:", "link:", "portal:", "git+", "git:", "github:", "http:", "https:", "npm:", "path",
    ]
    .iter()
    .any(|p| value.starts_with(p))
        || setting
            .path
            .iter()
            .any(|k| matches!(k.as_str(), "path" | "git" | "url"));
    let replaced = setting.path.iter().any(|k| {
        matches!(
            k.to_lowercase().as_str(),
            "overrides" | "resolutions" | "patch" | "replace" | "patcheddependencies"
        )
    });
    let framework = setting.path.iter().any(|k| is_framework(k)) || is_framework(&value) && replaced;
    let hit = if framework && (elsewhere || replaced) {
        tamper("the tests would run with a framework from another place")
    } else {
        change("what is installed changes")
    };
    hit.at(setting.line.max(1)).is(&setting.shown())
}

/// What a package manager runs by itself.
fn scripts(was: &[Setting], is: &[Setting]) -> Vec<Hit> {
    let by_itself = [
        "preinstall",
        "install",
        "postinstall",
        "prepublish",
        "preprepare",
        "prepare",
        "postprepare",
        "prepack",
        "post-install-cmd",
        "pre-install-cmd",
        "post-update-cmd",
        "pre-update-cmd",
        "post-autoload-dump",
        "dependencies",
    ];
    let is_one = |s: &&Setting| {
        s.path.first().is_some_and(|k| k == "scripts") && s.path.get(1).is_some_and(|k| by_itself.contains(&k.as_str()))
    };
    let fresh = is
        .iter()
        .filter(is_one)
        .filter(|s| !was.iter().any(|w| w.path == s.path && w.value == s.value));
    fresh
        .map(|s| {
            tamper("a script would run at every installation")
                .at(s.line.max(1))
                .is(&s.shown())
        })
        .collect()
}

fn manifest_lines(name: &str, old: &str, new: &str) -> Vec<Hit> {
    let had: BTreeSet<&str> = old.lines().map(str::trim).collect();
    let kept: BTreeSet<&str> = new.lines().map(str::trim).collect();
    let counts = |l: &str| !l.is_empty() && !l.starts_with(['#', '/', '*']) && names_dependency(name, l);
    let mut hits = Vec::new();
    for (at, line) in new.lines().map(str::trim).enumerate() {
        if !had.contains(line) && counts(line) {
            let replaced = line.starts_with("replace ")
                || line.contains("path:")
                || line.contains("=> ./")
                || line.contains("git:")
                || line.starts_with("-e ")
                || line.contains(" @ ")
                || line.contains("files(");
            let framework = line
                .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '/' | ',' | ':' | '(' | ')'))
                .any(is_framework);
            let hit = if replaced && framework {
                tamper("the tests would run with a framework from another place")
            } else {
                change("what is installed changes")
            };
            hits.push(hit.at(number(at)).is(line));
        }
    }
    if hits.is_empty() && had.iter().any(|l| !kept.contains(l) && counts(l)) {
        hits.push(change("a dependency goes away"));
    }
    hits
}

fn names_dependency(name: &str, line: &str) -> bool {
    if name.starts_with("build.gradle") {
        let words = [
            "implementation",
            "api",
            "compileonly",
            "runtimeonly",
            "testimplementation",
            "testruntimeonly",
            "classpath",
            "id(",
            "id ",
            "kapt",
            "ksp",
            "annotationprocessor",
            "platform(",
        ];
        let lower = line.to_lowercase();
        return words.iter().any(|w| lower.starts_with(w)) && line.contains(['"', '\'']);
    }
    match name {
        "mix.exs" => line.starts_with("{:"),
        "setup.py" => line.contains("==") || line.contains(">=") || line.contains("install_requires"),
        "gemfile" => ["gem ", "source ", "gemspec", "git ", "path ", "group "]
            .iter()
            .any(|w| line.starts_with(w)),
        _ if name.ends_with(".gemspec") => line.contains("add_") && line.contains("dependency"),
        _ => true,
    }
}

/// Where packages come from.
fn sources(file: &File<'_>) -> Vec<Hit> {
    let keys = [
        "registry",
        "index-url",
        "index_url",
        "extra-index-url",
        "npmregistryserver",
        "replace-with",
        "--index-url",
        "--extra-index-url",
        "--find-links",
        "trusted-host",
        "source \"http",
        "source 'http",
        "goproxy",
        "gonosumdb",
        "goflags=-insecure",
        "strict-ssl",
        "unsafehttpwhitelist",
        "gonosumcheck",
        "gosumdb",
        "always-auth_",
    ];
    let name = file.name();
    let places = name.contains("npmrc")
        || name.contains("yarnrc")
        || name.starts_with("pip.")
        || name.starts_with("requirements")
        || name == "gemfile"
        || file.normal.contains(".cargo/")
        || name == "bunfig.toml"
        || name == "pyproject.toml"
        || name == "settings.xml"
        || name == ".pypirc"
        || name == "nuget.config"
        || name == "uv.toml";
    if !places {
        return Vec::new();
    }
    let (old, new) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    let had: BTreeSet<&str> = old.lines().map(str::trim).collect();
    let fresh = new.lines().map(str::trim).enumerate().filter(|(_, l)| !had.contains(l));
    let hit = |(at, line): (usize, &str)| {
        let lower = line.to_lowercase();
        let found = !line.starts_with('#') && keys.iter().any(|k| lower.contains(k));
        found.then(|| tamper("packages would come from another place").at(number(at)).is(line))
    };
    fresh.filter_map(hit).collect()
}

/// What builds the project when nothing is installed: a version, where it comes from, and what it has to hash to.
fn wrapper(file: &File<'_>) -> Vec<Hit> {
    if !matches!(file.name(), "gradle-wrapper.properties" | "maven-wrapper.properties") {
        return Vec::new();
    }
    let read = |text: Option<&str>| -> BTreeMap<String, String> {
        let lines = text
            .unwrap_or_default()
            .lines()
            .filter(|l| !l.trim_start().starts_with('#'));
        let pairs = lines.filter_map(|l| l.split_once('='));
        pairs
            .map(|(key, value)| (key.trim().to_lowercase(), value.trim().replace('\\', "")))
            .collect()
    };
    let (was, is) = (read(file.old), read(file.new));
    let host = |url: &str| {
        url.split("://")
            .nth(1)
            .and_then(|r| r.split('/').next())
            .map(str::to_owned)
    };
    let mut hits = Vec::new();
    for (key, before) in &was {
        let after = is.get(key);
        let lost = key.ends_with("sha256sum") && after.is_none()
            || key == "validatedistributionurl" && before == "true" && after.is_some_and(|v| v != "true");
        let moved = key.ends_with("url") && after.is_some_and(|v| host(v) != host(before));
        if lost {
            hits.push(tamper("what is fetched to build the project is not checked any more").change(before, ""));
        } else if moved {
            let shown = after.map_or("", String::as_str);
            hits.push(tamper("what builds the project would come from another place").change(before, shown));
        } else if key.ends_with("url") && after != Some(before) {
            hits.push(change("what builds the project changes"));
        }
    }
    hits
}

/// Patches of installed packages, and installed packages themselves.
fn patched(file: &File<'_>) -> Vec<Hit> {
    let path = &file.normal;
    let patch = path.contains("patches/") && matches!(super::kind::extension(file.name()), "patch" | "diff");
    let installed = [
        "node_modules/",
        "site-packages/",
        "vendor/",
        "third_party/",
        ".yarn/",
        "dist-packages/",
    ];
    let inside = installed.iter().find_map(|d| path.split_once(d).map(|(_, rest)| rest));
    match (patch, inside) {
        (true, _) if is_framework(file.name()) => vec![tamper("the test framework itself is patched")],
        (true, _) => vec![change("an installed package is patched")],
        (false, Some(rest)) if rest.split('/').take(3).any(is_framework) => {
            vec![tamper("the test framework itself is changed")]
        }
        (false, Some(_)) => vec![change("code of another project changes")],
        (false, None) => Vec::new(),
    }
}

/// Entries of a lock file: what is locked at which version, with which hashes.
type Entries = BTreeMap<(String, String), BTreeSet<String>>;

fn lock(file: &File<'_>, manifests: &[String]) -> Vec<Hit> {
    let (Some(old), Some(new)) = (file.old, file.new) else {
        return vec![change("a lock file comes or goes")];
    };
    let mut hits = Vec::new();
    let (was, is) = (entries(old), entries(new));
    for (key, hashes) in &was {
        if let Some(other) = is.get(key)
            && hashes.iter().any(|h| !other.contains(h))
            && !other.is_empty()
        {
            let why = "a package of the same version gets another content";
            hits.push(tamper(why).change(&key.0, &key.0));
        }
    }
    let known = hosts(old);
    if let Some(host) = hosts(new)
        .iter()
        .find(|h| !known.contains(*h))
        .filter(|_| !known.is_empty())
    {
        hits.push(tamper("a package would come from another host").is(host));
    }
    if !hits.is_empty() {
        return hits;
    }
    let place = dir(&file.normal);
    let alone = !manifests
        .iter()
        .any(|m| m == place || m.starts_with(&format!("{place}/")) || place.is_empty());
    let why = "what is locked changes, and nothing that asks for it";
    vec![if alone {
        tamper(why)
    } else {
        change("what is installed changes")
    }]
}

fn hosts(text: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for scheme in ["https://", "http://", "git+ssh://git@", "ssh://"] {
        for (at, _) in text.match_indices(scheme) {
            let rest = &text[at + scheme.len()..];
            let host: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || matches!(c, '.' | '-'))
                .collect();
            // What a package says about itself is not where it comes from.
            let line = text[..at].rsplit('\n').next().unwrap_or_default().to_lowercase();
            let prose = [
                "homepage",
                "url\": \"https://github.com/sponsors",
                "funding",
                "support",
                "issues",
                "docs",
                "\"url\":",
            ]
            .iter()
            .any(|w| line.contains(w));
            if !prose {
                out.insert(host);
            }
        }
    }
    out
}

/// Of any format: a name, then a version, then hashes.
fn entries(text: &str) -> Entries {
    let mut out = Entries::new();
    let (mut name, mut version) = (String::new(), String::new());
    let mut header = String::new();
    for line in text.lines() {
        let trimmed = line.trim().trim_end_matches(',');
        let word = trimmed.trim_start_matches("- ");
        let (key, value) = split(word);
        match key.as_str() {
            "name" => {
                value.clone_into(&mut name);
                version.clear();
            }
            "version" => value.clone_into(&mut version),
            _ => {
                let hashes = hashes(trimmed);
                if hashes.is_empty() {
                    if opens(trimmed) {
                        key.clone_into(&mut header);
                        name.clear();
                        version.clear();
                    }
                    continue;
                }
                // go.sum has all of it in one line.
                let whole: Vec<&str> = trimmed.split_whitespace().collect();
                let entry = match whole.as_slice() {
                    [module, version, hash] if hash.starts_with("h1:") => ((*module).to_owned(), (*version).to_owned()),
                    _ if name.is_empty() => (header.clone(), version.clone()),
                    _ => (name.clone(), version.clone()),
                };
                out.entry(entry).or_default().extend(hashes);
            }
        }
    }
    out
}

fn split(line: &str) -> (String, &str) {
    let at = line.find(['=', ':']).filter(|at| *at > 0);
    let (key, value) = match at {
        Some(at) => (&line[..at], line[at + 1..].trim()),
        None => line.split_once(' ').unwrap_or((line, "")),
    };
    let quotes = ['"', '\'', ' ', '{', ':'];
    (key.trim_matches(quotes).to_owned(), value.trim_matches(quotes))
}

fn opens(line: &str) -> bool {
    line.ends_with(':') || line.ends_with('{') || line.starts_with("[[") || line.ends_with("\":{")
}

fn hashes(line: &str) -> Vec<String> {
    let starts = ["sha512-", "sha256-", "sha1-", "sha256:", "sha512:", "h1:", "sha384-"];
    let words = line.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '{' | '}' | '#' | '='));
    let mut out: Vec<String> = line
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '{' | '}'))
        .filter(|w| starts.iter().any(|s| w.starts_with(s)))
        .map(str::to_owned)
        .collect();
    let long_hex = |w: &&str| w.len() >= 40 && w.chars().all(|c| c.is_ascii_hexdigit());
    out.extend(words.filter(long_hex).map(str::to_owned));
    out
}
