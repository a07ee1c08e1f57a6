/*
 * check_wire_stacks: the packed answers of SITED and FRAMED.
 */
#include <errno.h>

#include "../src/base/base.h"
#include "harness.h"
#include "wire_samples.h"

static uint8_t packed[WIRE_PACKED_MAX];

static void
same_text(const struct wire_text *a, const struct wire_text *b)
{
	ck_assert_uint_eq(a->len, b->len);
	if (a->len > 0)
		ck_assert_mem_eq(a->s, b->s, a->len);
}

static void
same_words(const struct wire_words *a, const struct wire_words *b)
{
	ck_assert_uint_eq(a->frame, b->frame);
	ck_assert_uint_eq(a->known, b->known);
	ck_assert_int_eq(a->fetching, b->fetching);
	ck_assert_uint_eq(a->offset, b->offset);
	same_text(&a->module, &b->module);
	ck_assert_uint_eq(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		same_text(&a->line[i].function, &b->line[i].function);
		same_text(&a->line[i].file, &b->line[i].file);
		ck_assert_uint_eq(a->line[i].line, b->line[i].line);
	}
}

/* In a block of exactly its size, so that a sanitizer sees what lies beyond. */
static struct wire_bytes
exact_copy(const uint8_t *p, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	ck_assert_ptr_nonnull(copy);
	if (len > 0)
		memcpy(copy, p, len);
	return (struct wire_bytes) { copy, len };
}

static const struct wire_stack stacks[] = {
	{ .site = 1, .depth = 1, .end = RING_END_DEPTH,
	    .frame = { 0x0001000000401199 } },
	{ .site = UINT32_MAX, .depth = 0, .end = 0 },
	{ .site = 70000, .depth = 3, .end = RING_END_OUTERMOST,
	    .frame = { UINT64_MAX, 0, 0x00027f2211122390 } },
};

CASE("Core");

TEST(stacks_come_back_in_order)
{
	struct wire_stack st = { .site = 0 };
	struct wire_bytes b;
	size_t len = 0, at = 0, i;

	for (i = 0; i < BASE_NELEM(stacks); i++)
		ck_assert(wire_sited_put(packed, sizeof packed, &len,
		    &stacks[i]));
	b = exact_copy(packed, len);
	for (i = 0; i < BASE_NELEM(stacks); i++) {
		ck_assert_int_eq(wire_sited_next(b, &at, &st), 1);
		ck_assert_uint_eq(st.site, stacks[i].site);
		ck_assert_uint_eq(st.depth, stacks[i].depth);
		ck_assert_uint_eq(st.end, stacks[i].end);
		ck_assert_mem_eq(st.frame, stacks[i].frame, 8 * st.depth);
	}
	ck_assert_int_eq(wire_sited_next(b, &at, &st), 0);
	ck_assert_uint_eq(at, len);
	free((void *)(uintptr_t)b.p);
}

TEST(a_full_answer_has_64_of_the_deepest_stacks)
{
	struct wire_stack st;
	size_t len = 0;

	sample_get_stack(&st);
	for (unsigned i = 0; i < WIRE_SYMS_MAX; i++)
		ck_assert(wire_sited_put(packed, sizeof packed, &len, &st));
}

TEST(words_come_back_in_order)
{
	struct wire_words w, in[3] = {
		{ .frame = 0x401199, .known = WIRE_K_NO_MODULE },
		{ .frame = 0x0001000000401199, .known = WIRE_K_LINE,
		    .fetching = true, .offset = 0x1199,
		    .module = wire_text("/usr/bin/a"), .n = 2, .line = {
			{ wire_text("swap<int>"), wire_text("a.hh"), 12 },
			{ wire_text("main"), { .len = 0 }, 0 } } },
	};
	struct wire_bytes b;
	size_t len = 0, at = 0, i;

	sample_get_words(&in[2]);
	for (i = 0; i < BASE_NELEM(in); i++)
		ck_assert(wire_framed_put(packed, sizeof packed, &len,
		    &in[i]));
	b = exact_copy(packed, len);
	for (i = 0; i < BASE_NELEM(in); i++) {
		ck_assert_int_eq(wire_framed_next(b, &at, &w), 1);
		same_words(&in[i], &w);
	}
	ck_assert_int_eq(wire_framed_next(b, &at, &w), 0);
	free((void *)(uintptr_t)b.p);
}

TEST(types_come_back_in_order_and_only_those_that_are_known)
{
	struct wire_words w = { .type = wire_text("app::Row"),
		.type_from = WIRE_TYPE_CALL }, none = { .frame = 1 }, out;
	size_t len = 0, at = 0;
	struct wire_bytes b;
	uint32_t frame = 9;

	ck_assert(wire_told_put(packed, sizeof packed, &len, 0, &none));
	ck_assert_uint_eq(len, 0);
	ck_assert(wire_told_put(packed, sizeof packed, &len, 2, &w));
	w.type = wire_text("u8");
	w.type_from = WIRE_TYPE_SYMBOL;
	ck_assert(wire_told_put(packed, sizeof packed, &len, 63, &w));
	b = exact_copy(packed, len);
	ck_assert_int_eq(wire_told_next(b, &at, &frame, &out), 1);
	ck_assert_uint_eq(frame, 2);
	ck_assert_uint_eq(out.type_from, WIRE_TYPE_CALL);
	ck_assert_uint_eq(out.type.len, 8);
	ck_assert_mem_eq(out.type.s, "app::Row", 8);
	ck_assert_int_eq(wire_told_next(b, &at, &frame, &out), 1);
	ck_assert_uint_eq(frame, 63);
	ck_assert_int_eq(wire_told_next(b, &at, &frame, &out), 0);
	free((void *)(uintptr_t)b.p);
}

CASE("Limits");

/* Frame, source, length of the text, and its first byte. */
static const uint8_t lies[][4] = {
	{ 64, WIRE_TYPE_CALL, 1, 'a' },
	{ 0, WIRE_TYPE_UNKNOWN, 1, 'a' },
	{ 0, WIRE_TYPE_OWN, 1, 'a' },
	{ 0, 255, 1, 'a' },
	{ 0, WIRE_TYPE_CALL, 0, 'a' },
	{ 0, WIRE_TYPE_CALL, 2, 'a' },
	{ 0, WIRE_TYPE_CALL, 1, 0xff },
};

LOOP_TEST(types_that_no_node_writes_are_refused, 0, BASE_NELEM(lies))
{
	struct wire_bytes b = exact_copy(lies[_i], sizeof lies[_i]);
	struct wire_words out = { .type_from = 7 };
	uint32_t frame = 9;
	size_t at = 0;

	for (b.len = 1; b.len <= sizeof lies[_i]; b.len++) {
		ck_assert_int_eq(wire_told_next(b, &at, &frame, &out),
		    -EBADMSG);
		ck_assert_uint_eq(frame, 9);
		ck_assert_uint_eq(out.type_from, 7);
		ck_assert_uint_eq(at, 0);
	}
	free((void *)(uintptr_t)b.p);
}

/* Room for the first and not quite for a second: at any byte. */
TEST(what_has_no_room_leaves_the_rest_whole)
{
	struct wire_stack st = stacks[2];
	struct wire_words w;
	size_t first = 0, second, len, cap;
	uint8_t *out;

	sample_get_words(&w);
	w.n = 2;
	ck_assert(wire_sited_put(packed, sizeof packed, &first, &st));
	for (cap = first; cap < 2 * first; cap++) {
		out = malloc(cap);
		len = 0;
		ck_assert(wire_sited_put(out, cap, &len, &st));
		ck_assert(!wire_sited_put(out, cap, &len, &st));
		ck_assert_uint_eq(len, first);
		ck_assert_mem_eq(out, packed, first);
		free(out);
	}
	second = 0;
	ck_assert(wire_framed_put(packed, sizeof packed, &second, &w));
	for (cap = second; cap < 2 * second; cap++) {
		out = malloc(cap);
		len = 0;
		ck_assert(wire_framed_put(out, cap, &len, &w));
		ck_assert(!wire_framed_put(out, cap, &len, &w));
		ck_assert_uint_eq(len, second);
		ck_assert_mem_eq(out, packed, second);
		free(out);
	}
}

TEST(entries_cut_at_any_byte_are_refused)
{
	struct wire_stack st = { .site = 4711 };
	struct wire_words w = { .frame = 4711 };
	struct wire_bytes b;
	size_t len = 0, at, n;

	ck_assert(wire_sited_put(packed, sizeof packed, &len, &stacks[2]));
	for (n = 1; n < len; n++) {
		b = exact_copy(packed, n);
		at = 0;
		ck_assert_int_eq(wire_sited_next(b, &at, &st), -EBADMSG);
		ck_assert_uint_eq(at, 0);
		ck_assert_uint_eq(st.site, 4711);
		free((void *)(uintptr_t)b.p);
	}
	sample_get_words(&w);
	len = 0;
	ck_assert(wire_framed_put(packed, sizeof packed, &len, &w));
	w.frame = 4711;
	for (n = 1; n < len; n++) {
		b = exact_copy(packed, n);
		at = 0;
		ck_assert_int_eq(wire_framed_next(b, &at, &w), -EBADMSG);
		ck_assert_uint_eq(at, 0);
		ck_assert_uint_eq(w.frame, 4711);
		free((void *)(uintptr_t)b.p);
	}
}

TEST(a_place_beyond_the_bytes_is_refused)
{
	struct wire_bytes b = { packed, 4 };
	struct wire_stack st;
	struct wire_words w;
	size_t at = 5;

	ck_assert_int_eq(wire_sited_next(b, &at, &st), -EBADMSG);
	ck_assert_int_eq(wire_framed_next(b, &at, &w), -EBADMSG);
}

/* The text of words whose function has these bytes, as it comes back. */
static struct wire_text
there_and_back(const char *s, size_t n)
{
	struct wire_words w = { .n = 1, .line = { { .function = { s, n } } } };
	size_t len = 0, at = 0;

	ck_assert(wire_framed_put(packed, sizeof packed, &len, &w));
	ck_assert_int_eq(wire_framed_next((struct wire_bytes) { packed, len },
	    &at, &w), 1);
	return w.line[0].function;
}

CASE("Core");

TEST(long_texts_are_clipped_between_characters)
{
	char s[2 * WIRE_TEXT_MAX];
	struct wire_text t;
	size_t lead;

	for (lead = WIRE_TEXT_MAX - 5; lead <= WIRE_TEXT_MAX; lead++) {
		memset(s, 'x', sizeof s);
		memcpy(s + lead, FOUR_BYTES, 4);
		t = there_and_back(s, sizeof s);
		ck_assert_uint_eq(t.len, lead + 4 <= WIRE_TEXT_MAX ?
		    WIRE_TEXT_MAX : lead);
		ck_assert_mem_eq(t.s, s, t.len);
	}
}

TEST(texts_that_are_no_utf8_go_out_with_question_marks)
{
	struct wire_text t = there_and_back("a\xff" "b\xc3", 4);

	ck_assert_uint_eq(t.len, 4);
	ck_assert_mem_eq(t.s, "a?b?", 4);
	/* Control characters and NUL are text: it is the page that minds. */
	t = there_and_back("\33[2J\0x", 6);
	ck_assert_uint_eq(t.len, 6);
	ck_assert_mem_eq(t.s, "\33[2J\0x", 6);
}
