/*
 * The table of regions: ordinary memory, which a forked child reports to its
 * own keeper.  The thread that sets an entry's number to BUSY writes it; a
 * reader reads the number before and after.  An end is reported even if its
 * begin was not: another thread may be about to, and the keeper matches them by
 * number.  A fork while another thread writes an entry leaves that entry out of
 * the child's table for good.
 */
#include "produce.h"

#define BUSY UINT32_MAX		/* in place of a number: being written */

struct entry {
	_Atomic uint32_t no;		/* 0: free */
	_Atomic uint64_t told;		/* the stream it was reported to */
	_Atomic uint64_t base, size, shape, name;
};

static SELDOM struct entry table[REGIONS_MAX];
static _Atomic uint32_t numbers;	/* drawn so far, also before forks */

static uint32_t
draw_number(void)
{
	uint32_t no;

	do
		no = atomic_fetch_add_explicit(&numbers, 1,
		    memory_order_relaxed) + 1;
	while (no == 0 || no == BUSY);
	return no;
}

/* A consistent copy; false: the entry holds no region. */
static bool
entry_read(const struct entry *e, struct region *w, uint32_t *no)
{
	uint32_t n = atomic_load_explicit(&e->no, memory_order_acquire);

	if (n == 0 || n == BUSY)
		return false;
	w->base = atomic_load_explicit(&e->base, memory_order_relaxed);
	w->size = atomic_load_explicit(&e->size, memory_order_relaxed);
	w->shape = atomic_load_explicit(&e->shape, memory_order_relaxed);
	w->name = atomic_load_explicit(&e->name, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	*no = n;
	return atomic_load_explicit(&e->no, memory_order_relaxed) == n;
}

/* Once to each stream. */
static void
entry_tell(struct producer *p, struct entry *e)
{
	struct region w;
	uint64_t stream;
	uint32_t no;

	if (!produce_image(&stream) || !entry_read(e, &w, &no) ||
	    atomic_exchange(&e->told, stream) == stream)
		return;
	produce_region(p, REC_CTL_REGION, w.base, w.size,
	    w.shape | (uint64_t)no << 32, w.name);
}

static void
entry_end(struct producer *p, bool tell, struct entry *e, uint64_t base,
    uint32_t no)
{
	uint32_t was = no;

	if (!atomic_compare_exchange_strong(&e->no, &was, BUSY))
		return;
	if (tell)
		produce_region(p, REC_CTL_REGION_END, base, 0,
		    (uint64_t)no << 32, 0);
	atomic_store_explicit(&e->told, 0, memory_order_relaxed);
	atomic_store_explicit(&e->no, 0, memory_order_release);
}

static struct entry *
entry_take(void)
{
	for (unsigned i = 0; i < REGIONS_MAX; i++) {
		uint32_t none = 0;

		if (atomic_compare_exchange_strong(&table[i].no, &none, BUSY))
			return &table[i];
	}
	return NULL;
}

void
regions_begin(struct producer *p, bool tell, const struct region *w)
{
	struct region old;
	struct entry *e;
	uint32_t no;

	/* A region that ended unreported, or that has grown. */
	for (unsigned i = 0; i < REGIONS_MAX; i++)
		if (entry_read(&table[i], &old, &no) &&
		    old.base < w->base + w->size &&
		    w->base < old.base + old.size)
			entry_end(p, tell, &table[i], old.base, no);
	e = entry_take();
	if (e == NULL)
		return;
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&e->base, w->base, memory_order_relaxed);
	atomic_store_explicit(&e->size, w->size, memory_order_relaxed);
	atomic_store_explicit(&e->shape, w->shape, memory_order_relaxed);
	atomic_store_explicit(&e->name, w->name, memory_order_relaxed);
	atomic_store_explicit(&e->no, draw_number(), memory_order_release);
	if (tell)
		entry_tell(p, e);
}

void
regions_end(struct producer *p, bool tell, uint64_t base)
{
	struct region w;
	uint32_t no;

	for (unsigned i = 0; i < REGIONS_MAX; i++)
		if (entry_read(&table[i], &w, &no) && w.base == base) {
			entry_end(p, tell, &table[i], base, no);
			return;
		}
}

void
regions_tell(void)
{
	if (atomic_load(&numbers) == 0)
		return;
	for (unsigned i = 0; i < REGIONS_MAX; i++)
		entry_tell(NULL, &table[i]);
}
