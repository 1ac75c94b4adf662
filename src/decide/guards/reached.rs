//! Leaves a mark in the functions in which an error was seen, so that a run tells whether a test comes there: a first
//! statement that makes an empty file.

use std::collections::BTreeSet;

use super::{
    path::normal,
    syntax::{Ast, Grammar, Id, Kind, parse},
};
use crate::model::signal::Culprit;

/// A file with marks in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    pub text: String,
    /// A file that has to stand in the same folder, with its text.
    pub beside: Option<(&'static str, String)>,
}

/// The names of what the functions at these places call, and what those call that stand in the same file: a value that is wrong
/// where it is used was made there, and no trace holds who made it.
pub fn called(path: &str, text: &str, places: &[&Culprit]) -> BTreeSet<String> {
    let path = normal(path.as_bytes());
    let Some(ast) = Grammar::of(&path).and_then(|grammar| parse(text, grammar)) else {
        return BTreeSet::new();
    };
    let mut open: Vec<Id> = places.iter().filter_map(|place| body_of(&ast, place)).collect();
    let mut names = BTreeSet::new();
    while let Some(body) = open.pop() {
        for call in ast.walk(body).filter(|id| ast.kind(*id) == Kind::Call) {
            let callee = ast.path(call);
            let name = callee.rsplit(['.', ':']).next().unwrap_or_default();
            if !name.is_empty() && names.insert(name.to_owned()) {
                open.extend(
                    functions(&ast)
                        .filter(|(id, _)| ast.word(*id) == name)
                        .map(|(_, body)| body),
                );
            }
        }
    }
    names
}

/// The file at `path` with a mark in each function that one of the places names, by its name or else by the line, and in each
/// of these names; none where there is no such function, or the language is not known well enough. `made` is the file that
/// the mark makes.
pub fn marked(path: &str, text: &str, places: &[&Culprit], names: &BTreeSet<String>, made: &str) -> Option<Marked> {
    // The path stands in quotes of every language.
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !made.chars().all(plain) {
        return None;
    }
    let path = normal(path.as_bytes());
    let ast = parse(text, Grammar::of(&path)?).filter(|ast| !ast.broken)?;
    let named = functions(&ast).filter(|(id, _)| names.contains(ast.word(*id)));
    let mut bodies: Vec<Id> = places
        .iter()
        .filter_map(|place| body_of(&ast, place))
        .chain(named.map(|(_, body)| body))
        .collect();
    bodies.sort_by_key(|body| ast.node(*body).start);
    bodies.dedup();
    let statement = statement(ast.grammar, &path, made);
    let mut out = text.to_owned();
    for body in bodies.iter().rev() {
        let (at, put) = insertion(&ast, *body, &statement);
        out.insert_str(at, &put);
    }
    let beside = (ast.grammar == Grammar::Go).then(|| go_file(text, made)).flatten();
    let whole = !bodies.is_empty() && (ast.grammar != Grammar::Go || beside.is_some());
    whole.then_some(Marked { text: out, beside })
}

/// Functions with a body of statements, outer ones first.
fn functions<'n>(ast: &'n Ast<'_>) -> impl Iterator<Item = (Id, Id)> + 'n {
    let all = ast.walk(Ast::ROOT);
    all.filter(|id| matches!(ast.kind(*id), Kind::Function | Kind::Lambda))
        .filter_map(|id| Some((id, ast.body(id).filter(|body| ast.kind(*body) == Kind::Block)?)))
}

/// The body of the function in which the place is.
fn body_of(ast: &Ast<'_>, place: &Culprit) -> Option<Id> {
    let functions = || functions(ast);
    let holds = |id: Id, line: u32| {
        let node = ast.node(id);
        let lines = ast.text[node.start..node.end].matches('\n').count();
        (node.line..=node.line + u32::try_from(lines).unwrap_or(u32::MAX - node.line)).contains(&line)
    };
    let name = place
        .function
        .as_deref()
        .map(|name| name.rsplit(['.', ':', ' ', '#']).next().unwrap_or(name));
    let named = name.map(|name| functions().filter(|(id, _)| ast.word(*id) == name).collect::<Vec<_>>());
    match named.as_deref() {
        Some([(_, body)]) => return Some(*body),
        // Of several with that name the one that holds the line.
        Some(several @ [_, ..]) => {
            let line = place.line?;
            return several
                .iter()
                .rev()
                .find(|(id, _)| holds(*id, line))
                .map(|(_, body)| *body);
        }
        Some([]) | None => {}
    }
    // The innermost one begins last.
    let line = place.line?;
    functions()
        .filter(|(id, _)| holds(*id, line))
        .last()
        .map(|(_, body)| body)
}

/// Where it is put, and how it is written there.
fn insertion(ast: &Ast<'_>, body: Id, statement: &str) -> (usize, String) {
    let start = ast.node(body).start;
    if ast.text[start..].starts_with('{') {
        return (start + 1, format!(" {statement}"));
    }
    let line = ast.text[..start].rfind('\n').map_or(0, |at| at + 1);
    let indent = &ast.text[line..start];
    if indent.trim().is_empty() {
        (start, format!("{statement}\n{indent}"))
    } else {
        (start, format!("{statement}; "))
    }
}

fn statement(grammar: Grammar, path: &str, made: &str) -> String {
    match grammar {
        Grammar::Script | Grammar::Tsx => {
            let typed = [".ts", ".tsx", ".mts", ".cts"].iter().any(|end| path.ends_with(end));
            let node = if typed {
                "(globalThis as any).process"
            } else {
                "globalThis.process"
            };
            format!("{node}.getBuiltinModule('node:fs').writeFileSync('{made}', '');")
        }
        Grammar::Python => format!("__import__('io').open('{made}', 'w').close()"),
        Grammar::Rust => format!("let _ = ::std::fs::write(\"{made}\", \"\");"),
        Grammar::Go => "tickCameHere();".to_owned(),
        Grammar::Java => {
            format!(
                "try {{ new java.io.FileOutputStream(\"{made}\").close(); }} catch (java.io.IOException tick) {{ }}"
            )
        }
        Grammar::Ruby => format!("File.write('{made}', '')"),
        Grammar::CSharp => format!("System.IO.File.WriteAllText(\"{made}\", \"\");"),
        Grammar::Php => format!("file_put_contents('{made}', '');"),
        Grammar::Kotlin => format!("java.io.File(\"{made}\").writeText(\"\");"),
    }
}

/// Go names what it imports at the top of a file.
fn go_file(text: &str, made: &str) -> Option<(&'static str, String)> {
    let package = text.lines().find_map(|line| line.strip_prefix("package "))?;
    let package = package.split_whitespace().next()?;
    let text = format!(
        "package {package}\n\nimport \"os\"\n\nfunc tickCameHere() {{ _ = os.WriteFile(\"{made}\", nil, 0o600) }}\n"
    );
    Some(("tick_came_here.go", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: Option<u32>, function: Option<&str>) -> Culprit {
        Culprit {
            file: String::new(),
            line,
            function: function.map(str::to_owned),
        }
    }

    fn at(path: &str, text: &str, line: u32) -> Option<String> {
        marked(path, text, &[&place(Some(line), None)], &BTreeSet::new(), "/w/.m").map(|marked| marked.text)
    }

    #[test]
    fn a_mark_is_the_first_statement_of_the_function() {
        let python = "__import__('io').open('/w/.m', 'w').close()";
        let script = "globalThis.process.getBuiltinModule('node:fs').writeFileSync('/w/.m', '');";
        for (path, text, line, wanted) in [
            (
                "a.py",
                "import x\n\ndef f(a):\n    \"\"\"Says.\"\"\"\n    if a:\n        return 1\n",
                6,
                format!("import x\n\ndef f(a):\n    {python}\n    \"\"\"Says.\"\"\"\n    if a:\n        return 1\n"),
            ),
            ("a.py", "def f(): return 1\n", 1, format!("def f(): {python}; return 1\n")),
            (
                "a.mjs",
                "export function f(a) {\n  return a.b;\n}\n",
                2,
                format!("export function f(a) {{ {script}\n  return a.b;\n}}\n"),
            ),
            (
                "a.rs",
                "impl A {\n    fn f(&self) -> u8 {\n        self.x[9]\n    }\n}\n",
                3,
                "impl A {\n    fn f(&self) -> u8 { let _ = ::std::fs::write(\"/w/.m\", \"\");\n        self.x[9]\n    }\n}\n".to_owned(),
            ),
            (
                "a.rb",
                "def f(a)\n  a.b\nend\n",
                2,
                "def f(a)\n  File.write('/w/.m', '')\n  a.b\nend\n".to_owned(),
            ),
        ] {
            assert_eq!(at(path, text, line), Some(wanted), "{path}");
        }
        let go = marked(
            "shop/a.go",
            "// Shop.\npackage shop\n\nfunc F(a []int) int {\n\treturn a[3]\n}\n",
            &[&place(Some(5), None)],
            &BTreeSet::new(),
            "/w/.m",
        );
        let go = go.unwrap();
        assert!(go.text.contains("int { tickCameHere();\n"), "{}", go.text);
        assert!(go.beside.unwrap().1.starts_with("package shop\n"));
        let typed = at("a.ts", "const f = (a: A) => {\n  return a.b;\n};\n", 2).unwrap();
        assert!(typed.contains("=> { (globalThis as any).process."), "{typed}");
    }

    #[test]
    fn a_name_outlives_the_line() {
        let text = "def f():\n    return 1\n\ndef g():\n    return 2\n";
        let moved = marked(
            "a.py",
            text,
            &[&place(Some(2), Some("Shop.g"))],
            &BTreeSet::new(),
            "/w/.m",
        )
        .unwrap();
        assert!(moved.text.find("__import__").unwrap() > moved.text.find("def g").unwrap());
        let both = marked(
            "a.py",
            text,
            &[&place(Some(2), None), &place(None, Some("g"))],
            &BTreeSet::new(),
            "/w/.m",
        )
        .unwrap();
        assert_eq!(both.text.matches("__import__").count(), 2);
    }

    /// The sum is wrong where it is made, and the error is raised where it is compared.
    #[test]
    fn what_the_place_calls_is_marked_too() {
        let text = "def total(e):\n    return add(e)\n\ndef add(e):\n    return 1\n\ndef other():\n    return 2\n\n\
                    def check(e):\n    if books.total(e) != 3:\n        raise E(e)\n";
        let names = called("a.py", text, &[&place(Some(12), Some("check"))]);
        assert!(
            ["total", "add", "E"].iter().all(|name| names.contains(*name)),
            "{names:?}"
        );
        let marked = marked("a.py", text, &[&place(Some(12), Some("check"))], &names, "/w/.m").unwrap();
        assert_eq!(marked.text.matches("__import__").count(), 3, "{}", marked.text);
        let (_, other) = marked.text.split_once("def other").unwrap();
        assert!(!other.split("def check").next().unwrap().contains("__import__"));
    }

    #[test]
    fn what_is_in_no_function_is_not_marked() {
        assert_eq!(at("a.py", "x = 1\ny = x / 0\n", 2), None);
        assert_eq!(at("a.py", "def f(:\n", 1), None);
        assert_eq!(at("a.zig", "fn f() void {\n}\n", 1), None);
        let text = "def f():\n    return 1\n";
        assert_eq!(
            marked("a.py", text, &[&place(Some(2), None)], &BTreeSet::new(), "/w/it's/.m"),
            None
        );
    }
}
