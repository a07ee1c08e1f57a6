#!/bin/sh
# record.sh with a thousand kills.
KILLS=250 exec sh "$(dirname "$0")/record.sh"
