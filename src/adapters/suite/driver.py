# Runs unittest exactly as `python -m unittest ARGS` would and writes what happened to each test, one JSON object a
# line, to a file outside the tree. Read once at the start from standard input: where to write, a word that seals it, and
# (for a run of new files alone) which files count. Works from Python 3.8 on.
import traceback
import unittest
import unittest.case
import unittest.loader
import unittest.suite


def main():
    order = json.loads(sys.stdin.readline())
    line, end = sealed(order["report"], order.pop("nonce"))
    only = {os.path.realpath(path) for path in order["only"]}
    ids = order["ids"]
    home = os.path.realpath(os.getcwd())
    written = [0]
    intact = Intact("unittest")
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.getcwd()

    def emit(**fields):
        line(fields)

    def result(test, status, **fields):
        written[0] += 1
        emit(id=test.id(), status=status, **fields)

    def load(name, message):
        written[0] += 1
        emit(load=name, message=message)

    def problem(test, status, err):
        text = "".join(traceback.format_exception(*err))
        if isinstance(test, unittest.loader._FailedTest):
            load(test._testMethodName, last_line(text))
        elif isinstance(test, unittest.suite._ErrorHolder):
            load(test.id(), last_line(text))
        else:
            owner = getattr(test, "test_case", test)
            inside = raised_by_method(owner, err[2])
            failed = issubclass(err[0], getattr(owner, "failureException", AssertionError))
            asserted = inside and failed and raised_in_test_code(owner, err[2], home)
            result(
                test,
                status if inside else "error",
                inside=inside,
                assertion=asserted,
                kind=kind_of(err[0]),
                message=text_of(err[1]),
                trace=text[-8000:],
            )

    class Recorder(unittest.TextTestResult):
        told = True

        def startTest(self, test):
            super().startTest(test)
            self.told = False
            emit(start=test.id())

        def stopTest(self, test):
            super().stopTest(test)
            # Only subtests failed: they carry their own ids, the body around them did what it should.
            if not self.told:
                result(test, "pass")

        def own(self, test):
            if not hasattr(test, "test_case"):
                self.told = True

        def addSuccess(self, test):
            super().addSuccess(test)
            self.own(test)
            result(test, "pass")

        def addFailure(self, test, err):
            super().addFailure(test, err)
            self.own(test)
            problem(test, "fail", err)

        def addError(self, test, err):
            super().addError(test, err)
            self.own(test)
            problem(test, "error", err)

        def addSkip(self, test, reason):
            super().addSkip(test, reason)
            self.own(test)
            result(test, "skip", message=str(reason))

        def addExpectedFailure(self, test, err):
            super().addExpectedFailure(test, err)
            self.own(test)
            result(test, "pass")

        def addUnexpectedSuccess(self, test):
            super().addUnexpectedSuccess(test)
            self.own(test)
            result(test, "fail", kind="UnexpectedSuccess", message="passes, but is marked as an expected failure")

        def addSubTest(self, test, subtest, err):
            super().addSubTest(test, subtest, err)
            if err is None:
                result(subtest, "pass")
            else:
                problem(subtest, "fail" if issubclass(err[0], test.failureException) else "error", err)

    class Runner(unittest.TextTestRunner):
        resultclass = Recorder

        def __init__(self, *args, **named):
            named["failfast"] = False
            super().__init__(*args, **named)

    class Loader(unittest.TestLoader):
        def _match_path(self, path, full_path, pattern):
            wanted = not only or os.path.realpath(full_path) in only
            return wanted and super()._match_path(path, full_path, pattern)

    class Program(unittest.TestProgram):
        def createTests(self, *args, **named):
            super().createTests(*args, **named)
            if only:
                self.test = unittest.TestSuite(kept(self.test, only))
            if ids:
                self.test = unittest.TestSuite(chosen(self.test, ids))

    program = Program(
        module=None,
        argv=["python -m unittest"] + sys.argv[1:],
        testRunner=Runner,
        testLoader=Loader(),
        exit=False,
    )
    outcome = program.result
    changed = intact.changed()
    if changed:
        load("unittest", "what is tested changed " + changed)
    end(written[0])
    if outcome.testsRun == 0 and not outcome.skipped and outcome.wasSuccessful():
        sys.exit(5)
    sys.exit(0 if outcome.wasSuccessful() and not changed else 1)


def kept(tests, only):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from kept(test, only)
        elif isinstance(test, unittest.loader._FailedTest):
            stem = test._testMethodName.rsplit(".", 1)[-1] + ".py"
            if any(os.path.basename(path) == stem for path in only):
                yield test
        else:
            module = sys.modules.get(type(test).__module__)
            if os.path.realpath(getattr(module, "__file__", None) or "") in only:
                yield test


def chosen(tests, ids):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from chosen(test, ids)
        # A subtest's id is its test's and what tells it apart.
        elif any(wanted == test.id() or wanted.startswith(test.id() + " ") for wanted in ids):
            yield test


def frames(tb):
    while tb is not None:
        yield tb.tb_frame
        tb = tb.tb_next


def raised_by_method(test, tb):
    """Whether the error came out of the test method, not out of setUp, tearDown or a cleanup."""
    within = False
    for frame in frames(tb):
        name = frame.f_code.co_name
        if "__unittest" in frame.f_globals:
            if name in ("_callSetUp", "_callTearDown", "_callCleanup", "doCleanups"):
                return False
            within = within or name == "_callTestMethod"
        # A subtest's error is caught below unittest's own frames, and so is an async one before Python 3.11.
        within = within or name == getattr(test, "_testMethodName", None)
    return within


def raised_in_test_code(test, tb, home):
    """Whether the innermost line within the tree is a test's: an `assert` of the product is no assertion of a test."""
    innermost = None
    for frame in frames(tb):
        path = os.path.realpath(frame.f_code.co_filename)
        if path.startswith(home + os.sep) and "site-packages" not in path:
            innermost = path
    if innermost is None:
        return False
    for base in type(test).__mro__:
        module = sys.modules.get(base.__module__)
        if os.path.realpath(getattr(module, "__file__", None) or "") == innermost:
            return True
    parts = os.path.relpath(innermost, home).split(os.sep)
    return any(part.startswith("test") or part[:-3].endswith("_test") for part in parts)


def kind_of(kind):
    return kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__


def text_of(error):
    try:
        return str(error)[:8000]
    except Exception:
        return ""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


if __name__ == "__main__":
    main()
