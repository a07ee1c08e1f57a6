"""Counts of a node's streams by caller, type and size, asked for by hand.

equal SOCKET REPORT NAME MIN    sums over the rows of each image of that name are
                                the totals of its line in the report; at least MIN
                                of them
look SOCKET PID                 prints since, from the start, allocated and held
"""
import json
import struct
import sys

from daemon import ERR, dial, frame, read_frame, say

NAME, NAMED, STAT, USAGE, USED = 2, 3, 10, 39, 40
ROW = struct.Struct("<12QBB")
FIELDS = ("caller", "size", "allocs", "frees", "alloc_bytes", "live",
          "live_bytes", "most", "high", "brief", "then", "then_bytes", "type",
          "kind")


def ask(s, m):
    say(s, frame({1: 1, **m}))
    return read_frame(s)


def meet(path):
    s = dial(path)
    assert ask(s, {0: 0, 2: [1, 1], 3: "test", 4: 1})[0] == 1
    return s


def streams(s):
    """Index and epoch of each stream, by pid; a process has one for each image."""
    of = {}
    at, entries = 0, 1
    while at < entries:
        m = ask(s, {0: NAME, 2: "DSTRM", 4: at})
        if m[0] == NAMED and m[6] != 0:
            entries = m.get(13, entries)
            pid = ask(s, {0: STAT, 4: at}).get(2, 0)
            of.setdefault(pid, []).append((m[4], m[5]))
        at += 1
    return of


def usage(s, stream):
    rows, start = [], 0
    while True:
        m = ask(s, {0: USAGE, 4: stream[0], 5: stream[1], 6: start})
        if m[0] == ERR:
            sys.exit(m[3])
        rows += [dict(zip(FIELDS, r)) for r in ROW.iter_unpack(m[8])]
        start = m.get(9, 0)
        if start == 0:
            assert len(rows) == m[7]
            return m, rows


def total(rows, field):
    return sum(r[field] for r in rows)


def differences(line, m, rows):
    for field, key in (("allocs", "allocs"), ("frees", "frees"),
                       ("live", "live_blocks"), ("live_bytes", "live_bytes"),
                       ("then_bytes", "peak_bytes")):
        if total(rows, field) != line[key]:
            yield "%s: %d, not %d" % (key, total(rows, field), line[key])
    for n, field in enumerate(("allocs", "frees", "alloc_bytes", "live",
                               "live_bytes", "brief", "then", "then_bytes")):
        if total(rows, field) != m[10][n]:
            yield "total of %s" % field
    if not m.get(12) or m.get(3) or m.get(16):
        yield "not from the start, or not complete"
    for r in rows:
        if r["kind"] == 0 and r["live_bytes"] != r["live"] * r["size"]:
            yield "a row of one size has others"


def equal(path, report, name, least):
    s = meet(path)
    of = streams(s)
    seen = 0
    for line in map(json.loads, open(report)):
        if not line["comm"].startswith(name):
            continue
        m, rows = usage(s, of[line["pid"]][-1])
        print(line["pid"], line["comm"], len(rows), "rows,", m[10])
        bad = list(differences(line, m, rows))
        if bad:
            sys.exit("\n".join(bad))
        seen += 1
    assert seen >= least, seen


def look(path, pid):
    s = meet(path)
    m, rows = usage(s, streams(s)[pid][-1])
    print(m[11], m.get(12, False), total(rows, "allocs"), total(rows, "live"))


if sys.argv[1] == "equal":
    equal(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
else:
    look(sys.argv[2], int(sys.argv[3]))
