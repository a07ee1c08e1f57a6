/*
 * The node that watches itself: what each request of a page leaves in the
 * node's own ALLOCLOG, and when that is freed.
 */
#include <stdio.h>

#include "../src/allocp/allocp.h"
#include "node_harness.h"
#include "table_rig.h"

#define HERE 0x0590
#define THERE 0x0509

static struct keeper *own;

/* A node that stands alone, but for its sockets. */
static void
own_up(void)
{
	node_up(NULL);
	node.number = HERE;
	ck_assert_int_eq(keeper_new(&own, &node,
	    &(struct keeper_opts){ .classic = true }, NULL), 0);
	ck_assert_int_eq(tree_join(own, DAEMON_OWN_STREAM), 0);
	own_join(&node, own);
}

/* A page that says its node's number. */
static void
page_from(struct page *p, uint16_t number)
{
	struct wire_msg m = { .type = WIRE_HELLO, .hello = { .min = 1,
		.max = 1, .client = wire_text("check"),
		.roles = WIRE_ROLE_READ, .node = number } };
	struct wire_msg r;

	page_open(p);
	page_ask(p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_WELCOME);
	wire_msg_fini(&r);
}

static void
read_stream(struct page *p, const struct keeper *k, uint64_t from,
    struct wire_msg *r)
{
	struct wire_msg m = { .type = WIRE_READ, .read = { .index = k->index,
		.from = from, .max = WIRE_READ_MAX } };

	memcpy(m.read.epoch, node.dstrm.row[k->index].epoch, WIRE_EPOCH);
	page_ask(p, &m, r);
	ck_assert_uint_eq(r->type, WIRE_DATA);
}

static void
ask_data(struct page *p, const struct keeper *k)
{
	struct wire_msg r;

	read_stream(p, k, 0, &r);
	wire_msg_fini(&r);
}

/* Until the node has seen that a page is gone. */
static void
gone(struct page *p)
{
	unsigned before = node.serve.count;

	page_close(p);
	while (node.serve.count == before)
		uv_run(&loop, UV_RUN_NOWAIT);
}

/* --- what is listed ------------------------------------------------------ */

static size_t
listed(struct blk *out, size_t max)
{
	return blklist_window(own->list, BLKLIST_BY_AGE, false, 0, out, max);
}

static const char *
name_of(const struct blk *b)
{
	const struct blklist_info *info = blklist_info_get(own->list, b->info);

	return info == NULL ? "" : info->name;
}

static unsigned
requester_of(const struct blk *b)
{
	const struct blklist_info *info = blklist_info_get(own->list, b->info);

	return info == NULL || info->name[0] != '\0' ? 0 : info->node;
}

static void
expect_locreq(const struct blk *b)
{
	ck_assert_uint_eq(b->type, TYPE_LOCREQ);
	ck_assert_uint_eq(b->size, 0x30);
	ck_assert_uint_eq(b->info, 0);
}

/* The three blocks of a remote request. */
static void
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

static void
expect_numbers(unsigned requests, uint64_t lapsed)
{
	uint64_t n[WIRE_STATS_COUNT] = { 0 };

	own_stat(&node, n);
	ck_assert_uint_eq(n[WIRE_N_REQUESTS], requests);
	ck_assert_uint_eq(n[WIRE_N_REQUESTS_LAPSED], lapsed);
}

static void
expect_empty(void)
{
	ck_assert_uint_eq(blklist_counts(own->list)->aRecActive, 0);
	ck_assert_uint_eq(blklist_counts(own->list)->unknown_free, 0);
	ck_assert_uint_eq(blklist_counts(own->list)->duplicate, 0);
	ck_assert_uint_eq(blklist_counts(own->list)->illegal_type, 0);
	expect_numbers(0, node.own.lapsed);
}

/* --- requests ------------------------------------------------------------ */

START_TEST(a_local_page_is_one_LOCREQ_as_long_as_it_asks)
{
	struct keeper *k;
	struct blk b[4];
	struct page p;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, _i == 0 ? 0 : HERE);
	expect_empty();
	for (int i = 0; i < 20; i++)
		ask_data(&p, k);
	ck_assert_uint_eq(listed(b, 4), 1);
	expect_locreq(&b[0]);
	ck_assert_uint_eq(b[0].flags & REC_LEVEL_MASK, 1);
	expect_numbers(1, 0);
	gone(&p);
	expect_empty();
	ck_assert_uint_eq(keeper_next(own) - 1, 2);
	node_down();
}
END_TEST

START_TEST(a_page_of_another_node_is_three_blocks_of_one_age)
{
	struct keeper *k;
	struct blk b[4];
	struct page p;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, THERE);
	for (int i = 0; i < 20; i++)
		ask_data(&p, k);
	ck_assert_uint_eq(listed(b, 4), 3);
	expect_acreq(b, THERE);
	expect_numbers(1, 0);
	gone(&p);
	expect_empty();
	node_down();
}
END_TEST

START_TEST(the_requester_has_its_friendly_number)
{
	struct keeper *k;
	struct blk b[4];
	struct page p;

	table_up("0590 linac-a local\n0509 linac-b unix:/x acnet=11.134\n");
	own_up();
	ck_assert_int_eq(friendly_load(&node, NULL, NULL), 0);
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, THERE);
	ask_data(&p, k);
	ck_assert_uint_eq(listed(b, 4), 3);
	expect_acreq(b, 0xab86);
	gone(&p);
	node_down();
	table_down();
}
END_TEST

START_TEST(a_page_of_another_machine_is_remote_whatever_its_number)
{
	static const struct {
		uint16_t says;
		unsigned shown;
	} of[] = { { 0, 0 }, { HERE, HERE }, { THERE, THERE } };
	struct wire_msg m = { .type = WIRE_LIMIT, .limit = {
		.roles = ACCESS_ROLES, .away = true } };
	struct wire_msg h = { .type = WIRE_HELLO, .hello = { .min = 1,
		.max = 1, .client = wire_text("check"),
		.roles = WIRE_ROLE_READ, .node = of[_i].says } };
	struct wire_msg r;
	struct blk b[4];
	struct page p;

	own_up();
	page_open(&p);
	page_send(&p, &m);
	page_ask(&p, &h, &r);
	wire_msg_fini(&r);
	ask_data(&p, own);
	ck_assert_uint_eq(listed(b, 4), 3);
	expect_acreq(b, of[_i].shown);
	gone(&p);
	expect_empty();
	node_down();
}
END_TEST

static void
ask_anything(struct page *p, const struct keeper *k, uint32_t type)
{
	const uint8_t *epoch = node.dstrm.row[k->index].epoch;
	struct wire_msg m = { .type = type }, r;

	switch (type) {
	case WIRE_NAME:
		m.name.table = wire_text("DSTRM");
		m.name.index = k->index;
		break;
	case WIRE_STAT:
		m.stat.index = k->index;
		break;
	case WIRE_TYPES:
		m.types.index = k->index;
		break;
	case WIRE_SNAP:
		m.snap.index = k->index;
		m.snap.from_start = true;
		memcpy(m.snap.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_WINDOW:
		m.window.index = k->index;
		m.window.max = 10;
		memcpy(m.window.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_READ:
		m.read.index = k->index;
		memcpy(m.read.epoch, epoch, WIRE_EPOCH);
		break;
	}
	page_ask(p, &m, &r);
	ck_assert_uint_ne(r.type, WIRE_ERR);
	wire_msg_fini(&r);
}

START_TEST(only_data_of_a_stream_makes_a_request)
{
	static const struct {
		uint32_t type;
		bool data;
	} asked[] = { { WIRE_NAME, false }, { WIRE_STAT, false },
		{ WIRE_TYPES, false }, { WIRE_READ, true },
		{ WIRE_SNAP, true }, { WIRE_WINDOW, true } };
	struct keeper *k;
	struct page p;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, 0);
	for (size_t i = 0; i < BASE_NELEM(asked); i++) {
		ask_anything(&p, k, asked[i].type);
		expect_numbers(i >= 3, 0);
		ck_assert_uint_eq(keeper_next(own) - 1, i >= 3);
	}
	gone(&p);
	for (size_t i = 0; i < BASE_NELEM(asked); i++) {
		page_from(&p, 0);
		ask_anything(&p, k, asked[i].type);
		expect_numbers(asked[i].data, 0);
		gone(&p);
		expect_empty();
	}
	node_down();
}
END_TEST

START_TEST(what_is_refused_makes_no_request)
{
	struct wire_msg m = { .type = WIRE_READ }, r;
	struct keeper *k;
	struct page p;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, 0);
	m.read.index = k->index;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_EPOCH);
	wire_msg_fini(&r);
	m.read.index = 77;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	wire_msg_fini(&r);
	expect_empty();
	ck_assert_uint_eq(keeper_next(own), 1);
	gone(&p);
	node_down();
}
END_TEST

START_TEST(another_stream_ends_the_request_and_begins_one)
{
	struct keeper *a, *b;
	struct rec rec[4];
	uint64_t seq[4];
	struct stream_range range;
	struct blk blk[2];
	struct page p;

	own_up();
	a = new_keeper("ALLOCLOG.target.1", 0);
	b = new_keeper("ALLOCLOG.target.2", 0);
	page_from(&p, 0);
	ask_data(&p, a);
	ask_data(&p, b);
	ask_data(&p, b);
	expect_numbers(1, 0);
	ck_assert_uint_eq(listed(blk, 2), 1);
	ck_assert_uint_eq(blk[0].seq, 3);
	ck_assert_uint_eq(stream_queue_read(own->queue, 1, rec, seq, 4,
	    &range), 3);
	ck_assert_uint_eq(rec_op(&rec[0]), REC_ALLOC);
	ck_assert_uint_eq(rec_op(&rec[1]), REC_FREE);
	ck_assert_uint_eq(rec_addr(&rec[1]), rec_addr(&rec[0]));
	ck_assert_uint_eq(rec_op(&rec[2]), REC_ALLOC);
	gone(&p);
	expect_empty();
	node_down();
}
END_TEST

START_TEST(the_click_sees_its_own_request_as_the_oldest_block)
{
	struct wire_msg r;
	struct keeper *k;
	struct page p, before;
	struct rec rec;
	int64_t ms;
	uint64_t next;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&before, 0);
	ask_data(&before, k);
	page_from(&p, 0);
	page_name(&p, "DSTRM", DAEMON_OWN_STREAM, &r);
	ck_assert_uint_eq(r.type, WIRE_NAMED);
	ck_assert_uint_eq(r.named.levels, 1);
	ck_assert_uint_eq(r.named.format, WIRE_CLASSIC);
	next = r.named.next;
	wire_msg_fini(&r);
	read_stream(&p, own, next, &r);
	ck_assert_uint_eq(r.data.first, next);
	ck_assert_uint_eq(r.data.count, 1);
	ck_assert_int_eq(stream_classic_decode(r.data.records.p, &rec, &ms),
	    0);
	ck_assert_uint_eq(rec_type(&rec), TYPE_LOCREQ);
	ck_assert_int_ge(r.data.now_ms, ms);
	wire_msg_fini(&r);
	gone(&p);
	gone(&before);
	expect_empty();
	node_down();
}
END_TEST

START_TEST(a_first_snapshot_has_the_block_of_its_own_request)
{
	struct wire_msg m = { .type = WIRE_SNAP, .snap = {
		.from_start = true } }, r;
	struct rec rec;
	struct page p;
	int64_t ms;

	own_up();
	page_from(&p, THERE);
	m.snap.index = own->index;
	memcpy(m.snap.epoch, node.dstrm.row[own->index].epoch, WIRE_EPOCH);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_PART);
	ck_assert_uint_eq(r.part.count, 3);
	ck_assert_uint_eq(r.part.ninfo, 1);
	ck_assert_uint_eq(r.part.info[0].node, THERE);
	ck_assert_uint_eq(r.part.as_of, 3);
	ck_assert_int_eq(stream_classic_decode(r.part.blocks.p +
	    r.part.info[0].at * (REC_CLASSIC_SIZE + WIRE_BLOCK_TAIL), &rec,
	    &ms), 0);
	ck_assert_uint_eq(rec_type(&rec), TYPE_ACREQ);
	wire_msg_fini(&r);
	gone(&p);
	node_down();
}
END_TEST

START_TEST(many_pages_are_told_apart_and_leave_nothing_behind)
{
	struct page p[20];
	struct blk b[64];
	struct keeper *k;
	unsigned seen[20] = { 0 };

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	for (unsigned i = 0; i < 20; i++) {
		page_from(&p[i], (uint16_t)(0x0600 + i));
		ask_data(&p[i], k);
	}
	ck_assert_uint_eq(listed(b, 64), 60);
	for (unsigned i = 0; i < 60; i += 3) {
		expect_acreq(b + i, 0x0600 + i / 3);
		seen[requester_of(&b[i]) - 0x0600]++;
	}
	expect_numbers(20, 0);
	for (unsigned i = 0; i < 20; i += 2)
		gone(&p[i]);
	ck_assert_uint_eq(listed(b, 64), 30);
	for (unsigned i = 0; i < 30; i += 3)
		expect_acreq(b + i, 0x0600 + 2 * (i / 3) + 1);
	for (unsigned i = 1; i < 20; i += 2)
		gone(&p[i]);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_uint_eq(seen[i], 1);
	expect_empty();
	node_down();
}
END_TEST

/* --- ends ---------------------------------------------------------------- */

START_TEST(a_request_lapses_when_nothing_is_asked_and_begins_anew)
{
	struct keeper *k;
	struct blk b[4];
	struct page p;
	int64_t now;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, _i == 0 ? 0 : THERE);
	ask_data(&p, k);
	now = mono_ms(mono_now());
	own_second(&node, now + OWN_LAPSE_MS - 10000);
	expect_numbers(1, 0);
	own_second(&node, now + OWN_LAPSE_MS + 1);
	expect_numbers(0, 1);
	expect_empty();
	own_second(&node, now + 3 * OWN_LAPSE_MS);
	expect_numbers(0, 1);
	/* Questions of other kinds do not bring it back. */
	ask_anything(&p, k, WIRE_STAT);
	expect_empty();
	ask_data(&p, k);
	expect_numbers(1, 1);
	ck_assert_uint_eq(listed(b, 4), _i == 0 ? 1 : 3);
	gone(&p);
	expect_empty();
	node_down();
}
END_TEST

START_TEST(each_question_puts_the_lapse_off)
{
	struct keeper *k;
	struct page p;
	int64_t now;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, THERE);
	ask_data(&p, k);
	now = mono_ms(mono_now());
	while (mono_ms(mono_now()) == now)
		;
	ask_data(&p, k);
	own_second(&node, now + OWN_LAPSE_MS);
	expect_numbers(1, 0);
	gone(&p);
	node_down();
}
END_TEST

START_TEST(pages_that_the_node_closes_leave_nothing_behind)
{
	struct keeper *k;
	struct page p[3];

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	for (int i = 0; i < 3; i++) {
		page_from(&p[i], (uint16_t)(i == 0 ? 0 : THERE));
		ask_data(&p[i], k);
	}
	ck_assert_uint_eq(allocp_counts(node.own.memory)->allocs, 7);
	while (!TAILQ_EMPTY(&node.serve.conns))
		conn_close(TAILQ_FIRST(&node.serve.conns));
	ck_assert_uint_eq(allocp_counts(node.own.memory)->frees, 7);
	expect_empty();
	/* Without a page it would stop. */
	uv_run(&loop, UV_RUN_NOWAIT);
	for (int i = 0; i < 3; i++)
		page_close(&p[i]);
	node_down();
}
END_TEST

/* --- memory -------------------------------------------------------------- */

static void
fill(void **blocks, size_t max, size_t *n)
{
	size_t size = ALLOCP_SIZE_MAX;

	for (*n = 0; *n < max && size > 0;) {
		blocks[*n] = AllocP(node.own.memory, size, TYPE_DSTREAM);
		if (blocks[*n] != NULL)
			++*n;
		else
			size /= 2;
	}
}

START_TEST(without_room_a_page_is_served_and_the_failure_is_counted)
{
	uint64_t failed;
	struct keeper *k;
	void *blocks[512];
	struct page p;
	size_t n;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	fill(blocks, 512, &n);
	failed = blklist_counts(own->list)->failed;
	ck_assert_uint_gt(failed, 0);
	page_from(&p, _i == 0 ? 0 : THERE);
	for (int i = 0; i < 20; i++)
		ask_data(&p, k);
	/* Once, and not at 15 Hz. */
	ck_assert_uint_ge(blklist_counts(own->list)->failed, failed + 1);
	ck_assert_uint_le(blklist_counts(own->list)->failed, failed + 2);
	expect_numbers(0, 0);
	while (n > 0)
		FreeP(node.own.memory, blocks[--n]);
	TAILQ_FIRST(&node.serve.conns)->again_ms = 0;
	ask_data(&p, k);
	expect_numbers(1, 0);
	gone(&p);
	expect_empty();
	node_down();
}
END_TEST

START_TEST(with_room_for_a_part_nothing_of_the_request_is_left)
{
	struct keeper *k;
	void *blocks[512], *keep;
	struct page p;
	size_t n, i;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	/* Room for an ACREQ and an INTPTRS, and for no AHDRMSG. */
	keep = AllocP(node.own.memory, 0x48 + 8 + 0x18, TYPE_DSTREAM);
	fill(blocks, 512, &n);
	FreeP(node.own.memory, keep);
	i = blklist_counts(own->list)->aRecActive;
	page_from(&p, THERE);
	ask_data(&p, k);
	ck_assert_uint_eq(blklist_counts(own->list)->aRecActive, i);
	expect_numbers(0, 0);
	ck_assert_uint_eq(blklist_counts(own->list)->unknown_free, 0);
	gone(&p);
	while (n > 0)
		FreeP(node.own.memory, blocks[--n]);
	expect_empty();
	node_down();
}
END_TEST

START_TEST(what_region_2_has_satisfied_is_of_level_2)
{
	struct blk b[512];
	struct keeper *k;
	void *blocks[64];
	struct page p;
	size_t n = 0, got;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	while (n < 64) {
		blocks[n] = AllocP(node.own.memory, 0x400, TYPE_DSTREAM);
		ck_assert_ptr_nonnull(blocks[n++]);
		got = listed(b, 512);
		if ((b[got - 1].flags & REC_LEVEL_MASK) == 2)
			break;
	}
	ck_assert_uint_lt(n, 64);
	/* What is left of region 1 is less than that. */
	while ((got = listed(b, 512)) < 512) {
		AllocP(node.own.memory, 0, TYPE_DSTREAM);
		got = listed(b, 512);
		if ((b[got - 1].flags & REC_LEVEL_MASK) == 2)
			break;
	}
	page_from(&p, 0);
	ask_data(&p, k);
	got = listed(b, 512);
	expect_locreq(&b[got - 1]);
	ck_assert_uint_eq(b[got - 1].flags & REC_LEVEL_MASK, 2);
	gone(&p);
	node_down();
}
END_TEST

START_TEST(an_overwritten_header_is_told_and_the_node_goes_on)
{
	struct keeper *k;
	struct blk b[4];
	struct page p;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, 0);
	ask_data(&p, k);
	ck_assert_uint_eq(listed(b, 4), 1);
	memset((void *)(uintptr_t)(b[0].addr - ALLOCP_HEAD), 0x77,
	    ALLOCP_HEAD);
	own_second(&node, mono_ms(mono_now()));
	ck_assert_str_eq(own->reason, "");
	gone(&p);
	expect_numbers(0, 0);
	ck_assert_uint_eq(blklist_counts(own->list)->aRecActive, 0);
	own_second(&node, mono_ms(mono_now()));
	ck_assert_ptr_nonnull(strstr(own->reason, "overwritten: 1"));
	page_from(&p, 0);
	ask_data(&p, k);
	expect_numbers(1, 0);
	gone(&p);
	node_down();
}
END_TEST

START_TEST(its_regions_hold_every_block_of_it)
{
	struct wire_region r[WIRE_REGIONS_MAX];
	struct keeper *k;
	struct blk b[4];
	struct page p;
	size_t n, got;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, THERE);
	ask_data(&p, k);
	n = own_regions(&node, r, WIRE_REGIONS_MAX);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_le(r[0].base + r[0].size, r[1].base);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(r[i].head, 8);
		ck_assert_uint_eq(r[i].align, 8);
		ck_assert_uint_eq(strncmp(r[i].name, "region ", 7), 0);
	}
	got = listed(b, 4);
	ck_assert_uint_eq(got, 3);
	for (size_t i = 0; i < got; i++) {
		const struct wire_region *in = b[i].addr >= r[1].base ? &r[1] :
		    &r[0];

		ck_assert_uint_ge(b[i].addr, in->base + in->head);
		ck_assert_uint_le(b[i].addr + b[i].size, in->base + in->size);
		ck_assert_str_eq(in->name, "region 1");
	}
	gone(&p);
	node_down();
}
END_TEST

START_TEST(its_regions_are_told_to_whoever_asks)
{
	struct wire_msg m = { .type = WIRE_REGIONS }, r;
	struct wire_region want[2], have;
	struct page p;

	own_up();
	page_from(&p, 0);
	ask_data(&p, own);
	m.regions.index = own->index;
	memcpy(m.regions.epoch, node.dstrm.row[own->index].epoch, WIRE_EPOCH);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_REGIONED);
	ck_assert_uint_eq(r.regioned.regions.len, 2 * WIRE_REGION_SIZE);
	ck_assert_uint_eq(own_regions(&node, want, 2), 2);
	for (int i = 0; i < 2; i++) {
		wire_region_get(&have, r.regioned.regions.p +
		    i * WIRE_REGION_SIZE);
		ck_assert_uint_eq(have.base, want[i].base);
		ck_assert_uint_eq(have.size, want[i].size);
	}
	wire_msg_fini(&r);
	gone(&p);
	node_down();
}
END_TEST

START_TEST(blocks_are_freed_when_their_page_has_gone_and_not_before)
{
	struct stream_range range;
	struct page p;
	struct rec rec[2];
	uint64_t seq[2];
	int64_t then;

	own_up();
	page_from(&p, 0);
	ask_data(&p, own);
	then = own->now_ms;
	/* As if that much time had passed. */
	node.own.clock_ms += 39000;
	gone(&p);
	ck_assert_int_ge(own->now_ms, then + 39000);
	ck_assert_uint_eq(stream_queue_read(own->queue, 1, rec, seq, 2,
	    &range), 2);
	ck_assert_uint_ge(rec_ms(&rec[1]) - rec_ms(&rec[0]), 39000);
	node_down();
}
END_TEST

START_TEST(ages_go_on_while_nothing_happens)
{
	struct wire_msg r;
	struct page p;
	int64_t before;

	own_up();
	page_from(&p, 0);
	read_stream(&p, own, 0, &r);
	before = r.data.now_ms;
	wire_msg_fini(&r);
	/* As if that much time had passed. */
	node.own.clock_ms += 39000;
	read_stream(&p, own, 0, &r);
	ck_assert_uint_eq(r.data.count, 1);
	ck_assert_int_ge(r.data.now_ms, before + 39000);
	wire_msg_fini(&r);
	gone(&p);
	node_down();
}
END_TEST

/* Who knows the last one must not go on reading where that was. */
START_TEST(the_list_of_the_nodes_next_process_is_another_one)
{
	struct wire_msg m = { .type = WIRE_READ }, r;
	struct page p;

	own_up();
	m.read.index = own->index;
	memcpy(m.read.epoch, node.dstrm.row[own->index].epoch, WIRE_EPOCH);
	page_from(&p, 0);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_DATA);
	m.read.from = r.data.next;
	wire_msg_fini(&r);
	gone(&p);
	node_down();
	own_up();
	ck_assert_uint_eq(own->index, m.read.index);
	page_from(&p, 0);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_EPOCH);
	wire_msg_fini(&r);
	expect_empty();
	gone(&p);
	node_down();
}
END_TEST

START_TEST(a_node_without_an_alloclog_of_its_own_has_requests_too)
{
	struct keeper *k;
	struct page p;

	node_up(NULL);
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, 0);
	ask_data(&p, k);
	expect_numbers(1, 0);
	ck_assert_uint_eq(keeper_next(k), 1);
	gone(&p);
	expect_numbers(0, 0);
	node_down();
}
END_TEST

START_TEST(the_node_counts_its_requests_in_its_own_stats)
{
	struct wire_msg m = { .type = WIRE_STAT,
		.stat = { .index = UINT32_MAX } }, r;
	struct keeper *k;
	struct page p;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, THERE);
	for (unsigned i = 0; i < 2; i++) {
		page_ask(&p, &m, &r);
		ck_assert_uint_eq(r.type, WIRE_STATS);
		ck_assert_uint_eq(r.stats.n[WIRE_N_REQUESTS], i);
		ck_assert_uint_eq(r.stats.n[WIRE_N_REQUESTS_LAPSED], 0);
		wire_msg_fini(&r);
		ask_data(&p, k);
	}
	own_second(&node, mono_ms(mono_now()) + OWN_LAPSE_MS);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.stats.n[WIRE_N_REQUESTS], 0);
	ck_assert_uint_eq(r.stats.n[WIRE_N_REQUESTS_LAPSED], 1);
	wire_msg_fini(&r);
	gone(&p);
	node_down();
}
END_TEST

/* --- local applications -------------------------------------------------- */

static const struct {
	enum own_app app;
	const char *name;
} apps[] = {
	{ OWN_MEMB, "MEMB" }, { OWN_SYMB, "SYMB" }, { OWN_LIST, "LIST" },
};

START_TEST(an_application_has_one_LASTAT_described_by_its_name)
{
	struct wire_msg m = { .type = WIRE_NAME, .name = {
		.table = wire_text("LATBL"), .index = apps[_i].app } }, r;
	struct blk b[4];
	struct page p;

	own_up();
	page_from(&p, 0);
	page_name(&p, "LATBL", apps[_i].name, &r);
	expect_error(&r, WIRE_E_NAME);
	wire_msg_fini(&r);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	wire_msg_fini(&r);

	for (int i = 0; i < 3; i++)
		own_app(&node, apps[_i].app);
	ck_assert_uint_eq(listed(b, 4), 1);
	ck_assert_uint_eq(b[0].type, TYPE_LASTAT);
	ck_assert_uint_eq(b[0].size, 0x10);
	ck_assert_str_eq(name_of(&b[0]), apps[_i].name);
	ck_assert_uint_eq(blklist_counts(own->list)->illegal_type, 0);

	page_name(&p, "LATBL", apps[_i].name, &r);
	ck_assert_uint_eq(r.type, WIRE_NAMED);
	ck_assert_uint_eq(r.named.index, apps[_i].app);
	wire_msg_fini(&r);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_NAMED);
	ck_assert_uint_eq(r.named.name.len, 4);
	ck_assert_int_eq(memcmp(r.named.name.s, apps[_i].name, 4), 0);
	ck_assert_uint_eq(r.named.entries, OWN_APPS);
	wire_msg_fini(&r);
	m.name.index = OWN_APPS;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	wire_msg_fini(&r);
	gone(&p);
	node_down();
}
END_TEST

START_TEST(MEMB_begins_with_the_first_target)
{
	struct blk b[4];

	own_up();
	expect_empty();
	new_keeper("ALLOCLOG.generator", 0);
	expect_empty();
	new_keeper("ALLOCLOG.target.41", 41);
	new_keeper("ALLOCLOG.target.42", 42);
	ck_assert_uint_eq(listed(b, 4), 1);
	ck_assert_str_eq(name_of(&b[0]), "MEMB");
	node_down();
}
END_TEST

static Suite *
own_suite(void)
{
	Suite *s = suite_create("own");
	TCase *tc = tcase_create("requests");

	tcase_add_loop_test(tc, a_local_page_is_one_LOCREQ_as_long_as_it_asks,
	    0, 2);
	tcase_add_test(tc, a_page_of_another_node_is_three_blocks_of_one_age);
	tcase_add_test(tc, the_requester_has_its_friendly_number);
	tcase_add_loop_test(tc,
	    a_page_of_another_machine_is_remote_whatever_its_number, 0, 3);
	tcase_add_test(tc, only_data_of_a_stream_makes_a_request);
	tcase_add_test(tc, what_is_refused_makes_no_request);
	tcase_add_test(tc, another_stream_ends_the_request_and_begins_one);
	tcase_add_test(tc, the_click_sees_its_own_request_as_the_oldest_block);
	tcase_add_test(tc, a_first_snapshot_has_the_block_of_its_own_request);
	tcase_add_test(tc, many_pages_are_told_apart_and_leave_nothing_behind);
	suite_add_tcase(s, tc);

	tc = tcase_create("ends");
	tcase_add_loop_test(tc,
	    a_request_lapses_when_nothing_is_asked_and_begins_anew, 0, 2);
	tcase_add_test(tc, each_question_puts_the_lapse_off);
	tcase_add_test(tc, pages_that_the_node_closes_leave_nothing_behind);
	suite_add_tcase(s, tc);

	tc = tcase_create("memory");
	tcase_add_loop_test(tc,
	    without_room_a_page_is_served_and_the_failure_is_counted, 0, 2);
	tcase_add_test(tc, with_room_for_a_part_nothing_of_the_request_is_left);
	tcase_add_test(tc, what_region_2_has_satisfied_is_of_level_2);
	tcase_add_test(tc, an_overwritten_header_is_told_and_the_node_goes_on);
	tcase_add_test(tc, its_regions_hold_every_block_of_it);
	tcase_add_test(tc, its_regions_are_told_to_whoever_asks);
	tcase_add_test(tc, blocks_are_freed_when_their_page_has_gone_and_not_before);
	tcase_add_test(tc, ages_go_on_while_nothing_happens);
	tcase_add_test(tc, the_list_of_the_nodes_next_process_is_another_one);
	tcase_add_test(tc, a_node_without_an_alloclog_of_its_own_has_requests_too);
	tcase_add_test(tc, the_node_counts_its_requests_in_its_own_stats);
	suite_add_tcase(s, tc);

	tc = tcase_create("applications");
	tcase_add_loop_test(tc, an_application_has_one_LASTAT_described_by_its_name,
	    0, BASE_NELEM(apps));
	tcase_add_test(tc, MEMB_begins_with_the_first_target);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(own_suite)
