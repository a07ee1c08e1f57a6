#!/usr/bin/env python3
"""takeover.py REPORT COUNT_DIR LEAST MISSED

Holds the report of a node that was killed again and again against what the
second counting layer counted.  A line that says that it is complete must be
equal to it in every number.  One that says that records were lost, or that it
began anew later, must have no more of anything; that is what a machine does that
lets no node run for 100 ms, or kills them before they are well.  MISSED images
may be without a line or without data, or not know what they began with: they
said hello to a node that was dying, or their parents did.  At least LEAST must
be complete.

Exit status: 0 all is well, 2 nothing is wrong but too few are complete or too
many missed, 1 else.
"""
import collections
import glob
import json
import os
import struct
import sys

FIELDS = ("allocs", "frees", "failed", "inherited_blocks", "live_blocks", "live_bytes")
ZERO = ("lost", "duplicate", "unknown_free", "illegal_type", "full")


def counted(folder):
    """As tests/count/compare reads them: by pid its images, in their order."""
    images = collections.defaultdict(list)
    for path in glob.glob(os.path.join(folder, "*.*")):
        pid, n = os.path.basename(path).split(".")
        with open(path, "rb") as f:
            raw = f.read(88)
        if raw[:6] == b"COUNT1":
            v = struct.unpack("<7Q", raw[8:64])
            comm = raw[64:80].split(b"\0")[0].decode(errors="replace")
            images[int(pid)].append((int(n), dict(zip(FIELDS, v)), v[6], comm))
    for pid in images:
        images[pid].sort(key=lambda image: image[0])
    return images


def whole(line):
    return line["complete"] and line["armed_ms"] is None


def wrong_of(line, want, comm):
    if not whole(line):
        return ["%s %s, counted %s" % (k, line[k], want[k]) for k in ("allocs", "failed")
                if line[k] is not None and line[k] > want[k]]
    wrong = ["%s %s, counted %s" % (k, line.get(k), want[k]) for k in FIELDS if line.get(k) != want[k]]
    wrong += ["%s %s" % (k, line.get(k)) for k in ZERO if line.get(k) != 0]
    if line["comm"] != comm:
        wrong.append("comm %s, counted %s" % (line["comm"], comm))
    return wrong


def main():
    report, folder, least, missed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    lines = {}
    with open(report) as f:
        for text in f:
            line = json.loads(text)
            lines.setdefault(line["pid"], []).append(line)
    bad = complete = short = incomplete = 0
    for pid, images in sorted(counted(folder).items()):
        ours = lines.pop(pid, [])
        if len(ours) != len(images):
            # Which one of them is missing nobody can tell.
            short += abs(len(images) - len(ours))
            continue
        for (n, want, strange, comm), line in zip(images, ours):
            wrong = wrong_of(line, want, comm)
            if whole(line):
                complete += 1
            elif line["lost"] or line["armed_ms"]:
                incomplete += 1
            else:
                short += 1
            if wrong:
                bad += 1
                print("pid %d.%d %s: %s" % (pid, n, comm, "; ".join(wrong)))
                print(json.dumps(line))
    for pid in lines:
        print("pid %d: reported, not counted" % pid)
        bad += 1
    print("%d complete, %d incomplete, %d missed, %d wrong" % (complete, incomplete, short, bad))
    if bad:
        return 1
    return 0 if complete >= least and short <= missed else 2


sys.exit(main())
