#!/bin/sh
# pagek usage: counts by type as a program has printed them, in every format, each
# read by a foreign reader; and those of captures, which agree with pagek stats.
# Needs python3, cc, sqlite3.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
cd "$tmp" || exit 1

# --- a file that a program has printed --------------------------------------------

cat >program.c <<'PROGRAM'
#include "usage_xmemory.h"

struct pair { int a, b; };

int
main(void)
{
	static char name[(64 << 10) + 1];
	int i;

	for (i = 0; i < 480; i++)
		alloc_usage_xmemory("char", 12);
	for (i = 0; i < 433; i++)
		free_usage_xmemory("char", 12);
	free(xnalloc(struct pair, 57));
	alloc_usage_xmemory("std::map<int, int>", 1);
	alloc_usage_xmemory(NULL, 0);
	alloc_usage_xmemory("", -3);
	alloc_usage_xmemory("a\nb", 1);
	free_usage_xmemory("never", 1);
	for (i = 0; i < 64 << 10; i++)
		name[i] = ':';
	alloc_usage_xmemory(name, 1);
	dump_usage_xmemory(stdout);
	return 0;
}
PROGRAM
cc -I "$top/src/usage" -o program program.c "$B/libusage_xmemory.a" -pthread ||
    exit 1
./program >dump

prints_the_same() {
	"$pagek" usage dump >first && [ "$(wc -l <first)" = 8 ] &&
	    "$pagek" usage first >second && cmp first second &&
	    "$pagek" usage - <dump | cmp - first &&
	    [ "$(awk -F: 'NF != 5' first | wc -l)" = 0 ] &&
	    grep -qx 'std%3A%3Amap<int, int>:1:1:0:1' first
}
rule "what a program has printed is printed with colons between fields only" \
    prints_the_same

# The third field of both, by sort(1) and by pagek.
is_sorted() {
	sort -t: -s -k3,3nr first >by_sort &&
	    "$pagek" usage --sort allocated dump | cmp - by_sort
}
rule "sort -t: and --sort agree" is_sorted

cat >reader.py <<'READER'
import csv, json, sys
text = [l.rsplit(":", 4) for l in open("first").read().split("\n")[:-1]]
rows = [[n.replace("%3A", ":").replace("%0A", "\n")] + [int(x) for x in r]
        for n, *r in text]
doc = json.load(open("json"))
assert doc["schema"] == "pagek.usage/1" and doc["complete"] is True
keys = ["type", "num", "allocated", "freed", "max"]
assert [[r[k] for k in keys] for r in doc["rows"]] == rows
assert all(r["live"] == r["allocated"] - r["freed"] for r in doc["rows"])
assert all(r["bytes"] is None for r in doc["rows"])
lines = [json.loads(l) for l in open("ndjson")]
assert lines[0]["sum"]["allocated"] == sum(r[2] for r in rows)
assert lines[1:] == doc["rows"]
table = list(csv.DictReader(open("csv", newline="")))
assert len(table) == len(rows)
for r, want in zip(table, rows):
    assert r["type"] == want[0].replace("\n", "\\x0A"), r["type"][:80]
    assert [int(r[k]) for k in keys[1:]] == want[1:]
    assert r["named_by"] == "program", r
READER
is_data() {
	for format in json ndjson csv; do
		"$pagek" usage --format $format -o $format dump || return 1
	done
	python3 reader.py
}
rule "JSON, lines of JSON and CSV have the same rows" is_data

# Two rows of one label would be refused.
has_metrics() {
	"$pagek" usage --format prom - <<-DUMP >prom &&
	a"b\\c:1:2:1:2
	char:12:480:433:90
	char:12:20:3:20
	DUMP
	grep -qxF 'pagek_usage_allocated_total{type="char",num="12"} 500' prom &&
	    grep -qxF 'pagek_usage_live{type="a\"b\\c",num="1"} 1' prom &&
	    [ "$(grep -v '^#' prom | sed 's/ [^ ]*$//' | sort | uniq -d |
	    wc -l)" = 0 ]
}
rule "metrics have one sample for each type and number" has_metrics

is_grouped() {
	printf 'a:1:2:1:2\nb:1:1:0:1\na:2:3:0:3\n' |
	    "$pagek" usage --group type --sort live - >groups &&
	    printf 'a:0:5:1:5\nb:0:1:0:1\n' | cmp - groups
}
rule "groups are sums" is_grouped

is_chosen() {
	[ "$("$pagek" usage --filter 'num<0 | type=never' dump)" = ":-3:1:0:1
never:1:0:1:0" ] && [ "$("$pagek" usage --limit 1 dump)" = char:12:480:433:480 ] &&
	    [ "$("$pagek" usage --format csv --fields type,live --filter live=47 \
	    dump | tr -d '\r')" = "type,live
char,47" ]
}
rule "--filter, --limit and --fields choose" is_chosen

# --- files with errors ---------------------------------------------------------------

status() {
	want=$1
	shift
	"$@" >out 2>err
	got=$?
	cat out err
	[ $got = "$want" ]
}

skips() {
	{ head -n 2 first; echo 'char:12:x:433:90'; tail -n +3 first; } >bad
	status 5 "$pagek" usage bad && cmp out first &&
	    grep -qx "pagek: bad: line 3: the number of allocations is not a number: 'x'" err &&
	    status 5 "$pagek" usage --format json bad &&
	    python3 -c 'import json; d = json.load(open("out"))
assert d["complete"] is False and d["bad_lines"] == 1 and len(d["rows"]) == 8'
}
rule "a bad line is named and skipped, and the rest is printed" skips

is_cut() {
	head -c 17 dump >cut && status 5 "$pagek" usage cut &&
	    grep -q 'line 1: .* may be cut' err
}
rule "a last line without its end is told" is_cut

is_nothing() {
	status 5 "$pagek" usage "$B/pagek" && [ ! -s out ] &&
	    [ "$(wc -l <err)" -lt 20 ] && grep -q 'has no counts by type' err &&
	    status 0 "$pagek" usage /dev/null &&
	    status 5 "$pagek" usage "$tmp/" &&
	    status 2 "$pagek" usage --sort size dump &&
	    status 2 "$pagek" usage --filter 'size>1' dump &&
	    status 2 "$pagek" usage --group site dump &&
	    status 2 "$pagek" usage --fields live dump
}
rule "other files, and other words, are refused with a sentence" is_nothing

# --- captures -------------------------------------------------------------------------

cat >asks.c <<'PROGRAM'
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[64];

__attribute__((noinline)) static void
keeps_sixty_four(void)
{
	for (int i = 0; i < 20; i++)
		kept[i] = malloc(64);
}

__attribute__((noinline)) static void
frees_at_once(void)
{
	for (int i = 0; i < 1000; i++) {
		kept[63] = malloc(100);
		free(kept[63]);
	}
}

__attribute__((noinline)) static void
grows(void)
{
	kept[62] = malloc(10);
	for (int i = 2; i < 12; i++)
		kept[62] = realloc(kept[62], 10 * i);
}

int
main(void)
{
	keeps_sixty_four();
	frees_at_once();
	grows();
	free(kept[0]);
	return 0;
}
PROGRAM
cc -g -O0 -o asks asks.c || exit 1

# A realloc is a free and an allocation.
knows_functions() {
	"$pagek" record -q -o asks.pkc -- ./asks &&
	    "$pagek" usage --filter 'module=asks' asks.pkc | sort >asks.out &&
	    sort >asks.want <<-ROWS &&
	keeps_sixty_four:64:20:1:20
	frees_at_once:100:1000:1000:1
	grows:10:1:1:1
	$(for i in 2 3 4 5 6 7 8 9 10; do echo "grows:${i}0:1:1:1"; done)
	grows:110:1:0:1
	ROWS
	diff asks.want asks.out &&
	    [ "$("$pagek" usage --group function --format csv --fields \
	    type,num,allocated,live,bytes,rows,named_by --filter grows asks.pkc |
	    tr -d '\r' | tail -n 1)" = grows,,11,1,110,11,function ]
}
rule "of a capture, rows are of functions and sizes" knows_functions

cat >sums.py <<'READER'
import json, re, subprocess, sys
pagek, path = sys.argv[1:]
def usage(*options):
    return json.loads(subprocess.run([pagek, "usage", "--format=json", *options,
        path], stdout=subprocess.PIPE, check=True).stdout)
end, peak = usage(), usage("--at=peak")
stats = subprocess.run([pagek, "stats", path], stdout=subprocess.PIPE,
    text=True).stdout
want = [int(n) for n in re.search(
    r"History   : (\d+) memory allocations, (\d+) frees", stats).groups()]
for k, n in zip(("allocated", "freed"), want):
    assert end["sum"][k] == n == sum(r[k] for r in end["rows"]), (k, n, end["sum"])
assert end["complete"] and end["lost"] == 0 and end["from_start"]
assert all(r["live"] == r["allocated"] - r["freed"] for r in end["rows"])
assert all(r["max"] >= r["live"] and r["short_lived"] <= r["freed"]
    for r in end["rows"])
assert len({(r["type"], r["num"]) for r in end["rows"]}) == len(end["rows"])
# What was held at the peak, counted on the way, is the list of that moment.
then = {(r["type"], r["num"]): (r["then"], r["then_bytes"]) for r in end["rows"]
    if r["then"]}
held = {(r["type"], r["num"]): (r["live"], r["bytes"]) for r in peak["rows"]
    if r["live"]}
assert then == held and then
assert end["since"] <= end["peak_time"] <= end["time"]
for by in "type", "function", "line", "module":
    rows = usage("--group=" + by)["rows"]
    for k in "allocated", "freed", "live", "bytes", "short_lived", "then", \
        "then_bytes":
        assert sum(r[k] for r in rows) == end["sum"][k], (by, k)
READER
is_summed() {
	"$pagek" record -q -o sql.pkc -- sqlite3 :memory: "$(sql_work)" >sql.out &&
	    python3 sums.py "$pagek" sql.pkc
}
rule "of sqlite3, sums are those of pagek stats, and what was held then is the list then" \
    is_summed

is_cut_off() {
	size=$(wc -c <sql.pkc)
	head -c $((size * 2 / 3)) sql.pkc >cut.pkc
	status 5 "$pagek" usage cut.pkc && [ -s out ] && [ -s err ] &&
	    head -c 100 sql.pkc >head.pkc &&
	    status 5 "$pagek" usage head.pkc && [ ! -s out ] && [ -s err ] &&
	    status 2 "$pagek" usage --at peak dump &&
	    status 2 "$pagek" usage --at noon sql.pkc &&
	    status 2 "$pagek" usage --part nobody sql.pkc
}
rule "a capture that was cut is counted up to there" is_cut_off

cat >busy.c <<'PROGRAM'
#include <stdlib.h>

int
main(void)
{
	for (int i = 0; i < 200000; i++) {
		void *volatile p = malloc((size_t)rand() % 5000 + 1);

		if (i % 10 != 0)
			free(p);
	}
	return 0;
}
PROGRAM
cc -O0 -o busy busy.c || exit 1
cat >ring.py <<'READER'
import json, subprocess, sys
u = json.loads(subprocess.run([sys.argv[1], "usage", "--format=json", "./ring"],
    stdout=subprocess.PIPE, check=True).stdout)
assert u["from_start"] is False and u["complete"] is False, u["from_start"]
assert u["lost"] > 0 and u["sum"]["live"] >= 20000, (u["lost"], u["sum"])
# Each event is counted or dropped, but for those of the C library.
counted = u["sum"]["allocated"] - sum(r["held_before"] for r in u["rows"])
assert u["lost"] + counted + u["sum"]["freed"] >= 380000, (u["lost"], u["sum"])
READER
has_dropped() {
	"$pagek" record -q -o ring --ring 128k --stack 0 -- ./busy &&
	    [ ! -e ring/00000001.pkc ] && python3 ring.py "$pagek" &&
	    status 6 "$pagek" usage --strict ./ring
}
rule "of a ring, the events that it has dropped are told" has_dropped
say_result
