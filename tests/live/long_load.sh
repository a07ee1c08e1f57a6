#!/bin/sh
# A node whose 256 places are taken, 1,000 slow sockets, and pages that take no
# replies.  The figures are printed; what they must be is a rule, unless the pages
# themselves were kept from running in time.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_load.sh"

figures() {
	echo "# $1: $(cat "$tmp/$1")"
}

places() {
	start --clients 256 && load places pages 64 192 30 \
	    "$(node_of "$daemon")" "$node" &&
	    holds places 'one_more[0] == 6 and "256 pages" in one_more[1]' &&
	    holds places 'gone == 0 and idle_served == 192' &&
	    holds places 'missed_in_a_row <= 1 or driver_late_ms > 30' &&
	    holds places 'cpu_percent < 25 and rss_kb < 131072' && leaves
}
rule "64 pages at 15 Hz and 192 idle ones are served, the 257th refused" places
figures places

slow() {
	start && load slow slow 1000 60 "$node" &&
	    holds slow 'still_there == 0 and closed_without_a_word == 0' &&
	    holds slow 'gone == 0' &&
	    holds slow 'missed_in_a_row <= 1 or driver_late_ms > 30' && leaves
}
rule "1,000 slow sockets are each told, and a page beside them goes on" slow
figures slow

unread() {
	start && load unread unread 8 60 "$node" &&
	    holds unread 'closed == of and min(after_s) >= 25' && leaves
}
rule "pages that take no replies lose their places" unread
figures unread

say_result
