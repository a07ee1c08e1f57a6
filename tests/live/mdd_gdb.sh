#!/bin/sh
# Debug data taken out of real programs: by gdb and by pagek mdd-dump, from a live
# process, one that is stopped in an update, and core files.
set -u
. "$(dirname "$0")/lib.sh"
self=$B/tests/mdd/self
helper=$top/tests/live/mdd_gdb.py
cd "$tmp" || exit 1
core_pattern=$(cat /proc/sys/kernel/core_pattern)

# under_gdb ARGUMENT...: mdd.gdb is loaded, errors of one command do not end it.
under_gdb() {
	PAGEK_DEBUGDATA=$data timeout 100 gdb -nx -batch \
	    -ex 'set pagination off' -ex 'set confirm off' \
	    -ex 'set debuginfod enabled off' \
	    -ex "source $top/share/mdd.gdb" "$@" 2>&1
}

# start PROGRAM LOG END: runs it until it is ready; $pid.
start() {
	: >ready.out
	PAGEK_DEBUGDATA=$data "$1" "$2" 4000 "$3" >ready.out &
	pid=$!
	until_true 20 grep -q ready ready.out
}

stop() {
	kill -9 $pid
	wait $pid
} 2>/dev/null

# What a program writes of itself, from dumps: all events, and the live blocks.
events() { "$B/pagek" history -q -f '%a %p %n %s' "$@"; }
blocks() { "$B/pagek" dump -q -f '%a %p %n %s' "$1"; }
same() { events "$2" | cmp - "$1" && [ -s "$1" ]; }

data=on,history=100000

lists_agree() { python3 "$helper" fields "$top/share/mdd.gdb"; }

at_a_breakpoint() {
	rm -f mddout.*
	under_gdb -ex 'break at_rest' -ex "run log 4000 exit" -ex mdd_dump \
	    -ex 'shell cp mddout.0 first' \
	    -ex 'python print("pid=%d" % gdb.selected_inferior().pid)' \
	    -ex "python import subprocess; subprocess.run(['$B/pagek', 'mdd-dump', '-o', 'beside', 'pid:%d' % gdb.selected_inferior().pid])" \
	    -ex mdd_dumpnow "$self" >gdb.out
	cat gdb.out
	same log mddout.0 && blocks mddout.0 >a && blocks beside >b &&
	    cmp a b && blocks mddout.1 | cmp - a && ! same log mddout.1
}

attached() {
	rm -f mddout.*
	start $self log wait
	"$B/pagek" mdd-dump -o ours pid:$pid
	under_gdb -p $pid -ex mdd_dump -ex mdd_reset -ex mdd_dump
	stop
	same log ours && [ ! -e mddout.1 ] &&
	    blocks ours >a && blocks mddout.0 | cmp - a
}

# kind PROGRAM END: what the program writes of itself is in both dumps of it.
of_program() {
	rm -f mddout.* ours
	start "$1" log "$2"
	"$B/pagek" mdd-dump -o ours pid:$pid
	under_gdb -p $pid -ex mdd_dump
	stop
	same log ours && same log mddout.0
}

# A real program, whose data the preloaded library keeps.
of_the_library() {
	rm -f mddout.* ours
	: >ready.out
	PAGEK_DEBUGDATA=on,history=1000 LD_PRELOAD=$B/liballoclog.so \
	    PYTHONMALLOC=malloc python3 -c '
import time
x = [str(i) for i in range(100000)]
print("ready", flush=True)
time.sleep(300)' >ready.out &
	pid=$!
	until_true 60 grep -q ready ready.out
	"$B/pagek" mdd-dump -o ours pid:$pid
	under_gdb -p $pid -ex mdd_dump
	stop
	blocks ours >a && blocks mddout.0 | cmp - a && [ $(wc -l <a) -gt 100000 ]
}

# by_gdbserver PROGRAM: attached to by gdbserver, through "target remote".
by_gdbserver() {
	rm -f mddout.* ours server.out
	start "$1" log wait
	"$B/pagek" mdd-dump -o ours pid:$pid
	timeout 60 gdbserver --once --attach localhost:0 $pid >server.out 2>&1 &
	server=$!
	until_true 20 grep -q '^Listening on port' server.out || return 1
	port=$(sed -n 's/^Listening on port //p' server.out)
	under_gdb -ex "target remote localhost:$port" -ex mdd_dump -ex detach
	wait $server
	stop
	cp ours live
	same log ours && same log mddout.0 && has_its_heap mddout.0 &&
	    strings mddout.0 | grep -q "r-xp.*$1\$"
}

# A core does not name it; the live process does.
has_its_heap() {
	"$B/pagek" stats live | grep '^Heap' >heap.live
	"$B/pagek" stats "$1" | grep '^Heap' >heap.core
	cat heap.core
	grep -q 'Heap.*0x' heap.live && cmp heap.live heap.core
}

by_gcore() {
	rm -f mddout.* ours
	start $self log wait
	timeout 100 gcore -o core $pid >/dev/null 2>&1
	"$B/pagek" mdd-dump -o live pid:$pid
	stop
	"$B/pagek" mdd-dump -o ours core:core.$pid || return 1
	has_its_heap ours || return 1
	under_gdb $self core.$pid -ex mdd_dump >gdb.out
	cat gdb.out
	grep -q "history stays as it is" gdb.out &&
	    same log ours && same log mddout.0 && maps_agree mddout.0 ours &&
	    has_its_heap mddout.0
}

# The mappings of both are the same, as far as they are of files.
maps_agree() {
	for f; do
		strings -n 20 "$f" | grep -E '^[0-9a-f]+-[0-9a-f]+ r.*/' >$f.maps
	done
	cmp "$1.maps" "$2.maps" && grep -q 'r-xp.*/self$' "$1.maps"
}

by_the_kernel() {
	rm -f mddout.* ours core core.*
	(ulimit -c unlimited && PAGEK_DEBUGDATA=$data $self log 4000 abort)
	for core in core core.*; do
		[ ! -f "$core" ] || break
	done
	"$B/pagek" mdd-dump -o ours core:$core || return 1
	under_gdb $self $core -ex mdd_dump
	same log ours && same log mddout.0
}

# It is stopped where it links a record; the 700th time.
in_an_update() {
	rm -f mddout.*
	under_gdb -ex 'break link_slot' -ex 'ignore 1 700' \
	    -ex 'run log 4000 exit' -ex mdd_dump -ex mdd_dumpnow \
	    -ex 'delete 1' -ex 'tbreak cyg_memalloc_dd_done' -ex continue \
	    -ex mdd_dump -ex continue $self >gdb.out
	cat gdb.out
	grep -q 'while it changed shard [0-9]*: a dump may be unsafe' gdb.out &&
	    grep -q 'tbreak cyg_memalloc_dd_done' gdb.out &&
	    blocks mddout.0 >a && python3 "$helper" current log a &&
	    blocks mddout.1 >a && python3 "$helper" current log a
}

over_files() {
	rm -f mddout.*
	data=on,history=100
	under_gdb -ex 'break cyg_memalloc_dd_history_overflow' \
	    -ex 'python gdb.breakpoints()[0].commands = "silent\nmdd_dumpnow\ncontinue"' \
	    -ex 'break at_rest' -ex 'run log 4000 exit' -ex mdd_dump $self
	data=on,history=100000
	files=$(ls mddout.* | sort -t. -k2n)
	set -- $files
	echo "$# files"
	[ $# -gt 10 ] && events "$@" | cmp - log
}

# Four threads fill the history while others wait for room in it.  One that is kept
# from its processor may have no part in it; what is written is not overwritten.
# 2: a thread had no core for so long that another one waited no more for it.
over_files_with_threads() {
	rm -f mddout.*
	data=on,history=400
	under_gdb -ex 'break cyg_memalloc_dd_history_overflow' \
	    -ex 'python n = 0' \
	    -ex 'python gdb.breakpoints()[0].commands = "silent\nmdd_dumpnow\npython n += 1\npython if n < 30: gdb.execute(\"continue\")"' \
	    -ex 'run log 4000 busy' -ex kill $self
	data=on,history=100000
	files=$(ls mddout.* | sort -t. -k2n)
	set -- $files
	echo "$# files"
	[ $# -ge 30 ] || return 1
	python3 "$helper" room "$@" || return 2
	events "$@" >all && ! awk '/0x/ { print $NF }' all | sort | uniq -d | grep .
}

# The same is lost where nobody takes the records, and that is said.
overflow_is_told() {
	rm -f ours
	data=on,history=100
	start $self log wait
	data=on,history=100000
	"$B/pagek" mdd-dump -o ours pid:$pid
	stop
	events ours | grep -q incomplete
}

reset_by_pagek() {
	start $self log wait
	"$B/pagek" mdd-dump --reset -o ours pid:$pid &&
	    "$B/pagek" mdd-dump -o after pid:$pid
	r=$?
	stop
	[ $r = 0 ] && same log ours && blocks ours >a && events after >b &&
	    [ "$(wc -l <a)" = "$(grep -c 0x b)" ]
}

# --- a process that works -------------------------------------------------------

traced() { grep -h '^TracerPid:' /proc/$pid/task/*/status | grep -qv '	0$'; }
runs() {
	before=$(cut -d' ' -f14 /proc/$pid/stat)
	until_true 20 sh -c "[ \$(cut -d' ' -f14 /proc/$pid/stat) -gt $before ]"
}

while_it_works() {
	start $self log busy
	for i in 1 2 3 4 5; do
		"$B/pagek" mdd-dump -o ours pid:$pid
		# 6: the machine was too busy to copy all in the time of a stop.
		case $? in
		0) "$B/pagek" dump -q ours >/dev/null || break ;;
		6) ;;
		*) break ;;
		esac
		! traced || break
		[ $i = 5 ] && runs && done=1
	done
	stop
	[ "${done:-}" = 1 ]
}

# pagek is killed by gdb while it holds the process; 2: it has not come to that.
# Each read takes long under gdb, so that the process is not left running; the
# eleventh ptrace(2) lets go of the first of its five threads.
killed_meanwhile() {
	start $self log busy
	timeout 100 gdb -nx -batch -ex 'set confirm off' \
	    -ex 'set breakpoint pending on' \
	    -ex 'break ptrace' -ex 'ignore 1 10' -ex 'break process_vm_readv' \
	    -ex 'python gdb.breakpoints()[1].commands = "silent\ncontinue"' \
	    -ex "run mdd-dump -o ours pid:$pid" \
	    -ex "shell cat /proc/$pid/task/*/status | grep -c 'tracing stop' >stopped" \
	    -ex kill "$B/pagek"
	r=2
	[ "$(cat stopped)" -lt 4 ] || {
		r=1
		until_true 10 sh -c "! grep -q 'tracing stop' /proc/$pid/task/*/status" &&
		    runs && r=0
	}
	stop
	return $r
}

# --- what cannot be ----------------------------------------------------------------

# refuses STATUS TEXT ARGUMENT...
refuses() {
	status=$1 text=$2
	shift 2
	"$B/pagek" mdd-dump "$@" >out 2>&1
	r=$?
	cat out
	[ $r = "$status" ] && grep -qF -- "$text" out
}

bad_words() {
	refuses 2 "needs core:FILE or pid:N" &&
	    refuses 2 "'$self' is neither core:FILE nor pid:N" $self &&
	    refuses 2 "'pid:0' is neither" pid:0 &&
	    refuses 2 "--reset is for pid:N" --reset core:x &&
	    refuses 2 "core: needs the name" core: &&
	    refuses 1 "cannot read 'nothing'" core:nothing &&
	    refuses 5 "is no ELF core file" core:$self &&
	    refuses 5 "is no ELF core file" core:$helper &&
	    refuses 3 "there is no process 99999999" pid:99999999
}

without_data() {
	data=off
	start $self log wait
	data=on,history=100000
	refuses 3 "start the program with PAGEK_DEBUGDATA=on" pid:$pid
	r=$?
	under_gdb -p $pid -ex mdd_dump >gdb.out
	stop
	cat gdb.out
	[ $r = 0 ] && grep -q "nothing is collected" gdb.out &&
	    refuses 3 "the program has no mdd_root" pid:$$ &&
	    under_gdb -ex 'mdd_dump' | grep -q "is not being run"
}

another_users() {
	start $self log wait
	setpriv --reuid 65534 --regid 65534 --clear-groups \
	    "$B/pagek" mdd-dump -o - pid:$pid >out 2>&1
	r=$?
	stop
	cat out
	[ $r = 4 ] && grep -q "may not be read; run pagek as its user" out
}

# --- damage ---------------------------------------------------------------------------

# The address of a field of the largest shard, or of the root, in the core.
field() {
	under_gdb $self core.$pid -ex "python
d = Mdd()
d.read_root()
at, size = d.offsets(d.SHARD, 0)
where, _ = d.offsets(d.ROOT, 8)
i = max(range(len(d.shards)), key=lambda i: d.shards[i]['used'])
print('at=%#x' % (d.root['shard'] + i * size + at['$1'] if '$1' in at else
                  d.address + where['$1']))
end" | sed -n 's/^at=//p'
}

# damaged FIELD NUMBER PATTERN: both name the place, and have the rest.
damaged() {
	rm -f mddout.* ours
	at=$(field "$1")
	python3 "$helper" word core.$pid "$at" "$2" core.damaged || return 1
	"$B/pagek" mdd-dump -o ours core:core.damaged >out 2>&1
	r=$?
	under_gdb $self core.damaged -ex mdd_dump >gdb.out
	cat out gdb.out
	[ $r = 5 ] && grep -q "$3" out && grep -q "damaged: .*$3" gdb.out &&
	    [ $(wc -c <ours) -lt 100000000 ] && {
		blocks ours >a
		blocks mddout.0 >b
		cmp a b
	}
}

is_damaged() {
	start $self log wait
	timeout 100 gcore -o core $pid >/dev/null 2>&1
	stop
	damaged used 0x7fffffff "shard [0-9]* at 0x.*counts 2147483647 slots" &&
	    [ $(wc -l <a) -gt 100 ] &&
	    damaged slab 0xffff800000000010 "memory at 0x.*: 0 of [0-9]* bytes can be read" &&
	    [ $(wc -l <a) -gt 100 ] &&
	    damaged dynamic_bytes 0 "shard [0-9]* at 0x" &&
	    damaged shards 0x7fffffff "root at 0x.*: 2147483647 shards" &&
	    damaged history_records 0x7fffffff "history of 2147483647 records" &&
	    damaged threads 0x7fffffff "threads" &&
	    damaged record_bytes 7 "root at 0x.*7" &&
	    damaged version 9 "another version" &&
	    damaged order 9 "byte order"
}

# A core that a limit or a full disk has ended before its end.
cut_off() {
	start "$1" log wait
	timeout 100 gcore -o core $pid >/dev/null 2>&1
	stop
	size=$(stat -c %s core.$pid)
	for part in 19 5 2 1; do
		head -c $((size * part / 20)) core.$pid >core.cut
		"$B/pagek" mdd-dump -o ours core:core.cut >out 2>&1
		r=$?
		cat out
		[ $r = 5 ] && grep -q "core file is cut off: it has" out || return 1
	done
}

hostile_cores() {
	(cd "$top/tests/live" && python3 mdd_gdb.py cores "$tmp") || return 1
	n=0
	for core in 4little 4big 8little 8big; do
		for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 \
		    22 23 24 25; do
			python3 "$helper" cut $core.core cut $seed$n
			timeout 20 "$B/pagek" mdd-dump -q -o cut.out core:cut \
			    >/dev/null 2>&1
			r=$?
			[ $r -le 6 ] || { echo "$core $seed$n: status $r"; return 1; }
			n=$((n + 1))
		done
	done
}

other_machines() {
	(cd "$top/tests/live" && python3 mdd_gdb.py cores "$tmp") || return 1
	for core in 4little 4big 8little 8big; do
		"$B/pagek" mdd-dump -o ours core:$core.core &&
		    events $core.mddout >a && events ours | cmp - a &&
		    [ $(wc -l <a) = 90 ] || return 1
	done
}

rule "the other byte order and word size are read from a core" other_machines
rule "damaged headers and tables of a core end in a sentence" hostile_cores
rule "words that name no memory are refused, each with its sentence" bad_words
if command -v gdb >/dev/null; then
	rule "mdd.gdb has the fields of layout.def" lists_agree
	rule "mdd_dump at a breakpoint has each event that the program logged" \
	    at_a_breakpoint
	rule "mdd_dump has those of a running program, and mdd_reset begins anew" \
	    attached
	rule "a static program is dumped" of_program $self-static alone
	rule "a stripped program is found by its magic" \
	    of_program $self-stripped wait
	[ ! -f "$B/liballoclog.so" ] ||
	    rule "what liballoclog keeps of python3 is the same in both dumps" \
		of_the_library
	if command -v gdbserver >/dev/null; then
		rule "mdd_dump through gdbserver has the same" by_gdbserver $self
		rule "and of a stripped program" by_gdbserver $self-stripped
	else
		skip "there is no gdbserver: target remote is not tried"
	fi
	rule "a core of gcore has the same events and mappings in both dumps" \
	    by_gcore
	case $core_pattern in
	core | core.%p)
		rule "a core of the kernel has the same events in both dumps" \
		    by_the_kernel ;;
	*)
		skip "core_pattern is '$core_pattern': the kernel leaves no core here" ;;
	esac
	rule "mdd_dump refuses in an update and says how to go on; mdd_dumpnow is right" \
	    in_an_update
	rule "dumps at each overflow have the whole history together" over_files
	rule "with four threads no record is overwritten before a dump has it" \
	    tries over_files_with_threads
	rule "without data, mdd_dump and mdd-dump say how to get them" without_data
	rule "a damaged table is named, and the rest is dumped" is_damaged
	for kind in self self-stripped self-static; do
		rule "a core of $kind that is cut off is said to be" \
		    cut_off "$B/tests/mdd/$kind"
	done
	rule "a program lives on when mdd-dump is killed while it holds it" \
	    tries killed_meanwhile
else
	skip "there is no gdb"
fi
rule "a history that was overwritten is incomplete" overflow_is_told
rule "mdd-dump --reset empties the history of a process" reset_by_pagek
rule "a program that allocates in four threads is dumped, and runs on" \
    while_it_works
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	rule "another user's process is refused with a sentence" another_users
else
	skip "to become another user needs root"
fi
say_result
