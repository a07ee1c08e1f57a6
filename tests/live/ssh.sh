#!/bin/sh
# The node of another machine, over ssh.  Needs openssh-server, openssh-client,
# tmux and, for clocks that differ, libfaketime.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
. "$(dirname "$0")/lib_ssh.sh"

# --- the same ------------------------------------------------------------------

under_load() {
	kill -USR1 "$target"
	"$pagek" -b --count 20 --interval 0.1 --wide "$there" >"$tmp/b" || {
		kill -USR1 "$target"
		cat "$tmp/b"
		return 1
	}
	kill -USR1 "$target"
	grep -q "torrent\[$target\]  LIVE" "$tmp/b" &&
	    ! grep -q UNREACHABLE "$tmp/b"
}
rule "a page over ssh follows a program under load" under_load

# The load has stopped: once the node's count stands still it is all there.
records() {
	"$pagek" targets --format json "unix:$node" | python3 -c '
import json, sys
print([t["records"] if "records" in t else t for t in
       json.load(sys.stdin)["targets"] if t.get("pid") == '"$target"'])'
}
stands_still() {
	a=$(records)
	sleep 0.2
	[ "$a" = "$(records)" ]
}
same() {
	until_true 20 stands_still || return 1
	"$pagek" list --format json "unix:$node" >"$tmp/here" &&
	    $1 "$pagek" list --format json "$there" >"$tmp/there" &&
	    $compare same "$tmp/here" "$tmp/there"
}
rule "it lists the same blocks, counts, stacks and ages as the node's list" same ''
skew='unshare -T --monotonic 90 --boottime 90'
if $skew true 2>/dev/null; then
	rule "also since another start of its own machine" same "$skew"
else
	skip "no time since the start of our own can be had here"
fi
# The time of day alone: what waits for moments goes on as it does.
fake=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null | head -n 1)
skewed() {
	ahead="env LD_PRELOAD=$fake FAKETIME=$1 FAKETIME_DONT_FAKE_MONOTONIC=1"
	now=$(date +%s)
	then=$($ahead date +%s)
	[ $((then - now)) -ge 80 ] || [ $((now - then)) -ge 80 ] &&
	    same "$ahead"
}
# A page on a terminal, whose own clock has nothing to do with ages.
skewed_page() {
	ahead="env LD_PRELOAD=$fake FAKETIME=$1 FAKETIME_DONT_FAKE_MONOTONIC=1"
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 110 -y 40 \
	    "PATH=$PATH; exec $ahead '$pagek' --wide $there"
	until_true 20 stands_still && wait_for 'torrent.*LIVE 1[0-9] Hz' &&
	    "$pagek" list --format json "unix:$node" >"$tmp/before" &&
	    sleep 0.2 && shot >"$tmp/shot" &&
	    "$pagek" list --format json "unix:$node" >"$tmp/after" || return 1
	keys q
	sed -n 1,6p "$tmp/shot"
	$compare aged "$tmp/before" "$tmp/shot" "$tmp/after"
}
if [ -n "$fake" ]; then
	rule "also with a clock that is 90 s ahead of the node's" skewed +90s
	rule "and with one that is 90 s behind it" skewed -90s
	rule "a page on a terminal 90 s ahead shows the node's ages" skewed_page +90s
	rule "so does one 90 s behind" skewed_page -90s
else
	skip "there is no libfaketime: clocks that differ are not tried"
fi

pages() {
	COLUMNS=120 "$pagek" --once --wide "unix:$node" >"$tmp/one" &&
	    COLUMNS=120 "$pagek" --once --wide "$there" >"$tmp/two" || return 1
	# Ages go on between the two, and the marks beside them.
	for f in one two; do
		grep -E '^[0-9a-f]{12}' "$tmp/$f" |
		    sed -E 's/ +[0-9]+[smhd0-9]* +[.:=+#-] / /' >"$tmp/$f.rows"
	done
	wc -l "$tmp"/*.rows
	[ "$(wc -l <"$tmp/one.rows")" -ge 5000 ] &&
	    cmp "$tmp/one.rows" "$tmp/two.rows"
}
rule "the pages of both show the same rows" pages

commands() {
	"$pagek" targets ssh:page | grep -q "^pid:$target  *torrent  *LIVE" &&
	    "$pagek" tree "$there" | grep -q main &&
	    "$pagek" tree --flat "$there" | grep -q main &&
	    "$pagek" export --folded "$there" | grep -q ';main' &&
	    "$pagek" --once "ssh:page/ALLOCLOG.torrent.$target" |
	        grep -q "torrent\[$target\]" &&
	    until_true 10 none_left
}
rule "targets, tree, groups, export and --once go that way too, and leave nothing behind" commands

# --- a recording there ---------------------------------------------------------

sums=$B/tests/capture/sums
ended() {
	"$sums" "$1" 2>&1 >/dev/null | grep -q ' damages 0 ended: '
}
is_recorded() {
	ended "$1" && "$sums" "$1" 2>/dev/null | grep "\"pid\": $target, .*\"complete\": true"
}
records_there() {
	file="$tmp/it's there"
	"$pagek" record --duration 0.5 -o "$file" "$there" >"$tmp/out" 2>"$tmp/err" ||
	    { cat "$tmp/err"; return 1; }
	cat "$tmp/err"
	[ ! -s "$tmp/out" ] && grep -q "is on page$" "$tmp/err" &&
	    grep -q 'lost 0: ' "$tmp/err" && is_recorded "$file" &&
	    until_true 10 none_left
}
rule "a target is recorded by the pagek of its machine, which says its numbers" \
    records_there

# ends_by SIGNAL WHO: its status is in $status.
ends_by() {
	rm -f "$tmp/far" "$s/pid"
	"$pagek" record -o "$tmp/far" ssh:page/torrent 2>"$tmp/err" &
	recorder=$!
	until_true 20 test -s "$tmp/far" || { cat "$tmp/err"; return 1; }
	case $2 in
	pagek) kill "-$1" "$recorder" ;;
	ssh) kill "-$1" "$(cat "$s/pid")" ;;
	esac
	wait "$recorder"
	status=$?
	cat "$tmp/err"
	until_true 20 is_recorded "$tmp/far" && until_true 10 none_left
}
ends_by_signal() {
	ends_by "$1" pagek && [ $status = 0 ] && grep -q 'lost 0: ' "$tmp/err"
}
rule "^C ends it" ends_by_signal INT
rule "so does SIGTERM" ends_by_signal TERM
rule "it ends with pagek" ends_by KILL pagek
cut_off() {
	ends_by KILL ssh && { [ $status = 1 ] || [ $status = 3 ]; }
}
rule "it ends with the connection" cut_off

# refused STATUS PATTERN WORD...
refused() {
	want=$1
	pattern=$2
	shift 2
	"$pagek" record -o "$tmp/no" "$@" 2>"$tmp/err"
	status=$?
	cat "$tmp/err"
	[ $status = "$want" ] && grep -q "$pattern" "$tmp/err" && [ ! -e "$tmp/no" ]
}
rule "a process that is not there is said" refused 3 'is not being watched' ssh:page/pid:1
rule "so is a host" refused 3 'ssh failed' ssh:nowhere/torrent
rule "so is a machine without pagek" \
    refused 1 'pagek not there' --remote-pageknode /nowhere/pageknode "$there"

path() {
	ln -s "$B/pageknode" "$s/page knode" &&
	    "$pagek" targets --remote-pageknode "$s/page knode" ssh:page |
	    grep -q torrent &&
	    PAGEK_REMOTE=$B/pageknode "$pagek" targets ssh:page |
	    grep -q torrent
}
rule "another pageknode at the other end is found by its path" path

# A command with a node of its own, beside the node that stands alone.
several() {
	"$pagek" run --own-node -b -o /dev/null -- "$torrent" &
	run=$!
	other=
	until_true 20 other_is_there || return 1
	other=$(other_pid)
	"$pagek" --once "ssh:page/pid:$other" >"$tmp/one"
	"$pagek" --once "ssh:page/ALLOCLOG.torrent.$other" >"$tmp/two"
	"$pagek" --once "$there" >"$tmp/three"
	"$pagek" --once "ssh:reader/pid:$other" >"$tmp/four"
	kill "$other"
	wait "$run"
	head -n 1 "$tmp/one" "$tmp/two" "$tmp/three" "$tmp/four"
	grep -q "torrent\[$other\]  LIVE" "$tmp/one" &&
	    grep -q "torrent\[$other\]  LIVE" "$tmp/two" &&
	    grep -q "torrent\[$target\]  LIVE" "$tmp/three" &&
	    ! grep -q "torrent\[$other\]" "$tmp/four" &&
	    until_true 10 none_left
}
other_pid() {
	"$pagek" targets | sed -nE 's/^pid:([0-9]+) +torrent +LIVE.*/\1/p' |
	    grep -vx "$target"
}
other_is_there() {
	[ -n "$(other_pid)" ]
}
rule "of several nodes there it is the target's, where the key lets that be said" \
    several
by_name() {
	mkdir -p "$XDG_CONFIG_HOME/pagek" &&
	    cat >"$XDG_CONFIG_HOME/pagek/nodes" <<-S || return 1
	0509 linac-b ssh:page remote=$s/other-name/pageknode # its own place
	S
	mkdir "$s/other-name" && ln -s "$B/pageknode" "$s/other-name/" &&
	    "$pagek" list --limit 3 "linac-b/pid:$target" >"$tmp/one" &&
	    PAGEK_REMOTE=/nowhere "$pagek" list --limit 3 "0509/pid:$target" \
	    >"$tmp/two" &&
	    cut -c-30 "$tmp/one" >"$tmp/1" && cut -c-30 "$tmp/two" >"$tmp/2" &&
	    [ "$(wc -l <"$tmp/1")" = 4 ] && cmp "$tmp/1" "$tmp/2" &&
	    ! "$pagek" list --remote-pageknode /nowhere linac-b 2>"$tmp/why" &&
	    grep -q 'nowhere' "$tmp/why" && until_true 10 none_left
}
rule "a node of the table is reached by its name and its number" by_name

# --- roles ---------------------------------------------------------------------

reader() {
	"$pagek" list "ssh:reader/pid:$target" | tail -n 1 | grep -q ' ' &&
	    ! "$pagek" arm "ssh:reader/pid:$target" 2>"$tmp/why" &&
	    grep -q 'not permit' "$tmp/why" || { cat "$tmp/why"; return 1; }
	# Whatever it sends, and whatever command it asks for.
	$compare end "$target" ssh reader pageknode --stdio --role control &&
	    kill -0 "$target"
}
rule "a key for reading reads, and a client that asks for more gets no more" reader
controls() {
	"$pagek" arm "$there"
}
rule "another key may do what its user may" controls
not_there() {
	"$pagek" list --timeout 600 "ssh:page/pid:1" 2>"$tmp/why"
	[ $? = 3 ] && cat "$tmp/why" &&
	    grep -q "the node at ssh:page does not watch pid:1: 'pagek targets ssh:page'" "$tmp/why"
}
rule "a process that the node does not watch is reported at once" not_there

# --- numbers of nodes ------------------------------------------------------------

# says NUMBER KEY: a page that is on that node here comes with this key.  The
# node has the same table, and has read it once somebody is what it says.
says() {
	echo "$1 its-name local" >"$XDG_CONFIG_HOME/pagek/nodes" &&
	    setsid -w "$pagek" list --limit 3 "ssh:$2/pid:$target" \
	    >"$tmp/out" 2>"$tmp/why"
}
let_in() {
	says "$@" && [ "$(wc -l <"$tmp/out")" = 4 ] || { cat "$tmp/why"; return 1; }
}
refuses() {
	words=$1
	shift
	says "$@"
	is=$?
	cat "$tmp/why"
	[ "$is" = 4 ] && [ ! -s "$tmp/out" ] && grep -q -- "$words" "$tmp/why"
}
rule "a page that is on the node of its key is let in" let_in 0A12 gate
rule "one that says that it is on another node is not" refuses \
    "this connection is bound to node 0A12, but the page says it is on 0590" 0590 gate
rule "one that comes back to its own machine may say so" let_in 0590 page
known() {
	until_true 10 refuses "cannot be node 0590's: it is at local, and the \
page came from 192.0.2.7" 0590 far
}
rule "one of another machine that says it is on this one is refused" known
rm -f "$XDG_CONFIG_HOME/pagek/nodes"
rule "a page without a number may come from anywhere" "$pagek" list --limit 3 \
    "ssh:far/pid:$target"

# --- sentences -----------------------------------------------------------------

# fails STATUS WORDS TARGET: one line on standard error, with these words.
fails() {
	status=$1
	words=$2
	shift 2
	setsid -w "$pagek" list "$@" >"$tmp/out" 2>"$tmp/why"
	is=$?
	cat "$tmp/why"
	[ "$is" = "$status" ] && [ ! -s "$tmp/out" ] &&
	    [ "$(wc -l <"$tmp/why")" = 1 ] && grep -q -- "$words" "$tmp/why"
}
rule "a refused key is not permitted" fails 4 \
    "ssh stranger: .*Permission denied.*: try 'ssh stranger'" ssh:stranger
rule "a closed port is unreachable" fails 3 \
    "ssh gone: .*Connection refused: does sshd run on gone?" ssh:gone
rule "a key of a host that is another is refused" fails 4 \
    "Host key verification failed: look at the host's key" ssh:moved
rule "a key of a host that nobody can be asked about, too" fails 4 \
    "Host key verification failed: look at the host's key" ssh:new
rule "no pageknode there" fails 3 \
    'not found\|No such file.*install pageknode there.*--remote-pageknode' \
    --remote-pageknode /nowhere/pageknode ssh:page
rule "an older pageknode there" fails 5 \
    'unrecognized option.*another version' ssh:old
rule "a shell that talks" fails 3 'does the shell there print something' ssh:chatter
rule "a host that begins with a dash is no option" fails 2 \
    'ssh: needs the name of a host' ssh:-oProxyCommand=true
version() {
	printf '#!/bin/sh\nexec python3 %s speak 2\n' "$top/tests/live/ssh.py" \
	    >"$s/future" && chmod +x "$s/future" &&
	    fails 5 'ssh page: node .*version 2, this page 1' \
	    --remote-pageknode "$s/future" ssh:page
}
rule "a node of another version says which" version
silent() {
	printf '#!/bin/sh\nexec cat >/dev/null\n' >"$s/silent" &&
	    chmod +x "$s/silent" &&
	    fails 8 'ssh page: no answer within 1' --timeout 1 \
	    --remote-pageknode "$s/silent" ssh:page
}
rule "one that does not answer has its time" silent
rule "an unknown host" fails 3 \
    "Could not resolve.*: is 'nowhere' the right name?" \
    --timeout 60 ssh:nowhere
# One whose other end says nothing has no reason to end by itself.
ssh_runs() {
	[ -s "$s/pid" ] && [ "$(ps -o comm= -p "$(cat "$s/pid")")" = ssh ]
}
ended_by() {
	rm -f "$s/pid"
	"$pagek" list --timeout 60 ssh:deaf >"$tmp/out" 2>"$tmp/why" &
	asking=$!
	helpers="$helpers $asking"
	until_true 10 ssh_runs && kill "-$1" "$asking" || return 1
	wait "$asking"
	is=$?
	echo "status $is"
	[ "$is" = "$2" ] && until_true 10 none_left
}
rule "a list that is ended by SIGTERM takes its ssh along" ended_by TERM 143
rule "so does one whose terminal goes" ended_by HUP 129
no_ssh() {
	PATH=/nonexistent "$pagek" list ssh:page 2>"$tmp/why"
	[ $? = 1 ] && grep -q 'cannot start ssh: ' "$tmp/why"
}
rule "no ssh here" no_ssh
if [ ! -e /run/pagek/node ]; then
	rule "no node there" fails 3 \
	    "no node of .* runs here.*start one with 'pageknode" ssh:lonely
else
	skip "a node of the system runs here: that none does cannot be tried"
fi

# --- on a terminal ---------------------------------------------------------------

asks() {
	go ssh:new && wait_for 'fingerprint.*\[fingerprint\]|yes/no' &&
	    keys yes Enter && wait_for "torrent\[$target\]  LIVE" &&
	    keys q && wait_for 'status 0' && until_true 10 none_left
}
rule "ssh asks for what it must know before the page begins" asks

say_result
