/*
 * Only a thread itself can begin or end its dispatch, so each thread is asked by a
 * SIGURG.  A process without a handler, as after an exec, ignores this signal.  If the
 * signal ends a call in which the thread waits, the call is repeated; a thread is not
 * asked while repeating its call would prolong it much.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "../unwind/syscalls.h"
#include "guard.h"

#ifdef GUARD_BUILT

#define DISPATCH_OFF 0
#define DISPATCH_ON 1
#define BLOCK 1		/* SYSCALL_DISPATCH_FILTER_BLOCK */
#define RESTORER 0x04000000
#define ASK_AGAIN 45	/* epochs until an unanswered signal is sent again */
#define LONGER_MS 1000	/* maximum by which a repeated call may last longer */
#define ROOM_PAGES 8	/* that must be free on a thread's stack for the handlers */
#define STORAGE 1024	/* bytes from the thread pointer on that the kernel may use */
#define RSEQ 32		/* bytes of rseq(2), which it uses as well */
#define MEASURED 32	/* calls whose time is measured */
#define TEXT 2048
#define SIGNALS 64

_Thread_local struct slot *guard_slot
    __attribute__((tls_model("initial-exec")));

/* --- the program's signals ----------------------------------------------------- */

static const struct {
	int sig;
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	uint64_t mask;
	bool allowed;	/* the program may handle it, too */
	bool exact;	/* only an exact guard takes it */
} ours[] = {
	{ SIGSEGV, guard_on_fault, SA_SIGINFO | SA_ONSTACK, ~UINT64_C(0), true, false },
	/* No signal is blocked: the program's signals must interrupt a call that waits. */
	{ SIGSYS, guard_on_call, SA_SIGINFO | SA_NODEFER, 0, false, false },
	{ SIGURG, guard_on_ask, SA_SIGINFO | SA_RESTART, ~GUARD_NEEDED, false, false },
	{ SIGTRAP, guard_on_trap, SA_SIGINFO | SA_ONSTACK, ~UINT64_C(0), false, true },
	/* If an instruction causes one in a step, the program's handler must not run in it. */
	{ SIGBUS, guard_on_other, SA_SIGINFO | SA_ONSTACK, ~UINT64_C(0), true, true },
	{ SIGFPE, guard_on_other, SA_SIGINFO | SA_ONSTACK, ~UINT64_C(0), true, true },
	{ SIGILL, guard_on_other, SA_SIGINFO | SA_ONSTACK, ~UINT64_C(0), true, true },
};

#define OURS (sizeof(ours) / sizeof(ours[0]))

/* The program's actions while ours are in place.  A fork keeps them. */
static struct {
	_Atomic bool taken;
	struct guard_action action;
	struct guard_action first;	/* before it could see ours */
} theirs[OURS];

static long
signal_action(int sig, const struct guard_action *new, struct guard_action *old)
{
	return CALL(SYS_rt_sigaction, sig, (long)new, (long)old, sizeof(uint64_t));
}

static unsigned
index_of(int sig)
{
	unsigned i = 0;

	while (i + 1 < OURS && ours[i].sig != sig)
		i++;
	return i;
}

const struct guard_action *
guard_programs_action(int sig)
{
	unsigned i = index_of(sig);

	return ours[i].sig == sig && atomic_load(&theirs[i].taken) ?
	    &theirs[i].action : NULL;
}

/* A thread without dispatch may have read our action and may now set it again. */
void
guard_set_programs_action(int sig, const struct guard_action *new)
{
	unsigned i = index_of(sig);

	theirs[i].action = new->handler == (void *)ours[i].handler ?
	    theirs[i].first : *new;
}

static void
take_signal(unsigned i)
{
	struct guard_action new = { (void *)ours[i].handler,
		ours[i].flags | RESTORER, (void *)guard_restorer, ours[i].mask };
	struct guard_action old;

	if (signal_action(ours[i].sig, NULL, &old) != 0 ||
	    old.handler == (void *)ours[i].handler)
		return;
	if (signal_action(ours[i].sig, &new, &old) == 0 &&
	    old.handler != (void *)ours[i].handler) {
		if (!atomic_load(&theirs[i].taken))
			theirs[i].first = old;
		theirs[i].action = old;
		atomic_store(&theirs[i].taken, true);
	}
}

void
guard_restore_signal(int sig)
{
	unsigned i = index_of(sig);
	struct guard_action old;

	/* A thread without dispatch may have set another action. */
	if (!atomic_exchange(&theirs[i].taken, false) ||
	    signal_action(sig, NULL, &old) != 0 ||
	    old.handler != (void *)ours[i].handler ||
	    signal_action(sig, &theirs[i].action, &old) != 0)
		return;
	if (old.handler != (void *)ours[i].handler)
		(void)signal_action(sig, &old, NULL);
}

bool
guard_is_default(const struct guard_action *a, int sig)
{
	return a->handler == (void *)SIG_DFL ||
	    (sig == SIGURG && a->handler == (void *)SIG_IGN);
}

bool
guard_allows_handler(int sig)
{
	return ours[index_of(sig)].allowed;
}

static bool
takes(const struct guard *g, unsigned i)
{
	return g->kind.exact || !ours[i].exact;
}

bool
guard_take_signals(struct guard *g)
{
	for (unsigned i = 0; i < OURS; i++)
		if (takes(g, i))
			take_signal(i);
	for (unsigned i = 0; i < OURS; i++)
		if (takes(g, i) && !ours[i].allowed &&
		    !guard_is_default(&theirs[i].action, ours[i].sig)) {
			guard_stop(g, GUARD_HANDLER, (uint32_t)ours[i].sig);
			return false;
		}
	return true;
}

bool
guard_has_signals(const struct guard *g)
{
	struct guard_action now;
	bool all = true;

	for (unsigned i = 0; i < OURS; i++)
		if (takes(g, i) && (signal_action(ours[i].sig, NULL, &now) != 0 ||
		    now.handler != (void *)ours[i].handler)) {
			all = false;
			take_signal(i);
		}
	return all;
}

/* By signal, the bits of the program's mask that the kernel's lacks.  A fork keeps them. */
static _Atomic uint64_t hidden_of[SIGNALS + 1];

uint64_t
guard_hidden_of(int sig)
{
	return sig > 0 && sig <= SIGNALS ? atomic_load(&hidden_of[sig]) : 0;
}

void
guard_hide(int sig, uint64_t bits)
{
	if (sig > 0 && sig <= SIGNALS)
		atomic_store(&hidden_of[sig], bits);
}

static bool
is_same(const struct guard_action *a, const struct guard_action *b)
{
	return a->handler == b->handler && a->flags == b->flags && a->mask == b->mask;
}

/* Changes the mask, unless the program sets another action meanwhile. */
static void
set_mask(int sig, const struct guard_action *was, uint64_t mask)
{
	struct guard_action new = *was, old;

	new.mask = mask;
	if (signal_action(sig, &new, &old) == 0 && !is_same(&old, was))
		(void)signal_action(sig, &old, NULL);
}

/* A handler that runs with SIGSYS blocked cannot make a system call. */
void
guard_hide_masks(uint64_t needed)
{
	struct guard_action a;

	for (int sig = 1; sig <= SIGNALS; sig++) {
		if (guard_programs_action(sig) != NULL ||
		    signal_action(sig, NULL, &a) != 0 ||
		    a.handler == (void *)SIG_DFL ||
		    a.handler == (void *)SIG_IGN || (a.mask & needed) == 0)
			continue;
		guard_hide(sig, a.mask & needed);
		set_mask(sig, &a, a.mask & ~needed);
	}
}

void
guard_restore_masks(void)
{
	struct guard_action a;
	uint64_t bits;

	for (int sig = 1; sig <= SIGNALS; sig++) {
		bits = atomic_exchange(&hidden_of[sig], 0);
		if (bits != 0 && signal_action(sig, NULL, &a) == 0)
			set_mask(sig, &a, a.mask | bits);
	}
}

void
guard_restore_signals(void)
{
	for (unsigned i = 0; i < OURS; i++)
		guard_restore_signal(ours[i].sig);
}

void
guard_forked(void)
{
	guard_slot = NULL;
	guard_restore_signals();
	guard_restore_masks();
}

/* Since glibc 2.35: from the thread pointer. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

/* --- in the thread ------------------------------------------------------------- */

static uint64_t *
mask_of(ucontext_t *uc)
{
	return (uint64_t *)(void *)&uc->uc_sigmask;
}

uint64_t
guard_now_ns(void)
{
	struct timespec t = { 0 };

	(void)CALL(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Compares the time of a dispatched call with that of a direct one. */
static void
measure(struct guard *g)
{
	uint64_t t0, t1, t2;

	if (atomic_exchange(&g->measured, 1) != 0)
		return;
	t0 = guard_now_ns();
	for (int i = 0; i < MEASURED; i++)
		(void)syscall(SYS_getppid);
	t1 = guard_now_ns();
	for (int i = 0; i < MEASURED; i++)
		(void)CALL(SYS_getppid);
	t2 = guard_now_ns();
	atomic_store(&g->area->call_ns, t1 - t0 > t2 - t1 ?
	    (uint32_t)((t1 - t0 - (t2 - t1)) / MEASURED) : 0);
}

/* Of a handler's context; after an exec, the kernel does not set SS_DISABLE. */
static bool
has_alternate_stack(const ucontext_t *uc)
{
	return uc->uc_stack.ss_size > 0 && (uc->uc_stack.ss_flags & SS_DISABLE) == 0;
}

/* When the handler returns, the kernel sets the alternate stack of its context. */
static void
lend_stack(struct slot *s, ucontext_t *uc)
{
	if (s->stack == NULL || has_alternate_stack(uc))
		return;
	uc->uc_stack = (stack_t){ .ss_sp = s->stack, .ss_size = GUARD_LENT };
	s->lent = true;
}

/* The number in "mov $NUMBER,%eax; syscall" before pc; -1: unknown. */
static int32_t
call_before(uintptr_t pc)
{
	const unsigned char *code = (const unsigned char *)pc - 7;
	int32_t nr;

	if (pc % GUARD_PAGE < 7 || code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
		return -1;
	memcpy(&nr, code + 1, sizeof(nr));
	return nr;
}

/*
 * Repeats a call that the signal has ended, also one that began after the thread was
 * asked: it has just begun.
 */
static void
call_again(const struct slot *s, ucontext_t *uc)
{
	greg_t *r = uc->uc_mcontext.gregs;
	int32_t nr = s->ask_call;

	if (r[REG_RAX] != -EINTR)
		return;
	if (nr < 0 || (uintptr_t)r[REG_RIP] != s->ask_pc)
		nr = call_before((uintptr_t)r[REG_RIP]);
	if (nr < 0 || nr == SYS_pause || nr == SYS_rt_sigsuspend)
		return;
	r[REG_RAX] = nr;
	r[REG_RIP] -= 2;
}

/* The main thread's stack grows. */
static bool
has_room(const struct guard *g, const struct slot *s, uintptr_t sp)
{
	struct iovec from[ROOM_PAGES];
	char bytes[ROOM_PAGES];
	struct iovec to = { bytes, sizeof(bytes) };

	if (s->tid == (uint32_t)g->pid)
		return true;
	for (unsigned i = 0; i < ROOM_PAGES; i++)
		from[i] = (struct iovec){ (void *)(sp - (i + 1) * GUARD_PAGE), 1 };
	return CALL(SYS_process_vm_readv, g->pid, (long)&to, 1, (long)from, ROOM_PAGES,
	    0) == ROOM_PAGES;
}

static bool
is_alive(const struct guard *g)
{
	uint32_t state = atomic_load(&g->state);

	return state == GUARD_ON || state == GUARD_ARMING;
}

/* The lock for changes of signal actions.  False: another thread holds it. */
static bool
lock_signals(struct guard *g)
{
	return atomic_exchange(&g->signals, 1) == 0;
}

/*
 * Restores the program's actions when no thread has dispatch.  A thread that has been
 * asked counts, because it needs our handler.
 */
static void
restore_if_last(struct guard *g)
{
	bool last = true;

	if (atomic_load(&g->hurry) != 0 || !lock_signals(g))
		return;
	for (unsigned i = 0; i < GUARD_SLOTS; i++) {
		uint32_t state = atomic_load(&g->slot[i].state);

		last &= state != SLOT_ARMED && state != SLOT_ASKED;
	}
	if (last)
		guard_restore_signals();
	atomic_store(&g->signals, 0);
}

void
guard_leave(struct guard *g, ucontext_t *uc)
{
	struct slot *s = guard_slot;

	if (s == NULL || atomic_load(&s->state) != SLOT_ARMED)
		return;
	s->selector = 0;
	/* In a hurry, the program may be about to install a filter that kills for this. */
	if (atomic_load(&g->hurry) == 0)
		(void)CALL(SYS_prctl, GUARD_DISPATCH, DISPATCH_OFF, 0, 0, 0);
	*mask_of(uc) |= s->hidden;
	s->hidden = 0;
	if (s->lent)
		uc->uc_stack = (stack_t){ .ss_flags = SS_DISABLE };
	s->lent = false;
	guard_slot = NULL;
	atomic_fetch_add(&g->leaves, 1);
	atomic_store(&s->state, SLOT_LEFT);
	restore_if_last(g);
}

/* The kernel would end the thread if it met a closed page there. */
static bool
is_in_ranges(const struct guard *g, const struct slot *s)
{
	return meets_ranges(g, s->storage.lo, s->storage.hi) ||
	    meets_ranges(g, s->alternate.lo, s->alternate.hi);
}

uint32_t
guard_thread_in_ranges(const struct guard *g)
{
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		if (atomic_load(&g->slot[i].state) == SLOT_ARMED &&
		    is_in_ranges(g, &g->slot[i]))
			return g->slot[i].tid;
	return 0;
}

static struct span
storage_of_thread(void)
{
	uintptr_t tp = (uintptr_t)__builtin_thread_pointer(), rseq;
	struct span s = { (uintptr_t)&guard_slot, tp + STORAGE };

	if (&__rseq_offset == NULL)
		return s;
	rseq = tp + (uintptr_t)__rseq_offset;
	return (struct span){ rseq < s.lo ? rseq : s.lo,
		rseq + RSEQ > s.hi ? rseq + RSEQ : s.hi };
}

static void
arm(struct guard *g, struct slot *s, ucontext_t *uc)
{
	const stack_t *alternate = &uc->uc_stack;
	uintptr_t sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
	long r;

	call_again(s, uc);
	if ((*mask_of(uc) & g->kind.needed) != 0) {
		guard_say(g, GUARD_BLOCKED, s->tid);
		return;
	}
	if (!has_room(g, s, sp) || (has_alternate_stack(uc) &&
	    alternate->ss_size < GUARD_STACK_LEAST)) {
		guard_say(g, GUARD_SMALL, s->tid);
		return;
	}
	s->storage = storage_of_thread();
	s->alternate = (struct span){ 0, 0 };
	if (has_alternate_stack(uc))
		s->alternate = (struct span){ (uintptr_t)alternate->ss_sp,
			(uintptr_t)alternate->ss_sp + alternate->ss_size };
	if (meets_ranges(g, sp, sp + 1) || is_in_ranges(g, s)) {
		guard_stop(g, GUARD_STACK, s->tid);
		return;
	}
	/* Another thread has the same thread-local storage: libc did not create this one. */
	if (guard_slot != NULL) {
		guard_stop(g, GUARD_THREADS, s->tid);
		return;
	}
	if (has_keys(g))
		(void)keys_set_rights(g, uc, KEY_NONE);
	guard_slot = s;
	s->hidden = 0;
	s->fault_addr = 0;
	atomic_store(&s->depth, 0);
	atomic_store(&s->busy, 0);
	atomic_store(&s->step.n, 0);
	s->selector = BLOCK;
	r = CALL(SYS_prctl, GUARD_DISPATCH, DISPATCH_ON, (long)guard_text,
	    guard_text_end - guard_text, (long)&s->selector);
	if (r != 0) {
		guard_slot = NULL;
		guard_stop(g, GUARD_KERNEL, (uint32_t)-r);
		return;
	}
	lend_stack(s, uc);
	atomic_store(&s->state, SLOT_ARMED);
	/* If the guard ends now, its thread sees this state, or this thread sees the end. */
	if (is_alive(g))
		measure(g);
	else
		guard_leave(g, uc);
}

static bool
is_slot(const struct guard *g, const struct slot *s)
{
	return (uintptr_t)s - (uintptr_t)g->slot < sizeof(g->slot) &&
	    ((uintptr_t)s - (uintptr_t)g->slot) % sizeof(*s) == 0;
}

/* Ignores a SIGURG that the guard has not sent, as the program does. */
void
guard_on_ask(int sig, siginfo_t *si, void *context)
{
	struct guard *g = guard_now;
	struct slot *s = si->si_value.sival_ptr;

	(void)sig;
	if (g == NULL || atomic_load(&g->state) == 0 || si->si_code != SI_QUEUE ||
	    !is_slot(g, s) || atomic_load(&s->state) != SLOT_ASKED ||
	    s->tid != (uint32_t)CALL(SYS_gettid))
		return;
	if (is_alive(g))
		arm(g, s, context);
	if (atomic_load(&s->state) == SLOT_ASKED)
		atomic_store(&s->state, SLOT_LEFT);
}

/* --- in the guard's thread ------------------------------------------------------- */

int
guard_read_file(const char *path, char *text, size_t size)
{
	int fd = (int)CALL(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC);
	long n, all = 0;

	if (fd < 0)
		return fd;
	while (all < (long)size - 1 && (n = CALL(SYS_read, fd, (long)text + all,
	    (long)size - 1 - all)) > 0)
		all += n;
	(void)CALL(SYS_close, fd);
	text[all] = '\0';
	return 0;
}

/* /proc/self/task/TID/NAME */
static int
read_of_thread(uint32_t tid, const char *name, char *text, size_t size)
{
	static const char folder[] = "/proc/self/task/";
	char path[64], digits[12], *d = digits + sizeof(digits);
	size_t n = sizeof(folder) - 1;

	memcpy(path, folder, n);
	*--d = '\0';
	do
		*--d = (char)('0' + tid % 10);
	while ((tid /= 10) != 0);
	while (*d != '\0')
		path[n++] = *d++;
	path[n++] = '/';
	while (*name != '\0')
		path[n++] = *name++;
	path[n] = '\0';
	return guard_read_file(path, text, size);
}

/* The text after "\nNAME:" and blanks; "": there is no such line. */
static const char *
field(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (; *text != '\0'; text++)
		if (text[0] == '\n' && strncmp(text + 1, name, len) == 0 &&
		    text[1 + len] == ':') {
			text += len + 2;
			while (*text == ' ' || *text == '\t')
				text++;
			return text;
		}
	return text;
}

static uint64_t
number(const char **at, unsigned base)
{
	uint64_t n = 0;

	for (;; ++*at) {
		unsigned c = (unsigned char)**at;
		unsigned digit = c - '0' < 10 ? c - '0' : c - 'a' < 6 ?
		    c - 'a' + 10 : 16;

		if (digit >= base)
			return n;
		n = n * base + digit;
	}
}

static uint64_t
number_of(const char *text, const char *name, unsigned base)
{
	const char *at = field(text, name);

	return number(&at, base);
}

/* "NR 0xARG ... 0xSP 0xPC", "running", or "-1 0xSP 0xPC" outside of a call. */
static bool
read_call(const char *text, long *nr, uint64_t args[6], uint64_t *pc)
{
	const char *at = text;
	uint64_t sp;

	if (*at < '0' || *at > '9')
		return false;
	*nr = (long)number(&at, 10);
	for (int i = 0; i < 8; i++) {
		if (at[0] != ' ' || at[1] != '0' || at[2] != 'x')
			return false;
		at += 3;
		*(i < 6 ? &args[i] : i == 6 ? &sp : pc) = number(&at, 16);
	}
	(void)sp;
	return true;
}

static bool
is_short(uintptr_t address)
{
	struct timespec t;
	struct iovec to = { &t, sizeof(t) }, from = { (void *)address, sizeof(t) };

	return CALL(SYS_process_vm_readv, CALL(SYS_getpid), (long)&to, 1, (long)&from,
	    1, 0) == (long)sizeof(t) && t.tv_sec >= 0 &&
	    t.tv_sec < LONGER_MS / 1000;
}

/* True if a call that a signal ends can be repeated without harm. */
static bool
may_be_repeated(long nr, const uint64_t a[6])
{
	switch (nr) {
	case SYS_poll:
		return (int)a[2] <= LONGER_MS;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)a[3] <= LONGER_MS;
	case SYS_select:
		return a[4] == 0;
	case SYS_pselect6:
		return a[4] == 0 || is_short(a[4]);
	case SYS_ppoll:
		return a[2] == 0 || is_short(a[2]);
	case SYS_nanosleep:
		return is_short(a[0]);
	case SYS_clock_nanosleep:
		return (a[1] & TIMER_ABSTIME) != 0 || is_short(a[2]);
	case SYS_futex:
		return (a[1] & FUTEX_CMD_MASK) != FUTEX_WAIT || a[3] == 0 ||
		    is_short(a[3]);
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_rt_sigsuspend:
	case SYS_pause:
	case SYS_restart_syscall:
		return false;
	default:
		return nr < 400;
	}
}

static struct slot *
slot_of(struct guard *g, uint32_t tid)
{
	struct slot *none = NULL;

	for (unsigned i = 0; i < GUARD_SLOTS; i++) {
		struct slot *s = &g->slot[i];

		if (atomic_load(&s->state) != SLOT_FREE && s->tid == tid)
			return s;
		if (none == NULL && atomic_load(&s->state) == SLOT_FREE)
			none = s;
	}
	if (none != NULL) {
		none->tid = tid;
		none->asked_epochs = ASK_AGAIN;
		atomic_store(&none->state, SLOT_LEFT);
	}
	return none;
}

static void
send_ask(struct guard *g, struct slot *s)
{
	siginfo_t si;

	if (s->stack == NULL) {
		long at = CALL(SYS_mmap, 0, GUARD_LENT, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (at > 0) {
			(void)CALL(SYS_madvise, at, GUARD_LENT, MADV_WIPEONFORK);
			s->stack = (char *)at;
		}
	}
	memset(&si, 0, sizeof(si));
	si.si_signo = SIGURG;
	si.si_code = SI_QUEUE;
	si.si_pid = g->pid;
	si.si_uid = (uid_t)CALL(SYS_getuid);
	si.si_value.sival_ptr = s;
	s->asked_epochs = 0;
	/* The lock is never waited for: the thread is asked again later. */
	if (!lock_signals(g))
		return;
	if (guard_take_signals(g))
		atomic_store(&s->state, SLOT_ASKED);
	atomic_store(&g->signals, 0);
	if (atomic_load(&s->state) == SLOT_ASKED &&
	    CALL(SYS_rt_tgsigqueueinfo, g->pid, s->tid, SIGURG, (long)&si) != 0)
		atomic_store(&s->state, SLOT_LEFT);
}

/* False: the thread has ended. */
static bool
ask_thread(struct guard *g, uint32_t tid, bool ask)
{
	char text[TEXT];
	uint64_t args[6], pc = 0;
	struct slot *s;
	long nr = -1;

	if (read_of_thread(tid, "status", text, sizeof(text)) < 0 ||
	    *field(text, "State") == 'Z' || *field(text, "State") == 'X')
		return false;
	s = slot_of(g, tid);
	if (s == NULL) {
		guard_stop(g, GUARD_THREADS, GUARD_SLOTS);
		return true;
	}
	s->seen = true;
	if (!ask || atomic_load(&s->state) == SLOT_ARMED)
		return true;
	if (number_of(text, "Seccomp", 10) != 0) {
		guard_stop(g, GUARD_SECCOMP, tid);
		return true;
	}
	if (atomic_load(&s->state) == SLOT_ASKED) {
		if (s->asked_epochs++ > 2)
			guard_say(g, GUARD_SLOW, tid);
		if (s->asked_epochs > ASK_AGAIN)
			atomic_store(&s->state, SLOT_LEFT);
		return true;
	}
	/* Do not disturb a thread in each epoch. */
	if (s->asked_epochs++ < 2)
		return true;
	if ((number_of(text, "SigBlk", 16) &
	    (g->kind.needed | SIGNAL_BIT(SIGURG))) != 0) {
		guard_say(g, GUARD_BLOCKED, tid);
		return true;
	}
	if (read_of_thread(tid, "syscall", text, sizeof(text)) == 0 &&
	    read_call(text, &nr, args, &pc) && !may_be_repeated(nr, args)) {
		guard_say(g, GUARD_WAITS, tid);
		return true;
	}
	s->ask_call = (int32_t)nr;
	s->ask_pc = pc;
	send_ask(g, s);
	return true;
}

struct entry {
	uint64_t inode, offset;
	unsigned short length;
	unsigned char type;
	char name[];
};

static int
scan_entries(struct guard *g, int fd, bool ask, unsigned *all)
{
	_Alignas(8) char bytes[4096];
	int unarmed = 0;
	long n;

	while ((n = CALL(SYS_getdents64, fd, (long)bytes, sizeof(bytes))) > 0)
		for (long i = 0; i < n; ) {
			const struct entry *e = (const void *)(bytes + i);
			const char *at = e->name;
			uint32_t tid = (uint32_t)number(&at, 10);
			struct slot *s;

			i += e->length;
			if (tid == 0 || tid == (uint32_t)g->helper)
				continue;
			s = slot_of(g, tid);
			if (s != NULL && atomic_load(&s->state) == SLOT_ARMED &&
			    tid != (uint32_t)g->pid) {
				s->seen = true;
				++*all;
			} else if (ask_thread(g, tid, ask)) {
				++*all;
				unarmed += s == NULL ||
				    atomic_load(&s->state) != SLOT_ARMED;
			}
		}
	return unarmed;
}

int
guard_scan(struct guard *g, bool ask)
{
	int fd = (int)CALL(SYS_openat, AT_FDCWD, (long)"/proc/self/task", O_RDONLY |
	    O_DIRECTORY | O_CLOEXEC), unarmed;
	unsigned all = 0;

	if (fd < 0) {
		guard_say(g, GUARD_PROC, (uint32_t)-fd);
		return 1;
	}
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		g->slot[i].seen = false;
	unarmed = scan_entries(g, fd, ask, &all);
	(void)CALL(SYS_close, fd);
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		if (!g->slot[i].seen)
			atomic_store(&g->slot[i].state, SLOT_FREE);
	g->threads = all;
	return all == 0 ? -1 : unarmed;
}

#endif
