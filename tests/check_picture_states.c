/*
 * What a picture of page K says of its state: of lost links, of what is lacking
 * and why, at every size.
 */
#include "../src/pagek/layout/layout.h"
#include "golden.h"
#include "harness.h"
#include "scene.h"

/* --- states ------------------------------------------------------------- */

struct state_case {
	const char *name;
	enum nodes_state state;
	const char *word;	/* in line 1 */
	const char *reason;
	int32_t status;
	bool incomplete;
	bool forgetful;		/* the target was, and the list is true as far as it goes */
	bool unsettled;
	bool unknown;		/* how many were lost, if any */
	int64_t stale_ms, retry_ms;
	unsigned tries;
	bool no_list;
	bool not_run;
};

static const struct state_case state_cases[] = {
	{ .name = "live", .state = NODES_LIVE, .word = "LIVE" },
	{ .name = "connecting", .state = NODES_CONNECTING,
	    .word = "CONNECTING", .no_list = true },
	{ .name = "ended-signal", .state = NODES_ENDED,
	    .word = "ENDED 15:03:58 signal 11", .status = 11 },
	{ .name = "ended-exit", .state = NODES_ENDED,
	    .word = "ENDED 15:03:58 exit 3", .status = 3 << 8 },
	{ .name = "ended-unknown", .state = NODES_ENDED,
	    .word = "ENDED 15:03:58", .status = -1 },
	{ .name = "ended-lost", .state = NODES_ENDED, .word = "INCOMPLETE +412",
	    .status = 0, .incomplete = true },
	{ .name = "corrupt", .state = NODES_CORRUPT, .word = "CORRUPT" },
	{ .name = "no-data", .state = NODES_NO_DATA, .word = "NO DATA",
	    .reason = "redis-server is linked statically: nothing to preload",
	    .no_list = true },
	{ .name = "no-alloclog", .state = NODES_NO_ALLOCLOG,
	    .word = "NO ALLOCLOG", .no_list = true },
	{ .name = "unreachable", .state = NODES_UNREACHABLE,
	    .word = "UNREACHABLE 12s", .reason = "the node has closed the "
	    "link" },
	{ .name = "denied", .state = NODES_DENIED, .word = "DENIED",
	    .reason = "the node belongs to uid 1001", .no_list = true },
	{ .name = "version", .state = NODES_VERSION, .word = "VERSION",
	    .reason = "the node speaks version 2, this page 1",
	    .no_list = true },
	{ .name = "lost", .state = NODES_LIVE, .word = "INCOMPLETE +412",
	    .incomplete = true },
	{ .name = "sample-full", .state = NODES_LIVE, .word = "INCOMPLETE +7",
	    .forgetful = true },
	{ .name = "incomplete", .state = NODES_LIVE, .word = "INCOMPLETE",
	    .unknown = true },
	{ .name = "stale", .state = NODES_LIVE, .word = "STALE 12s",
	    .stale_ms = 12345 },
	{ .name = "retry", .state = NODES_UNREACHABLE,
	    .word = "UNREACHABLE 12s  retry in 3s (4)", .reason =
	    "no node listens at /run/pagek/node", .stale_ms = 12345,
	    .retry_ms = 2100, .tries = 4 },
	{ .name = "loading", .state = NODES_LIVE, .word = "LOADING",
	    .unsettled = true },
	{ .name = "not-run", .state = NODES_NO_DATA, .word = "NO DATA",
	    .no_list = true, .not_run = true },
};

static void
set_state(const struct state_case *c)
{
	struct nodes_look *look = &scene.look;

	look->state = c->state;
	look->reason = c->reason != NULL ? c->reason : "";
	look->target.status = c->status;
	look->command.not_run = c->not_run;
	look->command.trouble = c->not_run ?
	    "cannot run './x': No such file or directory" : "";
	look->settled = !c->unsettled;
	if (c->state == NODES_ENDED)
		look->target.ended_wall_ms = INT64_C(1795187038000);
	if (c->incomplete) {
		look->complete = false;
		look->loss.since_wall_ms = INT64_C(1795187060000);
		look->loss.lost[STREAM_RING_FULL] = 400;
		look->loss.lost[STREAM_WRITER_DIED] = 12;
	}
	if (c->forgetful) {
		look->complete = false;
		look->loss.since_wall_ms = INT64_C(1795187060000);
		look->loss.lost[STREAM_SAMPLE_FULL] = 7;
	}
	if (c->unknown) {
		look->complete = false;
		look->loss.since_wall_ms = INT64_C(1795187060000);
	}
	look->stale_ms = c->stale_ms;
	look->link.retry_ms = c->retry_ms;
	look->link.tries = c->tries;
	look->link.up = c->state != NODES_UNREACHABLE;
	look->link.returns = c->tries > 0;
	if (c->no_list)
		look->list = NULL;
	scene_refresh(&scene);
	page.state.known = true;
	page.state.is = c->state;
	page.state.at = (struct mono){ .ns = 1000000000 };
	scene.view.now = (struct mono){ .ns = INT64_C(13000000000) };
}

CASE("target", .setup = setup_target, .teardown = teardown);

LOOP_TEST(state_word_is_in_line_1, 0, (int)BASE_NELEM(state_cases))
{
	const struct state_case *c = &state_cases[_i];
	char file[64];

	page.medium = PAGE_SCREEN;
	set_state(c);
	compose(80, 16);
	ck_assert_msg(strstr(pic.line[0].text, c->word) != NULL,
	    "%s not in: %s", c->word, pic.line[0].text);
	snprintf(file, sizeof file, "state-%s-80", c->name);
	assert_golden(&pic, file);
	compose(33, 10);
	snprintf(file, sizeof file, "state-%s-33", c->name);
	assert_golden(&pic, file);
}

/* In each layout, unless another word matters more in a narrow one. */
TEST(list_since_the_click_is_said_to_be_one)
{
	static const struct {
		enum page_layout layout;
		int cols;
		bool incomplete;
		const char *word;
	} cases[] = {
		{ PAGE_AUTO, 124, false, "LIVE  since click" },
		{ PAGE_AUTO, 80, false, "LIVE  since click" },
		{ PAGE_CLASSIC, 80, false, "LIVE  since click" },
		{ PAGE_CLASSIC, 40, false, "SINCE CLICK" },
		{ PAGE_CLASSIC_STRICT, 33, false, "SINCE CLICK" },
		{ PAGE_AUTO, 80, true, "since click" },
		{ PAGE_CLASSIC, 40, true, "INCOMPLETE" },
	};

	page.medium = PAGE_SCREEN;
	for (size_t i = 0; i < BASE_NELEM(cases); i++) {
		set_state(&(struct state_case){ .state = NODES_LIVE,
		    .incomplete = cases[i].incomplete });
		page.layout = cases[i].layout;
		page.opts.session.since_click = true;
		compose(cases[i].cols, 16);
		ck_assert_msg(strstr(pic.line[0].text, cases[i].word) != NULL,
		    "%zu: %s", i, pic.line[0].text);
		page.opts.session.since_click = false;
		compose(cases[i].cols, 16);
		ck_assert_ptr_null(strcasestr(pic.line[0].text, "since"));
	}
}

/* Whose sampled blocks are not remembered lists no block that is freed. */
TEST(what_was_lost_means_no_more_than_its_causes)
{
	static const struct {
		uint64_t sample, before, full, other;
		const char *means;
	} cases[] = {
		{ 0, 0, 0, 0, "blocks may be missing, blocks listed may be "
		    "freed" },
		{ 0, 5, 0, 0, "blocks listed may be freed" },
		{ 0, 0, 0, 5, "blocks listed may be freed" },
		{ 4096, 0, 5, 0, "blocks are missing" },
		{ 4096, 0, 5, 5, "blocks listed may be freed" },
		{ 4096, 5, 0, 0, "blocks may be missing, blocks listed may be "
		    "freed" },
		{ 4096, 5, 5, 0, "blocks may be missing, blocks listed may be "
		    "freed" },
	};

	for (size_t i = 0; i < BASE_NELEM(cases); i++) {
		struct nodes_look look = { .sample = cases[i].sample };

		look.loss.lost[0] = cases[i].before;
		look.loss.lost[STREAM_SAMPLE_FULL] = cases[i].full;
		look.loss.lost[STREAM_RING_FULL] = cases[i].other;
		ck_assert_str_eq(page_lost_means(&look), cases[i].means);
	}
}

LOOP_TEST(state_is_told_at_every_size, 0, (int)BASE_NELEM(state_cases))
{
	const struct state_case *c = &state_cases[_i];
	struct page_state st;
	int cols;

	page.medium = PAGE_SCREEN;
	set_state(c);
	page_state_get(&page, &scene.view, &st);
	for (cols = 1; cols < 150; cols += cols < 40 ? 1 : 13) {
		compose(cols, 10);
		assert_fits(cols, 10);
		if (cols >= 11)
			ck_assert(shows(st.name) || shows(st.brief));
		compose(cols, 3);
		assert_fits(cols, 3);
	}
}

TEST(lost_link_keeps_the_picture_and_greys_it)
{
	set_state(&(struct state_case){ .state = NODES_UNREACHABLE });
	compose(80, 24);
	ck_assert(shows("7f3c04001040"));
	ck_assert(marked(10, PAGE_STALE));
}

TEST(empty_list_and_lost_link_do_not_look_alike)
{
	char empty[128];
	unsigned i;

	for (i = 0; i < 60; i++)
		scene_free(&scene, UINT64_C(0x7f3c04001040) + i * 0x10020ul);
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert(shows("EMPTY"));
	ck_assert(shows("connected, 0 blocks since"));
	snprintf(empty, sizeof empty, "%.127s", pic.line[0].text);
	set_state(&(struct state_case){ .state = NODES_UNREACHABLE });
	compose(80, 24);
	ck_assert(!shows("EMPTY"));
	ck_assert_str_ne(pic.line[0].text, empty);
}

/* Words that people tell states apart by: each has one, and no other's. */
static const struct state_case told_apart[] = {
	{ .word = "EMPTY", .state = NODES_LIVE },
	{ .word = "UNREACHABLE", .state = NODES_UNREACHABLE,
	    .stale_ms = 5000 },
	{ .word = "DENIED", .state = NODES_DENIED },
	{ .word = "ENDED", .state = NODES_ENDED },
	{ .word = "INCOMPLETE", .state = NODES_LIVE, .incomplete = true },
	{ .word = "STALE", .state = NODES_LIVE, .stale_ms = 5000 },
	{ .word = "NO ALLOCLOG", .state = NODES_NO_ALLOCLOG },
	{ .word = "NO DATA", .state = NODES_NO_DATA },
};

LOOP_TEST(states_are_told_apart_by_their_words, 0, (int)BASE_NELEM(told_apart))
{
	static const int cols[] = { 33, 80, 120 };

	if (_i == 0)
		for (unsigned i = 0; i < 60; i++)
			scene_free(&scene,
			    UINT64_C(0x7f3c04001040) + i * 0x10020ul);
	set_state(&told_apart[_i]);
	for (size_t k = 0; k < BASE_NELEM(cols); k++) {
		compose(cols[k], 16);
		for (size_t i = 0; i < BASE_NELEM(told_apart); i++)
			ck_assert_msg((strstr(pic.line[0].text,
			    told_apart[i].word) != NULL) == (i == (size_t)_i),
			    "%s: %s", told_apart[i].word, pic.line[0].text);
	}
}

TEST(old_picture_is_greyed_and_says_its_age)
{
	set_state(&(struct state_case){ .state = NODES_LIVE,
	    .stale_ms = 12999 });
	compose(80, 24);
	ck_assert(shows("picture is 12s old"));
	ck_assert(marked(10, PAGE_STALE));
	set_state(&(struct state_case){ .state = NODES_LIVE,
	    .stale_ms = 1500 });
	compose(80, 24);
	ck_assert(!shows("picture is"));
	ck_assert(!marked(10, PAGE_STALE));
}

TEST(mended_loss_says_that_the_list_is_taken_anew)
{
	scene.look.settled = false;
	scene.look.loss.lost[STREAM_OVERWRITTEN] = 2031;
	compose(80, 24);
	ck_assert(shows("INCOMPLETE +2,031"));
	ck_assert(shows("read again"));
	ck_assert(!shows("INCOMPLETE since"));
}

/* As the counter of the status line has it. */
LOOP_TEST(what_was_made_good_is_not_among_what_is_lost, 0, 2)
{
	scene.look.loss.lost[STREAM_OVERWRITTEN] = 2031;
	scene.look.loss.mended = 2031;
	scene.look.settled = _i == 0;
	compose(240, 24);
	ck_assert(!shows("INCOMPLETE"));
	scene.look.loss.lost[STREAM_RING_FULL] = 412;
	scene.look.complete = false;
	compose(240, 24);
	ck_assert(shows("INCOMPLETE +412"));
	ck_assert(shows("2,031 overwritten, of which 2,031 recovered"));
}

/* Of a device before this page came, too. */
LOOP_TEST(of_damage_it_is_said_that_there_may_be_more, 0, 2)
{
	static uint64_t keeper[WIRE_STATS_COUNT];

	keeper[WIRE_N_SKIPPED] = _i == 0 ? 0 : 7702;
	scene.look.keeper = keeper;
	scene.look.complete = false;
	scene.look.loss.lost[0] = 174;
	compose(120, 24);
	ck_assert(shows(_i == 0 ? "INCOMPLETE +174" :
	    "INCOMPLETE >=174"));
	ck_assert(shows(_i == 0 ? "lost: 174 before" : "lost: >= 174 before"));
}

static const struct {
	uint64_t lost, full;
	bool unsure;
	const char *told, *lack;
} lacks[] = {
	{ 0, 951424, false, "list full: 951,424 blocks not listed.  INCOMPLETE "
	    "since 15:04:20: blocks are missing",
	    "the list was full, 951,424 blocks are not in it" },
	{ 0, 1, false, "list full: 1 block not listed.",
	    "the list was full, 1 block is not in it" },
	{ 12, 0, false, "lost: 12 ring full.  INCOMPLETE since 15:04:20: "
	    "blocks listed may be freed",
	    "12 records were lost: blocks listed may be freed" },
	{ 12, 7, false, "lost: 12 ring full.  list full: 7 blocks not listed.  "
	    "INCOMPLETE since 15:04:20: blocks may be missing, blocks listed "
	    "may be freed",
	    "12 records were lost, and the list was full, 7 blocks are not in "
	    "it: blocks may be missing, blocks listed may be freed" },
	{ 0, 7, true, "blocks may be missing, blocks listed may be freed",
	    "the list was full, 7 blocks are not in it: blocks may be missing, "
	    "blocks listed may be freed" },
	{ 0, 0, true, "INCOMPLETE since 15:04:20: blocks may be missing, "
	    "blocks listed may be freed",
	    "blocks may be missing, blocks listed may be freed" },
};

LOOP_TEST(what_is_lacking_is_told_with_its_cause, 0, BASE_NELEM(lacks))
{
	char text[PAGE_LOST_TEXT], lack[PAGE_LACK_TEXT];

	page.opts.utc = true;
	scene.look.complete = false;
	scene.look.loss.since_wall_ms = INT64_C(1795187060000);
	scene.look.loss.lost[STREAM_RING_FULL] = lacks[_i].lost;
	scene.look.loss.full = lacks[_i].full;
	scene.look.loss.unsure = lacks[_i].unsure;
	page_lost_text(&page, &scene.look, text);
	ck_assert_msg(strstr(text, lacks[_i].told) != NULL, "%s", text);
	page_lack_text(&scene.look, lack);
	ck_assert_str_eq(lack, lacks[_i].lack);
	compose(124, 24);
	ck_assert(shows(lacks[_i].lost > 0 ? "INCOMPLETE +" : "INCOMPLETE"));
	ck_assert(shows(lacks[_i].full > 1 ? " full " : " full"));
}

static const struct {
	struct nodes_target target;
	const char *remarks;
} remarks[] = {
	{ { .reason = "" }, "" },
	{ { .reason = "why" }, "why" },
	{ { .reason = "why", .status = SIGSYS | 0x80 }, "why; SIGSYS: its "
	    "seccomp filter forbids a system call, perhaps one of pagek's: see "
	    "seccomp in alloclog(3)" },
	{ { .status = SIGSEGV }, "" },
	{ { .status = -1 }, "" },
	{ { .n = { [WIRE_N_LOST] = 12 } }, "INCOMPLETE: 12 lost" },
	{ { .n = { [WIRE_N_FULL] = 1 } },
	    "INCOMPLETE: list full: 1 block not listed" },
	{ { .n = { [WIRE_N_LOST] = 12, [WIRE_N_FULL] = 2000 },
	    .reason = "why" },
	    "INCOMPLETE: 12 lost, list full: 2,000 blocks not listed; why" },
	{ { .n = { [WIRE_N_UNSURE] = STREAM_DOUBT_BEGUN } },
	    "INCOMPLETE: it may have begun with wrong blocks" },
	{ { .n = { [WIRE_N_UNSURE] = STREAM_DOUBT_FORK,
	    [WIRE_N_UNFINISHED] = 3 } },
	    "INCOMPLETE: other threads were inside the allocator at its fork, "
	    "3 not finished" },
	{ { .n = { [WIRE_N_LOST] = 12, [WIRE_N_UNSURE] = UINT64_MAX } },
	    "INCOMPLETE: 12 lost, for a reason that this version does not "
	    "know" },
};

TEST(a_doubtful_list_tells_why_in_every_text)
{
	char text[PAGE_LOST_TEXT], lack[PAGE_LACK_TEXT];

	page.opts.utc = true;
	scene.look.complete = false;
	scene.look.loss.since_wall_ms = INT64_C(1795187060000);
	scene.look.loss.unsure = true;
	scene.look.loss.doubt = STREAM_DOUBT_PARENT;
	page_lost_text(&page, &scene.look, text);
	ck_assert_str_eq(text, "INCOMPLETE since 15:04:20: its parent's list "
	    "was incomplete at the fork: blocks may be missing, blocks listed "
	    "may be freed");
	page_lack_text(&scene.look, lack);
	ck_assert_str_eq(lack, "its parent's list was incomplete at the fork: "
	    "blocks may be missing, blocks listed may be freed");
}

LOOP_TEST(a_target_tells_what_its_list_lacks, 0, BASE_NELEM(remarks))
{
	char text[PAGE_REMARKS_TEXT];

	page_target_remarks(&remarks[_i].target, text);
	ck_assert_str_eq(text, remarks[_i].remarks);
	ck_assert_int_eq(page_target_is_complete(&remarks[_i].target),
	    strstr(text, "INCOMPLETE") == NULL);
}

TEST(what_was_made_good_is_not_lost)
{
	scene.look.loss.lost[STREAM_OVERWRITTEN] = 2031;
	compose(124, 24);
	ck_assert(shows("lost 2,031"));
	scene.look.loss.mended = 2000;
	compose(124, 24);
	ck_assert(shows("lost 31"));
}

TEST(list_that_is_not_in_yet_is_not_empty)
{
	unsigned i;

	for (i = 0; i < 60; i++)
		scene_free(&scene, UINT64_C(0x7f3c04001040) + i * 0x10020ul);
	scene.look.settled = false;
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert(shows("- blocks"));
	ck_assert(shows("act - "));
	ck_assert(!shows("EMPTY"));
	compose(33, 24);
	ck_assert(shows("NODE<0590> *L<0509>    - OFFS=  0"));
}
