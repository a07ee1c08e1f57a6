"""How cost grows as the work grows: with live blocks, and with threads."""
import os
import statistics
import tempfile
import shutil

import parts
import plot
from job import Failed
from loads import Load
from rounds import Runs

LIVE = (10, 100, 1000, 10000, 100000, 1000000, 10000000)
LIVE_QUICK = (10, 1000, 100000, 1000000)
THREADS = (1, 2, 4, 8, 16)
PAIRS = 8000000		# of all threads together
RATE = "1000000"	# events a second of the target that the page watches
SHORT = "90"		# percent of them that are of short-lived blocks
WATCHED_S = 3
RING_THREADS = 8
IDLE_PAIRS = 1000	# of a thread that has little to do


def cycles(full):
    """[{live, median_us, p99_us, worst_us}] of a page at 15 Hz."""
    page = parts.page_module()
    tmp = tempfile.mkdtemp(prefix="pagek-bench-")
    env = dict(os.environ, XDG_RUNTIME_DIR=tmp, TERM="xterm-256color", LC_ALL="C.UTF-8")
    found = []
    try:
        for live in LIVE if full else LIVE_QUICK:
            page.CASES["growth"] = ([str(live), RATE, SHORT], 16000000, [])
            try:
                found.append(dict(page.run_case("growth", WATCHED_S, env), live=live))
            except Exception as e:	# whatever ails a page is no reason to lose what was measured before
                raise Failed("the page with %d blocks: %s" % (live, e)) from e
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    return found


def threads(rounds):
    """[{threads, tool: {added_ns, ...}}], ns of a core per event; kilobytes that
    a thread's ring adds to the target."""
    found = []
    for n in THREADS:
        load = Load("churn", "churn", PAIRS // n, n)
        runs = Runs(load, ["plain", "caller", "stack"])
        for _ in range(rounds):
            runs.round()
        # The load says ns per thread; with more threads than cores most of that is waiting.
        cores = min(n, os.cpu_count()) / n
        row = {"threads": n, "plain_ns": None, "reasons": runs.reasons}
        plain = runs.median("plain", "ns")
        row["plain_ns"] = plain and plain * cores
        for tool in ("caller", "stack"):
            added = runs.added(tool, "ns")
            memory = runs.added(tool, "peak_kb")
            row[tool] = {"added_ns": added and added["median"] * cores,
                         "kb_per_thread": memory and memory["median"] / n}
        found.append(row)
    return found


def idle_mb(rounds):
    """What a thread that allocates next to nothing adds to the target; None: not known."""
    runs = Runs(Load("idle", "churn", IDLE_PAIRS, RING_THREADS), ["plain", "caller"])
    for _ in range(rounds):
        runs.round()
    memory = runs.added("caller", "peak_kb")
    return memory["median"] / RING_THREADS * 1024 / 1e6 if memory else None


def series(rows, name, x, y):
    return plot.Series(name, sorted((r[x], y(r)) for r in rows if y(r)))


def draw(folder, list_rows, cycle_rows, thread_rows):
    """The names of the files that were written."""
    def lists(name, trace):
        return series([r for r in list_rows if r["list"] == name and r["trace"] == trace and r["live"] >= 10],
                      "%s, %s" % (name, trace), "live", lambda r: r["events_per_s"])

    growth = [
        plot.Panel("Block list, one core", "live blocks", "events per second",
                   [lists("indexed", "mix"), lists("judy", "mix"), lists("indexed", "rand"), lists("literal", "mix")]),
        plot.Panel("Cycle of the page at 1M events/s", "live blocks", "microseconds",
                   # There are not a hundred cycles of each for the 99th to be another than the longest.
                   [series(cycle_rows, "longest", "live", lambda r: r["worst_us"]),
                    series(cycle_rows, "median", "live", lambda r: r["median_us"])]),
    ]
    added = [plot.Panel("churn: what an event costs more, keeper and page running", "threads", "ns of a core per event",
                        [series(thread_rows, "stacks of 16", "threads", lambda r: r["stack"]["added_ns"]),
                         series(thread_rows, "caller only", "threads", lambda r: r["caller"]["added_ns"])],
                        list(THREADS))]
    return [name for name, panels in (("growth.svg", growth), ("threads.svg", added))
            if plot.write(os.path.join(folder, name), panels)]


def ring_mb(thread_rows):
    """Of the row with RING_THREADS."""
    for row in thread_rows:
        if row["threads"] == RING_THREADS and row["caller"]["kb_per_thread"] is not None:
            return row["caller"]["kb_per_thread"] * 1024 / 1e6
    return None
