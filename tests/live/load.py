"""Many pages of one node, by hand; daemon.py has the words they speak.

pages N IDLE SECONDS PID SOCKET    N pages that read at 15 Hz, IDLE ones that
                                   said hello and no more; then one too many
slow N SECONDS SOCKET              N that send their bytes one by one, while a
                                   steady page reads at 15 Hz
unread N SECONDS SOCKET            N that ask and take nothing; is each closed?

Each prints one line of JSON.
"""
import json
import os
import selectors
import socket
import statistics
import sys
import time

from daemon import ERR, HELLO, WELCOME, decode, dial, frame, read_frame, say

HZ = 15
NAME, NAMED, READ, DATA, SNAP = 2, 3, 4, 5, 6


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def ask(s, m):
    say(s, frame(m))
    return read_frame(s)


def greet(path):
    """A socket that was welcomed, or the ERR that it got, or None."""
    s = dial(path)
    say(s, HELLO)
    m = read_frame(s)
    return (s, m) if m and m[0] == WELCOME else (None, m)


def stream_of(s):
    """The node's last stream: a target's where there is one."""
    best = None
    index = entries = 0
    while index <= entries:
        m = ask(s, {0: NAME, 1: 1, 2: "DSTRM", 4: index})
        if m[0] == NAMED:
            best = m
            entries = m.get(13, 0)
        index += 1
    return best


def cut(b):
    """The whole messages at the beginning of what has come, and the rest."""
    messages = []
    while len(b) >= 4 and len(b) >= 4 + int.from_bytes(b[:4], "big"):
        end = 4 + int.from_bytes(b[:4], "big")
        messages.append(decode(b[:end], 4)[0])
        b = b[end:]
    return messages, b


class Reader:
    """A page's cursor, and how its cycles went."""

    def __init__(self, s, named):
        self.s = s
        self.named = named
        self.next = named[9]
        self.waiting = b""
        self.sent = None        # when the READ went out that is unanswered
        self.records = self.cycles = self.missed = self.row = self.worst_row = 0
        self.took = []
        self.gone = False

    def cycle(self, due):
        self.cycles += 1
        if self.sent is not None:
            self.missed += 1
            self.row += 1
            self.worst_row = max(self.worst_row, self.row)
            return
        self.row = 0
        self.sent = due
        say(self.s, frame({0: READ, 1: 2, 4: self.named[4], 5: self.named[5],
                           6: self.next, 7: 1024}))

    def take(self):
        try:
            more = self.s.recv(65536)
        except BlockingIOError:
            return
        if not more:
            self.gone = True
            return
        messages, self.waiting = cut(self.waiting + more)
        for m in messages:
            if m[0] == DATA:
                lost = sum(v[0] for v in m.get(11, {}).values())
                assert m[9] - m[6] == m[7] + m.get(12, 0) + lost, m
                self.records += m[9] - m[6]
                self.next = m[9]
            self.took.append(now() - self.sent)
            self.sent = None


def read_for(readers, seconds):
    sel = selectors.DefaultSelector()
    for r in readers:
        r.s.setblocking(False)
        sel.register(r.s, selectors.EVENT_READ, r)
    begun, n = now(), 0
    late = 0
    while n < seconds * HZ:
        due = begun + (n + 1) / HZ
        while now() < due:
            for key, _ in sel.select(max(0, due - now())):
                key.data.take()
                if key.data.gone:
                    sel.unregister(key.data.s)
        late = max(late, now() - due)
        n += 1
        for r in readers:
            if not r.gone:
                r.cycle(due)
    return late


def sums(readers, late):
    took = sorted(t for r in readers for t in r.took)
    return {
        "cycles": sum(r.cycles for r in readers),
        "missed": sum(r.missed for r in readers),
        "missed_in_a_row": max(r.worst_row for r in readers),
        "median_ms": round(1000 * statistics.median(took), 2),
        "p99_ms": round(1000 * took[len(took) * 99 // 100], 2),
        "worst_ms": round(1000 * took[-1], 2),
        "records": sum(r.records for r in readers),
        "gone": sum(r.gone for r in readers),
        "driver_late_ms": round(1000 * late, 1),
    }


def steady(path, seconds, out):
    """A page of its own process, so that only the node can make it late."""
    pid = os.fork()
    if pid:
        return pid
    s, _ = greet(path)
    readers = [Reader(s, stream_of(s))]
    late = read_for(readers, seconds)
    os.write(out, json.dumps(sums(readers, late)).encode())
    os._exit(0)


def cost(pid):
    with open(f"/proc/{pid}/stat") as f:
        t = f.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/status") as f:
        rss = [x.split()[1] for x in f if x.startswith("VmRSS")]
    return (int(t[11]) + int(t[12])) / os.sysconf("SC_CLK_TCK"), int(rss[0])


def pages(n, idle, seconds, pid, path):
    ours = [greet(path)[0] for _ in range(n + idle)]
    assert all(ours), "not everybody was welcomed"
    readers = [Reader(s, stream_of(s)) for s in ours[:n]]
    cpu, _ = cost(pid)
    begun = now()
    late = read_for(readers, seconds)
    cpu2, rss = cost(pid)
    s, m = greet(path)
    result = sums(readers, late)
    result.update(
        cpu_percent=round(100 * (cpu2 - cpu) / (now() - begun), 1),
        rss_kb=rss,
        one_more="welcomed" if s else
        [m[2], m[3]] if m and m[0] == ERR else "closed without a word")
    # Who only sat there is there still.
    result["idle_served"] = sum(
        ask(s, {0: NAME, 1: 3, 2: "DSTRM", 4: 0}) is not None
        for s in ours[n:])
    print(json.dumps(result))


class Slow:
    """One that sends byte by byte: its hello, or a frame after that."""

    def __init__(self, path, in_a_frame):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.s.connect(path)
        self.s.setblocking(False)
        self.bytes = HELLO
        if in_a_frame:
            say(self.s, HELLO)
            self.bytes = frame({0: NAME, 1: 2, 2: "DSTRM", 4: 0})
        self.at, self.begun, self.waiting = 0, now(), b""
        self.told = False
        self.took = None        # until it was hung up on

    def take(self):
        try:
            b = self.s.recv(4096)
        except BlockingIOError:
            return
        except ConnectionResetError:
            b = b""
        messages, self.waiting = cut(self.waiting + b)
        self.told |= any(m[0] == ERR and m[3] for m in messages)
        if not b:
            self.took = now() - self.begun

    def send(self):
        if self.took is None and self.at < len(self.bytes) - 1:
            try:
                self.at += self.s.send(self.bytes[self.at:self.at + 1])
            except (BlockingIOError, BrokenPipeError):
                pass


def slow(n, seconds, path):
    r, w = os.pipe()
    child = steady(path, seconds, w)
    time.sleep(0.5)
    sel = selectors.DefaultSelector()
    ours = [Slow(path, i % 2 == 1) for i in range(n)]
    for c in ours:
        sel.register(c.s, selectors.EVENT_READ, c)
    end, turn = now() + seconds - 1, now()
    while now() < end and any(c.took is None for c in ours):
        for key, _ in sel.select(0.1):
            key.data.take()
            if key.data.took is not None:
                sel.unregister(key.data.s)
        if now() >= turn:
            turn = now() + 0.7
            for c in ours:
                c.send()
    os.waitpid(child, 0)
    over = [c for c in ours if c.took is not None]
    result = json.loads(os.read(r, 65536))
    result.update(told=sum(c.told for c in over),
                  closed_without_a_word=sum(not c.told for c in over),
                  still_there=n - len(over),
                  longest_s=round(max(c.took for c in over), 1))
    print(json.dumps(result))


def unread(n, seconds, path):
    ours = []
    for _ in range(n):
        s, _ = greet(path)
        named = stream_of(s)
        s.setblocking(False)
        ours.append((s, frame({0: SNAP, 1: 4, 4: named[4], 5: named[5], 6: 0,
                               8: 1024, 10: True})))
    begun = now()
    closed = {}
    while now() - begun < seconds and len(closed) < n:
        for i, (s, asks) in enumerate(ours):
            try:
                while i not in closed:
                    s.send(asks)
            except BlockingIOError:
                pass
            except (BrokenPipeError, ConnectionResetError):
                closed[i] = round(now() - begun, 1)
        time.sleep(0.2)
    print(json.dumps({"closed": len(closed), "of": n,
                      "after_s": sorted(closed.values())}))


if __name__ == "__main__":
    what, rest = sys.argv[1], sys.argv[2:]
    if what == "pages":
        pages(int(rest[0]), int(rest[1]), float(rest[2]), int(rest[3]),
              rest[4])
    elif what == "slow":
        slow(int(rest[0]), float(rest[1]), rest[2])
    elif what == "unread":
        unread(int(rest[0]), float(rest[1]), rest[2])
