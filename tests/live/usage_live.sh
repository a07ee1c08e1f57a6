#!/bin/sh
# Counts by type of live targets: sqlite3 and redis-server, counted from their start,
# whose sums are those of the report; and page U.  Needs sqlite3, redis, python3, tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
run=
stop() {
	[ -z "$run" ] || { kill -9 "$(cat "$tmp/pid")"; wait "$run"; }
	end_terminal
} >/dev/null 2>&1
trap stop EXIT
trap 'exit 1' TERM INT

# begin OPTION... -- COMMAND...: under a node, with a report at its end.
begin() {
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	cat >"$tmp/under" <<-SH
	echo \$\$ >"$tmp/pid.new" && mv "$tmp/pid.new" "$tmp/pid"
	exec "\$@"
	SH
	rm -f "$tmp/pid" "$tmp/report"
	"$pagek" run -b -o /dev/null $options --report "$tmp/report" -- \
	    sh "$tmp/under" "$@" >"$tmp/run.out" 2>&1 3>&- &
	run=$!
	until_true 20 test -s "$tmp/pid"
	pid=$(cat "$tmp/pid")
}

is_stopped() {
	grep -q '^State:.T' "/proc/$pid/status"
}

# What the node has counted of the stopped program does not change any more.
is_drained() {
	"$pagek" list --format prom "pid:$pid" | grep -E '^pagek_(alloc|free)' \
	    >"$tmp/before" &&
	    "$pagek" list --format prom "pid:$pid" |
	    grep -E '^pagek_(alloc|free)' | cmp - "$tmp/before"
}

# hold CONDITION...: the program is stopped when that is true, and ended after the
# question, so that the report is of the same moment.
hold() {
	until_true 120 "$@" && kill -STOP "$pid" && until_true 10 is_stopped &&
	    until_true 20 is_drained &&
	    "$pagek" usage --format json "pid:$pid" >"$tmp/usage" &&
	    "$pagek" usage "pid:$pid" >"$tmp/text" 2>"$tmp/said" &&
	    cat "/proc/$pid/statm" >"$tmp/statm"
	asked=$?
	kill -9 "$pid"
	wait "$run"
	run=
	return $asked
} 2>/dev/null

cat >"$tmp/sums.py" <<'READER'
import json, os, sys
tmp, pid = sys.argv[1:]
u = json.load(open(tmp + "/usage"))
# One line for each process image, of which the last one counts.
lines = [json.loads(l) for l in open(tmp + "/report")]
r = [l for l in lines if l.get("pid") == int(pid) and l["allocs"] > 0][-1]
rows = u["rows"]
for k, want in ("allocated", r["allocs"]), ("freed", r["frees"]), \
    ("live", r["live_blocks"]), ("bytes", r["live_bytes"]), \
    ("then_bytes", r["peak_bytes"]):
    assert sum(x[k] for x in rows) == want == u["sum"][k], (k, want, u["sum"])
assert u["from_start"] and u["complete"] and u["lost"] == 0, u["from_start"]
text = [l.rsplit(":", 4) for l in open(tmp + "/text").read().split("\n")[:-1]]
assert sum(int(t[2]) for t in text) == r["allocs"]
assert sum(int(t[3]) for t in text) == r["frees"]
assert len(text) == len(rows)
rss = int(open(tmp + "/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
assert abs(u["rss"] - rss) < 1 << 20 < rss, (u["rss"], rss)
READER
agrees() {
	"$@" && cat "$tmp/said" && python3 "$tmp/sums.py" "$tmp" "$pid"
}

mkfifo "$tmp/orders"
begin --usage -- sh -c 'exec sqlite3 <"$1" >"$2"' sh "$tmp/orders" "$tmp/sql.out"
exec 9>"$tmp/orders"
sql_work >&9
rule "the sums over rows of sqlite3 are the report's totals" \
    agrees hold test -s "$tmp/sql.out"
exec 9>&-

loaded() {
	redis-cli -s "$tmp/redis.sock" ping && redis-benchmark \
	    -s "$tmp/redis.sock" -t set,lpush -r 2000 -n 4000 -q
}
ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
begin --usage -- "$tmp/redis-server" --port 0 --unixsocket "$tmp/redis.sock" \
    --save '' --appendonly no --dir "$tmp"
rule "the sums over rows of redis-server are the report's totals" agrees hold loaded

# --- counted from the question on ----------------------------------------------------

cat >"$tmp/asks.c" <<'PROGRAM'
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[100];

__attribute__((noinline)) static void
keeps_sixty_four(int i)
{
	kept[i] = malloc(64);
}

__attribute__((noinline)) static void
frees_at_once(void)
{
	for (int i = 0; i < 10; i++) {
		kept[99] = malloc(3000);
		free(kept[99]);
	}
}

int
main(void)
{
	char c;

	for (int i = 0; i < 7; i++)
		keeps_sixty_four(i);
	while (read(0, &c, 1) == 1)
		frees_at_once();
	return 0;
}
PROGRAM
cc -g -O0 -o "$tmp/asks" "$tmp/asks.c" || exit 1
mkfifo "$tmp/words"
begin -- sh -c 'exec "$1" <"$2"' sh "$tmp/asks" "$tmp/words"
exec 9>"$tmp/words"

knows() {
	"$pagek" usage "$@" --filter keeps_sixty_four "pid:$pid" 2>"$tmp/said" |
	    grep -qx 'keeps_sixty_four:64:7:0:7'
}
# Before that, counting from the question is counting from the start.
holds_all() {
	[ "$("$pagek" list --format csv --fields size --filter size=64 \
	    "pid:$pid" | grep -c '^64')" = 7 ]
}
says_since() {
	until_true 20 holds_all && until_true 20 knows && grep -q 'counted since .* counted as allocated' "$tmp/said"
}
rule "without --usage, counting begins with the question, which is told" says_since

# The first table has nothing of it, the second one has.
counts_on() {
	"$pagek" usage -q --count 40 --interval 0.25 --filter frees_at_once \
	    "pid:$pid" >"$tmp/tables" &
	asking=$!
	until_true 20 test -s "$tmp/tables"
	printf x >&9
	until_true 20 grep -qx 'frees_at_once:3000:10:10:1' "$tmp/tables"
	found=$?
	kill $asking
	wait $asking
	return $found
} 2>/dev/null
rule "tables of one question go on counting" counts_on

# --- page U ------------------------------------------------------------------------------

opens() {
	t new-session -d -s p -x 80 -y 24 "$pagek" --page=U "pid:$pid" &&
	    wait_for '^U USAGE .*asks' && wait_for 'live 7 in 448 B, RSS [1-9]' &&
	    wait_for '^keeps_sixty_f.* +F +64 +7 +0 +7 +7 +448 B'
}
rule "page U shows what is held" opens

# Counts of the question before may still go on: then there are ten more.
counts() {
	printf xx >&9
	wait_for '^frees_at_once +F +3,000 +([23]0) +\1 +0 +1 +0 B'
}
rule "page U counts what was allocated and freed meanwhile" counts

sorts() {
	keys s && wait_for '^SORT' && keys A && wait_for 'ALLOCD v' &&
	    shot | grep -A 1 '^TYPE' | grep -q '^frees_at_once' &&
	    keys r && wait_for 'ALLOCD \^' && keys r
}
rule "page U is sorted" sorts

groups() {
	keys b && wait_for 'rows by type' && keys b b b b &&
	    wait_for 'rows by size' && wait_for '^33-64 +64 ' && keys b &&
	    wait_gone 'rows by'
}
rule "page U has groups" groups

filters() {
	keys f && wait_for 'filter:' && keys 'num<100' Enter &&
	    wait_for '1, filtered, of' && wait_gone '^frees_at_once' &&
	    keys f && wait_for 'filter:' && keys 'size>1' Enter &&
	    wait_for "no field is called 'size'" && keys Escape &&
	    keys Escape && wait_for '^frees_at_once'
}
rule "page U is filtered, by the fields of its own rows" filters

pauses() {
	keys Space && wait_for PAUSED && keys b b &&
	    wait_for 'rows by function' && wait_for '^FUNCTION' && keys b &&
	    wait_for 'rows by line' && wait_for '^LINE' &&
	    wait_for '^asks.c:[0-9]' && keys b &&
	    wait_for 'rows by module' && wait_gone '^frees_at_once' &&
	    keys b b && wait_gone 'rows by' &&
	    keys f && wait_for 'filter:' && keys 'num<100' Enter &&
	    wait_for '1, filtered, of' && wait_gone '^frees_at_once' &&
	    keys Escape && wait_for '^frees_at_once' && keys Space &&
	    wait_gone PAUSED
}
rule "a page U that is paused is grouped and filtered, too" pauses

resets() {
	keys x && wait_for '^frees_at_once +F +3,000 +[23]0 +[23]0 +0 +0 +0 B'
}
rule "x resets max" resets

enters() {
	keys s && wait_for '^SORT' && keys B &&
	    wait_for 'BYTES v' && keys g Enter &&
	    wait_for '^filter function="keeps_sixty_four" & size=64' &&
	    wait_for '7 of [0-9,]+ blocks' && keys 3 && wait_for '^U USAGE'
}
rule "Enter shows the blocks of a row on page K" enters

exports() {
	keys :export Space "$tmp/u.json" Enter && until_true 20 test -s "$tmp/u.json" &&
	    keys :export Space "$tmp/u.txt" Enter &&
	    until_true 20 test -s "$tmp/u.txt" &&
	    grep -qx 'keeps_sixty_four:64:7:0:7' "$tmp/u.txt" &&
	    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "pagek.usage/1" and d["source"] == "live"
assert {r["type"]: r["allocated"] for r in d["rows"]}["frees_at_once"] in (20, 30)' \
	    "$tmp/u.json"
}
rule ":export writes the rows of page U" exports

fits() {
	for size in '40 10' '33 5' '20 5' '1 1' '124 35'; do
		t resize-window -t p -x "${size% *}" -y "${size#* }" || return 1
	done
	wait_for 'LAST 12 s' && keys q && wait_for '^K MEMORY'
}
rule "page U fits each size of the screen" fits
exec 9>&-
say_result
