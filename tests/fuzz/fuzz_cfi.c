/*
 * fuzz_cfi: any bytes as the tables of an object.  A claim that does not hold
 * ends the program.
 *
 * The first eight bytes say where .eh_frame_hdr is (modulo the rest) and, from
 * the start of the rest, which address is asked for; asked for are also the
 * functions that the search table names.
 *
 * Claims: nothing outside is read (the sanitizer's); an answer is a rule or one
 * of two errors that leave the rule alone; a call's address is that of what
 * lies before it.
 *
 * With REPLAY a main() takes files as arguments instead of libFuzzer's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/alloclog/unwind/cfi.h"

#define HEAD 8
#define FUNCTIONS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct tables {
	const uint8_t *hdr, *lo, *hi;
	struct cfi_place place;
};

static void
claim(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_cfi: does not hold: %s\n", what);
	abort();
}

static bool
rules_equal(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->base == b->base && a->rbp == b->rbp &&
	    a->outermost == b->outermost && a->signal == b->signal &&
	    a->ra_at_rsp == b->ra_at_rsp && a->cfa == b->cfa &&
	    a->rbp_off == b->rbp_off && a->ra == b->ra;
}

/* Damaged tables may have functions that overlap: a place may know another one. */
static void
ask_from_place(struct tables *t, uintptr_t pc)
{
	static const struct cfi_rule untouched = { .base = 77, .cfa = 4711 };
	struct cfi_rule r = untouched;
	int err;

	err = cfi_find_in(&t->place, t->hdr, t->lo, t->hi, pc, true, &r);
	claim(err == 0 || err == -ENOENT || err == -ENOTSUP,
	    "an answer from a place is one of three");
	claim(err == 0 || rules_equal(&r, &untouched),
	    "an error leaves the rule alone, also from a place");
}

static void
ask(struct tables *t, uintptr_t pc)
{
	static const struct cfi_rule untouched = { .base = 77, .cfa = 4711 };
	static const struct cfi_rule outermost = { .outermost = true };
	struct cfi_rule r = untouched, again = untouched;
	int err;

	err = cfi_find_in(NULL, t->hdr, t->lo, t->hi, pc, true, &r);
	claim(err == 0 || err == -ENOENT || err == -ENOTSUP,
	    "an answer is one of three");
	claim(err == 0 || rules_equal(&r, &untouched),
	    "an error leaves the rule alone");
	claim(err != 0 || !r.outermost || rules_equal(&r, &outermost),
	    "nothing is said of a frame that nobody called");
	claim(err != 0 || (r.base <= CFI_AT_RBP && r.rbp <= CFI_RBP_LOST),
	    "a rule is one of those in the header");
	claim(cfi_find_in(NULL, t->hdr, t->lo, t->hi, pc + 1, false, &again) == err &&
	    rules_equal(&r, &again), "a call lies before its return address");
	ask_from_place(t, pc);
}

static int32_t
word_at(const uint8_t *p)
{
	int32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* Functions of a search table of the usual kind, each at a few addresses. */
static void
ask_for_functions(struct tables *t)
{
	static const unsigned inside[] = { 0, 1, 4, 17, 100 };
	const uint8_t *entry = t->hdr + 12;
	uintptr_t start;
	unsigned i, n;

	for (n = 0; n < FUNCTIONS_MAX && t->hi - entry >= 8; n++, entry += 8) {
		start = (uintptr_t)t->hdr +
		    (uintptr_t)(intptr_t)word_at(entry);
		for (i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
			ask(t, start + inside[i]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct tables t;
	uint8_t *exact;
	size_t at;

	if (len <= HEAD)
		return 0;
	/* A block of its own, so that one byte too far on either side is seen. */
	exact = malloc(len - HEAD);
	claim(exact != NULL, "there is memory");
	memcpy(exact, p + HEAD, len - HEAD);
	at = (uint32_t)word_at(p) % (len - HEAD);
	t = (struct tables){ .hdr = exact + at, .lo = exact,
	    .hi = exact + (len - HEAD) };
	ask(&t, (uintptr_t)exact + (uintptr_t)(intptr_t)word_at(p + 4));
	if (t.hi - t.hdr > 12)
		ask_for_functions(&t);
	free(exact);
	return 0;
}

#ifdef REPLAY
static void
replay(const char *path)
{
	static uint8_t buf[1 << 20];
	size_t len;
	FILE *f = fopen(path, "rb");

	claim(f != NULL, path);
	len = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	LLVMFuzzerTestOneInput(buf, len);
}

int
main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		replay(argv[i]);
	printf("fuzz_cfi: %d files\n", argc - 1);
	return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
