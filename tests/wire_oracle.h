/*
 * A second decoder of messages, to hold wire_decode() against: it checks the
 * shape of a map with no library beneath it, then goes through the map once
 * for type and id and once for the fields of the type.  Same verdict, same
 * message.
 *
 * The two share wire.def and the reading of a UTF-8 character, and nothing
 * else.
 */
#ifndef TESTS_WIRE_ORACLE_H
#define TESTS_WIRE_ORACLE_H

#include <assert.h>
#include <cbor.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/stream/wire/table.h"

/* --- the shape ------------------------------------------------------------ */

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

struct oracle_head {
	enum major major;
	unsigned info;		/* the low five bits of the first byte */
	uint64_t arg;		/* value, length or count */
};

/* An array or map that is not yet complete. */
struct oracle_level {
	bool map;
	uint32_t left;		/* items to come; in a map keys and values */
	uint8_t seen[KEYS / 8];	/* keys of this map, one bit each */
};

struct oracle_scan {
	const uint8_t *p;
	size_t left;		/* bytes */
	unsigned items;		/* seen or announced */
	unsigned depth;
	struct oracle_level level[WIRE_DEPTH_MAX];
};

/*
 * Lengths and counts in eight bytes and the indefinite ones are refused by
 * their first byte; so are tags, for which this protocol has no use.
 */
static bool
oracle_first_byte_is_legal(enum major major, unsigned info)
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
oracle_read_head(struct oracle_scan *s, struct oracle_head *h)
{
	unsigned first, i, n;

	if (s->left == 0)
		return -EBADMSG;
	first = *s->p++;
	s->left--;
	h->major = (enum major)(first >> 5);
	h->info = first & 0x1f;
	if (!oracle_first_byte_is_legal(h->major, h->info))
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
oracle_check_text(const uint8_t *p, size_t len)
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
oracle_check_key(struct oracle_level *l, const struct oracle_head *h)
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
oracle_enter(struct oracle_scan *s, const struct oracle_head *h)
{
	uint64_t items;

	switch (h->major) {
	case MAJOR_TEXT:
	case MAJOR_BYTES:
		if (h->arg > s->left)
			return -EBADMSG;
		if (h->major == MAJOR_TEXT && oracle_check_text(s->p, (size_t)h->arg))
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
		s->level[s->depth++] = (struct oracle_level) {
			.map = h->major == MAJOR_MAP,
			.left = (uint32_t)items,
		};
		return 0;
	default:
		return 0;
	}
}

static int
oracle_check_shape(const uint8_t *map, size_t len)
{
	struct oracle_scan s = { .p = map, .left = len, .items = 1 };
	struct oracle_level *l;
	struct oracle_head h;

	if (oracle_read_head(&s, &h) || h.major != MAJOR_MAP || oracle_enter(&s, &h))
		return -EBADMSG;
	while (s.depth > 0) {
		l = &s.level[s.depth - 1];
		if (l->left == 0) {
			s.depth--;
			continue;
		}
		if (oracle_read_head(&s, &h))
			return -EBADMSG;
		/* An even number to come in a map: a key is due. */
		if (l->map && l->left % 2 == 0 && oracle_check_key(l, &h))
			return -EBADMSG;
		l->left--;
		if (oracle_enter(&s, &h))
			return -EBADMSG;
	}
	return s.left == 0 ? 0 : -EBADMSG;
}

/* --- items ---------------------------------------------------------------- */

enum oracle_kind {
	ITEM_NONE,
	ITEM_UINT,
	ITEM_NEGINT,
	ITEM_BYTES,
	ITEM_TEXT,
	ITEM_ARRAY,
	ITEM_MAP,
	ITEM_BOOL,
	ITEM_NULL,
};

struct oracle_item {
	enum oracle_kind kind;
	uint64_t n;		/* value, length or count; of a negative -1 - value */
	const uint8_t *p;	/* of bytes and text */
};

struct oracle_in {
	const uint8_t *p;
	size_t left;
};

/* --- items -------------------------------------------------------------- */

static void
oracle_is_number(void *arg, enum oracle_kind kind, uint64_t n)
{
	*(struct oracle_item *)arg = (struct oracle_item) { .kind = kind, .n = n };
}

static void
oracle_is_string(void *arg, enum oracle_kind kind, const uint8_t *p, size_t len)
{
	*(struct oracle_item *)arg = (struct oracle_item) { .kind = kind, .n = len, .p = p };
}

static void
oracle_on_uint8(void *arg, uint8_t n)
{
	oracle_is_number(arg, ITEM_UINT, n);
}

static void
oracle_on_uint16(void *arg, uint16_t n)
{
	oracle_is_number(arg, ITEM_UINT, n);
}

static void
oracle_on_uint32(void *arg, uint32_t n)
{
	oracle_is_number(arg, ITEM_UINT, n);
}

static void
oracle_on_uint64(void *arg, uint64_t n)
{
	oracle_is_number(arg, ITEM_UINT, n);
}

static void
oracle_on_negint8(void *arg, uint8_t n)
{
	oracle_is_number(arg, ITEM_NEGINT, n);
}

static void
oracle_on_negint16(void *arg, uint16_t n)
{
	oracle_is_number(arg, ITEM_NEGINT, n);
}

static void
oracle_on_negint32(void *arg, uint32_t n)
{
	oracle_is_number(arg, ITEM_NEGINT, n);
}

static void
oracle_on_negint64(void *arg, uint64_t n)
{
	oracle_is_number(arg, ITEM_NEGINT, n);
}

/* Lengths, as libcbor hands them over; where size_t has 32 bits they differ. */
#if CBOR_MAJOR_VERSION == 0 && CBOR_MINOR_VERSION < 9
typedef size_t oracle_cbor_count;
#else
typedef uint64_t oracle_cbor_count;
#endif

static void
oracle_on_bytes(void *arg, cbor_data p, oracle_cbor_count len)
{
	oracle_is_string(arg, ITEM_BYTES, p, len);
}

static void
oracle_on_text(void *arg, cbor_data p, oracle_cbor_count len)
{
	oracle_is_string(arg, ITEM_TEXT, p, len);
}

static void
oracle_on_array(void *arg, oracle_cbor_count n)
{
	oracle_is_number(arg, ITEM_ARRAY, n);
}

static void
oracle_on_map(void *arg, oracle_cbor_count n)
{
	oracle_is_number(arg, ITEM_MAP, n);
}

static void
oracle_on_bool(void *arg, bool v)
{
	oracle_is_number(arg, ITEM_BOOL, v);
}

static void
oracle_on_null(void *arg)
{
	oracle_is_number(arg, ITEM_NULL, 0);
}

static const struct cbor_callbacks oracle_callbacks = {
	.uint8 = oracle_on_uint8,
	.uint16 = oracle_on_uint16,
	.uint32 = oracle_on_uint32,
	.uint64 = oracle_on_uint64,
	.negint8 = oracle_on_negint8,
	.negint16 = oracle_on_negint16,
	.negint32 = oracle_on_negint32,
	.negint64 = oracle_on_negint64,
	.byte_string = oracle_on_bytes,
	.byte_string_start = cbor_null_byte_string_start_callback,
	.string = oracle_on_text,
	.string_start = cbor_null_string_start_callback,
	.array_start = oracle_on_array,
	.indef_array_start = cbor_null_indef_array_start_callback,
	.map_start = oracle_on_map,
	.indef_map_start = cbor_null_indef_map_start_callback,
	.tag = cbor_null_tag_callback,
	.float2 = cbor_null_float2_callback,
	.float4 = cbor_null_float4_callback,
	.float8 = cbor_null_float8_callback,
	.undefined = cbor_null_undefined_callback,
	.null = oracle_on_null,
	.boolean = oracle_on_bool,
	.indef_break = cbor_null_indef_break_callback,
};

/* The next item; an array or map only its head. */
static int
oracle_next(struct oracle_in *in, struct oracle_item *it)
{
	struct cbor_decoder_result r;

	it->kind = ITEM_NONE;
	r = cbor_stream_decode(in->p, in->left, &oracle_callbacks, it);
	if (r.status != CBOR_DECODER_FINISHED || it->kind == ITEM_NONE)
		return -EBADMSG;
	in->p += r.read;
	in->left -= r.read;
	return 0;
}

static int
oracle_next_is(struct oracle_in *in, enum oracle_kind kind, struct oracle_item *it)
{
	return oracle_next(in, it) || it->kind != kind ? -EBADMSG : 0;
}

/* An item with all that is in it. */
static int
oracle_skip(struct oracle_in *in)
{
	uint64_t todo = 1;
	struct oracle_item it;

	for (; todo > 0; todo--) {
		if (oracle_next(in, &it))
			return -EBADMSG;
		if (it.kind == ITEM_ARRAY)
			todo += it.n;
		else if (it.kind == ITEM_MAP)
			todo += 2 * it.n;
	}
	return 0;
}

/* --- values ------------------------------------------------------------- */

static int
oracle_set_uint(void *member, size_t size, uint64_t max, const struct oracle_item *it)
{
	uint64_t fits = size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;

	if (it->kind != ITEM_UINT || it->n > max || it->n > fits)
		return -EBADMSG;
	wire_member_set(member, size, it->n);
	return 0;
}

static int
oracle_set_int(void *member, size_t size, const struct oracle_item *it)
{
	uint64_t fits = (UINT64_C(1) << (8 * size - 1)) - 1;

	if ((it->kind != ITEM_UINT && it->kind != ITEM_NEGINT) || it->n > fits)
		return -EBADMSG;
	wire_member_set(member, size, it->kind == ITEM_UINT ? it->n : ~it->n);
	return 0;
}

static int
oracle_set_text(struct wire_text *t, uint64_t max, const struct oracle_item *it)
{
	if (it->kind != ITEM_TEXT || it->n > max)
		return -EBADMSG;
	*t = (struct wire_text) { (const char *)it->p, (size_t)it->n };
	return 0;
}

static int
oracle_get_uints(struct oracle_in *in, char *first, size_t n, size_t size)
{
	struct oracle_item it;
	size_t i;

	for (i = 0; i < n; i++)
		if (oracle_next(in, &it) ||
		    oracle_set_uint(first + i * size, size, UINT64_MAX, &it))
			return -EBADMSG;
	return 0;
}

/*
 * A later version may have more numbers than ours: they are skipped.  Those
 * that an earlier one does not have stay as they are in a new message: 0.
 */
static int
oracle_get_neighbours(struct oracle_in *in, const struct wire_field *f, void *member)
{
	struct oracle_item it;
	size_t i;

	if (oracle_next_is(in, ITEM_ARRAY, &it) || it.n < f->least ||
	    oracle_get_uints(in, member, it.n < f->n ? it.n : f->n, f->size))
		return -EBADMSG;
	for (i = f->n; i < it.n; i++)
		if (oracle_skip(in))
			return -EBADMSG;
	return 0;
}

static int
oracle_get_list(struct oracle_in *in, const struct wire_field *f, void *member,
    size_t *count)
{
	struct oracle_item it;

	if (oracle_next_is(in, ITEM_ARRAY, &it) || it.n > f->n)
		return -EBADMSG;
	*count = (size_t)it.n;
	return oracle_get_uints(in, member, *count, f->size);
}

static int
oracle_get_texts(struct oracle_in *in, const struct wire_field *f, struct wire_text *t,
    size_t *count)
{
	struct oracle_item it;
	size_t i;

	if (oracle_next_is(in, ITEM_ARRAY, &it) || it.n > f->n)
		return -EBADMSG;
	*count = (size_t)it.n;
	for (i = 0; i < *count; i++)
		if (oracle_next(in, &it) || oracle_set_text(&t[i], WIRE_TEXT_MAX, &it))
			return -EBADMSG;
	return 0;
}

/* An empty name would read as the number 0: it is refused. */
static int
oracle_get_info(struct oracle_in *in, const struct wire_field *f, struct wire_info *info,
    size_t *count)
{
	struct oracle_item it;
	size_t i;

	if (oracle_next_is(in, ITEM_ARRAY, &it) || it.n % 2 != 0 || it.n / 2 > f->n)
		return -EBADMSG;
	*count = (size_t)it.n / 2;
	for (i = 0; i < *count; i++, info++) {
		if (oracle_next(in, &it) ||
		    oracle_set_uint(&info->at, sizeof info->at, UINT64_MAX, &it) ||
		    oracle_next(in, &it))
			return -EBADMSG;
		if (it.kind == ITEM_TEXT && it.n == 0)
			return -EBADMSG;
		if (it.kind == ITEM_TEXT ?
		    oracle_set_text(&info->name, WIRE_INFO_NAME_MAX, &it) :
		    oracle_set_uint(&info->node, sizeof info->node, UINT64_MAX, &it))
			return -EBADMSG;
	}
	return 0;
}

/* Losses of causes that are not ours yet still count: all of them under 0. */
static int
oracle_get_lost(struct oracle_in *in, const struct wire_field *f, struct wire_lost *lost)
{
	struct oracle_item it, cause, pair, count, exact;
	struct wire_lost *l;
	size_t i;

	if (oracle_next_is(in, ITEM_MAP, &it))
		return -EBADMSG;
	for (i = 0; i < it.n; i++) {
		if (oracle_next_is(in, ITEM_UINT, &cause) ||
		    oracle_next_is(in, ITEM_ARRAY, &pair) || pair.n != 2 ||
		    oracle_next_is(in, ITEM_UINT, &count) ||
		    oracle_next_is(in, ITEM_BOOL, &exact))
			return -EBADMSG;
		if (count.n == 0)
			continue;
		l = &lost[cause.n < f->n ? cause.n : 0];
		l->exact = exact.n && (l->count == 0 || l->exact);
		if (__builtin_add_overflow(l->count, count.n, &l->count)) {
			l->count = UINT64_MAX;
			l->exact = false;
		}
	}
	return 0;
}

static int
oracle_get_or_last(struct oracle_in *in, const struct wire_field *f, void *member,
    bool *last)
{
	struct oracle_item it;

	if (oracle_next(in, &it))
		return -EBADMSG;
	*last = it.kind == ITEM_NULL;
	return *last ? 0 : oracle_set_uint(member, f->size, f->max, &it);
}

static int
oracle_get_id(struct oracle_in *in, const struct wire_field *f, void *member)
{
	struct oracle_item it;

	if (oracle_next_is(in, ITEM_BYTES, &it) || it.n != f->size)
		return -EBADMSG;
	memcpy(member, it.p, f->size);
	return 0;
}

static int
oracle_get_bytes(struct oracle_in *in, const struct wire_field *f, struct wire_bytes *b)
{
	struct oracle_item it;

	if (oracle_next_is(in, ITEM_BYTES, &it) || it.n > f->max)
		return -EBADMSG;
	*b = (struct wire_bytes) { it.p, (size_t)it.n };
	return 0;
}

static int
oracle_get_scalar(struct oracle_in *in, const struct wire_field *f, void *member)
{
	struct oracle_item it;

	if (oracle_next(in, &it))
		return -EBADMSG;
	switch (f->kind) {
	case WIRE_V_INT:
		return oracle_set_int(member, f->size, &it);
	case WIRE_V_BOOL:
		if (it.kind != ITEM_BOOL)
			return -EBADMSG;
		*(bool *)member = it.n;
		return 0;
	case WIRE_V_TEXT:
		return oracle_set_text(member, f->max, &it);
	default:
		return oracle_set_uint(member, f->size, f->max, &it);
	}
}

static int
oracle_get_value(struct oracle_in *in, const struct wire_field *f, struct wire_msg *m)
{
	void *member = (char *)m + f->at;
	void *second = (char *)m + f->at2;

	switch (f->kind) {
	case WIRE_V_BYTES:
		return oracle_get_bytes(in, f, member);
	case WIRE_V_ID:
		return oracle_get_id(in, f, member);
	case WIRE_V_UINTS:
		return oracle_get_neighbours(in, f, member);
	case WIRE_V_LIST:
		return oracle_get_list(in, f, member, second);
	case WIRE_V_TEXTS:
		return oracle_get_texts(in, f, member, second);
	case WIRE_V_INFO:
		return oracle_get_info(in, f, member, second);
	case WIRE_V_LOST:
		return oracle_get_lost(in, f, member);
	case WIRE_V_OR_LAST:
		return oracle_get_or_last(in, f, member, second);
	default:
		return oracle_get_scalar(in, f, member);
	}
}

/* --- messages ----------------------------------------------------------- */

/* The index of the key's field; nfields if the message has none such. */
static size_t
oracle_find(const struct wire_layout *l, uint64_t key)
{
	size_t i;

	for (i = 0; i < l->nfields; i++)
		if (l->fields[i].key == key)
			break;
	return i;
}

/* Reads the fields of `l` from a map and steps over all others. */
static int
oracle_get_fields(const uint8_t *map, size_t len, const struct wire_layout *l,
    struct wire_msg *m)
{
	struct oracle_in in = { .p = map, .left = len };
	struct oracle_item it, key;
	uint32_t found = 0;
	size_t i, n;

	assert(l->nfields <= 32);
	if (oracle_next_is(&in, ITEM_MAP, &it))
		return -EBADMSG;
	for (n = 0; n < it.n; n++) {
		if (oracle_next_is(&in, ITEM_UINT, &key))
			return -EBADMSG;
		i = oracle_find(l, key.n);
		if (i < l->nfields ? oracle_get_value(&in, &l->fields[i], m) :
		    oracle_skip(&in))
			return -EBADMSG;
		if (i < l->nfields)
			found |= UINT32_C(1) << i;
	}
	for (i = 0; i < l->nfields; i++)
		if (l->fields[i].must && !(found & UINT32_C(1) << i))
			return -EBADMSG;
	return l->check != NULL && l->check(m) ? -EBADMSG : 0;
}

/*
 * As wire_decode().  All of struct wire_msg is set, and what no field says is
 * zero.
 */
static inline int
oracle_decode(const uint8_t *map, size_t len, struct wire_msg *msg)
{
	struct wire_msg m;
	const struct wire_layout *l;

	memset(&m, 0, sizeof m);
	if (oracle_check_shape(map, len) ||
	    oracle_get_fields(map, len, &wire_common, &m))
		return -EBADMSG;
	l = wire_layout(m.type);
	if (l == NULL) {
		msg->type = m.type;
		msg->id = m.id;
		return -ENOMSG;
	}
	if (oracle_get_fields(map, len, l, &m))
		return -EBADMSG;
	*msg = m;
	return 0;
}

#endif
