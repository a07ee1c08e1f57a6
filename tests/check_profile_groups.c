/*
 * Profiles: groups, how they are ranked, and who called whom.
 */
#include <errno.h>

#include "../src/profile/profile_tables.h"
#include "profile_rig.h"

/* --- groups --------------------------------------------------------------- */

CASE("groups", .setup = setup, .teardown = teardown);

TEST(wrappers_are_not_origins)
{
	put(1, 1, 10);
	put(3, 1, 20);
	profile_resolve(p, &words);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	ck_assert_ptr_null(named("zmalloc"));
	ck_assert_uint_eq(must("parse")->total.bytes, 10);
	ck_assert_uint_eq(must("cache")->total.bytes, 20);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_ptr_null(named("zmalloc"));
	profile_set_wrappers(p, NULL);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	ck_assert_uint_eq(got, 1);
	ck_assert_uint_eq(must("zmalloc")->total.bytes, 30);
}

TEST(of_wrappers_alone_the_outermost_asked)
{
	put(5, 1, 10);
	profile_resolve(p, &words);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	ck_assert_uint_eq(got, 1);
	must("xmalloc");
}

TEST(recursion_counts_once)
{
	put(4, 2, 10);
	put(11, 1, 5);
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_uint_eq(must("walk")->total.bytes, 25);
	ck_assert_uint_eq(must("walk")->self.bytes, 20);
	ck_assert_uint_eq(must("walk")->stacks, 2);
	ck_assert_uint_eq(must("cache")->total.bytes, 5);
	ck_assert_uint_eq(must("main")->total.bytes, 25);
	ck_assert_uint_eq(must("main")->self.bytes, 0);
}

TEST(inlined_functions_are_lines_of_their_own)
{
	put(1, 1, 10);
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_uint_eq(must("parse")->self.bytes, 10);
	ck_assert_uint_eq(must("handle")->self.bytes, 0);
	ck_assert_str_eq(must("handle")->where, "parse.c:118");
	ck_assert_str_eq(must("handle")->file, "/src/parse.c");
}

TEST(where_says_what_lines_have_in_common)
{
	ck_assert_int_eq(profile_add(p, 0x15, 1, NOW), 0);
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_str_eq(must("walk")->where, "walk.c:121");
	put(4, 1, 10);
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_str_eq(must("walk")->where, "walk.c");
	ck_assert_uint_eq(must("walk")->line, 0);
	ck_assert_int_eq(profile_add(p, 0x1d, 1, NOW), 0);
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_str_eq(must("walk")->where, "prog");
	ck_assert_str_eq(must("walk")->file, "");
	profile_clear(p);
	put(4, 1, 10);
	put(11, 1, 10);
	profile_resolve(p, &words);
	group(PROFILE_LINE, PROFILE_BYTES);
	ck_assert_uint_eq(got, 2);
	ck_assert_str_eq(must("walk")->where, "walk.c:121");
	ck_assert_uint_eq(must("walk")->line, 121);
	group(PROFILE_MODULE, PROFILE_BYTES);
	ck_assert_uint_eq(got, 1);
	ck_assert_str_eq(must("prog")->where, "/bin/prog");
}

TEST(heaviest_come_first_by_each_measure)
{
	put(2, 10, 1);
	put(4, 1, 500);
	put(6, 2, 20);
	put(7, 3, 1);
	profile_resolve(p, &words);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	ck_assert_str_eq(rows[0].name, "walk");
	group(PROFILE_FUNCTION, PROFILE_BLOCKS);
	ck_assert_str_eq(rows[0].name, "cache");
	ck_assert_str_eq(rows[1].name, "init");
	group(PROFILE_FUNCTION, PROFILE_AGE);
	ck_assert_str_eq(rows[0].name, "init");
	ck_assert_int_eq(rows[0].total.oldest_ms, NOW - 7002);
	ck_assert_str_eq(rows[3].name, "cache");
}

static int
by_path(const char *a, const char *b)
{
	if (a[0] == '\0' || b[0] == '\0')
		return (a[0] == '\0') - (b[0] == '\0');
	return strcmp(text_base(a), text_base(b));
}

static int
by_place(enum profile_measure by, const struct profile_group *a,
    const struct profile_group *b)
{
	int r = by == PROFILE_OF_MODULE ? by_path(a->module, b->module) :
	    by_path(a->file, b->file);

	if (r == 0 && by == PROFILE_OF_LINE && a->line != b->line)
		r = a->line < b->line ? -1 : 1;
	return r != 0 ? r : strcmp(a->name, b->name);
}

/* Frames have functions with and without a file, and some of several modules. */
LOOP_TEST(places_are_in_order_and_then_names, PROFILE_OF_MODULE,
    PROFILE_OF_LINE + 1)
{
	for (unsigned s = 1; s <= 9; s++)
		put(s, 1, 10 * s);
	profile_resolve(p, &words);
	group(PROFILE_FRAME, (enum profile_measure)_i);
	ck_assert_uint_gt(got, 4);
	for (size_t i = 1; i < got; i++)
		ck_assert_msg(by_place((enum profile_measure)_i, &rows[i - 1],
		    &rows[i]) <= 0, "%s %s:%u %s before %s %s:%u %s",
		    rows[i - 1].module, rows[i - 1].file, rows[i - 1].line,
		    rows[i - 1].name, rows[i].module, rows[i].file,
		    rows[i].line, rows[i].name);
	ck_assert_int_ne(by_place((enum profile_measure)_i, &rows[0],
	    &rows[got - 1]), 0);
}

TEST(ties_and_keys_are_the_same_in_any_order_of_blocks)
{
	struct profile_group first[16];
	size_t n;

	for (unsigned s = 1; s <= 9; s++)
		put(s, 1, 100);
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	n = got;
	ck_assert_uint_le(n, BASE_NELEM(first));
	memcpy(first, rows, n * sizeof *rows);
	profile_clear(p);
	for (unsigned s = 9; s >= 1; s--)
		put(s, 1, 100);
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_uint_eq(got, n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(rows[i].key, first[i].key);
		ck_assert_uint_eq(rows[i].caller, first[i].caller);
		if (i > 0 && rows[i].total.bytes == rows[i - 1].total.bytes)
			ck_assert_int_le(strcmp(rows[i - 1].name,
			    rows[i].name), 0);
	}
}

TEST(window_of_groups_is_cut_from_the_whole)
{
	struct profile_group part[3];
	size_t n, all;

	put_all();
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	all = group_rows(PROFILE_FRAME, PROFILE_BYTES, 2, part, 3, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(all, groups);
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(part[i].key, rows[2 + i].key);
	(void)group_rows(PROFILE_FRAME, PROFILE_BYTES, 1000, part, 3, &n);
	ck_assert_uint_eq(n, 0);
}

static const enum profile_by all_kinds[] = { PROFILE_SITE, PROFILE_FUNCTION,
	PROFILE_LINE, PROFILE_FRAME, PROFILE_MODULE };

static void
count_all(struct profile_ranking *r, size_t at_most)
{
	size_t left;

	do {
		ck_assert_uint_eq(profile_ranking_size(r), 0);
		ck_assert_int_eq(profile_ranking_count(r, at_most, &left), 0);
	} while (left > 0);
}

LOOP_TEST(ranking_in_portions_is_that_of_all_at_once, 0,
    (int)BASE_NELEM(all_kinds))
{
	struct profile_ranking *r;
	struct profile_group row;
	size_t n, i;

	put_all();
	profile_resolve(p, &words);
	group(all_kinds[_i], PROFILE_BYTES);
	ck_assert_int_eq(profile_ranking_new(&r), 0);
	ck_assert_int_eq(profile_ranking_begin(r, p, all_kinds[_i],
	    PROFILE_BYTES, NOW), 0);
	count_all(r, 1);
	ck_assert_uint_eq(profile_ranking_size(r), groups);
	/* From the end: each is put in its place by itself. */
	for (i = groups; i-- > 0;) {
		ck_assert_int_eq(profile_ranking_rows(r, i, &row, 1, &n), 0);
		ck_assert_uint_eq(n, 1);
		ck_assert_uint_eq(row.key, rows[i].key);
		ck_assert_uint_eq(row.total.bytes, rows[i].total.bytes);
		ck_assert_uint_eq(row.self.blocks, rows[i].self.blocks);
		ck_assert_str_eq(row.where, rows[i].where);
		ck_assert_int_eq(profile_ranking_find(r, row.key),
		    (int64_t)i);
	}
	ck_assert_int_eq(profile_ranking_find(r, 1), -ENOENT);
	profile_ranking_free(r);
}

/* Many groups in an order of their own, of which windows are looked at. */
TEST(any_window_of_a_ranking_is_in_order)
{
	enum { MANY = 5000, WINDOW = 30 };
	struct profile_group part[WINDOW];
	struct profile_ranking *r;
	uint64_t before;
	size_t n, i, k, offs;

	for (i = 0; i < MANY; i++)
		ck_assert_int_eq(profile_add(p, 0x100000 + i,
		    1 + i * 7919 % MANY, NOW), 0);
	ck_assert_int_eq(profile_ranking_new(&r), 0);
	ck_assert_int_eq(profile_ranking_begin(r, p, PROFILE_SITE,
	    PROFILE_BYTES, NOW), 0);
	count_all(r, 100);
	for (k = 0; k < 200; k++) {
		offs = k * 2011 % MANY;
		ck_assert_int_eq(profile_ranking_rows(r, offs, part, WINDOW,
		    &n), 0);
		ck_assert_uint_eq(n, MANY - offs < WINDOW ? MANY - offs :
		    WINDOW);
		/* The bytes are 1 to MANY, each once. */
		before = MANY - offs;
		for (i = 0; i < n; i++)
			ck_assert_uint_eq(part[i].total.bytes, before--);
	}
	profile_ranking_free(r);
}

TEST(sums_that_come_do_not_show_before_the_end)
{
	struct blk blk[3] = { { .caller = rec_site_caller(1), .size = 10,
		.ms = NOW - 50 }, { .caller = rec_site_caller(2), .size = 20,
		.ms = NOW - 9 }, { .caller = rec_site_caller(1), .size = 5,
		.ms = NOW - 90 } };
	struct profile *other;
	struct blklist *list;

	ck_assert_int_eq(blklist_new(&list, BLKLIST_INDEXED, 64), 0);
	put(4, 3, 1000);
	profile_pending_begin(p);
	ck_assert_int_eq(profile_pending_add(p, list, blk, 2), 0);
	/* Called off, and begun again. */
	profile_pending_begin(p);
	ck_assert_int_eq(profile_pending_add(p, list, blk, 1), 0);
	ck_assert_int_eq(profile_pending_add(p, list, blk + 1, 2), 0);
	ck_assert_uint_eq(profile_total(p).bytes, 3000);
	ck_assert_uint_eq(profile_callers(p), 1);
	profile_pending_end(p);
	profile_resolve(p, &words);

	ck_assert_int_eq(profile_new(&other), 0);
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(profile_add(other, blk[i].caller,
		    blk[i].size, blk[i].ms), 0);
	ck_assert_uint_eq(profile_callers(p), profile_callers(other));
	ck_assert_uint_eq(profile_total(p).blocks, 3);
	ck_assert_uint_eq(profile_total(p).bytes, 35);
	ck_assert_int_eq(profile_total(p).oldest_ms, NOW - 90);
	group(PROFILE_SITE, PROFILE_BYTES);
	ck_assert_uint_eq(got, 2);
	ck_assert_uint_eq(rows[0].total.bytes, 20);
	ck_assert_uint_eq(rows[1].total.bytes, 15);
	profile_free(other);
	blklist_free(list);
}

TEST(caller_is_in_the_groups_that_count_it)
{
	static const enum profile_by all[] = { PROFILE_SITE, PROFILE_FUNCTION,
		PROFILE_LINE, PROFILE_FRAME, PROFILE_MODULE };

	put_all();
	profile_resolve(p, &words);
	for (size_t k = 0; k < BASE_NELEM(all); k++) {
		group(all[k], PROFILE_BYTES);
		for (size_t i = 0; i < got; i++) {
			uint32_t stacks = 0;

			ck_assert(profile_in_group(p, all[k], rows[i].key,
			    rows[i].caller));
			for (unsigned s = 1; s < BASE_NELEM(sites); s++)
				stacks += profile_in_group(p, all[k],
				    rows[i].key, rec_site_caller(s));
			ck_assert_uint_eq(stacks, rows[i].stacks);
		}
	}
	ck_assert(!profile_in_group(p, PROFILE_SITE, 1, 4711));
}

TEST(key_of_a_line_is_that_of_its_group)
{
	put_all();
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_uint_eq(profile_key(0x12, fake_words(NULL, 0x12), 0),
	    must("parse")->key);
	ck_assert_uint_eq(profile_key(0x12, fake_words(NULL, 0x12), 1),
	    must("handle")->key);
	ck_assert_uint_eq(profile_key(0x17, fake_words(NULL, 0x17), 0),
	    must("libfoo.so+0x1017")->key);
	profile_clear(p);
	ck_assert_int_eq(profile_add(p, 0x77, 1, NOW), 0);
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_uint_eq(profile_key(0x77, NULL, 0), rows[0].key);
}

TEST(one_group_is_as_among_all)
{
	struct profile_group one;
	size_t i;

	put_all();
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	for (i = 0; i < got; i++) {
		ck_assert_int_eq(profile_group(p, PROFILE_FRAME, rows[i].key,
		    PROFILE_BYTES, NOW, &one), 0);
		ck_assert_str_eq(one.name, rows[i].name);
		ck_assert_str_eq(one.where, rows[i].where);
		ck_assert_uint_eq(one.total.bytes, rows[i].total.bytes);
		ck_assert_uint_eq(one.self.bytes, rows[i].self.bytes);
		ck_assert_uint_eq(one.caller, rows[i].caller);
	}
	ck_assert_int_eq(profile_group(p, PROFILE_FRAME, 4711, PROFILE_BYTES,
	    NOW, &one), -ENOENT);
}

TEST(stack_has_every_line_in_its_order)
{
	struct profile_line lines[8];
	size_t n, origin;
	unsigned end;

	put(1, 1, 10);
	put(6, 1, 10);
	ck_assert_int_eq(profile_stack(p, rec_site_caller(1), lines, 8, &n,
	    &origin, &end), 0);
	ck_assert_uint_eq(end, 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(lines[0].address, 0);
	ck_assert_str_eq(lines[0].function, "");
	profile_resolve(p, &words);
	ck_assert_int_eq(profile_stack(p, rec_site_caller(1), lines, 8, &n,
	    &origin, &end), 0);
	ck_assert_uint_eq(n, 5);
	ck_assert_uint_eq(end, RING_END_OUTERMOST);
	ck_assert_uint_eq(origin, 1);
	ck_assert_str_eq(lines[0].function, "zmalloc");
	ck_assert(lines[0].skipped && !lines[0].inlined);
	ck_assert_str_eq(lines[1].function, "parse");
	ck_assert(!lines[1].skipped && lines[1].inlined);
	ck_assert_str_eq(lines[2].function, "handle");
	ck_assert(!lines[2].inlined);
	ck_assert_uint_eq(lines[2].address, 0x12);
	ck_assert_uint_eq(lines[2].offset, 0x1012);
	ck_assert_uint_eq(lines[2].line, 118);
	ck_assert_str_eq(lines[4].module, "/bin/prog");
	ck_assert_int_eq(profile_stack(p, rec_site_caller(6), lines, 1, &n,
	    &origin, &end), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(lines[0].function, "");
	ck_assert_str_eq(lines[0].name, "libfoo.so+0x1017");
	ck_assert_uint_eq(lines[0].known, WIRE_K_NO_SYMBOL);
	ck_assert_int_eq(profile_stack(p, 4711, lines, 8, &n, &origin, &end),
	    -ENOENT);
}

/* --- neighbours ----------------------------------------------------------- */

static uint64_t
neighbours(const char *name, bool outwards)
{
	uint64_t bytes = 0;

	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_int_eq(profile_neighbours(p, must(name)->key, outwards,
	    PROFILE_BYTES, NOW, rows, BASE_NELEM(rows), &got), 0);
	for (size_t i = 0; i < got; i++)
		bytes += rows[i].total.bytes;
	return bytes;
}

CASE("neighbours", .setup = setup, .teardown = teardown);

TEST(callers_and_callees_make_up_the_total)
{
	uint64_t total, self;

	put_all();
	fake.late = true;
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	total = must("cache")->total.bytes;
	self = must("cache")->self.bytes;
	ck_assert_uint_eq(total, 200 + 300 + 1100);
	/* All of it is called by somebody, once in each stack. */
	ck_assert_uint_eq(neighbours("cache", true), total);
	ck_assert_uint_eq(must("serve")->total.bytes, total);
	ck_assert_uint_eq(neighbours("cache", false), total - self);

	group(PROFILE_FRAME, PROFILE_BYTES);
	total = must("serve")->total.bytes;
	ck_assert_uint_eq(neighbours("serve", false), total);
	must("handle");
	must("walk");
	must("late");
	ck_assert_uint_eq(neighbours("serve", true), total);
	ck_assert_uint_eq(got, 1);
	must("main");
	ck_assert_uint_eq(neighbours("main", true), 0);
}

TEST(recursion_has_its_outermost_callers_and_innermost_callees)
{
	put(4, 1, 10);
	profile_resolve(p, &words);
	ck_assert_uint_eq(neighbours("walk", true), 10);
	ck_assert_str_eq(rows[0].name, "serve");
	ck_assert_uint_eq(neighbours("walk", false), 0);
}

TEST(wrapper_has_callers_too)
{
	uint64_t key = profile_key(0x13, fake_words(NULL, 0x13), 0);

	put(1, 1, 10);
	put(3, 1, 20);
	profile_resolve(p, &words);
	ck_assert_int_eq(profile_neighbours(p, key, true, PROFILE_BYTES, NOW,
	    rows, BASE_NELEM(rows), &got), 0);
	ck_assert_uint_eq(got, 2);
	ck_assert_str_eq(rows[0].name, "cache");
	ck_assert_str_eq(rows[1].name, "parse");
	ck_assert_int_eq(profile_neighbours(p, 4711, true, PROFILE_BYTES, NOW,
	    rows, BASE_NELEM(rows), &got), 0);
	ck_assert_uint_eq(got, 0);
}
