/*
 * guard: counts who touches pages of this process, and whether by reading or by
 * writing (../../stream/guard.h).  Private to the target side.
 *
 *	guard.c		the shared area, the guard's thread, epochs, the end
 *	arming.c	Syscall User Dispatch for each thread; the program's signals
 *	pieces.c	which parts of the ranges can be guarded
 *	faults.c	the first touch of a closed page
 *	calls.c		system calls while armed
 *	text.c		the few instructions that may make system calls directly
 *
 * Vocabulary
 *	closed		without access.  The guard's thread closes pages, at the begin
 *			of an epoch; handlers on the program's threads open them.
 *	dispatch	Syscall User Dispatch: a system call of an armed thread becomes
 *			a SIGSYS.  Its handler opens the pages that the call needs and
 *			makes the call itself.
 *	pin		the pages of a call in progress, which stay open.
 *	leave		a thread leaves when it makes a call that no handler can make,
 *			such as fork(2): all pages are opened, its dispatch ends, and it
 *			makes the call itself.  It is armed again later.
 *	hidden		signals that the program believes blocked, but which must not
 *			be: the kernel kills a process with a blocked SIGSYS.
 *	lent		an alternate stack of ours, for a thread that has none.
 *
 * Pages are closed only while each thread of the process is armed, none has left
 * meanwhile, and the handlers are ours.  Whatever is in doubt opens all pages: then the
 * program runs as without us.  A thread that is told to go makes its next system call
 * once more, without dispatch.
 *
 * The guard's thread has no descriptor of the program, takes no signal, and waits for
 * no thread of the program.  It opens all pages when the node does not want the guard
 * any more or has no heartbeat, and ends when no thread is armed.
 *
 * Known limits
 *	A stack of a coroutine within a range may end the program, unless its thread
 *	has an alternate stack, if a signal arrives before the stack's first touch in
 *	an epoch.
 *	A thread that has left sees our handlers of SIGSEGV and SIGSYS, if it asks for
 *	them while another thread is armed.
 *	A call that waits keeps its pages open, so touches of them are not counted.
 *	A process that shares this memory, made before the guard, gets EFAULT.
 *	A thread that waits for at most a second may wait so much longer, once.
 */
#ifndef ALLOCLOG_GUARD_H
#define ALLOCLOG_GUARD_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

#include "../../stream/guard.h"
#include "../unwind/libc.h"

#pragma GCC visibility push(hidden)

/*
 * Makes the area of a new guard and returns its descriptor, which the caller sends to
 * the node and closes; or a negative errno: -EALREADY: another guard has not gone yet;
 * -EOPNOTSUPP: not on this processor.  Then guard_begin() starts its thread;
 * without it nothing happens.  All signals are blocked meanwhile.
 */
int guard_make(void);
void guard_begin(void);

/* In the child of a fork(3): the program's signal handlers are its own again. */
void guard_forked(void);

/* --- inside this room -------------------------------------------------------- */

#if defined(__x86_64__) && defined(__LP64__)
#define GUARD_BUILT 1
#endif

#define GUARD_PAGE 4096
#define GUARD_PIECES 128
#define GUARD_THREADS 256
#define GUARD_DEPTH 4		/* calls, by handlers that interrupt calls */
#define GUARD_SPANS 22		/* of a call */
#define GUARD_PIN_ALL UINT32_MAX
#define GUARD_LENT 65536	/* bytes of an alternate stack */

#define SIGNAL_BIT(n) (UINT64_C(1) << ((n) - 1))
/* The kernel ends a process that blocks these when it needs them. */
#define GUARD_NEEDED (SIGNAL_BIT(SIGSYS) | SIGNAL_BIT(SIGSEGV))

/* As the kernel has it. */
struct guard_action {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

/* A part of a range in one kind of memory, whole pages. */
struct piece {
	uintptr_t lo, hi;
	uint32_t first;		/* number of its first page in the table of counts */
};

struct pieces {
	unsigned n;
	uintptr_t lo, hi;	/* all lie in between */
	uint32_t columns, bank;
	struct piece at[GUARD_PIECES];
};

struct span {
	uintptr_t lo, hi;
};

/*
 * The pages of a call in progress, also those that are in no range: a range may come
 * meanwhile.  Written before it counts in `depth`.
 */
struct pins {
	uintptr_t sp;		/* the handler's frame */
	uint32_t n;		/* GUARD_PIN_ALL: all pages */
	struct span span[GUARD_SPANS];
};

enum slot_state {
	SLOT_FREE,
	SLOT_ASKED,	/* its signal is under way */
	SLOT_ARMED,
	SLOT_LEFT,	/* without dispatch, at work as if there were no guard */
};

/* A thread.  Its memory stays: the kernel reads the selector. */
struct slot {
	_Alignas(64) volatile uint8_t selector;
	_Atomic uint32_t state;
	uint32_t tid;
	_Atomic uint32_t busy;		/* reads the pieces */
	_Atomic uint32_t depth;		/* calls in progress; each within the one before */
	struct pins pins[GUARD_DEPTH];
	uint64_t hidden;
	uintptr_t fault_addr, fault_pc;	/* the last one that nobody knew */
	unsigned fault_tries;
	bool lent;
	char *stack;			/* to lend; NULL: none yet */
	const void *tls;
	int32_t ask_call;		/* the call it waited in when it was asked; -1 */
	uintptr_t ask_pc;
	uint32_t asked_epochs;		/* ago */
	bool seen;			/* by the last scan */
};

/* On pages that fork wipes. */
struct guard {
	_Atomic uint32_t state;		/* enum guard_state; 0: none */
	_Atomic int32_t helper;		/* id of the guard's thread; 0: it has ended */
	struct guard_area *area;	/* not in children */
	char *stack;			/* of the guard's thread */
	pid_t pid;
	uint64_t stream;
	_Atomic uint32_t wake;		/* a futex, of the guard's thread */
	_Atomic uint32_t closing;	/* a futex; 1: pages are being closed, or pieces made */
	_Atomic uint32_t leaves;	/* counted before all pages are opened for it */
	/* The pieces may be wrong, and so are not used; then all pages are open. */
	_Atomic uint32_t stale;
	_Atomic uint32_t opened_all;	/* in this epoch */
	_Atomic uint32_t signals;	/* a lock: a thread sets their actions */
	_Atomic uint32_t hurry;		/* it ends, and its thread at once */
	_Atomic uint32_t gone;		/* ended, and threads leave with their next call */
	_Atomic uint32_t epoch;
	_Atomic uint32_t measured;	/* the cost of a call is known */
	struct pieces pieces;		/* made with `closing`, while no slot is busy */
	uint32_t ranges;
	struct guard_range range[GUARD_RANGES];
	uint32_t columns, bank;
	struct span hull;		/* of the ranges */
	struct slot other;		/* of threads without a slot */
	struct slot slot[GUARD_THREADS];
	_Atomic uint32_t opened[GUARD_PAGES];	/* the epoch in which it was opened */
};

extern struct guard *guard_now;		/* NULL: there has been none */
extern _Thread_local struct slot *guard_slot
    __attribute__((tls_model("initial-exec")));

/* text.c: instructions that are exempt from dispatch. */
extern const char guard_text[], guard_text_end[];
long guard_call(long nr, const long args[6]);
void guard_restorer(void);
_Noreturn void guard_sigreturn(uintptr_t sp);
long guard_spawn(unsigned long flags, void *stack, _Atomic int32_t *tid,
    void *tls);
#define CALL(nr, ...) guard_call(nr, (const long[6]){ __VA_ARGS__ })

/* guard.c */
void guard_stop(struct guard *, enum guard_why, uint32_t detail);
void guard_say(struct guard *, enum guard_why, uint32_t detail);
/* Opens all pages of lo..hi - 1. */
void guard_open(struct guard *, uintptr_t lo, uintptr_t hi);
/* A mapping is about to change: nobody uses the pieces any more. */
void guard_forget_pieces(struct guard *, const struct slot *me);
/* Of a thread whose pin or state is set: pages that are opened now stay open. */
void guard_await_closing(struct guard *);

/* pieces.c: by the guard's thread, while all is open.  False: there are none. */
bool pieces_make(struct guard *);

static inline const struct piece *
piece_of(const struct pieces *p, uintptr_t addr)
{
	for (unsigned i = 0; i < p->n; i++)
		if (addr - p->at[i].lo < p->at[i].hi - p->at[i].lo)
			return &p->at[i];
	return NULL;
}

static inline bool
span_meets(const struct span *s, uintptr_t lo, uintptr_t hi)
{
	return lo < s->hi && s->lo < hi;
}

/* Some of it is in a range. */
static inline bool
meets_ranges(const struct guard *g, uintptr_t lo, uintptr_t hi)
{
	bool meets = false;

	if (!span_meets(&g->hull, lo, hi))
		return false;
	for (uint32_t i = 0; i < g->ranges && i < GUARD_RANGES; i++)
		meets |= lo < g->range[i].at + (uintptr_t)g->range[i].pages *
		    GUARD_PAGE && g->range[i].at < hi;
	return meets;
}

/* faults.c */
void guard_on_fault(int, siginfo_t *, void *);
/* It has been opened in that epoch, and is open unless the next one has begun. */
bool guard_is_open(const struct guard *, const struct piece *, uintptr_t addr,
    uint32_t epoch);
/* Counts the first touch of a page in that epoch, after it was opened. */
void guard_note(struct guard *, const struct piece *, uintptr_t addr, uint32_t epoch,
    bool write);
/* A signal that is the program's own: it gets it as without us. */
void guard_foreign(struct guard *, int sig, siginfo_t *, ucontext_t *);

/* arming.c */
void guard_on_ask(int, siginfo_t *, void *);
/* Ends the dispatch of this thread when its handler returns. */
void guard_leave(struct guard *, ucontext_t *);
/* 0: all threads but ours are armed; else how many are not.  -1: there is no other. */
int guard_scan(struct guard *, bool ask);
/* False: the guard has been stopped. */
bool guard_take_signals(struct guard *);
/* Ours are still in place; takes over one that the program has put there. */
bool guard_has_signals(void);
void guard_restore_signal(int sig);
bool guard_is_default(const struct guard_action *, int sig);
/* Masks of the program's other handlers: what of them the kernel does not have. */
uint64_t guard_hidden_of(int sig);
void guard_hide(int sig, uint64_t bits);
void guard_hide_masks(void);
void guard_restore_masks(void);
/* The program's action for SIGSEGV, SIGSYS and SIGURG; NULL: it is the kernel's. */
const struct guard_action *guard_programs_action(int sig);
void guard_set_programs_action(int sig, const struct guard_action *);
int guard_read_file(const char *path, char *text, size_t size);

/* calls.c */
void guard_on_call(int, siginfo_t *, void *);

#pragma GCC visibility pop

#endif
