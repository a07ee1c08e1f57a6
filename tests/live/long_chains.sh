#!/bin/sh
# chains.sh and unwind.sh with all variants of the programs that know their own
# stacks.
set -u
here=$(dirname "$0")
B=$(cd "${B:-build}" && pwd) && export B || exit 1

make -s -C "$here/../.." B="$B" chains || exit 1
CHAINS=$(ls "$B/tests/chains")
export CHAINS
sh "$here/chains.sh"
status=$?
sh "$here/unwind.sh" && exit $status
