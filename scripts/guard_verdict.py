"""The bench guard-verdict: `tick guard` on a diff of 400 lines in a tree of 10,000 files of five languages.

The tree is made up by a fixed seed: packages of sources and tests that import each other, settings of their runners,
prose and data. The diff mends some functions, and adds a test to each package it touches; nothing in it is to be stopped.
"""

import pathlib
import random
import subprocess

SEED = 20261130
FILES = 10_000
LINES = 400


def run(options, tick, scratch, median):
    base = scratch / "base"
    tree = Tree(base)
    tree.write()
    diff = scratch / "change.diff"
    lines = tree.change(diff)
    argv = [str(tick), "guard", "--base", str(base), "--diff", str(diff)]
    said = subprocess.run(argv, capture_output=True, text=True).stdout.strip()
    wall, cpu, peak = median(argv, options.runs)
    print(f"guard verdict: {tree.count} files, {lines} changed lines, answer {said[:60]}")
    print(f"{wall:.1f} ms wall, {cpu:.1f} ms CPU, {peak:.1f} MB (aim: 100 ms, 200 MB), median of {options.runs}")


class Tree:
    def __init__(self, root):
        self.root = root
        self.random = random.Random(SEED)
        self.count = 0
        self.files = {}

    def put(self, path, text):
        self.files[path] = text
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.count += 1

    def write(self):
        self.put("package.json", '{"name": "all", "scripts": {"test": "vitest run"}, "workspaces": ["web/*"]}\n')
        self.put("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["py"]\n')
        self.put("go.mod", "module example.org/all\n\ngo 1.22\n")
        self.put(".github/workflows/ci.yml", "on: push\njobs:\n  test:\n    steps:\n      - run: make test\n")
        package = 0
        makers = [self.script, self.python, self.go, self.java, self.rust]
        while self.count < FILES:
            makers[package % len(makers)](package)
            package += 1

    def functions(self, package, module, form):
        numbers = range(self.random.randrange(12, 20))
        return "\n".join(form.format(n=n, k=self.random.randrange(1, 99), p=package, m=module) for n in numbers)

    def script(self, p):
        self.put(f"web/p{p}/package.json", f'{{"name": "p{p}", "scripts": {{"test": "vitest run"}}}}\n')
        self.put(f"web/p{p}/README.md", "# A package\n")
        form = "export function f{n}(x: number): number {{\n  if (x < {k}) {{\n    return x + {k};\n  }}\n  return x * 2;\n}}\n"
        for m in range(9):
            head = f'import {{ f0 as g }} from "./m{m - 1}";\n' if m else ""
            self.put(f"web/p{p}/src/m{m}.ts", head + self.functions(p, m, form))
            test = f'import {{ f0, f1 }} from "../src/m{m}";\n\ndescribe("m{m}", () => {{\n'
            for n in range(6):
                test += f'  it("counts {n}", () => {{\n    expect(f{n % 2}({n * 200})).toBe({n * 400});\n  }});\n'
            self.put(f"web/p{p}/test/m{m}.test.ts", test + "});\n")

    def python(self, p):
        self.put(f"py/p{p}/__init__.py", "")
        self.put(f"py/p{p}/conftest.py", "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n")
        form = "def f{n}(x):\n    if x < {k}:\n        return x + {k}\n    return x * 2\n\n"
        for m in range(9):
            head = f"from .m{m - 1} import f0 as g\n\n" if m else ""
            self.put(f"py/p{p}/m{m}.py", head + self.functions(p, m, form))
            test = f"from p{p}.m{m} import f0, f1\n\n"
            for n in range(6):
                test += f"\ndef test_{n}(one):\n    assert f{n % 2}({n * 200}) == {n * 400}\n"
            self.put(f"py/p{p}/test_m{m}.py", test)

    def go(self, p):
        form = "func F{m}{n}(x int) int {{\n\tif x < {k} {{\n\t\treturn x + {k}\n\t}}\n\treturn x * 2\n}}\n"
        for m in range(9):
            self.put(f"go/p{p}/m{m}.go", f"package p{p}\n\n" + self.functions(p, m, form))
            test = f'package p{p}\n\nimport "testing"\n'
            for n in range(6):
                test += f"\nfunc TestM{m}{n}(t *testing.T) {{\n\tif F{m}{n % 2}({n * 200}) != {n * 400} {{\n\t\tt.Fatal(\"no\")\n\t}}\n}}\n"
            self.put(f"go/p{p}/m{m}_test.go", test)

    def java(self, p):
        form = "    static int f{n}(int x) {{\n        if (x < {k}) {{\n            return x + {k};\n        }}\n        return x * 2;\n    }}\n"
        for m in range(9):
            head = f"package org.p{p};\n\n"
            self.put(f"java/p{p}/src/main/java/org/p{p}/M{m}.java", f"{head}class M{m} {{\n{self.functions(p, m, form)}}}\n")
            test = f"{head}import org.junit.jupiter.api.Test;\n\nclass M{m}Test {{\n"
            for n in range(6):
                test += f"    @Test\n    void counts{n}() {{\n        assertEquals({n * 400}, M{m}.f{n % 2}({n * 200}));\n    }}\n"
            self.put(f"java/p{p}/src/test/java/org/p{p}/M{m}Test.java", test + "}\n")

    def rust(self, p):
        self.put(f"crates/p{p}/Cargo.toml", f'[package]\nname = "p{p}"\nversion = "0.1.0"\n')
        self.put(f"crates/p{p}/src/lib.rs", "".join(f"pub mod m{m};\n" for m in range(9)))
        form = "pub fn f{n}(x: u32) -> u32 {{\n    if x < {k} {{\n        return x + {k};\n    }}\n    x * 2\n}}\n"
        for m in range(9):
            self.put(f"crates/p{p}/src/m{m}.rs", self.functions(p, m, form))
            test = f"use p{p}::m{m}::{{f0, f1}};\n"
            for n in range(6):
                test += f"\n#[test]\nfn counts_{n}() {{\n    assert_eq!(f{n % 2}({n * 200}), {n * 400});\n}}\n"
            self.put(f"crates/p{p}/tests/m{m}.rs", test)

    def change(self, diff):
        """A function in each of some sources gets one more case, and its test file one more test."""
        head = self.root.parent / "head"
        changed = 0
        parts = []
        sources = [path for path in sorted(self.files) if self.mended(path) is not None]
        for path in self.random.sample(sources, 40):
            pair = [self.part(head, name, text) for name, text in self.mended(path)]
            more = sum(lines for _, lines in pair)
            if changed + more > LINES or len(parts) > 22:
                continue
            changed += more
            parts += [part for part, _ in pair]
        pathlib.Path(diff).write_text("".join(parts))
        return changed

    def part(self, head, name, text):
        """One file of the diff, and how many lines change in it."""
        old, new = self.root / name, head / name
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text)
        argv = ["git", "diff", "--no-index", "--no-prefix", str(old), str(new)]
        part = subprocess.run(argv, capture_output=True, text=True).stdout
        for folder, side in ((self.root, "a"), (head, "b")):
            part = part.replace(str(folder), side).replace(str(folder).lstrip("/"), side)
        return part, sum(line[:1] in "+-" and line[:3] not in ("+++", "---") for line in part.splitlines())

    def mended(self, path):
        """Source and test with what is new, or None for what is no source."""
        stem, _, kind = path.rpartition(".")
        place, _, module = stem.rpartition("/")
        names = {
            "ts": (f"{place[:-4]}/test/{module}.test.ts", "test"),
            "py": (f"{place}/test_{module}.py", "test_"),
            "go": (f"{place}/{module}_test.go", "_test"),
            "java": (f"{place.replace('/main/', '/test/')}/{module}Test.java", "Test"),
            "rs": (f"{place[:-4]}/tests/{module}.rs", "tests/"),
        }
        if kind not in names or names[kind][1] in path or names[kind][0] not in self.files:
            return None
        test = names[kind][0]
        old, old_test = self.files[path], self.files[test]
        new = "".join(line + self.more(kind, line) for line in old.splitlines(True))
        return [(path, new), (test, self.one_more(kind, module, old_test))]

    @staticmethod
    def more(kind, line):
        if not line.strip().startswith("if "):
            return ""
        pad = line[: len(line) - len(line.lstrip())]
        return {
            "py": f"{pad}    x = abs(x)\n{pad}    x = min(x, 1000)\n",
            "go": f"{pad}\tx = max(x, 0)\n{pad}\tx = min(x, 1000)\n",
            "rs": f"{pad}    let x = x.max(1);\n{pad}    let x = x.min(1000);\n",
            "java": f"{pad}    x = Math.max(x, 0);\n{pad}        x = Math.min(x, 1000);\n",
            "ts": f"{pad}  x = Math.max(x, 0);\n{pad}    x = Math.min(x, 1000);\n",
        }[kind]

    @staticmethod
    def one_more(kind, module, text):
        m = module.lstrip("mM")
        new = {
            "ts": '  it("takes a large number", () => {\n    expect(f0(5000)).toBe(10000);\n  });\n});\n',
            "py": "\n\ndef test_large():\n    assert f0(5000) == 10000\n",
            "go": f"\nfunc TestLarge{m}(t *testing.T) {{\n\tif F{m}0(5000) != 10000 {{\n\t\tt.Fatal(\"no\")\n\t}}\n}}\n",
            "java": f"    @Test\n    void takesLarge() {{\n        assertEquals(10000, M{m}.f0(5000));\n    }}\n}}\n",
            "rs": "\n#[test]\nfn a_large_number() {\n    assert_eq!(f0(5000), 10000);\n}\n",
        }[kind]
        body = text[: text.rstrip().rfind("}")] if kind in ("ts", "java") else text
        return body + new
