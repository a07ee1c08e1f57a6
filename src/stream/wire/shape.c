/*
 * shape: whether a map may be shown to libcbor at all.
 *
 * The check stands alone, with no library beneath it but base's reading of a
 * UTF-8 character: libcbor 0.8 takes memory for what a head announces before
 * it looks whether the bytes are there, nests to 2,048, and on 32 bits cuts an
 * eight-byte length before its caller can see it.
 *
 * Nothing here recurses or allocates; the work is one step for each head and
 * one for each character of text.  Byte strings are stepped over.
 */
#include <errno.h>
#include <stdbool.h>

#include "../../base/base.h"
#include "wire.h"

enum major {
	MAJOR_UINT,
	MAJOR_NEGINT,
	MAJOR_BYTES,
	MAJOR_TEXT,
	MAJOR_ARRAY,
	MAJOR_MAP,
	MAJOR_TAG,
	MAJOR_SIMPLE,
};

#define INFO_1_BYTE 24
#define INFO_8_BYTES 27
#define SIMPLE_FALSE 20
#define SIMPLE_NULL 22
#define KEYS 256

struct head {
	enum major major;
	unsigned info;		/* the low five bits of the first byte */
	uint64_t arg;		/* value, length or count */
};

/* An array or map that is not yet complete. */
struct level {
	bool map;
	uint32_t left;		/* items to come; in a map keys and values */
	uint8_t seen[KEYS / 8];	/* keys of this map, one bit each */
};

struct scan {
	const uint8_t *p;
	size_t left;		/* bytes */
	unsigned items;		/* seen or announced */
	unsigned depth;
	struct level level[WIRE_DEPTH_MAX];
};

/*
 * Lengths and counts in eight bytes and the indefinite ones are refused by
 * their first byte; so are tags, for which this protocol has no use.
 */
static bool
first_byte_is_legal(enum major major, unsigned info)
{
	switch (major) {
	case MAJOR_UINT:
	case MAJOR_NEGINT:
		return info <= INFO_8_BYTES;
	case MAJOR_BYTES:
	case MAJOR_TEXT:
	case MAJOR_ARRAY:
	case MAJOR_MAP:
		return info < INFO_8_BYTES;
	case MAJOR_SIMPLE:
		return info >= SIMPLE_FALSE && info <= SIMPLE_NULL;
	case MAJOR_TAG:
		break;
	}
	return false;
}

static int
read_head(struct scan *s, struct head *h)
{
	unsigned first, i, n;

	if (s->left == 0)
		return -EBADMSG;
	first = *s->p++;
	s->left--;
	h->major = (enum major)(first >> 5);
	h->info = first & 0x1f;
	if (!first_byte_is_legal(h->major, h->info))
		return -EBADMSG;
	if (h->info < INFO_1_BYTE) {
		h->arg = h->info;
		return 0;
	}
	n = 1u << (h->info - INFO_1_BYTE);
	if (s->left < n)
		return -EBADMSG;
	for (h->arg = 0, i = 0; i < n; i++)
		h->arg = h->arg << 8 | s->p[i];
	s->p += n;
	s->left -= n;
	return 0;
}

static int
check_text(const uint8_t *p, size_t len)
{
	uint32_t codepoint;
	size_t n;

	if (len > WIRE_TEXT_MAX)
		return -EBADMSG;
	for (; len > 0; p += n, len -= n) {
		n = base_utf8_char((const char *)p, len, &codepoint);
		if (n == 0)
			return -EBADMSG;
	}
	return 0;
}

/* A key: small, unsigned, and the first of its value in this map. */
static int
check_key(struct level *l, const struct head *h)
{
	uint8_t bit;

	if (h->major != MAJOR_UINT || h->arg >= KEYS)
		return -EBADMSG;
	bit = (uint8_t)(1u << (h->arg % 8));
	if (l->seen[h->arg / 8] & bit)
		return -EBADMSG;
	l->seen[h->arg / 8] |= bit;
	return 0;
}

/* Steps over a string or goes down into an array or map. */
static int
enter(struct scan *s, const struct head *h)
{
	uint64_t items;

	switch (h->major) {
	case MAJOR_TEXT:
	case MAJOR_BYTES:
		if (h->arg > s->left)
			return -EBADMSG;
		if (h->major == MAJOR_TEXT && check_text(s->p, (size_t)h->arg))
			return -EBADMSG;
		s->p += h->arg;
		s->left -= (size_t)h->arg;
		return 0;
	case MAJOR_ARRAY:
	case MAJOR_MAP:
		/* The count has 32 bits at most: twice it cannot wrap. */
		items = h->major == MAJOR_MAP ? h->arg * 2 : h->arg;
		if (items > WIRE_ITEMS_MAX - s->items ||
		    s->depth == WIRE_DEPTH_MAX)
			return -EBADMSG;
		s->items += (unsigned)items;
		s->level[s->depth++] = (struct level) {
			.map = h->major == MAJOR_MAP,
			.left = (uint32_t)items,
		};
		return 0;
	default:
		return 0;
	}
}

int
wire_check_shape(const uint8_t *map, size_t len)
{
	struct scan s = { .p = map, .left = len, .items = 1 };
	struct level *l;
	struct head h;

	if (read_head(&s, &h) || h.major != MAJOR_MAP || enter(&s, &h))
		return -EBADMSG;
	while (s.depth > 0) {
		l = &s.level[s.depth - 1];
		if (l->left == 0) {
			s.depth--;
			continue;
		}
		if (read_head(&s, &h))
			return -EBADMSG;
		/* An even number to come in a map: a key is due. */
		if (l->map && l->left % 2 == 0 && check_key(l, &h))
			return -EBADMSG;
		l->left--;
		if (enter(&s, &h))
			return -EBADMSG;
	}
	return s.left == 0 ? 0 : -EBADMSG;
}
