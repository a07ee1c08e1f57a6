#!/bin/sh
# A filter typed on the page of a real program: rows shown all match, the count
# is right, what is wrong stays to be mended, Esc clears.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
run=
stop() {
	[ -z "$run" ] || { kill "$pid" "$run" && wait "$run"; }
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

cat >"$tmp/holder.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile small[30], *volatile large[7];
__attribute__((noinline)) static void take_large(void)
{
	for (int i = 0; i < 7; i++)
		large[i] = calloc(1, (size_t)(70000 + i));
}
int main(void)
{
	for (int i = 0; i < 30; i++)
		small[i] = malloc((size_t)(16 + i));
	take_large();
	if (write(1, "ready\n", 6) < 0)
		return 1;
	for (;;)
		pause();
}
C
cc -O1 -g -fno-builtin -o "$tmp/holder" "$tmp/holder.c" || exit 1
"$pagek" run -b -o /dev/null -- "$tmp/holder" >"$tmp/told" 2>"$tmp/run.err" &
run=$!
until_true 30 grep -q ready "$tmp/told" || { cat "$tmp/run.err"; exit 1; }
pid=$("$pagek" targets --format json | python3 -c '
import json, sys
print(*[t["pid"] for t in json.load(sys.stdin)["targets"]
    if t["name"] == "holder" and t["state"] == "LIVE"])')
[ -n "$pid" ] || exit 1
all=$("$pagek" list "pid:$pid" | sed 1d | grep -c .)

# page WIDTH HEIGHT OPTIONS...
page() {
	t kill-session -t p 2>/dev/null
	width=$1 height=$2
	shift 2
	t new-session -d -s p -x "$width" -y "$height" \
	    "exec '$pagek' $* pid:$pid" && wait_for '^NODE<'
}

# Sizes of the rows shown, a line each.
sizes() {
	shot | grep -v ' asked, ' | sed -n 's/^[0-9a-f]\{12\} *\([0-9,]*\) .*/\1/p' | tr -d ,
}

rows_are() {
	[ "$(sizes | wc -l)" = "$1" ] &&
	    [ -z "$(sizes | awk -v least="$2" '$1 < least')" ]
}

filtered() {
	page 80 24 && wait_for 'holder' && keys f && wait_for '^filter:' &&
	    keys -l 'size>=60k' && keys Enter &&
	    wait_for "^filter size>=60k +7 of $all blocks, 478\.. KiB" &&
	    wait_for "  7 of $all blocks" &&
	    until_true 10 rows_are 7 60000
}
rule "rows shown all match, and n of m is right" filtered

broken() {
	keys f && keys -l 'size>=1k & sise<2' && keys Enter &&
	    wait_for "^column 12: no field is called 'sise'; did you mean" &&
	    wait_for '^                   v$' &&
	    wait_for '^filter: size>=1k & sise<2$' &&
	    wait_for "^filter size>=60k +7 of $all" && rows_are 7 60000
}
rule "a wrong one is told with its place, and the old one is kept" broken

mended() {
	keys C-e C-u && wait_gone '^column' && keys -l 'size>=1k & size<70003' &&
	    keys Enter && wait_for '^filter size>=1k & size<70003 ' &&
	    wait_gone '^filter:' && [ -z "$(sizes | awk '$1 >= 70003')" ] &&
	    [ "$(sizes | awk '$1 >= 70000' | wc -l)" = 3 ]
}
rule "it stays there to be mended" mended

given_up() {
	keys f && keys -l 'size=1' && keys Escape && wait_gone '^filter:' &&
	    shows '^filter size>=1k & size<70003 '
}
rule "Esc in the prompt leaves the old one" given_up

cleared() {
	keys '?' && wait_for '^HELP' && keys Escape && wait_gone '^HELP' &&
	    shows '^filter size' && keys Escape && wait_gone '^filter ' &&
	    wait_for " $all blocks"
}
rule "Esc clears it once nothing lies over the page" cleared

grouped() {
	keys f && keys -l 'size>=60k' && keys Enter b &&
	    wait_for 'take_large .* 7 +490,021 ' && hides '^[+] main ' &&
	    keys Enter && wait_for '  7 of ' && until_true 10 rows_are 7 60000
}
rule "groups and their blocks are of those that match" grouped

named() {
	page 124 30 --filter "'function=take_large'" &&
	    wait_for "^filter function=take_large +7 of $all blocks" &&
	    until_true 10 rows_are 7 60000
}
rule "--filter of the page begins with one, by names too" named

classic() {
	page 40 10 --filter "'size>=60k'" &&
	    wait_for "^filter size>=60k +7 of $all" &&
	    keys c && wait_for "^filter size>=60k +7 of $all"
}
rule "the count is shown where it is narrow" classic

listed() {
	keys Escape && page 80 24 --filter "'size>=60k'" --listing \
	    "$tmp/list.txt" && wait_for '  7 of' && keys l &&
	    wait_for 'listing written to .*\(7 blocks\)' &&
	    grep -q '^filter *size>=60k$' "$tmp/list.txt" &&
	    grep -q "^rows *7: 7 blocks of $all\$" "$tmp/list.txt" &&
	    [ "$(sed '1,/^ADDRESS/d' "$tmp/list.txt" | wc -l)" = 7 ]
}
rule "a listing has those that match, and says so" listed

text() {
	"$pagek" --once --filter 'function=take_large' "pid:$pid" >"$tmp/out" &&
	    grep -q "^filter function=take_large  7 of $all blocks" \
	    "$tmp/out" && [ "$(grep -c '^[0-9a-f]\{12\} ' "$tmp/out")" = 7 ] &&
	    "$pagek" --once --format json --filter 'size>=60k' "pid:$pid" \
	    >"$tmp/json" && grep -q '"filter": "size>=60k"' "$tmp/json" &&
	    [ "$(grep -o '"size": 7000.' "$tmp/json" | wc -l)" = 7 ]
}
rule "--once has all rows that match, as text and as JSON" text

# The cursor's row, whose colours are reversed.
at_cursor() {
	t capture-pane -e -p -t p | grep "$(printf '\033\[7m')" |
	    grep -qE "$1"
}

found() {
	keys Escape && page 80 24 && wait_for "$all blocks" || return 1
	keys / && t send-keys -t p -l 'size=70003' && keys Enter &&
	    wait_for 'found: size=70003' && until_true 10 at_cursor '70,003' &&
	    shows "$all blocks" && hides '[0-9] of [0-9]' &&
	    keys / && t send-keys -t p -l 'size=1x' && keys Enter &&
	    wait_for 'column [0-9]+:' && keys Escape &&
	    keys n && wait_for 'found: size=70003, from the first row on' &&
	    keys / && t send-keys -t p -l take_large && keys Enter &&
	    wait_for 'found: take_large' && until_true 10 at_cursor '70,00' &&
	    keys / && t send-keys -t p -l nobody_at_all && keys Enter &&
	    wait_for 'no row matches nobody_at_all'
}
rule "/ goes to the next row that is meant, and hides none" found

strict() {
	"$pagek" --once --classic=strict --filter 'size>1' demo:note \
	    2>"$tmp/err"
	[ $? = 2 ] && grep -q -- '--filter has no meaning with' "$tmp/err" &&
	    "$pagek" --filter 'size>' "pid:$pid" 2>"$tmp/err"
	[ $? = 2 ] && grep -q 'column 6' "$tmp/err"
}
rule "what cannot be is said before the page begins" strict

# The note's blocks have a clock of their own.  Screens are compared with
# tests/golden/filter-since-*.ok.
since() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" "exec '$pagek' --wide --at 39s demo:note"
	wait_for 'ACREQ' && keys f 'born>=2004-07-13T13:30:26' Enter &&
	    wait_for '5 of 6' && wait_gone ' 39s ' || return 1
	shot | sed -E 's/^[0-9.]+[um]s max.*/COSTS/; s/^live .*/SUMS/; s/ +/ /g; s/ $//' >"$tmp/screen"
	[ "${PAGEK_GOLDEN-}" != write ] || cp "$tmp/screen" "$top/tests/golden/filter-since-$1.ok"
	diff -u "$top/tests/golden/filter-since-$1.ok" "$tmp/screen"
}
rule "a filter of a time has what was allocated since: 80x24" since 80 24
rule "so it has at 124x35" since 124 35

# As a date stands in every text, with a blank.
typed_as_shown() {
	keys f C-u && keys -l 'born>=2004-07-13 13:30:26' && keys Enter &&
	    wait_for 'born>=2004-07-13 13:30:26 .*5 of 6' && keys f C-u &&
	    keys -l 'born>=2004-02-30 13:30' && keys Enter &&
	    wait_for "'2004-02-30 13:30' is no date: that month has 29 days" &&
	    keys Escape && wait_for 'born>=2004-07-13 13:30:26 .*5 of 6'
}
rule "a date is typed as it is shown, and one that does not exist is said" typed_as_shown

say_result
