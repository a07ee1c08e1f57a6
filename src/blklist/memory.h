/*
 * memory: the memory of tables that are mapped for their largest size and whose
 * pages are taken as they are needed.  Private to this room.
 *
 * Vocabulary
 *	mapping	address space of its own, all zeros, for a table's largest size.
 *	ready	bytes from its beginning whose pages are there or are asked for.
 *	early	bytes before that end at which more is asked for.
 *	piece	address space of one mapping that memory is asked for at a time,
 *		a huge page at most.
 *
 * Example
 *	t->row = list_map_huge(max * sizeof(*t->row), LIST_HUGE_FROM);
 *	...
 *	if (used + list_ready_early(ready) >= ready)
 *		ready = list_make_ready(t->row, max * sizeof(*t->row),
 *		    LIST_HUGE_FROM, ready);
 *	...
 *	list_unmap_huge(t->row, max * sizeof(*t->row), LIST_HUGE_FROM);
 *
 * The first use of 2 MiB takes 0.2 ms at best and 5 ms where a host has taken them
 * back, too long within a batch.  So a table asks for its next piece while it has
 * some left, and one thread for all lists of the process makes it present.  It
 * starts with the first piece after blklist_begin_beside().  It changes nothing
 * that anyone can read, so no list has a lock; memory that is not there yet comes
 * by being used, as always.
 */
#ifndef BLKLIST_MEMORY_H
#define BLKLIST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/base.h"
#include "../base/zeros.h"

/*
 * A mapping of zeros, taken page by page as it is used, or NULL; given back by
 * list_unmap() with the same size.
 */
void *list_map(size_t bytes);
/*
 * The same, given back by list_unmap_huge(), with huge pages from the byte `huge`
 * on where there are any: with many blocks most of the time is lost to misses of
 * the translation cache.  Tables that fill from their beginning have them from
 * LIST_HUGE_FROM on, where the last of them wastes little.
 */
#define LIST_HUGE ((uint32_t)BASE_HUGE)
#define LIST_HUGE_FROM (LIST_HUGE)
void *list_map_huge(size_t bytes, size_t huge);
void list_unmap_huge(void *, size_t bytes, size_t huge);
/*
 * Takes pages of such a mapping before they are used, many at once, from `ready`
 * on.  Returns the new end of ready memory, at most `bytes`; of a large mapping
 * the last pages are only asked for.
 */
size_t list_make_ready(void *map, size_t bytes, size_t huge, size_t ready);
/* The same of a kept piece. */
size_t list_make_ready_kept(void *piece, size_t bytes, size_t huge,
    size_t ready);
/* How many bytes before the end of ready memory more is to be asked for. */
uint64_t list_ready_early(size_t ready);
void list_unmap(void *, size_t bytes);
/* Makes a whole mapping, or its first bytes, zeros; gives its pages back. */
void list_zero(void *, size_t bytes);
/* Gives the pages that lie wholly inside [from, to) back; they read as zeros. */
void list_release(void *from, void *to);

/*
 * Asks for the piece, which is whole pages; kept: of kept memory.  Without a
 * thread, or when more is asked for than it can do, it is there on return.
 */
void populate_ask(void *piece, size_t bytes, bool kept);
/*
 * Withdraws what was asked for in [p, p + bytes) and waits for the thread to leave
 * it: before the memory is given back.
 */
void populate_cancel(void *p, size_t bytes);
/* Waits until all that was asked for is there: for tests. */
void populate_wait(void);
/* Uses each page of a piece, where the system has no call for it. */
void populate_touch(void *piece, size_t bytes);

#endif
