#!/bin/sh
# Types of objects: a C++ program with blocks of twenty types, requested in twenty
# ways, compiled by gcc and clang, with debug information and without; and one of
# Rust.  Needs python3, g++ and clang++.  RUST is set by
# long_types.sh, which needs rustc.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
report=$tmp/report
# A hang limit: a busy machine may need longer for names than a command waits.
patient='--timeout 120'
run=
finish() {
	[ -z "$run" ] || { kill -9 "$pid"; wait "$run"; }
	rm -rf "$tmp"
} >/dev/null 2>&1
trap finish EXIT
trap 'exit 1' TERM INT

# look PROGRAM: its blocks, when it sleeps, are in $tmp/list and $tmp/groups.
look() {
	: >"$tmp/told"
	"$pagek" run -b --usage -o /dev/null --report "$report" -- "$@" \
	    >"$tmp/told" 2>"$tmp/err" 3>&- &
	run=$!
	until_true 60 grep -q "^ready" "$tmp/told" || return 1
	pid=$(sed -n 's/^ready //p' "$tmp/told")
	"$pagek" list $patient --format json -o "$tmp/list" "pid:$pid" &&
	    "$pagek" list $patient --format csv -o "$tmp/csv" "pid:$pid" &&
	    "$pagek" list $patient --format json --filter 'ctype=app::Type6' \
	    -o "$tmp/six" "pid:$pid" &&
	    "$pagek" tree $patient --flat --by ctype --least 0 --format json \
	    -o "$tmp/groups" "pid:$pid" &&
	    "$pagek" usage $patient --format json -o "$tmp/usage" "pid:$pid"
	status=$?
	kill -9 "$pid"
	wait "$run"
	run=
	return "$status"
} 2>/dev/null

# Type N has blocks of 1000 + 10 N bytes and what the container adds; all others
# are smaller.
cat >"$tmp/check.py" <<'PYTHON'
import csv, json, re, sys
least, folder, sources = int(sys.argv[1]), sys.argv[2], sys.argv[3].split(",")
blocks = [b for b in json.load(open(folder + "/list"))["blocks"]
          if 1000 <= b["size"] < 4000]
named = {}
for b in blocks:
    kind, source = b["ctype"], b["ctype_from"]
    assert (kind is None) == (source == "unknown"), b
    if kind is None:
        continue
    assert source in sources, (source, kind)
    n = int(re.search(r"(?:Type|Hidden)(\d+)", kind).group(1))
    each = b["size"] // {1: 3, 5: 2, 17: 2}.get(n, 1)
    assert 0 <= each - (1000 + 10 * n) <= 40, (b["size"], kind)
    named.setdefault(n, set()).add(kind)
print(len(named), "of 20 types;", sorted(set(range(1, 21)) - set(named)),
      "unknown")
want = {10: "std::pair<int const, app::Type10>", 20:
        "(anonymous namespace)::Hidden20", 13: "std::pair<int const, app::Type13>",
        12: "std::pair<app::Type12 const, int>"}
for n, kinds in named.items():
    assert kinds == {want.get(n, "app::Type%d" % n)}, kinds
assert len(named) >= least, named
rows = [r for r in csv.DictReader(open(folder + "/csv")) if r["ctype"] != ""]
whole = [b for b in json.load(open(folder + "/list"))["blocks"] if b["ctype"]]
assert sorted(r["ctype"] for r in rows) == sorted(b["ctype"] for b in whole)
six = json.load(open(folder + "/six"))["blocks"]
assert len(six) == (6 in named), six
groups = json.load(open(folder + "/groups"))["groups"]
total = {}
for b in json.load(open(folder + "/list"))["blocks"]:
    name = b["ctype"] or "(type not known)"
    total[name] = total.get(name, 0) + b["size"]
assert {g["name"]: g["bytes"] for g in groups} == total, (groups, total)
# Counts by type: a row for each type and size, and of the others by function.
usage = json.load(open(folder + "/usage"))
assert usage["complete"] and usage["from_start"], usage
held = {}
for b in whole:
    key = b["ctype"], b["size"], b["ctype_from"]
    held[key] = held.get(key, 0) + 1
rows = {(r["type"], r["num"], r["named_by"]): r for r in usage["rows"]
        if r["named_by"] in ("template", "call", "symbol", "new")}
assert {k: r["live"] for k, r in rows.items() if r["live"]} == held, (rows, held)
for (kind, size, source), r in rows.items():
    assert r["bytes"] == r["live"] * size, r
    come = 7 if kind == "app::Type4" else 0
    stay = 2 if kind == "app::Type15" else 1
    if 1000 <= size < 4000:
        assert (r["allocated"], r["freed"], r["live"], r["max"]) == \
            (stay + come, come, stay, stay + (come > 0)), r
plain = [r for r in usage["rows"] if r["named_by"] == "function"]
assert sum(r["live"] for r in usage["rows"]) == len(
    json.load(open(folder + "/list"))["blocks"])
assert sum(r["bytes"] for r in plain if 1000 <= r["num"] < 4000) == \
    sum(b["size"] for b in blocks if b["ctype"] is None), plain
PYTHON

# twenty LEAST SOURCES COMPILER...: so many of them, from no other sources.
twenty() {
	least=$1
	sources=$2
	shift 2
	"$@" -std=c++17 -o "$tmp/typed" "$top/tests/targets/typed.cc" &&
	    look "$tmp/typed" 7 &&
	    python3 "$tmp/check.py" "$least" "$tmp" "$sources"
}

# As twenty() has left it: the types of a capture are those of the live target.
captured() {
	: >"$tmp/told"
	"$pagek" record -q -o "$tmp/typed.pkc" -- "$tmp/typed" 7 >"$tmp/told" 3>&- &
	run=$!
	until_true 60 grep -q "^ready" "$tmp/told" || return 1
	pid=$(sed -n 's/^ready //p' "$tmp/told")
	kill -9 "$pid"
	wait "$run"
	run=
	"$pagek" usage --format json -o "$tmp/captured" "$tmp/typed.pkc" &&
	    python3 - "$tmp/usage" "$tmp/captured" <<'PYTHON'
import json, sys
live, captured = [{(r["type"], r["num"], r["named_by"], r["allocated"], r["freed"])
    for r in json.load(open(f))["rows"] if r["named_by"] == "template"}
    for f in sys.argv[1:]]
assert live == captured and len(live) >= 20, live ^ captured
PYTHON
} 2>/dev/null
for compiler in g++ clang++; do
	for level in -O0 -O2; do
		rule "$compiler $level -g: 20 of 20 types" \
		    unless_busy twenty 20 template "$compiler" "$level" -g
	done
	rule "$compiler -O2 -g: a capture has the same types" captured
	rule "$compiler -O0 without -g: types of what is not optimized away" \
	    unless_busy twenty 18 symbol "$compiler" -O0
	cat "$tmp/rule.out"
	rule "$compiler -O2 without -g: no type is guessed" \
	    unless_busy twenty 0 symbol "$compiler" -O2
	cat "$tmp/rule.out"
done

# built LEAST COMPILER...: what a plain new builds is known of so many types, and
# the others have no name.
built() {
	least=$1
	shift
	"$@" -std=c++17 -g -o "$tmp/built" "$top/tests/targets/built.cc" &&
	    look "$tmp/built" &&
	    python3 - "$least" "$tmp/list" <<'PYTHON'
import json, sys
named = {}
for b in json.load(open(sys.argv[2]))["blocks"]:
    if not 3000 < b["size"] <= 4300 or b["size"] % 20:
        continue
    n = b["size"] % 1000 // 20
    named.setdefault(b["size"], set()).add((b["ctype_from"], b["ctype"]))
want = {4: "app::Known4<4>", 6: "(anonymous namespace)::Known6"}
known = {3000 + 20 * n: ("new", want.get(n, "app::Known%d" % n))
         for n in range(1, 7)}
assert set(named) == set(known) | {4000 + 20 * n for n in range(1, 13)}, named
count = 0
for size, kinds in named.items():
    count += kinds == {known.get(size)}
    assert kinds <= {known.get(size), ("unknown", None)}, (size, kinds)
print(count, "of 6 types of plain new")
assert count >= int(sys.argv[1]), named
PYTHON
}
for level in -O1 -O2; do
	rule "g++ $level -g: types of what a plain new builds, and no others" \
	    unless_busy built 6 g++ "$level"
done
rule "g++ -O0 -g: no type of a plain new is guessed" \
    unless_busy built 0 g++ -O0
rule "clang++ -O2 -g: no type of a plain new is guessed" \
    unless_busy built 0 clang++ -O2 -Wno-unknown-attributes
rule "g++ -O2 -g1, for lines alone: all but that of an unnamed namespace" \
    unless_busy twenty 19 template g++ -O2 -g1

cat >"$tmp/t.rs" <<'RUST'
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
mod app {
    #[derive(Clone)]
    pub struct Row(pub [u8; 1100]);
    pub struct Key(pub [u8; 1200]);
    pub struct Leaf(pub [u8; 1300]);
    pub struct Node(pub [u8; 1400]);
}
fn main() {
    let mut v: Vec<app::Row> = Vec::new();
    v.push(app::Row([1; 1100]));
    let b = Box::new(app::Key([2; 1200]));
    let r = Rc::new(app::Leaf([3; 1300]));
    let a = Arc::new(app::Node([4; 1400]));
    let mut h: HashMap<u32, app::Row> = HashMap::new();
    h.insert(1, v[0].clone());
    println!("{} {:p} {:p} {:p}", v.len() + h.len(), b, r, a);
    println!("ready {}", std::process::id());
    loop {
        std::thread::sleep(std::time::Duration::from_secs(100));
    }
}
RUST
of_rust() {
	rustc "$@" -g -o "$tmp/rs" "$tmp/t.rs" && look "$tmp/rs" &&
	    python3 - "$tmp/list" <<'PYTHON'
import json, sys
kinds = {b["ctype"] for b in json.load(open(sys.argv[1]))["blocks"]
         if b["size"] >= 1100}
print(kinds)
for name in ("Row", "Key", "Leaf", "Node"):
    assert "t::app::" + name in kinds or "rs::app::" + name in kinds, name
assert any(k and k.startswith("(u32, ") for k in kinds)
assert "T" not in kinds
PYTHON
}
if [ -n "${RUST:-}" ]; then
	rule "Rust: Vec, Box, Rc, Arc and HashMap" unless_busy of_rust
	rule "Rust, optimized: the same" unless_busy of_rust -O
fi
say_result
