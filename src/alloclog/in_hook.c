/*
 * Which threads are in a hook.
 *
 * If a thread forks while another one is between its ticket and the end of its
 * real call, the child has half of that event: the ticket came before the fork
 * and the call did not end before it, or the other way round.  So fork(3) first
 * shuts the gate, where new events wait, and then waits for the events in
 * progress.
 *
 * Both waits are bounded.  A thread may be in the allocator because it waits
 * for a lock of the forking thread: after HOLD_MS the fork goes on and counts
 * that thread.  A thread at the gate may hold a lock that libc's fork takes
 * later: after GATE_MS it opens the gate and is counted.
 *
 * exit(3) does the same, with shorter waits at the gate.
 *
 * Known limits
 *	A thread that changes its stack in the middle of a call
 *	(swapcontext(3), an alternate stack) may count as having left the call
 *	by a jump.  A thread that leaves by a jump and calls again from a deeper
 *	frame is counted only when it calls from a frame further out.
 *	_exit(2), execve(2) and signals end threads in the middle of a call
 *	unseen.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "debugdata.h"
#include "hooks.h"
#include "produce/keeper_watch.h"
#include "unwind/libc.h"
#include "unwind/syscalls.h"

#define HOLD_SPINS 200
#define HOLD_SLICE_US 50
#define HOLD_MS 2
#define HOLD_SLICES (HOLD_MS * 1000 / HOLD_SLICE_US / 2)	/* each lasts twice as long */
#define GATE_MS 100
#define EXIT_GATE_MS 10

/* produce_gate.shut; each fork has a word of its own. */
#define SHUT_FORK 2
#define SHUT_EXIT 1
#define SHUT_DUE 3	/* the next event begins with debugdata_due() */

static bool
wait_on(_Atomic uint32_t *word, uint32_t value, long us)
{
	const struct timespec ts = { .tv_sec = us / 1000000,
		.tv_nsec = us % 1000000 * 1000 };

	return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &ts, NULL,
	    0) == 0 || errno != ETIMEDOUT;
}

static void
wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void
open_gate(struct produce_gate *gate)
{
	produce_open_gate(gate);
	wake_all(&gate->shut);
}

/* Calls debugdata_due(), outside of any event of this thread. */
static void
do_what_is_due(struct produce_gate *gate)
{
	uint32_t word = SHUT_DUE;

	if (!atomic_compare_exchange_strong(&gate->shut, &word, 0))
		return;
	open_gate(gate);
	thread_self.forking++;
	debugdata_due();
	thread_self.forking--;
}

static void
wait_at_gate(struct produce_gate *gate)
{
	uint32_t word = atomic_load(&gate->shut);
	int64_t ms = word == SHUT_EXIT ? EXIT_GATE_MS : GATE_MS, left = ms;
	int64_t until = libc_now_ms() + ms;

	if (word == SHUT_DUE) {
		do_what_is_due(gate);
		return;
	}
	while (word != 0 && atomic_load(&gate->shut) == word) {
		if (left > 0) {
			(void)wait_on(&gate->shut, word, (long)left * 1000);
			left = until - libc_now_ms();
			continue;
		}
		produce_count_passed();
		if (atomic_compare_exchange_strong(&gate->shut, &word, 0))
			open_gate(gate);
		break;
	}
}

static inline void
set_inside(struct hook_call *c, uintptr_t word)
{
	if (c->p != NULL)
		__atomic_store_n(&c->p->inside, word, __ATOMIC_RELAXED);
	else if (word != 0)
		atomic_fetch_add(&c->gate->callers, 1);
	else
		atomic_fetch_sub(&c->gate->callers, 1);
	atomic_signal_fence(memory_order_seq_cst);
}

/*
 * A call that is still in progress began further out.  A handler's calls within
 * it do not wait.
 */
static bool
is_outermost(struct hook_call *c, uintptr_t entry)
{
	if (c->p == NULL)
		return true;
	c->outer = c->p->inside;
	if (c->outer != 0 && entry >= c->outer) {
		produce_count_unsure(1);
		c->outer = 0;
	}
	return c->outer == 0;
}

void
hook_enter(struct hook_call *c, uintptr_t origin)
{
	struct thread *t = &thread_self;
	int saved = errno;
	bool outermost;

	*c = (struct hook_call){ .p = t->producer, .gate = produce_own_gate() };
	if (c->gate == NULL)
		return;
	/* The first event of its thread, or of a forked child. */
	if (c->p == NULL || c->p->thread == 0) {
		c->p = NULL;
		/* A silent thread's event is counted as lost by its hook. */
		if (!produce_wanted() || t->silent || !thread_ready(&c->p))
			c->p = NULL;
	}
	outermost = is_outermost(c, ENTRY(origin));
	set_inside(c, ENTRY(origin));
	while (unlikely(atomic_load_explicit(&c->gate->shut,
		memory_order_relaxed) != 0) && outermost && t->forking == 0 &&
	    !t->silent) {
		set_inside(c, 0);
		wait_at_gate(c->gate);
		set_inside(c, ENTRY(origin));
	}
	errno = saved;
}

/* A fork by a handler may have wiped the gate since hook_enter(). */
void
hook_leave(const struct hook_call *c)
{
	int32_t n;

	if (c->gate == NULL)
		return;
	atomic_signal_fence(memory_order_seq_cst);
	if (c->p != NULL) {
		__atomic_store_n(&c->p->inside, c->outer, __ATOMIC_RELAXED);
		return;
	}
	n = atomic_load_explicit(&c->gate->callers, memory_order_relaxed);
	while (n > 0 && !atomic_compare_exchange_weak(&c->gate->callers, &n,
		n - 1))
		;
}

static bool
membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

void
callers_begin(void)
{
	(void)membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/*
 * After this, each thread sees the shut gate or this one sees that thread's
 * word.
 */
static bool
all_see_gate(void)
{
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		return true;
	if (errno != EPERM)
		return false;
	callers_begin();
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

static uint32_t
count_inside(const struct produce_gate *gate)
{
	int32_t n = atomic_load(&gate->callers);

	return threads_inside() + (n > 0 ? (uint32_t)n : 0);
}

static void
pause_briefly(void)
{
#ifdef __x86_64__
	__asm__ volatile("pause");
#endif
}

/* Returns how many are still in a hook. */
static uint32_t
wait_for_callers(struct produce_gate *gate, uint32_t word)
{
	int64_t until = libc_now_ms() + HOLD_MS;
	uint32_t n = count_inside(gate);

	for (int i = 0; n > 0 && i < HOLD_SPINS; i++) {
		pause_briefly();
		n = count_inside(gate);
	}
	for (int i = 0; n > 0 && i < HOLD_SLICES && libc_now_ms() <= until;
	     i++) {
		(void)wait_on(&gate->shut, word, HOLD_SLICE_US);
		n = count_inside(gate);
	}
	return n;
}

static uint32_t
next_word(void)
{
	static _Atomic uint32_t forks;

	return atomic_fetch_add(&forks, 1) * 4 + SHUT_FORK;
}

/* Returns how many threads may still be in a call. */
static uint32_t
shut_and_wait(struct produce_gate *gate, uint32_t word)
{
	uint32_t left;
	bool sure;

	produce_shut_gate(gate, word);
	sure = all_see_gate();
	left = wait_for_callers(gate, word);
	return sure ? left : threads_others();
}

void
callers_hold(bool alone)
{
	struct thread *t = &thread_self;
	struct produce_gate *gate = produce_own_gate();

	t->fork_unsure = 0;
	t->fork_word = 0;
	if (gate == NULL || *libc_one_thread || !produce_wanted() ||
	    !keeper_watch_child_may_join())
		return;
	/* Used if a handler forks during the wait. */
	t->fork_unsure = threads_others();
	t->fork_passed = produce_passed();
	if (!alone)
		return;
	t->fork_word = next_word();
	t->fork_unsure = shut_and_wait(gate, t->fork_word);
}

/* A thread may have opened the gate already. */
void
callers_release(void)
{
	uint32_t word = thread_self.fork_word;
	struct produce_gate *gate = produce_own_gate();

	if (word != 0 && gate != NULL &&
	    atomic_compare_exchange_strong(&gate->shut, &word, 0))
		open_gate(gate);
}

uint32_t
callers_unsure(void)
{
	const struct thread *t = &thread_self;

	/* The fork called no handlers, so nobody has waited. */
	if (t->forking == 0)
		return *libc_one_thread ? 0 : threads_others();
	return t->fork_unsure + (produce_passed() - t->fork_passed);
}

void
callers_make_due(void)
{
	struct produce_gate *gate = produce_own_gate();

	if (gate != NULL)
		(void)produce_shut_open_gate(gate, SHUT_DUE);
}

uint32_t
callers_still(uint32_t *unsure)
{
	struct produce_gate *gate = produce_own_gate();
	uint32_t word = next_word();

	*unsure = 0;
	if (gate == NULL || !produce_shut_open_gate(gate, word))
		return 0;
	if (!*libc_one_thread)
		*unsure = all_see_gate() ? wait_for_callers(gate, word) :
		    threads_others();
	return word;
}

bool
callers_are_still(uint32_t word)
{
	const struct produce_gate *gate = produce_own_gate();

	return gate != NULL && atomic_load(&gate->shut) == word;
}

void
callers_go_on(uint32_t word)
{
	struct produce_gate *gate = produce_own_gate();

	if (word != 0 && gate != NULL &&
	    atomic_compare_exchange_strong(&gate->shut, &word, 0))
		open_gate(gate);
}

void
callers_end(void)
{
	struct thread *t = &thread_self;
	struct produce_gate *gate = produce_own_gate();
	int saved = errno;

	if (gate == NULL || !produce_wanted() || t->silent)
		return;
	/* A handler has called exit(3) in the middle of a call. */
	if (t->producer != NULL && t->producer->inside != 0) {
		produce_count_unsure(1);
		t->producer->inside = 0;
	}
	if (!*libc_one_thread && threads_others() > 0 &&
	    keeper_watch_child_may_join()) {
		t->forking++;
		produce_count_unsure(shut_and_wait(gate, SHUT_EXIT));
	}
	errno = saved;
}
