#!/bin/sh
# threads.sh with ten runs each way: an order that is wrong once in some runs.
TIMES=10 exec sh "$(dirname "$0")/threads.sh"
