#!/bin/sh
# usage_xmemory.h as a program uses it: from an installed tree, in C and C++, with
# two compilers and each standard, and beside liballoclog.
set -u
. "$(dirname "$0")/lib.sh"

make -s -C "$top" B="$B" PREFIX="$tmp/usr" install >"$tmp/install.log" 2>&1 ||
    cat "$tmp/install.log"
PKG_CONFIG_PATH=$tmp/usr/lib/pkgconfig
export PKG_CONFIG_PATH
cd "$tmp" || exit 1

# The four lines of the note.
cat >sample.lines <<'LINES'
char:12:480:433:90
char:57:3:1:2
struct T:1:100:0:100
char:9:103:103:0
LINES

# The same source in C and C++; SAMPLE_END is a statement for its end.
cat >sample.h <<'SAMPLE'
#include <usage_xmemory.h>

struct T { char c[100]; };

static char *twelve[90], *many[3], *one[103];
static struct T *t[100];

int
main(void)
{
	int i;

	for (i = 0; i < 90; i++)
		twelve[i] = xnalloc(char, 12);
	for (i = 0; i < 390; i++) {
		xnfree(char, 12, twelve[i % 90]);
		twelve[i % 90] = xnalloc(char, 12);
	}
	for (i = 0; i < 43; i++)
		xnfree(char, 12, twelve[i]);
	for (i = 0; i < 2; i++)
		many[i] = xnalloc(char, 57);
	xnfree(char, 57, many[0]);
	many[2] = xnalloc(char, 57);
	for (i = 0; i < 100; i++)
		t[i] = xalloc(struct T);
	for (i = 0; i < 103; i++)
		one[i] = xnalloc(char, 9);
	for (i = 0; i < 103; i++)
		xnfree(char, 9, one[i]);
	xfree(struct T, NULL);
	reset_max_usage_xmemory("char", 9);
	dump_usage_xmemory(stdout);
	return 0;
}
SAMPLE
echo '#include "sample.h"' >sample.c
cp sample.c sample.cc

# builds COMPILER STANDARD SOURCE: without a warning.
builds() {
	"$1" -std="$2" -O2 -Wall -Wextra -Werror -o "$tmp/program" "$3" \
	    $(pkg-config --cflags --libs usage_xmemory)
}

replays() {
	builds "$1" "$2" "$3" && "$tmp/program" >sample.out &&
	    cmp sample.lines sample.out
}

in_c() {
	for std in c99 c11 c17 gnu17; do
		for cc in gcc clang; do
			replays "$cc" $std sample.c || return 1
		done
	done
}

in_cxx() {
	for std in c++11 c++14 c++17 c++20; do
		for cc in g++ clang++; do
			replays "$cc" $std sample.cc || return 1
		done
	done
}

# --- C++ ------------------------------------------------------------------------

cat >names.cc <<'CC'
#include <map>
#include <usage_xmemory.h>

namespace pool {
struct node { int value[4]; };
template <class T> struct list { T value; list *next; };
}

template <class T>
T *
make(int n)
{
	return usage_xmemory_of<T>::alloc(n);
}

int
main()
{
	void *map = xalloc(std::map<int,int>);
	pool::node *node = make<pool::node>(3);
	pool::list<long> *list = make<pool::list<long> >(1);

	usage_xmemory_of<pool::node>::free(node, 3);
	usage_xmemory_of<pool::list<long> >::free(list);
	dump_usage_xmemory(stdout);
	return map == 0;
}
CC
names_are_those_of_types() {
	for cc in g++ clang++; do
		builds $cc c++11 names.cc && "$tmp/program" >names.out &&
		    printf '%s\n' 'std::map<int,int>:1:1:0:1' 'pool::node:3:1:1:1' \
			'pool::list<long>:1:1:1:1' | cmp - names.out || return 1
	done
}

# --- the table and the program ---------------------------------------------------

# A second counting layer sees the program's own blocks alone.
counts_take_no_blocks() {
	cat >blocks.c <<'C'
#include <usage_xmemory.h>
int
main(void)
{
	int i;

	for (i = 0; i < 1000; i++) {
		char name[16];

		sprintf(name, "type %d", i);
		alloc_usage_xmemory(name, i);
		xfree(int, xalloc(int));
	}
	return 0;
}
C
	builds gcc c99 blocks.c && cp program blocks &&
	    valgrind ./blocks 2>&1 | tee valgrind.out |
	    grep -q 'total heap usage: 1,000 allocs, 1,000 frees'
}

strict_says_the_name() {
	cat >strict.c <<'C'
#include <usage_xmemory.h>
int
main(void)
{
	free_usage_xmemory("struct never", 1);
	return 0;
}
C
	builds gcc c99 strict.c && "$tmp/program" || return 1
	(ulimit -c 0; PAGEK_USAGE_STRICT=1 exec "$tmp/program") 2>strict.out
	[ $? = 134 ] && grep -q 'never allocated: struct never' strict.out
}

watched_too() {
	builds gcc c99 sample.c &&
	    "$B/pagek" run -b -o run.out --report report.json -- "$tmp/program" \
		>watched.out 2>&1
	cmp sample.lines watched.out
}

rule "C: the note's sample dumps its four lines, in each standard" in_c
rule "C++: the note's sample dumps its four lines, in each standard" in_cxx
rule "C++: a type with a comma, and types of templates, have their names" \
    names_are_those_of_types
rule "counts take no block of the program's" counts_take_no_blocks
rule "a strict program is aborted with the name of the type" strict_says_the_name
rule "a program that pagek watches prints the same" watched_too
say_result
