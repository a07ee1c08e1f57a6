#!/bin/sh
# Short programs in a row, and many at once: the memory of an ended program is used for
# later ones, and the report shows each program as if it were the first.
. "$(dirname "$0")/lib.sh"

report=$tmp/report
row=${ROW:-10000}
crowd=500

# runs N MISSED SCRIPT: the script starts true N times, and the report has a line for
# each.  All are equal, except at most MISSED for which the node was late.
runs() {
	rm -f "$report"
	"$B/pagek" run -b -o /dev/null --report "$report" -- sh -c "$3" sh "$1" ||
	    return 1
	python3 - "$report" "$1" "$2" <<'P'
import collections, json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
n, may_miss = map(int, sys.argv[2:])
missed = [d for d in lines if d["allocs"] is None]
true = [d for d in lines if d["comm"] == "true" and d not in missed]
kinds = collections.Counter(
    json.dumps({k: v for k, v in d.items() if k not in ("pid", "comm")}, sort_keys=True)
    for d in true)
print("%d images, %d of true, %d without data, %d kinds" % (len(lines), len(true), len(missed), len(kinds)))
for kind, n in kinds.most_common()[1:3]:
    print(n, kind)
for d in missed[:2]:
    print(d["comm"], d["reason"])
sys.exit(len(true) + len(missed) < n or len(missed) > may_miss or len(kinds) != 1)
P
}

in_a_row() {
	runs $row 0 'i=0; while [ $i -lt $1 ]; do /bin/true; i=$((i + 1)); done'
}
rule "$row short programs in a row are counted alike" unless_busy in_a_row

at_once() {
	runs $crowd $((2 * crowd)) 'i=0; while [ $i -lt $1 ]; do /bin/true & i=$((i + 1)); done; wait'
}
rule "$crowd short programs at once are counted alike, or reported as missed" at_once

say_result
