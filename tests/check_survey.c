/*
 * How all nodes are: what is made of signs and answers, and nodes that answer,
 * hang, go and come back, on sockets of this process.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "../src/base/base.h"
#include "../src/nodes/survey/place.h"
#include "peer.h"

static struct survey_count count;
static struct nodes_surveyed row;
static struct mono now;

static void
count_begin(void)
{
	memset(&count, 0, sizeof count);
	memset(&row, 0, sizeof row);
	now = mono_now();
}

static void
count_end(void)
{
	survey_count_fini(&count);
}

/* --- signs ----------------------------------------------------------------- */

static const struct {
	struct survey_signs s;
	enum nodes_how was, is;
} signs[] = {
	/* Without a link all stays as it was. */
	{ { .waiting_ms = -1, .trip_ms = -1 }, NODES_HOW_WAITING,
	    NODES_HOW_WAITING },
	{ { .waiting_ms = -1, .trip_ms = -1 }, NODES_HOW_NO_NODE,
	    NODES_HOW_NO_NODE },
	{ { .waiting_ms = -1, .trip_ms = 3 }, NODES_HOW_UP, NODES_HOW_UP },
	/* At the door. */
	{ { .linked = true, .waiting_ms = 0, .trip_ms = -1 },
	    NODES_HOW_WAITING, NODES_HOW_ASKED },
	{ { .linked = true, .waiting_ms = 499, .trip_ms = -1 },
	    NODES_HOW_ASKED, NODES_HOW_ASKED },
	{ { .linked = true, .waiting_ms = 500, .trip_ms = -1 },
	    NODES_HOW_ASKED, NODES_HOW_SLOW },
	{ { .linked = true, .waiting_ms = 4999, .trip_ms = -1 },
	    NODES_HOW_SLOW, NODES_HOW_SLOW },
	{ { .linked = true, .waiting_ms = 5000, .trip_ms = -1 },
	    NODES_HOW_SLOW, NODES_HOW_UNREACHABLE },
	/* A login takes its time. */
	{ { .far = true, .linked = true, .waiting_ms = 4999, .trip_ms = -1 },
	    NODES_HOW_WAITING, NODES_HOW_ASKED },
	{ { .far = true, .linked = true, .waiting_ms = 5000, .trip_ms = -1 },
	    NODES_HOW_ASKED, NODES_HOW_SLOW },
	{ { .far = true, .linked = true, .waiting_ms = 9500, .trip_ms = -1 },
	    NODES_HOW_SLOW, NODES_HOW_UNREACHABLE },
	/* Who was down is so until it speaks, who was up until it is late. */
	{ { .linked = true, .waiting_ms = 0, .trip_ms = -1 },
	    NODES_HOW_NO_NODE, NODES_HOW_NO_NODE },
	{ { .linked = true, .waiting_ms = 900, .trip_ms = -1 },
	    NODES_HOW_UNREACHABLE, NODES_HOW_UNREACHABLE },
	{ { .linked = true, .waiting_ms = 0, .trip_ms = -1 },
	    NODES_HOW_UP, NODES_HOW_UP },
	{ { .linked = true, .waiting_ms = 500, .trip_ms = -1 },
	    NODES_HOW_UP, NODES_HOW_SLOW },
	/* It has spoken. */
	{ { .linked = true, .welcomed = true, .waiting_ms = -1,
	    .trip_ms = -1 }, NODES_HOW_UNREACHABLE, NODES_HOW_UP },
	{ { .linked = true, .welcomed = true, .waiting_ms = 499,
	    .trip_ms = 499 }, NODES_HOW_UP, NODES_HOW_UP },
	{ { .linked = true, .welcomed = true, .waiting_ms = 500,
	    .trip_ms = 1 }, NODES_HOW_UP, NODES_HOW_SLOW },
	{ { .linked = true, .welcomed = true, .waiting_ms = -1,
	    .trip_ms = 900 }, NODES_HOW_UP, NODES_HOW_SLOW },
	{ { .linked = true, .welcomed = true, .waiting_ms = 5000,
	    .trip_ms = 1 }, NODES_HOW_SLOW, NODES_HOW_UNREACHABLE },
	{ { .linked = true, .welcomed = true, .refused = true,
	    .waiting_ms = -1, .trip_ms = 1 }, NODES_HOW_UP,
	    NODES_HOW_DENIED },
};

CASE("signs and sums", .setup = count_begin, .teardown = count_end);

LOOP_TEST(how_a_node_is_follows_from_its_signs, 0, BASE_NELEM(signs))
{
	ck_assert_int_eq(survey_how(&signs[_i].s, signs[_i].was),
	    signs[_i].is);
}

/* --- what targets come to ---------------------------------------------------- */

static struct nodes_target
target(uint32_t index, pid_t pid, uint32_t state, uint64_t bytes,
    uint64_t records)
{
	struct nodes_target t = { .index = index, .pid = pid, .state = state,
	    .ended = state == WIRE_S_ENDED, .status = -1 };

	snprintf(t.name, sizeof t.name, "ALLOCLOG.t.%d", (int)pid);
	strcpy(t.comm, "t");
	t.n[WIRE_N_EST_BYTES] = t.n[WIRE_N_LIVE_BYTES] = bytes;
	t.n[WIRE_N_EST_BLOCKS] = bytes / 16;
	t.n[WIRE_N_RECORDS] = records;
	return t;
}

static void
tell(const struct nodes_target *t, size_t n)
{
	now.ns += INT64_C(2000000000);
	survey_count(&count, &row, t, n, now);
}

TEST(live_targets_are_summed_and_ended_ones_are_counted)
{
	struct nodes_target t[] = {
		target(0, 10, WIRE_S_ENDED, 4096, 7),
		target(1, 11, WIRE_S_LIVE, 160, 7),
		target(2, 12, WIRE_S_LIVE, 320, 7),
		target(3, 13, WIRE_S_NO_DATA, 0, 0),
	};

	t[0].n[WIRE_N_LOST] = 3;
	t[2].n[WIRE_N_SAMPLE] = 512;
	tell(t, BASE_NELEM(t));
	ck_assert(row.counted);
	ck_assert(!row.rated);
	ck_assert_uint_eq(row.targets, 4);
	ck_assert_uint_eq(row.live, 2);
	ck_assert_uint_eq(row.bytes, 480);
	ck_assert_uint_eq(row.blocks, 30);
	ck_assert_uint_eq(row.lost, 3);
	ck_assert(row.sampled);
	/* What lives first, the larger one before the other. */
	ck_assert_uint_eq(row.ntarget, 4);
	ck_assert_int_eq(row.target[0].pid, 12);
	ck_assert_int_eq(row.target[1].pid, 11);
	ck_assert_int_eq(row.target[3].pid, 10);
}

TEST(a_rate_is_of_the_records_since_the_last_round)
{
	struct nodes_target t[] = {
		target(0, 10, WIRE_S_LIVE, 16, 1000),
		target(1, 11, WIRE_S_LIVE, 32, 50),
	};

	tell(t, 2);
	t[0].n[WIRE_N_RECORDS] = 3000;
	tell(t, 2);
	ck_assert(row.rated);
	ck_assert_uint_eq(row.rate, 1000);
	ck_assert_uint_eq(row.target[1].rate, 1000);
	ck_assert_uint_eq(row.target[0].rate, 0);
}

TEST(what_began_since_counts_whole_and_what_went_not_at_all)
{
	struct nodes_target before[] = {
		target(0, 10, WIRE_S_LIVE, 16, 1000),
		target(1, 11, WIRE_S_LIVE, 16, 5000),
		target(2, 12, WIRE_S_LIVE, 16, 800),
	}, after[] = {
		target(0, 10, WIRE_S_LIVE, 16, 1000),
		/* Another process at the index of one that has gone. */
		target(1, 99, WIRE_S_LIVE, 16, 6000),
		/* Begun anew: fewer than before. */
		target(2, 12, WIRE_S_LIVE, 16, 40),
	};

	tell(before, 3);
	tell(after, 3);
	ck_assert_uint_eq(row.rate, 3020);
	survey_count_restart(&count);
	tell(after, 3);
	ck_assert(!row.rated);
}

TEST(the_nodes_own_blocks_count_where_there_is_no_process)
{
	struct nodes_target t[] = {
		target(0, 0, WIRE_S_LIVE, 1600, 10),
		target(1, 11, WIRE_S_ENDED, 32, 50),
	};

	strcpy(t[0].name, "ALLOCLOG");
	tell(t, 2);
	ck_assert_uint_eq(row.targets, 1);
	ck_assert_uint_eq(row.live, 0);
	ck_assert_uint_eq(row.bytes, 0);
	/* It is listed all the same, after them. */
	ck_assert_uint_eq(row.ntarget, 2);
	ck_assert_int_eq(row.target[0].pid, 11);
	ck_assert_str_eq(row.target[1].name, "ALLOCLOG");
	ck_assert_uint_eq(row.target[1].bytes, 1600);
	tell(t, 1);
	ck_assert_uint_eq(row.targets, 0);
	ck_assert_uint_eq(row.bytes, 1600);
	ck_assert_uint_eq(row.ntarget, 1);
	ck_assert_str_eq(row.target[0].name, "ALLOCLOG");
}

TEST(what_has_gone_on_by_exec_is_not_told)
{
	struct nodes_target t[] = {
		target(0, 10, WIRE_S_EXECED, 64, 1000),
		target(1, 10, WIRE_S_LIVE, 16, 50),
	};

	t[0].ended = true;
	tell(t, 2);
	ck_assert_uint_eq(row.targets, 1);
	ck_assert_uint_eq(row.ntarget, 1);
	ck_assert_uint_eq(row.target[0].index, 1);
}

TEST(of_many_targets_the_largest_are_kept_and_all_are_summed)
{
	enum { MANY = SURVEY_RATED_MAX + 1 };
	struct nodes_target *t = calloc(MANY, sizeof *t);
	uint32_t i;

	ck_assert_ptr_nonnull(t);
	for (i = 0; i < MANY; i++)
		t[i] = target(i, 100 + (pid_t)i, WIRE_S_LIVE, 16 * i, i);
	tell(t, SURVEY_RATED_MAX);
	ck_assert_uint_eq(row.ntarget, NODES_SURVEY_TARGETS);
	for (i = 0; i < NODES_SURVEY_TARGETS; i++)
		ck_assert_uint_eq(row.target[i].index,
		    SURVEY_RATED_MAX - 1 - i);
	ck_assert_uint_eq(row.targets, SURVEY_RATED_MAX);
	tell(t, SURVEY_RATED_MAX);
	ck_assert(row.rated);
	/* No more than so many are remembered, and no rate is made up. */
	tell(t, MANY);
	ck_assert(!row.rated);
	tell(t, SURVEY_RATED_MAX);
	ck_assert(!row.rated);
	free(t);
}

/* Streams count, and not only those that are shown. */
TEST(where_there_never_is_a_rate_none_is_waited_for)
{
	enum { MANY = SURVEY_RATED_MAX + 1 };
	struct nodes_target *t = calloc(MANY, sizeof *t);
	struct survey_place p = { .row.how = NODES_HOW_UP };

	ck_assert_ptr_nonnull(t);
	for (uint32_t i = 0; i < MANY; i++)
		t[i] = target(i, 100, i > 0 ? WIRE_S_EXECED : WIRE_S_LIVE, 16,
		    i);
	survey_count(&p.count, &p.row, t, 1, mono_now());
	ck_assert(!survey_place_settled(&p));
	survey_count(&p.count, &p.row, t, MANY, mono_now());
	ck_assert(!p.row.rated);
	ck_assert_uint_eq(p.row.targets, 1);
	ck_assert(survey_place_settled(&p));
	survey_count_fini(&p.count);
	free(t);
}

/* --- nodes of this process ----------------------------------------------------- */

#define PLACES 4

static char folder[64], table_path[128];
static uv_loop_t loop;
static struct nodes_survey *survey;

/* A socket that somebody listens at, and the page that came, if it was let in. */
static struct place {
	char path[96];
	int listening;			/* -1: nobody */
	struct peer peer;		/* .fd -1: no page */
	struct model model;
	bool mute;			/* lets pages in, and says nothing any more */
	unsigned answered;
} place[PLACES];

static void
listen_at(struct place *p)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	p->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	ck_assert_int_ge(p->listening, 0);
	strcpy(sun.sun_path, p->path);
	unlink(p->path);
	ck_assert_int_eq(bind(p->listening, (const struct sockaddr *)&sun,
	    sizeof sun), 0);
	ck_assert_int_eq(listen(p->listening, 8), 0);
}

static void
hang_up(struct place *p)
{
	peer_hang_up(&p->peer);
	if (p->listening >= 0) {
		close(p->listening);
		unlink(p->path);
	}
	p->listening = -1;
}

static void
forget_questions(struct place *p)
{
	while (p->peer.n > 0)
		(void)peer_take(&p->peer, 0);
}

static void
serve(struct place *p)
{
	int fd = p->mute || p->listening < 0 ? -1 :
	    accept4(p->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		/* One at a time is all that a survey has of a node. */
		peer_hang_up(&p->peer);
		forget_questions(p);
		wire_frames_fini(&p->peer.in);
		ck_assert_int_eq(wire_frames_init(&p->peer.in,
		    WIRE_REQUEST_MAX), 0);
		p->peer.fd = fd;
	}
	if (p->peer.fd >= 0)
		peer_listen(&p->peer);
	while (!p->mute && p->peer.n > 0) {
		uint32_t type = p->peer.asked[0].type;

		ck_assert(type == WIRE_HELLO || type == WIRE_NAME ||
		    type == WIRE_STAT);
		peer_answer(&p->peer, 0);
		p->answered++;
	}
}

/* The table, of which each place has a line; others behind them. */
static void
write_table(unsigned places, const char *others)
{
	char next[160];
	FILE *f;

	/* A file that was written at once, as people's editors do. */
	snprintf(next, sizeof next, "%s.new", table_path);
	f = fopen(next, "w");
	ck_assert_ptr_nonnull(f);
	for (unsigned i = 0; i < places; i++)
		fprintf(f, "00%02X place-%u unix:%s\n", 0x10 + i, i,
		    place[i].path);
	fputs(others, f);
	fclose(f);
	ck_assert_int_eq(rename(next, table_path), 0);
}

static void
world_begin(void)
{
	char config[80];

	strcpy(folder, "/tmp/pagek-check.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(config, sizeof config, "%s/pagek", folder);
	ck_assert_int_eq(mkdir(config, 0700), 0);
	snprintf(table_path, sizeof table_path, "%s/nodes", config);
	/* What is written to a page that has just gone. */
	signal(SIGPIPE, SIG_IGN);
	setenv("XDG_CONFIG_HOME", folder, 1);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	for (unsigned i = 0; i < PLACES; i++) {
		struct place *p = &place[i];

		memset(p, 0, sizeof *p);
		snprintf(p->path, sizeof p->path, "%s/place%u", folder, i);
		p->listening = p->peer.fd = -1;
		p->peer.root_status = -1;
		p->peer.answer_max = WIRE_SYMS_MAX;
		ck_assert_int_eq(wire_frames_init(&p->peer.in,
		    WIRE_REQUEST_MAX), 0);
		/* The room that peer_send() lets run while a socket is full. */
		ck_assert_int_eq(uv_loop_init(&p->peer.loop), 0);
		model_init(&p->model, "ALLOCLOG.model.4711", 4711);
		p->peer.model[p->peer.models++] = &p->model;
		p->model.live_bytes = 1000 * (i + 1);
	}
}

static void
world_end(void)
{
	char command[128];

	nodes_survey_close(survey);
	survey = NULL;
	for (unsigned i = 0; i < PLACES; i++) {
		hang_up(&place[i]);
		wire_frames_fini(&place[i].peer.in);
		forget_questions(&place[i]);
		model_fini(&place[i].model);
		uv_loop_close(&place[i].peer.loop);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void
survey_begin(void)
{
	struct nodes_survey_opts opts = { .user = true, .every_ms = 50 };

	ck_assert_int_eq(nodes_survey_open(&survey, &loop, &opts), 0);
}

static void
turn(void)
{
	uv_run(&loop, UV_RUN_ONCE);
	for (unsigned i = 0; i < PLACES; i++)
		serve(&place[i]);
}

/* The case's timeout ends what never comes. */
#define UNTIL(what) \
	while (!(what)) \
		turn()

static const struct nodes_surveyed *
the(const char *word)
{
	size_t n, i;
	const struct nodes_surveyed *const *r = nodes_survey_look(survey, &n);

	for (i = 0; i < n; i++)
		if (strcmp(r[i]->word, word) == 0)
			return r[i];
	return NULL;
}

static bool
is(const char *word, enum nodes_how how)
{
	return the(word) != NULL && the(word)->how == how;
}

CASE("nodes", .setup = world_begin, .teardown = world_end, .seconds = 60);

TEST(a_node_that_answers_is_up_and_told_in_numbers)
{
	const struct nodes_surveyed *r;

	listen_at(&place[0]);
	write_table(1, "");
	survey_begin();
	UNTIL(is("0010", NODES_HOW_UP) && the("0010")->rated);
	r = the("0010");
	ck_assert_str_eq(r->name, "place-0");
	ck_assert_uint_eq(r->number, 0x10);
	ck_assert_uint_eq(r->targets, 1);
	ck_assert_str_eq(r->target[0].comm, "model");
	ck_assert_int_eq(r->target[0].pid, 4711);
	ck_assert_int_ge(r->trip_us, 0);
	ck_assert_int_ge(r->seen_ms, 0);
	ck_assert_str_eq(r->reason, "");
}

/* serve() sees that nothing but HELLO, NAME and STAT ever comes. */
TEST(it_is_asked_again_and_again_and_for_nothing_else)
{
	unsigned before;

	listen_at(&place[0]);
	write_table(1, "");
	survey_begin();
	UNTIL(is("0010", NODES_HOW_UP) && the("0010")->rated);
	before = place[0].answered;
	UNTIL(place[0].answered > before + 20);
	ck_assert_uint_eq(place[0].peer.snaps, 0);
	ck_assert_uint_eq(place[0].peer.windows, 0);
	ck_assert_uint_eq(place[0].peer.whole + place[0].peer.not_whole, 0);
}

TEST(where_nobody_listens_is_no_node_and_it_comes_by_itself)
{
	write_table(1, "");
	survey_begin();
	UNTIL(is("0010", NODES_HOW_NO_NODE));
	ck_assert_ptr_nonnull(strstr(the("0010")->reason,
	    "no node listens at "));
	ck_assert(!the("0010")->counted);
	listen_at(&place[0]);
	UNTIL(is("0010", NODES_HOW_UP));
	UNTIL(the("0010")->counted);
	ck_assert_str_eq(the("0010")->reason, "");
}

TEST(a_node_that_goes_is_seen_to_go_and_to_come_back)
{
	listen_at(&place[0]);
	write_table(1, "");
	survey_begin();
	UNTIL(is("0010", NODES_HOW_UP) && the("0010")->counted);
	hang_up(&place[0]);
	UNTIL(is("0010", NODES_HOW_NO_NODE) ||
	    is("0010", NODES_HOW_UNREACHABLE));
	ck_assert(!the("0010")->counted);
	ck_assert_str_ne(the("0010")->reason, "");
	listen_at(&place[0]);
	UNTIL(is("0010", NODES_HOW_UP) && the("0010")->rated);
}

TEST(one_that_hangs_costs_the_others_nothing)
{
	unsigned before;

	/* 0 never lets anybody in, 1 falls silent, 2 and 3 are well. */
	for (unsigned i = 0; i < PLACES; i++)
		listen_at(&place[i]);
	place[0].mute = true;
	write_table(PLACES, "");
	survey_begin();
	UNTIL(is("0010", NODES_HOW_SLOW) && is("0011", NODES_HOW_UP));
	ck_assert(is("0012", NODES_HOW_UP));
	ck_assert(is("0013", NODES_HOW_UP));
	ck_assert_int_ge(the("0010")->how_ms, SURVEY_SLOW_MS);
	place[1].mute = true;
	UNTIL(is("0011", NODES_HOW_SLOW));
	before = place[2].answered;
	UNTIL(is("0010", NODES_HOW_UNREACHABLE) &&
	    is("0011", NODES_HOW_UNREACHABLE));
	ck_assert_str_eq(the("0010")->reason, "it does not answer");
	ck_assert_int_ge(the("0011")->how_ms, SURVEY_SILENT_MS);
	ck_assert_uint_gt(place[2].answered, before + 10);
	ck_assert(is("0012", NODES_HOW_UP));
	ck_assert(is("0013", NODES_HOW_UP));
	/* Both speak again. */
	place[0].mute = place[1].mute = false;
	UNTIL(is("0010", NODES_HOW_UP) && is("0011", NODES_HOW_UP));
	ck_assert_str_eq(the("0011")->reason, "");
}

TEST(the_table_is_read_anew_when_it_changes)
{
	size_t n;

	listen_at(&place[0]);
	listen_at(&place[1]);
	write_table(1, "");
	survey_begin();
	UNTIL(is("0010", NODES_HOW_UP) && the("0010")->rated);
	nodes_survey_look(survey, &n);
	/* The own one beside it: the table has no local node. */
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(nodes_survey_look(survey, &n)[0]->word, "local");
	write_table(2, "0001 here local\n");
	UNTIL(is("0011", NODES_HOW_UP));
	/* What has not changed was not asked anew. */
	ck_assert(the("0010")->rated);
	ck_assert_ptr_null(the("local"));
	ck_assert_ptr_nonnull(the("0001"));
	write_table(0, "0011 place-9 unix:/nowhere/to/be/found\n");
	UNTIL(the("0010") == NULL);
	ck_assert_str_eq(the("0011")->name, "place-9");
	UNTIL(is("0011", NODES_HOW_NO_NODE));
}

/* Of the same length, in place, and its time set back. */
TEST(the_table_is_read_anew_though_its_time_has_not_changed)
{
	struct timespec times[2];
	struct stat st;
	FILE *f;

	write_table(0, "0010 one unix:/nowhere/to/be/found\n");
	ck_assert_int_eq(stat(table_path, &st), 0);
	survey_begin();
	UNTIL(is("0010", NODES_HOW_NO_NODE));
	ck_assert_ptr_nonnull(f = fopen(table_path, "r+"));
	fputs("0010 two", f);
	ck_assert_int_eq(fclose(f), 0);
	times[0] = times[1] = st.st_mtim;
	ck_assert_int_eq(utimensat(AT_FDCWD, table_path, times, 0), 0);
	UNTIL(strcmp(the("0010")->name, "two") == 0);
}

TEST(all_have_told_when_none_is_awaited)
{
	listen_at(&place[0]);
	write_table(2, "");
	survey_begin();
	ck_assert(!nodes_survey_settled(survey));
	UNTIL(nodes_survey_settled(survey));
	ck_assert(the("0010")->rated);
	ck_assert(is("0011", NODES_HOW_NO_NODE));
	ck_assert(is("local", NODES_HOW_NO_NODE));
	ck_assert_str_eq(the("local")->reason, "no node of this user runs here");
}

TEST(a_retry_gives_a_silent_node_up_for_another_try)
{
	listen_at(&place[0]);
	place[0].mute = true;
	write_table(1, "");
	survey_begin();
	UNTIL(is("0010", NODES_HOW_UNREACHABLE));
	place[0].mute = false;
	nodes_survey_retry(survey, "0010");
	UNTIL(is("0010", NODES_HOW_UP));
}

/* All hang: those at the door give way when nothing is expected of them. */
TEST(of_more_nodes_than_links_each_has_its_turn)
{
	enum { NODES = SURVEY_NEAR_OPEN + 8 };
	char lines[NODES * 96] = "", word[8];
	size_t len = 0;
	unsigned i, asked;

	listen_at(&place[0]);
	ck_assert_int_eq(listen(place[0].listening, 2 * NODES), 0);
	place[0].mute = true;
	for (i = 0; i < NODES; i++)
		base_append(lines, sizeof lines, &len, "1%03X n%u unix:%s\n",
		    i, i, place[0].path);
	write_table(0, lines);
	survey_begin();
	turn();
	snprintf(word, sizeof word, "1%03X", NODES - 1);
	ck_assert(is(word, NODES_HOW_WAITING));
	do {
		turn();
		for (i = asked = 0; i < NODES; i++) {
			snprintf(word, sizeof word, "1%03X", i);
			asked += !is(word, NODES_HOW_WAITING);
		}
	} while (asked < NODES);
}
