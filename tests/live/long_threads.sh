#!/bin/sh
# threads.sh with 10^7 events, ten times each way: an order that is wrong once in
# some runs.
EVENTS=10000000 TIMES=10 exec sh "$(dirname "$0")/threads.sh"
