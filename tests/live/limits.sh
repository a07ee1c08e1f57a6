#!/bin/sh
# What the library takes of each limit of a program, as alloclog(3) says it.
. "$(dirname "$0")/lib.sh"

pagek=$B/pagek
target=$B/tests/targets/limits
report=$tmp/report
# One arena, or its size would differ from run to run.
export MALLOC_ARENA_MAX=1

run() {
	"$pagek" run -b -o /dev/null --report "$report" "$@"
}
value() {
	sed -n "s/^$1=//p" "$2"
}
# said LIMIT I: the Ith number in that row of the manual's table; 0: nothing.
said() {
	sed -n "s/^\.It [DP][va] $1 Ta //p" "$top/man/alloclog.3" |
	    sed 's/^nothing.*/0/' | grep -oE '[0-9]+(\.[0-9]+)?' | sed -n "$2p"
}
# takes NAME SAID UNIT [OPTION...]: no more than that, and no less than half,
# beyond what the program has without us; below it where UNIT is negative.
takes() {
	name=$1 said=$2 unit=$3
	shift 3
	run "$@" -- "$target" usage >"$tmp/with" &&
	    "$target" usage >"$tmp/without" || return 1
	n=$(($(value "$name" "$tmp/with") - $(value "$name" "$tmp/without")))
	echo "$name: $n, said $said times $unit"
	awk -v n="$n" -v said="$said" -v unit="$unit" 'BEGIN {
		most = unit < 0 ? -n : n
		unit = unit < 0 ? -unit : unit
		exit !(said != "" && most <= said * unit && most >= said * unit / 2)
	}'
}
takes_nothing() {
	takes thread_as 0 1 --stack 0 && takes thread_data 0 1 &&
	    takes thread_maps 0 1 --stack 0 && takes thread_fds 0 1 &&
	    takes fds 0 1 && takes child_fds 0 1 && takes tasks 0 1 &&
	    takes thread_keys 0 1
}
rule "the library takes as many addresses as the manual says" \
    unless_busy takes as "$(said RLIMIT_AS 1)" 1024
rule "and as many of a forked child" unless_busy takes child_as "$(said RLIMIT_AS 2)" 1024
rule "and as many for a thread" unless_busy takes thread_as "$(said RLIMIT_AS 3)" 1024
rule "the library takes as much data as the manual says" \
    unless_busy takes data "$(said RLIMIT_DATA 1)" 1024
rule "and as much of a forked child" unless_busy takes child_data "$(said RLIMIT_DATA 1)" 1024
rule "the library takes as many mappings as the manual says" \
    unless_busy takes maps "$(said vm.max_map_count 1)" 1
rule "and as many of a forked child" unless_busy takes child_maps "$(said vm.max_map_count 2)" 1
rule "and as many for a thread" unless_busy takes thread_maps "$(said vm.max_map_count 3)" 1
rule "the library takes as many keys as the manual says" \
    unless_busy takes keys "$(said PTHREAD_KEYS_MAX 1)" -1
rule "the library takes nothing where the manual says so" unless_busy takes_nothing

# room WHOM LIMIT OPTION...: within that limit, a program or its child can
# allocate as much as without us, but for what the table says.
room() {
	whom=$1 limit=$2
	shift 2
	run "$@" -- prlimit --data="$limit" "$target" room >"$tmp/with" &&
	    prlimit --data="$limit" "$target" room >"$tmp/without" || return 1
	with=$(value "$whom" "$tmp/with")
	without=$(value "$whom" "$tmp/without")
	echo "$with KiB, $without without us"
	awk -v with="$with" -v without="$without" -v said="$(said RLIMIT_DATA 1)" \
	    'BEGIN { exit !(with + said * 1024 + 64 >= without) }' &&
	    ! grep -q '"allocs": null' "$report"
}
for o in "" "--stack 0" "--sample 64k"; do
	rule "a program with little data is watched and keeps it${o:+: $o}" \
	    unless_busy room room 6000000 $o
	rule "and so does its child${o:+: $o}" unless_busy room child_room 40000000 $o
done
# Its own allocator's, of brk(2) and mmap(2).
python_room() {
	cat >"$tmp/room.py" <<-'P'
		held = []
		try:
		    while True:
		        held.append(bytearray(100000))
		except MemoryError:
		    held, n = None, len(held)
		    print(n)
	P
	for how in without with; do
		[ $how = without ] || set -- run --
		"$@" prlimit --data=12000000 python3 "$tmp/room.py" >"$tmp/$how" ||
		    return 1
	done
	echo "$(cat "$tmp/with") of 100 kB, $(cat "$tmp/without") without us"
	# 0.2 MiB are part of three of these.
	[ "$(cat "$tmp/with")" -ge $(($(cat "$tmp/without") - 3)) ]
}
if command -v python3 >/dev/null; then
	rule "python3 has 12 MB of data, less what the table says" unless_busy python_room
else
	skip "python3 is not installed: a real program with little data"
fi

# Programs with few descriptors need those of a caller of ours to be closed.
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
# watched COMMAND...: all of the program; unwatched: not all, but it runs.
watched() {
	run -- "$@" "$target" room | cat >"$tmp/with" &&
	    [ "$(value room "$tmp/with")" -gt 0 ] &&
	    ! grep '"allocs": null' "$report"
}
unwatched() {
	run -- "$@" "$target" room | cat >"$tmp/with" &&
	    [ "$(value room "$tmp/with")" -gt 0 ] &&
	    grep '"comm": "limits", "allocs": null.*no free descriptor' "$report"
}
rule "three descriptors are enough to be watched" \
    unless_busy watched prlimit --nofile=$((3 + $(said RLIMIT_NOFILE 2)))
rule "with two, a program runs and is reported as not watched" \
    unless_busy unwatched prlimit --nofile=$((2 + $(said RLIMIT_NOFILE 2)))
rule "a program that may write no file, queue no signal and start no process is watched" \
    unless_busy watched prlimit --fsize=0 --sigpending=0 --nproc=1 --msgqueue=0

# The parent is watched before it limits itself to the addresses that it uses.
cramped_child() {
	run -- perl -e 'open F, "/proc/self/statm"; <F> =~ /^(\d+)/ or die;
	    system "prlimit", "--pid", $$, "--as=" . $1 * 4096;
	    if (fork) { wait; exit $? >> 8 } exit 3'
	[ $? = 3 ] && cat "$report" && grep '"comm": "perl", "allocs": null.*RLIMIT_AS' "$report" &&
	    grep '"comm": "perl", "allocs": [0-9]' "$report"
}
rule "a forked child whose addresses are used up says so" cramped_child

# locks WHAT LIMIT: mlockall(2) and what comes after it are as without us.
locks() {
	for how in without with; do
		if [ $how = with ]; then
			run -- prlimit --memlock="$2" $drop "$target" "$1"
		else
			prlimit --memlock="$2" $drop "$target" "$1"
		fi >"$tmp/$how.all" || return 1
		cat "$tmp/$how.all"
		grep -v '^locked=' "$tmp/$how.all" >"$tmp/$how"
	done
	cmp "$tmp/without" "$tmp/with" &&
	    [ $(($(value locked "$tmp/with.all") - $(value locked "$tmp/without.all"))) -le 64 ] &&
	    ! grep '"allocs": null' "$report"
}
drop=
[ "$(id -u)" != 0 ] || drop='setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock'
if prlimit --memlock=6000000 $drop true 2>/dev/null; then
	for what in lock lock-now lock-future; do
		rule "mlockall(2) within a limit locks nothing of ours: $what" \
		    unless_busy locks $what 6000000
	done
	rule "mlockall(2) fails within a limit that is too small without the library too" unless_busy locks lock 3000000
else
	skip "the limit of locked memory cannot be set here: mlockall within it"
fi
# Not every machine lets so much be locked.
! prlimit --memlock=200000000 $drop true 2>/dev/null ||
    rule "mlockall(2) within a large limit locks nothing of ours" \
    unless_busy locks lock 200000000

# stack NAME SAID OPTION...: bytes of a signal stack, in kB beyond those without us.
stack() {
	name=$1 said=$2
	shift 2
	run "$@" -- "$target" stack >"$tmp/with" &&
	    "$target" stack >"$tmp/without" || return 1
	n=$(($(value "$name" "$tmp/with" | tail -n 1) - \
	    $(value "$name" "$tmp/without" | tail -n 1)))
	echo "$name: $n bytes, said $said kB"
	awk -v n="$n" -v said="$said" \
	    'BEGIN { exit !(said != "" && n <= said * 1000) }'
}
# needs COMMAND...: bytes of stack that `true` needs from its start, environment and
# all, as COMMAND runs it: the limit less the longest variable that it survives.
needs() {
	low=0 high=65536
	while [ $((high - low)) -gt 64 ]; do
		pad=$(((low + high) / 2))
		if PAD=$(printf "%${pad}s" '') "$@" setarch -R prlimit --stack=65536 \
		    true >/dev/null 2>&1; then
			low=$pad
		else
			high=$pad
		fi
	done
	echo $((65536 - low))
}
# With the addresses at random, sizes differ by up to 8 kB from run to run.  A
# library that does nothing tells the loader's part from ours.
starts() {
	echo 'int nothing;' | cc -shared -fPIC -x c -o "$tmp/nothing.so" - || return 1
	ulimit -c 0
	plain=$(needs env) other=$(needs env LD_PRELOAD="$tmp/nothing.so")
	for o in "--stack 0" "--stack 64 --free-stack"; do
		ours=$(needs "$pagek" run -b -o /dev/null $o --) &&
		    echo "$plain bytes, $other with another library, $ours with ours: $o" &&
		    [ $((ours - other)) -le 512 ] &&
		    awk -v n=$((ours - plain)) -v said="$(said RLIMIT_STACK 1)" \
			'BEGIN { exit !(said != "" && n <= said * 1000 && n >= said * 500) }' || return 1
	done
}
if setarch -R true 2>/dev/null; then
	rule "a start takes no more stack than the manual says, and hardly any of it is ours" starts
else
	skip "addresses cannot be made the same here (setarch -R): the stack of a start"
fi

# What the manual says of signal stacks: the two numbers.
spare() {
	sed -n 's/^the library: at most \([0-9.]*\) kB without stacks and \([0-9.]*\) kB.*/\1 \2/p' \
	    "$top/man/alloclog.3"
}
small=$(spare | cut -d' ' -f1)
large=$(spare | cut -d' ' -f2)
for name in first many child; do
	for o in "--stack 0" --dormant; do
		rule "a handler's calls take no more stack than the manual says: $name, $o" \
		    unless_busy stack $name "$small" $o
	done
	for o in "--stack 64 --free-stack" "--sample 512"; do
		rule "a handler's calls take no more stack than the manual says: $name, $o" \
		    unless_busy stack $name "$large" $o
	done
done
# Its variables lie on each thread's stack.
rule "a thread's stack has no less room than the manual says" \
    unless_busy stack begun "$(said RLIMIT_STACK 2)"
# Without us it is 3,500 with this kernel's frame; a page less the rest.
fits() {
	run --stack 0 -- "$target" stack >"$tmp/with" &&
	    n=$(value first "$tmp/with") && "$target" stack >"$tmp/without" &&
	    echo "$n bytes" && [ $((n - $(value first "$tmp/without"))) -le 700 ]
}
rule "without stacks, the first call of a thread takes 0.7 kB at most" unless_busy fits

# faults COMMAND...: prints the page faults of the best of five runs.
cat >"$tmp/faults.py" <<'PY'
import os, sys
def run():
    null = os.open("/dev/null", os.O_WRONLY)
    pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
    os.close(null)
    return os.wait4(pid, 0)[2].ru_minflt
print(min(run() for _ in range(5)))
PY
# A page fault costs about a microsecond.
faults() {
	limit=$1
	shift
	plain=$(python3 "$tmp/faults.py" "$@") &&
	    run -- python3 "$tmp/faults.py" "$@" >"$tmp/with" &&
	    echo "$plain, watched $(cat "$tmp/with")" &&
	    [ $(($(cat "$tmp/with") - plain)) -le "$limit" ]
}
if [ "$(getconf PAGESIZE)" -eq 4096 ]; then
	rule "a program that allocates nothing has few more page faults" \
	    faults 40 /bin/true
	rule "a program that allocates a little on few stacks has few more page faults" \
	    faults 140 expr 1 + 1
else
	skip "the page faults of a start: this machine's pages are not 4 KiB"
fi

say_result
