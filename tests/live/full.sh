#!/bin/sh
# A program that holds more blocks than the node's list: no screen and no export
# says that all are there.  And one that holds more than a page takes, with room
# for them in the node's: what is written at once has them all.  Needs python3.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
stop() {
	[ -z "${held:-}" ] || kill "$held"
	[ -z "${run:-}" ] || wait "$run"
	rm -rf "$tmp"
} >/dev/null 2>&1
trap stop EXIT

cat >"$tmp/many.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile last;
int main(int argc, char **argv)
{
	for (long n = atol(argv[1]); n > 0; n--)
		last = malloc(100);
	if (argc > 2) {
		FILE *f = fopen(argv[2], "w");
		fprintf(f, "%ld\n", (long)getpid());
		fclose(f);
		pause();
	}
	return 0;
}
C
cc -O1 -g -fno-builtin -o "$tmp/many" "$tmp/many.c" || exit 1

# said STATUS PATTERN COMMAND...: both, in what it writes where.
said() {
	want=$1
	pattern=$2
	shift 2
	"$@" >"$tmp/out" 2>&1
	got=$?
	tail -n 5 "$tmp/out"
	echo "status $got, not $want or no $pattern"
	[ $got = "$want" ] && grep -qE "$pattern" "$tmp/out"
}

# --- a command that is judged

report=$tmp/report
rule "what is less than allowed, of a list that was full, is not known" \
    said 0 'not known: the list was full, [1-9][0-9,]* blocks are not in it' \
    "$pagek" check --max 1000 --max-live 10M -- "$tmp/many" 5000
rule "nor has it passed with --strict" said 6 INCOMPLETE \
    "$pagek" check --strict --max 1000 --max-live 10M -- "$tmp/many" 5000
rule "what is more than allowed is exceeded all the same" said 7 exceeded \
    "$pagek" check --max 1000 --max-live 10k -- "$tmp/many" 5000
rule "with room for all it is within" said 0 'within, judged' \
    "$pagek" check --strict --max 6000 --max-live 10M -- "$tmp/many" 5000

# --- one that is looked at

# hold BLOCKS OPTION...: $held is its process, and what is seen of it is all.
hold_once() {
	blocks=$1
	shift
	rm -f "$tmp/ready"
	"$pagek" run -b -o "$tmp/page" --own-node --report "$report" "$@" -- \
	    "$tmp/many" "$blocks" "$tmp/ready" >/dev/null 2>&1 &
	run=$!
	until_true 60 test -s "$tmp/ready" || exit 1
	held=$(cat "$tmp/ready")
}
let_go() {
	kill "$held"
	wait "$run"
	run=
	held=
} >/dev/null 2>&1
# Tries again if the node was too late on a busy machine to read all records.
hold() {
	for try in 1 2 3; do
		hold_once "$@"
		"$pagek" targets | grep "^pid:$held .* records\{0,1\} lost" ||
		    return 0
		[ $try = 3 ] || let_go
	done
}

lacks='the list was full, [1-9][0-9,]* blocks are not in it'
hold 5000 --max 1000
t=pid:$held
rule "its row among the targets tells it" \
    said 0 'INCOMPLETE: list full: [1-9][0-9,]* blocks not listed' \
    "$pagek" targets
rule "a tree tells it" said 0 "INCOMPLETE: $lacks" "$pagek" tree $t
rule "folded stacks have it beside them" said 0 "INCOMPLETE: $lacks" \
    "$pagek" export --folded $t
rule "watch tells it in each line" said 0 'INCOMPLETE, the list was full' \
    "$pagek" watch --count 1 $t
rule "the page tells it" said 0 'list full: [1-9][0-9,]* blocks not listed' \
    "$pagek" --once $t
rule "and counts what was refused" said 0 ' full [1-9][0-9,]* ' \
    "$pagek" --once $t
for command in "list" "tree" "export --folded" "watch --count 1" "--once"; do
	rule "$command --strict ends with 6" said 6 'the list was full' \
	    "$pagek" $command --strict $t
done
no_complete_in() {
	"$pagek" "$@" >"$tmp/json" || return 1
	python3 - "$tmp/json" <<'PY'
import json, sys
seen = []
def walk(v):
    if isinstance(v, dict):
        if "complete" in v:
            seen.append((v["complete"], v.get("full")))
        for x in v.values():
            walk(x)
    elif isinstance(v, list):
        for x in v:
            walk(x)
walk(json.load(open(sys.argv[1])))
print(seen)
assert seen and not any(complete for complete, full in seen)
PY
}
for command in "list" "tree" "targets" "watch --count 1"; do
	if [ "$command" = targets ]; then where=; else where=$t; fi
	rule "as data $command is not complete" \
	    no_complete_in $command --format json $where
done
rule "nor are the sums for a collector" said 0 '^pagek_complete.* 0$' \
    "$pagek" list --format prom $t
rule "which count what is missing" \
    said 0 '^pagek_unlisted_blocks_total.* [1-9]' "$pagek" list --format prom $t
let_go
rule "the closing line of run tells it" \
    grep -qE 'INCOMPLETE: list full: [1-9][0-9,]* not listed' "$tmp/page"
rule "the report has it" \
    grep -qE '"full": [1-9].*"complete": false, "reason": "the list was full"' "$report"

# --- more than a page takes

hold 1200000 --max 2000000
t=pid:$held
rule "a tree has all that the node has" \
    said 0 '^1,200,[0-9]* blocks with .*; complete$' "$pagek" tree $t
rule "so has a listing" said 0 '^1200[0-9]*$' \
    sh -c '"$1" list --strict "$2" | wc -l' - "$pagek" $t
same_sums() {
	"$pagek" list --strict --format prom $t | awk '
	/^pagek_live_bytes/ { all = $NF }
	/^pagek_type_live_bytes/ { sum += $NF }
	END { print all, sum; exit !(all == sum && sum >= 120000000) }'
}
rule "the sums by type are those of the whole" same_sums
rule "a limit that was given still holds, and is told" \
    said 6 'the list was full' "$pagek" tree --max 1000000 --strict $t
rule "a check of all blocks has them all" said 7 'exceeded' \
    "$pagek" check --max-blocks 'size=100:1150000' $t
let_go
say_result
