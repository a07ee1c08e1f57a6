/*
 * The packed answers of SITED, FRAMED, REGIONED, MARKED, TOUCHED (its ranges) and
 * MEMORIES: byte strings of
 * entries, little-endian, written and read here.
 *
 * SITED, for each site: site u32, depth u8, end u8, then depth frames u64.
 * FRAMED, for each frame: frame u64, known u8, flags u8 (bit 0 fetching),
 * offset u64, module, n u8, then n lines of function, file and line u32; a
 * text is its length u8 and that many bytes.  Beside them types, for each
 * frame that tells one: its number u8, where the type comes from u8, a text.
 * REGIONED: struct packed_region.  MARKED: struct packed_mark.
 *
 * The bytes come from a stranger: no read goes beyond them, and an entry that
 * no writer of ours writes is refused.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "../ring.h"
#include "wire.h"

#define FLAG_FETCHING 1
#define MARK_CHARACTERS 32

_Static_assert(RING_STACK_MAX == BASE_NELEM(((struct wire_stack *)NULL)->frame),
    "a stack of the wire has room for any of a target's");

struct writer {
	uint8_t *p;
	size_t left;
	bool full;		/* something had no room: nothing more is written */
};

static void
put_le(struct writer *w, uint64_t v, size_t bytes)
{
	if (w->full || bytes > w->left) {
		w->full = true;
		return;
	}
	base_put_le(w->p, v, bytes);
	w->p += bytes;
	w->left -= bytes;
}

/* Clipped to whole characters; bytes that are no UTF-8 become '?'. */
static void
put_text(struct writer *w, const struct wire_text *t)
{
	uint8_t text[WIRE_TEXT_MAX];
	size_t at, n, len = 0;

	for (at = 0; at < t->len && len < sizeof text; at += n, len += n) {
		n = base_utf8_char(t->s + at, t->len - at, NULL);
		if (n > sizeof text - len)
			break;
		if (n > 0) {
			memcpy(text + len, t->s + at, n);
		} else {
			text[len] = '?';
			n = 1;
		}
	}
	put_le(w, len, 1);
	if (w->full || len > w->left) {
		w->full = true;
		return;
	}
	memcpy(w->p, text, len);
	w->p += len;
	w->left -= len;
}

static bool
finish(const struct writer *w, const uint8_t *out, size_t *len)
{
	if (w->full)
		return false;
	*len = (size_t)(w->p - out);
	return true;
}

bool
wire_sited_put(uint8_t *out, size_t cap, size_t *len,
    const struct wire_stack *st)
{
	struct writer w = { .p = out + *len, .left = cap - *len };
	unsigned i;

	assert(*len <= cap && st->depth <= BASE_NELEM(st->frame));
	put_le(&w, st->site, 4);
	put_le(&w, st->depth, 1);
	put_le(&w, st->end, 1);
	for (i = 0; i < st->depth; i++)
		put_le(&w, st->frame[i], 8);
	return finish(&w, out, len);
}

bool
wire_framed_put(uint8_t *out, size_t cap, size_t *len,
    const struct wire_words *words)
{
	struct writer w = { .p = out + *len, .left = cap - *len };
	size_t i;

	assert(*len <= cap && words->n <= WIRE_INLINES_MAX);
	put_le(&w, words->frame, 8);
	put_le(&w, words->known, 1);
	put_le(&w, words->fetching ? FLAG_FETCHING : 0, 1);
	put_le(&w, words->offset, 8);
	put_text(&w, &words->module);
	put_le(&w, words->n, 1);
	for (i = 0; i < words->n; i++) {
		put_text(&w, &words->line[i].function);
		put_text(&w, &words->line[i].file);
		put_le(&w, words->line[i].line, 4);
	}
	return finish(&w, out, len);
}

bool
wire_told_put(uint8_t *out, size_t cap, size_t *len, uint32_t frame,
    const struct wire_words *words)
{
	struct writer w = { .p = out + *len, .left = cap - *len };

	assert(*len <= cap && frame < WIRE_SYMS_MAX);
	if (words->type_from == WIRE_TYPE_UNKNOWN || words->type.len == 0)
		return true;
	put_le(&w, frame, 1);
	put_le(&w, words->type_from, 1);
	put_text(&w, &words->type);
	return finish(&w, out, len);
}

struct reader {
	const uint8_t *p;
	size_t left;
	bool bad;		/* something was not there: all that follows is 0 */
};

static struct reader
reader_at(const struct wire_bytes *b, size_t at)
{
	/* No bytes may have no address to count from. */
	if (at >= b->len)
		return (struct reader){ .bad = at > b->len };
	return (struct reader){ .p = b->p + at, .left = b->len - at };
}

static uint64_t
get_le(struct reader *r, size_t bytes)
{
	uint64_t v;

	if (r->bad || bytes > r->left) {
		r->bad = true;
		return 0;
	}
	v = base_get_le(r->p, bytes);
	r->p += bytes;
	r->left -= bytes;
	return v;
}

static bool
is_utf8(const char *s, size_t len)
{
	size_t n;

	for (; len > 0; s += n, len -= n) {
		n = base_utf8_char(s, len, NULL);
		if (n == 0)
			return false;
	}
	return true;
}

static struct wire_text
get_text(struct reader *r)
{
	size_t len = (size_t)get_le(r, 1);
	struct wire_text t = { .s = (const char *)r->p, .len = len };

	if (r->bad || len > r->left || !is_utf8(t.s, len)) {
		r->bad = true;
		return (struct wire_text){ .len = 0 };
	}
	r->p += len;
	r->left -= len;
	return t;
}

int
wire_sited_next(struct wire_bytes b, size_t *at, struct wire_stack *out)
{
	struct reader r = reader_at(&b, *at);
	struct wire_stack st;
	unsigned i;

	if (*at == b.len)
		return 0;
	st.site = (uint32_t)get_le(&r, 4);
	st.depth = (uint8_t)get_le(&r, 1);
	st.end = (uint8_t)get_le(&r, 1);
	if (st.depth > BASE_NELEM(st.frame) || st.end >= RING_END_ALONE)
		return -EBADMSG;
	for (i = 0; i < st.depth; i++)
		st.frame[i] = get_le(&r, 8);
	if (r.bad)
		return -EBADMSG;
	/* Only what is there: frames beyond it are the caller's. */
	memcpy(out, &st, offsetof(struct wire_stack, frame) +
	    st.depth * sizeof st.frame[0]);
	*at = b.len - r.left;
	return 1;
}

int
wire_framed_next(struct wire_bytes b, size_t *at, struct wire_words *out)
{
	struct reader r = reader_at(&b, *at);
	struct wire_words w = { .n = 0 };
	unsigned flags;
	size_t i;

	if (*at == b.len)
		return 0;
	w.frame = get_le(&r, 8);
	w.known = (uint32_t)get_le(&r, 1);
	flags = (unsigned)get_le(&r, 1);
	w.fetching = (flags & FLAG_FETCHING) != 0;
	w.offset = get_le(&r, 8);
	w.module = get_text(&r);
	w.n = (size_t)get_le(&r, 1);
	if (w.n > WIRE_INLINES_MAX || w.known >= WIRE_KNOWN ||
	    (flags & ~(unsigned)FLAG_FETCHING) != 0)
		return -EBADMSG;
	for (i = 0; i < w.n; i++) {
		w.line[i].function = get_text(&r);
		w.line[i].file = get_text(&r);
		w.line[i].line = (uint32_t)get_le(&r, 4);
	}
	if (r.bad)
		return -EBADMSG;
	*out = w;
	*at = b.len - r.left;
	return 1;
}

int
wire_told_next(struct wire_bytes b, size_t *at, uint32_t *frame,
    struct wire_words *out)
{
	struct reader r = reader_at(&b, *at);
	struct wire_text type;
	uint32_t no, from;

	if (*at == b.len)
		return 0;
	no = (uint32_t)get_le(&r, 1);
	from = (uint32_t)get_le(&r, 1);
	type = get_text(&r);
	if (r.bad || no >= WIRE_SYMS_MAX || from == WIRE_TYPE_UNKNOWN ||
	    from > WIRE_TYPE_NEW || type.len == 0)
		return -EBADMSG;
	*frame = no;
	out->type = type;
	out->type_from = from;
	*at = b.len - r.left;
	return 1;
}

/* As on the wire, each number little-endian. */
struct packed_region {
	uint64_t base, size;
	uint16_t head, align;
	char name[WIRE_REGION_NAME];
};

_Static_assert(sizeof(struct packed_region) == WIRE_REGION_SIZE, "no gaps");

void
wire_region_put(uint8_t out[WIRE_REGION_SIZE], const struct wire_region *r)
{
	struct packed_region p = {
		.base = htole64(r->base), .size = htole64(r->size),
		.head = htole16(r->head), .align = htole16(r->align),
	};

	memcpy(p.name, r->name, strnlen(r->name, sizeof p.name));
	memcpy(out, &p, sizeof p);
}

void
wire_region_get(struct wire_region *r, const uint8_t in[WIRE_REGION_SIZE])
{
	struct packed_region p;

	memcpy(&p, in, sizeof p);
	r->base = le64toh(p.base);
	r->size = le64toh(p.size);
	r->head = le16toh(p.head);
	r->align = le16toh(p.align);
	memcpy(r->name, p.name, sizeof p.name);
	r->name[sizeof p.name] = '\0';
}

/* As on the wire, each number little-endian. */
struct packed_mark {
	uint64_t seq, ms, wall_ms, blocks, bytes, est_blocks, est_bytes, lost,
	    full;
	uint64_t by_target;
	char name[WIRE_MARK_NAME];
	char who[WIRE_MARK_WHO];
};

_Static_assert(sizeof(struct packed_mark) == WIRE_MARK_SIZE, "no gaps");

bool
wire_is_mark_name(const char *name, size_t len)
{
	char safe[4 * WIRE_MARK_NAME + 1];
	size_t at, n, characters = 0;

	if (len == 0 || len > WIRE_MARK_NAME || name[0] == ' ' ||
	    name[len - 1] == ' ')
		return false;
	for (at = 0; at < len; at += n, characters++) {
		n = base_utf8_char(name + at, len - at, NULL);
		if (n == 0)
			return false;
	}
	return characters <= MARK_CHARACTERS &&
	    base_safe_text(safe, sizeof safe, name, len, false) == len &&
	    memcmp(safe, name, len) == 0;
}

void
wire_named_mark_put(uint8_t out[WIRE_MARK_SIZE],
    const struct wire_named_mark *m)
{
	struct packed_mark p = {
		.seq = htole64(m->seq), .ms = htole64((uint64_t)m->ms),
		.wall_ms = htole64((uint64_t)m->wall_ms),
		.blocks = htole64(m->blocks), .bytes = htole64(m->bytes),
		.est_blocks = htole64(m->est_blocks),
		.est_bytes = htole64(m->est_bytes), .lost = htole64(m->lost),
		.full = htole64(m->full), .by_target = htole64(m->by_target),
	};

	memcpy(p.name, m->name, strnlen(m->name, sizeof p.name));
	memcpy(p.who, m->who, strnlen(m->who, sizeof p.who));
	memcpy(out, &p, sizeof p);
}

void
wire_named_mark_get(struct wire_named_mark *m, const uint8_t in[WIRE_MARK_SIZE])
{
	struct packed_mark p;

	memcpy(&p, in, sizeof p);
	*m = (struct wire_named_mark){
		.seq = le64toh(p.seq), .ms = (int64_t)le64toh(p.ms),
		.wall_ms = (int64_t)le64toh(p.wall_ms),
		.blocks = le64toh(p.blocks), .bytes = le64toh(p.bytes),
		.est_blocks = le64toh(p.est_blocks),
		.est_bytes = le64toh(p.est_bytes), .lost = le64toh(p.lost),
		.full = le64toh(p.full), .by_target = p.by_target != 0,
	};
	memcpy(m->name, p.name, sizeof p.name);
	memcpy(m->who, p.who, sizeof p.who);
}

void
wire_touch_range_put(uint8_t out[WIRE_TOUCH_RANGE],
    const struct wire_touch_range *r)
{
	base_put_le(out, r->vaddr, 8);
	base_put_le(out + 8, r->len, 8);
	base_put_le(out + 16, (uint64_t)r->since_ms, 8);
	out[24] = r->source;
}

void
wire_touch_range_get(struct wire_touch_range *r,
    const uint8_t in[WIRE_TOUCH_RANGE])
{
	r->vaddr = base_get_le(in, 8);
	r->len = base_get_le(in + 8, 8);
	r->since_ms = (int64_t)base_get_le(in + 16, 8);
	r->source = in[24];
}

/* As on the wire, each number little-endian. */
struct packed_memory {
	uint64_t bytes, pages, sets, counters, base_pages;
	uint32_t node, slots, cpus;
	char name[WIRE_MEMORY_NAME];
};

_Static_assert(sizeof(struct packed_memory) == WIRE_MEMORY_SIZE, "no gaps");

void
wire_memory_node_put(uint8_t out[WIRE_MEMORY_SIZE], const struct wire_memory_node *m)
{
	struct packed_memory p = {
		.bytes = htole64(m->bytes), .pages = htole64(m->pages),
		.sets = htole64(m->sets), .counters = htole64(m->counters),
		.base_pages = htole64(m->base_pages), .node = htole32(m->node),
		.slots = htole32(m->slots), .cpus = htole32(m->cpus),
	};

	memcpy(p.name, m->name, strnlen(m->name, sizeof p.name));
	memcpy(out, &p, sizeof p);
}

void
wire_memory_node_get(struct wire_memory_node *m, const uint8_t in[WIRE_MEMORY_SIZE])
{
	struct packed_memory p;

	memcpy(&p, in, sizeof p);
	*m = (struct wire_memory_node){
		.bytes = le64toh(p.bytes), .pages = le64toh(p.pages),
		.sets = le64toh(p.sets), .counters = le64toh(p.counters),
		.base_pages = le64toh(p.base_pages), .node = le32toh(p.node),
		.slots = le32toh(p.slots), .cpus = le32toh(p.cpus),
	};
	memcpy(m->name, p.name, sizeof p.name);
}
