/*
 * Profiles: sums by caller, groups, neighbours, call trees and folded lines.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/mdd/mdd.h"
#include "../src/stream/ring.h"
#include "harness.h"

#define NOW 100000

/* --- a program of our own making ----------------------------------------- */

/*
 * Frames are named by what lies there: lines innermost first, '<' between an
 * inlined function and the one that it is inlined in.  Module 0 has no words.
 */
static const struct place_words {
	uint64_t frame;
	const char *functions, *file, *module;
	uint32_t known;
} places[] = {
	{ 0x10, "main", "/src/main.c", "/bin/prog", WIRE_K_LINE },
	{ 0x11, "serve", "/src/serve.c", "/bin/prog", WIRE_K_LINE },
	{ 0x12, "parse<handle", "/src/parse.c", "/bin/prog", WIRE_K_LINE },
	{ 0x13, "zmalloc", "/src/zmalloc.c", "/bin/prog", WIRE_K_LINE },
	{ 0x14, "cache", "/src/cache.c", "/bin/prog", WIRE_K_LINE },
	{ 0x15, "walk", "/src/walk.c", "/bin/prog", WIRE_K_LINE },
	{ 0x16, "walk", "/src/walk.c", "/bin/prog", WIRE_K_LINE },
	{ 0x17, "", "", "/lib/libfoo.so", WIRE_K_NO_SYMBOL },
	{ 0x18, "init", "", "/lib/libfoo.so", WIRE_K_NO_LINE },
	{ 0x19, "init", "", "/lib/libbar.so", WIRE_K_NO_LINE },
	{ 0x1a, "xmalloc", "/src/x.c", "/bin/prog", WIRE_K_LINE },
	{ 0x1b, "evil;name\n\033[2J\xff;", "/src/a\nb.c", "/bin/prog",
	    WIRE_K_LINE },
	{ 0x1c, "late", "", "/lib/liblate.so", WIRE_K_NO_LINE },
	{ 0x1d, "walk", "/src/other.c", "/bin/prog", WIRE_K_LINE },
};

/* Stacks by site, innermost first. */
static const struct site {
	uint64_t frame[6];
	unsigned depth, end;
} sites[] = {
	[1] = { { 0x13, 0x12, 0x11, 0x10 }, 4, RING_END_OUTERMOST },
	[2] = { { 0x14, 0x11, 0x10 }, 3, RING_END_OUTERMOST },
	[3] = { { 0x13, 0x14, 0x11, 0x10 }, 4, RING_END_OUTERMOST },
	[4] = { { 0x15, 0x16, 0x15, 0x11, 0x10 }, 5, RING_END_OUTERMOST },
	[5] = { { 0x13, 0x1a }, 2, RING_END_DEPTH },
	[6] = { { 0x17, 0x10 }, 2, RING_END_OUTERMOST },
	[7] = { { 0x18, 0x10 }, 2, RING_END_OUTERMOST },
	[8] = { { 0x19, 0x10 }, 2, RING_END_NO_TABLE },
	[9] = { { 0x1b, 0x10 }, 2, RING_END_OUTERMOST },
	[10] = { { 0x1c, 0x11, 0x10 }, 3, RING_END_OUTERMOST },
	[11] = { { 0x14, 0x15, 0x14, 0x11, 0x10 }, 5, RING_END_OUTERMOST },
};

/* What the fake knows by now, and how often it was asked. */
static struct {
	bool no_stacks;
	bool no_words;
	bool late;		/* 0x1c is known */
	bool fetching;
	unsigned asked;
	unsigned stacks;	/* asked for */
	unsigned which;		/* sites of them, a bit each */
} fake;

static bool
fake_stack(void *arg, uint64_t caller, struct nodes_stack *out)
{
	static uint64_t plain;

	(void)arg;
	if (!rec_is_site(caller)) {
		plain = caller;
		*out = (struct nodes_stack){ &plain, 1, RING_END_DEPTH };
		return true;
	}
	fake.stacks++;
	fake.which |= 1u << rec_site(caller) % 32;
	if (fake.no_stacks || rec_site(caller) >= BASE_NELEM(sites))
		return false;
	*out = (struct nodes_stack){ sites[rec_site(caller)].frame,
		sites[rec_site(caller)].depth, sites[rec_site(caller)].end };
	return true;
}

static struct wire_text
text(const char *s, size_t len)
{
	return (struct wire_text){ s, len };
}

static const struct wire_words *
fake_words(void *arg, uint64_t frame)
{
	static struct wire_words w;
	const struct place_words *p = NULL;
	const char *f;

	(void)arg;
	fake.asked++;
	for (size_t i = 0; i < BASE_NELEM(places); i++)
		if (places[i].frame == frame)
			p = &places[i];
	if (fake.no_words || p == NULL)
		return NULL;
	w = (struct wire_words){ .frame = frame, .known = p->known,
		.offset = 0x1000 + frame,
		.module = text(p->module, strlen(p->module)) };
	if (frame == 0x1c && !fake.late) {
		w.known = WIRE_K_PENDING;
		return &w;
	}
	w.fetching = fake.fetching;
	for (f = p->functions; *f != '\0'; f += strspn(f, "<")) {
		size_t len = strcspn(f, "<");

		w.line[w.n++] = (struct wire_inline){ text(f, len),
			text(p->file, strlen(p->file)),
			(uint32_t)frame + 100 };
		f += len;
	}
	return &w;
}

static const struct profile_words words = { fake_stack, fake_words, NULL };

static struct profile *p;
static struct symbol_wrappers *wrappers;
static struct profile_group rows[64];
static size_t got, groups;

static void
setup(void)
{
	memset(&fake, 0, sizeof fake);
	ck_assert_int_eq(profile_new(&p), 0);
	ck_assert_int_eq(symbol_wrappers_new(&wrappers), 0);
	ck_assert_int_eq(symbol_wrappers_add(wrappers,
	    "none zmalloc xmalloc"), 0);
	profile_set_wrappers(p, wrappers);
}

static void
teardown(void)
{
	profile_free(p);
	symbol_wrappers_free(wrappers);
}

static void
put(unsigned site, unsigned blocks, uint64_t bytes)
{
	for (unsigned i = 0; i < blocks; i++)
		ck_assert_int_eq(profile_add(p, rec_site_caller(site), bytes,
		    NOW - 1000 * (int64_t)site - i), 0);
}

/* All sites, site n with n blocks of 100 bytes. */
static void
put_all(void)
{
	for (unsigned n = 1; n < BASE_NELEM(sites); n++)
		put(n, n, 100);
}

static void
group(enum profile_by by, enum profile_measure measure)
{
	ck_assert_int_eq(profile_groups(p, by, measure, NOW, 0, rows,
	    BASE_NELEM(rows), &got, &groups), 0);
	ck_assert_uint_eq(got, groups);
}

static const struct profile_group *
named(const char *name)
{
	const struct profile_group *found = NULL;

	for (size_t i = 0; i < got; i++)
		if (strcmp(rows[i].name, name) == 0) {
			ck_assert_msg(found == NULL, "two are called %s", name);
			found = &rows[i];
		}
	return found;
}

static const struct profile_group *
must(const char *name)
{
	const struct profile_group *g = named(name);

	ck_assert_msg(g != NULL, "no group is called %s", name);
	return g;
}

/* --- sums ----------------------------------------------------------------- */

START_TEST(every_block_counts_once)
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
END_TEST

START_TEST(list_is_taken_whole)
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
END_TEST

START_TEST(clear_begins_anew)
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
END_TEST

START_TEST(restart_keeps_what_is_resolved)
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
END_TEST

/* --- names ---------------------------------------------------------------- */

START_TEST(what_has_no_name_stands_as_module_and_offset_or_address)
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
END_TEST

START_TEST(names_that_come_late_merge)
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
END_TEST

START_TEST(what_is_resolved_is_not_asked_again)
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
END_TEST

START_TEST(resolving_some_goes_on_behind_the_last)
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
END_TEST

START_TEST(nobody_waits_behind_callers_that_stay_unknown)
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
END_TEST

START_TEST(frame_of_many_stacks_is_asked_for_once)
{
	put_all();
	fake.no_words = true;
	ck_assert_int_eq(profile_resolve(p, &words), BASE_NELEM(sites) - 1);
	ck_assert_uint_le(fake.asked, BASE_NELEM(places));
}
END_TEST

START_TEST(fetching_is_not_the_last_word)
{
	put(2, 1, 10);
	fake.fetching = true;
	ck_assert_int_eq(profile_resolve(p, &words), 1);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	must("cache");
	fake.fetching = false;
	ck_assert_int_eq(profile_resolve(p, &words), 0);
}
END_TEST

START_TEST(function_is_its_name_and_its_module)
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
END_TEST

/* --- groups --------------------------------------------------------------- */

START_TEST(wrappers_are_not_origins)
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
END_TEST

START_TEST(of_wrappers_alone_the_outermost_asked)
{
	put(5, 1, 10);
	profile_resolve(p, &words);
	group(PROFILE_FUNCTION, PROFILE_BYTES);
	ck_assert_uint_eq(got, 1);
	must("xmalloc");
}
END_TEST

START_TEST(recursion_counts_once)
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
END_TEST

START_TEST(inlined_functions_are_lines_of_their_own)
{
	put(1, 1, 10);
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_uint_eq(must("parse")->self.bytes, 10);
	ck_assert_uint_eq(must("handle")->self.bytes, 0);
	ck_assert_str_eq(must("handle")->where, "parse.c:118");
	ck_assert_str_eq(must("handle")->file, "/src/parse.c");
}
END_TEST

START_TEST(where_says_what_lines_have_in_common)
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
END_TEST

START_TEST(heaviest_come_first_by_each_measure)
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
END_TEST

START_TEST(ties_and_keys_are_the_same_in_any_order_of_blocks)
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
END_TEST

START_TEST(window_of_groups_is_cut_from_the_whole)
{
	struct profile_group part[3];
	size_t n, all;

	put_all();
	profile_resolve(p, &words);
	group(PROFILE_FRAME, PROFILE_BYTES);
	ck_assert_int_eq(profile_groups(p, PROFILE_FRAME, PROFILE_BYTES, NOW,
	    2, part, 3, &n, &all), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(all, groups);
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(part[i].key, rows[2 + i].key);
	ck_assert_int_eq(profile_groups(p, PROFILE_FRAME, PROFILE_BYTES, NOW,
	    1000, part, 3, &n, &all), 0);
	ck_assert_uint_eq(n, 0);
}
END_TEST

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

START_TEST(ranking_in_portions_is_that_of_all_at_once)
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
END_TEST

/* Many groups in an order of their own, of which windows are looked at. */
START_TEST(any_window_of_a_ranking_is_in_order)
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
END_TEST

START_TEST(sums_that_come_do_not_show_before_the_end)
{
	struct blk blk[3] = { { .caller = rec_site_caller(1), .size = 10,
		.ms = NOW - 50 }, { .caller = rec_site_caller(2), .size = 20,
		.ms = NOW - 9 }, { .caller = rec_site_caller(1), .size = 5,
		.ms = NOW - 90 } };
	struct profile *other;
	struct blklist *list;

	ck_assert_int_eq(blklist_new(&list, BLKLIST_INDEXED, 64), 0);
	put(4, 3, 1000);
	profile_coming_begin(p);
	ck_assert_int_eq(profile_coming_add(p, list, blk, 2), 0);
	/* Called off, and begun again. */
	profile_coming_begin(p);
	ck_assert_int_eq(profile_coming_add(p, list, blk, 1), 0);
	ck_assert_int_eq(profile_coming_add(p, list, blk + 1, 2), 0);
	ck_assert_uint_eq(profile_total(p).bytes, 3000);
	ck_assert_uint_eq(profile_callers(p), 1);
	profile_coming_end(p);
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
END_TEST

START_TEST(caller_is_in_the_groups_that_count_it)
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
END_TEST

START_TEST(key_of_a_line_is_that_of_its_group)
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
END_TEST

START_TEST(one_group_is_as_among_all)
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
END_TEST

START_TEST(stack_has_every_line_in_its_order)
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
END_TEST

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

START_TEST(callers_and_callees_make_up_the_total)
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
END_TEST

START_TEST(recursion_has_its_outermost_callers_and_innermost_callees)
{
	put(4, 1, 10);
	profile_resolve(p, &words);
	ck_assert_uint_eq(neighbours("walk", true), 10);
	ck_assert_str_eq(rows[0].name, "serve");
	ck_assert_uint_eq(neighbours("walk", false), 0);
}
END_TEST

START_TEST(wrapper_has_callers_too)
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
END_TEST

/* --- trees ---------------------------------------------------------------- */

#define NODES_SEEN 256

static struct seen {
	struct profile_node node;
	char name[64];
	struct profile_sum inside;	/* of its nodes, less the skipped */
} seen[NODES_SEEN];
static size_t nseen;
static struct profile_sum top;

static void
add_sum(struct profile_sum *to, const struct profile_sum *s)
{
	to->blocks += s->blocks;
	to->bytes += s->bytes;
}

static int
see(void *arg, const struct profile_node *node)
{
	size_t i = nseen;

	(void)arg;
	ck_assert_uint_lt(nseen, NODES_SEEN);
	seen[nseen].node = *node;
	seen[nseen].inside = (struct profile_sum){ 0 };
	snprintf(seen[nseen++].name, sizeof seen->name, "%s", node->function);
	if (node->skipped)
		return 0;
	if (node->depth == 0) {
		add_sum(&top, &node->total);
		return 0;
	}
	while (seen[--i].node.depth != node->depth - 1 ||
	    seen[i].node.omitted != 0)
		ck_assert_uint_gt(i, 0);
	add_sum(&seen[i].inside, &node->total);
	return 0;
}

static void
tree(struct profile_tree_opts o)
{
	nseen = 0;
	memset(&top, 0, sizeof top);
	o.now_ms = NOW;
	ck_assert_int_eq(profile_tree(p, &o, see, NULL), 0);
}

static const struct seen *
node(const char *name)
{
	for (size_t i = 0; i < nseen; i++)
		if (strcmp(seen[i].name, name) == 0)
			return &seen[i];
	ck_abort_msg("no node is called %s", name);
	return NULL;
}

static void
assert_adds_up(void)
{
	for (size_t i = 0; i < nseen; i++) {
		const struct profile_node *n = &seen[i].node;

		if (n->omitted != 0 || n->skipped)
			continue;
		ck_assert_msg(n->total.bytes == n->self.bytes +
		    seen[i].inside.bytes, "bytes of %s", seen[i].name);
		ck_assert_msg(n->total.blocks == n->self.blocks +
		    seen[i].inside.blocks, "blocks of %s", seen[i].name);
	}
}

static const struct profile_tree_opts trees[] = {
	{ .measure = PROFILE_BYTES },
	{ .measure = PROFILE_BLOCKS, .reversed = true },
	{ .measure = PROFILE_AGE },
	{ .measure = PROFILE_BYTES, .least = 0.1 },
	{ .measure = PROFILE_BYTES, .least = 0.5, .reversed = true },
	{ .measure = PROFILE_BYTES, .depth = 2 },
	{ .measure = PROFILE_BYTES, .depth = 1, .reversed = true },
};

START_TEST(nodes_and_self_make_up_the_node_above)
{
	put_all();
	profile_resolve(p, &words);
	tree(trees[_i]);
	assert_adds_up();
	ck_assert_uint_eq(top.bytes, profile_total(p).bytes);
	ck_assert_uint_eq(top.blocks, profile_total(p).blocks);
	/* With or without depth, the last of a row is said to be it. */
	for (size_t i = 0, k; i < nseen; i++) {
		unsigned depth = seen[i].node.depth;

		for (k = i + 1; k < nseen && seen[k].node.depth > depth; k++)
			continue;
		ck_assert_int_eq(seen[i].node.last,
		    k == nseen || seen[k].node.depth < depth);
		ck_assert(trees[_i].depth == 0 || depth < trees[_i].depth ||
		    seen[i].node.omitted != 0);
	}
}
END_TEST

START_TEST(tree_goes_from_the_outermost_inwards_or_from_the_origin_outwards)
{
	put(1, 1, 10);
	profile_resolve(p, &words);
	tree((struct profile_tree_opts){ 0 });
	ck_assert_uint_eq(nseen, 5);
	ck_assert_str_eq(seen[0].name, "main");
	ck_assert_str_eq(seen[3].name, "parse");
	ck_assert_uint_eq(seen[3].node.self.bytes, 10);
	ck_assert_str_eq(seen[4].name, "zmalloc");
	ck_assert(seen[4].node.skipped);
	ck_assert_uint_eq(seen[4].node.self.bytes, 0);
	tree((struct profile_tree_opts){ .reversed = true });
	ck_assert_uint_eq(nseen, 4);
	ck_assert_str_eq(seen[0].name, "parse");
	ck_assert_str_eq(seen[0].node.where, "parse.c:118");
	ck_assert_str_eq(seen[3].name, "main");
	ck_assert_uint_eq(seen[3].node.self.bytes, 10);
}
END_TEST

START_TEST(stack_that_was_cut_says_why)
{
	put_all();
	profile_resolve(p, &words);
	tree((struct profile_tree_opts){ 0 });
	ck_assert_uint_eq(node("xmalloc")->node.end, RING_END_DEPTH);
	ck_assert_uint_eq(node("serve")->node.end, 0);
	ck_assert_uint_eq(node("main")->node.end, RING_END_NO_TABLE);
	tree((struct profile_tree_opts){ .reversed = true });
	ck_assert_uint_eq(node("xmalloc")->node.end, RING_END_DEPTH);
	ck_assert_uint_eq(node("parse")->node.end, 0);
	profile_restart(p);
	put(1, 1, 10);
	tree((struct profile_tree_opts){ 0 });
	ck_assert_uint_eq(node("main")->node.end, 0);
}
END_TEST

START_TEST(ends_sum_up)
{
	struct profile_sum ends[RING_ENDS];
	uint64_t blocks = 0;

	put_all();
	fake.no_stacks = true;
	profile_resolve(p, &words);
	ck_assert_int_eq(profile_ends(p, ends), 0);
	ck_assert_uint_eq(ends[0].blocks, 66);
	fake.no_stacks = false;
	profile_resolve(p, &words);
	ck_assert_int_eq(profile_ends(p, ends), 0);
	ck_assert_uint_eq(ends[RING_END_DEPTH].blocks, 5);
	ck_assert_uint_eq(ends[RING_END_NO_TABLE].blocks, 8);
	for (unsigned e = 0; e < RING_ENDS; e++)
		blocks += ends[e].blocks;
	ck_assert_uint_eq(blocks, 66);
}
END_TEST

START_TEST(focus_leaves_stacks_without_the_function_out)
{
	put_all();
	profile_resolve(p, &words);
	tree((struct profile_tree_opts){ .focus = "ca?he" });
	assert_adds_up();
	ck_assert_uint_eq(top.bytes, 200 + 300 + 1100);
	tree((struct profile_tree_opts){ .focus = "zmalloc" });
	ck_assert_uint_eq(top.bytes, 100 + 300 + 500);
	tree((struct profile_tree_opts){ .focus = "nobody" });
	ck_assert_uint_eq(nseen, 0);
}
END_TEST

static int
refuse(void *arg, const struct profile_node *n)
{
	(void)n;
	return ++*(int *)arg == 3 ? -ECANCELED : 0;
}

START_TEST(printing_ends_where_the_printer_wants)
{
	int calls = 0;

	put_all();
	profile_resolve(p, &words);
	ck_assert_int_eq(profile_tree(p, &(struct profile_tree_opts){ 0 },
	    refuse, &calls), -ECANCELED);
	ck_assert_int_eq(calls, 3);
}
END_TEST

/* --- folded lines --------------------------------------------------------- */

static char folded[64][512];
static size_t nfolded;

static int
keep(void *arg, const char *line)
{
	(void)arg;
	ck_assert_uint_lt(nfolded, BASE_NELEM(folded));
	snprintf(folded[nfolded++], sizeof folded[0], "%s", line);
	return 0;
}

static uint64_t
fold_by(enum profile_measure measure)
{
	uint64_t sum = 0;

	nfolded = 0;
	ck_assert_int_eq(profile_folded(p, measure, NOW, keep, NULL), 0);
	for (size_t i = 0; i < nfolded; i++) {
		char *blank = strrchr(folded[i], ' '), *end;

		ck_assert_ptr_nonnull(blank);
		sum += strtoull(blank + 1, &end, 10);
		ck_assert_int_eq(*end, '\0');
		ck_assert(end > blank + 1);
		if (i > 0)
			ck_assert_int_ne(strcmp(folded[i], folded[i - 1]), 0);
	}
	return sum;
}

START_TEST(folded_lines_sum_to_the_total)
{
	uint64_t age = 0;

	put_all();
	profile_resolve(p, &words);
	ck_assert_uint_eq(fold_by(PROFILE_BYTES), 6600);
	ck_assert_uint_eq(fold_by(PROFILE_BLOCKS), 66);
	for (unsigned n = 1; n < BASE_NELEM(sites); n++)
		age += n * 1000 * n + n * (n - 1) / 2;
	ck_assert_uint_eq(fold_by(PROFILE_AGE), age);
}
END_TEST

START_TEST(folded_line_goes_from_the_outermost_to_the_origin)
{
	put(1, 1, 10);
	put(3, 2, 10);
	put(2, 1, 5);
	profile_resolve(p, &words);
	fold_by(PROFILE_BYTES);
	ck_assert_uint_eq(nfolded, 2);
	ck_assert_str_eq(folded[0], "main;serve;cache 25");
	ck_assert_str_eq(folded[1], "main;serve;handle;parse 10");
	profile_set_wrappers(p, NULL);
	fold_by(PROFILE_BYTES);
	ck_assert_str_eq(folded[1], "main;serve;cache;zmalloc 20");
}
END_TEST

START_TEST(hostile_names_break_no_line)
{
	put(9, 1, 10);
	profile_resolve(p, &words);
	fold_by(PROFILE_BYTES);
	ck_assert_uint_eq(nfolded, 1);
	ck_assert_ptr_null(strpbrk(folded[0], "\n\033\xff"));
	ck_assert_ptr_nonnull(strstr(folded[0], "main;evil:name"));
	ck_assert_ptr_eq(strchr(folded[0], ';'), strrchr(folded[0], ';'));
}
END_TEST

START_TEST(block_newer_than_now_has_no_age)
{
	ck_assert_int_eq(profile_add(p, 0x17, 10, NOW + 5000), 0);
	ck_assert_int_eq(profile_add(p, 0x17, 10, NOW + 5000), 0);
	profile_resolve(p, &words);
	ck_assert_uint_eq(fold_by(PROFILE_AGE), 0);
	ck_assert_uint_eq(fold_by(PROFILE_BYTES), 20);
}
END_TEST

/* --- a sample ------------------------------------------------------------- */

static int
weigh(void *arg, const char *line)
{
	*(uint64_t *)arg += strtoull(strrchr(line, ' ') + 1, NULL, 10);
	return 0;
}

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

START_TEST(sums_of_a_sample_are_what_its_blocks_stand_for)
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
	profile_coming_begin(p);
	n_rows = blklist_window(list, BLKLIST_BY_AGE, false, 0, portion,
	    BASE_NELEM(portion));
	ck_assert_uint_eq(n_rows, n->aRecActive);
	ck_assert_int_eq(profile_coming_add(p, list, portion, 1), 0);
	ck_assert_int_eq(profile_coming_add(p, list, portion + 1, n_rows - 1),
	    0);
	profile_coming_end(p);
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
END_TEST

/* --- many ----------------------------------------------------------------- */

static bool
deep_stack(void *arg, uint64_t caller, struct nodes_stack *out)
{
	static uint64_t frame[200];

	(void)arg;
	for (unsigned i = 0; i < BASE_NELEM(frame); i++)
		frame[i] = 0x100000 + (i == 0 ? caller % 5000 : i);
	*out = (struct nodes_stack){ frame, BASE_NELEM(frame),
		RING_END_DEPTH };
	return true;
}

static const struct wire_words *
deep_words(void *arg, uint64_t frame)
{
	static char name[64];
	static struct wire_words w;

	(void)arg;
	/* Names that others begin with. */
	snprintf(name, sizeof name, "f%llu",
	    (unsigned long long)frame - 0x100000);
	w = (struct wire_words){ .frame = frame, .known = WIRE_K_NO_LINE,
		.n = 40 };
	for (size_t i = 0; i < WIRE_INLINES_MAX; i++)
		w.line[i].function = text(name, strlen(name));
	return &w;
}

START_TEST(more_than_fits_is_cut)
{
	static const struct profile_words deep = { deep_stack, deep_words,
		NULL };
	struct profile_tree_opts o = { .least = 0.5 };
	uint64_t weight = 0;

	for (unsigned i = 0; i < 20000; i++)
		ck_assert_int_eq(profile_add(p, 10000 - i % 5000, 1, i), 0);
	ck_assert_int_eq(profile_resolve(p, &deep), 0);
	group(PROFILE_MODULE, PROFILE_BYTES);
	ck_assert_uint_eq(rows[0].stacks, 5000);
	ck_assert_int_eq(profile_groups(p, PROFILE_FUNCTION, PROFILE_BYTES,
	    NOW, 0, NULL, 0, &got, &groups), 0);
	ck_assert_uint_eq(groups, 5000);
	nseen = 0;
	ck_assert_int_eq(profile_tree(p, &o, refuse, &(int){ 10 }), 0);
	ck_assert_int_eq(profile_folded(p, PROFILE_BYTES, NOW, weigh, &weight),
	    0);
	ck_assert_uint_eq(weight, 20000);
}
END_TEST

static Suite *
profile_suite(void)
{
	Suite *suite = suite_create("profile");
	TCase *tc = tcase_create("sums");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, every_block_counts_once);
	tcase_add_test(tc,
	    sums_of_a_sample_are_what_its_blocks_stand_for);
	tcase_add_test(tc, list_is_taken_whole);
	tcase_add_test(tc, clear_begins_anew);
	tcase_add_test(tc, restart_keeps_what_is_resolved);
	suite_add_tcase(suite, tc);

	tc = tcase_create("names");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc,
	    what_has_no_name_stands_as_module_and_offset_or_address);
	tcase_add_test(tc, names_that_come_late_merge);
	tcase_add_test(tc, what_is_resolved_is_not_asked_again);
	tcase_add_test(tc, resolving_some_goes_on_behind_the_last);
	tcase_add_test(tc, nobody_waits_behind_callers_that_stay_unknown);
	tcase_add_test(tc, frame_of_many_stacks_is_asked_for_once);
	tcase_add_test(tc, fetching_is_not_the_last_word);
	tcase_add_test(tc, function_is_its_name_and_its_module);
	suite_add_tcase(suite, tc);

	tc = tcase_create("groups");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, wrappers_are_not_origins);
	tcase_add_test(tc, of_wrappers_alone_the_outermost_asked);
	tcase_add_test(tc, recursion_counts_once);
	tcase_add_test(tc, inlined_functions_are_lines_of_their_own);
	tcase_add_test(tc, where_says_what_lines_have_in_common);
	tcase_add_test(tc, heaviest_come_first_by_each_measure);
	tcase_add_test(tc, ties_and_keys_are_the_same_in_any_order_of_blocks);
	tcase_add_test(tc, window_of_groups_is_cut_from_the_whole);
	tcase_add_loop_test(tc, ranking_in_portions_is_that_of_all_at_once, 0,
	    (int)BASE_NELEM(all_kinds));
	tcase_add_test(tc, any_window_of_a_ranking_is_in_order);
	tcase_add_test(tc, sums_that_come_do_not_show_before_the_end);
	tcase_add_test(tc, caller_is_in_the_groups_that_count_it);
	tcase_add_test(tc, key_of_a_line_is_that_of_its_group);
	tcase_add_test(tc, one_group_is_as_among_all);
	tcase_add_test(tc, stack_has_every_line_in_its_order);
	suite_add_tcase(suite, tc);

	tc = tcase_create("neighbours");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, callers_and_callees_make_up_the_total);
	tcase_add_test(tc,
	    recursion_has_its_outermost_callers_and_innermost_callees);
	tcase_add_test(tc, wrapper_has_callers_too);
	suite_add_tcase(suite, tc);

	tc = tcase_create("trees");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, nodes_and_self_make_up_the_node_above, 0,
	    BASE_NELEM(trees));
	tcase_add_test(tc,
	    tree_goes_from_the_outermost_inwards_or_from_the_origin_outwards);
	tcase_add_test(tc, stack_that_was_cut_says_why);
	tcase_add_test(tc, ends_sum_up);
	tcase_add_test(tc, focus_leaves_stacks_without_the_function_out);
	tcase_add_test(tc, printing_ends_where_the_printer_wants);
	suite_add_tcase(suite, tc);

	tc = tcase_create("folded");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, folded_lines_sum_to_the_total);
	tcase_add_test(tc,
	    folded_line_goes_from_the_outermost_to_the_origin);
	tcase_add_test(tc, hostile_names_break_no_line);
	tcase_add_test(tc, block_newer_than_now_has_no_age);
	tcase_add_test(tc, more_than_fits_is_cut);
	suite_add_tcase(suite, tc);
	return suite;
}

CHECK_MAIN(profile_suite)
