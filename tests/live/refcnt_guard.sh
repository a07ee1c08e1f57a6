#!/bin/sh
# Guards of real programs: the first touch of each page is counted in each epoch, as a
# read or a write, and a guarded program behaves as without a guard.
set -u
. "$(dirname "$0")/lib.sh"
source=guard
. "$(dirname "$0")/lib_guard.sh"

guarded() {
	start "$B/tests/targets/guarded" "$tmp/pages" "$@"
}

# N: waits until the page that is touched most has N epochs.
has_epochs() {
	counts && [ "$(awk -F, '{ n = $2 + $3; if (n > most) most = n }
	    END { print most + 0 }' "$tmp/counts")" -ge "$1" ]
}

# --- a program that knows which pages it touches ---------------------------------------

# Of each seven pages, the first is read, and the second is written by a system call.
are_exact() {
	start "$B/tests/targets/touches" 200 "$tmp/pages" && enable &&
	    until_true 60 has_epochs 30 || return 1
	awk -F, -v pages="$pages" '
	{ i = NR - 1; n = $2 + $3; if (n > most) most = n; all[i] = n }
	i % 7 == 0 && $3 != 0 { print "was only read", i, $0; bad++ }
	i % 7 == 1 && $2 != 0 { print "was only written to", i, $0; bad++ }
	i % 7 > 1 && n != 0 { print "not touched", i, $0; bad++ }
	END {
		for (i = 0; i < pages; i++)
			if (i % 7 < 2 && all[i] < most / 2) {
				print "missed", i, all[i], most; bad++
			}
		exit bad > 0 || NR != pages
	}' "$tmp/counts"
}
rule "touched pages are counted in each epoch, read or written, others never" are_exact

costs_are_told() {
	must_say 'each system call of the program takes [0-9.]* us longer' &&
	    grep -q 'first touch of protected pages, 15 times a second: epochs' \
	    "$tmp/text"
}
rule "source, unit and the cost of a system call are shown" costs_are_told

ends_with_counting() {
	until_true 20 has_closed_pages && disable && until_true 30 is_alone
}
rule "the guard's thread and its handlers end when nothing is counted" ends_with_counting

rule "all pages are opened when the node is killed, and the program goes on" \
    ends_with_the_node

# --- a program with other calls -----------------------------------------------------------

start_node || exit 1
does() {
	guarded "$@" && enable && until_true 60 has_epochs 5 && finish
}
calls="reads writes messages masks actions"
rule "system calls on guarded pages, masks and handlers work as without a guard" does $calls
rule "signals interrupt system calls as without a guard, also by a jump" does signals touches

rule "pages are opened before the program has no room for data" does limits touches
sleeps() {
	guarded sleeps touches && enable && until_true 60 has_epochs 30 && finish
}
rule "no call of a thread that makes children is interrupted" sleeps

has_guard() {
	grep -q pagek-guard "/proc/$pid"/task/*/comm
}

# It always has new threads and children, so an epoch may not begin.
does_all() {
	guarded && enable && until_true 30 has_guard && {
		until_true 3 has_closed_pages
		finish
	}
}
rule "threads, forks, spawned programs and cancellation work as without a guard" does_all

gets_its_faults() {
	guarded faults touches && enable &&
	    must_say 'itself caused signal 11' && finish
}
rule "a fault that the program causes reaches its handler and ends the guard" \
    gets_its_faults

# --- by processors in place of nodes ------------------------------------------------------

# PROCESSOR: the one that the thread runs on.
processor_of() {
	for task in "/proc/$pid"/task/*; do
		grep -q "^$1$" "$task/comm" && sed -n \
		    's/^Cpus_allowed_list:[[:space:]]*//p' "$task/status"
	done
}

# Each thread's page is counted at its own processor, and at no other.
are_apart() {
	first=$(processor_of pinned0) second=$(processor_of pinned1)
	refcnt --format json "pid:$pid" "$address" $((pages * 4096)) \
	    >"$tmp/json" 2>/dev/null &&
	    python3 - "$tmp/json" "$address" "$first" "$second" \
	    >"$tmp/apart" 2>&1 <<'END'
import json, sys
name, address, *cpus = sys.argv[1:]
document = json.load(open(name))
assert document["virtual_nodes"] == "cpu", document["virtual_nodes"]
page = {int(p["page"], 16): p["counters"] for p in document["pages"]}
for i, cpu in enumerate(cpus):
    counted = page[int(address, 16) + (12 + i) * 4096]
    print("page", 12 + i, "processor", cpu, counted)
    nodes = {c["node"]: c["count"] for c in counted if c["count"] > 0}
    assert list(nodes) == [cpu] and nodes[cpu] >= 5
END
}

has_pins() {
	[ -n "$(processor_of pinned1)" ]
}

by_processors() {
	guarded pins && until_true 20 has_pins &&
	    refcnt --enable --source guard --nodes cpu --period 0.2 "pid:$pid" \
	    "$address" $((pages * 4096)) >"$tmp/said" 2>&1 &&
	    until_true 10 are_apart &&
	    refcnt "pid:$pid" 2>/dev/null | grep -q 'nodes are processors: cpu' &&
	    finish && return
	cat "$tmp/said" "$tmp/apart"
	return 1
}
if [ "$(nproc)" -gt 1 ] && command -v python3 >"$tmp/which"; then
	rule "two pinned threads are counted at two processors" by_processors
else
	skip "one processor, or no python3"
fi

# ARGUMENTS: the node refuses, with the words.
refuses_nodes() {
	words=$1
	shift
	! refcnt --enable "$@" "pid:$pid" "$address" 4096 2>"$tmp/why" &&
	    grep -q "$words" "$tmp/why" || { cat "$tmp/why"; return 1; }
}

takes_no_other_nodes() {
	guarded touches && refuses_nodes 'only guard, exact and hint count by groups' \
	    --source refs --nodes cpu &&
	    refuses_nodes 'groups of processors' --source guard --nodes 0-x &&
	    enable && refuses_nodes 'is counted by other nodes' --source guard \
	    --nodes cpu && disable && until_true 20 refcnt --enable \
	    --source guard --nodes cpu "pid:$pid" "$address" 4096 >"$tmp/said" \
	    2>&1 && refuses_nodes 'is counted by other nodes' --source guard \
	    --nodes 0 && finish
}
rule "a target has one kind of nodes at a time, of a source that tells them" \
    takes_no_other_nodes

# --- beside another source -----------------------------------------------------------------

names_its_sources() {
	guarded touches && enable && refcnt --enable --source refs "pid:$pid" \
	    "$(printf %x $((0x$address + pages * 4096)))" 4096 >"$tmp/said" &&
	    until_true 60 has_epochs 5 && refcnt --limit 1000000 "pid:$pid" \
	    >"$tmp/text" 2>"$tmp/why" && head -n 1 "$tmp/text" &&
	    head -n 1 "$tmp/text" | grep 'first touch.*: epochs, accessed bits of page tables: epochs' &&
	    grep -c ' guard *$' "$tmp/text" | grep -x "$pages" &&
	    [ "$(grep -c ' refs' "$tmp/text")" = 1 ] && finish
}
rule "a target with two sources has both in the heading, and each page its own" \
    names_its_sources

# --- a program that allocates seldom ------------------------------------------------------

# Unless the program has just called it.
says_it_waits() {
	disable
	enable && says "waits for the program's next call of the allocator"
}

is_late_but_counted() {
	guarded rests && until_true 20 says_it_waits &&
	    until_true 20 has_epochs 5 && finish
}
rule "a request waits for the program's next call of the allocator" \
    is_late_but_counted

# --- refusals --------------------------------------------------------------------------------

# refuses WORDS CALL...: the guard says WORDS, and the program goes on.
refuses() {
	words=$1
	shift
	guarded "$@" && enable && must_say "$words" && finish
}
rule "refused: the program handles SIGURG" refuses 'handles signal 23 itself' urgent
rule "refused: an alternate stack lies in the pages" \
    refuses 'has its stack or its storage in these pages' stacks touches
rule "refused: a thread waits in a call that a signal would end" \
    refuses 'waits in a system call that a signal would end' waits touches

rule "refused: a coroutine has its stack in the pages" refuses \
    'has its stack or its storage in these pages' coroutines touches
rule "refused: a thread has its storage in the pages" refuses \
    'has its stack or its storage in these pages' storage touches
rule "refused: a thread has a small stack" refuses 'has little room on its stack' \
    small touches
rule "refused: system calls of 32-bit programs" refuses \
    'system call 20 of 32-bit programs' calls_32 touches
rule "refused: the kernel may fill pages between two calls" refuses \
    'has an io_uring' rings touches

blocks() {
	start env --block-signal=SYS "$B/tests/targets/guarded" "$tmp/pages" touches &&
	    enable && must_say 'blocks SIGSYS, SIGSEGV or SIGURG' && finish
}
rule "refused: a thread blocks SIGSYS" blocks

is_debugged() {
	start gdb -nx -q -batch -ex 'handle SIGURG SIGSYS SIGSEGV nostop noprint pass' \
	    -ex run --args "$B/tests/targets/guarded" "$tmp/pages" touches ||
	    return 1
	debugger=$pid
	pid=$("$B/pagek" targets | sed -n 's/^pid:\([0-9]*\)  *guarded .*LIVE.*/\1/p')
	enable && must_say 'debugs or traces the target'
	refused=$?
	exec 7>&-
	wait $debugger
	pid=
	return $refused
}
if command -v gdb >"$tmp/which"; then
	rule "refused: a debugger is attached" is_debugged
else
	skip "no gdb"
fi

too_many() {
	guarded touches && ! refcnt --enable --source guard "pid:$pid" "$address" \
	    $((4097 * 4096)) 2>"$tmp/why" && grep -q 'at most 4,096 pages' \
	    "$tmp/why" && finish
}
rule "refused: more pages than a guard counts" too_many

# The node may have seen the filter, or the guard does.
sees_filter() {
	enable || grep -q 'is in a sandbox (seccomp)' "$tmp/said"
	[ $? = 0 ] && { grep -q 'is in a sandbox (seccomp)' "$tmp/said" ||
	    says 'is in a sandbox (seccomp)'; }
}

is_in_a_sandbox() {
	guarded filters touches && until_true 10 sees_filter || {
		cat "$tmp/said"
		return 1
	}
	finish
}
rule "refused: a thread has a seccomp filter" is_in_a_sandbox
rule "refused: more threads than a guard has room for" \
    refuses 'has too many threads' crowds touches

no_memory_of_its_own() {
	guarded touches || return 1
	address=$(sed -n '/r-xp.*guarded/s/-.*//p' "/proc/$pid/maps" | sed -n 1p)
	pages=1
	enable && must_say 'no private memory' && finish
}
rule "refused: pages of a file" no_memory_of_its_own

# --- redis -----------------------------------------------------------------------------------

# The background thread of its allocator blocks all signals.
start_redis() {
	ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
	LD_PRELOAD=$B/liballoclog.so "$tmp/redis-server" --port 0 \
	    --unixsocket "$tmp/redis.sock" --jemalloc-bg-thread no --save '' \
	    --dir "$tmp" >"$tmp/redis.out" 2>&1 &
	redis=$! pid=$!
	until_true 20 redis-cli -s "$tmp/redis.sock" ping >"$tmp/out" 2>&1
}

benchmark() {
	timeout 100 redis-benchmark -s "$tmp/redis.sock" -t set,get,lpush,hset,mset \
	    -n 5000 -d 2000 -r 1000 "$@" -q >"$tmp/out" 2>&1
}

# The largest blocks that it holds.
enable_blocks() {
	"$B/pagek" list "pid:$pid" --sort size --limit 40 --format csv \
	    --fields address,size | sed -n 's/^0x\([0-9a-f]*\),.*/\1/p' >"$tmp/blocks"
	while read -r block; do
		refcnt --enable --source guard --period 0.2 --block "$block" \
		    "pid:$pid" >"$tmp/said" 2>&1 || cat "$tmp/said"
	done <"$tmp/blocks"
	[ -s "$tmp/blocks" ]
}

# Of all pages.
redis_has_epochs() {
	refcnt --top --limit 1 --format csv --fields count "pid:$pid" \
	    2>"$tmp/why" | tr -d '\r' | sed 1d >"$tmp/top"
	[ "$(cat "$tmp/top")" -ge 5 ]
}

serves() {
	redis-cli -s "$tmp/redis.sock" set key value >"$tmp/out"
	benchmark && enable_blocks || return 1
	for i in 1 2 3; do
		benchmark && benchmark -P 16 || return 1
	done
	until_true 60 redis_has_epochs || { cat "$tmp/why"; return 1; }
	redis-cli -s "$tmp/redis.sock" bgsave >"$tmp/out"
	benchmark && [ "$(redis-cli -s "$tmp/redis.sock" get key)" = value ] &&
	    redis-cli -s "$tmp/redis.sock" shutdown nosave
	wait $redis
	status=$?
	redis= pid=
	[ $status = 0 ]
}
if command -v redis-benchmark redis-check-rdb >"$tmp/which"; then
	start_redis || exit 1
	rule "redis-server serves a benchmark and saves as ever while guarded" serves
else
	skip "no redis"
fi

say_result
