/*
 * hooks: what the files of the target side share.  Private to this room.
 *
 *	hooks.c, operators.c	the malloc family and the C++ operators
 *	api.c, pools.c		blocks and pools that a program names itself
 *	real.c			the functions that the hooks stand before
 *	produce.c		one record into a ring
 *	rings.c			the rings of a thread; a full ring: wait, drop, count
 *	areas.c			the shared memory of one arming
 *	sample.c		one allocation in so many bytes
 *	threads.c		what each thread has
 *	attach.c		hello to a node, and again to the next one
 *	keeper_watch.c		is the keeper gone (its node killed)? attach.c goes on
 *	unwind/			call stacks: unwind.h; walk.c walks
 *
 * Vocabulary
 *	real		the function that a hook stands before: the next of its
 *			name after us, libc's or another allocator's.
 *	pool		a few pages that serve this thread while it looks up
 *			the real functions, for dlsym(3) may allocate.
 *	fast		the producer to use when nothing special is going on.
 *			NULL means "look closer": no producer yet, dormant,
 *			sampled, inert, inside an operator, resolving.
 *	inert		nobody listens; for good, also in children.
 *	asleep		inert, or dormant and not sampling: the real call and
 *			nothing else.  A process that samples keeps account of
 *			its sampled blocks while it is dormant, or it would not
 *			know them when it is armed again.
 *	closer		how a hook looks at an event that does not go straight
 *			(produce_straight()).
 *	left		asleep, and the keeper has gone (ring.h): a thread looks
 *			for another one with each stride of what it allocates.
 *	origin		where the program called us: the frame address of the
 *			hook, by which return address and stack are found.
 *	scope		one operator new or delete in progress on a thread.
 *			What the real operator itself asks of malloc or free
 *			goes under the operator's name; what a new_handler
 *			does in between is the program's own.
 *
 * The way of an event
 *	hook -> produce_straight() -> real call
 *	hook -> produce_straight() -> thread_straight() -> real call -> produce_*()
 *	hook -> produce_straight() -> slow path -> thread_ready()
 *	hook -> closer -> sample_skips() -> real call
 *	hook -> closer -> slow path -> real_get() -> thread_ready() -> attach()
 *
 * No lock is ever held here, and attach() is the only place that waits.
 */
#ifndef ALLOCLOG_HOOKS_H
#define ALLOCLOG_HOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "produce.h"
#include "sample.h"
#include "unwind/unwind.h"

/*
 * A program is watched by what it shares with its keeper, so its 64-bit words
 * must be whole without a lock: a lock would be this process's alone, and held
 * by whom a signal interrupts.  Callers and stacks want pointers of 64 bits.
 */
#if !defined(__LP64__) || ATOMIC_LLONG_LOCK_FREE != 2
#error "liballoclog needs 64-bit pointers and lock-free 64-bit atomics; build the programs without it"
#endif

/* Within one object: no call and no load goes by way of its tables. */
#pragma GCC visibility push(hidden)

#define EXPORT __attribute__((visibility("default")))
#define HOT __attribute__((flatten))
#define COLD __attribute__((noinline, cold))
#define NOINLINE __attribute__((noinline))
#define NONNULL(i) __attribute__((nonnull(i)))
/*
 * What a hook ends in by a jump: it stands on the hook's frame, so that its own
 * frame address is where the program called.  Hooks have no frame of their own
 * then, and pay for none when there is nothing to log.  Where calls are not
 * made into jumps it is a part of the hook.
 */
#ifdef __OPTIMIZE__
#define OUTLINE static NOINLINE
#else
#define OUTLINE static inline __attribute__((always_inline))
#endif
#define FRAME ((uintptr_t)__builtin_frame_address(0))
/*
 * Where the program called, for whom that is enough: in a hook, or in what a
 * hook ends in by a jump.  It needs no frame.
 */
#define RETURN ((uintptr_t)__builtin_return_address(0))
/*
 * Behind the last call that was given FRAME: a jump in its place would give the
 * frame away, and with it the caller's rbp.
 */
#define FRAME_KEPT() __asm__ volatile("" ::: "memory")
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* --- the real functions (real.c) ---------------------------------------- */

enum real_fn {
	REAL_MALLOC,
	REAL_CALLOC,
	REAL_REALLOC,
	REAL_POSIX_MEMALIGN,
	REAL_ALIGNED_ALLOC,
	REAL_MEMALIGN,
	REAL_VALLOC,
	REAL_PVALLOC,
	REAL_FNS
};

struct range {
	uintptr_t lo;
	uintptr_t size;
};

struct real {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	/*
	 * malloc_usable_size() for blocks of that function; one that says 0,
	 * not known, when the two lie in different objects.
	 */
	size_t (*usable[REAL_FNS])(void *);
	struct range self;		/* the object that this code is in */
	struct range heap[2];		/* those of malloc and of malloc_usable_size */
	struct range loader;		/* ld.so: what it frees may be an object's */
	char allocator[32];		/* file name of the first */
	_Atomic bool ready;
};

extern struct real real;

static inline bool
real_known(void)
{
	return likely(atomic_load_explicit(&real.ready, memory_order_acquire));
}

/*
 * Makes sure of `real`.  False while this very thread is looking something up:
 * the pool serves it then.
 */
bool real_get(void);

/* The object that an address lies in; size 0 if it lies in none. */
struct range real_object(const void *addr);

static inline bool
range_has(const struct range *r, uintptr_t addr)
{
	return addr - r->lo < r->size;
}

#define POOL_SIZE 65536
extern char pool[POOL_SIZE];

static inline bool
pool_has(const void *ptr)
{
	return (uintptr_t)ptr - (uintptr_t)pool < POOL_SIZE;
}

/* NULL with ENOMEM when the pool is used up; memory is not cleared. */
void *pool_alloc(size_t align, size_t size);
void pool_free(void *);
size_t pool_block_size(const void *);

/* --- chunk heads (real.c) ------------------------------------------------ */

/*
 * The size of a block is read from the chunk head: the word before a block of
 * glibc's malloc on x86-64, the block's bytes with the head itself, a multiple of
 * 16, and flags in the low bits.  malloc_usable_size(3) reads the next block's
 * head too, to find mistakes of the program; that line of cache is often another
 * core's.
 *
 * Heads are believed only after a trial: the first blocks are measured both ways,
 * and one difference ends it for good.  Later, blocks that begin in the middle of
 * a page are still checked against malloc_usable_size(); blocks at the beginning
 * of a page are always measured by it.  So only the page of the block itself is
 * read, whichever allocator made it.  What was listed before a difference was
 * found stays as it was listed.
 *
 * A head that cannot be that of a block of so many bytes has been overwritten by
 * the program.  The allocator would follow it anywhere, so nothing else is asked
 * about that block.
 */
#define CHUNK_MAPPED 2		/* flag: in a mapping of its own, whose head differs */
#define CHUNK_FLAGS 7
#define CHUNK_ASKED 0x7f8	/* a block without these bits is measured both ways */
#define CHUNK_ODD (UINT64_C(1) << 20)	/* no block has so many bytes beyond those wanted */

enum {
	CHUNK_UNSET,
	CHUNK_NEVER,
	CHUNK_TRUSTED,
	CHUNK_TRIAL = CHUNK_TRUSTED + 64,	/* and below: so many blocks of the trial are left */
};

extern _Atomic int chunk_state;

/*
 * Begins the trial; called where malloc, calloc, realloc and malloc_usable_size
 * are glibc's own.  Of two threads that call at once the second changes nothing.
 */
void chunk_begin(void);

/*
 * The long way of chunk_overhead(): by malloc_usable_size(), compared with the
 * head; 0 when the head has been overwritten.
 */
unsigned chunk_ask(void *ptr, uint64_t size, size_t (*const *usable)(void *));

/*
 * The usable bytes of a new block beyond `size`, as produce_overhead() encodes
 * them; 0 is also "not known".  `usable` points at the function, for it is needed
 * seldom.
 */
static inline __attribute__((always_inline)) unsigned
chunk_overhead(void *ptr, uint64_t size, size_t (*const *usable)(void *))
{
	const uint64_t *head = (const uint64_t *)ptr - 1;
	uint64_t bytes;

	if (__builtin_expect(atomic_load_explicit(&chunk_state,
		memory_order_relaxed) != CHUNK_TRUSTED, 0) ||
	    __builtin_expect(((uintptr_t)ptr & CHUNK_ASKED) == 0, 0) ||
	    __builtin_expect((*head & CHUNK_MAPPED) != 0, 0))
		return chunk_ask(ptr, size, usable);
	/* Without the head's eight bytes, and with the eight of rounding. */
	bytes = (*head & ~(uint64_t)CHUNK_FLAGS) - size;
	if (__builtin_expect(bytes >= CHUNK_ODD, 0))
		return chunk_ask(ptr, size, usable);
	return (unsigned)(bytes >> 4);
}

/*
 * Prefetches the head of a block that is about to be freed: the allocator reads it
 * first.  Asked for here, before the 80 instructions of ours, a head that is in no
 * cache costs two fifths less (33 of 83 ns of a free).  Any pointer will do, also
 * NULL: a prefetch does not fault.
 */
static inline void
chunk_fetch(const void *ptr)
{
#ifdef __x86_64__
	/* For writing; where a processor does not know it, it does nothing. */
	__asm__ volatile("prefetchw -16(%0)"
	    :
	    : "r"(ptr));
#else
	__builtin_prefetch((const void *)((uintptr_t)ptr - 16), 1);
#endif
}

/* --- threads (threads.c) ------------------------------------------------ */

struct scope {
	uintptr_t real;		/* the real operator: it begins here */
	uintptr_t frame;	/* the hook's frame: dead once the stack is above it */
	uintptr_t origin;	/* of the outermost operator: who asked */
	uintptr_t block;	/* what a delete frees; 0 for a new */
	size_t size;		/* bytes asked of a new */
	uint8_t type;		/* enum rec_type, of the outermost operator */
	bool logged;		/* delete: its free; new: that it failed */
	bool own;		/* this operator does not come to malloc or free */
	bool inner;		/* part of the operator around it */
};

#define SCOPES 8	/* deeper ones are counted; the last place is for them all */

/*
 * What a thread keeps in its own storage.  A fork copies it.  All zeros is a
 * thread that has just begun: while the loader relocates the program, in a
 * thread by clone(2), it is that whatever initial values it had.
 */
struct thread {
	struct producer *fast;
	struct sampler sampler;		/* left is 0 while looking */
	struct producer *usual;		/* what fast is outside of everything */
	struct producer *producer;	/* on a page that a fork wipes */
	uintptr_t last;			/* last block that a slow path logged */
	struct thread_slot *slot;		/* whose producer that is; kept while silent */
	unsigned depth;			/* scopes in progress */
	uint8_t level;			/* alloclog_level() */
	bool looking;			/* for the real functions: the pool serves it */
	bool opening;			/* inside thread_open() */
	bool measuring;			/* inside malloc_usable_size() */
	bool ended;			/* past its destructors: the common ring */
	bool standing;			/* found no slot: likewise, in this process */
	bool silent;			/* may make no system call any more */
	bool named;			/* alloclog_requester() was called: */
	uint64_t requester[2];		/* w1 and w2 of its record */
	struct scope scopes[SCOPES + 1];
};

extern _Thread_local struct thread thread_self
    __attribute__((tls_model("initial-exec")));

/*
 * True when somebody listens, dormant or not.  Attaches the process and begins
 * the thread's sampling if need be.  Keeps errno.
 */
bool thread_joined(void);

/*
 * The calling thread logs nothing from now on, for that may take a system call:
 * what it would have logged is counted as lost.  Returns what is to be given to
 * thread_speak() where it is to go on after all.
 */
struct producer *thread_silence(void);
void thread_speak(struct producer *);

/*
 * True when this event is to be logged, with the producer for it (NULL: the
 * common ring).  Opens the thread's ring if need be.  Keeps errno.
 */
bool thread_ready(struct producer **);

/* The same where all of that has been done; NULL if not. */
static inline struct producer *
thread_producer(void)
{
	struct producer *p = thread_self.producer;

	return likely(p != NULL) && produce_armed(p) ? p : NULL;
}

/* Creates the key whose destructor closes a thread's ring; once. */
void threads_begin(void);

/* In the child of a fork(3), before anything else is done there. */
void threads_forked(void);

static inline struct producer *
thread_fast(void)
{
	struct producer *p = thread_self.fast;

	return likely(p != NULL) && produce_armed(p) ? p : NULL;
}

/* The same of an event that goes straight, as that area says. */
static inline struct producer *
thread_straight(const struct keeper_area *way)
{
	struct producer *p = thread_self.fast;

	return likely(p != NULL) && likely(p->keeper == way) ? p : NULL;
}

static inline bool
thread_samples(void)
{
	return unlikely(thread_self.sampler.period != 0);
}

/*
 * Without a fast producer: an allocation of which nobody will ask again.  The
 * real function is known then.  Where every event is to be logged a countdown is
 * that of another keeper's time, which sampled.
 */
static inline bool
hook_skips(uint64_t size)
{
	const struct keeper_area *whole = produce_whole();

	return whole != NULL ? produce_area_asleep(whole) :
	    sample_skips(&thread_self.sampler, size);
}

/* Without a fast producer: the free of a block that is not the pool's. */
static inline bool
hook_skips_free(const void *ptr)
{
	const struct keeper_area *whole = produce_whole();

	if (whole != NULL)
		return produce_area_asleep(whole);
	return thread_self.sampler.left != 0 &&
	    (likely(!sample_maybe(ptr)) || !sample_has(ptr));
}

/* --- who asked (threads.c) ------------------------------------------------ */

/*
 * The caller of a thread that has no ring, and so no cache: of an allocation or
 * of a free.
 */
uint64_t origin_walk(uintptr_t origin, bool freeing);

static inline uintptr_t
origin_pc(uintptr_t origin)
{
	return ((const uintptr_t *)origin)[1];
}

/* The caller of an allocation's record. */
static inline uint64_t
origin_caller(const struct producer *p, uintptr_t origin)
{
	if (unlikely(p == NULL))
		return origin_walk(origin, false);
	return p->stack != NULL ? stack_caller(p->stack, origin) :
	    rec_plain_caller(origin_pc(origin));
}

/*
 * The caller of a free's.  The loader frees an object's description when it
 * has unmapped it and before anything else can be mapped there by dlopen(3):
 * from then on its addresses may be another's.
 */
static inline uint64_t
origin_freer(const struct producer *p, uintptr_t origin)
{
	uintptr_t pc = origin_pc(origin);

	if (unlikely(p == NULL))
		return origin_walk(origin, true);
	if (p->stack == NULL)
		return rec_plain_caller(pc);
	if (unlikely(range_has(&real.loader, pc)))
		stack_forget();
	return unlikely(stack_of_frees(p->stack)) ?
	    stack_caller(p->stack, origin) : rec_plain_caller(pc);
}

/*
 * The loader finds these n functions of ours no more: it passes over a symbol
 * without an address.  Once in a process; all or none, and none where there are
 * more than EXPORTS_MAX or the table cannot be written.
 */
#define EXPORTS_MAX 32
void exports_withdraw(const void *const fns[], unsigned n);

/* --- attaching (attach.c) ----------------------------------------------- */

extern _Atomic bool hook_inert;

/*
 * The program's malloc is not ours.  Its image says hello only when the API is
 * used; an empty list would be a lie.
 */
extern _Atomic bool hook_foreign;

/* Says hello if this image has not; false when nobody listens.  Keeps errno. */
bool attach(void);

/* Nobody is to listen, ever. */
void attach_never(void);

/* --- hooks (hooks.c) ---------------------------------------------------- */

/* Between alloclog_stop() and alloclog_start(): allocations are not logged. */
extern _Atomic bool hook_stopped;

/*
 * Logs one allocation, or a failed one (ptr NULL), after the real call.  A
 * block of `usable` NULL has no known overhead.
 */
void hook_allocated(void *ptr, uint64_t size, size_t (*usable)(void *),
    unsigned type, uintptr_t origin);
/* Logs one free, before the real call. */
void hook_freeing(void *ptr, unsigned type, uintptr_t origin);

/* --- operators (operators.c) -------------------------------------------- */

/* Looks the operators up among what is loaded at the start. */
void operators_begin(void);

/*
 * A real operator is some dozens of instructions: a call that returns within
 * these bytes of its beginning is its own.  Where that is wrong, a block goes
 * under the name of malloc instead of new; it is logged once in any case.
 */
#define OP_REACH 256

/*
 * Called by the real operator: from its code, or from ours when it ends in a
 * jump to the next function instead of a call.
 */
static inline bool
scope_calls(const struct scope *s, uintptr_t ret)
{
	return ret - s->real < OP_REACH || range_has(&real.self, ret);
}

/*
 * The block is asked for (or freed) by a real operator itself: puts the name
 * and the origin of the operator in place of the hook's.  The second is false
 * when the free has been logged already.
 */
void scope_label_alloc(struct thread *, bool failed, unsigned *type,
    uintptr_t *origin);
bool scope_label_free(struct thread *, uintptr_t block, unsigned *type,
    uintptr_t *origin);

#pragma GCC visibility pop

#endif
