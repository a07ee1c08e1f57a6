/*
 * Page S: counts of the last second, the window and since the mark; how exact they
 * are; and the pictures of it.
 */
#include <locale.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/pagek/stress/stress.h"
#include "golden.h"
#include "harness.h"

static struct page_stress *l;
static struct stress_sample s;
static struct page_picture pic;
static int64_t ms;
static uint64_t no;
static const char *why;
static bool woken;

static void
begin(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	setenv("TZ", "UTC", 1);
	ck_assert_int_eq(page_stress_new(&l), 0);
	pic = (struct page_picture){ 0 };
	s = (struct stress_sample){ .source = STRESS_FILE,
		.requests_known = true, .pressure_known = true };
	memset(s.known, true, sizeof s.known);
	s.level[0] = 1000000;
	ms = 5000;
	no = 0;
	why = "";
	woken = false;
}

static void
end(void)
{
	page_picture_fini(&pic);
	page_stress_free(l);
}

static bool
take(void)
{
	return page_stress_take(l, &(struct page_stress_taken){ .sample = &s,
	    .kernel = "6.1.0-56-amd64", .why = why, .ms = ms, .no = ++no,
	    .woken = woken, .wall_ms = base_wall_ms() });
}

/* So many seconds at 15 Hz, in each of which so much is counted. */
static void
pass(int seconds, uint64_t one, uint64_t two, uint64_t three)
{
	for (int i = 1; i <= seconds * 15; i++) {
		ms += i % 3 == 0 ? 66 : 67;
		if (i % 15 == 0) {
			s.level[0] += one;
			s.level[1] += two;
			s.level[2] += three;
			s.some_us += 1000 * three;
		}
		(void)take();
	}
}

static struct page_stress_spent
spent(enum page_stress_period period)
{
	struct page_stress_spent out;

	page_stress_spent(l, period, &out);
	return out;
}

/* --- memory of the kernel itself ------------------------------------------------ */

static struct page_stress_memory held;

static void
hold_nothing(void)
{
	held = (struct page_stress_memory){ .table = STRESS_BY_CACHE };
	pic = (struct page_picture){ 0 };
}

static void
drop_held(void)
{
	page_stress_memory_fini(&held);
	page_picture_fini(&pic);
}

/* Takes a table; rows: the number of its rows, also of those not in `lines`. */
static void
take_table(const char *lines, uint64_t rows)
{
	struct stress_memory m;

	ck_assert_int_eq(stress_parse_memory(&m, STRESS_BY_CACHE, lines,
	    strlen(lines)), 0);
	m.rows = rows;
	page_stress_memory_take(&held, &m);
	ck_assert_ptr_null(m.row);
}

/* The first line of the picture that contains the text. */
static const char *
table_line(const char *text)
{
	static char line[512];
	struct page_stress_head h = { .node = "0001 n", .state = "LIVE" };

	ck_assert_int_eq(page_stress_memory_compose(&held, &h, 80, 0, &pic), 0);
	for (int i = 0; i < pic.rows; i++)
		if (strstr(pic.line[i].text, text) != NULL)
			return strcpy(line, pic.line[i].text);
	return "";
}

CASE("memory of the kernel", .setup = hold_nothing, .teardown = drop_held);

TEST(the_first_table_is_the_mark_until_another_one_is_set)
{
	ck_assert(!page_stress_memory_mark(&held));
	take_table(" aa 1 1 8 0 100 : slabdata 0 3\n", 1);
	ck_assert_ptr_nonnull(strstr(table_line(" aa"), " 300 "));
	take_table(" aa 1 1 8 0 100 : slabdata 0 5\n bb 1 1 8 0 9 : slabdata 0 1\n", 2);
	ck_assert_ptr_nonnull(strstr(table_line(" aa"), " +200 "));
	ck_assert_ptr_nonnull(strstr(table_line(" bb"), " new "));
	ck_assert(page_stress_memory_mark(&held));
	take_table(" aa 1 1 8 0 100 : slabdata 0 4\n bb 1 1 8 0 9 : slabdata 0 1\n", 2);
	ck_assert_ptr_nonnull(strstr(table_line(" aa"), " -100 "));
	ck_assert_ptr_nonnull(strstr(table_line(" bb"), " 0 "));
}

TEST(a_row_that_may_be_older_than_the_mark_is_not_new)
{
	take_table(" aa 1 1 8 0 100 : slabdata 0 3\n", 9);
	take_table(" bb 1 1 8 0 100 : slabdata 0 3\n", 9);
	ck_assert_ptr_nonnull(strstr(table_line(" bb"), " n/a "));
	ck_assert_ptr_nonnull(strstr(table_line("caches"),
	    "in 9 caches, the largest 1 are listed"));
}

TEST(a_table_of_any_size_fits_any_screen)
{
	static char lines[20000];
	struct page_stress_head h = { .node = "0001 n", .state = "LIVE" };
	size_t len = 0;

	for (unsigned i = 0; i < 300; i++)
		base_append(lines, sizeof lines, &len, " cache-%u 1 1 8 0 100 : "
		    "slabdata 0 %u\n", i, 1000 - i);
	take_table(lines, 300);
	for (int rows = 1; rows < 60; rows += 7)
		for (int cols = 20; cols < 200; cols += 30) {
			held.list.selected = 299;
			ck_assert_int_eq(page_stress_memory_compose(&held, &h, cols,
			    rows, &pic), 0);
			ck_assert_uint_lt(held.list.top, 300);
			ck_assert_uint_ge(held.list.top + held.list.window, 300);
		}
	take_table(" cache-299 1 1 8 0 9 : slabdata 0 1\n", 1);
	ck_assert_int_eq(page_stress_memory_compose(&held, &h, 80, 24, &pic), 0);
	ck_assert_uint_eq(held.list.top, 0);
}

TEST(the_title_of_a_narrow_table_leaves_room_for_the_state)
{
	struct page_stress_head h = { .node = "0001 n", .state = "LIVE" };

	ck_assert_int_eq(page_stress_memory_compose(&held, &h, 33, 10, &pic), 0);
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, " LIVE"));
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, "S KERNEL MEMORY"));
}

TEST(the_cursor_stays_on_its_row)
{
	take_table(" aa 1 1 8 0 9 : slabdata 0 9\n bb 1 1 8 0 9 : slabdata 0 1\n", 2);
	page_list_move(&held.list, held.now.n, 1, false);
	take_table(" cc 1 1 8 0 9 : slabdata 0 9\n aa 1 1 8 0 9 : slabdata 0 9\n"
	    " bb 1 1 8 0 9 : slabdata 0 1\n", 3);
	ck_assert_uint_eq(held.list.selected, 2);
	take_table(" aa 1 1 8 0 9 : slabdata 0 9\n", 1);
	ck_assert_uint_eq(held.list.selected, 0);
}

/* --- periods ------------------------------------------------------------------- */

CASE("periods", .setup = begin, .teardown = end);

TEST(without_a_sample_nothing_is_known)
{
	ck_assert(!page_stress_known(l));
	ck_assert(!page_stress_set_mark(l) && !page_stress_reset(l));
	for (int i = 0; i < PAGE_STRESS_PERIODS; i++) {
		ck_assert(spent(i).none);
		ck_assert(!spent(i).s.known[0]);
	}
	ck_assert_uint_eq(page_stress_trend(l, 0, 5,
	    (uint64_t[PAGE_STRESS_TREND]){ 0 }), 0);
}

TEST(the_first_sample_is_what_others_count_from)
{
	ck_assert(take());
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 0);
	pass(1, 100, 5, 0);
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 100);
	ck_assert_uint_eq(spent(PAGE_STRESS_SECOND).s.level[1], 5);
	ck_assert_int_eq(spent(PAGE_STRESS_SECOND).ms, 1000);
}

TEST(the_same_sample_counts_once)
{
	ck_assert(take());
	no--;
	s.level[0] += 7;
	ck_assert(!take());
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 0);
}

TEST(a_second_stays_until_the_next_one_is_over)
{
	(void)take();
	pass(1, 100, 0, 0);
	ms += 500;
	s.level[0] += 50;
	(void)take();
	ck_assert_uint_eq(spent(PAGE_STRESS_SECOND).s.level[0], 100);
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 150);
}

TEST(a_slow_sample_is_the_mean_of_a_second)
{
	(void)take();
	ms += 4000;
	s.level[0] += 4000;
	s.some_us += 8000;
	(void)take();
	ck_assert(spent(PAGE_STRESS_SECOND).mean);
	ck_assert_uint_eq(spent(PAGE_STRESS_SECOND).s.level[0], 1000);
	ck_assert_uint_eq(spent(PAGE_STRESS_SECOND).s.some_us, 2000);
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 4000);
}

TEST(few_requests_are_shown_as_one_per_second)
{
	uint64_t trend[PAGE_STRESS_TREND];

	(void)take();
	ms += 3000;
	s.level[4]++;
	s.full_us++;
	(void)take();
	ck_assert(spent(PAGE_STRESS_SECOND).mean);
	ck_assert_uint_eq(spent(PAGE_STRESS_SECOND).s.level[4], 1);
	ck_assert_uint_eq(spent(PAGE_STRESS_SECOND).s.level[3], 0);
	ck_assert_uint_eq(spent(PAGE_STRESS_SECOND).s.full_us, 1);
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[4], 1);
	ck_assert_uint_eq(page_stress_trend(l, 4, 1, trend), 3);
	ck_assert_uint_eq(trend[2], 1);
}

static const struct {
	int steps;
	int64_t ms;
} window_steps[] = { { -1, 10000 }, { 0, 60000 }, { 1, 300000 }, { 2, 900000 },
	{ 3, 3600000 } };

LOOP_TEST(a_window_is_as_long_as_it_says, 0, (int)BASE_NELEM(window_steps))
{
	int64_t want = window_steps[_i].ms, is;

	for (int i = window_steps[_i].steps; i != 0; i += i < 0 ? 1 : -1)
		ck_assert(page_stress_step_window(l, i > 0));
	ck_assert_int_eq(page_stress_window_ms(l), want);
	(void)take();
	pass(5, 10, 0, 0);
	ck_assert_int_eq(spent(PAGE_STRESS_WINDOW).ms, 5000);
	ck_assert_uint_eq(spent(PAGE_STRESS_WINDOW).s.level[0], 50);
	pass((int)(want / 1000) + 20, 10, 0, 0);
	is = spent(PAGE_STRESS_WINDOW).ms;
	ck_assert_int_ge(is, want - 100);
	ck_assert_int_le(is, want + (want > 60000 ? 16000 : 1100));
	ck_assert_uint_eq(spent(PAGE_STRESS_WINDOW).s.level[0], (uint64_t)((is + 50) /
	    1000 * 10));
}

TEST(windows_end_somewhere)
{
	ck_assert(page_stress_step_window(l, false));
	ck_assert(!page_stress_step_window(l, false));
	for (int i = 0; i < 4; i++)
		ck_assert(page_stress_step_window(l, true));
	ck_assert(!page_stress_step_window(l, true));
}

TEST(a_mark_is_for_its_period_alone)
{
	bool first;

	(void)take();
	pass(3, 10, 1, 0);
	(void)page_stress_mark_ms(l, &first);
	ck_assert(first);
	ck_assert(page_stress_set_mark(l));
	(void)page_stress_mark_ms(l, &first);
	ck_assert(!first);
	pass(2, 10, 1, 0);
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 20);
	ck_assert_uint_eq(spent(PAGE_STRESS_WINDOW).s.level[0], 50);
	ck_assert(page_stress_reset(l));
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 0);
	ck_assert_uint_eq(spent(PAGE_STRESS_WINDOW).s.level[0], 0);
	ck_assert(spent(PAGE_STRESS_SECOND).none && !spent(PAGE_STRESS_MARK).none);
}

TEST(a_held_picture_stays_and_loses_nothing)
{
	(void)take();
	pass(2, 10, 0, 0);
	page_stress_hold(l, true);
	pass(3, 10, 0, 0);
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 20);
	page_stress_hold(l, false);
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 50);
}

TEST(a_clock_that_goes_back_begins_anew)
{
	(void)take();
	pass(3, 10, 0, 0);
	ms = 100;
	(void)take();
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 0);
	pass(1, 10, 0, 0);
	ck_assert_uint_eq(spent(PAGE_STRESS_MARK).s.level[0], 10);
}

TEST(a_trend_has_a_number_for_each_second)
{
	uint64_t v[PAGE_STRESS_TREND];

	(void)take();
	pass(2, 100, 0, 0);
	ms += 3000;
	s.level[0] += 30;
	(void)take();
	ck_assert_uint_eq(page_stress_trend(l, 0, 1, v), 5);
	ck_assert_uint_eq(v[0], 100);
	ck_assert_uint_eq(v[1], 100);
	for (int i = 2; i < 5; i++)
		ck_assert_uint_eq(v[i], 10);
	/* One request in five seconds is not none. */
	pass(5, 0, 0, 0);
	s.level[2]++;
	pass(100, 0, 0, 0);
	ck_assert_uint_eq(page_stress_trend(l, 2, 1, v), PAGE_STRESS_TREND);
	ck_assert_uint_le(page_stress_trend(l, 2, 5, v), PAGE_STRESS_TREND / 5);
}

TEST(a_few_requests_are_seen_in_a_folded_trend)
{
	uint64_t v[PAGE_STRESS_TREND];

	(void)take();
	pass(4, 0, 0, 0);
	pass(1, 0, 0, 1);
	ck_assert_uint_eq(page_stress_trend(l, 2, 5, v), 1);
	ck_assert_uint_eq(v[0], 1);
}

/* --- texts ---------------------------------------------------------------------- */

CASE("texts", .setup = begin, .teardown = end);

static const char *
count(size_t level)
{
	static char out[STRESS_TEXT];

	stress_count_text(&s, level, out);
	return out;
}

TEST(a_count_says_how_exact_it_is)
{
	s.level[3] = 76;
	ck_assert_str_eq(count(0), "1,000,000");
	s.missed = 1;
	ck_assert_str_eq(count(0), "~1,000,000");
	s.source = STRESS_VMSTAT;
	s.known[1] = false;
	ck_assert_str_eq(count(0), "~1,000,000");
	ck_assert_str_eq(count(1), "n/a");
	ck_assert_str_eq(count(3), "<76");
	ck_assert_str_eq(count(4), "0");
	ck_assert_ptr_nonnull(stress_legend(&s));
}

TEST(only_exact_counts_have_shares)
{
	char out[STRESS_TEXT];

	s.level[0] = 895;
	s.level[1] = 105;
	stress_share_text(&s, 1, out);
	ck_assert_str_eq(out, "10.5%");
	stress_share_text(&s, 2, out);
	ck_assert_str_eq(out, "-");
	s.level[0] = 100000;
	s.level[2] = 1;
	stress_share_text(&s, 2, out);
	ck_assert_str_eq(out, "<0.1%");
	s.source = STRESS_VMSTAT;
	stress_share_text(&s, 0, out);
	ck_assert_str_eq(out, "-");
}

TEST(the_ratio_of_the_levels_is_watched)
{
	s.level[0] = 1000;
	s.level[1] = 100;
	ck_assert(!stress_watch_ratio(&s));
	s.level[1] = 101;
	ck_assert(stress_watch_ratio(&s));
	s.known[1] = false;
	ck_assert(!stress_watch_ratio(&s));
}

TEST(each_doubt_is_said)
{
	struct page_stress_spent p = { .s = { .stolen = 64, .missed = 2 },
		.changed = true };
	char out[STRESS_TEXT];
	size_t at = 0, n = 0;

	while (stress_doubt(&p, &at, out))
		n++;
	ck_assert_uint_eq(n, 3);
	p = (struct page_stress_spent){ .changed = true,
		.s = { .source = STRESS_VMSTAT } };
	at = 0;
	ck_assert(stress_doubt(&p, &at, out));
	ck_assert_ptr_nonnull(strstr(out, "/proc/vmstat"));
	ck_assert(!stress_doubt(&p, &at, out));
}

/* --- pictures -------------------------------------------------------------------- */

CASE("pictures", .setup = begin, .teardown = end);

static const struct page_stress_head head = { .node = "0590 linac-a",
	.state = "LIVE", .selected = 1, .utc = true };

/* As in the article: a second of level 2 and 3 after quiet ones. */
static void
take_scene(void)
{
	(void)take();
	pass(40, 4183, 410, 0);
	pass(19, 4183, 610, 5);
	pass(1, 4373, 516, 3);
}

static void
compose(int cols, int rows, bool ascii)
{
	struct page_stress_head h = head;

	h.ascii = ascii;
	ck_assert_int_eq(page_stress_compose(l, &h, cols, rows, &pic), 0);
}

static bool
has(const char *text)
{
	for (int i = 0; i < pic.rows; i++)
		if (strstr(pic.line[i].text, text) != NULL)
			return true;
	return false;
}

/* The clock of the mark is the wall's. */
static void
assert_picture(const char *name)
{
	char line[PAGE_COLS_MAX * 4 + 2], *at;

	snprintf(line, sizeof line, "%s", pic.line[1].text);
	at = strstr(line, "since ");
	if (at != NULL)
		memset(at + 6, '-', 8);
	pic.line[1].text = line;
	assert_golden(&pic, name);
}

static const struct {
	int cols, rows;
} sizes[] = { { 40, 10 }, { 80, 24 }, { 124, 35 }, { 160, 35 } };

LOOP_TEST(exact_counts_are_as_they_should_be, 0, (int)BASE_NELEM(sizes))
{
	char name[32];

	take_scene();
	compose(sizes[_i].cols, sizes[_i].rows, false);
	ck_assert_int_eq(pic.rows, sizes[_i].rows);
	snprintf(name, sizeof name, "stress-file-%d", sizes[_i].cols);
	assert_picture(name);
}

LOOP_TEST(estimates_are_as_they_should_be, 0, (int)BASE_NELEM(sizes))
{
	char name[32];

	s.source = STRESS_VMSTAT;
	why = "cannot read /proc/allocinfo: Permission denied";
	s.known[1] = s.known[2] = s.known[5] = false;
	s.pressure_known = false;
	take_scene();
	s.level[3] += 340;
	pass(1, 4000, 0, 0);
	compose(sizes[_i].cols, sizes[_i].rows, true);
	snprintf(name, sizeof name, "stress-vmstat-%d", sizes[_i].cols);
	assert_picture(name);
}

TEST(the_text_has_all_that_the_page_has)
{
	take_scene();
	compose(80, 0, true);
	assert_picture("stress-text");
}

TEST(what_makes_counts_doubtful_is_said)
{
	(void)take();
	s.stolen = 4096;
	s.missed = 2;
	s.source = STRESS_VMSTAT;
	s.changes++;
	pass(1, 10, 0, 0);
	compose(80, 24, true);
	ck_assert(has("another program has read 4,096 of the counts"));
	ck_assert(has("the source is now /proc/vmstat"));
}

/* A control group's limit moves no level; failures are of several sorts. */
TEST(failures_and_limits_have_lines_of_their_own)
{
	s.source = STRESS_EVENTS;
	s.split_known = s.charge.known[STRESS_CHARGE_MAX] = true;
	(void)take();
	compose(80, 24, true);
	ck_assert(!has("failed: ") && !has("CHARGE") && !has("limits of"));
	s.level[5] = 77;
	s.failed[STRESS_FAILED] = 2;
	s.failed[STRESS_FAILED_NO_WAIT_LARGE] = 75;
	s.charge.n[STRESS_CHARGE_MAX] = 462;
	s.limit_kills = 1;
	pass(1, 10, 0, 0);
	compose(124, 35, true);
	ck_assert(has("failed: 2 that could wait, of at most 8 pages; 75 that could "
	    "not wait, of more"));
	ck_assert(has("CHARGE of the node's group  462 at the limit"));
	ck_assert(has("limits of control groups killed 1 processes"));
	/* Fewer wakes than requests. */
	ck_assert(has("2 after background wake         >0          >0"));
}

TEST(trouble_is_said_in_place_of_counts)
{
	page_stress_set_trouble(l, "VERSION: the node is older");
	compose(80, 24, true);
	ck_assert(has("VERSION: the node is older"));
	ck_assert(!has("waiting for"));
	(void)take();
	compose(80, 24, true);
	ck_assert(!has("VERSION"));
}

TEST(levels_of_stress_are_marked)
{
	int bad = 0, warn = 0;

	(void)take();
	s.level[2] = s.level[4] = 1;
	pass(1, 10, 0, 0);
	compose(124, 35, true);
	for (int i = 0; i < pic.rows; i++)
		for (int j = 0; j < pic.line[i].nspan; j++) {
			bad += pic.line[i].span[j].mark == PAGE_BAD;
			warn += pic.line[i].span[j].mark == PAGE_WARN;
		}
	ck_assert(has("STRESS") && has("OOM KILL"));
	ck_assert_int_eq(bad, 2);
	ck_assert_int_eq(warn, 2);
}

LOOP_TEST(any_size_has_a_picture, 1, 200)
{
	static const int rows[] = { 0, 1, 2, 3, 5, 8, 10, 24, 60 };

	take_scene();
	for (size_t i = 0; i < BASE_NELEM(rows); i++) {
		compose(_i, rows[i], true);
		if (rows[i] > 3)
			ck_assert_int_le(pic.rows, rows[i]);
		for (int r = 0; r < pic.rows; r++)
			ck_assert_int_le((int)strlen(pic.line[r].text), _i);
	}
}

TEST(rows_that_do_not_fit_are_scrolled_to)
{
	struct page_stress_head h = head;

	take_scene();
	h.ascii = true;
	h.selected = PAGE_STRESS_ALL;
	ck_assert_int_eq(page_stress_compose(l, &h, 40, 9, &pic), 0);
	ck_assert(has("all tasks wait"));
	ck_assert(!has("1 default"));
}

TEST(meanings_scroll)
{
	struct page_scroll scroll = { 0 };

	take_scene();
	ck_assert_int_eq(page_stress_explain(l, &scroll, true, 80, 24, &pic), 0);
	assert_golden(&pic, "stress-explain-80");
	scroll.top = 1 << 24;
	ck_assert_int_eq(page_stress_explain(l, &scroll, true, 40, 10, &pic), 0);
	ck_assert_int_eq(pic.rows, 10);
	ck_assert(has("source: the kernel's six counts"));
}

/* --- the line of page K -------------------------------------------------------------- */

CASE("strip", .setup = begin, .teardown = end);

static const char *
strip(int cols)
{
	picture_begin(&pic, cols, true);
	picture_line(&pic);
	page_stress_strip(l, &pic);
	ck_assert_int_eq(picture_end(&pic), 0);
	return pic.line[0].text;
}

TEST(the_line_fits_the_screen)
{
	take_scene();
	ck_assert_str_eq(strip(124), "stress/s  1: 4,373  2: 516  3: 3  4: 0  5: 0"
	    "  6: 0   waited: some 0.3% all -   file");
	ck_assert_str_eq(strip(60),
	    "stress/s 4,373 516 3 0 0 0  some 0.3% all -");
	ck_assert_str_eq(strip(33), "stress/s 4,373 516 3 0 0 0");
	ck_assert_int_eq(pic.line[0].span[0].mark, PAGE_WARN);
}

TEST(what_is_not_known_is_no_zero)
{
	s.source = STRESS_VMSTAT;
	s.known[1] = s.known[2] = s.known[5] = false;
	s.pressure_known = false;
	take_scene();
	ck_assert_str_eq(strip(80),
	    "stress/s ~4,373 n/a n/a 0 0 n/a  some n/a all n/a");
}

TEST(trouble_is_in_the_line)
{
	ck_assert_str_eq(strip(60), "stress/s  counting the first second");
	page_stress_set_trouble(l, "VERSION: the node is older");
	ck_assert_str_eq(strip(60), "stress/s  VERSION: the node is older");
}

/* A sample of the line alone, so much later. */
static void
later(int by_ms, uint64_t one, bool early)
{
	ms += by_ms;
	s.level[0] += one;
	woken = early;
	ck_assert(take());
}

TEST(a_sample_within_a_second_is_in_the_line_and_no_count_twice)
{
	uint64_t trend[PAGE_STRESS_TREND];

	later(0, 0, false);
	later(1000, 100, false);
	ck_assert_str_eq(strip(33), "stress/s 100 0 0 0 0 0");
	later(250, 900, true);
	ck_assert_str_eq(strip(33), "stress/s 800 0 0 0 0 0");
	later(250, 2000, true);
	ck_assert_str_eq(strip(33), "stress/s 2,000 0 0 0 0 0");
	/* Page S takes many, of which the line shows none. */
	later(250, 5000, false);
	ck_assert_str_eq(strip(33), "stress/s 2,000 0 0 0 0 0");
	later(250, 1, false);
	ck_assert_str_eq(strip(33), "stress/s 7,901 0 0 0 0 0");
	ck_assert_uint_eq(page_stress_trend(l, 0, 1, trend), 2);
	ck_assert_uint_eq(trend[0], 100);
	ck_assert_uint_eq(trend[1], 7901);
}
