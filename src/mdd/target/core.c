/*
 * The table of allocations and the history.
 *
 * A slot of a slab is free (ptr 0) or holds an allocation.  Hash chains lead to
 * the slot of an address; they can be made anew from the slots at any time,
 * which is how they grow and how a forked child repairs them.
 *
 * With several shards the lock of one is its `owner`.  A signal handler that
 * interrupts its own thread inside a shard leaves its event in the shard's
 * pending places; the interrupted thread works on them before it unlocks.
 */
#include <string.h>

#include "target.h"

#if MDD_DEBUGDATA

struct mdd_root mdd_root;
static MDD_LARGE struct mdd_shard shard[MDD_SHARDS];

#if MDD_SHARDS > 1
#define LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#else
#define LOAD(p) (*(p))
#ifdef __GNUC__
/* A debugger may stop the program between any two instructions. */
#define ORDERED() __asm__ volatile("" ::: "memory")
#else
#define ORDERED() ((void)0)
#endif
#define STORE(p, v) \
	do { \
		ORDERED(); \
		*(p) = (v); \
		ORDERED(); \
	} while (0)
#endif

/* One shard: the port's lock guards all; its holder may take it again. */
#if MDD_SHARDS > 1
#define HOLD_ALL() 0
#define RELEASE_ALL(l) ((void)(l))
#else
#define HOLD_ALL() mdd_port_lock()
#define RELEASE_ALL(l) mdd_port_unlock(l)
#endif

/* Returns the value before. */
static uint32_t
count(uint32_t *counter)
{
#if MDD_SHARDS > 1
	return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
#else
	uintptr_t l = HOLD_ALL();
	uint32_t n = (*counter)++;

	RELEASE_ALL(l);
	return n;
#endif
}

/* Offsets of a record's parts.  In the history the free's lie behind it. */
static struct {
	unsigned actual, time, thread, stack, end;
	unsigned free_time, free_thread, free_stack, free_end;
} at;

#define WORD sizeof(uintptr_t)
#define AT_SIZE WORD
#define AT_LINK (2 * WORD)
#define AT_SEQNO (2 * WORD + 4)

struct event {
	uintptr_t ptr;
	uintptr_t size;			/* of an allocation, with actual */
	uintptr_t actual;
	uint32_t function;
	uint32_t seqno;
	uint32_t index;			/* of a free: in the history */
	uint32_t thread;
	uint32_t time[2];
	uintptr_t level[MDD_LEVELS];
};

static uintptr_t *
word_at(unsigned char *record, unsigned offset)
{
	return (uintptr_t *)(void *)(record + offset);
}

static uint32_t *
u32_at(unsigned char *record, unsigned offset)
{
	return (uint32_t *)(void *)(record + offset);
}

static int
has(enum mdd_option option)
{
	return (mdd_root.options & option) != 0;
}

static unsigned
lay_out(unsigned offset, unsigned *time, unsigned *thread, unsigned *stack)
{
	*time = offset;
	if (has(MDD_OPT_TIMESTAMP))
		offset += 8;
	*thread = offset;
	if (has(MDD_OPT_THREAD))
		offset += WORD;
	*stack = offset;
	return offset + mdd_root.levels * WORD;
}

static void
lay_out_records(void)
{
	unsigned offset = AT_SEQNO + 4;

	at.actual = offset;
	if (has(MDD_OPT_ACTUAL_SIZE))
		offset += WORD;
	at.end = lay_out(offset, &at.time, &at.thread, &at.stack);
	at.free_end = lay_out(at.end + 8, &at.free_time, &at.free_thread,
	    &at.free_stack);
	mdd_root.record_bytes = at.end;
	mdd_root.event_bytes = at.free_end;
}

static void
write_details(unsigned char *record, const struct event *e, unsigned time,
    unsigned thread, unsigned stack)
{
	unsigned i;

	if (has(MDD_OPT_TIMESTAMP)) {
		*u32_at(record, time) = e->time[0];
		*u32_at(record, time + 4) = e->time[1];
	}
	if (has(MDD_OPT_THREAD))
		*u32_at(record, thread) = e->thread;
	for (i = 0; i < mdd_root.levels; i++)
		*word_at(record, stack + i * WORD) = e->level[i];
}

static void
write_record(unsigned char *record, const struct event *e, uint32_t link)
{
	*word_at(record, AT_SIZE) = e->size;
	*u32_at(record, AT_LINK) = link << MDD_FUNCTION_BITS | e->function;
	*u32_at(record, AT_SEQNO) = e->seqno;
	if (has(MDD_OPT_ACTUAL_SIZE))
		*word_at(record, at.actual) = e->actual;
	write_details(record, e, at.time, at.thread, at.stack);
	STORE(word_at(record, 0), e->ptr);
}

static uint32_t
record_link(unsigned char *record)
{
	return *u32_at(record, AT_LINK) >> MDD_FUNCTION_BITS;
}

static void
record_set_link(unsigned char *record, uint32_t link)
{
	uint32_t *word = u32_at(record, AT_LINK);

	*word = link << MDD_FUNCTION_BITS |
	    (*word & ((1u << MDD_FUNCTION_BITS) - 1));
}

/* The slab of the slot; *slot becomes the index in the slab. */
static unsigned
slab_of(uint32_t *slot)
{
	uint32_t n = MDD_SLAB_FIRST;
	unsigned i = 0;

	while (*slot >= n) {
		*slot -= n;
		n *= 2;
		i++;
	}
	return i;
}

static unsigned char *
slot_record(const struct mdd_shard *s, uint32_t slot)
{
	unsigned i = slab_of(&slot);

	return (unsigned char *)s->slab[i] + slot * (size_t)at.end;
}

/* A free slot + 1; 0: no memory. */
static uint32_t
take_slot(struct mdd_shard *s)
{
	uint32_t slot = s->free_slot, place;
	size_t bytes;
	unsigned i;
	void *slab;

	if (slot != 0) {
		s->free_slot = record_link(slot_record(s, slot - 1));
		return slot;
	}
	place = s->used;
	i = slab_of(&place);
	if (s->used >= MDD_SLOT_MAX || i >= MDD_SLABS)
		return 0;
	if (s->slab[i] == 0) {
		bytes = ((size_t)MDD_SLAB_FIRST << i) * at.end;
		slab = mdd_port_memory(bytes);
		if (slab == NULL)
			return 0;
		s->dynamic_bytes += bytes;
		STORE(&s->slab[i], (uintptr_t)slab);
	}
	slot = s->used + 1;
	STORE(&s->used, slot);
	return slot;
}

static void
give_slot(struct mdd_shard *s, uint32_t slot)
{
	unsigned char *record = slot_record(s, slot - 1);

	STORE(word_at(record, 0), 0);
	record_set_link(record, s->free_slot);
	s->free_slot = slot;
}

static uint32_t
hash(uintptr_t ptr)
{
	uint32_t h = (uint32_t)(ptr >> 3) ^ (uint32_t)((uint64_t)ptr >> 32);

	h *= 0x85ebca6bu;
	return h ^ h >> 15;
}

static struct mdd_shard *
shard_of(uintptr_t ptr)
{
	/* The upper bits: the lower ones select the chain. */
	return &shard[(hash(ptr) >> 20) % MDD_SHARDS];
}

static uint32_t *
chain_of(struct mdd_shard *s, uintptr_t ptr)
{
	return (uint32_t *)s->bucket + (hash(ptr) & (s->buckets - 1));
}

static void
link_slot(struct mdd_shard *s, uint32_t slot)
{
	unsigned char *record = slot_record(s, slot - 1);
	uint32_t *chain = chain_of(s, *word_at(record, 0));

	record_set_link(record, *chain);
	*chain = slot;
}

static void
link_all(struct mdd_shard *s)
{
	uint32_t slot;
	unsigned char *record;

	s->free_slot = 0;
	s->current = 0;
	s->moving = 0;
	memset((void *)s->bucket, 0, s->buckets * sizeof(uint32_t));
	for (slot = s->used; slot > 0; slot--) {
		record = slot_record(s, slot - 1);
		if (*word_at(record, 0) == 0) {
			give_slot(s, slot);
			continue;
		}
		s->current++;
		if (record_link(record) == MDD_LINK_MOVING)
			s->moving++;
		else
			link_slot(s, slot);
	}
}

static int
set_buckets(struct mdd_shard *s, uint32_t n)
{
	void *memory = mdd_port_memory(n * sizeof(uint32_t));

	if (memory == NULL)
		return 0;
	s->bucket = (uintptr_t)memory;
	s->buckets = n;
	s->dynamic_bytes += n * sizeof(uint32_t);
	link_all(s);
	return 1;
}

/* Removes the address from its chain.  Its slot + 1; 0: not listed. */
static uint32_t
unlink_ptr(struct mdd_shard *s, uintptr_t ptr)
{
	uint32_t slot, steps;
	unsigned char *record, *before = NULL;

	if (s->buckets == 0)
		return 0;
	slot = *chain_of(s, ptr);
	/* A program that overwrites a chain can make it endless. */
	for (steps = 0; slot != 0 && slot <= s->used && steps <= s->used;
	    steps++) {
		record = slot_record(s, slot - 1);
		if (*word_at(record, 0) == ptr) {
			if (before != NULL)
				record_set_link(before, record_link(record));
			else
				*chain_of(s, ptr) = record_link(record);
			return slot;
		}
		before = record;
		slot = record_link(record);
	}
	return 0;
}

/* No dump has any of the records, and no overflow call was made for them. */
static int
history_is_full(uint32_t next)
{
	uint32_t since_dump = next - LOAD(&mdd_root.history_start);
	uint32_t since_call = next - LOAD(&mdd_root.history_called);

	return since_dump >= mdd_root.history_records &&
	    since_call >= mdd_root.history_records;
}

static void
tell_overflow(uint32_t next)
{
	cyg_memalloc_dd_history_overflow();
	if (history_is_full(next))
		STORE(&mdd_root.history_called, next);
}

#if MDD_SHARDS > 1
static uintptr_t overflow_owner;

/*
 * One thread calls the overflow function while the others wait: a debugger that
 * stops there can dump the records before one is overwritten.  0: the wait was
 * too long.
 */
static int
wait_for_room(uint32_t next, uintptr_t self)
{
	uintptr_t nobody = 0;
	unsigned turn;

	if (__atomic_compare_exchange_n(&overflow_owner, &nobody, self, 0,
		__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		if (history_is_full(next))
			tell_overflow(next);
		STORE(&overflow_owner, 0);
		return 1;
	}
	for (turn = 0; LOAD(&overflow_owner) != 0; turn++)
		if (!mdd_port_wait(turn))
			return 0;
	return 1;
}

/* The index of the next record, whose slot is empty until it is written. */
static uint32_t
history_take(void)
{
	uintptr_t self = mdd_port_self();
	uint32_t next = LOAD(&mdd_root.history_next);
	int patient = 1;

	/* Other threads may have filled it again during the wait. */
	for (;;) {
		/* Not in a handler that has interrupted the overflow call. */
		if (patient && history_is_full(next) &&
		    LOAD(&overflow_owner) != self) {
			patient = wait_for_room(next, self);
			next = LOAD(&mdd_root.history_next);
			continue;
		}
		if (__atomic_compare_exchange_n(&mdd_root.history_next, &next,
			next + 1, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return next;
	}
}
#else
static uint32_t
history_take(void)
{
	uint32_t next = mdd_root.history_next;

	if (history_is_full(next))
		tell_overflow(next);
	return count(&mdd_root.history_next);
}
#endif

/*
 * Claims the place for the caller: the writer of the record before may be slow.
 * A record whose link is CLAIMED is half written.  0: not in time.
 */
#define CLAIMED (MDD_LINK_MASK << MDD_FUNCTION_BITS)

static int
history_claim(uint32_t *link)
{
#if MDD_SHARDS > 1
	unsigned turn;

	for (turn = 0; __atomic_exchange_n(link, CLAIMED, __ATOMIC_ACQ_REL) ==
	    CLAIMED; turn++)
		if (!mdd_port_wait(turn))
			return 0;
#else
	STORE(link, CLAIMED);
#endif
	return 1;
}

/* `record` is that of the freed block; NULL: it was not listed. */
static void
history_write(const struct event *e, unsigned char *record)
{
	unsigned char *to = (unsigned char *)mdd_root.history +
	    e->index % mdd_root.history_records * (size_t)at.free_end;
	uint32_t function = 0;

	if (!history_claim(u32_at(to, AT_LINK))) {
		count(&mdd_root.missed);
		return;
	}
	STORE(word_at(to, 0), 0);
	if (record != NULL) {
		function = *u32_at(record, AT_LINK) &
		    ((1u << MDD_FUNCTION_BITS) - 1);
		*word_at(to, AT_SIZE) = *word_at(record, AT_SIZE);
		memcpy(to + AT_SEQNO, record + AT_SEQNO, at.end - AT_SEQNO);
	} else {
		*word_at(to, AT_SIZE) = 0;
		memset(to + AT_SEQNO, 0, at.end - AT_SEQNO);
		*u32_at(to, AT_SEQNO) = e->seqno;
	}
	*u32_at(to, at.end) = e->seqno;
	*u32_at(to, at.end + 4) = e->function;
	write_details(to, e, at.free_time, at.free_thread, at.free_stack);
	STORE(word_at(to, 0), e->ptr);
	STORE(u32_at(to, AT_LINK),
	    ((e->index + 1) & MDD_LINK_MASK) << MDD_FUNCTION_BITS | function);
}

static void
add_block(struct mdd_shard *s, const struct event *e)
{
	uint32_t slot = unlink_ptr(s, e->ptr);

	if (slot != 0) {
		give_slot(s, slot);
		s->current--;
		count(&mdd_root.replaced);
	}
	if (s->buckets == 0 && !set_buckets(s, MDD_BUCKETS)) {
		count(&mdd_root.missed);
		return;
	}
	slot = take_slot(s);
	if (slot == 0) {
		count(&mdd_root.missed);
		return;
	}
	write_record(slot_record(s, slot - 1), e, 0);
	link_slot(s, slot);
	s->current++;
	s->allocs++;
	if (s->current > s->buckets)
		set_buckets(s, s->buckets * 2);
}

/* Removes the block from its chain.  Its slot + 1; 0: not listed. */
static void
end_block(struct mdd_shard *s, uint32_t slot, const struct event *e)
{
	unsigned char *record = slot != 0 ? slot_record(s, slot - 1) : NULL;

	if (has(MDD_OPT_HISTORY))
		history_write(e, record);
	if (slot == 0) {
		count(&mdd_root.unknown);
		return;
	}
	give_slot(s, slot);
	s->current--;
	s->frees++;
}

static int
is_free(const struct event *e)
{
	return e->function >= MDD_FREE;
}

static void
apply(struct mdd_shard *s, const struct event *e)
{
	if (is_free(e))
		end_block(s, unlink_ptr(s, e->ptr), e);
	else
		add_block(s, e);
}

enum entry {
	ENTERED,
	INTERRUPTED,	/* by a signal handler of this thread, which runs now */
	BUSY,		/* for too long */
};

#if MDD_SHARDS > 1
#define PENDING 8
#define PENDING_BYTES sizeof pending

static MDD_LARGE struct event pending[MDD_SHARDS][PENDING];

static enum entry
shard_enter(struct mdd_shard *s)
{
	uintptr_t self = mdd_port_self(), owner;
	unsigned turn;

	for (turn = 0;; turn++) {
		owner = 0;
		if (__atomic_compare_exchange_n(&s->owner, &owner, self, 0,
			__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			STORE(&s->stuck, 0);
			STORE(&s->busy, 1);
			return ENTERED;
		}
		if (owner == self)
			return INTERRUPTED;
		if (LOAD(&s->stuck) || !mdd_port_wait(turn)) {
			STORE(&s->stuck, 1);
			return BUSY;
		}
	}
}

/* Handlers may add more of them meanwhile. */
static void
apply_pending(struct mdd_shard *s)
{
	uint32_t i = 0, n = LOAD(&s->pending);

	while (n != 0) {
		for (; i < n; i++)
			apply(s, &pending[s - shard][i]);
		if (__atomic_compare_exchange_n(&s->pending, &n, 0, 0,
			__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return;
	}
}

static void
shard_leave(struct mdd_shard *s)
{
	do {
		apply_pending(s);
		STORE(&s->busy, 0);
		STORE(&s->owner, 0);
		/* A handler may have run before the unlock. */
	} while (LOAD(&s->pending) != 0 && shard_enter(s) == ENTERED);
	cyg_memalloc_dd_done();
}

static int
leave_pending(struct mdd_shard *s, const struct event *e)
{
	uint32_t n = LOAD(&s->pending);

	if (n >= PENDING)
		return 0;
	pending[s - shard][n] = *e;
	STORE(&s->pending, n + 1);
	return 1;
}
#else
#define PENDING_BYTES 0

static uintptr_t locked;

static enum entry
shard_enter(struct mdd_shard *s)
{
	uintptr_t l = mdd_port_lock();

	STORE(&s->busy, 1);
	locked = l;
	return ENTERED;
}

static void
shard_leave(struct mdd_shard *s)
{
	STORE(&s->busy, 0);
	mdd_port_unlock(locked);
	cyg_memalloc_dd_done();
}

static int
leave_pending(struct mdd_shard *s, const struct event *e)
{
	(void)s;
	(void)e;
	return 0;
}
#endif

static void
record_event(const struct event *e)
{
	struct mdd_shard *s = shard_of(e->ptr);

	switch (shard_enter(s)) {
	case ENTERED:
		apply(s, e);
		shard_leave(s);
		return;
	case INTERRUPTED:
		if (leave_pending(s, e))
			return;
		break;
	case BUSY:
		break;
	}
	count(&mdd_root.missed);
}

#if MDD_PORT_THREADS
/* NULL: no memory. */
static struct mdd_thread *
thread_entry(uint32_t i)
{
	unsigned slab = slab_of(&i);
	uintptr_t none = 0;
	void *memory;

	if (slab >= MDD_SLABS)
		return NULL;
	if (LOAD(&mdd_root.thread_slab[slab]) == 0) {
		memory = mdd_port_memory(((size_t)MDD_SLAB_FIRST << slab) *
		    sizeof(struct mdd_thread));
		if (memory == NULL)
			return NULL;
#if MDD_SHARDS > 1
		/* Of two threads at once, the memory of one stays unused. */
		__atomic_compare_exchange_n(&mdd_root.thread_slab[slab], &none,
		    (uintptr_t)memory, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
#else
		(void)none;
		mdd_root.thread_slab[slab] = (uintptr_t)memory;
#endif
	}
	return (struct mdd_thread *)mdd_root.thread_slab[slab] + i;
}

static void
thread_describe(struct mdd_thread *t)
{
	uintptr_t handle = t->handle;
	uint32_t number = t->number;
	char name[MDD_NAME];

	memcpy(name, t->name, sizeof name);
	mdd_port_thread(&handle, &number, name);
	t->number = number;
	memcpy(t->name, name, sizeof t->name);
	STORE(&t->handle, handle);
}

/* Before threads exist, an entry that becomes the first thread's. */
static uint32_t
thread_find(uintptr_t handle)
{
	uint32_t i, n = LOAD(&mdd_root.threads);
	struct mdd_thread *t;

	for (i = 0; i < n; i++) {
		t = thread_entry(i);
		if (t != NULL && !t->ended && (t->handle == handle ||
		    (i == 0 && (t->handle == 0 || handle == 0))))
			return i + 1;
	}
	return 0;
}

static uint32_t
thread_add(void)
{
	uint32_t i = count(&mdd_root.threads);
	struct mdd_thread *t = thread_entry(i);

	if (t == NULL)
		return 0;
	thread_describe(t);
	return i + 1;
}

/* For ports without a word for each thread. */
static uint32_t
thread_by_handle(void)
{
	uintptr_t handle = 0;
	uint32_t number, n;
	char name[MDD_NAME];

	mdd_port_thread(&handle, &number, name);
	n = thread_find(handle);
	if (n == 0)
		return thread_add();
	if (handle != 0 && thread_entry(n - 1)->handle == 0)
		thread_describe(thread_entry(n - 1));
	return n;
}

/* Its number in the table; 0: no room. */
static uint32_t
thread_number(void)
{
	uintptr_t l = HOLD_ALL();
	uint32_t *word = mdd_port_thread_word(), n;

	if (word == NULL)
		n = thread_by_handle();
	else {
		if (*word == 0)
			*word = thread_add();
		n = *word;
	}
	RELEASE_ALL(l);
	return n;
}

void
mdd_thread_changed(int ended)
{
	struct mdd_thread *t;
	uintptr_t l;
	uint32_t n;

	if (!has(MDD_OPT_THREAD))
		return;
	n = thread_number();
	t = n != 0 ? thread_entry(n - 1) : NULL;
	if (t == NULL)
		return;
	l = HOLD_ALL();
	thread_describe(t);
	t->ended = ended != 0;
	RELEASE_ALL(l);
}

void
mdd_thread_ended(uintptr_t handle)
{
	uintptr_t l = HOLD_ALL();
	uint32_t n = handle != 0 && has(MDD_OPT_THREAD) ? thread_find(handle) :
	    0;

	if (n != 0 && thread_entry(n - 1)->handle == handle)
		thread_entry(n - 1)->ended = 1;
	RELEASE_ALL(l);
}
#endif

static int
describe(struct event *e, const void *ptr, enum mdd_function function,
    uintptr_t caller)
{
	unsigned i;

	if (mdd_root.record_bytes == 0 || ptr == NULL)
		return 0;
	e->ptr = (uintptr_t)ptr;
	e->size = e->actual = 0;
	e->function = function;
	e->index = 0;
	e->thread = 0;
	e->time[0] = e->time[1] = 0;
	for (i = 0; i < mdd_root.levels; i++)
		e->level[i] = 0;
#if MDD_PORT_TICKS
	if (has(MDD_OPT_TIMESTAMP)) {
		uint32_t hz;
		uint64_t ticks = mdd_port_ticks(&hz);

		e->time[0] = (uint32_t)ticks;
		e->time[1] = (uint32_t)(ticks >> 32);
	}
#endif
#if MDD_PORT_THREADS
	if (has(MDD_OPT_THREAD))
		e->thread = thread_number();
#endif
	if (mdd_root.levels > 0)
		e->level[0] = caller;
#if MDD_PORT_STACK
	if (mdd_root.levels > 1)
		mdd_port_stack(caller, e->level + 1, mdd_root.levels - 1);
#endif
	return 1;
}

static void
number(struct event *e)
{
	e->seqno = count(&mdd_root.seqno);
	if (is_free(e) && has(MDD_OPT_HISTORY))
		e->index = history_take();
}

uint32_t
mdd_alloc_number(const void *ptr, size_t size, size_t actual,
    enum mdd_function function, uintptr_t caller)
{
	struct event e;

	if (!describe(&e, ptr, function, caller))
		return 0;
	e.size = size;
	e.actual = actual;
	number(&e);
	record_event(&e);
	return e.seqno;
}

void
mdd_alloc(const void *ptr, size_t size, size_t actual,
    enum mdd_function function, uintptr_t caller)
{
	(void)mdd_alloc_number(ptr, size, actual, function, caller);
}

void
mdd_free(const void *ptr, enum mdd_function function, uintptr_t caller)
{
	struct event e;

	if (!describe(&e, ptr, function, caller))
		return;
	number(&e);
	record_event(&e);
}

/*
 * Removes the block from its chain but keeps its slot: before mdd_move_end(),
 * its address can already belong to another block.
 */
void
mdd_move_begin(struct mdd_move *m, const void *ptr,
    enum mdd_function function, uintptr_t caller)
{
	struct event e;
	struct mdd_shard *s;

	memset(m, 0, sizeof *m);
	if (!describe(&e, ptr, function, caller))
		return;
	s = shard_of(e.ptr);
	if (shard_enter(s) != ENTERED) {
		/*
		 * Records a free: if the real call fails, the block is missing.
		 */
		number(&e);
		if (!leave_pending(s, &e))
			count(&mdd_root.missed);
		return;
	}
	m->ptr = e.ptr;
	m->seqno = count(&mdd_root.seqno);
	m->function = e.function;
	m->caller = caller;
	m->slot = unlink_ptr(s, e.ptr);
	if (m->slot != 0) {
		record_set_link(slot_record(s, m->slot - 1), MDD_LINK_MOVING);
		s->moving++;
	}
	shard_leave(s);
}

void
mdd_move_end(struct mdd_move *m, int moved)
{
	struct event e;
	struct mdd_shard *s = shard_of(m->ptr);

	if (m->ptr == 0 || (!moved && m->slot == 0))
		return;
	describe(&e, (const void *)m->ptr, (enum mdd_function)m->function,
	    m->caller);
	e.seqno = m->seqno;
	if (moved && has(MDD_OPT_HISTORY))
		e.index = history_take();
	if (shard_enter(s) != ENTERED) {
		count(&mdd_root.missed);
		return;
	}
	if (m->slot != 0)
		s->moving--;
	if (moved)
		end_block(s, m->slot, &e);
	else
		link_slot(s, m->slot);
	shard_leave(s);
}

int
mdd_look(unsigned i, uint32_t slot, struct mdd_copy *out)
{
	const struct mdd_shard *s = &shard[i];
	unsigned char *record;

	if (slot >= LOAD(&s->used))
		return -1;
	record = slot_record(s, slot);
	memset(out, 0, sizeof *out);
	out->ptr = LOAD(word_at(record, 0));
	if (out->ptr == 0)
		return 0;
	out->size = *word_at(record, AT_SIZE);
	out->function = *u32_at(record, AT_LINK) &
	    ((1u << MDD_FUNCTION_BITS) - 1);
	out->seqno = *u32_at(record, AT_SEQNO);
	if (has(MDD_OPT_ACTUAL_SIZE))
		out->actual = *word_at(record, at.actual);
	if (has(MDD_OPT_TIMESTAMP))
		out->ticks = *u32_at(record, at.time) |
		    (uint64_t)*u32_at(record, at.time + 4) << 32;
	if (has(MDD_OPT_THREAD))
		out->thread = *u32_at(record, at.thread);
	if (mdd_root.levels > 0)
		out->caller = *word_at(record, at.stack);
	/* It may have been freed meanwhile, or is being moved. */
	return LOAD(word_at(record, 0)) == out->ptr &&
	    record_link(record) != MDD_LINK_MOVING;
}

const struct mdd_thread *
mdd_thread_of(uint32_t thread)
{
#if MDD_PORT_THREADS
	return thread > 0 && thread <= LOAD(&mdd_root.threads) ?
	    thread_entry(thread - 1) : NULL;
#else
	(void)thread;
	return NULL;
#endif
}

/*
 * A shard that is not held is stuck, or in an update by this thread, which a
 * handler has interrupted: its records are valid.
 */
static unsigned char held[MDD_SHARDS];

void
mdd_hold(void)
{
	unsigned i;

	for (i = 0; i < MDD_SHARDS; i++) {
		held[i] = shard_enter(&shard[i]) == ENTERED;
		/* No link is being updated. */
		if (held[i])
			STORE(&shard[i].busy, 0);
	}
}

void
mdd_release(void)
{
	unsigned i;

	for (i = 0; i < MDD_SHARDS; i++)
		if (held[i])
			shard_leave(&shard[i]);
}

static int
can(const struct mdd_opts *o)
{
	return (MDD_PORT_TICKS || (o->options & MDD_OPT_TIMESTAMP) == 0) &&
	    (MDD_PORT_THREADS || (o->options & MDD_OPT_THREAD) == 0) &&
	    o->levels <= MDD_LEVELS &&
	    ((o->options & MDD_OPT_HISTORY) == 0 || o->history_records > 0);
}

static const struct mdd_opts usual = {
	(MDD_ACTUAL_SIZE ? MDD_OPT_ACTUAL_SIZE : 0) |
	    (MDD_TIMESTAMP ? MDD_OPT_TIMESTAMP : 0) |
	    (MDD_THREAD ? MDD_OPT_THREAD : 0) |
	    (MDD_BACKTRACE ? MDD_OPT_BACKTRACE : 0) |
	    (MDD_HISTORY ? MDD_OPT_HISTORY : 0),
	MDD_BACKTRACE, MDD_HISTORY_RECORDS,
};

int
mdd_start(const struct mdd_opts *o)
{
	struct mdd_root *r = &mdd_root;
	size_t bytes = 0;

	if (o == NULL)
		o = &usual;
	if (r->record_bytes != 0 || !can(o))
		return -1;
	memcpy(r->magic, MDD_MAGIC, sizeof r->magic);
	r->order = MDD_ORDER;
	r->version = MDD_VERSION;
	r->word_bytes = WORD;
	r->options = o->options;
	r->levels = has(MDD_OPT_BACKTRACE) ? o->levels : 0;
	r->shard_bytes = sizeof(struct mdd_shard);
	r->thread_bytes = sizeof(struct mdd_thread);
	r->shards = MDD_SHARDS;
	r->slabs = MDD_SLABS;
	r->slab_first = MDD_SLAB_FIRST;
	r->shard = (uintptr_t)shard;
#if MDD_PORT_TICKS
	(void)mdd_port_ticks(&r->tick_hz);
#endif
	lay_out_records();
	if (has(MDD_OPT_HISTORY)) {
		bytes = o->history_records * (size_t)at.free_end;
		r->history = (uintptr_t)mdd_port_memory(bytes);
		r->history_records = o->history_records;
	}
	r->static_bytes = sizeof *r + sizeof shard + PENDING_BYTES + bytes;
	if (has(MDD_OPT_HISTORY) && r->history == 0) {
		r->record_bytes = 0;
		return -1;
	}
	return 0;
}

void
mdd_forked(void)
{
#if MDD_SHARDS > 1
	uintptr_t self = mdd_port_self();
	struct mdd_shard *s;

	overflow_owner = 0;
	for (s = shard; s < shard + MDD_SHARDS; s++) {
		if (s->owner == 0 || s->owner == self)
			continue;
		s->pending = 0;
		s->stuck = 0;
		if (s->buckets != 0)
			link_all(s);
		s->busy = 0;
		s->owner = 0;
	}
#endif
}

#ifdef __GNUC__
#define BREAKPOINT __attribute__((noinline))
#define KEEP_CALL() __asm__ volatile("")
#else
#define BREAKPOINT
#define KEEP_CALL() ((void)0)
#endif

BREAKPOINT void
cyg_memalloc_dd_done(void)
{
	KEEP_CALL();
}

BREAKPOINT void
cyg_memalloc_dd_history_overflow(void)
{
	KEEP_CALL();
}

#else

/* Firmware that is built without debug data keeps its calls and hooks. */
int
mdd_start(const struct mdd_opts *o)
{
	(void)o;
	return -1;
}

void
mdd_alloc(const void *ptr, size_t size, size_t actual,
    enum mdd_function function, uintptr_t caller)
{
	(void)ptr;
	(void)size;
	(void)actual;
	(void)function;
	(void)caller;
}

void
mdd_free(const void *ptr, enum mdd_function function, uintptr_t caller)
{
	(void)ptr;
	(void)function;
	(void)caller;
}

void
mdd_move_begin(struct mdd_move *m, const void *ptr,
    enum mdd_function function, uintptr_t caller)
{
	(void)function;
	(void)caller;
	m->ptr = (uintptr_t)ptr;
}

void
mdd_move_end(struct mdd_move *m, int moved)
{
	(void)m;
	(void)moved;
}

void
mdd_forked(void)
{
}

#endif

#if !MDD_DEBUGDATA || !MDD_PORT_THREADS
void
mdd_thread_changed(int ended)
{
	(void)ended;
}

void
mdd_thread_ended(uintptr_t handle)
{
	(void)handle;
}
#endif
