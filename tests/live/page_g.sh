#!/bin/sh
# Page G, and `pagek nodes --ask`: real nodes that are up, go and come back, one
# that hangs, some that are not there, and one behind a real sshd.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
. "$(dirname "$0")/lib_ssh.sh"

table=$XDG_CONFIG_HOME/pagek/nodes
mkdir -p "$XDG_CONFIG_HOME/pagek"
two=$tmp/two
mkdir -m 700 "$two"

# A second node of this machine, and a target of it.
second=
start_second() {
	XDG_RUNTIME_DIR=$two "$B/pageknode" --no-supervisor 2>"$tmp/two.said" &
	second=$!
	helpers="$helpers $second"
	until_true 10 test -S "$two/pagek/node"
}
start_second || { cat "$tmp/two.said"; exit 1; }
XDG_RUNTIME_DIR=$two LD_PRELOAD=$B/liballoclog.so "$torrent" &
other=$!
helpers="$helpers $other"
watches() {
	"$pagek" targets "$1" 2>/dev/null | grep -q "^pid:$2 .*LIVE"
}
until_true 20 watches "unix:$two/pagek/node" $other || exit 1

# Somebody who lets the kernel take pages in, and nothing else.
python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(64)
time.sleep(100000)' "$tmp/hang" &
helpers="$helpers $!"
until_true 10 test -S "$tmp/hang"

cat >"$table" <<T
0590 linac-a	local
0A12 gw-2	unix:$two/pagek/node
0B13 gone	unix:$tmp/nobody
0C14 hangs	unix:$tmp/hang
0D15 far	ssh:page
0E16 lonely	ssh:lonely
0F17 shut	ssh:gone
T

# --- text ----------------------------------------------------------------------

asks() {
	"$pagek" nodes --ask >"$tmp/out" 2>"$tmp/err"
	status=$?
	cat "$tmp/out" "$tmp/err"
	[ $status = 0 ] && [ ! -s "$tmp/err" ] || return 1
	for line in '^0590   linac-a  *local  *up [0-9]*[sm]' \
	    '^0A12   gw-2  *unix:.*/node up [0-9]*[sm].*  *1 .* MiB' \
	    '^0B13   gone  *unix:.* no node .*no node listens at' \
	    '^0C14   hangs  *unix:.* unreachable .*it does not answer' \
	    '^0D15   far  *ssh:page  *up [0-9]*[sm].* MiB' \
	    '^0E16   lonely  *ssh:lonely  *no node .*no node of ' \
	    '^0F17   shut  *ssh:gone  *unreachable .*[Cc]onnection refused'; do
		grep -q "$line" "$tmp/out" || {
			echo "no line $line"
			return 1
		}
	done
}
rule "pagek nodes --ask tells how each node is" asks
json() {
	"$pagek" nodes --ask --format json 2>/dev/null | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "pagek.nodes/1" and d["complete"] is True
n = {n["number"]: n for n in d["nodes"] if n["number"][0] == "0"}
assert n["0590"]["state"] == "up" and n["0590"]["targets_live"] >= 1
t = [t for t in n["0A12"]["targets"] if t["pid"] == int(sys.argv[1])]
assert t and t[0]["state"] == "LIVE" and t[0]["est_bytes"] > 0
assert n["0A12"]["est_bytes"] == t[0]["est_bytes"] and n["0A12"]["lost"] == 0
assert n["0A12"]["records_per_second"] is not None
assert n["0B13"]["state"] == "no node" and n["0B13"]["est_bytes"] is None
assert n["0C14"]["state"] == "unreachable" and n["0C14"]["targets"] is None
assert n["0D15"]["state"] == "up" and n["0D15"]["where"] == "ssh:page"
' $other
}
rule "so it does as JSON" json

# A name and a place that are longer than their columns.
long_place=unix:$two/pagek/../pagek/../pagek/../pagek/../pagek/../pagek/node
cp "$table" "$tmp/table"
echo "0A10 a-very-long-name $long_place" >>"$table"
# columns FILE: the column of the title is that of the value in each row.
columns() {
	awk -v title="$2" '
	NR == 1 { at = index($0, title) }
	NR > 1 && (substr($0, at - 1, 1) != " " || substr($0, at, 1) == " ") {
		print "not at " at ": " $0
		bad = 1
	}
	END { exit bad || NR < 5 || at == 0 }' "$1"
}
whole() {
	"$pagek" nodes --ask >"$tmp/out" && cat "$tmp/out" &&
	    grep -qF " $long_place " "$tmp/out" &&
	    columns "$tmp/out" STATE && "$pagek" nodes >"$tmp/out" &&
	    columns "$tmp/out" FRIENDLY && columns "$tmp/out" FILE
}
rule "columns of nodes are aligned, whatever their content is" whole
# Without the path of its socket, which is another one each time.
on_terminal() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" "'$pagek' nodes --ask; read -r line"
	wait_for '^0F17' && shot | grep . >"$tmp/out" && cat "$tmp/out" &&
	    columns "$tmp/out" NAME && columns "$tmp/out" WHERE &&
	    columns "$tmp/out" STATE &&
	    [ "$(grep -c "^0" "$tmp/out")" = "$(grep -c . "$table")" ] &&
	    grep -q '^0A10 .*~' "$tmp/out"
	r=$?
	keys Enter
	return $r
}
for size in "80 24" "124 35"; do
	rule "so they are on a terminal of $size, and cut text has a mark" \
	    on_terminal $size
done
# nodes_at WIDTH HEIGHT: a node's own stream is below it among its targets.
nodes_at() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" "PATH=$PATH '$pagek' --page G"
	wait_for '^> 0590 .* 5,000 .* up ' && keys Right &&
	    wait_for '^ {20,24}pageknode .* LIVE' && wait_for '0A10 .* up ' && wait_for '0A12 .* 20,000 .* up ' &&
	    wait_for '0B13 .* no node' && wait_for '0C14 .* unreachable' &&
	    wait_for '0D15 .* 5,000 .* up ' && wait_for '0E16 .* no node' &&
	    wait_for '0F17 .* unreachable' &&
	    wait_for '^G NODES .* 4 up 2 without node 2 unreachable' &&
	    wait_for '^0590 linac-a  local  1 live of 1' && bar_is_back &&
	    screen_is "nodes-own-stream-$1" 's/ [0-9.]+[um]s / TRIP /
	        s/(up|unreachable) [0-9hm]*[0-9][hms]/\1 AGE/
	        s#(unix:|at )/[^ ~]*#\1PATH#
	        s/(pageknode +)[0-9]+ B +[0-9]+ +[0-9]+/\1SUMS/
	        s/(MiB +[0-9,]+ +)([0-9]+|-)/\1N/'
	it=$?
	keys q
	return $it
}
rule "page G with a node's own stream, and a mark where a name is cut, at 80x24" \
    nodes_at 80 24
rule "and at 124x35" nodes_at 124 35
cp "$tmp/table" "$table"
own_stream() {
	"$pagek" nodes --ask --format json 2>/dev/null | python3 -c '
import json, sys
n = {n["number"]: n for n in json.load(sys.stdin)["nodes"]}["0A12"]
assert n["targets_live"] == 1, n
last = n["targets"][-1]
assert (last["pid"], last["name"], last["stream"]) == (
    None, "pageknode", "ALLOCLOG"), last
assert n["est_bytes"] == sum(t["est_bytes"] for t in n["targets"] if t["pid"])
'
}
rule "a node has its own stream among its targets, and not in its sums" own_stream
page_once() {
	COLUMNS=80 "$pagek" --page G --once >"$tmp/out" 2>"$tmp/err"
	status=$?
	cat "$tmp/out" "$tmp/err"
	[ $status = 0 ] && head -n 1 "$tmp/out" | grep -q '^G NODES  *3 up' &&
	    grep -q '^  0A12 gw-2  *torrent\['$other'\] .* up ' "$tmp/out" &&
	    [ "$(awk 'length > 80' "$tmp/out" | wc -l)" = 0 ]
}
rule "page G is text with --once" page_once
page_batch() {
	COLUMNS=80 "$pagek" --page=G -b --count 2 --interval 0.2 >"$tmp/out"
	[ "$(grep -c '^G NODES' "$tmp/out")" = 2 ]
}
rule "and again and again with -b" page_batch
# Of the node's own blocks, those of the request that asks for them.
own_blocks() {
	"$pagek" list gw-2/ALLOCLOG | awk 'NR > 1 { print $3, $4 }' | sort
}
no_trace() {
	own_blocks >"$tmp/before"
	"$pagek" --page G -b --interval 0.2 >"$tmp/asked" &
	asking=$!
	until_true 20 grep -q '0A12 gw-2 .* up ' "$tmp/asked"
	own_blocks >"$tmp/after"
	kill $asking && wait $asking
	[ -s "$tmp/before" ] && diff "$tmp/before" "$tmp/after"
} 2>/dev/null
rule "to be asked how it is leaves nothing in a node's own memory" no_trace
nobody() {
	mkdir -p -m 700 "$tmp/empty" "$tmp/nothing/pagek"
	echo "0B13 gone unix:$tmp/nobody" >"$tmp/nothing/pagek/nodes"
	XDG_RUNTIME_DIR=$tmp/empty XDG_CONFIG_HOME=$tmp/nothing \
	    "$pagek" nodes --ask >"$tmp/out" 2>"$tmp/err"
	[ $? = 3 ] && grep -q 'no node answers' "$tmp/err" &&
	    [ "$(grep -c 'no node ' "$tmp/out")" = 2 ]
}
[ -S /run/pagek/node ] || rule "where none answers the status is 3" nobody
refused() {
	"$pagek" --page G --once 0590 2>"$tmp/err"
	[ $? = 2 ] && "$pagek" --page G --once --sort age 2>"$tmp/err"
	[ $? = 2 ] && "$pagek" nodes --timeout 3 2>"$tmp/err"
	[ $? = 2 ] && "$pagek" --page X 2>"$tmp/err"
	[ $? = 2 ]
}
rule "what has no meaning for it is refused" refused

# --- the terminal ----------------------------------------------------------------

# go_g WIDTH HEIGHT WORDS: a page of that size; its status in a file.
go_g() {
	t kill-session -t p 2>/dev/null
	w=$1 h=$2
	shift 2
	rm -f "$tmp/status"
	t new-session -d -s p -x "$w" -y "$h" \
	    "PATH=$PATH; export PATH; $* ; echo \$? >$tmp/status; exec cat"
}
ended_well() {
	until_true 10 test -s "$tmp/status" && [ "$(cat "$tmp/status")" = 0 ]
}
colours() {
	esc=$(printf '\033')
	t capture-pane -e -p -t p |
	    grep -qE "$esc\[([0-9;]*;)?(3[0-7]|4[0-7]|9[0-7]|[34]8;[0-9;]*)m"
}
# The row under the cursor.
selected() {
	shows "^> $1 "
}
# And in reverse; the row below the heading is so without a word of its own.
reversed() {
	esc=$(printf '\033')
	t capture-pane -e -p -t p | grep -qE "$esc\[([0-9;]*;)?7m> $1 "
}

opens() {
	go_g 80 24 "'$pagek'" "pid:$target" && wait_for '^K MEMORY' &&
	    keys 6 && wait_for '^G NODES' &&
	    wait_for '0C14 hangs .* slow [0-9]' && wait_for ' 3 up ' &&
	    wait_for '^  NODE NAME .* STATE' && selected 0590 &&
	    wait_for '0A12 gw-2 .*torrent.* up ' &&
	    wait_for '0B13 gone .* - no node' &&
	    wait_for '0D15 far .*torrent.* up ' &&
	    wait_for '0E16 lonely .* no node' &&
	    wait_for '\? help  Enter go there' && wait_for '^0590 linac-a  local'
}
rule "6 shows page G over page K" opens
hanging() {
	wait_for '0C14 hangs .* unreachable [0-9]*s' && keys g j j j &&
	    until_true 5 selected 0C14 &&
	    wait_for '^0C14 hangs: it does not answer' && keys r &&
	    wait_for '^trying 0C14'
}
rule "one that hangs is slow, then unreachable" hanging
goes() {
	kill $second && wait $second
	wait_for '0A12 gw-2 .* - no node' && start_second &&
	    wait_for '0A12 gw-2 .* up [0-9]'
}
rule "a node that ends and one that starts are seen by themselves" goes
moves() {
	keys G && until_true 5 selected 0F17 &&
	    wait_for '^0F17 shut: ssh gone: ' && wait_for 'efused' && keys k &&
	    until_true 5 selected 0E16 && keys g && until_true 5 selected 0590 &&
	    keys PageDown && until_true 5 selected 0F17 && keys PageUp &&
	    until_true 5 selected 0590
}
rule "the cursor moves, and its node's sentence is shown" moves
unfolds() {
	keys g Right && wait_for '^- 0590|^> 0590' &&
	    wait_for "^ {20}torrent\[$target\] .* LIVE" &&
	    wait_for '^ {20}pageknode .* LIVE' && keys j &&
	    until_true 5 selected ' *' && keys Left && until_true 5 selected 0590 &&
	    ! shows '^ {20}torrent'
}
rule "Right shows the targets of a node, Left no longer" unfolds
leaves() {
	keys 1 && wait_for '^K MEMORY' && ! shows 'G NODES' && keys :G Enter &&
	    wait_for '^G NODES' && keys :K Enter && wait_for '^K MEMORY' &&
	    keys 6 && wait_for '^G NODES' && keys Escape && wait_for '^K MEMORY'
}
rule "1, :K and Esc lead back to page K, 6 and :G to page G" leaves
others() {
	keys 6 && wait_for '^G NODES' && keys s && wait_for 'none of page G' &&
	    shows '^G NODES' && keys '?' && wait_for '^HELP  page G' &&
	    [ "$(shot | sed -n 3p)" = "on page G" ] && keys Escape &&
	    wait_for '^G NODES'
}
rule "keys of page K say that they mean nothing there; help has page G's first" others
arrives() {
	keys g j Enter && wait_for "^K MEMORY BLOCKS  0A12 gw-2 .*" &&
	    wait_for '^NODE<0A12>'
}
rule "Enter goes to the node and shows its page K" arrives
quits() {
	keys 6 && wait_for '^G NODES' && keys q && ended_well
}
rule "q ends the page" quits

by_option() {
	go_g 124 30 "'$pagek'" --page G && wait_for '^G NODES .* 3 up' &&
	    wait_for 'WHERE, OR WHY NOT' && wait_for 'no node  *ssh lonely: ' &&
	    ! shot | awk 'length > 124 { bad = 1 } END { exit !bad }'
}
rule "--page G begins with it, at 124 columns with why not" by_option
narrow() {
	go_g 40 10 "'$pagek'" --page G && wait_for '^G NODES 3 up' &&
	    wait_for '^  0A12 gw-2 *up' && keys G && until_true 5 selected 0F17
}
rule "at 40x10 there are node, name and state" narrow
alternate() {
	[ "$(t display -p -t p '#{alternate_on}')" = 1 ]
}
small() {
	for size in '20 5' '12 3' '1 1'; do
		go_g $size "'$pagek'" --page G
		until_true 10 alternate && keys j k 6 q && ended_well ||
		    return 1
	done
}
rule "no size is too small" small
plain() {
	go_g 80 24 env NO_COLOR=1 "'$pagek'" --page G &&
	    wait_for '0B13 gone .* no node' && ! colours && selected 0590 &&
	    keys j && until_true 5 reversed 0A12
}
rule "without colour each state has its word, and the cursor is seen" plain
elsewhere() {
	go_g 80 24 env "XDG_RUNTIME_DIR=$tmp/empty" "'$pagek'" --page G &&
	    wait_for '0590 linac-a .* no node' && wait_for '0A12 gw-2 .* up ' &&
	    keys 1 && wait_for 'UNREACHABLE' &&
	    wait_for 'no node of this user runs here' && keys q &&
	    ended_well
}
[ -S /run/pagek/node ] ||
    rule "page G needs no node here, and page K says there is none" elsewhere

# --- what it leaves ---------------------------------------------------------------

changed() {
	go_g 80 24 "'$pagek'" --page G && wait_for '0F17 shut' &&
	    grep -v 0F17 "$table" >"$table.new" &&
	    echo "0F18 newcomer unix:$two/pagek/node" >>"$table.new" &&
	    mv "$table.new" "$table" && wait_for '0F18 newcom.* up ' &&
	    ! shows 0F17
}
rule "a table that changes is read anew" changed
closes() {
	keys 1 && wait_for '^K MEMORY' && until_true 30 none_left
}
rule "a while after it was left its links are closed" closes
keys q

say_result
