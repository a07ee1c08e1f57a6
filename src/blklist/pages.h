/*
 * pages: the memory of tables that are as large as they may ever get, and whose
 * pages come when they are needed.  Private to this room.
 *
 * Vocabulary
 *	mapping	address space of its own, all zeros, for a table's largest size.
 *	ready	bytes from its beginning whose pages are there, or are asked
 *		for: what is used next is used without waiting for any.
 *	early	bytes before that end at which the next are asked for.
 *
 * Example
 *	t->row = list_map_huge(max * sizeof(*t->row), LIST_HUGE_FROM);
 *	...
 *	if (used + list_ready_early(ready) >= ready)
 *		ready = list_make_ready(t->row, max * sizeof(*t->row),
 *		    LIST_HUGE_FROM, ready);
 *	...
 *	list_unmap_huge(t->row, max * sizeof(*t->row), LIST_HUGE_FROM);
 */
#ifndef BLKLIST_PAGES_H
#define BLKLIST_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "../base/base.h"
#include "../base/zeros.h"

/*
 * Zeroed memory of its own mapping, taken page by page as it is used, or NULL;
 * to be given back by list_unmap(), with the same size.
 */
void *list_map(size_t bytes);
/*
 * The same, given back by list_unmap_huge(), with huge pages from the byte `huge`
 * on where there are any: with many blocks most of the time goes into finding
 * where pages are.  What is taken from its beginning on has them from
 * LIST_HUGE_FROM on, where the last of them wastes little.
 */
#define LIST_HUGE ((uint32_t)BASE_HUGE)
#define LIST_HUGE_FROM (LIST_HUGE)
void *list_map_huge(size_t bytes, size_t huge);
void list_unmap_huge(void *, size_t bytes, size_t huge);
/*
 * Takes pages of such a mapping before they are used, many at once: those from
 * `ready` on.  Returns how far they reach, at most `bytes`, now or, where there
 * are many already, in a moment (ready.h).
 */
size_t list_make_ready(void *map, size_t bytes, size_t huge, size_t ready);
/* The same of a kept piece. */
size_t list_make_ready_kept(void *piece, size_t bytes, size_t huge,
    size_t ready);
/* So many bytes before they are all used, of so many, the next are due. */
uint64_t list_ready_early(size_t ready);
void list_unmap(void *, size_t bytes);
/* Makes a whole mapping, or its first bytes, zeros; gives its pages back. */
void list_zero(void *, size_t bytes);
/* Gives the pages that lie wholly inside [from, to) back; they read as zeros. */
void list_release(void *from, void *to);

#endif
