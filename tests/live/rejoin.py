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
    real:python3, real:sqlite3	with debug data: told to a later node
    forked			so is a python3 that forks then
    before:N			so are children of before, in each of N rounds, that allocate little
"""
import datetime
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
# A tick, and as long as a node's clock may stand on a busy machine.
SLOW_MS = 10 + 200


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


def no_node(target, i):
    """A target looks for a node when it has not heard one for two seconds; the first time it
    stands still that long."""
    if i % 4 == 1:
        target.ask("s")
    time.sleep(2.5 if i % 2 else 0.1)
    if i % 4 == 1:
        target.ask("g")


def rounds(n, threads, pause):
    node, target = begin(lambda: Target(threads, pause))
    check_round(0, target, True)
    for i in range(1, int(n) + 1):
        node.kill()
        no_node(target, i)
        node = Node()
        wait_for("round %d: LIVE again" % i, lambda: live(target.p.pid))
        check_round(i, target, False)
    end(target)


def blocks_of(doc, rows):
    return {int(b["address"], 16): b["size"] for b in doc[rows]}


def own_data(pid):
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run([build + "/pagek", "mdd-dump", "-q", "-o", f.name, "pid:%d" % pid], check=True)
        return pagek("dump", f.name)


def check_told(what, target):
    """The node has each block, as the target's own debug data have them."""
    pid = target.p.pid

    def told():
        doc = pagek("list", "pid:%d" % pid)
        return doc and doc["armed"] is None and doc
    wait_for("%s: all is told" % what, told)
    target.ask("s")
    held = target.held()
    listing, dump = settled(pid), own_data(pid)
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
        no_node(target, i)
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
    node, target = begin(lambda: Target("8", "200"))
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
    node, target = begin(lambda: Target("8", "200"), "DORMANT")
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
    node, target = begin(lambda: Target("8", "200"))
    target.ask("p")
    wait_for("a child", lambda: row(int(target.ask("w"))))
    end(target)


def locked(before=True):
    node, target = begin(lambda: Target("4", "500"))

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


# A line does work, or "l" little; "f" forks a child, and a number has that child work.
WORKER = """
import json, os, socket, sys, threading
def work():
    for i in range(200):
        kept.append(json.loads(json.dumps({"a": list(range(i % 50)), "b": "x" * (500 + i)})))
    del kept[::3]
def little():
    kept.append(bytes(600))
def thread(name):
    with open("/proc/self/task/%d/comm" % threading.get_native_id(), "w") as f:
        f.write(name)
    work()
    worked.set()
    if name == "stays":
        threading.Event().wait()
def child(ours, theirs):
    ours.close()
    theirs.send(b"x")
    while c := theirs.recv(1):
        little() if c == b"l" else work()
        theirs.send(b"x")
    os._exit(0)
kept, children, worked = [], [], threading.Event()
for name in "ends", "stays":
    worked.clear()
    t = threading.Thread(target=thread, args=(name,), daemon=True)
    t.start()
    worked.wait()
    if name == "ends":
        t.join()
while line := sys.stdin.readline().strip():
    if line == "f":
        pair = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            child(*pair)
        pair[1].close()
        pair[0].recv(1)
        children.append(pair[0])
        print(pid, flush=True)
    elif line[0].isdigit():
        n, *how = line.split()
        children[int(n)].send(b"l" if how else b"w")
        children[int(n)].recv(1)
        print("done", flush=True)
    else:
        little() if line == "l" else work()
        print("done", flush=True)
"""
SQL = "insert into t select value, hex(randomblob(50)) from generate_series(1, 2000); select 'done';"
REAL = {"python3": ([sys.executable, "-c", WORKER], "w"), "sqlite3": (["sqlite3"], SQL)}


class Real(Target):
    """It does something when it is asked to, and nothing else."""
    def __init__(self, name):
        command, self.work = REAL[name]
        env = dict(os.environ, LD_PRELOAD=build + "/liballoclog.so")
        self.p = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if name == "sqlite3":
            self.ask("create table t(a, b); create index i on t(b); select 'begun';")
        self.ask(self.work)

    def ask(self, c):
        return super().ask(c + "\n")


def ms(row):
    return datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp() * 1000


def state_is(pid, state):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(") ", 1)[1][0] == state


def stopped_at(pid):
    """Its list and its own debug data, while it stands."""
    wait_for("it sleeps", lambda: state_is(pid, "S"))
    os.kill(pid, signal.SIGSTOP)
    wait_for("it stands", lambda: state_is(pid, "T"))
    listing, dump = settled(pid), own_data(pid)
    os.kill(pid, signal.SIGCONT)
    return listing, dump


def check_same(what, listing, dump):
    """Each block: address, size, type, caller and thread; and age, to within a tick."""
    names = dict.fromkeys(("memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc"), "aligned")

    def of_dump(b):
        name = b["allocator"].removesuffix("()")
        return b["size"], names.get(name, name), b["caller"], b["thread_name"]
    if not listing["complete"] or listing["since"] != "start" or listing["lost"] or not dump["complete"]:
        fail("%s: %s, %s" % (what, listing["reason"], listing["since"]))
    listed = {b["address"]: b for b in listing["blocks"]}
    kept = {b["address"]: b for b in dump["allocations"]}
    if listed.keys() != kept.keys():
        fail("%s: %d blocks listed, %d kept" % (what, len(listed), len(kept)))
    start, threads = [], {}
    for address, b in listed.items():
        d = kept[address]
        # "^" marks a thread of the parent.
        has = b["size"], b["type_name"], b["caller"], b["thread"] and b["thread"].lstrip("^")
        if has != of_dump(d):
            fail("%s: %s is listed as %s, kept as %s" % (what, address, has, of_dump(d)))
        if threads.setdefault(b["tid"], d["thread"]) != d["thread"]:
            fail("%s: one thread in the list is two" % what)
        start.append(ms(b) - d["time_ms"])
    if max(start) - min(start) > SLOW_MS:
        fail("%s: ages differ by %d ms" % (what, max(start) - min(start)))


def check_real(what, pid, work):
    def told():
        work()
        r = live(pid)
        return r and r["armed"] is None
    wait_for("%s: all is told" % what, told)
    check_same(what, *stopped_at(pid))


def real(name):
    os.environ["PAGEK_DEBUGDATA"] = "on"
    node, target = begin(lambda: Real(name))
    for what in "second node", "third":
        node.kill()
        target.ask(target.work)
        node = Node()
        wait_for("a node", hears)
        check_real(what, target.p.pid, lambda: target.ask(target.work))
    end(target)


def forked():
    os.environ["PAGEK_DEBUGDATA"] = "on"
    node, target = begin(lambda: Real("python3"))
    node.kill()
    node = Node()
    wait_for("a node", hears)
    check_real("parent", target.p.pid, lambda: target.ask("w"))
    after = int(target.ask("f"))
    check_same("child", *stopped_at(after))
    target.ask("0")
    check_same("child that has worked", *stopped_at(after))
    check_same("parent again", *stopped_at(target.p.pid))
    end(target)


def before(n):
    os.environ["PAGEK_DEBUGDATA"] = "on"
    node, target = begin(lambda: Real("python3"))
    all = {"parent": (target.p.pid, "l")}
    forks = 0

    def fork():
        nonlocal forks
        pid = int(target.ask("f"))
        forks += 1
        wait_for("its state", lambda: state_of(pid))
        # On a busy machine the node may not answer within 50 ms.
        return is_in("LIVE", pid) and pid

    for i in range(int(n)):
        pid = wait_for("a child is LIVE", fork)
        target.ask(str(forks - 1))
        all["child %d" % i] = pid, "%d l" % (forks - 1)
        node.kill()
        node = Node()
        wait_for("a node", hears)
        for name, (pid, work) in all.items():
            check_real("round %d: %s" % (i, name), pid, lambda: target.ask(work))
    end(target)


WHAT = {"real": real, "forked": forked, "before": before, "rounds": rounds, "told": told, "armed": armed, "stopped": stopped, "dormant": dormant, "locked": locked, "alone": lambda: locked(False),
        "children": children, "program": program}
name, *args = what.split(":")
try:
    WHAT[name](*args)
finally:
    for n in Node.all:
        n.kill()
