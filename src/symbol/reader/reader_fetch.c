/*
 * pagek-symbols fetch BUILD-ID: fetches a debug file by DEBUGINFOD_URLS, and
 * reports on its output, a line at a time:
 *
 *	812 4096	kB so far, and in all; 0 not known
 *	= /path		the file, and the end
 *	! 2		failed with this errno, and the end
 *
 * A process of its own, for servers may be slow or silent; it can be killed at
 * any time.  libdebuginfod is loaded when needed: few have it.
 */
#include "reader.h"

#include "../../base/base.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct debuginfod_client;

struct library {
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *);
	void (*set_progressfn)(struct debuginfod_client *,
	    int (*)(struct debuginfod_client *, long, long));
	int (*find_debuginfo)(struct debuginfod_client *,
	    const unsigned char *, int, char **);
};

/* C does not say how a function is found as an object. */
static bool
load_function(void *lib, const char *name, void *to)
{
	void *fn = dlsym(lib, name);

	memcpy(to, &fn, sizeof(fn));
	return fn != NULL;
}

static bool
load_library(struct library *l)
{
	void *lib = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);

	return lib != NULL &&
	    load_function(lib, "debuginfod_begin", &l->begin) &&
	    load_function(lib, "debuginfod_end", &l->end) &&
	    load_function(lib, "debuginfod_set_progressfn",
		&l->set_progressfn) &&
	    load_function(lib, "debuginfod_find_debuginfo",
		&l->find_debuginfo);
}

/* Called many times a second, also without an answer. */
static int
progress(struct debuginfod_client *client, long so_far, long in_all)
{
	static long told;
	long now = (long)(mono_ms(mono_now()) / 200);

	(void)client;
	if (now == told || so_far <= 0)
		return 0;
	told = now;
	dprintf(STDOUT_FILENO, "%ld %ld\n", so_far / 1024,
	    in_all > 0 ? in_all / 1024 : 0);
	return 0;
}

static int
report_failure(int error)
{
	dprintf(STDOUT_FILENO, "! %d\n", error);
	return 1;
}

/*
 * A killed node leaves none behind: its supervisor waits for orphans as for the
 * command.  The thread that has started us stays until we end.  False: nothing
 * reads from us any more.
 */
static bool
die_with_parent(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return poll(&out, 1, 0) <= 0 || (out.revents & POLLERR) == 0;
}

int
symread_fetch_main(const char *build_id)
{
	struct debuginfod_client *client;
	struct library l;
	char *path = NULL;
	int fd;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!die_with_parent())
		return 1;
	if (strspn(build_id, "0123456789abcdef") != strlen(build_id))
		return report_failure(EINVAL);
	if (!load_library(&l) || (client = l.begin()) == NULL)
		return report_failure(ENOSYS);
	l.set_progressfn(client, progress);
	/* Length 0: it is in hexadecimal. */
	fd = l.find_debuginfo(client, (const unsigned char *)build_id, 0,
	    &path);
	l.end(client);
	if (fd < 0 || path == NULL || path[0] != '/' ||
	    strchr(path, '\n') != NULL)
		return report_failure(fd < 0 ? -fd : EIO);
	close(fd);
	dprintf(STDOUT_FILENO, "= %s\n", path);
	free(path);
	return 0;
}
