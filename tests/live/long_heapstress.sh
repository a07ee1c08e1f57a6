#!/bin/sh
# The module of contrib/heapstress on a newer kernel than heapstress.sh has, and on
# one that refuses it.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_heapstress.sh"

if has_kernel stock 6.12; then
	rule "the module builds with the headers of $version" build_module
	rule "kstress builds" build_kstress
	stock_guest 6.12 group kprobes lockdown
fi
say_result
