/*
 * System calls of armed threads.  A handler opens the pages that a call needs and makes
 * the call itself, with the program's signal mask, so that signals interrupt it as
 * usual.  For a call whose arguments this file does not know, it opens all pages.
 *
 * A thread leaves for calls that create or end a thread, a process or an image.  The
 * guard ends for calls that do not work with an additional thread or with dispatch.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "guard.h"

#ifdef GUARD_BUILT

#define DISPATCHED 2	/* si_code of our SIGSYS */
#define FIXED 4096	/* maximum of bytes behind a pointer without a length */
#define VECTOR 16	/* maximum of iovecs of a call that are read */
#define FIRST_THREAD_SIGNAL 32	/* of libc's own two */
#define ADVICE_FILLS 22		/* MADV_POPULATE_READ and later ones */
#define GONE_MS 200		/* time for the guard's thread to end */

#define USE_WRITE 1
#define USE_FIRST 2	/* probably of the first page alone */

enum kind {
	ALL,		/* unknown: all pages are open during the call */
	PLAIN,		/* `fixed` and the buffer give all pages */
	LEAVE,
	END,
	MAP,		/* changes the mappings at its first argument, with its second as length */
	MAP_ADVICE,	/* madvise(2): some advice fills pages */
	MAP_NEW,	/* mmap(2) */
	MAP_MOVE,	/* mremap(2) */
	MAP_HEAP,	/* brk(2) */
	VECTORS,	/* argument 1: an array of struct iovec; argument 2: its length */
	MESSAGE,	/* argument 1: a struct msghdr */
	ACTION, MASK, RETURN, STACK, SUSPEND,
	WITH_MASK3, WITH_MASK4,	/* that argument is a signal mask for the call */
	WITH_MASK5,	/* argument 5 points to the address and size of a signal mask */
	CONTROL,	/* prctl(2) */
	CLONE, CLONE3,
	LIMIT,		/* prlimit(2), setrlimit(2): RLIMIT_DATA may change */
	KILL,		/* tgkill(2) and its like: libc's own signals */
};

/* buf, len: the arguments that are a buffer and its length in units; unit 0: no buffer. */
struct shape {
	uint8_t kind;
	uint8_t fixed;		/* bits: arguments that may point to at most FIXED bytes */
	uint8_t buf, len, unit;
	bool writes;		/* the kernel writes to the buffer */
};

#define P(i) (1u << (i))
#define NONE { PLAIN, 0, 0, 0, 0, false }
#define SHORT(bits) { PLAIN, bits, 0, 0, 0, false }
#define IN(bits, buf, len) { PLAIN, bits, buf, len, 1, false }
#define OUT(bits, buf, len, unit) { PLAIN, bits, buf, len, unit, true }
#define KIND(kind) { kind, 0, 0, 0, 0, false }

#define CALLS 335
static const struct shape shapes[CALLS] = {
	[SYS_read] = OUT(0, 1, 2, 1),
	[SYS_write] = IN(0, 1, 2),
	[SYS_pread64] = OUT(0, 1, 2, 1),
	[SYS_pwrite64] = IN(0, 1, 2),
	[SYS_readv] = { VECTORS, P(1), 0, 0, 0, true },
	[SYS_writev] = { VECTORS, P(1), 0, 0, 0, false },
	[SYS_preadv] = { VECTORS, P(1), 0, 0, 0, true },
	[SYS_pwritev] = { VECTORS, P(1), 0, 0, 0, false },
	[SYS_recvmsg] = { MESSAGE, P(1), 0, 0, 0, true },
	[SYS_sendmsg] = { MESSAGE, P(1), 0, 0, 0, false },
	[SYS_sendto] = IN(P(4), 1, 2),
	[SYS_recvfrom] = OUT(P(4) | P(5), 1, 2, 1),
	[SYS_open] = SHORT(P(0)),
	[SYS_openat] = SHORT(P(1)),
	[SYS_close] = NONE,
	[SYS_stat] = SHORT(P(0) | P(1)),
	[SYS_fstat] = SHORT(P(1)),
	[SYS_lstat] = SHORT(P(0) | P(1)),
	[SYS_newfstatat] = SHORT(P(1) | P(2)),
	[SYS_statx] = SHORT(P(1) | P(4)),
	[SYS_access] = SHORT(P(0)),
	[SYS_faccessat] = SHORT(P(1)),
	[SYS_lseek] = NONE,
	[SYS_fcntl] = SHORT(P(2)),
	[SYS_fsync] = NONE,
	[SYS_fdatasync] = NONE,
	[SYS_ftruncate] = NONE,
	[SYS_getdents64] = OUT(0, 1, 2, 1),
	[SYS_getcwd] = OUT(0, 0, 1, 1),
	[SYS_unlink] = SHORT(P(0)),
	[SYS_rename] = SHORT(P(0) | P(1)),
	[SYS_readlink] = OUT(P(0), 1, 2, 1),
	[SYS_dup] = NONE,
	[SYS_dup2] = NONE,
	[SYS_dup3] = NONE,
	[SYS_pipe] = SHORT(P(0)),
	[SYS_pipe2] = SHORT(P(0)),
	[SYS_poll] = OUT(0, 0, 1, 8),
	[SYS_select] = SHORT(P(1) | P(2) | P(3) | P(4)),
	[SYS_epoll_create1] = NONE,
	[SYS_epoll_ctl] = SHORT(P(3)),
	[SYS_epoll_wait] = OUT(0, 1, 2, 12),
	[SYS_epoll_pwait] = { WITH_MASK4, P(4), 1, 2, 12, true },
	[SYS_ppoll] = { WITH_MASK3, P(2) | P(3), 0, 1, 8, true },
	[SYS_eventfd2] = NONE,
	[SYS_timerfd_settime] = SHORT(P(2) | P(3)),
	[SYS_socket] = NONE,
	[SYS_connect] = IN(0, 1, 2),
	[SYS_bind] = IN(0, 1, 2),
	[SYS_listen] = NONE,
	[SYS_accept] = SHORT(P(1) | P(2)),
	[SYS_accept4] = SHORT(P(1) | P(2)),
	[SYS_shutdown] = NONE,
	[SYS_getsockname] = SHORT(P(1) | P(2)),
	[SYS_getpeername] = SHORT(P(1) | P(2)),
	[SYS_socketpair] = SHORT(P(3)),
	[SYS_setsockopt] = IN(0, 3, 4),
	[SYS_getsockopt] = SHORT(P(3) | P(4)),
	[SYS_futex] = SHORT(P(0) | P(3) | P(4)),
	[SYS_nanosleep] = SHORT(P(0) | P(1)),
	[SYS_clock_nanosleep] = SHORT(P(2) | P(3)),
	[SYS_clock_gettime] = SHORT(P(1)),
	[SYS_gettimeofday] = SHORT(P(0) | P(1)),
	[SYS_time] = SHORT(P(0)),
	[SYS_getitimer] = SHORT(P(1)),
	[SYS_setitimer] = SHORT(P(1) | P(2)),
	[SYS_alarm] = NONE,
	[SYS_pause] = NONE,
	[SYS_sched_yield] = NONE,
	[SYS_sched_setaffinity] = IN(0, 2, 1),
	[SYS_sched_getaffinity] = OUT(0, 2, 1, 1),
	[SYS_getcpu] = SHORT(P(0) | P(1)),
	[SYS_getpid] = NONE,
	[SYS_getppid] = NONE,
	[SYS_gettid] = NONE,
	[SYS_getuid] = NONE,
	[SYS_geteuid] = NONE,
	[SYS_getgid] = NONE,
	[SYS_getegid] = NONE,
	[SYS_getrusage] = SHORT(P(1)),
	[SYS_prlimit64] = { LIMIT, P(2) | P(3), 0, 0, 0, false },
	[SYS_setrlimit] = KIND(LIMIT),
	[SYS_uname] = SHORT(P(0)),
	[SYS_umask] = NONE,
	[SYS_wait4] = SHORT(P(1) | P(3)),
	[SYS_kill] = NONE,
	[SYS_getrandom] = OUT(0, 0, 1, 1),
	[SYS_membarrier] = NONE,
	[SYS_set_robust_list] = NONE,
	[SYS_rt_sigpending] = SHORT(P(0)),
	[SYS_rt_sigtimedwait] = SHORT(P(0) | P(1) | P(2)),
	[SYS_rt_sigqueueinfo] = SHORT(P(2)),
	[SYS_tkill] = KIND(KILL),
	[SYS_tgkill] = KIND(KILL),
	[SYS_rt_sigaction] = { ACTION, P(1) | P(2), 0, 0, 0, false },
	[SYS_rt_sigprocmask] = { MASK, P(1) | P(2), 0, 0, 0, false },
	[SYS_rt_sigsuspend] = { SUSPEND, P(0), 0, 0, 0, false },
	[SYS_rt_sigreturn] = KIND(RETURN),
	[SYS_sigaltstack] = { STACK, P(0) | P(1), 0, 0, 0, false },
	[SYS_munmap] = KIND(MAP),
	[SYS_mprotect] = KIND(MAP),
	[SYS_madvise] = KIND(MAP_ADVICE),
	[SYS_pkey_mprotect] = KIND(MAP),
	[SYS_mmap] = KIND(MAP_NEW),
	[SYS_mremap] = KIND(MAP_MOVE),
	[SYS_brk] = KIND(MAP_HEAP),
	[SYS_prctl] = { CONTROL, P(1) | P(2) | P(3) | P(4), 0, 0, 0, false },
	[SYS_clone] = KIND(CLONE),
	[SYS_fork] = KIND(LEAVE),
	[SYS_vfork] = KIND(LEAVE),
	[SYS_execve] = KIND(LEAVE),
	[SYS_execveat] = KIND(LEAVE),
	[SYS_exit] = KIND(LEAVE),
	[SYS_exit_group] = KIND(LEAVE),
	/* The guard's thread would keep its rights, or the kernel refuses two threads. */
	[SYS_setuid] = KIND(END),
	[SYS_setgid] = KIND(END),
	[SYS_setreuid] = KIND(END),
	[SYS_setregid] = KIND(END),
	[SYS_setresuid] = KIND(END),
	[SYS_setresgid] = KIND(END),
	[SYS_setgroups] = KIND(END),
	[SYS_setfsuid] = KIND(END),
	[SYS_setfsgid] = KIND(END),
	[SYS_capset] = KIND(END),
	[SYS_unshare] = KIND(END),
	[SYS_setns] = KIND(END),
	[SYS_seccomp] = KIND(END),
	[SYS_ptrace] = KIND(END),
	[SYS_arch_prctl] = KIND(END),
	[SYS_pkey_alloc] = KIND(END),
	/* The kernel uses pages after the call has returned. */
	[SYS_io_setup] = KIND(END),
	[SYS_io_submit] = KIND(END),
	[SYS_userfaultfd] = KIND(END),
	[SYS_rseq] = KIND(END),
	[SYS_pselect6] = { WITH_MASK5, P(1) | P(2) | P(3) | P(4) | P(5), 0, 0, 0,
	    false },
};

/* A system call while its handler runs. */
struct call {
	struct guard *g;
	struct slot *s;
	ucontext_t *uc;
	long nr;
	long a[6];
	bool is_32;		/* int 0x80: numbers and arguments of 32-bit programs */
	uintptr_t sp;		/* of this handler's frame */
	uint64_t hidden;	/* signals that are hidden when it returns */
	struct span span[GUARD_SPANS];
	uint8_t use[GUARD_SPANS];	/* bits USE_ */
	unsigned spans;
	bool too_many;		/* more spans than fit */
};

/* --- memory of the program ------------------------------------------------------- */

/* False: the kernel returns EFAULT. */
static bool
copy(const struct call *c, void *ours, long theirs, size_t n, int nr)
{
	struct iovec to = { ours, n }, from = { (void *)theirs, n };

	return CALL(nr, c->g->pid, (long)&to, 1, (long)&from, 1, 0) == (long)n;
}

static bool
copy_in(const struct call *c, void *to, long from, size_t n)
{
	return copy(c, to, from, n, SYS_process_vm_readv);
}

static bool
copy_out(const struct call *c, long to, void *from, size_t n)
{
	return copy(c, from, to, n, SYS_process_vm_writev);
}

/* --- pages of a call --------------------------------------------------------------- */

static void
add_span(struct call *c, long at, uint64_t len, unsigned use)
{
	uintptr_t lo = (uintptr_t)at, hi = lo + len;

	if (len == 0 || lo == 0 || atomic_load(&c->g->state) == GUARD_ENDED)
		return;
	if (hi < lo)
		hi = UINTPTR_MAX;
	if (c->spans == GUARD_SPANS) {
		c->too_many = true;
		return;
	}
	c->use[c->spans] = (uint8_t)use;
	c->span[c->spans++] = (struct span){ lo & ~(uintptr_t)(GUARD_PAGE - 1),
		hi > UINTPTR_MAX - GUARD_PAGE ? UINTPTR_MAX :
		(hi + GUARD_PAGE - 1) & ~(uintptr_t)(GUARD_PAGE - 1) };
}

static void
add_arguments(struct call *c, const struct shape *shape)
{
	for (unsigned i = 0; i < 6; i++)
		if ((shape->fixed & P(i)) != 0)
			add_span(c, c->a[i], FIXED, USE_FIRST);
	if (shape->unit != 0)
		add_span(c, c->a[shape->buf], shape->unit == 1 ?
		    (uint64_t)c->a[shape->len] :
		    (uint64_t)(uint32_t)c->a[shape->len] * shape->unit,
		    shape->writes ? USE_WRITE : 0);
}

/*
 * Opens the part of a span that lies in a piece, and counts, unless it is open.  Exact:
 * counts each time, and not a page that the call probably does not use.
 */
static void
open_part(struct call *c, unsigned i, const struct piece *p, uintptr_t lo, uintptr_t hi)
{
	uint32_t epoch = atomic_load(&c->g->epoch);
	bool open = !c->g->kind.exact;

	for (uintptr_t at = lo; open && at < hi; at += GUARD_PAGE)
		open = guard_is_open(c->g, p, at, epoch);
	if (open)
		return;
	if (!has_keys(c->g))
		guard_open(c->g, lo, hi);
	for (uintptr_t at = lo; at < hi; at += GUARD_PAGE)
		if (!c->g->kind.exact || (c->use[i] & USE_FIRST) == 0 ||
		    at == c->span[i].lo)
			guard_note(c->g, p, at, epoch, (c->use[i] & USE_WRITE) != 0);
}

/* The caller has pinned the pages, so they stay open. */
static void
open_span(struct call *c, unsigned i)
{
	struct guard *g = c->g;

	if (atomic_load(&g->stale) != 0 || atomic_load(&g->state) != GUARD_ON)
		return;
	for (unsigned k = 0; k < g->pieces.n; k++) {
		const struct piece *p = &g->pieces.at[k];
		uintptr_t lo = c->span[i].lo > p->lo ? c->span[i].lo : p->lo;
		uintptr_t hi = c->span[i].hi < p->hi ? c->span[i].hi : p->hi;

		if (lo < hi)
			open_part(c, i, p, lo, hi);
	}
}

/* With protection keys, a call opens pages only for its own thread. */
static bool
closes_again(const struct guard *g)
{
	return g->kind.exact && !has_keys(g);
}

static bool
pins_meet(const struct guard *g, const struct pins *p)
{
	bool meet = p->n == GUARD_PIN_ALL;

	for (uint32_t i = 0; i < p->n && i < GUARD_SPANS; i++)
		meet |= span_meets(&g->hull, p->span[i].lo, p->span[i].hi);
	return meet;
}

/* Exact: `depth` no longer includes the pins. */
static void
close_pins(struct call *c, const struct pins *p)
{
	uint64_t all = ~UINT64_C(0), mask = 0;

	(void)CALL(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&mask, sizeof(all));
	if (p->n == GUARD_PIN_ALL)
		guard_close_again(c->g, c->s, 0, UINTPTR_MAX);
	else
		for (uint32_t i = 0; i < p->n && i < GUARD_SPANS; i++)
			guard_close_again(c->g, c->s, p->span[i].lo, p->span[i].hi);
	(void)CALL(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask));
}

/*
 * Exact: a handler of the program ran while a call that it had interrupted kept pages
 * open.
 */
static void
count_gap(struct call *c, const struct pins *p)
{
	if (closes_again(c->g) && pins_meet(c->g, p))
		atomic_fetch_add(&c->g->area->gaps, 1);
}

/* A call was left by a longjmp(3) if its frame is not around this one's. */
static bool
was_left(const struct call *c, const struct pins *p)
{
	const struct slot *s = c->s;
	uintptr_t lent = (uintptr_t)s->stack;
	struct span stack = s->lent ? (struct span){ lent, lent + GUARD_LENT } :
	    s->alternate;
	bool here = span_meets(&stack, c->sp, c->sp + 1);
	bool there = span_meets(&stack, p->sp, p->sp + 1);

	return here == there ? c->sp >= p->sp : there;
}

static uint32_t
drop_pins(struct call *c)
{
	struct slot *s = c->s;
	uint32_t depth = atomic_load(&s->depth);

	while (depth > 0 && was_left(c, &s->pins[depth - 1])) {
		atomic_store(&s->depth, --depth);
		count_gap(c, &s->pins[depth]);
		if (closes_again(c->g))
			close_pins(c, &s->pins[depth]);
	}
	return depth;
}

static void
open_all(struct call *c, bool until_epoch)
{
	atomic_store(&c->s->busy, 1);
	guard_await_closing(c->g);
	if (until_epoch)
		guard_mark_open(c->g);
	guard_open(c->g, 0, UINTPTR_MAX);
	atomic_store(&c->s->busy, 0);
}

/* Adds pins to those of the calls that this one has interrupted.  Returns the depth. */
static uint32_t
set_pins(struct call *c, bool all)
{
	struct slot *s = c->s;
	uint32_t depth = drop_pins(c);
	struct pins *p;

	if (depth == GUARD_DEPTH) {
		s->pins[depth - 1].n = GUARD_PIN_ALL;
		if (closes_again(c->g))
			open_all(c, true);
		return depth;
	}
	p = &s->pins[depth];
	p->sp = c->sp;
	p->n = all ? GUARD_PIN_ALL : c->spans;
	memcpy(p->span, c->span, c->spans * sizeof(c->span[0]));
	atomic_store(&s->depth, depth + 1);
	return depth;
}

static void
end_pins(struct call *c, uint32_t depth)
{
	atomic_store(&c->s->depth, depth);
	if (closes_again(c->g) && depth < GUARD_DEPTH && pins_meet(c->g, &c->s->pins[depth]))
		close_pins(c, &c->s->pins[depth]);
}

static long
make(const struct call *c)
{
	uint32_t rights;
	long r;

	if (!has_keys(c->g))
		return guard_call(c->nr, c->a);
	rights = keys_allow(c->g);
	r = guard_call(c->nr, c->a);
	keys_restore(rights);
	return r;
}

/* Makes the call with all pages open. */
static long
make_open(struct call *c, bool changes)
{
	uint32_t depth = set_pins(c, true);
	long r;

	if (changes || !has_keys(c->g))
		open_all(c, changes || !c->g->kind.exact);
	if (changes)
		guard_forget_pieces(c->g, c->s);
	r = make(c);
	end_pins(c, depth);
	return r;
}

static long
make_with(struct call *c, long (*how)(struct call *))
{
	uint32_t depth;
	bool met = false;
	long r;

	if (c->spans == 0)
		return how(c);
	depth = set_pins(c, false);
	for (unsigned i = 0; i < c->spans; i++)
		met |= span_meets(&c->g->hull, c->span[i].lo, c->span[i].hi);
	/* While pages are being closed, the ranges may be those of another request. */
	if (met || atomic_load(&c->g->closing) != 0) {
		atomic_store(&c->s->busy, 1);
		guard_await_closing(c->g);
		for (unsigned i = 0; i < c->spans; i++)
			open_span(c, i);
		atomic_store(&c->s->busy, 0);
	}
	r = how(c);
	end_pins(c, depth);
	return r;
}

static long
make_plainly(struct call *c)
{
	return make(c);
}

/* --- buffers in structures ----------------------------------------------------------- */

static bool
add_vectors(struct call *c, long at, uint64_t n, bool write)
{
	struct iovec v[VECTOR];

	if (n > VECTOR || (n > 0 && !copy_in(c, v, at, n * sizeof(v[0]))))
		return false;
	for (uint64_t i = 0; i < n; i++)
		add_span(c, (long)v[i].iov_base, v[i].iov_len, write ? USE_WRITE : 0);
	return true;
}

/* False: a structure lies in a closed page; the caller opens all pages. */
static bool
add_message(struct call *c, bool write)
{
	struct msghdr m;

	if (!copy_in(c, &m, c->a[1], sizeof(m)))
		return false;
	add_span(c, (long)m.msg_name, m.msg_namelen, write ? USE_WRITE : 0);
	add_span(c, (long)m.msg_control, m.msg_controllen, write ? USE_WRITE : 0);
	add_span(c, (long)m.msg_iov, m.msg_iovlen * sizeof(struct iovec), 0);
	return add_vectors(c, (long)m.msg_iov, m.msg_iovlen, write);
}

/* --- signals --------------------------------------------------------------------------- */

static uint64_t *
mask_of(ucontext_t *uc)
{
	return (uint64_t *)(void *)&uc->uc_sigmask;
}

/* rt_sigprocmask(how, set, old, size), for the time after this handler. */
static long
change_mask(struct call *c)
{
	const uint64_t never = SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP);
	uint64_t set = 0, old = *mask_of(c->uc) | c->s->hidden, new = old;

	if (c->a[3] != sizeof(set))
		return -EINVAL;
	if (c->a[1] != 0) {
		if (!copy_in(c, &set, c->a[1], sizeof(set)))
			return -EFAULT;
		switch (c->a[0]) {
		case SIG_BLOCK:
			new |= set;
			break;
		case SIG_UNBLOCK:
			new &= ~set;
			break;
		case SIG_SETMASK:
			new = set;
			break;
		default:
			return -EINVAL;
		}
		new &= ~never;
		c->hidden = c->s->hidden = new & c->g->kind.needed;
		*mask_of(c->uc) = new & ~c->g->kind.needed;
	}
	if (c->a[2] != 0 && !copy_out(c, c->a[2], &old, sizeof(old)))
		return -EFAULT;
	return 0;
}

/* A signal mask for the call must not block the signals that the guard needs. */
static long
make_with_mask(struct call *c, unsigned i)
{
	uint64_t mask;

	if (c->a[i] != 0 && copy_in(c, &mask, c->a[i], sizeof(mask))) {
		mask &= ~c->g->kind.needed;
		c->a[i] = (long)&mask;
	}
	return make(c);
}

static long
make_with_mask0(struct call *c)
{
	return make_with_mask(c, 0);
}

static long
make_with_mask3(struct call *c)
{
	return make_with_mask(c, 3);
}

static long
make_with_mask4(struct call *c)
{
	return make_with_mask(c, 4);
}

static long
make_with_mask5(struct call *c)
{
	struct {
		uint64_t *at;
		uint64_t size;
	} arg;
	uint64_t mask;

	if (c->a[5] != 0 && copy_in(c, &arg, c->a[5], sizeof(arg)) &&
	    arg.at != NULL && copy_in(c, &mask, (long)arg.at, sizeof(mask))) {
		mask &= ~c->g->kind.needed;
		arg.at = &mask;
		c->a[5] = (long)&arg;
	}
	return make(c);
}

/* For a signal that the guard has taken, the program reads and sets its own action. */
static long
change_ours(struct call *c, const struct guard_action *theirs)
{
	struct guard_action new, old = *theirs;
	int sig = (int)c->a[0];

	if (c->a[3] != sizeof(uint64_t))
		return -EINVAL;
	if (c->a[1] != 0) {
		if (!copy_in(c, &new, c->a[1], sizeof(new)))
			return -EFAULT;
		guard_set_programs_action(sig, &new);
		if (!guard_allows_handler(sig) && !guard_is_default(&new, sig))
			guard_stop(c->g, GUARD_HANDLER, (uint32_t)sig);
	}
	if (c->a[2] != 0 && !copy_out(c, c->a[2], &old, sizeof(old)))
		return -EFAULT;
	return 0;
}

/* Removes the signals that the guard needs from a handler's mask; hides that. */
static long
change_action(struct call *c)
{
	const struct guard_action *theirs = guard_programs_action((int)c->a[0]);
	struct guard_action new, old = { 0 };
	uint64_t hidden = 0, before;
	long to = c->a[2], r;

	if (theirs != NULL)
		return change_ours(c, theirs);
	before = guard_hidden_of((int)c->a[0]);
	if (c->a[1] != 0 && copy_in(c, &new, c->a[1], sizeof(new))) {
		hidden = new.mask & c->g->kind.needed;
		new.mask &= ~c->g->kind.needed;
		c->a[1] = (long)&new;
	}
	if (to != 0)
		c->a[2] = (long)&old;
	r = make(c);
	if (r != 0)
		return r;
	if (c->a[1] != 0)
		guard_hide((int)c->a[0], hidden);
	old.mask |= before;
	return to != 0 && !copy_out(c, to, &old, sizeof(old)) ? -EFAULT : 0;
}

/* When this handler returns, the kernel sets the alternate stack of its context. */
static long
change_stack(struct call *c)
{
	stack_t none = { .ss_flags = SS_DISABLE };
	bool lent = c->s->lent;
	long r = make(c);

	if (r != 0)
		return r;
	if (lent && c->a[1] != 0)
		(void)copy_out(c, c->a[1], &none, sizeof(none));
	if (c->a[0] == 0)
		return 0;
	c->s->lent = false;
	(void)CALL(SYS_sigaltstack, 0, (long)&c->uc->uc_stack);
	c->s->alternate = (struct span){ 0, 0 };
	if ((c->uc->uc_stack.ss_flags & SS_DISABLE) != 0)
		return 0;
	c->s->alternate = (struct span){ (uintptr_t)c->uc->uc_stack.ss_sp,
		(uintptr_t)c->uc->uc_stack.ss_sp + c->uc->uc_stack.ss_size };
	if (c->uc->uc_stack.ss_size < GUARD_STACK_LEAST)
		guard_stop(c->g, GUARD_SMALL, c->s->tid);
	if (meets_ranges(c->g, c->s->alternate.lo, c->s->alternate.hi))
		guard_stop(c->g, GUARD_STACK, c->s->tid);
	return 0;
}

/* Returns from the program's handler, whose frame is on the program's stack. */
static _Noreturn void
return_from_handler(struct call *c)
{
	uintptr_t sp = (uintptr_t)c->uc->uc_mcontext.gregs[REG_RSP];
	uint32_t depth = drop_pins(c);
	uint64_t *mask = mask_of((ucontext_t *)sp);

	for (uint32_t i = 0; i < depth; i++)
		count_gap(c, &c->s->pins[i]);
	if ((*mask & c->g->kind.needed) != 0) {
		c->s->hidden |= *mask & c->g->kind.needed;
		*mask &= ~c->g->kind.needed;
	}
	guard_sigreturn(sp);
}

/* --- mappings ---------------------------------------------------------------------------- */

static bool
meets_pages(const struct call *c, enum kind kind)
{
	uintptr_t lo = (uintptr_t)c->a[0];
	uint64_t len = (uint64_t)c->a[1];
	const struct span *hull = &c->g->hull;
	bool meets = span_meets(hull, lo, lo + len + GUARD_PAGE);

	switch (kind) {
	case MAP_NEW:
		meets = meets && (c->a[3] & MAP_FIXED) != 0;
		break;
	case MAP_MOVE:
		meets = meets || ((c->a[3] & MREMAP_FIXED) != 0 &&
		    span_meets(hull, (uintptr_t)c->a[4], (uintptr_t)c->a[4] +
		    (uint64_t)c->a[2] + GUARD_PAGE));
		break;
	case MAP_HEAP:
		meets = lo != 0 && lo < hull->hi;
		break;
	case MAP_ADVICE:
		meets = meets && c->a[2] >= ADVICE_FILLS;
		break;
	default:
		break;
	}
	return meets;
}

/* `busy` keeps new ranges from becoming pieces during a call that meets no range. */
static long
change_mapping(struct call *c, enum kind kind)
{
	uint32_t busy = atomic_exchange(&c->s->busy, 1);
	long r = 0;
	bool meets;

	guard_await_closing(c->g);
	meets = meets_pages(c, kind);
	if (!meets)
		r = make(c);
	atomic_store(&c->s->busy, busy);
	return meets ? make_open(c, kind != MAP_ADVICE) : r;
}

/* --- all of them ---------------------------------------------------------------------------- */

static const struct shape *
shape_of(const struct call *c)
{
	static const struct shape clone3 = KIND(CLONE3), none = NONE,
	    pwait2 = { WITH_MASK4, P(3) | P(4), 1, 2, 12, true },
	    unknown = KIND(ALL), end = KIND(END);

	if (c->is_32)
		return &end;
	if (c->nr >= 0 && c->nr < CALLS)
		return &shapes[c->nr];
	switch (c->nr) {
	case 435:
		return &clone3;
	case 436:		/* close_range */
		return &none;
	case 441:		/* epoll_pwait2 */
		return &pwait2;
	case 425:		/* io_uring */
	case 426:
	case 427:
		return &end;
	default:
		return c->nr > 0 && c->nr < 450 ? &unknown : &end;
	}
}

/* The kernel refuses some calls to a process with two threads. */
static void
await_end_of_guard(struct guard *g)
{
	const struct timespec ts = { .tv_nsec = 10 * 1000000 };
	int32_t helper;

	if (atomic_load(&g->hurry) == 0)
		return;
	for (int ms = 0; ms < GONE_MS && (helper = atomic_load(&g->helper)) != 0;
	    ms += 10)
		/* The kernel's wake at a thread's end is not FUTEX_PRIVATE. */
		(void)CALL(SYS_futex, (long)&g->helper, FUTEX_WAIT, helper,
		    (long)&ts, 0, 0);
}

/* Makes the thread repeat its call without dispatch, with all pages open. */
static void
leave(struct call *c, bool ends)
{
	c->spans = 0;
	(void)set_pins(c, true);
	atomic_fetch_add(&c->g->leaves, 1);
	if (atomic_load(&c->g->state) != GUARD_ENDED)
		open_all(c, true);
	guard_leave(c->g, c->uc);
	c->uc->uc_mcontext.gregs[REG_RIP] -= 2;
	c->uc->uc_mcontext.gregs[REG_RAX] = c->nr;
	if (ends)
		await_end_of_guard(c->g);
}

/* True if the new process shares this memory: it would have no dispatch. */
static bool
shares_memory(const struct call *c)
{
	struct clone_args args = { .flags = (uint64_t)c->a[0] };

	if (c->nr == SYS_clone3 && !copy_in(c, &args, c->a[0], sizeof(args.flags)))
		return true;
	return (args.flags & CLONE_VM) != 0 &&
	    (args.flags & (CLONE_THREAD | CLONE_VFORK)) == 0;
}

static bool
ends_guard(struct call *c, enum kind kind)
{
	switch (kind) {
	case END:
		return true;
	case CLONE:
	case CLONE3:
		return shares_memory(c);
	case CONTROL:
		return c->a[0] == PR_SET_SECCOMP || c->a[0] == PR_SET_NO_NEW_PRIVS ||
		    c->a[0] == GUARD_DISPATCH;
	case KILL:
		return (unsigned)c->a[c->nr == SYS_tkill ? 1 : 2] -
		    FIRST_THREAD_SIGNAL < 2;
	default:
		return false;
	}
}

static long
make_call(struct call *c, const struct shape *shape)
{
	bool known = true;

	add_arguments(c, shape);
	switch ((enum kind)shape->kind) {
	case PLAIN:
	case CONTROL:
	case KILL:
		return make_with(c, make_plainly);
	case ACTION:
		return make_with(c, change_action);
	case MASK:
		return make_with(c, change_mask);
	case STACK:
		return make_with(c, change_stack);
	case SUSPEND:
		return make_with(c, make_with_mask0);
	case WITH_MASK3:
		return make_with(c, make_with_mask3);
	case WITH_MASK4:
		return make_with(c, make_with_mask4);
	case WITH_MASK5:
		return make_with(c, make_with_mask5);
	case LIMIT:
		if (c->nr == SYS_prlimit64 && c->a[2] == 0)
			return make_with(c, make_plainly);
		return make_open(c, true);
	case VECTORS:
		known = add_vectors(c, c->a[1], (uint64_t)c->a[2], shape->writes);
		break;
	case MESSAGE:
		known = add_message(c, shape->writes);
		break;
	case MAP:
	case MAP_ADVICE:
	case MAP_NEW:
	case MAP_MOVE:
	case MAP_HEAP:
		return change_mapping(c, (enum kind)shape->kind);
	default:
		known = false;
		break;
	}
	if (known && !c->too_many)
		return make_with(c, make_plainly);
	if (c->g->kind.exact)
		atomic_fetch_add(&c->g->area->gaps, 1);
	return make_open(c, false);
}

static void
answer(struct call *c)
{
	const struct shape *shape = shape_of(c);
	greg_t *r = c->uc->uc_mcontext.gregs;
	enum kind kind = (enum kind)shape->kind;
	bool ends = ends_guard(c, kind);
	uintptr_t sp = (uintptr_t)r[REG_RSP];

	atomic_fetch_add_explicit(&c->g->area->calls, 1, memory_order_relaxed);
	if (kind == END || (kind == CONTROL && ends))
		atomic_store(&c->g->hurry, 1);
	if (meets_ranges(c->g, sp, sp + 1))
		guard_stop(c->g, GUARD_STACK, c->s->tid);
	else if (ends)
		guard_stop(c->g, c->is_32 ? GUARD_CALL_32 : GUARD_CALL,
		    (uint32_t)c->nr);
	if (atomic_load(&c->g->gone) != 0 || ends || kind == LEAVE ||
	    kind == CLONE || kind == CLONE3)
		leave(c, ends);
	else if (kind == RETURN)
		return_from_handler(c);
	else
		r[REG_RAX] = make_call(c, shape);
}

void
guard_on_call(int sig, siginfo_t *si, void *context)
{
	struct guard *g = guard_now;
	ucontext_t *uc = context;
	const greg_t *r = uc->uc_mcontext.gregs;
	struct call c;

	if (si->si_code != DISPATCHED || g == NULL || guard_slot == NULL) {
		guard_foreign(g, sig, si, uc);
		return;
	}
	c.g = g;
	c.s = guard_slot;
	c.uc = uc;
	c.is_32 = si->si_arch != AUDIT_ARCH_X86_64;
	c.nr = (int)r[REG_RAX];
	c.a[0] = r[REG_RDI];
	c.a[1] = r[REG_RSI];
	c.a[2] = r[REG_RDX];
	c.a[3] = r[REG_R10];
	c.a[4] = r[REG_R8];
	c.a[5] = r[REG_R9];
	c.sp = (uintptr_t)__builtin_frame_address(0);
	c.hidden = c.s->hidden;
	c.spans = 0;
	c.too_many = false;
	answer(&c);
	/* A handler that has interrupted the call may have made the thread leave. */
	if (guard_slot == NULL)
		*mask_of(uc) |= c.hidden;
}

#endif
