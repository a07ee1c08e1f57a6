/*
 * A pool that pagek can see into: it says where its memory lies and names each
 * block, so that page K shows what is free between them, and how much of it is
 * in one piece.
 *
 *	cc -I/usr/local/include -o pool examples/pool.c
 *	pagek run -- ./pool 65536 600
 *
 * Bytes of the pool, and of its largest request.  A line on standard input is a
 * number of steps, each of which takes a block or gives one back; then the pool
 * prints its own map of what is free.  At the end of input it ends.
 *
 * Needs no library: without one the calls are not made.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#pragma weak alloclog_alloc
#pragma weak alloclog_free
#pragma weak alloclog_type
#pragma weak alloclog_region
#pragma weak alloclog_region_end
#include "alloclog.h"

#define HEAD 16			/* before each block: its size */
#define ALIGN 16
#define BUFFER 0xc8
#define HELD_MAX 65536

/* What is free, in address order; it lies in the memory that it is about. */
struct chunk {
	struct chunk *next;
	size_t size;
};

static struct {
	char *base;
	size_t size;
	struct chunk *free;
} pool;

static void
pool_open(size_t size)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED) {
		perror("pool");
		exit(1);
	}
	pool.base = base;
	pool.size = size;
	pool.free = base;
	*pool.free = (struct chunk){ NULL, size };
	if (alloclog_region != NULL) {
		alloclog_type(BUFFER, "BUFFER", "buffer of the pool");
		alloclog_region(base, size, HEAD, ALIGN, "buffers");
	}
}

static void
pool_close(void)
{
	if (alloclog_region_end != NULL)
		alloclog_region_end(pool.base);
	munmap(pool.base, pool.size);
}

/* The first chunk that is large enough; what is left of it stays free. */
static void *
pool_take(size_t size)
{
	size_t whole = HEAD + (size + ALIGN - 1) / ALIGN * ALIGN;
	struct chunk **link = &pool.free, *c, *rest;
	char *block;

	while (*link != NULL && (*link)->size < whole)
		link = &(*link)->next;
	c = *link;
	if (c == NULL)
		return NULL;
	if (c->size > whole) {
		rest = (struct chunk *)((char *)c + whole);
		*rest = (struct chunk){ c->next, c->size - whole };
		*link = rest;
	} else {
		*link = c->next;
	}
	*(size_t *)c = whole;
	block = (char *)c + HEAD;
	if (alloclog_alloc != NULL)
		alloclog_alloc(block, size, BUFFER);
	return block;
}

/* Told before it can be anybody else's; then joined with its neighbours. */
static void
pool_give(void *block)
{
	struct chunk *c = (struct chunk *)((char *)block - HEAD), *before = NULL;
	size_t size = *(size_t *)c;

	if (alloclog_free != NULL)
		alloclog_free(block);
	for (struct chunk *f = pool.free; f != NULL && f < c; f = f->next)
		before = f;
	*c = (struct chunk){ before != NULL ? before->next : pool.free, size };
	if (before != NULL)
		before->next = c;
	else
		pool.free = c;
	if (c->next != NULL && (char *)c + c->size == (char *)c->next) {
		c->size += c->next->size;
		c->next = c->next->next;
	}
	if (before != NULL && (char *)before + before->size == (char *)c) {
		before->size += c->size;
		before->next = c->next;
	}
}

/* What no block fits into is nobody's, and not worth a line. */
static void
print_map(unsigned long held)
{
	size_t sum = 0, largest = 0;

	for (const struct chunk *c = pool.free; c != NULL; c = c->next) {
		if (c->size < HEAD + ALIGN)
			continue;
		printf("free %012" PRIxPTR " %zu\n", (uintptr_t)c, c->size);
		sum += c->size;
		if (c->size > largest)
			largest = c->size;
	}
	printf("held %lu free %zu largest %zu\n", held, sum, largest);
	fflush(stdout);
}

static unsigned long
number(const char *text, unsigned long otherwise)
{
	unsigned long n = text != NULL ? strtoul(text, NULL, 10) : 0;

	return n != 0 ? n : otherwise;
}

static uint32_t
chance(uint32_t below)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % below;
}

int
main(int argc, char **argv)
{
	static void *held[HELD_MAX];
	unsigned long n = 0, steps;
	uint32_t largest;
	char line[80];

	largest = (uint32_t)number(argc > 2 ? argv[2] : NULL, 600);
	pool_open(number(argc > 1 ? argv[1] : NULL, 65536) / ALIGN * ALIGN);
	while (fgets(line, sizeof line, stdin) != NULL) {
		for (steps = number(line, 1); steps > 0; steps--) {
			void *block = n < HELD_MAX && (n == 0 || chance(5) > 1) ?
			    pool_take(1 + chance(largest)) : NULL;

			if (block != NULL) {
				held[n++] = block;
			} else if (n > 0) {
				uint32_t i = chance((uint32_t)n);

				pool_give(held[i]);
				held[i] = held[--n];
			}
		}
		print_map(n);
	}
	while (n > 0)
		pool_give(held[--n]);
	pool_close();
	return 0;
}
