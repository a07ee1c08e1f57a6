/*
 * The common ring full of what a target may write there.
 */
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

static uint64_t marks_before;	/* that record */

static void
count_marks(struct rig *rig, const struct rec *r)
{
	(void)r;
	marks_before = rig->controls;
}

CASE("common ring", .seconds = 60);

/*
 * One record of thread 1 waits for a ticket that is in flight; marks of thread 2
 * behind it wait for nothing of their own, and those of thread 1 for it.
 */
TEST(a_ring_full_of_marks_waits_for_its_own_thread_alone)
{
	struct rig *rig = rig_attached(false);
	unsigned n = RING_COMMON_SLOTS - 2;

	rig->on_record = count_marks;
	atomic_store(&rig->area->threads, 2);
	slot_write(rig, 0, rec_w0(rig_addr(7), REC_FLAGS(REC_ALLOC, 0),
	    TYPE_MALLOC), 1, 1);
	for (unsigned i = 1; i <= n; i++)
		slot_write(rig, i, rec_w0(0, REC_FLAGS(REC_CONTROL, 0),
		    REC_CTL_MARK), 2, 0);
	slot_write(rig, n + 1, rec_w0(0, REC_FLAGS(REC_CONTROL, 0),
	    REC_CTL_MARK), 1, 0);
	atomic_store(&rig->area->rings[RING_COMMON].head, n + 2);
	rig_pass(rig);
	ck_assert_uint_eq(rig->controls, n + 1);
	ck_assert_uint_eq(rig->records, 1);
	ck_assert_uint_eq(marks_before, n);
	rig_free(rig);
}
