/*
 * The node that watches itself: the memory that its own blocks lie in, regions,
 * and the blocks of local applications.
 */
#include "self_watch_rig.h"

/* --- memory -------------------------------------------------------------- */

static void
fill(void **blocks, size_t max, size_t *n)
{
	size_t size = ALLOCP_SIZE_MAX;

	for (*n = 0; *n < max && size > 0;) {
		blocks[*n] =
		    AllocP(node.self_watch->memory, size, TYPE_DSTREAM);
		if (blocks[*n] != NULL)
			++*n;
		else
			size /= 2;
	}
}

CASE("memory");

LOOP_TEST(without_room_a_page_is_served_and_the_failure_is_counted, 0, 2)
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
		FreeP(node.self_watch->memory, blocks[--n]);
	TAILQ_FIRST(&node.serve->conns)->page.retry_ms = 0;
	ask_data(&p, k);
	expect_numbers(1, 0);
	gone(&p);
	expect_empty();
	node_down();
}

TEST(with_room_for_a_part_nothing_of_the_request_is_left)
{
	struct keeper *k;
	void *blocks[512], *keep;
	struct page p;
	size_t n, i;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	/* Room for an ACREQ and an INTPTRS, and for no AHDRMSG. */
	keep = AllocP(node.self_watch->memory, 0x48 + 8 + 0x18, TYPE_DSTREAM);
	fill(blocks, 512, &n);
	FreeP(node.self_watch->memory, keep);
	i = blklist_counts(own->list)->aRecActive;
	page_from(&p, THERE);
	ask_data(&p, k);
	ck_assert_uint_eq(blklist_counts(own->list)->aRecActive, i);
	expect_numbers(0, 0);
	ck_assert_uint_eq(blklist_counts(own->list)->unknown_free, 0);
	gone(&p);
	while (n > 0)
		FreeP(node.self_watch->memory, blocks[--n]);
	expect_empty();
	node_down();
}

TEST(what_region_2_has_satisfied_is_of_level_2)
{
	struct blk b[512];
	struct keeper *k;
	void *blocks[64];
	struct page p;
	size_t n = 0, got;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	while (n < 64) {
		blocks[n] =
		    AllocP(node.self_watch->memory, 0x400, TYPE_DSTREAM);
		ck_assert_ptr_nonnull(blocks[n++]);
		got = listed(b, 512);
		if ((b[got - 1].flags & REC_LEVEL_MASK) == 2)
			break;
	}
	ck_assert_uint_lt(n, 64);
	/* What is left of region 1 is less than that. */
	while ((got = listed(b, 512)) < 512) {
		AllocP(node.self_watch->memory, 0, TYPE_DSTREAM);
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

TEST(an_overwritten_header_is_told_and_the_node_goes_on)
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
	self_watch_second(&node, mono_ms(mono_now()));
	ck_assert_str_eq(own->life.reason, "");
	gone(&p);
	expect_numbers(0, 0);
	ck_assert_uint_eq(blklist_counts(own->list)->aRecActive, 0);
	self_watch_second(&node, mono_ms(mono_now()));
	ck_assert_ptr_nonnull(strstr(own->life.reason, "overwritten: 1"));
	page_from(&p, 0);
	ask_data(&p, k);
	expect_numbers(1, 0);
	gone(&p);
	node_down();
}

TEST(its_regions_hold_every_block_of_it)
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
	n = self_watch_regions(&node, r, WIRE_REGIONS_MAX);
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

TEST(its_regions_are_told_to_whoever_asks)
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
	ck_assert_uint_eq(self_watch_regions(&node, want, 2), 2);
	for (int i = 0; i < 2; i++) {
		wire_region_get(&have, r.regioned.regions.p +
		    i * WIRE_REGION_SIZE);
		ck_assert_uint_eq(have.base, want[i].base);
		ck_assert_uint_eq(have.size, want[i].size);
	}
	gone(&p);
	node_down();
}

TEST(blocks_are_freed_when_their_page_has_gone_and_not_before)
{
	struct stream_range range;
	struct page p;
	struct rec rec[2];
	uint64_t seq[2];
	int64_t then;

	own_up();
	page_from(&p, 0);
	ask_data(&p, own);
	then = own->source.now_ms;
	/* As if that much time had passed. */
	node.self_watch->clock_ms += 39000;
	gone(&p);
	ck_assert_int_ge(own->source.now_ms, then + 39000);
	ck_assert_uint_eq(stream_queue_read(own->queue.records, 1, rec, seq, 2,
	    &range), 2);
	ck_assert_uint_ge(rec_ms(&rec[1]) - rec_ms(&rec[0]), 39000);
	node_down();
}

TEST(ages_go_on_while_nothing_happens)
{
	struct wire_msg r;
	struct page p;
	int64_t before;

	own_up();
	page_from(&p, 0);
	read_stream(&p, own, 0, &r);
	before = r.data.now_ms;
	/* As if that much time had passed. */
	node.self_watch->clock_ms += 39000;
	read_stream(&p, own, 0, &r);
	ck_assert_uint_eq(r.data.count, 1);
	ck_assert_int_ge(r.data.now_ms, before + 39000);
	gone(&p);
	node_down();
}

/* Who knows the last one must not go on reading where that was. */
TEST(the_list_of_the_nodes_next_process_is_another_one)
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
	gone(&p);
	node_down();
	own_up();
	ck_assert_uint_eq(own->index, m.read.index);
	page_from(&p, 0);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_EPOCH);
	expect_empty();
	gone(&p);
	node_down();
}

TEST(a_node_without_an_alloclog_of_its_own_has_requests_too)
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

TEST(the_node_counts_its_requests_in_its_own_stats)
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
		ask_data(&p, k);
	}
	self_watch_second(&node, mono_ms(mono_now()) + SELF_LAPSE_MS);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.stats.n[WIRE_N_REQUESTS], 0);
	ck_assert_uint_eq(r.stats.n[WIRE_N_REQUESTS_LAPSED], 1);
	gone(&p);
	node_down();
}

/* --- local applications -------------------------------------------------- */

static const struct {
	enum self_watch_app app;
	const char *name;
} apps[] = {
	{ SELF_MEMB, "MEMB" }, { SELF_SYMB, "SYMB" }, { SELF_LIST, "LIST" },
};

CASE("applications");

LOOP_TEST(an_application_has_one_LASTAT_described_by_its_name, 0,
    BASE_NELEM(apps))
{
	struct wire_msg m = { .type = WIRE_NAME, .name = {
		.table = wire_text("LATBL"), .index = apps[_i].app } }, r;
	struct blk b[4];
	struct page p;

	own_up();
	page_from(&p, 0);
	page_name(&p, "LATBL", apps[_i].name, &r);
	expect_error(&r, WIRE_E_NAME);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);

	for (int i = 0; i < 3; i++)
		self_watch_app(&node, apps[_i].app);
	ck_assert_uint_eq(listed(b, 4), 1);
	ck_assert_uint_eq(b[0].type, TYPE_LASTAT);
	ck_assert_uint_eq(b[0].size, 0x10);
	ck_assert_str_eq(name_of(&b[0]), apps[_i].name);
	ck_assert_uint_eq(blklist_counts(own->list)->illegal_type, 0);

	page_name(&p, "LATBL", apps[_i].name, &r);
	ck_assert_uint_eq(r.type, WIRE_NAMED);
	ck_assert_uint_eq(r.named.index, apps[_i].app);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_NAMED);
	ck_assert_uint_eq(r.named.name.len, 4);
	ck_assert_int_eq(memcmp(r.named.name.s, apps[_i].name, 4), 0);
	ck_assert_uint_eq(r.named.entries, SELF_APPS);
	m.name.index = SELF_APPS;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	gone(&p);
	node_down();
}

TEST(MEMB_begins_with_the_first_target)
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
