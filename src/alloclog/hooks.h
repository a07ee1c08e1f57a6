/*
 * hooks: what the files of the target side share.  Private to this room.
 *
 *	hooks.c, operators.c	the malloc family and the C++ operators
 *	api.c			alloclog.h: blocks and pools that a program names
 *	real.c			the real functions, the bootstrap pool, chunk heads
 *	functions.c, imports	mem*, str* and syscall of our own; what is libc's
 *	threads.c		a thread's state
 *	attach.c		hello to a node and to the next one; fork; seccomp
 *	mlock.c			mlockall(2) within RLIMIT_MEMLOCK; mremap(2) of cut memory
 *	in_hook.c		which threads are in a hook: a fork waits for them
 *	produce/, unwind/	records into rings, and which events are sampled; call stacks
 *	debugdata/		memory debug data, and dumps of it (debugdata.h)
 *	guard/			counts first touches of closed pages; makes the
 *				program's system calls while pages are closed
 *
 * Vocabulary
 *	real		the function that a hook stands before: the next one of
 *			its name, libc's or another allocator's.
 *	bootstrap pool	serves a thread that looks up the real functions, for
 *			dlsym(3) may allocate.
 *	fast		the producer of a thread in its usual state.  NULL: none
 *			yet, dormant, sampling, inert, in an operator, looking up.
 *	inert		no node listens; for good, also in children.
 *	asleep		inert, or dormant and not sampling.  A dormant process
 *			that samples tracks its sampled blocks for the next arming.
 *	origin		the frame address of the hook: leads to caller and stack.
 *	scope		one operator new or delete in progress on a thread.
 *
 * An event goes from its hook to the real call, after produce_fast_area() and
 * thread_enter() or, outside the fast path, by the slow path: hook_enter(),
 * real_get(), thread_ready(), attach().  No lock is ever held here; only
 * attach() waits, and hook_enter() while another thread forks.
 */
#ifndef ALLOCLOG_HOOKS_H
#define ALLOCLOG_HOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "produce/produce.h"
#include "produce/sample.h"
#include "unwind/unwind.h"

/*
 * The 64-bit words that target and keeper share must be atomic without a lock:
 * a lock would belong to one process, and a signal may interrupt its holder.
 */
#if !defined(__LP64__) || ATOMIC_LLONG_LOCK_FREE != 2
#error "liballoclog needs 64-bit pointers and lock-free 64-bit atomics; build the programs without it"
#endif

/* Calls and loads within one object bypass its tables. */
#pragma GCC visibility push(hidden)

#define EXPORT __attribute__((visibility("default")))
#define HOT __attribute__((flatten))
#define NONNULL(i) __attribute__((nonnull(i)))
/* A hook jumps to it at its end, so it runs on the hook's frame: the origin. */
#ifdef __OPTIMIZE__
#define OUTLINE static NOINLINE
#else
#define OUTLINE static inline __attribute__((always_inline))
#endif
#define FRAME ((uintptr_t)__builtin_frame_address(0))
/* The caller's address, in a hook or in an OUTLINE function; needs no frame. */
#define RETURN ((uintptr_t)__builtin_return_address(0))
/* Behind the last call that was given FRAME: a jump would give up the frame. */
#define FRAME_KEPT() __asm__ volatile("" ::: "memory")
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* --- the real functions (real.c) ----------------------------------------- */

enum real_fn {
	REAL_MALLOC,
	REAL_CALLOC,
	REAL_REALLOC,
	REAL_POSIX_MEMALIGN,
	REAL_ALIGNED_ALLOC,
	REAL_MEMALIGN,
	REAL_VALLOC,
	REAL_PVALLOC,
	REAL_REALLOCARRAY,
	REAL_FREE,		/* the last one that every libc has */
	REAL_FREE_SIZED,
	REAL_FREE_ALIGNED_SIZED,
	REAL_MALLOCX,		/* jemalloc's: all or none */
	REAL_RALLOCX,
	REAL_DALLOCX,
	REAL_SDALLOCX,
	REAL_XALLOCX,
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
	/* NULL where the allocator has none. */
	void (*free_sized)(void *, size_t);
	void (*free_aligned_sized)(void *, size_t, size_t);
	void *(*mallocx)(size_t, int);
	void *(*rallocx)(void *, size_t, int);
	void (*dallocx)(void *, int);
	void (*sdallocx)(void *, size_t, int);
	size_t (*xallocx)(void *, size_t, size_t, int);
	void (*exit_now)(int);		/* _exit(2) */
	void *(*mremap)(void *, size_t, size_t, int, ...);
	/* malloc_usable_size(), or returns 0 if another object has it. */
	size_t (*usable[REAL_FNS])(void *);
	struct range self;		/* the object that contains this code */
	struct range heap[2];		/* the objects of malloc and malloc_usable_size */
	struct range loader;		/* ld.so: its frees may be of an object's description */
	char allocator[32];		/* file name of heap[0] */
	_Atomic bool ready;
};

extern struct real real;

static inline bool
real_known(void)
{
	return likely(atomic_load_explicit(&real.ready, memory_order_acquire));
}

/* Makes sure of `real`.  False while this thread looks it up: use the pool. */
bool real_get(void);

/*
 * Changes the symbol tables if that was delayed.  The loader calls calloc(n, 1) before it
 * loads an object; call this function before that calloc returns.  Keeps errno.
 */
void real_loading(void);

/* While it is looked up: the next function of that name after ours; or NULL. */
void *real_symbol(const char *name);

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

/* NULL with ENOMEM when the pool is full; memory is not cleared. */
void *pool_alloc(size_t align, size_t size);
void pool_free(void *);
size_t pool_block_size(const void *);

/* --- chunk heads (real.c) ------------------------------------------------ */

/*
 * The size of a block is read from the chunk head: the word before a block of
 * glibc's malloc on x86-64, with the block's bytes and flags in the low bits.
 * malloc_usable_size(3) also reads the next head, whose cache line is often
 * another core's.
 *
 * Heads are trusted after a trial: the first blocks are measured both ways,
 * and one difference ends it for good.  Later, blocks in the middle of a page
 * are compared and those at its beginning always measured: only the block's
 * own page is read, whichever allocator made it.  A head that cannot be right
 * was overwritten by the program, and the allocator would follow it anywhere:
 * nothing else is asked about that block.
 */
#define CHUNK_MAPPED 2		/* flag: a mapping of its own, whose head differs */
#define CHUNK_FLAGS 7
#define CHUNK_ASKED 0x7f8	/* a block without these bits is measured both ways */
#define CHUNK_ODD (UINT64_C(1) << 20)	/* no block is so many bytes larger than requested */

enum {
	CHUNK_UNSET,
	CHUNK_NEVER,
	CHUNK_TRUSTED,
	CHUNK_TRIAL = CHUNK_TRUSTED + 64,	/* and below: so many blocks of the trial are left */
};

extern _Atomic int chunk_state;

/* Begins the trial, if all the functions involved are glibc's. */
void chunk_begin(void);

/* Asks malloc_usable_size(), compares the head; 0: the head is damaged. */
unsigned chunk_ask(void *ptr, uint64_t size, size_t (*const *usable)(void *));

/* The code of the bytes beyond `size`; 0 is also "not known". */
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
	bytes = (*head & ~(uint64_t)CHUNK_FLAGS) - sizeof(*head) - size;
	if (__builtin_expect(bytes >= REC_OVERHEAD_EXACT, 0))
		return chunk_ask(ptr, size, usable);
	return (unsigned)bytes;
}

/* Prefetches the head of a block to be freed; any pointer will do. */
static inline void
chunk_fetch(const void *ptr)
{
#ifdef __x86_64__
	/* For writing; processors without it ignore it. */
	__asm__ volatile("prefetchw -16(%0)"
	    :
	    : "r"(ptr));
#else
	__builtin_prefetch((const void *)((uintptr_t)ptr - 16), 1);
#endif
}

/* --- threads (threads.c) ------------------------------------------------- */

/* An event on the slow path, see hook_enter(). */
struct hook_call {
	struct producer *p;	/* NULL: none; then the gate counts the event */
	struct produce_gate *gate;	/* NULL: the event is not counted */
	uintptr_t outer;	/* p->inside of the call around it; 0: none */
};

struct scope {
	uintptr_t real;		/* the real operator's address */
	uintptr_t frame;	/* the hook's frame: the scope is dead once the stack is above it */
	uintptr_t origin;	/* of the outermost operator */
	uintptr_t block;	/* the block that a delete frees; 0 for a new */
	size_t size;		/* bytes requested of a new */
	uint8_t type;		/* enum rec_type of the outermost operator */
	bool logged;		/* delete: its free is logged; new: its failure is */
	bool bypass;		/* the operator does not call malloc or free */
	bool inner;		/* called by the operator around it */
	struct hook_call caller;	/* of a new that bypasses malloc */
};

/* A thread's part of the memory debug data. */
struct debugdata_thread {
	uint32_t number;	/* in the table of threads */
	uint32_t events;
	const struct debugdata_stack *stack;	/* of the event that it records; NULL: none */
	int64_t bytes;		/* allocated less freed, since it last told */
	bool inside_call;	/* of what alloclog_when() was given */
	struct {
		uintptr_t frame, pc;	/* of the outermost, and where it returns to */
		unsigned type;
	} operator;
};

#define SCOPES 8	/* deeper ones are counted and share the last place */

/*
 * A fork copies it.  All zeros is a valid new thread: while the loader
 * relocates, or after clone(2), it may not have the initial values.
 */
struct thread {
	struct producer *fast;
	struct sampler sampler;		/* left is 0 while looking */
	struct producer *usual;		/* `fast` outside operators and look-ups */
	struct producer *producer;	/* on a page that fork wipes */
	uintptr_t last;			/* last block that a slow path logged */
	struct thread_slot *slot;	/* of that producer; kept while silent */
	unsigned depth;			/* scopes in progress */
	uint8_t level;			/* alloclog_level() */
	bool looking;			/* for the real functions: the pool serves it */
	bool opening;			/* in thread_open() */
	bool measuring;			/* in malloc_usable_size() */
	bool ended;			/* past its destructors: the common ring */
	bool no_slot;			/* found no slot in this process: the common ring */
	bool silent;			/* may make no system call any more */
	unsigned forking;		/* between the handlers of fork(3) */
	uint32_t fork_unsure;		/* threads that may be in the allocator at the fork */
	uint32_t fork_passed;		/* produce_passed() before it */
	uint32_t fork_word;		/* value that it shut the gate with; 0: not shut */
	bool has_requester;		/* alloclog_requester() was called: */
	uint64_t requester[2];		/* w1 and w2 of its record */
	struct debugdata_thread debugdata;
	struct scope scopes[SCOPES + 1];
};

extern _Thread_local struct thread thread_self
    __attribute__((tls_model("initial-exec")));

/*
 * True when a node listens, even if dormant.  Attaches and begins the thread's
 * sampling if needed.  Keeps errno.
 */
bool thread_joined(void);

/*
 * The thread's events count as lost from now on, for logging may take a system
 * call. thread_unsilence() takes the result.
 */
struct producer *thread_silence(void);
void thread_unsilence(struct producer *);

/*
 * True when the event is to be logged, by *p (NULL: the common ring).  Opens
 * the thread's ring if needed.  Keeps errno.
 */
bool thread_ready(struct producer **);

/* The producer, if thread_ready() has nothing left to do; or NULL. */
static inline struct producer *
thread_producer(void)
{
	struct producer *p = thread_self.producer;

	return likely(p != NULL) && produce_armed(p) ? p : NULL;
}

/* Creates, once, the key whose destructor closes a thread's ring. */
void threads_begin(void);

/* Called first in the child of a fork(3). */
void threads_forked(void);

static inline struct producer *
thread_fast(void)
{
	struct producer *p = thread_self.fast;

	return likely(p != NULL) && produce_armed(p) ? p : NULL;
}

/* How many other threads have a slot; how many of these are in a hook. */
uint32_t threads_others(void);
uint32_t threads_inside(void);

/* --- in a hook (in_hook.c) ------------------------------------------------- */

/*
 * A thread enters a hook before its ticket and its real call, and leaves it
 * after both, so that a fork can wait until no other thread is in between: a
 * child with half an event would have a block too many or too few.  The thread
 * first sets producer.inside and then reads the gate again: either it sees that
 * the gate is shut, or the forking thread sees the word.  membarrier(2)
 * replaces the fence.
 *
 * If the word is set already, there is a call around this one or a jump has
 * left one: the slow path decides which.
 */
#ifdef __x86_64__
#define SET_INSIDE(p) \
	__asm__ volatile("movq %%rsp, %0" : "=m"((p)->inside) : : "memory")
/* The stack pointer where the hook began; at least the word that it sets. */
#define ENTRY(origin) ((origin) + 8)
#else
#define SET_INSIDE(p) \
	(__atomic_store_n(&(p)->inside, FRAME, __ATOMIC_RELAXED), \
	    atomic_signal_fence(memory_order_seq_cst))
#define ENTRY(origin) (origin)
#endif

static inline __attribute__((always_inline)) void
thread_leave(struct producer *p)
{
	atomic_signal_fence(memory_order_seq_cst);
	__atomic_store_n(&p->inside, 0, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) bool
is_gate_of(const struct produce_gate *gate, const struct keeper_area *area)
{
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
	bool same;

	__asm__ volatile("cmpq %2, %1"
	    : "=@cce"(same)
	    : "m"(gate->fast_path), "r"(area));
	return same;
#else
	return atomic_load_explicit(&gate->fast_path, memory_order_relaxed) ==
	    area;
#endif
}

/* False if the word was set already, or the gate is shut. */
static inline __attribute__((always_inline)) bool
set_word(struct producer *p, const struct produce_gate *gate,
    const struct keeper_area *area)
{
	if (unlikely(p->inside != 0))
		return false;
	SET_INSIDE(p);
	if (likely(is_gate_of(gate, area)))
		return true;
	thread_leave(p);
	return false;
}

/*
 * Enters the hook and returns the fast producer if it belongs to that area; or
 * NULL.
 */
static inline __attribute__((always_inline)) struct producer *
thread_enter(const struct produce_gate *gate, const struct keeper_area *area)
{
	struct producer *p = thread_self.fast;

	if (unlikely(p == NULL) || unlikely(p->keeper != area) ||
	    unlikely(!set_word(p, gate, area)))
		return NULL;
	return p;
}

/* The same on the slow path, for a call by an operator. */
static inline __attribute__((always_inline)) bool
thread_enter_plainly(struct producer *p)
{
	if (unlikely(p->inside != 0))
		return false;
	SET_INSIDE(p);
	if (likely(atomic_load_explicit(&produce_gate_now()->shut,
		memory_order_relaxed) == 0))
		return true;
	thread_leave(p);
	return false;
}

/*
 * For all other events on the slow path: waits while another thread forks.
 * Keeps errno.
 */
void hook_enter(struct hook_call *, uintptr_t origin);
void hook_leave(const struct hook_call *);

/*
 * Registers for membarrier(2) at the hello: with several threads it takes
 * milliseconds.
 */
void callers_begin(void);

/*
 * callers_hold() comes before a fork: it shuts the gate and waits until no
 * other thread is in a hook, 2 ms at most.  `alone`: no other thread forks.
 * callers_release() comes after it in the parent.  callers_unsure(), in the
 * child, returns how many threads had a call whose end is not known.
 */
void callers_hold(bool alone);
void callers_release(void);
uint32_t callers_unsure(void);
/* Makes the next event of any thread call debugdata_due() first. */
void callers_make_due(void);
/*
 * Shuts the gate, as a fork does: other threads stop there before their next event.
 * Returns a word for the two functions below; 0: another thread has shut the gate.
 * *unsure: the number of threads that are still in a hook.
 */
uint32_t callers_still(uint32_t *unsure);
/* False if a thread has waited 100 ms, and so opened the gate. */
bool callers_are_still(uint32_t word);
/* Opens the gate; 0 does nothing. */
void callers_go_on(uint32_t word);
/* At exit(3): as callers_hold(), but the gate stays shut. */
void callers_end(void);

static inline bool
thread_samples(void)
{
	return unlikely(thread_self.sampler.period != 0);
}

/*
 * Without a fast producer: true when an allocation is not logged.  A countdown
 * in an unsampled process is an earlier keeper's.
 */
static inline bool
hook_skips(uint64_t size)
{
	const struct keeper_area *whole = produce_unsampled_area();

	return whole != NULL ? produce_area_asleep(whole) :
	    sample_skips(&thread_self.sampler, size);
}

/* The same of the free of a block that is not the pool's. */
static inline bool
hook_skips_free(const void *ptr)
{
	const struct keeper_area *whole = produce_unsampled_area();

	if (whole != NULL)
		return produce_area_asleep(whole);
	return thread_self.sampler.left != 0 &&
	    (likely(!sample_filter_has(ptr)) || !sample_has(ptr));
}

/* --- callers (threads.c) ------------------------------------------------- */

/* The caller on a thread without a ring, and so without a cache of stacks. */
uint64_t origin_walk(uintptr_t origin, bool freeing);

static inline uintptr_t
origin_pc(uintptr_t origin)
{
	return ((const uintptr_t *)origin)[1];
}

static inline uint64_t
origin_caller(const struct producer *p, uintptr_t origin)
{
	if (unlikely(p == NULL))
		return origin_walk(origin, false);
	return p->stack != NULL ? stack_caller(p->stack, origin) :
	    rec_plain_caller(origin_pc(origin));
}

/*
 * The caller of a free.  The loader frees an object's description after it has
 * unmapped the object, whose addresses may then be another's.
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
		stack_forget_rules();
	return unlikely(stack_has_frees(p->stack)) ?
	    stack_caller(p->stack, origin) : rec_plain_caller(pc);
}

/* --- attaching (attach.c) ------------------------------------------------ */

extern _Atomic bool hook_inert;

/* The program's malloc is not ours: only the API asks for rings. */
extern _Atomic bool hook_foreign;

/* Says hello if needed; false when no node listens.  Keeps errno. */
bool attach(void);

/* Says hello to the next node after the keeper's end.  Keeps errno. */
void attach_again(void);

/* Makes the process inert. */
void attach_disable(void);

/* --- hooks (hooks.c) ----------------------------------------------------- */

/* Between alloclog_stop() and alloclog_start(). */
extern _Atomic bool hook_stopped;

/* After the real call; ptr NULL: it failed.  usable NULL: not known. */
void hook_allocated(void *ptr, uint64_t size, size_t (*usable)(void *),
    unsigned type, uintptr_t origin);
/*
 * The block's usable bytes.  The function may allocate itself, as gperftools' does
 * the first time: 0 for that block, and in general if not known.
 */
size_t hook_measure(struct thread *, void *, size_t (*usable)(void *));
/* Logs a free before the real call. */
void hook_freeing(void *ptr, unsigned type, uintptr_t origin);

/* --- operators (operators.c) --------------------------------------------- */

/*
 * Looks up the operators among the objects loaded at the start.  Returns how
 * many are missing there, and which: ours are then withdrawn.  Without us a
 * plugin would find operators by the order of dlopen(3), which only the loader
 * knows; a wrong guess would give blocks to another's delete.
 */
#define OPERATORS_MAX 20
unsigned operators_begin(const char *missing[OPERATORS_MAX]);
/* Makes the memory debug data see those that do not call malloc. */
void operators_record(void);

/*
 * For callers that were bound to one of our functions that has no real
 * function: these call the malloc family, the program's own if it has one.
 * align 0: as malloc(3) aligns.
 */
void *fallback_alloc(size_t align, size_t size);
void *fallback_realloc(void *, size_t size);
void fallback_free(void *);

/* Calls that return within these bytes of a real operator are its own. */
#define OP_REACH 256

/* True when the real operator calls, or ours that it jumps to. */
static inline bool
scope_calls(const struct scope *s, uintptr_t ret)
{
	return ret - s->real < OP_REACH || range_has(&real.self, ret);
}

/*
 * If a real operator itself allocates or frees the block, the type and origin
 * become the operator's.  False: the free is logged already.
 */
void scope_label_alloc(struct thread *, bool failed, unsigned *type,
    uintptr_t *origin);
bool scope_label_free(struct thread *, uintptr_t block, unsigned *type,
    uintptr_t *origin);

/* True when the address lies in a real operator. */
bool operator_has(uintptr_t pc);
/* enum rec_type of the operator that this thread is in; 0: none. */
unsigned operator_type(void);
/* The same if the operator returns there: one that jumps to free() has no frame. */
unsigned operator_called_at(uintptr_t pc);

#pragma GCC visibility pop

#endif
