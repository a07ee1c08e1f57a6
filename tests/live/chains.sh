#!/bin/sh
# Chains: programs that know their own stacks, held, and the stack of every block
# that they keep as pagek shows it: functions, lines, inlined ones, and the end.
# long_chains.sh runs it with more variants.
. "$(dirname "$0")/lib.sh"

variants=${CHAINS:-gcc-O2 gcc-debuglink clang-O0}
compare=$top/tests/targets/chains/compare
n=0

# Files that are whole, one of each process; or the program has ended.
told_by() {
	ls "$tmp" | grep "^told$n\.[0-9]*\$" >"$tmp/files"
	[ "$(wc -l <"$tmp/files")" -ge "$1" ] || ! kill -0 "$run"
}

# known VARIANT PROGRAM DEPTH [PROCESSES]; $loader starts it, if that is set.
loader=
known() {
	variant=$1 program=$2 depth=$3 processes=${4:-1}
	n=$((n + 1))
	CHAINS_OUT=$tmp/told$n "$B/pagek" run -b -o /dev/null \
	    --stack "$depth" -- $loader "$B/tests/chains/$variant/$program" \
	    >"$tmp/run$n" 2>&1 &
	run=$!
	status=0
	until_true 30 told_by "$processes"
	told_by "$processes" && [ "$(wc -l <"$tmp/files")" = "$processes" ] || {
		echo "not all have told"
		status=1
	}
	while read -r file; do
		"$B/pagek" list --format json --timeout 20 -o "$tmp/list$n" \
		    "pid:${file##*.}" && "$compare" "$tmp/$file" "$tmp/list$n" \
		    --variant "$variant" --depth "$depth" || status=1
	done <"$tmp/files"
	while read -r file; do
		kill "${file##*.}"
	done <"$tmp/files"
	[ "$status" = 0 ] || cat "$tmp/run$n"
	# It ends by our signal, and pagek says so.
	wait "$run"
	# Try again: on a busy machine, the node may have been late.
	[ "$status" = 0 ] || ! grep -q 'within 50 ms' "$tmp/run$n" || return 2
	return "$status"
}

for variant in $variants; do
	for program in plain cxx signal garbage plugins; do
		rule "$program as $variant: every stack is the one that it knows" \
		    tries known "$variant" "$program" 16
	done
	rule "threads as $variant, with a child and its child: likewise" \
	    tries known "$variant" threads 16 3
done
for depth in 1 3 64; do
	for program in plain cxx signal garbage; do
		rule "$program, $depth frames deep: likewise" \
		    tries known gcc-O2 "$program" "$depth"
	done
done
loader=$(readelf -l "$B/tests/chains/gcc-O2/plain" |
    sed -n 's/.*interpreter: \(.*\)]/\1/p')
for variant in $variants; do
	case $variant in
	gcc-O2 | gcc-gaps | gcc-nopie)
		rule "plain as $variant, given to the loader: likewise" \
		    tries known "$variant" plain 16
		;;
	esac
done

say_result
