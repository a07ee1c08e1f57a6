#!/bin/sh
# Memory debug data that liballoclog keeps in a program that knows nothing of them,
# and the dumps that the program writes itself.
set -u
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

lib=$B/liballoclog.so
target=$B/tests/targets/debugdata
pagek=$B/pagek

# begin SETTINGS AT COMMAND...: in the background, its input open, its output in
# `out`; $pid.
begin() {
	settings=$1 at=$2
	shift 2
	rm -f mddout.* in out
	mkfifo in
	exec 3<>in
	PAGEK_DEBUGDATA=$settings PAGEK_DUMP_AT=$at LD_PRELOAD=$preload \
	    "$@" <in >out 2>err 3>&- &
	pid=$!
}
preload=$lib

# Ends the program by the end of its input.
finish() {
	kill -KILL "$pid" 2>/dev/null
	exec 3>&-
	wait "$pid" 2>/dev/null
	true
}

ready() {
	until_true 30 grep -q ready out
}

# One dump of that process.
dump_of() {
	kill -USR2 "$1"
	until_true 30 test -s "mddout.$1.0" &&
	    until_true 30 "$pagek" stats "mddout.$1.0" >/dev/null 2>&1
}

knows_its_blocks() {
	begin on,backtrace=2 USR2 "$@"
	ready || { cat out err; return 1; }
	[ "$1" = "$target" ] || pid=$(pgrep -n -x -f "$target")
	dump_of "$pid" || { cat out err; return 1; }
	finish
	grep -v ready out | sort >knows
	"$pagek" dump -Fsize_min=10001 -Fsize_max=30021 \
	    -f '%a %n %N' "mddout.$pid.0" >has.all 2>err || { cat err; return 1; }
	sort has.all >has
	[ ! -s err ] || { cat err; return 1; }
	diff knows has
}

# The caller is the program's function, whatever stands in between.
callers() {
	"$pagek" dump -Fsize_min=10001 -Fsize_max=30021 -f '%f1' "$target" \
	    "mddout.$pid.0" | sort | uniq -c >callers
	[ "$(awk '{ $1 = ""; print }' callers)" = " all_functions(char const*)" ] ||
	    { cat callers; return 1; }
}

child_has_its_own() {
	begin on USR2 "$target" fork
	until_true 30 sh -c 'test $(grep -c ready out) = 2' || return 1
	child=$(pgrep -P "$pid")
	dump_of "$pid" && dump_of "$child" || return 1
	kill -KILL "$child"
	finish
	[ "$("$pagek" dump -Fsize_min=10014 -Fsize_max=10014 -f '%n' "mddout.$child.0")" = 10014 ] || return 1
	[ -z "$("$pagek" dump -Fsize_min=10014 -Fsize_max=10014 -f '%n' "mddout.$pid.0")" ] || return 1
	p=$("$pagek" dump -Fsize_min=10001 -Fsize_max=10001 -f '%n %N' "mddout.$pid.0" | wc -l)
	c=$("$pagek" dump -Fsize_min=10001 -Fsize_max=10001 -f '%n %N' "mddout.$child.0" | wc -l)
	[ "$p $c" = "2 1" ] || { echo "$p in the parent, $c in the child"; return 1; }
}

# The counts of the image in that process: the largest ones, for env(1) before it has
# made few, in the same tick of the clock.
count_of() {
	python3 - counts/"$1".* <<-'PY'
	import struct, sys
	print(max(sys.argv[1:], key=lambda path:
	    struct.unpack('<Q', open(path, 'rb').read(72)[8:16])))
	PY
}

# counted WORDS COMMAND: the data of an idle program against the second counting
# layer; WORDS go to its input.
counted() {
	words=$1
	shift
	rm -rf counts
	mkdir counts
	preload="$lib $B/tests/libcount.so"
	export COUNT_DIR=$tmp/counts
	begin on USR2 "$@"
	unset COUNT_DIR
	preload=$lib
	printf '%s\n' "$words" >&3
	until_true 30 grep -q ready out || { cat out err; finish; return 1; }
	until_true 30 is_asleep "$pid" && dump_of "$pid" || { finish; return 1; }
	python3 - "$(count_of "$pid")" >expected <<-'PY'
	import struct, sys
	raw = open(sys.argv[1], 'rb').read(72)
	allocs, frees, failed, inherited, blocks, size, strange = struct.unpack('<7Q', raw[8:64])
	print(allocs, frees, blocks, size)
	PY
	finish
	"$pagek" stats "mddout.$pid.0" 2>err | sed -n \
	    's/^History *: \([0-9]*\) memory allocations, \([0-9]*\) frees/\1 \2/p;
	    s/^Current *: .*(\([0-9]*\) bytes) used in \([0-9]*\) .*/\2 \1/p;
	    /^Losses/p' | tr '\n' ' ' >has
	[ "$(cat expected) " = "$(cat has)" ] && [ ! -s err ] ||
	    { cat expected has err; return 1; }
}

# at_random_stops THREADS COMMAND...: a busy program is stopped now and then; an event
# may be under way in each of its threads.
at_random_stops() {
	threads=$1
	shift
	rm -rf counts
	mkdir counts
	preload="$lib $B/tests/libcount.so"
	export COUNT_DIR=$tmp/counts
	begin on '' "$@"
	unset COUNT_DIR
	preload=$lib
	until_true 30 grep -q -i ready out || { cat out err; finish; return 1; }
	for stop in 1 2 3 4 5 6 7 8; do
		kill -STOP "$pid"
		until_true 10 is_in "$pid" T
		count=$(count_of "$pid")
		"$pagek" mdd-dump -o "stop.$stop" "pid:$pid" >said 2>&1 ||
		    { cat said; finish; return 1; }
		cp "$count" "count.$stop"
		kill -CONT "$pid"
		"$pagek" stats "stop.$stop" 2>err.stats | sed -n \
		    's/^History *: \([0-9]*\) memory allocations, \([0-9]*\) frees/\1 \2/p;
		    s/^Current *: .*(\([0-9]*\) bytes) used in \([0-9]*\) .*/\2/p' | tr '\n' ' ' >has.stop
		python3 - "count.$stop" "$threads" has.stop <<-'PY' || { finish; return 1; }
		import struct, sys
		raw = open(sys.argv[1], 'rb').read(72)
		allocs, frees, failed, inherited, blocks = struct.unpack('<5Q', raw[8:48])
		has = list(map(int, open(sys.argv[3]).read().split()))
		want = [allocs, frees, blocks]
		off = [abs(a - b) for a, b in zip(want, has)]
		assert len(has) == 3 and max(off) <= int(sys.argv[2]), (want, has)
		PY
	done
	finish
}

is_in() {
	[ "$(cut -d ' ' -f 3 "/proc/$1/stat")" = "$2" ]
}

stops_of_python() {
	at_random_stops 1 env PYTHONMALLOC=malloc python3 -c 'import json
print("ready", flush=True)
n = 0
while True:
    n += 1
    x = [json.loads(json.dumps({"a": list(range(i % 50)), "b": "x" * i})) for i in range(n % 500)]'
}

stops_of_redis() {
	ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
	at_random_stops 4 "$tmp/redis-server" --port 0 --unixsocket "$tmp/redis" \
	    --save '' --appendonly no || return 1
}

is_asleep() {
	[ "$(cut -d ' ' -f 3 "/proc/$1/stat")" = S ]
}

of_python() {
	counted '' env PYTHONMALLOC=malloc python3 -c 'import json, re, sys
x = [json.loads(json.dumps({"a": list(range(i % 50)), "b": "x" * i})) for i in range(3000)]
del x[::3]
print("ready", flush=True)
sys.stdin.readline()
sys.stdin.readline()'
}

of_sqlite() {
	counted 'create table t(a, b);
insert into t select value, hex(randomblob(50)) from generate_series(1, 20000);
create index i on t(b);
select "ready";' sqlite3
}

at_exit() {
	begin on exit "$target"
	ready || return 1
	exec 3>&-
	wait "$pid"
	"$pagek" dump -Fsize_min=10014 -f '%n' "mddout.$pid.0" >/dev/null &&
	    [ "$("$pagek" dump -Fsize_min=10001 -Fsize_max=10001 -f '%n' "mddout.$pid.0" | wc -l)" = 2 ]
}

at_size() {
	begin on 4M python3 -c 'x = [bytes(5000 + i) for i in range(4000)]'
	wait "$pid"
	actual=$("$pagek" stats "mddout.$pid.0" |
	    sed -n 's/^Actual.*(\([0-9]*\) bytes).*/\1/p')
	echo "$actual bytes at a limit of 4194304" >said
	[ "$actual" -ge 4128768 ] && [ "$actual" -le 4325376 ] ||
	    { cat said; return 1; }
	[ "$(ls mddout.* | wc -l)" = 1 ]
}

# Its filter kills for what malloc and exit do not need; TWICE: by seccomp(2).
locked_in() {
	cat >locked.c <<-'C'
	#define _GNU_SOURCE
	#include <linux/filter.h>
	#include <linux/seccomp.h>
	#include <stddef.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/prctl.h>
	#include <sys/syscall.h>
	#include <unistd.h>
	#define KILL(no) \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##no, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		KILL(openat), KILL(prctl), KILL(gettid), KILL(getpid),
		KILL(readlink), KILL(pread64), KILL(nanosleep), KILL(socket),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	static void *volatile kept[2000];
	int main(int argc, char **argv)
	{
		struct sock_fprog prog = { sizeof code / sizeof *code, code };
		for (int i = 0; i < 100; i++)
			kept[i] = malloc(1000);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if ((argc > 1 ? (int)syscall(SYS_seccomp,
		    SECCOMP_SET_MODE_FILTER, 0, &prog) :
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) != 0)
			return 9;
		for (int i = 100; i < 2000; i++)
			kept[i] = malloc(1000 + strlen(argv[0]));
		puts("ready");
		fflush(stdout);
		getchar();
		return 7;
	}
	C
	cc -O1 -fno-builtin -o locked locked.c || return 1
	for at in exit 1M USR2; do
		for how in '' twice; do
			begin on "$at" ./locked $how
			ready || { cat out err; return 1; }
			[ "$at" != USR2 ] || kill -USR2 "$pid"
			exec 3>&-
			wait "$pid"
			status=$?
			echo "$at $how: status $status"
			[ "$status" = 7 ] && ! ls mddout.* 2>/dev/null &&
			    grep -q 'may lock itself in.*no dump' err ||
			    { cat out err; return 1; }
		done
	done
}

a_signal_that_the_program_takes_is_its_own() {
	begin on USR2 python3 -c 'import signal, sys
signal.signal(signal.SIGUSR2, lambda *a: print("mine", flush=True))
print("ready", flush=True)
while True: sys.stdin.readline()'
	ready || return 1
	kill -USR2 "$pid"
	until_true 30 grep -q mine out || { cat out err; return 1; }
	finish
	! ls mddout.* 2>/dev/null
}

when_is_called_once() {
	begin on '' "$target" when
	wait "$pid"
	[ "$(cat out)" = "when 0
reached" ] || { cat out; return 1; }
	begin off '' "$target" when
	wait "$pid"
	[ "$(cat out)" = "when -1" ]
}

settings_are_checked() {
	begin on,backtrace=99 '' /bin/true
	wait "$pid"
	grep -q "not understood: 'backtrace=99'" err || { cat err; return 1; }
	begin "" '' /bin/true
	wait "$pid"
	[ ! -s err ] || { cat err; return 1; }
	begin on never /bin/true
	wait "$pid"
	grep -q "neither a size, nor exit, nor a signal such as USR2: never" err ||
	    { cat err; return 1; }
}

nothing_is_collected() {
	env -u PAGEK_DEBUGDATA PAGEK_DUMP_AT=exit LD_PRELOAD=$lib true 2>said
	cat said
	grep -q "PAGEK_DUMP_AT: no dump is written.*PAGEK_DEBUGDATA=on" said ||
	    return 1
	(ulimit -v 150000 && PAGEK_DEBUGDATA=on,history=1048576,backtrace=8 \
	    LD_PRELOAD=$lib exec true) 2>said || return 1
	cat said
	grep -q "nothing is collected: there is no memory" said
}

run_gives_it_on() {
	got=$("$pagek" run -b -o /dev/null --debug-data=backtrace=4,history -- \
	    sh -c 'echo $PAGEK_DEBUGDATA')
	[ "$got" = backtrace=4,history ] || { echo "$got"; return 1; }
	[ "$("$pagek" run -b -o /dev/null --debug-data -- \
	    sh -c 'echo $PAGEK_DEBUGDATA')" = on ] || return 1
	"$pagek" run --debug-data=nothing -- true 2>err
	[ $? = 2 ] && grep -q 'debug-data=nothing: not understood' err
}

rule "debug data have each block as the program knows it, threads by name" knows_its_blocks "$target"
preload=
rule "so they have under a node" knows_its_blocks \
    "$pagek" run -b -o /dev/null -- "$target"
preload=$lib
rule "the caller is the program's own function, not a hook or an operator" callers
# Their operators do not call malloc; gperftools' malloc_usable_size() allocates.
for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4 libtcmalloc.so.4; do
	preload="$lib $allocator"
	if LD_PRELOAD=$allocator true 2>&1 | grep -q 'cannot be preloaded'; then
		skip "$allocator is not installed: its operators are not tried"
		continue
	fi
	rule "so they have with $allocator" knows_its_blocks "$target"
	rule "and its operators' callers" callers
done
preload=$lib
rule "a forked child has what it inherited, and then its own" child_has_its_own
rule "the data of python3 are what a second counting layer has" of_python
rule "the data of sqlite3 are what a second counting layer has" of_sqlite
rule "so are those of python3 at random stops" stops_of_python
rule "and of redis-server" stops_of_redis
rule "a process writes a dump at its exit" at_exit
# dumps COMMAND...: with the default action of both signals.
dumps() {
	rm -f mddout.*
	PAGEK_DEBUGDATA=on PAGEK_DUMP_AT=exit LD_PRELOAD=$lib perl -e \
	    '$SIG{PIPE} = $SIG{XFSZ} = "DEFAULT"; exec @ARGV' "$@"
}
limited_files() {
	{ dumps sh -c 'ulimit -f 0; exec true' 2>&1 && echo lives; } | cat >said
	cat said
	grep -q "dump is truncated: .*mddout.*'ulimit -f'" said &&
	    grep -q lives said
}
rule "a file that may not grow ends the dump, not the process" limited_files
nobody_reads() {
	rm -f gone
	mkfifo gone
	exec 4<>gone 5>gone 4<&-
	PAGEK_DUMP_DIR=/nowhere dumps true 2>&5
	status=$?
	exec 5>&-
	echo "$status"
	[ $status = 0 ]
}
rule "a message that nobody reads does not end it either" nobody_reads
# no_dump DIR WORDS: the message about the dump has them.
no_dump() {
	PAGEK_DUMP_DIR=$1 dumps true 2>said
	cat said
	grep -q "^pagek: cannot make the dump $1/mddout.*: $2" said
}
rule "a dump that cannot be made has its reason" no_dump /nowhere "there is no such folder"
rule "so it has where a file is no folder" no_dump "$lib" "there is no such folder"
rule "and where a file system lets nobody write" no_dump /proc/self ""
long_folder() {
	(PAGEK_DUMP_DIR=$(printf '/%0600d' 0) dumps true 2>said)
	cat said
	grep -q "PAGEK_DUMP_DIR is too long" said && ls mddout.*
}
rule "a folder with too long a name is not cut" long_folder
# What the program has there instead of standard error.
cat >own.py <<'PY'
import os, socket, sys
os.close(2)
if sys.argv[1] == "file":
    assert os.open("own", os.O_RDWR | os.O_CREAT | os.O_TRUNC) == 2
else:
    a, b = socket.socketpair()
    assert a.fileno() == 2 or b.fileno() == 2
    if os.fork() == 0:
        os._exit(0)
    os.wait()
PY
own_file() {
	PAGEK_DUMP_DIR=/nowhere dumps "$(python3 -c "import sys; print(sys.executable)")" own.py "$1" 2>said
	status=$?
	cat said own
	[ "$status" = 0 ] && [ ! -s own ] && [ ! -s said ]
}
rule "a file of the program's own gets no message" own_file file
rule "nor does a socket of its own" own_file socket
# foreign LIBRARY COMMAND: with debug data wanted, and the library before ours.
foreign() {
	(PAGEK_DEBUGDATA=on LD_PRELOAD="$1:$lib" exec "$2") 2>said
	cat said
	grep -q "PAGEK_DEBUGDATA: nothing is collected: malloc is" said
}
for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=/usr/lib/$(uname -m)-linux-gnu/$other
	[ ! -e "$path" ] ||
	    rule "with $other before us it is said that nothing is collected" \
		foreign "$path" true
done
rule "so it is of a program with a malloc of its own" foreign "" \
    "$B/tests/targets/own_malloc"
# once LIBRARY SETTING AT MESSAGE: a tree of processes has one line of it.
once() {
	(PAGEK_DEBUGDATA=$2 PAGEK_DUMP_AT=$3 LD_PRELOAD="$1$lib" exec sh -c \
	    'true; /bin/true; (/bin/true; /bin/true); :') 2>said
	cat said
	[ "$(grep -c "$4" said)" = 1 ] && [ "$(wc -l <said)" = 1 ]
}
before=/usr/lib/$(uname -m)-linux-gnu/libtcmalloc_minimal.so.4
[ ! -e "$before" ] ||
    rule "children of such a process do not say it again" \
	once "$before:" on "" "nothing is collected: malloc is"
rule "nor what is not understood" once "" backtrace=99 "" "not understood: 'backtrace=99'"
rule "nor when no dump is due" once "" on never "nor a signal such as USR2: never"
rule "a process writes one dump within 64 KiB of the size" at_size
rule "a process that has locked itself in lives on, without a dump, and that is said" locked_in
rule "a signal that the program takes is its own" a_signal_that_the_program_takes_is_its_own
rule "alloclog_when() calls once, and says when there are no data" when_is_called_once
rule "settings that are not understood are named" settings_are_checked
rule "without data, or memory for them, it is said that nothing is collected" \
    nothing_is_collected
rule "pagek run --debug-data gives the settings on" run_gives_it_on
say_result
