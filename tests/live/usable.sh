#!/bin/sh
# Usable sizes: lists, dumps and statistics of a live program and of captures
# have what malloc_usable_size() says, to the byte.
set -u
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

# It writes address, size and usable size of each of its blocks into the file.
cat >sized.cc <<'CC'
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <unistd.h>
#define ALL 3000
static struct { void *at; size_t size; } block[ALL];
static void *take(unsigned i, size_t size)
{
	void *p = NULL;

	switch (i % 6) {
	case 0:
		return malloc(size);
	case 1:
		return calloc(1, size);
	case 2:
		return realloc(malloc(size / 3 + 1), size);
	case 3:
		return posix_memalign(&p, 64 << i % 7, size) == 0 ? p : NULL;
	case 4:
		return operator new(size);
	default:
		return new char[size];
	}
}
int main(int argc, char **argv)
{
	FILE *f;

	for (unsigned i = 0; i < ALL; i++) {
		block[i].size = i % 50 == 49 ? 131072 + i * 40u :
		    1 + (i % 10 == 9 ? i * 7u : i % 700);
		block[i].at = take(i, block[i].size);
		/* glibc maps no such size any more once one is freed. */
		if (i % 4 == 3 && block[i - 2].size < 131072) {
			free(block[i - 2].at);
			block[i - 2].at = NULL;
		}
	}
	f = fopen("sizes.new", "w");
	for (unsigned i = 0; i < ALL; i++)
		if (block[i].at != NULL)
			fprintf(f, "0x%llx %zu %zu\n", (unsigned long long)
			    (uintptr_t)block[i].at, block[i].size,
			    malloc_usable_size(block[i].at));
	fclose(f);
	rename("sizes.new", "sizes");
	if (argc > 1)
		_exit(0);
	pause();
}
CC
g++ -O1 -fno-builtin -o sized sized.cc || exit 1
pagek=$B/pagek

cat >compare.py <<'PY'
import json
import os
import sys

# Per file of `list` or `dump`: key of the rows, key of the usable size.
KEYS = {"list": ("blocks", "used"), "dump": ("allocations", "actual")}
sizes = [line.split() for line in open("sizes")]
assert len(sizes) > 2000, len(sizes)
odd = 0
for name in sys.argv[1:]:
    rows, used = KEYS[name.split(".")[0]]
    doc = json.load(open(name))
    at = {b["address"]: b for b in doc[rows]}
    for address, size, usable in sizes:
        b = at[address]
        got = b["size"], b[used], b["overhead"]
        want = int(size), int(usable), int(usable) - int(size)
        assert got == want, (name, address, got, want)
        odd += want[2] % 16 != 0
    stats = json.load(open(name.replace("list", "stats").replace("dump",
                                                                 "stats")))
    assert stats["actual_bytes"] == sum(b[used] for b in doc[rows]), name
assert odd > 1000, odd
# Blocks of glibc that are mappings of their own.
assert os.environ.get("JEMALLOC") or sum(
    int(a, 16) % 4096 == 16 and int(n) >= 131072 for a, n, _ in sizes) > 10
PY

# live [ALLOCATOR]: of a running program.
live() {
	export JEMALLOC="${1-}"
	rm -f sizes
	LD_PRELOAD=${1-} "$pagek" run -b -o /dev/null -- ./sized >out 2>&1 &
	run=$!
	until_true 60 test -e sizes && pid=$(pgrep -n -x sized) &&
	    until_true 60 "$pagek" list "pid:$pid" &&
	    "$pagek" list --format=json "pid:$pid" >list.json &&
	    "$pagek" dump --format=json "pid:$pid" >dump.json &&
	    "$pagek" stats --format=json "pid:$pid" >stats.json &&
	    python3 compare.py list.json dump.json
	status=$?
	kill "$run"
	wait "$run"
	return $status
}

# captured [ALLOCATOR]
captured() {
	export JEMALLOC="${1-}"
	rm -f sizes
	LD_PRELOAD=${1-} "$pagek" record -q -o cap -- ./sized once &&
	    "$pagek" dump --format=json cap >dump.json &&
	    "$pagek" stats --format=json cap >stats.json &&
	    python3 compare.py dump.json
}

rule "list, dump and stats have usable sizes of glibc to the byte" live
rule "so have dump and stats of a capture" captured
jemalloc=libjemalloc.so.2
if LD_PRELOAD=$jemalloc true 2>&1 | grep -q 'cannot be preloaded'; then
	skip "$jemalloc is not installed: its sizes are not tried"
else
	rule "so they have of jemalloc" live $jemalloc
	rule "and of a capture of it" captured $jemalloc
fi
say_result
