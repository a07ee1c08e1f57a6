#!/bin/sh
# Exact with threads: eight of them and four hundred, whose blocks are freed by
# other threads and whose addresses are reused at once.  long_threads.sh runs it
# with more events, and more often.
. "$(dirname "$0")/lib.sh"

count=$B/tests/libcount.so
times=${TIMES:-2}
threads=8
total=${EVENTS:-2000000}
stacks='--stack 16'
report=$tmp/report
# A name of its own, so that only this test's process is stopped.
name=threads.$$
ln -s "$B/tests/targets/exact_threads" "$tmp/$name"

# $total events of $threads threads, compared with the second counting layer.
events() {
	rm -rf "$tmp/counted" "$report"
	mkdir "$tmp/counted"
	"$@" env COUNT_DIR="$tmp/counted" LD_PRELOAD="$count" \
	    "$B/pagek" run -b -o /dev/null $stacks \
	    --report "$report" -- "$tmp/$name" "$total" "$threads" \
	    >"$tmp/out" || return 1
	"$top/tests/count/compare" "$report" "$tmp/counted" --min-images 1
}

# The same while the target is stopped and continued at random moments.
stops() {
	events env &
	run=$!
	until_true 20 pgrep -x "$name" || return 1
	while target=$(pgrep -n -x "$name"); do
		kill -STOP "$target" 2>/dev/null || break
		sleep 0.0$((seed % 5))$((seed % 10))
		kill -CONT "$target" 2>/dev/null || break
		seed=$(((seed * 1103515245 + 12345) % 65536))
		sleep 0.$((seed % 3))$((seed % 7))
	done
	wait $run
}
seed=2004

repeat() {
	i=0
	while [ $i -lt "$times" ]; do
		unless_busy "$@" || return 1
		i=$((i + 1))
	done
}

rule "eight threads, $total events, $times times: exact" repeat events env
rule "the same on one core: exact" repeat events taskset -c 0
rule "the same, stopped and continued at random: exact" repeat stops
stacks='--stack 0'
rule "return addresses alone, $times times: exact" repeat events env
rule "the same, stopped and continued at random: exact" repeat stops
stacks='--stack 16 --free-stack'
rule "stacks of frees too, $times times: exact" repeat events env
stacks='--stack 0'
threads=400
total=1000000
# Failed requests are undone by what their thread did last, in whatever ring.
rule "400 threads, most without a ring, $times times: exact" repeat events env

say_result
