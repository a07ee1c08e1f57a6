#!/bin/sh
# The node that watches itself: two nodes on this machine, 0590 and 0509, and
# pages of each that look at the other and are killed.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"

pagek=$B/pagek
torrent=$B/tests/targets/torrent
[ -x "$torrent" ] || { echo "no $torrent: make targets"; exit 1; }
nodes=
page=
target=
stop() {
	for p in $nodes; do
		kill_node "$p"
	done
	for p in $page $target; do
		kill -9 "$p" && wait "$p"
	done
	end_terminal
} >/dev/null 2>&1
trap stop EXIT
trap 'exit 1' TERM INT

# Each node has folders of its own, and a table that has the other one.
for n in a b; do
	mkdir -p "$tmp/$n/config/pagek"
	mkdir -m 700 "$tmp/$n/run"
done
cat >"$tmp/a/config/pagek/nodes" <<T
0590 linac-a local
0509 linac-b unix:$tmp/b/run/pagek/node acnet=11.134
T
cat >"$tmp/b/config/pagek/nodes" <<T
0509 linac-b local
0590 linac-a unix:$tmp/a/run/pagek/node
T

# From here on as somebody who is on that node.
enter() {
	XDG_RUNTIME_DIR=$tmp/$1/run
	XDG_CONFIG_HOME=$tmp/$1/config
}

# at NODE COMMAND...
at() {
	(
		enter "$1"
		shift
		exec "$@"
	)
}

number() {
	[ "$1" = a ] && echo 0590 || echo 0509
}

begin() {
	: >"$tmp/$1/said"
	(enter "$1" && exec "$B/pageknode") 2>"$tmp/$1/said" &
	node=$!
	nodes="$nodes $node"
	until_true 5 grep -q listening "$tmp/$1/said"
}

# rows NODE: TYPE SIZE REQUESTER for each block that the node itself has, the
# oldest first, as somebody there sees it.  A line "ages N" follows: of those
# with a requester, and what belongs to them, so many different ages.
rows() {
	at "$1" "$pagek" list --format json "$(number "$1")/ALLOCLOG" >"$tmp/json" &&
	    python3 - "$tmp/json" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
for b in d["blocks"]:
    print("%s %04X %s %s" % (b["type_name"], b["size"], b["requester"] or "-", b["level"]))
print("ages", len({b["time"] for b in d["blocks"] if b["type_name"] in ("ACREQ", "INTPTRS", "AHDRMSG")}))
P
}
has() {
	rows "$1" >"$tmp/rows" || return 1
	cat "$tmp/rows"
	[ "$(cat "$tmp/rows")" = "$2" ]
}

local_only='LOCREQ 0030 - 1
ages 0'
visited='ACREQ 0048 AB86 1
INTPTRS 0018 - 1
AHDRMSG 0050 - 1
LOCREQ 0030 - 1
ages 1'

begin a || { cat "$tmp/a/said"; exit 1; }
a=$node
begin b || { cat "$tmp/b/said"; exit 1; }
b=$node

rule "the first page of a fresh node sees its own LOCREQ and nothing else" \
    has a "$local_only"
rule "which is gone with it: the next one sees its own" has a "$local_only"

# A page of 0509 that looks at 0590, in batch mode: killed, it says nothing.
visit() {
	: >"$tmp/page"
	(enter b && exec "$pagek" -b --interval 1 0590/ALLOCLOG) \
	    >>"$tmp/page" 2>&1 &
	page=$!
	until_true 5 grep -q AHDRMSG "$tmp/page"
}
leave() {
	kill "${1:--TERM}" "$page"
	wait "$page"
	page=
} 2>/dev/null
visit
rule "a page of another node is three blocks of one age with its friendly number" \
    until_true 5 has a "$visited"
rnod() {
	cat "$tmp/page"
	grep -q 'ACREQ  *AB86' "$tmp/page"
}
rule "which has it under RNOD" rnod
leave
rule "they are gone when the page has ended" until_true 5 has a "$local_only"
visit
until_true 5 has a "$visited"
leave -9
rule "and when it was killed" until_true 5 has a "$local_only"

# Stopped, it asks for nothing any more, and its blocks go though it stays.
visit
kill -STOP "$page"
rule "a page that is stopped loses them after a while" \
    until_true 60 has a "$local_only"
kill -CONT "$page"
rule "and has them again when it goes on" until_true 5 has a "$visited"
leave

clicked() {
	at a "$pagek" -b --count 3 --interval 0.3 --since=click --classic \
	    0590/ALLOCLOG >"$tmp/once"
	grep -E '^[0-9A-F]{8} ' "$tmp/once" | sort -u >"$tmp/rows"
	cat "$tmp/rows"
	[ "$(cut -c 1-23 "$tmp/rows" | sort -u | wc -l)" = 1 ] &&
	    grep -qE '^[0-9A-F]{8} 0030 01 LOCREQ ' "$tmp/rows"
}
visit
rule "since the click there is the page's own LOCREQ" clicked
leave

t new-session -d -s p -x 100 -y 24 \
    "env XDG_RUNTIME_DIR=$tmp/b/run XDG_CONFIG_HOME=$tmp/b/config $pagek --classic 0590"
screen() {
	shot >"$tmp/screen"
	cat "$tmp/screen"
	head -n 5 "$tmp/screen" | grep -q 'ACREQ  *AB86' &&
	    [ "$(grep -cE '^ ?[0-9A-F]{8} ' "$tmp/screen")" = 3 ]
}
rule "a newcomer's page of a node without targets shows what the page costs" \
    until_true 5 screen

# A target: the page goes there, and MEMB begins; SYMB does when the page wants
# to know a function's name.
enter a
start_watched "$torrent" || exit 1
target=$watched
memb='ACREQ 0048 AB86 1
INTPTRS 0018 - 1
AHDRMSG 0050 - 1
LASTAT 0010 MEMB 1
LOCREQ 0030 - 1
ages 1'
moved() {
	rows a | grep -v SYMB | sort >"$tmp/rows"
	cat "$tmp/rows"
	[ "$(cat "$tmp/rows")" = "$(echo "$memb" | sort)" ]
}
rule "MEMB has a LASTAT from the first target on; the page goes there, with blocks" \
    until_true 5 moved
descr() {
	at b "$pagek" --once --classic 0590/ALLOCLOG >"$tmp/once" || return 1
	cat "$tmp/once"
	grep -qE ' 0010 10 MEMB ' "$tmp/once"
}
rule "a page of another node has the application's name as well" descr

# A page of a machine that no table has, by a way that is ssh's but for ssh.
mkdir -p "$tmp/c/config" "$tmp/bin"
mkdir -m 700 "$tmp/c/run"
cat >"$tmp/bin/ssh" <<S
#!/bin/sh
XDG_RUNTIME_DIR=$tmp/a/run
XDG_CONFIG_HOME=$tmp/a/config
SSH_CONNECTION='192.0.2.7 50022 192.0.2.8 22'
export XDG_RUNTIME_DIR XDG_CONFIG_HOME SSH_CONNECTION
exec $B/pageknode --stdio
S
chmod +x "$tmp/bin/ssh"
far() {
	at c env PATH="$tmp/bin:$PATH" "$pagek" list ssh:far/ALLOCLOG \
	    >"$tmp/far" || return 1
	cat "$tmp/far"
	[ "$(grep -c ACREQ "$tmp/far")" = 2 ] && grep -q MEMB "$tmp/far" &&
	    ! grep -q LOCREQ "$tmp/far" &&
	    [ "$(grep ACREQ "$tmp/far" | grep -c AB86)" = 1 ]
}
rule "over ssh a page is remote, without a number, and has the names too" far

# The node's process is killed: its blocks are new, and no row is a stale one.
taken_over() {
	old=$(node_of "$a")
	[ "$old" != "$a" ] || return 1
	kill -9 "$old"
	until_true 10 moved
	moved
}
rule "after the node was killed its list begins anew, and the page is in it" \
    taken_over

# The last picture of a page that looks on: blocks of two pages, and of no more.
# Nor does it read on in the new list from where it was in the old one.
two_pages() {
	awk '/MEMORY BLOCKS/ { s = "" } { s = s $0 "\n" } END { printf "%s", s }' \
	    "$tmp/page" >"$tmp/last"
	cat "$tmp/last"
	grep -q LIVE "$tmp/last" || return 1
	for type in ACREQ INTPTRS AHDRMSG; do
		[ "$(grep -c " $type " "$tmp/last")" = 2 ] || return 1
	done
	[ "$(grep -c LASTAT "$tmp/last")" = 0 ] && grep -q MEMB "$tmp/last"
}
looks_on() {
	old=$(node_of "$a")
	kill -9 "$old"
	until_true 5 is_gone "$old"
	: >"$tmp/page"
	until_true 10 two_pages
	two_pages && ! grep 'inconsistent' "$tmp/page"
}
visit
rule "a page sees what another page costs" until_true 5 two_pages
rule "and no row of before when the node was killed under it" looks_on
leave

# What was watched there was the page's own choice, and is gone by the time that
# the page comes back: it chooses once more.
typed() {
	t send-keys -t p : && t send-keys -t p -l "$1" && t send-keys -t p Enter
}
is_at() {
	shot >"$tmp/screen"
	cat "$tmp/screen"
	grep -q "NODE<$1>" "$tmp/screen"
}
chooses_anew() {
	typed 'node 0509' && until_true 10 is_at 0509 || return 1
	kill -9 "$target" && wait "$target"
	target=
	kill_node "$a"
	begin a || return 1
	a=$node
	typed back && until_true 10 screen && is_at 0590
} 2>/dev/null
rule "a page that comes back to where its target is gone shows what is there" \
    chooses_anew
t kill-server
left() {
	rows a >"$tmp/rows"
	cat "$tmp/rows"
	[ "$(grep -c LOCREQ "$tmp/rows")" = 1 ] &&
	    ! grep -q ACREQ "$tmp/rows"
}
rule "a page whose terminal is gone leaves nothing behind" until_true 5 left

say_result
