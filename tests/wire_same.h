/*
 * Whether two messages are the same, written by hand so that it does not lean
 * on the tables of the codec that is tested.
 */
#ifndef TESTS_WIRE_SAME_H
#define TESTS_WIRE_SAME_H

#include "../src/stream/wire/wire.h"
#include "harness.h"

#define SAME(m) ck_assert_int_eq(a->m == b->m, true)
#define SAME_ID(m) ck_assert_mem_eq(a->m, b->m, sizeof a->m)
#define SAME_TEXT(m) same_text(&a->m, &b->m)
#define SAME_BYTES(m) same_bytes(&a->m, &b->m)

static void
same_text(const struct wire_text *a, const struct wire_text *b)
{
	SAME(len);
	if (a->len > 0)
		ck_assert_mem_eq(a->s, b->s, a->len);
}

static void
same_bytes(const struct wire_bytes *a, const struct wire_bytes *b)
{
	SAME(len);
	if (a->len > 0)
		ck_assert_mem_eq(a->p, b->p, a->len);
}

static void
same_info(const struct wire_info *a, const struct wire_info *b, size_t n)
{
	for (; n > 0; n--, a++, b++) {
		SAME(at);
		SAME(node);
		SAME_TEXT(name);
	}
}

static void
same_hello(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(hello.min);
	SAME(hello.max);
	SAME_TEXT(hello.client);
	SAME(hello.roles);
	SAME(hello.node);
}

static void
same_welcome(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(welcome.version);
	SAME_TEXT(welcome.node_name);
	SAME(welcome.node_number);
	SAME_ID(welcome.node_id);
	SAME_ID(welcome.boot);
	SAME(welcome.roles);
	SAME(welcome.mono_ns);
	SAME(welcome.utc_ns);
}

static void
same_name(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME_TEXT(name.table);
	SAME_TEXT(name.name);
	SAME(name.index);
}

static void
same_named(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(named.index);
	SAME_ID(named.epoch);
	SAME(named.format);
	SAME(named.record_size);
	SAME(named.oldest);
	SAME(named.next);
	SAME(named.address_bits);
	SAME(named.state);
	SAME_TEXT(named.name);
	SAME(named.entries);
	SAME(named.levels);
}

static void
same_read(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(read.index);
	SAME_ID(read.epoch);
	SAME(read.from);
	SAME(read.max);
	SAME(read.wait_ms);
	SAME(read.whole);
}

static void
same_data(const struct wire_msg *a, const struct wire_msg *b)
{
	size_t i;

	SAME(data.first);
	SAME(data.count);
	SAME_BYTES(data.records);
	SAME(data.next);
	SAME(data.oldest);
	for (i = 0; i < BASE_NELEM(a->data.lost); i++) {
		SAME(data.lost[i].count);
		SAME(data.lost[i].exact);
	}
	SAME(data.cancelled);
	SAME_BYTES(data.offsets);
	SAME(data.ninfo);
	same_info(a->data.info, b->data.info, a->data.ninfo);
	SAME(data.now_ms);
	SAME(data.state);
}

static void
same_snap(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(snap.index);
	SAME_ID(snap.epoch);
	SAME(snap.snapshot);
	SAME(snap.from_start);
	SAME(snap.after_layer);
	SAME(snap.after);
	SAME(snap.max);
}

static void
same_part(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(part.snapshot);
	SAME(part.as_of);
	SAME(part.count);
	SAME_BYTES(part.blocks);
	SAME(part.last);
	SAME(part.next_layer);
	SAME(part.next);
	SAME(part.total);
	SAME(part.since);
	SAME(part.ninfo);
	same_info(a->part.info, b->part.info, a->part.ninfo);
	SAME(part.now_ms);
}

static void
same_stat(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(stat.index);
}

static void
same_stats(const struct wire_msg *a, const struct wire_msg *b)
{
	size_t i;

	SAME(stats.index);
	SAME(stats.pid);
	SAME_TEXT(stats.comm);
	SAME(stats.state);
	SAME(stats.status);
	SAME_TEXT(stats.reason);
	for (i = 0; i < WIRE_STATS_COUNT; i++)
		SAME(stats.n[i]);
	SAME(stats.targets_live);
	SAME(stats.ppid);
	SAME(stats.ended_ms);
	SAME_TEXT(stats.output);
	SAME_TEXT(stats.socket);
}

static void
same_err(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(err.code);
	SAME_TEXT(err.text);
	SAME(err.retry_ms);
	SAME_ID(err.epoch);
}

static void
same_sym(const struct wire_msg *a, const struct wire_msg *b)
{
	size_t i;

	SAME(sym.index);
	SAME(sym.kind);
	SAME(sym.n);
	for (i = 0; i < a->sym.n; i++)
		SAME(sym.addr[i]);
}

static void
same_syms(const struct wire_msg *a, const struct wire_msg *b)
{
	size_t i;

	SAME(syms.index);
	SAME(syms.kind);
	SAME(syms.n);
	for (i = 0; i < a->syms.n; i++)
		SAME_TEXT(syms.name[i]);
}

static void
same_types(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(types.index);
}

static void
same_typed(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(typed.index);
	SAME_BYTES(typed.types);
}

static void
same_end(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(end.index);
	SAME_ID(end.epoch);
}

static void
same_arm(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(arm.index);
	SAME_ID(arm.epoch);
	SAME(arm.arming);
}

static void
same_site(const struct wire_msg *a, const struct wire_msg *b)
{
	size_t i;

	SAME(site.index);
	SAME_ID(site.epoch);
	SAME(site.n);
	for (i = 0; i < a->site.n; i++)
		SAME(site.site[i]);
}

static void
same_sited(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(sited.index);
	SAME(sited.n);
	SAME_BYTES(sited.sites);
}

static void
same_frame(const struct wire_msg *a, const struct wire_msg *b)
{
	size_t i;

	SAME(frame.index);
	SAME_ID(frame.epoch);
	SAME(frame.n);
	for (i = 0; i < a->frame.n; i++)
		SAME(frame.frame[i]);
}

static void
same_framed(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(framed.index);
	SAME(framed.n);
	SAME(framed.fetched_kb);
	SAME(framed.fetch_kb);
	SAME_TEXT(framed.fetch);
	SAME_BYTES(framed.words);
}

static void
same_window(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(window.index);
	SAME_ID(window.epoch);
	SAME(window.order);
	SAME(window.reverse);
	SAME(window.offset);
	SAME(window.max);
	SAME(window.layer);
	SAME(window.addr);
	SAME(window.seq);
	SAME(window.before);
}

static void
same_rows(const struct wire_msg *a, const struct wire_msg *b)
{
	size_t i;

	SAME(rows.offset);
	SAME(rows.as_of);
	SAME(rows.count);
	SAME_BYTES(rows.blocks);
	SAME_BYTES(rows.who);
	SAME(rows.ninfo);
	same_info(a->rows.info, b->rows.info, a->rows.ninfo);
	for (i = 0; i < WIRE_STATS_COUNT; i++)
		SAME(rows.n[i]);
	for (i = 0; i < BASE_NELEM(a->rows.lost); i++) {
		SAME(rows.lost[i].count);
		SAME(rows.lost[i].exact);
	}
	SAME(rows.now_ms);
	SAME(rows.state);
}

static void
same_limit(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(limit.roles);
	SAME(limit.node);
	SAME(limit.away);
	SAME_TEXT(limit.origin);
}

static void
same_lput(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME_TEXT(lput.title);
	SAME_TEXT(lput.name);
	SAME(lput.part);
	SAME(lput.parts);
	SAME(lput.total);
	SAME(lput.at);
	SAME_BYTES(lput.bytes);
	SAME_BYTES(lput.sha256);
}

static void
same_lack(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME_TEXT(lack.name);
	SAME(lack.part);
	SAME(lack.stored);
}

static void
same_listings(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME_TEXT(listings.after);
}

static void
same_listed(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME_TEXT(listed.name);
	SAME_TEXT(listed.origin);
	SAME_TEXT(listed.title);
	SAME(listed.parts);
	SAME(listed.bytes);
	SAME(listed.wall_ms);
	SAME(listed.whole);
}

static void
same_lget(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME_TEXT(lget.name);
	SAME(lget.part);
	SAME(lget.at);
	SAME(lget.max);
}

static void
same_lgot(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(lgot.at);
	SAME(lgot.size);
	SAME_BYTES(lgot.bytes);
	SAME_BYTES(lgot.sha256);
}

static void
same_regions(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(regions.index);
	SAME_ID(regions.epoch);
}

static void
same_regioned(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(regioned.index);
	SAME(regioned.no);
	SAME_TEXT(regioned.why);
	SAME_BYTES(regioned.regions);
}

static void (*const same_body[])(const struct wire_msg *,
    const struct wire_msg *) = {
	[WIRE_HELLO] = same_hello,
	[WIRE_WELCOME] = same_welcome,
	[WIRE_NAME] = same_name,
	[WIRE_NAMED] = same_named,
	[WIRE_READ] = same_read,
	[WIRE_DATA] = same_data,
	[WIRE_SNAP] = same_snap,
	[WIRE_PART] = same_part,
	[WIRE_STAT] = same_stat,
	[WIRE_STATS] = same_stats,
	[WIRE_ERR] = same_err,
	[WIRE_SYM] = same_sym,
	[WIRE_SYMS] = same_syms,
	[WIRE_TYPES] = same_types,
	[WIRE_TYPED] = same_typed,
	[WIRE_END] = same_end,
	[WIRE_ENDED] = NULL,
	[WIRE_SITE] = same_site,
	[WIRE_SITED] = same_sited,
	[WIRE_FRAME] = same_frame,
	[WIRE_FRAMED] = same_framed,
	[WIRE_ARM] = same_arm,
	[WIRE_ARMED] = NULL,
	[WIRE_WINDOW] = same_window,
	[WIRE_ROWS] = same_rows,
	[WIRE_LIMIT] = same_limit,
	[WIRE_LPUT] = same_lput,
	[WIRE_LACK] = same_lack,
	[WIRE_LISTINGS] = same_listings,
	[WIRE_LISTED] = same_listed,
	[WIRE_LGET] = same_lget,
	[WIRE_LGOT] = same_lgot,
	[WIRE_REGIONS] = same_regions,
	[WIRE_REGIONED] = same_regioned,
};

static void
same(const struct wire_msg *a, const struct wire_msg *b)
{
	SAME(type);
	SAME(id);
	if (same_body[a->type] != NULL)
		same_body[a->type](a, b);
}

#endif
