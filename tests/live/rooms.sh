#!/bin/sh
# Each folder of src/ is a room; what it takes from another it takes from below.
set -u
. "$(dirname "$0")/lib.sh"

# From the ground up: a room includes what stands before it.  A room may stand
# inside another one.
rooms='base mdd/target stream stream/wire stream/feed alloclog/unwind alloclog/produce alloclog/guard alloclog alloclog/debugdata filter
allocp blklist blklist/indexed usage stress/ebpf stress refcnt refcnt/guard refcnt/hint
symbol symbol/reader profile capture capture/reader capture/recording mdd/dump mdd/take export
nodes/host nodes/node_options nodes/places
nodes/link nodes/session nodes/session/requests nodes/survey nodes/bridge nodes
nodes/keeper nodes/stress nodes/refcnt nodes/self_watch nodes/recorder nodes/arrivals nodes/images nodes/takeover
nodes/replay nodes/spool nodes/serve nodes/demo nodes/supervisor nodes/pageknode
pagek/picture pagek/page pagek/stress pagek/blocks pagek/groups pagek/rows pagek/difference pagek/history pagek/layout pagek/panels pagek/usage pagek/refcnt pagek/cli
pagek/documents pagek/debugdata pagek/batch pagek/jobs pagek/app pagek/app/pages pagek/tui
pagek/commands pagek/commands/run pagek/commands/snapshot pagek/commands/dumps pagek/commands/stress
pagek/commands/refcnt pagek/commands/check pagek/commands/stale pagek'

# The rooms of a page and those of a node meet only in the program pageknode.
page_side='nodes/link nodes/session nodes/session/requests nodes/survey nodes/bridge nodes'
node_side='nodes/keeper nodes/stress nodes/refcnt nodes/self_watch nodes/recorder nodes/arrivals nodes/images
nodes/takeover nodes/replay nodes/spool nodes/serve nodes/demo nodes/supervisor'

# Each include of another room's header, as "file room": the path as it is from
# the folder of sources, without its file.
arrows() {
	(cd "$top/src" && find . -name '*.[ch]' -exec \
	    grep -Ho '^#include "[^"]*/[^"]*"' {} +) | awk '
	{
		split($0, part, ":#include \"")
		sub(/^\.\//, "", part[1])
		path = part[1]
		sub(/\/[^\/]*$/, "/" part[2], path)
		sub(/\/[^\/]*$/, "", path)
		while (sub(/[^\/.]+\/\.\.(\/|$)/, "", path))
			continue
		sub(/\/$/, "", path)
		print part[1], path
	}'
}

rooms_are_known() {
	find "$top/src" -name '*.[ch]' | sed "s,^$top/src/,,; s,/[^/]*\$,," |
	    sort -u | while read -r room; do
		case " $(echo $rooms) " in
		*" $room "*) ;;
		*) echo "$room has no floor"; return 1 ;;
		esac
	done
}

arrows_point_down() {
	arrows | awk -v rooms="$(echo $rooms)" '
	BEGIN { n = split(rooms, r, " "); for (i = 1; i <= n; i++) floor[r[i]] = i }
	{
		from = $1
		sub(/\/[^\/]*$/, "", from)
		if (!(floor[$2] < floor[from])) { print; up++ }
		seen++
	}
	END { exit up > 0 || seen == 0 }'
}

sides_are_apart() {
	arrows | awk -v page="$(echo $page_side)" -v node="$(echo $node_side)" '
	BEGIN {
		n = split(page, r, " ")
		for (i = 1; i <= n; i++)
			side[r[i]] = "page"
		n = split(node, r, " ")
		for (i = 1; i <= n; i++)
			side[r[i]] = "node"
	}
	{
		from = $1
		sub(/\/[^\/]*$/, "", from)
		if (!(from in side) || !($2 in side))
			next
		if (side[from] != side[$2]) { print; across++ }
		seen++
	}
	END { exit across > 0 || seen == 0 }'
}

# A room inside another one is entered by somebody who knows its subject.
rooms_have_doors() {
	for room in $rooms; do
		case $room in
		*/*) [ -f "$top/src/$room/${room##*/}.h" ] ||
		    [ -f "$top/src/$room.h" ] ||
		    { echo "$room has no header of its name"; return 1; } ;;
		esac
	done
}

# The opening comment of a door names each file of its room, or a pattern of its
# name; foo.h stands for foo.c as well.
doors_name_their_files() {
	for room in $rooms; do
		case $room in
		alloclog) door=$room/hooks.h ;;
		pagek) continue ;;
		*) door=$room/${room##*/}.h ;;
		esac
		[ -f "$top/src/$door" ] || door=$room.h
		for file in "$top/src/$room"/*.[ch] "$top/src/$room"/*.def; do
			[ -f "$file" ] && [ "$file" != "$top/src/$door" ] &&
			    echo "$door ${file##*/}"
		done
	done | while read -r door file; do
		[ "${file%.*}" != "$(basename "${door%.h}")" ] || continue
		set -f
		for word in $(sed '/\*\//q' "$top/src/$door" |
		    grep -oE '[[:alnum:]_*-]+\.(c|h|def)' | sed 's/NAME/*/'); do
			case $file in
			${word%.*}.*) continue 2 ;;
			esac
		done
		echo "$door does not name $file"
		return 1
	done
}

# src/README.md has a row for each room, or for the room around it.  Each file that a row
# names is in a room of the row or below it, or at that path.
map_is_true() {
	sed -n 's/^| `/`/p' "$top/src/README.md" >"$tmp/map"
	for room in $rooms; do
		case $room in
		*/*) around=${room%%/*} ;;
		*) around=$room ;;
		esac
		grep -qE "^[^|]*\`($room|$around)\`" "$tmp/map" ||
		    { echo "src/README.md does not name $room"; return 1; }
	done
	while IFS='|' read -r where _ files; do
		set -f
		for file in $(echo "$files" | grep -oE '`[^` ]+`' | tr -d '`'); do
			found=
			for room in $(echo "$where" | grep -oE '`[^`]+`' | tr -d '`'); do
				for at in "$room/$file" "${room%/*}/$file" "../$file"; do
					[ ! -e "$top/src/$at" ] || found=1
				done
			done
			[ -n "$found" ] || { echo "src/README.md: no $file in $where"; return 1; }
		done
		set +f
	done <"$tmp/map"
}

# A person who moves in reads a room in a day.
rooms_fit_a_person() {
	find "$top/src" -type d | while read -r dir; do
		set -- $(find "$dir" -maxdepth 1 -name '*.[ch]' -exec cat {} + | wc -l) \
		    $(find "$dir" -maxdepth 1 -name '*.[ch]' | wc -l)
		[ "$1" -le 6000 ] && [ "$2" -le 40 ] ||
		    { echo "${dir#"$top/"} has $1 lines in $2 files"; return 1; }
	done
}

# A member that is a struct without a tag counts as one.
structs_are_short() {
	find "$top/src" -name '*.[ch]' -exec python3 -c '
import re, sys
bad = seen = 0
for path in sys.argv[1:]:
    text = re.sub(r"(?s:/\*.*?\*/)", "", open(path).read())
    text = re.sub(r"(?m)^[ \t]*#.*(?:\\\n.*)*$", "", text)
    for head in re.finditer(r"\bstruct (\w+) \{", text):
        deep, members, at, line = 1, 0, head.end(), ""
        while deep > 0 and at < len(text):
            deep += (text[at] == "{") - (text[at] == "}")
            if deep == 1 and text[at] == ";":
                while re.search(r"\([^()]*\)", line):
                    line = re.sub(r"\([^()]*\)", "", line)
                members += 1 + line.count(",")
                line = ""
            elif deep == 1:
                line += text[at]
            at += 1
        seen += 1
        if members > 30:
            print(path, head[1], members)
            bad += 1
sys.exit(bad > 0 or seen == 0)' {} +
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
rule "the rooms of a page and those of a node do not include each other" \
    sides_are_apart
rule "a room in a room has a header of its name" rooms_have_doors
rule "the door of a room names its files" doors_name_their_files
rule "the map of the sources names all rooms, and only files that exist" map_is_true
rule "a room has 6,000 lines and 40 files at most" rooms_fit_a_person
rule "a struct has 30 members at most" structs_are_short
rule "curses is the terminal's alone" lies_in '#include <n?curses' pagek/tui/
rule "messages are read and written in the wire's room alone" \
    lies_in '#include <cbor' stream/wire/
rule "sockets are the nodes', and one file's of the target side" \
    lies_in '(^|[^_[:alnum:]])(socket|connect|accept4?)\(' nodes/ \
    alloclog/attach.c
say_result
