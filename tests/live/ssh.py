#!/usr/bin/env python3
"""What tests/live/ssh.sh cannot say in a shell.

same HERE THERE             two lists in JSON have the same blocks, counts and
                            stacks, and ages that differ by one time only
aged HERE SHOT LATER        the rows of a page have ages between those of the
                            same blocks in two lists
end PID COMMAND...          the command is a way to a node: asks it to end the
                            target, and for the limit to be lifted; fails
                            unless it is refused
speak VERSION               a node that welcomes with that version
hole PORT                   prints a port that leads to PORT; SIGUSR1 makes it
                            swallow all that comes, whichever way, until the
                            next one
"""
import datetime
import json
import re
import select
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from daemon import decode, encode

HELLO, WELCOME, NAME, NAMED, ERR, END, LIMIT = 0, 1, 2, 3, 12, 17, 27
AUTH = 3


def frame(m):
    b = encode(m)
    return len(b).to_bytes(4, "big") + b


def receive(f):
    n = f.read(4)
    if len(n) < 4:
        return None
    return decode(f.read(int.from_bytes(n, "big")))[0]


def load(path):
    with open(path) as f:
        return json.load(f)


def when(time):
    return datetime.datetime.fromisoformat(time.replace("Z", "+00:00"))


def same(here, there):
    a, b = load(here), load(there)
    for key in ("counts", "complete", "lost", "lost_by_cause", "keeper",
                "target", "node", "since", "format"):
        assert a[key] == b[key], (key, a[key], b[key])
    assert len(a["blocks"]) == len(b["blocks"]) >= 5000
    ages, times = set(), set()
    for x, y in zip(a["blocks"], b["blocks"]):
        ages.add(y.pop("age_ms") - x.pop("age_ms"))
        times.add((x.pop("time"), y.pop("time")))
        assert x == y, (x, y)
        assert x["stack"], x
    assert len(ages) == 1, ages
    # The time between the two reports, by the node's clock.
    assert 0 <= min(ages) < 60000, ages
    # An age is a time of birth by the node's clock: no report has another.
    off = max(abs(when(x) - when(y)) for x, y in times)
    assert off < datetime.timedelta(seconds=1), off
    print(len(a["blocks"]), "blocks, reports", min(ages), "ms apart")


def seconds(age):
    """From an age as a page has it: the least and the most that it stands for."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    parts = re.findall(r"(\d+)([smhd])", age)
    least = sum(int(n) * units[u] for n, u in parts)
    return least, least + units[parts[-1][1]]


def aged(here, shot, later):
    before, after = ({int(b["address"], 16): b["age_ms"] / 1000
                      for b in load(path)["blocks"]} for path in (here, later))
    rows = 0
    with open(shot) as f:
        for line in f:
            m = re.match(r"([0-9a-f]{12}) .*? (\d+[smhd](?:\d+[smh])?) ", line)
            if m is None:
                continue
            least, most = seconds(m[2])
            at = int(m[1], 16)
            assert before[at] < most and least <= after[at], (
                line, before[at], after[at])
            rows += 1
    assert rows >= 10, rows
    print(rows, "rows")


def end(pid, command):
    p = subprocess.Popen(command, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)

    def ask(m):
        p.stdin.write(frame(m))
        p.stdin.flush()

    ask({0: LIMIT, 1: 1, 4: 7})
    ask({0: HELLO, 1: 2, 2: [1, 1], 3: "ssh.py", 4: 7})
    welcome = receive(p.stdout)
    assert welcome[0] == WELCOME and welcome[7] == 1, welcome
    for i in range(1, 1000):
        ask({0: NAME, 1: 2 + i, 2: "DSTRM", 3: "", 4: i - 1})
        m = receive(p.stdout)
        assert m[0] == NAMED, m
        if m[12].endswith("." + pid):
            break
    ask({0: END, 1: 4000, 4: i - 1, 5: m[5]})
    m = receive(p.stdout)
    assert m[0] == ERR and m[2] == AUTH, m
    print("refused:", m[3])
    p.stdin.close()
    p.wait()


def speak(version):
    m = receive(sys.stdin.buffer)
    sys.stdout.buffer.write(frame({
        0: WELCOME, 1: m[1], 2: version, 3: "future", 4: bytes(16),
        5: bytes(16), 7: 1, 8: [1, 1]}))
    sys.stdout.buffer.flush()
    sys.stdin.buffer.read()


def hole(port):
    """Bytes that are not taken stay where they are, as behind a cable that
    was pulled: nothing is refused and nothing is closed."""
    shut = False
    peer = {}

    def toggle(*_):
        nonlocal shut
        shut = not shut

    signal.signal(signal.SIGUSR1, toggle)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        ready = select.select([] if shut else [listener, *peer], [], [],
                              0.05)[0]
        for s in ready:
            if s is listener:
                a = listener.accept()[0]
                b = socket.create_connection(("127.0.0.1", port))
                peer[a], peer[b] = b, a
                continue
            if s not in peer:
                continue
            try:
                data = s.recv(65536)
                if data:
                    peer[s].sendall(data)
            except OSError:
                data = b""
            if not data:
                other = peer.pop(s)
                del peer[other]
                s.close()
                other.close()


if __name__ == "__main__":
    if sys.argv[1] == "hole":
        hole(int(sys.argv[2]))
    elif sys.argv[1] == "same":
        same(*sys.argv[2:])
    elif sys.argv[1] == "aged":
        aged(*sys.argv[2:])
    elif sys.argv[1] == "end":
        end(sys.argv[2], sys.argv[3:])
    else:
        speak(int(sys.argv[2]))
