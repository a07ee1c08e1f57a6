#!/bin/sh
# Page S on a terminal: each source, from copies of the kernel's files which a node
# reads, from this kernel, and from another machine.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek

# --- a node that reads copies --------------------------------------------------------

root=$tmp/root
mkdir -p "$root/proc/sys/kernel" "$root/proc/pressure"
echo 6.1.0-test >"$root/proc/sys/kernel/osrelease"
waited() {
	printf 'some avg10=0.00 avg60=0.00 avg300=0.00 total=%s\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%s\n' \
	    "$1" "$2" >"$root/pressure.new" &&
	    mv "$root/pressure.new" "$root/proc/pressure/memory"
}
# vmstat NUMBER...: what a kernel without the patch has, then the patch's six.
vmstat() {
	{
		printf 'numa_hit %s\nnuma_miss 0\nallocstall_normal 40\n' "$hit"
		printf 'compact_stall 2\noom_kill 1\n'
		level=1
		for n; do
			echo "heap_stress_$level $n"
			level=$((level + 1))
		done
	} >"$root/vmstat.new" && mv "$root/vmstat.new" "$root/proc/vmstat"
}
hit=1000
waited 100 10
vmstat 1000 10 0 0 0 0

mkdir -m 700 "$tmp/far"
XDG_RUNTIME_DIR=$tmp/far "$B/pageknode" --no-supervisor --root "$root" \
    2>"$tmp/far.said" 3>&- &
node=$!
stop() {
	kill "$node" && wait "$node"
	end_terminal
} >/dev/null 2>&1
trap stop EXIT
until_true 10 test -S "$tmp/far/pagek/node" || { cat "$tmp/far.said"; exit 1; }
far=unix:$tmp/far/pagek/node

t new-session -d -s p -x 80 -y 24 "exec $pagek --page=S --ascii $far"

# row NAME REGEX: the row shows that.
row() {
	wait_for "^$1 .* $2"
}

patched() {
	wait_for '^source: heap_stress of /proc/vmstat, exact' &&
	    wait_for '^S HEAP STRESS .* Linux 6.1.0-test .*window .*LIVE$' &&
	    row '1 default criteria' '0 +0 +0 +-' &&
	    wait_for '^ *4 the request freed memory itself'
}
rule "page S shows the patched kernel's counts since it was opened" patched

windows() {
	keys '}' && wait_for 'window [0-9]+s of 5m00s' &&
	    keys '}' && wait_for 'of 15m' && keys '}' && wait_for 'of 1h00m' &&
	    keys '}' && wait_for 'this is the longest window' &&
	    keys '{' '{' '{' '{' && wait_for 'window ([0-9]s of )?10s' &&
	    keys '{' && wait_for 'this is the shortest window' &&
	    keys '}' '}' '}' '}' && wait_for 'of 1h00m'
}
rule "{ and } choose the window" windows

# Counts of the window and since the mark; a second may be over already.
moves() {
	hit=1500 && vmstat 1400 110 1 2 0 0 && waited 500100 10 &&
	    row '1 default criteria' '400 +400 +79.5%' &&
	    row '2 after background wake' '100 +100 +19.9%' &&
	    row '4 synchronous reclaim' '2 +2 +0.4%' &&
	    row 'some tasks waited, us' '500,000 +500,000' &&
	    wait_for '2 watch: 2/1 ratio over 10% +3 STRESS +4 EXTREME STRESS'
}
rule "what moves is in its row, and watched" moves

marks() {
	keys m && row '1 default criteria' '400 +0 ' &&
	    wait_for '^source: .* mark [0-9:]{8}, ' &&
	    vmstat 1407 110 1 2 0 0 && row '1 default criteria' '407 +7 ' &&
	    keys x && row '1 default criteria' '0 +0 +-'
}
rule "m counts from now, and x begins all anew" marks

meanings() {
	keys Enter && wait_for '^2 after background wake$' &&
	    wait_for 'do not compare counts' && keys Escape &&
	    wait_for '^LEVEL +THIS SEC'
}
rule "Enter shows what the levels mean, and Esc the table" meanings

pauses() {
	keys Space && wait_for 'PAUSED$' && vmstat 2407 110 1 2 0 0 &&
	    shows '1 default criteria .* 0 +0 ' && keys Space &&
	    wait_for 'LIVE$' && row '1 default criteria' '1,000 +1,000 '
}
rule "a pause loses nothing" pauses

# caches SLABS: the copy of the kernel's slab caches.
caches() {
	printf '%s\n' 'slabinfo - version: 2.1' '# name' \
	    "dentry 90 100 192 21 1 : tunables 0 0 0 : slabdata $1 $1 0" \
	    >"$root/slab.new" && mv "$root/slab.new" "$root/proc/slabinfo"
}
memory() {
	page=$(getconf PAGESIZE)
	caches 5 && printf '%s\n' 'allocinfo - version: 1.0' \
	    '36864 9 arch/x86/mm/pgtable.c:33 func:pte_alloc_one' \
	    '1048576 300 mm/a.c:7 [a_module] func:a_function' \
	    >"$root/proc/allocinfo" && keys b &&
	    wait_for '^S KERNEL MEMORY BY CALL SITE .*LIVE$' &&
	    wait_for '^1,085,440 bytes in 2 places' &&
	    wait_for '^ +1,048,576 .* a_function  mm/a.c:7' && keys b &&
	    wait_for '^S KERNEL MEMORY BY SLAB CACHE' &&
	    wait_for "^ +$((5 * page / 1000)),[0-9]{3} .* dentry" &&
	    caches 6 && wait_for '\+[0-9]+,[0-9]{3} .* dentry' && keys m &&
	    wait_for ' 0 .* dentry' && keys b && wait_for '^LEVEL +THIS SEC' &&
	    rm "$root/proc/allocinfo"
}
rule "b shows who holds the kernel's memory, and what has grown" memory

# --- sources that go away ------------------------------------------------------------

# The copy is not set to zero, so each sample adds its numbers.
falls_to_file() {
	echo '3 2 1 0 0 0' >"$root/proc/heapstress" && vmstat &&
	    wait_for "^source: the kernel's six counts, exact" &&
	    wait_for "the source is now the kernel's six counts, exact" &&
	    wait_for 'not used: /proc/vmstat has no heap_stress any more' &&
	    keys x && wait_gone 'the source is now'
}
rule "a source that goes is followed by the next one, with a word" falls_to_file

is_stolen_from() {
	hit=900000 && vmstat &&
	    wait_for 'another program has read 8[0-9]{2},[0-9]{3} of the counts'
}
rule "another program that reads the file is noticed" is_stolen_from

falls_to_vmstat() {
	echo '1 2 3' >"$root/proc/heapstress" &&
	    wait_for '^source: /proc/vmstat, estimates' &&
	    row '2 after background wake' 'n/a +n/a +n/a' &&
	    row '6 failed' 'n/a' && keys x && hit=900250 && vmstat &&
	    row '1 default criteria' '~250 +~250 ' &&
	    wait_for '^~ estimate +< at most'
}
rule "estimates are marked, and what is not known is n/a" falls_to_vmstat

falls_to_none() {
	: >"$root/vmstat.new" && mv "$root/vmstat.new" "$root/proc/vmstat" &&
	    wait_for '^source: no source' && rm "$root/proc/pressure/memory" &&
	    row 'all tasks waited, us' 'n/a +n/a +n/a'
}
rule "without any source nothing is a number" falls_to_none

small() {
	t resize-window -t p -x 40 -y 10 &&
	    wait_for '^LEVEL +THIS SEC +WINDOW$' && keys G &&
	    wait_for '^all tasks wait' && t resize-window -t p -x 80 -y 24
}
rule "a small screen scrolls to all rows" small

# --- its line on page K ----------------------------------------------------------------

line() {
	vmstat 1 2 3 4 5 6 && keys 1 && keys ':set stress=on' Enter &&
	    wait_for '^stress/s +n/a n/a n/a n/a n/a n/a +some n/a all n/a' &&
	    keys ':set stress=off' Enter && wait_gone '^stress/s'
}
rule ":set stress shows a line on page K, or not" line
keys q
until_true 10 gone p

# --- text, and this kernel -------------------------------------------------------------

vmstat 1000 10 0 0 0 0
text() {
	"$pagek" --once --page=S --ascii --interval 0.1 "$1" >"$tmp/out" 2>&1 &&
	    grep -q '^1 default criteria ' "$tmp/out" &&
	    grep -q '^source: ' "$tmp/out" && ! grep -q 'not known yet' "$tmp/out"
}
rule "--once prints page S" text "$far"
# The sparks would be question marks.
text_of_the_locale() {
	LC_ALL=C "$pagek" --once --page=S --interval 1 "$1" >"$tmp/out" &&
	    grep -q '^1 default criteria ' "$tmp/out" &&
	    ! grep '^1 default criteria .*?' "$tmp/out"
}
rule "without UTF-8 it has ASCII characters alone" text_of_the_locale demo:1
repeated() {
	"$pagek" -b --count 2 --page=S --ascii --interval 0.1 demo:1 >"$tmp/out" &&
	    [ "$(grep -c '^S HEAP STRESS' "$tmp/out")" = 2 ] &&
	    grep -q "Linux $(uname -r | cut -c1-20)" "$tmp/out"
}
rule "-b prints it again and again, of this kernel" repeated
no_data() {
	"$pagek" --once --page=S --format json demo:1 >"$tmp/out" 2>&1
	[ $? = 2 ] && grep -q 'not for page S' "$tmp/out"
}
rule "data is pagek stress's" no_data

# Each source of this kernel moves while pages are touched.
here() {
	t new-session -d -s p -x 124 -y 35 "exec $pagek --page=S demo:1"
	wait_for '^S HEAP STRESS .*LIVE$' &&
	    wait_for '^1 default criteria +[~0-9]' && keys q q &&
	    until_true 10 gone p
}
rule "page S shows this kernel" here
say_result
