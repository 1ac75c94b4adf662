//! Reads places in code out of lines: stack frames of several languages, compiler and test output. Tells the
//! application's own files from those of runtimes, dependencies and bundles.

mod place;
mod stacks;

use crate::model::signal::Culprit;
pub(super) use place::{below_top, is_source, rootless};
use place::{is_own, may_be_source, normal};

/// What a line of a trace is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    /// In a file of the application.
    Own(Culprit),
    /// In a runtime, a dependency or a generated bundle.
    Foreign,
}

/// A frame, and what was said on the same line.
#[derive(Debug, PartialEq)]
pub(super) struct Found<'a> {
    pub(super) frame: Frame,
    pub(super) message: Option<&'a str>,
}

/// The frame that the line is, if it is one.
pub(super) fn frame(line: &str) -> Option<Found<'_>> {
    // Printed objects show a stack as quoted strings.
    let line = line.trim_start_matches(['\'', '"', ' ', '\t']).trim_end();
    let alone = |frame| Found { frame, message: None };
    let found = match *line.as_bytes().first()? {
        b'F' => stacks::file(line),
        // The second begins the mark of a test runner.
        b'a' | 0xe2 => stacks::at(line),
        b'(' => stacks::erlang(line),
        b'i' => stacks::component(line),
        b'#' | b'0'..=b'9' => stacks::numbered(line),
        _ => None,
    };
    if let Some(frame) = found.or_else(|| stacks::go(line)) {
        return Some(alone(frame));
    }
    if !line.as_bytes().contains(&b':') {
        return None;
    }
    if let Some((frame, message)) = stacks::ruby(line) {
        let message = Some(message).filter(|message| !message.is_empty());
        return Some(Found { frame, message });
    }
    if let Some(frame) = stacks::called_at(line).or_else(|| stacks::spaced(line)) {
        return Some(alone(frame));
    }
    if let Some(frame) = stacks::thrown_in(line) {
        let message = Some(line);
        return Some(Found { frame, message });
    }
    // A name and an address.
    if line.matches(' ').count() > 1 || (line.contains(' ') && !line.contains(" http")) {
        return None;
    }
    stacks::browser(line).map(alone)
}

/// Whether the innermost call of this frame's trace stands last.
pub(super) fn is_innermost_last(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("File \"") && !line.contains(", col ")
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
    place_in("", path, line, function)
}

fn place_in(directory: &str, path: &str, line: Option<u32>, function: Option<String>) -> Frame {
    if let Some(file) = place::of_page(path) {
        return Frame::Own(Culprit {
            file,
            line: None,
            function: None,
        });
    }
    if !is_own(path) || (path.contains('\\') && !is_own(&path.replace('\\', "/"))) {
        return Frame::Foreign;
    }
    let file = normal(path);
    if !is_source(&file) {
        return Frame::Foreign;
    }
    let generated = path.contains(".next/") || path.contains(".min.");
    let file = if directory.is_empty() {
        file
    } else {
        [directory, "/", &file].concat()
    };
    Frame::Own(Culprit {
        file,
        // Lines and names in generated code are of this build only.
        line: line.filter(|_| !generated),
        function: function.filter(|name| !generated && is_name(name)),
    })
}

fn is_name(name: &str) -> bool {
    let last = name.rsplit(['.', ':', ' ']).next().unwrap_or_default();
    last.len() > 2 && last.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !name.contains("anonymous")
}

/// The first file of the application that a line names in passing (`FAIL src/a.test.ts`, `--> src/a.rs:3:4`).
pub(super) fn named(line: &str) -> Option<Culprit> {
    let bytes = line.as_bytes();
    let mut done = 0;
    let dots = bytes.iter().enumerate().filter(|(_, b)| **b == b'.').map(|(at, _)| at);
    // A name alone is a file only where it begins the line, as compilers and test runners print it.
    for dot in dots.filter(|dot| may_be_source(&bytes[dot + 1..])) {
        if dot < done {
            continue;
        }
        let outside = |b: &u8| b.is_ascii_whitespace() || b"\"'`[]<>,;|=".contains(b);
        let start = bytes[..dot].iter().rposition(outside).map_or(0, |at| at + 1);
        let end = bytes[dot..].iter().position(outside).map_or(line.len(), |at| dot + at);
        done = end;
        let word = &line[start..end];
        let last = end == line.len() && line[..start].ends_with(" at ") && word.contains(':');
        let lined = lined(word, &line[end..]);
        let word = lined.as_deref().unwrap_or(word);
        let found = named_by(word).filter(|culprit| start == 0 || last || culprit.file.contains('/'));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// `.github/workflows/ci.yml (Line: 31, Col: 9)`: with the line as it stands elsewhere.
fn lined(path: &str, behind: &str) -> Option<String> {
    let number = behind.strip_prefix(" (Line: ")?;
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    Some([path, ":", &number[..digits]].concat())
}

fn named_by(word: &str) -> Option<Culprit> {
    let (path, line) = location(word.trim_start_matches('(').trim_end_matches([')', ':', '.']))?;
    let path = path.split("::").next()?;
    let path = path.strip_prefix("file://").unwrap_or(path);
    // An object file stands for its source; a file right below the root is a request's.
    let path = path.trim_end_matches(".obj").trim_end_matches(".o");
    let path = path.split_once(".dir/").map_or(path, |(_, source)| source);
    if path.starts_with("//") || (path.starts_with('/') && path.matches('/').count() == 1) {
        return None;
    }
    let wordy = path.contains('/') || line.is_some();
    // Many a text names its settings; with a line it is about them.
    if line.is_none() && place::is_data(path) {
        return None;
    }
    match place(path, line, None) {
        Frame::Own(culprit) if wordy && !path.contains("://") => Some(culprit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(line: &str) -> String {
        match frame(line).map(|found| found.frame) {
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
    fn frames_of_many_languages() {
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
                "com/acme/shop/Cart.java 31 com.acme.shop.Cart.total",
            ),
            ("app/models/cart.rb:31:in `total'", "app/models/cart.rb 31 total"),
            (
                "from /srv/shop/app/models/cart.rb:31:in 'Cart#total'",
                "app/models/cart.rb 31 -",
            ),
            ("#0 /var/www/html/src/Cart.php(31): Cart->total()", "src/Cart.php 31 -"),
            (
                "   at Shop.Cart.Total(Order order) in /src/Shop/Cart.cs:line 31",
                "Shop/Cart.cs 31 Shop.Cart.Total",
            ),
            (
                "    (shop 0.3.1) lib/shop/cart.ex:31: Shop.Cart.total/1",
                "lib/shop/cart.ex 31 Shop.Cart.total",
            ),
            (
                "#6  0x00007f2a in Cart::total (this=0x1) at /app/src/cart.cpp:31",
                "src/cart.cpp 31 -",
            ),
            (
                "PHP Warning:  Undefined array key \"sku\" in /var/www/html/src/Feed.php on line 31",
                "src/Feed.php 31 -",
            ),
            (
                "\tat com.acme.shop.Cart.total(Cart.java:31) ~[shop.jar!/:1.0]",
                "com/acme/shop/Cart.java 31 com.acme.shop.Cart.total",
            ),
            ("    in CartList (at CartList.tsx:31)", "CartList.tsx 31 CartList"),
            (
                "e@https://shop.example/_next/static/chunks/app/items/%5Bid%5D/page-0a1b2c3d4e5f6071.js:1:9",
                "app/items/[id]/page.js 0 -",
            ),
            (
                "    e https://shop.example/_next/static/chunks/app/cart/page-0a1b2c3d4e5f6071.js:1:9",
                "app/cart/page.js 0 -",
            ),
            (
                "File \"/app/src/cart.js\", line 31, col 9, in total",
                "src/cart.js 31 total",
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
            "#2 {main}",
            "at org.springframework.web.servlet.FrameworkServlet.service(FrameworkServlet.java:885)",
            "/usr/local/bundle/gems/activejob-8.0.1/lib/active_job/execution.rb:68:in 'perform'",
            "    (stdlib 5.2) gen_server.erl:1131: :gen_server.loop/7",
            "total@https://shop.example/assets/cart-1a2b3c.js:31:9",
            "at D:\\work\\shop\\node_modules\\pg\\client.js:31:9",
        ] {
            assert_eq!(frame(line).map(|found| found.frame), Some(Frame::Foreign), "{line}");
        }
        assert_eq!(frame("attempt to subtract with overflow"), None);
        assert_eq!(frame("3 errors in bank (dcr 0x0157) corrected"), None);
    }

    #[test]
    fn what_was_raised_stands_behind_its_place() {
        let line = "app/cart.rb:31:in 'total': undefined method 'cents' for nil (NoMethodError)";
        let found = frame(line).unwrap();
        assert_eq!(found.message, Some("undefined method 'cents' for nil (NoMethodError)"));
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
        assert_eq!(file("caller=orders.go:31 msg=x"), None);
        assert_eq!(file("orders.go:31:2: undefined: x").as_deref(), Some("orders.go"));
        assert_eq!(
            file("e: file:///home/runner/work/shop/shop/src/Cart.kt:31:9 Unresolved").as_deref(),
            Some("src/Cart.kt")
        );
        assert_eq!(
            file("AssertionFailedError at CartTest.kt:31").as_deref(),
            Some("CartTest.kt")
        );
        assert_eq!(
            file("not valid. .github/workflows/ci.yml (Line: 31, Col: 9): Unexpected").as_deref(),
            Some(".github/workflows/ci.yml")
        );
    }
}
