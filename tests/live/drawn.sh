#!/bin/sh
# Bytes that a page of a busy target writes to its terminal.  Both pages are
# counted at the same time.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
seconds=15

# A page in a session of that name: page NAME ARGUMENT...
page() {
	name=$1
	shift
	t new-session -d -s "$name" -x 120 -y 40 "exec '$pagek' $*"
}
page often demo:1
page seldom --fps 1 demo:1
wait_on often LIVE
wait_on seldom LIVE
# The time over which is counted.
for name in often seldom; do
	t pipe-pane -t "=$name:" "exec cat >>'$tmp/$name'"
done
sleep $seconds
for name in often seldom; do
	t pipe-pane -t "=$name:"
done

# costs NAME BYTES: something, and less than that a second.
costs() {
	n=$(($(stat -c %s "$tmp/$1") / seconds))
	echo "$n bytes a second"
	look "$1"
	[ "$n" -gt 0 ] && [ "$n" -lt "$2" ]
}
rule "a busy target costs the terminal less than 8 kB a second" costs often 8192
rule "and less than 1 kB with one picture a second" costs seldom 1024
leave often
leave seldom
say_result
