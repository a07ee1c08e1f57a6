/*
 * FRAME with the real reader of symbols and a live target: this very program.
 */
#include <link.h>
#include <stdio.h>
#include <sys/wait.h>

#include "node_harness.h"

#ifdef HAVE_ELFUTILS
#define HAVE_NAMES true
#else
#define HAVE_NAMES false
#endif

static struct keeper *keeper;
static struct page page;
static char self[PATH_MAX];
static uint64_t bias;

/* What a call from here returns to. */
static __attribute__((noinline)) uint64_t
return_address_of_my_call(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static __attribute__((noinline)) uint64_t
somewhere_in_me(void)
{
	uint64_t addr = return_address_of_my_call();

	/* No tail call, and nothing that the compiler knows of it. */
	__asm__ volatile("" : "+r"(addr));
	return addr;
}

/* The first one is the program itself. */
static int
take_bias(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = info->dlpi_addr;
	return 1;
}

static void
setup(void)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	ck_assert_int_gt(n, 0);
	self[n] = '\0';
	dl_iterate_phdr(take_bias, &bias);
	node_up(NULL);
	ck_assert_msg(node.serve->lookup.program[0] != '\0',
	    "pagek-symbols is to be built first");
	keeper = new_keeper("ALLOCLOG", getpid());
	page_open(&page);
	page_greet(&page, WIRE_ROLE_READ);
}

static void
teardown(void)
{
	page_close(&page);
	node_down();
}

static unsigned
module(const char *path, unsigned build_id_len)
{
	struct stream_module m = { .start = bias, .end = bias + 0x100000,
		.bias = bias, .path = path, .build_id_len = build_id_len,
		.build_id = "not the build id of this" };
	unsigned no;

	ck_assert_int_eq(stream_sites_put_module(keeper->sites, &m, &no), 0);
	return no;
}

/* Asked until it is no longer pending; texts are borrowed from r. */
static struct wire_words
words_of(uint64_t frame, struct wire_msg *r)
{
	struct wire_msg m = { .type = WIRE_FRAME, .frame = { .n = 1,
		.frame = { frame } } };
	struct wire_words w;

	memcpy(m.frame.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	for (;;) {
		size_t at = 0;

		page_ask(&page, &m, r);
		ck_assert_uint_eq(r->type, WIRE_FRAMED);
		ck_assert_int_eq(wire_framed_next(r->framed.words, &at, &w),
		    1);
		if (w.known != WIRE_K_PENDING)
			return w;
	}
}

static void
expect_text(struct wire_text t, const char *text)
{
	ck_assert_msg(t.len == strlen(text) && memcmp(t.s, text, t.len) == 0,
	    "%.*s, not %s", (int)t.len, t.s != NULL ? t.s : "", text);
}

/* The words of an address in somewhere_in_me(). */
static void
expect_me(const struct wire_words *w)
{
	static const char file[] = "check_serve_names.c";

	expect_text(w->module, self);
	if (!HAVE_NAMES) {
		ck_assert_uint_eq(w->known, WIRE_K_NO_READER);
		return;
	}
	ck_assert_uint_eq(w->offset, somewhere_in_me() - bias);
	ck_assert_uint_eq(w->known, WIRE_K_LINE);
	ck_assert_uint_eq(w->n, 1);
	expect_text(w->line[0].function, "somewhere_in_me");
	ck_assert_uint_ge(w->line[0].file.len, sizeof file - 1);
	ck_assert_mem_eq(w->line[0].file.s + w->line[0].file.len -
	    (sizeof file - 1), file, sizeof file - 1);
	ck_assert_uint_gt(w->line[0].line, 0);
}

CASE("Core", .setup = setup, .teardown = teardown, .seconds = 60);

TEST(a_plain_address_of_a_live_target_has_its_name)
{
	struct wire_msg r;
	struct wire_words w = words_of(somewhere_in_me(), &r);

	expect_me(&w);
}

TEST(a_frame_of_a_live_target_has_its_name)
{
	struct wire_msg r;
	struct wire_words w = words_of(frame_make(somewhere_in_me(),
	    module(self, 0)), &r);

	expect_me(&w);
}

/* Nothing of /proc/PID is needed any more. */
TEST(a_frame_of_an_ended_target_has_its_name)
{
	struct wire_msg r;
	struct wire_words w;

	module(self, 0);
	images_end_image(keeper, WIRE_S_ENDED, 0, NULL);
	w = words_of(frame_make(somewhere_in_me(), 1), &r);
	expect_me(&w);
}

/* The module as the loader knows it: "" is the program. */
TEST(a_module_without_a_path_is_found_by_its_address)
{
	struct wire_msg r;
	struct wire_words w = words_of(frame_make(somewhere_in_me(),
	    module("", 0)), &r);

	expect_me(&w);
}

TEST(a_file_that_is_not_the_one_is_not_read)
{
	struct wire_msg r;
	struct wire_words w;

	if (!HAVE_NAMES)
		return;
	w = words_of(frame_make(somewhere_in_me(), module(self, 20)), &r);
	ck_assert_uint_eq(w.known, WIRE_K_OTHER_FILE);
	ck_assert_uint_eq(w.n, 0);
	expect_text(w.module, self);
	w = words_of(frame_make(somewhere_in_me(),
	    module("/nowhere/to/be.so", 0)), &r);
	ck_assert_uint_eq(w.known, WIRE_K_NO_FILE);
}

TEST(functions_of_libraries_have_names)
{
	struct wire_msg r;
	struct wire_words w;

	if (!HAVE_NAMES)
		return;
	/* Behind its first instruction: a call before it would return there. */
	w = words_of((uint64_t)(uintptr_t)waitpid + 1, &r);
	ck_assert(w.known == WIRE_K_NO_LINE || w.known == WIRE_K_LINE);
	ck_assert_uint_ge(w.n, 1);
	ck_assert_msg(w.line[w.n - 1].function.len >= 7 &&
	    memmem(w.line[w.n - 1].function.s, w.line[w.n - 1].function.len,
	    "wait", 4) != NULL, "%.*s", (int)w.line[w.n - 1].function.len,
	    w.line[w.n - 1].function.s);
}
