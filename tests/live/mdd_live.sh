#!/bin/sh
# pagek stats, dump, history and diff of live targets: what they print is what
# `pagek list` has, and what the program did.
set -u
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

cat >steps.cc <<'CC'
#include <cstdlib>
#include <cstdio>
#include <new>
#include <pthread.h>
#include <unistd.h>
static void *volatile kept[64];
__attribute__((noinline)) static void take_first()
{
	for (int i = 0; i < 20; i++)
		kept[i] = malloc(1000 + i);
	kept[20] = calloc(3, 7);
	kept[21] = new(std::nothrow) char[77];
}
static void *work(void *)
{
	kept[30] = malloc(4321);
	return NULL;
}
int main()
{
	pthread_t t;
	take_first();
	for (int i = 0; i < 5; i++)
		free(kept[i]);
	pthread_create(&t, NULL, work, NULL);
	pthread_setname_np(pthread_self(), "stepper");
	pthread_join(t, NULL);
	fclose(fopen("ready", "w"));
	pause();
}
CC
cat >churn.c <<'C'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[64];
int main(void)
{
	for (unsigned i = 0;; i++) {
		free(kept[i % 64]);
		kept[i % 64] = malloc(i % 1000 + 1);
		usleep(1000);
	}
}
C
g++ -g -O1 -fno-builtin -o steps "$tmp/steps.cc" -pthread &&
    cc -O1 -fno-builtin -o churn churn.c || exit 1
pagek=$B/pagek
"$pagek" run --free-stack -b -o /dev/null -- ./steps &
run=$!
"$pagek" run -b -o /dev/null -- ./churn &
run2=$!
stop() {
	kill $run $run2
	wait $run $run2
	rm -rf "$tmp"
} >/dev/null 2>&1
trap stop EXIT
until_true 60 test -e ready || exit 1
named() {
	pgrep -x "$1" >"$tmp/pid" && target=pid:$(head -n 1 "$tmp/pid") &&
	    "$pagek" list "$target" >/dev/null 2>&1
}
until_true 60 named churn || exit 1
churn=$target
until_true 60 named stepper || exit 1
steps=$target

rows() {
	"$pagek" dump --format=json "$steps" >dump.json &&
	    "$pagek" list --format=json --sort=address "$steps" >list.json &&
	    python3 - <<'PY'
import json
dump = json.load(open("dump.json"))["allocations"]
blocks = json.load(open("list.json"))["blocks"]
assert len(dump) == len(blocks) and dump, (len(dump), len(blocks))
for d, b in zip(dump, blocks):
    for key, other in (("address", "address"), ("size", "size"),
                       ("seqno", "seq"), ("thread_name", "thread"),
                       ("actual", "used"), ("caller", "caller")):
        assert d[key] == b[other], (key, d, b)
    assert abs(d["time_ms"] // 10 - d["ticks"]) <= 1, d
ours = [d for d in dump if d["function"] == "take_first()"]
assert len(ours) == 17, ours
assert {d["allocator"] for d in ours} == {"malloc()", "calloc()",
                                           "new(nothrow)[]"}, ours
assert all(d["file"].endswith("/steps.cc") and d["line"] for d in ours)
PY
}
rule "dump has the blocks of list, with allocators and callers" rows
worker() {
	"$pagek" dump -Fsize_min=4321 -Fsize_max=4321 \
	    -f '%a %n %f1 %w1 %l1' "$steps" >out
	cat out
	[ "$(cat out)" = "malloc() 4321 work(void*) $tmp/steps.cc:$(grep -n 4321 \
	    steps.cc | cut -d: -f1) 	kept[30] = malloc(4321);" ]
}
rule "a block of another thread, with its source line" worker
sums() {
	"$pagek" stats "$steps" >out
	cat out
	n=$("$pagek" dump -f %n "$steps" | wc -l)
	grep -q "used in $n allocations" out &&
	    grep -q ' : handle unknown, stepper$' out &&
	    awk '/^History/ { d = $3 - $6 } /^Current/ { n = $8 }
	    END { exit !(d == n && n > 0) }' out
}
rule "stats has its sums and threads" sums
history() {
	"$pagek" history --format=json "$steps" >history.json 2>err &&
	    python3 - <<'PY' && [ ! -s err ]
import json
doc = json.load(open("history.json"))
assert doc["complete"] and doc["history_complete"], doc
ours = [e for e in doc["events"]
        if e["function"] in ("take_first()", "main", "free")
        and e["file"] and e["file"].endswith("/steps.cc")]
born = [(e["allocator"], e["size"], e["freed"]) for e in ours
        if e["event"] == "alloc"]
assert born[:20] == [("malloc()", 1000 + i, i < 5) for i in range(20)], born
assert born[20:22] == [("calloc()", 21, False),
                       ("new(nothrow)[]", 77, False)], born
address = {e["size"]: e["address"] for e in ours if e["event"] == "alloc"}
frees = [e for e in ours if e["event"] == "free"]
assert [(f["address"], f["size"]) for f in frees] == \
    [(address[1000 + i], 1000 + i) for i in range(5)], frees
assert {(f["allocator"], f["function"], f["thread_name"]) for f in frees} == \
    {("free()", "main", "stepper")}, frees
numbers = [e["seqno"] for e in doc["events"]]
assert numbers == sorted(set(numbers))
PY
}
rule "history has each allocation and free, with who freed" history
chosen() {
	"$pagek" history -Fsize_min=1000 -Fsize_max=1001 -f '%a %n %F.' "$steps" \
	    >out 2>err || { cat err; return 1; }
	cat out
	printf '%s\n' 'malloc() 1000 (freed) .' 'malloc() 1001 (freed) .' \
	    'free() 1000 .' 'free() 1001 .' | cmp - out || return 1
	"$pagek" history -r -Fsize_min=1000 -Fsize_max=1001 -f '%a %n %F.' \
	    "$steps" | tac | cmp - out || return 1
	"$pagek" history --filter 'type==free && size>=1000 && size<1005' \
	    --format=csv "$steps" >out
	cat out
	[ "$(wc -l <out)" = 6 ]
}
rule "history has its filters, formats and order" chosen
lacks() {
	"$pagek" history -Sp "$steps" 2>err
	[ $? = 2 ] && grep -q -- '-S' err || { cat err; return 1; }
	"$pagek" history -f %h "$steps" 2>err
	[ $? = 2 ] && grep -q 'handles.*PAGEK_DEBUGDATA' err ||
	    { cat err; return 1; }
	"$pagek" history -f '%a %f2' "$steps" 2>err >out
	cat err
	[ ! -s err ] || return 1
	"$pagek" history -f '%a %f1' "$churn" 2>err >out
	grep -q 'of frees.*--free-stack' err || { cat err; return 1; }
}
rule "history says what a node does not collect, and what would" lacks
# Its own debug data are the second witness.
witnessed() {
	rm -f in mddout.*
	mkfifo in
	exec 4<>in
	PYTHONMALLOC=malloc PAGEK_DEBUGDATA=on,history=900000 \
	    PAGEK_DUMP_AT=USR2 "$pagek" run --free-stack -b -o /dev/null -- \
	    python3 -c 'import json, os, sys
x = [json.loads(json.dumps({"a": list(range(i % 50)), "b": "x" * i})) for i in range(200)]
del x[::3]
open("pid.new", "w").write(str(os.getpid()))
os.rename("pid.new", "python")
sys.stdin.readline()' <in 4>&- &
	run3=$!
	until_true 60 test -e python || return 1
	pid=$(cat python)
	until_true 60 is_asleep "$pid"
	"$pagek" history --format=json "pid:$pid" >live.json 2>err
	kill -USR2 "$pid"
	until_true 60 "$pagek" stats mddout.*.0
	"$pagek" history --format=json mddout.*.0 >own.json
	exec 4>&-
	wait "$run3"
	cat err
	[ ! -s err ] || return 1
	python3 - <<'PY'
import json
live, own = (json.load(open(f)) for f in ("live.json", "own.json"))
assert live["history_complete"] and own["history_complete"]
live, own = live["events"], own["events"]
assert len(live) == len(own) > 50000, (len(live), len(own))
for a, b in zip(live, own):
    for key in ("event", "address", "size", "allocator", "freed", "caller"):
        assert a[key] == b[key], (key, a, b)
PY
}
is_asleep() {
	[ "$(cut -d ' ' -f 3 "/proc/$1/stat")" = S ]
}
rule "history of python3 is what its own debug data have" witnessed
# Two moments of one program: as its node lists them, and as it dumps them.
moments() {
	rm -f in first second
	mkfifo in
	exec 4<>in
	PYTHONMALLOC=malloc PAGEK_DEBUGDATA=on "$pagek" run -b -o /dev/null -- \
	    python3 -c 'import os, sys
def say(name):
    open("new", "w").write(str(os.getpid()))
    os.rename("new", name)
    sys.stdin.readline()
x = [bytes(100 + i) for i in range(5000)]
say("first")
del x[::3]
x += [bytes(5000 + i) for i in range(700)]
say("second")' <in 4>&- &
	run3=$!
	for moment in first second; do
		until_true 60 test -e $moment || return 1
		pid=$(cat $moment)
		until_true 60 is_asleep "$pid"
		"$pagek" list --format=json "pid:$pid" >$moment.list &&
		    "$pagek" mdd-dump -o $moment.0 "pid:$pid" || return 1
		echo >&4
	done
	exec 4>&-
	wait "$run3"
	"$pagek" diff --format=json first.0 second.0 >diff.json
	python3 - <<'PY'
import json
first, second = ({b["seq"]: (b["address"], b["size"]) for b in
                  json.load(open(n + ".list"))["blocks"]}
                 for n in ("first", "second"))
rows = json.load(open("diff.json"))["allocations"]
got = {c: sorted((r["address"], r["size"]) for r in rows if r["change"] == c)
       for c in ("new", "freed")}
want = {"new": sorted(second[s] for s in second.keys() - first.keys()),
        "freed": sorted(first[s] for s in first.keys() - second.keys())}
assert got == want, [(c, len(got[c]), len(want[c])) for c in got]
assert len(got["new"]) >= 700 and len(got["freed"]) > 1600, got
PY
}
rule "diff of two dumps is the difference of two lists of the same moments" \
    moments
# More events than a node keeps: allocations of earlier ones are not known.
overrun() {
	cat >runner.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	#include <unistd.h>
	static void *volatile kept[1000];
	int main(void)
	{
		for (unsigned i = 0; i < 150000; i++) {
			free(kept[i % 1000]);
			kept[i % 1000] = malloc(i % 500 + 100);
		}
		fclose(fopen("ran", "w"));
		pause();
	}
	C
	cc -O1 -fno-builtin -o runner runner.c || return 1
	"$pagek" run -b -o /dev/null -- ./runner &
	run3=$!
	until_true 60 test -e ran && until_true 60 named runner || return 1
	"$pagek" history "$target" 2>err | head -n 3 >out
	"$pagek" history --format=json "$target" >overrun.json 2>>err
	"$pagek" list --format=json "$target" >list.json
	kill "$run3"
	wait "$run3"
	cat out
	[ "$(head -n 1 out)" = "Caution: history is incomplete." ] || return 1
	python3 - <<'PY'
import json
events = json.load(open("overrun.json"))["events"]
held = {e["seqno"] for e in events if e["event"] == "alloc" and not e["freed"]}
assert held == {b["seq"] for b in json.load(open("list.json"))["blocks"]}
frees = [e for e in events if e["event"] == "free"]
assert 100000 < len(frees) < 150000, len(frees)
born = {(e["address"], e["size"]) for e in events if e.get("freed")}
assert all((f["address"], f["size"]) in born or f["size"] == 0 for f in frees)
PY
}
rule "more events than a node keeps: a caution, and those that it has" overrun
quiet() {
	"$pagek" diff --interval 0.1 "$steps" "$steps" >out || return 1
	cat out
	grep -q '^0 new allocations' out && grep -q '^0 allocations' out
}
rule "diff of a target that does nothing is empty" quiet
moving() {
	"$pagek" diff --interval 1 -f %n "$churn" "$churn" >out || return 1
	head -n 6 out
	awk '/^File/ { n[++files] = $(NF - 1) } /^[0-9]+ new/ { added = $1 }
	    /^[0-9]+ allocations/ { freed = $1 }
	    END { exit !(added > 0 && freed > 0 &&
	    n[1] + added - freed == n[2]) }' out
}
rule "diff of one that does is what it did" moving
mistakes() {
	"$pagek" diff "$steps" 2>err
	[ $? = 2 ] && grep -q 'two moments' err || return 1
	"$pagek" diff "$steps" "$churn" 2>err
	[ $? = 2 ] && grep -q 'one word too many' err || return 1
	"$pagek" dump mddout.7 2>err
	[ $? != 0 ] && grep -q 'no such file, and no target' err
}
rule "one moment, two targets and no file are refused" mistakes

say_result
