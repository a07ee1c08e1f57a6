#!/bin/sh
# Connections that are cut, nodes and pages that are killed at random points of
# 10^9 events: what was made is what was delivered, cancelled and lost.
set -u
. "$(dirname "$0")/lib.sh"

# In ten runs; of nodes and of pages that are killed once each.
of_cuts=${OF_CUTS:-80000000}
of_kills=${OF_KILLS:-100000000}
of_points=${OF_POINTS:-10000}

sums() {
	CHECK_EVENTS=$1 CK_DEFAULT_TIMEOUT=7200 CK_TIMEOUT_MULTIPLIER=60 \
	    "$B/tests/check_$2" "$3"
}
rule "10 x $of_cuts events, connections cut at any byte" sums "$of_cuts" session \
    link_cuts
rule "2 x $of_kills events, nodes and pages killed at any point" \
    sums "$of_kills" session node_restart
rule "6 x $of_points points at which a list's process is killed" \
    sums "$of_points" blklist_persistent blklist_persistent

say_result
