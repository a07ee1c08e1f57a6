/*
 * rejoin [THREADS [PAUSE_US]]: threads that put blocks into shared slots and free
 * what they find there, for as long as input comes.  Each block carries a
 * pattern that is checked before it is freed: 3 is the exit status when one was
 * damaged.
 *
 * Each byte on the input is answered by a line or more:
 *	s	the threads stand still from now on
 *	g	they go on
 *	n	what is allocated from now on is of another epoch
 *	l	"ADDRESS SIZE EPOCH" of each block that is held, then "."
 *	f	a child is forked, and ends
 *	w	a child is forked that stays for half a second: its id
 *	p	the process gives up new privileges, and no more
 *	x	the process locks itself in: it is killed for whatever is not
 *		needed to go on as before
 *	c	how many blocks were allocated and freed so far
 */
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 4096

struct block {
	uint64_t epoch;
	uint64_t size;
	unsigned char rest[];
};

static _Atomic(struct block *) slots[SLOTS];
static atomic_uint epoch, stopping, standing;
static _Atomic uint64_t made;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static unsigned threads, pause_us;

static void
check(const struct block *b)
{
	for (size_t i = 0; i < b->size - sizeof(*b); i += 61)
		if (b->rest[i] != (unsigned char)(b->size + i))
			_exit(3);
}

static struct block *
block_new(uint64_t random)
{
	size_t size = sizeof(struct block) + 1 + random % 1500;
	struct block *b;

	switch (random >> 40 & 3) {
	case 0:
		b = calloc(1, size);
		break;
	case 1:
		b = realloc(malloc(32), size);
		atomic_fetch_add_explicit(&made, 2, memory_order_relaxed);
		break;
	default:
		b = malloc(size);
		break;
	}
	if (b == NULL)
		_exit(2);
	b->epoch = atomic_load_explicit(&epoch, memory_order_relaxed);
	b->size = size;
	for (size_t i = 0; i < size - sizeof(*b); i += 61)
		b->rest[i] = (unsigned char)(size + i);
	atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
	return b;
}

static void
stand(void)
{
	pthread_mutex_lock(&lock);
	atomic_fetch_add(&standing, 1);
	pthread_cond_broadcast(&moved);
	while (atomic_load(&stopping) != 0)
		pthread_cond_wait(&moved, &lock);
	atomic_fetch_sub(&standing, 1);
	pthread_mutex_unlock(&lock);
}

static void *
work(void *arg)
{
	uint64_t r = 88172645463325252u + (uintptr_t)arg * 7919;
	struct block *b;

	for (;;) {
		if (atomic_load_explicit(&stopping, memory_order_relaxed) != 0)
			stand();
		r ^= r << 13;
		r ^= r >> 7;
		r ^= r << 17;
		b = atomic_exchange(&slots[r % SLOTS],
		    (r >> 20) % 3 ? block_new(r) : NULL);
		if (b != NULL) {
			check(b);
			free(b);
			atomic_fetch_add_explicit(&made, 1,
			    memory_order_relaxed);
		}
		if (pause_us > 0)
			usleep(pause_us);
	}
	return NULL;
}

static void
say(const char *line)
{
	if (write(1, line, strlen(line)) < 0)
		_exit(1);
}

static void
list(void)
{
	char line[80];

	for (unsigned i = 0; i < SLOTS; i++) {
		const struct block *b = atomic_load(&slots[i]);

		if (b == NULL)
			continue;
		check(b);
		snprintf(line, sizeof(line), "%p %" PRIu64 " %" PRIu64 "\n",
		    (const void *)b, b->size, b->epoch);
		say(line);
	}
	say(".\n");
}

static void
stop(void)
{
	pthread_mutex_lock(&lock);
	atomic_store(&stopping, 1);
	while (atomic_load(&standing) < threads)
		pthread_cond_wait(&moved, &lock);
	pthread_mutex_unlock(&lock);
}

static void
go(void)
{
	pthread_mutex_lock(&lock);
	atomic_store(&stopping, 0);
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

static void
child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(0);
	if (pid == -1 || waitpid(pid, &status, 0) != pid)
		_exit(1);
	/* It has come to harm. */
	if (status != 0)
		_exit(5);
}

static void
child_stays(void)
{
	pid_t pid = fork();
	char line[80];

	if (pid == 0) {
		free(malloc(1000));
		usleep(500000);
		_exit(0);
	}
	snprintf(line, sizeof line, "%d\n", (int)pid);
	say(line);
	if (pid == -1 || waitpid(pid, NULL, 0) != pid)
		_exit(1);
}

/* libc's malloc opens a file when it first gives back what a thread had. */
static const uint16_t allowed[] = {
	SYS_openat, SYS_close,
	SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_futex, SYS_brk,
	SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise,
	SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_clock_nanosleep,
	SYS_clone, SYS_set_robust_list, SYS_wait4,
#ifdef SYS_rseq
	SYS_rseq,
#endif
};

#define ALLOWED (sizeof(allowed) / sizeof(allowed[0]))

static void
lock_in(void)
{
	struct sock_filter code[1 + 2 * ALLOWED + 1];
	struct sock_fprog filter = { 0, code };
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	    offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ALLOWED; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(
		    BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
		    SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
	    SECCOMP_RET_KILL_PROCESS);
	filter.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
		_exit(4);
}

static void
answer(char c)
{
	char line[80] = ".\n";

	switch (c) {
	case 's':
		stop();
		break;
	case 'g':
		go();
		break;
	case 'n':
		atomic_fetch_add(&epoch, 1);
		break;
	case 'l':
		list();
		return;
	case 'f':
		child();
		break;
	case 'w':
		child_stays();
		return;
	case 'p':
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
			_exit(4);
		break;
	case 'x':
		lock_in();
		break;
	default:
		snprintf(line, sizeof(line), "%" PRIu64 "\n",
		    atomic_load(&made));
		break;
	}
	say(line);
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	char c;

	threads = argc > 1 ? (unsigned)atoi(argv[1]) : 8;
	pause_us = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	for (uintptr_t i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, work, (void *)i) != 0)
			return 1;
	say("begun\n");
	while (read(0, &c, 1) == 1)
		answer(c);
	return 0;
}
