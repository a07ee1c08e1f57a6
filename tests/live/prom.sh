#!/bin/sh
# list --format=prom: valid by the rules of the format, and the same numbers as
# those that JSON has.  Needs python3 and Prometheus' client for it.
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
PYTHONPATH=$top/tests/live
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE

metrics() {
	"$pagek" list --format prom "$@" >"$tmp/prom" 2>"$tmp/err" || return 1
	cat "$tmp/err" "$tmp/prom"
	[ ! -s "$tmp/err" ] && python3 "$top/tests/live/prom.py" "$tmp/prom"
}
rule "a busy target's numbers are in the format" metrics demo:1
rule "so are the note's" metrics --at 39s demo:note
rule "so are those of nothing at all" metrics --filter 'size>1g' demo:1
same_numbers() {
	metrics "$@" --at 39s demo:note &&
	    "$pagek" list --format json "$@" --at 39s demo:note >"$tmp/json" &&
	    python3 - "$tmp/prom" "$tmp/json" <<'PY'
import collections, json, prom, sys
m = prom.read(open(sys.argv[1]).read())
d = json.load(open(sys.argv[2]))
blocks, size = collections.Counter(), collections.Counter()
for b in d["blocks"]:
    blocks["%02X" % int(b["type"], 16)] += 1
    size["%02X" % int(b["type"], 16)] += b["size"]
def by_type(name):
    return {dict(l)["type"]: v for l, v in m[name][1].items()}
def one(name):
    (labels, value), = m[name][1].items()
    assert dict(labels)["node"] == "0590"
    return value
assert sum(blocks.values()) > 0
for name in "est", "live":
    assert by_type("pagek_type_%s_blocks" % name) == blocks, blocks
    assert by_type("pagek_type_%s_bytes" % name) == size, size
k = d["keeper"]
assert one("pagek_est_blocks") == one("pagek_live_blocks") == k["est_blocks"] > 0
assert one("pagek_est_bytes") == one("pagek_live_bytes") == k["est_bytes"]
assert one("pagek_est_peak_bytes") == one("pagek_peak_bytes") == k["est_peak_bytes"]
assert one("pagek_lost_total") == one("pagek_lost_records_total") == d["lost"]
assert one("pagek_full_total") == one("pagek_unlisted_blocks_total") == k["full"]
assert one("pagek_unknown_free_total") == one("pagek_unknown_frees_total")
assert one("pagek_allocs_total") == k["allocs"]
assert one("pagek_frees_total") == k["frees"]
assert one("pagek_complete") == 1
assert "pagek_sample_period_bytes" not in m
PY
}
rule "they are the numbers of JSON" same_numbers
rule "with a filter the sums are of its blocks" same_numbers --filter 'size>50'

# A name in which everything stands that has to be written otherwise.
odd_name() {
	name='a"b\c
d'
	cp "$(command -v sleep)" "$tmp/$name" || return 1
	"$pagek" run -b -o "$tmp/page" -- "$tmp/$name" 60 >/dev/null 2>&1 &
	run=$!
	until_true 20 is_there
	there=$?
	cat "$tmp/prom"
	kill $run
	wait $run
	[ $there = 0 ]
}
is_there() {
	metrics local && python3 - "$tmp/prom" <<'PY'
import prom, sys
(labels, one), = prom.read(open(sys.argv[1]).read())["pagek_target_info"][1].items()
labels = dict(labels)
assert labels["target"] == 'a"b\\c\\x0Ad' and int(labels["pid"]) > 0, labels
assert one == 1 and labels["state"] == "LIVE", labels
PY
}
rule "quotes and backslashes of a name are those of the format" odd_name
sampled() {
	"$pagek" run -b -o "$tmp/page" --sample 4096 -- sleep 60 >/dev/null 2>&1 &
	run=$!
	until_true 20 has_period
	there=$?
	kill $run
	wait $run
	[ $there = 0 ]
}
has_period() {
	metrics local && grep -q '^pagek_sample_period_bytes{.*} 4096$' "$tmp/prom" &&
	    grep -q '^# HELP pagek_est_blocks .* Estimated from a sample\.$' "$tmp/prom" &&
	    grep -q '^# HELP pagek_live_blocks .* Old name of pagek_est_blocks' "$tmp/prom" &&
	    grep -q '^# HELP pagek_allocs_total .* Of the sample only' "$tmp/prom"
}
rule "of a sample the period is told, and which numbers are estimates" sampled

refused() {
	"$pagek" "$@" --format prom >"$tmp/out" 2>"$tmp/err"
	[ $? = 2 ] && [ ! -s "$tmp/out" ] && grep -q -- '--format=prom' "$tmp/err"
}
rule "what has no sums is not written so" refused tree demo:1
rule "nor is a watch, whose numbers come again and again" refused watch demo:1
rule "nor are rows counted off or put in an order" refused list --limit 3 demo:1
no_target() {
	"$pagek" list --format prom pid:999999999 >"$tmp/out" 2>"$tmp/err"
	[ $? = 3 ] && [ ! -s "$tmp/out" ]
}
rule "what is not there has no numbers" no_target

# Debian's python3 has what Debian packages, another one before it may not.
theirs() {
	metrics demo:1 && /usr/bin/python3 - "$tmp/prom" <<'PY'
import prom, sys
from prometheus_client.parser import text_string_to_metric_families
text = open(sys.argv[1]).read()
ours = prom.read(text)
families = list(text_string_to_metric_families(text))
assert len(families) == len(ours)
samples = [s for f in families for s in f.samples]
assert len(samples) == sum(len(v[1]) for v in ours.values()) > 0
for f in families:
    for s in f.samples:
        assert f.type == ours[s.name][0] and f.documentation, s
        assert ours[s.name][1][tuple(sorted(s.labels.items()))] == s.value, s
PY
}
if /usr/bin/python3 -c "import prometheus_client" 2>/dev/null; then
	rule "Prometheus' own client reads the same in it" theirs
else
	skip "prometheus_client is not here"
fi

say_result
