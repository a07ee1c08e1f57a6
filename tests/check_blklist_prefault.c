/*
 * Memory that is made present beside: it comes, it changes no byte, and it does
 * not come any more where it is no longer wanted.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/base/pmem.h"
#include "../src/blklist/list.h"
#include "../src/blklist/memory.h"
#include "harness.h"

#define PIECE LIST_HUGE
#define PIECES 40		/* more than can wait */
#define LIVE 600000u
#define GROWN 100000u		/* from then on memory is to be there */

static size_t page;

static unsigned char *
map(size_t bytes)
{
	unsigned char *p = list_map(bytes);

	page = (size_t)sysconf(_SC_PAGESIZE);
	ck_assert_ptr_nonnull(p);
	return p;
}

/* Pages of [p, p + bytes) that are there. */
static size_t
present(void *p, size_t bytes)
{
	unsigned char *there = malloc(bytes / page);
	size_t n = 0;

	ck_assert_ptr_nonnull(there);
	ck_assert_int_eq(mincore(p, bytes, there), 0);
	for (size_t i = 0; i < bytes / page; i++)
		n += there[i] & 1;
	free(there);
	return n;
}

CASE("core", .setup = blklist_start_prefault_thread);

TEST(memory_that_was_asked_for_comes)
{
	unsigned char *p = map(PIECES * (size_t)PIECE);

	for (size_t i = 0; i < PIECES; i++)
		populate_ask(p + i * PIECE, PIECE, false);
	populate_wait();
	ck_assert_uint_eq(present(p, PIECES * (size_t)PIECE),
	    PIECES * (size_t)PIECE / page);
	list_unmap(p, PIECES * (size_t)PIECE);
}

/* As at the end of a piece that was asked for too late. */
TEST(bytes_that_are_written_meanwhile_stay)
{
	unsigned char *p = map(PIECES * (size_t)PIECE);
	size_t i;

	for (i = 0; i < PIECES; i++)
		populate_ask(p + i * PIECE, PIECE, false);
	memset(p, 0xa5, PIECES * (size_t)PIECE);
	populate_wait();
	for (i = 0; i < PIECES * (size_t)PIECE; i++)
		if (p[i] != 0xa5)
			break;
	ck_assert_uint_eq(i, PIECES * (size_t)PIECE);
	list_unmap(p, PIECES * (size_t)PIECE);
}

TEST(memory_that_was_forgotten_does_not_come)
{
	unsigned char *p = map(PIECES * (size_t)PIECE);
	unsigned char *half = p + PIECES / 2 * (size_t)PIECE;

	for (size_t i = PIECES; i-- > 0; )
		populate_ask(p + i * PIECE, PIECE, false);
	list_release(p, half);
	populate_wait();
	ck_assert_uint_eq(present(p, PIECES / 2 * (size_t)PIECE), 0);
	ck_assert_uint_eq(present(half, PIECES / 2 * (size_t)PIECE),
	    PIECES / 2 * (size_t)PIECE / page);
	list_unmap(p, PIECES * (size_t)PIECE);
}

TEST(pages_that_are_touched_come_as_they_were)
{
	unsigned char *p = map(PIECE);

	p[0] = 0x5a;
	p[page] = 0xa5;
	populate_touch(p, PIECE);
	ck_assert_uint_eq(present(p, PIECE), PIECE / page);
	ck_assert_uint_eq(p[0], 0x5a);
	ck_assert_uint_eq(p[page], 0xa5);
	ck_assert_uint_eq(p[2 * page], 0);
	list_unmap(p, PIECE);
}

/*
 * Its parent's thread is not there: it would be waited for.  ThreadSanitizer
 * allows such a child none.
 */
#ifndef SANITIZED
TEST(forked_child_has_a_thread_of_its_own)
{
	unsigned char *p = map(2 * (size_t)PIECE);
	int status;
	pid_t pid;

	populate_ask(p, PIECE, false);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		populate_cancel(p, PIECE);
		populate_ask(p + PIECE, PIECE, false);
		populate_wait();
		_exit(present(p + PIECE, PIECE) != PIECE / page);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	list_unmap(p, 2 * (size_t)PIECE);
}

static long
faults(void)
{
	struct rusage u;

	ck_assert_int_eq(getrusage(RUSAGE_THREAD, &u), 0);
	return u.ru_minflt;
}

/*
 * Pages of a kept list's records are not huge, as a rule: each hundred of them
 * would be a fault, or each seven hundred if memory were asked for no earlier
 * than it is used.  Some are left, of what is taken by the bit.
 */
TEST(growing_list_finds_its_memory_there)
{
	static struct rec rec[LIST_CHUNK];
	struct blklist_batch batch = { .rec = rec, .n = LIST_CHUNK };
	struct pmem *memory;
	struct blklist *l;
	long taken = 0;

	ck_assert_int_eq(pmem_new(&memory, "check", 0), 0);
	ck_assert_int_eq(blklist_new_persistent(&l, 1 << 20, memory), 0);
	for (uint32_t n = 0; n < LIVE; n += LIST_CHUNK) {
		long before;

		for (uint32_t i = 0; i < LIST_CHUNK; i++)
			rec[i] = (struct rec){ .w = {
				rec_w0(UINT64_C(0x555500000000) +
				    (n + i) * UINT64_C(32), REC_FLAGS(REC_ALLOC,
				    0), TYPE_MALLOC), rec_w1(24, 1),
				rec_w2(0, 1), rec_w3(0x1234, 0) } };
		batch.seq = n + 1;
		before = faults();
		blklist_apply(l, &batch);
		if (n >= GROWN)
			taken += faults() - before;
		blklist_prefault(l);
		populate_wait();
	}
	ck_assert_int_lt(taken, (LIVE - GROWN) / 2000);
	blklist_free(l);
	pmem_free(memory);
}
#endif
