/*
 * Cuts of the program's mappings at page borders, which the keeper asks for to
 * count references (ring.h): madvise(2) alone, some calls at each look at a tail,
 * by whichever thread looks.
 *
 * Advice on access means little for anonymous memory, and the keeper asks for no
 * other; but the range may be another mapping's by now, which then reads its file
 * ahead or not until the cuts are undone.  So a request is carried out at once or
 * not at all, and what has been cut is remembered: a forked child and the target of
 * a new keeper take the advice back at their first look.  Only a request for a
 * descriptor may wait, because it names no range: its keeper asks for it again and
 * again, so one that is killed or wants it no more lets it become late.
 *
 * Known limits
 *	A forked child keeps the borders, because the kernel does not merge what
 *	it has copied one by one; without attaching it keeps the advice too.
 *	A system call by number that moves a range with cuts fails (mremap(2)).
 *	A longjmp out of a handler that interrupted this ends all cutting.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../unwind/syscalls.h"
#include "keeper_watch.h"
#include "rings.h"

#define PACE 64		/* events between two looks of a thread, soon after a request */
#define CALLS 32	/* of madvise(2) at one look: some tens of microseconds */
#define FLUSH_BYTES (64 * (size_t)RING_PAGE)	/* x86 flushes page by page up to 33 */
#define UNDO_BYTES (64 * (size_t)RING_PAGE)	/* in one call, with so many cuts at most */

/* Ranges with cuts; written by the thread that has cutting.busy. */
static struct cut_range {
	_Atomic uint64_t from, to;
} ranges[RING_CUT_RANGES] SELDOM;
static _Atomic uint32_t nranges;

static bool
advise(uint64_t at, uint64_t bytes, enum ring_advice advice)
{
	static const int madv[] = {
		[RING_NORMAL] = MADV_NORMAL,
		[RING_RANDOM] = MADV_RANDOM,
		[RING_SEQUENTIAL] = MADV_SEQUENTIAL,
	};

	return (unsigned)advice < sizeof(madv) / sizeof(madv[0]) &&
	    call_madvise((void *)(uintptr_t)at, bytes, madv[advice]) == 0;
}

/* False: there is no room to remember it, so it must not be cut. */
static bool
remember(uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < nranges; i++)
		if (ranges[i].from <= from && to <= ranges[i].to)
			return true;
	if (nranges == RING_CUT_RANGES)
		return false;
	ranges[nranges].from = from;
	ranges[nranges].to = to;
	/* Last: a fork meanwhile copies a whole range, or none. */
	nranges++;
	return true;
}

/* Undoes some cuts of a range from its beginning on; true when that was all. */
static bool
undo_some(uint64_t *from, uint64_t to, unsigned *calls)
{
	uint64_t bytes;

	for (; *from < to && *calls > 0; --*calls) {
		bytes = to - *from < UNDO_BYTES ? to - *from : UNDO_BYTES;
		(void)advise(*from, bytes, RING_NORMAL);
		*from += bytes;
	}
	return *from >= to;
}

static bool
undo_all(unsigned *calls)
{
	while (nranges > 0) {
		struct cut_range *last = &ranges[nranges - 1];
		uint64_t from = last->from;
		bool all = undo_some(&from, last->to, calls);

		last->from = from;
		if (!all)
			return false;
		nranges--;
	}
	return true;
}

/*
 * An address that a processor holds sets no accessed bit.  The kernel makes all
 * processors forget the process's addresses when it unmaps a long range.
 */
static void
flush_tlb(void)
{
	char *at = call_mmap(NULL, FLUSH_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return;
	*(volatile char *)at = 1;
	*(volatile char *)(at + FLUSH_BYTES - 1) = 1;
	(void)call_munmap(at, FLUSH_BYTES);
}

static void
forget(uint64_t from, uint64_t to)
{
	for (uint32_t i = nranges; i-- > 0; )
		if (from <= ranges[i].from && ranges[i].to <= to) {
			ranges[i].from = ranges[nranges - 1].from;
			ranges[i].to = ranges[nranges - 1].to;
			nranges--;
		}
}

/* Goes on with a cut at `*at`, pages from its beginning; true when it is done. */
static bool
cut_some(const struct ring_cut *c, uint32_t *at, unsigned *calls)
{
	uint64_t from = ring_cut_address(c);
	uint64_t to = from + (uint64_t)c->pages * RING_PAGE, now;
	uint32_t parts = ring_cut_parts(c), i;

	if (c->pages == 0 && c->stripe == RING_CUT_FLUSH) {
		flush_tlb();
		return true;
	}
	if (c->pages == 0 && (c->stripe == RING_CUT_WRITES ||
	    c->stripe == RING_CUT_GUARD)) {
		if (keeper_watch_give != NULL)
			keeper_watch_give(c->stripe);
		return true;
	}
	if (c->pages == 0)
		return undo_all(calls);
	if (parts == 0) {
		now = from + (uint64_t)*at * RING_PAGE;
		if (!undo_some(&now, to, calls)) {
			*at = (uint32_t)((now - from) / RING_PAGE);
			return false;
		}
		forget(from, to);
		return true;
	}
	if (!remember(from, to))
		return true;
	while (*at < c->pages && *calls > 0) {
		i = *at / c->stripe;
		now = from + (uint64_t)*at * RING_PAGE;
		/* The range is gone, or no mapping is left. */
		if (!advise(now, i + 1 == parts ? to - now :
			(uint64_t)c->stripe * RING_PAGE,
			ring_cut_advice(c, i, parts)))
			return true;
		*at = c->pages - *at > c->stripe ? *at + c->stripe : c->pages;
		--*calls;
	}
	return *at >= c->pages;
}

/* The keeper may be wrong and change it meanwhile: its numbers are read once. */
static struct ring_cut
copy_cut(const volatile struct ring_cut *c)
{
	return (struct ring_cut){ c->at, c->pages, c->stripe };
}

static bool
is_undo(const struct ring_cut *c)
{
	return c->stripe == 0;
}

static bool
is_late(const struct joined *j)
{
	return atomic_load_explicit(&j->keeper->ms, memory_order_relaxed) -
	    atomic_load_explicit(&j->keeper->cuts.ms, memory_order_relaxed) >
	    RING_CUTS_MS;
}

static bool
is_asked(const struct joined *j)
{
	return atomic_load_explicit(&j->keeper->cuts.number,
	    memory_order_acquire) != atomic_load_explicit(&j->area->cuts,
	    memory_order_relaxed);
}

/*
 * Makes some of the cuts; answers the request after the last one.  A request that is
 * late, or whose keeper has no heartbeat any more, only undoes cuts.
 */
static void
carry_out(const struct joined *j)
{
	const struct ring_cuts *cuts = &j->keeper->cuts;
	uint32_t number = atomic_load_explicit(&cuts->number,
	    memory_order_acquire);
	uint32_t n = cuts->n < RING_CUTS ? cuts->n : RING_CUTS;
	struct cutting *now = &j->sh->cutting;
	bool makes = !is_late(j) && !keeper_watch_gone() &&
	    libc_page() == RING_PAGE;
	unsigned calls = CALLS;
	struct ring_cut cut;

	/* The cuts of a parent, or of another keeper. */
	if (now->era != j->era) {
		if (!undo_all(&calls))
			return;
		now->entry = now->at = 0;
		atomic_store(&now->era, j->era);
	}
	for (; now->entry < n; now->entry++, now->at = 0) {
		cut = copy_cut(&cuts->cut[now->entry]);
		if ((makes || is_undo(&cut)) &&
		    !cut_some(&cut, &now->at, &calls))
			return;
	}
	now->entry = now->at = 0;
	atomic_store_explicit(&j->area->cuts, number, memory_order_release);
}

bool
cuts_due(const struct joined *j)
{
	return is_asked(j) || (nranges > 0 &&
	    atomic_load_explicit(&j->sh->cutting.era, memory_order_relaxed) !=
	    j->era);
}

uint64_t
cuts_pace(const struct joined *j)
{
	if (is_late(j) || !keeper_watch_allows_calls())
		return UINT64_MAX;
	return is_asked(j) ? 1 : PACE;
}

void
cuts_heed(const struct joined *j)
{
	struct cutting *now = &j->sh->cutting;
	int saved = errno;

	if (atomic_exchange_explicit(&now->busy, 1, memory_order_acquire) != 0)
		return;
	/* Another thread may have ended it meanwhile. */
	if (cuts_due(j))
		carry_out(j);
	atomic_store_explicit(&now->busy, 0, memory_order_release);
	errno = saved;
}

bool
produce_undo_cuts(const void *at, size_t len)
{
	uint64_t from = (uintptr_t)at, to = from + len;
	int saved = errno;
	bool met = false;

	for (uint32_t i = 0; !met && i < nranges && i < RING_CUT_RANGES; i++)
		met = ranges[i].from < to && from < ranges[i].to;
	met = met && keeper_watch_allows_calls() &&
	    advise(from, len, RING_NORMAL);
	errno = saved;
	return met;
}
