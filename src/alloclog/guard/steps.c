/*
 * One thread makes a step at a time: another one that meets a page which is open for a
 * step waits for its end.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "guard.h"

#ifdef GUARD_BUILT

#define TRAP_FLAG 0x100
#define STEPPED 2		/* TRAP_TRACE: si_code of the trap behind a step */
#define WAIT_MS 20
#define MEASURED 64		/* one in so many references is measured */

/* Signals that the instruction itself may cause; the others wait until it has run. */
static const uint64_t own_signals = SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGTRAP) |
    SIGNAL_BIT(SIGSYS) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGILL);

static uint64_t *
mask_of(ucontext_t *uc)
{
	return (uint64_t *)(void *)&uc->uc_sigmask;
}

static void
lock_steps(struct guard *g)
{
	const struct timespec ts = { .tv_nsec = WAIT_MS * 1000000 };

	while (atomic_exchange(&g->steps.lock, 1) != 0)
		(void)CALL(SYS_futex, (long)&g->steps.lock, FUTEX_WAIT_PRIVATE, 1,
		    (long)&ts, 0, 0);
}

static void
unlock_steps(struct guard *g)
{
	atomic_store(&g->steps.lock, 0);
	(void)CALL(SYS_futex, (long)&g->steps.lock, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void
begin_step(struct slot *s, ucontext_t *uc)
{
	s->step.mask = *mask_of(uc);
	*mask_of(uc) |= ~own_signals;
	uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void
end_step(struct guard *g, struct slot *s, ucontext_t *uc)
{
	uint32_t n = atomic_load(&s->step.n);

	*mask_of(uc) = s->step.mask;
	if (has_keys(g))
		(void)keys_set_rights(g, uc, KEY_NONE);
	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	atomic_store(&s->step.n, 0);
	for (uint32_t i = 0; i < n && i < GUARD_STEP; i++)
		guard_close_again(g, s, s->step.page[i].at,
		    s->step.page[i].at + GUARD_PAGE);
	unlock_steps(g);
}

/*
 * A page that was only read is not writable, so that a write to it by the same
 * instruction faults and counts.  False: there is no such page any more.
 */
static bool
open_for_step(struct guard *g, struct step *step, ucontext_t *uc, uintptr_t at,
    bool write)
{
	const struct piece *p = piece_of(&g->pieces, at);
	uint32_t n = atomic_load(&step->n), i = 0;
	bool counted;
	long r;

	if (p == NULL || !guard_counts(g))
		return false;
	while (i < n && step->page[i].at != at)
		i++;
	if (i == GUARD_STEP)
		return false;
	counted = i < n && (step->page[i].write || !write);
	step->page[i].at = at;
	step->page[i].write = write || (i < n && step->page[i].write);
	atomic_store(&step->n, i < n ? n : n + 1);
	r = guard_protect(g, at, at + GUARD_PAGE, step->page[i].write ? ACCESS_STEP :
	    ACCESS_READ);
	/* If all pages have been opened meanwhile, this one must not stay closed to writes. */
	if (r == 0 && !guard_counts(g)) {
		(void)guard_protect(g, at, at + GUARD_PAGE, ACCESS_OPEN);
		r = -EAGAIN;
	}
	if (r != 0 || (has_keys(g) && !keys_set_rights(g, uc,
	    step->page[i].write ? KEY_WRITE : KEY_READ))) {
		atomic_store(&step->n, n);
		if (r == -ENOMEM)
			guard_stop(g, GUARD_MEMORY, 0);
		return false;
	}
	if (!counted)
		guard_note(g, p, at, 0, write);
	return true;
}

bool
guard_step(struct guard *g, struct slot *s, ucontext_t *uc, uintptr_t addr, bool write)
{
	bool first = atomic_load(&s->step.n) == 0, opened;

	/* Another thread is about to open all pages. */
	if (atomic_load(&g->all_open.now) != 0 && atomic_load(&g->stale) == 0 &&
	    piece_of(&g->pieces, addr) != NULL) {
		addr &= ~(uintptr_t)(GUARD_PAGE - 1);
		return guard_protect(g, addr, addr + GUARD_PAGE, ACCESS_OPEN) == 0;
	}
	if (first)
		lock_steps(g);
	opened = open_for_step(g, &s->step, uc, addr & ~(uintptr_t)(GUARD_PAGE - 1),
	    write);
	if (first && opened)
		begin_step(s, uc);
	else if (first)
		unlock_steps(g);
	return opened;
}

/* The time from one reference to the next one is short if nothing else happens between. */
static void
measure(struct guard *g)
{
	uint32_t least = atomic_load(&g->area->reference_ns);
	uint64_t now;

	if (++g->steps.n % MEASURED > 1)
		return;
	now = guard_now_ns();
	if (g->steps.n % MEASURED == 1 && now - g->steps.ended_ns < (least == 0 ? UINT32_MAX :
	    least) && g->steps.ended_ns != 0)
		atomic_store(&g->area->reference_ns, (uint32_t)(now - g->steps.ended_ns));
	g->steps.ended_ns = now;
}

/* Runs with all signals blocked. */
void
guard_on_trap(int sig, siginfo_t *si, void *context)
{
	struct guard *g = guard_now;
	struct slot *s = guard_slot;

	if (g == NULL || s == NULL || atomic_load(&s->step.n) == 0 ||
	    si->si_code != STEPPED) {
		guard_foreign(g, sig, si, context);
		return;
	}
	measure(g);
	end_step(g, s, context);
}

void
guard_abandon_step(struct guard *g, ucontext_t *uc)
{
	if (guard_slot != NULL && atomic_load(&guard_slot->step.n) != 0)
		end_step(g, guard_slot, uc);
}

#endif
