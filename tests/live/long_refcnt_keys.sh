#!/bin/sh
# The source exact on a processor with protection keys, in a guest without KVM: several
# threads are counted at once, each reference, and pages are open for one thread only.
# Needs qemu.
set -u
. "$(dirname "$0")/lib.sh"
vm=$top/tests/vm

stock=$(B="$B" "$vm/stock" 2>"$tmp/why") || {
	[ $? = 77 ] || { cat "$tmp/why"; exit 1; }
	skip "$(tail -n 1 "$tmp/why")"
	say_result
	exit
}
version=${stock%% *}
root=${stock#* }

cat >"$tmp/guest.run" <<'RUN'
. /functions
mv /run /tmp/run.sh
mkdir -p /run /lib
mkdir -p -m 700 /tmp/run
export HOME=/tmp XDG_RUNTIME_DIR=/tmp/run
until_soon() {
	for i in $(seq 240); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.5
	done
	return 1
}
refcnt() {
	/pagek refcnt "$@"
}
check "the processor has protection keys" grep -q -w ospke /proc/cpuinfo
/pageknode --no-supervisor 2>/tmp/node &
node=$!
until_soon [ -S /tmp/run/pagek/node.hello ]
mkfifo /tmp/in
is_watched() {
	/pagek targets | grep -q "^pid:$pid .*LIVE"
}
# Tries again: the program waits 50 ms for the node's answer, and a guest is slow.
starts() {
	for try in 1 2 3 4 5; do
		rm -f /tmp/pages
		LD_PRELOAD=/liballoclog.so /stepped /tmp/pages </tmp/in >/tmp/out 2>/tmp/err &
		pid=$!
		exec 7>/tmp/in
		until_soon [ -s /tmp/pages ] && read address pages </tmp/pages
		is_watched && return
		kill -9 $pid
		exec 7>&-
	done
	return 1
}
does() {
	for letter; do
		echo "$letter" >&7
		until_soon grep -qx "$letter" /tmp/out || return 1
	done
}
says() {
	refcnt pid:$pid $address 4096 2>&1 | tee /tmp/said | grep -q "$1"
}
begins() {
	starts && does 2 && refcnt --enable --source exact --period 0.2 pid:$pid \
	    $address $((pages * 4096)) && until_soon says 'each system call'
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
awk -F, '$2 + $3 > 0 { print "counts:", NR - 1, $2, $3 }' /tmp/counts
sed 's/^/# /' /tmp/said
exec 7>&-
wait $pid
check "the program ends as usual" [ $? = 0 ]
kill $node
RUN

boots() {
	libraries=$(ldd "$B/pagek" "$B/pageknode" "$B/liballoclog.so" |
	    awk '/=> \//{ print $3 } /^\t\/.*\/ld-/{ print $1 }' | sort -u)
	"$vm/initramfs" "$tmp/initramfs" "$tmp/guest.run" "$B/pagek" \
	    "$B/pageknode" "$B/liballoclog.so" "$B/tests/targets/stepped" \
	    $libraries || return 1
	"$vm/boot" "$root/boot/vmlinuz-$version" "$tmp/initramfs" \
	    >"$tmp/guest" 2>&1 </dev/null
	tr -d '\r' <"$tmp/guest" >"$tmp/console"
	tail -n 40 "$tmp/console"
	grep -q '^# end' "$tmp/console"
}

said() {
	grep -qx "ok: $1" "$tmp/console"
}

# The trace has the pages of strings and pairs; 12 to 14 are the threads'.
keys_are_exact() {
	valgrind --tool=lackey --trace-mem=yes --log-file="$tmp/trace" \
	    "$B/tests/targets/stepped" "$tmp/addresses" sp >"$tmp/out" || return 1
	"$B/tests/refcnt/counts" "$tmp/trace" $(cat "$tmp/addresses") 2>"$tmp/sums" |
	    awk '$1 >= 16 && $2 + $3 > 0' >"$tmp/some"
	printf '%s\n' '6 21 10' '7 0 10' '8 1 0' '12 500 0' '13 500 0' \
	    '14 0 1000' >"$tmp/known"
	cat "$tmp/some" >>"$tmp/known"
	sed -n 's/^counts: //p' "$tmp/console" | diff "$tmp/known" -
}

rule "the guest comes to its end" boots
grep -E '^(ok|FAIL): ' "$tmp/console" | cut -d: -f2- | sed 's/^ //' >"$tmp/said"
while read -r sentence; do
	rule "guest: $sentence" said "$sentence"
done <"$tmp/said"
rule "with protection keys, two threads and pairs of pages are counted exactly" \
    keys_are_exact
say_result
