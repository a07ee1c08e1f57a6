#!/bin/sh
# Exact: each line of --report equals what a second counting layer below the
# shim counts for that process image, on real programs, with stacks of sixteen
# frames, with return addresses alone and with frees' stacks too.
. "$(dirname "$0")/lib.sh"

count=$B/tests/libcount.so
n=0

# counted_once MIN_IMAGES COMMAND...: under pagek and the counting layer, compared;
# $stacks is what is asked for of stacks.
stacks='--stack 16'
counted_once() {
	images=$1
	shift
	n=$((n + 1))
	report=$tmp/r$n
	mkdir -p "$tmp/c$n"
	COUNT_DIR=$tmp/c$n LD_PRELOAD=$count "$B/pagek" run -b -o /dev/null \
	    $stacks --report "$report" -- "$@" >"$tmp/out$n"
	status=$?
	[ "$status" = "${expect:-0}" ] || { echo "status $status"; return 1; }
	"$top/tests/count/compare" "$report" "$tmp/c$n" \
	    --min-images "$images" --unheard 5
}
counted() {
	unless_busy counted_once "$@"
}

# Blocks given back past the library are listed until their addresses come again.
# past HOW LEFT: LEFT blocks are live at the end.
past_once() {
	report=$tmp/past
	again=$("$B/pagek" run -b -o /dev/null --report "$report" -- \
	    "$B/tests/targets/past" "$1") || return 1
	[ "$again" -gt 900 ] || { echo "$again addresses came again"; return 1; }
	grep '"live_blocks": '"$2"',.*"duplicate": '"$again"', "unknown_free": 0,.*"complete": false, "reason": "calls of malloc or free went past' \
	    "$report" || { cat "$report"; return 1; }
}
past() {
	unless_busy past_once "$@"
}
rule "blocks given to __libc_free leave the list when their addresses come again" \
    past free 0
rule "so do blocks that __libc_realloc has moved" past realloc 0
rule "so do those that another thread frees, whose start leaves one block" past threads 1
rule "so does a block at an address that is used again and again" past early 0

{
	sql_work
	echo "SELECT count(*) FROM (SELECT upper(name)||'x' AS u FROM t ORDER BY u LIMIT 40000);"
} >"$tmp/in.sql"
rule "sqlite3 is counted exactly" \
    counted 1 sqlite3 :memory: ".read $tmp/in.sql"

{
	c_functions 120
	echo 'int main(void) { struct s s = { 1, 2, 3, 0 }; return f3(0, &s) == 12345; }'
} >"$tmp/in.c"
rule "gcc with its cc1, as, collect2 and ld is counted exactly" \
    counted 5 gcc -O1 -o "$tmp/a.out" "$tmp/in.c"

cat >"$tmp/in.pl" <<'PL'
my %h; for my $i (1..60000) { $h{"key$i"} = [ $i, "v" x ($i % 50) ]; delete $h{"key" . ($i - 3000)} if $i > 3000; }
my @s = sort { $h{$a}[0] <=> $h{$b}[0] } keys %h; print scalar(@s), "\n";
PL
rule "perl is counted exactly" counted 1 perl "$tmp/in.pl"

rule "python3 with PYTHONMALLOC=malloc is counted exactly" \
    counted 1 env PYTHONMALLOC=malloc python3 "$top/examples/records.py" 3

cat >"$tmp/forks.sh" <<'SH'
i=0
while [ $i -lt 60 ]; do
	x=$(echo "$i" | sed 's/1/one/' | tr a-z A-Z)
	(y=$x; : "$y"; exit 3)
	ls / >/dev/null &
	i=$((i + 1))
done
wait
SH
rule "a fork-heavy shell script is counted exactly, image by image" \
    counted 300 sh "$tmp/forks.sh"
rule "the same under bash, which allocates more before it forks" \
    counted 300 bash "$tmp/forks.sh"

redis_once() {
	n=$((n + 1))
	report=$tmp/r$n
	mkdir -p "$tmp/c$n"
	rm -f "$tmp/dump.rdb"
	# The server's binary goes by this name when it is called by it.
	ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
	COUNT_DIR=$tmp/c$n LD_PRELOAD=$count "$B/pagek" run -b -o /dev/null \
	    $stacks --report "$report" -- "$tmp/redis-server" --port 0 \
	    --unixsocket "$tmp/redis.sock" --save '' --dir "$tmp" \
	    >"$tmp/redis.log" 2>&1 &
	server=$!
	until_true 20 redis-cli -s "$tmp/redis.sock" ping || return 1
	redis-benchmark -s "$tmp/redis.sock" -t set,lpush,hset -P 16 -d 128 \
	    -r 20000 -n 20000 -q >/dev/null || return 1
	redis-cli -s "$tmp/redis.sock" bgsave
	until_true 20 sh -c "redis-cli -s '$tmp/redis.sock' info persistence |
	    grep -q rdb_bgsave_in_progress:0"
	redis-cli -s "$tmp/redis.sock" shutdown nosave
	wait "$server" || return 1
	"$top/tests/count/compare" "$report" "$tmp/c$n" --min-images 2
}
redis() {
	unless_busy redis_once
}
rule "redis-server under redis-benchmark, with a forked save, is counted exactly" redis

# PHP loads its extensions with RTLD_DEEPBIND, past any layer that counts; valgrind
# sees their calls.  What differs between two sizes is the script's alone.
cat >"$tmp/in.php" <<'PHP'
<?php
for ($round = 0; $round < 3; $round++) {
	for ($i = 0; $i < $argv[1]; $i++)
		readline_add_history("line $i" . str_repeat("x", $i % 90));
	readline_clear_history();
}
$c = FFI::cdef("void *malloc(size_t); void free(void *);", "libc.so.6");
for ($i = 0; $i < $argv[1]; $i++)
	$c->free($c->malloc(300 + $i));
for ($i = 0; $i < $argv[1] / 10; $i++)
	$c->malloc(777);
PHP
php_twice() {
	for i in 1000 3000; do
		report=$tmp/php$i.report
		"$B/pagek" run -b -o /dev/null $1 --report "$report" -- \
		    php "$tmp/in.php" "$i" || return 1
		[ -e "$tmp/php$i.valgrind" ] ||
			valgrind --run-libc-freeres=no php "$tmp/in.php" "$i" \
			    2>"$tmp/php$i.valgrind" || return 1
	done
	python3 - "$tmp" <<'PY'
import json, re, sys

def seen(n):
    r = json.load(open("%s/php%d.report" % (sys.argv[1], n)))
    assert r["complete"] and r["reason"] == "" and r["lost"] == 0, r
    assert r["duplicate"] == 0 and r["unknown_free"] == 0, r
    return r["allocs"], r["frees"]

def true(n):
    text = open("%s/php%d.valgrind" % (sys.argv[1], n)).read()
    return [int(v.replace(",", "")) for v in
            re.search(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees", text).groups()]

grown = [b - a for a, b in zip(seen(1000), seen(3000))]
want = [b - a for a, b in zip(true(1000), true(3000))]
# The script leaves 200 blocks more; a start of PHP now and then one or two.
if want[0] - want[1] != 200:
    print("valgrind saw", want)
    sys.exit(2)
assert grown == want and want[0] > 10000, (grown, want)
PY
	it=$?
	[ $it != 2 ] || rm -f "$tmp"/php*.valgrind
	return $it
}
for stacks in '--stack 16' '--stack 0' '--stack 64 --free-stack'; do
	rule "php's extensions are counted as valgrind counts them with $stacks" \
	    unless_busy tries php_twice "$stacks"
done

namespace() {
	"$B/pagek" run -b -o /dev/null --report "$tmp/apart.report" -- \
	    "$B/tests/plugins/host" apart "$B/tests/plugins/deep.so" &&
	    grep -q '"lost": 0,.*"complete": false, "reason": "objects that dlmopen' \
	    "$tmp/apart.report"
}
rule "a library in a namespace of its own makes the report incomplete, with the reason" namespace

for t in "$B"/tests/targets/exact_*; do
	[ -x "$t" ] || continue
	# Some of them end with a status of their own, to see it passed on.
	"$t" >/dev/null 2>&1
	expect=$?
	for stacks in '--stack 16' '--stack 0' '--stack 64 --free-stack'; do
		rule "$(basename "$t") is counted exactly with $stacks" \
		    counted 1 "$t"
	done
done
expect=0

for stacks in '--stack 0' '--stack 64 --free-stack'; do
	rule "sqlite3 is counted exactly with $stacks" \
	    counted 1 sqlite3 :memory: ".read $tmp/in.sql"
	rule "gcc with its cc1, as, collect2 and ld is counted exactly with $stacks" \
	    counted 5 gcc -O1 -o "$tmp/a.out" "$tmp/in.c"
	rule "redis-server is counted exactly with $stacks" redis
done
for stacks in '--stack 16' '--stack 0' '--stack 64 --free-stack'; do
	for t in threads plugins signal; do
		rule "chains in $t are counted exactly with $stacks" \
		    counted 1 "$B/tests/chains/gcc-O2/$t"
	done
done

say_result
