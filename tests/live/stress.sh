#!/bin/sh
# pagek stress: the six counts of the kernel's page allocator, from copies of its
# files and from this kernel.
set -u
# Mounts tracefs for this test alone if it is not mounted.
if [ "$(id -u)" = 0 ] && [ ! -e /sys/kernel/tracing/events ] && [ -z "${mounted:-}" ]; then
	export mounted=yes
	exec unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing || true
	    exec sh "$0"' "$0"
fi
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
table_of_node() {
	printf '%s\n' 'allocinfo - version: 2.0' \
	    '36864 9 arch/x86/mm/pgtable.c:33 func:pte_alloc_one' \
	    '1048576 300 drivers/a.c:7 [a_module] func:a_function' \
	    >"$there/proc/allocinfo"
	"$pagek" stress --sites "unix:$socket" >"$tmp/out" &&
	    grep -q '1,085,440 bytes in 2 rows$' "$tmp/out" &&
	    grep -q '^ *1,048,576 .*drivers/a.c:7 \[a_module\]' "$tmp/out" &&
	    "$pagek" stress --sites "unix:$socket" --format json >"$tmp/json" &&
	    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["version"] == "2.0" and len(d["sites"]) == 2' "$tmp/json" || return 1
	rm "$there/proc/allocinfo"
	"$pagek" stress --slab "unix:$socket" >"$tmp/out" 2>"$tmp/err"
	[ $? = 1 ] && [ ! -s "$tmp/out" ] && grep -q 'no table: cannot read' "$tmp/err"
}
rule "the table of the kernel's memory is from the target's machine" table_of_node

kill "$daemon" && wait "$daemon"
trap 'rm -rf "$tmp"' EXIT

gone() {
	"$pagek" stress "unix:$socket" >"$tmp/out" 2>"$tmp/err"
	[ $? = 3 ] && grep -q 'no node listens' "$tmp/err" &&
	    "$pagek" stress >"$tmp/out" && ! grep -q '^read by' "$tmp/out"
}
rule "without a node its word is refused, and files are read here" gone

# Processor 0 has these counts, in the order of the manual's list; level 2 is 4.
counts() {
	t=$root/sys/kernel/tracing/events
	mkdir -p "$root/perf" "$root/sys/devices/system/cpu"
	echo 0 >"$root/sys/devices/system/cpu/online"
	for e in kmem/mm_page_alloc vmscan/mm_vmscan_wakeup_kswapd \
	    vmscan/mm_vmscan_direct_reclaim_begin oom/mark_victim \
	    oom/reclaim_retry_zone; do
		mkdir -p "$t/$e"
		echo 600 >"$t/$e/id"
	done
	cat >"$t/kmem/mm_page_alloc/format" <<'FORMAT'
	field:unsigned long pfn;	offset:8;	size:8;	signed:0;
	field:unsigned int order;	offset:16;	size:4;	signed:0;
	field:unsigned long gfp_flags;	offset:24;	size:8;	signed:0;
print fmt: {(unsigned long)(( gfp_t)0x400u), "__GFP_DIRECT_RECLAIM"}
FORMAT
	printf '%s %s\n' requests "$1" failed "$2" failed_large "$3" \
	    failed_no_wait 0 failed_no_wait_large 0 wakeups "$4" reclaims "$5" \
	    victims 0 retries 0 >"$root/perf/cpu0.new" &&
	    mv "$root/perf/cpu0.new" "$root/perf/cpu0"
}
events() {
	counts 1000 0 0 0 0
	# Without a period there are no totals.
	as 0 'have no totals' && as 0 '~1,000' || return 1
	cat >"$tmp/later" <<LATER
sed 's/^requests .*/requests 1500/; s/^failed .*/failed 2/; s/^failed_large .*/failed_large 70/
s/^wakeups .*/wakeups 4/; s/^reclaims .*/reclaims 24/' $root/perf/cpu0 >$root/perf/new
mv $root/perf/new $root/perf/cpu0
LATER
	"$pagek" stress --root "$root" -- sh "$tmp/later" 2>"$tmp/out" &&
	    grep -q 'perf counts of tracepoints, estimates' "$tmp/out" &&
	    grep -q '^1 default criteria  *~400 ' "$tmp/out" &&
	    grep -q '^2 after background wake  *>4 ' "$tmp/out" &&
	    grep -q '^3 lowest watermarks  *n/a ' "$tmp/out" &&
	    grep -q '^4 synchronous reclaim  *<24 ' "$tmp/out" &&
	    grep -q '^6 failed  *72 ' "$tmp/out" &&
	    grep -q '^failed: 2 that could wait, of at most 8 pages; 70 that' \
		"$tmp/out" || { cat "$tmp/out"; return 1; }
	counts 1000 0 0 0 0
	"$pagek" stress --root "$root" --format json -o "$tmp/json" -- \
	    sh "$tmp/later" && grep -q '"exactness_2": "far under"' "$tmp/json" &&
	    grep -q '"failed_large": 70' "$tmp/json"
}
rule "tracepoints are estimates, and of the failures which could wait is told" events

hidden() {
	rm "$root/perf/cpu0"
	as 0 'no counts of tracepoints: cannot read' --interval 0.1 --count 1 \
	    --format json && grep -q '"source": "vmstat"' "$tmp/out" || return 1
	rm -r "$root/sys/kernel/tracing"
	as 0 'events/kmem/mm_page_alloc/id: No such file' --interval 0.1 \
	    --count 1 --format json && grep -q '"source": "vmstat"' "$tmp/out"
}
rule "without perf or its tracepoints the next source is used, with the reason" hidden

charge() {
	mkdir -p "$root/proc/self" "$root/sys/fs/cgroup/a b"
	echo '0::/a b' >"$root/proc/self/cgroup"
	: >"$root/sys/fs/cgroup/a b/cgroup.procs"
	printf 'low 0\nhigh 12\nmax 3\noom 1\noom_kill 1\n' \
	    >"$root/sys/fs/cgroup/a b/memory.events"
	as 0 '^CHARGE /a b  12 over the high limit, 3 at the limit' &&
	    as 0 '"charge_high": 12' --format json &&
	    as 0 '"charge_failcnt": null' --format json
}
rule "the limit of a control group has a line of its own" charge

# --- memory of the kernel itself ------------------------------------------------

sites() {
	cat >"$root/proc/allocinfo" <<'SITES'
allocinfo - version: 2.0
#     <size>  <calls> <tag info>
           0        0 init/main.c:1351 func:do_initcalls
       36864        9 arch/x86/mm/pgtable.c:33 func:pte_alloc_one
     1048576      300 drivers/a.c:7 [a_module] func:a_function accurate:no
       -4096        1 mm/slub.c:2307 func:alloc_slab_page
SITES
	as 0 '^ *~1,048,576  *300  *a_function  *drivers/a.c:7 \[a_module\]' \
	    --sites && [ "$(sed -n 3p "$tmp/out" | tr -d ' ' | cut -c1-10)" = '~1,048,576' ] &&
	    as 0 '1,085,440 bytes in 4 rows' --sites --limit 1 &&
	    [ "$(wc -l <"$tmp/out")" = 3 ] &&
	    as 0 '  -4,096 ' --sites --sort name --reverse &&
	    as 0 '^bytes,calls,function,file,line,module,accurate' --sites \
		--format csv && as 0 '^36864,9,pte_alloc_one,arch/x86/mm/pgtable.c,33,,true' \
		--sites --format csv &&
	    as 0 '"version": "2.0"' --sites --format json &&
	    python3 -m json.tool "$tmp/out" >/dev/null &&
	    as 0 '^pte_alloc_one' --sites --format csv --fields function
}
rule "the kernel's call sites are a table, the largest first" sites

headless() {
	printf '  12288  3 mm/slub.c:2307 func:alloc_slab_page\n  bad line\n' \
	    >"$root/proc/allocinfo"
	as 5 '12,288' --sites && grep -q '1 lines could not be read' "$tmp/err" &&
	    as 5 '"version": null' --sites --format json
}
rule "call sites without a heading are read, and bad lines are said" headless

six() {
	echo '1 2 3 4 5 6' >"$root/proc/allocinfo"
	mkdir -p "$root/sys/module/heapstress/parameters"
	echo 0 >"$root/sys/module/heapstress/parameters/missed"
	"$pagek" stress --root "$root" --sites 2>"$tmp/err"
	[ $? = 1 ] && grep -q 'would reset them' "$tmp/err"
	status=$?
	rm -r "$root/sys/module" "$root/proc/allocinfo"
	"$pagek" stress --root "$root" --sites 2>"$tmp/err"
	[ $? = 1 ] && grep -q CONFIG_MEM_ALLOC_PROFILING "$tmp/err" &&
	    return $status
}
rule "the six counts are not read for call sites, and a kernel without them is said" six

slab() {
	cat >"$root/proc/slabinfo" <<'SLAB'
slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>
dentry            90    100    192   21    1 : tunables    0    0    0 : slabdata      5      5      0
kmalloc-1k           981   1024   1024   16    4 : tunables    0    0    0 : slabdata     64     64      0
SLAB
	as 0 'kmalloc-1k$' --slab && [ "$(sed -n '3s/.* //p' "$tmp/out")" = kmalloc-1k ] &&
	    as 0 "^$((64 * 4 * $(getconf PAGESIZE))),1004544,1024,981,1024,64,kmalloc-1k" \
		--slab --format csv || return 1
	echo 'slabinfo - version: 1.0' >"$root/proc/slabinfo"
	"$pagek" stress --root "$root" --slab 2>"$tmp/err"
	[ $? = 1 ] && grep -q 'not of version 2' "$tmp/err" || return 1
	if [ "$(id -u)" = 0 ] && [ -e /proc/slabinfo ]; then
		"$pagek" stress --slab --limit 5 | grep -q 'bytes in'
	fi
}
rule "slab caches are a table" slab

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
brief() {
	"$pagek" stress --duration 0.1 >"$tmp/out" &&
	    [ "$(grep -c '^[0-9][0-9]:' "$tmp/out")" = 1 ]
}
rule "a duration that is shorter than a line's period has a line" brief

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
signalled() {
	for name in TERM HUP; do
		rm -f "$tmp/out"
		"$pagek" stress -- sh -c 'trap "exit 7" TERM HUP; echo $$; while :; do sleep 0.05; done' \
		    >"$tmp/out" 2>"$tmp/err" &
		until_true 60 [ -s "$tmp/out" ] && kill -$name $! && wait $!
		[ $? = 7 ] && grep -q '^1 default criteria' "$tmp/err" || return 1
	done
}
rule "a signal is for the command, whose counts are printed" signalled

# Whether perf counts tracepoints here; the reason is in $tmp/err.
perf_counts() {
	"$pagek" stress --only=command -- true 2>"$tmp/err"
}

no_count() {
	"$pagek" stress --only=2147483646 --format json >"$tmp/out" 2>"$tmp/err"
	[ $? != 0 ] && [ ! -s "$tmp/out" ] && grep -q '^pagek: ' "$tmp/err" ||
	    return 1
	"$pagek" stress --only=2147483646 --count 1 --format json >"$tmp/out" \
	    2>"$tmp/err"
	[ $? = 1 ] && [ ! -s "$tmp/out" ] &&
	    grep -qx 'pagek: there is no process 2147483646' "$tmp/err" ||
	    return 1
	setpriv --reuid=65534 --clear-groups "$pagek" stress \
	    --only=command --format json -- true >"$tmp/out" 2>"$tmp/err"
	[ $? = 1 ] && ! grep -q Assertion "$tmp/err"
}
rule "what cannot be counted ends with a sentence, as data too" no_count

# The one that this machine has: root's on a kernel that allows it.
by_ebpf() {
	"$pagek" stress --count 1 --interval 0.1 --format json >"$tmp/ebpf" ||
	    return 1
	if [ "$(id -u)" = 0 ] && [ -x "$B/pagek-levels" ] &&
	    ! grep -q 'eBPF is refused\|"source": "\(patch\|file\)"' "$tmp/ebpf"; then
		grep -q '"source": "ebpf"' "$tmp/ebpf"
	fi
}
rule "where eBPF is allowed it counts" by_ebpf
stages() {
	[ -x "$B/pagek-levels" ] || { echo "clang or libbpf-dev were not there"; return; }
	cc -O1 -Wall -Wextra -Werror -o "$tmp/stages" "$top/tests/stress/stages.c" \
	    $(pkg-config --libs libbpf) || return 1
	"$tmp/stages" "$B/src/stress/ebpf/programs.o"
	status=$?
	[ $status = 0 ] || [ $status = 77 ]
}
rule "eBPF classifies a request by what its task did before" stages

# One run touches 8,192 pages more; each may load what the other finds.
only() {
	perf_counts || { [ $? = 1 ] && grep -q 'cannot count' "$tmp/err"; return; }
	cat >"$tmp/touch.c" <<'TOUCH'
#include <stdlib.h>
#include <sys/mman.h>
int
main(int argc, char **argv)
{
	size_t n = (size_t)atol(argv[1]) * 4096;
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, n, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i += 4096)
		p[i] = 1;
}
TOUCH
	cc -o "$tmp/touch" "$tmp/touch.c" || return 1
	for n in 1 8193 1 8193; do
		"$pagek" stress --only=command --format json -o "$tmp/only.$n" -- \
		    "$tmp/touch" $n || return 1
	done
	python3 -c 'import json, sys
few, many = (json.load(open(f))["samples"][0] for f in sys.argv[1:])
assert few["source"] == "events" and few["level_3"] is None
more = many["requests"] - few["requests"]
print(few["requests"], more)
assert 8192 <= more <= 8192 + 64' "$tmp/only.1" "$tmp/only.8193"
}
rule "a command's own pages are its requests, and nothing else" only

ends_with() {
	perf_counts || return 0
	sleep 1000 &
	process=$!
	"$pagek" stress --only=$process --interval 0.2 --format ndjson \
	    >"$tmp/out" 2>"$tmp/err" &
	counter=$!
	until_true 20 grep -q level_1 "$tmp/out"
	kill "$process"
	wait "$process"
	wait "$counter"
}
rule "lines of a process end with it" ends_with

refuses() {
	"$pagek" stress --only=command -- touch "$tmp/ran" 2>"$tmp/err" && return 0
	[ ! -e "$tmp/ran" ] && grep -q 'cannot count the requests' "$tmp/err"
}
rule "a command that cannot be counted alone is not run" refuses

# Without the capability root is refused as well.
unprivileged() {
	[ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ] &&
	    setpriv --bounding-set=-perfmon,-sys_admin --inh-caps=-all true \
		2>"$tmp/err" || return 0
	setpriv --bounding-set=-perfmon,-sys_admin --inh-caps=-all "$pagek" stress \
	    --interval 0.1 --count 1 --format json >"$tmp/out" 2>&1
	grep -q '"source": "vmstat"' "$tmp/out" &&
	    grep -q 'perf is refused: it needs CAP_PERFMON' "$tmp/out"
}
rule "a refusal of perf is said, and the next source used" unprivileged

# A program whose filter of system calls kills it for perf_event_open(2).
sandboxed() {
	cat >"$tmp/sandbox.c" <<'SANDBOX'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int
main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 99;
	execv(argv[1], argv + 1);
	return 98;
}
SANDBOX
	cc -o "$tmp/sandbox" "$tmp/sandbox.c" || return 1
	"$tmp/sandbox" "$pagek" stress --only=command -- true >"$tmp/out" 2>&1
	[ $? = 1 ] && grep -q 'a filter of system calls (seccomp) may end' "$tmp/out" &&
	    "$tmp/sandbox" /usr/bin/env "$pagek" stress --interval 0.1 --count 1 \
		--format json >"$tmp/out"
}
rule "a filter of system calls that kills is not tried" sandboxed

# A group of 24 MiB reads a file of 200: it pays for each page with another one.
limited() {
	perf_counts || return 0
	if [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
		group=/sys/fs/cgroup/memory/pagek.$$
		limit=memory.limit_in_bytes row=charge_failcnt
	elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null &&
	    [ -w /sys/fs/cgroup/cgroup.procs ]; then
		group=/sys/fs/cgroup/pagek.$$ limit=memory.max row=charge_max
	else
		echo "no group of memory can be made here"
		return 0
	fi
	mkdir "$group" && echo 24M >"$group/$limit" || return 1
	truncate -s 200M "$B/stress.sparse"
	sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - "$group" \
	    "$pagek" stress --only=command --format json -o "$tmp/json" -- \
	    cat "$B/stress.sparse" >/dev/null
	python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))["samples"][0]
print(s)
assert s["charge_group"].startswith("/pagek."), s
assert s[sys.argv[2]] > 0
assert s["level_4"] == s["level_5"] == s["level_6"] == 0' "$tmp/json" $row
	status=$?
	rm "$B/stress.sparse"
	rmdir "$group"
	return $status
}
rule "a control group's limit moves its row, and no level" limited

apart() {
	"$pagek" stress --format json -- sh -c 'echo noise >&2' 2>"$tmp/err"
	sed 1d "$tmp/err" | python3 -m json.tool >/dev/null || return 1
	[ "$("$pagek" stress -- echo hello 2>"$tmp/err")" = hello ] &&
	    [ -s "$tmp/err" ]
}
rule "the command's output is apart from the counts" apart

# --- a baseline -------------------------------------------------------------------------------

# put LEVEL1 LEVEL4: the counters of the folder.
put() {
	printf 'numa_hit %s\nnuma_miss 0\nallocstall_normal %s\noom_kill 1\n' \
	    "$1" "$2" >"$root/proc/vmstat"
}
since() {
	put 1000 40 && as 0 '^1000 n/a n/a 40 1 n/a$' --read-zero \
	    --baseline "$tmp/base" && put 1234 41 &&
	    as 0 '^234 n/a n/a 1 0 n/a$' --read-zero --baseline "$tmp/base" &&
	    as 0 '^234 n/a n/a 1 0 n/a$' --read-zero --baseline "$tmp/base" \
		--save-baseline && put 1240 41 &&
	    as 0 '^6 n/a n/a 0 0 n/a$' --read-zero --baseline "$tmp/base" &&
	    as 0 '"level_1": 6,' --format json --baseline "$tmp/base" &&
	    [ ! -s "$tmp/err" ]
}
rule "counts since a sample in a file, as often as wanted" since
doubted() {
	put 7 0 && as 0 '^7 n/a n/a 0 ' --read-zero --baseline "$tmp/base" &&
	    grep -q "begun anew since '$tmp/base'" "$tmp/err" &&
	    put 9999 99 &&
	    echo 6.2.0-other >"$root/proc/sys/kernel/osrelease" &&
	    as 0 '^8765 ' --read-zero --baseline "$tmp/base" &&
	    grep -q 'of the kernel 6.1.0-test: do not compare' "$tmp/err" || return 1
	echo '1 2 3 4 5 6' >"$root/proc/heapstress"
	as 0 '^1 2 3 4 5 6$' --read-zero --baseline "$tmp/base" &&
	    as 0 'the source is now' --baseline "$tmp/base"
	r=$?
	rm "$root/proc/heapstress"
	echo 6.1.0-test >"$root/proc/sys/kernel/osrelease"
	return $r
}
rule "another boot, kernel or source is said" doubted
no_baseline() {
	for text in '' 'pagek.baseline/1' 'pagek.stress-baseline/1
time 1' 'pagek.stress-baseline/1
time 1
reader 0
sample 0466'; do
		echo "$text" >"$tmp/bad"
		as 5 '' --baseline "$tmp/bad" 2>/dev/null
		[ $? != 99 ] && grep -q 'is not a baseline' "$tmp/err" &&
		    [ ! -s "$tmp/out" ] || return 1
	done
	"$pagek" stress --root "$root" --save-baseline 2>"$tmp/err"
	[ $? = 2 ] && as 1 '' --baseline "$tmp/none/base" >/dev/null
	grep -q "cannot write '$tmp/none/base'" "$tmp/err"
}
rule "what is no baseline is refused" no_baseline

# --- allocators of a program ------------------------------------------------------------------

# Of the example of the manual: 2,000 objects in two regions, and 10 more.
cc -O1 -I "$top/src/alloclog" -o "$tmp/arena" "$top/examples/arena.c" \
    "$B/liballoclog.so" -Wl,-rpath,"$B" || exit 1
mkfifo "$tmp/input"
LD_LIBRARY_PATH=$B "$B/pageknode" -- "$tmp/arena" 2000 <"$tmp/input" >"$tmp/said" 2>&1 &
node=$!
exec 4>"$tmp/input"
arena() {
	until_true 10 grep -q 'requests have failed' "$tmp/said" || return 1
	refusals=$(sed 's/.*there, \([0-9]*\) requests.*/\1/' "$tmp/said")
	"$pagek" stress --allocators arena --format json >"$tmp/json" &&
	    python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))["samples"][0]
n = [s["level_%d" % i] for i in range(1, 7)]
assert n[5] == int(sys.argv[2]) > 0, n
assert n[0] > 0 and n[1] > 0 and n[2:5] == [0, 0, 0], n
assert sum(n[:2]) >= 4010 - n[5], n
assert s["target"] == "arena" and s["complete"], s' "$tmp/json" "$refusals" &&
	    "$pagek" stress --allocators arena >"$tmp/out" &&
	    grep -q "^ALLOCATOR LEVELS  .*arena" "$tmp/out" &&
	    grep -q "^6 failed  *$(printf "%'d" "$refusals" | tr . ,)" "$tmp/out" &&
	    "$pagek" stress --allocators arena --interval 0.05 --count 2 \
		--read-zero >"$tmp/out" &&
	    [ "$(sort -u "$tmp/out")" = '0 0 0 0 0 0' ] &&
	    [ "$(wc -l <"$tmp/out")" = 2 ]
	[ $? = 0 ] || { cat "$tmp/json" "$tmp/out"; return 1; }
}
rule "the regions and failures of a program's own allocator are seen" arena
exec 4>&-
wait "$node"
arena_recorded() {
	"$pagek" record -o "$tmp/arena.cap" -- "$tmp/arena" 2000 </dev/null \
	    >"$tmp/said" || return 1
	refusals=$(sed -n 's/.*there, \([0-9]*\) requests.*/\1/p' "$tmp/said")
	"$pagek" stress --allocators "$tmp/arena.cap" --format json >"$tmp/json" &&
	    python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))["samples"]
assert len(s) == 1, s
n = [s[0]["level_%d" % i] for i in range(1, 7)]
assert n[5] == int(sys.argv[2]) > 0 and sum(n[:2]) >= 4010 - n[5], n
assert s[0]["target"] == "arena" and s[0]["complete"], s' "$tmp/json" "$refusals" &&
	    "$pagek" stress --allocators "$tmp/arena.cap" --interval 0.05 \
		--format ndjson >"$tmp/lines" && python3 -c 'import json, sys
whole = json.load(open(sys.argv[1]))["samples"][0]
rows = [json.loads(line) for line in open(sys.argv[2])]
rows = [r for r in rows if "level_1" in r]
for key in ["level_%d" % i for i in range(1, 7)] + ["no_level"]:
    assert sum(r[key] for r in rows) == whole[key], key' "$tmp/json" "$tmp/lines" &&
	    "$pagek" stress --allocators "$tmp/arena.cap" --at begin --read-zero \
		>"$tmp/out" && [ "$(wc -w <"$tmp/out")" = 6 ] || return 1
	"$pagek" stress --allocators "$tmp/arena.cap" --part nobody 2>"$tmp/err"
	[ $? != 0 ] && [ -s "$tmp/err" ]
}
rule "... and in a capture, whose lines add up to the whole" arena_recorded
no_levels() {
	"$pagek" stress --allocators demo:note >"$tmp/out" 2>"$tmp/err"
	[ $? = 5 ] && grep -q 'no levels' "$tmp/err" && [ ! -s "$tmp/out" ]
}
rule "records without levels are said" no_levels

# --- a capture ------------------------------------------------------------------------------

# Without capabilities for other sources, the file has all requests.
recorded() {
	capable=
	[ "$(id -u)" != 0 ] ||
	    capable='setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-all'
	$capable "$pagek" record -o "$tmp/capture" -- python3 -c '
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
by_ebpf_too() {
	grep -q '"source": "ebpf"' "$tmp/ebpf" || return 0
	mkfifo "$tmp/hold"
	"$pagek" record -o "$tmp/long" -- cat "$tmp/hold" 2>"$tmp/err" &
	recorder=$!
	exec 5>"$tmp/hold"
	until_true 60 counts_by_ebpf
	exec 5>&-
	wait "$recorder" && counts_by_ebpf &&
	    grep -q '"source_changed": false' "$tmp/json"
}
counts_by_ebpf() {
	"$pagek" stress "$tmp/long" --format json >"$tmp/json" 2>"$tmp/err"
	grep -q '"source": "ebpf"' "$tmp/json"
}
rule "... by eBPF, where that is allowed" by_ebpf_too
brief_record() {
	"$pagek" record -o "$tmp/brief" -- true 2>"$tmp/err" &&
	    "$pagek" stress "$tmp/brief" >"$tmp/out" &&
	    grep -q '^1 default criteria' "$tmp/out"
}
rule "... and of a program that ends at once" brief_record
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
	head -c "$(($(wc -c <"$tmp/capture") - 100))" "$tmp/capture" >"$tmp/cut"
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
	for words in pid:1 demo:note --root= '--since click' '--interval 1 -- true' \
	    '--allocators -- true' '--allocators --since boot' \
	    '--read-zero --format json' '--format prom --count 2' '--fields x' \
	    '--slab pid:1' '--sites ssh:nosuch' '--sites --slab' '--sites --count 2' '--sort bytes' '--slab --sort calls' \
	    '--sites -- true' '--only 1 --interval 1' '--sites --format prom' '--part x'; do
		"$pagek" stress --root "$root" $words >"$tmp/out" 2>"$tmp/err"
		[ $? = 2 ] && [ -s "$tmp/err" ] && [ ! -s "$tmp/out" ] ||
		    return 1
	done
}
rule "what does not go together is refused" refused
say_result
