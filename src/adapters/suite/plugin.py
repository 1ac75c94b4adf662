# A pytest plugin: what happened to each test, one JSON object a line, to a file outside the tree. Read once at the start from
# standard input: where to write, a word that seals it, and (for a run of single tests) which files or ids
# count. Works with pytest 6.2 and later, also below pytest-xdist.
import traceback

import pytest

SINGLE = "TICK_SINGLE_TESTS"
HOME = os.path.realpath(os.getcwd())


def report_of_the_order():
    # A worker of xdist is told by its parent; its standard input is not the order.
    if "PYTEST_XDIST_WORKER" in os.environ:
        return None
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(0, 1)
        if not more:
            break
        line += more
    order = json.loads(line)
    os.environ[SINGLE] = json.dumps({"files": order.pop("only"), "ids": order.pop("ids")})
    return sealed(order["report"], order["nonce"])


# Nothing of the tree is loaded yet.
REPORT = [report_of_the_order()]
# Loaded before any conftest.py of the tree.
INTACT = Intact("_pytest", "pytest", "pluggy", "unittest", __name__)


def pytest_configure(config):
    report = REPORT.pop()
    config.pluginmanager.register(Worker() if report is None else Recorder(*report), "tick-recorder")


class Worker:
    """Tells the parent of an xdist worker what became of the runner there."""

    def pytest_sessionfinish(self, session):
        session.config.workeroutput["tick_changed"] = INTACT.changed()


def pytest_collection_modifyitems(config, items):
    single = json.loads(os.environ.get(SINGLE) or "{}")
    files = {os.path.realpath(path) for path in single.get("files", ())}
    ids = set(single.get("ids", ()))
    if not files and not ids:
        return
    kept = [item for item in items if item.nodeid in ids or file_of(item) in files]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    # Kept on its way from a worker to its parent.
    report.tick = about(item, call) if report.failed else {}


class Recorder:
    """Writes the report, in the process that sees every result."""

    def __init__(self, line, end):
        self.line = line
        self.end = end
        self.written = 0
        self.open = {}
        self.changed = None

    def emit(self, **fields):
        self.line(fields)

    def put(self, **fields):
        self.written += 1
        self.emit(**fields)

    def pytest_collectreport(self, report):
        if report.failed:
            self.put(load=report.nodeid, message=cause(report))
        elif report.skipped:
            self.put(id=report.nodeid, status="skip", message=reason(report))

    def pytest_runtest_logstart(self, nodeid):
        self.open[nodeid] = None
        self.emit(start=nodeid)

    def pytest_runtest_logreport(self, report):
        if report.outcome not in ("passed", "failed", "skipped"):
            # Another plugin's word, such as "rerun": the result comes later.
            return
        expected = hasattr(report, "wasxfail")
        if report.failed:
            told = dict(report.tick) if getattr(report, "tick", None) else {"message": cause(report)}
            inside = report.when == "call" and told.pop("body", False)
            asserted = inside and told.pop("asserted", False)
            told.pop("asserted", None)
            told.pop("body", None)
            self.open[report.nodeid] = dict(
                told, status="fail" if asserted else "error", inside=inside, assertion=asserted
            )
        elif report.skipped and not expected:
            self.open[report.nodeid] = {"status": "skip", "message": reason(report)}
        elif report.when == "call":
            self.open[report.nodeid] = {"status": "pass"}
        # A worker that crashed has no teardown; its word for the phase is another.
        if report.when not in ("setup", "call"):
            fields = self.open.pop(report.nodeid, None)
            if fields is not None:
                self.put(id=report.nodeid, **fields)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        self.changed = self.changed or getattr(node, "workeroutput", {}).get("tick_changed")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        changed = self.changed or INTACT.changed()
        if changed:
            self.put(load="pytest", message="what is tested changed " + changed)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self.end(self.written)


def about(item, call):
    """What a failure is: its type, where it was raised, and by whom."""
    if call.excinfo is None:
        return {}
    kind, error, tb = call.excinfo.type, call.excinfo.value, call.excinfo.tb
    asserts = (AssertionError, pytest.fail.Exception)
    body = not in_frame_of_unittest(tb)
    text = "".join(traceback.format_exception(kind, error, tb))
    return {
        "body": body,
        "asserted": body and issubclass(kind, asserts) and raised_in_test_code(item, tb),
        "kind": kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__,
        "message": text_of(error),
        "trace": text[-8000:],
    }


def file_of(item):
    # `fspath` was its name before pytest 7.
    return os.path.realpath(str(getattr(item, "path", None) or item.fspath))


def frames(tb):
    while tb is not None:
        yield tb.tb_frame
        tb = tb.tb_next


def in_frame_of_unittest(tb):
    """Whether the error came out of a fixture of unittest's: pytest counts those to the test."""
    fixtures = ("_callSetUp", "_callTearDown", "_callCleanup", "doCleanups")
    return any("__unittest" in frame.f_globals and frame.f_code.co_name in fixtures for frame in frames(tb))


def raised_in_test_code(item, tb):
    """Whether the innermost line within the tree is a test's: an `assert` of the product is no assertion of a test."""
    innermost = None
    for frame in frames(tb):
        path = os.path.realpath(frame.f_code.co_filename)
        if path.startswith(HOME + os.sep) and "site-packages" not in path:
            innermost = path
    if innermost is None:
        return False
    if innermost == file_of(item):
        return True
    parts = os.path.relpath(innermost, HOME).split(os.sep)
    return any(part.startswith("test") or part[:-3].endswith("_test") or part == "conftest.py" for part in parts)


def text_of(error):
    try:
        return str(error)[:8000]
    except Exception:
        return ""


def cause(report):
    lines = [line.strip() for line in str(report.longrepr or "").splitlines() if line.strip()]
    said = [line[2:].strip() for line in lines if line.startswith("E ")]
    return (said or lines or [""])[-1][:2000]


def reason(report):
    where = report.longrepr
    return str(where[2] if isinstance(where, tuple) else where or "")[:2000]
