/*
 * threads: chains on other stacks than main's: small ones, stacks of the
 * program's own, coroutines that go to and fro, children of fork and vfork.
 */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "chain.h"

#define THREADS 6
#define COROUTINES 5
#define OWN_STACK (64 * 1024)

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

APART static void *
recurse(int depth)
{
	void *p;

	if (depth == 0)
		THROUGH(p = allocate(20));
	else
		THROUGH(p = recurse(depth - 1));
	touch(p);
	return p;
}

static void *
map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* --- threads ------------------------------------------------------------- */

APART static void *
thread(void *arg)
{
	void *p;

	chain_thread();
	for (int i = 0; i < 3; i++)
		THROUGH(p = recurse(i + (int)(intptr_t)arg));
	KEEP(p, malloc(30));
	touch(p);
	return NULL;
}

APART static void
threads(void)
{
	pthread_t t[THREADS];
	pthread_attr_t attr;

	for (intptr_t i = 0; i < THREADS; i++) {
		pthread_attr_init(&attr);
		if (i % 3 == 1)
			pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
		if (i % 3 == 2)
			pthread_attr_setstack(&attr, map(OWN_STACK), OWN_STACK);
		pthread_create(&t[i], &attr, thread, (void *)i);
		pthread_attr_destroy(&attr);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* --- coroutines ------------------------------------------------------------ */

static struct coroutine {
	ucontext_t context;
	struct chain_way *way;
} co[COROUTINES];
static ucontext_t home;
static struct chain_way *home_way;

static void
yield(struct coroutine *c)
{
	swapcontext(&c->context, &home);
	chain_now = c->way;
}

APART static void *
allocate_and_yield(struct coroutine *c, int depth)
{
	char room[50];
	void *p;

	touch(room);
	if (depth > 0) {
		THROUGH(p = allocate_and_yield(c, depth - 1));
	} else {
		KEEP(p, malloc(40));
		yield(c);
		KEEP(p, malloc(41));
	}
	touch(room);
	return p;
}

APART static void
coroutine(int i)
{
	struct coroutine *c = &co[i];
	void *p;

	chain_now = c->way;
	chain_push("libc.so.6", NULL, 0, CHAIN_MODULE);
	for (int k = 0; k < 4; k++) {
		THROUGH(p = allocate_and_yield(c, k));
		yield(c);
	}
	touch(p);
	chain_pop();
}

APART static void
coroutines(void)
{
	home_way = chain_now;
	for (int i = 0; i < COROUTINES; i++) {
		struct coroutine *c = &co[i];

		getcontext(&c->context);
		c->way = chain_way_new();
		c->context.uc_stack.ss_sp = map(OWN_STACK);
		c->context.uc_stack.ss_size = OWN_STACK;
		c->context.uc_link = &home;
		makecontext(&c->context, (void (*)(void))coroutine, 1, i);
	}
	for (int turn = 0; turn < 8; turn++)
		for (int i = 0; i < COROUTINES; i++) {
			void *p;

			swapcontext(&home, &co[(i * 3 + turn) % COROUTINES].context);
			chain_now = home_way;
			KEEP(p, malloc(42));
			touch(p);
		}
}

/* --- children ------------------------------------------------------------- */

APART static void
of_vfork(void)
{
	pid_t pid = vfork();
	void *p;

	if (pid == 0) {
		/* The memory is its parent's, and stays so. */
		KEEP(p, malloc(50));
		touch(p);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	KEEP(p, malloc(51));
	touch(p);
}

APART static pid_t
of_fork(int generations)
{
	pid_t pid;
	void *p;

	KEEP(p, malloc(52));
	touch(p);
	pid = fork();
	if (pid != 0)
		return pid;
	chain_forked();
	KEEP(p, malloc(53));
	THROUGH(p = recurse(3));
	if (generations > 1)
		THROUGH(pid = of_fork(generations - 1));
	chain_tell_and_wait();
	if (generations > 1)
		waitpid(pid, NULL, 0);
	_exit(0);
}

int
main(void)
{
	pid_t pid;

	chain_case("threads");
	threads();
	chain_case("coroutines");
	THROUGH(coroutines());
	chain_case("vfork");
	THROUGH(of_vfork());
	chain_case("fork");
	THROUGH(pid = of_fork(2));
	chain_tell_and_wait();
	waitpid(pid, NULL, 0);
	return 0;
}
