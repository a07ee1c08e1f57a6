#!/bin/sh
# Accessed bits and writes of real programs: the pages that a program touches are counted
# in each epoch, others never; and what is counted behaves as without it.
set -u
. "$(dirname "$0")/lib.sh"

stop() {
	exec 7>&-
	kill $node $redis 2>/dev/null
	wait
	rm -rf "$tmp"
} >/dev/null 2>&1
node= redis=
if ! "$B/pagek" refcnt --help >"$tmp/help" 2>&1; then
	skip "this pagek has no command refcnt"
	say_result
	exit
fi
trap stop EXIT

"$B/pageknode" >"$tmp/node.out" 2>&1 &
node=$!
until_true 20 test -S "$XDG_RUNTIME_DIR/pagek/node.hello" || exit 1

refcnt() {
	"$B/pagek" refcnt "$@"
}

# pid_of NAME: of a live target.
pid_of() {
	"$B/pagek" targets | sed -n "s/^pid:\([0-9]*\)  *$1 .*LIVE.*/\1/p"
}

is_watched() {
	[ -n "$(pid_of "$1")" ]
}

mappings() {
	wc -l <"/proc/$1/maps"
}

# --- a program that knows which pages it touches ---------------------------------

mkfifo "$tmp/in"
LD_PRELOAD=$B/liballoclog.so "$B/tests/targets/touches" 2000 "$tmp/pages" \
    <"$tmp/in" >"$tmp/rounds" &
exec 7>"$tmp/in"
until_true 20 is_watched touches || exit 1
touches=$(pid_of touches)
until_true 20 test -s "$tmp/pages" || exit 1
read -r address pages <"$tmp/pages"
before=$(mappings "$touches")
descriptors() {
	ls -l "/proc/$1/fd" | sed 's/.* \([0-9]* -> \)/\1/'
}
descriptors "$touches" >"$tmp/descriptors"

# Columns of each page: its number, its count, its flags.
counts() {
	refcnt --format csv --fields page,count,flags "pid:$touches" "$address" \
	    $((pages * 4096)) | sed 1d
}

# Five epochs or more.
are_counted() {
	counts >"$tmp/counts" && [ "$(sed -n 1p "$tmp/counts" | cut -d, -f2)" -ge 5 ]
}

# Each seventh page is read, the one behind it written to by a system call.
are_exact() {
	refcnt --enable "pid:$touches" "$address" $((pages * 4096)) || return 1
	until_true 60 are_counted || return 1
	awk -F, -v pages="$pages" '
	{ i = NR - 1; touched = i % 7 < 2 }
	touched && ($2 < most - 1 || $2 == 0) { print "missed", i, $0; bad++ }
	!touched && $2 != 0 { print "not touched", i, $0; bad++ }
	/coarse/ { print "coarse", i, $0; bad++ }
	touched && $2 > most { most = $2 }
	END { exit bad > 0 || NR != pages }' "$tmp/counts"
}

is_uncut() {
	[ "$(mappings "$touches")" -le $((before + 5)) ]
}

are_undone() {
	refcnt --disable "pid:$touches" "$address" $((pages * 4096)) &&
	    until_true 20 is_uncut
}

# So many mappings are not read in a tenth of 0.1 s.
is_longer() {
	refcnt --format json "pid:$touches" "$address" 4096 |
	    sed -n 's/.*"period_ms": \([0-9]*\).*/\1/p' >"$tmp/period" &&
	    [ "$(cat "$tmp/period")" -gt 100 ]
}

tells_the_period() {
	refcnt --enable --period 0.1 "pid:$touches" "$address" \
	    $((pages * 4096)) && until_true 60 is_longer ||
	    { cat "$tmp/period"; return 1; }
}

rule "touched pages are counted in each epoch, others never, of 2,000" are_exact
rule "a period that reading makes longer is told as long as it is" tells_the_period
rule "its mappings are as before when they are counted no longer" are_undone

# --- its writes -------------------------------------------------------------------

# Also false where the kernel or a sandbox around us has no such protection.
counts_writes() {
	refcnt --enable --source wp --period 0.1 "$@" 2>"$tmp/said"
}

has_writes() {
	counts >"$tmp/counts" && [ "$(sed -n 2p "$tmp/counts" | cut -d, -f2)" -ge 5 ]
}

# Only the pages behind each seventh are written to, by a system call.
writes_are_exact() {
	until_true 60 has_writes || return 1
	awk -F, -v pages="$pages" '
	{ i = NR - 1; wrote = i % 7 == 1 }
	wrote && ($2 < most - 1 || $2 == 0) { print "missed", i, $0; bad++ }
	!wrote && $2 != 0 { print "not written", i, $0; bad++ }
	/coarse/ { print "coarse", i, $0; bad++ }
	wrote && $2 > most { most = $2 }
	END { exit bad > 0 || NR != pages }' "$tmp/counts" &&
	    refcnt "pid:$touches" "$address" 4096 |
	    grep -q 'writes to write-protected pages: epochs'
}

has_its_descriptors() {
	descriptors "$touches" | cmp - "$tmp/descriptors"
}

is_protected() {
	grep -q '^VmFlags:.* uw' "/proc/$1/smaps"
}

is_free_of_protection() {
	! is_protected "$1"
}

protection_ends() {
	is_protected "$touches" &&
	    refcnt --disable "pid:$touches" "$address" $((pages * 4096)) &&
	    until_true 20 is_free_of_protection "$touches"
}

if counts_writes "pid:$touches" "$address" $((pages * 4096)); then
	rule "written pages are counted in each epoch, others never, of 2,000" \
	    writes_are_exact
	rule "the program has the descriptors that it had" has_its_descriptors
	rule "nothing is protected when writes are counted no longer" protection_ends
else
	skip "writes: $(cat "$tmp/said")"
fi
exec 7>&-

# --- redis-server ------------------------------------------------------------------

ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
(cd "$tmp" && LD_PRELOAD=$B/liballoclog.so exec "$tmp/redis-server" --port 0 \
    --unixsocket "$tmp/redis" --save "" --enable-debug-command local \
    >"$tmp/redis.out" 2>&1) &
redis=$!

redis_do() {
	redis-cli -s "$tmp/redis" "$@"
}

is_up() {
	[ "$(redis_do ping)" = PONG ] && is_watched redis-server
}

bench() {
	redis-benchmark -s "$tmp/redis" -q -n 20000 -r 5000 -d 300 -t set,get,lpush \
	    >"$tmp/bench.out" 2>&1 && ! grep -i error "$tmp/bench.out"
}

saved() {
	redis_do info persistence | tr -d '\r' |
	    grep -q '^rdb_bgsave_in_progress:0'
}

# Under load, with a child that saves, and the same data when it is loaded again.
behaves() {
	until_true 20 is_up || return 1
	bench || return 1
	refcnt --enable --all "pid:$(pid_of redis-server)" || return 1
	bench || return 1
	redis_do bgsave && bench && until_true 30 saved || return 1
	redis_do info persistence | tr -d '\r' |
	    grep -q '^rdb_last_bgsave_status:ok' || return 1
	digest=$(redis_do debug digest)
	redis_do debug reload && [ "$(redis_do debug digest)" = "$digest" ] &&
	    bench && [ "$(redis_do ping)" = PONG ]
}

# An idle one is not asked.
is_protected_under_load() {
	bench && is_protected "$server"
}

behaves_with_writes() {
	until_true 30 is_protected_under_load && redis_do bgsave && bench &&
	    until_true 30 saved || return 1
	digest=$(redis_do debug digest)
	redis_do debug reload && [ "$(redis_do debug digest)" = "$digest" ] &&
	    bench && [ "$(redis_do ping)" = PONG ]
}

if command -v redis-benchmark >/dev/null; then
	rule "redis-server with all blocks counted serves, saves and loads as ever" \
	    behaves
	server=$(pid_of redis-server)
	refcnt --disable --all "pid:$server" >"$tmp/out"
	if counts_writes --all "pid:$server" >"$tmp/out"; then
		rule "and so it does with the writes to all blocks counted" \
		    behaves_with_writes
	else
		skip "writes of redis-server: $(cat "$tmp/said")"
	fi
else
	skip "redis-tools is not installed: redis-server with all blocks counted"
fi
say_result
