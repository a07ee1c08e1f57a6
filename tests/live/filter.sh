#!/bin/sh
# --filter of a real program with blocks that are known: the rows are the very
# ones that python chooses from the list without a filter.  Needs python3.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
check=$top/tests/live/filter.py
run=
stop() {
	[ -z "$run" ] || { kill "$pid" "$run" && wait "$run"; }
} >/dev/null 2>&1
trap 'stop; rm -rf "$tmp"' EXIT

# Blocks of sizes, functions, files, threads and ages of its own; stays until it
# is ended.
cat >"$tmp/other.c" <<'C'
#include <stdlib.h>
void *volatile other_held[100];
__attribute__((noinline)) void other_take(int n, size_t size)
{
	for (int i = 0; i < n; i++)
		other_held[i] = calloc(1, size);
}
C
cat >"$tmp/holder.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void other_take(int n, size_t size);
void *volatile small[200], *volatile large[20], *volatile late[5];
__attribute__((noinline)) static void take_small(void)
{
	for (int i = 0; i < 200; i++)
		small[i] = malloc((size_t)(16 + i));
}
__attribute__((noinline)) static void take_large(void)
{
	for (int i = 0; i < 20; i++)
		large[i] = malloc(100000);
}
static void *worker(void *arg)
{
	pthread_setname_np(pthread_self(), "rx worker");
	take_large();
	*(int *)arg = 1;
	for (;;)
		pause();
	return NULL;
}
int main(void)
{
	pthread_t thread;
	volatile int taken = 0;

	take_small();
	other_take(30, 777);
	pthread_create(&thread, NULL, worker, (void *)&taken);
	while (!taken)
		usleep(1000);
	sleep(3);
	for (int i = 0; i < 5; i++)
		late[i] = realloc(malloc(16), 5000);
	if (write(1, "ready\n", 6) < 0)
		return 1;
	for (;;)
		pause();
}
C
cc -D_GNU_SOURCE -O1 -g -fno-builtin -o "$tmp/holder" "$tmp/holder.c" "$tmp/other.c" \
    -pthread || exit 1

# start OPTIONS...: $pid holds its blocks, under $run.
start() {
	: >"$tmp/told"
	"$pagek" run -b -o /dev/null "$@" -- "$tmp/holder" >"$tmp/told" \
	    2>"$tmp/run.err" &
	run=$!
	until_true 30 grep -q ready "$tmp/told" || return 1
	pid=$("$pagek" targets --format json | python3 -c '
import json, sys
print(*[t["pid"] for t in json.load(sys.stdin)["targets"]
    if t["name"] == "holder" and t["state"] == "LIVE"])')
	[ -n "$pid" ]
}
start || { cat "$tmp/run.err"; exit 1; }

# same EXPRESSION PYTHON [OPTIONS...]: the filtered list has the blocks of which
# the condition is true, and no other.  Ages go on between two lists, so theirs
# are compared by sides of a gap of 3 seconds.
same() {
	expression=$1
	condition=$2
	shift 2
	"$pagek" list --format json "$@" "pid:$pid" >"$tmp/all" &&
	    "$pagek" list --format json "$@" --filter "$expression" \
	    "pid:$pid" >"$tmp/some" 2>"$tmp/err" || return 1
	cat "$tmp/err"
	[ ! -s "$tmp/err" ] &&
	    "$check" rows "$tmp/all" "$tmp/some" "$expression" "$condition"
}
while IFS='|' read -r sentence expression condition; do
	# No expression of these has a bar of its own.
	rule "$sentence" same "$expression" "$condition"
done <<'RULES'
a size|size=777|b["size"] == 777
sizes from one on|size>=1k|b["size"] >= 1024
sizes between two|size>50 & size<=0x60|50 < b["size"] <= 96
not that size|!(size<100 or size>=5000)|100 <= b["size"] < 5000
the usable size|used>=100000 used!=5008|b["size"] + b["overhead"] >= 100000
what the allocator added|overhead>=7 size>100|b["overhead"] >= 7 and b["size"] > 100
the end of a stack|stack_end!="" !(stack_end~main)|b["stack_end"] and "main" not in b["stack_end"]
a weight outside of samples|weight=1 & !weight>1 & size=777|b["size"] == 777
old ones|age>2s & function=take_*|b["age_ms"] > 2500 and name(b).startswith("take_")
young ones|size=5000 age<1h|b["size"] == 5000
older than any|age>1d|False
a type by its name|type=calloc|b["type_name"] == "calloc"
a type by its code|type=82|b["type"] == "0x82"
not that type|type!=malloc|b["type_name"] != "malloc"
a layer|layer=api|b["layer"] == "api"
a thread by its name|thread="rx worker"|b["thread"] == "rx worker"
threads by a pattern|thread!=rx* & thread=*|b["thread"] and not b["thread"].startswith("rx")
a function|function=take_small|name(b) == "take_small"
functions that have a word|function~TAKE|"take" in name(b)
no such function|function!~take|"take" not in name(b)
a file|file=other.c|path(b).endswith("/other.c")
a file and its line|file=other.c:6|path(b).endswith("/other.c") and line(b) == 6
a file with its folders|file=*/holder.c|path(b).endswith("/holder.c")
a module|module=holder|module(b).endswith("/holder")
another module|module!=holder|not module(b).endswith("/holder")
an address|addr=0|False
by the names of JSON|age_ms>2500 & used>=5000 & requester=""|b["age_ms"] > 2500 and b["used"] >= 5000 and b["requester"] is None
lines as JSON has them|line>=6 & file=other.c|b["line"] and b["line"] >= 6 and b["file"].endswith("/other.c")
what is called as in JSON|layer=heap & descr=malloc & tid>0|b["layer"] == "heap" and b["descr"] == "malloc" and b["tid"]
a single word|other_take|name(b) == "other_take"
two words|worker take_large|b["thread"] == "rx worker" and name(b) == "take_large"
names and numbers|function=take_small and size>200 or type=82|name(b) == "take_small" and b["size"] > 200 or b["type"] == "0x82"
everything||True
RULES

one_address() {
	at=$("$pagek" list --format json "pid:$pid" | python3 -c '
import json, sys
print(json.load(sys.stdin)["blocks"][7]["address"])')
	same "addr=$at" "b['address'] == '$at'" &&
	    same "address<${at#0x}" "int(b['address'], 16) < $at" --sort address
}
rule "one block by its address, and those before it" one_address
one_caller() {
	at=$("$pagek" list --format json "pid:$pid" | python3 -c '
import json, sys
print(next(b["caller"] for b in json.load(sys.stdin)["blocks"]
    if b["size"] == 777))')
	same "caller=$at" "b['caller'] == '$at'" &&
	    same "caller<=${at#0x}" "int(b['caller'], 16) <= $at"
}
rule "blocks of one call by its return address" one_caller
one_number() {
	same 'seq<=17' 'b["seq"] <= 17' --reverse
}
rule "blocks by the number of their record, the other way round" one_number

# --limit is of rows that match, and all that match are counted.
limited() {
	"$pagek" list --format json --filter 'size<100' --limit 3 \
	    "pid:$pid" >"$tmp/some" &&
	    "$check" limit "$tmp/some" 3 84
}
rule "--limit counts the rows that match" limited

# Text has the heading and the same rows; the columns before their ages are
# compared.
text() {
	"$pagek" list "pid:$pid" >"$tmp/all" &&
	    "$pagek" list --filter "$1" "pid:$pid" >"$tmp/some" || return 1
	{ sed 1q "$tmp/all"; sed 1d "$tmp/all" | grep -E "$2"; } |
	    cut -c1-54 >"$tmp/want"
	cut -c1-54 "$tmp/some" | diff "$tmp/want" - &&
	    [ "$(wc -l <"$tmp/want")" = "$(($3 + 1))" ]
}
rule "rows of text by size" text 'size=777' '^[0-9a-f]+ +777 ' 30
rule "rows of text by function" text 'function=take_large' ' take_large ' 20

# The other forms have the same rows, and lines their head.
forms() {
	"$pagek" list --format ndjson --filter 'size=777' "pid:$pid" \
	    >"$tmp/lines" && [ "$(wc -l <"$tmp/lines")" = 31 ] &&
	    [ "$(grep -c '"size": 777,' "$tmp/lines")" = 30 ] &&
	    sed 1q "$tmp/lines" | grep -q '"filter": "size=777", "matched": 30,' &&
	    "$pagek" list --format csv --filter 'size=777' --limit 7 \
	    "pid:$pid" >"$tmp/csv" && [ "$(wc -l <"$tmp/csv")" = 8 ] &&
	    [ "$(grep -c ',777,' "$tmp/csv")" = 7 ]
}
rule "lines of JSON and CSV have the rows that match" forms

# --- trees

tree() {
	"$pagek" tree --format json --least 0 --filter "$1" "pid:$pid" \
	    >"$tmp/tree" && "$check" tree "$tmp/tree" "$1" "$2" "$3" "$4"
}
rule "a tree of one function's blocks" tree 'function=take_large' 20 2000000 \
    take_large
rule "a tree of sizes" tree 'size=777' 30 23310 other_take
rule "a tree of a thread's blocks" tree 'thread="rx worker" size>99999' 20 \
    2000000 take_large
flat() {
	"$pagek" tree --flat --least 0 --filter 'type=calloc size=777' \
	    "pid:$pid" >"$tmp/out" && cat "$tmp/out" &&
	    grep -q '^only 30 of [0-9,]* blocks listed: type=calloc size=777$' \
	    "$tmp/out" &&
	    [ "$(sed '1,/SHARE/d' "$tmp/out" | grep -c other_take)" = 1 ] &&
	    [ "$(sed '1,/SHARE/d' "$tmp/out" | wc -l)" = 1 ]
}
rule "a flat table of what matches says how many that is" flat
folded() {
	"$pagek" export --folded --by blocks --filter 'size=777' "pid:$pid" \
	    >"$tmp/out" && cat "$tmp/out" &&
	    [ "$(awk '{ n += $NF } END { print n }' "$tmp/out")" = 30 ]
}
rule "folded stacks of what matches" folded

# --- a sample

stop
run=
sampled() {
	start --sample 2k || { cat "$tmp/run.err"; return 1; }
	same 'size=100000' 'b["size"] == 100000' &&
	    "$check" sample "$tmp/some" &&
	    tree 'size=100000' 20 2000000 take_large
}
rule "of a sample rows are listed, and estimates are by weight" sampled

# --- names that do not come

# Of a node whose reader of names never answers.
stop
run=
nameless() {
	mkdir -p "$tmp/slow" && cp "$B/pageknode" "$tmp/slow" || return 1
	printf '#!/bin/sh\nexec cat 3>&1 >/dev/null\n' >"$tmp/slow/pagek-symbols"
	chmod 755 "$tmp/slow/pagek-symbols"
	"$tmp/slow/pageknode" 2>"$tmp/node.err" &
	run=$!
	until_true 20 test -S "$XDG_RUNTIME_DIR/pagek/node" || return 1
	: >"$tmp/told"
	LD_PRELOAD=$B/liballoclog.so "$tmp/holder" >"$tmp/told" &
	pid=$!
	until_true 30 grep -q ready "$tmp/told" &&
	    until_true 20 "$pagek" list "pid:$pid" --timeout 1 &&
	    ask 'function=take_large' 0 && ask 'function!=take_large' 255 &&
	    ask 'size=777 & function~other' 30 &&
	    ask 'size=777 | size=5000 function=x' 5
}
# ask EXPRESSION BLOCKS: all that ends in time; so many blocks, or more, that
# a name is wanted of.
ask() {
	"$pagek" list --format json --timeout 1 --filter "$1" "pid:$pid" \
	    >"$tmp/some" 2>"$tmp/err" || return 1
	cat "$tmp/err"
	n=$(sed -n 's/.*"matched_unsure": \([0-9]*\),.*/\1/p' "$tmp/some")
	[ "$n" -gt 0 ] && [ "$n" -ge "$2" ] && [ "$n" -lt 300 ] &&
	    grep -q "names that are unknown for $n blocks" "$tmp/err"
}
rule "blocks whose names do not come are counted, and that is said" nameless

# --- what is wrong

# wrong COLUMN CARET WORDS EXPRESSION [COMMAND]
wrong() {
	"$pagek" "${5:-list}" --filter "$4" demo:note >"$tmp/out" 2>"$tmp/err"
	[ $? = 2 ] && [ ! -s "$tmp/out" ] || return 1
	cat "$tmp/err"
	[ "$(sed -n 1p "$tmp/err")" = "pagek: --filter, column $1: $3" ] &&
	    [ "$(sed -n 2p "$tmp/err")" = "$4" ] &&
	    [ "$(sed -n 3p "$tmp/err")" = "$2^" ] &&
	    [ "$(wc -l <"$tmp/err")" = 3 ]
}
rule "an unknown field is told with the nearest one" wrong 11 "          " \
    "no field is called 'sise'; did you mean 'size'?" 'tid=2 and sise>1k'
rule "a missing value has its place" wrong 6 "     " \
    "a value is missing after '>', as in size>1k" 'size>'
rule "an open parenthesis has its place, for trees too" wrong 5 "    " \
    "this '(' is never closed" 'a & (b | c' tree
beside() {
	"$pagek" list --free --filter a demo:note 2>"$tmp/err"
	[ $? = 2 ] && grep -q -e '--free has no meaning with --filter' "$tmp/err"
}
rule "free memory is no block" beside
long() {
	"$pagek" list --filter "$(printf '%02000d' 0)" demo:note 2>"$tmp/err"
	[ $? = 2 ] && cat "$tmp/err" &&
	    grep -q 'longer than 1024 bytes' "$tmp/err" &&
	    [ "$(awk '{ if (length > n) n = length } END { print n }' \
	    "$tmp/err")" -le 80 ]
}
rule "an expression without end is cut where it is shown" long

stop
run=
say_result
