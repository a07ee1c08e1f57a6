/*
 * A snapshot taken in parts while records arrive: whatever the order in which
 * they come, the page's list is the keeper's.
 */
#include "../src/base/base.h"
#include "../src/nodes/session/merge.h"
#include "session_rig.h"

/*
 * What happens while a snapshot of four blocks, one to a part, is taken: every
 * kind of change, before, at and behind the part that is being taken.
 */
static const struct {
	enum rec_op op;
	unsigned low;
	unsigned type;
	uint64_t addr, size;
} happenings[] = {
	{ REC_FREE, 0, TYPE_FREE, 0x1010, 0 },
	{ REC_ALLOC, 1, TYPE_MALLOC, 0x1010, 7 },
	{ REC_ALLOC, 1, TYPE_MALLOC, 0x4010, 9 },
	{ REC_FREE, 0, TYPE_FREE, 0x3010, 0 },
	{ REC_ALLOC, 1 | REC_LAYER_API, TYPE_API_FIRST, 0x2010, 3 },
	{ REC_FREE, 0, TYPE_FREE, 0x4010, 0 },
	{ REC_RANGE, REC_LAYER_API, TYPE_API_FIRST, 0x1000, 0x2000 },
	{ REC_ALLOC, 1 | REC_LAYER_API, TYPE_API_FIRST, 0x1010, 4 },
};

static void
model_before(struct model *m)
{
	struct rec r;

	model_init(m, "ALLOCLOG.model.42", 42);
	m->part_max = 1;
	model_alloc(m, 0x1010, 16);
	model_alloc(m, 0x2010, 32);
	model_alloc(m, 0x3010, 48);
	r = make_rec(REC_ALLOC, 1 | REC_LAYER_API, TYPE_API_FIRST, 0x1010, 8);
	model_write(m, &r);
	r = make_rec(REC_ALLOC, 1 | REC_LAYER_API, TYPE_API_FIRST, 0x2810, 8);
	model_write(m, &r);
}

static void
happen(struct model *m, size_t k)
{
	struct rec r = make_rec(happenings[k].op, happenings[k].low,
	    happenings[k].type, happenings[k].addr, happenings[k].size);

	model_write(m, &r);
}

/* Each bit of the schedule: the next record is written, or a request answered. */
static void
run_schedule(uint32_t schedule, uint32_t read_max, bool newest_first)
{
	struct nodes_session *s;
	struct model *m = malloc(sizeof *m);
	struct peer p;
	size_t done = 0;
	unsigned step;

	ck_assert_ptr_nonnull(m);
	peer_open(&p);
	model_before(m);
	m->read_max = read_max;
	p.model[p.models++] = m;
	s = open_session(&p, &plain);
	peer_turn(&p);
	while (peer_find(&p, WIRE_SNAP) < 0) {
		peer_answer(&p, 0);
		peer_turn(&p);
	}
	for (step = 0; step < 20; step++) {	/* a few answers more */
		if ((schedule >> step & 1) != 0 &&
		    done < BASE_NELEM(happenings))
			happen(m, done++);
		else if (p.n > 0)
			peer_answer(&p, newest_first ? p.n - 1 : 0);
		else
			nodes_session_cycle(s);
		peer_turn(&p);
	}
	while (done < BASE_NELEM(happenings))
		happen(m, done++);
	peer_cycles(&p, s, 8);
	ck_assert(nodes_session_look(s)->settled);
	assert_same(s, m, newest_first ? "newest first" : "in order",
	    schedule);
	ck_assert_uint_eq(nodes_session_look(s)->loss.lost[STREAM_LINK], 0);
	nodes_session_close(s);
	peer_close(&p);
	model_fini(m);
	free(m);
}

/*
 * All records fall among the first sixteen steps, which is when the parts are
 * taken.  There are 12,870 ways, too many for a test that is run often.
 */
#define STEPS 16
#define SHARES 40	/* the test runs every fifth of them */

CASE("merge", .seconds = 60);

LOOP_TEST(late_snapshot_is_exact_however_records_fall_between_its_parts, 0, 8)
{
	unsigned number = 0;
	uint32_t schedule;

	if (_i % check_stride(3) != 0)
		return;
	for (schedule = 0; schedule < 1u << STEPS; schedule++)
		if (__builtin_popcount(schedule) == BASE_NELEM(happenings) &&
		    number++ % SHARES == (unsigned)_i * 5)
			run_schedule(schedule, 1 + schedule % 3, false);
}

TEST(a_node_that_answers_out_of_order_is_survived)
{
	uint32_t schedule;

	for (schedule = 0; schedule < 1u << STEPS; schedule += 127)
		run_schedule(schedule, 2, true);
}

TEST(reads_are_whole_until_all_parts_agree)
{
	struct nodes_session *s;
	struct model m;
	struct peer p;

	peer_open(&p);
	model_before(&m);
	p.model[p.models++] = &m;
	s = open_session(&p, &plain);
	peer_turn(&p);
	while (!nodes_session_look(s)->settled) {
		ck_assert_uint_gt(p.n, 0);
		ck_assert_uint_eq(p.not_whole, 0);
		if (p.asked[0].type == WIRE_SNAP && m.n < 12)
			model_alloc(&m, 0x9000 + 16 * m.n, 8);
		peer_answer(&p, 0);
		peer_turn(&p);
	}
	ck_assert_uint_gt(p.whole, 0);
	p.whole = 0;
	peer_cycles(&p, s, 3);
	ck_assert_uint_eq(p.whole, 0);
	ck_assert_uint_gt(p.not_whole, 0);
	assert_same(s, &m, "whole", 0);
	nodes_session_close(s);
	peer_close(&p);
	model_fini(&m);
}

TEST(free_of_a_range_is_cut_at_the_horizon)
{
	struct merge merge;
	struct rec r = make_rec(REC_RANGE, REC_LAYER_API, TYPE_API_FIRST,
	    0x1000, 0x3000);

	merge_init(&merge);
	ck_assert_int_eq(merge_part(&merge, merge_key(1, 0x1fff), 10, false,
	    1), 0);
	ck_assert_int_eq(merge_part(&merge, merge_key(1, 0x2fff), 20, false,
	    11), 0);
	ck_assert(!merge_admit(&merge, &r, 10));
	ck_assert(merge_admit(&merge, &r, 11));
	ck_assert_uint_eq(rec_addr(&r), 0x1000);
	ck_assert_uint_eq(rec_size(&r), 0x1000);
	r.w[1] = rec_w1(0x3000, 0);
	ck_assert(merge_admit(&merge, &r, 21));
	ck_assert_uint_eq(rec_size(&r), 0x2000);
	merge_fini(&merge);
}

TEST(parts_that_do_not_fit_together_are_refused)
{
	struct merge merge;

	merge_init(&merge);
	ck_assert_int_eq(merge_part(&merge, 100, 10, false, 0), 0);
	ck_assert_int_eq(merge_part(&merge, 100, 10, false, 0), -EPROTO);
	ck_assert_int_eq(merge_part(&merge, 200, 9, false, 0), -EPROTO);
	/* Records up to 12 have been left out for want of this part. */
	ck_assert_int_eq(merge_part(&merge, 200, 11, false, 13), -EPROTO);
	ck_assert_int_eq(merge_part(&merge, 200, 12, true, 13), 0);
	ck_assert(!merge_settled(&merge, 12));
	ck_assert(merge_settled(&merge, 13));
	merge_fini(&merge);
}
