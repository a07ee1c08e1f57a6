/*
 * memory: the memory of tables that are mapped for their largest size and whose
 * pages are taken as they are needed.  Private to this room and
 * blklist/indexed.
 *
 * Vocabulary
 *	mapping	address space of its own, all zeros, for a table's largest size.
 *	prefault	to take pages before they are used.
 *	present	bytes from its beginning whose pages are taken or asked for.
 *	margin	bytes before that end at which more is asked for.
 *	piece	address space of one mapping that is prefaulted at a time, a huge
 *		page at most.
 *
 * Example
 *	t->row = list_map_huge(max * sizeof(*t->row), LIST_HUGE_FROM);
 *	...
 *	if (used + list_prefault_margin(present) >= present)
 *		present = list_prefault(t->row, max * sizeof(*t->row),
 *		    LIST_HUGE_FROM, present, false);
 *	...
 *	list_unmap_huge(t->row, max * sizeof(*t->row), LIST_HUGE_FROM);
 *
 * The first use of 2 MiB takes 0.2 ms at best and 5 ms where a host has taken
 * them back, too long within a batch.  So a table asks for its next piece while
 * it has some left, and one thread for all lists of the process makes it
 * present.  It starts with the first piece after
 * blklist_start_prefault_thread().  It changes nothing that anyone can read, so
 * no list has a lock; memory that is not present yet comes by being used, as
 * always.
 */
#ifndef BLKLIST_MEMORY_H
#define BLKLIST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/base.h"

/* A mapping in small pages, or NULL; unmap it with the same size. */
void *list_map(size_t bytes);
void list_unmap(void *, size_t bytes);
/*
 * The same with huge pages from the byte `huge` on: with many blocks most of
 * the time goes to misses of the translation cache.  Tables that fill from
 * their beginning have them from LIST_HUGE_FROM on, so that the last one wastes
 * little.
 */
#define LIST_HUGE ((uint32_t)BASE_HUGE)
#define LIST_HUGE_FROM (LIST_HUGE)
void *list_map_huge(size_t bytes, size_t huge);
void list_unmap_huge(void *, size_t bytes, size_t huge);
/*
 * Prefaults a mapping, or a piece of persistent memory, from `present` on.
 * Returns the new end of present memory, at most `bytes`; of a large mapping
 * the last pages are only asked for.
 */
size_t list_prefault(void *map, size_t bytes, size_t huge, size_t present,
    bool persistent);
uint64_t list_prefault_margin(size_t present);
/* Zeroes the first bytes of a mapping, or all, and gives the pages back. */
void list_zero(void *, size_t bytes);
/* Gives back pages that lie wholly in [from, to); they read as zeros. */
void list_release(void *from, void *to);

/* Asks for whole pages; without the thread they are present on return. */
void populate_ask(void *piece, size_t bytes, bool persistent);
/* Withdraws requests in [p, p + bytes) and waits: before an unmap. */
void populate_cancel(void *p, size_t bytes);
/* Waits until all requests are done: for tests. */
void populate_wait(void);
/* Uses each page of a piece, where the system has no call for it. */
void populate_touch(void *piece, size_t bytes);

#endif
