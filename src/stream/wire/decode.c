/*
 * One pass, item by item through libcbor's stateless decoder, checks the map's
 * shape (wire.h) and takes the fields' values.  Nothing recurses, allocates or
 * keeps more than the levels of one value.
 *
 * The pass goes item by item through libcbor's stateless decoder, checks the
 * shape of the map (wire.h) and takes the values of the fields at once.
 * Nothing here recurses, allocates or keeps more than the levels of one value;
 * the work is one step for each item and each character of text.
 *
 * libcbor 0.8 takes memory for what a head announces before it looks for the
 * bytes, nests to 2,048 and, on 32 bits, cuts lengths of eight bytes: hence
 * only its decoder of single items is used, and the first byte of each item is
 * looked at before.
 */
#include <assert.h>
#include <cbor.h>
#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "table.h"

#define KEYS 256

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
	unsigned items;		/* seen or announced */
};

struct keys {
	uint8_t seen[KEYS / 8];
};

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

#define ON_NUMBER(name, type, kind) \
	static void \
	on_##name(void *arg, type n) \
	{ \
		is_number(arg, kind, n); \
	}
ON_NUMBER(uint8, uint8_t, ITEM_UINT)
ON_NUMBER(uint16, uint16_t, ITEM_UINT)
ON_NUMBER(uint32, uint32_t, ITEM_UINT)
ON_NUMBER(uint64, uint64_t, ITEM_UINT)
ON_NUMBER(negint8, uint8_t, ITEM_NEGINT)
ON_NUMBER(negint16, uint16_t, ITEM_NEGINT)
ON_NUMBER(negint32, uint32_t, ITEM_NEGINT)
ON_NUMBER(negint64, uint64_t, ITEM_NEGINT)
ON_NUMBER(bool, bool, ITEM_BOOL)

/* Lengths and counts: size_t before libcbor 0.9. */
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

ON_NUMBER(array, cbor_count, ITEM_ARRAY)
ON_NUMBER(map, cbor_count, ITEM_MAP)

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

/*
 * Refuses lengths and counts of eight bytes, indefinite ones, tags, floats and
 * whatever the standard has reserved, all of which libcbor must not see.
 */
static bool
is_legal_head(uint8_t first)
{
	unsigned major = first >> 5, info = first & 0x1f;

	if (major <= 1)			/* integers: up to eight bytes */
		return info <= 27;
	if (major <= 5)			/* strings, arrays, maps: up to four */
		return info <= 26;
	return major == 7 && info >= 20 && info <= 22;	/* false, true, null */
}

static bool
is_legal_text(const uint8_t *p, size_t len)
{
	uint32_t codepoint;
	size_t n;

	if (len > WIRE_TEXT_MAX)
		return false;
	for (; len > 0; p += n, len -= n) {
		n = base_utf8_char((const char *)p, len, &codepoint);
		if (n == 0)
			return false;
	}
	return true;
}

static int
announce(struct in *in, uint64_t n)
{
	if (n > WIRE_ITEMS_MAX - in->items)
		return -EBADMSG;
	in->items += (unsigned)n;
	return 0;
}

/* Of an array or map only its head. */
static int
next_item(struct in *in, struct item *it)
{
	struct cbor_decoder_result r;

	if (in->left == 0 || !is_legal_head(in->p[0]))
		return -EBADMSG;
	it->kind = ITEM_NONE;
	r = cbor_stream_decode(in->p, in->left, &callbacks, it);
	if (r.status != CBOR_DECODER_FINISHED)
		return -EBADMSG;
	in->p += r.read;
	in->left -= r.read;
	switch (it->kind) {
	case ITEM_NONE:
		return -EBADMSG;
	case ITEM_TEXT:
		return is_legal_text(it->p, (size_t)it->n) ? 0 : -EBADMSG;
	case ITEM_ARRAY:
		return announce(in, it->n);
	case ITEM_MAP:
		/* A count has 32 bits at most: twice it cannot wrap. */
		return announce(in, 2 * it->n);
	default:
		return 0;
	}
}

static int
next_is(struct in *in, enum item_kind kind, struct item *it)
{
	return next_item(in, it) || it->kind != kind ? -EBADMSG : 0;
}

/* A key: small, unsigned, and the first of its value in this map. */
static int
check_key(struct keys *keys, const struct item *it)
{
	uint8_t bit;

	if (it->kind != ITEM_UINT || it->n >= KEYS)
		return -EBADMSG;
	bit = (uint8_t)(1u << (it->n % 8));
	if (keys->seen[it->n / 8] & bit)
		return -EBADMSG;
	keys->seen[it->n / 8] |= bit;
	return 0;
}

static int
next_key(struct in *in, struct keys *keys, struct item *it)
{
	return next_item(in, it) || check_key(keys, it) ? -EBADMSG : 0;
}

struct level {
	bool map;
	uint64_t left;		/* items to come; in a map keys and values */
	struct keys keys;
};

/* An item with all that is in it, in `depth` arrays and maps. */
static int
skip_item(struct in *in, unsigned depth)
{
	struct level level[WIRE_DEPTH_MAX], *l;
	unsigned n = 0;
	struct item it;

	do {
		if (next_item(in, &it))
			return -EBADMSG;
		if (n > 0) {
			l = &level[n - 1];
			/* An even number to come in a map: a key is due. */
			if (l->map && l->left % 2 == 0 &&
			    check_key(&l->keys, &it))
				return -EBADMSG;
			l->left--;
		}
		if (it.kind == ITEM_ARRAY || it.kind == ITEM_MAP) {
			if (depth + n == WIRE_DEPTH_MAX)
				return -EBADMSG;
			level[n++] = (struct level) {
				.map = it.kind == ITEM_MAP,
				.left = it.kind == ITEM_MAP ? 2 * it.n : it.n,
			};
		}
		while (n > 0 && level[n - 1].left == 0)
			n--;
	} while (n > 0);
	return 0;
}

/* Values lie in the outermost map, and what is in their arrays deeper. */
#define VALUE_DEPTH 1
#define ELEMENT_DEPTH 2

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
		if (next_item(in, &it) ||
		    set_uint(first + i * size, size, UINT64_MAX, &it))
			return -EBADMSG;
	return 0;
}

/* Numbers of a later version are skipped, those of an earlier one stay 0. */
static int
get_neighbours(struct in *in, const struct wire_field *f, void *member,
    size_t *count)
{
	struct item it;
	size_t i;

	if (next_is(in, ITEM_ARRAY, &it) || it.n < f->least ||
	    get_uints(in, member, it.n < f->n ? it.n : f->n, f->size))
		return -EBADMSG;
	for (i = f->n; i < it.n; i++)
		if (skip_item(in, ELEMENT_DEPTH))
			return -EBADMSG;
	if (f->at2 != 0)
		*count = it.n < f->n ? (size_t)it.n : f->n;
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
		if (next_item(in, &it) || set_text(&t[i], WIRE_TEXT_MAX, &it))
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
		if (next_item(in, &it) ||
		    set_uint(&info->at, sizeof info->at, UINT64_MAX, &it) ||
		    next_item(in, &it))
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

/* Losses of unknown causes count as well: all of them under 0. */
static int
get_lost(struct in *in, const struct wire_field *f, struct wire_lost *lost)
{
	struct item it, cause, pair, count, exact;
	struct keys keys = { .seen = { 0 } };
	struct wire_lost *l;
	size_t i;

	if (next_is(in, ITEM_MAP, &it))
		return -EBADMSG;
	for (i = 0; i < it.n; i++) {
		if (next_key(in, &keys, &cause) ||
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

	if (next_item(in, &it))
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

	if (next_item(in, &it))
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
		return get_neighbours(in, f, member, second);
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

#define BODY offsetof(struct wire_msg, hello)

struct pass {
	struct in in;
	const struct wire_layout *layout;	/* NULL: not known (yet) */
	bool typed;			/* the type has come, or was known before */
	bool late;			/* a field was skipped for want of the type */
	uint32_t found, found_common;	/* fields that are there, one bit each */
	struct wire_msg *m;
};

static void
begin_body(struct pass *p, uint32_t type)
{
	p->typed = true;
	p->layout = wire_layout(type);
	if (p->layout != NULL)
		memset((char *)p->m + BODY, 0, p->layout->body);
}

/* The field of a key, with its bit; NULL if there is none. */
static const struct wire_field *
find_field(const struct wire_layout *l, uint64_t key, uint32_t *bit)
{
	size_t i;

	for (i = 0; i < l->nfields; i++)
		if (l->fields[i].key == key) {
			*bit = UINT32_C(1) << i;
			return &l->fields[i];
		}
	return NULL;
}

static int
take_pair(struct pass *p, uint64_t key)
{
	const struct wire_field *f;
	uint32_t bit;

	f = find_field(&wire_common, key, &bit);
	if (f != NULL) {
		if (get_value(&p->in, f, p->m))
			return -EBADMSG;
		p->found_common |= bit;
		if (key == WIRE_KEY_TYPE && !p->typed)
			begin_body(p, p->m->type);
		return 0;
	}
	f = p->layout != NULL ? find_field(p->layout, key, &bit) : NULL;
	if (f == NULL) {
		p->late |= !p->typed;
		return skip_item(&p->in, VALUE_DEPTH);
	}
	p->found |= bit;
	return get_value(&p->in, f, p->m);
}

static bool
has_all(const struct wire_layout *l, uint32_t found)
{
	size_t i;

	for (i = 0; i < l->nfields; i++)
		if (l->fields[i].must && !(found & UINT32_C(1) << i))
			return false;
	return true;
}

static int
take_map(struct pass *p)
{
	struct keys keys = { .seen = { 0 } };
	struct item it, key;
	uint64_t i;

	if (next_is(&p->in, ITEM_MAP, &it))
		return -EBADMSG;
	for (i = 0; i < it.n; i++)
		if (next_key(&p->in, &keys, &key) || take_pair(p, key.n))
			return -EBADMSG;
	return p->in.left == 0 && has_all(&wire_common, p->found_common) ? 0 :
	    -EBADMSG;
}

int
wire_decode(const uint8_t *map, size_t len, struct wire_msg *msg)
{
	const struct in in = { .p = map, .left = len, .items = 1 };
	struct wire_msg m;
	struct pass p = { .in = in, .m = &m };

	if (take_map(&p))
		return -EBADMSG;
	if (p.layout == NULL) {
		msg->type = m.type;
		msg->id = m.id;
		return -ENOMSG;
	}
	/* No encoder of ours sends a field before the type. */
	if (p.late) {
		p = (struct pass) { .in = in, .m = &m };
		begin_body(&p, m.type);
		if (take_map(&p))
			return -EBADMSG;
	}
	assert(p.layout->nfields <= 32);
	if (!has_all(p.layout, p.found) ||
	    (p.layout->check != NULL && p.layout->check(&m)))
		return -EBADMSG;
	memcpy(msg, &m, BODY + p.layout->body);
	return 0;
}
