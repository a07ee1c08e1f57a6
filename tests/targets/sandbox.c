/*
 * sandbox: forbids itself every socket on pain of death and forks; the child
 * allocates.
 *
 * Prints child=N, the child's status as waitpid(2) has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forbid.h"

int
main(void)
{
	int status = -1;
	pid_t pid;

	if (forbid(SYS_socket) != 0)
		return 2;
	pid = fork();
	if (pid == 0) {
		free(malloc(100));
		_exit(9);
	}
	waitpid(pid, &status, 0);
	dprintf(1, "child=%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return 0;
}
