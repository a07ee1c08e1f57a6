#!/bin/sh
# Captures as pagek stats and dump read them.
set -u
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

pagek=$B/pagek

# The captures of the stored corpus, without the first byte.
for name in plain segments parts; do
	tail -c +2 "$top/tests/corpus/capture/$name-asis" >"$name"
done
mkdir ring
cp plain ring/00000001.pkc

# number KEY FILE: of the statistics.
number() {
	"$pagek" stats --format=json "$2" 2>/dev/null |
	    sed -n "s/^  \"$1\": \([0-9]*\),*$/\1/p"
}

# One program wrote the same events into each of them.
sums_are_the_same() {
	for file in plain segments ./ring; do
		[ "$(number allocations "$file")" = 260 ] &&
		    [ "$(number frees "$file")" = 280 ] &&
		    [ "$(number missed "$file")" = 9 ] &&
		    [ "$(number current_bytes "$file")" = 313 ] || return 1
	done
}

rows_are_those_of_the_sums() {
	"$pagek" dump --format=json plain >rows 2>err || return 1
	[ "$(grep -c '"seqno"' rows)" = "$(number current_blocks plain)" ] &&
	    grep -q '"stack": \[{"address": "0x40[12]000"' rows
}

the_part_is_named() {
	"$pagek" stats parts >out 2>err &&
	    grep -q 'has 3 process images; this is image 1, program' err
}

# Exit status 5, and what is before the damage is shown.
damage_has_its_place() {
	head -c 3000 segments >cut
	"$pagek" stats cut >out 2>err
	[ $? = 5 ] && grep -q '^pagek: cut: offset [0-9]*: the last block is cut off' err &&
	    grep -q '^Current' out || return 1
	{ printf '\177PKCAP\r\n'; head -c 200 /dev/zero; } >zeros
	"$pagek" stats zeros 2>err
	[ $? = 5 ] && grep -q 'another version' err
}

# A folder needs no slash; of 128 KiB and more, the first files are dropped.
dropped() {
	PYTHONMALLOC=malloc "$pagek" record -q -o dropped --ring 64k --stack 0 -- \
	    python3 -c 'import random
l = [bytes(random.randrange(9999)) for i in range(30000)]
while l: l.pop(random.randrange(len(l)))' || return 1
	"$pagek" stats -q dropped | grep '^Ring ' >ring.line
	grep -Eq '^Ring      : [1-9][0-9]* older events were dropped; the blocks of each moment are known since 20[0-9-]* ' \
	    ring.line || return 1
	"$pagek" usage --format=json dropped >usage 2>err
	# usage also lacks the events before the first list.
	python3 - "$(sed 's/^[^0-9]*\([0-9]*\).*/\1/' ring.line)" <<'PY' &&
import json, sys
lost, dropped = json.load(open("usage"))["lost"], int(sys.argv[1])
print(lost, dropped)
assert dropped <= lost < dropped + 20000
PY
	    "$pagek" stats --format=json dropped | grep -q '"dropped": [1-9]' &&
	    ! "$pagek" stats -q ./ring | grep '^Ring '
}

# A fault of a file has one status and one sentence in each command.
# TABLE: FILE STATUS PATTERN.
refusals() {
	: >empty
	echo hello >foreign
	mkdir -p folder
	cp plain later && printf '\011' | dd of=later bs=1 seek=8 conv=notrunc
	cp plain swapped &&
	    printf '\001\002\003\004' | dd of=swapped bs=1 seek=12 conv=notrunc
	while read -r file status pattern; do
		for command in stats dump history 'export --folded' list tree \
		    --once 'check --max-live 1' usage; do
			# Text without a row is an empty table of counts.
			[ "$command $file" != 'usage empty' ] || continue
			[ "$command $file" != 'usage foreign' ] || continue
			"$pagek" $command "./$file" >out 2>err </dev/null
			[ $? = "$status" ] && grep -q "$file: $pattern" err ||
			    { echo "$command $file"; cat err; return 1; }
		done
	done <<-E
		empty 5 not a capture
		foreign 5 not a capture
		folder 5 not a capture: a folder without segments
		later 5 a capture of another version
		swapped 5 a capture of another version
	E
	"$pagek" usage foreign >out 2>err
	[ $? = 5 ] || return 1
	for command in stats dump history usage 'export --folded' list tree; do
		"$pagek" $command file:gone >out 2>err
		[ $? = 3 ] && grep -q 'gone: No such file' err ||
		    { echo "$command"; cat err; return 1; }
	done
	for file in foreign folder; do
		"$pagek" record -o $file -- true >out 2>err
		[ $? = 125 ] && [ -e $file ] || return 1
	done
	[ "$(cat foreign)" = hello ]
} 2>/dev/null

# flip.py KIND WHERE FROM TO: a byte of the second block of that kind of part 1 is another
# one, in its payload or its head.  Prints how many events are lost: with a head, those
# up to the next segment.
cat >flip.py <<'PY'
import struct, sys
b = bytearray(open(sys.argv[3], "rb").read())
at, segment, blocks = 0, 0, []
while at < len(b):
    if b[at:at + 8] == b"\177PKCAP\r\n":
        at, segment = at + 64, segment + 1
        continue
    _, size, _, kind, _, part, count, first, _ = struct.unpack_from(
        "<4sIIHHIIQq", b, at)
    if part == 1:
        blocks.append((kind, at, count if kind == 6 else 0, segment))
    at += 48 + size
bad = [x for x in blocks if x[0] == int(sys.argv[1])][1]
b[bad[1] + (50 if sys.argv[2] == "payload" else 20)] ^= 1
open(sys.argv[4], "wb").write(b)
print(bad[2] if sys.argv[2] == "payload" else sum(x[2] for x in blocks
    if x[1] >= bad[1] and x[3] == bad[3]))
PY

# answers FILE: the lost events and the status of each command, if they differ, and the
# damage that it tells.
answers() {
	for command in 'stats --format=json' 'usage --format=json' \
	    'list --format=json' 'tree --format=json' 'export --pprof' dump \
	    history 'export --folded' "diff --at=end --at=end"; do
		"$pagek" $command "$1" >out 2>err </dev/null
		status=$?
		{ sed -n 's/^  "missed": \([0-9]*\).*/\1/p; s/^  "lost": \([0-9]*\).*/\1/p' out
		sed -n 's/.*INCOMPLETE: \([0-9,]*\) events are lost.*/\1/p' err | tr -d ,
		} | sed 's/^/lost /'
		echo "status $status"
		sed -n 's/; what could be read is shown$//; s/^.*\(offset [0-9]*: .*\)/\1/p' err
	done | sort -u
} 2>/dev/null

damages_have_one_answer() {
	while read -r kind where events words; do
		"$B/tests/capture/write_capture" large "$events" large || return 1
		lost=$(python3 flip.py "$kind" "$where" large bad) || return 1
		answers ./bad >got
		grep -c . got | grep -qx 3 && grep -qx "lost $lost" got &&
		    grep -q '^status 5$' got && grep -q "$words" got ||
		    { echo "$kind $where $lost"; cat got; return 1; }
	done <<-E
		6 payload 420000 its [0-9,]* events are lost
		6 head 1000000 the block is damaged
		7 payload 420000 no event is lost
		8 payload 420000 no event is lost
	E
	rm large bad
	PYTHONMALLOC=malloc "$pagek" record -q -o holed --ring 8m --stack 0 -- \
	    python3 -c 'import random
l = [bytes(random.randrange(9999)) for i in range(150000)]
while l: l.pop(random.randrange(len(l)))' || return 1
	last=$(ls holed | tail -1)
	rm "holed/$(ls holed | tail -2 | head -1)"
	answers ./holed >got
	[ "$(grep -c '^lost' got)" = 1 ] && grep -q '^status 5$' got &&
	    [ "$(grep -c '^status' got)" = 1 ] &&
	    "$pagek" stats ./holed 2>&1 | grep -q "$last: offset 0: the segment before it is missing" ||
	    { cat got; return 1; }
}

# loss MOMENT: what each command says is lost before it, and whether it is complete.
loss() {
	for command in stats usage list tree; do
		"$pagek" $command --format=json "--at=$1" ./holes >out 2>err
		printf '%s %s %s\n' "$command" "$(sed -n \
		    's/^  "\(missed\|lost\)": \([0-9]*\).*/\2/p' out)" "$(sed -n \
		    's/^  "complete": \([a-z]*\).*/\1/p' out)"
	done
}
# A list from behind the gap lacks nothing, counts always do.
losses_agree() {
	"$B/tests/capture/write_capture" holes 10000 gap >sums || return 1
	loss +300ms >before && loss +500ms >within && loss end >behind
	cat before within behind
	n=$(sed -n 's/^stats \([0-9]*\) .*/\1/p' behind)
	[ "$n" -gt 0 ] && printf '%s 0 true\n' stats usage list tree | cmp - before &&
	    ! grep -v " $n false$" within &&
	    printf '%s\n' "stats $n false" "usage $n false" "list $n true" \
		"tree $n true" | cmp - behind
}

# on_terminal KEYS COMMAND...: standard error is a terminal; KEYS are typed when the
# percent is there.  Prints what came there, and the status.
cat >on_terminal.py <<'PY'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.execv(sys.argv[2], sys.argv[2:])
out, keys = b"", sys.argv[1].encode()
while True:
    try:
        more = os.read(fd, 4096)
    except OSError:
        break
    if not more:
        break
    out += more
    if keys and b"reading the capture: " in out:
        os.write(fd, keys)
        keys = b""
print(repr(out), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY

progress() {
	"$B/tests/capture/write_capture" large 5000000 large || return 1
	python3 on_terminal.py '' "$pagek" usage ./large >out
	grep -q 'reading the capture: [0-9]* %.*x1b\[K.* 0$' out || return 1
	python3 on_terminal.py "$(printf '\003')" "$pagek" export --pprof \
	    -o large.pb.gz ./large >out
	grep -q 'reading the capture: .* -2$' out && [ ! -e large.pb.gz ] || return 1
	"$pagek" usage ./large 2>&1 >out | grep 'reading' && return 1
	rm large
}

rule "statistics of a capture are those of its end, whatever its form" sums_are_the_same
rule "a capture has as many rows as its statistics say, with their stacks" rows_are_those_of_the_sums
rule "statistics of a ring say what was dropped, and since when blocks are known" dropped
rule "what is no capture has one status and one sentence in each command" refusals
rule "a large capture shows how far it is read, and ^C ends that" progress
rule "a message names the process image that is shown" the_part_is_named
rule "each command tells the same loss of a damaged capture" damages_have_one_answer
rule "what is lost before, within and behind a gap is one number" losses_agree
rule "a damaged capture is read up to the damage, whose place is said" damage_has_its_place
say_result
