#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "../record.h"
#include "table.h"

static int
check_hello(const struct wire_msg *m)
{
	return m->hello.min <= m->hello.max ? 0 : -EINVAL;
}

/* `len` bytes are `count` records of either format, each with its tail. */
static bool
is_records(size_t len, uint32_t count, size_t tail)
{
	return len == count * (REC_CLASSIC_SIZE + tail) ||
	    len == count * (REC_WIDE_SIZE + tail);
}

static bool
is_beside(const struct wire_info *info, size_t n, uint32_t count)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (info[i].at >= count)
			return false;
	return true;
}

static int
check_data(const struct wire_msg *m)
{
	const struct wire_data *d = &m->data;

	if (!is_records(d->records.len, d->count, 0) ||
	    !is_beside(d->info, d->ninfo, d->count))
		return -EINVAL;
	if (d->offsets.len != 0 && d->offsets.len != 4 * (size_t)d->count)
		return -EINVAL;
	return 0;
}

static int
check_part(const struct wire_msg *m)
{
	const struct wire_part *p = &m->part;

	if (!is_records(p->blocks.len, p->count, WIRE_BLOCK_TAIL) ||
	    !is_beside(p->info, p->ninfo, p->count))
		return -EINVAL;
	return 0;
}

static int
check_rows(const struct wire_msg *m)
{
	const struct wire_rows *r = &m->rows;
	size_t i;

	if (!is_records(r->blocks.len, r->count, WIRE_BLOCK_TAIL) ||
	    !is_beside(r->info, r->ninfo, r->count) ||
	    (r->who.len != 0 && r->who.len != r->count))
		return -EINVAL;
	for (i = 0; i < r->who.len; i++)
		if (r->who.p[i] > r->ninfo)
			return -EINVAL;
	return 0;
}

static int
check_typed(const struct wire_msg *m)
{
	return m->typed.types.len % WIRE_TYPED_SIZE == 0 ? 0 : -EINVAL;
}

static int
check_sited(const struct wire_msg *m)
{
	struct wire_stack st;
	size_t at = 0;
	uint32_t n = 0;
	int r;

	while ((r = wire_sited_next(m->sited.sites, &at, &st)) == 1)
		n++;
	return r == 0 && n == m->sited.n ? 0 : -EINVAL;
}

/* Each frame once at most, in order. */
static int
check_told(const struct wire_msg *m)
{
	struct wire_words words;
	uint32_t frame = 0, next = 0;
	size_t at = 0;
	int r;

	while ((r = wire_told_next(m->framed.types, &at, &frame, &words)) == 1) {
		if (frame < next || frame >= m->framed.n)
			return -EINVAL;
		next = frame + 1;
	}
	return r == 0 ? 0 : -EINVAL;
}

static int
check_framed(const struct wire_msg *m)
{
	struct wire_words words;
	size_t at = 0;
	uint32_t n = 0;
	int r;

	while ((r = wire_framed_next(m->framed.words, &at, &words)) == 1)
		n++;
	return r == 0 && n == m->framed.n ? check_told(m) : -EINVAL;
}

/* Bytes that lie within their part; the sum is there with the last of them. */
static int
check_lput(const struct wire_msg *m)
{
	const struct wire_lput *l = &m->lput;
	bool last = l->at + l->bytes.len == l->total;

	if (l->part > l->parts || l->at + l->bytes.len > l->total)
		return -EINVAL;
	return l->sha256.len == 0 || (last && l->sha256.len == WIRE_SHA256) ?
	    0 : -EINVAL;
}

static int
check_lgot(const struct wire_msg *m)
{
	const struct wire_lgot *l = &m->lgot;

	return l->sha256.len == 0 || (l->at + l->bytes.len == l->size &&
	    l->sha256.len == WIRE_SHA256) ? 0 : -EINVAL;
}

static int
check_regioned(const struct wire_msg *m)
{
	return m->regioned.regions.len % WIRE_REGION_SIZE == 0 ? 0 : -EINVAL;
}

static int
check_marked(const struct wire_msg *m)
{
	return m->marked.marks.len % WIRE_MARK_SIZE == 0 ? 0 : -EINVAL;
}

static int
check_used(const struct wire_msg *m)
{
	return m->used.rows.len % WIRE_USAGE_SIZE == 0 ? 0 : -EINVAL;
}

/* The rows are of one size; how many counters each has is said beside them. */
static int
check_touched(const struct wire_msg *m)
{
	const struct wire_touched *t = &m->touched;

	return t->ranges.len % WIRE_TOUCH_RANGE == 0 &&
	    t->rows.len % WIRE_TOUCH_ROW(t->counters) == 0 ? 0 : -EINVAL;
}

static int
check_memories(const struct wire_msg *m)
{
	return m->memories.rows.len % WIRE_MEMORY_SIZE == 0 ? 0 : -EINVAL;
}

#define MUST true
#define MAY false
#define ANY UINT64_MAX
#define AT(body, member) \
	.name = #body "." #member, .at = offsetof(struct wire_msg, body.member)
#define AT2(body, member) .at2 = offsetof(struct wire_msg, body.member)

/* A field but for its key, need and kind. */
#define ROW_UINT(body, type, member, max_) \
	AT(body, member), .size = sizeof(type), .max = (max_)
#define ROW_INT(body, type, member) AT(body, member), .size = sizeof(type)
#define ROW_BOOL(body, member) AT(body, member), .size = sizeof(bool)
#define ROW_TEXT(body, member) AT(body, member), .max = WIRE_TEXT_MAX
#define ROW_BYTES(body, member, max_) AT(body, member), .max = (max_)
#define ROW_ID(body, member) AT(body, member), .size = WIRE_EPOCH
#define ROW_PAIR(body, type, first, second) \
	AT(body, first), .size = sizeof(type), .n = 2, .least = 2
#define ROW_NUMBERS(body, member, count) \
	AT(body, member), AT2(body, count), .size = sizeof(uint64_t), \
	.n = WIRE_STATS_COUNT, .least = WIRE_STATS_FIRST
#define ROW_LIST(body, type, member, count, n_) \
	AT(body, member), AT2(body, count), .size = sizeof(type), .n = (n_)
#define ROW_TEXTS(body, member, count, n_) \
	AT(body, member), AT2(body, count), .n = (n_)
#define ROW_INFO(body, member, count) \
	AT(body, member), AT2(body, count), .n = WIRE_INFO_MAX
#define ROW_LOST(body, member) AT(body, member), .n = WIRE_CAUSES
#define ROW_OR_LAST(body, type, member, last) \
	AT(body, member), AT2(body, last), .size = sizeof(type), .max = ANY

/* Two kinds of wire.def are one in the codec. */
#define WIRE_V_PAIR WIRE_V_UINTS
#define WIRE_V_NUMBERS WIRE_V_UINTS

#define REQUEST(NAME, body, ...) \
	static const struct wire_field body##_fields[] = {
#define REPLY(NAME, body, ...) \
	static const struct wire_field body##_fields[] = {
#define FIELD(body, key_, need, kind_, ...) \
	{ .key = (key_), .must = (need), .kind = WIRE_V_##kind_, \
	    ROW_##kind_(body, __VA_ARGS__) },
#define END_FIELDS { .name = NULL } };
#include "wire.def"

#define FIELDS(name) \
	.fields = name##_fields, .nfields = BASE_NELEM(name##_fields) - 1

static const struct wire_layout layouts[] = {
#define REQUEST(NAME, name_, number, role_, ANSWER, check_) \
	[WIRE_##NAME] = { .name = #NAME, FIELDS(name_), \
	    .body = sizeof(struct wire_##name_), .request = true, \
	    .role = WIRE_ROLE_##role_, .answer = WIRE_##ANSWER, \
	    .check = (check_) },
#define REPLY(NAME, name_, number, check_) \
	[WIRE_##NAME] = { .name = #NAME, FIELDS(name_), \
	    .body = sizeof(struct wire_##name_), .check = (check_) },
#include "wire.def"
};

static const struct wire_field common_fields[] = {
	{ .key = WIRE_KEY_TYPE, .must = true, .kind = WIRE_V_UINT,
	    .name = "type", .at = offsetof(struct wire_msg, type),
	    .size = sizeof(uint32_t), .max = ANY },
	{ .key = WIRE_KEY_ID, .must = true, .kind = WIRE_V_UINT,
	    .name = "id", .at = offsetof(struct wire_msg, id),
	    .size = sizeof(uint32_t), .max = ANY },
	{ .name = NULL }
};

const struct wire_layout wire_common = { .name = "common", FIELDS(common) };

const struct wire_layout *
wire_layout(uint32_t type)
{
	if (type >= BASE_NELEM(layouts) || layouts[type].name == NULL)
		return NULL;
	return &layouts[type];
}

uint64_t
wire_member_get(const void *member, size_t size)
{
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	switch (size) {
	case 1:
		return *(const uint8_t *)member;
	case 2:
		memcpy(&u16, member, sizeof u16);
		return u16;
	case 4:
		memcpy(&u32, member, sizeof u32);
		return u32;
	default:
		memcpy(&u64, member, sizeof u64);
		return u64;
	}
}

void
wire_member_set(void *member, size_t size, uint64_t value)
{
	uint32_t u32 = (uint32_t)value;
	uint16_t u16 = (uint16_t)value;

	switch (size) {
	case 1:
		*(uint8_t *)member = (uint8_t)value;
		break;
	case 2:
		memcpy(member, &u16, sizeof u16);
		break;
	case 4:
		memcpy(member, &u32, sizeof u32);
		break;
	default:
		memcpy(member, &value, sizeof value);
		break;
	}
}
