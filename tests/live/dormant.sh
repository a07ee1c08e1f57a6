#!/bin/sh
# A real program that sleeps under its node: armed by a page, by a command, and
# sent to sleep again, without a restart.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"

stop() {
	[ -z "${run:-}" ] || { kill "$run" "$pid" 2>/dev/null; wait "$run"; }
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

# Holds 20 blocks of 7,777 bytes; each byte on its input makes it allocate one
# of 9,999 more, and a block of before is freed for it.
cat >"$tmp/sleeper.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *before[20], *volatile after[1000];
int main(void)
{
	int n = 0;
	char c;

	for (int i = 0; i < 20; i++)
		before[i] = malloc(7777);
	while (read(0, &c, 1) == 1) {
		if (n < 20)
			free(before[n]);
		after[n++] = malloc(9999);
		if (write(1, ".", 1) < 0)
			break;
	}
	return 0;
}
C
cc -O1 -fno-builtin -o "$tmp/sleeper" "$tmp/sleeper.c" || exit 1
mkfifo "$tmp/in"
"$B/pagek" run -b -o "$tmp/text" --dormant --report "$tmp/report" -- \
    "$tmp/sleeper" <"$tmp/in" >"$tmp/out" &
run=$!
exec 7>"$tmp/in"

targets() {
	"$B/pagek" targets
}

is_there() {
	pid=$(targets | sed -n 's/^pid:\([0-9]*\) *sleeper.*/\1/p')
	[ -n "$pid" ]
}
until_true 10 is_there || exit 1

# Until the program has done it.
step() {
	printf %s "${1:-x}" >&7
	steps=$((${steps:-0} + 1))
	until_true 10 sh -c "[ \$(wc -c <'$tmp/out') -ge $steps ]"
}

state_is() {
	targets | grep -q "^pid:$pid  *sleeper  *$1 "
}

sleeps() {
	state_is DORMANT && targets | grep "^pid:$pid" | grep -q ' - *- '
}
rule "a target that nobody has armed is DORMANT, and its blocks are not 0" sleeps

refuses() {
	"$B/pagek" "$@" "pid:$pid" >"$tmp/said" 2>"$tmp/why"
	[ $? = 3 ] && grep -q DORMANT "$tmp/why"
}
looks_once() {
	refuses list && [ ! -s "$tmp/said" ] && refuses tree &&
	    refuses export --folded && refuses --once && sleeps
}
rule "who looks once arms nothing and is told why there is nothing" looks_once

step
go() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" "$B/pagek $3"
	t resize-window -t p -x "$1" -y "$2"
}

looks_only() {
	for size in '80 24' '40 10'; do
		go $size "--look-only pid:$pid" && until_true 10 shows DORMANT &&
		    ! shows 'LIVE|EMPTY| 0 blocks' || { shot; return 1; }
	done
	sleeps
}
rule "a page that only looks shows DORMANT at 80x24 and at 40x10" looks_only

page_arms() {
	go 80 24 "pid:$pid" &&
	    until_true 10 shows 'armed [0-9:]{8}, earlier blocks not listed' &&
	    state_is LIVE || { shot; return 1; }
	step && step
	until_true 10 shows '2 blocks' && shows 'earlier 2' &&
	    [ "$(shot | grep -c ' 9,999 ')" = 2 ] && ! shows ' 7,777 ' ||
	    { shot; return 1; }
}
rule "a page that opens it arms it: blocks since then, earlier frees counted" page_arms

small() {
	go 40 10 "pid:$pid" && until_true 10 shows 'armed [0-9:]{8}' &&
	    until_true 10 shows ' 270F ' || { shot; return 1; }
}
rule "a second page sees the same list, at 40x10 too" small

# So many blocks of 9,999 bytes, once the node has been at the rings.
lists() {
	[ "$("$B/pagek" list "pid:$pid" | grep -c ' 9,999 ')" = "$1" ]
}

stays() {
	t kill-session -t p
	until_true 10 lists 2
}
rule "the list outlasts the last page" stays

disarms() {
	"$B/pagek" disarm "pid:$pid" | grep -q DORMANT && sleeps && step &&
	    sleeps
}
rule "pagek disarm lets it sleep" disarms

arms() {
	"$B/pagek" arm "pid:$pid" | grep -q armed && step &&
	    until_true 10 lists 1 &&
	    "$B/pagek" arm "pid:$pid" | grep -q armed &&
	    "$B/pagek" list --format json "pid:$pid" | python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["since"] == "arming" and j["armed"].endswith("Z"), j
assert j["estimated"] is False and j["sample_period"] is None, j
assert len(j["blocks"]) == 1 and j["blocks"][0]["size"] == 9999, j
assert j["keeper"]["earlier"] >= 1 and j["keeper"]["unknown_free"] == 0, j
'
}
rule "pagek arm wakes it again, with a list that begins there" arms

commands() {
	go 80 24 "--look-only pid:$pid" && until_true 10 shows 'armed' || return 1
	keys ':disarm' Enter
	until_true 10 shows DORMANT || { shot; return 1; }
	keys ':arm' Enter
	until_true 10 shows 'armed [0-9:]{8}' || { shot; return 1; }
	keys q
}
rule ":disarm and :arm do so from the page" commands

none() {
	"$B/pagek" arm pid:1 2>"$tmp/why"
	[ $? = 3 ] && "$B/pagek" disarm 2>"$tmp/why"
	[ $? = 2 ]
}
rule "what is not watched cannot be armed, and nothing is by default" none

ends() {
	"$B/pagek" disarm "pid:$pid" >/dev/null && exec 7>&- && wait "$run" &&
	    grep -q '"dormant": true.*"armed_ms": null, "complete": false' "$tmp/report" &&
	    grep -q '"allocs": null' "$tmp/report" &&
	    grep -q '"earlier": null' "$tmp/report" &&
	    grep -q 'NO DATA: it was dormant' "$tmp/text"
}
rule "what it did while it slept is null in the report, not 0" ends
run=

family_once() {
	report=$tmp/report2
	rm -f "$tmp/in2"
	mkfifo "$tmp/in2"
	"$B/pagek" run -b -o /dev/null --dormant --report "$report" -- \
	    sh -c 'read line; (exec sort /dev/null); exec sort /dev/null' \
	    <"$tmp/in2" &
	run=$!
	exec 7>"$tmp/in2"
	pid=
	there() {
		pid=$(targets | sed -n 's/^pid:\([0-9]*\) *sh  *DORMANT.*/\1/p')
		[ -n "$pid" ]
	}
	until_true 10 there && "$B/pagek" arm "pid:$pid" >/dev/null || return 1
	echo >&7
	exec 7>&-
	wait "$run"
	# Both sorts and the child that became one log, on the same wish.
	[ "$(grep -c '"comm": "sort".*"dormant": false' "$report")" = 2 ] &&
	    ! grep '"comm": "sort"' "$report" | grep -q '"allocs": 0,'
}
# A sleeper's line has nulls as well: one that was not heard says so otherwise.
too_busy() {
	cat "$report"
	grep '"comm": "sort".*"allocs": null' "$report" |
	    grep -q '"dormant": false'
}
family() {
	unless_busy family_once
}
rule "children of an armed target, and what they run, are armed" family
run=

# For each byte on its input: l, 200 blocks are held for good; s, one; b, 500 are
# freed at once, and three held.  So the node keeps a digest of each s, whose
# place among the records one b passes.
cat >"$tmp/keeps.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile held[1000], *volatile brief[500];
int main(void)
{
	int n = 0, i;
	char c;

	while (read(0, &c, 1) == 1 && n < 700) {
		for (i = 0; c == 'b' && i < 500; i++)
			brief[i] = malloc(100);
		for (i = 0; c == 'b' && i < 500; i++)
			free(brief[i]);
		for (i = 0; i < (c == 'l' ? 200 : c == 's' ? 1 : 3); i++)
			held[n++] = malloc(c == 'b' ? 9999 : 7777);
		if (write(1, ".", 1) < 0)
			break;
	}
	return 0;
}
C
cc -O1 -fno-builtin -o "$tmp/keeps" "$tmp/keeps.c" || exit 1

# The page's blocks and its oldest rows are those of the node's list.
agrees() {
	shot >"$tmp/shot"
	"$B/pagek" list "pid:$pid" | grep '^[0-9a-f]* .* 80 malloc' >"$tmp/list"
	grep -q " $(grep -c . "$tmp/list") blocks " "$tmp/shot" &&
	    grep -q ' dup 0 ' "$tmp/shot" &&
	    grep ' 80 malloc' "$tmp/shot" | cut -d ' ' -f 1 >"$tmp/rows" &&
	    [ -s "$tmp/rows" ] &&
	    head -n "$(grep -c . "$tmp/rows")" "$tmp/list" | cut -d ' ' -f 1 |
	    cmp - "$tmp/rows"
}

stays_open() {
	steps=0
	rm -f "$tmp/in3"
	mkfifo "$tmp/in3"
	"$B/pagek" run -b -o /dev/null --dormant -- "$tmp/keeps" \
	    <"$tmp/in3" >"$tmp/out" &
	run=$!
	exec 7>"$tmp/in3"
	there() {
		pid=$(targets | sed -n 's/^pid:\([0-9]*\) *keeps *DORMANT.*/\1/p')
		[ -n "$pid" ]
	}
	until_true 10 there || return 1
	go 80 24 "pid:$pid" && wait_for 'armed [0-9:]{8}' && step l || return 1
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		step s && until_true 10 agrees || { shot; return 1; }
	done
	"$B/pagek" disarm "pid:$pid" && wait_for DORMANT &&
	    "$B/pagek" arm "pid:$pid" && wait_for 'armed [0-9:]{8}' &&
	    step s && step s && until_true 10 agrees &&
	    step b && until_true 10 agrees && shows ' 5 blocks ' || { shot; return 1; }
	exec 7>&-
	wait "$run"
}
rule "a page that stays open over disarm and arm agrees with the node" stays_open
run=

# A node that stays, and a target of it that sleeps.
XDG_RUNTIME_DIR=$tmp/stays
mkdir -m 700 "$XDG_RUNTIME_DIR"
# stay [OPTIONS]
stay() {
	"$B/pageknode" --dormant "$@" 2>"$tmp/stays.said" 7>&- &
	run=$!
	until_true 10 targets
}
# On a busy machine the node may not answer within 50 ms: then it is started again.
sleeper_there() {
	[ -p "$tmp/in4" ] || mkfifo "$tmp/in4"
	for try in 1 2 3 4 5; do
		steps=0
		LD_PRELOAD=$B/liballoclog.so "$tmp/sleeper" <"$tmp/in4" >"$tmp/out" &
		pid=$!
		exec 7>"$tmp/in4"
		until_true 3 state_is DORMANT && return
		exec 7>&-
		wait "$pid"
	done
	return 1
}
# One step registers it; more only where the node does not answer in 50 ms.
comes_back() {
	step && state_is DORMANT
}
# deaths N: the node's process is killed, each time when it serves again.
deaths() {
	for death in $(seq "$1"); do
		until_true 10 serves_anew || return 1
		was=$(node_of "$run")
		kill -9 "$was"
	done
}
was=
serves_anew() {
	now=$(pgrep -P "$run" -x pageknode) && [ "$now" != "$was" ] && targets
}
dropped() {
	stay && sleeper_there && deaths 5 &&
	    until_true 10 grep -q "dropping its targets' lists" "$tmp/stays.said" &&
	    until_true 10 serves_anew && ! state_is DORMANT &&
	    until_true 10 comes_back
}
given_up() {
	deaths 5 && until_true 10 is_gone "$run" && grep -q 'giving up' "$tmp/stays.said" &&
	    stay && until_true 10 comes_back && "$B/pagek" arm "pid:$pid" &&
	    step && until_true 10 lists 1
	status=$?
	sleeper_ends
	return $status
}
sleeper_ends() {
	exec 7>&-
	wait "$pid"
}
rule "a supervisor that drops lists which crash the node tells dormant targets" dropped
rule "a supervisor that gives up tells them too: the next node arms the target" given_up

# killed_with OPTIONS: no process of the node is left to tell its targets.
killed_with() {
	kill "$run" 2>/dev/null && wait "$run"
	stay "$@" && sleeper_there && kill_node "$run" || return 1
	stay && until_true 10 comes_back && "$B/pagek" arm "pid:$pid" &&
	    step && until_true 10 lists 1 &&
	    "$B/pagek" list --format json "pid:$pid" | python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["since"] == "arming" and len(j["blocks"]) == 1, j
assert j["keeper"]["unknown_free"] == 0, j
'
	status=$?
	sleeper_ends
	return $status
}
all_killed() {
	killed_with
}
rule "node and supervisor killed at once: the next node finds and arms the target" all_killed
alone_killed() {
	killed_with --no-supervisor
}
rule "so it is with a killed node that has no supervisor" alone_killed

# The supervisor is killed first: the node goes on, and the target still sleeps.
one_by_one() {
	kill "$run" 2>/dev/null && wait "$run"
	stay && sleeper_there || return 1
	node=$(node_of "$run")
	kill -9 "$run"
	until_true 10 grep -q 'supervisor is gone' "$tmp/stays.said" &&
	    step && state_is DORMANT && kill -9 "$node" &&
	    until_true 10 is_gone "$node" && stay &&
	    until_true 10 comes_back
	status=$?
	sleeper_ends
	return $status
}
rule "so it is if the supervisor is killed first, and the node alone later" one_by_one
kill "$run" 2>/dev/null && wait "$run"
run=

say_result
