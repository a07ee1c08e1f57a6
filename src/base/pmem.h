/*
 * pmem: persistent memory, which outlives the process that uses it.
 *
 * A memory file and the pieces of it that have been mapped.  The process that
 * holds the descriptor when another one dies hands it to a successor, which
 * takes the same pieces in the same order and finds in them what the dead
 * process had stored at its last instruction.  Nothing else is promised: tables
 * must say themselves which of their words count.
 *
 * Vocabulary
 *	piece	what one pmem_take() has given, a whole number of pages.  It
 *		takes address space, and memory only as it is used.
 *
 * Example
 *	struct pmem *memory;
 *	pmem_new(&memory, "pagek-kept", 0);
 *	struct table *t = pmem_take(memory, sizeof *t);
 *	send_somewhere(pmem_fd(memory));
 * and in its successor
 *	if (pmem_open(&memory, fd) == 0)
 *		t = pmem_take(memory, sizeof *t);
 *
 * It belongs to one thread.
 */
#ifndef PMEM_H
#define PMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* Flags that the system may know although its headers do not. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define PMEM_PIECES 32		/* of one memory file, at most */

struct pmem;

/*
 * Makes an empty one; `name` is for /proc.  -ENOMEM, -EMFILE and their like. If
 * it can, it maps `expected` bytes at once (what pmem_size() said of one like
 * it; 0: none), because each piece mapped by itself costs some system calls.
 */
int pmem_new(struct pmem **, const char *name, size_t expected);

/* Opens another process's; owns fd, also on failure.  -EINVAL if it is none. */
int pmem_open(struct pmem **, int fd);

/* Bytes of the file that have been taken. */
size_t pmem_size(const struct pmem *);

/* Unmaps the pieces and closes the descriptor. */
void pmem_free(struct pmem *);

/*
 * Empties the memory: all zeros, no pieces.  Other processes that hold its descriptor
 * must expect that.  False, with a part zeroed perhaps: free it instead, because much
 * of it was used, another process made it, or descriptors are few.
 */
bool pmem_reset(struct pmem *);

/* Borrowed. */
int pmem_fd(const struct pmem *);

/* How many processes have opened it since the last reset, this one included. */
unsigned pmem_opens(const struct pmem *);
void pmem_reset_opens(struct pmem *);

/*
 * The next piece, of so many bytes; one larger than BASE_HUGE begins where a
 * huge page can.  Zeros in a new file, what was there in an old one.  NULL for
 * want of memory, or when the maker took a piece of another size there.
 * Borrowed until pmem_free().
 */
void *pmem_take(struct pmem *, size_t bytes);

/* Zeroes [p, p + bytes) of a piece, and gives back the pages wholly in it. */
void pmem_zero(struct pmem *, void *p, size_t bytes);

/* Gives back the memory of that piece and of all behind it. */
void pmem_discard_from(struct pmem *, const void *piece);

/* Takes memory for [p, p + bytes) of a piece ahead, in huge pages if it can. */
void pmem_populate(void *p, size_t bytes);

#endif
