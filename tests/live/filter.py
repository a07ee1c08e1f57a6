#!/usr/bin/env python3
"""filter.py WHAT FILE...: whether filtered output is what it has to be.

rows ALL SOME EXPRESSION CONDITION   blocks of SOME are those of ALL of which
                                     the condition, of a block b, is true
limit SOME ROWS MATCHED              so many rows of so many that match
tree TREE EXPRESSION BLOCKS BYTES FUNCTION
                                     its total, and the function has it all;
                                     of a sample nearly so
sample SOME                          estimates are sums of weights
"""
import json
import sys


def load(path):
    with open(path) as f:
        return json.load(f)


def origin(b):
    """The line of the stack that is who asked."""
    stack = b["stack"] or []
    return next((l for l in stack if not l["skipped"]),
                stack[-1] if stack else {})


def name(b):
    return b["function"] or ""


def path(b):
    return origin(b).get("file") or ""


def line(b):
    return origin(b).get("line") or 0


def module(b):
    return origin(b).get("module") or ""


def same(b):
    """What stays as it is while ages go on."""
    return {k: v for k, v in b.items() if k not in ("age_ms", "time")}


def rows(everything, some, expression, condition):
    everything, some = load(everything), load(some)
    truth = compile(condition, "condition", "eval")
    here = {"name": name, "path": path, "line": line, "module": module}
    want = [same(b) for b in everything["blocks"]
            if eval(truth, here, {"b": b})]
    got = [same(b) for b in some["blocks"]]
    print(len(want), "wanted of", len(everything["blocks"]), "got", len(got))
    assert want == got, [b for b in want + got if want.count(b) !=
                         got.count(b)][:3]
    assert condition in ("False", 'b["layer"] == "api"') or want, "none"
    assert everything["filter"] is None and everything["matched"] is None
    assert some["filter"] == expression
    assert some["matched"] == len(got)
    assert some["matched_of"] == len(everything["blocks"])
    assert some["matched_bytes"] == sum(b["size"] for b in got)


def limit(some, n, matched):
    some = load(some)
    print(len(some["blocks"]), some["matched"])
    assert len(some["blocks"]) == int(n)
    # What the program's own library holds may be among them.
    assert int(matched) <= some["matched"] < int(matched) + 20


def near(got, want, sampled):
    """A sample of so few blocks that it has nearly all of the large ones."""
    return abs(got - want) <= (want / 10 if sampled else 0)


def tree(tree, expression, blocks, size, function):
    tree = load(tree)
    sampled, total = tree["estimated"], tree["total"]
    print(total, tree["matched"])
    assert tree["filter"] == expression
    assert tree["matched"] == total["blocks"]
    assert near(total["est_blocks"], int(blocks), sampled)
    assert near(total["est_bytes"], int(size), sampled)
    assert tree["matched_of"] > tree["matched"]
    # Stacks of one kind may come by more than one way.
    assert sum(n["self"]["blocks"] for n in tree["nodes"]
               if n["function"] == function) == total["blocks"]


def sample(some):
    some = load(some)
    weights = sum(b["weight"] for b in some["blocks"])
    size = sum(b["weight"] * b["size"] for b in some["blocks"])
    print(weights, size, some["matched_est_blocks"])
    assert some["estimated"]
    assert abs(some["matched_est_blocks"] - weights) < 1
    assert abs(some["matched_est_bytes"] - size) < 1000


if __name__ == "__main__":
    {f.__name__: f for f in (rows, limit, tree, sample)}[sys.argv[1]](
        *sys.argv[2:])
