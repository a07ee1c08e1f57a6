#!/usr/bin/env python3
"""A program that keeps working for a while, for a page to be opened on.

It builds records, sorts them, indexes them and drops the oldest, for SECONDS
(60 unless given).  Run it with PYTHONMALLOC=malloc, so that every object is a
block of its own and comes from the function that made it.
"""
import json
import random
import sys
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
rng = random.Random(2004)


def make(n):
    """A record as a service would hold it."""
    return {
        "id": n,
        "node": "%04X" % rng.randrange(0x10000),
        "values": [rng.random() for _ in range(rng.randrange(4, 24))],
        "note": "x" * rng.randrange(8, 400),
    }


def main():
    start = time.monotonic()
    kept, index, n = [], {}, 0
    while time.monotonic() - start < SECONDS:
        batch = [make(n + i) for i in range(200)]
        n += len(batch)
        kept.extend(batch)
        for rec in batch:
            index.setdefault(rec["node"][:2], set()).add(rec["id"])
        kept.sort(key=lambda rec: rec["values"][0])
        text = json.dumps(batch)
        kept[: len(batch)] = json.loads(text)
        if len(kept) > 4000:
            kept.sort(key=lambda rec: rec["id"])
            for rec in kept[:1500]:
                index[rec["node"][:2]].discard(rec["id"])
            del kept[:1500]
        time.sleep(0.05)
    print("records made: %d, kept: %d" % (n, len(kept)))


main()
