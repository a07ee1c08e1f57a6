/*
 * Persistent memory.  The file's first page lists the pieces: so a successor of
 * another build is refused and cannot read one table as another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "pmem.h"

#define PMEM_MAGIC UINT32_C(0x506b4d31) /* "PkM1" */
#define PMEM_HEAD 4096
#define EXPECTED_MAX (PTRDIFF_MAX / 2)
#define PMEM_PAGE 4096	/* on every machine, so that pieces have the same offsets */

struct pmem_head {
	uint32_t magic;
	uint32_t pieces;
	uint32_t opens;
	uint32_t zero;
	uint64_t size[PMEM_PIECES];
};

_Static_assert(sizeof(struct pmem_head) <= PMEM_HEAD, "one page");

struct piece {
	char *at;
	size_t bytes;
	off_t offset;
};

struct pmem {
	int fd;
	bool is_ours;		/* this process made it */
	struct pmem_head *head;	/* the file's first page */
	char *all;		/* the file's first `expected` bytes in one mapping, or NULL */
	size_t expected;
	off_t end;		/* of the pieces so far */
	unsigned n;
	struct piece piece[PMEM_PIECES];
};

static size_t
round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) & ~(unit - 1);
}

static char *
map_aligned(int fd, size_t bytes, off_t offset, size_t align)
{
	size_t room, head;
	char *p, *at;

	if (__builtin_add_overflow(bytes, align, &room))
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

/* `all`: the `expected` bytes already mapped, or NULL.  Owns fd on success. */
static int
pmem_alloc(struct pmem **out, int fd, char *all, size_t expected)
{
	struct pmem *memory = calloc(1, sizeof(*memory));
	void *head = all;

	if (memory == NULL)
		return -ENOMEM;
	if (all == NULL)
		head = mmap(NULL, PMEM_HEAD, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (head == MAP_FAILED) {
		int r = -errno;

		free(memory);
		return r;
	}
	*memory = (struct pmem){ .fd = fd, .head = head, .all = all,
		.expected = expected, .end = PMEM_HEAD };
	*out = memory;
	return 0;
}

/* Maps all that is expected, or NULL; *expected becomes whole pages. */
static char *
map_all(int fd, size_t *expected)
{
	size_t bytes = *expected;

	if (bytes <= PMEM_HEAD || bytes > EXPECTED_MAX)
		return NULL;
	bytes = round_up(bytes, PMEM_PAGE);
	*expected = bytes;
	return ftruncate(fd, (off_t)bytes) == 0 ?
	    map_aligned(fd, bytes, 0, BASE_HUGE) : NULL;
}

#define AGAIN_BYTES ((size_t)512 << 10)	/* maximum of used bytes that are zeroed */

/* Descriptors and address space are not to be lacking because of idle files. */
static bool
may_be_idle(const struct pmem *memory)
{
	struct rlimit limit;

	return memory->is_ours && memory->all != NULL &&
	    (size_t)memory->end <= memory->expected && zeros_are_kept() &&
	    getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    (rlim_t)memory->fd < limit.rlim_cur / 4;
}

/* False: too much of it was used. */
static bool
zero_used(struct pmem *memory)
{
	off_t at = PMEM_HEAD, hole;
	size_t sum = 0;

	while ((at = lseek(memory->fd, at, SEEK_DATA)) >= 0) {
		hole = lseek(memory->fd, at, SEEK_HOLE);
		if (hole < 0)
			return false;
		sum += (size_t)(hole - at);
		if (sum > AGAIN_BYTES || (size_t)hole > memory->expected)
			return false;
		memset(memory->all + at, 0, (size_t)(hole - at));
		at = hole;
	}
	return errno == ENXIO;
}

bool
pmem_reset(struct pmem *memory)
{
	if (!may_be_idle(memory) || !zero_used(memory))
		return false;
	memory->head->pieces = memory->head->opens = 0;
	memory->end = PMEM_HEAD;
	memory->n = 0;
	return true;
}

int
pmem_new(struct pmem **out, const char *name, size_t expected)
{
	int fd, r = 0;
	char *all;

	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	all = map_all(fd, &expected);
	/* If the file shrank, reading it would end us by SIGBUS. */
	if ((all == NULL && ftruncate(fd, PMEM_HEAD) < 0) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r == 0)
		r = pmem_alloc(out, fd, all, expected);
	if (r < 0) {
		if (all != NULL)
			munmap(all, expected);
		close(fd);
		return r;
	}
	(*out)->is_ours = true;
	(*out)->head->magic = PMEM_MAGIC;
	return 0;
}

int
pmem_open(struct pmem **out, int fd)
{
	int seals = fcntl(fd, F_GET_SEALS), r;
	struct pmem *memory;
	struct stat st;

	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &st) < 0 ||
	    st.st_size < PMEM_HEAD) {
		close(fd);
		return -EINVAL;
	}
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	r = pmem_alloc(&memory, fd, NULL, 0);
	if (r < 0) {
		close(fd);
		return r;
	}
	if (memory->head->magic != PMEM_MAGIC ||
	    memory->head->pieces > PMEM_PIECES) {
		pmem_free(memory);
		return -EINVAL;
	}
	memory->head->opens++;
	*out = memory;
	return 0;
}

static bool
is_in_all(const struct pmem *memory, const char *at)
{
	return memory->all != NULL && at >= memory->all &&
	    at < memory->all + memory->expected;
}

void
pmem_free(struct pmem *memory)
{
	if (memory == NULL)
		return;
	for (unsigned i = 0; i < memory->n; i++)
		if (!is_in_all(memory, memory->piece[i].at))
			munmap(memory->piece[i].at, memory->piece[i].bytes);
	if (memory->all != NULL)
		munmap(memory->all, memory->expected);
	else
		munmap(memory->head, PMEM_HEAD);
	close(memory->fd);
	free(memory);
}

int
pmem_fd(const struct pmem *memory)
{
	return memory->fd;
}

unsigned
pmem_opens(const struct pmem *memory)
{
	return memory->head->opens;
}

void
pmem_reset_opens(struct pmem *memory)
{
	memory->head->opens = 0;
}

static bool
extend_file(const struct pmem *memory, off_t end)
{
	struct stat st;

	return fstat(memory->fd, &st) == 0 &&
	    (st.st_size >= end || ftruncate(memory->fd, end) == 0);
}

size_t
pmem_size(const struct pmem *memory)
{
	return (size_t)memory->end;
}

static char *
place_piece(const struct pmem *memory, size_t bytes, off_t offset, size_t align)
{
	if (memory->all != NULL && (size_t)offset <= memory->expected &&
	    bytes <= memory->expected - (size_t)offset)
		return memory->all + offset;
	if (!extend_file(memory, offset + (off_t)bytes))
		return NULL;
	return map_aligned(memory->fd, bytes, offset, align);
}

void *
pmem_take(struct pmem *memory, size_t bytes)
{
	size_t align = bytes > BASE_HUGE ? BASE_HUGE : PMEM_PAGE;
	struct pmem_head *head = memory->head;
	struct piece *piece;
	off_t offset;

	bytes = round_up(bytes, PMEM_PAGE);
	if (bytes == 0 || memory->n == PMEM_PIECES)
		return NULL;
	/* A maker that was killed may have taken fewer pieces. */
	if (memory->n < head->pieces && head->size[memory->n] != bytes)
		return NULL;
	offset = (off_t)round_up((size_t)memory->end, align);
	piece = &memory->piece[memory->n];
	piece->at = place_piece(memory, bytes, offset, align);
	if (piece->at == NULL)
		return NULL;
	piece->bytes = bytes;
	piece->offset = offset;
	memory->end = offset + (off_t)bytes;
	if (memory->n++ >= head->pieces) {
		head->size[memory->n - 1] = bytes;
		head->pieces = memory->n;
	}
	return piece->at;
}

static const struct piece *
piece_of(const struct pmem *memory, const char *p)
{
	for (unsigned i = 0; i < memory->n; i++)
		if (p >= memory->piece[i].at &&
		    p < memory->piece[i].at + memory->piece[i].bytes)
			return &memory->piece[i];
	return NULL;
}

void
pmem_zero(struct pmem *memory, void *p, size_t bytes)
{
	const struct piece *piece = piece_of(memory, p);

	if (bytes == 0)
		return;
	if (piece == NULL || fallocate(memory->fd, FALLOC_FL_PUNCH_HOLE |
	    FALLOC_FL_KEEP_SIZE, piece->offset + ((char *)p - piece->at),
	    (off_t)bytes) < 0)
		memset(p, 0, bytes);
}

void
pmem_discard_from(struct pmem *memory, const void *first)
{
	const struct piece *piece = piece_of(memory, first);
	struct stat st;

	if (piece != NULL && fstat(memory->fd, &st) == 0)
		(void)fallocate(memory->fd, FALLOC_FL_PUNCH_HOLE |
		    FALLOC_FL_KEEP_SIZE, piece->offset,
		    st.st_size - piece->offset);
}

void
pmem_populate(void *p, size_t bytes)
{
	uintptr_t begin = ((uintptr_t)p + BASE_HUGE - 1) & ~(BASE_HUGE - 1);
	uintptr_t end = ((uintptr_t)p + bytes) & ~(BASE_HUGE - 1);

	/*
	 * A huge page can only be made where one page is present.  Ask for that
	 * one, do not touch it: without memory that would end us.
	 */
	for (uintptr_t at = begin; at < end; at += BASE_HUGE)
		if (madvise((void *)at, PMEM_PAGE, MADV_POPULATE_WRITE) == 0)
			(void)madvise((void *)at, BASE_HUGE, MADV_COLLAPSE);
	(void)madvise(p, bytes, MADV_POPULATE_WRITE);
}
