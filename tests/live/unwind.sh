#!/bin/sh
# Stacks against a full unwind: every thousandth or hundredth allocation of real
# programs, every single one of programs that are hard to follow.  long_chains.sh
# runs it with more variants of those.
. "$(dirname "$0")/lib.sh"

variants=${CHAINS:-gcc-O2 gcc-debuglink clang-O0}
lib=$B/tests/libstackcheck.so
sum=$top/tests/stackcheck/sum
n=0

# held EVERY IMAGES CHECKED COMMAND...: under stackcheck, with at least so many
# process images that spoke and stacks that were checked.
held() {
	every=$1 images=$2 checked=$3
	shift 3
	n=$((n + 1))
	out=$tmp/stacks$n
	env STACKCHECK="$every" STACKCHECK_OUT="$out" LD_PRELOAD="$lib" \
	    "$@" >"$tmp/out$n" 2>&1
	status=$?
	[ "$status" = "${expect:-0}" ] || {
		tail -n 5 "$tmp/out$n"
		echo "status $status"
		return 1
	}
	"$sum" "$out" --images "$images" --checked "$checked"
}

# How deep and with whose second opinion the hard ones are looked at.
hard() {
	for depth in 16 3 64; do
		STACKCHECK_DEPTH=$depth STACKCHECK_SECOND=1 held 1 1 1 "$@" ||
		    return 1
	done
}

for variant in $variants; do
	folder=$B/tests/chains/$variant
	all_chains() {
		for t in plain signal threads plugins cxx; do
			hard "$folder/$t" || return 1
		done
	}
	rule "chains as $variant: every stack is that of an unwind" all_chains
	# An unwinder of C++ exceptions would not live through these.
	rule "garbage as $variant: lives" held 0 1 0 "$folder/garbage"
done
for variant in $variants; do
	case $variant in
	gcc-O0 | gcc-O0-nofp | gcc-O2 | gcc-O2-fp | clang-O0 | clang-O2) ;;
	*) continue ;;
	esac
	rule "stacks that look alike and are not, as $variant: none is taken for another" \
	    held 1 1 20000 "$B/tests/chains/$variant/defeat" 30000
	STACKCHECK_DEPTH=7 rule "the same with seven frames" \
	    held 1 1 20000 "$B/tests/chains/$variant/defeat" 30000
done

# Those that end by themselves and need nothing else.
for t in "$B"/tests/targets/exact_* "$B/tests/targets/first" \
    "$B/tests/targets/signals"; do
	name=$(basename "$t")
	[ -x "$t" ] || continue
	"$t" >/dev/null 2>&1
	expect=$?
	rule "$name: every stack is that of an unwind" \
	    held 100 1 0 "$t"
done
expect=0

{
	sql_work
	echo "SELECT count(*) FROM (SELECT upper(name)||'x' AS u FROM t ORDER BY u LIMIT 40000);"
} >"$tmp/in.sql"
rule "sqlite3: every thousandth" \
    held 1000 1 200 sqlite3 :memory: ".read $tmp/in.sql"

{
	c_functions 120
	echo 'int main(void) { struct s s = { 1, 2, 3, 0 }; return f3(0, &s) == 12345; }'
} >"$tmp/in.c"
rule "gcc with its cc1, as, collect2 and ld: every hundredth" \
    held 100 5 1000 gcc -O1 -o "$tmp/a.out" "$tmp/in.c"
cat >"$tmp/in.cc" <<'CC'
#include <map>
#include <string>
int main() { std::map<std::string, int> m; m["a"] = 1; return m.count("b") ? 1 : 0; }
CC
rule "g++ with its cc1plus: every hundredth" \
    held 100 4 1000 g++ -O1 -o "$tmp/a.out" "$tmp/in.cc"

cat >"$tmp/in.pl" <<'PL'
my %h; for my $i (1..60000) { $h{"key$i"} = [ $i, "v" x ($i % 50) ]; delete $h{"key" . ($i - 3000)} if $i > 3000; }
my @s = sort { $h{$a}[0] <=> $h{$b}[0] } keys %h; print scalar(@s), "\n";
eval { die "x" } for 1..1000; my $t = join ",", map { s/(\d+)/<$1>/r } @s;
PL
rule "perl: every thousandth" held 1000 1 200 perl "$tmp/in.pl"
rule "python3 with PYTHONMALLOC=malloc: every thousandth" \
    held 1000 1 300 env PYTHONMALLOC=malloc python3 "$top/examples/records.py" 3
cat >"$tmp/in.py" <<'PY'
import ctypes, json, re, threading
CMP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)
def work():
    a = (ctypes.c_int * 50)(*range(50, 0, -1))
    libc.qsort(a, 50, 4, CMP(lambda x, y: len(str(x[0])) and x[0] - y[0]))
    for i in range(200):
        json.dumps(json.loads('{"a": [1, 2, {"b": "%s"}]}' % ("x" * i)))
        re.compile("(a|b)*%d" % i)
ts = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]
PY
rule "python3 with threads and callbacks through code made at run time: every tenth" \
    held 10 1 1000 env PYTHONMALLOC=malloc python3 "$tmp/in.py"

redis() {
	ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
	held 1000 2 200 "$tmp/redis-server" --port 0 \
	    --unixsocket "$tmp/redis.sock" --save '' --dir "$tmp" \
	    >"$tmp/redis.log" 2>&1 &
	server=$!
	until_true 20 redis-cli -s "$tmp/redis.sock" ping || {
		kill "$server"
		return 1
	}
	redis-benchmark -s "$tmp/redis.sock" -t set,lpush,hset -P 16 -d 128 \
	    -r 20000 -n 60000 -q >/dev/null || return 1
	redis-cli -s "$tmp/redis.sock" bgsave
	until_true 20 sh -c "redis-cli -s '$tmp/redis.sock' info persistence |
	    grep -q rdb_bgsave_in_progress:0"
	redis-cli -s "$tmp/redis.sock" eval \
	    'for i = 1, 1000 do redis.call("set", "k" .. i, string.rep("x", i)) end' 0
	redis-cli -s "$tmp/redis.sock" shutdown nosave
	wait "$server"
	status=$?
	cat "$tmp/redis.log"
	return $status
}
rule "redis-server under redis-benchmark, with a forked save: every thousandth" redis

say_result
