/*
 * peculiar WHAT: programs that do what few do.  Built with -rdynamic.
 *	strict	locks itself in so that it may only read, write and end, and
 *		goes on allocating; prints made=N
 *	seal	is killed for mprotect(2) from then on, and holds many blocks;
 *		prints held=N
 *	listed	is killed for each system call that neither its threads need nor
 *		alloclog(3) says are ours, and goes on allocating in threads;
 *		prints made=N
 *	close	has a close(2) of its own, which takes a lock that another
 *		thread holds while it forks; prints child=STATUS of a child that
 *		only ends
 *	lock	locks all its memory, then lets a thread hold many blocks;
 *		prints rss=KB and held=N
 *	fill	allocates until there are no more addresses; prints got=MB
 *	forks	five processes, each the child of the one before; each prints
 *		size=KB of its addresses
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forbid.h"

#define HELD 300000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *held[HELD];

int
close(int fd)
{
	long r;

	pthread_mutex_lock(&lock);
	r = syscall(SYS_close, fd);
	pthread_mutex_unlock(&lock);
	return (int)r;
}

/* Of /proc/self/status, or -1. */
static long
status_kb(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	while (f != NULL && kb < 0 && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			kb = atol(line + strlen(name) + 1);
	if (f != NULL)
		(void)fclose(f);
	return kb;
}

/* So much that each kind of event comes up, and a small ring is full. */
static unsigned
churn(void)
{
	unsigned made = 0;
	void *p, *q;

	for (unsigned i = 0; i < 100000; i++) {
		p = malloc(i % 100 + 1);
		q = calloc(2, i % 50 + 1);
		p = realloc(p, i % 300 + 1);
		made += (p != NULL) + (q != NULL);
		free(q);
		free(p);
	}
	return made;
}

static int
strict(void)
{
	char text[32];
	int n;

	free(malloc(100));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		return 1;
	n = snprintf(text, sizeof text, "made=%u\n", churn());
	if (write(1, text, (size_t)n) != n)
		syscall(SYS_exit, 1);
	syscall(SYS_exit, 0);
	return 1;
}

/* Those of a thread, and those that the manual names. */
static int
allow_listed(void)
{
	static const unsigned calls[] = {
		SYS_clone, SYS_clone3, SYS_exit, SYS_exit_group,
		SYS_set_robust_list, SYS_rseq, SYS_munmap, SYS_write, SYS_brk,
		SYS_futex, SYS_rt_sigprocmask, SYS_gettid, SYS_mmap,
		SYS_madvise, SYS_mprotect,
	};
	enum { N = sizeof calls / sizeof calls[0] };
	struct sock_filter code[N + 3] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog filter = { N + 3, code };

	for (unsigned i = 0; i < N; i++)
		code[1 + i] = (struct sock_filter)BPF_JUMP(
		    BPF_JMP | BPF_JEQ | BPF_K, calls[i],
		    (unsigned char)(N - i), 0);
	code[N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
	    SECCOMP_RET_KILL_PROCESS);
	code[N + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
	    SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void *
churner(void *arg)
{
	*(unsigned *)arg = churn();
	return NULL;
}

/* So few that libc does not look how many processors there are. */
static int
listed(void)
{
	enum { THREADS = 6 };
	unsigned made = 0, n[THREADS];
	pthread_t t[THREADS];
	char text[32];
	int len;

	/* What libc asks for with the first one is no call of a thread. */
	if (pthread_create(&t[0], NULL, churner, &n[0]) != 0 ||
	    pthread_join(t[0], NULL) != 0 || allow_listed() != 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, churner, &n[i]) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++) {
		if (pthread_join(t[i], NULL) != 0)
			return 1;
		made += n[i];
	}
	len = snprintf(text, sizeof text, "made=%u\n", made);
	return write(1, text, (size_t)len) != len;
}

static void *
hold_lock(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int
own_close(void)
{
	pthread_t thread;
	int status = -1;
	pid_t pid;

	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&thread, NULL, hold_lock, NULL) != 0)
		return 1;
	pthread_barrier_wait(&both);
	pid = fork();
	if (pid == 0)
		_exit(0);
	/* One that hangs is not waited for. */
	for (unsigned i = 0; i < 500 && waitpid(pid, &status, WNOHANG) == 0; i++)
		usleep(10000);
	kill(pid, SIGKILL);
	printf("child=%d\n", status);
	pthread_barrier_wait(&both);
	return pthread_join(thread, NULL);
}

static void *
hold_blocks(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < HELD; i++)
		held[i] = malloc(24);
	return NULL;
}

static unsigned
count_held(void)
{
	unsigned n = 0;

	while (n < HELD && held[n] != NULL)
		n++;
	return n;
}

/* A child that allocates, and comes to no harm. */
static int
child_ends(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		free(malloc(100));
		_exit(0);
	}
	return pid != -1 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int
sealed(void)
{
	free(malloc(100));
	if (forbid(SYS_mprotect) != 0)
		return 1;
	/* As who puts one filter over another does. */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!child_ends())
		return 1;
	(void)hold_blocks(NULL);
	printf("held=%u\n", count_held());
	return !child_ends();
}

static int
locked(void)
{
	pthread_t thread;

	free(malloc(100));
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		return 1;
	printf("rss=%ld\n", status_kb("VmRSS"));
	if (pthread_create(&thread, NULL, hold_blocks, NULL) != 0 ||
	    pthread_join(thread, NULL) != 0)
		return 1;
	printf("held=%u\n", count_held());
	return 0;
}

static int
forks(unsigned left)
{
	int status = 0;
	pid_t pid;

	free(malloc(100));
	printf("size=%ld\n", status_kb("VmSize"));
	(void)fflush(stdout);
	if (left == 0)
		return 0;
	pid = fork();
	if (pid == 0)
		_exit(forks(left - 1));
	return pid == -1 || waitpid(pid, &status, 0) != pid || status != 0;
}

static int
fill(void)
{
	unsigned mb = 0;

	/* An end for those who have no limit. */
	while (mb < 4096 && malloc(1 << 20) != NULL)
		mb++;
	printf("got=%u\n", mb);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "strict") == 0)
		return strict();
	if (strcmp(what, "listed") == 0)
		return listed();
	if (strcmp(what, "seal") == 0)
		return sealed();
	if (strcmp(what, "close") == 0)
		return own_close();
	if (strcmp(what, "lock") == 0)
		return locked();
	if (strcmp(what, "fill") == 0)
		return fill();
	return forks(4);
}
