/*
 * frames: the splitter of a byte stream into length-prefixed maps.
 *
 * The unread bytes lie in buf[start, start + len).  What a peer can make us
 * hold is bounded by the limit alone: one frame that is not yet whole and as
 * much again to read into, whatever length a frame announces.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

#define FIRST_CAP 512

static size_t
cap_max(const struct wire_frames *f)
{
	return f->limit + (f->limit > WIRE_LENGTH_SIZE ? f->limit :
	    WIRE_LENGTH_SIZE);
}

int
wire_frames_init(struct wire_frames *f, size_t limit)
{
	if (limit == 0 || limit > WIRE_REPLY_MAX)
		return -EINVAL;
	*f = (struct wire_frames) { .limit = limit };
	return 0;
}

void
wire_frames_fini(struct wire_frames *f)
{
	free(f->buf);
	*f = (struct wire_frames) { .limit = f->limit };
}

/* A larger buffer, up to the bound; without memory the old one stays. */
static void
grow(struct wire_frames *f, size_t want)
{
	size_t bound = cap_max(f);
	size_t cap = f->cap > 0 ? f->cap : FIRST_CAP;
	uint8_t *buf;

	if (want > bound - f->len)
		want = bound - f->len;
	while (cap < f->len + want)
		cap *= 2;
	if (cap > bound)
		cap = bound;
	if (cap <= f->cap)
		return;
	buf = realloc(f->buf, cap);
	if (buf == NULL)
		return;
	f->buf = buf;
	f->cap = cap;
}

uint8_t *
wire_frames_space(struct wire_frames *f, size_t want, size_t *room)
{
	size_t there;

	if (f->start > 0) {
		memmove(f->buf, f->buf + f->start, f->len);
		f->start = 0;
	}
	if (f->cap - f->len < want)
		grow(f, want);
	there = f->cap - f->len;
	if (there == 0)
		return NULL;
	*room = there < want ? there : want;
	return f->buf + f->len;
}

void
wire_frames_add(struct wire_frames *f, size_t n)
{
	assert(n <= f->cap - f->start - f->len);
	f->len += n;
}

int
wire_frames_next(struct wire_frames *f, const uint8_t **map, size_t *len)
{
	const uint8_t *p;
	size_t announced;

	if (f->len < WIRE_LENGTH_SIZE)
		return 0;
	p = f->buf + f->start;
	announced = (size_t)p[0] << 24 | (size_t)p[1] << 16 |
	    (size_t)p[2] << 8 | p[3];
	if (announced > f->limit)
		return -EMSGSIZE;
	if (f->len - WIRE_LENGTH_SIZE < announced)
		return 0;
	f->start += WIRE_LENGTH_SIZE + announced;
	f->len -= WIRE_LENGTH_SIZE + announced;
	*map = p + WIRE_LENGTH_SIZE;
	*len = announced;
	return 1;
}
