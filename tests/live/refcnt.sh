#!/bin/sh
# pagek refcnt on real programs: pages that are touched are counted, others never; the
# program does what it does without us, also when its node is killed.  Needs cc,
# python3, sqlite3.
set -u
. "$(dirname "$0")/lib.sh"
exec 3>&-
pagek=$B/pagek
run=
pid=
stop() {
	[ -z "$pid" ] || kill -9 "$pid"
	[ -z "$run" ] || { kill "$run"; wait "$run"; }
	rm -rf "$tmp"
} >/dev/null 2>&1
trap stop EXIT
trap 'exit 1' TERM INT
cd "$tmp" || exit 1

# Of 64 pages each seventh is read, and page 11 by a system call; pages 32 to 63 are a
# block of their own.  It allocates now and then, as programs do.
cat >toucher.c <<'PROGRAM'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGES 64

int
main(int argc, char **argv)
{
	struct timespec ms = { 0, 1000000 };
	volatile char sum = 0;
	long rounds = 0;
	char *memory, *aligned;
	FILE *f;
	int zero = open("/dev/zero", O_RDONLY);

	if (argc < 2 || zero < 0)
		return 1;
	memory = malloc((PAGES + 1) * 4096);
	aligned = (char *)(((uintptr_t)memory + 4095) & ~(uintptr_t)4095);
	madvise(aligned, PAGES * 4096, MADV_NOHUGEPAGE);
	memset(aligned, 1, PAGES * 4096);
	f = fopen("address.new", "w");
	fprintf(f, "%lx %d %lx\n", (unsigned long)aligned, (int)getpid(),
	    (unsigned long)memory);
	fclose(f);
	rename("address.new", argv[1]);
	while (access("end", F_OK) < 0) {
		if (unlink("execute") == 0)
			execv(argv[0], argv);
		for (int i = 0; i < PAGES; i += 7)
			sum += aligned[i * 4096];
		if (pread(zero, aligned + 11 * 4096 + 100, 10, 0) != 10)
			return 2;
		free(malloc(100));
		nanosleep(&ms, NULL);
		rounds++;
	}
	printf("%s\n", rounds > 0 ? "done" : "none");
	return 0;
}
PROGRAM
cc -O1 -o toucher toucher.c || exit 1

begin() {
	rm -f address end
	"$pagek" run -b -o /dev/null -- ./toucher address >out 2>err &
	run=$!
	until_true 20 test -s address && read -r address pid block <address
}
finish() {
	touch end
	wait "$run"
	status=$?
	run=
	pid=
	[ $status = 0 ] && [ "$(cat out)" = done ]
}

rule "a target is started" begin

says_that_nothing_is_counted() {
	"$pagek" refcnt "pid:$pid" >text 2>said && grep -q 'not counted' said &&
	    "$pagek" refcnt --format json "pid:$pid" >json &&
	    python3 -c 'import json; d = json.load(open("json"))
assert d["schema"] == "pagek.refcnt/1" and d["pages"] == [], d
assert d["counted_pages"] == 0 and d["period_ms"] is None, d'
}
rule "until somebody asks nothing is counted, and that is said" \
    says_that_nothing_is_counted

enables() {
	"$pagek" refcnt --enable --period 0.2 "pid:$pid" "0x$address" 256k >text &&
	    grep -q ' 64 pages are counted now; the target has 64 counted pages' text
}
rule "a range is switched on" enables

have_passed() {
	"$pagek" refcnt --format json "pid:$pid" >json &&
	    python3 -c 'import json, sys
sys.exit(json.load(open("json"))["periods"] < int(sys.argv[1]))' "$1"
}
periods() {
	python3 -c 'import json; print(json.load(open("json"))["periods"])'
}
# Periods before the first cuts may be coarse: counting begins anew after them.
counts_what_is_touched() {
	until_true 60 have_passed 5 &&
	    "$pagek" refcnt --disable "pid:$pid" "$address" 256k >text &&
	    "$pagek" refcnt --enable --period 0.2 "pid:$pid" "$address" 256k &&
	    before=$(periods) && "$pagek" refcnt --format json "pid:$pid" >json &&
	    after=$(periods) && until_true 60 have_passed $((after + 8)) &&
	    python3 - "$before" "$after" <<'READER'
import json, sys
d = json.load(open("json"))
most, least = (d["periods"] - int(n) for n in sys.argv[1:])
pages = d["pages"]
assert len(pages) == 64, len(pages)
touched = [i % 7 == 0 or i == 11 for i in range(64)]
for i, p in enumerate(pages):
    assert p["source"] == "refs" and p["unit"] == "epochs", p
    assert "coarse" not in p["flags"], (i, p)
    if touched[i]:
        assert least - 2 <= p["count"] <= most, (i, p, least, most)
        assert p["last"] is not None and p["heat"][-1] == "9", (i, p)
    else:
        assert p["count"] == 0 and p["last"] is None, (i, p)
        assert p["heat"] == "0" * 16, (i, p)
READER
}
rule "touched pages are counted in each period, untouched ones have exactly 0" \
    counts_what_is_touched

has_files() {
	ls "$XDG_RUNTIME_DIR/pagek/refcnt/$pid"/refcnt.node0
}
rule "other programs have a file to map" has_files

shows_a_range() {
	"$pagek" refcnt --format csv "pid:$pid" "$address" 1 >csv &&
	    [ "$(wc -l <csv)" = 2 ] &&
	    "$pagek" refcnt --format csv "pid:$pid" 0x1000 8193 >csv &&
	    [ "$(wc -l <csv)" = 4 ] && ! grep -q true csv &&
	    "$pagek" refcnt "pid:$pid" 0x1000 0 >text &&
	    "$pagek" refcnt --top --limit 3 "pid:$pid" >text &&
	    [ "$(wc -l <text)" = 5 ] && ! grep -q ' >' text &&
	    for plane in hw ext wide; do
		"$pagek" refcnt --$plane --format json "pid:$pid" |
		    grep -q "\"plane\": \"$plane\"" || return 1
	    done
}
rule "ranges, also of pages that are not counted, and the hottest pages" shows_a_range

shows_blocks() {
	"$pagek" refcnt --block "0x$block" --format json "pid:$pid" >json &&
	    python3 - "$block" <<'READER'
import json, sys
d = json.load(open("json"))
b = int(sys.argv[1], 16)
assert 65 <= len(d["pages"]) <= 66, len(d["pages"])
whole = [p for p in d["pages"] if p["count"] is not None]
assert len(whole) == 64, len(whole)
assert all(int(p["block"], 16) == b and p["blocks"] == 1 for p in whole[:60]), whole[0]
READER
}
rule "pages say which block lies on them" shows_blocks

# status STATUS WORDS OPTION...
status() {
	expected=$1
	words=$2
	shift 2
	"$pagek" refcnt "$@" >out.bad 2>err.bad
	got=$?
	cat err.bad
	[ $got = "$expected" ] && grep -q "$words" err.bad &&
	    [ "$(wc -l <err.bad)" = 1 ]
}
bad_input() {
	status 2 'has no pages' --enable "pid:$pid" "$address" 0 &&
	    status 2 'last address' --enable "pid:$pid" ffffffffffffff00 4096 &&
	    status 2 'needs a LENGTH' --enable "pid:$pid" "$address" &&
	    status 2 'needs an ADDRESS' --enable "pid:$pid" &&
	    status 2 'no LENGTH' --enable "pid:$pid" "$address" x &&
	    status 2 'no ADDRESS' --enable "pid:$pid" 0xg 1 &&
	    status 2 'exclude each other' --enable --disable "pid:$pid" 1 1 &&
	    status 2 'exclude each other' --enable --all --block 1 "pid:$pid" &&
	    status 2 'is for --enable' --source refs "pid:$pid" &&
	    status 2 'format is for counts' --enable --format json \
	    "pid:$pid" "$address" 1 &&
	    status 2 'output is for counts' --disable -o out.bad "pid:$pid" \
	    "$address" 1 &&
	    status 2 'a NODE' --move "pid:$pid" "$address" 4096 &&
	    status 1 'at most' --enable "pid:$pid" 0 1T &&
	    for unmappable in 100000000000000 ffff800000000000 \
		fffffffffffff000; do
		status 1 'no program has memory' --enable "pid:$pid" \
		    $unmappable 4096 || return 1
	    done && status 1 'no program has memory' --enable "pid:$pid" 0 \
	    0xffffffffffffffff &&
	    status 1 'use refs' --enable --source import "pid:$pid" "$address" 1 &&
	    status 1 'no block that is held' --enable --block 0x10 "pid:$pid" &&
	    status 3 'process 1' --enable pid:1 "$address" 1 &&
	    status 1 'no such node' --move "pid:$pid" "$address" 4096 511 &&
	    status 2 'groups of processors' --memory --nodes 0-1,x &&
	    status 2 'not a time from 0.05 to 3600' --enable --period 3601 \
	    "pid:$pid" "$address" 1 &&
	    status 2 'not a time from 0.05 to' --enable --period 0.04 \
	    "pid:$pid" "$address" 1 &&
	    status 1 'Not a directory' --memory --root err.bad
}
rule "bad input is refused with a sentence and a status" bad_input

# Also of one of its own, and of none: move_pages(2) tells.
moves() {
	"$pagek" refcnt --move "pid:$pid" "$address" 8k 0 >text 2>said
	[ $? = 0 ] && grep -q ' 2 pages are on node 0 now, 0 are not' text
}
rule "pages are moved to a node, or are there already" moves

takes_unmapped_pages() {
	"$pagek" refcnt --enable "pid:$pid" 0x10000 8k >text &&
	    not_present() {
		"$pagek" refcnt --format json "pid:$pid" 0x10000 8k >json &&
		    grep -c not_present json | grep -qx 2
	    } && until_true 20 not_present &&
	    "$pagek" refcnt --disable "pid:$pid" 0x10000 8k
}
rule "pages that are not mapped are counted as not in memory" takes_unmapped_pages

counts_all_blocks() {
	"$pagek" refcnt --enable --all "pid:$pid" >text &&
	    "$pagek" refcnt --disable --all "pid:$pid" >text &&
	    "$pagek" refcnt --disable "pid:$pid" "$address" 256k >text &&
	    grep -q ' 64 pages are not counted now; the target has 0 counted pages' text
}
rule "all blocks are switched on and off" counts_all_blocks
has_executed() {
	test -s address && read -r address pid block <address &&
	    "$pagek" refcnt "pid:$pid" 2>said &&
	    grep 'executed another program, and counting ended' said
}
says_that_it_executed() {
	"$pagek" refcnt --enable "pid:$pid" "$address" 256k && rm address &&
	    touch execute && until_true 20 has_executed &&
	    "$pagek" refcnt --enable "pid:$pid" "$address" 256k &&
	    until_true 20 have_passed 1
}
# Two large blocks, and that of its output: a node counts all but one of these.
cat >large.c <<'PROGRAM'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main(void)
{
	void *a = malloc(700 << 20), *b = malloc(700 << 20);
	int c;

	printf("%d\n", (int)getpid());
	fflush(stdout);
	c = getchar();

	free(a);
	free(b);
	return c != EOF;
}
PROGRAM
cc -O0 -o large large.c || exit 1
enables_a_part() {
	mkfifo large.in
	"$pagek" run -b -o /dev/null -- ./large <large.in >out.large 2>err.large &
	large=$!
	exec 4>large.in
	until_true 20 test -s out.large && read -r of <out.large &&
	    until_true 20 "$pagek" list -o /dev/null "pid:$of" &&
	    ! "$pagek" refcnt --enable --all "pid:$of" >text 2>said &&
	    cat said && grep 'at most 262,144 pages' said &&
	    grep 'before that, 2 of 3 ranges were switched on' said
	part=$?
	exec 4>&-
	wait "$large"
	return $part
}
rule "a request that a node carries out in part says so" enables_a_part

rule "a program that executes another one is counted no longer, and that is said" \
    says_that_it_executed
rule "the target ends as it would" finish

# counts_with COMMAND...: the target is started by it; three periods are counted.
counts_with() {
	rm -f address end
	"$@" "$pagek" run -b -o /dev/null -- ./toucher address >out 2>err &
	run=$!
	until_true 20 test -s address && read -r address pid block <address &&
	    "$pagek" refcnt --enable --period 0.2 "pid:$pid" "$address" 256k &&
	    until_true 60 have_passed 3 && grep -q '"home": 0' json &&
	    python3 -c 'import json; p = json.load(open("json"))["pages"]
assert p[0]["count"] >= 2 and p[7]["count"] >= 2 and p[1]["count"] == 0, p[:8]'
}

has_addresses() {
	counts_with env && ! grep -q no_paddr json &&
	    grep -c '"physical": "0x[1-9a-f]' json | grep -qx 64 &&
	    [ -f "$XDG_RUNTIME_DIR/pagek/refcnt/refcnt.node0" ]
	tried=$?
	finish && [ $tried = 0 ]
}

# Root without capabilities is as anybody else.
has_no_addresses() {
	counts_with setpriv --bounding-set=-all --inh-caps=-all &&
	    ! grep -q '"physical": "' json && grep -c no_paddr json | grep -qx 64 &&
	    [ ! -e "$XDG_RUNTIME_DIR/pagek/refcnt/refcnt.node0" ]
	tried=$?
	finish && [ $tried = 0 ]
}

# Zeros without privilege: pagemap tells no frames (proc_pid_pagemap(5)).
knows_frames() {
	python3 -c 'import ctypes
b = ctypes.create_string_buffer(b"x", 8192)
f = open("/proc/self/pagemap", "rb", 0)
f.seek(ctypes.addressof(b) // 4096 * 8)
assert int.from_bytes(f.read(8), "little") & (1 << 55) - 1'
}
if knows_frames >/dev/null 2>&1; then
	rule "with privilege pages have physical addresses, and the machine a file" \
	    has_addresses
else
	skip "the kernel tells no physical addresses here"
fi
if [ "$(id -u)" = 0 ] && setpriv --bounding-set=-all --inh-caps=-all true; then
	rule "without privilege counts are the same, and have no physical address" \
	    has_no_addresses
else
	skip "setpriv cannot drop capabilities here"
fi

tells_memory() {
	for option in --config --memory; do
		"$pagek" refcnt $option >text && grep -q 'HARDWARE PAGES' text &&
		    "$pagek" refcnt $option --nodes cpu --format json >json &&
		    python3 -c 'import json; d = json.load(open("json"))
assert d["schema"] == "pagek.refcnt-memory/1"
assert all(n["counters"] == n["counter_sets"] * n["counters_of_a_set"]
           for n in d["nodes"])' || return 1
	done
}
rule "the memory of the nodes and their counters are told" tells_memory

imports() {
	printf ' L 1000,8\n S 1ff8,8\n M 2000,4\n' >trace &&
	    "$pagek" refcnt --import trace --format json >json &&
	    python3 -c 'import json; d = json.load(open("json"))
assert [(p["page"], p["reads"], p["writes"]) for p in d["pages"]] == [
    ("0x1000", 1, 1), ("0x2000", 1, 1)], d["pages"]' &&
	    echo rubbish >>trace && "$pagek" refcnt --import trace >text 2>said
	[ $? = 5 ] && grep -q 'line 4' said
	"$pagek" refcnt --import no/such 2>said
	[ $? = 1 ] && [ "$(wc -l <said)" = 1 ]
}
rule "traces of other programs are imported, and bad lines reported" imports

# All of its blocks are counted meanwhile, 10 times a second.
works_while_counted() {
	{ sql_work; echo 'SELECT sum(k) FROM t;'; } >work
	sqlite3 plain.db <work >plain || return 1
	cat >counted <<-SH
	echo \$\$ >pid.new && mv pid.new pid
	exec sqlite3 counted.db
	SH
	mkfifo input
	"$pagek" run -b -o /dev/null -- sh counted <input >counted.out 2>err &
	run=$!
	exec 4>input
	until_true 20 test -s pid && pid=$(cat pid) &&
	    cat work >&4 && enable_all() {
		"$pagek" refcnt --enable --all --period 0.1 "pid:$pid"
	    } && until_true 20 enable_all && cat work >&4
	counted=$?
	exec 4>&-
	wait "$run" || counted=1
	run=
	pid=
	[ $counted = 0 ] && cmp plain counted.first
}
works_the_same() {
	works_while_counted
	head -n "$(wc -l <plain)" counted.out | cmp plain -
}
rule "sqlite3 gives the same results while its pages are counted" works_the_same

node_killed() {
	begin && "$pagek" refcnt --enable --period 0.1 "pid:$pid" "$address" 256k &&
	    until_true 60 have_passed 3 || return 1
	target=$pid
	node=$(pgrep -P "$run" -x pageknode) || node=$(pgrep -x -P "$run")
	for p in $(pgrep -x pageknode); do
		grep -qz "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" "/proc/$p/environ" &&
		    kill -9 "$p"
	done
	[ -d "/proc/$target" ] || return 1
	touch end
	until_true 20 is_gone "$target"
	wait "$run"
	run=
	pid=
	[ "$(cat out)" = done ]
}
rule "a node that is killed while it counts leaves the target undisturbed" node_killed

# Its file has a lock no more.
files_go() {
	[ -f "$XDG_RUNTIME_DIR/pagek/refcnt/$target/refcnt.node0" ] && begin &&
	    [ ! -e "$XDG_RUNTIME_DIR/pagek/refcnt/$target" ]
	gone=$?
	finish && [ $gone = 0 ]
}
rule "the next node removes the mapped files of the one that was killed" files_go

mappings() {
	wc -l <"/proc/$pid/maps"
}
is_cut() {
	[ "$(mappings)" -ge $((before + 10)) ]
}
is_whole() {
	[ "$(mappings)" -le $((before + 2)) ]
}
says_until_when() {
	"$pagek" refcnt "pid:$pid" 2>said
	grep -q "not counted: counting ended with the node's process at 20" said
}
# ends_well STATUS: the toucher and its node end.
ends_well() {
	cat said
	touch end
	wait "$toucher"
	kill "$run"
	wait "$run"
	run=
	pid=
	[ "$1" = 0 ] && [ "$(cat out)" = done ]
}
# The process alone: its supervisor starts the next one.
node_taken_over() {
	rm -f address end
	"$B/pageknode" >node.out 2>&1 &
	run=$!
	until_true 20 test -S "$XDG_RUNTIME_DIR/pagek/node.hello" || return 1
	LD_PRELOAD=$B/liballoclog.so ./toucher address >out 2>err &
	toucher=$!
	until_true 20 test -s address && read -r address pid block <address &&
	    before=$(mappings) &&
	    "$pagek" refcnt --enable --period 0.1 "pid:$pid" "$address" 256k &&
	    until_true 60 is_cut && kill -9 "$(node_of "$run")" &&
	    until_true 30 says_until_when && until_true 30 is_whole
	ends_well $?
}
rule "the process that takes over says when counting ended, and undoes the cuts" \
    node_taken_over

# A node without a supervisor: the next one has nothing but the mapped files.
next_node_says() {
	rm -f address end
	"$B/pageknode" --no-supervisor >node.out 2>&1 &
	run=$!
	until_true 20 test -S "$XDG_RUNTIME_DIR/pagek/node.hello" || return 1
	LD_PRELOAD=$B/liballoclog.so ./toucher address >out 2>err &
	toucher=$!
	until_true 20 test -s address && read -r address pid block <address &&
	    "$pagek" refcnt --enable --period 0.1 "pid:$pid" "$address" 256k &&
	    until_true 60 has_files || return 1
	kill -9 "$run"
	wait "$run"
	"$B/pageknode" --no-supervisor >>node.out 2>&1 &
	run=$!
	until_true 30 says_until_when && until_true 30 is_gone_file &&
	    "$pagek" refcnt --enable "pid:$pid" "$address" 256k &&
	    "$pagek" refcnt --disable "pid:$pid" "$address" 256k &&
	    ! says_until_when
	ends_well $?
}
is_gone_file() {
	! has_files
}
rule "without a supervisor the next node says when counting ended and why" \
    next_node_says

say_result
