#!/bin/sh
# Other machines: streams, the block list and the wire on 32 bits.  long_port.sh also
# runs it on big-endian 32 bits, under qemu, and there as here compares the page's text
# and a node with this machine's.
set -u
# Shortened: the tests of this machine's own build run in full.
export CHECK_SHORT=1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_port.sh"

stop() {
	[ -z "${run:-}" ] || { kill "$run" "$pid" 2>/dev/null; wait "$run"; }
	rm -rf "$tmp"
} >/dev/null 2>&1
trap stop EXIT

on_each blklist blklist_hash blklist_note blklist_pairs blklist_regions \
    blklist_sample ${whole:+digest} feed feed_arm frames queue raw_records record \
    refcnt_table ring site_store wire wire_shape wire_stacks
[ -n "$whole" ] || {
	say_result
	exit
}

on() {
	machine=$1
	shift
	"$top/tests/port" exec "$machine" "$B/port/$machine/bin/pagek" "$@"
}

# --- the note's page

note_page >"$tmp/note"
note() {
	on "$1" --once --classic=strict --sort p --at 39s demo:note \
	    >"$tmp/out" 2>"$tmp/err"
	cat "$tmp/err"
	diff "$tmp/note" "$tmp/out" && [ ! -s "$tmp/err" ]
}

# --- a program of this machine, held

"$B/pagek" run -b -o /dev/null -- "$B/tests/targets/held" >"$tmp/said" &
run=$!
until_true 10 grep -q held= "$tmp/said" || exit 1
is_there() {
	pid=$("$B/pagek" targets | sed -n 's/^pid:\([0-9]*\) *held .*/\1/p')
	[ -n "$pid" ]
}
until_true 10 is_there || exit 1

# Ages, times and what the page itself costs are not compared.
same_page() {
	"$B/pagek" --once --sort p --ascii "pid:$pid" >"$tmp/here" &&
	    on "$1" --once --sort p --ascii "pid:$pid" >"$tmp/there" || return 1
	for where in here there; do
		sed -E 's/ +([0-9-]+ )?[0-9]+:[0-9:]+$//; s/ +[0-9][0-9a-z]*s  / AGE  /; /^[0-9.]+[mu]?s max /d' \
		    "$tmp/$where" >"$tmp/$where.rows"
	done
	cat "$tmp/there"
	diff "$tmp/here.rows" "$tmp/there.rows" &&
	    [ "$(grep -c malloc "$tmp/there.rows")" -ge 7 ]
}
# Each was told at its own time: one line has the time, and the oldest block's
# age stands in another and in a column of every row.
same_tree() {
	"$B/pagek" tree --by=bytes "pid:$pid" >"$tmp/here" &&
	    on "$1" tree --by=bytes "pid:$pid" >"$tmp/there" || return 1
	for where in here there; do
		sed -E -e '1s/  [0-9-]{10} [0-9:]{8}$/  TIME/' \
		    -e '2s/the oldest [0-9][0-9a-z]*;/the oldest AGE;/' \
		    -e 's/^( *[0-9.]+% .{10} .{11}) .{6}  /\1 AGE  /' \
		    "$tmp/$where" >"$tmp/$where.rows"
	done
	cat "$tmp/there"
	diff "$tmp/here.rows" "$tmp/there.rows" &&
	    grep -q '  TIME$' "$tmp/there.rows" &&
	    grep -q 'the oldest AGE;' "$tmp/there.rows" &&
	    grep -q '% .* AGE  .*main' "$tmp/there.rows"
}

# --- this machine's page of the other's node

cp "$B/pagek" "$tmp/pagek"
their_node() {
	ln -sf "$B/port/$1/bin/pageknode" "$tmp/pageknode"
	"$tmp/pagek" --once --classic=strict --sort p --at 39s demo:note \
	    >"$tmp/out" && diff "$tmp/note" "$tmp/out"
}

# --- a keeper of 32 bits

counted() {
	mkdir -p "$tmp/count"
	COUNT_DIR=$tmp/count LD_PRELOAD=$B/tests/libcount.so "$B/port/i386/bin/pagek" \
	    run -b -o /dev/null --report "$tmp/report" -- \
	    sqlite3 :memory: ".read $tmp/in.sql" &&
	    "$top/tests/count/compare" "$tmp/report" "$tmp/count" --min-images 1
}

for machine in $usable; do
	how=$(kind "$machine")
	rule "$machine: demo:note comes out $how as the note printed it" \
	    note "$machine"
	rule "$machine: a page $how shows a program of this machine as here" \
	    same_page "$machine"
	rule "$machine: so does a tree" same_tree "$machine"
	rule "$machine: a page here shows a node $how as its own" \
	    their_node "$machine"
done
# --- a firmware of 32 bits, big-endian

firmware() {
	"$B/port/powerpc/cc" -std=c99 -Wall -Wextra -Werror -o "$tmp/firmware" \
	    "$top/examples/device/firmware.c" &&
	    "$top/tests/port" exec powerpc "$tmp/firmware" |
	    "$B/pagek" list raw:- >"$tmp/out" || return 1
	cat "$tmp/out"
	sed 1d "$tmp/out" | awk '$2 != 64 * NR { exit 1 } END { exit NR != 10 }'
}
case $usable in
*powerpc*)
	rule "powerpc: a firmware's blocks are listed as it holds them" firmware
	;;
esac
case $usable in
*i386*)
	sql_work >"$tmp/in.sql"
	rule "i386: a keeper on 32 bits counts a 64-bit program exactly" counted
	;;
esac
say_result
