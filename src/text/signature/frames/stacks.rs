//! Lines of stack traces that have a shape of their own language.

use super::{Frame, location, place, place_in};

/// Packages of runtimes and frameworks on the JVM.
const FOREIGN_PACKAGES: [&str; 38] = [
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "jakarta.",
    "kotlin.",
    "kotlinx.",
    "scala.",
    "groovy.",
    "clojure.",
    "android.",
    "androidx.",
    "com.android.",
    "com.google.",
    "com.fasterxml.",
    "com.zaxxer.",
    "com.mysql.",
    "com.mongodb.",
    "org.springframework.",
    "org.apache.",
    "org.hibernate.",
    "org.junit.",
    "org.gradle.",
    "org.eclipse.",
    "org.postgresql.",
    "org.slf4j.",
    "org.mockito.",
    "io.netty.",
    "io.micrometer.",
    "io.lettuce.",
    "io.reactivex.",
    "io.grpc.",
    "reactor.",
    "akka.",
    "okhttp3.",
    "retrofit2.",
    "feign.",
];
/// Packages that come with the tools; of the others those keep their files in `src`.
const FOREIGN_DART: [&str; 8] = [
    "flutter",
    "flutter_test",
    "test",
    "http",
    "dio",
    "provider",
    "collection",
    "async",
];
/// Applications of the Erlang world that are libraries.
const FOREIGN_APPLICATIONS: [&str; 22] = [
    "stdlib",
    "kernel",
    "elixir",
    "logger",
    "mix",
    "ex_unit",
    "phoenix",
    "phoenix_live_view",
    "plug",
    "plug_cowboy",
    "cowboy",
    "bandit",
    "thousand_island",
    "ecto",
    "ecto_sql",
    "postgrex",
    "db_connection",
    "finch",
    "mint",
    "oban",
    "absinthe",
    "jason",
];

/// `File "/app/run.py", line 3, in main`; other languages' trackers print a column as well.
pub(super) fn file(line: &str) -> Option<Frame> {
    let (path, rest) = line.strip_prefix("File \"")?.split_once('"')?;
    let number = rest.strip_prefix(", line ")?.split(',').next()?.trim().parse().ok();
    let function = rest.split_once(" in ").map(|(_, name)| name.trim().to_owned());
    Some(place(path, number, function))
}

/// `at total (/app/src/cart.js:31:9)`, `at /app/src/cart.js:31:9`, `at a.b.Cart.total(Cart.java:31)`,
/// `at Shop.Cart.Total(Order o) in /src/Cart.cs:line 31`.
pub(super) fn at(line: &str) -> Option<Frame> {
    let rest = line
        .strip_prefix("at ")
        .or_else(|| line.strip_prefix("❯ "))?
        .trim_end_matches(['{', ' ']);
    let rest = without_archive(rest);
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    if let Some((call, at)) = rest.rsplit_once(" in ")
        && let Some((path, number)) = at.rsplit_once(":line ")
    {
        let function = call.split('(').next().unwrap_or_default();
        return Some(place(path, number.parse().ok(), Some(function.to_owned())));
    }
    if let Some(open) = rest.rfind(" (").filter(|_| rest.ends_with(')')) {
        let inner = &rest[open + 2..rest.len() - 1];
        let function = rest[..open]
            .trim()
            .trim_start_matches("new ")
            .trim_start_matches("async ");
        return Some(match location(inner) {
            Some((path, number)) => place(path, number, Some(function.to_owned())),
            None => Frame::Foreign,
        });
    }
    if let Some((function, inner)) = rest.strip_suffix(')').and_then(|r| r.split_once('(')) {
        return Some(jvm(function, inner));
    }
    let last = rest.rsplit(' ').next().unwrap_or_default();
    let function = rest.split_once(' ').map(|(name, _)| name.to_owned());
    Some(match location(last) {
        Some((path, number)) => place(path, number, function),
        None => Frame::Foreign,
    })
}

/// `total(Cart.java:31) ~[shop.jar!/:1.0]`: without the archive that the class came from.
fn without_archive(rest: &str) -> &str {
    if !rest.ends_with(']') {
        return rest;
    }
    let call = rest.rsplit_once(" ~[").or_else(|| rest.rsplit_once(" ["));
    call.map(|(call, _)| call)
        .filter(|call| call.ends_with(')'))
        .unwrap_or(rest)
}

/// `in Cart (at Cart.tsx:31)`: a component among those that stand around it.
pub(super) fn component(line: &str) -> Option<Frame> {
    let (name, at) = line.strip_prefix("in ")?.split_once(" (at ")?;
    let (path, number) = location(at.strip_suffix(')')?)?;
    // What the framework draws with has no directory of the application's either.
    let foreign = ["View.", "Text.", "AppContainer.", "renderApplication."];
    if foreign.iter().any(|file| path.starts_with(file)) {
        return Some(Frame::Foreign);
    }
    Some(place(path, Some(number?), Some(name.to_owned())))
}

/// The file stands alone; its directory is the package, which is in the name of the function.
fn jvm(function: &str, inner: &str) -> Frame {
    let function = function.rsplit('/').next().unwrap_or(function);
    let Some((path, number)) = location(inner) else {
        return Frame::Foreign;
    };
    if FOREIGN_PACKAGES.iter().any(|package| function.starts_with(package)) {
        return Frame::Foreign;
    }
    let class = function.rsplit_once('.').map_or("", |(class, _)| class);
    let package = class.rsplit_once('.').map_or("", |(package, _)| package);
    let directory = package.replace('.', "/");
    place_in(&directory, path, number, Some(function.to_owned()))
}

/// Go prints the place on a line of its own, with the offset behind it.
pub(super) fn go(line: &str) -> Option<Frame> {
    let first = &line.as_bytes()[..line.bytes().position(|b| b == b' ').unwrap_or(line.len())];
    if !first.contains(&b':') || !line.ends_with(|c: char| c.is_ascii_hexdigit() || c == ')') {
        return None;
    }
    let bare = line.split(" +0x").next()?.split(" (0x").next()?;
    let (path, number) = location(bare)?;
    let alone = number.is_some()
        && path.rsplit_once('.').is_some_and(|(_, ending)| ending == "go")
        && path.starts_with('/')
        && !line.contains(' ');
    (alone || bare.len() < line.len()).then(|| place(path, number, None))
}

/// `app/models/cart.rb:31:in 'total'`, perhaps with what was raised behind it.
pub(super) fn ruby(line: &str) -> Option<(Frame, &str)> {
    let bare = line
        .strip_prefix("from ")
        .or_else(|| line.strip_prefix("# "))
        .unwrap_or(line);
    let (place_of, rest) = bare.split_once(":in ")?;
    let (path, number) = location(place_of)?;
    let name = rest.strip_prefix(['`', '\''])?;
    let (function, message) = name.split_once('\'')?;
    let message = message.strip_prefix(": ").unwrap_or_default();
    Some((place(path, Some(number?), Some(function.to_owned())), message))
}

/// `#0 /app/src/Cart.php(31): Cart->total()`, and the numbered frames of debuggers: `#6 0x7f in total () at /app/a.cpp:31`.
pub(super) fn numbered(line: &str) -> Option<Frame> {
    let rest = line.strip_prefix('#').unwrap_or(line);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=3).contains(&digits) || !rest[digits..].starts_with(' ') {
        return None;
    }
    let marked = rest.len() < line.len();
    let rest = rest[digits..].trim_start();
    if marked && rest.starts_with('{') {
        return Some(Frame::Foreign);
    }
    if marked && rest.starts_with('/') {
        let (path, call) = rest.split_once(": ")?;
        let (path, number) = location(path)?;
        let function = call.split('(').next().unwrap_or_default();
        return Some(place(path, number, Some(function.to_owned())));
    }
    if marked && let Some(found) = packaged(rest) {
        return Some(found);
    }
    // The address of the call, behind the name of a library or alone.
    let addressed = rest
        .split_ascii_whitespace()
        .take(2)
        .any(|word| word.starts_with("0x") && word.len() >= 10);
    if !marked && !addressed {
        return None;
    }
    let placed = |at: &&str| at.contains(['/', '.']) && !at.starts_with('(');
    let last = || rest.rsplit(' ').find(|word| !word.ends_with(')')).filter(placed);
    let found = rest
        .rsplit_once(" at ")
        .map(|(_, at)| at)
        .or_else(last)
        .and_then(location);
    match found {
        Some((path, number)) => Some(place(path, number, None)),
        None => addressed.then_some(Frame::Foreign),
    }
}

/// `Cart.total (package:shop/cart.dart:31:9)`: the package's own files lie in its `lib`.
fn packaged(rest: &str) -> Option<Frame> {
    let (function, inner) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    if inner.starts_with("dart:") {
        return Some(Frame::Foreign);
    }
    let (package, file) = inner.strip_prefix("package:")?.split_once('/')?;
    let (path, number) = location(file)?;
    if FOREIGN_DART.contains(&package) || path.starts_with("src/") {
        return Some(Frame::Foreign);
    }
    Some(place_in("lib", path, number, Some(function.to_owned())))
}

/// `(shop 0.3.1) lib/shop/cart.ex:31: Shop.Cart.total/1`.
pub(super) fn erlang(line: &str) -> Option<Frame> {
    let (application, rest) = line.strip_prefix('(')?.split_once(") ")?;
    let (name, version) = application.split_once(' ')?;
    if !version.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let Some((path, function)) = rest.split_once(": ") else {
        return Some(Frame::Foreign);
    };
    let (path, number) = location(path)?;
    if FOREIGN_APPLICATIONS.contains(&name) {
        return Some(Frame::Foreign);
    }
    let function = function.split('/').next().unwrap_or_default();
    Some(place(path, number, Some(function.to_owned())))
}

/// `total, called at src/Cart.hs:31:9 in main:Cart`.
pub(super) fn called_at(line: &str) -> Option<Frame> {
    let (function, at) = line.split_once(", called at ")?;
    let (at, module) = at.split_once(" in ")?;
    let (path, number) = location(at)?;
    let own = module.starts_with("main:") || !path.starts_with("libraries/");
    let function = function.rsplit(' ').next().map(str::to_owned);
    Some(if own {
        place(path, number, function)
    } else {
        Frame::Foreign
    })
}

/// `styles/cart.scss 31:9  @use`: a place with a space before its line.
pub(super) fn spaced(line: &str) -> Option<Frame> {
    let (path, rest) = line.split_once(' ')?;
    let (number, column) = rest.split(' ').next()?.split_once(':')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let placed = digits(number) && digits(column) && path.contains('/') && super::is_source(path);
    placed.then(|| place(path, number.parse().ok(), None))
}

/// `total@https://shop.example/assets/cart.js:31:9`, `total https://…:31:9`: how two browsers print a frame.
pub(super) fn browser(line: &str) -> Option<Frame> {
    let (_, at) = line.split_once('@').or_else(|| line.split_once(' '))?;
    let (path, number) = location(at)?;
    (number.is_some() && at.contains("://")).then(|| place(path, number, None))
}

/// Where the message itself says that it was thrown: `… in /app/src/Cart.php:31`, `… in /app/src/Cart.php on line 31`.
pub(super) fn thrown_in(message: &str) -> Option<Frame> {
    let (_, at) = message.rsplit_once(" in /")?;
    let at = &message[message.len() - at.len() - 1..];
    let (path, number) = if let Some((path, number)) = at.split_once(" on line ") {
        (path, number.trim().parse().ok())
    } else {
        location(at)?
    };
    let (_, ending) = path.rsplit_once('.')?;
    (ending == "php" && number.is_some()).then(|| place(path, number, None))
}
