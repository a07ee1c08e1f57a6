#!/bin/sh
# The patches of contrib/heapstress: they apply to Debian's sources of Linux, and what
# they change compiles without a warning.  Small kernels that have them count what their
# other counters and the module count, and pagek shows that; the instructions of one are
# counted.  RELEASES selects one of them.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_guest.sh"
. "$(dirname "$0")/lib_heapstress.sh"

# objects CONFIG: y or n, of the counts.
objects() {
	out=$tmp/kernel.$1
	mkdir "$out" && make -s -C "$linux" O="$out" tinyconfig &&
	    "$linux/scripts/kconfig/merge_config.sh" -m -O "$out" "$out/.config" \
		"$vm/small.config" >"$tmp/merge.log" &&
	    echo "CONFIG_HEAP_STRESS=$1" >>"$out/.config" &&
	    make -s -C "$linux" O="$out" olddefconfig &&
	    make -s -C "$linux" O="$out" KCFLAGS=-Werror mm/page_alloc.o \
		mm/vmstat.o
}
counts() {
	objects y && make -s -C "$linux" O="$tmp/kernel.y" KCFLAGS=-Werror \
	    fs/proc/allocinfo.o &&
	    nm "$tmp/kernel.y/fs/proc/allocinfo.o" | grep -q allocinfo_show &&
	    strings "$tmp/kernel.y/mm/vmstat.o" | grep -qx heap_stress_6
}
without() {
	objects n && ! strings "$tmp/kernel.n/mm/vmstat.o" | grep heap_stress
}

# The module counts beside the patch; kstress compares.
both_part() {
	cat <<'RUN'
insmod /heapstress.ko name=heapstress_mod
TP=1 /kstress /dev/vda
check "no request was missed" [ "$(cat $param/missed)" = 0 ]
rmmod heapstress
RUN
}

# Pages and the command have the totals, which no reader of the file takes away.
patch_pages_part() {
	pages_part
	cat <<'RUN'
check "the group of the command line may read the file" \
    [ "$(stat -c '%a %g' $f)" = "440 104" ]
start_pages
check "page S shows the patched kernel's counts" \
    until_true both grep -q "^source: heap_stress of /proc/vmstat, exact"
fill
cat $f >/tmp/read
check "two pages lose no count, whoever reads the file" until_true both counts 10240
end_pages
# The file is read around the command: it has a little more, the command itself.
agrees() {
	cat $f >/dev/null
	/pagek stress --format ndjson -- dd if=/dev/zero of=/tmp/fill bs=1M count=40 \
	    2>/tmp/stress
	cat $f >/tmp/six
	rm /tmp/fill
	grep -q '"source": *"patch"' /tmp/stress || return 1
	for level in 1 2 3 4 5 6; do
		sed -n "s/.*\"level_$level\": *\([0-9]*\).*/\1/p" /tmp/stress
	done | tr '\n' ' ' >/tmp/ours
	cat /tmp/ours /tmp/six
	awk 'NR == 1 { split($0, ours); next }
	    { for (i = 1; i <= 6; i++) if (ours[i] > $i || $i - ours[i] > 3000) exit 1
	      exit !(ours[1] >= 10240) }' /tmp/ours /tmp/six
}
echo >>/tmp/six
check "pagek stress says what the file says" agrees
RUN
}

cost_part() {
	cat <<'RUN'
/kstress - cost | sed 's/^/cost /'
RUN
}

rebuild() {
	make -s -C "$headers" -j"$(nproc)" CC="${KERNEL_CC:-gcc}" \
	    KBUILD_BUILD_TIMESTAMP=0 bzImage "$@"
}
# adds PATH MOST: instructions that the counts add to a request.
adds() {
	awk -v most="$2" -v path="$1" '$1 == "cost" && $2 == path { n = $3 - n }
	    END { print path " path: " n " more"; exit !(n > 0 && n <= most) }' \
	    "$tmp/uncounted" "$tmp/counted"
}

# patched RELEASE: boots the kernel with the patch, and the module beside it.
patched() {
	rule "$1: the module builds for the patched kernel" \
	    build_module KBUILD_MODPOST_WARN=1
	heapstress_script both patch_pages reload log >"$tmp/patched-$1.run"
	APPEND=allocinfo.gid=104
	export APPEND
	guest "patched-$1" $(programs)
	rule "patched-$1: all six levels were tried, and their sum" all_levels "patched-$1"
	unset APPEND
}

# A machine with one processor, whose clock counts instructions.  Its page allocator is
# then compiled without the counts, and with another name for the function that the
# module follows.
costs() {
	ICOUNT=1
	export ICOUNT
	heapstress_script cost >"$tmp/counted.run"
	heapstress_script cost symbols >"$tmp/uncounted.run"
	guest counted
	printf '%s\n' '#undef CONFIG_HEAP_STRESS' \
	    '#define __alloc_pages_slowpath allocate_slowly' >"$tmp/without.h"
	rule "the page allocator is compiled without the counts" \
	    rebuild CFLAGS_page_alloc.o="-include $tmp/without.h"
	guest uncounted
	rule "the patch adds at most 2 instructions to a request" adds fast 2
	rule "... and at most 15 above level 1" adds slow 15
	rule "the kernel is as it was" rebuild
	unset ICOUNT
}

echo "CONFIG_HEAP_STRESS=y" >"$tmp/counts.config"
rule "kstress builds" build_kstress
for release in ${RELEASES:-6.12 6.1}; do
	patch=$heapstress/patch/heapstress-$release.patch
	has_kernel source $release "$patch" || continue
	linux=$kernel
	rule "$release: with CONFIG_HEAP_STRESS a kernel has the counts and the file" counts
	rule "$release: without CONFIG_HEAP_STRESS a kernel has neither" without
	rm -rf "$tmp/kernel.y" "$tmp/kernel.n"
	has_kernel built $release "$patch" "$vm/small.config" "$tmp/counts.config" ||
	    continue
	patched $release
	[ $release = 6.12 ] || costs
done
say_result
