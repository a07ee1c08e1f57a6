/*
 * exact_firsts [FORKS]: children in which a thread of theirs allocates before the
 * one that was forked does, and then both at a time, at ever other depths; that
 * thread ends, and its like follows, while the first goes on.
 *
 * Prints firsts=N, the children that came to their end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLLOWERS 6
#define EVENTS 3000

static _Atomic int turn;	/* the child's first thread waits for 1 */

static __attribute__((noinline)) void
descend(unsigned depth, unsigned n)
{
	volatile char frame[16 + n % 5 * 16];

	frame[0] = (char)depth;
	if (depth > 0)
		descend(depth - 1, n * 7 + 1);
	else
		free(malloc(16 + n % 100));
	frame[1] = frame[0];
}

static void
churn(unsigned seed)
{
	for (unsigned i = 0; i < EVENTS; i++)
		descend((i + seed) * 7 % 13, i * 31 + seed);
}

static void *
follower(void *arg)
{
	free(malloc(10));
	atomic_store(&turn, 1);
	churn((unsigned)(size_t)arg);
	return NULL;
}

/* Threads that end are followed by others, which get their stacks. */
static void *
row(void *arg)
{
	pthread_t t;

	for (size_t i = 1; i <= FOLLOWERS; i++)
		if (pthread_create(&t, NULL, follower, (void *)i) != 0 ||
		    pthread_join(t, NULL) != 0)
			_exit(2);
	return arg;
}

static void *
nothing(void *arg)
{
	return arg;
}

static int
child(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, row, NULL) != 0)
		return 2;
	while (atomic_load(&turn) == 0)
		continue;
	for (unsigned i = 0; i < FOLLOWERS; i++)
		churn(100 + i);
	return pthread_join(t, NULL) != 0 ? 2 : 0;
}

int
main(int argc, char **argv)
{
	int forks = argc > 1 ? atoi(argv[1]) : 20, firsts = 0, status;
	void *volatile kept = malloc(100);
	pthread_t t;

	(void)kept;
	/* What libc needs for a thread is there then, for the child's too. */
	if (pthread_create(&t, NULL, nothing, NULL) != 0 ||
	    pthread_join(t, NULL) != 0)
		return 2;
	for (int i = 0; i < forks; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(child());
		if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
			firsts++;
	}
	printf("firsts=%d\n", firsts);
	return 0;
}
