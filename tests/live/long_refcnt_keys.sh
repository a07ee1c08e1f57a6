#!/bin/sh
# The source exact on a processor with protection keys, in a guest without KVM: several
# threads are counted at once, each reference, and pages are open for one thread only.
# Needs qemu.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_guest.sh"

has_kernel stock 6.1 || {
	say_result
	exit
}

keys_part() {
	cat <<'RUN'
mv /run /tmp/run.sh
mkdir /run
refcnt() {
	/pagek refcnt "$@"
}
check "the processor has protection keys" grep -q -w ospke /proc/cpuinfo
/pageknode --no-supervisor 2>/tmp/node &
node=$!
until_true [ -S /tmp/run/pagek/node.hello ]
mkfifo /tmp/in
is_watched() {
	/pagek targets 2>/tmp/said | grep -q "^pid:$pid .*LIVE"
}
# Tries again: the program waits 50 ms for the node's answer, and a guest is slow.
starts() {
	for try in 1 2 3 4 5; do
		rm -f /tmp/pages
		LD_PRELOAD=/liballoclog.so /stepped /tmp/pages </tmp/in >/tmp/out 2>/tmp/err &
		pid=$!
		exec 7>/tmp/in
		until_true [ -s /tmp/pages ] && read address pages </tmp/pages
		is_watched && return
		kill -9 $pid
		exec 7>&-
	done
	return 1
}
does() {
	for letter; do
		echo "$letter" >&7
		until_true grep -qx "$letter" /tmp/out || return 1
	done
}
says() {
	refcnt pid:$pid $address 4096 2>&1 | tee /tmp/said | grep -q "$1"
}
begins() {
	starts && does 2 && refcnt --enable --source exact --period 0.2 pid:$pid \
	    $address $((pages * 4096)) >/tmp/said && until_true says 'each system call'
}
check "a program with three threads is counted" begins
sed 's/^/# /' /tmp/said
check "the program does its work" does r s p b
counts() {
	refcnt --format csv --fields page,reads,writes pid:$pid $address \
	    $((pages * 4096)) 2>/tmp/said | tr -d '\r' | sed 1d >/tmp/counts
	cmp -s /tmp/counts /tmp/before
}
# Until they rest.
for i in 1 2 3 4 5 6 7 8 9 10; do
	counts && break
	cp /tmp/counts /tmp/before
	sleep 1
done
awk -F, '$2 + $3 > 0 { print "data:", NR - 1, $2, $3 }' /tmp/counts
sed 's/^/# /' /tmp/said
exec 7>&-
wait $pid
check "the program ends as usual" [ $? = 0 ]
kill $node
RUN
}
script keys >"$tmp/keys.run"
guest keys $(programs "$B/liballoclog.so" "$B/tests/targets/stepped")

# The trace has the pages of strings and pairs; 12 to 14 are the threads'.
keys_are_exact() {
	valgrind --tool=lackey --trace-mem=yes --log-file="$tmp/trace" \
	    "$B/tests/targets/stepped" "$tmp/addresses" sp >"$tmp/out" || return 1
	"$B/tests/refcnt/counts" "$tmp/trace" $(cat "$tmp/addresses") 2>"$tmp/sums" |
	    awk '$1 >= 16 && $2 + $3 > 0' >"$tmp/some"
	printf '%s\n' '6 21 10' '7 0 10' '8 1 0' '12 500 0' '13 500 0' \
	    '14 0 1000' >"$tmp/known"
	cat "$tmp/some" >>"$tmp/known"
	sed -n 's/^data: //p' "$tmp/keys" | diff "$tmp/known" -
}

rule "with protection keys, two threads and pairs of pages are counted exactly" \
    keys_are_exact
say_result
