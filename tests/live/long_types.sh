#!/bin/sh
# types.sh with Rust, whose compiler is large.
RUST=1 exec sh "$(dirname "$0")/types.sh"
