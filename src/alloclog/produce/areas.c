/*
 * System calls go by number where libc's would be a cancellation point; errno
 * is put back.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../unwind/syscalls.h"
#include "rings.h"
#include "../unwind/unwind.h"

static const struct produce_gate gate_unattached;
static const struct keeper_area dormant_area;
static struct produce_gate gate_disabled = { .keeper = &dormant_area };

_Atomic(const struct produce_gate *) produce_gate = &gate_unattached;

static _Atomic(struct shared *) shared_page;

static _Atomic size_t bootstrap_blocks;

/* Copied by fork: the areas of this and earlier eras, which stay mapped. */
static struct ring_area *mapped_area[PRODUCE_ERAS];
static bool mapped_over[PRODUCE_ERAS];	/* over another area, that may still be written */
static bool next_mapped_over;
static const struct keeper_area *mapped_keeper;
static unsigned mapped_now;

/* Areas of parents, replaced by memory that nobody reads. */
static struct parent_area {
	struct ring_area *area;
	bool bare;		/* the larger rings' has no access */
} parent_areas[PRODUCE_ERAS];
static unsigned tickets_now;	/* of PRODUCE_ERAS */
static uint32_t eras;		/* begun so far */
static _Atomic uint64_t stream_id;

static const struct era *
era_now(struct shared **sh)
{
	*sh = atomic_load_explicit(&shared_page, memory_order_acquire);
	if (*sh == NULL)
		return NULL;
	return atomic_load_explicit(&(*sh)->now, memory_order_acquire);
}

bool
joined_get(struct joined *j)
{
	const struct era *era = era_now(&j->sh);

	if (era == NULL)
		return false;
	j->keeper = era->keeper;
	j->area = era->area;
	j->tickets = era->tickets;
	j->era = era->number;
	/* A handler's fork in between wipes what was left to read. */
	return j->keeper != NULL && j->area != NULL && j->tickets != NULL;
}

/* One mapping, because each further one costs a short program time. */
struct own {
	char wiped[65536];	/* wiped by forks; the size of the largest page */
	struct ticket tickets[PRODUCE_ERAS * REC_SHARDS];
};

static _Atomic(struct own *) own_memory;
static _Atomic size_t own_taken;	/* bytes of `wiped` in use */

static struct own *
own_get(void)
{
	struct own *own = atomic_load(&own_memory), *none = NULL;

	if (own != NULL || (own = call_map_wiped(sizeof(*own),
		sizeof(own->wiped))) == NULL ||
	    atomic_compare_exchange_strong(&own_memory, &none, own))
		return own;
	call_unmap_private(own, sizeof(*own));
	return none;
}

void *
produce_wiped(size_t size)
{
	struct own *own = own_get();
	size_t at;

	if (own == NULL)
		return NULL;
	at = atomic_fetch_add(&own_taken, (size + 63) & ~(size_t)63);
	return at < sizeof(own->wiped) && sizeof(own->wiped) - at >= size ?
	    own->wiped + at : NULL;
}

struct ticket *
produce_tickets_now(void)
{
	struct own *own = own_get();

	return own != NULL ? &own->tickets[tickets_now * REC_SHARDS] : NULL;
}

/* No producer belongs to these: events take the slow path. */
static const struct keeper_area area_while_opening = { .armed = RING_ARMED };
static const struct keeper_area area_of_nobody = { .armed = RING_ARMED };

/*
 * Opens the fast path unless there is a bootstrap block or a fork.  If one
 * begins meanwhile, it replaces the area that the exchange expects, which then
 * fails.  One caller at a time.
 */
static void
gate_open_fast_path(struct produce_gate *gate, const struct keeper_area *keeper)
{
	const struct keeper_area *area = &area_while_opening;

	atomic_store(&gate->fast_path, keeper != NULL ? area : NULL);
	if (atomic_load(&bootstrap_blocks) != 0 || atomic_load(&gate->shut) != 0)
		keeper = &area_of_nobody;
	(void)atomic_compare_exchange_strong(&gate->fast_path, &area, keeper);
}

/* NULL stays: a sampling process checks its blocks anyway. */
static void
gate_close_fast_path(struct produce_gate *gate)
{
	const struct keeper_area *area = atomic_load(&gate->fast_path);

	while (area != NULL &&
	    !atomic_compare_exchange_weak(&gate->fast_path, &area,
		&area_of_nobody))
		;
}

/* Changes neither another keeper's gate nor a closed fast path. */
static void
gate_remove_keeper(struct produce_gate *gate, const struct keeper_area *keeper)
{
	const struct keeper_area *area = keeper;

	(void)atomic_compare_exchange_strong(&gate->fast_path, &area, NULL);
	area = keeper;
	(void)atomic_compare_exchange_strong(&gate->keeper, &area, NULL);
}

void
produce_bootstrap_block(void)
{
	struct shared *sh;

	atomic_fetch_add(&bootstrap_blocks, 1);
	gate_close_fast_path(&gate_disabled);
	(void)era_now(&sh);
	if (sh != NULL)
		gate_close_fast_path(&sh->gate);
}

void
produce_bootstrap_freed(void)
{
	atomic_fetch_sub(&bootstrap_blocks, 1);
}

struct produce_gate *
produce_own_gate(void)
{
	struct shared *sh;

	return era_now(&sh) != NULL ? &sh->gate : NULL;
}

void
produce_shut_gate(struct produce_gate *gate, uint32_t word)
{
	atomic_store(&gate->shut, word);
	gate_close_fast_path(gate);
}

bool
produce_shut_open_gate(struct produce_gate *gate, uint32_t word)
{
	uint32_t open = 0;

	if (!atomic_compare_exchange_strong(&gate->shut, &open, word))
		return false;
	gate_close_fast_path(gate);
	return true;
}

/* The keeper may leave meanwhile. */
void
produce_open_gate(struct produce_gate *gate)
{
	const struct keeper_area *keeper = atomic_load(&gate->keeper), *area;

	gate_open_fast_path(gate, keeper);
	area = keeper;
	if (keeper != NULL && atomic_load(&gate->keeper) != keeper)
		(void)atomic_compare_exchange_strong(&gate->fast_path, &area,
		    NULL);
}

/* A child that has not attached still has its parent's area mapped. */
uint32_t
produce_passed(void)
{
	struct joined j;
	struct ring_area *area = joined_get(&j) ? j.area :
	    mapped_area[mapped_now];

	return area != NULL ? atomic_load(&area->passed) : 0;
}

static struct shared *
shared_map(void)
{
	struct shared *sh = produce_wiped(sizeof(*sh));

	if (sh == NULL)
		return NULL;
	atomic_store_explicit(&shared_page, sh, memory_order_release);
	atomic_store_explicit(&produce_gate, &sh->gate, memory_order_release);
	return sh;
}

#define READ_WRITE (PROT_READ | PROT_WRITE)

/*
 * Shared, because RLIMIT_DATA does not count that; children only write to it.
 */
static bool
replace_mapping(void *addr, size_t size, int prot)
{
	return call_mmap(addr, size, prot,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
	    MAP_FAILED;
}

/*
 * Memory without access stays without it, by mmap(2): a filter may kill for
 * another call.  Areas beyond PRODUCE_ERAS are not remembered.
 */
static void
replace_area(struct ring_area *area, bool over)
{
	bool hidden = !over && !rings_large_taken(area);
	size_t offset, bytes = ring_larger(&offset);

	/* An address that is free may soon be another mapping's. */
	if (!replace_mapping(area, RING_ALIGN(ring_area_size()), READ_WRITE))
		return;
	hidden = hidden &&
	    replace_mapping((char *)area + offset, bytes, PROT_NONE);
	for (unsigned i = 0; i < PRODUCE_ERAS; i++)
		if (parent_areas[i].area == NULL) {
			parent_areas[i] = (struct parent_area){ area, hidden };
			return;
		}
}

bool
produce_was_parents(uintptr_t addr)
{
	for (unsigned i = 0; i < PRODUCE_ERAS; i++)
		if (parent_areas[i].area != NULL &&
		    addr - (uintptr_t)parent_areas[i].area < ring_area_size())
			return true;
	return false;
}

void
produce_set_mapped_over(struct ring_area *area, bool over)
{
	next_mapped_over = over;
	if (over)
		rings_set_open(area);
}

void *
produce_attach_address(bool *bare)
{
	struct parent_area found = { .bare = true };

	for (unsigned i = 0; found.area == NULL && i < PRODUCE_ERAS; i++)
		if (parent_areas[i].area != NULL) {
			found = parent_areas[i];
			parent_areas[i].area = NULL;
		}
	*bare = found.bare;
	return found.area;
}

void
produce_orphan(void)
{
	struct keeper_area *keeper;
	int saved = errno;

	if (mapped_keeper == NULL || produce_attached())
		return;
	sites_detach();
	for (unsigned i = 0; i < PRODUCE_ERAS; i++)
		if (mapped_area[i] != NULL)
			replace_area(mapped_area[i], mapped_over[i]);
	keeper = (struct keeper_area *)(uintptr_t)mapped_keeper;
	/* An interrupted event must not take it for dormant. */
	if (replace_mapping(keeper, RING_ALIGN(sizeof(*keeper)), READ_WRITE))
		atomic_store_explicit(&keeper->armed, RING_ARMED,
		    memory_order_relaxed);
	memset(mapped_area, 0, sizeof(mapped_area));
	mapped_keeper = NULL;
	errno = saved;
}

/*
 * The last line begins the era.  The gate comes first: the free of a block
 * logged in the new era must not find it shut.
 */
static void
era_begin(struct shared *sh, struct ring_area *area,
    const struct keeper_area *keeper, uint64_t stream)
{
	struct era *era = &sh->eras[++eras % ERAS_KEPT];
	const struct keeper_area *gate;

	*era = (struct era){
		.area = area,
		.keeper = keeper,
		.tickets = produce_tickets_now(),
		.stream = stream,
		.sample = atomic_load_explicit(&keeper->sample,
		    memory_order_relaxed),
		.number = eras,
	};
	mapped_area[mapped_now] = area;
	mapped_over[mapped_now] = next_mapped_over;
	mapped_keeper = keeper;
	atomic_store_explicit(&stream_id, stream, memory_order_relaxed);
	atomic_store_explicit(&sh->stalled, 0, memory_order_relaxed);
	gate = era->sample == 0 ? keeper : NULL;
	atomic_store_explicit(&sh->gate.keeper, gate, memory_order_release);
	gate_open_fast_path(&sh->gate, gate);
	atomic_store_explicit(&sh->now, era, memory_order_release);
}

/* Tells the keeper that its area is in use. */
static void
area_begin(struct ring_area *area)
{
	atomic_store_explicit(&area->version, RING_VERSION,
	    memory_order_relaxed);
	atomic_store_explicit(&area->magic, RING_MAGIC, memory_order_release);
}

void
produce_attach(struct ring_area *area, const struct keeper_area *keeper,
    uint64_t stream)
{
	struct shared *sh = atomic_load_explicit(&shared_page,
	    memory_order_acquire);

	produce_orphan();
	libc_begin();
	if (sh == NULL)
		sh = shared_map();
	if (sh == NULL || produce_tickets_now() == NULL)
		return;
	memset(mapped_area, 0, sizeof(mapped_area));
	area_begin(area);
	sites_attach(area);
	era_begin(sh, area, keeper, stream);
}

/*
 * No event begins here any more.  A keeper that was only stopped sees another's
 * area.  The heads stay: by them handlers know of events under way.  Without
 * access no memory would be returned.
 */
static void
area_end(struct ring_area *area)
{
	atomic_store_explicit(&area->magic, RING_MAGIC_LEFT,
	    memory_order_release);
	rings_open_large(area);
	(void)call_madvise((char *)area + RING_SLOTS_OFFSET,
	    RING_ALIGN(ring_area_size()) - RING_SLOTS_OFFSET, MADV_REMOVE);
}

void
areas_populate_tickets(void)
{
	static _Atomic bool done;	/* inherited by forked children */
	struct own *own = own_get();

	if (own != NULL && !atomic_exchange(&done, true))
		call_populate(own->tickets, REC_SHARDS * sizeof(struct ticket));
}

static void
tickets_next(void)
{
	unsigned next = (tickets_now + 1) % PRODUCE_ERAS;
	struct own *own = own_get();

	for (unsigned s = 0; s < REC_SHARDS; s++)
		atomic_store_explicit(&own->tickets[next * REC_SHARDS + s].next,
		    0, memory_order_relaxed);
	tickets_now = next;
}

void *
produce_rejoin_address(void)
{
	return mapped_area[(mapped_now + 1) % PRODUCE_ERAS];
}

bool
produce_rejoin(struct ring_area *area, const struct keeper_area *keeper,
    uint64_t stream)
{
	int saved = errno;
	struct joined old;
	bool asleep;

	if (!joined_get(&old))
		return false;
	asleep = replace_mapping((void *)(uintptr_t)old.keeper,
	    RING_ALIGN(sizeof(*keeper)), READ_WRITE);
	if (asleep) {
		sites_move(old.area, area);
		area_begin(area);
		tickets_next();
		mapped_now = (mapped_now + 1) % PRODUCE_ERAS;
		era_begin(old.sh, area, keeper, stream);
		area_end(old.area);
	}
	errno = saved;
	return asleep;
}

bool
produce_attached(void)
{
	struct joined j;

	return joined_get(&j);
}

void
produce_exited(void)
{
	struct joined j;

	if (joined_get(&j))
		atomic_store_explicit(&j.area->exited, 1,
		    memory_order_relaxed);
}

uint64_t
produce_stream(void)
{
	return atomic_load_explicit(&stream_id, memory_order_relaxed);
}

/* This process's keeper; in an unattached child its parent's. */
static const struct keeper_area *
last_keeper(void)
{
	struct joined j;

	return joined_get(&j) ? j.keeper : mapped_keeper;
}

enum ring_sandbox
produce_sandbox(void)
{
	const struct keeper_area *k = last_keeper();

	return k == NULL ? RING_SANDBOX_UNKNOWN :
	    (enum ring_sandbox)atomic_load_explicit(&k->sandbox,
		memory_order_relaxed);
}

uint64_t
produce_keeper_looks(void)
{
	const struct keeper_area *k = last_keeper();

	return k == NULL ? 0 :
	    (uint64_t)atomic_load_explicit(&k->looks, memory_order_acquire);
}

uint64_t
produce_keeper_ms(void)
{
	const struct keeper_area *k = last_keeper();

	return k == NULL ? 0 :
	    (uint64_t)atomic_load_explicit(&k->ms, memory_order_relaxed);
}

bool
produce_image(uint64_t *image)
{
	struct shared *sh;
	const struct era *era = era_now(&sh);

	if (era == NULL)
		return false;
	*image = era->stream;
	return true;
}

uint32_t
produce_stack_wanted(void)
{
	struct joined j;

	return joined_get(&j) ? atomic_load_explicit(&j.keeper->stack,
	    memory_order_relaxed) : 0;
}

uint64_t
produce_sample_wanted(void)
{
	struct shared *sh;
	const struct era *era = era_now(&sh);

	return era != NULL ? era->sample : 0;
}

void
produce_disable(void)
{
	gate_open_fast_path(&gate_disabled, &dormant_area);
	atomic_store_explicit(&produce_gate, &gate_disabled,
	    memory_order_release);
}

bool
produce_wanted(void)
{
	struct joined j;

	return joined_get(&j) && produce_area_armed(j.keeper);
}

bool
produce_keeper_left(void)
{
	struct joined j;

	if (!joined_get(&j) || atomic_load_explicit(&j.keeper->armed,
		memory_order_relaxed) != RING_LEFT)
		return false;
	gate_remove_keeper(&j.sh->gate, j.keeper);
	return true;
}
