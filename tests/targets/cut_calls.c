/*
 * cut_calls MODE: calls of malloc that do not end as usual.  With libcut.so a
 * request of CUT bytes raises SIGUSR1 in the middle, whose handler
 *
 *	jump	jumps out of it to main, which goes on
 *	alt	does so from an alternate stack
 *	thread	jumps out to a thread that ends at once
 *	exit	ends the process
 *	nested	allocates and returns
 *
 * With it, too
 *	locked	forks beside a thread that allocates under the lock that the
 *		fork waits for
 *
 * Without it
 *	overflow	recursion that allocates until the stack ends, out of
 *			which its handler jumps, again and again
 *	raw	a child by clone(2) while another thread waits
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUT 70001

static const char *mode;
static sigjmp_buf out;
static void *volatile held[64];

static int
is(const char *name)
{
	return strcmp(mode, name) == 0;
}

static void
on_signal(int sig)
{
	(void)sig;
	if (is("exit"))
		exit(0);
	if (!is("nested"))
		siglongjmp(out, 1);
	held[0] = malloc(10);
	free(malloc(20));
}

static void
handle(int sig)
{
	static char stack[65536];
	struct sigaction sa = { .sa_handler = on_signal };

	if (is("alt") || is("overflow")) {
		sigaltstack(&(stack_t){ .ss_sp = stack,
		    .ss_size = sizeof(stack) }, NULL);
		sa.sa_flags = SA_ONSTACK;
	}
	sigaction(sig, &sa, NULL);
}

static void *
cut(void *arg)
{
	(void)arg;
	if (sigsetjmp(out, 1) == 0)
		held[1] = malloc(CUT);
	return NULL;
}

static int
deeper(size_t frame)
{
	char room[frame];
	void *p;

	memset(room, 1, frame);
	p = malloc(100 + frame % 50);
	held[frame % 64] = p;
	return deeper(frame) + room[frame / 2];
}

static void
overflow(void)
{
	volatile size_t frame = 200;

	handle(SIGSEGV);
	while (frame < 400) {
		frame += 8;
		if (sigsetjmp(out, 1) == 0)
			deeper(frame);
		free(malloc(300));
	}
}

static void *
wait_here(void *arg)
{
	held[2] = malloc(30);
	pthread_barrier_wait(arg);
	pause();
	return NULL;
}

static void
raw_fork(void)
{
	pthread_barrier_t ready;
	pthread_t t;
	int status;
	pid_t pid;

	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&t, NULL, wait_here, &ready);
	pthread_barrier_wait(&ready);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		held[3] = malloc(40);
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

static atomic_int forked, locked;

static void *
allocate_locked(void *arg)
{
	void (*lock)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "cut_lock");
	void (*unlock)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "cut_unlock");

	while (atomic_load(&forked) == 0) {
		lock();
		atomic_store(&locked, 1);
		for (int i = 0; i < 100000; i++)
			free(malloc(80));
		unlock();
		pthread_barrier_wait(arg);
	}
	return NULL;
}

static void
fork_locked(void)
{
	pthread_barrier_t round;
	pthread_t t;
	int status;
	pid_t pid;

	pthread_barrier_init(&round, NULL, 2);
	pthread_create(&t, NULL, allocate_locked, &round);
	for (int i = 0; i < 5; i++) {
		while (atomic_load(&locked) == 0)
			sched_yield();
		pid = fork();
		if (pid == 0) {
			held[6] = malloc(90);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		atomic_store(&locked, 0);
		if (i == 4)
			atomic_store(&forked, 1);
		pthread_barrier_wait(&round);
	}
	pthread_join(t, NULL);
}

int
main(int argc, char **argv)
{
	pthread_t t;

	mode = argc > 1 ? argv[1] : "jump";
	held[4] = malloc(50);
	if (is("overflow")) {
		overflow();
	} else if (is("raw")) {
		raw_fork();
	} else if (is("locked")) {
		fork_locked();
	} else {
		handle(SIGUSR1);
		if (is("thread")) {
			pthread_create(&t, NULL, cut, NULL);
			pthread_join(t, NULL);
		} else {
			cut(NULL);
		}
		held[5] = malloc(60);
		free(malloc(70));
	}
	return 0;
}
