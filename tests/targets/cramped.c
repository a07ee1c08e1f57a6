/* Forks a child that has no address space left. */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(void)
{
	static const struct rlimit least = { 4096, RLIM_INFINITY };
	void *volatile p = malloc(1000);
	int status = 1;
	pid_t pid;

	if (p == NULL || setrlimit(RLIMIT_AS, &least) != 0)
		return 1;
	pid = fork();
	if (pid == 0)
		_exit(0);
	return waitpid(pid, &status, 0) != pid || status != 0;
}
