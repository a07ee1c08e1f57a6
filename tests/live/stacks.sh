#!/bin/sh
# Stacks in reports: pagek tree, pagek export and pagek list of targets that
# are held, of one that has ended, and of the demo.
. "$(dirname "$0")/lib.sh"

pagek=$B/pagek
check=$top/tests/live/stacks.py

# report WHAT ARGUMENTS...: into $tmp/report, sound in itself; says its sums.
report() {
	what=$1
	shift
	"$pagek" "$@" >"$tmp/report" 2>"$tmp/err" || return 1
	cat "$tmp/err"
	[ ! -s "$tmp/err" ] && "$check" "$what" "$tmp/report" >"$tmp/sums" &&
	    cat "$tmp/sums"
}

sums() {
	want=$1
	shift
	report "$@" && [ "$(cat "$tmp/sums")" = "$want" ]
}

says() {
	for words; do
		grep -q -e "$words" "$tmp/report" || {
			echo "no line has '$words'"
			cat "$tmp/report"
			return 1
		}
	done
}

says_not() {
	! grep -e "$1" "$tmp/report"
}

# --- the demo
rule "the demo's tree adds up" report tree tree --format json --least 0 demo:1
rule "from the origin too, cut at a depth, and by age" report tree \
    tree --format json --reverse --depth 2 --by age demo:1
for by in function line module site; do
	rule "groups by $by are of all blocks" report groups \
	    tree --flat --by $by --least 0 --format json demo:1
done
demo_sums() {
	report tree tree --format json --least 0 demo:1 &&
	    all=$(cat "$tmp/sums") && bytes=${all#* } &&
	    sums "$bytes" folded export --folded demo:1 &&
	    sums "${all% *}" folded export --folded --by blocks demo:1 &&
	    report folded export --folded --by age demo:1
}
rule "folded stacks sum to the same" demo_sums
demo_list() {
	report list list --format json demo:1
}
rule "each block of the demo has a stack" demo_list
demo_text() {
	"$pagek" tree --ascii demo:1 >"$tmp/report" 2>&1 &&
	    says "^CALL TREE .* LIVE " "complete$" "^ SHARE " \
	    "(skipped)" "smaller" && ! LC_ALL=C grep -q '[^ -~]' "$tmp/report"
}
rule "the tree as text is plain ASCII when told so" demo_text
reader_goes() {
	for words in "tree --least 0" "export --folded" "list --format json"; do
		# shellcheck disable=SC2086
		{ "$pagek" $words demo:1 2>"$tmp/err"; echo $? >"$tmp/status"; } |
		    head -n 1 >"$tmp/out"
		[ "$(cat "$tmp/status")" = 0 ] && [ ! -s "$tmp/err" ] &&
		    [ -s "$tmp/out" ] || return 1
	done
}
rule "a reader that has enough is no error" reader_goes
to_file() {
	"$pagek" export --folded -o "$tmp/folded" demo:1 >"$tmp/out" 2>&1 &&
	    [ ! -s "$tmp/out" ] && "$check" folded "$tmp/folded" &&
	    ! "$pagek" tree -o "$tmp/none/x" demo:1 2>"$tmp/err" &&
	    grep -q "cannot write" "$tmp/err"
}
rule "-o writes a file, and says when it cannot" to_file
without_callers() {
	"$pagek" tree demo:note >"$tmp/report" 2>&1 &&
	    says "no stack is known: 6 blocks" "(caller not known)"
}
rule "blocks without a caller are said to be so" without_callers

# --- a program whose call tree is known

# held OPTIONS...: starts it; $pid is that of $name, $run is pagek's.
name=held
held() {
	: >"$tmp/told"
	"$pagek" run -b -o /dev/null "$@" >"$tmp/told" 2>"$tmp/run.err" &
	run=$!
	until_true 30 grep -q '^held=' "$tmp/told" || return 1
	pid=$("$pagek" targets --format json | python3 -c '
import json, sys
print(*[t["pid"] for t in json.load(sys.stdin)["targets"]
    if t["name"] == sys.argv[1] and t["state"] == "LIVE"])' "$name")
	[ -n "$pid" ]
}

let_go() {
	kill "$pid"
	wait "$run"
}

known_tree() {
	report tree tree --format json --least 0 --focus main "pid:$pid" &&
	    [ "$(cat "$tmp/sums")" = "7 14100" ] || return 1
	python3 - "$tmp/report" <<'PYTHON'
import json, sys
nodes = json.load(open(sys.argv[1]))["nodes"]

def find(path):
    at = next(i for i, n in enumerate(nodes) if n["function"] == "main")
    for name in path:
        at = next(i for i, n in enumerate(nodes)
                  if n["parent"] == at and n["function"] == name)
    return nodes[at]

walk = ["walk"] * 4
for path, blocks, own in (
        ([], 7, 0), (["left"], 3, 3), (["right"], 2, 0),
        (["right", "my_take"], 2, 2), (walk, 2, 1), (walk + ["left"], 1, 1)):
    node = find(path)
    assert node["blocks"] == blocks, (path, node)
    assert node["self"]["blocks"] == own, (path, node)
    assert node["file"].endswith("held.c"), (path, node)
PYTHON
}

flat_frames() {
	"$pagek" tree --flat --by frame --by blocks --least 0 "pid:$pid" \
	    >"$tmp/report" 2>&1 &&
	    says "  walk  held.c" "  left  held.c" "  main  held.c$" || return 1
	# A function counts once in a stack that it is in four times.
	[ "$(awk '$7 == "walk" { print $4 }' "$tmp/report")" = 2 ] &&
	    [ "$(awk '$7 == "left" { print $4 }' "$tmp/report")" = 4 ]
}

skipped() {
	"$pagek" export --folded --skip 'my_*' "pid:$pid" >"$tmp/report" &&
	    says ";main;right 10000$" && says_not "my_take" &&
	    "$pagek" tree --skip 'my_*' "pid:$pid" >"$tmp/report" &&
	    says "my_take  held.c:[0-9]*  (skipped)$" &&
	    "$pagek" list --skip 'my_*' "pid:$pid" >"$tmp/report" &&
	    says " 5,000 80 .*  right" && says_not "my_take" &&
	    "$pagek" list --no-skip "pid:$pid" >"$tmp/report" &&
	    says " 5,000 80 .*  my_take"
}

named_list() {
	report list list --format json "pid:$pid" &&
	    python3 - "$tmp/report" <<'PYTHON'
import json, sys
want = {1000: "left", 5000: "my_take", 100: "walk"}
seen = 0
for b in json.load(open(sys.argv[1]))["blocks"]:
    names = [line["function"] for line in b["stack"]]
    if "main" not in names or b["size"] not in want:
        continue
    seen += 1
    assert b["function"] == want[b["size"]], b
    assert names[0] == b["function"] and b["stack"][0]["line"] > 0, b
assert seen == 7, seen
PYTHON
}

folded_of_target() {
	report folded export --folded --by blocks "pid:$pid" &&
	    says ";main;left 3$" ";main;right;my_take 2$" \
	    ";main;walk;walk;walk;walk 1$" ";main;walk;walk;walk;walk;left 1$"
}

if held -- "$B/tests/targets/held"; then
	rule "the tree of a live target is the one that it knows" known_tree
	rule "a function that recurs counts once" flat_frames
	rule "folded stacks of a live target are those that it knows" \
	    folded_of_target
	rule "each block of a live target says who asked" named_list
	rule "wrappers are skipped, and shown as skipped" skipped
	let_go
else
	rule "the target is held" false
fi

depths() {
	held --stack "$1" -- "$B/tests/targets/held" || return 1
	"$pagek" tree --least 0 "pid:$pid" >"$tmp/text" 2>&1 &&
	    report list list --format json "pid:$pid"
	status=$?
	let_go
	[ "$status" = 0 ] || return 1
	grep -q "$2: " "$tmp/text" || return 1
	python3 - "$tmp/report" "$1" <<'PYTHON'
import json, sys
most = max(int(sys.argv[2]), 1)
deepest = max(sum(not line["inlined"] for line in b["stack"])
    for b in json.load(open(sys.argv[1]))["blocks"])
assert deepest == most, deepest
PYTHON
}
rule "--stack=3 gives three frames, and what was cut is said" \
    depths 3 "no more frames were requested"
rule "--stack=0 gives the caller alone, and that is said" \
    depths 0 "the caller alone is known"

# By whichever function of the family, and with a stack or without.
asked() {
	name=callers
	held --stack "$1" -- "$B/tests/targets/callers" &&
	    "$pagek" list --format csv "pid:$pid" >"$tmp/report" 2>&1
	status=$?
	let_go
	name=held
	[ "$status" = 0 ] && python3 - "$tmp/report" <<'PYTHON'
import csv, sys
with open(sys.argv[1], newline="") as f:
    got = {int(row["size"]): row["function"].split("(")[0]
           for row in csv.DictReader(f)}
for size, name in ((100, "by_malloc"), (200, "by_calloc"),
                   (300, "by_realloc"), (400, "by_array"),
                   (500, "by_aligned"), (600, "by_new"),
                   (700, "by_new_array")):
    assert got.get(size) == name, (size, got)
PYTHON
}
for depth in 0 16; do
	rule "who asked is known of every function, with --stack=$depth" \
	    asked $depth
done

# The node of a shell outlives the programs that it has started.
ended() {
	held -- sh -c '"$0" & wait; echo over; exec sleep 60' \
	    "$B/tests/targets/held" || return 1
	kill "$pid"
	until_true 30 grep -q '^over' "$tmp/told" &&
	    "$pagek" tree --least 0 "pid:$pid" >"$tmp/report" 2>&1 &&
	    says "held\[$pid\]  ENDED" "walk  held.c" "right  held.c"
	status=$?
	pid=$("$pagek" targets --format json | python3 -c '
import json, sys
print(*[t["pid"] for t in json.load(sys.stdin)["targets"]
    if t["name"] == "sleep" and t["state"] != "ENDED"])')
	let_go
	return "$status"
}
rule "a target that has ended keeps its stacks and names" ended

# --- a plugin that brings C++ into a program without

plugin() {
	name=host
	held "$B/tests/plugins/host" hold "$B/tests/plugins/keeps.so" || return 1
	"$pagek" tree --flat --by function --least 0 "pid:$pid" \
	    >"$tmp/report" 2>&1 && says " 3 .*  keep_them() *keeps.cc" &&
	    says_not "operator new"
	status=$?
	let_go
	name=held
	return "$status"
}
rule "what a plugin asks of operator new goes by who called that" plugin

# --- names that do not come

# A server of debug files that takes the question and never answers.
silent() {
	python3 -c '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(64)
print(s.getsockname()[1], flush=True)
kept = []
while True:
    kept.append(s.accept())' >"$tmp/port" &
	server=$!
	until_true 30 test -s "$tmp/port"
}

# 2: on a busy machine nothing was fetched yet after a second.
no_names() {
	silent || return 1
	DEBUGINFOD_URLS=http://127.0.0.1:$(cat "$tmp/port")
	export DEBUGINFOD_URLS
	held -- "$tmp/held" &&
	    "$pagek" tree --timeout 1 "pid:$pid" >"$tmp/report" 2>"$tmp/err"
	status=$?
	"$pagek" list --timeout 1 "pid:$pid" >"$tmp/out" 2>"$tmp/err2" ||
	    status=1
	let_go
	unset DEBUGINFOD_URLS
	kill "$server"
	wait "$server"
	cat "$tmp/err" "$tmp/err2"
	grep -q fetching "$tmp/err" || return 2
	[ "$status" = 0 ] && says "^names or lines are missing: 5 stacks" &&
	    grep -q "^pagek: .* of 5 of 5 stacks .* after 1 s, fetching " \
	    "$tmp/err" && grep -q "^pagek: .* of 5 of 5 stacks" "$tmp/err2"
}
if ldconfig -p 2>/dev/null | grep -q 'libdebuginfod\.so\.1' &&
    strip -g -o "$tmp/held" "$B/tests/targets/held"; then
	rule "what did not come in time is said, and what is there is shown" \
	    tries no_names
else
	skip "no libdebuginfod or no strip: no debug file is waited for"
fi

# --- a real program
redis() {
	# redis-tools has the server under another name, and no service.
	ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
	"$pagek" run -b -o /dev/null -- "$tmp/redis-server" --port 0 --save '' \
	    --unixsocket "$tmp/redis" >"$tmp/redis.log" 2>&1 &
	run=$!
	until_true 30 redis-cli -s "$tmp/redis" ping || return 1
	i=0
	while [ $i -lt 200 ]; do
		echo "RPUSH list$((i % 20)) $(printf '%0300d' $i)"
		i=$((i + 1))
	done | redis-cli -s "$tmp/redis" >"$tmp/out"
	pid=$("$pagek" targets --format json | python3 -c '
import json, sys
print(*[t["pid"] for t in json.load(sys.stdin)["targets"]
    if t["name"] == "redis-server" and t["state"] == "LIVE"])')
	report tree tree --timeout 60 --format json --least 0 "pid:$pid" &&
	    report tree tree --timeout 60 --format json --reverse "pid:$pid" &&
	    report list list --timeout 60 --format json "pid:$pid" &&
	    report folded export --timeout 60 --folded "pid:$pid"
	status=$?
	kill "$pid"
	wait "$run"
	return "$status"
}
if command -v redis-check-rdb >/dev/null && command -v redis-cli >/dev/null; then
	rule "the reports of redis-server add up, and lack no name" redis
else
	skip "redis-tools is not installed: redis' stacks are not reported"
fi

say_result
