#!/bin/sh
# What a page writes to its terminal: little, and next to nothing for a target
# that rests.  Bytes are counted, over thirty seconds where much happens.  Needs
# tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
seconds=30

# written BYTES: no more than that a second, and something at all.
written() {
	: >"$tmp/bytes"
	t pipe-pane -t p "exec cat >>'$tmp/bytes'"
	sleep $seconds
	t pipe-pane -t p
	n=$(($(stat -c %s "$tmp/bytes") / seconds))
	echo "$n bytes a second"
	shot
	[ "$n" -gt 0 ] && [ "$n" -lt "$1" ]
}

# page BYTES REGEX ARGUMENT...: of a page that shows REGEX by then.
page() {
	most=$1
	until=$2
	shift 2
	t new-session -d -s p -x 120 -y 40 "exec '$pagek' $*"
	# Seventy seconds for a target to be one that has rested for a minute.
	until_true 90 shows "$until" && written "$most"
	held=$?
	keys q
	until_true 10 sh -c "! tmux -u -S '$tmp/tmux' has-session -t p"
	return $held
}

rule "a busy target costs the terminal less than 8 kB a second" \
	page 8192 'LIVE' demo:1
rule "and less than 1 kB with one picture a second" \
	page 1024 'LIVE' --fps 1 demo:1
seconds=10
rule "a target that rests costs it less than 100 bytes a second" \
	page 100 '1m[0-5]0s' run -- sleep 200
say_result
