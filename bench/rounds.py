"""Rounds: every tool in turn, one after the other, so that a drift of the
machine meets all of them; what counts is the difference or the ratio to the
plain run of the same round, and its median over the rounds.

Every other round goes through the tools backwards: what one leaves behind
meets another one next.  And every run begins with memory that the machine has
touched a moment ago.  A virtual machine's memory that it has not used for long
is not there until its host finds some, and that makes a first touch ten times
as dear: it was met by whichever tool needed more memory than the ones before.
"""
import collections
import mmap
import shutil
import statistics
import tempfile

from job import Failed
from machine import first, text
from tools import TOOLS, share

FAILURES = 3		# and a tool is not tried again with this workload
CONTROLS = ("plain", "bare", "idle", "beside")	# in every round, as ours are, which are held against them
# What differs by less than a load does from run to run has rounds of its own.
FINE = ("plain", "bare", "idle", "sampled", "dormant")
TOUCHED = 512 << 20	# bytes; what the largest run needs with all that is beside it


def touch_memory():
    """What is given back last is given out first."""
    available = int(first(r"^MemAvailable:\s*(\d+)", text("/proc/meminfo"), "0")) * 1024
    size = min(TOUCHED, available // 4) & -mmap.PAGESIZE
    if size:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE).close()


def once(tool, workload, part, core_share):
    """{figure: value} of one run, with events, lossless, peak_kb and faults; core_share
    is what keeper and page had of a core."""
    tmp = tempfile.mkdtemp(prefix="pagek-bench-")
    try:
        touch_memory()
        job = workload.job(tmp, part)
        job.core_share = core_share
        result = TOOLS[tool].run(job)
        got = workload.figures(job, result)
        got.update((name, getattr(result, name)) for name in (
            "events", "lossless", "peak_kb", "faults", "waits", "preempted", "core_s", "file_bytes"))
        got["core_share"] = None if result.core_s is None else result.core_s / result.wall
        return got
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


class Runs:
    """All rounds of one workload."""

    def __init__(self, workload, names):
        self.workload = workload
        self.rounds = []
        self.reasons = {name: TOOLS[name].missing() for name in names}
        self.names = [name for name in names if self.reasons[name] is None]
        self.reasons = {name: why for name, why in self.reasons.items() if why}
        self.failures = collections.Counter()
        self.given_up = set()
        self.parts = {name: share(name, workload.name, workload.is_program) for name in self.names}

    def plan(self, peers, fine):
        """[(tool, part)] of one round; a plain run for each part that is given."""
        turn = [(name, self.parts[name]) for name in self.names if name not in self.given_up and
                (name in FINE if fine else peers or TOOLS[name].ours or name in CONTROLS)]
        parts = sorted({part for _, part in turn} - {1})
        return [("plain", part) for part in parts] + turn

    def caller_share(self, got):
        """Of the last run: in a round that goes backwards, of the one before."""
        for r in [got] + self.rounds[::-1]:
            if ("caller", 1) in r:
                return r["caller", 1]["core_share"]
        return None

    def round(self, peers=True, fine=False):
        got = {}
        plan = self.plan(peers, fine)
        for tool, part in reversed(plan) if len(self.rounds) % 2 else plan:
            try:
                got[tool, part] = once(tool, self.workload, part, self.caller_share(got))
            except (Failed, OSError) as e:
                self.failures[tool] += 1
                self.reasons[tool] = str(e)
                # What was too slow once is too slow again.
                if self.failures[tool] == FAILURES or "stopped after" in str(e):
                    self.given_up.add(tool)
        self.rounds.append(got)

    def pairs(self, tool, figure, how, base="plain"):
        """how(tool's, base's) of each round that has both."""
        part = self.parts.get(tool)
        of_base = 1 if base != "plain" else part
        both = [(r.get((tool, part)), r.get((base, of_base))) for r in self.rounds]
        return [how(a[figure], b[figure]) for a, b in both if a and b and b.get(figure) is not None]

    def median(self, tool, figure, part=1):
        values = [r[tool, part][figure] for r in self.rounds if (tool, part) in r and
                  r[tool, part].get(figure) is not None]
        return statistics.median(values) if values else None

    def ratio(self, tool, figure, base="plain"):
        return middle(self.pairs(tool, figure, lambda a, b: a / b if b else 1.0, base))

    def added(self, tool, figure, base="plain"):
        return middle(self.pairs(tool, figure, lambda a, b: a - b, base))

    def has_ours(self):
        return any(TOOLS[tool].ours for r in self.rounds for tool, _ in r)

    def lossy(self):
        """Runs in which a record was lost."""
        return sum(not got["lossless"] for r in self.rounds for got in r.values())

    def failed_ours(self):
        """Runs of ours that came to nothing: of what they lost nothing is known."""
        return sum(n for tool, n in self.failures.items() if TOOLS[tool].ours)

    def failed_text(self, tool):
        """Of a tool that has figures of other runs."""
        return ", %d failed" % self.failures[tool] if self.failures[tool] else ""


def middle(values):
    """{median, low, high} of them; None without any."""
    if not values:
        return None
    return {"median": statistics.median(values), "low": min(values), "high": max(values), "n": len(values)}
