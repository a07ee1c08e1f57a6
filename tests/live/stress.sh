#!/bin/sh
# pagek stress: the six counts of the kernel's page allocator, from copies of its
# files and from this kernel.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
root=$tmp/root
mkdir -p "$root/proc/sys/kernel"
echo 6.1.0-test >"$root/proc/sys/kernel/osrelease"
printf 'numa_hit 1000\nnuma_miss 0\nallocstall_normal 40\ncompact_stall 2\noom_kill 1\n' \
    >"$root/proc/vmstat"

# as STATUS OUTPUT ARGUMENT...: the command ends like this.
as() {
	status=$1 output=$2
	shift 2
	"$pagek" stress --root "$root" "$@" >"$tmp/out" 2>"$tmp/err"
	[ $? = "$status" ] && grep -q -e "$output" "$tmp/out"
}

unknown() {
	as 0 '^1000 n/a n/a 42 1 n/a$' --read-zero &&
	    as 0 '^2 after background wake  *n/a' &&
	    as 0 '^4 synchronous reclaim  *<42 ' && as 0 'since boot' &&
	    as 0 '~1,000  *n/a  *n/a  *<42 ' --since boot --count 1 &&
	    as 0 '"level_2": null, "exactness_2": "unknown"' --format json
}
rule "levels that the source cannot say are not 0" unknown

exact() {
	echo '4373 516 3 0 0 0' >"$root/proc/heapstress"
	as 0 '^4373 516 3 0 0 0$' --read-zero && as 0 'exact' &&
	    as 0 'above a tenth' && ! grep -q n/a "$tmp/out" &&
	    as 0 'pagek_stress_requests_total{level="2",exactness="exact"} 516' \
		--format prom
}
rule "the note's six numbers are exact, in each format" exact

followed() {
	mkdir -p "$root/sys/module/heapstress/parameters"
	echo 7 >"$root/sys/module/heapstress/parameters/missed"
	as 0 'has not followed 7 requests' && as 0 '~516 ' &&
	    as 0 '"exactness_2": "close"' --format json
	status=$?
	rm -r "$root/sys"
	return $status
}
rule "counts are estimates where the module could not follow" followed

shape() {
	echo '1 2 3' >"$root/proc/heapstress"
	as 0 '/proc/heapstress does not have six numbers' && as 0 '~1,000'
}
rule "a file of another shape is said, and the next source used" shape

csv() {
	rm -f "$root/proc/heapstress"
	as 0 '^time,seconds,kernel,source,level_1,exactness_1,' --format csv &&
	    as 0 ',6.1.0-test,vmstat,1000,close,,unknown,,unknown,42,far over,1' \
		--format csv
}
rule "CSV has a column for each count and its exactness" csv

nothing() {
	mkdir "$tmp/empty"
	"$pagek" stress --root "$tmp/empty" >"$tmp/out" 2>"$tmp/err"
	[ $? = 1 ] && grep -q 'no source' "$tmp/out" &&
	    grep -q "cannot read $tmp/empty/proc/vmstat: No such" "$tmp/err"
}
rule "without any source that is said" nothing

# --- a node ---------------------------------------------------------------------------

there=$tmp/there
mkdir -p "$there/proc/sys/kernel"
echo 6.1.0-there >"$there/proc/sys/kernel/osrelease"
printf 'heap_stress_%s\n' '1 4373' '2 516' '3 3' '4 0' '5 0' '6 0' \
    >"$there/proc/vmstat"
"$B/pageknode" --no-supervisor --root "$there" >"$tmp/node" 2>&1 &
daemon=$!
trap 'kill "$daemon"; rm -rf "$tmp"' EXIT
socket=$XDG_RUNTIME_DIR/pagek/node
by_node() {
	until_true 10 [ -S "$socket" ] &&
	    "$pagek" stress >"$tmp/out" &&
	    grep -q '^HEAP STRESS  6.1.0-there .*exact  since boot$' "$tmp/out" &&
	    grep -qx "read by the node unix:$socket" "$tmp/out" &&
	    grep -q '^1 default criteria  *4,373' "$tmp/out" &&
	    [ "$("$pagek" stress --read-zero)" = '4373 516 3 0 0 0' ]
}
rule "a node here reads for all" by_node

by_target() {
	"$pagek" stress "unix:$socket" --format json >"$tmp/json" &&
	    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
s = d["samples"][0]
assert d["kernel"] == s["kernel"] == "6.1.0-there"
assert s["node"] == "unix:" + sys.argv[2] and s["source"] == "patch"
assert s["level_2"] == 516 and s["exactness_2"] == "exact"' "$tmp/json" \
		"$socket" &&
	    "$pagek" stress "unix:$socket" --interval 0.1 --count 3 \
		>"$tmp/out" &&
	    [ "$(grep -c '^[0-9][0-9]:' "$tmp/out")" = 3 ] &&
	    grep -q "^read by the node" "$tmp/out" &&
	    [ "$("$pagek" stress -- echo hello 2>"$tmp/err")" = hello ] &&
	    grep -q "^read by the node" "$tmp/err"
}
rule "a target's node says its own" by_target

kill "$daemon" && wait "$daemon"
trap 'rm -rf "$tmp"' EXIT

gone() {
	"$pagek" stress "unix:$socket" >"$tmp/out" 2>"$tmp/err"
	[ $? = 3 ] && grep -q 'no node listens' "$tmp/err" &&
	    "$pagek" stress >"$tmp/out" && ! grep -q '^read by' "$tmp/out"
}
rule "without a node its word is refused, and files are read here" gone

# --- this kernel ------------------------------------------------------------------

repeated() {
	"$pagek" stress --interval 0.1 --count 3 >"$tmp/out" &&
	    [ "$(grep -c '^[0-9][0-9]:' "$tmp/out")" = 3 ] &&
	    "$pagek" stress --interval 0.1 --count 2 --format ndjson |
	    python3 -c 'import json, sys
rows = [json.loads(line) for line in sys.stdin]
assert len([r for r in rows if "level_1" in r]) == 2'
}
rule "an interval gives a line each, and lines of JSON" repeated

# 64 MiB are touched; the machine may do more meanwhile.
spent() {
	"$pagek" stress --format json -o "$tmp/json" -- python3 -c '
import mmap
m = mmap.mmap(-1, 64 << 20)
m.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(0, 64 << 20, 4096):
    m[i] = 1
' && python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))["samples"][0]
assert s["seconds"] > 0
assert s["requests"] is None or s["requests"] >= 16384, s["requests"]' "$tmp/json"
}
rule "a command's touched pages are requests" spent

statuses() {
	"$pagek" stress -- sh -c 'exit 3' 2>"$tmp/err"
	[ $? = 3 ] && grep -q '^1 default criteria' "$tmp/err" || return 1
	"$pagek" stress -- sh -c 'kill -9 $$' 2>"$tmp/err"
	[ $? = 137 ] || return 1
	"$pagek" stress -- /nonexistent 2>"$tmp/err"
	[ $? = 127 ] && grep -q 'cannot run' "$tmp/err" || return 1
	"$pagek" stress -- /etc/passwd 2>"$tmp/err"
	[ $? = 126 ]
}
rule "the command's status is the status" statuses

apart() {
	"$pagek" stress --format json -- sh -c 'echo noise >&2' 2>"$tmp/err"
	sed 1d "$tmp/err" | python3 -m json.tool >/dev/null || return 1
	[ "$("$pagek" stress -- echo hello 2>"$tmp/err")" = hello ] &&
	    [ -s "$tmp/err" ]
}
rule "the command's output is apart from the counts" apart

# --- a capture ------------------------------------------------------------------------------

recorded() {
	"$pagek" record -o "$tmp/capture" -- python3 -c '
import mmap
m = mmap.mmap(-1, 64 << 20)
m.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(0, 64 << 20, 4096):
    m[i] = 1
' 2>"$tmp/err" || { cat "$tmp/err"; return 1; }
	"$pagek" stress "$tmp/capture" --format json >"$tmp/json" &&
	    python3 -c 'import json, os, sys
s = json.load(open(sys.argv[1]))["samples"]
assert len(s) == 1, s
s = s[0]
assert s["kernel"] == os.uname().release and s["node"] is None
assert s["seconds"] > 0 and not s["source_changed"]
assert s["requests"] is None or s["requests"] >= 16384, s' "$tmp/json" &&
	    "$pagek" stress "$tmp/capture" >"$tmp/out" &&
	    grep -q '^1 default criteria' "$tmp/out"
}
rule "a recording has the levels that were spent meanwhile" recorded
moments() {
	"$pagek" stress "$tmp/capture" --at begin >"$tmp/out" &&
	    grep -q '  0.0 s$' "$tmp/out" &&
	    "$pagek" stress "$tmp/capture" --at begin --at end --read-zero \
		>"$tmp/out" && [ "$(wc -w <"$tmp/out")" = 6 ] &&
	    "$pagek" stress "$tmp/capture" --interval 0.05 --count 2 \
		>"$tmp/out" &&
	    [ "$(grep -c '^[0-9][0-9]:' "$tmp/out")" = 2 ]
	[ $? = 0 ] || { cat "$tmp/out"; return 1; }
	"$pagek" stress "$tmp/capture" --at +1h 2>"$tmp/err"
	[ $? = 2 ] && grep -q 'which goes from' "$tmp/err" || return 1
	"$pagek" stress "$tmp/capture" --at end --at begin 2>"$tmp/err"
	[ $? = 2 ] && grep -q 'is before' "$tmp/err"
}
rule "... between moments of it, and in lines" moments
damaged() {
	head -c 5000 "$tmp/capture" >"$tmp/cut"
	"$pagek" stress "$tmp/cut" >"$tmp/out" 2>"$tmp/err"
	[ $? = 5 ] && grep -q '^1 default criteria' "$tmp/out" &&
	    grep -q 'cut off' "$tmp/err"
}
rule "what is left of a damaged one is shown, with the damage" damaged
older() {
	"$B/tests/capture/write_capture" "$tmp/older" 1000 &&
	    ! "$pagek" stress "$tmp/older" 2>"$tmp/err" &&
	    grep -q 'has no samples of heap stress' "$tmp/err"
}
rule "one of an older node has none, which is said" older

full() {
	"$pagek" stress >/dev/full 2>"$tmp/err"
	[ $? = 1 ] && "$pagek" stress | true
}
rule "output that cannot be written is said, a closed pipe is not" full

refused() {
	for words in pid:1 demo:note '--since click' '--interval 1 -- true' \
	    '--read-zero --format json' '--format prom --count 2' '--fields x'; do
		"$pagek" stress --root "$root" $words >"$tmp/out" 2>"$tmp/err"
		[ $? = 2 ] && [ -s "$tmp/err" ] && [ ! -s "$tmp/out" ] ||
		    return 1
	done
}
rule "what does not go together is refused" refused
say_result
