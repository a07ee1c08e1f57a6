#!/bin/sh
# A real program under --sample: estimates that agree with each other and with
# what the program holds, and look like estimates.  Needs tmux and python3.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"

stop() {
	[ -z "${run:-}" ] || { kill "$run" "$pid" 2>/dev/null; wait "$run"; }
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

# Holds 60,000 blocks of 1,000 bytes by one way and 20,000 of 200 by another;
# as many come and go again.
cat >"$tmp/holder.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
static void *volatile big[60000], *volatile small[20000];
__attribute__((noinline)) static void take_big(void)
{
	for (int i = 0; i < 60000; i++)
		big[i] = malloc(1000);
}
__attribute__((noinline)) static void take_small(void)
{
	for (int i = 0; i < 20000; i++)
		small[i] = malloc(200);
}
int main(void)
{
	char c;

	take_big();
	take_small();
	for (int i = 0; i < 80000; i++) {
		void *volatile p = malloc(700);
		free(p);
	}
	if (write(1, ".", 1) < 0)
		return 1;
	return read(0, &c, 1) < 0;
}
C
cc -O1 -g -fno-builtin -o "$tmp/holder" "$tmp/holder.c" || exit 1
mkfifo "$tmp/in"
"$B/pagek" run -b -o "$tmp/text" --sample 16k --report "$tmp/report" -- \
    "$tmp/holder" <"$tmp/in" >"$tmp/out" &
run=$!
exec 7>"$tmp/in"
until_true 20 test -s "$tmp/out" || exit 1
pid=$("$B/pagek" targets | sed -n 's/^pid:\([0-9]*\) *holder.*/\1/p')

json() {
	"$B/pagek" "$@" --format json "pid:$pid"
}

# 64,000,000 bytes in 80,000 blocks; 3,900 samples: 5 sigma are 8 percent.
agree() {
	json list >"$tmp/list" && json tree --least 0 >"$tmp/tree" &&
	    json tree --flat --least 0 >"$tmp/flat" &&
	    json targets >"$tmp/targets" &&
	    "$B/pagek" export --folded "pid:$pid" >"$tmp/folded" 2>"$tmp/why" &&
	    grep -q 'sampled 1/16k: the figures are estimates' "$tmp/why" &&
	    python3 - "$tmp" <<'P'
import json, sys
load = lambda name: json.load(open(sys.argv[1] + '/' + name))
l, t, f, ts = load('list'), load('tree'), load('flat'), load('targets')
for j in (l, t, f):
    assert j['estimated'] is True and j['sample_period'] == 16384, j
target = [x for x in ts['targets'] if x['name'] == 'holder'][0]
assert target['estimated'] is True and target['sample_period'] == 16384
blocks, bytes_ = l['counts']['est_blocks'], l['counts']['est_bytes']
assert len(l['blocks']) == l['counts']['aRecActive'] < 10000
assert {b['size'] for b in l['blocks']} >= {1000, 200}
# The whole is the same everywhere.
listed, listed_bytes = l['counts']['aRecActive'], l['counts']['live_bytes']
for j in (t, f):
    total = j['total']
    assert (total['est_blocks'], total['est_bytes']) == (blocks, bytes_), total
    assert (total['blocks'], total['bytes']) == (listed, listed_bytes), total
assert (target['est_blocks'], target['est_bytes']) == (blocks, bytes_), target
assert (l['keeper']['est_blocks'], l['keeper']['est_bytes']) == (blocks, bytes_)
assert bytes_ <= l['keeper']['est_peak_bytes'] < bytes_ * 1.1
assert l['keeper']['peak_bytes'] < bytes_ / 4
# And the sum of its parts, each of them rounded.
near = lambda a, b, off: abs(a - b) <= off
rows = l['blocks']
assert near(sum(b['weight'] for b in rows), blocks, 1 + len(rows) / 256)
assert near(sum(b['weight'] * b['size'] for b in rows), bytes_, 1 + len(rows))
outer = [n for n in t['nodes'] if n['depth'] == 0 and not n['skipped']]
assert near(sum(n['est_bytes'] for n in outer), bytes_, len(outer)), outer
assert near(sum(n['self']['est_bytes'] for n in t['nodes']), bytes_, len(t['nodes']))
assert near(sum(g['est_blocks'] for g in f['groups']), blocks, len(f['groups']))
# What is listed is counted, not estimated.
assert sum(b['size'] for b in rows) == listed_bytes
assert sum(n['blocks'] for n in outer) == listed, outer
assert sum(n['self']['bytes'] for n in t['nodes']) == listed_bytes
assert sum(g['bytes'] for g in f['groups']) == listed_bytes
folded = open(sys.argv[1] + '/folded').read().splitlines()
assert near(sum(int(x.rsplit(' ', 1)[1]) for x in folded), bytes_, len(folded))
# What the program holds.
by = {g['function']: g for g in f['groups']}
assert near(by['take_big']['est_bytes'], 60e6, 60e6 * .08), by['take_big']
assert near(by['take_small']['est_bytes'], 4e6, 4e6 * .4), by['take_small']
assert near(by['take_big']['est_blocks'], 60000, 60000 * .08), by['take_big']
assert sum(b['size'] == 700 for b in rows) == 0
P
}
rule "list, tree, groups, folded stacks and targets tell one estimate, and a right one" agree

marked() {
	"$B/pagek" tree --least 5 "pid:$pid" >"$tmp/said" &&
	    grep -q '^sampled 1/16k: figures with ~ are estimates' "$tmp/said" &&
	    grep -q '^~.* blocks with ~.* MiB' "$tmp/said" &&
	    [ "$(grep -c '^ *~[0-9.]*% *~[0-9.]* [KM]iB *~[0-9,]* ' "$tmp/said")" -ge 2 ] &&
	    "$B/pagek" targets | grep -q "^pid:$pid .* LIVE *~[0-9,]* *~[0-9.]* MiB" &&
	    "$B/pagek" list --limit 1 "pid:$pid" 2>&1 | grep -q 'each row stands for many'
}

# They cannot be scaled, and do not look like estimates.
counted() {
	"$B/pagek" tree --by peak --least 5 "pid:$pid" >"$tmp/said" &&
	    grep -q '^sampled 1/16k: these are the logged allocations alone' "$tmp/said" &&
	    grep -q '^ *[0-9.]*% *[0-9.]* [KM]iB *[0-9,]* ' "$tmp/said" &&
	    ! grep -q '~' "$tmp/said" &&
	    "$B/pagek" export --folded --by peak -o /dev/null "pid:$pid" 2>&1 |
	    grep -q 'sampled 1/16k: the figures are of the logged allocations alone'
}
rule "counts of the node are those of the sample, and said to be" counted

# Whose title and groups have ~, and whose data have both.
differs() {
	"$B/pagek" --once --page=H --interval 0.2 "pid:$pid" | tr '\n' ' ' |
	    grep -q '~[0-9.]* MiB/~[0-9,]* -> ~[0-9.]* MiB/~[0-9,]* blocks' &&
	    "$B/pagek" --once --page=H --interval 0.2 --format json "pid:$pid" |
	    python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["schema"] == "pagek.difference/2" and j["estimated"] is True, j
for g in j["groups"]:
    assert g["new_bytes"] <= g["est_new_bytes"], g
    assert g["net_bytes"] == g["new_bytes"] - g["freed_bytes"], g
'
}

watched() {
	"$B/pagek" watch --count 1 "pid:$pid" >"$tmp/said" &&
	    grep -q '^TIME .* SMP-ALLOCS *SMP-FREES *SMP-REC/S ' "$tmp/said"
}
rule "text marks its estimates with ~ and says what they are" marked
rule "a difference marks its sums with ~, and as data has the listed beside them" differs
rule "watch says which columns are of the sample" watched

go() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" "$B/pagek pid:$pid"
	t resize-window -t p -x "$1" -y "$2"
}

# The bytes within 5 sigma here too.
page() {
	go 80 24 && until_true 10 shows 'LIVE.*sampled 1/16k' &&
	    until_true 10 shows '~[0-9,]+ blocks  ~(5[6-9]|6[0-6])[0-9.]* MiB' &&
	    shows ' 1,000 80' || { shot; return 1; }
	keys b
	until_true 10 shows 'take_big .* ~[0-9,]+ .*~[0-9,]+.* ~9[0-9]%' ||
	    { shot; return 1; }
	keys Enter
	until_true 10 shows 'take_big.* ~[0-9,]+ of ~[0-9,]+ blocks, ~.* listed' ||
	    { shot; return 1; }
}
rule "the page at 80x24 marks totals and groups, and its rows are real" page

small() {
	go 40 10 && until_true 10 shows 'SAMPLED 1/16k' &&
	    until_true 10 shows '~ *[0-9]+K OFFS' && shows ' 03E8 ' ||
	    { shot; return 1; }
	keys q
}
rule "and at 40x10" small

ends() {
	exec 7>&- && wait "$run" &&
	    grep -q '"estimated": true, "sample_period": 16384, .*"dormant": false' "$tmp/report" &&
	    grep -q '"est_peak_bytes": [5-9][0-9]\{7\},' "$tmp/report" &&
	    grep -q '"est_blocks": [1-9]' "$tmp/report" &&
	    grep -q 'sampled 1/16k: .* allocs and .* frees seen, ~.* blocks with ~.* at the end, peak ~' "$tmp/text"
}
rule "the report and the totals of the run say so too" ends
run=

exact() {
	"$B/pagek" --once --format json demo:1 | python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["estimated"] is False and j["sample_period"] is None
assert j["counts"]["est_blocks"] == j["counts"]["aRecActive"] > 0
assert j["counts"]["est_bytes"] == j["counts"]["live_bytes"]
assert all(b["weight"] == 1 for b in j["blocks"])
'
}
rule "without a sample estimates are exact, and nothing is marked" exact

say_result
