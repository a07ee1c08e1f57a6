#!/bin/sh
# Mark, difference and drain on a program that leaks on command and knows how
# much: what came and went is counted right though addresses are used again, the
# leak is found, and a drain leaves nothing else.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
leaks=$B/tests/targets/leaks
[ -x "$leaks" ] || { echo "no $leaks: make targets"; exit 1; }
mkfifo "$tmp/orders" || exit 1
exec 9<>"$tmp/orders"
stop() {
	[ -s "$tmp/pid" ] && kill "$(cat "$tmp/pid")"
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

t new-session -d -s p -x 124 -y 40 "exec '$pagek' run --stack 8 -- \
    sh -c 'echo \$\$ >$tmp/pid; exec $leaks $tmp/orders $tmp/told'"
t resize-window -t p -x 124 -y 40
until_true 30 grep -qs live "$tmp/told" || { shot; exit 1; }

# The N-th word that the program said last: 1 rounds, 3 leaks, 5 live blocks.
told() {
	tail -n 1 "$tmp/told" | cut -d ' ' -f "$1"
}
# The same with its digits in groups, as the page has them.
said() {
	told "$1" | sed ':again
	s/\([0-9]\)\([0-9]\{3\}\)\(,\|$\)/\1,\2\3/
	t again'
}
has_done() {
	[ "$(wc -l <"$tmp/told")" -ge "$1" ]
}
# order LETTERS: until the program has done all of them.
order() {
	want=$(($(wc -l <"$tmp/told") + ${#1}))
	printf %s "$1" >&9
	until_true 30 has_done "$want"
}

marks() {
	wait_for 'leaks\[[0-9]*\]' && wait_for " $(said 5) blocks" &&
	    keys m && wait_for "^marked [0-9:]*, $(said 5) blocks, " &&
	    wait_for 'mark: [0-9:]{8} \+0 -0'
}
rule "a mark has as many blocks as the program" marks

# 30 leaked, the cache's 20 and the grown one are other ones each time.
counts() {
	order wwwwwwwwww && wait_for 'mark: [0-9:]{8} \+51 -20 '
}
rule "what came and what went is right though addresses are used again" counts

differs() {
	keys d && wait_for '^H DIFF  mark .* 51 new  20 freed' &&
	    wait_for '^leak_here .* 30  *32.5 KiB  *0  *0 B  *\+32.5 KiB' &&
	    wait_for '^replace_cache .* 20  *9.8 KiB  *20  *9.8 KiB  *0 B' &&
	    wait_for '^grow_one .* 1 ' && hides '^main '
}
rule "the difference has each function with what it allocated and freed" differs

grows() {
	order w && shows '^leak_here .* LEAK\? [0-9]+/[0-9]+ intervals up'
}
finds() {
	until_true 90 grows && hides '^replace_cache .*LEAK' &&
	    hides '^main .*LEAK'
}
rule "what leaks in each interval is called a leak, and a cache is not" finds

lists() {
	wait_for "^leak_here .* $(said 3)  *[0-9.]* KiB  *0 " && keys g Enter &&
	    wait_for "^leak_here .*: $(said 3) new, 0 freed" &&
	    wait_for '^new  *[0-9a-f]{12}  *1,111 malloc' || return 1
	[ "$(shot | grep -c '^new ')" -gt 20 ] &&
	    ! shot | grep '^new ' | grep -v ' 1,111 malloc .* leak_here'
}
rule "Enter lists the blocks that leaked, and no others" lists

details() {
	keys Enter && wait_for '1,111 asked' && wait_for 'leak_here' &&
	    keys Escape && wait_gone '1,111 asked' && keys Escape &&
	    wait_for '^FUNCTION' && keys Escape && wait_gone '^H DIFF'
}
rule "Enter once more shows one in detail, and Esc leads back" details

drains() {
	was=$(said 5)
	leaked=$(said 3)
	wait_for " $was blocks" && keys D &&
	    wait_for "^drain since [0-9:]{8}: $was left of $was" &&
	    order wwf && wait_for "^drain since [0-9:]{8}: $leaked left" ||
	    return 1
	shown=$(shot | sed -n 's/^[0-9a-f]\{12\} *\([0-9,]*\) .*/\1/p' |
	    sort -u)
	[ "$shown" = 1,111 ] && keys D && wait_gone '^drain' &&
	    wait_for " $(said 5) blocks"
}
rule "a drain leaves what leaked before it, exactly" drains

# By then no block of the mark's is there any more.
empties() {
	keys m && wait_for "^marked .* $(said 5) blocks" && keys d &&
	    wait_for ' 0 new  0 freed' && order w && keys b &&
	    wait_for '24 new, 21 freed' && keys d d &&
	    wait_for 'view: freed' && wait_gone '^new ' || return 1
	[ "$(shot | grep -c '^freed ')" = 21 ] && keys Escape &&
	    wait_gone '^H DIFF'
}
rule "a new mark begins anew, and blocks are listed as new and as freed" empties

small() {
	for size in 80x24 40x10 20x5 1x1 124x40; do
		t resize-window -t p -x "${size%x*}" -y "${size#*x}"
		keys d
		keys b
		keys b
		keys Enter
		keys Escape
		keys Escape
	done
	wait_for '^K MEMORY BLOCKS'
}
rule "page H opens on any terminal" small

say_result
