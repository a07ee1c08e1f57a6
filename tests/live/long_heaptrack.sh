#!/bin/sh
# heaptrack.sh with four programs: sqlite3, python3, cc1 and redis-server.
ALL=1 exec sh "$(dirname "$0")/heaptrack.sh"
