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

t new-session -d -s p -c "$tmp" -x 124 -y 40 "exec '$pagek' run --stack 8 -- \
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
	keys d && wait_for '^H DIFF  .*  mark .* 51 new  20 freed' &&
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

saves() {
	rm -f "$tmp"/pagek-*.txt
	keys e && wait_for 'saved as pagek-' || return 1
	cat "$tmp"/pagek-*.txt
	grep -q '^H DIFF  .*  mark ' "$tmp"/pagek-*.txt &&
	    grep -q '^leak_here ' "$tmp"/pagek-*.txt &&
	    ! grep -q 'Esc' "$tmp"/pagek-*.txt &&
	    keys l && wait_for 'a listing is of page K'
}
rule "e saves page H, and l says that a listing is of page K" saves

lists() {
	wait_for "^leak_here .* $(said 3)  *[0-9.]* KiB  *0 " && keys g Enter &&
	    wait_for "^leak_here .*: $(said 3) new, 0 freed" &&
	    wait_for '^new  *[0-9a-f]{12}  *1,111  *malloc' || return 1
	[ "$(shot | grep -c '^new ')" -gt 20 ] &&
	    ! shot | grep '^new ' | grep -v ' 1,111  *malloc .* leak_here'
}
rule "Enter lists the blocks that leaked, and no others" lists

details() {
	keys Enter && wait_for '1,111 asked' && wait_for 'leak_here' &&
	    keys Escape && wait_gone '1,111 asked' && keys Escape &&
	    wait_for '^FUNCTION' && keys Escape && wait_gone '^H DIFF'
}
rule "Enter once more shows one in detail, and Esc leads back" details

# Keys typed ahead of the picture count, too.
kinds() {
	keys d && wait_for '^FUNCTION' && keys b b b &&
	    wait_for '^MODULE ' && keys b && wait_for '^FRAME ' &&
	    wait_for '^main .* ' && keys b b b b && wait_for '^AGED ' &&
	    keys b && wait_for '^BORN ' && keys b && wait_for '^FUNCTION ' &&
	    keys f && t send-keys -t p 'size=1111' Enter &&
	    wait_for '^H DIFF .* filtered' && wait_for '^filter size=1111 ' &&
	    hides '^replace_cache ' && keys f && t send-keys -t p Enter &&
	    wait_gone '^filter size' && keys Escape && wait_gone '^H DIFF' &&
	    keys t
}
rule "b groups the difference by all kinds, f filters it" kinds

pages() {
	keys 5 && wait_for '^H DIFF' && keys 5 && wait_for 'this is page H' &&
	    keys 6 && wait_for '^G NODES' && keys 5 && wait_for '^H DIFF' &&
	    keys 1 && wait_gone '^H DIFF' && t send-keys -t p :H Enter &&
	    wait_for '^H DIFF' && keys 1 && wait_gone '^H DIFF'
}
rule "5 and :H go to page H, from page G too" pages

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
	    wait_for ' 0 new  0 freed' && order w && keys t &&
	    wait_for '23 new  20 freed  1 grown' &&
	    wait_for '^23 new, 20 freed, 1 grown' && keys d d &&
	    wait_for 'view: freed' && wait_gone '^new ' || return 1
	[ "$(shot | grep -c '^freed ')" = 20 ]
}
rule "a new mark begins anew, and blocks are listed as new and as freed" empties

# Its size behind the N-th round is 2000 + 16 N.
grown_is() {
	set -- $(shot | sed -n 's/,//g; s/^grown  *[0-9a-f]\{12\}  *\([0-9]*\)  *\([0-9]*\)  *realloc .*grow_one.*/\1 \2/p')
	[ $# = 2 ] && [ "$1" = $((2000 + 16 * $(told 1))) ] &&
	    [ "$2" = "$grown_was" ]
}
grows_by_block() {
	grown_was=$((2000 + 16 * ($(told 1) - 1)))
	keys d && wait_for 'view: grown' && wait_gone '^freed ' &&
	    until_true 10 grown_is && order www && until_true 10 grown_is &&
	    wait_for ' 32 new  20 freed  1 grown' || return 1
	keys ":export $tmp/diff.json" Enter &&
	    until_true 10 test -s "$tmp/diff.json" &&
	    python3 - "$tmp/diff.json" "$grown_was" "$(told 1)" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "pagek.difference/2" and d["view"] == "grown"
[b] = d["blocks"]
assert b["change"] == "grown" and b["function"] == "grow_one"
assert b["size_at_mark"] == int(sys.argv[2])
assert b["size"] == 2000 + 16 * int(sys.argv[3])
PY
}
rule "a block that realloc makes larger is one that has grown, with both sizes" \
    grows_by_block
keys Escape
wait_gone '^H DIFF'

# Documents before the work and behind it, and a page as text.
text_differs() {
	"$pagek" --page=H -b --interval 0.3 --format ndjson \
	    "pid:$(cat "$tmp/pid")" >"$tmp/nd" &
	text=$!
	until_true 30 test -s "$tmp/nd" && order wwwww && more=$(wc -l \
	    <"$tmp/nd") && until_true 30 sh -c \
	    "[ \$(wc -l <'$tmp/nd') -gt $((more + 1)) ]"
	held=$?
	kill $text
	wait $text
	[ $held = 0 ] && python3 - "$tmp/nd" <<'PY'
import json, sys
docs = [json.loads(l) for l in open(sys.argv[1]) if l.endswith("\n")]
assert len({d["mark"] for d in docs}) == 1
first, last = ({g["name"]: g for g in d["groups"]} for d in (docs[0], docs[-1]))
print(first, last)
assert not first
assert last["leak_here"]["new_blocks"] == 15
assert all(g["est_" + k] == g[k] for g in last.values() for k in
    ("new_blocks", "new_bytes", "freed_blocks", "freed_bytes", "net_bytes"))
assert last["leak_here"]["net_bytes"] == 15 * 1111
# The cache has twenty places, and other blocks in them now.
assert last["replace_cache"]["new_blocks"] == 20
assert last["replace_cache"]["freed_blocks"] == 20
assert last["replace_cache"]["net_bytes"] == 0
PY
}
rule "page H as text compares with its own beginning" text_differs

begins_there() {
	t new-window -t p: "exec '$pagek' --page=H pid:$(cat "$tmp/pid")" &&
	    wait_for '^H DIFF  .*  mark .* 0 new  0 freed' && order w &&
	    wait_for '^leak_here .* 3 ' && keys q && wait_for '^K MEMORY'
}
rule "a page that begins with H has marked what is there" begins_there

small() {
	for size in 80x24 40x10 20x5 1x1 124x40; do
		t resize-window -t p -x "${size%x*}" -y "${size#*x}"
		keys d
		keys t
		keys t
		keys b
		keys Enter
		keys Escape
		keys Escape
	done
	wait_for '^K MEMORY BLOCKS'
}
rule "page H opens on any terminal" small

say_result
