#!/bin/sh
# Calls of the allocator that are cut off by another thread's fork, by a jump out
# of a signal handler or by the end of the process.  A list that is marked
# complete is exact, and each other list says why it is not complete.
. "$(dirname "$0")/lib.sh"

count=$B/tests/libcount.so
stacks='--stack 16'

# watched PRELOAD TARGET [ARG...]: under pagek and a preload below the library.
watched() {
	preload=$1
	shift
	rm -rf "$tmp/counted" "$report"
	mkdir "$tmp/counted"
	COUNT_DIR=$tmp/counted LD_PRELOAD=$preload "$B/pagek" run -b \
	    -o /dev/null $stacks --report "$report" -- "$@"
}
report=$tmp/report

# The lines that say complete, against the counting layer.
sure_lines_are_exact() {
	"$top/tests/count/compare" "$report" "$tmp/counted" --doubtful \
	    --unheard 20 "$@"
}

# busy THREADS FORKS [WORK]
busy() {
	watched "$count" "$B/tests/targets/busy_forks" "$@" &&
	    sure_lines_are_exact --min-images $(($2 + 1))
}
rule "children forked beside a busy thread are exact, or say why not" \
    busy 1 60
rule "children forked beside three busy threads are exact, or say why not" busy 3 60
rule "the same beside three threads that also do other work" busy 3 60 500
rule "a process that ends beside three busy threads is exact, or says why not" busy 3 0
stacks='--stack 0'
rule "children forked beside three threads are exact with return addresses alone, or say why not" \
    busy 3 60 200
stacks='--sample 4k'
rule "children of a sampling process come to no harm" \
    watched "$count" "$B/tests/targets/busy_forks" 3 20
stacks='--stack 16'

redis_save() {
	rm -rf "$tmp/counted" "$report"
	mkdir "$tmp/counted"
	ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
	COUNT_DIR=$tmp/counted LD_PRELOAD=$count "$B/pagek" run -b \
	    -o /dev/null $stacks --report "$report" -- "$tmp/redis-server" \
	    --port 0 --unixsocket "$tmp/redis.sock" --save '' --dir "$tmp" \
	    --io-threads 4 --io-threads-do-reads yes >"$tmp/redis.log" 2>&1 &
	server=$!
	until_true 20 redis-cli -s "$tmp/redis.sock" ping || return 1
	redis-benchmark -s "$tmp/redis.sock" -t set,lpush -P 16 -d 128 \
	    -r 20000 -n 50000 -q >/dev/null &
	load=$!
	redis-cli -s "$tmp/redis.sock" bgsave
	wait $load
	until_true 20 sh -c "redis-cli -s '$tmp/redis.sock' info persistence |
	    grep -q rdb_bgsave_in_progress:0"
	redis-cli -s "$tmp/redis.sock" shutdown nosave
	wait "$server"
	sure_lines_are_exact --min-images 2
}
rule "redis-server with four threads, saving by a child under load" redis_save

# cut MODE PATTERN: the report of the process has it.
cut() {
	watched "$B/tests/libcut.so" "$B/tests/targets/cut_calls" "$1" &&
	    grep -qE "$2" "$report" || { cat "$report"; return 1; }
}
one='"unfinished": 1,.*"complete": false, "reason": "a call of the allocator was not finished"'
rule "a jump out of a handler in the middle of malloc is reported" cut jump "$one"
rule "a jump out of a handler on an alternate stack is reported" cut alt "$one"
rule "a jump out of a handler in a thread that ends at once is reported" cut thread "$one"
rule "an exit by a handler in the middle of malloc is reported" cut exit "$one"
rule "a handler that allocates and returns leaves no unfinished call" \
    cut nested '"unfinished": 0,.*"complete": true'
rule "a child made by clone(2) beside a thread is incomplete, with the reason" \
    cut raw '"unfinished": 1,.*"complete": false, "reason": "other threads were inside the allocator at its fork"'

rule "a fork that waits for a thread behind its gate goes on, and so does the thread" \
    watched "$B/tests/libcut.so" "$B/tests/targets/cut_calls" locked

overflows() {
	watched "$count" "$B/tests/targets/cut_calls" overflow &&
	    sure_lines_are_exact
}
rule "a process that jumps out of stack overflows is exact, or says why not" overflows

# A subshell is two images, of which the first runs the program and the second ends,
# mostly before the node has seen either.  The other programs come by vfork(2).
all_execed() {
	rm -f "$tmp/go"
	mkfifo "$tmp/go"
	"$B/pagek" run -b -o /dev/null -- sh -c '
	    for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; (exec /bin/echo) ; done
	    echo ready; read x' <"$tmp/go" >"$tmp/out" &
	run=$!
	exec 8>"$tmp/go"
	until_true 20 grep -q ready "$tmp/out" && settled
	result=$?
	exec 8>&-
	wait $run
	return $result
}
settled() {
	until_true 20 states "$@" || { states; return 1; }
}
# All 20 programs have ended, and before them only what has run them.
states() {
	"$B/pagek" targets --format json >"$tmp/json" && python3 - "$tmp/json" <<'PY'
import json, sys
from collections import Counter
n = Counter((t["name"], t["state"]) for t in json.load(open(sys.argv[1]))["targets"])
print(n)
assert n["true", "ENDED"] == 10 and n["echo", "ENDED"] == 10, n
assert n["sh", "EXECED"] >= 10 and n["sh", "ENDED"] == 0, n
PY
}
rule "an image that has run another program is EXECED, however fast that has ended" \
    all_execed

say_result
