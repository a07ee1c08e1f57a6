#!/bin/sh
# stale.sh with a cache of 100,000 keys, of which 1,000 are read.
KEYS=100000 READ=1000 exec sh "$(dirname "$0")/stale.sh"
