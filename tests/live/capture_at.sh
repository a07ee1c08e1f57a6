#!/bin/sh
# Moments and parts of captures: --at, --part, diff.
set -u
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

pagek=$B/pagek
TZ=UTC
export TZ

"$B/tests/capture/write_capture" capture 20000 >events || exit 1

# live PART MS|seq:N|peak: the live blocks, computed from the text of the events.
cat >live.py <<'PY'
import sys
part, moment = int(sys.argv[1]), sys.argv[2]
def replay(stop):
    live, undo, held, most, best = {}, {}, 0, 0, 0
    for line in open("events"):
        p, seq, ms, what, address, size, thread = line.split()
        seq, ms, size = int(seq), int(ms), int(size)
        if int(p) != part or stop(seq, ms):
            continue
        if what == "alloc":
            live[address] = (seq, int(address), size)
            held += size
        elif what in ("free", "realloc"):
            undo[address] = live.pop(address)
            held -= undo[address][2]
        elif what == "undo":
            live[address] = undo[address]
            held += live[address][2]
        if held > most:
            most, best = held, seq
    return live, best
if moment == "peak":
    best = replay(lambda seq, ms: False)[1]
    live = replay(lambda seq, ms: seq > best)[0]
elif moment.startswith("seq:"):
    live = replay(lambda seq, ms: seq >= int(moment[4:]))[0]
else:
    live = replay(lambda seq, ms: ms > int(moment))[0]
for row in sorted(live.values()):
    print(*row)
PY
cat >rows.py <<'PY'
import json, sys
doc = json.load(sys.stdin)
for r in sorted((r["seqno"], int(r["address"], 16), r["size"])
                for r in doc["allocations"]
                if len(sys.argv) < 2 or r["change"] == sys.argv[1]):
    print(*r)
PY

# shown OPTION...: the rows of a dump.
shown() {
	"$pagek" dump -q --format=json "$@" capture | python3 rows.py
}

# same PART MOMENT OPTION...: the dump has what was live then.
same() {
	python3 live.py "$1" "$2" >want || return 1
	shift 2
	shown "$@" >got && [ -s got ] && diff want got
}

durations() {
	for ms in 0 10 130 500 1500 1507 2990; do
		[ $ms = 0 ] || same 1 $((5000 + ms)) --at=+"$ms"ms || return 1
	done
	same 1 6000 --at=1s && same 2 6000 --at=1s --part=2
}

# The capture begins at 08:00:00; dates of another zone are the same moment.
dates() {
	for at in 08:00:01 '2027-01-15 08:00:01' '2027-01-15T09:00:01+0100'; do
		same 1 6000 --at="$at" || return 1
	done
	TZ=Asia/Tokyo same 1 6500 --at=17:00:01.500
}

peak() {
	same 1 peak --at=peak && same 2 peak --at=peak --part=child
}

marks() {
	seq=$(awk '$1 == 1 && $3 == 5510 { print $2; exit }' events)
	same 1 "seq:$seq" --at=loaded || return 1
	"$pagek" stats -q --at=loaded --part=3 capture >out &&
	    grep -q '^History   : 0 memory' out
}

statistics() {
	python3 live.py 1 6000 >want
	"$pagek" stats -q --at=1s --format=json capture >out &&
	    grep -q "\"current_blocks\": $(wc -l <want)," out &&
	    grep -q '"dump": "capture@1s"' out
}

# refused STATUS PATTERN ARGUMENT...
refused() {
	want=$1
	pattern=$2
	shift 2
	"$pagek" "$@" >out 2>err
	[ $? = "$want" ] && grep -q -- "$pattern" err && [ ! -s out ] ||
	    { cat err; return 1; }
}

outside() {
	refused 2 "^pagek: --at=07:59:59 is not in 'capture', which goes from 2027-01-15 08:00:00.000 to" \
	    dump --at=07:59:59 capture &&
	    refused 2 'is not in' stats --at=+1h capture &&
	    refused 2 'is not in' diff --at=+1s --at=2026-01-01 capture &&
	    refused 2 'began later, at 2027-01-15 08:00:00.500' \
	    dump --at=+100ms --part=2 capture
}

wrong_moments() {
	refused 2 "no mark of the capture" dump --at=lunch capture &&
	    refused 2 'no mark' dump --at=25:00 capture &&
	    refused 2 'no mark' dump --at= capture &&
	    refused 2 'takes one --at' dump --at=1s --at=2s capture &&
	    refused 2 'more than 2 times' diff --at=1s --at=2s --at=3s capture &&
	    refused 2 'is for captures' dump --at=1s events &&
	    refused 2 'is for captures' stats --at=1s demo:1
}

parts() {
	"$pagek" stats -q --part=200 capture >out || return 1
	grep -q '^        1 : process 100, 20[0-9]* events, parent$' out &&
	    grep -q '^        2 : process 200, .* child (shown)$' out &&
	    grep -q '^        3 : process 201, .* child$' out || return 1
	"$pagek" stats --part=child capture 2>err >out &&
	    grep -q 'has 2 process images of --part=child; this is image 2' err &&
	    grep -q 'child (shown)' out &&
	    grep -q '^pagek: --part=2: process 200, .* events, child$' err &&
	    grep -q '^pagek: --part=3: process 201, .* events, child$' err &&
	    [ "$(grep -c -- '--part=[0-9]*:' err)" = 2 ] || return 1
	same 3 9999999 --part=201 && same 3 9999999 --part=3 &&
	    refused 2 '--part=4: .* has no image' dump --part=4 capture
}

# set_difference FIRST SECOND: of two dumps, and of the text of the events.
differs() {
	shown --at="$1" >first && shown --at="$2" >second || return 1
	"$pagek" diff -q --format=json --at="$1" --at="$2" capture >out || return 1
	python3 rows.py new <out >got
	sort first >a && sort second >b && sort got >c
	comm -13 a b | diff - c || return 1
	python3 rows.py freed <out | sort >c
	comm -23 a b | diff - c
}

differences() {
	differs 1s 2s && differs peak loaded && differs 1s 1010ms &&
	    differs 1s 1s && differs 2s 500ms
}

reused() {
	"$pagek" diff -q --format=json --at=1s --at=2s capture >out
	python3 - <<'PY'
import json
rows = json.load(open("out"))["allocations"]
new = {r["address"] for r in rows if r["change"] == "new"}
freed = {r["address"] for r in rows if r["change"] == "freed"}
raise SystemExit(0 if new & freed else 1)
PY
}

# A copy made while it was written is of the same run; a second run is not.
two_files() {
	cp capture early
	printf x >>early
	"$pagek" diff --at=1s --at=2s --format=json early capture >out 2>err
	[ $? = 5 ] && python3 rows.py new <out >got && [ -s got ] || return 1
	"$B/tests/capture/write_capture" other 20000 >/dev/null || return 1
	refused 2 'are from different runs' diff -q other capture &&
	    refused 2 'needs two moments' diff capture &&
	    refused 2 'needs two moments' diff --at=1s capture
}

damage() {
	"$B/tests/capture/write_capture" long 100000 >events || return 1
	head -c $(($(wc -c <long) / 2)) long >cut
	"$pagek" dump --at=100ms -q --format=json cut >out 2>err
	[ $? = 5 ] && grep -q 'cut@100ms: offset [0-9]*: ' err &&
	    python3 rows.py <out >got && python3 live.py 1 5100 | diff - got
}

# Says INCOMPLETE, and the moment of the last event before the missing ones.
incomplete() {
	"$pagek" "$@" >out 2>err || return 1
	grep -q 'INCOMPLETE' out err && cat out err |
	    grep -q '2027-01-15 08:00:00.390\|missing from 0.390 s on'
}

complete() {
	"$pagek" "$@" >out 2>err && ! grep -q 'INCOMPLETE' out err
}

# Events of 0.4 s to 0.6 s are missing; the last one before them is of 0.39 s.
gap() {
	"$B/tests/capture/write_capture" capture 20000 gap >events || return 1
	seq=$(awk '$1 == 1 && $3 < 5400 { s = $2 } END { print s + 1 }' events)
	for at in 390ms 450ms 599ms; do
		same 1 "seq:$seq" --at=$at || return 1
		"$pagek" list --format=csv --fields=address --at=$at \
		    file:capture 2>/dev/null | tr -d '\r' |
		    tail -n +2 | sort >got
		shown --at=$at | python3 -c 'import sys
for line in sys.stdin: print("0x%x" % int(line.split()[1]))' | sort |
		    diff - got || return 1
		for command in stats dump 'usage' 'export --folded' \
		    'export --pprof -o p' 'export --heaptrack -o p'; do
			rm -f p
			incomplete $command --at=$at capture || {
				echo "$command --at=$at"; cat err; return 1; }
		done
		incomplete list --at=$at file:capture || return 1
		incomplete tree --at=$at file:capture || return 1
	done
	complete usage --at=389ms capture || return 1
	for at in 389ms 600ms; do
		for command in stats dump 'export --folded'; do
			complete $command --at=$at capture || {
				echo "$command --at=$at"; cat err; return 1; }
		done
		complete list --at=$at file:capture || return 1
	done
}

rule "a duration from the beginning is a moment of a capture" durations
rule "a time of day or a date is a moment of a capture, in any zone" dates
rule "the peak is where most bytes were live" peak
rule "a mark is a moment: its event, or its time in other images" marks
rule "statistics of a moment are those of its blocks" statistics
rule "moments outside of a capture are refused with its bounds" outside
rule "words that are no moment are refused" wrong_moments
rule "images are listed, and chosen by number, process or name" parts
rule "diff is the set difference of two dumps of the moments" differences
rule "an address that was used again is new and freed" reused
rule "two files of one capture are compared, those of two are not" two_files
rule "within a gap each command has the list before it, and since when" gap
rule "a moment before the damage is exact, and the damage is said" damage
say_result
