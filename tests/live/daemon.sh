#!/bin/sh
# The node that stands alone: real programs, several users, and clients that
# do not behave.
set -u
. "$(dirname "$0")/lib.sh"

client="python3 $top/tests/live/daemon.py"
node=$XDG_RUNTIME_DIR/pagek/node
daemon=
others=
stop() {
	for p in $daemon $others; do
		kill_node "$p"
	done
	rm -rf "$tmp"
} >/dev/null 2>&1
trap stop EXIT
trap 'exit 1' TERM INT

# Holds 20 blocks of 7,777 bytes until its input ends; says how many
# descriptors it has.
cat >"$tmp/holder.c" <<'C'
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *volatile held[20];
int main(void)
{
	char line[32];
	int n = 0;
	char c;

	for (int i = 0; i < 20; i++)
		held[i] = malloc(7777);
	for (int fd = 0; fd < 1024; fd++)
		n += dup2(fd, fd) == fd;
	n = snprintf(line, sizeof line, "%d\n", n);
	if (write(1, line, n) != n)
		return 1;
	while (read(0, &c, 1) == 1)
		;
	return 0;
}
C
cc -O1 -fno-builtin -o "$tmp/holder" "$tmp/holder.c" || exit 1
mkfifo "$tmp/in"


# What a user types: the library and nothing else.
preloaded="env LD_PRELOAD=$B/liballoclog.so"
serves() {
	$client hello "$node" | grep -q WELCOME
}
start() {
	"$B/pageknode" "$@" 2>"$tmp/said" 7>&- &
	daemon=$!
	until_true 10 serves || { cat "$tmp/said"; return 1; }
}
hold() {
	: >"$tmp/out"
	${1:-$preloaded} "$tmp/holder" <"$tmp/in" >"$tmp/out" 7>&- &
	holder=$!
	others="$others $holder"
	exec 7>"$tmp/in"
	until_true 10 test -s "$tmp/out"
}
lists() {
	[ "$("$B/pagek" list "pid:$holder" | grep -c ' 7,777 ')" = 20 ]
}

let_go() {
	exec 7>&-
	wait "$holder"
}

# A target waits 50 ms for the node's word.  On a busy machine that may not be
# enough; then it runs on unwatched, as it should, and is started again.
hold_listed() {
	for try in 1 2 3 4 5; do
		hold || return 1
		until_true 2 lists && return
		let_go
	done
	echo "it was not listed in $try tries"
	"$B/pagek" targets
	return 1
}

unwatched() {
	hold env && let_go && fds=$(cat "$tmp/out") &&
	    hold && let_go && [ "$(cat "$tmp/out")" = "$fds" ]
}
rule "without a node a program with the library runs on, unwatched" unwatched

starts() {
	start && [ "$(stat -c %a "$node" "$node.hello" "${node%/*}" |
	    tr '\n' ' ')" = '600 600 700 ' ]
}
rule "it listens where only its user can connect" starts

second() {
	"$B/pageknode" 2>"$tmp/why"
	[ $? = 1 ] && grep -q "runs at $node already" "$tmp/why" && serves
}
rule "a second one says where the first is, and leaves it alone" second

is_watched() {
	hold_listed && [ "$(cat "$tmp/out")" = "$fds" ] &&
	    "$B/pagek" targets | grep -q "^pid:$holder  *holder  *LIVE" &&
	    "$B/pagek" --once | grep -q "holder\[$holder\]"
}
rule "a program with the library alone is watched, and has no descriptor more" is_watched

itself() {
	"$B/pagek" targets --format json | python3 -c '
import json, sys
t = json.load(sys.stdin)["targets"]
assert any(x["stream"] == "ALLOCLOG" for x in t), t
'
}
rule "its table of streams has ALLOCLOG, the node itself" itself

# One that is stopped, not one that has nothing.
no_answer() {
	kill -STOP "$(node_of "$daemon")"
	"$B/pagek" list --timeout=1 "pid:$holder" 2>"$tmp/why"
	status=$?
	"$B/pagek" targets --timeout=1 >"$tmp/list" 2>>"$tmp/why"
	all=$?
	kill -CONT "$(node_of "$daemon")"
	cat "$tmp/why"
	[ $status = 8 ] && [ $all = 8 ] && [ ! -s "$tmp/list" ] &&
	    grep -q "$node: it does not answer" "$tmp/why"
}
rule "of a node that does not answer nobody says what it does not watch" no_answer

# The first line is there, so nothing is wrong but that no other comes.
no_line() {
	timeout -s KILL 30 "$B/pagek" watch --interval=0.2 --timeout=1 \
	    "pid:$holder" >"$tmp/watched" 2>"$tmp/why" &
	watch=$!
	until_true 10 grep -q 'MiB\|KiB\| B ' "$tmp/watched" &&
	    kill -STOP "$(node_of "$daemon")"
	wait $watch
	status=$?
	kill -CONT "$(node_of "$daemon")"
	cat "$tmp/watched" "$tmp/why"
	[ $status = 8 ] && grep -q 'no answer within 1 s' "$tmp/why"
}
rule "a watch whose node stands still ends and says so" no_line

# A command that says where its node is, holds for a while and ends with 7.
cat >"$tmp/command.sh" <<'C'
echo "$PAGEK_NODE"
"$1" <"$2" >"$3"
exit 7
C
mkfifo "$tmp/in2"

runs() {
	"$B/pagek" run -b -o "$tmp/text" "$@" -- sh "$tmp/command.sh" \
	    "$tmp/holder" "$tmp/in2" "$tmp/out2" >"$tmp/where" 7>&- &
	run=$!
	others="$others $run"
	exec 8>"$tmp/in2"
	until_true 10 test -s "$tmp/out2"
}
run_ends() {
	exec 8>&-
	wait "$run"
	[ $? = 7 ]
}
of_the_run() {
	"$B/pagek" targets "unix:$node" | grep -c '^pid:.*holder  *LIVE'
}
uses_it() {
	runs && [ "$(cat "$tmp/where")" = "$node.hello" ] &&
	    until_true 10 grep -q '^NODE.*20 blocks' "$tmp/text" &&
	    [ "$(of_the_run)" = 2 ] && run_ends &&
	    grep -q 'pagek: holder.*: 20 allocs' "$tmp/text" &&
	    [ "$(grep -c 'pagek: holder' "$tmp/text")" = 1 ] &&
	    grep -q 'pagek: sh\[.*exit 7' "$tmp/text" && [ "$(of_the_run)" = 1 ]
	status=$?
	[ $status = 0 ] || cat "$tmp/where" "$tmp/text"
	return $status
}
rule "pagek run uses it, and tells of its own command alone" uses_it

# The node that watches may answer before the one that runs the command does.
waits_for_it() {
	for i in 1 2 3 4 5; do
		"$B/pagek" run -b -- sh -c 'sleep 0.1' 2>"$tmp/text" || return 1
		grep -q 'ENDED' "$tmp/text" || return 1
		grep -q 'NO ALLOCLOG' "$tmp/text" && head -3 "$tmp/text" &&
		    return 1
	done
	return 0
}
rule "its first picture is not that there is nothing" waits_for_it

own_node() {
	rm -f "$tmp/out2" "$tmp/text"
	runs --own-node && grep -q '/run[.][0-9]*[.]hello' "$tmp/where" &&
	    [ "$(of_the_run)" = 1 ] && run_ends || return 1
	rm -f "$tmp/out2" "$tmp/text"
	runs --report "$tmp/report" &&
	    grep -q '/run[.][0-9]*[.]hello' "$tmp/where" && run_ends &&
	    grep -q '"comm": "holder"' "$tmp/report"
}
rule "unless a node of its own is asked for, or what only that can do" own_node

run_goes_on() {
	rm -f "$tmp/out2" "$tmp/text"
	runs || return 1
	kill_node "$daemon"
	until_true 10 grep -q UNREACHABLE "$tmp/text" && kill -0 "$run" &&
	    run_ends
	status=$?
	start && return $status
}
rule "a run whose node is killed goes on, and so does its status" run_goes_on

stands_still() {
	kill -STOP "$(node_of "$daemon")"
	"$B/pagek" run -b -o "$tmp/text" -- sh -c 'exit 7' 2>"$tmp/err"
	status=$?
	kill -CONT "$(node_of "$daemon")"
	cat "$tmp/err"
	[ $status = 7 ] && grep -q 'does not answer; waiting' "$tmp/err" &&
	    grep -q "nothing of 'sh' was watched" "$tmp/err"
}
rule "a run beside a node that stands still says what it waits for" stands_still

dies() {
	kill_node "$daemon"
	[ -S "$node" ] && start && kill -0 "$holder" &&
	    $preloaded true
}
rule "killed, it leaves a program that runs on, and sockets for the next" dies
let_go

denied() {
	"$@" >"$tmp/why" 2>&1
	[ $? = 4 ] && ! grep -q ' 7,777 ' "$tmp/why"
}
another_user() {
	chmod 711 "$tmp" "$XDG_RUNTIME_DIR"
	denied $nobody "$B/pagek" list "unix:$node" &&
	    chmod 711 "${node%/*}" && chmod 666 "$node" "$node.hello" &&
	    denied $nobody "$B/pagek" list "unix:$node" &&
	    grep -q "another user's" "$tmp/why" &&
	    $nobody env "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" \
	        "LD_PRELOAD=$B/liballoclog.so" sleep 0.1 &&
	    ! "$B/pagek" targets --format json | grep -q '"sleep"'
	status=$?
	chmod 700 "${node%/*}"
	chmod 600 "$node" "$node.hello"
	return $status
}
nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
if [ "$(id -u)" = 0 ] && $nobody test -x "$B/pagek"; then
	rule "another user is denied, as a page and as a target" another_user
else
	skip "another user cannot be tried: not root, or this folder is closed"
fi

# says STATUS WORDS PAGEK...: one sentence without a block.
says() {
	want=$1
	words=$2
	shift 2
	"$@" >"$tmp/out" 2>"$tmp/why"
	got=$?
	cat "$tmp/why"
	[ $got = "$want" ] && [ ! -s "$tmp/out" ] &&
	    [ "$(grep -vc 'settings are ignored' "$tmp/why")" = 1 ] &&
	    grep -q -- "$words" "$tmp/why"
}
# with_runner DO...: while root runs a command that a command of its own runs.
with_runner() {
	mkdir -m 700 "$tmp/elsewhere"
	XDG_RUNTIME_DIR=$tmp/elsewhere env --default-signal=INT,TERM \
	    "$B/pagek" run -b -o /dev/null -- \
	    sh -c 'sleep 77 & echo $! >"$0"; wait' "$tmp/sleeper" &
	runner=$!
	until_true 10 test -s "$tmp/sleeper"
	sleeper=$(cat "$tmp/sleeper")
	until_true 10 sh -c "XDG_RUNTIME_DIR='$tmp/elsewhere' \
	    '$B/pagek' targets | grep -q 'pid:$sleeper '" && "$@"
	status=$?
	kill $sleeper $runner
	wait $runner
	rm -rf "$tmp/elsewhere" "$tmp/sleeper"
	return $status
}
whose_run() {
	says 4 "process $sleeper is watched by a node of root, which you may \
not ask: run pagek as root" $nobody "$B/pagek" list "pid:$sleeper"
}
other_folder() {
	says 3 "process $sleeper is watched by the node of .* at \
$tmp/elsewhere/pagek/run\.[0-9]*: use 'pagek unix:$tmp/elsewhere/" \
	    "$B/pagek" list "pid:$sleeper" &&
	    "$B/pagek" targets "$(sed "s/.*'pagek \(.*\)'.*/\1/" "$tmp/why")" |
	    grep -q "pid:$sleeper "
}
lacks_node() {
	! XDG_RUNTIME_DIR=$tmp/$1 "$B/pagek" targets 2>/dev/null | grep -q pid:
}
# Of two daemons of one user, in folders that this page does not know.
other_daemon() {
	for folder in a b c; do
		mkdir -m 700 "$tmp/$folder"
		XDG_RUNTIME_DIR=$tmp/$folder "$B/pageknode" 2>/dev/null &
		daemons="${daemons:-} $!"
		until_true 10 test -S "$tmp/$folder/pagek/node" || return 1
	done
	XDG_RUNTIME_DIR=$tmp/b LD_PRELOAD=$B/liballoclog.so sleep 77 &
	daemons="$daemons $!"
	until_true 10 sh -c "XDG_RUNTIME_DIR='$tmp/b' '$B/pagek' targets | grep -q 'pid:$! '" &&
	    says 3 "process $! is watched by the node of .* at $tmp/b/pagek/node: " \
	    "$B/pagek" list "pid:$!" || return 1
	# Where its own is gone, no other one is named.
	set -- $daemons
	XDG_RUNTIME_DIR=$tmp/b "$B/pagek" list "pid:$4" >/dev/null && kill "$2" && wait "$2"
	until_true 10 lacks_node b &&
	    says 3 "process $4 is not being watched: " "$B/pagek" list "pid:$4"
	status=$?
	# shellcheck disable=SC2086
	kill $daemons
	# shellcheck disable=SC2086
	wait $daemons
	return $status
}
whose_daemon() {
	hold_listed && says 4 "process $holder belongs to root, and only root \
may see whether it is watched: run pagek as root" \
	    $nobody "$B/pagek" list "pid:$holder"
	status=$?
	let_go
	return $status
}
nobody_watches() {
	sleep 78 &
	plain=$!
	others="$others $plain"
	says 3 "process $plain is not being watched" "$B/pagek" list "pid:$plain"
}
rule "a node of one's own in another folder is named" with_runner other_folder
rule "the message names the daemon that the process says hello to" other_daemon
rule "a process that nobody watches is said to be that" nobody_watches
if [ "$(id -u)" = 0 ] && $nobody test -x "$B/pagek"; then
	rule "another user is told whose node watches a process" \
	    with_runner whose_run
	rule "or whose process it is" whose_daemon
else
	skip "another user cannot be tried: not root, or this folder is closed"
fi

wrong_folder() {
	mkdir "$tmp/open" "$tmp/open/pagek"
	chmod 755 "$tmp/open/pagek"
	XDG_RUNTIME_DIR=$tmp/open "$B/pageknode" 2>"$tmp/why"
	[ $? = 1 ] && grep -q "this user's alone with mode 0700" "$tmp/why"
}
rule "a folder for sockets that others may enter is refused, and it says why" wrong_folder

crowd() {
	set -- $(sh -c "ulimit -n 1100; $client many 1000 $node")
	[ $# = 3 ] && [ "$1" = 64 ] && [ "$2" = 936 ] && [ "$3" = 0 ] && serves
}
rule "of 1,000 pages 64 are served and the others told to come later" crowd

silent() {
	mkfifo "$tmp/silence"
	$client crowd 64 "$node.hello" <"$tmp/silence" >"$tmp/there" &
	others="$others $!"
	exec 8>"$tmp/silence"
	until_true 10 test -s "$tmp/there" && hold_listed && let_go
	status=$?
	exec 8>&-
	return $status
}
rule "connections that never say hello keep no target out" silent

leaves() {
	kill "$daemon" && wait "$daemon" && [ ! -e "$node" ] &&
	    [ ! -e "$node.hello" ]
}
rule "told to end it takes its sockets away, and its status is 0" leaves

# A command that has its list and waits for names, for nobody reads them, is
# told of another node's list or of none.
cat >"$tmp/churn.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile held[64];
int main(void)
{
	for (unsigned i = 0; i < 30000; i++) {
		free(held[i % 64]);
		held[i % 64] = malloc(7777);
		usleep(1000);
	}
	return 0;
}
C
cc -O1 -fno-builtin -o "$tmp/churn" "$tmp/churn.c" || exit 1
# $churner is one that is watched.
churn() {
	$preloaded "$tmp/churn" &
	churner=$!
	others="$others $churner"
	until_true 10 sh -c "'$B/pagek' targets | grep -q 'pid:$churner '"
}
churns() {
	[ "$("$B/pagek" list "pid:$churner" | grep -c ' 7,777 ')" -gt 50 ]
}
reader_of() {
	pgrep -P "$(node_of "$daemon")" -x pagek-symbols
}
another() {
	start && hold_listed && let_go && reader=$(reader_of) || return 1
	kill -STOP "$reader"
	churn || return 1
	rm -f "$tmp/rows"
	"$B/pagek" "$@" "pid:$churner" >"$tmp/rows" 2>"$tmp/why" &
	asking=$!
	# As long as it may take to have the list; it has no end yet.
	until_true 1 test -s "$tmp/rows"
	kill_node "$daemon"
	kill -9 "$reader"
	until_true 5 flock -n "$node.lock" true && start || return 1
	wait "$asking"
	status=$?
	until_true 10 churns
	kill "$churner"
	wait "$churner"
	leaves
	cat "$tmp/rows" "$tmp/why"
	[ $status = 0 ] && [ -s "$tmp/rows" ] &&
	    ! grep -q 'not whole\|not known\|not there' "$tmp/why" "$tmp/rows"
}
rule "a list that waits for names is the next node's when that has come" \
    another list
rule "so is a tree, whose stacks are that node's too" another tree

# A folder that somebody removed, and the node that began anew in it.
removed() {
	start || return 1
	first=$daemon
	others="$others $first"
	rm -rf "${node%/*}"
	start || return 1
	if [ "$1" = again ]; then
		was=$(node_of "$first")
		kill -9 "$was"
		until_true 10 next_of "$first" "$was" || return 1
	fi
	kill "$first" && wait "$first" || return 1
	[ -S "$node" ] && [ -S "$node.hello" ] && serves && leaves
}
next_of() {
	now=$(pgrep -P "$1" -x pageknode) && [ "$now" != "$2" ] &&
	    grep -q '^SigCgt:.*[4-7c-f]...$' "/proc/$now/status"
}
rule "sockets that another node has in a folder made anew are left alone" removed ''
rule "so they are when the first one was started again meanwhile" removed again

# Killed when it was just told to end, as by a stop that goes on to SIGKILL.
told() {
	start && ours=$(node_of "$daemon") && kill -STOP "$daemon" "$ours" &&
	    kill -9 "$ours" && kill -TERM "$daemon" && kill -CONT "$daemon" ||
	    return 1
	wait "$daemon"
	status=$?
	daemon=
	cat "$tmp/said"
	echo "status $status"
	[ $status = 0 ] && ! [ -e "$node" ] && ! [ -e "$node.hello" ]
}
rule "a node that dies when it is told to end leaves no sockets" told

# Whoever reads symbols for it, and does not move any more.
hung() {
	start && hold_listed && reader=$(until_true 5 reader_of && reader_of) ||
	    return 1
	kill -STOP "$reader"
	churn || return 1
	"$B/pagek" list "pid:$churner" >"$tmp/rows" 2>"$tmp/why" &
	asking=$!
	others="$others $asking"
	# As long as it may take to have the list and to ask for names.
	until_true 1 test -s "$tmp/rows"
	kill "$daemon"
	until_true 5 is_gone "$daemon"
	result=$?
	kill -9 "$churner" "$asking"
	wait "$daemon" && let_go && return $result
}
rule "a node whose reader of symbols hangs ends all the same" hung

few() {
	sh -c "ulimit -n 128; exec \"$B/pageknode\" --clients 256" \
	    2>"$tmp/said" &
	daemon=$!
	until_true 10 serves || return 1
	grep -q 'at most 64 pages' "$tmp/said" || return 1
	set -- $(sh -c "ulimit -n 1100; $client many 1000 $node")
	[ $# = 3 ] && [ "$1" -ge 32 ] && [ "$3" = 0 ] && serves &&
	    [ "$(ls "/proc/$(node_of "$daemon")/fd" | wc -l)" -lt 64 ] &&
	    hold_listed && let_go && leaves
}
rule "so it is with 128 descriptors, and then targets still come in" few

rss() {
	awk '/^VmRSS/ { print $2 }' "/proc/$(node_of "$daemon")/status"
}
mute() {
	start || return 1
	before=$(rss)
	mkfifo "$tmp/wait"
	for i in 1 2 3 4; do
		$client mute 200000 "$node" <"$tmp/wait" >"$tmp/mute.$i" &
		others="$others $!"
	done
	exec 8>"$tmp/wait"
	for i in 1 2 3 4; do
		until_true 20 test -s "$tmp/mute.$i" || return 1
	done
	cat "$tmp"/mute.*
	serves && [ $(($(rss) - before)) -lt 4096 ]
	status=$?
	exec 8>&-
	return $status
}
rule "pages that read nothing cost it little, and nobody else anything" mute
leaves

hold_dormant() {
	for try in 1 2 3 4 5; do
		hold || return 1
		until_true 2 sh -c "'$B/pagek' targets |
		    grep -q '^pid:$holder .*DORMANT'" && return
		let_go
	done
	return 1
}
roles() {
	start --role read --dormant && hold_dormant || return 1
	denied "$B/pagek" arm "pid:$holder" && grep -q 'not permit' "$tmp/why"
	status=$?
	let_go
	leaves && return $status
}
rule "what is beyond its --role is refused" roles

passes() {
	mkdir -p "${node%/*}"
	$client pass "$node" "$node.hello" "$B/pageknode" 2>"$tmp/said" &
	daemon=$!
	until_true 10 serves && hold_listed && let_go &&
	    kill "$daemon" && wait "$daemon" && [ -S "$node" ] &&
	    rm "$node" "$node.hello"
}
rule "sockets that systemd opened are taken over, and stay" passes

says_not_run() {
	"$B/pageknode" "$1" 2>"$tmp/why" </dev/null
	[ $? = "$2" ] && grep -q "cannot run $1: $3" "$tmp/why"
}
not_run() {
	says_not_run "$tmp/none" 127 'No such file' &&
	    says_not_run "$tmp" 126 'Permission denied'
}
rule "a node without a page says itself that its command cannot be run" not_run

stalled() {
	mkfifo "$tmp/lines" && exec 9<>"$tmp/lines" || return 1
	start --report "$tmp/lines" || return 1
	for i in $(seq 200); do
		$preloaded /bin/true 9>&- || return 1
	done
	serves && hold_listed && let_go && leaves
	status=$?
	exec 9>&-
	return $status
}
rule "a report that nobody reads holds up neither pages nor targets nor its end" stalled

full_disk() {
	start --report /dev/full || return 1
	$preloaded /bin/true
	until_true 10 grep -q 'lines of the report are missing: No space' \
	    "$tmp/said" && leaves
}
if [ -c /dev/full ]; then
	rule "lines that the report has no room for are told where it logs" full_disk
else
	skip "a full disk cannot be tried: no /dev/full"
fi

# A system of our own: /run and the table of groups are this shell's alone.
cat >"$tmp/system.sh" <<'S'
set -u
mount -t tmpfs -o mode=755 tmpfs /run || exit 77
{ cat /etc/group; echo pagek:x:4242:; } >"$tmp/group"
mount --bind "$tmp/group" /etc/group || exit 77
unset XDG_RUNTIME_DIR
node=/run/pagek/node
setpriv --reuid 65534 --regid 65534 --clear-groups "$B/pageknode" --system
[ $? = 1 ] || exit 1
# Root's makes the folder: whoever is to be watched must get through it.
(umask 077; exec "$B/pageknode" --system) &
daemon=$!
i=0
while ! $client hello $node | grep WELCOME; do
	i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.1
done
[ "$(stat -c %a /run/pagek)" = 755 ] || exit 1
[ "$(stat -c %a $node.hello)" = 666 ] || exit 1
kill $daemon; wait $daemon || exit 1
rm -r /run/pagek
mkdir -m 755 /run/pagek && chown 4242:4242 /run/pagek
setpriv --reuid 4242 --regid 4242 --clear-groups "$B/pageknode" --system &
daemon=$!
trap 'exec 7>&-; kill $daemon; wait' EXIT
i=0
while ! $client hello $node | grep WELCOME; do
	i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.1
done
ls -l /run/pagek
[ "$(stat -c '%a %g' $node)" = '660 4242' ] || exit 1
[ "$(stat -c %a $node.hello)" = 666 ] || exit 1
as() { setpriv --reuid $1 --regid $1 $2 "$3" "$4" "$5" "$6"; }
run_holder() {
	setpriv --reuid $1 --regid $1 --clear-groups \
	    env "LD_PRELOAD=$B/liballoclog.so" "$tmp/holder" <"$tmp/in" >"$tmp/o.$1" &
	eval "pid_$1=$!"
}
chmod 644 "$B/liballoclog.so" "$tmp/holder" 2>/dev/null; chmod 755 "$tmp/holder"
chmod 666 "$tmp/in"
hold_both() {
	rm -f "$tmp/o.3001" "$tmp/o.3002"
	run_holder 3001; run_holder 3002
	exec 7>"$tmp/in"
	for u in 3001 3002; do
		i=0
		while [ ! -s "$tmp/o.$u" ]; do
			i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.1
		done
	done
}
count() { "$@" list "pid:$pid" "unix:$node" 2>/dev/null | grep -c ' 7,777 '; }
see() {
	setpriv --reuid $1 --regid $1 $2 "$B/pagek" targets "unix:$node" 2>&1 |
	    grep -c '^pid:.*holder .*LIVE'
}
# As above: again, when one of them was not heard.
for try in 1 2 3 4 5; do
	hold_both
	[ "$(see 0 --clear-groups)" -lt 2 ] || break
	exec 7>&-
	wait $pid_3001 $pid_3002
done
# of USER PID: what that user is told of the process.
of() {
	setpriv --reuid $1 --regid $1 --clear-groups "$B/pagek" list "pid:$2" 2>&1
}
own="process $pid_3001 is watched by the machine's node, which you may not ask"
of 3001 $pid_3001
of 3001 $pid_3001 | grep -q "$own" || exit 1
of 3002 $pid_3001 | grep -q "process $pid_3001 belongs to uid 3001" || exit 1
echo "member sees $(see 3003 '--groups 4242')"
[ "$(see 3003 '--groups 4242')" = 2 ] || exit 1
[ "$(see 3001 --clear-groups)" = 0 ] || exit 1
[ "$(see 0 --clear-groups)" = 2 ] || exit 1
chmod 666 $node
echo "its own to each: $(see 3001 --clear-groups)"
[ "$(see 3001 --clear-groups)" = 1 ] || exit 1
[ "$(see 3004 --clear-groups)" = 0 ] || exit 1
of 3004 $pid_3001 | grep -q "process $pid_3001 belongs to uid 3001" || exit 1
"$B/pagek" targets
exec 7>&-
wait $pid_3001 && wait $pid_3002 || exit 1
kill $daemon; wait $daemon

# Root's, which can see each program's file.  The reader of files of uid 3001's
# targets stands still; the file of uid 3002's has not been read before.
rm -rf /run/pagek
"$B/pageknode" --system &
daemon=$!
i=0
while ! $client hello $node | grep WELCOME; do
	i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.1
done
chmod 666 $node
# hold_as USER PROGRAM
hold_as() {
	for try in 1 2 3 4 5; do
		rm -f "$tmp/o.$1"
		setpriv --reuid $1 --regid $1 --clear-groups \
		    env "LD_PRELOAD=$B/liballoclog.so" "$2" \
		    <"$tmp/in" >"$tmp/o.$1" 7>&- &
		pid=$!
		exec 7>"$tmp/in"
		i=0
		while [ ! -s "$tmp/o.$1" ]; do
			i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.1
		done
		"$B/pagek" targets "unix:$node" | grep -q "^pid:$pid .*LIVE" && return
	done
	exit 1
}
# Blocks of uid $1's program that have their caller's name.
named() {
	setpriv --reuid $1 --regid $1 --clear-groups timeout 15 \
	    "$B/pagek" list --format csv --fields size,function "pid:$pid" |
	    grep -c '^7777,"*main'
}
cp "$tmp/holder" "$tmp/another" && chmod 755 "$tmp/another"
hold_as 3001 "$tmp/holder"
[ "$(named 3001)" = 20 ] || exit 1
reader=$(pgrep -P "$(pgrep -P $daemon -x pageknode)" -x pagek-symbols)
kill -STOP $reader
hold_as 3002 "$tmp/another"
names=$(named 3002)
echo "beside a reader that stands still: $names"
kill -CONT $reader
[ "$names" = 20 ]
S
system() {
	tmp=$tmp B=$B client=$client unshare -m sh "$tmp/system.sh"
}
if [ "$(id -u)" = 0 ] && $nobody test -x "$B/pagek" &&
    unshare -m mount -t tmpfs tmpfs /run 2>/dev/null; then
	chmod 711 "$tmp"
	rule "the system's serves its own to each, and all to the group" system
else
	skip "a system of our own cannot be made here: not root, or no namespaces"
fi

say_result
