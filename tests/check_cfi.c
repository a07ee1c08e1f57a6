/*
 * Rules of tables made by hand, and of damaged ones.
 */
#include "../src/alloclog/unwind/cfi.h"
#include "cfi_samples.h"
#include "harness.h"

#include <sys/mman.h>

/* --- samples ------------------------------------------------------------- */

static const struct cfi_rule untouched = {
	.base = 0xaa, .cfa = 4711, .rbp_off = 4712, .ra = 4713,
};

/*
 * A table in a block of its own length: a sanitizer sees one byte too far.
 * Every copy of it is asked in the same place, where an absolute address
 * holds.
 */
static int
ask(const uint8_t *p, size_t len, int at, bool exact, struct cfi_rule *got)
{
	*got = untouched;
	return cfi_find_in(NULL, p, p, p + len,
	    (uintptr_t)p + SAMPLE_CODE + (uintptr_t)(intptr_t)at + !exact,
	    exact, got);
}

static uint8_t *
block_of(const struct cfi_sample *s, struct sample_table *t)
{
	uint8_t *p;

	sample_build(s, 0, t);
	p = malloc(t->len);
	ck_assert_ptr_nonnull(p);
	sample_build(s, (uintptr_t)p, t);
	memcpy(p, t->bytes, t->len);
	return p;
}

static void
check_sample(const struct cfi_sample *s, bool exact)
{
	const struct cfi_rule *want = s->err == 0 ? &s->rule : &untouched;
	struct sample_table t;
	struct cfi_rule got;
	uint8_t *p = block_of(s, &t);
	int err;

	err = ask(p, t.len, s->at, exact, &got);
	ck_assert_msg(err == s->err, "%s: %d, not %d", s->name, err, s->err);
	ck_assert_msg(cfi_rules_equal(&got, want), "%s: base %u%+d rbp %u%+d "
	    "ra %u%+d outermost %u signal %u", s->name, got.base, got.cfa,
	    got.rbp, got.rbp_off, got.ra_at_rsp, got.ra, got.outermost,
	    got.signal);
	free(p);
}

CASE("Tables");

LOOP_TEST(rule_is_what_the_program_says, 0, (int)CFI_GOOD)
{
	check_sample(&cfi_good[_i], true);
}

LOOP_TEST(rule_of_a_return_address_is_that_of_the_call, 0, (int)CFI_GOOD)
{
	check_sample(&cfi_good[_i], false);
}

LOOP_TEST(what_is_not_followed_leaves_the_rule_untouched, 0, (int)CFI_REFUSED)
{
	check_sample(&cfi_refused[_i], true);
}

/* --- damage -------------------------------------------------------------- */

static void
check_answer(const char *name, int err, const struct cfi_rule *got)
{
	ck_assert_msg(err == 0 || ((err == -ENOENT || err == -ENOTSUP) &&
	    cfi_rules_equal(got, &untouched)), "%s: %d", name, err);
	if (err == 0)
		ck_assert(got->base <= CFI_AT_RBP && got->rbp <= CFI_RBP_LOST);
}

/* Between pages that cannot be read, also where nothing is sanitised. */
static uint8_t *
room_between_traps(void)
{
	uint8_t *p = mmap(NULL, 3 * 4096, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	ck_assert_int_eq(mprotect(p + 4096, 4096, PROT_READ | PROT_WRITE), 0);
	return p + 4096;
}

CASE("Damage");

LOOP_TEST(table_cut_anywhere_is_not_read_beyond, 0, (int)CFI_GOOD)
{
	uint8_t *room = room_between_traps(), *p;
	struct sample_table t;
	struct cfi_rule got;
	size_t len;
	int err;

	sample_build(&cfi_good[_i], (uintptr_t)room, &t);
	for (len = 0; len < t.len; len++) {
		p = room + 4096 - len;
		memcpy(p, t.bytes, len);
		err = ask(p, len, cfi_good[_i].at, true, &got);
		check_answer(cfi_good[_i].name, err, &got);
	}
	munmap(room - 4096, 3 * 4096);
}

/* Every bit of it, each on its own, at both ends of what can be read. */
LOOP_TEST(damaged_bit_is_survived, 0, (int)CFI_GOOD)
{
	uint8_t *room = room_between_traps(), *p;
	struct sample_table t;
	struct cfi_rule got;
	size_t bit;
	int err;

	sample_build(&cfi_good[_i], (uintptr_t)room, &t);
	for (bit = 0; bit < 2 * 8 * t.len; bit++) {
		p = bit % 2 == 0 ? room : room + 4096 - t.len;
		memcpy(p, t.bytes, t.len);
		p[bit / 16] ^= (uint8_t)(1u << bit / 2 % 8);
		err = ask(p, t.len, cfi_good[_i].at, true, &got);
		check_answer(cfi_good[_i].name, err, &got);
	}
	munmap(room - 4096, 3 * 4096);
}

TEST(table_outside_of_the_limits_is_not_read)
{
	struct sample_table t;
	struct cfi_rule got;
	const uint8_t *p = t.bytes;

	sample_build(&cfi_good[0], (uintptr_t)p, &t);
	ck_assert_int_eq(cfi_find_in(NULL, p, p + 1, p + t.len,
	    (uintptr_t)p + SAMPLE_CODE, true, &got), -ENOTSUP);
	ck_assert_int_eq(cfi_find_in(NULL, p + t.len, p, p + t.len - 1,
	    (uintptr_t)p + SAMPLE_CODE, true, &got), -ENOTSUP);
	ck_assert_int_eq(cfi_find_in(NULL, p, p, p,
	    (uintptr_t)p + SAMPLE_CODE, true, &got), -ENOTSUP);
}

CASE("Tables");

TEST(address_is_found_among_many_functions)
{
	enum { FUNCTIONS = 37, ENTRIES = 12, CIE = ENTRIES + 8 * FUNCTIONS };
	uint8_t p[4096];
	struct sample_table t = { .len = 0 };
	struct cfi_rule got;
	unsigned i;

	/* Function i is at 0x1000 * (i + 1), has 0x800 bytes, and an rsp of i. */
	sample_add_hex(&t, "01 1b 03 3b 10000000");
	sample_add(&t, FUNCTIONS, 4);
	memcpy(p, t.bytes, t.len);
	t.len = 0;
	sample_add_cie(&t, &(struct cfi_sample){ .name = "many" });
	memcpy(p + CIE, t.bytes, t.len);
	for (i = 0; i < FUNCTIONS; i++) {
		size_t at = CIE + 22 + i * 20, start = 0x1000 * (i + 1);

		t.len = 0;
		sample_add(&t, start, 4);
		sample_add(&t, at, 4);
		memcpy(p + ENTRIES + 8 * i, t.bytes, 8);
		t.len = 0;
		sample_add(&t, 16, 4);
		sample_add(&t, at + 4 - CIE, 4);
		sample_add(&t, start - (at + 8), 4);
		sample_add(&t, 0x800, 4);
		sample_add(&t, 0x000e00 | i << 16, 4);
		memcpy(p + at, t.bytes, 20);
	}
	for (i = 0; i < FUNCTIONS; i++) {
		uintptr_t start = (uintptr_t)p + 0x1000 * (i + 1);

		ck_assert_int_eq(cfi_find_in(NULL, p, p, p + sizeof(p), start, true,
		    &got), 0);
		ck_assert_int_eq(got.cfa, (int)i);
		ck_assert_int_eq(cfi_find_in(NULL, p, p, p + sizeof(p),
		    start + 0x800, false, &got), 0);
		ck_assert_int_eq(got.cfa, (int)i);
		ck_assert_int_eq(cfi_find_in(NULL, p, p, p + sizeof(p),
		    start + 0x800, true, &got), -ENOENT);
	}
	ck_assert_int_eq(cfi_find_in(NULL, p, p, p + sizeof(p), (uintptr_t)p + 0xfff,
	    true, &got), -ENOENT);
}

CASE("Damage");

/* A table of many empty entries, and no search table. */
TEST(walk_of_a_table_has_an_end)
{
	enum { ENTRIES = 200000 };
	uint8_t *p = calloc(ENTRIES + 2, 8);
	struct sample_table t = { .len = 0 };
	struct cfi_rule got;
	unsigned i;

	ck_assert_ptr_nonnull(p);
	sample_add_hex(&t, "01 1b ff ff 04000000 04000000 00000000");
	memcpy(p, t.bytes, t.len);
	for (i = 1; i < ENTRIES; i++)
		memcpy(p + 8 * i, t.bytes + 8, 8);
	ck_assert_int_eq(cfi_find_in(NULL, p, p, p + 8 * (ENTRIES + 1), 4711, true,
	    &got), -ENOTSUP);
	/* One that ends soon enough. */
	memset(p + 800, 0, 8);
	ck_assert_int_eq(cfi_find_in(NULL, p, p, p + 8 * (ENTRIES + 1), 4711, true,
	    &got), -ENOENT);
	free(p);
}
