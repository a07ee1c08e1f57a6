#!/bin/sh
# bench/run, all of it, small (--try), and its messages where something is
# missing.  Figures are not looked at.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_bench.sh"

# A target that waited too long for its node is not watched, and its cell has the
# reason: such a run is repeated.
told_all() {
	ask 'not any(w["reasons"] for w in d["workloads"]) and all(r["value"] is not None for r in g.values())'
}
# Only tools that tests/need check installs.
everything() {
	for try in 1 2 3; do
		run -t plain,caller,stack,record,sampled,dormant,beside,heaptrack,heaptrack-raw,jemalloc-19 \
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

without_caller() {
	run -w churn -t beside -p "" -o "$tmp/out" && cat "$tmp/table" &&
	    grep "^| plain, other core as busy | no run of caller only" \
	    "$tmp/table"
}
rule "without a run of caller only nothing says how busy, and the cell does" \
    without_caller

without_keeperbench() {
	B=$(without keeperbench) run -w "" -p keeper,names -o "$tmp/out" &&
	    ask '"not built" in g["keeper few"]["reason"] and g["names"]["value"]'
}
rule "a part that cannot run says why, and the next one runs" \
    without_keeperbench

say_result
