#!/bin/sh
# contrib/heapstress on a kernel as Debian ships it, in a guest without KVM: each
# of the six levels moves, and what can be proved of the counts holds.  Needs qemu.
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
/kstress /dev/vda
check "no request was missed" [ "$(cat $param/missed)" = 0 ]
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

boots() {
	d=$root/lib/modules/$version/kernel/drivers
	truncate -s 1100M "$tmp/disk" &&
	    "$vm/initramfs" "$tmp/initramfs" "$tmp/guest.run" "$tmp/kstress" \
		"$tmp/module/heapstress.ko" "$d/block/virtio_blk.ko" \
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
	    [ "$(wc -l <"$tmp/said")" -ge 20 ]
}
rule "all six levels were tried, and their sum" all_levels
say_result
