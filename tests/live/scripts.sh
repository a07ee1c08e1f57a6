#!/bin/sh
# Output for scripts: each command that lists rows says the same as text for
# people, one JSON object, lines of JSON and CSV, as python's json and csv read
# them.  Needs python3.
set -u
. "$(dirname "$0")/lib.sh"

stop() {
	[ -z "${run:-}" ] || { kill "$run" "$pid" 2>/dev/null; wait "$run"; }
	rm -rf "$tmp"
} >/dev/null 2>&1
trap stop EXIT

# A pool with a region, and a thread whose name needs quotes.
cat >"$tmp/holder.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#pragma weak alloclog_alloc
#pragma weak alloclog_region
#include "alloclog.h"
static void *volatile keep[400];
static void *take(void *arg)
{
	pthread_setname_np(pthread_self(), "a,\"b\"\r\n;c");
	for (int i = 0; i < 200; i++)
		keep[i] = malloc(100 + i);
	if (write(1, ".", 1) == 1)
		pause();
	return arg;
}
int main(void)
{
	char *arena = malloc(4096), c;
	pthread_t t;

	alloclog_region(arena, 4096, 0, 16, "arena");
	alloclog_alloc(arena + 128, 100, 0xc4);
	pthread_create(&t, NULL, take, NULL);
	return read(0, &c, 1) < 0;
}
C
cc -D_GNU_SOURCE -O1 -g -fno-builtin -I"$top/src/alloclog" -o "$tmp/holder" \
    "$tmp/holder.c" -pthread || exit 1
mkfifo "$tmp/in"
"$B/pagek" run -b -o /dev/null -- "$tmp/holder" <"$tmp/in" >"$tmp/out" &
run=$!
exec 7>"$tmp/in"
until_true 20 test -s "$tmp/out" || exit 1
pid=$("$B/pagek" targets | sed -n 's/^pid:\([0-9]*\) *holder.*/\1/p')
mkdir -p "$XDG_CONFIG_HOME/pagek"
echo '0590 linac-a unix:/nowhere' >"$XDG_CONFIG_HOME/pagek/nodes"

cat >"$tmp/same.py" <<'PY'
"""same.py WORDS...: the same rows in every form."""
import csv
import json
import subprocess
import sys

def pagek(form):
    r = subprocess.run([sys.argv[1]] + sys.argv[2:] + ["--format", form],
                       capture_output=True)
    assert r.returncode == 0, (r.returncode, r.stderr)
    assert b"\x1b" not in r.stdout
    return r.stdout

def strict(pairs):
    keys = [k for k, _ in pairs]
    assert len(set(keys)) == len(keys), keys
    return dict(pairs)

whole = json.loads(pagek("json"), object_pairs_hook=strict)
name, _ = whole["schema"].split("/")
rows_key = {"pagek.blocks": "blocks", "pagek.targets": "targets",
            "pagek.nodes": "nodes", "pagek.tree": "nodes",
            "pagek.groups": "groups", "pagek.shown": "groups",
            "pagek.listings": "listings"}[name]
rows = whole.pop(rows_key)
assert rows, "there is nothing to compare"

lines = [json.loads(l) for l in pagek("ndjson").decode().splitlines()]
head = lines.pop(0)
assert head["schema"] == whole["schema"] and set(head) == set(whole), head
for field in "complete", "lost":
    assert field in head or all(field in r for r in rows) or \
        "--ask" not in sys.argv and name == "pagek.nodes", field

text = pagek("csv").decode()
assert text.endswith("\r\n")
table = list(csv.DictReader(text.splitlines(keepends=True), strict=True))
heading = next(csv.reader(text.splitlines(keepends=True)))
assert all(len(r) == len(heading) for r in
           csv.reader(text.splitlines(keepends=True), strict=True))

# What two calls cannot have in common.
MOVES = {"age_ms", "oldest_age_ms", "state_ms", "seen_ms", "round_trip_us",
         "reason", "records", "time", "records_per_second"}

def flat(row):
    """A row as its cells are: lists left out, objects joined."""
    out = {}
    for k, v in row.items():
        if isinstance(v, dict):
            out.update({k + "_" + n: w for n, w in flat(v).items()})
        elif not isinstance(v, list):
            out[k] = "" if v is None else str(v).lower() \
                if isinstance(v, bool) else "%.6f" % v \
                if isinstance(v, float) else str(v)
    return {k: v for k, v in out.items() if k not in MOVES}

def still(row):
    return {k: v for k, v in row.items() if k not in MOVES}

assert [still(r) for r in lines] == [still(r) for r in rows]
assert len(table) == len(rows), (len(table), len(rows))
keys = set()
for r in rows:
    keys |= set(flat(r))
of_head = {"complete", "lost"} & set(whole) | {"taken"}
# An object that is null has no cells.
keys -= {k for k in keys if any(h.startswith(k + "_") for h in heading)}
lacks = keys - set(heading) - {"stack", "targets"}
assert not lacks, lacks
for r, cells in zip(rows, table):
    for k, v in flat(r).items():
        if k in cells:
            assert cells[k] == v, (k, v, cells[k])
    for k in of_head & set(cells) & {"complete", "lost"}:
        assert cells[k] == flat(whole)[k], k
PY
same() {
	python3 "$tmp/same.py" "$B/pagek" "$@"
}

rule "list is the same in every form" same list "pid:$pid"
rule "list with free memory is" same list --free "pid:$pid"
rule "list of a classic stream is" same list --at 39s demo:note
rule "the page, once, is" same --once "pid:$pid"
rule "page G, once, is" same --page=G --once --timeout 5
rule "targets is" same targets
rule "nodes is" same nodes
rule "nodes that are asked are" same nodes --ask --timeout 5
rule "tree is" same tree "pid:$pid"
for by in function line frame module site; do
	rule "a flat table by $by is" same tree --flat --by $by "pid:$pid"
done
for by in type thread frame; do
	rule "a flat table of groups by $by is" same tree --flat --group $by \
	    "pid:$pid"
done
rule "the page in groups, once, is" same --once --group type "pid:$pid"

cat >"$tmp/names.py" <<'PY'
import csv, json, sys
blocks = json.load(open(sys.argv[1]))["blocks"]
rows = list(csv.DictReader(open(sys.argv[2], newline=""), strict=True))
names = {b["thread"] for b in blocks}
print(names)
# The node has made it safe already.
assert 'a,"b"\\x0D\\x0A;c' in names, names
assert names == {r["thread"] or None for r in rows}
assert {b["function"] for b in blocks} >= {"take"}
PY
names() {
	"$B/pagek" list --format json "pid:$pid" >"$tmp/json" &&
	    "$B/pagek" list --format csv "pid:$pid" >"$tmp/csv" &&
	    python3 "$tmp/names.py" "$tmp/json" "$tmp/csv"
}
rule "names with quotes and commas stay cells of one row" names

locale_c() {
	for l in $(locale -a | grep -i -e '^de_DE' -e '^fr_FR' | head -n 1) C; do
		LC_ALL=$l "$B/pagek" list --format csv --limit 3 demo:1 |
		    grep -q ',1\.000000,' || return 1
	done
}
rule "numbers have a point in every locale" locale_c

no_rows() {
	printf '' >"$tmp/raw" &&
	    "$B/pagek" list --format csv raw:"$tmp/raw" >"$tmp/csv" &&
	    [ "$(wc -l <"$tmp/csv")" = 1 ] && grep -q '^address,' "$tmp/csv" &&
	    "$B/pagek" list --format ndjson raw:"$tmp/raw" >"$tmp/nd" &&
	    [ "$(wc -l <"$tmp/nd")" = 1 ] && grep -q '"lost": 0' "$tmp/nd"
}
rule "an empty list has its heading, and its head" no_rows

# --- again and again
cat >"$tmp/again.py" <<'PY'
import csv, json, sys
docs = [json.loads(l) for l in open(sys.argv[1])]
assert len(docs) == 3 and all(d["schema"] == docs[0]["schema"] for d in docs)
assert [d["time"] for d in docs] == sorted(d["time"] for d in docs)
rows = list(csv.DictReader(open(sys.argv[2], newline=""), strict=True))
assert len({r["taken"] for r in rows}) == 3, rows
key = next(k for k in ("blocks", "nodes", "groups") if k in docs[0])
# A demo does not stand still: two runs compare other moments.
assert sys.argv[3] == "--page=H" or len(rows) == sum(len(d[key]) for d in docs)
assert len(docs[0][key]) > 0
PY
again() {
	"$B/pagek" -b --interval 0.1 --count 3 --format ndjson "$@" \
	    >"$tmp/nd" &&
	    "$B/pagek" -b --interval 0.1 --count 3 --format csv "$@" \
	    >"$tmp/csv" && python3 "$tmp/again.py" "$tmp/nd" "$tmp/csv" "$1"
}
rule "-b writes an object a line each interval, and CSV with one heading" \
    again "pid:$pid"
rule "and of page G" again --page=G
rule "and of page H" again --page=H --interval 1 demo:1

one_at_the_end() {
	"$B/pagek" -b --page=H --interval 60 --duration 0.3 demo:1 >"$tmp/out" &&
	    [ "$(grep -c '^H DIFF' "$tmp/out")" = 1 ]
}
rule "which is compared once, however soon it ends" one_at_the_end
rule "and of groups" again --group site "pid:$pid"

refused() {
	"$B/pagek" "$@" >"$tmp/out" 2>"$tmp/err"
	[ $? = 2 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" = 1 ]
}
rule "-b refuses to write one object" refused -b --format json demo:1
rule "a form that is not there is refused" refused list --format yaml demo:1
rule "data has groups of one level" refused --once --group 'site>type' \
    --format ndjson demo:1
rule "a layout is for text" refused list --once --wide --format csv demo:1

# --- a line each interval
cat >"$tmp/watch.py" <<'PY'
import csv, json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
head = lines.pop(0)
assert head["schema"] == "pagek.watch/1" and head["target"]["name"] == "holder"
whole = json.load(open(sys.argv[2]))
rows = list(csv.DictReader(open(sys.argv[3], newline=""), strict=True))
assert len(lines) == len(whole["samples"]) == len(rows) == 3
for r in lines + whole["samples"]:
    assert set(r) == set(rows[0]), set(r) ^ set(rows[0])
    assert r["complete"] is True and r["lost"] == 0 and r["state"] == "LIVE"
    assert r["live_bytes"] >= 4096 + sum(range(100, 300)), r
    assert r["peak_bytes"] >= r["live_bytes"]
assert lines[0]["allocs"] is None and rows[0]["allocs"] == ""
assert lines[1]["allocs"] == 0 and rows[1]["allocs"] == "0"
PY
watch() {
	for f in ndjson json csv; do
		"$B/pagek" watch --interval 0.1 --count 3 --format $f \
		    "pid:$pid" >"$tmp/$f" || return 1
	done
	python3 "$tmp/watch.py" "$tmp/ndjson" "$tmp/json" "$tmp/csv"
}
rule "watch says the same in every form" watch
watch_text() {
	"$B/pagek" watch --interval 0.1 --count 3 "pid:$pid" >"$tmp/out" \
	    2>"$tmp/err" && [ ! -s "$tmp/err" ] &&
	    [ "$(wc -l <"$tmp/out")" = 4 ] &&
	    head -n 1 "$tmp/out" | grep -q '^TIME .*BLOCKS .*LOST$'
}
rule "watch prints a heading and a line each interval" watch_text

# A program that takes 1,000 blocks of 1,000 bytes a second and keeps them; its
# counts are its own.
cat >"$tmp/grower.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
static void *volatile keep[4000];
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4000;
	for (int i = 0; i < n; i++) {
		keep[i] = malloc(1000);
		usleep(1000);
	}
	return argc > 2 ? atoi(argv[2]) : 0;
}
C
cc -O1 -g -fno-builtin -o "$tmp/grower" "$tmp/grower.c" || exit 1
cat >"$tmp/grows.py" <<'PY'
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])][1:]
print(lines)
assert len(lines) >= 3 and lines[-1]["state"] == "ENDED"
held = [r["live_blocks"] for r in lines]
assert held == sorted(held)
# What came between two lines is what the second has more.
for a, b in zip(lines, lines[1:]):
    assert b["allocs"] - b["frees"] == b["live_blocks"] - a["live_blocks"]
    rate = b["allocs"] * 1000 / b["interval_ms"]
    assert abs(b["allocs_per_second"] - rate) <= 1
assert held[-1] >= 2000
PY
watch_end() {
	"$B/pagek" run -b -o /dev/null -- "$tmp/grower" 2000 3 &
	grower=$!
	until_true 20 sh -c "'$B/pagek' targets | grep -q '^pid.*grower'" ||
	    return 1
	"$B/pagek" watch --interval 0.3 --format ndjson "pid:$("$B/pagek" \
	    targets | sed -n 's/^pid:\([0-9]*\) *grower.*/\1/p')" \
	    >"$tmp/nd" 2>"$tmp/err"
	status=$?
	wait $grower
	[ $status = 0 ] && cat "$tmp/err" &&
	    grep -q '^pagek: grower\[[0-9]*\] has ended: exit 3$' "$tmp/err" &&
	    python3 "$tmp/grows.py" "$tmp/nd"
}
rule "watch counts what came since the line before, and tells the end" watch_end

watch_signal() {
	rm -f "$tmp/out"
	"$B/pagek" watch --interval 0.1 "pid:$pid" >"$tmp/out" 2>"$tmp/err" &
	w=$!
	until_true 20 test -s "$tmp/out" && kill -$1 $w
	wait $w
	got=$?
	echo "status $got"; cat "$tmp/err"
	[ $got = $2 ] && [ ! -s "$tmp/err" ]
}
cat >"$tmp/int.py" <<'PY'
import signal, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE)
p.stdout.readline()
p.send_signal(signal.SIGINT)
out, err = p.communicate(timeout=20)
assert p.returncode == -signal.SIGINT and err == b"", (p.returncode, err)
PY
rule "^C ends watch as interrupted, and nothing is said" \
    python3 "$tmp/int.py" "$B/pagek" watch --interval 0.1 "pid:$pid"
rule "SIGTERM ends it with 143" watch_signal TERM 143
watch_gone() {
	timeout 20 "$B/pagek" watch --interval 0.1 "pid:$pid" 2>"$tmp/err" |
	    head -n 2 >"$tmp/out"
	[ ! -s "$tmp/err" ] && [ "$(wc -l <"$tmp/out")" = 2 ]
}
rule "a reader of watch that goes away is no failure" watch_gone
rule "watch of a target that is not there is status 3" \
    sh -c "'$B/pagek' watch pid:1 2>'$tmp/err'; [ \$? = 3 ]"

# --- what was lost
lossy() {
	head -c 4001 /dev/urandom >"$tmp/noise"
	"$B/pagek" list --format csv raw:"$tmp/noise" >"$tmp/csv" \
	    2>"$tmp/err"
	[ $? = 5 ] && grep -q 'damaged' "$tmp/err" || return 1
	"$B/pagek" list --format ndjson raw:"$tmp/noise" 2>/dev/null |
	    head -n 1 | grep -q '"complete": false' || return 1
	"$B/pagek" list --strict --format csv raw:"$tmp/noise" >/dev/null \
	    2>"$tmp/err"
	[ $? = 6 ] && [ "$(grep -c incomplete "$tmp/err")" = 1 ]
}
rule "CSV of a damaged list is said to be so, and is status 6 with --strict" \
    lossy

gone() {
	"$B/pagek" list --format "$1" demo:1 2>"$tmp/err" | head -n 1 >/dev/null
	[ ! -s "$tmp/err" ]
}
for f in json ndjson csv; do
	rule "a reader of $f that goes away is no failure" gone $f
done

# Why a list is not complete although nothing was lost: the same words as in the
# report.
cat >"$tmp/past.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void __libc_free(void *);
int main(int argc, char **argv)
{
	void *p = malloc(1000);
	char c;
	if (argc > 1) {
		for (int i = 0; i < 9; i++) {
			__libc_free(p);
			p = malloc(1000);
		}
		puts(argv[1]);
	}
	fflush(stdout);
	return read(0, &c, 1) < 0 || p == NULL;
}
C
why_incomplete() {
	cc -O1 -fno-builtin -o "$tmp/past" "$tmp/past.c" || return 1
	rm -f "$tmp/stop"
	mkfifo "$tmp/stop"
	"$B/pagek" run -b -o /dev/null --report "$tmp/past.report" -- \
	    "$tmp/past" "$@" <"$tmp/stop" >"$tmp/out" &
	past=$!
	exec 8>"$tmp/stop"
	until_true 20 sh -c "'$B/pagek' targets --format json >'$tmp/targets.json' &&
	    grep -q '\"name\": *\"past\"[^}]*\"live_blocks\": *[1-9]' '$tmp/targets.json'"
	word=$(sed -n 's/.*"pid": *\([0-9]*\)[^}]*"name": *"past".*/\1/p' "$tmp/targets.json")
	"$B/pagek" watch --count 1 --format json "pid:$word" >"$tmp/watch.json"
	exec 8>&-
	wait $past
	python3 - "$tmp" <<'PY'
import json, sys
def load(name): return json.load(open(sys.argv[1] + "/" + name))
said = json.loads(open(sys.argv[1] + "/past.report").readline())
target = [t for t in load("targets.json")["targets"] if t["name"] == "past"][0]
sample = load("watch.json")["samples"][0]
for row in target, sample:
    assert row["complete"] == said["complete"], (row, said)
    assert row["reason"] == (said["reason"] or None), (row, said)
    assert (row["reason"] is None) == row["complete"], row
print(said["reason"])
PY
}
rule "targets and watch say why a list is incomplete, as the report does" \
    why_incomplete past
rule "... and nothing where it is complete" why_incomplete

# A signal to the whole group reaches the command once; what passes it on is asked
# for another one, which ends the program.
cat >"$tmp/counts.c" <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t n, over;

static void
on_signal(int sig)
{
	if (sig == SIGTERM)
		n++;
	else
		over = 1;
}

int
main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	FILE *f = fopen(argv[argc - 1], "w");
	sigset_t none, both;

	sigemptyset(&none);
	sigemptyset(&both);
	sigaddset(&both, SIGTERM);
	sigaddset(&both, SIGHUP);
	sigprocmask(SIG_BLOCK, &both, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	fprintf(f, "ready\n");
	fflush(f);
	while (!over)
		sigsuspend(&none);
	fprintf(f, "%d\n", (int)n);
	return fclose(f);
}
C
cc -o "$tmp/counts" "$tmp/counts.c" || exit 1
# counted WANT TO ARGUMENTS...: SIGTERM goes to TO before the page's pid.
counted() {
	want=$1 to=$2
	shift 2
	rm -f "$tmp/counted"
	setsid "$B/pagek" "$@" -- "$tmp/counts" "$tmp/counted" >"$tmp/out" 2>&1 &
	page=$!
	until_true 20 grep -qs ready "$tmp/counted" &&
	    until_true 20 pgrep -P "$page" -x pageknode &&
	    /bin/kill -TERM -- "$to$page" && /bin/kill -HUP "$page"
	wait "$page"
	cat "$tmp/counted"
	[ "$(tail -n 1 "$tmp/counted")" = "$want" ]
}
for way in 'run -b -o /dev/null' 'check --max-live 1G'; do
	rule "$way: SIGTERM to the whole group reaches the command once" \
	    counted 1 - $way
	rule "$way: so does one to pagek alone" counted 1 '' $way
done

say_result
