#!/bin/sh
# pagek stress, references to pages, and page S of another machine, behind ssh.
# Needs openssh-server, openssh-client and tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
. "$(dirname "$0")/lib_ssh.sh"

there() {
	"$pagek" stress ssh:page --format json >"$tmp/json" &&
	    python3 -c 'import json, os, sys
s = json.load(open(sys.argv[1]))["samples"][0]
assert s["node"] == "ssh:page", s
assert s["kernel"] == os.uname().release
assert s["source"] != "none" and s["level_1"] is not None, s' "$tmp/json"
}
rule "the counts are those of the other machine's node" there
lines() {
	"$pagek" stress ssh:page --interval 0.1 --count 3 >"$tmp/out" &&
	    [ "$(grep -c '^[0-9][0-9]:' "$tmp/out")" = 3 ] &&
	    grep -qx 'read by the node ssh:page' "$tmp/out"
}
rule "lines come over one link" lines
reader() {
	"$pagek" stress ssh:reader --read-zero >"$tmp/out" &&
	    [ "$(wc -w <"$tmp/out")" = 6 ]
}
rule "the role read is enough" reader
memory() {
	"$pagek" stress ssh:reader --slab >"$tmp/out" 2>"$tmp/err"
	[ $? = 4 ] && [ ! -s "$tmp/out" ] && grep -q 'no table: ' "$tmp/err" || return 1
	[ "$(id -u)" != 0 ] || [ ! -e /proc/slabinfo ] || {
		"$pagek" stress ssh:page --slab --limit 3 >"$tmp/out" &&
		    grep -q '^SLAB CACHES .* rows' "$tmp/out" &&
		    [ "$(wc -l <"$tmp/out")" = 5 ]
	}
}
rule "... but not for the kernel's own memory, which needs control" memory
old() {
	"$pagek" stress ssh:old >"$tmp/out" 2>"$tmp/err"
	[ $? != 0 ] && grep -q 'old' "$tmp/err" && [ ! -s "$tmp/out" ]
}
rule "a machine without a node of this kind is said" old
page() {
	go "$there" && wait_for 'K MEMORY' && keys 2 &&
	    wait_for '^S HEAP STRESS .* LIVE$' &&
	    wait_for "Linux $(uname -r | cut -c1-20)" &&
	    wait_for '^1 default criteria +(n/a|[~<>]?[0-9][0-9,]*) '
}
rule "page S is that of the other machine" page
line() {
	keys 1 && keys ':set stress=on' Enter &&
	    wait_for '^stress/s .*(n/a|[0-9]) .* some' &&
	    keys q && wait_for 'status 0'
}
rule "so is its line on page K" line
only_control_counts() {
	"$pagek" refcnt --enable --all "$(echo "$there" | sed 's/ssh:page/ssh:reader/')" \
	    >"$tmp/out" 2>"$tmp/err"
	[ $? = 4 ] && grep 'control' "$tmp/err" &&
	    "$pagek" refcnt --enable --all "$there" >"$tmp/out" &&
	    grep 'pages are counted now' "$tmp/out"
}
rule "only the role control counts references there" only_control_counts
page_r() {
	go "--page=R $there" && wait_for '^R PAGE REFERENCES .* LIVE$' &&
	    wait_for '^refs counts epochs, period 1 s' && wait_for '[0-9a-f]{12}.* blocks' &&
	    keys Escape && wait_for 'K MEMORY' && keys q && wait_for 'status 0'
}
rule "page R shows the pages that are counted there" page_r
stale() {
	"$pagek" stale --age 0s "$there" >"$tmp/out" 2>"$tmp/err" &&
	    grep '^grain: a page of 4096 bytes; refs counts epochs' "$tmp/out" &&
	    "$pagek" refcnt --disable --all "$there" >"$tmp/out"
}
rule "blocks there that nobody refers to are listed" stale
rule "nothing of ssh is left" until_true 10 none_left
say_result
