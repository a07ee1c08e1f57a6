/*
 * guarded FILE [CALLS...]: makes system calls on a large block, signals, threads and
 * children, in rounds, until its standard input ends.  If one of them does not behave as
 * usual, the program names it and ends with status 1.  Writes "ADDRESS PAGES" to FILE and
 * prints the number of rounds at the end.  CALLS: the names of the calls to make (all).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SIZE 4096
#define PAGES 64
#define CROWD 300	/* more threads than a guard has room for */
#define STORAGE 2464	/* behind the thread pointer: what the kernel writes, of rseq(2) */

extern char **environ;

static char *block;	/* PAGES, each with its number in its first byte */
static const char *self;

#define MUST(what) do { \
	if (!(what)) { \
		fprintf(stderr, "%s: %s: %s\n", __func__, #what, strerror(errno)); \
		exit(1); \
	} \
} while (0)

static char *
page(unsigned i)
{
	return block + (size_t)i % PAGES * SIZE;
}

/* --- calls with buffers --------------------------------------------------------- */

static void
reads(void)
{
	int fd = open(self, O_RDONLY);
	struct iovec v[2] = { { page(3), 100 }, { page(9) + 4000, 200 } };
	FILE *f = fopen(self, "rb");

	MUST(fd != -1 && f != NULL);
	MUST(read(fd, page(1), 3 * SIZE) == 3 * SIZE);
	MUST(memcmp(page(1), "\177ELF", 4) == 0);
	MUST(pread(fd, page(5) + 7, 4, 0) == 4 && page(5)[8] == 'E');
	MUST(preadv(fd, v, 2, 0) == 300 && page(3)[1] == 'E');
	MUST(syscall(SYS_pread64, fd, page(6), 4, 0) == 4 && page(6)[1] == 'E');
	MUST(fread(page(10), 1, 5 * SIZE, f) == 5 * SIZE && page(10)[1] == 'E');
	MUST(getcwd(page(20), SIZE) != NULL && page(20)[0] == '/');
	MUST(fstat(fd, (struct stat *)(void *)page(21)) == 0);
	errno = 0;
	MUST(syscall(SYS_read, fd, 16, 10) == -1 && errno == EFAULT);
	fclose(f);
	close(fd);
}

static void
writes(void)
{
	int fd[2];
	struct iovec v[2] = { { page(30), 10 }, { page(31), 10 } };
	char back[40];

	MUST(pipe(fd) == 0);
	memcpy(page(30), "0123456789", 10);
	memcpy(page(31), "abcdefghij", 10);
	MUST(write(fd[1], page(30), 10) == 10);
	MUST(writev(fd[1], v, 2) == 20);
	MUST(read(fd[0], back, sizeof(back)) == 30);
	MUST(memcmp(back, "01234567890123456789abcdefghij", 30) == 0);
	close(fd[0]);
	close(fd[1]);
}

static void
messages(void)
{
	struct iovec v = { page(34), 100 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int fd[2];

	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd) == 0);
	memcpy(page(33), "datagram", 8);
	MUST(send(fd[0], page(33), 8, 0) == 8 && send(fd[0], page(33), 4, 0) == 4);
	MUST(recv(fd[1], page(35), 100, 0) == 8);
	MUST(memcmp(page(35), "datagram", 8) == 0);
	MUST(recvmsg(fd[1], &m, 0) == 4 && memcmp(page(34), "data", 4) == 0);
	memcpy(page(36), &(struct pollfd){ .fd = fd[0], .events = POLLOUT },
	    sizeof(struct pollfd));
	MUST(poll((struct pollfd *)(void *)page(36), 1, 0) == 1);
	close(fd[0]);
	close(fd[1]);
}

/* --- signals -------------------------------------------------------------------- */

static volatile sig_atomic_t alarms;
static sigjmp_buf out_of_fault, out_of_read;

static void
on_alarm(int sig)
{
	int saved = errno;

	(void)sig;
	alarms++;
	/* Calls and touches in a handler. */
	page(40)[2]++;
	(void)!write(-1, page(41), 1);
	errno = saved;
}

static void
jump_out(int sig)
{
	(void)sig;
	siglongjmp(out_of_read, 1);
}

static void
signals(void)
{
	struct sigaction sa = { .sa_handler = on_alarm }, old;
	/* A repeated timer, because its first signal may come before the call. */
	struct itimerval soon = { { 0, 3000 }, { 0, 3000 } }, never = { 0 };
	int fd[2];
	char c;

	MUST(pipe(fd) == 0);
	MUST(sigaction(SIGALRM, &sa, &old) == 0);
	MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	errno = 0;
	MUST(read(fd[0], page(42), 1) == -1 && errno == EINTR && alarms > 0);
	sa.sa_handler = jump_out;
	MUST(sigaction(SIGALRM, &sa, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	if (sigsetjmp(out_of_read, 1) == 0) {
		MUST(read(fd[0], page(43), 1) == 1);
		MUST(0);
	}
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	MUST(sigaction(SIGALRM, &old, NULL) == 0);
	MUST(write(fd[1], "x", 1) == 1 && read(fd[0], &c, 1) == 1 && c == 'x');
	close(fd[0]);
	close(fd[1]);
}

static void
masks(void)
{
	sigset_t all, old, now, one;
	struct timespec none = { 0 };

	sigfillset(&all);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	MUST(sigprocmask(SIG_SETMASK, &all, &old) == 0);
	MUST(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
	MUST(sigismember(&now, SIGSYS) == 1 && sigismember(&now, SIGSEGV) == 1 &&
	    sigismember(&now, SIGUSR1) == 1);
	page(44)[3]++;
	MUST(kill(getpid(), SIGUSR1) == 0);
	MUST(sigtimedwait(&one, NULL, &none) == SIGUSR1);
	MUST(ppoll(NULL, 0, &none, &all) == 0);
	MUST(pselect(0, NULL, NULL, NULL, &none, &all) == 0);
	MUST(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
	MUST(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
	MUST(sigismember(&now, SIGSYS) == 0 && sigismember(&now, SIGSEGV) == 0);
}

/* The program sees its own handlers. */
static void
actions(void)
{
	struct sigaction sa;
	stack_t ss;

	MUST(sigaction(SIGSEGV, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
	MUST(sigaction(SIGSYS, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
	MUST(sigaction(SIGURG, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
	MUST(sigaltstack(NULL, &ss) == 0 && ss.ss_flags == SS_DISABLE);
}

/* --- threads and children ----------------------------------------------------------- */

static void *
thread_main(void *arg)
{
	int fd = open(self, O_RDONLY);

	(void)arg;
	for (unsigned i = 0; i < PAGES; i += 3)
		page(i)[100]++;
	if (fd == -1 || read(fd, page(50), 2 * SIZE) != 2 * SIZE)
		return NULL;
	close(fd);
	return page(50);
}

static void
threads(void)
{
	pthread_t t;
	void *r;

	MUST(pthread_create(&t, NULL, thread_main, NULL) == 0);
	MUST(pthread_join(t, &r) == 0 && r == page(50));
}

static void *
waits_for_ever(void *arg)
{
	(void)!read(*(int *)arg, page(52), 1);
	return NULL;
}

static void
cancels(void)
{
	int fd[2];
	pthread_t t;
	void *r;

	MUST(pipe(fd) == 0);
	MUST(pthread_create(&t, NULL, waits_for_ever, &fd[0]) == 0);
	MUST(pthread_cancel(t) == 0);
	MUST(pthread_join(t, &r) == 0 && r == PTHREAD_CANCELED);
	close(fd[0]);
	close(fd[1]);
}

static int
status_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return status;
}

static void
children(void)
{
	char *argv[] = { strcpy(page(55), "true"), NULL };
	pid_t pid;

	pid = fork();
	MUST(pid != -1);
	if (pid == 0) {
		int fd = open(self, O_RDONLY);

		for (unsigned i = 0; i < PAGES; i++)
			page(i)[200]++;
		_exit(fd != -1 && read(fd, page(2), SIZE) == SIZE ? 7 : 1);
	}
	MUST(status_of(pid) == 7 << 8);
	MUST(posix_spawn(&pid, strcpy(page(56), "/bin/true"), NULL, NULL, argv,
	    environ) == 0);
	MUST(status_of(pid) == 0);
	pid = vfork();
	if (pid == 0) {
		execv(page(56), argv);
		_exit(1);
	}
	MUST(pid > 0 && status_of(pid) == 0);
	MUST(system("exit 3") == 3 << 8);
	MUST(execv(strcpy(page(57), "/nowhere"), argv) == -1 && errno == ENOENT);
}

/* --- mappings --------------------------------------------------------------------------- */

static void
mappings(void)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	char *p;

	MUST(lib != NULL && dlclose(lib) == 0);
	MUST(madvise(page(58), SIZE, MADV_DONTNEED) == 0 && page(58)[0] == 0);
	page(58)[0] = 58;
	MUST(mprotect(page(59), SIZE, PROT_READ) == 0 && page(59)[0] == 59);
	errno = 0;
	MUST(syscall(SYS_getcwd, page(59), SIZE) == -1 && errno == EFAULT);
	MUST(mprotect(page(59), SIZE, PROT_READ | PROT_WRITE) == 0);
	p = mmap(page(60), SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	MUST(p == page(60) && p[0] == 0);
	p[0] = 60;
	p = realloc(malloc(300000), 3000000);
	MUST(p != NULL);
	free(p);
}

/* --- what ends a guard ---------------------------------------------------------------------- */

static void
on_fault(int sig, siginfo_t *si, void *context)
{
	(void)context;
	siglongjmp(out_of_fault, sig == SIGSEGV && si->si_addr == (void *)16 ? 1 : 2);
}

/* The program's own fault reaches its own handler. */
static void
faults(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct sigaction old, now;

	MUST(sigaction(SIGSEGV, &sa, &old) == 0);
	MUST(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction == on_fault);
	switch (sigsetjmp(out_of_fault, 1)) {
	case 0:
		*(volatile char *)16 = 1;
		MUST(0);
		break;
	case 1:
		break;
	default:
		MUST(0);
	}
	MUST(sigaction(SIGSEGV, &old, NULL) == 0);
}

static void
urgent(void)
{
	MUST(signal(SIGURG, on_alarm) != SIG_ERR);
}

/* An alternate stack in the block. */
static void
stacks(void)
{
	const stack_t ss = { .ss_sp = page(10), .ss_size = 4 * SIZE };

	MUST(sigaltstack(&ss, NULL) == 0);
}

static void *
pause_main(void *arg)
{
	pause();
	return arg;
}

static void
waits(void)
{
	static bool begun;
	pthread_t t;

	if (!begun)
		MUST(pthread_create(&t, NULL, pause_main, NULL) == 0);
	begun = true;
}

/* Four seconds without an allocation. */
static void
rests(void)
{
	for (unsigned i = 0; i < 200; i++) {
		page(8)[1]++;
		usleep(20000);
	}
}

/* Two threads, each on a processor of its own, with a page of its own. */
static pthread_t pinned[2];
static _Atomic bool pins_end;

static void *
pinned_main(void *arg)
{
	unsigned i = (unsigned)((pthread_t *)arg - pinned);

	while (!pins_end) {
		page(12 + i)[0]++;
		usleep(1000);
	}
	return arg;
}

static void
pins(void)
{
	static unsigned n;
	cpu_set_t all, one;

	MUST(sched_getaffinity(0, sizeof all, &all) == 0);
	for (unsigned cpu = 0; n < 2 && cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		MUST(pthread_create(&pinned[n], NULL, pinned_main, &pinned[n]) == 0);
		MUST(pthread_setaffinity_np(pinned[n], sizeof one, &one) == 0);
		MUST(pthread_setname_np(pinned[n], n == 0 ? "pinned0" : "pinned1") ==
		    0);
		n++;
	}
}

/* A filter that allows all. */
static void
filters(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog filter = { .len = 1, .filter = &allow };
	static bool begun;

	if (!begun)
		MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
	begun = true;
}

static void
crowds(void)
{
	static unsigned n;
	pthread_t t;

	for (; n < CROWD; n++)
		MUST(pthread_create(&t, NULL, pause_main, NULL) == 0);
}

/* --- limits of a guard ----------------------------------------------------------------- */

/* A system call of 32-bit programs has another number. */
static void
calls_32(void)
{
#ifdef __x86_64__
	long r = 20;	/* getpid(2) */

	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	MUST(r == getpid());
#endif
}

static void *
small_main(void *arg)
{
	int fd = open("/dev/null", O_WRONLY);

	for (;;)
		(void)!write(fd, page(3), 100);
	return arg;
}

/* Its stack has no room for one more signal's frame. */
static void
small(void)
{
	static bool begun;
	pthread_attr_t attributes;
	pthread_t t;

	if (begun)
		return;
	begun = true;
	MUST(pthread_attr_init(&attributes) == 0);
	MUST(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
	MUST(pthread_create(&t, &attributes, small_main, NULL) == 0);
}

/* A limit that is reached does not matter to memory that is data already. */
static void
limits(void)
{
	const struct timespec epoch = { 0, 100 * 1000000 };
	struct rlimit r = { 0, RLIM_INFINITY };

	MUST(nanosleep(&epoch, NULL) == 0);
	page(7)[2]++;
	MUST(setrlimit(RLIMIT_DATA, &r) == 0);
	for (unsigned i = 0; i < PAGES; i++)
		page(i)[3]++;
	r.rlim_cur = RLIM_INFINITY;
	MUST(setrlimit(RLIMIT_DATA, &r) == 0);
}

/* The kernel may write to pages for it while no thread is in a call. */
static void
rings(void)
{
	static struct io_uring_params p;
	int fd = p.sq_entries != 0 ? 0 : (int)syscall(SYS_io_uring_setup, 4, &p);

	MUST(fd == 0 || (fd != -1 && mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, IORING_OFF_SQ_RING) != MAP_FAILED));
}

/* Making a child, the thread leaves the guard; no signal may end its waits. */
static void
sleeps(void)
{
	struct timespec t = { 0, 0 };
	pid_t pid = fork();

	MUST(pid != -1);
	if (pid == 0)
		_exit(0);
	MUST(status_of(pid) == 0);
	for (int i = 0; i < 2000; i++) {
		t.tv_nsec = rand() % 100000;
		MUST(nanosleep(&t, NULL) == 0);
		for (volatile int k = rand() % 20000; k > 0; k--)
			;
	}
}

static ucontext_t outside, inside;

static void
run_inside(void)
{
	for (;;) {
		(void)syscall(SYS_getppid);
		MUST(swapcontext(&inside, &outside) == 0);
	}
}

/* A coroutine's stack in the block. */
static void
coroutines(void)
{
	if (inside.uc_stack.ss_sp == NULL) {
		MUST(getcontext(&inside) == 0);
		inside.uc_stack.ss_sp = page(10);
		inside.uc_stack.ss_size = 16 * SIZE;
		makecontext(&inside, run_inside, 0);
	}
	MUST(swapcontext(&outside, &inside) == 0);
}

/* --- the table of calls ---------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*call)(void);
	bool named;	/* only if it is named */
} calls[] = {
	{ "reads", reads, false },
	{ "writes", writes, false },
	{ "messages", messages, false },
	{ "signals", signals, false },
	{ "masks", masks, false },
	{ "actions", actions, false },
	{ "threads", threads, false },
	{ "cancels", cancels, false },
	{ "children", children, false },
	{ "mappings", mappings, false },
	{ "faults", faults, true },
	{ "urgent", urgent, true },
	{ "stacks", stacks, true },
	{ "waits", waits, true },
	{ "rests", rests, true },
	{ "pins", pins, true },
	{ "filters", filters, true },
	{ "crowds", crowds, true },
	{ "calls_32", calls_32, true },
	{ "small", small, true },
	{ "limits", limits, true },
	{ "rings", rings, true },
	{ "sleeps", sleeps, true },
	{ "coroutines", coroutines, true },
	{ "storage", NULL, true },	/* to be guarded: a page of the thread's own */
	{ "touches", NULL, true },
};

static bool
is_named(const char *name, char **words)
{
	for (; *words != NULL; words++)
		if (strcmp(*words, name) == 0)
			return true;
	return false;
}

static bool
has_ended(void)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

int
main(int argc, char **argv)
{
	char *raw = malloc((PAGES + 2) * (size_t)SIZE);
	unsigned long rounds = 0;
	FILE *f = argc > 1 ? fopen(argv[1], "w") : NULL;

	if (f == NULL || raw == NULL)
		return 1;
	self = "/proc/self/exe";
	block = (char *)(((uintptr_t)raw + SIZE - 1) & ~(uintptr_t)(SIZE - 1));
	for (unsigned i = 0; i < PAGES; i++)
		page(i)[0] = (char)i;
	if (is_named("storage", argv + 2))
		fprintf(f, "%lx 1\n", ((unsigned long)pthread_self() + STORAGE) & -SIZE);
	else
		fprintf(f, "%lx %d\n", (unsigned long)block, PAGES);
	fclose(f);
	for (; !has_ended(); rounds++)
		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
			free(malloc(64));
			if (argc > 2 ? is_named(calls[i].name, argv + 2) :
			    !calls[i].named) {
				if (calls[i].call != NULL)
					calls[i].call();
				page(7)[1]++;
			}
		}
	printf("%lu\n", rounds);
	pins_end = true;
	for (unsigned i = 0; i < 2; i++)
		if (pinned[i] != 0)
			pthread_join(pinned[i], NULL);
	free(raw);
	return 0;
}
