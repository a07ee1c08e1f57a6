/*
 * orphan: holds 40 blocks and forks; its child holds 40 more and prints both
 * pids, the parent's first.  Both stay until they are killed.  The stacks of both
 * were made for the parent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[80];

__attribute__((noinline)) static void *
before_fork(void)
{
	return malloc(7777);
}

__attribute__((noinline)) static void *
after_fork(void)
{
	return malloc(8888);
}

int
main(void)
{
	for (int i = 0; i < 40; i++)
		kept[i] = before_fork();
	if (fork() != 0) {
		pause();
		_exit(0);
	}
	for (int i = 40; i < 80; i++)
		kept[i] = after_fork();
	printf("%d %d\n", (int)getppid(), (int)getpid());
	fflush(stdout);
	pause();
	return kept[0] == NULL;
}
