//! Reads places in code out of lines: stack frames of several languages, compiler and test output. Tells the
//! application's own files from those of runtimes, dependencies and bundles.

use crate::model::signal::Culprit;

/// What a line of a trace is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    /// In a file of the application.
    Own(Culprit),
    /// In a runtime, a dependency or a generated bundle.
    Foreign,
}

const FOREIGN: [&str; 25] = [
    "node_modules/",
    "node:",
    "site-packages/",
    "dist-packages/",
    "/.venv/",
    "/usr/lib/",
    "/usr/local/lib/",
    "/rustc/",
    "/.cargo/",
    "/.rustup/",
    "/usr/local/go/",
    "/pkg/mod/",
    "<anonymous>",
    "<frozen",
    "<string>",
    "webpack/bootstrap",
    ".next/server/chunks/",
    "_next/static/",
    "/static/chunks/",
    "[turbopack]",
    "/opt/hostedtoolcache/",
    "java.base/",
    "/runners/",
    ".vite/",
    "bootstrap_node.js",
];
const FOREIGN_PACKAGES: [&str; 13] = [
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "org.springframework.",
    "org.apache.",
    "org.hibernate.",
    "io.netty.",
    "kotlin.",
    "org.junit.",
    "reactor.",
    "scala.",
];
const SOURCES: [&str; 24] = [
    "ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "py", "rs", "go", "java", "kt", "rb", "php", "cs", "ex",
    "swift", "vue", "svelte", "prisma", "sql", "scala", "css",
];
const ROOTS: [&str; 11] = [
    "file://",
    "webpack-internal:///",
    "(rsc)/",
    "(ssr)/",
    "/var/task/",
    "/vercel/path0/",
    "/usr/src/app/",
    "/app/",
    "/src/",
    "/workspace/",
    "./",
];

/// The frame that the line is, if it is one.
pub(super) fn frame(line: &str) -> Option<Frame> {
    // Printed objects show a stack as quoted strings.
    let line = line.trim_start_matches(['\'', '"', ' ', '\t']).trim_end();
    if let Some(rest) = line.strip_prefix("File \"") {
        let (path, rest) = rest.split_once('"')?;
        let number = rest.strip_prefix(", line ")?.split(',').next()?.trim().parse().ok();
        let function = rest.split_once(" in ").map(|(_, name)| name.trim().to_owned());
        return Some(place(path, number, function));
    }
    if let Some(rest) = line.strip_prefix("at ").or_else(|| line.strip_prefix("❯ ")) {
        return Some(at_frame(rest.trim_end_matches(['{', ' '])));
    }
    // Go prints the place on a line of its own, with the offset behind it.
    let first = &line.as_bytes()[..line.bytes().position(|b| b == b' ').unwrap_or(line.len())];
    if !first.contains(&b':') || !line.ends_with(|c: char| c.is_ascii_hexdigit() || c == ')') {
        return None;
    }
    let bare = line.split(" +0x").next()?.split(" (0x").next()?;
    let (path, number) = location(bare)?;
    let go = bare.len() < line.len() || (number.is_some() && path.contains(".go") && !line.contains(' '));
    go.then(|| place(path, number, None))
}

fn at_frame(rest: &str) -> Frame {
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    if let Some(open) = rest.rfind(" (").filter(|_| rest.ends_with(')')) {
        let inner = &rest[open + 2..rest.len() - 1];
        let function = rest[..open]
            .trim()
            .trim_start_matches("new ")
            .trim_start_matches("async ");
        return match location(inner) {
            Some((path, number)) => place(path, number, Some(function.to_owned())),
            None => Frame::Foreign,
        };
    }
    if let Some((function, inner)) = rest.strip_suffix(')').and_then(|r| r.split_once('(')) {
        // Java: the file stands alone, the package is in the name.
        let foreign = FOREIGN_PACKAGES.iter().any(|package| function.starts_with(package));
        return match location(inner) {
            Some((path, number)) if !foreign => place(path, number, Some(function.to_owned())),
            _ => Frame::Foreign,
        };
    }
    let last = rest.rsplit(' ').next().unwrap_or_default();
    let function = rest.split_once(' ').map(|(name, _)| name.to_owned());
    match location(last) {
        Some((path, number)) => place(path, number, function),
        None => Frame::Foreign,
    }
}

/// `path:12:5` or `path:12` or `path(12,5)`.
fn location(text: &str) -> Option<(&str, Option<u32>)> {
    let text = text.trim().trim_end_matches(':');
    let mut path = text;
    let mut line = None;
    while let Some((head, tail)) = path.rsplit_once(':') {
        let Ok(number) = tail.parse() else { break };
        line = Some(number);
        path = head;
    }
    let bracketed = path.split_once('(').and_then(|(head, tail)| {
        let number = tail.split([',', ')']).next()?.parse().ok()?;
        Some((head, number))
    });
    if let Some((head, number)) = bracketed {
        line = Some(number);
        path = head;
    }
    (!path.is_empty() && !path.contains(' ')).then_some((path, line))
}

fn place(path: &str, line: Option<u32>, function: Option<String>) -> Frame {
    if !is_own(path) {
        return Frame::Foreign;
    }
    let file = normal(path);
    if !is_source(&file) {
        return Frame::Foreign;
    }
    let generated = path.contains(".next/") || path.contains(".min.");
    Frame::Own(Culprit {
        file,
        // Lines and names in generated code are of this build only.
        line: line.filter(|_| !generated),
        function: function.filter(|name| !generated && is_name(name)),
    })
}

fn is_own(path: &str) -> bool {
    !FOREIGN.iter().any(|part| path.contains(part)) && !path.starts_with("http")
}

pub(super) fn is_source(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(stem, extension)| !stem.is_empty() && SOURCES.contains(&extension))
}

fn is_name(name: &str) -> bool {
    let last = name.rsplit(['.', ':', ' ']).next().unwrap_or_default();
    last.len() > 2 && last.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !name.contains("anonymous")
}

/// Without the root of the deployment or checkout, so that the same file has the same name everywhere.
pub(super) fn normal(path: &str) -> String {
    let mut path = path;
    if let Some((_, rest)) = path
        .split_once("/.next/server/")
        .or_else(|| path.split_once(".next/server/"))
    {
        path = rest;
    }
    if let Some(rest) = path.strip_prefix("/home/runner/work/") {
        path = rest.splitn(3, '/').nth(2).unwrap_or(rest);
    }
    while let Some(rest) = ROOTS.iter().find_map(|root| path.strip_prefix(root)) {
        path = rest;
    }
    path.to_owned()
}

/// The first file of the application that a line names in passing (`FAIL src/a.test.ts`, `--> src/a.rs:3:4`).
pub(super) fn named(line: &str) -> Option<Culprit> {
    let bytes = line.as_bytes();
    let mut done = 0;
    let dots = bytes.iter().enumerate().filter(|(_, b)| **b == b'.').map(|(at, _)| at);
    for dot in dots.filter(|dot| may_be_source(&bytes[dot + 1..])) {
        if dot < done {
            continue;
        }
        let outside = |b: &u8| b.is_ascii_whitespace() || b"\"'`[]<>,;|".contains(b);
        let start = bytes[..dot].iter().rposition(outside).map_or(0, |at| at + 1);
        let end = bytes[dot..].iter().position(outside).map_or(line.len(), |at| dot + at);
        done = end;
        let found = named_by(&line[start..end]);
        if found.is_some() {
            return found;
        }
    }
    None
}

fn named_by(word: &str) -> Option<Culprit> {
    let (path, line) = location(word.trim_start_matches('(').trim_end_matches([')', ':', '.']))?;
    let path = path.split("::").next()?;
    let wordy = path.contains('/') || line.is_some();
    match place(path, line, None) {
        Frame::Own(culprit) if wordy && !path.contains("://") => Some(culprit),
        _ => None,
    }
}

/// Whether what stands behind a dot is the ending of a source file.
fn may_be_source(behind: &[u8]) -> bool {
    let letters = behind.iter().take(9).take_while(|b| b.is_ascii_alphanumeric()).count();
    SOURCES.iter().any(|source| source.as_bytes() == &behind[..letters])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(line: &str) -> String {
        match frame(line) {
            Some(Frame::Own(c)) => format!(
                "{} {} {}",
                c.file,
                c.line.unwrap_or_default(),
                c.function.as_deref().unwrap_or("-")
            ),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn frames_of_five_languages() {
        for (line, want) in [
            (
                "  File \"/app/worker/feeds.py\", line 26, in pull",
                "worker/feeds.py 26 pull",
            ),
            (
                "    at createInvoice (/app/dist/repo/invoices.js:68:22) {",
                "dist/repo/invoices.js 68 createInvoice",
            ),
            ("    at async e2e/login.spec.ts:12:38", "e2e/login.spec.ts 12 -"),
            ("'    at async load (/app/lib/flags.ts:9:2)\\n' +", "Some(Foreign)"),
            (
                "             at ./src/ledger/balance.rs:44:17",
                "src/ledger/balance.rs 44 -",
            ),
            ("\t/src/gateway/auth/claims.go:44 +0x187", "gateway/auth/claims.go 44 -"),
            ("/src/gateway/auth/claims.go:44 (0x7f21)", "gateway/auth/claims.go 44 -"),
            (
                "\tat com.acme.shop.Cart.total(Cart.java:31)",
                "Cart.java 31 com.acme.shop.Cart.total",
            ),
        ] {
            assert_eq!(own(line), want, "{line}");
        }
    }

    #[test]
    fn foreign_frames() {
        for line in [
            "at Parser.parse (/app/node_modules/pg-protocol/dist/parser.js:287:98)",
            "at node:internal/deps/undici/undici:13803:13",
            "  File \"/usr/local/lib/python3.12/socket.py\", line 973, in getaddrinfo",
            "\t/usr/local/go/src/net/http/server.go:2100 +0x29",
            "at async k (/var/task/apps/web/.next/server/chunks/2503.js:17:63580)",
            "at java.base/java.lang.Thread.run(Thread.java:840)",
            "at /rustc/091b/library/core/src/panicking.rs:72:14",
            "at decodeURIComponent (<anonymous>)",
        ] {
            assert_eq!(frame(line), Some(Frame::Foreign), "{line}");
        }
        assert_eq!(frame("attempt to subtract with overflow"), None);
    }

    #[test]
    fn files_named_in_passing() {
        let file = |line: &str| named(line).map(|c| c.file);
        assert_eq!(
            file("FAIL src/cart/totals.test.ts (8.94 s)").as_deref(),
            Some("src/cart/totals.test.ts")
        );
        assert_eq!(
            file("lib/flags.ts(9,24): error TS2307: x").as_deref(),
            Some("lib/flags.ts")
        );
        assert_eq!(
            file("FAILED tests/test_vat.py::test_vat_rates[fr] - KeyError").as_deref(),
            Some("tests/test_vat.py")
        );
        assert_eq!(file("see https://a.invalid/x.js and node.js"), None);
    }
}
