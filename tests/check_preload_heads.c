/*
 * The sizes of blocks, by their chunk heads (src/alloclog/hooks.h): the list has
 * what malloc_usable_size(3) says, with glibc and with other allocators.
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

/*
 * Goes by glibc's name, and from the FROM-th block on each seventh small one is
 * at the beginning of a page with none before it.
 */
static const char guard_text[] =
    "#include <stddef.h>\n"
    "#include <sys/mman.h>\n"
    "void *__libc_malloc(size_t);\n"
    "void *__libc_calloc(size_t, size_t);\n"
    "void *__libc_realloc(void *, size_t);\n"
    "void __libc_free(void *);\n"
    "static char *arena, *at;\n"
    "static unsigned got;\n"
    "static int is_ours(char *p)\n"
    "{ return arena != NULL && p >= arena && p < arena + (1 << 26); }\n"
    "static void *guarded(size_t n)\n"
    "{\n"
    "	char *p;\n"
    "	if (arena == NULL)\n"
    "		arena = at = mmap(NULL, 1 << 26, PROT_NONE, MAP_PRIVATE |\n"
    "		    MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);\n"
    "	p = at + 4096;\n"
    "	at = p + 4096;\n"
    "	mprotect(p, 4096, PROT_READ | PROT_WRITE);\n"
    "	*(size_t *)(p + 4088) = n;\n"
    "	return p;\n"
    "}\n"
    "void *malloc(size_t n)\n"
    "{\n"
    "	return ++got > FROM && got % 7 == 0 && n < 4000 ? guarded(n) :\n"
    "	    __libc_malloc(n);\n"
    "}\n"
    "void *calloc(size_t k, size_t n) { return __libc_calloc(k, n); }\n"
    "void *realloc(void *p, size_t n)\n"
    "{ return is_ours(p) ? malloc(n) : __libc_realloc(p, n); }\n"
    "void free(void *p) { if (!is_ours(p)) __libc_free(p); }\n"
    "size_t malloc_usable_size(void *p)\n"
    "{\n"
    "	size_t head;\n"
    "	if (is_ours(p))\n"
    "		return *(size_t *)((char *)p + 4088);\n"
    "	head = ((size_t *)p)[-1];\n"
    "	return (head & ~(size_t)7) - (head & 2 ? 16 : 8);\n"
    "}\n";

/* Has calloc's blocks alone, with heads of its own. */
static const char callocs_text[] =
    "#define _GNU_SOURCE\n"
    "#include <dlfcn.h>\n"
    "#include <stddef.h>\n"
    "static char pool[1 << 25] __attribute__((aligned(4096)));\n"
    "static size_t used;\n"
    "void *calloc(size_t n, size_t size)\n"
    "{\n"
    "	size_t at = used + 16;\n"
    "	used = at + ((n * size + 15) & ~(size_t)15);\n"
    "	*(size_t *)(pool + at - 8) = n * size + 0x1000;\n"
    "	return used <= sizeof(pool) ? pool + at : NULL;\n"
    "}\n"
    "void free(void *p)\n"
    "{\n"
    "	static void (*libcs)(void *);\n"
    "	if ((char *)p >= pool && (char *)p < pool + sizeof(pool))\n"
    "		return;\n"
    "	if (libcs == NULL)\n"
    "		*(void **)&libcs = dlsym(RTLD_NEXT, \"free\");\n"
    "	libcs(p);\n"
    "}\n";

/* As a preload of that name in h's folder; its path. */
static const char *
make_below(const struct hello *h, const char *name, const char *text,
    unsigned from)
{
	static char path[100];
	char src[100], cmd[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", h->folder, name);
	snprintf(src, sizeof(src), "%s/below.c", h->folder);
	f = fopen(src, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd), "cc -w -O1 -fno-builtin -DLIES=%u -DFROM=%u "
	    "-shared -fPIC -o %s %s", from, from, path, src);
	ck_assert_int_eq(system(cmd), 0);
	unlink(src);
	return path;
}

#define FIRST 20
#define LAST 500
#define ODD 600

/* Of n blocks from the offs-th in order of their age on. */
static long
overhead_of(const struct hello_image *im, uint64_t offs, size_t n)
{
	static struct blk row[2 * ODD];
	long sum = 0;

	ck_assert_uint_eq(blklist_window(im->list, BLKLIST_BY_AGE, false, offs,
	    row, n), n);
	for (size_t i = 0; i < n; i++)
		sum += row[i].overhead;
	return sum;
}

/* The target under `below`, or with libc's own; arg may be NULL. */
static const struct hello_image *
run(struct hello *h, const char *below, const char *arg,
    struct hello_result *r)
{
	static char path[700];
	const char *argv[] = { path, arg, NULL };

	snprintf(path, sizeof(path), "%s/tests/targets/heads", hello_build());
	hello_run(r, &(struct hello_how) { .node = h->path, .below = below },
	    argv);
	if (below != NULL)
		unlink(below);
	hello_stop(h);
	ck_assert_int_eq(r->status, 0);
	ck_assert_uint_eq(h->n, 1);
	return &h->images[0];
}

/* The last blocks are right, and the first ones too. */
static void
check(struct hello *h, const char *below, const char *arg, bool first)
{
	const struct hello_image *im;
	struct hello_result r;
	uint64_t live;

	im = run(h, below, arg, &r);
	live = blklist_counts(im->list)->aRecActive;
	ck_assert_uint_ge(live, FIRST + LAST);
	if (first)
		ck_assert_int_eq(overhead_of(im, live - LAST - FIRST,
		    FIRST),
		    hello_value(&r, "first"));
	ck_assert_int_eq(overhead_of(im, live - LAST, LAST),
	    hello_value(&r, "last"));
	hello_free(h);
}

CASE("heads", .seconds = 60);

TEST(blocks_have_the_size_that_malloc_usable_size_says)
{
	check(hello_start(HELLO_SERVE), NULL, NULL, true);
}

/* From the first question on; in the trial; and when heads have been trusted. */
static const unsigned lies[] = { 0, 40, 70 };

LOOP_TEST(heads_that_say_otherwise_are_not_believed_any_more, 0,
    (int)(sizeof(lies) / sizeof(lies[0])))
{
	struct hello *h = hello_start(HELLO_SERVE);

	check(h, make_below(h, "libc.so.6", liar_text, lies[_i]), NULL,
	    lies[_i] == 0);
}

/* In the trial; and when heads have been trusted. */
static const unsigned guards[] = { 0, 200 };

LOOP_TEST(what_lies_before_the_page_of_a_block_is_not_read, 0,
    (int)(sizeof(guards) / sizeof(guards[0])))
{
	struct hello *h = hello_start(HELLO_SERVE);

	check(h, make_below(h, "libc.so.6", guard_text, guards[_i]), NULL,
	    true);
}

TEST(heads_of_another_allocators_calloc_are_not_read)
{
	struct hello *h = hello_start(HELLO_SERVE);

	check(h, make_below(h, "libcallocs.so", callocs_text, 0), "calloc",
	    true);
}

/* Plain, such a program goes on until it frees the block. */
TEST(a_head_that_was_written_over_leads_nowhere)
{
	struct hello *h = hello_start(HELLO_SERVE);
	const struct hello_image *im;
	struct hello_result r;

	im = run(h, NULL, "odd", &r);
	ck_assert_int_ge(hello_value(&r, "odd"), 5);
	ck_assert_int_ge(hello_value(&r, "middle"), 1);
	ck_assert_int_eq(overhead_of(im, 0, 2 * ODD), 0);
	hello_free(h);
}
