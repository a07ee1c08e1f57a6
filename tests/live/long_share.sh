#!/bin/sh
# The share of bytes whose type is known, in a program of others: Debian's ninja,
# compiled from its source with Debian's own flags.  Its blocks are those that hold
# a manifest of 20,000 edges, at the peak.
#
# The source is got with lists of packages that are ours alone; source and program
# are kept in $B/share.  Needs apt-get, dpkg-dev, g++ and python3.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
kept=$B/share
ninja=$kept/ninja

apt() {
	apt-get -qq -o Acquire::Retries=3 -o "Dir::Etc::SourceList=$kept/sources" \
	    -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$kept/lists" \
	    -o "Dir::Cache=$kept/cache" -o APT::Sandbox::User=root \
	    -o Acquire::Languages=none "$@"
}

source_got() {
	[ ! -d "$kept/src" ] || return 0
	mkdir -p "$kept/lists/partial" "$kept/cache/archives/partial" "$kept/got"
	uri=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' \
	    'Created-By: Packages' | sed -n 's/ bookworm main$//p' | head -n 1)
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${uri:-http://deb.debian.org/debian/} bookworm main" \
	    >"$kept/sources"
	apt update && (cd "$kept/got" && apt source --download-only ninja-build &&
	    dpkg-source -x ./*.dsc "$kept/src")
}

# Without tests, benches, inputs of re2c, and what needs Windows or a generated header.
compiled() {
	cd "$kept/src/src" || return 1
	flags=$(dpkg-buildflags --get CXXFLAGS)
	ls ./*.cc | grep -vE 'test\.cc|_bench|\.in\.cc|win32|msvc|browse' |
	    xargs -P 2 -n 1 g++ $flags -fno-rtti -fno-exceptions -c || return 1
	g++ -o "$ninja" ./*.o
}

for tool in apt-get dpkg-source dpkg-buildflags g++ python3; do
	command -v $tool >/dev/null && continue
	skip "types in Debian's ninja: there is no $tool"
	say_result
	exit
done
if [ ! -x "$ninja" ] && ! source_got >"$tmp/apt" 2>&1; then
	rm -rf "$kept"
	tail -n 3 "$tmp/apt"
	skip "types in Debian's ninja: its source cannot be had (offline?)"
	say_result
	exit
fi
[ -x "$ninja" ] || rule "Debian's ninja is compiled with -g" compiled

awk 'BEGIN {
	print "rule cc\n command = gcc -c $in -o $out $flags"
	for (i = 0; i < 20000; i++) {
		printf "build obj/%d/file%d.o: cc src/%d/file%d.c | include/common%d.h\n",
		    i % 50, i, i % 50, i, i % 20
		if (i % 4 == 0)
			print " flags = -O3"
	}
}' >"$tmp/build.ninja"

shares() {
	cd "$tmp" && "$pagek" record -q -o ninja.pkc -- "$ninja" -t targets all \
	    >targets && [ "$(wc -l <targets)" = 20000 ] &&
	    "$pagek" usage --format json -o usage ninja.pkc &&
	    python3 - usage <<'PYTHON'
import json, sys

usage = json.load(open(sys.argv[1]))
if not usage["complete"]:
    print(usage["lost"], "records were lost")
    sys.exit(2)
by = {}
for r in usage["rows"]:
    by[r["named_by"]] = by.get(r["named_by"], 0) + r["then_bytes"]
whole = sum(by.values())
assert whole == usage["sum"]["then_bytes"] > 5 << 20, (by, usage["sum"])
share = {source: 100 * n / whole for source, n in by.items()}
types = {s: n for s, n in share.items() if s in ("template", "call", "symbol", "new")}
print("of %d bytes held at the peak, %.1f %% have a type (%s), %.1f %% the "
      "function that asked, %.1f %% neither" % (whole, sum(types.values()),
      ", ".join("%s %.1f" % t for t in sorted(types.items())),
      share["function"], 100 - sum(types.values()) - share["function"]))
assert sum(types.values()) >= 50, share
PYTHON
}
rule "Debian's ninja: half of what it holds at the peak has a type" tries shares
cat "$tmp/rule.out"
say_result
