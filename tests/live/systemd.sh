#!/bin/sh
# The user's units under a real systemd: begun by its sockets, and what the node
# has outlives it in systemd's descriptor store.  That systemd has namespaces
# and a cgroup of its own, and so it takes root, and a cgroup2 to make one in.
set -u
. "$(dirname "$0")/lib.sh"
systemd=/lib/systemd/systemd

# --- a place for it ----------------------------------------------------------

# A new one below that which this is in.
name_group() {
	at=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	group=$at$(sed -n 's/^0:://p' /proc/self/cgroup)/pagek-test.$$
	[ -n "$at" ]
}
# With the first process of its namespace all others end.
in_group() {
	sh -c 'echo $$ >"$0/cgroup.procs" && exec unshare --pid --mount-proc \
	    --mount --cgroup --fork --kill-child "$@"' "$group" "$@"
}
leave_group() {
	until_true 10 sh -c '! grep -q . "$0/cgroup.procs"' "$group"
	find "$group" -depth -type d -exec rmdir {} \;
	rm -rf "$tmp"
} 2>/dev/null
skip_all() {
	skip "units under a real systemd: $1"
	exit 0
}
if [ -z "${PAGEK_TEST_GROUP:-}" ]; then
	[ -x $systemd ] && command -v systemctl >/dev/null ||
	    skip_all "there is none"
	[ "$(id -u)" = 0 ] || skip_all "it takes root"
	name_group && mkdir "$group" 2>/dev/null ||
	    skip_all "no cgroup can be made"
	trap leave_group EXIT
	trap 'exit 1' TERM INT
	in_group sh -c 'mount -t cgroup2 cgroup2 /sys/fs/cgroup' 2>/dev/null ||
	    skip_all "no namespaces can be made"
	PAGEK_TEST_GROUP=$group
	export PAGEK_TEST_GROUP B
	in_group sh "$0"
	exit
fi

# --- in it -------------------------------------------------------------------

trap 'rm -rf "$tmp"; kill -KILL $manager' EXIT
manager=
pagek=$B/pagek
at=unix:$XDG_RUNTIME_DIR/pagek/node
SYSTEMD_UNIT_PATH=$tmp/units
export SYSTEMD_UNIT_PATH

# Nothing of the machine's own systemd is to be met.
set_up() {
	awk '$2 ~ "^/sys/fs/cgroup" { print $2 }' /proc/self/mounts | sort -r |
	    while read -r m; do umount "$m"; done
	mount -t cgroup2 cgroup2 /sys/fs/cgroup &&
	    mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system &&
	    mkdir "$SYSTEMD_UNIT_PATH" || return 1
	for unit in "$top"/dist/user/*; do
		sed "s,@LIBEXECDIR@,$B," "$unit" >"$tmp/units/${unit##*/}"
	done
	for target in pk sockets basic shutdown exit; do
		printf '[Unit]\nDefaultDependencies=no\n' \
		    >"$tmp/units/$target.target"
	done
	unset DBUS_SESSION_BUS_ADDRESS NOTIFY_SOCKET
	$systemd --user --unit=pk.target --log-target=null </dev/null &
	manager=$!
	until_true 10 test -S "$XDG_RUNTIME_DIR/systemd/private"
}
control() {
	systemctl --user "$@" 2>&1
}
of_node() {
	control show pageknode.service -p "$1" --value
}
is_active() {
	[ "$(of_node ActiveState)" = active ]
}
# On a busy machine a program may not be answered in time, and runs unwatched.
target() {
	for try in 1 2 3; do
		env LD_PRELOAD="$B/liballoclog.so" sleep 300 &
		program=$!
		until_true 5 is_live && return
		kill "$program"
	done
	return 1
}
is_live() {
	"$pagek" targets "$at" | grep -q "^pid:$program .*LIVE"
}
# Rows without their ages.
rows() {
	"$pagek" list "pid:$program" | awk '/^ *[0-9a-f]+ / { print $1, $2 }'
}
describe() {
	control show pageknode.service \
	    -p MainPID,ActiveState,NRestarts,NFileDescriptorStore
}
set_up || { echo "systemd cannot be set up"; exit 1; }

by_page() {
	control start pageknode.socket || return 1
	! is_active && "$pagek" targets "$at" && is_active
}
rule "a page's connection starts the node, which says that it is ready" by_page

# The node itself, and the page for children that cannot register; of a target the ring, the keeper area, the memory and the
# stacks; and the same for each of the three that are ready for who comes next.
has_stored() {
	[ "$(of_node NFileDescriptorStore)" = 18 ]
}
stored() {
	target || return 1
	rows >"$tmp/before"
	until_true 10 has_stored || { describe; return 1; }
	describe
	[ -s "$tmp/before" ]
}
rule "what a target's list lies in is in systemd's store" stored

died() {
	was=$(of_node MainPID)
	kill -KILL "$was"
	until_true 10 another || { describe; return 1; }
	until_true 10 is_live && rows >"$tmp/after" &&
	    diff "$tmp/before" "$tmp/after"
	result=$?
	describe
	return $result
}
another() {
	now=$(of_node MainPID)
	[ "$now" != 0 ] && [ "$now" != "$was" ] && is_active
}
rule "the next one has the same rows" died
rule "and so has the one after it" died

# systemd takes one file once, whatever its name.
family() {
	"$pagek" list --format csv --fields=address,size,function "pid:$program" |
	    grep -E 'before_fork|after_fork'
}
orphan() {
	kill "$program"
	env LD_PRELOAD="$B/liballoclog.so" "$B/tests/targets/orphan" \
	    >"$tmp/pids" &
	until_true 10 test -s "$tmp/pids"
	read -r parent program <"$tmp/pids"
	until_true 5 is_live && kill "$parent" && until_true 10 has_ended &&
	    family >"$tmp/before" || return 1
	for i in 1 2; do
		was=$(of_node MainPID)
		kill -KILL "$was"
		until_true 10 another && until_true 10 is_live &&
		    family >"$tmp/after" && diff "$tmp/before" "$tmp/after" ||
		    { describe; return 1; }
	done
	[ "$(grep -c . "$tmp/before")" = 80 ] || return 1
	# These deaths are not to count among those to come.
	control reset-failed pageknode.service pageknode.socket
}
has_ended() {
	"$pagek" targets "$at" | grep -q "^pid:$parent .*ENDED"
}
rule "a child whose parent is over has its rows and their names" orphan

hangup() {
	was=$(of_node MainPID)
	kill -HUP "$was" && is_live && [ "$(of_node MainPID)" = "$was" ]
}
rule "a hangup changes nothing" hangup

stopped() {
	control stop pageknode.service
	describe
	[ "$(of_node Result)" = success ] &&
	    [ "$(of_node NFileDescriptorStore)" = 0 ] &&
	    kill -0 "$program"
}
rule "stopped it leaves nothing in the store" stopped

by_target() {
	kill "$program"
	! is_active && target && is_active
}
rule "a program's hello starts it" by_target

# As often as its units say, and then neither it nor its sockets.
storm() {
	for i in 1 2 3 4 5 6 7; do
		was=$(of_node MainPID)
		[ "$was" = 0 ] && break
		kill -KILL "$was"
		until_true 2 another
	done
	describe
	[ "$(of_node ActiveState)" = failed ] &&
	    [ "$(of_node NFileDescriptorStore)" = 0 ] && kill -0 "$program"
}
rule "one that dies again and again is given up, and its program runs on" storm

say_result
