/*
 * alloclog: name your own blocks in the node's ALLOCLOG.  For programs; the
 * library itself begins in hooks.h.
 *
 * liballoclog logs malloc and its family by being preloaded; this is for what
 * malloc cannot see: pools, arenas, handles with a lifetime of their own.
 * Named blocks are a layer of their own: an arena's first object may have the
 * arena's address.  Link with -lalloclog as alloclog(3) says, or declare the
 * functions weak and call those that are not NULL, as examples/pool.c does:
 * then no library is needed.  Calls are cheap and do nothing without a node.
 *
 * Example
 *	alloclog_type(0xC4, "CONN", "connection of the pool");
 *	struct conn *c = pool_take(&pool);
 *	alloclog_alloc(c, sizeof *c, 0xC4);
 *	...
 *	alloclog_free(c);
 *	pool_take_back(&pool, c);
 *
 * Call alloclog_alloc() after the block is yours, alloclog_free() before it
 * can be anybody else's.  All functions are thread-safe, async-signal-safe,
 * keep errno, and never block longer than a full ring allows.
 */
#ifndef ALLOCLOG_H
#define ALLOCLOG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* No memory is read: gcc does not warn of a block that is not written yet. */
#if defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__)
#define ALLOCLOG_ADDRESS __attribute__((__access__(__none__, 1)))
#else
#define ALLOCLOG_ADDRESS
#endif

/* A block of `size` bytes at ptr begins; type is one of 0xC0 to 0xFE. */
void alloclog_alloc(const void *ptr, size_t size, unsigned type)
    ALLOCLOG_ADDRESS;

/* A request of `size` bytes found no room in the pool; it is counted. */
void alloclog_failed(size_t size, unsigned type);

/* The block at ptr ends. */
void alloclog_free(const void *ptr) ALLOCLOG_ADDRESS;

/*
 * Every named block that begins in [ptr, ptr + len) ends: an arena's reset.  One
 * record, however many blocks; (NULL, SIZE_MAX) ends all of them.
 */
void alloclog_free_range(const void *ptr, size_t len) ALLOCLOG_ADDRESS;

/* Names a type code: a name of up to 7 characters and a description. */
void alloclog_type(unsigned type, const char *name, const char *description);

/*
 * Sets the requester of this thread's blocks from now on: a name of up to 8
 * bytes, or NULL for none.  Shown as RNOD or DESCR.
 */
void alloclog_requester(const char *name);
/* The same with a friendly node number, as 0xAB86. */
void alloclog_requester_node(uint16_t node);

/*
 * Sets the level that satisfies this thread's next blocks: 1 is the first region
 * or list that the allocator tries, 5 the last; 0 not known.
 */
void alloclog_level(unsigned level);

/*
 * A pool: all its blocks are named by alloclog_alloc() and alloclog_free(), so
 * that the rest of these `size` bytes is shown as free.  Up to 64 at once; one
 * that overlaps others replaces them.
 *
 * head	bytes before each block that are the allocator's own
 * align	to which a block's size is rounded up; 0 not at all
 * name	up to 8 bytes, or NULL
 *
 * Call it before the first block is allocated, and the end after the last one
 * is freed.  If blocks may have gone unlogged (the region was registered before
 * the process was armed, or records were lost) nothing in it is shown as free.
 */
void alloclog_region(const void *base, size_t size, size_t head, size_t align,
    const char *name) ALLOCLOG_ADDRESS;
void alloclog_region_end(const void *base) ALLOCLOG_ADDRESS;

/*
 * Between stop and start the process logs frees only; blocks that are allocated
 * meanwhile are not listed, and their frees count as earlier.
 */
void alloclog_stop(void);
void alloclog_start(void);

/*
 * Calls f once, when the malloc family's blocks of the process take that many
 * bytes (64 KiB a thread less or more), on the thread that reached it: f may do
 * what a signal handler may.  NULL: the process writes a dump of its memory debug
 * data.  0; -1: there are none (PAGEK_DEBUGDATA).
 */
int alloclog_when(size_t bytes, void (*f)(void));

/*
 * Counts the references to the pages of a range, or no longer: `pagek refcnt` and
 * page R show them.  Without pk_refcnt_enable() no page is counted.
 */
#define PK_REFCNT_REFS 1	/* accessed bits: once in a period */
#define PK_REFCNT_WP 3		/* writes: once in a period; Linux 6.7 */
void pk_refcnt_enable(const void *vaddr, size_t len, unsigned source)
    ALLOCLOG_ADDRESS;
void pk_refcnt_disable(const void *vaddr, size_t len) ALLOCLOG_ADDRESS;

/*
 * A mark of up to 8 bytes, which the node keeps by that name for pages to compare
 * with (`pagek marks`); a dormant process only counts it.
 */
void alloclog_mark(const char *text);

#ifdef __cplusplus
}
#endif

#endif
