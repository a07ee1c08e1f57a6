#!/bin/sh
# pagek export: each format is read by a foreign reader, and its blocks and bytes
# are those of pagek list at the same moment, of sqlite3, python3, cc1 and
# redis-server, each stopped where it holds most.  READERS is set by
# long_formats.sh.  Needs python3, protoc, heaptrack, babeltrace2.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
check=$top/tests/live/formats.py
run=
finish() {
	[ -z "$run" ] || { kill -9 "$(cat "$tmp/pid")"; wait "$run"; }
	rm -rf "$tmp"
} >/dev/null 2>&1
trap finish EXIT
trap 'exit 1' TERM INT

# --- programs that are held -----------------------------------------------------

# begin COMMAND...: under a node; stop_when CONDITION...: when that is true.
begin() {
	cat >"$tmp/under" <<-SH
	echo \$\$ >"$tmp/pid.new" && mv "$tmp/pid.new" "$tmp/pid"
	exec "\$@"
	SH
	rm -f "$tmp/pid"
	"$pagek" run -b -o /dev/null -- sh "$tmp/under" "$@" >"$tmp/run.out" \
	    2>&1 3>&- &
	run=$!
	until_true 20 test -s "$tmp/pid"
}
is_stopped() {
	grep -q '^State:.T' "/proc/$pid/status"
}
stop_when() {
	pid=$(cat "$tmp/pid")
	until_true 120 "$@" && kill -STOP "$pid" && until_true 10 is_stopped &&
	    "$pagek" list --format json -o "$tmp/list" "pid:$pid"
}
end() {
	kill -9 "$pid"
	wait "$run"
	run=
} >/dev/null 2>&1

# --- readers ----------------------------------------------------------------------

decode() {
	zcat "$1" | protoc --decode=pprof.Profile \
	    --proto_path="$top/src/export" pprof.proto
}

# as_pprof LIST OPTIONS...: an export with these has the blocks of that list.
as_pprof() {
	list=$1
	shift
	"$pagek" export --pprof -o "$tmp/pprof" "$@" "pid:$pid" &&
	    decode "$tmp/pprof" >"$tmp/decoded" &&
	    python3 "$check" pprof "$tmp/decoded" "$list" "$pid"
}

# Its leaks are the blocks that are held.
as_heaptrack() {
	"$pagek" export --heaptrack -o "$tmp/heaptrack" "pid:$pid" &&
	    heaptrack_sums "$tmp/heaptrack" allocations leaked peak &&
	    python3 "$check" heaptrack "$tmp/print" "$tmp/allocations" \
		"$tmp/leaked" "$tmp/peak" "$tmp/list"
}

# Without a warning; only events that can be blocks are counted.
as_ctf() {
	rm -rf "$tmp/ctf"
	"$pagek" export --ctf -o "$tmp/ctf" "pid:$pid" &&
	    babeltrace2 --clock-seconds "$tmp/ctf" >"$tmp/events" \
		2>"$tmp/err" &&
	    [ ! -s "$tmp/err" ] &&
	    python3 "$check" ctf "$tmp/events" "$tmp/list"
}

# All formats of a program that is stopped.
formats() {
	name=$1
	rule "$name: pprof's profile has the list's blocks" as_pprof "$tmp/list"
	rule "$name: heaptrack_print counts the list's blocks as leaks" \
	    as_heaptrack
	rule "$name: babeltrace2 reads each block, at its time" as_ctf
	[ -z "${READERS:-}" ] ||
	    rule "$name: go tool pprof sums to the list" go_reads
}

# The reader itself; its totals are in its head.
go_reads() {
	for index in objects space; do
		env HOME="$tmp" PPROF_TMPDIR="$tmp" go tool pprof -top -unit=B \
		    -sample_index=inuse_$index "$tmp/pprof" >"$tmp/go.$index" ||
		    return 1
	done
	python3 "$check" go "$tmp/go.objects" "$tmp/go.space" "$tmp/list"
}

# --- a program with names of its own ------------------------------------------------

cat >"$tmp/take.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile kept[8];
__attribute__((noinline)) void take_block(int i)
{
	kept[i] = malloc(1000);
	__asm__ volatile("");
}
int main(int argc, char **argv)
{
	(void)argc;
	for (int i = 0; i < 8; i++)
		take_block(i);
	if (rmdir(argv[1]) == 0)
		for (;;)
			pause();
	return 1;
}
C
gcc -g -O1 -o "$tmp/take" "$tmp/take.c"
mkdir "$tmp/taking"
has_taken() {
	[ ! -e "$tmp/taking" ]
}
begin "$tmp/take" "$tmp/taking"
rule "a program with names of its own is stopped" stop_when has_taken
skipped() {
	as_pprof "$tmp/list" && grep -q '"take_block"' "$tmp/decoded" &&
	    as_pprof "$tmp/list" --skip take_block &&
	    ! grep -q '"take_block"' "$tmp/decoded"
}
rule "skipped functions are in no profile" skipped
end

# --- the four programs ------------------------------------------------------------

mkfifo "$tmp/never" "$tmp/more.h"
{
	sql_work
	echo ".shell touch $tmp/sqlite.held"
	echo ".read $tmp/never"
} >"$tmp/in.sql"
begin sqlite3 :memory: ".read $tmp/in.sql"
rule "sqlite3 is stopped" stop_when test -e "$tmp/sqlite.held"
formats sqlite3
end

{
	c_functions 300
	echo "#include \"$tmp/more.h\""
} >"$tmp/in.c"
waits_for_more() {
	grep -q wait_for_partner "/proc/$pid/wchan"
}
begin "$(gcc -print-prog-name=cc1)" -quiet -O1 "$tmp/in.c" -o /dev/null
rule "cc1 is stopped" stop_when waits_for_more
formats cc1
end

ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
begin "$tmp/redis-server" --port 0 --unixsocket "$tmp/redis.sock" --save '' \
    --dir "$tmp"
loaded() {
	redis-cli -s "$tmp/redis.sock" ping && redis-benchmark \
	    -s "$tmp/redis.sock" -t set,lpush,hset -r 2000 -n 4000 -q
}
rule "redis-server is stopped" stop_when loaded
formats redis-server
end

cat >"$tmp/in.py" <<PY
import json
kept = [json.loads(json.dumps({"id": i, "tags": ["t%d" % i]})) for i in range(1000)]
open("$tmp/python.held", "w").close()
open("$tmp/never").read()
PY
begin env PYTHONMALLOC=malloc python3 -IS "$tmp/in.py"
rule "python3 is stopped" stop_when test -e "$tmp/python.held"
formats python3

# --- what is chosen, and what is not known ------------------------------------------

filtered() {
	"$pagek" list --format json --filter 'size>=1k' -o "$tmp/large" \
	    "pid:$pid" && as_pprof "$tmp/large" --filter 'size>=1k' &&
	    grep -q 'only blocks with size>=1k' "$tmp/decoded"
}
rule "a filter chooses the blocks of an export, which says so" filtered

nowhere() {
	"$pagek" export --pprof -o "$tmp/pprof" demo:1 &&
	    decode "$tmp/pprof" >"$tmp/decoded" &&
	    grep -q 'inuse_space' "$tmp/decoded" &&
	    ! grep -qE 'alloc_space|memory_start|build_id' "$tmp/decoded"
}
rule "unknown values are left out" nowhere

# --- files --------------------------------------------------------------------------

mkdir "$tmp/place"
out=$tmp/place/x
alone() {
	[ "$(ls -A "$tmp/place")" = x ]
}
placed() {
	(umask 0 && "$pagek" export "$1" -o "$out" "pid:$pid") && alone &&
	    [ "$(stat -c %a "$out")" = 600 ]
}
limited() {
	echo kept >"$out"
	(ulimit -f 1 && "$pagek" export "$1" -o "$out" "pid:$pid") 2>"$tmp/err"
	[ $? = 1 ] && grep -q "cannot write '$out': File too large" "$tmp/err" &&
	    [ "$(cat "$out")" = kept ] && alone
}
full() {
	"$pagek" export "$1" -o /dev/full "pid:$pid" 2>"$tmp/err"
	[ $? = 1 ] && grep -q "/dev/full.*No space left" "$tmp/err" &&
	    [ -c /dev/full ]
}
piped() {
	"$pagek" export "$1" "pid:$pid" | cat >"$tmp/piped" &&
	    "$pagek" export "$1" -o - "pid:$pid" >"$tmp/dash" &&
	    [ -s "$tmp/piped" ] && cmp -n 8 "$tmp/piped" "$tmp/dash"
}
for format in --folded --pprof --heaptrack; do
	rule "$format: a file is there when it is whole, for its owner alone" \
	    placed $format
	rule "$format: what cannot be written leaves the old file" limited $format
	rule "$format: a full device is said" full $format
	rule "$format: a pipe gets it, with or without -o -" piped $format
done

# A folder appears whole, and only where nothing is.
folder() {
	rm "$out" && mkdir "$out" &&
	    (umask 0 && "$pagek" export --ctf -o "$out/" "pid:$pid") && alone &&
	    [ "$(stat -c %a "$out" "$out"/* | tr '\n' ' ')" = '700 600 600 ' ]
}
rule "--ctf: a folder is there when it is whole, for its owner alone" folder
occupied() {
	"$pagek" export --ctf -o "$1" "pid:$pid" 2>"$tmp/err"
	[ $? = 1 ] && grep -q "$1': $2; give the name of a new" "$tmp/err"
}
not_empty() {
	touch "$tmp/regular" && occupied "$out" 'Directory not empty' &&
	    occupied "$tmp/regular" 'File exists' && [ ! -s "$tmp/regular" ] &&
	    alone && [ -s "$out/stream" ]
}
rule "--ctf: no folder with files and no file is replaced" not_empty
small_disk() {
	rm -r "$out"
	(ulimit -f 8 && "$pagek" export --ctf -o "$out" "pid:$pid") 2>"$tmp/err"
	[ $? = 1 ] && grep -q "cannot write '$out': File too large" "$tmp/err" &&
	    [ -z "$(ls -A "$tmp/place")" ]
}
rule "--ctf: what cannot be written leaves nothing" small_disk

# interrupted CALL FORMAT: by ^C in this system call, of which there is one.
interrupted() {
	strace -qq -o /dev/null -e trace="$1" -e inject="$1:signal=SIGINT" \
	    "$pagek" export "$2" -o "$out" "pid:$pid"
	[ $? = 130 ]
}
early() {
	interrupted mkdirat --ctf && [ -z "$(ls -A "$tmp/place")" ]
}
rule "--ctf: ^C leaves nothing" early
late() {
	interrupted linkat --heaptrack && alone && tail -n 1 "$out" | grep '^c '
}
rule "--heaptrack: ^C leaves no temporary name" late

# --- the command line -----------------------------------------------------------------

refused() {
	pattern=$1
	shift
	"$pagek" export "$@" "pid:$pid" >"$tmp/out" 2>"$tmp/err"
	[ $? = 2 ] && grep -q -e "$pattern" "$tmp/err" && [ ! -s "$tmp/out" ]
}
words() {
	refused 'needs a format: --folded' &&
	    refused 'exclude each other' --folded --pprof &&
	    refused '--heaptrack exclude' --pprof --heaptrack &&
	    refused '--ctf writes a folder: give its name' --ctf &&
	    refused '--ctf writes a folder: give its name' --ctf -o - &&
	    refused '--by is for --folded' --pprof --by blocks &&
	    refused '--by is for --folded' --heaptrack --by age &&
	    refused 'by bytes, blocks or age' --folded --by module
}
rule "a wrong choice of formats is said" words

terminal() {
	script -qec "'$pagek' export --pprof pid:$pid" /dev/null >"$tmp/out" \
	    </dev/null
	[ $? = 2 ] && grep -q 'is not text: give -o FILE' "$tmp/out"
}
rule "no bytes go to a terminal" terminal

# The object stands before the archive, which has the other one.
built_without() {
	libs=$(sed -n 's/^PKGS = //p' "$top/Makefile")
	! pkg-config --exists libzstd || libs="$libs libzstd"
	cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Wundef -Werror \
	    $(pkg-config --cflags $libs) -c \
	    -o "$tmp/pprof.o" "$top/src/export/pprof.c" &&
	    cc -o "$tmp/pagek" "$B/src/pagek/main.o" "$tmp/pprof.o" \
		"$B/rooms.a" $(pkg-config --libs $libs) -lm -pthread &&
	    pagek=$tmp/pagek &&
	    refused 'built without --pprof: install libprotobuf' --pprof \
		-o "$tmp/none" && [ ! -e "$tmp/none" ]
	r=$?
	pagek=$B/pagek
	return $r
}
rule "a build without protobuf-c says so" built_without

end
say_result
