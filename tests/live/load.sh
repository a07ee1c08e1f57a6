#!/bin/sh
# A node with more pages than it has places for, and with slow ones; the same
# with all its places taken is long_load.sh.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_load.sh"

full() {
	start --clients 6 && load full pages 4 2 2 "$(node_of "$daemon")" \
	    "$node" &&
	    holds full 'one_more[0] == 6 and "6 pages" in one_more[1]' &&
	    holds full 'gone == 0 and records > 0 and idle_served == 2' &&
	    leaves
}
rule "of a node with 6 places the 7th page is refused with a sentence" full

slow() {
	start && load slow slow 24 9 "$node" &&
	    holds slow 'still_there == 0 and closed_without_a_word == 0' &&
	    holds slow 'gone == 0 and records > 0' && leaves
}
rule "who sends byte by byte is told so, and a page beside them goes on" slow

say_result
