#!/bin/sh
# Programs under a node that ends while they sleep, or while a sample of them is
# logged: the next node has them, and misses nothing from then on.
set -u
. "$(dirname "$0")/lib.sh"

library=$B/liballoclog.so
pagek=$B/pagek
node=$XDG_RUNTIME_DIR/pagek/node
daemon=
program=
stop() {
	for p in $program $daemon; do
		kill "$p" && wait "$p"
	done
	program=
	daemon=
} >/dev/null 2>&1
trap stop EXIT
trap 'exit 1' TERM INT

start() {
	[ -z "$daemon" ] || leave
	"$B/pageknode" "$@" 2>"$tmp/said" 7>&- &
	daemon=$!
	until_true 10 grep -q listening "$tmp/said"
}
leave() {
	kill "$daemon" && wait "$daemon"
	daemon=
}

# Each byte on its input makes it allocate a block: b one of 9,999 bytes for a
# moment, x one for good, y one of 8,888 bytes for good.  The threads take turns.
cat >"$tmp/left.c" <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile held[100000];
static int n, threads, turn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;

static void *work(void *arg)
{
	int me = *(int *)arg;
	char c;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (turn != me)
			pthread_cond_wait(&next, &lock);
		if (read(0, &c, 1) != 1)
			_exit(0);
		held[n] = malloc(c == 'y' ? 8888 : 9999);
		if (c == 'b')
			free(held[n]);
		else
			n++;
		if (write(1, ".", 1) < 0)
			_exit(1);
		turn = (turn + 1) % threads;
		pthread_cond_broadcast(&next);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static int numbers[8];
	pthread_t t;

	threads = argc > 1 ? atoi(argv[1]) : 1;
	for (int i = 0; i < threads; i++) {
		numbers[i] = i;
		if (i > 0)
			pthread_create(&t, NULL, work, &numbers[i]);
	}
	work(&numbers[0]);
}
C
cc -O1 -fno-builtin -o "$tmp/left" "$tmp/left.c" -lpthread || exit 1

# The node's STATE of the program.
state_is() {
	"$pagek" targets | grep -q "^pid:$program  *left  *$1 "
}
# launch STATE [THREADS].  2: its node was too busy to answer it in time.
launch() {
	[ -z "$program" ] || kill "$program"
	rm -f "$tmp/in"
	mkfifo "$tmp/in"
	steps=0
	LD_PRELOAD=$library "$tmp/left" ${2:-1} <"$tmp/in" >"$tmp/out" &
	program=$!
	exec 7>"$tmp/in"
	step x 1 || return 1
	until_true 10 state_is "$1" || return 2
}
ends() {
	exec 7>&-
	wait "$program"
	status=$?
	program=
	return $status
}
# step BYTE TIMES: until the program has done it.
step() {
	printf "%$2s" | tr ' ' "$1" >&7
	steps=$((steps + $2))
	# Within until_true, whose count is its own.
	(until_true 10 sh -c "[ \$(wc -c <'$tmp/out') -ge $steps ]")
}
# goes_over STATE [BYTE].  Somebody who has found no node looks again a second and
# a megabyte later.
goes_over() {
	state_is "$1" || { step ${2:-b} 400 && state_is "$1"; }
}
listed() {
	"$pagek" list "pid:$program" | grep -c ' 8,888 '
}
lists() {
	[ "$(listed)" = "$1" ]
}
# From now on each block is listed, and not a block that is freed.
misses_nothing() {
	was=$(listed)
	step y 250 && step b 10 && step y 50 && until_true 10 lists $((was + 300))
}

asleep() {
	start --dormant && launch DORMANT && leave && step b 1 &&
	    start --dormant && until_true 20 goes_over DORMANT
}
rule "who sleeps under a node that ends sleeps under the next one" tries asleep
arms() {
	"$pagek" arm "pid:$program" >/dev/null && misses_nothing && lists 300
}
rule "there it can be armed, and each block since then is listed" arms

again() {
	"$pagek" disarm "pid:$program" >/dev/null && step x 10 &&
	    state_is DORMANT && leave && step b 10 && start --dormant &&
	    until_true 20 goes_over DORMANT && arms && ends
}
rule "so it is with one that has been armed and sleeps again" tries again
leave

threads() {
	start --dormant && launch DORMANT 4 && leave && step b 8 &&
	    start --dormant && until_true 20 goes_over DORMANT && arms && ends
}
rule "and with each thread of a program" tries threads
leave

exact() {
	start --dormant && launch DORMANT && leave && step b 1 && start &&
	    until_true 20 goes_over LIVE && misses_nothing && ends
}
rule "a node whose targets do not sleep lists each of its blocks" tries exact
leave

sampled() {
	start --sample 8M && launch LIVE && leave && step b 1 && start &&
	    until_true 20 goes_over LIVE x && misses_nothing && ends
}
rule "so it does for one of whom the node before had a sample" tries sampled
leave

sampling() {
	start --sample 1T && launch LIVE && step b 1000 && ends && leave &&
	    start --dormant --sample 1M && launch DORMANT 4 && leave &&
	    step b 400 && start --sample 1 &&
	    until_true 20 goes_over LIVE && step y 1000 &&
	    until_true 10 most && ends
}
# A thread may be in the middle of a stride of the time before: 104 blocks.
most() {
	[ "$(listed)" -ge 580 ]
}
rule "a thread counts no further by a period of before than a megabyte" tries sampling
leave

say_result
