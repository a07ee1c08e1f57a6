/*
 * An area that stacks and modules are written into, and where in it they are.
 */
#ifndef TESTS_SITES_RIG_H
#define TESTS_SITES_RIG_H

#include <sys/mman.h>

#include "../src/alloclog/produce/produce.h"
#include "../src/alloclog/unwind/unwind.h"
#include "harness.h"

static inline struct ring_area *
area_map(void)
{
	void *p = mmap(NULL, ring_area_size(), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert(p != MAP_FAILED);
	return p;
}

static inline struct ring_area *
area_joined(void)
{
	struct ring_area *area = area_map();

	sites_attach(area);
	return area;
}

static inline struct ring_module *
module_of(struct ring_area *area, unsigned no)
{
	return (struct ring_module *)((char *)area + ring_modules_offset()) +
	    no;
}

#endif
