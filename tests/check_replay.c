/*
 * The time line of a capture: at each moment the keeper's list and totals are those
 * of a replay from the start, whatever way leads there.
 */
#include "../src/capture/format.h"
#include "../src/nodes/keeper/counting.h"
#include "../src/nodes/replay/replay.h"
#include "capture_rig.h"
#include "node_harness.h"

#define EVENTS 60000
#define TIMES 200

static struct rec *all;
static int64_t last_ms;
static char why[WIRE_TEXT_MAX + 1];
static bool damaged;
static uint64_t ring;		/* bytes; 0: one file */
static size_t checkpoint_bytes;	/* 0: the default: there is only one */

static struct keeper *
keeper(void)
{
	return TAILQ_FIRST(&node.live);
}

/* --- captures ----------------------------------------------------------------- */

static int
ring_fd(void)
{
	int fd;

	ck_assert_int_eq(unlink(rig_path), 0);
	ck_assert_int_eq(mkdir(rig_path, 0700), 0);
	fd = open(rig_path, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static struct capture_writer *
begin_capture(uint32_t *part)
{
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = ring != 0 ? ring_fd() : rig_fd(), .ring = ring,
	    .checkpoint_events = 5000, .checkpoint_bytes = checkpoint_bytes,
	    .segment_bytes = ring != 0 ? ring : 100000 });

	*part = rig_part(w, "program");
	return w;
}

static void
write_capture(void)
{
	uint32_t part;
	struct capture_writer *w = begin_capture(&part);

	for (size_t at = 0; at < EVENTS; at += 5000) {
		if (at == 30000)
			capture_writer_mark(w, part, at + 1, RIG_MS, "half");
		rig_put(w, part, all + at, 5000, at + 1, last_ms);
	}
	rig_finish(w);
}

/* --- the time line ------------------------------------------------------------ */

static void
replay_up(const char *at)
{
	node_up(&(struct node_opts){ .fd = -1, .replay.path = rig_path,
	    .replay.part = 1, .replay.at = at, .replay.follows = true });
	ck_assert_int_eq(replay_start(&node), 0);
}

static int
ask(enum wire_replay_action action, int64_t by, const char *word)
{
	struct wire_replay m = { .action = action, .by = by,
		.at = wire_text(word) };

	return replay_ask(&node, &m, why, sizeof why);
}

static uint64_t
number(enum wire_number which)
{
	uint64_t n[WIRE_STATS_COUNT] = { 0 };

	replay_stat(keeper(), n);
	return n[which];
}

static void
arrive(void)
{
	while (number(WIRE_N_REPLAY) == WIRE_REPLAY_GOING)
		keeper_pass(keeper(), mono_ms(mono_now()));
}

static void
go(const char *word)
{
	ck_assert_msg(ask(WIRE_REPLAY_AT, 0, word) == 0, "%s: %s", word, why);
	arrive();
}

static void
step(int64_t by)
{
	ck_assert_int_eq(ask(WIRE_REPLAY_STEP, by, ""), 0);
	arrive();
}

/* --- the oracle ----------------------------------------------------------------- */

static void
same_rows(const struct blk *want, size_t n)
{
	struct blk *got = malloc((n + 1) * sizeof *got);

	ck_assert_ptr_nonnull(got);
	ck_assert_uint_eq(blklist_window(keeper()->list, BLKLIST_BY_AGE, false,
	    0, got, n + 1), n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(got[i].seq, want[i].seq);
		ck_assert_uint_eq(got[i].addr, want[i].addr);
		ck_assert_uint_eq(got[i].size, want[i].size);
		ck_assert_int_eq(got[i].ms, want[i].ms);
		ck_assert_uint_eq(got[i].type, want[i].type);
		ck_assert_uint_eq(got[i].flags, want[i].flags);
		ck_assert_uint_eq(got[i].thread, want[i].thread);
	}
	free(got);
}

/* The keeper has what the capture has before the event that is next. */
static void
same_as_capture(void)
{
	static struct capture_event events[1000];
	struct capture *c = rig_open(rig_path);
	const struct blklist_counts *got = keeper_counts(keeper());
	const struct capture_totals *t;
	const struct blk *row;
	struct capture_list *l;
	uint64_t seq;
	int64_t ms;
	size_t n;
	bool known;

	/* All damage is found by that. */
	for (n = damaged ? 1 : 0; n > 0;)
		ck_assert_int_eq(capture_next(c, events, NELEM(events), &n), 0);
	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    CAPTURE_AT_SEQ, .seq = number(WIRE_N_REPLAY_EVENT) }, &l), 0);
	known = capture_list_at(l, &seq, &ms);
	/* Where events are missing, lists depend on the way that led there. */
	if (damaged && !keeper_complete(keeper())) {
		capture_list_free(l);
		capture_close(c);
		return;
	}
	t = capture_list_totals(l);
	ck_assert_uint_eq(seq, number(WIRE_N_REPLAY_EVENT));
	ck_assert_uint_eq(seq, keeper_next(keeper()));
	ck_assert_uint_eq(got->allocs, t->allocs);
	/* The block of a free that is undone may be among what damage has taken. */
	if (damaged && got->frees != t->frees) {
		ck_assert_uint_eq(got->frees, t->frees + 1);
		capture_list_free(l);
		capture_close(c);
		return;
	}
	ck_assert_uint_eq(got->frees, t->frees);
	ck_assert_uint_eq(got->failed, t->failed);
	ck_assert_uint_eq(got->unknown_free, t->unknown_free);
	ck_assert_uint_eq(got->duplicate, t->duplicate);
	ck_assert_uint_eq(got->aRecActive, t->blocks);
	ck_assert_uint_eq(got->live_bytes, t->bytes);
	ck_assert_uint_eq(got->peak_bytes, t->peak_bytes);
	ck_assert_uint_eq(keeper_complete(keeper()), known);
	row = capture_list_rows(l, &n);
	same_rows(row, n);
	capture_list_free(l);
	capture_close(c);
}

/* --- */

static void
setup(void)
{
	rig_begin();
	last_ms = 0;
	all = rig_events(EVENTS, &last_ms);
	write_capture();
}

static void
teardown(void)
{
	node_down();
	free(all);
	rig_end();
}

CASE("time line", .setup = setup, .teardown = teardown, .seconds = 120);

LOOP_TEST(any_way_to_a_moment_ends_in_the_same_list, 0, 2)
{
	char word[32];

	checkpoint_bytes = _i != 0 ? 4096 : 0;
	write_capture();
	replay_up("begin");
	for (int i = 0; i < check_rounds(TIMES); i++) {
		if (any(3) == 0) {
			step((int64_t)any(20000) - 10000);
		} else {
			snprintf(word, sizeof word, "+%ums",
			    any((unsigned)(last_ms - RIG_MS)));
			go(word);
			ck_assert_int_eq(keeper_now_ms(keeper()), (int64_t)
			    number(WIRE_N_REPLAY_BEGIN) + atoi(word + 1));
		}
		same_as_capture();
	}
}

TEST(steps_of_one_event_lead_back_and_forth)
{
	uint64_t seq;

	replay_up("half");
	seq = number(WIRE_N_REPLAY_EVENT);
	ck_assert_uint_eq(seq, 30001);
	for (int i = 1; i <= 40; i++) {
		step(-1);
		ck_assert_uint_eq(number(WIRE_N_REPLAY_EVENT), seq - i);
		same_as_capture();
	}
	for (int i = 39; i >= 0; i--) {
		step(1);
		ck_assert_uint_eq(number(WIRE_N_REPLAY_EVENT), seq - i);
		same_as_capture();
	}
}

TEST(the_peak_is_where_most_was_held)
{
	uint64_t most;

	replay_up(NULL);
	same_as_capture();
	most = keeper_counts(keeper())->peak_bytes;
	go("peak");
	ck_assert_uint_eq(keeper_counts(keeper())->live_bytes, most);
	same_as_capture();
	step(-1);
	ck_assert_uint_lt(keeper_counts(keeper())->live_bytes, most);
}

TEST(a_moment_outside_is_the_nearest_and_is_said)
{
	replay_up("half");
	go("9h");
	ck_assert_ptr_nonnull(strstr(why, "after the end"));
	ck_assert_uint_eq(number(WIRE_N_REPLAY_EVENT), EVENTS + 1);
	go("2001-01-01");
	ck_assert_ptr_nonnull(strstr(why, "before the beginning"));
	ck_assert_int_eq(keeper_now_ms(keeper()),
	    (int64_t)number(WIRE_N_REPLAY_BEGIN));
	ck_assert_int_eq(ask(WIRE_REPLAY_MOVE, INT64_MIN, ""), 0);
	ck_assert_ptr_nonnull(strstr(why, "begins here"));
	ck_assert_int_eq(ask(WIRE_REPLAY_MOVE, INT64_MAX, ""), 0);
	ck_assert_ptr_nonnull(strstr(why, "ends here"));
	arrive();
	step(INT64_MAX);
	ck_assert_ptr_nonnull(strstr(why, "no later event"));
	step(INT64_MIN);
	same_as_capture();
	step(-1);
	ck_assert_ptr_nonnull(strstr(why, "no earlier event"));
	ck_assert_uint_eq(number(WIRE_N_REPLAY_EVENT), 1);
}

TEST(what_is_no_moment_changes_nothing)
{
	static const char *const words[] = { "", "lunch", "25:00", "+", "peak ",
		"\xff\xfe", "+99999999999999999999s" };
	uint64_t seq;

	replay_up("half");
	seq = number(WIRE_N_REPLAY_EVENT);
	for (size_t i = 0; i < NELEM(words); i++) {
		ck_assert_int_eq(ask(WIRE_REPLAY_AT, 0, words[i]), -EINVAL);
		ck_assert_ptr_nonnull(strstr(why, "no mark of the capture"));
		ck_assert_uint_eq(number(WIRE_N_REPLAY_EVENT), seq);
	}
	ck_assert_int_eq(ask(WIRE_REPLAY_SPEED, 0, ""), -EINVAL);
	ck_assert_int_eq(ask(WIRE_REPLAY_SPEED, INT64_MAX, ""), -EINVAL);
	ck_assert_uint_eq(number(WIRE_N_REPLAY_SPEED), REPLAY_SPEED_ONE);
	same_as_capture();
}

TEST(it_plays_to_the_end_and_stands_there)
{
	int64_t mono, before = 0;

	replay_up("begin");
	ck_assert_int_eq(ask(WIRE_REPLAY_PLAY, 0, ""), 0);
	mono = mono_ms(mono_now());
	for (int i = 0; number(WIRE_N_REPLAY) == WIRE_REPLAY_PLAYING; i++) {
		mono += 67;
		keeper_pass(keeper(), mono);
		ck_assert_int_ge(keeper_now_ms(keeper()), before);
		before = keeper_now_ms(keeper());
		if (i % 50 == 0)
			same_as_capture();
	}
	ck_assert_uint_eq(number(WIRE_N_REPLAY_EVENT), EVENTS + 1);
	ck_assert_int_eq(before, (int64_t)number(WIRE_N_REPLAY_END));
	same_as_capture();
	ck_assert_int_eq(ask(WIRE_REPLAY_TOGGLE, 0, ""), 0);
	ck_assert_ptr_nonnull(strstr(why, "ends here"));
}

TEST(a_pause_on_the_way_stays_where_it_is)
{
	replay_up("begin");
	ck_assert_int_eq(ask(WIRE_REPLAY_AT, 0, "end"), 0);
	ck_assert_int_eq(ask(WIRE_REPLAY_PAUSE, 0, ""), 0);
	ck_assert_uint_eq(number(WIRE_N_REPLAY), WIRE_REPLAY_PAUSED);
	ck_assert_uint_eq(number(WIRE_N_REPLAY_GOAL), 0);
	same_as_capture();
}

/* Of a ring, the newest file grows; the folder has none that is new. */
LOOP_TEST(a_capture_that_grows_is_followed, 0, 2)
{
	uint32_t part;
	struct capture_writer *w;
	struct capture_progress look;
	int64_t mono;

	ring = _i != 0 ? 64 << 20 : 0;
	w = begin_capture(&part);
	rig_put(w, part, all, 20000, 1, last_ms);
	/* The writer must get the lock that a look takes, too. */
	do {
		usleep(1000);
		capture_writer_look(w, &look);
	} while (look.events < 10000);
	replay_up(NULL);
	ck_assert_int_eq(ask(WIRE_REPLAY_PLAY, 0, ""), 0);
	ck_assert_uint_eq(number(WIRE_N_REPLAY), WIRE_REPLAY_PLAYING);
	rig_put(w, part, all + 20000, EVENTS - 20000, 20001, last_ms);
	rig_finish(w);
	for (mono = mono_ms(mono_now());
	    number(WIRE_N_REPLAY) == WIRE_REPLAY_PLAYING; mono += 500)
		keeper_pass(keeper(), mono);
	ck_assert_uint_eq(number(WIRE_N_REPLAY_EVENT), EVENTS + 1);
	same_as_capture();
}

/* The file with `n` bytes at `at` turned over; 0: cut off there. */
static void
damage(double at, size_t n)
{
	int fd = open(rig_path, O_RDWR);
	off_t size = lseek(fd, 0, SEEK_END), where = (off_t)(at * (double)size);
	uint8_t byte;

	ck_assert_int_ge(fd, 0);
	if (n == 0)
		ck_assert_int_eq(ftruncate(fd, where), 0);
	for (size_t i = 0; i < n; i++, where++) {
		ck_assert_int_eq(pread(fd, &byte, 1, where), 1);
		byte ^= 0xff;
		ck_assert_int_eq(pwrite(fd, &byte, 1, where), 1);
	}
	close(fd);
}

static const struct {
	double at;
	size_t bytes;
} damages[] = {
	{ 0.5, 0 }, { 0.97, 0 }, { 0.999, 0 }, { 0.3, 1 }, { 0.5, 200 },
	{ 0.7, 1 }, { 0.9, 40 },
};

LOOP_TEST(around_damage_the_list_is_what_is_known, 0, 2 * NELEM(damages))
{
	size_t i = (size_t)_i / 2;
	char word[32];

	checkpoint_bytes = _i % 2 != 0 ? 4096 : 0;
	write_capture();
	damage(damages[i].at, damages[i].bytes);
	damaged = true;
	replay_up("begin");
	go("end");
	for (int k = 0; k < check_rounds(TIMES / 4); k++) {
		snprintf(word, sizeof word, "+%ums",
		    any((unsigned)(last_ms - RIG_MS)));
		go(word);
		same_as_capture();
	}
	go("end");
	same_as_capture();
	ck_assert_ptr_nonnull(strstr(keeper()->life.reason, "damaged"));
}

/* Each block of the part's description says that this is its first event. */
static void
begin_part_at(uint64_t first)
{
	uint8_t head[FORMAT_BLOCK_HEAD];
	struct block_head b;
	int fd = open(rig_path, O_RDWR);
	ssize_t n;

	ck_assert_int_ge(fd, 0);
	for (off_t at = 0; (n = pread(fd, head, sizeof head, at)) > 0;) {
		if (capture_magic(head, (size_t)n)) {
			at += FORMAT_SEGMENT_HEAD;
			continue;
		}
		ck_assert(format_get_block(head, &b));
		if (b.kind == FORMAT_PART) {
			b.first = first;
			format_put_block(head, &b);
			ck_assert_int_eq(pwrite(fd, head, sizeof head, at),
			    sizeof head);
		}
		at += FORMAT_BLOCK_HEAD + b.len;
	}
	close(fd);
}

/* Neither ends the node. */
TEST(a_part_that_begins_with_no_event_is_damage)
{
	struct capture *c;

	begin_part_at(0);
	c = rig_open(rig_path);
	ck_assert_uint_gt(capture_damages(c), 0);
	ck_assert_ptr_nonnull(strstr(capture_damage(c, 0), "begin at 1"));
	capture_close(c);
	node_up(&(struct node_opts){ .fd = -1, .replay.path = rig_path,
	    .replay.part = 1 });
	ck_assert_int_eq(replay_start(&node), -ENOENT);
}

TEST(a_part_that_begins_behind_its_events_has_none)
{
	begin_part_at(UINT64_MAX);
	replay_up("begin");
	step(1);
	step(-1);
	go("end");
	ck_assert_uint_eq(keeper_counts(keeper())->aRecActive, 0);
}

/* The descriptor of the capture that is open becomes another one. */
static void
put_in_place(const char *path, int flags)
{
	char link[64], is[sizeof rig_path];
	ssize_t n;
	int fd = open(path, flags);

	ck_assert_int_ge(fd, 0);
	for (int i = 3; i < fd; i++) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", i);
		n = readlink(link, is, sizeof is);
		if ((n == (ssize_t)strlen(rig_path) &&
		    memcmp(is, rig_path, (size_t)n) == 0) || (n == 9 &&
		    memcmp(is, "/dev/null", 9) == 0 &&
		    (fcntl(i, F_GETFL) & O_ACCMODE) == O_WRONLY))
			ck_assert_int_eq(dup2(fd, i), i);
	}
	close(fd);
}

TEST(what_cannot_be_read_is_said_until_it_can)
{
	static const char *const words[] = { "end", "peak" };

	for (size_t i = 0; i < NELEM(words); i++) {
		replay_up("begin");
		put_in_place("/dev/null", O_WRONLY);
		(void)ask(WIRE_REPLAY_AT, 0, words[i]);
		arrive();
		for (int k = 0; k < 3; k++) {
			keeper_pass(keeper(), mono_ms(mono_now()));
			ck_assert_ptr_nonnull(strstr(keeper()->life.reason,
			    "cannot be read"));
		}
		ck_assert_int_eq(ask(WIRE_REPLAY_AT, 0, "lunch"), -EINVAL);
		ck_assert_ptr_nonnull(strstr(keeper()->life.reason,
		    "cannot be read"));
		put_in_place(rig_path, O_RDONLY);
		go(words[i]);
		ck_assert_ptr_null(strstr(keeper()->life.reason,
		    "cannot be read"));
		same_as_capture();
		node_down();
	}
	replay_up("begin");
}

TEST(a_page_asks_for_it)
{
	struct wire_msg m = { .type = WIRE_REPLAY, .replay = {
		.action = WIRE_REPLAY_STEP, .by = -1 } }, reply, named;
	struct page p;

	replay_up("half");
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	page_name(&p, "DSTRM", "ALLOCLOG", &named);
	ck_assert_uint_eq(named.type, WIRE_NAMED);
	page_ask(&p, &m, &reply);
	ck_assert_uint_eq(reply.type, WIRE_REPLAYED);
	ck_assert_uint_eq(number(WIRE_N_REPLAY_EVENT), 30000);
	/* The list has begun again. */
	page_name(&p, "DSTRM", "ALLOCLOG", &reply);
	ck_assert_mem_ne(reply.named.epoch, named.named.epoch, WIRE_EPOCH);
	m.replay = (struct wire_replay){ .action = WIRE_REPLAY_AT,
		.at = wire_text("lunch") };
	page_ask(&p, &m, &reply);
	expect_error(&reply, WIRE_E_NAME);
	page_close(&p);
}

TEST(nothing_runs_that_could_be_ended)
{
	struct wire_msg m = { .type = WIRE_END }, reply, named;
	struct page p;

	replay_up("half");
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	page_name(&p, "DSTRM", "ALLOCLOG", &named);
	m.end.index = named.named.index;
	memcpy(m.end.epoch, named.named.epoch, WIRE_EPOCH);
	page_ask(&p, &m, &reply);
	expect_error(&reply, WIRE_E_NAME);
	ck_assert(keeper_is_live(keeper()));
	go("end");
	same_as_capture();
	page_close(&p);
}

static unsigned restarts;

static void
count_restart(struct keeper_tap *tap, struct keeper *k)
{
	(void)tap;
	(void)k;
	restarts++;
}

static void
let_pass(struct keeper_tap *tap, struct keeper *k,
    const struct blklist_batch *b)
{
	(void)tap;
	(void)k;
	(void)b;
}

/* So no further try would be a better one. */
TEST(a_list_that_is_too_small_is_set_once)
{
	static const struct keeper_tap_ops ops = { .records = let_pass,
		.restarted = count_restart };
	struct keeper_tap tap = { .ops = &ops };

	node_up(&(struct node_opts){ .fd = -1, .replay.path = rig_path,
	    .replay.part = 1, .replay.at = "half", .max = 16 });
	ck_assert_int_eq(replay_start(&node), 0);
	ck_assert_uint_gt(keeper_counts(keeper())->full, 0);
	SLIST_INSERT_HEAD(&keeper()->queue.taps, &tap, link);
	step(-1);
	SLIST_REMOVE(&keeper()->queue.taps, &tap, keeper_tap, link);
	ck_assert_uint_eq(restarts, 1);
	ck_assert_uint_gt(keeper_counts(keeper())->full, 0);
	ck_assert_uint_eq(number(WIRE_N_REPLAY_EVENT), 30000);
}

/* Back and forth, also over a loss that the capture tells of. */
TEST(counts_have_what_was_lost_since_their_beginning)
{
	static const char *const words[] = { "begin", "end", "+1ms", "peak" };
	const struct counting_copy *copy;
	uint32_t part;
	struct capture_writer *w = begin_capture(&part);

	rig_put(w, part, all, 10000, 1, last_ms);
	capture_writer_lost(w, part, 10001, STREAM_OTHER, 7);
	rig_put(w, part, all + 10000, 40000, 10008, last_ms);
	rig_finish(w);
	replay_up("end");
	ck_assert_int_eq(counting_copy(keeper(), 1, true, &copy), 0);
	for (size_t i = 0; i < NELEM(words); i++) {
		go(words[i]);
		ck_assert_int_eq(counting_copy(keeper(), 1, true, &copy), 0);
		ck_assert_int_le(copy->since_ms, copy->now_ms);
	}
	go("end");
	step(-1);
	ck_assert_int_eq(counting_copy(keeper(), 1, true, &copy), 0);
	ck_assert_uint_eq(keeper_lost(keeper()), 7);
	ck_assert_uint_eq(copy->lost, 7);
	counting_end(keeper(), 1);
}

static int64_t
latest_of(size_t n)
{
	int64_t ms = RIG_MS - 10;

	for (size_t i = 0; i < n; i++)
		if (rec_ms_near(&all[i], last_ms) > ms)
			ms = rec_ms_near(&all[i], last_ms);
	return ms;
}

/* Events from 20001 on are missing, and 21001 has a list again. */
static void
write_gap(void)
{
	static struct blk row[RIG_LIVE + 10000];
	struct blklist *want = rig_oracle();
	uint32_t part;
	struct capture_writer *w = begin_capture(&part);
	size_t n;

	rig_put(w, part, all, 20000, 1, last_ms);
	capture_writer_lost(w, part, 20001, 0, 1000);
	rig_apply(want, all, 21000, 1, last_ms);
	n = blklist_window(want, BLKLIST_BY_AGE, false, 0, row, NELEM(row));
	ck_assert_int_eq(capture_writer_blocks(w, part, row, n), 0);
	ck_assert_int_eq(capture_writer_state(w, part, 21001,
	    latest_of(21000), NULL), 0);
	rig_put(w, part, all + 21000, 20000, 21001, last_ms);
	rig_finish(w);
	blklist_free(want);
}

static void
go_to(int64_t ms)
{
	char word[32];

	snprintf(word, sizeof word, "+%lldms", (long long)(ms -
	    (int64_t)number(WIRE_N_REPLAY_BEGIN)));
	go(word);
}

/* The list of capture_seek() at that time. */
static void
same_as_seek(int64_t at)
{
	struct capture *c = rig_open(rig_path);
	struct capture_list *l;
	const struct blk *row;
	uint64_t seq;
	int64_t ms;
	size_t n;

	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    CAPTURE_AT_MS, .ms = at }, &l), 0);
	ck_assert_int_eq(keeper_complete(keeper()),
	    capture_list_at(l, &seq, &ms));
	row = capture_list_rows(l, &n);
	same_rows(row, n);
	capture_list_free(l);
	capture_close(c);
}

TEST(within_a_gap_is_the_list_before_it)
{
	int64_t from, to;

	write_gap();
	from = latest_of(20000);
	to = latest_of(21000);
	ck_assert_int_gt(to - from, 10);
	replay_up("begin");
	for (size_t i = 0; i < (size_t)check_rounds(40); i++) {
		int64_t at = i == 0 ? from - 1 : i == 1 ? from : i == 2 ? to :
		    i == 3 ? to - 1 : from - 5 + any((unsigned)(to - from) + 10);

		go_to(at);
		ck_assert_int_eq(keeper_complete(keeper()), at < from ||
		    at >= to);
		same_as_seek(at);
		ck_assert_int_eq(strstr(keeper()->life.reason,
		    "events are missing from") != NULL, at >= from && at < to);
		if (any(4) == 0)
			go("end");
	}
	/* It plays into the gap, and out of it. */
	go_to(from - 1);
	ck_assert_int_eq(ask(WIRE_REPLAY_PLAY, 0, ""), 0);
	for (int64_t mono = mono_ms(mono_now());
	    number(WIRE_N_REPLAY) == WIRE_REPLAY_PLAYING; mono++) {
		keeper_pass(keeper(), mono);
		if (any(check_is_shortened() ? 60 : 10) == 0)
			same_as_seek(keeper_now_ms(keeper()));
	}
	ck_assert(keeper_complete(keeper()));
	go_to(from);
	step(1);
	same_as_capture();
}

/* Not that of the machine on which the capture is shown. */
TEST(heap_stress_is_that_of_the_moment)
{
	struct wire_msg m = { .type = WIRE_STRESS }, reply;
	struct capture_stress sample = { .kernel = "6.1.0-there", .why = "",
		.sample = { .source = STRESS_PATCH, .known = { true } } };
	struct stress_sample s;
	struct page p;
	uint32_t part;
	struct capture_writer *w = begin_capture(&part);

	rig_put(w, part, all, 50000, 1, last_ms);
	for (unsigned i = 0; i < 2; i++) {
		sample.ms = i == 0 ? 0 : RIG_MS + (last_ms - RIG_MS) / 2;
		sample.sample.level[0] = 10 + i;
		capture_writer_stress(w, &sample);
	}
	rig_finish(w);
	replay_up("begin");
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	for (unsigned i = 0; i < 2; i++) {
		go(i == 0 ? "begin" : "end");
		page_ask(&p, &m, &reply);
		ck_assert_uint_eq(reply.type, WIRE_STRESSED);
		ck_assert_int_eq(stress_get(&s, reply.stressed.sample.p,
		    reply.stressed.sample.len), 0);
		ck_assert_uint_eq(s.level[0], 10 + i);
		ck_assert_uint_eq(reply.stressed.kernel.len,
		    strlen(sample.kernel));
	}
	page_close(&p);
}

TEST(a_capture_of_an_older_node_has_no_heap_stress)
{
	struct wire_msg m = { .type = WIRE_STRESS }, reply;
	struct page p;

	replay_up("begin");
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	page_ask(&p, &m, &reply);
	expect_error(&reply, WIRE_E_NAME);
	page_close(&p);
}

/* As a time line does when events are to be counted from the beginning. */
static void
make_back(struct keeper *k, int64_t ms)
{
	(void)ms;
	ck_assert_int_eq(keeper_restart_list(k), 0);
	stream_queue_start_at(k->queue.records, 1);
}

TEST(a_visit_may_end_at_an_earlier_moment)
{
	enum wire_state before;

	replay_up("end");
	before = keeper()->life.state;
	keeper()->source.make = make_back;
	ck_assert_int_eq(keeper_pass(keeper(), mono_ms(mono_now())), 0);
	ck_assert_uint_eq(keeper_next(keeper()), 1);
	ck_assert_int_eq(keeper()->life.state, before);
	ck_assert(keeper_complete(keeper()));
}

/* By any way that leads to the moment. */
LOOP_TEST(counts_are_from_the_beginning, 0, 2)
{
	static const char *const words[] = { "half", "end", "peak", "+100ms",
		"begin", "end" };
	const struct counting_copy *copy;

	replay_up(_i == 0 ? "half" : "begin");
	for (size_t i = 0; i < NELEM(words); i++) {
		ck_assert_int_eq(counting_copy(keeper(), 1, true, &copy), 0);
		/* Only the first copy is without what was before. */
		ck_assert_int_eq(replay_lacks_counts(&node), i == 0 && _i == 0);
		keeper_pass(keeper(), mono_ms(mono_now()));
		arrive();
		ck_assert(!replay_lacks_counts(&node));
		go(words[i]);
		if (any(2) == 0)
			step(-1);
		ck_assert_int_eq(counting_copy(keeper(), 1, true, &copy), 0);
		ck_assert_uint_eq(copy->totals.allocs,
		    keeper_counts(keeper())->allocs);
		ck_assert_uint_eq(copy->totals.live_bytes,
		    keeper_counts(keeper())->live_bytes);
		ck_assert_int_le(copy->since_ms,
		    (int64_t)number(WIRE_N_REPLAY_BEGIN));
		ck_assert(copy->from_start);
		same_as_capture();
	}
	counting_end(keeper(), 1);
}

static const struct wire_named_mark *
named(const char *name)
{
	for (int i = 0; i < 10; i++)
		keeper_pass(keeper(), mono_ms(mono_now()));
	for (uint32_t i = 0; keeper()->marks != NULL &&
	    i < keeper()->marks->n; i++)
		if (strcmp(keeper()->marks->at[i].name, name) == 0)
			return &keeper()->marks->at[i];
	return NULL;
}

TEST(marks_of_the_capture_are_the_nodes_from_their_moment_on)
{
	struct mark_effect effect;
	struct blklist *want = rig_oracle();
	const struct wire_named_mark *m;

	rig_apply(want, all, 30000, 1, last_ms);
	replay_up("begin");
	ck_assert_ptr_null(named("half"));
	step(20000);
	ck_assert_int_eq(keeper_set_mark(keeper(), "own", 3, "anna", false,
	    &effect), 0);
	step(10000);
	for (int i = 0; i < 2; i++) {
		m = named("half");
		ck_assert_ptr_nonnull(m);
		ck_assert_uint_eq(m->seq, 30000);
		ck_assert_int_eq(m->ms, RIG_MS);
		ck_assert_uint_eq(m->blocks, blklist_counts(want)->aRecActive);
		ck_assert_uint_eq(m->bytes, blklist_counts(want)->live_bytes);
		ck_assert_int_eq(named("own") != NULL, i == 0);
		go("begin");
		ck_assert_ptr_null(named("half"));
		go("end");
	}
	blklist_free(want);
}

TEST(other_nodes_replay_nothing)
{
	struct wire_msg m = { .type = WIRE_REPLAY }, reply;
	struct page p;

	demo_up(&p, "1", NULL, NULL);
	page_ask(&p, &m, &reply);
	expect_error(&reply, WIRE_E_NAME);
	page_close(&p);
}
