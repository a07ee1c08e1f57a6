# Sourced behind lib.sh by the tests of bench/run.
#
# run ARGUMENT...	bench/run --try: its tables in $tmp/table.
# ask EXPRESSION	about the last run's bench.json, as d; goals by name, as g.
# without PROGRAM	another B, printed, that has all of bench but this.

export B

run() {
	"$top/bench/run" --try "$@" >"$tmp/table" 2>"$tmp/said" || {
		cat "$tmp/said"
		return 1
	}
}

ask() {
	PYTHONPATH=$top/bench PYTHONDONTWRITEBYTECODE=1 python3 - \
	    "$1" "$tmp/out/bench.json" <<'PY'
import goals, json, sys
d = json.load(open(sys.argv[2]))
g = {row["goal"]: row for row in d["goals"]}
print([row for row in d["goals"] if row["value"] is None])
sys.exit(0 if eval(sys.argv[1]) else 1)
PY
}

without() {
	mkdir -p "$tmp/without/bench" &&
	    ln -sf "$B"/* "$tmp/without" 2>/dev/null
	ln -sf "$B"/bench/* "$tmp/without/bench" 2>/dev/null
	rm -f "$tmp/without/bench/$1" && echo "$tmp/without"
}
