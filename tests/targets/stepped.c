/*
 * stepped FILE [LETTERS]: refers to the pages of a large block, as each letter on its
 * standard input says, and prints the letter when it has done so.  It writes "ADDRESS
 * PAGES" to FILE, allocates while it waits, and ends with its standard input, with status
 * 1 if something was not as usual.  Nothing else refers to these pages.  LETTERS: done at
 * once, without input.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 4096
#define PAGES 32

extern char **environ;

static volatile char *block;

#define MUST(what) do { \
	if (!(what)) { \
		fprintf(stderr, "%s: %s: %s\n", __func__, #what, strerror(errno)); \
		exit(1); \
	} \
} while (0)

static volatile char *
page(unsigned i)
{
	return block + (size_t)i * SIZE;
}

static volatile uint64_t *
words(unsigned i)
{
	return (volatile uint64_t *)page(i);
}

/* --- instructions ----------------------------------------------------------------- */

/* Page p of 16 is read (p + 1) * 100 times; even pages are written to 50 times. */
static void
known(void)
{
	for (unsigned p = 0; p < 16; p++)
		for (unsigned i = 0; i < (p + 1) * 100; i++)
			(void)words(p)[i % 512];
	for (unsigned p = 0; p < 16; p += 2)
		for (unsigned i = 0; i < 50; i++)
			words(p)[i] = 2;
}

/* String instructions: from a page to another, within a page, across a border. */
static void
strings(void)
{
#ifdef __x86_64__
	const struct {
		volatile char *to, *from;
		unsigned long n;
	} moves[] = {
		{ page(17), page(16), 64 }, { page(18), page(18) + 512, 32 },
		{ page(20) - 80, page(22) - 40, 20 },
	};

	for (unsigned i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		volatile char *to = moves[i].to, *from = moves[i].from;
		unsigned long n = moves[i].n;

		__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) :
		    : "memory");
		MUST(n == 0 && to == moves[i].to + moves[i].n * 8);
	}
	volatile char *to = page(23);
	unsigned long n = 100;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(7) : "memory");
	MUST(page(23)[99] == 7 && page(23)[100] == 0);
#endif
}

/* Instructions that refer to two pages: a part in each, or one operand in each. */
static void
pairs(void)
{
#ifdef __x86_64__
	volatile char *edge = page(25) - 3, *to = page(26), *from = page(27);
	uint64_t v = 0x0102030405060708;

	for (int i = 0; i < 10; i++) {
		__asm__ volatile("mov %0, (%1)" : : "r"(v), "r"(edge) : "memory");
		__asm__ volatile("mov (%1), %0" : "=r"(v) : "r"(edge) : "memory");
		__asm__ volatile("movups (%0), %%xmm0\n\tmovups %%xmm0, (%1)" : :
		    "r"(edge), "r"(page(28) - 8) : "xmm0", "memory");
		to = page(26);
		from = page(27);
		__asm__ volatile("movsb" : "+D"(to), "+S"(from) : : "memory");
	}
	MUST(v == 0x0102030405060708);
	MUST(page(25)[-3] == 8 && page(25)[4] == 1);
#endif
}

/* An instruction that reads and writes is one reference here, and two in a trace. */
static void
modifies(void)
{
	for (int i = 0; i < 30; i++) {
		__atomic_fetch_add(&words(29)[i], 1, __ATOMIC_SEQ_CST);
		words(30)[i] += 1;
	}
}

/* --- other events ------------------------------------------------------------------- */

static volatile sig_atomic_t alarms;
static volatile unsigned long seen;

static void
on_alarm(int sig)
{
	(void)sig;
	/* Also to the page of the interrupted step. */
	(void)words(0)[1];
	words(1)[0] = 1;
	alarms++;
}

/* A timer interrupts steps: its handler's references count, each once. */
static void
timers(void)
{
	struct sigaction sa = { .sa_handler = on_alarm }, old;
	struct itimerval soon = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };

	alarms = 0;
	MUST(sigaction(SIGALRM, &sa, &old) == 0);
	MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	for (int i = 0; i < 5000; i++)
		(void)words(0)[i % 512];
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	MUST(sigaction(SIGALRM, &old, NULL) == 0);
	MUST(alarms > 0);
	printf("%d alarms\n", (int)alarms);
}

static sigjmp_buf out;

static void
jump_out(int sig)
{
	(void)sig;
	words(3)[0] = 1;
	siglongjmp(out, 1);
}

/* A handler leaves by a jump; signals and pages are as before. */
static void
jumps(void)
{
	struct sigaction sa = { .sa_handler = jump_out }, old;
	struct itimerval soon = { { 0, 0 }, { 0, 2000 } };
	sigset_t before, after;

	MUST(sigprocmask(SIG_BLOCK, NULL, &before) == 0);
	MUST(sigaction(SIGALRM, &sa, &old) == 0);
	for (volatile int i = 0; i < 5; i++)
		if (sigsetjmp(out, 1) == 0) {
			MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
			for (;;)
				(void)words(2)[0];
		}
	MUST(sigaction(SIGALRM, &old, NULL) == 0);
	MUST(sigprocmask(SIG_BLOCK, NULL, &after) == 0);
	for (int sig = 1; sig < 32; sig++)
		MUST(sigismember(&before, sig) == sigismember(&after, sig));
	for (int i = 0; i < 40; i++)
		words(4)[i] = 1;
}

/* Buffers of system calls: one reference for each page and call. */
static void
buffers(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	MUST(fd != -1);
	for (int i = 0; i < 10; i++)
		MUST(pread(fd, (void *)page(6), 2 * SIZE, 0) == 2 * SIZE);
	MUST(page(6)[1] == 'E');
	MUST(write(-1, (void *)page(8), 10) == -1 && errno == EBADF);
	close(fd);
	for (int i = 0; i < 20; i++)
		(void)words(6)[i];
}

static void
on_fault(int sig, siginfo_t *si, void *context)
{
	(void)si;
	(void)context;
	siglongjmp(out, sig);
}

/* A division by zero, whose divisor lies in a page. */
static void
divides(void)
{
#ifdef __x86_64__
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }, old;
	sigset_t mask;
	int sig = sigsetjmp(out, 1);

	if (sig == 0) {
		MUST(sigaction(SIGFPE, &sa, &old) == 0);
		__asm__ volatile("divl (%0)" : : "r"(page(9)), "a"(1), "d"(0));
		MUST(0);
	}
	MUST(sig == SIGFPE && sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
	MUST(sigismember(&mask, SIGALRM) == 0 && sigismember(&mask, SIGTERM) == 0);
	MUST(signal(SIGFPE, SIG_DFL) != SIG_ERR);
#endif
}

/* Calls whose arguments the library does not know; the kernel writes to page 15. */
static void
unknown(void)
{
	int fd[2];

	MUST(pipe(fd) == 0 && write(fd[1], "abc", 3) == 3);
	for (int i = 0; i < 10; i++)
		MUST(ioctl(fd[0], FIONREAD, (int *)page(15)) == 0);
	MUST(*(volatile int *)page(15) == 3);
	close(fd[0]);
	close(fd[1]);
}

/* References when the kernel allows no further mapping. */
static void
fills(void)
{
	size_t size = (size_t)1 << 34;
	char *all = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	    -1, 0);
	size_t at = 0;

	MUST(all != MAP_FAILED);
	while (at < size && mprotect(all + at, SIZE, PROT_READ) == 0)
		at += 2 * SIZE;
	MUST(at < size);
	for (unsigned p = 0; p < PAGES; p += 3)
		words(p)[0]++;
	MUST(munmap(all, size) == 0);
}

/* Reads and writes by turns until the next letter. */
static void
loops(void)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	while (poll(&p, 1, 0) == 0) {
		for (unsigned i = 0; i < 50; i++) {
			(void)words(0)[i];
			words(0)[i] = i;
		}
		free(malloc(64));
	}
}

/* SIGTRAP is blocked, and another process may send it. */
static void
blocks(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTRAP);
	MUST(sigprocmask(SIG_BLOCK, &mask, NULL) == 0);
}

static void
has_blocked(void)
{
	sigset_t mask, pending;

	MUST(sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigpending(&pending) == 0);
	MUST(sigismember(&mask, SIGTRAP) == 1 && sigismember(&pending, SIGTRAP) == 1);
}

static void
traps(void)
{
	MUST(signal(SIGTRAP, on_alarm) != SIG_ERR);
}

static int
status_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return status;
}

/* References beside children and programs; the child has the pages as they are. */
static void
children(void)
{
	char *argv[] = { "true", NULL };
	pid_t pid;

	words(10)[1] = 77;
	pid = fork();
	MUST(pid != -1);
	if (pid == 0) {
		for (unsigned i = 0; i < PAGES; i++)
			words(i)[3] = words(10)[1];
		_exit(words(31)[3] == 77 ? 7 : 1);
	}
	MUST(status_of(pid) == 7 << 8);
	MUST(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0);
	MUST(status_of(pid) == 0);
	pid = vfork();
	if (pid == 0) {
		(void)words(10)[1];
		execv("/bin/true", argv);
		_exit(1);
	}
	MUST(pid > 0 && status_of(pid) == 0);
}

static void
executes(void)
{
	char *argv[] = { "true", NULL };

	for (int i = 0; i < 100; i++)
		(void)words(11)[i];
	puts("x");
	fflush(stdout);
	execv("/bin/true", argv);
	MUST(0);
}

/* --- threads --------------------------------------------------------------------------- */

static void *
thread_main(void *arg)
{
	unsigned p = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < 500; i++) {
		(void)words(p)[i % 512];
		words(14)[p] = i;
	}
	return NULL;
}

static void
threads(void)
{
	pthread_t t[2];

	for (unsigned i = 0; i < 2; i++)
		MUST(pthread_create(&t[i], NULL, thread_main,
		    (void *)(uintptr_t)(12 + i)) == 0);
	for (unsigned i = 0; i < 2; i++)
		MUST(pthread_join(t[i], NULL) == 0);
}

/* The same by two threads that are there when it begins. */
static _Atomic unsigned turn;
static pthread_t pair[2];

static void *
pair_main(void *arg)
{
	unsigned mine = 0;

	for (;;) {
		while (turn == mine)
			usleep(1000);
		mine = turn;
		thread_main(arg);
		__atomic_fetch_add(&seen, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void
begin_pair(void)
{
	for (unsigned i = 0; i < 2; i++)
		MUST(pthread_create(&pair[i], NULL, pair_main,
		    (void *)(uintptr_t)(12 + i)) == 0);
}

static void
run_pair(void)
{
	seen = 0;
	turn++;
	while (__atomic_load_n(&seen, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
}

static const struct {
	char letter;
	void (*work)(void);
} works[] = {
	{ 'k', known }, { 's', strings }, { 'p', pairs }, { 'm', modifies },
	{ 't', timers }, { 'j', jumps }, { 'b', buffers }, { 'd', divides },
	{ 'T', traps }, { 'c', children }, { 'x', executes }, { 'h', threads },
	{ '2', begin_pair }, { 'r', run_pair }, { 'u', unknown }, { 'f', fills },
	{ 'l', loops }, { 'B', blocks }, { 'P', has_blocked },
};

static void
do_work(char letter)
{
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (works[i].letter == letter)
			works[i].work();
	printf("%c\n", letter);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };
	char *raw = malloc((PAGES + 2) * (size_t)SIZE), letter;
	FILE *f = argc > 1 ? fopen(argv[1], "w") : NULL;

	if (f == NULL || raw == NULL)
		return 1;
	block = (char *)(((uintptr_t)raw + SIZE - 1) & ~(uintptr_t)(SIZE - 1));
	fprintf(f, "%lx %d\n", (unsigned long)block, PAGES);
	fclose(f);
	for (const char *at = argc > 2 ? argv[2] : ""; *at != '\0'; at++)
		do_work(*at);
	while (argc < 3) {
		free(malloc(64));
		if (poll(&p, 1, 20) != 1)
			continue;
		if (read(0, &letter, 1) != 1)
			break;
		do_work(letter);
	}
	free(raw);
	return 0;
}
