/*
 * count: a second counting layer, below the shim.
 *
 * A preload of its own, set behind liballoclog: every call that the shim
 * passes on arrives here and is counted in a file of 4096 bytes for this
 * process image, COUNT_DIR/PID.N (N counts the images of one pid), which
 * tests/count/compare holds against the lines of pagek's --report.  The file
 * is a shared mapping, so the numbers stand however the image ends.
 *
 * It shares no line and no idea with pagek: one lock, one open hash table of
 * address and size in private memory.  The table is copied by fork with
 * everything else, which makes a child's inherited blocks exact by nature.
 * The lock is never held across a call of the real allocator.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counts {
	char magic[8]; /* "COUNT1" */
	uint64_t allocs;
	uint64_t frees;
	uint64_t failed;
	uint64_t inherited;
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t strange; /* frees of what this layer never gave out */
	char comm[16];
};

#define SLOTS (UINT64_C(1) << 24)

static struct slot {
	uint64_t addr; /* 0 empty, 1 deleted */
	uint64_t size;
} *table;
static uint64_t live_blocks, live_bytes;
static struct counts *counts;
static char dir[200];
static bool off;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static _Atomic uint32_t *alive; /* on a page that fork wipes */

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_memalign)(size_t, size_t);
static void *(*real_valloc)(size_t);
static void *(*real_pvalloc)(size_t);

static char pool[65536] __attribute__((aligned(16)));
static size_t pool_used;
static __thread bool inside;

static bool
in_pool(const void *p)
{
	return (const char *)p >= pool && (const char *)p < pool + sizeof(pool);
}

static void *
pool_get(size_t n)
{
	size_t at = pool_used;

	n = (n + 15) & ~(size_t)15;
	if (n > sizeof(pool) - at)
		_exit(99);
	pool_used = at + n;
	return pool + at;
}

static void
take_lock(void)
{
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		sched_yield();
}

static void
give_lock(void)
{
	atomic_flag_clear_explicit(&lock, memory_order_release);
}

/* A file of counters for this image.  The lock is held. */
static void
open_counts(void)
{
	char path[256];
	int fd = -1;
	void *p;

	for (int n = 0; n < 1000 && fd == -1; n++) {
		snprintf(path, sizeof(path), "%s/%ld.%d", dir,
		    (long)syscall(SYS_getpid), n);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd == -1 && errno != EEXIST)
			break;
	}
	if (fd == -1 || ftruncate(fd, 4096) == -1)
		_exit(98);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		_exit(97);
	counts = p;
	counts->inherited = live_blocks;
	counts->live_blocks = live_blocks;
	counts->live_bytes = live_bytes;
	prctl(PR_GET_NAME, counts->comm);
	memcpy(counts->magic, "COUNT1", 7);
	atomic_store(alive, 1);
}

/* In the child of a fork the page reads as zero: a new image begins. */
static void
check_forked(void)
{
	if (off || atomic_load_explicit(alive, memory_order_relaxed) != 0)
		return;
	take_lock();
	if (atomic_load(alive) == 0)
		open_counts();
	give_lock();
}

static void
before_fork(void)
{
	take_lock();
}

static void
after_fork_parent(void)
{
	give_lock();
}

static void
after_fork_child(void)
{
	if (!off && counts != NULL)
		open_counts();
	give_lock();
}

static void
begin(void)
{
	char exe[256];
	const char *env = getenv("COUNT_DIR"), *name;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	real_malloc = dlsym(RTLD_NEXT, "malloc");
	real_calloc = dlsym(RTLD_NEXT, "calloc");
	real_realloc = dlsym(RTLD_NEXT, "realloc");
	real_free = dlsym(RTLD_NEXT, "free");
	real_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	real_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	real_memalign = dlsym(RTLD_NEXT, "memalign");
	real_valloc = dlsym(RTLD_NEXT, "valloc");
	real_pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	/* pagek's own programs inherit the preload and are not what we count. */
	name = strrchr(exe, '/') != NULL ? strrchr(exe, '/') + 1 : exe;
	off = env == NULL || strlen(env) >= sizeof(dir) ||
	    strcmp(name, "pagek") == 0 || strcmp(name, "pageknode") == 0;
	if (off)
		return;
	strcpy(dir, env);
	table = mmap(NULL, SLOTS * sizeof(*table), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	alive = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED || alive == MAP_FAILED ||
	    madvise(alive, 4096, MADV_WIPEONFORK) == -1)
		_exit(96);
	open_counts();
}

static void
ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static _Atomic bool done;
	int e = errno;

	if (!atomic_load_explicit(&done, memory_order_acquire) && !inside) {
		inside = true;
		pthread_once(&once, begin);
		atomic_store(&done, true);
		inside = false;
	}
	errno = e;
}

/*
 * Registered before the library's handler, so that our lock is taken after the
 * library has waited for threads that are in here.
 */
__attribute__((constructor)) static void
watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static uint64_t
home(uint64_t addr)
{
	return (addr >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
}

static void
came(void *p, size_t n)
{
	int e = errno;

	if (off)
		return;
	check_forked();
	take_lock();
	if (p == NULL) {
		counts->failed++;
	} else {
		uint64_t i = home((uintptr_t)p);

		while (table[i].addr > 1)
			i = (i + 1) & (SLOTS - 1);
		table[i] = (struct slot) { (uintptr_t)p, n };
		counts->allocs++;
		counts->live_blocks = ++live_blocks;
		counts->live_bytes = live_bytes += n;
	}
	give_lock();
	errno = e;
}

/* Takes p out; its size comes back, so that a failed realloc can undo it. */
static size_t
went(void *p)
{
	int e = errno;
	uint64_t i = home((uintptr_t)p);
	size_t n = 0;

	if (off)
		return 0;
	check_forked();
	take_lock();
	while (table[i].addr != (uintptr_t)p && table[i].addr != 0)
		i = (i + 1) & (SLOTS - 1);
	counts->frees++;
	if (table[i].addr == 0) {
		counts->strange++;
	} else {
		n = table[i].size;
		/* A deleted mark is only needed where the run goes on. */
		table[i].addr = table[(i + 1) & (SLOTS - 1)].addr != 0;
		counts->live_blocks = --live_blocks;
		counts->live_bytes = live_bytes -= n;
	}
	give_lock();
	errno = e;
	return n;
}

void *
malloc(size_t n)
{
	void *p;

	ready();
	if (real_malloc == NULL)
		return pool_get(n);
	p = real_malloc(n);
	came(p, n);
	return p;
}

void *
calloc(size_t k, size_t n)
{
	void *p;

	ready();
	if (real_calloc == NULL)
		return pool_get(k * n);
	p = real_calloc(k, n);
	came(p, k * n);
	return p;
}

void
free(void *p)
{
	ready();
	if (p == NULL || in_pool(p))
		return;
	went(p);
	real_free(p);
}

void *
realloc(void *p, size_t n)
{
	size_t old;
	void *q;
	int e;

	if (p == NULL) {
		ready();
		if (real_realloc == NULL)
			return pool_get(n);
		q = real_realloc(NULL, n);
		came(q, n);
		return q;
	}
	ready();
	if (in_pool(p)) {
		q = real_malloc(n);
		came(q, n);
		if (q != NULL)
			memcpy(q, p, n);
		return q;
	}
	old = went(p);
	errno = 0;
	q = real_realloc(p, n);
	e = errno;
	if (q != NULL) {
		came(q, n);
	} else if (n > 0 || e == ENOMEM) {
		/* It failed: the block is there as before. */
		came(p, old);
		if (!off) {
			take_lock();
			counts->allocs--;
			counts->frees--;
			counts->failed++;
			give_lock();
		}
	}
	errno = e;
	return q;
}

void *
reallocarray(void *p, size_t k, size_t n)
{
	size_t total;

	if (__builtin_mul_overflow(k, n, &total)) {
		ready();
		came(NULL, 0);
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, total);
}

int
posix_memalign(void **out, size_t align, size_t n)
{
	int r;

	ready();
	r = real_posix_memalign(out, align, n);
	came(r == 0 ? *out : NULL, n);
	return r;
}

#define ALIGNED(name, params, args, n) \
	void *name params \
	{ \
		void *p; \
\
		ready(); \
		p = real_##name args; \
		came(p, n); \
		return p; \
	}

ALIGNED(aligned_alloc, (size_t align, size_t n), (align, n), n)
ALIGNED(memalign, (size_t align, size_t n), (align, n), n)
ALIGNED(valloc, (size_t n), (n), n)
ALIGNED(pvalloc, (size_t n), (n), n)
