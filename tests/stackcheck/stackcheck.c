/*
 * stackcheck: a preload that holds every stack of the target side against a
 * full unwind.
 *
 * It is built from the capture's own sources and gives them a ring area of
 * its own instead of a node's.  For every allocation it takes the stack as
 * liballoclog would, cache and sites and all; every so often it also unwinds
 * the stack with libgcc's _Unwind_Backtrace() and, where it is asked to, with
 * libunwind's unw_step(), and compares frame by frame what the site says.
 *
 *	STACKCHECK=N		every Nth allocation of a thread; default 1000,
 *				0: none, the target only has to live
 *	STACKCHECK_DEPTH=D	frames of a stack; default 16
 *	STACKCHECK_SECOND=1	libunwind too
 *	STACKCHECK_OUT=FILE	gets a line of JSON from each process image as it
 *				exits
 *
 * A stack that says it is whole must end where the unwind ends; one that
 * stops for another reason must agree as far as it goes, and is counted by
 * its reason.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
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
#include <unwind.h>

#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#include "../../src/alloclog/unwind/unwind.h"

#define EXPORT __attribute__((visibility("default")))
#define FRAME ((uintptr_t)__builtin_frame_address(0))
#define MOST (RING_STACK_MAX + 1)

/* A stack as an unwinder tells it, outwards from the caller of a hook. */
struct told {
	uintptr_t origin;	/* sp in that caller: from there on it counts */
	uintptr_t pc[MOST];
	unsigned n;
	unsigned want;
	bool begun;
};

struct thread {
	struct stack_cache *cache;	/* on pages that a fork wipes */
	uint32_t process;	/* that it was made for */
	uint64_t events;
	bool inside;
};

static struct {
	_Atomic uint64_t allocations, checked, equal, different, no_room;
	_Atomic uint64_t second, second_different;
	_Atomic uint64_t shorter[RING_ENDS];
} sums;

static _Thread_local struct thread self
    __attribute__((tls_model("initial-exec")));
static struct ring_area *area;
static _Atomic uint32_t *alive;	/* the process, on a page that a fork wipes */
static bool told;
static uint64_t every = 1000;
static unsigned depth = 16;
static bool second;
static char out_path[300];	/* a copy: titles are set in the environment's place */
static char first[6000];	/* the first stack that was different */
static pthread_key_t key;
static _Atomic bool ready;

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_memalign)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void (*real_free)(void *);
static int (*real_dlclose)(void *);

/* Serves dlsym(3), should it ask for memory before there is any. */
static char pool[16384] __attribute__((aligned(16)));
static size_t pool_used;

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

static uint32_t
pid_now(void)
{
	return (uint32_t)syscall(SYS_getpid);
}

/* --- what happened, in words ---------------------------------------------- */

static const char *const ends[RING_ENDS] = {
	[0] = "none",
	[RING_END_OUTERMOST] = "outermost",
	[RING_END_DEPTH] = "depth",
	[RING_END_NO_TABLE] = "no_table",
	[RING_END_RULE] = "rule",
	[RING_END_MEMORY] = "memory",
	[RING_END_STUCK] = "stuck",
	[RING_END_ALONE] = "alone",
};

static size_t
put(char *s, size_t cap, size_t at, const char *form, ...)
{
	va_list ap;
	int n;

	va_start(ap, form);
	n = vsnprintf(s + at, at < cap ? cap - at : 0, form, ap);
	va_end(ap);
	return at + (size_t)n < cap ? at + (size_t)n : cap - 1;
}

static size_t
put_stack(char *s, size_t cap, size_t at, const char *name,
    const uintptr_t *pc, unsigned n)
{
	at = put(s, cap, at, "\"%s\":[", name);
	for (unsigned i = 0; i < n; i++) {
		Dl_info d = { 0 };
		const char *file = "?";

		if (dladdr((void *)pc[i], &d) != 0 && d.dli_fname != NULL) {
			file = strrchr(d.dli_fname, '/');
			file = file != NULL ? file + 1 : d.dli_fname;
		}
		at = put(s, cap, at, "%s\"%s+0x%lx %s\"", i > 0 ? "," : "",
		    file, (unsigned long)(pc[i] - (uintptr_t)d.dli_fbase),
		    d.dli_sname != NULL ? d.dli_sname : "");
	}
	return put(s, cap, at, "]");
}

/* Also at the end: before all constructors there is no environment yet. */
static void
find_out(void)
{
	const char *s = getenv("STACKCHECK_OUT");

	if (out_path[0] == '\0' && s != NULL && strlen(s) < sizeof(out_path))
		strcpy(out_path, s);
}

static void
report(void)
{
	char line[8000], comm[17] = "";
	size_t at = 0;
	int fd;

	/* The child of a vfork is not the one that the sums are of. */
	find_out();
	if (out_path[0] == '\0' || atomic_load(alive) != pid_now() || told)
		return;
	told = true;
	prctl(PR_GET_NAME, comm);
	at = put(line, sizeof(line), at,
	    "{\"comm\":\"%s\",\"pid\":%ld,\"allocations\":%lu,\"walks\":%lu,"
	    "\"sites\":%u,\"checked\":%lu,\"equal\":%lu,\"no_room\":%lu,"
	    "\"second\":%lu,\"second_different\":%lu,\"shorter\":{",
	    comm, (long)getpid(), sums.allocations,
	    atomic_load(&area->walks), atomic_load(&area->sites),
	    sums.checked, sums.equal, sums.no_room, sums.second,
	    sums.second_different);
	for (unsigned i = RING_END_OUTERMOST + 1; i < RING_ENDS; i++)
		at = put(line, sizeof(line), at, "%s\"%s\":%lu",
		    i > RING_END_OUTERMOST + 1 ? "," : "", ends[i],
		    sums.shorter[i]);
	at = put(line, sizeof(line), at, "},\"different\":%lu%s}\n",
	    sums.different, first);
	fd = open(out_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd == -1)
		return;
	(void)!write(fd, line, at);
	close(fd);
}

/* --- the other opinions ---------------------------------------------------- */

static _Unwind_Reason_Code
on_frame(struct _Unwind_Context *context, void *arg)
{
	struct told *t = arg;
	int exact = 0;
	uintptr_t pc = _Unwind_GetIPInfo(context, &exact);

	/* At a frame's call, the CFA is the stack pointer of the frame itself. */
	if (!t->begun && _Unwind_GetCFA(context) == t->origin)
		t->begun = true;
	if (!t->begun)
		return _URC_NO_REASON;
	if (pc == 0 || t->n == t->want)
		return _URC_NORMAL_STOP;
	/* A site has the address behind: what is looked up lies one before. */
	t->pc[t->n++] = pc + (exact ? 1 : 0);
	return _URC_NO_REASON;
}

static void
unwind_libgcc(struct told *t)
{
	_Unwind_Backtrace(on_frame, t);
}

#ifdef HAVE_LIBUNWIND
static bool
unwind_libunwind(struct told *t)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t sp, pc;
	bool exact = false;

	if (unw_getcontext(&context) != 0 ||
	    unw_init_local(&cursor, &context) != 0)
		return false;
	while (t->n < t->want) {
		if (unw_get_reg(&cursor, UNW_REG_SP, &sp) != 0 ||
		    unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0)
			return false;
		t->begun = t->begun || sp == t->origin;
		if (t->begun && pc == 0)
			return true;
		if (t->begun)
			t->pc[t->n++] = pc + (exact ? 1 : 0);
		if (unw_step(&cursor) <= 0)
			break;
		/* Of where the step has led, whatever its name says. */
		exact = unw_is_signal_frame(&cursor) > 0;
	}
	return t->begun;
}
#else
static bool
unwind_libunwind(struct told *t)
{
	(void)t;
	return false;
}
#endif

/* --- comparing --------------------------------------------------------------- */

/* The frames of a site, read from the area as a keeper would. */
static bool
site_frames(uint64_t caller, struct stack_frames *f)
{
	const struct ring_site *sites = (const struct ring_site *)
	    ((const char *)area + ring_sites_offset());
	const uint64_t *frames = (const uint64_t *)
	    ((const char *)area + ring_frames_offset());
	uint64_t word;

	if (!rec_is_site(caller))
		return false;
	word = atomic_load(&sites[rec_site(caller)].word);
	f->depth = ring_site_depth(word);
	f->end = (enum ring_end)ring_site_end(word);
	memcpy(f->frame, &frames[ring_site_at(word)],
	    f->depth * sizeof(f->frame[0]));
	return true;
}

static bool
agrees(const struct stack_frames *f, const struct told *t)
{
	unsigned n = f->depth < t->n ? f->depth : t->n;

	for (unsigned i = 0; i < n; i++)
		if (frame_pc(f->frame[i]) != t->pc[i])
			return false;
	if (f->depth > t->n)
		return false;
	if (f->end == RING_END_OUTERMOST)
		return f->depth == t->n;
	return f->end != RING_END_DEPTH || f->depth == depth;
}

static void
tell_first(const struct stack_frames *f, const struct told *t,
    const struct told *u)
{
	static atomic_flag taken = ATOMIC_FLAG_INIT;
	uintptr_t ours[RING_STACK_MAX];
	size_t at;

	if (atomic_flag_test_and_set(&taken))
		return;
	for (unsigned i = 0; i < f->depth; i++)
		ours[i] = frame_pc(f->frame[i]);
	at = put(first, sizeof(first), 0, ",\"end\":\"%s\",", ends[f->end]);
	at = put_stack(first, sizeof(first), at, "ours", ours, f->depth);
	at = put(first, sizeof(first), at, ",");
	at = put_stack(first, sizeof(first), at, "libgcc", t->pc, t->n);
	at = put(first, sizeof(first), at, ",");
	put_stack(first, sizeof(first), at, "libunwind", u->pc, u->n);
}

static void
check(uint64_t caller, uintptr_t frame)
{
	struct told t = { .origin = frame + 2 * sizeof(uintptr_t) }, u;
	struct stack_frames f;

	if (!site_frames(caller, &f)) {
		sums.no_room++;
		return;
	}
	/* One more than was wanted, to see whether a whole stack is whole. */
	t.want = depth + 1;
	u = t;
	unwind_libgcc(&t);
	sums.checked++;
	if (second && unwind_libunwind(&u)) {
		sums.second++;
		if (!agrees(&f, &u))
			sums.second_different++;
	}
	if (!agrees(&f, &t)) {
		sums.different++;
		tell_first(&f, &t, &u);
		return;
	}
	sums.equal++;
	if (f.end != RING_END_OUTERMOST)
		sums.shorter[f.end]++;
}

/* --- beginning ----------------------------------------------------------------- */

static struct stack_cache *_Atomic handed_on;

static void
thread_ended(void *arg)
{
	struct stack_cache *c = self.cache;

	(void)arg;
	self.inside = true;
	self.cache = NULL;
	/* The next thread has it, and must not take its stack for this one's. */
	stack_cache_reset_thread(c);
	stack_cache_free(atomic_exchange(&handed_on, c));
}

static void
begin(void)
{
	const char *s;

	real_malloc = dlsym(RTLD_NEXT, "malloc");
	real_calloc = dlsym(RTLD_NEXT, "calloc");
	real_realloc = dlsym(RTLD_NEXT, "realloc");
	real_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	real_memalign = dlsym(RTLD_NEXT, "memalign");
	real_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	real_free = dlsym(RTLD_NEXT, "free");
	real_dlclose = dlsym(RTLD_NEXT, "dlclose");
	if ((s = getenv("STACKCHECK")) != NULL)
		every = strtoull(s, NULL, 10);
	if ((s = getenv("STACKCHECK_DEPTH")) != NULL)
		depth = (unsigned)atoi(s);
	if (depth < 1 || depth > RING_STACK_MAX)
		depth = 16;
	second = getenv("STACKCHECK_SECOND") != NULL;
	find_out();
	area = mmap(NULL, ring_area_size(), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	alive = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || alive == MAP_FAILED ||
	    madvise(alive, 4096, MADV_WIPEONFORK) == -1)
		_exit(98);
	atomic_store(alive, pid_now());
	sites_attach(area);
	pthread_key_create(&key, thread_ended);
	atomic_store(&ready, true);
}

/* In the child of a fork: the area is a copy, all that leads to it is wiped. */
static void
begin_child(void)
{
	memset(&sums, 0, sizeof(sums));
	first[0] = '\0';
	sites_attach(area);
	told = false;
	atomic_store(alive, pid_now());
}

/* The thread that was forked has that of its parent's, whoever comes first. */
static void
open_cache(void)
{
	uint32_t process = atomic_load_explicit(alive, memory_order_relaxed);

	if (self.cache != NULL && self.process == process)
		return;
	self.process = process;
	if (self.cache == NULL) {
		self.cache = atomic_exchange(&handed_on, NULL);
		pthread_setspecific(key, &self);
	}
	if (self.cache != NULL)
		stack_cache_renew(self.cache, depth, false);
	else
		self.cache = stack_cache_new(depth, false);
}

static bool
is_ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (atomic_load_explicit(&ready, memory_order_acquire))
		return true;
	if (self.inside)
		return false;
	self.inside = true;
	pthread_once(&once, begin);
	self.inside = false;
	return true;
}

static void
event(uintptr_t frame)
{
	int saved = errno;
	uint64_t caller;

	if (self.inside)
		return;
	self.inside = true;
	if (atomic_load_explicit(alive, memory_order_relaxed) == 0)
		begin_child();
	open_cache();
	sums.allocations++;
	self.inside = false;
	/* A handler that allocates meets the cache busy, as it would in earnest. */
	caller = stack_caller(self.cache, frame);
	self.inside = true;
	if (every > 0 && ++self.events % every == 0)
		check(caller, frame);
	self.inside = false;
	errno = saved;
}

/* --- the hooks ------------------------------------------------------------------- */

EXPORT void *
malloc(size_t n)
{
	void *p;

	if (!is_ready())
		return pool_get(n);
	p = real_malloc(n);
	event(FRAME);
	return p;
}

EXPORT void *
calloc(size_t k, size_t n)
{
	void *p;

	if (!is_ready())
		return pool_get(k * n);
	p = real_calloc(k, n);
	event(FRAME);
	return p;
}

EXPORT void *
realloc(void *old, size_t n)
{
	void *p;

	if (!is_ready())
		return pool_get(n);
	p = real_realloc(old, n);
	event(FRAME);
	return p;
}

EXPORT void *
aligned_alloc(size_t align, size_t n)
{
	void *p;

	if (!is_ready())
		return pool_get(n);
	p = real_aligned_alloc(align, n);
	event(FRAME);
	return p;
}

EXPORT void *
memalign(size_t align, size_t n)
{
	void *p;

	if (!is_ready())
		return pool_get(n);
	p = real_memalign(align, n);
	event(FRAME);
	return p;
}

EXPORT int
posix_memalign(void **p, size_t align, size_t n)
{
	int r;

	if (!is_ready())
		return ENOMEM;
	r = real_posix_memalign(p, align, n);
	event(FRAME);
	return r;
}

EXPORT void
free(void *p)
{
	if ((char *)p >= pool && (char *)p < pool + sizeof(pool))
		return;
	if (p != NULL && is_ready())
		real_free(p);
}

EXPORT int
dlclose(void *handle)
{
	int r;

	(void)is_ready();
	r = real_dlclose(handle);
	stack_forget_rules();
	return r;
}

/* --- the end ----------------------------------------------------------------------- */

__attribute__((destructor)) static void
end(void)
{
	if (atomic_load(&ready))
		report();
}

EXPORT void
_exit(int status)
{
	end();
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void
_Exit(int status)
{
	_exit(status);
}
