//! The same check in another form passes; beside each one that looks like it and checks less.

use super::{Diff, FileChange, GuardPolicy, Side, judge};
use crate::{model::evidence::GuardVerdict, text::Redactor};

fn verdict(path: &str, old: &str, new: &str) -> GuardVerdict {
    let side = |text: &str| {
        Some(Side {
            mode: 0o100_644,
            bytes: text.as_bytes().to_vec(),
        })
    };
    let change = FileChange {
        path: path.as_bytes().to_vec(),
        old: side(old),
        new: side(new),
    };
    let policy = GuardPolicy::anybody([]).unwrap();
    judge(&Diff::of([change]), &policy, &Redactor::default()).verdict
}

/// A test of the base, one that may take its place, and one that may not.
fn check(path: &str, around: [&str; 2], base: &str, honest: &str, less: &str) {
    let whole = |body: &str| format!("{}{body}{}", around[0], around[1]);
    let base = whole(base);
    assert_eq!(verdict(path, &base, &whole(honest)), GuardVerdict::Accept, "{honest}");
    assert_eq!(verdict(path, &base, &whole(less)), GuardVerdict::Reject, "{less}");
}

#[test]
fn go_in_the_words_of_its_libraries() {
    let around = [
        "package a\n\nfunc TestA(t *testing.T) {\n\tgot, err := Load(\"x\")\n",
        "}\n",
    ];
    check(
        "a/a_test.go",
        around,
        "\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif got != 3 {\n\t\tt.Error(got)\n\t}\n",
        "\trequire.NoError(t, err)\n\trequire.Equal(t, 3, got)\n",
        "\trequire.NoError(t, err)\n\trequire.NotNil(t, got)\n",
    );
    check(
        "a/a_test.go",
        around,
        "\tif diff := cmp.Diff([]int{5, 7}, got.Rows); diff != \"\" {\n\t\tt.Error(diff)\n\t}\n\t_ = err\n",
        "\tif want := []int{5, 7}; !slices.Equal(got.Rows, want) {\n\t\tt.Error(got)\n\t}\n\t_ = err\n",
        "\tif len(got.Rows) != 2 {\n\t\tt.Error(got)\n\t}\n\t_ = err\n",
    );
}

#[test]
fn kotest_reads_marks_in_titles_and_options_behind_them() {
    let around = ["class ASpec : FunSpec({\n", "\n})\n"];
    let body = "{ total(2) shouldBe 4 }";
    for (honest, less) in [
        ("test(\"adds!\")", "test(\"!adds\")"),
        ("test(\"of: adds\")", "test(\"f:adds\")"),
        (
            "test(\"adds\").config(enabled = true)",
            "test(\"adds\").config(enabled = false)",
        ),
    ] {
        check(
            "src/test/kotlin/ASpec.kt",
            around,
            &format!("test(\"adds\") {body}"),
            &format!("{honest} {body}"),
            &format!("{less} {body}"),
        );
    }
}

#[test]
fn doubles_of_csharp_are_asked() {
    let around = [
        "public class ATests\n{\n    [Fact]\n    public void Sends()\n    {\n        _unit.Send(\"a\");\n",
        "    }\n}\n",
    ];
    check(
        "tests/ATests.cs",
        around,
        "        _bank.Received(1).Collect(\"a\", 9);\n",
        "        _bank.Received(1).Collect(\"a\", 9);\n        _bank.DidNotReceive().Cancel();\n",
        "        _bank.ReceivedWithAnyArgs().Collect(default, default);\n",
    );
    check(
        "tests/ATests.cs",
        around,
        "        Assert.That(_unit.Count, Is.EqualTo(7));\n",
        "        Assert.AreEqual(7, _unit.Count);\n",
        "        Assert.That(_unit.Count, Is.Not.Null);\n",
    );
}

#[test]
fn tests_without_a_grammar_are_told_by_what_stands_in_their_lines() {
    let around = ["@test \"saves\" {\n  run bin/save\n", "}\n"];
    check(
        "test/save.bats",
        around,
        "  [ \"$status\" -ne 0 ]\n  [ \"$output\" = \"no directory\" ]\n",
        "  [ \"$status\" -eq 66 ]\n  [ \"$output\" = \"no directory\" ]\n",
        "  [ \"$status\" -ne 0 ]\n",
    );
}

#[test]
fn a_program_is_asked_for_all_that_it_prints() {
    let around = ["#[test]\nfn tells() {\n    run().arg(\"2\").assert()", ";\n}\n"];
    check(
        "tests/run.rs",
        around,
        ".failure().code(2).stderr(predicate::str::contains(\"unknown\"))",
        ".failure().code(2).stderr(\"2: unknown\\n\")",
        ".failure().stderr(predicate::str::contains(\"unknown\"))",
    );
}
