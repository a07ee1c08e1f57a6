#!/bin/sh
# The adapters of examples/adapters, each with the pool that it is for: what page K
# lists is what the pool itself counts.  Built from an installed tree.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
report=$tmp/report
run=
stop() {
	exec 7>&-
	[ -z "$run" ] || kill "$run"
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

make -s -C "$top" B="$B" PREFIX="$tmp/usr" install >"$tmp/install.log" 2>&1 ||
    cat "$tmp/install.log"
PKG_CONFIG_PATH=$tmp/usr/lib/pkgconfig
export PKG_CONFIG_PATH
mkfifo "$tmp/steps"

# builds SOURCE COMPILER... -- LIBRARY...: with each compiler, without a warning.
builds() {
	source=$1 compilers=
	shift
	while [ "$1" != -- ]; do
		compilers="$compilers $1"
		shift
	done
	shift
	case $source in
	*.cc) standard=c++17 ;;
	*) standard=gnu17 ;;
	esac
	for compiler in $compilers; do
		$compiler -std=$standard -O1 -g -Wall -Wextra -Werror \
		    -o "$tmp/pool" "$top/examples/adapters/$source" \
		    $(pkg-config --cflags --libs alloclog "$@") || return 1
	done
}

# held TYPE: blocks and bytes, as the node has them.
held() {
	"$pagek" list --filter "layer=api & type=$1" --fields size --format csv \
	    pool | awk 'NR > 1 { n++; sum += $1 } END { print n + 0, sum + 0 }'
}
# agrees TYPE BLOCKS BYTES: "-" is not known.
agrees() {
	set -- "$@" $(held "$1")
	[ "$2" = - ] || [ "$2" = "$4" ] || return 1
	[ "$3" = - ] || [ "$3" = "$5" ]
}

# Each line on its standard input is a step; what it says after one is compared.
lines_are() {
	[ "$(wc -l <"$tmp/said")" -ge "$1" ]
}
steps_agree() {
	types=$1 steps=$2 at=0
	until_true 30 lines_are "$types" && until_true 30 "$pagek" list pool ||
	    return 1
	while [ $at -lt "$steps" ]; do
		until_true 30 lines_are $(((at + 1) * types)) || return 1
		sed -n "$((at * types + 1)),$(((at + 1) * types))p" "$tmp/said" \
		    >"$tmp/now"
		while read -r type blocks bytes; do
			until_true 10 agrees "$type" "$blocks" "$bytes" || {
				echo "step $at: $type $blocks $bytes," \
				    "listed $(held "$type")"
				return 1
			}
		done <"$tmp/now"
		[ $at -ne 0 ] || "$pagek" list --format json pool >"$tmp/json"
		at=$((at + 1))
		echo >&7
	done
}
# all_counted FAILED: nothing was lost, and all that ended was there.
all_counted() {
	cat "$report"
	grep '"comm": "pool"' "$report" | grep '"complete": true' |
	    grep '"unknown_free": 0,' | grep '"duplicate": 0,' |
	    grep -q "\"failed\": $1,"
}
# watched_once TYPES STEPS FAILED
watched_once() {
	"$pagek" run -b -o /dev/null --report "$report" -- "$tmp/pool" \
	    <"$tmp/steps" >"$tmp/said" 2>"$tmp/errors" 7>&- &
	run=$!
	exec 7>"$tmp/steps"
	steps_agree "$1" "$2"
	status=$?
	exec 7>&-
	wait $run
	run=
	[ $status = 0 ] && all_counted "$3"
}
watched() {
	unless_busy watched_once "$@"
}

# installed LIBRARY PACKAGE: or the reason why its pool is not tried.
installed() {
	pkg-config --exists "$1" || {
		skip "$2 is not installed: no adapter for its pools is tried"
		return 1
	}
}

if installed talloc libtalloc-dev; then
	rule "talloc: the adapter builds" builds talloc.c gcc clang -- talloc
	rule "... blocks and bytes are talloc_total_blocks() and talloc_total_size()" \
	    watched 1 4 0
fi
if installed apr-1 libapr1-dev; then
	rule "APR pools: the adapter builds" builds apr.c gcc clang -- apr-1
	rule "... objects are there until their pool is cleared or destroyed" \
	    watched 1 4 0
fi
if installed gio-2.0 libglib2.0-dev; then
	rule "GObject: the adapter builds" builds gobject.c gcc clang -- gio-2.0
	rule "... objects are as many as GLib's own list holds" watched 1 3 0
fi
rule "std::pmr: the adapter builds" builds pmr.cc g++ clang++ --
rule "... nodes and texts are those of the containers, and a failed request counts" \
    watched 2 4 1
rule "obstacks: the adapter builds" builds obstack.c gcc clang --
rule "... chunks are obstack_memory_used(), and frees end all objects after one" \
    watched 2 5 0

# --- on the page --------------------------------------------------------------

# The chunks and objects of the obstack, as they were in its first step.
has_types() {
	python3 - "$tmp/json" <<'PY'
import json, sys
blocks = json.load(open(sys.argv[1]))["blocks"]
objects = [b for b in blocks if b["type_name"] == "OBJECT"]
assert len(objects) == 3000 and {b["layer"] for b in objects} == {"api"}
chunks = [b for b in blocks if b["type_name"] == "CHUNK"]
# The library's block and the program's own layer have one address.
heap = {b["address"] for b in blocks if b["layer"] == "heap"}
assert chunks and all(b["address"] in heap for b in chunks)
PY
}
rule "a list has the types' names, and a layer beside the heap's" has_types

# The first objects and chunks of the obstack; the program waits for its next step.
page() {
	t new-session -d -s p -x 124 -y 35 "exec '$pagek' run -- sh -c \
	    'exec \"$tmp/pool\" <\"$tmp/steps\"'"
	exec 7>"$tmp/steps"
	wait_for '4,064 +4,[0-9]+ C1 CHUNK .*' || return 1
	keys f 'layer=api & type=CHUNK' Enter
	wait_for ' C1 CHUNK ' && wait_gone ' OBJECT ' || return 1
	keys f C-u 'layer=api' Enter
	wait_for ' OBJECT ' || return 1
	keys b b b b b b
	wait_for 'group TYPE' && wait_for '^\+ OBJECT .* 3,000 ' &&
	    wait_for '^\+ CHUNK '
}
rule "page K shows them by name, filters by it, and groups by type" page

say_result
