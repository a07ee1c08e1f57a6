#!/bin/sh
# --units on the command line: the sizes of a list and the sums of a tree are the
# same numbers, however they are written.
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek

sizes() {
	"$pagek" list "$@" demo:1 | awk 'NR > 1 { print $2 }' | tr -d ,
}
in_hex() {
	sizes >"$tmp/exact" && sizes --units hex >"$tmp/hex" &&
	    [ "$(wc -l <"$tmp/exact")" -gt 1000 ] || return 1
	while read -r n; do
		printf '%X\n' "$n"
	done <"$tmp/exact" | cmp - "$tmp/hex"
}
rule "a list has its sizes in hex" in_hex
in_k() {
	sizes --units k >"$tmp/k" && grep -q '^[0-9]*\.[0-9]K$' "$tmp/k" &&
	    paste "$tmp/exact" "$tmp/k" | awk '
	$1 < 1024 && $1 != $2 || $1 >= 1024 && int($1 * 10 / 1024) / 10 "" != $2 + 0 "" {
		print
		bad = 1
	}
	END { exit bad }'
}
rule "and in K" in_k
same_exact() {
	sizes --units exact | cmp - "$tmp/exact"
}
rule "exact is as it is without" same_exact
mkdir -p "$XDG_CONFIG_HOME/pagek"
no_setting() {
	echo 'units = hex' >"$XDG_CONFIG_HOME/pagek/config"
	sizes | cmp - "$tmp/exact" && "$pagek" tree demo:1 | grep -q 'MiB' &&
	    [ "$("$pagek" --once demo:1 | sed -n 4p | cut -d ' ' -f 2-)" != \
	    "$("$pagek" --once --units exact demo:1 | sed -n 4p |
	    cut -d ' ' -f 2-)" ]
	status=$?
	rm "$XDG_CONFIG_HOME/pagek/config"
	return $status
}
rule "a setting is for pages alone" no_setting

sum=$(sizes | awk '{ n += $1 } END { print n }')
tree_says() {
	want=$1
	shift
	"$pagek" tree --least 0 "$@" demo:1 >"$tmp/out" || return 1
	cat "$tmp/out"
	sed -n 2p "$tmp/out" | grep -q "blocks with $want from"
}
rule "the sum of a tree is that of the list, in bytes" tree_says \
    "$(printf '%s' "$sum" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta') bytes" --units exact
rule "and in hex" tree_says "$(printf '0x%X' "$sum")" --units hex
rule "and in M" tree_says "$(awk "BEGIN { printf \"%.1fM\", int($sum * 10 / 1048576) / 10 }")" \
    --units k
columns() {
	for u in '' '--units exact' '--units k' '--units hex'; do
		"$pagek" tree $u "$@" demo:1 | sed '1,/^$/d' >"$tmp/out" &&
		    awk 'NR == 1 { at = index($0, "OLDEST") + 5 }
		    NR > 1 && $1 ~ /%$/ && substr($0, at + 1, 2) != "  " { bad = 1; print }
		    END { exit bad || !at }' "$tmp/out" || return 1
	done
}
rule "the columns of a tree stand under their headings" columns
rule "so do those of a table" columns --flat

say_result
