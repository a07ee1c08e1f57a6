/*
 * The common ring full of what a target may write to make its reading dear.
 */
#include <time.h>

#include "feed_rig.h"

static void
slot_write(struct rig *rig, uint64_t n, uint64_t w0, unsigned thread,
    uint32_t ticket)
{
	struct ring_slot *s = (struct ring_slot *)((char *)rig->area +
	    RING_SLOTS_OFFSET) + n;

	s->rec.w[0] = w0;
	s->rec.w[1] = rec_w1(16, thread);
	s->rec.w[2] = rec_w2(ticket, 0);
	s->rec.w[3] = 0;
	atomic_store(&s->lap, n + 1);
}

/*
 * One record of thread 1 waits for a ticket that is in flight; n marks of thread
 * 2 behind it wait for nothing of their own.  Returns what a pass costs.
 */
static clock_t
pass_of_marks(unsigned n)
{
	struct rig *rig = rig_attached(false);
	clock_t begun;

	atomic_store(&rig->area->threads, 2);
	slot_write(rig, 0, rec_w0(rig_addr(7), REC_FLAGS(REC_ALLOC, 0),
	    TYPE_MALLOC), 1, 1);
	for (unsigned i = 1; i <= n; i++)
		slot_write(rig, i, rec_w0(0, REC_FLAGS(REC_CONTROL, 0),
		    REC_CTL_MARK), 2, 0);
	atomic_store(&rig->area->rings[RING_COMMON].head, n + 1);
	begun = clock();
	rig_pass(rig);
	begun = clock() - begun;
	ck_assert_uint_eq(rig->controls, n);
	ck_assert_uint_eq(rig->records, 1);
	rig_free(rig);
	return begun;
}

static clock_t
least_of_marks(unsigned n)
{
	clock_t least = pass_of_marks(n), more;

	for (unsigned i = 0; i < 6; i++)
		if ((more = pass_of_marks(n)) < least)
			least = more;
	return least;
}

START_TEST(control_records_cost_what_they_are_many_and_no_more)
{
	clock_t some = least_of_marks(RING_COMMON_SLOTS / 8 - 1);
	clock_t all = least_of_marks(RING_COMMON_SLOTS - 1);

	ck_assert_msg(all < 24 * (some + 1), "%ld and %ld us", (long)some,
	    (long)all);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("order, a crowd");
	TCase *t = tcase_create("common ring");

	tcase_add_test(t, control_records_cost_what_they_are_many_and_no_more);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(suite)
