/*
 * Profiles: sums by caller, names that come late, and what a sample stands for.
 */
#include "profile_rig.h"

/* --- sums ----------------------------------------------------------------- */

CASE("sums", .setup = setup, .teardown = teardown);

TEST(every_block_counts_once)
{
	static const enum profile_by all[] = { PROFILE_SITE, PROFILE_FUNCTION,
		PROFILE_LINE, PROFILE_MODULE };
	struct profile_sum total;

	put_all();
	ck_assert_int_eq(profile_add(p, 0, 7, NOW), 0);
	ck_assert_int_eq(profile_add(p, 0x17, 8, NOW), 0);
	total = profile_total(p);
	ck_assert_uint_eq(total.blocks, 66 + 2);
	ck_assert_uint_eq(total.bytes, 6600 + 15);
	ck_assert_int_eq(total.oldest_ms, NOW - 11010);
	ck_assert_uint_eq(profile_callers(p), 13);
	for (int named_too = 0; named_too < 2; named_too++) {
		for (size_t k = 0; k < BASE_NELEM(all); k++) {
			uint64_t blocks = 0, bytes = 0, stacks = 0;

			group(all[k], PROFILE_BYTES);
			for (size_t i = 0; i < got; i++) {
				blocks += rows[i].total.blocks;
				bytes += rows[i].total.bytes;
				stacks += rows[i].stacks;
			}
			ck_assert_uint_eq(blocks, total.blocks);
			ck_assert_uint_eq(bytes, total.bytes);
			ck_assert_uint_eq(stacks, 13);
		}
		ck_assert_int_ge(profile_resolve(p, &words), 0);
	}
}

TEST(list_is_taken_whole)
{
	struct blklist *list;
	uint64_t bytes = 0;

	ck_assert_int_eq(blklist_new(&list, BLKLIST_INDEXED, 4096), 0);
	for (unsigned i = 0; i < 1000; i++) {
		struct blk b = { .addr = 0x1000 + 64 * i, .size = i, .seq = i,
			.ms = i, .caller = rec_site_caller(1 + i % 7) };

		ck_assert_int_eq(blklist_put(list, &b), 0);
		bytes += i;
	}
	ck_assert_int_eq(profile_take(p, list), 0);
	ck_assert_uint_eq(profile_total(p).blocks, 1000);
	ck_assert_uint_eq(profile_total(p).bytes, bytes);
	ck_assert_uint_eq(profile_callers(p), 7);
	blklist_free(list);
}

TEST(clear_begins_anew)
{
	put_all();
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	profile_clear(p);
	ck_assert_uint_eq(profile_total(p).blocks, 0);
	ck_assert_uint_eq(profile_callers(p), 0);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_uint_eq(got, 0);
	put(2, 3, 50);
	ck_assert_int_eq(profile_resolve(p, &words), 0);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	ck_assert_uint_eq(got, 1);
	ck_assert_str_eq(rows[0].name, "cache");
	ck_assert_uint_eq(rows[0].total.bytes, 150);
}

TEST(restart_keeps_what_is_resolved)
{
	struct profile_sum ends[RING_ENDS];
	unsigned asked;

	put_all();
	fake.late = true;
	profile_resolve(p, &words);
	asked = fake.asked;
	profile_restart(p);
	ck_assert_uint_eq(profile_total(p).blocks, 0);
	ck_assert_uint_eq(profile_callers(p), 0);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_uint_eq(got, 0);
	put(2, 3, 50);
	put(1, 1, 7);
	ck_assert_uint_eq(profile_callers(p), 2);
	ck_assert_int_eq(profile_resolve(p, &words), 0);
	ck_assert_uint_eq(fake.asked, asked);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	ck_assert_uint_eq(got, 2);
	ck_assert_uint_eq(must("cache")->total.bytes, 150);
	ck_assert_int_eq(must("cache")->total.oldest_ms, NOW - 2002);
	ck_assert_int_eq(profile_ends(p, ends), 0);
	ck_assert_uint_eq(ends[RING_END_OUTERMOST].blocks, 4);
}

/* --- names ---------------------------------------------------------------- */

CASE("names", .setup = setup, .teardown = teardown);

TEST(what_has_no_name_stands_as_module_and_offset_or_address)
{
	put(6, 1, 10);
	ck_assert_int_eq(profile_add(p, 0x7f001234, 20, NOW), 0);
	ck_assert_int_eq(profile_add(p, 0, 30, NOW), 0);
	ck_assert_int_eq(profile_resolve(p, &words), 1);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	ck_assert_str_eq(must("libfoo.so+0x1017")->where, "libfoo.so");
	ck_assert_str_eq(must("libfoo.so+0x1017")->module, "/lib/libfoo.so");
	ck_assert_str_eq(must("0x7f001234")->where, "");
	must("(caller not known)");
}

TEST(names_that_come_late_merge)
{
	put(10, 1, 10);
	fake.no_stacks = fake.no_words = true;
	ck_assert_int_eq(profile_resolve(p, &words), 1);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	must("(stack 10 not known yet)");
	fake.no_stacks = false;
	ck_assert_int_eq(profile_resolve(p, &words), 1);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	must("0x1c");
	fake.no_words = false;
	ck_assert_int_eq(profile_resolve(p, &words), 1);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	must("liblate.so+0x101c");
	fake.late = true;
	ck_assert_int_eq(profile_resolve(p, &words), 0);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	must("late");
	ck_assert_uint_eq(got, 1);
}

TEST(what_is_resolved_is_not_asked_again)
{
	unsigned asked;

	put_all();
	ck_assert_int_eq(profile_resolve(p, &words), 1);
	asked = fake.asked;
	/* Each frame once, though main is in nearly every stack. */
	ck_assert_uint_le(asked, BASE_NELEM(places));
	ck_assert_int_eq(profile_resolve(p, &words), 1);
	ck_assert_uint_eq(fake.asked, asked + 1);
	fake.late = true;
	ck_assert_int_eq(profile_resolve(p, &words), 0);
	asked = fake.asked;
	ck_assert_int_eq(profile_resolve(p, &words), 0);
	ck_assert_uint_eq(fake.asked, asked);
}

TEST(resolving_some_goes_on_behind_the_last)
{
	put_all();
	fake.late = true;
	ck_assert_int_eq(profile_resolve_some(p, &words, 4), 7);
	ck_assert_uint_eq(fake.stacks, 4);
	ck_assert_int_eq(profile_resolve_some(p, &words, 4), 3);
	ck_assert_uint_eq(fake.stacks, 8);
	ck_assert_int_eq(profile_resolve_some(p, &words, 4), 0);
	ck_assert_uint_eq(fake.stacks, 11);
	ck_assert_uint_eq(fake.which, 0xffe);
}

TEST(nobody_waits_behind_callers_that_stay_unknown)
{
	put_all();
	fake.no_stacks = true;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(profile_resolve_some(p, &words, 4), 11);
	ck_assert_uint_eq(fake.stacks, 12);
	ck_assert_uint_eq(fake.which, 0xffe);
	/* One that takes all looks at each of them once. */
	fake.stacks = 0;
	ck_assert_int_eq(profile_resolve(p, &words), 11);
	ck_assert_uint_eq(fake.stacks, 11);
}

TEST(frame_of_many_stacks_is_asked_for_once)
{
	put_all();
	fake.no_words = true;
	ck_assert_int_eq(profile_resolve(p, &words), BASE_NELEM(sites) - 1);
	ck_assert_uint_le(fake.asked, BASE_NELEM(places));
}

TEST(fetching_is_not_the_last_word)
{
	put(2, 1, 10);
	fake.fetching = true;
	ck_assert_int_eq(profile_resolve(p, &words), 1);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	must("cache");
	fake.fetching = false;
	ck_assert_int_eq(profile_resolve(p, &words), 0);
}

TEST(function_is_its_name_and_its_module)
{
	put(7, 1, 10);
	put(8, 1, 20);
	profile_resolve(p, &words);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	ck_assert_uint_eq(got, 2);
	ck_assert_str_eq(rows[0].name, "init");
	ck_assert_str_eq(rows[0].where, "libbar.so");
	ck_assert_str_eq(rows[1].name, "init");
	ck_assert_str_eq(rows[1].where, "libfoo.so");
	ck_assert_uint_ne(rows[0].key, rows[1].key);
}

/* --- a sample ------------------------------------------------------------- */

static int
add_up(void *arg, const struct profile_node *node)
{
	struct profile_sum *sum = arg;

	if (node->depth == 0 && !node->skipped) {
		sum->blocks += node->total.blocks;
		sum->bytes += node->total.bytes;
	}
	return 0;
}

static void
near(uint64_t a, uint64_t b, uint64_t off)
{
	ck_assert_msg((a > b ? a - b : b - a) <= off, "%llu is not %llu",
	    (unsigned long long)a, (unsigned long long)b);
}

CASE("sums");

TEST(sums_of_a_sample_are_what_its_blocks_stand_for)
{
	struct profile_tree_opts o = { .measure = PROFILE_BYTES,
		.now_ms = NOW };
	struct profile_sum total, outer = { 0 };
	const struct blklist_counts *n;
	uint64_t weight = 0, blocks = 0, bytes = 0;
	struct blk portion[BASE_NELEM(sites) + 1];
	struct blklist *list;
	size_t n_rows;

	ck_assert_int_eq(blklist_new(&list, BLKLIST_INDEXED, 64), 0);
	blklist_sample(list, 4096);
	for (unsigned i = 1; i < BASE_NELEM(sites); i++)
		ck_assert_int_eq(blklist_put(list, &(struct blk){
		    .addr = 0x1000 + 16 * i, .size = 100 * i, .seq = i,
		    .flags = REC_FLAGS(REC_ALLOC, 0), .ms = NOW - 1000,
		    .caller = rec_site_caller(i), .type = TYPE_MALLOC }), 0);
	/* One of the API's stands for itself. */
	ck_assert_int_eq(blklist_put(list, &(struct blk){ .addr = 0x1000,
	    .size = 3, .seq = 99, .flags = REC_FLAGS(REC_ALLOC, REC_LAYER_API),
	    .ms = NOW - 500, .caller = rec_site_caller(1), .type = 0xc0 }), 0);
	n = blklist_counts(list);
	ck_assert_int_eq(profile_take(p, list), 0);
	profile_resolve(p, &words);
	total = profile_total(p);
	ck_assert_uint_eq(total.blocks, n->est_blocks);
	ck_assert_uint_eq(total.bytes, n->est_bytes);
	ck_assert_uint_gt(total.blocks, 5u * n->aRecActive);
	ck_assert_uint_eq(total.listed, n->aRecActive);
	ck_assert_uint_eq(total.listed_bytes, n->live_bytes);
	/* In portions it is the same. */
	profile_pending_begin(p);
	n_rows = blklist_window(list, BLKLIST_BY_AGE, false, 0, portion,
	    BASE_NELEM(portion));
	ck_assert_uint_eq(n_rows, n->aRecActive);
	ck_assert_int_eq(profile_pending_add(p, list, portion, 1), 0);
	ck_assert_int_eq(profile_pending_add(p, list, portion + 1, n_rows - 1),
	    0);
	profile_pending_end(p);
	ck_assert_uint_eq(profile_total(p).blocks, n->est_blocks);
	ck_assert_uint_eq(profile_total(p).bytes, n->est_bytes);
	ck_assert_uint_eq(profile_total(p).listed, n->aRecActive);
	ck_assert_uint_eq(profile_total(p).listed_bytes, n->live_bytes);
	/* The parts are rounded each by itself. */
	group(PROFILE_SITE, PROFILE_BYTES);
	for (size_t i = 0; i < got; i++) {
		blocks += rows[i].total.blocks;
		bytes += rows[i].total.bytes;
	}
	near(blocks, total.blocks, got);
	near(bytes, total.bytes, got);
	ck_assert_int_eq(profile_tree(p, &o, add_up, &outer), 0);
	near(outer.blocks, total.blocks, got);
	near(outer.bytes, total.bytes, got);
	ck_assert_int_eq(profile_folded(p, PROFILE_BYTES, NOW, weigh,
	    &weight), 0);
	near(weight, total.bytes, got);
	weight = 0;
	ck_assert_int_eq(profile_folded(p, PROFILE_AGE, NOW, weigh,
	    &weight), 0);
	near(weight, 1000 * total.blocks, 1000 * got);
	blklist_free(list);
}
