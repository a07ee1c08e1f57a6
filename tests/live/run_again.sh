#!/bin/sh
# The node of one command: its process is killed under the command, which runs
# on and is watched on, and whose status is told.  Needs tmux for a page.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"

pagek=$B/pagek
library=$B/liballoclog.so
count=$B/tests/libcount.so
run=
supervisor=
stop() {
	touch "$tmp/stop"
	[ -z "$supervisor" ] || kill_node "$supervisor"
	end_terminal
} >/dev/null 2>&1
trap stop EXIT
trap 'exit 1' TERM INT

cat >"$tmp/loop.sh" <<'C'
trap 'touch "$2.known"' TERM
touch "$2"
until [ -e "$1" ]; do sleep 0.05; done
trap - TERM
[ "$3" = 0 ] || kill -"$3" $$
exit "$4"
C

# supervised PID: $supervisor and $keeper are of the run that PID is.
supervised() {
	supervisor=$(pgrep -P "$1" -x pageknode) && keeper_is_there
}
# Not the command, which has that name until it is what it is to be.
keeper_is_there() {
	keeper=$(pgrep -P "$supervisor" -f -- ' --supervised ')
}
another() {
	was=$keeper
	kill -9 "$keeper"
	until_true 10 has_another
}
has_another() {
	keeper_is_there && [ "$keeper" != "$was" ] &&
	    [ -S "$XDG_RUNTIME_DIR/pagek/run.$supervisor" ]
}
# begin OPTIONS -- COMMAND...: a run as text.
begin() {
	rm -f "$tmp/stop" "$tmp/began" "$tmp/began.known"
	"$pagek" run -b -o "$tmp/text" "$@" 2>"$tmp/why" &
	run=$!
	until_true 10 supervised "$run"
}
# looping SIGNAL STATUS OPTIONS: the script above; it has begun.
looping() {
	signal=$1 status=$2
	shift 2
	begin "$@" -- sh "$tmp/loop.sh" "$tmp/stop" "$tmp/began" "$signal" \
	    "$status" && until_true 10 test -e "$tmp/began"
}
# Whoever runs it knows it: only then a signal can be passed on.
known() {
	kill -TERM "$run" && until_true 10 test -e "$tmp/began.known"
}
# over: the status of the run, which ends.
over() {
	touch "$tmp/stop"
	until_true 30 is_gone "$run" || {
		echo "does not end"
		kill_node "$supervisor"
		kill -9 "$keeper" "$run"
	}
	wait "$run"
}
# ends STATUS
ends() {
	over
	is=$?
	supervisor=
	cat "$tmp/why"
	echo "status $is"
	[ "$is" = "$1" ] && ! grep -q 'not known\|UNREACHABLE.*is gone' "$tmp/why"
}

status_told() {
	looping 0 7 "$@" && another && another && ends 7
}
rule "a command's status is told though its node was killed twice" status_told
signal_told() {
	looping TERM 0 && another && ends 143
}
rule "so is the signal that ended it" signal_told
ended_between() {
	looping 0 9 && kill -STOP "$supervisor" && kill -9 "$keeper" &&
	    touch "$tmp/stop" && sleep 0.3 && kill -CONT "$supervisor" && ends 9
}
rule "so is the end of one that ended while there was no node" ended_between
ended_before() {
	looping 0 9 && kill -STOP "$keeper" && touch "$tmp/stop" &&
	    until_true 10 zombie && kill -9 "$keeper" && ends 9
}
zombie() {
	for p in $(pgrep -P "$supervisor" -x sh); do
		grep -q '^State:.Z' "/proc/$p/status" && return
	done
	return 1
}
rule "and of one whose node was killed before it had seen that" ended_before
not_found() {
	"$pagek" run -b -o /dev/null -- /nonexistent/command 2>"$tmp/why"
	[ $? = 127 ] && "$pagek" run -b -o /dev/null -- / 2>>"$tmp/why"
	[ $? = 126 ] && grep -c 'cannot run' "$tmp/why" | grep -qx 2
}
rule "a command that cannot be run is told as before" not_found

orphans() {
	rm -f "$tmp/stop"
	begin -- sh -c "(setsid sh '$tmp/loop.sh' '$tmp/stop' '$tmp/began' 0 0 \
	    >/dev/null 2>&1 &); exit 5" &&
	    until_true 10 test -e "$tmp/began" && another && kill -0 "$run" &&
	    ends 5
}
rule "what a command leaves behind is waited for by the next node, too" orphans

# A queue to the supervisor that is full, as far as the node can tell.
cat >"$tmp/full.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static const char *const words[] = { "READY=1\nRUN=1", "REAP=" };
static int times[2];
ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	for (int i = 0; i < 2; i++) {
		size_t n = strlen(words[i]);
		int log;

		if (m->msg_iovlen != 1 || m->msg_iov[0].iov_len < n ||
		    memcmp(m->msg_iov[0].iov_base, words[i], n) != 0 ||
		    times[i]++ >= 3)
			continue;
		log = open(getenv("FULL"), O_WRONLY | O_APPEND | O_CREAT, 0600);
		(void)!write(log, i == 0 ? "run\n" : "reap\n", i == 0 ? 4 : 5);
		close(log);
		errno = EAGAIN;
		return -1;
	}
	return syscall(SYS_sendmsg, fd, m, flags);
}
C
cc -O1 -shared -fPIC -o "$tmp/full.so" "$tmp/full.c" || exit 1
no_room() {
	FULL=$tmp/full LD_PRELOAD=$tmp/full.so begin -- sh -c 'exit 5' &&
	    ends 5 &&
	    grep -c run "$tmp/full" | grep -qx 3 &&
	    grep -c reap "$tmp/full" | grep -qx 3
}
rule "what a node could not say to its supervisor it says again" no_room

# What the second counting layer has counted is what the report says.
counted_once() {
	rm -rf "$tmp/c" "$tmp/r"
	mkdir "$tmp/c"
	COUNT_DIR=$tmp/c begin --report "$tmp/r" -- sh -c "LD_PRELOAD=\"\$LD_PRELOAD $count\" \
	    exec '$B/tests/targets/exact_threads' 6000000 4" || return 1
	for i in 1 2 3; do
		sleep 0.3
		another || break
	done
	echo "killed $i times"
	wait "$run" || {
		cat "$tmp/why"
		return 1
	}
	supervisor=
	grep exact_threads "$tmp/r" >"$tmp/r.1"
	cat "$tmp/r.1"
	[ "$i" -ge 2 ] || return 2
	python3 "$top/tests/live/takeover.py" "$tmp/r.1" "$tmp/c" 1 0
}
rule "its report is exact" tries counted_once
# Rows of what has ended go with the node: that is said, and how many.
lacking() {
	looping 0 0 --report "$tmp/r" && until_true 10 grep -q '"touch"' "$tmp/r" &&
	    another && ends 0 && ! grep 'touch\[' "$tmp/text" && grep -qE \
	    '[0-9] process images? ended before .* no totals, but the report has' \
	    "$tmp/why" && looping 0 0 && ends 0 && grep 'touch\[' "$tmp/text" &&
	    ! grep 'no totals' "$tmp/why"
}
rule "what ended before its node was killed is told to have no totals" lacking
report_to_stdout() {
	looping 0 0 --report - >"$tmp/out" && another && ends 0 &&
	    grep -q '"comm": "sh"' "$tmp/out"
}
rule "a report on standard output goes on there" report_to_stdout

# The sixth starts without what the others may have died of.
storm() {
	for i in 1 2 3 4 5; do
		another || return 1
	done
}
after_a_storm() {
	looping 0 0 --report "$tmp/r" && until_true 10 grep -q '"touch"' "$tmp/r" &&
	    storm && ends 0 && grep -q '"touch"' "$tmp/r"
}
rule "it has all its lines after a storm of deaths, too" after_a_storm
stdout_after_a_storm() {
	looping 0 0 --report - >>"$tmp/out" && storm && : >"$tmp/out" &&
	    until_true 10 grep -q '"comm": "sleep"' "$tmp/out" && ends 0
}
rule "and goes on on standard output" stdout_after_a_storm

# The status is the node's own, where no page has it.
dying() {
	keeper_is_there && kill -9 "$keeper"
	is_gone "$supervisor"
}
given_up() {
	rm -f "$tmp/stop" "$tmp/began"
	"$B/pageknode" -- sh "$tmp/loop.sh" "$tmp/stop" "$tmp/began" 0 0 &
	supervisor=$!
	until_true 10 test -e "$tmp/began" && until_true 10 dying
	touch "$tmp/stop"
	wait "$supervisor"
	is=$?
	supervisor=
	echo "status $is"
	[ "$is" = 125 ]
}
rule "one that dies again and again is given up, and that is told as of a run" \
    given_up

deserted() {
	looping 0 3 && kill -9 "$supervisor" && kill -0 "$keeper" && over
	[ $? = 125 ] && grep -q "the command's exit status is not known" "$tmp/why" &&
	    until_true 10 is_gone "$keeper"
}
rule "without its supervisor a node watches to the end, and says what it cannot know" \
    deserted
both() {
	looping 0 3 && known && kill_node "$supervisor" && over
	[ $? = 125 ] && grep -q "is gone; the command's exit status is not known" \
	    "$tmp/why"
}
rule "a run whose node is gone for good ends and says so" both
supervisor=

told_to_end() {
	looping 0 3 && kill -TERM "$supervisor" && kill -TERM "$keeper" &&
	    pgrep -f "$tmp/loop.sh" >/dev/null && ends 3
}
rule "told to end a node stays with its command, whose status is told" told_to_end
supervisor=

# --- on a terminal -------------------------------------------------------------

cat >"$tmp/holder.c" <<'C'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile held[25];
static void on_signal(int sig) { (void)sig; }
int main(void)
{
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 20; i++)
		held[i] = malloc(7777);
	pause();
	for (int i = 20; i < 25; i++)
		held[i] = malloc(7777);
	for (;;)
		pause();
}
C
cc -O1 -fno-builtin -o "$tmp/holder" "$tmp/holder.c" || exit 1
rows() {
	shot | grep -c ' 7,777 '
}
page() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 110 -y 40 \
	    "cd '$B' && ./pagek run $* '$tmp/holder'; echo status \$?; exec cat"
	wait_for 'LIVE 1[0-9] Hz' &&
	    until_true 10 supervised "$(pgrep -P "$(t display -p -t =p: '#{pane_pid}')" -x pagek)"
}
goes_on() {
	page "$@" || return 1
	for i in 1 2 3; do
		another && wait_for 'LIVE 1[0-9] Hz' || return 1
	done
	# What it shows could be of before: something new has to come.
	pkill -USR1 -P "$supervisor" -x holder
	until_true 10 has_rows 25
	shot
	hides 'anew|INCOMPLETE|lost [1-9]' && has_rows 25
}
has_rows() {
	[ "$(rows)" = "$1" ]
}
rule "a page goes on where it was, and has lost nothing" goes_on --own-node --
comes_back() {
	t send-keys -t p q && wait_for 'status 0' &&
	    wait_for 'come back with: \./pagek pid:' &&
	    wait_for 'from anywhere: \./pagek unix:' &&
	    another && "$pagek" list "unix:$XDG_RUNTIME_DIR/pagek/run.$supervisor" |
	    grep -c ' 7,777 ' | grep -qx 25
}
rule "a page that left finds the next node at the same place" comes_back
ended_is_told() {
	kill_held && until_true 20 is_gone "$supervisor"
}
kill_held() {
	kill -9 "$(pgrep -P "$supervisor" -x holder)"
}
rule "that node ends when its command has" ended_is_told
supervisor=

# threads PID: sizes and threads of the blocks that heirs.c makes itself.
threads() {
	"$pagek" list --format csv --fields size,thread "pid:$1" |
	    grep -E '^[1-6]00[1-6],' | sort | tr -s '\r\n' ' '
}
has_threads() {
	threads "$1"
	[ "$(threads "$1")" = "$2" ]
}
has_line() {
	grep -q "$1" "$tmp/heirs"
}
beget() {
	mkfifo "$tmp/go"
	"$pagek" run -b -o "$tmp/text" -- "$B/tests/targets/heirs" \
	    <"$tmp/go" >"$tmp/heirs" 2>"$tmp/why" &
	pid=$!
	exec 8>"$tmp/go"
	until_true 20 has_line made && until_true 10 supervised "$pid" ||
	    return 1
	first=$(pgrep -P "$supervisor" -x heirs) &&
	    until_true 20 has_threads "$first" '1001,heirs 2002,rx 3003,rx ' &&
	    echo >&8 && until_true 20 has_line '^[0-9]' || return 1
	last=$(grep '^[0-9]' "$tmp/heirs")
	middle=$(ps -o ppid= -p "$last" | tr -d " ")
}
marked() {
	until_true 20 has_threads "$first" \
	    '1001,heirs 2002,rx 3003,rx 4004,forker ' &&
	    until_true 20 has_threads "$middle" \
	    '1001,^heirs 2002,^rx 3003,^rx 4004,^forker 5005,forker ' &&
	    until_true 20 has_threads "$last" \
	    '1001,^heirs 2002,^rx 3003,^rx 4004,^forker 5005,^forker 6006,forker '
}
marked_again() {
	another && marked
}
selected() {
	"$pagek" list --filter 'thread="^rx"' --format csv --fields size \
	    "pid:$last" | grep -c '^[0-9]' | grep -qx 2
}
first= middle= last=
beget
rule "blocks from before a fork have the threads of the parent, with a sign" marked
rule "a filter finds such blocks by that name" selected
rule "the next node knows these threads too" marked_again
exec 8>&-
wait "$pid"
supervisor=

# A node that stands alone has the targets; this one waits for the command.
elsewhere() {
	"$B/pageknode" 2>"$tmp/said" &
	daemon=$!
	until_true 10 grep -q listening "$tmp/said"
	looping 0 7 && [ -S "$XDG_RUNTIME_DIR/pagek/cmd.$supervisor" ] &&
	    was=$keeper && kill -9 "$keeper" && until_true 10 keeper_other &&
	    "$pagek" targets | grep -q '^pid:.*sh ' && ends 7
	result=$?
	kill "$daemon"
	wait "$daemon"
	return $result
}
keeper_other() {
	keeper_is_there && [ "$keeper" != "$was" ]
}
rule "whoever only waits for a command is followed by another as well" elsewhere
supervisor=

nothing_left() {
	echo left:
	ls -A "$XDG_RUNTIME_DIR/pagek"
	[ -z "$(ls -A "$XDG_RUNTIME_DIR/pagek" | grep -v '^node.lock$')" ]
}
settled() {
	until_true 5 nothing_left || nothing_left
}
rule "no socket is left of them all" settled

say_result
