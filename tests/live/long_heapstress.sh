#!/bin/sh
# The patch of contrib/heapstress: it applies to Debian's source of Linux, and what
# it changes compiles without a warning.
set -u
. "$(dirname "$0")/lib.sh"
heapstress=$top/contrib/heapstress

linux=$(B="$B" "$top/tests/vm/source" "$heapstress/patch/heapstress-6.1.patch" \
    2>"$tmp/why")
case $? in
0) ;;
77)
	skip "$(tail -n 1 "$tmp/why")"
	say_result
	exit
	;;
esac
applies() {
	cat "$tmp/why"
	[ -e "$linux/fs/proc/allocinfo.c" ]
}
rule "the patch applies without fuzz" applies

# objects CONFIG: y or n, of the counts.
objects() {
	out=$tmp/kernel.$1
	mkdir "$out" && make -s -C "$linux" O="$out" tinyconfig &&
	    "$linux/scripts/kconfig/merge_config.sh" -m -O "$out" "$out/.config" \
		"$top/tests/vm/small.config" >"$tmp/merge.log" &&
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
rule "a kernel with CONFIG_HEAP_STRESS has the counts and the file" counts
without() {
	objects n && ! strings "$tmp/kernel.n/mm/vmstat.o" | grep heap_stress
}
rule "one without it has neither" without
say_result
