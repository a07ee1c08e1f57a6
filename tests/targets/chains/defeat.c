/*
 * defeat [TIMES]: allocations that look alike to whoever remembers stacks by
 * return address and stack pointer, and are not: other middles under the same
 * inner frames, frames whose size varies while what is inside stays in place,
 * words of dead frames where live ones would be, handlers, coroutines on one
 * stack's memory, tail calls.
 *
 * Keeps nothing and tells nothing: tests/stackcheck looks at every one.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "chain.h"

static uint64_t random_state = 2004;
static void *blocks[64];

static unsigned
draw(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % n;
}

static void
touch(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* The innermost frame is always the same: the key says nothing. */
APART static void
leaf(void)
{
	unsigned i = draw(64);

	free(blocks[i]);
	blocks[i] = malloc(16 + draw(300));
}

/* --- the same place, other middles --------------------------------------- */

#define MIDDLES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define X(n) \
	APART static void middle_##n(void) \
	{ \
		leaf(); \
		__asm__ volatile("# " #n); \
	}
MIDDLES(X)
#undef X
#define X(n) middle_##n,
static void (*const middles[])(void) = { MIDDLES(X) };
#undef X

#define X(n) \
	APART static void upper_##n(void) \
	{ \
		middles[draw(8)](); \
		__asm__ volatile("# " #n); \
	}
MIDDLES(X)
#undef X
#define X(n) upper_##n,
static void (*const uppers[])(void) = { MIDDLES(X) };
#undef X

APART static void
same_place(void)
{
	uppers[draw(8)]();
	touch(NULL);
}

/* --- frames of varying size ----------------------------------------------- */

APART static void
varying(size_t n)
{
	char *room = alloca(n);

	touch(room);
	leaf();
	touch(room);
}

/*
 * The deeper it is called the smaller its frame, so that leaf() lies in one
 * place; the words of earlier calls are still in the room below.
 */
APART static void
compensating(int depth, int of)
{
	char fixed[48];

	touch(fixed);
	if (depth > 0)
		compensating(depth - 1, of);
	else
		varying((size_t)(12 - of) * 112 + 16 * draw(8));
	touch(fixed);
}

APART static void
by_steps(int depth, int of)
{
	char *room = alloca(16 * (size_t)draw(6));

	touch(room);
	if (depth > 0)
		by_steps(depth - 1, of);
	else
		varying(16 * (size_t)draw(20));
	touch(room);
}

APART static void
realigned(int depth)
{
	__attribute__((aligned(64))) char room[64];

	touch(room);
	if (depth > 0)
		realigned(depth - 1);
	else
		varying(16 * (size_t)draw(5));
	touch(room);
}

/*
 * Entered at places that differ by less than the alignment, the frame comes to
 * lie in one place, and the last return address is still in the gap above it.
 */
APART static void
aligned_alike(void)
{
	__attribute__((aligned(128))) char room[128];

	touch(room);
	leaf();
	touch(room);
}

APART static void
shifted(unsigned units)
{
	char *room = alloca(16 * (size_t)units);

	touch(room);
	aligned_alike();
	touch(room);
}

/* --- tail calls: who called is not on the stack ---------------------------- */

APART static void tail_b(unsigned n);

APART static void
tail_a(unsigned n)
{
	if (n == 0) {
		leaf();
		touch(NULL);
		return;
	}
	tail_b(n - 1);
}

APART static void
tail_b(unsigned n)
{
	if (n == 0) {
		middles[draw(8)]();
		touch(NULL);
		return;
	}
	tail_a(n - 1);
}

/* --- handlers -------------------------------------------------------------- */

static sigjmp_buf back;
static int leaves;

APART static void
on_signal(int sig)
{
	(void)sig;
	same_place();
	if (leaves)
		siglongjmp(back, 1);
}

APART static void
interrupted(unsigned depth)
{
	char *room = alloca(16 * (size_t)draw(9));

	touch(room);
	if (depth > 0)
		interrupted(depth - 1);
	else
		raise(draw(2) ? SIGUSR1 : SIGUSR2);
	leaf();
	touch(room);
}

APART static void
left(unsigned depth)
{
	char *room = alloca(16 * (size_t)draw(9));

	touch(room);
	leaves = 1;
	if (sigsetjmp(back, 1) == 0)
		interrupted(depth);
	leaves = 0;
	leaf();
	touch(room);
}

/* --- coroutines one after the other on the same memory ---------------------- */

static ucontext_t home, away;
static char *co_stack;
static int co_ended;

static void
co_main(int which)
{
	co_ended = 0;
	for (int i = 0; i < 3; i++) {
		if (which % 2)
			same_place();
		else
			by_steps((int)draw(3), 0);
		swapcontext(&away, &home);
	}
	co_ended = 1;
	swapcontext(&away, &home);
}

APART static void
coroutine(void)
{
	getcontext(&away);
	away.uc_stack.ss_sp = co_stack;
	away.uc_stack.ss_size = 65536;
	makecontext(&away, (void (*)(void))co_main, 1, (int)draw(2));
	for (co_ended = 0; !co_ended;) {
		swapcontext(&home, &away);
		leaf();
	}
}

int
main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 2000;
	struct sigaction sa = { .sa_handler = on_signal };
	stack_t ss = { .ss_size = 65536 };

	ss.ss_sp = malloc(ss.ss_size);
	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &sa, NULL);
	co_stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (long i = 0; i < times; i++) {
		int depth = (int)draw(12);

		switch (draw(10)) {
		case 0:
		case 1:
			same_place();
			break;
		case 2:
			varying(16 * (size_t)draw(100));
			break;
		case 3:
		case 4:
			compensating(depth, depth);
			break;
		case 5:
			by_steps(depth, depth);
			break;
		case 6:
			realigned(depth % 4);
			for (unsigned k = draw(8); k > 0; k--)
				shifted(draw(8));
			break;
		case 7:
			tail_a((unsigned)depth);
			break;
		case 8:
			if (i % 10 == 0)
				interrupted((unsigned)depth % 5);
			else if (i % 10 == 1)
				left((unsigned)depth % 5);
			break;
		case 9:
			if (i % 10 == 0)
				coroutine();
			break;
		}
	}
	return 0;
}
