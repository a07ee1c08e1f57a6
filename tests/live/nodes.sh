#!/bin/sh
# The table of nodes: a number and a name for this machine and for others, by
# which every command finds them.  The way over ssh is in ssh.sh.
. "$(dirname "$0")/lib.sh"

pagek=$B/pagek
table=$XDG_CONFIG_HOME/pagek/nodes
mkdir -p "$XDG_CONFIG_HOME/pagek"
torrent=$B/tests/targets/torrent
[ -x "$torrent" ] || { echo "no $torrent: make targets"; exit 1; }
daemon=
target=
stop() {
	for p in $target $daemon; do
		kill "$p" && wait "$p"
	done
	rm -rf "$tmp"
} >/dev/null 2>&1
trap stop EXIT
trap 'exit 1' TERM INT

cat >"$table" <<T
# number name   where
0590 linac-a    local acnet=11.134
0A12 gw-2       unix:$XDG_RUNTIME_DIR/pagek/node classic=6801	# the same one
0509 linac-b    nowhere
T

# --- the table itself ----------------------------------------------------------

text() {
	"$pagek" nodes >"$tmp/out" 2>"$tmp/err" || return 1
	[ "$(wc -l <"$tmp/err")" = 1 ] &&
	    grep -q "^pagek: $table:4: 'nowhere' is not a place" "$tmp/err" &&
	    grep -q "^0590   linac-a  *local  *AB86  *$table:2\$" "$tmp/out" &&
	    grep -q "^0A12   gw-2  *unix:.*/node  *CA12  *$table:3\$" "$tmp/out"
}
rule "pagek nodes lists what can be read, and says what cannot, once" text
json() {
	"$pagek" nodes --format json 2>/dev/null | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "pagek.nodes/1"
mine = [n for n in d["nodes"] if n["file"] == sys.argv[1]]
a, b = mine
assert (a["number"], a["name"], a["where"]) == ("0590", "linac-a", "local")
assert (a["acnet"], a["friendly"], a["line"]) == ("11.134", "AB86", 2)
assert a["classic"] is None and a["remote"] is None
assert (b["number"], b["classic"], b["friendly"]) == ("0A12", 6801, "CA12")
' "$table"
}
rule "so it does as JSON" json

# Paths of one length everywhere; the last column is that of the file.
mkdir -p "$tmp/fixed/pagek"
cat >"$tmp/fixed/pagek/nodes" <<T
0590 linac-a          local acnet=11.134
0A10 a-very-long-name ssh:operator@a-machine-of-a-long-name:2222
0A12 gw-2             unix:/run/gw-2/node classic=6801
0B13 g                ssh:g
T
aligned() {
	XDG_CONFIG_HOME=$tmp/fixed "$pagek" nodes >"$tmp/out" &&
	    sed "s#$tmp/#TMP/#" "$tmp/out" | grep -v ' /etc/' >"$tmp/text"
	golden=$top/tests/golden/nodes-columns.ok
	[ "${PAGEK_GOLDEN-}" != write ] || cp "$tmp/text" "$golden"
	[ -s "$tmp/text" ] && diff -u "$golden" "$tmp/text"
}
rule "its columns are as wide as what is in them" aligned

# --- a node that has a number -----------------------------------------------

"$B/pageknode" >"$tmp/log" 2>&1 &
daemon=$!
is_up() {
	[ -S "$XDG_RUNTIME_DIR/pagek/node" ]
}
until_true 20 is_up || { cat "$tmp/log"; exit 1; }
start_watched "$torrent" || exit 1
target=$watched
watched() {
	"$pagek" targets "$1" 2>/dev/null | grep -q "^pid:$target .*LIVE"
}
rule "targets of a node by its name" until_true 20 watched linac-a
rule "and by its number" until_true 20 watched 0a12
logged() {
	[ "$(grep -c ":4: 'nowhere' is not a place" "$tmp/log")" = 1 ]
}
rule "a standalone node says what is wrong with the table, once" logged

# shows NUMBER NAME WORD: page K of that word is the target's, with the number
# and the name by which the node was asked for, whatever it calls itself.
shows() {
	COLUMNS=80 "$pagek" --once "$3" 2>/dev/null | head -n 2 >"$tmp/page"
	cat "$tmp/page"
	grep -q "$1 $2 *torrent\[$target\]" "$tmp/page" &&
	    grep -q "^NODE<$1>" "$tmp/page"
}
for word in 0590 node:0590 linac-a linac-a/pid:$target \
    linac-a/ALLOCLOG.torrent.$target unix:$XDG_RUNTIME_DIR/pagek/node; do
	rule "the page of $(basename "${word%"$target"}") has the node's number and name" \
	    shows 0590 linac-a "$word"
done
for word in gw-2 0a12/pid:$target gw-2/ALLOCLOG.torrent.$target; do
	rule "the page of ${word%"$target"} has the table's number and name" \
	    shows 0A12 gw-2 "$word"
done

not_there() {
	"$pagek" list --timeout 600 "$1" >"$tmp/out" 2>"$tmp/why"
	[ $? = 3 ] && [ ! -s "$tmp/out" ] && cat "$tmp/why" &&
	    grep -q "does not watch $2: 'pagek targets unix:" "$tmp/why"
}
rule "a process that a node does not watch is reported at once" \
    not_there gw-2/pid:1 pid:1
rule "likewise a stream" not_there gw-2/ALLOCLOG.none.7 ALLOCLOG.none.7

everything() {
	{
		"$pagek" list gw-2 | tail -n 1 | grep -q ' ' &&
		    "$pagek" tree gw-2 | grep -q main &&
		    "$pagek" tree --flat linac-a | grep -q main &&
		    "$pagek" export --folded 0590 | grep -q ';main' &&
		    "$pagek" -b --count 1 0A12 | grep -q "torrent\[$target\]" &&
		    "$pagek" disarm "linac-a/pid:$target" |
		    grep -q "torrent\[$target\] DORMANT" &&
		    "$pagek" arm "0A12/pid:$target" |
		    grep -q "torrent\[$target\] armed"
	} 2>"$tmp/err"
}
rule "list, tree, groups, export, -b and arm take a node too" everything

own() {
	"$pagek" run --own-node -b -o "$tmp/page" -- true 2>"$tmp/err" &&
	    grep -q '0590 .*true' "$tmp/page" && cat "$tmp/err" &&
	    ! grep -q nowhere "$tmp/err"
}
rule "a node that pagek run starts has the number too, and is silent" own

# Nobody but the node: its supervisor has no part in answers.
node=$(node_of $daemon)
stopped() {
	kill -STOP "$node"
	"$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	kill -CONT "$node"
	cat "$tmp/out" "$tmp/err"
	[ $status = 3 ] && grep -q '^pagek: no node answers' "$tmp/err"
}
rule "nodes --ask ends with 3 when the only node does not answer" \
    stopped "$pagek" nodes --ask --timeout 2
rule "so does page G as text" stopped "$pagek" --once --page G --timeout 2
answers() {
	"$pagek" nodes --ask --timeout 10 >"$tmp/out" 2>/dev/null &&
	    grep -q '^0590 .* up ' "$tmp/out"
}
rule "and with 0 when it does again" until_true 20 answers

# --- words that miss, files that are none -------------------------------------

misses() {
	"$pagek" list "$1" >"$tmp/out" 2>"$tmp/err"
	[ $? = 3 ] && [ ! -s "$tmp/out" ] && tail -n 1 "$tmp/err" |
	    grep -q "$2" || { cat "$tmp/out" "$tmp/err"; return 1; }
}
rule "a number that is one off" misses 0592 'did you mean 0590, linac-a?'
rule "a name that is mistyped" misses lianc-a 'did you mean linac-a'
no_process() {
	misses 0001 . && ! grep 'pid:' "$tmp/err"
}
rule "a number that begins with 0 is not taken for a process" no_process
rule "the number of a live process" misses $target "did you mean pid:$target?"

no_table() {
	rm -rf "$table" && "$@" "$table" || return 1
	timeout 20 "$pagek" list "unix:$XDG_RUNTIME_DIR/pagek/node" \
	    >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/err" ] || return 1
	timeout 20 "$pagek" nodes >"$tmp/out" 2>"$tmp/err"
	[ $? = 0 ] && cat "$tmp/err" && grep -q "cannot read '$table': it is" \
	    "$tmp/err"
}
rule "a FIFO in the table's place is not waited for" no_table mkfifo
rule "a directory there is said" no_table mkdir
rule "a device there is said" no_table ln -s /dev/zero
rule "a link to nothing is said" no_table ln -s /no/such/table

say_result
