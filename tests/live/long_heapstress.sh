#!/bin/sh
# The module of contrib/heapstress on a newer kernel than that of heapstress.sh, and on
# one that refuses it; and the number of its instructions, with `cost` that alone.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_guest.sh"
. "$(dirname "$0")/lib_heapstress.sh"

if [ "${1:-}" != cost ] && has_kernel stock 6.12; then
	rule "the module builds with the headers of $version" build_module
	rule "kstress builds" build_kstress
	stock_guest 6.12 group missed kprobes lockdown
fi
# A machine with one processor, whose clock counts instructions.
if has_kernel stock 6.1; then
	rule "the module builds with the headers of $version" build_module
	rule "kstress builds" build_kstress
	heapstress_script module_cost >"$tmp/instructions.run"
	ICOUNT=1
	export ICOUNT
	guest instructions
fi
say_result
