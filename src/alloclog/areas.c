/*
 * The eras of a process: how it joins the areas that its keeper gave, leaves
 * them to the next keeper's or to a forked child's own, and what it knows of
 * the one that it is in.  What is logged there is in produce.h and produce.c.
 *
 * System calls go by syscall(2) where libc's would be a cancellation point, and
 * errno is put back.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "unwind/syscalls.h"
#include "rings.h"
#include "unwind/sites.h"

struct ticket produce_tickets[PRODUCE_ERAS * REC_SHARDS];

static const struct produce_gate nowhere;
static struct keeper_area unarmed;
static struct produce_gate shut = { .keeper = &unarmed };

_Atomic(const struct produce_gate *) produce_gate = &nowhere;

static _Atomic(struct shared *) shared_page;

static _Atomic size_t aliens;

/*
 * Copied by fork: the areas that an orphan still has, and its parent's id.  An
 * image's ring areas stay mapped, the newest and those of the eras before.
 */
static struct ring_area *mapped_area[PRODUCE_ERAS];
static bool mapped_over[PRODUCE_ERAS];	/* another, that somebody may write into yet */
static bool next_over;
static const struct keeper_area *mapped_keeper;
static unsigned mapped_now;

/* Areas of parents, memory of our own by now. */
static struct left {
	struct ring_area *area;
	bool bare;		/* the larger rings' has no access */
} left[PRODUCE_ERAS];
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
	/* A handler that forks between these wipes what was left to read. */
	return j->keeper != NULL && j->area != NULL && j->tickets != NULL;
}

struct ticket *
produce_tickets_now(void)
{
	return &produce_tickets[tickets_now * REC_SHARDS];
}

/* --- the gate ------------------------------------------------------------ */

/* No producer is of these: who finds one here looks closer, by the slow path. */
static const struct keeper_area undecided = { .armed = RING_ARMED };
static const struct keeper_area alienated = { .armed = RING_ARMED };

/*
 * Opens the straight way unless there is an alien: one that comes meanwhile
 * removes the area that the exchange expects.  By one caller at a time, for the
 * exchange would find another caller's area too.
 */
static void
gate_straighten(struct produce_gate *gate, const struct keeper_area *keeper)
{
	const struct keeper_area *way = &undecided;

	atomic_store(&gate->straight, keeper != NULL ? way : NULL);
	if (atomic_load(&aliens) != 0)
		keeper = &alienated;
	(void)atomic_compare_exchange_strong(&gate->straight, &way, keeper);
}

/* A closed way stays closed: a process that samples checks its blocks anyway. */
static void
gate_alienate(struct produce_gate *gate)
{
	const struct keeper_area *way = atomic_load(&gate->straight);

	while (way != NULL &&
	    !atomic_compare_exchange_weak(&gate->straight, &way, &alienated))
		;
}

/* Changes neither another keeper's gate nor a way that an alien has closed. */
static void
gate_leave(struct produce_gate *gate, const struct keeper_area *keeper)
{
	const struct keeper_area *way = keeper;

	(void)atomic_compare_exchange_strong(&gate->straight, &way, NULL);
	way = keeper;
	(void)atomic_compare_exchange_strong(&gate->keeper, &way, NULL);
}

void
produce_alien(void)
{
	struct shared *sh;

	atomic_fetch_add(&aliens, 1);
	gate_alienate(&shut);
	(void)era_now(&sh);
	if (sh != NULL)
		gate_alienate(&sh->gate);
}

void
produce_alien_gone(void)
{
	atomic_fetch_sub(&aliens, 1);
}

/* --- joining ------------------------------------------------------------- */

static struct shared *
shared_map(void)
{
	struct shared *sh;
	void *page;

	page = call_mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (call_madvise(page, 4096, MADV_WIPEONFORK) != 0) {
		call_munmap(page, 4096);
		return NULL;
	}
	sh = page;
	atomic_store_explicit(&shared_page, sh, memory_order_release);
	atomic_store_explicit(&produce_gate, &sh->gate, memory_order_release);
	return sh;
}

#define READ_WRITE (PROT_READ | PROT_WRITE)

static bool
replace_mapping(void *addr, size_t size, int prot)
{
	return call_mmap(addr, size, prot,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
	    MAP_FAILED;
}

/*
 * Memory that this process never had access to stays without access; by mmap(2),
 * like the rest: a filter may kill for another call.  Areas beyond PRODUCE_ERAS are
 * not remembered.
 */
static void
leave_area(struct ring_area *area, bool over)
{
	bool hidden = !over && !rings_larger_taken(area);
	size_t offset, bytes = ring_larger(&offset);

	/* An address that is free again may soon be another mapping's. */
	if (!replace_mapping(area, RING_ALIGN(ring_area_size()), READ_WRITE))
		return;
	hidden = hidden &&
	    replace_mapping((char *)area + offset, bytes, PROT_NONE);
	for (unsigned i = 0; i < PRODUCE_ERAS; i++)
		if (left[i].area == NULL) {
			left[i] = (struct left){ area, hidden };
			return;
		}
}

void
produce_next_over(struct ring_area *area, bool over)
{
	next_over = over;
	if (over)
		rings_is_open(area);
}

void *
produce_first_at(bool *bare)
{
	struct left found = { .bare = true };

	for (unsigned i = 0; found.area == NULL && i < PRODUCE_ERAS; i++)
		if (left[i].area != NULL) {
			found = left[i];
			left[i].area = NULL;
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
			leave_area(mapped_area[i], mapped_over[i]);
	keeper = (struct keeper_area *)(uintptr_t)mapped_keeper;
	/* An event that the fork interrupted must not take it for dormant. */
	if (replace_mapping(keeper, RING_ALIGN(sizeof(*keeper)), READ_WRITE))
		atomic_store_explicit(&keeper->armed, RING_ARMED,
		    memory_order_relaxed);
	memset(mapped_area, 0, sizeof(mapped_area));
	mapped_keeper = NULL;
	errno = saved;
}

/*
 * Its last line begins the new era for all threads.  The gate comes first: the
 * free of a block that was logged in the new era must not find it shut.
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
	mapped_over[mapped_now] = next_over;
	mapped_keeper = keeper;
	atomic_store_explicit(&stream_id, stream, memory_order_relaxed);
	atomic_store_explicit(&sh->stalled, 0, memory_order_relaxed);
	gate = era->sample == 0 ? keeper : NULL;
	atomic_store_explicit(&sh->gate.keeper, gate, memory_order_release);
	gate_straighten(&sh->gate, gate);
	atomic_store_explicit(&sh->now, era, memory_order_release);
}

/* Tells the keeper that its area has been taken. */
static void
area_begin(struct ring_area *area)
{
	atomic_store_explicit(&area->version, RING_VERSION,
	    memory_order_relaxed);
	atomic_store_explicit(&area->knows_left, 1, memory_order_relaxed);
	atomic_store_explicit(&area->magic, RING_MAGIC, memory_order_release);
}

void
produce_attach(struct ring_area *area, const struct keeper_area *keeper,
    uint64_t stream)
{
	struct shared *sh = atomic_load_explicit(&shared_page,
	    memory_order_acquire);
	int saved = errno;

	produce_orphan();
	if (sh == NULL)
		sh = shared_map();
	errno = saved;
	if (sh == NULL)
		return;
	memset(mapped_area, 0, sizeof(mapped_area));
	area_begin(area);
	sites_attach(area);
	era_begin(sh, area, keeper, stream);
}

/*
 * Nobody begins an event there any more.  A keeper that has only been stopped
 * finds another's area; the memory is given back, but for the heads: who is in
 * the middle of an event is known by them to his handlers.  Of memory without
 * access none is given back, nor of what lies behind it.
 */
static void
area_end(struct ring_area *area)
{
	atomic_store_explicit(&area->magic, RING_MAGIC_LEFT,
	    memory_order_release);
	rings_show_larger(area);
	(void)call_madvise((char *)area + RING_SLOTS_OFFSET,
	    RING_ALIGN(ring_area_size()) - RING_SLOTS_OFFSET, MADV_REMOVE);
}

static void
tickets_next(void)
{
	unsigned next = (tickets_now + 1) % PRODUCE_ERAS;

	for (unsigned s = 0; s < REC_SHARDS; s++)
		atomic_store_explicit(&produce_tickets[next * REC_SHARDS +
			s].next, 0, memory_order_relaxed);
	tickets_now = next;
}

void *
produce_again_at(void)
{
	return mapped_area[(mapped_now + 1) % PRODUCE_ERAS];
}

bool
produce_again(struct ring_area *area, const struct keeper_area *keeper,
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

uint64_t
produce_stream(void)
{
	return atomic_load_explicit(&stream_id, memory_order_relaxed);
}

/* Of this process or, in a child that has not attached, of its parent. */
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
produce_looks(void)
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
produce_never(void)
{
	gate_straighten(&shut, &unarmed);
	atomic_store_explicit(&produce_gate, &shut, memory_order_release);
}

bool
produce_wanted(void)
{
	struct joined j;

	return joined_get(&j) && produce_area_armed(j.keeper);
}

bool
produce_left(void)
{
	struct joined j;

	if (!joined_get(&j) || atomic_load_explicit(&j.keeper->armed,
		memory_order_relaxed) != RING_LEFT)
		return false;
	gate_leave(&j.sh->gate, j.keeper);
	return true;
}
