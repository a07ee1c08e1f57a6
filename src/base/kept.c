/*
 * Memory that outlives its process.
 *
 * The file begins with a page that lists the pieces, so that a successor of
 * another build is refused instead of reading one table as another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "kept.h"

#define KEPT_MAGIC UINT32_C(0x506b4d31) /* "PkM1" */
#define KEPT_HEAD 4096
#define EXPECTED_MAX (PTRDIFF_MAX / 2)	/* no address space has more to spare */
#define KEPT_PAGE 4096			/* pieces have the same places whatever the page */

struct kept_head {
	uint32_t magic;
	uint32_t pieces;
	uint32_t opens;
	uint32_t zero;
	uint64_t size[KEPT_PIECES];
};

_Static_assert(sizeof(struct kept_head) <= KEPT_HEAD, "one page");

struct piece {
	char *at;
	size_t bytes;
	off_t offset;
	bool alone;		/* in a mapping of its own */
};

struct kept {
	int fd;
	struct kept_head *head;
	char *all;			/* mapped together, head and all; NULL: nothing is ... */
	size_t expected;		/* ... the file's first bytes, so many */
	off_t end;			/* of the pieces so far */
	unsigned n;
	struct piece piece[KEPT_PIECES];
};

static size_t
whole(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) & ~(unit - 1);
}

/* Maps it where a huge page can begin, if the offset is such a place. */
static char *
map(int fd, size_t bytes, off_t offset, size_t align)
{
	size_t room, head;
	char *p, *at;

	if (base_add_overflows(bytes, align, &room))
		return NULL;
	p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
	    MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	head = -(uintptr_t)p & (align - 1);
	at = mmap(p + head, bytes, PROT_READ | PROT_WRITE, MAP_SHARED |
	    MAP_FIXED, fd, offset);
	if (at == MAP_FAILED) {
		munmap(p, room);
		return NULL;
	}
	if (head > 0)
		munmap(p, head);
	if (align > head)
		munmap(p + head + bytes, align - head);
	return at;
}

/* `all`: so many bytes are mapped there, or NULL.  fd becomes the kept one's. */
static int
begin_memory(struct kept **out, int fd, char *all, size_t expected)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	void *head = all;

	if (kept == NULL)
		return -ENOMEM;
	if (all == NULL)
		head = mmap(NULL, KEPT_HEAD, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (head == MAP_FAILED) {
		int r = -errno;

		free(kept);
		return r;
	}
	*kept = (struct kept){ .fd = fd, .head = head, .all = all,
		.expected = expected, .end = KEPT_HEAD };
	*out = kept;
	return 0;
}

/* All of what is expected, if it can be had. */
static char *
map_all(int fd, size_t *expected)
{
	size_t bytes = *expected;

	if (bytes <= KEPT_HEAD || bytes > EXPECTED_MAX)
		return NULL;
	bytes = whole(bytes, KEPT_PAGE);
	*expected = bytes;
	return ftruncate(fd, (off_t)bytes) == 0 ?
	    map(fd, bytes, 0, BASE_HUGE) : NULL;
}

int
kept_new(struct kept **out, const char *name, size_t expected)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), r = 0;
	char *all;

	if (fd < 0)
		return -errno;
	all = map_all(fd, &expected);
	/* A file that shrinks would end us by SIGBUS; it may grow. */
	if ((all == NULL && ftruncate(fd, KEPT_HEAD) < 0) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r == 0)
		r = begin_memory(out, fd, all, expected);
	if (r < 0) {
		if (all != NULL)
			munmap(all, expected);
		close(fd);
		return r;
	}
	(*out)->head->magic = KEPT_MAGIC;
	return 0;
}

int
kept_open(struct kept **out, int fd)
{
	int seals = fcntl(fd, F_GET_SEALS), r;
	struct kept *kept;
	struct stat st;

	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &st) < 0 ||
	    st.st_size < KEPT_HEAD) {
		close(fd);
		return -EINVAL;
	}
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	r = begin_memory(&kept, fd, NULL, 0);
	if (r < 0) {
		close(fd);
		return r;
	}
	if (kept->head->magic != KEPT_MAGIC ||
	    kept->head->pieces > KEPT_PIECES) {
		kept_free(kept);
		return -EINVAL;
	}
	kept->head->opens++;
	*out = kept;
	return 0;
}

void
kept_free(struct kept *kept)
{
	if (kept == NULL)
		return;
	for (unsigned i = 0; i < kept->n; i++)
		if (kept->piece[i].alone)
			munmap(kept->piece[i].at, kept->piece[i].bytes);
	if (kept->all != NULL)
		munmap(kept->all, kept->expected);
	else
		munmap(kept->head, KEPT_HEAD);
	close(kept->fd);
	free(kept);
}

int
kept_fd(const struct kept *kept)
{
	return kept->fd;
}

unsigned
kept_opens(const struct kept *kept)
{
	return kept->head->opens;
}

void
kept_well(struct kept *kept)
{
	kept->head->opens = 0;
}

/* --- pieces --------------------------------------------------------------- */

/* True when the file is long enough, or has been made so. */
static bool
reach(const struct kept *kept, off_t end)
{
	struct stat st;

	return fstat(kept->fd, &st) == 0 &&
	    (st.st_size >= end || ftruncate(kept->fd, end) == 0);
}

size_t
kept_size(const struct kept *kept)
{
	return (size_t)kept->end;
}

/* Where the piece is to be; NULL for want of memory. */
static char *
place_piece(struct kept *kept, size_t bytes, off_t offset, size_t align,
    bool *alone)
{
	*alone = kept->all == NULL || (size_t)offset > kept->expected ||
	    bytes > kept->expected - (size_t)offset;
	if (!*alone)
		return kept->all + offset;
	if (!reach(kept, offset + (off_t)bytes))
		return NULL;
	return map(kept->fd, bytes, offset, align);
}

void *
kept_take(struct kept *kept, size_t bytes)
{
	size_t align = bytes > BASE_HUGE ? BASE_HUGE : KEPT_PAGE;
	struct kept_head *head = kept->head;
	struct piece *piece;
	off_t offset;

	bytes = whole(bytes, KEPT_PAGE);
	if (bytes == 0 || kept->n == KEPT_PIECES)
		return NULL;
	/* A maker that was killed may have had no time for all of its pieces. */
	if (kept->n < head->pieces && head->size[kept->n] != bytes)
		return NULL;
	offset = (off_t)whole((size_t)kept->end, align);
	piece = &kept->piece[kept->n];
	piece->at = place_piece(kept, bytes, offset, align, &piece->alone);
	if (piece->at == NULL)
		return NULL;
	piece->bytes = bytes;
	piece->offset = offset;
	kept->end = offset + (off_t)bytes;
	if (kept->n++ >= head->pieces) {
		head->size[kept->n - 1] = bytes;
		head->pieces = kept->n;
	}
	return piece->at;
}

static const struct piece *
piece_of(const struct kept *kept, const char *p)
{
	for (unsigned i = 0; i < kept->n; i++)
		if (p >= kept->piece[i].at &&
		    p < kept->piece[i].at + kept->piece[i].bytes)
			return &kept->piece[i];
	return NULL;
}

void
kept_zero(struct kept *kept, void *p, size_t bytes)
{
	const struct piece *piece = piece_of(kept, p);

	if (bytes == 0)
		return;
	/* Parts of pages are made zeros by the system likewise. */
	if (piece == NULL || fallocate(kept->fd, FALLOC_FL_PUNCH_HOLE |
	    FALLOC_FL_KEEP_SIZE, piece->offset + ((char *)p - piece->at),
	    (off_t)bytes) < 0)
		memset(p, 0, bytes);
}

void
kept_give_back(struct kept *kept, const void *first)
{
	const struct piece *piece = piece_of(kept, first);
	struct stat st;

	if (piece != NULL && fstat(kept->fd, &st) == 0)
		(void)fallocate(kept->fd, FALLOC_FL_PUNCH_HOLE |
		    FALLOC_FL_KEEP_SIZE, piece->offset,
		    st.st_size - piece->offset);
}

void
kept_populate(void *p, size_t bytes)
{
	uintptr_t begin = ((uintptr_t)p + BASE_HUGE - 1) & ~(BASE_HUGE - 1);
	uintptr_t end = ((uintptr_t)p + bytes) & ~(BASE_HUGE - 1);

	/*
	 * Where no page is there yet there is nothing to make a huge one of.
	 * One is asked for, not used: for want of memory that would end us.
	 */
	for (uintptr_t at = begin; at < end; at += BASE_HUGE)
		if (madvise((void *)at, KEPT_PAGE, MADV_POPULATE_WRITE) == 0)
			(void)madvise((void *)at, BASE_HUGE, MADV_COLLAPSE);
	(void)madvise(p, bytes, MADV_POPULATE_WRITE);
}
