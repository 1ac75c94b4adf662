//! The other rules by cases, random spellings of sensitive paths, and plain diffs that must pass.

use super::{Diff, FileChange, GuardPolicy, Kinds, SENSITIVE, Side, judge, normal, split};
use crate::{
    model::evidence::{GuardReport, GuardVerdict},
    text::Redactor,
};

fn change(path: &str, old: Option<(u32, &[u8])>, new: Option<(u32, &[u8])>) -> FileChange {
    let side = |side: Option<(u32, &[u8])>| {
        side.map(|(mode, bytes)| Side {
            mode,
            bytes: bytes.to_vec(),
        })
    };
    FileChange {
        path: path.as_bytes().to_vec(),
        old: side(old),
        new: side(new),
    }
}

const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;

fn edit(path: &str, old: &str, new: &str) -> FileChange {
    change(path, Some((FILE, old.as_bytes())), Some((FILE, new.as_bytes())))
}

fn add(path: &str, new: &str) -> FileChange {
    change(path, None, Some((FILE, new.as_bytes())))
}

fn policy() -> &'static GuardPolicy {
    static POLICY: std::sync::OnceLock<GuardPolicy> = std::sync::OnceLock::new();
    POLICY.get_or_init(|| GuardPolicy::new([], 400, 120).unwrap())
}

fn report(changes: &[FileChange]) -> GuardReport {
    judge(&Diff::of(changes), policy(), &Redactor::default())
}

fn hits(changes: &[FileChange], rule: &str, verdict: GuardVerdict) {
    let report = report(changes);
    assert!(
        report.findings.iter().any(|f| f.rule == rule && f.verdict == verdict),
        "{rule} was expected: {report:?}"
    );
    assert!(report.verdict >= verdict);
}

fn accepted(changes: &[FileChange]) {
    let report = report(changes);
    assert_eq!((report.verdict, report.findings), (GuardVerdict::Accept, vec![]));
}

#[test]
fn size_in_lines_and_files() {
    let lines = |n: usize| (0..n).map(|i| format!("line {i}\n")).collect::<Vec<_>>().concat();
    hits(&[add("src/a.py", &lines(401))], "diff-size", GuardVerdict::NeedsHuman);
    hits(
        &[add("src/a.py", &lines(121))],
        "diff-size-merge",
        GuardVerdict::NeedsHuman,
    );
    accepted(&[add("src/a.py", &lines(120))]);
    accepted(&[edit("src/a.py", &lines(5000), &lines(5010))]);
    let files = |n: usize| (0..n).map(|i| add(&format!("src/{i}.py"), "x\n")).collect::<Vec<_>>();
    hits(&files(26), "too-many-files", GuardVerdict::NeedsHuman);
    accepted(&files(25));
    let report = report(&[
        edit("src/a.py", "a\nb\nc\n", "a\nx\ny\nc\n"),
        edit("src/b.py", "a\n", ""),
    ]);
    assert_eq!((report.added, report.removed), (2, 2));
    assert_eq!(report.paths, ["src/a.py", "src/b.py"]);
}

#[test]
fn sizes_of_lock_files_do_not_count() {
    let lines = "x\n".repeat(900);
    let report = report(&[add("package-lock.json", &lines)]);
    assert!(
        report.findings.iter().all(|f| f.rule == "dependency-change"),
        "{report:?}"
    );
}

#[test]
fn modes_links_and_binaries() {
    hits(
        &[change("a", None, Some((0o120_000, b"../../etc/passwd")))],
        "link",
        GuardVerdict::Reject,
    );
    hits(
        &[change("d/a", None, Some((0o120_000, b"/etc/passwd")))],
        "link",
        GuardVerdict::Reject,
    );
    hits(
        &[change("d/a", None, Some((0o120_000, b"../b")))],
        "link",
        GuardVerdict::NeedsHuman,
    );
    hits(
        &[change("sub", Some((0o160_000, b"")), Some((0o160_000, b"")))],
        "submodule",
        GuardVerdict::NeedsHuman,
    );
    hits(
        &[change("scripts/check", Some((PROGRAM, b"x")), Some((FILE, b"x")))],
        "exec-bit",
        GuardVerdict::Reject,
    );
    accepted(&[change("scripts/check", Some((FILE, b"x")), Some((PROGRAM, b"x")))]);
    hits(
        &[change("src/a.png", None, Some((FILE, b"\x89PNG\0")))],
        "binary",
        GuardVerdict::NeedsHuman,
    );
    hits(
        &[change("src/tool", None, Some((PROGRAM, b"\x7fELF\0")))],
        "binary",
        GuardVerdict::Reject,
    );
    hits(
        &[change("src/latin.py", None, Some((FILE, b"# caf\xe9\n")))],
        "binary",
        GuardVerdict::NeedsHuman,
    );
    accepted(&[change(
        "src/a.png",
        Some((FILE, b"\x89PNG\0")),
        Some((PROGRAM, b"\x89PNG\0")),
    )]);
    accepted(&[add("src/utf8.py", "# caf\u{e9}\n")]);
}

#[test]
fn hidden_characters_in_lines_and_names() {
    for text in [
        "if (x) \u{202e}// x\n",
        "a\u{200b}dmin = 1\n",
        "x = '\u{e0061}'\n",
        "a\u{7}b\n",
        "x\u{2028}y\n",
    ] {
        hits(&[add("src/a.js", text)], "hidden-character", GuardVerdict::Reject);
    }
    accepted(&[add(
        "src/a.js",
        "x = '\u{1f468}\u{200d}\u{1f469} \u{2764}\u{fe0f} caf\u{e9}\tend'\r\n",
    )]);
    // What stood there before is not this diff's.
    accepted(&[edit("src/a.js", "a\u{200b}\nb\n", "a\u{200b}\nc\n")]);
    hits(&[add("src/\u{202e}txt.sj", "x\n")], "path-name", GuardVerdict::Reject);
    hits(
        &[add("a.js\nb/.github/workflows/x.yml", "x\n")],
        "path-name",
        GuardVerdict::Reject,
    );
    hits(&[add("src\\a.js", "x\n")], "path-name", GuardVerdict::NeedsHuman);
    accepted(&[add("src/[id] (copy)/-rf.js", "x\n"), add("src/\u{e9}t\u{e9}.js", "x\n")]);
    let shown = report(&[add("src/\u{202e}txt.sj", "x\n")]).findings[0].path.clone();
    assert_eq!(shown, "src/\\u{202e}txt.sj");
    let odd = FileChange {
        path: b"src/\xff.js".to_vec(),
        ..add("x", "x\n")
    };
    hits(&[odd], "path-name", GuardVerdict::NeedsHuman);
}

#[test]
fn secrets_are_blocked_and_never_quoted() {
    let secret = secrecy::SecretString::from("fake-canary-value-0001");
    let redactor = Redactor::new([&secret]);
    let policy = policy();
    for change in [
        add("src/a.py", "x = 1\nKEY = 'fake-canary-value-0001'\n"),
        add("tests/fixtures/fake-canary-value-0001.txt", "x\n"),
        edit("tests/test_a.py", "x = 1\n", "x = 'fake-canary-value-0001'\n"),
    ] {
        let report = judge(&Diff::of([change]), policy, &redactor);
        assert!(
            report
                .findings
                .iter()
                .any(|f| f.rule == "secret" && f.verdict == GuardVerdict::Reject),
            "{report:?}"
        );
        assert!(!format!("{report:?}").contains("canary"), "{report:?}");
    }
    // Removing one, or leaving one where it was, is no finding; nor are addresses of people and machines.
    for change in [
        edit("src/a.py", "K = 'fake-canary-value-0001'\n", "K = env('K')\n"),
        edit(
            "src/a.py",
            "K = 'fake-canary-value-0001'\na\n",
            "K = 'fake-canary-value-0001'\nb\n",
        ),
        add("src/a.py", "BIND = '192.0.2.17'\nMAIL = 'someone@shop.example'\n"),
        add(
            "src/b.py",
            "def set_password(self, password: str) -> None:\n    self.password = hash_of(password)\n",
        ),
        add(
            "src/c.ts",
            "const token = await readToken(request);\nif (token.length === 0) throw new Error('no token');\n",
        ),
    ] {
        let report = judge(&Diff::of([change.clone()]), policy, &redactor);
        assert_eq!(report.findings, vec![], "{change:?}");
    }
}

#[test]
fn both_sides_of_a_rename_count() {
    let body = "x\n";
    let away = [
        change(".github/CODEOWNERS", Some((FILE, body.as_bytes())), None),
        add("docs/owners.txt", body),
    ];
    hits(&away, "sensitive-path", GuardVerdict::NeedsHuman);
    let into = [
        change("src/a.ts", Some((FILE, body.as_bytes())), None),
        add("web/src/auth/a.ts", body),
    ];
    hits(&into, "sensitive-path", GuardVerdict::NeedsHuman);
    hits(
        &[edit("package-lock.json", "a", "b")],
        "dependency-change",
        GuardVerdict::NeedsHuman,
    );
    hits(
        &[edit(".gitattributes", "", "* filter=x\n")],
        "sensitive-path",
        GuardVerdict::NeedsHuman,
    );
    hits(&[add(".gitmodules", "x\n")], "sensitive-path", GuardVerdict::NeedsHuman);
}

/// A small generator, so that a failing case comes back with its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % 1_000_003).unwrap() % n
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// A path that a pattern of the list means.
fn sample(pattern: &str, random: &mut Random) -> String {
    let mut out = pattern.to_owned();
    while let (Some(open), Some(close)) = (out.find('{'), out.find('}')) {
        let choices: Vec<String> = out[open + 1..close].split(',').map(str::to_owned).collect();
        let chosen = choices[random.below(choices.len())].clone();
        out.replace_range(open..=close, &chosen);
    }
    if let Some(rest) = out.strip_prefix("**/") {
        out = format!("{}{rest}", random.pick(&["", "apps/web/", "a/b/c/"]));
    }
    if let Some(rest) = out.strip_suffix("/**") {
        out = format!("{rest}/{}", random.pick(&["x.yml", "deep/er/y.ts", "Z"]));
    }
    out.replace('*', random.pick(&["x", "-two", "3.y"]))
}

/// Another spelling of the same path.
fn respell(path: &str, random: &mut Random) -> String {
    let mut out = String::new();
    for c in path.chars() {
        match random.below(6) {
            0 | 1 => out.extend(c.to_uppercase()),
            2 if c == '/' => out.push_str(random.pick(&["//", "/./", "\\", "/x/../", "./", " /"])),
            2 if c == 's' => out.push('\u{17f}'),
            2 if c == 'k' => out.push('\u{212a}'),
            3 => {
                out.push(c);
                out.push_str(random.pick(&["\u{200d}", "\u{feff}", "\u{200b}", "\u{2060}", ""]));
            }
            _ => out.push(c),
        }
    }
    format!(
        "{}{out}{}",
        random.pick(&["", "./", "/", "x/../"]),
        random.pick(&["", "", ".", " ", "::$DATA"])
    )
}

#[test]
fn a_thousand_spellings_of_each_sensitive_pattern_are_found() {
    let policy = GuardPolicy::new(["**/Ledger/**", "pay/caf\u{e9}.rs"], 400, 120).unwrap();
    let mut random = Random(0x5eed_1234_abcd_0001);
    let extra = ["**/ledger/**", "pay/cafe\u{301}.rs"];
    let mut seen = 0;
    for pattern in SENSITIVE.iter().copied().chain(extra) {
        for _ in 0..1000 {
            let plain = sample(pattern, &mut random);
            let path = respell(&plain, &mut random);
            seen += usize::from(path != plain);
            assert!(
                policy.sensitive.matches(&normal(path.as_bytes())),
                "{pattern}: {plain:?} as {path:?}"
            );
        }
    }
    // The generator does respell.
    assert!(seen > 90_000, "{seen}");
}

#[test]
fn two_hundred_plain_diffs_pass() {
    const DIRS: &[&str] = &[
        "src",
        "lib",
        "web/src/cart",
        "api/app",
        "core/src",
        "pkg/relay",
        "docs",
        "crates/engine/src",
        "internal/queue",
        "app/models",
    ];
    const NAMES: &[&str] = &[
        "total.py",
        "author.ts",
        "authority.rs",
        "deployer.go",
        "github_client.py",
        "license_check.ts",
        "makefile_parser.rs",
        "environment.go",
        "infrared.py",
        "latest.ts",
        "contest.py",
        "agents_list.tsx",
        "hooks.ts",
        "dockerfiles.py",
        "skip_list.rs",
        "migration_plan.md",
        "claude_client.py",
        "lockfile.ts",
        "workflow.go",
        "codeowner_report.rs",
    ];
    let mut count = 0;
    for dir in DIRS {
        for name in NAMES {
            let (old, new) = if name.rsplit('.').next() == Some("rs") {
                (
                    "fn a() -> u32 {\n    1\n}\n",
                    "fn a() -> u32 {\n    // skip nothing\n    [1, 2].iter().skip(1).sum()\n}\n",
                )
            } else {
                (
                    "a = 1\nb = 2\n",
                    "a = 1\nskip = only(2)\nb = \"DROP TABLE in a text\"\n",
                )
            };
            let file = format!("{dir}/{name}");
            accepted(&[
                edit(&file, old, new),
                add("tests/test_more.py", "def test_more():\n    assert 1 == 1\n"),
            ]);
            count += 1;
        }
    }
    assert_eq!(count, 200);
}

#[test]
fn a_diff_is_split_into_tests_and_source() {
    let kinds = Kinds::new([]).unwrap();
    let old = "pub fn total() -> u32 {\n    0\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {\n        assert!(true);\n    }\n}\n";
    let test = "    #[test]\n    fn b() {\n        assert_eq!(super::total(), 1);\n    }\n";
    let middle = old.replace("    }\n}\n", &format!("    }}\n\n{test}}}\n"));
    let new = middle.replace("    0\n", "    1\n");
    let changes = [
        edit("core/src/total.rs", old, &new),
        edit("core/src/plain.rs", "fn a() {}\n", "fn b() {}\n"),
        add("tests/test_new.py", "x\n"),
        edit("tests/data/rows.csv", "1\n", "1\n2\n"),
        edit("Cargo.toml", "[package]\n", "[package]\nname = \"a\"\n"),
    ];
    let parts = split(&changes, &kinds);
    let names = |list: &[FileChange]| list.iter().map(FileChange::shown).collect::<Vec<_>>();
    assert_eq!(
        names(&parts.test_part),
        ["core/src/total.rs", "tests/test_new.py", "tests/data/rows.csv"]
    );
    assert_eq!(
        names(&parts.source_part),
        ["core/src/total.rs", "core/src/plain.rs", "Cargo.toml"]
    );
    let text = |side: &Option<Side>| String::from_utf8(side.as_ref().unwrap().bytes.clone()).unwrap();
    assert_eq!(text(&parts.test_part[0].old), old);
    assert_eq!(text(&parts.test_part[0].new), middle);
    assert_eq!(text(&parts.source_part[0].old), middle);
    assert_eq!(text(&parts.source_part[0].new), new);

    // Only tests changed: no source part. Only source changed: no test part.
    let parts = split(&[edit("core/src/total.rs", old, &middle)], &kinds);
    assert_eq!((parts.test_part.len(), parts.source_part.len()), (1, 0));
    let parts = split(
        &[edit("core/src/total.rs", old, &old.replace("    0\n", "    1\n"))],
        &kinds,
    );
    assert_eq!((parts.test_part.len(), parts.source_part.len()), (0, 1));

    // The first tests of a file are put behind it.
    let bare = "pub fn total() -> u32 {\n    0\n}\n";
    let parts = split(&[edit("core/src/total.rs", bare, &new)], &kinds);
    let middle = text(&parts.test_part[0].new);
    assert!(
        middle.starts_with(bare) && middle.contains("fn b()") && middle.contains("#[cfg(test)]\nmod tests {"),
        "{middle}"
    );
}
