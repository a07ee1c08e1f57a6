# Sourced behind lib.sh by tests of a node with many pages.
#
# start ARGUMENTS...		a node and a busy target of it.
# leaves			both end, the node with status 0.
# load RESULT ARGUMENTS...	load.py with those words; what it found is a file.
# holds RESULT EXPRESSION	of what it found, as Python has it.

node=$XDG_RUNTIME_DIR/pagek/node
daemon=
worker=
stop() {
	for p in $daemon $worker; do
		kill_node "$p"
	done
	rm -rf "$tmp"
} >/dev/null 2>&1
trap stop EXIT
trap 'exit 1' TERM INT

# Keeps 2,000 blocks and makes some 20,000 events a second beside them.
cat >"$tmp/busy.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile held[2000];
int main(void)
{
	for (int i = 0; i < 2000; i++)
		held[i] = malloc(100 + i);
	for (unsigned n = 0; ; n++) {
		for (int i = 0; i < 50; i++) {
			unsigned at = (n * 50 + i) % 2000;

			free(held[at]);
			held[at] = malloc(100 + at);
		}
		usleep(5000);
	}
}
C
cc -O1 -fno-builtin -o "$tmp/busy" "$tmp/busy.c" || exit 1

start() {
	# What a rule before left behind when it failed.
	for p in $daemon $worker; do
		kill_node "$p"
	done 2>/dev/null
	"$B/pageknode" "$@" 2>"$tmp/said" &
	daemon=$!
	until_true 10 test -S "$node" || { cat "$tmp/said"; return 1; }
	start_watched "$tmp/busy" || return 1
	worker=$watched
}

leaves() {
	kill "$worker" && wait "$worker" 2>/dev/null
	worker=
	kill "$daemon" && wait "$daemon"
	left=$?
	daemon=
	return $left
}

load() {
	result=$1
	shift
	(ulimit -n 1100; python3 "$top/tests/live/load.py" "$@") >"$tmp/$result"
}

holds() {
	python3 - "$tmp/$1" "$2" <<'PY'
import json, sys
found = json.load(open(sys.argv[1]))
if not eval(sys.argv[2], dict(found)):
    sys.exit(sys.argv[2] + ": " + json.dumps(found, default=str))
PY
}
