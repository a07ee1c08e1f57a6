/*
 * Steps through the past in portions: what they lead to is what a step at once
 * leads to, and until it is whole the picture is the one before.
 */
#include <sys/resource.h>

#include "../src/pagek/history/history.h"
#include "history_rig.h"

#define PORTION 0		/* ns: the smallest that there is */

static int
on(void)
{
	return page_step_advance(&page, PORTION);
}

static const struct blklist *looked_at;

/*
 * What is shown: one of the copies, or as it was paused.  All of it is looked
 * at once, for nothing but a step changes a list that is shown.
 */
static void
assert_shows(size_t at)
{
	const struct blklist *list = shown();

	if (list == looked_at && at < copies) {
		ck_assert_uint_eq(scene.view.look->as_of, copy[at].as_of);
		ck_assert_uint_eq(blklist_counts(list)->aRecActive, copy[at].n);
		return;
	}
	looked_at = list;
	if (at < copies) {
		assert_is(&copy[at]);
		return;
	}
	ck_assert_uint_eq(blklist_counts(shown())->aRecActive,
	    blklist_counts(scene.list)->aRecActive);
	ck_assert_uint_eq(scene.view.look->as_of, scene.look.as_of);
}

/* Which of them, by its time alone. */
static size_t
which(void)
{
	uint64_t as_of;
	size_t i;

	shown();
	as_of = scene.view.look->as_of;
	for (i = 0; i < copies && copy[i].as_of != as_of; i++)
		continue;
	return i;
}

/* Old blocks, so many that a step takes several portions, and young ones. */
static void
live_for(unsigned seconds, unsigned old)
{
	unsigned i;

	for (i = 0; i < old; i++)
		scene_alloc(&scene, addr_of(SLOTS + i), 32, TYPE_NEW, 1, 0,
		    scene.look.now_ms);
	for (i = 0; i < seconds; i++) {
		churn(1 + (unsigned)random() % 400);
		note_and_copy(1000);
	}
	churn(77);
	note(10);
	pause_now();
}

CASE("portions", .setup = setup_history, .teardown = teardown_history,
    .seconds = 60);

TEST(in_portions_as_at_once_and_the_old_picture_until_then)
{
	size_t at, was;
	unsigned portions, most = 0, percent, before;
	int r, k;

	live_for(20, 3000);
	for (at = copies, k = 0; k < 120; k++) {
		bool back = random() % 5 < 3;

		was = at;
		r = page_step(&page, back);
		if (r == -ENOENT) {
			ck_assert(back ? at == 0 : at == copies);
			ck_assert(!page_step_percent(&page, &percent));
			continue;
		}
		ck_assert_int_eq(r, 0);
		at += back ? (size_t)-1 : 1;
		before = 0;
		for (portions = 1; (r = on()) == -EAGAIN; portions++) {
			ck_assert(page_step_percent(&page, &percent));
			ck_assert_uint_ge(percent, before);
			ck_assert_uint_lt(percent, 100);
			before = percent;
			assert_shows(was);
		}
		ck_assert_int_eq(r, 0);
		ck_assert(!page_step_percent(&page, &percent));
		looked_at = NULL;
		assert_shows(at);
		if (portions > most)
			most = portions;
	}
	ck_assert_uint_gt(most, 20);
}

/* Keys as they come, at any point of a step. */
LOOP_TEST(every_order_of_keys_ends_where_they_lead, 0, 6)
{
	size_t to, at;
	unsigned k, n;
	int r = 0;

	srandom((unsigned)check_seed(100 + (unsigned)_i));
	live_for(12, 1000);
	for (to = at = copies, k = 0; k < 200; k++) {
		switch (random() % 8) {
		case 0: case 1: case 2:
			if (page_step(&page, true) == 0)
				to--;
			break;
		case 3: case 4:
			if (page_step(&page, false) == 0)
				to++;
			break;
		case 5:
			/* Esc. */
			ck_assert(page_step_stop(&page) == (to != at));
			to = at;
			break;
		case 6:
			compose(33 + (int)(random() % 100),
			    5 + (int)(random() % 40));
			break;
		default:
			break;
		}
		for (n = (unsigned)random() % 24; n > 0; n--) {
			r = on();
			at = which();
			assert_shows(at);
			ck_assert(r == (at == to ? 0 : -EAGAIN));
		}
		at = which();
		shown();
		compose(80, 24);
	}
	while ((r = on()) == -EAGAIN)
		continue;
	ck_assert_int_eq(r, 0);
	assert_shows(to);
	/* Space, in the middle of one. */
	if (page_step(&page, true) == 0)
		on();
	page_resume(&page);
	ck_assert_int_eq(on(), -EINVAL);
	shown();
	ck_assert_ptr_eq(scene.view.look->list, scene.list);
}

/* With the key held down there is always one more to go to. */
TEST(who_goes_on_and_on_sees_that_he_moves)
{
	size_t seen = 0, last, now;
	unsigned percent;

	live_for(60, 3000);
	last = which();
	while (page_step(&page, true) == 0) {
		int n;

		for (n = 0; n < 5; n++)
			on();
		now = which();
		ck_assert_uint_le(now, last);
		seen += now != last;
		last = now;
	}
	ck_assert_uint_gt(seen, 3);
	/* No more than what is on its way, and the one that is asked for. */
	for (seen = 0; on() == -EAGAIN; last = now) {
		now = which();
		seen += now != last;
	}
	ck_assert_uint_le(seen, 1);
	ck_assert(!page_step_percent(&page, &percent));
	assert_shows(0);
}

TEST(back_to_what_is_shown_is_no_way_at_all)
{
	unsigned percent;

	live_for(5, 3000);
	ck_assert_int_eq(page_step(&page, true), 0);
	ck_assert_int_eq(on(), -EAGAIN);
	ck_assert_int_eq(page_step(&page, false), 0);
	ck_assert(!page_step_percent(&page, &percent));
	ck_assert_int_eq(on(), 0);
	assert_shows(copies);
	ck_assert_int_eq(page_step(&page, false), -ENOENT);
	ck_assert(!page_step_stop(&page));
}

/* The picture of the pause is there still, and needs no making. */
TEST(forth_to_the_pause_is_one_portion)
{
	live_for(5, 3000);
	ck_assert_int_eq(step(true), 0);
	assert_shows(copies - 1);
	ck_assert_int_eq(page_step(&page, false), 0);
	ck_assert_int_eq(on(), 0);
	assert_shows(copies);
}

#ifndef SANITIZED
static void
take_memory_away(struct rlimit *was)
{
	struct rlimit none;

	ck_assert_int_eq(getrlimit(RLIMIT_AS, was), 0);
	none = (struct rlimit){ 0, was->rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
}

CASE("memory", .setup = setup_history, .teardown = teardown_history,
    .tags = TAG_KERNEL);

/* Before its list, and in the middle of it. */
LOOP_TEST(without_memory_the_picture_stays, 0, 25)
{
	struct rlimit was;
	unsigned percent;
	size_t at;
	int n, r;

	live_for(8, 20000);
	ck_assert_int_eq(step(true), 0);
	at = which();
	ck_assert_int_eq(page_step(&page, true), 0);
	for (n = 0; n < _i * 3; n++)
		ck_assert_int_eq(on(), -EAGAIN);
	take_memory_away(&was);
	while ((r = on()) == -EAGAIN)
		continue;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &was), 0);
	ck_assert(!page_step_percent(&page, &percent));
	if (r < 0) {
		ck_assert_int_eq(on(), 0);
		assert_shows(at);
	}
	ck_assert_msg(r < 0 || _i > 0, "no memory was wanted");
	ck_assert_int_eq(step(true), 0);
	assert_shows(r < 0 ? at - 1 : at - 2);
}
#endif

CASE("portions");

/* Rows that were copied out of the paused list mean the same in each picture. */
TEST(requesters_keep_their_numbers)
{
	const struct blklist_info *a, *b;
	const struct blklist *paused;
	unsigned known;
	uint16_t i;

	live_for(8, 10);
	paused = shown();
	while (step(true) == 0) {
		known = 0;
		for (i = 1; (a = blklist_info_get(paused, i)) != NULL; i++) {
			b = blklist_info_get(shown(), i);
			ck_assert_ptr_nonnull(b);
			ck_assert_str_eq(a->name, b->name);
			known++;
		}
		ck_assert_uint_gt(known, 3);
	}
}
