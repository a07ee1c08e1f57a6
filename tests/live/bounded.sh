#!/bin/sh
# Bounded: what a target does, keeper and page stay within fixed limits, and a
# full list counts and goes on.
. "$(dirname "$0")/lib.sh"

# Kilobytes of memory that process $1 has had at most.
peak='sed -n "s/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p" /proc/$1/status'
parent='sed -n "s/^PPid:[^0-9]*\([0-9]*\).*/\1/p" /proc/$1/status'
cat >"$tmp/busy.sh" <<SH
peak() { $peak; }
parent() { $parent; }
"$B/tests/targets/exact_threads" 10000000 8 >/dev/null
echo keeper \$(peak \$PPID)
echo page \$(peak \$(parent \$PPID))
SH

# The rings are 64 MiB, the retained queue 8, what a fork may put back 16.
limits() {
	"$B/pagek" run -b -o /dev/null --report "$tmp/r" -- sh "$tmp/busy.sh" \
	    >"$tmp/out" || return 1
	cat "$tmp/out"
	awk '/^keeper/ && $2 > 0 && $2 < 262144 { k = 1 }
	    /^page/ && $2 > 0 && $2 < 131072 { p = 1 }
	    END { exit !(k && p) }' "$tmp/out"
}
rule "keeper under 256 MiB and page under 128 MiB beside eight busy threads" limits

full() {
	"$B/pagek" run -b -o "$tmp/page" --max 1000 --report "$tmp/r" -- \
	    perl -e 'my @a = map { "x" x 40 } 1..50000; print scalar(@a), "\n"' \
	    >"$tmp/out" || return 1
	cat "$tmp/r"
	[ "$(cat "$tmp/out")" = 50000 ] || return 1
	python3 - "$tmp/r" <<'PY'
import json, sys
d = json.loads(open(sys.argv[1]).readline())
assert d["full"] > 40000 and d["live_blocks"] <= 1000, d
assert d["allocs"] > 50000 and d["lost"] == 0, d
PY
}
rule "a full list counts what it refuses and goes on" full

say_result
