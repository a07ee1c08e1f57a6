#!/bin/sh
# Key l: the whole list to a file, a pager and a node, while the page goes on.
# Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
daemon=
stop() {
	[ -s "$tmp/pid" ] && kill -CONT "$(cat "$tmp/pid")" &&
	    kill "$(cat "$tmp/pid")"
	[ -n "$daemon" ] && kill -CONT $daemon $(node_of "$daemon") &&
	    kill "$daemon"
	end_terminal
} >/dev/null 2>&1
trap stop EXIT
pagek=$B/pagek
parade=$B/tests/targets/parade
blocks=20000
[ -x "$parade" ] || { echo "no $parade: make targets"; exit 1; }
py() {
	python3 "$top/tests/live/listing.py" "$@"
}

changes() {
	kill -USR1 "$pid"
}

# A table with a node that is not there, and one that has no number there.
mkdir -p "$XDG_CONFIG_HOME/pagek"
cat >"$XDG_CONFIG_HOME/pagek/nodes" <<T
0590 linac-a local
0509 linac-b unix:$tmp/down
0A12 gw-2 unix:$tmp/far/pagek/node
0B00 mute unix:$tmp/between
T

# A page of 110x24 with that word in *L<>; $pid is the target's.
go() {
	t kill-session -t p 2>/dev/null
	rm -f "$tmp/pid"
	t new-session -d -s p -x 110 -y 24 "exec env PAGER='$tmp/pager' \
	    '$pagek' run --listing '$1' -- \
	    sh -c 'echo \$\$ >$tmp/pid; exec $parade $blocks'"
	t resize-window -t p -x 110 -y 24
	wait_for '20,000 blocks' && pid=$(cat "$tmp/pid") &&
	    wait_for "parade\[$pid\]  LIVE"
}
# The same target, and another word.
again() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 110 -y 24 "exec env PAGER='$tmp/pager' \
	    '$pagek' --listing '$1' pid:$pid"
	t resize-window -t p -x 110 -y 24
	wait_for "parade\[$pid\]  LIVE" && wait_for '20,0.. blocks|19,999 blocks'
}

# Where the machine is too busy for the keeper, and that is told, another target
# has its try.
unless_lossy() {
	"$@" && return
	for try in 1 2; do
		shows 'INCOMPLETE' || return 1
		kill "$pid"
		go "$tmp/list" && sent "$tmp/a" && changes && "$@" && return
	done
	return 1
}

# --- to a file ------------------------------------------------------------------

# sent FILE: l, and the bottom line says that it is there.
sent() {
	rm -f "$tmp/list"
	keys C-l && wait_gone 'listing written' && keys l && wait_for "listing written to $tmp/list \([0-9,]* blocks\)" &&
	    mv "$tmp/list" "$1"
}
to_file() {
	go "$tmp/list" && sent "$tmp/a" && py moment $blocks "$tmp/a" &&
	    [ "$(stat -c %a "$tmp/a")" = 600 ]
}
rule "l writes the whole list to the file that *L<> names" to_file

as_listed() {
	"$pagek" list "pid:$pid" >"$tmp/of_list" &&
	    py rows "$tmp/of_list" >"$tmp/want" &&
	    py rows "$tmp/a" >"$tmp/got" && [ "$(wc -l <"$tmp/got")" -gt $blocks ] &&
	    diff "$tmp/want" "$tmp/got"
}
rule "its rows are those of pagek list" as_listed

while_it_runs() {
	wait_for 'WINDOW' && sent "$tmp/b" && sent "$tmp/c" &&
	    sent "$tmp/d" && shows LIVE &&
	    py moment $blocks "$tmp/a" "$tmp/b" "$tmp/c" "$tmp/d"
}
changes
rule "of a target that never rests each is the list after one record" \
    unless_lossy while_it_runs

goes_on() {
	hides 'INCOMPLETE|STALE' && wait_for 'LIVE 1[0-9] Hz' &&
	    wait_for WINDOW
}
rule "the page goes on meanwhile, and goes back to its window" goes_on

of_a_pause() {
	keys Space && wait_for PAUSED && sent "$tmp/e" &&
	    sent "$tmp/f" && cmp "$tmp/e" "$tmp/f" || {
		diff "$tmp/e" "$tmp/f"
		return 1
	}
	keys Space && wait_gone PAUSED && py moment $blocks "$tmp/e"
}
rule "a paused page sends the picture" unless_lossy of_a_pause
changes

in_order() {
	keys s && wait_for '^SORT' && keys p && wait_for 'order ADDRESS' &&
	    keys r && wait_for 'order ADDRESS rev' && sent "$tmp/g" &&
	    grep -q '^order     address, highest first$' "$tmp/g" &&
	    grep -oE '^[0-9a-f]{12} ' "$tmp/g" >"$tmp/got" &&
	    sort -r "$tmp/got" | cmp - "$tmp/got" && keys :sort Space age Enter
}
rule "it is in the order shown" in_order

from_anywhere() {
	keys '?' && wait_for 'HELP' && sent "$tmp/h" && py moment $blocks "$tmp/h"
}
rule "from an overlay too" from_anywhere

kept_back() {
	mkdir "$tmp/list" && keys l && wait_for "no listing: cannot write $tmp/list: it is a directory" &&
	    rmdir "$tmp/list" && mkfifo "$tmp/list" && keys l &&
	    wait_for "it is not a regular file" && rm "$tmp/list" &&
	    ln -s nowhere "$tmp/list" && keys l && wait_for 'leads nowhere' &&
	    rm "$tmp/list" && [ -z "$(ls -A "$tmp" | grep pagek-listing)" ]
}
rule "what is no file is not replaced" kept_back

# --- to a pager ------------------------------------------------------------------

cat >"$tmp/pager" <<P
#!/bin/sh
trap '' INT
cat >$tmp/paged
[ -t 1 ] && [ -t 2 ] && echo 'the pager has the terminal' >&2
until [ -e $tmp/enough ]; do sleep 0.1; done
P
chmod 755 "$tmp/pager"
pager() {
	rm -f "$tmp/enough" "$tmp/paged"
	again pager && keys l && wait_for 'the pager has the terminal' &&
	    hides 'K MEMORY BLOCKS' && keys C-c && sleep 0.3 &&
	    shows 'the pager has the terminal'
}
paged() {
	touch "$tmp/enough"
	wait_for 'K MEMORY BLOCKS' && wait_gone 'the pager has' &&
	    wait_gone 'in the pager' &&
	    wait_for "parade\[$pid\]  LIVE" && py moment $blocks "$tmp/paged" &&
	    keys s && wait_for '^SORT' && keys p &&
	    wait_for 'order ADDRESS' && keys :sort Space age Enter
}
rule "the pager has the terminal, and ^C is for it" pager
rule "the page is back when it ends, and the pager had the whole list" paged

pager_fails() {
	again '|exit 3' && keys l && wait_for 'the pager failed: exit 3' &&
	    again '|nosuchpager' && keys l && wait_for 'the pager was not found' &&
	    wait_for 'K MEMORY BLOCKS'
}
rule "a pager that fails says so" pager_fails

no_room() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 110 -y 24 "ulimit -f 8; exec env TMPDIR='$tmp' \
	    '$pagek' --listing pager pid:$pid"
	wait_for "parade\[$pid\]  LIVE" && wait_for '20,0.. blocks|19,999 blocks' &&
	    keys l && wait_for "no listing: cannot write a file in $tmp: it is too large"
}
rule "where it lies until it is shown is said when there is no room for it" no_room

# --- to a node -------------------------------------------------------------------

unknown() {
	again 0A13 && keys l &&
	    wait_for 'no listing: no node 0A13 in the table: nearest is 0A12 gw-2'
}
rule "a number that is not in the table is said, with the nearest" unknown

down() {
	again 0509 && keys l && wait_for 'no listing: 0509: no node listens there' &&
	    wait_for "parade\[$pid\]  LIVE"
}
rule "a node that is down is said, and the page goes on" down

is_up() {
	"$pagek" targets "unix:$tmp/far/pagek/node"
}
starts() {
	if [ -n "$daemon" ]; then
		kill "$daemon" && wait "$daemon"
	fi
	env XDG_RUNTIME_DIR="$tmp/far" XDG_STATE_HOME="$tmp/state" \
	    "$B/pageknode" "$@" >"$tmp/log" 2>&1 &
	daemon=$!
	until_true 20 is_up || { cat "$tmp/log"; return 1; }
}
mkdir -m 700 "$tmp/far"
starts

# stored FILE: l, and what the node has is that.
stored() {
	keys C-l && wait_gone 'listing sent' && keys l &&
	    wait_for 'listing sent to 0A12 as [0-9]+-[0-9]+-[0-9]+ \([0-9,]* blocks\)' ||
	    return 1
	name=$(shot | sed -n 's/^listing sent to 0A12 as \([0-9-]*\) .*/\1/p')
	"$pagek" listings -o "$1" "unix:$tmp/far/pagek/node" "$name" &&
	    "$pagek" listings "unix:$tmp/far/pagek/node" |
	    grep -q "^$name .* $number parade\[$pid\]\$"
}
number='[0-9A-F]\{4\}'
to_node() {
	again 0A12 && changes && wait_for WINDOW && stored "$tmp/i" &&
	    stored "$tmp/j" && changes && wait_gone WINDOW &&
	    py moment $blocks "$tmp/i" "$tmp/j"
}
rule "a node has it whole, and the page its name there" to_node

refused() {
	mkdir -m 700 "$tmp/elsewhere" && ln -s elsewhere "$tmp/link" &&
	    starts --spool "$tmp/link" && keys l &&
	    wait_for 'no listing: 0A12: .*(symbolic )?link' &&
	    [ -z "$(ls -A "$tmp/elsewhere")" ]
}
rule "what the node says against it is shown" refused

# Between page and node, until the page has sent so much; from then on it passes
# nothing more either way, and both ends stay open.
cat >"$tmp/between.py" <<'P'
import os, select, socket, sys
listens = socket.socket(socket.AF_UNIX)
listens.bind(sys.argv[1])
listens.listen(8)
while True:
    page = listens.accept()[0]
    node = socket.socket(socket.AF_UNIX)
    node.connect(sys.argv[2])
    sent = 0
    while True:
        ready = select.select([page, node] if sent < 100000 else [page], [],
            [])[0]
        if page in ready:
            bytes = page.recv(65536)
            sent += len(bytes)
            if not bytes:
                break
            if sent < 100000:
                node.sendall(bytes)
        if node in ready:
            bytes = node.recv(65536)
            if not bytes:
                break
            page.sendall(bytes)
    page.close()
    node.close()
P
is_mute() {
	starts || return 1
	python3 "$tmp/between.py" "$tmp/between" "$tmp/far/pagek/node" &
	between=$!
	until_true 10 test -S "$tmp/between" &&
	    again 0B00 && keys l &&
	    wait_for 'listing to 0B00: .* of .* sent; Esc cancels' &&
	    wait_for 'no listing: 0B00 does not answer any more' &&
	    wait_for "parade\[$pid\]  LIVE"
	r=$?
	kill "$between"
	return $r
}
rule "one that falls silent while it is being sent is given up" is_mute

sleeps() {
	again 0A12 && starts && kill -STOP $(node_of "$daemon") && keys l &&
	    wait_for 'listing to 0A12: waits for the node; Esc cancels' &&
	    keys C-l && keys l && wait_for 'waits for the node' &&
	    changes && wait_for WINDOW && keys q &&
	    wait_for 'quit again to leave without it' && keys Escape &&
	    wait_for 'the listing was cancelled' && changes
}
rule "one that waits for its node is told of, and called off by Esc" sleeps

over_it() {
	keys C-l && keys l && wait_for 'for the node; Esc cancels' &&
	    keys '?' && wait_for '^HELP' && wait_for 'waits for the node *$' &&
	    keys Escape && wait_for '^NODE<' &&
	    wait_for 'for the node; Esc cancels' && keys Tab &&
	    wait_for '^\*NODE<' && keys Escape && wait_for '^NODE<' &&
	    wait_for 'for the node; Esc cancels' && keys Escape &&
	    wait_for 'the listing was cancelled'
}
rule "Esc closes what is open first, and is not said to cancel then" over_it

# asks KEYS...: they would quit.  Then back to the page, where Esc calls it off.
asks() {
	keys C-l && keys l && wait_for 'waits for the node' && keys "$@" &&
	    wait_for 'quit again to leave without it' || return 1
	if hides '^NODE<'; then
		keys Escape && wait_for '^NODE<' || return 1
	fi
	keys Escape && wait_for 'the listing was cancelled'
}
asks_first() {
	asks : q Enter && asks F10 && asks '?' F10 && asks 6 q && asks 6 F10 &&
	    asks 6 : q Enter
}
rule "no way to quit drops it without asking" asks_first

dies() {
	keys C-l && keys l && wait_for 'waits for the node' &&
	    kill_node "$daemon"
	daemon=
	wait_for 'no listing: 0A12: ' && wait_for "parade\[$pid\]  LIVE"
}
rule "a node that dies meanwhile is said, and the page goes on" dies

keys q
say_result
