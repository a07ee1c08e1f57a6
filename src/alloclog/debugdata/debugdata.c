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

#include "../../mdd/target/target.h"
#include "../debugdata.h"
#include "../hooks.h"
#include "../produce/keeper_watch.h"
#include "../unwind/syscalls.h"

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

/*
 * A stream that begins late, or is armed late, gets the blocks of the table as
 * records: they are told.  The first event of a thread that meets the new arming
 * takes the table's next number, `until`: blocks with lower numbers are told,
 * events from that number on are logged by the hooks.  One thread tells, in
 * portions, between its own events, while all others wait at the gate.
 */
#define TELL_HOLD_MS 2		/* of a portion: the other threads wait no longer */
#define TELL_MS 50		/* of all portions of one event */
#define TELL_PAUSE_MS 1000	/* after no progress */
#define TELL_TURNS 100000	/* a thread waits for a few stores of another */
#define TELL_TRIES 50		/* then a thread that stays in a hook counts as unsure */
#define TELL_LATE_MS 1000	/* a hook may have begun so long before an arming */
#define TELL_THREADS 1024	/* threads whose indexes are kept */
#define LOOK_MS 500		/* between two looks for a dead keeper */

enum { TELL_NOTHING, TELL_TABLE, TELL_END };

/* A fork copies it: the child continues where its parent was. */
static struct {
	_Atomic uint64_t arming;	/* the last one that was met; 0: none */
	_Atomic int state;
	_Atomic uint32_t until;		/* events from this number on are logged */
	_Atomic uint32_t meeting;	/* 1: a thread sets these three */
	_Atomic uint32_t busy;		/* 1: a thread tells */
	_Atomic uint64_t due_ms;	/* on the keeper's clock: the next portions, not before */
	_Atomic uint64_t met_ms;	/* on that clock: when the arming was met */
	/* Of the thread that tells. */
	uint64_t told;			/* the arming of the members below */
	uint32_t shard, slot;		/* the next one to tell */
	uint32_t tries;			/* failed because a thread was in a hook */
	uint16_t thread[TELL_THREADS];	/* index in the stream, by number here */
} tell SELDOM;

/* Tells the blocks below the number `until`; 0: none. */
static void
tell_begin(uint64_t arming, uint32_t until)
{
	atomic_store(&tell.until, until);
	atomic_store(&tell.due_ms, 0);
	atomic_store(&tell.met_ms, produce_keeper_ms());
	atomic_store(&tell.state, until != 0 ? TELL_TABLE : TELL_NOTHING);
	atomic_store(&tell.arming, arming);
}

bool
debugdata_on(void)
{
	return image != NULL;
}

/* A dormant or a sampled stream gets nothing. */
void
debugdata_rejoined(void)
{
	uint64_t arming = produce_arming();

	tell_begin(arming, arming != 0 ? mdd_root.seqno : 0);
}

/*
 * Meets an arming.  Call it before the event has a number: then events that are
 * logged have numbers from `until` on.  It gives up after TELL_TURNS, for a signal
 * handler may have interrupted the thread that sets `until`.
 */
static NOINLINE void
tell_meet(uint64_t arming, bool forked)
{
	uint32_t nobody = 0;
	unsigned turn = 0;

	while (!atomic_compare_exchange_weak(&tell.meeting, &nobody, 1)) {
		if (turn++ == TELL_TURNS)
			return;
		nobody = 0;
	}
	if (forked) {
		/* The child's stream has threads of its own. */
		memset(tell.thread, 0, sizeof tell.thread);
		tell.told = arming;
		atomic_store(&tell.arming, arming);
	} else if (atomic_load(&tell.arming) != arming)
		tell_begin(arming, mdd_root.seqno);
	atomic_store(&tell.meeting, 0);
}

/*
 * The hooks look after a number of events, which a thread may take long to make once
 * it is less busy.
 */
static void
look_for_keeper(void)
{
	static _Atomic int64_t due_ms;
	int64_t now;

	if (!libc_clock_ms(&now) || now < atomic_load_explicit(&due_ms,
		memory_order_relaxed))
		return;
	atomic_store_explicit(&due_ms, now + LOOK_MS, memory_order_relaxed);
	produce_check_keeper(thread_self.producer);
}

static inline void
tell_check(void)
{
	uint64_t arming = produce_arming();

	if (unlikely(arming != atomic_load_explicit(&tell.arming,
		memory_order_relaxed)) && arming != 0)
		tell_meet(arming, false);
	if (unlikely(atomic_load_explicit(&tell.state,
		memory_order_relaxed) != TELL_NOTHING) && arming != 0 &&
	    produce_keeper_ms() >= atomic_load(&tell.due_ms))
		callers_make_due();
}

/* True if a hook may still run that began before the arming. */
static inline bool
tell_is_late(void)
{
	return produce_keeper_ms() - atomic_load_explicit(&tell.met_ms,
	    memory_order_relaxed) <= TELL_LATE_MS;
}

/*
 * True if the hook around this event began before the arming, and so logs nothing.
 * Other hooks are marked in their producer, or at the gate.
 */
static inline bool
tell_unlogged(void)
{
	const struct producer *p = thread_self.producer;
	const struct produce_gate *gate;

	if (likely(!tell_is_late()) || (p != NULL && p->inside != 0) ||
	    atomic_load(&hook_stopped) || produce_arming() == 0)
		return false;
	gate = produce_own_gate();
	return gate != NULL && atomic_load(&gate->callers) == 0;
}

struct tell_block {
	struct mdd_copy copy;
	uint32_t shard, slot, word;
};

/* True if the table still has the block, and the other threads still wait. */
static bool
still_holds(const void *arg)
{
	const struct tell_block *b = arg;
	struct mdd_copy now;

	return mdd_look(b->shard, b->slot, &now) == 1 &&
	    now.ptr == b->copy.ptr && now.seqno == b->copy.seqno &&
	    callers_are_still(b->word);
}

static const uint8_t types[32] = {
	[MDD_MALLOC] = TYPE_MALLOC,
	[MDD_CALLOC] = TYPE_CALLOC,
	[MDD_REALLOC] = TYPE_REALLOC,
	[MDD_MEMALIGN] = TYPE_ALIGNED,
	[MDD_POSIX_MEMALIGN] = TYPE_ALIGNED,
	[MDD_ALIGNED_ALLOC] = TYPE_ALIGNED,
	[MDD_VALLOC] = TYPE_ALIGNED,
	[MDD_PVALLOC] = TYPE_ALIGNED,
	[MDD_NEW] = TYPE_NEW,
	[MDD_NEW_ARRAY] = TYPE_NEW_ARRAY,
	[MDD_NEW_NOTHROW] = TYPE_NEW_NOTHROW,
	[MDD_NEW_ARRAY_NOTHROW] = TYPE_NEW_ARRAY_NOTHROW,
};

static uint16_t
tell_thread(struct producer *p, uint32_t number)
{
	const struct mdd_thread *t;

	if (number == 0 || number >= TELL_THREADS)
		return 0;
	/* The number of a thread that has ended may be another's now. */
	if (tell.thread[number] == 0 && (t = mdd_thread_of(number)) != NULL)
		tell.thread[number] = produce_told_thread(p,
		    t->ended ? 0 : t->number, t->name);
	return tell.thread[number];
}

static void
tell_block(struct producer *p, const struct tell_block *b)
{
	const struct mdd_copy *c = &b->copy;
	uint32_t hz;
	uint64_t now = mdd_port_ticks(&hz);
	struct produce_told told = {
		.addr = c->ptr, .size = c->size, .actual = c->actual,
		.caller = c->caller, .type = types[c->function & 31] != 0 ?
		    types[c->function & 31] : TYPE_MALLOC,
		.thread = tell_thread(p, c->thread) };

	if ((mdd_root.options & MDD_OPT_TIMESTAMP) && now > c->ticks)
		told.age_ms = (now - c->ticks) * (1000 / HZ);
	produce_tell(p, &told, still_holds, b);
}

/* Tells as many blocks as there is room and time for, while the other threads wait. */
static void
tell_portion(struct producer *p, uint32_t word)
{
	int64_t end = libc_now_ms() + TELL_HOLD_MS;
	uint32_t until = atomic_load(&tell.until);
	struct tell_block b = { .word = word };
	/* A new thread takes a second record. */
	uint32_t n, room = produce_room(p) / 2;
	int has;

	for (n = 0; n < room && tell.shard < mdd_root.shards; tell.slot++) {
		b.shard = tell.shard;
		b.slot = tell.slot;
		has = mdd_look(b.shard, b.slot, &b.copy);
		if (has < 0) {
			tell.shard++;
			tell.slot = UINT32_MAX;
			continue;
		}
		if (has == 0 || (int32_t)(b.copy.seqno - until) >= 0)
			continue;
		if ((n++ & 63) == 63 && (libc_now_ms() >= end ||
		    !callers_are_still(word)))
			break;
		tell_block(p, &b);
	}
	if (tell.shard == mdd_root.shards)
		atomic_store(&tell.state, TELL_END);
}

/* Tells a portion.  False: nothing more can be told now. */
static bool
tell_some(struct producer *p)
{
	uint32_t word, unsure;

	if (produce_room(p) < 2)
		return true;
	word = callers_still(&unsure);
	if (word == 0)
		return false;
	if (tell.told != atomic_load(&tell.arming)) {
		tell.told = atomic_load(&tell.arming);
		tell.shard = tell.slot = tell.tries = 0;
		memset(tell.thread, 0, sizeof tell.thread);
	}
	if (unsure != 0 && tell.tries++ < TELL_TRIES) {
		callers_go_on(word);
		return true;
	}
	produce_count_unsure(unsure);
	if (atomic_load(&tell.state) == TELL_TABLE)
		tell_portion(p, word);
	callers_go_on(word);
	if (atomic_load(&tell.state) != TELL_END || produce_room(p) < 2)
		return true;
	produce_control(p, REC_CTL_TOLD, 0, 0);
	atomic_store(&tell.state, TELL_NOTHING);
	return false;
}

static void
tell_pause(unsigned ms)
{
	atomic_store(&tell.due_ms, produce_keeper_ms() + ms);
}

/*
 * Tells portions for TELL_MS.  Signals are blocked, because a handler may allocate.
 * In the pauses the other threads run, and the keeper drains the ring.
 */
static void
tell_all(struct producer *p)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	int64_t until = libc_now_ms() + TELL_MS;
	uint32_t idle = 0, shard, slot;
	uint64_t signals;

	if (!atomic_compare_exchange_strong(&tell.busy, &idle, 1))
		return;
	shard = tell.shard;
	slot = tell.slot;
	call_block_signals(&signals);
	while (atomic_load(&tell.state) != TELL_NOTHING && tell_some(p) &&
	    libc_now_ms() < until)
		(void)syscall(SYS_nanosleep, &pause, NULL);
	call_restore_signals(&signals);
	/* Without progress the keeper or a thread is slow. */
	tell_pause(shard == tell.shard && slot == tell.slot ? TELL_PAUSE_MS :
	    TELL_MS);
	atomic_store(&tell.busy, 0);
}

void
debugdata_due(void)
{
	struct producer *p = NULL;
	int saved = errno;

	if (!keeper_watch_locked()) {
		if (keeper_watch_gone())
			attach_again();
		if (atomic_load(&tell.state) != TELL_NOTHING) {
			if (thread_ready(&p) && p != NULL && p->ring != NULL)
				tell_all(p);
			else
				tell_pause(TELL_MS);
		}
	}
	errno = saved;
}

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
		atomic_store(&tell.busy, 0);
		atomic_store(&tell.meeting, 0);
		tell_meet(produce_arming(), true);
	}
	look_for_keeper();
	tell_check();
	if ((n & (n - 1)) == 0 && n > 1)
		mdd_thread_changed(0);
	find_caller(s, frame);
}

/*
 * The table gets the block before it is asked whether the hook logs it.  A block
 * from before the arming is told later; a newer one that its hook does not log is
 * logged here.
 */
static void
record_alloc(void *ptr, size_t size, size_t actual, struct debugdata_stack *s,
    enum mdd_function plain, uintptr_t frame)
{
	struct debugdata_thread *d = &thread_self.debugdata;
	const struct debugdata_stack *outer = d->stack;
	struct producer *p;
	uint32_t number;

	d->stack = s;
	number = mdd_alloc_number(ptr, size, actual, function_of(s, plain),
	    s->pc[0]);
	d->stack = outer;
	if (likely(atomic_load_explicit(&tell.state, memory_order_relaxed) ==
	    TELL_NOTHING) && likely(!tell_is_late()))
		return;
	if ((int32_t)(number - atomic_load(&tell.until)) < 0)
		return;
	p = thread_self.producer;
	/* The hook began in the stream before: it continues in this one. */
	if (p != NULL && p->inside != 0 && !produce_current(p))
		(void)thread_ready(&p);
	else if (tell_unlogged())
		hook_allocated(ptr, size, NULL,
		    types[function_of(s, plain) & 31], frame);
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
	record_alloc(ptr, size, actual, &s, plain, frame);
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
	if (unlikely(tell_unlogged()))
		hook_freeing(ptr, TYPE_FREE, frame);
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
	if (unlikely(tell_unlogged()) && old != NULL)
		hook_freeing(old, TYPE_FREE, frame);
	errno = 0;
	ptr = flags != NULL ? next.rallocx(old, size, *flags) :
	    next.realloc(old, size);
	/* realloc(ptr, 0): NULL means freed, unless errno is ENOMEM. */
	moved = ptr != NULL || (size == 0 && errno != ENOMEM);
	mdd_move_end(&move, moved);
	/* It is not known if its free was logged, or if it was told meanwhile. */
	if (unlikely(tell_unlogged()) && !moved && old != NULL)
		produce_count_unsure(1);
	if (errno == 0)
		errno = saved;
	d->stack = outer;
	if (ptr != NULL) {
		has = hook_measure(&thread_self, ptr,
		    real.usable[REAL_REALLOC]);
		record_alloc(ptr, size, has, &s,
		    old != NULL ? MDD_REALLOC : MDD_MALLOC, frame);
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

/* A library before ours in LD_PRELOAD is the parent's too. */
static bool
stands_first(void)
{
	static const char name[] = "liballoclog";
	const char *at = libc_env("LD_PRELOAD");

	for (; at != NULL && *at != '\0' && *at != ':' && *at != ' '; at++)
		if (strncmp(at, name, sizeof name - 1) == 0)
			return true;
	return false;
}

bool
debugdata_begin(bool ours)
{
	static const char variable[] = "PAGEK_DEBUGDATA";
	const char *text = libc_env(variable), *at = libc_env("PAGEK_DUMP_AT"), *bad;
	struct mdd_opts opts;
	int on;

	/* An empty variable counts as unset. */
	if (text != NULL && text[0] == '\0')
		text = NULL;
	if (text == NULL && (at == NULL || at[0] == '\0'))
		return false;
	debugdump_know_errors();
	if (text == NULL) {
		if (!debugdump_parent_has("PAGEK_DUMP_AT"))
			debugdump_complain("PAGEK_DUMP_AT: no dump is written, for "
			    "nothing is collected without PAGEK_DEBUGDATA=on", "",
			    "");
		return false;
	}
	on = mdd_settings(&opts, text, &bad);
	if (on < 0 && !debugdump_parent_has(variable))
		debugdump_complain("PAGEK_DEBUGDATA: not understood: '", bad,
		    "'; nothing is collected, see alloclog(3)");
	else if (on > 0 && !ours &&
	    (stands_first() || !debugdump_parent_has(variable)))
		debugdump_complain("PAGEK_DEBUGDATA: nothing is collected: malloc "
		    "is the program's, a sanitizer's, valgrind's or that of a "
		    "library before liballoclog.so in LD_PRELOAD", "", "");
	if (on <= 0 || !ours)
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
		if (mdd_start(&opts) != 0) {
			debugdump_complain("PAGEK_DEBUGDATA: nothing is "
			    "collected: there is no memory for its tables", "",
			    "");
			return false;
		}
	}
	stand_before_all();
	debugdump_begin();
	return true;
}
