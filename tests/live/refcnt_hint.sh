#!/bin/sh
# Samples of automatic NUMA balancing on a machine with two memory nodes, a guest without
# KVM: the references of two threads on two nodes are distinguished, and the machine's
# settings are restored at the end.  Needs qemu.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_guest.sh"

has_kernel stock 6.1 || {
	say_result
	exit
}

hint_part() {
	cat <<'RUN'
mv /run /tmp/run.sh
mkdir /run
mount -t debugfs debugfs /sys/kernel/debug
switch=/proc/sys/kernel/numa_balancing
scan=/sys/kernel/debug/sched/numa_balancing
# The administrator's settings: off, and scans at least 100 ms apart.
echo 0 >$switch
echo 100 >$scan/scan_period_min_ms
echo 50 >$scan/scan_delay_ms
settings() {
	echo $(cat $switch $scan/scan_period_min_ms $scan/scan_period_max_ms)
}
were=$(settings)
are_as_before() {
	[ "$(settings)" = "$were" ] || { settings >/tmp/said; false; }
}
begin_node() {
	rm -f /tmp/run/pagek/node*
	/pageknode --no-supervisor 2>/tmp/node &
	node=$!
	until_true [ -S /tmp/run/pagek/node.hello ]
}
kill_node() {
	kill -9 $node
	wait $node
} 2>/dev/null
kill_target() {
	kill -9 $target
	wait $target
} 2>/dev/null
# Tries again: the program waits 50 ms for the node's answer, and a guest is slow.
begin_target() {
	for try in 1 2 3 4 5; do
		rm -f /tmp/pages
		LD_PRELOAD=/liballoclog.so /node_threads /tmp/pages &
		target=$!
		until_true [ -s /tmp/pages ] && read pid address pages </tmp/pages
		/pagek targets | grep "^pid:$pid .*LIVE" && return
		kill_target
	done
	return 1
}
refcnt() {
	/pagek refcnt "$@"
}
enables() {
	refcnt --enable --source hint --period 0.5 pid:$pid $address $((pages * 4096)) \
	    >/tmp/said 2>&1
}
begin_node
begin_target
check "pages are counted with the source hint" enables
check "a message says that it moves pages" grep -q 'moves pages to the nodes that use them' /tmp/said
check "balancing is on meanwhile, and scans often" until_true sh -c \
    "[ \"\$(cat $switch $scan/scan_period_max_ms | tr '\n' ' ')\" = '1 100 ' ]"
# By then, each thread has referred to all of its pages.
have_samples() {
	refcnt --format ndjson pid:$pid $address $((pages * 4096)) >/tmp/counts \
	    2>/tmp/said
	[ "$(grep -c '"node": "0", "count": [1-9]' /tmp/counts)" -ge 256 ] &&
	    [ "$(grep -c '"node": "1", "count": [1-9]' /tmp/counts)" -ge 256 ] &&
	    grep -q '"flags": "[^"]*moved' /tmp/counts
}
until_true have_samples
sed 's/^/data: /' /tmp/counts
refcnt --top --limit 3 pid:$pid >/tmp/said 2>&1
sed 's/^/# /' /tmp/said
check "the heading names source and unit" \
    grep -q 'faults of automatic NUMA balancing.*: samples ' /tmp/said
check "page R names source and unit" sh -c "/pagek --page=R --once pid:$pid >/tmp/said 2>&1;
    grep -q '^hint counts samples' /tmp/said"
refcnt --disable pid:$pid $address $((pages * 4096)) >/tmp/said
check "the settings are as before when nothing is counted" until_true are_as_before
enables
is_on() {
	[ "$(cat $switch)" = 1 ]
}
check "the settings are changed again" until_true is_on
kill_target
check "the settings are as before when the target has ended" until_true are_as_before
begin_target
enables
until_true is_on
kill_node
check "a node that is killed leaves them changed" is_on
begin_node
check "the next node restores the settings" until_true are_as_before
enables_for_a_while() {
	until_true enables && until_true is_on
}
check "the next node counts the target that it takes over" enables_for_a_while
echo 0 >$switch
says_off() {
	refcnt pid:$pid >/tmp/said 2>&1
	grep -q 'somebody has switched automatic NUMA balancing off' /tmp/said
}
check "a message says that somebody has switched it off" until_true says_off
echo 7000 >$scan/scan_period_max_ms
kill $node
wait $node 2>/dev/null
check "a setting that somebody else has changed is left alone" \
    [ "$(settings)" = "0 100 7000" ]
kill_target
RUN
}
script hint >"$tmp/hint.run"
guest hint $(programs "$B/liballoclog.so" "$B/tests/targets/node_threads")

# judge EXPRESSION: true for `rows`, the rows of the pages, and p[i], the counts of page
# i at node 0 and 1.
judge() {
	sed -n 's/^data: //p' "$tmp/hint" >"$tmp/counts"
	python3 - "$tmp/counts" "$1" <<'PY'
import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
rows = [r for r in rows if "page" in r]
assert len(rows) == 512, len(rows)
assert all(r["source"] == "hint" and r["unit"] == "samples" and r["writes"] is None
    for r in rows), rows[0]
p = []
for r in rows:
    c = {k["node"]: k["count"] for k in r["counters"]}
    p.append((c["0"], c["1"]))
for name, part in (("0-127", p[:128]), ("128-255", p[128:256]),
    ("256-383", p[256:384]), ("384-511", p[384:])):
    print(name, sum(a for a, _ in part), sum(b for _, b in part),
        "least", min(a for a, _ in part), min(b for _, b in part))
print("homes", {h: sum(r["home"] == h for r in rows) for h in (0, 1, None)},
    "moved", sum("moved" in r["flags"] for r in rows))
assert eval(" ".join(sys.argv[2].split()))
PY
}
rule "pages that one thread uses have samples of its node alone" judge \
    'all(a > 0 and b == 0 for a, b in p[:128]) and
        all(a == 0 and b > 0 for a, b in p[256:384])'
rule "pages that both use have samples of both" judge \
    'all(a > 0 and b > 0 for a, b in p[128:256])'
rule "pages that nobody uses have none" judge 'all(c == (0, 0) for c in p[384:])'
rule "pages that have moved to the node that uses them are marked" judge \
    'any(r["home"] == 1 and "moved" in r["flags"] for r in rows[256:384])'
# A page that the kernel moves at this moment is not in memory.
rule "the home of each page is known, except where it is being moved" judge \
    'sum(r["home"] not in (0, 1) for r in rows) < 16'
say_result
