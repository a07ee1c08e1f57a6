/*
 * wire_decode: a map into a message, item by item through libcbor's stateless
 * decoder and only behind the shape check.
 *
 * The shape says that every item is whole and that nothing nests too deep;
 * what is looked at here is whether each key has the kind of value that its
 * field wants, within the field's range.  Texts and byte strings point into
 * the message's store, one copy of the whole map.
 */
#include <assert.h>
#include <cbor.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum item_kind {
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

struct item {
	enum item_kind kind;
	uint64_t n;		/* value, length or count; of a negative -1 - value */
	const uint8_t *p;	/* of bytes and text */
};

struct in {
	const uint8_t *p;
	size_t left;
};

/* --- items -------------------------------------------------------------- */

static void
is_number(void *arg, enum item_kind kind, uint64_t n)
{
	*(struct item *)arg = (struct item) { .kind = kind, .n = n };
}

static void
is_string(void *arg, enum item_kind kind, const uint8_t *p, size_t len)
{
	*(struct item *)arg = (struct item) { .kind = kind, .n = len, .p = p };
}

static void
on_uint8(void *arg, uint8_t n)
{
	is_number(arg, ITEM_UINT, n);
}

static void
on_uint16(void *arg, uint16_t n)
{
	is_number(arg, ITEM_UINT, n);
}

static void
on_uint32(void *arg, uint32_t n)
{
	is_number(arg, ITEM_UINT, n);
}

static void
on_uint64(void *arg, uint64_t n)
{
	is_number(arg, ITEM_UINT, n);
}

static void
on_negint8(void *arg, uint8_t n)
{
	is_number(arg, ITEM_NEGINT, n);
}

static void
on_negint16(void *arg, uint16_t n)
{
	is_number(arg, ITEM_NEGINT, n);
}

static void
on_negint32(void *arg, uint32_t n)
{
	is_number(arg, ITEM_NEGINT, n);
}

static void
on_negint64(void *arg, uint64_t n)
{
	is_number(arg, ITEM_NEGINT, n);
}

/* Lengths, as libcbor hands them over; where size_t has 32 bits they differ. */
#if CBOR_MAJOR_VERSION == 0 && CBOR_MINOR_VERSION < 9
typedef size_t cbor_count;
#else
typedef uint64_t cbor_count;
#endif

static void
on_bytes(void *arg, cbor_data p, cbor_count len)
{
	is_string(arg, ITEM_BYTES, p, len);
}

static void
on_text(void *arg, cbor_data p, cbor_count len)
{
	is_string(arg, ITEM_TEXT, p, len);
}

static void
on_array(void *arg, cbor_count n)
{
	is_number(arg, ITEM_ARRAY, n);
}

static void
on_map(void *arg, cbor_count n)
{
	is_number(arg, ITEM_MAP, n);
}

static void
on_bool(void *arg, bool v)
{
	is_number(arg, ITEM_BOOL, v);
}

static void
on_null(void *arg)
{
	is_number(arg, ITEM_NULL, 0);
}

static const struct cbor_callbacks callbacks = {
	.uint8 = on_uint8,
	.uint16 = on_uint16,
	.uint32 = on_uint32,
	.uint64 = on_uint64,
	.negint8 = on_negint8,
	.negint16 = on_negint16,
	.negint32 = on_negint32,
	.negint64 = on_negint64,
	.byte_string = on_bytes,
	.byte_string_start = cbor_null_byte_string_start_callback,
	.string = on_text,
	.string_start = cbor_null_string_start_callback,
	.array_start = on_array,
	.indef_array_start = cbor_null_indef_array_start_callback,
	.map_start = on_map,
	.indef_map_start = cbor_null_indef_map_start_callback,
	.tag = cbor_null_tag_callback,
	.float2 = cbor_null_float2_callback,
	.float4 = cbor_null_float4_callback,
	.float8 = cbor_null_float8_callback,
	.undefined = cbor_null_undefined_callback,
	.null = on_null,
	.boolean = on_bool,
	.indef_break = cbor_null_indef_break_callback,
};

/* The next item; an array or map only its head. */
static int
next(struct in *in, struct item *it)
{
	struct cbor_decoder_result r;

	it->kind = ITEM_NONE;
	r = cbor_stream_decode(in->p, in->left, &callbacks, it);
	if (r.status != CBOR_DECODER_FINISHED || it->kind == ITEM_NONE)
		return -EBADMSG;
	in->p += r.read;
	in->left -= r.read;
	return 0;
}

static int
next_is(struct in *in, enum item_kind kind, struct item *it)
{
	return next(in, it) || it->kind != kind ? -EBADMSG : 0;
}

/* An item with all that is in it. */
static int
skip(struct in *in)
{
	uint64_t todo = 1;
	struct item it;

	for (; todo > 0; todo--) {
		if (next(in, &it))
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
set_uint(void *member, size_t size, uint64_t max, const struct item *it)
{
	uint64_t fits = size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;

	if (it->kind != ITEM_UINT || it->n > max || it->n > fits)
		return -EBADMSG;
	wire_member_set(member, size, it->n);
	return 0;
}

static int
set_int(void *member, size_t size, const struct item *it)
{
	uint64_t fits = (UINT64_C(1) << (8 * size - 1)) - 1;

	if ((it->kind != ITEM_UINT && it->kind != ITEM_NEGINT) || it->n > fits)
		return -EBADMSG;
	wire_member_set(member, size, it->kind == ITEM_UINT ? it->n : ~it->n);
	return 0;
}

static int
set_text(struct wire_text *t, uint64_t max, const struct item *it)
{
	if (it->kind != ITEM_TEXT || it->n > max)
		return -EBADMSG;
	*t = (struct wire_text) { (const char *)it->p, (size_t)it->n };
	return 0;
}

static int
get_uints(struct in *in, char *first, size_t n, size_t size)
{
	struct item it;
	size_t i;

	for (i = 0; i < n; i++)
		if (next(in, &it) ||
		    set_uint(first + i * size, size, UINT64_MAX, &it))
			return -EBADMSG;
	return 0;
}

/*
 * A later version may have more numbers than ours: they are skipped.  Those
 * that an earlier one does not have stay as they are in a new message: 0.
 */
static int
get_neighbours(struct in *in, const struct wire_field *f, void *member)
{
	struct item it;
	size_t i;

	if (next_is(in, ITEM_ARRAY, &it) || it.n < f->least ||
	    get_uints(in, member, it.n < f->n ? it.n : f->n, f->size))
		return -EBADMSG;
	for (i = f->n; i < it.n; i++)
		if (skip(in))
			return -EBADMSG;
	return 0;
}

static int
get_list(struct in *in, const struct wire_field *f, void *member,
    size_t *count)
{
	struct item it;

	if (next_is(in, ITEM_ARRAY, &it) || it.n > f->n)
		return -EBADMSG;
	*count = (size_t)it.n;
	return get_uints(in, member, *count, f->size);
}

static int
get_texts(struct in *in, const struct wire_field *f, struct wire_text *t,
    size_t *count)
{
	struct item it;
	size_t i;

	if (next_is(in, ITEM_ARRAY, &it) || it.n > f->n)
		return -EBADMSG;
	*count = (size_t)it.n;
	for (i = 0; i < *count; i++)
		if (next(in, &it) || set_text(&t[i], WIRE_TEXT_MAX, &it))
			return -EBADMSG;
	return 0;
}

/* An empty name would read as the number 0: it is refused. */
static int
get_info(struct in *in, const struct wire_field *f, struct wire_info *info,
    size_t *count)
{
	struct item it;
	size_t i;

	if (next_is(in, ITEM_ARRAY, &it) || it.n % 2 != 0 || it.n / 2 > f->n)
		return -EBADMSG;
	*count = (size_t)it.n / 2;
	for (i = 0; i < *count; i++, info++) {
		if (next(in, &it) ||
		    set_uint(&info->at, sizeof info->at, UINT64_MAX, &it) ||
		    next(in, &it))
			return -EBADMSG;
		if (it.kind == ITEM_TEXT && it.n == 0)
			return -EBADMSG;
		if (it.kind == ITEM_TEXT ?
		    set_text(&info->name, WIRE_INFO_NAME_MAX, &it) :
		    set_uint(&info->node, sizeof info->node, UINT64_MAX, &it))
			return -EBADMSG;
	}
	return 0;
}

/* Losses of causes that are not ours yet still count: all of them under 0. */
static int
get_lost(struct in *in, const struct wire_field *f, struct wire_lost *lost)
{
	struct item it, cause, pair, count, exact;
	struct wire_lost *l;
	size_t i;

	if (next_is(in, ITEM_MAP, &it))
		return -EBADMSG;
	for (i = 0; i < it.n; i++) {
		if (next_is(in, ITEM_UINT, &cause) ||
		    next_is(in, ITEM_ARRAY, &pair) || pair.n != 2 ||
		    next_is(in, ITEM_UINT, &count) ||
		    next_is(in, ITEM_BOOL, &exact))
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
get_or_last(struct in *in, const struct wire_field *f, void *member,
    bool *last)
{
	struct item it;

	if (next(in, &it))
		return -EBADMSG;
	*last = it.kind == ITEM_NULL;
	return *last ? 0 : set_uint(member, f->size, f->max, &it);
}

static int
get_id(struct in *in, const struct wire_field *f, void *member)
{
	struct item it;

	if (next_is(in, ITEM_BYTES, &it) || it.n != f->size)
		return -EBADMSG;
	memcpy(member, it.p, f->size);
	return 0;
}

static int
get_bytes(struct in *in, const struct wire_field *f, struct wire_bytes *b)
{
	struct item it;

	if (next_is(in, ITEM_BYTES, &it) || it.n > f->max)
		return -EBADMSG;
	*b = (struct wire_bytes) { it.p, (size_t)it.n };
	return 0;
}

static int
get_scalar(struct in *in, const struct wire_field *f, void *member)
{
	struct item it;

	if (next(in, &it))
		return -EBADMSG;
	switch (f->kind) {
	case WIRE_V_INT:
		return set_int(member, f->size, &it);
	case WIRE_V_BOOL:
		if (it.kind != ITEM_BOOL)
			return -EBADMSG;
		*(bool *)member = it.n;
		return 0;
	case WIRE_V_TEXT:
		return set_text(member, f->max, &it);
	default:
		return set_uint(member, f->size, f->max, &it);
	}
}

static int
get_value(struct in *in, const struct wire_field *f, struct wire_msg *m)
{
	void *member = (char *)m + f->at;
	void *second = (char *)m + f->at2;

	switch (f->kind) {
	case WIRE_V_BYTES:
		return get_bytes(in, f, member);
	case WIRE_V_ID:
		return get_id(in, f, member);
	case WIRE_V_UINTS:
		return get_neighbours(in, f, member);
	case WIRE_V_LIST:
		return get_list(in, f, member, second);
	case WIRE_V_TEXTS:
		return get_texts(in, f, member, second);
	case WIRE_V_INFO:
		return get_info(in, f, member, second);
	case WIRE_V_LOST:
		return get_lost(in, f, member);
	case WIRE_V_OR_LAST:
		return get_or_last(in, f, member, second);
	default:
		return get_scalar(in, f, member);
	}
}

/* --- messages ----------------------------------------------------------- */

/* The index of the key's field; nfields if the message has none such. */
static size_t
find(const struct wire_layout *l, uint64_t key)
{
	size_t i;

	for (i = 0; i < l->nfields; i++)
		if (l->fields[i].key == key)
			break;
	return i;
}

/* Reads the fields of `l` from a map and steps over all others. */
static int
get_fields(const uint8_t *map, size_t len, const struct wire_layout *l,
    struct wire_msg *m)
{
	struct in in = { .p = map, .left = len };
	struct item it, key;
	uint32_t found = 0;
	size_t i, n;

	assert(l->nfields <= 32);
	if (next_is(&in, ITEM_MAP, &it))
		return -EBADMSG;
	for (n = 0; n < it.n; n++) {
		if (next_is(&in, ITEM_UINT, &key))
			return -EBADMSG;
		i = find(l, key.n);
		if (i < l->nfields ? get_value(&in, &l->fields[i], m) :
		    skip(&in))
			return -EBADMSG;
		if (i < l->nfields)
			found |= UINT32_C(1) << i;
	}
	for (i = 0; i < l->nfields; i++)
		if (l->fields[i].must && !(found & UINT32_C(1) << i))
			return -EBADMSG;
	return l->check != NULL && l->check(m) ? -EBADMSG : 0;
}

int
wire_decode(const uint8_t *map, size_t len, struct wire_msg *msg)
{
	struct wire_msg m = { .type = 0 };
	const struct wire_layout *l;

	if (wire_check_shape(map, len) ||
	    get_fields(map, len, &wire_common, &m))
		return -EBADMSG;
	l = wire_layout(m.type);
	if (l == NULL) {
		msg->type = m.type;
		msg->id = m.id;
		return -ENOMSG;
	}
	m.store = malloc(len);
	if (m.store == NULL)
		return -ENOMEM;
	memcpy(m.store, map, len);
	if (get_fields(m.store, len, l, &m)) {
		free(m.store);
		return -EBADMSG;
	}
	*msg = m;
	return 0;
}

void
wire_msg_fini(struct wire_msg *m)
{
	free(m->store);
	m->store = NULL;
}
