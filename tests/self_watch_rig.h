/*
 * A node that watches itself, pages that ask it, and what its own ALLOCLOG has
 * of them.  Shared by the tests of the node's own blocks.
 */
#ifndef TESTS_SELF_WATCH_RIG_H
#define TESTS_SELF_WATCH_RIG_H

#include <stdio.h>

#include "../src/allocp/allocp.h"
#include "node_harness.h"
#include "table_rig.h"

#define HERE 0x0590
#define THERE 0x0509

static struct keeper *own;

/* A node that stands alone, but for its sockets. */
static inline void
own_up(void)
{
	node_up(NULL);
	node.number = HERE;
	ck_assert_int_eq(keeper_new(&own, &node,
	    &(struct keeper_opts){ .classic = true }, NULL), 0);
	ck_assert_int_eq(images_join(own, DAEMON_OWN_STREAM), 0);
	self_watch_join(&node, own);
}

/* A page that says its node's number. */
static inline void
page_from(struct page *p, uint16_t number)
{
	struct wire_msg m = { .type = WIRE_HELLO, .hello = { .min = 1,
		.max = 1, .client = wire_text("check"),
		.roles = WIRE_ROLE_READ, .node = number } };
	struct wire_msg r;

	page_open(p);
	page_ask(p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_WELCOME);
}

static inline void
read_stream(struct page *p, const struct keeper *k, uint64_t from,
    struct wire_msg *r)
{
	struct wire_msg m = { .type = WIRE_READ, .read = { .index = k->index,
		.from = from, .max = WIRE_READ_MAX } };

	memcpy(m.read.epoch, node.dstrm.row[k->index].epoch, WIRE_EPOCH);
	page_ask(p, &m, r);
	ck_assert_uint_eq(r->type, WIRE_DATA);
}

static inline void
ask_data(struct page *p, const struct keeper *k)
{
	struct wire_msg r;

	read_stream(p, k, 0, &r);
}

/* Until the node has seen that a page is gone. */
static inline void
gone(struct page *p)
{
	unsigned before = node.serve->count;

	page_close(p);
	while (node.serve->count == before)
		uv_run(&loop, UV_RUN_NOWAIT);
}

/* --- what is listed ------------------------------------------------------ */

static inline size_t
listed(struct blk *out, size_t max)
{
	return blklist_window(own->list, BLKLIST_BY_AGE, false, 0, out, max);
}

static inline const char *
name_of(const struct blk *b)
{
	const struct blklist_info *info = blklist_info_get(own->list, b->info);

	return info == NULL ? "" : info->name;
}

static inline unsigned
requester_of(const struct blk *b)
{
	const struct blklist_info *info = blklist_info_get(own->list, b->info);

	return info == NULL || info->name[0] != '\0' ? 0 : info->node;
}

static inline void
expect_locreq(const struct blk *b)
{
	ck_assert_uint_eq(b->type, TYPE_LOCREQ);
	ck_assert_uint_eq(b->size, 0x30);
	ck_assert_uint_eq(b->info, 0);
}

/* The three blocks of a remote request. */
static inline void
expect_acreq(const struct blk b[3], unsigned requester)
{
	ck_assert_uint_eq(b[0].type, TYPE_ACREQ);
	ck_assert_uint_eq(b[0].size, 0x48);
	ck_assert_uint_eq(requester_of(&b[0]), requester);
	ck_assert_uint_eq(b[1].type, TYPE_INTPTRS);
	ck_assert_uint_eq(b[1].size, 0x18);
	ck_assert_uint_eq(b[2].type, TYPE_AHDRMSG);
	ck_assert_uint_eq(b[2].size, 0x50);
	for (int i = 1; i < 3; i++) {
		ck_assert_int_eq(b[i].ms, b[0].ms);
		ck_assert_uint_eq(b[i].info, 0);
	}
}

static inline void
expect_numbers(unsigned requests, uint64_t lapsed)
{
	uint64_t n[WIRE_STATS_COUNT] = { 0 };

	self_watch_stat(&node, n);
	ck_assert_uint_eq(n[WIRE_N_REQUESTS], requests);
	ck_assert_uint_eq(n[WIRE_N_REQUESTS_LAPSED], lapsed);
}

static inline void
expect_empty(void)
{
	ck_assert_uint_eq(blklist_counts(own->list)->aRecActive, 0);
	ck_assert_uint_eq(blklist_counts(own->list)->unknown_free, 0);
	ck_assert_uint_eq(blklist_counts(own->list)->duplicate, 0);
	ck_assert_uint_eq(blklist_counts(own->list)->illegal_type, 0);
	expect_numbers(0, node.self_watch->lapsed);
}

#endif
