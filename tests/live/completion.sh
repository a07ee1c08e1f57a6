#!/bin/sh
# Completion in bash, zsh and fish: real shells complete what the tables have,
# each option of --help and no other.
. "$(dirname "$0")/lib.sh"
PATH=$B:$PATH
here=$top/tests/live

for s in bash zsh fish; do
	rule "the completion for $s is printed" \
	    sh -c "'$B/pagek' completion $s >'$tmp/$s'"
done
if ! command -v bash >/dev/null || ! command -v zsh >/dev/null ||
    ! command -v fish >/dev/null; then
	skip "completion in shells that are not all installed"
	say_result
	exit
fi

# What each shell completes lines to: a line of words for each.
in_bash() {
	timeout 60 python3 "$here/completion.py" "$tmp/bash" "$@"
}
in_zsh() {
	timeout 60 zsh -f "$here/completion.zsh" "$tmp/zsh" "$@"
}
in_fish() {
	for line; do
		fish --no-config -c '. $argv[1]; complete -C $argv[2]' \
		    "$tmp/fish" "$line" | cut -f1 | tr '\n' ' '
		echo
	done
}

commands=$("$B/pagek" help | sed -n '/^Commands/,/^$/s/^  \([a-z-]*\) .*/\1/p')
options() {
	set --
	for c in $commands; do
		set -- "$@" "pagek $c --"
		"$B/pagek" help $c | sed -n '/^Options/,$p' |
		    grep -o -e '^  \(-[a-zA-Z],\|   \) --[a-z][a-z-]*' |
		    sed "s/.*--/$c --/"
	done >"$tmp/want"
	sort -o "$tmp/want" "$tmp/want"
	in_$shell "$@" >"$tmp/lines" || return 1
	for c in $commands; do
		read -r words
		for w in $words; do
			echo "$c ${w%%=*}"
		done
	done <"$tmp/lines" | sort -u >"$tmp/got"
	[ -s "$tmp/want" ] && diff "$tmp/want" "$tmp/got"
}

# completes LINE WORDS: to these words, in any order.
completes() {
	in_$shell "$1" >"$tmp/lines" || return 1
	cat "$tmp/lines"
	# Some put what stands before the word in front of it.
	[ "$(tr ' ' '\n' <"$tmp/lines" | sed 's/^--[a-z]*=//; s/^.*://; /^$/d' |
	    sort | tr '\n' ' ')" = "$2 " ]
}

mkdir -p "$XDG_CONFIG_HOME/pagek"
echo '0590 gateway-2 unix:/nowhere' >"$XDG_CONFIG_HOME/pagek/nodes"
"$B/pagek" run -b -o /dev/null -- sleep 300 &
run=$!
until_true 20 sh -c "'$B/pagek' completion targets | grep -q '^pid:.*sleep'"
target=$("$B/pagek" completion targets | sed -n 's/^pid:\([0-9]*\).*sleep$/\1/p')

for shell in bash zsh fish; do
	rule "$shell: each option of --help is completed, and the reverse" options
	rule "$shell: commands are completed" completes "pagek li" "list listings"
	rule "$shell: the words of an option are completed" \
	    completes "pagek list --sort=a" "address age"
	rule "$shell: and behind a blank" \
	    completes "pagek list --sort ad" "address"
	rule "$shell: the command may be left out" \
	    completes "pagek demo:" "1 flood note"
	rule "$shell: live targets are completed" \
	    completes "pagek list pid:" "$target"
	rule "$shell: nodes of the table are, without asking them" \
	    completes "pagek tree gat" "gateway-2"
	rule "$shell: help has commands" completes "pagek help arm" "arm"
	rule "$shell: completion has shells" completes "pagek completion z" "zsh"
	: >"$tmp/some-file"
	file() {
		(cd "$tmp" && in_$shell "pagek list -o some-f") >"$tmp/lines" &&
		    grep -qx 'some-file *' "$tmp/lines"
	}
	rule "$shell: an argument that is a file is completed" file
	dump() {
		(cd "$tmp" && in_$shell "pagek diff some-file some-f") \
		    >"$tmp/lines" && grep -qx 'some-file *' "$tmp/lines"
	}
	rule "$shell: so is a dump, behind another one" dump
done
shell=bash
rule "bash: programs are completed behind run" \
    completes "pagek run -b prlimi" "prlimit"
rule "bash: what belongs to the program is not pagek's" \
    completes "pagek run cat --inter" "--inter"

kill $run
wait $run 2>/dev/null

installed() {
	make -s -C "$top" B="$B" DESTDIR="$tmp/root" PREFIX=/usr install &&
	    cmp "$tmp/bash" \
	    "$tmp/root/usr/share/bash-completion/completions/pagek" &&
	    cmp "$tmp/zsh" "$tmp/root/usr/share/zsh/site-functions/_pagek" &&
	    cmp "$tmp/fish" \
	    "$tmp/root/usr/share/fish/vendor_completions.d/pagek.fish" &&
	    make -s -C "$top" B="$B" DESTDIR="$tmp/root" PREFIX=/usr \
	    uninstall && [ -z "$(find "$tmp/root" -name '*pagek' -type f)" ]
}
rule "make install puts them where the shells look, and uninstall takes them" \
    installed

say_result
