#!/bin/sh
# Listings at a standalone node: sent by pages that are their own
# processes, listed and printed by pagek listings, refused with a sentence.
. "$(dirname "$0")/lib.sh"

pagek=$B/pagek
sender=$top/tests/live/listings.py
XDG_STATE_HOME=$tmp/state
export XDG_STATE_HOME
unset PAGEK_REMOTE
socket=$XDG_RUNTIME_DIR/pagek/node
spool=$XDG_STATE_HOME/pagek/listings
daemon=
stop() {
	[ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; }
	daemon=
} >/dev/null 2>&1
leave() {
	stop
	rm -rf "$tmp"
}
trap leave EXIT
trap 'exit 1' TERM INT

is_up() {
	"$pagek" targets "unix:$socket"
}
# start OPTIONS...
start() {
	stop
	"$B/pageknode" "$@" >"$tmp/log" 2>&1 &
	daemon=$!
	until_true 20 is_up
}
start || { cat "$tmp/log"; exit 1; }

# send FILE TITLE [WORD...]: prints the name that the node gave it, or why not.
send() {
	python3 "$sender" send "$socket" "$@"
}

none() {
	"$pagek" listings >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/out" ] &&
	    grep -q '^pagek: no listing is stored there' "$tmp/err" &&
	    [ ! -e "$spool" ]
}
rule "where nothing is stored nothing is listed, and no folder is made" none

head -c 2500000 /dev/urandom >"$tmp/large"
printf 'one\ttwo\n\033[2J\303\251\nlast' >"$tmp/small"
large=$(send "$tmp/large" "0590 acqd[4711]")
small=$(send "$tmp/small" "$(printf 'a\033]0;x\007 title')")

listed() {
	"$pagek" listings --utc >"$tmp/out" 2>&1
	cat "$tmp/out"
	[ "$(wc -l <"$tmp/out")" = 3 ] && ! grep -q "$(printf '\033')" "$tmp/out" &&
	    grep -q "^$large $(echo "$large" | sed 's/^\(....\)\(..\)\(..\).*/\1-\2-\3/') .* 2\.4 MiB  *3  .*  *0590 acqd\[4711\]\$" "$tmp/out" &&
	    tail -n 1 "$tmp/out" |
	    grep -qF "a\\x1B]0;x\\x07 title"
}
rule "pagek listings shows what is stored, the oldest first, in safe text" listed
as_json() {
	"$pagek" listings --format=json | python3 -c '
import json, os, sys
d = json.load(sys.stdin)
assert d["schema"] == "pagek.listings/1"
a, b = d["listings"]
assert a["name"] == sys.argv[1] and a["title"] == "0590 acqd[4711]"
assert (a["parts"], a["bytes"], a["whole"]) == (3, 2500000, True)
assert a["time"].endswith("Z") and a["from"]
assert b["name"] == sys.argv[2] and b["bytes"] > 0
' "$large" "$small"
}
rule "so it does as JSON" as_json
# Two listings and the end of them take more than the time that one answer has.
from_afar() {
	python3 "$sender" late "$socket" "$tmp/far" 0.7 &
	far=$!
	until_true 20 [ -S "$tmp/far" ]
	"$pagek" listings --timeout 2 "unix:$tmp/far" >"$tmp/out" 2>&1
	status=$?
	kill $far 2>/dev/null
	cat "$tmp/out"
	[ $status = 0 ] && [ "$(grep -c '^2' "$tmp/out")" = 2 ]
}
rule "all are listed however long it takes, as long as each comes in time" \
    from_afar
same() {
	"$pagek" listings "$large" | cmp - "$tmp/large" &&
	    "$pagek" listings local "$small" | cmp - "$tmp/small" &&
	    "$pagek" listings "unix:$socket" "$large" -o "$tmp/copy" &&
	    cmp "$tmp/copy" "$tmp/large"
}
rule "a listing goes into a pipe or a file byte for byte as it was sent" same
on_terminal() {
	python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' \
	    "$pagek" listings "$small" </dev/null | tr -d '\r' >"$tmp/out"
	cat -A "$tmp/out"
	printf 'one\\x09two\n\\x1B[2J\303\251\nlast\n' | cmp - "$tmp/out"
}
LC_ALL=C.UTF-8 rule "on a terminal it is safe text" on_terminal
says() {
	want=$1
	words=$2
	shift 2
	"$pagek" listings "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	cat "$tmp/err"
	[ $status = "$want" ] && [ ! -s "$tmp/out" ] && grep -q "$words" "$tmp/err"
}
rule "one that is not there is said, with status 3" \
    says 3 'no such listing' 20010101-000000-0001
rule "so is a name that is none" says 3 'no such listing' local ../../etc/passwd
rule "and a node that is not there" says 3 'no-such' unix:"$tmp/no-such"
rule "a demo stores none" says 2 'stores no listings' demo:note

# damaged WORDS FILE NAME: status 5 and one sentence, and what could be read.
damaged() {
	"$pagek" listings "$3" >"$tmp/out" 2>"$tmp/err"
	status=$?
	cat "$tmp/err"
	[ $status = 5 ] && [ "$(wc -l <"$tmp/err")" = 1 ] &&
	    grep -q "^pagek: $3: .*$1" "$tmp/err" && cmp "$2" "$tmp/out"
}
changed() {
	bad=$(send "$tmp/large" changed) && head -c 2499999 "$tmp/large" >"$tmp/bad" &&
	    tail -c 1 "$tmp/large" | tr '\000-\377' '\001-\377\000' >>"$tmp/bad" &&
	    head -n 10 "$spool/$bad.3" >"$tmp/part" &&
	    tail -c +2097153 "$tmp/bad" >>"$tmp/part" &&
	    cat "$tmp/part" >"$spool/$bad.3" &&
	    damaged 'part 3 of 3 differs from what was stored' "$tmp/bad" "$bad"
}
rule "bytes that were changed where they are stored are told, with status 5" changed
cut() {
	head -c 100000 "$tmp/part" >"$spool/$bad.3" &&
	    head -c 2097152 "$tmp/large" >"$tmp/bad" &&
	    damaged 'the file of a part is damaged' "$tmp/bad" "$bad"
}
rule "so is a file that was cut, behind what is whole" cut
# The node looks at the folder at most once in so long, so that what is removed
# behind its back stays in its list for a moment.
is_forgotten() {
	"$pagek" listings >"$tmp/out" && ! grep "^$bad " "$tmp/out"
}
cut_before() {
	start && "$pagek" listings | grep "^$bad .*(not whole)\$" &&
	    says 5 'or files of it are damaged' "$bad" && rm "$spool/$bad".* &&
	    until_true 20 is_forgotten
}
rule "and to a node that finds it so it is not whole, for that reason too" cut_before

# --- many at once ---------------------------------------------------------------

many() {
	i=0
	senders=
	while [ $i -lt 8 ]; do
		python3 "$sender" many "$socket" 125 $i >"$tmp/names.$i" &
		senders="$senders $!"
		i=$((i + 1))
	done
	for p in $senders; do
		wait "$p" || return 1
	done
	cat "$tmp"/names.* | sort >"$tmp/names"
	[ "$(sort -u "$tmp/names" | wc -l)" = 1000 ] || return 1
	"$pagek" listings | sed 1d | awk '{ print $1 }' |
	    grep -vx -e "$large" -e "$small" >"$tmp/there"
	cmp "$tmp/names" "$tmp/there" &&
	    python3 "$sender" check "$socket" "$tmp"/names.*
}
rule "1,000 listings of 8 senders at once are all there, as they were sent" many
kept() {
	start && "$pagek" listings | grep -c '^2' >"$tmp/out"
	[ "$(cat "$tmp/out")" = 1002 ] &&
	    "$pagek" listings "$large" | cmp - "$tmp/large"
}
rule "they are there when the node has been started anew" kept
killed() {
	python3 "$sender" half "$socket" >"$tmp/half" || return 1
	node=$(node_of "$daemon")
	kill -9 "$node"
	until_true 20 is_gone "$node"
	until_true 20 is_up
	"$pagek" listings | tail -n 1 >"$tmp/out"
	cat "$tmp/out"
	grep -q "^$(cat "$tmp/half") .*(not whole)\$" "$tmp/out" &&
	    [ "$("$pagek" listings | grep -c '^2')" = 1003 ] &&
	    says 5 'not whole' "$(cat "$tmp/half")"
}
rule "a node that is killed while one comes has the others, and this one not whole" killed

# --- refused ------------------------------------------------------------------

# refused WORDS COMMAND...
refused() {
	words=$1
	shift
	"$@" >"$tmp/out" 2>&1
	cat "$tmp/out"
	grep -q "^refused: .*$words" "$tmp/out"
}
start --role read
rule "a node that grants no list-put takes none, and says so" \
    refused 'not granted the role list-put' send "$tmp/small" t
start --spool "$tmp/link"
ln -s /tmp "$tmp/link"
rule "a spool that is a link is refused with a sentence" \
    refused 'it is a symbolic link' send "$tmp/small" t
mkdir -m 755 "$tmp/open"
start --spool "$tmp/open"
rule "so is one that others may look into" \
    refused '0700' send "$tmp/small" t
start --spool "$tmp/small/spool"
rule "a node that can store none is said to, and not to have none" \
    says 1 "nothing is stored in the spool $tmp/small/spool: Not a directory"
rule "who sends one is told so too" \
    refused 'spool: Not a directory' send "$tmp/small" t
quota() {
	start --spool "$tmp/few" &&
	    head -c 33554432 /dev/zero >"$tmp/zero" &&
	    first=$(send "$tmp/zero" t) && second=$(send "$tmp/zero" t) &&
	    refused 'quota' send "$tmp/small" t &&
	    [ "$("$pagek" listings | grep -c "^$first\|^$second")" = 2 ] &&
	    rm "$tmp/few/$first".* &&
	    until_true 20 send "$tmp/small" t
}
rule "beyond the quota one is refused, none is lost, and room that is made is used" quota

far_from_ascii() {
	mkdir -m 700 "$tmp/made" &&
	    printf '%s\n' 'pagek-listing 1' 'name: 20261121-163501-0007' \
	    'part: 1 of 1' 'from: zoë on 0509 ĳzer' 'uid: 0' \
	    'time: 2026-11-21T16:35:01.000Z' 'title: a title' 'bytes: 0' \
	    "sha256: $(printf '%064d' 0)" '' \
	    >"$tmp/made/20261121-163501-0007.1" &&
	    start --spool "$tmp/made" &&
	    "$pagek" listings | python3 -c '
import sys
head, row = sys.stdin.buffer.read().decode().splitlines()
print(head, row, sep="\n")
assert "zoë on 0509 ĳzer" in row, row
assert head.index("TITLE") == row.index("a title")
'
}
LC_ALL=C.UTF-8 rule "columns are of characters, whoever has sent it" far_from_ascii

# --- paper --------------------------------------------------------------------

mkdir "$tmp/bin"
cat >"$tmp/bin/lp" <<'LP'
#!/bin/sh
{ echo "lp $*"; cat; echo "end of lp"; } >>"$PRINTED"
LP
chmod +x "$tmp/bin/lp"
on_paper() {
	PATH=$tmp/bin:$PATH PRINTED=$tmp/printed start --spool "$tmp/paper" \
	    --print=laser
	name=$(send "$tmp/small" "a title")
	until_true 20 grep -q 'end of lp' "$tmp/printed"
	cat "$tmp/printed"
	grep -q "^lp -d laser -t $name\$" "$tmp/printed" &&
	    grep -q "^listing $name from " "$tmp/printed" &&
	    grep -qF 'one\x09two' "$tmp/printed"
}
rule "a listing is printed by lp (here a stand-in) once it is whole" on_paper

say_result
