#!/bin/sh
# contrib/heapstress on a kernel as Debian ships it, in a guest without KVM: each
# of the six levels moves, what can be proved of the counts holds, and page S shows
# them.  Needs qemu.
set -u
. "$(dirname "$0")/lib.sh"
heapstress=$top/contrib/heapstress
vm=$top/tests/vm

stock=$(B="$B" "$vm/stock" 2>"$tmp/why") || {
	[ $? = 77 ] || { cat "$tmp/why"; exit 1; }
	skip "$(tail -n 1 "$tmp/why")"
	say_result
	exit
}
version=${stock%% *}
root=${stock#* }

builds() {
	cp -r "$heapstress/module" "$tmp/module" &&
	    make -s -C "$tmp/module" KDIR="/usr/src/linux-headers-$version" &&
	    gcc -O2 -Wall -Wextra -Werror -static -o "$tmp/kstress" \
		"$heapstress/test/kstress.c"
}
rule "the module builds with the headers of $version" builds

# What runs in the guest; a line "ok: ..." or "FAIL: ..." is a rule.
cat >"$tmp/guest.run" <<'RUN'
check() {
	sentence=$1
	shift
	if "$@"; then
		echo "ok: $sentence"
	else
		echo "FAIL: $sentence"
	fi
}
f=/proc/allocinfo
param=/sys/module/heapstress/parameters
not() {
	! "$@" 2>/dev/null
}
is() {
	[ "$(stat -c '%a %g' $1)" = "$2" ] || { stat -c '# %a %g' $1; false; }
}

dmesg -c >/tmp/boot		# what qemu's machine is like
check "a group that is none is refused" not insmod /heapstress.ko gid=-2
check "... with a sentence" sh -c "dmesg | grep -q 'gid=-2 is no group'"
check "... and no file" not [ -e $f ]
insmod /heapstress.ko name=other gid=104
check "a group may read it" is /proc/other "440 104"
check "... under the name that was given" not [ -e $f ]
rmmod heapstress
check "the file goes with the module" not [ -e /proc/other ]
insmod /heapstress.ko
check "it is root's alone" is $f "400 0"
check "a second one is refused" not insmod /heapstress.ko
mkdir -p -m 700 /tmp/run /lib
mv /*.so.* /lib
ln -s lib /lib64
# Under a name that pagek does not look for, so that it counts by eBPF.
rmmod heapstress
insmod /heapstress.ko name=six
cat >/tmp/load <<'LOAD'
ALLOCINFO=/proc/six /kstress /dev/vda >/tmp/kstress 2>&1
LOAD
[ -e /pagek-levels ] || echo "ALLOCINFO=/proc/six /kstress /dev/vda" >/tmp/load
sh -c 'echo -1000 >/proc/self/oom_score_adj
    HOME=/tmp XDG_RUNTIME_DIR=/tmp/run exec /pagek stress --format ndjson -- sh /tmp/load' 2>/tmp/levels
[ ! -e /tmp/kstress ] || cat /tmp/kstress
check "no request was missed" [ "$(cat $param/missed)" = 0 ]
sed 's/^/ebpf: /' /tmp/levels
rmmod heapstress
insmod /heapstress.ko
# Two pages of one node look at the file while 40 MiB are allocated twice.
HOME=/tmp XDG_RUNTIME_DIR=/tmp/run /pageknode --no-supervisor &
node=$!
until_true() {
	for i in $(seq 30); do
		"$@" && return
		sleep 1
	done
	return 1
}
until_true [ -S /tmp/run/pagek/node ]
pages=
for page in a b; do
	HOME=/tmp /pagek -b --ascii --page=S --interval 0.5 \
	    unix:/tmp/run/pagek/node >/tmp/$page 2>&1 &
	pages="$pages $!"
done
both() {
	"$@" /tmp/a && "$@" /tmp/b
}
# Requests since the mark: the column of the last picture's rows, added.
counts() {
	[ "$(grep -E '^[1-6] .* [0-9,]+ +[0-9,]+ ' $2 | tail -n 6 | cut -c48-59 | tr -d ' ,' |
	    awk '{ n += $1 } END { print n + 0 }')" -ge $1 ]
}
fill() {
	dd if=/dev/zero of=/tmp/fill bs=1M count=40 2>/dev/null
	rm /tmp/fill
}
check "page S shows the file's counts" \
    until_true both grep -q "^source: the kernel's six counts, exact"
fill
check "two pages lose no count" until_true both counts 10240
steal() {
	fill
	cat $f >/dev/null
	both grep -q 'another program has read [0-9,]* of the counts'
}
check "page S notices another reader" until_true steal
kill $pages $node
wait $pages $node
# Allocations go on while the module comes and goes.
dd if=/dev/vda of=/dev/null bs=64k 2>/dev/null &
load=$!
comes_and_goes() {
	for i in 1 2 3 4 5; do
		rmmod heapstress && insmod /heapstress.ko && cat $f >/dev/null ||
		    return 1
	done
	rmmod heapstress
}
check "it is unloaded and loaded under load" comes_and_goes
kill $load
wait $load
check "the kernel complains of nothing" \
    not sh -c "dmesg | grep -iE 'warn|bug:|oops'"
RUN

levels=
[ ! -x "$B/pagek-levels" ] || levels=$B/pagek-levels
boots() {
	d=$root/lib/modules/$version/kernel/drivers
	libraries=$(ldd "$B/pagek" "$B/pageknode" $levels |
	    awk '/=> \//{ print $3 } /^\t\/.*\/ld-/{ print $1 }' | sort -u)
	truncate -s 1100M "$tmp/disk" &&
	    "$vm/initramfs" "$tmp/initramfs" "$tmp/guest.run" "$tmp/kstress" \
		"$tmp/module/heapstress.ko" "$B/pagek" "$B/pageknode" $levels $libraries \
		"$d/block/virtio_blk.ko" \
		"$d"/virtio/virtio.ko "$d"/virtio/virtio_ring.ko \
		"$d"/virtio/virtio_pci.ko "$d"/virtio/virtio_pci_legacy_dev.ko \
		"$d"/virtio/virtio_pci_modern_dev.ko || return 1
	"$vm/boot" "$root/boot/vmlinuz-$version" "$tmp/initramfs" "$tmp/disk" \
	    >"$tmp/guest" 2>&1 </dev/null
	tr -d '\r' <"$tmp/guest" >"$tmp/console"
	tail -n 20 "$tmp/console"
	grep -q '^# end' "$tmp/console"
}
rule "the guest comes to its end" boots

# A guest that hung has fewer.
said() {
	grep -qx "ok: $1" "$tmp/console" || {
		cat "$tmp/console"
		return 1
	}
}
grep -E '^(ok|FAIL): ' "$tmp/console" | cut -d: -f2- | sed 's/^ //' >"$tmp/said"
while read -r sentence; do
	rule "guest: $sentence" said "$sentence"
done <"$tmp/said"
all_levels() {
	for level in 1 2 3 4 5 6; do
		grep -qx "level $level moved" "$tmp/said" || return 1
	done
	grep -q 'levels 1 to 5 are numa_hit' "$tmp/said" &&
	    [ "$(wc -l <"$tmp/said")" -ge 23 ]
}
rule "all six levels were tried, and their sum" all_levels

# eBPF judges a request by the free pages that are there when it ends, and does not
# see that it waited while another one called the OOM killer: that is level 4.
levels_agree() {
	python3 - "$tmp/guest" <<'E'
import json, sys
lines = open(sys.argv[1], errors="replace").read().splitlines()
seen = json.loads([l for l in lines if l.startswith("ebpf: ")][-1][6:])
at = max(i for i, l in enumerate(lines) if l.startswith("== all "))
true = [int(n) for n in lines[at + 1].split()[1:7]]
ours = [seen["level_%d" % n] for n in range(1, 7)]
print("the module", true, "eBPF", ours, seen["why"])
assert seen["source"] == "ebpf" and seen["missed"] == 0
assert ours[5] == true[5] and seen["exactness_6"] == "exact"
assert abs(sum(ours[3:5]) - sum(true[3:5])) <= max(3, true[3] // 10)
assert abs(ours[1] - true[1]) <= true[1] // 3
assert abs(sum(ours[:5]) - sum(true[:5])) <= sum(true[:5]) // 20
assert 0 < ours[4] <= true[4]
E
}
if [ -n "$levels" ]; then
	rule "pagek stress by eBPF agrees with the module, as far as it can" levels_agree
else
	skip "no eBPF: clang or libbpf-dev were not there"
fi
say_result
