#!/bin/sh
# bench/run, one load and one part of it, small (--try); long_bench.sh runs the rest.
# Figures are not looked at.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_bench.sh"

# Latency takes ten seconds to measure, which is more than all the rest.  A target
# that waited too long for its node is not watched, and its cell has the
# reason: such a run is repeated.
one_load() {
	for try in 1 2 3; do
		B=$(without latency) run -w churn -t caller -p "" -o "$tmp/out" &&
		    ask 'g["churn"]["value"] is not None' && return 0
		cat "$tmp/said"
	done
	return 1
}
rule "a run of one load has a figure for its goal" one_load

starting() {
	B=$(without latency) run -w "" -p start -o "$tmp/out" && cat "$tmp/table" &&
	    ask 'all(g["exec" + row]["value"] is not None for row in ("", " fork", " spawn", " make", " configure")) and g["exec node"]["value"] > 0'
}
rule "programs that start programs have their rows, and the node's time for an image" \
    starting

# Made-up runs: one of caller only fails, and sampled with grow always.
failures() {
	PYTHONPATH=$top/bench PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY'
import collections, rounds, table
from job import Failed
runs = collections.Counter()
def once(tool, workload, part, core_share):
    runs[tool] += 1
    if (tool == "caller" and runs[tool] == 2) or (tool == "sampled" and workload.name == "grow"):
        raise Failed("its words")
    return {"ns": 10.0, "lossless": True, "core_share": None}
rounds.once = once
Load = collections.namedtuple("Load", "name is_program")
found = {}
for name in "churn", "grow":
    found[name] = r = rounds.Runs(Load(name, False), ["plain"])
    r.names, r.parts = ["plain", "caller", "sampled"], dict.fromkeys(["plain", "caller", "sampled"], 1)
    for i in range(5):
        r.round()
goals = {row["goal"]: row for row in table.goal_rows(found, {}, {}, {"sampled load"})}
print("\n".join(table.goal_table(goals.values())))
cells = table.tool_table(found.values(), table.load_title, table.load_cell)
print("\n".join(cells))
assert goals["lost"]["met"] is None and goals["lost"]["failed"] == 4
assert goals["sampled load"]["value"] is None and goals["sampled load"]["reason"] == "grow: its words"
assert any(c.startswith("| caller only | +0.0 ns, x1.00, 1 failed | +0.0 ns, x1.00 |") for c in cells)
assert "| no record of ours lost | yes, and 1 failed | yes, and 3 failed |" in cells
PY
}
rule "a run of ours that fails is told, and met is not said of what it lost" \
    failures

say_result
