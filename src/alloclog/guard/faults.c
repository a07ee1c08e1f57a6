#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "guard.h"

#ifdef GUARD_BUILT

#define WRITES 2	/* in the processor's error code */
#define FAULT_TRIES 2	/* repetitions of an instruction whose page may have been opened */

static uint32_t
column_now(const struct guard *g)
{
	unsigned cpu = 0;
	uint32_t column = 0;

	if (CALL(SYS_getcpu, (long)&cpu) == 0 && cpu < GUARD_CPUS)
		column = *(const volatile uint8_t *)&g->area->column[cpu];
	return column < g->pieces.columns ? column : 0;
}

static uint32_t
number_of(const struct piece *p, uintptr_t addr)
{
	return p->first + (uint32_t)((addr - p->lo) / GUARD_PAGE);
}

bool
guard_is_open(const struct guard *g, const struct piece *p, uintptr_t addr,
    uint32_t epoch)
{
	uint32_t page = number_of(p, addr);

	return page < GUARD_PAGES && atomic_load(&g->opened[page]) == epoch;
}

void
guard_note(struct guard *g, const struct piece *p, uintptr_t addr, uint32_t epoch,
    bool write)
{
	uint32_t page = number_of(p, addr);

	if (page >= GUARD_PAGES || (!g->kind.exact &&
	    atomic_exchange(&g->opened[page], epoch) == epoch))
		return;
	atomic_fetch_add_explicit(&g->area->count[g->pieces.bank][
	    guard_place(page, g->pieces.columns, column_now(g), write)], 1,
	    memory_order_relaxed);
}

static bool
open_page(struct guard *g, uintptr_t addr, bool write)
{
	const struct piece *p = piece_of(&g->pieces, addr);
	uintptr_t page = addr & ~(uintptr_t)(GUARD_PAGE - 1);
	uint32_t epoch = atomic_load(&g->epoch);
	long r;

	if (p == NULL || atomic_load(&g->stale) != 0 ||
	    atomic_load(&g->state) != GUARD_ON)
		return false;
	r = guard_protect(g, page, page + GUARD_PAGE, ACCESS_OPEN);
	if (r == -ENOMEM)
		guard_stop(g, GUARD_MEMORY, 0);
	if (r != 0)
		return false;
	/* Count after opening; if the next epoch has begun, the page is closed again. */
	guard_note(g, p, addr, epoch, write);
	return true;
}

/*
 * Another thread may have opened the page since the fault, so the instruction is
 * repeated before the program gets the signal.
 */
static bool
may_try_again(struct slot *s, uintptr_t addr, uintptr_t pc)
{
	if (s->fault_addr != addr || s->fault_pc != pc)
		s->fault_tries = 0;
	s->fault_addr = addr;
	s->fault_pc = pc;
	return s->fault_tries++ < FAULT_TRIES;
}

/* A thread without a slot has caused its fault before all pages were opened. */
static bool
open_for(struct guard *g, struct slot *s, uintptr_t addr, ucontext_t *uc)
{
	uintptr_t sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
	bool write = (uc->uc_mcontext.gregs[REG_ERR] & WRITES) != 0;

	/* The stack lies in a range: the kernel could not deliver another signal on it. */
	if (piece_of(&g->pieces, addr) != NULL && meets_ranges(g, sp - 1, sp + 1)) {
		guard_stop(g, GUARD_STACK, (uint32_t)CALL(SYS_gettid));
		return true;
	}
	if (!g->kind.exact)
		return open_page(g, addr, write);
	if (s != &g->other)
		return guard_step(g, s, uc, addr, write);
	guard_mark_open(g);
	guard_open(g, 0, UINTPTR_MAX);
	return open_page(g, addr, write);
}

static bool
is_ours(struct guard *g, const siginfo_t *si, ucontext_t *uc)
{
	struct slot *s = guard_slot != NULL ? guard_slot : &g->other;
	uintptr_t addr = (uintptr_t)si->si_addr;
	uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	bool opened;

	if (si->si_code != SEGV_ACCERR && si->si_code != SEGV_PKUERR)
		return false;
	atomic_store(&s->busy, 1);
	guard_await_closing(g);
	opened = open_for(g, s, addr, uc);
	atomic_store(&s->busy, 0);
	if (opened)
		s->fault_addr = 0;
	return opened || may_try_again(s, addr, pc);
}

/* Runs on the alternate stack if there is one, with all signals blocked. */
void
guard_on_fault(int sig, siginfo_t *si, void *context)
{
	struct guard *g = guard_now;

	if (g == NULL || atomic_load(&g->state) == 0 || !is_ours(g, si, context))
		guard_foreign(g, sig, si, context);
}

void
guard_on_other(int sig, siginfo_t *si, void *context)
{
	guard_foreign(guard_now, sig, si, context);
}

void
guard_foreign(struct guard *g, int sig, siginfo_t *si, ucontext_t *uc)
{
	uint64_t bit = SIGNAL_BIT(sig);

	if (g != NULL)
		guard_abandon_step(g, uc);
	if (g != NULL && atomic_load(&g->state) != 0) {
		guard_stop(g, GUARD_FAULT, (uint32_t)sig);
		guard_leave(g, uc);
	}
	guard_restore_signal(sig);
	if (sig != SIGSYS && sig != SIGTRAP && si->si_code > 0 &&
	    (sig != SIGBUS || si->si_code != BUS_MCEERR_AO))
		return;		/* the instruction faults again */
	/* The signal is delivered after this handler has returned. */
	(void)CALL(SYS_rt_sigprocmask, SIG_BLOCK, (long)&bit, 0, sizeof(bit));
	(void)CALL(SYS_rt_tgsigqueueinfo, CALL(SYS_getpid), CALL(SYS_gettid), sig,
	    (long)si);
}

#endif
