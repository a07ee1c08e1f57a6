/*
 * Programs under the preload beside a second layer that counts: what they were
 * built as, and that both have seen the same.
 */
#ifndef TESTS_PRELOAD_RIG_H
#define TESTS_PRELOAD_RIG_H

#include <stdint.h>
#include <stdlib.h>

#include "harness.h"
#include "hello.h"

static inline const char *
built(const char *name)
{
	static char path[4][700];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/tests/%s", hello_build(), name);
	return p;
}

/* What the second counting layer wrote about the nth image of a pid. */
struct counted {
	char magic[8];
	uint64_t allocs, frees, failed, inherited, live_blocks, live_bytes;
	uint64_t strange;
};

static inline void
read_counted(const char *dir, pid_t pid, unsigned nth, struct counted *c)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%d.%u", dir, (int)pid, nth);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd != -1, "%s: an image that only one has seen", path);
	ck_assert_int_eq(read(fd, c, sizeof(*c)), (ssize_t)sizeof(*c));
	close(fd);
	unlink(path);
	ck_assert_str_eq(c->magic, "COUNT1");
}

static inline void
compare(const struct hello_image *im, const struct counted *want)
{
	const struct blklist_counts *c = blklist_counts(im->list);

	ck_assert_uint_eq(c->allocs, want->allocs);
	ck_assert_uint_eq(c->frees, want->frees);
	ck_assert_uint_eq(c->failed, want->failed);
	ck_assert_uint_eq(c->inherited, want->inherited);
	ck_assert_uint_eq(c->aRecActive, want->live_blocks);
	ck_assert_uint_eq(c->live_bytes, want->live_bytes);
	ck_assert_uint_eq(c->unknown_free + c->unknown_undo, 0);
	ck_assert_uint_eq(c->duplicate, 0);
	ck_assert_uint_eq(c->late, 0);
	ck_assert_uint_eq(im->lost, 0);
}

static inline void
compare_all(const struct hello *h, const char *dir)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct counted want;
		unsigned nth = 0;

		for (unsigned k = 0; k < i; k++)
			nth += h->images[k].pid == h->images[i].pid;
		read_counted(dir, h->images[i].pid, nth, &want);
		compare(&h->images[i], &want);
	}
	/* Nothing is left that was counted and did not say hello. */
	ck_assert_int_eq(rmdir(dir), 0);
}

/* Listed blocks like that one; 0: any size, any type. */
static inline unsigned
live_like(const struct hello_image *im, unsigned layer, uint64_t size,
    unsigned type)
{
	struct blk b;
	bool start = true;
	unsigned n = 0, at = 0;
	uint64_t addr = 0;

	while (blklist_after(im->list, start, at, addr, &b, 1) == 1) {
		start = false;
		at = (b.flags & REC_LAYER_API) != 0;
		addr = b.addr;
		n += at == layer && (size == 0 || b.size == size) &&
		    (type == 0 || b.type == type);
	}
	return n;
}

static inline unsigned
live_of(const struct hello_image *im, unsigned layer, unsigned type)
{
	return live_like(im, layer, 0, type);
}

#endif
