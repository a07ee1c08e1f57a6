"""The parts that have a bench program of their own: block list, keeper, the
page over a socket, captures, the page on a terminal, start, names, heap stress, and counted pages.  Each runs here
and gives the values of goals; one that is not there, or fails, gives its reason.
"""
import collections
import importlib.machinery
import importlib.util
import json
import mmap
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import loads
from job import B, TOP, Failed

NAMES = 10000		# stacks of cc1 that are named
STARTS = 100		# of a small program, one after the other
START_ROUNDS = 5
START_LIMIT = 120	# seconds
ENDING_S = 20		# for a part that is stopped to stop what it has started
CAPTURE_ARGS = ["-e", "5", "-r", "20"]	# 100 million events: so many millions, so often
LIST_ARGS = []		# of listbench, beside what is asked of it anyway
PAGE_ARGS = ["--seconds", "3"]
PAGE_FULL_ARGS = ["--seconds", "5"]


def run(argv, limit, env=None):
    if not os.path.exists(argv[0]):
        raise Failed("not built: " + os.path.relpath(argv[0], TOP))
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env=env)
    try:
        output, errors = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        # It has targets that would run for ever: it is asked to end, and ends them.
        p.terminate()
        try:
            p.communicate(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            p.kill()
        raise Failed("%s was stopped after %d s" % (os.path.basename(argv[0]), limit)) from None
    if p.returncode != 0:
        said = (errors or output).strip().splitlines()
        raise Failed("%s ended with %d%s" % (os.path.basename(argv[0]), p.returncode,
                                             ": " + said[-1][:100] if said else ""))
    return output


def objects(text):
    """The rows of a JSON object, or an object on each line."""
    try:
        if '"rows"' in text:
            return json.loads(text)["rows"]
        found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    except ValueError:
        found = []
    if not found:
        raise Failed("its output is not JSON")
    return found


def key_values(text):
    return {k: float(v) for k, v in re.findall(r"(\w+)=([\d.]+)", text)}


# --- block list -------------------------------------------------------------------


def block_list(full):
    rows = objects(run([B + "/bench/listbench", "-j"] + ([] if full else ["-q"]) + LIST_ARGS, 600 if full else 120))
    ours = [r for r in rows if r["list"] == "indexed"]
    values = {"list %s %d" % (r["trace"], r["live"]): r["events_per_s"] / 1e6 for r in ours}
    most = max((r for r in ours if r["trace"] == "mix"), key=lambda r: r["live"])
    values["window address"] = most["window_address_us"]["cold"]
    values["window age"] = most["window_age_us"]["cold"]
    values["bytes"] = max(r["rss_per_block"] for r in ours if r["live"] >= 1000000)
    return values, rows


# --- keeper, and its socket ---------------------------------------------------------


def keeper(full):
    rows = objects(run([B + "/bench/keeperbench", "--json"] + ([] if full else ["--quick"]), 400))
    by_trace = {r["trace"]: r for r in rows}
    values = {"keeper " + trace: by_trace[trace]["mrecords_per_s"] for trace in ("few", "mix") if trace in by_trace}
    if "range" in by_trace:
        values["keeper range"] = by_trace["range"]["median_ms"]
    if "grow" in by_trace:
        values["growth keeper"] = by_trace["grow"]["worst_cycle_ms"]
    return values, rows


def socket(full):
    rows = objects(run([B + "/bench/socketbench", "--json"] + ([] if full else ["--quick", "short", "grow"]), 300))
    at_1m = [r for r in rows if r["load"] in ("short", "grow")]
    return {"socket lost": sum(r["lost"] for r in at_1m),
            "socket bytes": max(r["kb_per_s"] for r in at_1m) / 1e3}, rows


# --- counts by type ------------------------------------------------------------------


def usage(full):
    rows = objects(run([B + "/bench/usagebench", "--json"] + ([] if full else ["2000000"]), 200))
    return {"usage " + r["way"]: r["ns"] for r in rows}, rows


# --- captures -------------------------------------------------------------------------


def capture(full):
    rows = objects(run([B + "/bench/capturebench", "-j"] + CAPTURE_ARGS, 600))
    return {"capture " + key: rows[0][key] for key in ("read", "replay", "at")}, rows


# --- page on a terminal -------------------------------------------------------------


def page_module():
    """bench/page, to run cases of our own."""
    path = TOP + "/bench/page"
    if not os.path.exists(path) or not os.path.exists(B + "/bench/steady"):
        raise Failed("not built: bench/page")
    loader = importlib.machinery.SourceFileLoader("page", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("page", loader))
    loader.exec_module(module)
    return module


def page(full):
    page_module()
    tmp = tempfile.mkdtemp(prefix="pagek-bench-")
    try:
        cases = [] if full else ["few", "million", "stepped", "grow", "start"]
        run([TOP + "/bench/page", "--json", tmp + "/json"] + (PAGE_FULL_ARGS if full else PAGE_ARGS) + cases, 1800 if full else 300)
        with open(tmp + "/json") as f:
            rows = json.load(f)["page"]
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    by_case = {r["case"]: r for r in rows}
    return {"page cpu": by_case["million"]["page_cpu"], "page bytes": by_case["million"]["bytes_s"] / 1e3,
            "page echo": by_case["million"]["echo_worst_ms"],
            "page step": by_case["stepped"]["worst_us"] / 1e3,
            "page median": by_case["few"]["median_us"],
            "page p99": by_case["few"]["p99_us"],
            "growth page": by_case["grow"]["worst_us"] / 1e3, "start": by_case["start"]["first_ms"]}, rows


# --- start, and names ---------------------------------------------------------------


Started = collections.namedtuple("Started", "how count argv")


def started(tmp):
    """{goal behind "exec ": what bench/start is told}; tmp takes what they write."""
    many = ["make", "-s", "-B", "-j2", "-f", loads.WHOLE + "/many.mk", "IN=" + loads.WHOLE + "/many", "OUT=" + tmp]
    return {
        "fork": Started("fork", STARTS, ["/bin/true"]),
        "spawn": Started("spawn", STARTS, ["/bin/true"]),
        "make": Started("spawn", 1, many),
        "configure": Started("spawn", 1, ["sh", loads.WHOLE + "/configure", tmp]),
    }


def start_round(backwards, tmp, env):
    """{key: {plain, watched: what bench/start says}}, each plain and watched in turn."""
    ways = {"plain": [], "watched": [B + "/pagek", "run", "-b", "-o", "/dev/null", "--"]}
    turn = [(key, way) for key in started(tmp) for way in ways]
    got = {}
    for key, way in reversed(turn) if backwards else turn:
        s = started(tmp)[key]
        text = run(ways[way] + [B + "/bench/start", s.how, str(s.count)] + s.argv, START_LIMIT, env)
        got.setdefault(key, {})[way] = key_values(text)
    return got


def start(full):
    """Programs that start programs: watched, as ratios to plain in the same round."""
    tmp = tempfile.mkdtemp(prefix="pagek-bench-")
    env = dict(os.environ, XDG_RUNTIME_DIR=tmp)
    try:
        rows = [start_round(i % 2 == 1, tmp, env) for i in range(START_ROUNDS)]
    finally:
        shutil.rmtree(tmp, ignore_errors=True)

    def middle(key, how):
        return statistics.median(how(r[key]["watched"], r[key]["plain"]) for r in rows)
    values = {"exec " + key: middle(key, lambda w, p: w["us_median"] / p["us_median"]) for key in rows[0]}
    values["exec"] = middle("fork", lambda w, p: w["us_median"] - p["us_median"]) / 1e3
    # One that is spawned is one image.
    values["exec node"] = middle("spawn", lambda w, p: w["us_node"])
    return values, rows


def names(full):
    """The longest of each figure while new stacks get their names."""
    cc1 = subprocess.check_output(["gcc", "-print-prog-name=cc1"], text=True).strip()
    text = run([B + "/bench/symbols", str(NAMES), cc1, "-quiet", "-O1", loads.WHOLE + "/in.c", "-o", "/dev/null"], 200)
    row = {key: float(value) for key, value in re.findall(r"(\w+) ([\d.]+)", text)}
    if "turn" not in row:
        raise Failed("it printed nothing")
    return {"names": row["turn"]}, [row]


# --- heap stress by eBPF ------------------------------------------------------------


TOUCHED_MB = 256
STATS = "/proc/sys/kernel/bpf_stats_enabled"


def touch(megabytes):
    """Makes one request of the kernel for each page."""
    pages = mmap.mmap(-1, megabytes << 20)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, megabytes << 20, mmap.PAGESIZE):
        pages[at] = 1
    pages.close()


def child_named(pid, name):
    """The process id of a child with that name; None: there is no such child."""
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, task)) as f:
            for child in f.read().split():
                with open("/proc/%s/comm" % child) as comm:
                    if comm.read().strip() == name:
                        return int(child)
    return None


def program_times(pid):
    """[(nanoseconds, runs)] of the programs that a process has loaded."""
    found = []
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        with open("/proc/%d/fdinfo/%s" % (pid, fd)) as f:
            info = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
        if "run_time_ns" in info:
            found.append((int(info["run_time_ns"]), int(info["run_cnt"])))
    return found


def added_per_request(viewer):
    """The time of all programs, divided by the runs of the most frequent one, which runs for each request."""
    deadline = time.monotonic() + 20
    loader = None
    while loader is None or not program_times(loader):
        if time.monotonic() > deadline or viewer.poll() is not None:
            raise Failed("eBPF does not count here")
        time.sleep(0.1)
        loader = child_named(viewer.pid, "pagek-levels")
    before = program_times(loader)
    touch(TOUCHED_MB)
    spent = [(a[0] - b[0], a[1] - b[1]) for a, b in zip(program_times(loader), before)]
    return sum(ns for ns, _ in spent) / max(runs for _, runs in spent)


def stress(full):
    """The kernel measures the time of its programs; a part of the result is the cost of measuring."""
    with open(STATS) as f:
        old = f.read()
    tmp = tempfile.mkdtemp(prefix="pagek-bench-")
    viewer = None
    try:
        with open(STATS, "w") as f:
            f.write("1")
        viewer = subprocess.Popen([B + "/pagek", "stress", "--interval", "1"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=dict(os.environ, XDG_RUNTIME_DIR=tmp))
        rows = [{"ns": added_per_request(viewer)} for _ in range(5 if full else 3)]
    finally:
        if viewer is not None:
            viewer.terminate()
            viewer.wait()
        with open(STATS, "w") as f:
            f.write(old)
        shutil.rmtree(tmp, ignore_errors=True)
    return {"stress ebpf": statistics.median(r["ns"] for r in rows)}, rows


# --- counted pages ------------------------------------------------------------------


TOUCHED = {"refs": (40000, 1), "guard": (1024, 1 / 15)}	# KiB, seconds of a period
TOUCH_ROUNDS = 5


class Touches:
    """A target of its own node that passes over a block, and the command that counts the block's pages."""

    def __init__(self, tmp, kilobytes):
        self.env = dict(os.environ, XDG_RUNTIME_DIR=tmp)
        self.node = subprocess.Popen([B + "/pageknode", "--no-supervisor"], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env)
        self.wait_for(lambda: os.path.exists(tmp + "/pagek/node.hello"))
        block = tmp + "/block"
        self.target = subprocess.Popen([B + "/bench/touches", str(kilobytes), block], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True,
                                       env=dict(self.env, LD_PRELOAD=B + "/liballoclog.so"))
        self.wait_for(lambda: os.path.exists(block) and os.path.getsize(block) > 0)
        with open(block) as f:
            self.block = f.read().split()

    def wait_for(self, condition):
        deadline = time.monotonic() + 20
        while not condition():
            if time.monotonic() > deadline:
                raise Failed("the pages are not counted")
            time.sleep(0.05)

    def ns(self):
        self.target.stdin.write("\n")
        self.target.stdin.flush()
        return float(self.target.stdout.readline())

    def refcnt(self, *words):
        done = subprocess.run([B + "/pagek", "refcnt", *words, "pid:%d" % self.target.pid, *self.block],
                              capture_output=True, text=True, env=self.env)
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        return done.stdout

    def counts(self):
        """Whether each page was touched in a period; a pass lets the library take the request."""
        self.ns()
        text = self.refcnt("--format", "csv", "--fields", "count")
        return "0" not in text.split() and len(text.split()) > 1

    def end(self):
        self.target.stdin.close()
        self.target.wait()
        self.node.terminate()
        self.node.wait()


def touch_row(source):
    kilobytes, period = TOUCHED[source]
    tmp = tempfile.mkdtemp(prefix="pagek-bench-")
    touches = None
    try:
        touches = Touches(tmp, kilobytes)
        before = touches.ns()
        touches.refcnt("--enable", "--source", source, "--period", "%.3f" % period)
        touches.wait_for(touches.counts)
        counted = statistics.mean(touches.ns() for _ in range(4))
        touches.refcnt("--disable")
        time.sleep(1)
        after = touches.ns()
    finally:
        if touches is not None:
            touches.end()
        shutil.rmtree(tmp, ignore_errors=True)
    return {"source": source, "ratio": counted / statistics.mean((before, after))}


def counted_pages(full):
    rows = [touch_row(source) for source in TOUCHED for _ in range(TOUCH_ROUNDS)]
    return {"refcnt " + source: statistics.median(r["ratio"] for r in rows if r["source"] == source)
            for source in TOUCHED}, rows


PARTS = {
    "list": (block_list, ("list ", "window ", "bytes")),
    "keeper": (keeper, ("keeper ", "growth keeper")),
    "socket": (socket, ("socket ",)),
    "usage": (usage, ("usage ",)),
    "capture": (capture, ("capture ",)),
    "page": (page, ("page ", "growth page", "start")),
    "start": (start, ("exec",)),
    "names": (names, ("names",)),
    "stress": (stress, ("stress ",)),
    "refcnt": (counted_pages, ("refcnt ",)),
}


def run_part(name, full):
    """(values of goals, its rows, reason or None)"""
    try:
        values, rows = PARTS[name][0](full)
        return values, rows, None
    except (Failed, KeyError, OSError, ValueError) as e:
        return {}, [], str(e) if not isinstance(e, KeyError) else "its output has no %s" % e
