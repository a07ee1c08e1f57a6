#!/bin/sh
# NODE<>, *L<> and OFFS= on the page, and the way from one node to another: two
# nodes in folders of their own, by a table of numbers.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
table=$XDG_CONFIG_HOME/pagek/nodes
mkdir -p "$XDG_CONFIG_HOME/pagek"
others=
stop() {
	for p in $others; do
		kill_node "$p"
	done
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

# Holds so many blocks of that size; stays until it is ended.
cat >"$tmp/holds.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile held[1000];
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++)
		held[i] = malloc((size_t)atoi(argv[2]));
	alarm(600);
	for (;;)
		pause();
	return argc;
}
C
cc -O1 -fno-builtin -o "$tmp/alpha" "$tmp/holds.c" || exit 1
cp "$tmp/alpha" "$tmp/beta"
cp "$tmp/alpha" "$tmp/gamma"
cp "$tmp/alpha" "$tmp/delta"

# at FOLDER COMMAND...: with the sockets of that folder.
at() {
	folder=$tmp/$1
	shift
	XDG_RUNTIME_DIR=$folder "$@" &
	others="$others $!"
}
# watch FOLDER PROGRAM ARGUMENTS...: a target, its pid in $watched.  On a machine
# that is busy it may not be heard, and is started again.
watch() {
	for try in 1 2 3 4 5; do
		at "$1" env "LD_PRELOAD=$B/liballoclog.so" "$2" ${3:-} ${4:-}
		watched=$!
		until_true 4 knows "$1" "$watched" && return
		kill "$watched"
	done
	return 1
}
# node FOLDER TARGET BLOCKS SIZE: a node and what it watches.
node() {
	mkdir -m 700 "$tmp/$1"
	at "$1" "$B/pageknode" 2>"$tmp/$1.log"
	eval "node_$1=$!"
	until_true 20 test -S "$tmp/$1/pagek/node" || return 1
	watch "$1" "$tmp/$2" "$3" "$4"
}
knows() {
	"$pagek" targets "unix:$tmp/$1/pagek/node" | grep -q "^pid:$2 .*LIVE"
}
node a alpha 20 7777 || { cat "$tmp/a.log"; exit 1; }
alpha_pid=$watched
node b beta 5 8888 || { cat "$tmp/b.log"; exit 1; }
# A node that takes the connection and says nothing.
python3 - "$tmp/mute" <<'P' &
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(8)
held = []
while True:
    held.append(s.accept())
P
others="$others $!"
until_true 20 test -S "$tmp/mute" || exit 1
cat >"$table" <<T
0590 linac-a unix:$tmp/a/pagek/node acnet=11.134
0509 linac-b unix:$tmp/b/pagek/node
0A12 gw-2 unix:$tmp/none
0B00 mute unix:$tmp/mute
T

# --- a page on a terminal -----------------------------------------------------

# open COLUMNS ROWS ARGUMENTS
open() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 80 -y 24 "exec env PS1='PK>' bash --norc --noprofile"
	t resize-window -t p -x "$1" -y "$2"
	wait_for 'PK>' || return 1
	shift 2
	rm -f "$tmp/pid"
	keys "clear; sh -c 'echo \$\$ >$tmp/pid; exec ${colour:-} $pagek $*'; echo ended \$?" Enter
	until_true 10 test -s "$tmp/pid"
}
ends() {
	keys q
	wait_for "^ended $1"
}
# Tab to the field (1 NODE, 2 L, 3 OFFS), Enter, what is typed, Enter.
write() {
	i=$1
	while [ "$i" -gt 0 ]; do
		keys Tab
		i=$((i - 1))
	done
	keys Enter
	keys -l "$2"
	keys Enter
}
# To the node of that number, and page K of what it watches is there.
goes() {
	write 1 "$1" && wait_for "^\*?NODE<$2>" && wait_for "$3"
}
# Blocks of beta by their size in either layout.
alpha='( 7,777|1E61) .*malloc'
beta='( 8,888|22B8) .*malloc'

there_and_back() {
	open "$1" "$2" --sort address 0590 && wait_for "NODE<0590>" &&
	    keys G && wait_for "$alpha" && keys Escape &&
	    goes 0509 0509 'LIVE|K MEMORY' && keys G && wait_for "$beta" &&
	    ! shows "$alpha" && goes linac-a 0590 'K MEMORY' && keys G &&
	    wait_for "$alpha" && ! shows "$beta" && ends 0
}
for size in "80 24" "124 30" "40 10"; do
	rule "NODE<> leads to another node and back, at $size" \
	    there_and_back $size
done
no_colour() {
	colour="env NO_COLOR=1"
	there_and_back 80 24
	r=$?
	colour=
	return $r
}
rule "without colour too" no_colour

stars() {
	open 80 24 0590 && wait_for '^NODE<0590> \*L<' && keys Tab &&
	    wait_for '^\*NODE<0590> L<' && keys Tab &&
	    wait_for '^NODE<0590> \*L<' && keys Tab &&
	    wait_for '^NODE<0590>  L<.*\*OFFS=' && keys Tab &&
	    wait_for '^\*NODE<0590> L<' && keys Escape &&
	    wait_for '^NODE<0590> \*L<.* OFFS=' && keys Tab &&
	    wait_for '^\*NODE<0590> L<' && keys j &&
	    wait_for '^NODE<0590> \*L<.* OFFS='
}
rule "the star is before the field that Tab has come to; j leads out of it" stars

short() {
	open 80 24 0590 && wait_for LIVE && goes 509 0509 beta && ends 0
}
rule "a number may be typed without the zero before it" short

# --- what does not lead anywhere ----------------------------------------------

# It is said, and alpha's page goes on.
stays() {
	open 80 24 0590 && wait_for "alpha\[" && write 1 "$1" &&
	    wait_for "$2" && shows 'NODE<0590>' && keys Escape &&
	    keys x && wait_for 'are reset' && shows 'alpha\[.*LIVE' &&
	    ends 0
}
rule "a number that no node has" stays 0A13 \
    'no node has the number 0A13: did you mean 0A12, gw-2'
rule "a digit that is none" stays 05x0 "no node '05x0': position 3"
rule "a name that no node has" stays linac-c "no node 'linac-c': did you mean"
rule "a node that is down" stays gw-2 '0A12 gw-2 is down: no node listens'
rule "a process that nobody watches" stays pid:1 'no node here watches process 1'
# A folder that others may write into is not looked at.
shut() {
	mkdir -p "$XDG_RUNTIME_DIR/pagek" && chmod 777 "$XDG_RUNTIME_DIR/pagek" &&
	    stays pid:1 'cannot look for a node that watches process 1: '
	r=$?
	chmod 700 "$XDG_RUNTIME_DIR/pagek"
	return $r
}
rule "nodes that cannot be looked for" shut
rule "a target that is no node's" stays demo:note 'quit, then'
left() {
	open 80 24 0590 && wait_for "alpha\[" && keys Tab Enter &&
	    keys -l 05 && wait_for 'NODE<05>' && keys Escape &&
	    wait_for 'NODE<0590> \*L<' && shows LIVE && ends 0
}
rule "Esc leaves the old value" left
# Line 1 has a clock: for so many of its seconds.
seconds_pass() {
	seconds=$1
	while [ "$seconds" -gt 0 ]; do
		clock=$(shot | head -n 1)
		changed() {
			[ "$(shot | head -n 1)" != "$clock" ]
		}
		until_true 10 changed || return 1
		seconds=$((seconds - 1))
	done
}
mute() {
	open 80 24 0590 && wait_for "alpha\[" && write 1 0B00 &&
	    wait_for 'going to 0B00 mute' && keys j && seconds_pass 4 &&
	    wait_for 'going to 0B00 mute' && shows 'alpha\[.*LIVE' &&
	    keys Escape && wait_for 'stayed here' && shows 'NODE<0590>' &&
	    ends 0
}
rule "a node that does not answer is waited for beside the picture, until Esc" mute
table_again() {
	open 80 24 0590 && wait_for "alpha\[" && write 1 0C00 &&
	    wait_for 'no node has the number 0C00' && keys Escape &&
	    cp "$table" "$tmp/table" &&
	    echo "0C00 late unix:$tmp/b/pagek/node" >>"$table" &&
	    goes 0C00 0C00 'late.*beta'
	r=$?
	cp "$tmp/table" "$table"
	return $r
}
rule "the table is read anew each time" table_again

# --- L and OFFS -----------------------------------------------------------------

listing() {
	open 124 30 0590 && wait_for "alpha\[" && write 2 0509 &&
	    wait_for '\*L<0509>' && write 2 0A13 &&
	    wait_for 'no node 0A13 in the table: nearest is 0A12 gw-2' &&
	    shows 'L<0509>' && keys Escape && write 2 /tmp/x &&
	    wait_for '\*L</tmp/x>' && goes 0509 0509 beta &&
	    wait_for '\*L</tmp/x>' && ends 0
}
rule "where listings go is written on the page, and stays on the way" listing
sends() {
	open 80 24 0590 && wait_for "alpha\[" && write 2 "$tmp/listing" &&
	    wait_for 'listings go to' && keys Tab Tab Enter Enter &&
	    until_true 20 test -s "$tmp/listing" &&
	    [ "$(grep -cE "$alpha|7,777 .*malloc" "$tmp/listing")" = 20 ] &&
	    ends 0
}
rule "Enter in L, with nothing typed, sends the list there" sends
# A node whose reader of names never answers.
nameless() {
	mkdir "$tmp/slow" && cp "$B/pageknode" "$tmp/slow" || return 1
	printf '#!/bin/sh\nexec cat 3>&1 >/dev/null\n' >"$tmp/slow/pagek-symbols"
	chmod 755 "$tmp/slow/pagek-symbols"
	mkdir -m 700 "$tmp/s"
	at s "$tmp/slow/pageknode" 2>"$tmp/s.log"
	node_s=$!
	until_true 20 test -S "$tmp/s/pagek/node" && watch s "$tmp/gamma" 7 9999
}
waiting='waiting for .* of .* names'
without="listing written to $tmp/blank \(.* blocks\); without the names? of [0-9]+"
blank() {
	nameless && open 124 30 --listing "$tmp/blank" \
	    "unix:$tmp/s/pagek/node" && wait_for 'gamma.*LIVE' && keys l &&
	    wait_for "$waiting" && wait_for "$without" &&
	    keys l && wait_for "$waiting" &&
	    goes 0590 0590 "alpha.*LIVE" && wait_for "$without" && ends 0
	r=$?
	kill_node "$node_s"
	return $r
}
rule "how many names a listing had to do without is said" blank
offs() {
	open 80 12 0590 && wait_for "alpha\[" && write 3 3 &&
	    wait_for 'OFFS= *3$' && write 3 1x &&
	    wait_for 'no digit at position 2' && keys Escape &&
	    wait_for ' OFFS= *3$' && write 3 77777 &&
	    wait_for 'past the end' && wait_for 'OFFS= *3$' && ends 0
}
rule "OFFS is written, and a wrong one is said" offs

# --- whatever the page is doing -----------------------------------------------

paused() {
	open 80 24 0590 && wait_for "alpha\[" && keys Space &&
	    wait_for PAUSED && goes 0509 0509 'beta.*LIVE' &&
	    ! shows PAUSED && ends 0
}
rule "a paused page goes on at the other node" paused
grouped() {
	open 124 30 0590 && wait_for "alpha\[" && keys b &&
	    wait_for 'group FUNCTION' && keys j Enter &&
	    goes 0509 0509 'beta.*LIVE' &&
	    wait_for 'group FUNCTION' && ends 0
}
rule "groups are those of the other node" grouped
over() {
	open 80 24 0590 && wait_for "alpha\[" && keys : &&
	    keys -l 'node 0509' && keys Enter && wait_for 'beta.*LIVE' &&
	    keys j Enter && wait_for '8,888 asked|8,888' && keys : &&
	    keys Escape && keys Escape && keys : && keys -l back &&
	    keys Enter && wait_for 'alpha.*LIVE' && keys '?' &&
	    wait_for '^HELP' && keys q && ends 0
}
detail() {
	open 80 24 0590 && wait_for "alpha\[" && write 1 0B00 &&
	    wait_for 'going to' && keys j Enter && wait_for asked &&
	    keys q && ends 0
}
rule ":node and :back do the same" over
rule "and one may look at blocks meanwhile" detail

own_target() {
	open 80 24 0590 && wait_for "alpha\[" && goes 0509/local 0509 beta &&
	    keys : && keys -l target && keys Enter &&
	    wait_for 'PID COMM' && wait_for ' beta ' && ! shows ' alpha ' &&
	    keys Escape && ends 0
}
rule ":target lists the targets of the node that is watched" own_target

fds() {
	ls -l "/proc/$(cat "$tmp/pid")/fd" | grep -c socket:
}
fds_are() {
	[ "$(fds)" = "$1" ]
}
closes() {
	open 80 24 0590 && wait_for "alpha.*LIVE" || return 1
	n=$(fds)
	for i in 1 2 3 4 5; do
		goes 0509 0509 "beta.*LIVE" && goes 0590 0590 "alpha.*LIVE" ||
		    return 1
	done
	until_true 5 fds_are "$n" || { fds; return 1; }
	ends 0
}
rule "a node that is left is left for good" closes

# --- nodes that end with their page, or whose end is told ---------------------

demo() {
	open 80 24 --at 39s demo:note && wait_for '008e66b8' &&
	    goes 0509 0509 "beta.*LIVE" && keys : && keys -l 'node -' &&
	    keys Enter && wait_for '008e66b8' && wait_for '\*L<0509>' &&
	    ends 0
}
rule "a demo stays until one comes back" demo
# The command's pid, from line 1.
gamma() {
	shot | sed -n '1s/.*gamma\[\([0-9]*\)\].*/\1/p'
}
lives() {
	! is_gone "$1"
}
runs() {
	open 80 24 run -- "$tmp/gamma" 7 9999 && wait_for "gamma.*LIVE" ||
	    return 1
	pid=$(gamma)
	goes 0509 0509 "beta.*LIVE" && lives "$pid" && keys : &&
	    keys -l back && keys Enter && wait_for "gamma.*LIVE" &&
	    goes 0509 0509 "beta.*LIVE" && ends 0 &&
	    shows 'gamma goes on and is watched' && lives "$pid"
	r=$?
	kill "$pid"
	return $r
}
rule "the command of pagek run goes on while another node is watched" runs
told() {
	open 80 24 run -- "$tmp/gamma" 7 9999 && wait_for "gamma.*LIVE" ||
	    return 1
	pid=$(gamma)
	goes 0509 0509 "beta.*LIVE" && kill "$pid" &&
	    until_true 10 is_gone "$pid" && ends 143 && ! shows 'goes on'
}
rule "one that has ended meanwhile is not said to go on" told
killed() {
	open 80 24 run -- "$tmp/gamma" 7 9999 && wait_for "gamma.*LIVE" ||
	    return 1
	pid=$(gamma)
	goes 0509 0509 "beta.*LIVE" && kill -TERM "$(cat "$tmp/pid")" &&
	    wait_for '^ended 143' && shows 'gamma goes on'
	r=$?
	kill "$pid"
	return $r
}
rule "a signal ends the page at another node as at its own" killed

# --- processes -----------------------------------------------------------------

# Two nodes of commands of their own in one folder.
searched() {
	live_gammas() {
		"$pagek" targets | sed -n 's/^pid:\([0-9]*\) .*gamma .*LIVE.*/\1/p'
	}
	one_lives_more() {
		[ "$(live_gammas | wc -l)" -gt "$before" ]
	}
	# Status 2: on a busy machine, the node was late.
	one_more() {
		before=$(live_gammas | wc -l)
		"$pagek" run --own-node -b --interval 600 -o /dev/null -- \
		    "$tmp/gamma" 3 $1 >"$tmp/run.log" 2>&1 &
		others="$others $!"
		until_true 20 one_lives_more || { "$pagek" targets; return 2; }
	}
	for size in 5555 6666; do
		tries one_more $size || return 1
	done
	pids=$(live_gammas)
	# Their commands would outlive them.
	others="$pids $others"
	open 80 24 0590 && wait_for "alpha\[" || return 1
	for pid in $pids; do
		write 1 "pid:$pid" && wait_for "gamma\[$pid\] *LIVE" ||
		    return 1
	done
	keys :
	keys -l back
	keys Enter
	wait_for 'gamma' && write 1 pid:1 &&
	    wait_for 'no node here watches process 1' && shows 'gamma.*LIVE' &&
	    ends 0
}
rule "a process is found on whichever of this user's nodes it is" searched

# A target at node b that makes as many events as it can.
torrent=$B/tests/targets/torrent
flooded() {
	watch b "$torrent" || return 1
	pid=$watched
	kill -USR1 "$pid" &&
	    open 80 24 0590 && wait_for "alpha\[" &&
	    goes "0509/pid:$pid" 0509 "torrent\[$pid\] *LIVE" &&
	    goes 0590 0590 "alpha.*LIVE" && ends 0
	r=$?
	kill "$pid"
	return $r
}
if [ -x "$torrent" ]; then
	rule "a target that is busier than can be read is reached too" flooded
else
	skip "a target that is busier than can be read: no $torrent"
fi

# --- ends of others ------------------------------------------------------------

asked() {
	watch b "$tmp/delta" 3 4444 || return 1
	other=$watched
	open 80 24 run -- "$tmp/gamma" 7 9999 && wait_for "gamma.*LIVE" ||
	    return 1
	pid=$(gamma)
	goes "0509/pid:$other" 0509 "delta.*LIVE" && keys Q &&
	    wait_for "send SIGTERM to delta\[$other\]" && keys y &&
	    wait_for '^ended 0' && shows 'the target has ended' &&
	    shows 'gamma goes on' && lives "$pid" && is_gone "$other"
	r=$?
	kill "$pid"
	return $r
}
rule "Q ends what is watched, not what was" asked
# The question was about alpha; when it is answered beta is watched.
unanswered() {
	open 80 24 0590 && wait_for "alpha\[" || return 1
	there=$(node_of "$node_b")
	kill -STOP "$there"
	write 1 0509 && wait_for 'going to 0509' && keys Q &&
	    wait_for 'send SIGTERM to alpha'
	r=$?
	kill -CONT "$there"
	[ $r = 0 ] && wait_for 'beta.*LIVE' && keys y &&
	    wait_for '^address 0x' && keys Escape &&
	    wait_gone '^address 0x' && knows a "$alpha_pid" && ends 0
}
rule "a question about a target is not answered for another" unanswered
# From page G, and with a page that is there already.  The first row is this
# machine, where the commands of the rule above still run.
by_page_g() {
	open 80 24 0590 && wait_for "alpha\[" && keys 6 && wait_for '^G NODES' &&
	    wait_for '0509 linac-b .* up' && keys g j Enter &&
	    wait_for 'beta.*LIVE' && ! shows '^G NODES' &&
	    keys 6 && wait_for '^G NODES' && keys g j Enter &&
	    wait_for 'this is 0509 linac-b' && ! shows '^G NODES' && ends 0
}
rule "page G leads to a node, and to the one that is watched" by_page_g
# What was watched at the node before is not there any more, or never again.
ended() {
	watch b "$tmp/delta" 3 4444 || return 1
	other=$watched
	open 80 24 "0509/pid:$other" && wait_for 'delta.*LIVE' &&
	    goes 0590 0590 "alpha.*LIVE" && kill "$other" && keys : &&
	    keys -l back && keys Enter && wait_for 'delta.*ENDED' && ends 0
}
rule "back at a process that has ended, its end is shown" ended
anew() {
	node c delta 3 4444 || return 1
	other=$watched
	echo "0C01 third unix:$tmp/c/pagek/node" >>"$table"
	open 80 24 0C01 && wait_for 'delta.*LIVE' &&
	    goes 0590 0590 "alpha.*LIVE" && kill "$other" || return 1
	kill_node "$node_c"
	rm -rf "$tmp/c"
	node c gamma 3 5555 && keys : && keys -l back && keys Enter &&
	    wait_for '0C01 third *gamma.*LIVE' && ends 0
}
rule "at a node that was started anew, what is there by now" anew
dies() {
	open 80 24 0590 && wait_for "alpha\[" && goes 0509 0509 "beta.*LIVE" ||
	    return 1
	# The supervisor of node b.
	kill_node "$node_b"
	wait_for 'NODE<0509>' && wait_for UNREACHABLE && keys : &&
	    keys -l back && keys Enter && wait_for 'alpha.*LIVE' &&
	    write 1 0509 && wait_for '0509 linac-b is down' &&
	    shows 'alpha.*LIVE' && ends 0
}
rule "from a node that has ended one comes back" dies

say_result
