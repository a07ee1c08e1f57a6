/*
 * The cache of a session's answers, with a clock that the test turns.
 */
#include <stdlib.h>
#include <string.h>

#include "../src/nodes/session/answer_cache.h"
#include "harness.h"

#define KEEP 1000

static struct answers c;

static void
setup(void)
{
	ck_assert_int_eq(answers_init(&c, KEEP), 0);
	c.open = true;
}

static void
teardown(void)
{
	answers_fini(&c);
}

static void *
value(const char *text)
{
	char *copy = strdup(text);

	ck_assert_ptr_nonnull(copy);
	return copy;
}

static const char *
got(uint64_t key, int64_t now)
{
	const struct answers_entry *e = answers_get(&c, key, now);

	ck_assert_ptr_nonnull(e);
	return e->value;
}

CASE("Core", .setup = setup, .teardown = teardown);

TEST(a_key_is_asked_about_once_and_then_there)
{
	ck_assert_ptr_null(got(7, 0));
	ck_assert_ptr_null(got(7, 0));
	ck_assert_uint_eq(answers_pending(&c), 1);
	ck_assert_uint_eq(answers_take(&c), 1);
	ck_assert_uint_eq(c.batch[0], 7);
	ck_assert_ptr_null(got(7, 0));
	ck_assert_uint_eq(answers_pending(&c), 1);
	/* One question at a time. */
	ck_assert_uint_eq(answers_take(&c), 0);
	answers_put(&c, 7, value("seven"), ANSWERS_NEVER);
	answers_settle(&c, 0);
	ck_assert_str_eq(got(7, INT64_MAX - 1), "seven");
	ck_assert_uint_eq(answers_pending(&c), 0);
	ck_assert_uint_eq(answers_take(&c), 0);
}

TEST(what_the_node_does_not_know_is_asked_later_and_later)
{
	int64_t now = 5000, wait = ANSWERS_RETRY_MS;

	for (unsigned try = 1; try <= ANSWERS_TRIES; try++) {
		got(7, now);
		ck_assert_uint_eq(answers_take(&c), 1);
		answers_miss(&c, 7, NULL, now);
		answers_settle(&c, now);
		got(7, now + wait - 1);
		ck_assert_uint_eq(answers_pending(&c), 0);
		now += wait;
		wait *= 2;
	}
	/* Often enough. */
	got(7, now + 1000000000);
	ck_assert_uint_eq(answers_pending(&c), 0);
	ck_assert_uint_eq(answers_get(&c, 7, now)->tries, ANSWERS_TRIES);
}

TEST(a_value_may_be_due_again)
{
	const char *old;

	got(7, 0);
	answers_take(&c);
	answers_put(&c, 7, value("812 kB"), 2000);
	answers_settle(&c, 0);
	old = got(7, 1999);
	ck_assert_uint_eq(answers_pending(&c), 0);
	ck_assert_str_eq(got(7, 2000), "812 kB");
	ck_assert_uint_eq(answers_pending(&c), 1);
	answers_take(&c);
	/* Not known any better: what there was stays, in its place. */
	answers_miss(&c, 7, NULL, 2000);
	answers_settle(&c, 2000);
	ck_assert_ptr_eq(got(7, 2000), old);
	got(7, 3000);
	answers_take(&c);
	answers_miss(&c, 7, value("900 kB"), 3000);
	answers_settle(&c, 3000);
	ck_assert_str_eq(got(7, 3000), "900 kB");
}

TEST(a_batch_is_bounded_and_in_the_order_of_wishes)
{
	for (uint64_t key = 1; key <= ANSWERS_BATCH + 10; key++)
		got(key, 0);
	ck_assert_uint_eq(answers_take(&c), ANSWERS_BATCH);
	for (uint64_t i = 0; i < ANSWERS_BATCH; i++)
		ck_assert_uint_eq(c.batch[i], i + 1);
	ck_assert_uint_eq(answers_pending(&c), ANSWERS_BATCH + 10);
}

TEST(the_rest_of_an_answered_batch_is_asked_first)
{
	for (uint64_t key = 1; key <= ANSWERS_BATCH + 10; key++)
		got(key, 0);
	answers_take(&c);
	answers_put(&c, 1, value("one"), ANSWERS_NEVER);
	answers_miss(&c, 2, NULL, 0);
	answers_settle(&c, 0);
	ck_assert_uint_eq(answers_pending(&c), ANSWERS_BATCH + 8);
	ck_assert_uint_eq(answers_take(&c), ANSWERS_BATCH);
	for (uint64_t i = 0; i < ANSWERS_BATCH; i++)
		ck_assert_uint_eq(c.batch[i], i + 3);
}

TEST(an_answer_that_says_nothing_counts_as_a_try)
{
	for (uint64_t key = 1; key <= 3; key++)
		got(key, 0);
	answers_take(&c);
	answers_settle(&c, 0);
	ck_assert_uint_eq(answers_pending(&c), 0);
	for (uint64_t key = 1; key <= 3; key++)
		ck_assert_uint_eq(answers_get(&c, key, 0)->tries, 1);
	ck_assert_uint_eq(answers_pending(&c), 0);
	got(2, ANSWERS_RETRY_MS);
	ck_assert_uint_eq(answers_pending(&c), 1);
}

TEST(what_was_put_off_has_not_been_tried)
{
	got(1, 0);
	got(2, 0);
	answers_take(&c);
	answers_put_off(&c, 250);
	ck_assert_uint_eq(answers_pending(&c), 0);
	got(1, 249);
	ck_assert_uint_eq(answers_pending(&c), 0);
	ck_assert_uint_eq(answers_get(&c, 1, 250)->tries, 0);
	ck_assert_uint_eq(answers_pending(&c), 1);
}

TEST(what_was_not_asked_about_is_not_believed)
{
	got(1, 0);
	answers_put(&c, 2, value("two"), ANSWERS_NEVER);
	answers_miss(&c, 3, NULL, 0);
	ck_assert_ptr_null(got(2, 0));
	ck_assert_uint_eq(answers_get(&c, 3, 0)->tries, 0);
	/* Nor is a second answer. */
	answers_take(&c);
	answers_put(&c, 1, value("one"), ANSWERS_NEVER);
	answers_put(&c, 1, value("uno"), ANSWERS_NEVER);
	ck_assert_str_eq(got(1, 0), "one");
}

CASE("Limits", .setup = setup, .teardown = teardown);

TEST(wishes_are_bounded_and_may_be_made_again)
{
	answers_fini(&c);
	ck_assert_int_eq(answers_init(&c, 3 * ANSWERS_WANTED_MAX), 0);
	c.open = true;
	for (uint64_t key = 1; key <= ANSWERS_WANTED_MAX + 100; key++)
		got(key, 0);
	ck_assert_uint_eq(answers_pending(&c), ANSWERS_WANTED_MAX);
	answers_take(&c);
	for (uint64_t key = 1; key <= ANSWERS_WANTED_MAX + 100; key++)
		got(key, 0);
	ck_assert_uint_eq(answers_pending(&c), ANSWERS_WANTED_MAX + ANSWERS_BATCH);
	/* No room for those that come back: they are not lost either. */
	answers_put(&c, 1, value("one"), ANSWERS_NEVER);
	answers_settle(&c, 0);
	ck_assert_uint_eq(answers_pending(&c), ANSWERS_WANTED_MAX);
	ck_assert(!answers_get(&c, 2, 0)->pending);
	answers_take(&c);
	ck_assert(answers_get(&c, 2, 0)->pending);
}

TEST(a_full_cache_begins_again_when_nothing_is_pending)
{
	const char *first;

	for (uint64_t key = 1; key <= KEEP; key++)
		got(key, 0);
	ck_assert(!answers_tidy(&c));
	ck_assert_ptr_null(answers_get(&c, KEEP + 1, 0));
	answers_take(&c);
	answers_put(&c, 1, value("one"), ANSWERS_NEVER);
	first = got(1, 0);
	/* Whoever holds it does so until nothing is pending. */
	ck_assert(!answers_tidy(&c));
	ck_assert_ptr_eq(got(1, 0), first);
	while (answers_pending(&c) > 0) {
		answers_settle(&c, 0);
		answers_take(&c);
	}
	ck_assert(answers_tidy(&c));
	ck_assert_uint_eq(c.entries.n, 0);
	ck_assert(!answers_tidy(&c));
	ck_assert_ptr_null(got(KEEP + 1, 0));
	ck_assert_uint_eq(answers_pending(&c), 1);
}

CASE("Core");

TEST(nobody_is_asked_before_there_is_somebody)
{
	answers_reset(&c);
	got(7, 0);
	ck_assert_uint_eq(answers_pending(&c), 0);
	ck_assert_uint_eq(answers_take(&c), 0);
	c.open = true;
	got(7, 0);
	ck_assert_uint_eq(answers_take(&c), 1);
	/* A reset forgets what is on its way. */
	answers_reset(&c);
	ck_assert_uint_eq(answers_pending(&c), 0);
	answers_put(&c, 7, value("seven"), ANSWERS_NEVER);
	ck_assert_ptr_null(got(7, 0));
}
