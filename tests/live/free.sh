#!/bin/sh
# Free space of a registered pool: what page K and `pagek list` show between
# its blocks is what the pool itself holds to be free.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
node=$XDG_RUNTIME_DIR/pagek/node
pagek=$B/pagek
daemon=
pool=
stop() {
	exec 7>&-
	for p in $daemon $pool; do
		kill_node "$p"
	done
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -I"$top/src/alloclog" -O1 -fno-builtin \
    -o "$tmp/pool" "$top/examples/pool.c" || exit 1
mkfifo "$tmp/steps"

page() {
	cols=$1 lines=$2
	shift 2
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$cols" -y "$lines" \
	    "exec '$pagek' $* 'pid:$pool'"
	t resize-window -t p -x "$cols" -y "$lines"
}
leave() {
	t send-keys -t p q
}

is_mapped() {
	[ "$(grep -c '^held' "$tmp/map")" -eq "$maps" ]
}
# steps N: the pool goes on by so many, and its map is in $tmp/now.
maps=0
steps() {
	echo "$1" >&7
	maps=$((maps + 1))
	until_true 20 is_mapped || return 1
	awk '/^held/ { if (++n == '"$maps"') exit; next }
	    n == '"$maps"' - 1' "$tmp/map" >"$tmp/now"
	largest=$(awk '/^held/ { print $6 }' "$tmp/map" | tail -n 1)
	sum=$(awk '/^held/ { print $4 }' "$tmp/map" | tail -n 1)
	held=$(awk '/^held/ { print $2 }' "$tmp/map" | tail -n 1)
}
# What the page's programs say is free, as the pool's map has it.
listed() {
	"$pagek" list --free "pid:$pool" | awk '$3 == "free" { print "free",
	    $1, $2 }' | tr -d ,
}
same_as_listed() {
	listed >"$tmp/listed" && cmp "$tmp/now" "$tmp/listed"
}
# The keeper takes the last records within a cycle or two.
agrees() {
	until_true 10 same_as_listed || {
		diff "$tmp/now" "$tmp/listed"
		return 1
	}
}

# --- its map and ours ---

begins() {
	"$B/pageknode" 2>"$tmp/said" &
	daemon=$!
	until_true 10 test -S "$node" || return 1
	for try in 1 2 3; do
		: >"$tmp/map"
		env LD_PRELOAD="$B/liballoclog.so" "$tmp/pool" 32768 900 \
		    <"$tmp/steps" >"$tmp/map" &
		pool=$!
		exec 7>"$tmp/steps"
		until_true 3 sh -c "'$pagek' list 'pid:$pool'" && break
		exec 7>&-
		wait "$pool"
	done
	steps 400 && agrees && [ "$(wc -l <"$tmp/now")" -gt 3 ]
}
rule "gaps between a pool's blocks are what the pool has free" begins

goes_on() {
	for n in 1 5 50 500 3000 7; do
		steps "$n" && agrees || return 1
	done
}
rule "... and so they are after thousands of steps" goes_on

plain() {
	"$pagek" list --sort p "pid:$pool" >"$tmp/out" &&
	    [ "$(grep -c ' free ' "$tmp/out")" -eq 0 ] &&
	    [ "$(grep -c BUFFER "$tmp/out")" -eq "$held" ]
}
rule "a list that was not asked for free blocks has none" plain

refused() {
	"$pagek" list --free --sort age "pid:$pool" 2>"$tmp/out"
	[ $? -eq 2 ] && grep -q 'free memory has no age' "$tmp/out"
}
rule "free blocks in the order of age are refused with a sentence" refused

json() {
	"$pagek" list --free --format=json "pid:$pool" >"$tmp/json" &&
	    python3 - "$tmp/json" "$sum" "$largest" "$held" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
r, = d["regions"]
assert r["name"] == "buffers" and r["size"] == 32768, r
assert r["free_bytes"] == int(sys.argv[2]), r
assert r["largest"] == int(sys.argv[3]), r
free = [b for b in d["blocks"] if b["kind"] == "free"]
assert len(free) == r["free_blocks"] and all(
    b["region"] == "buffers" for b in free), free
named = [b for b in d["blocks"] if b["kind"] == "block"
    and b["type_name"] == "BUFFER"]
assert len(named) == int(sys.argv[4])
at = [int(b["address"], 16) for b in d["blocks"] if b.get("layer") != "heap"]
assert at == sorted(at)
PY
}
rule "JSON has kinds, and a sum for each region" json
documented() {
	python3 - "$tmp/json" >"$tmp/program" <<'PY' || return 1
import json, sys
d = json.load(open(sys.argv[1]))
print("\n".join(sorted(["blocks.kind", "blocks.region"] +
                       ["regions." + k for k in d["regions"][0]])))
PY
	sed -n '/^\.Ss Keys of pagek.blocks/,/^\.El/s/^\.It Cm //p' \
	    "$top/man/pagek.1" | sed 's/ , /\n/g' | grep 'region\|kind' |
	    sort >"$tmp/manual"
	diff "$tmp/program" "$tmp/manual"
}
rule "what JSON has of free memory is in the manual, and the reverse" documented

# --- on the page ---

# The last rows of the page are the highest addresses: its free ones against
# the end of the map.
at_the_end() {
	t send-keys -t p End
	wait_for "$1" || return 1
	until_true 10 rows_agree "$2"
}
# Columns 1 to 12 are the address; the size is exact where it has the room.
rows_agree() {
	shot | awk -v size="$1" '$3 == "free" { if (size) print $1, $2;
	    else print $1 }' | tr -d , >"$tmp/rows"
	[ "$(wc -l <"$tmp/rows")" -gt 0 ] &&
	    awk -v size="$1" '{ if (size) print $2, $3; else print $2 }' \
	    "$tmp/now" | tail -n "$(wc -l <"$tmp/rows")" |
	    cmp - "$tmp/rows"
}

on_80() {
	page 80 24 --sort p && wait_for 'BUFFER' &&
	    at_the_end 'free .*in buffers' 1 &&
	    wait_for ' AGE +free [0-9.,]+K?, largest [0-9.,]+K?$'
}
rule "on 80 by 24 they are rows, and the heading sums them up" on_80

moves() {
	steps 300 && until_true 10 rows_agree 1
}
rule "... that follow the pool" moves

enters() {
	# From the last row up to the last free one: keys come in their order.
	ups=$("$pagek" list --free "pid:$pool" |
	    awk '$3 == "free" { at = NR } END { print NR - at }')
	t send-keys -t p End
	while [ "$ups" -gt 0 ]; do
		t send-keys -t p Up
		ups=$((ups - 1))
	done
	t send-keys -t p Enter
	wait_for 'free: [0-9,]+ bytes, in buffers: 32,768 bytes from'
}
rule "Enter on one describes it" enters

row='^[0-9a-f]{12} .*  free  '
# LETTER WORD
sorted() {
	t send-keys -t p s && wait_for '^SORT' && t send-keys -t p "$1" &&
	    wait_for "order: $2"
}
by_age() {
	sorted s age && ! shows "$row" && sorted p address && wait_for "$row"
}
rule "in the order of age there are none" by_age
leave

on_40() {
	page 40 10 --sort p && wait_for 'BUFFER' &&
	    t send-keys -t p End &&
	    wait_for '^[0-9A-F]{12} [0-9A-F ]{4}    free' &&
	    wait_for ' g[0-9]+[0-9.K]*'
}
rule "on 40 by 10 they are rows too, and the largest is in the last lines" on_40
leave

# --- children ---

# A child's pool is its own from the fork on, whatever its parent does with his.
cat >"$tmp/family.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
#include "alloclog.h"
#pragma weak alloclog_alloc
#pragma weak alloclog_region
#pragma weak alloclog_region_end
static char memory[65536];
int main(void)
{
	alloclog_region(memory, sizeof memory, 0, 0, "family");
	alloclog_alloc(memory, 4096, 0xc4);
	if (fork() == 0)
		alloclog_alloc(memory + 8192, 4096, 0xc4);
	else
		alloclog_region_end(memory);
	for (;;)
		pause();
}
C
sizes_of() {
	"$pagek" list --free "pid:$1" | awk '$3 == "free" { print $2 }' |
	    paste -sd ' '
}
sizes_are() {
	[ "$(sizes_of "$1")" = "$2" ]
}
inherits() {
	cc -std=c17 -D_GNU_SOURCE -I"$top/src/alloclog" -o "$tmp/family" \
	    "$tmp/family.c" || return 1
	env LD_PRELOAD="$B/liballoclog.so" "$tmp/family" &
	family=$!
	until_true 10 pgrep -P "$family" >/dev/null
	child=$(pgrep -P "$family")
	until_true 10 sizes_are "$child" '4,096 53,248' &&
	    until_true 10 sizes_are "$family" ''
	got=$?
	kill "$child" "$family"
	wait "$family" 2>/dev/null
	return "$got"
}
rule "a forked child has the pool that its parent had" inherits

# --- what is not wholly known ---

clicked() {
	page 80 24 --since=click --sort p && wait_for 'BUFFER|EMPTY' &&
	    steps 30 && wait_for 'BUFFER' && ! shows "$row"
}
rule "since the click there are none" clicked
leave

armed() {
	"$pagek" disarm "pid:$pool" && "$pagek" arm "pid:$pool" &&
	    steps 200 && until_true 10 sh -c "'$pagek' list 'pid:$pool' |
		grep -q BUFFER" && [ "$(listed | wc -l)" -eq 0 ]
}
rule "nor of a target that was armed after its start" armed

says_why() {
	"$pagek" list --free "pid:$pool" 2>"$tmp/out" >/dev/null &&
	    grep -q 'free memory is not shown: some of its blocks may not be' \
	    "$tmp/out" || return 1
	page 80 24 --sort p && wait_for 'BUFFER' && t send-keys -t p i &&
	    wait_for 'free     not shown: some of its blocks may not be'
}
rule "... which is said, and the key i says it too" says_why
leave

# The next node knows its blocks from then on.
another_node() {
	kill_node "$daemon"
	"$B/pageknode" 2>"$tmp/said" &
	daemon=$!
	until_true 10 test -S "$node" && until_true 20 sh -c "
		echo 3000 >&7; '$pagek' list 'pid:$pool' | grep -q ' C8 '" &&
	    [ "$(listed | wc -l)" -eq 0 ]
}
rule "nor of one whose node was lost" another_node

# As alloclog(3) has it: the loader looks for the name that the library has.
cat >"$tmp/linked.c" <<'C'
#include <alloclog.h>
#include <stdio.h>
int main(void)
{
	static char block[100];

	alloclog_type(0xc4, "CONN", "connection of the pool");
	alloclog_alloc(block, sizeof block, 0xc4);
	puts("linked");
	return 0;
}
C
linked() {
	root=$tmp/root
	make -s -C "$top" B="$B" DESTDIR="$root" PREFIX=/usr install &&
	    cc -I"$root/usr/include" "$tmp/linked.c" -o "$tmp/linked" \
	    -L"$root/usr/lib/pagek" -lalloclog \
	    -Wl,-rpath,"$root/usr/lib/pagek" || return 1
	[ "$("$tmp/linked")" = linked ] &&
	    [ "$("$pagek" run -b -o "$tmp/text" -- "$tmp/linked")" = linked ] &&
	    grep -q ' 100 C4 CONN ' "$tmp/text" &&
	    make -s -C "$top" B="$B" DESTDIR="$root" PREFIX=/usr uninstall &&
	    [ -z "$(find "$root" -name 'liballoclog*')" ]
}
rule "a program that is linked with what is installed runs and is watched" linked

say_result
