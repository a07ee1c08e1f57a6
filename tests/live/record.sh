#!/bin/sh
# pagek record: what a capture holds is what a second counting layer counts, of
# each image of a tree; whoever is killed, and on a full disk, it can be read.
# long_record.sh sets KILLS: how often each of four processes is killed.
# Needs sqlite3, gcc, python3 and redis.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
sums=$B/tests/capture/sums
count=$B/tests/libcount.so
# with PID: itself and its descendants.
with() {
	echo "$1"
	for pid in $(pgrep -P "$1"); do
		with "$pid"
	done
}
# What lives of ours, whose numbers are nobody else's, and of a recorder that was
# killed.
stop() {
	kill -9 $(with $$ | sed 1d) ${super:+$(with "$super")}
	wait
	rm -rf "$tmp"
} >/dev/null 2>&1
super=
trap stop EXIT
n=0

# A program that allocates until it is told to end, or so many thousand times.
cat >"$tmp/busy.c" <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile sig_atomic_t over;
static void *volatile kept[1000], *volatile last;
static void end(int sig) { over = sig; }
int main(int argc, char **argv)
{
	long most = argc > 1 ? atol(argv[1]) * 1000 : 0;
	signal(SIGTERM, end);
	for (long i = 0; !over && (most == 0 || i < most); i++) {
		free(kept[i % 1000]);
		kept[i % 1000] = malloc(10 + i % 500);
		last = malloc(33);
		free(last);
		if (most == 0 && i % 100 == 0)
			usleep(500);
	}
	return 7;
}
C
cc -O1 -g -fno-builtin -o "$tmp/busy" "$tmp/busy.c" || exit 1

# ended PID: its status, once it is over.
ended() {
	until_true 60 is_gone "$1" || { echo "$1 does not end"; return 99; }
	wait "$1"
} 2>/dev/null

# --- what is in it -------------------------------------------------------------

# read_capture FILE: its parts in $report, and what is said of the whole in $report.all.
read_capture() {
	report=$tmp/r$n
	"$sums" "$1" >"$report" 2>"$report.all" || { cat "$report.all"; return 1; }
}
# whole: nothing lacks in the capture that was read.
whole() {
	grep -q 'gaps 0 lost 0 damages 0 ended: ' "$report.all" ||
	    { cat "$report.all"; return 1; }
}

# equals_once MIN_IMAGES COMMAND...: recorded under the counting layer, compared.
equals_once() {
	images=$1
	shift
	n=$((n + 1))
	mkdir -p "$tmp/c$n"
	timeout 120 env "COUNT_DIR=$tmp/c$n" "LD_PRELOAD=$count" "$pagek" record \
	    -o "$tmp/f$n" $stacks -- "$@" >"$tmp/out$n" 2>"$tmp/err$n"
	status=$?
	cat "$tmp/err$n"
	[ "$status" = 0 ] || { echo "status $status"; return 1; }
	read_capture "$tmp/f$n" && whole && tells_all || return 1
	same_stats "$tmp/f$n" || return 1
	"$top/tests/count/compare" "$report" "$tmp/c$n" --min-images "$images" \
	    >"$tmp/compared" && return
	cat "$tmp/compared"
	are_told && return
	# Said, as an image of which a report knows nothing.
	! grep 'could not be recorded' "$tmp/err$n" || echo '"allocs": null' >>"$report"
	return 1
}
# Of many short images a few may not be heard on a busy machine: as many as are
# told of, and no more than a quarter.
are_told() {
	told=$(sed -n 's/^pagek: \([0-9]*\) process image.* could not be.*/\1/p' \
	    "$tmp/err$n")
	differ=$(sed -n 's/^[0-9]* images,.* \([0-9]*\) differ.*/\1/p' "$tmp/compared")
	all=$(sed -n 's/^\([0-9]*\) images,.*/\1/p' "$tmp/compared")
	[ "${differ:-0}" -gt 0 ] && [ "$differ" -le "${told:-0}" ] &&
	    [ $((4 * differ)) -le "$all" ]
}
# pagek stats has those numbers, too; of many parts the first ten are looked at.
same_stats() {
	for part in $(sed -n 's/.*"part": \([0-9]*\),.*/\1/p' "$report" | head); do
		"$pagek" stats -q --format json --part "$part" "$1" >"$tmp/stats" &&
		    python3 - "$report" "$part" "$tmp/stats" <<'PY' || return 1
import json, sys
(sums,) = [p for p in map(json.loads, open(sys.argv[1])) if p["part"] == int(sys.argv[2])]
stats = json.load(open(sys.argv[3]))
for told, of in (("allocs", "allocations"), ("frees", "frees"), ("live_blocks", "current_blocks"),
    ("live_bytes", "current_bytes"), ("lost", "missed"), ("unknown_free", "unknown_frees"),
    ("duplicate", "replaced"), ("complete", "complete")):
    assert sums[told] == stats[of], (told, sums[told], stats[of])
PY
	done
}
# The last line has the events of the file, and each free has its caller.
tells_all() {
	python3 - "$report" "$tmp/err$n" <<'PY'
import json, re, sys
parts = [json.loads(line) for line in open(sys.argv[1])]
last = open(sys.argv[2]).read().strip().split("\n")[-1]
said = re.search(r"pagek: ([\d,]+) events of (\d+) process images?, .*, lost 0: ", last)
assert said, last
assert int(said.group(1).replace(",", "")) == sum(p["events"] for p in parts), last
assert int(said.group(2)) == len(parts), last
for p in parts:
    assert p["ended"] and p["events"] >= p["allocs"] + p["frees"], p
    assert p["blocks"] == p["live_blocks"] and p["bytes"] == p["live_bytes"], p
    assert p["free_records"] - p["frees_with_caller"] <= p["free_records"] / 50, p
PY
}
equals() {
	unless_busy equals_once "$@"
}

{
	sql_work
	echo "SELECT count(*) FROM (SELECT upper(name)||'x' AS u FROM t ORDER BY u LIMIT 40000);"
} >"$tmp/in.sql"
c_functions 120 >"$tmp/in.c"
cat >"$tmp/forks.sh" <<'SH'
i=0
while [ $i -lt 20 ]; do
	x=$(echo "$i" | sed 's/1/one/' | tr a-z A-Z)
	(y=$x; : "$y"; exit 3)
	ls / >/dev/null &
	i=$((i + 1))
done
wait
SH
for stacks in '' '--stack 0' '--stack 32 --free-stack'; do
	with=${stacks:-the usual stacks}
	rule "a capture of sqlite3 has what the counting layer counts, with $with" \
	    equals 1 sqlite3 :memory: ".read $tmp/in.sql"
done
stacks=
rule "so has one of gcc, of each of its processes" \
    equals 3 gcc -O1 -c -o "$tmp/a.o" "$tmp/in.c"
# The program itself: what is found as python3 may be a script that starts many.
python=$(python3 -c 'import sys; print(sys.executable)')
rule "so has one of python3" \
    equals 1 env PYTHONMALLOC=malloc "$python" "$top/examples/records.py" 3
rule "so has one of a shell that forks and starts" equals 100 sh "$tmp/forks.sh"

redis_once() {
	n=$((n + 1))
	mkdir -p "$tmp/c$n"
	rm -f "$tmp/dump.rdb"
	ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
	COUNT_DIR=$tmp/c$n LD_PRELOAD=$count "$pagek" record -o "$tmp/f$n" -- \
	    "$tmp/redis-server" --port 0 --unixsocket "$tmp/redis.sock" \
	    --save '' --dir "$tmp" >"$tmp/redis.log" 2>"$tmp/err$n" &
	server=$!
	until_true 20 redis-cli -s "$tmp/redis.sock" ping || return 1
	timeout 60 redis-benchmark -s "$tmp/redis.sock" -t set,lpush,hset -P 16 -d 128 \
	    -r 20000 -n 20000 -q >/dev/null || return 1
	redis-cli -s "$tmp/redis.sock" bgsave
	until_true 20 sh -c "redis-cli -s '$tmp/redis.sock' info persistence |
	    grep -q rdb_bgsave_in_progress:0"
	redis-cli -s "$tmp/redis.sock" shutdown nosave
	ended "$server" || return 1
	cat "$tmp/err$n"
	read_capture "$tmp/f$n" && whole && tells_all &&
	    same_stats "$tmp/f$n" || return 1
	"$top/tests/count/compare" "$report" "$tmp/c$n" --min-images 2
}
redis() {
	unless_busy redis_once
}
rule "so has one of redis-server under redis-benchmark, with a forked save" redis

keeps_status() {
	echo in | timeout 60 "$pagek" record -o "$tmp/status" -- sh -c 'cat; exit 5' \
	    >"$tmp/out" 2>"$tmp/err"
	[ $? = 5 ] && [ "$(cat "$tmp/out")" = in ] && cat "$tmp/err" &&
	    [ "$(grep -c . "$tmp/err")" = 1 ]
}
rule "the command keeps its input, output and status; one line is said" keeps_status

ring() {
	timeout 60 "$pagek" record -o "$tmp/ring" --ring 128k --stack 0 -- \
	    "$tmp/busy" 1500
	[ $? = 7 ] || return 1
	ls -l "$tmp/ring"
	[ "$(du -sk "$tmp/ring" | cut -f1)" -le 160 ] && read_capture "$tmp/ring" &&
	    cat "$report.all" && grep -q 'damages 0 ended' "$report.all" &&
	    [ "$(sed 's/.*oldest \([0-9]*\).*/\1/' "$report.all")" -gt 1 ] &&
	    grep -q '"complete": true' "$report"
}
rule "a ring keeps the newest, with the list as it was before" ring

# The program is faster than the writer, whose queue has room for two million
# events.
waits_once() {
	n=$((n + 1))
	timeout 120 "$pagek" record -o "$tmp/f$n" --stack 8 -- "$tmp/busy" 1500 \
	    2>"$tmp/err$n"
	[ $? = 7 ] || { cat "$tmp/err$n"; return 1; }
	cat "$tmp/err$n"
	read_capture "$tmp/f$n" && cat "$report" && whole &&
	    grep -q '"allocs": 3000000, "frees": 2999000' "$report"
}
waits() {
	unless_busy waits_once
}
rule "a program waits for a writer that falls back, and nothing is lost" waits

# The report of one run, the capture of another, of the same work.
same_totals_once() {
	n=$((n + 1))
	report=$tmp/r$n
	timeout 60 "$pagek" run -b -o /dev/null --report "$report" -- "$@" \
	    >/dev/null
	timeout 60 "$pagek" record -o "$tmp/f$n" -- "$@" >/dev/null 2>"$tmp/err$n"
	timeout 60 "$pagek" stats --format json "$tmp/f$n" >"$tmp/stats$n" ||
	    return 1
	cat "$report" "$tmp/err$n"
	python3 - "$report" "$tmp/stats$n" <<'PY' && return
import json, sys
(run,) = [json.loads(line) for line in open(sys.argv[1])]
stats = json.load(open(sys.argv[2]))
for told, of in (("allocs", "allocations"), ("frees", "frees"),
    ("live_blocks", "current_blocks"), ("live_bytes", "current_bytes"),
    ("lost", "missed"), ("unknown_free", "unknown_frees"),
    ("complete", "complete")):
    assert run[told] == stats[of], (told, run[told], stats[of])
assert run["allocs"] > 1000 and run["complete"], run
PY
	grep -q 'lost 0: ' "$tmp/err$n" || echo '"lost": 1' >>"$report"
	return 1
}
same_totals() {
	unless_busy same_totals_once "$@"
}
rule "pagek stats tells of a capture what the report of a run does" \
    same_totals "$tmp/busy" 100
rule "of sqlite3, too" same_totals sqlite3 :memory: ".read $tmp/in.sql"

# --- a target ----------------------------------------------------------------------

"$B/pageknode" >"$tmp/node.log" 2>&1 &
daemon=$!
rule "a node stands alone" until_true 10 "$pagek" targets

# start_busy: a target at the node, in $busy; again, when it was not heard.
start_busy() {
	for try in 1 2 3 4 5; do
		LD_PRELOAD=$B/liballoclog.so "$tmp/busy" &
		busy=$!
		until_true 3 sh -c "'$pagek' targets | grep -q '^pid:$busy .*LIVE'" &&
		    return
		end_busy
	done
	echo "the node does not hear targets"
	return 1
}
end_busy() {
	kill "$busy"
	ended "$busy"
} 2>/dev/null
on_file() {
	until_true 10 sh -c '[ "$(stat -c %s "$0")" -gt "$1" ]' "$1" "$2"
}

# Input that never ends holds nothing up.
much_input() {
	start_busy || return 1
	yes | timeout 60 "$pagek" record -q -o "$tmp/much" --until-eof \
	    --duration 1 "pid:$busy"
	status=$?
	end_busy
	[ $status = 0 ]
}

# ssh that ends neither with its input nor by SIGTERM, below one who ignores SIGCHLD.
stubborn_ssh() {
	mkdir -p "$tmp/bin"
	cat >"$tmp/bin/ssh" <<S
#!/bin/sh
trap '' TERM
cat >/dev/null
echo \$\$ >"$tmp/ssh_has_read"
exec sleep 300
S
	chmod +x "$tmp/bin/ssh"
	(
		trap '' CHLD
		PATH=$tmp/bin:$PATH exec "$pagek" record -o "$tmp/f" ssh:h/pid:1
	) 2>"$tmp/err" &
	recorder=$!
	until_true 30 sh -c 'pgrep -P "$0"' "$recorder" && kill "$recorder" &&
	    until_true 30 test -s "$tmp/ssh_has_read" && kill "$recorder" || return 1
	ended "$recorder"
	[ $? = 3 ] && grep -q 'ssh failed' "$tmp/err" &&
	    ! kill -0 "$(cat "$tmp/ssh_has_read")" 2>/dev/null
}

# by HOW: a target's recording ends that way.
target_ends() {
	n=$((n + 1))
	start_busy || return 1
	case $1 in
	signal)
		"$pagek" record -o "$tmp/f$n" "pid:$busy" 2>"$tmp/err$n" &
		recorder=$!
		on_file "$tmp/f$n" 20000 || return 1
		kill "$recorder" ;;
	end)
		"$pagek" record -o "$tmp/f$n" "pid:$busy" 2>"$tmp/err$n" &
		recorder=$!
		on_file "$tmp/f$n" 20000 || return 1
		end_busy ;;
	input)
		"$pagek" record -o "$tmp/f$n" --until-eof "pid:$busy" \
		    <"$tmp/fifo" 2>"$tmp/err$n" &
		recorder=$!
		exec 7>"$tmp/fifo"
		on_file "$tmp/f$n" 20000 || return 1
		echo more >&7
		exec 7>&- ;;
	duration)
		"$pagek" record -o "$tmp/f$n" --duration 1 busy 2>"$tmp/err$n" &
		recorder=$! ;;
	esac
	ended "$recorder"
	status=$?
	cat "$tmp/err$n"
	[ $1 = end ] || end_busy
	[ $status = 0 ] && grep -q 'lost 0: ' "$tmp/err$n" || return 1
	read_capture "$tmp/f$n" && whole || return 1
	cat "$report"
	python3 - "$report" <<'PY'
import json, sys
(p,) = [json.loads(line) for line in open(sys.argv[1])]
assert p["began"] == 3 and p["inherited_blocks"] > 0 and p["events"] > 100, p
assert p["complete"] and p["duplicate"] == 0 and p["unknown_free"] == 0, p
# Threads that made pairs go over to records of their own.
assert p["frees_with_caller"] > p["free_records"] / 2, p
PY
}
mkfifo "$tmp/fifo"
for how in signal end input duration; do
	rule "a target's list comes first, then its events; ended by $how" \
	    target_ends $how
done

cat >"$tmp/family.sh" <<'SH'
read go
x=$(echo a | tr a b)
ls / >/dev/null
exec sort /dev/null
SH
# As above: the family at the node, in $family; it waits for a line of fd 7.
start_family() {
	for try in 1 2 3 4 5; do
		rm -f "$tmp/go"
		mkfifo "$tmp/go" || return 1
		LD_PRELOAD=$B/liballoclog.so sh "$tmp/family.sh" <"$tmp/go" &
		family=$!
		exec 7>"$tmp/go"
		until_true 3 sh -c "'$pagek' targets |
		    grep -q '^pid:$family .*LIVE'" && return
		exec 7>&-
		ended "$family"
	done
	echo "the node does not hear the family"
	return 1
}
follows_it() {
	"$pagek" record -o "$tmp/family" "pid:$family" 2>"$tmp/err" &
	recorder=$!
	until_true 20 sh -c "'$sums' '$tmp/family' | grep -q '\"began\": 3'" ||
	    { cat "$tmp/err"; return 1; }
	echo >&7
	exec 7>&-
	ended "$recorder" || return 1
	cat "$tmp/err"
	read_capture "$tmp/family" && whole || return 1
	cut -c1-60 "$report"
	for comm in sh tr ls sort; do
		grep -q "\"comm\": \"$comm\"" "$report" || return 1
	done
}
# 2: the node has not heard one of them.
follows() {
	start_family || return 2
	follows_it
	it=$?
	exec 7>&-
	[ $it = 0 ] || ! "$pagek" targets | grep 'NO DATA' || return 2
	return $it
}
rule "processes that a target forks, starts and becomes are recorded" tries follows

# Each of two processes with many threads has its turn: a name that the older one's
# main thread takes late comes into the file while they run.
cat >"$tmp/crowd.c" <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
static pthread_barrier_t all_stay;
static void *stay(void *arg)
{
	free(malloc(100));
	pthread_barrier_wait(&all_stay);
	for (;;)
		pause();
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	int child = argc > 3;
	struct stat st;
	pthread_barrier_init(&all_stay, NULL, 21);
	for (int i = 0; i < 20; i++)
		pthread_create(&t, NULL, stay, NULL);
	/* Then a fork inherits no thread's block but the main one's. */
	pthread_barrier_wait(&all_stay);
	if (!child && fork() == 0)
		execl(argv[0], argv[0], argv[1], argv[2], "child", (char *)NULL);
	free(malloc(100));
	if (child)
		mkdir(argv[1], 0700);
	while (stat(argv[1], &st) < 0)
		usleep(10000);
	if (!child)
		prctl(PR_SET_NAME, "late-name");
	while (stat(argv[2], &st) < 0)
		usleep(10000);
	return 0;
}
C
cc -O1 -fno-builtin -pthread -o "$tmp/crowd" "$tmp/crowd.c" || exit 1
names_late() {
	rm -rf "$tmp/crowd.both" "$tmp/crowd.over" "$tmp/crowd.cap"
	"$pagek" record -o "$tmp/crowd.cap" -- "$tmp/crowd" "$tmp/crowd.both" \
	    "$tmp/crowd.over" 2>"$tmp/err" &
	recorder=$!
	until_true 20 test -d "$tmp/crowd.both" &&
	    until_true 30 sh -c "'$pagek' stats --part 1 '$tmp/crowd.cap' |
		grep -q late-name"
	it=$?
	# The image of the fork has the thread that forked, and no row for each number.
	"$pagek" stats --part 2 "$tmp/crowd.cap" >"$tmp/forked" &&
	    [ "$(grep -c 'handle unknown' "$tmp/forked")" = 1 ] ||
	    { cat "$tmp/forked"; it=1; }
	mkdir -p "$tmp/crowd.both" "$tmp/crowd.over"
	ended "$recorder"
	cat "$tmp/err"
	# Try again: an image for which the node was late has no part.
	[ $it = 0 ] || ! grep -q 'within 50 ms' "$tmp/err" || it=2
	return $it
}
rule "names of threads are read of all images in turns" tries names_late

# --- refusals -------------------------------------------------------------------------

# said STATUS PATTERN WORD...: of pagek record.
said() {
	want=$1
	pattern=$2
	shift 2
	timeout 20 "$pagek" record "$@" >"$tmp/out" 2>&1
	got=$?
	cat "$tmp/out"
	echo "status $got"
	[ $got = "$want" ] && grep -qE "$pattern" "$tmp/out"
}
echo precious >"$tmp/precious"
mkdir "$tmp/folder" && : >"$tmp/folder/x"
spares() {
	said 125 'no capture: it is left' -o "$tmp/precious" -- true &&
	    [ "$(cat "$tmp/precious")" = precious ]
}
rule "a file that is no capture is not overwritten" spares
spares_other() {
	"$pagek" record -q -o "$tmp/other" --stack 0 -- true || return 1
	printf '\1' | dd of="$tmp/other" bs=1 seek=8 conv=notrunc 2>/dev/null
	cp "$tmp/other" "$tmp/other.was"
	said 125 'another version' -o "$tmp/other" -- true &&
	    cmp "$tmp/other" "$tmp/other.was"
}
rule "a capture of another version is not" spares_other
# A supervisor has the file for a moment longer than its pagek lives.
follows() {
	: >"$tmp/held"
	flock "$tmp/held" sh -c ": >'$tmp/locked'; sleep 0.3" 3>&- &
	until_true 20 test -e "$tmp/locked" &&
	    "$pagek" record -q -o "$tmp/held" --stack 0 -- true
}
rule "a recording may follow one that is just ending" follows
rule "a pipe is no file for a recording" said 125 'no regular file' -o "$tmp/fifo" -- true
rule "a folder is for --ring" said 125 'a folder is for --ring' -o "$tmp/folder" -- true
rule "with files in it, it is not" said 125 'is not empty' -o "$tmp/folder" --ring 1M -- true
rule "a missing folder is said" said 125 'No such file' -o "$tmp/none/f" -- true
rule "a file is needed" said 2 'needs a file' -- true
rule "a TARGET or a command is" said 2 'needs a TARGET' -o "$tmp/f"
rule "a target of another machine needs its name" \
    said 2 'names no process' -o "$tmp/f" ssh:linac-b
rule "a demo is not recorded" said 2 'only processes' -o "$tmp/f" demo:1
rule "a command has the input" said 2 'for a TARGET' -o "$tmp/f" --until-eof -- true
rule "options of a node are for a command" said 2 'for a command that is started' \
    -o "$tmp/f" --stack 4 pid:1
leaves_none() {
	said 3 . -o "$tmp/nobody" pid:1 && [ ! -e "$tmp/nobody" ] &&
	    said 127 'cannot run' -o "$tmp/nobody" -- /no/such/program &&
	    [ ! -e "$tmp/nobody" ]
}
rule "input that never ends does not hold a recording" much_input
rule "a second signal ends an ssh that does not end" stubborn_ssh
rule "without a target or a program no file is left" leaves_none
one_at_a_time() {
	start_busy || return 1
	"$pagek" record -o "$tmp/one" "pid:$busy" 2>"$tmp/err" &
	recorder=$!
	on_file "$tmp/one" 0 || return 1
	said 1 'another recording writes' -o "$tmp/one" "pid:$busy"
	it=$?
	end_busy
	ended "$recorder" && return $it
}
rule "two recordings do not write into one file" one_at_a_time
many() {
	start_busy || return 1
	recorders=
	for i in 1 2 3 4 5 6 7 8; do
		"$pagek" record -o "$tmp/m$i" "pid:$busy" 2>"$tmp/err.m$i" &
		recorders="$recorders $!"
		on_file "$tmp/m$i" 0 || { cat "$tmp"/err.m*; return 1; }
	done
	said 1 'maximum of recordings' -o "$tmp/m9" "pid:$busy"
	it=$?
	cat "$tmp"/err.m*
	end_busy
	for i in $recorders; do
		ended "$i" || it=1
	done
	[ ! -e "$tmp/m9" ] && return $it
}
rule "a node writes eight recordings, and says so of a ninth" many

# --- kills -------------------------------------------------------------------------------

# The part before the kill can be read: its list is one that there was.
readable() {
	read_capture "$1" || return 1
	cat "$report.all" "$report"
	[ "$(grep -c '^damage: ' "$report.all")" -le 1 ] || return 1
	! grep -vE '"duplicate": 0, "unknown_free": 0' "$report"
}
# random POINT: a moment after the file has begun.
moment() {
	on_file "$1" 0 || return 1
	sleep "0.$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')"
}
# kill_node SUPERVISOR FILE: the next process of the node goes on in the file.
kill_node() {
	was=$(node_of "$1")
	kill -9 "$was"
	until_true 20 is_gone "$was" || return 1
	on_file "$2" "$(stat -c %s "$2")"
}
# killed WHO: of a command's recording.
killed() {
	n=$((n + 1))
	"$pagek" record -o "$tmp/f$n" --stack 4 -- "$tmp/busy" 2>"$tmp/err$n" &
	recorder=$!
	moment "$tmp/f$n" || return 1
	super=$(pgrep -P "$recorder" -x pageknode)
	target=$(pgrep -P "$super" -x busy)
	case $1 in
	recorder)
		kill -9 "$recorder"
		kill "$target" ;;
	node)
		kill_node "$super" "$tmp/f$n" || { kill "$target"; return 1; }
		kill "$target" ;;
	target)
		kill -9 "$target" ;;
	esac
	ended "$recorder"
	status=$?
	until_true 20 is_gone "$super" || return 1
	super=
	cat "$tmp/err$n"
	case $1$status in
	recorder137 | node7 | target137) ;;
	*) echo "status $status"; return 1 ;;
	esac
	readable "$tmp/f$n" || return 1
	# Whoever else lives writes to the end.
	case $1 in
	recorder) grep -q 'gaps 0 lost 0 damages 0 ended: ' "$report.all" ;;
	node) goes_on ;;
	target) loss_is_told ;;
	esac
}
# The last line has what the capture lacks: without a core the node does not empty the
# rings in time, and the target waits only so long.
loss_is_told() {
	lost=$(sed -n 's/.* gaps [0-9]* lost \([0-9]*\) damages 0 ended: .*/\1/p' "$report.all")
	[ -n "$lost" ] && tr -d , <"$tmp/err$n" | grep -q " lost $lost: "
}
# The capture that was read goes on after a kill of its node.
goes_on() {
	loss_is_told && ! grep -v '"complete": true' "$report"
}
# So does one of a target, whose viewer passes the file again.
target_goes_on() {
	n=$((n + 1))
	start_busy || return 1
	"$pagek" record -o "$tmp/f$n" "pid:$busy" 2>"$tmp/err$n" &
	recorder=$!
	moment "$tmp/f$n" && kill_node "$daemon" "$tmp/f$n" &&
	    until_true 20 grep -q 'recording goes on, and' "$tmp/err$n" &&
	    on_file "$tmp/f$n" "$(($(stat -c %s "$tmp/f$n") + 1000))"
	it=$?
	end_busy
	ended "$recorder" || it=1
	cat "$tmp/err$n"
	readable "$tmp/f$n" && goes_on && return $it
}
many_times() {
	i=0
	while [ $i -lt "${KILLS:-10}" ]; do
		i=$((i + 1))
		"$@" || { echo "time $i"; return 1; }
		rm -f "$tmp/f$n" "$tmp/r$n"*
	done
}
for who in recorder node target; do
	rule "a capture can be read after kill -9 of the $who at random moments" \
	    many_times killed $who
done

viewer_killed() {
	n=$((n + 1))
	start_busy || return 1
	"$pagek" record -o "$tmp/f$n" "pid:$busy" 2>"$tmp/err$n" &
	recorder=$!
	moment "$tmp/f$n" || return 1
	kill -9 "$recorder"
	ended "$recorder"
	until_true 10 sh -c "'$sums' '$tmp/f$n' 2>&1 | grep -q 'ended: its viewer'" &&
	    readable "$tmp/f$n"
	it=$?
	end_busy
	return $it
}
rule "a target's recording ends with its viewer" many_times viewer_killed
rule "one goes on after kill -9 of its node" target_goes_on

# --- disks ----------------------------------------------------------------------------------

cat >"$tmp/small.sh" <<'S'
mkdir -p "$tmp/disk" && mount -t tmpfs -o size=6m tmpfs "$tmp/disk" || exit 77
"$B/pagek" record -o "$tmp/disk/f" --stack 0 -- "$tmp/busy" 2>"$tmp/err" &
recorder=$!
said() {
	i=0
	while ! grep -q "$1" "$tmp/err"; do
		i=$((i + 1)); [ $i -lt 400 ] || exit 1
		sleep 0.05
	done
}
i=0
while [ ! -s "$tmp/disk/f" ]; do
	i=$((i + 1)); [ $i -lt 200 ] || exit 1
	sleep 0.05
done
# It gives back what it has reserved while others need it.
i=0
while ! grep -q 'recording has stopped: .*full' "$tmp/err"; do
	i=$((i + 1)); [ $i -lt 400 ] || exit 1
	head -c 1m /dev/zero >>"$tmp/disk/other" 2>/dev/null
	sleep 0.05
done
target=$(pgrep -P "$(pgrep -P $recorder -x pageknode)" -x busy)
# The live view goes on.
"$B/pagek" list "pid:$target" | grep -c ' 33 \| [0-9]* ' || exit 1
rm "$tmp/disk/other"
said '^pagek: recording goes on$'
kill $target
wait $recorder
[ $? = 7 ] || exit 1
cat "$tmp/err"
! grep -q 'lost 0: ' "$tmp/err" || exit 1
"$B/tests/capture/sums" "$tmp/disk/f" >"$tmp/small" 2>&1 || exit 1
cat "$tmp/small"
grep -q '"complete": true' "$tmp/small" &&
    grep -q 'gaps 1 .* damages 0 ended' "$tmp/small"
S
full_disk() {
	B=$B tmp=$tmp timeout 100 unshare -m sh "$tmp/small.sh"
}
if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs tmpfs /mnt 2>/dev/null; then
	rule "on a full disk command and list go on, and the gap is said" full_disk
else
	skip "a small disk cannot be made here: not root, or no namespaces"
fi

# --- other users ----------------------------------------------------------------------------

# The system's node, with /run of this shell alone: each sees its own targets.
cat >"$tmp/system.sh" <<'S'
mount -t tmpfs -o mode=755 tmpfs /run || exit 77
unset XDG_RUNTIME_DIR
busy=
"$B/pageknode" --system &
daemon=$!
trap 'kill $busy $daemon; wait' EXIT
i=0
while [ ! -S /run/pagek/node ]; do
	i=$((i + 1)); [ $i -lt 200 ] || exit 1
	sleep 0.05
done
chmod 666 /run/pagek/node
is_live() {
	"$B/pagek" targets | grep -q "^pid:$busy .*LIVE"
}
for try in 1 2 3 4 5; do
	setpriv --reuid 3001 --regid 3001 --clear-groups \
	    env "LD_PRELOAD=$B/liballoclog.so" "$tmp/busy" &
	busy=$!
	i=0
	while [ $i -lt 60 ] && ! is_live; do
		i=$((i + 1))
		sleep 0.05
	done
	[ $i = 60 ] || break
	kill $busy
done
# record USER TARGET
record() {
	mkdir -p "$tmp/of$1" && chown "$1" "$tmp/of$1"
	setpriv --reuid "$1" --regid "$1" --clear-groups timeout 20 \
	    "$B/pagek" record --duration 1 -o "$tmp/of$1/f" "$2"
}
is_refused() {
	record "$@"
	got=$?
	echo "status $got"
	[ $got = 3 ] || [ $got = 4 ] && [ ! -e "$tmp/of$1/f" ]
}
is_refused 3002 "pid:$busy" && is_refused 3002 busy &&
    is_refused 3002 unix:/run/pagek/node &&
    record 3001 "pid:$busy" && "$B/tests/capture/sums" "$tmp/of3001/f"
S
another_user() {
	B=$B tmp=$tmp timeout 100 unshare -m sh "$tmp/system.sh"
}
if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs tmpfs /run 2>/dev/null &&
    chmod 711 "$tmp" && chmod 755 "$tmp/busy" &&
    setpriv --reuid 3001 --regid 3001 --clear-groups test -x "$B/pagek"; then
	rule "another user's target is not recorded, one's own is" another_user
else
	skip "another user cannot be tried: not root, or this folder is closed"
fi

# --- the end --------------------------------------------------------------------------------

# Commands of ours have the folder of this test in their words.
nothing_stays() {
	ours=$(node_of "$daemon")
	kill "$daemon"
	ended "$daemon" || return 1
	daemon=
	is_gone "$ours" || { echo "the node stays"; return 1; }
	until_true 20 sh -c '! pgrep -f "$0/(busy|f|m|family|one)"' "$tmp" ||
	    { pgrep -af "$tmp/"; return 1; }
	find "$tmp" -type s >"$tmp/sockets"
	cat "$tmp/sockets"
	[ ! -s "$tmp/sockets" ]
}
rule "no process and no socket stays behind" nothing_stays

say_result
