#!/bin/sh
# formats.sh with go tool pprof, whose packages are large.
READERS=1 exec sh "$(dirname "$0")/formats.sh"
