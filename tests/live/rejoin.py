"""A node that is killed and started again under a target that goes on.

rejoin.py BUILD WHAT [OPTION ...]: under pageknode with these options.  Says what
was wrong, or nothing.
    rounds:N:THREADS:PAUSE_US	tests/targets/rejoin, with N more nodes
    stopped			the node is stopped and goes on
    dormant			the node arms nobody by itself
    locked			the target locks itself in first; it is killed for a socket
    alone			it does so when the node is gone
    children			its children after it has given up new privileges
    program			python3 with threads, seen by a page
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

build, what = sys.argv[1:3]
options = sys.argv[3:]
LIMIT_S = 30


def fail(text):
    print(text)
    sys.exit(1)


class Node:
    all = []

    def __init__(self):
        Node.all.append(self)
        self.p = subprocess.Popen([build + "/pageknode"] + options, start_new_session=True)

    def kill(self):
        if self.p.poll() is None:
            os.killpg(self.p.pid, signal.SIGKILL)
            self.p.wait()
            # Its node gives back what it had mapped before it lets go of its sockets.
            wait_for("its end", lambda: not hears())


class Target:
    def __init__(self, threads, pause):
        # Or libc would look for the number of processors, at some time.
        env = dict(os.environ, LD_PRELOAD=build + "/liballoclog.so", MALLOC_ARENA_MAX="8")
        self.p = subprocess.Popen([build + "/tests/targets/rejoin", threads, pause], env=env, stdin=subprocess.PIPE,
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


def hears():
    """Somebody listens for targets: one that comes before stays unwatched."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        return s.connect_ex(os.environ["XDG_RUNTIME_DIR"] + "/pagek/node.hello") == 0


def row(pid):
    t = pagek("targets")
    for x in t["targets"] if t else []:
        if x["pid"] == pid and x["state"] in ("LIVE", "DORMANT"):
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


def is_in(state, pid):
    r = row(pid)
    return r if r and r["state"] == state else None


def live(pid):
    r = is_in("LIVE", pid)
    return r if r and r["records"] > 0 else None


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


def state_of(pid):
    t = pagek("targets")
    return next((x["state"] for x in t["targets"] if x["pid"] == pid), None) if t else None


def begin(make=lambda: Target("8", "0"), state="LIVE"):
    node = Node()
    wait_for("a node", hears)
    while True:
        target = make()
        got = wait_for(state, lambda: state_of(target.p.pid) in (state, "NO DATA") and state_of(target.p.pid))
        if got == state:
            return node, target
        # On a busy machine the node may not answer within 50 ms.
        end(target)


def end(target):
    target.p.stdin.close()
    if target.p.wait() != 0:
        fail("the target has ended with %d" % target.p.returncode)


def rounds(n, threads, pause):
    node, target = begin(lambda: Target(threads, pause))
    check_round(0, target, True)
    for i in range(1, int(n) + 1):
        node.kill()
        # A target looks for a node when it has not heard one for two seconds.
        time.sleep(2.5 if i % 2 else 0.1)
        node = Node()
        wait_for("round %d: LIVE again" % i, lambda: live(target.p.pid))
        check_round(i, target, False)
    end(target)


def blocks_of(doc, rows):
    return {int(b["address"], 16): b["size"] for b in doc[rows]}


def check_told(what, target):
    """The node has each block, as the target's own debug data have them."""
    pid = target.p.pid

    def told():
        doc = pagek("list", "pid:%d" % pid)
        return doc and doc["armed"] is None and doc
    wait_for("%s: all is told" % what, told)
    target.ask("s")
    held = target.held()
    listing = settled(pid)
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run([build + "/pagek", "mdd-dump", "-q", "-o", f.name, "pid:%d" % pid], check=True)
        dump = pagek("dump", f.name)
    target.ask("g")
    c = listing["counts"]
    if not listing["complete"] or listing["since"] != "start" or c["duplicate"] or c["unknown_free"]:
        fail("%s: %s, %s, %s" % (what, listing["reason"], listing["since"], c))
    listed, kept = blocks_of(listing, "blocks"), blocks_of(dump, "allocations")
    for addr, (size, _) in held.items():
        if listed.get(addr) != size:
            fail("%s: of a block of %d bytes the list has %s" % (what, size, listed.get(addr)))
    if listed != kept:
        fail("%s: %d blocks listed, %d kept: %s" % (what, len(listed), len(kept), set(listed) ^ set(kept)))
    threads = {b["address"]: b["thread_name"] for b in dump["allocations"]}
    ages = [b for b in listing["blocks"] if b["thread"] != threads[b["address"]]]
    if ages:
        fail("%s: of thread %s the list has %s" % (what, threads[ages[0]["address"]], ages[0]["thread"]))


def told(n, threads, pause):
    os.environ["PAGEK_DEBUGDATA"] = "on"
    node, target = begin(lambda: Target(threads, pause))
    for i in range(int(n)):
        node.kill()
        time.sleep(2.5 if i % 2 else 0.1)
        node = Node()
        wait_for("round %d: LIVE again" % i, lambda: live(target.p.pid))
        check_told("round %d" % i, target)
    end(target)


def armed(n, threads, pause):
    os.environ["PAGEK_DEBUGDATA"] = "on"
    node, target = begin(lambda: Target(threads, pause), "DORMANT")
    pid = "pid:%d" % target.p.pid
    for i in range(int(n)):
        subprocess.run([build + "/pagek", "arm", "-q", pid], check=True)
        check_told("arming %d" % i, target)
        subprocess.run([build + "/pagek", "disarm", "-q", pid], check=True)
    end(target)


def stopped():
    node, target = begin(lambda: Target("8", "20"))
    records = live(target.p.pid)["records"]
    os.kill(node.p.pid, signal.SIGSTOP)
    # Two seconds until the target takes its node for gone, and two looks for another.
    time.sleep(4)
    os.kill(node.p.pid, signal.SIGCONT)
    wait_for("its records", lambda: live(target.p.pid)["records"] > records + 20000)
    rows = [x for x in pagek("targets")["targets"] if x["pid"] == target.p.pid]
    if len(rows) != 1 or rows[0]["armed"] is not None:
        fail("a node that was stopped has forgotten its target: %s" % rows)
    end(target)


def dormant():
    node, target = begin(lambda: Target("8", "20"), "DORMANT")
    pid = target.p.pid
    node.kill()
    node = Node()
    wait_for("a node", hears)
    # It looks when it forks, and needs two looks.
    wait_for("DORMANT again", lambda: target.ask("f") and is_in("DORMANT", pid))
    if subprocess.run([build + "/pagek", "arm", "pid:%d" % pid], stdout=subprocess.DEVNULL).returncode != 0:
        fail("cannot be armed")
    wait_for("LIVE", lambda: live(pid))
    node.kill()
    node = Node()
    if wait_for("LIVE again", lambda: live(pid))["armed"] is None:
        fail("does not say since when")
    end(target)


def children():
    node, target = begin(lambda: Target("8", "20"))
    target.ask("p")
    wait_for("a child", lambda: row(int(target.ask("w"))))
    end(target)


def locked(before=True):
    node, target = begin(lambda: Target("4", "50"))

    def goes_on():
        before = int(target.ask("c"))
        wait_for("the target goes on", lambda: int(target.ask("c")) > before + 2000)

    goes_on()
    target.ask("f")
    if before:
        target.ask("x")
        # Before anybody can have looked.
        target.ask("f")
        # The node looks at its targets once a second, which cannot be seen from here.
        time.sleep(1.5)
        goes_on()
    node.kill()
    if not before:
        target.ask("x")
    # Two seconds until the target takes its node for gone, and two looks for another.
    for i in range(8):
        goes_on()
        target.ask("f")
        time.sleep(0.5)
    node = Node()
    wait_for("a node", hears)
    for i in range(4):
        goes_on()
        target.ask("f")
        time.sleep(0.5)
    if row(target.p.pid):
        fail("it has said hello")
    end(target)


PROGRAM = """
import sys, threading, time
kept = {}
done = 0
def work(n):
    global done
    i = 0
    while not stop:
        kept[n, i % 500] = [str(i) * 20, {"i": i}, bytes(i % 2000)]
        assert kept[n, i % 500][0] == str(i) * 20
        i += 1
        done += 1
stop = False
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for line in sys.stdin:
    print(done, flush=True)
stop = True
for t in threads: t.join()
"""


class Program:
    def __init__(self):
        env = dict(os.environ, LD_PRELOAD=build + "/liballoclog.so", PYTHONMALLOC="malloc")
        self.p = subprocess.Popen([sys.executable, "-c", PROGRAM], env=env, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)


def program():
    node, target = begin(Program)
    p = target.p

    def done():
        p.stdin.write("\n")
        p.stdin.flush()
        return int(p.stdout.readline())

    for i in range(2):
        node.kill()
        before = done()
        wait_for("the program goes on", lambda: done() > before + 20000)
        node = Node()
        wait_for("LIVE again", lambda: live(p.pid))
        listing = wait_for("its list", lambda: pagek("list", "pid:%d" % p.pid))
        if len(listing["blocks"]) < 100 or listing["armed"] is None:
            fail("%d blocks, armed %s" % (len(listing["blocks"]), listing["armed"]))
    out = subprocess.run([build + "/pagek", "--once", "pid:%d" % p.pid], stdout=subprocess.PIPE, text=True).stdout
    if "LIVE" not in out and "blocks" not in out and "NODE" not in out:
        fail("the page does not show it: %s" % out)
    end(target)


WHAT = {"rounds": rounds, "told": told, "armed": armed, "stopped": stopped, "dormant": dormant, "locked": locked, "alone": lambda: locked(False),
        "children": children, "program": program}
name, *args = what.split(":")
try:
    WHAT[name](*args)
finally:
    for n in Node.all:
        n.kill()
