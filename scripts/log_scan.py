"""The bench log-scan: the log engine beside ripgrep with the same patterns and Drain3, on generated logs.

Three logs of one size: every event is an error, one in twenty is, none is. One event in a hundred is a trace over
several lines. The seed is fixed: the same size gives the same bytes. What the engine finds is held against what was
written, so that speed is not bought with blindness.
"""

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import venv

SEED = 20261129
DRAIN3 = "drain3==0.9.11"
# Lines that Drain3 is given: it slows down with every cluster, so the beginning is its best part.
DRAIN3_LINES = 100_000
SERVICES = ["checkout", "search", "mailer", "billing", "gateway", "feeds", "auth", "catalog", "stock", "ledger"]

DRAIN3_RUN = """
import sys, time
from drain3 import TemplateMiner
from drain3.template_miner_config import TemplateMinerConfig
lines = [line.rstrip("\\n") for _, line in zip(range(int(sys.argv[2])), open(sys.argv[1], errors="replace"))]
miner = TemplateMiner(None, TemplateMinerConfig())
began = time.perf_counter()
for line in lines:
    miner.add_log_message(line)
print(len(lines), time.perf_counter() - began)
"""


class Writer:
    """Lines of a small company's services, in the styles of several loggers."""

    def __init__(self, share):
        self.share = share
        self.random = random.Random(f"{SEED} {share}")
        self.ms = 0
        self.events = 0
        self.lines = 0

    def write(self, path, size):
        written = 0
        with open(path, "w", encoding="utf-8", newline="\n") as out:
            while written < size:
                block = "".join(self.event() for _ in range(2000))
                out.write(block)
                written += len(block)
                self.lines += block.count("\n")
        return written

    def event(self):
        chance = self.random.random()
        service = self.random.choice(SERVICES)
        failing = chance < self.share
        self.events += failing
        # The first hundredth of all events are traces, failing ones as long as there are any.
        if chance < 0.01:
            return self.trace(service) if failing else self.dump(service)
        if failing:
            return self.line("ERROR", self.error(service), service)
        return self.line("INFO", self.healthy(service), service)

    def hex(self, digits):
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def uuid(self):
        text = self.hex(32)
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"

    def number(self, most):
        return self.random.randrange(most)

    def clock(self):
        self.ms += self.number(40)
        seconds, ms = divmod(self.ms, 1000)
        return f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}", ms

    def line(self, level, message, service):
        clock, ms = self.clock()
        style = self.number(5)
        if style == 0:
            return f"2026-11-29T{clock}.{ms:03}Z {level:5} {service}: {message}\n"
        if style == 1:
            number = 50 if level == "ERROR" else 30
            at = 1795910400000 + self.ms
            return f'{{"level":{number},"time":{at},"pid":{self.number(99999)},"name":"{service}","msg":{json.dumps(message)}}}\n'
        if style == 2:
            message = message.replace('"', "'")
            return f'time=2026-11-29T{clock}Z level={level.lower()} service={service} msg="{message}" span={self.hex(16)}\n'
        if style == 3:
            return f"{service}-{self.number(9)}  | 2026-11-29 {clock},{ms:03} [{level}] {message}\n"
        return f"Nov 29 {clock} host{self.number(9)} {service}[{self.number(99999)}]: {level} {message}\n"

    def healthy(self, service):
        return self.random.choice(HEALTHY)(self, service)

    def error(self, service):
        return self.random.choice(ERRORS)(self, service)

    def trace(self, service):
        clock, ms = self.clock()
        head = f"2026-11-29T{clock}.{ms:03}Z ERROR {service}: job {self.uuid()} failed\n"
        return head + self.random.choice(TRACES)(self, service)

    def dump(self, service):
        clock, ms = self.clock()
        head = f"2026-11-29T{clock}.{ms:03}Z INFO  {service}: slow query plan of {self.uuid()}\n"
        steps = ["Seq Scan on orders", "Hash Join", "Index Scan using orders_pkey", "Sort", "Limit"]
        return head + "".join(f"    {step}  (rows={self.number(9999)} width={self.number(99)})\n" for step in steps)


HEALTHY = [
    lambda w, s: f"GET /api/{s}/{w.number(10**6)} 200 {w.number(900)}ms",
    lambda w, s: f"POST /api/{s} 201 {w.number(900)}ms bytes={w.number(10**5)}",
    lambda w, s: f"job {w.uuid()} of {s} done in {w.number(5000)}ms",
    lambda w, s: f"cache hit {s}:{w.hex(16)} size={w.number(10**5)}",
    lambda w, s: f"order {w.number(10**7)} booked for customer {w.number(10**6)}",
    lambda w, s: f"item {w.number(10**4)} added to cart {w.hex(8)} by customer {w.number(10**6)}",
    lambda w, s: f"flushed {w.number(500)} rows of {s}_events to disk in {w.number(90)}ms",
    lambda w, s: f"queue {s} depth={w.number(50)} lag={w.number(900)}ms workers={w.number(9)}",
    lambda w, s: f"mail {w.uuid()} handed to relay mx{w.number(4)}.example.com",
    lambda w, s: f"rates of {s} refreshed, {w.number(300)} pairs, next in {w.number(60)}s",
]

ERRORS = [
    lambda w, s: f"connect ECONNREFUSED 10.0.{w.number(256)}.{w.number(256)}:{1024 + w.number(60000)}",
    lambda w, s: f"request {w.uuid()} to {s}-upstream timed out after {1000 + w.number(90000)}ms",
    lambda w, s: f'null value in column "{s}_total" of relation "orders" violates not-null constraint',
    lambda w, s: f'duplicate key value violates unique constraint "{s}_pkey"',
    lambda w, s: f"TypeError: Cannot read properties of undefined (reading '{s}')",
    lambda w, s: f"retries exhausted for job {w.number(10**7)} of {s} after 5 attempts",
    lambda w, s: f"open /tmp/{s}_{w.hex(8)}/package.tgz: permission denied",
    lambda w, s: f"401 unauthorized: invalid token for client {w.hex(12)} of {s}",
    lambda w, s: f"{s}: upstream answered HTTP 502 for order {w.number(10**6)}",
    lambda w, s: f"could not parse reply of {s}: unexpected end of input at offset {w.number(10**5)}",
    lambda w, s: f"payment {w.uuid()} declined by {s} provider, code do_not_honor",
    lambda w, s: f"lock {s}:{w.number(10**6)} is held by worker {w.number(64)} since {w.number(900)}s",
]

TRACES = [
    lambda w, s: f"TypeError: {s} is not iterable\n"
    + "".join(f"    at {f} (/app/src/{s}.js:{1 + w.number(400)}:{1 + w.number(40)})\n" for f in ["total", "pay", "handle"])
    + "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)\n",
    lambda w, s: "Traceback (most recent call last):\n"
    + "".join(f'  File "/app/{s}/{m}.py", line {1 + w.number(400)}, in {m}\n    return {m}(item)\n' for m in ["run", "load"])
    + f"KeyError: '{s}'\n",
    lambda w, s: f"java.lang.IllegalStateException: {s} is closed\n"
    + "".join(f"\tat com.acme.{s}.Service.{m}(Service.java:{1 + w.number(400)})\n" for m in ["add", "find", "run"])
    + "\t... 12 more\n",
]

CASES = [("all signed", 1.0), ("5 % signed", 0.05), ("0 % signed", 0.0)]


def run(options, tick, scratch, measure):
    rg = shutil.which("rg") or sys.exit("scripts/bench: rg is not installed (apt-get install ripgrep)")
    root = pathlib.Path(__file__).resolve().parent.parent
    python = drain3(root)
    patterns = scratch / "patterns.txt"
    patterns.write_text("\n".join(expressions(root)) + "\n")
    size = parse_size(options.size)
    runs = min(options.runs, 3)
    print(f"log scan, {size >> 20} MiB a log, best of {runs}; Drain3 on the first {DRAIN3_LINES} lines")
    print(f"{'log':<11} {'way':<8} {'lines/s':>11} {'MB/s':>8} {'peak MB':>8} {'tick/way':>9}")
    for name, share in CASES:
        log = scratch / "log"
        writer = Writer(share)
        written = writer.write(log, size)
        ours = [str(tick), "--home", str(scratch), "logs", "--json", str(log)]
        found = json.loads(subprocess.run(ours, capture_output=True, check=True).stdout)
        held_against(found, writer)
        ways = {
            "tick": ours,
            "rg -c": [rg, "-c", "--no-unicode", "-f", str(patterns), str(log)],
        }
        best = {way: min((measure(argv, {0, 1}) for _ in range(runs)), key=lambda m: m[0]) for way, argv in ways.items()}
        rates = {way: writer.lines / (wall / 1000) for way, (wall, _, _) in best.items()}
        rates["Drain3"] = drain3_rate(python, log)
        for way, rate in rates.items():
            bytes_rate = f"{rate * written / writer.lines / 1e6:>8.1f}"
            peak = f"{best[way][2]:>8.1f}" if way in best else f"{'':>8}"
            ratio = "" if way == "tick" else f"{rates['tick'] / rate:>9.2f}"
            print(f"{name:<11} {way:<8} {rate:>11.0f} {bytes_rate} {peak} {ratio}", flush=True)
        log.unlink()


def held_against(found, writer):
    for what, want in [("lines", writer.lines), ("events", writer.events)]:
        if found[what] != want:
            sys.exit(f"scripts/bench: tick found {found[what]} {what} and {want} were written")
    if found["overflow"]["events"]:
        sys.exit("scripts/bench: causes were not told apart")


def expressions(root):
    """The shipped patterns as ripgrep takes them; those that go by level as the ways in which it stands here."""
    text = (root / "collectors" / "patterns.json").read_text()
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    for pattern in json.loads(text)["patterns"]:
        if pattern["kind"] != "start" and "window" not in pattern:
            yield pattern.get("regex", r'\b(?:ERROR|FATAL)\b|level=(?:error|fatal)|"level":[56]0')


def drain3(root):
    """A Python with Drain3, in a directory that git ignores."""
    place = root / ".test-deps" / "drain3"
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", DRAIN3], check=True)
    return python


def drain3_rate(python, log):
    done = subprocess.run(
        [python, "-c", DRAIN3_RUN, str(log), str(DRAIN3_LINES)], capture_output=True, text=True, check=True
    )
    lines, seconds = done.stdout.split()
    return int(lines) / float(seconds)


def parse_size(text):
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1].upper()] if text[-1].upper() in units else int(text)
