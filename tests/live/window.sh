#!/bin/sh
# Page K of a target that logs more than a page reads.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
stop() {
	[ -s "$tmp/pid" ] && kill -CONT "$(cat "$tmp/pid")" &&
	    kill "$(cat "$tmp/pid")"
	end_terminal
} >/dev/null 2>&1
trap stop EXIT
pagek=$B/pagek
torrent=$B/tests/targets/torrent
[ -x "$torrent" ] || { echo "no $torrent: make targets"; exit 1; }

changes() {
	kill -USR1 "$pid"
}

# A page with a terminal of 110x24; $pid is the target's.
go() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 110 -y 24 "exec '$pagek' run -- \
	    sh -c 'echo \$\$ >$tmp/pid; exec $torrent'"
	t resize-window -t p -x 110 -y 24
	wait_for '20,000 blocks' && pid=$(cat "$tmp/pid") &&
	    wait_for "torrent\[$pid\]  LIVE"
}

# On a busy machine the target itself drops records, which is not this page's loss.
lacks_nothing() {
	hides INCOMPLETE || shows '[0-9] ring full'
}

enters() {
	go && wait_gone WINDOW && changes && wait_for 'LIVE 15 Hz  WINDOW' &&
	    wait_for 'visible rows and totals only' && lacks_nothing
}
rule "a page that has more to read than it can shows a window" enters

# Address and size of the rows of a shot.
rows_of() {
	sed -n 's/^\([0-9a-f]\{12\}\) *\([0-9,]*\) .*/\1 \2/p' "$1" |
	    tr -d ,
}
# ORDER head|tail: the same of as many rows of the list as $tmp/was has.
list_rows() {
	"$pagek" list --sort "$1" "pid:$pid" | grep -E '^[0-9a-f]{12}' |
	    "$2" -n "$(grep -c . "$tmp/was")" | awk '{ print $1, $2 }' |
	    tr -d ,
}
# A target that is stopped has its window for a second more, and what is shown
# at the end of it is all that it has logged.
caught() {
	kill -CONT "$pid" && wait_for WINDOW && kill -STOP "$pid" || return 1
	# One block more or less, and the end is elsewhere: also by what it had
	# logged and a busy node comes to only now.
	rm -f "$tmp/last"
	while keys "$1" && shot >"$tmp/shot" &&
	    grep -q WINDOW "$tmp/shot"; do
		mv "$tmp/shot" "$tmp/last"
	done
	[ -s "$tmp/last" ] && rows_of "$tmp/last" >"$tmp/was"
}
# KEY ORDER head|tail
equal_at() {
	keys "$1"
	caught "$1" || return 1
	list_rows "$2" "$3" >"$tmp/list"
	kill -CONT "$pid"
	[ "$(grep -c . "$tmp/was")" -ge 10 ] && diff "$tmp/list" "$tmp/was"
}
rule "its last rows by age are the list's" equal_at End age tail
rule "its first rows by age are the list's" equal_at Home age head
by_address() {
	keys s && wait_for '^SORT' && keys p && wait_for 'order ADDRESS' && equal_at End address tail
}
rule "its last rows by address are the list's" by_address
rule "its first rows by address are the list's" equal_at Home address head

groups_whole() {
	keys b && changes && wait_gone 'WINDOW|LOADING' &&
	    wait_for '^[+] main  torrent.c:[0-9]* .* 20,000 ' && keys t &&
	    wait_for 'order ADDRESS' && changes && wait_for WINDOW
}
rule "groups are made of all blocks" groups_whole

pauses() {
	keys Space && changes && wait_for PAUSED && keys End &&
	    wait_for 'OFFS=19,9' && changes && keys Home &&
	    wait_for 'OFFS= *0' && lacks_nothing && keys Space &&
	    wait_gone PAUSED && wait_for WINDOW
}
rule "a paused picture is one of the whole list" pauses

leaves() {
	changes && wait_gone WINDOW && wait_gone LOADING && lacks_nothing &&
	    shows 'order ADDRESS' && keys End &&
	    until_true 10 same_end
}
same_end() {
	shot >"$tmp/shot"
	rows_of "$tmp/shot" >"$tmp/was"
	list_rows address tail >"$tmp/list"
	[ -s "$tmp/list" ] && cmp "$tmp/list" "$tmp/was"
}
rule "when the torrent ceases the page has the list, and the list is right" leaves

ends() {
	changes && wait_for WINDOW && kill -TERM "$pid" && wait_for ENDED &&
	    wait_gone WINDOW && keys Home && wait_for 'OFFS= *0' &&
	    keys End && wait_for 'OFFS=19,9' && until_true 10 same_end
}
rule "the last picture of a target that ends is one of the whole list" ends

keys q
# --- a flood ---------------------------------------------------------------------

# A generator that overruns the retained queue.  By rows and totals a
# page has lost nothing; what needs the whole list counts what it has not read,
# and takes it anew.
flood() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 110 -y 24 "exec '$pagek' demo:flood"
	wait_for 'demo-flood  LIVE'
}
flooded() {
	flood && wait_for WINDOW && hides 'INCOMPLETE' &&
	    wait_gone 'WINDOW|LOADING' && hides 'INCOMPLETE' &&
	    shows ' lost 0'
}
rule "a flood that overruns the queue loses nothing of a page of rows" flooded
# INCOMPLETE stands there until the list is in, which may take less than a picture.
counted() {
	flood && keys b &&
	    wait_for '[0-9,]+ records .*nothing is missing' &&
	    wait_gone 'INCOMPLETE|LOADING' && keys q
}
rule "of groups what was lost is told with its count, and the list taken anew" counted

say_result
