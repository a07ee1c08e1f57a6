#!/bin/sh
# A node that dies, with nobody left to take its place, and another one later:
# its targets run on, harm nothing meanwhile, and come to the new one by
# themselves.
set -u
. "$(dirname "$0")/lib.sh"

rounds() {
	timeout 300 python3 "$top/tests/live/again.py" "$B" "$@"
}
rule "eight threads go over to each new node; its list and counts are exact" \
    rounds "${AGAIN_ROUNDS:-4}" 8 0
rule "so they do with stacks" rounds 2 8 0 --stack 16 --free-stack
rule "so they do when they seldom allocate" rounds 1 2 2000

say_result
