/*
 * plugin: compiled twice, with other names for the same code; plugins.c loads
 * one after the other.
 */
#include <stdlib.h>

#include "chain.h"

#ifndef PLUGIN
#define PLUGIN a
#endif
#define NAMED(name, plugin) name##_of_##plugin
#define NAME(name, plugin) NAMED(name, plugin)

void *host_allocate(size_t);
void *run(size_t);

static void
touch(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

INSIDE static void *
NAME(inner, PLUGIN)(size_t n)
{
	INLINED;
	void *p;

	KEEP(p, malloc(n));
	touch(p);
	return p;
}

APART static void *
NAME(outer, PLUGIN)(size_t n)
{
	void *p;

	THROUGH(p = NAME(inner, PLUGIN)(n));
	THROUGH(p = host_allocate(n));
	return p;
}

APART void *
run(size_t n)
{
	void *p;

	THROUGH(p = NAME(outer, PLUGIN)(n));
	touch(p);
	return p;
}
