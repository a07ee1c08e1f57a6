#!/bin/sh
# bench/run: that all of it works, small (--try), and what it says where
# something is missing.  Figures are not looked at.
. "$(dirname "$0")/lib.sh"
export B

run() {
	"$top/bench/run" --try "$@" >"$tmp/table" 2>"$tmp/said" || {
		cat "$tmp/said"
		return 1
	}
}

# ask EXPRESSION: of the last run's bench.json, as d; goals by name, as g.
ask() {
	PYTHONPATH=$top/bench PYTHONDONTWRITEBYTECODE=1 python3 - \
	    "$1" "$tmp/out/bench.json" <<'PY'
import goals, json, sys
d = json.load(open(sys.argv[2]))
g = {row["goal"]: row for row in d["goals"]}
print([row for row in d["goals"] if row["value"] is None])
sys.exit(0 if eval(sys.argv[1]) else 1)
PY
}

# A target that waited too long for its node goes its way alone, and its cell
# has that for a reason: such a run is made again.
told_all() {
	ask 'not any(w["reasons"] for w in d["workloads"]) and all(r["value"] is not None for r in g.values())'
}
# What tests/need check does not bring in is not asked for.
everything() {
	for try in 1 2 3; do
		run -t plain,caller,stack,sampled,dormant,beside,heaptrack,jemalloc-19 \
		    -o "$tmp/out" && told_all && return 0
		cat "$tmp/said"
	done
	return 1
}
rule "a run of everything has a figure for each goal, and in each cell" everything
rule "all goals but those of ten million blocks are decided" \
    ask 'len(d["workloads"]) == 8 and set(goals.GOALS) - set(g) == {"list mix 10000000", "list rand 10000000"}'
as_busy() {
	grep "^| caller only .* keeper and page [0-9]* % of a core" "$tmp/table" &&
	    grep "^| plain, other core as busy | [+-][0-9]" "$tmp/table" &&
	    ask 'any(run["core_share"] > 0 for w in d["workloads"] for r in w["rounds"] for run in r if run["tool"] == "caller")'
}
rule "plain beside a core as busy is measured, and how busy that is" as_busy
rule "how cost grows is measured, with live blocks and with threads" \
    ask 'len(d["parts"]["growth"]["cycles"]) == 2 == len(d["parts"]["growth"]["threads"])'
rule "and drawn" test -s "$tmp/out/growth.svg" -a -s "$tmp/out/threads.svg"
rule "the machine's line says how far its cores and its memory are apart" \
    ask '"read_ns" in d["machine"]["latency"] and (d["machine"]["cores"] == 1 or "hand_ns" in d["machine"]["latency"])'

documents="README.md doc/performance.md"
not_taken() {
	mkdir -p "$tmp/taken/doc" || return 1
	for d in $documents; do
		cp "$top/$d" "$tmp/taken/$d" || return 1
	done
	grep -q '^\*\*Tried, not measured' "$tmp/table" &&
	    ! "$top/bench/readme" "$tmp/taken" "$tmp/out" 2>"$tmp/said" &&
	    cat "$tmp/said" && grep -q "only a trial" "$tmp/said" &&
	    for d in $documents; do
		cmp "$top/$d" "$tmp/taken/$d" || return 1
	    done
}
rule "a trial run says that it is one, and changes no document" not_taken
taken() {
	sed -i 1,2d "$tmp/out/bench.md"
	"$top/bench/readme" "$tmp/taken" "$tmp/out" &&
	    grep -qF "bench/run --try" "$tmp/taken/doc/performance.md" &&
	    cmp "$tmp/out/growth.svg" "$tmp/taken/doc/growth.svg" &&
	    for d in $documents; do
		tail -n 1 "$tmp/taken/$d" >"$tmp/last"
		tail -n 1 "$top/$d" | cmp - "$tmp/last" || return 1
	    done
}
rule "doc/performance.md takes the tables of a run, with its plots" taken
twelve() {
	sed -n '/^<!-- bench: twelve/,/^<!-- bench: end/p' "$tmp/taken/README.md" \
	    >"$tmp/rows"
	cat "$tmp/rows"
	[ "$(grep -c '^| [^-w]' "$tmp/rows")" = 12 ]
}
rule "the README takes twelve of its rows" twelve

without_valgrind() {
	mkdir "$tmp/bin" || return 1
	ln -s /usr/bin/* /bin/* "$tmp/bin" 2>/dev/null
	rm -f "$tmp/bin/valgrind"
	PATH=$tmp/bin run -w churn -t caller,memcheck -p "" -o "$tmp/out" &&
	    cat "$tmp/table" &&
	    grep "^| .*memcheck | valgrind is not installed" "$tmp/table" &&
	    ask 'g["churn"]["value"] is not None'
}
rule "a peer that is not there has its reason in its cell" without_valgrind

# Runs that are made up: one of caller only fails, and sampled with grow always.
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

without_caller() {
	run -w churn -t beside -p "" -o "$tmp/out" && cat "$tmp/table" &&
	    grep "^| plain, other core as busy | no run of caller only" \
	    "$tmp/table"
}
rule "without a run of caller only nothing says how busy, and the cell does" \
    without_caller

without_keeperbench() {
	mkdir -p "$tmp/b/bench" || return 1
	ln -s "$B"/* "$tmp/b" 2>/dev/null
	ln -s "$B"/bench/* "$tmp/b/bench" 2>/dev/null
	rm "$tmp/b/bench/keeperbench"
	B=$tmp/b run -w "" -p keeper,names -o "$tmp/out" &&
	    ask '"not built" in g["keeper few"]["reason"] and g["names"]["value"]'
}
rule "a part that cannot run says why, and the next one runs" \
    without_keeperbench

say_result
