/*
 * Memory debug data of a program that is not linked with them: the core of
 * src/mdd/target, with PAGEK_DEBUGDATA in the environment.
 *
 * When the collection is on, `real` points to the functions of this file.  They
 * call the next function and record the event.  So the hooks do not change, and
 * cost no more when it is off.
 *
 * The caller of an event is the innermost return address that is neither in this
 * library nor in a C++ operator.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "../mdd/target/target.h"
#include "hooks.h"
#include "produce/keeper_watch.h"
#include "unwind/syscalls.h"

#define HZ 100
#define PATIENCE_TURNS 1100	/* some 100 ms */
#define FRAMES_OF_OURS 6	/* hooks and operators before the program's frames */

/* The return addresses of an event, innermost first. */
struct debugdata_stack {
	unsigned n;
	uintptr_t pc[MDD_LEVELS];
	unsigned type;		/* of the operator that called; 0: none */
};

static struct real next;	/* the functions that these call */
static int64_t start_ms;
static _Atomic uint32_t *image;	/* a word that a fork wipes */

/* --- the port ------------------------------------------------------------ */

void *
mdd_port_memory(size_t bytes)
{
	return call_map_private(bytes);
}

uintptr_t
mdd_port_self(void)
{
	return (uintptr_t)&thread_self;
}

int
mdd_port_wait(unsigned turn)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	int saved = errno;

	if (turn >= 100 && !keeper_watch_locked())
		(void)syscall(SYS_nanosleep, &pause, NULL);
	errno = saved;
	/* A copy for a dump may take longer. */
	return turn < (debugdump_busy() ? 10 * PATIENCE_TURNS : PATIENCE_TURNS);
}

uint64_t
mdd_port_ticks(uint32_t *hz)
{
	*hz = HZ;
	return (uint64_t)(libc_now_ms() - start_ms) / (1000 / HZ);
}

void
mdd_port_thread(uintptr_t *handle, uint32_t *number, char *name)
{
	int saved = errno;

	*handle = (uintptr_t)__builtin_thread_pointer();
	if (keeper_watch_locked())
		return;
	*number = (uint32_t)syscall(SYS_gettid);
	(void)syscall(SYS_prctl, PR_GET_NAME, name);
	errno = saved;
}

uint32_t *
mdd_port_thread_word(void)
{
	return &thread_self.debugdata.number;
}

/* The levels behind the caller, from the walk of this thread's event. */
void
mdd_port_stack(uintptr_t caller, uintptr_t *level, unsigned n)
{
	const struct debugdata_stack *s = thread_self.debugdata.stack;

	(void)caller;
	for (unsigned i = 0; s != NULL && i < n && i + 1 < s->n; i++)
		level[i] = s->pc[i + 1];
}

/* --- the caller ----------------------------------------------------------- */

static void
find_caller(struct debugdata_stack *s, uintptr_t frame)
{
	unsigned levels = mdd_root.levels > 0 ? mdd_root.levels : 1;
	struct stack_frames walked;
	uintptr_t pc;

	s->n = 0;
	s->type = 0;
	s->pc[0] = 0;
	stack_frames(NULL, frame, levels + FRAMES_OF_OURS, &walked);
	for (unsigned i = 0; i < walked.depth && s->n < levels; i++) {
		pc = frame_pc(walked.frame[i]);
		if (s->n == 0 && range_has(&real.self, pc))
			continue;
		if (s->n == 0 && operator_has(pc)) {
			s->type = operator_type();
			continue;
		}
		if (s->n == 0 && s->type == 0)
			s->type = operator_called_at(pc);
		s->pc[s->n++] = pc;
	}
}

static const uint8_t functions[256] = {
	[TYPE_NEW] = MDD_NEW,
	[TYPE_NEW_ARRAY] = MDD_NEW_ARRAY,
	[TYPE_NEW_NOTHROW] = MDD_NEW_NOTHROW,
	[TYPE_NEW_ARRAY_NOTHROW] = MDD_NEW_ARRAY_NOTHROW,
	[TYPE_DELETE] = MDD_DELETE,
	[TYPE_DELETE_ARRAY] = MDD_DELETE_ARRAY,
};

static enum mdd_function
function_of(const struct debugdata_stack *s, enum mdd_function plain)
{
	return functions[s->type & 255] != 0 ?
	    (enum mdd_function)functions[s->type & 255] : plain;
}

/* --- events -------------------------------------------------------------- */

/*
 * Most threads set their name after their first event: it is read again at the
 * 2nd, 4th, 8th ... event.
 */
static void
begin_event(struct debugdata_stack *s, uintptr_t frame)
{
	struct debugdata_thread *d = &thread_self.debugdata;
	uint32_t n = ++d->events;

	if (unlikely(atomic_load_explicit(image, memory_order_relaxed) == 0)) {
		atomic_store(image, 1);
		mdd_forked();
	}
	if ((n & (n - 1)) == 0 && n > 1)
		mdd_thread_changed(0);
	find_caller(s, frame);
}

static void
record_alloc(void *ptr, size_t size, size_t actual, struct debugdata_stack *s,
    enum mdd_function plain)
{
	struct debugdata_thread *d = &thread_self.debugdata;
	const struct debugdata_stack *outer = d->stack;

	d->stack = s;
	mdd_alloc(ptr, size, actual, function_of(s, plain), s->pc[0]);
	d->stack = outer;
}

static NOINLINE void
allocated(void *ptr, size_t size, enum real_fn fn, enum mdd_function plain,
    uintptr_t frame)
{
	struct debugdata_stack s;
	size_t actual;

	if (ptr == NULL)
		return;
	begin_event(&s, frame);
	actual = hook_measure(&thread_self, ptr, real.usable[fn]);
	record_alloc(ptr, size, actual, &s, plain);
	debugdump_count((int64_t)actual);
}

static NOINLINE void
freeing(void *ptr, enum mdd_function plain, uintptr_t frame)
{
	struct debugdata_thread *d = &thread_self.debugdata;
	const struct debugdata_stack *outer = d->stack;
	struct debugdata_stack s;

	if (ptr == NULL)
		return;
	debugdump_count(-(int64_t)hook_measure(&thread_self, ptr,
	    real.usable[REAL_FREE]));
	begin_event(&s, frame);
	/* The object of this description is unmapped. */
	if (unlikely(range_has(&real.loader, s.pc[0])))
		stack_forget_rules();
	d->stack = &s;
	mdd_free(ptr, function_of(&s, plain), s.pc[0]);
	d->stack = outer;
}

void
debugdata_allocated(void *ptr, size_t size, unsigned type, uintptr_t frame)
{
	allocated(ptr, size, REAL_MALLOC, functions[type & 255], frame);
}

void
debugdata_freeing(void *ptr, unsigned type, uintptr_t frame)
{
	freeing(ptr, functions[type & 255], frame);
}

/* --- the functions ------------------------------------------------------- */

static void *
dd_malloc(size_t size)
{
	void *ptr = next.malloc(size);

	allocated(ptr, size, REAL_MALLOC, MDD_MALLOC, FRAME);
	FRAME_KEPT();
	return ptr;
}

static void *
dd_calloc(size_t n, size_t size)
{
	void *ptr = next.calloc(n, size);

	allocated(ptr, n * size, REAL_CALLOC, MDD_CALLOC, FRAME);
	FRAME_KEPT();
	return ptr;
}

#define DD_FREE(name, params, args) \
	static void \
	dd_##name params \
	{ \
		freeing(ptr, MDD_FREE, FRAME); \
		FRAME_KEPT(); \
		next.name args; \
	}

DD_FREE(free, (void *ptr), (ptr))
DD_FREE(free_sized, (void *ptr, size_t size), (ptr, size))
DD_FREE(free_aligned_sized, (void *ptr, size_t align, size_t size), (ptr, align, size))
DD_FREE(dallocx, (void *ptr, int flags), (ptr, flags))
DD_FREE(sdallocx, (void *ptr, size_t size, int flags), (ptr, size, flags))

/* flags: rallocx's, or NULL. */
static NOINLINE void *
resize(void *old, size_t size, const int *flags, uintptr_t frame)
{
	struct debugdata_thread *d = &thread_self.debugdata;
	const struct debugdata_stack *outer = d->stack;
	struct debugdata_stack s;
	struct mdd_move move;
	int saved = errno;
	size_t had, has = 0;
	void *ptr;
	bool moved;

	had = old != NULL ? hook_measure(&thread_self, old,
	    real.usable[REAL_REALLOC]) : 0;
	begin_event(&s, frame);
	d->stack = &s;
	mdd_move_begin(&move, old, MDD_REALLOC_FREE, s.pc[0]);
	errno = 0;
	ptr = flags != NULL ? next.rallocx(old, size, *flags) :
	    next.realloc(old, size);
	/* realloc(ptr, 0): NULL means freed, unless errno is ENOMEM. */
	moved = ptr != NULL || (size == 0 && errno != ENOMEM);
	mdd_move_end(&move, moved);
	if (errno == 0)
		errno = saved;
	d->stack = outer;
	if (ptr != NULL) {
		has = hook_measure(&thread_self, ptr,
		    real.usable[REAL_REALLOC]);
		record_alloc(ptr, size, has, &s,
		    old != NULL ? MDD_REALLOC : MDD_MALLOC);
	}
	if (moved)
		debugdump_count((int64_t)has - (int64_t)had);
	return ptr;
}

static void *
dd_realloc(void *old, size_t size)
{
	void *ptr = resize(old, size, NULL, FRAME);

	FRAME_KEPT();
	return ptr;
}

static void *
dd_rallocx(void *old, size_t size, int flags)
{
	void *ptr = resize(old, size, &flags, FRAME);

	FRAME_KEPT();
	return ptr;
}

/* Only for sizes that overflow, so that it fails, and for another malloc. */
static void *
dd_reallocarray(void *old, size_t n, size_t size)
{
	return next.reallocarray(old, n, size);
}

static void *
dd_mallocx(size_t size, int flags)
{
	void *ptr = next.mallocx(size, flags);

	allocated(ptr, size, REAL_MALLOCX, MDD_MALLOC, FRAME);
	FRAME_KEPT();
	return ptr;
}

static int
dd_posix_memalign(void **out, size_t align, size_t size)
{
	int rc = next.posix_memalign(out, align, size);

	if (rc == 0)
		allocated(*out, size, REAL_POSIX_MEMALIGN, MDD_POSIX_MEMALIGN,
		    FRAME);
	FRAME_KEPT();
	return rc;
}

#define DD_ALIGNED(name, index, function, params, args) \
	static void * \
	dd_##name params \
	{ \
		void *ptr = next.name args; \
 \
		allocated(ptr, size, index, function, FRAME); \
		FRAME_KEPT(); \
		return ptr; \
	}

DD_ALIGNED(aligned_alloc, REAL_ALIGNED_ALLOC, MDD_ALIGNED_ALLOC, (size_t align, size_t size), (align, size))
DD_ALIGNED(memalign, REAL_MEMALIGN, MDD_MEMALIGN, (size_t align, size_t size), (align, size))
DD_ALIGNED(valloc, REAL_VALLOC, MDD_VALLOC, (size_t size), (size))
DD_ALIGNED(pvalloc, REAL_PVALLOC, MDD_PVALLOC, (size_t size), (size))

/* --- at the start -------------------------------------------------------- */

/* Not for functions of ours: they call others, or another thread was faster. */
#define STAND_BEFORE(name) \
	do { \
		if (real.name != NULL && \
		    !range_has(&real.self, (uintptr_t)real.name)) { \
			next.name = real.name; \
			real.name = dd_##name; \
		} \
	} while (0)

static void
stand_before_all(void)
{
	STAND_BEFORE(malloc);
	STAND_BEFORE(calloc);
	STAND_BEFORE(realloc);
	STAND_BEFORE(reallocarray);
	STAND_BEFORE(free);
	STAND_BEFORE(posix_memalign);
	STAND_BEFORE(aligned_alloc);
	STAND_BEFORE(memalign);
	STAND_BEFORE(valloc);
	STAND_BEFORE(pvalloc);
	STAND_BEFORE(free_sized);
	STAND_BEFORE(free_aligned_sized);
	STAND_BEFORE(mallocx);
	STAND_BEFORE(rallocx);
	STAND_BEFORE(dallocx);
	STAND_BEFORE(sdallocx);
}

static void
complain(const char *bad)
{
	static const char said[] = "pagek: PAGEK_DEBUGDATA: not understood: '";
	static const char end[] = "'; nothing is collected, see alloclog(3)\n";

	(void)syscall(SYS_write, 2, said, sizeof said - 1);
	(void)syscall(SYS_write, 2, bad, strlen(bad));
	(void)syscall(SYS_write, 2, end, sizeof end - 1);
}

bool
debugdata_begin(void)
{
	const char *text = libc_env("PAGEK_DEBUGDATA"), *bad;
	struct mdd_opts opts;
	int on;

	if (text == NULL)
		return false;
	on = mdd_settings(&opts, text, &bad);
	if (on < 0)
		complain(bad);
	if (on <= 0)
		return false;
	if (mdd_root.record_bytes == 0) {
		start_ms = libc_now_ms();
		image = call_map_wiped(sizeof *image, libc_page());
		if (image == NULL)
			return false;
		atomic_store(image, 1);
		mdd_root.process = (uint32_t)syscall(SYS_getpid);
		mdd_root.run = (uint32_t)libc_now_ms() ^
		    mdd_root.process << 16;
		if (mdd_start(&opts) != 0)
			return false;
	}
	stand_before_all();
	debugdump_begin();
	return true;
}
