/*
 * signal: chains through signal handlers: raised, at a faulting instruction
 * (also a function's first one), on an alternate stack, one inside another,
 * left by siglongjmp, and on a stack that has overflowed.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "chain.h"

static sigjmp_buf back;
static int nested;

static void
touch(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

APART static void *
allocate(size_t n)
{
	void *p;

	KEEP(p, malloc(n));
	touch(p);
	return p;
}

/* The frame between a handler and what it interrupts is libc's. */
APART static void
on_signal(int sig)
{
	void *p;

	chain_push("libc.so.6", NULL, 0, CHAIN_MODULE);
	KEEP(p, malloc(100));
	THROUGH(p = allocate(101));
	if (sig == SIGUSR1 && nested-- > 0)
		THROUGH_LIBC(raise(SIGUSR2));
	touch(p);
	chain_pop();
}

/* ud2 has two bytes; the program goes on behind it. */
APART static void
on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	void *p;

	(void)sig;
	(void)info;
	chain_push("libc.so.6", NULL, 0, CHAIN_MODULE);
	KEEP(p, malloc(102));
	THROUGH(p = allocate(103));
	touch(p);
	chain_pop();
	u->uc_mcontext.gregs[REG_RIP] += 2;
}

APART static void
on_leave(int sig)
{
	void *p;

	(void)sig;
	chain_push("libc.so.6", NULL, 0, CHAIN_MODULE);
	KEEP(p, malloc(104));
	touch(p);
	siglongjmp(back, 1);
}

APART static void
faulting(void)
{
	char room[40];

	touch(room);
	THROUGH(__asm__ volatile("ud2"));
	touch(room);
}

/*
 * Faults with its first instruction: the byte before belongs to something
 * else, which a look-up one byte before would find.
 */
__asm__(".text\n"
	".p2align 4\n"
	".type before_first, @function\n"
	"before_first:\n"
	".cfi_startproc\n"
	".cfi_def_cfa_offset 64\n"
	"	ud2\n"
	".cfi_endproc\n"
	".size before_first, . - before_first\n"
	".type first_faults, @function\n"
	"first_faults:\n"
	".cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	".cfi_endproc\n"
	".size first_faults, . - first_faults\n");
void first_faults(void) __asm__("first_faults");

APART static void
at_first(void)
{
	char room[40];

	touch(room);
	chain_push(__func__, __FILE__, __LINE__ + 2, CHAIN_APART);
	chain_push("first_faults", NULL, 0, CHAIN_APART);
	first_faults();
	chain_pop();
	chain_pop();
	touch(room);
}

static void
set(int sig, void (*plain)(int), void (*full)(int, siginfo_t *, void *),
    int flags)
{
	struct sigaction sa = { .sa_flags = flags };

	if (full != NULL) {
		sa.sa_sigaction = full;
		sa.sa_flags |= SA_SIGINFO;
	} else {
		sa.sa_handler = plain;
	}
	sigaction(sig, &sa, NULL);
}

static void
alternate(size_t size)
{
	stack_t ss = { .ss_size = size };

	ss.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&ss, NULL);
}

APART static void
leave(int depth)
{
	char room[100];
	int mark = chain_mark();
	void *p;

	touch(room);
	if (depth > 0) {
		THROUGH(leave(depth - 1));
		return;
	}
	if (sigsetjmp(back, 1) == 0) {
		THROUGH_LIBC(raise(SIGALRM));
	}
	chain_reset(mark);
	KEEP(p, malloc(105));
	touch(p);
	THROUGH(p = allocate(106));
}

/* --- a stack that overflows ---------------------------------------------- */

APART static void
on_overflow(int sig)
{
	void *p;

	(void)sig;
	/* Deeper than any limit: what is outside of it does not matter. */
	for (int i = 0; i < 100; i++)
		chain_push("overflow", __FILE__, 0, CHAIN_APART);
	chain_push("libc.so.6", NULL, 0, CHAIN_MODULE);
	KEEP(p, malloc(107));
	THROUGH(p = allocate(108));
	touch(p);
	siglongjmp(back, 1);
}

APART static int
overflow(int depth)
{
	volatile char room[500];

	room[depth % 500] = 1;
	return depth < 0 ? depth : overflow(depth + 1) + room[3];
}

APART static void *
thread(void *arg)
{
	int mark;
	void *p;

	chain_thread();
	mark = chain_mark();
	alternate(65536);
	if (sigsetjmp(back, 1) == 0)
		overflow(0);
	chain_reset(mark);
	KEEP(p, malloc(109));
	touch(p);
	return arg;
}

int
main(void)
{
	pthread_attr_t small;
	pthread_t t;

	chain_case("raised");
	set(SIGUSR1, on_signal, NULL, 0);
	set(SIGUSR2, on_signal, NULL, 0);
	THROUGH_LIBC(raise(SIGUSR1));
	chain_case("at a faulting instruction");
	set(SIGILL, NULL, on_fault, 0);
	THROUGH(faulting());
	chain_case("at a first instruction");
	THROUGH(at_first());
	chain_case("one inside another");
	nested = 1;
	THROUGH_LIBC(raise(SIGUSR1));
	nested = 0;
	alternate(65536);
	set(SIGUSR1, on_signal, NULL, SA_ONSTACK);
	set(SIGILL, NULL, on_fault, SA_ONSTACK);
	chain_case("on an alternate stack");
	THROUGH_LIBC(raise(SIGUSR1));
	THROUGH(faulting());
	THROUGH(at_first());
	nested = 1;
	THROUGH_LIBC(raise(SIGUSR1));
	nested = 0;
	chain_case("left by siglongjmp");
	set(SIGALRM, on_leave, NULL, 0);
	for (int depth = 0; depth < 4; depth++)
		THROUGH(leave(depth));
	set(SIGALRM, on_leave, NULL, SA_ONSTACK);
	THROUGH(leave(2));
	set(SIGALRM, SIG_DFL, NULL, 0);
	chain_case("overflow");
	set(SIGSEGV, on_overflow, NULL, SA_ONSTACK);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 * 1024);
	pthread_create(&t, &small, thread, NULL);
	pthread_join(t, NULL);
	chain_tell_and_wait();
	return 0;
}
