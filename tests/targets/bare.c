/*
 * bare: a thread by clone(2), whose own storage is zeros but for the two words by
 * which it is found: what has an initial value there has it in no such thread.
 * It allocates; prints made=N, and ends as that did.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (1 << 20)
#define MADE 1000

static volatile int made;

static int
work(void *arg)
{
	for (int i = 0; i < MADE; i++) {
		char *volatile p = malloc(100);

		made += p != NULL;
		free(p);
	}
	return arg != NULL;
}

static char *
zeros(void)
{
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(2);
	return p;
}

int
main(void)
{
	char *storage = zeros() + BYTES / 2, *stack = zeros();
	int status = -1, pid;
	char text[64];

	((void **)(void *)storage)[0] = storage;
	((void **)(void *)storage)[2] = storage;
	pid = clone(work, stack + BYTES, CLONE_VM | CLONE_FS | CLONE_FILES |
	    CLONE_SETTLS | SIGCHLD, NULL, NULL, storage, NULL);
	waitpid(pid, &status, 0);
	/* Not by dprintf(3), which allocates or not, as libc is new or old. */
	snprintf(text, sizeof(text), "made=%d\n", made);
	return write(1, text, strlen(text)) < 0 || status != 0;
}
