# Sourced behind lib.sh by the tests of the sources that close pages: a node, and a target
# whose block is counted with the source $source.
#
# start PROGRAM [OPTION...]	starts a target, whose block has $pages pages at $address
# enable, disable		counting of its block
# counts			writes lines "page,reads,writes" to $tmp/counts
# must_say WORDS		waits until the node says WORDS about the counting
# finish			ends the target, which must succeed

stop() {
	exec 7>&- 8>&-
	kill $node $pid $redis 2>/dev/null
	wait
	rm -rf "$tmp"
} >/dev/null 2>&1
node= pid= redis=
trap stop EXIT

start_node() {
	"$B/pageknode" --no-supervisor >>"$tmp/node.out" 2>&1 7>&- 8>&- &
	node=$!
	until_true 20 test -S "$XDG_RUNTIME_DIR/pagek/node.hello"
}
start_node || exit 1

refcnt() {
	"$B/pagek" refcnt "$@"
}

is_watched() {
	"$B/pagek" targets | grep -q "^pid:$pid .*LIVE"
}

mkfifo "$tmp/in"
# start PROGRAM [OPTION...]: starts a target, whose block has $pages pages at $address.
start() {
	[ -z "$pid" ] || kill -9 $pid
	exec 7>&-
	rm -f "$tmp/pages"
	LD_PRELOAD=$B/liballoclog.so "$@" <"$tmp/in" >"$tmp/rounds" 2>"$tmp/err" &
	pid=$!
	exec 7>"$tmp/in"
	until_true 20 test -s "$tmp/pages" && until_true 20 is_watched &&
	    read -r address pages <"$tmp/pages"
}

# The program ends with status 0; guarded has made rounds.
finish() {
	exec 7>&-
	wait $pid
	status=$?
	pid=
	cat "$tmp/err"
	[ $status = 0 ] && ! grep -qx 0 "$tmp/rounds"
}

enable() {
	refcnt --enable --source $source --period 0.2 "pid:$pid" "$address" \
	    $((pages * 4096)) >"$tmp/said" 2>&1
}

disable() {
	refcnt --disable "pid:$pid" "$address" $((pages * 4096)) >"$tmp/said"
}

counts() {
	refcnt --format csv --fields page,reads,writes "pid:$pid" "$address" \
	    $((pages * 4096)) 2>/dev/null | tr -d '\r' | sed 1d >"$tmp/counts"
}

# Prints the guard's sentence.
says() {
	refcnt "pid:$pid" "$address" 4096 2>&1 >"$tmp/text" | tee "$tmp/why" |
	    grep -q "$1"
}

must_say() {
	until_true 30 says "$1" || { cat "$tmp/why"; return 1; }
}

has_closed_pages() {
	grep -q -- '---p 00000000 00:00 0 *$' "/proc/$pid/maps" &&
	    [ "$(ls "/proc/$pid/task" | wc -l)" = 2 ]
}
# With no other thread and no handler of a signal.
is_alone() {
	[ "$(ls "/proc/$pid/task" | wc -l)" = 1 ] &&
	    [ "$(awk '/^SigCgt/ { print $2 }' "/proc/$pid/status")" = \
	    0000000000000000 ]
}

ends_with_the_node() {
	enable && until_true 30 has_closed_pages || return 1
	kill -9 $node
	wait $node 2>/dev/null
	rm -f "$XDG_RUNTIME_DIR/pagek/node.hello"
	until_true 30 is_alone && finish
}
