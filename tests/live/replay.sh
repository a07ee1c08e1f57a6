#!/bin/sh
# pagek replay, and captures as targets: at each moment the page and the commands
# show what `pagek dump --at` computes.  Needs sqlite3, python3 and tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
trap end_terminal EXIT
cd "$tmp" || exit 1
pagek=$B/pagek

"$pagek" record -q -o c -- sqlite3 :memory: "create table t(a,b);
    with recursive c(x) as (select 1 union all select x+1 from c where x<20000)
    insert into t select x, randomblob(100) from c;
    select count(*) from t; delete from t where a%3;" >/dev/null || exit 1

cat >same.py <<'PY'
import csv, io, random, re, subprocess, sys
pagek, path, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
def out(*words):
    r = subprocess.run([pagek, *words], capture_output=True, text=True)
    assert r.returncode == 0, (words, r.returncode, r.stderr)
    return r.stdout
span = float(re.search(r"([0-9.]+) s later", subprocess.run([pagek, "stats",
    "--at=9h", path], capture_output=True, text=True).stderr).group(1))
for i in range(times):
    at = "peak" if i == 0 else "+%dms" % random.randrange(int(span * 1000) + 1)
    rows = csv.DictReader(io.StringIO(out("list", "--format=csv", "--at=" + at,
                                          "file:" + path)))
    got = sorted((int(r["address"], 16), int(r["size"])) for r in rows)
    want = sorted((int(a, 16), int(n)) for a, n in (line.split() for line in
        out("dump", "-q", "-f", "%p %n", "--at=" + at, path).splitlines()
        if re.match(r"^[0-9a-fx]+ \d+$", line)))
    assert got == want and (want or at != "peak"), (at, len(got), len(want))
PY

lists() {
	python3 same.py "$pagek" c 12
}

totals() {
	"$pagek" list --format json --at peak file:c >list || return 1
	python3 - "$("$pagek" stats -q --format json --at peak c)" <<'PY'
import json, sys
stats, doc = json.loads(sys.argv[1]), json.load(open("list"))
k = doc["keeper"]
assert doc["target"]["state"] == "REPLAY" and doc["complete"], doc["target"]
assert k["peak_bytes"] == k["live_bytes"] > 0, k
assert k["allocs"] == stats["allocations"], (k, stats)
assert k["frees"] == stats["frees"], (k, stats)
PY
}

commands() {
	"$pagek" tree --at peak ./c >out && grep -q 'REPLAY' out &&
	    "$pagek" export --folded --at peak file:c >out && [ -s out ] &&
	    "$pagek" --once --at peak file:c >out && grep -q 'REPLAY PAUSED' out &&
	    timeout 60 "$pagek" watch --interval 0.1 file:c >out &&
	    [ "$(wc -l <out)" -gt 2 ]
}

# Counts of a replay are from the capture's beginning, also the first that are asked.
counts() {
	allocated=$("$pagek" usage ./c | awk -F: '{ n += $3 } END { print n }')
	"$pagek" tree --by allocations --format json ./c >tree &&
	    "$pagek" tree --by peak --format json ./c >peak &&
	    "$pagek" stats --format json ./c >stats && python3 - "$allocated" <<'PY' &&
import json, sys
tree, peak, stats = (json.load(open(f)) for f in ("tree", "peak", "stats"))
print(sys.argv[1], tree["total"], peak["total"], stats["allocations"])
assert tree["total"]["blocks"] == int(sys.argv[1]) == stats["allocations"] > 0
assert tree["total"]["bytes"] > peak["total"]["bytes"] > 0
PY
	    "$pagek" --page=U --once ./c >page &&
	    tr -d , <page | grep "allocated $allocated"
}

# --- the page --------------------------------------------------------------------

# The server ends with its last session.
t new-session -d -s base cat

go() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" sh
	shift 2
	keys "$* ; echo status=\$?" Enter
}

event() {
	shot | sed -n 's/.*before event \([0-9,]*\).*/\1/p' | tr -d ,
}

moved_from() {
	[ -n "$(event)" ] && [ "$(event)" != "$1" ]
}

steps() {
	go 100 24 "$pagek replay --at peak c"
	wait_for 'REPLAY PAUSED .* of ' || return 1
	first=$(event)
	keys , && until_true 30 moved_from "$first" || return 1
	[ "$(event)" = $((first - 1)) ] || return 1
	keys .
	wait_for "before event $(echo "$first" | sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta')"
}

moments() {
	keys ':at end' Enter
	wait_for 'had ended' || return 1
	# There may be no event in the last twentieth of the time.
	keys '{' && wait_gone 'REPLAY PAUSED ([0-9.]+) of \1 s' || return 1
	keys ':at begin' Enter
	wait_for 'PAUSED 0.000 of' || return 1
	keys ':at lunch' Enter
	wait_for "'lunch': not begin, end or peak" || return 1
	keys ':at 9h' Enter
	wait_for 'after the end of the capture'
}

# A mark stays on the way to a later moment, and page H has the difference.
difference() {
	keys ':at begin' Enter
	wait_for 'PAUSED 0.000 of' || return 1
	keys m
	wait_for 'marked' || return 1
	keys ':at peak' Enter
	until_true 30 moved_from 1 && wait_gone 'PAUSED 0.000' && keys d &&
	    wait_for 'H DIFF .* REPLAY PAUSED' && wait_for '[1-9][0-9]* new'
}

# A recording has a sample for each second.
# 2: on a busy machine the moment changed before the page had its first sample.
stress() {
	"$pagek" record -q -o seconds -- python3 -c 'import time
for i in range(30):
    time.sleep(0.1)
    bytearray(100000 + i)'
	go 80 24 "$pagek replay --at begin seconds"
	wait_for 'REPLAY PAUSED' && keys 2 &&
	    wait_for '^S HEAP STRESS .* REPLAY PAUSED$' &&
	    wait_for '^1 default criteria +- +(0|n/a) +(0|n/a) ' || return 1
	keys ':at end' Enter
	wait_for '^1 default criteria +[^ ]+ +[^ ]+ +(n/a|[~<>]?[1-9][0-9,]*) ' ||
	    return 2
	keys ':at begin' Enter
	wait_for '^1 default criteria +- +(0|n/a) +(0|n/a) ' && keys q &&
	    wait_for 'K MEMORY' && keys q && wait_for 'status=0'
}

leaves() {
	keys q
	wait_for 'K MEMORY' && keys q && wait_for 'status=0'
}

plays() {
	go 80 24 "$pagek c ; $pagek ./c"
	wait_for 'REPLAY PAUSED ([0-9.]+) of \1 s' || return 1
	keys ':at begin' Enter
	wait_for 'PAUSED 0.000 of' || return 1
	keys ':play 0.01' Enter
	wait_for 'REPLAY 0\.[0-9]+ of .* x0.01' && keys Space &&
	    wait_for 'REPLAY PAUSED'
}

small() {
	go 40 10 "$pagek replay --at peak c"
	wait_for 'REPLAY PAUSED' && ! shot | grep -q '.\{41\}'
}

# --- other files -------------------------------------------------------------------

# refused STATUS PATTERN ARGUMENT...
refused() {
	want=$1
	pattern=$2
	shift 2
	"$pagek" "$@" >out 2>err
	[ $? = "$want" ] && grep -q -- "$pattern" err || { cat err; return 1; }
}

no_captures() {
	: >empty
	mkdir -p folder
	refused 5 'not a capture' list file:empty &&
	    refused 5 'not a capture' list file:same.py &&
	    refused 5 'not a capture' list file:folder &&
	    refused 3 'No such file' list file:gone &&
	    refused 2 'a capture is missing' replay &&
	    refused 2 'file: needs the path' list file: &&
	    refused 2 'has no image' list --part 99 file:c &&
	    refused 2 '--part is for captures' list --part 1 demo:1 &&
	    refused 2 'no mark of the capture' list --at lunch file:c &&
	    refused 0 'after the end' list --at 9h file:c
}

# What is before the damage is shown.
damaged() {
	head -c $(($(wc -c <c) - 40)) c >cut
	refused 5 'the capture is damaged: cut: offset' list --at +10ms file:cut &&
	    [ "$(wc -l <out)" -gt 10 ] || return 1
	go 100 24 "$pagek replay --at peak cut"
	wait_for 'the file is damaged: cut: offset' && keys q &&
	    wait_for 'status=5' && wait_for 'the capture is damaged: cut: offset'
}

# A byte of the last events is another one, which only who reads them finds.
damaged_inside() {
	python3 - c flipped <<'PY' || return 1
import struct, sys
data, at, last = bytearray(open(sys.argv[1], "rb").read()), 64, 0
while at + 48 <= len(data):
    size, kind = struct.unpack_from("<I", data, at + 4)[0], struct.unpack_from(
        "<H", data, at + 12)[0]
    if kind == 6:
        last = at + 48 + size // 2
    at += 48 + size
data[last] ^= 1
open(sys.argv[2], "wb").write(data)
PY
	for command in list tree --once; do
		refused 5 'the capture is damaged: flipped: offset' \
		    $command file:flipped && [ -s out ] || return 1
	done
}

# A recording under way is shown as far as it is, and goes on.
grows() {
	mkfifo "$tmp/fifo"
	"$pagek" record -q -o growing -- sqlite3 :memory: <"$tmp/fifo" >/dev/null &
	pid=$!
	exec 4>"$tmp/fifo"
	echo "create table t(a); insert into t values(randomblob(100000));" >&4
	until_true 60 sh -c "'$pagek' stats -q growing" >growing.out 2>&1
	go 100 24 "$pagek replay growing"
	wait_for 'before event [0-9]' || return 1
	keys ':at end' Enter Space
	first=$(event)
	for i in 1 2 3 4 5 6 7 8; do
		echo "insert into t values(randomblob(100000));" >&4
	done
	exec 4>&-
	wait "$pid"
	until_true 60 shows 'this process image had ended' &&
	    moved_from "$first"
}

rule "a list of any moment, or of the peak, is that of pagek dump --at" lists
rule "totals of a moment are those of pagek stats --at" totals
rule "tree, export, watch and --once take a capture" commands
rule "pagek tree --by and page U count a capture from its beginning" counts
rule ", and . step by one event" steps
rule ":at and { go to moments, and say what is none" moments
rule "page H compares a mark with a later moment" difference
rule "q leaves with status 0" leaves
rule "page S has the heap stress of the moment" tries stress
rule "it plays to the end; :play sets the speed, Space pauses" plays
rule "a small terminal has the state" small
rule "what is no capture is refused with a reason" no_captures
rule "a damaged capture is shown up to there, with status 5" damaged
rule "damage inside of a capture is told at the end, with status 5" damaged_inside
rule "a capture that is being written is followed" grows
say_result
