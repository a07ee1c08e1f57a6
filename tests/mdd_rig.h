/*
 * The core of src/mdd/target inside a test, with a port of the test's own.  The
 * including file has set what the core is compiled with.
 */
#ifndef TESTS_MDD_RIG_H
#define TESTS_MDD_RIG_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

#include "../src/base/base.h"

#include "../src/mdd/target/core.c"
#include "../src/mdd/target/settings.c"

static _Atomic size_t memory_left;		/* bytes that the port still has */
static void (*when_memory)(void);	/* called by it, inside the shard's lock */
static uint64_t ticks;
static _Thread_local uint32_t word_of_thread;

void *
mdd_port_memory(size_t bytes)
{
	void *memory;

	if (when_memory != NULL)
		when_memory();
	if (bytes > memory_left)
		return NULL;
	memory_left -= bytes;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory != MAP_FAILED ? memory : NULL;
}

#if MDD_SHARDS > 1
uintptr_t
mdd_port_self(void)
{
	return (uintptr_t)&word_of_thread;
}

static unsigned waits;

int
mdd_port_wait(unsigned turn)
{
	__atomic_add_fetch(&waits, 1, __ATOMIC_RELAXED);
	usleep(turn < 100 ? 0 : 100);
	return turn < 2000;
}
#else
static uintptr_t locks;			/* that are held, one inside the other */

uintptr_t
mdd_port_lock(void)
{
	return locks++;
}

void
mdd_port_unlock(uintptr_t before)
{
	ck_assert_uint_eq(before, locks - 1);
	locks = before;
}
#endif

uint64_t
mdd_port_ticks(uint32_t *hz)
{
	*hz = 100;
	return ticks;
}

#define CALLER_OF(i) (0x400000 + (uintptr_t)(i) * 4)

void
mdd_port_stack(uintptr_t caller, uintptr_t *level, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		level[i] = caller + 0x1000 * (i + 1);
}

static void
start(unsigned options, unsigned levels, unsigned history)
{
	const struct mdd_opts o = { .options = options, .levels = levels,
		.history_records = history };

	memset(&mdd_root, 0, sizeof mdd_root);
	memset(shard, 0, sizeof shard);
#if MDD_SHARDS > 1
	memset(pending, 0, sizeof pending);
	overflow_owner = 0;
	waits = 0;
#endif
	word_of_thread = 0;
	when_memory = NULL;
	memory_left = SIZE_MAX;
	ticks = 0;
	ck_assert_int_eq(mdd_start(&o), 0);
}

/* The record of a block, found as a dump does: slot by slot; NULL: none. */
static unsigned char *
find(uintptr_t ptr)
{
	unsigned char *record, *found = NULL;
	uint32_t i;
	unsigned k;

	for (k = 0; k < MDD_SHARDS; k++)
		for (i = 0; i < shard[k].used; i++) {
			record = slot_record(&shard[k], i);
			if (*word_at(record, 0) != ptr)
				continue;
			ck_assert_ptr_null(found);
			found = record;
		}
	return found;
}

static uint32_t
listed(void)
{
	uint32_t i, n = 0, sum = 0;
	unsigned k;

	for (k = 0; k < MDD_SHARDS; k++) {
		sum += shard[k].current;
		for (i = 0; i < shard[k].used; i++)
			n += *word_at(slot_record(&shard[k], i), 0) != 0;
	}
	ck_assert_uint_eq(n, sum);
	return n;
}

/* The history record of that index; NULL: it was overwritten. */
static inline unsigned char *
event_of(uint32_t index)
{
	unsigned char *record = (unsigned char *)mdd_root.history +
	    index % mdd_root.history_records * (size_t)mdd_root.event_bytes;

	return record_link(record) == ((index + 1) & MDD_LINK_MASK) ? record :
	    NULL;
}

#define ALL (MDD_OPT_ACTUAL_SIZE | MDD_OPT_TIMESTAMP | MDD_OPT_THREAD | \
	MDD_OPT_BACKTRACE | MDD_OPT_HISTORY)

#endif
