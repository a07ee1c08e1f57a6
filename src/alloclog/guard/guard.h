/*
 * guard: counts who touches pages of this process, and whether by reading or by
 * writing (../../stream/guard.h).  Private to the target side.
 *
 *	guard.c		the shared area, the guard's thread, epochs, the end
 *	arming.c	Syscall User Dispatch for each thread; the program's signals
 *	pieces.c	which parts of the ranges can be guarded
 *	faults.c	the first touch of a closed page
 *	steps.c		exact: each touch of a closed page
 *	keys.c		exact: protection keys
 *	calls.c		system calls while armed
 *	text.c		the few instructions that may make system calls directly
 *
 * Vocabulary
 *	closed		said of a page without access.  The guard's thread closes pages
 *			when an epoch begins; handlers on the program's threads open them.
 *	dispatch	Syscall User Dispatch: a system call of an armed thread becomes
 *			a SIGSYS.  Its handler opens the pages that the call needs and
 *			makes the call itself.
 *	pin		a page that stays open because a call in progress needs it.
 *	leave		a thread leaves when it makes a call that no handler can make,
 *			such as fork(2): all pages are opened, its dispatch ends, and it
 *			makes the call itself.  It is armed again later.
 *	hidden		signals that the program believes blocked, but which must not
 *			be: the kernel kills a process with a blocked SIGSYS.
 *	lent		said of an alternate signal stack that the library gives to a
 *			thread without one.
 *	step		exact: one instruction of the program that refers to closed pages.
 *			They are open while it runs, with the trap flag set and all
 *			signals blocked; the trap behind it closes them again.
 *
 * Pages are closed only while each thread of the process is armed, none has left
 * meanwhile, and the handlers are the library's.  In any doubt, all pages are opened, and
 * the program runs as without the library.  A thread that must leave makes its next
 * system call once more, without dispatch.
 *
 * The guard's thread has no descriptor of the program, handles no signal, and waits for
 * no thread of the program.  It opens all pages when the node no longer wants the guard,
 * or when the node's heartbeat stops.  It ends when no thread is armed.
 *
 * An exact guard closes pages again at once: behind the step or the system call that
 * needed them.  Another thread could use them meanwhile without being counted, so such a
 * guard counts only a program with one thread, unless the processor has protection keys:
 * with them, the page is open for one thread, and a system call opens none for others.
 * References may be missed while all pages are open, as after a fork(2), in a signal
 * handler that interrupts a call whose pages are open, and in a call whose arguments
 * calls.c does not know; each of these gaps is counted.
 *
 * An instruction counts once for each page, as its first access to it; once more if it
 * writes to a page after reading from it.  Each iteration of a string instruction counts,
 * and a system call once for each page of a buffer.  A read-modify-write instruction is a
 * write.  An instruction that reads the trap flag, pushf, refers to a watched page only if
 * the stack lies there, which is refused.
 *
 * Known limits
 *	Exact: an instruction behind one that loads SS from memory runs in the same step.
 *	Exact: a restartable sequence, rseq(2), that refers to a closed page begins again
 *	at each fault, so it does not end.
 *	If the stack of a coroutine lies in a range and its thread has no alternate
 *	stack, a signal before the first touch of that stack in an epoch ends the
 *	program.
 *	A thread that has left sees the library's handlers of SIGSEGV and SIGSYS if it
 *	asks for them while another thread is armed.
 *	A call that waits keeps its pages open, so touches of them are not counted.
 *	A process that shared this memory before the guard was made gets EFAULT.
 *	A call with a timeout of at most a second may take twice its timeout, once.
 *	glibc from 2.41 on cancels a thread in a system call only at instructions of its
 *	own.  The handler makes the call with others, so a thread that is cancelled in
 *	it goes on until the call ends.
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
 * the node and closes; or a negative errno: -EALREADY: the last guard has not ended yet;
 * -EOPNOTSUPP: this processor is not supported.  guard_begin() then starts the guard's
 * thread; before that, nothing is guarded.  Call both with all signals blocked.
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
#define GUARD_SLOTS 256
#define GUARD_DEPTH 4		/* nested calls of a thread, by handlers that interrupt calls */
#define GUARD_SPANS 22		/* pinned spans of a call */
#define GUARD_PIN_ALL UINT32_MAX
#define GUARD_STEP 32		/* pages of an instruction: 16 elements, each across a border */
#define GUARD_STACK_LEAST 8192	/* bytes of an alternate stack: each call takes a frame */
#define GUARD_LENT 65536	/* bytes of an alternate stack */

#define GUARD_DISPATCH 59	/* PR_SET_SYSCALL_USER_DISPATCH; old headers lack it */

#define SIGNAL_BIT(n) (UINT64_C(1) << ((n) - 1))
/*
 * The kernel ends a process that blocks these when it needs them; an exact guard needs
 * SIGTRAP as well (`needed` of struct guard).
 */
#define GUARD_NEEDED (SIGNAL_BIT(SIGSYS) | SIGNAL_BIT(SIGSEGV))

/* The kernel's struct sigaction. */
struct guard_action {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

/* A part of a range that can be guarded: whole pages of one mapping. */
struct piece {
	uintptr_t lo, hi;
	uint32_t first;		/* number of its first page in the table of counts */
};

struct pieces {
	unsigned n;
	uintptr_t lo, hi;	/* bounds of all pieces */
	uint32_t columns, bank;
	struct piece at[GUARD_PIECES];
};

struct span {
	uintptr_t lo, hi;
};

/*
 * The pages of a call in progress, also those outside of all ranges, because a range may
 * be added meanwhile.  Written before `depth` includes it.
 */
struct pins {
	uintptr_t sp;		/* the handler's frame */
	uint32_t n;		/* GUARD_PIN_ALL: all pages */
	struct span span[GUARD_SPANS];
};

/* The pages that the thread's instruction refers to.  Written before `n` includes them. */
struct step {
	_Atomic uint32_t n;	/* 0: no step is in progress */
	struct {
		uintptr_t at;
		bool write;	/* open for writing as well */
	} page[GUARD_STEP];
	uint64_t mask;		/* the thread's signal mask */
};

enum slot_state {
	SLOT_FREE,
	SLOT_ASKED,	/* the signal that asks it to arm has been sent */
	SLOT_ARMED,
	SLOT_LEFT,	/* without dispatch */
};

/* A thread.  Its memory is never freed, because the kernel reads the selector. */
struct slot {
	_Alignas(64) volatile uint8_t selector;
	_Atomic uint32_t state;
	uint32_t tid;
	_Atomic uint32_t busy;		/* 1: it reads the pieces */
	_Atomic uint32_t depth;		/* nested calls in progress */
	struct pins pins[GUARD_DEPTH];
	struct step step;
	uint64_t hidden;
	uintptr_t fault_addr, fault_pc;	/* the last fault outside of closed pages */
	unsigned fault_tries;
	struct span storage;		/* thread-local; the kernel writes to it */
	struct span alternate;		/* the program's alternate stack */
	bool lent;
	char *stack;			/* to lend; NULL: none yet */
	const void *tls;
	int32_t ask_call;		/* the call in which it waited when it was asked; -1: none */
	uintptr_t ask_pc;
	uint32_t asked_epochs;		/* epochs since it was asked */
	bool seen;			/* the last scan has found it */
};

/* Chosen by the node's first request. */
struct guard_kind {
	bool exact;
	uint64_t needed;	/* signals that no thread may block */
	int32_t closed, open;	/* protection keys; 0: there are none */
	uint32_t rights_at;	/* the place of a thread's rights in a signal frame's state */
};

struct all_open {
	_Atomic uint32_t now;		/* 1: all pages were opened in this epoch */
	_Atomic uint64_t since_ns;
};

struct steps {
	_Atomic uint32_t lock;	/* futex; 1: a thread makes a step */
	uint64_t n;
	uint64_t ended_ns;	/* the last one that was measured */
};

/* Lies on pages that fork wipes. */
struct guard {
	_Atomic uint32_t state;		/* enum guard_state; 0: none */
	_Atomic int32_t helper;		/* id of the guard's thread; 0: it has ended */
	struct guard_area *area;	/* not mapped in children */
	char *stack;			/* of the guard's thread */
	pid_t pid;
	struct guard_kind kind;
	uint32_t threads;		/* of the program, at the last scan */
	uint64_t stream;
	_Atomic uint32_t wake;		/* futex of the guard's thread */
	_Atomic uint32_t closing;	/* futex; 1: pages are being closed, or pieces made */
	_Atomic uint32_t leaves;	/* counted up before a leave opens all pages */
	/* 1: the pieces may be wrong and are not used; all pages are open. */
	_Atomic uint32_t stale;
	struct all_open all_open;
	struct steps steps;
	_Atomic uint32_t signals;	/* lock for changes of signal actions */
	_Atomic uint32_t hurry;		/* 1: the guard's thread must end at once */
	_Atomic uint32_t gone;		/* 1: it has ended; threads leave at their next call */
	_Atomic uint32_t epoch;
	uint32_t unarmed;		/* epochs in a row with an unarmed thread */
	_Atomic uint32_t measured;	/* the cost of a call is known */
	struct pieces pieces;		/* changed while `closing` is 1 and no slot is busy */
	uint64_t pieces_ns;		/* they are not made again before that time */
	uint32_t ranges;
	struct guard_range range[GUARD_RANGES];
	uint32_t columns, bank;
	struct span hull;		/* encloses the ranges */
	struct slot other;		/* for threads without a slot */
	struct slot slot[GUARD_SLOTS];
	_Atomic uint32_t opened[GUARD_PAGES];	/* epoch in which the page was last opened */
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
enum access {
	ACCESS_CLOSED,
	ACCESS_READ,	/* for a step: only to be read */
	ACCESS_STEP,	/* for a step */
	ACCESS_OPEN,
};
/* Returns a negative errno, like mprotect(2). */
long guard_protect(const struct guard *, uintptr_t lo, uintptr_t hi, enum access);
/* Opens the guarded pages in lo to hi - 1. */
void guard_open(struct guard *, uintptr_t lo, uintptr_t hi);
/* Call it before a mapping changes: no thread uses the pieces afterwards. */
void guard_forget_pieces(struct guard *, const struct slot *me);
/*
 * Waits until pages are no longer being closed.  If the caller has set its pins or its
 * state before, the pages that it opens then stay open.
 */
void guard_await_closing(struct guard *);
void guard_begin_closing(struct guard *);
void guard_end_closing(struct guard *);
/*
 * Notes that all pages are open until the next epoch that closes them.  Call it before
 * they are opened, so that a step that begins meanwhile leaves its page open.
 */
void guard_mark_open(struct guard *);
/*
 * Exact: closes the pages in lo to hi - 1 that no call and no step of a thread needs.
 * Block all signals before.
 */
void guard_close_again(struct guard *, struct slot *me, uintptr_t lo, uintptr_t hi);

/* False: pages are open, or will be before the thread that makes it false goes on. */
static inline bool
guard_counts(const struct guard *g)
{
	return atomic_load(&g->state) == GUARD_ON && atomic_load(&g->stale) == 0 &&
	    atomic_load(&g->all_open.now) == 0;
}

/* pieces.c: for the guard's thread, while all pages are open.  False: no pieces. */
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

/* True if a part of lo to hi - 1 is in a range. */
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
void guard_on_other(int, siginfo_t *, void *);
/* True if the page was opened in that epoch; it is open until the next one begins. */
bool guard_is_open(const struct guard *, const struct piece *, uintptr_t addr,
    uint32_t epoch);
/* Counts the first touch of a page in that epoch; exact: each.  Open the page before. */
void guard_note(struct guard *, const struct piece *, uintptr_t addr, uint32_t epoch,
    bool write);
/* Stops the guard and delivers a signal that the guard did not cause. */
void guard_foreign(struct guard *, int sig, siginfo_t *, ucontext_t *);

/* steps.c: for an exact guard. */
/* Opens a page for one instruction of this thread, and counts.  False: no such page. */
bool guard_step(struct guard *, struct slot *, ucontext_t *, uintptr_t addr,
    bool write);
void guard_on_trap(int, siginfo_t *, void *);
/* Ends the step, if any, of an instruction that has not been completed. */
void guard_abandon_step(struct guard *, ucontext_t *);

/* keys.c: for an exact guard. */
/* Call it before a thread is armed. */
void keys_take(struct guard *);
/* Call it when no thread is armed. */
void keys_give_back(struct guard *);
enum key_rights {
	KEY_NONE,
	KEY_READ,
	KEY_WRITE,
};
/* Rights for pages that are open for a step.  False: the frame has no room for them. */
bool keys_set_rights(const struct guard *, ucontext_t *, enum key_rights);
/* Gives this thread the rights for all pages, and returns those that it had. */
uint32_t keys_allow(const struct guard *);
void keys_restore(uint32_t rights);

static inline bool
has_keys(const struct guard *g)
{
	return g->kind.open != 0;
}

/* arming.c */
void guard_on_ask(int, siginfo_t *, void *);
/* Ends the dispatch of this thread when its handler returns. */
void guard_leave(struct guard *, ucontext_t *);
/*
 * The number of the program's threads that are not armed; -1: the program has no thread
 * left.  With `ask`, they are asked to arm.
 */
int guard_scan(struct guard *, bool ask);
/* An armed thread with its storage or alternate stack in the ranges; 0: none. */
uint32_t guard_thread_in_ranges(const struct guard *);
/* Installs the guard's handlers.  False: the guard has been stopped. */
bool guard_take_signals(struct guard *);
/* False: the program had replaced a handler; it is installed again. */
bool guard_has_signals(const struct guard *);
/* False: no guard can be while the program handles this signal. */
bool guard_allows_handler(int sig);
void guard_restore_signal(int sig);
void guard_restore_signals(void);
bool guard_is_default(const struct guard_action *, int sig);
/* Signals that the mask of the program's handler of `sig` has, but not the kernel's. */
uint64_t guard_hidden_of(int sig);
void guard_hide(int sig, uint64_t bits);
void guard_hide_masks(uint64_t needed);
void guard_restore_masks(void);
/* The program's action for a signal that the guard has taken; NULL: it has not. */
const struct guard_action *guard_programs_action(int sig);
void guard_set_programs_action(int sig, const struct guard_action *);
int guard_read_file(const char *path, char *text, size_t size);
uint64_t guard_now_ns(void);	/* monotonic */

/* calls.c */
void guard_on_call(int, siginfo_t *, void *);

#pragma GCC visibility pop

#endif
