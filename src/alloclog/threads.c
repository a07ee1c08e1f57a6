/*
 * A producer for each thread.
 *
 * Vocabulary
 *	slot		of a thread: its producer and its cache of stacks, in
 *			ordinary memory, which a fork copies.
 *	kept cache	the cache of one of the first slots: it stays when its
 *			thread ends, for the next one.
 *
 * Producers lie on pages that a fork wipes, whatever call made it: the child's
 * first event reads zeros and attaches the child.  A vfork child runs while its
 * parent thread stands still: its events are that thread's.
 *
 * A key's destructor returns the ring.  It postpones itself to the last round,
 * for frees of other destructors; later events use the common ring.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../mdd/target/target.h"
#include "hooks.h"
#include "unwind/syscalls.h"

struct thread_slot {
	_Atomic uint32_t taken;
	struct producer *producer;	/* zeros in a free slot */
	struct stack_cache *stack;	/* of this or an earlier thread; NULL none yet */
};

#define SLOTS 512	/* per slab */
#define SLABS 64	/* threads beyond SLOTS * SLABS use the common ring */
#define CACHES_KEPT 8		/* slots whose caches stay */

/* The largest page size: wiped and other memory share no page. */
#define PAGE_MAX 65536
#define WIPED ((SLOTS * sizeof(struct producer) + PAGE_MAX - 1) / \
	PAGE_MAX * PAGE_MAX)

/* The producers lie WIPED bytes before it. */
struct slab {
	_Atomic uint32_t used;		/* slots from here on were never used */
	struct thread_slot slot[SLOTS];
};

static struct slab *_Atomic slabs[SLABS];

static struct slab *
slab_new(void)
{
	char *at = call_map_wiped(WIPED + sizeof(struct slab), WIPED);

	return at != NULL ? (struct slab *)(void *)(at + WIPED) : NULL;
}

static struct slab *
slab_get(unsigned i)
{
	struct slab *s = atomic_load(&slabs[i]), *none = NULL;

	if (s != NULL || (s = slab_new()) == NULL)
		return s;
	if (atomic_compare_exchange_strong(&slabs[i], &none, s))
		return s;
	call_unmap_private((char *)s - WIPED, WIPED + sizeof(*s));
	return none;
}

static struct producer *
producer_of(struct slab *s, unsigned k)
{
	return (struct producer *)(void *)((char *)s - WIPED) + k;
}

static bool
claim_slot(struct thread_slot *s)
{
	uint32_t no = 0;

	return atomic_load_explicit(&s->taken, memory_order_relaxed) == 0 &&
	    atomic_compare_exchange_strong(&s->taken, &no, 1);
}

static void
note_used(struct slab *s, uint32_t n)
{
	uint32_t used = atomic_load(&s->used);

	while (used < n && !atomic_compare_exchange_weak(&s->used, &used, n))
		continue;
}

/* NULL: none is free, or out of memory. */
static struct thread_slot *
take_slot(void)
{
	for (unsigned i = 0; i < SLABS; i++) {
		struct slab *s = slab_get(i);

		if (s == NULL)
			return NULL;
		for (unsigned k = 0; k < SLOTS; k++) {
			if (!claim_slot(&s->slot[k]))
				continue;
			note_used(s, k + 1);
			s->slot[k].producer = producer_of(s, k);
			return &s->slot[k];
		}
	}
	return NULL;
}

static bool
keeps_cache(const struct thread_slot *slot)
{
	const struct slab *s = atomic_load(&slabs[0]);

	return (uintptr_t)slot - (uintptr_t)s->slot < CACHES_KEPT * sizeof(*slot);
}

/* A few caches of half a MiB stay: they cost more than a short thread. */
static void
leave_slot(struct thread_slot *s)
{
	if (s->stack != NULL && keeps_cache(s)) {
		stack_cache_reset_thread(s->stack);
	} else {
		stack_cache_free(s->stack);
		s->stack = NULL;
	}
	atomic_store(&s->taken, 0);
}

/* After a fork(3), which leaves one thread.  Not after _Fork(3) or clone(2). */
static void
free_parents_slots(const struct thread_slot *mine)
{
	for (unsigned i = 0; i < SLABS; i++) {
		struct slab *s = atomic_load(&slabs[i]);
		uint32_t used;

		if (s == NULL)
			return;
		used = atomic_load(&s->used);
		for (unsigned k = 0; k < used && k < SLOTS; k++)
			if (&s->slot[k] != mine)
				atomic_store(&s->slot[k].taken, 0);
	}
}

_Thread_local struct thread thread_self;

/* Counts the slots of other threads; inside: only of threads in a hook. */
static uint32_t
count_slots(bool inside)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < SLABS; i++) {
		struct slab *s = atomic_load(&slabs[i]);
		uint32_t used;

		if (s == NULL)
			break;
		used = atomic_load(&s->used);
		for (unsigned k = 0; k < used && k < SLOTS; k++)
			if (&s->slot[k] != thread_self.slot &&
			    atomic_load_explicit(&s->slot[k].taken,
				memory_order_relaxed) != 0 &&
			    (!inside || __atomic_load_n(
				&producer_of(s, k)->inside,
				__ATOMIC_ACQUIRE) != 0))
				n++;
	}
	return n;
}

uint32_t
threads_others(void)
{
	return count_slots(false);
}

uint32_t
threads_inside(void)
{
	return count_slots(true);
}

/* Before glibc 2.34 a program without threads need not have them. */
#pragma weak pthread_key_create
#pragma weak pthread_setspecific

static pthread_key_t key;
static bool key_made;
static _Atomic bool first_came;		/* where there are no keys */

static void
thread_end(void *value)
{
	struct thread *t = &thread_self;
	uintptr_t round = (uintptr_t)value;
	struct producer *p = t->producer;
	struct thread_slot *slot = t->slot;

	if (round < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    pthread_setspecific(key, (void *)(round + 1)) == 0)
		return;
	/* A jump has left a call of this thread. */
	if (p != NULL && p->inside != 0) {
		produce_count_unsure(1);
		p->inside = 0;
	}
	mdd_thread_changed(1);
	t->ended = true;
	t->fast = NULL;
	t->usual = NULL;
	t->producer = NULL;
	t->slot = NULL;
	if (p != NULL)
		produce_close(p);
	if (slot != NULL)
		leave_slot(slot);
}

void
threads_begin(void)
{
	if (!key_made && pthread_key_create != NULL)
		key_made = pthread_key_create(&key, thread_end) == 0;
}

/* The cache lies on pages that a fork wipes: a child finds it all zeros. */
static void
thread_stacks(struct thread_slot *slot, struct producer *p)
{
	uint32_t wanted = produce_stack_wanted();
	unsigned depth = wanted & ~(uint32_t)RING_STACK_FREES;
	bool frees = (wanted & RING_STACK_FREES) != 0;

	if (depth == 0)
		return;
	if (slot->stack != NULL)
		stack_cache_renew(slot->stack, depth, frees);
	else
		slot->stack = stack_cache_new(depth, frees);
	p->stack = slot->stack;
	/* Without memory for it frees have no stacks either. */
	p->frees = frees && slot->stack != NULL;
}

uint64_t
origin_walk(uintptr_t origin, bool freeing)
{
	uint32_t wanted = produce_stack_wanted();
	unsigned depth = wanted & ~(uint32_t)RING_STACK_FREES;

	if (freeing && (wanted & RING_STACK_FREES) == 0)
		depth = 0;
	return depth == 0 ? rec_plain_caller(origin_pc(origin)) :
	    stack_walk(origin, depth);
}

/* True when the end of this thread will be noticed, or is the process's. */
static bool
thread_end_is_known(void)
{
	if (pthread_key_create == NULL)
		return !atomic_exchange(&first_came, true);
	return key_made && pthread_setspecific(key, (void *)1) == 0;
}

/* Others get none: it would never come back. */
static struct thread_slot *
thread_find_slot(struct thread *t)
{
	if (t->slot != NULL)
		return t->slot;
	if (thread_end_is_known())
		t->slot = take_slot();
	t->no_slot = t->slot == NULL;
	return t->slot;
}

/*
 * Opens the thread's ring, or that of a new era.  Events meanwhile, by a signal
 * handler or pthread_setspecific(3), use the common ring.
 */
static COLD struct producer *
thread_open(struct thread *t)
{
	struct producer *p;
	struct thread_slot *slot;
	int saved = errno;

	if (t->opening || t->ended || t->no_slot)
		return NULL;
	/* First: a handler must not open what is being left. */
	t->opening = true;
	p = t->producer;
	if (p != NULL && p->thread != 0 && !produce_leave_era(p)) {
		t->opening = false;
		return NULL;
	}
	slot = thread_find_slot(t);
	p = slot != NULL ? slot->producer : NULL;
	if (p != NULL) {
		t->producer = p;
		produce_open(p, (uint32_t)syscall(SYS_gettid));
		p->level = t->level;
		thread_stacks(slot, p);
		if (t->has_requester)
			produce_control(p, REC_CTL_REQUESTER, t->requester[0],
			    t->requester[1]);
		/* A child forked while stopped is stopped, and must say so. */
		if (atomic_load(&hook_stopped))
			produce_control(p, REC_CTL_STOP, 0, 0);
	}
	t->opening = false;
	errno = saved;
	return p;
}

void
threads_forked(void)
{
	struct thread *t = &thread_self;

	free_parents_slots(t->slot);
	t->no_slot = false;
	atomic_store(&first_came, t->slot != NULL);
}

/* A foreign process asks for rings by the API only; its children do. */
static bool
hook_attach(void)
{
	if (atomic_load(&hook_foreign) && produce_stream() == 0)
		return false;
	return attach();
}

/* Its parent's random numbers would sample the same blocks. */
static COLD void
thread_sample(struct thread *t, uint64_t image)
{
	static _Atomic uint64_t begun;
	uint64_t n = atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed);

	/* The address differs from run to run, the others within one. */
	sample_begin(&t->sampler, produce_sample_wanted(),
	    ((uintptr_t)t ^ image << 48) + (n << 20));
	t->sampler.image = image;
}

/* It keeps its ring. */
struct producer *
thread_silence(void)
{
	struct thread *t = &thread_self;
	struct producer *p = t->producer;

	t->silent = true;
	t->fast = t->usual = NULL;
	t->producer = NULL;
	return p;
}

void
thread_unsilence(struct producer *p)
{
	thread_self.silent = false;
	thread_self.producer = p;
}

bool
thread_joined(void)
{
	struct thread *t = &thread_self;
	uint64_t image;

	if (atomic_load_explicit(&hook_inert, memory_order_relaxed) ||
	    (unlikely(!produce_image(&image)) &&
		(!hook_attach() || !produce_image(&image)))) {
		t->sampler = (struct sampler) { .left = 0 };
		return false;
	}
	if (unlikely(t->sampler.image != image) && likely(!t->looking))
		thread_sample(t, image);
	return true;
}

/* Checks a keeper that went while the process slept, once in a stride. */
static COLD void
thread_look(struct thread *t)
{
	if (!produce_keeper_left())
		return;
	if (t->sampler.period == 0 && !t->looking)
		sample_stride(&t->sampler);
	if (!t->silent)
		produce_check_keeper(t->producer);
}

bool
thread_ready(struct producer **out)
{
	struct thread *t = &thread_self;
	struct producer *p;

	if (!thread_joined())
		return false;
	if (!produce_wanted()) {
		thread_look(t);
		return false;
	}
	if (unlikely(t->silent)) {
		produce_lost();
		return false;
	}
	p = t->producer;
	/* The page reads zero at first, and again after a fork. */
	if (unlikely(p == NULL || p->thread == 0 || !produce_current(p)))
		p = thread_open(t);
	t->usual = thread_samples() ? NULL : p;
	if (t->depth == 0 && !t->looking && !t->measuring)
		t->fast = t->usual;
	*out = p;
	return true;
}
