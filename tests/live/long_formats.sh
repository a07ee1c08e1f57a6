#!/bin/sh
# formats.sh and capture_export.sh with go tool pprof, whose packages are large.
export READERS=1
sh "$(dirname "$0")/formats.sh" && exec sh "$(dirname "$0")/capture_export.sh"
