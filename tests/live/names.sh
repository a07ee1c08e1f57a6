#!/bin/sh
# Targets by the names of their commands, behind a node of the table, a socket or
# another machine, and on the page.  Screens are compared with
# tests/golden/names-*.ok.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
. "$(dirname "$0")/lib_ssh.sh"

here=$tmp/here
mkdir -p "$here" "$XDG_CONFIG_HOME/pagek"
for name in server alone; do
	cp "$B/tests/targets/hold" "$here/$name" || exit 1
done
cat >"$XDG_CONFIG_HOME/pagek/nodes" <<T
0590 linac-a local
0A12 gw-2 unix:$node
0509 linac-b ssh:page
T
helpers=
start() {
	(cd "$here" && LD_PRELOAD=$B/liballoclog.so exec ./"$@") &
	helpers="$helpers $!"
	last=$!
}
# Two of one name: the second is the newest.
start server 11 end.first 0
first=$last
watches() {
	"$pagek" targets | grep -q "^pid:$1 .*LIVE"
}
until_true 20 watches "$first" || exit 1
start server 22 end.second 0
second=$last
until_true 20 watches "$second" || exit 1

# --- on the command line --------------------------------------------------------

# holds N WORD: the target of that word has N blocks.
holds() {
	"$pagek" list --format json "$2" >"$tmp/json" 2>"$tmp/why" ||
	    { cat "$tmp/why"; return 1; }
	[ "$(grep -c '"size": 7777,' "$tmp/json")" = "$1" ]
}
for word in server local/server linac-a/server gw-2/server 0a12/server \
    node:0A12/server ssh:page/server linac-b/server; do
	rule "$word is the newest live target of that command" holds 22 $word
done

alone() {
	"$pagek" run --own-node -b -o /dev/null -- "$here/alone" 7 \
	    "$here/end.alone" 0 &
	run=$!
	until_true 20 holds 7 ssh:page/alone
	it=$?
	touch "$here/end.alone"
	wait $run
	return $it
}
rule "another machine's bridge finds the node that has the command" alone

# refused STATUS SENTENCE WORD
refused() {
	"$pagek" list "$3" 2>"$tmp/why"
	status=$?
	cat "$tmp/why"
	[ $status = "$1" ] && [ "$(wc -l <"$tmp/why")" = 1 ] && grep -q "$2" "$tmp/why"
}
rule "a command that the node does not watch is answered with what there is" \
    refused 3 "the node at unix:.* watches no 'servre': it watches torrent and server" \
    gw-2/servre
rule "so it is behind ssh" refused 3 \
    "the node at ssh:page watches no 'none': it watches torrent and server" ssh:page/none
rule "here, too, one sentence" refused 3 "no target here is called 'none'" local/none
rule "a number behind a node is the name of a command, or the sentence has pid:" \
    refused 3 "watches no '4711', for a process write pid:4711: it watches torrent and server" \
    gw-2/4711
rule "behind local, too" refused 3 "no target here is called '4711', for a process write pid:4711" \
    local/4711
cp "$here/server" "$here/4711"
start 4711 33 end.number 0
number=$last
numbers() {
	until_true 20 watches "$number" || return 1
	for word in 4711 local/4711 gw-2/4711 ssh:page/4711; do
		holds 33 $word || return 1
	done
	touch "$here/end.number"
}
rule "such a command is found behind each" numbers
cat >>"$XDG_CONFIG_HOME/pagek/nodes" <<T
0D00 vault unix:$tmp/vault
T
rule "a node that does not run is named, with its place and what to do" \
    refused 3 "node 0D00 vault: no node listens at '$tmp/vault': No such file.*start pageknode there" \
    vault/server
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).bind(sys.argv[1])' \
    "$tmp/vault"
rule "likewise if it was killed" \
    refused 3 "node 0D00 vault: no node listens at '$tmp/vault': it has ended without" D00
rule "a word with a slash that names no node says where it was looked for" \
    refused 3 "no node 'nope' in the table ($XDG_CONFIG_HOME/pagek/nodes, /etc/pagek/nodes), and no socket at 'nope/server'" \
    nope/server
rule "so does one that begins like a number" refused 3 "no node 'ab' in the table" ab/c
rule "a similar name is suggested" refused 3 "no node 'gw-3': did you mean gw-2" gw-3/server

completes() {
	"$pagek" completion targets >"$tmp/words" && cat "$tmp/words" &&
	    [ "$(grep -c '^server	' "$tmp/words")" = 1 ]
}
rule "completion of a shell has each command once" completes

# --- on the page ----------------------------------------------------------------

# open WIDTH HEIGHT WORD
open() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" "PATH=$PATH '$pagek' $3; exec cat"
	wait_for 'LIVE'
}
typed() {
	keys :
	keys -l "$1"
	keys Enter
}
by_commands() {
	open 80 24 "pid:$target" && typed 'target server' &&
	    wait_for "server\[$second\]  LIVE" && typed back
	typed "node 0A12/torrent" && wait_for "torrent\[$target\]  LIVE" &&
	    typed 'node server' && wait_for "server\[$second\]  LIVE" &&
	    typed 'node gw-2/torrent' && wait_for "torrent\[$target\]  LIVE" &&
	    typed 'node linac-b/server' && wait_for "server\[$second\]  LIVE"
}
rule ":target and :node go to the newest target of a command" by_commands

by_field() {
	open 80 24 "unix:$node" || return 1
	typed 'node gw-2/torrent' && wait_for "torrent\[$target\]  LIVE" &&
	    keys Tab Enter && wait_for 'a name or a command' &&
	    keys -l server && keys Enter &&
	    wait_for "server\[$second\]  LIVE"
}
rule "so does the field NODE" by_field

# The target may be older than a minute, on a slow machine.
as_young() {
	screen_is "$1" 's/ +[0-9]+m[0-9]+s( =)?/ 59s/'
}
# at WIDTH HEIGHT: what is said, and what Tab shows.
at() {
	open "$1" "$2" "pid:$second" && wait_for ' main' || return 1
	typed 'node gw-2/none' &&
	    wait_for "^0A12 gw-2 watches no 'none': it watches torrent and server" ||
	    return 1
	as_young "names-none-$1" || return 1
	typed 'node none' && wait_for "no target or node 'none'" && as_young "names-nothing-$1" || return 1
	keys :
	keys -l 'target s'
	keys Tab
	wait_for ':target server' && as_young "names-tab-$1"
	it=$?
	keys Escape q
	return $it
}
rule "an unknown name is answered with one sentence, and Tab completes, at 80x24" at 80 24
rule "and at 124x35" at 124 35

ended() {
	touch "$here/end.second"
	until_true 20 gone_pid "$second" && holds 11 gw-2/server &&
	    is_remarked gw-2/server gw-2/ && holds 11 server &&
	    is_remarked server '' && holds 22 "gw-2/pid:$second" || return 1
	remarked_page || return 1
	touch "$here/end.first"
	until_true 20 gone_pid "$first" && holds 11 gw-2/server || holds 22 gw-2/server
}
# is_remarked WORD NODE: the word's process is another than the one that has ended.
is_remarked() {
	cat "$tmp/why"
	grep "'$1' is server\[$first\], which lives; server\[$second\] has ended: ${2}pid:$second\$" \
	    "$tmp/why"
}
remarked_page() {
	open 124 35 gw-2/server && wait_for "server\[$second\] has ended: gw-2/pid:$second" &&
	    keys q
}
gone_pid() {
	"$pagek" targets | grep -q "^pid:$1 .*ENDED"
}
rule "where the newest has ended it is the one that lives, which is said, then the last that ended" ended
# Names that a shell would take apart: each is reached as it is called, and completed
# by its process.
odd() {
	for name in 'my server' 'a:b' "$(printf 'c\nd')" '$(id)' 'x"y' '-h' "$(printf '\303\274%.0s' 1 2 3 4 5 6 7 8 9)"; do
		cp "$here/server" "$here/$name" && start "$name" 3 end.odd 0 &&
		    until_true 20 watches "$last" || return 1
		"$pagek" list --format json -- "$name" >"$tmp/json" 2>"$tmp/why" ||
		    { cat "$tmp/why"; return 1; }
		grep -q "\"pid\": $last, " "$tmp/json" || return 1
		"$pagek" completion targets >"$tmp/words"
		grep -q "^pid:$last	" "$tmp/words" || return 1
	done
	touch "$here/end.odd"
	# No word has a blank or what shells read otherwise.
	[ -z "$(cut -f 1 "$tmp/words" | LC_ALL=C grep -v '^[A-Za-z0-9_./:@%+-]*$')" ] &&
	    ! cut -f 1 "$tmp/words" | grep -q '^-' && ! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037]')" "$tmp/words"
}
rule "a command with blanks, a colon or control characters is found and completed" odd

# More targets that have ended than the node keeps lists of.
given_up() {
	oldest=
	for i in $(seq 18); do
		(cd "$here" && LD_PRELOAD=$B/liballoclog.so exec ./alone 1 / 0) &
		oldest=${oldest:-$!}
		wait $!
		until_true 20 gone_pid "$!" || return 1
	done
	refused 3 "NO ALLOCLOG: ALLOCLOG.alone.$oldest: it has ended, and its list was discarded [0-9]* s later: the node keeps those of the last 16 ended targets; 'pagek targets' lists" \
	    "pid:$oldest"
}
rule "an ended target whose list was given up says so, after how long and for which limit" given_up
say_result
