#!/usr/bin/env python3
"""What tests/live/ssh.sh cannot say in a shell.

same HERE THERE             two lists in JSON have the same blocks, counts and
                            stacks, and ages that differ by one time only
end PID COMMAND...          the command is a way to a node: asks it to end the
                            target, and for the limit to be lifted; fails
                            unless it is refused
speak VERSION               a node that welcomes with that version
"""
import json
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


def same(here, there):
    a, b = load(here), load(there)
    for key in ("counts", "complete", "lost", "lost_by_cause", "keeper",
                "target", "node", "since", "format"):
        assert a[key] == b[key], (key, a[key], b[key])
    assert len(a["blocks"]) == len(b["blocks"]) > 20000 - 1
    ages, times = set(), set()
    for x, y in zip(a["blocks"], b["blocks"]):
        ages.add(y.pop("age_ms") - x.pop("age_ms"))
        times.add((x.pop("time"), y.pop("time")))
        assert x == y, (x, y)
        assert x["stack"], x
    assert len(ages) == 1, ages
    # The time between the two reports, by the node's clock.
    assert 0 <= min(ages) < 60000, ages
    # An age is a time of birth, and that is the same up to the clock's step.
    assert all(x[:19] == y[:19] or abs(float(x[17:-1]) - float(y[17:-1]))
               % 60 < 1 for x, y in times)
    print(len(a["blocks"]), "blocks, reports", min(ages), "ms apart")


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


if __name__ == "__main__":
    if sys.argv[1] == "same":
        same(*sys.argv[2:])
    elif sys.argv[1] == "end":
        end(sys.argv[2], sys.argv[3:])
    else:
        speak(int(sys.argv[2]))
