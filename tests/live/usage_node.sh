#!/bin/sh
# What a node counts by caller, type and size: sums over the rows of real programs
# are the totals of the report; after a node was killed counts begin anew.  Needs
# sqlite3, redis and python3.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
leaks=$B/tests/targets/leaks
ask() {
	timeout 60 python3 "$top/tests/live/usage_node.py" "$@"
}
mkfifo "$tmp/go" "$tmp/orders" || exit 1
exec 8<>"$tmp/go" 9<>"$tmp/orders"
runs=
node=
target=
stop() {
	kill $runs $target
	[ -z "$node" ] || kill_node "$node"
} >/dev/null 2>&1
trap stop EXIT

# run COMMAND...: under a node of its own, which lives until the shell reads "go".
run() {
	rm -f "$tmp/report" "$tmp/done"
	"$pagek" run --usage --report "$tmp/report" -o /dev/null -- \
	    sh -c '"$@"; echo >"$0/done"; read -r go <"$0/go"' "$tmp" "$@" \
	    >"$tmp/out" 2>"$tmp/err" 8>&- 9>&- &
	runs=$!
	until_true 60 test -e "$tmp/done" || { cat "$tmp/err"; return 1; }
}
own_node() {
	ls "$XDG_RUNTIME_DIR"/pagek/run.* | grep -v hello
}
over() {
	echo go >&8
	wait "$runs"
	runs=
}

sqlite() {
	sql_work >"$tmp/sql"
	run sh -c "sqlite3 :memory: <$tmp/sql" &&
	    ask equal "$(own_node)" "$tmp/report" sqlite3 1 && over
}
rule "pagek run --usage: sums over the rows of sqlite3 are the report's totals" sqlite

# The program knows what it allocates: 150 blocks with 100,500 bytes, and at most
# 100 with 100,000 at once.
cat >"$tmp/known.c" <<'E'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	void *p[100];
	for (int i = 0; i < 100; i++)
		p[i] = malloc(1000);
	for (int i = 0; i < 90; i++)
		free(p[i]);
	for (int i = 0; i < 50; i++)
		free(malloc(10));
	return pause();
}
E
by() {
	[ "$1" = held ] || echo "--by=$1"
}
# sums_are WORD BLOCKS BYTES: of the tree, of its groups, and of the folded stacks.
sums_are() {
	for form in --flat ''; do
		timeout 30 "$pagek" tree $form $(by "$1") --format json \
		    known >"$tmp/tree" &&
		    python3 - "$tmp/tree" "$@" <<'P' || return 1
import json, sys
t = json.load(open(sys.argv[1]))
assert t["counts"] == sys.argv[2], t["counts"]
assert [t["total"]["blocks"], t["total"]["bytes"]] == [int(n) for n in sys.argv[3:5]], t["total"]
assert (t["total"]["oldest_age_ms"] is None) == (sys.argv[2] != "held")
P
	done
	sum=$(timeout 30 "$pagek" export --folded $(by "$1") known |
	    awk '{ n += $NF } END { print n }')
	[ "$sum" = "$3" ]
}
end_known() {
	"$pagek" targets --format json | python3 -c '
import json, os, sys
for t in json.load(sys.stdin)["targets"]:
    if t["name"] == "known": os.kill(t["pid"], 15)'
	wait "$runs"
	runs=
}
trees() {
	cc -O0 -fno-builtin -o "$tmp/known" "$tmp/known.c" || return 1
	"$pagek" run --usage -b -o /dev/null -- "$tmp/known" >"$tmp/out" 2>&1 8>&- 9>&- &
	runs=$!
	until_true 30 sums_are held 10 10000 2>/dev/null &&
	    sums_are allocations 150 100500 && sums_are peak 100 100000
	set -- $?
	end_known
	return "$1"
}
rule "pagek tree --by=allocations and --by=peak have the sums that the program knows" trees

ln -s "$(command -v redis-check-rdb)" "$tmp/redis-server"
# The node keeps the lists of the last few that have ended, and each fork of the
# shell is one of them: one client, which is no target, does everything.
cat >"$tmp/client" <<'E'
import socket, subprocess, sys, time
path = sys.argv[1]
def ask(*words):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
        return s.recv(65536)
def until(word, *question):
    while True:
        try:
            if word in ask(*question):
                return
        except OSError:
            pass
        time.sleep(0.01)
until(b"PONG", "PING")
subprocess.run(["redis-benchmark", "-s", path, "-t", "set,lpush,hset", "-P", "16",
    "-d", "128", "-r", "20000", "-n", "20000", "-q"], stdout=subprocess.DEVNULL)
ask("BGSAVE")
until(b"rdb_bgsave_in_progress:0", "INFO", "persistence")
ask("SHUTDOWN", "NOSAVE")
E
cat >"$tmp/server" <<E
"$tmp/redis-server" --port 0 --unixsocket "$tmp/redis.sock" --save '' --dir "$tmp" >"$tmp/redis.log" &
LD_PRELOAD= python3 "$tmp/client" "$tmp/redis.sock"
wait
E
redis() {
	run sh "$tmp/server" &&
	    ask equal "$(own_node)" "$tmp/report" redis-server 2 && over
}
rule "so are those of redis-server and of its forked save" redis

# --- a node that is killed ---------------------------------------------------------

begins() {
	"$B/pageknode" --usage 2>"$tmp/said" 8>&- &
	node=$!
	until_true 10 grep -q listening "$tmp/said" || return 1
	sh -c "echo \$\$ >$tmp/pid
	    LD_PRELOAD=$B/liballoclog.so exec $leaks $tmp/orders $tmp/told" 8>&- &
	target=$!
	until_true 30 grep -qs live "$tmp/told" || return 1
	ask look "$XDG_RUNTIME_DIR/pagek/node" "$(cat "$tmp/pid")" >"$tmp/first" &&
	    cat "$tmp/first" && grep ' True ' "$tmp/first"
}
rule "pageknode --usage counts a program from its start" begins

again() {
	was=$(node_of "$node")
	kill -9 "$was"
	until_true 20 ask look "$XDG_RUNTIME_DIR/pagek/node" "$(cat "$tmp/pid")" &&
	    ask look "$XDG_RUNTIME_DIR/pagek/node" "$(cat "$tmp/pid")" \
	    >"$tmp/second" || return 1
	cat "$tmp/first" "$tmp/second"
	read -r since _ _ held <"$tmp/first"
	tail -n 1 "$tmp/second" | {
		read -r later start allocs now
		[ "$later" -gt "$since" ] && [ "$start" = False ] &&
		    [ "$allocs" = 0 ] && [ "$now" = "$held" ]
	}
}
rule "after kill -9 of the node counts begin anew, say so, and hold what it holds" again
say_result
