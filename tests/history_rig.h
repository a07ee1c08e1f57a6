/*
 * A list that changes at random and notes its states, and a full copy of it at
 * each of them, for a picture of the history to be held against.
 *
 * Example
 *	CASE("steps", .setup = setup_history, .teardown = teardown_history);
 *	churn(100);
 *	note_and_copy(1000);
 *	pause_now();
 *	step(true);
 *	assert_is(&copy[0]);
 */
#ifndef TESTS_HISTORY_RIG_H
#define TESTS_HISTORY_RIG_H

#include <errno.h>

#include "../src/pagek/history/history.h"
#include "harness.h"
#include "scene.h"

#define SLOTS 4000

struct copy {
	uint64_t as_of;
	struct blk *blk;
	size_t n;
	struct blklist_counts counts;
};

static struct page_view live;	/* as it is before a picture stands behind it */
static struct copy copy[PAGE_HISTORY_STATES + 1];
static size_t copies;
static uint64_t born[SLOTS];	/* 0: free */

static inline void
setup_history_of(uint32_t remembered)
{
	setup();
	scene_target(&scene, 0);
	blklist_free(scene.list);
	ck_assert_int_eq(blklist_new(&scene.list, BLKLIST_INDEXED, 1u << 20),
	    0);
	ck_assert_int_eq(blklist_remember(scene.list, remembered), 0);
	scene.look.list = scene.list;
	scene_refresh(&scene);
	live = scene.view;
	page.medium = PAGE_SCREEN;
	copies = 0;
	memset(born, 0, sizeof born);
	srandom((unsigned)check_seed(11));
}

static inline void
setup_history(void)
{
	setup_history_of(1u << 14);
}

static inline void
setup_large(void)
{
	setup_history_of(1u << 20);
}

static inline void
teardown_history(void)
{
	size_t i;

	for (i = 0; i < copies; i++)
		free(copy[i].blk);
	teardown();
}

static inline struct blk *
all_of(const struct blklist *list, size_t *n)
{
	size_t total = blklist_counts(list)->aRecActive;
	struct blk *b = calloc(total + 1, sizeof *b);

	ck_assert_ptr_nonnull(b);
	*n = blklist_after(list, true, 0, 0, b, total + 1);
	ck_assert_uint_eq(*n, total);
	return b;
}

static inline void
note(int64_t ms)
{
	int64_t ns = scene.view.now.ns + ms * 1000000;

	scene.look.now_ms += ms;
	scene.look.node_wall_ms += ms;
	scene.look.as_of = scene.look.work.total_records;
	scene_refresh(&scene);
	scene.view.now.ns = ns;
	page_history_update(&page, &scene.view);
}

/* When a state was kept: all of the list, for later. */
static inline void
note_and_copy(int64_t ms)
{
	struct page_history_state *s;
	struct copy *c;

	note(ms);
	s = page_history_state(page.history, page_history_count(page.history) - 1);
	if (s == NULL || s->as_of != scene.look.as_of ||
	    (copies > 0 && copy[copies - 1].as_of == s->as_of))
		return;
	ck_assert_uint_lt(copies, BASE_NELEM(copy));
	c = &copy[copies++];
	c->as_of = s->as_of;
	c->blk = all_of(scene.list, &c->n);
	c->counts = *scene.view.counts;
}

static inline uint64_t
addr_of(size_t slot)
{
	return UINT64_C(0x100000) + slot * 64;
}

/* A realloc whose free is taken back, as one that fails is. */
static inline void
free_and_undo(uint64_t addr)
{
	struct rec rec = { .w = {
		rec_w0(addr, REC_FLAGS(REC_FREE, 0), TYPE_BY_REALLOC),
		rec_w1(0, 1),
		rec_w2(0, 0),
		0,
	} };

	scene_apply(&scene, &rec, scene.look.now_ms, NULL);
	rec.w[0] = rec_w0(addr, REC_FLAGS(REC_UNDO, 0), TYPE_BY_REALLOC);
	scene_apply(&scene, &rec, scene.look.now_ms, NULL);
}

static inline void
churn(unsigned times)
{
	struct blklist_batch_info info = {
		.info = { .name = "REQUEST" },
	};
	struct rec rec;
	size_t slot;
	long what;

	while (times-- > 0) {
		slot = (size_t)random() % SLOTS;
		what = random() % 16;
		if (born[slot] == 0) {
			rec = (struct rec){ .w = {
				rec_w0(addr_of(slot), REC_FLAGS(REC_ALLOC, 1),
				    TYPE_NEW),
				rec_w1(slot + 1, 1),
				rec_w2(0, (uint32_t)scene.look.now_ms),
				rec_w3(0, 16),
			} };
			snprintf(info.info.name, sizeof info.info.name,
			    "R%zu", slot % 7);
			scene_apply(&scene, &rec, scene.look.now_ms,
			    what < 4 ? &info : NULL);
			born[slot] = scene.look.work.total_records;
		} else if (what == 0) {
			free_and_undo(addr_of(slot));
		} else if (what == 1) {
			/* Its address is taken again, and no free was seen. */
			scene_alloc(&scene, addr_of(slot), slot + 2, TYPE_NEW,
			    1, 0, scene.look.now_ms);
			born[slot] = scene.look.work.total_records;
		} else {
			scene_free(&scene, addr_of(slot));
			born[slot] = 0;
		}
	}
}

static inline const struct blklist *
shown(void)
{
	int64_t ns = scene.view.now.ns;

	scene.view = live;
	scene_refresh(&scene);
	scene.view.now.ns = ns;
	page_view_paused(&scene.view, &page);
	return scene.view.look->list;
}

static inline void
assert_is(const struct copy *c)
{
	const struct blklist *list = shown();
	const struct blklist_info *ours, *theirs;
	size_t n, i;
	struct blk *b = all_of(list, &n);
	char why[200];

	ck_assert_msg(blklist_check(list, why, sizeof why) == 0, "%s", why);
	ck_assert_uint_eq(scene.view.look->as_of, c->as_of);
	ck_assert_uint_eq(n, c->n);
	ck_assert_uint_eq(page_view_total(&scene.view), n);
	ck_assert_uint_eq(scene.view.counts->live_bytes,
	    blklist_counts(list)->live_bytes);
	ck_assert_uint_eq(scene.view.counts->records, c->counts.records);
	for (i = 0; i < n; i++) {
		ours = blklist_info_get(list, b[i].info);
		theirs = blklist_info_get(scene.list, c->blk[i].info);
		ck_assert(ours == NULL ? theirs == NULL :
		    strcmp(ours->name, theirs->name) == 0);
		b[i].info = c->blk[i].info;
		ck_assert_mem_eq(&b[i], &c->blk[i], sizeof b[i]);
	}
	free(b);
}

/* All of one, at once. */
static inline int
step(bool back)
{
	int r = page_step(&page, back);

	while (r == 0 && (r = page_step_advance(&page, INT64_MAX)) == -EAGAIN)
		r = 0;
	return r;
}

#endif
