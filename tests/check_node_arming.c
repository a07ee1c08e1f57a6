/*
 * Targets that sleep until somebody looks: who wakes them, what their stream
 * is then, and when they go to sleep again.
 */
#include "../src/nodes/keeper/arming.h"
#include "node_harness.h"

#define T0 INT64_C(1000000)

/* A target that joins, of a process or a forked child of `origin`. */
static struct keeper *
join(const char *name, pid_t pid, bool forked, const struct keeper *origin,
    bool *goes_on)
{
	const uint32_t magic = RING_MAGIC;
	struct keeper *k;
	int fds[2];

	ck_assert_int_eq(keeper_new(&k, &node, &(struct keeper_opts){
	    .with_feed = true, .max = 4096 }, fds), 0);
	/* It takes its rings, and logs nothing. */
	ck_assert_int_eq(pwrite(fds[0], &magic, sizeof magic,
	    offsetof(struct ring_area, magic)), sizeof magic);
	close(fds[0]);
	close(fds[1]);
	k->image.pid = pid;
	k->image.origin = forked ? IMAGE_FORKED : IMAGE_EXECUTED;
	k->stream = atomic_fetch_add(&node.last_stream, 1) + 1;
	strcpy(k->image.comm, "target");
	arming_welcome(k);
	ck_assert_int_eq(images_join(k, name), 0);
	*goes_on = arming_join(k, origin);
	return k;
}

static struct keeper *
dormant_up(struct page *p)
{
	struct node_opts opts = { .fd = -1, .dormant = true };
	bool goes_on;

	node_up(&opts);
	page_open(p);
	page_greet(p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	return join("ALLOCLOG.target.7", 7, false, NULL, &goes_on);
}

static void
arm(struct page *p, const struct keeper *k, enum wire_arming arming,
    struct wire_msg *r)
{
	struct wire_msg m = { .type = WIRE_ARM, .arm = { .index = k->index,
		.arming = arming } };

	memcpy(m.arm.epoch, node.dstrm.row[k->index].epoch, WIRE_EPOCH);
	page_ask(p, &m, r);
}

static void
arms(struct page *p, const struct keeper *k, enum wire_arming arming)
{
	struct wire_msg r;

	arm(p, k, arming, &r);
	ck_assert_uint_eq(r.type, WIRE_ARMED);
}

static void
stats(struct page *p, const struct keeper *k, struct wire_msg *r)
{
	struct wire_msg m = { .type = WIRE_STAT, .stat = { k->index } };

	page_ask(p, &m, r);
	ck_assert_uint_eq(r->type, WIRE_STATS);
}

static void
state_is(struct page *p, const struct keeper *k, enum wire_state state)
{
	struct wire_msg r;

	stats(p, k, &r);
	ck_assert_uint_eq(r.stats.state, state);
	ck_assert_int_eq(r.stats.n[WIRE_N_ARMED_MS] != 0,
	    k->arming.wall_ms != 0);
	page_name(p, "DSTRM", node.dstrm.row[k->index].name, &r);
	ck_assert_uint_eq(r.named.state, state);
}

/* The node has seen the end of the connection. */
static void
leave(struct page *p)
{
	unsigned before = node.serve->count;

	page_close(p);
	while (node.serve->count == before)
		uv_run(&loop, UV_RUN_ONCE);
}

CASE("rules", .seconds = 60);

TEST(target_of_a_dormant_node_sleeps_until_it_is_armed)
{
	struct page p;
	struct keeper *k = dormant_up(&p);

	state_is(&p, k, WIRE_S_DORMANT);
	arms(&p, k, WIRE_ARM_WATCH);
	state_is(&p, k, WIRE_S_LIVE);
	ck_assert_int_ne(k->arming.wall_ms, 0);
	page_close(&p);
	node_down();
}

TEST(armed_stream_begins_anew_with_another_epoch)
{
	struct wire_msg r, m = { .type = WIRE_READ };
	struct page p;
	struct keeper *k = dormant_up(&p);

	memcpy(m.read.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	take(k, allocation(0x1000, 16));
	keeper_lose(k, STREAM_RING_FULL, 3);
	arms(&p, k, WIRE_ARM_HOLD);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_EPOCH);
	memcpy(m.read.epoch, r.err.epoch, WIRE_EPOCH);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_DATA);
	ck_assert_uint_eq(r.data.next, r.data.first);
	ck_assert_uint_eq(r.data.oldest, 1);
	stats(&p, k, &r);
	ck_assert_uint_eq(r.stats.n[WIRE_N_LIVE_BLOCKS], 0);
	ck_assert_uint_eq(r.stats.n[WIRE_N_RECORDS], 0);
	ck_assert_uint_eq(r.stats.n[WIRE_N_LOST], 0);
	page_close(&p);
	node_down();
}

/* READ leaves out pairs: it is answered from the digest where that has them. */
static void
read_from_start(struct page *p, const struct keeper *k, struct wire_msg *r)
{
	struct wire_msg m = { .type = WIRE_READ, .read = { .index = k->index,
		.from = 1 } };

	memcpy(m.read.epoch, node.dstrm.row[k->index].epoch, WIRE_EPOCH);
	page_ask(p, &m, r);
	ck_assert_uint_eq(r->type, WIRE_DATA);
	ck_assert_uint_eq(r->data.first, 1);
	ck_assert_uint_eq(r->data.next, keeper_next(k));
	ck_assert_uint_eq(r->data.cancelled, 0);
	ck_assert_uint_eq(r->data.count, keeper_next(k) - 1);
}

TEST(page_of_a_new_arming_reads_no_record_of_the_one_before)
{
	struct wire_msg r;
	struct page p;
	struct keeper *k = dormant_up(&p);
	struct rec rec;

	arms(&p, k, WIRE_ARM_HOLD);
	for (uint64_t i = 1; i <= 3; i++)
		take(k, allocation(0x1000 * i, 16));
	read_from_start(&p, k, &r);
	arms(&p, k, WIRE_ARM_OFF);
	read_from_start(&p, k, &r);
	arms(&p, k, WIRE_ARM_HOLD);
	take(k, allocation(0x9000, 32));
	read_from_start(&p, k, &r);
	stream_wide_decode(r.data.records.p, 1, &rec);
	ck_assert_uint_eq(rec_addr(&rec), 0x9000);
	page_close(&p);
	node_down();
}

TEST(free_of_what_came_before_the_arming_is_earlier)
{
	struct wire_msg r;
	struct page p;
	struct keeper *k = dormant_up(&p);

	arms(&p, k, WIRE_ARM_WATCH);
	take(k, freeing(0x1000));
	stats(&p, k, &r);
	ck_assert_uint_eq(r.stats.n[WIRE_N_EARLIER], 1);
	ck_assert_uint_eq(r.stats.n[WIRE_N_UNKNOWN_FREE], 0);
	page_close(&p);
	node_down();
}

TEST(watch_outlasts_its_connection_by_a_minute)
{
	struct page p, q;
	struct keeper *k = dormant_up(&p);

	page_open(&q);
	page_greet(&q, WIRE_ROLE_READ);
	arms(&p, k, WIRE_ARM_WATCH);
	take(k, allocation(0x1000, 16));
	arming_second(&node, T0);
	arming_second(&node, T0 + 2 * ARMING_GRACE_MS);
	state_is(&q, k, WIRE_S_LIVE);
	leave(&p);
	arming_second(&node, T0 + 3 * ARMING_GRACE_MS);
	arming_second(&node, T0 + 4 * ARMING_GRACE_MS - 1);
	state_is(&q, k, WIRE_S_LIVE);
	ck_assert_uint_eq(keeper_counts(k)->aRecActive, 1);
	arming_second(&node, T0 + 4 * ARMING_GRACE_MS);
	state_is(&q, k, WIRE_S_DORMANT);
	ck_assert_uint_eq(keeper_counts(k)->aRecActive, 0);
	page_close(&q);
	node_down();
}

TEST(watcher_who_comes_back_within_the_minute_keeps_the_list)
{
	struct page p, q;
	struct keeper *k = dormant_up(&p);

	arms(&p, k, WIRE_ARM_WATCH);
	take(k, allocation(0x1000, 16));
	leave(&p);
	arming_second(&node, T0);
	page_open(&q);
	page_greet(&q, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	arms(&q, k, WIRE_ARM_WATCH);
	arming_second(&node, T0 + 2 * ARMING_GRACE_MS);
	state_is(&q, k, WIRE_S_LIVE);
	ck_assert_uint_eq(keeper_counts(k)->aRecActive, 1);
	page_close(&q);
	node_down();
}

TEST(target_logs_until_the_last_of_two_watchers_has_gone)
{
	struct page p, q;
	struct keeper *k = dormant_up(&p);

	page_open(&q);
	page_greet(&q, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	arms(&p, k, WIRE_ARM_WATCH);
	take(k, allocation(0x1000, 16));
	arms(&q, k, WIRE_ARM_WATCH);
	arms(&q, k, WIRE_ARM_WATCH);
	leave(&q);
	arming_second(&node, T0);
	arming_second(&node, T0 + 2 * ARMING_GRACE_MS);
	state_is(&p, k, WIRE_S_LIVE);
	ck_assert_uint_eq(keeper_counts(k)->aRecActive, 1);
	leave(&p);
	arming_second(&node, T0 + 3 * ARMING_GRACE_MS);
	arming_second(&node, T0 + 4 * ARMING_GRACE_MS);
	ck_assert_int_eq(k->arming.mode, ARMING_DORMANT);
	node_down();
}

TEST(held_target_logs_until_it_is_sent_to_sleep)
{
	struct page p, q;
	struct keeper *k = dormant_up(&p);

	page_open(&q);
	page_greet(&q, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	arms(&p, k, WIRE_ARM_WATCH);
	arms(&p, k, WIRE_ARM_HOLD);
	leave(&p);
	arming_second(&node, T0);
	arming_second(&node, T0 + 9 * ARMING_GRACE_MS);
	state_is(&q, k, WIRE_S_LIVE);
	arms(&q, k, WIRE_ARM_OFF);
	state_is(&q, k, WIRE_S_DORMANT);
	page_close(&q);
	node_down();
}

TEST(target_that_logs_since_its_start_does_so_unwatched)
{
	struct page p;
	struct keeper *k;
	bool goes_on;

	node_up(NULL);
	k = join("ALLOCLOG.target.7", 7, false, NULL, &goes_on);
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	take(k, allocation(0x1000, 16));
	arms(&p, k, WIRE_ARM_WATCH);
	ck_assert_uint_eq(keeper_counts(k)->aRecActive, 1);
	ck_assert_int_eq(k->arming.wall_ms, 0);
	leave(&p);
	arming_second(&node, T0);
	arming_second(&node, T0 + 2 * ARMING_GRACE_MS);
	ck_assert_int_ne(k->arming.mode, ARMING_DORMANT);
	ck_assert_uint_eq(keeper_counts(k)->aRecActive, 1);
	node_down();
}

TEST(child_of_a_target_that_sleeps_sleeps_and_inherits_nothing)
{
	struct keeper *parent, *child;
	struct page p;
	bool goes_on;

	parent = dormant_up(&p);
	child = join("ALLOCLOG.target.8", 8, true, parent, &goes_on);
	ck_assert(!goes_on);
	state_is(&p, child, WIRE_S_DORMANT);
	/* Another one is awake: the welcome cannot know whose child it is. */
	arms(&p, child, WIRE_ARM_WATCH);
	child = join("ALLOCLOG.target.9", 9, true, parent, &goes_on);
	ck_assert(!goes_on);
	state_is(&p, child, WIRE_S_DORMANT);
	page_close(&p);
	node_down();
}

TEST(child_of_an_armed_target_is_armed_and_inherits)
{
	struct keeper *parent, *child;
	struct page p;
	bool goes_on;

	parent = dormant_up(&p);
	arms(&p, parent, WIRE_ARM_WATCH);
	child = join("ALLOCLOG.target.8", 8, true, parent, &goes_on);
	ck_assert(goes_on);
	state_is(&p, child, WIRE_S_LIVE);
	ck_assert_int_eq(child->arming.wall_ms, parent->arming.wall_ms);
	/* On the same wish: it sleeps when its parent does. */
	leave(&p);
	arming_second(&node, T0);
	arming_second(&node, T0 + ARMING_GRACE_MS);
	ck_assert_int_eq(child->arming.mode, ARMING_DORMANT);
	ck_assert_int_eq(parent->arming.mode, ARMING_DORMANT);
	node_down();
}

TEST(child_welcomed_before_its_parent_was_armed_begins_anew)
{
	struct keeper *parent, *child;
	struct page p;
	bool goes_on;
	int fds[2];

	parent = dormant_up(&p);
	ck_assert_int_eq(keeper_new(&child, &node, &(struct keeper_opts){
	    .with_feed = true, .max = 4096 }, fds), 0);
	close(fds[0]);
	close(fds[1]);
	child->image.origin = IMAGE_FORKED;
	arming_welcome(child);
	ck_assert_int_eq(child->arming.mode, ARMING_DORMANT);
	arms(&p, parent, WIRE_ARM_HOLD);
	ck_assert_int_eq(images_join(child, "ALLOCLOG.target.8"), 0);
	goes_on = arming_join(child, parent);
	ck_assert(!goes_on);
	ck_assert_int_ne(child->arming.mode, ARMING_DORMANT);
	ck_assert_int_eq(child->arming.mode, ARMING_HELD);
	ck_assert(child->trust.since_click);
	ck_assert_int_ne(child->arming.wall_ms, 0);
	page_close(&p);
	node_down();
}

TEST(image_after_an_exec_is_as_the_one_before)
{
	struct keeper *before, *k;
	struct page p;
	bool goes_on;

	before = dormant_up(&p);
	arms(&p, before, WIRE_ARM_WATCH);
	k = join("ALLOCLOG.next.7", 7, false, before, &goes_on);
	state_is(&p, k, WIRE_S_LIVE);
	ck_assert_int_eq(k->arming.mode, ARMING_WATCHED);
	ck_assert_uint_eq(k->arming.watchers, 1);
	ck_assert_int_ne(k->arming.wall_ms, 0);
	page_close(&p);
	node_down();
}

/* A busy node sees a process before its hello, or refuses one. */
LOOP_TEST(after_an_image_without_a_stream_a_target_sleeps, 0, 2)
{
	struct keeper *before, *k;
	struct page p;
	bool goes_on;

	(void)dormant_up(&p);
	ck_assert_int_eq(keeper_new(&before, &node,
	    &(struct keeper_opts){ .no_list = true }, NULL), 0);
	before->image.pid = 8;
	before->missed = true;
	ck_assert_int_eq(images_join(before, "NODATA.target.8"), 0);
	images_end_image(before, WIRE_S_NO_DATA, -1, NULL);
	k = join("ALLOCLOG.next.8", 8, _i != 0, before, &goes_on);
	ck_assert(!goes_on);
	state_is(&p, k, WIRE_S_DORMANT);
	page_close(&p);
	node_down();
}

/* An empty list of it would say that it held nothing. */
TEST(dormant_image_is_no_data_once_it_is_over)
{
	struct keeper *ended, *execed;
	struct page p;
	bool goes_on;

	ended = dormant_up(&p);
	execed = join("ALLOCLOG.next.8", 8, false, NULL, &goes_on);
	images_end_image(ended, WIRE_S_ENDED, 0, NULL);
	images_end_image(execed, WIRE_S_EXECED, -1, NULL);
	ck_assert_int_eq(ended->life.state, WIRE_S_NO_DATA);
	ck_assert_int_eq(execed->life.state, WIRE_S_NO_DATA);
	ck_assert_ptr_nonnull(strstr(execed->life.reason, "exec"));
	ck_assert(!keeper_complete(execed));
	page_close(&p);
	node_down();
}

TEST(page_without_the_role_cannot_arm)
{
	struct wire_msg r;
	struct page p, q;
	struct keeper *k = dormant_up(&p);

	page_open(&q);
	page_greet(&q, WIRE_ROLE_READ);
	arm(&q, k, WIRE_ARM_WATCH, &r);
	expect_error(&r, WIRE_E_AUTH);
	ck_assert_int_eq(k->arming.mode, ARMING_DORMANT);
	page_close(&p);
	page_close(&q);
	node_down();
}

TEST(generator_can_neither_be_armed_nor_sleep)
{
	static const enum wire_arming all[] = { WIRE_ARM_OFF, WIRE_ARM_WATCH,
		WIRE_ARM_HOLD };
	struct keeper *k;
	struct wire_msg r;
	struct page p;

	demo_up(&p, "note", "39s", NULL);
	k = node.dstrm.row[0].keeper;
	for (size_t i = 0; i < BASE_NELEM(all); i++) {
		arm(&p, k, all[i], &r);
		expect_error(&r, WIRE_E_NAME);
	}
	page_close(&p);
	node_down();
}

TEST(sample_is_told_and_estimated)
{
	struct node_opts opts = { .fd = -1, .sample = 512 * 1024 };
	struct keeper *k;
	struct wire_msg r;
	struct page p;
	bool goes_on;

	node_up(&opts);
	k = join("ALLOCLOG.target.7", 7, false, NULL, &goes_on);
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	take(k, allocation(0x1000, 1024));
	stats(&p, k, &r);
	ck_assert_uint_eq(r.stats.n[WIRE_N_SAMPLE], 512 * 1024);
	ck_assert_uint_eq(r.stats.n[WIRE_N_LIVE_BLOCKS], 1);
	ck_assert_uint_ge(r.stats.n[WIRE_N_EST_BLOCKS], 512);
	ck_assert_uint_le(r.stats.n[WIRE_N_EST_BLOCKS], 513);
	ck_assert_uint_ge(r.stats.n[WIRE_N_EST_BYTES], 512 * 1024);
	/* The list of a new arming estimates too. */
	arms(&p, k, WIRE_ARM_OFF);
	arms(&p, k, WIRE_ARM_HOLD);
	take(k, allocation(0x1000, 1024));
	ck_assert_uint_ge(keeper_counts(k)->est_blocks, 512);
	page_close(&p);
	node_down();
}
