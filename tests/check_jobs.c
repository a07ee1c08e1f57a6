/*
 * Rows on their way to a file: what is there then, what is said, and how it is
 * cancelled.
 */
#include <stdio.h>

#include "app_rig.h"

#define CYCLES 30000		/* of a millisecond or more: a hang limit */

/* Cycles until no job is on its way. */
static void
finish(void)
{
	for (int i = 0; i < CYCLES && jobs_running(&rig.jobs) != NULL; i++) {
		uv_run(&peer.loop, UV_RUN_NOWAIT);
		rig_cycle();
		usleep(1000);
	}
	ck_assert_ptr_null(jobs_running(&rig.jobs));
}

static size_t
lines_of(const char *path)
{
	FILE *in = fopen(path, "r");
	size_t n = 0;
	int c;

	ck_assert_ptr_nonnull(in);
	while ((c = fgetc(in)) != EOF)
		n += c == '\n';
	fclose(in);
	return n;
}

static bool
says(const char *words)
{
	return strstr(rig_page.message, words) != NULL;
}

static const struct {
	const char *path;
	size_t lines;		/* of 200 blocks */
} forms[] = {
	{ "b.txt", 1 + RIG_BLOCKS },
	{ "b.ndjson", 1 + RIG_BLOCKS },
	{ "b.csv", 1 + RIG_BLOCKS },
};

CASE("jobs", .setup = rig_up, .teardown = rig_down, .seconds = 60);

LOOP_TEST(an_export_has_each_row_once, 0, (int)BASE_NELEM(forms))
{
	app_export(&rig, forms[_i].path);
	finish();
	ck_assert_msg(says("exported to b."), "%s", rig_page.message);
	ck_assert_msg(says("(200 blocks)"), "%s", rig_page.message);
	ck_assert_uint_eq(lines_of(forms[_i].path), forms[_i].lines);
}

TEST(a_listing_and_an_export_go_side_by_side)
{
	rig_page.opts.listing = "./l.txt";
	app_listing(&rig);
	app_export(&rig, "b.csv");
	ck_assert_str_eq(jobs_running(&rig.jobs), "a listing");
	finish();
	ck_assert_uint_eq(lines_of("b.csv"), 1 + RIG_BLOCKS);
	ck_assert_uint_gt(lines_of("l.txt"), RIG_BLOCKS);
}

TEST(a_cancelled_job_leaves_nothing)
{
	rig_page.opts.listing = "./l.txt";
	app_listing(&rig);
	app_export(&rig, "b.csv");
	ck_assert(jobs_cancel(&rig.jobs));
	ck_assert_str_eq(rig_page.message, "the listing was cancelled");
	ck_assert_str_eq(jobs_running(&rig.jobs), "an export");
	ck_assert(jobs_cancel(&rig.jobs));
	ck_assert_str_eq(rig_page.message, "the export was cancelled");
	ck_assert(!jobs_cancel(&rig.jobs));
	finish();
	ck_assert_int_lt(access("l.txt", F_OK), 0);
	ck_assert_int_lt(access("b.csv", F_OK), 0);
}

/* Its thread may still be at work. */
TEST(a_page_that_ends_waits_for_no_job)
{
	rig_page.opts.listing = "./l.txt";
	app_listing(&rig);
	app_export(&rig, "b.csv");
	jobs_fini(&rig.jobs);
	ck_assert_ptr_null(jobs_running(&rig.jobs));
}

TEST(leaving_asks_once_with_a_job_on_its_way)
{
	app_export(&rig, "b.csv");
	app_leave(&rig);
	ck_assert_msg(says("an export is on its way: quit again"), "%s",
	    rig_page.message);
	jobs_cancel(&rig.jobs);
}

static const struct {
	const char *command, *path, *why;
} refused[] = {
	{ ":", "b", "no export to b: its name has to end in .txt" },
	{ ":", "no/b.csv", "no export to no/b.csv: " },
	{ "mkdir d.csv", "d.csv", "no export to d.csv: " },
	{ "mkfifo p.csv", "p.csv", "no export to p.csv: " },
};

LOOP_TEST(a_sink_that_cannot_be_is_told_at_once, 0, (int)BASE_NELEM(refused))
{
	ck_assert_int_eq(system(refused[_i].command), 0);
	app_export(&rig, refused[_i].path);
	ck_assert_msg(says(refused[_i].why), "%s", rig_page.message);
	ck_assert_ptr_null(jobs_running(&rig.jobs));
}

TEST(a_listing_replaces_no_other_file)
{
	ck_assert_int_eq(system("echo mine >l.txt"), 0);
	rig_page.opts.listing = "./l.txt";
	app_listing(&rig);
	ck_assert_msg(says("no listing: cannot write ./l.txt: "), "%s",
	    rig_page.message);
	ck_assert_uint_eq(lines_of("l.txt"), 1);
}

TEST(an_export_replaces_any_regular_file)
{
	ck_assert_int_eq(system("echo mine >b.csv"), 0);
	app_export(&rig, "b.csv");
	finish();
	ck_assert_uint_eq(lines_of("b.csv"), 1 + RIG_BLOCKS);
}

TEST(pictures_saved_in_one_second_are_files_of_their_own)
{
	char path[3][128];

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(app_save(&rig, path[i], sizeof path[i]), 0);
	ck_assert_str_ne(path[0], path[1]);
	ck_assert_str_ne(path[1], path[2]);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_gt(lines_of(path[i]), 10);
}
