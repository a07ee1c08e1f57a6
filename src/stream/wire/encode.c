/*
 * wire_encode: a message into a frame, straight into the caller's buffer.
 *
 * Everything is checked before the first byte is written; after that only
 * room can be missing.  A writer out of room stays so, and its last user asks.
 */
#include <cbor.h>
#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "table.h"

struct out {
	uint8_t *p;
	size_t left;
	bool full;
};

struct wire_text
wire_text(const char *s)
{
	struct wire_text t = { .s = s };

	if (s == NULL)
		return t;
	t.len = strnlen(s, WIRE_TEXT_MAX + 1);
	if (t.len <= WIRE_TEXT_MAX)
		return t;
	t.len = WIRE_TEXT_MAX;
	while (t.len > WIRE_TEXT_MAX - 3 &&
	    ((unsigned char)s[t.len] & 0xc0) == 0x80)
		t.len--;
	return t;
}

/* The result of one of libcbor's encoders: its bytes, 0 for no room. */
static void
wrote(struct out *o, size_t n)
{
	if (n == 0) {
		o->full = true;
		o->left = 0;
		return;
	}
	o->p += n;
	o->left -= n;
}

static void
put_uint(struct out *o, uint64_t v)
{
	wrote(o, cbor_encode_uint(v, o->p, o->left));
}

static void
put_int(struct out *o, int64_t v)
{
	if (v >= 0)
		put_uint(o, (uint64_t)v);
	else
		wrote(o, cbor_encode_negint(~(uint64_t)v, o->p, o->left));
}

static void
put_bool(struct out *o, bool v)
{
	wrote(o, cbor_encode_bool(v, o->p, o->left));
}

static void
put_array(struct out *o, size_t n)
{
	wrote(o, cbor_encode_array_start(n, o->p, o->left));
}

static void
put_map(struct out *o, size_t pairs)
{
	wrote(o, cbor_encode_map_start(pairs, o->p, o->left));
}

static void
put_raw(struct out *o, const void *p, size_t len)
{
	if (len == 0)
		return;
	if (len > o->left) {
		wrote(o, 0);
		return;
	}
	memcpy(o->p, p, len);
	wrote(o, len);
}

static void
put_bytes(struct out *o, const uint8_t *p, size_t len)
{
	wrote(o, cbor_encode_bytestring_start(len, o->p, o->left));
	put_raw(o, p, len);
}

/* Outside text: bytes that are no UTF-8 go out as '?'. */
static void
put_text(struct out *o, const struct wire_text *t)
{
	size_t i, n, len = t->len;
	uint32_t codepoint;

	wrote(o, cbor_encode_string_start(len, o->p, o->left));
	for (i = 0; i < len; i += n) {
		n = base_utf8_char(t->s + i, len - i, &codepoint);
		if (n > 0) {
			put_raw(o, t->s + i, n);
		} else {
			put_raw(o, "?", 1);
			n = 1;
		}
	}
}

static const void *
member_of(const struct wire_msg *m, uint32_t at)
{
	return (const char *)m + at;
}

static size_t
counter_of(const struct wire_msg *m, const struct wire_field *f)
{
	size_t n;

	memcpy(&n, member_of(m, f->at2), sizeof n);
	return n;
}

static int64_t
signed_of(const void *member, size_t size)
{
	uint64_t v = wire_member_get(member, size);

	return size == 4 ? (int32_t)v : (int64_t)v;
}

static bool
is_zero(const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != 0)
			return false;
	return true;
}

static size_t
causes(const struct wire_lost *lost, size_t n)
{
	size_t i, found = 0;

	for (i = 0; i < n; i++)
		found += lost[i].count > 0;
	return found;
}

static bool
is_sent(const struct wire_msg *m, const struct wire_field *f)
{
	const void *member = member_of(m, f->at);

	if (f->must)
		return true;
	switch (f->kind) {
	case WIRE_V_TEXT:
		return ((const struct wire_text *)member)->len > 0;
	case WIRE_V_BYTES:
		return ((const struct wire_bytes *)member)->len > 0;
	case WIRE_V_LIST:
	case WIRE_V_TEXTS:
	case WIRE_V_INFO:
		return counter_of(m, f) > 0;
	case WIRE_V_LOST:
		return causes(member, f->n) > 0;
	default:
		return !is_zero(member, f->size);
	}
}

static bool
texts_are_legal(const struct wire_text *t, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (t[i].len > WIRE_TEXT_MAX)
			return false;
	return true;
}

static bool
info_is_legal(const struct wire_info *info, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (info[i].name.len > WIRE_INFO_NAME_MAX)
			return false;
	return true;
}

static bool
is_legal(const struct wire_msg *m, const struct wire_field *f)
{
	const void *member = member_of(m, f->at);

	switch (f->kind) {
	case WIRE_V_UINT:
		return wire_member_get(member, f->size) <= f->max;
	case WIRE_V_TEXT:
		return ((const struct wire_text *)member)->len <= f->max;
	case WIRE_V_BYTES:
		return ((const struct wire_bytes *)member)->len <= f->max;
	case WIRE_V_LIST:
		return counter_of(m, f) <= f->n;
	case WIRE_V_TEXTS:
		return counter_of(m, f) <= f->n &&
		    texts_are_legal(member, counter_of(m, f));
	case WIRE_V_INFO:
		return counter_of(m, f) <= f->n &&
		    info_is_legal(member, counter_of(m, f));
	default:
		return true;
	}
}

static int
check_limits(const struct wire_msg *m, const struct wire_layout *l)
{
	size_t i;

	for (i = 0; i < l->nfields; i++)
		if (!is_legal(m, &l->fields[i]))
			return -EINVAL;
	return l->check != NULL ? l->check(m) : 0;
}

static void
put_uints(struct out *o, const char *first, size_t n, size_t size)
{
	size_t i;

	put_array(o, n);
	for (i = 0; i < n; i++)
		put_uint(o, wire_member_get(first + i * size, size));
}

static void
put_texts(struct out *o, const struct wire_text *t, size_t n)
{
	size_t i;

	put_array(o, n);
	for (i = 0; i < n; i++)
		put_text(o, &t[i]);
}

static void
put_info(struct out *o, const struct wire_info *info, size_t n)
{
	size_t i;

	put_array(o, 2 * n);
	for (i = 0; i < n; i++) {
		put_uint(o, info[i].at);
		if (info[i].name.len > 0)
			put_text(o, &info[i].name);
		else
			put_uint(o, info[i].node);
	}
}

static void
put_lost(struct out *o, const struct wire_lost *lost, size_t n)
{
	size_t cause;

	put_map(o, causes(lost, n));
	for (cause = 0; cause < n; cause++) {
		if (lost[cause].count == 0)
			continue;
		put_uint(o, cause);
		put_array(o, 2);
		put_uint(o, lost[cause].count);
		put_bool(o, lost[cause].exact);
	}
}

static void
put_value(struct out *o, const struct wire_msg *m, const struct wire_field *f)
{
	const void *member = member_of(m, f->at);
	const struct wire_bytes *bytes = member;

	switch (f->kind) {
	case WIRE_V_UINT:
		put_uint(o, wire_member_get(member, f->size));
		break;
	case WIRE_V_INT:
		put_int(o, signed_of(member, f->size));
		break;
	case WIRE_V_BOOL:
		put_bool(o, *(const bool *)member);
		break;
	case WIRE_V_TEXT:
		put_text(o, member);
		break;
	case WIRE_V_BYTES:
		put_bytes(o, bytes->p, bytes->len);
		break;
	case WIRE_V_ID:
		put_bytes(o, member, f->size);
		break;
	case WIRE_V_UINTS:
		put_uints(o, member, f->n, f->size);
		break;
	case WIRE_V_LIST:
		put_uints(o, member, counter_of(m, f), f->size);
		break;
	case WIRE_V_TEXTS:
		put_texts(o, member, counter_of(m, f));
		break;
	case WIRE_V_INFO:
		put_info(o, member, counter_of(m, f));
		break;
	case WIRE_V_LOST:
		put_lost(o, member, f->n);
		break;
	case WIRE_V_OR_LAST:
		if (*(const bool *)member_of(m, f->at2))
			wrote(o, cbor_encode_null(o->p, o->left));
		else
			put_uint(o, wire_member_get(member, f->size));
		break;
	}
}

static size_t
fields_sent(const struct wire_msg *m, const struct wire_layout *l)
{
	size_t i, n = 0;

	for (i = 0; i < l->nfields; i++)
		n += is_sent(m, &l->fields[i]);
	return n;
}

static void
put_fields(struct out *o, const struct wire_msg *m,
    const struct wire_layout *l)
{
	const struct wire_field *f;
	size_t i;

	for (i = 0; i < l->nfields; i++) {
		f = &l->fields[i];
		if (!is_sent(m, f))
			continue;
		put_uint(o, f->key);
		put_value(o, m, f);
	}
}

int
wire_encode(const struct wire_msg *m, uint8_t *out, size_t cap, size_t *len)
{
	const struct wire_layout *l = wire_layout(m->type);
	struct out o;
	size_t n;

	if (l == NULL || check_limits(m, l))
		return -EINVAL;
	if (cap < WIRE_LENGTH_SIZE)
		return -ENOBUFS;
	o = (struct out) { .p = out + WIRE_LENGTH_SIZE,
		.left = cap - WIRE_LENGTH_SIZE };
	put_map(&o, fields_sent(m, &wire_common) + fields_sent(m, l));
	put_fields(&o, m, &wire_common);
	put_fields(&o, m, l);
	if (o.full)
		return -ENOBUFS;
	n = (size_t)(o.p - out) - WIRE_LENGTH_SIZE;
	out[0] = (uint8_t)(n >> 24);
	out[1] = (uint8_t)(n >> 16);
	out[2] = (uint8_t)(n >> 8);
	out[3] = (uint8_t)n;
	*len = n + WIRE_LENGTH_SIZE;
	return 0;
}
