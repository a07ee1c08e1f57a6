#!/bin/sh
# Programs that start faster than their node can follow: eight shells that start one after
# the other.  Before the node held such a storm back it had no data of a third of them.
. "$(dirname "$0")/lib.sh"

report=$tmp/report
each=100

# Two images of each start, of the shell before the exec and of what it executes.
storm() {
	rm -f "$report"
	"$B/pagek" run -b -o /dev/null --report "$report" -- sh -c '
		for shell in 1 2 3 4 5 6 7 8; do
			(i=0; while [ $i -lt '$each' ]; do
				(exec /bin/true)
				i=$((i + 1))
			done) &
		done
		wait' || return 1
	images=$(wc -l <"$report")
	missed=$(grep -c '"allocs": null' "$report")
	echo "$images images, $missed without data"
	[ "$images" -ge $((8 * each * 2)) ] && [ "$missed" = 0 ]
}
rule "a storm of short programs is watched whole" unless_busy storm

say_result
