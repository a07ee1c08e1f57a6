#!/bin/sh
# :export on a demo: each form is what other programs read, and a file is there
# when it is whole.  Needs tmux and python3.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek

cd "$tmp" || exit 1
t new-session -d -s p -x 124 -y 30 "exec '$pagek' demo:1"
t resize-window -t p -x 124 -y 30
wait_for 'demo-1' || { shot; exit 1; }

# export FILE: until it is there.
export_to() {
	keys ":export $1" Enter
	wait_for "exported to $1 "
}

forms() {
	export_to b.txt && export_to b.json && export_to b.ndjson &&
	    export_to b.csv || return 1
	grep -q '^ADDRESS  *SIZE' b.txt && [ "$(wc -l <b.txt)" -gt 1000 ] &&
	    python3 - <<-'P'
	import csv, json
	whole = json.load(open("b.json"))
	assert whole["schema"] == "pagek.blocks/2" and len(whole["blocks"]) > 1000
	assert "complete" in whole and "lost" in whole
	lines = [json.loads(line) for line in open("b.ndjson")]
	assert lines[0]["schema"] == "pagek.blocks/2" and len(lines) > 1000
	rows = list(csv.reader(open("b.csv")))
	assert rows[0][0] == "address" and len({len(r) for r in rows}) == 1
	P
}
rule "an export is in the form of its ending" forms

filtered() {
	keys ':filter size>=1k' Enter
	wait_for 'filter size>=1k' && export_to f.csv && python3 - <<-'P'
	import csv
	sizes = [int(r["size"]) for r in csv.DictReader(open("f.csv"))]
	assert sizes and min(sizes) >= 1024, sizes
	P
	r=$?
	keys ':filter' Enter
	return $r
}
rule "what the filter keeps back is in no export" filtered

places() {
	echo kept >regular && ln -s regular link.csv && mkfifo pipe.csv &&
	    mkdir folder.csv || return 1
	export_to link.csv && [ -L link.csv ] && grep -q ^address regular ||
	    return 1
	keys ':export pipe.csv' Enter
	wait_for 'no export to pipe.csv' || return 1
	keys ':export folder.csv' Enter
	wait_for 'no export to folder.csv' || return 1
	keys ':export nothing' Enter
	wait_for 'no export to nothing: its name has to end in' || return 1
	[ -p pipe.csv ] && [ ! -e nothing ] &&
	    [ "$(stat -c %a b.csv)" = 600 ] && ! ls -A | grep '^\.pagek'
}
rule "only a regular file is replaced, and nothing is left beside it" places

differs() {
	keys m && wait_for '^marked' && keys d && wait_for 'H DIFF' &&
	    wait_for ' new  [0-9,]* freed' && export_to d.json &&
	    grep -q '"schema": "pagek.difference/2"' d.json &&
	    python3 -m json.tool d.json >/dev/null
}
rule "page H exports the difference" differs

# It keeps what was typed when it ends: not while the folder is being removed.
gone() {
	! t has-session -t p
}
leaves() {
	keys 1 && keys q && until_true 10 gone
}
rule "with an export behind it the page ends as ever" leaves

say_result
