/*
 * A process that stops where it has stored into persistent memory: between two such
 * stores a kill leaves the same memory behind, so these are all the points
 * there are.
 *
 * Pieces are mapped for reading only.  A store into one faults, is let through
 * as a single instruction, and has happened when the processor says so: at
 * some of these the process stops itself, for a parent that waits for that.
 * Holes are punched page by page, the last one first, for nobody is promised
 * that they are made at once or in any order.
 *
 * Each piece is to have a mapping of its own, the first with the words that
 * count: of pmem_new() nothing may be expected.
 *
 * It replaces two functions of the C library, so it is included once, by the
 * test itself.
 */
#ifndef TESTS_PMEM_STORES_H
#define TESTS_PMEM_STORES_H

#ifdef __x86_64__

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define STORES 1
#define STORES_PAGE ((uintptr_t)4096)
#define STORES_PIECES 32
#define STORES_HOLE 6		/* pages in a row after which a hole stops */
#define STORES_TRAP 0x100	/* of the flags: after the next instruction */

struct stores_piece {
	uintptr_t begin, end;
};

static struct {
	struct stores_piece piece[STORES_PIECES];
	unsigned n;
	bool armed;
	unsigned sparse;		/* one of so many pages is looked at */
	unsigned stride;		/* stores from one stop to the next, at most */
	unsigned left;			/* of them */
	size_t words;			/* of the first piece: a stop at each store */
	unsigned holes;			/* stops in the midst of one */
	uint64_t seed;
	uintptr_t at;			/* of the store that is let through ... */
	uintptr_t open[4];		/* ... and the pages that are open for it */
	unsigned nopen;
	void (*before_stop)(const void *first_piece);
} stores;

static inline unsigned
stores_below(unsigned n)
{
	stores.seed = stores.seed * UINT64_C(6364136223846793005) + 1;
	return (unsigned)(stores.seed >> 33) % n;
}

static inline void
stores_stop(void)
{
	stores.left = 1 + stores_below(stores.stride);
	stores.before_stop((const void *)stores.piece[0].begin);
	raise(SIGSTOP);
}

/* The first piece has the words that say which of the others count. */
static inline void
stores_protect(const struct stores_piece *p)
{
	uintptr_t from, step = stores.sparse * STORES_PAGE;

	if (p == &stores.piece[0] || stores.sparse == 1) {
		mprotect((void *)p->begin, p->end - p->begin, PROT_READ);
		return;
	}
	from = p->begin + stores_below(stores.sparse) * STORES_PAGE;
	/* Address space that nobody will ever reach is not looked at. */
	for (unsigned i = 0; i < 1024 && from < p->end; i++, from += step)
		mprotect((void *)from, STORES_PAGE, PROT_READ);
}

static void
stores_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uintptr_t page = (uintptr_t)info->si_addr & ~(STORES_PAGE - 1);
	bool ours = false;

	for (unsigned i = 0; i < stores.n; i++)
		ours |= page >= stores.piece[i].begin &&
		    page < stores.piece[i].end;
	if (!ours || stores.nopen == 4) {
		signal(sig, SIG_DFL);
		return;
	}
	if (stores.nopen == 0)
		stores.at = (uintptr_t)info->si_addr;
	stores.open[stores.nopen++] = page;
	mprotect((void *)page, STORES_PAGE, PROT_READ | PROT_WRITE);
	uc->uc_mcontext.gregs[REG_EFL] |= STORES_TRAP;
}

static void
stores_done(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	uc->uc_mcontext.gregs[REG_EFL] &= ~STORES_TRAP;
	while (stores.nopen > 0)
		mprotect((void *)stores.open[--stores.nopen], STORES_PAGE,
		    PROT_READ);
	if (--stores.left == 0 ||
	    stores.at - stores.piece[0].begin < stores.words)
		stores_stop();
}

/* A new process has no pieces; it is to stop at stores like these. */
static inline void
stores_begin(unsigned sparse, unsigned stride, size_t words, uint64_t from,
    void (*before_stop)(const void *first_piece))
{
	struct sigaction fault = { .sa_sigaction = stores_fault,
		.sa_flags = SA_SIGINFO };
	struct sigaction done = { .sa_sigaction = stores_done,
		.sa_flags = SA_SIGINFO };

	stores.n = stores.nopen = stores.holes = 0;
	stores.armed = false;
	stores.sparse = sparse;
	stores.stride = stride;
	stores.words = words;
	stores.seed = from;
	stores.before_stop = before_stop;
	stores.left = 1 + stores_below(stride);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGTRAP, &done, NULL);
}

/* From here on. */
static inline void
stores_arm(void)
{
	stores.armed = true;
	for (unsigned i = 0; i < stores.n; i++)
		stores_protect(&stores.piece[i]);
}

/* --- what kept memory calls ------------------------------------------------ */

void *
mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	long r = syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
	struct stores_piece *p = &stores.piece[stores.n];

	if (r == -1 || fd < 0 || (flags & MAP_SHARED) == 0 ||
	    stores.n == STORES_PIECES)
		return (void *)r;
	*p = (struct stores_piece){ (uintptr_t)r, (uintptr_t)r + len };
	stores.n++;
	if (stores.armed)
		stores_protect(p);
	return (void *)r;
}

int
fallocate(int fd, int mode, off_t offset, off_t len)
{
	off_t end = offset + len, from;
	off_t pages = len / (off_t)STORES_PAGE, stop;

	if (!stores.armed)
		return (int)syscall(SYS_fallocate, fd, mode, offset, len);
	stop = pages > STORES_HOLE ? stores_below((unsigned)pages) : 0;
	for (off_t n = 0; end > offset; end = from, n++) {
		from = (end - 1) & ~(off_t)(STORES_PAGE - 1);
		if (from < offset)
			from = offset;
		if (syscall(SYS_fallocate, fd, mode, from, end - from) < 0)
			return -1;
		if (n < stop || n >= stop + STORES_HOLE)
			continue;
		stores.holes += from > offset;
		stores_stop();
	}
	return 0;
}

/* --- whether it can be done here ------------------------------------------- */

static void
stores_nothing(const void *first_piece)
{
	(void)first_piece;
}

/* An emulator may let a store through and never say that it has happened. */
static inline bool
stores_work(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int fd = memfd_create("try", MFD_CLOEXEC);
		volatile char *p;

		stores_begin(1, 1, 0, 1, stores_nothing);
		if (ftruncate(fd, (off_t)STORES_PAGE) < 0)
			_exit(1);
		p = mmap(NULL, STORES_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
		stores_arm();
		*p = 1;
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid)
		return false;
	if (!WIFSTOPPED(status))
		return false;
	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid;
}

#else

#define STORES 0

#endif
#endif
