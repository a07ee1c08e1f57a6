#!/bin/sh
# The tree of a command's processes: on the page with T, and by pagek targets
# --tree, with the sums of each tree.  Needs tmux, make and python3.
# Screens are compared with tests/golden/tree-*.ok.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"

here=$tmp/here
mkdir "$here"
for name in small large orphan; do
	cp "$B/tests/targets/hold" "$here/$name" || exit 1
done
cc -static -O1 -fno-builtin -o "$here/fixed" "$top/tests/targets/hold.c" || exit 1

# --- by pagek targets ----------------------------------------------------------

# watch SCRIPT: runs it under a node, in the background.
watch() {
	rm -f "$here"/end.*
	printf '%s\n' "$1" >"$here/script"
	(cd "$here" && exec "$B/pagek" run -b -o /dev/null -- sh ./script) \
	    >"$tmp/run.out" 2>&1 &
	run=$!
}

over() {
	for file in small large orphan fixed; do
		touch "$here/end.$file"
	done
	wait $run
}

listed() {
	"$B/pagek" targets --tree --format json >"$tmp/json" &&
	    python3 - "$tmp/json" "$@" <<'PY'
import json, sys
t = json.load(open(sys.argv[1]))["targets"]
live = [x for x in t if x["state"] == "LIVE"]
of = {x["pid"]: x for x in t if x["state"] != "EXECED"}

def named(name):
    return next(x for x in t if x["name"] == name and x["state"] != "EXECED")

def up(x, n):
    for _ in range(n):
        x = of[x["started_by"]]
    return x

def below(x, y):
    while y["started_by"] in of:
        y = of[y["started_by"]]
        if y["pid"] == x["pid"]:
            return True
    return False

def check_sums():
    for x in t:
        if x["tree"] is None:
            continue
        tree = [y for y in live if y is x or below(x, y)]
        assert x["tree"]["bytes"] == sum(y["est_bytes"] for y in tree), x
        assert x["tree"]["blocks"] == sum(y["est_blocks"] for y in tree), x
        assert x["tree"]["processes"] == len(tree), x

def check_order():
    seen = set()
    for x in t:
        assert x["started_by"] not in of or x["started_by"] in seen, x
        seen.add(x["pid"])

eval(compile(sys.argv[2], "rule", "exec"))
PY
}

# Again, if the node was too busy to answer each process.
calm() {
	"$@" && return
	"$B/pagek" targets | grep -q 'did not answer it within' || return 1
	over
	return 2
}

lists() {
	until_true 10 listed "$1" || {
		listed "$1"
		"$B/pagek" targets --tree
		cat "$tmp/run.out"
		return 1
	}
}

pipeline() {
	watch './small 9 end.small 0 | ./large 30 end.large 0
	(./orphan 5 end.orphan 0; true)' &&
	    lists '
check_sums(); check_order()
top = of[named("small")["started_by"]]
assert top["pid"] == named("large")["started_by"] and top["name"] == "sh"
assert top["tree"]["processes"] == 3 and top["tree"]["complete"]
assert top["tree"]["sum_of_peaks"] >= top["tree"]["bytes"]'
}
rule "both ends of a pipeline are below its shell, which has their sum" \
    tries calm pipeline

as_text() {
	"$B/pagek" targets --tree >"$tmp/text" && cat "$tmp/text" &&
	    grep -qE '^TARGET +NAME +STATE .* TREE-BLOCKS +TREE-BYTES$' "$tmp/text" &&
	    grep -qE '^pid:[0-9]+ +sh +LIVE .* (Ki)?B +[0-9]+ +[0-9.]+ KiB +$' "$tmp/text" &&
	    grep -qE '^.{15}sh +LIVE' "$tmp/text" &&
	    grep -qE '^.{15}  small +LIVE' "$tmp/text" &&
	    grep -qE '^ +all: [0-9.]+ KiB in [0-9]+ blocks of 3 processes; sum of their peaks: ' \
	    "$tmp/text"
}
rule "as text, names are indented, and the last line has the sum" as_text
over

orphans() {
	watch '(./orphan 5 end.orphan 0 &)
	./small 9 end.small 0' &&
	    lists '
check_sums(); check_order()
assert named("orphan")["state"] == "LIVE"
# The subshell between them has ended: the kernel names another parent.
middle = of[named("orphan")["started_by"]]
assert middle["state"] == "ENDED" and middle["name"] == "sh"
assert middle["started_by"] == named("small")["started_by"]
assert up(named("orphan"), 2)["tree"]["processes"] == 3'
}
rule "a process whose parent has ended is below the process that started it" \
    tries calm orphans
over

# The child of a child, forked without exec, registers when its parent is gone.
forked() {
	cat >"$here/forked.py" <<'PY'
import os, time
if os.fork() == 0:
    middle = os.getpid()
    if os.fork() == 0:
        while os.getppid() == middle:
            pass
        keep = [bytes(1000) for i in range(100)]
        while not os.path.exists("end.small"):
            time.sleep(0.05)
    os._exit(0)
os.wait()
while not os.path.exists("end.small"):
    time.sleep(0.05)
PY
	watch 'exec python3 forked.py' && lists '
check_sums(); check_order()
assert len(live) == 2
child = next(x for x in live if below(live[0], x) or below(live[1], x))
top = next(x for x in live if x is not child)
assert top["tree"]["processes"] == 2, top'
}
rule "so is a grandchild that was forked without a program of its own" \
    tries calm forked
over

unknown() {
	watch './fixed 9 end.fixed 0 & ./small 9 end.small 0; wait' &&
	    lists '
check_sums(); check_order()
top = of[named("small")["started_by"]]
assert named("fixed")["state"] == "NO DATA"
assert top["tree"]["without_data"] == 1 and not top["tree"]["complete"]' &&
	    "$B/pagek" targets --tree >"$tmp/text" && cat "$tmp/text" &&
	    grep -q 'KiB?  *tree: 1 without data$' "$tmp/text" &&
	    grep -q 'of 2 processes, 1 without data; sum' "$tmp/text"
}
rule "the sum says that a static child has no data" \
    tries calm unknown
over

pool() {
	cat >"$here/pool.py" <<'PY'
import multiprocessing, os, time

def work(i):
    keep = [bytes(1000) for j in range(1000)]
    while not os.path.exists("end.small"):
        time.sleep(0.05)
    return len(keep)

if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    with multiprocessing.Pool(3) as p:
        p.map(work, range(3), 1)
PY
	watch 'exec python3 pool.py' && lists '
check_sums(); check_order()
assert len(live) == 4
top = next(x for x in live if x["tree"])
assert all(x["started_by"] == top["pid"] for x in live if x is not top)
assert top["tree"]["bytes"] > 3 * 1000 * 1000'
}
rule "workers of python3's multiprocessing are below their parent" \
    tries calm pool
over

makes() {
	for i in 1 2 3 4; do
		c_functions 50 | sed "s/^\(int\|void\|long\|static\) /&/" >"$here/m$i.c"
	done
	cat >"$here/Makefile" <<'MK'
all: m1.o m2.o m3.o m4.o
	./small 9 end.small 0
%.o: %.c
	cc -c -o $@ $<
MK
	rm -f "$here"/m?.o
	watch 'exec make -s -j2' && lists '
check_sums(); check_order()
assert named("small")["state"] == "LIVE"
make = next(x for x in live if x["name"] == "make")
assert below(make, named("small"))
ended = [x for x in t if x["state"] == "ENDED"]
assert len(ended) >= 4 and all(below(make, x) for x in ended)
assert make["tree"]["ended"] >= 8'
}
rule "compilers that make -j2 has run are below make, and hold nothing" \
    tries calm makes
over

# --- on the page ---------------------------------------------------------------

begin() {
	rm -f "$here"/end.*
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" -c "$here" \
	    "$B/pagek run -- sh ./script; echo status \$?; exec cat"
}

# screen_is NAME: the panel, but for numbers that change from run to run.
screen_is() {
	golden=$top/tests/golden/tree-$1.ok
	# In a flat list, those that have ended are in the order of their hellos.
	case $1 in
	flat*) drop='EXECED|ENDED' ;;
	*) drop='^nothing$' ;;
	esac
	shot | grep -vE "$drop" | sed -E '1d; $d; s/\[[0-9]+\]/[PID]/g; s/^ +[0-9]+ /PID /
	    s/; sum of their peaks.*//; s/[0-9][0-9.,]*( [KM]iB| B)?/N/g; s/ +/ /g; s/ $//' >"$tmp/screen"
	[ "${PAGEK_GOLDEN-}" != write ] || cp "$tmp/screen" "$golden"
	diff -u "$golden" "$tmp/screen"
}

# shown WIDTH HEIGHT
shown() {
	cat >"$here/script" <<'SH'
./fixed 9 end.fixed 0 &
./small 9 end.small 0 | ./large 30 end.large 0 &
(./orphan 5 end.orphan 0 &)
wait
SH
	begin "$1" "$2"
	wait_for 'LIVE' && until_true 10 listed '
assert named("orphan")["state"] == "LIVE" and named("fixed")["state"] == "NO DATA"
assert len(live) == 4' || return 1
	keys T
	wait_for 'TREE' && wait_for 'orphan' && keys g &&
	    wait_for '^sh\[[0-9]+\]: tree: 1 without data' && screen_is "$1" &&
	    keys t && wait_for '^ +[0-9]+ large ' && screen_is "flat-$1" &&
	    keys t && wait_for '^ +[0-9]+ sh ' && screen_is "$1" || return 1
	# Enter goes to the one under the cursor.
	keys G Enter
	wait_for 'orphan\[[0-9]+\]  LIVE' && hides 'TREE'
}

ends() {
	shown "$@"
	it=$?
	for file in small large orphan fixed; do
		touch "$here/end.$file"
	done
	[ $it = 0 ] && wait_for 'ENDED' && keys q && wait_for '^status 0$'
}
rule "T shows the tree with its sums, and t a flat list, at 80x24" ends 80 24
rule "and at 124x35" ends 124 35
say_result
