#!/bin/sh
# Pages on real terminals whose node stops, dies and returns.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
node=$XDG_RUNTIME_DIR/pagek/node
daemon=
holder=
stop() {
	for p in $daemon $holder; do
		kill_node "$p"
	done
	end_terminal
} >/dev/null 2>&1
trap stop EXIT
pagek=$B/pagek

cat >"$tmp/holder.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile held[20];
int main(void)
{
	for (int i = 0; i < 20; i++)
		held[i] = malloc(7777);
	for (;;)
		pause();
}
C
cc -O1 -fno-builtin -o "$tmp/holder" "$tmp/holder.c" || exit 1

# Two pages, p and q: by their exact names, for tmux takes a p for the
# beginning of "pagek" as well.
both() {
	wait_on p "$1" && wait_on q "$1"
}
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
	t capture-pane -p -t "=$1:" | grep -c ' 7,777 '
}

two_pages() {
	start || return 1
	start_watched "$tmp/holder" || return 1
	holder=$watched
	until_true 10 sh -c "'$pagek' list 'pid:$holder' | grep -q ' 7,777 '" ||
	    return 1
	page p && page q && both 'holder\[[0-9]+\]  LIVE' && both ' 7,777 '
}
rule "two pages show one target" two_pages

comes_again() {
	t send-keys -t =p: q
	until_true 10 gone p && wait_on q 'LIVE 1[0-9] Hz' && page p &&
	    both 'LIVE 1[0-9] Hz' && both ' 7,777 ' &&
	    [ "$(rows p)" = 20 ] && [ "$(rows q)" = 20 ]
}
rule "a page that left and comes again has every block since the start" \
    comes_again

stopped() {
	kill -STOP "$(node_of "$daemon")" && both 'UNREACHABLE' && both 'has not answered' &&
	    [ "$(rows p)" = 20 ] && kill -CONT "$(node_of "$daemon")" && both 'LIVE 1[0-9] Hz'
}
rule "a node that was stopped goes on" stopped

killed() {
	kill_node "$daemon"
	both 'UNREACHABLE [0-9]+s  (retry in|trying)' &&
	    both 'picture is [0-9]+s old' && both 'no node listens at' &&
	    [ "$(rows p)" = 20 ] && [ "$(rows q)" = 20 ]
}
rule "pages keep their picture and its age when the node is killed" killed

# What the rows say of ages, without the word of line 1.
ages() {
	t capture-pane -p -t =p: | grep ' 7,777 ' | awk '{ print $1, $6 }'
}
stand() {
	before=$(ages)
	wait_on p 'UNREACHABLE ([5-9]|[1-9][0-9])s' && [ "$(ages)" = "$before" ]
}
rule "ages stand still meanwhile" stand

without() {
	kill -9 "$holder"
	wait "$holder" 2>/dev/null
	start && both 'NO ALLOCLOG' && both 'restarted and has no' &&
	    [ "$(rows p)" = 20 ] && t send-keys -t =p: q && t send-keys -t =q: q
}
rule "a node that returns without the target is told apart" without

# What runs a command there, and the command: pagek is the pane's process.
run() {
	t new-session -d -s r -x 110 -y 40 "exec '$pagek' run $1 '$tmp/holder'"
	wait_on r 'LIVE 1[0-9] Hz' &&
	    own=$(pgrep -P "$(t display -p -t =r: '#{pane_pid}')" -x pageknode) &&
	    holder=$(pgrep -P "$own" -x holder)
}
end_holder() {
	kill -9 "$holder" && until_true 10 is_gone "$holder" && holder=
}
of_command() {
	run '--own-node --' || return 1
	kill_node "$own" && wait_on r 'UNREACHABLE' &&
	    wait_on r 'will not restart' && t send-keys -t =r: q &&
	    until_true 10 gone r && end_holder
}
rule "the node of one command does not come back without its supervisor, and the page says so" \
    of_command

# Another node has the list: this one waits for the command's end, and for its page.
runner() {
	run -- && t send-keys -t =r: q && until_true 10 gone r &&
	    kill -0 "$own" && end_holder && until_true 10 is_gone "$own"
}
rule "who runs a command for the daemon ends with it" runner

say_result
