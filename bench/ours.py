"""How a command runs under each of pagek's modes."""
import glob
import json
import os
import re
import subprocess
import time

from job import B, Failed, run_beside, simply
from terminal import Terminal

REPORT_S = 20		# for the node to have read the rest of the records
SAMPLE = "512k"
BEGIN_STEP_S = 0.002	# what keeper and page do before the command begins is left out to about that
NAMES = ("pagek", "pageknode", "pagek-symbols")


def processor_time(page):
    """{pid: seconds} of the page and of those below it that are ours."""
    found, left = {}, [page]
    while left:
        pid = left.pop()
        try:
            with open("/proc/%d/comm" % pid) as f:
                if f.read().strip() not in NAMES:
                    continue
            # As clock_getcpuclockid(3) makes it: to the nanosecond, and of threads too that have ended.
            found[pid] = time.clock_gettime(~pid << 3 | 2)
            for path in glob.glob("/proc/%d/task/*/children" % pid):
                with open(path) as f:
                    left += map(int, f.read().split())
        except OSError:
            continue	# it has ended
    return found


def reported(job, pid):
    """The lines of the report once the program's last image is in it, else None."""
    try:
        with open(job.tmp + "/report") as f:
            lines = [json.loads(line) for line in f if line.endswith("\n")]
    except (OSError, ValueError):
        return None
    return lines if any(line["pid"] == pid and line["comm"] != "timed" for line in lines) else None


def wait_for(page, job, done, *step):
    if not page.read_until(job.limit, done, *step):
        raise Failed("stopped after %d s" % job.limit if page.proc.poll() is None else job.complaint())


def pagek(job, *options):
    """Under `pagek run`, keeper and page at 15 Hz, the page on a pty."""
    env = dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=job.tmp)
    page = Terminal([B + "/pagek", "run", "--report", job.tmp + "/report"] + list(options) + ["--"] + job.timed(), env)
    try:
        wait_for(page, job, lambda: job.pid() is not None, BEGIN_STEP_S)
        before = processor_time(page.proc.pid)
        if job.beside:
            job.beside(job, page.read)
        wait_for(page, job, job.has_ended)
        core_s = sum(s - before.get(pid, 0) for pid, s in processor_time(page.proc.pid).items())
        pid = job.pid()
        if not page.read_until(REPORT_S, lambda: reported(job, pid) is not None):
            raise Failed("the node did not report its end")
    finally:
        job.kill()
        page.end()
    lines = reported(job, pid)
    if any(line["allocs"] is None for line in lines):
        raise Failed("the node has no data of it")
    events = sum(line["allocs"] + line["frees"] for line in lines if line["pid"] == pid)
    return job.result(events, all(line["complete"] for line in lines), core_s)


def record(job):
    """Under `pagek record`, into a file, without a page."""
    file = job.tmp + "/capture"
    with open(job.tmp + "/said", "w") as said:
        pagek = subprocess.Popen([B + "/pagek", "record", "-o", file, "--stack", "16", "--"] + job.timed(),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
                                 env=dict(os.environ, XDG_RUNTIME_DIR=job.tmp))
        run_beside(job, pagek)
    with open(job.tmp + "/said") as said:
        last = re.search(r"([\d,]+) events of .*, lost ([\d,]+): ", said.read())
    if not last:
        raise Failed("pagek record did not say its numbers")
    return job.result(int(last[1].replace(",", "")), last[2] == "0", file_bytes=os.path.getsize(file))


def as_busy(job):
    """Plain, while something else has as much of a core as keeper and page had."""
    if job.core_share is None:
        raise Failed("no run of caller only to go by")
    burn = subprocess.Popen([B + "/bench/burn", "%.4f" % min(1, job.core_share)], stdin=subprocess.DEVNULL)
    try:
        got = simply(job, job.timed())
        if burn.poll() is not None:
            raise Failed("bench/burn ended with %d" % burn.returncode)
        return got
    finally:
        burn.kill()
        burn.wait()


def dormant(job):
    """The library is loaded and its node has not armed it; no page: one would arm it."""
    argv = [B + "/pageknode", "--dormant", "--report", job.tmp + "/report", "--"] + job.timed()
    node = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env=dict(os.environ, XDG_RUNTIME_DIR=job.tmp))
    try:
        if job.beside:
            job.beside(job, time.sleep)
        until = time.monotonic() + job.limit
        while not (job.has_ended() and reported(job, job.pid())) and time.monotonic() < until and node.poll() is None:
            time.sleep(0.01)
    finally:
        job.kill()
        node.terminate()
        try:
            node.wait(5)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()
    lines = reported(job, job.pid()) or []
    if not lines or not all(line["dormant"] for line in lines):
        raise Failed("it was not dormant all the time")
    return job.result()


def has_option(program, *words):
    """Whether the program knows the option, by its own complaint."""
    p = subprocess.run([B + "/" + program] + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=20)
    return "unrecognized option" not in p.stdout and "unknown option" not in p.stdout


def no_sample():
    return None if has_option("pagek", "run", "--sample", SAMPLE, "--help") else "not built"


def no_burn():
    return None if os.path.exists(B + "/bench/burn") else "not built"


def debugdata(job):
    """The table in the program's own memory, without a node."""
    return simply(job, job.timed({"LD_PRELOAD": B + "/liballoclog.so", "PAGEK_NODE": "", "PAGEK_DEBUGDATA": "on"}))


def no_debugdata():
    return None if os.path.exists(B + "/liballoclog.so") else "not built"


def no_dormant():
    return None if has_option("pageknode", "--dormant", "--", "/bin/true") else "not built"
