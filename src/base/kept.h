/*
 * kept: memory that outlives the process which uses it.
 *
 * A memory file and the pieces of it that have been mapped.  Whoever holds the
 * descriptor when the process dies can hand it to the next one, which takes
 * the same pieces in the same order and finds in them what stood there at the
 * last instruction of the first: nothing more is promised, so tables that are
 * to survive say themselves which of their words count.
 *
 * Vocabulary
 *	piece	what one kept_take() has given, a whole number of pages.  It
 *		takes address space and no memory until it is used.
 *	old	said of a memory file that another process has made.
 *
 * Example
 *	struct kept *kept;
 *	kept_new(&kept, "pagek-kept", 0);
 *	struct table *t = kept_take(kept, sizeof *t);
 *	send_somewhere(kept_fd(kept));
 * and in the process that comes after it
 *	if (kept_open(&kept, fd) == 0)
 *		t = kept_take(kept, sizeof *t);
 *
 * It belongs to one thread.
 */
#ifndef KEPT_H
#define KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* What the system may have and its headers do not. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define KEPT_PIECES 32		/* of one memory file, at most */

struct kept;

/*
 * Makes an empty one; `name` is for /proc.  -ENOMEM, -EMFILE and their like.
 * expected: pieces of so many bytes in all, as kept_size() said of one like it,
 * are to come, and are mapped now and all together, for each one by itself costs
 * a handful of system calls; 0: none.  What comes beyond, or if that cannot be
 * done, is mapped when it is taken.
 */
int kept_new(struct kept **, const char *name, size_t expected);

/*
 * One that another process has made; fd is its own from now on, also on
 * failure.  -EINVAL when it is none, or cannot be trusted to stay as long as it
 * is.
 */
int kept_open(struct kept **, int fd);

/* Bytes of the file that have been taken. */
size_t kept_size(const struct kept *);

/* Unmaps the pieces and closes the descriptor. */
void kept_free(struct kept *);

/* Borrowed. */
int kept_fd(const struct kept *);

/* How many processes have opened it, this one included; 0 for its maker. */
unsigned kept_opens(const struct kept *);
/* That one is well: the count begins anew. */
void kept_well(struct kept *);

/*
 * The next piece, of so many bytes; where it is larger than BASE_HUGE it begins
 * where a huge page can.  Zeros at first; in an old one what was there, and
 * NULL when its maker took a piece of another size there.  NULL also for want
 * of memory.  Borrowed until kept_free().
 */
void *kept_take(struct kept *, size_t bytes);

/*
 * Makes [p, p + bytes) of a piece zeros, and gives the pages that lie wholly in
 * it back.
 */
void kept_zero(struct kept *, void *p, size_t bytes);

/* Gives the memory of that piece back, and of all that are behind it. */
void kept_give_back(struct kept *, const void *piece);

/* Takes memory for [p, p + bytes) of a piece ahead, in huge pages where it can. */
void kept_populate(void *p, size_t bytes);

#endif
