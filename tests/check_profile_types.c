/*
 * check_profile_types: which frame of a stack tells the type of the objects, and
 * groups by it.
 */
#include <errno.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/profile/profile.h"
#include "harness.h"

static const struct {
	const char *function, *inlined;	/* in it; NULL none */
	const char *type;
	enum wire_type_from from;
} frames[] = {
	[1] = { .function = "operator new(unsigned long)" },
	[2] = { .function = "std::allocator<app::Row>::allocate(unsigned long)",
	    .type = "app::Row", .from = WIRE_TYPE_SYMBOL },
	[3] = { .function = "main" },
	[4] = { .function = "std::filebuf::_M_allocate_internal_buffer()" },
	[5] = { .function = "my_malloc" },
	[6] = { .function = "main", .inlined = "std::make_unique<app::Key>()",
	    .type = "app::Key", .from = WIRE_TYPE_TEMPLATE },
	[7] = { .function = "std::vector<int>::f()",
	    .inlined = "std::__allocate_guarded<int>(int&)" },
	[8] = { .function = "g", .type = "app::Row", .from = WIRE_TYPE_CALL },
};

static const struct {
	uint64_t frame[4];
	unsigned depth;
	const char *type;
	enum wire_type_from from;
} stacks[] = {
	{ { 1, 2, 3 }, 3, "app::Row", WIRE_TYPE_SYMBOL },
	{ { 2, 6 }, 2, "app::Row", WIRE_TYPE_SYMBOL },
	{ { 1, 6 }, 2, "app::Key", WIRE_TYPE_TEMPLATE },
	{ { 8, 3 }, 2, "app::Row", WIRE_TYPE_CALL },
	{ { 5, 1, 8 }, 3, "app::Row", WIRE_TYPE_CALL },
	/* A function that says nothing lies between. */
	{ { 3, 2 }, 2, "", WIRE_TYPE_UNKNOWN },
	{ { 4, 2 }, 2, "", WIRE_TYPE_UNKNOWN },
	{ { 7, 2 }, 2, "", WIRE_TYPE_UNKNOWN },
	{ { 9, 2 }, 2, "", WIRE_TYPE_UNKNOWN },
	{ { 1, 1 }, 2, "", WIRE_TYPE_UNKNOWN },
};

static bool
give_stack(void *arg, uint64_t caller, struct stream_site *out)
{
	size_t i = rec_site(caller) - 1;

	(void)arg;
	*out = (struct stream_site){ .frame = stacks[i].frame,
		.depth = (uint8_t)stacks[i].depth, .end = RING_END_OUTERMOST };
	return true;
}

static const struct wire_words *
give_words(void *arg, uint64_t frame)
{
	static struct wire_words w;

	(void)arg;
	if (frame >= BASE_NELEM(frames))
		return NULL;
	w = (struct wire_words){ .frame = frame, .known = WIRE_K_NO_LINE,
		.n = 1, .line = { { .function =
		wire_text(frames[frame].function) } } };
	if (frames[frame].inlined != NULL) {
		w.line[w.n++] = w.line[0];
		w.line[0].function = wire_text(frames[frame].inlined);
	}
	if (frames[frame].type != NULL)
		w.type = wire_text(frames[frame].type);
	w.type_from = frames[frame].from;
	return &w;
}

static const struct profile_words source = { give_stack, give_words, NULL };
static struct profile *p;
static struct symbol_wrappers *wrappers;

static void
setup(void)
{
	ck_assert_int_eq(symbol_wrappers_new(&wrappers), 0);
	ck_assert_int_eq(symbol_wrappers_add(wrappers, "my_malloc"), 0);
	ck_assert_int_eq(profile_new(&p), 0);
	profile_set_wrappers(p, wrappers);
	for (unsigned i = 0; i < BASE_NELEM(stacks); i++)
		ck_assert_int_eq(profile_add(p, rec_site_caller(i + 1),
		    100 + i, 1), 0);
	ck_assert_int_ge(profile_resolve(p, &source), 0);
}

static void
teardown(void)
{
	profile_free(p);
	symbol_wrappers_free(wrappers);
}

CASE("Types", .setup = setup, .teardown = teardown);

LOOP_TEST(first_frame_that_does_not_only_pass_a_request_on_tells, 0,
    BASE_NELEM(stacks))
{
	enum wire_type_from from = WIRE_TYPE_OWN;
	const char *type = NULL;

	ck_assert_int_eq(profile_type(p, rec_site_caller((unsigned)_i + 1),
	    &type, &from), 0);
	ck_assert_str_eq(type, stacks[_i].type);
	ck_assert_int_eq(from, stacks[_i].from);
}

TEST(caller_that_is_not_there_has_no_type)
{
	const char *type = "before";
	enum wire_type_from from = WIRE_TYPE_OWN;

	ck_assert_int_eq(profile_type(p, rec_site_caller(99), &type, &from),
	    -ENOENT);
	ck_assert_str_eq(type, "before");
	ck_assert_int_eq(from, WIRE_TYPE_OWN);
}

TEST(groups_by_type_have_all_blocks_and_say_where_the_name_is_from)
{
	static const struct {
		const char *name, *where;
		uint64_t bytes;
	} want[] = {
		{ "(type not known)", "", 105 + 106 + 107 + 108 + 109 },
		{ "app::Row", "call, symbol", 100 + 101 + 103 + 104 },
		{ "app::Key", "template", 102 },
	};
	struct profile_ranking *r;
	struct profile_group rows[8];
	size_t left, n;
	uint64_t key;

	ck_assert_int_eq(profile_ranking_new(&r), 0);
	ck_assert_int_eq(profile_ranking_begin(r, p, PROFILE_CTYPE,
	    PROFILE_BYTES, 2), 0);
	do
		ck_assert_int_eq(profile_ranking_count(r, 3, &left), 0);
	while (left > 0);
	ck_assert_int_eq(profile_ranking_rows(r, 0, rows, 8, &n), 0);
	ck_assert_uint_eq(n, BASE_NELEM(want));
	for (size_t i = 0; i < n; i++) {
		ck_assert_str_eq(rows[i].name, want[i].name);
		ck_assert_uint_eq(rows[i].total.bytes, want[i].bytes);
		ck_assert_str_eq(rows[i].file, "");
		ck_assert_str_eq(rows[i].where, want[i].where);
	}
	ck_assert_int_eq(profile_key_of(p, PROFILE_CTYPE, rec_site_caller(1),
	    &key), 0);
	ck_assert_uint_eq(key, rows[1].key);
	ck_assert(profile_in_group(p, PROFILE_CTYPE, key, rec_site_caller(5)));
	ck_assert(!profile_in_group(p, PROFILE_CTYPE, key, rec_site_caller(3)));
	profile_ranking_free(r);
}
