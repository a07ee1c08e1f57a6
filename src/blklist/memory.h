/*
 * memory: tables mapped for their largest size, whose pages are taken as
 * needed.  Private to this room and blklist/indexed.
 *
 * Vocabulary
 *	mapping	address space of its own, all zeros, for a table's largest size.
 *	prefault	to take pages before they are used.
 *	present	bytes whose pages are taken or asked for.
 *	margin	bytes before that end at which more is asked for.
 *	piece	address space prefaulted at a time, a huge page at most.
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
 * them back.  So a table asks for its next piece while some is left, and one
 * thread for all lists makes it present, from the first one after
 * blklist_start_prefault_thread() on.  Nothing readable changes, so no list
 * has a lock; memory that is not present comes by being used.
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
 * Huge pages from the byte `huge` on: misses of the translation cache take
 * most time with many blocks.  Tables filled from the beginning have them from
 * LIST_HUGE_FROM on, to waste little.
 */
#define LIST_HUGE ((uint32_t)BASE_HUGE)
#define LIST_HUGE_FROM (LIST_HUGE)
void *list_map_huge(size_t bytes, size_t huge);
void list_unmap_huge(void *, size_t bytes, size_t huge);
/*
 * Prefaults from `present` on; the new end, at most `bytes`.  Of a large
 * mapping the last pages are only asked for.
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
