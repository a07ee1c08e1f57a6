/*
 * Window mode: when too many records come, the node is asked in each cycle for
 * the visible rows and all totals instead. Its list has everything.
 *
 * A window begins when a cycle brings more than MANY records, or when records
 * were overwritten unread. It ends when the node has had few records left after
 * cancellation for a second: then the list is taken, and the window lasts until
 * that is whole. Only records are counted, so slow and fast machines behave
 * the same.
 *
 * A list of more than LARGE blocks stays a window: taking and sorting it would
 * cost seconds and a gigabyte.
 */
#include <string.h>

#include "state.h"

#define MANY 65536		/* records in a cycle that begin a window */
#define FEW 16384		/* ... per cycle that end it */
#define LARGE (UINT32_C(1) << 20)	/* blocks of a list that stays a window */
#define CALM_MAX (30 * SESSION_SECOND)
#define RELAPSE (10 * SESSION_SECOND)	/* after a shorter calm the next must be longer */
#define ASKS_PER_CYCLE 8	/* for a view that moves */

static void ask_rows(struct nodes_session *);

/* Rows and totals are enough for the page, and the node has them. */
static bool
is_enough(const struct nodes_session *s)
{
	return s->window.wished && !s->window.refused &&
	    !s->opts.since_click && session_is_live(s);
}

bool
window_overrun(struct nodes_session *s)
{
	if (!s->window.due && is_enough(s))
		s->window.due = true;
	return s->window.due;
}

bool
window_read(struct nodes_session *s, uint32_t count)
{
	s->window.read += count;
	return s->step == SESSION_FLOW && s->window.read > MANY &&
	    window_overrun(s);
}

bool
window_large(struct nodes_session *s, uint64_t blocks)
{
	return blocks > LARGE && window_overrun(s);
}

/* Replaces the shown list by a window. */
static int
make_windowed(struct nodes_session *s)
{
	struct blklist *list;
	int err;

	if (s->look.window)
		return 0;
	err = blklist_new(&list, BLKLIST_WINDOWED, 1);
	if (err < 0)
		return err;
	blklist_free(s->intake.list);
	s->intake.list = s->intake.build = list;
	s->intake.put_full = s->intake.build_full = 0;
	s->look.list = list;
	blklist_sample(list, s->look.sample);
	s->look.window = s->look.listed = s->look.settled = true;
	s->look.behind = false;
	return 0;
}

static struct blklist_counts
counts_of(const uint64_t n[WIRE_STATS_COUNT])
{
	uint64_t max = n[WIRE_N_MAX] < BLKLIST_MAX ? n[WIRE_N_MAX] :
	    BLKLIST_MAX;
	uint64_t active = n[WIRE_N_LIVE_BLOCKS];

	return (struct blklist_counts){
		.records = n[WIRE_N_RECORDS],
		.allocs = n[WIRE_N_ALLOCS],
		.frees = n[WIRE_N_FREES],
		.failed = n[WIRE_N_FAILED],
		.cancelled = (n[WIRE_N_RECORDS] - n[WIRE_N_STAY]) / 2,
		.unknown_free = n[WIRE_N_UNKNOWN_FREE],
		.earlier = n[WIRE_N_EARLIER],
		.duplicate = n[WIRE_N_DUPLICATE],
		.illegal_type = n[WIRE_N_ILLEGAL_TYPE],
		.full = n[WIRE_N_FULL],
		.inherited = n[WIRE_N_INHERITED],
		.live_bytes = n[WIRE_N_LIVE_BYTES],
		.peak_bytes = n[WIRE_N_PEAK_BYTES],
		.est_blocks = n[WIRE_N_EST_BLOCKS],
		.est_bytes = n[WIRE_N_EST_BYTES],
		.est_peak_bytes = n[WIRE_N_EST_PEAK_BYTES],
		.aRecActive = (uint32_t)(active < max ? active : max),
		.aRecMax = (uint32_t)max,
	};
}

/* Decodes the rows up to the first bad one; returns their number. */
static size_t
take_blocks(struct nodes_session *s, const struct wire_rows *r,
    struct blk *out)
{
	size_t stride = r->blocks.len / (r->count > 0 ? r->count : 1), i;
	uint16_t index[WIRE_INFO_MAX];
	struct blklist_info info;

	for (i = 0; i < r->ninfo; i++) {
		info = intake_decode_info(&r->info[i]);
		index[i] = blklist_info_intern(s->intake.list, &info);
	}
	for (i = 0; i < r->count; i++) {
		if (intake_decode_block(s, r->blocks.p + i * stride, &out[i]) < 0) {
			s->losses.bad++;
			break;
		}
		if (r->who.len > 0 && r->who.p[i] > 0)
			out[i].info = index[r->who.p[i] - 1];
	}
	return i;
}

/* Moves the view with its block, which is at `offset` now. */
static void
follow_block(struct session_window *w, uint64_t offset)
{
	if (w->view.order == w->held.order &&
	    w->view.reverse == w->held.reverse)
		w->view.offset = offset > w->view.before ?
		    offset - w->view.before : 0;
}

static void
hold_rows(struct nodes_session *s, const struct wire_rows *r)
{
	static struct blk row[WIRE_WINDOW_MAX];
	struct session_window *w = &s->window;
	struct blklist_counts counts = counts_of(r->n);

	if (s->look.sample != r->n[WIRE_N_SAMPLE]) {
		s->look.sample = r->n[WIRE_N_SAMPLE];
		blklist_clear(s->intake.list);
		blklist_sample(s->intake.list, s->look.sample);
	}
	w->held.n = take_blocks(s, r, row);
	w->held.offset = r->offset;
	w->held.order = w->asked.order;
	w->held.reverse = w->asked.reverse;
	blklist_set_window(s->intake.list, &counts, w->held.order,
	    w->held.reverse, r->offset, row, w->held.n);
	s->clock.now_ms = r->now_ms;
	reconnect_set_fresh(s);
	for (size_t i = 0; i < w->held.n && w->view.seq != 0; i++)
		if (row[i].seq == w->view.seq && row[i].addr == w->view.addr)
			follow_block(w, r->offset + i);
}

/* All visible rows are held. */
static bool
is_held(const struct nodes_session *s)
{
	const struct session_window *w = &s->window;
	uint64_t active = blklist_counts(s->intake.list)->aRecActive;
	uint64_t from = w->view.offset, end;

	if (w->view.order != w->held.order ||
	    w->view.reverse != w->held.reverse)
		return false;
	if (from >= active)
		return true;
	end = w->view.rows < active - from ? from + w->view.rows : active;
	return from >= w->held.offset && end <= w->held.offset + w->held.n;
}

void
window_pass(struct nodes_session *s, uint64_t next, uint64_t lost)
{
	uint64_t n = next > s->intake.cursor ? next - s->intake.cursor : 0;

	n -= lost < n ? lost : n;
	s->clock.cycle_records += n;
	s->look.work.total_records += n;
	if (next > s->intake.cursor)
		s->intake.cursor = next;
}

/* Only in step WINDOW; while a list is taken its records count. */
static void
take_totals(struct nodes_session *s, const struct wire_rows *r)
{
	uint64_t known = s->losses.seen + s->look.loss.lost[0], sum = 0;

	for (unsigned cause = 1; cause < STREAM_OTHER; cause++) {
		if (cause == STREAM_OVERWRITTEN || cause == STREAM_LINK)
			continue;
		s->look.loss.lost[cause] = r->lost[cause].count;
		sum += r->lost[cause].count;
	}
	s->look.loss.lost[STREAM_OTHER] = r->lost[0].count;
	sum += r->lost[0].count;
	s->losses.seen = sum;
	/* Records before this session are not counted as captured. */
	if (!s->intake.counting)
		s->intake.cursor = r->as_of + 1;
	s->intake.counting = true;
	window_pass(s, r->as_of + 1, sum > known ? sum - known : 0);
	s->stream.state = r->state;
	numbers_take(s, r->n, r->sent);
}

/* Counts calm cycles; true when there were enough. */
static bool
is_calm(struct nodes_session *s, uint64_t stay)
{
	struct session_window *w = &s->window;
	unsigned cycles = s->clock.cycle - w->stay_cycle;

	if (w->counted && cycles == 0)
		return false;
	if (w->counted) {
		w->calm += cycles;
		if (stay - w->stay >= (uint64_t)FEW * cycles)
			w->calm = 0;
	}
	w->counted = true;
	w->stay = stay;
	w->stay_cycle = s->clock.cycle;
	return w->calm >= w->calm_for;
}

/* Takes the list from the next cycle on; the window lasts until it is whole. */
static void
end_window(struct nodes_session *s)
{
	s->step = SESSION_LOAD;
	s->intake.retake = true;
}

static void
take_rows(struct nodes_session *s, const struct wire_rows *r)
{
	unsigned stride = intake_record_size(s) + WIRE_BLOCK_TAIL;

	if (r->blocks.len != (size_t)r->count * stride ||
	    (s->step == SESSION_WINDOW && r->as_of + 1 < s->intake.cursor)) {
		session_say(s, "the node's rows were inconsistent: the list is "
		    "read again");
		s->window.refused = true;
		end_window(s);
		return;
	}
	if (make_windowed(s) < 0) {
		end_window(s);
		return;
	}
	hold_rows(s, r);
	if (s->step == SESSION_WINDOW) {
		take_totals(s, r);
		if (is_calm(s, r->n[WIRE_N_STAY]) &&
		    r->n[WIRE_N_LIVE_BLOCKS] <= LARGE) {
			s->window.left = s->clock.cycle;
			end_window(s);
		}
	}
	if (!is_held(s))
		ask_rows(s);
}

void
answered_rows(struct nodes_session *s, const struct wire_msg *msg)
{
	struct mono begin = mono_now();

	if (s->step != SESSION_WINDOW && !s->look.window)
		;	/* the list is whole already */
	else if (msg->type == WIRE_ROWS)
		take_rows(s, &msg->rows);
	else if (msg->type == WIRE_ERR && msg->err.code != WIRE_E_FRAME)
		session_refused(s, &msg->err);
	else {
		/* An older node. */
		s->window.refused = true;
		end_window(s);
	}
	s->clock.cycle_ns += mono_diff_ns(mono_now(), begin);
	session_measure(s);
	s->news(s->arg);
}

/* Requests the visible rows, and as many before and behind for scrolling. */
static void
ask_rows(struct nodes_session *s)
{
	struct session_window *w = &s->window;
	uint32_t rows = w->view.rows < WIRE_WINDOW_MAX ? w->view.rows :
	    WIRE_WINDOW_MAX;
	uint32_t margin = rows < (WIRE_WINDOW_MAX - rows) / 2 ? rows :
	    (WIRE_WINDOW_MAX - rows) / 2;
	uint32_t before = w->view.before < rows ? w->view.before : rows;
	struct wire_msg msg = {
		.type = WIRE_WINDOW,
		.window = {
			.index = s->stream.index,
			.order = w->view.order == BLKLIST_BY_AGE ? WIRE_BY_AGE :
			    WIRE_BY_ADDRESS,
			.reverse = w->view.reverse,
			.offset = w->view.offset > margin ?
			    w->view.offset - margin : 0,
			.max = rows + 2 * margin,
			.layer = w->view.layer & 1,
			.addr = w->view.addr,
			.seq = w->view.seq,
			.before = margin + before,
		},
	};

	if (session_in_flight(s, SESSION_ASK_ROWS) > 0 ||
	    w->asks >= ASKS_PER_CYCLE)
		return;
	memcpy(msg.window.epoch, s->stream.epoch, WIRE_EPOCH);
	session_ask(s, SESSION_ASK_ROWS, &msg);
	w->asked = w->view;
	w->asks++;
}

void
window_begin(struct nodes_session *s)
{
	struct session_window *w = &s->window;

	w->due = false;
	if (!is_enough(s)) {
		s->step = SESSION_LOAD;
		s->intake.retake = true;
		return;
	}
	if (w->left != 0 && s->clock.cycle - w->left < RELAPSE)
		w->calm_for = w->calm_for < CALM_MAX / 2 ? 2 * w->calm_for :
		    CALM_MAX;
	else
		w->calm_for = SESSION_SECOND;
	w->counted = false;
	w->calm = 0;
	intake_stop(s);
	s->step = SESSION_WINDOW;
	if (strcmp(s->texts.said, SESSION_TORN) == 0)
		s->texts.said_for = 0;
}

void
window_cycle(struct nodes_session *s)
{
	/* A stream that has ended gets its whole list. */
	if (s->step == SESSION_WINDOW && !is_enough(s))
		end_window(s);
	else if (s->step == SESSION_WINDOW || s->look.window)
		ask_rows(s);
	/* A large list is not followed for its totals alone. */
	else if (s->step == SESSION_FLOW && s->window.view.rows == 0 &&
	    blklist_counts(s->intake.list)->aRecActive > LARGE)
		(void)window_overrun(s);
}

void
nodes_session_view(struct nodes_session *s, const struct nodes_view *view)
{
	s->window.wished = view != NULL && view->rows <= WIRE_WINDOW_MAX;
	if (!s->window.wished)
		return;
	s->window.view = *view;
	if (s->look.window && s->look.link.up && (s->step == SESSION_LOAD ||
	    s->step == SESSION_WINDOW) && !is_held(s))
		ask_rows(s);
}
