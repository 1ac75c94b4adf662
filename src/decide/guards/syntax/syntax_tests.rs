//! Trees of small texts, written as words.

use super::{Ast, Grammar, Id, Kind, parse};

fn show(ast: &Ast<'_>, id: Id) -> String {
    let word = ast.word(id);
    let kids: Vec<String> = ast.kids(id).iter().map(|k| show(ast, *k)).collect();
    let leaf = matches!(ast.kind(id), Kind::Text | Kind::Number | Kind::Constant);
    let label = match ast.kind(id) {
        Kind::Name => ast.word(id).to_owned(),
        _ if leaf => ast.source(id).to_owned(),
        kind if word.is_empty() => format!("{kind:?}"),
        kind => format!("{kind:?}:{word}"),
    };
    if kids.is_empty() {
        label
    } else {
        format!("{label}({})", kids.join(" "))
    }
}

fn check(grammar: Grammar, text: &str, want: &str) {
    let ast = parse(text, grammar).unwrap();
    let got: Vec<String> = ast.kids(Ast::ROOT).iter().map(|k| show(&ast, *k)).collect();
    assert_eq!(got.join(" "), want, "{text}");
    assert!(!ast.broken, "{text}");
}

#[test]
fn one_call_in_every_language() {
    check(Grammar::Script, "a.b(1, 'x');", "Call(Member:b(a) 1 'x')");
    check(Grammar::Python, "a.b(1, k='x')", "Call(Member:b(a) 1 Pair:k(k 'x'))");
    check(
        Grammar::Ruby,
        "a.b(1) { |x| x }",
        "Call(Member:b(a) 1 Lambda(Params(x) Block(x)))",
    );
    let rust = "Function:f(Params Block(Call(Member:b(a) 1 \"x\")))";
    check(Grammar::Rust, "fn f() { a.b(1, \"x\"); }", rust);
    check(
        Grammar::Go,
        "package p\nfunc f() { a.b(1, \"x\") }",
        &format!("Other(p) {rust}"),
    );
    check(
        Grammar::Java,
        "class C { void f() { a.b(1, \"x\"); } }",
        &format!("Class:C(Block({rust}))"),
    );
}

#[test]
fn macros_are_calls() {
    check(
        Grammar::Rust,
        "#[test]\nfn f() { assert_eq!(g(vec![1, 2]), x); }",
        "Function:f(Mark(test) Params Block(Call(assert_eq Call(g List(1 2)) x)))",
    );
}

#[test]
fn branches_loops_and_handlers() {
    check(
        Grammar::Script,
        "if (a) { b(); } else c();",
        "If(a Block(Call(b)) Else(Call(c)))",
    );
    check(
        Grammar::Python,
        "if not a:\n    b\nelif c:\n    d\n",
        "If(Not:not(a) Block(b) Else(If(c Block(d))))",
    );
    check(Grammar::Ruby, "b unless a", "If(Not(a) b)");
    check(
        Grammar::Go,
        "package p\nfunc f() { if x := g(); x != 1 { return } }",
        "Other(p) Function:f(Params Block(If(Init(Assign(x Call(g))) Binary:!=(x 1) Block(Return))))",
    );
    check(
        Grammar::Python,
        "for a, b in c:\n    d()\n",
        "Loop(Bind(Bind(a b)) c Block(Call(d)))",
    );
    check(
        Grammar::Go,
        "package p\nfunc f() { for i, c := range x { g() } }",
        "Other(p) Function:f(Params Block(Loop(Bind(i c) x Block(Call(g)))))",
    );
    check(
        Grammar::Script,
        "try { a() } catch (e) { throw e }",
        "Try(Block(Call(a)) Catch(Block(Throw(e))))",
    );
    check(
        Grammar::Python,
        "try:\n    a()\nexcept (B, C) as e:\n    pass\n",
        "Try(Block(Call(a)) Catch(Types(Assign(e List(B C))) Block(Other)))",
    );
    check(
        Grammar::Ruby,
        "def f\n  a\nrescue B => e\n  c\nend",
        "Function:f(Block(Try(Block(a) Catch(Types(B) Block(c)))))",
    );
    check(
        Grammar::Java,
        "class C { void f() { try { a(); } catch (B e) { } } }",
        "Class:C(Block(Function:f(Params Block(Try(Block(Call(a)) Catch(Types(B) Block))))))",
    );
}

#[test]
fn marks_stand_at_what_they_mark() {
    check(
        Grammar::Python,
        "@a.b(1)\ndef f(x): pass\n",
        "Function:f(Mark(Call(Member:b(a) 1)) Params(x) Block(Other))",
    );
    check(
        Grammar::Java,
        "class C { @Test @Tag(\"x\") void f() {} }",
        "Class:C(Block(Function:f(Mark(Test) Mark(Tag Other(\"x\")) Params Block)))",
    );
}

#[test]
fn chains() {
    let ast = parse("expect(a.b).not.toBe(1);", Grammar::Script).unwrap();
    let names: Vec<(&str, bool)> = ast
        .chain(ast.kids(Ast::ROOT)[0])
        .iter()
        .map(|l| (l.name, l.args.is_some()))
        .collect();
    assert_eq!(names, [("expect", true), ("not", false), ("toBe", true)]);
    let ast = parse("it.each([1])('x', f)", Grammar::Script).unwrap();
    let names: Vec<(&str, bool)> = ast
        .chain(ast.kids(Ast::ROOT)[0])
        .iter()
        .map(|l| (l.name, l.args.is_some()))
        .collect();
    assert_eq!(names, [("it", false), ("each", true), ("", true)]);
}

#[test]
fn what_is_not_the_language_is_said() {
    for (grammar, text) in [
        (Grammar::Python, "def f(:\n  x ="),
        (Grammar::Rust, "fn f( { \"x"),
        (Grammar::Script, "let = ;;; {"),
    ] {
        assert!(parse(text, grammar).unwrap().broken, "{text}");
    }
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(parse(&deep, Grammar::Script).is_none());
}

#[test]
fn arms_have_patterns_and_a_body() {
    check(
        Grammar::Go,
        "package p\nfunc f(n int) int {\n\tswitch n {\n\tcase 10:\n\t\treturn 60 * s\n\t}\n\treturn 1\n}",
        "Other(p) Function:f(Params(Bind(n int)) Block(Switch(n Arm(10 Block(Return(Binary:*(60 s))))) Return(1)))",
    );
    check(
        Grammar::Script,
        "switch (n) { case 1: f(); break; default: g() }",
        "Switch(n Arm(1 Block(Call(f) Jump)) Arm(Block(Call(g))))",
    );
    check(
        Grammar::Rust,
        "fn f() { match n { 1 | 2 => g(), _ => {} } }",
        "Function:f(Params Block(Switch(n Arm(Other(1 2) Block(Call(g))) Arm(Block))))",
    );
}
