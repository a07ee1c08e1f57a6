#!/bin/sh
# Exact counts of references: valgrind's and QEMU's of a program that knows its own.
set -u
. "$(dirname "$0")/lib.sh"

program=$B/tests/targets/references
counts=$B/tests/refcnt/counts

# The program's own words.
awk 'BEGIN { for (p = 0; p < 16; p++)
	print p, (p + 1) * 1000, p % 2 == 0 ? 101 : 1 }' >"$tmp/known"

# are_known TRACE: its counts are the program's on all pages.
are_known() {
	"$counts" "$1" "$(cat "$tmp/address")" 16 >"$tmp/counts" \
	    2>"$tmp/sums" || return 1
	cat "$tmp/sums"
	diff "$tmp/known" "$tmp/counts"
}

lackey() {
	valgrind --tool=lackey --trace-mem=yes --log-file="$tmp/trace" \
	    "$program" "$tmp/address" || return 1
	are_known "$tmp/trace" && grep -q ' bad 0$' "$tmp/sums"
}

with_output() {
	valgrind --tool=lackey --trace-mem=yes "$program" "$tmp/address" \
	    2>"$tmp/all" || return 1
	sed '1000i hello\n L 12' "$tmp/all" >"$tmp/mixed"
	are_known "$tmp/mixed" && grep -q ' bad 2$' "$tmp/sums"
}

plugin() {
	cc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$tmp/refcnt_qemu.so" \
	    "$top/share/refcnt_qemu.c" || return 1
	qemu-x86_64 -plugin "$tmp/refcnt_qemu.so,out=$tmp/qemu" \
	    "$program" "$tmp/address" || return 1
	are_known "$tmp/qemu" && grep -q ' bad 0$' "$tmp/sums"
}

no_file() {
	! qemu-x86_64 -plugin "$tmp/refcnt_qemu.so" "$program" "$tmp/address" \
	    2>"$tmp/said" && grep -q 'no file given' "$tmp/said"
}

# A child's counts do not replace its parent's.
forked() {
	cat >"$tmp/forks.c" <<-'C'
	#include <sys/wait.h>
	#include <unistd.h>
	static volatile int here;
	int main(void)
	{
		if (fork() == 0)
			return here;
		wait(NULL);
		return here;
	}
	C
	cc -o "$tmp/forks" "$tmp/forks.c" &&
	    qemu-x86_64 -plugin "$tmp/refcnt_qemu.so,out=$tmp/family" \
		"$tmp/forks" && [ -s "$tmp/family" ] &&
	    ls "$tmp"/family.[0-9]* | grep -c . | grep -qx 1
}

if [ "$(uname -m)" = x86_64 ]; then
	rule "valgrind's trace gives the program's counts, on all pages" lackey
	rule "lines of the program among the trace are counted as bad" with_output
	rule "QEMU's plugin gives the program's counts, on all pages" plugin
	rule "the plugin wants the name of a file" no_file
	rule "a forked child has a file of its own" forked
else
	skip "this is no x86-64: valgrind's and QEMU's counts"
fi
say_result
