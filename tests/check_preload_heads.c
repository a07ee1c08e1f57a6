/*
 * How large blocks are, by their heads (src/alloclog/heads.h): what the list
 * has is what malloc_usable_size(3) says, of glibc and of what is not.
 */
#include "harness.h"
#include "hello.h"

/*
 * Goes by glibc's name, and has other heads from the LIES-th question on: each
 * block has 160 bytes more than its head says.
 */
static const char liar_text[] =
    "#include <stddef.h>\n"
    "void *__libc_malloc(size_t);\n"
    "void *__libc_calloc(size_t, size_t);\n"
    "void *__libc_realloc(void *, size_t);\n"
    "void __libc_free(void *);\n"
    "static unsigned asked;\n"
    "void *malloc(size_t n) { return __libc_malloc(n + 160); }\n"
    "void *calloc(size_t k, size_t n) { return __libc_calloc(1, k * n + 160); }\n"
    "void *realloc(void *p, size_t n) { return __libc_realloc(p, n + 160); }\n"
    "void free(void *p) { __libc_free(p); }\n"
    "size_t malloc_usable_size(void *p)\n"
    "{\n"
    "	size_t head = ((size_t *)p)[-1];\n"
    "	size_t true_one = (head & ~(size_t)7) - (head & 2 ? 16 : 8);\n"
    "	return true_one - (asked++ < LIES ? 0 : 160);\n"
    "}\n";

/* As a preload in h's folder; its path. */
static const char *
make_liar(const struct hello *h, unsigned lies)
{
	static char path[100];
	char src[100], cmd[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/libc.so.6", h->folder);
	snprintf(src, sizeof(src), "%s/liar.c", h->folder);
	f = fopen(src, "w");
	ck_assert_ptr_nonnull(f);
	fputs(liar_text, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd), "cc -w -O1 -fno-builtin -DLIES=%u -shared "
	    "-fPIC -o %s %s", lies, path, src);
	ck_assert_int_eq(system(cmd), 0);
	unlink(src);
	return path;
}

#define FIRST 20
#define LAST 500

/* Of the blocks from the offs-th in order of their age on. */
static long
overhead_of(const struct hello_image *im, uint64_t offs, size_t n)
{
	static struct blk row[LAST];
	long sum = 0;

	ck_assert_uint_eq(blklist_window(im->list, BLKLIST_BY_AGE, false, offs,
	    row, n), n);
	for (size_t i = 0; i < n; i++)
		sum += row[i].overhead;
	return sum;
}

/* Under `below`, or with libc's own; then the first blocks are right too. */
static void
check(const char *below, bool first, struct hello *h)
{
	char path[700];
	const char *argv[] = { path, NULL };
	struct hello_result r;

	snprintf(path, sizeof(path), "%s/tests/targets/heads", hello_build());
	hello_run(&r, &(struct hello_how) { .node = h->path, .below = below },
	    argv);
	if (below != NULL)
		unlink(below);
	hello_stop(h);
	ck_assert_int_eq(r.status, 0);
	ck_assert_uint_eq(h->n, 1);
	ck_assert_uint_ge(blklist_counts(h->images[0].list)->aRecActive,
	    FIRST + LAST);
	if (first)
		ck_assert_int_eq(overhead_of(&h->images[0], 0, FIRST),
		    hello_value(&r, "first"));
	ck_assert_int_eq(overhead_of(&h->images[0], FIRST, LAST),
	    hello_value(&r, "last"));
	hello_free(h);
}

START_TEST(blocks_have_the_size_that_malloc_usable_size_says)
{
	check(NULL, true, hello_start(HELLO_SERVE));
}
END_TEST

/* From the first question on; in the trial; and when heads have been trusted. */
static const unsigned lies[] = { 0, 40, 70 };

START_TEST(heads_that_say_otherwise_are_not_believed_any_more)
{
	struct hello *h = hello_start(HELLO_SERVE);

	check(make_liar(h, lies[_i]), lies[_i] == 0, h);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("preload: heads");
	TCase *t = tcase_create("heads");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, blocks_have_the_size_that_malloc_usable_size_says);
	tcase_add_loop_test(t, heads_that_say_otherwise_are_not_believed_any_more,
	    0, (int)(sizeof(lies) / sizeof(lies[0])));
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(suite)
