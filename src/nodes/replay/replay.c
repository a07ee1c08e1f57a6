#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../capture/moment.h"
#include "../images/images.h"
#include "../keeper/counting.h"
#include "../keeper/node.h"
#include "../stress/stress.h"
#include "names.h"
#include "replay.h"

#define BATCH KEEPER_BATCH
#define PAST 4096		/* events */
#define TRIES 16
#define TRY_FURTHER 61		/* events */
#define FAR (UINT64_C(8) << 20)	/* events; more of them ahead: setting is faster */
#define BLOCKS_MAX (1u << 23)		/* blocks of a list, unless told otherwise */
#define VISIT_US 40000		/* of a cycle's 66.7 ms */
#define GROWN_MS 1000		/* between two looks at a file without an end, ... */
#define GROWN_COST 20		/* ... and so many times what the last opening took */
#define NS_PER_MS INT64_C(1000000)

/* A file has a size; a folder other files when its time changes, too. */
struct extent {
	off_t size;
	struct timespec files;
};

struct replay {
	struct node *node;
	struct keeper *keeper;
	struct capture *capture;
	struct replay_names names;
	struct replay_marks marks;
	uint32_t part;
	struct capture_part_info info;
	int64_t begin, end;		/* of the time line */

	uint64_t seq;			/* the moment: the next event ... */
	int64_t ms;			/* ... and the time */
	uint64_t state_due;		/* from there on the list is known again; UINT64_MAX ... */
	int64_t state_ms;		/* ... at that time */
	int64_t since_ms;		/* when missing events began; INT64_MAX: none are */
	uint64_t lost_before;		/* events that the capture lacks before its list */

	enum wire_replay_state state;
	bool plays_then;		/* plays on when the goal is reached */
	bool counts;			/* blocks are counted from the beginning */
	unsigned speed;
	uint64_t carry;			/* thousandths of a millisecond */
	int64_t ran_ms;			/* monotonic, of the last visit */
	int failed;			/* until a REPLAY succeeds */
	struct {
		uint64_t seq;
		int64_t ms;		/* INT64_MIN: that of the last event before */
	} goal;

	struct extent extent;		/* as of the last opening */
	int64_t opened_ms, cost_ms;

	struct capture_event event[BATCH];
	struct rec rec[BATCH];
	int64_t rec_ms[BATCH];
	struct blklist_batch_info batch_info[BATCH];
};

static int
put_rows(struct replay *r, struct capture_list *l)
{
	struct keeper *k = r->keeper;
	struct blklist_info who;
	const struct blk *row;
	struct blk b;
	size_t n;
	int err;

	row = capture_list_rows(l, &n);
	if (row == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		b = row[i];
		b.caller = replay_caller(&r->names, k, b.caller);
		b.ticket = 0;
		b.info = capture_requester(r->capture, r->part, b.info, &who) ?
		    blklist_info_intern(k->list, &who) : 0;
		err = blklist_put(k->list, &b);
		if (k->oracle != NULL)
			blklist_put(k->oracle, &b);
		if (err == -EEXIST)
			keeper_set_doubt(k, STREAM_DOUBT_CAPTURE);
		/* Those without room are counted. */
		else if (err < 0 && err != -ENOSPC)
			return err;
	}
	return 0;
}

static void
set_counts(struct replay *r, const struct capture_list *l, bool known)
{
	const struct capture_totals *t = capture_list_totals(l);
	struct keeper *k = r->keeper;
	struct blklist_counts past = { .allocs = t->allocs, .frees = t->frees,
		.failed = t->failed, .records = t->allocs + t->frees + t->failed,
		.unknown_free = t->unknown_free, .duplicate = t->duplicate,
		.unknown_undo = t->unknown_undo, .peak_bytes = t->peak_bytes };

	blklist_set_past(k->list, &past);
	/* Gaps of the capture before a state do not affect it. */
	for (unsigned i = 1; i < STREAM_CAUSES; i++)
		k->numbers.lost[i] = t->lost[i];
	r->lost_before = t->lost[0];
	counting_past_lost(k);
	if (!known)
		keeper_set_doubt(k, STREAM_DOUBT_CAPTURE);
}

/* Numbers and time go on from there, in an empty list. */
static int
restart(struct replay *r, uint64_t seq, int64_t ms)
{
	struct keeper *k = r->keeper;
	int64_t before = k->source.now_ms;
	int err;

	/* Counts begin anew at that time. */
	k->source.now_ms = ms;
	err = keeper_restart_list(k);
	if (err < 0) {
		k->source.now_ms = before;
		return err;
	}
	r->seq = seq;
	r->ms = ms;
	r->marks.next = 0;
	if (seq <= r->info.part.first && r->info.part.began != CAPTURE_JOINED)
		counting_set_from_start(k);
	/* For undos, and for the earlier blocks at an address. */
	(void)blklist_remember(k->list, KEEPER_REMEMBERED);
	stream_queue_start_at(k->queue.records, seq);
	k->queue.first = seq;
	dstrm_renew(&k->node->dstrm, k->index);
	return 0;
}

static int
seek(struct replay *r, uint64_t seq, struct capture_list **out, bool *known)
{
	const struct capture_when w = { .at = CAPTURE_AT_SEQ, .seq = seq };
	uint64_t at;
	int64_t ms;
	int err = capture_seek(r->capture, r->part, &w, out);

	if (err == 0)
		*known = capture_list_at(*out, &at, &ms);
	return err;
}

/*
 * Finds the list some events before `seq`, if it is known.  Each further try begins
 * at an earlier event.
 */
static int
seek_past(struct replay *r, uint64_t seq, unsigned tried,
    struct capture_list **out, bool *known)
{
	uint64_t first = r->info.part.first, back = tried < TRIES ?
	    PAST + tried * TRY_FURTHER : 0;
	int err;

	err = seek(r, seq > first && seq - first > back ? seq - back : first,
	    out, known);
	if (err == 0 && !*known) {
		capture_list_free(*out);
		err = seek(r, seq, out, known);
	}
	if (err != -ENOENT)
		return err;
	*known = false;
	return capture_list_new(out, r->info.part.options);
}

static int feed(struct replay *, uint64_t seq, int64_t ms, int64_t limit_us);

/* The list *l, then the events from there to `seq`. */
static int
take_list(struct replay *r, struct capture_list *l, bool known, uint64_t seq)
{
	uint64_t at;
	int64_t ms;
	int err;

	capture_list_at(l, &at, &ms);
	if (at < r->info.part.first)
		at = r->info.part.first;
	err = restart(r, at, ms != INT64_MIN ? ms : r->info.part.ms);
	if (err < 0)
		return err;
	err = put_rows(r, l);
	if (err < 0)
		known = false;
	set_counts(r, l, known);
	r->since_ms = known ? INT64_MAX : capture_list_since(l);
	r->state_due = known ? UINT64_MAX :
	    capture_state_from(r->capture, r->part, at + 1, &r->state_ms);
	if (err == 0)
		err = feed(r, seq, INT64_MAX, 0);
	return err < 0 ? err : 0;
}

/* An undo among these events may be of a free before them. */
static bool
has_all(struct replay *r, struct capture_list *l, uint64_t seq)
{
	const struct blklist_counts *n = keeper_counts(r->keeper);
	const struct capture_totals *t = capture_list_totals(l);

	/* A smaller list than the capture's never has all. */
	return n->full > 0 ||
	    capture_forward(r->capture, l, &(struct capture_when){
	    CAPTURE_AT_SEQ, .seq = seq }) < 0 ||
	    (n->aRecActive == t->blocks && n->frees == t->frees);
}

/* The list before event `seq`, whatever the moment is now. */
static int
set_list(struct replay *r, uint64_t seq)
{
	struct capture_list *l;
	bool known, done = false;
	int err = 0;

	for (unsigned i = 0; err == 0 && !done && i <= TRIES; i++) {
		err = seek_past(r, seq, i, &l, &known);
		if (err < 0)
			return err;
		err = take_list(r, l, known, seq);
		done = err == 0 && (!known || has_all(r, l, seq)) &&
		    (i == TRIES || !known || r->state_due == UINT64_MAX);
		capture_list_free(l);
		/* Behind a gap the capture may have a better list. */
		if (known && r->state_due != UINT64_MAX && i < TRIES - 1)
			i = TRIES - 1;
	}
	return err;
}

static void
take_gap(struct replay *r, const struct capture_event *e)
{
	unsigned cause = (unsigned)e->rec.w[0];

	keeper_lose(r->keeper, cause != 0 ? cause : STREAM_OTHER, e->rec.w[1]);
	if (cause != 0)
		return;
	if (r->since_ms == INT64_MAX)
		r->since_ms = r->ms;
	r->state_due = capture_state_from(r->capture, r->part, e->seq + 1,
	    &r->state_ms);
}

static void
take_events(struct replay *r, size_t n)
{
	struct blklist_info who;
	size_t ninfo = 0;

	for (size_t i = 0; i < n; i++) {
		const struct capture_event *e = &r->event[i];
		struct rec *rec = &r->rec[i];

		*rec = e->rec;
		rec->w[3] = rec_w3(replay_caller(&r->names, r->keeper,
		    rec_caller(rec)), rec_overhead(rec));
		r->rec_ms[i] = e->ms;
		if (capture_requester(r->capture, r->part, e->info, &who))
			r->batch_info[ninfo++] = (struct blklist_batch_info){
				.at = i, .info = who };
	}
	keeper_take(r->keeper, r->rec, n, r->rec_ms[n - 1], r->rec_ms,
	    r->batch_info, ninfo);
}

/* Counts the events that were read and come before that moment. */
static size_t
count_before(const struct replay *r, size_t n, uint64_t seq, int64_t ms)
{
	size_t i = 0;

	while (i < n && r->event[i].seq < seq && r->event[i].ms <= ms)
		i++;
	return i;
}

/*
 * Applies events before number `seq` and up to the time ms, for limit_us (0: all).
 * 1: all are applied; 0: not yet; or an error.
 */
static int
feed(struct replay *r, uint64_t seq, int64_t ms, int64_t limit_us)
{
	struct mono begun = mono_now();
	const struct capture_event *last;
	size_t n, m;
	uint64_t at;
	int err;

	while (r->seq < seq) {
		if (r->seq >= r->state_due && r->state_ms <= ms) {
			err = set_list(r, r->seq);
			if (err < 0)
				return err;
		}
		at = r->seq;
		err = capture_read(r->capture, r->part, &at, r->event, BATCH,
		    &n);
		if (err < 0)
			return err;
		m = count_before(r, n, seq, ms);
		if (m == 0)
			return 1;
		last = &r->event[m - 1];
		if (last->ms > r->ms)
			r->ms = last->ms;
		if (last->what == CAPTURE_GAP) {
			take_gap(r, last);
			r->seq = at;
		} else {
			take_events(r, m);
			r->seq = last->seq + 1;
		}
		if (m < n)
			return 1;
		if (limit_us != 0 &&
		    mono_diff_ns(mono_now(), begun) >= limit_us * 1000)
			return 0;
	}
	return 1;
}

/* Bytes of all files of a folder; negative: it cannot be read. */
static off_t
size_of_files(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	struct stat st;
	off_t size = 0;

	if (d == NULL)
		return -1;
	while ((e = readdir(d)) != NULL)
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ==
		    0 && S_ISREG(st.st_mode))
			size += st.st_size;
	closedir(d);
	return size;
}

static struct extent
extent_of(const struct replay *r)
{
	const char *path = r->node->opts.replay.path;
	struct extent now;
	struct stat st;

	if (stat(path, &st) < 0)
		return r->extent;
	if (!S_ISDIR(st.st_mode))
		return (struct extent){ .size = st.st_size };
	now = (struct extent){ size_of_files(path), st.st_mtim };
	return now.size < 0 ? r->extent : now;
}

static bool
has_changed(const struct replay *r)
{
	struct extent now = extent_of(r);

	return now.size != r->extent.size ||
	    now.files.tv_sec != r->extent.files.tv_sec ||
	    now.files.tv_nsec != r->extent.files.tv_nsec;
}

static int
open_capture(struct replay *r, char why[CAPTURE_WHY])
{
	struct mono begun = mono_now();
	struct capture *c;
	struct extent extent = extent_of(r);
	int err = capture_open(&c, r->node->opts.replay.path, why);

	if (err < 0)
		return err;
	if (!capture_part(c, r->part, &r->info)) {
		snprintf(why, CAPTURE_WHY, "it has no process image %u",
		    r->part);
		capture_close(c);
		return -ENOENT;
	}
	if (r->capture != NULL)
		capture_close(r->capture);
	r->capture = c;
	moment_span(c, &r->begin, &r->end);
	r->extent = extent;
	r->opened_ms = mono_ms(mono_now());
	r->cost_ms = mono_ms_since(begun);
	return 0;
}

/* True if there is more than before. */
static bool
look_again(struct replay *r, int64_t mono)
{
	struct capture_about about;
	char why[CAPTURE_WHY];
	uint64_t next = r->info.next;

	capture_about(r->capture, &about);
	if (!r->node->opts.replay.follows || about.ended || mono - r->opened_ms < GROWN_MS +
	    GROWN_COST * r->cost_ms || !has_changed(r))
		return false;
	r->opened_ms = mono;
	return open_capture(r, why) == 0 && replay_names_take(&r->names,
	    r->keeper, r->capture, r->part) == 0 && r->info.next > next;
}

/* The first event whose list is known. */
static uint64_t
first_of(const struct replay *r)
{
	return r->info.dropped > 0 && r->info.complete_ms != INT64_MAX ?
	    r->info.complete_seq : r->info.part.first;
}

/* Goes to the beginning, from where blocks are counted on the way to the goal. */
static int
begin_counts(struct replay *r)
{
	int err = set_list(r, first_of(r));

	if (err < 0)
		return err;
	r->counts = true;
	r->state = WIRE_REPLAY_GOING;
	return 0;
}

/* Somebody asks for counts: those of all events from the beginning to the moment. */
static int
count_again(struct replay *r)
{
	if (r->counts == counting_is_on(r->keeper))
		return 0;
	r->counts = !r->counts;
	if (!r->counts || r->seq <= first_of(r))
		return 0;
	if (r->state != WIRE_REPLAY_GOING) {
		r->plays_then = r->state == WIRE_REPLAY_PLAYING;
		r->goal.seq = r->seq;
		r->goal.ms = r->ms;
	}
	return begin_counts(r);
}

bool
replay_lacks_counts(const struct node *node)
{
	const struct replay *r = node->replay;

	return r != NULL && !r->counts && counting_is_on(r->keeper) &&
	    r->seq > first_of(r);
}

static void
set_reason(struct replay *r)
{
	struct keeper *k = r->keeper;
	struct capture_about about;
	size_t len = 0;

	capture_about(r->capture, &about);
	k->life.reason[0] = '\0';
	if (r->failed < 0)
		base_append(k->life.reason, sizeof k->life.reason, &len,
		    "the capture cannot be read: %s",
		    base_file_words(r->failed));
	else if (capture_damages(r->capture) > 0)
		base_append(k->life.reason, sizeof k->life.reason, &len,
		    WIRE_REPLAY_DAMAGED "%s", base_shown(capture_damage(
		    r->capture, 0)));
	else if (r->ms < r->info.part.ms)
		base_append(k->life.reason, sizeof k->life.reason, &len,
		    "this process image had not begun");
	else if (r->since_ms != INT64_MAX && r->since_ms > r->begin)
		base_append(k->life.reason, sizeof k->life.reason, &len,
		    WIRE_REPLAY_MISSING "%.3f s on, until the next list in the "
		    "capture", (double)(r->since_ms - r->begin) / 1000);
	else if (r->info.ended && r->ms >= r->info.end_ms)
		base_append(k->life.reason, sizeof k->life.reason, &len,
		    "this process image had ended");
	else if (!about.ended && r->ms >= r->end)
		base_append(k->life.reason, sizeof k->life.reason, &len,
		    "the capture has no end yet, or its recorder was killed");
	k->source.now_ms = r->ms;
}

/* If events are applied more slowly than time passes, time waits for them. */
static int
play(struct replay *r, int64_t passed)
{
	int64_t to;
	int err;

	r->carry += (uint64_t)passed * r->speed;
	to = r->ms + (int64_t)(r->carry / REPLAY_SPEED_ONE);
	r->carry %= REPLAY_SPEED_ONE;
	if (to > r->end)
		to = r->end;
	err = feed(r, UINT64_MAX, to, VISIT_US);
	if (err == 1 && to > r->ms)
		r->ms = to;
	return err;
}

static int
arrive(struct replay *r)
{
	int err = 0;

	r->state = r->plays_then ? WIRE_REPLAY_PLAYING : WIRE_REPLAY_PAUSED;
	if (r->goal.ms == INT64_MIN)
		return r->seq >= r->state_due ? set_list(r, r->seq) : 0;
	/* Events that are not in the file may have been before that time. */
	err = feed(r, UINT64_MAX, r->goal.ms, 0);
	r->ms = r->goal.ms;
	return err < 0 ? err : 0;
}

static void
stop_with(struct replay *r, int err)
{
	r->state = WIRE_REPLAY_PAUSED;
	r->failed = err;
	set_reason(r);
}

static bool
is_at_end(const struct replay *r)
{
	return r->seq >= r->info.next && r->ms >= r->end;
}

static void
replay_source(struct keeper *k, int64_t mono)
{
	struct replay *r = k->node->replay;
	int64_t passed = mono - r->ran_ms;
	struct capture_about about;
	int err = 0;

	r->ran_ms = mono;
	err = count_again(r);
	if (err < 0) {
		stop_with(r, err);
		return;
	}
	if (r->state == WIRE_REPLAY_GOING) {
		err = feed(r, r->goal.seq, INT64_MAX, VISIT_US);
		if (err == 1)
			err = arrive(r);
	} else if (r->state == WIRE_REPLAY_PLAYING) {
		err = play(r, passed);
	}
	if (err < 0) {
		stop_with(r, err);
		return;
	}
	if (is_at_end(r) && !look_again(r, mono)) {
		capture_about(r->capture, &about);
		if (about.ended || !k->node->opts.replay.follows)
			r->state = WIRE_REPLAY_PAUSED;
	}
	/* A mark that cannot be read does not stop the time line. */
	(void)replay_marks_take(&r->marks, k, r->capture, r->seq, r->ms);
	set_reason(r);
}

/* The number of the event after that moment. */
static int
find_number(struct replay *r, const struct capture_when *w, uint64_t *seq)
{
	struct capture_list *l;
	int64_t ms;
	int err;

	if (w->at == CAPTURE_AT_SEQ || w->at == CAPTURE_AT_END) {
		*seq = w->at == CAPTURE_AT_SEQ ? w->seq : r->info.next;
		return 0;
	}
	*seq = r->info.part.first;
	err = capture_seek(r->capture, r->part, w, &l);
	/* The part begins later. */
	if (err == -ENOENT)
		return 0;
	if (err == 0) {
		capture_list_at(l, seq, &ms);
		capture_list_free(l);
	}
	return err;
}

static int
go(struct replay *r, const struct capture_when *w)
{
	uint64_t seq;
	int err = find_number(r, w, &seq);

	if (err < 0)
		return err;
	r->goal.seq = seq;
	r->goal.ms = w->at == CAPTURE_AT_MS ? w->ms : w->at == CAPTURE_AT_END ?
	    r->end : INT64_MIN;
	if (r->state != WIRE_REPLAY_GOING)
		r->plays_then = r->state == WIRE_REPLAY_PLAYING;
	/* Within a gap, which has been passed. */
	if (w->at == CAPTURE_AT_MS && w->ms >= r->ms && seq < r->seq)
		r->goal.seq = seq = r->seq;
	if (seq >= r->seq && (r->counts || seq - r->seq <= FAR)) {
		r->state = WIRE_REPLAY_GOING;
		return 0;
	}
	if (r->counts && seq > first_of(r))
		return begin_counts(r);
	err = set_list(r, seq);
	return err < 0 ? err : arrive(r);
}

static int
go_to_ms(struct replay *r, int64_t ms, char *why, size_t cap)
{
	struct capture_when w = { .at = CAPTURE_AT_MS, .ms = ms };

	if (ms < r->begin) {
		w.ms = r->begin;
		snprintf(why, cap, "the capture begins here");
	} else if (ms > r->end) {
		w.at = CAPTURE_AT_END;
		snprintf(why, cap, "the capture ends here");
	}
	return go(r, &w);
}

static int
go_to_word(struct replay *r, const char *word, char *why, size_t cap)
{
	struct capture_when w = { .at = CAPTURE_AT_END };
	int err;

	err = moment_parse(r->capture, r->part, word, &w);
	if (err == -ERANGE)
		snprintf(why, cap, "%s is %s of the capture, and that is shown",
		    base_shown(word), w.at == CAPTURE_AT_END ?
		    "after the end" : "before the beginning");
	if (err == -EINVAL) {
		snprintf(why, cap, "'%s': " MOMENT_NONE, base_shown(word));
		return err;
	}
	return go(r, &w);
}

static int
step(struct replay *r, int64_t by, char *why, size_t cap)
{
	struct capture_when w = { .at = CAPTURE_AT_SEQ, .seq = r->seq };
	uint64_t first = r->info.part.first;
	uint64_t way = by < 0 ? 0 - (uint64_t)by : (uint64_t)by;

	r->state = WIRE_REPLAY_PAUSED;
	if (by < 0)
		w.seq = r->seq - first > way ? r->seq - way : first;
	else
		w.seq = r->info.next - r->seq > way ? r->seq + way :
		    r->info.next;
	if (w.seq == r->seq)
		snprintf(why, cap, by < 0 ? "there is no earlier event" :
		    "there is no later event");
	return go(r, &w);
}

static void
set_playing(struct replay *r, bool plays, char *why, size_t cap)
{
	if (plays && is_at_end(r) && !look_again(r, r->ran_ms))
		snprintf(why, cap, "the capture ends here");
	r->carry = 0;
	r->state = plays ? WIRE_REPLAY_PLAYING : WIRE_REPLAY_PAUSED;
}

int
replay_ask(struct node *node, const struct wire_replay *ask, char *why,
    size_t cap)
{
	struct replay *r = node->replay;
	char word[WIRE_TEXT_MAX + 1];
	int64_t to;
	int err = 0;

	why[0] = '\0';
	if (r == NULL)
		return -ENOTSUP;
	switch ((enum wire_replay_action)ask->action) {
	case WIRE_REPLAY_PAUSE:
	case WIRE_REPLAY_PLAY:
		set_playing(r, ask->action == WIRE_REPLAY_PLAY, why, cap);
		break;
	case WIRE_REPLAY_TOGGLE:
		set_playing(r, r->state == WIRE_REPLAY_PAUSED, why, cap);
		break;
	case WIRE_REPLAY_STEP:
		err = step(r, ask->by, why, cap);
		break;
	case WIRE_REPLAY_MOVE:
		if (__builtin_add_overflow(r->ms, ask->by, &to))
			to = ask->by < 0 ? INT64_MIN : INT64_MAX;
		err = go_to_ms(r, to, why, cap);
		break;
	case WIRE_REPLAY_AT:
		snprintf(word, sizeof word, "%.*s", (int)ask->at.len,
		    ask->at.s);
		err = go_to_word(r, word, why, cap);
		break;
	case WIRE_REPLAY_SPEED:
		if (ask->by < 1 || ask->by > REPLAY_SPEED_MAX)
			return -EINVAL;
		r->speed = (unsigned)ask->by;
		break;
	}
	if (err == -EINVAL)
		return err;
	if (err < 0) {
		stop_with(r, err);
		return err;
	}
	r->failed = 0;
	/* A near moment is reached before the answer. */
	replay_source(r->keeper, mono_ms(mono_now()));
	return 0;
}

void
replay_stat(const struct keeper *k, uint64_t n[WIRE_STATS_COUNT])
{
	const struct replay *r = k->node->replay;

	if (r == NULL || r->keeper != k)
		return;
	n[WIRE_N_LOST_BEFORE] = r->lost_before;
	n[WIRE_N_REPLAY] = r->state;
	n[WIRE_N_REPLAY_BEGIN] = (uint64_t)r->begin;
	n[WIRE_N_REPLAY_END] = (uint64_t)r->end;
	n[WIRE_N_REPLAY_SPEED] = r->speed;
	n[WIRE_N_REPLAY_EVENT] = r->seq;
	n[WIRE_N_REPLAY_GOAL] = r->state == WIRE_REPLAY_GOING ? r->goal.seq : 0;
}

int
replay_stress(const struct node *node, struct node_stress_sample *out)
{
	const struct replay *r = node->replay;
	const struct capture_stress *s = capture_stress_at(r->capture, r->ms);

	if (s == NULL)
		return -ENODATA;
	*out = (struct node_stress_sample){ .sample = s->sample,
		.release = s->kernel, .why = s->why, .reader = 1, .ms = s->ms,
		.now_ms = r->ms };
	return 0;
}

void
replay_clocks(const struct node *node, uint64_t *mono_ns, uint64_t *utc_ns)
{
	const struct replay *r = node->replay;
	int64_t ms, wall;

	if (r == NULL)
		return;
	ms = r->begin > 0 && r->begin < INT64_MAX / NS_PER_MS ? r->begin : 0;
	wall = capture_wall_ns(r->capture, ms);
	*mono_ns = (uint64_t)(ms * NS_PER_MS);
	*utc_ns = (uint64_t)(wall > 0 ? wall : 0);
}

static void
describe(struct replay *r)
{
	const struct capture_part *p = &r->info.part;
	struct keeper *k = r->keeper;
	size_t len = 0;

	/* No process id: nobody of that number is this process. */
	base_append(k->image.comm, sizeof k->image.comm, &len, "%s[%lld]",
	    base_shown(p->comm), (long long)p->pid);
	k->process.exe = strdup(p->exe);
	k->process.cwd = strdup(p->cwd);
	k->format.sample = p->sample;
}

static int
set_up(struct replay *r)
{
	const struct node_opts *o = &r->node->opts;
	struct capture_when w = { .at = CAPTURE_AT_END };
	int err = replay_names_take(&r->names, r->keeper, r->capture, r->part);

	if (err == 0 && o->replay.at != NULL)
		err = moment_parse(r->capture, r->part, o->replay.at, &w);
	if (err < 0 && err != -ERANGE)
		return err;
	r->since_ms = INT64_MAX;
	r->goal.ms = INT64_MIN;
	err = find_number(r, &w, &r->goal.seq);
	if (err == 0)
		err = set_list(r, r->goal.seq);
	if (err < 0)
		return err;
	r->goal.ms = w.at == CAPTURE_AT_MS ? w.ms : w.at == CAPTURE_AT_END ?
	    r->end : INT64_MIN;
	r->plays_then = o->replay.plays;
	err = arrive(r);
	set_reason(r);
	return err;
}

int
replay_start(struct node *node)
{
	struct replay *r = calloc(1, sizeof *r);
	struct keeper_opts o = { .max = node->opts.max != 0 ? node->opts.max :
		BLOCKS_MAX };
	char why[CAPTURE_WHY];
	int err;

	if (r == NULL)
		return -ENOMEM;
	node->replay = r;
	/* Each event is there: peaks are exact. */
	node->opts.no_pairs = true;
	r->node = node;
	r->part = r->marks.part = node->opts.replay.part;
	r->speed = REPLAY_SPEED_ONE;
	r->ran_ms = mono_ms(mono_now());
	err = open_capture(r, why);
	if (err < 0)
		return err;
	o.classic = (r->info.part.options & CAPTURE_CLASSIC) != 0;
	if (o.classic && o.max > NODES_MAX)
		o.max = NODES_MAX;
	err = keeper_new(&r->keeper, node, &o, NULL);
	if (err < 0)
		return err;
	describe(r);
	r->keeper->source.make = replay_source;
	err = images_join(r->keeper, "ALLOCLOG");
	if (err < 0) {
		keeper_unref(r->keeper);
		return err;
	}
	return set_up(r);
}

void
replay_close(struct node *node)
{
	struct replay *r = node->replay;

	if (r == NULL)
		return;
	if (r->capture != NULL)
		capture_close(r->capture);
	replay_names_fini(&r->names);
	free(r);
	node->replay = NULL;
}
