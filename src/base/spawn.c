#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base.h"

/* Killed, but waiting for a dead disk, a tracer or the kernel. */
static pid_t lingering[16];
static pthread_mutex_t lingering_lock = PTHREAD_MUTEX_INITIALIZER;

void
base_reap(pid_t child)
{
	pthread_mutex_lock(&lingering_lock);
	for (size_t i = 0; i < BASE_NELEM(lingering); i++) {
		if (lingering[i] != 0 &&
		    waitpid(lingering[i], NULL, WNOHANG) != 0)
			lingering[i] = 0;
		if (lingering[i] == 0 && child != 0) {
			lingering[i] = child;
			child = 0;
		}
	}
	pthread_mutex_unlock(&lingering_lock);
}

static int
set_attributes(posix_spawnattr_t *attr)
{
	static const int defaults[] = { SIGPIPE, SIGALRM, SIGINT, SIGTERM,
	    SIGXFSZ, SIGBUS, SIGSEGV };
	sigset_t set;

	sigemptyset(&set);
	posix_spawnattr_setsigmask(attr, &set);
	for (size_t i = 0; i < BASE_NELEM(defaults); i++)
		sigaddset(&set, defaults[i]);
	posix_spawnattr_setsigdefault(attr, &set);
	/* A terminal's signals are not for it. */
	posix_spawnattr_setpgroup(attr, 0);
	return -posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
	    POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

static int
set_files(posix_spawn_file_actions_t *files, int in, int out)
{
	int from[3] = { in, out, -1 }, error = 0;

	for (int i = 0; i < 3 && error == 0; i++)
		error = from[i] >= 0 ?
		    posix_spawn_file_actions_adddup2(files, from[i], i) :
		    posix_spawn_file_actions_addopen(files, i, "/dev/null",
		    i == 0 ? O_RDONLY : O_WRONLY, 0);
	if (error == 0)
		error = posix_spawn_file_actions_addclosefrom_np(files, 3);
	return -error;
}

int
base_spawn(pid_t *child, char *const argv[], char *const env[], int in, int out)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int error = -posix_spawn_file_actions_init(&files);

	if (error < 0)
		return error;
	if ((error = -posix_spawnattr_init(&attr)) < 0)
		goto free_files;
	if ((error = set_files(&files, in, out)) == 0 &&
	    (error = set_attributes(&attr)) == 0)
		error = -posix_spawn(child, argv[0], &files, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
free_files:
	posix_spawn_file_actions_destroy(&files);
	return error;
}
