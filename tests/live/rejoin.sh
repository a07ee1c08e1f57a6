#!/bin/sh
# A node that dies without a supervisor, and another one later: its targets run
# on, harm nothing meanwhile, and come to the new one by themselves.
# long_rejoin.sh has more rounds.
set -u
. "$(dirname "$0")/lib.sh"

rejoin() {
	timeout 300 python3 "$top/tests/live/rejoin.py" "$B" "$@" 2>"$tmp/said" ||
	    { tail -n 5 "$tmp/said"; return 1; }
}
rule "eight threads go over to each new node; its list and counts are exact" \
    rejoin "rounds:${ROUNDS:-2}:8:0"
rule "so they do with stacks" \
    rejoin "rounds:${ROUNDS:-1}:8:0" --stack 16 --free-stack
rule "so they do when they seldom allocate" rejoin rounds:1:2:2000
rule "with debug data a new node knows each block of eight threads" \
    rejoin told:2:8:0
rule "and of threads that seldom allocate" rejoin told:2:2:2000
rule "so does one that arms late, again and again" \
    rejoin armed:4:2:2000 --dormant
rule "sqlite3 and a later node agree on each block" rejoin real:sqlite3
rule "so do python3 and a later node, with threads that have ended" \
    rejoin real:python3
rule "and a child that is forked later" rejoin forked
rule "and children that were forked before, and allocate seldom now" \
    rejoin "before:${ROUNDS:-2}"
rule "a node that was only stopped keeps its targets and what it knows" \
    rejoin stopped
rule "a dormant target comes back when it forks, an armed one armed" \
    rejoin dormant --dormant
rule "a target that has locked itself in is not killed for a node that dies" \
    rejoin locked
rule "nor is one that does so when no node is left" rejoin alone
rule "who gives up privileges has children that are watched, after a while" \
    rejoin children
rule "a real program runs on without a node, and comes back to the next" \
    rejoin program

say_result
