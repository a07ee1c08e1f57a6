/*
 * naive: a copy of a scene's list that a test keeps by itself, block by block,
 * and a life for both of them.
 */
#ifndef TESTS_NAIVE_H
#define TESTS_NAIVE_H

#include "../src/pagek/difference/difference.h"
#include "scene.h"

#define PLACES 400		/* addresses, each with a block or none */

struct naive {
	bool live;
	uint64_t seq, size;
	int64_t ms;
};

static struct naive place[PLACES];	/* now ... */
static struct naive marked_place[PLACES];	/* ... and at the mark ... */
static int64_t marked_ms;		/* ... which was then */

static uint32_t seed;

static inline uint32_t
any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static inline uint64_t
addr_of(unsigned at)
{
	return UINT64_C(0x7f3c04001000) + at * 0x100u;
}

/* Who asks for the block at a place, and how. */
static inline uint64_t
caller_of(unsigned at)
{
	return rec_site_caller(1 + at % 5);
}

static inline unsigned
type_of_place(unsigned at)
{
	return TYPE_MALLOC + at / 5 % 3;
}

static inline unsigned
thread_of_place(unsigned at)
{
	return 1 + at / 15 % 4;
}

static inline void
setup_naive(void)
{
	setup();
	scene_init(&scene, BLKLIST_INDEXED, 1u << 20);
	stream_types_init(&scene.types);
	scene.look.levels = true;
	scene.look.now_ms = 400000000;
	scene.look.node_wall_ms = TARGET_MS;
	scene_refresh(&scene);
	memset(place, 0, sizeof place);
	memset(marked_place, 0, sizeof marked_place);
	seed = (uint32_t)check_seed(4711);
}

/* Begins anew with a sample of 1 MiB: 100 bytes of it stand for 10,486 blocks. */
static inline void
setup_sample(void)
{
	scene_fini(&scene);
	scene_init(&scene, BLKLIST_INDEXED, 1u << 16);
	blklist_sample(scene.list, 1 << 20);
	scene.look.sample = 1 << 20;
	scene.look.now_ms = 400000000;
	scene.look.node_wall_ms = TARGET_MS;
	scene_refresh(&scene);
}

static inline void
put(unsigned at, uint64_t size)
{
	scene_alloc(&scene, addr_of(at), size, type_of_place(at),
	    thread_of_place(at), caller_of(at), scene.look.now_ms);
	place[at] = (struct naive){ true, scene.look.work.total_records, size,
		scene.look.now_ms };
}

static inline void
take(unsigned at)
{
	scene_free(&scene, addr_of(at));
	place[at].live = false;
}

/* Blocks come and go; a realloc in place is a free and another block. */
static inline void
live_on(unsigned events)
{
	unsigned at;

	while (events-- > 0) {
		at = any(PLACES);
		if (!place[at].live) {
			put(at, 1 + any(5000));
			continue;
		}
		take(at);
		if (any(3) == 0)
			put(at, 1 + any(5000));
	}
	later();
}

static inline unsigned
live_in(const struct naive *p)
{
	unsigned i, n = 0;

	for (i = 0; i < PLACES; i++)
		n += p[i].live;
	return n;
}

/* The very block of then, and not another one at its address. */
static inline bool
is_still(const struct naive *then, unsigned at)
{
	return then[at].live && place[at].live &&
	    then[at].seq == place[at].seq;
}

static inline unsigned
still_in(const struct naive *then)
{
	unsigned i, n = 0;

	for (i = 0; i < PLACES; i++)
		n += is_still(then, i);
	return n;
}

/* From here on both the page and the test's copy count. */
static inline void
mark(void)
{
	ck_assert_int_eq(page_mark_set(&page, &scene.view), 0);
	memcpy(marked_place, place, sizeof place);
	marked_ms = scene.look.now_ms;
}

#endif
