#!/bin/sh
# --duration: what comes again and again ends by itself, with status 0, and so
# does the page.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
trap end_terminal EXIT

# ends STATUS ARGUMENTS...: by itself; what it prints is in $tmp/out.
ends() {
	want=$1
	shift
	timeout 60 "$pagek" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	cat "$tmp/out" "$tmp/err"
	[ "$got" = "$want" ]
}

watch_ends() {
	ends 0 watch --interval 0.2 --duration 1 demo:1 || return 1
	n=$(wc -l <"$tmp/out")
	# One line at once, and no more than fit in.
	[ "$n" -ge 2 ] && [ "$n" -le 7 ] && [ ! -s "$tmp/err" ]
}
rule "watch ends when its time is over" watch_ends
object() {
	ends 0 watch --duration 0.3 --format json demo:1 &&
	    python3 -m json.tool <"$tmp/out" >/dev/null
}
rule "and what it writes as one object is whole then" object
one() {
	ends 0 -b --classic --interval 60 --duration 0.2 demo:note &&
	    [ "$(grep -c 'NODE<0590>' "$tmp/out")" = 1 ]
}
rule "nothing is waited for that would come later" one
page_g() {
	ends 3 -b --page G --interval 60 --duration 0.2 &&
	    [ "$(grep -c "^G NODES" "$tmp/out")" = 1 ]
}
rule "page G as text ends the same" page_g
counted() {
	ends 0 watch --interval 0.1 --count 2 --duration 600 demo:1 &&
	    [ "$(wc -l <"$tmp/out")" = 3 ]
}
rule "--count may come first" counted

page_ends() {
	t new-session -d -s p -x 80 -y 24 "exec env PS1='PK>' bash --norc --noprofile"
	wait_for 'PK>' || return 1
	keys "clear; $pagek --duration 2 demo:1; echo ended \$?" Enter
	wait_for '^ended 0'
}
rule "the page is left without a key, and the terminal is as it was" page_ends

say_result
