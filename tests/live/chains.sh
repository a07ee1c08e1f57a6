#!/bin/sh
# Chains: programs that know their own stacks, held, and what pagek says of
# every block that they keep: functions, lines, inlined ones, and the end.
. "$(dirname "$0")/lib.sh"

compare=$top/tests/targets/chains/compare
n=0

told_by() {
	set -- "$1" "$tmp/told$n".[0-9]*
	wanted=$1
	shift
	[ -e "$1" ] && [ $# -ge "$wanted" ]
}

# known VARIANT PROGRAM DEPTH [PROCESSES]
known() {
	variant=$1 program=$2 depth=$3 processes=${4:-1}
	n=$((n + 1))
	CHAINS_OUT=$tmp/told$n "$B/pagek" run -b -o /dev/null \
	    --stack "$depth" -- "$B/tests/chains/$variant/$program" \
	    >"$tmp/run$n" 2>&1 &
	run=$!
	status=1
	if until_true 30 told_by "$processes"; then
		status=0
	fi
	for told in "$tmp/told$n".*[0-9]; do
		pid=${told##*.}
		"$B/pagek" list --format json --timeout 60 -o "$tmp/list$n" \
		    "pid:$pid" && "$compare" "$told" "$tmp/list$n" \
		    --variant "$variant" --depth "$depth" || status=1
	done
	for told in "$tmp/told$n".*[0-9]; do
		kill "${told##*.}"
	done
	[ "$status" = 0 ] || cat "$tmp/run$n"
	# It ends by our signal, and pagek says so.
	wait "$run"
	return "$status"
}

for folder in "$B"/tests/chains/*/; do
	variant=$(basename "$folder")
	for program in plain cxx signal garbage plugins; do
		rule "$program as $variant: every stack is the one that it knows" \
		    known "$variant" "$program" 16
	done
	rule "threads as $variant, with a child and its child: likewise" \
	    known "$variant" threads 16 3
done
for depth in 1 3 64; do
	for program in plain cxx signal garbage; do
		rule "$program, $depth frames deep: likewise" \
		    known gcc-O2 "$program" "$depth"
	done
done

say_result
