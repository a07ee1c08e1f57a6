/*
 * A producer for each thread.
 *
 * Producers lie on pages of our own that a fork wipes, whatever call made it
 * (seats.h): the child's first event reads zeros where a ring should be, comes
 * here, and attaches the child as an image of its own.
 * A vfork child shares the memory and runs while its parent thread stands
 * still: its events are that thread's.
 *
 * A thread's ring is handed back by a key's destructor which puts itself off
 * until the last round, so that what other destructors free still goes there.
 * Events after that go by the common ring.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unwind/syscalls.h"
#include "hooks.h"
#include "seats.h"

_Thread_local struct thread thread_self;

static pthread_key_t key;
static bool key_made;

static void
thread_end(void *value)
{
	struct thread *t = &thread_self;
	uintptr_t round = (uintptr_t)value;
	struct producer *p = t->producer;
	struct seat *seat = t->seat;

	if (round < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    pthread_setspecific(key, (void *)(round + 1)) == 0)
		return;
	t->ended = true;
	t->fast = NULL;
	t->usual = NULL;
	t->producer = NULL;
	t->seat = NULL;
	if (p != NULL)
		produce_close(p);
	if (seat != NULL)
		seat_leave(seat);
}

void
threads_begin(void)
{
	if (!key_made)
		key_made = pthread_key_create(&key, thread_end) == 0;
}

/*
 * The cache lies on pages that a fork wipes, as p does: in a child the thread
 * finds the one that it had, all zeros.
 */
static void
thread_stacks(struct seat *seat, struct producer *p)
{
	uint32_t wanted = produce_stack_wanted();
	unsigned depth = wanted & ~(uint32_t)RING_STACK_FREES;
	bool frees = (wanted & RING_STACK_FREES) != 0;

	if (depth == 0)
		return;
	if (seat->stack != NULL)
		stack_cache_renew(seat->stack, depth, frees);
	else
		seat->stack = stack_cache_new(depth, frees);
	p->stack = seat->stack;
	/* Without memory for it there are no stacks of frees either. */
	p->frees = frees && seat->stack != NULL;
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

/*
 * Its seat.  A thread whose end will not be heard of gets none, for it would not
 * be given back; once it has found none, it stands.
 */
static struct seat *
thread_seat(struct thread *t)
{
	if (t->seat != NULL)
		return t->seat;
	if (key_made && pthread_setspecific(key, (void *)1) == 0)
		t->seat = seat_take();
	t->standing = t->seat == NULL;
	return t->seat;
}

/*
 * Opens this thread's ring, the first or, in another era, the next.  What comes
 * in between, from a signal handler or from pthread_setspecific(3) itself, goes
 * by the common ring.
 */
static COLD struct producer *
thread_open(struct thread *t)
{
	struct producer *p;
	struct seat *seat;
	int saved = errno;

	if (t->opening || t->ended || t->standing)
		return NULL;
	/* First: a handler must not open what is just being left. */
	t->opening = true;
	p = t->producer;
	if (p != NULL && p->thread != 0 && !produce_leave_era(p)) {
		t->opening = false;
		return NULL;
	}
	seat = thread_seat(t);
	p = seat != NULL ? seat->producer : NULL;
	if (p != NULL) {
		t->producer = p;
		produce_open(p, (uint32_t)syscall(SYS_gettid));
		p->level = t->level;
		thread_stacks(seat, p);
		if (t->named)
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

	seats_forked(t->seat);
	t->standing = false;
}

/* A foreign image's first hello is the API's; its child's is the child's. */
static bool
hook_attach(void)
{
	if (atomic_load(&hook_foreign) && produce_stream() == 0)
		return false;
	return attach();
}

/*
 * A thread's countdown is its image's: a child's period may be another, and
 * with its parent's random numbers it would sample the same blocks.
 */
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

/* Its ring stays its own. */
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
thread_speak(struct producer *p)
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

/*
 * Looks for another keeper, where this one has gone while the process slept;
 * and not again before the next stride.
 */
static COLD void
thread_look(struct thread *t)
{
	if (!produce_left())
		return;
	if (t->sampler.period == 0 && !t->looking)
		sample_stride(&t->sampler);
	if (!t->silent)
		produce_look(t->producer);
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
