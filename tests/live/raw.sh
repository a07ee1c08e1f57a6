#!/bin/sh
# raw:PATH: classic records from a file, a pipe, a FIFO and a terminal line,
# sound and damaged.
. "$(dirname "$0")/lib.sh"

pagek=$B/pagek
raw=$top/tests/live/raw.py
python3 "$raw" make 1 3000 "$tmp/sound" "$tmp/blocks"
python3 "$raw" damage 2 "$tmp/sound" "$tmp/damaged"

# Address and size of each row, in the order of addresses.
rows() {
	sed 1d "$1" | tr -d , | awk '{ print $1, $2 }'
}
# refused STATUS WORDS ARGUMENTS...: one sentence on stderr, nothing on stdout.
refused() {
	want=$1
	words=$2
	shift 2
	"$pagek" list "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	cat "$tmp/err"
	[ "$got" = "$want" ] && [ ! -s "$tmp/out" ] &&
	    [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q -- "$words" "$tmp/err"
}

# --- what is there
same_blocks() {
	rows "$1" | diff "$tmp/blocks" -
}
from_file() {
	"$pagek" list --sort address raw:"$tmp/sound" >"$tmp/a" &&
	    same_blocks "$tmp/a"
}
rule "a file is read to its end, and its blocks are listed" from_file
from_pipe() {
	{ head -c 7 "$tmp/sound"; sleep 0.3; tail -c +8 "$tmp/sound"; } |
	    "$pagek" list --sort address raw:- >"$tmp/a" &&
	    same_blocks "$tmp/a"
}
rule "so is a pipe, however it comes" from_pipe
from_input() {
	"$pagek" list --sort address raw:- <"$tmp/sound" >"$tmp/a" &&
	    same_blocks "$tmp/a"
}
rule "so is a file as standard input" from_input
once() {
	"$pagek" --once raw:"$tmp/sound" >"$tmp/a" &&
	    grep -q "K MEMORY BLOCKS .* sound  ENDED" "$tmp/a"
}
rule "--once says that the input has ended" once
tree() {
	"$pagek" tree raw:"$tmp/sound" >"$tmp/a" && [ -s "$tmp/a" ]
}
rule "tree has sums of it" tree
earlier() {
	tail -c +8001 "$tmp/sound" >"$tmp/late"
	"$pagek" list --format json raw:"$tmp/late" >"$tmp/json" &&
	    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))["keeper"]
assert d["earlier"] > 0 and d["unknown_free"] == 0, d' "$tmp/json"
}
rule "frees of blocks from before the stream are earlier ones" earlier

# The node has read it all before the page comes, or not, or in parts.
python3 "$raw" errors "$tmp/errors"
mkfifo "$tmp/errors.fifo"
counted() {
	"$pagek" list --format json "$1" >"$tmp/json" &&
	    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
want = {"illegal_type": 3, "duplicate": 2, "earlier": 1}
have = {k: d["counts"][k] for k in want}
assert have == want, have
assert [b["type_name"] for b in d["blocks"] if int(b["type"], 16) >= 0x80] == [
    None, "calloc"], d["blocks"]' "$tmp/json"
}
counted_in_file() {
	counted raw:"$tmp/errors"
}
rule "illegal types, duplicates and earlier frees of a file are counted" \
    counted_in_file
counted_in_pipe() {
	{ head -c 40 "$tmp/errors"; sleep 1; tail -c +41 "$tmp/errors"; } |
	    counted raw:-
}
rule "so are those of a pipe" counted_in_pipe
counted_in_fifo() {
	{ head -c 90 "$tmp/errors"; sleep 1; tail -c +91 "$tmp/errors"; } \
	    >"$tmp/errors.fifo" &
	counted raw:"$tmp/errors.fifo"
}
rule "and those of a FIFO" counted_in_fifo
counted_on_page() {
	"$pagek" --once raw:"$tmp/errors" >"$tmp/a" &&
	    grep -q "typ 3  *dup 2" "$tmp/a" ||
	    { cat "$tmp/a"; false; }
}
rule "the page's status line has them" counted_on_page

# --- damage
damaged() {
	"$pagek" list --format json raw:"$tmp/damaged" >"$tmp/json"
	[ $? = 5 ] && python3 "$raw" check "$tmp/sound" "$tmp/json" \
	    "$(wc -c <"$tmp/damaged")" 0
}
rule "of damaged bytes no block is wrong, and every byte is counted" damaged
told() {
	"$pagek" --once raw:"$tmp/damaged" >"$tmp/a"
	grep -q "bytes skipped" "$tmp/a"
}
rule "the page says how many bytes were skipped" told
strict() {
	"$pagek" list --strict raw:"$tmp/damaged" >/dev/null 2>&1
	[ $? = 6 ]
}
rule "--strict tells it by the status" strict
head -c 100000 /dev/urandom >"$tmp/noise"
noise() {
	"$pagek" list raw:"$tmp/noise" >"$tmp/a"
	[ "$(wc -l <"$tmp/a")" = 1 ]
}
rule "noise alone has no blocks" noise
# is_damaged COMMAND...: status 5 and one sentence; what could be read is there.
is_damaged() {
	"$pagek" "$@" >"$tmp/a" 2>"$tmp/err"
	status=$?
	cat "$tmp/err"
	[ $status = 5 ] && [ -s "$tmp/a" ] && [ "$(wc -l <"$tmp/err")" = 1 ] &&
	    grep -q '^pagek: damaged: .* bytes skipped' "$tmp/err"
}
head -c 47995 "$tmp/sound" >"$tmp/cut"
head -c 65536 /dev/zero >"$tmp/zero"
for f in damaged noise cut zero; do
	rule "list of a file says that it is damaged: $f" \
	    is_damaged list raw:"$tmp/$f"
done
for c in "list --format csv" "list --format prom" tree --once "watch -q"; do
	rule "so does $c" is_damaged $c raw:"$tmp/cut"
done
piped() {
	cat "$tmp/cut" | is_damaged list raw:-
}
rule "and list of a pipe" piped
unharmed() {
	for f in sound late; do
		"$pagek" list raw:"$tmp/$f" >"$tmp/a" 2>"$tmp/err" &&
		    [ ! -s "$tmp/err" ] || return 1
	done
}
rule "of a file that is whole nothing is said" unharmed

# --- a line
line() {
	rm -f "$tmp/line"
	head -c 20000 "$tmp/damaged" >"$tmp/part"
	python3 "$raw" pty "$tmp/part" "$tmp/line" 115200 >"$tmp/settings" &
	player=$!
	until_true 10 test -e "$tmp/line" || return 1
	"$pagek" list --format json --baud 115200 --timeout 6 \
	    raw:"$tmp/line" >"$tmp/json"
	status=$?
	wait $player
	cat "$tmp/settings"
	[ $status = 0 ] && python3 "$raw" check "$tmp/sound" "$tmp/json" \
	    20000 127
}
rule "a line of 115,200 baud with noise, cuts and doubles has no wrong block" \
    line
rule "the line had the speed that was asked for" \
    grep -q "speed True" "$tmp/settings"
rule "it was set back at the end" grep -q "restored True" "$tmp/settings"

vanished() {
	python3 "$raw" vanish "$tmp/sound" "$tmp/usb" 800 &
	player=$!
	until_true 10 test -e "$tmp/usb" || return 1
	"$pagek" -b --interval 0.2 -o "$tmp/page" raw:"$tmp/usb" &
	page=$!
	: >"$tmp/usb.go"
	n=$(head -c 800 "$tmp/sound" | "$pagek" list raw:- | sed 1d | wc -l)
	until_true 10 grep -q "  $n blocks" "$tmp/page"
	found=$?
	: >"$tmp/usb.end"
	wait $player
	wait $page
	status=$?
	tail -n 30 "$tmp/page"
	[ $found = 0 ] && [ $status = 0 ] &&
	    grep -q "the device is gone\|the input has ended" "$tmp/page" &&
	    tail -n 40 "$tmp/page" | grep -q "  $n blocks"
}
rule "a device that vanishes has ended, and its list is kept" vanished

# --- a FIFO
mkfifo "$tmp/fifo"
two_writers() {
	env --default-signal=INT,TERM "$pagek" -b --interval 0.2 \
	    -o "$tmp/page" raw:"$tmp/fifo" &
	page=$!
	head -c 800 "$tmp/sound" >"$tmp/fifo"
	until_true 10 grep -q "it has no writer" "$tmp/page" || return 1
	tail -c +801 "$tmp/sound" >"$tmp/fifo"
	n=$(wc -l <"$tmp/blocks")
	until_true 10 grep -q "  $n blocks" "$tmp/page"
	status=$?
	kill $page
	wait $page
	tail -n 30 "$tmp/page"
	[ $status = 0 ] && grep -q "LIVE" "$tmp/page"
}
rule "a FIFO goes on with its next writer" two_writers
# The page is there before it comes: its own list has to see it.
doubled() {
	{ head -c 16 "$tmp/sound"; head -c 800 "$tmp/sound"; } >"$tmp/twice"
	"$pagek" -b --interval 0.2 -o "$tmp/page" raw:"$tmp/fifo" &
	page=$!
	n=$(head -c 800 "$tmp/sound" | "$pagek" list raw:- | sed 1d | wc -l)
	until_true 10 grep -q "it has no writer" "$tmp/page" &&
	    cat "$tmp/twice" >"$tmp/fifo" &&
	    until_true 10 grep -q " 1 repeated record skipped" "$tmp/page"
	status=$?
	kill $page
	wait $page
	tail -n 30 "$tmp/page"
	[ $status = 0 ] && ! grep -q "INCOMPLETE" "$tmp/page" &&
	    grep -q "  $n blocks" "$tmp/page"
}
rule "a record that comes twice is taken once" doubled
last_picture() {
	tail -n 26 "$tmp/page"
}
is_unwritten() {
	last_picture | grep -q "it has no writer"
}
is_written() {
	last_picture | grep -q " LIVE " && ! is_unwritten
}
# No picture with a block more than the one before says that there is no writer.
written() {
	env --default-signal=INT,TERM "$pagek" -b --interval 0.1 \
	    -o "$tmp/page" raw:"$tmp/fifo" &
	page=$!
	until_true 10 is_unwritten &&
	    python3 "$raw" trickle "$tmp/fifo" 4 "$1" &&
	    until_true 10 grep -q "  40 blocks" "$tmp/page" &&
	    until_true 10 is_unwritten
	status=$?
	kill $page
	wait $page
	python3 -c 'import re, sys
had, lies, said = 0, 0, 0
for picture in open(sys.argv[1]).read().split("K MEMORY BLOCKS")[1:]:
    blocks = re.search(r"  (\d+) blocks", picture)
    n = int(blocks.group(1)) if blocks else 0
    nobody = "it has no writer" in picture
    lies += nobody and n > had
    said += nobody
    had = n
assert had == 40 and not lies and said, (had, lies, said)' "$tmp/page" &&
	    [ $status = 0 ]
}
rule "while records come nobody is said not to write" written keep
rule "even if each has a writer of its own" written open
silent_writer() {
	"$pagek" -b --interval 0.2 -o "$tmp/page" raw:"$tmp/fifo" &
	page=$!
	until_true 10 is_unwritten || return 1
	sleep 30 >"$tmp/fifo" &
	writer=$!
	until_true 10 is_written
	status=$?
	kill $writer
	until_true 10 is_unwritten || status=1
	kill $page
	wait $page
	return $status
}
rule "who has opened it and writes nothing yet is a writer" silent_writer
one_writer() {
	cat "$tmp/sound" >"$tmp/fifo" &
	"$pagek" list --sort address raw:"$tmp/fifo" >"$tmp/a" &&
	    same_blocks "$tmp/a"
}
rule "for a list its first writer is all" one_writer
no_writer() {
	"$pagek" list --timeout 0.5 raw:"$tmp/fifo" >"$tmp/a"
	[ $? = 0 ] && [ "$(wc -l <"$tmp/a")" = 1 ]
}
rule "without a writer the list is empty when the time is over" no_writer

# --- the header for firmware
cc -std=c99 -pedantic -Wall -Wextra -Werror -o "$tmp/firmware" \
    "$top/examples/device/firmware.c"
firmware() {
	"$tmp/firmware" | "$pagek" list raw:- >"$tmp/a" &&
	    rows "$tmp/a" | awk '$2 != 64 * NR { exit 1 } END { exit NR != 10 }' &&
	    [ "$(grep -c ' 80 malloc ' "$tmp/a")" = 10 ]
}
rule "a firmware with the header is listed as it holds its blocks" firmware
rule "the header is below 100 lines" \
    test "$(wc -l <"$top/examples/device/pagek_device.h")" -lt 100

# --- bad input
rule "a path that is not there is no target" \
    refused 3 "No such file" raw:/no/such/line
rule "a directory is none" refused 3 "is a directory" raw:"$tmp"
rule "raw: alone is a mistake" refused 2 "path of a device" raw:
rule "a speed that no line has is a mistake" \
    refused 2 "baud" --baud 12345 raw:"$tmp/sound"
: >"$tmp/mine"
chmod 0 "$tmp/mine"
if [ "$(id -u)" != 0 ]; then
	rule "what one may not read is refused" \
	    refused 4 "Permission denied" raw:"$tmp/mine"
elif command -v setpriv >/dev/null; then
	chmod 755 "$tmp"
	not_mine() {
		XDG_RUNTIME_DIR='' setpriv --reuid 65534 --regid 65534 \
		    --clear-groups "$pagek" list raw:"$tmp/mine" \
		    >"$tmp/out" 2>"$tmp/err"
		[ $? = 4 ] && grep -q "Permission denied" "$tmp/err"
	}
	rule "what one may not read is refused" not_mine
fi

say_result
