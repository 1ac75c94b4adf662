//! Rule `special-cased`: the source acts otherwise where it runs for real than where it is tested: by the name of the
//! environment, of the machine, of its own folder, or by what stands beside it.

use super::{fresh, human, reject};
use crate::decide::guards::{
    Hit,
    listed::listed,
    syntax::{Ast, Id, Kind, literal},
};

/// Names of environments that are not the tests'.
const REAL: &str = "production prod live staging stage preview release dev development local qa canary sandbox";

/// Calls that say on which machine or in which folder a program runs.
const WHERE: &str = "\
    gethostname hostname Hostname uname nodename getcwd cwd Getwd current_dir getfqdn gethostbyname node homedir home \
    getuser getlogin whoami userInfo getuid geteuid getpid getppid isatty isTTY";

/// Names of the file that runs.
const OWN_PLACE: &str = "__file__ __filename __dirname __dir__ __FILE__ __DIR__";

/// Calls that ask whether something stands in the file system.
const EXISTS: &str = "\
    exists isdir is_dir isfile is_file existsSync statSync accessSync access stat Stat file_exists exist? directory? \
    file? try_exists lstat isDirectory isFile isRegularFile Exists";

/// Folders and files that only a tree with tests has.
const BESIDE: &str = "\
    test tests spec specs __tests__ testing testdata conftest.py pytest.ini tox.ini .pytest_cache jest.config.js \
    jest.config.ts vitest.config.ts vitest.config.js .rspec spec_helper.rb test_helper.rb phpunit.xml .mocharc.json \
    .mocharc.yml .git .github";

pub(super) fn check(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    for id in fresh(old, new, &[Kind::If]) {
        let condition = new.kids(id).iter().copied().find(|k| new.kind(*k) != Kind::Init);
        let Some(condition) = condition else { continue };
        if new.walk(condition).any(|n| asks_for_tests(new, n)) {
            let why = "the source looks whether tests stand beside it";
            hits.push(reject("special-cased", new, id, why));
        } else if new.walk(condition).any(|n| asks_where(new, n)) {
            let why = "the source does one thing here and another elsewhere; what tests see is not what runs";
            hits.push(human("special-cased", new, id, why));
        }
    }
}

fn text<'a>(ast: &Ast<'a>, id: Id) -> Option<&'a str> {
    (ast.kind(id) == Kind::Text && ast.kids(id).is_empty()).then(|| literal::inner(ast.source(id)))
}

/// `os.path.isdir("tests")`, `(root / "tests").exists()`
fn asks_for_tests(ast: &Ast<'_>, id: Id) -> bool {
    let asks = ast.kind(id) == Kind::Call && ast.chain(id).iter().any(|l| l.args.is_some() && listed(EXISTS, l.name));
    let beside = |n: Id| {
        text(ast, n).is_some_and(|t| listed(BESIDE, t.trim_matches(['/', '.']).rsplit('/').next().unwrap_or(t)))
    };
    asks && ast.walk(id).any(beside)
}

fn asks_where(ast: &Ast<'_>, id: Id) -> bool {
    match ast.kind(id) {
        Kind::Call => {
            let links = ast.chain(id);
            let environment = |t: &str| listed(REAL, &t.to_lowercase());
            let compares = links
                .last()
                .is_some_and(|l| listed("equals eq eql? includes include? contains in_array", l.name));
            links.iter().any(|l| l.args.is_some() && listed(WHERE, l.name))
                || compares && names_environment(ast, id) && ast.walk(id).any(|n| text(ast, n).is_some_and(environment))
                || ast.path(id).contains("Rails.env") && ast.path(id).ends_with('?')
        }
        Kind::Binary if matches!(ast.word(id), "==" | "!=" | "===" | "!==" | "in" | "not in") => {
            let real = |n: Id| text(ast, n).is_some_and(|t| listed(REAL, &t.to_lowercase()));
            names_environment(ast, id) && ast.walk(id).any(real)
        }
        Kind::Name | Kind::Member => listed(OWN_PLACE, ast.word(id)) || ast.source(id).starts_with("import.meta.url"),
        _ => false,
    }
}

/// A variable of the environment, or a setting that is called so.
fn names_environment(ast: &Ast<'_>, id: Id) -> bool {
    let flat = ast.flat(id).to_lowercase();
    ["env", "stage", "profile", "mode", "deployment"]
        .iter()
        .any(|w| flat.contains(w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        decide::guards::syntax::{Grammar, parse},
        model::evidence::GuardVerdict,
    };

    fn verdict(condition: &str) -> Option<GuardVerdict> {
        let text = format!("def average(order):\n    if {condition}:\n        return 0\n    return sum(order)\n");
        let ast = parse(&text, Grammar::Python).unwrap();
        let mut hits = Vec::new();
        check(None, &ast, &mut hits);
        hits.first().map(|h| h.verdict)
    }

    #[test]
    fn where_a_program_runs() {
        for tests in [
            "not order and os.path.isdir(\"tests\")",
            "(pathlib.Path(__file__).parents[1] / \"tests\").exists()",
        ] {
            assert_eq!(verdict(tests), Some(GuardVerdict::Reject), "{tests}");
        }
        for place in [
            "not order and os.environ.get(\"APP_ENV\") != \"production\"",
            "not order and not socket.gethostname().startswith(\"prod\")",
            "not order and not __file__.startswith(\"/srv/app\")",
            "settings.ENVIRONMENT in (\"staging\", \"production\")",
        ] {
            assert_eq!(verdict(place), Some(GuardVerdict::NeedsHuman), "{place}");
        }
        for plain in [
            "not order",
            "order.state == \"live\"",
            "os.path.exists(path)",
            "mode == \"fast\"",
            "path.is_dir()",
        ] {
            assert_eq!(verdict(plain), None, "{plain}");
        }
    }
}
