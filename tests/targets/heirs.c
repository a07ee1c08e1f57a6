/*
 * heirs: four threads make a block each, 1001 bytes the main one, 2002 and 3003
 * two that are both called "rx", and the program writes "made".  When it has read
 * a byte, the second of them ends, and one called "forker" makes 4004.  That one
 * forks; its child makes a block of 5005 bytes and forks, too, and that child
 * makes one of 6006 and writes its process id.  All of them stay until the
 * standard input ends.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t made, go_on;
static void *block[7];

static void
make(int i)
{
	block[i] = malloc((size_t)(1001 * i));
}

static void
stay(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		continue;
}

static void *
rx(void *ends)
{
	pthread_setname_np(pthread_self(), "rx");
	make(ends != NULL ? 3 : 2);
	pthread_barrier_wait(&made);
	if (ends != NULL)
		pthread_barrier_wait(&go_on);
	else
		pause();
	return NULL;
}

static void
forks(int child)
{
	char line[20];
	pid_t pid = fork();

	if (pid != 0) {
		stay();
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	make(child);
	if (child == 5)
		forks(6);
	if (write(1, line, (size_t)snprintf(line, sizeof line, "%d\n",
	    (int)getpid())) < 0)
		_exit(1);
	stay();
	_exit(0);
}

static void *
forker(void *ending)
{
	pthread_setname_np(pthread_self(), "forker");
	make(4);
	pthread_join(*(pthread_t *)ending, NULL);
	forks(5);
	return NULL;
}

int
main(void)
{
	pthread_t thread[3];
	char c;

	make(1);
	pthread_barrier_init(&made, NULL, 3);
	pthread_barrier_init(&go_on, NULL, 2);
	if (pthread_create(&thread[0], NULL, rx, NULL) != 0 ||
	    pthread_create(&thread[1], NULL, rx, "ends") != 0)
		return 2;
	pthread_barrier_wait(&made);
	if (write(1, "made\n", 5) != 5 || read(0, &c, 1) != 1)
		return 2;
	pthread_barrier_wait(&go_on);
	if (pthread_create(&thread[2], NULL, forker, &thread[1]) != 0)
		return 2;
	return pthread_join(thread[2], NULL);
}
