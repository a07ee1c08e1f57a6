"""One run of one command under one tool.

The command itself becomes the measured process in each of them (bench/timed.c),
which is told its own times, so that what a tool does before and afterwards is
not counted; what it does beside the command is, as far as the cores are shared.
"""
import collections
import os
import signal
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
B = os.path.join(TOP, os.environ.get("B", "build"))

# Of one run: seconds, kilobytes, switches of context that it asked for (waits)
# and that it had to bear, events (None: not known), the program's output, and
# what processor time keeper and page had meanwhile (None: there are none), and
# how large the file is that the tool has written (None: it writes none).
Result = collections.namedtuple(
    "Result", "wall user system peak_kb faults waits preempted events lossless output core_s file_bytes")


class Failed(Exception):
    """What the table's cell says instead of a figure."""


class Job:
    """One run of one command.  beside: what goes on meanwhile; it is called with
    the job and with a function that lets so many seconds pass.  core_share: of a
    core, what keeper and page had beside this command when they were there."""

    def __init__(self, tmp, argv, name, env=None, allocator="libc.so.6", limit=120, beside=None):
        self.tmp, self.argv, self.name = tmp, argv, name
        self.env = env or {}
        self.allocator = allocator
        self.limit = limit
        self.beside = beside
        self.core_share = None
        self.times = tmp + "/times"

    def timed(self, env=None, prefix=()):
        """The command, in the tool's environment and behind its prefix."""
        settings = dict(self.env, BENCH_NAME=self.name, **(env or {}))
        return [B + "/bench/timed", self.times] + ["%s=%s" % kv for kv in settings.items()] + list(prefix) + self.argv

    def has_ended(self):
        return os.path.exists(self.times)

    def pid(self):
        """The command's; None before it has begun."""
        try:
            with open(self.times + ".pid") as f:
                return int(f.read())
        except (OSError, ValueError):
            return None

    def kill(self):
        """The command, by the number that it left: it may be a child of a node."""
        pid = self.pid()
        try:
            with open("/proc/%d/environ" % pid) as f:
                ours = "BENCH_TIMES=" + self.times in f.read()
        except (OSError, TypeError):
            return
        if ours:
            os.kill(pid, signal.SIGKILL)

    def result(self, events=None, lossless=True, core_s=None, file_bytes=None):
        if not self.has_ended():
            raise Failed("did not come to its end: " + self.complaint())
        with open(self.times) as f:
            words = f.read().split()
        with open(self.times + ".out", errors="replace") as f:
            output = f.read()
        return Result(*map(float, words[:3]), *map(int, words[3:7]), events, lossless, output, core_s,
                      file_bytes)

    def complaint(self):
        try:
            with open(self.times + ".err", errors="replace") as f:
                lines = [line.strip() for line in f if line.strip()]
        except OSError:
            lines = []
        return lines[-1][:120] if lines else "it said nothing"


def run_beside(job, proc):
    """Waits for a process, at most as long as the job may take."""
    try:
        if job.beside:
            job.beside(job, time.sleep)
        proc.wait(job.limit)
    except subprocess.TimeoutExpired:
        raise Failed("stopped after %d s" % job.limit) from None
    finally:
        if proc.poll() is None:
            job.kill()
            try:
                proc.wait(5)
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()


def simply(job, argv, env=None, **popen):
    proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env=dict(os.environ, **(env or {})), **popen)
    run_beside(job, proc)
    return job.result()
