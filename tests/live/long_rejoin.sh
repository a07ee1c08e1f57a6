#!/bin/sh
# rejoin.sh with twelve nodes, one after the other.
ROUNDS=12 exec sh "$(dirname "$0")/rejoin.sh"
