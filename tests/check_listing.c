/*
 * A listing: the whole list as text, as of one record.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/pagek/documents/listing.h"
#include "../src/pagek/blocks/choice.h"
#include "../src/pagek/blocks/order.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

static atomic_bool stop;
static struct listing *listing;
static char *text, *rows;	/* all of it; and from the heading of the rows on */

/* --- making one --------------------------------------------------------- */

static void
begin(void)
{
	setup_stacks();
	stop = false;
	listing = NULL;
	text = NULL;
}

static void
end(void)
{
	listing_free(listing);
	free(text);
	teardown();
}

static void
take(void)
{
	int r;

	ck_assert_int_eq(listing_new(&listing), 0);
	do
		r = listing_take(listing, &page, &scene.view);
	while (r == -EAGAIN);
	ck_assert_int_eq(r, 0);
}

static void
finish(void)
{
	int fd = memfd_create("listing", MFD_CLOEXEC);
	struct stat st;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(listing_write(listing, fd, &stop), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(listing_bytes(listing), (uint64_t)st.st_size);
	text = calloc(1, (size_t)st.st_size + 1);
	ck_assert_int_eq(pread(fd, text, (size_t)st.st_size, 0), st.st_size);
	close(fd);
	rows = strstr(text, "\n\nADDRESS");
	ck_assert_ptr_nonnull(rows);
	rows += 2;
}

static void
make(void)
{
	take();
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	ck_assert(listing_names(listing, &scene.view, 1000));
	finish();
}

static bool
says(const char *line)
{
	const char *at = strstr(text, line);

	return at != NULL && (at == text || at[-1] == '\n') &&
	    at[strlen(line)] == '\n';
}

/* What `pagek list` prints of the scene, in the page's order. */
static char *
rows_of_list(void)
{
	static char out[256 * 1024];
	struct page wide = page;
	struct blk b[256];
	char row[2048];
	size_t n, i, len = 0;

	wide.layout = PAGE_WIDE;
	out[0] = '\0';
	page_row_heading(&wide, row, sizeof row);
	base_append(out, sizeof out, &len, "%s\n", row);
	n = blklist_window(scene.list, page_list_order(&page.opts),
	    page_list_reverse(&page.opts), 0, b, BASE_NELEM(b));
	for (i = 0; i < n; i++) {
		page_row_text_view(&wide, &scene.view, &b[i], row, sizeof row);
		base_append(out, sizeof out, &len, "%s\n", row);
	}
	return out;
}

/* --- rows --------------------------------------------------------------- */

static const struct {
	enum blklist_order order;
	bool reverse;
	const char *words;
} orders[] = {
	{ BLKLIST_BY_AGE, false, "order     age, oldest first" },
	{ BLKLIST_BY_AGE, true, "order     age, youngest first" },
	{ BLKLIST_BY_ADDRESS, false, "order     address, lowest first" },
	{ BLKLIST_BY_ADDRESS, true, "order     address, highest first" },
};

CASE("rows", .setup = begin, .teardown = end);

LOOP_TEST(rows_are_those_of_the_list_in_the_order_shown, 0, BASE_NELEM(orders))
{
	page_set_order(&page, orders[_i].order, orders[_i].reverse);
	make();
	ck_assert_str_eq(rows, rows_of_list());
	ck_assert(says(orders[_i].words));
	ck_assert_uint_eq(listing_rows(listing), 40);
	ck_assert_uint_eq(listing_written(listing), 40);
}

/* More than a screen can have of them. */
TEST(no_row_is_cut_off)
{
	struct filter_error wrong;

	scene_fini(&scene);
	scene_many(&scene, PAGE_CHOICE_MAX + 9100);
	page.medium = PAGE_SCREEN;
	ck_assert_int_eq(page_choice_filter(&page, "size<99", &wrong), 0);
	compose(124, 30);
	take();
	ck_assert_uint_eq(listing_rows(listing), 528055);
	finish();
	ck_assert(says("rows      528,055: 528,055 blocks of 533,388"));
}

/* With room for more, for enough, and for too few. */
LOOP_TEST(room_is_taken_before_and_need_not_be_enough, 0, 3)
{
	static const uint64_t room[] = { 100000, 40 };
	uint64_t i;

	ck_assert_int_eq(listing_new(&listing), 0);
	if (_i < 2)
		ck_assert_int_eq(listing_room(listing, room[_i]), 0);
	for (i = 0; i < 1500; i++)
		scene_alloc(&scene, 0x10000 + 16 * i, 16, TYPE_MALLOC, 1, 0,
		    scene.look.now_ms);
	scene_refresh(&scene);
	ck_assert_int_eq(listing_take(listing, &page, &scene.view), 0);
	ck_assert_uint_eq(listing_rows(listing), page_view_total(&scene.view));
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	ck_assert(listing_names(listing, &scene.view, 1000));
	finish();
	ck_assert_ptr_nonnull(strstr(rows, "\n000000015db0 "));
}

TEST(rows_are_wide_whatever_the_layout)
{
	page.layout = page.opts.layout = PAGE_CLASSIC_STRICT;
	make();
	ck_assert_str_eq(rows, rows_of_list());
}

TEST(what_comes_after_the_copy_is_not_in_it)
{
	char *was;

	scene.look.as_of = scene.look.work.total_records;
	was = strdup(rows_of_list());
	take();
	scene_free(&scene, UINT64_C(0x7f3c04001040));
	scene_alloc(&scene, 0x1000, 1, TYPE_MALLOC, 1, 0,
	    scene.look.now_ms);
	scene.look.now_ms += 60000;
	scene.look.as_of = scene.look.work.total_records;
	scene_refresh(&scene);
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	ck_assert(listing_names(listing, &scene.view, 1000));
	finish();
	ck_assert_str_eq(rows, was);
	ck_assert(says("as of     record 40"));
	free(was);
}

TEST(requesters_stay_those_of_the_copy)
{
	static const struct blklist_info late = { .name = "LATE" };

	scene_fini(&scene);
	scene_note(&scene);
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	take();
	/* What the list numbers from now on is nothing to it. */
	blklist_clear(scene.list);
	blklist_info_intern(scene.list, &late);
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	ck_assert(listing_names(listing, &scene.view, 1000));
	finish();
	ck_assert_ptr_nonnull(strstr(rows, "008e66b8               72 0C "
	    "ACREQ                     AB86   13s\n"));
	ck_assert(says("node      0590"));
	ck_assert(says("time      2004-07-13 13:30:39"));
}

TEST(an_empty_list_is_a_listing_too)
{
	scene_fini(&scene);
	scene_target(&scene, 0);
	make();
	ck_assert_str_eq(rows, rows_of_list());
	ck_assert(says("blocks    0"));
}

/* --- heading ------------------------------------------------------------ */

CASE("heading", .setup = begin, .teardown = end);

TEST(heading_has_origin_and_counters)
{
	scene_free(&scene, 0xdead);
	scene_alloc(&scene, UINT64_C(0x7f3c04001040), 7, TYPE_MALLOC, 1, 0,
	    scene.look.now_ms);
	scene_alloc(&scene, 0x2000, 7, 0xff, 1, 0, scene.look.now_ms);
	scene_refresh(&scene);
	scene.look.as_of = 43;
	page.numbers.cost_us = 82;
	make();
	ck_assert_int_eq(strncmp(text, "K MEMORY BLOCKS\n", 16), 0);
	ck_assert(says("node      0590 linac-a"));
	ck_assert(says("target    redis-server[4711]"));
	ck_assert(says("time      2026-11-20 15:02:24 +0000"));
	ck_assert(says("as of     record 43"));
	ck_assert(says("list      whole"));
	ck_assert(says("blocks    41"));
	ck_assert(says("cycle     82us, 1,067 records"));
	ck_assert(says("entries   41 active, 2,007 free"));
	ck_assert(says("errors    0 illegal types, 1 duplicates, 0 times "
	    "full, 1 unknown frees, 0 bad records"));
	ck_assert(says("lost      0"));
	ck_assert(says("complete  yes"));
}

TEST(bytes_are_the_lists)
{
	char line[64];

	make();
	snprintf(line, sizeof line, "bytes     %s",
	    base_digits(blklist_counts(scene.list)->live_bytes).text);
	ck_assert(says(line));
}

TEST(what_was_lost_is_said)
{
	scene.look.complete = false;
	scene.look.loss.lost[STREAM_RING_FULL] = 412;
	scene_refresh(&scene);
	make();
	ck_assert(says("lost      412"));
	ck_assert_ptr_nonnull(strstr(text, "\ncomplete  NO: "));
	ck_assert_msg(strstr(text, "412 ring full") != NULL, "%s", text);
}

TEST(a_list_that_is_being_taken_is_not_of_one_record)
{
	scene.look.settled = false;
	scene.look.as_of = 7;
	scene_refresh(&scene);
	make();
	ck_assert_ptr_null(strstr(text, "record 7"));
	ck_assert(says("list      NOT OF ONE MOMENT"));
}

TEST(a_window_is_not_passed_off_as_the_whole)
{
	struct blklist_counts counts = { .aRecActive = 5000, .aRecMax = 9000 };
	struct blklist *w;
	struct blk b[20];
	size_t n;

	n = blklist_window(scene.list, BLKLIST_BY_AGE, false, 0, b, 20);
	ck_assert_int_eq(blklist_new(&w, BLKLIST_WINDOWED, 1), 0);
	blklist_set_window(w, &counts, BLKLIST_BY_AGE, false, 100, b, n);
	scene.look.list = w;
	scene.look.window = true;
	page.offs = 105;
	scene_refresh(&scene);
	make();
	ck_assert_ptr_nonnull(strstr(text, "\nlist      NOT WHOLE: 15 of 5,000 "
	    "blocks, from offset 105 on"));
	ck_assert_uint_eq(listing_rows(listing), 15);
	scene.look.list = scene.list;
	scene_refresh(&scene);
	blklist_free(w);
}

/* What is there of it is asked all the same, and its order is the list's. */
TEST(a_window_is_filtered_and_not_sorted)
{
	struct blklist_counts counts = { .aRecActive = 5000, .aRecMax = 9000 };
	struct page_sorting by_size;
	struct filter_error wrong;
	struct blklist *w;
	struct blk b[20];
	char line[128];
	size_t n, i, large = 0;

	n = blklist_window(scene.list, BLKLIST_BY_AGE, false, 0, b, 20);
	for (i = 0; i < n; i++)
		large += b[i].size > b[0].size;
	ck_assert(large > 0 && large < n);
	ck_assert_int_eq(blklist_new(&w, BLKLIST_WINDOWED, 1), 0);
	blklist_set_window(w, &counts, BLKLIST_BY_AGE, false, 100, b, n);
	scene.look.list = w;
	scene.look.window = true;
	page.offs = 100;
	scene_refresh(&scene);
	snprintf(line, sizeof line, "size>%llu",
	    (unsigned long long)b[0].size);
	ck_assert_int_eq(page_choice_filter(&page, line, &wrong), 0);
	ck_assert(page_sorting_parse("size", &by_size));
	page_choice_sort(&page, &by_size);
	page.offs = 100;
	make();
	ck_assert_uint_eq(listing_rows(listing), large);
	snprintf(line, sizeof line, "rows      %zu: %zu blocks of %zu", large,
	    large, n);
	ck_assert_msg(says(line), "%s", text);
	ck_assert(says("order     age, oldest first"));
	ck_assert_ptr_nonnull(strstr(text, "\nlist      NOT WHOLE: 20 of 5,000 "
	    "blocks, from offset 100 on"));
	scene.look.list = scene.list;
	scene_refresh(&scene);
	blklist_free(w);
}

TEST(outside_text_is_safe)
{
	scene.look.node.name = "a\033[2Jb";
	scene.look.target.name = "x\ny";
	scene_symbol_override = "f\033]0;t\007(int)";
	scene_refresh(&scene);
	make();
	ck_assert_ptr_null(strpbrk(text, "\033\007\r"));
	ck_assert_ptr_nonnull(strstr(text, "\ntarget    x\\x0Ay[4711]\n"));
}

/* --- names -------------------------------------------------------------- */

CASE("names", .setup = begin, .teardown = end);

TEST(names_that_come_late_are_waited_for)
{
	size_t all;

	scene_late = 1u << SCENE_F_COMMAND | 1u << SCENE_F_OBJECT |
	    1u << SCENE_F_ZMALLOC;
	take();
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	ck_assert(!listing_names(listing, &scene.view, 1000));
	ck_assert_uint_gt(listing_lacking(listing, &all), 0);
	ck_assert_uint_eq(all, 5);
	scene_late = 0;
	ck_assert(listing_names(listing, &scene.view, 1000));
	ck_assert_uint_eq(listing_lacking(listing, &all), 0);
	finish();
	ck_assert_str_eq(rows, rows_of_list());
}

TEST(names_that_never_come_leave_a_row_without)
{
	scene_late = ~0u;
	take();
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	ck_assert(!listing_names(listing, &scene.view, 1000));
	finish();
	ck_assert_str_eq(rows, rows_of_list());
}

static const char *
no_thread_yet(void *arg, uint16_t thread)
{
	(void)arg;
	(void)thread;
	return "";
}

/* One that has none is not waited for, nor missed. */
LOOP_TEST(names_of_threads_are_missed_while_they_may_come, 0, 2)
{
	const char *(*thread)(void *, uint16_t) = scene.view.thread;
	size_t n;

	take();
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	n = listing_nameless(listing);
	ck_assert_uint_gt(n, 0);
	scene.view.thread = no_thread_yet;
	scene.view.pending = 1;
	ck_assert(!listing_names(listing, &scene.view, 1000));
	ck_assert_uint_eq(listing_nameless(listing), n);
	if (_i == 0) {
		scene.view.thread = thread;
		ck_assert(listing_names(listing, &scene.view, 1000));
	} else {
		scene.view.pending = 0;
		ck_assert(listing_names(listing, &scene.view, 1000));
	}
	ck_assert_uint_eq(listing_nameless(listing), 0);
	scene.view.pending = 0;
}

TEST(names_come_a_few_at_a_time)
{
	size_t all, i;

	take();
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	for (i = 4; i > 0; i--) {
		ck_assert(!listing_names(listing, &scene.view, 1));
		ck_assert_uint_eq(listing_lacking(listing, &all), i);
	}
	ck_assert(listing_names(listing, &scene.view, 1));
	finish();
	ck_assert_str_eq(rows, rows_of_list());
}

TEST(another_stream_is_not_asked_for_names)
{
	take();
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	scene.look.stream_no++;
	ck_assert(listing_names(listing, &scene.view, 1000));
	scene.look.stream_no--;
	finish();
	ck_assert_ptr_null(strstr(rows, "zmalloc"));
}

TEST(who_calls_it_off_is_heard)
{
	int fd = memfd_create("listing", MFD_CLOEXEC);

	take();
	stop = true;
	ck_assert_int_eq(listing_sort(listing, &stop), -ECANCELED);
	ck_assert_int_eq(listing_write(listing, fd, &stop), -ECANCELED);
	close(fd);
}

TEST(a_full_disk_is_an_error)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	take();
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	ck_assert_int_eq(listing_write(listing, fd, &stop), -ENOSPC);
	close(fd);
}

CASE("rows");

/* Filtered and sorted in portions, while blocks come and go. */
TEST(a_sorted_listing_is_of_the_moment_it_was_asked_for)
{
	uint64_t n, at = 0, far = UINT64_C(1) << 40;
	struct filter_error wrong;
	struct page_sorting by;
	unsigned portions = 0;
	struct blk b;
	int r;

	scene_fini(&scene);
	scene_many(&scene, 150000);
	ck_assert_int_eq(blklist_remember(scene.list, 1u << 16), 0);
	ck_assert_int_eq(page_choice_filter(&page, "size<4g", &wrong), 0);
	ck_assert(page_sorting_parse("size", &by));
	page_choice_sort(&page, &by);
	scene_refresh(&scene);
	n = page_view_total(&scene.view);
	ck_assert_int_eq(listing_new(&listing), 0);
	while ((r = listing_take(listing, &page, &scene.view)) == -EAGAIN) {
		portions++;
		ck_assert_uint_eq(blklist_window(scene.list, BLKLIST_BY_AGE,
		    portions % 2 == 0, at += 99, &b, 1), 1);
		scene_free(&scene, b.addr);
		scene_alloc(&scene, far += 64, 16, TYPE_NEW, 1, 0,
		    scene.look.now_ms);
		scene_refresh(&scene);
	}
	ck_assert_int_eq(r, 0);
	ck_assert_uint_gt(portions, 2);
	ck_assert_uint_eq(listing_rows(listing), n);
	ck_assert_int_eq(listing_sort(listing, &stop), 0);
	listing_names(listing, &scene.view, 1000);
	finish();
	ck_assert_ptr_null(strstr(rows, "\n010000000"));
}
