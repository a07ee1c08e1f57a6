#!/bin/sh
# Named marks: set in a script, listed and compared with by another page and by
# commands, kept when the page leaves and when the node is killed.  Screens are
# compared with tests/golden/marks-*.ok.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
leaks=$B/tests/targets/leaks
mkfifo "$tmp/orders" || exit 1
exec 9<>"$tmp/orders"
node=
stop() {
	kill $(cat "$tmp/pid") $node
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

start() {
	"$B/pageknode" "$@" 2>"$tmp/said" &
	node=$!
	until_true 10 grep -q listening "$tmp/said"
}
start || exit 1
sh -c "echo \$\$ >$tmp/pid; LD_PRELOAD=$B/liballoclog.so exec $leaks $tmp/orders $tmp/told" &
until_true 30 grep -qs live "$tmp/told" || exit 1
target=pid:$(cat "$tmp/pid")

# order LETTERS: until the program has done all of them, and the node knows.
has_done() {
	[ "$(wc -l <"$tmp/told")" -ge "$1" ]
}
node_has() {
	[ "$("$pagek" list --format csv "$target" | wc -l)" = "$(($1 + 1))" ]
}
order() {
	want=$(($(wc -l <"$tmp/told") + ${#1}))
	printf %s "$1" >&9
	until_true 30 has_done "$want" &&
	    until_true 10 node_has "$(tail -n 1 "$tmp/told" | cut -d ' ' -f 5)"
}

# --- commands -----------------------------------------------------------------

sets() {
	order w && "$pagek" mark deploy-42 "$target" >"$tmp/out" &&
	    grep "^leaks\[[0-9]*\] mark 'deploy-42': 54 blocks, " "$tmp/out" &&
	    order www && "$pagek" mark 'after the change' "$target"
}
rule "pagek mark keeps this moment under a name" sets

lists() {
	"$pagek" marks "$target" >"$tmp/out" && cat "$tmp/out" &&
	    head -1 "$tmp/out" | grep -x 'leaks\[[0-9]*\]' &&
	    sed -n 3p "$tmp/out" | grep '^deploy-42  *20[0-9-]* [0-9:]* .* 54 .*KiB ' &&
	    sed -n 4p "$tmp/out" | grep '^after the change ' &&
	    "$pagek" marks --format json "$target" | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "pagek.marks/1" and d["target"]["name"] == "leaks"
a, b = d["marks"]
assert a["name"] == "deploy-42" and a["blocks"] == 54 and not a["by_program"]
assert a["sequence"] < b["sequence"] and a["time"] < b["time"] and a["by"]
' && "$pagek" marks --format csv "$target" | grep -c . | grep -x 3
}
rule "another command lists the marks, as text, JSON and CSV" lists

# has_none TARGET NAME
has_none() {
	"$pagek" marks "$1" >"$tmp/out" 2>&1
	cat "$tmp/out"
	grep -qx "pagek: $2 has no marks" "$tmp/out"
}
rule "a demo without a process has its name, and no advice that fails" \
    has_none demo:flood demo-flood
rule "one without a name is the target" has_none demo:note "the target"

# Since deploy-42: three rounds; each replaces the cache and leaks three blocks.
compares() {
	"$pagek" --once --page=H --mark deploy-42 "$target" >"$tmp/out" &&
	    cat "$tmp/out" && grep '^H DIFF  leaks\[[0-9]*\] .*mark deploy-42 ' "$tmp/out" &&
	    grep ' 21 freed ' "$tmp/out" &&
	    tr '\n' ' ' <"$tmp/out" |
	    grep '21 more, .* were freed before this page came: .* FREED and NET lack them' &&
	    grep '^leak_here  *9 ' "$tmp/out" &&
	    "$pagek" --once --page=H --mark deploy-42 --format json "$target" |
	    python3 -c '
import json, sys
d = json.load(sys.stdin)
groups = {g["name"]: g for g in d["groups"]}
assert d["mark_name"] == "deploy-42" and d["freed_early"] == 21
assert groups["leak_here"]["new_blocks"] == 9
assert groups["replace_cache"]["new_blocks"] == 20
assert all(g["freed_blocks"] == 0 for g in groups.values())
' && "$pagek" --once --page=H --mark deploy-42 --format csv "$target" \
	    2>"$tmp/err" | grep '^leak_here,.*,9,' &&
	    grep '21 blocks of the mark were freed before' "$tmp/err"
}
rule "page H since a mark is printed at once, and says what it cannot know" compares

unknown() {
	"$pagek" --once --page=H --mark deploy-43 "$target" >"$tmp/out" 2>"$tmp/err"
	[ $? = 3 ] && cat "$tmp/err" && [ ! -s "$tmp/out" ] &&
	    [ "$(wc -l <"$tmp/err")" = 1 ] &&
	    grep "no mark 'deploy-43'; there are 'after the change' and 'deploy-42'" "$tmp/err"
}
rule "an unknown mark is status 3 and a sentence with the marks there are" unknown

refuses() {
	for args in "mark" "mark a b c" "--once --mark a" "mark a demo:1" \
	    "--once --page=H --mark a --interval 3"; do
		"$pagek" $args >"$tmp/out" 2>"$tmp/err"
		[ $? = 2 ] && [ "$(wc -l <"$tmp/err")" = 1 ] || {
			echo "pagek $args"
			cat "$tmp/err"
			return 1
		}
	done
	"$pagek" mark "$(printf 'a\tb')" "$target" 2>"$tmp/err"
	[ $? = 2 ] && grep '1 to 32 printable characters' "$tmp/err" || return 1
	# Of a name that no frame has room for, and before any node is looked for.
	long=$(printf 'x%.0s' $(seq 300))
	for args in "mark $long" "mark $long$long" "--once --page=H --mark $long" \
	    "--page=H --mark $long"; do
		"$pagek" $args nobody-has-this >"$tmp/out" 2>"$tmp/err"
		[ $? = 2 ] && grep '1 to 32 printable characters' "$tmp/err" &&
		    [ "$(wc -c <"$tmp/err")" -lt 250 ] || return 1
	done
}
rule "what is no mark is refused with one sentence" refuses

moves() {
	"$pagek" mark deploy-42 "$target" | grep "'deploy-42' moved here: 63 blocks" &&
	    "$pagek" marks "$target" | tail -n 1 | grep '^deploy-42 '
}
rule "a mark of an existing name moves, and says so" moves

# A program's own: one mechanism, so another program finds it in the same list.
cat >"$tmp/phases.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
#pragma weak alloclog_mark
void alloclog_mark(const char *text);
void *volatile held[30];
int main(void)
{
	for (int i = 0; i < 10; i++)
		held[i] = malloc(100);
	alloclog_mark("phase 2");
	for (int i = 10; i < 30; i++)
		held[i] = malloc(200);
	if (write(1, "ready\n", 6) < 0)
		return 1;
	for (;;)
		pause();
}
C
by_program() {
	cc -O1 -g -fno-builtin -o "$tmp/phases" "$tmp/phases.c" || return 1
	LD_PRELOAD=$B/liballoclog.so "$tmp/phases" >"$tmp/phases.told" &
	phases=$!
	until_true 20 grep -q ready "$tmp/phases.told" &&
	    until_true 10 marked_by_program &&
	    "$pagek" --once --page=H --mark 'phase 2' --format json "pid:$phases" |
	    python3 -c '
import json, sys
[g] = [g for g in json.load(sys.stdin)["groups"] if g["name"] == "main"]
assert g["new_blocks"] == 20 and g["new_bytes"] == 4000, g
'
	held=$?
	kill $phases
	return $held
}
marked_by_program() {
	"$pagek" marks "pid:$phases" | grep '^phase 2 .* 10 .* phases$'
}
rule "a mark of alloclog_mark() is in the same list, and compared with" by_program

# --- the page ------------------------------------------------------------------

# screen_is NAME: what is shown, but for numbers that change from run to run.
screen_is() {
	golden=$top/tests/golden/marks-$1.ok
	shot | sed -E 's/\[[0-9]+\]/[PID]/g; s/^(K MEMORY BLOCKS  0001) [^ ]+/\1 NODE/
	    s/([0-9]{4}-[0-9]{2}-[0-9]{2} )?[0-9]{2}:[0-9]{2}:[0-9]{2}( UTC)?/TIME/g
	    s/^(([a-z]+ )*[a-z0-9-]+ .* TIME .* [0-9]+) [^ ]+ *$/\1 USER/
	    s/^[0-9.]+[um]s max.*/COSTS/; s/ [+][0-9.]+ [KM]iB +[0-9]+s *$/ RATE AGE/
	    s/ +/ /g; s/ $//' >"$tmp/screen"
	[ "${PAGEK_GOLDEN-}" != write ] || cp "$tmp/screen" "$golden"
	diff -u "$golden" "$tmp/screen"
}

page() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" -c "$tmp" "TZ=UTC exec '$pagek' $target"
	wait_for LIVE
}

from_page() {
	page 124 35 && keys ':mark from the page' Enter &&
	    wait_for "^mark 'from the page' set: 63 blocks, " &&
	    wait_for 'mark: from the page \+0 -0' && keys ':mark from the page' Enter &&
	    wait_for "^mark 'from the page' moved here: 63 blocks" &&
	    order w && wait_for 'mark: from the page \+24 -21' && keys q &&
	    "$pagek" marks "$target" | tail -n 1 | grep '^from the page '
}
rule ":mark NAME keeps a mark that outlives the page" from_page

# The list of marks, and page H of the one under the cursor.
marks_on() {
	page "$1" "$2" && keys :marks Enter && wait_for '^from the page ' &&
	    screen_is "list-$1" && keys Enter &&
	    wait_for '^H DIFF  leaks\[[0-9]+\]  mark from the page ' && wait_for '^leak_here ' &&
	    wait_for '^21 more' && screen_is "since-$1" && keys Escape &&
	    wait_gone '^H DIFF'
}
rule ":marks lists them for another page, and Enter compares: 80x24" marks_on 80 24
rule "so it does at 124x35" marks_on 124 35

small() {
	page 40 10 && keys :marks Enter && wait_for '^from the page' && keys Enter &&
	    wait_for '^H DIFF ' && keys Escape && wait_gone '^H DIFF'
}
rule "so it does at 40x10" small

# The prompt asks the node for its marks when it opens.
completes() {
	keys Tab
	shows '^:diff deploy-42'
}

follows() {
	page 124 35 && keys ':diff dep' && until_true 10 completes && keys Enter &&
	    wait_for '^H DIFF  leaks\[[0-9]+\]  mark deploy-42 .* 24 new  21 freed' && order w &&
	    wait_for '^H DIFF  leaks\[[0-9]+\]  mark deploy-42 .* 27 new  21 freed' && order f &&
	    wait_for '^H DIFF  leaks\[[0-9]+\]  mark deploy-42 .* 27 new  51 freed' && keys ':diff nobody' Enter &&
	    wait_for "^no mark 'nobody'; there are 'from the page', 'deploy-42' and"
}
rule ":diff NAME compares and follows, Tab completes, an unknown name is answered" follows

begins() {
	t kill-session -t p
	t new-session -d -s p -x 124 -y 35 "exec '$pagek' --page=H --mark deploy-42 $target"
	wait_for '^H DIFF  leaks\[[0-9]+\]  mark deploy-42 ' && wait_for '^leak_here '
}
rule "a page begins with the difference to a mark" begins

paused() {
	keys Escape && wait_gone '^H DIFF' && keys Space && wait_for PAUSED &&
	    keys ':mark x' Enter && wait_for "^the node's marks are of the live list" &&
	    keys Space && wait_gone PAUSED
}
rule "a paused page says that marks of the node are of now" paused

# --- the node's end --------------------------------------------------------------

# The node's process dies, and its supervisor starts the next one.
revives() {
	"$pagek" marks "$target" >"$tmp/before" && process=$(pgrep -P "$node") &&
	    kill -KILL $process && until_true 20 answers &&
	    "$pagek" marks "$target" >"$tmp/after" &&
	    diff "$tmp/before" "$tmp/after" && grep '^deploy-42' "$tmp/after" &&
	    "$pagek" --once --page=H --mark deploy-42 "$target" | grep '^leak_here'
}
answers() {
	[ "$(pgrep -P "$node")" != "$process" ] &&
	    "$pagek" marks "$target" >"$tmp/out" 2>/dev/null && [ -s "$tmp/out" ]
}
rule "marks are there when a killed node has come back" revives

ended() {
	kill "$(cat "$tmp/pid")" && until_true 20 has_ended &&
	    ! "$pagek" mark late "$target" 2>"$tmp/err" && cat "$tmp/err" &&
	    grep -q 'target has ended' "$tmp/err" &&
	    ! "$pagek" marks "$target" | grep -q '^late'
}
has_ended() {
	"$pagek" targets | grep "^$target .* ENDED"
}
rule "a target that has ended gets no mark, and that is said" ended

say_result
