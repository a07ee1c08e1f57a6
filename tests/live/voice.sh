#!/bin/sh
# What is said on the error output beside what goes wrong: less with --quiet,
# more with --verbose, and the text and the status are the same.
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek

# says STATUS REGEX ARGUMENTS...: there is such a line on stderr; '' there is none
# at all.
says() {
	want=$1
	words=$2
	shift 2
	"$pagek" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	cat "$tmp/err"
	[ "$got" = "$want" ] || { echo "status $got"; return 1; }
	case $words in
	'') [ ! -s "$tmp/err" ] ;;
	*) grep -q -- "$words" "$tmp/err" ;;
	esac
}

# --- less
hint() {
	says 0 "nothing is being watched" targets && says 0 '' targets --quiet &&
	    says 0 "no node has a number" nodes && says 0 '' -q nodes
}
rule "--quiet leaves out hints" hint
# demo:note's six blocks are over at once.
# A device with no record in it.
printf '' >"$tmp/empty"
end_is_told() {
	says 0 '' watch --quiet raw:"$tmp/empty"
	quiet=$?
	says 0 "^pagek: empty has ended" watch raw:"$tmp/empty" &&
	    [ $quiet = 0 ]
}
rule "and how a target has ended" end_is_told
sampled() {
	"$pagek" run -b -o "$tmp/page" --sample 64 -- sleep 60 >/dev/null 2>&1 &
	run=$!
	until_true 20 is_sampled
	said=$?
	says 0 '' list --quiet
	quiet=$?
	kill $run
	wait $run
	[ $said = 0 ] && [ $quiet = 0 ]
}
is_sampled() {
	says 0 "^pagek: sampled" list
}
rule "and that rows are of a sample" sampled
rule "what went wrong is said with --quiet" \
    says 3 "there is no process" list -q pid:999999999
rule "and which option is wrong" says 2 "takes no option" list -q --report x
settings() {
	echo 'slort = age' >"$tmp/settings"
	says 0 "there is no setting 'slort'" list -q --config "$tmp/settings" \
	    demo:note
}
rule "and which setting" settings

# --- more
same_text() {
	"$pagek" list demo:note >"$tmp/without" &&
	    says 0 "^pagek: version: [0-9]" list -v demo:note &&
	    cmp "$tmp/without" "$tmp/out"
}
rule "--verbose tells the version, and the text is what it is without" same_text
rule "the files that were looked for are told" \
    says 0 "^pagek: settings: $XDG_CONFIG_HOME/pagek/config: No such file" \
    list -v demo:note
own_node() {
	says 0 "^pagek: node: of its own, $B/pageknode\$" list -v demo:1 &&
	    says 0 "^pagek: target: demo-1, LIVE, of node 0001 " watch -v \
	    --count 3 --interval 0.1 demo:1 &&
	    [ "$(grep -c target: "$tmp/err")" = 1 ]
}
rule "so is a node of its own, and its target, once" own_node
library() {
	"$pagek" run -b -o "$tmp/page" -- sleep 60 >/dev/null 2>&1 &
	run=$!
	until_true 20 says 0 "^pagek: target: sleep.*LIVE" list -v
	found=$?
	says 0 "^pagek: library: $B/liballoclog.so\$" list -v &&
	    grep -q "^pagek: node: $XDG_RUNTIME_DIR/pagek/run" "$tmp/err"
	told=$?
	kill $run
	wait $run
	[ $found = 0 ] && [ $told = 0 ]
}
rule "of a process here the node's place and the library are told" library

say_result
