/*
 * The judge of 'pagek check': what it finds of a list that is seen, and what
 * that says of each limit.
 */
#include "../src/pagek/commands/check/check.h"
#include "harness.h"
#include "scene.h"

static struct options options;
static struct judge judge;
static uint64_t keeper[WIRE_STATS_COUNT], node[WIRE_STATS_COUNT];

/* The scene's look as a session has it: one list, whole and alive. */
static void
setup_judge(void)
{
	setup();
	scene_target(&scene, 0);
	memset(keeper, 0, sizeof keeper);
	memset(node, 0, sizeof node);
	scene.look.keeper = keeper;
	scene.look.node.numbers = node;
	scene.look.listed = true;
	scene.look.complete = true;
	options = (struct options){ .check.tolerance = 0.1 };
}

static void
teardown_judge(void)
{
	judge_fini(&judge);
	options_fini(&options);
	teardown();
}

static void
begin(enum budget_kind kind, double most, uint64_t ms)
{
	options.check.budget[options.check.budgets++] = (struct budget){
		.kind = kind, .most = most, .ms = ms, .text = "" };
	ck_assert_int_eq(judge_init(&judge, &options), 0);
	judge.look = &scene.look;
}

/* A command, not a target that ran before: all that it held counts. */
static void
begin_command(enum budget_kind kind, double most)
{
	static char word[] = "true";
	static char *const argv[] = { word, NULL };

	options.argv = argv;
	begin(kind, most, 0);
}

static const struct finding *
end(void)
{
	ck_assert_int_eq(judge_last(&judge, NULL), 0);
	judge_end(&judge);
	return &judge.finding[0];
}

static void
alloc(unsigned no, uint64_t size, int64_t age_ms)
{
	scene_alloc(&scene, 0x10000 + no * 0x1000u, size, TYPE_MALLOC, 1,
	    0x401000, scene.look.now_ms - age_ms);
}

/* --- at the edge ------------------------------------------------------------ */

static const struct {
	double most, was;
	enum check_verdict verdict;
} edges[] = {
	{ 1000, 999, CHECK_WITHIN },
	{ 1000, 1000, CHECK_WITHIN },
	{ 1000, 1001, CHECK_EXCEEDED },
	{ 0, 0, CHECK_WITHIN },
	{ 0, 1, CHECK_EXCEEDED },
	{ 9007199254740991, 9007199254740991, CHECK_WITHIN },
};

CASE("judge", .setup = setup_judge, .teardown = teardown_judge);

LOOP_TEST(as_much_as_is_allowed_is_within, 0, BASE_NELEM(edges))
{
	begin_command(BUDGET_LIVE, edges[_i].most);
	keeper[WIRE_N_PEAK_BYTES] = (uint64_t)edges[_i].was;
	judge_news(&judge);
	ck_assert_int_eq(end()->verdict, edges[_i].verdict);
	ck_assert_int_eq(judge.verdict, edges[_i].verdict);
	ck_assert(judge.finding[0].worst == edges[_i].was);
	ck_assert((judge.finding[0].over_ms >= 0) ==
	    (edges[_i].verdict == CHECK_EXCEEDED));
}

LOOP_TEST(blocks_are_counted, 0, 2)
{
	begin(BUDGET_BLOCKS, 2, 0);
	for (unsigned i = 0; i < 2 + (unsigned)_i; i++)
		alloc(i, 100, 0);
	judge_news(&judge);
	ck_assert_int_eq(end()->verdict, _i == 0 ? CHECK_WITHIN :
	    CHECK_EXCEEDED);
	ck_assert(judge.finding[0].worst == 2 + _i);
}

TEST(older_is_what_is_over_the_age)
{
	begin(BUDGET_AGE, 0, 5000);
	alloc(0, 100, 5001);
	alloc(1, 100, 70000);
	alloc(2, 100, 5000);
	alloc(3, 100, 4999);
	alloc(4, 100, 0);
	judge_news(&judge);
	ck_assert(end()->worst == 2);
	ck_assert_int_eq(judge.verdict, CHECK_EXCEEDED);
}

TEST(the_worst_stays_though_it_is_over)
{
	begin(BUDGET_BLOCKS, 1, 0);
	alloc(0, 100, 0);
	alloc(1, 100, 0);
	judge_news(&judge);
	scene_free(&scene, 0x10000);
	scene_free(&scene, 0x11000);
	judge_news(&judge);
	ck_assert(end()->worst == 2);
	ck_assert_int_eq(judge.verdict, CHECK_EXCEEDED);
}

/* --- what counts ------------------------------------------------------------ */

TEST(a_peak_from_before_the_check_does_not_count)
{
	begin(BUDGET_LIVE, 1000, 0);
	keeper[WIRE_N_PEAK_BYTES] = 5000;
	alloc(0, 300, 0);
	judge_news(&judge);
	ck_assert(judge.finding[0].worst == 300);
	keeper[WIRE_N_PEAK_BYTES] = 5001;
	judge_news(&judge);
	ck_assert(end()->worst == 5001);
	ck_assert_int_eq(judge.verdict, CHECK_EXCEEDED);
}

TEST(what_is_held_now_counts_beside_the_peak)
{
	begin_command(BUDGET_LIVE, 1000);
	keeper[WIRE_N_PEAK_BYTES] = 10;
	alloc(0, 1001, 0);
	judge_news(&judge);
	ck_assert(end()->worst == 1001);
	ck_assert_int_eq(judge.verdict, CHECK_EXCEEDED);
}

TEST(every_process_is_held_against_the_limit)
{
	struct nodes_target t[] = {
		{ .pid = 4711, .n = { [WIRE_N_PEAK_BYTES] = 20 } },
		{ .pid = 4712, .comm = "child", .state = WIRE_S_ENDED,
		    .n = { [WIRE_N_PEAK_BYTES] = 2000 } },
	};

	begin_command(BUDGET_LIVE, 1000);
	judge_news(&judge);
	judge_processes(&judge, t, BASE_NELEM(t));
	judge_end(&judge);
	ck_assert_int_eq(judge.verdict, CHECK_EXCEEDED);
	ck_assert_int_eq(judge.finding[0].pid, 4712);
	ck_assert_str_eq(judge.finding[0].comm, "child");
	ck_assert_uint_eq(judge.processes, 2);
}

static const struct {
	uint64_t images, peak, lost, missed, full;
	enum check_verdict verdict;
} gone[] = {
	{ 0, 5000, 0, 0, 0, CHECK_WITHIN },
	{ 3, 1000, 0, 0, 0, CHECK_WITHIN },
	{ 3, 1001, 0, 0, 0, CHECK_EXCEEDED },
	{ 3, 10, 1, 0, 0, CHECK_NOT_KNOWN },
	{ 3, 10, 0, 1, 0, CHECK_NOT_KNOWN },
	{ 3, 10, 0, 0, 1, CHECK_NOT_KNOWN },
	{ 3, 1001, 0, 0, 1, CHECK_EXCEEDED },
};

LOOP_TEST(processes_without_a_row_count_too, 0, BASE_NELEM(gone))
{
	begin_command(BUDGET_LIVE, 1000);
	judge_news(&judge);
	end();
	node[WIRE_N_GONE] = gone[_i].images;
	node[WIRE_N_GONE_PEAK] = gone[_i].peak;
	node[WIRE_N_GONE_LOST] = gone[_i].lost;
	node[WIRE_N_GONE_MISSED] = gone[_i].missed;
	node[WIRE_N_GONE_FULL] = gone[_i].full;
	judge_processes(&judge, NULL, 0);
	judge_end(&judge);
	ck_assert_int_eq(judge.verdict, gone[_i].verdict);
	ck_assert_uint_eq(judge.processes, gone[_i].images);
}

TEST(a_process_that_was_not_watched_says_why)
{
	struct nodes_target t[] = {
		{ .pid = 4711, .n = { [WIRE_N_PEAK_BYTES] = 20 } },
		{ .pid = 4712, .state = WIRE_S_NO_DATA,
		    .reason = "it had no free descriptor" },
		{ .pid = 4713, .state = WIRE_S_NO_DATA, .reason = "late" },
	};

	begin_command(BUDGET_LIVE, 1000);
	judge_news(&judge);
	end();
	judge_processes(&judge, t, 2);
	judge_end(&judge);
	ck_assert_str_eq(judge.finding[0].why, "1 of 2 process images could "
	    "not be watched: it had no free descriptor");
	judge.finding[0].why[0] = '\0';
	judge_processes(&judge, t + 2, 1);
	judge_end(&judge);
	ck_assert_str_eq(judge.finding[0].why, "2 of 3 process images could "
	    "not be watched; the first: it had no free descriptor");
}

static const struct {
	const char *gone, *row, *why;
} whys[] = {
	{ "it had no free descriptor", NULL, "1 of 3 process images could not "
	    "be watched: it had no free descriptor" },
	{ "it had no free descriptor", "late", "2 of 4 process images could "
	    "not be watched; the first: it had no free descriptor" },
	{ "", "late", "2 of 4 process images could not be watched; the first: "
	    "late" },
	{ "", NULL, "1 of 3 process images could not be watched" },
};

/* The node of an older release says no reason. */
LOOP_TEST(a_process_without_a_row_says_why_too, 0, BASE_NELEM(whys))
{
	struct nodes_target t = { .pid = 4711, .state = WIRE_S_NO_DATA };

	begin_command(BUDGET_LIVE, 1000);
	judge_news(&judge);
	end();
	node[WIRE_N_GONE] = 3;
	node[WIRE_N_GONE_MISSED] = 1;
	scene.look.node.missed = whys[_i].gone;
	if (whys[_i].row != NULL)
		snprintf(t.reason, sizeof t.reason, "%s", whys[_i].row);
	judge_processes(&judge, &t, whys[_i].row != NULL);
	judge_end(&judge);
	ck_assert_str_eq(judge.finding[0].why, whys[_i].why);
}

/* --- what is not known -------------------------------------------------------- */

TEST(nothing_seen_is_nothing_known)
{
	begin_command(BUDGET_LIVE, 1000);
	scene.look.listed = false;
	judge_news(&judge);
	ck_assert_int_eq(end()->verdict, CHECK_NOT_KNOWN);
	ck_assert_str_eq(judge.finding[0].why, "nothing was watched");
}

static const struct {
	uint64_t most, other, gone;
	enum check_verdict verdict;
} held_together[] = {
	{ 0, 0, 0, CHECK_WITHIN },
	{ 1000, 1000, 1000, CHECK_WITHIN },
	{ 1001, 0, 0, CHECK_NOT_KNOWN },
	{ 0, 1001, 0, CHECK_NOT_KNOWN },
	{ 0, 0, 1001, CHECK_NOT_KNOWN },
};

LOOP_TEST(what_threads_may_have_held_together_is_never_within, 0,
    (int)BASE_NELEM(held_together))
{
	struct nodes_target other = { .pid = 4712,
		.n = { [WIRE_N_PEAK_MOST] = held_together[_i].other } };

	begin_command(BUDGET_LIVE, 1000);
	keeper[WIRE_N_PEAK_BYTES] = 900;
	keeper[WIRE_N_PEAK_MOST] = held_together[_i].most;
	node[WIRE_N_GONE] = 1;
	node[WIRE_N_GONE_PEAK_MOST] = held_together[_i].gone;
	judge_news(&judge);
	end();
	judge_processes(&judge, &other, 1);
	judge_end(&judge);
	ck_assert_int_eq(judge.verdict, held_together[_i].verdict);
	ck_assert((strstr(judge.finding[0].why, "threads together") !=
	    NULL) == (held_together[_i].verdict == CHECK_NOT_KNOWN));
}

/* Of a target that ran before, what it may have held by then is another matter. */
LOOP_TEST(what_they_may_have_held_before_is_not_judged, 0, 2)
{
	begin(BUDGET_LIVE, 1000, 0);
	keeper[WIRE_N_PEAK_BYTES] = keeper[WIRE_N_PEAK_MOST] = 5000;
	judge_news(&judge);
	judge_news(&judge);
	keeper[WIRE_N_PEAK_MOST] += (uint64_t)_i;
	ck_assert_int_eq(end()->verdict, _i == 0 ? CHECK_WITHIN :
	    CHECK_NOT_KNOWN);
}

TEST(a_loss_is_never_within)
{
	begin_command(BUDGET_LIVE, 1000);
	judge_news(&judge);
	scene.look.complete = false;
	scene.look.loss.lost[1] = 7;
	ck_assert_int_eq(end()->verdict, CHECK_NOT_KNOWN);
	ck_assert_str_eq(judge.finding[0].why, "7 records were lost");
}

/* What was held is more than was listed, whatever is judged. */
LOOP_TEST(a_list_that_was_full_is_never_within, 0, 2)
{
	begin_command(_i == 0 ? BUDGET_LIVE : BUDGET_BLOCKS, 1000);
	judge_news(&judge);
	scene.look.complete = false;
	scene.look.loss.full = 7;
	ck_assert_int_eq(end()->verdict, CHECK_NOT_KNOWN);
	ck_assert_str_eq(judge.finding[0].why, "the list was full, 7 blocks "
	    "are not in it: give --max=N");
}

static const struct nodes_target lacking[] = {
	{ .pid = 4712, .n = { [WIRE_N_LOST] = 1 } },
	{ .pid = 4712, .n = { [WIRE_N_FULL] = 1 } },
	{ .pid = 4712, .n = { [WIRE_N_UNSURE] = 1 } },
};

LOOP_TEST(nor_is_another_process_of_which_something_lacks, 0,
    BASE_NELEM(lacking))
{
	begin_command(BUDGET_LIVE, 1000);
	judge_news(&judge);
	ck_assert_int_eq(judge_last(&judge, NULL), 0);
	judge_processes(&judge, &lacking[_i], 1);
	judge_end(&judge);
	ck_assert_int_eq(judge.verdict, CHECK_NOT_KNOWN);
	ck_assert_int_ne(judge.finding[0].why[0], '\0');
	ck_assert(!judge.complete);
}

TEST(but_too_much_is_too_much)
{
	begin_command(BUDGET_LIVE, 1000);
	keeper[WIRE_N_PEAK_BYTES] = 1001;
	judge_news(&judge);
	scene.look.complete = false;
	ck_assert_int_eq(end()->verdict, CHECK_EXCEEDED);
}

TEST(a_list_that_is_not_whole_at_the_end_is_not_within)
{
	begin(BUDGET_AGE, 10, 1000);
	judge_news(&judge);
	scene.look.window = true;
	ck_assert_int_eq(end()->verdict, CHECK_NOT_KNOWN);
	ck_assert_str_eq(judge.finding[0].why, CHECK_BLIND);
}

LOOP_TEST(totals_are_judged_without_a_list, 0, 2)
{
	alloc(0, 700, 0);
	alloc(1, 300, 0);
	keeper[WIRE_N_PEAK_BYTES] = 1000;
	scene.look.window = true;
	begin_command(_i == 0 ? BUDGET_LIVE : BUDGET_BLOCKS,
	    _i == 0 ? 1000 : 2);
	judge_news(&judge);
	ck_assert_uint_eq(judge.looks, 1);
	ck_assert_int_eq(end()->verdict, CHECK_WITHIN);
	ck_assert(judge.finding[0].worst == (_i == 0 ? 1000 : 2));
}

/* Of two limits one is enough, or the baseline. */
LOOP_TEST(where_blocks_are_asked_for_nothing_is_judged_without_a_list, 0, 3)
{
	struct budget *b = &options.check.budget[0];
	struct filter_error e;

	scene.look.window = true;
	options.check.budgets = _i > 0;
	if (_i == 0)
		options.check.baseline = "a file";
	else
		b->kind = _i == 1 ? BUDGET_AGE : BUDGET_BLOCKS;
	if (_i == 2)
		ck_assert_int_eq(filter_new(&b->filter, "size>0", &e), 0);
	begin_command(BUDGET_LIVE, 1000);
	judge_news(&judge);
	ck_assert_uint_eq(judge.looks, 0);
}

/* --- growth ------------------------------------------------------------------- */

/* A look each 100 ms of a minute, each with what the function says. */
static void
see(double (*bytes)(int64_t ms), size_t n)
{
	judge_news(&judge);
	for (size_t i = 0; i < n; i++) {
		judge.growth.sample[i].ms = (int64_t)i * 100;
		judge.growth.sample[i].bytes = bytes((int64_t)i * 100);
	}
	judge.growth.n = n;
	/* What is looked at last is no sample. */
	scene.look.state = NODES_ENDED;
}

static double
flat(int64_t ms)
{
	(void)ms;
	return 7e6;
}

static double
steady(int64_t ms)
{
	return 5e6 + (double)ms;		/* 60,000 bytes a minute */
}

static double
shrinking(int64_t ms)
{
	return 5e6 - (double)ms;
}

static double
only_at_first(int64_t ms)
{
	return ms < 20000 ? (double)ms * 1000 : 2e7;
}

static double
peaks(int64_t ms)
{
	return ms % 1000 == 0 ? 1e9 : 5e6 + (double)ms;
}

static double
freed_at_the_end(int64_t ms)
{
	return ms > 59000 ? 0 : 5e6 + (double)ms;
}

static double
at_last(int64_t ms)
{
	return ms >= 40000 ? 1e6 : 0;
}

static const struct {
	double (*bytes)(int64_t ms);
	double least, most;
} growths[] = {
	{ flat, 0, 0 },
	{ steady, 59900, 60100 },
	{ shrinking, -60100, -59900 },
	{ only_at_first, 0, 0 },
	/* A median of many looks is not moved by the few that differ much. */
	{ peaks, 57000, 63000 },
	{ freed_at_the_end, 56000, 64000 },
	/* A million in the 20 seconds between two thirds. */
	{ at_last, 2990000, 3010000 },
};

LOOP_TEST(growth_is_that_of_the_last_two_thirds, 0, BASE_NELEM(growths))
{
	begin_command(BUDGET_GROWTH, 1e12);
	see(growths[_i].bytes, 600);
	end();
	ck_assert_msg(judge.finding[0].worst >= growths[_i].least &&
	    judge.finding[0].worst <= growths[_i].most, "%f",
	    judge.finding[0].worst);
	ck_assert_int_eq(judge.verdict, CHECK_WITHIN);
}

LOOP_TEST(growth_over_the_limit_is_exceeded, 0, 2)
{
	begin_command(BUDGET_GROWTH, _i == 0 ? 59000 : 61000);
	see(steady, 600);
	ck_assert_int_eq(end()->verdict, _i == 0 ? CHECK_EXCEEDED :
	    CHECK_WITHIN);
}

TEST(growth_of_a_moment_is_not_known)
{
	begin_command(BUDGET_GROWTH, 1e12);
	see(steady, 29);
	ck_assert_int_eq(end()->verdict, CHECK_NOT_KNOWN);
}

/* News that came at once, as of a list that was late. */
TEST(growth_of_no_time_is_not_known)
{
	begin_command(BUDGET_GROWTH, 1000);
	see(steady, 600);
	for (size_t i = 0; i < 600; i++)
		judge.growth.sample[i].ms = (int64_t)i / 10;
	ck_assert_int_eq(end()->verdict, CHECK_NOT_KNOWN);
}

TEST(another_stream_has_a_growth_of_its_own)
{
	begin_command(BUDGET_GROWTH, 1e12);
	see(steady, 600);
	scene.look.state = NODES_LIVE;
	scene.look.stream_no++;
	judge_news(&judge);
	ck_assert_uint_eq(judge.growth.n, 1);
	ck_assert_int_eq(end()->verdict, CHECK_NOT_KNOWN);
}

/* Looks are many at first, and few later: what is set up is no growth. */
TEST(thirds_are_of_the_time_and_not_of_the_looks)
{
	begin_command(BUDGET_GROWTH, 1e12);
	see(flat, 600);
	for (size_t i = 0; i < 600; i++) {
		judge.growth.sample[i].ms = i < 500 ? (int64_t)i * 40 :
		    20000 + (int64_t)(i - 500) * 400;
		judge.growth.sample[i].bytes = only_at_first(judge.growth.sample[i].ms);
	}
	ck_assert(end()->worst == 0);
}

/* As many as the table has, and then so many more, one each cycle. */
static void
fill_samples(size_t more)
{
	judge_news(&judge);
	for (size_t i = 0; i < CHECK_SAMPLES; i++)
		judge.growth.sample[i].ms = (int64_t)i * 67;
	judge.growth.n = CHECK_SAMPLES;
	for (size_t i = 0; i < more; i++) {
		judge.growth.last_ms -= 67;
		judge_news(&judge);
	}
}

static const struct {
	size_t more, samples;
} thinned[] = {
	{ 0, CHECK_SAMPLES },
	{ 1, CHECK_SAMPLES / 2 + 1 },
	{ 2, CHECK_SAMPLES / 2 + 1 },
	{ 3, CHECK_SAMPLES / 2 + 2 },
};

LOOP_TEST(a_long_check_keeps_every_second_sample, 0, BASE_NELEM(thinned))
{
	begin_command(BUDGET_GROWTH, 1e12);
	fill_samples(thinned[_i].more);
	ck_assert_uint_eq(judge.growth.n, thinned[_i].samples);
	if (_i > 0)
		ck_assert_int_eq(judge.growth.sample[3].ms, 6 * 67);
}

TEST(news_of_one_cycle_are_one_sample)
{
	begin_command(BUDGET_GROWTH, 1e12);
	judge_news(&judge);
	/* As if it had been now, however slow the machine is. */
	judge.growth.last_ms = INT64_MAX / 2;
	judge_news(&judge);
	ck_assert_uint_eq(judge.growth.n, 1);
	ck_assert_uint_eq(judge.looks, 2);
}
