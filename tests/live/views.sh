#!/bin/sh
# Pages that are stopped, that look on, and that wait for somebody to watch:
# what each of them shows is its own affair and true.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
node=$XDG_RUNTIME_DIR/pagek/node
pagek=$B/pagek
daemon=
worker=
flooder=
stop() {
	for p in $daemon $worker $flooder; do
		kill_node "$p"
	done
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

# Holds 20 blocks of 7,777 bytes, and allocates and frees for as long as there
# is no file "calm".
cat >"$tmp/worker.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile held[20], *volatile passing;
int main(int argc, char **argv)
{
	for (int i = 0; i < 20; i++)
		held[i] = malloc(7777);
	for (;;) {
		for (int i = 0; i < 100 && access(argv[1], F_OK) != 0; i++) {
			passing = malloc(100 + i);
			free(passing);
		}
		usleep(1000);
	}
	return argc;
}
C
# Makes as many events as fill every ring and more, with 5 blocks of 8,888
# bytes in the end.
cat >"$tmp/flooder.c" <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
void *volatile held[5], *volatile passing;
int main(int argc, char **argv)
{
	while (access(argv[1], F_OK) != 0)
		usleep(1000);
	for (int i = 0; i < 4000000; i++) {
		passing = malloc(100);
		free(passing);
	}
	for (int i = 0; i < 5; i++)
		held[i] = malloc(8888);
	close(creat(argv[2], 0600));
	for (;;)
		pause();
	return argc;
}
C
for f in worker flooder; do
	cc -O1 -fno-builtin -o "$tmp/$f" "$tmp/$f.c" || exit 1
done

page() {
	t new-session -d -s "$1" -x 110 -y 40 "exec '$pagek' 'unix:$node'"
	t resize-window -t "$1" -x 110 -y 40
}
start() {
	"$B/pageknode" 2>"$tmp/said" &
	daemon=$!
	until_true 10 test -S "$node" || { cat "$tmp/said"; return 1; }
}
rows() {
	look "$1" | grep -c ' 7,777 '
}
st_is() {
	[ "$(t display -p -t '=p:' '#{alternate_on}#{cursor_flag}#{mouse_any_flag}')" = "$1" ]
}

# --- waiting for somebody to watch ---

itself() {
	start && page q && wait_on q 'pageknode  LIVE' && wait_on q ' LOCREQ '
}
rule "a node without a target shows itself: the request of who looks" itself

# A device that has sent nothing yet, and is there.
empty() {
	mkfifo "$tmp/device" && exec 9<>"$tmp/device" &&
	    t new-session -d -s e -x 110 -y 40 "exec '$pagek' 'raw:$tmp/device'" &&
	    wait_on e 'LIVE  EMPTY' && leave e && exec 9>&-
}
rule "a device that has sent nothing is EMPTY" empty

returns() {
	kill "$daemon" && wait "$daemon" && wait_on q 'UNREACHABLE' &&
	    wait_on q 'picture is [0-9.]+m?s old' && start &&
	    wait_on q 'pageknode  LIVE'
}
rule "told to end it is UNREACHABLE, and started again LIVE without a key" \
    returns

# Page r has its costs open: it has line 1 as well.
comes() {
	page r && wait_on r 'pageknode  LIVE' && keys_to r i &&
	    wait_on r DIAGNOSTICS && start_watched "$tmp/worker" "$tmp/calm" || return 1
	worker=$watched
	wait_on q 'worker\[[0-9]+\]  LIVE' && wait_on q ' 7,777 ' &&
	    [ "$(rows q)" = 20 ] && on r 'pageknode  LIVE'
}
rule "a page of a node without a target goes to the first that comes" comes

moves_on() {
	keys_to r Escape && wait_on r 'worker\[[0-9]+\]  LIVE' && leave r
}
rule "but one that is in use only when it no longer is" moves_on

# --- stopped and going on ---

suspended() {
	t new-session -d -s p -x 110 -y 40 \
	    "exec env PS1='PK>' bash --norc --noprofile"
	t resize-window -t p -x 110 -y 40
	wait_on p 'PK>' && keys_to p "clear; '$pagek' 'unix:$node'" Enter &&
	    wait_on p 'LIVE 1[0-9] Hz' && [ "$(rows p)" = 20 ] &&
	    keys_to p C-z && wait_on p Stopped && until_true 10 st_is 010
}
rule "^Z leaves a shell and a terminal as it was" suspended

# How many events the node has of it.
events() {
	"$pagek" targets --format json "unix:$node" | python3 -c '
import json, sys
for t in json.load(sys.stdin)["targets"]:
    if t["pid"] == int(sys.argv[1]):
        print(t["records"])
' "$worker"
}
more() {
	[ "$(events)" -gt $(($1 + 200000)) ]
}
goes_on() {
	until_true 20 more "$(events)" || { events; return 1; }
	keys_to p fg Enter
	wait_on p 'resumed' && wait_on p 'lost 0' && wait_on p 'LIVE 1[0-9] Hz' &&
	    [ "$(rows p)" = 20 ] && ! on p 'INCOMPLETE' &&
	    on p 'graphs have a gap'
}
rule "fg shows the picture and the gap, and no record is lost" goes_on

# --- side by side ---

# Everything but clocks, ages, and what a cycle took or was too late for.
numbers() {
	look "$1" | sed -E -e 's/ +([0-9-]+ )?[0-9]+:[0-9:]+$//' -e 's/LIVE [0-9]+ Hz/LIVE/' \
	    -e 's/^[0-9.]+[um]s max [0-9.]+[um]s//' -e 's/ +[0-9]+[smhd] [:.-]/ /' \
	    -e 's/ missed [0-9,]+//' -e '/resumed/d'
}
# Waits until a second has no record; a single cycle without one is not enough.
calm() {
	: >"$tmp/calm"
	wait_on p '^\? help' && until_true 20 is_calm
}
is_calm() {
	for look in 1 2 3 4 5 6 7 8 9 10; do
		on p ' 0 /s ' && on p '  0 rec' && on q '  0 rec' || return 1
		sleep 0.1
	done
}
alone() {
	calm || return 1
	numbers p >"$tmp/before"
	page s && wait_on s 'LIVE 1[0-9] Hz' && keys_to s j j r b &&
	    wait_on s 'COUNT' && keys_to s b b Space && wait_on s PAUSED || return 1
	numbers p >"$tmp/while"
	leave s && numbers p >"$tmp/after" &&
	    diff "$tmp/before" "$tmp/while" && diff "$tmp/before" "$tmp/after"
}
rule "a second viewer changes no number in the first" alone

cycles() {
	look "$1" | sed -nE 's/^ +([0-9,]+) cycles in.*/\1/p' | tr -d ,
}
# In microseconds: 816us, 9.0ms, 12ms.
worst() {
	look "$1" | awk '$1 == "cycle" { n = $4 + 0; if ($4 ~ /ms$/) n *= 1000
	    print int(n) }'
}
many() {
	[ "$(cycles "$1")" -gt 60 ]
}
maxima() {
	keys_to p i && keys_to q i && wait_on p DIAGNOSTICS && wait_on q DIAGNOSTICS &&
	    until_true 20 many p && until_true 20 many q || return 1
	had=$(worst p)
	keys_to q x
	until_true 5 test "$(cycles q)" -lt 60 || return 1
	echo "worst of p: $had, then $(worst p); cycles of p $(cycles p), of q $(cycles q)"
	[ "$(worst p)" -ge "$had" ] && many p && keys_to p Escape &&
	    keys_to q Escape
}
rule "x in one page leaves the other's maxima" maxima

# --- losses ---

# On a terminal the rows that are looked at go on, with all totals, and the
# whole list comes back; text that needs the list, for its order, has the count
# instead.
flood() {
	t new-session -d -s f -x 110 -y 40 "exec '$pagek' demo:flood"
	t resize-window -t f -x 110 -y 40
	wait_on f 'LIVE 1[0-9] Hz  WINDOW' &&
	    wait_on f 'visible rows and totals only' &&
	    wait_on f 'LIVE 1?[0-9] Hz   ' && leave f || return 1
	"$pagek" -b --sort size --count 40 --interval 0.1 demo:flood \
	    >"$tmp/out"
	grep -qE '[0-9]+,[0-9]+ records lost .*: list read again' "$tmp/out"
}
rule "a flood beyond the retained queue is said with its count, and mended" \
    flood

# The rings of one whose node stands still run over: that cannot be mended.
incomplete() {
	start_watched "$tmp/flooder" "$tmp/go" "$tmp/made" || return 1
	flooder=$watched
	"$pagek" list --strict "pid:$flooder" >/dev/null || {
		echo "it was incomplete from the start: $?"
		return 1
	}
	kill -STOP "$(node_of "$daemon")"
	: >"$tmp/go"
	until_true 60 test -e "$tmp/made"
	made=$?
	kill -CONT "$(node_of "$daemon")"
	[ $made = 0 ] || echo "it waits for its node still"
	[ $made = 0 ] && until_true 10 sh -c \
	    "'$pagek' list 'pid:$flooder' | grep -q ' 8,888 '"
	"$pagek" list --strict "pid:$flooder" >"$tmp/rows" 2>"$tmp/err"
	rc=$?
	cat "$tmp/err"
	[ $rc = 6 ] && grep -q incomplete "$tmp/err" &&
	    "$pagek" list "pid:$flooder" >/dev/null
}
rule "list --strict is 6 for a list that is incomplete, and prints it" incomplete

leave q
say_result
