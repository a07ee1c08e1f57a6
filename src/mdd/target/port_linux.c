/*
 * With PAGEK_DEBUGDATA in the environment the collection starts before main().
 * Memory comes from mmap(2): core files have it, and the program's heap has
 * not.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

#define HZ 100
#define PATIENCE_TURNS 1100	/* some 100 ms */

static __thread uint32_t thread_word;
static struct timespec start;

void *
mdd_port_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory != MAP_FAILED ? memory : NULL;
}

uintptr_t
mdd_port_self(void)
{
	return (uintptr_t)&thread_word;
}

int
mdd_port_wait(unsigned turn)
{
	const struct timespec pause = { 0, 100000 };

	if (turn >= 100)
		nanosleep(&pause, NULL);
	return turn < PATIENCE_TURNS;
}

uint64_t
mdd_port_ticks(uint32_t *hz)
{
	struct timespec now;

	*hz = HZ;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)(now.tv_sec - start.tv_sec) * HZ +
	    (uint64_t)now.tv_nsec / (1000000000 / HZ) -
	    (uint64_t)start.tv_nsec / (1000000000 / HZ);
}

void
mdd_port_thread(uintptr_t *handle, uint32_t *number, char *name)
{
	*handle = (uintptr_t)pthread_self();
	*number = (uint32_t)syscall(SYS_gettid);
	memset(name, 0, MDD_NAME);
	prctl(PR_GET_NAME, name);
}

uint32_t *
mdd_port_thread_word(void)
{
	return &thread_word;
}

/*
 * Walks frame pointers, for programs built with -fno-omit-frame-pointer: in a
 * static program libgcc's unwinder allocates inside its own lock.  All memory
 * from a frame to the end of its stack can be read.  The walk ends where the
 * chain leaves the stack, or the return address is not in the program.
 */
extern const char __executable_start, __etext;
extern void *__libc_stack_end;
static size_t stack_size;

static uintptr_t
stack_end(uintptr_t frame)
{
	uintptr_t main_end = (uintptr_t)__libc_stack_end;
	uintptr_t thread_end = (uintptr_t)pthread_self();

	if (main_end - frame < stack_size)
		return main_end;
	return thread_end - frame < stack_size ? thread_end : 0;
}

void
mdd_port_stack(uintptr_t caller, uintptr_t *level, unsigned n)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0), next;
	uintptr_t end = stack_end(frame);
	const uintptr_t *word;
	int behind = 0;
	unsigned got = 0;

	while (got < n && frame % sizeof(uintptr_t) == 0 &&
	    frame + 2 * sizeof(uintptr_t) <= end) {
		word = (const uintptr_t *)frame;
		if (behind) {
			if (word[1] < (uintptr_t)&__executable_start ||
			    word[1] >= (uintptr_t)&__etext)
				break;
			level[got++] = word[1];
		} else
			behind = word[1] == caller;
		next = word[0];
		if (next <= frame)
			break;
		frame = next;
	}
}

static void
thread_ends(void *arg)
{
	(void)arg;
	mdd_thread_changed(1);
}

__attribute__((constructor(101))) static void
begin(void)
{
	const char *text = secure_getenv("PAGEK_DEBUGDATA"), *bad;
	struct mdd_opts opts;
	struct timespec now;
	struct rlimit stack;
	pthread_key_t key;
	int on;

	if (text == NULL)
		return;
	on = mdd_settings(&opts, text, &bad);
	if (on < 0) {
		dprintf(STDERR_FILENO,
		    "libmdd: PAGEK_DEBUGDATA: not understood from '%s' on; nothing is collected, see libmdd(3)\n",
		    bad);
		return;
	}
	if (!on)
		return;
	if (getrlimit(RLIMIT_STACK, &stack) == 0)
		stack_size = stack.rlim_cur < 64 << 20 ? stack.rlim_cur :
		    64 << 20;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &start);
	clock_gettime(CLOCK_REALTIME, &now);
	mdd_root.process = (uint32_t)getpid();
	mdd_root.run = (uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec << 12;
	mdd_start(&opts);
	pthread_atfork(NULL, NULL, mdd_forked);
	if (pthread_key_create(&key, thread_ends) == 0)
		pthread_setspecific(key, &thread_word);
}
