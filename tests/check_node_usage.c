/*
 * Counts by caller, type and size at the node: who asks, since when, until when.
 */
#include "../src/nodes/keeper/counting.h"
#include "node_harness.h"

static struct keeper *k;
static struct usage_row rows[4000];
static size_t nrows;

static void
setup(void)
{
	node_up(NULL);
	k = new_keeper("ALLOCLOG", 0);
}

static void
page_up(struct page *p)
{
	page_open(p);
	page_greet(p, WIRE_ROLE_READ);
}

static struct wire_msg
usage_of(uint32_t index, uint32_t from)
{
	struct wire_msg m = { .type = WIRE_USAGE, .usage.index = index,
		.usage.from = from };

	memcpy(m.usage.epoch, node.dstrm.row[index].epoch, WIRE_EPOCH);
	return m;
}

/* The whole copy; the totals of its last portion through *r. */
static void
ask(struct page *p, uint32_t index, struct wire_msg *r)
{
	uint32_t from = 0, no = 0;

	nrows = 0;
	do {
		struct wire_msg m = usage_of(index, from);

		page_ask(p, &m, r);
		ck_assert_uint_eq(r->type, WIRE_USED);
		ck_assert(from == 0 || no == r->used.no);
		no = r->used.no;
		for (size_t at = 0; at < r->used.rows.len;
		    at += WIRE_USAGE_SIZE)
			ck_assert_int_eq(usage_row_get(&rows[nrows++],
			    r->used.rows.p + at), 0);
		from = r->used.next;
	} while (from != 0);
	ck_assert_uint_eq(nrows, r->used.nrows);
}

/* The node sees that pages have gone. */
static void
run_loop(unsigned pages)
{
	while (node.serve->count > pages)
		uv_run(&loop, UV_RUN_NOWAIT);
}

static bool
counts(const struct keeper *keeper)
{
	return keeper->queue.counting != NULL;
}

/* Long after the last asker. */
static void
forget(void)
{
	counting_expire(&node, INT64_MAX);
}

CASE("usage", .setup = setup, .teardown = node_down);

TEST(counting_begins_with_the_first_question_and_ends_with_the_last_page)
{
	struct page p, q;
	struct wire_msg r;

	take(k, allocation(0x1000, 16));
	ck_assert(!counts(k));
	page_up(&p);
	ask(&p, 0, &r);
	ck_assert_uint_eq(nrows, 1);
	ck_assert_uint_eq(rows[0].live, 1);
	ck_assert_uint_eq(rows[0].allocs, 0);
	ck_assert(!r.used.from_start);
	ck_assert_uint_eq(r.used.lacks.len, 0);
	take(k, allocation(0x2000, 16));
	page_up(&q);
	ask(&q, 0, &r);
	ck_assert_uint_eq(rows[0].allocs, 1);
	page_close(&p);
	run_loop(1);
	ck_assert(counts(k));
	page_close(&q);
	run_loop(0);
	forget();
	ck_assert(!counts(k));
}

TEST(a_page_may_say_that_it_looks_no_more)
{
	struct wire_msg r, m = usage_of(0, 0);
	struct page p;

	page_up(&p);
	ask(&p, 0, &r);
	m.usage.end = true;
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_USED);
	ck_assert_uint_eq(r.used.nrows, 0);
	forget();
	ck_assert(!counts(k));
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_USED);
	page_close(&p);
}

/* To begin is a walk of the list: asking and ending in turns walks it once. */
TEST(counts_are_kept_for_who_comes_back_soon)
{
	struct wire_msg r, m = usage_of(0, 0);
	struct page p;

	m.usage.end = true;
	page_up(&p);
	ask(&p, 0, &r);
	for (unsigned i = 1; i < 5; i++) {
		take(k, allocation(0x1000 * i, 16));
		page_ask(&p, &m, &r);
		counting_expire(&node, mono_ms(mono_now()) - 1);
		ask(&p, 0, &r);
		ck_assert_uint_eq(r.used.total[WIRE_U_ALLOCS], i);
	}
	forget();
	ck_assert(counts(k));	/* there is an asker */
	page_close(&p);
}

static void
ask_as(bool system, bool slows)
{
	struct wire_msg r;
	struct page p;

	page_up(&p);
	TAILQ_FIRST(&node.serve->conns)->peer = (struct peer){
		.uid = 54321, .pid = getpid(), .member = true };
	node.access.system = system;
	node.access.owner = 54321;
	ask(&p, 0, &r);
	ck_assert(counting_slows(k) == slows);
	ck_assert((r.used.lacks.len == 0) == slows);
	page_close(&p);
	run_loop(0);
}

/* The target makes pairs, and brief blocks are an estimate. */
TEST(a_reader_does_not_slow_the_target)
{
	k->image.uid = 12345;
	ask_as(true, false);
	ask_as(false, true);
	forget();
	ck_assert(!counting_slows(k));
}

TEST(each_page_has_its_own_maximum)
{
	struct page p, q;
	struct wire_msg r;

	page_up(&p);
	page_up(&q);
	ask(&p, 0, &r);
	ask(&q, 0, &r);
	take(k, allocation(0x1000, 16));
	take(k, allocation(0x2000, 16));
	take(k, freeing(0x1000));
	ask(&p, 0, &r);
	ck_assert_uint_eq(rows[0].high, 2);
	take(k, freeing(0x2000));
	ask(&p, 0, &r);
	ck_assert_uint_eq(rows[0].high, 1);
	ask(&q, 0, &r);
	ck_assert_uint_eq(rows[0].high, 2);
	ck_assert_uint_eq(rows[0].most, 2);
	page_close(&p);
	page_close(&q);
}

TEST(rows_come_in_portions_of_one_copy)
{
	uint64_t bytes = 0;
	struct wire_msg r;
	struct page p;

	page_up(&p);
	ask(&p, 0, &r);
	for (unsigned i = 0; i < 1300; i++) {
		struct rec rec = allocation(0x100000 + 64 * i, 16);

		rec.w[3] = rec_w3(0x400000 + i, 0);
		take(k, rec);
	}
	ask(&p, 0, &r);
	ck_assert_uint_eq(nrows, 1300);
	for (size_t i = 0; i < nrows; i++)
		bytes += rows[i].live_bytes;
	ck_assert_uint_eq(bytes, r.used.total[WIRE_U_LIVE_BYTES]);
	ck_assert_uint_eq(bytes, keeper_counts(k)->live_bytes);
	page_close(&p);
}

TEST(a_page_counts_one_stream_at_a_time)
{
	struct keeper *other = new_keeper("other", 0);
	struct wire_msg r;
	struct page p;

	page_up(&p);
	ask(&p, 0, &r);
	ask(&p, 1, &r);
	counting_expire(&node, INT64_MAX);
	ck_assert(!counts(k));
	ck_assert(counts(other));
	page_close(&p);
}

TEST(there_is_room_for_a_few_pages)
{
	struct wire_msg r, m = usage_of(0, 0);
	struct page p[USAGE_ASKERS + 1];

	for (unsigned i = 0; i <= USAGE_ASKERS; i++)
		page_up(&p[i]);
	for (unsigned i = 0; i < USAGE_ASKERS; i++)
		ask(&p[i], 0, &r);
	page_ask(&p[USAGE_ASKERS], &m, &r);
	expect_error(&r, WIRE_E_BUSY);
	page_close(&p[0]);
	run_loop(USAGE_ASKERS);
	ask(&p[USAGE_ASKERS], 0, &r);
	for (unsigned i = 1; i <= USAGE_ASKERS; i++)
		page_close(&p[i]);
}

TEST(counts_begin_anew_with_the_list_and_say_since_when)
{
	struct wire_msg r, m;
	struct page p;

	page_up(&p);
	ask(&p, 0, &r);
	ck_assert(r.used.from_start);
	take(k, allocation(0x1000, 16));
	ck_assert_int_eq(keeper_restart_list(k), 0);
	m = usage_of(0, 1);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	take(k, allocation(0x2000, 32));
	ask(&p, 0, &r);
	ck_assert_uint_eq(nrows, 1);
	ck_assert_uint_eq(rows[0].size, 32);
	ck_assert_uint_eq(r.used.total[WIRE_U_ALLOCS], 1);
	ck_assert(!r.used.from_start);
	page_close(&p);
}

TEST(a_copy_has_the_size_of_the_process_if_it_is_one)
{
	pid_t pid = k->image.pid;
	struct wire_msg r;
	struct page p;

	page_up(&p);
	k->image.pid = getpid();
	ask(&p, 0, &r);
	/* As said: it has its own stack and code at least. */
	ck_assert_uint_gt(r.used.total[WIRE_U_RSS], sizeof rows);
	k->image.pid = 0;
	ask(&p, 0, &r);
	ck_assert_uint_eq(r.used.total[WIRE_U_RSS], 0);
	k->image.pid = pid;
	page_close(&p);
}

/* Without a question before it there is no copy to go on with. */
TEST(a_row_of_no_copy_is_refused)
{
	struct wire_msg r, m = usage_of(0, 500);
	struct page p;

	page_up(&p);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	ck_assert(!counts(k));
	ask(&p, 0, &r);
	m = usage_of(0, UINT32_MAX);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_USED);
	ck_assert_uint_eq(r.used.rows.len, 0);
	page_close(&p);
}

TEST(losses_since_then_are_told)
{
	struct wire_msg r;
	struct page p;

	keeper_lose(k, STREAM_RING_FULL, 7);
	page_up(&p);
	ask(&p, 0, &r);
	ck_assert_uint_eq(r.used.lost, 0);
	keeper_lose(k, STREAM_RING_FULL, 5);
	ask(&p, 0, &r);
	ck_assert_uint_eq(r.used.lost, 5);
	ck_assert_uint_gt(r.used.lacks.len, 0);
	page_close(&p);
}

TEST(another_users_stream_is_not_counted)
{
	struct wire_msg r, m = usage_of(0, 0);
	struct page p;

	node.access.system = true;
	k->image.uid = 12345;
	page_up(&p);
	TAILQ_FIRST(&node.serve->conns)->peer.uid = 54321;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_AUTH);
	ck_assert(!counts(k));
	page_close(&p);
}

TEST(what_it_costs_is_in_the_statistics)
{
	uint64_t n[WIRE_STATS_COUNT], bytes;
	struct wire_msg r, m = { .type = WIRE_STAT };
	struct page p;

	page_up(&p);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.stats.n[WIRE_N_USAGE_BYTES], 0);
	take(k, allocation(0x1000, 16));
	ask(&p, 0, &r);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.stats.n[WIRE_N_USAGE_ROWS], 1);
	counting_cost(k, &n[0], &bytes);
	ck_assert_uint_eq(r.stats.n[WIRE_N_USAGE_BYTES], bytes);
	ck_assert_uint_gt(bytes, 0);
	page_close(&p);
}

/* As images.c calls it. */
TEST(a_node_that_was_told_to_counts_from_the_start)
{
	struct wire_msg r;
	struct page p;

	node.opts.usage = true;
	counting_welcome(k);
	take(k, allocation(0x1000, 16));
	take(k, freeing(0x1000));
	page_up(&p);
	ask(&p, 0, &r);
	ck_assert(r.used.from_start);
	ck_assert_uint_eq(r.used.total[WIRE_U_ALLOCS], 1);
	ck_assert_uint_eq(r.used.total[WIRE_U_FREES], 1);
	page_close(&p);
	run_loop(0);
	ck_assert(counts(k));
	keeper_drop(k);
	ck_assert(!counts(k));
}
