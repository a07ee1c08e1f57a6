#!/bin/sh
# Each folder of src/ is a room; what it takes from another it takes from below.
set -u
. "$(dirname "$0")/lib.sh"

# From the ground up: a room includes what stands before it.
rooms='base stream alloclog filter allocp blklist symbol nodes mdd page pagek'

# Each include of another room's header, as "file: room".
arrows() {
	(cd "$top/src" && grep -Ho '#include "\.\./[a-z]*/' ./*/*.[ch]) |
	    sed 's,^\./,,; s,:#include "\.\./,: ,; s,/$,,'
}

rooms_are_known() {
	for room in "$top"/src/*/; do
		case " $rooms " in
		*" $(basename "$room") "*) ;;
		*) echo "$room has no floor"; return 1 ;;
		esac
	done
}

arrows_point_down() {
	arrows | awk -v rooms="$rooms" '
	BEGIN { n = split(rooms, r, " "); for (i = 1; i <= n; i++) floor[r[i]] = i }
	{
		split($1, from, "/")
		if (!(floor[$2] < floor[from[1]])) { print; up++ }
		seen++
	}
	END { exit up > 0 || seen == 0 }'
}

# lies_in PATTERN PATH...: such a line stands below one of these, and nowhere else.
lies_in() {
	pattern=$1
	shift
	all=$(cd "$top/src" && grep -rlE "$pattern" . | sed 's,^\./,,')
	[ -n "$all" ] || return 1
	for path; do
		all=$(echo "$all" | grep -v "^$path")
	done
	echo "$all"
	[ -z "$all" ]
}

rule "every folder of the sources has a floor" rooms_are_known
rule "a room includes only what stands below it" arrows_point_down
rule "curses is the program's alone" lies_in '#include <n?curses' pagek/
rule "messages are read and written in the stream's room alone" \
    lies_in '#include <cbor' stream/
rule "sockets are the nodes', and one file's of the target side" \
    lies_in '(^|[^_[:alnum:]])(socket|connect|accept4?)\(' nodes/ \
    alloclog/attach.c
say_result
