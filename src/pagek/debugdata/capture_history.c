/*
 * The events of a capture's part as a history, a batch at a time.  The list of the
 * moment is kept beside them, so that each free has its allocation.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../base/hashmap.h"
#include "../../capture/capture.h"
#include "debugdata.h"

#define BATCH 4096

struct captures_stream {
	struct captures_source of;
	const char *path;
	struct capture_part_info part;
	struct capture_list *list;	/* before the next event */
	bool end_known;			/* which blocks are live at the capture's end is ... */
	struct hashmap held;		/* ... the numbers of their allocations */
	bool done;			/* the last wanted event was read */
	uint64_t from, to;		/* numbers of the events that are wanted */
	size_t damages;			/* that were reported */
	uint64_t not_undone;
	struct capture_event event[BATCH];
	struct dump_past *row;
	enum event_kind *kind;
	size_t n, row_cap, kind_cap;
};

static int
add_row(struct captures_stream *s, enum event_kind kind, struct dump_past **out)
{
	void *row = s->row, *kinds = s->kind;
	int e = base_grow(&row, &s->row_cap, s->n + 1, sizeof *s->row);

	s->row = row;
	if (e == 0)
		e = base_grow(&kinds, &s->kind_cap, s->n + 1, sizeof *s->kind);
	s->kind = kinds;
	if (e < 0)
		return e;
	s->kind[s->n] = kind;
	*out = &s->row[s->n++];
	return 0;
}

/* A block that is not live at the end was freed before. */
static enum event_kind
kind_of_alloc(const struct captures_stream *s, uint64_t seq)
{
	if (!s->end_known)
		return EVENT_ALLOCATED;
	return hashmap_find(&s->held, seq) >= 0 ? EVENT_ALLOC : EVENT_FREED;
}

static int
add_alloc(struct captures_stream *s, const struct capture_event *ev)
{
	struct blk b = blk_of_rec(&ev->rec, ev->seq, ev->ms);
	struct dump_past *p;
	int e;

	if ((s->part.part.options & CAPTURE_CLASSIC) == 0 &&
	    rec_level(&ev->rec) == REC_LEVEL_FAILED)
		return 0;
	e = add_row(s, kind_of_alloc(s, ev->seq), &p);
	return e < 0 ? e : captures_row(&s->of, &b, &p->block);
}

/* The block has flags 0 if its allocation is not known. */
static int
add_free(struct captures_stream *s, const struct capture_event *ev,
    const struct blk *block)
{
	struct blk b = blk_of_rec(&ev->rec, ev->seq, ev->ms);
	struct dump_record freed;
	struct dump_past *p;
	int e = add_row(s, EVENT_FREE, &p);

	if (e == 0)
		e = captures_row(&s->of, &b, &freed);
	if (e < 0)
		return e;
	p->free = freed.alloc;
	if (block->flags != 0)
		return captures_row(&s->of, block, &p->block);
	p->block = (struct dump_record){ .address = b.addr,
		.alloc.seqno = b.seq };
	return 0;
}

/* The realloc has failed: its free, which is one of the last rows, was none. */
static void
undo_free(struct captures_stream *s, const struct capture_event *ev)
{
	for (size_t i = s->n; i-- > 0;) {
		const struct dump_past *p = &s->row[i];

		if (s->kind[i] != EVENT_FREE || p->free.function !=
		    MDD_REALLOC_FREE || p->free.thread != rec_thread(&ev->rec) ||
		    p->block.address != rec_addr(&ev->rec))
			continue;
		s->n--;
		memmove(&s->row[i], &s->row[i + 1], (s->n - i) * sizeof *s->row);
		memmove(&s->kind[i], &s->kind[i + 1],
		    (s->n - i) * sizeof *s->kind);
		return;
	}
	s->not_undone++;
}

/* The frees of all blocks that the event removed; of a range there may be none. */
static int
add_frees(struct captures_stream *s, const struct capture_event *ev)
{
	static const struct blk unknown = { .flags = 0 };
	size_t n;
	const struct blk *row = capture_list_removed(s->list, &n);
	int e = 0;

	if (n == 0 && rec_op(&ev->rec) == REC_FREE)
		return add_free(s, ev, &unknown);
	for (size_t i = 0; e == 0 && i < n; i++)
		e = add_free(s, ev, &row[i]);
	return e;
}

static int
replace_list(struct captures_stream *s, const struct capture_when *w)
{
	struct capture_part_info p;
	struct capture_list *l;
	int e = w != NULL ? capture_seek(s->of.c, s->of.no, w, &l) : -ENOENT;

	if (e == -ENOENT)
		e = capture_part(s->of.c, s->of.no, &p) ?
		    capture_list_new(&l, p.part.options) : -ENOENT;
	if (e < 0)
		return e;
	capture_list_free(s->list);
	s->list = l;
	return 0;
}

/* Events that the capture has lost may have freed any block. */
static int
take_break(struct captures_stream *s, const struct capture_event *ev)
{
	if (ev->what == CAPTURE_GAP)
		return ev->rec.w[0] == 0 ? replace_list(s, NULL) : 0;
	return replace_list(s, &(struct capture_when){ .at = CAPTURE_AT_SEQ,
	    .seq = ev->seq });
}

static int
take_event(struct captures_stream *s, const struct capture_event *ev)
{
	unsigned op = rec_op(&ev->rec);
	int e;

	s->done |= ev->part == s->of.no && ev->seq >= s->to;
	if (ev->part != s->of.no || ev->seq < s->from || s->done)
		return 0;
	if (ev->what != CAPTURE_EVENT)
		return take_break(s, ev);
	e = capture_list_apply(s->list, ev);
	if (e < 0)
		return e;
	if (op == REC_ALLOC)
		return add_alloc(s, ev);
	if (op == REC_FREE || op == REC_RANGE)
		return add_frees(s, ev);
	if (op == REC_UNDO)
		undo_free(s, ev);
	return 0;
}

static bool
is_open(const struct captures_stream *s)
{
	return s->n > 0 && s->kind[s->n - 1] == EVENT_FREE &&
	    s->row[s->n - 1].free.function == MDD_REALLOC_FREE;
}

static void
report_end(struct captures_stream *s)
{
	captures_report(s->of.d, s->of.c, s->path, &s->damages);
	if (s->not_undone > 0)
		notice("%s: %llu frees by realloc() are shown that did not "
		    "happen, for their realloc() failed", s->path,
		    (unsigned long long)s->not_undone);
	s->not_undone = 0;
}

static int
fill_batch(struct captures_stream *s, bool *end)
{
	size_t n, max = BATCH;
	int e;

	s->n = 0;
	do {
		e = capture_next(s->of.c, s->event, max, &n);
		for (size_t i = 0; e == 0 && i < n; i++)
			e = take_event(s, &s->event[i]);
		*end = n == 0 || s->done;
		max = s->n < BATCH ? BATCH : 1;
	} while (e == 0 && !*end && (s->n == 0 ||
	    (is_open(s) && s->n < 2 * (size_t)BATCH)));
	return e;
}

int
captures_next(struct captures_stream *s, struct events *out)
{
	void *array = out->row;
	bool end = false;
	int e = fill_batch(s, &end);

	if (e == 0)
		e = base_grow(&array, &out->cap, s->n + 1, sizeof *out->row);
	if (e < 0)
		return e;
	out->row = array;
	out->n = s->n;
	for (size_t i = 0; i < s->n; i++) {
		struct dump_past *p = &s->row[i];
		struct dump_moment *at = s->kind[i] == EVENT_FREE ? &p->free :
		    &p->block.alloc;

		out->row[i] = (struct event){ .dump = s->of.d, .block = &p->block,
			.at = at, .kind = s->kind[i], .position = at->seqno };
	}
	if (end)
		report_end(s);
	return 0;
}

static int
find_held(struct captures_stream *s)
{
	struct capture_list *l;
	const struct blk *row;
	uint64_t seq;
	int64_t ms;
	size_t n;
	int e = capture_seek(s->of.c, s->of.no, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &l);

	if (e < 0)
		return e == -ENOENT ? 0 : e;
	s->end_known = capture_list_at(l, &seq, &ms);
	row = capture_list_rows(l, &n);
	if (row == NULL)
		e = -ENOMEM;
	for (size_t i = 0; e == 0 && i < n; i++)
		if (hashmap_put(&s->held, row[i].seq, NULL) < 0)
			e = -ENOMEM;
	capture_list_free(l);
	return e;
}

static int
find_number(struct captures_stream *s, const char *at, uint64_t *seq)
{
	struct capture_list *l;
	struct capture_when w;
	int64_t ms;
	int e, status = capture_moment(s->of.c, s->path, s->of.no, at, &w);

	if (status != PAGEK_OK)
		return status;
	e = capture_seek(s->of.c, s->of.no, &w, &l);
	if (e == -ENOENT) {
		*seq = s->part.part.first;
		return PAGEK_OK;
	}
	if (e < 0) {
		complain("cannot read '%s': %s", s->path, base_file_words(e));
		return PAGEK_FAILED;
	}
	capture_list_at(l, seq, &ms);
	capture_list_free(l);
	return PAGEK_OK;
}

static int
find_range(struct captures_stream *s, const struct events_options *o)
{
	int status = PAGEK_OK, e;

	s->from = s->part.part.first;
	s->to = UINT64_MAX;
	if (o->ats > 0)
		status = find_number(s, o->at[0], &s->from);
	if (status == PAGEK_OK && o->ats > 1)
		status = find_number(s, o->at[1], &s->to);
	if (status != PAGEK_OK)
		return status;
	if (s->to < s->from) {
		complain("--at=%s is before --at=%s", base_shown(o->at[1]),
		    base_shown(o->at[0]));
		return PAGEK_USAGE;
	}
	e = replace_list(s, &(struct capture_when){ .at = CAPTURE_AT_SEQ,
	    .seq = s->from });
	if (e == 0)
		e = find_held(s);
	if (e == 0)
		return PAGEK_OK;
	complain("cannot read '%s': %s", s->path, base_file_words(e));
	return PAGEK_FAILED;
}

int
captures_history(struct captures_stream **out, struct dump *d, const char *path,
    uint32_t no, const struct events_options *o)
{
	struct captures_stream *s = calloc(1, sizeof *s);
	char why[CAPTURE_WHY];
	int e = s == NULL ? -ENOMEM : capture_open(&s->of.c, path, why), status;

	if (e < 0) {
		complain("%s", s == NULL ? strerror(ENOMEM) : why);
		free(s);
		return PAGEK_FAILED;
	}
	s->held.size = sizeof(uint64_t);
	s->of.d = d;
	s->path = path;
	s->of.no = no;
	s->damages = capture_damages(s->of.c);
	capture_part(s->of.c, no, &s->part);
	s->of.start_ms = s->part.part.ms;
	status = find_range(s, o);
	if (status != PAGEK_OK) {
		captures_history_free(s);
		return status;
	}
	capture_rewind(s->of.c);
	*out = s;
	return PAGEK_OK;
}

void
captures_history_free(struct captures_stream *s)
{
	if (s == NULL)
		return;
	capture_list_free(s->list);
	hashmap_fini(&s->held);
	capture_close(s->of.c);
	free(s->row);
	free(s->kind);
	free(s);
}
