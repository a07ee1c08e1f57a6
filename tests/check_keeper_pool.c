/*
 * Keepers made in advance for targets.
 */
#include <sched.h>

#include "../src/nodes/arrivals/keeper_pool.h"
#include "node_harness.h"

static struct keeper_pool spares;

static size_t
there_are(void)
{
	size_t n;

	pthread_mutex_lock(&spares.lock);
	n = spares.n;
	pthread_mutex_unlock(&spares.lock);
	return n;
}

static void
until_full(void)
{
	while (there_are() < KEEPER_POOL_SIZE)
		sched_yield();
}

static void
up(void)
{
	node_up(NULL);
	keeper_pool_start(&spares, &node);
	until_full();
}

static void
down(void)
{
	keeper_pool_stop(&spares);
	node_down();
}

CASE("spares", .seconds = 60);

TEST(the_one_that_was_made_first_is_taken_first)
{
	struct pooled_keeper s[KEEPER_POOL_SIZE];

	up();
	for (size_t i = 0; i < KEEPER_POOL_SIZE; i++)
		ck_assert_int_eq(keeper_pool_get(&spares, node.access.owner, &s[i]), 0);
	for (size_t i = 1; i < KEEPER_POOL_SIZE; i++)
		ck_assert_uint_gt(s[i].keeper->stream, s[i - 1].keeper->stream);
	for (size_t i = 0; i < KEEPER_POOL_SIZE; i++)
		pooled_keeper_drop(&s[i]);
	down();
}

TEST(who_comes_when_there_is_none_gets_one_of_its_own)
{
	struct pooled_keeper s[4 * KEEPER_POOL_SIZE];

	up();
	for (size_t i = 0; i < BASE_NELEM(s); i++) {
		ck_assert_int_eq(keeper_pool_get(&spares, node.access.owner, &s[i]), 0);
		for (size_t j = 0; j < i; j++)
			ck_assert_uint_ne(s[i].keeper->stream,
			    s[j].keeper->stream);
	}
	for (size_t i = 0; i < BASE_NELEM(s); i++)
		pooled_keeper_drop(&s[i]);
	down();
}

TEST(those_taken_are_made_up_for_when_there_is_time)
{
	struct pooled_keeper s[KEEPER_POOL_SIZE];

	up();
	for (size_t i = 0; i < KEEPER_POOL_SIZE; i++)
		ck_assert_int_eq(keeper_pool_get(&spares, node.access.owner, &s[i]), 0);
	keeper_pool_refill(&spares);
	until_full();
	for (size_t i = 0; i < KEEPER_POOL_SIZE; i++)
		pooled_keeper_drop(&s[i]);
	down();
}

TEST(one_that_is_put_back_is_the_next_again)
{
	struct pooled_keeper s, again;

	up();
	ck_assert_int_eq(keeper_pool_get(&spares, node.access.owner, &s), 0);
	keeper_pool_refill(&spares);
	until_full();
	ck_assert(!keeper_pool_has(&spares, s.keeper->stream));
	keeper_pool_put_back(&spares, &s);
	ck_assert(keeper_pool_has(&spares, s.keeper->stream));
	ck_assert_int_eq(keeper_pool_get(&spares, node.access.owner, &again), 0);
	ck_assert_ptr_eq(again.keeper, s.keeper);
	pooled_keeper_drop(&again);
	down();
}

TEST(no_descriptor_is_left_at_the_end)
{
	struct pooled_keeper s;
	uint64_t before;

	node_up(NULL);
	zeros_keep();
	before = open_fds();
	keeper_pool_start(&spares, &node);
	until_full();
	ck_assert_int_eq(keeper_pool_get(&spares, node.access.owner, &s), 0);
	keeper_pool_refill(&spares);
	keeper_pool_put_back(&spares, &s);
	keeper_pool_stop(&spares);
	ck_assert_uint_eq(open_fds(), before);
	node_down();
}
