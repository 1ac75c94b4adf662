//! Rule `special-cased`: other ways for the source to find out that tests run: names put together from parts, globals of a
//! runner, the program that was started, the file that called.

use super::{
    detect::{is_runner_name, is_variable_name, starts_program},
    fresh, reject, words,
};
use crate::decide::guards::{
    Hit,
    listed::listed,
    syntax::{Ast, Grammar, Id, Kind, literal},
};

const WHY: &str = "the source looks whether tests run";

/// Globals that only a runner sets.
const GLOBALS: &str = "\
    __vitest_worker__ __vitest_environment__ __vitest_index__ __coverage__ __karma__ __jest__ __mocha__ jest vi describe \
    beforeEach afterEach jasmine QUnit RSpec Minitest PHPUnit";

/// Words that look for a part of a text.
const SEARCHES: &str = "\
    includes contains endsWith ends_with endswith startsWith starts_with startswith indexOf find match search test \
    end_with? start_with? include? match? HasSuffix HasPrefix Contains Ext suffix extname";

pub(super) fn check(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let kinds = [Kind::Binary, Kind::Call, Kind::Member, Kind::Index, Kind::Not, Kind::If];
    let found = fresh(old, new, &kinds).into_iter().find(|id| {
        put_together(new, *id)
            || asks_globals(new, *id)
            || by_program(new, *id)
            || by_place(new, *id)
            || by_build(new, *id)
    });
    if let Some(id) = found {
        hits.push(reject("special-cased", new, id, WHY));
    }
}

fn text<'a>(ast: &Ast<'a>, id: Id) -> Option<&'a str> {
    (ast.kind(id) == Kind::Text && ast.kids(id).is_empty()).then(|| literal::inner(ast.source(id)))
}

/// `"PYTEST" + "_CURRENT_TEST"`: nobody writes the name of a runner in two parts who does not hide it.
fn put_together(ast: &Ast<'_>, id: Id) -> bool {
    if ast.kind(id) != Kind::Binary || !matches!(ast.word(id), "+" | "." | "..") {
        return false;
    }
    let mut parts = Vec::new();
    folded(ast, id, &mut parts);
    let whole = parts.concat();
    let hides = |w: &str| is_variable_name(w) || is_runner_name(w);
    parts.len() > 1 && hides(&whole) && (is_variable_name(&whole) || !parts.iter().any(|p| hides(p)))
}

fn folded<'a>(ast: &Ast<'a>, id: Id, out: &mut Vec<&'a str>) {
    match text(ast, id) {
        Some(part) => out.push(part),
        None if ast.kind(id) == Kind::Binary => {
            for kid in ast.kids(id) {
                folded(ast, *kid, out);
            }
        }
        None => out.push("\u{0}"),
    }
}

/// `"__vitest_worker__" in globalThis`, `globalThis.describe`, `Object.const_defined?("Minitest")`
fn asks_globals(ast: &Ast<'_>, id: Id) -> bool {
    let global = |n: Id| {
        matches!(
            ast.path(n).as_str(),
            "globalThis" | "global" | "window" | "self" | "process.env"
        )
    };
    let named = |n: Id| text(ast, n).is_some_and(|t| listed(GLOBALS, t));
    match ast.kind(id) {
        Kind::Binary if ast.word(id) == "in" && ast.grammar.is_script() => {
            let [left, right] = ast.kids(id) else { return false };
            named(*left) && global(*right)
        }
        Kind::Member | Kind::Index if ast.grammar.is_script() => {
            let Some(object) = ast.kids(id).first() else {
                return false;
            };
            let own = listed(GLOBALS, ast.word(id)) || ast.kids(id).iter().skip(1).any(|k| named(*k));
            let set = ast
                .above(id)
                .next()
                .is_some_and(|up| ast.kind(up) == Kind::Assign && ast.kids(up)[0] == id);
            matches!(ast.path(*object).as_str(), "globalThis" | "global") && own && !set
        }
        Kind::Call if ast.grammar == Grammar::Ruby => {
            let last = ast.chain(id).last().map_or("", |l| l.name);
            listed("const_defined? const_get", last) && ast.kids(id).iter().skip(1).any(|a| named(*a))
        }
        _ => false,
    }
}

/// What the program was started as, searched for a part: its runner is meant, unless the file is a program itself.
fn by_program(ast: &Ast<'_>, id: Id) -> bool {
    let started = |n: Id| {
        let flat = ast.flat(n).replace(' ', "");
        [
            "process.argv[1]",
            "process.argv[0]",
            "sys.argv[0]",
            "os.Args[0]",
            "sys.executable",
        ]
        .iter()
        .any(|w| flat.contains(w))
            || ast.grammar == Grammar::Ruby && (flat.contains("$PROGRAM_NAME") || flat.contains("$0"))
    };
    match ast.kind(id) {
        Kind::Call => {
            let searches = ast.chain(id).last().is_some_and(|l| listed(SEARCHES, l.name));
            let own = ast.flat(id).contains("__FILE__") || ast.flat(id).contains("__filename");
            searches && started(id) && !own && ast.walk(id).any(|n| text(ast, n).is_some()) && !is_program(ast)
        }
        Kind::Not | Kind::Binary => {
            let flat = ast.flat(id).replace(' ', "");
            let logical = matches!(ast.word(id), "&&" | "||" | "and" | "or" | "??");
            flat.contains("process.execArgv") && !logical && !starts_program(ast)
        }
        _ => false,
    }
}

/// It is started itself; to look for `__main__` in the arguments is no sign of it.
fn is_program(ast: &Ast<'_>) -> bool {
    let main = |n: &Id| ast.kind(*n) == Kind::Function && matches!(ast.word(*n), "main" | "cli" | "run_cli");
    let words = [
        "__name__ ==",
        "require.main",
        "#!/",
        "package main",
        "__FILE__ ==",
        "import.meta.main",
        "argparse",
    ];
    ast.walk(Ast::ROOT).any(|n| main(&n)) || words.iter().any(|w| ast.text.contains(w))
}

/// The file that called, or the running program, beside a word for tests in one function.
fn by_place(ast: &Ast<'_>, id: Id) -> bool {
    let looks = match ast.kind(id) {
        Kind::Call => {
            let path = ast.path(id);
            matches!(
                path.as_str(),
                "runtime.Caller" | "os.Executable" | "runtime.FuncForPC" | "debug.ReadBuildInfo"
            ) || ast.grammar == Grammar::Rust && path.ends_with("current_exe")
        }
        // The stack of an error that is made for nothing else.
        Kind::Member => {
            let source = ast.source(id).replace(' ', "");
            let made = ["newError()", "Error()", "(newError())"]
                .iter()
                .any(|w| source.starts_with(w));
            ast.grammar.is_script() && ast.word(id) == "stack" && made
        }
        _ => false,
    };
    if !looks {
        return false;
    }
    let within = |n: Id| matches!(ast.kind(n), Kind::Function | Kind::Lambda);
    let around = ast.above(id).filter(|up| within(*up)).last().unwrap_or(Ast::ROOT);
    ast.walk(around).any(|n| {
        let said = text(ast, n).map(str::to_lowercase).unwrap_or_default();
        said.len() <= 24 && (is_runner_name(&said) || said.contains("test") || said.contains("spec"))
    })
}

/// `if cfg!(debug_assertions) { return 3; }`: a build for tests has another result.
fn by_build(ast: &Ast<'_>, id: Id) -> bool {
    if ast.grammar != Grammar::Rust || ast.kind(id) != Kind::If {
        return false;
    }
    let [condition, then, ..] = ast.kids(id) else {
        return false;
    };
    let debug = ast.flat(*condition).replace(' ', "").contains("(debug_assertions)");
    let constant = |n: Id| {
        let value = match ast.kind(n) {
            Kind::Return => ast.kids(n).first().copied(),
            _ => Some(n),
        };
        value.is_some_and(|v| matches!(ast.kind(v), Kind::Number | Kind::Text | Kind::Constant))
    };
    let statements = ast.statements(*then);
    debug && statements.last().is_some_and(|s| constant(*s)) && !words(ast, *then).contains(&"println")
}
