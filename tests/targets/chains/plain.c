/*
 * plain: chains in C with nothing in between but calls: inlined functions,
 * callbacks through libc, recursion, stacks whose frames change their size,
 * tail calls, realigned frames.
 */
#include <alloca.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"

#define DEEP 40		/* more than the usual depth, fewer than the largest */
#define DEEPER 200	/* more than any */

static void
touch(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* --- every function that allocates -------------------------------------- */

APART static void
family(void)
{
	void *p = NULL;
	char *s;
	int r;

	KEEP(p, malloc(10));
	KEEP(p, calloc(3, 10));
	KEEP(p, aligned_alloc(64, 128));
	chain_push(__func__, __FILE__, __LINE__ + 1, CHAIN_APART);
	r = posix_memalign(&p, 64, 100);
	chain_keep(r == 0 ? p : NULL);
	chain_pop();
	p = malloc(16);
	KEEP(p, realloc(p, 100000));
	p = malloc(16);
	KEEP(p, reallocarray(p, 1000, 100));
	KEEP_LIBC(s, strdup("a block of libc's own"));
	touch(s);
	chain_push(__func__, __FILE__, __LINE__ + 2, CHAIN_APART);
	chain_push("libc.so.6", NULL, 0, CHAIN_MODULE);
	r = asprintf(&s, "%d blocks of %s", 2, "libc's own");
	chain_keep(r > 0 ? s : NULL);
	chain_pop();
	chain_pop();
}

/* --- inlined ------------------------------------------------------------ */

INSIDE static void *
inner(size_t n)
{
	INLINED;
	void *p;

	KEEP(p, malloc(n));
	touch(p);
	return p;
}

INSIDE static void *
between(size_t n)
{
	INLINED;
	void *p;

	THROUGH(p = inner(n + 1));
	touch(p);
	return p;
}

APART static void *
holder(size_t n)
{
	void *p;

	THROUGH(p = between(n));
	touch(p);
	THROUGH(p = between(n + 5));
	touch(p);
	return p;
}

INSIDE static void *
outer(size_t n)
{
	INLINED;
	void *p;

	THROUGH(p = holder(n));
	touch(p);
	return p;
}

/* --- recursion ---------------------------------------------------------- */

APART static void *
recurse(int depth)
{
	void *p;

	if (depth == 0)
		KEEP(p, malloc(20));
	else
		THROUGH(p = recurse(depth - 1));
	touch(p);
	return p;
}

APART static void *ping(int depth);

APART static void *
pong(int depth)
{
	void *p;

	THROUGH(p = ping(depth - 1));
	touch(p);
	return p;
}

APART static void *
ping(int depth)
{
	void *p;

	if (depth <= 0)
		KEEP(p, malloc(21));
	else
		THROUGH(p = pong(depth - 1));
	touch(p);
	return p;
}

/* --- callbacks ---------------------------------------------------------- */

static int compared;

APART static int
compare(const void *a, const void *b)
{
	void *p;

	if (compared++ < 2)
		KEEP(p, malloc(22));
	return *(const int *)a - *(const int *)b;
}

APART static void
visit(const void *node, VISIT which, int depth)
{
	void *p;

	(void)node;
	if (which == leaf && depth >= 0)
		KEEP(p, malloc(23));
}

APART static void
callbacks(void)
{
	/* By way of a pointer, for a header has a bsearch() that is inlined. */
	void *(*volatile search)(const void *, const void *, size_t, size_t,
	    int (*)(const void *, const void *)) = bsearch;
	int v[] = { 5, 3, 9, 1, 7 }, key = 7;
	void *root = NULL;

	compared = 0;
	THROUGH_LIBC(qsort(v, 5, sizeof(v[0]), compare));
	compared = 0;
	THROUGH_LIBC(search(&key, v, 5, sizeof(v[0]), compare));
	compared = 99;
	for (int i = 0; i < 5; i++)
		tsearch(&v[i], &root, compare);
	THROUGH_LIBC(twalk(root, visit));
}

APART static void *
by_pointer(void *(*allocate)(size_t), size_t n)
{
	void *p;

	KEEP(p, allocate(n));
	return p;
}

/* --- frames of varying size ---------------------------------------------- */

APART static void *
with_alloca(size_t n)
{
	char *room = alloca(n);
	void *p;

	memset(room, 1, n);
	touch(room);
	KEEP(p, malloc(n));
	touch(room);
	return p;
}

APART static void *
with_array(int n)
{
	int room[n];
	void *p;

	touch(room);
	KEEP(p, malloc(24));
	touch(room);
	return p;
}

APART static void *
with_large_frame(void)
{
	char room[300000];
	void *p;

	touch(room);
	KEEP(p, malloc(25));
	touch(room);
	return p;
}

APART static void *
with_aligned_frame(size_t n)
{
	__attribute__((aligned(64))) char room[128];
	void *p;

	touch(room);
	KEEP(p, malloc(n));
	touch(room);
	return p;
}

/* Both at once: realigned, of varying size, and with many arguments. */
APART static void *
with_everything(size_t n, int a, int b, int c, int d, int e, int f, int g)
{
	__attribute__((aligned(128))) char room[128];
	char *more = alloca(n);
	void *p;

	touch(room);
	touch(more);
	THROUGH(p = with_aligned_frame((size_t)(a + b + c + d + e + f + g)));
	touch(room);
	return p;
}

/* --- tail calls ---------------------------------------------------------- */

APART static void *
tail_end(size_t n)
{
	void *p;

	KEEP(p, malloc(n));
	touch(p);
	return p;
}

APART static void *
tail_second(size_t n)
{
	TAIL(void *, tail_end(n + 1));
}

APART static void *
tail_first(size_t n)
{
	TAIL(void *, tail_second(n + 1));
}

/* --- all of them --------------------------------------------------------- */

int
main(void)
{
	__attribute__((aligned(64))) char room[64];
	void *p;

	touch(room);
	chain_case("family");
	THROUGH(family());
	chain_case("inlined");
	THROUGH(p = outer(30));
	THROUGH(p = inner(31));
	chain_case("recursion");
	for (int depth = 0; depth < DEEP; depth += 7)
		THROUGH(p = recurse(depth));
	THROUGH(p = recurse(DEEPER));
	THROUGH(p = ping(DEEP));
	THROUGH(p = ping(9));
	chain_case("callbacks");
	THROUGH(callbacks());
	THROUGH(p = by_pointer(malloc, 26));
	chain_case("frames of varying size");
	for (size_t n = 16; n < 6000; n = n * 3 / 2 + 8)
		THROUGH(p = with_alloca(n));
	for (int n = 3; n < 900; n *= 3)
		THROUGH(p = with_array(n));
	THROUGH(p = with_large_frame());
	chain_case("realigned frames");
	for (size_t n = 30; n < 34; n++)
		THROUGH(p = with_aligned_frame(n));
	for (size_t n = 30; n < 900; n *= 3)
		THROUGH(p = with_everything(n, 1, 2, 3, 4, 5, 6, 7));
	chain_case("tail calls");
	THROUGH(p = tail_first(40));
	THROUGH(p = tail_second(41));
	THROUGH(p = tail_end(42));
	touch(p);
	chain_tell_and_wait();
	return 0;
}
