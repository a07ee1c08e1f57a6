#!/bin/sh
# A program that logs each allocation and free of its own: each field of the
# commands of debug data equals what the program knows of itself.
set -u
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
pagek=$B/pagek

mkdir include
cat >include/box.h <<'CC'
static inline __attribute__((always_inline)) void *
box(size_t n)
{
	return malloc(n);
}
CC
cat >known.h <<'CC'
/* A line of the log: what, block, size, usable size, thread, function, line. */
extern "C" void known(const char *what, void *p, size_t size, const char *function,
    int line);
#define ALLOC(what, call, size) \
	do { void *p_ = (void *)(call); known(what, p_, size, __func__, __LINE__); \
	kept[nkept++] = p_; } while (0)
#define FREE(what, call, p) \
	do { known(what, p, 0, __func__, __LINE__); call; } while (0)
extern void *volatile kept[256];
extern int volatile nkept;
CC
cat >plugin.cc <<'CC'
#include <cstdlib>
#include "known.h"
extern "C" __attribute__((noinline)) void
plugin_take()
{
	ALLOC("malloc()", malloc(333), 333);
	ALLOC("new[]", new char[334], 334);
}
CC
cat >known.cc <<'CC'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <unistd.h>
#include "known.h"
#include "include/box.h"
void *volatile kept[256];
int volatile nkept;
struct Large { char bytes[1024]; };
static struct line {
	const char *what, *function;
	void *p;
	size_t size, usable;
	char thread[16];
	pthread_t handle;
	int no;
} lines[512];
static int nlines;

extern "C" void
known(const char *what, void *p, size_t size, const char *function, int line)
{
	struct line *l = &lines[nlines++];

	*l = (struct line){ what, function, p, size, malloc_usable_size(p), "",
	    pthread_self(), line };
	pthread_getname_np(pthread_self(), l->thread, sizeof l->thread);
}

template <class T> __attribute__((noinline)) T *
make()
{
	T *p;
	known("new", p = new T, sizeof(T), __func__, __LINE__);
	return p;
}

__attribute__((noinline)) static void
take_all()
{
	void *p = NULL;

	ALLOC("malloc()", malloc(11), 11);
	ALLOC("calloc()", calloc(3, 7), 21);
	ALLOC("malloc()", malloc(31), 31);
	ALLOC("memalign()", memalign(64, 41), 41);
	ALLOC("aligned_alloc()", aligned_alloc(64, 128), 128);
	ALLOC("posix_memalign()", (posix_memalign(&p, 128, 51), p), 51);
	ALLOC("valloc()", valloc(61), 61);
	ALLOC("pvalloc()", pvalloc(4096), 4096);
	ALLOC("new", new Large, 1024);
	ALLOC("new[]", new char[71], 71);
	ALLOC("new(nothrow)", new(std::nothrow) Large, 1024);
	ALLOC("new(nothrow)[]", new(std::nothrow) char[81], 81);
	ALLOC("malloc()", malloc(300000), 300000);
	ALLOC("malloc()", box(91), 91);
	kept[nkept++] = make<Large>();
	ALLOC("malloc()", p = malloc(1), 1);
	/* A free and an allocation.  Without an old block it is a malloc. */
	FREE("-realloc()", p = realloc(p, 3000), p); known("realloc()", p, 3000, __func__, __LINE__);
}

__attribute__((noinline)) static void
free_some()
{
	FREE("free()", free(kept[0]), kept[0]);
	FREE("delete", delete (Large *)kept[8], kept[8]);
	FREE("delete[]", delete[] (char *)kept[9], kept[9]);
	FREE("free()", free(kept[1]), kept[1]);
}

static void *
work(void *name)
{
	pthread_setname_np(pthread_self(), (const char *)name);
	for (int i = 0; i < 20; i++)
		ALLOC("malloc()", malloc(500 + i), (size_t)(500 + i));
	FREE("free()", free(kept[nkept - 1]), kept[nkept - 1]);
	return NULL;
}

static void
run_thread(const char *name)
{
	pthread_t t;

	pthread_create(&t, NULL, work, (void *)name);
	pthread_join(t, NULL);
}

static void
write_log(const char *path)
{
	FILE *f = fopen("log.new", "w");

	for (int i = 0; i < nlines; i++)
		fprintf(f, "%s\t%#lx\t%zu\t%zu\t%s\t%#lx\t%s\t%d\n",
		    lines[i].what, (long)lines[i].p, lines[i].size,
		    lines[i].usable, lines[i].thread, (long)lines[i].handle,
		    lines[i].function, lines[i].no);
	fclose(f);
	rename("log.new", path);
}

int
main()
{
	void *plugin;
	char byte;

	pthread_setname_np(pthread_self(), "first");
	take_all();
	free_some();
	run_thread("second");
	write_log("log.0");
	if (read(0, &byte, 1) != 1)
		return 1;
	run_thread("third");
	plugin = dlopen("./plugin.so", RTLD_NOW);
	((void (*)())dlsym(plugin, "plugin_take"))();
	FREE("free()", free(kept[2]), kept[2]);
	write_log("log.1");
	pause();
}
CC
flags='-g -O1 -fno-builtin -fno-omit-frame-pointer -Wno-all'
g++ $flags -rdynamic -o known "$tmp/known.cc" -pthread -ldl &&
    g++ $flags -fPIC -shared -o plugin.so "$tmp/plugin.cc" || exit 1

mkfifo go
PAGEK_DEBUGDATA=on,history=4096,backtrace=2 LD_PRELOAD=$B/liballoclog.so \
    ./known <go &
known=$!
exec 3>go
stop() {
	kill $known
	wait $known
	rm -rf "$tmp"
} >/dev/null 2>&1
trap stop EXIT
until_true 60 test -e log.0 || exit 1
"$pagek" mdd-dump -o known.0 pid:$known || exit 1
echo >&3
until_true 60 test -e log.1 || exit 1
"$pagek" mdd-dump -o known.1 pid:$known || exit 1

cat >known.py <<'PY'
import json
import subprocess
import sys


def run(*words):
    return json.loads(subprocess.run(
        [sys.argv[1], words[0], '--format=json', *words[1:]],
        stdout=subprocess.PIPE, check=True).stdout)


def log(no):
    for line in open('log.%d' % no):
        what, p, size, usable, thread, handle, function, no = \
            line.rstrip('\n').split('\t')
        yield dict(allocator=what, address=p, size=int(size),
                   actual=int(usable), thread_name=thread, handle=handle,
                   function=function, line=int(no))


FREES = ('free()', 'delete', 'delete[]', '-realloc()')


def same(row, entry, keys):
    for key in keys:
        got = row[key]
        if key == 'function':
            # "Large* make<Large>()" is make.
            got = (got or '').split('(')[0].split('<')[0].split(' ')[-1]
        want = entry[key].lstrip('-') if key == 'allocator' else entry[key]
        assert got == want, (key, row, entry)


def blocks(no):
    """What is still there at the end of the log, by address."""
    there = {}
    for e in log(no):
        if e['allocator'] in FREES:
            del there[e['address']]
        else:
            there[e['address']] = e
    return there


ALL = ('allocator', 'size', 'actual', 'thread_name', 'handle', 'function',
       'line')


def dump():
    for no in 0, 1:
        rows = run('dump', program, 'known.%d' % no)['allocations']
        rows = {r['address']: r for r in rows}
        last = -1
        for address, entry in blocks(no).items():
            row = rows[address]
            same(row, entry, ALL)
            assert row['file'].endswith('.cc'), row
            assert row['overhead'] == row['actual'] - row['size'], row
            assert row['seqno'] > last, row
            last = row['seqno']


def history():
    doc = run('history', program, 'known.0', 'known.1')
    assert doc['history_complete'], doc
    events = [e for e in doc['events']
              if (e['function'] or '').split('(')[0] != '']
    at = 0
    # The program's events, in their order among those of its libraries.
    for entry in log(1):
        free = entry['allocator'] in FREES
        while True:
            row = events[at]
            at += 1
            if row['address'] == entry['address'] and \
                    (row['event'] == 'free') == free:
                break
        keys = ('allocator', 'thread_name', 'handle', 'function', 'line')
        same(row, entry, keys if free else ALL)
    freed = {e['address'] for e in log(1) if e['allocator'] in FREES}
    for row in events:
        if row['event'] == 'alloc' and row['freed']:
            freed.discard(row['address'])
    assert not freed, freed


def stats():
    doc = run('stats', 'known.1')
    names = [t['name'] for t in doc['threads']]
    assert [n for n in names if n in ('first', 'second', 'third')] == \
        ['first', 'second', 'third'], names
    rows = run('dump', 'known.1')['allocations']
    assert doc['current_blocks'] == len(rows)
    assert doc['current_bytes'] == sum(r['size'] for r in rows)
    assert doc['actual_bytes'] == sum(r['actual'] for r in rows)
    for name, n in doc['allocators'].items():
        assert n == sum(r['allocator'] == name for r in rows), name
    assert doc['allocations'] - doc['frees'] == len(rows), doc


def diff():
    a, b = ({r['seqno'] for r in run('dump', 'known.%d' % n)['allocations']}
            for n in (0, 1))
    doc = run('diff', 'known', 'known.0', 'known.1')
    got = {c: {r['seqno'] for r in doc['allocations'] if r['change'] == c}
           for c in ('new', 'freed')}
    assert got == {'new': b - a, 'freed': a - b}, got
    new = set(blocks(1)) - set(blocks(0))
    rows = {r['address']: r for r in doc['allocations']
            if r['change'] == 'new'}
    assert new <= set(rows), new - set(rows)
    for address in new:
        same(rows[address], blocks(1)[address], ALL)


program = sys.argv[3] if len(sys.argv) > 3 else 'known'
globals()[sys.argv[2]]()
PY
for command in dump history stats diff; do
	rule "$command equals what the program knows of itself" \
	    python3 known.py "$pagek" $command
done
stripped() {
	objcopy --only-keep-debug known known.debug &&
	    strip -g -o bare known &&
	    objcopy --add-gnu-debuglink=known.debug bare &&
	    python3 known.py "$pagek" dump bare
}
rule "so does dump of a stripped executable with its debug file" stripped
# split KIND PLACE: a folder with the program without symbols; its debug file is
# beside it, or in a folder by build id.
split() {
	mkdir -p "$1.$2/debug" && cp plugin.so "$1.$2" || return 1
	g++ $flags "-$1" -rdynamic -o "$1.$2/whole" "$tmp/known.cc" -pthread \
	    -ldl && (
		cd "$1.$2" && objcopy --only-keep-debug whole whole.debug &&
		    strip -o bare whole && rm whole || exit 1
		if [ "$2" = link ]; then
			objcopy --add-gnu-debuglink=whole.debug bare
			exit
		fi
		id=$(readelf -n bare | sed -n 's/.*Build ID: //p')
		dir=debug/.build-id/$(echo "$id" | cut -c 1-2)
		mkdir -p "$dir" &&
		    mv whole.debug "$dir/$(echo "$id" | cut -c 3-).debug"
	)
}
knows() {
	python3 ../known.py "$pagek" dump ./bare &&
	    python3 ../known.py "$pagek" history ./bare
}
# Live, by gcore, and by itself: each with the names of the debug file.
of_split() (
	split "$1" "$2" && cd "$1.$2" || exit 1
	PAGEK_SYMBOL_PATH=$tmp/$1.$2/debug
	export PAGEK_SYMBOL_PATH
	mkfifo go
	PAGEK_DEBUGDATA=on,history=4096,backtrace=2 PAGEK_DUMP_AT=USR2 \
	    LD_PRELOAD=$B/liballoclog.so ./bare <go 3>&- &
	bare=$!
	exec 4>go
	until_true 60 test -e log.0 &&
	    "$pagek" mdd-dump -o known.0 pid:$bare || exit 1
	echo >&4
	until_true 60 test -e log.1 &&
	    "$pagek" mdd-dump -o known.1 pid:$bare && knows
	status=$?
	if [ $status = 0 ] && command -v gcore >/dev/null; then
		timeout 100 gcore -o core $bare >/dev/null 2>&1
		"$pagek" mdd-dump -o known.1 core:core.$bare && knows
		status=$?
	fi
	# The signal ends its pause(), and so the program.
	kill -USR2 $bare
	wait $bare
	cp mddout.$bare.0 known.1 && [ $status = 0 ] && knows
)
for kind in pie no-pie; do
	rule "a stripped program, $kind, with .gnu_debuglink: live, its core, its file" \
	    of_split $kind link
	rule "and with its debug file in a folder by build id" of_split $kind id
done
# The fixed parts of the eCos text's examples, and what may vary in them.
cat >shapes.py <<'PY'
import re
import subprocess
import sys

A = '0x[0-9a-f]+'
ALLOCATOR = r'(malloc|calloc|realloc|(posix_)?memalign|aligned_alloc|p?valloc)\(\)'
OPERATOR = r'new(\(nothrow\))?(\[\])?'
FREED = r'(free\(\)|delete(\[\])?|realloc\(\))'
ABOUT = r', actual size \d+ \(\+\d+\), seqno \d+, time \d+'
STACK = [r'  By thread \d+, %s \S+' % A,
         r'  [12]\) backtrace %s function .+' % A, r'     \S+:\d+', r'     ".*"']
BARE = STACK[:1] + [r'  [12]\) backtrace return address %s' % A]
BLOCK = r'%s : (%s|%s) \d+ bytes' % (A, ALLOCATOR, OPERATOR) + ABOUT
SIZE = r'\d+K \(\d+ bytes\)'
SHAPES = {
    'dump known known.1': [BLOCK] + STACK,
    'dump known.1': [BLOCK] + BARE,
    'history known known.0 known.1': [
        r'(%s|%s|%s) \d+ bytes: %s (\(freed\) )?' % (
            ALLOCATOR, OPERATOR, FREED, A) + ABOUT] + STACK,
    'diff known known.0 known.1': [
        r'File known\.[01] : %s used in \d+ allocations\.' % SIZE,
        r'\d+ new allocations in known\.1 but not in known\.0',
        r'\d+ allocations in known\.0 but freed in known\.1', '',
        r'New allocations in known\.1 but not in known\.0',
        r'Allocations in known\.0 but freed in known\.1', BLOCK] + STACK,
    'stats known.1': [
        r'known\.1: statistics',
        r'(Heap     |         ) : %s to %s, size %s' % (A, A, SIZE),
        r'          : %s in \d+ blocks outside of it' % SIZE,
        r'History   : \d+ memory allocations, \d+ frees',
        r'Current   : %s used in \d+ allocations' % SIZE,
        r'Actual    : approximately %s' % SIZE,
        r'Overhead  : approximately %s, \d+%%' % SIZE,
        r'Debugdata : approximately %s static, %s dynamic' % (SIZE, SIZE),
        r'          : \(debug data is in addition to other overheads\)',
        r'Allocators:', r'            (%s|%s) \d+' % (ALLOCATOR, OPERATOR),
        r'Threads   :', r' +\d+ : handle %s, \S+' % A,
        r'Options   : actual_size enabled, time stamps enabled, thread info enabled',
        r'          : backtrace enabled, 2 levels',
        r'          : history enabled, 4096 records max'],
}
for words, shapes in SHAPES.items():
    lines = subprocess.run([sys.argv[1], *words.split()], stdout=subprocess.PIPE,
                           check=True, text=True).stdout.split('\n')
    assert lines.pop() == '' and len(lines) > 15, words
    seen = set()
    for line in lines:
        shape = next((s for s in shapes if re.fullmatch(s, line)), None)
        assert shape is not None, (words, line)
        seen.add(shape)
    assert len(seen) >= len(shapes) - 1, (words, set(shapes) - seen)
PY
rule "a program's output has the shape of the text's examples" \
    python3 shapes.py "$pagek"
symbols() {
	"$pagek" dump -f '%a %n %f1 %w1' --symbols known.1 >out
	grep -q " 334 plugin_take $tmp/plugin.cc:7$" out || {
		grep 334 out
		return 1
	}
}
rule "and --symbols finds a plugin" symbols

say_result
