/*
 * Steps back: each picture of the past against a full copy of the list that
 * was made at that moment.
 */
#include "../src/pagek/history/history.h"
#include "history_rig.h"

CASE("steps", .setup = setup_history, .teardown = teardown_history,
    .seconds = 60);

TEST(each_step_is_the_list_as_it_was)
{
	size_t i, at;
	int k;

	for (i = 0; i < 200; i++) {
		churn(1 + (unsigned)random() % 300);
		note_and_copy(250);
	}
	churn(77);
	note_and_copy(100);
	ck_assert_uint_ge(copies, 48);
	scene.look.as_of = scene.look.work.total_records;
	scene_refresh(&scene);
	pause_now();
	ck_assert_uint_eq(page_history_count(page.history), copies);
	for (i = copies; i-- > 0;) {
		ck_assert_int_eq(step(true), 0);
		assert_is(&copy[i]);
	}
	ck_assert_int_eq(step(true), -ENOENT);
	assert_is(&copy[0]);
	for (i = 1; i < copies; i++) {
		ck_assert_int_eq(step(false), 0);
		assert_is(&copy[i]);
	}
	/* To and fro, as somebody looks for a moment. */
	for (at = copies - 1, k = 0; k < check_rounds(300); k++) {
		bool back = random() % 2 == 0;

		if (step(back) == 0)
			at = back ? at - 1 : at + 1;
		if (at < copies)
			assert_is(&copy[at]);
	}
	while (step(false) == 0)
		continue;
	ck_assert_uint_eq(blklist_counts(shown())->aRecActive,
	    blklist_counts(scene.list)->aRecActive);
	ck_assert_uint_eq(scene.view.look->as_of, scene.look.as_of);
}

/* What the list has forgotten before it was asked is in no picture. */
TEST(past_begins_where_nothing_was_forgotten)
{
	size_t first;

	churn(3000);
	note_and_copy(1000);
	churn(3000);
	note_and_copy(1000);
	ck_assert_uint_eq(page_history_count(page.history), 2);
	churn(60000);
	first = copies;
	note_and_copy(1000);
	ck_assert_uint_eq(page_history_count(page.history), 1);
	churn(1000);
	note_and_copy(1000);
	churn(10);
	note_and_copy(10);
	pause_now();
	ck_assert_int_eq(step(true), 0);
	assert_is(&copy[first + 1]);
	ck_assert_int_eq(step(true), 0);
	assert_is(&copy[first]);
	ck_assert_int_eq(step(true), -ENOENT);
}

/* As one for which there was no memory to remember in. */
TEST(list_that_remembers_nothing_has_no_past)
{
	blklist_free(scene.list);
	ck_assert_int_eq(blklist_new(&scene.list, BLKLIST_INDEXED, 1u << 20),
	    0);
	scene.look.list = scene.list;
	churn(3000);
	note_and_copy(1000);
	churn(3000);
	note_and_copy(1000);
	ck_assert_uint_eq(page_history_count(page.history), 1);
}

LOOP_TEST(list_that_is_not_whole_has_no_past, 0, 3)
{
	churn(100);
	note_and_copy(1000);
	ck_assert_uint_eq(page_history_count(page.history), 1);
	scene.look.settled = _i != 0;
	scene.look.window = _i == 1;
	scene.look.behind = _i == 2;
	note(1000);
	ck_assert_uint_eq(page_history_count(page.history), 0);
}

TEST(what_lives_shorter_than_a_state_costs_nothing)
{
	unsigned i;

	note(1000);
	for (i = 0; i < 10000; i++) {
		scene_alloc(&scene, 0x5000, 1, TYPE_NEW, 1, 0,
		    scene.look.now_ms);
		scene_free(&scene, 0x5000);
		if (i % 1000 == 0)
			note(10);
	}
	note(2000);
	ck_assert_uint_eq(page_history_freed(page.history), 0);
}

CASE("large", .setup = setup_large, .teardown = teardown_history,
    .seconds = 120);

/* So much goes each second that the memory is full after some: fewer, farther apart. */
TEST(too_much_change_makes_fewer_states_and_none_is_wrong)
{
	enum { LIVE = 150000 };
	static uint64_t next;
	unsigned second, i, least, most;
	size_t k;

	next = 0;
	for (i = 0; i < LIVE; i++)
		scene_alloc(&scene, addr_of(next++), 1, TYPE_NEW, 1, 0,
		    scene.look.now_ms);
	note_and_copy(1000);
	for (second = 0; second < (check_is_shortened() ? 10 : 16); second++) {
		for (i = 0; i < LIVE; i++, next++) {
			scene_free(&scene, addr_of(next - LIVE));
			scene_alloc(&scene, addr_of(next), 1, TYPE_NEW, 1, 0,
			    scene.look.now_ms);
		}
		note_and_copy(1000);
		ck_assert_uint_le(page_history_bytes(page.history),
		    PAGE_HISTORY_BYTES * 3 / 2);
	}
	ck_assert(page_history_interval(page.history, &least, &most));
	ck_assert_uint_ge(least, 1);
	ck_assert_uint_gt(most, 1);
	ck_assert_uint_ge(most, least);
	ck_assert_uint_lt(page_history_count(page.history), copies);
	for (i = 0; i < 100; i++, next++)
		scene_alloc(&scene, addr_of(next), 1, TYPE_NEW, 1, 0, 1);
	note(10);
	pause_now();
	k = copies;
	while (step(true) == 0)
		assert_is(&copy[--k]);
	ck_assert_uint_eq(copies - k, page_history_count(page.history));
	while (step(false) == 0)
		if (++k < copies)
			assert_is(&copy[k]);
}

CASE("steps");

TEST(header_says_when_it_was)
{
	char text[96];
	int i;

	for (i = 0; i < 30; i++) {
		churn(50);
		note_and_copy(1000);
	}
	churn(5);
	note_and_copy(500);
	pause_now();
	for (i = 0; i < 12; i++)
		ck_assert_int_eq(step(true), 0);
	shown();
	compose(100, 24);
	ck_assert(shows("PAUSED 15:02:43 (-12 s)"));
	page_step_text(&page, text, sizeof text);
	ck_assert_str_eq(text, "picture of 15:02:43, 19 of 31, 1 s apart");
	compose(33, 7);
	ck_assert(shows("PAUSED 15:02:43"));
	for (i = 0; i < 12; i++)
		ck_assert_int_eq(step(false), 0);
	ck_assert_int_eq(step(false), -ENOENT);
	shown();
	compose(100, 24);
	ck_assert(shows("PAUSED +0"));
}

TEST(past_goes_on_after_a_pause)
{
	size_t was;

	churn(500);
	note_and_copy(1000);
	churn(500);
	note_and_copy(1000);
	was = copies;
	pause_now();
	ck_assert_int_eq(step(true), 0);
	churn(500);
	note(1000);
	page_resume(&page);
	ck_assert_int_eq(step(true), -EINVAL);
	note_and_copy(1000);
	churn(10);
	note_and_copy(10);
	pause_now();
	while (step(true) == 0)
		assert_is(&copy[--copies]);
	ck_assert_uint_eq(copies, 0);
	copies = was + 1;
}

TEST(text_output_has_no_past)
{
	page.medium = PAGE_READY;
	note(1000);
	ck_assert_ptr_null(page.history);
	ck_assert_int_eq(step(true), -EINVAL);
	pause_now();
	ck_assert_int_eq(step(true), -ENOENT);
}

CASE("large");

/*
 * A large list is not copied in one picture, and the pause is of the moment
 * when it was asked for, whatever becomes of the list meanwhile.
 */
TEST(a_large_list_pauses_in_portions_as_it_was_when_asked)
{
	uint64_t addr = addr_of(SLOTS + 1), far = UINT64_C(1) << 40;
	unsigned pictures;
	int i, r;

	churn(3000);
	for (i = 0; i < 150000; i++)
		scene_alloc(&scene, addr + (uint64_t)i * 64, 48, TYPE_NEW, 1,
		    0, scene.look.now_ms);
	scene.look.as_of = scene.look.work.total_records;
	note_and_copy(1000);
	ck_assert_uint_eq(copies, 1);
	for (pictures = 1; (r = page_pause(&page, &scene.view)) == -EAGAIN;
	    pictures++) {
		ck_assert_ptr_null(page.paused);
		ck_assert_uint_lt(page_pause_percent(&page), 101);
		churn(500);
		/* What is behind the copy, what is before it, and what is new. */
		for (i = 0; i < 200; i++) {
			scene_free(&scene, addr + (uint64_t)random() % 150000 *
			    64);
			scene_alloc(&scene, far += 64, 16, TYPE_NEW, 1, 0,
			    scene.look.now_ms);
		}
		note(1000);
	}
	ck_assert_int_eq(r, 0);
	ck_assert_uint_ge(pictures, 3);
	ck_assert_uint_eq(page_history_count(page.history), 1);
	assert_is(&copy[0]);
}

/* Blocks that come without a record cannot be told from older ones. */
TEST(a_pause_begins_anew_when_the_list_is_another)
{
	struct blk b = { .addr = UINT64_C(1) << 41, .size = 1, .seq = 1 };
	int i;

	for (i = 0; i < 150000; i++)
		scene_alloc(&scene, addr_of(SLOTS + 1 + (size_t)i), 48,
		    TYPE_NEW, 1, 0, scene.look.now_ms);
	note(1000);
	ck_assert_int_eq(page_pause(&page, &scene.view), -EAGAIN);
	ck_assert_int_eq(blklist_put(scene.list, &b), 0);
	note(10);
	ck_assert_int_eq(page_pause(&page, &scene.view), -ESTALE);
	ck_assert_ptr_null(page.paused);
	ck_assert_int_eq(page_pause(&page, &scene.view), -EAGAIN);
	page_resume(&page);
	ck_assert_uint_eq(page_pause_percent(&page), 0);
	/* Nothing is left of it. */
	ck_assert_ptr_null(page.pausing);
}
