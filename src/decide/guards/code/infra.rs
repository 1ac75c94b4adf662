//! Rule `test-infra`: set-up, hooks and replacements of the framework that decide what a test result is.

use super::reject;
use crate::decide::guards::{
    Hit,
    listed::listed,
    syntax::{Ast, Grammar, Id, Kind, literal},
    view::File,
};

/// Hooks of pytest by which results, collection or the exit status become others.
const PYTEST: &str = "\
    pytest_collection_modifyitems pytest_ignore_collect pytest_runtest_makereport pytest_runtest_protocol \
    pytest_runtest_call pytest_sessionfinish pytest_pyfunc_call pytest_report_teststatus \
    pytest_exception_interact pytest_collect_file pytest_runtest_logreport pytest_runtest_setup \
    pytest_pycollect_makeitem pytest_itemcollected pytest_deselected pytest_cmdline_main pytest_runtestloop \
    pytest_load_initial_conftests pytest_collection pytest_collection_finish pytest_unconfigure load_tests";

/// Calls that choose tests or repeat them, in helpers of Ruby and set-up files of JavaScript.
const CHOOSING: &str = "\
    filter_run_excluding filter_run filter_run_including retryTimes verbose_retry default_retry_count \
    exclusion_filter= define_derived_metadata i_suck_and_my_tests_are_order_dependent! load_tests";

/// Names of the framework that nobody redefines.
const FRAMEWORK: &str = "\
    expect it test describe assert assertEqual assertEquals assertTrue assert_eq assert_ne assert_equal \
    assertThat assertSame assertFalse assert_true fail assertRaises assertThrows assert_raises toBe toEqual \
    toStrictEqual toThrow toContain toMatch eq raise_error assert_equals should";

/// Matchers that the runners bring themselves.
const MATCHERS: &str = "\
    toBeCloseTo toBeDefined toBeFalsy toBeGreaterThan toBeGreaterThanOrEqual toBeInstanceOf toBeLessThan \
    toBeLessThanOrEqual toBeNaN toBeNull toBeTruthy toBeTypeOf toBeUndefined toContainEqual toHaveBeenCalled \
    toHaveBeenCalledTimes toHaveBeenCalledWith toHaveBeenLastCalledWith toHaveBeenNthCalledWith toHaveLength \
    toHaveProperty toHaveReturned toHaveReturnedTimes toHaveReturnedWith toMatchInlineSnapshot toMatchObject \
    toMatchSnapshot toThrowError toThrowErrorMatchingSnapshot toThrowErrorMatchingInlineSnapshot toSatisfy \
    toHaveText toBeVisible toHaveCount toHaveURL toHaveTitle toHaveValue toContainText toHaveScreenshot";

pub(super) fn check(file: &File<'_>, old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let before: Vec<String> = old
        .map(|ast| signs(file, ast).into_iter().map(|s| s.key).collect())
        .unwrap_or_default();
    for sign in signs(file, new) {
        if !before.contains(&sign.key) {
            hits.push(reject("test-infra", new, sign.id, sign.why));
        }
    }
    coverage(old, new, hits);
    settings_lost(old, new, hits);
}

/// Settings by which a framework finds more, and which are gone or turned off.
const STRICT: &str = "\
    verify_partial_doubles verify_doubled_constant_names raise_errors_for_deprecations! raise_on_warning= \
    fail_if_no_examples disable_monkey_patching!";

fn settings_lost(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let set = |ast: &Ast<'_>| -> Vec<(String, Id)> {
        let named = ast.walk(Ast::ROOT).filter(|n| match ast.kind(*n) {
            Kind::Assign => ast.kids(*n).get(1).is_some_and(|v| ast.source(*v) == "true"),
            Kind::Call => true,
            _ => false,
        });
        let key = |n: Id| {
            let target = if ast.kind(n) == Kind::Assign {
                ast.kids(n).first().copied()?
            } else {
                n
            };
            let path = ast.path(target);
            path.rsplit('.').next().map(str::to_owned)
        };
        named
            .filter_map(|n| key(n).filter(|k| listed(STRICT, k)).map(|k| (k, n)))
            .collect()
    };
    let Some(old) = old else { return };
    let kept = set(new);
    for (_, id) in set(old).into_iter().filter(|(n, _)| !kept.iter().any(|(k, _)| k == n)) {
        hits.push(
            reject(
                "test-infra",
                new,
                Ast::ROOT,
                "a strict setting of the framework is gone",
            )
            .change(&old.shown(id), ""),
        );
    }
}

struct Sign {
    key: String,
    id: Id,
    why: &'static str,
}

fn signs(file: &File<'_>, ast: &Ast<'_>) -> Vec<Sign> {
    let mut out = Vec::new();
    for id in ast.walk(Ast::ROOT) {
        let why = match ast.kind(id) {
            Kind::Function => function(file, ast, id),
            Kind::Assign => assignment(ast, id),
            Kind::Call => call(ast, id),
            Kind::Class => class(ast, id),
            Kind::Other => definition(ast, id),
            _ => None,
        };
        if let Some(why) = why {
            // A class is known by its first line: what else stands in it is looked at by itself.
            let head = ast.source(id).lines().next().unwrap_or_default().to_owned();
            out.push(Sign {
                key: if ast.kind(id) == Kind::Class {
                    head
                } else {
                    ast.flat(id)
                },
                id,
                why,
            });
        }
    }
    out
}

fn function(file: &File<'_>, ast: &Ast<'_>, id: Id) -> Option<&'static str> {
    let name = ast.word(id);
    if ast.grammar == Grammar::Python && listed(PYTEST, name) {
        return Some("a hook decides which tests run or what their results are");
    }
    if ast.grammar == Grammar::Go && name == "TestMain" {
        return test_main(ast, id);
    }
    let defines = || {
        ast.walk(id)
            .any(|n| ast.kind(n) == Kind::Call && ast.path(n) == "define_method")
    };
    if listed(FRAMEWORK, name) && ast.grammar != Grammar::Rust && !defines() {
        return Some("a function takes the place of the framework's own");
    }
    let autouse = ast.kids_of(id, Kind::Mark).any(|m| {
        let flat = ast.flat(m).replace(' ', "");
        flat.contains("fixture") && flat.contains("autouse=True")
    });
    if autouse && replaces(ast, id) {
        return Some("a fixture that every test gets replaces a part of the product");
    }
    let _ = file;
    None
}

/// The status of the run has to be the status of the process.
fn test_main(ast: &Ast<'_>, id: Id) -> Option<&'static str> {
    let calls: Vec<Id> = ast.walk(id).filter(|n| ast.kind(*n) == Kind::Call).collect();
    let runs = calls.iter().any(|c| ast.path(*c).ends_with(".Run"));
    let zero = calls
        .iter()
        .any(|c| ast.path(*c) == "os.Exit" && ast.kids(*c).get(1).is_some_and(|a| ast.kind(*a) == Kind::Number));
    // The number itself, or a name for it.
    let other = calls
        .iter()
        .any(|c| ast.path(*c) == "os.Exit" && ast.kids(*c).get(1).is_some_and(|a| ast.kind(*a) == Kind::Binary));
    if calls.iter().any(|c| sets_runner(ast, *c)) || ast.walk(id).any(|n| gives_arguments(ast, n)) {
        return Some("the set-up chooses which tests run");
    }
    (!runs || zero || other).then_some("the status of the tests is not the status of the run")
}

/// `flag.Set("test.run", "…")`, `flag.Lookup("test.short").Value.Set("true")`
fn sets_runner(ast: &Ast<'_>, call: Id) -> bool {
    let links = ast.chain(call);
    let sets = links.last().is_some_and(|l| l.name == "Set") && links.first().is_some_and(|l| l.name == "flag");
    let of_runner = |n: Id| ast.kind(n) == Kind::Text && literal::inner(ast.source(n)).starts_with("test.");
    sets && ast.walk(call).any(of_runner)
}

/// `os.Args = append(os.Args, "-test.run=…")`
fn gives_arguments(ast: &Ast<'_>, id: Id) -> bool {
    let target = ast.kids(id).first().filter(|_| ast.kind(id) == Kind::Assign);
    target.is_some_and(|t| ast.path(*t) == "os.Args")
}

/// Puts something in the place of a product's function or attribute, but not of a clock or a network.
fn replaces(ast: &Ast<'_>, id: Id) -> bool {
    ast.walk(id).filter(|n| ast.kind(*n) == Kind::Call).any(|call| {
        let path = ast.path(call);
        let patches = [
            "monkeypatch.setattr",
            "mocker.patch",
            "mock.patch",
            "patch",
            "patch.object",
            "mocker.patch.object",
            "setattr",
        ];
        let outside = [
            "time",
            "sleep",
            "requests",
            "httpx",
            "socket",
            "random",
            "datetime",
            "os",
            "environ",
            "uuid",
            "urllib",
            "subprocess",
            "boto3",
            "smtplib",
        ];
        let args = ast.kids(call).get(1..).unwrap_or_default();
        let target: String = args.iter().take(2).map(|a| ast.flat(*a)).collect::<Vec<_>>().join(".");
        let target = target.trim_matches('"');
        let words: Vec<&str> = target.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        patches.contains(&path.as_str()) && !words.iter().any(|w| outside.contains(w))
    })
}

fn assignment(ast: &Ast<'_>, id: Id) -> Option<&'static str> {
    let target = *ast.kids(id).first()?;
    let path = ast.path(target);
    let last = path.rsplit('.').next().unwrap_or_default();
    let root = path.split('.').next().unwrap_or_default();
    if gives_a_result(ast, id, &path, last) {
        return Some("a hook gives tests another result");
    }
    if matches!(path.as_str(), "collect_ignore" | "collect_ignore_glob") {
        return Some("files are left out of the collection");
    }
    if ast.kind(target) != Kind::Member {
        let lambda = ast
            .kids(id)
            .get(1)
            .is_some_and(|v| super::hollow::is_made_here(ast, *v));
        return (listed(FRAMEWORK, &path) && lambda).then_some("a function takes the place of the framework's own");
    }
    let framework = matches!(
        root,
        "global"
            | "globalThis"
            | "window"
            | "unittest"
            | "pytest"
            | "expect"
            | "assert"
            | "chai"
            | "RSpec"
            | "Minitest"
            | "jest"
            | "vi"
            | "builtins"
            | "process"
            | "sys"
            | "os"
            | "test"
            | "it"
            | "describe"
    );
    let taken = listed(FRAMEWORK, last)
        || matches!(
            last,
            "exit" | "_exit" | "exitCode" | "AssertionError" | "skip" | "only" | "runner"
        );
    (framework && taken).then_some("the framework or the exit status is replaced")
}

/// `result.state = "pass"` in a hook that runs around or after tests.
fn gives_a_result(ast: &Ast<'_>, id: Id, path: &str, last: &str) -> bool {
    let result = "state status outcome result passed failed err error errors failures failuremessages rerun";
    let of = "task result currenttest test report testresult ctx context meta";
    let named = listed(result, &last.to_lowercase())
        && path
            .to_lowercase()
            .split('.')
            .rev()
            .skip(1)
            .any(|part| listed(of, part));
    let good = ast.kids(id).get(1).is_some_and(|value| {
        let told = ast.source(*value).trim_matches(['"', '\'', '`', ':']).to_lowercase();
        listed(
            "pass passed skip skipped success true false 0 [] null undefined none nil",
            &told,
        )
    });
    let in_hook = || {
        ast.above(id).any(|up| match ast.kind(up) {
            Kind::Call => listed(
                "afterEach afterAll after teardown onTestFinished onTestFailed aroundEach after_each after_all",
                ast.chain(up).first().map_or("", |l| l.name),
            ),
            Kind::Function => listed("afterEach afterAll tearDown teardown after_each", ast.word(up)),
            _ => false,
        })
    };
    named && good && in_hook()
}

fn call(ast: &Ast<'_>, id: Id) -> Option<&'static str> {
    let path = ast.path(id);
    let links = ast.chain(id);
    let last = links.last()?;
    let args = last.args.clone().unwrap_or_default();
    if listed("run_with_retry retry_on", last.name) && last.args.is_some() {
        return Some("the set-up repeats tests until they pass");
    }
    if listed(CHOOSING, last.name) && links.len() > 1 {
        return Some("the set-up chooses which tests run, or repeats them");
    }
    match path.as_str() {
        "expect.extend" => {
            let own = args
                .iter()
                .flat_map(|a| ast.kids_of(*a, Kind::Pair).collect::<Vec<_>>())
                .any(|p| listed(FRAMEWORK, ast.word(p)) || listed(MATCHERS, ast.word(p)))
                || args
                    .iter()
                    .flat_map(|a| ast.kids_of(*a, Kind::Function).collect::<Vec<_>>())
                    .any(|f| listed(FRAMEWORK, ast.word(f)) || listed(MATCHERS, ast.word(f)));
            own.then_some("a matcher takes the place of the framework's own")
        }
        "process.exit" | "os._exit" | "sys.exit" | "exit!" | "at_exit" | "atexit.register" | "os.Exit"
        | "System.exit" => {
            let inside = ast.flat(id);
            let zero = ["( 0 )", "exit 0", "exit ( 0", "exit ! 0", "exit!", "_exit ( 0"]
                .iter()
                .any(|z| inside.contains(z));
            let main = ast
                .above(id)
                .any(|up| ast.kind(up) == Kind::Function && ast.word(up) == "TestMain");
            (zero && !main).then_some("the run ends with success whatever the tests say")
        }
        "process.on" | "process.once" => {
            let event = args.first().map(|a| literal::inner(ast.source(*a))).unwrap_or_default();
            let ends = ast.flat(id).contains("process . exit ( 0 )") || ast.flat(id).contains("exitCode = 0");
            (matches!(
                event,
                "exit" | "beforeExit" | "uncaughtException" | "unhandledRejection"
            ) && ends)
                .then_some("the run ends with success whatever the tests say")
        }
        "vi.mock" | "jest.mock" | "vi.doMock" | "jest.doMock" => {
            let module = args.first().map(|a| literal::inner(ast.source(*a))).unwrap_or_default();
            let libraries = [
                "@testing-library/",
                "vitest",
                "@jest/",
                "chai",
                "sinon",
                "@playwright/test",
                "expect",
                "node:test",
            ];
            let own = libraries
                .iter()
                .any(|l| module == *l || l.ends_with('/') && module.starts_with(l));
            own.then_some("a library of the tests themselves is replaced")
        }
        _ if super::swallow::is_global_handler(ast, id) => {
            Some("errors that nobody handles are silenced for all tests")
        }
        _ if last.name == "around" || last.name == "around_each" => {
            let swallows = args.iter().any(|a| ast.walk(*a).any(|n| ast.kind(n) == Kind::Catch));
            swallows.then_some("a hook around the tests swallows their failures")
        }
        _ => None,
    }
}

/// Classes by which a framework lets others change results.
fn class(ast: &Ast<'_>, id: Id) -> Option<&'static str> {
    let words = [
        "TestExecutionExceptionHandler",
        "InvocationInterceptor",
        "TestRule",
        "MethodRule",
        "ExecutionCondition",
        "IRetryAnalyzer",
        "IAnnotationTransformer",
        "LifecycleMethodExecutionExceptionHandler",
    ];
    let head: String = ast.source(id).chars().take(300).collect();
    let head = head.split('{').next().unwrap_or_default();
    if words.iter().any(|w| head.contains(w)) {
        return Some("an extension of the framework changes what a result is");
    }
    let reopened = [
        "RSpec::Core",
        "Minitest::Assertions",
        "Minitest::Test",
        "RSpec::Expectations",
        "MiniTest",
    ];
    let own = ast.grammar == Grammar::Ruby && !head.contains('<');
    (own && reopened.iter().any(|w| head.contains(w))).then_some("a class of the framework is opened again")
}

/// `macro_rules! assert_eq { … }`
fn definition(ast: &Ast<'_>, id: Id) -> Option<&'static str> {
    let source = ast.source(id);
    let name = source.strip_prefix("macro_rules!")?.trim_start();
    let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    listed(FRAMEWORK, &name).then_some("a macro takes the place of the framework's own")
}

/// The bar for coverage in a helper.
fn coverage(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let bars = |ast: &Ast<'_>| -> Vec<(Id, f64)> {
        let calls = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Call);
        let named = calls.filter(|c| {
            ast.path(*c)
                .rsplit('.')
                .next()
                .is_some_and(|n| n.starts_with("minimum_coverage"))
        });
        named
            .filter_map(|c| {
                let number = ast.walk(c).find(|n| ast.kind(*n) == Kind::Number)?;
                literal::value(ast.source(number)).map(|v| (c, v))
            })
            .collect()
    };
    let Some(old) = old else { return };
    let (was, is) = (bars(old), bars(new));
    let Some((id, bar)) = was.first().copied() else { return };
    match is.first() {
        Some((_, other)) if *other >= bar => {}
        found => {
            let at = found.map_or(Ast::ROOT, |(id, _)| *id);
            hits.push(
                reject("gate-weakened", new, at, "the bar for coverage is lower")
                    .change(&old.shown(id), &new.shown(at)),
            );
        }
    }
}
