#!/bin/sh
# The source exact on real programs: each reference to a watched page is counted, as
# valgrind and QEMU count it, and the program behaves as without it.
set -u
. "$(dirname "$0")/lib.sh"
source=exact
. "$(dirname "$0")/lib_guard.sh"

stepped() {
	start "$B/tests/targets/stepped" "$tmp/pages" "$@"
}

counts_now() {
	says 'each system call of the program takes [0-9.]* us longer'
}

# LETTERS...: the program, while its pages are counted, does what each letter says.
does() {
	for letter; do
		echo "$letter" >&7 && until_true 60 grep -qx "$letter" "$tmp/rounds" ||
		    return 1
	done
}

begins() {
	stepped && enable && until_true 30 counts_now
}

# The counts as lines "page reads writes" of pages with counts, from page 0 on.
table() {
	awk -F, '$2 + $3 > 0 { print NR - 1, $2, $3 }' "$tmp/counts" >"$tmp/table"
}

# are FILE: waits until the counts are those of FILE.
same() {
	counts && table && cmp -s "$1" "$tmp/table"
}
are() {
	until_true 15 same "$1" || { diff "$1" "$tmp/table"; return 1; }
}

# --- other programs count the same --------------------------------------------------------

work=ksp

trace() {
	"$B/tests/refcnt/counts" "$1" $(cat "$tmp/addresses") 2>"$tmp/sums" |
	    awk '$2 + $3 > 0' >"$2"
	grep -q ' bad 0$' "$tmp/sums" && [ -s "$2" ]
}

as_valgrind() {
	valgrind --tool=lackey --trace-mem=yes --log-file="$tmp/trace" \
	    "$B/tests/targets/stepped" "$tmp/addresses" $work >"$tmp/out" &&
	    trace "$tmp/trace" "$tmp/known" && begins && does k s p &&
	    are "$tmp/known" && ! says gap
}

# It has two references of 8 bytes in place of one of 16, which page 25 has ten times.
as_qemu() {
	cc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$tmp/refcnt_qemu.so" \
	    "$top/share/refcnt_qemu.c" &&
	    qemu-x86_64 -plugin "$tmp/refcnt_qemu.so,out=$tmp/qemu" \
	    "$B/tests/targets/stepped" "$tmp/addresses" $work >"$tmp/out" &&
	    trace "$tmp/qemu" "$tmp/halves" &&
	    awk '$1 == 25 { $2 -= 10 } { print }' "$tmp/halves" >"$tmp/known" &&
	    are "$tmp/known"
}

# A trace has a read and a write of each, and of a locked one two reads.
modifies() {
	begins && does m && printf '%s\n' '29 0 30' '30 30 30' >"$tmp/known" &&
	    are "$tmp/known"
}

if [ "$(uname -m)" != x86_64 ]; then
	skip "this is no x86-64: the source exact"
	say_result
	exit
fi
rule "the counts are valgrind's: string instructions, and those of two pages" as_valgrind
rule "the counts are those of QEMU's plugin" as_qemu

costs_are_told() {
	must_say 'each reference at least [0-9.]* us' && cat "$tmp/why" &&
	    grep -q 'single steps over protected pages: references' "$tmp/text" &&
	    finish
}
rule "source, unit and the cost of a reference are shown" costs_are_told
rule "an instruction that reads and writes is one write" modifies

# --- signals, jumps, calls ----------------------------------------------------------------

has_timers() {
	does t && n=$(sed -n 's/ alarms//p' "$tmp/rounds") &&
	    printf '%s\n' "0 $((5000 + n)) 0" "1 0 $n" '29 0 30' '30 30 30' >"$tmp/known" &&
	    are "$tmp/known" && finish
}
rule "handlers that interrupt steps run, and their references count once" has_timers

# The number of reads before each jump depends on the machine.
are_jumps() {
	counts && table && awk '$1 == 2 { $2 = 5 } { print }' "$tmp/table" >"$tmp/some" &&
	    printf '%s\n' '2 5 0' '3 0 5' '4 0 40' | diff - "$tmp/some"
}
has_jumps() {
	begins && does j && { until_true 15 are_jumps || are_jumps; } && finish
}
rule "handlers that interrupt steps leave by a jump, with signals as before" has_jumps

has_buffers() {
	begins && does b && printf '%s\n' '6 21 10' '7 0 10' '8 1 0' >"$tmp/known" &&
	    are "$tmp/known" && finish
}
rule "a system call counts once for each page of its buffer" has_buffers

misses_calls() {
	begins && does u && must_say 'pages were open in 10 gaps' && finish
}
rule "a system call that the library does not know is a gap" misses_calls

# The division is a reference.
divides() {
	begins && does d && must_say 'itself caused signal 8' &&
	    echo '9 1 0' >"$tmp/known" && are "$tmp/known" && finish
}
rule "a fault of a stepped instruction reaches the program's handler, and ends the guard" \
    divides

# Then the pages are closed again.
has_children() {
	begins && does c && must_say 'pages were open in [0-9]* gap' && does k &&
	    until_true 20 has_closed_pages && finish
}
rule "forks and spawned programs work as usual, and the gaps are shown" has_children

executes() {
	begins && does x && echo '11 100 0' >"$tmp/known" && until_true 10 test -s \
	    "$tmp/rounds" && wait $pid && pid=
}
rule "a program that is executed replaces a counted one" executes

creates_threads() {
	begins && does h && must_say 'pages were open in [0-9]* gap' && finish
}
rule "threads of a counted program end as usual, and the gap is shown" creates_threads

# --- ends and refusals -----------------------------------------------------------------------

ends_with_counting() {
	begins && disable && until_true 30 is_alone
}
rule "the thread and all handlers end when nothing is counted" ends_with_counting
rule "all pages are opened when the node is killed, and the program goes on" \
    ends_with_the_node
start_node || exit 1

# A page that a step has opened for reading can be written to afterwards, and a fault waits
# until all pages are open.
begins_again() {
	disable && until_true 30 is_alone && enable && until_true 30 counts_now
}
ends_in_a_step() {
	begins && printf l >&7 && begins_again && begins_again && begins_again &&
	    begins_again && ends_with_the_node && return
	cat "$tmp/said" "$tmp/why"
	wait $pid
	echo "status $?"
	return 1
}
rule "counting ends, begins, and ends with the node while steps are made" ends_in_a_step
start_node || exit 1

# SOURCE
opens() {
	source=$1
	begins && does f && must_say 'not enough mappings left' && finish
	opened=$?
	source=exact
	return $opened
}
rule "all pages are opened when the program has no mapping left" opens exact
rule "so they are with the source guard" opens guard

keeps_blocked() {
	begins && does B && kill -TRAP $pid && must_say 'itself caused signal 5' &&
	    kill -0 $pid && does P k && finish
}
rule "a SIGTRAP that the program blocks waits as usual, also if it interrupts a call" \
    keeps_blocked

# LETTER WORDS
refuses() {
	stepped && does "$1" && enable && must_say "$2" && finish
}
rule "refused: the program handles SIGTRAP" refuses T 'handles signal 5 itself'
if grep -q -w ospke /proc/cpuinfo; then
	skip "this processor has protection keys: more than one thread is counted"
else
	rule "refused: more than one thread, without protection keys" refuses 2 \
	    'the program has 3 threads, and this processor has no protection keys'
fi

takes_trap() {
	begins && does T && must_say 'handles signal 5 itself' && does k && finish
}
rule "counting ends when the program begins to handle SIGTRAP" takes_trap

blocks() {
	start env --block-signal=TRAP "$B/tests/targets/stepped" "$tmp/pages" &&
	    enable && must_say 'blocks SIGSYS, SIGSEGV or SIGURG (.* or SIGTRAP)' &&
	    finish
}
rule "refused: a thread blocks SIGTRAP" blocks

says_guard() {
	says . && grep -q 'first touch' "$tmp/text" &&
	    grep -q 'each system call' "$tmp/why"
}
one_at_a_time() {
	begins && ! refcnt --enable --source guard "pid:$pid" \
	    "$(printf %x $((0x$address + pages * 4096)))" 4096 2>"$tmp/why" &&
	    grep -q 'with guard and exact' "$tmp/why" || return 1
	disable
	source=guard
	enable && until_true 30 says_guard
	changed=$?
	source=exact
	[ $changed = 0 ] && finish
}
rule "a target is counted by guard or exact at a time, one after the other" one_at_a_time

say_result
