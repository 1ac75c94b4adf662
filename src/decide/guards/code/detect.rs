//! Rule `special-cased`: the source finds out that tests run.

use super::{fresh, human, reject, words};
use crate::decide::guards::{
    Hit,
    lines::number,
    listed::{listed, words as words_of},
    syntax::{Ast, Grammar, Id, Kind, literal},
    view::File,
};
use crate::model::evidence::GuardVerdict;

const WHY: &str = "the source looks whether tests run";

/// Variables that only a test runner or an automation sets.
const VARIABLES: &str = "\
    PYTEST_CURRENT_TEST PYTEST_VERSION PYTEST_XDIST_WORKER JEST_WORKER_ID VITEST VITEST_WORKER_ID VITEST_POOL_ID \
    NODE_TEST_CONTEXT NODE_V8_COVERAGE RSPEC_CORE CI GITHUB_ACTIONS GITLAB_CI CIRCLECI TRAVIS JENKINS_URL \
    BUILDKITE NEXTEST NEXTEST_RUN_ID PLAYWRIGHT_TEST CYPRESS COVERAGE_RUN UNITTEST TESTING TEST_MODE \
    PHPUNIT_COMPOSER_INSTALL MIX_TEST SUREFIRE_TEST RUNNING_TESTS IS_TEST UNIT_TEST CONTINUOUS_INTEGRATION \
    TEST_RUNNER TEST_ENV";

/// Variables that cargo sets for what it starts, which is never so in production. While it compiles they are read by a
/// macro, and that is no question.
const OF_CARGO: &str = "CARGO CARGO_MANIFEST_DIR CARGO_PKG_NAME CARGO_CRATE_NAME CARGO_TARGET_TMPDIR";

/// Names that stand for a runner where a program looks at itself.
const RUNNERS: &str = "\
    pytest unittest jest vitest mocha rspec minitest junit phpunit testng nose karma jasmine surefire \
    cargo-nextest xunit nunit";

/// Where a program looks at itself: modules, arguments, its stack.
const MIRRORS: &str = "\
    modules argv stack stackTrace extract_stack currentframe _getframe caller caller_locations getStackTrace StackWalker \
    forName Caller Callers Args execPath PROGRAM_NAME orig_argv current_exe args mainModule main loader \
    getAllStackTraces getClassLoader executable find_spec env environ backtrace title";

/// Variables that name an environment.
const ENVIRONMENTS: &str = "\
    NODE_ENV APP_ENV RAILS_ENV RACK_ENV ENV ENVIRONMENT MODE DJANGO_ENV FLASK_ENV GO_ENV SPRING_PROFILES_ACTIVE \
    MIX_ENV RUST_ENV DENO_ENV STAGE BABEL_ENV APPLICATION_ENV ASPNETCORE_ENVIRONMENT";

pub(super) fn check(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let kinds = [
        Kind::Binary,
        Kind::Call,
        Kind::Member,
        Kind::Index,
        Kind::Name,
        Kind::Other,
        Kind::Not,
    ];
    let mut told = 0;
    for id in fresh(old, new, &kinds) {
        // The smallest node that says it is enough.
        if told < 3 && (looks(new, id) || mirrored(new, id) || counted(new, id)) {
            told += 1;
            hits.push(reject("special-cased", new, id, WHY));
        }
    }
    attributes(old, new, hits);
    if hits.is_empty() {
        callers(old, new, hits);
    }
}

/// A program that reads who called it has no other reason in a repair.
fn callers(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let reads = |id: &Id| match new.kind(*id) {
        Kind::Call => matches!(
            new.path(*id).as_str(),
            "sys._getframe" | "inspect.currentframe" | "inspect.stack"
        ),
        Kind::Member => listed("f_back f_code f_globals co_consts", new.word(*id)),
        _ => false,
    };
    if let Some(id) = fresh(old, new, &[Kind::Call, Kind::Member]).into_iter().find(reads) {
        hits.push(human("special-cased", new, id, "the source reads who called it"));
    }
}

fn looks(ast: &Ast<'_>, id: Id) -> bool {
    match ast.kind(id) {
        Kind::Member => {
            is_variable(ast, id) || matches!(ast.word(id), "test?" | "vitest") && ast.path(id).contains("env")
        }
        Kind::Index => ast.kids(id).iter().skip(1).any(|k| is_named_variable(ast, *k)) && reads_environment(ast, id),
        Kind::Call => called(ast, id),
        Kind::Binary => compared(ast, id),
        Kind::Other => typed(ast, id),
        _ => false,
    }
}

/// `process.env.CI`, `import.meta.vitest`
fn is_variable(ast: &Ast<'_>, id: Id) -> bool {
    let path = ast.path(id);
    (path.contains("env.") || path.contains("ENV.")) && listed(VARIABLES, ast.word(id))
        || path.ends_with("import.meta.vitest")
        || ast.source(id) == "import.meta.vitest"
        || path.ends_with("testing.Testing")
        || matches!(
            path.as_str(),
            "app.testing" | "settings.TESTING" | "current_app.testing" | "self.testing"
        )
}

fn is_named_variable(ast: &Ast<'_>, id: Id) -> bool {
    ast.kind(id) == Kind::Text && listed(VARIABLES, literal::inner(ast.source(id)))
}

fn reads_environment(ast: &Ast<'_>, id: Id) -> bool {
    let path = ast.path(ast.kids(id).first().copied().unwrap_or(id)).to_lowercase();
    let flat = ast.flat(id).to_lowercase();
    path.contains("env") || flat.contains("environ") || flat.contains("config [")
}

fn called(ast: &Ast<'_>, id: Id) -> bool {
    let path = ast.path(id);
    let args = ast.kids(id).get(1..).unwrap_or_default();
    let text = |n: Id| (ast.kind(n) == Kind::Text).then(|| literal::inner(ast.source(n)));
    let texts: Vec<&str> = args.iter().filter_map(|a| text(*a)).collect();
    let environment =
        path.to_lowercase().contains("env") || path.ends_with("LookupEnv") || path.contains("getProperty");
    let property = path.ends_with("getProperty") && texts.iter().any(|t| is_test_property(t));
    let of_cargo = matches!(path.rsplit(['.', ':']).next(), Some("var" | "var_os"));
    let told = |t: &&str| listed(VARIABLES, t) || of_cargo && listed(OF_CARGO, t);
    if property || environment && texts.iter().any(told) {
        return true;
    }
    match path.as_str() {
        // Rust's macro, read as a call.
        "cfg" => args.first().is_some_and(|a| ast.flat(*a) == "test"),
        "testing.Testing" | "testing.Short" => true,
        "flag.Lookup" => texts.iter().any(|t| t.starts_with("test.")),
        "defined" | "class_exists" => texts.iter().any(|t| is_runner(t) || listed(VARIABLES, t)),
        _ => {
            // Something is looked for in a mirror: `argv.includes("jest")`, `HasSuffix(os.Args[0], ".test")`.
            let mirror = words(ast, id)
                .iter()
                .any(|w| listed(MIRRORS, w.trim_start_matches('$')) || *w == "$0");
            let tests = texts.iter().any(|t| is_runner(t) || is_test_text(t));
            mirror && tests && !ast.flat(id).contains("import (")
        }
    }
}

/// A program that reads its own stack or modules beside a word for tests.
fn mirrored(ast: &Ast<'_>, id: Id) -> bool {
    let path = ast.path(id);
    let last = path.rsplit('.').next().unwrap_or_default();
    let stack = match ast.kind(id) {
        Kind::Call => {
            let words = "stack extract_stack currentframe _getframe caller caller_locations getStackTrace Callers \
                GetAssemblies GetLoadedModules StackTrace";
            listed(words, last)
        }
        Kind::Name => ast.grammar == Grammar::Ruby && listed("caller caller_locations", ast.word(id)),
        // Kotlin's and C#'s properties.
        Kind::Member => listed("stackTrace allStackTraces StackTrace", ast.word(id)),
        _ => false,
    };
    if !stack {
        return argued(ast, id) || by_thread(ast, id);
    }
    let within = |n: Id| matches!(ast.kind(n), Kind::Function | Kind::Lambda);
    let around = ast.above(id).filter(|up| within(*up)).last().unwrap_or(Ast::ROOT);
    ast.walk(around).filter(|n| ast.kind(*n) == Kind::Text).any(|n| {
        let text = literal::inner(ast.source(n)).to_lowercase();
        text.len() <= 24 && (is_runner(&text) || text.contains("test") || text.contains("spec"))
    })
}

/// The arguments of the program are searched for a runner: `argv.some((a) => /mocha/.test(a))`.
fn argued(ast: &Ast<'_>, id: Id) -> bool {
    let mirror =
        |n: Id| matches!(ast.kind(n), Kind::Name | Kind::Member) && listed("argv orig_argv ARGV Args", ast.word(n));
    let runner = |n: Id| ast.kind(n) == Kind::Text && is_runner(literal::inner(ast.source(n)).trim_matches('/'));
    // A command is called `test` and compared as a whole; a part of an argument is looked for by whom it betrays.
    let part = |n: Id| {
        let text = literal::inner(ast.source(n)).to_lowercase();
        let word = ast.kind(n) == Kind::Text && text.len() <= 12 && (text.contains("test") || text.contains("spec"));
        let call = ast
            .above(n)
            .take_while(|up| *up != id)
            .find(|up| ast.kind(*up) == Kind::Call);
        let searches = call.and_then(|call| ast.chain(call).last().map(|link| link.name));
        word && searches
            .is_some_and(|name| listed("includes contains endsWith ends_with indexOf find match search", name))
            && ast
                .above(n)
                .take_while(|up| *up != id)
                .any(|up| ast.kind(up) == Kind::Lambda)
    };
    let nodes: Vec<Id> = ast.walk(id).take(80).collect();
    matches!(ast.kind(id), Kind::Call | Kind::Binary)
        && nodes.iter().any(|n| mirror(*n))
        && nodes.iter().any(|n| runner(*n) || part(*n))
}

/// Rust names the thread of a test after it.
fn by_thread(ast: &Ast<'_>, id: Id) -> bool {
    let compares = match ast.kind(id) {
        Kind::Call => {
            let last = ast.chain(id).last().map_or("", |l| l.name);
            matches!(
                last,
                "is_some_and" | "map_or" | "contains" | "starts_with" | "ends_with" | "is_none_or"
            )
        }
        Kind::Binary => true,
        _ => false,
    };
    let names = || {
        ast.path(id).contains("thread.current") || ast.flat(id).replace(' ', "").contains("thread::current().name()")
    };
    ast.grammar == Grammar::Rust && compares && names() && ast.walk(id).any(|n| ast.kind(n) == Kind::Text)
}

/// How many arguments the program was started with, in a file that does not start one: only its runner can be meant.
fn counted(ast: &Ast<'_>, id: Id) -> bool {
    let names = "argv ARGV Args args argc orig_argv";
    let arguments = |n: Id| match ast.kind(n) {
        Kind::Member => {
            let path = ast.path(n);
            matches!(path.as_str(), "os.Args" | "sys.argv" | "process.argv" | "sys.orig_argv")
                || path.ends_with("env.args")
        }
        Kind::Name => ast.word(n) == "ARGV",
        Kind::Call => ast.path(n).ends_with("env.args"),
        _ => false,
    };
    let measured = |n: Id| {
        let word = match ast.kind(n) {
            Kind::Call => ast.chain(n).last().map_or("", |l| l.name),
            Kind::Member => ast.word(n),
            _ => return false,
        };
        listed("len length size count any? empty?", word) && !listed(names, word)
    };
    let condition = ast.kind(id) == Kind::Binary && !matches!(ast.word(id), "&&" | "||" | "and" | "or");
    condition && ast.walk(id).any(measured) && ast.walk(id).any(arguments) && !starts_program(ast)
}

/// A file with an entry of a program reads its arguments.
pub(super) fn starts_program(ast: &Ast<'_>) -> bool {
    let main =
        |n: &Id| ast.kind(*n) == Kind::Function && matches!(ast.word(*n), "main" | "cli" | "run_cli" | "parse_args");
    let words = [
        "__main__",
        "require.main",
        "#!/",
        "package main",
        "$PROGRAM_NAME",
        "$0",
        "import.meta.main",
        "argparse",
    ];
    ast.walk(Ast::ROOT).any(|n| main(&n)) || words.iter().any(|w| ast.text.contains(w))
}

/// Exactly the name of a runner, in small letters or with a capital.
pub(super) fn is_runner_name(text: &str) -> bool {
    words_of(RUNNERS).any(|r| text.eq_ignore_ascii_case(r))
}

/// A variable that only runners and automation set; short words for an environment tell too little alone.
pub(super) fn is_variable_name(text: &str) -> bool {
    text.contains('_') && listed(VARIABLES, text)
}

fn is_runner(text: &str) -> bool {
    let lower = text.to_lowercase();
    words_of(RUNNERS).any(|r| lower == r || lower.split(['.', '/', '-', ':', '\\']).any(|part| part == r))
}

/// A property that a build gives to the process of its tests.
fn is_test_property(text: &str) -> bool {
    let mut parts = text.split(['.', '_', '-']);
    parts.any(|p| matches!(p, "test" | "surefire" | "failsafe" | "junit" | "testng"))
}

fn is_test_text(text: &str) -> bool {
    matches!(
        text,
        "test"
            | "tests"
            | ".test"
            | "_test"
            | "test_"
            | "/test/"
            | "spec"
            | "_spec"
            | ".spec"
            | "-test"
            | "testing"
            | "test.v"
            | "/tests/"
            | ".test.exe"
    )
}

fn compared(ast: &Ast<'_>, id: Id) -> bool {
    let [left, right] = ast.kids(id) else { return false };
    let sides = [(*left, *right), (*right, *left)];
    sides.iter().any(|(a, b)| {
        let text = (ast.kind(*a) == Kind::Text).then(|| literal::inner(ast.source(*a)));
        let Some(text) = text else { return false };
        let other = words(ast, *b);
        let environment = other
            .iter()
            .any(|w| listed(ENVIRONMENTS, w) || listed(ENVIRONMENTS, &w.to_uppercase()));
        let mirror = other.iter().any(|w| listed(MIRRORS, w));
        environment && matches!(text, "test" | "testing" | "ci" | "tests")
            || is_runner(text)
                && other.iter().any(|w| {
                    matches!(
                        *w,
                        "frame" | "filename" | "co_filename" | "f_code" | "path" | "className"
                    )
                })
            || mirror && (is_runner(text) || is_test_text(text) || listed(VARIABLES, text))
            || text == "main" && other.contains(&"thread")
    })
}

/// `typeof jest !== "undefined"`, `defined?(RSpec)`
fn typed(ast: &Ast<'_>, id: Id) -> bool {
    let globals = [
        "jest",
        "vi",
        "it",
        "describe",
        "expect",
        "beforeEach",
        "mocha",
        "RSpec",
        "Minitest",
        "cy",
        "Cypress",
        "test",
        "__vitest_worker__",
        "RSpec::Core",
        "QUnit",
        "jasmine",
    ];
    let flat = ast.flat(id);
    let asks = flat.starts_with("typeof ") || flat.starts_with("defined?");
    asks && words(ast, id).iter().any(|w| globals.contains(w))
}

/// Code that is there in tests only, or in all but tests.
fn attributes(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    if new.grammar != Grammar::Rust {
        return;
    }
    for id in fresh(old, new, &[Kind::Mark]) {
        let flat = new.flat(id).replace(' ', "");
        let turned = flat.contains("cfg(not(test))") || flat.contains("cfg_attr(test,") && !flat.contains("derive");
        let doubled = flat.contains("cfg(test)") && is_doubled(new, id);
        if turned || doubled {
            hits.push(reject("special-cased", new, id, "the source is another one under test"));
        }
    }
}

/// The marked function has a second one of its name.
fn is_doubled(ast: &Ast<'_>, mark: Id) -> bool {
    let Some(owner) = ast.above(mark).next().filter(|o| ast.kind(*o) == Kind::Function) else {
        return false;
    };
    let name = ast.word(owner);
    let same = ast
        .walk(Ast::ROOT)
        .filter(|n| ast.kind(*n) == Kind::Function && ast.word(*n) == name);
    same.count() > 1
}

/// Words by which a program without a grammar here finds its runner.
const PLAIN: &[&str] = &[
    "BATS_TEST_",
    "BATS_VERSION",
    "BATS_RUN_",
    "XCTestConfigurationFilePath",
    "XCTestCase",
    "ExUnit",
    "PYTEST_CURRENT_TEST",
    "Mix.env() == :test",
    "Mix.env == :test",
    "TEST_RUNNER",
];

/// The same for text that no grammar reads: a new line of the source names a runner.
pub(super) fn plain(file: &File<'_>, hits: &mut Vec<Hit>) {
    let (old, new) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    let fresh = |line: &&str| !old.contains(line.trim()) && !line.trim_start().starts_with(['#', '/', '-', '*', '@']);
    let named = |line: &str| PLAIN.iter().any(|w| line.contains(w));
    for (at, line) in new.lines().enumerate().filter(|(_, l)| fresh(l) && named(l)) {
        let hit = Hit::new("special-cased", GuardVerdict::Reject, WHY.to_owned());
        hits.push(hit.at(number(at)).is(line.trim()));
    }
}
