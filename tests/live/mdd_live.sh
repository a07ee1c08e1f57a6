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
"$pagek" run -b -o /dev/null -- ./steps &
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
	"$pagek" history "$steps" >out 2>err
	cat err
	[ "$(head -n 1 out)" = "Caution: history is incomplete." ] &&
	    grep -q 'no history was collected; option HISTORY' err
}
rule "history has what is listed, and says what was not collected" history
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
