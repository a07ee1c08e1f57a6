/*
 * format: the bytes of a capture, as pagek-capture(5) has them.  Private to the
 * room and the two in it.
 *
 *	struct bytes	a growing buffer; once it has failed for want of memory it
 *			takes nothing more
 *	struct cursor	bytes that are read; `bad` once they made no sense, and
 *			every number after that is 0
 *	varint		7 bits a byte, the lowest first, bit 7: more follow
 *	zigzag		0, -1, 1, -2 ... as 0, 1, 2, 3 ...
 */
#ifndef CAPTURE_FORMAT_H
#define CAPTURE_FORMAT_H

#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../base/hashmap.h"
#include "capture.h"

#define FORMAT_MAGIC "\177PKCAP\r\n"
#define FORMAT_VERSION 2
#define FORMAT_ORDER UINT32_C(0x01020304)
#define FORMAT_SEGMENT_HEAD CAPTURE_HEAD
#define FORMAT_BLOCK_HEAD 48
#define FORMAT_BLOCK_MARK UINT32_C(0x4b424b50)	/* "PKBK" */
#define FORMAT_BLOCK_MAX ((size_t)4 << 20)	/* bytes of a payload, decoded or not */
#define FORMAT_EVENTS_MAX 32768			/* of a block */
#define FORMAT_ROWS_MAX 32768			/* of a portion of a state */
#define FORMAT_COLUMNS 8
#define FORMAT_SUFFIX ".pkc"			/* of the files in the folder of a ring */
#define FORMAT_ZSTD 1				/* flag of a block */

enum format_kind {
	FORMAT_PART = 1,
	FORMAT_MODULES,
	FORMAT_SITES,
	FORMAT_THREADS,
	FORMAT_TYPES,
	FORMAT_EVENTS,
	FORMAT_STATE,
	FORMAT_CHECKPOINT,
	FORMAT_GAP,
	FORMAT_MARK,
	FORMAT_END,
	FORMAT_CLOCK,
	FORMAT_REQUESTERS,
	FORMAT_STRESS,
	FORMAT_KINDS
};

struct segment_head {
	uint64_t id, number;
	int64_t wall_ns;
	uint32_t node;
};

struct block_head {
	uint32_t len, decoded;
	uint16_t kind, flags;
	uint32_t part, count;
	uint64_t first;
	int64_t ms;
	uint32_t crc;
};

/* --- checksums, heads, compression (pack.c) ----------------------------- */

uint32_t format_crc32c(const void *, size_t len);
void format_put_segment(uint8_t out[FORMAT_SEGMENT_HEAD],
    const struct segment_head *);
/* 0; -EBADMSG: none; -ENOTSUP: another version or byte order. */
int format_get_segment(const uint8_t in[FORMAT_SEGMENT_HEAD],
    struct segment_head *);
void format_put_block(uint8_t out[FORMAT_BLOCK_HEAD],
    const struct block_head *);
/* False: damaged. */
bool format_get_block(const uint8_t in[FORMAT_BLOCK_HEAD],
    struct block_head *);

struct pack;			/* contexts of zstd */
/* True if this program can compress. */
bool pack_is_there(void);
int pack_new(struct pack **);
void pack_free(struct pack *);
/* The compressed length, or 0 if that would not be shorter or cannot be. */
size_t pack_shrink(struct pack *, uint8_t *out, size_t cap, const uint8_t *in,
    size_t len);
/* True if `in` gave exactly `len` bytes. */
bool pack_expand(struct pack *, uint8_t *out, size_t len, const uint8_t *in,
    size_t n);

struct bytes {
	uint8_t *p;
	size_t n, cap;
	bool failed;
};

static inline bool
bytes_room(struct bytes *b, size_t more)
{
	void *array = b->p;

	if (!b->failed && b->n + more > b->cap) {
		b->failed = base_grow(&array, &b->cap, b->n + more, 1) < 0;
		b->p = array;
	}
	return !b->failed;
}

static inline void
bytes_put(struct bytes *b, const void *p, size_t n)
{
	if (n == 0 || !bytes_room(b, n))
		return;
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static inline void
bytes_varint(struct bytes *b, uint64_t v)
{
	uint8_t *p;

	if (!bytes_room(b, 10))
		return;
	for (p = b->p + b->n; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	b->n = (size_t)(p - b->p);
}

static inline uint64_t
zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t
zigzag_back(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

static inline void
bytes_text(struct bytes *b, const char *text)
{
	size_t n = text == NULL ? 0 : strnlen(text, CAPTURE_TEXT_MAX - 1);

	bytes_varint(b, n);
	bytes_put(b, text, n);
}

static inline void
bytes_fini(struct bytes *b)
{
	free(b->p);
	*b = (struct bytes){ .n = 0 };
}

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline uint64_t
cursor_long_varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && c->p < c->end; shift += 7) {
		uint8_t b = *c->p++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return v;
	}
	c->bad = true;
	c->p = c->end;
	return 0;
}

static inline uint64_t
cursor_varint(struct cursor *c)
{
	if (c->p < c->end && *c->p < 0x80)
		return *c->p++;
	return cursor_long_varint(c);
}

static inline uint64_t
cursor_zigzag(struct cursor *c)
{
	return zigzag_back(cursor_varint(c));
}

/* The next n bytes, or NULL. */
static inline const uint8_t *
cursor_bytes(struct cursor *c, uint64_t n)
{
	const uint8_t *p = c->p;

	if (n > (size_t)(c->end - c->p)) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p += n;
	return p;
}

/* A copy of a text, the caller's; NULL with bad or without memory. */
char *cursor_text(struct cursor *);

/* All has been read, and made sense. */
static inline bool
cursor_done(const struct cursor *c)
{
	return !c->bad && c->p == c->end;
}

/* --- events and rows as columns (events.c) ------------------------------ */

/* Records whose w[2] is the time in full; infos may be NULL: none. */
struct events_coder;
int events_coder_new(struct events_coder **);
void events_coder_free(struct events_coder *);
/* Appends n <= FORMAT_EVENTS_MAX events; ms: of the block's head. */
void events_encode(struct events_coder *, struct bytes *out,
    const struct rec *, const uint16_t *info, size_t n, int64_t ms);
/* 0 with n records; -EBADMSG. */
int events_decode(struct events_coder *, const uint8_t *in, size_t len,
    struct rec *, uint16_t *info, size_t n, int64_t ms);

/* Rows, in the order in which they are. */
void rows_encode(struct bytes *out, const struct blk *const *row, size_t n);
int rows_decode(struct cursor *, struct blk *, size_t n);

/* --- definitions (definitions.c) ---------------------------------------- */

void define_part(struct bytes *, const struct capture_part *);
void define_totals(struct bytes *, const struct capture_totals *);
void define_module(struct bytes *, unsigned no, const struct stream_module *);
void define_site(struct bytes *, uint32_t no, const struct stream_site *);
void define_thread(struct bytes *, uint32_t index, uint32_t tid,
    const char *name);
void define_requester(struct bytes *, uint32_t no, const struct blklist_info *);
void define_type(struct bytes *, const struct stream_type *);
void define_stress(struct bytes *, const struct capture_stress *);

/* The texts are the caller's, to be freed by undefine_part(), on failure too. */
int read_part(struct cursor *, struct capture_part *);
void undefine_part(struct capture_part *);
void read_totals(struct cursor *, struct capture_totals *);
/* The path is the caller's. */
bool read_module(struct cursor *, unsigned *no, struct stream_module *);
bool read_site(struct cursor *, uint32_t *no, uint64_t frame[RING_STACK_MAX],
    struct stream_site *);
/* The name is the caller's.  -EBADMSG, -ENOMEM. */
int read_thread(struct cursor *, uint32_t *index, uint32_t *tid, char **name);
int read_requester(struct cursor *, uint32_t *no, struct blklist_info *);
bool read_type(struct cursor *, struct stream_type *);
/* The texts are the caller's.  -ENOTSUP: of a source that is not known; -EBADMSG, -ENOMEM. */
int read_stress(struct cursor *, struct stress_sample *, char **kernel,
    char **why);

/* --- addresses.c -------------------------------------------------------- */

/* A set of addresses in their order.  Empty when all zeros. */
struct addresses {
	struct hashmap words;
};

/* -ENOMEM */
int addresses_add(struct addresses *, uint64_t);
void addresses_remove(struct addresses *, uint64_t);
/* The first one that is not below `from`; false: there is none. */
bool addresses_next(const struct addresses *, uint64_t from, uint64_t *);
void addresses_fini(struct addresses *);

/* --- state.c ------------------------------------------------------------ */

struct list_undone {
	uint8_t did;		/* 0 nothing, 1 removed the row, 2 knew none */
	struct blk row;
};

struct capture_list {
	struct blk *slot;	/* flags 0: free */
	unsigned bits;		/* of their number; 0: none */
	size_t n;		/* rows */
	struct addresses api;	/* of those of the API's layer, for ranges */
	struct capture_totals t;
	uint64_t seq;		/* the next event's number */
	int64_t ms;		/* the latest of those before it */
	bool known;		/* no gap since its state */
	int64_t since_ms;	/* when the first such gap began; INT64_MIN: there is no state */
	uint64_t gap;		/* numbers before `seq` that are missing, up to the last event */
	bool opaque;		/* flags have neither layer nor level */
	struct list_undone *undo;	/* by thread */
	size_t nundo;
	struct blk *gone;	/* rows that the last event removed; room for one at least */
	size_t ngone, gone_cap;
	struct blk *sorted;
	/* Of a list that capture_seek() has made. */
	uint32_t part;
	size_t block;		/* place of the next block in the index */
};

/* Records as of events_decode(), from list->seq on.  -ENOMEM. */
int list_apply_recs(struct capture_list *, const struct rec *,
    const uint16_t *info, size_t n);
/* Frees what it holds, not the list itself. */
void list_fini(struct capture_list *);
/* -EEXIST, -ENOMEM; counts blocks and bytes alone. */
int list_put(struct capture_list *, const struct blk *);
/* The frees that later undos may take back.  -EBADMSG, -ENOMEM. */
void list_encode_undo(const struct capture_list *, struct bytes *);
int list_decode_undo(struct capture_list *, struct cursor *);
/* Pointers to all *rows rows, oldest first; the caller's.  NULL: no memory. */
const struct blk **list_by_age(const struct capture_list *, size_t *rows);

#endif
