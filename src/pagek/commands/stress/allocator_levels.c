#include <inttypes.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../../capture/capture.h"
#include "../../batch/batch.h"
#include "../../cli/capture_target.h"
#include "../../cli/pump.h"
#include "../../debugdata/debugdata.h"
#include "../../documents/documents.h"
#include "../../layout/fields.h"
#include "../../layout/layout.h"
#include "stress.h"

#define LEVELS 6	/* as in stress/stress.h: the last one is of failed requests */

/* Totals of the target, or what has come since the line before. */
struct tally {
	const struct options *o;
	const char *name, *title;	/* of the target, in data and in text */
	pid_t pid;			/* 0: none */
	bool complete, sampled;
	const char *lack;		/* the reason if it is not complete */
	int64_t wall_ms, ms;	/* of its end; how long, -1: since the target's start */
	bool known;		/* levels but the last one, and the next member */
	uint64_t level[LEVELS];
	uint64_t untold;	/* requests without a level */
};

struct levels {
	const struct options *o;
	struct nodes_session *session;	/* NULL: the target is a capture */
	char title[PAGE_TARGET_TEXT];
	FILE *out;
	struct json json;
	struct tally last;
	struct mono at;
	uint32_t stream_no;
	uint64_t lines;
};

static bool
get_level(const void *row, size_t at, struct field_value *v)
{
	const struct tally *r = row;

	v->n = r->level[at];
	return r->known || at == LEVELS - 1;
}

FIELD_GET(get_time, tally, i, r->wall_ms, true)
FIELD_GET(get_seconds, tally, share, (double)r->ms / 1000, r->ms >= 0)
FIELD_GET_TEXT(get_name, tally, r->name)
FIELD_GET(get_pid, tally, n, (uint64_t)r->pid, r->pid != 0)
FIELD_GET(get_untold, tally, n, r->untold, r->known)
FIELD_GET(get_complete, tally, n, r->complete, true)

static void
clock_cell(const void *row, char out[FIELD_CELL])
{
	const struct tally *r = row;

	stress_clock_text(r->wall_ms, r->o->page.utc, out);
}

#define COLUMN(name, cols) \
	{ .plain = true, .title = (name), .gap = 1, .width = (cols), .right = true }
#define LEVEL(n, cols) \
	{ .key = "level_" #n, .kind = FIELD_NUMBER, .get = get_level, .at = (n) - 1, \
	    .column = COLUMN("LEVEL" #n, cols) }

static const struct field tally_fields[] = {
	{ .key = "time", .kind = FIELD_TIME, .get = get_time,
	    .column = { .title = "TIME", .width = 8, .cell = clock_cell } },
	{ .key = "seconds", .kind = FIELD_SHARE, .get = get_seconds },
	{ .key = "target", .kind = FIELD_TEXT, .get = get_name },
	{ .key = "pid", .kind = FIELD_NUMBER, .get = get_pid },
	LEVEL(1, 13), LEVEL(2, 9), LEVEL(3, 8), LEVEL(4, 8), LEVEL(5, 8),
	LEVEL(6, 8),
	{ .key = "no_level", .kind = FIELD_NUMBER, .get = get_untold,
	    .column = COLUMN("NO LEVEL", 13) },
	{ .key = "complete", .kind = FIELD_BOOL, .get = get_complete },
};
static const struct field_table tallies = FIELD_TABLE(tally_fields);

static const struct {
	const char *name, *meaning;
} rows[LEVELS + 1] = {
	{ "1 first region", "satisfied at once" },
	{ "2 second region", "the first one had no room" },
	{ "3 third region", "" },
	{ "4 fourth region", "" },
	{ "5 fifth region", "" },
	{ "6 failed", "no region had room" },
	{ "- no level", "the allocator does not tell one" },
};

static uint64_t
told(const struct tally *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < LEVELS; i++)
		sum += t->level[i];
	return sum;
}

static void
put_head(FILE *out, const struct tally *t)
{
	fprintf(out, "ALLOCATOR LEVELS  %s", t->title);
	if (t->ms >= 0)
		fprintf(out, "  %.1f s", (double)t->ms / 1000);
	fputc('\n', out);
	if (!t->known)
		fputs("VERSION: the node is older and counts no levels; start it "
		    "again with this version\n", out);
}

static void
put_notes(FILE *out, const struct tally *t)
{
	if (t->known && told(t) == 0)
		fputs("no record tells a level: a program does with "
		    "alloclog_level()\n", out);
	if (t->sampled)
		fputs("a sample is logged: the counts of functions such as "
		    "malloc() are those of the sample\n", out);
	if (!t->complete)
		fprintf(out, "INCOMPLETE: %s\n", t->lack);
}

/* Shares are of the requests that tell a level. */
static void
put_table(FILE *out, const struct tally *t)
{
	struct stress_level_row row[LEVELS + 1];
	uint64_t all = told(t);

	for (size_t i = 0; i <= LEVELS; i++) {
		uint64_t n = i < LEVELS ? t->level[i] : t->untold;

		base_copy_text(row[i].name, sizeof row[i].name, rows[i].name);
		row[i].meaning = rows[i].meaning;
		base_copy_text(row[i].count, sizeof row[i].count,
		    t->known || i == LEVELS - 1 ? base_digits(n).text : "n/a");
		stress_percent_text(t->known && i < LEVELS && all > 0 ?
		    (double)n / (double)all : 0, row[i].share);
	}
	put_head(out, t);
	stress_put_levels(out, t->o, row, LEVELS + 1);
	put_notes(out, t);
}

static void
put_line(FILE *out, const struct tally *t)
{
	for (size_t i = 0; i < LEVELS; i++)
		if (t->known || i == LEVELS - 1)
			fprintf(out, "%s%" PRIu64, i > 0 ? " " : "", t->level[i]);
		else
			fprintf(out, "%sn/a", i > 0 ? " " : "");
	fputc('\n', out);
}

static void
put_form(struct levels *l, const struct tally *t)
{
	struct output_table lines = { .out = l->out, .fields = &tallies,
		.ascii = l->o->page.ascii };

	if (options_as_data(l->o)) {
		json_row(&l->json, t, 0);
	} else if (option_given(l->o, OPTION_READ_ZERO)) {
		put_line(l->out, t);
	} else if (stress_repeats(l->o)) {
		if (l->lines == 0) {
			put_head(l->out, t);
			output_heading(&lines);
		}
		output_row(&lines, t);
	} else {
		put_table(l->out, t);
	}
	l->lines++;
}

static bool
is_over(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->state == NODES_ENDED || look->state == NODES_CORRUPT ||
	    (!look->link.up && !look->link.returns);
}

/* False: the node does not answer. */
static bool
take_tally(struct levels *l, uv_loop_t *loop, struct tally *t)
{
	const struct nodes_look *look;
	uint64_t sum = 0;

	if (!pump_counters(loop, l->session, l->o->timeout_ms))
		return false;
	look = nodes_session_look(l->session);
	page_target_text(look, l->title);
	*t = (struct tally){ .o = l->o, .name = look->target.name,
		.title = l->title, .pid = look->target.pid,
		.complete = look->complete, .lack = page_look_lack(look),
		.sampled = look->sample != 0, .ms = -1,
		.wall_ms = base_wall_ms(),
		.known = look->keeper_sent > WIRE_N_LEVEL_5 };
	for (size_t i = 0; i + 1 < LEVELS; i++) {
		t->level[i] = look->keeper[WIRE_N_LEVEL_1 + i];
		sum += t->level[i];
	}
	t->level[LEVELS - 1] = look->keeper[WIRE_N_FAILED];
	t->untold = look->keeper[WIRE_N_ALLOCS] > sum ?
	    look->keeper[WIRE_N_ALLOCS] - sum : 0;
	return true;
}

static uint64_t
difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static bool
put_spent(struct levels *l, uv_loop_t *loop)
{
	bool same = l->stream_no == nodes_session_look(l->session)->stream_no;
	struct tally now, spent;

	if (!take_tally(l, loop, &now))
		return false;
	spent = now;
	spent.ms = mono_ms_since(l->at);
	for (size_t i = 0; i < LEVELS && same; i++)
		spent.level[i] = difference(now.level[i], l->last.level[i]);
	if (same)
		spent.untold = difference(now.untold, l->last.untold);
	put_form(l, &spent);
	l->last = now;
	l->at = mono_now();
	l->stream_no = nodes_session_look(l->session)->stream_no;
	return true;
}

static bool
put_lines(struct levels *l, uv_loop_t *loop)
{
	struct pace pace;
	bool good = take_tally(l, loop, &l->last);

	l->at = mono_now();
	l->stream_no = nodes_session_look(l->session)->stream_no;
	pace_begin(&pace, l->o);
	while (good && output_flush(l->out) && !is_over(l->session) &&
	    pace_wait(&pace, loop, l->session, is_over, l->session)) {
		good = put_spent(l, loop);
		pace.n = l->lines;
	}
	return good && l->lines == 0 && output_going(l->out) ? put_spent(l, loop) :
	    good;
}

static void
begin_document(struct levels *l)
{
	json_open(&l->json, l->out, l->o);
	if (!options_as_data(l->o))
		return;
	json_document(&l->json, "pagek.levels/1", &tallies, 0);
	if (l->session != NULL)
		json_put(&l->json, &page_look_target,
		    nodes_session_look(l->session));
	json_rows(&l->json, "samples");
}

static void
end_document(struct levels *l)
{
	if (!options_as_data(l->o))
		return;
	json_rows_end(&l->json);
	json_end(&l->json);
}

static int
show_levels(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	static const struct nodes_view none = { 0 };
	struct levels l = { .o = o, .session = s };
	struct tally t;
	bool answered;
	int status;

	if (!nodes_session_look(s)->levels) {
		complain("%s: its records have no levels", o->target.word);
		return PAGEK_FORMAT;
	}
	l.out = output_open(o->output);
	if (l.out == NULL)
		return PAGEK_FAILED;
	nodes_session_view(s, &none);
	begin_document(&l);
	if (stress_repeats(o)) {
		answered = put_lines(&l, loop);
	} else {
		answered = take_tally(&l, loop, &t);
		if (answered)
			put_form(&l, &t);
	}
	end_document(&l);
	status = output_close(l.out, o->output, PAGEK_OK);
	if (status == PAGEK_OK)
		status = batch_status(o, nodes_session_look(s));
	if (status == PAGEK_OK && !answered) {
		complain("no answer within %d s", o->timeout_ms / 1000);
		status = PAGEK_TIMEOUT;
	}
	return status;
}

#define EVENTS_AT_ONCE 512

/* Reads the events of a process image from `from` to `end`; the current line ends at `to`. */
struct reading {
	struct levels *l;
	struct capture *c;
	uint32_t part;
	uint64_t first;			/* number of its first event */
	bool all;			/* also events before `from` */
	int64_t from, to, end, each;	/* each: ms of a line; 0: one line for all */
	struct tally line;
	bool over;
};

static void
begin_line(struct reading *r)
{
	r->to = r->each > 0 && r->each < r->end - r->from ? r->from + r->each :
	    r->end;
	memset(r->line.level, 0, sizeof r->line.level);
	r->line.untold = 0;
}

static void
end_line(struct reading *r)
{
	uint64_t count = r->l->o->repeat.count;

	r->line.ms = r->to - r->from;
	r->line.wall_ms = capture_wall_ns(r->c, r->to) / 1000000;
	put_form(r->l, &r->line);
	r->over = r->to == r->end || !output_going(r->l->out) ||
	    (count != 0 && r->l->lines == count);
	r->from = r->to;
	begin_line(r);
}

static void
count_event(struct reading *r, const struct capture_event *e)
{
	unsigned level = rec_level(&e->rec);

	if (e->what == CAPTURE_GAP)
		r->line.complete = false;
	if (e->what != CAPTURE_EVENT || rec_op(&e->rec) != REC_ALLOC)
		return;
	if (level >= 1 && level <= LEVELS)
		r->line.level[level - 1]++;
	else
		r->line.untold++;
}

/* Returns 0, -ENOMEM or an error of read(). */
static int
read_lines(struct reading *r)
{
	struct capture_event e[EVENTS_AT_ONCE];
	uint64_t seq = r->first;
	size_t n;
	int err;

	begin_line(r);
	do {
		err = capture_read(r->c, r->part, &seq, e, EVENTS_AT_ONCE, &n);
		for (size_t i = 0; err == 0 && i < n && !r->over; i++) {
			if (!r->all && e[i].ms <= r->from)
				continue;
			while (!r->over && e[i].ms > r->to)
				end_line(r);
			if (!r->over)
				count_event(r, &e[i]);
		}
	} while (err == 0 && n > 0 && !r->over);
	while (err == 0 && !r->over)
		end_line(r);
	return err;
}

/* Returns PAGEK_OK, or the exit status after a complaint. */
static int
find_period(struct reading *r, const char *path)
{
	const struct options *o = r->l->o;
	struct capture_part_info info;
	int status = capture_choose(r->c, path, o->events.part, true, &r->part);

	if (status != PAGEK_OK || !capture_part(r->c, r->part, &info))
		return status != PAGEK_OK ? status : PAGEK_FORMAT;
	/* The times of the first events may precede that of their image a little. */
	r->first = info.part.first;
	r->all = o->events.ats < 2;
	r->from = info.part.ms;
	r->end = info.last_ms > r->from ? info.last_ms : r->from;
	if (o->events.ats > 1)
		status = stress_capture_time(r->c, path, r->part, o->events.at[0],
		    &r->from);
	if (status == PAGEK_OK && o->events.ats > 0)
		status = stress_capture_time(r->c, path, r->part,
		    o->events.at[o->events.ats - 1], &r->end);
	if (status == PAGEK_OK && r->end < r->from && o->events.ats > 1) {
		complain("--at=%s is before the other --at",
		    base_shown(o->events.at[o->events.ats - 1]));
		return PAGEK_USAGE;
	}
	if (r->end < r->from)
		r->from = r->end;
	r->each = stress_repeats(o) ? o->repeat.interval_ms : 0;
	snprintf(r->l->title, sizeof r->l->title, "%s[%d]", info.part.comm,
	    (int)info.part.pid);
	r->line = (struct tally){ .o = o, .name = info.part.comm,
		.title = r->l->title, .pid = (pid_t)info.part.pid, .known = true,
		.sampled = info.part.sample != 0,
		.complete = capture_missing(r->c, r->part, info.next) == 0 &&
		    info.dropped == 0, .lack = "the capture lacks events" };
	return status;
}

static int
show_capture(const struct options *o)
{
	const char *path = o->target.name;
	struct levels l = { .o = o };
	struct reading r = { .l = &l };
	char why[CAPTURE_WHY];
	int status, err = capture_open(&r.c, path, why);

	if (err < 0) {
		complain("%s", why);
		return capture_file_status(err);
	}
	status = find_period(&r, path);
	if (status == PAGEK_OK) {
		l.out = output_open(o->output);
		status = l.out == NULL ? PAGEK_FAILED : PAGEK_OK;
	}
	if (status == PAGEK_OK) {
		begin_document(&l);
		err = read_lines(&r);
		end_document(&l);
		if (err < 0)
			complain("cannot read '%s': %s", path, strerror(-err));
		status = output_close(l.out, o->output, err < 0 ? PAGEK_FAILED :
		    captures_complain(r.c, path));
	}
	capture_close(r.c);
	return status;
}

int
stress_allocators(const struct options *o, uv_loop_t *loop)
{
	int status;

	if (o->target.kind != TARGET_FILE)
		return batch_watch(o, loop, show_levels);
	status = show_capture(o);
	pump_down(loop, NULL, NULL);
	return status;
}
