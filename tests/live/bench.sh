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
	python3 - "$1" "$tmp/out/bench.json" <<'PY'
import json, sys
d = json.load(open(sys.argv[2]))
g = {row["goal"]: row for row in d["goals"]}
print([row for row in d["goals"] if row["value"] is None])
sys.exit(0 if eval(sys.argv[1]) else 1)
PY
}

# What tests/need check does not bring in is not asked for.
everything() {
	run -t plain,caller,stack,sampled,dormant,heaptrack,jemalloc-19 \
	    -o "$tmp/out" && cat "$tmp/said" &&
	    ask 'len(g) > 30 and all(r["value"] is not None for r in g.values())'
}
rule "a run of everything has a figure for each goal" everything
rule "and tools that were there have no reasons in their cells" \
    ask 'len(d["workloads"]) == 8 and not any(w["reasons"] for w in d["workloads"])'
rule "and the plots of how cost grows" \
    test -s "$tmp/out/growth.svg" -a -s "$tmp/out/threads.svg"

not_taken() {
	cp "$top/README.md" "$tmp/README.md" || return 1
	grep -q '^\*\*Tried, not measured' "$tmp/table" &&
	    ! "$top/bench/readme" "$tmp/README.md" "$tmp/out" &&
	    cmp "$top/README.md" "$tmp/README.md"
}
rule "what was only tried says so, and no README takes it" not_taken

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
