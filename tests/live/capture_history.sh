#!/bin/sh
# The history of a capture: every event once, in one pass, in bounded memory.
set -u
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

pagek=$B/pagek
write=$B/tests/capture/write_capture

"$write" capture 20000 >events || exit 1

# past.py PART FROM_MS TO_MS [freed]: the events after FROM, up to TO, from their text;
# and whether the block is freed later.
cat >past.py <<'PY'
import sys
part, lo, hi = map(int, sys.argv[1:4])
live, rows, held = {}, [], {}
for line in open("events"):
    p, seq, ms, what, address, size, thread = line.split()
    if int(p) != part:
        continue
    if what == "alloc":
        live[address] = size
        held[address] = seq
        row = ["alloc", seq, address, size, thread]
    elif what in ("free", "realloc"):
        row = ["free", seq, address, live.pop(address), thread]
        undo = (rows, row, int(ms), held.pop(address))
    else:
        if what == "undo":
            live[address] = undo[1][3]
            held[address] = undo[3]
            if lo < undo[2] <= hi:
                rows.remove(undo[1])
        continue
    if lo < int(ms) <= hi:
        rows.append(row)
held = set(held.values())
for row in rows:
    if len(sys.argv) > 4:
        row.append(None if row[0] == "free" else row[1] not in held)
    print(*row)
PY
cat >rows.py <<'PY'
import json, sys
for r in json.load(sys.stdin)["events"]:
    print(r["event"], r["seqno"], int(r["address"], 16), r["size"], r["thread"],
          *(r["freed"] for word in sys.argv[1:]))
PY

# same PART FROM TO OPTION...: the history has those events, in their order.
same() {
	python3 past.py "$1" "$2" "$3" freed >want || return 1
	shift 3
	"$pagek" history -q --format=json "$@" capture >doc &&
	    python3 rows.py freed <doc >got && [ -s got ] && diff want got
}

all_events() {
	same 1 0 99999999 && same 2 0 99999999 --part=2 &&
	    same 3 0 99999999 --part=201
}

ranges() {
	same 1 6000 7000 --at=1s --at=2s && same 1 6000 99999999 --at=1s &&
	    same 2 6000 7000 --at=1s --at=2s --part=child &&
	    "$pagek" history -q --at=1s --at=1s capture >out && [ ! -s out ] ||
	    return 1
	"$pagek" history -q --at=2s --at=1s capture 2>err
	[ $? = 2 ] && grep -q 'at=1s is before --at=2s' err
}

as_text() {
	"$pagek" history -q -f '%s %a %p %n' -Fsize_min=4000 capture >out &&
	    grep -c . out >n && [ "$(cat n)" -gt 100 ] || return 1
	"$pagek" history -q -f '%b1 %t %a' capture | grep -q '^0x000000401000 [12] free()$' &&
	    ! "$pagek" history -q capture | grep -q Caution &&
	    "$pagek" history -q capture | grep -q '(freed) '
}

# The corpus without its first byte; nine of its events were lost.
caution() {
	tail -c +2 "$top/tests/corpus/capture/plain-asis" >gap
	"$pagek" history -q gap >out && head -1 out |
	    grep -qx 'Caution: history is incomplete.' || return 1
	"$pagek" history -q --format=json gap |
	    grep -q '"history_complete": false' &&
	    grep -q '"history_complete": true' doc
}

refusals() {
	for option in -Sn -r --keys=n; do
		"$pagek" history $option capture >out 2>err
		[ $? = 2 ] && [ ! -s out ] || return 1
	done
	"$pagek" history capture capture 2>err
	[ $? = 2 ] && grep -q 'takes one capture' err
}

damage() {
	"$write" long 100000 >events || return 1
	head -c $(($(wc -c <long) / 2)) long >cut
	"$pagek" history --format=json cut >doc 2>err
	[ $? = 5 ] && grep -q 'cut: offset [0-9]*: ' err &&
	    grep -q '"history_complete": false' doc || return 1
	python3 rows.py <doc >got
	python3 past.py 1 0 99999999 | head -n "$(wc -l <got)" >want
	[ "$(wc -l <got)" -gt 1000 ] && diff want got
}

small_memory() {
	"$write" large 9000000 large || return 1
	limit=$(($(wc -c <large) / 4096))
	(ulimit -v $limit && exec "$pagek" history -q -f %s large) | tail -n 1 |
	    grep -qx 9000000
}

rule "the history of a capture has each event once, with its block" all_events
rule "--at bounds a history on both sides" ranges
rule "a history is printed in any format, with filters" as_text
rule "a history with a gap begins with a caution" caution
rule "orders that need all events at once are refused" refusals
rule "a damaged capture has a history up to the damage" damage
if nm -D "$pagek" 2>/dev/null | grep -q '__[at]san_init'; then
	skip "a capture of four times the memory: a sanitizer needs more"
else
	rule "a capture of four times the memory has a history" small_memory
fi
say_result
