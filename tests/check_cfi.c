/*
 * Rules of tables made by hand, of damaged ones, and of the objects that this
 * program has loaded; walks by them, beside backtrace(3).
 */
#include "../src/alloclog/cfi.h"
#include "cfi_samples.h"
#include "harness.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* --- samples ------------------------------------------------------------- */

static bool
rules_equal(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->base == b->base && a->rbp == b->rbp &&
	    a->outermost == b->outermost && a->signal == b->signal &&
	    a->ra_at_rsp == b->ra_at_rsp && a->cfa == b->cfa &&
	    a->rbp_off == b->rbp_off && a->ra == b->ra;
}

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
	return cfi_find_in(p, p, p + len,
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
	ck_assert_msg(rules_equal(&got, want), "%s: base %u%+d rbp %u%+d "
	    "ra %u%+d outermost %u signal %u", s->name, got.base, got.cfa,
	    got.rbp, got.rbp_off, got.ra_at_rsp, got.ra, got.outermost,
	    got.signal);
	free(p);
}

START_TEST(rule_is_what_the_program_says)
{
	check_sample(&cfi_good[_i], true);
}
END_TEST

START_TEST(rule_of_a_return_address_is_that_of_the_call)
{
	check_sample(&cfi_good[_i], false);
}
END_TEST

START_TEST(what_is_not_followed_leaves_the_rule_untouched)
{
	check_sample(&cfi_refused[_i], true);
}
END_TEST

/* --- damage -------------------------------------------------------------- */

static void
check_answer(const char *name, int err, const struct cfi_rule *got)
{
	ck_assert_msg(err == 0 || ((err == -ENOENT || err == -ENOTSUP) &&
	    rules_equal(got, &untouched)), "%s: %d", name, err);
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

START_TEST(table_cut_anywhere_is_not_read_beyond)
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
END_TEST

/* Every bit of it, each on its own, at both ends of what can be read. */
START_TEST(damaged_bit_is_survived)
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
END_TEST

START_TEST(table_outside_of_the_limits_is_not_read)
{
	struct sample_table t;
	struct cfi_rule got;
	const uint8_t *p = t.bytes;

	sample_build(&cfi_good[0], (uintptr_t)p, &t);
	ck_assert_int_eq(cfi_find_in(p, p + 1, p + t.len,
	    (uintptr_t)p + SAMPLE_CODE, true, &got), -ENOTSUP);
	ck_assert_int_eq(cfi_find_in(p + t.len, p, p + t.len - 1,
	    (uintptr_t)p + SAMPLE_CODE, true, &got), -ENOTSUP);
	ck_assert_int_eq(cfi_find_in(p, p, p,
	    (uintptr_t)p + SAMPLE_CODE, true, &got), -ENOTSUP);
}
END_TEST

START_TEST(address_is_found_among_many_functions)
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

		ck_assert_int_eq(cfi_find_in(p, p, p + sizeof(p), start, true,
		    &got), 0);
		ck_assert_int_eq(got.cfa, (int)i);
		ck_assert_int_eq(cfi_find_in(p, p, p + sizeof(p),
		    start + 0x800, false, &got), 0);
		ck_assert_int_eq(got.cfa, (int)i);
		ck_assert_int_eq(cfi_find_in(p, p, p + sizeof(p),
		    start + 0x800, true, &got), -ENOENT);
	}
	ck_assert_int_eq(cfi_find_in(p, p, p + sizeof(p), (uintptr_t)p + 0xfff,
	    true, &got), -ENOENT);
}
END_TEST

/* A table of many empty entries, and no search table. */
START_TEST(walk_of_a_table_has_an_end)
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
	ck_assert_int_eq(cfi_find_in(p, p, p + 8 * (ENTRIES + 1), 4711, true,
	    &got), -ENOTSUP);
	/* One that ends soon enough. */
	memset(p + 800, 0, 8);
	ck_assert_int_eq(cfi_find_in(p, p, p + 8 * (ENTRIES + 1), 4711, true,
	    &got), -ENOENT);
	free(p);
}
END_TEST

/* --- objects ------------------------------------------------------------- */

#if defined(__x86_64__) && defined(DLFO_STRUCT_HAS_EH_DBASE)
extern char _start[];

/* A function as the number that it is. */
#define CODE(f) ((uintptr_t)(f))

START_TEST(address_in_no_object_leaves_the_object_untouched)
{
	struct cfi_object object = { .start = 4711 };
	struct cfi_rule rule;
	char *jit = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t nowhere[] = { 0, 1, 4711, (uintptr_t)&rule,
		(uintptr_t)jit + 100, UINTPTR_MAX };
	size_t i;

	ck_assert_ptr_ne(jit, MAP_FAILED);
	for (i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		ck_assert_int_eq(cfi_find(nowhere[i], true, &rule, &object),
		    -ENOENT);
		ck_assert_int_eq(cfi_find(nowhere[i], false, &rule, &object),
		    -ENOENT);
		ck_assert_uint_eq(object.start, 4711);
	}
	munmap(jit, 4096);
}
END_TEST

static void
check_entry(uintptr_t function, const void *base)
{
	struct cfi_object object = { .map = NULL };
	struct cfi_rule rule = untouched;

	ck_assert_int_eq(cfi_find(function, true, &rule, &object), 0);
	ck_assert_int_eq(rule.base, CFI_RSP);
	ck_assert_int_eq(rule.cfa, 8);
	ck_assert_int_eq(rule.ra, -8);
	ck_assert_int_eq(rule.rbp, CFI_RBP_SAME);
	ck_assert_ptr_nonnull(object.map);
	ck_assert(object.start <= function && function < object.end);
	ck_assert_ptr_eq((void *)object.bias, base);
	ck_assert_ptr_eq((void *)object.start, base);
}

START_TEST(functions_begin_with_a_return_address_at_rsp)
{
	uintptr_t own[] = { CODE(check_entry), CODE(cfi_find_in) };
	void *libc = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
	Dl_info info;
	size_t i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		ck_assert_int_ne(dladdr((void *)own[i], &info), 0);
		check_entry(own[i], info.dli_fbase);
	}
	ck_assert_ptr_nonnull(libc);
	ck_assert_int_ne(dladdr(dlsym(libc, "qsort"), &info), 0);
	check_entry((uintptr_t)dlsym(libc, "qsort"), info.dli_fbase);
	dlclose(libc);
}
END_TEST

START_TEST(functions_of_the_vdso_have_rules)
{
	void *base = (void *)getauxval(AT_SYSINFO_EHDR);
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_LAZY);

	if (base == NULL || vdso == NULL) {
		printf("skipped: the kernel has given us no vdso\n");
		return;
	}
	check_entry((uintptr_t)dlsym(vdso, "__vdso_clock_gettime"), base);
	dlclose(vdso);
}
END_TEST

START_TEST(start_of_the_program_is_outermost)
{
	struct cfi_object object;
	struct cfi_rule rule = untouched;

	ck_assert_int_eq(cfi_find((uintptr_t)_start + 8, true, &rule, &object),
	    0);
	ck_assert(rules_equal(&rule,
	    &(struct cfi_rule){ .outermost = true }));
}
END_TEST

/* --- walks --------------------------------------------------------------- */

struct regs {
	uintptr_t pc, rsp, rbp;
	bool rbp_lost;
};

/* What lies on a stack is nobody's object: not for sanitizers. */
__attribute__((no_sanitize("address", "thread", "undefined"), noinline))
static uintptr_t
load(uintptr_t at)
{
	return *(volatile uintptr_t *)at;
}

static uintptr_t
next_rbp(const struct cfi_rule *rule, const struct regs *r, uintptr_t cfa)
{
	uintptr_t off = (uintptr_t)(intptr_t)rule->rbp_off;

	switch (rule->rbp) {
	case CFI_RBP_AT_CFA:
		return load(cfa + off);
	case CFI_RBP_AT_RSP:
		return load(r->rsp + off);
	case CFI_RBP_AT_RBP:
		return load(r->rbp + off);
	default:
		return r->rbp;
	}
}

static uintptr_t
cfa_of(const struct cfi_rule *rule, const struct regs *r)
{
	uintptr_t off = (uintptr_t)(intptr_t)rule->cfa;

	switch (rule->base) {
	case CFI_RSP:
		return r->rsp + off;
	case CFI_RBP:
		return r->rbp + off;
	case CFI_AT_RSP:
		return load(r->rsp + off);
	default:
		return load(r->rbp + off);
	}
}

/* To the caller; 1, 0 when there is none, or what cfi_find() says. */
static int
step(struct regs *r, bool *exact)
{
	struct cfi_object object;
	struct cfi_rule rule;
	uintptr_t cfa, ra;
	int err;

	err = cfi_find(r->pc, *exact, &rule, &object);
	if (err != 0 || rule.outermost)
		return err;
	if (r->rbp_lost && (rule.base == CFI_RBP || rule.base == CFI_AT_RBP))
		return -EDOM;
	cfa = cfa_of(&rule, r);
	ra = (rule.ra_at_rsp ? r->rsp : cfa) + (uintptr_t)(intptr_t)rule.ra;
	r->pc = load(ra);
	r->rbp_lost = rule.rbp == CFI_RBP_LOST ||
	    (rule.rbp == CFI_RBP_SAME && r->rbp_lost);
	r->rbp = next_rbp(&rule, r, cfa);
	r->rsp = cfa;
	*exact = rule.signal;
	return 1;
}

#define DEPTH 100

/* One stack, as we walk it and as backtrace(3) does. */
static struct {
	uintptr_t own[DEPTH];
	void *other[DEPTH];
	int own_len, other_len, signals, err;
} walks;

/* From handlers too: nothing is asserted here. */
__attribute__((noinline))
static void
take_walks(void)
{
	struct regs r = { .rbp_lost = false };
	bool exact = true;
	int got;

	__asm__ volatile ("leaq 0f(%%rip), %0\n0:\tmovq %%rsp, %1\n"
	    "\tmovq %%rbp, %2" : "=&r" (r.pc), "=&r" (r.rsp), "=&r" (r.rbp));
	walks.other_len = backtrace(walks.other, DEPTH);
	walks.own_len = walks.signals = 0;
	while ((got = step(&r, &exact)) == 1 && walks.own_len < DEPTH) {
		walks.own[walks.own_len++] = r.pc;
		walks.signals += exact;
	}
	walks.err = got;
}

/* Outside of take_walks(): the other one begins in it, or further inside. */
static void
compare_walks(void)
{
	int i, inner = 0;

	ck_assert_int_eq(walks.err, 0);
	ck_assert_int_gt(walks.own_len, 2);
	while (inner < walks.other_len &&
	    (uintptr_t)walks.other[inner] != walks.own[0])
		inner++;
	ck_assert_int_eq(walks.own_len, walks.other_len - inner);
	for (i = 0; i < walks.own_len; i++)
		ck_assert_uint_eq(walks.own[i],
		    (uintptr_t)walks.other[inner + i]);
}

/* No call of it is the last thing that it does, and no frame is like another. */
static int
deeper(int depth)
{
	volatile char *room = __builtin_alloca((size_t)depth * 16 + 1);

	room[0] = (char)depth;
	if (depth == 0)
		take_walks();
	else
		room[depth * 16] = (char)deeper(depth - 1);
	return room[0];
}

static int
order_by_walk(const void *a, const void *b)
{
	take_walks();
	return *(const char *)a - *(const char *)b;
}

/*
 * An alignment that the stack does not have of itself, and arguments on it
 * that are found by the old one: gcc keeps that in memory.
 */
__attribute__((noinline))
static long
realigned(long a, long b, long c, long d, long e, long f, long g, long h)
{
	volatile struct { _Alignas(64) char room[64]; } big;
	volatile char *more = __builtin_alloca((size_t)a + 100);

	big.room[0] = more[0] = 1;
	take_walks();
	big.room[1] = big.room[0];
	return a + b + c + d + e + f + g + h + (uintptr_t)&big % 64;
}

static void
handler(int number)
{
	realigned(number, 0, 0, 0, 0, 0, 0, 1);
}

static void *
thread(void *arg)
{
	deeper(3);
	return arg;
}

START_TEST(walk_finds_what_backtrace_finds)
{
	char text[] = "hgfedcba";

	ck_assert_int_eq(deeper(10), 10);
	ck_assert_int_gt(walks.own_len, 10);
	compare_walks();
	ck_assert_int_eq(realigned(1, 2, 3, 4, 5, 6, 7, 8), 36);
	compare_walks();
	qsort(text, 8, 1, order_by_walk);
	ck_assert_str_eq(text, "abcdefgh");
	compare_walks();
}
END_TEST

START_TEST(walk_goes_on_through_a_signal_frame)
{
	/* The first walk of backtrace(3) allocates. */
	take_walks();
	ck_assert_ptr_ne(signal(SIGUSR1, handler), SIG_ERR);
	ck_assert_int_eq(raise(SIGUSR1), 0);
	compare_walks();
	ck_assert_int_eq(walks.signals, 1);
}
END_TEST

START_TEST(walk_of_a_thread_ends_where_it_began)
{
	pthread_t id;

	ck_assert_int_eq(pthread_create(&id, NULL, thread, NULL), 0);
	ck_assert_int_eq(pthread_join(id, NULL), 0);
	compare_walks();
}
END_TEST

static void
add_objects(Suite *s)
{
	TCase *objects = tcase_create("Objects");
	TCase *walked = tcase_create("Walks");

	tcase_add_test(objects,
	    address_in_no_object_leaves_the_object_untouched);
	tcase_add_test(objects, functions_begin_with_a_return_address_at_rsp);
	tcase_add_test(objects, functions_of_the_vdso_have_rules);
	tcase_add_test(objects, start_of_the_program_is_outermost);
	suite_add_tcase(s, objects);
	tcase_add_test(walked, walk_finds_what_backtrace_finds);
	tcase_add_test(walked, walk_goes_on_through_a_signal_frame);
	tcase_add_test(walked, walk_of_a_thread_ends_where_it_began);
	suite_add_tcase(s, walked);
}
#else
static void
add_objects(Suite *s)
{
	(void)s;
	printf("skipped: this libc does not say where tables are\n");
}
#endif

static Suite *
cfi_suite(void)
{
	Suite *s = suite_create("cfi");
	TCase *tables = tcase_create("Tables");
	TCase *damage = tcase_create("Damage");

	tcase_add_loop_test(tables, rule_is_what_the_program_says, 0,
	    (int)CFI_GOOD);
	tcase_add_loop_test(tables,
	    rule_of_a_return_address_is_that_of_the_call, 0, (int)CFI_GOOD);
	tcase_add_loop_test(tables,
	    what_is_not_followed_leaves_the_rule_untouched, 0,
	    (int)CFI_REFUSED);
	tcase_add_test(tables, address_is_found_among_many_functions);
	suite_add_tcase(s, tables);
	tcase_add_loop_test(damage, table_cut_anywhere_is_not_read_beyond, 0,
	    (int)CFI_GOOD);
	tcase_add_loop_test(damage, damaged_bit_is_survived, 0,
	    (int)CFI_GOOD);
	tcase_add_test(damage, table_outside_of_the_limits_is_not_read);
	tcase_add_test(damage, walk_of_a_table_has_an_end);
	suite_add_tcase(s, damage);
	add_objects(s);
	return s;
}

CHECK_MAIN(cfi_suite)
