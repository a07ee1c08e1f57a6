#!/bin/sh
# heaptrack: a real program under both monitors at once, held at one moment; the
# ten heaviest sites by live bytes must be the same.  Then the same work under each:
# the peak of the capture is heaptrack's.  long_heaptrack.sh sets ALL, for more
# programs.
. "$(dirname "$0")/lib.sh"

preload=
for f in /usr/lib/heaptrack/libheaptrack_preload.so \
    /usr/lib/*/heaptrack/libheaptrack_preload.so; do
	[ -e "$f" ] && preload=$f
done
for f in /usr/lib/heaptrack/libexec/heaptrack_interpret \
    /usr/lib/*/heaptrack/libexec/heaptrack_interpret; do
	[ -x "$f" ] && interpret=$f
done
if [ -z "$preload" ] || [ -z "$interpret" ]; then
	skip "heaptrack is not installed: sites are not compared with it"
	rule "there is nothing to compare with" true
	say_result
	exit
fi
n=0

# Word of the time comes 100 times a second even of a program that is held;
# when it is of now, what came before it has been written too.
flushed() {
	last=$(grep -a '^c ' "$1" | tail -n 1)
	[ -n "$last" ] && [ $((0x${last#c })) -gt $((0x$2)) ]
}

# The process that is under both, held.
same_sites() {
	pid=$(cat "$tmp/pid$n")
	raw=$tmp/raw$n.$pid
	before=$(grep -a '^c ' "$raw" | tail -n 1)
	until_true 60 flushed "$raw" "${before#c }" || return 1
	before=$(grep -a '^c ' "$raw" | tail -n 1)
	until_true 60 flushed "$raw" "${before#c }" || return 1
	"$B/pagek" list --format json --timeout 120 --no-skip \
	    -o "$tmp/list$n" "pid:$pid" || return 1
	cp "$raw" "$tmp/copy$n"
	"$interpret" <"$tmp/copy$n" >"$tmp/interpreted$n" 2>/dev/null
	"$top/tests/heaptrack/compare" "$tmp/interpreted$n" "$tmp/list$n" \
	    --depth 16
}

# Runs $@ under both; ours comes first, so that what it sees is the program's.
both() {
	n=$((n + 1))
	cat >"$tmp/under$n" <<SH
echo \$\$ >"$tmp/pid$n"
LD_PRELOAD=\$LD_PRELOAD:$preload DUMP_HEAPTRACK_OUTPUT='$tmp/raw$n.\$\$'
export LD_PRELOAD DUMP_HEAPTRACK_OUTPUT
exec "\$@"
SH
	"$B/pagek" run -b -o /dev/null --stack 20 -- sh "$tmp/under$n" "$@" \
	    >"$tmp/run$n" 2>&1 &
	run=$!
}

# held SIGN COMMAND...: waits until it has made the file SIGN, compares, ends it.
held() {
	sign=$1
	shift
	both "$@"
	if until_true 120 test -e "$sign"; then
		same_sites
		status=$?
	else
		status=1
		tail "$tmp/run$n"
	fi
	kill "$(cat "$tmp/pid$n")"
	wait "$run"
	return $status
}

# --- the peak ----------------------------------------------------------------------

# TRACE OURS OWN: heaptrack's live bytes at their peak are ours; between the events
# of one batch they may differ.  Its own are the pool of a C++ library, which some
# programs have without it.
cat >"$tmp/peaks.py" <<'PY'
import sys
BATCH = 4096		# KEEPER_BATCH in keeper.h
size, live = [], [0]
for line in open(sys.argv[1], "rb"):
    kind, _, rest = line.partition(b" ")
    if kind == b"a":
        size.append(int(rest.split()[0], 16))
    elif kind in (b"+", b"-"):
        live.append(live[-1] + (1 if kind == b"+" else -1) * size[int(rest, 16)])
peak, ours, own = max(live), int(sys.argv[2]), int(sys.argv[3])
at = live.index(peak)
batch = peak - min(live[max(0, at - BATCH):at + BATCH])
print("heaptrack %d, of its own %d, here %d, a batch %d, %d events" % (peak, own, ours, batch, len(live)))
if own < 0:		# it is asked for
    print(peak - ours, file=open(sys.argv[4], "w"))
elif len(live) < 10000 or min(abs(peak - ours), abs(peak - own - ours)) > batch:
    sys.exit(1)
PY
traced() {
	env "LD_PRELOAD=$preload" "DUMP_HEAPTRACK_OUTPUT=$tmp/h$n" "$@"
}
recorded() {
	"$B/pagek" record -o "$tmp/p$n" -- "$@" 2>"$tmp/err$n"
}
under() {
	$by "$@"
}
# peaks OWN COMMAND...: the command starts a program with $by.
peaks() {
	own=$1
	shift
	n=$((n + 1))
	for by in traced recorded; do
		"$@" >/dev/null || return 1
	done
	cat "$tmp/err$n"
	grep -q 'lost 0: ' "$tmp/err$n" || return 2
	"$interpret" <"$tmp/h$n" >"$tmp/i$n" 2>/dev/null
	ours=$("$B/pagek" stats -q --at=peak --format json "$tmp/p$n" |
	    sed -n 's/^  "current_bytes": \([0-9]*\),$/\1/p')
	python3 "$tmp/peaks.py" "$tmp/i$n" "${ours:-0}" "$own" "$tmp/own"
}
rule "heaptrack's own blocks are counted" tries peaks -1 under sh -c :
peak() {
	tries peaks "$(cat "$tmp/own")" "$@"
}
sql_work >"$tmp/peak.sql"
rule "sqlite3: the peak of the capture is heaptrack's" \
    peak under sqlite3 :memory: ".read $tmp/peak.sql"

# --- the sites ---------------------------------------------------------------------

{
	sql_work
	echo ".shell touch $tmp/sqlite.held"
	echo ".read $tmp/never"
} >"$tmp/in.sql"
mkfifo "$tmp/never"
rule "sqlite3: the ten heaviest sites are heaptrack's" \
    held "$tmp/sqlite.held" sqlite3 :memory: ".read $tmp/in.sql"
[ -n "${ALL:-}" ] || {
	say_result
	exit
}

cat >"$tmp/in.py" <<PY
import json, re, time
kept = [json.loads(json.dumps({"id": i, "tags": ["t%d" % k for k in range(i % 7)]})) for i in range(4000)]
index = {str(k["id"]): k for k in kept}
text = ",".join(index)
words = [re.compile("a{%d}" % i) for i in range(300)]
open("$tmp/python.held", "w").close()
time.sleep(600)
PY
# heaptrack is not handed on by a program that another one starts.
python=$(python3 -c 'import sys; print(sys.executable)')
PYTHONMALLOC=malloc PYTHONHASHSEED=0
export PYTHONMALLOC PYTHONHASHSEED
rule "python3: the ten heaviest sites are heaptrack's" \
    held "$tmp/python.held" "$python" "$tmp/in.py"
sed '/sleep/d' "$tmp/in.py" >"$tmp/peak.py"
rule "python3: the peak of the capture is heaptrack's" \
    peak under "$python" "$tmp/peak.py"

# It waits where its input goes on in a pipe that nobody writes to.
{
	c_functions 1500
	echo "#include \"$tmp/more.h\""
} >"$tmp/in.c"
mkfifo "$tmp/more.h"
waits_for_more() {
	grep -q wait_for_partner "/proc/$(cat "$tmp/pid$n")/wchan"
}
compiler() {
	both "$(gcc -print-prog-name=cc1)" -quiet -O1 "$tmp/in.c" -o /dev/null
	if until_true 120 waits_for_more; then
		same_sites
		status=$?
	else
		status=1
		tail "$tmp/run$n"
	fi
	kill "$(cat "$tmp/pid$n")"
	wait "$run"
	return $status
}
rule "cc1, before its input ends: the ten heaviest sites are heaptrack's" compiler
c_functions 1500 >"$tmp/peak.c"
rule "cc1: the peak of the capture is heaptrack's" peak under \
    "$(gcc -print-prog-name=cc1)" -quiet -O1 "$tmp/peak.c" -o /dev/null

redis() {
	ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
	both "$tmp/redis-server" --port 0 --unixsocket "$tmp/redis.sock" \
	    --save '' --dir "$tmp"
	status=1
	if until_true 20 redis-cli -s "$tmp/redis.sock" ping &&
	    redis-benchmark -s "$tmp/redis.sock" -t set,lpush,hset -P 16 \
		-d 128 -r 5000 -n 20000 -q >/dev/null; then
		same_sites
		status=$?
	fi
	kill "$(cat "$tmp/pid$n")"
	wait "$run"
	return $status
}
rule "redis-server, loaded and held: the ten heaviest sites are heaptrack's" redis
# One client, whose commands come one after the other.
awk 'BEGIN { for (i = 0; i < 20000; i++)
	printf "SET k%d %0*d\nLPUSH l%d %d\n", i * 7919 % 5000, 10 + i % 300,
	    i, i % 50, i }' >"$tmp/redis.in"
serve() {
	rm -f "$tmp/redis.sock"
	$by "$tmp/redis-server" --port 0 --unixsocket "$tmp/redis.sock" \
	    --save '' --dir "$tmp" &
	server=$!
	until_true 20 redis-cli -s "$tmp/redis.sock" ping &&
	    redis-cli -s "$tmp/redis.sock" <"$tmp/redis.in"
	redis-cli -s "$tmp/redis.sock" shutdown nosave
	wait "$server"
}
rule "redis-server: the peak of the capture is heaptrack's" peak serve

say_result
