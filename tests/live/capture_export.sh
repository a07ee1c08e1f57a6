#!/bin/sh
# pagek export of captures: each format has every event, and its totals are those of
# pagek stats and pagek history, of sqlite3, python3, cc1 and redis-server.
# Needs python3, protoc, heaptrack, babeltrace2.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
check=$top/tests/live/formats.py
server=
finish() {
	[ -z "$server" ] || kill -9 "$server"
	wait
	rm -rf "$tmp"
} >/dev/null 2>&1
trap finish EXIT
trap 'exit 1' TERM INT

# Readers take long for each event: the long check has more of them.
[ -n "${CHECK_LONG:-}" ] && part=1 || part=3

# --- captures -------------------------------------------------------------------

# recorded FILE COMMAND...: without loss.
recorded_once() {
	file=$1
	shift
	report=$tmp/report
	rm -f "$file" "$report"
	timeout 120 "$pagek" record -o "$file" --free-stack -- "$@" \
	    >"$tmp/out" 2>"$tmp/err"
	cat "$tmp/err"
	grep -q 'lost 0: ' "$tmp/err" && return
	echo '"lost": 1' >"$report"
	return 1
}
recorded() {
	unless_busy recorded_once "$@"
}

redis_once() {
	rm -f "$tmp/redis.cap"
	ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
	"$pagek" record -o "$tmp/redis.cap" --free-stack -- "$tmp/redis-server" \
	    --port 0 --unixsocket "$tmp/redis.sock" --save '' --dir "$tmp" \
	    >"$tmp/out" 2>"$tmp/err" 3>&- &
	server=$!
	report=$tmp/report
	rm -f "$report"
	until_true 20 redis-cli -s "$tmp/redis.sock" ping &&
	    timeout 60 redis-benchmark -s "$tmp/redis.sock" -t set,lpush,hset \
		-r 2000 -n $((4000 / part)) -q >/dev/null
	redis-cli -s "$tmp/redis.sock" shutdown nosave
	until_true 30 is_gone "$server" || return 1
	wait "$server"
	server=
	cat "$tmp/err"
	grep -q 'lost 0: ' "$tmp/err" && return
	echo '"lost": 1' >"$report"
	return 1
}

# --- readers ----------------------------------------------------------------------

# told FILE [OPTION]: the numbers that an export of it has to have.
told() {
	"$pagek" stats --format json ${2:-} "$1" >"$tmp/stats" 2>"$tmp/err" &&
	    "$pagek" history --format ndjson "$1" >"$tmp/history" 2>>"$tmp/err" ||
	    { cat "$tmp/err"; return 1; }
}
export_as() {
	rm -rf "$tmp/export"
	"$pagek" export "$@" -o "$tmp/export" 2>"$tmp/err" ||
	    { cat "$tmp/err"; return 1; }
}

as_pprof() {
	export_as --pprof "$@" && zcat "$tmp/export" | protoc \
	    --decode=pprof.Profile --proto_path="$top/src/export" \
	    pprof.proto >"$tmp/decoded" &&
	    python3 "$check" captured_pprof "$tmp/decoded" "$tmp/stats" \
		"$tmp/history"
}
as_heaptrack() {
	export_as --heaptrack "$@" &&
	    heaptrack_sums "$tmp/export" allocations leaked peak temporary &&
	    python3 "$check" captured_heaptrack "$tmp/print" "$tmp/allocations" \
		"$tmp/leaked" "$tmp/peak" "$tmp/stats" "$tmp/history"
}
as_ctf() {
	export_as --ctf "$@" && babeltrace2 --clock-seconds "$tmp/export" \
	    >"$tmp/events" 2>"$tmp/err" && [ ! -s "$tmp/err" ] &&
	    python3 "$check" captured_ctf "$tmp/events" "$tmp/stats" \
		"$tmp/history"
}
as_folded() {
	export_as --folded "$@" && cp "$tmp/export" "$tmp/bytes" &&
	    export_as --folded --by blocks "$@" &&
	    python3 "$check" captured_folded "$tmp/export" "$tmp/bytes" \
		"$tmp/stats"
}
go_reads() {
	export_as --pprof "$@" || return 1
	for index in inuse_objects inuse_space alloc_objects; do
		env HOME="$tmp" PPROF_TMPDIR="$tmp" go tool pprof -top -unit=B \
		    -sample_index=$index "$tmp/export" >"$tmp/go.$index" ||
		    return 1
	done
	python3 "$check" captured_go "$tmp/go.inuse_objects" \
	    "$tmp/go.inuse_space" "$tmp/go.alloc_objects" "$tmp/stats"
}

formats() {
	name=$1
	file=$2
	rule "$name: its statistics and its events can be read" told "$file"
	rule "$name: pprof's profile has all blocks, and those that are held" \
	    as_pprof "$file"
	rule "$name: heaptrack_print finds allocations, peak, leaks and temporary ones" \
	    as_heaptrack "$file"
	rule "$name: babeltrace2 reads each event, in order, with its thread" \
	    as_ctf "$file"
	rule "$name: folded stacks have what is held" as_folded "$file"
	[ -z "${READERS:-}" ] ||
	    rule "$name: go tool pprof sums to the statistics" go_reads "$file"
}

sql_work | sed 's/60000/3000/' >"$tmp/in.sql"
rule "sqlite3 is recorded" recorded "$tmp/sql.cap" sqlite3 :memory: \
    ".read $tmp/in.sql"
formats sqlite3 "$tmp/sql.cap"

c_functions $((20 / part)) >"$tmp/in.c"
rule "cc1 is recorded" recorded "$tmp/cc1.cap" \
    "$(gcc -print-prog-name=cc1)" -quiet -O1 "$tmp/in.c" -o /dev/null
formats cc1 "$tmp/cc1.cap"

cat >"$tmp/in.py" <<'PY'
import json
kept = [json.loads(json.dumps({"id": i, "tags": ["t%d" % i]})) for i in range(300)]
PY
rule "python3 is recorded" recorded "$tmp/python.cap" env PYTHONMALLOC=malloc \
    "$(python3 -c 'import sys; print(sys.executable)')" -IS "$tmp/in.py"
formats python3 "$tmp/python.cap"

rule "redis-server is recorded" unless_busy redis_once
formats redis-server "$tmp/redis.cap"

# --- moments and parts ---------------------------------------------------------------

at_peak() {
	told "$tmp/sql.cap" --at=peak && as_folded --at peak "$tmp/sql.cap" &&
	    export_as --heaptrack --at peak "$tmp/sql.cap" &&
	    heaptrack_print -f "$tmp/export" -a0 -p0 -T0 \
		--disable-builtin-suppressions -F "$tmp/leaked" \
		--flamegraph-cost-type leaked >"$tmp/print" &&
	    heaptrack_print -f "$tmp/export" -a0 -p0 -T0 \
		--disable-builtin-suppressions -F "$tmp/peak" \
		--flamegraph-cost-type peak >"$tmp/print" &&
	    python3 "$check" captured_peak "$tmp/leaked" "$tmp/peak" "$tmp/stats"
}
rule "at the peak, all that is held is the peak" at_peak

# A shell that forks: the one that has most events, or the one of --part.
parts() {
	recorded "$tmp/tree" sh -c 'i=0; while [ $i -lt 50 ]; do i=$((i + 1))
	    x=$(echo $i); done; ls / >/dev/null' || return 1
	"$pagek" export --ctf -o "$tmp/ls" --part ls "$tmp/tree" >"$tmp/out" \
	    2>"$tmp/err" || return 1
	"$pagek" stats --format json --part ls "$tmp/tree" >"$tmp/stats" &&
	    [ "$(babeltrace2 "$tmp/ls" | grep -c libc:free)" = \
		"$(sed -n 's/^  "frees": \([0-9]*\),*$/\1/p' "$tmp/stats")" ] &&
	    "$pagek" export --folded "$tmp/tree" 2>&1 >/dev/null |
		grep 'process images; this is image'
}
rule "--part chooses an image" parts

# A ring begins with the blocks that it has not seen allocated.
ring() {
	rm -rf "$tmp/ring"
	timeout 60 "$pagek" record -o "$tmp/ring" --ring 64k --stack 0 -- \
	    sqlite3 :memory: ".read $tmp/in.sql" >"$tmp/out" 2>"$tmp/err"
	"$pagek" stats --format json "$tmp/ring" >"$tmp/stats" &&
	    "$pagek" export --heaptrack -o "$tmp/export.ring" "$tmp/ring" \
		2>"$tmp/err" &&
	    heaptrack_print -f "$tmp/export.ring" -a0 -p0 -T0 \
		--disable-builtin-suppressions -F "$tmp/leaked" \
		--flamegraph-cost-type leaked >"$tmp/print" &&
	    python3 "$check" captured_leaks "$tmp/leaked" "$tmp/stats"
}
rule "a ring has the blocks that are held" ring

# --- what is wrong -----------------------------------------------------------------------

damaged() {
	head -c 9000 "$tmp/sql.cap" >"$tmp/cut"
	"$pagek" export --heaptrack -o "$tmp/export.cut" "$tmp/cut" 2>"$tmp/err"
	[ $? = 5 ] && grep -q "cut: offset [0-9]*: the last block is cut off" \
	    "$tmp/err" && [ -s "$tmp/export.cut" ]
}
rule "a damaged capture is exported up to the damage, whose place is said" damaged

refused() {
	pattern=$1
	shift
	"$pagek" export --folded "$@" >"$tmp/out" 2>"$tmp/err"
	[ $? = 2 ] && grep -q -e "$pattern" "$tmp/err" && [ ! -s "$tmp/out" ]
}
words() {
	refused '--filter is for targets' --filter 'size>1' "$tmp/sql.cap" &&
	    refused 'takes one --at' --at 1s --at 2s "$tmp/sql.cap" &&
	    refused '--part is for captures' --part 1 demo:1 &&
	    refused 'is not in .*sql.cap.*, which goes from' --at 2020-01-01 \
		"$tmp/sql.cap" &&
	    refused 'has no image with that number' --part none "$tmp/sql.cap" ||
	    return 1
	cd "$tmp" || return 1
	echo hello >plain
	"$pagek" export --folded plain 2>"$tmp/err"
	[ $? = 3 ] && grep -q 'no capture, and no target or node' \
	    "$tmp/err" || return 1
	"$pagek" export --folded file:plain 2>"$tmp/err"
	[ $? = 5 ] && grep -q 'plain: not a capture' "$tmp/err"
}
rule "a wrong word or moment is said" words

full() {
	"$pagek" export --heaptrack -o /dev/full "$tmp/sql.cap" 2>"$tmp/err"
	[ $? = 1 ] && grep -q "/dev/full.*No space left" "$tmp/err"
}
rule "a full device is said" full
say_result
