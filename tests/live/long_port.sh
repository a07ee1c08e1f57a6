#!/bin/sh
# Other machines, the rest: port.sh with pages and nodes, also on big-endian 32 bits
# under qemu; sessions and threads on both; and 32 bits under sanitizers.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_port.sh"

MACHINES='i386 powerpc' sh "$(dirname "$0")/port.sh"
status=$?
machines='i386 powerpc' whole=yes
on_each base blklist_corners blklist_diff call_origin cycles debugdata detail \
    dump feed_common feed_threads groups hostile inherit costs late_hello mdd_core mdd_small \
    merge node node_arming options page page_modes page_walk group_portions \
    picture profile profile_groups profile_trees refcnt refcnt_topology serve \
    session session_answers \
    session_arm session_words wrappers

portable="blklist blklist_hash blklist_pairs feed frames hostile queue record ring
    site_store wire wire_shape wire_stacks"
sanitized_build() {
	"$top/tests/port" make i386 -s B="$B/port/i386/asan" \
	    SANITIZE=address,undefined SUITES="$(echo $(rows $portable))" \
	    $(programs "$B/port/i386/asan" $portable)
}
sanitized() {
	ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1 \
	    CK_DEFAULT_TIMEOUT=120 "$(programs "$B/port/i386/asan" "$1")" "$1"
}

case $usable in
*i386*)
	rule "i386: linked tests build with gcc, address,undefined" sanitized_build
	for t in $portable; do
		rule "i386: $t holds on 32 bits with gcc, address,undefined" \
		    sanitized $t
	done
	;;
esac
say_result && exit $status
