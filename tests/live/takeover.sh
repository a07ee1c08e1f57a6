#!/bin/sh
# Nodes that die and return: the process of a node is killed at random moments
# under real programs, and the report of the next ones equals the counts of a
# second counting layer.  long_takeover.sh sets ALL, for more events and more ways
# of taking stacks.  Needs tmux for a page.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"

count=$B/tests/libcount.so
library=$B/liballoclog.so
pagek=$B/pagek
daemon=
others=
n=0
stop() {
	for p in $daemon $others; do
		kill_node "$p"
	done
	end_terminal
} >/dev/null 2>&1
trap stop EXIT
trap 'exit 1' TERM INT

# A place of its own for each node, so that none of them is one too many.
start() {
	n=$((n + 1))
	XDG_RUNTIME_DIR=$tmp/x$n
	mkdir -m 700 "$XDG_RUNTIME_DIR" "$tmp/c$n"
	node=$XDG_RUNTIME_DIR/pagek/node
	"$B/pageknode" --report "$tmp/r$n" "$@" 2>"$tmp/said$n" &
	daemon=$!
	until_true 10 grep -q listening "$tmp/said$n"
}
leave() {
	kill "$daemon" && wait "$daemon"
	status=$?
	daemon=
	cat "$tmp/said$n"
	return $status
}
watched() {
	COUNT_DIR=$tmp/c$n LD_PRELOAD="$library $count" "$@"
}

# Kills the node's process MANY times while PID lives; says how often it did.
# Five times within ten seconds is what a supervisor takes for a storm.
killer() {
	python3 - "$1" "$2" "$3" <<'P'
import os, random, signal, subprocess, sys, time
supervisor, pid, many = map(int, sys.argv[1:])
random.seed(pid)
done = 0
while done < many:
    time.sleep(random.uniform(0.02, 0.5))
    node = subprocess.run(["pgrep", "-P", str(supervisor)], capture_output=True, text=True).stdout.split()
    try:
        os.kill(pid, 0)
        if open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0] == "Z":
            break
    except OSError:
        break
    if node:
        os.kill(int(node[0]), signal.SIGKILL)
        done += 1
print(done)
P
}

reported() {
	[ "$(cat "$tmp/r$n" | wc -l)" -ge "$(ls "$tmp/c$n" | wc -l)" ]
}
once() {
	start $options || return 1
	watched "$@" >"$tmp/out$n" 2>&1 &
	program=$!
	kills=$(killer "$daemon" "$program" 4)
	wait "$program"
	status=$?
	echo "killed $kills times, status $status"
	until_true "${patience:-10}" reported
	leave || return 1
	[ "$status" = 0 ] || return 1
	[ "$kills" -ge 2 ] || return 2
	python3 "$top/tests/live/takeover.py" "$tmp/r$n" "$tmp/c$n" \
	    "$least" "$missed"
}

# killed COMPLETE MISSED COMMAND...: watched and counted, while the node dies.
# A crowded machine may keep a node for so long from running that records are
# lost, and told to be, or that the program meets a dying node with its hello,
# which nobody can tell of: it gets another chance.
killed() {
	least=$1 missed=$2
	shift 2
	tries once "$@"
}

# Each program runs for some time: tables, events and subshells.
if [ -n "${ALL:-}" ]; then
	tables=20 events=3000000 shells=200
else
	tables=8 events=1500000 shells=60
fi
i=0
while [ $i -lt $tables ]; do
	sql_work | sed "s/ t(/ t$i(/; s/INTO t /INTO t$i /; s/FROM t /FROM t$i /; s/ON t(/ON t$i(/; s/INDEX tk/INDEX tk$i/"
	i=$((i + 1))
done >"$tmp/in.sql"
options=
rule "sqlite3 is counted exactly though the node is killed four times" \
    killed 1 0 sqlite3 :memory: ".read $tmp/in.sql"
rule "so are eight threads that free each other's blocks" \
    killed 1 0 "$B/tests/targets/exact_threads" $events 8
[ -z "${ALL:-}" ] || {
	options='--stack 0'
	rule "so they are without stacks" \
	    killed 1 0 "$B/tests/targets/exact_threads" $((2 * events)) 8
}
options='--stack 64 --free-stack'
rule "so they are with stacks of everything" \
    killed 1 0 "$B/tests/targets/exact_threads" $events 3
options=

cat >"$tmp/forks.sh" <<SH
i=0
while [ \$i -lt $shells ]; do
	x=\$(echo "\$i" | sed 's/1/one/' | tr a-z A-Z)
	(y=\$x; : "\$y"; exit 3)
	ls / >/dev/null &
	i=\$((i + 1))
done
wait
SH
patience=2
rule "a fork-heavy shell script is too, but for images that met a dying node" \
    killed $shells 40 sh "$tmp/forks.sh"

# A program that stands still: what is known of it is the same before and after.
cat >"$tmp/still.c" <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#pragma weak alloclog_alloc
#pragma weak alloclog_type
#pragma weak alloclog_requester
#include "alloclog.h"
static void *volatile held[40];
static char arena[4096];
static void *
other(void *arg)
{
	pthread_setname_np(pthread_self(), "other");
	if (alloclog_requester)
		alloclog_requester("RX");
	for (int i = 20; i < 40; i++)
		held[i] = malloc(7777);
	(void)!write(1, "x", 1);
	for (;;)
		pause();
	return arg;
}
int main(void)
{
	pthread_t t;
	for (int i = 0; i < 20; i++)
		held[i] = malloc(7777);
	if (alloclog_alloc) {
		alloclog_type(0xc3, "POOL", "blocks of a pool");
		for (int i = 0; i < 10; i++)
			alloclog_alloc(arena + 64 * i, 64, 0xc3);
	}
	pthread_create(&t, NULL, other, NULL);
	pthread_join(t, NULL);
	return 0;
}
C
cc -O1 -D_GNU_SOURCE -fno-builtin -I"$top/src/alloclog" -o "$tmp/still" "$tmp/still.c" -pthread ||
    exit 1
stand_still() {
	: >"$tmp/ready"
	env LD_PRELOAD="$library" "$tmp/still" >"$tmp/ready" &
	program=$!
	others="$others $program"
	until_true 10 test -s "$tmp/ready" && until_true 10 all_there
}
all_there() {
	[ "$("$pagek" list "pid:$program" | grep -c ' 7,777 ')" = 40 ]
}
die() {
	was=$(node_of "$daemon")
	kill -9 "$was"
	until_true 10 another
}
another() {
	now=$(pgrep -P "$daemon" -x pageknode) && [ "$now" != "$was" ] &&
	    "$pagek" targets "unix:$node" | grep -q "^pid:$program .*${1:-LIVE}"
}
# Rows without their ages.  Times of day are what two clocks said when a page
# came, to the millisecond: another page may see the next one.
rows() {
	"$pagek" list --format json "pid:$program" | python3 -c '
import datetime, json, sys
d = json.load(sys.stdin)
with open(sys.argv[1], "w") as times:
    for b in d["blocks"]:
        t = datetime.datetime.fromisoformat(b.pop("time").replace("Z", "+00:00"))
        print(int(t.timestamp() * 1000), file=times)
        b = {k: v for k, v in b.items() if "age" not in k}
        print(json.dumps(b, sort_keys=True))
' "$tmp/times"
}
same_times() {
	paste "$1" "$2" | awk '{ d = $1 - $2; if (NF != 2 || d > 5 || d < -5) bad = 1 }
	    END { exit bad || NR == 0 }'
}
same() {
	start && others_before && stand_still && rows >"$tmp/before" || return 1
	mv "$tmp/times" "$tmp/times.before"
	grep -c . "$tmp/before"
	head -1 "$tmp/before"
	for i in 1 2 3; do
		die && rows >"$tmp/after" &&
		    same_times "$tmp/times.before" "$tmp/times" || return 1
		diff "$tmp/before" "$tmp/after" >"$tmp/diff" && continue
		grep -m 1 '^<' "$tmp/diff"
		grep -m 1 '^>' "$tmp/diff"
		grep -c . "$tmp/after"
		return 1
	done
	grep -q POOL "$tmp/before" && grep -q '"RX"' "$tmp/before" &&
	    [ "$(wc -l <"$tmp/before")" -ge 50 ] || return 1
	# What was made ahead for targets to come is not worth a word.
	! grep -n 'taken over' "$tmp/said$n"
}
others_before() { :; }
rule "rows, stacks, names of types, threads and requesters are the same after it" same
# Start more programs than the node keeps lists of ended targets.
others_before() {
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
		env LD_PRELOAD="$library" true || return 1
	done
}
again() {
	leave
	kill "$program"
	same && [ "$(grep -c '"true"' "$tmp/r$n")" = 25 ] &&
	    ! grep '"true"' "$tmp/r$n" | grep -v '"complete": true'
}
rule "the same holds for targets in memory that short programs had before" again

orphan() {
	leave
	kill "$program"
	start || return 1
	env LD_PRELOAD="$library" "$B/tests/targets/orphan" >"$tmp/pids" &
	until_true 10 test -s "$tmp/pids"
	read -r parent program <"$tmp/pids"
	others="$others $parent $program"
	until_true 10 all_there && kill "$parent" && until_true 10 sh -c \
	    "'$pagek' targets 'unix:$node' | grep -q '^pid:$parent .*ENDED'" &&
	    rows >"$tmp/before" || return 1
	for i in 1 2; do
		die && rows >"$tmp/after" || return 1
		diff "$tmp/before" "$tmp/after" >"$tmp/diff" && continue
		head -4 "$tmp/diff"
		return 1
	done
	[ "$(grep -c before_fork "$tmp/before")" = 40 ] &&
	    [ "$(grep -c after_fork "$tmp/before")" = 40 ] &&
	    ! grep -n 'taken over' "$tmp/said$n"
}
rule "stacks of a family are there when its first image is gone" orphan

page() {
	t new-session -d -s p -x 110 -y 60 "exec '$pagek' 'unix:$node'"
	t resize-window -t p -x 110 -y 60
	until_true 20 shows 'LIVE 1[0-9] Hz'
}
goes_on() {
	leave
	kill "$program"
	start && stand_still && page || { shot; return 1; }
	for i in 1 2 3; do
		die || return 1
		until_true 20 shows 'LIVE 1[0-9] Hz' || { shot; return 1; }
	done
	! shot | grep -q 'again\|INCOMPLETE\|lost [1-9]' &&
	    [ "$(shot | grep -c ' 7,777 ')" = 40 ]
}
rule "a page goes on where it was, and has lost nothing" goes_on

ended() {
	kill -STOP "$daemon"
	kill -9 "$(node_of "$daemon")"
	kill -9 "$program"
	wait "$program" 2>/dev/null
	kill -CONT "$daemon"
	until_true 10 another ENDED && "$pagek" targets "unix:$node" | grep "^pid:$program" &&
	    grep '"comm": "still"' "$tmp/r$n" | grep -q '"live_blocks": 5[0-9]'
}
rule "a program that ends while there is no node is drained to its end" ended

alone() {
	stand_still && child=$(node_of "$daemon") && kill -9 "$daemon" || return 1
	wait "$daemon" 2>/dev/null
	daemon=
	until_true 10 grep -q 'supervisor is gone; the node goes on' "$tmp/said$n" &&
	    all_there && kill -9 "$child" && sleep 0.2 && kill -0 "$program"
}
rule "without its supervisor a node runs on, without both a program does" alone

# The word by which a list in kept memory is known, and which no running node asks
# for: of the target, and of memory that is ready for the next one.
layout=$(sed -n 's/^#define LIST_LAYOUT UINT64_C(\(.*\))/\1/p' "$top/src/blklist/list.h")
spoil() {
	python3 - "$(node_of "$daemon")" "$layout" <<'P'
import glob, os, sys
word = int(sys.argv[2], 16).to_bytes(8, "little")
done = 0
for path in glob.glob("/proc/%s/fd/*" % sys.argv[1]):
    if not os.readlink(path).startswith("/memfd:pagek-kept"):
        continue
    with open(path, "r+b", buffering=0) as f:
        at = 0
        while (at := os.lseek(f.fileno(), at, os.SEEK_DATA)) >= 0:
            page = os.pread(f.fileno(), 4096, at)
            if page[:8] == word:
                os.pwrite(f.fileno(), bytes(8), at)
                done += 1
                break
            at += 4096
print("spoilt", done)
sys.exit(done == 0)
P
}
# It lives and has none of its blocks, and that is said.
is_anew() {
	another && [ -z "$(rows)" ] &&
	    "$pagek" targets "unix:$node" | grep -q "^pid:$program .*begins again"
}
stop_still() {
	leave
	kill "$program"
}
anew() {
	start && stand_still && spoil && die && until_true 10 is_anew &&
	    die && until_true 10 is_anew
}
rule "a list that cannot be told any more begins anew, and says so" anew

# Before the new list is committed, after that, or before it is begun.  Between
# the end of the one and the first commit of the other there is none to go on
# with, and that is told.
at_once() {
	for pause in 0 0.002 0.01; do
		stop_still
		start && stand_still && spoil || return 1
		was=$(node_of "$daemon")
		kill -9 "$was"
		until now=$(pgrep -P "$daemon" -x pageknode) &&
		    [ "$now" != "$was" ]; do :; done
		sleep "$pause"
		was=$now
		kill -9 "$was"
		until_true 10 is_anew ||
		    grep -q 'cannot be taken over' "$tmp/said$n" ||
		    { cat "$tmp/said$n"; return 1; }
	done
}
rule "so it does when the node that began it dies at once, or says that it cannot" at_once

# The memory of targets that is kept, by inode.  Some is always there, for the
# targets to come.
kept() {
	for fd in "/proc/$daemon/fd/"*; do
		case $(readlink "$fd") in
		*pagek-kept*) stat -Lc %i "$fd" ;;
		esac
	done
}
keeps_nothing_of() {
	! kept | grep -qxF "$1"
}
# Of a target that several nodes died with there may be no row any more.
serves_again() {
	now=$(pgrep -P "$daemon" -x pageknode) && [ "$now" != "$was" ] &&
	    "$pagek" targets "unix:$node"
}
storm() {
	stop_still
	start && stand_still && env LD_PRELOAD="$library" true &&
	    until_true 10 grep -q '"true"' "$tmp/r$n" || return 1
	had=$(kept)
	[ -n "$had" ] || return 2
	for i in 1 2 3 4; do
		was=$(node_of "$daemon")
		kill -9 "$was"
		until_true 10 serves_again || return 1
	done
	kill -9 "$(node_of "$daemon")"
	until_true 10 grep -q "dropping its targets' lists" "$tmp/said$n" &&
	    until_true 10 keeps_nothing_of "$had" && kill -0 "$program" || return 1
	old=$program
	stand_still && kill "$old" && grep -q '"true"' "$tmp/r$n"
}
rule "what a node dies of again and again is dropped, and new programs are watched" storm
stop_still

# Under load, with a page that looks on from the beginning to the end.  What it
# was too late for it mends, as always.
last_page() {
	grep '^NODE' "$tmp/page" | tail -n 1
}
loaded_once() {
	start || return 1
	env LD_PRELOAD="$library" "$B/tests/targets/exact_threads" $((3 * events)) 2 &
	program=$!
	until_true 10 sh -c "'$pagek' targets | grep -q '^pid:$program .*LIVE'"
	"$pagek" -b -o "$tmp/page" "pid:$program" &
	page=$!
	others="$others $page"
	until_true 10 test -s "$tmp/page" &&
	    kills=$(killer "$daemon" "$program" 4) && wait "$program" || return 1
	until_true 10 grep -q ENDED "$tmp/page"
	kill -INT "$page"
	wait "$page"
	grep '^K' "$tmp/page" | tail -n 1
	last_page
	cat "$tmp/r$n"
	leave
	grep -q '"complete": true' "$tmp/r$n" || return 2
	blocks=$(sed -n 's/.*"live_blocks": \([0-9]*\).*/\1/p' "$tmp/r$n")
	[ "$kills" -ge 2 ] || return 2
	last_page | grep -q " $blocks blocks" &&
	    ! grep -q INCOMPLETE "$tmp/page"
}
loaded() {
	tries loaded_once
}
rule "under load its list is the node's in the end" loaded

say_result
