"""A node that is killed and started again under a target that goes on.

again.py BUILD ROUNDS THREADS PAUSE_US [OPTION ...]: rounds of tests/targets/again
under pageknode with these options.  Says what was wrong, or nothing.
"""
import json
import os
import signal
import subprocess
import sys
import time

build, rounds, threads, pause = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
options = sys.argv[5:]
LIMIT_S = 30


def fail(text):
    print(text)
    sys.exit(1)


class Node:
    def __init__(self):
        self.p = subprocess.Popen([build + "/pageknode"] + options, start_new_session=True)

    def kill(self):
        os.killpg(self.p.pid, signal.SIGKILL)
        self.p.wait()


class Target:
    def __init__(self):
        env = dict(os.environ, LD_PRELOAD=build + "/liballoclog.so")
        self.p = subprocess.Popen([build + "/tests/targets/again", threads, pause], env=env, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.line()

    def line(self):
        s = self.p.stdout.readline()
        if s == "":
            fail("the target has ended: %d" % self.p.wait())
        return s.strip()

    def ask(self, c):
        self.p.stdin.write(c)
        self.p.stdin.flush()
        return self.line()

    def held(self):
        blocks = {}
        s = self.ask("l")
        while s != ".":
            addr, size, epoch = s.split()
            blocks[int(addr, 16)] = (int(size), int(epoch))
            s = self.line()
        return blocks


def pagek(*args):
    p = subprocess.run([build + "/pagek", *args, "--format", "json"], stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, text=True)
    try:
        return json.loads(p.stdout)
    except ValueError:
        return None


def row(pid):
    t = pagek("targets")
    for x in t["targets"] if t else []:
        if x["pid"] == pid and x["state"] != "ENDED":
            return x
    return None


def wait_for(what, cond):
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        got = cond()
        if got:
            return got
        time.sleep(0.05)
    fail("%s: not within %d s" % (what, LIMIT_S))


def live(pid):
    r = row(pid)
    return r if r and r["state"] == "LIVE" and r["records"] > 0 else None


def settled(pid):
    """Two looks at its list that agree: all that was logged has come."""
    a = pagek("list", "pid:%d" % pid)
    while True:
        time.sleep(0.2)
        b = pagek("list", "pid:%d" % pid)
        if a and b and a["keeper"]["records"] == b["keeper"]["records"]:
            return b
        a = b


def known(listing):
    k = listing["keeper"]
    return k["allocs"] + k["frees"] + listing["lost"]


def check_round(n, target, first):
    pid = target.p.pid
    target.ask("s")
    target.ask("n")
    made = int(target.ask("c"))
    before = settled(pid)
    target.ask("g")
    time.sleep(0.3)
    target.ask("s")
    held = target.held()
    made = int(target.ask("c")) - made
    after = settled(pid)
    target.ask("g")
    seen = known(after) - known(before)
    if seen != made:
        fail("round %d: %d events were made, %d delivered or lost" % (n, made, seen))
    if first:
        return
    if after["armed"] is None:
        fail("round %d: does not say since when" % n)
    if after["lost"] != 0:
        fail("round %d: lost %s" % (n, after["lost_by_cause"]))
    c = after["counts"]
    if c["duplicate"] or c["unknown_free"] or c["bad_records"]:
        fail("round %d: %s" % (n, c))
    listed = {int(b["address"], 16): b["size"] for b in after["blocks"]}
    epoch = max(e for _, e in held.values())
    for addr, size in listed.items():
        if addr in held and held[addr][0] != size:
            fail("round %d: a block of %d bytes is listed as one of %d" % (n, held[addr][0], size))
    for addr, (size, e) in held.items():
        if e == epoch and addr not in listed:
            fail("round %d: a block of %d bytes is not listed" % (n, size))
    extra = [a for a in listed if a not in held]
    if extra:
        fail("round %d: %d blocks are listed and not held, of %d" % (n, len(extra), len(listed)))


def main():
    node = Node()
    try:
        wait_for("a node", lambda: pagek("targets"))
        target = Target()
        wait_for("LIVE", lambda: live(target.p.pid))
        for n in range(rounds + 1):
            check_round(n, target, n == 0)
            node.kill()
            # For how long the target has nobody is not to matter.
            time.sleep(0.1 if n % 2 else 2.5)
            node = Node()
            wait_for("round %d: LIVE again" % n, lambda: live(target.p.pid))
        target.p.stdin.close()
        if target.p.wait() != 0:
            fail("the target has ended with %d" % target.p.returncode)
    finally:
        node.kill()


main()
