#!/bin/sh
# The module of contrib/heapstress on the kernel that Debian ships, in a guest
# without KVM: each of the six levels moves, what can be proved of the counts holds,
# and page S shows them.  Needs qemu.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_guest.sh"
. "$(dirname "$0")/lib_heapstress.sh"

if has_kernel stock 6.1; then
	rule "the module builds with the headers of $version" build_module
	rule "kstress builds" build_kstress
	stock_guest guest
fi
say_result
