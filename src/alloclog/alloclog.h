/*
 * alloclog: name your own blocks in the node's ALLOCLOG.
 *
 * liballoclog logs malloc and friends by being preloaded; this is for what
 * malloc cannot see: pools, arenas, handles with a life of their own.  Blocks
 * named here are a layer of their own: the first object of an arena may have
 * the arena's address.  Link with -lalloclog, as alloclog(3) says, or
 * make the names weak and call what is not NULL, as examples/pool.c does: then
 * no library is needed.  Every call is cheap and does nothing while no node
 * listens.
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

/* A block of `size` bytes at ptr begins; type is one of 0xC0 to 0xFE. */
void alloclog_alloc(const void *ptr, size_t size, unsigned type);

/* The block at ptr ends. */
void alloclog_free(const void *ptr);

/* Every named block that begins in [ptr, ptr + len) ends: an arena's reset. */
void alloclog_free_range(const void *ptr, size_t len);

/* Names a type code: a name of up to 7 characters and a description. */
void alloclog_type(unsigned type, const char *name, const char *description);

/*
 * Who asks for this thread's blocks from now on: a name of up to 8 bytes, or
 * NULL for nobody.  Shown as RNOD or DESCR.
 */
void alloclog_requester(const char *name);
/* The same with a friendly node number, as 0xAB86. */
void alloclog_requester_node(uint16_t node);

/*
 * The level (1 to 5) at which this thread's next blocks are satisfied; 0 not
 * known.
 */
void alloclog_level(unsigned level);

/*
 * A pool: every block of these `size` bytes is named by alloclog_alloc() and
 * alloclog_free(), so that what lies between them is free, and is shown as
 * that.  Up to 64 at once; one that overlaps others takes their place.
 *
 * head		bytes before each block that are the allocator's own
 * align	to which a block's size is rounded up; 0 not at all
 * name		up to 8 bytes, or NULL
 *
 * Call it before the first block is taken, and the end after the last one has
 * been given back.  A region of whose blocks some may have gone unlogged (it
 * was registered before the process was armed, records were lost) is not shown
 * as free anywhere.
 */
void alloclog_region(const void *base, size_t size, size_t head, size_t align,
    const char *name);
void alloclog_region_end(const void *base);

/*
 * Between stop and start the process logs no allocation, only frees; blocks
 * that come in between stay unlisted and their frees count as earlier.
 */
void alloclog_stop(void);
void alloclog_start(void);

/*
 * A mark of up to 8 bytes in the stream, for the people who read it.  While the
 * process is dormant it is counted and not told.
 */
void alloclog_mark(const char *text);

#ifdef __cplusplus
}
#endif

/* hooks.h tells the files of this room from each other. */
#endif
