# Sourced by the tests of other machines (tests/port).
#
# on_each SUITE...	gets, builds and runs these linked suites, a line for each;
#			$usable has the machines that could be had.
# $machines		the machines; port.sh takes i386, long_port.sh both.
# $whole		set: pagek and its node are built as well, by long_port.sh.

machines=${MACHINES:-i386}
whole=${MACHINES:+yes}
usable=
# The rooms without which suites of streams, lists and the wire link.
above='PAGEK= NODES= EXPORT= PROFILE= MDD= SYMBOL= USAGE= STRESS= FILTER= ALLOCP='

# Both have 32 bits, and emulators say yes to what only the kernel does; see
# tests/harness.h.
excluded() {
	case $1 in
	i386) echo lp64 ;;
	powerpc) echo lp64 kernel ;;
	esac
}

# A word for what the machine is.
kind() {
	case $1 in
	i386) echo "on 32 bits" ;;
	powerpc) echo "on big-endian 32 bits" ;;
	esac
}

# PROGRAM:SUITE for each of these suites.
rows() {
	for t in "$@"; do
		"$top/tests/suites" list | awk -v t="$t" '$3 == t { print $2 ":" t }'
	done
}

# programs BUILD SUITE...: the programs of these suites there.
programs() {
	build=$1
	shift
	for row in $(rows "$@"); do
		echo "$build/tests/check_${row%:*}"
	done
}

# Gets libraries and builds the suites named, and the whole if it is asked for.
prepare() {
	machine=$1
	shift
	build=$B/port/$machine/build
	[ -n "$whole" ] && what="$build/pagek $build/pageknode" || what=$above
	"$top/tests/port" libs "$machine" &&
	    "$top/tests/port" make "$machine" -s CFLAGS='-O1 -g1 -Werror' COLD=-O0 \
		SUITES="$(echo $(rows "$@"))" $what $(programs "$build" "$@")
}

# What Check's last line counts, as in tests/check; the time is a hang limit.
linked() {
	CK_EXCLUDE_TAGS=$(excluded "$1") CK_DEFAULT_TIMEOUT=120 \
	    CK_TIMEOUT_MULTIPLIER=4 "$top/tests/port" exec "$1" \
	    "$(programs "$B/port/$1/build" "$2")" "$2" >"$tmp/$1.$2" 2>&1
	echo $? >"$tmp/$1.$2.status"
}

each() {
	machine=$1
	prepare "$@" >"$tmp/$machine.log" 2>&1
	echo $? >"$tmp/$machine.status"
	shift
	[ "$(cat "$tmp/$machine.status")" = 0 ] || return
	for t in "$@"; do
		linked "$machine" "$t"
	done
}

built() {
	cat "$tmp/$1.log"
	[ "$(cat "$tmp/$1.status")" = 0 ]
}

holds() {
	cat "$tmp/$1.$2"
	[ "$(cat "$tmp/$1.$2.status")" = 0 ] &&
	    grep -q '^100%: Checks: [1-9]' "$tmp/$1.$2"
}

# The machines side by side.
on_each() {
	for machine in $machines; do
		each $machine "$@" &
	done
	wait
	for machine in $machines; do
		if [ "$(cat "$tmp/$machine.status")" = 77 ]; then
			skip "$(tail -n 1 "$tmp/$machine.log")"
			continue
		fi
		rule "$machine: ${whole:+pagek and its }tests build without a warning" \
		    built $machine
		[ "$(cat "$tmp/$machine.status")" = 0 ] || continue
		usable="$usable $machine"
		for t in "$@"; do
			n=$(sed -n 's/^100%: Checks: \([0-9]*\).*/\1/p' \
			    "$tmp/$machine.$t")
			rule "$machine: $t holds $(kind $machine): ${n:-?} rules" \
			    holds $machine "$t"
		done
	done
}
