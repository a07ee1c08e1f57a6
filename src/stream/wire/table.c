/*
 * wire_keys: the table of keys.  The same thing has the same number in all
 * messages where it can: 4 an index, 5 an epoch, 13 requesters.  A number once
 * given to a key of a message is never given to another.
 */
#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "../record.h"
#include "table.h"

#define OF(m) offsetof(struct wire_msg, m)
#define SIZE(m) sizeof(((struct wire_msg *)NULL)->m)
#define COUNT(m) BASE_NELEM(((struct wire_msg *)NULL)->m)

#define FIELD(k, must_, kind_, m, max_) \
	{ \
		.name = #m, .key = (k), .kind = WIRE_V_##kind_, \
		.must = (must_), .at = OF(m), .size = SIZE(m), .max = (max_) \
	}
#define MUST(k, kind_, m, max_) FIELD(k, true, kind_, m, max_)
#define MAY(k, kind_, m, max_) FIELD(k, false, kind_, m, max_)
/* n_ neighbours, of which m is the first. */
#define NEXT_TO(k, m, n_, least_) \
	{ \
		.name = #m, .key = (k), .kind = WIRE_V_UINTS, .must = true, \
		.n = (n_), .least = (least_), .at = OF(m), .size = SIZE(m) \
	}
/* An array m, of which the size_t `counter` says how many are used. */
#define MANY(k, must_, kind_, m, counter) \
	{ \
		.name = #m, .key = (k), .kind = WIRE_V_##kind_, \
		.must = (must_), .n = COUNT(m), .at = OF(m), \
		.at2 = OF(counter), .size = SIZE(m[0]) \
	}

#define ANY UINT64_MAX

static const struct wire_field common[] = {
	MUST(0, UINT, type, ANY),
	MUST(1, UINT, id, ANY),
};

static const struct wire_field hello[] = {
	NEXT_TO(2, hello.min, 2, 2),
	MUST(3, TEXT, hello.client, WIRE_TEXT_MAX),
	MUST(4, UINT, hello.roles, ANY),
	MAY(5, UINT, hello.node, ANY),
};

static const struct wire_field welcome[] = {
	MUST(2, UINT, welcome.version, ANY),
	MUST(3, TEXT, welcome.node_name, WIRE_TEXT_MAX),
	MUST(4, ID, welcome.node_id, 0),
	MUST(5, ID, welcome.boot, 0),
	MUST(7, UINT, welcome.roles, ANY),
	NEXT_TO(8, welcome.mono_ns, 2, 2),
	MAY(9, UINT, welcome.node_number, ANY),
};

static const struct wire_field name[] = {
	MUST(2, TEXT, name.table, WIRE_TEXT_MAX),
	MAY(3, TEXT, name.name, WIRE_TEXT_MAX),
	MAY(4, UINT, name.index, ANY),
};

static const struct wire_field named[] = {
	MUST(4, UINT, named.index, ANY),
	MUST(5, ID, named.epoch, 0),
	MUST(6, UINT, named.format, 255),
	MUST(7, UINT, named.record_size, 255),
	MUST(8, UINT, named.oldest, ANY),
	MUST(9, UINT, named.next, ANY),
	MUST(10, UINT, named.address_bits, 64),
	MUST(11, UINT, named.state, WIRE_S_DORMANT),
	MAY(12, TEXT, named.name, WIRE_TEXT_MAX),
	MAY(13, UINT, named.entries, ANY),
	MAY(14, UINT, named.levels, 1),
};

static const struct wire_field read[] = {
	MUST(4, UINT, read.index, ANY),
	MUST(5, ID, read.epoch, 0),
	MUST(6, UINT, read.from, ANY),
	MUST(7, UINT, read.max, WIRE_READ_MAX),
	MAY(8, UINT, read.wait_ms, WIRE_WAIT_MAX),
	MAY(9, BOOL, read.whole, 0),
};

static const struct wire_field data[] = {
	MUST(6, UINT, data.first, ANY),
	MUST(7, UINT, data.count, WIRE_READ_MAX),
	MUST(8, BYTES, data.records, WIRE_READ_MAX * REC_WIDE_SIZE),
	MUST(9, UINT, data.next, ANY),
	MUST(10, UINT, data.oldest, ANY),
	{
		.name = "data.lost", .key = 11, .kind = WIRE_V_LOST,
		.n = COUNT(data.lost), .at = OF(data.lost)
	},
	MAY(12, UINT, data.cancelled, ANY),
	MANY(13, false, INFO, data.info, data.ninfo),
	MAY(14, BYTES, data.offsets, WIRE_READ_MAX * 4),
	MAY(15, INT, data.now_ms, 0),
	MAY(16, UINT, data.state, WIRE_S_DORMANT),
};

static const struct wire_field snap[] = {
	MUST(4, UINT, snap.index, ANY),
	MUST(5, ID, snap.epoch, 0),
	MUST(6, UINT, snap.snapshot, ANY),
	MAY(7, UINT, snap.after, ANY),
	MUST(8, UINT, snap.max, WIRE_READ_MAX),
	MAY(9, UINT, snap.after_layer, 1),
	MAY(10, BOOL, snap.from_start, 0),
};

static const struct wire_field part[] = {
	MUST(6, UINT, part.snapshot, ANY),
	MUST(7, UINT, part.as_of, ANY),
	MUST(8, BYTES, part.blocks,
	    WIRE_READ_MAX * (REC_WIDE_SIZE + WIRE_BLOCK_TAIL)),
	{
		.name = "part.next", .key = 9, .kind = WIRE_V_OR_LAST,
		.must = true, .at = OF(part.next), .at2 = OF(part.last),
		.size = SIZE(part.next), .max = ANY
	},
	MUST(10, UINT, part.total, ANY),
	MUST(11, UINT, part.since, WIRE_SINCE_UNKNOWN),
	MAY(12, UINT, part.next_layer, 1),
	MANY(13, false, INFO, part.info, part.ninfo),
	MUST(14, UINT, part.count, WIRE_READ_MAX),
	MAY(15, INT, part.now_ms, 0),
};

static const struct wire_field stat[] = {
	MUST(4, UINT, stat.index, ANY),
};

static const struct wire_field stats[] = {
	MAY(2, UINT, stats.pid, ANY),
	MAY(3, TEXT, stats.comm, WIRE_TEXT_MAX),
	MUST(4, UINT, stats.index, ANY),
	MAY(5, INT, stats.status, 0),
	MAY(6, TEXT, stats.reason, WIRE_TEXT_MAX),
	NEXT_TO(7, stats.n[0], WIRE_STATS_COUNT, WIRE_STATS_FIRST),
	MAY(8, UINT, stats.targets_live, ANY),
	MAY(9, UINT, stats.ppid, ANY),
	MAY(10, INT, stats.ended_ms, 0),
	MUST(11, UINT, stats.state, WIRE_S_DORMANT),
	MAY(12, TEXT, stats.output, WIRE_TEXT_MAX),
	MAY(13, TEXT, stats.socket, WIRE_TEXT_MAX),
};

static const struct wire_field sym[] = {
	MUST(4, UINT, sym.index, ANY),
	MAY(5, UINT, sym.kind, WIRE_SYM_THREAD),
	MANY(6, true, LIST, sym.addr, sym.n),
};

static const struct wire_field syms[] = {
	MUST(4, UINT, syms.index, ANY),
	MAY(5, UINT, syms.kind, WIRE_SYM_THREAD),
	MANY(6, true, TEXTS, syms.name, syms.n),
};

static const struct wire_field types[] = {
	MUST(4, UINT, types.index, ANY),
};

static const struct wire_field typed[] = {
	MUST(4, UINT, typed.index, ANY),
	MUST(8, BYTES, typed.types, WIRE_TYPED_MAX * WIRE_TYPED_SIZE),
};

static const struct wire_field site[] = {
	MUST(4, UINT, site.index, ANY),
	MUST(5, ID, site.epoch, 0),
	MANY(6, true, LIST, site.site, site.n),
};

static const struct wire_field sited[] = {
	MUST(4, UINT, sited.index, ANY),
	MUST(7, UINT, sited.n, WIRE_SYMS_MAX),
	MUST(8, BYTES, sited.sites, WIRE_PACKED_MAX),
};

static const struct wire_field frame[] = {
	MUST(4, UINT, frame.index, ANY),
	MUST(5, ID, frame.epoch, 0),
	MANY(6, true, LIST, frame.frame, frame.n),
};

static const struct wire_field framed[] = {
	MUST(4, UINT, framed.index, ANY),
	MUST(7, UINT, framed.n, WIRE_SYMS_MAX),
	MUST(8, BYTES, framed.words, WIRE_PACKED_MAX),
	MAY(9, UINT, framed.fetched_kb, ANY),
	MAY(10, UINT, framed.fetch_kb, ANY),
	MAY(11, TEXT, framed.fetch, WIRE_TEXT_MAX),
};

static const struct wire_field end[] = {
	MUST(4, UINT, end.index, ANY),
	MUST(5, ID, end.epoch, 0),
};

static const struct wire_field arm[] = {
	MUST(4, UINT, arm.index, ANY),
	MUST(5, ID, arm.epoch, 0),
	MUST(6, UINT, arm.arming, WIRE_ARM_HOLD),
};

static const struct wire_field window[] = {
	MUST(4, UINT, window.index, ANY),
	MUST(5, ID, window.epoch, 0),
	MUST(6, UINT, window.offset, ANY),
	MUST(7, UINT, window.order, WIRE_BY_ADDRESS),
	MUST(8, UINT, window.max, WIRE_WINDOW_MAX),
	MAY(9, UINT, window.layer, 1),
	MAY(10, BOOL, window.reverse, 0),
	MAY(11, UINT, window.addr, ANY),
	MAY(12, UINT, window.seq, ANY),
	MAY(14, UINT, window.before, WIRE_WINDOW_MAX),
};

static const struct wire_field rows[] = {
	MUST(6, UINT, rows.offset, ANY),
	MUST(7, UINT, rows.as_of, ANY),
	MUST(8, BYTES, rows.blocks,
	    WIRE_WINDOW_MAX * (REC_WIDE_SIZE + WIRE_BLOCK_TAIL)),
	NEXT_TO(9, rows.n[0], WIRE_STATS_COUNT, WIRE_STATS_FIRST),
	{
		.name = "rows.lost", .key = 11, .kind = WIRE_V_LOST,
		.n = COUNT(rows.lost), .at = OF(rows.lost)
	},
	MAY(12, BYTES, rows.who, WIRE_WINDOW_MAX),
	MANY(13, false, INFO, rows.info, rows.ninfo),
	MUST(14, UINT, rows.count, WIRE_WINDOW_MAX),
	MAY(15, INT, rows.now_ms, 0),
	MUST(16, UINT, rows.state, WIRE_S_DORMANT),
};

static const struct wire_field limit[] = {
	MUST(4, UINT, limit.roles, ANY),
	MAY(5, UINT, limit.node, ANY),
	MAY(6, BOOL, limit.away, 0),
	MAY(7, TEXT, limit.origin, WIRE_TEXT_MAX),
};

static const struct wire_field lput[] = {
	MUST(3, TEXT, lput.title, WIRE_TEXT_MAX),
	MUST(4, UINT, lput.total, WIRE_LISTING_PART),
	MUST(5, UINT, lput.part, WIRE_LISTING_PARTS),
	MUST(6, BYTES, lput.bytes, WIRE_LISTING_BYTES),
	MAY(7, BYTES, lput.sha256, WIRE_SHA256),
	MUST(8, UINT, lput.parts, WIRE_LISTING_PARTS),
	MAY(9, UINT, lput.at, WIRE_LISTING_PART),
	MAY(10, TEXT, lput.name, WIRE_TEXT_MAX),
};

static const struct wire_field lack[] = {
	MUST(4, TEXT, lack.name, WIRE_TEXT_MAX),
	MUST(5, UINT, lack.part, WIRE_LISTING_PARTS),
	MUST(9, UINT, lack.stored, WIRE_LISTING_PART),
};

static const struct wire_field listings[] = {
	MAY(10, TEXT, listings.after, WIRE_TEXT_MAX),
};

static const struct wire_field listed[] = {
	MAY(2, TEXT, listed.origin, WIRE_TEXT_MAX),
	MAY(3, TEXT, listed.title, WIRE_TEXT_MAX),
	MAY(6, UINT, listed.bytes, ANY),
	MAY(8, UINT, listed.parts, WIRE_LISTING_PARTS),
	MUST(10, TEXT, listed.name, WIRE_TEXT_MAX),
	MAY(11, INT, listed.wall_ms, 0),
	MAY(12, BOOL, listed.whole, 0),
};

static const struct wire_field lget[] = {
	MUST(5, UINT, lget.part, WIRE_LISTING_PARTS),
	MUST(7, UINT, lget.max, WIRE_LISTING_BYTES),
	MAY(9, UINT, lget.at, WIRE_LISTING_PART),
	MUST(10, TEXT, lget.name, WIRE_TEXT_MAX),
};

static const struct wire_field lgot[] = {
	MUST(4, UINT, lgot.size, WIRE_LISTING_PART),
	MUST(6, BYTES, lgot.bytes, WIRE_LISTING_BYTES),
	MAY(7, BYTES, lgot.sha256, WIRE_SHA256),
	MAY(9, UINT, lgot.at, WIRE_LISTING_PART),
};

static const struct wire_field regions[] = {
	MUST(4, UINT, regions.index, ANY),
	MUST(5, ID, regions.epoch, 0),
};

static const struct wire_field regioned[] = {
	MAY(3, TEXT, regioned.why, WIRE_TEXT_MAX),
	MUST(4, UINT, regioned.index, ANY),
	MAY(6, UINT, regioned.no, ANY),
	MUST(8, BYTES, regioned.regions, WIRE_REGIONS_MAX * WIRE_REGION_SIZE),
};

static const struct wire_field err[] = {
	MUST(2, UINT, err.code, 255),
	MUST(3, TEXT, err.text, WIRE_TEXT_MAX),
	MAY(4, UINT, err.retry_ms, ANY),
	MAY(5, ID, err.epoch, 0),
};

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

static int
check_framed(const struct wire_msg *m)
{
	struct wire_words words;
	size_t at = 0;
	uint32_t n = 0;
	int r;

	while ((r = wire_framed_next(m->framed.words, &at, &words)) == 1)
		n++;
	return r == 0 && n == m->framed.n ? 0 : -EINVAL;
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

const struct wire_layout wire_common = {
	.name = "common", .fields = common, .nfields = BASE_NELEM(common)
};

#define LAYOUT(type, fields_, check_) \
	[type] = { \
		.name = #type, .fields = (fields_), \
		.nfields = BASE_NELEM(fields_), .check = (check_) \
	}

static const struct wire_layout layouts[] = {
	LAYOUT(WIRE_HELLO, hello, check_hello),
	LAYOUT(WIRE_WELCOME, welcome, NULL),
	LAYOUT(WIRE_NAME, name, NULL),
	LAYOUT(WIRE_NAMED, named, NULL),
	LAYOUT(WIRE_READ, read, NULL),
	LAYOUT(WIRE_DATA, data, check_data),
	LAYOUT(WIRE_SNAP, snap, NULL),
	LAYOUT(WIRE_PART, part, check_part),
	LAYOUT(WIRE_LPUT, lput, check_lput),
	LAYOUT(WIRE_LACK, lack, NULL),
	LAYOUT(WIRE_STAT, stat, NULL),
	LAYOUT(WIRE_STATS, stats, NULL),
	LAYOUT(WIRE_ERR, err, NULL),
	LAYOUT(WIRE_SYM, sym, NULL),
	LAYOUT(WIRE_SYMS, syms, NULL),
	LAYOUT(WIRE_TYPES, types, NULL),
	LAYOUT(WIRE_TYPED, typed, check_typed),
	LAYOUT(WIRE_END, end, NULL),
	[WIRE_ENDED] = { .name = "WIRE_ENDED" },
	LAYOUT(WIRE_SITE, site, NULL),
	LAYOUT(WIRE_SITED, sited, check_sited),
	LAYOUT(WIRE_FRAME, frame, NULL),
	LAYOUT(WIRE_FRAMED, framed, check_framed),
	LAYOUT(WIRE_ARM, arm, NULL),
	[WIRE_ARMED] = { .name = "WIRE_ARMED" },
	LAYOUT(WIRE_WINDOW, window, NULL),
	LAYOUT(WIRE_ROWS, rows, check_rows),
	LAYOUT(WIRE_LIMIT, limit, NULL),
	LAYOUT(WIRE_LISTINGS, listings, NULL),
	LAYOUT(WIRE_LISTED, listed, NULL),
	LAYOUT(WIRE_LGET, lget, NULL),
	LAYOUT(WIRE_LGOT, lgot, check_lgot),
	LAYOUT(WIRE_REGIONS, regions, NULL),
	LAYOUT(WIRE_REGIONED, regioned, check_regioned),
};

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
