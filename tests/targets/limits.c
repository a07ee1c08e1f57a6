/*
 * limits WHAT: what a program has of each limit.
 *	usage	prints NAME=N for itself, then thread_NAME of each of its
 *		threads and child_NAME of a forked child, where NAME is as and
 *		data (KB), maps, fds, tasks, and keys that could still be made
 *	room	prints room=KB that it can allocate, and child_room of a child
 *	lock	locks all its memory, also its future one; prints lock=RESULT,
 *		locked=KB, then more=RESULT of another MiB, thread=KB that are
 *		locked for a thread that allocates, and child_lock=RESULT
 *	lock-now, lock-future: the same of the present or the future alone
 *	stack	prints the bytes that allocating calls take of a signal stack:
 *		first of a thread, many of it, and child, after a fork in the
 *		handler; and begun, those of a thread's stack that were taken
 *		before its function began
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- usage ---------------------------------------------------------------- */

#define THREADS 16

struct usage {
	long as, data, maps, fds, tasks, keys;
};

static long
status_of(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long n = -1;

	while (f != NULL && n < 0 && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			n = atol(line + strlen(name) + 1);
	if (f != NULL)
		(void)fclose(f);
	return n;
}

static long
count_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	long n = 0;
	int c;

	while (f != NULL && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f != NULL)
		(void)fclose(f);
	return n;
}

static long
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long n = 0;

	while (dir != NULL && readdir(dir) != NULL)
		n++;
	if (dir != NULL)
		(void)closedir(dir);
	return n;
}

static long
count_keys(void)
{
	static pthread_key_t key[4096];
	long n = 0;

	while (n < 4096 && pthread_key_create(&key[n], NULL) == 0)
		n++;
	for (long i = 0; i < n; i++)
		(void)pthread_key_delete(key[i]);
	return n;
}

static struct usage
usage(void)
{
	struct usage u;

	free(malloc(100));
	u.fds = count_fds();
	u.keys = count_keys();
	u.maps = count_maps();
	u.as = status_of("VmSize");
	u.data = status_of("VmData");
	u.tasks = status_of("Threads");
	return u;
}

static void
print_usage(const char *who, struct usage u)
{
	printf("%sas=%ld\n%sdata=%ld\n%smaps=%ld\n", who, u.as, who, u.data,
	    who, u.maps);
	printf("%sfds=%ld\n%stasks=%ld\n%skeys=%ld\n", who, u.fds, who,
	    u.tasks, who, u.keys);
	(void)fflush(stdout);
}

static pthread_barrier_t begun, measured;

static void *
allocate(void *arg)
{
	(void)arg;
	free(malloc(100));
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&measured);
	return NULL;
}

/* Of a thread, where there are THREADS more of them. */
static struct usage
each(struct usage with, struct usage without)
{
	return (struct usage){
		.as = (with.as - without.as) / THREADS,
		.data = (with.data - without.data) / THREADS,
		.maps = (with.maps - without.maps) / THREADS,
		.fds = (with.fds - without.fds) / THREADS,
		.tasks = (with.tasks - without.tasks) / THREADS,
		.keys = (with.keys - without.keys) / THREADS,
	};
}

static int
tell_usage(void)
{
	struct usage alone;
	pthread_t t[THREADS];
	int status = -1;
	pid_t pid;

	/* Whatever a first time takes. */
	(void)usage();
	alone = usage();
	print_usage("", alone);
	pid = fork();
	if (pid == 0) {
		print_usage("child_", usage());
		_exit(0);
	}
	if (pid == -1 || waitpid(pid, &status, 0) != pid || status != 0)
		return 1;
	pthread_barrier_init(&begun, NULL, THREADS + 1);
	pthread_barrier_init(&measured, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, allocate, NULL) != 0)
			return 1;
	pthread_barrier_wait(&begun);
	print_usage("thread_", each(usage(), alone));
	pthread_barrier_wait(&measured);
	for (int i = 0; i < THREADS; i++)
		if (pthread_join(t[i], NULL) != 0)
			return 1;
	return 0;
}

/* --- room ------------------------------------------------------------------ */

static void
print_room(const char *who)
{
	static void *held[1 << 16];
	unsigned n = 0;

	while (n < sizeof held / sizeof held[0] &&
	    (held[n] = malloc(64 << 10)) != NULL)
		n++;
	for (unsigned i = 0; i < n; i++)
		free(held[i]);
	printf("%sroom=%u\n", who, n * 64);
	(void)fflush(stdout);
}

static int
tell_room(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		print_room("child_");
		_exit(0);
	}
	if (pid == -1 || waitpid(pid, &status, 0) != pid || status != 0)
		return 1;
	print_room("");
	return 0;
}

/* --- locks ----------------------------------------------------------------- */

static void *
measure_lock(void *arg)
{
	free(malloc(100));
	*(long *)arg = status_of("VmLck");
	return NULL;
}

static int
tell_lock(int flags)
{
	long before, thread = -1;
	int status = -1, rc;
	pthread_attr_t little;
	pthread_t t;
	pid_t pid;
	void *p;

	free(malloc(100));
	/* Whatever printing takes. */
	printf("locked_before=%ld\n", status_of("VmLck"));
	(void)fflush(stdout);
	rc = mlockall(flags);
	before = status_of("VmLck");
	printf("lock=%d\nlocked=%ld\n", rc, before);
	p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("more=%d\n", p != MAP_FAILED ? 0 : -1);
	if (p != MAP_FAILED)
		(void)munmap(p, 1 << 20);
	pthread_attr_init(&little);
	pthread_attr_setstacksize(&little, 64 << 10);
	if (pthread_create(&t, &little, measure_lock, &thread) != 0 ||
	    pthread_join(t, NULL) != 0)
		return 1;
	printf("thread=%ld\n", thread - before);
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		free(malloc(100));
		printf("child_lock=%d\n", mlockall(flags));
		(void)fflush(stdout);
		_exit(0);
	}
	return pid == -1 || waitpid(pid, &status, 0) != pid || status != 0;
}

/* --- stack ----------------------------------------------------------------- */

#define STACK 65536
#define PAINT ((char)0xa5)

static char *stack;
static void (*call)(void);
static volatile bool in_child;

static void
allocate_once(void)
{
	free(realloc(malloc(10), 1000));
}

/* Whatever comes up now and then: full rings, a look at the keeper. */
static void
allocate_many(void)
{
	static void *held[200000];

	for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
		held[i] = malloc(24);
	for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
		free(held[i]);
}

static void
fork_once(void)
{
	pid_t pid = fork();

	in_child = pid == 0;
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	else
		free(malloc(10));
}

static void
handler(int sig)
{
	(void)sig;
	call();
}

/* The bytes that are no longer as they were painted. */
static size_t
stack_of(void (*fn)(void))
{
	size_t n = 0;

	memset(stack, PAINT, STACK);
	call = fn;
	pthread_kill(pthread_self(), SIGUSR1);
	while (n < STACK && stack[n] == PAINT)
		n++;
	return STACK - n;
}

static void *
measure_stack(void *arg)
{
	stack_t s = { .ss_size = STACK };
	pthread_attr_t attr;
	void *base;
	size_t size;
	size_t child;

	(void)arg;
	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	s.ss_sp = stack;
	if (stack == MAP_FAILED || sigaltstack(&s, NULL) != 0)
		return (void *)1;
	if (pthread_getattr_np(pthread_self(), &attr) == 0 &&
	    pthread_attr_getstack(&attr, &base, &size) == 0)
		printf("begun=%zu\n", (size_t)((char *)base + size -
		    (char *)&s));
	printf("first=%zu\n", stack_of(allocate_once));
	printf("many=%zu\n", stack_of(allocate_many));
	(void)fflush(stdout);
	child = stack_of(fork_once);
	if (in_child) {
		printf("child=%zu\n", child);
		(void)fflush(stdout);
		_exit(0);
	}
	return NULL;
}

/* Linked with -z now: otherwise the loader takes more than anybody else. */
static int
tell_stack(void)
{
	struct sigaction sa = { .sa_handler = handler,
		.sa_flags = SA_ONSTACK };
	void *failed = (void *)1;
	pthread_t t;

	if (sigaction(SIGUSR1, &sa, NULL) != 0 ||
	    pthread_create(&t, NULL, measure_stack, NULL) != 0 ||
	    pthread_join(t, &failed) != 0)
		return 1;
	return failed != NULL;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "usage") == 0)
		return tell_usage();
	if (strcmp(what, "room") == 0)
		return tell_room();
	if (strcmp(what, "lock") == 0)
		return tell_lock(MCL_CURRENT | MCL_FUTURE);
	if (strcmp(what, "lock-now") == 0)
		return tell_lock(MCL_CURRENT);
	if (strcmp(what, "lock-future") == 0)
		return tell_lock(MCL_FUTURE);
	return tell_stack();
}
