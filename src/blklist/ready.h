/*
 * ready: memory that a growing table will soon need is made present by a thread
 * beside.  Private.
 *
 * The first use of 2 MiB takes 0.2 ms at best and 5 ms where a host has taken
 * them back, which nobody should wait for in the middle of a batch.  A table
 * asks for its next piece while it has still some left; whoever comes to memory
 * that is not there yet gets it as always, by using it.  So nothing is waited
 * for and nothing can go wrong but that it is slower.
 *
 * Vocabulary
 *	piece	address space of one mapping that memory is asked for at a time,
 *		a huge page at most.
 *
 * Example
 *	ready_ask(next, LIST_HUGE, false);
 *	... use what was there before ...
 *	ready_forget(map, bytes);
 *	munmap(map, bytes);
 *
 * One thread for all lists of the process (beside.c), begun with the first piece
 * where blklist_begin_beside() has allowed it.  It has no list's lock, for there
 * is none: it changes nothing that anyone can read.
 */
#ifndef BLKLIST_READY_H
#define BLKLIST_READY_H

#include <stdbool.h>
#include <stddef.h>

/* Who does it beside; NULL: nobody. */
struct ready_ops {
	bool (*ask)(void *piece, size_t bytes, bool kept);	/* false: it cannot */
	void (*forget)(void *p, size_t bytes);
};
extern const struct ready_ops *ready_ops;

/*
 * The piece, whole pages, is asked for.  kept: of a kept one.  Where there can be
 * no thread, or more is asked for than it can do, it is there on return.
 */
void ready_ask(void *piece, size_t bytes, bool kept);
/*
 * Nothing in [p, p + bytes) is asked for any more, and nobody is busy there:
 * before it is given back.
 */
void ready_forget(void *p, size_t bytes);
/* Waits until all that was asked for is there (beside.c): for tests. */
void ready_settle(void);

/* The same at once, by whoever calls.  All bytes in it stay as they are. */
void ready_now(void *piece, size_t bytes, bool kept);
/*
 * How ready_now() does it where the system has no call for it: it uses each
 * page.
 */
void ready_touch(void *piece, size_t bytes);

#endif
