/*
 * What realloc has made of the mark's blocks, on page H by block, against a
 * test's own copy of the list in which blocks keep who they are.
 */
#include "difference_rig.h"

/* Who a block is: its number at the mark, or 0 of a new one. */
struct self {
	bool live;
	uint64_t size;
	uint64_t root, was;
};

static struct self self[PLACES];
static struct self marked_self[PLACES];

static void
setup_chains(void)
{
	setup_difference();
	memset(self, 0, sizeof self);
}

static void
happen(unsigned op, unsigned type, unsigned at, uint64_t size,
    unsigned thread)
{
	struct rec rec = { .w = {
		rec_w0(addr_of(at), REC_FLAGS(op, 0), type),
		rec_w1(size, thread),
		0,
		rec_w3(caller_of(at), 0),
	} };

	scene_apply(&scene, &rec, scene.look.now_ms, NULL);
}

static void
comes(unsigned at, uint64_t size)
{
	happen(REC_ALLOC, TYPE_MALLOC, at, size, 1);
	self[at] = (struct self){ .live = true, .size = size };
}

static void
goes(unsigned at)
{
	happen(REC_FREE, TYPE_FREE, at, 0, 1);
	self[at].live = false;
}

static void
moves(unsigned from, unsigned to, uint64_t size)
{
	struct self it = self[from];
	unsigned thread = 1 + any(3);

	happen(REC_FREE, TYPE_BY_REALLOC, from, rec_told(size), thread);
	happen(REC_ALLOC, TYPE_REALLOC, to, size, thread);
	self[from].live = false;
	it.size = size;
	self[to] = it;
}

static unsigned
free_place(void)
{
	unsigned at = any(PLACES);

	while (self[at].live)
		at = (at + 1) % PLACES;
	return at;
}

static void
events(unsigned n)
{
	unsigned at, how;

	while (n-- > 0) {
		at = any(PLACES);
		how = any(8);
		if (!self[at].live)
			comes(at, 1 + any(4));
		else if (how == 0)
			goes(at);
		else
			moves(at, how < 4 ? at : free_place(), 1 + any(4));
		if (any(4) == 0) {
			at = any(PLACES);
			if (self[at].live)
				goes(at);
		}
	}
}

/* From here on each is who it is now. */
static void
mark_all(void)
{
	struct blk b;
	unsigned at;

	later();
	ck_assert_int_eq(page_mark_set(&page, &scene.view), 0);
	for (at = 0; at < PLACES; at++) {
		if (!self[at].live)
			continue;
		ck_assert_int_eq(blklist_get(scene.list, 0, addr_of(at), &b),
		    0);
		self[at].root = b.seq;
		self[at].was = b.size;
	}
	memcpy(marked_self, self, sizeof self);
	page_diff_toggle(&diff);
}

static bool
is_there(uint64_t root)
{
	unsigned at;

	for (at = 0; at < PLACES; at++)
		if (self[at].live && self[at].root == root)
			return true;
	return false;
}

static unsigned
place_of(const struct blk *b)
{
	return (unsigned)((b->addr - addr_of(0)) / 0x100);
}

/* Each row is true: none is invented, whatever could not be followed. */
static void
assert_moved(const struct difference_blocks *rows, bool grown)
{
	size_t i;

	for (i = 0; i < rows->n; i++) {
		const struct difference_block *b = &rows->blk[i];
		const struct self *it = &self[place_of(&b->blk)];

		ck_assert(it->live && it->root == b->root && it->root != 0);
		ck_assert_uint_eq(it->size, b->blk.size);
		ck_assert_uint_eq(it->was, b->was);
		ck_assert_int_eq(b->change, it->size > it->was ? CHANGE_GROWN :
		    it->size < it->was ? CHANGE_SHRUNK : CHANGE_MOVED);
		ck_assert_int_eq(b->change == CHANGE_GROWN, grown);
	}
}

static void
assert_adds_up(const struct difference *s)
{
	const struct difference_found *f = &s->shown;

	ck_assert_uint_eq(f->moved.blocks, f->grown.all + f->other.all);
	ck_assert_uint_eq(f->moved.grown, f->grown.all);
	ck_assert_double_eq(f->total.new.blocks,
	    (double)(f->new.all + f->moved.blocks));
	ck_assert_double_eq(f->total.freed.blocks, (double)(f->freed.all +
	    f->moved.blocks - f->moved.early));
	ck_assert_uint_eq(page.marked->mark.blocks - f->freed.all -
	    difference_freed_early(&page) + f->new.all, f->blocks);
}

static void
assert_all(const struct difference *s)
{
	uint64_t came = 0, went = 0, grown = 0, other = 0;
	struct blk b;
	unsigned at;
	size_t i;

	for (at = 0; at < PLACES; at++) {
		const struct self *then = &marked_self[at], *it = &self[at];

		if (then->live && !is_there(then->root))
			went++;
		if (!it->live)
			continue;
		ck_assert_int_eq(blklist_get(scene.list, 0, addr_of(at), &b),
		    0);
		came += it->root == 0;
		if (it->root == 0 || it->root == b.seq)
			continue;
		grown += it->size > it->was;
		other += it->size <= it->was;
	}
	ck_assert_uint_eq(s->shown.new.n, came);
	ck_assert_uint_eq(s->shown.freed.n, went);
	ck_assert_uint_eq(s->shown.grown.n, grown);
	ck_assert_uint_eq(s->shown.other.n, other);
	assert_moved(&s->shown.grown, true);
	assert_moved(&s->shown.other, false);
	for (i = 0; i < s->shown.new.n; i++)
		ck_assert_uint_eq(
		    self[place_of(&s->shown.new.blk[i].blk)].root, 0);
	for (i = 0; i < s->shown.freed.n; i++) {
		ck_assert(!is_there(s->shown.freed.blk[i].root));
		ck_assert(i == 0 || s->shown.freed.blk[i - 1].root <
		    s->shown.freed.blk[i].root);
	}
	assert_adds_up(s);
}

CASE("realloc", .setup = setup_chains, .teardown = teardown, .seconds = 60);

LOOP_TEST(blocks_keep_who_they_are_through_reallocs, 0, 4)
{
	int round, rounds = check_rounds(40);

	seed = (uint32_t)check_seed(seed + (unsigned)_i);
	events(700);
	mark_all();
	for (round = 0; round < rounds; round++) {
		events(1 + any(120));
		assert_all(settle());
		ck_assert_uint_eq(page.marked->chains->missed, 0);
		ck_assert(!shows("not followed"));
	}
}

/* More between two pictures than the list remembers. */
TEST(what_was_not_followed_is_said_and_never_invented)
{
	struct difference *s;
	unsigned round;

	events(700);
	mark_all();
	settle();
	for (round = 0; round < 6; round++) {
		events(3 * SCENE_MOVES);
		s = settle();
		assert_moved(&s->shown.grown, true);
		assert_moved(&s->shown.other, false);
		assert_adds_up(s);
		ck_assert_uint_gt(page.marked->chains->missed, 0);
		ck_assert(shows("reallocs were not followed"));
	}
}

TEST(a_list_begun_anew_leaves_a_gap_that_is_said)
{
	struct difference *s;

	events(300);
	mark_all();
	events(300);
	settle();
	ck_assert(!shows("not seen"));
	ck_assert_int_eq(blklist_follow_reallocs(scene.list, SCENE_MOVES), 0);
	events(100);
	s = settle();
	assert_moved(&s->shown.grown, true);
	assert_adds_up(s);
	ck_assert(shows("Some reallocs since the mark were not seen"));
}

TEST(rows_and_views_say_what_has_become_of_each)
{
	struct difference *s;
	const struct difference_block *row;

	comes(0, 1000);
	comes(1, 1000);
	comes(2, 1000);
	comes(3, 1000);
	mark_all();
	moves(0, 10, 2500);
	moves(10, 11, 5000);
	moves(1, 1, 100);
	moves(2, 12, 1000);
	goes(3);
	comes(4, 77);
	moves(4, 14, 99);
	s = settle();
	assert_all(s);
	ck_assert_uint_eq(diff.rows, 5);
	ck_assert(shows("1 new  1 freed  1 grown  2 shrunk or moved"));
	ck_assert(shows("1 new, 1 freed, 1 grown, 2 shrunk or moved"));
	ck_assert(shows("grown  7f3c04001b00   5,000   1,000") ||
	    shows("grown  7f3c04001b00"));
	row = page_diff_row(&diff, &page);
	ck_assert_int_eq(row->change, CHANGE_NEW);
	ck_assert_uint_eq(row->blk.size, 99);
	page_diff_next_view(&diff);
	settle();
	ck_assert_uint_eq(diff.rows, 1);
	page_diff_next_view(&diff);
	settle();
	ck_assert_uint_eq(diff.rows, 1);
	ck_assert_int_eq(page_diff_row(&diff, &page)->change, CHANGE_FREED);
	page_diff_next_view(&diff);
	ck_assert_str_eq(page_diff_view_name(&diff), "grown");
	settle();
	ck_assert_uint_eq(diff.rows, 1);
	row = page_diff_row(&diff, &page);
	ck_assert_uint_eq(row->was, 1000);
	ck_assert_uint_eq(row->blk.size, 5000);
	page_diff_next_view(&diff);
	page_diff_toggle(&diff);
	settle();
	ck_assert(shows("4 new  4 freed  3 by realloc"));
}

TEST(a_filter_lets_a_moved_block_through_as_it_was_at_the_mark)
{
	struct filter_error e;
	struct difference *s;

	comes(0, 1000);
	comes(1, 3000);
	mark_all();
	moves(0, 10, 3000);
	moves(1, 11, 1000);
	ck_assert_int_eq(page_choice_filter(&page, "size<1500", &e), 0);
	s = settle();
	ck_assert_uint_eq(s->shown.grown.n, 1);
	ck_assert_uint_eq(s->shown.other.n, 0);
	ck_assert_uint_eq(s->shown.new.n + s->shown.freed.n, 0);
	ck_assert_uint_eq(s->shown.was, 1);
	ck_assert_uint_eq(s->shown.blocks, 1);
}

/* It moves on while the walk is on its way, or before the copy has come by. */
TEST(blocks_that_move_behind_a_walk_are_one_each)
{
	enum { MANY = 150000, GROW = 2000 };
	struct difference *s;
	uint64_t was = UINT64_C(0x100000000);
	unsigned i, round;

	for (i = 0; i < MANY; i++)
		scene_alloc(&scene, was + i * 0x100ul, 32, TYPE_MALLOC, 1,
		    rec_site_caller(1 + i % 5), scene.look.now_ms);
	later();
	ck_assert_int_eq(page_mark_set(&page, &scene.view), 0);
	page_diff_toggle(&diff);
	for (round = 0; round < 12; round++) {
		for (i = 0; i < GROW / 4; i++) {
			/* The last ones, which are copied last. */
			uint64_t addr = was + (MANY - GROW + i * 4) * 0x100ul;
			struct rec rec = { .w = { rec_w0(addr,
				REC_FLAGS(REC_FREE, 0), TYPE_BY_REALLOC),
				rec_w1(rec_told(33 + round), 2), 0, 0 } };

			scene_apply(&scene, &rec, scene.look.now_ms, NULL);
			scene_alloc(&scene, addr, 33 + round, TYPE_REALLOC, 2,
			    rec_site_caller(1), scene.look.now_ms);
		}
		later();
		look(124, 24);
	}
	s = settle();
	ck_assert_uint_eq(page.marked->chains->missed, 0);
	ck_assert_uint_eq(s->shown.grown.n, GROW / 4);
	ck_assert_uint_eq(s->shown.new.n + s->shown.freed.n +
	    s->shown.other.n, 0);
	ck_assert_uint_gt(s->shown.moved.early, 0);
	ck_assert(!shows("freed before the mark was copied"));
	assert_adds_up(s);
}

static void
grow_at(uint64_t addr, uint64_t size)
{
	struct rec rec = { .w = { rec_w0(addr, REC_FLAGS(REC_FREE, 0),
		TYPE_BY_REALLOC), rec_w1(rec_told(size), 2), 0, 0 } };

	scene_apply(&scene, &rec, scene.look.now_ms, NULL);
	scene_alloc(&scene, addr, size, TYPE_REALLOC, 2, rec_site_caller(1),
	    scene.look.now_ms);
}

/*
 * A walk has passed some blocks that are moved then: they are at its end once
 * more, and what has moved on behind them is not come to.
 */
TEST(a_walk_takes_a_block_for_one_whenever_it_moves)
{
	enum { MANY = 150000 };
	uint64_t base = UINT64_C(0x100000000), last = base + (MANY - 1) * 0x100ul;
	struct difference *s;
	unsigned i;

	for (i = 0; i < MANY; i++)
		scene_alloc(&scene, base + i * 0x100ul, 32, TYPE_MALLOC, 1,
		    rec_site_caller(1 + i % 5), scene.look.now_ms);
	later();
	ck_assert_int_eq(page_mark_set(&page, &scene.view), 0);
	page_diff_toggle(&diff);
	settle();
	grow_at(last, 40);
	do {
		later();
		look(124, 24);
		s = difference_ensure(&page);
	} while (s->step != COMPARE_WALK);
	for (i = 0; i < 10; i++)
		grow_at(base + i * 0x100ul, 50);
	grow_at(last, 60);
	while (s->step == COMPARE_WALK) {
		later();
		look(124, 24);
	}
	ck_assert_uint_eq(s->shown.moved.blocks, 1);
	ck_assert_uint_eq(s->shown.moved.early, 0);
	ck_assert_uint_eq(s->shown.grown.n, 1);
	ck_assert_uint_eq(s->shown.grown.blk[0].blk.addr, last);
	ck_assert_uint_eq(s->shown.grown.blk[0].blk.size, 60);
	ck_assert_uint_eq(s->shown.new.n + s->shown.freed.n, 0);
	s = settle();
	ck_assert_uint_eq(s->shown.new.n + s->shown.freed.n, 0);
}

TEST(rows_fit_at_every_width)
{
	events(300);
	mark_all();
	events(300);
	settle();
	for (int cols = 1; cols < 150; cols++)
		for (int rows = 1; rows < 20; rows += 3)
			look(cols, rows);
}
