# Sourced by the live tests: real programs, real terminals, real processes.
#
# rule "sentence" command...	runs the command; its status decides.
# skip "sentence"		says that a rule cannot be tried here, and why.
# until_true SECONDS command...	polls; the seconds are a hang limit only.
# node_of PID			the node's own process, of a supervisor; else PID.
# kill_node PID			both at once, as by the OOM killer or worse.
# tries COMMAND...		again, up to five times, while its status is 2: what
#				it is to be tried with has not come about.
# start_watched COMMAND...	starts it with the library preloaded; $watched is its
#				process.  Again when the node was late for it.
# unless_busy COMMAND...	what leaves a report in $report, again when the
#				machine was too busy for it.
# sql_work			statements for sqlite3: a table, filled and asked.
# c_functions N			a C source of N functions, for a compiler.
# say_result			last line; exit status 1 when a rule failed.
# note_page			the 2004 note's page, in address order at 39 s.

B=$(cd "${B:-build}" && pwd) || exit 1
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pagek-test.XXXXXX") || exit 1
# A folder of our own for sockets, so that a developer's nodes are not met.
XDG_RUNTIME_DIR=$tmp/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
# Nor his table of nodes, his settings, and what he has typed.
XDG_CONFIG_HOME=$tmp/config
XDG_STATE_HOME=$tmp/state
export XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_STATE_HOME
unset PAGEK_CONFIG
# python3 may be a script that starts many programs each time: then the next one that
# is none comes before it.
for folder in $(echo "$PATH" | tr : ' '); do
	if [ -x "$folder/python3" ] && [ "$(head -c 2 "$folder/python3")" != "#!" ]; then
		[ "$folder/python3" = "$(command -v python3)" ] || {
			mkdir "$tmp/interpreter" && ln -s "$folder/python3" "$tmp/interpreter"
			PATH=$tmp/interpreter:$PATH
		}
		break
	fi
done
passed=0
failed=0
trap 'rm -rf "$tmp"' EXIT

rule() {
	sentence=$1
	shift
	if "$@" >"$tmp/rule.out" 2>&1; then
		passed=$((passed + 1))
		echo "ok - $sentence"
	else
		failed=$((failed + 1))
		echo "not ok - $sentence"
		sed 's/^/    /' "$tmp/rule.out" | tail -n 20
	fi
}

skip() {
	echo "skipped - $1"
}

# Half a second long each 50 ms, then each 100: a look starts some programs.
until_true() {
	naps=$(($1 * 10))
	looks=0
	shift
	while ! "$@" >/dev/null 2>&1; do
		looks=$((looks + 1))
		[ "$looks" -lt $((naps + 5)) ] || return 1
		[ "$looks" -gt 10 ] && sleep 0.1 || sleep 0.05
	done
}

node_of() {
	pgrep -P "$1" -x pageknode || echo "$1"
}

# The supervisor first: it would start another one.  Until the node is gone, too,
# the place is taken.
kill_node() {
	ours=$(node_of "$1")
	kill -9 "$1" $ours
	wait "$1"
	until_true 10 is_gone $ours
} 2>/dev/null

# Also one that nobody has waited for yet.
is_gone() {
	! grep -q '^State:.[^ZX]' "/proc/$1/status"
}

# A target waits 50 ms for the node's word, and for room 100 ms after the keeper
# last showed itself; then it goes on without us, and that is told.  On a machine
# that is so busy a run says nothing of what is true of targets that are watched.
# What goes wrong without being told is an error all the same.
too_busy() {
	grep -qE '"allocs": null|"lost": [1-9]' "$report"
}
unless_busy() {
	"$@" || { too_busy && "$@"; } || { too_busy && "$@"; }
}

tries() {
	for try in 1 2 3 4 5; do
		"$@"
		result=$?
		[ $result = 2 ] || return $result
	done
	return 2
}

# A program waits 50 ms for its node, which may be late on a busy machine.
start_watched() {
	for attempt in 1 2 3 4 5; do
		env LD_PRELOAD="$B/liballoclog.so" "$@" &
		watched=$!
		until_true 3 "$B/pagek" list "pid:$watched" && return 0
		kill "$watched" && wait "$watched" 2>/dev/null
	done
	"$B/pagek" targets
	return 1
}

note_page() {
	cat <<'NOTE'
K MEMORY BLOCKS    07/13/04 1330
NODE<0590> *L<0509>    6 OFFS=  0
  ADDRESS SIZE TY DESCR  RNOD AGE
008E6588 0040 09 AHDRMSG        0
008E65D0 0050 09 AHDRMSG       13
008E6628 0030 01 LOCREQ        39
008E6660 0030 01 LOCREQ         0
008E6698 0018 0E INTPTRS       13
008E66B8 0048 0C ACREQ   AB86  13
NOTE
}

# heaptrack_sums FILE COST...: each cost as a flame graph in $tmp/COST, which alone has
# sums in full; the rest in $tmp/print.
heaptrack_sums() {
	heaptrack_file=$1
	shift
	for cost; do
		heaptrack_print -f "$heaptrack_file" -a0 -p0 -T0 \
		    --disable-builtin-suppressions -F "$tmp/$cost" \
		    --flamegraph-cost-type "$cost" >"$tmp/print" 2>&1 ||
		    return 1
	done
	! grep -iE 'failed|damaged|out of bounds|unexpected' "$tmp/print"
}

sql_work() {
	cat <<'SQL'
CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, name TEXT, v REAL);
BEGIN;
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 60000)
INSERT INTO t SELECT i, (i*7919)%10007, printf('name-%08d', i), i*0.5 FROM c;
COMMIT;
CREATE INDEX tk ON t(k, name);
SELECT count(*), sum(v) FROM t WHERE k BETWEEN 100 AND 5000;
SQL
}

c_functions() {
	echo 'struct s { int a, b; double d; struct s *n; };'
	i=0
	while [ $i -lt "$1" ]; do
		echo "int f$i(int x, struct s *p) { int k = x * $i; for (int j = 0; j < 9; j++) { if (k & j) p->b += k; else p->d += j; } return k + p->a; }"
		i=$((i + 1))
	done
}

say_result() {
	echo "$(basename "$0" .sh): $passed passed, $failed failed"
	[ "$failed" = 0 ]
}
