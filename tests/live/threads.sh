#!/bin/sh
# Exact with threads: eight of them and four hundred, blocks freed by others than those who
# made them and addresses used again at once, several times in a row each way: $TIMES,
# which long_threads.sh sets.
. "$(dirname "$0")/lib.sh"

count=$B/tests/libcount.so
n=0
times=${TIMES:-4}
threads=8
total=10000000
stacks='--stack 16'
# A name of its own, so that only this test's process is stopped.
name=threads.$$
ln -s "$B/tests/targets/exact_threads" "$tmp/$name"

# 10^7 events over eight threads, or as told, held against the second counting layer.
events() {
	n=$((n + 1))
	mkdir -p "$tmp/c$n"
	"$@" env COUNT_DIR="$tmp/c$n" LD_PRELOAD="$count" \
	    "$B/pagek" run -b -o /dev/null $stacks \
	    --report "$tmp/r$n" -- "$tmp/$name" "$total" "$threads" \
	    >"$tmp/out" || return 1
	"$top/tests/count/compare" "$tmp/r$n" "$tmp/c$n" --min-images 1
	status=$?
	rm -rf "$tmp/c$n"
	return $status
}

# The same while the target is stopped and continued at random moments.
stops() {
	events env &
	run=$!
	until_true 20 pgrep -x "$name" || return 1
	while target=$(pgrep -n -x "$name"); do
		kill -STOP "$target" 2>/dev/null || break
		sleep 0.0$((n % 5))$((RANDOM_SEED % 10))
		kill -CONT "$target" 2>/dev/null || break
		RANDOM_SEED=$(((RANDOM_SEED * 1103515245 + 12345) % 65536))
		sleep 0.$((RANDOM_SEED % 3))$((RANDOM_SEED % 7))
	done
	wait $run
}
RANDOM_SEED=2004

# A target waits 100 ms for a keeper that gets no processor, and then loses
# records rather than its time.  On a machine that busy a run says nothing about
# order, as long as it says that it lost: it is made again.
starved() {
	last=$(ls -t "$tmp"/r* | head -n 1)
	grep -q '"lost": [1-9]' "$last" && grep -q '"complete": false' "$last"
}

repeat() {
	i=0
	most=$1
	shift
	while [ $i -lt "$most" ]; do
		"$@" || { starved && "$@"; } || { starved && "$@"; } || return 1
		i=$((i + 1))
	done
}

rule "eight threads, 10^7 events, $times times: exact" repeat "$times" events env
rule "the same on one core: exact" repeat "$times" events taskset -c 0
rule "the same, stopped and continued at random: exact" repeat "$times" stops
stacks='--stack 0'
rule "return addresses alone, three times: exact" repeat 3 events env
rule "the same, stopped and continued at random: exact" repeat 3 stops
stacks='--stack 16 --free-stack'
rule "stacks of frees too, three times: exact" repeat 3 events env
stacks='--stack 0'
threads=400
total=1000000
# Failed requests are undone by what their thread did last, in whatever ring.
rule "400 threads, most without a ring, three times: exact" repeat 3 events env

say_result
