/*
 * The rules of the 2004 note, one test each, seen from inside the literal
 * list: the free list and the hint aRecPtr.
 */
#include "harness.h"

#include <errno.h>

#include "../src/blklist/list.h"
#include "blklist_recs.h"

static const struct literal *
inside(const struct blklist *l)
{
	return l->impl;
}

static struct blklist *
note_list(uint32_t aRecMax)
{
	return list_of(BLKLIST_LITERAL, aRecMax);
}

CASE("literal list");

TEST(initially_every_record_is_free_and_points_to_the_next)
{
	struct blklist *l = note_list(5);
	const struct literal *lit = inside(l);
	unsigned n = 0;

	ck_assert_ptr_null(lit->aHead);
	ck_assert_ptr_null(lit->aRecPtr);
	for (const struct arec *a = lit->fHead; a != NULL; a = a->aFwd)
		ck_assert_ptr_eq(a, &lit->aRec[n++]);
	ck_assert_uint_eq(n, 5);
	blklist_free(l);
}

TEST(insert_takes_the_head_of_the_free_list)
{
	struct blklist *l = note_list(5);
	const struct literal *lit = inside(l);
	const struct arec *second = lit->fHead->aFwd;

	APPLY(l, ALLOC(0x10));
	ck_assert_ptr_eq(lit->aHead, &lit->aRec[0]);
	ck_assert_ptr_eq(lit->fHead, second);
	blklist_free(l);
}

TEST(last_freed_is_first_reused)
{
	struct blklist *l = note_list(5);
	const struct literal *lit = inside(l);
	const struct arec *freed;

	APPLY(l, ALLOC(0x10), ALLOC(0x20), ALLOC(0x30));
	freed = lit->aHead->aFwd;
	APPLY(l, FREE(0x20));
	ck_assert_ptr_eq(lit->fHead, freed);
	APPLY(l, ALLOC(0x05));
	ck_assert_ptr_eq(lit->aHead, freed);
	blklist_free(l);
}

TEST(list_is_linked_in_address_order)
{
	struct blklist *l = note_list(8);
	uint64_t last = 0;
	unsigned n = 0;

	APPLY(l, ALLOC(0x30), ALLOC(0x10), ALLOC(0x50), ALLOC(0x40),
	    ALLOC(0x20), FREE(0x30));
	for (const struct arec *a = inside(l)->aHead; a != NULL; a = a->aFwd) {
		ck_assert_uint_gt(a->blk.addr, last);
		last = a->blk.addr;
		n++;
	}
	ck_assert_uint_eq(n, 4);
	blklist_free(l);
}

TEST(aRecPtr_is_the_last_inserted)
{
	struct blklist *l = note_list(8);

	APPLY(l, ALLOC(0x30));
	ck_assert_uint_eq(inside(l)->aRecPtr->blk.addr, 0x30);
	APPLY(l, ALLOC(0x10));
	ck_assert_uint_eq(inside(l)->aRecPtr->blk.addr, 0x10);
	APPLY(l, ALLOC(0x50), ALLOC(0x30));
	ck_assert_uint_eq(inside(l)->aRecPtr->blk.addr, 0x30);
	blklist_free(l);
}

TEST(aRecPtr_is_the_record_before_a_deleted_one)
{
	struct blklist *l = note_list(8);

	APPLY(l, ALLOC(0x10), ALLOC(0x20), ALLOC(0x30), FREE(0x30));
	ck_assert_uint_eq(inside(l)->aRecPtr->blk.addr, 0x20);
	APPLY(l, FREE(0x20));
	ck_assert_uint_eq(inside(l)->aRecPtr->blk.addr, 0x10);
	APPLY(l, FREE(0x10));
	ck_assert_ptr_null(inside(l)->aRecPtr);
	blklist_free(l);
}

TEST(aRecPtr_stays_when_a_free_finds_nothing)
{
	struct blklist *l = note_list(8);

	APPLY(l, ALLOC(0x10), ALLOC(0x20), FREE(0x15));
	ck_assert_uint_eq(inside(l)->aRecPtr->blk.addr, 0x20);
	blklist_free(l);
}

/*
 * Which way the scan goes is seen by spoiling the part that it must not
 * touch: a link into nowhere there would be followed.
 */
static struct arec *
nowhere(void)
{
	static struct arec trap[2];

	trap[0] = (struct arec){ .aFwd = &trap[1], .aKey = 0x31 };
	trap[1] = (struct arec){ .aFwd = NULL, .aKey = UINT64_MAX };
	return trap;
}

TEST(greater_starts_after_aRecPtr)
{
	struct blklist *l = note_list(8);
	struct literal *lit = l->impl;
	struct arec *head;

	APPLY(l, ALLOC(0x10), ALLOC(0x20), ALLOC(0x40), ALLOC(0x30));
	head = lit->aHead;
	lit->aHead = nowhere();
	struct rec r = ALLOC(0x38);
	struct blklist_batch b = { .rec = &r, .n = 1, .seq = 9 };
	blklist_apply(l, &b);
	lit->aHead = head;
	sound(l);
	ck_assert_uint_eq(lit->aRecPtr->blk.addr, 0x38);
	ck_assert_uint_eq(COUNT(l, aRecActive), 5);
	blklist_free(l);
}

TEST(less_starts_at_aHead)
{
	struct blklist *l = note_list(8);
	struct literal *lit = l->impl;
	struct arec *fwd;

	APPLY(l, ALLOC(0x10), ALLOC(0x40), ALLOC(0x30));
	fwd = lit->aRecPtr->aFwd;
	lit->aRecPtr->aFwd = nowhere();
	struct rec r = ALLOC(0x20);
	struct blklist_batch b = { .rec = &r, .n = 1, .seq = 9 };
	blklist_apply(l, &b);
	ck_assert_uint_eq(lit->aRecPtr->aFwd->blk.addr, 0x30);
	lit->aRecPtr->aFwd->aFwd = fwd;
	sound(l);
	ck_assert_uint_eq(COUNT(l, aRecActive), 4);
	blklist_free(l);
}

TEST(equal_is_the_matching_entry_at_once)
{
	struct blklist *l = note_list(8);
	struct literal *lit = l->impl;
	struct arec *head;
	struct blk b;

	APPLY(l, ALLOC(0x10), ALLOC(0x20), ALLOC(0x30));
	head = lit->aHead;
	lit->aHead = nowhere();
	ck_assert_int_eq(blklist_get(l, 0, 0x30, &b), 0);
	lit->aHead = head;
	APPLY(l, FREE(0x30));
	ck_assert_uint_eq(COUNT(l, unknown_free), 0);
	ck_assert_uint_eq(lit->aRecPtr->blk.addr, 0x20);
	blklist_free(l);
}

TEST(literal_list_has_a_limit_of_its_own)
{
	struct blklist *l;

	ck_assert_int_eq(blklist_new(&l, BLKLIST_LITERAL, LITERAL_MAX + 1),
	    -EINVAL);
}
