/*
 * target: memory debug data that a program keeps about its own blocks.
 *
 *	layout.def	the data as they lie in memory: shared with readers
 *	functions.def	the allocation functions
 *	core.c		the table of allocations and the history
 *	settings.c	options of a start, from text
 *	wrap.c		hooks for --wrap: malloc's family and newlib's
 *	wrap_cxx.c	hooks for --wrap: the C++ operators
 *	port_linux.c	a port: Linux programs without liballoclog
 *	../../alloclog/debugdata/debugdata.c	the port of liballoclog
 *	port_freertos.c	a port: firmware with FreeRTOS
 *
 * The core is C99 and needs string.h only.  It runs with 32 and 64 bits, in
 * either byte order, with or without an operating system.
 *
 * Vocabulary
 *	event		an allocation or a free.
 *	record		what is kept of an allocation.
 *	history		a circular buffer of allocations with their frees.
 *	shard		a part of the table with a lock of its own.  An address
 *			is always in the same shard.
 *	slab		memory for records.  Each next one of a shard is twice as
 *			large; none is given back.
 *	port		what the core needs of the system: see below.
 *	caller		a return address: level 1 of the backtrace.
 *	dump		a copy of these data in a file: mddout(5).
 *
 * Example
 *	mdd_start(NULL);
 *	p = real_malloc(n);
 *	if (p != NULL)
 *		mdd_alloc(p, n, usable(p), MDD_MALLOC, RETURN_ADDRESS);
 *	...
 *	mdd_free(p, MDD_FREE, RETURN_ADDRESS);
 *	real_free(p);
 *
 * One store makes a record valid or a slot free, so a program may be stopped
 * anywhere, and its dump lacks only events in progress.  The real call and the
 * update are separate steps: between them the table lacks a new block, or
 * still has a freed one.
 */
#ifndef MDD_TARGET_H
#define MDD_TARGET_H

#include <stddef.h>
#include <stdint.h>

#ifdef MDD_CONFIG
#include MDD_CONFIG		/* a header with the settings below */
#endif

/* Does the port have a tick counter, and threads? */
#ifndef MDD_PORT_TICKS
#define MDD_PORT_TICKS 0
#endif
#ifndef MDD_PORT_THREADS
#define MDD_PORT_THREADS 0
#endif
/* Can it walk the stack? */
#ifndef MDD_PORT_STACK
#define MDD_PORT_STACK 0
#endif

/* The usual settings of mdd_start(). */
#ifndef MDD_DEBUGDATA
#define MDD_DEBUGDATA 0		/* 0: the functions below do nothing */
#endif
#ifndef MDD_ACTUAL_SIZE
#define MDD_ACTUAL_SIZE 1
#endif
#ifndef MDD_TIMESTAMP
#define MDD_TIMESTAMP MDD_PORT_TICKS
#endif
#ifndef MDD_THREAD
#define MDD_THREAD MDD_PORT_THREADS
#endif
#ifndef MDD_BACKTRACE
#define MDD_BACKTRACE 1		/* levels, 0 to MDD_LEVELS */
#endif
#ifndef MDD_HISTORY
#define MDD_HISTORY 0
#endif
#ifndef MDD_HISTORY_RECORDS
#define MDD_HISTORY_RECORDS 2048
#endif

#if MDD_TIMESTAMP && !MDD_PORT_TICKS
#error "MDD_TIMESTAMP needs a port with ticks (MDD_PORT_TICKS)"
#endif
#if MDD_THREAD && !MDD_PORT_THREADS
#error "MDD_THREAD needs a port with threads (MDD_PORT_THREADS)"
#endif
#if MDD_BACKTRACE < 0 || MDD_BACKTRACE > 8
#error "MDD_BACKTRACE is 0 to 8"
#endif

/*
 * More than one shard, a power of two: threads run at the same time, signals
 * interrupt them, and the compiler has GCC's __atomic functions.  One: the
 * port's lock excludes everything else.
 */
#ifndef MDD_SHARDS
#define MDD_SHARDS 1
#endif
#ifndef MDD_SLAB_FIRST
#define MDD_SLAB_FIRST 32	/* records in a shard's first slab: a power of two */
#endif
#ifndef MDD_BUCKETS
#define MDD_BUCKETS 32		/* hash chains of a shard at first: a power of two */
#endif

#define MDD_MAGIC "PAGEKMDD"
#define MDD_ORDER 0x01020304u
#define MDD_VERSION 1u
#define MDD_LEVELS 8
#define MDD_SLABS 21
#define MDD_NAME 24

/* The word of a record that links it: function and slot. */
#define MDD_FUNCTION_BITS 5
#define MDD_LINK_MASK 0x7ffffffu
#define MDD_LINK_MOVING MDD_LINK_MASK	/* in no chain: in a realloc() */
#define MDD_SLOT_MAX (MDD_LINK_MASK - 1)

enum mdd_option {
	MDD_OPT_ACTUAL_SIZE = 1,
	MDD_OPT_TIMESTAMP = 2,
	MDD_OPT_THREAD = 4,
	MDD_OPT_BACKTRACE = 8,
	MDD_OPT_HISTORY = 16,
};

enum mdd_function {
#define FUNCTION(number, id, name) MDD_##id = number,
#include "functions.def"
};

struct mdd_root {
	char magic[8];
#define ROOT_U32(name) uint32_t name;
#define ROOT_WORD(name) uintptr_t name;
#define ROOT_WORDS(name, n) uintptr_t name[n];
#include "layout.def"
};

struct mdd_shard {
#define SHARD_U32(name) uint32_t name;
#define SHARD_WORD(name) uintptr_t name;
#define SHARD_WORDS(name, n) uintptr_t name[n];
#include "layout.def"
};

struct mdd_thread {
#define THREAD_U32(name) uint32_t name;
#define THREAD_WORD(name) uintptr_t name;
#define THREAD_TEXT(name, n) char name[n];
#include "layout.def"
};

/* An attribute for the large arrays, such as their section. */
#ifndef MDD_LARGE
#define MDD_LARGE
#endif

/* A debugger begins here. */
#ifndef MDD_PUBLIC
#define MDD_PUBLIC
#endif
extern MDD_PUBLIC struct mdd_root mdd_root;

struct mdd_opts {
	unsigned options;		/* enum mdd_option */
	unsigned levels;		/* with MDD_OPT_BACKTRACE: 1 to MDD_LEVELS */
	unsigned history_records;	/* with MDD_OPT_HISTORY: 1 or more */
};

/*
 * Starts the collection; call it once, before other threads exist.  NULL: the
 * settings above.  Returns 0, or -1 if nothing is collected: the port has no
 * memory or does not support an option, or MDD_DEBUGDATA is 0.
 */
int mdd_start(const struct mdd_opts *);

/*
 * Parses settings as in libmdd(3).  Returns 1: on; 0: off, or text is empty; -1: an
 * error at *bad.
 */
int mdd_settings(struct mdd_opts *, const char *text, const char **bad);

/*
 * Call it after the real function has succeeded.  `actual` is the size that the
 * allocator used, 0 not known.  ptr NULL is ignored.  Safe in signal handlers.
 */
void mdd_alloc(const void *ptr, size_t size, size_t actual,
    enum mdd_function, uintptr_t caller);

/* The same; returns the number of the event. */
uint32_t mdd_alloc_number(const void *ptr, size_t size, size_t actual,
    enum mdd_function, uintptr_t caller);

/* Call it before the real function.  ptr NULL is ignored. */
void mdd_free(const void *ptr, enum mdd_function, uintptr_t caller);

/*
 * A realloc of ptr: call begin before the real function and end after it, then
 * mdd_alloc() for the new block.  `moved` 0: the real call failed, and the old
 * block is unchanged; a sequence number is used up all the same.
 */
struct mdd_move {
	uint32_t seqno, index;
	uint32_t slot;			/* + 1; 0: the block was not listed */
	uint32_t function;
	uintptr_t caller;
	uintptr_t ptr;
};
void mdd_move_begin(struct mdd_move *, const void *ptr, enum mdd_function,
    uintptr_t caller);
void mdd_move_end(struct mdd_move *, int moved);

/* The calling thread has another name, or ends.  For ports that notice it. */
void mdd_thread_changed(int ended);

/*
 * The thread ends: its handle may be reused.  For ports without thread words.
 */
void mdd_thread_ended(uintptr_t handle);

/*
 * Keep the data unchanged while a thread copies them.  One thread at a time;
 * with one shard, only for a copy in memory.
 */
void mdd_hold(void);
void mdd_release(void);

/* A copy of an allocation in the table, for a port that passes it on. */
struct mdd_copy {
	uintptr_t ptr, size, actual;	/* actual 0: not known */
	uintptr_t caller;		/* 0: not known */
	uint64_t ticks;			/* 0 without MDD_OPT_TIMESTAMP */
	uint32_t function, seqno;
	uint32_t thread;		/* 0: not known */
};
/*
 * Reads a slot of a shard while no thread changes it.  1: it has an allocation; 0:
 * it is free, or its block is in a realloc(); -1: the shard has no such slot.
 */
int mdd_look(unsigned shard, uint32_t slot, struct mdd_copy *);
/* A thread of the table; NULL: not known. */
const struct mdd_thread *mdd_thread_of(uint32_t thread);

/* Call it in the child of a fork, before its first event. */
void mdd_forked(void);

/* Called after each update; the data are then consistent.  For breakpoints. */
MDD_PUBLIC void cyg_memalloc_dd_done(void);

/*
 * Called when the history is full of records that no dump has, before the first
 * of them is overwritten.
 */
MDD_PUBLIC void cyg_memalloc_dd_history_overflow(void);

/*
 * Zeroed memory, aligned for any word, never freed; NULL: none.  It must not be
 * recorded itself.  With one shard the lock is held, except in mdd_start().
 */
void *mdd_port_memory(size_t bytes);

#if MDD_SHARDS == 1
/*
 * Exclude interrupts and other threads; unlock takes what lock returned.  Calls
 * nest: the last unlock ends it.
 */
uintptr_t mdd_port_lock(void);
void mdd_port_unlock(uintptr_t);
#else
/* A number of the calling thread, not 0; a fork keeps it. */
uintptr_t mdd_port_self(void);
/*
 * Waits a little for another thread, longer as `turn` grows from 0. 0: give up,
 * the event counts as missed.
 */
int mdd_port_wait(unsigned turn);
#endif

#if MDD_PORT_TICKS
uint64_t mdd_port_ticks(uint32_t *hz);	/* since the start; hz: in a second */
#endif

#if MDD_PORT_THREADS
/*
 * The calling thread; the name has MDD_NAME bytes with its final 0.  handle 0: no
 * thread exists yet, and the event is recorded for the first one.  Leaves an
 * unknown number or name unchanged.
 */
void mdd_port_thread(uintptr_t *handle, uint32_t *number, char *name);
/*
 * The address of a word of the calling thread, 0 at first, for the core's use;
 * NULL: the core finds the thread by its handle.
 */
uint32_t *mdd_port_thread_word(void);
#endif

#if MDD_PORT_STACK
/*
 * The backtrace behind `caller`: fills at most n levels, the others stay 0.  A
 * port without it has one level; __builtin_return_address() above 0 may crash.
 */
void mdd_port_stack(uintptr_t caller, uintptr_t *level, unsigned n);
#endif

#endif
