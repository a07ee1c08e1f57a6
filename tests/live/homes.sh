#!/bin/sh
# The page of 124 columns tells all at once, and leaves a home as it was.
# Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
# Before the server of the terminals begins: they have its environment.
HOME=$tmp/home
export HOME
unset XDG_STATE_HOME XDG_DATA_HOME XDG_CACHE_HOME
XDG_CONFIG_HOME=$HOME/.config
. "$(dirname "$0")/lib_terminal.sh"

# page ARGUMENT...: opened at 124 by 30, and live.
page() {
	t new-session -d -s p -x 124 -y 30 "exec '$pagek' $*" && wait_for LIVE
}

quit() {
	keys q
	until_true 10 sh -c "! tmux -u -S '$tmp/tmux' has-session -t p"
}

told_at_once() {
	shot >"$tmp/shot"
	cat "$tmp/shot"
	head -n 1 "$tmp/shot" | grep -qE '0001 .*demo-1 .*LIVE' || return 1
	# Cycle time, records of a cycle, active, free, type, duplicate, full.
	[ "$(grep -cE '[0-9]+(us|ms).* rec .*act .*free .*typ .*dup .*full ' "$tmp/shot")" -eq 1 ] &&
	    [ "$(wc -L <"$tmp/shot")" -le 124 ]
}

seen_at_once() {
	page demo:1 && told_at_once
	held=$?
	quit
	return $held
}

# Names, times and bytes of all there is.
home_is() {
	find "$HOME" -exec stat -c '%n %F %a %s %y' {} + | sort
	find "$HOME" -type f -exec cat {} +
}

as_before() {
	home_is >"$tmp/before"
	for _ in 1 2; do
		page demo:1 || return 1
		keys Down Down F z s
		wait_for LIVE
		keys Escape Escape
		quit || return 1
		home_is | diff "$tmp/before" - || return 1
	done
}

unchanged() {
	rm -rf "$HOME"
	mkdir -p "$HOME/.config/pagek" "$HOME/elsewhere"
	"$@" && as_before
}

by_a_link() {
	printf '# mine\nsort = size\nno such line\n' >"$HOME/elsewhere/config"
	ln -s ../../elsewhere/config "$HOME/.config/pagek/config"
}

device() {
	ln -s /dev/null "$HOME/.config/pagek/config"
}

rule "one status line has the note's seven counters, and line 1 who is watched" \
	seen_at_once
rule "a home without settings is as it was after two pages" unchanged true
rule "so is one whose settings are behind a link, with a bad line" \
	unchanged by_a_link
rule "so is one whose settings are a device" unchanged device
say_result
